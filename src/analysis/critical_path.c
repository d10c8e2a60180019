/* critical-path: the chain of causes behind a step's end. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/layouts.h"
#include "base/interval.h"
#include "base/layout.h"
#include "base/memory.h"
#include "base/ranges.h"
#include "analysis/path_answer.h"

/* What both tables of summaries begin with. */
#define SUMMARY_COLUMNS                                                                                      \
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},                                                              \
        {"nodes", RS_INT, RS_UNIT_COUNT, "starts and ends of events in the graph", NULL},                    \
        {"path_weight", RS_TIME, RS_UNIT_US, "length of the longest path", "path"},                          \
        {"edges", RS_INT, RS_UNIT_COUNT, "dependencies in the graph", NULL},                                 \
        {"path_edges", RS_INT, RS_UNIT_COUNT, "dependencies on the path", "on path"},                        \
        {"start_us", RS_TIME, RS_UNIT_US, "where the window begins", "start"},                               \
        {"window_us", RS_TIME, RS_UNIT_US, "length of the window", "window"},                                \
        {"cpu_us", RS_TIME, RS_UNIT_US, "the host is what the path waits for", "CPU"},                       \
        {"data_loading_us", RS_TIME, RS_UNIT_US, "the data loader, on the host", "data loading"},            \
        {"gpu_compute_us", RS_TIME, RS_UNIT_US, "computation on the GPU", "compute"},                        \
        {"gpu_communication_us", RS_TIME, RS_UNIT_US,                                                        \
         "communication on the GPU, with its wait for other ranks", "communication"},                        \
        {"gpu_copy_us", RS_TIME, RS_UNIT_US, "copies and memsets on the GPU", "copies"},                     \
        {"launch_us", RS_TIME, RS_UNIT_US, "from a launching call to its work", "launch"},                   \
        {"gap_us", RS_TIME, RS_UNIT_US, "between two pieces of GPU work", "gaps"},                           \
    {                                                                                                        \
        "instances", RS_INT, RS_UNIT_COUNT, "events with the annotation's name", NULL                        \
    }

static const rs_column_spec hta_summary_columns[] = {SUMMARY_COLUMNS};
static const rs_column_spec summary_columns[] = {
    SUMMARY_COLUMNS,
    {"host_communication_us", RS_TIME, RS_UNIT_US,
     "communication that the host runs (gloo, MPI, UCC), with its wait for other ranks",
     "host communication"},
    {"contradicted", RS_INT, RS_UNIT_COUNT,
     "dependencies of the rank that run against time by more than 1 us, and are left out: clocks or links "
     "are wrong",
     NULL},
};

static const rs_column_spec breakdown_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"event", RS_INT, RS_UNIT_ID, "position in traceEvents of the event the time is charged to", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "its name", NULL},
    {"cat", RS_TEXT, RS_UNIT_NONE, "its category", NULL},
    {"pid", RS_TEXT, RS_UNIT_ID, "its process", NULL},
    {"tid", RS_TEXT, RS_UNIT_ID, "its thread", NULL},
    {"stream", RS_INT, RS_UNIT_ID, "its stream", NULL},
    {"type", RS_TEXT, RS_UNIT_NONE, "kind of the dependency", NULL},
    {"bound_by", RS_TEXT, RS_UNIT_NONE, "what the path waits for", NULL},
    {"duration", RS_TIME, RS_UNIT_US, "time on the path", NULL},
    {"start_us", RS_TIME, RS_UNIT_US, "where this part of the path begins", "start"},
};

