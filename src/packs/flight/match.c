#include "base/order.h"
#include "base/search.h"
#include "flight/match.h"

#include <string.h>

/* ---- units --------------------------------------------------------------------------------------------- */

typedef struct item {
    int64_t seq;
    rs_fl_unit unit;
} item;

static const rs_order by_seq[] = {RS_RISING(item, seq), RS_RISING(item, unit.rank)};

/* Sorts by seq, stable: by counting where the numbers lie close together, as they do in every real dump. */
static bool sort_items(item *items, item *sorted, size_t n, int64_t low, int64_t high, item **result)
{
    uint64_t range = (uint64_t)high - (uint64_t)low + 1;
    *result = items;
    if (n < 2) return true;
    if (range > 2 * (uint64_t)n + 1024) {
        RS_SORT(items, n, by_seq);
        return true;
    }
    RS_LOCAL uint32_t *at = rs_calloc((size_t)range + 1, sizeof *at);
    if (!at) return false;
    for (size_t i = 0; i < n; i++) at[(uint64_t)items[i].seq - (uint64_t)low + 1]++;
    for (uint64_t s = 0; s < range; s++) at[s + 1] += at[s];
    for (size_t i = 0; i < n; i++) sorted[at[(uint64_t)items[i].seq - (uint64_t)low]++] = items[i];
    *result = sorted;
    return true;
}

/* A batch of which the ring, or the end of a file that was cut, has kept only a part: nothing can be
 * compared. */
static bool is_torn(const rs_fl_rank *rank, const rs_fl_member *member, uint32_t first, uint32_t stop)
{
    const uint32_t *order = rank->order + member->begin;
    bool oldest = first == 0 && rank->wrapped && rank->entries[order[stop - 1]].marker;
    bool newest = stop == member->n && rank->cut && order[stop - 1] + 1 == rank->n &&
                  !rank->entries[order[stop - 1]].marker;
    /* What a dump of active entries keeps of a batch that is completed. */
    bool rest = rank->shape == RS_FL_ACTIVE && !rank->entries[order[stop - 1]].marker &&
                rank->entries[order[stop - 1]].state == RS_FL_COMPLETED;
    return oldest || newest || rest;
}

static size_t collect(const rs_flight *flight, const rs_fl_group *group, item *items, int64_t *low,
                      int64_t *high)
{
    size_t n = 0;
    *low = INT64_MAX;
    *high = INT64_MIN;
    for (uint32_t m = 0; m < group->n_members; m++) {
        const rs_fl_member *member = flight->by_group[group->first_member + m];
        const rs_fl_rank *rank = &flight->ranks[member->rank];
        for (uint32_t i = 0; i < member->n;) {
            int64_t seq = rank->entries[rank->order[member->begin + i]].seq;
            uint32_t stop = i + 1;
            while (stop < member->n && rank->entries[rank->order[member->begin + stop]].seq == seq) stop++;
            uint32_t first = i;
            i = stop;
            if (is_torn(rank, member, first, stop)) continue;
            items[n++] = (item){seq,
                                {member->rank, member->slot, member->begin + first, stop - first,
                                 rank->entries[rank->order[member->begin + first]].call}};
            if (seq < *low) *low = seq;
            if (seq > *high) *high = seq;
        }
    }
    return n;
}

rs_status rs_fl_scan_group(rs_flight *flight, uint32_t index, rs_fl_op_fn fn, void *context, rs_error *err)
{
    const rs_fl_group *group = &flight->groups[index];
    size_t total = 0;
    for (uint32_t m = 0; m < group->n_members; m++) total += flight->by_group[group->first_member + m]->n;
    if (!total) return RS_OK;
    item *items = rs_malloc(total * sizeof *items), *other = rs_malloc(total * sizeof *other), *sorted = NULL;
    rs_fl_unit *units = rs_malloc(group->n_members * sizeof *units);
    int64_t low, high;
    rs_status status = RS_OK;
    size_t n = 0, n_ops = 0;
    if (!items || !other || !units) {
        status = rs_fail_nomem(err, "matching");
    } else {
        n = collect(flight, group, items, &low, &high);
        if (!sort_items(items, other, n, low, high, &sorted)) status = rs_fail_nomem(err, "matching");
    }
    for (size_t i = 0; status == RS_OK && i < n; i++) n_ops += i == 0 || sorted[i].seq != sorted[i - 1].seq;
    rs_fl_op op = {.group = index, .units = units, .n_ops = n_ops};
    for (size_t i = 0; status == RS_OK && i < n;) {
        op.seq = sorted[i].seq;
        for (op.n = 0; i < n && sorted[i].seq == op.seq; i++) units[op.n++] = sorted[i].unit;
        status = fn(context, flight, &op, err);
        op.number++;
    }
    rs_free_all(items, other, units);
    return status;
}

