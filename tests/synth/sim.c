/* The simulation: hosts issue, streams execute in order, collectives join ranks.
 *
 * A rank runs until it issues a collective whose peers have not come yet; simulated time is unaffected,
 * because nothing a host does later can change when its earlier launches run. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

record *append(records *list)
{
    list->items = grow(list->items, &list->capacity, list->count + 1, sizeof *list->items);
    record *e = &list->items[list->count++];
    *e = (record){.sequence = -1, .template = -1, .truth = -1, .at = -1};
    return e;
}

bool keeps_truth(const job *j, const rank_state *r)
{
    return j->pass == 1 && r->truth;
}

static records *open_list(rank_state *r, int level)
{
    return r->open_list[level] == 2 ? &r->python : &r->host[r->open_list[level]];
}

static uint32_t current_operator(const job *j, rank_state *r)
{
    for (int d = r->depth - 1; d >= 0; d--)
        if (r->open_list[d] == r->thread && !is_unseen(j, r->host[r->thread].items[r->open[d]].template))
            return r->host[r->thread].items[r->open[d]].external;
    return 0;
}

/* A step's pace holds for all that takes time in it, so that the step takes so many times as long. */
int64_t paced(const job *j, int64_t ns)
{
    return j->pace == 1000000 ? ns : ns / 1000000 * j->pace + ns % 1000000 * j->pace / 1000000;
}

/* Time that a rank's host takes. */
int64_t of_host(const job *j, const rank_state *r, int64_t ns)
{
    int64_t factor = j->opt.host_factors[r->id];
    return paced(j, factor == 1000 ? ns : ns * factor / 1000);
}

/* ---- host events --------------------------------------------------------------------------------------- */

/* What a thread has waited for on a stream, the next operator on it has waited for. */
static void end_waits(const job *j, rank_state *r, const record *e)
{
    for (int s = 0; s < STREAM_COUNT; s++) {
        int32_t source = r->waited[r->thread][s];
        r->waited[r->thread][s] = -1;
        if (source >= 0 && keeps_truth(j, r)) truth_wait(r, e->external, source);
    }
}

static record *open_event(job *j, rank_state *r, int template_number)
{
    if (r->depth == 64) fail("host events nest deeper than 64");
    const template *t = &j->templates[template_number];
    int list = t->category == CAT_PYTHON ? 2 : r->thread;
    records *to = list == 2 ? &r->python : &r->host[list];
    r->time += of_host(j, r, 700 + random_below(&r->random, 2100));
    record *e = append(to);
    e->template = template_number;
    e->start = r->time;
    e->thread = (uint8_t)r->thread;
    if (list == 2) {
        e->sequence = ++r->python_id;
        for (int d = r->depth - 1; d >= 0 && !e->amount; d--)
            if (r->open_list[d] == 2) e->amount = r->python.items[r->open[d]].sequence;
    } else {
        e->external = ++r->external;
        end_waits(j, r, e);
    }
    for (int s = 0; s < STREAM_COUNT; s++) r->spans[r->depth][s] = -1;
    r->open_list[r->depth] = (uint8_t)list;
    r->open[r->depth++] = (uint32_t)(to->count - 1);
    return e;
}

static void close_event(job *j, rank_state *r)
{
    r->time += of_host(j, r, 250 + random_below(&r->random, 700));
    r->depth--;
    record *e = &open_list(r, r->depth)->items[r->open[r->depth]];
    e->duration = r->time - e->start;
    if (j->pass == 1 && r->truth) {
        op_truth *op = &r->truth->operators[e->template];
        op->count++;
        op->host += e->duration;
        op->exclusive += e->duration;
        for (int d = r->depth - 1, list = r->open_list[r->depth];
             list != 2 && d >= 0 && !is_unseen(j, e->template); d--) {
            if (r->open_list[d] != list || is_unseen(j, r->host[list].items[r->open[d]].template)) continue;
            r->truth->operators[r->host[list].items[r->open[d]].template].exclusive -= e->duration;
            break;
        }
    }
}

static bool is_backward(const char *name)
{
    return strstr(name, "Backward0") && strncmp(name, "autograd", 8) != 0;
}

