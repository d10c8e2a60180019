/* Once all dumps are in: ranks in order, groups resolved, entries sorted by group. */
#include "base/order.h"
#include "base/search.h"
#include "flight/presence.h"

#include <string.h>

static const rs_order compare_ranks[] = {RS_RISING(rs_fl_rank, rank), RS_RISING(rs_fl_rank, file)};

uint32_t rs_fl_rank_index(const rs_flight *flight, int64_t rank)
{
    size_t low;
    RS_SEARCH(low, flight->n_ranks, flight->ranks[low].rank < rank);
    return low < flight->n_ranks && flight->ranks[low].rank == rank ? (uint32_t)low : RS_FL_NONE;
}

const rs_fl_member *rs_fl_member_of(const rs_flight *flight, uint32_t rank, uint32_t group)
{
    const rs_fl_rank *r = &flight->ranks[rank];
    for (size_t i = 0; i < r->n_members; i++)
        if (r->members[i].group == group) return &r->members[i];
    return NULL;
}

const rs_fl_note *rs_fl_note_of(const rs_flight *flight, int64_t rank)
{
    size_t low;
    RS_SEARCH(low, flight->n_notes, flight->notes[low].rank < rank);
    return low < flight->n_notes && flight->notes[low].rank == rank ? &flight->notes[low] : NULL;
}

rs_fl_note *rs_fl_note_put(rs_flight *flight, int64_t rank)
{
    const rs_fl_note *known = rs_fl_note_of(flight, rank);
    if (known) return flight->notes + (known - flight->notes);
    if (!RS_GROW_ONE(flight->notes, flight->n_notes, flight->notes_capacity)) return NULL;
    size_t at = flight->n_notes++;
    while (at > 0 && flight->notes[at - 1].rank > rank) {
        flight->notes[at] = flight->notes[at - 1];
        at--;
    }
    flight->notes[at] = (rs_fl_note){.rank = rank,
                                     .host = RS_FL_NONE,
                                     .address = RS_FL_NONE,
                                     .failure = RS_FL_NONE,
                                     .stack_file = RS_FL_NONE,
                                     .title = RS_FL_NONE};
    return &flight->notes[at];
}

const char *rs_fl_host_of(const rs_flight *flight, int64_t rank)
{
    const rs_fl_note *note = rs_fl_note_of(flight, rank);
    return note ? rs_fl_text(flight, note->host) : NULL;
}

