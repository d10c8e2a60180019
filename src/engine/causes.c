#include "engine/causes.h"

#include "base/interval.h"
#include "base/search.h"
#include "base/stats.h"
#include "engine/lanes.h"

/* ns: so long before its turn a launch surely was not what work waited for */
#define EARLY 20000
/* ns: how far the clocks of host and GPU may disagree */
#define CLOCK_SLACK 1000
/* Fewer samples than these make no constant. */
#define MIN_SAMPLES 20
/* Work that starts so much later, ns, than its known causes allow waited for something that the trace does
 * not tell: a wait without an event, the default stream. The work that ended last on the device is taken. */
#define UNEXPLAINED 20000
/* A queue may be full with so many kernels in it; so many calls have waited then. */
#define MIN_QUEUE 256
#define MIN_FULL 3
/* A call that lasts so many times a quick one waited. */
#define BLOCKED 3
/* Calls wait so many times as often where the queue is full as elsewhere, where they are delayed by chance. */
#define FULL_OFTENER 2

void rs_causes_clear(rs_causes *c)
{
    rs_free_all(c->before, c->around, c->room, c->kind, c->samples);
    *c = (rs_causes){0};
}

/* The first item between two places whose target is not below. */
static size_t first_into(const rs_sync_edges *sync, uint32_t target, size_t low, size_t high)
{
    RS_SEARCH_BETWEEN(low, low, high, sync->items[low].target < target);
    return low;
}

void rs_sync_into(const rs_sync_edges *sync, uint32_t target, size_t *from, size_t *to)
{
    size_t low = 0, high = sync->n, at = target >> RS_SYNC_SHIFT;
    if (sync->n_index) {
        low = at + 1 < sync->n_index ? sync->index[at] : sync->n;
        high = at + 1 < sync->n_index ? sync->index[at + 1] : sync->n;
    }
    *from = low == high ? low : first_into(sync, target, low, high);
    for (*to = *from; *to < sync->n && sync->items[*to].target == target;) ++*to;
}

static int64_t device_of(const rs_causes *c, size_t work)
{
    const rs_work *w = c->w;
    return w->device[work] >= 0 ? w->device[work] : c->e->threads[c->e->thread[w->row[work]]].pid;
}

/* ---- order on the GPU -------------------------------------------------------------------------------- */

/* For each piece of work, what had ended last in its lane when it started. Both go by time, so each lane is
 * walked once. */
static bool ended_before(const rs_causes *c, rs_lanes *ended, uint32_t *out)
{
    const rs_work *w = c->w;
    if (!rs_lanes_finish(ended)) return false;
    RS_LOCAL uint32_t *lane_of = rs_malloc(w->n * sizeof *lane_of);
    RS_LOCAL size_t *at = rs_malloc(ended->n_lanes * sizeof *at); /* by lane: how many had ended */
    bool ok = lane_of && at;
    for (size_t i = 0; ok && i < ended->n; i++) lane_of[ended->entries[i].value] = ended->entries[i].lane;
    for (size_t i = 0; ok && i < ended->n_lanes; i++) at[i] = ended->begin[i];
    for (size_t k = 0; ok && k < w->n; k++) {
        uint32_t i = c->by_start[k], lane = lane_of[i];
        int64_t start = w->start[i];
        while (at[lane] < ended->begin[lane + 1] && ended->entries[at[lane]].time <= start) at[lane]++;
        size_t found = at[lane] > ended->begin[lane] ? at[lane] - 1 : SIZE_MAX;
        /* without a duration it would find itself, or what starts together with it */
        if (found != SIZE_MAX && w->start[ended->entries[found].value] >= start)
            found = rs_lanes_before(ended, lane, start, true);
        out[i] = found == SIZE_MAX ? RS_NO_ITEM : ended->entries[found].value;
    }
    return ok;
}

/* The work before each on its stream is what had ended last when it started. On one stream work may overlap
 * (graphs; streams that a tool gives one number), so that is not always what started before it. */
static bool order_streams(rs_causes *c)
{
    const rs_work *w = c->w;
    RS_SCOPED(rs_lanes_clear) rs_lanes streams = {0}, devices = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < w->n; i++) {
        uint32_t k = c->by_start[i];
        ok = rs_lanes_add(&streams, device_of(c, k), w->stream[k], w->end[k], k) &&
             rs_lanes_add(&devices, device_of(c, k), 0, w->end[k], k);
    }
    return ok && ended_before(c, &streams, c->before) && ended_before(c, &devices, c->around);
}

