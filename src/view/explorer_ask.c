/* The explorer's questions over ranks: findings, tables of a selection, causes, what-ifs, search and SQL. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rankscope/sql.h"
#include "rankscope/verdict.h"
#include "view/explorer.h"

rs_status rs_explorer_need_job(rs_explorer *x, rs_error *err)
{
    if (x->job) return RS_OK;
    return rs_explorer_open_job(x, RS_DESK_JOB, &x->job, err);
}

/* ---- findings ------------------------------------------------------------------------------------------ */

static const rs_column_spec finding_columns[] = {
    {"place", RS_INT, RS_UNIT_ID, "from 1", NULL},
    {"kind", RS_TEXT, RS_UNIT_NONE, "finding, opportunity, sensitivity, healthy, refused", NULL},
    {"id", RS_TEXT, RS_UNIT_NONE, "kind of fault", NULL},
    {"sentence", RS_TEXT, RS_UNIT_NONE, "as `diagnose` prints it", NULL},
    {"remedy", RS_TEXT, RS_UNIT_NONE, "what to try", NULL},
    {"gain_pct", RS_REAL, RS_UNIT_PERCENT, "of a step", NULL},
    {"ranks", RS_TEXT, RS_UNIT_NONE, "ranks that it names: 0,3", NULL},
    {"from_ns", RS_TIME, RS_UNIT_NS, "where to look", NULL},
    {"to_ns", RS_TIME, RS_UNIT_NS, "... until", NULL},
    {"edit", RS_TEXT, RS_UNIT_NONE, "the what-if that shows the job without it", NULL},
    {"command", RS_TEXT, RS_UNIT_NONE, "prints the numbers", NULL},
};
static const rs_table_spec finding_table = {"findings", "one row is a verdict of the judge", finding_columns,
                                            sizeof finding_columns / sizeof *finding_columns};

/* "0,3": the ranks of the culprits; false: none is named. */
static bool list_ranks(const rs_verdict *v, rs_explorer_answer *out)
{
    for (size_t i = 0; i < v->n_culprits; i++) {
        const rs_culprit *c = &v->culprits[i];
        if (c->kind == RS_CULPRIT_RANK)
            rs_answer_print(out, "%s%lld", out->n ? "," : "", (long long)c->number);
        for (size_t k = 0; c->kind != RS_CULPRIT_RANK && k < c->n_ranks; k++)
            rs_answer_print(out, "%s%lld", out->n ? "," : "", (long long)c->ranks[k]);
    }
    return out->n > 0;
}

static const char *edit_of(const rs_verdict *v)
{
    for (size_t i = 0; i < v->n_evidence; i++)
        for (size_t k = 0; k < v->evidence[i].n_options; k++)
            if (strcmp(v->evidence[i].options[k].name, "what-if") == 0)
                return v->evidence[i].options[k].value;
    return NULL;
}

/* From when to when its ranks are on the map; of a step that the edit names, that step. */
static void place_of(const rs_explorer *x, const char *ranks, const char *edit, int64_t *from, int64_t *to)
{
    const rs_table *steps = rs_result_table(&x->steps, "steps");
    const char *named = edit ? strstr(edit, "step=") : NULL;
    rs_error ignored = RS_ERROR_INIT;
    RS_SCOPED(rs_ranges_clear) rs_ranges of = {0};
    const bool some = ranks && rs_ranges_parse(ranks, &of, &ignored) == RS_OK;
    *from = 0;
    *to = x->map.last;
    if (!named) return;
    const int64_t step = strtoll(named + 5, NULL, 10);
    bool any = false;
    for (size_t i = 0; i < rs_table_n_rows(steps); i++) {
        const size_t start = rs_column_of(steps, "start_us"), length = rs_column_of(steps, "length_us");
        if (rs_table_int(steps, i, rs_column_of(steps, "step")) != step ||
            rs_table_is_null(steps, i, start) ||
            (some && !rs_ranges_has(&of, rs_table_int(steps, i, rs_column_of(steps, "rank")))))
            continue;
        const int64_t a = rs_table_int(steps, i, start), b = a + rs_table_int(steps, i, length);
        if (!any || a < *from) *from = a;
        if (!any || b > *to) *to = b;
        any = true;
    }
}