static const rs_column_spec edge_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"source", RS_INT, RS_UNIT_ID, "position in traceEvents; unknown: the window's start", NULL},
    {"source_at", RS_TEXT, RS_UNIT_NONE, "which end of it", NULL},
    {"target", RS_INT, RS_UNIT_ID, "position in traceEvents; unknown: the window's end", NULL},
    {"target_at", RS_TEXT, RS_UNIT_NONE, "which end of it", NULL},
    {"type", RS_TEXT, RS_UNIT_NONE, "kind of the dependency", NULL},
    {"weight", RS_TIME, RS_UNIT_US, "what it adds to the path", NULL},
    {"critical", RS_INT, RS_UNIT_NONE, "1: on the longest path", NULL},
    {"bound_by", RS_TEXT, RS_UNIT_NONE, "what its time is spent on", NULL},
    {"event", RS_INT, RS_UNIT_ID, "position of the event the time is charged to", NULL},
    {"source_us", RS_TIME, RS_UNIT_US, "when the source is", NULL},
    {"target_us", RS_TIME, RS_UNIT_US, "when the target is", NULL},
    {"source_name", RS_TEXT, RS_UNIT_NONE, "name of the source", NULL},
    {"target_name", RS_TEXT, RS_UNIT_NONE, "name of the target", NULL},
};

static const rs_column_spec sync_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"source", RS_INT, RS_UNIT_ID, "position in traceEvents of the work that is waited for", NULL},
    {"target", RS_INT, RS_UNIT_ID, "position of the call, or of the work, that waits", NULL},
    {"source_external_id", RS_INT, RS_UNIT_ID, "External id of the source; unknown if it has none",
     "source id"},
    {"target_external_id", RS_INT, RS_UNIT_ID, "External id of the target; unknown if it has none",
     "target id"},
    {"source_name", RS_TEXT, RS_UNIT_NONE, "name of the source", NULL},
    {"target_name", RS_TEXT, RS_UNIT_NONE, "name of the target", NULL},
    {"source_stream", RS_INT, RS_UNIT_ID, "stream of the source", NULL},
    {"target_stream", RS_INT, RS_UNIT_ID, "stream of the target; unknown on the host", NULL},
    {"source_end_us", RS_TIME, RS_UNIT_US, "when the source has ended", "source end"},
    {"target_us", RS_TIME, RS_UNIT_US, "when the call returns or the work starts", "target"},
    {"kind", RS_TEXT, RS_UNIT_NONE,
     "stream_wait_event, event_sync, stream_sync, context_sync, or copy: a copy that returns when it is done",
     NULL},
    {"sync", RS_INT, RS_UNIT_ID,
     "position of the cuda_sync event that says so; unknown: told from the call alone", NULL},
    {"critical", RS_INT, RS_UNIT_NONE, "1: on the longest path", NULL},
};

static const rs_column_spec overlay_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"source", RS_INT, RS_UNIT_ID, "position in traceEvents; unknown: the window's start", NULL},
    {"target", RS_INT, RS_UNIT_ID, "position in traceEvents; unknown: the window's end", NULL},
    {"source_us", RS_TIME, RS_UNIT_US, "where an arrow would begin, on the file's own clock", NULL},
    {"target_us", RS_TIME, RS_UNIT_US, "where an arrow would end, on the file's own clock", NULL},
    {"type", RS_TEXT, RS_UNIT_NONE, "kind of the dependency", NULL},
    {"weight", RS_TIME, RS_UNIT_US, "what it adds to the path", NULL},
    {"arrow", RS_INT, RS_UNIT_NONE,
     "1: drawn as an arrow: all edges with --overlay-edges all, else what leads from one lane to another",
     NULL},
    {"critical", RS_INT, RS_UNIT_NONE, "1: on the longest path", NULL},
};
static const rs_column_spec node_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"event", RS_INT, RS_UNIT_ID, "position in traceEvents; unknown: the window's own border", NULL},
    {"at", RS_TEXT, RS_UNIT_NONE, "which end of it: start or end", NULL},
    {"ts_us", RS_TIME, RS_UNIT_US, "when that is", "time"},
    {"name", RS_TEXT, RS_UNIT_NONE, "its name", NULL},
    {"blocking", RS_INT, RS_UNIT_NONE, "1: a call that waits for the GPU, by its name", NULL},
    {"path", RS_INT, RS_UNIT_COUNT, "its place on the longest path, from 0; unknown: not on it", NULL},
};
static const rs_column_spec file_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"file", RS_TEXT, RS_UNIT_NONE, "the file it was read from", NULL},
};

