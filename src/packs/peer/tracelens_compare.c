/* TraceLens' compare_perf_reports_pytorch: sheets of reports joined by their keys. What differs from TraceLens is in
 * docs/differences.md, "compare". */
#include "rankscope/tracelens_compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/try.h"
#include "peer/tracelens.h"
#include "peer/tracelens_join.h"
#include "text/numbers.h"

#define MAX_NAMES 8
#define PARAMETERS "param:" /* a key: all columns that begin so */

/* ---- what is compared, and how ---------------------------------------------------------------------------- */

typedef enum group { TIMELINE = 1, SUMMARY = 2, KERNELS = 4, OPERATORS = 8, ROOFLINE = 16, ALL = 31 } group;

typedef struct sheet_plan {
    group group;
    const char *sheet, *title; /* in the reports, and in the comparison */
    bool split;                /* into what both have, what only the base has, what only the variant has */
    const char *keys[MAX_NAMES];
    const char *differ[MAX_NAMES]; /* a row is a report's when the first of them is known */
    const char *order;             /* NULL: by the keys */
    const char *drop[MAX_NAMES];   /* of all reports */
    const char *base_only[MAX_NAMES];
    const char *hidden[11]; /* endings of names */
} sheet_plan;

#define ARGUMENTS                                                                                            \
    {                                                                                                        \
        "name", "Input type", "Input Dims", "Input Strides", "Concrete Inputs"                               \
    }
#define HIDE_STATISTICS                                                                                      \
    {                                                                                                        \
        "kernel_names", "median", "std", "min", "max", "ex_UID"                                              \
    }
#define OPERATOR_PLAN(name)                                                                                  \
    {                                                                                                        \
        OPERATORS, name, name, true, ARGUMENTS,                                                              \
            {"total_direct_kernel_time_sum", "total_direct_kernel_time_mean", "operation_count"},            \
            "total_direct_kernel_time_sum", {NULL}, {NULL}, HIDE_STATISTICS                                  \
    }
#define ROOFLINE_PLAN(name, title)                                                                           \
    {                                                                                                        \
        ROOFLINE, name, title, true, {"name", PARAMETERS},                                                   \
            {"Kernel Time (µs)_sum", "Kernel Time (µs)_mean", "name_count", "TFLOPS/s_mean", "TB/s_mean"},   \
            "Kernel Time (µs)_sum", {NULL},                                                                  \
            {"GFLOPS_first",     "Data Moved (MB)_first", "FLOPS/Byte_first",     "Input type_first",        \
             "Input Dims_first", "Input Strides_first",   "Concrete Inputs_first"},                          \
        {                                                                                                    \
            "kernel_names_first", "UID", "median", "std", "min", "max", "Input type_first",                  \
                "Input Dims_first", "Input Strides_first", "Concrete Inputs_first"                           \
        }                                                                                                    \
    }

