/* What became of torchrun's attempts, in a table and in words. */
#include "flight/causation.h"
#include "flight/log.h"

#include <inttypes.h>

#define MOST_TOLD 3 /* earlier attempts in the sentence */

static bool can_end(const rs_fl_event *e)
{
    return e->role == RS_FL_ORIGIN && e->fatal && e->attempt >= 0;
}

/* The deepest of the earliest events of each attempt: those that say more than that a process ended, then those. */
static bool find_ends(const rs_flight *flight, const rs_fl_event **ends)
{
    const rs_fl_log *log = flight->log;
    size_t n = log->n_attempts;
    RS_LOCAL const rs_fl_event **first = rs_calloc(2 * n, sizeof *first),
                               **best = rs_calloc(2 * n, sizeof *best);
    for (int pass = 0; first && best && pass < 2; pass++)
        for (size_t i = 0; i < log->n; i++) {
            const rs_fl_event *e = &log->events[i];
            if (!can_end(e)) continue;
            size_t at = (size_t)e->attempt + (rs_fl_is_bare_end(e) ? n : 0);
            if (pass == 0) {
                if (!first[at] || rs_fl_is_before(e, first[at])) first[at] = e;
            } else if (rs_fl_is_together(first[at], e)) {
                const rs_fl_event *b = best[at];
                if (!b || e->kind < b->kind || (e->kind == b->kind && rs_fl_is_before(e, b))) best[at] = e;
            }
        }
    bool good = first && best;
    for (size_t k = 0; good && k < n; k++) ends[k] = best[k] ? best[k] : best[n + k];
    return good;
}

rs_status rs_fl_tell_attempts(rs_flight *flight, rs_error *err)
{
    rs_fl_log *log = flight->log;
    if (!log) return RS_OK;
    rs_flight_attempt *told = rs_arena_alloc(&flight->arena, log->n_attempts * sizeof *told);
    RS_LOCAL const rs_fl_event **ends = rs_calloc(log->n_attempts, sizeof *ends);
    bool good = told && ends && find_ends(flight, ends);
    for (size_t k = 0; good && k < log->n_attempts; k++) {
        const rs_fl_attempt *a = &log->attempts[k];
        size_t mark = ends[k] && ends[k]->mark ? ends[k]->mark : a->failed;
        const rs_fl_mark *failed = mark ? &log->marks[mark - 1] : NULL;
        told[k] = (rs_flight_attempt){.outcome = rs_fl_outcome_name((rs_fl_outcome)a->outcome),
                                      .judged = k == log->judged,
                                      .local_rank = failed ? failed->local : -1,
                                      .pid = failed ? failed->pid : -1,
                                      .n_lines = a->n_lines,
                                      .signal = a->signal};
        if (ends[k] && !(told[k].cause = rs_fl_cause_of_event(flight, ends[k], false))) good = false;
    }
    for (size_t i = 0; good && i < log->n; i++)
        if (log->events[i].attempt >= 0) told[log->events[i].attempt].n_events++;
    if (!good) return rs_fail_nomem(err, "the attempts");
    flight->report.attempts = told;
    flight->report.n_attempts = log->n_attempts;
    return RS_OK;
}

/* "Attempt 0: rank 1 ended with exit code 7 (job.log:31)." */
static const char *tell(rs_flight *flight, size_t k)
{
    const rs_flight_attempt *a = &flight->report.attempts[k];
    const rs_flight_cause *c = a->cause;
    if (!c) return rs_fl_print(flight, " Attempt %zu: the log does not say why it ended.", k);
    const char *who =
        c->rank >= 0 ? rs_fl_print(flight, "rank %" PRId64, c->rank)
        : a->local_rank >= 0
            ? rs_fl_print(flight, "local rank %" PRId64 " (process %" PRId64 ")", a->local_rank, a->pid)
            : "a rank";
    const char *what = rs_fl_cause_clause(flight, c);
    if (!who || !what) return NULL;
    return rs_fl_print(flight, " Attempt %zu: %s%s (%s:%" PRId64 ").", k, who, what, c->file, c->line);
}

const char *rs_fl_attempts_text(rs_flight *flight)
{
    const rs_fl_log *log = flight->log;
    const char *text = "";
    if (!log) return text;
    size_t n = log->n_attempts, last = n - 1;
    if (log->attempts[last].outcome == RS_FL_CUT_OFF && log->judged == last)
        text =
            "torchrun's own report of the failure is missing: the log was cut, or the job was started again.";
    if (n == 1) return text;
    text = rs_fl_print(flight, "%s%storchrun ran the job %zu times%s.", text, *text ? " " : "", n,
                       n - 1 > MOST_TOLD ? rs_fl_print(flight, "; all are in --table attempts") : "");
    for (size_t k = last > MOST_TOLD ? last - MOST_TOLD : 0; text && k < last; k++) {
        const char *one = tell(flight, k);
        text = one ? rs_fl_print(flight, "%s%s", text, one) : NULL;
    }
    if (text && log->judged != last)
        text = rs_fl_print(
            flight,
            "%s The dumps are taken to be of attempt %zu, the last that failed: attempt %zu left no "
            "failure in the log.",
            text, log->judged, last);
    return text;
}

bool rs_fl_judge_without_cause(rs_flight *flight, rs_flight_finding *out)
{
    const rs_fl_log *log = flight->log;
    size_t last = log->n_attempts - 1;
    const rs_fl_attempt *a = &log->attempts[last];
    if (last == 0) return false;
    switch (a->outcome) {
    case RS_FL_FINISHED:
        out->verdict = RS_FLIGHT_HEALTHY;
        out->summary = rs_fl_print(flight, "Attempt %zu, the last, finished.", last);
        return true;
    case RS_FL_NO_FAILURE:
        /* It may hang: out->verdict stays what it is of a log that tells nothing. */
        out->summary = rs_fl_print(
            flight, "The log shows no failure in attempt %zu, the last, and not that it finished.", last);
        return true;
    case RS_FL_ENDED_BY_SIGNAL:
        out->verdict = RS_FLIGHT_CRASHED;
        out->summary = rs_fl_print(
            flight, "Attempt %zu, the last, was stopped from outside: torchrun received signal %" PRId64 ".",
            last, a->signal);
        return true;
    default: break;
    }
    const char *one = flight->report.attempts[last].cause ? tell(flight, last) : NULL;
    if (!one) return false;
    out->verdict = RS_FLIGHT_CRASHED;
    out->summary = rs_fl_print(flight, "%s Which rank of the job that is, the log does not say.", one + 1);
    return true;
}
