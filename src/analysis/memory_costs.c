/* memory --trace: what computing a line's activations again costs, and sites by the operators of the trace. */
#include <stdio.h>
#include <string.h>

#include "analysis/memory_clock.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/try.h"
#include "rankscope/where.h"
#include "text/numbers.h"

/* ---- costs by line ------------------------------------------------------------------------------------------- */

/* An activation that is there when the device is fullest. */
typedef struct kept {
    uint32_t line, module; /* texts: of the snapshot, of the trace */
    int64_t call, cost, step, bytes;
    bool priced; /* the trace shows its operator */
} kept;

static kept *gather(const rs_memory_joint *j, const rs_memory_device *d, size_t *n)
{
    const rs_memory_rank *p = j->snapshot;
    kept *items = rs_malloc((p->n_allocations + 1) * sizeof *items);
    *n = 0;
    for (size_t i = 0; items && i < p->n_allocations; i++) {
        const rs_memory_allocation *a = &p->allocations[i];
        const rs_clocked_event *e = j->found[i];
        if (a->device != d->device || !a->at_peak || a->purpose != RS_FOR_ACTIVATION) continue;
        bool priced = e && e->call >= 0;
        items[(*n)++] = (kept){.line = a->line,
                               .module = priced ? e->module : RS_NO_STRING,
                               .call = priced ? e->call : -1,
                               .cost = priced ? e->cost : 0,
                               .step = priced ? e->step : -1,
                               .bytes = a->size,
                               .priced = priced};
    }
    return items;
}

/* Adds up items; each operator and each module of a step counts once. */
static rs_memory_cost add_up(const rs_memory_joint *j, kept *items, size_t n)
{
    static const rs_order by_call[] = {RS_RISING(kept, call)};
    static const rs_order by_module[] = {RS_RISING(kept, module), RS_RISING(kept, step)};
    rs_memory_cost sum = {.blocks = (int64_t)n};
    RS_SORT(items, n, by_call);
    for (size_t i = 0; i < n; i++) {
        sum.bytes = rs_add_sat(sum.bytes, items[i].bytes);
        if (!items[i].priced) continue;
        sum.priced = rs_add_sat(sum.priced, items[i].bytes);
        if (i && items[i - 1].call == items[i].call) continue;
        sum.calls++;
        sum.cost = rs_add_sat(sum.cost, items[i].cost);
    }
    RS_SORT(items, n, by_module);
    for (size_t i = 0; i < n; i++) {
        const kept *x = &items[i];
        if (i && items[i - 1].module == x->module && items[i - 1].step == x->step) continue;
        int64_t own = rs_memory_forward_time(j->clock, x->module, x->step);
        sum.most = own == RS_NO_TIME || sum.most == RS_NO_TIME ? RS_NO_TIME : rs_add_sat(sum.most, own);
    }
    if (!sum.priced) sum.cost = sum.most = RS_NO_TIME;
    if (sum.most < sum.cost) sum.most = sum.most == RS_NO_TIME ? RS_NO_TIME : sum.cost;
    return sum;
}

static bool fits(const struct rs_pattern *pattern, const rs_string *line)
{
    return !pattern || rs_pattern_matches(pattern, line->text, line->length);
}

