/* critical-path: the chain of causes behind a step's end. */
#include <string.h>

#include "analysis/analysis.h"
#include "base/interval.h"
#include "base/layout.h"
#include "base/ranges.h"
#include "engine/causes.h"
#include "analysis/path_answer.h"

static const char *const ends[] = {"start", "end"};

#define PEER_SUMMARY_ROW(CELL)                                                                               \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_path_answer, n_nodes), "nodes", INT, COUNT, "starts and ends of events in the graph", NULL)   \
    CELL(SET, "path_weight", TIME, US, "length of the longest path", "path")                                 \
    CELL(OF(rs_path_answer, n_edges), "edges", INT, COUNT, "dependencies in the graph", NULL)                \
    CELL(OF(rs_path_answer, n_path), "path_edges", INT, COUNT, "dependencies on the path", "on path")        \
    CELL(OF(rs_path_answer, start), "start_us", MOMENT, US, "where the window begins", "start")              \
    CELL(SET, "window_us", TIME, US, "length of the window", "window")                                       \
    CELL(OF(rs_path_answer, time[RS_BOUND_CPU]), "cpu_us", TIME, US, "the host is what the path waits for",  \
         "CPU")                                                                                              \
    CELL(OF(rs_path_answer, time[RS_BOUND_LOADING]), "data_loading_us", TIME, US,                            \
         "the data loader, on the host", "data loading")                                                     \
    CELL(OF(rs_path_answer, time[RS_BOUND_COMPUTE]), "gpu_compute_us", TIME, US, "computation on the GPU",   \
         "compute")                                                                                          \
    CELL(OF(rs_path_answer, time[RS_BOUND_COMM]), "gpu_communication_us", TIME, US,                          \
         "communication on the GPU, with its wait for other ranks", "communication")                         \
    CELL(OF(rs_path_answer, time[RS_BOUND_COPY]), "gpu_copy_us", TIME, US, "copies and memsets on the GPU",  \
         "copies")                                                                                           \
    CELL(OF(rs_path_answer, time[RS_BOUND_LAUNCH]), "launch_us", TIME, US,                                   \
         "from a launching call to its work", "launch")                                                      \
    CELL(OF(rs_path_answer, time[RS_BOUND_GAP]), "gap_us", TIME, US, "between two pieces of GPU work",       \
         "gaps")                                                                                             \
    CELL(OF(rs_path_answer, n_instances), "instances", INT, COUNT, "events with the annotation's name", NULL)
RS_RECORD(peer_summary, PEER_SUMMARY_ROW);

#define SUMMARY_ROW(CELL)                                                                                    \
    PEER_SUMMARY_ROW(CELL)                                                                                   \
    CELL(OF(rs_path_answer, time[RS_BOUND_HOST_COMM]), "host_communication_us", TIME, US,                    \
         "communication that the host runs (gloo, MPI, UCC), with its wait for other ranks",                 \
         "host communication")                                                                               \
    CELL(OF(rs_path_answer, n_contradicted), "contradicted", INT, COUNT,                                     \
         "dependencies of the rank that run against time by more than 1 us, and are left out: clocks or "    \
         "links are wrong",                                                                                  \
         NULL)
RS_RECORD(summary, SUMMARY_ROW);

#define BREAKDOWN_ROW(CELL)                                                                                  \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(ID(rs_path_edge, owner), "event", INT, ID,                                                          \
         "position in traceEvents of the event the time is charged to", NULL)                                \
    CELL(TEXT(rs_path_edge, owner_name, rs_path_answer, strings.n), "name", TEXT, NONE, "its name", NULL)    \
    CELL(TEXT(rs_path_edge, owner_category, rs_path_answer, strings.n), "cat", TEXT, NONE, "its category",   \
         NULL)                                                                                               \
    CELL(TEXT(rs_path_edge, owner_pid, rs_path_answer, strings.n), "pid", TEXT, ID, "its process", NULL)     \
    CELL(TEXT(rs_path_edge, owner_tid, rs_path_answer, strings.n), "tid", TEXT, ID, "its thread", NULL)      \
    CELL(ID(rs_path_edge, owner_stream), "stream", INT, ID, "its stream", NULL)                              \
    CELL(WORD(rs_path_edge, type, rs_edge_type_names), "type", TEXT, NONE, "kind of the dependency", NULL)   \
    CELL(WORD(rs_path_edge, bound, rs_bound_names), "bound_by", TEXT, NONE, "what the path waits for", NULL) \
    CELL(OF(rs_path_edge, weight), "duration", TIME, US, "time on the path", NULL)                           \
    CELL(OF(rs_path_edge, source.time), "start_us", MOMENT, US, "where this part of the path begins", "start")
