/* replay: the recording run again through its event graph, and how far off that is. */
#include <string.h>

#include "analysis/replay.h"
#include "analysis/skeletons.h"
#include "analysis/collective_notes.h"
#include "base/interval.h"
#include "base/try.h"
#include "match/collective_wait.h"

static const rs_option_spec options[] = {
    {"what-if", RS_OPTION_LIST, "EDITS", NULL, NULL,
     "a question: edits joined by ; act together; given again, a question of its own. scale SELECTOR=VALUE, "
     "no-stragglers[:RANK], balanced, network*F, overlap[:GROUP], graphs, no-loader, no-sync NAME, fuse A+B, "
     "coalesce GROUP:BYTES, group-size GROUP:N, payload GROUP*F, shard GROUP:N, experts GROUP:N, micro-batches*N"},
    {"scale", RS_OPTION_LIST, "SELECTOR=VALUE", NULL, NULL,
     "a question: what is selected takes VALUE (0.5, 12us, none, median): 'name~gemm=0.5', "
     "'class=communication&group~DATA=0.7', 'part=host&rank=3=0.5'"},
    {"no-loader", RS_OPTION_FLAG, NULL, NULL, NULL, "a question: data is there when it is asked for"},
    {"map", RS_OPTION_FLAG, NULL, NULL, NULL,
     "with a question: what each rank would do at each moment, as the command map shows the recording (table map)"},
    {"force", RS_OPTION_FLAG, NULL, NULL, NULL,
     "answer questions, too, where the replay cannot be relied on"},
    RS_EDGES_OPTION,
    RS_CLOCKS_OPTION,
    RS_SKELETONS_OPTION,
};

#define REPLAY_ROW(CELL)                                                                                         \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                         \
    CELL(OF(rs_replay_row, step), "step", INT, ID, "training step; unknown: all of the rank's together",         \
         NULL)                                                                                                   \
    CELL(OF(rs_replay_row, recorded), "recorded_us", TIME, US,                                                   \
         "from the end of the step before to its own: of its annotation or of the last GPU work launched "       \
         "in it. The first begins with its annotation, or when the work queued before its own is over",          \
                                                                                                                 \
         "recorded")                                                                                             \
    CELL(OF(rs_replay_row, model_error), "model_error_pct", REAL, PERCENT,                                       \
         "a replay in which each latency is what is typical of its kind, against the recording",                 \
         "model error %")                                                                                        \
    CELL(OF(rs_replay_row, held_out_error), "held_out_error_pct", REAL, PERCENT,                                 \
         "the same, learned without this step; of all steps together the mean of the absolute errors",           \
         "held out %")                                                                                           \
    CELL(OF(rs_replay_row, gpu_error), "gpu_error_pct", REAL, PERCENT,                                           \
         "model error of the time until the GPU's last work of the step has ended", "GPU error %")               \
    CELL(OF(rs_replay_row, unexplained), "unexplained_us", TIME, US,                                             \
         "on the path to its end: gaps of more than 20 us beyond what any known cause takes", "unexplained")     \
    CELL(OF(rs_replay_row, unexplained_pct), "unexplained_pct", REAL, PERCENT, "of recorded_us",                 \
         "unexplained %")                                                                                        \
    CELL(                                                                                                        \
        OF(rs_replay_row, inferred), "inferred_edges", INT, COUNT,                                               \
        "dependencies that the trace does not record: its steps show them, or the order of calls asks for them", \
        "inferred")                                                                                              \
    CELL(OF(rs_replay_row, contradicted), "contradicted", INT, COUNT,                                            \
         "dependencies of the rank that run against time and are left out", NULL)                                \
    CELL(OF(rs_replay_row, pinned), "pinned", INT, COUNT,                                                        \
         "work that keeps its recorded time: its launch, or its partners, are not in the traces", NULL)          \
    CELL(OF(rs_replay_row, trusted), "trusted", INT, NONE, "1: a what-if may rely on it", NULL)                  \
    CELL(MAYBE(rs_replay_row, reason), "reason", TEXT, NONE, "why not", NULL)