static const rs_table_spec summary_table = RS_TABLE("critical_path", "one row is one rank", summary_columns);
static const rs_table_spec hta_summary_table =
    RS_TABLE("critical_path", "one row is one rank", hta_summary_columns);
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
static const rs_table_spec *const hta_tables[] = {
    &hta_summary_table, &breakdown_table, &edge_table, &sync_table, &node_table, &overlay_table, &file_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, N_TABLES},
                                    {RS_COMPAT_HTA, hta_tables, N_TABLES},
                                    {RS_COMPAT_HTA_EXACT, hta_tables, N_TABLES}};

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
    const char *text = rs_options_text(run->options, "instance"), *end = NULL;
    out->annotation = rs_options_text(run->options, "annotation");
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

static rs_status path_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_path_window window;
    rs_path_answer *answer = NULL;
    rs_path_wanted wanted = read_wanted(run);
    rs_status status = read_window(run, &window, err);
    if (status != RS_OK) return status;
    status = rs_path_answer_create(trace, run->policy, &window, is_default(run), &wanted, &answer, err);
    *partial = answer;
    return status;
}

/* ---- all ranks ---------------------------------------------------------------------------------------- */

static void add_known(rs_table *t, int64_t value, int64_t unknown)
{
    if (value == unknown)
        rs_table_add_null(t);
    else
        rs_table_add_int(t, value);
}

static void add_string(rs_table *t, const rs_path_answer *a, uint32_t id)
{
    if (id < a->strings.n)
        rs_table_add_text_n(t, a->strings.items[id].text, a->strings.items[id].length);
    else
        rs_table_add_null(t);
}

static rs_status add_summary(rs_table *t, int64_t rank, const rs_path_answer *a, bool hta, int64_t base,
                             rs_error *err)
{
    static const rs_bound order[] = {RS_BOUND_CPU,  RS_BOUND_LOADING, RS_BOUND_COMPUTE, RS_BOUND_COMM,
                                     RS_BOUND_COPY, RS_BOUND_LAUNCH,  RS_BOUND_GAP};
    rs_table_add_int(t, rank);
    rs_table_add_int(t, (int64_t)a->n_nodes);
    rs_table_add_time(t, hta ? a->weight - a->weight % 1000 : a->weight); /* HTA tells whole microseconds */
    rs_table_add_int(t, (int64_t)a->n_edges);
    rs_table_add_int(t, (int64_t)a->n_path);
    rs_table_add_time(t, rs_sub_sat(a->start, base));
    rs_table_add_time(t, rs_sub_sat(a->end, a->start));
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) rs_table_add_time(t, a->time[order[i]]);
    rs_table_add_int(t, (int64_t)a->n_instances);
    if (!hta) {
        rs_table_add_time(t, a->time[RS_BOUND_HOST_COMM]);
        rs_table_add_int(t, (int64_t)a->n_contradicted);
    }
    return rs_table_end_row(t, err);
}

static rs_status add_part(rs_table *t, int64_t rank, const rs_path_answer *a, const rs_path_edge *e,
                          int64_t base, rs_error *err)
{
    rs_table_add_int(t, rank);
    add_known(t, e->owner, RS_NO_POSITION);
    if (e->owner == RS_NO_POSITION) {
        for (int i = 0; i < 4; i++) rs_table_add_null(t);
    } else {
        add_string(t, a, e->owner_name);
        add_string(t, a, e->owner_category);
        add_string(t, a, e->owner_pid);
        add_string(t, a, e->owner_tid);
    }
    add_known(t, e->owner_stream, -1);
    rs_table_add_text(t, rs_edge_type_name((rs_edge_type)e->type));
    rs_table_add_text(t, rs_bound_name((rs_bound)e->bound));
    rs_table_add_time(t, e->weight);
    rs_table_add_time(t, rs_sub_sat(e->source.time, base));
    return rs_table_end_row(t, err);
}

