/* What is wrong with a job, or would help it: verdicts of the one judge.
 *
 *     rs_job_run(job, rs_analysis_find("diagnose"), NULL, RS_COMPAT_NONE, &result, &err);
 *     const rs_verdict *v = rs_result_verdict(&result, 0);
 *     if (v && v->kind == RS_VERDICT_FINDING) puts(v->text);
 *
 * The first verdict of a result is the headline of every command that speaks of the job. Everything here is owned by the
 * result and lives as long. Structs grow at their end: `size` says what a library knows of them. Stability: experimental. */
#ifndef RANKSCOPE_VERDICT_H
#define RANKSCOPE_VERDICT_H

#include "rankscope/analysis.h"
#include "rankscope/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rs_verdict_kind {
    RS_VERDICT_FINDING,     /* something is wrong, against peers or against the rest of the job */
    RS_VERDICT_OPPORTUNITY, /* nothing is wrong there, yet it would help */
    RS_VERDICT_HEALTHY,     /* nothing worth its least gain was found */
    RS_VERDICT_REFUSED      /* nothing can be said, and why */
} rs_verdict_kind;
/* "finding", "opportunity", "healthy", "refused": the word in JSON. Static text. */
RS_API const char *rs_verdict_kind_name(rs_verdict_kind kind);

typedef enum rs_culprit_kind {
    RS_CULPRIT_RANK,
    RS_CULPRIT_HOST,
    RS_CULPRIT_GROUP,
    RS_CULPRIT_STAGE,
    RS_CULPRIT_KERNEL,
    RS_CULPRIT_CALL, /* a call or operator of the host */
    RS_CULPRIT_LINE, /* a source line */
} rs_culprit_kind;
/* "rank", "host", ...: the key in JSON. Static text. */
RS_API const char *rs_culprit_kind_name(rs_culprit_kind kind);

/* Who or what it is about. */
typedef struct rs_culprit {
    rs_culprit_kind kind;
    int64_t number;       /* of a rank, a stage; else -1 */
    const char *name;     /* of the others, whole; NULL */
    const int64_t *ranks; /* of a group, stage or host: its ranks, ascending */
    size_t n_ranks;
    const char *const *hosts; /* of a rank or a group: its hosts, where they are known */
    size_t n_hosts;
} rs_culprit;

typedef struct rs_evidence_option {
    const char *name, *value; /* value NULL: a flag */
} rs_evidence_option;

/* A question of this program that shows the numbers. */
typedef struct rs_evidence {
    const char *command; /* of the program; in Python the method of a job */
    const rs_evidence_option *options;
    size_t n_options;
} rs_evidence;

typedef struct rs_verdict {
    size_t size; /* sizeof(rs_verdict) of the library */
    rs_verdict_kind kind;
    bool sensitivity; /* it says how much something matters, not that it can be had */
    const char *id;   /* "straggler", "loader", ...; NULL: of no kind of fault */
    const rs_culprit *culprits;
    size_t n_culprits;
    /* A step of the job, us: as recorded, without the fault, and the 95 % interval of that; NaN where there are none. */
    int64_t steps; /* that it is the mean of; 0: the whole recording */
    double before_us, after_us, after_low_us, after_high_us;
    double gain_pct, gain_low_pct, gain_high_pct; /* of before_us */
    double bound_us;                              /* no gain is greater; NaN: unknown */
    /* The sentence, and its parts. */
    const char *text;
    const char *claim;      /* what is wrong, without a full stop; NULL: nothing */
    const char *remedy;     /* what to try; NULL */
    const char *assumption; /* under which the gain holds; NULL */
    const char *reason;     /* of RS_VERDICT_REFUSED; NULL */
    const rs_evidence *evidence;
    size_t n_evidence;
} rs_verdict;

/* The verdicts of a result: the most important first. 0: it was not judged. */
RS_API size_t rs_result_n_verdicts(const rs_result *result);
/* NULL: there are not so many. */
RS_API const rs_verdict *rs_result_verdict(const rs_result *result, size_t i);

/* Why a rank comes late to collectives: what the others waited for it, by who caused that. */
typedef struct rs_lateness {
    int64_t rank;
    int64_t cause;      /* the rank that most of it is due to; the rank itself where it is */
    double wait_us;     /* that other ranks waited for it, over collectives */
    double of_cause_us; /* of it, due to `cause` */
} rs_lateness;

/* Of each rank that others waited for significantly because of one that a finding accuses; most waited for first. */
RS_API size_t rs_result_n_lateness(const rs_result *result);
RS_API const rs_lateness *rs_result_lateness(const rs_result *result, size_t i);

/* A kind of fault, or a case of it, that was not examined, and why. */
typedef struct rs_unexamined {
    const char *id, *what, *reason; /* what NULL: all of its kind */
} rs_unexamined;
RS_API size_t rs_result_n_unexamined(const rs_result *result);
RS_API const rs_unexamined *rs_result_unexamined(const rs_result *result, size_t i);

typedef enum rs_evidence_form { RS_EVIDENCE_SHELL, RS_EVIDENCE_PYTHON } rs_evidence_form;
/* Writes the question as a command for a POSIX shell, or as a call in Python. paths: of the job; with none "PATH..." and
 * "job" take their place. */
RS_API rs_status rs_evidence_write(const rs_evidence *evidence, rs_evidence_form form,
                                   const char *const *paths, size_t n_paths, const rs_sink *sink,
                                   rs_error *err);

#ifdef __cplusplus
}
#endif
#endif
