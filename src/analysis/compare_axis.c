/* Inputs of a comparison along an axis whose values stand in their paths. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare.h"
#include "base/memory.h"
#include "base/try.h"
#include "text/numbers.h"

/* ---- values in paths ----------------------------------------------------------------------------------- */

typedef struct pattern {
    const char *name, *before, *after; /* of the option's text */
    size_t n_name, n_before, n_after;
} pattern;

static rs_status parse(const char *text, size_t n, pattern *p, rs_error *err)
{
    const char *equals = memchr(text, '=', n), *hole = NULL;
    for (const char *c = equals ? equals + 1 : NULL; c && c + 1 < text + n; c++)
        if (c[0] == '{' && c[1] == '}' && !hole) hole = c;
    if (!equals || equals == text || !hole || (hole == equals + 1 && hole + 2 == text + n))
        return rs_fail(err, RS_ERR_USAGE,
                       "--axis takes NAME=TEXT{}TEXT, like 'threads={}thread', not \"%.*s\"",
                       (int)(n < 200 ? n : 200), text);
    *p = (pattern){.name = text,
                   .before = equals + 1,
                   .after = hole + 2,
                   .n_name = (size_t)(equals - text),
                   .n_before = (size_t)(hole - equals - 1),
                   .n_after = (size_t)(text + n - hole - 2)};
    return RS_OK;
}

/* The value in one part of a path: between the texts; from the part's start, or to its end, where a text is
 * empty. */
static bool find_in(const pattern *p, const char *part, size_t n, const char **value, size_t *length)
{
    for (size_t at = 0; at + p->n_before < n; at++) {
        if (memcmp(part + at, p->before, p->n_before) != 0) continue;
        size_t from = at + p->n_before;
        for (size_t to = p->n_after ? from + 1 : n; to + p->n_after <= n; to++) {
            if (memcmp(part + to, p->after, p->n_after) != 0) continue;
            *value = part + from;
            *length = to - from;
            return true;
        }
        if (p->n_before == 0) return false;
    }
    return false;
}

/* The deepest part of the path that has it. */
static bool find_value(const pattern *p, const char *path, const char **value, size_t *length)
{
    size_t end = strlen(path);
    while (end) {
        size_t from = end;
        while (from && path[from - 1] != '/') from--;
        if (find_in(p, path + from, end - from, value, length)) return true;
        end = from ? from - 1 : 0;
    }
    return false;
}

static rs_status give_values(rs_compare_run *c, const pattern *p, size_t axis, rs_error *err)
{
    c->axes[axis] = rs_strndup(p->name, p->n_name);
    if (!c->axes[axis]) return rs_fail_nomem(err, "axes");
    for (size_t side = 0; side < c->n_sides; side++) {
        rs_compare_side *s = &c->sides[side];
        const char *value;
        size_t length;
        if (!find_value(p, s->input, &value, &length))
            return rs_fail(err, RS_ERR_USAGE, "--axis %.*s: no part of the path %.300s looks like %.*s{}%.*s",
                           (int)p->n_name, p->name, s->input, (int)p->n_before, p->before, (int)p->n_after,
                           p->after);
        s->values[axis] = rs_strndup(value, length);
        if (!s->values[axis]) return rs_fail_nomem(err, "axes");
    }
    return RS_OK;
}

/* *n: how many axes there are, 1 or 2. */
static rs_status parse_both(const char *text, pattern out[2], size_t *n, rs_error *err)
{
    const char *comma = strchr(text, ',');
    *n = comma ? 2 : 1;
    RS_TRY(parse(text, comma ? (size_t)(comma - text) : strlen(text), &out[0], err));
    return comma ? parse(comma + 1, strlen(comma + 1), &out[1], err) : RS_OK;
}

rs_status rs_compare_check_axis(const char *text, rs_error *err)
{
    pattern patterns[2] = {{0}};
    size_t n;
    return text ? parse_both(text, patterns, &n, err) : RS_OK;
}

rs_status rs_compare_axes(rs_compare_run *c, const char *text, rs_error *err)
{
    pattern patterns[2] = {{0}};
    size_t n;
    RS_TRY(parse_both(text, patterns, &n, err));
    for (size_t i = 0; i < n; i++) RS_TRY(give_values(c, &patterns[i], i, err));
    return RS_OK;
}

