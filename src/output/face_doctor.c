/* `doctor` for people: what is wrong, what it costs, how to mend it; what is right in one line. */
#include <stdio.h>
#include <string.h>

#include "output/face_tools.h"

#define MAX_FINDINGS 40

static bool says_same(const rs_table *t, size_t a, size_t b)
{
    return strcmp(rs_face_string(t, a, "finding"), rs_face_string(t, b, "finding")) == 0 &&
           strcmp(rs_face_string(t, a, "check"), rs_face_string(t, b, "check")) == 0;
}

static void show_finding(const rs_table *t, size_t i, rs_page *layout)
{
    char lead[32], text[700];
    size_t alike = 0;
    for (size_t k = i + 1; k < rs_table_n_rows(t); k++) alike += says_same(t, i, k);
    snprintf(lead, sizeof lead, "  %-8s ", rs_face_string(t, i, "severity"));
    if (alike)
        snprintf(text, sizeof text, "%s: %s (rank %lld and %zu more)", rs_face_string(t, i, "check"),
                 rs_face_string(t, i, "finding"), (long long)rs_face_int(t, i, "rank", -1), alike);
    else
        snprintf(text, sizeof text, "%s: %s (rank %lld)", rs_face_string(t, i, "check"),
                 rs_face_string(t, i, "finding"), (long long)rs_face_int(t, i, "rank", -1));
    rs_page_wrap(layout, lead, text);
    rs_page_wrap(layout, "           weakens: ", rs_face_string(t, i, "disables"));
    rs_page_wrap(layout, "           remedy:  ", rs_face_string(t, i, "remedy"));
}

rs_status rs_face_doctor(const rs_result *result, rs_page *layout, rs_error *err)
{
    const rs_table *t = rs_result_table(result, "findings");
    size_t n = rs_table_n_rows(t), bad = 0, shown = 0;
    for (size_t i = 0; i < n; i++) bad += strcmp(rs_face_string(t, i, "severity"), "ok") != 0;
    rs_page_heading(layout,
                    result->found ? "This capture is unfit for some of the main analyses"
                    : bad         ? "This capture is usable, with limits"
                                  : "This capture is fit",
                    true);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rs_face_string(t, i, "severity"), "ok") == 0) continue;
        bool told = false;
        for (size_t k = 0; k < i && !told; k++) told = says_same(t, k, i);
        if (told) continue;
        if (shown++ < MAX_FINDINGS) show_finding(t, i, layout);
    }
    if (shown > MAX_FINDINGS) rs_page_wrap(layout, "  ", "... more: --table findings");
    char right[400];
    size_t used = 0;
    for (size_t i = 0; i < n && used < sizeof right - 128; i++) {
        if (strcmp(rs_face_string(t, i, "severity"), "ok") != 0) continue;
        bool told = false;
        for (size_t k = 0; k < i && !told; k++) told = says_same(t, k, i);
        if (told) continue;
        int m = snprintf(right + used, sizeof right - used, "%s%.100s", used ? "; " : "",
                         rs_face_string(t, i, "finding"));
        used += m > 0 ? (size_t)m : 0;
    }
    if (used) {
        rs_page_blank(layout);
        rs_page_wrap(layout, "  ok       ", right);
    }
    const rs_table *launches = rs_result_table(result, "launches");
    if (rs_table_n_rows(launches) == 0) return RS_OK;
    rs_page_heading(layout, "Launching calls and the work they show", false);
    return rs_page_table(layout, launches, err);
}
