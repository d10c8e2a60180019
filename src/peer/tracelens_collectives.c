/* coll_analysis: the collectives of one rank by group, kind, type and size. */
#include <math.h>
#include <string.h>

#include "base/try.h"
#include "peer/tracelens_rank.h"

#define COLUMN(name, type, unit, help)                                                                       \
    {                                                                                                        \
        name, RS_##type, RS_UNIT_##unit, help, NULL                                                          \
    }

static const rs_column_spec columns[] = {
    COLUMN("rank", INT, ID, "always 0: TraceLens counts files"),
    COLUMN("Process Group Name", TEXT, NONE, "process group"),
    COLUMN("Process Group Ranks", TEXT, NONE, "its ranks"),
    COLUMN("Collective name", TEXT, NONE, "collective"),
    COLUMN("Group size", INT, COUNT, "ranks of the group"),
    COLUMN("dtype", TEXT, NONE, "type of the elements"),
    COLUMN("In msg nelems", INT, COUNT, "elements that go in"),
    COLUMN("Out msg nelems", INT, COUNT, "elements that come out"),
    COLUMN("In split size", TEXT, NONE, "how the input is parted"),
    COLUMN("Out split size", TEXT, NONE, "how the output is parted"),
    COLUMN("stream", INT, ID, "stream"),
    COLUMN("In msg size (MB)_first", REAL, NONE, "of one call, in units of 2^20 bytes"),
    COLUMN("Out msg size (MB)_first", REAL, NONE, "of one call, in units of 2^20 bytes"),
    COLUMN("dur_sum", TIME, US, "durations added up"),
    COLUMN("dur_mean", REAL, US, "mean duration"),
    COLUMN("dur_std", REAL, US, "deviation of a sample"),
    COLUMN("dur_min", REAL, US, "shortest"),
    COLUMN("dur_max", REAL, US, "longest"),
    COLUMN("operation_count", INT, COUNT, "calls"),
};
static const rs_table_spec sheet = {"coll_analysis", "one row is one kind of collective of one size", columns,
                                    sizeof columns / sizeof *columns};

typedef struct collective_key {
    int64_t group_size, in, out, stream;
    uint32_t group, ranks, name, dtype, in_split, out_split; /* string ids */
} collective_key;

/* Bytes of an element; 0 for types that TraceLens has no size for. */
static int64_t size_of(const char *dtype)
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

/* False when something of the key is unknown: pandas drops such rows. A group without a name is a group. */
static bool key_of(const rs_events *e, uint32_t row, uint32_t unknown, collective_key *k)
{
    k->group = rs_events_text(e, RS_COL_GROUP_NAME, row);
    if (k->group == RS_NO_STRING) k->group = unknown;
    k->ranks = rs_events_text(e, RS_COL_GROUP_RANKS, row);
    k->name = rs_events_text(e, RS_COL_COLLECTIVE, row);
    k->dtype = rs_events_text(e, RS_COL_DTYPE, row);
    k->in_split = rs_events_text(e, RS_COL_IN_SPLIT, row);
    k->out_split = rs_events_text(e, RS_COL_OUT_SPLIT, row);
    return rs_events_int(e, RS_COL_GROUP_SIZE, row, &k->group_size) &&
           rs_events_int(e, RS_COL_IN_NELEMS, row, &k->in) &&
           rs_events_int(e, RS_COL_OUT_NELEMS, row, &k->out) &&
           rs_events_int(e, RS_COL_STREAM, row, &k->stream) && k->ranks != RS_NO_STRING &&
           k->name != RS_NO_STRING && k->dtype != RS_NO_STRING && k->in_split != RS_NO_STRING &&
           k->out_split != RS_NO_STRING;
}

typedef struct found {
    collective_key *keys;
    uint32_t *rows;
    size_t n;
} found;

/* RS_NO_STRING stands for "Unknown_Group" where the file has no such text. */
static bool find(const rs_tl_rank *r, const uint32_t *rows, size_t n, found *out)
{
    out->keys = rs_calloc(n + 1, sizeof *out->keys);
    out->rows = rs_malloc((n + 1) * sizeof *out->rows);
    if (!out->keys || !out->rows) return false;
    for (size_t i = 0; i < n; i++) {
        if (rs_event_kind(r->e, rows[i]) != RS_KIND_KERNEL || !rs_tl_is_comm(r, rows[i])) continue;
        out->rows[out->n] = rows[i];
        if (key_of(r->e, rows[i], RS_NO_STRING, &out->keys[out->n])) out->n++;
    }
    return true;
}

