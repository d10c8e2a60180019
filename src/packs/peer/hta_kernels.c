/* kernels as HTA's get_gpu_kernel_breakdown. */
#include <string.h>

#include "analysis/kernels.h"
#include "peer/hta_fold.h"
#include "peer/hta_steps.h"

/* In the order of their names. */
static const char *const class_names[] = {"COMMUNICATION", "COMPUTATION", "MEMORY"};
static const uint8_t classes[] = {RS_CLASS_COMM, RS_CLASS_COMPUTE, RS_CLASS_MEMORY};

#define NAME_ROW(CELL)                                                                                       \
    CELL(TEXT_ID(rs_hta_row, name), "name", TEXT, NONE, "kernel, or others", NULL)                           \
    RS_HTA_FOLD_CELLS(CELL, "total duration", "kernels")                                                     \
    CELL(WORD(rs_hta_row, class, class_names), "kernel_type", TEXT, NONE,                                    \
         "COMPUTATION, COMMUNICATION or MEMORY", NULL)                                                       \
    CELL(OF(rs_hta_row, rank), "rank", INT, ID, "rank", NULL)
RS_RECORD(name, NAME_ROW);

/* By the bits of a combination. */
static const char *const types[8] = {NULL,
                                     "COMPUTATION",
                                     "COMMUNICATION",
                                     "COMPUTATION overlapping COMMUNICATION",
                                     "MEMORY",
                                     "COMPUTATION overlapping MEMORY",
                                     "COMMUNICATION overlapping MEMORY",
                                     "COMPUTATION overlapping COMMUNICATION overlapping MEMORY"};

typedef struct type_row {
    uint8_t mask;
    int64_t time, all; /* us */
    double percent;
} type_row;

#define TYPE_ROW(CELL)                                                                                       \
    CELL(WORD(type_row, mask, types), "kernel_type", TEXT, NONE, "what runs at the same time", NULL)         \
    CELL(OF(type_row, time), "sum", INT, US, "over all ranks, each piece cut to whole microseconds", NULL)   \
    CELL(OF(type_row, percent), "percentage", REAL, PERCENT, "of the sum, one decimal", NULL)
RS_RECORD(type, TYPE_ROW);

static rs_status put_names(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                           rs_error *err)
{
    size_t top = (size_t)rs_options_int(run->options, "top");
    if (strcmp(rs_options_text(run->options, "by"), "kind") == 0)
        return rs_fail(err, RS_ERR_USAGE,
                       "HTA knows no kinds of kernels: --by takes type or name under --compat hta");
    for (size_t i = 0; i < n; i++) {
        const rs_relations *p = partials[i].value;
        const rs_kernel *kernels = RS_ROWS(rs_kernel, p, RS_KERNELS_NAMED);
        size_t n_kernels = p->items[RS_KERNELS_NAMED].n;
        rs_hta_named *of_class = RS_ROOM(out, rs_hta_named, n_kernels);
        for (uint8_t c = 0; of_class && c < sizeof classes; c++) {
            size_t n_of_class = 0;
            for (size_t k = 0; k < n_kernels; k++)
                if (kernels[k].class == classes[c])
                    of_class[n_of_class++] =
                        (rs_hta_named){.name = rs_put_string(out, rs_relations_text(p, kernels[k].name)),
                                       .time = kernels[k].time,
                                       .class = c};
            rs_hta_fold(of_class, n_of_class, partials[i].rank,
                        rs_options_real(run->options, "duration-ratio"), top, out, RS_KERNELS_NAMED);
        }
    }
    return RS_OK;
}

static rs_status put_types(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                           rs_error *err)
{
    (void)run;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        const rs_relations *p = partials[i].value;
        const rs_kernels_together *of = RS_ROWS(rs_kernels_together, p, RS_KERNELS_TOGETHER);
        for (size_t k = 0; k < p->items[RS_KERNELS_TOGETHER].n; k++)
            rs_put(out, RS_KERNELS_TOGETHER, &(rs_kernels_together){of[k].mask, of[k].time / 1000});
    }
    return RS_OK;
}

static const rs_layout named_layout = RS_RECORD_LAYOUT(rs_hta_row, name);
static const rs_order by_class[] = {RS_RISING(rs_hta_row, class), RS_RISING_TEXT(rs_hta_row, name),
                                    RS_RISING(rs_hta_row, rank)};
static const rs_aggregate by_mask[] = {RS_KEY_BELOW(type_row, mask, 8, rs_kernels_together, mask),
                                       RS_SUMMED(type_row, time, rs_kernels_together, time),
                                       RS_TOTAL_OF_ALL(type_row, all, time),
                                       RS_BY_OWN_HAND(type_row, percent)};
static const rs_order by_time[] = {RS_FALLING(type_row, time), RS_RISING(type_row, mask)};

static void set_percent(const rs_relations *of, void *row)
{
    (void)of;
    type_row *r = row;
    r->percent = rs_round(100 * ((double)r->time / (double)r->all), 1);
}

static bool takes_time(const rs_run *run, const rs_relations *of, const void *row)
{
    (void)run;
    (void)of;
    return ((const type_row *)row)->time > 0;
}

static const rs_plan_relation relations[] = {
    [RS_KERNELS_NAMED] = {RS_LISTED(RS_KERNELS_NAMED, rs_hta_row, &named_layout), .across = put_names,
                          RS_IN_ORDER(by_class)},
    [RS_KERNELS_TOGETHER] = {RS_GROUPED(RS_KERNELS_TOGETHER, type_row, rs_kernels_together, by_mask),
                             .across = put_types, .amend = set_percent, RS_IN_ORDER(by_time)},
};
static const rs_plan_table
    names_table = {RS_PLAN_TABLE("kernels",
                                 "one row is one kernel name of one rank, as HTA's get_gpu_kernel_breakdown",
                                 name),
                   .relation = RS_KERNELS_NAMED},
    types_table = {
        RS_PLAN_TABLE("types", "one row is one combination of kinds over all ranks, as HTA has it", type),
        .relation = RS_KERNELS_TOGETHER, .choice = RS_WITH(RS_IS("by", "type")), .shows = takes_time};
static const rs_table_spec *const tables[] = {&names_table.spec, &types_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables)};

const rs_peer_row rs_peer_hta_kernels = {RS_HTA_ROW("kernels"), .over = &plan};