static rs_status add_finding(const rs_explorer *x, const rs_verdict *v, size_t place, rs_table *t,
                             rs_error *err)
{
    RS_SCOPED(rs_explorer_answer_clear) rs_explorer_answer ranks = {0}, command = {0};
    const rs_sink sink = {rs_answer_append, &command};
    const bool some = list_ranks(v, &ranks) && rs_answer_append(&ranks, "", 1);
    const char *edit = edit_of(v);
    int64_t from, to;
    place_of(x, some ? ranks.bytes : NULL, edit, &from, &to);
    if (v->n_evidence)
        RS_TRY(rs_evidence_write(&v->evidence[0], RS_EVIDENCE_SHELL, x->paths, x->n_paths, &sink, err));
    rs_table_add_int(t, (int64_t)place);
    rs_table_add_text(t, v->sensitivity ? "sensitivity" : rs_verdict_kind_name(v->kind));
    rs_table_add_text(t, v->id);
    rs_table_add_text(t, v->text);
    rs_table_add_text(t, v->remedy);
    rs_table_add_real(t, v->gain_pct);
    rs_table_add_text(t, some ? ranks.bytes : NULL);
    rs_table_add_time(t, from);
    rs_table_add_time(t, to);
    rs_table_add_text(t, edit);
    if (command.n)
        rs_table_add_text_n(t, command.bytes, command.n);
    else
        rs_table_add_null(t);
    return rs_table_end_row(t, err);
}

rs_status rs_answer_findings(rs_explorer *x, const rs_explorer_request *request, rs_explorer_answer *answer,
                             rs_error *err)
{
    (void)request;
    RS_TRY(rs_explorer_need_job(x, err));
    if (!x->judged) {
        const rs_status status = rs_explorer_run(x->job, "diagnose", NULL, &x->verdict, err);
        x->judged = status == RS_OK;
        if (status != RS_OK) rs_result_clear(&x->verdict);
        if (status != RS_OK) return status;
    }
    rs_table *t = rs_table_create(&finding_table);
    rs_status status = t ? RS_OK : rs_fail_nomem(err, "the findings");
    for (size_t i = 0; status == RS_OK && i < rs_result_n_verdicts(&x->verdict); i++)
        status = add_finding(x, rs_result_verdict(&x->verdict, i), i + 1, t, err);
    rs_answer_append(answer, "{", 1);
    if (status == RS_OK) status = rs_answer_table(answer, "findings", t, true, err);
    rs_answer_append(answer, "}", 1);
    rs_table_free(t);
    return status;
}

/* ---- tables of a selection ----------------------------------------------------------------------------- */

/* A window as the option takes it, "10.000000-12.500000". */
static void write_window(bool own, int64_t from, int64_t to, char out[80])
{
    snprintf(out, 80, "%s%lld.%06lld-%lld.%06lld", own ? "own:" : "", (long long)(from / 1000000),
             (long long)(from % 1000000), (long long)(to / 1000000), (long long)(to % 1000000));
}

/* Restricts the job to what the request selects. */
static rs_status select_part(rs_explorer *x, const rs_explorer_request *request, rs_error *err)
{
    char ranks[4096], window[80], own[8];
    int64_t from, to;
    const bool within = rs_ask_text(request, "to", window, sizeof window);
    RS_TRY(rs_ask_window(request, x->map.last, &from, &to, err));
    const bool some = rs_ask_text(request, "ranks", ranks, sizeof ranks) && *ranks;
    if (within) write_window(rs_ask_text(request, "own", own, sizeof own), from, to, window);
    return rs_job_select(x->job, some ? ranks : x->settings.ranks, x->settings.steps,
                         within ? window : x->settings.window, err);
}

static rs_status select_all(rs_explorer *x, rs_error *err)
{
    return rs_job_select(x->job, x->settings.ranks, x->settings.steps, x->settings.window, err);
}

/* Analyses that read or write files other than the job's stay with the command line. */
static bool may_ask(const rs_analysis *analysis)
{
    return analysis && rs_analysis_input(analysis) == RS_INPUT_TRACES;
}

