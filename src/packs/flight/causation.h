/* What the log and the stacks tell of why. Internal to src/packs/flight. */
#pragma once

#include "flight/analyse.h"

/* Gives each finding whose ranks have one its cause. */
rs_status rs_fl_find_causes(rs_fl_analysis *a, rs_error *err);

/* Findings from the log alone, where there is no dump. */
rs_status rs_fl_judge_log(rs_fl_analysis *a, rs_error *err);

/* One sentence; NULL when out of memory. */
const char *rs_fl_cause_text(rs_flight *flight, const rs_flight_root *row);
/* What to do about it, NULL when the cause's kind asks for nothing of its own. */
const char *rs_fl_cause_next(rs_flight *flight, const rs_flight_root *row);
/* attempts_told.c: the attempts of the logs with what ended each; needs the resolved log. */
rs_status rs_fl_tell_attempts(rs_flight *flight, rs_error *err);
/* history.c: what to do, by the records of earlier attempts; nothing without a history. */
rs_status rs_fl_decide(rs_flight *flight, rs_error *err);
/* What is to be said of attempts next to the verdict; "" nothing, NULL when out of memory. */
const char *rs_fl_attempts_text(rs_flight *flight);
/* The answer where the attempt that is judged has no cause: fills the verdict and its sentence. False: there is
 * one attempt only, or its end has no such answer. */
bool rs_fl_judge_without_cause(rs_flight *flight, rs_flight_finding *out);
/* The parts of cause.c that it uses. */
typedef struct rs_fl_event rs_fl_event;
bool rs_fl_is_before(const rs_fl_event *a, const rs_fl_event *b);
bool rs_fl_is_together(const rs_fl_event *first, const rs_fl_event *e);
bool rs_fl_is_bare_end(const rs_fl_event *e);
const rs_flight_cause *rs_fl_cause_of_event(rs_flight *flight, const rs_fl_event *e, bool on_host);
/* What follows "Rank 3": a verb after a blank, or a clause of its own after a colon. */
const char *rs_fl_cause_clause(rs_flight *flight, const rs_flight_cause *c);
/* Whether a log was read at all. */
bool rs_fl_has_log(const rs_flight *flight);