static void do_push(job *j, rank_state *r, const instruction *i)
{
    record *e = open_event(j, r, i->template);
    const template *t = &j->templates[i->template];
    if (i->slot >= 0 && !is_evaluation(j, j->step)) { /* nothing is kept for a backward there */
        e->sequence = r->slot_base + i->slot;
        /* the flow starts at the last forward operator of its number and ends at the node itself */
        e->flow = r->thread == 1 ? is_backward(t->name) : !strcmp(t->name, "aten::t");
        if (r->thread == 0 && !e->flow) {
            const instruction *next = i + 1;
            bool inner = next->action == DO_PUSH && next->slot == i->slot;
            e->flow =
                !inner && strcmp(t->name, "aten::transpose") != 0 && strcmp(t->name, "aten::linear") != 0;
        }
    }
    if (i->group >= 0) { /* record_param_comms */
        const group *g = &j->groups[i->group];
        int shown = i->group;
        if (g->kind == GROUP_PAIR)
            for (int k = 0; k < r->group_count; k++)
                if (j->groups[r->groups[k]].kind == GROUP_PP) shown = r->groups[k];
        e->amount = r->sequences[shown] + 1;
    }
}

/* ---- GPU events ---------------------------------------------------------------------------------------- */

static void extend_annotations(job *j, rank_state *r, const record *e)
{
    for (int d = 0; d < r->depth; d++) {
        if (r->open_list[d] != r->thread) continue;
        const record *a = &r->host[r->thread].items[r->open[d]];
        if (j->templates[a->template].category != CAT_USER_ANNOTATION || is_unseen(j, a->template)) continue;
        int32_t at = r->spans[d][e->stream];
        if (at < 0) {
            record *span = append(&r->annotations);
            span->template = a->template;
            span->external = a->external;
            span->stream = e->stream;
            span->start = e->start;
            at = r->spans[d][e->stream] = (int32_t)r->annotations.count - 1;
        }
        record *span = &r->annotations.items[at];
        span->duration = e->start + e->duration - span->start;
    }
}

/* The GPU event's place in its stream is known: enter it and its launch. */
static void place(job *j, rank_state *r, record *e, record *call, int bound, int32_t before)
{
    stream_state *s = &r->streams[e->stream];
    s->free = e->start + e->duration;
    s->last = r->gpu_count++;
    s->queued[s->launched % QUEUE_LIMIT] = s->last;
    s->queue[s->launched++ % QUEUE_LIMIT] = e->start;
    e->truth = s->last;
    if (keeps_truth(j, r)) {
        truth_gpu(j, r, e, call, bound, before);
        for (size_t w = 0; w < s->wait_count; w++)
            truth_edge(r, s->waits[2 * w + 1] == INSIDE_GRAPH ? SYNC_GRAPH : SYNC_STREAM_WAIT,
                       s->waits[2 * w], s->last, s->waits[2 * w + 1]);
    }
    s->wait_count = 0;
    if (keeps_truth(j, r) && call) truth_operators(j, r, e);
    *append(&r->device_records) = *e;
    extend_annotations(j, r, e);
    if (call && !r->in_graph) {
        call->truth = e->truth;
        call->owned = 1;
        *append(&r->device_records) = *call;
    }
}

record new_call(const job *j, rank_state *r, int template_number, int64_t base, int64_t spread)
{
    r->time += of_host(j, r, 90 + random_below(&r->random, 120));
    record call = {.start = r->time,
                   .duration = of_host(j, r, base + random_below(&r->random, spread)),
                   .sequence = -1,
                   .template = template_number,
                   .truth = -1,
                   .external = current_operator(j, r),
                   .correlation = ++r->correlation,
                   .thread = (uint8_t)r->thread};
    r->time += call.duration;
    return call;
}

/* Issues a launch: where its work begins if nothing else is in the way than what is known now. */
static void issue(job *j, rank_state *r, const instruction *i, record *e, record *call, int *bound,
                  int32_t *before)
{
    stream_state *s = &r->streams[i->stream];
    int64_t ready = r->graph_ready;
    if (r->in_graph) {
        *call = r->device_records.items[r->graph_call];
        draws_skip(&r->random, 3);
    } else {
        *call = new_call(j, r, i->call, 2900, 2600);
        call->duration += paced(j, j->opt.launch_cost);
        r->time += paced(j, j->opt.launch_cost);
        call->launches = true;
        call->stream = i->stream;
        uint64_t limit = (uint64_t)j->opt.queue;
        int64_t oldest = s->launched >= limit ? s->queue[(s->launched - limit) % QUEUE_LIMIT] : 0;
        if (oldest > r->time) { /* the queue is full until that event starts */
            r->time = oldest + paced(j, 350);
            call->duration = r->time - call->start;
            if (keeps_truth(j, r)) truth_room(r, call, s->queued[(s->launched - limit) % QUEUE_LIMIT]);
        }
        ready = r->time + paced(j, 700 + random_below(&r->random, 900));
    }
    *e = (record){.amount = i->amount,
                  .sequence = -1,
                  .template = i->template,
                  .external = call->external,
                  .correlation = call->correlation,
                  .at = (int32_t)r->next,
                  .stream = i->stream,
                  .start = ready};
    *bound = BOUND_LAUNCH;
    *before = -1;
    uint64_t apart = draws_apart(j, r, (uint64_t)r->next);
    int64_t gap = paced(j, 500 + random_below(i->first && j->step == 0 ? &apart : &r->random, 500));
    if (s->last >= 0 && s->free + gap > e->start) {
        e->start = s->free + gap;
        *bound = BOUND_STREAM;
        *before = s->last;
    }
    if (s->wait_source >= 0 && s->wait + paced(j, 400) > e->start) {
        e->start = s->wait + paced(j, 400);
        *bound = BOUND_EVENT;
        *before = s->wait_source;
    }
}