/* ---- the pivot ----------------------------------------------------------------------------------------- */

/* Numbers by their value, before texts by their bytes. */
static int compare_values(const char *a, const char *b)
{
    double x, y;
    bool is_x = rs_parse_real(a, strlen(a), &x), is_y = rs_parse_real(b, strlen(b), &y);
    if (is_x != is_y) return is_x ? -1 : 1;
    if (is_x && x != y) return x < y ? -1 : 1;
    return strcmp(a, b);
}

static int by_value(const void *a, const void *b)
{
    return compare_values(*(const char *const *)a, *(const char *const *)b);
}

/* The different values of an axis, in order. */
static const char **list_values(const rs_compare_run *c, size_t axis, size_t *n)
{
    const char **values = rs_malloc((c->n_sides + 1) * sizeof *values);
    if (!values) return NULL;
    for (size_t i = 0; i < c->n_sides; i++) values[i] = c->sides[i].values[axis];
    qsort(values, c->n_sides, sizeof *values, by_value);
    *n = 0;
    for (size_t i = 0; i < c->n_sides; i++)
        if (!*n || strcmp(values[*n - 1], values[i]) != 0) values[(*n)++] = values[i];
    return values;
}

/* The mean over the inputs with these values; other: of the second axis, NULL: any. line: NULL is all work. */
static double mean_of(const rs_compare_run *c, const char *value, const char *other,
                      const rs_compare_line *line)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < c->n_sides; i++) {
        const rs_compare_side *s = &c->sides[i];
        if (strcmp(s->values[0], value) != 0 || (other && strcmp(s->values[1], other) != 0)) continue;
        sum += rs_compare_us(s, line ? line->sums[i].time : s->time);
        n++;
    }
    return n ? sum / (double)n : (double)NAN;
}

static rs_status fill(const rs_compare_run *c, const char **values, size_t n_values, const char **others,
                      const rs_compare_line *lines, size_t n, rs_table *t, rs_error *err)
{
    for (size_t i = 0; i < n_values; i++) {
        rs_table_add_text(t, values[i]);
        if (!others) rs_table_add_real(t, mean_of(c, values[i], NULL, NULL));
        for (size_t k = 0; k < n; k++)
            rs_table_add_real(t, mean_of(c, values[i], others ? others[k] : NULL, others ? NULL : &lines[k]));
        RS_TRY(rs_table_end_row(t, err));
    }
    return RS_OK;
}

rs_status rs_compare_pivot(const rs_compare_run *c, const rs_compare_line *lines, size_t n, rs_table **pivot,
                           rs_error *err)
{
    if (!c->axes[0]) return RS_OK;
    size_t n_values = 0, n_others = 0;
    RS_LOCAL const char **values = list_values(c, 0, &n_values), **others = NULL;
    if (c->axes[1]) others = list_values(c, 1, &n_others);
    if (others) n = n_others;
    size_t first = others ? 1 : 2;
    rs_column_spec *columns = rs_calloc(first + n, sizeof *columns);
    rs_status status = values && columns && (others || !c->axes[1]) ? RS_OK : rs_fail_nomem(err, "axes");
    if (status == RS_OK) {
        columns[0] = (rs_column_spec){c->axes[0], RS_TEXT, RS_UNIT_NONE, "value of the axis", NULL};
        if (!others) columns[1] = (rs_column_spec){"gpu_us", RS_REAL, RS_UNIT_US, "GPU time", "GPU time"};
        for (size_t k = 0; k < n; k++)
            columns[first + k] = (rs_column_spec){others ? others[k] : lines[k].label, RS_REAL, RS_UNIT_US,
                                                  "GPU time in microseconds", NULL};
        rs_table_spec spec = *rs_table_get_spec(*pivot);
        spec.columns = columns;
        spec.n_columns = first + n;
        rs_table *t = rs_table_create_dynamic(&spec);
        status = t ? fill(c, values, n_values, others, lines, n, t, err) : rs_fail_nomem(err, "axes");
        if (status == RS_OK) {
            rs_table_free(*pivot);
            *pivot = t;
        } else {
            rs_table_free(t);
        }
    }
    rs_free(columns);
    return status;
}