RS_RECORD(breakdown, BREAKDOWN_ROW);

#define EDGE_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(ID(rs_path_edge, source.position), "source", INT, ID,                                               \
         "position in traceEvents; unknown: the window's start", NULL)                                       \
    CELL(WORD(rs_path_edge, source.is_end, ends), "source_at", TEXT, NONE, "which end of it", NULL)          \
    CELL(ID(rs_path_edge, target.position), "target", INT, ID,                                               \
         "position in traceEvents; unknown: the window's end", NULL)                                         \
    CELL(WORD(rs_path_edge, target.is_end, ends), "target_at", TEXT, NONE, "which end of it", NULL)          \
    CELL(WORD(rs_path_edge, type, rs_edge_type_names), "type", TEXT, NONE, "kind of the dependency", NULL)   \
    CELL(OF(rs_path_edge, weight), "weight", TIME, US, "what it adds to the path", NULL)                     \
    CELL(OF(rs_path_edge, critical), "critical", INT, NONE, "1: on the longest path", NULL)                  \
    CELL(WORD(rs_path_edge, bound, rs_bound_names), "bound_by", TEXT, NONE, "what its time is spent on",     \
         NULL)                                                                                               \
    CELL(ID(rs_path_edge, owner), "event", INT, ID, "position of the event the time is charged to", NULL)    \
    CELL(OF(rs_path_edge, source.time), "source_us", MOMENT, US, "when the source is", NULL)                 \
    CELL(OF(rs_path_edge, target.time), "target_us", MOMENT, US, "when the target is", NULL)                 \
    CELL(TEXT(rs_path_edge, source.name, rs_path_answer, strings.n), "source_name", TEXT, NONE,              \
         "name of the source", NULL)                                                                         \
    CELL(TEXT(rs_path_edge, target.name, rs_path_answer, strings.n), "target_name", TEXT, NONE,              \
         "name of the target", NULL)
RS_RECORD(edge, EDGE_ROW);

#define SYNC_ROW(CELL)                                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                               \
    CELL(OF(rs_path_sync, source), "source", INT, ID,                                                                       \
         "position in traceEvents of the work that is waited for", NULL)                                                    \
    CELL(OF(rs_path_sync, target), "target", INT, ID, "position of the call, or of the work, that waits",                   \
         NULL)                                                                                                              \
    CELL(OF(rs_path_sync, source_id), "source_external_id", INT, ID,                                                        \
         "External id of the source; unknown if it has none", "source id")                                                  \
    CELL(OF(rs_path_sync, target_id), "target_external_id", INT, ID,                                                        \
         "External id of the target; unknown if it has none", "target id")                                                  \
    CELL(TEXT(rs_path_sync, source_name, rs_path_answer, strings.n), "source_name", TEXT, NONE,                             \
         "name of the source", NULL)                                                                                        \
    CELL(TEXT(rs_path_sync, target_name, rs_path_answer, strings.n), "target_name", TEXT, NONE,                             \
         "name of the target", NULL)                                                                                        \
    CELL(ID(rs_path_sync, source_stream), "source_stream", INT, ID, "stream of the source", NULL)                           \
    CELL(ID(rs_path_sync, target_stream), "target_stream", INT, ID,                                                         \
         "stream of the target; unknown on the host", NULL)                                                                 \
    CELL(OF(rs_path_sync, source_end), "source_end_us", MOMENT, US, "when the source has ended",                            \
         "source end")                                                                                                      \
    CELL(OF(rs_path_sync, target_time), "target_us", MOMENT, US, "when the call returns or the work starts",                \
         "target")                                                                                                          \
    CELL(                                                                                                                   \
        WORD(rs_path_sync, kind, rs_sync_kind_names), "kind", TEXT, NONE,                                                   \
        "stream_wait_event, graph_dependency, event_sync, stream_sync, context_sync, or copy: a copy that returns when it " \
        "is done",                                                                                                          \
        NULL)                                                                                                               \
    CELL(ID(rs_path_sync, sync), "sync", INT, ID,                                                                           \
         "position of the cuda_sync event that says so; unknown: derived from the call alone", NULL)                        \
    CELL(OF(rs_path_sync, critical), "critical", INT, NONE, "1: on the longest path", NULL)
