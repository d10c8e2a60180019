/* stragglers: which rank arrives late at collectives, and what that costs. Columns over the matched
 * collectives of match/. */
#include <string.h>

#include "analysis/analysis.h"
#include "base/stats.h"
#include "analysis/collective_notes.h"
#include "base/interval.h"
#include "clock/collective_clocks.h"
#include "match/collective_wait.h"
#include "table/cells.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "rank|collective|clock", "rank",
     "rank: sums of each rank; collective: every one of them; clock: how far the ranks' clocks are apart"},
    RS_CLOCKS_OPTION,
    RS_COLL_FLIGHT_OPTION,
    {"candidates", RS_OPTION_INT, "N", NULL, "2",
     "only under --compat hta: its num_candidates, how many of a step count as late"},
    {"in-steps", RS_OPTION_RANGES, "STEPS", NULL, NULL, "only under --compat hta: its profiler_steps"},
};

typedef struct spans {
    rs_interval *items; /* owned */
    size_t n, capacity;
} spans;

typedef struct sums {
    int64_t last, cost;
    rs_moments late, waited;
    int64_t uncertain;
    spans alone,
        waits; /* the others had come to a collective and this rank had not; it had come and others not */
    int64_t held_up, waiting; /* what these cover */
} sums;

#define RANK_ROW(CELL)                                                                                               \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                        \
    CELL(OF(sums, late.n), "collectives", INT, COUNT, "collectives matched with other ranks", NULL)                  \
    CELL(OF(sums, last), "times_last", INT, COUNT, "of these, the rank arrived last", "last")                        \
    CELL(SET, "last_pct", REAL, PERCENT, "share of its collectives at which it was last", "last %")                  \
    CELL(OF(sums, late.sum), "late_us", TIME, US, "sum of how long after the first member it arrived",               \
         "late")                                                                                                     \
    CELL(MEAN(sums, late), "mean_late_us", REAL, US, "mean of it", "mean late")                                      \
    CELL(OF(sums, late.max), "max_late_us", TIME, US, "most of it", "max late")                                      \
    CELL(OF(sums, cost), "cost_us", TIME, US,                                                                        \
         "sum over collectives it was last at: how long after the last but one; what would be saved if it "          \
         "were "                                                                                                     \
         "not last",                                                                                                 \
         "cost")                                                                                                     \
    CELL(OF(sums, waited.sum), "waited_us", TIME, US, "sum of how long it waited for the last member",               \
         "waited")                                                                                                   \
    CELL(MEAN(sums, waited), "mean_waited_us", REAL, US, "mean of it", "mean waited")                                \
    CELL(SET, "clock_offset_us", TIME, US,                                                                           \
         "how far its clock is ahead of the reference; taken out of the numbers", "clock ahead")                     \
    CELL(OF(sums, uncertain), "uncertain", INT, COUNT,                                                               \
         "collectives at which first and last are nearer than the clocks are sure; with --clocks "                   \
         "likely|certain they are left out of the rest",                                                             \
         NULL)                                                                                                       \
    CELL(                                                                                                            \
        OF(sums, held_up), "held_up_us", TIME, US,                                                                   \
        "how long it alone was waited for: as cost_us, with what collectives in flight at one time have in "         \
        "common counted once",                                                                                       \
        "delayed")                                                                                                   \
    CELL(                                                                                                            \
        OF(sums, waiting), "waiting_us", TIME, US,                                                                   \
        "how long it waited: as waited_us, with what collectives in flight at one time have in common counted once", \
        "waiting")
RS_RECORD(rank, RANK_ROW);

