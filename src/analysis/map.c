/* map: what each rank does at each moment, and with --lanes every event as the explorer draws it. */
#include <stdio.h>

#include "analysis/plan.h"
#include "base/try.h"
#include "match/host_view.h"
#include "trace/busy.h"
#include "trace/data_loader.h"
#include "trace/nest.h"
#include "trace/selection.h"
#include "trace/thread_names.h"

enum does { COMPUTE, OPERATORS, EXPOSED_COMM, EXPOSED_COPY, OTHER_WORK, SYNC, LOADING, IDLE, OTHER, N_DOES };
static const char *const does_words[N_DOES] = {
    "compute",      "operators", "exposed_comm", "exposed_copy", "other_work",
    "exposed_sync", "loading",   "idle",         "other",
};

typedef struct map_row {
    int64_t from, time;
    unsigned does;
} map_row;

#define MAP_ROW(CELL)                                                                                               \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                       \
    CELL(                                                                                                           \
        WORD(map_row, does, does_words), "class", TEXT, NONE,                                                       \
        "compute, exposed_comm, exposed_copy, other_work, loading (idle, and a data loader runs), idle; of a host " \
        "operators, exposed_comm, exposed_sync, loading, other",                                                    \
        NULL)                                                                                                       \
    CELL(OF(map_row, from), "from_us", MOMENT, US, "when it begins", "from")                                        \
    CELL(OF(map_row, time), "time_us", TIME, US, "how long it lasts", "time")
RS_RECORD(map, MAP_ROW);

enum lane_class {
    WORK_CLASSES = RS_N_CLASSES,
    HOST_OPERATOR = WORK_CLASSES,
    HOST_ANNOTATION,
    HOST_PYTHON,
    HOST_CALL,
    GPU_ANNOTATION,
    HOST_OTHER,
    N_LANE_CLASSES
};
static const char *const lane_words[N_LANE_CLASSES] = {
    "computation", "communication", "memory", "other",          "operator",
    "annotation",  "python",        "call",   "gpu_annotation", "host",
};

typedef struct lane_row {
    uint32_t row, launch, parent, lane, name;
    int64_t from, time, depth;
    unsigned class;
} lane_row;

#define LANE_ROW(CELL)                                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                             \
    CELL(TEXT_ID(lane_row, lane), "lane", TEXT, NONE, "thread of the host, or stream of a device", NULL)                  \
    CELL(OF(lane_row, depth), "depth", INT, COUNT, "how many events of its lane hold it", NULL)                           \
    CELL(OF(lane_row, from), "from_us", MOMENT, US, "start", "from")                                                      \
    CELL(OF(lane_row, time), "time_us", TIME, US, "duration", "time")                                                     \
    CELL(TEXT_ID(lane_row, name), "name", TEXT, NONE, "the event's name", NULL)                                           \
    CELL(                                                                                                                 \
        WORD(lane_row, class, lane_words), "class", TEXT, NONE,                                                           \
        "computation, communication, memory, other (GPU work), operator, annotation, python, call, gpu_annotation, host", \
        NULL)                                                                                                             \
    CELL(OF(lane_row, row), "position", INT, ID, "place in the file's event array, from 0", NULL)                         \
    CELL(OF(lane_row, parent), "parent", INT, ID, "position of the event that holds it", NULL)                            \
    CELL(OF(lane_row, launch), "launch", INT, ID, "of GPU work: position of the call that launched it", NULL)
RS_RECORD(lane, LANE_ROW);

static const rs_option_spec options[] = {
    {"host", RS_OPTION_FLAG, NULL, NULL, NULL, "what the host does, where there is GPU work, too"},
    {"lanes", RS_OPTION_FLAG, NULL, NULL, NULL,
     "the events of each thread and stream, nested, in place of the map"},
};

enum { MAP, LANES };

/* ---- the map ------------------------------------------------------------------------------------------- */

static void put_stretches(rs_relations *out, const rs_divisions *all, const uint8_t *does)
{
    for (size_t i = 0; i < all->n; i++)
        rs_put(out, MAP, &(map_row){all->items[i].from, all->items[i].time, does[all->items[i].of]});
}