RS_RECORD(replay, REPLAY_ROW);

typedef struct edge_row {
    const char *origin, *source, *target;
    int64_t source_stream, target_stream, source_row, target_row, tight, instances;
} edge_row;

#define EDGE_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "a rank that shows it", NULL)                                                \
    CELL(                                                                                                    \
        OF(edge_row, origin), "origin", TEXT, NONE,                                                          \
        "repeated: every step shows it; occupied: the same, and the source fills the device, so that the "   \
        "target starts when the last of it leaves room, before its end; calls: by the order of calls, with " \
        "what other places show",                                                                            \
        NULL)                                                                                                \
    CELL(MAYBE(edge_row, source), "source", TEXT, NONE, "work that is waited for", NULL)                     \
    CELL(MAYBE(edge_row, target), "target", TEXT, NONE, "work that waits", NULL)                             \
    CELL(ID(edge_row, source_stream), "source_stream", INT, ID, "stream of the source", "on")                \
    CELL(ID(edge_row, target_stream), "target_stream", INT, ID, "stream of the target", "on")                \
    CELL(OF(edge_row, source_row), "source_event", INT, ID,                                                  \
         "position in traceEvents of the source in the first of its steps", "event")                         \
    CELL(OF(edge_row, target_row), "target_event", INT, ID, "and of the target", "event")                    \
    CELL(OF(edge_row, tight), "tight", INT, COUNT,                                                           \
         "steps of ranks in which the target starts right after the source and nothing else explains it",    \
         NULL)                                                                                               \
    CELL(OF(edge_row, instances), "instances", INT, COUNT, "steps of ranks that run the same program", NULL)
RS_RECORD(edge, EDGE_ROW);

typedef struct path_row {
    const char *part;
    int64_t time, whole;
} path_row;

#define PATH_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank whose end the path leads to; it may run over others", NULL)            \
    CELL(OF(path_row, part), "part", TEXT, NONE,                                                             \
         "computation, transfer, copy, launch, stream_gap, sync, host, loader, host_communication, "         \
         "pinned, window",                                                                                   \
         NULL)                                                                                               \
    CELL(OF(path_row, time), "time_us", TIME, US, "what the path spends on it", "time")                      \
    CELL(SHARE(path_row, time, whole), "share_pct", REAL, PERCENT, "of the rank's whole trace", "share %")
RS_RECORD(path, PATH_ROW);

static const rs_table_spec path_table = RS_TABLE(
    "path", "one row is a part of the path after the end of a rank's trace; the parts add up to its length",
    path_columns);
static const rs_table_spec replay_table =
    RS_TABLE("replay", "one row is a step of a rank, or an entire rank", replay_columns);
static const rs_table_spec edge_table =
    RS_TABLE("edges", "one row is a dependency that was inferred", edge_columns);
static const rs_table_spec *const tables[] = {&replay_table, &rs_what_if_table, &path_table, &edge_table,
                                              &rs_replay_map_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, sizeof tables / sizeof *tables}};
enum { REPLAY, WHAT_IF, PATH, EDGES, MAP };

/* A question has an answer of its own. */
static bool asks_nothing(const rs_options *o)
{
    return !rs_replay_asks(o);
}

/* ---- one rank ------------------------------------------------------------------------------------------ */

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    bool shares;
    RS_TRY(rs_replay_check(run->options, &shares, err));
    if (rs_skeletons_too_many(run, trace)) return RS_OK;
    return shares ? rs_skeletons_shared(run, trace, partial, err)
                  : rs_skeletons_rank(run, trace, partial, err);
}

static uint64_t more_columns(const rs_options *given)
{
    bool shares;
    return rs_replay_check(given, &shares, NULL) == RS_OK && shares ? rs_skeletons_shared_columns() : 0;
}

static const char *partial_is(const rs_options *given)
{
    bool shares;
    return rs_replay_check(given, &shares, NULL) == RS_OK && !shares ? rs_skeletons_word(given) : NULL;
}

/* ---- all ranks ----------------------------------------------------------------------------------------- */

