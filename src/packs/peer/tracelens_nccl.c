#include "peer/tracelens_nccl.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "base/try.h"
#include "peer/tracelens_match.h"
#include "text/numbers.h"

/* ---- one rank ------------------------------------------------------------------------------------------ */

void rs_tl_collectives_clear(rs_tl_collectives *c)
{
    rs_strings_clear(&c->strings);
    rs_free(c->items);
    *c = (rs_tl_collectives){0};
}

static uint32_t take_text(rs_tl_collectives *c, const rs_events *e, rs_column_id column, uint32_t row,
                          bool *ok)
{
    uint32_t id = rs_events_text(e, column, row);
    if (id == RS_NO_STRING || !*ok) return RS_NO_STRING;
    uint32_t own = rs_strings_add(&c->strings, e->strings.items[id].text, e->strings.items[id].length);
    if (own == RS_NO_STRING) *ok = false;
    return own;
}

static int64_t take_int(const rs_events *e, rs_column_id column, uint32_t row)
{
    int64_t value;
    return rs_events_int(e, column, row, &value) ? value : RS_NO_VALUE;
}

static bool take(rs_tl_collectives *c, const rs_events *e, uint32_t row)
{
    bool ok = RS_GROW_ONE(c->items, c->n, c->capacity);
    if (!ok) return false;
    rs_tl_collective *k = &c->items[c->n++];
    *k = (rs_tl_collective){.ts = e->start[row],
                            .dur = e->duration[row],
                            .group_size = take_int(e, RS_COL_GROUP_SIZE, row),
                            .in = take_int(e, RS_COL_IN_NELEMS, row),
                            .out = take_int(e, RS_COL_OUT_NELEMS, row),
                            .stream = take_int(e, RS_COL_STREAM, row),
                            .group = take_text(c, e, RS_COL_GROUP_NAME, row, &ok),
                            .ranks = take_text(c, e, RS_COL_GROUP_RANKS, row, &ok),
                            .name = take_text(c, e, RS_COL_COLLECTIVE, row, &ok),
                            .dtype = take_text(c, e, RS_COL_DTYPE, row, &ok),
                            .in_split = take_text(c, e, RS_COL_IN_SPLIT, row, &ok),
                            .out_split = take_text(c, e, RS_COL_OUT_SPLIT, row, &ok)};
    if (ok && k->name == RS_NO_STRING && strstr(rs_event_name(e, row), "cross_device_reduce")) {
        k->name = rs_strings_add(&c->strings, "allreduce", 9);
        ok = k->name != RS_NO_STRING;
    }
    return ok;
}

rs_status rs_tl_collectives_of(rs_trace *trace, rs_tl_collectives *out, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_classes *classes;
    const uint32_t *rows;
    size_t n;
    *out = (rs_tl_collectives){0};
    bool ok = rs_strings_init(&out->strings);
    RS_TRY(rs_trace_classes(trace, RS_CLASSES_TRACELENS, &classes, err));
    RS_TRY(rs_trace_gpu_rows(trace, &rows, &n, err));
    for (size_t i = 0; ok && i < n; i++) {
        int64_t id;
        if (rs_event_kind(e, rows[i]) != RS_KIND_KERNEL || rs_class_at(classes, rows[i]) != RS_CLASS_COMM)
            continue;
        if (!rs_events_int(e, RS_COL_CORRELATION, rows[i], &id) &&
            !rs_events_int(e, RS_COL_EXTERNAL_ID, rows[i], &id))
            continue;
        ok = take(out, e, rows[i]);
    }
    return ok ? RS_OK : rs_fail_nomem(err, "collectives");
}

/* ---- nccl_long ----------------------------------------------------------------------------------------- */

#define MEMBER(member, name, type, unit, help)                                                               \
    RS_TL_COLUMN(FIRST, rs_tl_member, member, name, type, unit, help)

