/* The sheets of all-to-alls whose ranks exchange different amounts: nccl_summary_all2allv, nccl_all2allv,
 * nccl_all2allv_heatmap. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/try.h"
#include "peer/tracelens_match.h"

#define COLUMN(name, type, unit, help)                                                                       \
    {                                                                                                        \
        name, RS_##type, RS_UNIT_##unit, help, NULL                                                          \
    }

/* One over its ranks; times in us, sizes in units of 2^20 bytes. */
typedef struct exchange {
    const rs_tl_member *first; /* of the lowest rank: what it is */
    const uint32_t *items;
    size_t n;
    int64_t earliest_start, latest_end; /* ns */
    double size, elements, wall, max_dur, min_dur, mean_dur, throughput, max_throughput, min_throughput,
        imbalance, skew_start, skew_end;
} exchange;

static bool is_all2allv(const rs_tl_member *x)
{
    const char *name = rs_tl_text_or_null(x->of, x->k->name);
    return name && strcmp(name, "all_to_allv") == 0;
}

static double bandwidth(double size, double us)
{
    return size / 1024 / (us / 1e6);
}

static void measure_times(const rs_tl_matching *m, exchange *x)
{
    int64_t latest_start = INT64_MIN, earliest_end = INT64_MAX, least = INT64_MAX, most = INT64_MIN, sum = 0;
    x->earliest_start = INT64_MAX;
    x->latest_end = INT64_MIN;
    for (size_t i = 0; i < x->n; i++) {
        const rs_tl_collective *k = m->items[x->items[i]].k;
        int64_t end = rs_add_sat(k->ts, k->dur);
        if (k->ts < x->earliest_start) x->earliest_start = k->ts;
        if (k->ts > latest_start) latest_start = k->ts;
        if (end < earliest_end) earliest_end = end;
        if (end > x->latest_end) x->latest_end = end;
        if (k->dur < least) least = k->dur;
        if (k->dur > most) most = k->dur;
        sum = rs_add_sat(sum, k->dur);
    }
    x->wall = rs_tl_us(rs_sub_sat(x->latest_end, x->earliest_start));
    x->max_dur = rs_tl_us(most);
    x->min_dur = rs_tl_us(least);
    x->mean_dur = rs_tl_us(sum) / (double)x->n;
    x->skew_start = rs_tl_us(rs_sub_sat(latest_start, x->earliest_start));
    x->skew_end = rs_tl_us(rs_sub_sat(x->latest_end, earliest_end));
}

static void measure_sizes(const rs_tl_matching *m, exchange *x)
{
    double most = 0;
    x->max_throughput = x->min_throughput = (double)NAN;
    for (size_t i = 0; i < x->n; i++) {
        const rs_tl_member *of = &m->items[x->items[i]];
        double size = rs_tl_size_of(of, of->k->in), dur = rs_tl_us(of->k->dur);
        x->size += size;
        x->elements += of->k->in == RS_NO_VALUE ? (double)NAN : (double)of->k->in;
        if (size > most) most = size;
        if (!(size > 0 && dur > 0)) continue;
        double own = bandwidth(size, dur);
        if (!(own <= x->max_throughput)) x->max_throughput = own;
        if (!(own >= x->min_throughput)) x->min_throughput = own;
    }
    double mean = x->size / (double)x->n;
    x->imbalance = mean > 0 ? most / mean : (double)NAN;
    x->throughput = x->wall > 0 ? bandwidth(x->size, x->wall) : (double)NAN;
}

static bool agrees(const rs_tl_member *a, const rs_tl_member *b)
{
    return a->k->group_size == b->k->group_size && a->k->stream == b->k->stream &&
           rs_tl_same_text(a, a->k->ranks, b, b->k->ranks) && rs_tl_same_text(a, a->k->name, b, b->k->name) &&
           rs_tl_same_text(a, a->k->dtype, b, b->k->dtype);
}

