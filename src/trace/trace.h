/* One rank's trace: its rows of the event columns, and what every analysis shares, computed once on first
 * need. */
#ifndef RS_TRACE_TRACE_H
#define RS_TRACE_TRACE_H

#include "rankscope/analysis.h"
#include "trace/events.h"

typedef enum rs_class {
    RS_CLASS_COMPUTE,
    RS_CLASS_COMM,
    RS_CLASS_MEMORY,
    RS_CLASS_OTHER, /* only under a peer's rules */
    RS_N_CLASSES
} rs_class;

/* Whose kernel classes count. */
typedef enum rs_class_rules { RS_CLASSES_OWN, RS_CLASSES_HTA, RS_CLASSES_TRACELENS } rs_class_rules;

/* A peer's rules as values (law 6). rs_policy_of gives the one for a compatibility mode. */
typedef struct rs_policy {
    rs_compat compat;
    bool rows_by_stream; /* GPU rows are those with a stream number, not those of a GPU category */
    rs_class_rules classes;
    bool trim_steps;     /* HTA's window: drop the last step and work without a surviving launch */
    bool keep_last_step; /* ... but keep the last step (include_last_profiler_step) */
    bool force_trim;     /* some other rank has steps: HTA trims this one too */
    bool round_to_us;    /* HTA: start up, end down to whole microseconds */
    bool linked_only;    /* TraceLens: only work whose launch is in the file */
    bool whole;          /* whatever steps or window are selected */
} rs_policy;

rs_policy rs_policy_of(rs_compat compat);

/* The GPU work of a rank, in row order, as the policy selects and times it. */
typedef struct rs_work {
    size_t n;
    size_t n_class[RS_N_CLASSES];
    uint32_t *row;
    int64_t *start, *end; /* ns */
    uint8_t *class;       /* rs_class */
    uint32_t *launch;     /* row of the launching call, RS_NO_ROW when it is not in the file */
    size_t n_unlinked;    /* work whose launch is not in the file, whether counted or not */
    size_t n_steps_seen;  /* under HTA's window: distinct steps in this rank before the cut */
    int64_t first_step;   /* ... the smallest of their numbers, -1 if none */
    uint32_t *by_start;   /* indices by start, then row: rs_trace_work_by_start; NULL: not yet asked */
    struct rs_busy *busy; /* how its time divides: rs_trace_busy of trace/busy.h; NULL: not yet asked */

    /* details: only there when asked for with rs_trace_work_details */
    bool has_details;
    int64_t *stream, *device; /* -1 when unknown */
    int64_t *correlation;     /* -1 when unknown */
    int64_t *step;            /* number of its step, -1 if none */
} rs_work;

/* A training step: ProfilerStep#N of the host. In a list they stand by start, then longest first, then row.
 */
typedef struct rs_step {
    int64_t number;
    uint32_t row;
    int64_t start, end;
    int64_t reach; /* latest end of this and all earlier ones in the list */
    int64_t pid;
} rs_step;

/* A launching call and its work: one call may own many kernels (graphs). */
typedef struct rs_links {
    size_t n_calls;      /* calls that own work */
    uint32_t *call;      /* rows, ascending */
    uint32_t *first;     /* n_calls + 1 offsets into work_row */
    uint32_t *work_row;  /* rows of GPU work, by call, then by start, then by row */
    size_t n_work;       /* linked GPU work */
    size_t n_unlinked;   /* GPU work without a launch in the file */
    size_t n_by_flow;    /* links that only a flow event could tell */
    size_t n_duplicate;  /* launches that repeat another's correlation: the later one in file order loses */
    size_t n_early;      /* work that starts before its launch does */
    uint32_t *launch_of; /* by index into trace->gpu_rows: row of the call or RS_NO_ROW */
} rs_links;

typedef struct rs_selection rs_selection; /* trace/selection.h */

typedef struct rs_trace rs_trace;
struct rs_trace {
    rs_events *events;  /* shared by the ranks of a merged file; freed with the last of them by the job */
    const char *file;   /* for messages; borrowed */
    char *const *parts; /* the files that were read as one; NULL: only file. Borrowed */
    size_t n_parts;
    const rs_problems *problems; /* what was wrong with that file; borrowed */
    int64_t rank;                /* RS_NO_VALUE until the job has settled it */
    const char *rank_rule;       /* how it was told: static text */
    uint32_t *rows;              /* this rank's rows, ascending; NULL: all rows of events */
    size_t n_rows;
    const rs_selection *selection; /* what is asked about; NULL: everything. The job's */

