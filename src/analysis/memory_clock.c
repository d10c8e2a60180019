/* memory --trace: what a trace contributes, and where in it the peaks of snapshots were made. */
#include "analysis/memory_clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/memory_trace.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/real.h"
#include "base/stats.h"
#include "base/try.h"
#include "text/numbers.h"

/* Both clocks are the host's: an allocation is in both files within this, ns. */
#define NEAR INT64_C(1000000)
/* A trace has the rounded size: what is left of a block is split off above this. */
#define LEAST_SPLIT (INT64_C(1) << 20)
#define LEAST_MATCHED 0.5
#define LEAST_SAVED 0.02 /* of a peak: what recomputing is advised for */

/* ---- of one trace ---------------------------------------------------------------------------------------- */

uint64_t rs_memory_clock_columns(const rs_options *options)
{
    return rs_options_is_set(options, "trace")
               ? RS_LINK_COLUMNS | RS_COLUMN_BIT(SEQUENCE_NUMBER) | RS_OTHER_ARGUMENTS
               : 0;
}

void rs_memory_clock_free(rs_memory_clock *c)
{
    if (!c) return;
    rs_strings_clear(&c->texts);
    rs_free_all(c->events, c->forwards, c);
}

typedef struct clock_reader {
    rs_trace *trace;
    const rs_events *e;
    rs_module_nodes nodes;
    uint32_t *node_of_row;
    uint32_t *outer; /* by node: the outermost operator of its module around it; RS_NO_NODE */
    const rs_step *steps;
    size_t n_steps;
    rs_memory_clock *clock;
} clock_reader;

/* "Addr" is no column: few ask for it. */
static bool address_of(const rs_events *e, uint32_t name, uint32_t row, uint64_t *out)
{
    const rs_others *o = &e->others;
    for (size_t i = rs_other_first(o, row); i < o->n && o->rows[i] == row; i++) {
        if (o->name[i] != name || o->kind[i] != RS_OTHER_INT) continue;
        *out = (uint64_t)o->value[i];
        return true;
    }
    return false;
}

static int64_t step_of(const clock_reader *r, uint32_t row, int64_t time)
{
    return rs_trace_step_at(r->steps, r->n_steps, r->e->threads[r->e->thread[row]].pid, time);
}

/* A module's name among the texts; RS_NO_STRING: none. */
static bool module_text(clock_reader *r, uint32_t node, uint32_t *out)
{
    size_t length;
    uint32_t module = node == RS_NO_NODE ? RS_NO_NODE : rs_module_of_node(&r->nodes, node);
    *out = RS_NO_STRING;
    if (module == RS_NO_NODE) return true;
    const char *text = rs_module_text(&r->nodes, module, &length);
    *out = rs_strings_add(&r->clock->texts, text, length);
    return *out != RS_NO_STRING;
}

static bool only_takes_memory(const rs_events *e, uint32_t row)
{
    const char *name = rs_event_name(e, row);
    return strncmp(name, "aten::empty", 11) == 0 || strncmp(name, "aten::new_empty", 15) == 0;
}

/* The operator that allocates: aten::empty and its like do so for their caller. */
static uint32_t maker_of(const clock_reader *r, uint32_t row)
{
    const rs_tree *t = r->nodes.t;
    uint32_t node = row == RS_NO_ROW ? RS_NO_NODE : r->node_of_row[row], above = node;
    while (above != RS_NO_NODE && only_takes_memory(r->e, t->row[above]))
        above = t->parent[above] == RS_NO_NODE ? RS_NO_NODE : t->op[t->parent[above]];
    return above == RS_NO_NODE ? row : t->row[above];
}

