#include "peer/tracelens_nccl.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "base/try.h"
#include "peer/tracelens_match.h"

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

#define COLUMN(name, type, unit, help)                                                                       \
    {                                                                                                        \
        name, RS_##type, RS_UNIT_##unit, help, NULL                                                          \
    }
#define SPEC(name, help, columns)                                                                            \
    {                                                                                                        \
        name, help, columns, sizeof(columns) / sizeof *(columns)                                             \
    }

/* ---- nccl_long ----------------------------------------------------------------------------------------- */

static const rs_column_spec long_columns[] = {
    COLUMN("collective_id", TEXT, NONE, "group and index"),
    COLUMN("index_in_group", INT, ID, "among the rank's collectives of the group, by time"),
    COLUMN("rank", INT, ID, "rank"),
    COLUMN("Process Group Name", TEXT, NONE, "process group"),
    COLUMN("Process Group Ranks", TEXT, NONE, "its ranks"),
    COLUMN("Collective name", TEXT, NONE, "collective"),
    COLUMN("Group size", INT, COUNT, "ranks of the group"),
    COLUMN("dtype", TEXT, NONE, "type of the elements"),
    COLUMN("In msg nelems", INT, COUNT, "elements that go in"),
    COLUMN("In msg size (MB)", REAL, NONE, "in units of 2^20 bytes"),
    COLUMN("Out msg nelems", INT, COUNT, "elements that come out"),
    COLUMN("Out msg size (MB)", REAL, NONE, "in units of 2^20 bytes"),
    COLUMN("In split size", TEXT, NONE, "how the input is parted"),
    COLUMN("Out split size", TEXT, NONE, "how the output is parted"),
    COLUMN("stream", INT, ID, "stream"),
    COLUMN("ts", TIME, US, "start, by the file's clock"),
    COLUMN("dur", TIME, US, "duration"),
};
static const rs_table_spec long_sheet =
    SPEC("nccl_long", "one row is one collective of one rank", long_columns);

static rs_status add_long(const rs_tl_matching *m, rs_sheets *out, rs_error *err)
{
    rs_table *t = rs_table_create(&long_sheet);
    RS_SCOPED(rs_python_clear) rs_python_text text = {0};
    rs_status status = t ? RS_OK : rs_fail_nomem(err, "a sheet");
    for (size_t i = 0; status == RS_OK && i < m->n; i++) {
        const rs_tl_member *x = &m->items[i];
        bool ok = rs_tl_add_id(t, m, x, &text);
        rs_table_add_int(t, x->index);
        rs_table_add_int(t, x->of->rank);
        rs_table_add_text(t, m->groups.items[x->group].text);
        rs_table_add_text(t, rs_tl_text_or_null(x->of, x->k->ranks));
        rs_table_add_text(t, rs_tl_text_or_null(x->of, x->k->name));
        rs_tl_add_int(t, x->k->group_size);
        rs_table_add_text(t, rs_tl_text_or_null(x->of, x->k->dtype));
        rs_tl_add_int(t, x->k->in);
        rs_table_add_real(t, rs_tl_size_of(x, x->k->in));
        rs_tl_add_int(t, x->k->out);
        rs_table_add_real(t, rs_tl_size_of(x, x->k->out));
        rs_table_add_text(t, rs_tl_text_or_null(x->of, x->k->in_split));
        rs_table_add_text(t, rs_tl_text_or_null(x->of, x->k->out_split));
        rs_tl_add_int(t, x->k->stream);
        rs_table_add_time(t, x->k->ts);
        rs_table_add_time(t, x->k->dur);
        status = ok ? rs_table_end_row(t, err) : rs_fail_nomem(err, "a row");
    }
    return rs_sheets_end(out, t, status, err);
}

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
    const rs_tl_member *first; /* of the lowest rank: what it is */
    const uint32_t *items;
    size_t n;
    double latency, skew_start, skew_end, mean_wait, full_size, algo, bus;
    int64_t latest_start; /* ns */
    int64_t earliest;     /* rank */
} synced;

