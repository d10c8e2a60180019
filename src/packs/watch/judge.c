/* A window is added to the history, judged, and what is to be said of it is kept: all in one transaction. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/try.h"
#include "text/numbers.h"
#include "watch/watch.h"

#define JOINED (2 * RS_SERIES_IN_A_ROW) /* windows within which further effects of a fault are found */
#define REPLAYED (RS_SERIES_RING + RS_SERIES_RING / 2) /* windows of which the series are made again */

/* ---- catching up -------------------------------------------------------------------------------------------- */

static rs_status push_again(void *context, const rs_window_values *values, rs_error *err)
{
    rs_watch *w = context;
    const rs_series_event *events;
    size_t n;
    w->newest = values->id;
    w->n_windows++;
    w->expected = values->n;
    if (values->n > w->most_ranks) w->most_ranks = values->n;
    return rs_series_push(w->series, values, &events, &n, err);
}

void rs_watch_clear_open(rs_watch *w)
{
    for (size_t i = 0; i < w->n_open; i++) {
        rs_free_all(w->open[i].kind, w->open[i].subject, w->open[i].culprit);
    }
    w->n_open = 0;
}

static rs_status add_open(void *context, const rs_history_change *c, rs_error *err)
{
    rs_watch *w = context;
    if (!RS_GROW_ONE(w->open, w->n_open, w->open_capacity)) return rs_fail_nomem(err, "the changes");
    rs_open_change *o = &w->open[w->n_open];
    *o = (rs_open_change){.rank = c->rank,
                          .begun = c->begun,
                          .fault = c->fault,
                          .usual = c->usual,
                          .now = c->now,
                          .change = c->change};
    o->kind = rs_strdup(c->kind);
    o->subject = rs_strdup(c->subject);
    o->culprit = c->culprit ? rs_strdup(c->culprit) : NULL;
    w->n_open++;
    return o->kind && o->subject && (o->culprit || !c->culprit) ? RS_OK : rs_fail_nomem(err, "the changes");
}

static rs_status watch_list_open(rs_watch *w, rs_error *err)
{
    rs_watch_clear_open(w);
    return rs_history_each_change(w->history, false, add_open, w, err);
}

/* The metric of that name, or RS_WATCH_METRICS. */
static rs_watch_metric metric_of(const char *kind)
{
    int m = 0;
    while (m < RS_WATCH_METRICS && strcmp(rs_metric_specs[m].name, kind) != 0) m++;
    return (rs_watch_metric)m;
}

static bool is_metric_open(const rs_watch *w, rs_watch_metric metric, int64_t rank)
{
    for (size_t i = 0; i < w->n_open; i++)
        if (w->open[i].rank == rank && metric_of(w->open[i].kind) == metric) return true;
    return false;
}

static rs_condition *condition_of(rs_watch *w, const char *id, const char *subject)
{
    for (size_t i = 0; i < w->n_conditions; i++)
        if (strcmp(w->conditions[i].id, id) == 0 && strcmp(w->conditions[i].subject, subject) == 0)
            return &w->conditions[i];
    if (!RS_GROW_ONE(w->conditions, w->n_conditions, w->conditions_capacity)) return NULL;
    rs_condition *c = &w->conditions[w->n_conditions];
    *c = (rs_condition){.id = rs_strdup(id), .subject = rs_strdup(subject)};
    w->n_conditions++; /* freed with the others, whatever was allocated */
    return c->id && c->subject ? c : NULL;
}

/* A finding is kept under "finding:ID", so that no metric has its name. */
#define FINDING "finding:"

/* The history's changes are what goes on, whatever the replay of some windows made of them. */
static rs_status settle_series(rs_watch *w, rs_error *err)
{
    for (size_t i = 0; i < w->n_open; i++) {
        const rs_open_change *o = &w->open[i];
        rs_watch_metric metric = metric_of(o->kind);
        if (metric < RS_WATCH_METRICS)
            RS_TRY(rs_series_set_open(w->series, metric, o->rank, true, o->begun, err));
        else if (strncmp(o->kind, FINDING, strlen(FINDING)) == 0) {
            rs_condition *c = condition_of(w, o->kind + strlen(FINDING), o->subject);
            if (!c) return rs_fail_nomem(err, "a finding");
            c->open = true;
            c->since = o->begun;
        }
    }
    return RS_OK;
}