/* What --recompute saves, and what it costs. */
static rs_status say_cost(const rs_memory_joint *j, const rs_memory_device *d, const rs_memory_cost *c,
                          rs_table *findings, rs_error *err)
{
    const rs_memory_rank *p = j->snapshot;
    char text[700], saved[200] = "its peak cannot be said", cost[48], most[48] = "", bytes[32], low[32],
                    high[32];
    const rs_memory_finding row = {.kind = "cost",
                                   .finding = text,
                                   .device = c->device,
                                   .rank = j->snapshot_of->rank,
                                   .bytes = c->bytes};
    for (size_t i = 0; i < p->n_answers; i++) {
        const rs_memory_answer *a = &p->answers[i];
        if (a->device != d->device || a->edit != RS_MEMORY_RECOMPUTE) continue;
        snprintf(saved, sizeof saved, "the peak is cut by %s to %s",
                 rs_human_bytes(a->high < a->peak ? rs_sub_sat(a->peak, a->high) : 0, low),
                 rs_human_bytes(rs_sub_sat(a->peak, a->low), high));
    }
    if (c->cost == RS_NO_TIME) {
        snprintf(
            text, sizeof text,
            "What computing %s of activations again costs is not known: the trace does not show their operators.",
            rs_human_bytes(c->bytes, bytes));
        return rs_memory_put_finding(findings, &row, err);
    }
    rs_human_time(c->cost, cost);
    if (c->most != RS_NO_TIME) rs_human_time(c->most, most);
    snprintf(
        text, sizeof text,
        "Computing %s of activations again costs %s of GPU time a step%s%s; %s. %lld operators allocated them; the "
        "trace shows those of %s %% of the bytes.",
        rs_human_bytes(c->bytes, bytes), cost, *most ? ", and at most (all of their modules) " : " or more",
        most, saved, (long long)c->calls, RS_FIXED(100.0 * (double)c->priced / (double)c->bytes, 1));
    return rs_memory_put_finding(findings, &row, err);
}

rs_status rs_memory_put_costs(const rs_memory_joint *j, const rs_memory_question *q,
                              const rs_memory_device *d, rs_table **tables, rs_error *err)
{
    static const rs_order by_line[] = {RS_RISING(kept, line)};
    static const rs_order by_bytes[] = {RS_FALLING(rs_memory_cost, bytes), RS_RISING(rs_memory_cost, site)};
    const rs_memory_rank *p = j->snapshot;
    const struct rs_pattern *pattern = q->patterns[RS_MEMORY_RECOMPUTE];
    size_t n, n_rows = 0, chosen = 0;
    RS_LOCAL kept *items = gather(j, d, &n);
    RS_LOCAL rs_memory_cost *rows = rs_malloc((n + 1) * sizeof *rows);
    if (!items || !rows) return rs_fail_nomem(err, "activations");
    for (size_t i = 0; i < n; i++)
        if (fits(pattern, &p->texts.items[items[i].line])) items[chosen++] = items[i];
    RS_SORT(items, chosen, by_line);
    for (size_t i = 0, end; i < chosen; i = end) {
        for (end = i + 1; end < chosen && items[end].line == items[i].line; end++) {
        }
        uint32_t line = items[i].line;
        rows[n_rows] = add_up(j, items + i, end - i);
        rows[n_rows].device = p->texts.items[d->device].text;
        rows[n_rows].site = p->texts.items[line].text;
        rows[n_rows++].all = d->peak[RS_ACTIVE];
    }
    RS_SORT(rows, n_rows, by_bytes);
    for (size_t i = 0; i < n_rows && (!q->top || i < q->top); i++)
        RS_TRY(rs_memory_put_cost(tables[RS_MEMORY_COSTS], j->snapshot_of->rank, &rows[i], err));
    if (!pattern || !chosen) return RS_OK;
    rs_memory_cost sum = add_up(j, items, chosen);
    sum.device = p->texts.items[d->device].text;
    return say_cost(j, d, &sum, tables[RS_MEMORY_FINDINGS], err);
}

/* ---- sites by operator ---------------------------------------------------------------------------------------- */

/* What begins or ends at an instant; what ends comes first. */
typedef struct turn {
    int64_t instant, bytes;
    uint32_t site;
} turn;

static void put_turns(const rs_memory_allocation *a, uint32_t site, turn *turns, size_t *n)
{
    turns[(*n)++] = (turn){a->from, a->size, site};
    if (a->until != RS_NEVER) turns[(*n)++] = (turn){a->until, -a->size, site};
}

