/* What an analysis is made of. An analysis is one file in this folder that defines one
 * `const rs_analysis rs_analysis_<file name>`; the build collects these rows into the registry. */
#ifndef RS_ANALYSIS_ANALYSIS_H
#define RS_ANALYSIS_ANALYSIS_H

#include "base/layout.h"
#include "input/source.h"
#include "rankscope/analysis.h"
#include "table/record.h"
#include "trace/trace.h"

/* Everything the functions of an analysis may consult. Read-only and shared by all threads of a run. */
typedef struct rs_run {
    const rs_options *options;
    rs_compat compat;
    const rs_policy *policy; /* the peer's rounding, window and classification as values */
    bool absolute;           /* times as the file has them, not from the job's first event */
    int64_t origin; /* for merge: what moments of the tables will count from, the job's first event */
    void *context;  /* of rs_job_run_with; only merge may change what it points to */
} rs_run;

/* One rank's share of the answer, as merge sees it: sorted by rank. */
typedef struct rs_partial {
    int64_t rank;
    void *value;
    int64_t first;           /* the rank's first event; RS_NO_TIME: none, or no table has moments */
    const char *source;      /* the file, for messages */
    const char *rank_rule;   /* where the rank number comes from */
    const char *domain_rule; /* how a merged file was told apart into ranks, NULL for an ordinary one */
    unsigned side;           /* 0, or 1 for the ranks of the second job of a comparison, which come last */
} rs_partial;

/* The training steps a rank showed, for peers that decide over all ranks. */
typedef struct rs_steps_seen {
    size_t n;      /* distinct numbers */
    int64_t first; /* the smallest */
} rs_steps_seen;

typedef struct rs_table_set {
    rs_compat compat;
    const rs_table_spec *const *tables;
    size_t n;
} rs_table_set;

/* The parts of a selection. */
enum rs_follows {
    RS_FOLLOWS_RANKS = 1,
    RS_FOLLOWS_STEPS = 2,
    RS_FOLLOWS_WINDOW = 4,
    RS_FOLLOWS_ALL = RS_FOLLOWS_RANKS | RS_FOLLOWS_STEPS | RS_FOLLOWS_WINDOW
};

struct rs_analysis {
    const char *name;
    const char *help;     /* one line, no full stop */
    const char *about;    /* what the numbers mean, how they are computed */
    const char *examples; /* command lines, one a line */
    const rs_option_spec *options;
    size_t n_options;
    uint64_t columns;               /* RS_COLUMN_BIT(...) of the arguments it reads */
    const rs_table_set *table_sets; /* the default first, then one for each peer it can imitate */
    size_t n_table_sets;
    unsigned follows;        /* rs_follows: what of a selection it follows; the rest it refuses */
    const char *follows_not; /* the reason, behind "NAME cannot follow --steps: " */
    bool two_sided;          /* compares two jobs: rs_job_run_pair */

    /* For input that is no trace: the only function of such an analysis. Reads the one file and fills
     * result->tables. */
    rs_status (*file)(const rs_run *run, rs_source *source, rs_result *result, rs_error *err);

    /* One rank: trace in, a small value out. Called on any thread. May return RS_OK with *partial NULL. */
    rs_status (*rank)(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
    /* All ranks: fills result->tables, already created in the order of the table set. Called once. */
    rs_status (*merge)(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err);
    void (*free_partial)(void *partial);
    /* What a partial consists of, for ranks that are analysed elsewhere; NULL: it does not travel. merge sees
     * such partials too and may only read them. */
    const rs_layout *partial_layout;
    /* The steps this rank showed; NULL unless the analysis follows HTA's window. */
    rs_steps_seen (*steps_seen)(const void *partial);
};

/* A column of a table spec: name, INT/REAL/TIME/TEXT, unit without RS_UNIT_, help, title (NULL: the name). */
#define RS_COLUMN(name, type, unit, help, title)                                                             \
    {                                                                                                        \
        name, RS_##type, RS_UNIT_##unit, help, title                                                         \
    }
/* The cells (table/record.h) of a table that names the file of each rank; the row is the rs_partial. */
#define RS_FILE_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_partial, source), "file", TEXT, NONE, "the file it was read from", NULL)
/* A table spec over an array of columns. */
#define RS_TABLE(name, help, columns)                                                                        \
    {                                                                                                        \
        name, help, columns, sizeof(columns) / sizeof *(columns)                                             \
    }

/* Adds a line of reason ("rank 0: no GPU events") that the user sees on stderr. Failure to store it is
 * ignored. */
void rs_result_note(rs_result *result, const char *format, ...) RS_PRINTF(2, 3);

/* Equal for equal values of equal options. */
uint64_t rs_options_fingerprint(const rs_options *options);

/* Frees the tables alone: a failed run keeps its problems and notes. */
void rs_result_drop_tables(rs_result *result);

#endif
