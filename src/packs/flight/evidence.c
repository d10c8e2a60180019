/* Proof: one line each of what the record shows, and of what it rules out. */
#include "flight/words.h"

#include <inttypes.h>

bool rs_fl_prove(rs_fl_analysis *a, int64_t rank, const rs_fl_entry *e, const char *text)
{
    if (!text || !RS_PUSH(a->evidence, a->n_evidence, a->evidence_capacity,
                          (rs_flight_evidence){.rank = rank,
                                               .record_id = e ? e->record_id : -1,
                                               .text = text,
                                               .state = e ? rs_fl_state_name((rs_fl_state)e->state) : NULL,
                                               .stack = e ? e->stack : 0}))
        return false;
    return true;
}

static const rs_fl_entry *last_entry(const rs_fl_rank *rank)
{
    for (size_t i = rank->n; i-- > 0;)
        if (!rank->entries[i].marker) return &rank->entries[i];
    return rank->n ? &rank->entries[rank->n - 1] : NULL;
}

/* "open" says all that a record without starts tells of an operation. */
static const char *state_word(const rs_flight *flight, const rs_fl_entry *e)
{
    return e->state == RS_FL_SCHEDULED && !flight->timed ? "open" : rs_fl_state_name((rs_fl_state)e->state);
}

static bool prove_nothing_open(rs_fl_analysis *a, const rs_fl_rank *rank)
{
    rs_flight *flight = a->flight;
    return rs_fl_prove(
        a, rank->rank, NULL,
        rs_fl_print(flight,
                    "Ruled out: waiting for another rank. Everything rank %" PRId64
                    " issued is completed, so it stopped on the host: data loading, an exception, a "
                    "checkpoint, a lock.",
                    rank->rank));
}

bool rs_fl_prove_last_act(rs_fl_analysis *a, uint32_t index)
{
    rs_flight *flight = a->flight;
    const rs_fl_rank *rank = &flight->ranks[index];
    const rs_fl_entry *last = last_entry(rank);
    if (rank->shape == RS_FL_ISSUE_ONLY)
        return !last ||
               rs_fl_prove(a, rank->rank, last,
                           rs_fl_print(flight, "The last thing rank %" PRId64 " issued: %s%s%s.", rank->rank,
                                       rs_fl_op_text(flight, last), rs_fl_at_text(flight, last->stack),
                                       rs_fl_age_text(flight, rank, last->created)));
    if (!last && rank->shape == RS_FL_ACTIVE) {
        int64_t most = 0;
        for (size_t m = 0; m < rank->n_members; m++)
            if (rank->members[m].done > most) most = rank->members[m].done;
        return rs_fl_prove(
                   a, rank->rank, NULL,
                   rs_fl_print(flight,
                               "Rank %" PRId64
                               " has nothing open; all it issued is completed (its statuses go up to %" PRId64
                               ").",
                               rank->rank, most)) &&
               prove_nothing_open(a, rank);
    }
    if (!last)
        return rs_fl_prove(a, rank->rank, NULL,
                           rs_fl_print(flight, "Rank %" PRId64 " recorded no operation at all.", rank->rank));
    int64_t latest = last->completed ? last->completed : last->started ? last->started : last->created;
    const char *text =
        rank->shape == RS_FL_ACTIVE
            ? rs_fl_print(flight, "Rank %" PRId64 " still has open: %s, %s%s%s.", rank->rank,
                          rs_fl_op_text(flight, last), state_word(flight, last),
                          rs_fl_at_text(flight, last->stack), rs_fl_age_text(flight, rank, latest))
            : rs_fl_print(flight, "The last thing rank %" PRId64 " did: %s, %s%s%s.", rank->rank,
                          rs_fl_op_text(flight, last), state_word(flight, last),
                          rs_fl_at_text(flight, last->stack), rs_fl_age_text(flight, rank, latest));
    if (!rs_fl_prove(a, rank->rank, last, text)) return false;
    return a->open[index] != RS_FL_NONE || prove_nothing_open(a, rank);
}