rs_status rs_answer_select(rs_explorer *x, const rs_explorer_request *request, rs_explorer_answer *answer,
                           rs_error *err)
{
    char name[64] = "", cut[8];
    static const char *const as_drawn[][2] = {{"cut", NULL}, {NULL, NULL}};
    rs_ask_text(request, "table", name, sizeof name);
    const rs_analysis *analysis = rs_analysis_find(name);
    if (!may_ask(analysis))
        return rs_fail(err, RS_ERR_USAGE, "there is no table \"%.60s\" of a selection", name);
    const bool cuts = strcmp(name, "breakdown") == 0 && rs_ask_text(request, "cut", cut, sizeof cut);
    rs_result result = {0};
    const rs_render_settings settings = {.size = sizeof settings,
                                         .form = rs_output_form_find("json"),
                                         .paths = x->paths,
                                         .n_paths = x->n_paths};
    const rs_sink sink = {rs_answer_append, answer};
    rs_error ignored = RS_ERROR_INIT;
    RS_TRY(rs_explorer_need_job(x, err));
    rs_status status = select_part(x, request, err);
    if (status == RS_OK) status = rs_explorer_run(x->job, name, cuts ? as_drawn : NULL, &result, err);
    if (status == RS_OK) status = rs_render_answer(analysis, RS_COMPAT_NONE, &result, &settings, &sink, err);
    rs_result_clear(&result);
    select_all(x, &ignored);
    return status;
}

/* ---- why ----------------------------------------------------------------------------------------------- */

static const rs_column_spec hop_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "whose time it is", NULL},
    {"event", RS_INT, RS_UNIT_ID, "its place in that rank's file", NULL},
    {"from", RS_INT, RS_UNIT_ID, "ns from the job's first event", NULL},
    {"to", RS_INT, RS_UNIT_ID, "...", NULL},
    {"ns", RS_INT, RS_UNIT_ID, "its part of the wait", NULL},
    {"part", RS_TEXT, RS_UNIT_NONE, "what it is spent on", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "kernel, call or operator", NULL},
};
static const rs_table_spec hop_table = {"hops", "one row is a link of the chain, the last in time first",
                                        hop_columns, sizeof hop_columns / sizeof *hop_columns};

/* Where the columns of `blame`'s chain are. */
typedef struct chain_columns {
    size_t wait, end, time, waiting, rank, event, part, kernel, op;
} chain_columns;

static chain_columns columns_of_chain(const rs_table *chain)
{
    return (chain_columns){.wait = rs_column_of(chain, "wait"),
                           .end = rs_column_of(chain, "end_us"),
                           .time = rs_column_of(chain, "duration_us"),
                           .waiting = rs_column_of(chain, "waiting_rank"),
                           .rank = rs_column_of(chain, "rank"),
                           .event = rs_column_of(chain, "event"),
                           .part = rs_column_of(chain, "part"),
                           .kernel = rs_column_of(chain, "kernel"),
                           .op = rs_column_of(chain, "operator")};
}

/* The links [at, end) of a chain as one hop, with the name of the longest. */
static rs_status put_hop(const rs_table *chain, const chain_columns *c, size_t at, size_t end, rs_table *t,
                         rs_error *err)
{
    size_t longest = at;
    int64_t ns = 0;
    const int64_t to = rs_table_int(chain, at, c->end);
    for (size_t i = at; i < end; i++) {
        ns += rs_table_int(chain, i, c->time);
        if (rs_table_int(chain, i, c->time) > rs_table_int(chain, longest, c->time)) longest = i;
    }
    rs_table_add_int(t, rs_table_int(chain, at, c->rank));
    if (rs_table_is_null(chain, longest, c->event))
        rs_table_add_null(t);
    else
        rs_table_add_int(t, rs_table_int(chain, longest, c->event));
    rs_table_add_int(t, to - ns);
    rs_table_add_int(t, to);
    rs_table_add_int(t, ns);
    rs_table_add_text(t, rs_table_text(chain, at, c->part, NULL));
    rs_table_add_text(
        t,
        rs_table_text(chain, longest, rs_table_is_null(chain, longest, c->kernel) ? c->op : c->kernel, NULL));
    return rs_table_end_row(t, err);
}

/* The rows of one kind of wait of `blame`'s chain, from row `at` on; *end: after them. merges: links that follow each other
 * on a rank and are spent on the same are one hop. */
