/* compile: what torch.compile did on each rank, and what differs between ranks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/plan.h"
#include "base/order.h"
#include "base/memory.h"
#include "base/try.h"
#include "compile/compile_log.h"
#include "table/cells.h"

typedef struct compiled {
    int64_t frame, compile, attempt, graphs, breaks, recompiles, time, collectives;
    uint32_t name, reason, failed;
} compiled;

#define COMPILE_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(ID(compiled, frame), "frame", INT, ID,                                                              \
         "the compiled function's number; unknown for what the log ties to none", NULL)                      \
    CELL(ID(compiled, compile), "compile", INT, ID, "which compilation of the frame, from 0", NULL)          \
    CELL(TEXT_ID(compiled, name), "name", TEXT, NONE, "the function", NULL)                                  \
    CELL(OF(compiled, time), "compile_us", TIME, US, "time that it took", "compile time")                    \
    CELL(OF(compiled, graphs), "graphs", INT, COUNT, "graphs that Dynamo captured", NULL)                    \
    CELL(OF(compiled, breaks), "breaks", INT, COUNT, "graph breaks", NULL)                                   \
    CELL(OF(compiled, recompiles), "recompiles", INT, COUNT, "1: it had been compiled before", NULL)         \
    CELL(OF(compiled, collectives), "collectives", INT, COUNT, "collectives in its compiled graphs", NULL)   \
    CELL(ID(compiled, attempt), "attempt", INT, ID, "the last attempt at it; each graph break starts one",   \
         NULL)                                                                                               \
    CELL(TEXT_ID(compiled, failed), "failed", TEXT, NONE, "what it failed with", NULL)                       \
    CELL(TEXT_ID(compiled, reason), "reason", TEXT, NONE,                                                    \
         "the first guard that failed, for a recompilation; or why the graph broke", NULL)
RS_RECORD(compile, COMPILE_ROW);

static const char *const graph_words[RS_N_COMPILED_GRAPHS] = {"none", "forward", "backward", "inference"};

typedef struct scheduled {
    int64_t place, frame, compile;
    uint32_t collective;
    uint32_t graph;
} scheduled;

#define SCHEDULE_ROW(CELL)                                                                                   \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(OF(scheduled, place), "place", INT, ID, "place in the rank's log, from 0", NULL)                    \
    CELL(ID(scheduled, frame), "frame", INT, ID, "the compiled function's number", NULL)                     \
    CELL(ID(scheduled, compile), "compile", INT, ID, "which compilation of the frame", NULL)                 \
    CELL(WORD(scheduled, graph, graph_words), "graph", TEXT, NONE, "forward, backward or inference", NULL)   \
    CELL(TEXT_ID(scheduled, collective), "collective", TEXT, NONE, "what the graph calls", NULL)
RS_RECORD(schedule, SCHEDULE_ROW);

static const rs_column_spec finding_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank of the job", NULL),
    RS_COLUMN("kind", TEXT, NONE, "failure, compilations or schedule", NULL),
    RS_COLUMN("name", TEXT, NONE, "the function or collective", NULL),
    RS_COLUMN("finding", TEXT, NONE, "what the rank did that the others did not", NULL)};

enum { COMPILES, SCHEDULE };

/* ---- one rank ------------------------------------------------------------------------------------------ */

static rs_status list_compilations(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    (void)run;
    (void)err;
    const rs_compile_log *log = rs_compile_log_of(trace);
    if (!log) {
        out->absent = true;
        return RS_OK;
    }
#define TEXT(id) ((id) == RS_NO_STRING ? RS_NO_STRING : rs_put_string(out, log->strings.items[id].text))
    for (size_t i = 0; i < log->n_compilations; i++) {
        const rs_compilation *c = &log->compilations[i];
        rs_put(out, COMPILES,
               &(compiled){.frame = c->frame,
                           .compile = c->compile,
                           .attempt = c->attempt,
                           .graphs = c->graphs,
                           .breaks = c->breaks,
                           .recompiles = c->compile > 0,
                           .time = c->time,
                           .collectives = c->collectives,
                           .name = TEXT(c->name),
                           .reason = TEXT(c->reason),
                           .failed = TEXT(c->failed)});
    }
    for (size_t i = 0; i < log->n_collectives; i++) {
        const rs_compiled_collective *c = &log->collectives[i];
        const rs_compilation *of = &log->compilations[c->compilation];
        rs_put(out, SCHEDULE,
               &(scheduled){.place = (int64_t)i,
                            .frame = of->frame,
                            .compile = of->compile,
                            .graph = c->graph,
                            .collective = TEXT(c->name)});
    }
#undef TEXT
    return RS_OK;
}