static const rs_column_spec collective_columns[] = {
    RS_COLUMN("group", TEXT, NONE, "process group", NULL),
    RS_COLUMN("group_desc", TEXT, NONE, "its description", "description"),
    RS_COLUMN("op", TEXT, NONE, "operation", NULL),
    RS_COLUMN("seq", INT, ID, "its number in the group; unknown: matched by order", NULL),
    RS_COLUMN("step", INT, ID, "training step of the first member", NULL),
    RS_COLUMN("ranks", INT, COUNT, "members matched", NULL),
    RS_COLUMN("start_us", TIME, US, "first arrival", "start"),
    RS_COLUMN("first_rank", INT, ID, "who came first", "first"),
    RS_COLUMN("last_rank", INT, ID, "who came last", "last"),
    RS_COLUMN("late_us", TIME, US, "last arrival after the first", "late"),
    RS_COLUMN("cost_us", TIME, US, "last arrival after the last but one", "cost"),
    RS_COLUMN("waited_us", TIME, US, "sum over members of the time until the last came", "waited"),
    RS_COLUMN("transfer_us", TIME, US,
              "from the last arrival to the first end after it: no rank waits any more", "transfer"),
    RS_COLUMN(
        "clock_us", TIME, US,
        "by what the clocks of the first and the last rank may be off against each other (command clocks); "
        "unknown: there is no bound, or with --clocks file none was looked for",
        "clocks within"),
    RS_COLUMN(
        "uncertain", INT, NONE,
        "1: late_us is less than the clocks are sure; with --clocks likely|certain who was first, last and late "
        "is unknown then",
        NULL),
};
static const rs_column_spec clock_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank", NULL),
    RS_COLUMN("reference_rank", INT, ID, "whose clock it is compared with", "reference"),
    RS_COLUMN("offset_us", TIME, US, "how far it is ahead", "ahead"),
    RS_COLUMN("spread_us", TIME, US, "median distance of its ends from the others' after correction",
              "spread"),
    RS_COLUMN("collectives", INT, COUNT, "collectives that show it; 0: nothing to compare with", NULL),
};
static const rs_table_spec rank_table = RS_TABLE("stragglers", "one row is one rank", rank_columns);
static const rs_table_spec collective_table =
    RS_TABLE("collectives", "one row is one collective, by its first arrival", collective_columns);
static const rs_table_spec clock_table = RS_TABLE("clocks", "one row is one rank's clock", clock_columns);
static const rs_table_spec *const tables[] = {&rank_table, &collective_table, &clock_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 3}};
enum { RANKS, COLLECTIVES, CLOCKS };

/* ---- one rank --------------------------------------------------------------------------------------- */

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_coll_rank *r;
    rs_status status = rs_coll_rank_any(trace, run->policy, &r, err);
    if (status == RS_OK) *partial = r;
    return status;
}

/* ---- all ranks -------------------------------------------------------------------------------------- */

static bool add_span(spans *s, int64_t start, int64_t end)
{
    if (start >= end) return true;
    return RS_APPEND(s, (rs_interval){start, end});
}

static bool add_up(const rs_coll_job *job, const rs_coll_instance *c, const rs_coll_wait *w, bool uncertain,
                   bool strict, sums *of_rank)
{
    for (uint32_t i = c->first; uncertain && i < c->first + c->n; i++)
        of_rank[job->arrivals[i].rank].uncertain++;
    if (uncertain && strict) return true;
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        const rs_coll_arrival *a = &job->arrivals[i];
        sums *s = &of_rank[a->rank];
        rs_moments_add(&s->late, rs_sub_sat(rs_coll_start(job, a), w->first));
        rs_moments_add(&s->waited, rs_sub_sat(w->last, rs_coll_start(job, a)));
        if (!add_span(&s->waits, rs_coll_start(job, a), w->last)) return false;
        if (i != w->last_at) continue;
        s->last++;
        s->cost = rs_add_sat(s->cost, w->cost);
        if (!add_span(&s->alone, rs_sub_sat(w->last, w->cost), w->last)) return false;
    }
    return true;
}

/* Several collectives may be in flight, and one delay is a cost to each of them. */
static bool unite(spans *s, int64_t *length)
{
    if (!rs_intervals_sort(s->items, s->n)) return false;
    s->n = rs_intervals_unite(s->items, s->n);
    *length = rs_intervals_length(s->items, s->n);
    return true;
}

static rs_status add_rank(rs_table *t, int64_t rank, const sums *s, const rs_coll_clock *clock, rs_error *err)
{
    rs_table_put(t, &rank_record, rank, s);
    rs_table_set_real(t, "last_pct", rs_percent(s->last, (int64_t)s->late.n));
    rs_table_set_time(t, "clock_offset_us", clock->offset);
    return rs_table_end_row(t, err);
}

typedef struct answer {
    rs_coll_ranks ranks;
    sums *sums;
    size_t n_compared;
    int64_t origin; /* the first event of all ranks, clocks corrected */
    rs_clock_trust trust;
    bool strict;               /* numbers that the clocks do not bear are unknown */
    int64_t waited, uncertain; /* waiting of all ranks; of it, in collectives that are uncertain */
} answer;

