/* Two jobs by name: what a rank contributes. */
#pragma once

#include "analysis/analysis.h"
#include "base/stats.h"
#include "trace/busy.h"
#include "trace/selection.h"
#include "base/memory.h"

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
    rs_diff_name *items;
    size_t n, capacity;
    rs_busy gpu;
    rs_step_length *steps; /* those asked for, by number */
    size_t n_steps;
} rs_diff_rank;

rs_status rs_diff_rank_of(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
void rs_diff_free(void *partial);

/* One row for each rank that both sides have. */
extern const rs_table_spec rs_diff_ranks_table;
rs_status rs_diff_add_ranks(const rs_partial *partials, size_t n, rs_table *table, rs_error *err);

/* The last word of a name once everything in <> and () is dropped: "void at::f<int>(float*)" is "at::f".
 * Names that are not balanced stay as they are. out: room for length. Returns the length written. */
size_t rs_diff_shorten(const char *name, size_t length, char *out);
