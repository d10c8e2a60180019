/* gpu_timeline and the sheets of operators that launch work: by category, by name, by arguments. */
#include <string.h>

#include "base/interval.h"
#include "base/order.h"
#include "base/try.h"
#include "peer/tracelens_rank.h"
#include "trace/busy.h"

/* ---- gpu_timeline -------------------------------------------------------------------------------------- */

/* A kind of time in one part of the work: what is computed again, or the other. */
typedef struct kind_of_time {
    const char *name;
    int64_t ns;
    double percent;
    bool again;
} kind_of_time;

static const rs_tl_column timeline_columns[] = {
    RS_TL_COLUMN(FIRST, kind_of_time, name, "type", TEXT, NONE, "kind of time"),
    RS_TL_COLUMN(FIRST, kind_of_time, ns, "time ms", TIME, MS, "union of the time"),
    RS_TL_COLUMN(FIRST, kind_of_time, percent, "percent", REAL, PERCENT, "of total_time"),
    RS_TL_COLUMN(FIRST, kind_of_time, again, "is_recompute", TEXT, NONE,
                 "True: activation checkpointing computes it again", .when = RS_TL_RECOMPUTE),
};
static const rs_tl_sheet timeline_sheet =
    RS_TL_SHEET("gpu_timeline", "one row is one kind of time", timeline_columns, kind_of_time);

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

enum { MAX_KINDS = 9 };

static size_t list_times(const rs_tl_rank *r, const rs_busy *b, int64_t micro, bool again, kind_of_time *out)
{
    bool parted = r->options->micro_ns != 0;
    const kind_of_time all[MAX_KINDS] = {
        {.name = "computation_time", .ns = b->compute},
        {.name = "exposed_comm_time", .ns = b->exposed_comm},
        {.name = "exposed_memcpy_time", .ns = b->exposed_memory},
        {.name = "busy_time", .ns = b->busy},
        {.name = parted ? "micro_idle_time" : "idle_time", .ns = parted ? micro : b->idle},
        {.name = parted ? "macro_idle_time" : NULL, .ns = rs_sub_sat(b->idle, micro)},
        {.name = "total_time", .ns = b->span},
        {.name = "total_comm_time", .ns = b->comm},
        {.name = "total_memcpy_time", .ns = b->memory}};
    size_t n = 0;
    for (size_t i = 0; i < MAX_KINDS; i++) {
        if (!all[i].name) continue;
        out[n] = all[i];
        out[n].percent = 100.0 * (double)all[i].ns / (double)b->span;
        out[n++].again = again;
    }
    return n;
}

/* Without such work there are no rows. What other sheets call total time is the first part's. */
static rs_status add_part(rs_tl_rank *r, bool again, kind_of_time *times, size_t *n, rs_error *err)
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
    *n += list_times(r, &b, micro, again, times + *n);
    return RS_OK;
}

rs_status rs_tl_add_timeline(rs_tl_rank *r, rs_sheets *out, rs_error *err)
{
    kind_of_time times[2 * MAX_KINDS];
    size_t n = 0;
    RS_TRY(add_part(r, false, times, &n, err));
    if (r->recompute) RS_TRY(add_part(r, true, times, &n, err));
    const rs_tl_items all = rs_tl_items_of(r, times, n, NULL);
    return rs_tl_add_sheet(&timeline_sheet, &all, out, err);
}

/* ---- operators that launch work ------------------------------------------------------------------------- */

/* Groups come in falling order of the work that they launched themselves, those that are equal in that by their first
 * call. Percentages are of milliseconds where the sheet has those. */
#define OPERATORS_SHEET(name, help, columns, unit)                                                           \
    RS_TL_SHEET(name, help, columns, rs_tl_launcher, .by = RS_TL_BY(rs_tl_launcher, direct),                 \
                .then = RS_TL_BY(rs_tl_launcher, row), .scale = (unit))
#define DIRECT(how, name, unit, ...)                                                                         \
    RS_TL_COLUMN(how, rs_tl_launcher, direct, "total_direct_kernel_time_" name, REAL, unit,                  \
                 "work that it launched itself" __VA_ARGS__)
#define SUBTREE(how, name, unit, ...)                                                                        \
    RS_TL_COLUMN(how, rs_tl_launcher, subtree, "total_subtree_kernel_time_" name, REAL, unit,                \
                 "all work below it" __VA_ARGS__)
#define PERCENTAGES                                                                                          \
    RS_TL_GROUP(PERCENT, "Percentage (%)", REAL, PERCENT, "of the sheet"),                                   \
        RS_TL_GROUP(CUMULATIVE, "Cumulative Percentage (%)", REAL, PERCENT, "this row and those above")

