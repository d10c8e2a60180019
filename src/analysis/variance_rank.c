#include "analysis/variance_rank.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/order.h"
#include "base/real.h"
#include "base/search.h"
#include "base/stats.h"
#include "base/interval.h"
#include "base/try.h"
#include "match/collective_names.h"
#include "perf/owner.h"
#include "trace/busy.h"
#include "trace/kernel_kinds.h"

void rs_variance_free(void *partial)
{
    rs_variance_rank *p = partial;
    if (!p) return;
    rs_pool_clear(&p->pool);
    rs_free_all(p->rows, p);
}

/* One run: a piece of work, or all work of one call of an operator. */
typedef struct one_run {
    uint32_t key; /* of p->rows while they are gathered */
    uint32_t row;
    int64_t start, end; /* from the start of its first work to the end of the last */
    int64_t time;
    bool is_comm;
} one_run;

/* Disjoint intervals with the time that lies before each. */
typedef struct covered {
    rs_interval *items;
    int64_t *before; /* n + 1 */
    size_t n;
} covered;

/* Pieces of communication by start; reach: the latest end up to each. */
typedef struct comm_list {
    rs_keyed *items; /* value: index into the work */
    int64_t *reach;
    size_t n;
} comm_list;

typedef struct gatherer {
    rs_trace *trace;
    const rs_events *e;
    const rs_work *work;
    const rs_classes *classes;
    rs_variance_rank *p;
    rs_map64 places;
    size_t rows_capacity;
    one_run *runs;
    size_t n, capacity;
    covered comm, copies;
    comm_list pieces;
    const char *class;
} gatherer;

/* ---- what runs beside ---------------------------------------------------------------------------------- */

static bool cover(const rs_work *work, rs_class class, covered *c)
{
    if (!rs_work_union(work, class, &c->items, &c->n)) return false;
    c->before = rs_malloc((c->n + 1) * sizeof *c->before);
    if (!c->before) return false;
    c->before[0] = 0;
    for (size_t i = 0; i < c->n; i++)
        c->before[i + 1] = rs_add_sat(c->before[i], rs_sub_sat(c->items[i].end, c->items[i].start));
    return true;
}

static bool list_comm(const rs_work *w, comm_list *out)
{
    size_t n = w->n_class[RS_CLASS_COMM];
    out->items = rs_malloc((n + 1) * sizeof *out->items);
    out->reach = rs_malloc((n + 1) * sizeof *out->reach);
    if (!out->items || !out->reach) return false;
    for (size_t i = 0; i < w->n; i++)
        if (w->class[i] == RS_CLASS_COMM) out->items[out->n++] = (rs_keyed){w->start[i], (uint32_t)i};
    if (!rs_keyed_sort(out->items, out->n)) return false;
    for (size_t i = 0; i < out->n; i++) {
        int64_t end = w->end[out->items[i].value];
        out->reach[i] = i && out->reach[i - 1] > end ? out->reach[i - 1] : end;
    }
    return true;
}

/* The covered time before t. */
static int64_t covered_before(const covered *c, int64_t t)
{
    size_t low;
    RS_SEARCH(low, c->n, c->items[low].start < t);
    if (low == 0) return 0;
    const rs_interval *last = &c->items[low - 1];
    return rs_add_sat(c->before[low - 1], rs_sub_sat(last->end < t ? last->end : t, last->start));
}

static int64_t beside(const covered *c, const one_run *r)
{
    return rs_sub_sat(covered_before(c, r->end), covered_before(c, r->start));
}

/* The share of a run that lies beside communication. */
static double share_of(const gatherer *g, const one_run *r)
{
    int64_t length = rs_sub_sat(r->end, r->start);
    return length > 0 ? (double)beside(&g->comm, r) / (double)length : 0;
}

/* ---- gathering ----------------------------------------------------------------------------------------- */

static bool is_wanted(const gatherer *g, uint32_t row)
{
    const rs_string *name = &g->e->strings.items[g->e->name[row]];
    rs_class class = rs_class_at(g->classes, row);
    if (strcmp(g->class, "all") == 0) return true;
    if (strcmp(g->class, rs_class_names[class]) == 0) return true;
    if (class != RS_CLASS_COMPUTE) return false;
    const char *kind = rs_kernel_kind(class, name->text, name->length);
    return (strcmp(g->class, "gemm") == 0 && strcmp(kind, "GEMM") == 0) ||
           (strcmp(g->class, "attention") == 0 && strcmp(kind, "SDPA") == 0) ||
           (strcmp(g->class, "convolution") == 0 && strcmp(kind, "CONV") == 0);
}

