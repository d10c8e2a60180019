/* Collectives matched over ranks as TraceLens does: by their order within the group's name. */
#ifndef RS_PEER_TRACELENS_MATCH_H
#define RS_PEER_TRACELENS_MATCH_H

#include "peer/tracelens_nccl.h"
#include "peer/tracelens_rank.h"

/* A collective of a rank with its place among those of its group. */
typedef struct rs_tl_member {
    const rs_tl_collectives *of;
    const rs_tl_collective *k;
    uint32_t group; /* in the match's strings */
    uint32_t index; /* among the rank's of that group, by time */
} rs_tl_member;

typedef struct rs_tl_matching {
    rs_tl_member *items; /* rank after rank, in the order of the file */
    size_t n;
    rs_strings groups;
    bool simplified;          /* no group has a name, and each rank has one stream: the order alone matches */
    rs_tl_groups collectives; /* items by group and index */
} rs_tl_matching;

/* Cleared by the caller, also on failure: out of memory. The ranks stay the caller's and must outlive it. */
bool rs_tl_match(const rs_tl_collectives *const *ranks, size_t n, rs_tl_matching *m);
void rs_tl_matching_clear(rs_tl_matching *m);

const char *rs_tl_text_or_null(const rs_tl_collectives *c, uint32_t id);
/* Whether the texts x of a's rank and y of b's are the same, or neither is recorded. */
bool rs_tl_same_text(const rs_tl_member *a, uint32_t x, const rs_tl_member *b, uint32_t y);
/* That many elements of a collective's type in units of 2^20 bytes; NaN: unknown. */
double rs_tl_size_of(const rs_tl_member *x, int64_t elements);
double rs_tl_us(int64_t ns);

/* Cells: "PG_3", or "3" where groups have no names, false when out of memory; RS_NO_VALUE as an empty one. */
bool rs_tl_add_id(rs_table *t, const rs_tl_matching *m, const rs_tl_member *x, rs_python_text *text);
void rs_tl_add_int(rs_table *t, int64_t value);

/* Writes "rank_3_ts" and its like, at most RS_TL_RANK_NAME bytes; `what` is up to 20 characters. */
enum { RS_TL_RANK_NAME = 48 };
void rs_tl_name_column(char *name, int64_t rank, const char *what);

/* nccl_summary_all2allv, and if detailed nccl_all2allv and nccl_all2allv_heatmap. Adds to *n_mismatched the
 * collectives whose ranks disagree. */
rs_status rs_tl_add_all2allv(const rs_tl_matching *m, bool detailed, rs_sheets *out, size_t *n_mismatched,
                             rs_error *err);

#endif
