/* The sheets of all-to-alls whose ranks exchange different amounts: nccl_summary_all2allv, nccl_all2allv,
 * nccl_all2allv_heatmap. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/try.h"
#include "peer/tracelens_match.h"

/* One over its ranks; times in us, sizes in units of 2^20 bytes. */
typedef struct exchange {
    rs_tl_collected all;
    double size, elements, wall, max_dur, min_dur, mean_dur, throughput, max_throughput, min_throughput,
        imbalance, skew_start, skew_end;
} exchange;

static bool is_all2allv(const rs_tl_matching *m, const rs_tl_member *x)
{
    const char *name = rs_tl_text_of(m, x->name);
    return name && strcmp(name, "all_to_allv") == 0;
}

static double bandwidth(double size, double us)
{
    return size / 1024 / (us / 1e6);
}

static void measure_times(rs_tl_matching *m, exchange *x)
{
    const rs_tl_collected *all = &x->all;
    int64_t first_start = INT64_MAX, last_start = INT64_MIN, first_end = INT64_MAX, last_end = INT64_MIN;
    int64_t least = INT64_MAX, most = INT64_MIN, sum = 0;
    for (size_t i = 0; i < all->n; i++) {
        const rs_tl_member *k = &m->items[all->items[i]];
        int64_t end = rs_add_sat(k->ts, k->dur);
        if (k->ts < first_start) first_start = k->ts;
        if (k->ts > last_start) last_start = k->ts;
        if (end < first_end) first_end = end;
        if (end > last_end) last_end = end;
        if (k->dur < least) least = k->dur;
        if (k->dur > most) most = k->dur;
        sum = rs_add_sat(sum, k->dur);
    }
    for (size_t i = 0; i < all->n; i++) {
        rs_tl_member *k = &m->items[all->items[i]];
        k->skew_start = rs_sub_sat(k->ts, first_start);
        k->skew_end = rs_sub_sat(last_end, rs_add_sat(k->ts, k->dur));
    }
    x->wall = rs_tl_us(rs_sub_sat(last_end, first_start));
    x->max_dur = rs_tl_us(most);
    x->min_dur = rs_tl_us(least);
    x->mean_dur = rs_tl_us(sum) / (double)all->n;
    x->skew_start = rs_tl_us(rs_sub_sat(last_start, first_start));
    x->skew_end = rs_tl_us(rs_sub_sat(last_end, first_end));
}

static void measure_sizes(const rs_tl_matching *m, exchange *x)
{
    double most = 0;
    x->max_throughput = x->min_throughput = (double)NAN;
    for (size_t i = 0; i < x->all.n; i++) {
        const rs_tl_member *of = &m->items[x->all.items[i]];
        x->size += of->in_mb;
        x->elements += of->in == RS_NO_VALUE ? (double)NAN : (double)of->in;
        if (of->in_mb > most) most = of->in_mb;
        if (!(of->in_mb > 0 && of->us > 0)) continue;
        double own = bandwidth(of->in_mb, of->us);
        if (!(own <= x->max_throughput)) x->max_throughput = own;
        if (!(own >= x->min_throughput)) x->min_throughput = own;
    }
    double mean = x->size / (double)x->all.n;
    x->imbalance = mean > 0 ? most / mean : (double)NAN;
    x->throughput = x->wall > 0 ? bandwidth(x->size, x->wall) : (double)NAN;
}

static bool same_stream(const rs_tl_member *a, const rs_tl_member *b)
{
    return rs_tl_members_agree(a, b) && a->stream == b->stream;
}