static const char *text_of(const rs_events *e, uint32_t id, const char *otherwise)
{
    return id == RS_NO_STRING ? otherwise : e->strings.items[id].text;
}

static rs_status add_row(const rs_tl_rank *r, const collective_key *k, double *values, size_t n, int64_t sum,
                         rs_table *t, rs_error *err)
{
    int64_t size = size_of(text_of(r->e, k->dtype, ""));
    rs_tl_stats s = rs_tl_stats_of(values, n);
    rs_table_add_int(t, 0);
    rs_table_add_text(t, text_of(r->e, k->group, "Unknown_Group"));
    rs_table_add_text(t, text_of(r->e, k->ranks, NULL));
    rs_table_add_text(t, text_of(r->e, k->name, NULL));
    rs_table_add_int(t, k->group_size);
    rs_table_add_text(t, text_of(r->e, k->dtype, NULL));
    rs_table_add_int(t, k->in);
    rs_table_add_int(t, k->out);
    rs_table_add_text(t, text_of(r->e, k->in_split, NULL));
    rs_table_add_text(t, text_of(r->e, k->out_split, NULL));
    rs_table_add_int(t, k->stream);
    rs_table_add_real(t, size ? (double)k->in * (double)size / (1 << 20) : (double)NAN);
    rs_table_add_real(t, size ? (double)k->out * (double)size / (1 << 20) : (double)NAN);
    rs_table_add_time(t, sum);
    rs_table_add_real(t, s.mean);
    rs_table_add_real(t, s.std);
    rs_table_add_real(t, s.min);
    rs_table_add_real(t, s.max);
    rs_table_add_int(t, (int64_t)n);
    return rs_table_end_row(t, err);
}

static rs_status add_group(const rs_tl_rank *r, const found *f, const uint32_t *items, size_t n, rs_table *t,
                           rs_error *err)
{
    double *values = rs_malloc((n + 1) * sizeof *values);
    int64_t sum = 0;
    if (!values) return rs_fail_nomem(err, "collectives");
    for (size_t i = 0; i < n; i++) {
        int64_t duration = r->e->duration[f->rows[items[i]]];
        values[i] = (double)duration / 1000;
        sum = rs_add_sat(sum, duration);
    }
    rs_status status = add_row(r, &f->keys[items[0]], values, n, sum, t, err);
    rs_free(values);
    return status;
}

static bool order_groups(const rs_tl_rank *r, const found *f, const rs_tl_groups *groups, uint32_t **order)
{
    double *sums = rs_calloc(groups->n + 1, sizeof *sums);
    for (size_t g = 0; sums && g < groups->n; g++)
        for (size_t i = groups->first[g]; i < groups->first[g + 1]; i++)
            sums[g] += (double)r->e->duration[f->rows[groups->item[i]]];
    bool ok = sums && rs_tl_order(sums, NULL, groups->n, order);
    rs_free(sums);
    return ok;
}

rs_status rs_tl_add_collectives(rs_tl_rank *r, rs_sheets *out, rs_error *err)
{
    const uint32_t *rows;
    size_t n;
    found f = {0};
    rs_tl_groups groups = {0};
    uint32_t *order = NULL;
    RS_TRY(rs_trace_gpu_rows(r->trace, &rows, &n, err));
    rs_table *t = rs_table_create(&sheet);
    bool ok = t && find(r, rows, n, &f) && rs_tl_group(f.keys, sizeof *f.keys, NULL, f.n, &groups) &&
              order_groups(r, &f, &groups, &order);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "collectives");
    for (size_t i = 0; status == RS_OK && i < groups.n; i++) {
        uint32_t first = groups.first[order[i]];
        status = add_group(r, &f, groups.item + first, groups.first[order[i] + 1] - first, t, err);
    }
    rs_tl_groups_clear(&groups);
    rs_free(f.keys);
    rs_free(f.rows);
    rs_free(order);
    if (status == RS_OK) return rs_sheets_add(out, t, err);
    rs_table_free(t);
    return status;
}