static const rs_tl_column category_columns[] = {
    RS_TL_COLUMN(KEY, rs_tl_launcher, op.category, "op category", TEXT, NONE, "kind of operator"),
    RS_TL_AGAIN_COLUMN(rs_tl_launcher, op.again),
    RS_TL_GROUP(COUNT, "Count", INT, COUNT, "launchers of that kind"),
    DIRECT(ADDED, "ms", MS),
    PERCENTAGES,
};
static const rs_tl_sheet category_sheet =
    OPERATORS_SHEET("ops_summary_by_category", "one row is one kind of operator", category_columns, 1000);

static const rs_order by_text[] = {RS_RISING_VALUE(const char *)};

/* The kinds of a group's launchers, sorted, each once. */
static bool put_categories(const rs_tl_lot *lot, rs_table *t)
{
    const rs_tl_rank *r = lot->all->context;
    const char **kinds = rs_malloc(lot->n * sizeof *kinds);
    if (!kinds) return false;
    for (size_t i = 0; i < lot->n; i++)
        kinds[i] = rs_pool_text(&r->pool, r->launchers[lot->items[i]].op.category);
    RS_SORT(kinds, lot->n, by_text);
    rs_text_put(lot->text, "[");
    for (size_t i = 0; i < lot->n; i++) {
        if (i && strcmp(kinds[i], kinds[i - 1]) == 0) continue;
        if (i) rs_text_put(lot->text, ", ");
        rs_python_put_string(lot->text, kinds[i], strlen(kinds[i]));
    }
    rs_text_put(lot->text, "]");
    rs_free((void *)kinds);
    return rs_tl_add_python(t, lot->text);
}

static const rs_tl_column name_columns[] = {
    RS_TL_COLUMN(KEY, rs_tl_launcher, op.name, "name", TEXT, NONE,
                 "operator, or the call where no operator is around it"),
    RS_TL_AGAIN_COLUMN(rs_tl_launcher, op.again),
    DIRECT(ADDED, "sum", US),
    SUBTREE(ADDED, "sum", US),
    DIRECT(ADDED, "ms", MS),
    SUBTREE(ADDED, "ms", MS),
    RS_TL_GROUP(COUNT, "Count", INT, COUNT, "how often it launched"),
    RS_TL_CELL(put_categories, "Categories", TEXT, NONE, "its kinds, as a Python list"),
    PERCENTAGES,
};
static const rs_tl_sheet name_sheet =
    OPERATORS_SHEET("ops_summary", "one row is one operator", name_columns, 1000);

static size_t work_of_launcher(const void *context, size_t call, const uint32_t **rows)
{
    const rs_tl_rank *r = context;
    *rows = r->own_work + r->launchers[call].first;
    return r->launchers[call].n;
}

static bool put_kernels(const rs_tl_lot *lot, rs_table *t)
{
    const rs_tl_rank *r = lot->all->context;
    for (int cut = 0; cut < 2; cut++) {
        rs_tl_put_kernels(r, r, work_of_launcher, lot->items, lot->n, cut != 0, lot->text);
        if (!rs_tl_add_python(t, lot->text)) return false;
    }
    return true;
}

#define BOTH(how, name) DIRECT(how, name, US, ", over its calls"), SUBTREE(how, name, US, ", over its calls")

static const rs_tl_column args_columns[] = {
    RS_TL_OPERATOR_COLUMNS(rs_tl_launcher, op, "operator, or the call where no operator is around it"),
    RS_TL_GROUP(COUNT, "operation_count", INT, COUNT, "calls"),
    BOTH(MEAN, "mean"),
    BOTH(MEDIAN, "median"),
    BOTH(STD, "std"),
    BOTH(MIN, "min"),
    BOTH(MAX, "max"),
    DIRECT(ADDED, "sum", US),
    SUBTREE(ADDED, "sum", US),
    RS_TL_COLUMN(FIRST, rs_tl_launcher, row, "ex_UID", INT, ID, "position in traceEvents of the first call"),
    RS_TL_CELL(put_kernels, "kernel_details_summary", TEXT, NONE, "its kernels one by one, as a Python list"),
    RS_TL_GROUP(PUT_BEFORE, "trunc_kernel_details", TEXT, NONE, "the same with names cut"),
    PERCENTAGES,
};
static const rs_tl_sheet args_sheet =
    OPERATORS_SHEET("ops_unique_args", "one row is one operator with one set of arguments", args_columns, 1);

/* Traces without operators have none of these sheets. */
rs_status rs_tl_add_operators(rs_tl_rank *r, rs_sheets *out, rs_error *err)
{
    const rs_tl_items all = rs_tl_items_of(r, r->launchers, r->n_launchers, r);
    RS_TRY(rs_tl_add_sheet(&category_sheet, &all, out, err));
    RS_TRY(rs_tl_add_sheet(&name_sheet, &all, out, err));
    return rs_tl_add_sheet(&args_sheet, &all, out, err);
}