static rs_status close_unknown(rs_watch *w, rs_watch_metric metric, int64_t rank, rs_error *err)
{
    return is_metric_open(w, metric, rank) ? RS_OK
                                           : rs_series_set_open(w->series, metric, rank, false, 0, err);
}

static rs_status close_ranks(void *context, const rs_window_values *values, rs_error *err)
{
    rs_watch *w = context;
    for (size_t i = 0; i < values->n; i++)
        for (int m = 0; m < RS_WATCH_STORED; m++)
            if (rs_metric_specs[m].of_rank)
                RS_TRY(close_unknown(w, (rs_watch_metric)m, values->ranks[i], err));
    return RS_OK;
}

static rs_status make_again(rs_watch *w, rs_error *err)
{
    int64_t newest, start;
    rs_series_free(w->series);
    w->series = rs_series_create(w->min_effect);
    w->n_windows = 0;
    if (!w->series) return rs_fail_nomem(err, "the series");
    RS_TRY(rs_history_newest(w->history, &newest, &start, err));
    w->newest = newest > REPLAYED ? newest - REPLAYED : 0;
    RS_TRY(rs_history_each_window(w->history, w->newest, push_again, w, err));
    RS_TRY(watch_list_open(w, err));
    for (int m = 0; m < RS_WATCH_STORED; m++)
        if (rs_metric_specs[m].of_job) RS_TRY(close_unknown(w, (rs_watch_metric)m, RS_JOB, err));
    if (w->newest) RS_TRY(rs_history_each_window(w->history, w->newest - 1, close_ranks, w, err));
    RS_TRY(settle_series(w, err));
    w->is_stale = false;
    return RS_OK;
}

rs_status rs_watch_catch_up(rs_watch *w, rs_error *err)
{
    int64_t newest, start;
    if (w->is_stale) return make_again(w, err);
    RS_TRY(rs_history_newest(w->history, &newest, &start, err));
    return newest == w->newest ? RS_OK : make_again(w, err); /* another watcher was faster */
}

/* ---- the judge ---------------------------------------------------------------------------------------------- */

static rs_status list_paths(const rs_watch *w, const rs_forming *f, const char **paths, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < f->n_files; i++)
        if (i == 0 || f->files[i] != f->files[i - 1]) paths[(*n)++] = w->paths.items[f->files[i]].text;
    return RS_OK;
}

/* What the judge says of the traces of a window. Every text is the result's own. */
static rs_status watch_ask_judge(rs_watch *w, const rs_forming *f, rs_result *result, rs_error *err)
{
    RS_LOCAL const char **paths = rs_malloc((f->n_files + 1) * sizeof *paths);
    rs_job *job = NULL;
    rs_error why = RS_ERROR_INIT;
    size_t n;
    if (!paths) return rs_fail_nomem(err, "a window");
    RS_TRY(list_paths(w, f, paths, &n));
    rs_status status = rs_job_open(paths, n, &w->job, &job, &why);
    if (status == RS_OK)
        status = rs_job_run(job, rs_analysis_find("diagnose"), NULL, RS_COMPAT_NONE, result, &why);
    rs_job_close(job);
    if (status != RS_ERR_NOMEM && status != RS_ERR_CANCELLED) return RS_OK; /* no verdict is no error */
    *err = why;
    return status;
}

static bool accuses(const rs_verdict *v, int64_t rank)
{
    for (size_t i = 0; i < v->n_culprits; i++)
        if (v->culprits[i].kind == RS_CULPRIT_RANK && v->culprits[i].number == rank) return true;
    return false;
}

static bool is_memory(const rs_series_event *e)
{
    return e->metric == RS_WATCH_MEMORY;
}