static edge_row row_of_edge(const rs_engine *e, const rs_inferred *i)
{
    const rs_skeleton *s = e->ranks[i->rank];
    uint32_t source = i->source - e->node_base[i->rank], target = i->target - e->node_base[i->rank];
    return (edge_row){.origin = i->lead != RS_NO_LEAD ? "occupied"
                                : i->n_tight          ? "repeated"
                                                      : "calls",
                      .source = rs_pool_text(&s->pool, rs_skeleton_at(s, source)->name),
                      .target = rs_pool_text(&s->pool, rs_skeleton_at(s, target)->name),
                      .source_stream = s->lanes[rs_skeleton_at(s, source)->lane].stream,
                      .target_stream = s->lanes[rs_skeleton_at(s, target)->lane].stream,
                      .source_row = rs_skeleton_row(s, source),
                      .target_row = rs_skeleton_row(s, target),
                      .tight = i->n_tight,
                      .instances = i->n};
}

/* The chain of causes behind the end of a rank's trace. What happened on other ranks before this one began is
 * no part of it. */
static rs_status put_path(const rs_replayed *r, size_t k, int64_t rank, rs_table *t, rs_error *err)
{
    const rs_engine *e = r->engine;
    const rs_skeleton *s = e->ranks[k];
    int64_t time[RS_N_PARTS] = {0}, start = rs_add_sat(s->start, e->coll.shift[k]);
    uint32_t moment = rs_engine_last_moment(e, k);
    time[RS_PART_HOST] = rs_sub_sat(rs_add_sat(s->end, e->coll.shift[k]), rs_moment_time(&r->times, moment));
    while (rs_moment_time(&r->times, moment) > start) {
        rs_link l = rs_engine_link(e, &r->recorded, &r->times, moment);
        int64_t within = rs_sub_sat(rs_moment_time(&r->times, moment), start);
        int64_t ns = l.from == RS_NO_CAUSE || l.ns > within ? within : l.ns;
        time[l.part] = rs_add_sat(time[l.part], ns);
        if (l.from == RS_NO_CAUSE) break;
        moment = l.from;
    }
    for (size_t i = 0; i < RS_N_PARTS; i++) {
        path_row row = {.part = rs_part_names[i], .time = time[i], .whole = rs_sub_sat(s->end, s->start)};
        if (time[i]) RS_TRY(rs_table_put_row(t, &path_record, rank, &row, err));
    }
    return RS_OK;
}

static rs_status put_rows(const rs_replayed *r, const int64_t *rank_of, rs_result *result, rs_error *err)
{
    const rs_engine *e = r->engine;
    for (size_t k = 0; k < e->n_ranks; k++)
        for (size_t i = r->row_base[k]; i < r->row_base[k + 1]; i++)
            RS_TRY(rs_table_put_row(result->tables[REPLAY], &replay_record, rank_of[k], &r->rows[i], err));
    for (size_t k = 0; k < e->n_ranks; k++) RS_TRY(put_path(r, k, rank_of[k], result->tables[PATH], err));
    for (size_t i = 0; i < e->n_inferred; i++) {
        edge_row row = row_of_edge(e, &e->inferred[i]);
        RS_TRY(
            rs_table_put_row(result->tables[EDGES], &edge_record, rank_of[e->inferred[i].rank], &row, err));
    }
    return RS_OK;
}

static void explain(const rs_replayed *r, rs_result *result)
{
    const rs_engine *e = r->engine;
    size_t n = 0, without = 0;
    for (size_t i = 0; i < r->n_rows; i++) n += !r->rows[i].trusted;
    for (size_t k = 0; k < e->n_ranks; k++) without += !e->ranks[k]->n_steps;
    if (n) rs_result_note(result, "%zu rows cannot be relied on: see the column reason", n);
    if (without)
        rs_result_note(result,
                       "%zu ranks have no steps (ProfilerStep): each is one row, and nothing is inferred "
                       "from repetition",
                       without);
    if (e->n_alone)
        rs_result_note(result,
                       "%zu kernels of communication have partners that are not in the traces: how long they "
                       "waited keeps its recorded time",
                       e->n_alone);
    if (e->n_dropped)
        rs_result_note(result,
                       "%zu collectives close a circle over ranks and are left out: clocks or matches "
                       "are wrong there",
                       e->n_dropped);
    if (rs_coll_on_host(&e->coll)) rs_coll_note_host(&e->coll, result);
    rs_coll_note_trust(&e->trust, result);
}

