/* coll_analysis and nccl_summary_long: collectives by rank, group, kind, type and size. */
#include <math.h>
#include <string.h>

#include "peer/tracelens_nccl.h"
#include "peer/tracelens_rank.h"

#define COLUMN(name, type, unit, help)                                                                       \
    {                                                                                                        \
        name, RS_##type, RS_UNIT_##unit, help, NULL                                                          \
    }

static const rs_column_spec columns[] = {
    COLUMN("rank", INT, ID, "rank; in coll_analysis always 0: TraceLens counts files"),
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

/* In common strings, with the numbers of one collective. */
typedef struct collective_key {
    int64_t rank, group_size, in, out, stream;
    uint32_t group, ranks, name, dtype, in_split, out_split;
} collective_key;

typedef struct found {
    rs_strings strings;
    collective_key *keys;
    int64_t *durations;
    size_t n;
} found;

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

/* A rank's text among the common ones; what is not recorded stays so. */
static uint32_t common(found *f, const rs_tl_collectives *c, uint32_t id, const char *otherwise, bool *ok)
{
    const char *text = id == RS_NO_STRING ? otherwise : c->strings.items[id].text;
    if (!text || !*ok) return RS_NO_STRING;
    uint32_t own = rs_strings_add(&f->strings, text, strlen(text));
    if (own == RS_NO_STRING) *ok = false;
    return own;
}

/* pandas drops rows whose key has something unknown. */
static bool is_whole(const collective_key *k)
{
    return k->group_size != RS_NO_VALUE && k->in != RS_NO_VALUE && k->out != RS_NO_VALUE &&
           k->stream != RS_NO_VALUE && k->ranks != RS_NO_STRING && k->name != RS_NO_STRING &&
           k->dtype != RS_NO_STRING && k->in_split != RS_NO_STRING && k->out_split != RS_NO_STRING;
}

static bool find(const rs_tl_collectives *const *ranks, size_t n, found *f)
{
    size_t total = 0;
    const char *unnamed = rs_tl_collectives_are_simple(ranks, n) ? "all" : "Unknown_Group";
    for (size_t r = 0; r < n; r++) total += ranks[r]->n;
    f->keys = rs_calloc(total + 1, sizeof *f->keys);
    f->durations = rs_malloc((total + 1) * sizeof *f->durations);
    bool ok = rs_strings_init(&f->strings) && f->keys && f->durations;
    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; ok && i < ranks[r]->n; i++) {
            const rs_tl_collectives *c = ranks[r];
            const rs_tl_collective *k = &c->items[i];
            f->keys[f->n] = (collective_key){.rank = c->rank,
                                             .group_size = k->group_size,
                                             .in = k->in,
                                             .out = k->out,
                                             .stream = k->stream,
                                             .group = common(f, c, k->group, unnamed, &ok),
                                             .ranks = common(f, c, k->ranks, NULL, &ok),
                                             .name = common(f, c, k->name, NULL, &ok),
                                             .dtype = common(f, c, k->dtype, NULL, &ok),
                                             .in_split = common(f, c, k->in_split, NULL, &ok),
                                             .out_split = common(f, c, k->out_split, NULL, &ok)};
            f->durations[f->n] = k->dur;
            if (is_whole(&f->keys[f->n])) f->n++;
        }
    }
    return ok;
}

static const char *text_of(const found *f, uint32_t id)
{
    return id == RS_NO_STRING ? NULL : f->strings.items[id].text;
}

static rs_status add_row(const found *f, const uint32_t *items, size_t n, rs_table *t, rs_error *err)
{
    const collective_key *k = &f->keys[items[0]];
    int64_t size = rs_tl_nccl_size(text_of(f, k->dtype)), sum = 0;
    double *values = rs_malloc((n + 1) * sizeof *values);
    if (!values) return rs_fail_nomem(err, "collectives");
    for (size_t i = 0; i < n; i++) {
        values[i] = (double)f->durations[items[i]] / 1000;
        sum = rs_add_sat(sum, f->durations[items[i]]);
    }
    rs_tl_stats s = rs_tl_stats_of(values, n);
    rs_free(values);
    rs_table_add_int(t, k->rank);
    rs_table_add_text(t, text_of(f, k->group));
    rs_table_add_text(t, text_of(f, k->ranks));
    rs_table_add_text(t, text_of(f, k->name));
    rs_table_add_int(t, k->group_size);
    rs_table_add_text(t, text_of(f, k->dtype));
    rs_table_add_int(t, k->in);
    rs_table_add_int(t, k->out);
    rs_table_add_text(t, text_of(f, k->in_split));
    rs_table_add_text(t, text_of(f, k->out_split));
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

static bool order_groups(const found *f, const rs_tl_groups *groups, uint32_t **order)
{
    RS_LOCAL double *sums = rs_calloc(groups->n + 1, sizeof *sums);
    for (size_t g = 0; sums && g < groups->n; g++)
        for (size_t i = groups->first[g]; i < groups->first[g + 1]; i++)
            sums[g] += (double)f->durations[groups->item[i]];
    return sums && rs_tl_order(sums, NULL, groups->n, order);
}

rs_status rs_tl_add_collective_summary(const rs_tl_collectives *const *ranks, size_t n, const char *sheet,
                                       rs_sheets *out, rs_error *err)
{
    found f = {0};
    RS_SCOPED(rs_tl_groups_clear) rs_tl_groups groups = {0};
    RS_LOCAL uint32_t *order = NULL;
    const rs_table_spec spec = {sheet, "one row is one kind of collective of one size", columns,
                                sizeof columns / sizeof *columns};
    rs_table *t = rs_table_create_dynamic(&spec);
    bool ok = t && find(ranks, n, &f) && rs_tl_group(f.keys, sizeof *f.keys, NULL, f.n, &groups) &&
              order_groups(&f, &groups, &order);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "collectives");
    for (size_t i = 0; status == RS_OK && i < groups.n; i++) {
        uint32_t first = groups.first[order[i]];
        status = add_row(&f, groups.item + first, groups.first[order[i] + 1] - first, t, err);
    }
    rs_strings_clear(&f.strings);
    rs_free_all(f.keys, f.durations);
    return rs_sheets_end(out, t, status, err);
}

rs_status rs_tl_add_collectives(rs_tl_rank *r, rs_sheets *out, rs_error *err)
{
    rs_tl_collectives c;
    const rs_tl_collectives *one = &c;
    rs_status status = rs_tl_collectives_of(r->trace, &c, err);
    if (status == RS_OK) status = rs_tl_add_collective_summary(&one, 1, "coll_analysis", out, err);
    rs_tl_collectives_clear(&c);
    return status;
}
