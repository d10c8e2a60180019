/* The checks behind `doctor`. */
#pragma once

#include "analysis/analysis.h"

typedef enum rs_finding_level { RS_FINE, RS_REMARK, RS_WEAK, RS_UNFIT } rs_finding_level;

/* What a check is about; static. */
typedef struct rs_doctor_check {
    const char *name;
    const char *disables; /* what a bad outcome takes away */
    const char
        *remedy; /* for the next recording; the row of a format may know a better one (format/format.h) */
} rs_doctor_check;

typedef struct rs_doctor_finding {
    rs_finding_level level;
    const rs_doctor_check *check;
    int64_t count;
    char *text;         /* owned by the list */
    const char *remedy; /* for who recorded this trace */
} rs_doctor_finding;

typedef struct rs_call_coverage {
    char *name; /* owned by the list */
    int64_t calls, with_work, work;
} rs_call_coverage;

typedef struct rs_findings {
    rs_doctor_finding *items;
    size_t n, capacity;
    rs_call_coverage *calls; /* by name */
    size_t n_calls, calls_capacity;
    bool out_of_memory;
    const rs_events *events; /* of the rank while it is examined */
} rs_findings;

void rs_finding_add(rs_findings *findings, rs_finding_level level, const rs_doctor_check *check,
                    int64_t count, const char *format, ...) RS_PRINTF(5, 6);

/* Names kernels that may be communication of an unknown kind. work: with details. */
rs_status rs_doctor_check_unknown(const rs_trace *trace, const rs_work *work, rs_findings *findings,
                                  rs_error *err);

/* Runs every check on one rank. */
rs_status rs_doctor_examine(rs_trace *trace, rs_findings *findings, rs_error *err);