/* Between the first and the last to come: by what their clocks may be off. */
static int64_t clocks_between(const rs_coll_job *job, const answer *a, const rs_coll_wait *w)
{
    return rs_clock_trust_between(&a->trust, job->arrivals[w->first_at].rank, job->arrivals[w->last_at].rank);
}

static bool is_uncertain(const rs_coll_job *job, const answer *a, const rs_coll_wait *w)
{
    return w->first_at != w->last_at && rs_sub_sat(w->last, w->first) < clocks_between(job, a, w);
}

static rs_status add_collective(const rs_coll_job *job, const answer *a, const rs_coll_instance *c,
                                const rs_coll_wait *w, rs_table *t, rs_error *err)
{
    int64_t clocks = clocks_between(job, a, w);
    bool uncertain = is_uncertain(job, a, w), shown = !uncertain || !a->strict;
    const rs_coll_arrival *first = &job->arrivals[c->first];
    const rs_coll_rank *r = job->ranks[first->rank];
    const rs_coll_shape *op = rs_coll_shape_at(job, first);
    const char *group = rs_pool_text(&r->pool, op->group), *name = rs_pool_text(&r->pool, op->name);
    return RS_PUT_ROW(t, err, group && *group ? group : rs_pool_text(&r->pool, op->members),
                      rs_pool_text(&r->pool, op->description), name ? name : rs_coll_kind_name(op->kind),
                      c->by_seq ? c->number : RS_NO_VALUE,
                      rs_coll_op_at(job, first)->step >= 0 ? rs_coll_op_at(job, first)->step : RS_NO_VALUE,
                      c->n, rs_sub_sat(w->first, a->origin),
                      shown ? a->ranks.of[job->arrivals[w->first_at].rank]->rank : RS_NO_VALUE,
                      shown ? a->ranks.of[job->arrivals[w->last_at].rank]->rank : RS_NO_VALUE,
                      shown ? rs_sub_sat(w->last, w->first) : RS_NO_VALUE, shown ? w->cost : RS_NO_VALUE,
                      shown ? w->sum_wait : RS_NO_VALUE, w->transfer,
                      a->trust.of && w->first_at != w->last_at && clocks < INT64_MAX ? clocks : RS_NO_VALUE,
                      uncertain);
}

static rs_status add_clock(const answer *a, size_t i, const rs_coll_clock *c, rs_table *t, rs_error *err)
{
    return RS_PUT_ROW(t, err, a->ranks.of[i]->rank, a->ranks.of[c->reference]->rank, c->offset, c->residual,
                      c->n);
}

static void explain(const rs_coll_job *job, const answer *a, bool align, rs_result *result)
{
    size_t n_ops = 0, p2p = 0, alone = 0, mixed = 0, outside = 0;
    for (size_t i = 0; i < a->ranks.n; i++) n_ops += a->ranks.ranks[i]->n;
    for (size_t i = 0; i < job->n; i++) {
        const rs_coll_instance *c = &job->instances[i];
        const rs_coll_shape *op = rs_coll_shape_at(job, &job->arrivals[c->first]);
        if (op->kind == RS_COLL_SEND_RECV)
            p2p += c->n;
        else if (c->n < 2)
            alone++;
        else if (c->mixed)
            mixed++;
        else
            outside += op->group_size > c->n;
    }
    if (a->ranks.n < 2)
        rs_result_note(result, "one rank: no rank can be late for another; give the traces of all ranks");
    if (a->ranks.n >= 2 && n_ops == 0) rs_result_note(result, "no collectives in these traces");
    if (p2p) rs_result_note(result, "%zu sends and receives are left out", p2p);
    if (a->ranks.n >= 2 && alone)
        rs_result_note(result, "%zu collectives are left out: only one rank recorded them", alone);
    if (mixed)
        rs_result_note(result,
                       "%zu collectives are left out: ranks recorded different operations in their place",
                       mixed);
    if (outside)
        rs_result_note(result,
                       "%zu collectives have members that the traces do not show: late and last are among "
                       "those that they do",
                       outside);
    rs_coll_note_host(job, result);
    size_t parts = rs_coll_n_parts(job);
    if (align && a->n_compared && parts > 1 && !rs_coll_on_host(job))
        rs_result_note(
            result, "the ranks fall into %zu parts that share no collective: clocks are compared within each",
            parts);
}

