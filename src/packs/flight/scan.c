/* The skip all operations: what differs between ranks, and how their clocks stand to each other. */
#include "base/order.h"
#include "flight/analyse.h"

#include <string.h>

#define SAMPLES 63 /* operations of a group that clocks are compared by */

/* Median creation time of each member against the group's, over the sampled operations. */
typedef struct skew {
    uint32_t rank, group;
    int64_t ns;
} skew;

typedef struct scan {
    rs_fl_analysis *a;
    uint64_t *votes;
    uint32_t *culprits;
    size_t room;       /* of votes / 2 and culprits */
    size_t n_active;   /* members of the group that recorded collectives in it */
    rs_fl_found first; /* the group's first mismatch; verdict HEALTHY: none yet */
    int64_t *first_culprits;
    size_t n_first_culprits;
    size_t n_mismatches;
    int64_t *samples; /* by unit and sample */
    uint32_t *n_samples;
    int64_t *times, *sorted;
    skew *skews;
    size_t n_skews, skews_capacity;
} scan;

static const rs_order by_time[] = {RS_RISING_VALUE(int64_t)};

/* Sorts a copy; values must not be empty. */
static int64_t median(int64_t *copy, const int64_t *values, size_t n)
{
    memcpy(copy, values, n * sizeof *values);
    RS_SORT(copy, n, by_time);
    return copy[n / 2];
}

static uint32_t entry_number(const rs_flight *flight, const rs_fl_unit *unit, uint32_t position)
{
    return flight->ranks[unit->rank].order[unit->first + position];
}

static void keep_first(scan *s, const rs_fl_op *op, const rs_fl_mismatch *m)
{
    rs_flight *flight = s->a->flight;
    s->n_mismatches++;
    if (s->first.finding.verdict != RS_FLIGHT_HEALTHY) return;
    rs_fl_found f = {.finding = {.verdict = m->verdict, .seq = op->seq},
                     .group = op->group,
                     .kind = RS_FLIGHT_ROOT_MISMATCH,
                     .stage = RS_FL_STAGE_MISMATCH,
                     .when = INT64_MAX,
                     .partner_rank = RS_FL_NONE,
                     .about = m->about,
                     .contradiction = m->contradiction};
    size_t c = 0;
    for (size_t i = 0; i < op->n; i++) {
        bool guilty = c < m->n_culprits && m->culprits[c] == i;
        uint32_t position = m->position < op->units[i].n ? m->position : 0;
        if (guilty) {
            const rs_fl_rank *rank = &flight->ranks[op->units[i].rank];
            s->first_culprits[c++] = rank->rank;
            if (c == 1) {
                f.rank = op->units[i].rank;
                f.entry = entry_number(flight, &op->units[i], position);
            }
        } else if (f.partner_rank == RS_FL_NONE) {
            f.partner_rank = op->units[i].rank;
            f.partner_entry = entry_number(flight, &op->units[i], position);
        }
    }
    for (size_t i = 1; f.partner_rank == RS_FL_NONE && !m->contradiction && i < op->n; i++) {
        f.partner_rank = op->units[i].rank;
        f.partner_entry = entry_number(flight, &op->units[i], m->position < op->units[i].n ? m->position : 0);
    }
    s->n_first_culprits = c;
    s->first = f;
}

static void sample_times(scan *s, const rs_fl_op *op)
{
    rs_flight *flight = s->a->flight;
    size_t stride = op->n_ops / SAMPLES + 1, n = 0;
    if (op->n < 2 || op->number % stride || op->n < s->n_active) return;
    for (size_t i = 0; i < op->n; i++) {
        int64_t created = rs_fl_unit_entry(flight, &op->units[i], 0)->created;
        if (!created) return;
        s->times[n++] = created;
    }
    int64_t middle = median(s->sorted, s->times, n);
    for (size_t i = 0; i < n; i++)
        if (s->n_samples[i] < SAMPLES + 1)
            s->samples[i * (SAMPLES + 1) + s->n_samples[i]++] = s->times[i] - middle;
}

static rs_status look_at_op(void *context, rs_flight *flight, const rs_fl_op *op, rs_error *err)
{
    scan *s = context;
    (void)err;
    rs_fl_mismatch m = {.culprits = s->culprits};
    rs_fl_check_op(flight, op, s->votes, &m);
    if (m.verdict != RS_FLIGHT_HEALTHY && m.n_culprits) keep_first(s, op, &m);
    sample_times(s, op);
    return RS_OK;
}

static bool keep_skews(scan *s, uint32_t g)
{
    rs_flight *flight = s->a->flight;
    const rs_fl_group *group = &flight->groups[g];
    int64_t copy[SAMPLES + 1];
    for (uint32_t m = 0; m < group->n_members; m++) {
        if (s->n_samples[m] < 4) continue;
        if (!RS_PUSH(s->skews, s->n_skews, s->skews_capacity,
                     (skew){flight->by_group[group->first_member + m]->rank, g,
                            median(copy, s->samples + (size_t)m * (SAMPLES + 1), s->n_samples[m])}))
            return false;
    }
    return true;
}