static void measure(const rs_tl_matching *m, synced *s)
{
    int64_t least = INT64_MAX, latest_end = INT64_MIN, earliest_end = INT64_MAX, wait = -1, sum = 0;
    s->latest_start = INT64_MIN;
    for (size_t i = 0; i < s->n; i++) {
        const rs_tl_collective *k = m->items[s->items[i]].k;
        int64_t end = rs_add_sat(k->ts, k->dur);
        if (k->ts > s->latest_start) s->latest_start = k->ts;
        if (k->dur < least) least = k->dur;
        if (end > latest_end) latest_end = end;
        if (end < earliest_end) earliest_end = end;
    }
    for (size_t i = 0; i < s->n; i++) {
        const rs_tl_member *x = &m->items[s->items[i]];
        int64_t own = rs_sub_sat(s->latest_start, x->k->ts);
        sum = rs_add_sat(sum, own);
        if (own > wait || (own == wait && x->of->rank > s->earliest)) wait = own, s->earliest = x->of->rank;
    }
    s->latency = rs_tl_us(least);
    s->skew_start = rs_tl_us(wait);
    s->skew_end = rs_tl_us(rs_sub_sat(latest_end, earliest_end));
    s->mean_wait = rs_tl_us(sum) / (double)s->n;
    const rs_tl_member *x = s->first;
    kind what = kind_of(rs_tl_text_or_null(x->of, x->k->name));
    double n = (double)x->k->group_size;
    s->full_size = what == OTHER ? (double)NAN : rs_tl_size_of(x, what == ALLGATHER ? x->k->out : x->k->in);
    s->algo = s->latency > 0 ? s->full_size / 1024 / (s->latency / 1e6) : (double)NAN;
    s->bus = x->k->group_size == RS_NO_VALUE || n == 0 ? (double)NAN
                                                       : s->algo * (what == ALLREDUCE ? 2 : 1) * (n - 1) / n;
}

/* Whether two ranks say the same of a collective. */
static bool agrees(const rs_tl_member *a, const rs_tl_member *b)
{
    return a->k->group_size == b->k->group_size && a->k->in == b->k->in && a->k->out == b->k->out &&
           rs_tl_same_text(a, a->k->ranks, b, b->k->ranks) && rs_tl_same_text(a, a->k->name, b, b->k->name) &&
           rs_tl_same_text(a, a->k->dtype, b, b->k->dtype);
}

/* Collectives whose kind makes every rank wait for all, in the order in which they first appear. */
static bool find_synced(const rs_tl_matching *m, synced **out, size_t *n, size_t *n_mismatched)
{
    synced *all = rs_calloc(m->collectives.n + 1, sizeof *all);
    *n = *n_mismatched = 0;
    for (size_t g = 0; all && g < m->collectives.n; g++) {
        const uint32_t *items = m->collectives.item + m->collectives.first[g];
        size_t n_items = m->collectives.first[g + 1] - m->collectives.first[g];
        const rs_tl_member *first = &m->items[items[0]];
        const char *name = rs_tl_text_or_null(first->of, first->k->name);
        bool unnamed =
            m->simplified && (!name || (kind_of(name) == OTHER && strcmp(name, "all_to_allv") != 0));
        if (kind_of(name) == OTHER && !unnamed) continue;
        bool same = true;
        for (size_t i = 1; i < n_items; i++) same = same && agrees(first, &m->items[items[i]]);
        if (!same && !m->simplified) (*n_mismatched)++;
        synced *s = &all[(*n)++];
        *s = (synced){.first = first, .items = items, .n = n_items, .earliest = INT64_MIN};
        measure(m, s);
    }
    *out = all;
    return all != NULL;
}

/* ---- nccl_implicit_sync -------------------------------------------------------------------------------- */

