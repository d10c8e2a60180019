/* Who comes late: creation times after removing each clock's offset, and GPU durations, which need no clock
 * (whoever comes last waits least). */
#include "base/dtype.h"
#include "base/order.h"
#include "base/real.h"
#include "base/stats.h"
#include "flight/analyse.h"
#include "text/numbers.h"
#include "table/cells.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- the straggler ------------------------------------------------------------------------------------- */

typedef struct tally {
    size_t ops, last,
        first;      /* operations in which all stamps are known; it came clearly last; clearly first */
    double late_ns; /* behind the one before it, where it came last */
    size_t timed, shortest;      /* operations with all durations; in which its own was the shortest */
    double saved_ms, longest_ms; /* where it was the shortest: below the next, and the longest */
    double waited_ms;            /* above the shortest, over all */
    double by_chance;            /* how often it would be the shortest if all members were equal */
} tally;

typedef struct lateness {
    rs_flight *flight;
    tally *tallies; /* by rank */
    double period_ns;
} lateness;

static const rs_order by_number[] = {RS_RISING_VALUE(int64_t)};

/* The usual time from one operation to the next: median over ranks of their means. */
static bool usual_period(rs_flight *flight, double *period)
{
    RS_LOCAL int64_t *means = rs_malloc(flight->n_ranks * sizeof *means);
    if (!means) return false;
    size_t n = 0;
    for (size_t r = 0; r < flight->n_ranks; r++) {
        const rs_fl_rank *rank = &flight->ranks[r];
        if (rank->n < 2 || !rank->entries[0].created) continue;
        int64_t span = rank->entries[rank->n - 1].created - rank->entries[0].created;
        if (span > 0) means[n++] = span / (int64_t)(rank->n - 1);
    }
    RS_SORT(means, n, by_number);
    int64_t middle = n ? means[n / 2] : 0;
    *period = (double)middle;
    return true;
}

static void tally_times(lateness *l, const rs_fl_op *op)
{
    int64_t latest = INT64_MIN, second = INT64_MIN, earliest = INT64_MAX, next = INT64_MAX;
    size_t who = 0, early = 0;
    for (size_t i = 0; i < op->n; i++) {
        const rs_fl_entry *e = rs_fl_unit_entry(l->flight, &op->units[i], 0);
        if (!e->created) return;
        int64_t at = rs_fl_common(&l->flight->ranks[op->units[i].rank], e->created);
        if (at > latest) {
            second = latest;
            latest = at;
            who = i;
        } else if (at > second) {
            second = at;
        }
        if (at < earliest) {
            next = earliest;
            earliest = at;
            early = i;
        } else if (at < next) {
            next = at;
        }
    }
    for (size_t i = 0; i < op->n; i++) l->tallies[op->units[i].rank].ops++;
    l->tallies[op->units[early].rank].first += (double)(next - earliest) >= 0.1 * l->period_ns;
    if ((double)(latest - second) < 0.1 * l->period_ns) return;
    tally *t = &l->tallies[op->units[who].rank];
    t->last++;
    t->late_ns += (double)(latest - second);
}

static void tally_durations(lateness *l, const rs_fl_op *op)
{
    double shortest = INFINITY, second = INFINITY, longest = 0;
    size_t who = 0;
    for (size_t i = 0; i < op->n; i++) {
        double d = rs_fl_unit_main(l->flight, &op->units[i])->duration_ms;
        if (!(d >= 0)) return;
        if (d < shortest) {
            second = shortest;
            shortest = d;
            who = i;
        } else if (d < second) {
            second = d;
        }
        if (d > longest) longest = d;
    }
    for (size_t i = 0; i < op->n; i++) {
        tally *t = &l->tallies[op->units[i].rank];
        t->timed++;
        t->by_chance += 1 / (double)op->n;
        t->waited_ms += rs_fl_unit_main(l->flight, &op->units[i])->duration_ms - shortest;
    }
    tally *t = &l->tallies[op->units[who].rank];
    t->shortest++;
    t->saved_ms += second - shortest;
    t->longest_ms += longest;
}

