/* One rank's trace: its rows of the event columns, and what every analysis shares, computed once on first
 * need. */
#pragma once

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

/* The user's own rules for classes, which hold before every other one. */
typedef struct rs_class_judge {
    bool (*judge)(const void *context, const char *name, size_t length,
                  rs_class *out); /* false: no rule fits. Any thread */
    const void *context;
} rs_class_judge;

typedef struct rs_trace rs_trace;
typedef struct rs_work rs_work;
typedef struct rs_policy rs_policy;

/* A peer's rules as values (law 6). rs_policy_of gives the one for a compatibility mode: a peer's are a row
 * in src/packs/peer, `const rs_policy rs_policy_NAME`, collected by the build. */
struct rs_policy {
    rs_compat compat;
    /* Lists the GPU work by the peer's own rules, with details; NULL: it is every row of a GPU category. */
    rs_status (*work)(rs_trace *trace, const rs_policy *policy, rs_work **out, rs_error *err);
    rs_class_rules classes;
    bool trim_steps;     /* HTA's window: drop the last step and work without a surviving launch; whether it
                            does is agreed on by all ranks (peer/hta_steps.c) */
    bool keep_last_step; /* ... but keep the last step (include_last_profiler_step) */
    bool round_to_us;    /* HTA: start up, end down to whole microseconds */
    int64_t
        quantum_ns;   /* times that several kinds of work share are cut to whole multiples of it; 0: exact */
    bool linked_only; /* TraceLens: only work whose launch is in the file */
    bool whole;       /* whatever steps or window are selected */
};

extern const rs_policy *const rs_policy_rows[]; /* the peers', ended by NULL */
rs_policy rs_policy_of(rs_compat compat);

/* The GPU work of a rank, in row order, as the policy selects and times it. */
struct rs_work {
    size_t n;
    size_t n_class[RS_N_CLASSES];
    uint32_t *row;
    int64_t *start, *end; /* ns */
    uint8_t *class;       /* rs_class */
    uint32_t *launch;     /* row of the launching call, RS_NO_ROW when it is not in the file */
    size_t n_unlinked;    /* work whose launch is not in the file, whether counted or not */

    /* details: only there when asked for with rs_trace_work_details */
    bool has_details;
    bool shares_rows, shares_details; /* which arrays are another one's */
    bool shares_lists;                /* row and launch are those of the facets it is based on */
    int64_t *stream, *device;         /* -1 when unknown */
    int64_t *correlation;             /* -1 when unknown */
    int64_t *step;                    /* number of its step, -1 if none */
};

/* A piece of GPU work, as the facets work and work_details show it. */
typedef struct rs_work_row {
    uint32_t name, row, launch; /* name: of the events' texts; launch: RS_NO_ROW is unknown */
    uint8_t class;              /* rs_class */
    int64_t start, end, length;
    int64_t device, stream, correlation, step; /* only of work_details; -1 when unknown */
} rs_work_row;

/* For policies that list the GPU work by rules of their own: an empty list with room for n rows, and room for their
 * details. NULL and false when out of memory. */
rs_work *rs_work_create(size_t n);
bool rs_work_reserve_details(rs_work *work, size_t n);
void rs_work_free(rs_work *work);

/* What tells the steps of a rank. */
typedef enum rs_step_source {
    RS_STEPS_NONE,
    RS_STEPS_ANNOTATED,  /* ProfilerStep#N */
    RS_STEPS_SERVING,    /* annotations of a serving engine (trace/serving.h) */
    RS_STEPS_REPETITION, /* the same work comes repeatedly (trace/repeated_steps.h) */
    RS_N_STEP_SOURCES
} rs_step_source;

/* A step of training or serving. In a list they stand by start, then longest first, then row. */
typedef struct rs_step {
    int64_t number; /* the annotation's; else counted from 0 */
    uint32_t row;   /* the annotation; of a step by repetition, its first launch or work */
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
    uint32_t *launch_of; /* by index into the rank's GPU rows: row of the call or RS_NO_ROW */
    bool lent;           /* launch_of is the store's: trace/facet.h */
} rs_links;

typedef struct rs_selection rs_selection; /* trace/selection.h */

/* One of several files that the profiler wrote of one rank, one after another (a schedule that repeats). */
typedef struct rs_recording {
    const char *file; /* borrowed */
    uint32_t first_row;
    const char *packing, *form; /* static */
    uint64_t n_bytes, n_lost, n_rounded;
    bool truncated;
} rs_recording;

struct rs_trace {
    rs_events *events;  /* shared by the ranks of a merged file; freed with the last of them by the job */
    const char *file;   /* for messages; borrowed */
    char *const *parts; /* the files that were read as one; NULL: only file. Borrowed */
    size_t n_parts;
    const rs_recording *recordings; /* in the order of time, where there are several; borrowed */
    size_t n_recordings;
    const rs_problems *problems; /* what was wrong with that file; borrowed */
    int64_t rank;                /* RS_NO_VALUE until the job has settled it */
    const char *rank_rule;       /* how it was told: static text */
    const char *role;            /* ROLE=PATH; NULL: not given. Borrowed */
    uint32_t *rows;              /* this rank's rows, ascending; NULL: all rows of events */
    size_t n_rows;
    const rs_selection *selection; /* what is asked about; NULL: everything. The job's */
    const rs_class_judge *judge;   /* NULL: there are no rules but the built-in ones. The job's */

    struct rs_facet_value *facets; /* what was made of the rank so far, the latest first: trace/facet.h */
    const struct rs_facet_keeper *keeper; /* who stores some of them; NULL: nobody. Borrowed */
    double index_seconds;                 /* spent on links between launches and work so far */
};