/* Whether communication that has been issued is still under way then. */
static bool communicates(const rank_state *r, int64_t time)
{
    for (int s = STREAM_TP; s < STREAM_COUNT; s++)
        if (r->streams[s].last >= 0 && r->streams[s].free > time) return true;
    return false;
}

/* A copy from pageable memory: the call returns when the data is there. */
static void block_until(const job *j, rank_state *r, const record *e, record *call)
{
    r->time = e->start + e->duration + paced(j, 1800);
    call->duration = r->time - call->start;
    if (keeps_truth(j, r)) truth_blocked(r, call, r->gpu_count);
}

static void do_launch(job *j, rank_state *r, const instruction *i)
{
    record e, call;
    int bound;
    int32_t before;
    issue(j, r, i, &e, &call, &bound, &before);
    e.duration = paced(j, jitter(&r->random, i->cost, -15, 25));
    for (size_t k = 0; k < j->opt.scale_count; k++)
        if (strstr(j->templates[i->template].name, j->opt.scales[k].text))
            e.duration = e.duration * j->opt.scales[k].factor / 1000;
    if (j->opt.contention != 1000 && j->templates[i->template].class == CLASS_COMPUTATION &&
        communicates(r, e.start))
        e.duration = e.duration * j->opt.contention / 1000;
    if (j->templates[i->template].class == CLASS_COMPUTATION)
        e.duration = e.duration / 1000 * r->factor + e.duration % 1000 * r->factor / 1000;
    if (i->blocking && !r->in_graph) block_until(j, r, &e, &call);
    place(j, r, &e, &call, bound, before);
}

static bool has_member(const group *g, int rank)
{
    for (int m = 0; m < g->count; m++)
        if (g->ranks[m] == rank) return true;
    return false;
}

/* Bytes over the links: 180 GB/s bus bandwidth inside a host's group, 45 between stages. */
static int64_t transfer_time(const job *j, size_t at, const instruction *i)
{
    const group *g = &j->groups[at];
    uint64_t seed = mix(draws_seed(j) ^ mix(at * 0x10001u + (uint64_t)g->drawn));
    int64_t bytes = i->amount * 2, n = g->count;
    int64_t growing = g->kind == GROUP_PAIR ? bytes / 45 : bytes * 2 * (n - 1) / n / 180;
    growing = growing * 1000 / j->opt.network[g->kind];
    for (size_t k = 0; k < j->opt.link_count; k++)
        if (has_member(g, j->opt.links[k].a) && has_member(g, j->opt.links[k].b))
            growing = growing * j->opt.links[k].factor / 1000;
    return paced(j, jitter(&seed, (g->kind == GROUP_PAIR ? 6000 : 4000 + 1500 * n) + growing, -10, 30));
}

static int member(const group *g, int rank)
{
    for (int m = 0; m < g->count; m++)
        if (g->ranks[m] == rank) return m;
    fail("rank %d is not in its own group", rank);
}