/* Whether the first question has an answer: what is refused has no trust. */
static bool was_answered(const rs_table *what_if)
{
    const rs_table_spec *spec = rs_table_get_spec(what_if);
    for (size_t i = 0; rs_table_n_rows(what_if) && i < spec->n_columns; i++)
        if (strcmp(spec->columns[i].name, "trusted") == 0) return !rs_table_is_null(what_if, 0, i);
    return false;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_engine engine = {0};
    rs_replayed replayed = {0};
    rs_skeletons ranks;
    bool told = strcmp(rs_options_text(run->options, "edges"), "all") != 0;
    rs_engine_how how = {rs_clock_how_of(rs_options_text(run->options, "clocks")), .infer = !told,
                         .lean = !rs_replay_asks(run->options)};
    rs_status status = rs_skeletons_take(partials, n, &ranks, err);
    if (status == RS_OK) status = rs_engine_join(ranks.items, ranks.n, &how, &engine, err);
    if (status == RS_OK)
        status = rs_replay_measure(&engine, told ? RS_EDGES_TOLD : RS_EDGES_ALL, true, &replayed, err);
    if (status == RS_OK) status = put_rows(&replayed, ranks.rank_of, result, err);
    if (status == RS_OK) status = rs_replay_ask(run, &replayed, ranks.rank_of, result->tables[WHAT_IF], err);
    if (status == RS_OK && rs_options_flag(run->options, "map") && was_answered(result->tables[WHAT_IF]))
        status = rs_replay_put_map(run, &replayed, ranks.rank_of, result->tables[MAP], err);
    if (status == RS_OK && rs_table_n_rows(result->tables[WHAT_IF])) result->main_table = WHAT_IF;
    if (status == RS_OK) explain(&replayed, result);
    rs_replayed_clear(&replayed);
    rs_engine_clear(&engine);
    rs_skeletons_clear(&ranks);
    return status;
}

const rs_analysis rs_analysis_replay = {
    .name = "replay",
    .group = "Across ranks",
    .help = "The recording run again through its event graph, and how far off that is",
    .about =
        "Every host point and every piece of GPU work waits for what came before it on its thread or stream, "
        "for its "
        "launch, for what it synchronizes with, and in collectives for the other ranks. Of these causes one "
        "held it up. Replayed with the recorded gaps the graph gives the recording to the nanosecond; that is "
        "checked in each run, and says nothing about the model.\n\n"
        "What does: model_error_pct replays with nothing but what is typical of each kind of latency; "
        "held_out_error_pct learns that without the step; unexplained_us counts gaps on the step's path that "
        "no "
        "known cause explains. Where more than 5 % is unexplained, or a model error is over 3 %, a what-if "
        "would mislead (trusted is 0).\n\n"
        "Waits that the trace does not record (inner edges of CUDA graphs, ROCm) are inferred where the same "
        "place of the program waits in step after step, and never starts too early (table edges).",
    .examples = "rankscope replay traces/\nrankscope replay --edges recorded --format csv traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work_details, &rs_facet_steps},
    .columns = RS_SKELETON_COLUMNS,
    .table_sets = sets,
    .n_table_sets = 1,
    .judged = RS_JUDGED,
    .judged_when = asks_nothing,
    .more_columns = more_columns,
    .follows = RS_FOLLOWS_RANKS,
    .follows_not = "the graph is of whole traces; its rows list the steps separately",
    .rank = rank,
    .merge = merge,
    .free_partial = rs_skeleton_free,
    .absent = "no events, or more than --most-events",
    .partial_layout = &rs_skeleton_layout,
    .partial_is = partial_is,
};
