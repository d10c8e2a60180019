/* `memory` for people: of a timeline and of traces what is held, by category and by device; of snapshots the verdict, what
 * holds the fullest device, what is wrong, and the ranks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/try.h"
#include "output/face_tools.h"
#include "text/numbers.h"

#define MAX_SITES 5
#define BAR 20
#define BRIEF_FINDINGS 3

/* ---- traces ------------------------------------------------------------------------------------------ */

/* Of traces: the tables that hold rows, each under what its rows are. */
static rs_status memory_of_traces(const rs_result *result, rs_page *layout, rs_error *err)
{
    static const char of_device[] =
        "rank|device|peak_bytes|peak_at_us|peak_step|peak_operator|before_bytes|end_bytes|reserved_bytes|"
        "allocated_bytes|allocations|freed_bytes|releases|out_of_memory";
    static const char of_operator[] =
        "rank|device|operator|allocated_bytes|allocations|freed_bytes|releases|net_bytes";
    static const char of_change[] = "rank|device|time_us|bytes|held_bytes|reserved_bytes";
    if (rs_table_n_rows(result->tables[4])) return rs_face_first(result->tables[4], of_change, layout, err);
    rs_status status = rs_face_first(result->tables[2], of_device, layout, err);
    if (status != RS_OK || !rs_table_n_rows(result->tables[3])) return status;
    rs_page_blank(layout);
    rs_page_heading(layout, "What allocated it", true);
    return rs_face_first(result->tables[3], of_operator, layout, err);
}

/* ---- memory timelines ---------------------------------------------------------------------------------- */

static rs_status memory_of_timeline(const rs_result *result, rs_page *layout, rs_error *err)
{
    static const char of_category[] =
        "category|at_peak_bytes|at_peak_pct|own_peak_bytes|own_peak_at_us|before_bytes|end_bytes|"
        "allocated_bytes|allocations|freed_bytes";
    static const char of_series[] =
        "time_us|parameter|optimizer_state|input|temporary|activation|gradient|autograd_detail|unknown|"
        "total";
    const rs_table *t = result->tables[0];
    size_t n = rs_table_n_rows(t);
    if (result->main_table == 1) return rs_face_first(result->tables[1], of_series, layout, err);
    if (n) {
        char text[200], bytes[32], when[32];
        double at = rs_face_number(t, n - 1, "own_peak_at_us");
        snprintf(text, sizeof text, "Peak: %s%s%s",
                 rs_human_bytes(rs_face_int(t, n - 1, "own_peak_bytes", 0), bytes), isnan(at) ? "" : ", at ",
                 isnan(at) ? "" : rs_face_human_us(at, when));
        rs_page_heading(layout, text, true);
    }
    for (size_t i = 0; i + 1 < n; i++) {
        char value[64], bytes[32];
        double share = rs_face_number(t, i, "at_peak_pct");
        if (isnan(share) || share <= 0) continue;
        snprintf(value, sizeof value, "%5s%%  %s", RS_FIXED(share, 1),
                 rs_human_bytes(rs_face_int(t, i, "at_peak_bytes", 0), bytes));
        rs_page_bar(layout, rs_face_string(t, i, "category"), 16, share / 100, 40, value);
    }
    if (n) rs_page_blank(layout);
    return rs_face_first(t, of_category, layout, err);
}

/* ---- snapshots ----------------------------------------------------------------------------------------- */

/* The rank and device that the first finding names; row of the table ranks. */
static size_t named_row(const rs_table *ranks, const rs_table *findings)
{
    size_t n = rs_table_n_rows(ranks);
    if (!rs_table_n_rows(findings)) return 0;
    int64_t rank = rs_face_int(findings, 0, "rank", -1);
    const char *device = rs_face_string(findings, 0, "device");
    for (size_t i = 0; i < n; i++)
        if (rs_face_int(ranks, i, "rank", -1) == rank &&
            strcmp(rs_face_string(ranks, i, "device"), device) == 0)
            return i;
    return 0;
}

static bool is_of(const rs_table *t, size_t row, const rs_table *ranks, size_t named)
{
    return rs_face_int(t, row, "rank", -1) == rs_face_int(ranks, named, "rank", -1) &&
           strcmp(rs_face_string(t, row, "device"), rs_face_string(ranks, named, "device")) == 0;
}

/* The sites that hold most of the device, with bars of their share. */
static void show_sites(const rs_table *sites, const rs_table *ranks, size_t named, rs_page *layout)
{
    for (size_t i = 0, shown = 0; i < rs_table_n_rows(sites) && shown < MAX_SITES; i++) {
        char value[400], bytes[32];
        double share = rs_face_number(sites, i, "share_pct");
        if (!is_of(sites, i, ranks, named) || isnan(share) || share <= 0) continue;
        snprintf(value, sizeof value, "%5s%%  %.300s", RS_FIXED(share, 1), rs_face_string(sites, i, "site"));
        rs_page_bar(layout, rs_human_bytes(rs_face_int(sites, i, "bytes", 0), bytes), 10, share / 100, BAR,
                    value);
        shown++;
    }
}