enum { GPU_UNRECORDED = 4, GPU_LOADING, GPU_SETS };

/* The unions of what divides the GPU's time, in the order of precedence. */
static rs_status gather_sets(rs_trace *trace, const rs_work *work, rs_interval *items[GPU_SETS],
                             rs_interval_set *sets, rs_error *err)
{
    static const rs_class order[] = {RS_CLASS_COMPUTE, RS_CLASS_COMM, RS_CLASS_MEMORY, RS_CLASS_OTHER};
    const rs_data_loader *loader;
    rs_selector selector;
    size_t n = 0;
    RS_TRY(rs_trace_data_loader(trace, &loader, err));
    RS_TRY(rs_trace_selector(trace, &selector, err));
    for (unsigned s = 0; s < GPU_UNRECORDED; s++)
        if (!rs_work_union(work, order[s], &items[s], &sets[s].n)) return rs_fail_nomem(err, "GPU work");
    items[GPU_UNRECORDED] = rs_malloc((trace->n_recordings + 1) * sizeof **items);
    items[GPU_LOADING] = rs_malloc((loader->n + 1) * sizeof **items);
    if (!items[GPU_UNRECORDED] || !items[GPU_LOADING]) return rs_fail_nomem(err, "idle time");
    sets[GPU_UNRECORDED].n = rs_work_gaps(trace, work, items[GPU_UNRECORDED]);
    for (size_t i = 0; i < loader->n; i++)
        if (rs_selects_row(&selector, loader->calls[i].row))
            items[GPU_LOADING][n++] = (rs_interval){loader->calls[i].from, loader->calls[i].end};
    if (!rs_intervals_sort(items[GPU_LOADING], n)) return rs_fail_nomem(err, "data loading");
    sets[GPU_LOADING].n = rs_intervals_unite(items[GPU_LOADING], n);
    for (unsigned s = 0; s < GPU_SETS; s++) sets[s].items = items[s];
    return RS_OK;
}

static rs_status put_gpu(rs_trace *trace, const rs_work *work, const rs_busy *busy, rs_relations *out,
                         rs_error *err)
{
    static const uint8_t does[] = {COMPUTE, EXPOSED_COMM, EXPOSED_COPY, OTHER_WORK, IDLE, LOADING, IDLE};
    rs_interval *items[GPU_SETS] = {NULL};
    rs_interval_set sets[GPU_SETS] = {{NULL, 0}};
    rs_divisions all = {0};
    rs_status status = gather_sets(trace, work, items, sets, err);
    if (status == RS_OK &&
        !rs_intervals_divide(sets, GPU_SETS, (rs_interval){busy->first, busy->last}, GPU_UNRECORDED, &all))
        status = rs_fail_nomem(err, "the map of a rank");
    put_stretches(out, &all, does);
    for (unsigned s = 0; s < GPU_SETS; s++) rs_free(items[s]);
    rs_free(all.items);
    return status;
}

static rs_status put_host(rs_trace *trace, rs_relations *out, rs_error *err)
{
    static const uint8_t does[] = {OPERATORS, EXPOSED_COMM, SYNC, LOADING, OTHER, OTHER};
    rs_host_view view;
    rs_divisions all = {0};
    rs_status status = rs_host_stretches(trace, &view, &all, err);
    put_stretches(out, &all, does);
    rs_host_view_clear(&view);
    rs_free(all.items);
    return status;
}

static rs_status put_map(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    const rs_work *work;
    const rs_busy *busy;
    if (rs_options_flag(run->options, "lanes")) return RS_OK;
    RS_TRY(rs_trace_work(trace, run->policy, &work, err));
    RS_TRY(rs_trace_busy(trace, run->policy, &busy, err));
    if (rs_options_flag(run->options, "host") || !work->n) return put_host(trace, out, err);
    return put_gpu(trace, work, busy, out, err);
}

/* ---- lanes --------------------------------------------------------------------------------------------- */