/* The verdict that says most about a change of time: a finding that accuses its rank, else the first. The judge compares times: of a
 * rank that is gone, and of memory, it knows nothing. */
static const rs_verdict *cause_of(const rs_result *judged, const rs_series_event *e)
{
    if (e->metric == RS_WATCH_PRESENT || is_memory(e)) return NULL;
    for (size_t i = 0; e->rank != RS_JOB && i < rs_result_n_verdicts(judged); i++) {
        const rs_verdict *v = rs_result_verdict(judged, i);
        if (v->kind == RS_VERDICT_FINDING && accuses(v, e->rank)) return v;
    }
    return rs_result_verdict(judged, 0);
}

/* As a sentence that follows others. What fixing it gains is given as a share: a message has one length of the step, which is the
 * measured one, and the judge's is from the last end of all ranks to the next. */
static void put_cause(rs_text *text, const rs_verdict *v)
{
    if (!v) {
        rs_text_put(text, "Cause: unknown; the window's traces could not be diagnosed.");
    } else if (v->kind == RS_VERDICT_FINDING && v->claim) {
        rs_text_printf(text, "Cause: %s. Fixing it would cut the %s by %s %% (95 %% CI %s to %s %%).",
                       v->claim, v->steps ? "step" : "recording", RS_FIXED(v->gain_pct, 1),
                       RS_FIXED(v->gain_low_pct, 1), RS_FIXED(v->gain_high_pct, 1));
    } else if (v->kind == RS_VERDICT_REFUSED) {
        rs_text_printf(text, "Cause: not diagnosed. %s", v->text);
    } else {
        rs_text_put(text, "Cause: none found among the ranks of this window.");
    }
}

static void put_culprits(rs_text *text, const rs_verdict *v)
{
    for (size_t i = 0; i < v->n_culprits; i++) {
        const rs_culprit *c = &v->culprits[i];
        rs_text_printf(text, "%s%s ", i ? ", " : "", rs_culprit_kind_name(c->kind));
        if (c->name)
            rs_text_put(text, c->name);
        else
            rs_text_printf(text, "%lld", (long long)c->number);
    }
    if (!v->n_culprits) rs_text_put(text, "job");
}

/* ---- what is said ------------------------------------------------------------------------------------------- */

static const char *const whats[] = {"begun", "over", "settled"};

static rs_status say(rs_watch *w, rs_history_message m, const rs_text *text, rs_error *err)
{
    m.text = rs_text_get(text);
    return m.text ? rs_history_say(w->history, &m, err) : rs_fail_nomem(err, "a message");
}

/* Changes that are said together, and what is said of them. */
typedef struct group {
    rs_series_event *events; /* borrowed; sorted */
    size_t n;
    const rs_verdict *verdict;
    rs_text cause, culprit; /* culprit "": it is none of the judge's findings */
    int64_t id;             /* 0: it is new */
} group;

static void group_clear(group *f)
{
    rs_text_clear(&f->cause);
    rs_text_clear(&f->culprit);
}

/* A change, or its end, as a row; *id: the fault that it is of, 0 where the history has it already. */
static rs_status keep_event(rs_watch *w, const rs_series_event *e, int64_t window, const group *f,
                            int64_t *id, rs_error *err)
{
    const char *kind = rs_metric_specs[e->metric].name;
    if (e->what != RS_SERIES_BEGUN)
        return rs_history_end_change(w->history, kind, "", e->rank,
                                     e->what == RS_SERIES_OVER ? e->since : window, id, err);
    const rs_history_change c = {.kind = kind,
                                 .subject = "",
                                 .rank = e->rank,
                                 .begun = e->since,
                                 .usual = e->usual,
                                 .now = e->now,
                                 .change = e->change,
                                 .low = e->low,
                                 .high = e->high,
                                 .cause = f->cause.s,
                                 .fault = f->id,
                                 .culprit = f->culprit.s};
    return rs_history_begin_change(w->history, &c, id, err);
}

