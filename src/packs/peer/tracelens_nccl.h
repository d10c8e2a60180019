/* TraceLens' collective report over the ranks of a job (generate_multi_rank_collective_report_pytorch). */
#pragma once

#include "peer/tracelens.h"

/* One collective of one rank: a kernel. Texts are ids of the rank's strings, RS_NO_STRING when not recorded;
 * numbers RS_NO_VALUE. */
typedef struct rs_tl_collective {
    int64_t ts, dur; /* ns */
    int64_t group_size, in, out, stream;
    uint32_t group, ranks, name, dtype, in_split, out_split;
} rs_tl_collective;

typedef struct rs_tl_collectives {
    int64_t rank;
    rs_strings strings;
    rs_tl_collective *items; /* in the order of the file */
    size_t n, capacity;
} rs_tl_collectives;

/* The collectives of a rank; freed by the caller, also on failure. The rank's number is the caller's to set. */
rs_status rs_tl_collectives_of(rs_trace *trace, rs_tl_collectives *out, rs_error *err);
void rs_tl_collectives_clear(rs_tl_collectives *c);

/* Bytes of an element; 0 for types that TraceLens has no size for. */
int64_t rs_tl_nccl_size(const char *dtype);
/* Whether no group has a name and each rank has one stream: then TraceLens matches by the order alone. */
bool rs_tl_collectives_are_simple(const rs_tl_collectives *const *ranks, size_t n);

/* The sheets; detailed: those of single collectives, too. A collective whose ranks disagree about what it is makes
 * TraceLens give up; here it has what the lowest of its ranks says, and *n_mismatched counts it. */
rs_status rs_tl_collective_sheets(const rs_tl_collectives *const *ranks, size_t n, bool detailed,
                                  rs_sheets *out, size_t *n_mismatched, rs_error *err);