static const rs_column_spec synced_columns[] = {
    COLUMN("collective_id", TEXT, NONE, "group and index"),
    COLUMN("Process Group Name", TEXT, NONE, "process group"),
    COLUMN("Process Group Ranks", TEXT, NONE, "its ranks"),
    COLUMN("Collective name", TEXT, NONE, "collective"),
    COLUMN("Group size", INT, COUNT, "ranks of the group"),
    COLUMN("dtype", TEXT, NONE, "type of the elements"),
    COLUMN("In msg nelems", INT, COUNT, "elements that go in"),
    COLUMN("Out msg nelems", INT, COUNT, "elements that come out"),
    COLUMN("In msg size (MB)", REAL, NONE, "in units of 2^20 bytes"),
    COLUMN("Out msg size (MB)", REAL, NONE, "in units of 2^20 bytes"),
    COLUMN("Full msg size (MB)", REAL, NONE, "in units of 2^20 bytes"),
    COLUMN("comm_latency", REAL, US, "least duration over the ranks"),
    COLUMN("skew in start time", REAL, US, "longest wait for the last to start"),
    COLUMN("earliest arrival rank", INT, ID, "the rank that waits longest"),
    COLUMN("avg_wait_time", REAL, US, "mean wait for the last to start"),
    COLUMN("skew in end time", REAL, US, "last end less first end"),
    COLUMN("algo bw (GB/s)", REAL, NONE, "full size by latency, in units of 2^30 bytes"),
    COLUMN("bus bw (GB/s)", REAL, NONE, "the same times the factor of the algorithm"),
};
enum { N_SYNCED = sizeof synced_columns / sizeof *synced_columns };

/* The ranks that have a collective, rising. */
static size_t ranks_of(const rs_tl_collectives *const *ranks, size_t n, const rs_tl_collectives **out)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        if (ranks[i]->n) out[found++] = ranks[i];
    return found;
}

static rs_table *synced_table(const rs_tl_collectives *const *present, size_t n)
{
    rs_column_spec *columns = rs_calloc(N_SYNCED + 3 * n, sizeof *columns);
    RS_LOCAL char *names = rs_malloc((3 * n + 1) * RS_TL_RANK_NAME);
    rs_table *t = NULL;
    if (columns && names) {
        memcpy(columns, synced_columns, sizeof synced_columns);
        for (size_t i = 0; i < 3 * n; i++) {
            size_t of = i < 2 * n ? i / 2 : i - 2 * n;
            const char *what = i >= 2 * n ? "wait_time" : i % 2 ? "dur" : "ts";
            rs_tl_name_column(names + i * RS_TL_RANK_NAME, present[of]->rank, what);
            columns[N_SYNCED + i] =
                (rs_column_spec){names + i * RS_TL_RANK_NAME, RS_TIME, RS_UNIT_US, "of that rank", NULL};
        }
        const rs_table_spec spec = {"nccl_implicit_sync", "one row is one collective", columns,
                                    N_SYNCED + 3 * n};
        t = rs_table_create_dynamic(&spec);
    }
    rs_free(columns);
    return t;
}

/* The collective of a rank. Ranks are asked for in their order, from *at = 0 on. */
static const rs_tl_collective *of_rank(const rs_tl_matching *m, const synced *s,
                                       const rs_tl_collectives *rank, size_t *at)
{
    if (*at == s->n || m->items[s->items[*at]].of != rank) return NULL;
    return m->items[s->items[(*at)++]].k;
}

static void add_rank_cells(const rs_tl_matching *m, const synced *s, const rs_tl_collectives *const *present,
                           size_t n, rs_table *t)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const rs_tl_collective *k = of_rank(m, s, present[i], &at);
        rs_table_add_time(t, k ? k->ts : INT64_MIN);
        rs_table_add_time(t, k ? k->dur : INT64_MIN);
    }
    at = 0;
    for (size_t i = 0; i < n; i++) {
        const rs_tl_collective *k = of_rank(m, s, present[i], &at);
        rs_table_add_time(t, k ? rs_sub_sat(s->latest_start, k->ts) : INT64_MIN);
    }
}

