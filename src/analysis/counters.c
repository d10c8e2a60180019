/* counters: what the range profiler counted in each kernel, and the operator that launched it. */
#include <math.h>
#include <string.h>

#include "analysis/counters.h"
#include "base/search.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "trace/calls.h"
#include "trace/nest.h"
#include "trace/selection.h"
#include "table/cells.h"

static const rs_column_spec first_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank", NULL),
    RS_COLUMN("index", INT, ID, "position in traceEvents", NULL),
    RS_COLUMN("name", TEXT, NONE, "the range's name: the kernel", NULL),
};
/* one column a counter stands between */
static const rs_column_spec last_columns[] = {
    RS_COLUMN("top_level_op", TEXT, NONE, "outermost operator around the launch", NULL),
    RS_COLUMN("bottom_level_op", TEXT, NONE, "innermost operator around the launch", NULL),
    RS_COLUMN("op_stack", TEXT, NONE, "all of them, outermost first, with ; between", NULL),
};
#define N_FIRST (sizeof first_columns / sizeof *first_columns)
#define N_LAST (sizeof last_columns / sizeof *last_columns)

/* What --schema shows: the columns that do not depend on the data. */
static const rs_column_spec fixed_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank", NULL),
    RS_COLUMN("index", INT, ID, "position in traceEvents", NULL),
    RS_COLUMN("name", TEXT, NONE, "the range's name: the kernel; one column a counter follows", NULL),
    RS_COLUMN("top_level_op", TEXT, NONE, "outermost operator around the launch", NULL),
    RS_COLUMN("bottom_level_op", TEXT, NONE, "innermost operator around the launch", NULL),
    RS_COLUMN("op_stack", TEXT, NONE, "all of them, outermost first, with ; between", NULL),
};
static const rs_table_spec fixed_table =
    RS_TABLE("counters", "one row is one range that the profiler measured", fixed_columns);
typedef struct range {
    uint32_t row, launch; /* launch: RS_NO_ROW if nothing tells */
    const char *name;
    const char *stack; /* operators with ; between; NULL: unknown */
    const char *bottom;
    size_t top_length;
    double *values; /* by counter; NaN when it has none */
} range;

#define LAUNCH_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(range, row), "index", INT, ID, "position of the range in traceEvents", NULL)                     \
    CELL(OF(range, launch), "launch", INT, ID, "position of the call that launched the measured kernel", NULL)
RS_RECORD(launch, LAUNCH_ROW);

static const rs_table_spec launch_table =
    RS_TABLE("launches", "one row is one range whose launch is known", launch_columns);
static const rs_table_spec *const tables[] = {&fixed_table, &launch_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 2}};

/* ---- one rank ------------------------------------------------------------------------------------------ */

typedef struct counters_partial {
    rs_arena arena;
    range *ranges; /* by start, then row */
    size_t n, n_launches;
    const char **counters; /* in order of first appearance in the file */
    size_t n_counters;
} counters_partial;

void rs_counters_free(void *partial)
{
    counters_partial *p = partial;
    if (!p) return;
    rs_arena_clear(&p->arena);
    rs_free_all(p->ranges, p->counters, p);
}

static bool put(rs_row_list *l, int64_t start, uint32_t row)
{
    return RS_APPEND(l, (rs_keyed){start, row});
}

static bool is_launch(const char *name)
{
    return rs_call_flags(name) & RS_CALL_KERNEL;
}

static bool has_launching_name(const rs_events *e, uint32_t row, rs_counters_rows *out)
{
    uint8_t *known = &out->launching[e->name[row]];
    if (!*known) *known = out->is_launch(rs_event_name(e, row)) ? 1 : 2;
    return *known == 1;
}

bool rs_counters_put_row(const rs_events *e, uint32_t row, int64_t start, rs_counters_rows *out)
{
    rs_kind kind = rs_event_kind(e, row);
    if (kind == RS_KIND_PROFILER_RANGE) return put(&out->ranges, start, row);
    bool launch = rs_kind_is_call(kind) && (!out->runtime_only || kind == RS_KIND_RUNTIME) &&
                  has_launching_name(e, row, out);
    if (launch && !put(&out->launches, start, row)) return false;
    return (!launch && kind != RS_KIND_CPU_OP) || put(&out->host, row, row);
}

/* Few traces are of the range profiler; without a range its launches are of no use. */
static bool may_have_ranges(const rs_events *e)
{
    bool may = false;
    for (size_t i = 0; i < e->n_categories; i++) may = may || e->categories[i].kind == RS_KIND_PROFILER_RANGE;
    return may;
}

/* rocprofv3 has counters on the kernels themselves. */
static bool is_counted_work(const rs_events *e, uint32_t row)
{
    return rs_kind_is_gpu_work(rs_event_kind(e, row));
}