static bool add_event(clock_reader *r, const rs_memory_event *c, int64_t device, uint64_t address)
{
    rs_memory_clock *clock = r->clock;
    const rs_tree *t = r->nodes.t;
    uint32_t node = c->operator== RS_NO_ROW ? RS_NO_NODE : r->node_of_row[c->operator];
    uint32_t call = node == RS_NO_NODE || t->op[node] == RS_NO_NODE ? RS_NO_NODE : r->outer[t->op[node]];
    uint32_t maker = maker_of(r, c->operator);
    rs_clocked_event event = {.device = device,
                              .time = rs_add_sat(c->time, r->e->info.base_time_ns),
                              .bytes = c->bytes,
                              .step = step_of(r, c->row, c->time),
                              .address = address,
                              .op = RS_NO_STRING,
                              .pass = node == RS_NO_NODE ? RS_PASS_OTHER : r->nodes.pass[node],
                              .call = call == RS_NO_NODE ? -1 : (int64_t)call,
                              .cost = call == RS_NO_NODE ? 0 : rs_tree_gpu_sum(t, call)};
    if (!module_text(r, node, &event.module)) return false;
    if (maker != RS_NO_ROW) {
        const rs_string *name = &r->e->strings.items[r->e->name[maker]];
        event.op = rs_strings_add(&clock->texts, name->text, name->length);
        if (event.op == RS_NO_STRING) return false;
    }
    return RS_PUSH(clock->events, clock->n_events, clock->events_capacity, event);
}

static bool add_events(clock_reader *r, const rs_memory_events *all)
{
    uint32_t text = rs_strings_find(&r->e->strings, "Addr", 4);
    uint32_t name = text == RS_NO_STRING ? RS_NO_OTHER : rs_other_find(&r->e->others, text);
    for (size_t i = 0; name != RS_NO_OTHER && i < all->n; i++) {
        const rs_memory_event *c = &all->changes[i];
        const rs_memory_device_id *d = &all->devices[c->device];
        uint64_t address;
        if (c->failed || c->bytes <= 0 || d->type == 0 || !address_of(r->e, name, c->row, &address)) continue;
        if (!add_event(r, c, d->id, address)) return false;
    }
    static const rs_order in_place[] = {RS_RISING(rs_clocked_event, device),
                                        RS_RISING(rs_clocked_event, address),
                                        RS_RISING(rs_clocked_event, time)};
    RS_SORT(r->clock->events, r->clock->n_events, in_place);
    return true;
}

static bool add_forwards(clock_reader *r)
{
    static const rs_order by_step[] = {RS_RISING(rs_clocked_forward, module),
                                       RS_RISING(rs_clocked_forward, step)};
    rs_memory_clock *clock = r->clock;
    const rs_tree *t = r->nodes.t;
    for (uint32_t node = 0; node < t->n; node++) {
        size_t first = t->gpu_first[node], end = rs_node_work_end(t, node);
        if (r->nodes.pass[node] != RS_PASS_FORWARD || first == end) continue;
        uint32_t row = t->row[node];
        rs_clocked_forward f = {.step = step_of(r, row, r->e->start[row]),
                                .time = rs_sub_sat(t->gpu_sum[end], t->gpu_sum[first])};
        if (!module_text(r, node, &f.module)) return false;
        if (f.module != RS_NO_STRING &&
            !RS_PUSH(clock->forwards, clock->n_forwards, clock->forwards_capacity, f))
            return false;
    }
    RS_SORT(clock->forwards, clock->n_forwards, by_step);
    size_t kept = 0;
    for (size_t i = 0; i < clock->n_forwards; i++) {
        const rs_clocked_forward *f = &clock->forwards[i];
        rs_clocked_forward *last = kept ? &clock->forwards[kept - 1] : NULL;
        if (last && last->module == f->module && last->step == f->step)
            last->time = rs_add_sat(last->time, f->time);
        else
            clock->forwards[kept++] = *f;
    }
    clock->n_forwards = kept;
    return true;
}

/* A node comes after the one above it. */
static bool find_outermost(clock_reader *r)
{
    const rs_tree *t = r->nodes.t;
    r->outer = rs_malloc((t->n + 1) * sizeof *r->outer);
    for (uint32_t node = 0; r->outer && node < t->n; node++) {
        uint32_t above = t->parent[node] == RS_NO_NODE ? RS_NO_NODE : t->op[t->parent[node]];
        bool nested = above != RS_NO_NODE && r->nodes.module[above] == r->nodes.module[node];
        r->outer[node] = nested ? r->outer[above] : node;
    }
    return r->outer != NULL;
}

