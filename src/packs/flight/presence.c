/* What a status counts, which states follow from it, and who joined what. The rules are in docs/flight.md.
 */
#include "flight/presence.h"

#include "base/interval.h"

#include <string.h>

static const char *const shape_names[] = {"full", "ring", "active_only", "status_only", "issue_only"};

const char *rs_fl_shape_name(rs_fl_shape shape)
{
    return shape_names[shape];
}

/* ---- shapes -------------------------------------------------------------------------------------------- */

/* The shape of one dump, before the groups are looked at. */
static void find_shape(rs_fl_rank *rank)
{
    bool any_done = false, all_retired = true, gaps = false;
    for (size_t i = 0; i < rank->n; i++) {
        any_done = any_done || rank->entries[i].state == RS_FL_COMPLETED;
        all_retired = all_retired && rank->entries[i].retired;
    }
    if (rank->n) {
        int64_t first = rank->entries[0].record_id, last = rank->entries[rank->n - 1].record_id;
        gaps = first >= 0 && last >= first && last - first != (int64_t)rank->n - 1;
        rank->wrapped = first > 0;
    }
    if (!rank->n && rank->status_open)
        rank->shape = RS_FL_STATUS_ONLY;
    else if (rank->n && !any_done && all_retired && rank->status_work && !rank->status_done)
        rank->shape = RS_FL_ISSUE_ONLY;
    else if (!any_done && rank->status_work && (gaps || rank->wrapped || !rank->n))
        rank->shape = RS_FL_ACTIVE;
    else
        rank->shape = rank->wrapped ? RS_FL_RING : RS_FL_FULL;
    rank->filtered = gaps && rank->shape != RS_FL_ACTIVE;
}

/* ---- what a status counts ------------------------------------------------------------------------------ */

/* How the op ids of a group's collectives go with their sequence numbers, over all members. */
static void find_numbering(const rs_flight *flight, rs_fl_group *group)
{
    const rs_fl_entry *first = NULL, *second = NULL;
    bool affine = true;
    group->mixed = false;
    group->ops_equal = true;
    for (uint32_t m = 0; m < group->n_members; m++) {
        const rs_fl_member *member = flight->by_group[group->first_member + m];
        const rs_fl_rank *rank = &flight->ranks[member->rank];
        group->mixed = group->mixed || member->n_p2p;
        for (uint32_t i = 0; i < member->n; i++) {
            const rs_fl_entry *e = &rank->entries[rank->order[member->begin + i]];
            group->mixed = group->mixed || e->p2p_seq > 0;
            group->ops_equal = group->ops_equal && e->op_id == e->seq;
            if (!first)
                first = e;
            else if (!second && e->seq != first->seq)
                second = e;
        }
    }
    group->op_base = group->op_step = 0;
    if (!first || group->mixed) return;
    int64_t span = second ? second->seq - first->seq : 1, rise = second ? second->op_id - first->op_id : 1;
    if (span == 0 || rise % span || rise / span < 1) return;
    int64_t step = rise / span;
    for (uint32_t m = 0; affine && m < group->n_members; m++) {
        const rs_fl_member *member = flight->by_group[group->first_member + m];
        const rs_fl_rank *rank = &flight->ranks[member->rank];
        for (uint32_t i = 0; affine && i < member->n; i++) {
            const rs_fl_entry *e = &rank->entries[rank->order[member->begin + i]];
            int64_t expected;
            affine = !__builtin_mul_overflow(e->seq - first->seq, step, &expected) &&
                     e->op_id - first->op_id == expected;
        }
    }
    if (!affine || __builtin_mul_overflow(first->seq, step, &group->op_base)) return;
    if (!__builtin_sub_overflow(first->op_id, group->op_base, &group->op_base)) group->op_step = step;
}

/* The newest entry of a group in a rank's dump; NULL when there is none. */
static const rs_fl_entry *newest_entry(const rs_fl_rank *rank, const rs_fl_member *member)
{
    uint32_t newest = 0;
    bool found = false;
    const uint32_t lists[2][2] = {{member->begin, member->n}, {member->p2p_begin, member->n_p2p}};
    for (int k = 0; k < 2; k++)
        for (uint32_t i = lists[k][1]; i-- > 0;) {
            uint32_t entry = rank->order[lists[k][0] + i];
            if (!found || entry > newest) newest = entry;
            found = true;
            if (k == 1) break; /* point-to-point entries are in the order of their records */
            if (lists[k][1] - i > 64) break;
        }
    return found ? &rank->entries[newest] : NULL;
}