static rs_status tally_op(void *context, rs_flight *flight, const rs_fl_op *op, rs_error *err)
{
    (void)err;
    const rs_fl_group *group = &flight->groups[op->group];
    size_t n_active = 0;
    if (op->n < 2) return RS_OK;
    for (uint32_t m = 0; op->n < group->n_members && m < group->n_members; m++)
        n_active += flight->by_group[group->first_member + m]->n > 0;
    if (op->n < n_active) return RS_OK;
    tally_times(context, op);
    tally_durations(context, op);
    return RS_OK;
}

/* By duration: it nearly always waits least, by much, and hardly waits itself. Those who are late only
 * because they waited for the straggler elsewhere wait themselves. */
static size_t by_duration(const lateness *l)
{
    size_t best = SIZE_MAX;
    for (size_t r = 0; r < l->flight->n_ranks; r++) {
        const tally *t = &l->tallies[r];
        if (t->timed < 8 || t->shortest * 10 < t->timed * 7 || t->saved_ms < 0.2 * t->longest_ms ||
            t->saved_ms * 1e6 < 0.1 * l->period_ns * (double)t->shortest ||
            rs_binomial_tail(t->shortest, t->timed, t->by_chance / (double)t->timed) *
                    (double)l->flight->n_ranks >
                RS_FL_CHANCE)
            continue;
        if (best == SIZE_MAX ||
            t->waited_ms / (double)t->timed < l->tallies[best].waited_ms / (double)l->tallies[best].timed)
            best = r;
    }
    return best;
}

/* Whether a rank's host issues each operation only after the one before is done. Where it runs ahead of its
 * GPU, when it issues says nothing about when it arrives. */
static bool in_step(const rs_fl_rank *rank)
{
    size_t n = 0, after = 0;
    for (size_t i = 1; i < rank->n; i++) {
        if (!rank->entries[i].created || !rank->entries[i - 1].completed) continue;
        n++;
        after += rank->entries[i].created >= rank->entries[i - 1].completed;
    }
    return n && after * 10 >= n * 8;
}

/* By a constant lag: the clocks of all other ranks agree closely, so that this one's lag is no clock's. */
static size_t by_constant_lag(const lateness *l, double *lag)
{
    const rs_flight *flight = l->flight;
    size_t best = 0;
    int64_t others = 0;
    if (flight->n_ranks < 4 || l->period_ns <= 0) return SIZE_MAX;
    for (size_t r = 1; r < flight->n_ranks; r++)
        if (flight->ranks[r].clock > flight->ranks[best].clock) best = r;
    for (size_t r = 0; r < flight->n_ranks; r++)
        if (r != best && llabs(flight->ranks[r].clock) > others) others = llabs(flight->ranks[r].clock);
    *lag = (double)flight->ranks[best].clock;
    bool late = l->tallies[best].ops >= 8 && *lag >= 0.2 * l->period_ns && *lag <= 2 * l->period_ns;
    return late && (double)others <= 0.1 * *lag && in_step(&flight->ranks[best]) ? best : SIZE_MAX;
}

static bool has_transfers(const rs_fl_rank *rank)
{
    for (size_t m = 0; m < rank->n_members; m++)
        if (rank->members[m].n_p2p) return true;
    return false;
}

/* By a varying lag: it is clearly last in a large part of its operations, and nobody else is nearly as often.
 * Last nearly always is a constant lag, which may be what is left of its clock; and a stage of a pipeline
 * comes late because of the stages before it. */
