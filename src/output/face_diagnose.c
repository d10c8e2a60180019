/* `diagnose` for people: what is wrong and would help, by what fixing it gains; what was not examined. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/try.h"
#include "output/face_tools.h"
#include "output/verdict.h"
#include "text/numbers.h"

#define KEYS 9
#define SHOWN 60 /* columns of a kernel's name */

static rs_status put_verdict(const rs_verdict *v, size_t place, rs_page *layout, rs_error *err)
{
    char lead[24], text[200];
    snprintf(lead, sizeof lead, "%zu. ", place);
    rs_page_wrap(layout, lead, v->text);
    snprintf(text, sizeof text, "%s %% of a step%s", RS_FIXED(v->gain_pct, 1),
             v->kind == RS_VERDICT_FINDING ? "" : "; an opportunity, nothing is wrong there");
    rs_page_value(layout, "gain", KEYS, text);
    rs_page_value(layout, "try", KEYS, v->remedy);
    rs_page_value(layout, "assumes", KEYS, v->assumption);
    for (size_t i = 0; i < v->n_evidence; i++)
        RS_TRY(rs_page_evidence(layout, "  verify     ", &v->evidence[i], err));
    return RS_OK;
}

/* The verdicts that have a row of the table, but for sensitivities, which are one line. */
static rs_status put_rows(const rs_result *result, size_t n_rows, rs_page *layout, rs_error *err)
{
    rs_text kernels = {0};
    size_t place = 0;
    char name[4 * SHOWN + 8];
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < rs_result_n_verdicts(result); i++) {
        const rs_verdict *v = rs_result_verdict(result, i);
        if (!v->id) continue;
        place++;
        if (v->sensitivity && v->n_culprits)
            rs_text_printf(
                &kernels, "%s%s (%s %%)", kernels.n ? ", " : "",
                rs_shorten_middle(v->culprits->name, strlen(v->culprits->name), SHOWN, name, sizeof name),
                RS_FIXED(v->gain_pct, 1));
        else if (place <= n_rows)
            status = put_verdict(v, place, layout, err);
    }
    if (status == RS_OK && kernels.n && rs_text_get(&kernels)) {
        rs_page_blank(layout);
        rs_page_wrap(layout, "Most sensitive to (gain at half its time): ", rs_text_get(&kernels));
    }
    rs_text_clear(&kernels);
    return status;
}

static void put_joint(const rs_table *t, rs_page *layout)
{
    if (!rs_table_n_rows(t)) return;
    rs_page_heading(layout, "Combined (gains overlap)", false);
    for (size_t i = 0; i < rs_table_n_rows(t); i++) {
        char text[200], before[32], after[32];
        rs_human_time((int64_t)(rs_face_number(t, i, "before_us") * 1000), before);
        rs_human_time((int64_t)(rs_face_number(t, i, "after_us") * 1000), after);
        snprintf(text, sizeof text, "step from %s to %s: %s %%", before, after,
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

rs_status rs_face_what_if(const rs_result *result, rs_page *layout, rs_error *err)
{
    RS_TRY(rs_page_table(layout, rs_result_table(result, "what_if"), err));
    rs_page_blank(layout);
    rs_page_wrap(layout, "", "How far the replay can be relied on: --table replay; also path, edges");
    return RS_OK;
}

rs_status rs_face_diagnose(const rs_result *result, rs_page *layout, rs_error *err)
{
    const rs_table *rows = rs_result_table(result, "diagnose");
    const rs_table *missed = rs_result_table(result, "not_examined");
    RS_TRY(put_rows(result, rs_table_n_rows(rows), layout, err));
    put_joint(rs_result_table(result, "joint"), layout);
    if (rs_table_n_rows(missed)) rs_page_heading(layout, "Not examined", !rs_result_n_verdicts(result));
    put_missed(missed, layout);
    return RS_OK;
}
