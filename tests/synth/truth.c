/* truth.json: the answers of every rank and of the job, documented in README.md. */
#include "sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long long number;

void truth_create(job *j)
{
    j->truth = take_memory(sizeof *j->truth);
    for (int i = 0; i < j->ranks; i++) {
        if (j->opt.only_rank >= 0 && j->opt.only_rank != i) continue;
        truth_rank *t = j->rank[i].truth = take_memory(sizeof *t);
        t->operators = take_memory(j->template_count * sizeof *t->operators);
        t->step_count = (size_t)j->opt.steps;
        t->steps = take_memory(t->step_count * sizeof *t->steps);
        for (size_t s = 0; s < t->step_count; s++) t->steps[s].position = -1;
    }
}

void truth_free(job *j)
{
    for (int i = 0; i < j->ranks; i++) {
        truth_rank *t = j->rank[i].truth;
        if (!t) continue;
        free(t->operators);
        free(t->gpu);
        free(t->calls);
        free(t->edges);
        free(t->waits);
        free(t->syncs);
        free(t->steps);
        free(t);
    }
    if (!j->truth) return;
    free(j->truth->items);
    free(j->truth->starts);
    free(j->truth->events);
    free(j->truth->shown);
    free(j->truth);
}

static void put_position(FILE *f, int64_t position)
{
    if (position < 0)
        fputs("null", f);
    else
        fprintf(f, "%lld", (number)position);
}

/* The times of all GPU events from `first` to before `end`; unlinked ones only if `all`. */
static busy_times busy_of_range(const truth_rank *t, size_t first, size_t end, bool all, size_t *count)
{
    interval *items = take_memory((end - first) * sizeof *items);
    *count = 0;
    for (size_t i = first; i < end; i++)
        if (all || t->gpu[i].launch_start >= 0)
            items[(*count)++] = (interval){t->gpu[i].start, t->gpu[i].end, t->gpu[i].class};
    busy_times b = busy_of(items, *count);
    free(items);
    return b;
}

static void put_busy(FILE *f, const busy_times *b)
{
    fprintf(f,
            "\"span\": %lld, \"busy\": %lld, \"idle\": %lld, \"computation\": %lld, \"communication\": %lld, "
            "\"memory\": %lld, \"exposed_communication\": %lld, \"exposed_memory\": %lld, \"overlap\": %lld",
            (number)b->span, (number)b->busy, (number)b->idle, (number)b->computation,
            (number)b->communication, (number)b->memory, (number)b->exposed_communication,
            (number)b->exposed_memory, (number)b->overlap);
}

static void put_combinations(FILE *f, const busy_times *b)
{
    static const char *const names[] = {
        "idle",   "computation",        "communication",        "computation+communication",
        "memory", "computation+memory", "communication+memory", "computation+communication+memory"};
    fputs("      \"combinations\": {", f);
    for (int c = 1; c < 8; c++)
        fprintf(f, "%s\"%s\": %lld", c > 1 ? ", " : "", names[c], (number)b->combination[c]);
    fputs("},\n", f);
}

typedef struct {
    const char *name;
    int class;
    int64_t count, sum, min, max;
} total;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const total *)a)->name, ((const total *)b)->name);
}

