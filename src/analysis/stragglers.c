/* stragglers: which rank arrives late at collectives, and what that costs. */
#include "analysis/stragglers.h"

#include <math.h>
#include <string.h>

#include "analysis/busy.h"
#include "peer/stragglers_hta.h"
#include "analysis/layouts.h"
#include "base/interval.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "rank|collective|clock", "rank",
     "rank: sums of each rank; collective: every one of them; clock: how far the ranks' clocks are apart"},
    {"clocks", RS_OPTION_CHOICE, "HOW", "align|trust", "align",
     "align: take out of the clocks what the common ends of collectives show; trust: use them as they are"},
    {"candidates", RS_OPTION_INT, "N", NULL, "2",
     "only under --compat hta: its num_candidates, how many of a step count as late"},
    {"in-steps", RS_OPTION_RANGES, "STEPS", NULL, NULL, "only under --compat hta: its profiler_steps"},
};

static const rs_column_spec rank_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank", NULL),
    RS_COLUMN("collectives", INT, COUNT, "collectives matched with other ranks", NULL),
    RS_COLUMN("times_last", INT, COUNT, "of these, the rank arrived last", "last"),
    RS_COLUMN("last_pct", REAL, PERCENT, "share of its collectives at which it was last", "last %"),
    RS_COLUMN("late_us", TIME, US, "sum of how long after the first member it arrived", "late"),
    RS_COLUMN("mean_late_us", REAL, US, "mean of it", "mean late"),
    RS_COLUMN("max_late_us", TIME, US, "most of it", "max late"),
    RS_COLUMN(
        "cost_us", TIME, US,
        "sum over collectives it was last at: how long after the last but one; what would be saved if it "
        "were "
        "not last",
        "cost"),
    RS_COLUMN("waited_us", TIME, US, "sum of how long it waited for the last member", "waited"),
    RS_COLUMN("mean_waited_us", REAL, US, "mean of it", "mean waited"),
    RS_COLUMN("clock_offset_us", TIME, US,
              "how far its clock is ahead of the reference; taken out of the numbers", "clock ahead"),
};
static const rs_column_spec collective_columns[] = {
    RS_COLUMN("group", TEXT, NONE, "process group; the stream where the trace names none", NULL),
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
    RS_COLUMN("transfer_us", TIME, US, "from the last arrival to the last end", "transfer"),
};
static const rs_column_spec clock_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank", NULL),
    RS_COLUMN("reference_rank", INT, ID, "whose clock it is compared with", "reference"),
    RS_COLUMN("offset_us", TIME, US, "how far it is ahead", "ahead"),
    RS_COLUMN("spread_us", TIME, US,
              "median distance of single collectives from that, over all links to the reference", "spread"),
    RS_COLUMN("collectives", INT, COUNT, "collectives of the weakest link; 0: nothing to compare with", NULL),
};
static const rs_table_spec rank_table = RS_TABLE("stragglers", "one row is one rank", rank_columns);
static const rs_table_spec collective_table =
    RS_TABLE("collectives", "one row is one collective, by its first arrival", collective_columns);
static const rs_table_spec clock_table = RS_TABLE("clocks", "one row is one rank's clock", clock_columns);
static const rs_table_spec *const tables[] = {&rank_table, &collective_table, &clock_table};
static const rs_column_spec hta_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank, most often late first", NULL),
    RS_COLUMN("count", INT, COUNT, "steps in which it was among the last to start", NULL),
};
static const rs_column_spec step_columns[] = {
    RS_COLUMN("step", INT, ID, "number of a step that is left after HTA's cut", NULL),
};
static const rs_table_spec hta_table = RS_TABLE("stragglers",
                                                "one row is one rank, by HTA's get_potential_stragglers: "
                                                "starts of the ncclKernel whose length varies most",
                                                hta_columns);
static const rs_table_spec step_table =
    RS_TABLE("steps", "one row is one step, as HTA's get_profiler_steps", step_columns);
static const rs_table_spec *const hta_tables[] = {&hta_table, &step_table};
static const rs_table_set sets[] = {
    {RS_COMPAT_NONE, tables, 3}, {RS_COMPAT_HTA, hta_tables, 2}, {RS_COMPAT_HTA_EXACT, hta_tables, 2}};