/* ---- all ranks ----------------------------------------------------------------------------------------- */

typedef struct comparison {
    const rs_partial *partials;
    size_t n;
    rs_table *table;
    rs_result *result;
    rs_error *err;
} comparison;

static const rs_relations *rank_at(const comparison *c, size_t i)
{
    return c->partials[i].value;
}

static rs_status say(const comparison *c, size_t i, const char *kind, const char *name, const char *sentence)
{
    RS_PUT_CELLS(c->table, c->partials[i].rank, kind, name, sentence);
    return rs_table_end_row(c->table, c->err);
}

static rs_status say_failures(const comparison *c, size_t i)
{
    const rs_relations *r = rank_at(c, i);
    char sentence[700];
    for (size_t k = 0; k < r->items[COMPILES].n; k++) {
        const compiled *row = &RS_ROWS(compiled, r, COMPILES)[k];
        const char *failed = rs_relations_text(r, row->failed), *name = rs_relations_text(r, row->name);
        if (!failed) continue;
        snprintf(sentence, sizeof sentence, "a compilation of rank %" PRId64 " failed: %s",
                 c->partials[i].rank, failed);
        RS_TRY(say(c, i, "failure", name, sentence));
    }
    return RS_OK;
}

/* A compilation, for the comparison of ranks. */
typedef struct member {
    uint32_t name, partial, row; /* name: id of a text that all ranks share */
} member;

static const rs_order by_name[] = {RS_RISING(member, name), RS_RISING(member, partial),
                                   RS_RISING(member, row)};

static const rs_order by_count[] = {RS_RISING_VALUE(uint32_t)};

/* What most ranks have; of equally many the least. counts: of the n that have any, sorted. */
static uint32_t commonest(const uint32_t *counts, size_t n, size_t n_ranks)
{
    uint32_t best = 0;
    size_t ranks_of_best = n_ranks - n;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && counts[end] == counts[i]; end++) {
        }
        if (end - i <= ranks_of_best) continue;
        best = counts[i];
        ranks_of_best = end - i;
    }
    return best;
}

/* The compilations of a function by one rank, which are no more than usual or explain themselves by the last one's reason. */
static rs_status say_times(const comparison *c, size_t i, const char *name, size_t times, size_t usual,
                           const char *reason)
{
    char sentence[1000];
    snprintf(sentence, sizeof sentence, "rank %" PRId64 " compiled %s %zu time%s, the other ranks %zu%s%s",
             c->partials[i].rank, name, times, times == 1 ? "" : "s", usual,
             reason ? "; the last time: " : "", reason ? reason : "");
    return say(c, i, "compilations", name, sentence);
}

/* Compilations of one function. counts: room for one of each rank. */
static rs_status compare_function(const comparison *c, const char *name, const member *members, size_t n,
                                  uint32_t *counts)
{
    size_t n_having = 0, next = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || members[i].partial != members[i - 1].partial) counts[n_having++] = 0;
        counts[n_having - 1]++;
    }
    RS_SORT(counts, n_having, by_count);
    uint32_t usual = commonest(counts, n_having, c->n);
    for (size_t i = 0; i < c->n && (usual || next < n); i++) {
        size_t from = next;
        while (next < n && members[next].partial == i) next++;
        if (next - from == usual) continue;
        const rs_relations *r = rank_at(c, i);
        const compiled *last = next > from ? &RS_ROWS(compiled, r, COMPILES)[members[next - 1].row] : NULL;
        bool explains = last && last->recompiles && next - from > usual;
        RS_TRY(
            say_times(c, i, name, next - from, usual, explains ? rs_relations_text(r, last->reason) : NULL));
    }
    return RS_OK;
}

static bool list_members(const comparison *c, rs_strings *names, member **out, size_t *n)
{
    size_t capacity = 0;
    for (size_t i = 0; i < c->n; i++) {
        const rs_relations *r = rank_at(c, i);
        for (size_t k = 0; k < r->items[COMPILES].n; k++) {
            const char *name = rs_relations_text(r, RS_ROWS(compiled, r, COMPILES)[k].name);
            if (!name) continue;
            uint32_t id = rs_strings_add(names, name, strlen(name));
            if (id == RS_NO_STRING || !RS_GROW_ONE(*out, *n, capacity)) return false;
            (*out)[(*n)++] = (member){id, (uint32_t)i, (uint32_t)k};
        }
    }
    RS_SORT(*out, *n, by_name);
    return true;
}