static void put_kernels(FILE *f, const job *j, const truth_rank *t)
{
    static const char *const classes[] = {"", "computation", "communication", "", "memory"};
    total *totals = take_memory(j->template_count * sizeof *totals);
    for (size_t i = 0; i < t->gpu_count; i++) {
        const gpu_truth *g = &t->gpu[i];
        total *k = &totals[g->template];
        int64_t length = g->end - g->start;
        if (!k->count || length < k->min) k->min = length;
        if (!k->count || length > k->max) k->max = length;
        k->name = j->templates[g->template].name;
        k->class = g->class;
        k->count++;
        k->sum += length;
    }
    size_t used = 0;
    for (size_t i = 0; i < j->template_count; i++)
        if (totals[i].count) totals[used++] = totals[i];
    qsort(totals, used, sizeof *totals, by_name);
    fputs("      \"kernels\": [", f);
    bool first = true;
    for (size_t i = 0; i < used; i++) { /* templates of one name differ in their arguments only */
        total k = totals[i];
        while (i + 1 < used && !strcmp(k.name, totals[i + 1].name)) {
            i++;
            k.count += totals[i].count;
            k.sum += totals[i].sum;
            if (totals[i].min < k.min) k.min = totals[i].min;
            if (totals[i].max > k.max) k.max = totals[i].max;
        }
        fprintf(f,
                "%s\n        {\"name\": \"%s\", \"class\": \"%s\", \"count\": %lld, \"sum\": %lld, \"min\": "
                "%lld, "
                "\"max\": %lld}",
                first ? "" : ",", k.name, classes[k.class], (number)k.count, (number)k.sum, (number)k.min,
                (number)k.max);
        first = false;
    }
    fputs("],\n", f);
    free(totals);
}

typedef struct {
    const char *name;
    int category;
    op_truth sums;
} operator_total;

static int by_operator(const void *a, const void *b)
{
    const operator_total *x = a, *y = b;
    return x->category != y->category ? x->category - y->category : strcmp(x->name, y->name);
}

static void put_operators(FILE *f, const job *j, const truth_rank *t)
{
    operator_total *totals = take_memory(j->template_count * sizeof *totals);
    size_t used = 0;
    for (size_t i = 0; i < j->template_count; i++)
        if (t->operators[i].count && !is_unseen(j, (int32_t)i) && !j->templates[i].step_name &&
            j->templates[i].category != CAT_PYTHON)
            totals[used++] =
                (operator_total){j->templates[i].name, j->templates[i].category, t->operators[i]};
    qsort(totals, used, sizeof *totals, by_operator);
    fputs("      \"operators\": [", f);
    for (size_t i = 0; i < used; i++) {
        op_truth o = totals[i].sums;
        const char *name = totals[i].name;
        bool first = i == 0, annotation = totals[i].category == CAT_USER_ANNOTATION;
        for (; i + 1 < used && !by_operator(&totals[i], &totals[i + 1]); i++) {
            const op_truth *more = &totals[i + 1].sums;
            o.count += more->count;
            o.host += more->host;
            o.exclusive += more->exclusive;
            o.gpu_count += more->gpu_count;
            o.gpu += more->gpu;
            o.direct_count += more->direct_count;
            o.direct += more->direct;
        }
        fprintf(f,
                "%s\n        {\"name\": \"%s\", \"category\": \"%s\", \"count\": %lld, \"host_time\": %lld, "
                "\"exclusive_time\": %lld, \"gpu_count\": %lld, \"gpu_time\": %lld, \"direct_gpu_count\": "
                "%lld, \"direct_gpu_time\": %lld}",
                first ? "" : ",", name, annotation ? "user_annotation" : "cpu_op", (number)o.count,
                (number)o.host, (number)o.exclusive, (number)o.gpu_count, (number)o.gpu,
                (number)o.direct_count, (number)o.direct);
    }
    fputs("],\n", f);
    free(totals);
}

static void put_streams(FILE *f, const job *j, const truth_rank *t)
{
    fputs("      \"streams\": [", f);
    bool first = true;
    for (int s = 0; s < STREAM_COUNT; s++) {
        int64_t busy = 0, events = 0;
        for (size_t i = 0; i < t->gpu_count; i++) {
            if (t->gpu[i].stream != s) continue;
            busy += t->gpu[i].end - t->gpu[i].start;
            events++;
        }
        if (!events) continue;
        stream_answer a = stream_of(t, s);
        fprintf(f,
                "%s\n        {\"stream\": %d, \"events\": %lld, \"busy\": %lld, \"host_wait\": %lld, "
                "\"kernel_wait\": "
                "%lld, \"other\": %lld, \"host_wait_count\": %lld, \"kernel_wait_count\": %lld, "
                "\"other_count\": %lld, "
                "\"max_queue_depth\": %lld}",
                first ? "" : ",", stream_number(j, s), (number)events, (number)busy, (number)a.host_wait,
                (number)a.kernel_wait, (number)a.other, (number)a.count[0], (number)a.count[1],
                (number)a.count[2], (number)a.max_queue);
        first = false;
    }
    fputs("],\n", f);
}

