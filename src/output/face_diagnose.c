/* `diagnose` for people: one sentence each, what to try, what shows it; what was not examined. */
#include <stdio.h>
#include <string.h>

#include "output/face_tools.h"
#include "text/numbers.h"

#define KEYS 9

static void put_rows(const rs_table *t, const char *kind, const char *heading, bool *first, rs_page *layout)
{
    bool any = false;
    for (size_t i = 0; i < rs_table_n_rows(t); i++) {
        char lead[24], text[160];
        if (strcmp(rs_face_string(t, i, "kind"), kind) != 0) continue;
        if (!any) rs_page_heading(layout, heading, *first);
        any = true;
        *first = false;
        snprintf(lead, sizeof lead, "%lld. ", (long long)rs_face_int(t, i, "place", 0));
        rs_page_wrap(layout, lead, rs_face_string(t, i, "finding"));
        snprintf(text, sizeof text, "%s %%", RS_FIXED(rs_face_number(t, i, "gain_pct"), 1));
        rs_page_value(layout, "gain", KEYS, text);
        rs_page_value(layout, "try", KEYS, rs_face_string(t, i, "remedy"));
        rs_page_value(layout, "holds if", KEYS, rs_face_string(t, i, "assumption"));
        rs_page_value(layout, "shown by", KEYS, rs_face_string(t, i, "evidence"));
    }
}

static void put_joint(const rs_table *t, rs_page *layout)
{
    if (!rs_table_n_rows(t)) return;
    rs_page_heading(layout, "Mended together (gains overlap)", false);
    for (size_t i = 0; i < rs_table_n_rows(t); i++) {
        char text[200], before[32], after[32];
        rs_human_time((int64_t)(rs_face_number(t, i, "before_us") * 1000), before);
        rs_human_time((int64_t)(rs_face_number(t, i, "after_us") * 1000), after);
        snprintf(text, sizeof text, "step %s, then %s: %s %%", before, after,
                 RS_FIXED(rs_face_number(t, i, "gain_pct"), 1));
        rs_page_value(layout, rs_face_string(t, i, "places"), KEYS, text);
    }
}

/* What row i says of its id. */
static void reason_of(const rs_table *t, size_t i, char *text, size_t size)
{
    const char *what = rs_face_string(t, i, "what");
    snprintf(text, size, "%s%s%s", what, *what ? ": " : "", rs_face_string(t, i, "reason"));
}

/* A row each; a reason that several rows in turn have in common is said once, under their ids. */
static void put_missed(const rs_table *t, rs_page *layout)
{
    size_t n = rs_table_n_rows(t);
    for (size_t i = 0, end; i < n; i = end) {
        char text[512], next[512], ids[1024] = "";
        size_t used = 0;
        reason_of(t, i, text, sizeof text);
        for (end = i; end < n; end++) {
            reason_of(t, end, next, sizeof next);
            if (strcmp(next, text) != 0 || used > sizeof ids - 80) break;
            used += (size_t)snprintf(ids + used, sizeof ids - used, "%s%s", end > i ? ", " : "",
                                     rs_face_string(t, end, "id"));
            if (used >= sizeof ids) used = sizeof ids - 1;
        }
        if (end - i < 3) {
            rs_page_value(layout, rs_face_string(t, i, "id"), 21, text);
            end = i + 1;
        } else {
            rs_page_wrap(layout, "  ", ids);
            rs_page_value(layout, "", 2, text);
        }
    }
}

rs_status rs_face_diagnose(const rs_result *result, rs_page *layout, rs_error *err)
{
    const rs_table *rows = rs_result_table(result, "diagnose");
    const rs_table *missed = rs_result_table(result, "not_examined");
    bool first = true;
    (void)err;
    put_rows(rows, "finding", "Off", &first, layout);
    put_rows(rows, "lever", "Nothing is off there, but this would help", &first, layout);
    put_joint(rs_result_table(result, "joint"), layout);
    if (rs_table_n_rows(missed)) rs_page_heading(layout, "Not examined", first);
    put_missed(missed, layout);
    return RS_OK;
}