static bool is_gloo(const rs_flight *flight, const rs_fl_entry *e)
{
    return strncmp(rs_fl_text(flight, rs_fl_call_of(flight, e)->name), "gloo:", 5) == 0;
}

static rs_fl_counts counts_of(const rs_flight *flight, const rs_fl_rank *rank, const rs_fl_member *member)
{
    const rs_fl_group *group = &flight->groups[member->group];
    const rs_fl_entry *e = newest_entry(rank, member);
    int64_t last = member->enqueued;
    if (!e || last == RS_FL_UNKNOWN) return RS_FL_COUNTS_UNKNOWN;
    if (!e->is_p2p && last == e->seq) return RS_FL_COUNTS_COLLECTIVES;
    if (e->is_p2p && last == e->p2p_seq) return RS_FL_COUNTS_P2P;
    if (last == e->op_id) return RS_FL_COUNTS_OPS;
    /* Something newer was issued and is not in the dump: a dump of active entries leaves out what is
     * completed. Gloo counts sends and receives too, and records none. */
    bool may_leave_out = rank->shape == RS_FL_ACTIVE || rank->cut || !is_gloo(flight, e);
    if (!group->mixed && group->ops_equal && last > e->seq && may_leave_out) return RS_FL_COUNTS_COLLECTIVES;
    return RS_FL_COUNTS_UNKNOWN;
}

/* One recorder serves the whole job: a rank without entries of a group counts as the members with entries do.
 */
static rs_fl_counts borrowed_counts(const rs_flight *flight, const rs_fl_group *group)
{
    rs_fl_counts counts = RS_FL_COUNTS_UNKNOWN;
    for (uint32_t m = 0; m < group->n_members; m++) {
        const rs_fl_member *member = flight->by_group[group->first_member + m];
        if ((!member->n && !member->n_p2p) || member->counts == RS_FL_COUNTS_UNKNOWN) continue;
        /* In a mixed group a status counts collectives or transfers, whichever came last: one recorder does
         * both. */
        rs_fl_counts own = group->mixed && member->counts == RS_FL_COUNTS_P2P ? RS_FL_COUNTS_COLLECTIVES
                                                                              : (rs_fl_counts)member->counts;
        if (counts != RS_FL_COUNTS_UNKNOWN && counts != own) return RS_FL_COUNTS_UNKNOWN;
        counts = own;
    }
    return counts == RS_FL_COUNTS_P2P ? RS_FL_COUNTS_UNKNOWN : counts;
}

#define NEAR 64

static bool is_near(int64_t a, int64_t b)
{
    int64_t apart;
    return !__builtin_sub_overflow(a, b, &apart) && apart <= NEAR && apart >= -NEAR;
}

/* Whether a number lies among the collectives of a mixed group, and far from all its transfers' numbers: then
 * it is a collective's. */
static bool is_near_collectives(const rs_flight *flight, const rs_fl_group *group, int64_t number)
{
    bool near = false;
    for (uint32_t m = 0; m < group->n_members; m++) {
        const rs_fl_member *member = flight->by_group[group->first_member + m];
        const rs_fl_rank *rank = &flight->ranks[member->rank];
        const uint32_t lists[2][2] = {{member->begin, member->n}, {member->p2p_begin, member->n_p2p}};
        for (int k = 0; k < 2; k++)
            for (uint32_t i = 0; i < lists[k][1]; i++) {
                const rs_fl_entry *e = &rank->entries[rank->order[lists[k][0] + i]];
                if (e->p2p_seq > 0 && is_near(e->p2p_seq, number)) return false;
                near = near || is_near(e->seq, number);
            }
    }
    return near;
}

/* The newest collective whose op id is at most `op`; RS_FL_UNKNOWN when the ids follow no rule. */
static int64_t seq_of_op(const rs_fl_group *group, int64_t op)
{
    if (group->op_step <= 0) return RS_FL_UNKNOWN;
    int64_t past;
    if (__builtin_sub_overflow(op, group->op_base, &past)) return RS_FL_UNKNOWN;
    return past < 0 ? 0 : past / group->op_step;
}