/* By kind of event; work that shares its launch with other work is a graph's. */
static bool tell_kinds(rs_causes *c)
{
    const rs_work *w = c->w;
    RS_LOCAL uint8_t *launches = rs_calloc(c->e->n + 1, 1); /* by row: pieces of work, at most 2 */
    if (!launches) return false;
    for (size_t i = 0; i < w->n; i++)
        if (w->launch[i] != RS_NO_ROW && launches[w->launch[i]] < 2) launches[w->launch[i]]++;
    for (size_t i = 0; i < w->n; i++) {
        rs_kind kind = rs_event_kind(c->e, w->row[i]);
        bool graph = w->launch[i] != RS_NO_ROW && launches[w->launch[i]] == 2;
        c->kind[i] = graph                    ? RS_WORK_GRAPH
                     : kind == RS_KIND_MEMCPY ? RS_WORK_COPY
                     : kind == RS_KIND_MEMSET ? RS_WORK_MEMSET
                                              : RS_WORK_KERNEL;
    }
    return true;
}

/* ---- full queues ------------------------------------------------------------------------------------- */

/* A stream holds so many commands that have not started; the next call lasts until one starts. The limit is no number of
 * the trace, and records and waits of events, which it does not show, count, too. A full queue shows in many calls that
 * find it about that deep: they last far longer than calls do, and return after the start of some work. The others found
 * that work had just started. */
typedef struct queues {
    rs_lanes launched; /* work by stream, by the start of its launch; of a graph one entry a launch */
    rs_lanes started;  /* the same work by its own start */
    int64_t *depth;    /* by entry of launched: how many were launched, itself too, that had not started */
} queues;

static uint32_t launched_at(const queues *q, size_t at)
{
    return q->launched.entries[at].value;
}

/* Marks work that was launched before the recording: it has no launch, and runs on its stream before all that has one. */
static bool mark_ahead(const rs_causes *c, uint8_t *ahead)
{
    const rs_work *w = c->w;
    RS_SCOPED(rs_map64_clear) rs_map64 seen = {0}; /* streams with work that has a launch */
    for (size_t k = 0; k < w->n; k++) {
        const uint32_t i = c->by_start[k];
        const uint64_t stream = (uint64_t)device_of(c, i) << 32 ^ (uint64_t)w->stream[i];
        bool is_new;
        if (w->launch[i] != RS_NO_ROW && !rs_map64_put(&seen, stream, &is_new)) return false;
        ahead[i] = w->launch[i] == RS_NO_ROW && !rs_map64_get(&seen, stream);
    }
    return true;
}

/* What was launched before the recording comes first in launched, in order of its start. */
static bool collect_launches(const rs_causes *c, queues *q)
{
    const rs_work *w = c->w;
    RS_SCOPED(rs_lanes_clear) rs_lanes all = {0};
    RS_LOCAL uint8_t *ahead = rs_calloc(w->n + 1, 1);
    bool ok = ahead && mark_ahead(c, ahead);
    for (size_t k = 0; ok && k < w->n; k++) {
        uint32_t i = c->by_start[k];
        if (w->launch[i] == RS_NO_ROW && !ahead[i]) continue;
        ok = rs_lanes_add(&all, device_of(c, i), w->stream[i],
                          ahead[i] ? INT64_MIN : c->e->start[w->launch[i]], i);
    }
    ok = ok && rs_lanes_finish(&all);
    for (size_t k = 0; ok && k < all.n; k++) {
        uint32_t i = all.entries[k].value;
        bool again = k && all.entries[k - 1].lane == all.entries[k].lane && !ahead[i] &&
                     w->launch[all.entries[k - 1].value] == w->launch[i];
        if (again) continue;
        ok = rs_lanes_add(&q->launched, device_of(c, i), w->stream[i], all.entries[k].time, i) &&
             rs_lanes_add(&q->started, device_of(c, i), w->stream[i], w->start[i], i);
    }
    ok = ok && rs_lanes_finish(&q->launched) && rs_lanes_finish(&q->started);
    q->depth = ok ? rs_malloc(q->launched.n * sizeof *q->depth) : NULL;
    return q->depth != NULL;
}

/* The work whose start let the call of entry `at` go on, if it waited for room: the last that started within the call;
 * else RS_NO_ITEM. */