/* Those that move most stand first. */
static bool find(const rs_tl_matching *m, exchange **out, size_t *n, size_t *n_mismatched)
{
    RS_LOCAL exchange *all = rs_calloc(m->collectives.n + 1, sizeof *all);
    RS_LOCAL double *sizes = rs_calloc(m->collectives.n + 1, sizeof *sizes);
    exchange *sorted = NULL;
    RS_LOCAL uint32_t *order = NULL;
    bool ok = all && sizes;
    *n = 0;
    for (size_t g = 0; ok && g < m->collectives.n; g++) {
        const uint32_t *items = m->collectives.item + m->collectives.first[g];
        size_t n_items = m->collectives.first[g + 1] - m->collectives.first[g];
        const rs_tl_member *first = &m->items[items[0]];
        if (!is_all2allv(first)) continue;
        bool same = true;
        for (size_t i = 1; i < n_items; i++) same = same && agrees(first, &m->items[items[i]]);
        if (!same) (*n_mismatched)++;
        exchange *x = &all[*n];
        *x = (exchange){.first = first, .items = items, .n = n_items};
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

#define TWO(name)                                                                                            \
    COLUMN(name "_mean", REAL, NONE, "over the collectives"), COLUMN(name "_max", REAL, NONE, "over them")
#define FOUR(name)                                                                                           \
    COLUMN(name "_mean", REAL, NONE, "over the collectives"),                                                \
        COLUMN(name "_median", REAL, NONE, "over them"), COLUMN(name "_min", REAL, NONE, "over them"),       \
        COLUMN(name "_max", REAL, NONE, "over them")

static const rs_column_spec summary_columns[] = {
    COLUMN("Process Group Name", TEXT, NONE, "process group"),
    COLUMN("dtype", TEXT, NONE, "type of the elements"),
    FOUR("total data communicated (MB)"),
    FOUR("wall_time (us)"),
    COLUMN("Total wall_time (us)", REAL, US, "walls added up"),
    FOUR("throughput (GB/s)"),
    TWO("size_imbalance"),
    TWO("max_rank_dur (us)"),
    TWO("skew in start time"),
    TWO("skew in end time"),
    COLUMN("count", INT, COUNT, "collectives"),
    COLUMN("Process Group Ranks", TEXT, NONE, "of the first"),
    COLUMN("Collective name", TEXT, NONE, "collective"),
    COLUMN("Group size", INT, COUNT, "of the first"),
    COLUMN("Total wall_time (ms)", REAL, MS, "walls added up"),
};

/* Two or four cells of a member of the exchanges, which lies at that offset; returns the sum. */
static double add_stats(const exchange *all, const uint32_t *items, size_t n, size_t offset, bool four,
                        double *values, rs_table *t)
{
    for (size_t i = 0; i < n; i++) memcpy(&values[i], (const char *)&all[items[i]] + offset, sizeof *values);
    rs_tl_stats s = rs_tl_stats_of(values, n);
    rs_table_add_real(t, s.mean);
    if (four) {
        rs_table_add_real(t, s.median);
        rs_table_add_real(t, s.min);
    }
    rs_table_add_real(t, s.max);
    return s.sum;
}

/* The first of a group that says something. */
static const char *first_text(const exchange *all, const uint32_t *items, size_t n)
{
    const char *text = NULL;
    for (size_t i = 0; i < n && !text; i++)
        text = rs_tl_text_or_null(all[items[i]].first->of, all[items[i]].first->k->ranks);
    return text;
}

static int64_t first_size(const exchange *all, const uint32_t *items, size_t n)
{
    int64_t size = RS_NO_VALUE;
    for (size_t i = 0; i < n && size == RS_NO_VALUE; i++) size = all[items[i]].first->k->group_size;
    return size;
}

static void add_summary_row(const rs_tl_matching *m, const exchange *all, const uint32_t *items, size_t n,
                            double *values, rs_table *t)
{
    const rs_tl_member *x = all[items[0]].first;
    rs_table_add_text(t, m->groups.items[x->group].text);
    rs_table_add_text(t, rs_tl_text_or_null(x->of, x->k->dtype));
    add_stats(all, items, n, offsetof(exchange, size), true, values, t);
    double wall = add_stats(all, items, n, offsetof(exchange, wall), true, values, t);
    rs_table_add_real(t, wall);
    add_stats(all, items, n, offsetof(exchange, throughput), true, values, t);
    add_stats(all, items, n, offsetof(exchange, imbalance), false, values, t);
    add_stats(all, items, n, offsetof(exchange, max_dur), false, values, t);
    add_stats(all, items, n, offsetof(exchange, skew_start), false, values, t);
    add_stats(all, items, n, offsetof(exchange, skew_end), false, values, t);
    rs_table_add_int(t, (int64_t)n);
    rs_table_add_text(t, first_text(all, items, n));
    rs_table_add_text(t, "all_to_allv");
    rs_tl_add_int(t, first_size(all, items, n));
    rs_table_add_real(t, wall / 1000);
}

static rs_status add_summary(const rs_tl_matching *m, const exchange *all, size_t n, rs_sheets *out,
                             rs_error *err)
{
    static const rs_table_spec spec = {"nccl_summary_all2allv", "one row is one group and type",
                                       summary_columns, sizeof summary_columns / sizeof *summary_columns};
    typedef struct key {
        uint32_t group, dtype; /* in strings of all ranks */
    } key;
    rs_strings types;
    RS_SCOPED(rs_tl_groups_clear) rs_tl_groups groups = {0};
    RS_LOCAL uint32_t *order = NULL;
    RS_LOCAL key *keys = rs_calloc(n + 1, sizeof *keys);
    RS_LOCAL bool *skip = rs_calloc(n + 1, sizeof *skip);
    RS_LOCAL double *values = rs_calloc(n + 1, sizeof *values), *totals = rs_calloc(n + 1, sizeof *totals);
    rs_table *t = rs_table_create(&spec);
    bool ok = rs_strings_init(&types) && keys && skip && values && totals && t;
    for (size_t i = 0; ok && i < n; i++) {
        const rs_tl_member *x = all[i].first;
        const char *dtype = rs_tl_text_or_null(x->of, x->k->dtype);
        keys[i] = (key){x->group, dtype ? rs_strings_add(&types, dtype, strlen(dtype)) : RS_NO_STRING};
        skip[i] = !dtype;
        ok = !dtype || keys[i].dtype != RS_NO_STRING;
    }
    ok = ok && rs_tl_group(keys, sizeof *keys, skip, n, &groups);
    for (size_t g = 0; ok && g < groups.n; g++)
        for (size_t i = groups.first[g]; i < groups.first[g + 1]; i++) totals[g] += all[groups.item[i]].wall;
    ok = ok && rs_tl_order(totals, NULL, groups.n, &order);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "collectives");
    for (size_t i = 0; status == RS_OK && i < groups.n; i++) {
        uint32_t first = groups.first[order[i]];
        add_summary_row(m, all, groups.item + first, groups.first[order[i] + 1] - first, values, t);
        status = rs_table_end_row(t, err);
    }
    rs_strings_clear(&types);
    return rs_sheets_end(out, t, status, err);
}

/* ---- nccl_all2allv ------------------------------------------------------------------------------------- */

static const rs_column_spec detail_columns[] = {
    COLUMN("collective_id", TEXT, NONE, "group and index"),
    COLUMN("Process Group Name", TEXT, NONE, "process group"),
    COLUMN("Process Group Ranks", TEXT, NONE, "its ranks"),
    COLUMN("Collective name", TEXT, NONE, "collective"),
    COLUMN("Group size", INT, COUNT, "ranks of the group"),
    COLUMN("dtype", TEXT, NONE, "type of the elements"),
    COLUMN("stream", INT, ID, "stream"),
    COLUMN("total data communicated (MB)", REAL, NONE, "in units of 2^20 bytes"),
    COLUMN("total nelems communicated", REAL, COUNT, "elements that go in"),
    COLUMN("wall_time (us)", REAL, US, "from the first start to the last end"),
    COLUMN("max_rank_dur (us)", REAL, US, "longest duration of a rank"),
    COLUMN("min_rank_dur (us)", REAL, US, "shortest"),
    COLUMN("avg_rank_dur (us)", REAL, US, "mean"),
    COLUMN("throughput (GB/s)", REAL, NONE, "all data by the wall, in units of 2^30 bytes"),
    COLUMN("max_rank_throughput (GB/s)", REAL, NONE, "of a rank"),
    COLUMN("min_rank_throughput (GB/s)", REAL, NONE, "of a rank"),
    COLUMN("size_imbalance", REAL, NONE, "most data of a rank by their mean"),
    COLUMN("skew in start time", REAL, US, "last start less first start"),
    COLUMN("skew in end time", REAL, US, "last end less first end"),
};
enum { N_DETAIL = sizeof detail_columns / sizeof *detail_columns };

static const rs_column_spec rank_columns[] = {
    COLUMN("ts", TIME, US, "start of that rank, by its file's clock"),
    COLUMN("dur", TIME, US, "duration"),
    COLUMN("In msg nelems", INT, COUNT, "elements that go in"),
    COLUMN("Out msg nelems", INT, COUNT, "elements that come out"),
    COLUMN("In msg size (MB)", REAL, NONE, "in units of 2^20 bytes"),
    COLUMN("Out msg size (MB)", REAL, NONE, "in units of 2^20 bytes"),
    COLUMN("In split size", TEXT, NONE, "how the input is parted"),
    COLUMN("Out split size", TEXT, NONE, "how the output is parted"),
    COLUMN("skew in start time", TIME, US, "start less the first start"),
    COLUMN("skew in end time", TIME, US, "last end less its end"),
};
enum { N_RANK = sizeof rank_columns / sizeof *rank_columns, N_FACTS = N_RANK - 2, N_SKEWS = 2 };

/* The ranks that take part in one, rising. */
static bool find_ranks(const rs_tl_matching *m, const exchange *all, size_t n, const rs_tl_collectives ***out,
                       size_t *n_out)
{
    RS_LOCAL bool *is_there = rs_calloc(m->n + 1, sizeof *is_there);
    const rs_tl_collectives **ranks = rs_calloc(m->n + 1, sizeof *ranks);
    for (size_t x = 0; is_there && x < n; x++)
        for (size_t i = 0; i < all[x].n; i++) is_there[all[x].items[i]] = true;
    *n_out = 0;
    for (size_t i = 0; is_there && ranks && i < m->n; i++)
        if (is_there[i] && (*n_out == 0 || ranks[*n_out - 1] != m->items[i].of))
            ranks[(*n_out)++] = m->items[i].of;
    bool ok = is_there && ranks;
    *out = ranks;
    return ok;
}

static rs_table *detail_table(const rs_tl_collectives *const *ranks, size_t n)
{
    rs_column_spec *columns = rs_calloc(N_DETAIL + N_RANK * n, sizeof *columns);
    RS_LOCAL char *names = rs_malloc((N_RANK * n + 1) * RS_TL_RANK_NAME);
    rs_table *t = NULL;
    if (columns && names) {
        memcpy(columns, detail_columns, sizeof detail_columns);
        for (size_t i = 0; i < N_RANK * n; i++) {
            bool is_fact = i < N_FACTS * n;
            size_t at = is_fact ? i : i - N_FACTS * n, each = is_fact ? N_FACTS : N_SKEWS;
            rs_column_spec *column = &columns[N_DETAIL + i];
            *column = rank_columns[(is_fact ? 0 : N_FACTS) + at % each];
            rs_tl_name_column(names + i * RS_TL_RANK_NAME, ranks[at / each]->rank, column->name);
            column->name = names + i * RS_TL_RANK_NAME;
        }
        const rs_table_spec spec = {"nccl_all2allv", "one row is one collective", columns,
                                    N_DETAIL + N_RANK * n};
        t = rs_table_create_dynamic(&spec);
    }
    rs_free(columns);
    return t;
}

/* The collective of a rank. Ranks are asked for in their order, from *at = 0 on. */
static const rs_tl_member *of_rank(const rs_tl_matching *m, const exchange *x, const rs_tl_collectives *rank,
                                   size_t *at)
{
    if (*at == x->n || m->items[x->items[*at]].of != rank) return NULL;
    return &m->items[x->items[(*at)++]];
}

static void add_facts(const rs_tl_member *of, rs_table *t)
{
    if (!of) {
        for (int i = 0; i < N_FACTS; i++) rs_table_add_null(t);
        return;
    }
    rs_table_add_time(t, of->k->ts);
    rs_table_add_time(t, of->k->dur);
    rs_tl_add_int(t, of->k->in);
    rs_tl_add_int(t, of->k->out);
    rs_table_add_real(t, rs_tl_size_of(of, of->k->in));
    rs_table_add_real(t, rs_tl_size_of(of, of->k->out));
    rs_table_add_text(t, rs_tl_text_or_null(of->of, of->k->in_split));
    rs_table_add_text(t, rs_tl_text_or_null(of->of, of->k->out_split));
}

static void add_rank_cells(const rs_tl_matching *m, const exchange *x, const rs_tl_collectives *const *ranks,
                           size_t n, rs_table *t)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) add_facts(of_rank(m, x, ranks[i], &at), t);
    at = 0;
    for (size_t i = 0; i < n; i++) {
        const rs_tl_member *of = of_rank(m, x, ranks[i], &at);
        rs_table_add_time(t, of ? rs_sub_sat(of->k->ts, x->earliest_start) : INT64_MIN);
        rs_table_add_time(t, of ? rs_sub_sat(x->latest_end, rs_add_sat(of->k->ts, of->k->dur)) : INT64_MIN);
    }
}

