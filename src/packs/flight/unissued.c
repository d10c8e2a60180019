/* Where no dump tells of completions nobody can be seen waiting. What is left: who has issued less than
 * others of a group, and of these the one that went silent first. */
#include "flight/graph.h"

static int64_t issued_of(const rs_fl_member *member)
{
    return member->issued_seq > member->last_seq ? member->issued_seq : member->last_seq;
}

/* Whether some other member of one of the rank's groups has issued more than the rank. */
static bool is_behind(const rs_flight *flight, const rs_fl_rank *rank)
{
    for (size_t m = 0; m < rank->n_members; m++) {
        const rs_fl_member *own = &rank->members[m];
        const rs_fl_group *group = &flight->groups[own->group];
        if (issued_of(own) == RS_FL_UNKNOWN) continue;
        for (uint32_t o = 0; o < group->n_members; o++)
            if (issued_of(flight->by_group[group->first_member + o]) > issued_of(own)) return true;
    }
    return false;
}

rs_status rs_fl_find_unissued(rs_fl_graph *g, rs_error *err)
{
    rs_flight *flight = g->flight;
    uint32_t chosen = RS_FL_NONE;
    for (uint32_t r = 0; r < flight->n_ranks; r++) {
        const rs_fl_rank *rank = &flight->ranks[r];
        if (rank->shape != RS_FL_ISSUE_ONLY) return RS_OK; /* the others' completions tell */
        if (!is_behind(flight, rank)) continue;
        if (chosen == RS_FL_NONE || rs_fl_common(rank, rank->newest) <
                                        rs_fl_common(&flight->ranks[chosen], flight->ranks[chosen].newest))
            chosen = r;
    }
    rs_fl_missed m;
    if (chosen == RS_FL_NONE) return RS_OK;
    rs_status status = rs_fl_first_missed(g, chosen, &m, err);
    if (status != RS_OK || m.rank == RS_FL_NONE) return status;
    rs_fl_found f = {.finding = {.verdict = RS_FLIGHT_RANK_MISSING, .seq = m.seq, .p2p = m.p2p},
                     .kind = RS_FLIGHT_ROOT_SILENT,
                     .group = m.group,
                     .rank = m.rank,
                     .entry = m.entry,
                     .partner_rank = RS_FL_NONE,
                     .when = m.when,
                     .stage = RS_FL_STAGE_HANG};
    return rs_fl_add_found(g->a, &f, &flight->ranks[chosen].rank, 1, err);
}
