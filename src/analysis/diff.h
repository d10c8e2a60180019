/* Two jobs by name: what a rank contributes. */
#pragma once

#include "analysis/analysis.h"
#include "base/stats.h"
#include "trace/busy.h"
#include "trace/selection.h"
#include "base/strings.h"

/* What a name is. The first ones are rs_class. */
enum { RS_DIFF_OPERATOR = RS_N_CLASSES, RS_DIFF_CALL, RS_N_DIFF_KINDS };
const char *rs_diff_kind_name(unsigned kind);

typedef struct rs_diff_name {
    const char *name; /* in the partial's arena */
    uint32_t length;
    uint8_t kind;
    int64_t count, time; /* ns, sum of durations */
} rs_diff_name;

typedef struct rs_diff_rank {
    rs_arena names;
    rs_map64 places; /* of items, by kind and the trace's string id: while they are added */
    rs_diff_name *items;
    size_t n, capacity;
    rs_busy gpu;
    rs_step_length *steps; /* those asked for, by number */
    size_t n_steps;
} rs_diff_rank;

rs_status rs_diff_rank_of(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
void rs_diff_free(void *partial);
/* Counts one event of that name, a string id of the events; cut: without what is in <> and (). false when out of memory. */
bool rs_diff_add(rs_diff_rank *rank, const rs_events *e, unsigned kind, uint32_t name, bool cut,
                 int64_t time);

/* A name of either job, over all ranks. */
typedef struct rs_diff_row {
    uint32_t name; /* id in the comparison's names */
    uint8_t kind, group;
    int64_t count[2], time[2]; /* time: ns */
    int64_t diff;              /* ns, in the unit */
    int64_t size, whole;       /* of diff, and of both times, by which rows are ordered */
} rs_diff_row;
typedef struct rs_diff_rows {
    rs_strings names;
    rs_map64 places;
    rs_diff_row *items; /* as they came; group, diff, size and whole are 0 */
    size_t n, capacity;
} rs_diff_rows;
rs_status rs_diff_rows_make(const rs_partial *partials, size_t n, rs_diff_rows *out, rs_error *err);
void rs_diff_rows_clear(rs_diff_rows *rows);

/* One row for each rank that both sides have. */
extern const rs_table_spec rs_diff_ranks_table;
rs_status rs_diff_add_ranks(const rs_partial *partials, size_t n, rs_table *table, rs_error *err);
