/* The event columns: what a reader fills and everything else reads.
 *
 * One row for each element of the file's event array, in file order, so that a row number is the event's
 * position in traceEvents. Times are integer nanoseconds on the file's own clock. */
#pragma once

#include "base/interval.h"
#include "base/strings.h"
#include "rankscope/status.h"
#include "trace/columns.h"
#include "trace/others.h"

#define RS_NO_ROW UINT32_MAX
#define RS_MAX_CATEGORIES 4096
#define RS_MAX_COUNTERS 4096

/* What an event is, told by its category. */
typedef enum rs_kind {
    RS_KIND_OTHER, /* a category that rankscope does not know, or none */
    RS_KIND_CPU_OP,
    RS_KIND_USER_ANNOTATION,
    RS_KIND_PYTHON_FUNCTION,
    RS_KIND_RUNTIME, /* cuda_runtime, also ROCm's */
    RS_KIND_DRIVER,  /* cuda_driver */
    RS_KIND_MTIA_RUNTIME,
    RS_KIND_KERNEL, /* GPU work from here ... */
    RS_KIND_MEMCPY,
    RS_KIND_MEMSET,
    RS_KIND_MTIA_WORK, /* ... to here */
    RS_KIND_GPU_USER_ANNOTATION,
    RS_KIND_SYNC,           /* cuda_sync */
    RS_KIND_PROFILER_RANGE, /* cuda_profiler_range */
    RS_KIND_FLOW,           /* ac2g, async_cpu_to_gpu: launch to kernel */
    RS_KIND_FWDBWD,
    RS_KIND_INSTANT, /* cpu_instant_event */
    RS_KIND_OVERHEAD,
    RS_KIND_SPAN,       /* "Trace": the profiler's own span */
    RS_KIND_OS_CALL,    /* the host's state from here: calls of the operating system's libraries, ... */
    RS_KIND_OFF_CPU,    /* a thread that is not scheduled, */
    RS_KIND_CPU_SAMPLE, /* what a thread was in when it was looked at, ... to here */
    RS_KIND_GPU_METRIC, /* a sample of a counter, which holds until the next one */
    RS_N_KINDS
} rs_kind;

static inline bool rs_kind_is_gpu_work(rs_kind kind)
{
    return kind >= RS_KIND_KERNEL && kind <= RS_KIND_MTIA_WORK;
}
/* What a profiler of the host saw of its threads: says what they did, and counts for nothing. */
static inline bool rs_kind_is_host_state(rs_kind kind)
{
    return kind >= RS_KIND_OS_CALL && kind <= RS_KIND_CPU_SAMPLE;
}
/* Calls into the device's runtime or driver: what launches work. */
static inline bool rs_kind_is_call(rs_kind kind)
{
    return kind >= RS_KIND_RUNTIME && kind <= RS_KIND_MTIA_RUNTIME;
}

/* A sparse column: values of the rows that have one, by ascending row. Whole numbers take four bytes until one
 * comes that does not fit; most columns never have one. */
typedef struct rs_sparse {
    size_t n, capacity;
    uint32_t *rows;
    union {
        int32_t *narrow; /* INT, unless wide */
        int64_t *wide;   /* INT, if wide */
        double *reals;   /* REAL */
        uint32_t *texts; /* TEXT: string ids */
    };
    bool is_wide;
} rs_sparse;

static inline int64_t rs_sparse_int(const rs_sparse *column, size_t at)
{
    return column->is_wide ? column->wide[at] : column->narrow[at];
}

typedef struct rs_thread {
    int64_t pid, tid;            /* numbers; for string ids a number below -2^62 represents the string */
    uint32_t pid_text, tid_text; /* string ids, RS_NO_STRING for numbers */
} rs_thread;

typedef struct rs_category {
    uint32_t name; /* string id */
    rs_kind kind;
} rs_category;

/* A counter: of cuda_profiler_range events any argument that is not a known column, of counter events (phase C)
 * any number. */