static size_t by_varying_lag(const lateness *l)
{
    size_t best = SIZE_MAX;
    double best_share = 0, second = 0;
    for (size_t r = 0; r < l->flight->n_ranks; r++) {
        const tally *t = &l->tallies[r];
        if (t->ops < 16) continue;
        double share = (double)t->last / (double)t->ops;
        if (share > best_share) {
            second = best_share;
            best_share = share;
            best = r;
        } else if (share > second) {
            second = share;
        }
    }
    if (best == SIZE_MAX || best_share < 0.4 || best_share > 0.85 || second > 0.4 * best_share ||
        has_transfers(&l->flight->ranks[best]))
        return SIZE_MAX;
    const tally *t = &l->tallies[best];
    bool late = t->late_ns / (double)t->ops >= 0.3 * l->period_ns;
    return late && in_step(&l->flight->ranks[best]) ? best : SIZE_MAX;
}

static rs_status accuse(rs_fl_analysis *a, size_t r, const char *how, rs_error *err)
{
    rs_flight *flight = a->flight;
    const rs_fl_rank *rank = &flight->ranks[r];
    const rs_fl_member *widest = NULL;
    for (size_t m = 0; m < rank->n_members; m++)
        if (rank->members[m].n &&
            (!widest || flight->groups[rank->members[m].group].n > flight->groups[widest->group].n))
            widest = &rank->members[m];
    uint32_t stack = rank->n ? rank->entries[rank->n - 1].stack : 0;
    rs_flight_evidence *proof = rs_arena_alloc(&flight->arena, 2 * sizeof *proof);
    char *summary =
        how ? rs_fl_print(flight, "No hang, but rank %" PRId64 " holds the others up: %s.", rank->rank, how)
            : NULL;
    if (!proof || !summary) return rs_fail_nomem(err, "a finding");
    proof[0] = (rs_flight_evidence){.rank = rank->rank, .record_id = -1, .text = how, .stack = stack};
    proof[1] = (rs_flight_evidence){
        .rank = -1,
        .record_id = -1,
        .text = "Ruled out: a hang or a mismatch. Every recorded operation is matched and completed."};
    rs_fl_found f = {.finding = {.verdict = RS_FLIGHT_STRAGGLER,
                                 .seq = -1,
                                 .summary = summary,
                                 .evidence = proof,
                                 .n_evidence = 2},
                     .group = widest ? widest->group : RS_FL_NONE,
                     .rank = RS_FL_NONE,
                     .partner_rank = RS_FL_NONE,
                     .when = INT64_MAX,
                     .kind = RS_FLIGHT_ROOT_SLOW,
                     .stage = RS_FL_STAGE_STRAGGLER};
    f.finding.n_waiters = flight->n_ranks - 1;
    return rs_fl_add_found(a, &f, &rank->rank, 1, err);
}

rs_status rs_fl_find_straggler(rs_fl_analysis *a, rs_error *err)
{
    rs_flight *flight = a->flight;
    lateness l = {.flight = flight, .tallies = rs_calloc(flight->n_ranks, sizeof *l.tallies)};
    rs_status status =
        l.tallies && usual_period(flight, &l.period_ns) ? RS_OK : rs_fail_nomem(err, "lateness");
    for (uint32_t g = 0; status == RS_OK && g < flight->n_groups; g++)
        if (flight->groups[g].n_members > 1) status = rs_fl_scan_group(flight, g, tally_op, &l, err);
    char one[32], two[32];
    double lag;
    size_t r = status == RS_OK ? by_duration(&l) : SIZE_MAX;
    if (r != SIZE_MAX) {
        const tally *t = &l.tallies[r];
        status =
            accuse(a, r,
                   rs_fl_print(flight,
                               "it waits least in %zu of %zu collectives, there %s less than the next and %s "
                               "less than the longest, so it comes last",
                               t->shortest, t->timed,
                               rs_human_time(rs_int_of(t->saved_ms / (double)t->shortest * 1e6), one),
                               rs_human_time(rs_int_of((t->longest_ms / (double)t->shortest) * 1e6), two)),
                   err);
    } else if (status == RS_OK && (r = by_constant_lag(&l, &lag)) != SIZE_MAX) {
        /* What looked like clocks was lateness: the tables are to show it. Without it the rank would have been the first
         * where it was in time. */
        const tally *t = &l.tallies[r];
        const char *which = t->first ? rs_fl_print(flight, "%zu", t->ops - t->first) : "all";
        for (size_t i = 0; i < flight->n_ranks; i++) flight->ranks[i].clock = 0;
        status = accuse(
            a, r,
            which ? rs_fl_print(flight,
                                "it comes %s after the others to %s of its %zu collectives, %s %% of the "
                                "usual time between two, while the others' clocks agree",
                                rs_human_time(rs_int_of(lag), one), which, t->ops,
                                RS_FIXED(100 * lag / l.period_ns, 0))
                  : NULL,
            err);
    } else if (status == RS_OK && (r = by_varying_lag(&l)) != SIZE_MAX) {
        const tally *t = &l.tallies[r];
        status =
            accuse(a, r,
                   rs_fl_print(flight,
                               "it comes last to %zu of its %zu collectives, %s after the one before it on "
                               "average (clock offset removed)",
                               t->last, t->ops, rs_human_time(rs_int_of(t->late_ns / (double)t->last), one)),
                   err);
    }
    rs_free(l.tallies);
    return status;
}