/* Enters the collective and returns whether the rank must now await its peers. */
static bool do_collective(job *j, rank_state *r, const instruction *i)
{
    group *g = &j->groups[i->group];
    int shown = i->group;
    if (g->kind == GROUP_PAIR)
        for (int k = 0; k < r->group_count; k++)
            if (j->groups[r->groups[k]].kind == GROUP_PP) shown = r->groups[k];
    issue(j, r, i, &r->pending, &r->pending_call, &r->pending_bound, &r->pending_before);
    r->pending.amount = ++r->sequences[shown];
    if (is_mislabelled(j, r->id, (size_t)shown, r->pending.amount) && r->pending.amount > 1)
        r->pending.amount ^= 1;
    g->starts[member(g, r->id)] = r->pending.start;
    if (++g->arrived < g->count) return true;

    int64_t ready = g->starts[0];
    for (int m = 1; m < g->count; m++)
        if (g->starts[m] > ready) ready = g->starts[m];
    g->sequence++;
    g->drawn++;
    int64_t end = ready + transfer_time(j, (size_t)i->group, i);
    if (j->pass == 1 && j->truth) truth_collective(j, g, i, end);
    for (int m = 0; m < g->count; m++) {
        j->rank[g->ranks[m]].resumed = true;
        j->rank[g->ranks[m]].resume_end =
            end + skew_of(j, &j->rank[g->ranks[m]], (size_t)i->group, g->sequence);
        /* a small send is buffered: it is over when its own data has left */
        if (g->kind == GROUP_PAIR && i->amount * 2 <= j->opt.eager &&
            j->rank[g->ranks[m]].pending.stream == STREAM_SEND)
            j->rank[g->ranks[m]].resume_end = g->starts[m] + end - ready;
    }
    g->arrived = 0;
    return true;
}

static void end_collective(job *j, rank_state *r)
{
    r->pending.duration = r->resume_end - r->pending.start;
    place(j, r, &r->pending, &r->pending_call, r->pending_bound, r->pending_before);
    r->resumed = r->blocked = false;
}

/* ---- steps --------------------------------------------------------------------------------------------- */

static void left_over(job *j, rank_state *r)
{
    int64_t at = r->time + 400;
    uint64_t apart = draws_apart(j, r, 1);
    for (int k = 0; k < j->opt.unlinked; k++) {
        record e = {.start = at,
                    .duration = paced(j, 4000 + random_below(&apart, 3000)),
                    .sequence = -1,
                    .template = j->left_over,
                    .at = -1,
                    .correlation = ++r->correlation,
                    .stream = STREAM_COMPUTE};
        at = e.start + e.duration + 700;
        place(j, r, &e, NULL, BOUND_NONE, -1);
    }
}

static void step_begin(job *j, rank_state *r)
{
    if (j->step == 0) left_over(j, r);
    r->time += of_host(j, r, 2000 + random_below(&r->random, 3000));
    int64_t start = r->time;
    if (!j->opt.no_steps) {
        record *e = open_event(j, r, j->step_call);
        e->amount = j->opt.first_step + j->step;
        e->truth = (int32_t)j->step;
        start = e->start;
    }
    if (!keeps_truth(j, r)) return;
    truth_rank *t = r->truth;
    if (t->step_count <= (size_t)j->step) fail("step %lld has no place", (long long)j->step);
    t->steps[j->step].start = start;
}

static void step_end(job *j, rank_state *r)
{
    if (!j->opt.no_steps) close_event(j, r);
    if (keeps_truth(j, r)) r->truth->steps[j->step].end = r->time;
    r->slot_base += r->code.slots;
}

static void do_load(job *j, rank_state *r, const instruction *i)
{
    int64_t load = paced(j, jitter(&r->random, i->cost, -200, 300));
    if (j->opt.no_loader) return;
    r->time += load;
    for (size_t k = 0; k < j->opt.stall_count; k++)
        if (j->opt.stalls[k].rank == r->id && j->opt.stalls[k].step == j->opt.first_step + j->step)
            r->time += j->opt.stalls[k].ns;
}

static void do_pause(job *j, rank_state *r)
{
    for (size_t k = 0; k < j->opt.pause_count; k++)
        if (j->opt.pauses[k].rank == r->id && j->opt.pauses[k].step == j->opt.first_step + j->step)
            r->time += j->opt.pauses[k].ns;
}

static void do_call(job *j, rank_state *r, const instruction *i)
{
    record call = new_call(j, r, i->call, i->cost, i->cost / 10 + 1);
    *append(&r->device_records) = call;
}

static bool quiet_in_graph(action what)
{
    return what == DO_PUSH || what == DO_POP || what == DO_HOST || what == DO_THREAD;
}

