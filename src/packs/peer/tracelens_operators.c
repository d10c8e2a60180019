/* gpu_timeline and the sheets of operators that launch work: by category, by name, by arguments. */
#include <string.h>

#include "base/interval.h"
#include "base/try.h"
#include "peer/tracelens_rank.h"
#include "trace/busy.h"

#define COLUMN(name, type, unit, help)                                                                       \
    {                                                                                                        \
        name, RS_##type, RS_UNIT_##unit, help, NULL                                                          \
    }
#define SHEET(name, help, columns)                                                                           \
    {                                                                                                        \
        name, help, columns, sizeof(columns) / sizeof *(columns)                                             \
    }

/* ---- gpu_timeline -------------------------------------------------------------------------------------- */

static const rs_column_spec timeline_columns[] = {
    COLUMN("type", TEXT, NONE, "kind of time"),
    COLUMN("time ms", TIME, MS, "union of the time"),
    COLUMN("percent", REAL, PERCENT, "of total_time"),
};
static const rs_table_spec timeline_sheet =
    SHEET("gpu_timeline", "one row is one kind of time", timeline_columns);

static void take_work(const rs_tl_rank *r, uint32_t row, rs_work *out)
{
    out->start[out->n] = r->e->start[row];
    out->end[out->n] = rs_add_sat(r->e->start[row], r->e->duration[row]);
    out->class[out->n] = (uint8_t)rs_tl_class(r, row);
    out->n_class[out->class[out->n]]++;
    out->n++;
}

/* Whether the call at that place of tree->gpu_row is computed again. */
static bool is_again(const rs_tl_rank *r, size_t at)
{
    return rs_tl_is_recompute(r, r->call[at]);
}

/* Rows of work that is computed again, ascending. */
static bool list_again(const rs_tl_rank *r, rs_keyed **out, size_t *n)
{
    const rs_tree *t = r->tree;
    *n = 0;
    *out = rs_malloc((t->n_gpu + 1) * sizeof **out);
    for (size_t i = 0; *out && i < t->n_gpu; i++)
        if (is_again(r, i)) (*out)[(*n)++] = (rs_keyed){t->gpu_row[i], 0};
    return *out && rs_keyed_sort(*out, *n);
}

/* All work, of which that of `again` counts or the other. */
static bool take_all(const rs_tl_rank *r, const uint32_t *rows, size_t n, bool again, rs_work *out)
{
    rs_keyed *list;
    size_t n_list, at = 0;
    bool ok = list_again(r, &list, &n_list);
    for (size_t i = 0; ok && i < n; i++) {
        while (at < n_list && list[at].key < rows[i]) at++;
        bool found = at < n_list && list[at].key == rows[i];
        if (found == again) take_work(r, rows[i], out);
    }
    rs_free(list);
    return ok;
}

/* The work that counts: linked work, or all; what is computed again, or the other. */
static rs_status list_work(const rs_tl_rank *r, bool again, rs_work *out, rs_error *err)
{
    const rs_tree *t = r->tree;
    const uint32_t *rows;
    size_t n;
    RS_TRY(rs_trace_gpu_rows(r->trace, &rows, &n, err));
    if (n < t->n_gpu) n = t->n_gpu;
    out->start = rs_malloc((n + 1) * sizeof *out->start);
    out->end = rs_malloc((n + 1) * sizeof *out->end);
    out->class = rs_malloc(n + 1);
    if (!out->start || !out->end || !out->class) return rs_fail_nomem(err, "GPU work");
    if (r->options->unlinked) {
        RS_TRY(rs_trace_gpu_rows(r->trace, &rows, &n, err));
        return take_all(r, rows, n, again, out) ? RS_OK : rs_fail_nomem(err, "GPU work");
    }
    for (size_t i = 0; i < t->n_gpu; i++)
        if (rs_tl_is_linked(r, i) && is_again(r, i) == again) take_work(r, t->gpu_row[i], out);
    return RS_OK;
}