/* ---- the table of lateness ----------------------------------------------------------------------------- */

static const rs_column_spec lateness_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "global rank", NULL},
    {"group", RS_TEXT, RS_UNIT_NONE, "process group", NULL},
    {"group_desc", RS_TEXT, RS_UNIT_NONE, "its description", "description"},
    {"collectives", RS_INT, RS_UNIT_COUNT, "collectives that every member recorded with a time", NULL},
    {"times_last", RS_INT, RS_UNIT_COUNT, "of these, how often this rank came last", "last"},
    {"late_mean", RS_TIME, RS_UNIT_US, "mean time after the first member, clock offsets removed",
     "late mean"},
    {"late_p50", RS_TIME, RS_UNIT_US, "median of it", "p50"},
    {"late_p95", RS_TIME, RS_UNIT_US, "95th percentile of it", "p95"},
    {"late_max", RS_TIME, RS_UNIT_US, "longest of it", "max"},
    {"clock_offset", RS_TIME, RS_UNIT_US, "this rank's clock against the job's median clock, estimated",
     "clock"},
};
const rs_table_spec rs_fl_lateness_spec = {
    "lateness", "one row a rank and group: how late it comes to the group's collectives", lateness_columns,
    sizeof lateness_columns / sizeof *lateness_columns};

typedef struct delays {
    int64_t *late; /* by active member and operation */
    size_t n_ops, n_active;
    size_t *last;
} delays;

static rs_status measure_op(void *context, rs_flight *flight, const rs_fl_op *op, rs_error *err)
{
    delays *d = context;
    int64_t first = INT64_MAX, latest = INT64_MIN;
    size_t who = 0;
    (void)err;
    if (op->n < d->n_active || op->n < 2) return RS_OK;
    for (size_t i = 0; i < op->n; i++) {
        const rs_fl_entry *e = rs_fl_unit_entry(flight, &op->units[i], 0);
        if (!e->created) return RS_OK;
        int64_t at = rs_fl_common(&flight->ranks[op->units[i].rank], e->created);
        if (at < first) first = at;
        if (at > latest) {
            latest = at;
            who = i;
        }
    }
    for (size_t i = 0; i < op->n; i++) {
        const rs_fl_entry *e = rs_fl_unit_entry(flight, &op->units[i], 0);
        d->late[i * op->n_ops + d->n_ops] =
            rs_sub_sat(rs_fl_common(&flight->ranks[op->units[i].rank], e->created), first);
    }
    d->last[who]++;
    d->n_ops++;
    return RS_OK;
}