/* Those that move most are first. */
static bool find(rs_tl_matching *m, exchange **out, size_t *n, size_t *n_mismatched)
{
    RS_LOCAL exchange *all = rs_calloc(m->collectives.n + 1, sizeof *all);
    RS_LOCAL double *sizes = rs_calloc(m->collectives.n + 1, sizeof *sizes);
    exchange *sorted = NULL;
    RS_LOCAL uint32_t *order = NULL;
    bool ok = all && sizes;
    *n = 0;
    for (size_t g = 0; ok && g < m->collectives.n; g++) {
        exchange *x = &all[*n];
        *x = (exchange){.all = rs_tl_collected_at(m, g)};
        if (!is_all2allv(m, &x->all.is)) continue;
        if (!rs_tl_ranks_agree(m, &x->all, same_stream)) (*n_mismatched)++;
        measure_times(m, x);
        measure_sizes(m, x);
        sizes[(*n)++] = x->size;
    }
    ok = ok && rs_tl_order(sizes, NULL, *n, &order);
    if (ok) sorted = rs_calloc(*n + 1, sizeof *sorted);
    for (size_t i = 0; sorted && i < *n; i++) sorted[i] = all[order[i]];
    *out = sorted;
    return sorted != NULL;
}

/* ---- nccl_summary_all2allv ----------------------------------------------------------------------------- */

#define WHAT(how, member, name, type, unit, help)                                                            \
    RS_TL_COLUMN(how, exchange, all.is.member, name, type, unit, help)
#define OVER(how, member, name, unit, help) RS_TL_COLUMN(how, exchange, member, name, REAL, unit, help)
#define FOUR(member, name) RS_TL_FOUR(exchange, member, name, NONE, "over the collectives")
#define TWO(member, name)                                                                                    \
    OVER(MEAN, member, name "_mean", NONE, "over the collectives"),                                          \
        OVER(MAX, member, name "_max", NONE, "over them")

static bool put_name(const rs_tl_lot *lot, rs_table *t)
{
    (void)lot;
    rs_table_add_text(t, "all_to_allv");
    return true;
}

static const rs_tl_column summary_columns[] = {
    WHAT(KEY, group, "Process Group Name", TEXT, NONE, "process group"),
    WHAT(DUE, dtype, "dtype", TEXT, NONE, "type of the elements"),
    FOUR(size, "total data communicated (MB)"),
    FOUR(wall, "wall_time (us)"),
    OVER(SUM, wall, "Total wall_time (us)", US, "walls added up"),
    FOUR(throughput, "throughput (GB/s)"),
    TWO(imbalance, "size_imbalance"),
    TWO(max_dur, "max_rank_dur (us)"),
    TWO(skew_start, "skew in start time"),
    TWO(skew_end, "skew in end time"),
    RS_TL_GROUP(COUNT, "count", INT, COUNT, "collectives"),
    WHAT(HAD, ranks, "Process Group Ranks", TEXT, NONE, "of the first"),
    RS_TL_CELL(put_name, "Collective name", TEXT, NONE, "collective"),
    WHAT(HAD, group_size, "Group size", INT, COUNT, "of the first"),
    OVER(SUM, wall, "Total wall_time (ms)", MS, "walls added up"),
};
static const rs_tl_sheet summary_sheet =
    RS_TL_SHEET("nccl_summary_all2allv", "one row is one group and type", summary_columns, exchange,
                .by = RS_TL_BY(exchange, wall));

/* ---- nccl_all2allv ------------------------------------------------------------------------------------- */