/* clang-format off */
static const sheet_plan plans[] = {
    {TIMELINE, "gpu_timeline", "gpu_timeline", false, {"type"}, {"time ms"}, NULL, {NULL}, {NULL}, {NULL}},
    {SUMMARY, "ops_summary", "ops_summary", false, {"name"}, {"total_direct_kernel_time_ms", "Count"},
     "total_direct_kernel_time_ms", {"total_direct_kernel_time_sum"}, {"Cumulative Percentage (%)"}, {NULL}},
    {KERNELS, "kernel_summary", "kernel_summary", false, {"Kernel name"},
     {"Kernel duration (µs)_sum", "Kernel duration (µs)_mean", "Kernel duration (µs)_count"},
     "Kernel duration (µs)_sum",
     {"Kernel duration (µs)_min", "Kernel duration (µs)_max", "Parent op category"},
     {"Cumulative Percentage (%)"}, {NULL}},
    OPERATOR_PLAN("ops_all"), /* what older reports call ops_unique_args */
    OPERATOR_PLAN("ops_unique_args"),
    {OPERATORS, "unified_perf_summary", "unified_perf_summary", true, ARGUMENTS,
     {"Kernel Time (µs)_sum", "Kernel Time (µs)_mean", "operation_count"}, "Kernel Time (µs)_sum", {NULL}, {NULL},
     HIDE_STATISTICS},
    ROOFLINE_PLAN("GEMM", "GEMM"),
    ROOFLINE_PLAN("SDPA_fwd", "SDPA_fwd"),
    ROOFLINE_PLAN("SDPA_bwd", "SDPA_bwd"),
    ROOFLINE_PLAN("CONV_fwd", "CONV_fwd"),
    ROOFLINE_PLAN("CONV_bwd", "CONV_bwd"),
    ROOFLINE_PLAN("UnaryElementwise", "un_eltwise"),
    ROOFLINE_PLAN("BinaryElementwise", "bin_eltwise"),
};
/* Of rocprof's reports, told by the missing column "Kernel name". */
static const sheet_plan rocprof_plan = {
    KERNELS, "kernel_summary", "kernel_summary", false, {"name"},
    {"Total Kernel Time (ms)", "Mean Kernel Time (µs)", "Count"}, "Total Kernel Time (ms)",
    {"Total Kernel Time (µs)", "Median Kernel Time (µs)", "Std Kernel Time (µs)", "Min Kernel Time (µs)",
     "Max Kernel Time (µs)", "Category"},
    {"Cumulative Percentage (%)"}, {NULL}};
/* clang-format on */

enum { N_PLANS = sizeof plans / sizeof *plans };

static const struct {
    const char *word;
    group group;
} groups[] = {{"gpu_timeline", TIMELINE}, {"ops_summary", SUMMARY}, {"kernel_summary", KERNELS},
              {"ops_all", OPERATORS},     {"roofline", ROOFLINE},   {"all", ALL}};

static rs_status read_groups(const char *text, unsigned *out, rs_error *err)
{
    *out = 0;
    for (const char *word = text; word;) {
        const char *comma = strchr(word, ',');
        size_t length = comma ? (size_t)(comma - word) : strlen(word), i = 0;
        while (i < sizeof groups / sizeof *groups &&
               (strlen(groups[i].word) != length || memcmp(groups[i].word, word, length) != 0))
            i++;
        if (i == sizeof groups / sizeof *groups)
            return rs_fail(
                err, RS_ERR_USAGE,
                "there are no sheets \"%.*s\"; there are gpu_timeline, ops_summary, kernel_summary, ops_all, "
                "roofline and all",
                (int)(length < 60 ? length : 60), word);
        *out |= groups[i].group;
        word = comma ? comma + 1 : NULL;
    }
    if (!text) *out = ALL;
    return RS_OK;
}

bool rs_tracelens_is_report(const char *path)
{
    for (size_t i = 0; i < N_PLANS; i++)
        if (rs_book_has_csv(path, plans[i].sheet)) return true;
    return rs_book_is_workbook(path);
}

/* ---- the reports ------------------------------------------------------------------------------------------- */

struct rs_tracelens_comparison {
    rs_sheets sheets;
    bool **hidden; /* by sheet, by column; owned */
    size_t n_hidden, hidden_capacity;
};

typedef struct comparer {
    const rs_tracelens_input *inputs;
    size_t n;
    rs_strings texts;
    rs_book *books;
    rs_tracelens_comparison *out;
    rs_result *told;
} comparer;

static rs_status add_cell(rs_grid *grid, rs_strings *texts, const rs_table *table, size_t row, size_t column,
                          rs_error *err)
{
    rs_grid_cell *cell = grid->cells + (grid->n_cells - grid->n_columns) + column;
    if (rs_table_is_null(table, row, column)) return RS_OK;
    if (rs_table_get_spec(table)->columns[column].type != RS_TEXT) {
        double value = rs_table_real(table, row, column);
        if (!isnan(value)) *cell = (rs_grid_cell){.number = value, .kind = RS_GRID_NUMBER};
        return RS_OK;
    }
    size_t length;
    const char *text = rs_table_text(table, row, column, &length);
    return rs_grid_set(grid, texts, column, text, length) ? RS_OK : rs_fail_nomem(err, "a sheet");
}

