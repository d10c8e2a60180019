/* The parts of a change: what the steps of both sides went to, row by row, adding up to the change exactly. */
#pragma once

#include "regress/path.h"

typedef struct rs_part_row {
    uint32_t part, name, operator_name, phase, group; /* texts of rs_parts; 0: not distinguished */
    uint32_t was;                                     /* its name in the base, where it was renamed; 0 */
    uint32_t id;                                      /* in keys */
    int64_t sum[2], count[2], work[2];                /* of both sides, as in rs_run_part */
    int64_t change;                                   /* ns a step; all rows add up to the change */
    int64_t swap;                                     /* ns a step, rs_parts_swap; RS_NO_TIME */
    double p;                                         /* adjusted for the number of rows; NaN: not tested */
} rs_part_row;

typedef struct rs_parts {
    rs_strings texts;
    uint32_t *own[2];  /* by text of a side: its id in texts */
    uint32_t *renamed; /* by text: the name that the new side has for it */
    size_t n_renamed;  /* texts that have an entry there */
    rs_strings keys;   /* bytes of what a row is distinguished by */
    uint32_t *place;   /* by id in keys: its row */
    rs_part_row *rows; /* those that changed most first */
    size_t n, capacity;
    rs_regress_key key;
    rs_regress_method method;
    int64_t samples[2], sums[2]; /* settled steps times ranks, and their lengths */
} rs_parts;

/* The path where all runs have one, else the time line, with a note; *method: what is used. False: neither. */
bool rs_parts_choose(const rs_run_range sides[2], rs_regress_method *method, rs_result *result);
/* Steps of the job and paths over ranks stand on clocks: notes what is known of those of all runs. */
void rs_parts_note_clocks(const rs_run_range *ranges, size_t n, rs_regress_method method, rs_result *result);
/* *reason: why the sides cannot be compared part by part; there are no rows then. */
rs_status rs_parts_find(const rs_run_range sides[2], rs_regress_method method, rs_regress_key key,
                        double alpha, rs_parts *out, char *reason, size_t size, rs_error *err);
void rs_parts_clear(rs_parts *parts);
/* The row that a piece of the path belongs to; UINT32_MAX: none. */
uint32_t rs_parts_row_of(const rs_parts *parts, const rs_path_key *key);
int64_t rs_parts_by_count(const rs_parts *parts, const rs_part_row *row);

/* Pairs names of kernels that were renamed: rename.c. The texts of both sides are in parts->texts. *aligned: the
 * share of the shorter program that is in the other one, too; 1 where a side's program is not known. */
rs_status rs_parts_pair_names(rs_parts *parts, const rs_run_range sides[2], double *aligned, rs_error *err);

/* What a step of the base would take longer if it had the new side's time of a row alone, by replay of a run of the
 * base; where the base has no traces, what the new side's would take less, by a replay of that. Fills swap of the
 * rows that changed most: swap.c. *of: the side whose run was replayed; -1: none could be. */
rs_status rs_parts_swap(rs_parts *parts, const rs_regress_side *const sides[2], int *of, rs_error *err);
