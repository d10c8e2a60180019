/* Entering into the truth what the simulation has just made happen. */
#include "truth.h"

#include <string.h>

void truth_gpu(job *j, rank_state *r, const record *e, const record *call, int bound, int32_t before)
{
    truth_rank *t = r->truth;
    t->gpu = grow(t->gpu, &t->gpu_capacity, t->gpu_count + 1, sizeof *t->gpu);
    gpu_truth *g = &t->gpu[t->gpu_count++];
    *g = (gpu_truth){.start = e->start,
                     .end = e->start + e->duration,
                     .launch_start = call ? call->start : -1,
                     .launch_end = call ? call->start + call->duration : -1,
                     .position = -1,
                     .launch_position = -1,
                     .step = (int32_t)j->step,
                     .template = e->template,
                     .before = before,
                     .correlation = e->correlation,
                     .stream = e->stream,
                     .class = j->templates[e->template].class,
                     .bound = (uint8_t)bound,
                     .graph = r->in_graph,
                     .at = e->at};
}

void truth_edge(rank_state *r, int kind, int32_t source, int32_t target, int32_t sync)
{
    truth_rank *t = r->truth;
    t->edges = grow(t->edges, &t->edge_capacity, t->edge_count + 1, sizeof *t->edges);
    t->edges[t->edge_count++] = (edge_truth){(uint8_t)kind, source, target, sync};
}

void truth_wait(rank_state *r, uint32_t operator, int32_t source)
{
    truth_rank *t = r->truth;
    t->waits = grow(t->waits, &t->wait_capacity, t->wait_count + 1, sizeof *t->waits);
    t->waits[t->wait_count++] = (wait_truth){operator, source };
}

void truth_room(rank_state *r, const record *call, int32_t source)
{
    truth_rank *t = r->truth;
    t->calls = grow(t->calls, &t->call_capacity, t->call_count + 1, sizeof *t->calls);
    t->calls[t->call_count++] = (call_truth){call->start, call->start + call->duration, -1, source, true};
}

void truth_blocked(rank_state *r, const record *call, int32_t source)
{
    truth_rank *t = r->truth;
    t->calls = grow(t->calls, &t->call_capacity, t->call_count + 1, sizeof *t->calls);
    t->calls[t->call_count++] = (call_truth){call->start, call->start + call->duration, -1, source, false};
}

/* Credits a linked GPU event to the operators and annotations that are open on its launch's thread. */
void truth_operators(job *j, rank_state *r, const record *e)
{
    bool direct = true;
    for (int d = r->depth - 1; d >= 0; d--) {
        if (r->open_list[d] != r->thread) continue;
        int32_t name = r->host[r->thread].items[r->open[d]].template;
        op_truth *op = &r->truth->operators[name];
        op->gpu_count++;
        op->gpu += e->duration;
        if (!direct || j->templates[name].category != CAT_CPU_OP) continue;
        op->direct_count++;
        op->direct += e->duration;
        direct = false;
    }
}

void truth_collective(job *j, const group *g, const instruction *i, int64_t end)
{
    struct truth *t = j->truth;
    t->items = grow(t->items, &t->capacity, t->count + 1, sizeof *t->items);
    t->items[t->count++] = (collective_truth){.group = i->group,
                                              .step = (int32_t)j->step,
                                              .template = i->template,
                                              .sequence = g->sequence,
                                              .elements = i->amount,
                                              .end = end,
                                              .first = t->start_count};
    size_t wanted = t->start_count + (size_t)g->count;
    t->starts = grow(t->starts, &t->start_capacity, wanted, sizeof *t->starts);
    t->events = grow(t->events, &t->event_capacity, wanted, sizeof *t->events);
    t->shown = grow(t->shown, &t->shown_capacity, wanted, sizeof *t->shown);
    for (int m = 0; m < g->count; m++) {
        t->starts[t->start_count] = g->starts[m];
        t->events[t->start_count] = j->rank[g->ranks[m]].gpu_count;
        t->shown[t->start_count++] = j->rank[g->ranks[m]].pending.amount;
    }
}