/* The events of one fault, in the order in which they are said; the first one is the headline. */
static rs_status say_events(rs_watch *w, const rs_series_event *events, size_t n, const char *cause,
                            int64_t window, int64_t at_ns, int64_t id, rs_error *err)
{
    RS_SCOPED(rs_text_clear) rs_text text = {0};
    RS_SCOPED(rs_text_clear) rs_text subject = {0};
    int64_t since_ns;
    RS_TRY(rs_history_window_start(w->history, events[0].since, &since_ns, err));
    rs_watch_put_events(&text, events, n, since_ns, cause);
    rs_watch_put_subject(&subject, events, n);
    if (!rs_text_get(&subject)) return rs_fail_nomem(err, "a message");
    return say(w,
               (rs_history_message){.window = window,
                                    .at_ns = at_ns,
                                    .what = whats[events[0].what],
                                    .kind = rs_metric_specs[events[0].metric].name,
                                    .subject = subject.s,
                                    .fault = id},
               &text, err);
}

/* Whether the fault that the judge names goes on already, and began so shortly before that this is of it. */
static int64_t fault_with(const rs_watch *w, const char *culprit, int64_t since)
{
    for (size_t i = 0; culprit && i < w->n_open; i++) {
        const rs_open_change *o = &w->open[i];
        if (o->culprit && strcmp(o->culprit, culprit) == 0 && since <= o->begun + JOINED) return o->fault;
    }
    return 0;
}

/* One message; where the fault was said before, only if the step takes longer by now: its smaller effects are in the table. */
static rs_status begin_fault(rs_watch *w, group *f, int64_t window, int64_t at_ns, rs_error *err)
{
    size_t n_new = 0;
    const rs_verdict *v = f->verdict;
    if (f->events[0].metric != RS_WATCH_PRESENT && !is_memory(f->events)) put_cause(&f->cause, v);
    if (v && v->kind == RS_VERDICT_FINDING) {
        rs_text_printf(&f->culprit, "%s: ", v->id ? v->id : "finding");
        put_culprits(&f->culprit, v);
    }
    if (f->cause.failed || f->culprit.failed) return rs_fail_nomem(err, "a message");
    f->id = fault_with(w, f->culprit.s, f->events[0].since);
    bool was_said = f->id != 0;
    for (size_t i = 0; i < f->n; i++) {
        int64_t id;
        RS_TRY(keep_event(w, &f->events[i], window, f, &id, err));
        if (!id) continue;
        f->id = id;
        f->events[n_new++] = f->events[i];
    }
    if (!n_new || (was_said && f->events[0].metric != RS_WATCH_STEP)) return RS_OK;
    return say_events(w, f->events, n_new, f->cause.s, window, at_ns, f->id, err);
}

static bool is_same_fault(const rs_result *judged, const rs_series_event *a, const rs_series_event *b)
{
    return (a->metric == RS_WATCH_PRESENT) == (b->metric == RS_WATCH_PRESENT) &&
           is_memory(a) == is_memory(b) && cause_of(judged, a) == cause_of(judged, b);
}

/* What has one cause is one fault. */
static rs_status begin_faults(rs_watch *w, rs_series_event *events, size_t n, int64_t window, int64_t at_ns,
                              const rs_result *judged, rs_error *err)
{
    RS_LOCAL rs_series_event *of_one = rs_malloc((n + 1) * sizeof *of_one);
    if (!of_one) return rs_fail_nomem(err, "the changes");
    while (n) {
        size_t kept = 0;
        RS_SCOPED(group_clear) group f = {.events = of_one, .verdict = cause_of(judged, events)};
        for (size_t i = 0; i < n; i++)
            if (is_same_fault(judged, &events[0], &events[i])) of_one[f.n++] = events[i];
        for (size_t i = 0; i < n; i++)
            if (!is_same_fault(judged, &of_one[0], &events[i])) events[kept++] = events[i];
        n = kept;
        RS_TRY(begin_fault(w, &f, window, at_ns, err));
    }
    return RS_OK;
}

