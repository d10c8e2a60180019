/* The answers, each by the plainest code that gives it: sort, then one sweep. */
#include "truth.h"

#include <stdlib.h>

typedef struct {
    int64_t at;
    int change, class;
} border;

static int by_start(const void *a, const void *b)
{
    const interval *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static int by_time(const void *a, const void *b)
{
    const border *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (x->change > y->change) - (x->change < y->change);
}

/* Length of the union of the intervals of any class in `classes`; items are sorted by start. */
static int64_t union_of(const interval *items, size_t count, int classes)
{
    int64_t sum = 0, reached = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        if (!(items[i].class & classes)) continue;
        int64_t from = items[i].start > reached ? items[i].start : reached;
        if (items[i].end > from) {
            sum += items[i].end - from;
            reached = items[i].end;
        }
    }
    return sum;
}

static void sweep_combinations(const interval *items, size_t count, int64_t *sums)
{
    border *borders = take_memory(2 * count * sizeof *borders);
    for (size_t i = 0; i < count; i++) {
        borders[2 * i] = (border){items[i].start, 1, items[i].class};
        borders[2 * i + 1] = (border){items[i].end, -1, items[i].class};
    }
    qsort(borders, 2 * count, sizeof *borders, by_time);
    int active[8] = {0};
    for (size_t i = 0; i + 1 < 2 * count; i++) {
        active[borders[i].class] += borders[i].change;
        int mask = (active[1] ? 1 : 0) | (active[2] ? 2 : 0) | (active[4] ? 4 : 0);
        sums[mask] += borders[i + 1].at - borders[i].at;
    }
    free(borders);
}

busy_times busy_of(interval *items, size_t count)
{
    busy_times b = {0};
    if (!count) return b;
    qsort(items, count, sizeof *items, by_start);
    int64_t end = items[0].end;
    for (size_t i = 1; i < count; i++)
        if (items[i].end > end) end = items[i].end;
    b.span = end - items[0].start;
    b.computation = union_of(items, count, CLASS_COMPUTATION);
    b.communication = union_of(items, count, CLASS_COMMUNICATION);
    b.memory = union_of(items, count, CLASS_MEMORY);
    b.busy = union_of(items, count, 7);
    int64_t both = union_of(items, count, CLASS_COMPUTATION | CLASS_COMMUNICATION);
    b.exposed_communication = both - b.computation;
    b.exposed_memory = b.busy - both;
    b.overlap = b.computation + b.communication - both;
    b.idle = b.span - b.busy;
    sweep_combinations(items, count, b.combination);
    /* two ways to the same numbers: a mistake in either shows here */
    const int64_t *c = b.combination;
    if (c[1] + c[3] + c[5] + c[7] != b.computation || c[2] + c[3] + c[6] + c[7] != b.communication ||
        c[4] + c[5] + c[6] + c[7] != b.memory || c[3] + c[7] != b.overlap || c[0] != b.idle ||
        c[2] + c[6] != b.exposed_communication || c[4] != b.exposed_memory)
        fail("the sweep and the unions disagree");
    return b;
}

stream_answer stream_of(const truth_rank *t, int stream)
{
    stream_answer a = {0};
    border *borders = take_memory(2 * t->gpu_count * sizeof *borders);
    size_t count = 0;
    const gpu_truth *previous = NULL;
    for (size_t i = 0; i < t->gpu_count; i++) {
        const gpu_truth *g = &t->gpu[i];
        if (g->stream != stream) continue;
        if (g->launch_start >= 0) {
            borders[count++] = (border){g->launch_start, 1, 0};
            borders[count++] = (border){g->start, -1, 0};
            if (g->start < g->launch_start) fail("a kernel starts before its launch");
        }
        if (previous) {
            int64_t gap = g->start - previous->end;
            if (gap < 0) fail("work on one stream overlaps");
            int what = g->launch_start > previous->end ? 0 : gap < 30000 ? 1 : 2;
            *(what == 0 ? &a.host_wait : what == 1 ? &a.kernel_wait : &a.other) += gap;
            a.count[what]++;
        }
        previous = g;
    }
    qsort(borders, count, sizeof *borders, by_time);
    int64_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        depth += borders[i].change;
        if (depth > a.max_queue) a.max_queue = depth;
    }
    free(borders);
    return a;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The last call that waited for the GPU and had returned by `at`, or NULL. */
static const call_truth *last_wait(const truth_rank *t, int64_t at)
{
    size_t low = 0, high = t->call_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (t->calls[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    while (low && t->calls[low - 1].bound < 0) low--;
    return low ? &t->calls[low - 1] : NULL;
}

/* The GPU event that ended last of those launched in the step, NULL if none was. */
static const gpu_truth *last_of_step(const truth_rank *t, size_t step)
{
    const gpu_truth *last = NULL;
    for (size_t i = 0; i < t->gpu_count; i++) {
        const gpu_truth *g = &t->gpu[i];
        if (g->launch_start < t->steps[step].start || g->launch_start >= t->steps[step].end) continue;
        if (!last || g->end > last->end) last = g;
    }
    return last;
}

/* Walks back, from the later of the step's end and the end of what was launched in it, over whatever made
 * each thing happen no earlier. */
critical_answer critical_of(const truth_rank *t, size_t step)
{
    critical_answer a = {0};
    int64_t begin = t->steps[step].start, at = t->steps[step].end;
    const gpu_truth *g = last_of_step(t, step);
    if (g && g->end > at)
        at = g->end;
    else
        g = NULL;
    a.total = at - begin;
    while (at > begin) {
        int64_t from;
        if (!g) { /* on the host */
            const call_truth *call = last_wait(t, at);
            const gpu_truth *source = call ? &t->gpu[call->bound] : NULL;
            from = source ? later(call->for_room ? source->start : source->end, begin) : begin;
            a.host += at - from;
            at = from;
            g = source;
            if (at <= begin) break;
            if (!call->for_room) continue; /* else the path goes on at that work's start */
        } else {
            a.path = grow(a.path, &a.path_capacity, a.path_count + 1, sizeof *a.path);
            a.path[a.path_count++] = g->position;
            from = later(g->start, begin);
            *(g->class == CLASS_COMPUTATION     ? &a.computation
              : g->class == CLASS_COMMUNICATION ? &a.communication
                                                : &a.memory) += at - from;
            at = from;
            if (at <= begin) break;
        }
        if (g->bound == BOUND_LAUNCH) {
            from = later(g->launch_start, begin);
            a.launch += at - from;
            g = NULL;
        } else {
            const gpu_truth *before = g->bound == BOUND_NONE ? NULL : &t->gpu[g->before];
            from = before ? later(before->end, begin) : begin;
            a.gap += at - from;
            g = before;
        }
        at = from;
    }
    if (a.host + a.launch + a.gap + a.computation + a.communication + a.memory != a.total)
        fail("the critical path has a hole");
    return a;
}