/* A bit for each row that is GPU work with a counter; NULL: none is, or no memory (*ok). */
static uint64_t *find_counted_work(const rs_events *e, bool *ok)
{
    uint64_t *bits = NULL;
    for (size_t k = 0; *ok && k < e->n_counters; k++) {
        const rs_sparse *c = &e->counters[k].values;
        for (size_t i = 0; *ok && i < c->n; i++) {
            if (!is_counted_work(e, c->rows[i])) continue;
            if (!bits) *ok = (bits = rs_calloc(e->n / 64 + 1, sizeof *bits)) != NULL;
            if (bits) bits[c->rows[i] / 64] |= UINT64_C(1) << c->rows[i] % 64;
        }
    }
    return bits;
}

static rs_status collect_own(const rs_run *run, rs_trace *trace, rs_counters_rows *out, rs_error *err)
{
    const rs_events *e = trace->events;
    bool ok = true, may_have = may_have_ranges(e);
    RS_LOCAL uint64_t *counted = may_have ? NULL : find_counted_work(e, &ok);
    (void)run;
    out->is_launch = is_launch;
    for (size_t i = 0; ok && (may_have || counted) && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (!rs_event_is_span(e, row)) continue;
        bool measured = counted && counted[row / 64] >> row % 64 & 1;
        ok = measured ? put(&out->ranges, e->start[row], row)
                      : rs_counters_put_row(e, row, e->start[row], out);
    }
    return ok ? RS_OK : rs_fail_nomem(err, "counters");
}

static rs_status nest_host(const rs_events *e, const rs_row_list *host, rs_nest **out, rs_error *err)
{
    RS_LOCAL uint32_t *rows = rs_malloc(host->n * sizeof *rows);
    RS_LOCAL int64_t *starts = rs_malloc(host->n * sizeof *starts), *ends = rs_malloc(host->n * sizeof *ends);
    rs_status status = rows && starts && ends ? RS_OK : rs_fail_nomem(err, "counters");
    for (size_t i = 0; status == RS_OK && i < host->n; i++) {
        rows[i] = host->items[i].value;
        starts[i] = e->start[rows[i]];
        ends[i] = rs_event_end(e, rows[i]);
    }
    if (status == RS_OK) status = rs_nest_create(e, rows, starts, ends, host->n, out, err);
    return status;
}

#define MAX_VALUES ((size_t)1 << 28)

/* Deeper stacks are cut at the outside. */
#define MAX_STACK 1000

static bool is_operator(const rs_events *e, uint32_t row)
{
    return rs_event_kind(e, row) == RS_KIND_CPU_OP;
}

static bool write_stack(const rs_events *e, const rs_nest *nest, uint32_t launch, range *r, rs_arena *arena)
{
    uint32_t chain[MAX_STACK];
    size_t n = 0, length = 0, at = 0;
    for (uint32_t node = nest->node_of[launch]; node != RS_NO_ROW && n < MAX_STACK;
         node = nest->parent[node]) {
        if (!is_operator(e, nest->row[node])) continue;
        chain[n++] = nest->row[node];
        length += e->strings.items[e->name[nest->row[node]]].length + 1;
    }
    if (n == 0) return true;
    char *text = rs_arena_alloc(arena, length);
    if (!text) return false;
    r->stack = text;
    for (size_t i = n; i-- > 0;) {
        const rs_string *s = &e->strings.items[e->name[chain[i]]];
        memcpy(text + at, s->text, s->length);
        if (i == 0) r->bottom = text + at;
        at += s->length;
        if (i + 1 == n) r->top_length = at;
        text[at++] = i ? ';' : '\0';
    }
    return true;
}

/* Whether ranges have it, and not only the samples of counter events. */
static bool is_of_ranges(const rs_events *e, const rs_counter *counter)
{
    const rs_sparse *c = &counter->values;
    for (size_t i = 0; i < c->n; i++)
        if (rs_event_kind(e, c->rows[i]) == RS_KIND_PROFILER_RANGE || is_counted_work(e, c->rows[i]))
            return true;
    return false;
}

static bool read_values(const rs_events *e, counters_partial *p)
{
    uint32_t *used = rs_arena_alloc(&p->arena, (e->n_counters + 1) * sizeof *used);
    p->counters = rs_malloc((e->n_counters + 1) * sizeof *p->counters);
    if (!used || !p->counters) return false;
    for (size_t k = 0; k < e->n_counters; k++) {
        const rs_string *s = &e->strings.items[e->counters[k].name];
        if (!is_of_ranges(e, &e->counters[k])) continue;
        used[p->n_counters] = (uint32_t)k;
        p->counters[p->n_counters] = rs_arena_strndup(&p->arena, s->text, s->length);
        if (!p->counters[p->n_counters++]) return false;
    }
    for (size_t i = 0; i < p->n; i++) {
        range *r = &p->ranges[i];
        const rs_string *s = &e->strings.items[e->name[r->row]];
        r->name = rs_arena_strndup(&p->arena, s->text, s->length);
        r->values = rs_arena_alloc(&p->arena, (p->n_counters + 1) * sizeof *r->values);
        if (!r->name || !r->values) return false;
        for (size_t k = 0; k < p->n_counters; k++) {
            const rs_sparse *c = &e->counters[used[k]].values;
            size_t from;
            RS_SEARCH(from, c->n, c->rows[from] < r->row);
            r->values[k] = from < c->n && c->rows[from] == r->row ? c->reals[from] : (double)NAN;
        }
    }
    return true;
}

