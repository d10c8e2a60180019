/* A window is added to the history, judged, and what is to be said of it is kept: all in one transaction. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/try.h"
#include "watch/watch.h"

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
        rs_free(w->open[i].kind);
        rs_free(w->open[i].subject);
    }
    w->n_open = 0;
}

static rs_status add_open(void *context, const rs_history_change *c, rs_error *err)
{
    rs_watch *w = context;
    if (!RS_GROW_ONE(w->open, w->n_open, w->open_capacity)) return rs_fail_nomem(err, "the changes");
    rs_open_change *o = &w->open[w->n_open];
    *o = (rs_open_change){
        .rank = c->rank, .begun = c->begun, .usual = c->usual, .now = c->now, .change = c->change};
    o->kind = rs_strdup(c->kind);
    o->subject = rs_strdup(c->subject);
    w->n_open++;
    return o->kind && o->subject ? RS_OK : rs_fail_nomem(err, "the changes");
}

rs_status rs_watch_list_open(rs_watch *w, rs_error *err)
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
    RS_TRY(rs_watch_list_open(w, err));
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

rs_status rs_watch_ask_judge(rs_watch *w, const rs_forming *f, rs_result *result, rs_error *err)
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

/* The verdict that says most about a change: a finding that accuses one of its ranks, else the first. */
static const rs_verdict *cause_of(const rs_result *judged, const rs_series_event *events, size_t n)
{
    for (size_t i = 0; i < rs_result_n_verdicts(judged); i++) {
        const rs_verdict *v = rs_result_verdict(judged, i);
        for (size_t k = 0; k < n && v->kind == RS_VERDICT_FINDING; k++)
            if (events[k].rank != RS_JOB && accuses(v, events[k].rank)) return v;
    }
    return rs_result_verdict(judged, 0);
}

/* As a sentence that follows others. */
static void put_cause(rs_text *text, const rs_verdict *v)
{
    if (!v)
        rs_text_put(text, "Cause: unknown; the window's traces could not be diagnosed.");
    else if (v->kind == RS_VERDICT_FINDING)
        rs_text_printf(text, "Cause: %s", v->text);
    else if (v->kind == RS_VERDICT_REFUSED)
        rs_text_printf(text, "Cause: not diagnosed. %s", v->text);
    else
        rs_text_printf(text, "Cause: none found among the ranks of this window. %s", v->text);
}

/* ---- what is said ------------------------------------------------------------------------------------------- */

static const char *const whats[] = {"begun", "over", "settled"};

static rs_status say(rs_watch *w, int64_t window, int64_t at_ns, const char *what, const char *kind,
                     const char *subject, const rs_text *text, rs_error *err)
{
    const char *words = rs_text_get(text);
    if (!words) return rs_fail_nomem(err, "a message");
    const rs_history_message m = {
        .window = window, .at_ns = at_ns, .what = what, .kind = kind, .subject = subject, .text = words};
    return rs_history_say(w->history, &m, err);
}

/* A change, or its end, as a row; *known: the history has it already. */
static rs_status keep_event(rs_watch *w, const rs_series_event *e, int64_t window, const char *cause,
                            bool *is_new, rs_error *err)
{
    const char *kind = rs_metric_specs[e->metric].name;
    if (e->what != RS_SERIES_BEGUN)
        return rs_history_end_change(w->history, kind, "", e->rank,
                                     e->what == RS_SERIES_OVER ? e->since : window, is_new, err);
    const rs_history_change c = {.kind = kind,
                                 .subject = "",
                                 .rank = e->rank,
                                 .begun = e->since,
                                 .usual = e->usual,
                                 .now = e->now,
                                 .change = e->change,
                                 .low = e->low,
                                 .high = e->high,
                                 .cause = cause};
    return rs_history_begin_change(w->history, &c, is_new, err);
}

/* Events of one metric and what, of the job or of ranks, are one message. *said: the cause that the message before gave; of it only
 * the claim is repeated, without what fixing it gains. */
static rs_status say_group(rs_watch *w, rs_series_event *events, size_t n, int64_t window, int64_t at_ns,
                           const rs_result *judged, const rs_verdict **said, rs_error *err)
{
    RS_SCOPED(rs_text_clear) rs_text cause = {0};
    RS_SCOPED(rs_text_clear) rs_text brief = {0};
    RS_SCOPED(rs_text_clear) rs_text text = {0};
    int64_t since_ns;
    size_t n_new = 0;
    bool begun = events[0].what == RS_SERIES_BEGUN, is_new;
    const rs_verdict *v = NULL;
    if (begun && events[0].metric != RS_WATCH_PRESENT) {
        v = cause_of(judged, events, n);
        put_cause(&cause, v);
        if (!rs_text_get(&cause)) return rs_fail_nomem(err, "a message");
    }
    for (size_t i = 0; i < n; i++) {
        RS_TRY(keep_event(w, &events[i], window, cause.s, &is_new, err));
        if (is_new) events[n_new++] = events[i];
    }
    if (!n_new) return RS_OK;
    RS_TRY(rs_history_window_start(w->history, events[0].since, &since_ns, err));
    const char *shown = cause.s;
    if (v && v == *said && v->claim) {
        rs_text_printf(&brief, "Cause: %s.", v->claim);
        shown = rs_text_get(&brief);
        if (!shown) return rs_fail_nomem(err, "a message");
    }
    rs_watch_put_events(&text, events, n_new, since_ns, shown);
    *said = v ? v : *said;
    return say(w, window, at_ns, whats[events[0].what], rs_metric_specs[events[0].metric].name,
               events[0].rank == RS_JOB ? "job" : "ranks", &text, err);
}