/* What the device's memory is for, in the order of the table. */
static void show_categories(const rs_table *t, const rs_table *ranks, size_t named, rs_page *layout)
{
    for (size_t i = 0; i < rs_table_n_rows(t); i++) {
        char value[96], bytes[32];
        double share = rs_face_number(t, i, "share_pct");
        if (!is_of(t, i, ranks, named) || isnan(share) || share <= 0) continue;
        snprintf(value, sizeof value, "%5s%%  %s, %s", RS_FIXED(share, 1),
                 rs_human_bytes(rs_face_int(t, i, "bytes", 0), bytes), rs_face_string(t, i, "doubt"));
        rs_page_bar(layout, rs_face_string(t, i, "category"), 16, share / 100, BAR, value);
    }
}

static void show_finding(const rs_table *findings, size_t row, const char *lead, rs_page *layout)
{
    const char *remedy = rs_face_string(findings, row, "remedy");
    rs_page_wrap(layout, lead, rs_face_string(findings, row, "finding"));
    if (*remedy) rs_page_wrap(layout, row ? "     try: " : "  try: ", remedy);
}

static void show_findings(const rs_table *findings, const char *kind, const char *heading, bool other,
                          rs_page *layout)
{
    size_t n = 0;
    for (size_t i = 1; i < rs_table_n_rows(findings); i++) {
        char lead[24];
        if ((strcmp(rs_face_string(findings, i, "kind"), kind) == 0) == other) continue;
        if (!n) rs_page_heading(layout, heading, false);
        snprintf(lead, sizeof lead, "  %zu. ", ++n);
        show_finding(findings, i, lead, layout);
    }
}

/* The ranks, at most some: the fullest of them where there are more. */
static rs_status show_ranks(const rs_table *ranks, rs_page *layout, rs_error *err)
{
    static const char columns[] =
        "rank|device|peak_active_bytes|peak_active_at_us|peak_reserved_bytes|end_active_bytes|"
        "end_reserved_bytes|out_of_memory|above_median_pct";
    rs_page_heading(layout, "Ranks", false);
    return rs_face_first(ranks, columns, layout, err);
}

static rs_status memory_of_snapshots(const rs_result *result, rs_page *layout, rs_error *err)
{
    const rs_table *ranks = rs_result_table(result, "ranks"), *findings = rs_result_table(result, "findings");
    const rs_table *chosen = result->tables[result->main_table];
    size_t named = named_row(ranks, findings);
    char heading[96];
    if (rs_table_n_rows(findings)) show_finding(findings, 0, "", layout);
    for (size_t i = 1; layout->brief && i < rs_table_n_rows(findings) && i < BRIEF_FINDINGS; i++)
        if (strcmp(rs_face_string(findings, i, "kind"), "not_known") != 0)
            show_finding(findings, i, "  also: ", layout);
    if (layout->brief) return RS_OK;
    if (chosen != ranks) {
        static const char of_answer[] =
            "rank|device|change|blocks|peak_active_bytes|new_peak_active_bytes|low_bytes|high_bytes|"
            "saved_bytes";
        for (size_t i = 1; i < rs_table_n_rows(findings); i++)
            if (strcmp(rs_face_string(findings, i, "kind"), "cost") == 0 &&
                rs_face_int(findings, i, "rank", -1) == rs_face_int(findings, 0, "rank", -1))
                show_finding(findings, i, "", layout);
        rs_page_blank(layout);
        return chosen == rs_result_table(result, "without") ? rs_face_first(chosen, of_answer, layout, err)
                                                            : rs_page_table(layout, chosen, err);
    }
    if (rs_table_n_rows(ranks)) {
        snprintf(heading, sizeof heading, "What rank %lld (%s) holds",
                 (long long)rs_face_int(ranks, named, "rank", -1), rs_face_string(ranks, named, "device"));
        rs_page_heading(layout, heading, false);
        show_sites(rs_result_table(result, "sites"), ranks, named, layout);
        rs_page_heading(layout, "What it is for (estimated from who allocates and frees)", false);
        show_categories(rs_result_table(result, "categories"), ranks, named, layout);
    }
    show_findings(findings, "not_known", "Further findings", true, layout);
    RS_TRY(show_ranks(ranks, layout, err));
    show_findings(findings, "not_known", "Not known", false, layout);
    return RS_OK;
}

rs_status rs_face_memory(const rs_result *result, rs_page *layout, rs_error *err)
{
    if (result->main_table >= 5) return memory_of_snapshots(result, layout, err);
    if (result->main_table >= 2) return memory_of_traces(result, layout, err);
    return memory_of_timeline(result, layout, err);
}
