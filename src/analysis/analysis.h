/* What an analysis is made of. An analysis is one file in this folder that defines one
 * `const rs_analysis rs_analysis_<file name>`; the build collects these rows into the registry. */
#pragma once

#include "base/layout.h"
#include "format/format.h"
#include "input/source.h"
#include "rankscope/analysis.h"
#include "table/record.h"
#include "trace/facet.h"

/* Everything the functions of an analysis may consult. Read-only and shared by all threads of a run. */
typedef struct rs_run {
    const rs_options *options;
    const struct rs_plan *plan, *over; /* as the method has them */
    rs_compat compat;
    const rs_policy *policy;              /* the peer's rounding, window and classification as values */
    bool absolute;                        /* times as the file has them, not from the job's first event */
    const struct rs_selection *selection; /* what is asked about; NULL when packed partials are merged */
    int64_t origin;     /* for merge: what moments of the tables will count from, the job's first event */
    const void *agreed; /* what the round before came to; NULL in the first one */
    void *context;      /* of rs_job_each_rank, else NULL */
    const struct rs_verdicts
        *verdicts;   /* for merge: what the judge says of the job; NULL: it was not asked */
    size_t n_absent; /* for merge: ranks that brought no partial */
    unsigned jobs;   /* for merge: threads that it may use; 0: one. No answer depends on it */
} rs_run;

/* One rank's share of the answer, as merge sees it: sorted by rank. */
typedef struct rs_partial {
    int64_t rank;
    void *value;
    int64_t first;           /* the rank's first event; RS_NO_TIME: none, or no table has moments */
    const char *source;      /* the file, for messages */
    const char *role;        /* ROLE=PATH; NULL: not given, or made elsewhere */
    const char *rank_rule;   /* where the rank number comes from */
    const char *domain_rule; /* how a merged file was told apart into ranks, NULL for an ordinary one */
    unsigned side;           /* of a comparison: which of its jobs, in their order; else 0 */
} rs_partial;

/* One round of a question over ranks, before the last one (which is rank and merge of the analysis itself).
 *
 *   rank(trace) -> partial      on every rank, on any thread or machine
 *   agree(partials) -> agreed   once, in one place
 *
 * The next round is told what was agreed. A round that can foresee what its ranks may agree on costs no
 * second load: the next round is put to a rank under what it foresees, and again only where that proved
 * wrong. */
typedef struct rs_rank_round {
    const char *name; /* of what is agreed on, for messages */
    /* One rank's word; never NULL when this succeeds. */
    rs_status (*rank)(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
    /* Two partials as one of the same kind, a new one; the order of a and b does not matter. With it, agree
     * is given the partials of all ranks combined into one. NULL: agree is given them all, sorted by rank. */
    rs_status (*combine)(const void *a, const void *b, void **both, rs_error *err);
    rs_status (*agree)(const rs_run *run, const rs_partial *partials, size_t n, void **agreed, rs_error *err);
    /* What a rank that said this may hear in the end: the likeliest first. *agreed stays NULL when there is
     * no at-th possibility. NULL: nothing can be told before all ranks have spoken. */
    rs_status (*foresee)(const void *partial, size_t at, void **agreed, rs_error *err);
    /* Puts what was agreed into the rules that hold from then on; NULL: the next round reads run->agreed. */
    void (*adopt)(const void *agreed, rs_policy *policy);
    void (*free_partial)(void *partial); /* made by rank or combine */
    void (*free_agreed)(void *agreed);
    const rs_layout *partial_layout; /* NULL: does not travel */
    const rs_layout *agreed_layout;  /* values are compared as it packs them */
} rs_rank_round;

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
    RS_FOLLOWS_ALL = RS_FOLLOWS_RANKS | RS_FOLLOWS_STEPS | RS_FOLLOWS_WINDOW,
    /* It shows whose work it is, or what that does not change: not when the host issued it. --captures */
    RS_FOLLOWS_CAPTURES = 8
};

/* An option that names another job by its path, which is asked the same. The partials of the at-th one that is given
 * have side at + 1. */
typedef struct rs_side_option {
    const char *option;
    unsigned takes; /* RS_TAKES(...): what is read of it */
} rs_side_option;

struct rs_analysis {
    const char *name;
    const char *
        group; /* in help: a heading of cli/commands.c (NULL: the last), or the analysis of which it is an older name */
    const char *help;     /* one line, no full stop */
    const char *about;    /* what the numbers mean, how they are computed */
    const char *examples; /* command lines, one a line */
    const rs_option_spec *options;
    size_t n_options;
    const rs_facet *facets[RS_FACET_NEEDS]; /* what it asks of a rank; NULL behind the last */
    uint64_t columns; /* RS_COLUMN_BIT(...) of the arguments it reads beside those of its facets */
    uint64_t spares;  /* of RS_USUAL_COLUMNS, those that neither it nor its facets read under its own rules */
    /* Further ones that it reads under these options, RS_OTHER_ARGUMENTS among them; NULL: none. The options
     * may still be wrong: rank says so. */
    uint64_t (*more_columns)(const rs_options *options);
    const struct rs_plan
        *plan; /* analysis/plan.h: tables, rank, merge, free_partial and layout are its own. NULL: none */
    const rs_table_set *table_sets; /* the default first, then one for each peer it can imitate */
    size_t n_table_sets;
    unsigned takes;   /* RS_TAKES(...): the kinds of recording that it reads; 0: events. Of a job that has
                                allocations and events, too, an analysis that takes both reads the allocations */
    unsigned follows; /* rs_follows: what of a selection it follows; the rest it refuses */
    const char *follows_not;     /* the reason, behind "NAME cannot follow --steps: " */
    const rs_side_option *sides; /* ended by a NULL option; NULL: none */
    /* Whether rank asks under these options for selection->origin, the job's first event; NULL: only for a window. */
    bool (*wants_origin)(const rs_options *options);
    rs_judged_how judged;                           /* whether its answer opens with the verdict of the job */
    bool (*judged_when)(const rs_options *options); /* only then; NULL: always */
    bool two_sided;                                 /* compares two jobs: rs_job_run_pair */
    bool many_sided;                                /* compares two jobs or more: rs_job_run_jobs */