    /* computed on first need; use the functions below */
    uint32_t *gpu_rows; /* rows of GPU work with a start and a duration, ascending */
    size_t n_gpu_rows;
    bool have_gpu_rows;
    rs_links *links;
    double index_seconds; /* spent on links so far */
    bool have_calls;      /* links is complete, not only launch_of and the counts */
    rs_step *steps;
    size_t n_steps;
    rs_step *gpu_steps; /* the same as seen by the GPU: gpu_user_annotation */
    size_t n_gpu_steps;
    bool have_steps;
    rs_work *work[24]; /* a slot for every policy: modes, each with and without the last step and its force */
    rs_policy work_policy[24];
    struct rs_tree *tree[2];   /* the call tree without and with Python functions: trace/tree.h */
    uint8_t *class_of_name[3]; /* kernel class by string id, +1; 0 = not yet asked; by rs_class_rules */
    int64_t first_ns, last_ns; /* span of all complete events but the profiler's own; RS_NO_TIME: none */
    bool have_span;
};

/* The arguments that links, steps and work are told by: every analysis that uses them asks for these. */
#define RS_LINK_COLUMNS                                                                                      \
    (RS_COLUMN_BIT(CORRELATION) | RS_COLUMN_BIT(STREAM) | RS_COLUMN_BIT(DEVICE) | RS_COLUMN_BIT(FLOW_ID))

static inline uint32_t rs_trace_row(const rs_trace *trace, size_t i)
{
    return trace->rows ? trace->rows[i] : (uint32_t)i;
}

void rs_trace_init(rs_trace *trace, rs_events *events, uint32_t *rows, size_t n_rows);
/* Frees what the trace computed and its rows; not the events. */
void rs_trace_clear(rs_trace *trace);

/* Each computes once and keeps; the result is owned by the trace. Not thread-safe on one trace. */
rs_status rs_trace_gpu_rows(rs_trace *trace, const uint32_t **rows, size_t *n, rs_error *err);
/* launch_of and the counts only; call, first and work_row may still be missing. */
rs_status rs_trace_launches(rs_trace *trace, const rs_links **out, rs_error *err);
rs_status rs_trace_links(rs_trace *trace, const rs_links **out, rs_error *err);
rs_status rs_trace_steps(rs_trace *trace, const rs_step **out, size_t *n, rs_error *err);
rs_status rs_trace_work(rs_trace *trace, const rs_policy *policy, const rs_work **out, rs_error *err);
rs_status rs_trace_work_details(rs_trace *trace, const rs_policy *policy, const rs_work **out, rs_error *err);
/* The indices of the work by start, then row; the trace's. */
rs_status rs_trace_work_by_start(rs_trace *trace, const rs_policy *policy, const uint32_t **out,
                                 rs_error *err);
/* The GPU's own view of the steps (gpu_user_annotation), for work whose launch is not in the file. */
rs_status rs_trace_gpu_steps(rs_trace *trace, const rs_step **out, size_t *n, rs_error *err);
rs_status rs_trace_span(rs_trace *trace, int64_t *first_ns, int64_t *last_ns, rs_error *err);

/* The step a host event at (pid, ns) belongs to: innermost, else latest; -1 if none. */
int64_t rs_trace_step_at(const rs_step *steps, size_t n, int64_t pid, int64_t ns);

/* The class of a GPU event by its kind and name: the table in classes.c, with its sources. */
rs_class rs_class_of(rs_kind kind, const char *name, size_t length);
rs_class rs_class_of_hta(const char *name, size_t length);
rs_class rs_class_of_tracelens(rs_kind kind, const char *name, size_t length);
/* The class of a row under someone's rules, remembered by name. false when out of memory. */
bool rs_trace_class(rs_trace *trace, rs_class_rules rules, uint32_t row, rs_class *out);
extern const char *const rs_class_names[RS_N_CLASSES]; /* "computation", ... */

/* ---- rank domains (specs in docs/formats.md) ------------------------------------------------------- */

typedef struct rs_domains {
    size_t n;        /* ranks found; 1 for an ordinary file */
    uint32_t **rows; /* rows of each; NULL when n == 1 */
    size_t *n_rows;
    int64_t *rank;    /* the rank the events themselves name, else RS_NO_VALUE */
    const char *rule; /* how they were told apart: static text */
    uint64_t told_by; /* columns beyond those that are always read that had to be asked */
    uint64_t needs;   /* those of them that were not loaded: n is 0 then */
} rs_domains;

/* Splits a file's events into ranks, or refuses with RS_ERR_AMBIGUOUS and the reason. CORRELATION, RANK and
 * META_NAME must be loaded; where EXTERNAL_ID turns out to be needed too, out->needs says so. */
rs_status rs_domains_split(const rs_events *events, const char *file, rs_domains *out, rs_error *err);
void rs_domains_clear(rs_domains *domains);

#endif