static rs_status read_trace(clock_reader *r, rs_error *err)
{
    RS_SCOPED(rs_memory_events_clear) rs_memory_events events = {0};
    RS_TRY(rs_module_nodes_make(r->trace, &r->nodes, err));
    RS_TRY(rs_trace_steps(r->trace, &r->steps, &r->n_steps, err));
    RS_TRY(rs_memory_events_read(r->trace, NULL, &events, err));
    r->node_of_row = rs_malloc((r->e->n + 1) * sizeof *r->node_of_row);
    if (!r->node_of_row || !find_outermost(r)) return rs_fail_nomem(err, "memory events");
    memset(r->node_of_row, 0xff, (r->e->n + 1) * sizeof *r->node_of_row);
    for (uint32_t node = 0; node < r->nodes.t->n; node++) r->node_of_row[r->nodes.t->row[node]] = node;
    r->clock->has_modules = r->nodes.any;
    return add_events(r, &events) && add_forwards(r) ? RS_OK : rs_fail_nomem(err, "memory events");
}

rs_status rs_memory_clock_rank(rs_trace *trace, rs_memory_clock **out, rs_error *err)
{
    rs_memory_clock *clock = rs_calloc(1, sizeof *clock);
    if (!clock) return rs_fail_nomem(err, "memory events");
    clock_reader r = {.trace = trace, .e = trace->events, .clock = clock};
    clock->has_clock = r.e->info.base_time_ns != RS_NO_VALUE;
    rs_status status = rs_strings_init(&clock->texts) ? RS_OK : rs_fail_nomem(err, "memory events");
    if (status == RS_OK && clock->has_clock) status = read_trace(&r, err);
    rs_module_nodes_clear(&r.nodes);
    rs_free_all(r.node_of_row, r.outer);
    if (status == RS_OK)
        *out = clock;
    else
        rs_memory_clock_free(clock);
    return status;
}

/* ---- which event of the trace an allocation is ------------------------------------------------------------- */

typedef rs_memory_joint joint;

static bool is_it(const rs_clocked_event *e, const rs_memory_allocation *a)
{
    return e->bytes >= a->size && e->bytes - a->size <= rs_add_sat(a->size, LEAST_SPLIT);
}

/* The event closest to a time; *several: it is not the only one. NULL: none is near. */
static const rs_clocked_event *find_event(const rs_memory_clock *c, const rs_memory_allocation *a,
                                          int64_t time, bool *several)
{
    size_t low = 0, high = c->n_events;
    const rs_clocked_event *best = NULL;
    int64_t least = NEAR;
    *several = false;
    while (low < high) {
        size_t at = low + (high - low) / 2;
        const rs_clocked_event *e = &c->events[at];
        bool before = e->device != a->number     ? e->device < a->number
                      : e->address != a->address ? e->address < a->address
                                                 : e->time < rs_sub_sat(time, NEAR);
        low = before ? at + 1 : low;
        high = before ? high : at;
    }
    for (; low < c->n_events; low++) {
        const rs_clocked_event *e = &c->events[low];
        if (e->device != a->number || e->address != a->address || e->time > rs_add_sat(time, NEAR)) break;
        if (!is_it(e, a)) continue;
        int64_t distance = llabs(rs_sub_sat(e->time, time));
        *several = *several || best;
        if (best && distance >= least) continue;
        best = e;
        least = distance;
    }
    return best;
}

/* One of the quantiles of the clocks' differences; 0 without any. */
static int64_t quantile_of(double *values, size_t n, double q)
{
    rs_sort_doubles(values, n);
    return n ? rs_int_of(rs_quantile(values, n, q)) : 0;
}

static int64_t distance_of(const joint *j, size_t i, const rs_clocked_event *e)
{
    return llabs(rs_sub_sat(e->time, rs_add_sat(j->snapshot->allocations[i].time, j->shift)));
}

/* Each allocation takes the closest event; an event that several take is the closest one's. owner: by event, the
 * allocation + 1. */