static void put_launches(FILE *f, const truth_rank *t)
{
    int64_t sum = 0, max = 0, linked = 0, unlinked = 0, unlinked_time = 0, graph = 0;
    for (size_t i = 0; i < t->gpu_count; i++) {
        const gpu_truth *g = &t->gpu[i];
        if (g->launch_start < 0) {
            unlinked++;
            unlinked_time += g->end - g->start;
            continue;
        }
        int64_t delay = g->start > g->launch_end ? g->start - g->launch_end : 0;
        linked++;
        graph += g->graph;
        sum += delay;
        if (delay > max) max = delay;
    }
    fprintf(f,
            "      \"launch_delay\": {\"linked\": %lld, \"of_graphs\": %lld, \"sum\": %lld, \"max\": %lld},\n"
            "      \"unlinked\": {\"count\": %lld, \"time\": %lld},\n",
            (number)linked, (number)graph, (number)sum, (number)max, (number)unlinked, (number)unlinked_time);
}

static void put_steps(FILE *f, const job *j, const rank_state *r)
{
    const truth_rank *t = r->truth;
    size_t first = 0;
    fputs("      \"steps\": [", f);
    for (size_t s = 0; s < t->step_count; s++) {
        size_t count, end = first;
        while (end < t->gpu_count && t->gpu[end].step == (int32_t)s) end++; /* recorded step by step */
        busy_times b = busy_of_range(t, first, end, false, &count);
        first = end;
        fprintf(f, "%s\n        {\"step\": %lld, \"position\": ", s ? "," : "",
                (number)s + j->opt.first_step);
        put_position(f, t->steps[s].position);
        fprintf(f, ", \"start\": %lld, \"end\": %lld, \"gpu_events\": %zu, ",
                (number)(t->steps[s].start + r->offset), (number)(t->steps[s].end + r->offset), count);
        put_busy(f, &b);
        critical_answer c = critical_of(t, s);
        fprintf(f,
                ",\n         \"critical_path\": {\"total\": %lld, \"host\": %lld, \"launch\": %lld, \"gap\": "
                "%lld, "
                "\"computation\": %lld, \"communication\": %lld, \"memory\": %lld, \"gpu_positions\": [",
                (number)c.total, (number)c.host, (number)c.launch, (number)c.gap, (number)c.computation,
                (number)c.communication, (number)c.memory);
        for (size_t k = c.path_count; k-- > 0;) fprintf(f, "%lld%s", (number)c.path[k], k ? ", " : "");
        fputs("]}}", f);
        free(c.path);
    }
    fputs("],\n", f);
}

static void put_edges(FILE *f, const rank_state *r)
{
    static const char *const kinds[] = {"stream_wait_event", "event_sync", "stream_sync", "context_sync"};
    const truth_rank *t = r->truth;
    fputs("      \"sync_edges\": [", f);
    bool first = true;
    for (size_t i = 0; i < t->edge_count; i++) {
        const edge_truth *e = &t->edges[i];
        if (e->kind == SYNC_GRAPH) continue;
        const gpu_truth *source = &t->gpu[e->source];
        bool wait = e->kind == SYNC_STREAM_WAIT;
        int64_t target = wait ? t->gpu[e->target].position : t->calls[e->target].position;
        int64_t at = wait ? t->gpu[e->target].start : t->calls[e->target].end;
        bool binds = wait ? t->gpu[e->target].bound == BOUND_EVENT && t->gpu[e->target].before == e->source
                          : t->calls[e->target].bound == e->source;
        fprintf(f, "%s\n        {\"kind\": \"%s\", \"source\": %lld, \"target\": %lld, \"sync\": ",
                first ? "" : ",", kinds[e->kind], (number)source->position, (number)target);
        first = false;
        put_position(f, e->sync < 0 ? -1 : t->syncs[e->sync]);
        fprintf(f, ", \"source_end\": %lld, \"target_time\": %lld, \"binding\": %s}",
                (number)(source->end + r->offset), (number)(at + r->offset), binds ? "true" : "false");
    }
    fputs("],\n      \"operator_waits\": [", f);
    for (size_t i = 0; i < t->wait_count; i++)
        fprintf(f, "%s\n        {\"operator\": %u, \"source\": %lld}", i ? "," : "",
                t->waits[i].operator,(number) t->gpu[t->waits[i].source].position);
    fputs("],\n      \"graph_edges\": [", f);
    first = true;
    for (size_t i = 0; i < t->edge_count; i++) {
        if (t->edges[i].kind != SYNC_GRAPH) continue;
        const gpu_truth *source = &t->gpu[t->edges[i].source], *target = &t->gpu[t->edges[i].target];
        fprintf(f, "%s[%lld, %lld]", first ? "" : ", ", (number)source->position, (number)target->position);
        first = false;
    }
    fputs("],\n", f);
}