static bool make_room(scan *s, size_t n)
{
    rs_free_all(s->votes, s->culprits, s->first_culprits, s->samples, s->n_samples, s->times, s->sorted);
    s->votes = rs_malloc(2 * n * sizeof *s->votes);
    s->culprits = rs_malloc(n * sizeof *s->culprits);
    s->first_culprits = rs_malloc(n * sizeof *s->first_culprits);
    s->samples = rs_malloc(n * (SAMPLES + 1) * sizeof *s->samples);
    s->n_samples = rs_malloc(n * sizeof *s->n_samples);
    s->times = rs_malloc(n * sizeof *s->times);
    s->sorted = rs_malloc(n * sizeof *s->sorted);
    s->room = n;
    return s->votes && s->culprits && s->first_culprits && s->samples && s->n_samples && s->times &&
           s->sorted;
}

static void free_scan(scan *s)
{
    rs_free_all(s->votes, s->culprits, s->first_culprits, s->samples, s->n_samples, s->times, s->sorted,
                s->skews);
}

/* Every group says how its members' clocks differ; a rank's offset is what fits all its groups: relaxed in a
 * few rounds, then centred so that the job's median clock is the common one. */
static bool solve_clocks(scan *s)
{
    rs_flight *flight = s->a->flight;
    RS_LOCAL double *offset = rs_calloc(flight->n_ranks, sizeof *offset),
                    *sum = rs_calloc(flight->n_ranks, sizeof *sum);
    RS_LOCAL double *group_mean = rs_calloc(flight->n_groups, sizeof *group_mean);
    RS_LOCAL uint32_t *count = rs_calloc(flight->n_ranks, sizeof *count),
                      *group_count = rs_calloc(flight->n_groups, sizeof *group_count);
    RS_LOCAL int64_t *sorted = rs_malloc(flight->n_ranks * sizeof *sorted);
    bool good = offset && sum && group_mean && count && group_count && sorted;
    for (int round = 0; good && round < 24 && s->n_skews; round++) {
        memset(group_mean, 0, flight->n_groups * sizeof *group_mean);
        memset(group_count, 0, flight->n_groups * sizeof *group_count);
        memset(sum, 0, flight->n_ranks * sizeof *sum);
        memset(count, 0, flight->n_ranks * sizeof *count);
        for (size_t i = 0; i < s->n_skews; i++) {
            group_mean[s->skews[i].group] += offset[s->skews[i].rank] - (double)s->skews[i].ns;
            group_count[s->skews[i].group]++;
        }
        for (size_t i = 0; i < s->n_skews; i++) {
            const skew *k = &s->skews[i];
            sum[k->rank] += (double)k->ns + group_mean[k->group] / group_count[k->group];
            count[k->rank]++;
        }
        for (size_t r = 0; r < flight->n_ranks; r++)
            if (count[r]) offset[r] = sum[r] / count[r];
    }
    size_t n = 0;
    for (size_t r = 0; good && r < flight->n_ranks; r++)
        if (count[r]) sorted[n++] = (int64_t)offset[r];
    if (n) {
        RS_SORT(sorted, n, by_time);
        for (size_t r = 0; r < flight->n_ranks; r++)
            flight->ranks[r].clock = count[r] ? (int64_t)offset[r] - sorted[n / 2] : 0;
    }
    return good;
}

/* ---- point-to-point ------------------------------------------------------------------------------------ */

/* Whether the two sizes that differ are met the other way round nearby: then the order is wrong, not a size.
 */
static bool swapped(const rs_flight *flight, const rs_fl_p2p *p2p, const rs_fl_pair *pair, uint32_t i,
                    uint32_t j)
{
    const rs_fl_entry *s = flight->ranks[pair->src_rank].entries, *r = flight->ranks[pair->dst_rank].entries;
    int64_t sent = rs_fl_p2p_numel(rs_fl_call_of(flight, &s[p2p->entries[pair->sends + i]]));
    int64_t taken = rs_fl_p2p_numel(rs_fl_call_of(flight, &r[p2p->entries[pair->recvs + j]]));
    bool sent_later = false, taken_later = false;
    for (uint32_t d = 1; d <= 8; d++) {
        if (j + d < pair->n_recvs)
            sent_later |=
                rs_fl_p2p_numel(rs_fl_call_of(flight, &r[p2p->entries[pair->recvs + j + d]])) == sent;
        if (i + d < pair->n_sends)
            taken_later |=
                rs_fl_p2p_numel(rs_fl_call_of(flight, &s[p2p->entries[pair->sends + i + d]])) == taken;
    }
    return sent_later && taken_later;
}