/* One instruction; a collective whose peers are not there yet leaves the rank blocked. */
static void perform(job *j, rank_state *r, const instruction *i)
{
    if (r->in_graph && quiet_in_graph((action)i->action)) return;
    switch ((action)i->action) {
    case DO_PUSH: do_push(j, r, i); break;
    case DO_POP: close_event(j, r); break;
    case DO_HOST: r->time += of_host(j, r, jitter(&r->random, i->cost, -300, 500)); break;
    case DO_LOAD: do_load(j, r, i); break;
    case DO_THREAD:
        r->thread = i->stream;
        r->time += of_host(j, r, 3000 + random_below(&r->random, 2000));
        break;
    case DO_LAUNCH: do_launch(j, r, i); break;
    case DO_COLLECTIVE: r->blocked = do_collective(j, r, i); break;
    case DO_RECORD: do_record(j, r, i); break;
    case DO_WAIT: do_wait(j, r, i); break;
    case DO_SYNC_DEVICE:
        if (i->slot < 0 || j->step == j->last_step) do_sync(j, r, i);
        break;
    case DO_SYNC_STREAM:
    case DO_SYNC_EVENT: do_sync(j, r, i); break;
    case DO_GRAPH_BEGIN: graph_begin(j, r); break;
    case DO_GRAPH_END: graph_end(r); break;
    case DO_STEP_BEGIN: step_begin(j, r); break;
    case DO_STEP_END: step_end(j, r); break;
    case DO_PAUSE: do_pause(j, r); break;
    case DO_CALL: do_call(j, r, i); break;
    }
}

/* Whether nothing leaves instructions out: then what they draw is what draws_of says. */
static bool is_plain(const job *j)
{
    return !j->opt.graph && !j->opt.no_steps && !j->opt.unlinked;
}

static void run(job *j, rank_state *r)
{
    if (r->blocked && !r->resumed) return;
    if (r->blocked) end_collective(j, r);
    while (r->next < r->code.count) {
        const instruction *i = &r->code.items[r->next];
        uint64_t then = r->random;
        draws_skip(&then, draws_of(j, i));
        if (i->apart) r->random = draws_apart(j, r, i->apart);
        bool skip = i->skip || (i->training && is_evaluation(j, j->step));
        if (!skip)
            perform(j, r, i);
        else if (i->action == DO_COLLECTIVE && j->groups[i->group].ranks[0] == r->id)
            j->groups[i->group].drawn++;
        if (!skip && !i->apart && is_plain(j) && r->random != then)
            fail("instruction %zu of rank %d draws more or less than it should", r->next, r->id);
        r->random = then;
        r->next++;
        if (!r->blocked) continue;
        if (!r->resumed) return;
        end_collective(j, r);
    }
    r->finished = true;
}

void sim_step(job *j)
{
    j->pace = pace_of(j, j->step);
    for (int i = 0; i < j->ranks; i++) {
        rank_state *r = &j->rank[i];
        r->next = 0;
        r->finished = false;
        r->host[0].count = r->host[1].count = r->python.count = 0;
        r->device_records.count = r->annotations.count = 0;
    }
    for (int done = 0; done < j->ranks;) {
        bool moved = false;
        done = 0;
        for (int i = 0; i < j->ranks; i++) {
            rank_state *r = &j->rank[i];
            size_t before = r->next;
            if (!r->finished) run(j, r);
            moved |= r->next != before;
            done += r->finished;
        }
        if (!moved && done < j->ranks) fail("the simulated job is deadlocked");
    }
    j->step++;
}

void sim_reset(job *j, int pass)
{
    j->pass = pass;
    j->step = 0;
    for (size_t g = 0; g < j->group_count; g++) {
        j->groups[g].sequence = j->groups[g].drawn = 0;
        j->groups[g].arrived = 0;
    }
    for (int i = 0; i < j->ranks; i++) {
        rank_state *r = &j->rank[i];
        r->random = mix(draws_seed(j) * 0x100000001b3u + (uint64_t)i + 1);
        r->time = j->epoch + 100000 + random_below(&r->random, 90000);
        r->thread = r->depth = 0;
        r->correlation = 4000;
        r->external = 0;
        r->python_id = 0;
        r->slot_base = 1000;
        r->gpu_count = 0;
        r->blocked = r->resumed = r->in_graph = false;
        r->event_index = 0;
        memset(r->sequences, 0, (j->group_count + 1) * sizeof *r->sequences);
        for (int s = 0; s < STREAM_COUNT; s++) {
            stream_state *stream = &r->streams[s];
            stream->free = stream->wait = 0;
            stream->launched = 0;
            stream->last = stream->wait_source = -1;
            stream->wait_count = 0;
        }
        for (int k = 0; k < 8; k++) r->events[k] = (event_state){.source = -1};
        for (int s = 0; s < STREAM_COUNT; s++) r->waited[0][s] = r->waited[1][s] = -1;
    }
}