static rs_status add_synced(const rs_tl_matching *m, const synced *all, size_t n,
                            const rs_tl_collectives *const *present, size_t n_present, rs_sheets *out,
                            rs_error *err)
{
    rs_table *t = synced_table(present, n_present);
    RS_SCOPED(rs_python_clear) rs_python_text text = {0};
    rs_status status = t ? RS_OK : rs_fail_nomem(err, "a sheet");
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const synced *s = &all[i];
        const rs_tl_member *x = s->first;
        bool ok = rs_tl_add_id(t, m, x, &text);
        rs_table_add_text(t, m->groups.items[x->group].text);
        rs_table_add_text(t, rs_tl_text_or_null(x->of, x->k->ranks));
        rs_table_add_text(t, rs_tl_text_or_null(x->of, x->k->name));
        rs_tl_add_int(t, x->k->group_size);
        rs_table_add_text(t, rs_tl_text_or_null(x->of, x->k->dtype));
        rs_tl_add_int(t, x->k->in);
        rs_tl_add_int(t, x->k->out);
        rs_table_add_real(t, rs_tl_size_of(x, x->k->in));
        rs_table_add_real(t, rs_tl_size_of(x, x->k->out));
        rs_table_add_real(t, s->full_size);
        rs_table_add_real(t, s->latency);
        rs_table_add_real(t, s->skew_start);
        rs_table_add_int(t, s->earliest);
        rs_table_add_real(t, s->mean_wait);
        rs_table_add_real(t, s->skew_end);
        rs_table_add_real(t, s->algo);
        rs_table_add_real(t, s->bus);
        add_rank_cells(m, s, present, n_present, t);
        status = ok ? rs_table_end_row(t, err) : rs_fail_nomem(err, "a row");
    }
    return rs_sheets_end(out, t, status, err);
}

/* ---- nccl_summary_implicit_sync ------------------------------------------------------------------------ */

#define FOUR(name)                                                                                           \
    COLUMN(name "_mean", REAL, NONE, "over the collectives"),                                                \
        COLUMN(name "_median", REAL, NONE, "over them"), COLUMN(name "_min", REAL, NONE, "over them"),       \
        COLUMN(name "_max", REAL, NONE, "over them")

static const rs_column_spec sum_columns[] = {
    COLUMN("Collective name", TEXT, NONE, "collective"),
    COLUMN("dtype", TEXT, NONE, "type of the elements"),
    COLUMN("In msg nelems", TEXT, NONE, "elements that go in; Unknown where not recorded"),
    COLUMN("Process Group Name", TEXT, NONE, "group of the first: others are added in, too"),
    COLUMN("Group size", INT, COUNT, "of the first"),
    COLUMN("Full msg size (MB)", REAL, NONE, "of the first, in units of 2^20 bytes"),
    FOUR("comm_latency"),
    FOUR("skew in start time"),
    FOUR("skew in end time"),
    FOUR("algo bw (GB/s)"),
    FOUR("bus bw (GB/s)"),
    COLUMN("count", INT, COUNT, "collectives"),
    COLUMN("Total comm latency (ms)", REAL, MS, "latencies added up"),
};
static const rs_table_spec sum_sheet =
    SPEC("nccl_summary_implicit_sync", "one row is one kind of collective of one type and size", sum_columns);

/* Four cells of a rs_tl_member of the collectives, which lies at that offset. */
static void add_four(const synced *all, const uint32_t *items, size_t n, size_t offset, double *values,
                     rs_table *t)
{
    for (size_t i = 0; i < n; i++) memcpy(&values[i], (const char *)&all[items[i]] + offset, sizeof *values);
    rs_tl_stats s = rs_tl_stats_of(values, n);
    rs_table_add_real(t, s.mean);
    rs_table_add_real(t, s.median);
    rs_table_add_real(t, s.min);
    rs_table_add_real(t, s.max);
}

static double first_size(const synced *all, const uint32_t *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan(all[items[i]].full_size)) return all[items[i]].full_size;
    return (double)NAN;
}

