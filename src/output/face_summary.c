/* `summary` as one screen. */
#include <math.h>
#include <stdio.h>

#include "output/face_tools.h"
#include "rankscope/verdict.h"
#include "text/numbers.h"

/* Ranks beyond this many are not shown one by one: those that need most time for themselves are. */
#define MAX_RANKS 12
#define BAR 40
#define SCREEN 120

static double share_of(const rs_table *ranks, size_t row, const char *part)
{
    double whole = rs_face_number(ranks, row, "gpu_span_us"), value = rs_face_number(ranks, row, part);
    return whole > 0 ? value / whole : 0;
}

/* The rows to show: all in order of rank, or the MAX_RANKS with the most own time. Returns how many. */
static size_t choose_rows(const rs_table *ranks, size_t rows[MAX_RANKS])
{
    size_t n = rs_table_n_rows(ranks), kept = 0;
    for (size_t i = 0; i < n; i++) {
        double own = rs_face_number(ranks, i, "own_time_us");
        size_t at = kept;
        if (n > MAX_RANKS)
            while (at > 0 && rs_face_number(ranks, rows[at - 1], "own_time_us") < own) at--;
        if (at == MAX_RANKS) continue;
        if (kept < MAX_RANKS) kept++;
        for (size_t k = kept - 1; k > at; k--) rows[k] = rows[k - 1];
        rows[at] = i;
    }
    return kept;
}

static void headline(const rs_table *ranks, rs_page *layout)
{
    char text[160], span[32];
    size_t n = rs_table_n_rows(ranks), longest = 0;
    for (size_t i = 1; i < n; i++)
        if (rs_face_number(ranks, i, "span_us") > rs_face_number(ranks, longest, "span_us")) longest = i;
    int64_t steps = n ? rs_face_int(ranks, longest, "steps", 0) : 0;
    rs_human_time(n ? rs_face_int(ranks, longest, "span_us", 0) : 0, span);
    snprintf(text, sizeof text, "%zu rank%s, %s recorded, %lld step%s", n, n == 1 ? "" : "s", span,
             (long long)steps, steps == 1 ? "" : "s");
    rs_page_heading(layout, text, true);
}

static bool any_gpu(const rs_table *ranks)
{
    for (size_t i = 0; i < rs_table_n_rows(ranks); i++)
        if (rs_face_int(ranks, i, "gpu_events", 0)) return true;
    return false;
}

static void bars(const rs_table *ranks, const size_t *rows, size_t n, rs_page *layout)
{
    static const char *const parts[] = {"compute_us", "exposed_comm_us", "exposed_copy_us", "idle_us"};
    static const char *const names[] = {"compute", "exposed communication", "exposed copies", "idle"};
    char legend[200], label[40], value[64];
    size_t used = 0;
    for (size_t k = 0; k < 4; k++)
        used += (size_t)snprintf(legend + used, sizeof legend - used, "%s%s %s", k ? "   " : "",
                                 rs_page_share_sign(layout, k), names[k]);
    rs_page_heading(layout, "Where the GPU time goes (first to last GPU work)", false);
    rs_page_wrap(layout, "  ", legend);
    for (size_t i = 0; i < n; i++) {
        double shares[4];
        for (size_t k = 0; k < 4; k++) shares[k] = share_of(ranks, rows[i], parts[k]);
        double busy = rs_face_number(ranks, rows[i], "busy_pct");
        snprintf(label, sizeof label, "rank %lld", (long long)rs_face_int(ranks, rows[i], "rank", -1));
        if (isnan(busy))
            snprintf(value, sizeof value, "no GPU work");
        else
            snprintf(value, sizeof value, "%s%% busy", RS_FIXED(busy, 1));
        rs_page_shares(layout, label, 9, shares, 4, BAR, value);
    }
}