/* The sheet as it would be read again. */
static rs_status take_table(rs_book *book, rs_strings *texts, const rs_table *table, rs_error *err)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    rs_grid *grid = rs_book_add(book, texts, spec->name, strlen(spec->name));
    if (!grid) return rs_fail_nomem(err, "a sheet");
    for (size_t i = 0; i < spec->n_columns; i++)
        if (!rs_grid_add_column(grid, texts, spec->columns[i].name, strlen(spec->columns[i].name)))
            return rs_fail_nomem(err, "a sheet");
    for (size_t row = 0; row < rs_table_n_rows(table); row++) {
        RS_TRY(rs_grid_add_row(grid, spec->name, err));
        for (size_t i = 0; i < spec->n_columns; i++) RS_TRY(add_cell(grid, texts, table, row, i, err));
    }
    return RS_OK;
}

static rs_status read_input(comparer *c, size_t i, rs_error *err)
{
    const rs_tracelens_input *input = &c->inputs[i];
    if (input->path) return rs_book_read(input->path, &c->texts, &c->books[i], err);
    for (size_t k = 0; k < input->n_sheets; k++)
        RS_TRY(take_table(&c->books[i], &c->texts, input->sheets[k], err));
    return RS_OK;
}

/* The sheets of one name, joined. */
typedef struct join {
    const comparer *c;
    const sheet_plan *plan;
    rs_tl_join rows;
} join;

/* ---- columns -------------------------------------------------------------------------------------------------- */

typedef enum column_kind { KEY, DIFFERENCE, PERCENT, CELL } column_kind;

typedef struct out_column {
    column_kind kind;
    size_t report; /* of a cell; of a difference the variant */
    size_t at;     /* a key's number; of a cell the column of its report's sheet */
    size_t base;   /* of a difference: the columns of base and variant */
    char *name;    /* owned */
} out_column;

typedef struct column_list {
    out_column *items;
    size_t n, capacity;
} column_list;

static void clear_columns(column_list *list)
{
    for (size_t i = 0; i < list->n; i++) rs_free(list->items[i].name);
    rs_free(list->items);
}

static char *put_together(const char *a, const char *b, const char *c, const char *d)
{
    size_t room = strlen(a) + strlen(b) + strlen(c) + strlen(d) + 1;
    char *text = rs_malloc(room);
    if (text) snprintf(text, room, "%s%s%s%s", a, b, c, d);
    return text;
}

/* Takes the name. */
static bool add_column(column_list *list, out_column column)
{
    if (!column.name || !RS_GROW_ONE(list->items, list->n, list->capacity)) {
        rs_free(column.name);
        return false;
    }
    list->items[list->n++] = column;
    return true;
}