static void set_frontier(const rs_flight *flight, rs_fl_member *member)
{
    const rs_fl_group *group = &flight->groups[member->group];
    member->issued_seq = member->done_seq = RS_FL_UNKNOWN;
    if (member->enqueued == -1) {
        member->issued_seq = member->done_seq = 0; /* nothing was ever issued, whatever the number counts */
        return;
    }
    switch (member->counts) {
    case RS_FL_COUNTS_COLLECTIVES:
        member->issued_seq = member->enqueued;
        /* One stream a group, in order: all up to the last completed are completed. Where point-to-point
         * operations share the status the number may be one of theirs. */
        if (group->mixed && member->done == member->enqueued &&
            is_near_collectives(flight, group, member->done))
            member->done_seq = member->done; /* the last work is a collective, and completed */
        if (!group->mixed && member->done != RS_FL_UNKNOWN)
            member->done_seq = member->done < 0 ? 0 : member->done;
        break;
    case RS_FL_COUNTS_OPS:
        if (group->mixed) break;
        member->issued_seq = seq_of_op(group, member->enqueued);
        if (member->done != RS_FL_UNKNOWN)
            member->done_seq = member->done < 0 ? 0 : seq_of_op(group, member->done);
        break;
    default: break;
    }
    if (member->last_seq != RS_FL_UNKNOWN && member->issued_seq != RS_FL_UNKNOWN &&
        member->issued_seq < member->last_seq)
        member->issued_seq = member->last_seq;
}

/* ---- states -------------------------------------------------------------------------------------------- */

static void lift_states(rs_fl_rank *rank, const rs_fl_member *member, bool mixed)
{
    for (uint32_t i = 0; i < member->n; i++) {
        rs_fl_entry *e = &rank->entries[rank->order[member->begin + i]];
        if (member->done_seq != RS_FL_UNKNOWN && e->seq > 0 && e->seq <= member->done_seq)
            e->state = RS_FL_COMPLETED;
        else if (member->counts == RS_FL_COUNTS_COLLECTIVES && !mixed && member->began != RS_FL_UNKNOWN &&
                 e->seq > 0 && e->seq <= member->began && e->state == RS_FL_SCHEDULED)
            e->state = RS_FL_STARTED;
    }
}

/* Inside a batch real recorders mark nothing completed: its entries have no events of their own, its end mark
 * has. */
static void share_mark(rs_fl_rank *rank, const uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const rs_fl_entry *mark = &rank->entries[order[i]];
        if (!mark->marker) continue;
        for (uint32_t k = i; k-- > 0;) {
            rs_fl_entry *e = &rank->entries[order[k]];
            if (e->marker || (mark->is_p2p ? e->p2p_seq != mark->p2p_seq : e->seq != mark->seq)) break;
            e->state = mark->state;
        }
    }
}

static int64_t number_of(const rs_fl_entry *e)
{
    return e->is_p2p ? e->p2p_seq : e->seq;
}

/* A dump of active entries drops the end mark of a batch that is completed and keeps what was inside, which
 * never gets a state. Several entries under one number without their mark are such a rest; where a rank
 * batches its transfers, so is a single one. */
static void drop_batch_rests(rs_fl_rank *rank, const uint32_t *order, uint32_t n)
{
    bool batches = false;
    for (uint32_t i = 0; i < n && !batches; i++) {
        const rs_fl_entry *e = &rank->entries[order[i]];
        batches = e->is_p2p && (e->marker || (i > 0 && rank->entries[order[i - 1]].p2p_seq == e->p2p_seq));
    }
    for (uint32_t i = 0; i < n;) {
        uint32_t stop = i;
        bool marked = false;
        while (stop < n && number_of(&rank->entries[order[stop]]) == number_of(&rank->entries[order[i]]))
            marked = rank->entries[order[stop++]].marker || marked;
        if (!marked && (stop - i > 1 || batches))
            for (uint32_t k = i; k < stop; k++) rank->entries[order[k]].state = RS_FL_COMPLETED;
        i = stop;
    }
}

/* Gloo never writes a state; it retires what is done, and its status counts op ids. Nccl retires what has
 * timed out, too: an entry counts as done where the status says that later work of the group is. */
static void lift_retired(rs_fl_rank *rank)
{
    if (!rank->status_done) return;
    for (size_t i = 0; i < rank->n; i++)
        if (rank->entries[i].state == RS_FL_COMPLETED) return;
    for (size_t m = 0; m < rank->n_members; m++) {
        const rs_fl_member *member = &rank->members[m];
        if (member->done == RS_FL_UNKNOWN || member->done < 0) continue;
        for (uint32_t i = 0; i < member->n; i++) {
            rs_fl_entry *e = &rank->entries[rank->order[member->begin + i]];
            if (e->retired && e->op_id > 0 && e->op_id <= member->done) e->state = RS_FL_COMPLETED;
        }
    }
}