static bool add_run(gatherer *g, uint32_t name, uint32_t dims, const one_run *r)
{
    rs_variance_rank *p = g->p;
    bool is_new;
    uint32_t *place = rs_map64_put(&g->places, (uint64_t)name << 32 | dims, &is_new);
    if (!place) return false;
    if (is_new) {
        if (!RS_GROW_ONE(p->rows, p->n, g->rows_capacity)) return false;
        *place = (uint32_t)p->n;
        p->rows[p->n++] = (rs_variance_row){.name = name, .dims = dims};
    }
    if (!RS_GROW_ONE(g->runs, g->n, g->capacity)) return false;
    g->runs[g->n] = *r;
    g->runs[g->n++].key = *place;
    return true;
}

static rs_status gather_kernels(gatherer *g, rs_error *err)
{
    const rs_work *w = g->work;
    bool ok = true;
    for (size_t i = 0; ok && i < w->n; i++) {
        if (!is_wanted(g, w->row[i])) continue;
        uint32_t name = rs_pool_add(&g->p->pool, g->e, g->e->name[w->row[i]], &ok);
        ok = ok && add_run(g, name, RS_NO_STRING,
                           &(one_run){.row = w->row[i],
                                      .start = w->start[i],
                                      .end = w->end[i],
                                      .time = rs_sub_sat(w->end[i], w->start[i]),
                                      .is_comm = w->class[i] == RS_CLASS_COMM});
    }
    return ok ? RS_OK : rs_fail_nomem(err, "kernels");
}

static rs_status gather_ops(gatherer *g, rs_error *err)
{
    const rs_events *e = g->e;
    const rs_owners *owners;
    RS_TRY(rs_trace_owners(g->trace, &owners, err));
    bool ok = true;
    for (size_t i = 0; ok && i < owners->n; i++) {
        const rs_owned *o = &owners->items[i];
        const uint32_t *rows = owners->work_row + o->first_work;
        one_run r = {.row = o->row,
                     .start = e->start[rows[0]],
                     .end = INT64_MIN,
                     .time = o->time,
                     .is_comm = o->communication};
        bool wanted = false;
        for (uint32_t k = 0; k < o->n_work; k++) {
            int64_t end = e->duration[rows[k]] > 0 ? rs_add_sat(e->start[rows[k]], e->duration[rows[k]])
                                                   : e->start[rows[k]];
            if (end > r.end) r.end = end;
            wanted = wanted || is_wanted(g, rows[k]);
        }
        if (!wanted) continue;
        uint32_t name = rs_pool_add(&g->p->pool, e, e->name[o->row], &ok);
        uint32_t dims = rs_pool_add_tuple(&g->p->pool, e, rs_events_text(e, RS_COL_INPUT_DIMS, o->row), &ok);
        ok = ok && add_run(g, name, dims, &r);
    }
    return ok ? RS_OK : rs_fail_nomem(err, "operators");
}

/* ---- the runs of one key ------------------------------------------------------------------------------- */

static const rs_order by_key[] = {RS_RISING(one_run, key), RS_RISING(one_run, start),
                                  RS_RISING(one_run, row)};

static void set_quantiles(rs_variance_row *v, const one_run *runs, size_t n, double *scratch)
{
    for (size_t i = 0; i < n; i++) scratch[i] = (double)runs[i].time;
    rs_sort_doubles(scratch, n);
    v->p50 = rs_quantile(scratch, n, 0.5);
    v->p90 = rs_quantile(scratch, n, 0.9);
    v->p99 = rs_quantile(scratch, n, 0.99);
    double above = 0;
    for (size_t i = 0; i < n; i++)
        if (scratch[i] > v->p50) above += scratch[i] - v->p50;
    v->above = rs_int_of(above);
}