static uint32_t made_room(const rs_causes *c, const queues *q, size_t last, size_t at)
{
    const uint32_t call = c->w->launch[launched_at(q, at)];
    const int64_t end = rs_event_end(c->e, call);
    const size_t before = at + 1 - (size_t)q->depth[at];
    size_t low; /* of started */
    if (q->depth[at] < MIN_QUEUE) return RS_NO_ITEM;
    RS_SEARCH_BETWEEN(low, before, last, q->started.entries[low].time <= end);
    if (low == before) return RS_NO_ITEM;
    uint32_t source = q->started.entries[low - 1].value;
    if (c->w->launch[source] == RS_NO_ROW) return source; /* launched before the recording */
    return c->e->start[c->w->launch[source]] < c->e->start[call] ? source : RS_NO_ITEM;
}

static void fill_room(rs_causes *c, queues *q, size_t first, size_t last, int64_t *gaps, size_t *n_gaps)
{
    size_t n = 0, n_deep = 0, n_waited = 0, n_shallow = 0, n_long = 0, started = first; /* of ahead, too */
    int64_t *scratch = gaps + *n_gaps, least;
    if (last - first < MIN_QUEUE) return;
    while (first < last && c->w->launch[launched_at(q, first)] == RS_NO_ROW) first++;
    if (first == last) return;
    for (size_t at = first; at < last; at++) {
        while (started < last && q->started.entries[started].time <= q->launched.entries[at].time) started++;
        q->depth[at] = (int64_t)(at + 1) - (int64_t)started;
        scratch[n++] = c->e->duration[c->w->launch[launched_at(q, at)]];
    }
    const int64_t issue = rs_select_number(scratch, n, n / 10);
    n = 0;
    for (size_t at = first; at < last; at++) {
        uint32_t work = launched_at(q, at);
        if (c->e->duration[c->w->launch[work]] <= BLOCKED * issue) continue;
        c->room[work] = made_room(c, q, last, at);
        if (c->room[work] != RS_NO_ITEM) scratch[n++] = q->depth[at];
    }
    if (n < MIN_FULL) return;
    least = rs_select_number(scratch, n, n / 4);
    for (size_t at = first; at < last; at++) {
        const bool is_long = c->e->duration[c->w->launch[launched_at(q, at)]] > BLOCKED * issue;
        n_shallow += q->depth[at] < least / 2;
        n_long += q->depth[at] < least / 2 && is_long;
        n_deep += q->depth[at] >= least;
        n_waited += q->depth[at] >= least && c->room[launched_at(q, at)] != RS_NO_ITEM;
    }
    bool full = n_waited >= MIN_FULL && 4 * n_waited >= n_deep &&
                (double)n_waited * (double)n_shallow >= FULL_OFTENER * (double)n_long * (double)n_deep;
    for (size_t at = first; at < last; at++) {
        uint32_t work = launched_at(q, at);
        if (!full || q->depth[at] < least / 2) c->room[work] = RS_NO_ITEM;
        if (c->room[work] != RS_NO_ITEM)
            gaps[(*n_gaps)++] =
                rs_sub_sat(rs_event_end(c->e, c->w->launch[work]), c->w->start[c->room[work]]);
    }
}

static int64_t usual(int64_t *values, size_t n)
{
    return n < MIN_SAMPLES ? 0 : rs_select_number(values, n, n / 10);
}

static bool sample(rs_causes *c, rs_cost cost, uint32_t row, int64_t value)
{
    return RS_PUSH(c->samples, c->n_samples, c->samples_capacity,
                   (rs_cost_sample){value, row, (uint8_t)cost});
}

static bool find_full_queues(rs_causes *c)
{
    const rs_work *w = c->w;
    queues q = {0};
    RS_LOCAL int64_t *gaps = rs_malloc(w->n * sizeof *gaps), *issues = rs_malloc(w->n * sizeof *issues);
    size_t n_gaps = 0, n_issues = 0;
    for (size_t i = 0; i < w->n; i++) c->room[i] = RS_NO_ITEM;
    bool ok = gaps && issues && collect_launches(c, &q);
    for (size_t lane = 0; ok && lane < q.launched.n_lanes; lane++)
        fill_room(c, &q, q.launched.begin[lane], q.launched.begin[lane + 1], gaps, &n_gaps);
    for (size_t i = 0; ok && n_gaps && i < w->n; i++)
        if (w->launch[i] != RS_NO_ROW && c->room[i] == RS_NO_ITEM)
            issues[n_issues++] = c->e->duration[w->launch[i]];
    for (size_t i = 0; ok && n_gaps && i < w->n; i++) {
        uint32_t call = w->launch[i], room = c->room[i];
        if (call == RS_NO_ROW) continue;
        ok = room == RS_NO_ITEM
                 ? sample(c, RS_COST_ISSUE, call, c->e->duration[call])
                 : sample(c, RS_COST_ROOM, call, rs_sub_sat(rs_event_end(c->e, call), w->start[room]));
    }
    if (ok) {
        c->cost.room = usual(gaps, n_gaps);
        c->cost.issue = usual(issues, n_issues);
    }
    rs_lanes_clear(&q.launched);
    rs_lanes_clear(&q.started);
    rs_free(q.depth);
    return ok;
}