/* Whether any start was ever recorded: without timing, `scheduled` means no more than open. */
static bool records_starts(const rs_flight *flight)
{
    for (size_t r = 0; r < flight->n_ranks; r++) {
        const rs_fl_rank *rank = &flight->ranks[r];
        for (size_t m = 0; m < rank->n_members; m++)
            if (rank->members[m].began != RS_FL_UNKNOWN && rank->members[m].began >= 0) return true;
        for (size_t i = 0; i < rank->n; i++)
            if (rank->entries[i].state == RS_FL_STARTED || rank->entries[i].started) return true;
    }
    return false;
}

void rs_fl_read_statuses(rs_flight *flight)
{
    flight->timed = records_starts(flight);
    for (size_t r = 0; r < flight->n_ranks; r++) {
        lift_retired(&flight->ranks[r]);
        find_shape(&flight->ranks[r]);
    }
    for (size_t g = 0; g < flight->n_groups; g++) {
        rs_fl_group *group = &flight->groups[g];
        find_numbering(flight, group);
        for (uint32_t m = 0; m < group->n_members; m++) {
            rs_fl_member *member = flight->by_group[group->first_member + m];
            member->counts = (uint8_t)counts_of(flight, &flight->ranks[member->rank], member);
        }
        rs_fl_counts borrowed = borrowed_counts(flight, group);
        for (uint32_t m = 0; m < group->n_members; m++) {
            rs_fl_member *member = flight->by_group[group->first_member + m];
            bool bare = !member->n && !member->n_p2p && member->enqueued != RS_FL_UNKNOWN;
            bool fits = borrowed != RS_FL_COUNTS_COLLECTIVES || !group->mixed ||
                        is_near_collectives(flight, group, member->enqueued);
            if (bare && fits) member->counts = (uint8_t)borrowed;
            set_frontier(flight, member);
        }
    }
    for (size_t r = 0; r < flight->n_ranks; r++) {
        rs_fl_rank *rank = &flight->ranks[r];
        for (size_t m = 0; m < rank->n_members; m++) {
            rs_fl_member *member = &rank->members[m];
            lift_states(rank, member, flight->groups[member->group].mixed);
            share_mark(rank, rank->order + member->begin, member->n);
            share_mark(rank, rank->order + member->p2p_begin, member->n_p2p);
            if (rank->shape != RS_FL_ACTIVE) continue;
            drop_batch_rests(rank, rank->order + member->begin, member->n);
            drop_batch_rests(rank, rank->order + member->p2p_begin, member->n_p2p);
        }
    }
}

/* ---- presence ------------------------------------------------------------------------------------------ */

/* A rank with entries of the group that has not this number among them. */
static rs_fl_presence between(const rs_fl_rank *rank, const rs_fl_member *member, int64_t seq,
                              rs_fl_state *state)
{
    /* Numbers are given at each issue: who has a later one has issued this one. The group's operations run in
     * order, so the oldest retained one says whether anything later has begun. */
    const rs_fl_entry *oldest = &rank->entries[rank->order[member->begin]];
    bool later_began = oldest->state == RS_FL_STARTED || oldest->state == RS_FL_COMPLETED;
    *state = rank->shape == RS_FL_ACTIVE || member->first_seq < seq || later_began ? RS_FL_COMPLETED
                                                                                   : RS_FL_NO_STATE;
    return RS_FL_JOINED;
}

/* A rank whose dump holds nothing of the group. */
static rs_fl_presence without_entries(const rs_fl_rank *rank, int64_t first_created)
{
    if (rank->cut || rank->filtered) return RS_FL_OBSCURE;
    if (!rank->n) return rank->n_members ? RS_FL_OBSCURE : rank->has_entries ? RS_FL_ABSENT : RS_FL_OBSCURE;
    if (!rank->wrapped) return RS_FL_ABSENT;
    /* The ring has lost its oldest entries: had it issued this one when the others did, would it still hold
     * it? */
    int64_t oldest = rank->entries[0].created;
    return first_created && oldest && rs_sub_sat(oldest, rank->clock) < first_created ? RS_FL_ABSENT
                                                                                      : RS_FL_OBSCURE;
}