static void take_events(joint *j, size_t *owner)
{
    const rs_memory_rank *p = j->snapshot;
    bool several;
    for (size_t i = 0; i < p->n_allocations; i++) {
        const rs_memory_allocation *a = &p->allocations[i];
        if (a->time == RS_NO_TIME) continue;
        const rs_clocked_event *e = find_event(j->clock, a, rs_add_sat(a->time, j->shift), &several);
        size_t *taken = e ? &owner[e - j->clock->events] : NULL;
        if (!e || (*taken && distance_of(j, *taken - 1, e) <= distance_of(j, i, e))) continue;
        if (*taken) j->found[*taken - 1] = NULL;
        *taken = i + 1;
        j->found[i] = e;
    }
}

/* First what is the only one near shows how the clocks differ; then each takes the closest by that. */
static rs_status match_all(joint *j, rs_error *err)
{
    const rs_memory_rank *p = j->snapshot;
    RS_LOCAL double *differences = rs_malloc((p->n_allocations + 1) * sizeof *differences);
    RS_LOCAL size_t *owner = rs_calloc(j->clock->n_events + 1, sizeof *owner);
    size_t n = 0;
    j->found = rs_calloc(p->n_allocations + 1, sizeof *j->found);
    if (!differences || !owner || !j->found) return rs_fail_nomem(err, "allocations");
    for (size_t i = 0; i < p->n_allocations; i++) {
        bool several;
        const rs_memory_allocation *a = &p->allocations[i];
        if (a->time == RS_NO_TIME) continue;
        const rs_clocked_event *e = find_event(j->clock, a, a->time, &several);
        if (e && !several) differences[n++] = (double)rs_sub_sat(e->time, a->time);
    }
    j->shift = quantile_of(differences, n, 0.5);
    take_events(j, owner);
    n = 0;
    for (size_t i = 0; i < p->n_allocations; i++) {
        int64_t time = rs_add_sat(p->allocations[i].time, j->shift);
        bool both = p->allocations[i].time != RS_NO_TIME && time >= j->from && time <= j->until;
        j->n_both += both;
        j->n_found += both && j->found[i];
        if (j->found[i]) differences[n++] = (double)distance_of(j, i, j->found[i]);
    }
    j->error = quantile_of(differences, n, 0.95);
    return RS_OK;
}

static rs_status refuse(const joint *j, rs_error *err)
{
    const rs_memory_rank *p = j->snapshot;
    int64_t from = INT64_MAX, until = INT64_MIN;
    for (size_t i = 0; i < p->n_allocations; i++) {
        if (p->allocations[i].time == RS_NO_TIME) continue;
        if (p->allocations[i].time < from) from = p->allocations[i].time;
        if (p->allocations[i].time > until) until = p->allocations[i].time;
    }
    if (from > until)
        return rs_fail_at(
            err, RS_ERR_FORMAT, j->snapshot_of->source, RS_NO_OFFSET,
            "--trace: no allocation of the snapshot has a time: record its history (PyTorch 2.2 or later)");
    return rs_fail_at(
        err, RS_ERR_FORMAT, j->snapshot_of->source, RS_NO_OFFSET,
        "--trace: is not of the run of %.300s: %zu of %zu allocations are in both within 1 ms. The "
        "snapshot's are from %" PRId64 " to %" PRId64 " us of the Unix clock, the trace's from %" PRId64
        " to %" PRId64,
        j->trace_of->source, j->n_found, j->n_both, from / 1000, until / 1000, j->from / 1000,
        j->until / 1000);
}

static rs_status match(joint *j, rs_error *err)
{
    const rs_memory_clock *c = j->clock;
    const char *missing = !c->has_clock ? "no baseTimeNanoseconds: nothing says when it was recorded"
                          : !c->n_events
                              ? "no [memory] events of a GPU with addresses: record with profile_memory=True"
                              : NULL;
    if (missing)
        return rs_fail_at(err, RS_ERR_FORMAT, j->trace_of->source, RS_NO_OFFSET, "--trace: %s", missing);
    j->from = INT64_MAX;
    j->until = INT64_MIN;
    for (size_t i = 0; i < c->n_events; i++) {
        if (c->events[i].time < j->from) j->from = c->events[i].time;
        if (c->events[i].time > j->until) j->until = c->events[i].time;
    }
    RS_TRY(match_all(j, err));
    return j->n_found && (double)j->n_found >= LEAST_MATCHED * (double)j->n_both ? RS_OK : refuse(j, err);
}