RS_RECORD(sync, SYNC_ROW);

#define OVERLAY_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(ID(rs_path_edge, source.position), "source", INT, ID,                                               \
         "position in traceEvents; unknown: the window's start", NULL)                                       \
    CELL(ID(rs_path_edge, target.position), "target", INT, ID,                                               \
         "position in traceEvents; unknown: the window's end", NULL)                                         \
    CELL(OF(rs_path_edge, source.within), "source_us", TIME, US,                                             \
         "where an arrow would begin, on the file's own clock", NULL)                                        \
    CELL(OF(rs_path_edge, target.within), "target_us", TIME, US,                                             \
         "where an arrow would end, on the file's own clock", NULL)                                          \
    CELL(WORD(rs_path_edge, type, rs_edge_type_names), "type", TEXT, NONE, "kind of the dependency", NULL)   \
    CELL(OF(rs_path_edge, weight), "weight", TIME, US, "what it adds to the path", NULL)                     \
    CELL(SET, "arrow", INT, NONE,                                                                            \
         "1: drawn as an arrow: all edges with --overlay-edges all, else what leads from one lane to "       \
         "another",                                                                                          \
         NULL)                                                                                               \
    CELL(OF(rs_path_edge, critical), "critical", INT, NONE, "1: on the longest path", NULL)
RS_RECORD(overlay, OVERLAY_ROW);

#define NODE_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(ID(rs_path_node, point.position), "event", INT, ID,                                                 \
         "position in traceEvents; unknown: the window's own border", NULL)                                  \
    CELL(WORD(rs_path_node, point.is_end, ends), "at", TEXT, NONE, "which end of it: start or end", NULL)    \
    CELL(OF(rs_path_node, point.time), "ts_us", MOMENT, US, "when that is", "time")                          \
    CELL(TEXT(rs_path_node, point.name, rs_path_answer, strings.n), "name", TEXT, NONE, "its name", NULL)    \
    CELL(OF(rs_path_node, blocking), "blocking", INT, NONE, "1: a call that waits for the GPU, by its name", \
         NULL)                                                                                               \
    CELL(ID(rs_path_node, place), "path", INT, COUNT,                                                        \
         "its place on the longest path, from 0; unknown: not on it", NULL)
RS_RECORD(node, NODE_ROW);

RS_RECORD(file, RS_FILE_ROW);

static const rs_table_spec summary_table = RS_TABLE("critical_path", "one row is one rank", summary_columns);
static const rs_table_spec peer_summary_table =
    RS_TABLE("critical_path", "one row is one rank", peer_summary_columns);
static const rs_table_spec breakdown_table = RS_TABLE(
    "breakdown", "one row is a part of the path, in order; filled with --breakdown", breakdown_columns);
static const rs_table_spec edge_table =
    RS_TABLE("edges", "one row is a dependency of the graph; filled with --edges", edge_columns);
static const rs_table_spec sync_table =
    RS_TABLE("sync_edges", "one row is a synchronization dependency; filled with --sync-edges", sync_columns);

static const rs_table_spec overlay_table = RS_TABLE(
    "overlay", "one row is a dependency as the overlay shows it; filled with --overlay", overlay_columns);
static const rs_table_spec file_table =
    RS_TABLE("files", "one row is one rank's file; filled with --overlay", file_columns);
static const rs_table_spec node_table = RS_TABLE(
    "nodes", "one row is the start or the end of an event in the graph, by time; filled with --nodes",
    node_columns);

enum { SUMMARY, BREAKDOWN, EDGES, SYNCS, NODES, OVERLAY, FILES, N_TABLES };
static const rs_table_spec *const tables[] = {&summary_table, &breakdown_table, &edge_table, &sync_table,
                                              &node_table,    &overlay_table,   &file_table};
/* For graphs that are not the program's own: without the columns that only that one knows. */
const rs_table_spec *const rs_critical_path_peer_tables[] = {
    &peer_summary_table, &breakdown_table, &edge_table, &sync_table,
    &node_table,         &overlay_table,   &file_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, N_TABLES}};