static rs_status rank_tables(const rs_table *ranks, const size_t *rows, size_t n, rs_page *layout,
                             rs_error *err)
{
    /* from the second column on where no rank has a role */
    static const char times[] =
        "role|rank|span_us|steps|mean_step_us|gpu_span_us|compute_us|exposed_comm_us|exposed_copy_us|"
        "idle_us";
    static const char host[] =
        "rank|busy_pct|launch_bound_pct|host_wait_us|host_elsewhere_us|mean_kernel_us|mean_launch_us|"
        "gpu_events|unlinked|unlinked_pct|behind_median_pct";
    static const char no_gpu[] = "role|rank|span_us|steps|mean_step_us|own_time_us|behind_median_pct";
    const bool gpu = any_gpu(ranks), no_roles = !rs_face_has(ranks, "role");
    rs_page_blank(layout);
    rs_status status =
        rs_face_part(layout, ranks, (gpu ? times : no_gpu) + no_roles * sizeof "role", rows, n, err);
    if (gpu) rs_page_blank(layout);
    if (status == RS_OK && gpu) status = rs_face_part(layout, ranks, host, rows, n, err);
    if (status == RS_OK && rs_table_n_rows(ranks) > n) {
        char text[160];
        snprintf(text, sizeof text,
                 "The %zu of %zu ranks that need most time for themselves; all: --table ranks", n,
                 rs_table_n_rows(ranks));
        rs_page_wrap(layout, "  ", text);
    }
    return status;
}

/* Where the judge did not say who: it is not named twice, nor are two. */
static void slowest(const rs_result *result, const rs_table *ranks, rs_page *layout)
{
    size_t n = rs_table_n_rows(ranks), worst = 0;
    const rs_verdict *v = rs_result_verdict(result, 0);
    if (n < 2 || (v && v->kind != RS_VERDICT_REFUSED)) return;
    size_t known = 0; /* of a rank without work nothing is known */
    for (size_t i = 0; i < n; i++) {
        if (isnan(rs_face_number(ranks, i, "own_time_us"))) continue;
        if (known++ == 0 ||
            rs_face_number(ranks, i, "own_time_us") > rs_face_number(ranks, worst, "own_time_us"))
            worst = i;
    }
    if (known < 2) return;
    /* where several are the slowest, none is */
    for (size_t i = 0; i < n; i++)
        if (i != worst &&
            rs_face_number(ranks, i, "own_time_us") >= rs_face_number(ranks, worst, "own_time_us"))
            return;
    char text[200], time[32];
    double behind = rs_face_number(ranks, worst, "behind_median_pct");
    rs_human_time(rs_face_int(ranks, worst, "own_time_us", 0), time);
    snprintf(text, sizeof text,
             "Slowest: rank %lld, %s of its own (without waiting in communication), %s%% above the median",
             (long long)rs_face_int(ranks, worst, "rank", -1), time,
             RS_FIXED(isnan(behind) ? 0.0 : behind, 1));
    rs_page_blank(layout);
    rs_page_wrap(layout, "", text);
}

static rs_status names(const rs_result *result, const char *table_name, const char *heading, rs_page *layout,
                       rs_error *err)
{
    const rs_table *table = rs_result_table(result, table_name);
    if (rs_table_n_rows(table) == 0) return RS_OK;
    rs_page_heading(layout, heading, false);
    return rs_page_table(layout, table, err);
}

rs_status rs_face_summary(const rs_result *result, rs_page *layout, rs_error *err)
{
    const rs_table *ranks = rs_result_table(result, "ranks"), *findings = rs_result_table(result, "findings");
    size_t rows[MAX_RANKS], n = choose_rows(ranks, rows);
    if (layout->width == 0) layout->width = SCREEN; /* one screen, also in a file */
    headline(ranks, layout);
    if (any_gpu(ranks)) bars(ranks, rows, n, layout);
    rs_status status = rank_tables(ranks, rows, n, layout, err);
    slowest(result, ranks, layout);
    if (status == RS_OK) status = names(result, "kernels", "Top kernels", layout, err);
    if (status == RS_OK)
        status = names(result, "operators", "Top operators, by the GPU work they launch", layout, err);
    rs_page_heading(layout, "What to look at first", false);
    for (size_t i = 0; i < rs_table_n_rows(findings); i++) {
        char lead[32];
        snprintf(lead, sizeof lead, "  %zu. ", i + 1);
        rs_page_wrap(layout, lead, rs_face_string(findings, i, "finding"));
    }
    if (rs_table_n_rows(findings) == 0) rs_page_wrap(layout, "  ", "Nothing is significant.");
    return status;
}