static rs_status sort_ranks(rs_flight *flight, rs_error *err)
{
    RS_SORT(flight->ranks, flight->n_ranks, compare_ranks);
    for (size_t i = 1; i < flight->n_ranks; i++)
        if (flight->ranks[i].rank == flight->ranks[i - 1].rank)
            return rs_fail(
                err, RS_ERR_AMBIGUOUS,
                "%s and %s are both rank %lld: give one of them as RANK=PATH, or choose by --prefix",
                flight->ranks[i - 1].file, flight->ranks[i].file, (long long)flight->ranks[i].rank);
    for (size_t i = 0; i < flight->n_ranks; i++)
        for (size_t m = 0; m < flight->ranks[i].n_members; m++)
            flight->ranks[i].members[m].rank = (uint32_t)i;
    return RS_OK;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

/* Groups of one uid, as a chain through `next`. */
typedef struct chains {
    rs_map64 first; /* uid -> group + 1 */
    uint32_t *next;
} chains;

static bool build_chains(const rs_flight *flight, chains *c)
{
    c->next = rs_malloc(flight->n_groups * sizeof *c->next);
    if (!c->next) return false;
    for (size_t g = flight->n_groups; g-- > 0;) {
        bool is_new;
        uint32_t *first = rs_map64_put(&c->first, flight->groups[g].uid, &is_new);
        if (!first) return false;
        c->next[g] = is_new ? RS_FL_NONE : *first - 1;
        *first = (uint32_t)g + 1;
    }
    return true;
}

static uint32_t chain_start(const chains *c, uint32_t uid)
{
    const uint32_t *first = rs_map64_get(&c->first, uid);
    return first ? *first - 1 : RS_FL_NONE;
}

/* A rank that uses a group its own dump does not describe: another dump may, if exactly one of that uid has
 * it. */
static void adopt_groups(rs_flight *flight, const chains *c)
{
    for (size_t r = 0; r < flight->n_ranks; r++)
        for (size_t m = 0; m < flight->ranks[r].n_members; m++) {
            rs_fl_member *member = &flight->ranks[r].members[m];
            if (flight->groups[member->group].described) continue;
            uint32_t found = RS_FL_NONE, n = 0;
            for (uint32_t g = chain_start(c, flight->groups[member->group].uid); g != RS_FL_NONE;
                 g = c->next[g])
                if (flight->groups[g].described &&
                    rs_fl_slot_of(&flight->groups[g], flight->ranks[r].rank) != RS_FL_NONE) {
                    found = g;
                    n++;
                }
            if (n == 1) member->group = found;
        }
}

/* What no dump describes has at least those members that used it. */
static bool guess_members(rs_flight *flight)
{
    RS_LOCAL size_t *counts = rs_calloc(flight->n_groups, sizeof *counts);
    if (!counts) return false;
    for (size_t r = 0; r < flight->n_ranks; r++)
        for (size_t m = 0; m < flight->ranks[r].n_members; m++) counts[flight->ranks[r].members[m].group]++;
    bool good = true;
    for (size_t g = 0; good && g < flight->n_groups; g++) {
        rs_fl_group *group = &flight->groups[g];
        if (group->described || !counts[g]) continue;
        group->ranks = rs_malloc(counts[g] * sizeof *group->ranks);
        group->sorted = rs_malloc(counts[g] * sizeof *group->sorted);
        good = group->ranks && group->sorted;
    }
    for (size_t r = 0; good && r < flight->n_ranks; r++)
        for (size_t m = 0; m < flight->ranks[r].n_members; m++) {
            rs_fl_group *group = &flight->groups[flight->ranks[r].members[m].group];
            if (group->described) continue;
            group->sorted[group->n] = (uint32_t)group->n;
            group->ranks[group->n++] = flight->ranks[r].rank;
        }
    return good;
}

/* Groups of one uid may be disjoint (split groups); where they overlap, dumps disagree. */
static bool find_conflicts(rs_flight *flight, const chains *c)
{
    for (size_t g = 0; g < flight->n_groups; g++) {
        if (chain_start(c, flight->groups[g].uid) != g || c->next[g] == RS_FL_NONE) continue;
        rs_map64 seen = {0};
        for (uint32_t i = (uint32_t)g; i != RS_FL_NONE; i = c->next[i]) {
            rs_fl_group *group = &flight->groups[i];
            for (size_t s = 0; group->described && s < group->n; s++) {
                bool is_new;
                uint32_t *owner = rs_map64_put(&seen, (uint64_t)group->ranks[s], &is_new);
                if (!owner) {
                    rs_map64_clear(&seen);
                    return false;
                }
                if (is_new)
                    *owner = i + 1;
                else if (*owner != i + 1)
                    group->conflict = flight->groups[*owner - 1].conflict = true;
            }
        }
        rs_map64_clear(&seen);
    }
    for (size_t r = 0; r < flight->n_ranks; r++)
        for (size_t m = 0; m < flight->ranks[r].n_members; m++) {
            const rs_fl_member *member = &flight->ranks[r].members[m];
            rs_fl_group *group = &flight->groups[member->group];
            if (member->desc == RS_FL_NONE) continue;
            if (group->desc == RS_FL_NONE)
                group->desc = member->desc;
            else if (group->desc != member->desc && member->configured)
                group->conflict = true;
        }
    return true;
}

static bool resolve_groups(rs_flight *flight)
{
    chains c = {0};
    bool good = build_chains(flight, &c);
    if (good) {
        adopt_groups(flight, &c);
        good = guess_members(flight) && find_conflicts(flight, &c);
    }
    rs_map64_clear(&c.first);
    rs_free(c.next);
    if (!good) return false;
    size_t total = 0;
    for (size_t r = 0; r < flight->n_ranks; r++) total += flight->ranks[r].n_members;
    flight->by_group = rs_malloc(total * sizeof *flight->by_group);
    if (!flight->by_group) return false;
    for (size_t g = 0; g < flight->n_groups; g++) {
        rs_fl_group *group = &flight->groups[g];
        group->index = rs_malloc(group->n * sizeof *group->index);
        if (!group->index) return false;
        for (size_t s = 0; s < group->n; s++) group->index[s] = rs_fl_rank_index(flight, group->ranks[s]);
    }
    for (size_t r = 0; r < flight->n_ranks; r++)
        for (size_t m = 0; m < flight->ranks[r].n_members; m++)
            flight->groups[flight->ranks[r].members[m].group].n_members++;
    uint32_t at = 0;
    for (size_t g = 0; g < flight->n_groups; g++) {
        flight->groups[g].first_member = at;
        at += flight->groups[g].n_members;
        flight->groups[g].n_members = 0;
    }
    for (size_t r = 0; r < flight->n_ranks; r++)
        for (size_t m = 0; m < flight->ranks[r].n_members; m++) {
            rs_fl_member *member = &flight->ranks[r].members[m];
            rs_fl_group *group = &flight->groups[member->group];
            member->slot = rs_fl_slot_of(group, flight->ranks[r].rank);
            flight->by_group[group->first_member + group->n_members++] = member;
        }
    return true;
}

/* ---- entries ------------------------------------------------------------------------------------------- */

/* A stable insertion sort: runs that are in order, as recorders write them, cost one look each. */
static void sort_by_seq(const rs_fl_entry *entries, uint32_t *order, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint32_t moving = order[i];
        size_t at = i;
        while (at > 0 && entries[order[at - 1]].seq > entries[moving].seq) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = moving;
    }
}