/* Idle time in pauses that are shorter than the option says. */
static rs_status micro_idle(const rs_tl_rank *r, const rs_work *work, int64_t *ns, rs_error *err)
{
    *ns = 0;
    if (!r->options->micro_ns || !work->n) return RS_OK;
    RS_LOCAL rs_interval *busy = rs_malloc(work->n * sizeof *busy);
    bool ok = busy != NULL;
    for (size_t i = 0; ok && i < work->n; i++) busy[i] = (rs_interval){work->start[i], work->end[i]};
    ok = ok && rs_intervals_sort(busy, work->n);
    size_t n = ok ? rs_intervals_unite(busy, work->n) : 0;
    for (size_t i = 1; i < n; i++) {
        int64_t pause = rs_sub_sat(busy[i].start, busy[i - 1].end);
        if (pause < r->options->micro_ns) *ns = rs_add_sat(*ns, pause);
    }
    return ok ? RS_OK : rs_fail_nomem(err, "GPU work");
}

/* The rows of one part of the work: all, or what is computed again and the other. */
typedef struct timeline {
    const rs_tl_rank *r;
    rs_table *t;
    int64_t span;
    bool again;
} timeline;

static rs_status add_time(const timeline *l, const char *type, int64_t ns, rs_error *err)
{
    rs_table_add_text(l->t, type);
    rs_table_add_time(l->t, ns);
    rs_table_add_real(l->t, 100.0 * (double)ns / (double)l->span);
    if (l->r->recompute) rs_table_add_text(l->t, l->again ? "True" : "False");
    return rs_table_end_row(l->t, err);
}

static rs_status fill_timeline(const timeline *l, const rs_busy *b, int64_t micro, rs_error *err)
{
    RS_TRY(add_time(l, "computation_time", b->compute, err));
    RS_TRY(add_time(l, "exposed_comm_time", b->exposed_comm, err));
    RS_TRY(add_time(l, "exposed_memcpy_time", b->exposed_memory, err));
    RS_TRY(add_time(l, "busy_time", b->busy, err));
    if (l->r->options->micro_ns) {
        RS_TRY(add_time(l, "micro_idle_time", micro, err));
        RS_TRY(add_time(l, "macro_idle_time", rs_sub_sat(b->idle, micro), err));
    } else {
        RS_TRY(add_time(l, "idle_time", b->idle, err));
    }
    RS_TRY(add_time(l, "total_time", b->span, err));
    RS_TRY(add_time(l, "total_comm_time", b->comm, err));
    return add_time(l, "total_memcpy_time", b->memory, err);
}

/* Without such work there are no rows. What other sheets call total time is the first part's. */
static rs_status add_part(rs_tl_rank *r, bool again, rs_table *t, rs_error *err)
{
    rs_work work = {0};
    rs_busy b;
    int64_t micro = 0;
    rs_status status = list_work(r, again, &work, err);
    if (status == RS_OK) status = micro_idle(r, &work, &micro, err);
    if (status == RS_OK) status = rs_busy_of(&work, &b, err);
    bool any = work.n > 0;
    rs_free_all(work.start, work.end, work.class);
    if (status != RS_OK || !any) return status;
    if (r->total == 0) r->total = b.span;
    const timeline l = {r, t, b.span, again};
    return fill_timeline(&l, &b, micro, err);
}

rs_status rs_tl_add_timeline(rs_tl_rank *r, rs_sheets *out, rs_error *err)
{
    rs_table *t = rs_tl_create_sheet(r, &timeline_sheet, timeline_sheet.n_columns);
    rs_status status = t ? add_part(r, false, t, err) : rs_fail_nomem(err, "a sheet");
    if (status == RS_OK && r->recompute) status = add_part(r, true, t, err);
    return rs_sheets_end(out, t, status, err);
}

/* ---- groups of launchers ------------------------------------------------------------------------------- */

typedef struct group_key {
    uint32_t name, category, process, label, thread, dims, types, strides, concrete, recompute;
} group_key;