static void add_name(rs_table *t, const rs_path_answer *a, const rs_path_point *p)
{
    if (p->position == RS_NO_POSITION)
        rs_table_add_null(t);
    else
        add_string(t, a, p->name);
}

static rs_status add_edge(rs_table *t, int64_t rank, const rs_path_answer *a, const rs_path_edge *e,
                          int64_t base, rs_error *err)
{
    rs_table_add_int(t, rank);
    add_known(t, e->source.position, RS_NO_POSITION);
    rs_table_add_text(t, e->source.is_end ? "end" : "start");
    add_known(t, e->target.position, RS_NO_POSITION);
    rs_table_add_text(t, e->target.is_end ? "end" : "start");
    rs_table_add_text(t, rs_edge_type_name((rs_edge_type)e->type));
    rs_table_add_time(t, e->weight);
    rs_table_add_int(t, e->critical);
    rs_table_add_text(t, rs_bound_name((rs_bound)e->bound));
    add_known(t, e->owner, RS_NO_POSITION);
    rs_table_add_time(t, rs_sub_sat(e->source.time, base));
    rs_table_add_time(t, rs_sub_sat(e->target.time, base));
    add_name(t, a, &e->source);
    add_name(t, a, &e->target);
    return rs_table_end_row(t, err);
}

static rs_status add_sync(rs_table *t, int64_t rank, const rs_path_answer *a, const rs_path_sync *s,
                          int64_t base, rs_error *err)
{
    rs_table_add_int(t, rank);
    rs_table_add_int(t, s->source);
    rs_table_add_int(t, s->target);
    add_known(t, s->source_id, INT64_MIN);
    add_known(t, s->target_id, INT64_MIN);
    add_string(t, a, s->source_name);
    add_string(t, a, s->target_name);
    add_known(t, s->source_stream, -1);
    add_known(t, s->target_stream, -1);
    rs_table_add_time(t, rs_sub_sat(s->source_end, base));
    rs_table_add_time(t, rs_sub_sat(s->target_time, base));
    rs_table_add_text(t, rs_sync_kind_name((rs_sync_kind)s->kind));
    add_known(t, s->sync, RS_NO_POSITION);
    rs_table_add_int(t, s->critical);
    return rs_table_end_row(t, err);
}

static rs_status add_node(rs_table *t, int64_t rank, const rs_path_answer *a, const rs_path_node *node,
                          int64_t base, rs_error *err)
{
    rs_table_add_int(t, rank);
    add_known(t, node->point.position, RS_NO_POSITION);
    rs_table_add_text(t, node->point.is_end ? "end" : "start");
    rs_table_add_time(t, rs_sub_sat(node->point.time, base));
    add_name(t, a, &node->point);
    rs_table_add_int(t, node->blocking);
    add_known(t, node->place, -1);
    return rs_table_end_row(t, err);
}

static rs_status add_arrow(rs_table *t, int64_t rank, const rs_path_edge *e, bool all, rs_error *err)
{
    bool arrow = all || e->type == RS_EDGE_DEPENDENCY || e->type == RS_EDGE_LAUNCH || e->type == RS_EDGE_SYNC;
    rs_table_add_int(t, rank);
    add_known(t, e->source.position, RS_NO_POSITION);
    add_known(t, e->target.position, RS_NO_POSITION);
    rs_table_add_time(t, e->source.within);
    rs_table_add_time(t, e->target.within);
    rs_table_add_text(t, rs_edge_type_name((rs_edge_type)e->type));
    rs_table_add_time(t, e->weight);
    rs_table_add_int(t, arrow);
    rs_table_add_int(t, e->critical);
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
    rs_table_add_int(result->tables[FILES], partial->rank);
    rs_table_add_text(result->tables[FILES], partial->source);
    return rs_table_end_row(result->tables[FILES], err);
}