static bool in_list(const char *const *names, const char *name)
{
    for (size_t i = 0; i < MAX_NAMES && names[i]; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static bool is_key(const join *j, uint32_t name)
{
    for (size_t i = 0; i < j->rows.n_keys; i++)
        if (j->rows.keys[i] == name) return true;
    return false;
}

static bool list_cells(const join *j, size_t report, column_list *list)
{
    const rs_grid *grid = j->rows.grids[report];
    bool ok = true;
    for (size_t i = 0; ok && grid && i < grid->n_columns; i++) {
        const char *name = j->c->texts.items[grid->columns[i]].text;
        if (is_key(j, grid->columns[i]) || in_list(j->plan->drop, name) ||
            (report && in_list(j->plan->base_only, name)))
            continue;
        ok = add_column(list, (out_column){.kind = CELL,
                                           .report = report,
                                           .at = i,
                                           .name = put_together(j->c->inputs[report].name, "::", name, "")});
    }
    return ok;
}

/* Keys, differences, then what each report has. */
static bool list_columns(const join *j, column_list *list)
{
    bool ok = true;
    for (size_t i = 0; ok && i < j->rows.n_keys; i++)
        ok = add_column(
            list,
            (out_column){.kind = KEY, .at = i, .name = rs_strdup(j->c->texts.items[j->rows.keys[i]].text)});
    for (size_t d = 0; ok && d < MAX_NAMES && j->plan->differ[d]; d++)
        for (size_t i = 1; ok && i < j->c->n; i++) {
            const char *name = j->plan->differ[d], *tag = j->c->inputs[i].name;
            out_column column = {.kind = DIFFERENCE,
                                 .report = i,
                                 .at = rs_tl_column(&j->rows, i, name),
                                 .base = rs_tl_column(&j->rows, 0, name),
                                 .name = put_together(name, "__", tag, "_diff")};
            ok = add_column(list, column);
            column.kind = PERCENT;
            column.name = ok ? put_together(name, "__", tag, "_pct") : NULL;
            ok = ok && add_column(list, column);
        }
    for (size_t i = 0; ok && i < j->c->n; i++) ok = list_cells(j, i, list);
    return ok;
}

static rs_grid_cell value_of(const join *j, uint32_t at, const out_column *column)
{
    if (column->kind == KEY) return rs_tl_key(&j->rows, at, column->at);
    if (column->kind == CELL) return rs_tl_cell(&j->rows, at, column->report, column->at);
    double base = rs_tl_number(&j->rows, at, 0, column->base),
           value = rs_tl_number(&j->rows, at, column->report, column->at) - base;
    if (column->kind == PERCENT) value = base != 0 ? 100 * (value / base) : (double)NAN;
    return isnan(value) ? (rs_grid_cell){.kind = RS_GRID_EMPTY}
                        : (rs_grid_cell){.number = value, .kind = RS_GRID_NUMBER};
}

/* ---- sheets --------------------------------------------------------------------------------------------------- */

/* Which rows and columns a sheet takes. */
typedef struct part {
    const char *title, *tag; /* tag: NULL for a sheet that is not split */
    bool (*keeps)(const join *j, uint32_t at, size_t variant, const size_t *known);
    size_t variant, order; /* order: the report whose column orders the rows */
    bool base, other;      /* whose columns stay */
} part;

static bool keeps_column(const part *p, const out_column *column)
{
    if (!p->tag || column->kind == KEY) return true;
    if (column->kind == CELL && column->report == 0) return p->base;
    return column->report == p->variant && p->other;
}

static bool is_hidden(const sheet_plan *plan, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof plan->hidden / sizeof *plan->hidden && plan->hidden[i]; i++) {
        size_t n = strlen(plan->hidden[i]);
        if (length >= n && strcmp(name + length - n, plan->hidden[i]) == 0) return true;
    }
    return false;
}

static void put_value(const join *j, rs_table *table, bool as_text, rs_grid_cell cell)
{
    char number[RS_NUMBER_SIZE];
    if (cell.kind == RS_GRID_EMPTY) {
        rs_table_add_null(table);
    } else if (cell.kind == RS_GRID_TEXT) {
        const rs_string *s = &j->c->texts.items[cell.text];
        rs_table_add_text_n(table, s->text, s->length);
    } else if (as_text) {
        rs_table_add_text_n(table, number, rs_format_real(cell.number, number));
    } else {
        rs_table_add_real(table, cell.number);
    }
}

static rs_status fill_table(const join *j, const out_column *const *columns, const rs_column_spec *specs,
                            size_t n, const uint32_t *order, size_t n_rows, rs_table *table, rs_error *err)
{
    for (size_t row = 0; row < n_rows; row++) {
        for (size_t i = 0; i < n; i++)
            put_value(j, table, specs[i].type == RS_TEXT, value_of(j, order[row], columns[i]));
        RS_TRY(rs_table_end_row(table, err));
    }
    return RS_OK;
}

/* The columns of a part, without those that are empty in all its rows, and their specs. */
static size_t choose_columns(const join *j, const part *p, const column_list *list, const uint32_t *order,
                             size_t n_rows, const out_column **columns, rs_column_spec *specs)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        const out_column *column = &list->items[i];
        bool text = false, any = false;
        if (!keeps_column(p, column)) continue;
        for (size_t row = 0; row < n_rows; row++) {
            uint8_t kind = value_of(j, order[row], column).kind;
            any |= kind != RS_GRID_EMPTY;
            text |= kind == RS_GRID_TEXT;
        }
        if (p->tag && n_rows && !any) continue;
        columns[n] = column;
        specs[n++] = (rs_column_spec){column->name, text ? RS_TEXT : RS_REAL, RS_UNIT_NONE,
                                      "as TraceLens has it", NULL};
    }
    return n;
}