static bool add_sum_row(const rs_tl_matching *m, const synced *all, const uint32_t *items, size_t n,
                        double total, rs_python_text *text, rs_table *t)
{
    const rs_tl_member *x = all[items[0]].first;
    const char *name = rs_tl_text_or_null(x->of, x->k->name), *dtype = rs_tl_text_or_null(x->of, x->k->dtype);
    RS_LOCAL double *values = rs_malloc((n + 1) * sizeof *values);
    text->n = 0;
    if (x->k->in == RS_NO_VALUE)
        rs_python_put_text(text, "Unknown");
    else
        rs_python_put_int(text, x->k->in);
    if (!values || text->failed) return false;
    rs_table_add_text(t, name ? name : "Unknown");
    rs_table_add_text(t, dtype ? dtype : "Unknown");
    rs_table_add_text_n(t, text->text, text->n);
    rs_table_add_text(t, m->groups.items[x->group].text);
    rs_tl_add_int(t, x->k->group_size);
    rs_table_add_real(t, first_size(all, items, n));
    add_four(all, items, n, offsetof(synced, latency), values, t);
    add_four(all, items, n, offsetof(synced, skew_start), values, t);
    add_four(all, items, n, offsetof(synced, skew_end), values, t);
    add_four(all, items, n, offsetof(synced, algo), values, t);
    add_four(all, items, n, offsetof(synced, bus), values, t);
    rs_table_add_int(t, (int64_t)n);
    rs_table_add_real(t, total / 1000);
    return true;
}

typedef struct sum_key {
    int64_t in;
    uint32_t name, dtype; /* in strings of all ranks */
} sum_key;

static uint32_t common_id(rs_strings *strings, const char *text, bool *ok)
{
    uint32_t id = rs_strings_add(strings, text ? text : "Unknown", strlen(text ? text : "Unknown"));
    if (id == RS_NO_STRING) *ok = false;
    return id;
}

static rs_status add_sums(const rs_tl_matching *m, const synced *all, size_t n, rs_sheets *out, rs_error *err)
{
    rs_strings strings;
    RS_SCOPED(rs_tl_groups_clear) rs_tl_groups groups = {0};
    RS_SCOPED(rs_python_clear) rs_python_text text = {0};
    RS_LOCAL uint32_t *order = NULL;
    RS_LOCAL sum_key *keys = rs_calloc(n + 1, sizeof *keys);
    rs_table *t = rs_table_create(&sum_sheet);
    bool ok = rs_strings_init(&strings) && keys && t;
    for (size_t i = 0; ok && i < n; i++) {
        const rs_tl_member *x = all[i].first;
        keys[i] = (sum_key){x->k->in, common_id(&strings, rs_tl_text_or_null(x->of, x->k->name), &ok),
                            common_id(&strings, rs_tl_text_or_null(x->of, x->k->dtype), &ok)};
    }
    ok = ok && rs_tl_group(keys, sizeof *keys, NULL, n, &groups);
    RS_LOCAL double *totals = rs_calloc(groups.n + 1, sizeof *totals);
    for (size_t g = 0; ok && totals && g < groups.n; g++)
        for (size_t i = groups.first[g]; i < groups.first[g + 1]; i++)
            totals[g] += all[groups.item[i]].latency;
    ok = ok && totals && rs_tl_order(totals, NULL, groups.n, &order);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "collectives");
    for (size_t i = 0; status == RS_OK && i < groups.n; i++) {
        uint32_t g = order[i], first = groups.first[g];
        ok = add_sum_row(m, all, groups.item + first, groups.first[g + 1] - first, totals[g], &text, t);
        status = ok ? rs_table_end_row(t, err) : rs_fail_nomem(err, "a row");
    }
    rs_strings_clear(&strings);
    return rs_sheets_end(out, t, status, err);
}

/* ---- straggler_summary --------------------------------------------------------------------------------- */

static const rs_column_spec straggler_columns[] = {
    COLUMN("rank", INT, ID, "rank"),
    COLUMN("total_wait_time_us", REAL, US, "waits for the last to start, added up"),
    COLUMN("mean_wait_time_us", REAL, US, "their mean"),
    COLUMN("times_arrived_last", INT, COUNT, "collectives that it starts last"),
    COLUMN("times_arrived_first", INT, COUNT, "collectives that it starts first"),
    COLUMN("pct_arrived_last", REAL, PERCENT, "of all collectives"),
    COLUMN("num_collectives", INT, COUNT, "all collectives"),
    COLUMN("total_nccl_dur_us", REAL, US, "durations of its collectives, added up"),
};
static const rs_table_spec straggler_sheet =
    SPEC("straggler_summary", "one row is one rank", straggler_columns);