/* The profiler measures kernel after kernel: the n-th range belongs to the n-th launch. */
static rs_status match(const rs_events *e, const rs_counters_rows *rows, counters_partial *p, rs_error *err)
{
    rs_nest *nest = NULL;
    if (e->n_counters && rows->ranges.n > MAX_VALUES / e->n_counters)
        return rs_fail(err, RS_ERR_LIMIT, "%zu ranges of %zu counters are too many", rows->ranges.n,
                       e->n_counters);
    p->ranges = rs_calloc(rows->ranges.n + 1, sizeof *p->ranges);
    if (!p->ranges) return rs_fail_nomem(err, "counters");
    p->n = rows->ranges.n;
    p->n_launches = rows->launches.n;
    for (size_t i = 0; i < p->n; i++) {
        p->ranges[i].row = rows->ranges.items[i].value;
        p->ranges[i].launch = p->n == p->n_launches ? rows->launches.items[i].value : RS_NO_ROW;
    }
    bool ok = read_values(e, p);
    rs_status status = RS_OK;
    if (ok && p->n && p->n == p->n_launches) {
        status = nest_host(e, &rows->host, &nest, err);
        for (size_t i = 0; status == RS_OK && ok && i < p->n; i++)
            ok = write_stack(e, nest, rows->launches.items[i].value, &p->ranges[i], &p->arena);
        rs_nest_free(nest);
    }
    return ok ? status : rs_fail_nomem(err, "counters");
}

/* Keeps the selected ranges: by their launch, and where that is not known by their own time. Only when all
 * are matched, since the n-th range belongs to the n-th launch of the whole trace. */
static rs_status select_ranges(rs_trace *trace, counters_partial *p, rs_error *err)
{
    rs_selector selector;
    rs_status status = rs_trace_selector(trace, &selector, err);
    if (status != RS_OK || !selector.selection) return status;
    size_t n = p->n;
    p->n = 0;
    for (size_t i = 0; i < n; i++)
        if (rs_selects_row(&selector,
                           p->ranges[i].launch == RS_NO_ROW ? p->ranges[i].row : p->ranges[i].launch))
            p->ranges[p->n++] = p->ranges[i];
    return RS_OK;
}

rs_status rs_counters_rank(const rs_run *run, rs_trace *trace, rs_counters_collect_fn collect, void **partial,
                           rs_error *err)
{
    rs_counters_rows rows = {.launching = rs_calloc(trace->events->strings.n + 1, 1)};
    counters_partial *p = rs_calloc(1, sizeof *p);
    *partial = p;
    rs_status status = p && rows.launching ? collect(run, trace, &rows, err) : rs_fail_nomem(err, "counters");
    bool ok = status != RS_OK || (rs_keyed_sort(rows.ranges.items, rows.ranges.n) &&
                                  rs_keyed_sort(rows.launches.items, rows.launches.n) &&
                                  rs_keyed_sort(rows.host.items, rows.host.n));
    if (!ok) status = rs_fail_nomem(err, "counters");
    if (status == RS_OK) status = match(trace->events, &rows, p, err);
    if (status == RS_OK) status = select_ranges(trace, p, err);
    rs_free_all(rows.ranges.items, rows.launches.items, rows.host.items, rows.launching);
    return status;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    return rs_counters_rank(run, trace, collect_own, partial, err);
}

/* ---- all ranks ----------------------------------------------------------------------------------------- */

/* The counters of all ranks, in order of first appearance. */
typedef struct names {
    const char **items;
    size_t n, capacity;
} names;

static size_t find_name(const names *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->items[i], name) == 0) return i;
    return all->n;
}

static bool gather_names(const rs_partial *partials, size_t n, names *all)
{
    for (size_t i = 0; i < n; i++) {
        const counters_partial *p = partials[i].value;
        for (size_t k = 0; k < p->n_counters; k++) {
            if (p->n == 0 || find_name(all, p->counters[k]) < all->n) continue;
            if (!RS_APPEND(all, p->counters[k])) return false;
        }
    }
    return true;
}

