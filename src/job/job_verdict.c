/* The judge's question next to others. An analysis that is judged gets the verdict of the job: the question of the analysis
 * that judges is asked with it, so that each rank is loaded once for both, and answered first. */
#include <string.h>

#include "analysis/skeletons.h"
#include "base/memory.h"
#include "base/try.h"
#include "job/job_internal.h"
#include "verdict/verdicts.h"

static const rs_analysis *find_judge(void)
{
    size_t n;
    const rs_analysis *const *all = rs_analyses(&n);
    for (size_t i = 0; i < n; i++)
        if (all[i]->judged == RS_JUDGES) return all[i];
    return NULL;
}

/* Whether the query gets the verdict of its job. job: NULL where packed ranks are merged. */
static bool is_judged(const rs_job_settings *s, const rs_job *job, const rs_query *q)
{
    const rs_analysis *judge = find_judge();
    bool wanted =
        q->analysis->judged == RS_JUDGED_IN_TABLES || (q->analysis->judged == RS_JUDGED && !q->tables_alone);
    return judge && wanted && !s->no_verdict && q->compat == RS_COMPAT_NONE &&
           !(q->analysis->judged_when && q->options && !q->analysis->judged_when(q->options)) &&
           rs_analysis_can_follow(judge, s, false, NULL) == RS_OK &&
           !(job && rs_job_is_for_file(job, q->analysis));
}

/* What the judge is asked for a query: within bounds, and by the clocks that the query goes by. */
static rs_status make_options(const rs_analysis *judge, const rs_query *q, rs_options **out, rs_error *err)
{
    RS_TRY(rs_options_create(judge->options, judge->n_options, out, err));
    rs_status status = rs_options_set(*out, "most-events", RS_JUDGED_EVENTS, err);
    if (status == RS_OK && q->options && rs_options_has(q->options, "clocks") &&
        rs_options_is_set(q->options, "clocks"))
        status = rs_options_set(*out, "clocks", rs_options_text(q->options, "clocks"), err);
    return status;
}

rs_status rs_job_ask_judge(rs_job *job, rs_error *err)
{
    const rs_query asked = {.analysis = find_judge()};
    rs_options *options;
    rs_result result;
    rs_error why = RS_ERROR_INIT;
    if (!asked.analysis || job->settings.no_verdict ||
        rs_analysis_can_follow(asked.analysis, &job->settings, false, NULL) != RS_OK)
        return RS_OK;
    RS_TRY(make_options(asked.analysis, &asked, &options, err));
    const rs_status status = rs_job_run(job, asked.analysis, options, RS_COMPAT_NONE, &result, &why);
    rs_result_clear(&result);
    rs_options_free(options);
    if (status != RS_ERR_CANCELLED && status != RS_ERR_NOMEM) return RS_OK;
    if (err) *err = why;
    return status;
}

static bool same_question(const rs_query *a, const rs_query *b)
{
    return a->analysis == b->analysis && a->compat == b->compat && a->options && b->options &&
           rs_options_fingerprint(a->options) == rs_options_fingerprint(b->options);
}

static rs_status add_judge(rs_judged_queries *j, const rs_query *q, size_t *place, rs_error *err)
{
    const rs_analysis *judge = find_judge();
    rs_options *options = NULL;
    rs_status status = make_options(judge, q, &options, err);
    const rs_query asked = {.analysis = judge, .options = options};
    *place = 0;
    while (*place < j->n_judges && !same_question(&j->items[*place], &asked)) ++*place;
    if (status != RS_OK || *place < j->n_judges) {
        rs_options_free(options);
        return status;
    }
    j->options[j->n_judges] = options;
    j->items[j->n_judges++] = asked;
    return RS_OK;
}

rs_status rs_judged_queries_make(const rs_job_settings *settings, const rs_job *job, const rs_query *queries,
                                 size_t n, rs_judged_queries *out, rs_error *err)
{
    *out = (rs_judged_queries){.items = rs_calloc(2 * n + 1, sizeof *out->items),
                               .judge = rs_malloc((n + 1) * sizeof *out->judge),
                               .options = rs_calloc(n + 1, sizeof *out->options),
                               .results = rs_calloc(2 * n + 1, sizeof *out->results)};
    bool ok = out->items && out->judge && out->options && out->results;
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "run");
    for (size_t k = 0; status == RS_OK && k < n; k++) {
        out->judge[k] = SIZE_MAX;
        if (is_judged(settings, job, &queries[k])) status = add_judge(out, &queries[k], &out->judge[k], err);
    }
    if (status == RS_OK && n) memcpy(out->items + out->n_judges, queries, n * sizeof *queries);
    out->n = out->n_judges + n;
    return status;
}

void rs_judged_queries_clear(rs_judged_queries *j)
{
    for (size_t i = 0; j->results && i < j->n_judges; i++) rs_result_clear(&j->results[i]);
    for (size_t i = 0; j->options && i < j->n_judges; i++) rs_options_free(j->options[i]);
    rs_free_all(j->items, j->judge, j->options, j->results);
}

void rs_judged_failed(rs_result *result, rs_status status, const rs_error *why)
{
    /* memory that ran out, and a run that was stopped, say nothing of the job */
    if (status == RS_ERR_CANCELLED || status == RS_ERR_NOMEM) return;
    rs_verdicts_refuse(why->causes[0].message, &result->verdicts, NULL);
}

const struct rs_verdicts *rs_judged_verdicts(const rs_judged_queries *j, size_t k)
{
    size_t judge = k < j->n_judges ? SIZE_MAX : j->judge[k - j->n_judges];
    return judge == SIZE_MAX ? NULL : j->results[judge].verdicts;
}

void rs_judged_deliver(rs_judged_queries *j, rs_result *results)
{
    for (size_t k = j->n_judges; k < j->n; k++) {
        rs_result *r = &results[k - j->n_judges];
        size_t judge = j->judge[k - j->n_judges];
        *r = j->results[k];
        if (judge != SIZE_MAX && r->tables && !r->verdicts)
            r->verdicts = rs_verdicts_hold(j->results[judge].verdicts);
    }
}