enum {
    COLUMN_POSITION,
    COLUMN_STEP,
    COLUMN_PHASE,
    COLUMN_MICRO_BATCH,
    COLUMN_LAYER,
    COLUMN_BOUND,
    COLUMN_CAUSE,
    COLUMNS
};

static void put_cell(FILE *f, const job *j, const rank_state *r, const gpu_truth *g, int column)
{
    static const char *const phases[] = {"other", "forward", "backward", "optimizer"};
    static const char *const bounds[] = {"none", "launch", "stream", "event"};
    const instruction *i = g->at < 0 ? NULL : &r->code.items[g->at];
    switch (column) {
    case COLUMN_POSITION: put_position(f, g->position); break;
    case COLUMN_STEP: put_position(f, g->launch_start < 0 ? -1 : g->step + j->opt.first_step); break;
    case COLUMN_PHASE: fprintf(f, "\"%s\"", phases[i ? i->phase : PHASE_OTHER]); break;
    case COLUMN_MICRO_BATCH: put_position(f, i ? i->micro_batch : -1); break;
    case COLUMN_LAYER: put_position(f, i ? i->layer : -1); break;
    case COLUMN_BOUND: fprintf(f, "\"%s\"", bounds[g->bound]); break;
    default: put_position(f, g->before < 0 ? -1 : r->truth->gpu[g->before].position); break;
    }
}

/* One array a column, in the order in which the work was issued. */
static void put_work(FILE *f, const job *j, const rank_state *r)
{
    static const char *const names[COLUMNS] = {"position", "step",  "phase", "micro_batch",
                                               "layer",    "bound", "cause"};
    fputs("      \"work\": {", f);
    for (int column = 0; column < COLUMNS; column++) {
        fprintf(f, "%s\"%s\": [", column ? "],\n        " : "", names[column]);
        for (size_t k = 0; k < r->truth->gpu_count; k++) {
            if (k) fputs(", ", f);
            put_cell(f, j, r, &r->truth->gpu[k], column);
        }
    }
    fputs("]}\n", f);
}