static rs_table *make_table(const names *all)
{
    rs_column_spec *columns = rs_calloc(N_FIRST + all->n + N_LAST, sizeof *columns);
    if (!columns) return NULL;
    size_t n = 0;
    for (size_t i = 0; i < N_FIRST; i++) columns[n++] = first_columns[i];
    for (size_t i = 0; i < all->n; i++)
        columns[n++] = (rs_column_spec)RS_COLUMN(all->items[i], REAL, NONE,
                                                 "what the profiler counted under that name", NULL);
    for (size_t i = 0; i < N_LAST; i++) columns[n++] = last_columns[i];
    rs_table_spec spec = {fixed_table.name, fixed_table.help, columns, n};
    rs_table *table = rs_table_create_dynamic(&spec);
    rs_free(columns);
    return table;
}

static rs_status add_ranges(rs_table *t, int64_t rank_number, const counters_partial *p, const names *all,
                            rs_error *err)
{
    RS_LOCAL size_t *place = rs_malloc(all->n * sizeof *place); /* by column: the rank's counter */
    if (!place) return rs_fail_nomem(err, "counters");
    for (size_t i = 0; i < all->n; i++) place[i] = SIZE_MAX;
    for (size_t k = 0; k < p->n_counters; k++) place[find_name(all, p->counters[k])] = k;
    for (size_t i = 0; i < p->n; i++) {
        const range *r = &p->ranges[i];
        RS_PUT_CELLS(t, rank_number, r->row, r->name);
        for (size_t k = 0; k < all->n; k++)
            rs_table_add_real(t, place[k] == SIZE_MAX ? (double)NAN : r->values[place[k]]);
        rs_table_add_text_n(t, r->stack, r->top_length);
        RS_TRY(RS_PUT_ROW(t, err, r->bottom, r->stack));
    }
    return RS_OK;
}

static rs_status add_launches(rs_table *t, int64_t rank_number, const counters_partial *p, rs_error *err)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->ranges[i].launch == RS_NO_ROW) continue;
        RS_TRY(rs_table_put_row(t, &launch_record, rank_number, &p->ranges[i], err));
    }
    return RS_OK;
}

rs_status rs_counters_merge(const rs_partial *partials, size_t n, bool unmatched, rs_result *result,
                            rs_error *err)
{
    names all = {0};
    rs_table *table = gather_names(partials, n, &all) ? make_table(&all) : NULL;
    rs_status status = table ? RS_OK : rs_fail_nomem(err, "counters");
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const counters_partial *p = partials[i].value;
        if (p->n == 0) {
            rs_result_note(result, "rank %lld: no ranges measured by the profiler (cuda_profiler_range)",
                           (long long)partials[i].rank);
            continue;
        }
        bool fits = p->n == p->n_launches;
        if (!fits)
            rs_result_note(
                result,
                "rank %lld: %zu ranges but %zu kernel launches, so that nothing says which operator "
                "launched what",
                (long long)partials[i].rank, p->n, p->n_launches);
        status = add_launches(result->tables[1], partials[i].rank, p, err);
        if (status == RS_OK && (fits || unmatched))
            status = add_ranges(table, partials[i].rank, p, &all, err);
    }
    rs_free(all.items);
    if (status == RS_OK) {
        rs_table_free(result->tables[0]);
        result->tables[0] = table;
    } else {
        rs_table_free(table);
    }
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    return rs_counters_merge(partials, n, true, result, err);
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static bool lies_in_stack(const void *value)
{
    const range *r = value;
    return r->stack ? r->top_length <= strlen(r->stack) : r->top_length == 0;
}

static const rs_field range_fields[] = {RS_FIELDS(range, row, launch, name), RS_FIELD_OR_NULL(range, stack),
                                        RS_FIELD_OR_NULL(range, bottom), RS_FIELD(range, top_length),
                                        RS_FIELD_ROW(range, values, counters_partial, n_counters)};
static const rs_layout range_layout = RS_LAYOUT_CHECKED(range, range_fields, lies_in_stack);

static const rs_field counters_fields[] = {RS_FIELD_VALUES(counters_partial, counters, n_counters),
                                           RS_FIELD_LIST(counters_partial, ranges, n, &range_layout),
                                           RS_FIELD(counters_partial, n_launches)};
const rs_layout rs_counters_layout = RS_LAYOUT(counters_partial, counters_fields);

const rs_analysis rs_analysis_counters = {
    .name = "counters",
    .group = "GPU time",
    .help = "Hardware counters of each kernel, with the operator that launched it",
    .about =
        "For traces of CUPTI's range profiler: one row a measured range, one column a counter, and the "
        "operators around\n"
        "the launch. The profiler runs kernel after kernel, so the n-th range belongs to the n-th launch.",
    .examples = "rankscope counters trace.json.gz\nrankscope counters --format csv trace.json.gz",
    .facets = {&rs_facet_work},
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_counters_free,
    .partial_layout = &rs_counters_layout,
};