/* The job's changes first, then the ranks', in the metrics' order. */
static rs_status say_events(rs_watch *w, const rs_series_event *events, size_t n, int64_t window,
                            int64_t at_ns, const rs_result *judged, rs_error *err)
{
    RS_LOCAL rs_series_event *group = rs_malloc((n + 1) * sizeof *group);
    const rs_verdict *said = NULL;
    if (!group) return rs_fail_nomem(err, "the changes");
    for (int ranks = 0; ranks < 2; ranks++)
        for (int m = 0; m < RS_WATCH_METRICS; m++)
            for (int what = RS_SERIES_BEGUN; what <= RS_SERIES_SETTLED; what++) {
                size_t k = 0;
                for (size_t i = 0; i < n; i++)
                    if ((int)events[i].metric == m && (int)events[i].what == what &&
                        (events[i].rank != RS_JOB) == (ranks == 1))
                        group[k++] = events[i];
                if (k) RS_TRY(say_group(w, group, k, window, at_ns, judged, &said, err));
            }
    return RS_OK;
}

/* ---- findings ----------------------------------------------------------------------------------------------- */

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

/* What goes on without a measurement, or its end, as a row; *is_new: the history did not have it. */
static rs_status keep_state(rs_watch *w, const char *kind, const char *subject, bool goes_on, int64_t window,
                            const char *cause, bool *is_new, rs_error *err)
{
    if (!goes_on) return rs_history_end_change(w->history, kind, subject, RS_JOB, window, is_new, err);
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
    return rs_history_begin_change(w->history, &c, is_new, err);
}

static rs_status say_finding(rs_watch *w, const rs_condition *c, int64_t window, int64_t at_ns, rs_error *err)
{
    RS_SCOPED(rs_text_clear) rs_text kind = {0};
    RS_SCOPED(rs_text_clear) rs_text text = {0};
    int64_t since_ns;
    bool is_new;
    rs_text_printf(&kind, FINDING "%s", c->id);
    if (!rs_text_get(&kind)) return rs_fail_nomem(err, "a finding");
    RS_TRY(rs_history_window_start(w->history, c->since, &since_ns, err));
    if (c->open)
        rs_text_printf(&text, "%s Since ", c->text ? c->text : c->id);
    else
        rs_text_printf(&text, "Over: %s of %s, not found any more since ", c->id, c->subject);
    rs_watch_put_window(&text, c->since, since_ns);
    rs_text_put(&text, ".");
    RS_TRY(keep_state(w, kind.s, c->subject, c->open, c->since, c->text, &is_new, err));
    return is_new ? say(w, window, at_ns, whats[!c->open], kind.s, c->subject, &text, err) : RS_OK;
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
    rs_free(c->ranks);
    rs_free(c->values);
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
    if (needed) RS_TRY(rs_watch_ask_judge(w, f, &judged, err));
    RS_TRY(say_events(w, events, n, window->values.id, f->start_ns, &judged, err));
    if (n) RS_TRY(rs_watch_list_open(w, err));
    if (needed)
        RS_TRY(judge_findings(w, &judged, f->n >= w->most_ranks, window->values.id, f->start_ns, err));
    return rs_watch_list_open(w, err);
}

/* Whether another watcher has added all its files meanwhile. */
static rs_status is_known(rs_watch *w, const rs_forming *f, bool *known, rs_error *err)
{
    *known = true;
    for (size_t i = 0; i < f->n_files && *known; i++)
        RS_TRY(rs_history_has_file(w->history, w->files[f->files[i]].key, known, err));
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

static rs_status note(rs_watch *w, const char *kind, const char *subject, bool goes_on, const char *words,
                      rs_error *err)
{
    RS_SCOPED(rs_text_clear) rs_text text = {0};
    int64_t newest, start;
    bool is_new;
    RS_TRY(rs_history_newest(w->history, &newest, &start, err));
    RS_TRY(keep_state(w, kind, subject, goes_on, newest, words, &is_new, err));
    if (!is_new) return RS_OK;
    rs_text_put(&text, words);
    RS_TRY(say(w, newest, start, whats[!goes_on], kind, subject, &text, err));
    return rs_watch_list_open(w, err);
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
                                      .text = m->text};
    return d->deliver(d->context, &message, err);
}

rs_status rs_watch_deliver(rs_watch *w, rs_watch_outlet outlet, rs_watch_deliver_fn deliver, void *context,
                           rs_error *err)
{
    delivery d = {deliver, context};
    return rs_history_deliver(w->history, outlet == RS_WATCH_PRINT ? RS_OUTLET_PRINTED : RS_OUTLET_POSTED,
                              deliver_one, &d, err);
}

size_t rs_watch_n_open(const rs_watch *w)
{
    return w->n_open;
}