static const rs_tl_column long_columns[] = {
    RS_TL_CELL(rs_tl_put_id, "collective_id", TEXT, NONE, "group and index"),
    MEMBER(index, "index_in_group", INT, ID, "among the rank's collectives of the group, by time"),
    MEMBER(rank, "rank", INT, ID, "rank"),
    MEMBER(group, "Process Group Name", TEXT, NONE, "process group"),
    MEMBER(ranks, "Process Group Ranks", TEXT, NONE, "its ranks"),
    MEMBER(name, "Collective name", TEXT, NONE, "collective"),
    MEMBER(group_size, "Group size", INT, COUNT, "ranks of the group"),
    MEMBER(dtype, "dtype", TEXT, NONE, "type of the elements"),
    MEMBER(in, "In msg nelems", INT, COUNT, "elements that go in"),
    MEMBER(in_mb, "In msg size (MB)", REAL, NONE, "in units of 2^20 bytes"),
    MEMBER(out, "Out msg nelems", INT, COUNT, "elements that come out"),
    MEMBER(out_mb, "Out msg size (MB)", REAL, NONE, "in units of 2^20 bytes"),
    MEMBER(in_split, "In split size", TEXT, NONE, "how the input is parted"),
    MEMBER(out_split, "Out split size", TEXT, NONE, "how the output is parted"),
    MEMBER(stream, "stream", INT, ID, "stream"),
    MEMBER(ts, "ts", TIME, US, "start, by the file's clock"),
    MEMBER(dur, "dur", TIME, US, "duration"),
};
static const rs_tl_sheet long_sheet =
    RS_TL_SHEET("nccl_long", "one row is one collective of one rank", long_columns, rs_tl_member);

/* ---- collectives that make ranks wait ------------------------------------------------------------------ */

typedef enum kind { OTHER, ALLREDUCE, REDUCESCATTER, ALLGATHER, ALLTOALL } kind;

static kind kind_of(const char *name)
{
    static const struct {
        const char *name;
        kind kind;
    } names[] = {{"allreduce", ALLREDUCE},
                 {"allreduce_coalesced", ALLREDUCE},
                 {"reducescatter", REDUCESCATTER},
                 {"_reduce_scatter_base", REDUCESCATTER},
                 {"reduce_scatter_tensor_coalesced", REDUCESCATTER},
                 {"allgather", ALLGATHER},
                 {"all_gather", ALLGATHER},
                 {"_allgather_base", ALLGATHER},
                 {"all_gather_into_tensor_coalesced", ALLGATHER},
                 {"allgather_into_tensor_coalesced", ALLGATHER},
                 {"all_to_all", ALLTOALL}};
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0) return names[i].kind;
    return OTHER;
}

/* A collective over its ranks; times in us. */
typedef struct synced {
    rs_tl_collected all;
    double latency, skew_start, skew_end, mean_wait, full_size, algo, bus;
    int64_t earliest;             /* rank */
    uint32_t in_sum, name, dtype; /* as sums call them: "Unknown" where not recorded */
} synced;

static void measure(rs_tl_matching *m, synced *s)
{
    const rs_tl_collected *all = &s->all;
    int64_t latest_start = INT64_MIN, least = INT64_MAX, latest_end = INT64_MIN, earliest_end = INT64_MAX;
    int64_t wait = -1, sum = 0;
    for (size_t i = 0; i < all->n; i++) {
        const rs_tl_member *x = &m->items[all->items[i]];
        int64_t end = rs_add_sat(x->ts, x->dur);
        if (x->ts > latest_start) latest_start = x->ts;
        if (x->dur < least) least = x->dur;
        if (end > latest_end) latest_end = end;
        if (end < earliest_end) earliest_end = end;
    }
    s->earliest = INT64_MIN;
    for (size_t i = 0; i < all->n; i++) {
        rs_tl_member *x = &m->items[all->items[i]];
        x->skew_start = rs_sub_sat(latest_start, x->ts);
        sum = rs_add_sat(sum, x->skew_start);
        if (x->skew_start > wait || (x->skew_start == wait && x->rank > s->earliest))
            wait = x->skew_start, s->earliest = x->rank;
    }
    s->latency = rs_tl_us(least);
    s->skew_start = rs_tl_us(wait);
    s->skew_end = rs_tl_us(rs_sub_sat(latest_end, earliest_end));
    s->mean_wait = rs_tl_us(sum) / (double)all->n;
    kind what = kind_of(rs_tl_text_of(m, all->is.name));
    double n = (double)all->is.group_size;
    s->full_size = what == OTHER ? (double)NAN : what == ALLGATHER ? all->is.out_mb : all->is.in_mb;
    s->algo = s->latency > 0 ? s->full_size / 1024 / (s->latency / 1e6) : (double)NAN;
    s->bus = all->is.group_size == RS_NO_VALUE || n == 0
                 ? (double)NAN
                 : s->algo * (what == ALLREDUCE ? 2 : 1) * (n - 1) / n;
}