/* The arguments that links, steps and work are identified by: every analysis that uses them asks for these. */
#define RS_LINK_COLUMNS                                                                                      \
    (RS_COLUMN_BIT(CORRELATION) | RS_COLUMN_BIT(STREAM) | RS_COLUMN_BIT(DEVICE) | RS_COLUMN_BIT(FLOW_ID))

static inline uint32_t rs_trace_row(const rs_trace *trace, size_t i)
{
    return trace->rows ? trace->rows[i] : (uint32_t)i;
}

void rs_trace_init(rs_trace *trace, rs_events *events, uint32_t *rows, size_t n_rows);
/* Frees what the trace computed and its rows; not the events. */
void rs_trace_clear(rs_trace *trace);

/* Facets: each is made once, on first need, and lives as long as the trace, which owns it. Not thread-safe on
 * one trace. */
typedef struct rs_facet rs_facet; /* trace/facet.h */
typedef struct rs_facet_value rs_facet_value;
extern const rs_facet rs_facet_gpu_rows, rs_facet_launches, rs_facet_links, rs_facet_steps,
    rs_facet_annotated_steps, rs_facet_span, rs_facet_classes, rs_facet_work, rs_facet_work_details,
    rs_facet_work_by_start;

/* rows of GPU work with a start and a duration, ascending */
rs_status rs_trace_gpu_rows(rs_trace *trace, const uint32_t **rows, size_t *n, rs_error *err);
/* How many calls of the host to a device there are. */
rs_status rs_trace_n_calls(rs_trace *trace, size_t *n, rs_error *err);
/* launch_of and the counts only; call, first and work_row may still be missing. */
rs_status rs_trace_launches(rs_trace *trace, const rs_links **out, rs_error *err);
rs_status rs_trace_links(rs_trace *trace, const rs_links **out, rs_error *err);
/* The steps as the host shows them: ProfilerStep#N where the rank has such, on the host or the GPU; else the
 * annotations of a serving engine; else what its work tells by repeating itself. */
rs_status rs_trace_steps(rs_trace *trace, const rs_step **out, size_t *n, rs_error *err);
rs_status rs_trace_step_source(rs_trace *trace, rs_step_source *out, rs_error *err);
/* ProfilerStep#N only: what other tools know. */
rs_status rs_trace_annotated_steps(rs_trace *trace, const rs_step **out, size_t *n, rs_error *err);
rs_status rs_trace_work(rs_trace *trace, const rs_policy *policy, const rs_work **out, rs_error *err);
rs_status rs_trace_work_details(rs_trace *trace, const rs_policy *policy, const rs_work **out, rs_error *err);
/* The indices of the work by start, then row; the trace's. */
rs_status rs_trace_work_by_start(rs_trace *trace, const rs_policy *policy, const uint32_t **out,
                                 rs_error *err);
/* The GPU's own view of the steps (gpu_user_annotation, or where the work repeats itself), for work whose
 * launch is not in the file. */
rs_status rs_trace_gpu_steps(rs_trace *trace, const rs_step **out, size_t *n, rs_error *err);
rs_status rs_trace_span(rs_trace *trace, int64_t *first_ns, int64_t *last_ns, rs_error *err);

/* The step a host event at (pid, ns) belongs to: innermost, else latest; -1 if none. */
int64_t rs_trace_step_at(const rs_step *steps, size_t n, int64_t pid, int64_t ns);

/* The class of a GPU event by its kind and name: the table in classes.c, with its sources. */
rs_class rs_class_of(rs_kind kind, const char *name, size_t length);
rs_class rs_class_of_hta(const char *name, size_t length);
rs_class rs_class_of_tracelens(rs_kind kind, const char *name, size_t length);
/* Kernel classes under someone's rules, remembered by name. */
typedef struct rs_classes {
    const rs_events *e;
    rs_class_rules rules;
    const rs_class_judge *judge; /* NULL: none, or a peer's rules */
    uint8_t *of_name;            /* by string id, +1; 0 = not yet asked */
    uint8_t *judged;             /* the same by the judge, RS_N_CLASSES + 1 where none of its rules fits */
} rs_classes;
rs_status rs_trace_classes(rs_trace *trace, rs_class_rules rules, const rs_classes **out, rs_error *err);
rs_class rs_class_at(const rs_classes *classes, uint32_t row);
extern const char *const rs_class_names[RS_N_CLASSES]; /* "computation", ... */

/* ---- rank domains (specs in docs/formats.md) ------------------------------------------------------- */

typedef struct rs_domains {
    size_t n;        /* ranks found; 1 for an ordinary file */
    uint32_t **rows; /* rows of each; NULL when n == 1 */
    size_t *n_rows;
    int64_t *rank;    /* the rank the events themselves name, else RS_NO_VALUE */
    const char *rule; /* how they were distinguished: static text */
    uint64_t told_by; /* columns beyond those that are always read that had to be asked */
    uint64_t needs;   /* those of them that were not loaded: n is 0 then */
} rs_domains;

/* Splits a file's events into ranks, or refuses with RS_ERR_AMBIGUOUS and the reason. CORRELATION, RANK and
 * META_NAME must be loaded; where EXTERNAL_ID turns out to be needed too, out->needs says so. */
rs_status rs_domains_split(const rs_events *events, const char *file, rs_domains *out, rs_error *err);
void rs_domains_clear(rs_domains *domains);

/* The label that a merger wrote before the process ids of the trace; false: there is none. */
bool rs_trace_label(const rs_trace *trace, const char **label, size_t *n);