/* ---- what is usual ----------------------------------------------------------------------------------- */

bool rs_launch_counts_from_start(const rs_causes *c, uint32_t work, int64_t call_end)
{
    if (c->w->start[work] >= call_end) return false;
    return c->kind[work] == RS_WORK_GRAPH || c->w->end[work] <= rs_add_sat(call_end, CLOCK_SLACK) ||
           rs_is_staged(rs_event_name(c->e, c->w->row[work]), c->w->start[work], c->w->end[work], call_end);
}

/* A wait is uncontested when work's launch, its stream and all other waits were out of the way long before.
 */
static bool sample_event(rs_causes *c, uint32_t work, size_t from, size_t to)
{
    const rs_work *w = c->w;
    int64_t latest = INT64_MIN, second = INT64_MIN;
    for (size_t k = from; k < to; k++) {
        int64_t end = rs_event_end(c->e, c->sync->items[k].source);
        if (end > latest) {
            second = latest;
            latest = end;
        } else if (end > second) {
            second = end;
        }
    }
    int64_t by = rs_sub_sat(latest, EARLY);
    if (second > by || latest > w->start[work]) return true;
    if (w->launch[work] == RS_NO_ROW || rs_event_end(c->e, w->launch[work]) > by) return true;
    if (c->before[work] != RS_NO_ITEM && w->end[c->before[work]] > by) return true;
    return sample(c, RS_COST_EVENT + c->kind[work], w->row[work], w->start[work] - latest);
}

/* The constants of work, from the samples from `first` on. */
static bool set_work_costs(rs_causes *c, size_t first)
{
    size_t begin[RS_COST_ANSWER + 1] = {0};
    RS_LOCAL int64_t *values = rs_malloc((c->n_samples - first) * sizeof *values);
    int64_t *costs[4] = {c->cost.launch, c->cost.inside, c->cost.stream, c->cost.event};
    if (!values) return false;
    for (size_t i = first; i < c->n_samples; i++) begin[c->samples[i].cost + 1]++;
    for (size_t k = 0; k < RS_COST_ANSWER; k++) begin[k + 1] += begin[k];
    for (size_t i = first; i < c->n_samples; i++) values[begin[c->samples[i].cost]++] = c->samples[i].value;
    for (size_t k = 0, from = 0; k < RS_COST_ANSWER; from = begin[k++])
        costs[k / RS_N_WORK_KINDS][k % RS_N_WORK_KINDS] = usual(values + from, begin[k] - from);
    return true;
}

/* Learned from work of which only one thing can have held it up. */
static bool learn_work_costs(rs_causes *c)
{
    const rs_work *w = c->w;
    size_t first = c->n_samples;
    bool ok = true;
    for (uint32_t i = 0; ok && i < w->n; i++) {
        size_t from, to;
        if (w->launch[i] == RS_NO_ROW) continue;
        int64_t call_start = c->e->start[w->launch[i]], call_end = rs_event_end(c->e, w->launch[i]);
        rs_sync_into(c->sync, w->row[i], &from, &to);
        if (from < to) {
            ok = sample_event(c, i, from, to);
            continue;
        }
        bool alone = c->before[i] == RS_NO_ITEM;
        int64_t free = alone ? INT64_MIN : w->end[c->before[i]];
        int64_t by_host = alone ? INT64_MIN : rs_sub_sat(free, c->sync->ahead); /* at least */
        if (alone || by_host < call_start) {
            /* what ended on another stream since the call may be what it waited for, by an event that is not recorded */
            const uint32_t around = c->around[i];
            if (around != RS_NO_ITEM && w->end[around] > call_end) continue;
            bool inside = rs_launch_counts_from_start(c, i, call_end);
            ok = sample(c, (inside ? RS_COST_INSIDE : RS_COST_LAUNCH) + c->kind[i], w->row[i],
                        rs_sub_sat(w->start[i], inside ? call_start : call_end));
        } else if (by_host > rs_add_sat(call_end, EARLY) && w->start[i] >= free) {
            ok = sample(c, RS_COST_STREAM + c->kind[i], w->row[i], w->start[i] - free);
        }
    }
    return ok && set_work_costs(c, first);
}

