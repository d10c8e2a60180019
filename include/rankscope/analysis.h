/* The analysis registry: one row an analysis, from which commands, help, schemas and bindings are derived. */
#ifndef RANKSCOPE_ANALYSIS_H
#define RANKSCOPE_ANALYSIS_H

#include "rankscope/status.h"
#include "rankscope/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options ---------------------------------------------------------------------------------------- */

typedef enum rs_option_type {
    RS_OPTION_FLAG,   /* present or not */
    RS_OPTION_INT,    /* a whole number >= 0 */
    RS_OPTION_REAL,   /* a number */
    RS_OPTION_TEXT,   /* any text */
    RS_OPTION_CHOICE, /* one of choices */
    RS_OPTION_RANGES, /* whole numbers and ranges: 0,3,8-15 */
    RS_OPTION_LIST,   /* texts: given again they add up, joined by commas */
    RS_OPTION_LINES   /* texts: given again they add up, joined by line ends */
} rs_option_type;

typedef struct rs_option_spec {
    const char *name; /* without the dashes; in Python '-' becomes '_' */
    rs_option_type type;
    const char *metavar;  /* what stands for the value in help; NULL for flags */
    const char *choices;  /* RS_OPTION_CHOICE: "type|name" */
    const char *fallback; /* the default as text; NULL: unset */
    const char *help;     /* one line */
} rs_option_spec;

typedef struct rs_options rs_options;

/* Values for a list of option specs, all at their defaults. The specs are borrowed; *out is NULL on failure:
 * out of memory, or RS_ERR_USAGE when a spec's own default is not what its type accepts. */
RS_API rs_status rs_options_create(const rs_option_spec *specs, size_t n, rs_options **out, rs_error *err);
RS_API void rs_options_free(rs_options *options);

/* Sets one option from text (NULL for a flag). RS_ERR_USAGE names the option, what it accepts and, for an
 * unknown name, the nearest known one. */
RS_API rs_status rs_options_set(rs_options *options, const char *name, const char *value, rs_error *err);

/* Reads. The name must be one of the specs'. Unset: false / 0 / NULL. */
RS_API bool rs_options_has(const rs_options *options,
                           const char *name); /* any name: whether there is such an option */
RS_API bool rs_options_is_set(const rs_options *options, const char *name);
RS_API bool rs_options_flag(const rs_options *options, const char *name);
RS_API int64_t rs_options_int(const rs_options *options, const char *name);
RS_API double rs_options_real(const rs_options *options, const char *name);
RS_API const char *rs_options_text(const rs_options *options, const char *name);
/* Whether value lies in the option's ranges; true when it is unset. */
RS_API bool rs_options_in_ranges(const rs_options *options, const char *name, int64_t value);

/* ---- results ---------------------------------------------------------------------------------------- */

/* The tables of one run, in the order of the analysis' specs, and what was wrong with the input.
 * Owned by the caller of rs_job_run and its kin; release with rs_result_clear. */
typedef struct rs_result {
    rs_table **tables;
    size_t n_tables;
    size_t main_table; /* which one csv, jsonl and md print; 0 unless the options of the analysis choose
                          another */
    rs_problems problems;
    char **notes; /* lines of reason for what is merely absent ("rank 0: no GPU events") */
    size_t n_notes;
    bool found; /* the thing looked for is there (an unfit capture, a failed gate): exit code 1 */
    struct rs_verdicts
        *verdicts; /* what the judge says of the job (rankscope/verdict.h); NULL: it was not asked */
} rs_result;

RS_API void rs_result_clear(rs_result *result);
/* The table of that name, or NULL. */
RS_API rs_table *rs_result_table(const rs_result *result, const char *name);

struct rs_gate; /* rankscope/gate.h */
/* Judges a table for a result: where rows meet the gate, result->found is set and a note says which.
 * RS_ERR_USAGE when the table's columns cannot answer it. */
RS_API rs_status rs_gate_judge(const struct rs_gate *gate, const rs_table *table, rs_result *result,
                               rs_error *err);

/* ---- the registry ----------------------------------------------------------------------------------- */

typedef enum rs_compat {
    RS_COMPAT_NONE = 0,
    RS_COMPAT_HTA,
    RS_COMPAT_HTA_EXACT,
    RS_COMPAT_TRACELENS,
    RS_COMPAT_AORTA,
    RS_COMPAT_STRAGGLER_ANALYSIS
} rs_compat;

typedef struct rs_analysis rs_analysis; /* laid out in src/analysis/analysis.h */

/* All analyses, sorted by name. */
RS_API const rs_analysis *const *rs_analyses(size_t *n);
RS_API const rs_analysis *rs_analysis_find(const char *name);

/* What analyses look at, as a table: the facts of a rank that are made once and kept with it. One row is one column of a
 * facet that shows itself as rows, or a facet that does not. Experimental. Owned by the caller; NULL when out of memory. */
RS_API rs_table *rs_facet_table(void);

RS_API const char *rs_analysis_name(const rs_analysis *analysis);
/* The heading under which help lists it, or the analysis with which it does; NULL: under no own one. */
RS_API const char *rs_analysis_group(const rs_analysis *analysis);
RS_API const char *rs_analysis_help(const rs_analysis *analysis); /* one line */
RS_API const char *
rs_analysis_about(const rs_analysis *analysis); /* paragraphs for --help and the man page */
RS_API const char *rs_analysis_examples(const rs_analysis *analysis); /* command lines, one a line */
RS_API const rs_option_spec *rs_analysis_options(const rs_analysis *analysis, size_t *n);
/* Whether an answer opens with the verdict of the job (rankscope/verdict.h). */
typedef enum rs_judged_how {
    RS_NOT_JUDGED,
    RS_JUDGED,           /* next to its tables, which are the same without */
    RS_JUDGED_IN_TABLES, /* its tables depend on it */
    RS_JUDGES            /* it is what the verdicts of others come from */
} rs_judged_how;
RS_API rs_judged_how rs_analysis_judged(const rs_analysis *analysis);
/* The table specs under a compatibility mode; NULL when the analysis does not know that mode. */
RS_API const rs_table_spec *const *rs_analysis_tables(const rs_analysis *analysis, rs_compat compat,
                                                      size_t *n);

/* How many inputs an analysis takes: 2 jobs (rs_job_run_pair), 2 jobs or more (rs_job_run_jobs), one file that
 * is no trace (rs_job_run on a job of that file alone), traces, or recordings of another kind and no traces. */
typedef enum rs_input_kind {
    RS_INPUT_TRACES,
    RS_INPUT_TWO_JOBS,
    RS_INPUT_FILE,
    RS_INPUT_JOBS,
    RS_INPUT_RECORDINGS
} rs_input_kind;
RS_API rs_input_kind rs_analysis_input(const rs_analysis *analysis);

#ifdef __cplusplus
}
#endif
#endif
