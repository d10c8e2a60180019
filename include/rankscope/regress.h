/* Is the new code slower? A comparison of runs whose verdict holds, and the parts of the change.
 *
 *     rs_regress_side *base, *now;
 *     rs_regress_side_create(NULL, &base, &err); rs_regress_side_create(NULL, &now, &err);
 *     rs_regress_add_run(base, "base/1", job, &told, &err);            // once a run
 *     rs_regress_read(now, bytes, n, "baseline.json", &err);           // or what rs_regress_save wrote
 *     rs_regress_settings settings = {.size = sizeof settings};
 *     rs_status status = rs_regress(base, now, &settings, &result, &verdict, &err);
 *
 * The unit is the run: steps of one run resemble each other more than those of two, so that a test over steps
 * finds differences between equal code. A run's value is the mean length of its settled steps; a step's length
 * is the mean over ranks of each rank's own, which needs no common clock.
 *
 * Stability: experimental; new settings come at the end of the struct. */
#ifndef RANKSCOPE_REGRESS_H
#define RANKSCOPE_REGRESS_H

#include "rankscope/job.h"
#include "rankscope/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rs_regress_side rs_regress_side;

typedef enum rs_regress_verdict {
    RS_REGRESS_UNDECIDED, /* these runs cannot tell */
    RS_REGRESS_SAME,      /* the interval lies within the least effect */
    RS_REGRESS_SLOWER,
    RS_REGRESS_FASTER
} rs_regress_verdict;

/* What the parts of the change are parts of. */
typedef enum rs_regress_method {
    RS_REGRESS_PATH,   /* the steps' critical paths over all ranks */
    RS_REGRESS_EXPOSED /* the steps' time lines: each instant belongs to what runs then, computation first */
} rs_regress_method;

/* How long a step takes. */
typedef enum rs_regress_step {
    RS_REGRESS_STEP_RANK, /* the mean over ranks of each rank's own length: needs no common clock */
    RS_REGRESS_STEP_JOB   /* from the last rank's end to the last rank's end; the first step has none */
} rs_regress_step;

/* What the parts are told apart by beside the kind of time. */
typedef enum rs_regress_key {
    RS_REGRESS_KERNEL,   /* the kernel; of the host's time the operator or call */
    RS_REGRESS_PART,     /* nothing */
    RS_REGRESS_OPERATOR, /* the operator that launched it, or that the host was in; along the path only */
    RS_REGRESS_PHASE,    /* forward, backward, optimizer; along the path only */
    RS_REGRESS_GROUP     /* the process group of a transfer; along the path only */
} rs_regress_key;

/* What is taken of the runs that are added. */
typedef struct rs_regress_side_settings {
    size_t size; /* sizeof(rs_regress_side_settings) */
    rs_regress_step step;
    bool no_path; /* leave out the parts of the path, which need a replay of every run */
} rs_regress_side_settings;

typedef struct rs_regress_settings {
    size_t size;       /* sizeof(rs_regress_settings): needed, so that the struct can grow */
    double alpha;      /* share of false alarms that is accepted; 0: 0.05 */
    double min_effect; /* a change below that does not matter, 0.005 is half a percent; negative: 0 */
    double
        between_run_sd; /* relative standard deviation of equal runs, known from elsewhere; negative: not known */
    rs_regress_key key;
    rs_regress_method method; /* the path only where every run of both sides has one; a note says which not */
} rs_regress_settings;

/* settings: NULL for rank and path. */
RS_API rs_status rs_regress_side_create(const rs_regress_side_settings *settings, rs_regress_side **out,
                                        rs_error *err);
RS_API void rs_regress_side_free(rs_regress_side *side); /* NULL is allowed */

/* Adds a run: all ranks of a job. told: what was wrong with its inputs, initialised by the caller. Loads the
 * job once. A run without steps is added with none, and the verdict is undecided. The event graph of the first
 * run (about 16 bytes an event) stays with the side, so that parts can be tried out on it. */
RS_API rs_status rs_regress_add_run(rs_regress_side *side, const char *label, rs_job *job, rs_result *told,
                                    rs_error *err);

/* What a base needs, as JSON of some ten kB. */
RS_API rs_status rs_regress_save(const rs_regress_side *side, const rs_sink *sink, rs_error *err);
/* Adds the runs that rs_regress_save wrote. RS_ERR_FORMAT, with the byte, for anything else; RS_ERR_USAGE where
 * their steps are of another kind than the side's. */
RS_API rs_status rs_regress_read(rs_regress_side *side, const void *bytes, size_t n, const char *name,
                                 rs_error *err);
/* Whether the bytes begin as rs_regress_save writes. */
RS_API bool rs_regress_is_saved(const void *bytes, size_t n);

/* Compares. result gets the tables of rs_regress_tables; clear it either way. */
RS_API rs_status rs_regress(const rs_regress_side *base, const rs_regress_side *now,
                            const rs_regress_settings *settings, rs_result *result,
                            rs_regress_verdict *verdict, rs_error *err);
RS_API const char *rs_regress_verdict_name(rs_regress_verdict verdict); /* "slower". Static text */

/* The verdict and each part of at least min_effect (a share of the base's step) as test cases of JUnit. A verdict
 * of "slower" fails; so does "undecided" when strict. */
RS_API rs_status rs_regress_junit(const rs_result *result, rs_regress_verdict verdict, bool strict,
                                  double min_effect, const rs_sink *sink, rs_error *err);

/* Where the level of the runs changed, in the order in which they were added: E-divisive with Student's t-test, no
 * random numbers. Of settings alpha, min_effect, key and method count; alpha is for the whole history. result gets
 * the tables of rs_regress_history_tables. Fewer than RS_REGRESS_HISTORY runs with steps: no changes, and a note. */
RS_API rs_status rs_regress_history(const rs_regress_side *side, const rs_regress_settings *settings,
                                    rs_result *result, rs_error *err);
#define RS_REGRESS_HISTORY 10

/* verdict, parts, runs. */
RS_API extern const rs_table_spec *const rs_regress_tables[3];
/* history, changes, causes. */
RS_API extern const rs_table_spec *const rs_regress_history_tables[3];

#ifdef __cplusplus
}
#endif
#endif
