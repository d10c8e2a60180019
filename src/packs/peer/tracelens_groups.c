/* Kernels of a group of calls, as the text of a Python list. */
#include <string.h>

#include "base/order.h"
#include "base/stats.h"
#include "peer/tracelens_rank.h"

/* ---- kernels of a group -------------------------------------------------------------------------------- */

static void put_number(rs_text *out, const char *key, double value)
{
    rs_text_put(out, key);
    rs_python_put_float(out, value);
}

/* The work at one place of the calls. */
typedef struct kernel_place {
    uint32_t row; /* of the first call */
    size_t n;
    double total, mean; /* us */
} kernel_place;

static void put_name(const rs_string *name, bool truncated, rs_text *out)
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

static void put_statistics(const kernel_place *p, double *values, rs_text *out)
{
    double std = rs_tl_numpy_std(values, p->n, p->mean);
    rs_sort_doubles(values, p->n);
    rs_text_put(out, ", 'count': ");
    rs_python_put_int(out, (int64_t)p->n);
    rs_text_put(out, ", 'total_duration_us': ");
    rs_python_put_float(out, p->total);
    put_number(out, ", 'mean_duration_us': ", p->mean);
    put_number(out, ", 'median_duration_us': ", rs_quantile(values, p->n, 0.5));
    put_number(out, ", 'std_dev_duration_us': ", std);
    put_number(out, ", 'min_duration_us': ", values[0]);
    put_number(out, ", 'max_duration_us': ", values[p->n - 1]);
}

static void put_place(const rs_tl_rank *r, const kernel_place *p, double *values, bool truncated,
                      rs_text *out)
{
    int64_t stream;
    rs_text_put(out, "{'name': ");
    put_name(&r->e->strings.items[r->e->name[p->row]], truncated, out);
    rs_text_put(out, ", 'stream': ");
    if (rs_events_int(r->e, RS_COL_STREAM, p->row, &stream))
        rs_python_put_int(out, stream);
    else
        rs_text_put(out, "None");
    if (truncated)
        put_number(out, ", 'mean_duration_us': ", rs_round(p->mean, 2));
    else
        put_statistics(p, values, out);
    rs_text_put(out, "}");
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

static const rs_order by_mean[] = {RS_RISING(ranked_place, mean), RS_RISING(ranked_place, name),
                                   RS_RISING(ranked_place, at)};

/* The places in rising order of their means; equal ones by name. */
static ranked_place *order_places(const call_list *c, double *values)
{
    ranked_place *places = rs_malloc((c->n + 1) * sizeof *places);
    for (size_t k = 0; places && k < c->n; k++) {
        kernel_place p = take_place(c, k, values);
        places[k] = (ranked_place){p.mean, rs_event_name(c->r->e, p.row), k};
    }
    if (places && c->n) RS_SORT(places, c->n, by_mean);
    return places;
}

void rs_tl_put_kernels(const rs_tl_rank *r, const void *context, rs_tl_list_fn list, const uint32_t *calls,
                       size_t n_calls, bool truncated, rs_text *out)
{
    call_list c = {r, context, list, calls, n_calls, 0};
    const uint32_t *rows;
    RS_LOCAL ranked_place *order = NULL;
    for (size_t i = 0; c.n == 0 && i < n_calls; i++) c.n = list(context, calls[i], &rows);
    RS_LOCAL double *values = rs_malloc((n_calls + 1) * sizeof *values);
    if (!values || !(order = order_places(&c, values))) out->failed = true;
    rs_text_put(out, "[");
    for (size_t k = 0; !out->failed && k < c.n; k++) {
        kernel_place p = take_place(&c, order[k].at, values);
        if (k) rs_text_put(out, ", ");
        put_place(r, &p, values, truncated, out);
    }
    rs_text_put(out, "]");
}