static bool add_detail_row(const rs_tl_matching *m, const exchange *x, rs_python_text *text, rs_table *t)
{
    const rs_tl_member *first = x->first;
    bool ok = rs_tl_add_id(t, m, first, text);
    rs_table_add_text(t, m->groups.items[first->group].text);
    rs_table_add_text(t, rs_tl_text_or_null(first->of, first->k->ranks));
    rs_table_add_text(t, rs_tl_text_or_null(first->of, first->k->name));
    rs_tl_add_int(t, first->k->group_size);
    rs_table_add_text(t, rs_tl_text_or_null(first->of, first->k->dtype));
    rs_tl_add_int(t, first->k->stream);
    const double cells[] = {x->size,           x->elements,  x->wall,       x->max_dur,
                            x->min_dur,        x->mean_dur,  x->throughput, x->max_throughput,
                            x->min_throughput, x->imbalance, x->skew_start, x->skew_end};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) rs_table_add_real(t, cells[i]);
    return ok;
}

static rs_status add_detail(const rs_tl_matching *m, const exchange *all, size_t n, rs_sheets *out,
                            rs_error *err)
{
    const rs_tl_collectives **ranks = NULL;
    size_t n_ranks = 0;
    RS_SCOPED(rs_python_clear) rs_python_text text = {0};
    rs_table *t = find_ranks(m, all, n, &ranks, &n_ranks) ? detail_table(ranks, n_ranks) : NULL;
    rs_status status = t ? RS_OK : rs_fail_nomem(err, "a sheet");
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        bool ok = add_detail_row(m, &all[i], &text, t);
        add_rank_cells(m, &all[i], ranks, n_ranks, t);
        status = ok ? rs_table_end_row(t, err) : rs_fail_nomem(err, "a row");
    }
    rs_free((void *)ranks);
    return rs_sheets_end(out, t, status, err);
}