static const rs_option_spec options[] = {
    {"annotation", RS_OPTION_TEXT, "NAME", NULL, "ProfilerStep",
     "look at the events whose names contain NAME; an empty name is the whole trace"},
    {"instance", RS_OPTION_TEXT, "I[-J]", NULL, "0", "which of them, from 0 in order of time"},
    {"breakdown", RS_OPTION_FLAG, NULL, NULL, NULL, "the path, part by part"},
    {"edges", RS_OPTION_FLAG, NULL, NULL, NULL, "all dependencies of the graph"},
    {"nodes", RS_OPTION_FLAG, NULL, NULL, NULL, "all starts and ends of events in the graph"},
    {"sync-edges", RS_OPTION_FLAG, NULL, NULL, NULL, "all synchronization dependencies, on the path or not"},
    {"overlay", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "write the trace's events on the path, with arrows (.gz, .zst, else plain; several files: DIR/)"},
    {"overlay-edges", RS_OPTION_CHOICE, "WHICH", "path|all", "path",
     "path: arrows of the path from lane to lane; all: every dependency, and every event is kept"},
    {"data-load", RS_OPTION_TEXT, "NAME,...", NULL, NULL,
     "host events whose names contain one of these texts load data"},
};

/* ---- options ------------------------------------------------------------------------------------------ */

static rs_status read_window(const rs_run *run, rs_path_window *out, rs_error *err)
{
    *out = (rs_path_window){0};
    const char *text = rs_options_text(run->options, "instance"), *end = NULL;
    out->annotation = rs_options_text(run->options, "annotation");
    out->or_steps =
        !rs_options_is_set(run->options, "annotation") && rs_options_is_set(run->options, "instance");
    bool ok = rs_parse_whole(text, &out->first, &end);
    out->data_load = rs_options_text(run->options, "data-load");
    out->last = out->first;
    if (ok && *end == '-') ok = rs_parse_whole(end + 1, &out->last, &end) && out->last >= out->first;
    if (ok && *end == '\0') return RS_OK;
    return rs_fail(err, RS_ERR_USAGE, "--instance takes a number or a range like 0-1, not \"%.60s\"", text);
}

static bool all_arrows(const rs_run *run)
{
    return strcmp(rs_options_text(run->options, "overlay-edges"), "all") == 0;
}

static rs_path_wanted read_wanted(const rs_run *run)
{
    bool overlay = rs_options_is_set(run->options, "overlay");
    return (rs_path_wanted){.path = overlay || rs_options_flag(run->options, "breakdown"),
                            .edges = rs_options_flag(run->options, "edges") || (overlay && all_arrows(run)),
                            .nodes = rs_options_flag(run->options, "nodes"),
                            .syncs = rs_options_flag(run->options, "sync-edges")};
}

static bool is_default(const rs_run *run)
{
    return !rs_options_is_set(run->options, "annotation") && !rs_options_is_set(run->options, "instance");
}

/* ---- one rank ----------------------------------------------------------------------------------------- */

rs_status rs_critical_path_rank(const rs_run *run, rs_trace *trace, const rs_path_peer *peer, void **partial,
                                rs_error *err)
{
    rs_path_window window;
    rs_path_answer *answer = NULL;
    rs_path_wanted wanted = read_wanted(run);
    rs_status status = read_window(run, &window, err);
    if (status != RS_OK) return status;
    status = rs_path_answer_create(trace, run->policy, &window, is_default(run), &wanted, peer, &answer, err);
    *partial = answer;
    return status;
}

static rs_status path_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    return rs_critical_path_rank(run, trace, NULL, partial, err);
}

/* ---- all ranks ---------------------------------------------------------------------------------------- */

static rs_status add_summary(rs_table *t, int64_t rank, const rs_path_answer *a, bool peer, rs_error *err)
{
    rs_table_put(t, peer ? &peer_summary_record : &summary_record, rank, a);
    /* HTA tells whole microseconds */
    rs_table_set_time(t, "path_weight", peer ? a->weight - a->weight % 1000 : a->weight);
    rs_table_set_time(t, "window_us", rs_sub_sat(a->end, a->start));
    return rs_table_end_row(t, err);
}

static rs_status add_arrow(rs_table *t, int64_t rank, const rs_path_edge *e, bool all, rs_error *err)
{
    bool arrow = all || e->type == RS_EDGE_DEPENDENCY || e->type == RS_EDGE_LAUNCH || e->type == RS_EDGE_SYNC;
    rs_table_put(t, &overlay_record, rank, e);
    rs_table_set_int(t, "arrow", arrow);
    return rs_table_end_row(t, err);
}