static void add_block(const rs_memory_allocation *a, rs_memory_site *site)
{
    if (a->shown) {
        site->bytes = rs_add_sat(site->bytes, a->size);
        site->blocks++;
    }
    if (a->at_peak) site->at_peak = rs_add_sat(site->at_peak, a->size);
    if (a->until == RS_NEVER) site->end = rs_add_sat(site->end, a->size);
    if (!a->from) return;
    site->allocated = rs_add_sat(site->allocated, a->size);
    site->allocations++;
}

/* The most that each site held at once. now: by site, 0. */
static void find_peaks(turn *turns, size_t n, rs_memory_site *sites, int64_t *now)
{
    static const rs_order in_time[] = {RS_RISING(turn, instant), RS_RISING(turn, bytes)};
    RS_SORT(turns, n, in_time);
    for (size_t i = 0; i < n; i++) {
        uint32_t at = turns[i].site;
        now[at] = rs_add_sat(now[at], turns[i].bytes);
        if (now[at] > sites[at].own_peak) sites[at].own_peak = now[at];
    }
}

/* The operator's name, as a text of the rank; where the trace does not show it, what the frames say. RS_NO_STRING: no memory. */
static uint32_t operator_of(const rs_memory_joint *j, size_t i, rs_strings *texts)
{
    const rs_clocked_event *e = j->found[i];
    if (!e || e->op == RS_NO_STRING) return j->snapshot->allocations[i].site;
    const rs_string *name = &j->clock->texts.items[e->op];
    return rs_strings_add(texts, name->text, name->length);
}

static bool add_device(const rs_memory_joint *j, uint32_t device, rs_memory_rank *out)
{
    const rs_memory_rank *p = j->snapshot;
    RS_SCOPED(rs_map64_clear) rs_map64 rows = {0};
    RS_LOCAL turn *turns = rs_malloc((2 * p->n_allocations + 1) * sizeof *turns);
    size_t first = out->n_sites, n = 0;
    int64_t all = 0;
    bool ok = turns != NULL, is_new;
    for (size_t i = 0; ok && i < p->n_allocations; i++) {
        const rs_memory_allocation *a = &p->allocations[i];
        if (a->device != device) continue;
        uint32_t name = operator_of(j, i, &out->texts);
        uint32_t *row = name == RS_NO_STRING ? NULL : rs_map64_put(&rows, name, &is_new);
        ok = row && (!is_new || RS_GROW_ONE(out->sites, out->n_sites, out->sites_capacity));
        if (!ok) break;
        if (is_new) {
            *row = (uint32_t)(out->n_sites - first);
            out->sites[out->n_sites++] = (rs_memory_site){.device = device, .site = name};
        }
        add_block(a, &out->sites[first + *row]);
        put_turns(a, *row, turns, &n);
        if (a->shown) all = rs_add_sat(all, a->size);
    }
    RS_LOCAL int64_t *now = rs_calloc(out->n_sites - first + 1, sizeof *now);
    if (!ok || !now) return false;
    for (size_t i = first; i < out->n_sites; i++) out->sites[i].all = all;
    if (out->n_sites == first) return true;
    find_peaks(turns, n, out->sites + first, now);
    rs_memory_sort_sites(out->sites + first, out->n_sites - first, &out->texts);
    return true;
}

rs_status rs_memory_by_op(const rs_memory_joint *j, rs_memory_rank *out, rs_error *err)
{
    *out = *j->snapshot;
    out->texts = (rs_strings){0};
    out->sites = NULL;
    out->n_sites = out->sites_capacity = 0;
    bool ok = rs_strings_init(&out->texts);
    for (size_t i = 0; ok && i < j->snapshot->texts.n; i++) { /* ids stay what they are */
        const rs_string *text = &j->snapshot->texts.items[i];
        ok = rs_strings_add(&out->texts, text->text, text->length) == i;
    }
    for (size_t i = 0; ok && i < out->n_devices; i++) ok = add_device(j, out->devices[i].device, out);
    return ok ? RS_OK : rs_fail_nomem(err, "sites");
}

void rs_memory_by_op_clear(rs_memory_rank *rank)
{
    rs_strings_clear(&rank->texts);
    rs_free(rank->sites);
}