/* ---- nccl_all2allv_heatmap ----------------------------------------------------------------------------- */

static const rs_column_spec heat_columns[] = {
    COLUMN("src_rank", INT, ID, "rank that sends"),
    COLUMN("dst_rank", INT, ID,
           "place in the group of the rank that receives; TraceLens takes it for a rank"),
    COLUMN("total_sent_MB", REAL, NONE, "in units of 2^20 bytes"),
    COLUMN("avg_sent_MB", REAL, NONE, "by collective"),
    COLUMN("count", INT, COUNT, "collectives"),
};

typedef struct heat {
    int64_t bytes;
    int64_t n;
} heat;

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

static rs_status add_heat_rows(const heat *cells, int64_t rank, rs_table *t, rs_error *err)
{
    for (size_t i = 0; i < MAX_RANKS; i++) {
        if (cells[i].n == 0) continue;
        double total = (double)cells[i].bytes / (1 << 20);
        rs_table_add_int(t, rank);
        rs_table_add_int(t, (int64_t)i);
        rs_table_add_real(t, total);
        rs_table_add_real(t, total / (double)cells[i].n);
        rs_table_add_int(t, cells[i].n);
        RS_TRY(rs_table_end_row(t, err));
    }
    return RS_OK;
}

static void count_heat(const rs_tl_member *x, int64_t *splits, heat *cells)
{
    size_t n;
    const char *dtype = rs_tl_text_or_null(x->of, x->k->dtype);
    int64_t size = dtype ? rs_tl_nccl_size(dtype) : 0, bytes;
    if (!size || !parse_splits(rs_tl_text_or_null(x->of, x->k->in_split), splits, MAX_RANKS, &n)) return;
    if (x->k->group_size != RS_NO_VALUE && x->k->group_size != (int64_t)n) return;
    for (size_t i = 0; i < n; i++) {
        if (__builtin_mul_overflow(splits[i], size, &bytes)) bytes = splits[i] < 0 ? INT64_MIN : INT64_MAX;
        cells[i].bytes = rs_add_sat(cells[i].bytes, bytes);
        cells[i].n++;
    }
}