static bool name_sum(rs_tl_matching *m, synced *s)
{
    char number[RS_NUMBER_SIZE] = "Unknown";
    bool ok = true;
    const uint32_t unknown = rs_tl_match_text(m, number, &ok);
    if (s->all.is.in != RS_NO_VALUE) number[rs_format_int(s->all.is.in, number)] = '\0';
    s->in_sum = rs_tl_match_text(m, number, &ok);
    s->name = s->all.is.name == RS_NO_STRING ? unknown : s->all.is.name;
    s->dtype = s->all.is.dtype == RS_NO_STRING ? unknown : s->all.is.dtype;
    return ok;
}

static bool same_sizes(const rs_tl_member *a, const rs_tl_member *b)
{
    return rs_tl_members_agree(a, b) && a->in == b->in && a->out == b->out;
}

/* Collectives whose kind makes every rank wait for all, in the order in which they first appear. */
static bool find_synced(rs_tl_matching *m, synced **out, size_t *n, size_t *n_mismatched)
{
    synced *all = rs_calloc(m->collectives.n + 1, sizeof *all);
    bool ok = all != NULL;
    *n = *n_mismatched = 0;
    for (size_t g = 0; ok && g < m->collectives.n; g++) {
        const rs_tl_collected one = rs_tl_collected_at(m, g);
        const char *name = rs_tl_text_of(m, one.is.name);
        bool unnamed =
            m->simplified && (!name || (kind_of(name) == OTHER && strcmp(name, "all_to_allv") != 0));
        if (kind_of(name) == OTHER && !unnamed) continue;
        if (!m->simplified && !rs_tl_ranks_agree(m, &one, same_sizes)) (*n_mismatched)++;
        synced *s = &all[(*n)++];
        *s = (synced){.all = one};
        measure(m, s);
        ok = name_sum(m, s);
    }
    *out = all;
    return ok;
}

/* ---- nccl_implicit_sync -------------------------------------------------------------------------------- */

#define WHAT(member, name, type, unit, help) RS_TL_MEMBER(synced, all.is, member, name, type, unit, help)
#define OVER(how, member, name, type, unit, help) RS_TL_COLUMN(how, synced, member, name, type, unit, help)

static const rs_tl_column synced_columns[] = {
    RS_TL_CELL(rs_tl_put_id, "collective_id", TEXT, NONE, "group and index"),
    RS_TL_WHAT_COLUMNS(synced, all.is),
    WHAT(in, "In msg nelems", INT, COUNT, "elements that go in"),
    WHAT(out, "Out msg nelems", INT, COUNT, "elements that come out"),
    WHAT(in_mb, "In msg size (MB)", REAL, NONE, "in units of 2^20 bytes"),
    WHAT(out_mb, "Out msg size (MB)", REAL, NONE, "in units of 2^20 bytes"),
    OVER(FIRST, full_size, "Full msg size (MB)", REAL, NONE, "in units of 2^20 bytes"),
    OVER(FIRST, latency, "comm_latency", REAL, US, "least duration over the ranks"),
    OVER(FIRST, skew_start, "skew in start time", REAL, US, "longest wait for the last to start"),
    OVER(FIRST, earliest, "earliest arrival rank", INT, ID, "the rank that waits longest"),
    OVER(FIRST, mean_wait, "avg_wait_time", REAL, US, "mean wait for the last to start"),
    OVER(FIRST, skew_end, "skew in end time", REAL, US, "last end less first end"),
    OVER(FIRST, algo, "algo bw (GB/s)", REAL, NONE, "full size by latency, in units of 2^30 bytes"),
    OVER(FIRST, bus, "bus bw (GB/s)", REAL, NONE, "the same times the factor of the algorithm"),
};
static const rs_tl_sheet synced_sheet =
    RS_TL_SHEET("nccl_implicit_sync", "one row is one collective", synced_columns, synced);