/* Slowdown and correlation of time and the share beside communication. */
static void set_beside(const gatherer *g, rs_variance_row *v, const one_run *runs, size_t n)
{
    double sum_time = 0, sum_share = 0, beside_time = 0, alone_time = 0;
    v->correlation = v->mean_beside = v->mean_alone = (double)NAN;
    if (runs[0].is_comm) return; /* it is always beside itself */
    for (size_t i = 0; i < n; i++) {
        double share = share_of(g, &runs[i]), time = (double)runs[i].time;
        sum_time += time;
        sum_share += share;
        if (share > 0.5) v->n_beside++, beside_time += time;
        if (share <= 0) v->n_alone++, alone_time += time;
    }
    if (v->n_beside) v->mean_beside = beside_time / (double)v->n_beside;
    if (v->n_alone) v->mean_alone = alone_time / (double)v->n_alone;
    double mean_time = sum_time / (double)n, mean_share = sum_share / (double)n, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        double x = (double)runs[i].time - mean_time, y = share_of(g, &runs[i]) - mean_share;
        xx += x * x;
        yy += y * y;
        xy += x * y;
    }
    if (xx > 0 && yy > 0) v->correlation = xy / sqrt(xx * yy);
}

/* The kinds of communication that ran beside: "all_reduce:2 all_gather:1". */
static uint32_t name_collectives(gatherer *g, const one_run *r, bool *ok)
{
    const rs_work *w = g->work;
    size_t n[RS_N_COLL_KINDS] = {0}, used = 0;
    char text[RS_N_COLL_KINDS * 48];
    for (size_t k = rs_keyed_before(g->pieces.items, g->pieces.n, r->end);
         k-- > 0 && g->pieces.reach[k] > r->start;) {
        uint32_t i = g->pieces.items[k].value;
        if (w->end[i] > r->start) n[rs_coll_kind_of_kernel(rs_event_name(g->e, w->row[i]))]++;
    }
    for (rs_coll_kind kind = RS_COLL_ALL_REDUCE; kind < RS_N_COLL_KINDS; kind++)
        if (n[kind])
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s:%zu", used ? " " : "",
                                     rs_coll_kind_name(kind), n[kind]);
    if (!used) return RS_NO_STRING;
    uint32_t id = rs_strings_add(&g->p->pool.strings, text, used);
    if (id == RS_NO_STRING) *ok = false;
    return id;
}

static bool describe(gatherer *g, rs_variance_row *v, const one_run *runs, size_t n, const rs_step *steps,
                     size_t n_steps, double *scratch)
{
    const rs_events *e = g->e;
    const one_run *slowest = &runs[0], *fastest = &runs[0];
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        rs_moments_add(&v->time, runs[i].time);
        if (runs[i].time > slowest->time) slowest = &runs[i];
        if (runs[i].time < fastest->time) fastest = &runs[i];
    }
    set_quantiles(v, runs, n, scratch);
    set_beside(g, v, runs, n);
    v->slowest_at = slowest->start;
    v->fastest_at = fastest->start;
    v->slowest_row = slowest->row;
    v->slowest_step =
        rs_trace_step_at(steps, n_steps, e->threads[e->thread[slowest->row]].pid, e->start[slowest->row]);
    v->slowest_beside_comm = slowest->is_comm ? 0 : beside(&g->comm, slowest);
    v->slowest_beside_copies = beside(&g->copies, slowest);
    v->collectives = v->slowest_beside_comm > 0 ? name_collectives(g, slowest, &ok) : RS_NO_STRING;
    return ok;
}

/* Kernels belong to the step of their launch. */
static void set_kernel_steps(gatherer *g)
{
    rs_variance_rank *p = g->p;
    for (size_t i = 0; i < p->n; i++) p->rows[i].slowest_step = -1;
    if (!g->work->has_details) return;
    for (size_t i = 0; i < p->n; i++) {
        size_t low; /* work stands by row */
        RS_SEARCH(low, g->work->n, g->work->row[low] < p->rows[i].slowest_row);
        if (low < g->work->n && g->work->row[low] == p->rows[i].slowest_row)
            p->rows[i].slowest_step = g->work->step[low];
    }
}

/* A row beside the pool its texts stand in. */
typedef struct sort_key {
    rs_variance_row row;
    const char *name, *dims;
} sort_key;

static const rs_order by_above[] = {RS_FALLING(sort_key, row.above), RS_RISING(sort_key, name),
                                    RS_RISING(sort_key, dims)};