static rs_status keep_hidden(rs_tracelens_comparison *out, const sheet_plan *plan,
                             const rs_column_spec *specs, size_t n, rs_error *err)
{
    bool *hidden = rs_calloc(n + 1, sizeof *hidden);
    if (!hidden || !RS_GROW_ONE(out->hidden, out->n_hidden, out->hidden_capacity)) {
        rs_free(hidden);
        return rs_fail_nomem(err, "a comparison of reports");
    }
    for (size_t i = 0; i < n; i++) hidden[i] = is_hidden(plan, specs[i].name);
    out->hidden[out->n_hidden++] = hidden;
    return RS_OK;
}

static rs_status add_sheet(const join *j, const part *p, const column_list *list, const uint32_t *order,
                           size_t n_rows, rs_error *err)
{
    const out_column **columns = rs_malloc((list->n + 1) * sizeof *columns);
    rs_column_spec *specs = rs_malloc((list->n + 1) * sizeof *specs);
    char *name = p->tag ? put_together(p->title, p->tag, "", "") : rs_strdup(p->title);
    rs_status status = columns && specs && name ? RS_OK : rs_fail_nomem(err, "a comparison of reports");
    rs_sheets *sheets = &j->c->out->sheets;
    if (status == RS_OK) {
        size_t n = choose_columns(j, p, list, order, n_rows, columns, specs);
        const rs_table_spec spec = {name, "a sheet of TraceLens' comparison", specs, n};
        rs_table *table = rs_table_create_dynamic(&spec);
        if (!table || !RS_GROW_ONE(sheets->items, sheets->n, sheets->capacity)) {
            rs_table_free(table);
            status = rs_fail_nomem(err, "a comparison of reports");
        } else {
            sheets->items[sheets->n++] = table;
            status = keep_hidden(j->c->out, j->plan, specs, n, err);
            if (status == RS_OK) status = fill_table(j, columns, specs, n, order, n_rows, table, err);
        }
    }
    rs_free_all((void *)columns, specs, name);
    return status;
}

static bool keeps_all(const join *j, uint32_t at, size_t variant, const size_t *known)
{
    (void)j;
    (void)at;
    (void)variant;
    (void)known;
    return true;
}

static bool has_value(const join *j, uint32_t at, size_t report, const size_t *known)
{
    return rs_tl_cell(&j->rows, at, report, known[report]).kind != RS_GRID_EMPTY;
}
static bool keeps_both(const join *j, uint32_t at, size_t variant, const size_t *known)
{
    return has_value(j, at, 0, known) && has_value(j, at, variant, known);
}
static bool keeps_base(const join *j, uint32_t at, size_t variant, const size_t *known)
{
    return has_value(j, at, 0, known) && !has_value(j, at, variant, known);
}
static bool keeps_variant(const join *j, uint32_t at, size_t variant, const size_t *known)
{
    return !has_value(j, at, 0, known) && has_value(j, at, variant, known);
}