/* ---- tables -------------------------------------------------------------------------------------------------- */

static const char *text_of(const rs_strings *texts, uint32_t id)
{
    return id == RS_NO_STRING ? NULL : texts->items[id].text;
}

/* A block of the peak by where it was allocated. */
typedef struct piece {
    const char *module;
    unsigned pass; /* RS_N_PASSES: the trace does not show it */
    uint32_t text;
    int64_t bytes, activations, blocks;
} piece;

static bool same_place(const piece *a, const piece *b)
{
    return a->pass == b->pass && a->text == b->text;
}

/* What is active at the device's peak, by module and pass; what the trace does not show is the last. NULL: no memory. */
static piece *gather_pieces(const joint *j, const rs_memory_device *d, size_t *n)
{
    static const rs_order by_place[] = {RS_RISING(piece, pass), RS_RISING(piece, text)};
    static const rs_order by_bytes[] = {RS_FALLING(piece, bytes), RS_RISING(piece, module),
                                        RS_RISING(piece, pass)};
    const rs_memory_rank *p = j->snapshot;
    piece *pieces = rs_malloc((p->n_allocations + 1) * sizeof *pieces);
    int64_t known = 0;
    size_t all = 0, kept = 0;
    if (!pieces) return NULL;
    for (size_t i = 0; i < p->n_allocations; i++) {
        const rs_memory_allocation *a = &p->allocations[i];
        const rs_clocked_event *e = j->found[i];
        if (a->device != d->device || !a->at_peak || !e) continue;
        known = rs_add_sat(known, a->size);
        pieces[all++] = (piece){text_of(&j->clock->texts, e->module),          e->pass, e->module, a->size,
                                a->purpose == RS_FOR_ACTIVATION ? a->size : 0, 1};
    }
    RS_SORT(pieces, all, by_place);
    for (size_t i = 0; i < all; i++) {
        if (!kept || !same_place(&pieces[kept - 1], &pieces[i])) {
            pieces[kept++] = pieces[i];
            continue;
        }
        piece *last = &pieces[kept - 1];
        last->bytes = rs_add_sat(last->bytes, pieces[i].bytes);
        last->activations = rs_add_sat(last->activations, pieces[i].activations);
        last->blocks++;
    }
    RS_SORT(pieces, kept, by_bytes);
    if (d->peak[RS_ACTIVE] > known)
        pieces[kept++] = (piece){
            NULL, RS_N_PASSES, RS_NO_STRING, rs_sub_sat(d->peak[RS_ACTIVE], known), RS_NO_VALUE, RS_NO_VALUE};
    *n = kept;
    return pieces;
}

int64_t rs_memory_forward_time(const rs_memory_clock *c, uint32_t module, int64_t step)
{
    for (size_t i = 0; module != RS_NO_STRING && i < c->n_forwards; i++)
        if (c->forwards[i].module == module && c->forwards[i].step == step) return c->forwards[i].time;
    return RS_NO_TIME;
}

static rs_status advise(const joint *j, const rs_memory_device *d, const rs_memory_module *best,
                        rs_table *findings, rs_error *err)
{
    char text[700], bytes[32], time[48], share[32] = "";
    const rs_memory_finding row = {
        .kind = "recompute",
        .finding = text,
        .remedy = "torch.utils.checkpoint around it; --recompute PATTERN says what the peak would be",
        .device = best->device,
        .rank = j->snapshot_of->rank,
        .bytes = best->activations};
    if (d->peak[RS_ACTIVE] > 0)
        snprintf(share, sizeof share, " (%s %%)",
                 RS_FIXED(100.0 * (double)best->activations / (double)d->peak[RS_ACTIVE], 1));
    rs_human_time(best->forward, time);
    snprintf(
        text, sizeof text,
        "At the peak %s%s are activations of the module %.160s, by estimate: at most so much is saved when they "
        "are computed again, which costs %s of GPU time a step.",
        rs_human_bytes(best->activations, bytes), share, best->module, time);
    return rs_memory_put_finding(findings, &row, err);
}