enum { RANKS, COLLECTIVES, CLOCKS };

typedef struct sums {
    int64_t n, last, late, max_late, cost, waited;
} sums;

/* What one collective shows. */
typedef struct arrival_order {
    const rs_member *first, *last;
    int64_t late, cost, waited, transfer;
} arrival_order;

static arrival_order judge(const rs_matches *m, const rs_collective *c)
{
    const rs_member *members = &m->members[c->first];
    arrival_order o = {.first = members, .last = members};
    int64_t end = members->end;
    for (uint32_t i = 1; i < c->n; i++) {
        if (members[i].start < o.first->start) o.first = &members[i];
        if (members[i].start > o.last->start) o.last = &members[i];
        if (members[i].end > end) end = members[i].end;
    }
    o.late = rs_sub_sat(o.last->start, o.first->start);
    o.transfer = rs_sub_sat(end, o.last->start);
    o.cost = o.late;
    for (uint32_t i = 0; i < c->n; i++) {
        int64_t wait = rs_sub_sat(o.last->start, members[i].start);
        o.waited = rs_add_sat(o.waited, wait);
        if (&members[i] != o.last && wait < o.cost) o.cost = wait;
    }
    return o;
}

static void add_up(const rs_matches *m, sums *of_rank)
{
    for (size_t i = 0; i < m->n; i++) {
        const rs_collective *c = &m->items[i];
        arrival_order o = judge(m, c);
        for (uint32_t k = 0; k < c->n; k++) {
            const rs_member *x = &m->members[c->first + k];
            sums *s = &of_rank[x->rank];
            int64_t late = rs_sub_sat(x->start, o.first->start);
            s->n++;
            s->late = rs_add_sat(s->late, late);
            if (late > s->max_late) s->max_late = late;
            s->waited = rs_add_sat(s->waited, rs_sub_sat(o.last->start, x->start));
            if (x != o.last) continue;
            s->last++;
            s->cost = rs_add_sat(s->cost, o.cost);
        }
    }
}

static rs_status add_rank(rs_table *t, int64_t rank, const sums *s, const rs_clock *clock, rs_error *err)
{
    double n = (double)s->n;
    rs_table_add_int(t, rank);
    rs_table_add_int(t, s->n);
    rs_table_add_int(t, s->last);
    rs_table_add_real(t, rs_percent(s->last, s->n));
    rs_table_add_time(t, s->late);
    rs_table_add_real(t, s->n ? (double)s->late / n / 1000 : (double)NAN);
    rs_table_add_time(t, s->max_late);
    rs_table_add_time(t, s->cost);
    rs_table_add_time(t, s->waited);
    rs_table_add_real(t, s->n ? (double)s->waited / n / 1000 : (double)NAN);
    rs_table_add_time(t, clock->offset);
    return rs_table_end_row(t, err);
}

static void add_name(rs_table *t, const rs_string *s)
{
    if (s->length)
        rs_table_add_text_n(t, s->text, s->length);
    else
        rs_table_add_null(t);
}

static rs_status add_collective(rs_table *t, const rs_partial *partials, const rs_matches *m,
                                const rs_collective *c, int64_t origin, rs_error *err)
{
    const rs_arrival *a = c->arrival;
    arrival_order o = judge(m, c);
    add_name(t, &c->from->names.items[a->label]);
    add_name(t, &c->from->names.items[a->desc]);
    add_name(t, &c->from->names.items[a->op]);
    if (a->seq == RS_NO_SEQ)
        rs_table_add_null(t);
    else
        rs_table_add_int(t, a->seq);
    if (a->step < 0)
        rs_table_add_null(t);
    else
        rs_table_add_int(t, a->step);
    rs_table_add_int(t, (int64_t)c->n);
    rs_table_add_time(t, rs_sub_sat(o.first->start, origin));
    rs_table_add_int(t, partials[o.first->rank].rank);
    rs_table_add_int(t, partials[o.last->rank].rank);
    rs_table_add_time(t, o.late);
    rs_table_add_time(t, o.cost);
    rs_table_add_time(t, o.waited);
    rs_table_add_time(t, o.transfer);
    return rs_table_end_row(t, err);
}

