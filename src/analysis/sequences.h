/* How sequences finds what an operator launches, also for rows of peers. */
#pragma once

#include "analysis/analysis.h"
#include "base/strings.h"
#include "trace/nest.h"

enum { RS_SEQUENCES_SEQUENCES, RS_SEQUENCES_MARKS, RS_SEQUENCES_FILES, RS_SEQUENCES_TABLES };
extern const rs_table_spec rs_sequence_mark_table, rs_sequence_file_table;

typedef struct rs_sequence {
    char *text; /* in the partial's arena: names with | between */
    size_t length;
    int64_t count, kernels, gpu, cpu;
} rs_sequence;

/* GPU work under the node of its launch. */
typedef struct rs_sequence_kernel {
    uint32_t node, row;
    int64_t start, duration;
} rs_sequence_kernel;

struct sequences_partial;

typedef struct rs_sequence_finder {
    const rs_events *e;
    rs_nest *nest;
    int64_t *start, *cpu;        /* by node: start and duration */
    rs_sequence_kernel *kernels; /* by node, then start, then row */
    size_t n_kernels, capacity;
    uint32_t *first; /* by node, + 1: offsets into kernels */
    rs_strings keys; /* patterns as bytes of string ids; id - 1 is the pattern */
    uint32_t *scratch;
    uint8_t *named; /* by string id: contains the operator's name */
    bool marks;     /* the rows within each occurrence are wanted, not only its launches */
    struct sequences_partial *p;
} rs_sequence_finder;

/* Rows of the host, with their times. */
typedef struct rs_host_rows {
    uint32_t *row;
    int64_t *start, *end;
    size_t n;
} rs_host_rows;

/* Room for n; none of them is there yet. false when out of memory. */
bool rs_host_rows_make(rs_host_rows *h, size_t n);
void rs_host_rows_clear(rs_host_rows *h);

/* Says what a rank's rows are: the host's by rs_sequence_nest, then each GPU work. */
typedef rs_status (*rs_sequences_collect_fn)(const rs_run *run, rs_trace *trace, rs_sequence_finder *x,
                                             rs_error *err);
rs_status rs_sequence_nest(rs_sequence_finder *x, const rs_host_rows *h, rs_error *err);
bool rs_sequence_add_kernel(rs_sequence_finder *x, uint32_t node, uint32_t row, int64_t start,
                            int64_t duration);

extern const rs_layout rs_sequences_layout;
/* at_least_depth: of the matches those count that are nested least of all; else those in no other match. */
rs_status rs_sequences_rank(const rs_run *run, rs_trace *trace, rs_sequences_collect_fn collect,
                            bool at_least_depth, void **partial, rs_error *err);
void rs_sequences_free(void *partial);
/* record: of rs_sequence, with the SET cell "pattern". top: 0 for all. */
rs_status rs_sequences_merge(const rs_run *run, const rs_partial *partials, size_t n,
                             const rs_row_spec *record, size_t top, rs_result *result, rs_error *err);