static rs_status add_lateness_rows(rs_flight *flight, uint32_t g, const delays *d, size_t stride,
                                   rs_table *table, rs_error *err)
{
    const rs_fl_group *group = &flight->groups[g];
    size_t i = 0;
    rs_status status = RS_OK;
    for (uint32_t m = 0; m < group->n_members && status == RS_OK; m++) {
        const rs_fl_member *member = flight->by_group[group->first_member + m];
        if (!member->n) continue;
        int64_t *late = d->late + i * stride;
        double sum = 0;
        for (size_t k = 0; k < d->n_ops; k++) sum += (double)late[k];
        RS_SORT(late, d->n_ops, by_number);
        status = RS_PUT_ROW(table, err, flight->ranks[member->rank].rank, rs_fl_text(flight, group->uid),
                            rs_fl_text(flight, group->desc), d->n_ops, d->last[i],
                            rs_int_of(sum / (double)d->n_ops), late[(d->n_ops - 1) / 2],
                            late[(d->n_ops - 1) * 95 / 100], late[d->n_ops - 1],
                            flight->ranks[member->rank].clock);
        i++;
    }
    return status;
}

static rs_status lateness_of_group(rs_flight *flight, uint32_t g, rs_table *table, rs_error *err)
{
    const rs_fl_group *group = &flight->groups[g];
    size_t n_ops = 0;
    delays d = {0};
    for (uint32_t m = 0; m < group->n_members; m++)
        d.n_active += flight->by_group[group->first_member + m]->n > 0;
    if (d.n_active < 2) return RS_OK;
    rs_status status = rs_fl_count_ops(flight, g, &n_ops, err);
    if (status != RS_OK) return status;
    d.late = rs_calloc(d.n_active * n_ops, sizeof *d.late);
    d.last = rs_calloc(d.n_active, sizeof *d.last);
    status =
        d.late && d.last ? rs_fl_scan_group(flight, g, measure_op, &d, err) : rs_fail_nomem(err, "lateness");
    if (status == RS_OK && d.n_ops) status = add_lateness_rows(flight, g, &d, n_ops, table, err);
    rs_free_all(d.late, d.last);
    return status;
}

rs_table *rs_flight_lateness(rs_flight *flight, rs_error *err)
{
    const rs_flight_report *report; /* its making estimates the clocks */
    if (rs_flight_get_report(flight, &report, err) != RS_OK) return NULL;
    rs_table *table = rs_table_create(&rs_fl_lateness_spec);
    rs_status status = table ? RS_OK : rs_fail_nomem(err, "a table");
    for (uint32_t g = 0; g < flight->n_groups && status == RS_OK; g++)
        if (flight->groups[g].n_members > 1) status = lateness_of_group(flight, g, table, err);
    if (status == RS_OK) return table;
    rs_table_free(table);
    return NULL;
}

/* ---- durations and bandwidth --------------------------------------------------------------------------- */

static const rs_column_spec collective_columns[] = {
    {"group", RS_TEXT, RS_UNIT_NONE, "process group", NULL},
    {"group_desc", RS_TEXT, RS_UNIT_NONE, "its description", "description"},
    {"op", RS_TEXT, RS_UNIT_NONE, "operation", NULL},
    {"members", RS_INT, RS_UNIT_COUNT, "ranks in the group", NULL},
    {"collectives", RS_INT, RS_UNIT_COUNT, "collectives of that name with a duration on every member", NULL},
    {"bytes", RS_INT, RS_UNIT_BYTES, "mean size: the larger of a rank's input and output", NULL},
    {"transfer", RS_TIME, RS_UNIT_US, "mean over collectives of the shortest duration of any member", NULL},
    {"longest", RS_TIME, RS_UNIT_US, "mean over collectives of the longest duration: transfer and waiting",
     NULL},
    {"wait", RS_TIME, RS_UNIT_US, "longest less transfer: what the first to come waited", NULL},
    {"algorithm_bandwidth", RS_REAL, RS_UNIT_GBPS, "bytes over transfer", "alg. bandwidth"},
    {"bus_bandwidth", RS_REAL, RS_UNIT_GBPS, "the same corrected for the traffic that the operation needs",
     "bus bandwidth"},
};
const rs_table_spec rs_fl_collectives_spec = {
    "collectives", "one row a group and operation: durations and bandwidth where timing was on",
    collective_columns, sizeof collective_columns / sizeof *collective_columns};