static bool goes_on(const rs_watch *w, int64_t id)
{
    for (size_t i = 0; i < w->n_open; i++)
        if (w->open[i].fault == id) return true;
    return false;
}

/* A fault is over when all its changes are. */
static rs_status end_faults(rs_watch *w, rs_series_event *events, size_t n, int64_t window, int64_t at_ns,
                            rs_error *err)
{
    RS_LOCAL int64_t *ids = rs_malloc((n + 1) * sizeof *ids);
    RS_LOCAL rs_series_event *of_one = rs_malloc((n + 1) * sizeof *of_one);
    if (!ids || !of_one) return rs_fail_nomem(err, "the changes");
    for (size_t i = 0; i < n; i++) RS_TRY(keep_event(w, &events[i], window, NULL, &ids[i], err));
    RS_TRY(watch_list_open(w, err));
    for (size_t i = 0; i < n; i++) {
        int64_t id = ids[i];
        size_t k = 0;
        if (!id || goes_on(w, id)) continue;
        for (size_t j = i; j < n; j++) {
            if (ids[j] != id) continue;
            of_one[k++] = events[j];
            ids[j] = 0;
        }
        RS_TRY(say_events(w, of_one, k, NULL, window, at_ns, id, err));
    }
    return RS_OK;
}

/* The job's changes first, then the ranks', in the metrics' order; those that begin, then the others. */
static bool is_before(const rs_series_event *a, const rs_series_event *b)
{
    bool ranks[2] = {a->rank != RS_JOB, b->rank != RS_JOB},
         ends[2] = {a->what != RS_SERIES_BEGUN, b->what != RS_SERIES_BEGUN};
    if (ends[0] != ends[1]) return ends[1];
    if (ranks[0] != ranks[1]) return ranks[1];
    if (a->metric != b->metric) return a->metric < b->metric;
    return a->rank < b->rank;
}

static int by_importance(const void *a, const void *b)
{
    return is_before(a, b) ? -1 : is_before(b, a);
}

static rs_status tell(rs_watch *w, const rs_series_event *events, size_t n, int64_t window, int64_t at_ns,
                      const rs_result *judged, rs_error *err)
{
    RS_LOCAL rs_series_event *sorted = rs_malloc((n + 1) * sizeof *sorted);
    size_t begun = 0;
    if (!sorted) return rs_fail_nomem(err, "the changes");
    if (n) memcpy(sorted, events, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_importance);
    while (begun < n && sorted[begun].what == RS_SERIES_BEGUN) begun++;
    RS_TRY(begin_faults(w, sorted, begun, window, at_ns, judged, err));
    return end_faults(w, sorted + begun, n - begun, window, at_ns, err);
}

/* ---- findings ----------------------------------------------------------------------------------------------- */

/* Whether a change of a series speaks of the same: of a rank that the finding accuses, or of the job's step. */
static bool is_covered(const rs_watch *w, const rs_verdict *v)
{
    bool names_rank = false;
    for (size_t i = 0; i < w->n_open; i++)
        if (metric_of(w->open[i].kind) < RS_WATCH_METRICS && accuses(v, w->open[i].rank)) return true;
    for (size_t i = 0; i < v->n_culprits; i++) names_rank |= v->culprits[i].kind == RS_CULPRIT_RANK;
    return !names_rank && is_metric_open(w, RS_WATCH_STEP, RS_JOB);
}

static rs_status see_finding(rs_watch *w, const rs_verdict *v, int64_t window, rs_error *err)
{
    RS_SCOPED(rs_text_clear) rs_text subject = {0};
    put_culprits(&subject, v);
    rs_condition *c = rs_text_get(&subject) ? condition_of(w, v->id ? v->id : "finding", subject.s) : NULL;
    if (!c) return rs_fail_nomem(err, "a finding");
    char *text = rs_strdup(v->text);
    if (!text) return rs_fail_nomem(err, "a finding");
    rs_free(c->text);
    c->text = text;
    c->seen = true;
    if (!c->run && !c->open) c->since = window;
    return RS_OK;
}