static const rs_tl_column rank_columns[] = {
    MEMBER(ts, "ts", TIME, US, "of that rank"),
    MEMBER(dur, "dur", TIME, US, "of that rank"),
    MEMBER(skew_start, "wait_time", TIME, US, "of that rank"),
};

/* ---- nccl_summary_implicit_sync ------------------------------------------------------------------------ */

#define FOUR(member, name) RS_TL_FOUR(synced, member, name, NONE, "over the collectives")

static const rs_tl_column sum_columns[] = {
    OVER(KEY, name, "Collective name", TEXT, NONE, "collective"),
    OVER(KEY, dtype, "dtype", TEXT, NONE, "type of the elements"),
    OVER(KEY, in_sum, "In msg nelems", TEXT, NONE, "elements that go in; Unknown where not recorded"),
    WHAT(group, "Process Group Name", TEXT, NONE, "group of the first: others are added in, too"),
    WHAT(group_size, "Group size", INT, COUNT, "of the first"),
    OVER(HAD, full_size, "Full msg size (MB)", REAL, NONE, "of the first, in units of 2^20 bytes"),
    FOUR(latency, "comm_latency"),
    FOUR(skew_start, "skew in start time"),
    FOUR(skew_end, "skew in end time"),
    FOUR(algo, "algo bw (GB/s)"),
    FOUR(bus, "bus bw (GB/s)"),
    RS_TL_GROUP(COUNT, "count", INT, COUNT, "collectives"),
    OVER(ADDED, latency, "Total comm latency (ms)", REAL, MS, "latencies added up"),
};
static const rs_tl_sheet sum_sheet =
    RS_TL_SHEET("nccl_summary_implicit_sync", "one row is one kind of collective of one type and size",
                sum_columns, synced, .by = RS_TL_BY(synced, latency));

/* ---- straggler_summary --------------------------------------------------------------------------------- */

/* Times in us, rounded as the sheet has them. */
typedef struct straggler {
    int64_t rank, n_all, last, first,
        n; /* n: of the collectives that make ranks wait, as n_all of all ranks */
    int64_t wait_ns, dur_ns;
    double wait, mean, pct, dur, patience; /* patience: the least wait comes first */
} straggler;

#define OF(member, name, type, unit, help) RS_TL_COLUMN(FIRST, straggler, member, name, type, unit, help)

static const rs_tl_column straggler_columns[] = {
    OF(rank, "rank", INT, ID, "rank"),
    OF(wait, "total_wait_time_us", REAL, US, "waits for the last to start, added up"),
    OF(mean, "mean_wait_time_us", REAL, US, "their mean"),
    OF(last, "times_arrived_last", INT, COUNT, "collectives that it starts last"),
    OF(first, "times_arrived_first", INT, COUNT, "collectives that it starts first"),
    OF(pct, "pct_arrived_last", REAL, PERCENT, "of all collectives"),
    OF(n_all, "num_collectives", INT, COUNT, "all collectives"),
    OF(dur, "total_nccl_dur_us", REAL, US, "durations of its collectives, added up"),
};
static const rs_tl_sheet straggler_sheet =
    RS_TL_SHEET("straggler_summary", "one row is one rank", straggler_columns, straggler,
                .by = RS_TL_BY(straggler, patience));