static bool compare_pair(scan *s, uint32_t group, const rs_fl_p2p *p2p, const rs_fl_pair *pair,
                         rs_fl_found *out)
{
    rs_flight *flight = s->a->flight;
    if (pair->src_rank == RS_FL_NONE || pair->dst_rank == RS_FL_NONE) return false;
    for (uint32_t i = 0; i < pair->n_sends; i++) {
        int64_t j = (int64_t)i + pair->shift;
        if (j < 0) continue;
        if (j >= (int64_t)pair->n_recvs) break;
        uint32_t a = p2p->entries[pair->sends + i], b = p2p->entries[pair->recvs + (uint32_t)j];
        const rs_fl_entry *x = &flight->ranks[pair->src_rank].entries[a],
                          *y = &flight->ranks[pair->dst_rank].entries[b];
        if (x->call == y->call) continue;
        const rs_fl_call *cx = rs_fl_call_of(flight, x), *cy = rs_fl_call_of(flight, y);
        bool sizes = rs_fl_p2p_numel(cx) == rs_fl_p2p_numel(cy) || (!cx->n_in && !cx->n_out) ||
                     (!cy->n_in && !cy->n_out);
        uint32_t tx = cx->in_dtype ? cx->in_dtype : cx->out_dtype,
                 ty = cy->out_dtype ? cy->out_dtype : cy->in_dtype;
        bool types = tx == ty || !tx || !ty;
        if (sizes && types) continue;
        /* Where the ring has wrapped the partners are inferred: only open ones are sure enough to accuse by.
         */
        if (!pair->exact && x->state == RS_FL_COMPLETED && y->state == RS_FL_COMPLETED) continue;
        rs_flight_verdict verdict = sizes ? RS_FLIGHT_DTYPE_MISMATCH
                                    : swapped(flight, p2p, pair, i, (uint32_t)j)
                                        ? RS_FLIGHT_P2P_ORDER
                                        : RS_FLIGHT_P2P_SIZE_MISMATCH;
        *out = (rs_fl_found){.finding = {.verdict = verdict, .seq = x->p2p_seq, .p2p = true},
                             .group = group,
                             .rank = pair->src_rank,
                             .entry = a,
                             .partner_rank = pair->dst_rank,
                             .partner_entry = b,
                             .when = INT64_MAX,
                             .kind = RS_FLIGHT_ROOT_MISMATCH,
                             .stage = RS_FL_STAGE_MISMATCH,
                             .about = sizes ? "the element type" : "the number of elements"};
        return true;
    }
    return false;
}

static rs_status check_p2p(scan *s, uint32_t g, rs_error *err)
{
    rs_flight *flight = s->a->flight;
    const rs_fl_group *group = &flight->groups[g];
    size_t total = 0;
    for (uint32_t m = 0; m < group->n_members; m++) total += flight->by_group[group->first_member + m]->n_p2p;
    if (!total) return RS_OK;
    const rs_fl_p2p *p2p;
    rs_status status = rs_fl_p2p_of(flight, g, &p2p, err);
    for (size_t i = 0; status == RS_OK && i < p2p->n_pairs; i++) {
        rs_fl_found f;
        if (!compare_pair(s, g, p2p, &p2p->pairs[i], &f)) continue;
        int64_t both[2] = {flight->ranks[f.rank].rank, flight->ranks[f.partner_rank].rank};
        status = rs_fl_add_found(s->a, &f, both, 2, err);
    }
    return status;
}

/* Findings made before the clocks were known get their time now. */
static void date_findings(rs_fl_analysis *a)
{
    for (size_t i = 0; i < a->n_found; i++) {
        rs_fl_found *f = &a->found[i];
        const rs_fl_rank *rank = &a->flight->ranks[f->rank];
        int64_t ns = rs_fl_common(rank, rank->entries[f->entry].created);
        if (ns) f->when = ns;
    }
}

rs_status rs_fl_find_mismatches(rs_fl_analysis *a, rs_error *err)
{
    RS_SCOPED(free_scan) scan s = {.a = a};
    rs_flight *flight = a->flight;
    rs_status status = RS_OK;
    for (uint32_t g = 0; status == RS_OK && g < flight->n_groups; g++) {
        const rs_fl_group *group = &flight->groups[g];
        if (!group->n_members) continue;
        if (group->n_members > s.room && !make_room(&s, group->n_members)) {
            status = rs_fail_nomem(err, "matching");
            break;
        }
        s.n_active = 0;
        for (uint32_t m = 0; m < group->n_members; m++)
            s.n_active += flight->by_group[group->first_member + m]->n > 0;
        memset(s.n_samples, 0, group->n_members * sizeof *s.n_samples);
        s.first = (rs_fl_found){.finding.verdict = RS_FLIGHT_HEALTHY};
        s.n_mismatches = 0;
        status = rs_fl_scan_group(flight, g, look_at_op, &s, err);
        if (status == RS_OK && !keep_skews(&s, g)) status = rs_fail_nomem(err, "clock offsets");
        if (status == RS_OK && s.n_mismatches) {
            s.first.more = s.n_mismatches - 1;
            status = rs_fl_add_found(a, &s.first, s.first_culprits, s.n_first_culprits, err);
        }
    }
    if (status == RS_OK && !solve_clocks(&s)) status = rs_fail_nomem(err, "clock offsets");
    /* Pairs are aligned by times where a ring has wrapped: the clocks have to be known. */
    for (uint32_t g = 0; status == RS_OK && g < flight->n_groups; g++) status = check_p2p(&s, g, err);
    if (status == RS_OK) date_findings(a);
    return status;
}
