/* A verdict from the tables of the periodic dumper. */
#include "flight/periodic.h"
#include "flight/serving.h"

#include <inttypes.h>
#include <string.h>

static bool has(const rs_fl_snapshot *s, rs_fl_rank_set set, int64_t rank)
{
    for (uint32_t i = 0; i < set.n; i++)
        if (s->members[set.first + i] == rank) return true;
    return false;
}

/* The newest number of a group, matched or not. */
static int64_t newest_of(const rs_fl_snapshot *s, uint32_t group)
{
    int64_t newest = -1;
    for (size_t i = 0; i < s->n_rows; i++)
        if (s->rows[i].group == group && s->rows[i].seq > newest) newest = s->rows[i].seq;
    return newest;
}

static bool moved(const rs_fl_periodic *p)
{
    const rs_fl_snapshot *now = &p->snapshots[0], *then = &p->snapshots[1];
    if (p->n_snapshots < 2) return false;
    for (size_t i = 0; i < now->n_rows; i++)
        if (now->rows[i].seq == newest_of(now, now->rows[i].group) &&
            now->rows[i].seq > newest_of(then, now->rows[i].group))
            return true;
    /* The same number may have been completed since. */
    for (size_t i = 0; i < now->n_rows; i++)
        for (size_t k = 0; k < then->n_rows; k++)
            if (now->rows[i].group == then->rows[k].group && now->rows[i].seq == then->rows[k].seq &&
                (now->rows[i].missing.n < then->rows[k].missing.n ||
                 (now->rows[i].completed && !then->rows[k].completed)))
                return true;
    return false;
}

/* Whether a rank has a call that nobody could match: it waits there, and is no root. */
static bool waits(const rs_fl_snapshot *s, int64_t rank)
{
    for (size_t i = 0; i < s->n_unmatched; i++)
        if (s->unmatched[i].rank == rank) return true;
    return false;
}

/* Fills what add_found takes from a group and an entry, which there are none of. */
static rs_status add(rs_fl_analysis *a, const rs_fl_row *row, rs_fl_found f, const int64_t *ranks, size_t n,
                     rs_error *err)
{
    rs_flight *flight = a->flight;
    f.group = f.rank = f.partner_rank = RS_FL_NONE;
    f.when = INT64_MAX;
    f.finding.seq = row->seq;
    rs_status status = rs_fl_add_found(a, &f, ranks, n, err);
    if (status != RS_OK) return status;
    rs_flight_finding *finding = &a->found[a->n_found - 1].finding;
    const char *desc = rs_fl_text(flight, row->desc);
    finding->group = rs_fl_text(flight, row->group);
    finding->group_desc = *desc ? desc : NULL;
    finding->op = rs_fl_text(flight, row->op);
    return RS_OK;
}

static const char *op_text(rs_flight *flight, const rs_fl_row *row)
{
    const char *desc = rs_fl_text(flight, row->desc), *group = rs_fl_text(flight, row->group);
    return *desc ? rs_fl_print(flight, "%s %" PRId64 " of %s (group %s)", rs_fl_text(flight, row->op),
                               row->seq, desc, group)
                 : rs_fl_print(flight, "%s %" PRId64 " of group %s", rs_fl_text(flight, row->op), row->seq,
                               group);
}

static rs_status judge_missing(rs_fl_analysis *a, const rs_fl_periodic *p, rs_error *err)
{
    rs_flight *flight = a->flight;
    const rs_fl_snapshot *s = &p->snapshots[0];
    RS_SCOPED(rs_map64_clear) rs_map64 told = {0};
    rs_status status = RS_OK;
    for (size_t i = 0; i < s->n_rows && status == RS_OK; i++) {
        const rs_fl_row *row = &s->rows[i];
        for (uint32_t k = 0; k < row->missing.n && status == RS_OK; k++) {
            int64_t rank = s->members[row->missing.first + k];
            bool is_new;
            if (waits(s, rank)) continue;
            const rs_fl_row *first = row;
            for (size_t o = 0; o < s->n_rows; o++)
                if (has(s, s->rows[o].missing, rank) && s->rows[o].record < first->record)
                    first = &s->rows[o];
            if (!rs_map64_put(&told, (uint64_t)rank, &is_new)) status = rs_fail_nomem(err, "a finding");
            if (status != RS_OK || !is_new) continue;
            size_t waiters = first->expected.n > first->missing.n ? first->expected.n - first->missing.n : 0;
            const char *what = op_text(flight, first);
            rs_fl_found f = {.finding = {.verdict = RS_FLIGHT_RANK_MISSING, .n_waiters = waiters},
                             .kind = RS_FLIGHT_ROOT_SILENT,
                             .stage = RS_FL_STAGE_HANG};
            f.finding.summary =
                what ? rs_fl_print(flight, "Rank %" PRId64 " never issued %s, where %zu rank%s wait%s.", rank,
                                   what, waiters, waiters == 1 ? "" : "s", waiters == 1 ? "s" : "")
                     : NULL;
            status = f.finding.summary ? add(a, first, f, &rank, 1, err) : rs_fail_nomem(err, "a finding");
        }
    }
    return status;
}

static rs_flight_verdict verdict_of(const char *type)
{
    if (strstr(type, "DTYPE")) return RS_FLIGHT_DTYPE_MISMATCH;
    if (strstr(type, "SIZE")) return RS_FLIGHT_SIZE_MISMATCH;
    return RS_FLIGHT_TYPE_MISMATCH;
}

