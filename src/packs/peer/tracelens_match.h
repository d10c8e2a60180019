/* Collectives matched over ranks as TraceLens does: by their order within the group's name. */
#pragma once

#include "peer/tracelens_nccl.h"
#include "peer/tracelens_sheet.h"

/* A collective of a rank with its place among those of its group. Texts are ids of the match's, so that equal ones are
 * equal texts; RS_NO_STRING and RS_NO_VALUE: not recorded. */
typedef struct rs_tl_member {
    int64_t rank, index; /* index: among the rank's of that group, by time */
    int64_t ts, dur;     /* ns */
    int64_t group_size, in, out, stream;
    int64_t skew_start, skew_end; /* ns to the first or last rank, set by whoever measures the collective */
    double us, in_mb, out_mb;     /* dur; sizes in units of 2^20 bytes, NaN: unknown */
    uint32_t group, ranks, name, dtype, in_split, out_split;
} rs_tl_member;

typedef struct rs_tl_matching {
    rs_tl_member *items; /* rank after rank, in the order of the file */
    size_t n;
    rs_strings texts;
    bool simplified;          /* no group has a name, and each rank has one stream: the order alone matches */
    rs_tl_groups collectives; /* items by group and index */
} rs_tl_matching;

/* Cleared by the caller, also on failure: out of memory. */
bool rs_tl_match(const rs_tl_collectives *const *ranks, size_t n, rs_tl_matching *m);
void rs_tl_matching_clear(rs_tl_matching *m);

/* NULL: not recorded. */
const char *rs_tl_text_of(const rs_tl_matching *m, uint32_t id);
/* The id of a text; *ok becomes false when out of memory. */
uint32_t rs_tl_match_text(rs_tl_matching *m, const char *text, bool *ok);
static inline double rs_tl_us(int64_t ns)
{
    return (double)ns / 1000;
}

/* What a sheet of the collectives is made of. */
rs_tl_items rs_tl_items_over(const rs_tl_matching *m, const void *items, size_t n);

/* A collective over its ranks: what the items of sheets with columns for each rank begin with. */
typedef struct rs_tl_collected {
    rs_tl_member is;       /* of the lowest rank: what it is */
    const uint32_t *items; /* of the match, by rank */
    size_t n;
} rs_tl_collected;

/* The collective at that place of m->collectives. */
rs_tl_collected rs_tl_collected_at(const rs_tl_matching *m, size_t at);
/* Whether two ranks say the same of its kind, type and group; whether all ranks agree with the lowest by a function. */
bool rs_tl_members_agree(const rs_tl_member *a, const rs_tl_member *b);
bool rs_tl_ranks_agree(const rs_tl_matching *m, const rs_tl_collected *x,
                       bool (*agree)(const rs_tl_member *, const rs_tl_member *));
/* A function of a column: "PG_3", or "3" where groups have no names. Items begin with a rs_tl_member. */
bool rs_tl_put_id(const rs_tl_lot *lot, rs_table *t);
/* Adds the sheet over rs_tl_collecteds with further columns for each of the ranks, which come in rising order: "rank_3_ts".
 * The first `together` of them for rank after rank, then the others likewise. */
rs_status rs_tl_add_wide(const rs_tl_matching *m, const rs_tl_sheet *sheet, const void *items, size_t n,
                         const rs_tl_column *each, size_t n_each, size_t together, const int64_t *ranks,
                         size_t n_ranks, rs_sheets *out, rs_error *err);

/* The collectives by rank, group, kind, type and size. */
rs_status rs_tl_add_collective_summary(const rs_tl_matching *m, const char *name, rs_sheets *out,
                                       rs_error *err);
/* nccl_summary_all2allv, and if detailed nccl_all2allv and nccl_all2allv_heatmap. Adds to *n_mismatched the
 * collectives whose ranks disagree. */
rs_status rs_tl_add_all2allv(rs_tl_matching *m, bool detailed, rs_sheets *out, size_t *n_mismatched,
                             rs_error *err);

/* Columns of a member that lies at `is` of the items. */
#define RS_TL_MEMBER(row, is, member, name, type, unit, help)                                                \
    RS_TL_COLUMN(FIRST, row, is.member, name, type, unit, help)
#define RS_TL_WHAT_COLUMNS(row, is)                                                                          \
    RS_TL_MEMBER(row, is, group, "Process Group Name", TEXT, NONE, "process group"),                         \
        RS_TL_MEMBER(row, is, ranks, "Process Group Ranks", TEXT, NONE, "its ranks"),                        \
        RS_TL_MEMBER(row, is, name, "Collective name", TEXT, NONE, "collective"),                            \
        RS_TL_MEMBER(row, is, group_size, "Group size", INT, COUNT, "ranks of the group"),                   \
        RS_TL_MEMBER(row, is, dtype, "dtype", TEXT, NONE, "type of the elements")
