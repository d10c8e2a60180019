/* Verdicts for people and as JSON. The sentences are the judge's; nothing is worded here but what a rank is late for. */
#include "output/verdict.h"

#include <math.h>
#include <stdio.h>

#include "base/real.h"
#include "base/text.h"
#include "base/try.h"

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

static void put_text(rs_writer *w, const char *text)
{
    if (text)
        rs_writer_json_string(w, text, strlen(text));
    else
        rs_writer_text(w, "null");
}

static void put_real(rs_writer *w, const char *key, double value)
{
    rs_writer_text(w, ", \"");
    rs_writer_text(w, key);
    rs_writer_text(w, "\": ");
    if (isfinite(value))
        rs_writer_real(w, value);
    else
        rs_writer_text(w, "null");
}

/* {"rank": 5}, {"group": "dp", "ranks": [1, 5], "hosts": ["a"]}, ... */
static void put_culprit(rs_writer *w, const rs_culprit *c)
{
    rs_writer_text(w, "{\"");
    rs_writer_text(w, rs_culprit_kind_name(c->kind));
    rs_writer_text(w, "\": ");
    if (c->number >= 0)
        rs_writer_int(w, c->number);
    else
        put_text(w, c->name);
    for (size_t i = 0; i < c->n_ranks; i++) {
        rs_writer_text(w, i ? ", " : ", \"ranks\": [");
        rs_writer_int(w, c->ranks[i]);
    }
    if (c->n_ranks) rs_writer_char(w, ']');
    for (size_t i = 0; i < c->n_hosts; i++) {
        rs_writer_text(w, i ? ", " : ", \"hosts\": [");
        put_text(w, c->hosts[i]);
    }
    rs_writer_text(w, c->n_hosts ? "]}" : "}");
}

/* {"command": "replay", "options": {"what-if": "..."}} */
static void put_evidence(rs_writer *w, const rs_evidence *e)
{
    rs_writer_text(w, "{\"command\": ");
    put_text(w, e->command);
    rs_writer_text(w, ", \"options\": {");
    for (size_t i = 0; i < e->n_options; i++) {
        if (i) rs_writer_text(w, ", ");
        put_text(w, e->options[i].name);
        rs_writer_text(w, ": ");
        if (e->options[i].value)
            put_text(w, e->options[i].value);
        else
            rs_writer_text(w, "true");
    }
    rs_writer_text(w, "}}");
}

void rs_write_json_verdict(rs_writer *w, const rs_result *result)
{
    const rs_verdict *v = rs_result_verdict(result, 0);
    if (!v) return;
    rs_writer_text(w, "\n  \"verdict\": {\"text\": ");
    put_text(w, v->text);
    rs_writer_text(w, ", \"kind\": ");
    put_text(w, rs_verdict_kind_name(v->kind));
    rs_writer_text(w, ", \"id\": ");
    put_text(w, v->id);
    rs_writer_text(w, ", \"culprits\": [");
    for (size_t i = 0; i < v->n_culprits; i++) {
        if (i) rs_writer_text(w, ", ");
        put_culprit(w, &v->culprits[i]);
    }
    rs_writer_char(w, ']');
    put_real(w, "gain_pct", v->gain_pct);
    put_real(w, "gain_low_pct", v->gain_low_pct);
    put_real(w, "gain_high_pct", v->gain_high_pct);
    put_real(w, "before_us", v->before_us);
    put_real(w, "after_us", v->after_us);
    rs_writer_text(w, ", \"remedy\": ");
    put_text(w, v->remedy);
    rs_writer_text(w, ", \"reason\": ");
    put_text(w, v->reason);
    rs_writer_text(w, ", \"evidence\": [");
    for (size_t i = 0; i < v->n_evidence; i++) {
        if (i) rs_writer_text(w, ", ");
        put_evidence(w, &v->evidence[i]);
    }
    rs_writer_text(w, "], \"late\": [");
    for (size_t i = 0; i < rs_result_n_lateness(result); i++) {
        const rs_lateness *l = rs_result_lateness(result, i);
        rs_writer_text(w, i ? ", {\"rank\": " : "{\"rank\": ");
        rs_writer_int(w, l->rank);
        rs_writer_text(w, ", \"because_of\": ");
        rs_writer_int(w, l->cause);
        put_real(w, "wait_us", l->wait_us);
        put_real(w, "of_cause_us", l->of_cause_us);
        rs_writer_char(w, '}');
    }
    rs_writer_text(w, "]},");
}