static unsigned class_of_row(const rs_events *e, const rs_classes *classes, uint32_t row)
{
    const rs_kind kind = rs_event_kind(e, row);
    if (rs_kind_is_gpu_work(kind)) return rs_class_at(classes, row);
    if (rs_kind_is_call(kind)) return HOST_CALL;
    return kind == RS_KIND_CPU_OP                ? HOST_OPERATOR
           : kind == RS_KIND_USER_ANNOTATION     ? HOST_ANNOTATION
           : kind == RS_KIND_PYTHON_FUNCTION     ? HOST_PYTHON
           : kind == RS_KIND_GPU_USER_ANNOTATION ? GPU_ANNOTATION
                                                 : HOST_OTHER;
}

/* The complete events that are selected, but for the profiler's own span and cuda_sync; at most as many as the rank has
 * rows. */
static rs_status pick_rows(rs_trace *trace, uint32_t *rows, int64_t *starts, int64_t *ends, size_t *n,
                           rs_error *err)
{
    const rs_events *e = trace->events;
    rs_row_test test;
    RS_TRY(rs_row_test_begin(trace, &test, err));
    *n = 0;
    for (size_t i = 0; i < trace->n_rows; i++) {
        const uint32_t row = rs_trace_row(trace, i);
        const rs_kind kind = rs_event_kind(e, row);
        /* a synchronization lies across the work of its stream, and holds none of it */
        if (!rs_event_is_span(e, row) || kind == RS_KIND_SPAN || kind == RS_KIND_SYNC ||
            !rs_row_test_next(&test, row))
            continue;
        rows[*n] = row;
        starts[*n] = e->start[row];
        ends[(*n)++] = rs_event_end(e, row);
    }
    return RS_OK;
}

/* By row the call that launched it. */
static rs_status find_launches(rs_trace *trace, uint32_t *launch_of, rs_error *err)
{
    const rs_links *links;
    const uint32_t *gpu;
    size_t n;
    RS_TRY(rs_trace_launches(trace, &links, err));
    RS_TRY(rs_trace_gpu_rows(trace, &gpu, &n, err));
    for (size_t i = 0; i < n; i++) launch_of[gpu[i]] = links->launch_of[i];
    return RS_OK;
}

/* By thread some work of it, or RS_NO_ROW: what makes it a stream. NULL when out of memory. */
static uint32_t *find_streams(const rs_events *e, const rs_nest *nest)
{
    uint32_t *work = rs_malloc((e->n_threads + 1) * sizeof *work);
    for (size_t i = 0; work && i < e->n_threads; i++) work[i] = RS_NO_ROW;
    for (size_t i = 0; work && i < nest->n; i++)
        if (rs_kind_is_gpu_work(rs_event_kind(e, nest->row[i]))) work[e->thread[nest->row[i]]] = nest->row[i];
    return work;
}

static void label_lane(const rs_events *e, uint32_t thread, uint32_t name, uint32_t work,
                       char out[RS_THREAD_LABEL])
{
    int64_t device, stream;
    if (work == RS_NO_ROW || !rs_events_int(e, RS_COL_STREAM, work, &stream))
        rs_thread_label(e, thread, name, out);
    else if (rs_events_int(e, RS_COL_DEVICE, work, &device))
        snprintf(out, RS_THREAD_LABEL, "device %lld stream %lld", (long long)device, (long long)stream);
    else
        snprintf(out, RS_THREAD_LABEL, "stream %lld", (long long)stream);
}

