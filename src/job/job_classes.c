/* --class: rules of the user's own for what GPU work does, which hold before every rule of trace/classes.c.
 *
 * A rule is CLASS=REGEX; of several that fit a name the last holds. @FILE means the rules of a file, one a line. What the job
 * keeps as its setting is the rules themselves, so that an answer in the store, or a part of a job on another machine, was made under
 * the same ones. */
#include <string.h>

#include "base/memory.h"
#include "base/suggest.h"
#include "base/try.h"
#include "input/source.h"
#include "job/job_internal.h"
#include "rankscope/where.h"

#define MOST_RULES 1000
#define MOST_BYTES (1 << 20)

typedef struct rule {
    rs_class class;
    rs_pattern *pattern;
} rule;

struct rs_job_classes {
    rs_class_judge judge;
    char *text; /* all rules, one a line */
    size_t n_bytes, capacity;
    rule *rules;
    size_t n, rules_capacity;
};

/* The last rule that fits. */
static bool judge(const void *context, const char *name, size_t length, rs_class *out)
{
    const struct rs_job_classes *c = context;
    for (size_t i = c->n; i-- > 0;) {
        if (!rs_pattern_matches(c->rules[i].pattern, name, length)) continue;
        *out = c->rules[i].class;
        return true;
    }
    return false;
}

static rs_status refuse(const char *line, size_t word, rs_error *err)
{
    rs_suggestion near = {0};
    char name[64];
    size_t n = word < sizeof name ? word : sizeof name - 1;
    memcpy(name, line, n);
    name[n] = '\0';
    for (size_t i = 0; i < RS_CLASS_OTHER; i++) rs_suggest_from(&near, name, rs_class_names[i]);
    if (near.best && strcmp(near.best, name) == 0) near.best = NULL; /* what is wrong is after it */
    return rs_fail(err, RS_ERR_USAGE,
                   "--class takes CLASS=REGEX with a class of %s, %s or %s, not \"%.60s\"%s%s%s",
                   rs_class_names[0], rs_class_names[1], rs_class_names[2], line,
                   near.best ? "; did you mean " : "", near.best ? near.best : "", near.best ? "?" : "");
}

/* line: terminated. */
static rs_status add_rule(struct rs_job_classes *c, const char *line, rs_error *err)
{
    size_t word = strcspn(line, "="), class = 0;
    while (class < RS_CLASS_OTHER &&
           (strlen(rs_class_names[class]) != word || strncmp(rs_class_names[class], line, word) != 0))
        class ++;
    if (class == RS_CLASS_OTHER || line[word] != '=' || !line[word + 1]) return refuse(line, word, err);
    if (c->n == MOST_RULES) return rs_fail(err, RS_ERR_USAGE, "--class: more than %d rules", MOST_RULES);
    if (!RS_GROW_ONE(c->rules, c->n, c->rules_capacity)) return rs_fail_nomem(err, "classes");
    rule *r = &c->rules[c->n];
    *r = (rule){.class = (rs_class) class};
    rs_status status = rs_pattern_compile(line + word + 1, &r->pattern, err);
    if (status != RS_OK) return status == RS_ERR_USAGE ? rs_error_wrap(err, "--class") : status;
    c->n++;
    return RS_OK;
}

static rs_status keep_line(struct rs_job_classes *c, const char *line, size_t n, rs_error *err)
{
    if (!rs_grow((void **)&c->text, &c->capacity, c->n_bytes + n + 2, 1))
        return rs_fail_nomem(err, "classes");
    if (c->n_bytes) c->text[c->n_bytes++] = '\n';
    char *own = c->text + c->n_bytes;
    memcpy(own, line, n);
    own[n] = '\0';
    c->n_bytes += n;
    return add_rule(c, own, err);
}

/* Lines of a text; a file's may be comments. */
static rs_status keep_lines(struct rs_job_classes *c, const char *text, size_t n, bool is_file,
                            rs_error *err);

static rs_status keep_file(struct rs_job_classes *c, const char *path, rs_error *err)
{
    rs_source *source;
    uint8_t *text;
    size_t n;
    RS_TRY(rs_source_open(path, 0, &source, err));
    rs_status status = rs_source_read_all(source, MOST_BYTES, &text, &n, err);
    rs_source_close(source);
    RS_TRY(status);
    status = keep_lines(c, (const char *)text, n, true, err);
    if (status == RS_ERR_USAGE) rs_error_wrap(err, "%s", path);
    rs_free(text);
    return status;
}

static rs_status keep_lines(struct rs_job_classes *c, const char *text, size_t n, bool is_file, rs_error *err)
{
    for (const char *end = text + n; text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        while (is_file && length && (text[length - 1] == '\r' || text[length - 1] == ' ')) length--;
        if (!is_file && length && *text == '@') {
            char path[4096];
            if (length >= sizeof path)
                return rs_fail(err, RS_ERR_USAGE, "--class: the name of a file is too long");
            memcpy(path, text + 1, length - 1);
            path[length - 1] = '\0';
            RS_TRY(keep_file(c, path, err));
        } else if (length && !(is_file && *text == '#')) {
            RS_TRY(keep_line(c, text, length, err));
        } else if (!is_file) {
            return refuse("", 0, err);
        }
        text = stop ? stop + 1 : end;
    }
    return RS_OK;
}

rs_status rs_job_classes_open(rs_job *job, rs_error *err)
{
    const char *given = job->settings.classes;
    if (!given) return RS_OK;
    struct rs_job_classes *c = job->classes = rs_calloc(1, sizeof *c);
    if (!c) return rs_fail_nomem(err, "classes");
    c->judge = (rs_class_judge){judge, c};
    RS_TRY(*given ? keep_lines(c, given, strlen(given), false, err) : refuse("", 0, err));
    job->settings.classes = c->text ? c->text : "";
    return RS_OK;
}

const rs_class_judge *rs_job_classes_judge(const rs_job *job)
{
    return job->classes ? &job->classes->judge : NULL;
}

void rs_job_classes_free(struct rs_job_classes *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->n; i++) rs_pattern_free(c->rules[i].pattern);
    rs_free_all(c->rules, c->text, c);
}