static rs_status put_hops(const rs_table *chain, size_t at, bool merges, size_t *end,
                          rs_explorer_answer *answer, rs_error *err)
{
    const chain_columns c = columns_of_chain(chain);
    const char *kind = rs_table_text(chain, at, c.wait, NULL);
    const size_t n = rs_table_n_rows(chain);
    rs_table *t = rs_table_create(&hop_table);
    rs_status status = t ? RS_OK : rs_fail_nomem(err, "the chain of a wait");
    const int64_t until = rs_table_int(chain, at, c.end);
    int64_t sum = 0;
    rs_answer_print(answer, "{\"wait\":{\"kind\":\"%s\",\"rank\":%lld", kind,
                    (long long)rs_table_int(chain, at, c.waiting));
    for (size_t next; status == RS_OK && at < n && rs_table_text(chain, at, c.wait, NULL) == kind;
         at = next) {
        for (next = at + 1;
             merges && next < n && rs_table_text(chain, next, c.wait, NULL) == kind &&
             rs_table_int(chain, next, c.rank) == rs_table_int(chain, at, c.rank) &&
             rs_table_text(chain, next, c.part, NULL) == rs_table_text(chain, at, c.part, NULL);
             next++) {
        }
        for (size_t i = at; i < next; i++) sum += rs_table_int(chain, i, c.time);
        status = put_hop(chain, &c, at, next, t, err);
    }
    *end = at;
    rs_answer_print(answer, ",\"from\":%lld,\"to\":%lld},\"sum\":%lld", (long long)(until - sum),
                    (long long)until, (long long)sum);
    if (status == RS_OK) status = rs_answer_table(answer, "hops", t, false, err);
    rs_answer_append(answer, "}", 1);
    rs_table_free(t);
    return status;
}

rs_status rs_answer_why(rs_explorer *x, const rs_explorer_request *request, rs_explorer_answer *answer,
                        rs_error *err)
{
    char rank[24], at[40], kind[16] = "all";
    rs_result result = {0};
    const int64_t ns = rs_ask_int(request, "at", -1), event = rs_ask_int(request, "id", -1);
    if (ns < 0 && event < 0) return rs_fail(err, RS_ERR_USAGE, "at=NS or id=EVENT says which wait");
    snprintf(rank, sizeof rank, "%lld", (long long)rs_ask_int(request, "rank", -1));
    if (event >= 0)
        snprintf(at, sizeof at, "%lld", (long long)event);
    else
        snprintf(at, sizeof at, "%lld.%03lld", (long long)(ns / 1000), (long long)(ns % 1000));
    rs_ask_text(request, "wait", kind, sizeof kind);
    const char *const options[][2] = {
        {"of", rank}, {"method", "chain"}, {"wait", kind}, {event >= 0 ? "event" : "at", at}, {NULL, NULL}};
    RS_TRY(rs_explorer_need_job(x, err));
    rs_status status = rs_explorer_run(x->job, "blame", options, &result, err);
    const rs_table *chain = status == RS_OK ? rs_result_table(&result, "chain") : NULL;
    if (chain && !rs_table_n_rows(chain))
        status = rs_fail(err, RS_ERR_USAGE, "rank %s waits for nothing there", rank);
    rs_answer_append(answer, "{\"waits\":[", 10);
    for (size_t i = 0, n = chain ? rs_table_n_rows(chain) : 0; status == RS_OK && i < n;) {
        if (i) rs_answer_append(answer, ",", 1);
        status = put_hops(chain, i, false, &i, answer, err);
    }
    rs_answer_append(answer, "]}", 2);
    rs_result_clear(&result);
    return status;
}

rs_status rs_answer_path(rs_explorer *x, const rs_explorer_request *request, rs_explorer_answer *answer,
                         rs_error *err)
{
    char step[24] = "all";
    rs_result result = {0};
    size_t end;
    rs_ask_text(request, "step", step, sizeof step);
    const char *const options[][2] = {{"path", step}, {NULL, NULL}};
    RS_TRY(rs_explorer_need_job(x, err));
    rs_status status = rs_explorer_run(x->job, "blame", options, &result, err);
    const rs_table *chain = status == RS_OK ? rs_result_table(&result, "chain") : NULL;
    if (chain && !rs_table_n_rows(chain)) status = rs_fail(err, RS_ERR_USAGE, "nothing is on the path");
    rs_answer_append(answer, "{\"path\":", 8);
    if (status == RS_OK) status = put_hops(chain, 0, true, &end, answer, err);
    rs_answer_append(answer, "}", 1);
    rs_result_clear(&result);
    return status;
}

