/* What GPU nodes wait for besides their stream: the moment of their launch, and what nothing in the trace
 * tells of. Then the durations of all nodes. */
#include "chakra/convert_time.h"

#include "base/interval.h"
#include "base/search.h"

/* A GPU op that starts later than this, ns, after all that it is known to wait for waited for something else.
 */
#define HELD_UP 20000

/* GPU ops looked at for each: only hostile input has more that end within HELD_UP. */
#define MAX_LOOKS 1000

typedef struct timing {
    const rs_linked *l;
    const rs_convert_places *places;
    rs_convert_times *out;
    rs_timelines lines;
    rs_keyed *by_end; /* GPU nodes */
    size_t n_gpus;
    int64_t *release; /* by node: when its line lets a GPU node go; INT64_MIN: nothing is known */
    rs_interval
        *torn; /* when a thread had already waited for work that by the device's clock had not ended */
    size_t n_torn;
} timing;

static int64_t end_of(const rs_linked_node *g)
{
    return rs_add_sat(g->ts, g->exclusive);
}

static bool list_gpus(timing *x)
{
    const rs_linked *l = x->l;
    x->by_end = rs_malloc(l->n_nodes * sizeof *x->by_end + 1);
    if (!x->by_end) return false;
    for (size_t i = 0; i < l->n_nodes; i++)
        if (l->nodes[i].gpu) x->by_end[x->n_gpus++] = (rs_keyed){end_of(&l->nodes[i]), (uint32_t)i};
    return rs_keyed_sort(x->by_end, x->n_gpus);
}

/* The clocks of host and device then contradict each other. */
static bool find_torn(timing *x)
{
    const rs_timelines *lines = &x->lines;
    x->torn = rs_malloc(lines->n_waits * sizeof *x->torn + 1);
    if (!x->torn) return false;
    for (size_t i = 0; i < lines->n_waits; i++) {
        const rs_timeline_wait *w = &lines->waits[i];
        if (w->gpu == RS_LINKED_NONE) continue;
        int64_t end = end_of(&x->l->nodes[w->gpu]);
        if (end > w->to) x->torn[x->n_torn++] = (rs_interval){w->to, end};
    }
    if (!rs_intervals_sort(x->torn, x->n_torn)) return false;
    x->n_torn = rs_intervals_unite(x->torn, x->n_torn);
    return true;
}

static bool is_torn(const timing *x, int64_t t)
{
    size_t from;
    RS_SEARCH(from, x->n_torn, x->torn[from].start <= t);
    return from && x->torn[from - 1].end > t;
}

/* ---- launches --------------------------------------------------------------------------------------- */

/* The line of the thread that launched a GPU node, or RS_LINKED_NONE. */
static uint32_t line_of(const timing *x, uint32_t gpu)
{
    uint32_t parent = x->places->parent[gpu];
    return parent == gpu || x->l->nodes[parent].gpu ? RS_LINKED_NONE
                                                    : x->lines.line_of[x->places->top[parent]];
}

/* When the launch call returned. The launching node starts before, and its own segment has to end before. */
static int64_t returned(const timing *x, uint32_t gpu)
{
    const rs_linked_node *g = &x->l->nodes[gpu], *parent = &x->l->nodes[x->places->parent[gpu]];
    const rs_linked_gpu *work = rs_linked_gpu_of(x->l, g);
    int64_t launch = work->has_launch ? work->launch : g->ts, end = rs_add_sat(launch, work->launch_dur);
    int64_t r = end < g->ts ? end : g->ts;
    if (r < launch) r = launch;
    if (parent->timed && r <= parent->ts) r = rs_add_sat(parent->ts, 1);
    return r;
}

/* When the launching thread lets the op go: the first end of a segment from the launch call's return to the
 * op's start; if there is none the line gets a point there. */
