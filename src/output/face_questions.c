/* Commands that answer one question: a sentence that says it, then the table that shows it. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "output/face_tools.h"
#include "output/verdict.h"

static size_t largest(const rs_table *table, const char *column)
{
    size_t best = 0;
    for (size_t i = 1; i < rs_table_n_rows(table); i++)
        if (rs_face_number(table, i, column) > rs_face_number(table, best, column)) best = i;
    return best;
}

/* ---- stragglers -------------------------------------------------------------------------------------- */

static void name_straggler(const rs_result *result, const rs_table *t, rs_page *layout)
{
    char text[400], late[32], waited[32];
    double waits = 0;
    size_t worst = largest(t, "held_up_us");
    if (!(rs_face_number(t, worst, "held_up_us") > 0))
        worst = largest(t, "late_us"); /* two are last together */
    for (size_t i = 0; i < rs_table_n_rows(t); i++) waits += rs_face_number(t, i, "waiting_us");
    int64_t rank = rs_face_int(t, worst, "rank", -1);
    bool known = rs_page_lateness(layout, result, rank);
    snprintf(text, sizeof text,
             "Rank %lld is last at %lld of %lld collectives, on average %s after the first member. All ranks "
             "together waited %s.%s",
             (long long)rank, (long long)rs_face_int(t, worst, "times_last", 0),
             (long long)rs_face_int(t, worst, "collectives", 0),
             rs_face_human_us(rs_face_number(t, worst, "mean_late_us"), late),
             rs_face_human_us(waits, waited),
             known ? "" : " Who is last need not be at fault: it may itself have waited.");
    rs_page_wrap(layout, "", text);
    rs_page_blank(layout);
}

rs_status rs_face_stragglers(const rs_result *result, rs_page *layout, rs_error *err)
{
    static const char of_rank[] =
        "rank|collectives|times_last|last_pct|late_us|mean_late_us|max_late_us|cost_us|held_up_us|"
        "waited_us|waiting_us|clock_offset_us";
    static const char of_collective[] =
        "group|group_desc|op|seq|step|ranks|start_us|first_rank|last_rank|late_us|cost_us|transfer_us";
    static const char of_clock[] = "rank|reference_rank|offset_us|spread_us|collectives";
    static const char *const columns[] = {of_rank, of_collective, of_clock};
    const rs_table *ranks = result->tables[0];
    size_t main = result->main_table;
    if (rs_table_n_rows(ranks) && main == 0) name_straggler(result, ranks, layout);
    return rs_face_first(result->tables[main], columns[main], layout, err);
}

/* ---- steps ------------------------------------------------------------------------------------------- */

rs_status rs_face_steps(const rs_result *result, rs_page *layout, rs_error *err)
{
    static const char of_step[] =
        "rank|step|length_us|vs_median_pct|period_us|gpu_span_us|compute_us|exposed_comm_us|"
        "exposed_copy_us|idle_us|busy_pct|launch_bound_pct|data_loading_us|outlier";
    static const char of_rank[] = "rank|steps|mean_us|median_us|min_us|max_us|slowest_step|std_us|outliers";
    static const char of_host[] =
        "rank|step|start_us|length_us|vs_median_pct|operators_us|exposed_comm_us|exposed_sync_us|"
        "exposed_loading_us|other_us|operators_pct|outlier";
    bool on_host = result->main_table == 3; /* a job without a GPU */
    const rs_table *steps = result->tables[on_host ? 3 : 0];
    const char *shown_columns = on_host ? of_host : of_step;
    if (result->main_table == 1) return rs_face_first(result->tables[1], of_rank, layout, err);
    size_t n = rs_table_n_rows(steps), out = 0, shown = 0;
    for (size_t i = 0; i < n; i++) out += *rs_face_string(steps, i, "outlier") != '\0';
    if (!layout->rows || n <= layout->rows) return rs_face_first(steps, shown_columns, layout, err);
    size_t most = rs_face_most(layout, out ? out : n);
    layout->cut = true; /* also where there are fewer outliers */
    RS_LOCAL size_t *rows = rs_malloc(most * sizeof *rows);
    if (!rows) return rs_fail_nomem(err, "rows");
    for (size_t i = 0; i < n && shown < most; i++)
        if (!out || *rs_face_string(steps, i, "outlier")) rows[shown++] = i;
    return rs_face_part(layout, steps, shown_columns, rows, shown, err);
}

