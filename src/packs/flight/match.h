/* Matching collectives: by group and sequence number, in time linear in the entries. */
#pragma once

#include "flight/model.h"

/* What one rank recorded under one sequence number: one entry, or a coalesced batch of several. */
typedef struct rs_fl_unit {
    uint32_t rank, slot;
    uint32_t first, n; /* in rank->order */
    uint32_t call;     /* of its first entry: comparing most units needs no look at the entries */
} rs_fl_unit;

/* One collective: the units of the ranks that have it, by rank. */
typedef struct rs_fl_op {
    uint32_t group;
    int64_t seq;
    const rs_fl_unit *units;
    size_t n;
    size_t number, n_ops; /* this one's place among the group's */
} rs_fl_op;

typedef rs_status (*rs_fl_op_fn)(void *context, rs_flight *flight, const rs_fl_op *op, rs_error *err);

/* Calls fn for every collective of a group, by ascending sequence number. */
rs_status rs_fl_scan_group(rs_flight *flight, uint32_t group, rs_fl_op_fn fn, void *context, rs_error *err);
/* How many operations of a group that would be. */
rs_status rs_fl_count_ops(rs_flight *flight, uint32_t group, size_t *n, rs_error *err);

static inline const rs_fl_entry *rs_fl_unit_entry(const rs_flight *flight, const rs_fl_unit *unit, uint32_t i)
{
    const rs_fl_rank *rank = &flight->ranks[unit->rank];
    return &rank->entries[rank->order[unit->first + i]];
}

/* The state of a unit: its end mark's if it has one, else the least of its entries'. */
rs_fl_state rs_fl_unit_state(const rs_flight *flight, const rs_fl_unit *unit);
/* The entry that represents a unit: the first that is no end mark. */
const rs_fl_entry *rs_fl_unit_main(const rs_flight *flight, const rs_fl_unit *unit);

/* The unit of a sequence number, found by bisection; false when the rank has none. */
bool rs_fl_find_unit(const rs_flight *flight, const rs_fl_member *member, int64_t seq, rs_fl_unit *unit);

typedef struct rs_fl_mismatch {
    rs_flight_verdict verdict; /* HEALTHY: none */
    uint32_t position;         /* in a coalesced batch */
    uint32_t *culprits;        /* unit numbers, ascending; room for op->n, given by the caller */
    size_t n_culprits;
    bool contradiction; /* every culprit's own record contradicts itself */
    const char *about;  /* what differs: static text */
} rs_fl_mismatch;

/* Compares what the ranks issued: type, then sizes, then element types. scratch holds room for 2 * op->n
 * values. */
void rs_fl_check_op(const rs_flight *flight, const rs_fl_op *op, uint64_t *scratch, rs_fl_mismatch *out);