/* The launchers' sums by group: in falling order of direct time. */
typedef struct summary {
    rs_tl_groups groups;
    double *direct, *subtree; /* by group, us */
    uint32_t *order;
    double total; /* direct time of all, in the unit of percentages: us, or us / scale */
    double scale;
} summary;

static void clear_summary(summary *s)
{
    rs_tl_groups_clear(&s->groups);
    rs_free_all(s->direct, s->subtree, s->order);
    *s = (summary){0};
}

/* scale: 1000 where TraceLens makes percentages of milliseconds. */
static bool summarise(const rs_tl_rank *r, const group_key *keys, double scale, summary *s)
{
    RS_LOCAL double *sums = NULL;
    RS_LOCAL uint32_t *ids = NULL;
    *s = (summary){.scale = scale};
    bool ok = rs_tl_group(keys, sizeof *keys, NULL, r->n_launchers, &s->groups);
    size_t n = s->groups.n;
    if (ok) {
        s->direct = rs_calloc(n + 1, sizeof *s->direct);
        s->subtree = rs_calloc(n + 1, sizeof *s->subtree);
        sums = rs_malloc((n + 1) * sizeof *sums);
        ids = rs_malloc((n + 1) * sizeof *ids);
        ok = s->direct && s->subtree && sums && ids;
    }
    for (size_t g = 0; ok && g < n; g++) {
        for (size_t i = s->groups.first[g]; i < s->groups.first[g + 1]; i++) {
            const rs_tl_launcher *l = &r->launchers[s->groups.item[i]];
            s->direct[g] += l->direct;
            s->subtree[g] += l->subtree;
        }
        sums[g] = s->direct[g];
        ids[g] = r->tree->row[r->launchers[s->groups.item[s->groups.first[g]]].node];
    }
    ok = ok && rs_tl_order(sums, ids, n, &s->order);
    for (size_t i = 0; ok && i < n; i++) sums[i] = s->direct[s->order[i]] / scale;
    if (ok) s->total = rs_tl_numpy_sum(sums, n);
    if (!ok) clear_summary(s);
    return ok;
}

static void add_percent(rs_table *t, const summary *s, uint32_t group, double *cumulative)
{
    double percent = s->direct[group] / s->scale / s->total * 100;
    *cumulative += percent;
    rs_table_add_real(t, percent);
    rs_table_add_real(t, *cumulative);
}

static void add_both(rs_table *t, double a, double b)
{
    rs_table_add_real(t, a);
    rs_table_add_real(t, b);
}

/* ---- ops_summary_by_category --------------------------------------------------------------------------- */

static const rs_column_spec category_columns[] = {
    COLUMN("op category", TEXT, NONE, "kind of operator"),
    COLUMN("Count", INT, COUNT, "launchers of that kind"),
    COLUMN("total_direct_kernel_time_ms", REAL, MS, "work that they launched themselves"),
    COLUMN("Percentage (%)", REAL, PERCENT, "of the sheet"),
    COLUMN("Cumulative Percentage (%)", REAL, PERCENT, "this row and those above"),
};
static const rs_table_spec category_sheet =
    SHEET("ops_summary_by_category", "one row is one kind of operator", category_columns);

static rs_status add_categories(rs_tl_rank *r, const group_key *all, rs_sheets *out, rs_error *err)
{
    RS_LOCAL group_key *keys = rs_calloc(r->n_launchers + 1, sizeof *keys);
    RS_SCOPED(clear_summary) summary s = {0};
    for (size_t i = 0; keys && i < r->n_launchers; i++)
        keys[i] = (group_key){.category = all[i].category, .recompute = all[i].recompute};
    rs_table *t = rs_tl_create_sheet(r, &category_sheet, 1);
    rs_status status = keys && t && summarise(r, keys, 1000, &s) ? RS_OK : rs_fail_nomem(err, "categories");
    double cumulative = 0;
    for (size_t i = 0; status == RS_OK && i < s.groups.n; i++) {
        uint32_t g = s.order[i], first = s.groups.first[g];
        rs_table_add_text(t, r->launchers[s.groups.item[first]].category);
        rs_tl_add_recompute(r, r->launchers[s.groups.item[first]].node, t);
        rs_table_add_int(t, s.groups.first[g + 1] - first);
        rs_table_add_real(t, s.direct[g] / 1000);
        add_percent(t, &s, g, &cumulative);
        status = rs_table_end_row(t, err);
    }
    return rs_sheets_end(out, t, status, err);
}