static bool find_release(timing *x, uint32_t gpu, uint32_t line)
{
    const rs_linked_node *g = &x->l->nodes[gpu];
    int64_t r = returned(x, gpu), q;
    x->release[gpu] = INT64_MIN;
    if (line == RS_LINKED_NONE) return true;
    const rs_timeline *on = &x->lines.lines[line];
    if (!rs_timelines_end_in(&x->lines, line, r, g->ts, &q)) {
        q = r > on->to ? on->to : r;
        if (!rs_timelines_waits_at(&x->lines, line, q) && !rs_timelines_add_point(&x->lines, line, q))
            return false;
    }
    x->release[gpu] = q;
    return true;
}

/* ---- what held an op up ----------------------------------------------------------------------------- */

/* When everything that the op is known to wait for was done. */
static int64_t ready(const timing *x, uint32_t gpu)
{
    const rs_linked_node *g = &x->l->nodes[gpu];
    int64_t t = x->release[gpu], id;
    uint32_t before = x->places->before[gpu];
    if (before != RS_LINKED_NONE && end_of(&x->l->nodes[before]) > t) t = end_of(&x->l->nodes[before]);
    rs_slice_walk walk = rs_slice_elements(rs_linked_more_of(x->l, g)->sync_dep);
    rs_slice element;
    while (rs_slice_next(&walk, &element)) {
        uint32_t on = rs_slice_int(element, &id) ? rs_linked_find(x->l, id) : RS_LINKED_NONE;
        if (on != RS_LINKED_NONE && x->l->nodes[on].gpu && end_of(&x->l->nodes[on]) > t)
            t = end_of(&x->l->nodes[on]);
    }
    return t;
}

static bool other_stream(const rs_linked_gpu *a, const rs_linked_gpu *b)
{
    if (a->has_device != b->has_device || a->device != b->device) return false;
    if (a->has_lane && b->has_lane) return a->lane != b->lane;
    return a->has_stream != b->has_stream || a->stream != b->stream;
}

/* The op of another stream of the device, launched no later, that ended last right before this one started.
 */
static uint32_t held_up_by(const timing *x, uint32_t gpu)
{
    const rs_linked_node *g = &x->l->nodes[gpu];
    const rs_linked_gpu *own = rs_linked_gpu_of(x->l, g);
    size_t from = rs_keyed_until(x->by_end, x->n_gpus, g->ts);
    for (size_t looks = 0; from-- > 0 && looks < MAX_LOOKS; looks++) {
        const rs_linked_node *other = &x->l->nodes[x->by_end[from].value];
        if (rs_sub_sat(g->ts, x->by_end[from].key) > HELD_UP) break;
        if (other == g || other->ts >= g->ts) continue;
        const rs_linked_gpu *theirs = rs_linked_gpu_of(x->l, other);
        if (!other_stream(own, theirs)) continue;
        if (theirs->has_launch && own->has_launch && theirs->launch <= own->launch)
            return x->by_end[from].value;
    }
    return RS_LINKED_NONE;
}

/* An op that starts late without a known reason gets one: another stream, or else its thread; but not what a thread
 * did that had waited for the op, or for what comes behind it. */
static bool explain_start(timing *x, uint32_t gpu, uint32_t line, int64_t *t)
{
    const rs_linked_node *g = &x->l->nodes[gpu];
    if (rs_sub_sat(g->ts, *t) <= HELD_UP) return true;
    uint32_t other = held_up_by(x, gpu);
    if (other != RS_LINKED_NONE) {
        x->out->inferred[gpu] = other;
        *t = end_of(&x->l->nodes[other]);
        return true;
    }
    if (line == RS_LINKED_NONE || is_torn(x, g->ts)) return true;
    const rs_timeline *on = &x->lines.lines[line];
    if (g->ts <= on->from || g->ts > on->to || rs_timelines_waits_at(&x->lines, line, g->ts)) return true;
    x->release[gpu] = *t = g->ts;
    return rs_timelines_add_point(&x->lines, line, g->ts);
}