static rs_status add_clock(rs_table *t, const rs_partial *partials, size_t i, const rs_clock *c,
                           rs_error *err)
{
    rs_table_add_int(t, partials[i].rank);
    rs_table_add_int(t, partials[c->reference].rank);
    rs_table_add_time(t, c->offset);
    rs_table_add_time(t, c->spread);
    rs_table_add_int(t, (int64_t)c->n);
    return rs_table_end_row(t, err);
}

/* The first event of all ranks, clocks aligned; collectives' starts are told from there. */
static int64_t find_origin(const rs_run *run, const rs_partial *partials, size_t n, const rs_matches *m)
{
    int64_t origin = RS_NO_TIME;
    for (size_t i = 0; i < n && !run->absolute; i++) {
        const rs_arrivals *a = partials[i].value;
        if (a->first_ns == RS_NO_TIME) continue;
        int64_t first = rs_sub_sat(a->first_ns, m->clocks[i].offset);
        if (origin == RS_NO_TIME || first < origin) origin = first;
    }
    return origin == RS_NO_TIME ? 0 : origin;
}

static void explain(const rs_partial *partials, size_t n, const rs_matches *m, rs_result *result)
{
    size_t p2p = 0, pairs = 0, all = 0, apart = 0;
    for (size_t i = 0; i < n; i++) {
        const rs_arrivals *a = partials[i].value;
        p2p += a->n_p2p;
        all += a->n;
        for (size_t k = 0; n != 2 && k < a->n; k++) pairs += a->items[k].pair_only;
        apart += m->n && i > 0 && m->clocks[i].reference == i;
    }
    if (n < 2) rs_result_note(result, "one rank: nobody to be late for; give the traces of all ranks");
    if (n >= 2 && all == 0) rs_result_note(result, "no collectives in these traces");
    if (p2p) rs_result_note(result, "%zu sends and receives are left out", p2p);
    if (pairs)
        rs_result_note(result,
                       "%zu send/receive kernels are left out: the traces do not say between which ranks",
                       pairs);
    if (n >= 2 && m->n_alone)
        rs_result_note(result, "%zu collectives are of groups of which only one rank is here", m->n_alone);
    if (m->n_incomplete)
        rs_result_note(result, "%zu collectives are left out: not all ranks of their group recorded them",
                       m->n_incomplete);
    if (m->n_contradicting)
        rs_result_note(result,
                       "%zu collectives are left out: ranks recorded different operations in their place",
                       m->n_contradicting);
    if (m->n_outside)
        rs_result_note(
            result,
            "%zu collectives have members whose traces were not given: late and last are among those "
            "that were",
            m->n_outside);
    if (apart)
        rs_result_note(
            result, "the ranks fall into %zu parts that share no collective: clocks are compared within each",
            apart + 1);
}

static rs_steps_seen steps_seen(const void *partial)
{
    const rs_hta_arrivals *a = ((const rs_arrivals *)partial)->hta; /* NULL where the rank failed */
    return a ? a->seen : (rs_steps_seen){.first = -1};
}