/* ---- ops_summary --------------------------------------------------------------------------------------- */

static const rs_column_spec name_columns[] = {
    COLUMN("name", TEXT, NONE, "operator, or the call where no operator is around it"),
    COLUMN("total_direct_kernel_time_sum", REAL, US, "work that it launched itself"),
    COLUMN("total_subtree_kernel_time_sum", REAL, US, "all work below it"),
    COLUMN("total_direct_kernel_time_ms", REAL, MS, "work that it launched itself"),
    COLUMN("total_subtree_kernel_time_ms", REAL, MS, "all work below it"),
    COLUMN("Count", INT, COUNT, "how often it launched"),
    COLUMN("Categories", TEXT, NONE, "its kinds, as a Python list"),
    COLUMN("Percentage (%)", REAL, PERCENT, "of the sheet"),
    COLUMN("Cumulative Percentage (%)", REAL, PERCENT, "this row and those above"),
};
static const rs_table_spec name_sheet = SHEET("ops_summary", "one row is one operator", name_columns);

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The kinds of a group's launchers, sorted, each once. */
static void put_categories(const rs_tl_rank *r, const uint32_t *items, size_t n, rs_python_text *out)
{
    const char **kinds = rs_malloc((n + 1) * sizeof *kinds);
    if (!kinds) out->failed = true;
    for (size_t i = 0; kinds && i < n; i++) kinds[i] = r->launchers[items[i]].category;
    if (kinds && n) qsort((void *)kinds, n, sizeof *kinds, by_text);
    rs_python_put(out, "[", 1);
    for (size_t i = 0; kinds && i < n; i++) {
        if (i && strcmp(kinds[i], kinds[i - 1]) == 0) continue;
        if (i) rs_python_put(out, ", ", 2);
        rs_python_put_string(out, kinds[i], strlen(kinds[i]));
    }
    rs_python_put(out, "]", 1);
    rs_free((void *)kinds);
}

/* Takes the text as the next cell and empties it. */
static rs_status add_python(rs_table *t, rs_python_text *text, rs_error *err)
{
    if (text->failed) return rs_fail_nomem(err, "a cell");
    rs_table_add_text_n(t, text->text ? text->text : "", text->n);
    text->n = 0;
    return RS_OK;
}

static rs_status add_names(rs_tl_rank *r, const group_key *all, rs_sheets *out, rs_error *err)
{
    RS_LOCAL group_key *keys = rs_calloc(r->n_launchers + 1, sizeof *keys);
    RS_SCOPED(clear_summary) summary s = {0};
    RS_SCOPED(rs_python_clear) rs_python_text text = {0};
    for (size_t i = 0; keys && i < r->n_launchers; i++)
        keys[i] = (group_key){.name = all[i].name, .recompute = all[i].recompute};
    rs_table *t = rs_tl_create_sheet(r, &name_sheet, 1);
    rs_status status = keys && t && summarise(r, keys, 1000, &s) ? RS_OK : rs_fail_nomem(err, "operators");
    double cumulative = 0;
    for (size_t i = 0; status == RS_OK && i < s.groups.n; i++) {
        uint32_t g = s.order[i], first = s.groups.first[g], n = s.groups.first[g + 1] - first;
        rs_table_add_text(t, rs_tl_name(r, r->launchers[s.groups.item[first]].node));
        rs_tl_add_recompute(r, r->launchers[s.groups.item[first]].node, t);
        add_both(t, s.direct[g], s.subtree[g]);
        add_both(t, s.direct[g] / 1000, s.subtree[g] / 1000);
        rs_table_add_int(t, n);
        put_categories(r, s.groups.item + first, n, &text);
        status = add_python(t, &text, err);
        add_percent(t, &s, g, &cumulative);
        if (status == RS_OK) status = rs_table_end_row(t, err);
    }
    return rs_sheets_end(out, t, status, err);
}