static rs_status put_modules(const joint *j, const rs_memory_device *d, int64_t step, rs_table **tables,
                             rs_error *err)
{
    size_t n;
    RS_LOCAL piece *pieces = gather_pieces(j, d, &n);
    rs_memory_module best = {.activations = 0};
    if (!pieces) return rs_fail_nomem(err, "modules");
    for (size_t i = 0; i < n; i++) {
        const piece *x = &pieces[i];
        rs_memory_module row = {.device = text_of(&j->snapshot->texts, d->device),
                                .module = x->module,
                                .pass = x->pass < RS_N_PASSES ? rs_pass_names[x->pass] : NULL,
                                .bytes = x->bytes,
                                .blocks = x->blocks,
                                .activations = x->activations,
                                .all = d->peak[RS_ACTIVE],
                                .forward = x->pass == RS_PASS_FORWARD
                                               ? rs_memory_forward_time(j->clock, x->text, step)
                                               : RS_NO_TIME};
        RS_TRY(rs_memory_put_module(tables[RS_MEMORY_MODULES], j->snapshot_of->rank, &row, err));
        if (row.forward != RS_NO_TIME && row.activations > best.activations) best = row;
    }
    if ((double)best.activations <= LEAST_SAVED * (double)d->peak[RS_ACTIVE]) return RS_OK;
    return advise(j, d, &best, tables[RS_MEMORY_FINDINGS], err);
}

static rs_status say_moment(const joint *j, const rs_memory_moment *m, rs_table *findings, rs_error *err)
{
    char text[900], step[48] = "", module[200] = "", op[200] = "", bytes[32];
    const rs_memory_finding row = {.kind = "moment",
                                   .finding = text,
                                   .device = m->device,
                                   .rank = j->snapshot_of->rank,
                                   .bytes = m->bytes};
    if (m->step >= 0) snprintf(step, sizeof step, " in step %lld", (long long)m->step);
    if (m->module) snprintf(module, sizeof module, ", module %.160s", m->module);
    if (m->op) snprintf(op, sizeof op, ", by %.160s", m->op);
    if (m->pass)
        snprintf(text, sizeof text,
                 "The allocation that made the peak of rank %lld (%s), %s, was made%s, phase %s%s%s.",
                 (long long)row.rank, m->device, rs_human_bytes(m->bytes, bytes), step, m->pass, module, op);
    else
        snprintf(
            text, sizeof text,
            "The trace does not show the allocation that made the peak of rank %lld (%s): it was recorded at "
            "another time.",
            (long long)row.rank, m->device);
    return rs_memory_put_finding(findings, &row, err);
}

static rs_status put_device(const joint *j, const rs_memory_question *q, const rs_memory_device *d,
                            rs_table **tables, rs_error *err)
{
    const rs_memory_rank *p = j->snapshot;
    rs_memory_moment m = {.device = text_of(&p->texts, d->device),
                          .time = d->peak_at[RS_ACTIVE],
                          .peak = d->peak[RS_ACTIVE],
                          .step = -1,
                          .bytes = RS_NO_VALUE,
                          .shift = j->shift,
                          .error = j->error,
                          .found = (int64_t)j->n_found,
                          .both = (int64_t)j->n_both};
    for (size_t i = 0; i < p->n_allocations; i++) {
        const rs_memory_allocation *a = &p->allocations[i];
        const rs_clocked_event *e = j->found[i];
        if (a->device != d->device || !a->made_peak || !e) continue;
        m.step = e->step;
        m.pass = rs_pass_names[e->pass];
        m.module = text_of(&j->clock->texts, e->module);
        m.op = text_of(&j->clock->texts, e->op);
        m.bytes = a->size;
    }
    RS_TRY(rs_memory_put_moment(tables[RS_MEMORY_MOMENTS], j->snapshot_of->rank, &m, err));
    RS_TRY(say_moment(j, &m, tables[RS_MEMORY_FINDINGS], err));
    RS_TRY(put_modules(j, d, m.step, tables, err));
    return rs_memory_put_costs(j, q, d, tables, err);
}