/* ---- what if ------------------------------------------------------------------------------------------- */

/* The row of the job, and not of a rank. */
static size_t row_of_job(const rs_table *t)
{
    size_t i = 0;
    while (i < rs_table_n_rows(t) && !rs_table_is_null(t, i, rs_column_of(t, "rank"))) i++;
    return i;
}

static const rs_column_spec what_if_columns[] = {
    {"id", RS_INT, RS_UNIT_ID, "for whatif= of map; unknown: refused", NULL},
    {"edit", RS_TEXT, RS_UNIT_NONE, "the question", NULL},
    {"before_us", RS_REAL, RS_UNIT_US, "a step as recorded", NULL},
    {"after_us", RS_REAL, RS_UNIT_US, "a step then", NULL},
    {"after_low_us", RS_REAL, RS_UNIT_US, "least", NULL},
    {"after_high_us", RS_REAL, RS_UNIT_US, "greatest", NULL},
    {"trusted", RS_INT, RS_UNIT_NONE, "1: the replay can be relied on", NULL},
    {"assumption", RS_TEXT, RS_UNIT_NONE, "what has to hold", NULL},
    {"reason", RS_TEXT, RS_UNIT_NONE, "why it is refused or not trusted", NULL},
    {"last_ns", RS_TIME, RS_UNIT_NS, "when the job would end", NULL},
};
static const rs_table_spec what_if_table = {"whatif", "one row is a question", what_if_columns,
                                            sizeof what_if_columns / sizeof *what_if_columns};

static double real_at(const rs_table *t, size_t row, const char *column)
{
    const size_t at = rs_column_of(t, column);
    return rs_table_is_null(t, row, at) ? (double)NAN : rs_table_real(t, row, at);
}

static rs_status write_what_if(const rs_table *answers, const char *edit, int64_t id, const rs_map *map,
                               rs_explorer_answer *out, rs_error *err)
{
    const size_t row = row_of_job(answers), trusted = rs_column_of(answers, "trusted");
    if (row == rs_table_n_rows(answers))
        return rs_fail(err, RS_ERR_USAGE, "the replay has no answer to this");
    rs_table *t = rs_table_create(&what_if_table);
    if (!t) return rs_fail_nomem(err, "a what-if");
    const double before = real_at(answers, row, "before_us");
    if (map->n)
        rs_table_add_int(t, id);
    else
        rs_table_add_null(t);
    rs_table_add_text(t, edit);
    rs_table_add_real(t, before);
    rs_table_add_real(t, real_at(answers, row, "after_us"));
    rs_table_add_real(t, before - real_at(answers, row, "gain_high_us"));
    rs_table_add_real(t, before - real_at(answers, row, "gain_low_us"));
    if (rs_table_is_null(answers, row, trusted))
        rs_table_add_null(t);
    else
        rs_table_add_int(t, rs_table_int(answers, row, trusted));
    rs_table_add_text(t, rs_table_text(answers, row, rs_column_of(answers, "assumption"), NULL));
    rs_table_add_text(t, rs_table_text(answers, row, rs_column_of(answers, "reason"), NULL));
    rs_table_add_time(t, map->last);
    rs_status status = rs_table_end_row(t, err);
    rs_answer_append(out, "{", 1);
    if (status == RS_OK) status = rs_answer_table(out, "whatif", t, true, err);
    rs_answer_append(out, "}", 1);
    rs_table_free(t);
    return status;
}

/* What was asked before is known. */
static bool answer_again(const rs_explorer *x, const char *edit, rs_explorer_answer *answer)
{
    for (size_t i = 0; i < x->n_mended; i++)
        if (strcmp(x->mended[i].edit, edit) == 0)
            return rs_answer_append(answer, x->mended[i].answer, x->mended[i].n_answer);
    return false;
}

