/* Groups of calls and their statistics, as pandas makes them. */
#include <math.h>
#include <string.h>

#include "base/order.h"
#include "base/stats.h"
#include "peer/tracelens_rank.h"

/* As pandas takes it of groups: in one pass, after Welford. Empty for one value. */
static double pandas_std(const double *values, size_t n)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        double before = values[i] - mean;
        mean += before / (double)(i + 1);
        squares += (values[i] - mean) * before;
    }
    return n < 2 ? (double)NAN : sqrt(squares / (double)(n - 1));
}

rs_tl_stats rs_tl_stats_of(double *values, size_t n)
{
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i])) values[known++] = values[i];
    rs_tl_stats s = {known, 0, (double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
    if (known == 0) return s;
    s.sum = rs_sum(values, known);
    s.mean = s.sum / (double)known;
    s.std = pandas_std(values, known);
    rs_sort_doubles(values, known);
    s.median = rs_quantile(values, known, 0.5);
    s.min = values[0];
    s.max = values[known - 1];
    return s;
}

/* A value, or its squared distance from a mean. */
static double term_of(double value, const double *mean)
{
    return mean ? (value - *mean) * (value - *mean) : value;
}

/* numpy adds eight sums side by side, in halves where there are many values. */
static double numpy_sum(const double *values, size_t n, const double *mean)
{
    double sum = 0, part[8];
    if (n < 8) {
        for (size_t i = 0; i < n; i++) sum += term_of(values[i], mean);
        return sum;
    }
    if (n > 128) {
        size_t half = n / 2;
        half -= half % 8;
        return numpy_sum(values, half, mean) + numpy_sum(values + half, n - half, mean);
    }
    for (size_t k = 0; k < 8; k++) part[k] = term_of(values[k], mean);
    size_t i = 8;
    for (; i < n - n % 8; i += 8)
        for (size_t k = 0; k < 8; k++) part[k] += term_of(values[i + k], mean);
    sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    for (; i < n; i++) sum += term_of(values[i], mean);
    return sum;
}

double rs_tl_numpy_sum(const double *values, size_t n)
{
    return numpy_sum(values, n, NULL);
}

/* ---- groups -------------------------------------------------------------------------------------------- */

bool rs_tl_group(const void *keys, size_t size, const bool *skip, size_t n, rs_tl_groups *out)
{
    rs_strings seen;
    RS_LOCAL uint32_t *group = rs_malloc((n + 1) * sizeof *group);
    *out = (rs_tl_groups){0};
    bool ok = rs_strings_init(&seen) && group;
    /* id 0 is the empty text, which no key is */
    for (size_t i = 0; ok && i < n; i++) {
        group[i] = RS_NO_STRING;
        if (skip && skip[i]) continue;
        group[i] = rs_strings_add(&seen, (const char *)keys + i * size, size);
        ok = group[i] != RS_NO_STRING;
    }
    out->n = ok ? seen.n - 1 : 0;
    out->first = rs_calloc(out->n + 2, sizeof *out->first);
    out->item = rs_malloc((n + 1) * sizeof *out->item);
    ok = ok && out->first && out->item;
    /* first[g + 1] counts group g, then says where it begins, and in the end where it ends */
    for (size_t i = 0; ok && i < n; i++)
        if (group[i] != RS_NO_STRING) out->first[group[i]]++;
    for (size_t g = 0, before = 0; ok && g <= out->n; g++) {
        size_t count = out->first[g];
        out->first[g] = (uint32_t)before;
        before += count;
    }
    for (size_t i = 0; ok && i < n; i++)
        if (group[i] != RS_NO_STRING) out->item[out->first[group[i]]++] = (uint32_t)i;
    rs_strings_clear(&seen);
    if (!ok) rs_tl_groups_clear(out);
    return ok;
}

void rs_tl_groups_clear(rs_tl_groups *groups)
{
    rs_free_all(groups->first, groups->item);
    *groups = (rs_tl_groups){0};
}

typedef struct place {
    double sum;
    uint32_t id, at;
} place;

static const rs_order by_sum[] = {RS_FALLING(place, sum), RS_RISING(place, id), RS_RISING(place, at)};

bool rs_tl_order(const double *sums, const uint32_t *ids, size_t n, uint32_t **out)
{
    RS_LOCAL place *places = rs_malloc((n + 1) * sizeof *places);
    *out = rs_malloc((n + 1) * sizeof **out);
    bool ok = places && *out;
    for (size_t i = 0; ok && i < n; i++) places[i] = (place){sums[i], ids ? ids[i] : 0, (uint32_t)i};
    if (ok && n) RS_SORT(places, n, by_sum);
    for (size_t i = 0; ok && i < n; i++) (*out)[i] = places[i].at;
    if (!ok) rs_free(*out), *out = NULL;
    return ok;
}

/* ---- kernels of a group -------------------------------------------------------------------------------- */

static double population_std(const double *values, size_t n, double mean)
{
    return sqrt(numpy_sum(values, n, &mean) / (double)n);
}

static void put_number(rs_python_text *out, const char *key, double value)
{
    rs_python_put_text(out, key);
    rs_python_put_float(out, value);
}

/* The work at one place of the calls. */
typedef struct kernel_place {
    uint32_t row; /* of the first call */
    size_t n;
    double total, mean; /* us */
} kernel_place;

static void put_name(const rs_string *name, bool truncated, rs_python_text *out)
{
    char cut[68];
    size_t n = 64;
    if (!truncated || name->length <= n) {
        rs_python_put_string(out, name->text, name->length);
        return;
    }
    while (n && ((unsigned char)name->text[n] & 0xc0) == 0x80) n--; /* whole characters */
    memcpy(cut, name->text, n);
    memcpy(cut + n, "...", 3);
    rs_python_put_string(out, cut, n + 3);
}

static void put_statistics(const kernel_place *p, double *values, rs_python_text *out)
{
    double std = population_std(values, p->n, p->mean);
    rs_sort_doubles(values, p->n);
    rs_python_put_text(out, ", 'count': ");
    rs_python_put_int(out, (int64_t)p->n);
    rs_python_put_text(out, ", 'total_duration_us': ");
    rs_python_put_float(out, p->total);
    put_number(out, ", 'mean_duration_us': ", p->mean);
    put_number(out, ", 'median_duration_us': ", rs_quantile(values, p->n, 0.5));
    put_number(out, ", 'std_dev_duration_us': ", std);
    put_number(out, ", 'min_duration_us': ", values[0]);
    put_number(out, ", 'max_duration_us': ", values[p->n - 1]);
}

static void put_place(const rs_tl_rank *r, const kernel_place *p, double *values, bool truncated,
                      rs_python_text *out)
{
    int64_t stream;
    rs_python_put_text(out, "{'name': ");
    put_name(&r->e->strings.items[r->e->name[p->row]], truncated, out);
    rs_python_put_text(out, ", 'stream': ");
    if (rs_events_int(r->e, RS_COL_STREAM, p->row, &stream))
        rs_python_put_int(out, stream);
    else
        rs_python_put_text(out, "None");
    if (truncated)
        put_number(out, ", 'mean_duration_us': ", rs_round(p->mean, 2));
    else
        put_statistics(p, values, out);
    rs_python_put_text(out, "}");
}

/* The calls of a group, and how their work is listed. */
typedef struct call_list {
    const rs_tl_rank *r;
    const void *context;
    rs_tl_list_fn list;
    const uint32_t *calls;
    size_t n_calls, n; /* n: pieces of work of the first call that has any */
} call_list;

/* The durations at one place, of the calls that have as many pieces of work as the first. */
static kernel_place take_place(const call_list *c, size_t at, double *values)
{
    kernel_place p = {0};
    const uint32_t *rows;
    for (size_t i = 0; i < c->n_calls; i++) {
        if (c->list(c->context, c->calls[i], &rows) != c->n) continue;
        int64_t duration = c->r->e->duration[rows[at]];
        if (p.n == 0) p.row = rows[at];
        values[p.n++] = (double)duration / 1000;
    }
    p.total = rs_tl_numpy_sum(values, p.n);
    p.mean = p.total / (double)p.n;
    return p;
}

typedef struct ranked_place {
    double mean;
    const char *name;
    size_t at;
} ranked_place;

static int by_mean(const void *a, const void *b)
{
    const ranked_place *x = a, *y = b;
    if (x->mean != y->mean) return x->mean < y->mean ? -1 : 1;
    int order = strcmp(x->name, y->name);
    return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

/* The places in rising order of their means; equal ones by name. */
static ranked_place *order_places(const call_list *c, double *values)
{
    ranked_place *places = rs_malloc((c->n + 1) * sizeof *places);
    for (size_t k = 0; places && k < c->n; k++) {
        kernel_place p = take_place(c, k, values);
        places[k] = (ranked_place){p.mean, rs_event_name(c->r->e, p.row), k};
    }
    if (places && c->n) qsort(places, c->n, sizeof *places, by_mean);
    return places;
}

void rs_tl_put_kernels(const rs_tl_rank *r, const void *context, rs_tl_list_fn list, const uint32_t *calls,
                       size_t n_calls, bool truncated, rs_python_text *out)
{
    call_list c = {r, context, list, calls, n_calls, 0};
    const uint32_t *rows;
    RS_LOCAL ranked_place *order = NULL;
    for (size_t i = 0; c.n == 0 && i < n_calls; i++) c.n = list(context, calls[i], &rows);
    RS_LOCAL double *values = rs_malloc((n_calls + 1) * sizeof *values);
    if (!values || !(order = order_places(&c, values))) out->failed = true;
    rs_python_put_text(out, "[");
    for (size_t k = 0; !out->failed && k < c.n; k++) {
        kernel_place p = take_place(&c, order[k].at, values);
        if (k) rs_python_put_text(out, ", ");
        put_place(r, &p, values, truncated, out);
    }
    rs_python_put_text(out, "]");
}
