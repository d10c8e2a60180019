/* coll_analysis and nccl_summary_long: collectives by rank, group, kind, type and size. */
#include <string.h>

#include "peer/tracelens_match.h"
#include "peer/tracelens_rank.h"

#define OVER(how, member, name, type, unit, help)                                                            \
    RS_TL_COLUMN(how, rs_tl_member, member, name, type, unit, help)

/* pandas drops rows whose key has something unknown. */
static const rs_tl_column columns[] = {
    OVER(KEY, rank, "rank", INT, ID, "rank; in coll_analysis always 0: TraceLens counts files"),
    OVER(KEY, group, "Process Group Name", TEXT, NONE, "process group"),
    OVER(DUE, ranks, "Process Group Ranks", TEXT, NONE, "its ranks"),
    OVER(DUE, name, "Collective name", TEXT, NONE, "collective"),
    OVER(DUE, group_size, "Group size", INT, COUNT, "ranks of the group"),
    OVER(DUE, dtype, "dtype", TEXT, NONE, "type of the elements"),
    OVER(DUE, in, "In msg nelems", INT, COUNT, "elements that go in"),
    OVER(DUE, out, "Out msg nelems", INT, COUNT, "elements that come out"),
    OVER(DUE, in_split, "In split size", TEXT, NONE, "how the input is parted"),
    OVER(DUE, out_split, "Out split size", TEXT, NONE, "how the output is parted"),
    OVER(DUE, stream, "stream", INT, ID, "stream"),
    OVER(FIRST, in_mb, "In msg size (MB)_first", REAL, NONE, "of one call, in units of 2^20 bytes"),
    OVER(FIRST, out_mb, "Out msg size (MB)_first", REAL, NONE, "of one call, in units of 2^20 bytes"),
    OVER(SUM, dur, "dur_sum", TIME, US, "durations added up"),
    OVER(MEAN, us, "dur_mean", REAL, US, "mean duration"),
    OVER(STD, us, "dur_std", REAL, US, "deviation of a sample"),
    OVER(MIN, us, "dur_min", REAL, US, "shortest"),
    OVER(MAX, us, "dur_max", REAL, US, "longest"),
    RS_TL_GROUP(COUNT, "operation_count", INT, COUNT, "calls"),
};

int64_t rs_tl_nccl_size(const char *dtype)
{
    static const struct {
        const char *name;
        int64_t size;
    } types[] = {{"Float", 4}, {"Int", 4},    {"Long", 8}, {"BFloat16", 2}, {"Bool", 1},
                 {"Byte", 1},  {"Double", 8}, {"Half", 2}, {"Short", 2}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, dtype) == 0) return types[i].size;
    return 0;
}

bool rs_tl_collectives_are_simple(const rs_tl_collectives *const *ranks, size_t n)
{
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < ranks[r]->n; i++)
            if (ranks[r]->items[i].group != RS_NO_STRING ||
                ranks[r]->items[i].stream != ranks[r]->items[0].stream)
                return false;
    return true;
}

rs_status rs_tl_add_collective_summary(const rs_tl_matching *m, const char *name, rs_sheets *out,
                                       rs_error *err)
{
    const rs_tl_sheet sheet = RS_TL_SHEET(name, "one row is one kind of collective of one size", columns,
                                          rs_tl_member, .by = RS_TL_BY(rs_tl_member, dur));
    const rs_tl_items all = rs_tl_items_over(m, m->items, m->n);
    return rs_tl_add_sheet(&sheet, &all, out, err);
}

rs_status rs_tl_add_collectives(rs_tl_rank *r, rs_sheets *out, rs_error *err)
{
    rs_tl_collectives c;
    const rs_tl_collectives *one = &c;
    RS_SCOPED(rs_tl_matching_clear) rs_tl_matching m = {0};
    rs_status status = rs_tl_collectives_of(r->trace, &c, err);
    if (status == RS_OK && !rs_tl_match(&one, 1, &m)) status = rs_fail_nomem(err, "collectives");
    if (status == RS_OK) status = rs_tl_add_collective_summary(&m, "coll_analysis", out, err);
    rs_tl_collectives_clear(&c);
    return status;
}