rs_status rs_memory_joint_put(const joint *j, const rs_memory_question *q, rs_table **tables,
                              rs_result *result, rs_error *err)
{
    for (size_t i = 0; i < j->snapshot->n_devices; i++)
        RS_TRY(put_device(j, q, &j->snapshot->devices[i], tables, err));
    if (!j->clock->has_modules)
        rs_result_note(
            result, "rank %lld: the trace names no modules: record with with_modules=True or with_stack=True",
            (long long)j->snapshot_of->rank);
    return RS_OK;
}

/* Ranks are matched by number, the only one of a job with the only one of the other. */
static const rs_partial *trace_of(const rs_partial *snapshot, bool single, const rs_partial *traces, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (traces[i].rank == snapshot->rank || (single && n == 1)) return &traces[i];
    return NULL;
}

void rs_memory_joints_clear(rs_memory_joints *joints)
{
    for (size_t i = 0; i < joints->n; i++) rs_free(joints->items[i].found);
    rs_free(joints->items);
    *joints = (rs_memory_joints){0};
}

rs_status rs_memory_joints_make(const rs_partial *snapshots, size_t n, const rs_partial *traces,
                                size_t n_traces, rs_memory_joints *out, rs_result *result, rs_error *err)
{
    *out = (rs_memory_joints){.items = rs_calloc(n + 1, sizeof *out->items)};
    if (!out->items) return rs_fail_nomem(err, "ranks");
    for (size_t i = 0; i < n; i++) {
        const rs_partial *trace = trace_of(&snapshots[i], n == 1, traces, n_traces);
        if (!trace) {
            rs_result_note(result, "rank %lld: --trace has no trace of it", (long long)snapshots[i].rank);
            continue;
        }
        joint *j = &out->items[out->n++];
        *j = (joint){.snapshot_of = &snapshots[i],
                     .trace_of = trace,
                     .snapshot = snapshots[i].value,
                     .clock = trace->value};
        RS_TRY(match(j, err));
    }
    return out->n ? RS_OK
                  : rs_fail(err, RS_ERR_FORMAT, "--trace holds no trace of a rank that has a snapshot");
}

/* ---- what travels ---------------------------------------------------------------------------------------------- */

static const rs_field event_fields[] = {
    RS_FIELDS(rs_clocked_event, device, time, bytes, step, address),
    RS_FIELD_INDEX_OR_NONE(rs_clocked_event, op, rs_memory_clock, texts.n),
    RS_FIELD_INDEX_OR_NONE(rs_clocked_event, module, rs_memory_clock, texts.n),
    RS_FIELD_BELOW(rs_clocked_event, pass, RS_N_PASSES),
    RS_FIELDS(rs_clocked_event, call, cost),
};
static const rs_layout event_layout = RS_LAYOUT(rs_clocked_event, event_fields);
static const rs_field forward_fields[] = {
    RS_FIELD_INDEX(rs_clocked_forward, module, rs_memory_clock, texts.n),
    RS_FIELDS(rs_clocked_forward, step, time),
};
static const rs_layout forward_layout = RS_LAYOUT(rs_clocked_forward, forward_fields);
static const rs_field clock_fields[] = {
    RS_FIELD_STRINGS(rs_memory_clock, texts),
    RS_FIELD_LIST(rs_memory_clock, events, n_events, &event_layout),
    RS_FIELD_LIST(rs_memory_clock, forwards, n_forwards, &forward_layout),
    RS_FIELDS(rs_memory_clock, has_modules, has_clock),
};
const rs_layout rs_memory_clock_layout = RS_LAYOUT(rs_memory_clock, clock_fields);