rs_fl_presence rs_fl_presence_of(const rs_flight *flight, uint32_t index, uint32_t group, int64_t seq,
                                 int64_t first_created, rs_fl_state *state)
{
    *state = RS_FL_NO_STATE;
    if (index == RS_FL_NONE) return RS_FL_OBSCURE;
    const rs_fl_rank *rank = &flight->ranks[index];
    const rs_fl_member *member = rs_fl_member_of(flight, index, group);
    rs_fl_unit unit;
    if (member) {
        bool done = member->done_seq != RS_FL_UNKNOWN && member->done_seq >= seq;
        if (member->n && rs_fl_find_unit(flight, member, seq, &unit)) {
            *state = done                              ? RS_FL_COMPLETED
                     : rank->shape == RS_FL_ISSUE_ONLY ? RS_FL_NO_STATE
                                                       : rs_fl_unit_state(flight, &unit);
            return RS_FL_JOINED;
        }
        if (done) {
            *state = RS_FL_COMPLETED;
            return RS_FL_JOINED;
        }
        if (member->n && member->last_seq > seq) return between(rank, member, seq, state);
        if (member->issued_seq != RS_FL_UNKNOWN) {
            if (member->issued_seq < seq) return RS_FL_ABSENT;
            *state = rank->shape == RS_FL_ACTIVE ? RS_FL_COMPLETED : RS_FL_SCHEDULED;
            return RS_FL_JOINED;
        }
    }
    if (rank->shape == RS_FL_ACTIVE || rank->shape == RS_FL_STATUS_ONLY) return RS_FL_OBSCURE;
    if (member && member->n) return rank->cut || rank->filtered ? RS_FL_OBSCURE : RS_FL_ABSENT;
    return without_entries(rank, first_created);
}

bool rs_fl_one_sided(uint8_t kind)
{
    return kind == RS_FL_BROADCAST || kind == RS_FL_REDUCE || kind == RS_FL_GATHER || kind == RS_FL_SCATTER;
}

/* Whether a status that could not be joined to any group shows that number as the last, and completed. Groups
 * with hashed names leave their statuses so; numbers as high as real ones are hardly ever met twice, low ones
 * are. */
static bool loose_status_has(const rs_fl_rank *rank, int64_t seq)
{
    for (uint32_t i = 0; i < rank->n_loose; i++)
        if (rank->loose[i].enqueued == seq && rank->loose[i].done == seq)
            return seq > NEAR || rank->n_loose == 1;
    return false;
}

size_t rs_fl_presence_of_all(const rs_flight *flight, uint32_t index, int64_t seq, int64_t first_created,
                             bool one_sided, rs_fl_answer *answers)
{
    const rs_fl_group *group = &flight->groups[index];
    size_t completed = 0, open = 0;
    for (uint32_t s = 0; s < group->n; s++) {
        rs_fl_state state;
        answers[s].presence =
            (uint8_t)rs_fl_presence_of(flight, group->index[s], index, seq, first_created, &state);
        answers[s].state = (uint8_t)state;
        if (answers[s].presence != RS_FL_JOINED) continue;
        completed += state == RS_FL_COMPLETED;
        open += state != RS_FL_COMPLETED;
    }
    if (completed || !open || one_sided) return completed;
    for (uint32_t s = 0; s < group->n; s++)
        if (answers[s].presence == RS_FL_OBSCURE && group->index[s] != RS_FL_NONE &&
            flight->ranks[group->index[s]].shape == RS_FL_ACTIVE) {
            bool done = loose_status_has(&flight->ranks[group->index[s]], seq);
            answers[s].presence = done ? RS_FL_JOINED : RS_FL_ABSENT;
            answers[s].state = done ? RS_FL_COMPLETED : RS_FL_NO_STATE;
            completed += done;
        }
    return completed;
}

int64_t rs_fl_done_of(const rs_flight *flight, const rs_fl_member *member)
{
    const rs_fl_rank *rank = &flight->ranks[member->rank];
    int64_t done = member->done_seq;
    for (uint32_t i = 0; i < member->n; i++) {
        const rs_fl_entry *e = &rank->entries[rank->order[member->begin + i]];
        if (e->state == RS_FL_COMPLETED) {
            if (e->seq > done) done = e->seq;
            continue;
        }
        /* What is not in a dump of active entries, and has a later one there, is completed. */
        if (rank->shape == RS_FL_ACTIVE && e->seq - 1 > done) done = e->seq - 1;
        break;
    }
    return rank->shape == RS_FL_ISSUE_ONLY ? RS_FL_UNKNOWN : done;
}