typedef struct sums {
    uint32_t op;
    uint8_t kind;
    size_t n;
    double bytes, shortest_ms, longest_ms;
    bool sized;
} sums;

typedef struct bandwidth {
    sums *items;
    size_t n, capacity;
    bool nomem;
} bandwidth;

static rs_status add_durations(void *context, rs_flight *flight, const rs_fl_op *op, rs_error *err)
{
    bandwidth *b = context;
    double shortest = INFINITY, longest = 0;
    if (op->n < flight->groups[op->group].n) return RS_OK;
    for (size_t i = 0; i < op->n; i++) {
        double d = rs_fl_unit_main(flight, &op->units[i])->duration_ms;
        if (!(d >= 0)) return RS_OK;
        if (d < shortest) shortest = d;
        if (d > longest) longest = d;
    }
    const rs_fl_call *call = rs_fl_call_of(flight, rs_fl_unit_main(flight, &op->units[0]));
    size_t at = 0;
    while (at < b->n && b->items[at].op != call->op) at++;
    if (at == b->n) {
        if (!RS_APPEND(b, (sums){.op = call->op, .kind = call->kind, .sized = true}))
            return rs_fail_nomem(err, "durations");
    }
    int64_t numel = call->in_numel > call->out_numel ? call->in_numel : call->out_numel;
    int64_t size = rs_dtype_size(rs_fl_text(flight, call->in_dtype ? call->in_dtype : call->out_dtype));
    sums *s = &b->items[at];
    s->n++;
    s->bytes += (double)numel * (double)size;
    s->sized = s->sized && size && op->units[0].n == 1;
    s->shortest_ms += shortest;
    s->longest_ms += longest;
    return RS_OK;
}

static double traffic(uint8_t kind, size_t n)
{
    double share = n > 1 ? (double)(n - 1) / (double)n : 0;
    switch (kind) {
    case RS_FL_ALL_REDUCE: return 2 * share;
    case RS_FL_ALL_GATHER:
    case RS_FL_REDUCE_SCATTER:
    case RS_FL_ALL_TO_ALL: return share;
    default: return 1;
    }
}

static rs_status add_bandwidth_rows(rs_flight *flight, const rs_fl_group *group, const bandwidth *b,
                                    rs_table *table, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; i < b->n && status == RS_OK; i++) {
        const sums *s = &b->items[i];
        double n = (double)s->n, seconds = s->shortest_ms / n / 1e3;
        bool rated = s->sized && seconds > 0 && s->bytes > 0;
        status = RS_PUT_ROW(
            table, err, rs_fl_text(flight, group->uid), rs_fl_text(flight, group->desc),
            rs_fl_text(flight, s->op), group->n, s->n, s->sized ? rs_int_of(s->bytes / n) : RS_NO_VALUE,
            rs_int_of(s->shortest_ms / n * 1e6), rs_int_of(s->longest_ms / n * 1e6),
            rs_int_of((s->longest_ms - s->shortest_ms) / n * 1e6), rated ? s->bytes / n / seconds / 1e9 : NAN,
            rated ? s->bytes / n / seconds / 1e9 * traffic(s->kind, group->n) : NAN);
    }
    return status;
}

rs_table *rs_flight_collectives(rs_flight *flight, rs_error *err)
{
    rs_table *table = rs_table_create(&rs_fl_collectives_spec);
    rs_status status = table ? RS_OK : rs_fail_nomem(err, "a table");
    for (uint32_t g = 0; g < flight->n_groups && status == RS_OK; g++) {
        bandwidth b = {0};
        status = rs_fl_scan_group(flight, g, add_durations, &b, err);
        if (status == RS_OK) status = add_bandwidth_rows(flight, &flight->groups[g], &b, table, err);
        rs_free(b.items);
    }
    if (status == RS_OK) return table;
    rs_table_free(table);
    return NULL;
}