typedef struct keyed {
    int64_t seq;
    uint32_t entry;
} keyed;

static const rs_order compare_keyed[] = {RS_RISING(keyed, seq), RS_RISING(keyed, entry)};

static bool put_in_order(const rs_fl_entry *entries, uint32_t *order, size_t n)
{
    size_t descents = 0;
    for (size_t i = 1; i < n; i++) descents += entries[order[i]].seq < entries[order[i - 1]].seq;
    if (descents <= 4 && n <= 4096) {
        if (descents) sort_by_seq(entries, order, n);
        return true;
    }
    if (!descents) return true;
    RS_LOCAL keyed *keys = rs_malloc(n * sizeof *keys);
    if (!keys) return false;
    for (size_t i = 0; i < n; i++) keys[i] = (keyed){entries[order[i]].seq, order[i]};
    RS_SORT(keys, n, compare_keyed);
    for (size_t i = 0; i < n; i++) order[i] = keys[i].entry;
    return true;
}

static bool order_entries(rs_fl_rank *rank)
{
    rank->order = rs_malloc(rank->n * sizeof *rank->order);
    RS_LOCAL uint32_t *at = rs_calloc(2 * rank->n_members + 1, sizeof *at);
    bool good = rank->order && at;
    for (size_t i = 0; good && i < rank->n; i++) {
        const rs_fl_entry *e = &rank->entries[i];
        at[2 * e->group + e->is_p2p]++;
        int64_t stamps[3] = {e->created, e->started, e->completed};
        for (int s = 0; s < 3; s++)
            if (stamps[s] > rank->newest) rank->newest = stamps[s];
    }
    uint32_t sum = 0;
    for (size_t b = 0; good && b < 2 * rank->n_members; b++) {
        uint32_t count = at[b];
        at[b] = sum;
        rs_fl_member *member = &rank->members[b / 2];
        *(b % 2 ? &member->p2p_begin : &member->begin) = sum;
        *(b % 2 ? &member->n_p2p : &member->n) = count;
        sum += count;
    }
    for (size_t i = 0; good && i < rank->n; i++) {
        const rs_fl_entry *e = &rank->entries[i];
        rank->order[at[2 * e->group + e->is_p2p]++] = (uint32_t)i;
    }
    for (size_t m = 0; good && m < rank->n_members; m++) {
        rs_fl_member *member = &rank->members[m];
        good = put_in_order(rank->entries, rank->order + member->begin, member->n);
        if (member->n) {
            member->first_seq = rank->entries[rank->order[member->begin]].seq;
            member->last_seq = rank->entries[rank->order[member->begin + member->n - 1]].seq;
        }
    }
    for (size_t i = 0; good && i < rank->n; i++)
        rank->entries[i].group = rank->members[rank->entries[i].group].group;
    return good;
}

/* Once for the job: whose groups are known by their users alone. */
static void report_nameless(rs_flight *flight)
{
    size_t n = 0;
    for (size_t r = 0; r < flight->n_ranks; r++) n += flight->ranks[r].nameless;
    if (n)
        rs_problems_add_many(
            &flight->problems, NULL, -1, RS_NOTE, "nameless_group",
            "pg_config describes a group without its name, as gloo does: the members of a group "
            "are taken to be the ranks that used it",
            RS_NO_OFFSET, n, NULL);
}

static void report_versions(rs_flight *flight)
{
    /* The majority's version is the reference; the count is over few distinct texts. */
    uint32_t best = RS_FL_NONE;
    size_t best_n = 0;
    for (size_t r = 0; r < flight->n_ranks; r++) {
        if (flight->ranks[r].version == best) continue;
        size_t n = 0;
        if (r > 0 && flight->ranks[r].version == flight->ranks[r - 1].version) continue;
        for (size_t o = 0; o < flight->n_ranks; o++)
            n += flight->ranks[o].version == flight->ranks[r].version;
        if (n > best_n) {
            best = flight->ranks[r].version;
            best_n = n;
        }
        if (best_n * 2 > flight->n_ranks) break;
    }
    for (size_t r = 0; r < flight->n_ranks; r++)
        if (flight->ranks[r].version != best)
            rs_problems_add_many(&flight->problems, flight->ranks[r].file, flight->ranks[r].rank, RS_NOTE,
                                 "version_differs", "the dump's format version differs from the other ranks'",
                                 RS_NO_OFFSET, 1, rs_fl_text(flight, flight->ranks[r].version));
}

rs_status rs_fl_index(rs_flight *flight, rs_error *err)
{
    rs_status status = sort_ranks(flight, err);
    if (status != RS_OK) return status;
    if (!resolve_groups(flight)) return rs_fail_nomem(err, "the groups");
    for (size_t r = 0; r < flight->n_ranks; r++)
        if (!order_entries(&flight->ranks[r])) return rs_fail_nomem(err, "the index of entries");
    rs_fl_read_statuses(flight);
    report_nameless(flight);
    report_versions(flight);
    return RS_OK;
}