static rs_status add_part(const join *j, const part *p, const column_list *list, const uint32_t *by_keys,
                          rs_error *err)
{
    size_t *known = rs_malloc(j->c->n * sizeof *known), n = 0;
    RS_LOCAL uint32_t *order = rs_malloc((j->rows.n + 1) * sizeof *order);
    bool ok = known && order;
    for (size_t i = 0; ok && i < j->c->n; i++) known[i] = rs_tl_column(&j->rows, i, j->plan->differ[0]);
    for (size_t i = 0; ok && i < j->rows.n; i++)
        if (p->keeps(j, by_keys[i], p->variant, known)) order[n++] = by_keys[i];
    if (ok && j->plan->order)
        ok = rs_tl_order_by_size(&j->rows, order, n, p->order,
                                 rs_tl_column(&j->rows, p->order, j->plan->order));
    rs_status status =
        ok ? add_sheet(j, p, list, order, n, err) : rs_fail_nomem(err, "a comparison of reports");
    rs_free(known);
    return status;
}

static rs_status add_parts(const join *j, const column_list *list, const uint32_t *by_keys, rs_error *err)
{
    if (!j->plan->split) {
        const part whole = {.title = j->plan->title, .keeps = keeps_all};
        return add_part(j, &whole, list, by_keys, err);
    }
    static const char *const middle[] = {"_intersect_", "_only_baseline_", "_only_variant_"};
    for (size_t v = 1; v < j->c->n; v++) {
        const char *tag = j->c->inputs[v].name;
        part parts[] = {{.tag = tag, .keeps = keeps_both, .variant = v, .base = true, .other = true},
                        {.tag = tag, .keeps = keeps_base, .variant = v, .base = true},
                        {.tag = tag, .keeps = keeps_variant, .variant = v, .order = v, .other = true}};
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            char *title = put_together(j->plan->title, middle[i], "", "");
            parts[i].title = title;
            rs_status status = title ? add_part(j, &parts[i], list, by_keys, err)
                                     : rs_fail_nomem(err, "a comparison of reports");
            rs_free(title);
            RS_TRY(status);
        }
    }
    return RS_OK;
}

/* Keys of the plan; parameters are those of the first report that has the sheet. */
static bool find_keys(join *j)
{
    rs_tl_join *rows = &j->rows;
    const rs_grid *first = NULL;
    for (size_t i = 0; i < j->c->n && !first; i++) first = rows->grids[i];
    for (size_t k = 0; k < MAX_NAMES && j->plan->keys[k]; k++) {
        const char *name = j->plan->keys[k];
        bool many = strcmp(name, PARAMETERS) == 0;
        for (size_t i = 0; i < first->n_columns && rows->n_keys < RS_TL_MAX_KEYS; i++) {
            const char *text = j->c->texts.items[first->columns[i]].text;
            if (many ? strncmp(text, name, strlen(name)) == 0 : strcmp(text, name) == 0)
                rows->keys[rows->n_keys++] = first->columns[i];
        }
    }
    return rows->n_keys > 0;
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static rs_status join_sheet(join *j, rs_error *err)
{
    column_list list = {0};
    uint32_t *by_keys = NULL;
    if (!find_keys(j))
        return rs_fail(err, RS_ERR_FORMAT, "the sheet %s has no column \"%s\": it is none of TraceLens'",
                       j->plan->sheet, j->plan->keys[0]);
    bool ok = rs_tl_join_make(&j->rows) && list_columns(j, &list);
    if (ok) by_keys = rs_tl_order_by_keys(&j->rows);
    rs_status status =
        by_keys ? add_parts(j, &list, by_keys, err) : rs_fail_nomem(err, "a comparison of reports");
    clear_columns(&list);
    rs_free(by_keys);
    return status;
}

/* What a report does not have is told: its rows are only the others'. */
static void tell_missing(const comparer *c, const sheet_plan *plan, const rs_grid **grids)
{
    for (size_t i = 0; i < c->n; i++)
        if (!grids[i])
            rs_result_note(c->told, "%s has no sheet %s: its rows are only in the others", c->inputs[i].name,
                           plan->sheet);
}

static rs_status compare_sheet(comparer *c, const sheet_plan *plan, bool *found, rs_error *err)
{
    const rs_grid **grids = rs_calloc(c->n, sizeof *grids);
    if (!grids) return rs_fail_nomem(err, "a comparison of reports");
    join j = {.c = c, .plan = plan, .rows = {.texts = &c->texts, .n_reports = c->n, .grids = grids}};
    *found = false;
    for (size_t i = 0; i < c->n; i++) {
        grids[i] = rs_book_find(&c->books[i], &c->texts, plan->sheet);
        if (grids[i] && grids[i]->n_columns == 0) grids[i] = NULL; /* an empty sheet */
        if (!grids[i]) continue;
        if (!*found && plan->group == KERNELS && rs_tl_column(&j.rows, i, plan->keys[0]) == SIZE_MAX)
            j.plan = &rocprof_plan;
        *found = true;
    }
    rs_status status = RS_OK;
    if (*found) {
        tell_missing(c, plan, grids);
        status = join_sheet(&j, err);
    }
    rs_tl_join_clear(&j.rows);
    rs_free((void *)grids);
    return status;
}

static rs_status compare_all(comparer *c, unsigned wanted, bool asked, rs_error *err)
{
    unsigned had = 0;
    for (size_t i = 0; i < N_PLANS; i++) {
        bool found = false;
        if (!(wanted & plans[i].group)) continue;
        RS_TRY(compare_sheet(c, &plans[i], &found, err));
        if (found) had |= plans[i].group;
    }
    for (size_t i = 0; asked && i < sizeof groups / sizeof *groups; i++)
        if (groups[i].group != ALL && (wanted & groups[i].group) && !(had & groups[i].group) && wanted != ALL)
            return rs_fail(err, RS_ERR_USAGE, "no report has sheets of %s", groups[i].word);
    if (!had) return rs_fail(err, RS_ERR_FORMAT, "there is no sheet of TraceLens' in these reports");
    return RS_OK;
}

static rs_status check_inputs(const rs_tracelens_input *inputs, size_t n, rs_error *err)
{
    if (n < 2) return rs_fail(err, RS_ERR_USAGE, "a comparison of reports needs at least two");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(inputs[i].name, inputs[k].name) == 0)
                return rs_fail(err, RS_ERR_USAGE,
                               "two reports are called \"%.100s\": --names A,B gives them others",
                               inputs[i].name);
    return RS_OK;
}