/* ---- annotations, delays ------------------------------------------------------------------------------ */

rs_status rs_face_annotations(const rs_result *result, rs_page *layout, rs_error *err)
{
    static const char of_annotation[] =
        "rank|name|count|mean_length_us|gpu_us|gpu_pct|gpu_events|own_us|own_pct|own_events";
    static const char of_kernel[] = "rank|annotation|name|count|sum_us|share_pct|mean_us";
    if (result->n_tables == 1) return rs_page_table(layout, result->tables[0], err); /* a peer's */
    bool kernels = result->main_table == 1;
    return rs_face_first(result->tables[result->main_table], kernels ? of_kernel : of_annotation, layout,
                         err);
}

rs_status rs_face_delays(const rs_result *result, rs_page *layout, rs_error *err)
{
    static const char of_operator[] =
        "rank|name|operators|launches|kernels|mean_op_delay_us|max_op_delay_us|mean_launch_delay_us|"
        "max_launch_delay_us|mean_queued_us";
    static const char of_sequence[] =
        "rank|aten_op_name|occurrence_count|mean_op_delay_us|mean_launch_delay_us|mean_queued_us|"
        "kernel_sequence";
    bool sequences = result->main_table == 1;
    return rs_face_first(result->tables[result->main_table], sequences ? of_sequence : of_operator, layout,
                         err);
}

/* ---- diff --------------------------------------------------------------------------------------------- */

/* The rows of a kind, which are in the order of their change. Returns how many there are. */
static size_t choose_changes(const rs_table *t, const char *kind, size_t *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rs_table_n_rows(t); i++) {
        const char *is = rs_face_string(t, i, "kind");
        bool host = strcmp(is, "operator") == 0 || strcmp(is, "call") == 0;
        if (strcmp(kind, "gpu") == 0 ? !host : strcmp(is, kind) == 0) rows[n++] = i;
    }
    return n;
}

rs_status rs_face_diff(const rs_result *result, rs_page *layout, rs_error *err)
{
    static const char of_name[] =
        "count_a|count_b|time_a_us|time_b_us|time_diff_us|time_change_pct|impact_pct|change|name";
    static const char of_total[] = "metric|a|b|diff|change_pct";
    static const char *const kinds[] = {"gpu", "operator", "call"};
    static const char *const headings[] = {"GPU work, by how much its time changed", "Operators (host time)",
                                           "Runtime calls (host time)"};
    const rs_table *names = result->tables[0], *totals = result->tables[1];
    RS_LOCAL size_t *rows = rs_malloc((rs_table_n_rows(names) + 1) * sizeof *rows);
    if (!rows) return rs_fail_nomem(err, "rows");
    const rs_table *ranks = rs_result_table(result, "ranks");
    rs_status status = RS_OK;
    if (layout->brief) return RS_OK; /* the sentence is all */
    if (ranks && rs_table_n_rows(ranks) > 1) {
        rs_page_heading(layout, "A step of each rank", true);
        layout->by = "span_diff_us";
        status = rs_face_first(ranks, NULL, layout, err);
        rs_page_blank(layout);
    }
    rs_page_heading(layout, "A and B in total", true);
    if (status == RS_OK) status = rs_face_part(layout, totals, of_total, NULL, rs_table_n_rows(totals), err);
    for (int k = 0; result->main_table == 0 && status == RS_OK && k < 3; k++) {
        size_t n = choose_changes(names, kinds[k], rows);
        if (n == 0) continue;
        rs_page_heading(layout, headings[k], false);
        status = rs_face_part(layout, names, of_name, rows, rs_face_most(layout, n), err);
    }
    return status;
}

rs_status rs_face_serving(const rs_result *result, rs_page *layout, rs_error *err)
{
    static const char *const more[] = {"fit", "load"};
    rs_status status = rs_face_first(result->tables[result->main_table], NULL, layout, err);
    for (size_t i = 0; status == RS_OK && !layout->brief && i < sizeof more / sizeof *more; i++) {
        const rs_table *t = rs_result_table(result, more[i]);
        if (!t || !rs_table_n_rows(t)) continue;
        rs_page_blank(layout);
        status = rs_face_first(t, NULL, layout, err);
    }
    return status;
}