/* ---- ops_unique_args ----------------------------------------------------------------------------------- */

#define BOTH(metric)                                                                                         \
    COLUMN("total_direct_kernel_time_" metric, REAL, US, "work that it launched itself, over its calls"),    \
        COLUMN("total_subtree_kernel_time_" metric, REAL, US, "all work below it, over its calls")

static const rs_column_spec args_columns[] = {
    COLUMN("name", TEXT, NONE, "operator, or the call where no operator is around it"),
    COLUMN("op category", TEXT, NONE, "its kind"),
    COLUMN("process_name", TEXT, NONE, "as the file names the process"),
    COLUMN("process_label", TEXT, NONE, "as the file labels it"),
    COLUMN("thread_name", TEXT, NONE, "as the file names the thread"),
    COLUMN("Input Dims", TEXT, NONE, "shapes of the inputs"),
    COLUMN("Input type", TEXT, NONE, "types of the inputs"),
    COLUMN("Input Strides", TEXT, NONE, "strides of the inputs"),
    COLUMN("Concrete Inputs", TEXT, NONE, "values of scalar inputs"),
    COLUMN("operation_count", INT, COUNT, "calls"),
    BOTH("mean"),
    BOTH("median"),
    BOTH("std"),
    BOTH("min"),
    BOTH("max"),
    COLUMN("total_direct_kernel_time_sum", REAL, US, "work that it launched itself"),
    COLUMN("total_subtree_kernel_time_sum", REAL, US, "all work below it"),
    COLUMN("ex_UID", INT, ID, "position in traceEvents of the first call"),
    COLUMN("kernel_details_summary", TEXT, NONE, "its kernels one by one, as a Python list"),
    COLUMN("trunc_kernel_details", TEXT, NONE, "the same with names cut"),
    COLUMN("Percentage (%)", REAL, PERCENT, "of the sheet"),
    COLUMN("Cumulative Percentage (%)", REAL, PERCENT, "this row and those above"),
};
static const rs_table_spec args_sheet =
    SHEET("ops_unique_args", "one row is one operator with one set of arguments", args_columns);

static size_t work_of_launcher(const void *context, size_t call, const uint32_t **rows)
{
    const rs_tl_rank *r = context;
    *rows = r->own_work + r->launchers[call].first;
    return r->launchers[call].n;
}

static bool add_statistics(const rs_tl_rank *r, const uint32_t *items, size_t n, rs_table *t)
{
    RS_LOCAL double *values = rs_malloc(2 * n * sizeof *values);
    if (!values) return false;
    for (size_t i = 0; i < n; i++) {
        values[i] = r->launchers[items[i]].direct;
        values[n + i] = r->launchers[items[i]].subtree;
    }
    rs_tl_stats d = rs_tl_stats_of(values, n), s = rs_tl_stats_of(values + n, n);
    add_both(t, d.mean, s.mean);
    add_both(t, d.median, s.median);
    add_both(t, d.std, s.std);
    add_both(t, d.min, s.min);
    add_both(t, d.max, s.max);
    return true;
}

static void add_arguments(const rs_tl_rank *r, const rs_tl_launcher *l, const group_key *key, rs_table *t)
{
    uint32_t row = r->tree->row[l->node];
    rs_table_add_text(t, rs_event_name(r->e, row));
    rs_table_add_text(t, l->category);
    rs_table_add_text(t, rs_tl_process(r, row));
    rs_table_add_text(t, rs_tl_label(r, row));
    rs_table_add_text(t, rs_tl_thread(r, row));
    rs_table_add_text(t, rs_pool_text(&r->pool, key->dims));
    rs_table_add_text(t, rs_pool_text(&r->pool, key->types));
    rs_table_add_text(t, rs_pool_text(&r->pool, key->strides));
    rs_table_add_text(t, rs_pool_text(&r->pool, key->concrete));
    rs_tl_add_recompute(r, l->node, t);
}