    /* For input that is no trace: the only function of such an analysis. Reads the one file and fills
     * result->tables. */
    rs_status (*file)(const rs_run *run, rs_source *source, rs_result *result, rs_error *err);
    /* Of an analysis that takes traces, too: whether a text that begins so is for `file`. Such a file comes
     * alone. NULL: every input is. */
    bool (*file_is)(const uint8_t *head, size_t n);
    unsigned file_follows; /* what of a selection `file` follows then, where `follows` is about traces */

    /* One rank: trace in, a small value out. Called on any thread. May return RS_OK with *partial NULL where
     * the row says `absent`: merge does not see that rank. */
    rs_status (*rank)(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
    /* All ranks: fills result->tables, already created in the order of the table set. Called once. */
    rs_status (*merge)(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err);
    const rs_rank_round *rounds; /* what ranks agree on before they answer */
    size_t n_rounds;
    void (*free_partial)(void *partial);
    const char *absent; /* the note of a rank without a partial: "no GPU work" */
    /* What a partial consists of, for ranks that are analysed elsewhere; NULL: it does not travel. merge sees
     * such partials too and may only read them. */
    const rs_layout *partial_layout;
    /* Of partials that other analyses have, too: a word for what they are under these options, under which the store keeps them once for
     * all that have the same facets and columns. NULL, or where it gives NULL: a partial depends on all options. */
    const char *(*partial_is)(const rs_options *options);
};

/* What imitates an analysis of another tool: a row of its own in src/packs/peer,
 * `const rs_peer_row rs_peer_<tool>_<analysis>`, collected by the build. Members that are NULL are those of
 * the analysis; the partial's layout and free_partial go with rank. */
typedef struct rs_peer_row {
    const char *analysis;       /* by name */
    unsigned modes;             /* RS_MODE(...) of each compatibility mode that it serves */
    const struct rs_plan *plan; /* as an analysis' */
    /* Tables and relations over ranks, of partials that the analysis' plan makes. Without relations: the analysis' own. */
    const struct rs_plan *over;
    const rs_table_spec *const *tables;
    size_t n_tables;
    const rs_rank_round *rounds; /* NULL: none */
    size_t n_rounds;
    rs_status (*file)(const rs_run *run, rs_source *source, rs_result *result, rs_error *err);
    rs_status (*rank)(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
    rs_status (*merge)(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err);
    void (*free_partial)(void *partial);
    const char *absent;
    const rs_layout *partial_layout;
} rs_peer_row;

#define RS_MODE(mode) (1u << RS_COMPAT_##mode)

/* How a question is answered under one mode: the functions of an analysis, or of a peer's row. */
typedef struct rs_method {
    const struct rs_plan *plan;  /* what rank follows; NULL: it has none */
    const struct rs_plan *over;  /* what merge follows, where that is another */
    const rs_rank_round *rounds; /* those before the last one */
    size_t n_rounds;
    rs_status (*file)(const rs_run *run, rs_source *source, rs_result *result, rs_error *err);
    rs_status (*rank)(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
    rs_status (*merge)(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err);
    void (*free_partial)(void *partial);
    const char *absent;
    const rs_layout *partial_layout;
} rs_method;

/* For a mode that the analysis does not know, its own method: it has no tables then, which the run says. */
rs_method rs_analysis_method(const rs_analysis *analysis, rs_compat compat);

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

/* Loaded for every analysis that does not spare them: most ask on which device and stream work ran. */
#define RS_USUAL_COLUMNS (RS_COLUMN_BIT(STREAM) | RS_COLUMN_BIT(DEVICE))

/* All arguments it reads, those of its facets and of what they stand on among them. */
static inline uint64_t rs_analysis_columns(const rs_analysis *analysis)
{
    return analysis->columns | rs_facet_columns(analysis->facets, RS_FACET_NEEDS) |
           (RS_USUAL_COLUMNS & ~analysis->spares);
}

/* Adds a line of reason ("rank 0: no GPU events") that the user sees on stderr. One that cannot be
 * stored is counted with the defects that could not be recorded. */
void rs_result_note(rs_result *result, const char *format, ...) RS_PRINTF(2, 3);

/* Equal for equal values of equal options. */
uint64_t rs_options_fingerprint(const rs_options *options);

/* Frees the tables alone: a failed run keeps its problems and notes. */
void rs_result_drop_tables(rs_result *result);