typedef struct straggler {
    int64_t wait, dur; /* ns */
    int64_t last, first, n;
} straggler;

static void count_waits(const rs_tl_matching *m, const synced *s, const rs_tl_collectives *const *present,
                        size_t n, straggler *out)
{
    size_t last = n, at = 0;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const rs_tl_collective *k = of_rank(m, s, present[i], &at);
        if (!k) continue;
        int64_t wait = rs_sub_sat(s->latest_start, k->ts);
        out[i].wait = rs_add_sat(out[i].wait, wait);
        out[i].n++;
        if (wait < least) least = wait, last = i;
        if (s->earliest == present[i]->rank) out[i].first++;
    }
    if (last < n) out[last].last++;
}

static rs_status add_stragglers(const rs_tl_matching *m, const synced *all, size_t n,
                                const rs_tl_collectives *const *present, size_t n_present, rs_sheets *out,
                                rs_error *err)
{
    RS_LOCAL straggler *ranks = rs_calloc(n_present + 1, sizeof *ranks);
    RS_LOCAL double *waits = rs_calloc(n_present + 1, sizeof *waits);
    RS_LOCAL uint32_t *order = NULL;
    rs_table *t = rs_table_create(&straggler_sheet);
    bool ok = ranks && waits && t;
    for (size_t i = 0; ok && i < n; i++) count_waits(m, &all[i], present, n_present, ranks);
    for (size_t i = 0; ok && i < n_present; i++) {
        for (size_t k = 0; k < present[i]->n; k++)
            ranks[i].dur = rs_add_sat(ranks[i].dur, present[i]->items[k].dur);
        waits[i] = -rs_tl_us(ranks[i].wait);
    }
    ok = ok && rs_tl_order(waits, NULL, n_present, &order);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "ranks");
    for (size_t i = 0; status == RS_OK && n && i < n_present; i++) {
        const straggler *s = &ranks[order[i]];
        if (s->n == 0) continue;
        rs_table_add_int(t, present[order[i]]->rank);
        rs_table_add_real(t, rs_round(rs_tl_us(s->wait), 1));
        rs_table_add_real(t, rs_round(rs_tl_us(s->wait) / (double)s->n, 1));
        rs_table_add_int(t, s->last);
        rs_table_add_int(t, s->first);
        rs_table_add_real(t, rs_round(100.0 * (double)s->last / (double)n, 1));
        rs_table_add_int(t, (int64_t)n);
        rs_table_add_real(t, rs_round(rs_tl_us(s->dur), 1));
        status = rs_table_end_row(t, err);
    }
    return rs_sheets_end(out, t, status, err);
}

/* ---- all ----------------------------------------------------------------------------------------------- */

rs_status rs_tl_collective_sheets(const rs_tl_collectives *const *ranks, size_t n, bool detailed,
                                  rs_sheets *out, size_t *n_mismatched, rs_error *err)
{
    RS_SCOPED(rs_tl_matching_clear) rs_tl_matching m = {0};
    RS_LOCAL synced *all = NULL;
    size_t n_synced = 0, n_present = 0;
    const rs_tl_collectives **present = rs_calloc(n + 1, sizeof *present);
    *n_mismatched = 0;
    bool ok = present && rs_tl_match(ranks, n, &m) && find_synced(&m, &all, &n_synced, n_mismatched);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "collectives");
    if (status == RS_OK) {
        n_present = ranks_of(ranks, n, present);
        status = add_sums(&m, all, n_synced, out, err);
    }
    if (status == RS_OK) status = rs_tl_add_collective_summary(ranks, n, "nccl_summary_long", out, err);
    if (status == RS_OK && detailed) status = add_long(&m, out, err);
    if (status == RS_OK && detailed) status = add_synced(&m, all, n_synced, present, n_present, out, err);
    if (status == RS_OK) status = rs_tl_add_all2allv(&m, detailed, out, n_mismatched, err);
    if (status == RS_OK) status = add_stragglers(&m, all, n_synced, present, n_present, out, err);
    rs_free((void *)present);
    return status;
}