static rs_status fill(const rs_coll_job *job, answer *a, rs_result *result, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < job->n; i++) {
        const rs_coll_instance *c = &job->instances[i];
        if (!rs_coll_compares(job, c)) continue;
        rs_coll_wait w = rs_coll_measure(job, c);
        bool uncertain = is_uncertain(job, a, &w);
        a->waited = rs_add_sat(a->waited, w.sum_wait);
        if (uncertain) a->uncertain = rs_add_sat(a->uncertain, w.sum_wait);
        if (!add_up(job, c, &w, uncertain, a->strict, a->sums)) return rs_fail_nomem(err, "collectives");
        a->n_compared++;
        status = add_collective(job, a, c, &w, result->tables[COLLECTIVES], err);
    }
    for (size_t i = 0; status == RS_OK && i < a->ranks.n; i++)
        if (!unite(&a->sums[i].alone, &a->sums[i].held_up) || !unite(&a->sums[i].waits, &a->sums[i].waiting))
            status = rs_fail_nomem(err, "collectives");
    bool refused = a->strict && a->uncertain > a->waited / 2;
    for (size_t i = 0; status == RS_OK && a->n_compared && i < a->ranks.n; i++) {
        if (!refused)
            status = add_rank(result->tables[RANKS], a->ranks.of[i]->rank, &a->sums[i], &job->clocks[i], err);
        if (status == RS_OK) status = add_clock(a, i, &job->clocks[i], result->tables[CLOCKS], err);
    }
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    const char *by = rs_options_text(run->options, "by");
    rs_clock_how how = rs_clock_how_of(rs_options_text(run->options, "clocks"));
    result->main_table = strcmp(by, "collective") == 0 ? COLLECTIVES
                         : strcmp(by, "clock") == 0    ? CLOCKS
                                                       : RANKS;
    answer a = {.strict = how == RS_CLOCKS_LIKELY || how == RS_CLOCKS_CERTAIN};
    rs_coll_job job = {0};
    a.sums = rs_calloc(n + 1, sizeof *a.sums);
    rs_status status = a.sums ? RS_OK : rs_fail_nomem(err, "collectives");
    if (status == RS_OK) status = rs_coll_ranks_of(run, partials, n, &a.ranks, result, err);
    if (status == RS_OK) status = rs_clock_match_by(a.ranks.ranks, a.ranks.n, how, &job, &a.trust, err);
    if (status == RS_OK) {
        a.origin = run->absolute ? 0 : rs_coll_origin(&job);
        status = fill(&job, &a, result, err);
    }
    if (status == RS_OK) explain(&job, &a, how != RS_CLOCKS_FILE, result);
    if (status == RS_OK) rs_coll_note_trust(&a.trust, result);
    if (status == RS_OK) rs_coll_note_uncertain(a.uncertain, a.waited, a.strict, result);
    rs_coll_job_clear(&job);
    rs_clock_trust_clear(&a.trust);
    rs_coll_ranks_clear(&a.ranks);
    for (size_t i = 0; i < n && a.sums; i++) {
        rs_free_all(a.sums[i].alone.items, a.sums[i].waits.items);
    }
    rs_free(a.sums);
    return status;
}

const rs_analysis rs_analysis_stragglers = {
    .name = "stragglers",
    .group = "GPU time",
    .help = "Which rank arrives last at collectives, how late, and what it costs the others",
    .about =
        "A rank arrives at a collective when its kernel starts; the kernel then runs until all members have "
        "come and the data is through. Kernels of different ranks are matched, and clocks corrected, as by "
        "the command collectives: both give the same matches, clocks and waits. A rank waits from its "
        "arrival until the last member arrived. Sends and receives are left out: they wait by design.\n\n"
        "A job without GPU work communicates on the host: there the spans gloo:*, mpi:*, ucc:* count, and a "
        "rank arrives where the operator that submitted one starts.\n\n"
        "--clocks file leaves the times as they are.",
    .examples = "rankscope stragglers traces/\nrankscope stragglers --by collective --format csv traces/\n"
                "rankscope stragglers --steps 3-5 --by clock traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .columns = RS_COLL_HOST_COLUMNS,
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .judged = RS_JUDGED,
    .follows = RS_FOLLOWS_ALL,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_coll_rank_free,
    .partial_layout = &rs_coll_rank_layout,
};
