/* Verdicts for people and as JSON. The sentences are the judge's; nothing is worded here but what a rank is late for. */
#include "output/verdict.h"

#include <stdio.h>

#include "base/real.h"
#include "base/text.h"
#include "base/try.h"
#include "text/json_put.h"

/* ---- text --------------------------------------------------------------------------------------------------- */

static bool add_to_text(void *context, const char *bytes, size_t n)
{
    rs_text_add(context, bytes, n);
    return true;
}

rs_status rs_page_evidence(rs_page *layout, const char *lead, const rs_evidence *evidence, rs_error *err)
{
    rs_text text = {0};
    const rs_sink sink = {add_to_text, &text};
    rs_status status =
        rs_evidence_write(evidence, RS_EVIDENCE_SHELL, layout->paths, layout->n_paths, &sink, err);
    if (status == RS_OK && !rs_text_get(&text)) status = rs_fail_nomem(err, "a command");
    if (status == RS_OK) rs_page_command(layout, lead, rs_text_get(&text));
    rs_text_clear(&text);
    return status;
}

rs_status rs_page_verdict(rs_page *layout, const rs_result *result, bool its_own, rs_error *err)
{
    static const rs_evidence diagnose = {.command = "diagnose"};
    const rs_verdict *v = rs_result_verdict(result, 0);
    bool more = v && (v->kind == RS_VERDICT_FINDING || v->kind == RS_VERDICT_OPPORTUNITY);
    if (!v || (more && its_own)) return RS_OK;
    rs_page_wrap(layout, "", v->text);
    if (more) RS_TRY(rs_page_evidence(layout, "Evidence and remedy: ", &diagnose, err));
    rs_page_blank(layout);
    return RS_OK;
}

#define MOST_LATE 3
#define LATE_SHARE 0.1 /* of the longest waiting for a rank: less is not worth a sentence */

bool rs_page_lateness(rs_page *layout, const rs_result *result, int64_t rank)
{
    bool said = false;
    size_t n = rs_result_n_lateness(result);
    const rs_lateness *first = rs_result_lateness(result, 0);
    for (size_t i = 0; i < n && i < MOST_LATE; i++) {
        const rs_lateness *l = rs_result_lateness(result, i);
        char text[200], wait[32];
        if (l->wait_us < LATE_SHARE * first->wait_us) break;
        rs_human_time(rs_int_of(l->wait_us * 1000), wait);
        if (l->cause == l->rank)
            snprintf(text, sizeof text, "Rank %lld is late by its own time: others wait %s for it.",
                     (long long)l->rank, wait);
        else
            snprintf(text, sizeof text,
                     "Rank %lld is late because it waited for rank %lld: others wait %s for it.",
                     (long long)l->rank, (long long)l->cause, wait);
        rs_page_wrap(layout, "", text);
        said |= l->rank == rank;
    }
    return said;
}

/* ---- JSON --------------------------------------------------------------------------------------------------- */

/* {"rank": 5}, {"group": "dp", "ranks": [1, 5], "hosts": ["a"]}, ... */
static void put_culprit(rs_json_put *j, const rs_culprit *c)
{
    rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
    if (c->number >= 0)
        rs_json_put_int(j, rs_culprit_kind_name(c->kind), c->number);
    else
        rs_json_put_text(j, rs_culprit_kind_name(c->kind), c->name);
    if (c->n_ranks) rs_json_put_ints(j, "ranks", c->ranks, c->n_ranks);
    if (c->n_hosts) rs_json_put_texts(j, "hosts", c->hosts, c->n_hosts);
    rs_json_put_close(j);
}

/* {"command": "replay", "options": {"what-if": "..."}} */
static void put_evidence(rs_json_put *j, const rs_evidence *e)
{
    rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
    rs_json_put_text(j, "command", e->command);
    rs_json_put_open(j, "options", '{', RS_JSON_LINE);
    for (size_t i = 0; i < e->n_options; i++)
        if (e->options[i].value)
            rs_json_put_text(j, e->options[i].name, e->options[i].value);
        else
            rs_json_put_bool(j, e->options[i].name, true);
    rs_json_put_close(j);
    rs_json_put_close(j);
}

void rs_write_json_verdict(rs_writer *w, const rs_result *result)
{
    const rs_verdict *v = rs_result_verdict(result, 0);
    rs_json_put j;
    if (!v) return;
    rs_writer_text(w, "\n  ");
    rs_json_put_init(&j, w);
    rs_json_put_open(&j, "verdict", '{', RS_JSON_LINE);
    rs_json_put_text(&j, "text", v->text);
    rs_json_put_text(&j, "kind", rs_verdict_kind_name(v->kind));
    rs_json_put_text(&j, "id", v->id);
    rs_json_put_open(&j, "culprits", '[', RS_JSON_LINE);
    for (size_t i = 0; i < v->n_culprits; i++) put_culprit(&j, &v->culprits[i]);
    rs_json_put_close(&j);
    rs_json_put_real(&j, "gain_pct", v->gain_pct);
    rs_json_put_real(&j, "gain_low_pct", v->gain_low_pct);
    rs_json_put_real(&j, "gain_high_pct", v->gain_high_pct);
    rs_json_put_real(&j, "before_us", v->before_us);
    rs_json_put_real(&j, "after_us", v->after_us);
    rs_json_put_text(&j, "remedy", v->remedy);
    rs_json_put_text(&j, "reason", v->reason);
    rs_json_put_open(&j, "evidence", '[', RS_JSON_LINE);
    for (size_t i = 0; i < v->n_evidence; i++) put_evidence(&j, &v->evidence[i]);
    rs_json_put_close(&j);
    rs_json_put_open(&j, "late", '[', RS_JSON_LINE);
    for (size_t i = 0; i < rs_result_n_lateness(result); i++) {
        const rs_lateness *l = rs_result_lateness(result, i);
        rs_json_put_open(&j, NULL, '{', RS_JSON_LINE);
        rs_json_put_int(&j, "rank", l->rank);
        rs_json_put_int(&j, "because_of", l->cause);
        rs_json_put_real(&j, "wait_us", l->wait_us);
        rs_json_put_real(&j, "of_cause_us", l->of_cause_us);
        rs_json_put_close(&j);
    }
    rs_json_put_close(&j);
    rs_json_put_close(&j);
    rs_writer_char(w, ',');
}