/* From calls that certainly waited, and from calls that certainly did not. */
static bool learn_call_costs(rs_causes *c)
{
    const rs_sync_edges *s = c->sync;
    RS_LOCAL int64_t *alone = rs_malloc(s->n * sizeof *alone), *behind = rs_malloc(s->n * sizeof *behind);
    size_t n_alone = 0, n_behind = 0;
    bool ok = alone && behind;
    for (size_t i = 0, end; ok && i < s->n; i = end) {
        uint32_t call = s->items[i].target;
        int64_t latest = INT64_MIN, start = c->e->start[call], stop = rs_event_end(c->e, call);
        for (end = i; end < s->n && s->items[end].target == call; end++) {
            int64_t done = rs_event_end(c->e, s->items[end].source);
            if (done > latest) latest = done;
        }
        /* giving memory back takes time of its own behind the wait */
        if (rs_sync_is_of_work(s->items[i].kind) || s->items[i].kind == RS_SYNC_COPY ||
            s->items[i].kind == RS_SYNC_FREE)
            continue;
        if (latest < start) {
            alone[n_alone++] = rs_sub_sat(stop, start);
            ok = sample(c, RS_COST_CALL, call, rs_sub_sat(stop, start));
        } else if (latest > rs_add_sat(start, EARLY)) {
            behind[n_behind++] = rs_sub_sat(stop, latest);
            ok = sample(c, RS_COST_ANSWER, call, rs_sub_sat(stop, latest));
        }
    }
    if (ok && n_alone) c->cost.call = rs_select_number(alone, n_alone, n_alone / 10);
    if (ok && n_behind) c->cost.answer = rs_select_number(behind, n_behind, n_behind / 10);
    return ok;
}

static void count_contradictions(rs_causes *c)
{
    const rs_work *w = c->w;
    c->n_contradicted = c->sync->n_contradicted;
    for (size_t i = 0; i < w->n; i++)
        if (w->launch[i] != RS_NO_ROW && c->e->start[w->launch[i]] > rs_add_sat(w->start[i], CLOCK_SLACK))
            c->n_contradicted++;
}

rs_status rs_causes_find(const rs_trace *trace, const rs_work *work, const uint32_t *by_start,
                         const rs_sync_edges *sync, rs_causes *out, rs_error *err)
{
    *out = (rs_causes){.e = trace->events, .w = work, .by_start = by_start, .sync = sync};
    out->before = rs_malloc(work->n * sizeof *out->before);
    out->around = rs_malloc(work->n * sizeof *out->around);
    out->room = rs_malloc(work->n * sizeof *out->room);
    out->kind = rs_malloc(work->n + 1);
    bool ok = out->before && out->around && out->room && out->kind && tell_kinds(out) && order_streams(out) &&
              find_full_queues(out) && learn_work_costs(out) && learn_call_costs(out);
    if (ok) {
        count_contradictions(out);
        return RS_OK;
    }
    rs_causes_clear(out);
    return rs_fail_nomem(err, "critical path");
}

/* ---- which it was ------------------------------------------------------------------------------------ */

static bool launch_cause(const rs_causes *c, uint32_t work, rs_path_cause *out)
{
    const rs_work *w = c->w;
    uint32_t launch = w->launch[work];
    if (launch == RS_NO_ROW || c->e->start[launch] > w->start[work]) return false;
    int64_t call_start = c->e->start[launch], call_end = rs_event_end(c->e, launch);
    bool inside = rs_launch_counts_from_start(c, work, call_end);
    int64_t cost = inside ? c->cost.inside[c->kind[work]] : c->cost.launch[c->kind[work]];
    int64_t beyond = rs_sub_sat(rs_sub_sat(w->start[work], inside ? call_start : call_end), cost);
    int64_t least = inside ? cost : rs_add_sat(rs_sub_sat(call_end, call_start), cost);
    *out = (rs_path_cause){
        .row = launch, .type = RS_EDGE_LAUNCH, .least = least, .beyond = beyond > 0 ? beyond : 0};
    return true;
}