/* What goes on without a measurement, or its end, as a row; *fault: 0 where the history has it. */
static rs_status keep_state(rs_watch *w, const char *kind, const char *subject, bool on, int64_t window,
                            const char *cause, int64_t *fault, rs_error *err)
{
    if (!on) return rs_history_end_change(w->history, kind, subject, RS_JOB, window, fault, err);
    const rs_history_change c = {.kind = kind,
                                 .subject = subject,
                                 .rank = RS_JOB,
                                 .begun = window,
                                 .usual = (double)NAN,
                                 .now = (double)NAN,
                                 .change = (double)NAN,
                                 .low = (double)NAN,
                                 .high = (double)NAN,
                                 .cause = cause};
    return rs_history_begin_change(w->history, &c, fault, err);
}

static rs_status say_finding(rs_watch *w, const rs_condition *c, int64_t window, int64_t at_ns, rs_error *err)
{
    RS_SCOPED(rs_text_clear) rs_text kind = {0};
    RS_SCOPED(rs_text_clear) rs_text text = {0};
    int64_t since_ns, fault;
    rs_text_printf(&kind, FINDING "%s", c->id);
    if (!rs_text_get(&kind)) return rs_fail_nomem(err, "a finding");
    RS_TRY(rs_history_window_start(w->history, c->since, &since_ns, err));
    if (c->open)
        rs_text_printf(&text, "%s Since ", c->text ? c->text : c->id);
    else
        rs_text_printf(&text, "Over: %s of %s, not found any more since ", c->id, c->subject);
    rs_watch_put_window(&text, c->since, since_ns);
    rs_text_put(&text, ".");
    RS_TRY(keep_state(w, kind.s, c->subject, c->open, c->since, c->text, &fault, err));
    if (!fault) return RS_OK;
    return say(w,
               (rs_history_message){.window = window,
                                    .at_ns = at_ns,
                                    .what = whats[!c->open],
                                    .kind = kind.s,
                                    .subject = c->subject,
                                    .fault = fault},
               &text, err);
}

/* Three windows in a row begin a finding, three without it end it. */
static rs_status count_finding(rs_watch *w, rs_condition *c, bool is_whole, int64_t window, int64_t at_ns,
                               rs_error *err)
{
    if (!c->seen && c->open && !is_whole) return RS_OK; /* whoever is accused may be who is missing */
    if (c->open && !c->seen && !c->away) c->since = window;
    c->run = c->seen ? c->run + 1 : 0;
    c->away = c->seen ? 0 : c->away + 1;
    c->seen = false;
    bool was = c->open;
    if (!was && c->run >= RS_SERIES_IN_A_ROW) c->open = true;
    if (was && c->away >= RS_SERIES_IN_A_ROW) c->open = false;
    return c->open == was ? RS_OK : say_finding(w, c, window, at_ns, err);
}

static rs_status judge_findings(rs_watch *w, const rs_result *judged, bool is_whole, int64_t window,
                                int64_t at_ns, rs_error *err)
{
    for (size_t i = 0; i < rs_result_n_verdicts(judged); i++) {
        const rs_verdict *v = rs_result_verdict(judged, i);
        if (v->kind == RS_VERDICT_FINDING && !is_covered(w, v)) RS_TRY(see_finding(w, v, window, err));
    }
    for (size_t i = 0; i < w->n_conditions; i++)
        RS_TRY(count_finding(w, &w->conditions[i], is_whole, window, at_ns, err));
    return RS_OK;
}

/* While there is no baseline the judge is asked about each window, and while one of its findings may go on. */
static bool is_judge_needed(const rs_watch *w, size_t n_events)
{
    bool needed = n_events > 0 || w->n_windows <= RS_SERIES_LEAST + 1;
    for (size_t i = 0; i < w->n_conditions; i++) needed |= w->conditions[i].open || w->conditions[i].run;
    return needed;
}

/* ---- a window ----------------------------------------------------------------------------------------------- */

typedef struct columns {
    int64_t *ranks;
    float *values;
} columns;