rs_status rs_tracelens_compare(const rs_tracelens_input *inputs, size_t n, const char *text,
                               rs_tracelens_comparison **out, rs_result *told, rs_error *err)
{
    unsigned wanted;
    *out = NULL;
    RS_TRY(check_inputs(inputs, n, err));
    RS_TRY(read_groups(text, &wanted, err));
    comparer c = {.inputs = inputs, .n = n, .told = told};
    c.books = rs_calloc(n, sizeof *c.books);
    c.out = rs_calloc(1, sizeof *c.out);
    bool ok = c.books && c.out && rs_strings_init(&c.texts);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "a comparison of reports");
    for (size_t i = 0; status == RS_OK && i < n; i++) status = read_input(&c, i, err);
    if (status == RS_OK) status = compare_all(&c, wanted, text != NULL, err);
    for (size_t i = 0; c.books && i < n; i++) rs_book_clear(&c.books[i]);
    rs_free(c.books);
    rs_strings_clear(&c.texts);
    if (status == RS_OK)
        *out = c.out;
    else
        rs_tracelens_comparison_free(c.out);
    return status;
}

void rs_tracelens_comparison_free(rs_tracelens_comparison *c)
{
    if (!c) return;
    rs_sheets_clear(&c->sheets);
    for (size_t i = 0; i < c->n_hidden; i++) rs_free(c->hidden[i]);
    rs_free_all(c->hidden, c);
}

const rs_table *const *rs_tracelens_comparison_sheets(const rs_tracelens_comparison *c, size_t *n)
{
    *n = c->sheets.n;
    return (const rs_table *const *)c->sheets.items;
}

const bool *rs_tracelens_comparison_hidden(const rs_tracelens_comparison *c, size_t sheet)
{
    return c->hidden[sheet];
}