static void put_rank(FILE *f, const job *j, const rank_state *r)
{
    static const char *const names[] = {
        "cpu_op",     "user_annotation", "python_function", "cuda_runtime",        "cuda_driver", "kernel",
        "gpu_memcpy", "gpu_memset",      "cuda_sync",       "gpu_user_annotation", "fwdbwd",      "ac2g",
        "Trace",      "metadata",        "instant"};
    const truth_rank *t = r->truth;
    size_t count;
    busy_times b = busy_of_range(t, 0, t->gpu_count, true, &count);
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < t->gpu_count; i++) {
        if (t->gpu[i].start < first) first = t->gpu[i].start;
        if (t->gpu[i].end > last) last = t->gpu[i].end;
    }
    fprintf(f,
            "    {\"rank\": %d, \"file\": \"rank%d.json\", \"tp\": %d, \"dp\": %d, \"pp\": %d, "
            "\"clock_offset\": %lld,\n"
            "      \"trace_events\": %llu, \"first_start\": %lld, \"last_end\": %lld, \"events\": {",
            r->id, r->id, r->tp, r->dp, r->pp, (number)r->offset, (unsigned long long)r->out.events,
            (number)r->out.first, (number)r->out.last);
    for (int c = 0; c < CAT_COUNT; c++)
        fprintf(f, "%s\"%s\": %llu", c ? ", " : "", names[c], (unsigned long long)r->out.by_category[c]);
    fprintf(f, "},\n      \"gpu\": {\"events\": %zu, \"start\": %lld, \"end\": %lld, ", count,
            (number)(first + r->offset), (number)(last + r->offset));
    put_busy(f, &b);
    fputs("},\n", f);
    put_combinations(f, &b);
    put_kernels(f, j, t);
    put_operators(f, j, t);
    put_streams(f, j, t);
    put_launches(f, t);
    put_steps(f, j, r);
    put_edges(f, r);
    put_work(f, j, r);
    fputs("    }", f);
}

typedef struct {
    int64_t count, last, lateness, wait;
} lateness;

static void put_collectives(FILE *f, const job *j, lateness *late)
{
    static const char *const kinds[] = {"TENSOR_MODEL_PARALLEL_GROUP", "DATA_PARALLEL_GROUP", "",
                                        "point_to_point"};
    const struct truth *t = j->truth;
    fputs("  \"collectives\": [", f);
    for (size_t i = 0; i < t->count; i++) {
        const collective_truth *c = &t->items[i];
        const group *g = &j->groups[c->group];
        const int64_t *starts = t->starts + c->first;
        int64_t ready = starts[0], earliest = starts[0];
        int last = 0;
        for (int m = 1; m < g->count; m++) {
            if (starts[m] > ready) ready = starts[last = m];
            if (starts[m] < earliest) earliest = starts[m];
        }
        fprintf(
            f,
            "%s\n    {\"group\": %d, \"kind\": \"%s\", \"index\": %lld, \"step\": %lld, \"elements\": %lld, "
            "\"ready\": %lld, \"end\": %lld, \"transfer\": %lld, \"last_rank\": %d, \"members\": [",
            i ? "," : "", g->name, kinds[g->kind], (number)c->sequence, (number)c->step + j->opt.first_step,
            (number)c->elements, (number)ready, (number)c->end, (number)(c->end - ready), g->ranks[last]);
        for (int m = 0; m < g->count; m++) {
            const rank_state *r = &j->rank[g->ranks[m]];
            fprintf(f,
                    "%s{\"rank\": %d, \"seq\": %lld, \"start\": %lld, \"wait\": %lld, \"end\": %lld, "
                    "\"position\": ",
                    m ? ", " : "", r->id, (number)t->shown[c->first + (size_t)m], (number)starts[m],
                    (number)(ready - starts[m]),
                    (number)(r->truth ? r->truth->gpu[t->events[c->first + (size_t)m]].end : c->end));
            put_position(f, r->truth ? r->truth->gpu[t->events[c->first + (size_t)m]].position : -1);
            fputs("}", f);
            if (g->kind == GROUP_PAIR) continue;
            lateness *l = &late[r->id];
            l->count++;
            l->wait += ready - starts[m];
            l->lateness += starts[m] - earliest;
            l->last += m == last;
        }
        fputs("]}", f);
    }
    fputs("],\n", f);
}

static void put_clocks(FILE *f, const job *j)
{
    fputs("  \"clocks\": [", f);
    for (int i = 0; i < j->ranks; i++) {
        const rank_clock *c = &j->opt.clocks[i];
        fprintf(
            f,
            "%s\n    {\"rank\": %d, \"host\": %d, \"epoch\": %lld, \"offset\": %lld, \"drift_ppb\": %lld, "
            "\"gpu_offset\": %lld, \"gpu_drift_ppb\": %lld, \"step_after\": %lld, \"step\": %lld}",
            i ? "," : "", i, j->rank[i].machine, (number)j->epoch, (number)j->rank[i].offset,
            (number)c->drift, (number)c->gpu_offset, (number)c->gpu_drift, (number)c->step_at,
            (number)c->step);
    }
    fputs("],\n", f);
}

