/* `diagnose` for people: what is wrong and would help, by what fixing it gains; what was not examined. */
#include <stdio.h>
#include <string.h>

#include "base/real.h"
#include "base/text.h"
#include "base/try.h"
#include "output/briefs.h"
#include "output/face_tools.h"
#include "output/verdict.h"
#include "text/numbers.h"

#define KEYS 9
#define SHOWN 36 /* columns of a kernel's name */

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

static bool is_shown_sensitivity(const rs_verdict *v)
{
    return v->id && v->sensitivity && v->n_culprits;
}

static rs_status put_sensitivities(const rs_result *result, rs_page *layout, rs_error *err)
{
    rs_text kernels = {0};
    RS_SCOPED(rs_briefs_clear) rs_briefs names;
    bool ok = rs_briefs_init(&names);
    for (int shows = 0; ok && shows < 2; shows++) {
        for (size_t i = 0; ok && i < rs_result_n_verdicts(result); i++) {
            const rs_verdict *v = rs_result_verdict(result, i);
            if (!is_shown_sensitivity(v)) continue;
            const char *whole = v->culprits->name;
            if (!shows)
                ok = rs_briefs_add(&names, whole, strlen(whole));
            else
                rs_text_printf(&kernels, "%s%s (%s %%)", kernels.n ? ", " : "",
                               rs_briefs_find(&names, whole, strlen(whole)), RS_FIXED(v->gain_pct, 1));
        }
        if (ok && !shows) ok = rs_briefs_cut(&names, SHOWN, layout->utf8 ? "\xE2\x80\xA6" : "..");
    }
    ok = ok && (!kernels.n || rs_text_get(&kernels));
    if (ok && kernels.n) {
        rs_page_blank(layout);
        rs_page_wrap(layout, "Gain at half the time of: ", kernels.s);
    }
    rs_text_clear(&kernels);
    return ok ? RS_OK : rs_fail_nomem(err, "diagnose");
}

/* The verdicts that have a row of the table, sensitivities in one line after the others. */
static rs_status put_rows(const rs_result *result, size_t n_rows, rs_page *layout, rs_error *err)
{
    size_t place = 0;
    for (size_t i = 0; i < rs_result_n_verdicts(result); i++) {
        const rs_verdict *v = rs_result_verdict(result, i);
        if (!v->id) continue;
        if (++place <= n_rows && !is_shown_sensitivity(v)) RS_TRY(put_verdict(v, place, layout, err));
    }
    return put_sensitivities(result, layout, err);
}

static void put_joint(const rs_table *t, rs_page *layout)
{
    if (!rs_table_n_rows(t)) return;
    rs_page_heading(layout, "Combined (gains overlap)", false);
    for (size_t i = 0; i < rs_table_n_rows(t); i++) {
        char text[200], before[32], after[32];
        rs_human_time(rs_int_of(rs_face_number(t, i, "before_us") * 1000), before);
        rs_human_time(rs_int_of(rs_face_number(t, i, "after_us") * 1000), after);
        snprintf(text, sizeof text, "step from %s to %s: %s %%", before, after,
                 RS_FIXED(rs_face_number(t, i, "gain_pct"), 1));
        rs_page_value(layout, rs_face_string(t, i, "places"), KEYS, text);
    }
}

/* Whether rows i and k say the same of their ids. */
static bool same_reason(const rs_table *t, size_t i, size_t k)
{
    return strcmp(rs_face_string(t, i, "what"), rs_face_string(t, k, "what")) == 0 &&
           strcmp(rs_face_string(t, i, "reason"), rs_face_string(t, k, "reason")) == 0;
}

/* A row each; a reason that several rows in turn have in common is said once, under their ids. */
static rs_status put_missed(const rs_table *t, rs_page *layout, rs_error *err)
{
    rs_text ids = {0}, text = {0};
    bool ok = true;
    for (size_t i = 0, end, n = rs_table_n_rows(t); ok && i < n; i = end) {
        const char *what = rs_face_string(t, i, "what");
        for (end = i + 1; end < n && same_reason(t, i, end);) end++;
        if (end - i < 3) end = i + 1;
        ids.n = text.n = 0;
        for (size_t k = i; k < end; k++)
            rs_text_printf(&ids, "%s%s", k > i ? ", " : "", rs_face_string(t, k, "id"));
        rs_text_printf(&text, "%s%s%s", what, *what ? ": " : "", rs_face_string(t, i, "reason"));
        ok = rs_text_get(&ids) && rs_text_get(&text);
        if (!ok) break;
        if (end == i + 1) {
            rs_page_value(layout, ids.s, 21, text.s);
        } else {
            rs_page_wrap(layout, "  ", ids.s);
            rs_page_value(layout, "", 2, text.s);
        }
    }
    rs_text_clear(&ids);
    rs_text_clear(&text);
    return ok ? RS_OK : rs_fail_nomem(err, "diagnose");
}

rs_status rs_face_what_if(const rs_result *result, rs_page *layout, rs_error *err)
{
    RS_TRY(rs_page_table(layout, rs_result_table(result, "what_if"), err));
    rs_page_blank(layout);
    rs_page_wrap(layout, "", "How far the replay can be relied on: --table replay; also path, edges");
    return RS_OK;
}

#define BRIEF_OTHERS 2

/* The first finding with what to do and how to see it, the next ones with what they gain. */
static rs_status put_brief(const rs_result *result, rs_page *layout, rs_error *err)
{
    size_t others = 0;
    const rs_verdict *first = rs_result_verdict(result, 0);
    static const rs_evidence summary = {.command = "summary"};
    /* The sentence that opens every answer says why nothing is to be fixed. */
    if (!first || !first->id) return rs_page_evidence(layout, "Where the time goes: ", &summary, err);
    rs_page_wrap(layout, "", first->text);
    rs_page_value(layout, "try", KEYS, first->remedy);
    if (first->n_evidence) RS_TRY(rs_page_evidence(layout, "  verify     ", first->evidence, err));
    for (size_t i = 1; i < rs_result_n_verdicts(result) && others < BRIEF_OTHERS; i++) {
        const rs_verdict *v = rs_result_verdict(result, i);
        if (!v->id || v->sensitivity) continue;
        rs_page_value(layout, others++ ? "" : "also", KEYS, v->text);
    }
    return RS_OK;
}

rs_status rs_face_diagnose(const rs_result *result, rs_page *layout, rs_error *err)
{
    if (layout->brief) return put_brief(result, layout, err);
    const rs_table *rows = rs_result_table(result, "diagnose");
    const rs_table *missed = rs_result_table(result, "not_examined");
    RS_TRY(put_rows(result, rs_table_n_rows(rows), layout, err));
    put_joint(rs_result_table(result, "joint"), layout);
    if (rs_table_n_rows(missed)) rs_page_heading(layout, "Not examined", !rs_table_n_rows(rows));
    return put_missed(missed, layout, err);
}
