/* Words of public names: a name that begins as those of public software do may go on with words of its user's. A name
 * is cut into words as in snake_case and camelCase; a word passes that is listed in public_words.txt (words of PyTorch's
 * operators and Python files, of the standard library, of vendors' kernels) or that has two letters at most. Of digits
 * those pass that are no key: at most six, and no hash. */
#include <string.h>

#include "base/ascii.h"
#include "rewrite/scrub.h"

extern const unsigned char rs_public_words[]; /* public_words.txt, built in */
extern const size_t rs_public_words_size;

#define MOST_DIGITS 6
#define MOST_LETTERS 40
#define MOST_SWITCHES 6 /* between digits and letters */
#define HASH 8          /* digits of a hash in base 16, at least */

bool rs_scrub_init_words(rs_strings *words)
{
    const char *at = (const char *)rs_public_words, *end = at + rs_public_words_size;
    if (!rs_strings_init(words)) return false;
    while (at < end) {
        const char *from = at;
        while (at<end && * at> ' ') at++;
        if (at > from && rs_strings_add(words, from, (size_t)(at - from)) == RS_NO_STRING) return false;
        at += at < end;
    }
    return true;
}

/* What a character is. FOREIGN: a letter outside ASCII, or one written as an escape; its word is private. */
typedef enum unit { OTHER, LETTER, DIGIT, FOREIGN } unit;

static unit unit_of(unsigned char c)
{
    return c >= 0x80 ? FOREIGN : c >= '0' && c <= '9' ? DIGIT : rs_is_alnum((char)c) ? LETTER : OTHER;
}