static rs_status add_rank(const rs_run *run, const rs_partial *partial, int64_t base, rs_result *result,
                          rs_error *err)
{
    int64_t rank = partial->rank;
    const rs_path_answer *a = partial->value;
    rs_status status = add_summary(result->tables[SUMMARY], rank, a, run->policy->rows_by_stream, base, err);
    for (size_t i = 0; status == RS_OK && rs_options_flag(run->options, "breakdown") && i < a->n_path_rows;
         i++)
        status = add_part(result->tables[BREAKDOWN], rank, a, &a->path[i], base, err);
    for (size_t i = 0; status == RS_OK && i < a->n_node_rows; i++)
        status = add_node(result->tables[NODES], rank, a, &a->nodes[i], base, err);
    for (size_t i = 0; status == RS_OK && rs_options_flag(run->options, "edges") && i < a->n_edge_rows; i++)
        status = add_edge(result->tables[EDGES], rank, a, &a->edges[i], base, err);
    for (size_t i = 0; status == RS_OK && i < a->n_syncs; i++)
        status = add_sync(result->tables[SYNCS], rank, a, &a->syncs[i], base, err);
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
                       "rank %lld: of %zu waits the trace does not tell what work they wait for (record "
                       "with CUDA synchronization events enabled)",
                       (long long)rank, a->n_untold);
    return status;
}

/* The times of the table count from the job's first event. */
static int64_t base_of(const rs_run *run, const rs_partial *partials, size_t n)
{
    int64_t base = RS_NO_TIME;
    for (size_t i = 0; !run->absolute && i < n; i++) {
        const rs_path_answer *a = partials[i].value;
        if (a && a->base != RS_NO_TIME && (base == RS_NO_TIME || a->base < base)) base = a->base;
    }
    return base == RS_NO_TIME ? 0 : base;
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

static rs_status path_merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result,
                            rs_error *err)
{
    rs_path_wanted wanted = read_wanted(run);
    result->main_table = rs_options_flag(run->options, "breakdown") ? BREAKDOWN
                         : rs_options_flag(run->options, "edges")   ? EDGES
                         : wanted.nodes                             ? NODES
                         : wanted.syncs                             ? SYNCS
                                                                    : SUMMARY;
    int64_t base = base_of(run, partials, n);
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
            status = add_rank(run, &partials[i], base, result, err);
        }
    }
    if (status == RS_OK && !any && !absent) status = complain(run, partials, n, err);
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field point_fields[] = {
    RS_FIELD(rs_path_point, position), RS_FIELD(rs_path_point, time),
    RS_FIELD(rs_path_point, within),   RS_FIELD_INDEX_OR_NONE(rs_path_point, name, rs_path_answer, strings.n),
    RS_FIELD(rs_path_point, is_end),
};
static const rs_layout point_layout = RS_LAYOUT(rs_path_point, point_fields);

static const rs_field edge_fields[] = {
    RS_FIELD_STRUCT(rs_path_edge, source, &point_layout),
    RS_FIELD_STRUCT(rs_path_edge, target, &point_layout),
    RS_FIELD(rs_path_edge, weight),
    RS_FIELD(rs_path_edge, owner),
    RS_FIELD(rs_path_edge, owner_stream),
    RS_FIELD_INDEX_OR_NONE(rs_path_edge, owner_name, rs_path_answer, strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_path_edge, owner_category, rs_path_answer, strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_path_edge, owner_pid, rs_path_answer, strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_path_edge, owner_tid, rs_path_answer, strings.n),
    RS_FIELD_BELOW(rs_path_edge, type, RS_EDGE_SYNC + 1),
    RS_FIELD_BELOW(rs_path_edge, bound, RS_N_BOUNDS),
    RS_FIELD(rs_path_edge, critical),
};
static const rs_layout edge_layout = RS_LAYOUT(rs_path_edge, edge_fields);