/* The peer compares with its first rank: where most differ from that one, that one differs. */
static rs_status judge_mismatches(rs_fl_analysis *a, const rs_fl_periodic *p, rs_error *err)
{
    rs_flight *flight = a->flight;
    const rs_fl_snapshot *s = &p->snapshots[0];
    for (size_t i = 0; i < s->n_rows; i++) {
        const rs_fl_row *row = &s->rows[i];
        if (row->passed || !row->differing.n || row->mismatch == RS_FL_NONE ||
            strstr(rs_fl_text(flight, row->mismatch), "STATE"))
            continue;
        int64_t *ranks = rs_malloc((row->expected.n + row->differing.n + 1) * sizeof *ranks);
        if (!ranks) return rs_fail_nomem(err, "a finding");
        size_t n = 0;
        bool others = row->differing.n * 2 > row->expected.n;
        const rs_fl_rank_set *from = others ? &row->expected : &row->differing;
        for (uint32_t k = 0; k < from->n; k++) {
            int64_t rank = s->members[from->first + k];
            if (!others || !has(s, row->differing, rank)) ranks[n++] = rank;
        }
        rs_fl_found f = {.finding = {.verdict = verdict_of(rs_fl_text(flight, row->mismatch))},
                         .kind = RS_FLIGHT_ROOT_MISMATCH,
                         .stage = RS_FL_STAGE_MISMATCH};
        const char *who = rs_fl_ranks_text(flight, ranks, n), *what = op_text(flight, row);
        f.finding.summary = who && what ? rs_fl_print(flight, "The calls of %s differ (%s): %s.", what,
                                                      rs_fl_text(flight, row->mismatch), who)
                                        : NULL;
        rs_status status =
            f.finding.summary ? add(a, row, f, ranks, n, err) : rs_fail_nomem(err, "a finding");
        rs_free(ranks);
        return status;
    }
    return RS_OK;
}

/* Nobody is missing, and the same operation is open in both snapshots. Gloo's rows never read completed. */
static rs_status judge_stuck(rs_fl_analysis *a, const rs_fl_periodic *p, rs_error *err)
{
    rs_flight *flight = a->flight;
    const rs_fl_snapshot *s = &p->snapshots[0];
    const rs_fl_row *oldest = NULL;
    bool any_done = false;
    for (size_t i = 0; i < s->n_rows; i++) {
        any_done = any_done || s->rows[i].completed;
        if (!s->rows[i].completed && !s->rows[i].gloo && !s->rows[i].missing.n &&
            (!oldest || s->rows[i].record < oldest->record))
            oldest = &s->rows[i];
    }
    if (!oldest || !any_done || p->n_snapshots < 2) return RS_OK;
    rs_fl_found f = {.finding = {.verdict = RS_FLIGHT_STUCK, .n_waiters = oldest->expected.n},
                     .kind = RS_FLIGHT_ROOT_COLLECTIVE,
                     .stage = RS_FL_STAGE_STUCK};
    const char *what = op_text(flight, oldest);
    f.finding.summary = what ? rs_fl_print(flight,
                                           "All %u ranks are in %s and none finished between the last two "
                                           "snapshots: no rank is to blame from the record.",
                                           oldest->expected.n, what)
                             : NULL;
    return f.finding.summary ? add(a, oldest, f, NULL, 0, err) : rs_fail_nomem(err, "a finding");
}

#define STANDSTILL INT64_C(30000000000)

/* Stacks without any record: where everybody stands still and most are in torch.distributed, the others
 * probably hold them up. No more than that can be said. */
static rs_status judge_stacks(rs_fl_analysis *a, rs_error *err)
{
    rs_flight *flight = a->flight;
    size_t waiting = 0, n = 0;
    RS_LOCAL int64_t *ranks = rs_malloc((flight->n_notes + 1) * sizeof *ranks);
    if (!ranks) return rs_fail_nomem(err, "a finding");
    bool still = flight->n_notes > 0;
    for (size_t i = 0; i < flight->n_notes; i++) {
        const rs_fl_note *note = &flight->notes[i];
        if (!note->stack) continue;
        still = still && note->since_ns >= STANDSTILL;
        if (rs_fl_wait_of(flight, note->stack) != RS_FL_BUSY)
            waiting++;
        else
            ranks[n++] = note->rank;
    }
    rs_status status = RS_OK;
    if (still && n && n < waiting) {
        rs_fl_found f = {.finding = {.verdict = RS_FLIGHT_DUMP_MISSING, .seq = -1, .n_waiters = waiting},
                         .kind = RS_FLIGHT_ROOT_UNKNOWN,
                         .group = RS_FL_NONE,
                         .rank = RS_FL_NONE,
                         .partner_rank = RS_FL_NONE,
                         .when = INT64_MAX,
                         .stage = RS_FL_STAGE_DUMP};
        const char *who = rs_fl_ranks_text(flight, ranks, n);
        f.finding.summary = who ? rs_fl_print(flight,
                                              "There is no flight record. By the stacks alone %s probably "
                                              "hold%s %zu others up, which wait in torch.",
                                              who, n == 1 ? "s" : "", waiting)
                                : NULL;
        status = f.finding.summary ? rs_fl_add_found(a, &f, ranks, n, err) : rs_fail_nomem(err, "a finding");
    }
    return status;
}

rs_status rs_fl_judge_periodic(rs_fl_analysis *a, rs_error *err)
{
    const rs_fl_periodic *p = a->flight->periodic;
    if (!p->n_snapshots) return judge_stacks(a, err);
    rs_status status = judge_mismatches(a, p, err);
    if (status != RS_OK || moved(p)) return status;
    status = judge_missing(a, p, err);
    return status == RS_OK && a->n_found == 0 ? judge_stuck(a, p, err) : status;
}