typedef struct {
    FILE *file;
    bool first;
} fault_list;

/* rank, step, stage < 0: the job's. factor: in thousandths, or 0 where time says it. */
static void put_fault(fault_list *list, const char *id, int rank, const char *key, int64_t step,
                      int64_t factor, int64_t time)
{
    FILE *f = list->file;
    fprintf(f, "%s\n    {\"id\": \"%s\", \"rank\": ", list->first ? "" : ",", id);
    list->first = false;
    put_position(f, rank);
    fprintf(f, ", \"key\": \"%s\", \"step\": ", key);
    put_position(f, step);
    fprintf(f, ", \"factor_thousandths\": %lld, \"time\": %lld}", (number)factor, (number)time);
}

/* What was put into the job, named as `rankscope diagnose` names what it finds. */
static void put_faults(FILE *f, const job *j)
{
    const options *o = &j->opt;
    fault_list list = {f, true};
    char key[64];
    fputs("  \"faults\": [", f);
    for (int i = 0; i < j->ranks; i++) {
        if (o->factors[i] != 1000) put_fault(&list, "straggler", i, "computation", -1, o->factors[i], 0);
        if (o->host_factors[i] != 1000) put_fault(&list, "slow_host", i, "host", -1, o->host_factors[i], 0);
    }
    for (size_t i = 0; i < o->stall_count; i++)
        put_fault(&list, "loader", o->stalls[i].rank, "loader", o->stalls[i].step, 0, o->stalls[i].ns);
    for (size_t i = 0; i < o->pause_count; i++)
        put_fault(&list, "host_pause", o->pauses[i].rank, "host", o->pauses[i].step, 0, o->pauses[i].ns);
    for (size_t i = 0; i < o->link_count; i++) {
        snprintf(key, sizeof key, "%d-%d", o->links[i].a, o->links[i].b);
        put_fault(&list, "slow_group", -1, key, -1, o->links[i].factor, 0);
    }
    for (int s = 0; s < o->pp; s++) {
        snprintf(key, sizeof key, "stage %d", s);
        if (o->stage_factors[s] != 1000)
            put_fault(&list, "pipeline_imbalance", -1, key, -1, o->stage_factors[s], 0);
    }
    if (o->item_every) put_fault(&list, "sync", -1, "aten::item", -1, 0, 0);
    if (o->late_launch)
        put_fault(&list, "late_launch", -1, o->rocm ? "hipStreamSynchronize" : "cudaStreamSynchronize", -1, 0,
                  o->late_launch);
    if (o->elementwise && !o->fused)
        put_fault(&list, "fusable_neighbours", -1,
                  "at::native::vectorized_elementwise_kernel+at::native::unrolled_elementwise_kernel", -1, 0,
                  0);
    if (o->alloc_every) put_fault(&list, "allocation", -1, o->rocm ? "hipFree" : "cudaFree", -1, 0, 0);
    if (o->pageable)
        put_fault(&list, "pageable_copy", -1, o->rocm ? "hipMemcpyWithStream" : "cudaMemcpyAsync", -1, 0, 0);
    fputs("],\n", f);
}

static void put_mesh(FILE *f, const job *j)
{
    const options *o = &j->opt;
    struct {
        const char *name;
        int kind, size, stride;
    } axes[] = {
        {"tp", GROUP_TP, o->tp, 1}, {"dp", GROUP_DP, o->dp, o->tp}, {"pp", GROUP_PP, o->pp, o->tp * o->dp}};
    bool first = true;
    fputs("  \"mesh\": [", f);
    for (int a = 0; a < 3; a++) {
        if (axes[a].size < 2) continue;
        fprintf(f, "%s{\"axis\": \"%s\", \"size\": %d, \"stride\": %d, \"groups\": [", first ? "" : ", ",
                axes[a].name, axes[a].size, axes[a].stride);
        first = true;
        for (size_t g = 0; g < j->group_count; g++) {
            if (j->groups[g].kind != axes[a].kind) continue;
            fprintf(f, "%s%d", first ? "" : ", ", j->groups[g].name);
            first = false;
        }
        fputs("]}", f);
        first = false;
    }
    fputs("],\n", f);
}

