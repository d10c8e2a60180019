#include <string.h>

#include "analysis/structure.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "base/try.h"
#include "match/collective_ops.h"
#include "match/mesh.h"
#include "trace/repeated_steps.h"
#include "trace/selection.h"

void rs_structure_free(void *rank)
{
    rs_structure_rank *p = rank;
    for (size_t i = 0; i < p->n_groups; i++) {
        rs_free_all((char *)p->groups[i].description, p->groups[i].members);
    }
    rs_free_all(p->groups, p);
}

static rs_structure_from choice_of(const rs_run *run)
{
    const char *from = rs_options_text(run->options, "from");
    if (strcmp(from, "annotations") == 0) return RS_FROM_ANNOTATIONS;
    return strcmp(from, "repetition") == 0 ? RS_FROM_REPETITION : RS_FROM_AUTO;
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

static const rs_order by_layer[] = {RS_RISING(rs_structure_work, phase), RS_RISING(rs_structure_work, layer),
                                    RS_RISING(rs_structure_work, step)};

static rs_structure_work piece_at(const rs_events *e, const rs_structure *s, size_t i)
{
    uint32_t row = s->order->row[i];
    int64_t end = e->duration[row] > 0 ? rs_event_end(e, row) : e->start[row];
    return (rs_structure_work){.step = s->step[i],
                               .micro_batch =
                                   s->micro_batch[i] == RS_NO_LAYER ? -1 : (int64_t)s->micro_batch[i],
                               .layer = s->layer[i] == RS_NO_LAYER ? -1 : (int64_t)s->layer[i],
                               .gpu = rs_sub_sat(end, e->start[row]),
                               .phase = s->phase[i]};
}

static void sum_up(const rs_trace *trace, const rs_structure *s, const rs_ranges *wanted,
                   rs_structure_rank *p, rs_relations *out)
{
    rs_structure_work *of_layers = RS_ROOM(out, rs_structure_work, s->n + 1);
    size_t n = 0;
    for (size_t i = 0; of_layers && i < s->n; i++) {
        if (wanted && !rs_ranges_has(wanted, s->step[i])) continue;
        p->works++;
        p->outside += s->step[i] < 0;
        if (s->step[i] < 0 && s->source != RS_STEPS_NONE) continue;
        rs_structure_work piece = piece_at(trace->events, s, i);
        if (s->source != RS_STEPS_NONE) {
            rs_put(out, RS_STRUCTURE_PHASES, &piece);
            rs_put(out, RS_STRUCTURE_MICRO_BATCHES, &piece);
        }
        if (piece.layer >= 0) of_layers[n++] = piece;
    }
    if (n) RS_SORT(of_layers, n, by_layer);
    for (size_t i = 0; i < n; i++) {
        of_layers[i].opens = i == 0 || RS_COMPARE(by_layer, &of_layers[i], &of_layers[i - 1]) != 0;
        rs_put(out, RS_STRUCTURE_LAYERS, &of_layers[i]);
    }
}

/* ---- steps --------------------------------------------------------------------------------------------- */

static rs_structure_step *find_step(const rs_relation *steps, int64_t number)
{
    rs_structure_step *items = steps->rows;
    size_t low;
    RS_SEARCH(low, steps->n, items[low].number < number);
    return low < steps->n && items[low].number == number ? &items[low] : NULL;
}

static void put_steps(const rs_trace *trace, const rs_structure *s, const rs_ranges *wanted,
                      rs_relations *out)
{
    const rs_events *e = trace->events;
    for (size_t i = 0; i < s->n_steps; i++) {
        const rs_step_shape *x = &s->steps[i];
        if (x->number < 0 || (wanted && !rs_ranges_has(wanted, x->number))) continue;
        rs_put(out, RS_STRUCTURE_STEPS,
               &(rs_structure_step){.number = x->number,
                                    .start = RS_NO_TIME,
                                    .end = RS_NO_TIME,
                                    .works = x->n,
                                    .micro_batches = x->micro_batches,
                                    .layers = x->layers,
                                    .layer_works = x->layer_works,
                                    .likeness = x->likeness,
                                    .source = (uint8_t)s->source});
    }
    for (size_t i = 0; i < s->n; i++) {
        rs_structure_step *step = find_step(&out->items[RS_STRUCTURE_STEPS], s->step[i]);
        uint32_t launch = s->order->launch[i];
        if (!step || launch == RS_NO_ROW) continue;
        int64_t end = rs_event_end(e, launch);
        if (step->start == RS_NO_TIME || e->start[launch] < step->start) step->start = e->start[launch];
        if (step->end == RS_NO_TIME || end > step->end) step->end = end;
    }
}

/* ---- process groups ------------------------------------------------------------------------------------ */

static rs_structure_group *find_group(rs_structure_rank *p, rs_map64 *by_text, const rs_coll_rank *comm,
                                      const rs_coll_shape *op, size_t *capacity, bool *ok)
{
    bool is_new;
    uint64_t key = ((uint64_t)op->members << 32 | op->description) ^ rs_hash_u64((uint64_t)op->group_size);
    uint32_t *slot = rs_map64_put(by_text, key, &is_new);
    *ok = slot != NULL;
    if (slot && !is_new) return *slot == UINT32_MAX ? NULL : &p->groups[*slot];
    if (!slot) return NULL;
    *slot = UINT32_MAX;
    int64_t *members;
    size_t n;
    const char *text = op->members == RS_NO_STRING ? "" : rs_pool_text(&comm->pool, op->members);
    *ok = rs_mesh_parse(text, op->group_size, &members, &n, NULL) == RS_OK;
    if (!*ok || !n) return NULL;
    bool described = op->description != RS_NO_STRING;
    const char *description = described ? rs_strdup(rs_pool_text(&comm->pool, op->description)) : NULL;
    *ok = (description || !described) && RS_GROW_ONE(p->groups, p->n_groups, *capacity);
    if (!*ok) {
        rs_free_all(members, (char *)description);
        return NULL;
    }
    *slot = (uint32_t)p->n_groups;
    p->groups[p->n_groups] = (rs_structure_group){.description = description, .members = members, .n = n};
    return &p->groups[p->n_groups++];
}

static rs_status list_groups(rs_trace *trace, const rs_structure *s, rs_structure_rank *p, rs_error *err)
{
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_coll_rank *comm;
    RS_TRY(rs_coll_rank_any(trace, &policy, &comm, err));
    RS_SCOPED(rs_map64_clear) rs_map64 by_text = {0};
    size_t capacity = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < comm->n; i++) {
        const rs_coll_shape *op = rs_coll_shape_of(comm, &comm->ops[i]);
        rs_structure_group *g = find_group(p, &by_text, comm, op, &capacity, &ok);
        if (!g) {
            p->n_unlisted++;
            continue;
        }
        size_t at = rs_structure_at(s, comm->ops[i].row);
        uint8_t phase = at == SIZE_MAX ? RS_PHASE_UNKNOWN : s->phase[at];
        bool sums = op->kind == RS_COLL_ALL_REDUCE || op->kind == RS_COLL_REDUCE_SCATTER;
        g->ops++;
        g->transfers += op->kind == RS_COLL_SEND_RECV;
        g->all_to_alls += op->kind == RS_COLL_ALL_TO_ALL;
        g->forward_sums += sums && phase == RS_PHASE_FORWARD;
        g->behind += sums && (phase == RS_PHASE_BACKWARD || phase == RS_PHASE_OPTIMIZER);
    }
    rs_coll_rank_free(comm);
    int64_t world = trace->events->info.world_size;
    p->world = world > 0 ? world : 0;
    return ok ? RS_OK : rs_fail_nomem(err, "process groups");
}