typedef struct rs_counter {
    uint32_t name;    /* string id of the key */
    rs_sparse values; /* REAL */
} rs_counter;

/* What the file says about itself. Strings are ids; RS_NO_STRING when absent, numbers RS_NO_VALUE. */
typedef struct rs_file_info {
    int64_t rank, world_size; /* distributedInfo */
    uint32_t backend;
    int64_t n_groups;                             /* entries of its pg_config */
    int64_t group_size;                           /* of the first of them, RS_NO_VALUE if not told */
    uint32_t group_name, group_desc, group_ranks; /* of the first entry; ranks: "[0, 1]" */
    uint32_t host_name;
    int64_t base_time_ns; /* baseTimeNanoseconds */
    uint32_t display_unit, trace_name, trace_id;
    int64_t schema_version;
    int64_t cuda_runtime, cuda_driver, cupti, hip_runtime, hip_driver, roctracer_x1000;
    uint32_t nccl_version;
    bool record_shapes, with_stack, with_flops, with_modules, profile_memory;
    uint32_t device_name; /* of the first device */
    int64_t n_devices;    /* 0: not told; -1: the file lists its devices, and there are none */
    int64_t max_threads_per_block;
} rs_file_info;

/* A device that the file describes. Numbers are RS_NO_VALUE when absent. */
typedef struct rs_device {
    int64_t id;
    uint32_t name;        /* string id, RS_NO_STRING when absent */
    int64_t units;        /* multiprocessors */
    int64_t memory;       /* bytes */
    int64_t major, minor; /* compute capability */
} rs_device;

/* One of several JSON documents that are in a file one after another. */
typedef struct rs_document {
    uint32_t first_row;
    int64_t rank; /* its distributedInfo.rank or RS_NO_VALUE */
} rs_document;

/* A line of the profiler's own log (top-level INFO, WARNING, ERROR). */
typedef struct rs_log_line {
    char level;    /* 'I', 'W', 'E' */
    uint32_t text; /* string id */
} rs_log_line;

/* What a file holds that is no list of events: the columns of another kind of recording (format/snapshot.h). */
typedef struct rs_other_recording {
    void *columns; /* owned; NULL: there is none */
    void (*release)(void *columns);
    int64_t first, last; /* from when to when it was recorded, ns; RS_NO_TIME: unknown */
} rs_other_recording;

typedef struct rs_events {
    size_t n, capacity;
    struct rs_grafted *grafted; /* rows that were put behind those of the file, by first row: trace/graft.h */
    size_t n_grafted, grafted_capacity;
    int64_t *start;     /* ns, RS_NO_TIME if the event has none */
    int64_t *duration;  /* ns, RS_NO_TIME if none; start + duration is the end */
    uint32_t *name;     /* string id */
    uint32_t *thread;   /* into threads */
    uint16_t *category; /* into categories */
    uint8_t *phase;     /* the Chrome phase letter; 0 marks an element that was lost */
    rs_sparse args[RS_N_COLUMNS];
    rs_others others; /* empty unless RS_OTHER_ARGUMENTS is loaded */
    uint64_t loaded;  /* which of args were asked for: RS_COLUMN_BIT */
    rs_counter *counters;
    size_t n_counters, counters_capacity;
    rs_thread *threads;
    size_t n_threads, threads_capacity;
    rs_map64 thread_ids;
    rs_category *categories;
    size_t n_categories, categories_capacity;
    rs_strings strings;
    rs_file_info info;      /* of the first document that says it */
    rs_document *documents; /* those that hold events */
    size_t n_documents, documents_capacity;
    rs_device *devices; /* of the first list of them in the file */
    size_t n_devices, devices_capacity;
    rs_log_line *log;
    size_t n_log, log_capacity;
    uint64_t n_rounded;  /* times that had digits below the nanosecond */
    uint64_t n_lost;     /* elements of which nothing could be kept */
    const char *packing; /* "plain", "gzip", "zstd" */
    const char *form;    /* "object", "array", "lines", or the format's title: how events are held; static */
    const struct rs_format *format; /* whose reader made them (format/format.h); NULL: none, in tests */
    uint64_t bytes_lost;            /* text skipped to get back in step after damage */
    uint64_t n_bytes;               /* of text, all told */
    bool truncated;                 /* the text ends before its last bracket */
    rs_problems problems;
    rs_other_recording other;
    /* Arrays of the columns between these addresses are lent: only read, and returned all at once. What has to
     * grow is copied first. */
    const void *lent, *lent_end;
    void *lender;
    void (*give_back)(void *lender); /* NULL: nothing is lent */
    uint64_t memory;                 /* bytes held in columns */
    uint64_t max_memory;             /* 0: no limit */
    bool one_rank;        /* rs_domains_split is known to find one rank in it, which it names by no number, */
    uint64_t one_rank_by; /* ... and to ask for these columns (rs_domains.told_by) */
    uint32_t n_holders;   /* who holds it next to the first owner */
} rs_events;