static bool sort_rows(rs_variance_rank *p)
{
    RS_LOCAL sort_key *keys = rs_malloc((p->n + 1) * sizeof *keys);
    if (!keys) return false;
    for (size_t i = 0; i < p->n; i++) {
        const char *dims = rs_pool_text(&p->pool, p->rows[i].dims);
        keys[i] = (sort_key){p->rows[i], rs_pool_text(&p->pool, p->rows[i].name), dims ? dims : ""};
    }
    RS_SORT(keys, p->n, by_above);
    for (size_t i = 0; i < p->n; i++) p->rows[i] = keys[i].row;
    return true;
}

static rs_status describe_all(gatherer *g, int64_t min_count, bool by_op, rs_error *err)
{
    rs_variance_rank *p = g->p;
    const rs_step *steps;
    size_t n_steps, kept = 0;
    RS_TRY(rs_trace_steps(g->trace, &steps, &n_steps, err));
    RS_LOCAL double *scratch = rs_malloc((g->n + 1) * sizeof *scratch);
    bool ok = scratch != NULL;
    if (ok && g->n) RS_SORT(g->runs, g->n, by_key);
    for (size_t i = 0, end; ok && i < g->n; i = end) {
        for (end = i + 1; end < g->n && g->runs[end].key == g->runs[i].key; end++) {
        }
        rs_variance_row row = p->rows[g->runs[i].key];
        if ((int64_t)(end - i) < min_count) continue;
        ok = describe(g, &row, g->runs + i, end - i, steps, n_steps, scratch);
        p->rows[kept++] = row; /* keys ascend: the place is behind those still to be read */
    }
    p->n = kept;
    if (ok && !by_op) set_kernel_steps(g);
    return ok && sort_rows(p) ? RS_OK : rs_fail_nomem(err, "kernels");
}

static rs_status gather(const rs_run *run, gatherer *g, rs_error *err)
{
    bool by_op = strcmp(rs_options_text(run->options, "by"), "op") == 0;
    RS_TRY(rs_trace_work_details(g->trace, run->policy, &g->work, err));
    RS_TRY(rs_trace_classes(g->trace, RS_CLASSES_OWN, &g->classes, err));
    if (!cover(g->work, RS_CLASS_COMM, &g->comm) || !cover(g->work, RS_CLASS_MEMORY, &g->copies) ||
        !list_comm(g->work, &g->pieces))
        return rs_fail_nomem(err, "GPU work");
    g->p->has_work = g->work->n > 0;
    g->p->has_comm = g->comm.n > 0;
    RS_TRY(by_op ? gather_ops(g, err) : gather_kernels(g, err));
    return describe_all(g, rs_options_int(run->options, "min-count"), by_op, err);
}

rs_status rs_variance_rank_of(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_variance_rank *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "kernels");
    gatherer g = {
        .trace = trace, .e = trace->events, .p = p, .class = rs_options_text(run->options, "class")};
    rs_status status = rs_pool_init(&p->pool) ? RS_OK : rs_fail_nomem(err, "kernels");
    if (status == RS_OK) status = gather(run, &g, err);
    rs_map64_clear(&g.places);
    rs_free_all(g.runs, g.comm.items, g.comm.before, g.copies.items, g.copies.before, g.pieces.items,
                g.pieces.reach);
    if (status == RS_OK)
        *partial = p;
    else
        rs_variance_free(p);
    return status;
}

/* ---- what travels -------------------------------------------------------------------------------------- */

static const rs_field row_fields[] = {
    RS_FIELD_INDEX(rs_variance_row, name, rs_variance_rank, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_variance_row, dims, rs_variance_rank, pool.strings.n),
    RS_FIELD_STRUCT(rs_variance_row, time, &rs_moments_layout),
    RS_FIELDS(rs_variance_row, p50, p90, p99, above, slowest_at, slowest_step, slowest_row, fastest_at,
              slowest_beside_comm, slowest_beside_copies),
    RS_FIELD_INDEX_OR_NONE(rs_variance_row, collectives, rs_variance_rank, pool.strings.n),
    RS_FIELDS(rs_variance_row, n_beside, n_alone, mean_beside, mean_alone, correlation),
};
static const rs_layout row_layout = RS_LAYOUT(rs_variance_row, row_fields);

static const rs_field rank_fields[] = {
    RS_FIELD_STRINGS(rs_variance_rank, pool.strings),
    RS_FIELD_LIST(rs_variance_rank, rows, n, &row_layout),
    RS_FIELDS(rs_variance_rank, has_work, has_comm),
};
const rs_layout rs_variance_layout = RS_LAYOUT(rs_variance_rank, rank_fields);