static rs_status add_overlay(const rs_run *run, const rs_partial *partial, rs_result *result, rs_error *err)
{
    bool all = all_arrows(run);
    const rs_path_answer *a = partial->value;
    rs_status status = RS_OK;
    size_t n = all ? a->n_edge_rows : a->n_path_rows;
    for (size_t i = 0; status == RS_OK && i < n; i++)
        status =
            add_arrow(result->tables[OVERLAY], partial->rank, all ? &a->edges[i] : &a->path[i], all, err);
    if (status != RS_OK) return status;
    return rs_table_put_row(result->tables[FILES], &file_record, partial->rank, partial, err);
}

static rs_status add_rank(const rs_run *run, const rs_partial *partial, bool peer, rs_result *result,
                          rs_error *err)
{
    int64_t rank = partial->rank;
    const rs_path_answer *a = partial->value;
    rs_table *const *t = result->tables;
    size_t n_parts = rs_options_flag(run->options, "breakdown") ? a->n_path_rows : 0;
    size_t n_edges = rs_options_flag(run->options, "edges") ? a->n_edge_rows : 0;
    for (size_t i = 0; i < result->n_tables; i++) rs_table_use_texts(t[i], &a->strings);
    rs_status status = add_summary(t[SUMMARY], rank, a, peer, err);
    for (size_t i = 0; status == RS_OK && i < n_parts; i++)
        status = rs_table_put_row(t[BREAKDOWN], &breakdown_record, rank, &a->path[i], err);
    for (size_t i = 0; status == RS_OK && i < a->n_node_rows; i++)
        status = rs_table_put_row(t[NODES], &node_record, rank, &a->nodes[i], err);
    for (size_t i = 0; status == RS_OK && i < n_edges; i++)
        status = rs_table_put_row(t[EDGES], &edge_record, rank, &a->edges[i], err);
    for (size_t i = 0; status == RS_OK && i < a->n_syncs; i++)
        status = rs_table_put_row(t[SYNCS], &sync_record, rank, &a->syncs[i], err);
    if (status == RS_OK && rs_options_is_set(run->options, "overlay"))
        status = add_overlay(run, partial, result, err);
    if (a->whole_trace)
        rs_result_note(result, "rank %lld: no event is named %s; the whole trace is looked at",
                       (long long)rank, rs_options_text(run->options, "annotation"));
    if (a->n_contradicted)
        rs_result_note(
            result,
            "rank %lld: %llu dependencies run against time by more than 1 us and are left out: the "
            "clocks of host and GPU disagree, or the trace links wrong events",
            (long long)rank, (unsigned long long)a->n_contradicted);
    if (a->n_untold && rs_options_flag(run->options, "sync-edges"))
        rs_result_note(result,
                       "rank %lld: of %zu waits the trace does not say what work they wait for (record "
                       "with CUDA synchronization events enabled)",
                       (long long)rank, a->n_untold);
    return status;
}

/* One word for all ranks: the option is wrong only if no rank has what it names. */
static rs_status complain(const rs_run *run, const rs_partial *partials, size_t n, rs_error *err)
{
    const char *name = rs_options_text(run->options, "annotation");
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const rs_path_answer *a = partials[i].value;
        if (a && a->n_instances > most) most = a->n_instances;
    }
    if (most == 0)
        return rs_fail(err, RS_ERR_USAGE, "there are 0 events whose names contain \"%.60s\"", name);
    return rs_fail(err, RS_ERR_USAGE, "--instance %.40s: there are %zu events whose names contain \"%.60s\"",
                   rs_options_text(run->options, "instance"), most, name);
}

rs_status rs_critical_path_merge(const rs_run *run, const rs_partial *partials, size_t n, bool peer,
                                 rs_result *result, rs_error *err)
{
    rs_path_wanted wanted = read_wanted(run);
    result->main_table = rs_options_flag(run->options, "breakdown") ? BREAKDOWN
                         : rs_options_flag(run->options, "edges")   ? EDGES
                         : wanted.nodes                             ? NODES
                         : wanted.syncs                             ? SYNCS
                                                                    : SUMMARY;
    bool any = false, absent = true;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_path_answer *a = partials[i].value;
        if (!a) continue;
        if (!a->absent) absent = false;
        if (a->absent) {
            rs_result_note(result, "rank %lld: no events with times", (long long)partials[i].rank);
        } else if (!a->found) {
            rs_result_note(result, "rank %lld: the annotation or its instance is not there",
                           (long long)partials[i].rank);
        } else {
            any = true;
            status = add_rank(run, &partials[i], peer, result, err);
        }
    }
    if (status == RS_OK && !any && !absent) status = complain(run, partials, n, err);
    return status;
}