static rs_status add_heatmap(const rs_tl_matching *m, rs_sheets *out, rs_error *err)
{
    static const rs_table_spec spec = {"nccl_all2allv_heatmap", "one row is one pair of ranks", heat_columns,
                                       sizeof heat_columns / sizeof *heat_columns};
    rs_table *t = rs_table_create(&spec);
    RS_LOCAL heat *cells = rs_calloc(MAX_RANKS, sizeof *cells);
    RS_LOCAL int64_t *splits = rs_calloc(MAX_RANKS, sizeof *splits);
    rs_status status = t && cells && splits ? RS_OK : rs_fail_nomem(err, "a sheet");
    for (size_t i = 0; status == RS_OK && i < m->n; i++) {
        const rs_tl_member *x = &m->items[i];
        if (is_all2allv(x)) count_heat(x, splits, cells);
        if (i + 1 < m->n && m->items[i + 1].of == x->of) continue;
        status = add_heat_rows(cells, x->of->rank, t, err);
        memset(cells, 0, MAX_RANKS * sizeof *cells);
    }
    return rs_sheets_end(out, t, status, err);
}

rs_status rs_tl_add_all2allv(const rs_tl_matching *m, bool detailed, rs_sheets *out, size_t *n_mismatched,
                             rs_error *err)
{
    exchange *all;
    size_t n;
    if (!find(m, &all, &n, n_mismatched)) return rs_fail_nomem(err, "collectives");
    rs_status status = add_summary(m, all, n, out, err);
    if (status == RS_OK && detailed) status = add_detail(m, all, n, out, err);
    if (status == RS_OK && detailed) status = add_heatmap(m, out, err);
    rs_free(all);
    return status;
}