/* The text is that of a JSON string as it is in the file. */
static unit unit_at(const char *text, size_t n, size_t *length)
{
    unsigned code = 0;
    *length = 1;
    if (*text != '\\') return unit_of((unsigned char)*text);
    *length = n < 2 ? 1 : text[1] == 'u' ? 6 : 2;
    if (*length != 6) return OTHER;
    if (n < 6) {
        *length = n;
        return FOREIGN;
    }
    for (size_t i = 2; i < 6; i++) {
        int digit = rs_hex_digit(text[i]);
        if (digit < 0) return FOREIGN;
        code = code << 4 | (unsigned)digit;
    }
    return code < 0x80 && unit_of((unsigned char)code) == OTHER ? OTHER : FOREIGN;
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* The first word of letters: "BFloat" is B and Float, "fooBar" is foo and Bar. */
static size_t first_word(const char *text, size_t n)
{
    size_t upper = 0, all;
    while (upper < n && is_upper(text[upper])) upper++;
    if (upper > 1) return upper < n ? upper - 1 : upper;
    for (all = upper; all < n && !is_upper(text[all]);) all++;
    return all;
}

static bool is_known(const rs_strings *words, const char *text, size_t n)
{
    char lower[MOST_LETTERS];
    if (n > sizeof lower) return false;
    for (size_t i = 0; i < n; i++) lower[i] = is_upper(text[i]) ? (char)(text[i] + 32) : text[i];
    return rs_strings_find(words, lower, n) != RS_NO_STRING;
}

/* The letters at the beginning, or the digits. */
static size_t same_units(const char *text, size_t n)
{
    size_t i = 1;
    while (i < n && rs_is_digit(text[i]) == rs_is_digit(text[0])) i++;
    return i;
}

/* Letters of shapes and types, as in "128x64x32", "0d1d2de", "bf16bf16". */
static bool is_shape(const char *text, size_t n)
{
    static const char *const pieces[] = {"x", "d", "de", "c", "f", "bf"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (n == strlen(pieces[i]) && memcmp(text, pieces[i], n) == 0) return true;
    return false;
}

/* Whether letters and digits are a hash or a key, which no list of words could hold. */
static bool is_key(const char *text, size_t n)
{
    size_t pieces = 0, longest = 0, hex = 0;
    bool shaped = true;
    for (size_t i = 0, length; i < n; i += length, pieces++) {
        length = same_units(text + i, n - i);
        bool digits = rs_is_digit(text[i]);
        if (digits && length > longest) longest = length;
        shaped = shaped && (digits || (i == 0 && length <= 2) || is_shape(text + i, length));
    }
    for (size_t i = 0; i < n; i++) hex += rs_hex_digit(text[i]) >= 0;
    return longest > MOST_DIGITS || (!shaped && pieces > MOST_SWITCHES) ||
           (!shaped && hex == n && n >= HASH && pieces > 1);
}

static void put_private(rs_scrub *s, const char *text, size_t n, rs_text *out)
{
    char word[RS_SCRUBBED];
    if (!out) return;
    rs_scrub_private(s, RS_PRIVATE_WORD, text, n, word);
    rs_text_put(out, word);
}

static void put_public(const char *text, size_t n, rs_text *out)
{
    if (out) rs_text_add(out, text, n);
}

/* Letters without digits. A word of one or two letters passes where its neighbours are known, else words could be spelled in
 * such pieces. Neighbouring words that do not pass are one. */
static bool put_letters(rs_scrub *s, const char *text, size_t n, rs_text *out)
{
    size_t at = 0, unknown = 0; /* letters before `at` that are not known and not yet written */
    bool all = true, before = true;
    if (n <= 2) {
        put_public(text, n, out);
        return true;
    }
    while (at < n) {
        size_t length = first_word(text + at, n - at), next = at + length;
        bool known = is_known(&s->public_words, text + at, length);
        bool after = next == n || is_known(&s->public_words, text + next, first_word(text + next, n - next));
        if (!known && !(length <= 2 && before && after)) {
            unknown += length;
            all = false;
        } else {
            if (unknown) put_private(s, text + at - unknown, unknown, out);
            unknown = 0;
            put_public(text + at, length, out);
        }
        before = known;
        at = next;
    }
    if (unknown) put_private(s, text + at - unknown, unknown, out);
    return all;
}

/* Letters and digits. */
static bool put_run(rs_scrub *s, const char *text, size_t n, rs_text *out)
{
    bool all = true;
    for (size_t at = 0, length; at < n; at += length) {
        length = same_units(text + at, n - at);
        if (rs_is_digit(text[at]))
            put_public(text + at, length, out);
        else
            all = put_letters(s, text + at, length, out) && all;
    }
    return all;
}

/* The end of letters and digits at the beginning; whether some are foreign. */
static size_t run_at(const char *text, size_t n, bool *foreign)
{
    size_t end = 0, length;
    for (; end < n; end += length) {
        unit is = unit_at(text + end, n - end, &length);
        if (is == OTHER) break;
        *foreign = *foreign || is == FOREIGN;
    }
    return end;
}

static size_t digits_at(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && rs_is_digit(text[i])) i++;
    return i;
}

/* Runs joined by '-', '.' or ':' are one where they hold a number in groups (three groups of more than MOST_DIGITS digits, or four), or
 * where a '-' joins them and one is a key: the end of the last one, or that of the first. */
static size_t joined_at(const char *text, size_t n, size_t first)
{
    size_t end = first, from = 0, groups = 1, digits = 0;
    bool key = is_key(text, first), dash = false, number = false;
    while (digits < first && rs_is_digit(text[first - 1 - digits])) digits++;
    while (end + 1 < n && (text[end] == '-' || text[end] == '.' || text[end] == ':') &&
           rs_is_alnum(text[end + 1])) {
        dash = dash || text[end] == '-';
        from = end + 1;
        for (end = from; end < n && rs_is_alnum(text[end]);) end++;
        size_t leading = digits_at(text + from, end - from), trailing = 0;
        digits += leading;
        groups += leading > 0;
        number = number || (groups > 2 && digits > MOST_DIGITS) || groups > 3;
        if (leading < end - from) {
            while (rs_is_digit(text[end - 1 - trailing])) trailing++;
            groups = trailing > 0;
            digits = trailing;
        }
        key = key || is_key(text + from, end - from);
    }
    return number || (key && dash) ? end : first;
}

bool rs_scrub_words(rs_scrub *s, const char *text, size_t n, rs_text *out)
{
    bool all = true;
    for (size_t at = 0, end, length; at < n; at = end) {
        bool foreign = false;
        end = at + run_at(text + at, n - at, &foreign);
        size_t joined = end > at && !foreign ? at + joined_at(text + at, n - at, end - at) : end;
        if (end == at) {
            unit_at(text + at, n - at, &length);
            put_public(text + at, length, out);
            end += length;
        } else if (foreign || joined > end || is_key(text + at, end - at)) {
            end = joined;
            put_private(s, text + at, end - at, out);
            all = false;
        } else {
            all = put_run(s, text + at, end - at, out) && all;
        }
    }
    s->failed = s->failed || (out && out->failed);
    return all;
}