static rs_status path_merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result,
                            rs_error *err)
{
    return rs_critical_path_merge(run, partials, n, false, result, err);
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field point_fields[] = {
    RS_FIELDS(rs_path_point, position, time, within),
    RS_FIELD_INDEX_OR_NONE(rs_path_point, name, rs_path_answer, strings.n),
    RS_FIELD(rs_path_point, is_end),
};
static const rs_layout point_layout = RS_LAYOUT(rs_path_point, point_fields);

static const rs_field edge_fields[] = {
    RS_FIELD_STRUCT(rs_path_edge, source, &point_layout),
    RS_FIELD_STRUCT(rs_path_edge, target, &point_layout),
    RS_FIELDS(rs_path_edge, weight, owner, owner_stream),
    RS_FIELD_INDEX_OR_NONE(rs_path_edge, owner_name, rs_path_answer, strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_path_edge, owner_category, rs_path_answer, strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_path_edge, owner_pid, rs_path_answer, strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_path_edge, owner_tid, rs_path_answer, strings.n),
    RS_FIELD_BELOW(rs_path_edge, type, RS_N_EDGE_TYPES),
    RS_FIELD_BELOW(rs_path_edge, bound, RS_N_BOUNDS),
    RS_FIELD(rs_path_edge, critical),
};
static const rs_layout edge_layout = RS_LAYOUT(rs_path_edge, edge_fields);

static const rs_field sync_fields[] = {RS_FIELD(rs_path_sync, to_gpu)};
static const rs_layout sync_layout = RS_RECORD_LAYOUT_AND(rs_path_sync, sync, sync_fields);

static const rs_field node_fields[] = {
    RS_FIELD_STRUCT(rs_path_node, point, &point_layout),
    RS_FIELDS(rs_path_node, place, blocking),
};
static const rs_layout node_layout = RS_LAYOUT(rs_path_node, node_fields);

static const rs_field answer_fields[] = {
    RS_FIELDS(rs_path_answer, n_instances, found, whole_trace, absent, base, start, end, n_nodes, n_edges,
              n_path, weight),
    RS_FIELD_ARRAY(rs_path_answer, time),
    RS_FIELDS(rs_path_answer, n_untold, n_contradicted),
    RS_FIELD_STRINGS(rs_path_answer, strings),
    RS_FIELD_LIST(rs_path_answer, path, n_path_rows, &edge_layout),
    RS_FIELD_LIST(rs_path_answer, edges, n_edge_rows, &edge_layout),
    RS_FIELD_LIST(rs_path_answer, syncs, n_syncs, &sync_layout),
    RS_FIELD_LIST(rs_path_answer, nodes, n_node_rows, &node_layout),
};
const rs_layout rs_path_answer_layout = RS_LAYOUT(rs_path_answer, answer_fields);

const rs_analysis rs_analysis_critical_path = {
    .name = "critical-path",
    .group = "GPU time",
    .help = "What a step really waited for: the longest chain of dependencies between host and GPU",
    .about =
        "Every host call and every piece of GPU work was delayed by something: the call before it, its "
        "launch,\n"
        "the work before it on its stream, work of another stream, or work that a call waits for. From the "
        "window's\n"
        "end back along what really held each one up leads the critical path; its parts add up to the "
        "window.\n"
        "The window ends when the GPU work that was launched in it has ended, if that is after the "
        "annotation.\n"
        "Where nothing is called ProfilerStep, --instance counts the steps that are detected from the GPU work by\n"
        "repeating itself.\n"
        "\n"
        "--sync-edges lists every synchronization between GPU and host and between streams, on the path or "
        "not, from\n"
        "cuda_sync events and, where there are none, from blocking calls (HIP's too).\n"
        "\n"
        "--compat hta builds the graph by HTA's rules, where gaps between host operators and waiting calls "
        "weigh nothing.",
    .examples = "rankscope critical-path trace.json.gz\n"
                "rankscope critical-path --breakdown --instance 2 trace.json.gz\n"
                "rankscope critical-path --sync-edges --annotation '' --format csv trace.json.gz",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work_details, &rs_facet_work_by_start, &rs_facet_span, &rs_facet_causes},
    .columns = RS_SYNC_COLUMNS | RS_COLUMN_BIT(EXTERNAL_ID),
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL,
    .rank = path_rank,
    .merge = path_merge,
    .free_partial = rs_path_answer_free,
    .partial_layout = &rs_path_answer_layout,
};