static bool time_gpus(timing *x)
{
    for (size_t i = 0; i < x->n_gpus; i++) {
        uint32_t gpu = x->by_end[i].value, line = line_of(x, gpu);
        const rs_linked_node *g = &x->l->nodes[gpu];
        if (!find_release(x, gpu, line)) return false;
        int64_t t = ready(x, gpu);
        if (t == INT64_MIN) t = g->ts;
        if (!explain_start(x, gpu, line, &t)) return false;
        x->out->micros[gpu] = rs_convert_micros(t, end_of(g));
        x->out->delay[gpu] = t < g->ts ? rs_sub_sat(g->ts, t) : 0;
    }
    return true;
}

static bool add_releases(timing *x)
{
    for (size_t i = 0; i < x->n_gpus; i++) {
        uint32_t gpu = x->by_end[i].value, line = line_of(x, gpu);
        if (x->out->inferred[gpu] != RS_LINKED_NONE &&
            !rs_convert_add_dep(x->out, gpu, x->out->inferred[gpu]))
            return false;
        if (line == RS_LINKED_NONE || x->release[gpu] == INT64_MIN) continue;
        uint32_t on = rs_timelines_ended(&x->lines, line, x->release[gpu]);
        if (on != RS_LINKED_NONE && !rs_convert_add_dep(x->out, gpu, on)) return false;
    }
    return true;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

/* By node, then by what it depends on. The sign is such that unsigned numbers come in their order. */
static bool sort_deps(rs_convert_times *out)
{
    RS_LOCAL rs_keyed *order = rs_malloc((out->n_deps + 1) * sizeof *order);
    if (!order) return false;
    for (size_t i = 0; i < out->n_deps; i++) {
        uint64_t key = (uint64_t)out->deps[i].node << 32 | out->deps[i].on;
        order[i] = (rs_keyed){(int64_t)(key ^ UINT64_C(1) << 63), 0};
    }
    bool ok = rs_keyed_sort(order, out->n_deps);
    for (size_t i = 0; ok && i < out->n_deps; i++) {
        uint64_t key = (uint64_t)order[i].key ^ UINT64_C(1) << 63;
        out->deps[i] = (rs_convert_dep){(uint32_t)(key >> 32), (uint32_t)key};
    }
    return ok;
}

rs_status rs_convert_time(const rs_linked *l, const rs_convert_places *places, rs_convert_times *out,
                          rs_error *err)
{
    size_t n = l->n_nodes;
    timing x = {.l = l, .places = places, .out = out, .lines = {.linked = l, .places = places}};
    *out = (rs_convert_times){.micros = rs_calloc(n + 1, sizeof *out->micros),
                              .delay = rs_calloc(n + 1, sizeof *out->delay),
                              .inferred = rs_malloc((n + 1) * sizeof *out->inferred),
                              .gap_before = rs_malloc((n + 1) * sizeof *out->gap_before)};
    x.release = rs_malloc((n + 1) * sizeof *x.release);
    bool ok = out->micros && out->delay && out->inferred && out->gap_before && x.release;
    for (size_t i = 0; ok && i < n; i++) out->inferred[i] = out->gap_before[i] = RS_LINKED_NONE;
    ok = ok && rs_timelines_make(&x.lines) && list_gpus(&x) && find_torn(&x) && time_gpus(&x) &&
         rs_timelines_finish(&x.lines, out) && add_releases(&x) && sort_deps(out);
    rs_timelines_clear(&x.lines);
    rs_free_all(x.by_end, x.release, x.torn);
    return ok ? RS_OK : rs_fail_nomem(err, "the times of nodes");
}

void rs_convert_times_clear(rs_convert_times *times)
{
    rs_free_all(times->micros, times->delay, times->inferred, times->gap_before, times->gaps, times->deps);
    *times = (rs_convert_times){0};
}