/* The end of other work, on the same stream or another. */
static bool work_cause(const rs_causes *c, uint32_t work, uint32_t row, bool same_stream, rs_path_cause *out)
{
    int64_t gap = rs_sub_sat(c->w->start[work], rs_event_end(c->e, row));
    int64_t cost = same_stream ? c->cost.stream[c->kind[work]] : c->cost.event[c->kind[work]];
    if (gap < 0) return false;
    *out = (rs_path_cause){.row = row,
                           .at_end = true,
                           .type = same_stream ? RS_EDGE_KERNEL : RS_EDGE_SYNC,
                           .same_stream = same_stream,
                           .least = cost,
                           .beyond = rs_sub_sat(gap, cost)};
    return true;
}

size_t rs_causes_of_work(const rs_causes *c, uint32_t work)
{
    size_t from, to;
    rs_sync_into(c->sync, c->w->row[work], &from, &to);
    return 2 + to - from;
}

bool rs_cause_at(const rs_causes *c, uint32_t work, size_t k, rs_path_cause *out)
{
    uint32_t before = c->before[work];
    size_t from, to;
    if (k == 0) return launch_cause(c, work, out);
    if (k == 1) return before != RS_NO_ITEM && work_cause(c, work, c->w->row[before], true, out);
    rs_sync_into(c->sync, c->w->row[work], &from, &to);
    uint32_t row = c->sync->items[from + k - 2].source;
    if (before != RS_NO_ITEM && row == c->w->row[before]) return false;
    return work_cause(c, work, row, false, out);
}

static bool unseen_cause(const rs_causes *c, uint32_t work, rs_path_cause *out)
{
    uint32_t other = c->around[work];
    if (other == RS_NO_ITEM || other == c->before[work]) return false;
    return work_cause(c, work, c->w->row[other], false, out);
}

size_t rs_cause_of_work(const rs_causes *c, uint32_t work, rs_path_cause *out)
{
    size_t n = rs_causes_of_work(c, work), which = SIZE_MAX;
    rs_path_cause cause;
    *out = (rs_path_cause){.row = RS_NO_ROW, .type = RS_EDGE_LAUNCH};
    for (size_t k = 0; k < n; k++) {
        if (!rs_cause_at(c, work, k, &cause) || (which != SIZE_MAX && cause.beyond >= out->beyond)) continue;
        *out = cause;
        which = k;
    }
    if ((which == SIZE_MAX || out->beyond > UNEXPLAINED) && unseen_cause(c, work, &cause) &&
        (which == SIZE_MAX || cause.beyond < out->beyond)) {
        *out = cause;
        which = SIZE_MAX;
    }
    return which;
}

/* The latest end that the call may have waited for, RS_NO_ROW if there is none. */
static uint32_t latest_awaited(const rs_causes *c, uint32_t call, bool within)
{
    int64_t start = c->e->start[call], stop = rs_event_end(c->e, call), latest = INT64_MIN;
    uint32_t found = RS_NO_ROW;
    size_t from, to;
    rs_sync_into(c->sync, call, &from, &to);
    for (size_t k = from; k < to; k++) {
        int64_t end = rs_event_end(c->e, c->sync->items[k].source);
        if (end <= start || (within && end > stop) || end <= latest) continue;
        found = c->sync->items[k].source;
        latest = end;
    }
    return found;
}

bool rs_cause_of_call(const rs_causes *c, uint32_t call, uint32_t room, bool within, rs_path_cause *out)
{
    int64_t start = c->e->start[call], stop = rs_event_end(c->e, call), length = rs_sub_sat(stop, start);
    uint32_t row = latest_awaited(c, call, within);
    *out = (rs_path_cause){.row = row, .at_end = true, .type = RS_EDGE_SYNC};
    if (row != RS_NO_ROW) {
        if (!c->cost.call || !c->cost.answer) return true; /* nothing to compare with */
        out->beyond = rs_sub_sat(rs_sub_sat(stop, rs_event_end(c->e, row)), c->cost.answer);
        return out->beyond <= rs_sub_sat(length, c->cost.call);
    }
    if (room == RS_NO_ITEM) return false;
    out->row = c->w->row[room];
    out->at_end = false;
    out->beyond = rs_sub_sat(rs_sub_sat(stop, c->w->start[room]), c->cost.room);
    return out->beyond <= rs_sub_sat(length, c->cost.issue);
}