rs_status rs_answer_what_if(rs_explorer *x, const rs_explorer_request *request, rs_explorer_answer *answer,
                            rs_error *err)
{
    RS_LOCAL char *edit = rs_strndup(request->body, request->n_body);
    if (!edit) return rs_fail_nomem(err, "a what-if");
    if (answer_again(x, edit, answer)) return RS_OK;
    const size_t at = x->n_mended;
    if (at == RS_MENDED_MAPS)
        return rs_fail(err, RS_ERR_USAGE, "there are %d what-ifs already; start again for more",
                       RS_MENDED_MAPS);
    const char *const options[][2] = {{"what-if", edit}, {"map", NULL}, {NULL, NULL}};
    rs_result result = {0};
    rs_mended *m = &x->mended[at];
    RS_TRY(rs_explorer_need_job(x, err));
    rs_status status = rs_explorer_run(x->job, "replay", options, &result, err);
    if (status == RS_OK) status = rs_map_make(rs_result_table(&result, "map"), &m->map, err);
    if (status == RS_OK)
        status = write_what_if(rs_result_table(&result, "what_if"), edit, (int64_t)at, &m->map, answer, err);
    if (status == RS_OK && m->map.n) {
        m->answer = rs_strndup(answer->bytes, answer->n);
        m->n_answer = answer->n;
        m->edit = edit;
        edit = NULL;
        if (!m->answer) status = rs_fail_nomem(err, "a what-if");
        atomic_store(&x->n_mended, at + 1);
    } else {
        rs_map_clear(&m->map);
    }
    rs_result_clear(&result);
    return status;
}

/* ---- search and SQL ------------------------------------------------------------------------------------ */

/* A text as a condition quotes it. */
static void quote(rs_explorer_answer *out, const char *text)
{
    rs_answer_append(out, "\"", 1);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') rs_answer_append(out, "\\", 1);
        rs_answer_append(out, text, 1);
    }
    rs_answer_append(out, "\"", 2); /* and the end */
}

rs_status rs_answer_search(rs_explorer *x, const rs_explorer_request *request, rs_explorer_answer *answer,
                           rs_error *err)
{
    char text[512], limit[24], kind[8];
    RS_SCOPED(rs_explorer_answer_clear) rs_explorer_answer where = {0};
    if (!rs_ask_text(request, "q", text, sizeof text) || !*text)
        return rs_fail(err, RS_ERR_USAGE, "q=TEXT says what is looked for");
    const bool pattern = rs_ask_text(request, "regex", kind, sizeof kind);
    rs_answer_print(&where, "phase = X and name %s ", pattern ? "=~" : "~");
    quote(&where, text);
    const int64_t most = rs_ask_int(request, "n", 50);
    snprintf(limit, sizeof limit, "%lld", (long long)(most < 1 ? 1 : most > 1000 ? 1000 : most));
    const char *const options[][2] = {{"where", where.bytes}, {"limit", limit}, {NULL, NULL}};
    rs_result result = {0};
    rs_error ignored = RS_ERROR_INIT;
    RS_TRY(rs_explorer_need_job(x, err));
    rs_status status = select_part(x, request, err);
    if (status == RS_OK) status = rs_explorer_run(x->job, "events", options, &result, err);
    rs_answer_append(answer, "{", 1);
    if (status == RS_OK)
        status = rs_answer_table(answer, "hits", rs_result_table(&result, "events"), true, err);
    rs_answer_append(answer, "}", 1);
    rs_result_clear(&result);
    select_all(x, &ignored);
    return status;
}

#define MOST_SQL_ROWS 10000

rs_status rs_answer_sql(rs_explorer *x, const rs_explorer_request *request, rs_explorer_answer *answer,
                        rs_error *err)
{
    const rs_sql_settings settings = {.size = sizeof settings, .timeout = RS_EXPLORER_SECONDS};
    const rs_render_settings form = {
        .size = sizeof form, .form = rs_output_form_find("json"), .budget = 4u << 20};
    const rs_sink sink = {rs_answer_append, answer};
    RS_LOCAL char *text = rs_strndup(request->body, request->n_body);
    rs_sql_session *session = NULL;
    rs_result result = {0};
    if (!text) return rs_fail_nomem(err, "a query");
    RS_TRY(rs_explorer_need_job(x, err));
    RS_TRY(rs_sql_open(x->job, &settings, &session, err));
    rs_status status = rs_sql_run(session, text, &result, err);
    if (status == RS_OK) status = rs_render_result(&result, 0, &form, &sink, err);
    rs_result_clear(&result);
    rs_sql_close(session);
    return status;
}
