/* compare: what a rank contributes, and how its parts are put together.
 *
 * Time is the sum of durations of pieces of GPU work. Each piece lies in exactly one row of its side, so that
 * the rows of two sides differ by exactly what the sides differ by. */
#pragma once

#include "analysis/analysis.h"
#include "base/interval.h"
#include "trace/pool.h"

typedef enum rs_compare_by {
    RS_COMPARE_ARGS,
    RS_COMPARE_OP,
    RS_COMPARE_KERNEL,
    RS_COMPARE_CATEGORY,
    RS_COMPARE_MODULE,
    RS_COMPARE_TREE
} rs_compare_by;

rs_compare_by rs_compare_by_of(const rs_options *options);

/* The work of one key. */
typedef struct rs_compare_sum {
    uint64_t count;   /* calls, or pieces of work */
    int64_t time;     /* ns, sum of durations */
    double flops;     /* of the calls whose FLOPs are known */
    double bound;     /* ns: the least time of the calls that have a bound */
    int64_t computed; /* ns of GPU time of the calls whose FLOPs are known: unions, as in roofline */
    int64_t bounded;  /* ns of GPU time of the calls that have a bound */
} rs_compare_sum;

void rs_compare_add(rs_compare_sum *to, const rs_compare_sum *more);

/* A key: texts of the pool. RS_NO_STRING: empty. */
typedef struct rs_compare_key {
    uint32_t name, dims, types, strides, concrete;
} rs_compare_key;
uint64_t rs_compare_hash(const rs_compare_key *key);

typedef struct rs_compare_row {
    rs_compare_key key;
    rs_compare_sum sum;
} rs_compare_row;

#define RS_COMPARE_ROOT UINT32_MAX

/* An operator with GPU work below it. Nodes stand depth first, threads after each other. */
typedef struct rs_compare_node {
    uint32_t name, plain;  /* of the pool; plain: without addresses and line numbers */
    uint32_t dims, module; /* RS_NO_STRING: none */
    uint32_t uid;          /* position in traceEvents */
    uint32_t end;          /* the first node behind its subtree */
    int64_t start;
} rs_compare_node;

/* Work of one launcher under one node, whose nearest operator it is. By node; the root's comes last. */
typedef struct rs_compare_work {
    uint32_t node, launcher; /* launcher: of the pool */
    uint32_t pieces;
    int64_t time;
} rs_compare_work;

/* The outermost nodes of one thread. */
typedef struct rs_compare_thread {
    uint32_t first, end; /* nodes */
} rs_compare_thread;

typedef struct rs_compare_rank {
    rs_pool pool;
    rs_compare_row *rows; /* in the order in which keys were met */
    size_t n;
    rs_compare_node *nodes;
    size_t n_nodes;
    rs_compare_work *work;
    size_t n_work;
    rs_compare_thread *threads; /* by the start of their first root */
    size_t n_threads;
    size_t n_steps;      /* different numbers, of those asked for */
    int64_t step_length; /* sum of their lengths on the host, ns */
    size_t pieces;
    int64_t time;     /* of all work */
    int64_t unlinked; /* ... without a launch in the file */
    char *device;     /* what the file calls its device, or its name in the table of devices; NULL: unknown */
    bool rates_known;
} rs_compare_rank;

rs_status rs_compare_rank_of(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
/* The arguments that it reads under these options. */
uint64_t rs_compare_columns(const rs_options *options);
void rs_compare_free(void *partial);
/* The trees of a rank: compare_nodes.c. */
rs_status rs_compare_nodes(rs_trace *trace, rs_compare_rank *p, rs_error *err);

/* One input of a comparison. */
typedef struct rs_compare_side {
    const rs_partial *ranks; /* of the run's partials */
    size_t n_ranks;
    char *input; /* the file, or the folder that holds those of all ranks */
    size_t n_steps, pieces;
    int64_t step_length, time, unlinked;
    double unit;     /* what counts and times are divided by: 1, or the number of steps */
    char *values[2]; /* of the axes; NULL: none */
} rs_compare_side;

typedef struct rs_compare_run {
    const rs_run *run;
    rs_compare_side *sides;
    size_t n_sides;
    size_t top;    /* rows of a variant; 0: all */
    char *axes[2]; /* their names; NULL: none */
} rs_compare_run;

/* A number of the side in its unit; time in microseconds. */
static inline double rs_compare_count(const rs_compare_side *s, uint64_t count)
{
    return (double)count / s->unit;
}
static inline double rs_compare_us(const rs_compare_side *s, int64_t ns)
{
    return (double)ns / s->unit / 1000;
}

/* The difference of two times in their units, exact where nothing is divided. */
static inline double rs_compare_diff_us(const rs_compare_side *a, int64_t ns_a, const rs_compare_side *b,
                                        int64_t ns_b)
{
    if (a->unit == 1 && b->unit == 1) return (double)rs_sub_sat(ns_b, ns_a) / 1000;
    return rs_compare_us(b, ns_b) - rs_compare_us(a, ns_a);
}

/* --top has left out `n` rows, which differ by so much together. */
void rs_compare_note_rest(rs_result *result, size_t variant, size_t n, double us);

/* Fill tables: compare_flat.c, compare_tree.c. pivot as for rs_compare_pivot. */
rs_status rs_compare_flat(const rs_compare_run *c, rs_table *rows, rs_table **pivot, rs_result *result,
                          rs_error *err);
rs_status rs_compare_trees(const rs_compare_run *c, rs_table *main, rs_table *pairs, rs_result *result,
                           rs_error *err);

/* ---- inputs along an axis: compare_axis.c */

#define RS_COMPARE_LINES 8

typedef struct rs_compare_line {
    const char *label;
    const rs_compare_sum *sums; /* one for each side */
} rs_compare_line;

/* Whether --axis is well formed: RS_ERR_USAGE if not, before anything is computed. text may be NULL. */
rs_status rs_compare_check_axis(const char *text, rs_error *err);
/* --axis: NAME=TEXT{}TEXT, or two of them with a comma between. Gives every side its values out of its path.
 * RS_ERR_USAGE names the input that has none. */
rs_status rs_compare_axes(rs_compare_run *c, const char *text, rs_error *err);

/* With an axis, replaces *pivot by a table of one row for each value of the first axis: GPU time, and that of
 * each line; with two axes, GPU time for each value of the second. Inputs of equal values count as repeated
 * runs: their mean. */
rs_status rs_compare_pivot(const rs_compare_run *c, const rs_compare_line *lines, size_t n, rs_table **pivot,
                           rs_error *err);