static rs_status put_nest(rs_trace *trace, const rs_nest *nest, const uint32_t *launch_of, rs_relations *out,
                          rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_classes *classes;
    RS_LOCAL uint32_t *names = rs_thread_names(trace);
    uint32_t thread = UINT32_MAX, label = RS_NO_STRING;
    RS_TRY(rs_trace_classes(trace, RS_CLASSES_OWN, &classes, err));
    RS_LOCAL uint32_t *streams = find_streams(e, nest);
    if (!names || !streams) return rs_fail_nomem(err, "names of threads");
    for (size_t i = 0; i < nest->n; i++) {
        const uint32_t row = nest->row[i];
        char text[RS_THREAD_LABEL];
        if (e->thread[row] != thread) {
            thread = e->thread[row];
            label_lane(e, thread, names[thread], streams[thread], text);
            label = rs_put_string(out, text);
        }
        rs_put(out, LANES,
               &(lane_row){.row = row,
                           .launch = launch_of[row],
                           .parent = nest->parent[i] == RS_NO_ROW ? RS_NO_ROW : nest->row[nest->parent[i]],
                           .lane = label,
                           .name = rs_put_text(out, e->name[row]),
                           .from = e->start[row],
                           .time = e->duration[row],
                           .depth = nest->depth[i],
                           .class = class_of_row(e, classes, row)});
    }
    return RS_OK;
}

static rs_status put_lanes(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    size_t n = 0;
    rs_nest *nest = NULL;
    if (!rs_options_flag(run->options, "lanes")) return RS_OK;
    RS_LOCAL uint32_t *rows = rs_malloc(trace->n_rows * sizeof *rows);
    RS_LOCAL int64_t *starts = rs_malloc(trace->n_rows * sizeof *starts);
    RS_LOCAL int64_t *ends = rs_malloc(trace->n_rows * sizeof *ends);
    RS_LOCAL uint32_t *launch_of = rs_malloc(trace->events->n * sizeof *launch_of);
    if (!rows || !starts || !ends || !launch_of) return rs_fail_nomem(err, "lanes of a rank");
    for (size_t i = 0; i < trace->events->n; i++) launch_of[i] = RS_NO_ROW;
    RS_TRY(pick_rows(trace, rows, starts, ends, &n, err));
    RS_TRY(find_launches(trace, launch_of, err));
    RS_TRY(rs_nest_create(trace->events, rows, starts, ends, n, &nest, err));
    rs_status status = put_nest(trace, nest, launch_of, out, err);
    rs_nest_free(nest);
    return status;
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

static const rs_field lane_fields[] = {
    RS_FIELD_TEXT_ID(lane_row, lane),
    RS_FIELD_TEXT_ID(lane_row, name),
    RS_FIELDS(lane_row, row, launch, parent, from, time, depth),
    RS_FIELD_BELOW(lane_row, class, N_LANE_CLASSES),
};
static const rs_layout lane_layout = RS_LAYOUT(lane_row, lane_fields);

static const rs_plan_relation relations[] = {
    [MAP] = {RS_LISTED_AS(MAP, map_row, map), .make = put_map},
    [LANES] = {RS_LISTED(LANES, lane_row, &lane_layout), .make = put_lanes},
};
static const rs_plan_table
    map_table = {RS_PLAN_TABLE("map", "one row is a stretch in which a rank does one thing", map),
                 .relation = MAP},
    lane_table = {RS_PLAN_TABLE("lanes",
                                "one row is an event; with --lanes: by lane, those that hold others first",
                                lane),
                  .relation = LANES, .choice = RS_WITH(RS_IS_SET("lanes"))};
static const rs_table_spec *const tables[] = {&map_table.spec, &lane_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables)};

const rs_analysis rs_analysis_map = {
    .name = "map",
    .group = "GPU time",
    .help = "What each rank does at each moment: the division of `breakdown`, stretch by stretch",
    .about =
        "Each moment from a rank's first GPU work to its last belongs to the first of these that it is in: computation; "
        "communication;\n"
        "a copy or memset; a data loader that is waited for while nothing runs; nothing (idle). Stretches of a class add up to "
        "what\n"
        "`breakdown` says, to the nanosecond; its idle_us is loading and idle. A rank without GPU work, and with --host each "
        "rank,\n"
        "is divided as `breakdown --host` does. `rankscope view` draws it.\n\n"
        "--lanes lists the events of threads and streams as they are nested, without cuda_sync.",
    .examples = "rankscope map --format csv traces/\nrankscope map --host --ranks 3 traces/\n"
                "rankscope map --lanes --ranks 3 --window 10-12.5 traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_busy, &rs_facet_data_loader, &rs_facet_launches, &rs_facet_classes},
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
};
