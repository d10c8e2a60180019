/* What a manifest does not repeat: values of arguments that are secrets by their name or their form. Manifests
 * are kept and handed on with traces. */
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "cli/capture.h"

#define MASK "***"

static bool is_among(const char *text, size_t n, const char *const *words, size_t n_words)
{
    for (size_t i = 0; i < n_words; i++)
        if (strlen(words[i]) == n && strncasecmp(words[i], text, n) == 0) return true;
    return false;
}

#define AMONG(text, n, list) is_among(text, n, list, sizeof list / sizeof *list)

/* One of the names that were given, "a,b". */
static bool is_wished(const char *name, size_t n, const char *wished)
{
    while (wished && *wished) {
        size_t length = strcspn(wished, ",");
        if (length == n && n && strncasecmp(wished, name, n) == 0) return true;
        wished += length + (wished[length] == ',');
    }
    return false;
}

static bool parts_words(char c)
{
    return c == '-' || c == '_' || c == '.' || c == '/';
}

/* "--hub-token", "WANDB_API_KEY", "db.password": told by the last word of the name. A model's special tokens
 * ("--pad-token") are none. */
static bool is_secret(const char *name, size_t n, const char *wished)
{
    static const char *const secrets[] = {"token",      "secret", "password",    "passwd",   "passphrase",
                                          "credential", "apikey", "credentials", "accesskey"};
    static const char *const keys[] = {"api", "access", "secret", "private", "auth"};
    static const char *const tokens[] = {"pad",     "eos",   "bos",   "unk", "mask", "sep",  "cls",
                                         "special", "image", "start", "end", "stop", "next", "per"};
    while (n && *name == '-') name++, n--;
    if (is_wished(name, n, wished)) return true;
    size_t last = n;
    while (last && !parts_words(name[last - 1])) last--;
    size_t end = last ? last - 1 : 0, before = end;
    while (before && !parts_words(name[before - 1])) before--;
    if (n - last == 3 && strncasecmp(name + last, "key", 3) == 0)
        return AMONG(name + before, end - before, keys);
    if (!AMONG(name + last, n - last, secrets)) return false;
    return strncasecmp(name + last, "token", 5) != 0 || !last || !AMONG(name + before, end - before, tokens);
}

/* Keys of well-known services begin with what they are. */
static bool is_key(const char *word)
{
    static const char *const begins[] = {"hf_", "sk-", "ghp_", "github_pat_", "glpat-", "xoxb-", "AKIA"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        size_t n = strlen(begins[i]), rest = 0;
        if (strncmp(word, begins[i], n) != 0) continue;
        for (const char *p = word + n; rs_is_digit(*p) || rs_is_letter(*p) || *p == '_' || *p == '-'; p++)
            rest++;
        if (rest >= 16 && !word[n + rest]) return true;
    }
    return false;
}

/* The password in scheme://user:password@host. */
static const char *find_password(const char *word, size_t *n)
{
    const char *user = strstr(word, "://");
    if (!user) return NULL;
    user += 3;
    const char *at = user + strcspn(user, "@/?#"), *colon = memchr(user, ':', (size_t)(at - user));
    if (*at != '@' || !colon) return NULL;
    *n = (size_t)(at - colon) - 1;
    return *n ? colon + 1 : NULL;
}

static void put_masked(rs_writer *w, const char *word, size_t from, size_t n)
{
    size_t length = strlen(word), room = length + sizeof MASK;
    char *text = rs_malloc(room);
    if (!text) { /* rather nothing than the secret */
        rs_writer_json_string(w, MASK, sizeof MASK - 1);
        return;
    }
    memcpy(text, word, from);
    memcpy(text + from, MASK, sizeof MASK - 1);
    memcpy(text + from + sizeof MASK - 1, word + from + n, length - from - n + 1);
    rs_writer_json_string(w, text, strlen(text));
    rs_free(text);
}

void rs_capture_put_word(rs_writer *w, const char *before, const char *word, const char *wished)
{
    size_t n = strlen(word), password;
    const char *equals = strchr(word, '='), *url;
    bool follows = before && *before == '-' && !strchr(before, '=') && *word != '-' &&
                   is_secret(before, strlen(before), wished);
    if (follows || is_key(word))
        put_masked(w, word, 0, n);
    else if (equals && equals[1] && (is_secret(word, (size_t)(equals - word), wished) || is_key(equals + 1)))
        put_masked(w, word, (size_t)(equals - word) + 1, n - (size_t)(equals - word) - 1);
    else if ((url = find_password(word, &password)))
        put_masked(w, word, (size_t)(url - word), password);
    else
        rs_writer_json_string(w, word, n);
}