/* Ranks with collectives, rising, and how long these take. */
static size_t list_ranks(const rs_tl_matching *m, straggler *out)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (i == 0 || m->items[i].rank != m->items[i - 1].rank)
            out[n++] = (straggler){.rank = m->items[i].rank};
        out[n - 1].dur_ns = rs_add_sat(out[n - 1].dur_ns, m->items[i].dur);
    }
    return n;
}

static void count_waits(const rs_tl_matching *m, const synced *s, straggler *out)
{
    straggler *last = NULL;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < s->all.n; i++) {
        const rs_tl_member *x = &m->items[s->all.items[i]];
        while (out->rank != x->rank) out++;
        out->wait_ns = rs_add_sat(out->wait_ns, x->skew_start);
        out->n++;
        if (x->skew_start < least) least = x->skew_start, last = out;
        if (s->earliest == x->rank) out->first++;
    }
    if (last) last->last++;
}

/* Drops ranks without a collective that makes them wait. */
static size_t finish_stragglers(straggler *ranks, size_t n, size_t n_all)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        straggler *s = &ranks[i];
        double wait = rs_tl_us(s->wait_ns);
        if (s->n == 0) continue;
        s->n_all = (int64_t)n_all;
        s->wait = rs_round(wait, 1);
        s->mean = rs_round(wait / (double)s->n, 1);
        s->pct = rs_round(100.0 * (double)s->last / (double)n_all, 1);
        s->dur = rs_round(rs_tl_us(s->dur_ns), 1);
        s->patience = -wait;
        ranks[kept++] = *s;
    }
    return kept;
}

/* ---- all ----------------------------------------------------------------------------------------------- */

/* The sheets that have a row for each collective. */
static rs_status add_details(const rs_tl_matching *m, const synced *all, size_t n, const straggler *ranks,
                             size_t n_ranks, rs_sheets *out, rs_error *err)
{
    const rs_tl_items members = rs_tl_items_over(m, m->items, m->n);
    RS_LOCAL int64_t *numbers = rs_malloc((n_ranks + 1) * sizeof *numbers);
    if (!numbers) return rs_fail_nomem(err, "ranks");
    for (size_t i = 0; i < n_ranks; i++) numbers[i] = ranks[i].rank;
    RS_TRY(rs_tl_add_sheet(&long_sheet, &members, out, err));
    return rs_tl_add_wide(m, &synced_sheet, all, n, rank_columns, 3, 2, numbers, n_ranks, out, err);
}

rs_status rs_tl_collective_sheets(const rs_tl_collectives *const *ranks, size_t n, bool detailed,
                                  rs_sheets *out, size_t *n_mismatched, rs_error *err)
{
    RS_SCOPED(rs_tl_matching_clear) rs_tl_matching m = {0};
    RS_LOCAL synced *all = NULL;
    RS_LOCAL straggler *present = rs_calloc(n + 1, sizeof *present);
    size_t n_synced = 0;
    *n_mismatched = 0;
    if (!present || !rs_tl_match(ranks, n, &m) || !find_synced(&m, &all, &n_synced, n_mismatched))
        return rs_fail_nomem(err, "collectives");
    size_t n_present = list_ranks(&m, present);
    const rs_tl_items collectives = rs_tl_items_over(&m, all, n_synced);
    RS_TRY(rs_tl_add_sheet(&sum_sheet, &collectives, out, err));
    RS_TRY(rs_tl_add_collective_summary(&m, "nccl_summary_long", out, err));
    if (detailed) RS_TRY(add_details(&m, all, n_synced, present, n_present, out, err));
    for (size_t i = 0; i < n_synced; i++) count_waits(&m, &all[i], present);
    n_present = finish_stragglers(present, n_present, n_synced);
    RS_TRY(rs_tl_add_all2allv(&m, detailed, out, n_mismatched, err));
    const rs_tl_items stragglers = rs_tl_items_over(&m, present, n_present);
    return rs_tl_add_sheet(&straggler_sheet, &stragglers, out, err);
}