static rs_status merge_hta(const rs_run *run, const rs_partial *partials, size_t n, rs_result *result,
                           rs_error *err)
{
    const rs_hta_arrivals **of = rs_malloc((n + 1) * sizeof *of);
    int64_t *ranks = rs_malloc((n + 1) * sizeof *ranks);
    size_t n_of = 0;
    rs_status status = of && ranks ? RS_OK : rs_fail_nomem(err, "stragglers");
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_hta_arrivals *a = ((const rs_arrivals *)partials[i].value)->hta;
        if (!a) continue;
        of[n_of] = a;
        ranks[n_of++] = partials[i].rank;
    }
    if (status == RS_OK) status = rs_hta_stragglers_find(run, of, ranks, n_of, result, err);
    rs_free(of);
    rs_free(ranks);
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    if (run->policy->rows_by_stream) return merge_hta(run, partials, n, result, err);
    const char *by = rs_options_text(run->options, "by");
    bool align = strcmp(rs_options_text(run->options, "clocks"), "align") == 0;
    result->main_table = strcmp(by, "collective") == 0 ? COLLECTIVES
                         : strcmp(by, "clock") == 0    ? CLOCKS
                                                       : RANKS;
    rs_matches m;
    rs_status status = rs_matches_find(partials, n, align, &m, err);
    if (status != RS_OK) return status;
    sums *of_rank = rs_calloc(n + 1, sizeof *of_rank);
    if (!of_rank) status = rs_fail_nomem(err, "collectives");
    if (status == RS_OK) add_up(&m, of_rank);
    for (size_t i = 0; status == RS_OK && m.n && i < n; i++) {
        status = add_rank(result->tables[RANKS], partials[i].rank, &of_rank[i], &m.clocks[i], err);
        if (status == RS_OK) status = add_clock(result->tables[CLOCKS], partials, i, &m.clocks[i], err);
    }
    int64_t origin = find_origin(run, partials, n, &m);
    for (size_t i = 0; status == RS_OK && i < m.n; i++)
        status = add_collective(result->tables[COLLECTIVES], partials, &m, &m.items[i], origin, err);
    explain(partials, n, &m, result);
    rs_free(of_rank);
    rs_matches_clear(&m);
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field arrival_fields[] = {
    RS_FIELD_INDEX(rs_arrival, group, rs_arrivals, names.n),
    RS_FIELD_INDEX(rs_arrival, label, rs_arrivals, names.n),
    RS_FIELD_INDEX(rs_arrival, desc, rs_arrivals, names.n),
    RS_FIELD_INDEX(rs_arrival, op, rs_arrivals, names.n),
    RS_FIELD(rs_arrival, size),
    RS_FIELD(rs_arrival, symmetric),
    RS_FIELD(rs_arrival, pair_only),
    RS_FIELD(rs_arrival, seq),
    RS_FIELD(rs_arrival, step),
    RS_FIELD(rs_arrival, index),
    RS_FIELD(rs_arrival, row),
    RS_FIELD(rs_arrival, start),
    RS_FIELD(rs_arrival, end),
};
static const rs_layout arrival_layout = RS_LAYOUT(rs_arrival, arrival_fields);

static const rs_field arrivals_fields[] = {
    RS_FIELD_STRINGS(rs_arrivals, names), RS_FIELD_LIST(rs_arrivals, items, n, &arrival_layout),
    RS_FIELD(rs_arrivals, n_p2p),         RS_FIELD(rs_arrivals, base_ns),
    RS_FIELD(rs_arrivals, first_ns),      RS_FIELD_ONE_OR_NONE(rs_arrivals, hta, &rs_hta_arrivals_layout),
};
static const rs_layout arrivals_layout = RS_LAYOUT(rs_arrivals, arrivals_fields);

const rs_analysis rs_analysis_stragglers = {
    .name = "stragglers",
    .help = "Which rank arrives last at collectives, how late, and what it costs the others",
    .about =
        "A rank arrives at a collective when its kernel starts; the kernel then runs until all members have "
        "come and the data is through. Kernels of different ranks belong together by process group and "
        "sequence "
        "number where the trace records them, else by their order within the group and the step, provided "
        "all "
        "members recorded equally many; traces without group names are matched by stream and operation. "
        "Sends and "
        "receives are left out: they wait by design.\n\n"
        "The ranks' clocks differ. An all-reduce, all-gather, reduce-scatter, all-to-all or barrier ends on "
        "all members at "
        "once, so the median difference of the ends is the difference of the clocks; it is taken out along "
        "the "
        "most certain links and shown. --clocks trust leaves the times as they are.",
    .examples = "rankscope stragglers traces/\nrankscope stragglers --by collective --format csv traces/\n"
                "rankscope stragglers --steps 3-5 --by clock traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .columns = RS_LINK_COLUMNS | RS_COLUMN_BIT(COLLECTIVE) | RS_COLUMN_BIT(GROUP_NAME) |
               RS_COLUMN_BIT(GROUP_DESC) | RS_COLUMN_BIT(GROUP_RANKS) | RS_COLUMN_BIT(GROUP_SIZE) |
               RS_COLUMN_BIT(SEQ),
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL,
    .rank = rs_arrivals_rank,
    .merge = merge,
    .free_partial = rs_arrivals_free,
    .steps_seen = steps_seen,
    .partial_layout = &arrivals_layout,
};