static const rs_tl_column detail_columns[] = {
    RS_TL_CELL(rs_tl_put_id, "collective_id", TEXT, NONE, "group and index"),
    RS_TL_WHAT_COLUMNS(exchange, all.is),
    WHAT(FIRST, stream, "stream", INT, ID, "stream"),
    OVER(FIRST, size, "total data communicated (MB)", NONE, "in units of 2^20 bytes"),
    OVER(FIRST, elements, "total nelems communicated", COUNT, "elements that go in"),
    OVER(FIRST, wall, "wall_time (us)", US, "from the first start to the last end"),
    OVER(FIRST, max_dur, "max_rank_dur (us)", US, "longest duration of a rank"),
    OVER(FIRST, min_dur, "min_rank_dur (us)", US, "shortest"),
    OVER(FIRST, mean_dur, "avg_rank_dur (us)", US, "mean"),
    OVER(FIRST, throughput, "throughput (GB/s)", NONE, "all data by the wall, in units of 2^30 bytes"),
    OVER(FIRST, max_throughput, "max_rank_throughput (GB/s)", NONE, "of a rank"),
    OVER(FIRST, min_throughput, "min_rank_throughput (GB/s)", NONE, "of a rank"),
    OVER(FIRST, imbalance, "size_imbalance", NONE, "most data of a rank by their mean"),
    OVER(FIRST, skew_start, "skew in start time", US, "last start less first start"),
    OVER(FIRST, skew_end, "skew in end time", US, "last end less first end"),
};
static const rs_tl_sheet detail_sheet =
    RS_TL_SHEET("nccl_all2allv", "one row is one collective", detail_columns, exchange);

#define RANK(member, name, type, unit, help) RS_TL_COLUMN(FIRST, rs_tl_member, member, name, type, unit, help)

static const rs_tl_column rank_columns[] = {
    RANK(ts, "ts", TIME, US, "start of that rank, by its file's clock"),
    RANK(dur, "dur", TIME, US, "duration"),
    RANK(in, "In msg nelems", INT, COUNT, "elements that go in"),
    RANK(out, "Out msg nelems", INT, COUNT, "elements that come out"),
    RANK(in_mb, "In msg size (MB)", REAL, NONE, "in units of 2^20 bytes"),
    RANK(out_mb, "Out msg size (MB)", REAL, NONE, "in units of 2^20 bytes"),
    RANK(in_split, "In split size", TEXT, NONE, "how the input is parted"),
    RANK(out_split, "Out split size", TEXT, NONE, "how the output is parted"),
    RANK(skew_start, "skew in start time", TIME, US, "start less the first start"),
    RANK(skew_end, "skew in end time", TIME, US, "last end less its end"),
};
enum { N_RANK = sizeof rank_columns / sizeof *rank_columns, N_FACTS = N_RANK - 2 };

static rs_status add_detail(const rs_tl_matching *m, const exchange *all, size_t n, rs_sheets *out,
                            rs_error *err)
{
    RS_LOCAL bool *is_there = rs_calloc(m->n + 1, sizeof *is_there);
    RS_LOCAL int64_t *ranks = rs_calloc(m->n + 1, sizeof *ranks); /* those that take part, rising */
    size_t n_ranks = 0;
    if (!is_there || !ranks) return rs_fail_nomem(err, "ranks");
    for (size_t x = 0; x < n; x++)
        for (size_t i = 0; i < all[x].all.n; i++) is_there[all[x].all.items[i]] = true;
    for (size_t i = 0; i < m->n; i++)
        if (is_there[i] && (n_ranks == 0 || ranks[n_ranks - 1] != m->items[i].rank))
            ranks[n_ranks++] = m->items[i].rank;
    return rs_tl_add_wide(m, &detail_sheet, all, n, rank_columns, N_RANK, N_FACTS, ranks, n_ranks, out, err);
}

/* ---- nccl_all2allv_heatmap ----------------------------------------------------------------------------- */

/* What a rank sends to a place. */
typedef struct heat {
    int64_t from, to, bytes, n;
    double total, mean; /* in units of 2^20 bytes */
} heat;

#define OF(member, name, type, unit, help) RS_TL_COLUMN(FIRST, heat, member, name, type, unit, help)

static const rs_tl_column heat_columns[] = {
    OF(from, "src_rank", INT, ID, "rank that sends"),
    OF(to, "dst_rank", INT, ID,
       "place in the group of the rank that receives; TraceLens takes it for a rank"),
    OF(total, "total_sent_MB", REAL, NONE, "in units of 2^20 bytes"),
    OF(mean, "avg_sent_MB", REAL, NONE, "by collective"),
    OF(n, "count", INT, COUNT, "collectives"),
};
static const rs_tl_sheet heat_sheet =
    RS_TL_SHEET("nccl_all2allv_heatmap", "one row is one pair of ranks", heat_columns, heat);