/* Absence is identified by a status that ends below the number, or by a record that is complete there. */
bool rs_fl_prove_absence(rs_fl_analysis *a, const rs_fl_found *f, uint32_t index)
{
    rs_flight *flight = a->flight;
    const rs_fl_rank *rank = &flight->ranks[index];
    const rs_fl_member *member = rs_fl_member_of(flight, index, f->group);
    if (f->finding.p2p || !member) return true;
    if (member->enqueued == -1)
        return rs_fl_prove(a, rank->rank, NULL,
                           rs_fl_print(flight,
                                       "Ruled out: a lost record. Rank %" PRId64
                                       "'s pg_status says that it never issued anything in this group.",
                                       rank->rank));
    if (member->issued_seq != RS_FL_UNKNOWN && member->issued_seq < f->finding.seq)
        return rs_fl_prove(a, rank->rank, NULL,
                           rs_fl_print(flight,
                                       "Ruled out: a lost record. Rank %" PRId64
                                       "'s pg_status ends at %" PRId64
                                       " of this group: last enqueued %" PRId64 ", completed %" PRId64 ".",
                                       rank->rank, member->issued_seq, member->enqueued, member->done));
    if ((rank->shape == RS_FL_FULL || rank->shape == RS_FL_RING) && member->last_seq != RS_FL_UNKNOWN)
        return rs_fl_prove(a, rank->rank, NULL,
                           rs_fl_print(flight,
                                       "Ruled out: a lost record. Rank %" PRId64 " ends at %" PRId64
                                       " of this group, and its ring keeps the newest operations.",
                                       rank->rank, member->last_seq));
    if (rank->shape == RS_FL_ACTIVE)
        return rs_fl_prove(
            a, rank->rank, NULL,
            rs_fl_print(flight,
                        "Rank %" PRId64
                        "'s dump holds what is open, and not this; had it been issued, it would be open "
                        "there as it is on the others.",
                        rank->rank));
    return true;
}

bool rs_fl_prove_waiter(rs_fl_analysis *a, const rs_fl_found *f)
{
    rs_flight *flight = a->flight;
    if (f->rank == RS_FL_NONE) return true;
    const rs_fl_rank *rank = &flight->ranks[f->rank];
    const rs_fl_entry *e = &rank->entries[f->entry];
    const rs_fl_call *c = rs_fl_call_of(flight, e);
    return rs_fl_prove(a, rank->rank, e,
                       rs_fl_print(flight, "Rank %" PRId64 " issued %s: %s, input %s %s%s.", rank->rank,
                                   rs_fl_op_text(flight, e), state_word(flight, e),
                                   rs_fl_text(flight, c->in_sizes), rs_fl_text(flight, c->in_dtypes),
                                   rs_fl_at_text(flight, e->stack)));
}

bool rs_fl_prove_call(rs_fl_analysis *a, uint32_t index, uint32_t entry)
{
    rs_flight *flight = a->flight;
    if (index == RS_FL_NONE) return true;
    const rs_fl_rank *rank = &flight->ranks[index];
    const rs_fl_entry *e = &rank->entries[entry];
    const rs_fl_call *c = rs_fl_call_of(flight, e);
    return rs_fl_prove(a, rank->rank, e,
                       rs_fl_print(flight, "Rank %" PRId64 ": %s, input %s %s, output %s %s, %s%s.",
                                   rank->rank, rs_fl_op_text(flight, e), rs_fl_text(flight, c->in_sizes),
                                   rs_fl_text(flight, c->in_dtypes), rs_fl_text(flight, c->out_sizes),
                                   rs_fl_text(flight, c->out_dtypes), state_word(flight, e),
                                   rs_fl_at_text(flight, e->stack)));
}

bool rs_fl_prove_shapes(rs_fl_analysis *a)
{
    static const char *const hidden[RS_FL_N_SHAPES] = {
        [RS_FL_ACTIVE] =
            "hold active entries only: what is completed is not in them, and is known from their status",
        [RS_FL_STATUS_ONLY] = "hold no entries, though work is open: only their status is known",
        [RS_FL_ISSUE_ONLY] =
            "show what was issued and never what was completed: their recorder was not notified"};
    rs_flight *flight = a->flight;
    for (int s = 0; s < RS_FL_N_SHAPES; s++) {
        size_t n = flight->report.shapes[s];
        if (!n || !hidden[s]) continue;
        if (!rs_fl_prove(a, -1, NULL,
                         rs_fl_print(flight, "%zu of %zu dumps %s.", n, flight->n_ranks, hidden[s])))
            return false;
    }
    return true;
}
