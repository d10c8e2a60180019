/* compare and variance, for reading: what it comes to, then the first rows. */
#include <stdio.h>

#include "base/memory.h"
#include "output/face_tools.h"

enum { INPUTS, ARGS, NAMES, TREE, PAIRS, PIVOT };

static rs_status show_all(const rs_table *t, const char *heading, bool first, rs_page *layout, rs_error *err)
{
    rs_page_heading(layout, heading, first);
    return rs_face_part(layout, t, NULL, NULL, rs_table_n_rows(t), err);
}

/* The first rows of one variant; the rows of a variant stand together. */
static rs_status show_variant(const rs_table *t, const char *columns, size_t first, size_t n, rs_page *layout,
                              rs_error *err)
{
    char text[120];
    size_t shown = rs_face_most(layout, n);
    RS_LOCAL size_t *rows = rs_malloc((shown + 1) * sizeof *rows);
    if (!rows) return rs_fail_nomem(err, "rows");
    snprintf(text, sizeof text, "Variant %lld, by how much its GPU time differs",
             (long long)rs_face_int(t, first, "variant", 0));
    rs_page_heading(layout, text, false);
    for (size_t i = 0; i < shown; i++) rows[i] = first + i;
    return rs_face_part(layout, t, columns, rows, shown, err);
}

rs_status rs_face_compare(const rs_result *result, rs_page *layout, rs_error *err)
{
    static const char of_args[] =
        "count_a|count_b|time_a_us|time_b_us|time_diff_us|ratio|impact_pct|efficiency_a_pct|"
        "efficiency_b_pct|change|name|input_dims";
    static const char of_names[] =
        "count_a|count_b|time_a_us|time_b_us|time_diff_us|ratio|impact_pct|efficiency_a_pct|"
        "efficiency_b_pct|change|name";
    static const char of_tree[] =
        "count|work_a|work_b|time_a_us|time_b_us|time_diff_us|impact_pct|verdict|name|ops_a|ops_b";
    const rs_table *t = result->tables[result->main_table], *pivot = result->tables[PIVOT];
    const char *columns = result->main_table == ARGS    ? of_args
                          : result->main_table == NAMES ? of_names
                                                        : of_tree;
    rs_status status = show_all(result->tables[INPUTS], "Inputs", true, layout, err);
    if (status == RS_OK && rs_table_n_rows(pivot))
        status = show_all(pivot, "Along the axis", false, layout, err);
    for (size_t i = 0, end; status == RS_OK && i < rs_table_n_rows(t); i = end) {
        int64_t variant = rs_face_int(t, i, "variant", 0);
        for (end = i; end < rs_table_n_rows(t) && rs_face_int(t, end, "variant", 0) == variant; end++) {
        }
        status = show_variant(t, columns, i, end - i, layout, err);
    }
    return status;
}

/* ---- variance ------------------------------------------------------------------------------------------ */

rs_status rs_face_variance(const rs_result *result, rs_page *layout, rs_error *err)
{
    static const char of_rank[] =
        "rank|count|sum_us|above_median_us|p50_us|p90_us|max_us|cv|slowest_at_us|slowest_step|"
        "slowest_comm_pct|collectives|slowdown_when_overlapped|name|input_dims";
    static const char of_names[] = "ranks|median_us|slowest_rank|slowest_us|ratio|excess_us|name|input_dims";
    const rs_table *t = result->tables[0], *across = result->tables[1], *ranks = result->tables[2];
    size_t n = rs_table_n_rows(t), n_across = rs_table_n_rows(across);
    rs_page_heading(layout, "Equal work, by the time that its slower runs took beyond the median", true);
    rs_status status = rs_face_part(layout, t, of_rank, NULL, n, err);
    if (status == RS_OK && n_across) {
        rs_page_heading(layout, "Across ranks, by what the slowest rank took more", false);
        status = rs_face_part(layout, across, of_names, NULL, n_across < 10 ? n_across : 10, err);
    }
    if (status == RS_OK && rs_table_n_rows(ranks))
        status = show_all(ranks, "Each rank's GPU against the others at the same work", false, layout, err);
    return status;
}