typedef struct heats {
    heat *items;
    size_t n, capacity;
} heats;

/* Numbers of "[1, 2, 3]"; false: it is no such list, or too many for the room. */
static bool parse_splits(const char *text, int64_t *out, size_t room, size_t *n)
{
    *n = 0;
    if (!text || *text != '[') return false;
    text++;
    while (*text == ' ') text++;
    while (*text && *text != ']') {
        char *end;
        long long value = strtoll(text, &end, 10);
        if (end == text || *n == room) return false;
        out[(*n)++] = value;
        while (*end == ' ') end++;
        if (*end != ',' && *end != ']') return false;
        text = *end == ',' ? end + 1 : end;
    }
    return *text == ']';
}

enum { MAX_RANKS = 1024 }; /* above, TraceLens leaves the sheet out */

static bool take_heat(const heat *cells, int64_t rank, heats *out)
{
    bool ok = true;
    for (size_t i = 0; ok && i < MAX_RANKS; i++) {
        double total = (double)cells[i].bytes / (1 << 20);
        if (cells[i].n == 0) continue;
        ok = RS_APPEND(
            out, (heat){rank, (int64_t)i, cells[i].bytes, cells[i].n, total, total / (double)cells[i].n});
    }
    return ok;
}

static void count_heat(const rs_tl_matching *m, const rs_tl_member *x, int64_t *splits, heat *cells)
{
    size_t n;
    const char *dtype = rs_tl_text_of(m, x->dtype);
    int64_t size = dtype ? rs_tl_nccl_size(dtype) : 0, bytes;
    if (!size || !parse_splits(rs_tl_text_of(m, x->in_split), splits, MAX_RANKS, &n)) return;
    if (x->group_size != RS_NO_VALUE && x->group_size != (int64_t)n) return;
    for (size_t i = 0; i < n; i++) {
        if (__builtin_mul_overflow(splits[i], size, &bytes)) bytes = splits[i] < 0 ? INT64_MIN : INT64_MAX;
        cells[i].bytes = rs_add_sat(cells[i].bytes, bytes);
        cells[i].n++;
    }
}

static rs_status add_heatmap(const rs_tl_matching *m, rs_sheets *out, rs_error *err)
{
    heats all = {0};
    RS_LOCAL heat *cells = rs_calloc(MAX_RANKS, sizeof *cells);
    RS_LOCAL int64_t *splits = rs_calloc(MAX_RANKS, sizeof *splits);
    bool ok = cells && splits;
    for (size_t i = 0; ok && i < m->n; i++) {
        const rs_tl_member *x = &m->items[i];
        if (is_all2allv(m, x)) count_heat(m, x, splits, cells);
        if (i + 1 < m->n && m->items[i + 1].rank == x->rank) continue;
        ok = take_heat(cells, x->rank, &all);
        memset(cells, 0, MAX_RANKS * sizeof *cells);
    }
    const rs_tl_items items = rs_tl_items_over(m, all.items, all.n);
    rs_status status = ok ? rs_tl_add_sheet(&heat_sheet, &items, out, err) : rs_fail_nomem(err, "a sheet");
    rs_free(all.items);
    return status;
}

rs_status rs_tl_add_all2allv(rs_tl_matching *m, bool detailed, rs_sheets *out, size_t *n_mismatched,
                             rs_error *err)
{
    RS_LOCAL exchange *all = NULL;
    size_t n;
    if (!find(m, &all, &n, n_mismatched)) return rs_fail_nomem(err, "collectives");
    const rs_tl_items items = rs_tl_items_over(m, all, n);
    RS_TRY(rs_tl_add_sheet(&summary_sheet, &items, out, err));
    if (!detailed) return RS_OK;
    RS_TRY(add_detail(m, all, n, out, err));
    return add_heatmap(m, out, err);
}