rs_status rs_structure_put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    const rs_structure *s;
    rs_structure_from from = choice_of(run);
    rs_structure_rank *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "structure");
    out->extra = p;
    RS_TRY(rs_trace_structure(trace, from, &s, err));
    p->source = (uint8_t)s->source;
    if (from == RS_FROM_REPETITION || s->source == RS_STEPS_NONE || s->source == RS_STEPS_REPETITION) {
        const rs_repeated_steps *r;
        RS_TRY(rs_trace_repeated_steps(trace, &r, err));
        p->looked = r->found.period > 0;
        p->period = r->found.period;
        p->score = r->found.score;
        p->runner_up = r->found.runner_up;
        p->weak = r->found.weak;
        p->border = (uint8_t)r->found.border;
    }
    const rs_ranges *wanted = trace->selection && trace->selection->by_step ? &trace->selection->steps : NULL;
    if (s->n == 0 && s->source != RS_STEPS_NONE) {
        const rs_step *annotated;
        size_t n;
        RS_TRY(rs_trace_steps(trace, &annotated, &n, err));
        for (size_t i = 0; i < n; i++)
            p->n_annotated += !wanted || rs_ranges_has(wanted, annotated[i].number);
    }
    put_steps(trace, s, wanted, out);
    sum_up(trace, s, wanted, p, out);
    return list_groups(trace, s, p, err);
}