static inline rs_kind rs_event_kind(const rs_events *e, size_t row)
{
    return e->categories[e->category[row]].kind;
}
static inline const char *rs_event_name(const rs_events *e, size_t row)
{
    return e->strings.items[e->name[row]].text;
}
/* Held at the ends of the range: a row without a start may have a length. */
static inline int64_t rs_event_end(const rs_events *e, size_t row)
{
    return rs_add_sat(e->start[row], e->duration[row] == RS_NO_TIME ? 0 : e->duration[row]);
}
/* A complete event: it has a start and a duration. */
static inline bool rs_event_is_span(const rs_events *e, size_t row)
{
    return e->phase[row] == 'X' && e->start[row] != RS_NO_TIME && e->duration[row] != RS_NO_TIME;
}

rs_status rs_events_create(uint64_t columns, uint64_t max_memory, rs_events **out, rs_error *err);
/* Frees it when nobody else holds it. */
void rs_events_free(rs_events *events);
/* One holder more, who gives it back by rs_events_free; from then on nobody may change it. Any thread. */
void rs_events_hold(rs_events *events);

/* Room for `more` further rows, or values of one argument. The caller then writes after the last one itself.
 */
rs_status rs_events_reserve(rs_events *events, size_t more, rs_error *err);
rs_status rs_events_reserve_column(rs_events *events, rs_column_id column, size_t more, rs_error *err);
/* Makes a column of whole numbers take eight bytes each. */
rs_status rs_events_widen(rs_events *events, rs_column_id column, rs_error *err);
/* Adds a whole number; rows must not descend. */
rs_status rs_events_push_int(rs_events *events, rs_column_id column, uint32_t row, int64_t value,
                             rs_error *err);
/* rs_big_resize and rs_big_free of an array of the columns, lent or not. */
void *rs_events_resize(const rs_events *events, void *array, size_t before, size_t bytes);
void rs_events_free_array(const rs_events *events, void *array);
static inline bool rs_events_is_lent(const rs_events *events, const void *array)
{
    return (uintptr_t)array >= (uintptr_t)events->lent && (uintptr_t)array < (uintptr_t)events->lent_end;
}
/* Gives back memory that was reserved and not written; for a reader that is done. */
void rs_events_trim(rs_events *events);
/* Counts bytes that columns are to take; RS_ERR_NOMEM beyond max_memory. */
rs_status rs_events_charge(rs_events *events, uint64_t bytes, rs_error *err);
/* Adds a value of the counter with that name (string id); rows must not descend, a repeated row replaces. */
rs_status rs_events_add_counter(rs_events *events, uint32_t name, uint32_t row, double value, rs_error *err);
/* Brings the values of each counter into the order of their rows, where they were added in another. Of a row that has several
 * the last counts. */
rs_status rs_events_sort_counters(rs_events *events, rs_error *err);

/* Values of a sparse column at a row; false / RS_NO_STRING when the row has none. O(log n). */
bool rs_events_int(const rs_events *events, rs_column_id column, uint32_t row, int64_t *value);
bool rs_events_real(const rs_events *events, rs_column_id column, uint32_t row, double *value);
uint32_t rs_events_text(const rs_events *events, rs_column_id column, uint32_t row);

