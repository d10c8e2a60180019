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

/* One run: a piece of work, or all work of one call of an operator. */
typedef struct one_run {
    uint32_t name, dims, row;
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
    const rs_events *e;
    const rs_work *work;
    const rs_classes *classes;
    rs_relations *out;
    one_run *runs;
    size_t n;
    covered comm, copies;
    comm_list pieces;
    const char *class;
} gatherer;

/* ---- what runs beside ---------------------------------------------------------------------------------- */

static void cover(rs_relations *out, const rs_work *work, rs_class class, covered *c)
{
    if (!rs_work_union(work, class, &c->items, &c->n)) out->no_memory = true;
    c->before = RS_ROOM(out, int64_t, c->n + 1);
    for (size_t i = 0; c->before && i < c->n; i++)
        c->before[i + 1] = rs_add_sat(c->before[i], rs_sub_sat(c->items[i].end, c->items[i].start));
}

static void list_comm(rs_relations *put, const rs_work *w, comm_list *out)
{
    size_t n = w->n_class[RS_CLASS_COMM];
    out->items = RS_ROOM(put, rs_keyed, n + 1);
    out->reach = RS_ROOM(put, int64_t, n + 1);
    if (!out->items || !out->reach) return;
    for (size_t i = 0; i < w->n; i++)
        if (w->class[i] == RS_CLASS_COMM) out->items[out->n++] = (rs_keyed){w->start[i], (uint32_t)i};
    if (!rs_keyed_sort(out->items, out->n)) put->no_memory = true;
    for (size_t i = 0; i < out->n; i++) {
        int64_t end = w->end[out->items[i].value];
        out->reach[i] = i && out->reach[i - 1] > end ? out->reach[i - 1] : end;
    }
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

static void gather_kernels(gatherer *g)
{
    const rs_work *w = g->work;
    g->runs = RS_ROOM(g->out, one_run, w->n + 1);
    for (size_t i = 0; g->runs && i < w->n; i++)
        if (is_wanted(g, w->row[i]))
            g->runs[g->n++] = (one_run){.name = rs_put_text(g->out, g->e->name[w->row[i]]),
                                        .dims = RS_NO_STRING,
                                        .row = w->row[i],
                                        .start = w->start[i],
                                        .end = w->end[i],
                                        .time = rs_sub_sat(w->end[i], w->start[i]),
                                        .is_comm = w->class[i] == RS_CLASS_COMM};
}

static void gather_ops(gatherer *g, const rs_owners *owners)
{
    const rs_events *e = g->e;
    bool ok = true;
    g->runs = RS_ROOM(g->out, one_run, owners->n + 1);
    for (size_t i = 0; g->runs && i < owners->n; i++) {
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
        r.name = rs_put_text(g->out, e->name[o->row]);
        r.dims = rs_pool_add_tuple(&g->out->pool, e, rs_events_text(e, RS_COL_INPUT_DIMS, o->row), &ok);
        g->runs[g->n++] = r;
    }
    if (!ok) g->out->no_memory = true;
}

/* ---- the runs of one key ------------------------------------------------------------------------------- */

static const rs_order by_key[] = {RS_RISING(one_run, name), RS_RISING(one_run, dims),
                                  RS_RISING(one_run, start), RS_RISING(one_run, row)};

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
static uint32_t name_collectives(gatherer *g, const one_run *r)
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
    return used ? rs_put_string_n(g->out, text, used) : RS_NO_STRING;
}

/* Kernels belong to the step of their launch. */
static int64_t step_of_kernel(const rs_work *w, uint32_t row)
{
    size_t low; /* work is in the order of rows */
    if (!w->has_details) return -1;
    RS_SEARCH(low, w->n, w->row[low] < row);
    return low < w->n && w->row[low] == row ? w->step[low] : -1;
}

static void describe(gatherer *g, const one_run *runs, size_t n, const rs_step *steps, size_t n_steps,
                     bool by_op, double *scratch)
{
    const rs_events *e = g->e;
    const one_run *slowest = &runs[0], *fastest = &runs[0];
    rs_variance_row v = {
        .name = runs[0].name, .dims = runs[0].dims, .has_dims = runs[0].dims != RS_NO_STRING};
    for (size_t i = 0; i < n; i++) {
        rs_moments_add(&v.time, runs[i].time);
        if (runs[i].time > slowest->time) slowest = &runs[i];
        if (runs[i].time < fastest->time) fastest = &runs[i];
    }
    set_quantiles(&v, runs, n, scratch);
    set_beside(g, &v, runs, n);
    v.slowest_at = slowest->start;
    v.fastest_at = fastest->start;
    v.slowest_row = slowest->row;
    v.slowest_step = by_op ? rs_trace_step_at(steps, n_steps, e->threads[e->thread[slowest->row]].pid,
                                              e->start[slowest->row])
                           : step_of_kernel(g->work, slowest->row);
    v.slowest_beside_comm = slowest->is_comm ? 0 : beside(&g->comm, slowest);
    v.slowest_beside_copies = beside(&g->copies, slowest);
    v.collectives = v.slowest_beside_comm > 0 ? name_collectives(g, slowest) : RS_NO_STRING;
    if (!g->comm.n) v.slowest_beside_comm = RS_NO_VALUE;
    rs_put(g->out, RS_VARIANCE_ROWS, &v);
}

static void describe_all(gatherer *g, int64_t min_count, bool by_op, const rs_step *steps, size_t n_steps)
{
    double *scratch = RS_ROOM(g->out, double, g->n + 1);
    if (!scratch) return;
    RS_SORT(g->runs, g->n, by_key);
    for (size_t i = 0, end; i < g->n; i = end) {
        for (end = i + 1;
             end < g->n && g->runs[end].name == g->runs[i].name && g->runs[end].dims == g->runs[i].dims;
             end++) {
        }
        if ((int64_t)(end - i) >= min_count)
            describe(g, g->runs + i, end - i, steps, n_steps, by_op, scratch);
    }
}

rs_status rs_variance_put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    bool by_op = strcmp(rs_options_text(run->options, "by"), "op") == 0;
    gatherer g = {.e = trace->events, .out = out, .class = rs_options_text(run->options, "class")};
    const rs_step *steps;
    const rs_owners *owners;
    size_t n_steps;
    RS_TRY(rs_trace_work_details(trace, run->policy, &g.work, err));
    RS_TRY(rs_trace_classes(trace, RS_CLASSES_OWN, &g.classes, err));
    RS_TRY(rs_trace_steps(trace, &steps, &n_steps, err));
    if (by_op) RS_TRY(rs_trace_owners(trace, &owners, err));
    cover(out, g.work, RS_CLASS_COMM, &g.comm);
    cover(out, g.work, RS_CLASS_MEMORY, &g.copies);
    list_comm(out, g.work, &g.pieces);
    if (by_op)
        gather_ops(&g, owners);
    else
        gather_kernels(&g);
    if (!out->no_memory) describe_all(&g, rs_options_int(run->options, "min-count"), by_op, steps, n_steps);
    rs_put(out, RS_VARIANCE_WORK, &(rs_variance_work){g.work->n});
    rs_free_all(g.comm.items, g.copies.items);
    return RS_OK;
}