static void columns_clear(columns *c)
{
    rs_free_all(c->ranks, c->values);
}

static rs_status make_columns(const rs_forming *f, columns *c, rs_history_window *out, rs_error *err)
{
    c->ranks = rs_malloc((f->n + 1) * sizeof *c->ranks);
    c->values = rs_malloc((f->n + 1) * RS_WATCH_STORED * sizeof *c->values);
    if (!c->ranks || !c->values) return rs_fail_nomem(err, "a window");
    *out = (rs_history_window){.start_ns = f->start_ns, .end_ns = f->end_ns, .first_step = f->first_step};
    out->values = (rs_window_values){.start_ns = f->start_ns, .ranks = c->ranks, .n = f->n};
    for (size_t i = 0; i < f->n; i++) c->ranks[i] = f->pieces[i].rank;
    for (int m = 0; m < RS_WATCH_STORED; m++) {
        float *column = c->values + (size_t)m * f->n;
        for (size_t i = 0; i < f->n; i++) {
            column[i] = f->pieces[i].values[m];
            if (!isnan(column[i])) out->values.values[m] = column;
        }
    }
    return RS_OK;
}

static bool names_fault(const rs_result *judged)
{
    return rs_result_n_verdicts(judged) && rs_result_verdict(judged, 0)->kind == RS_VERDICT_FINDING;
}

/* A change is in three windows by now. Where the judge finds nothing in the newest one (a rank may be missing in it), it is asked about
 * the others, and its first finding is the cause. */
static rs_status tell_with_cause(rs_watch *w, const rs_series_event *events, size_t n, int64_t window,
                                 int64_t at_ns, const rs_result *judged, rs_error *err)
{
    RS_SCOPED(rs_result_clear) rs_result earlier = {0};
    int64_t since = window;
    for (size_t i = 0; i < n; i++)
        if (events[i].what == RS_SERIES_BEGUN && events[i].since < since) since = events[i].since;
    for (size_t i = 0; i < RS_SERIES_IN_A_ROW - 1 && !names_fault(judged) && !names_fault(&earlier); i++) {
        if (w->recent[i].id < since || since == window) continue;
        rs_result_clear(&earlier);
        RS_TRY(watch_ask_judge(w, &w->recent[i], &earlier, err));
    }
    return tell(w, events, n, window, at_ns, names_fault(&earlier) ? &earlier : judged, err);
}

static rs_status judge(rs_watch *w, const rs_forming *f, rs_history_window *window, rs_error *err)
{
    const rs_series_event *events;
    size_t n;
    RS_SCOPED(rs_result_clear) rs_result judged = {0};
    RS_TRY(rs_series_push(w->series, &window->values, &events, &n, err));
    w->newest = window->values.id;
    w->n_windows++;
    if (f->n > w->most_ranks) w->most_ranks = f->n;
    bool needed = is_judge_needed(w, n);
    if (needed) RS_TRY(watch_ask_judge(w, f, &judged, err));
    if (n) RS_TRY(tell_with_cause(w, events, n, window->values.id, f->start_ns, &judged, err));
    if (needed)
        RS_TRY(judge_findings(w, &judged, f->n >= w->most_ranks, window->values.id, f->start_ns, err));
    return watch_list_open(w, err);
}

/* Whether another watcher has added all its files meanwhile. */
static rs_status is_known(rs_watch *w, const rs_forming *f, bool *known, rs_error *err)
{
    int64_t window = 1;
    for (size_t i = 0; i < f->n_files && window; i++)
        RS_TRY(rs_history_file_window(w->history, w->files[f->files[i]].key, &window, err));
    *known = window != 0;
    return RS_OK;
}