rs_fl_state rs_fl_unit_state(const rs_flight *flight, const rs_fl_unit *unit)
{
    rs_fl_state least = RS_FL_COMPLETED;
    for (uint32_t i = 0; i < unit->n; i++) {
        const rs_fl_entry *e = rs_fl_unit_entry(flight, unit, i);
        /* Entries inside a batch have no events of their own in real dumps; the end mark has. */
        if (e->marker) return (rs_fl_state)e->state;
        if (e->state < least) least = (rs_fl_state)e->state;
    }
    return least;
}

const rs_fl_entry *rs_fl_unit_main(const rs_flight *flight, const rs_fl_unit *unit)
{
    for (uint32_t i = 0; i < unit->n; i++) {
        const rs_fl_entry *e = rs_fl_unit_entry(flight, unit, i);
        if (!e->marker) return e;
    }
    return rs_fl_unit_entry(flight, unit, 0);
}

bool rs_fl_find_unit(const rs_flight *flight, const rs_fl_member *member, int64_t seq, rs_fl_unit *unit)
{
    const rs_fl_rank *rank = &flight->ranks[member->rank];
    const uint32_t *order = rank->order + member->begin;
    size_t at;
    RS_SEARCH(at, member->n, rank->entries[order[at]].seq < seq);
    uint32_t low = (uint32_t)at, stop = low;
    while (stop < member->n && rank->entries[order[stop]].seq == seq) stop++;
    *unit = (rs_fl_unit){member->rank, member->slot, member->begin + low, stop - low,
                         stop > low ? rank->entries[order[low]].call : 0};
    return stop > low;
}

/* ---- comparing ----------------------------------------------------------------------------------------- */

typedef struct ballot {
    uint64_t *values; /* of each unit; NOT_RECORDED: no vote */
    uint64_t *sorted;
    size_t n;
} ballot;

#define NOT_RECORDED UINT64_MAX

static const rs_order by_value[] = {RS_RISING_VALUE(uint64_t)};

static uint64_t pair_hash(uint64_t a, uint64_t b)
{
    uint64_t h = rs_hash_u64(rs_hash_u64(a) + b);
    return h == NOT_RECORDED ? 0 : h;
}

/* Whether all votes are equal; if not, *winner is the value that more units have than any other, if there is
 * one. */
static bool unanimous(ballot *b, uint64_t *winner, bool *has_winner)
{
    size_t n = 0;
    bool same = true;
    for (size_t i = 0; i < b->n; i++) {
        if (b->values[i] == NOT_RECORDED) continue;
        b->sorted[n++] = b->values[i];
        same = same && b->sorted[n - 1] == b->sorted[0];
    }
    if (same) return true;
    RS_SORT(b->sorted, n, by_value);
    size_t best = 0;
    *has_winner = false;
    for (size_t i = 0; i < n;) {
        size_t stop = i + 1;
        while (stop < n && b->sorted[stop] == b->sorted[i]) stop++;
        if (stop - i > best) {
            best = stop - i;
            *winner = b->sorted[i];
            *has_winner = true;
        } else if (stop - i == best) {
            *has_winner = false;
        }
        i = stop;
    }
    return false;
}

static void blame(ballot *b, rs_fl_mismatch *out, rs_flight_verdict verdict, const char *about,
                  uint64_t winner, bool has_winner)
{
    out->verdict = verdict;
    out->about = about;
    out->n_culprits = 0;
    for (size_t i = 0; i < b->n; i++)
        if (b->values[i] != NOT_RECORDED && !(has_winner && b->values[i] == winner))
            out->culprits[out->n_culprits++] = (uint32_t)i;
}

static const rs_fl_call *call_at(const rs_flight *flight, const rs_fl_op *op, size_t unit, uint32_t position)
{
    return rs_fl_call_of(flight, rs_fl_unit_entry(flight, &op->units[unit], position));
}