static rs_status add_args(rs_tl_rank *r, const group_key *keys, rs_sheets *out, rs_error *err)
{
    RS_SCOPED(clear_summary) summary s = {0};
    RS_SCOPED(rs_python_clear) rs_python_text text = {0};
    rs_table *t = rs_tl_create_sheet(r, &args_sheet, 9);
    rs_status status = t && summarise(r, keys, 1, &s) ? RS_OK : rs_fail_nomem(err, "arguments");
    double cumulative = 0;
    for (size_t i = 0; status == RS_OK && i < s.groups.n; i++) {
        uint32_t g = s.order[i], n = s.groups.first[g + 1] - s.groups.first[g];
        const uint32_t *items = s.groups.item + s.groups.first[g];
        const rs_tl_launcher *first = &r->launchers[items[0]];
        add_arguments(r, first, &keys[items[0]], t);
        rs_table_add_int(t, n);
        if (!add_statistics(r, items, n, t)) status = rs_fail_nomem(err, "statistics");
        add_both(t, s.direct[g], s.subtree[g]);
        rs_table_add_int(t, r->tree->row[first->node]);
        for (int cut = 0; status == RS_OK && cut < 2; cut++) {
            rs_tl_put_kernels(r, r, work_of_launcher, items, n, cut != 0, &text);
            status = add_python(t, &text, err);
        }
        add_percent(t, &s, g, &cumulative);
        if (status == RS_OK) status = rs_table_end_row(t, err);
    }
    return rs_sheets_end(out, t, status, err);
}

/* ---- all ----------------------------------------------------------------------------------------------- */

static uint32_t tuple_id(rs_tl_rank *r, rs_column_id column, uint32_t row, bool *ok)
{
    return rs_pool_add_tuple(&r->pool, r->e, rs_events_text(r->e, column, row), ok);
}

/* Categories are few and static; a number represents each in keys. */
static uint32_t category_id(rs_tl_rank *r, const char *category, bool *ok)
{
    uint32_t id = rs_strings_add(&r->pool.strings, category, strlen(category));
    if (id == RS_NO_STRING) *ok = false;
    return id;
}

static bool key_of(rs_tl_rank *r, const rs_tl_launcher *l, group_key *key)
{
    uint32_t row = r->tree->row[l->node], thread = r->e->thread[row];
    bool ok = true;
    *key = (group_key){.name = r->e->name[row],
                       .category = category_id(r, l->category, &ok),
                       .process = r->process[thread],
                       .label = r->label[thread],
                       .thread = r->thread[thread],
                       .dims = tuple_id(r, RS_COL_INPUT_DIMS, row, &ok),
                       .types = tuple_id(r, RS_COL_INPUT_TYPE, row, &ok),
                       .strides = tuple_id(r, RS_COL_INPUT_STRIDES, row, &ok),
                       .concrete = tuple_id(r, RS_COL_CONCRETE_INPUTS, row, &ok),
                       .recompute = rs_tl_is_recompute(r, l->node)};
    return ok;
}

/* Traces without operators have none of these sheets. */
rs_status rs_tl_add_operators(rs_tl_rank *r, rs_sheets *out, rs_error *err)
{
    RS_LOCAL group_key *keys = rs_calloc(r->n_launchers + 1, sizeof *keys);
    bool ok = keys != NULL;
    for (size_t i = 0; ok && i < r->n_launchers; i++) ok = key_of(r, &r->launchers[i], &keys[i]);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "arguments");
    if (status == RS_OK) status = add_categories(r, keys, out, err);
    if (status == RS_OK) status = add_names(r, keys, out, err);
    if (status == RS_OK) status = add_args(r, keys, out, err);
    return status;
}