/* Walks a sparse column in step with ascending rows: O(1) a row over a whole pass, and O(log n) where the
 * walk leaps, as it does into the rows of one rank of many. */
size_t rs_sparse_leap(const rs_sparse *column, size_t at,
                      uint32_t row); /* first at >= at with its row >= row */
/* The first place whose row is not below `row`, wherever `at` is; quick where that is close by. */
size_t rs_sparse_near(const rs_sparse *column, size_t at, uint32_t row);
typedef struct rs_cursor {
    const rs_sparse *column;
    size_t at;
} rs_cursor;
static inline rs_cursor rs_cursor_of(const rs_events *events, rs_column_id column)
{
    return (rs_cursor){.column = &events->args[column], .at = 0};
}
/* Whether the row has a value; then cursor->at indexes it. Rows must not descend between calls. */
static inline bool rs_cursor_seek(rs_cursor *cursor, uint32_t row)
{
    const rs_sparse *c = cursor->column;
    for (unsigned i = 0; i < 8 && cursor->at < c->n && c->rows[cursor->at] < row; i++) cursor->at++;
    if (cursor->at < c->n && c->rows[cursor->at] < row) cursor->at = rs_sparse_leap(c, cursor->at, row);
    return cursor->at < c->n && c->rows[cursor->at] == row;
}
static inline int64_t rs_cursor_int(rs_cursor *cursor, uint32_t row, int64_t otherwise)
{
    return rs_cursor_seek(cursor, row) ? rs_sparse_int(cursor->column, cursor->at) : otherwise;
}

/* The number that represents a pid or tid that is a string. */
static inline int64_t rs_thread_id_of_text(uint32_t text)
{
    return -(INT64_C(1) << 62) - (int64_t)text;
}

/* Ids of strings, threads and categories depend on how the file was read: no order of them may reach a
 * result. */

/* Puts the rows of another recording of the same rank behind those that are there, its times shifted. Ids
 * that link events, where the same ones are in both, are moved behind those in use, so that nothing links
 * across recordings. What the file says about itself stays the first one's; losses add up. `from` is
 * unchanged. */
rs_status rs_events_append(rs_events *to, const rs_events *from, int64_t shift, rs_error *err);

/* Puts copies of all rows of `from` behind those of `to`, as often as wanted, each time at other times. */
typedef struct rs_events_copier {
    rs_events *to;
    const rs_events *from;
    uint32_t *strings,
        *threads; /* by id in `from`. The caller says before each copy which threads it lies on */
    uint16_t *categories;
} rs_events_copier;
/* Release with rs_events_copier_clear, also after a failure. */
rs_status rs_events_copier_init(rs_events_copier *copier, rs_events *to, const rs_events *from,
                                rs_error *err);
void rs_events_copier_clear(rs_events_copier *copier);
/* One copy: by row of `from` when it starts and how long it takes. Ids above 0 that link events become larger by
 * step, which must not overflow. Arguments that `to` has not loaded are left out. */
rs_status rs_events_copy(rs_events_copier *copier, const int64_t *start, const int64_t *duration,
                         int64_t step, rs_error *err);
/* The largest id that links events, of any kind; 0: there is none. */
int64_t rs_events_greatest_link(const rs_events *events);
/* Replaces the whole number that a row has; false in *found: it has none. */
rs_status rs_events_replace_int(rs_events *events, rs_column_id column, uint32_t row, int64_t value,
                                bool *found, rs_error *err);

/* The index of a (pid, tid) pair, of a category name; added if new. UINT32_MAX when out of memory. */
uint32_t rs_events_thread(rs_events *events, rs_thread thread);
uint32_t rs_events_category(rs_events *events, uint32_t name_id);
rs_kind rs_kind_of_category(const char *name, size_t length);
const char *rs_kind_name(rs_kind kind);