static const rs_field sync_fields[] = {
    RS_FIELD(rs_path_sync, source),
    RS_FIELD(rs_path_sync, target),
    RS_FIELD(rs_path_sync, sync),
    RS_FIELD(rs_path_sync, source_id),
    RS_FIELD(rs_path_sync, target_id),
    RS_FIELD(rs_path_sync, source_stream),
    RS_FIELD(rs_path_sync, target_stream),
    RS_FIELD(rs_path_sync, source_end),
    RS_FIELD(rs_path_sync, target_time),
    RS_FIELD_INDEX_OR_NONE(rs_path_sync, source_name, rs_path_answer, strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_path_sync, target_name, rs_path_answer, strings.n),
    RS_FIELD_BELOW(rs_path_sync, kind, RS_SYNC_COPY + 1),
    RS_FIELD(rs_path_sync, to_gpu),
    RS_FIELD(rs_path_sync, critical),
};
static const rs_layout sync_layout = RS_LAYOUT(rs_path_sync, sync_fields);

static const rs_field node_fields[] = {
    RS_FIELD_STRUCT(rs_path_node, point, &point_layout),
    RS_FIELD(rs_path_node, place),
    RS_FIELD(rs_path_node, blocking),
};
static const rs_layout node_layout = RS_LAYOUT(rs_path_node, node_fields);

static const rs_field answer_fields[] = {
    RS_FIELD(rs_path_answer, n_instances),
    RS_FIELD(rs_path_answer, found),
    RS_FIELD(rs_path_answer, whole_trace),
    RS_FIELD(rs_path_answer, absent),
    RS_FIELD(rs_path_answer, base),
    RS_FIELD(rs_path_answer, start),
    RS_FIELD(rs_path_answer, end),
    RS_FIELD(rs_path_answer, n_nodes),
    RS_FIELD(rs_path_answer, n_edges),
    RS_FIELD(rs_path_answer, n_path),
    RS_FIELD(rs_path_answer, weight),
    RS_FIELD_ARRAY(rs_path_answer, time),
    RS_FIELD(rs_path_answer, n_untold),
    RS_FIELD(rs_path_answer, n_contradicted),
    RS_FIELD_STRINGS(rs_path_answer, strings),
    RS_FIELD_LIST(rs_path_answer, path, n_path_rows, &edge_layout),
    RS_FIELD_LIST(rs_path_answer, edges, n_edge_rows, &edge_layout),
    RS_FIELD_LIST(rs_path_answer, syncs, n_syncs, &sync_layout),
    RS_FIELD_LIST(rs_path_answer, nodes, n_node_rows, &node_layout),
};
static const rs_layout answer_layout = RS_LAYOUT(rs_path_answer, answer_fields);

const rs_analysis rs_analysis_critical_path = {
    .name = "critical-path",
    .help = "What a step really waited for: the longest chain of dependencies between host and GPU",
    .about =
        "Every host call and every piece of GPU work was held up by something: the call before it, its "
        "launch,\n"
        "the work before it on its stream, work of another stream, or work that a call waits for. From the "
        "window's\n"
        "end back along what really held each one up leads the critical path; its parts add up to the "
        "window.\n"
        "The window ends when the GPU work that was launched in it has ended, if that is after the "
        "annotation.\n"
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
    .facets = {&rs_facet_work_details, &rs_facet_work_by_start, &rs_facet_span},
    .columns = RS_SYNC_COLUMNS | RS_COLUMN_BIT(EXTERNAL_ID),
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL,
    .rank = path_rank,
    .merge = path_merge,
    .free_partial = rs_path_answer_free,
    .partial_layout = &answer_layout,
};
