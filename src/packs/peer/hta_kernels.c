/* kernels as HTA's get_gpu_kernel_breakdown. */
#include <stdlib.h>
#include <string.h>

#include "analysis/kernels.h"
#include "base/interval.h"
#include "base/memory.h"
#include "peer/hta_fold.h"
#include "peer/hta_steps.h"

static const char *const class_names[] = {"COMPUTATION", "COMMUNICATION", "MEMORY", "MEMORY"};

#define NAME_ROW(CELL)                                                                                       \
    CELL(OF(rs_hta_row, name), "name", TEXT, NONE, "kernel, or others", NULL)                                \
    RS_HTA_FOLD_CELLS(CELL, "total duration", "kernels")                                                     \
    CELL(WORD(rs_hta_row, class, class_names), "kernel_type", TEXT, NONE,                                    \
         "COMPUTATION, COMMUNICATION or MEMORY", NULL)                                                       \
    CELL(OF(rs_hta_row, rank), "rank", INT, ID, "rank", NULL)
RS_RECORD(name, NAME_ROW);

typedef struct type_row {
    const char *name;
    int64_t time; /* us */
} type_row;

#define TYPE_ROW(CELL)                                                                                       \
    CELL(OF(type_row, name), "kernel_type", TEXT, NONE, "what runs at the same time", NULL)                  \
    CELL(OF(type_row, time), "sum", INT, US, "over all ranks, each piece cut to whole microseconds", NULL)   \
    CELL(SET, "percentage", REAL, PERCENT, "of the sum, one decimal", NULL)
RS_RECORD(type, TYPE_ROW);

static const rs_table_spec names_table = RS_TABLE(
    "kernels", "one row is one kernel name of one rank, as HTA's get_gpu_kernel_breakdown", name_columns);
static const rs_table_spec types_table =
    RS_TABLE("types", "one row is one combination of kinds over all ranks, as HTA has it", type_columns);
static const rs_table_spec *const tables[] = {&names_table, &types_table};

/* HTA cuts every piece to whole microseconds. */
static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    return rs_kernels_rank(run, trace, 1000, partial, err);
}

static bool add_rank(const rs_options *o, const rs_partial *partial, rs_hta_rows *out)
{
    const rs_kernels *p = partial->value;
    size_t top = (size_t)rs_options_int(o, "top");
    rs_hta_named *of_class = rs_malloc((p->n + 1) * sizeof *of_class);
    bool ok = of_class != NULL;
    for (int class = 0; ok && class < RS_CLASS_OTHER; class ++) {
        size_t n = 0;
        for (size_t i = 0; i < p->n; i++)
            if ((int)p->items[i].class == class)
                of_class[n++] = (rs_hta_named){
                    .name = p->items[i].name, .time = p->items[i].time, .class = p->items[i].class};
        ok = rs_hta_fold(of_class, n, partial->rank, rs_options_real(o, "duration-ratio"), top, out);
    }
    rs_free(of_class);
    return ok;
}

static int by_class(const void *a, const void *b)
{
    const rs_hta_row *x = a, *y = b;
    int c = strcmp(class_names[x->class], class_names[y->class]);
    if (c == 0) c = strcmp(x->name, y->name);
    return c ? c : (x->rank > y->rank) - (x->rank < y->rank);
}

static rs_status add_names(const rs_run *run, const rs_partial *partials, size_t n, rs_table *t,
                           rs_error *err)
{
    rs_hta_rows rows = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) ok = add_rank(run->options, &partials[i], &rows);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "kernel table");
    if (ok && rows.n) qsort(rows.items, rows.n, sizeof *rows.items, by_class);
    for (size_t i = 0; status == RS_OK && i < rows.n; i++)
        status = rs_table_put_row(t, &name_record, rows.items[i].rank, &rows.items[i], err);
    rs_free(rows.items);
    return status;
}

static rs_status add_types(const rs_partial *partials, size_t n, rs_table *t, rs_error *err)
{
    static const char *const names[3] = {"COMPUTATION", "COMMUNICATION", "MEMORY"};
    int64_t sums[8] = {0}, all = 0;
    bool done[8] = {false};
    char text[128];
    for (size_t i = 0; i < n; i++) {
        const rs_kernels *p = partials[i].value;
        for (unsigned m = 1; m < 8; m++) {
            sums[m] = rs_add_sat(sums[m], p->together[m] / 1000);
            all = rs_add_sat(all, p->together[m] / 1000);
        }
    }
    for (;;) {
        unsigned best = 0;
        for (unsigned m = 1; m < 8; m++)
            if (!done[m] && sums[m] > 0 && (!best || sums[m] > sums[best])) best = m;
        if (!best) return RS_OK;
        done[best] = true;
        type_row row = {rs_kernels_type(best, names, " overlapping ", text), sums[best]};
        rs_table_put(t, &type_record, 0, &row);
        rs_table_set_real(t, "percentage", rs_round(100 * ((double)sums[best] / (double)all), 1));
        rs_status status = rs_table_end_row(t, err);
        if (status != RS_OK) return status;
    }
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    if (strcmp(rs_options_text(run->options, "by"), "kind") == 0)
        return rs_fail(err, RS_ERR_USAGE,
                       "HTA knows no kinds of kernels: --by takes type or name under --compat hta");
    result->main_table =
        strcmp(rs_options_text(run->options, "by"), "type") == 0 ? RS_KERNELS_BY_TYPE : RS_KERNELS_BY_NAME;
    rs_status status = add_names(run, partials, n, result->tables[RS_KERNELS_BY_NAME], err);
    return status == RS_OK ? add_types(partials, n, result->tables[RS_KERNELS_BY_TYPE], err) : status;
}

const rs_peer_row rs_peer_hta_kernels = {
    RS_HTA_ROW("kernels"),
    .tables = tables,
    .n_tables = RS_KERNELS_TABLES,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_kernels_free,
    .absent = "no GPU work",
    .partial_layout = &rs_kernels_layout,
};