static void put_run(FILE *f, const job *j)
{
    fprintf(f, "  \"run\": {\"run\": %lld, \"steps\": [", (number)j->opt.run);
    for (int64_t s = 0; s < j->opt.steps; s++)
        fprintf(f, "%s{\"step\": %lld, \"pace_ppm\": %lld, \"settled\": %s, \"evaluates\": %s}",
                s ? ", " : "", (number)s + j->opt.first_step, (number)pace_of(j, s),
                is_settled(j, s) ? "true" : "false", is_evaluation(j, s) ? "true" : "false");
    fputs("]},\n", f);
}

static void put_job(FILE *f, const job *j)
{
    const options *o = &j->opt;
    fprintf(
        f,
        "{\n  \"format\": \"rankscope-synth truth 1\", \"unit\": \"ns\",\n  \"job\": {\"ranks\": %d, \"dp\": "
        "%d, "
        "\"tp\": %d, \"pp\": %d, \"layers\": %d, \"micro_batches\": %d, \"steps\": %lld, \"first_step\": %d, "
        "\"seed\": %llu, \"flavour\": \"%s\", \"cuda_graph\": %s, \"sync_events\": %s, \"step_annotations\": "
        "%s",
        j->ranks, o->dp, o->tp, o->pp, o->layers, o->micro_batches, (number)o->steps, o->first_step,
        (unsigned long long)o->seed, o->rocm ? "rocm" : "cuda", o->graph ? "true" : "false",
        o->no_sync || o->rocm ? "false" : "true", o->no_steps || o->no_annotations ? "false" : "true");
    fputs(", \"stragglers\": [", f);
    bool first = true;
    for (int i = 0; i < j->ranks; i++) {
        if (o->factors[i] == 1000) continue;
        fprintf(f, "%s{\"rank\": %d, \"factor_thousandths\": %d}", first ? "" : ", ", i, o->factors[i]);
        first = false;
    }
    fputs("], \"stalls\": [", f);
    for (size_t i = 0; i < o->stall_count; i++)
        fprintf(f, "%s{\"rank\": %d, \"step\": %d, \"time\": %lld}", i ? ", " : "", o->stalls[i].rank,
                o->stalls[i].step, (number)o->stalls[i].ns);
    fputs("]},\n", f);
}

void truth_write(job *j, const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f) fail("%s: %s", path, strerror(errno));
    put_job(f, j);
    fputs("  \"ranks\": [\n", f);
    bool first = true;
    for (int i = 0; i < j->ranks; i++) {
        if (!j->rank[i].truth) continue;
        if (!first) fputs(",\n", f);
        put_rank(f, j, &j->rank[i]);
        first = false;
    }
    fputs("\n  ],\n", f);
    put_faults(f, j);
    put_run(f, j);
    put_mesh(f, j);
    put_clocks(f, j);
    lateness *late = take_memory((size_t)j->ranks * sizeof *late);
    put_collectives(f, j, late);
    fputs("  \"lateness\": [", f);
    int worst = 0;
    for (int i = 0; i < j->ranks; i++) {
        if (late[i].lateness > late[worst].lateness) worst = i;
        fprintf(f,
                "%s\n    {\"rank\": %d, \"collectives\": %lld, \"times_last\": %lld, \"lateness\": %lld, "
                "\"wait\": %lld}",
                i ? "," : "", i, (number)late[i].count, (number)late[i].last, (number)late[i].lateness,
                (number)late[i].wait);
    }
    fputs("],\n  \"late_rank\": ", f);
    put_position(f, late[worst].count ? worst : -1);
    fputs("\n}\n", f);
    free(late);
    bool bad = ferror(f);
    if (fclose(f) || bad) fail("%s: writing failed", path);
}