static rs_status compare_functions(const comparison *c)
{
    rs_strings names = {0};
    member *members = NULL;
    size_t n = 0;
    uint32_t *counts = rs_malloc((c->n + 1) * sizeof *counts);
    bool ok = counts && list_members(c, &names, &members, &n);
    rs_status status = ok ? RS_OK : rs_fail_nomem(c->err, "compilations");
    for (size_t i = 0, end; status == RS_OK && i < n; i = end) {
        for (end = i + 1; end < n && members[end].name == members[i].name; end++) {
        }
        status = compare_function(c, names.items[members[i].name].text, members + i, end - i, counts);
    }
    rs_free_all(counts, members);
    rs_strings_clear(&names);
    return status;
}

static const char *collective_at(const rs_relations *r, size_t place)
{
    if (place >= r->items[SCHEDULE].n) return NULL;
    return rs_relations_text(r, RS_ROWS(scheduled, r, SCHEDULE)[place].collective);
}

/* The first collective in which a rank's schedule is another than that of the job's first rank. */
static rs_status compare_schedule(const comparison *c, size_t i)
{
    const rs_relations *r = rank_at(c, i), *other = rank_at(c, 0);
    char sentence[700];
    size_t n =
        r->items[SCHEDULE].n > other->items[SCHEDULE].n ? r->items[SCHEDULE].n : other->items[SCHEDULE].n;
    for (size_t place = 0; place < n; place++) {
        const char *mine = collective_at(r, place), *its = collective_at(other, place);
        if (mine && its && strcmp(mine, its) == 0) continue;
        snprintf(sentence, sizeof sentence,
                 "collective %zu of the compiled graphs is %s on rank %" PRId64 " and %s on rank %" PRId64
                 ": ranks of one group would hang there",
                 place, mine ? mine : "none", c->partials[i].rank, its ? its : "none", c->partials[0].rank);
        return say(c, i, "schedule", mine, sentence);
    }
    return RS_OK;
}

static rs_status compare_ranks(const rs_run *run, const rs_partial *partials, size_t n, rs_result *result,
                               rs_error *err)
{
    (void)run;
    comparison c = {partials, n, result->tables[2], result, err};
    for (size_t i = 0; i < n; i++) RS_TRY(say_failures(&c, i));
    RS_TRY(compare_functions(&c));
    for (size_t i = 1; i < n; i++) RS_TRY(compare_schedule(&c, i));
    return RS_OK;
}

/* ---- the row ------------------------------------------------------------------------------------------- */

static const rs_plan_relation relations[] = {
    [COMPILES] = {RS_LISTED_AS(COMPILES, compiled, compile), .make = list_compilations},
    [SCHEDULE] = {RS_LISTED_AS(SCHEDULE, scheduled, schedule)},
};
static const rs_plan_table compile_table = {
    RS_PLAN_TABLE("compile", "one row is one compilation of a rank", compile), .relation = COMPILES};
static const rs_plan_table schedule_table = {
    RS_PLAN_TABLE("schedule",
                  "one row is one collective of a rank's compiled graphs, in the order of the log", schedule),
    .relation = SCHEDULE};
static const rs_plan_table finding_table = {
    .spec = RS_TABLE("findings", "one row is a failure, or something in which a rank differs from the others",
                     finding_columns),
    .relation = RS_OF_MORE};
static const rs_table_spec *const tables[] = {&compile_table.spec, &schedule_table.spec, &finding_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .more = compare_ranks};

const rs_analysis rs_analysis_compile = {
    .name = "compile",
    .help =
        "What torch.compile did on each rank: graphs, breaks, recompilations, time, and where ranks differ",
    .about =
        "Reads what torch.compile logs with TORCH_TRACE=FOLDER, a file a rank (dedicated_log_torch_trace_rank_N_*.log), or the "
        "raw.jsonl that tlparse makes of one. A folder holds the ranks.\n\n"
        "A compilation is one of a frame: a function, or what is left of one after a graph break. A recompilation is one of a "
        "frame that had been compiled; its reason is the first guard that failed. The time is that of compilation_metrics.\n\n"
        "The schedule lists the collectives that the compiled graphs call, forward, backward and inference, in the order in "
        "which the log has them. raw.jsonl holds no graphs, so its schedule is empty.\n\n"
        "Findings are compilations that failed, functions that a rank compiled more or less often than most ranks, and the "
        "first collective in which a rank's schedule is another than that of the first rank. Ranks that run other parts of a "
        "model (pipeline stages) may differ rightly.",
    .examples = "TORCH_TRACE=logs torchrun ... && rankscope compile logs/\n"
                "rankscope compile --table schedule --format csv logs/",
    .plan = &plan,
    .takes = RS_TAKES(COMPILATIONS),
    .spares = RS_USUAL_COLUMNS,
    .follows = RS_FOLLOWS_RANKS,
    .follows_not = "a compile log has no steps and no events",
    .absent = "no compile log",
};