static bool types_agree(const rs_flight *flight, const rs_fl_op *op, ballot *b, rs_fl_mismatch *out)
{
    uint64_t winner;
    bool has_winner;
    for (size_t i = 0; i < op->n; i++) {
        uint64_t h = op->units[i].n;
        for (uint32_t p = 0; p < op->units[i].n; p++) h = pair_hash(h, call_at(flight, op, i, p)->op);
        b->values[i] = h;
    }
    if (unanimous(b, &winner, &has_winner)) return true;
    blame(b, out, RS_FLIGHT_TYPE_MISMATCH, "the operation", winner, has_winner);
    return false;
}

static int64_t times(int64_t a, size_t n)
{
    int64_t out;
    return __builtin_mul_overflow(a, (int64_t)n, &out) ? INT64_MAX : out;
}

/* Whether one rank's own sizes fit together, in the even case. */
static bool sizes_fit(const rs_fl_call *c, size_t group_size)
{
    if (!c->n_in || !c->n_out) return true;
    switch (c->kind) {
    case RS_FL_ALL_REDUCE: return c->in_numel == c->out_numel;
    case RS_FL_ALL_GATHER: return c->out_numel == times(c->in_numel, group_size);
    case RS_FL_REDUCE_SCATTER: return c->in_numel == times(c->out_numel, group_size);
    default: return true;
    }
}

/* Uneven gathers and scatters: every rank's long side is the sum of all short sides. */
static bool uneven_fits(const rs_flight *flight, const rs_fl_op *op, uint32_t p, bool gather)
{
    int64_t sum = 0;
    for (size_t i = 0; i < op->n; i++) {
        const rs_fl_call *c = call_at(flight, op, i, p);
        if (__builtin_add_overflow(sum, gather ? c->in_numel : c->out_numel, &sum)) return false;
    }
    for (size_t i = 0; i < op->n; i++) {
        const rs_fl_call *c = call_at(flight, op, i, p);
        if ((gather ? c->out_numel : c->in_numel) != sum) return false;
    }
    return true;
}

static bool exchange_fits(const rs_flight *flight, const rs_fl_op *op, uint32_t p)
{
    int64_t in = 0, out = 0;
    for (size_t i = 0; i < op->n; i++) {
        const rs_fl_call *c = call_at(flight, op, i, p);
        if (!c->n_in && !c->n_out) return true; /* old recorders leave the sizes out */
        if (__builtin_add_overflow(in, c->in_numel, &in) || __builtin_add_overflow(out, c->out_numel, &out))
            return true;
    }
    return in == out;
}

static uint64_t size_vote(const rs_fl_call *c)
{
    if (!c->n_in && !c->n_out) return NOT_RECORDED;
    uint64_t in = (uint64_t)c->in_numel, out = (uint64_t)c->out_numel;
    switch (c->kind) {
    case RS_FL_NO_DATA:
    case RS_FL_MARKER: return 0;
    case RS_FL_GATHER: return c->n_in ? pair_hash(in, 0) : NOT_RECORDED;
    case RS_FL_SCATTER: return c->n_out ? pair_hash(out, 0) : NOT_RECORDED;
    case RS_FL_BROADCAST:
    case RS_FL_REDUCE: return pair_hash(c->n_in ? in : out, 0);
    default: return pair_hash(in, out);
    }
}

static bool sizes_agree(const rs_flight *flight, const rs_fl_op *op, uint32_t p, ballot *b,
                        rs_fl_mismatch *out)
{
    const rs_fl_group *group = &flight->groups[op->group];
    const rs_fl_call *first = call_at(flight, op, 0, p);
    bool complete = group->described && op->n == group->n, has_winner, all_fit = true, none_fits = true;
    uint64_t winner;
    if (first->kind == RS_FL_NO_DATA || first->kind == RS_FL_MARKER) return true;
    for (size_t i = 0; i < op->n; i++) {
        const rs_fl_call *c = call_at(flight, op, i, p);
        b->values[i] = size_vote(c);
        bool fits = !group->described || sizes_fit(c, group->n);
        all_fit = all_fit && fits;
        none_fits = none_fits && !fits;
    }
    bool same = unanimous(b, &winner, &has_winner);
    if (first->kind == RS_FL_ALL_TO_ALL) {
        if (!complete || exchange_fits(flight, op, p)) return true;
        blame(b, out, RS_FLIGHT_SIZE_MISMATCH, "the elements sent and received in all", winner,
              !same && has_winner);
        return false;
    }
    if (same && all_fit) return true;
    if (first->kind == RS_FL_ALL_GATHER || first->kind == RS_FL_REDUCE_SCATTER) {
        bool gather = first->kind == RS_FL_ALL_GATHER;
        if (complete && uneven_fits(flight, op, p, gather)) return true;
        if (!complete && (gather ? first->n_out : first->n_in) > 1)
            return true; /* uneven, and not all is known */
    }
    blame(b, out, RS_FLIGHT_SIZE_MISMATCH, same ? "input against output" : "the number of elements", winner,
          !same && has_winner);
    out->contradiction = same;
    if (!same && !has_winner && !all_fit && !none_fits) {
        /* A tie: who contradicts himself is to blame. */
        out->n_culprits = 0;
        for (size_t i = 0; i < op->n; i++)
            if (!sizes_fit(call_at(flight, op, i, p), group->n))
                out->culprits[out->n_culprits++] = (uint32_t)i;
        out->contradiction = true;
    }
    return false;
}

