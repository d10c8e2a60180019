/* What builds the event graph of a rank. */
#pragma once

#include "engine/graph.h"
#include "engine/lanes.h"
#include "engine/sync.h"
#include "trace/trace.h"

/* Which part of the trace: instances first to last (from 0, by time) of the events whose names contain
 * annotation, from the start of the first to the latest end. "" is the whole trace. By the program's own
 * rules the window ends when the GPU work that was launched in it has ended, if that is later. */
typedef struct rs_path_window {
    const char *annotation;
    int64_t first, last;
    bool or_steps; /* where no event has that name, the steps that the work tells by repeating itself */
    const char
        *data_load; /* names, comma-separated: events whose names contain one load data; NULL: none said */
    bool whole;     /* with "": the whole trace, whatever is selected */
} rs_path_window;

/* What was found. */
typedef struct rs_path_part {
    rs_path_graph *graph; /* NULL when the annotation or instance does not exist */
    size_t n_instances;
    int64_t start, end;      /* of the window, ns */
    uint32_t *launch;        /* by item: the launching call's item for GPU work, RS_NO_ITEM else */
    uint64_t n_contradicted; /* dependencies of the rank that run against time and are left out */
} rs_path_part;

void rs_path_part_clear(rs_path_part *part);

/* The program's own: every edge weighs what its target must wait at least, and what really held each event
 * up weighs the time it took, so that the longest path is the chain of causes behind the window's end. Item 0
 * is the window itself, without a row. sync: rs_sync_find's. */
rs_status rs_path_build_own(rs_trace *trace, const rs_policy *policy, const rs_path_window *window,
                            const rs_sync_edges *sync, rs_path_part *out, rs_error *err);

/* Whether a call of this name waits for the GPU, as HTA has them. */
bool rs_path_is_blocking(const char *name);

/* ---- shared by both ---------------------------------------------------------------------------------- */

/* Whether text contains part; "" is contained in everything. */
bool rs_text_contains(const rs_string *text, const char *part);
/* By string id, whether the name contains part. NULL when out of memory. */
uint8_t *rs_names_containing(const rs_strings *strings, const char *part);
/* Whether the name contains one of the comma-separated parts; false for NULL. */
bool rs_text_contains_any(const rs_string *text, const char *parts);