static rs_status add(rs_watch *w, const rs_forming *f, bool *is_new, rs_error *err)
{
    RS_SCOPED(columns_clear) columns c = {0};
    rs_history_window window;
    int64_t id;
    size_t n_added;
    bool known;
    RS_TRY(rs_watch_catch_up(w, err));
    RS_TRY(is_known(w, f, &known, err));
    if (known) return RS_OK;
    RS_TRY(make_columns(f, &c, &window, err));
    RS_TRY(rs_history_find_window(w->history, f->start_ns, f->end_ns, f->first_step, &id, err));
    if (id) { /* late ranks join their window; it is not judged a second time */
        RS_TRY(rs_history_add_ranks(w->history, id, &window.values, &n_added, err));
    } else {
        RS_TRY(rs_history_add_window(w->history, &window, &id, err));
        window.values.id = id;
        *is_new = true;
        RS_TRY(judge(w, f, &window, err));
    }
    for (size_t i = 0; i < f->n_files; i++)
        RS_TRY(rs_history_add_file(w->history, w->files[f->files[i]].key, id, err));
    return RS_OK;
}

rs_status rs_watch_seal(rs_watch *w, const rs_forming *f, bool *is_new, rs_error *err)
{
    *is_new = false;
    RS_TRY(rs_history_begin(w->history, err));
    rs_status status = add(w, f, is_new, err);
    if (status == RS_OK) status = rs_history_commit(w->history, err);
    if (status != RS_OK) w->is_stale = true; /* the series have seen what the history has not */
    rs_history_rollback(w->history);
    return status;
}

/* ---- what comes from elsewhere -------------------------------------------------------------------------------- */

static rs_status note(rs_watch *w, const char *kind, const char *subject, bool on, const char *words,
                      rs_error *err)
{
    RS_SCOPED(rs_text_clear) rs_text text = {0};
    rs_history_message m = {.what = whats[!on], .kind = kind, .subject = subject};
    RS_TRY(rs_history_newest(w->history, &m.window, &m.at_ns, err));
    RS_TRY(keep_state(w, kind, subject, on, m.window, words, &m.fault, err));
    if (!m.fault) return RS_OK;
    rs_text_put(&text, words);
    RS_TRY(say(w, m, &text, err));
    return watch_list_open(w, err);
}

rs_status rs_watch_note(rs_watch *w, const char *kind, const char *subject, bool goes_on, const char *text,
                        rs_error *err)
{
    RS_TRY(rs_history_begin(w->history, err));
    rs_status status = note(w, kind, subject, goes_on, text, err);
    if (status == RS_OK) status = rs_history_commit(w->history, err);
    rs_history_rollback(w->history);
    return status;
}

typedef struct delivery {
    rs_watch_deliver_fn deliver;
    void *context;
} delivery;

static rs_status deliver_one(void *context, const rs_history_message *m, rs_error *err)
{
    const delivery *d = context;
    const rs_watch_message message = {.id = m->id,
                                      .window = m->window,
                                      .at_ns = m->at_ns,
                                      .what = m->what,
                                      .kind = m->kind,
                                      .subject = m->subject,
                                      .text = m->text,
                                      .fault = m->fault < 0 ? 0 : m->fault};
    return d->deliver(d->context, &message, err);
}

rs_status rs_watch_deliver(rs_watch *w, rs_watch_deliver_fn deliver, void *context, rs_error *err)
{
    delivery d = {deliver, context};
    return rs_history_deliver(w->history, deliver_one, &d, err);
}

rs_status rs_watch_claim_post(rs_watch *w, int64_t lease_s, rs_watch_deliver_fn take, void *context,
                              bool *has, rs_error *err)
{
    delivery d = {take, context};
    int64_t now = (int64_t)time(NULL);
    *has = false;
    return rs_history_claim_post(w->history, now, now + lease_s, deliver_one, &d, has, err);
}

rs_status rs_watch_begin_posts(rs_watch *w, rs_error *err)
{
    return rs_history_skip_old_posts(w->history, err);
}

rs_status rs_watch_end_post(rs_watch *w, int64_t id, rs_watch_posted outcome, rs_error *err)
{
    return rs_history_end_post(w->history, id, (rs_posted)outcome, err);
}

int64_t rs_watch_newest(const rs_watch *w)
{
    return w->newest;
}

size_t rs_watch_n_open(const rs_watch *w)
{
    return w->n_open;
}