static uint64_t type_vote(const rs_fl_call *c)
{
    uint64_t in = c->in_dtype, out = c->out_dtype;
    switch (c->kind) {
    case RS_FL_NO_DATA:
    case RS_FL_MARKER: return NOT_RECORDED;
    case RS_FL_BROADCAST:
    case RS_FL_SCATTER: return out ? pair_hash(out, 0) : NOT_RECORDED;
    case RS_FL_GATHER: return in ? pair_hash(in, 0) : NOT_RECORDED;
    default: return in && out ? pair_hash(in, out) : NOT_RECORDED;
    }
}

static bool own_types_fit(const rs_fl_call *c)
{
    switch (c->kind) {
    case RS_FL_UNKNOWN_OP:
    case RS_FL_NO_DATA:
    case RS_FL_MARKER:
    case RS_FL_BROADCAST:
    case RS_FL_SCATTER:
    case RS_FL_GATHER: return true;
    default: return !c->in_dtype || !c->out_dtype || c->in_dtype == c->out_dtype;
    }
}

static bool dtypes_agree(const rs_flight *flight, const rs_fl_op *op, uint32_t p, ballot *b,
                         rs_fl_mismatch *out)
{
    bool has_winner, all_fit = true;
    uint64_t winner;
    for (size_t i = 0; i < op->n; i++) {
        const rs_fl_call *c = call_at(flight, op, i, p);
        b->values[i] = type_vote(c);
        all_fit = all_fit && own_types_fit(c);
    }
    bool same = unanimous(b, &winner, &has_winner);
    if (same && all_fit) return true;
    blame(b, out, RS_FLIGHT_DTYPE_MISMATCH, same ? "the type of input and output" : "the element type",
          winner, !same && has_winner);
    out->contradiction = same;
    return out->n_culprits == 0;
}

void rs_fl_check_op(const rs_flight *flight, const rs_fl_op *op, uint64_t *scratch, rs_fl_mismatch *out)
{
    ballot b = {scratch, scratch + op->n, op->n};
    const rs_fl_call *call = &flight->calls[op->units[0].call];
    const rs_fl_group *group = &flight->groups[op->group];
    bool same = op->units[0].n == 1;
    out->verdict = RS_FLIGHT_HEALTHY;
    out->position = 0;
    out->n_culprits = 0;
    out->contradiction = false;
    for (size_t i = 1; same && i < op->n; i++)
        same = op->units[i].n == 1 && op->units[i].call == op->units[0].call;
    if (same && call->kind != RS_FL_ALL_TO_ALL && own_types_fit(call) &&
        (!group->described || sizes_fit(call, group->n)))
        return;
    if (!types_agree(flight, op, &b, out)) return;
    for (uint32_t p = 0; p < op->units[0].n; p++) {
        out->position = p;
        if (!sizes_agree(flight, op, p, &b, out) || !dtypes_agree(flight, op, p, &b, out)) return;
    }
    out->verdict = RS_FLIGHT_HEALTHY;
}

static rs_status count_op(void *context, rs_flight *flight, const rs_fl_op *op, rs_error *err)
{
    (void)flight;
    (void)err;
    *(size_t *)context = op->n_ops;
    return RS_OK;
}

rs_status rs_fl_count_ops(rs_flight *flight, uint32_t group, size_t *n, rs_error *err)
{
    return rs_fl_scan_group(flight, group, count_op, n, err);
}
