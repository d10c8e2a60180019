/* The events of a job, held in memory as columns, read-only.
 *
 *     rs_event_list *list;
 *     if (rs_event_list_open(job, false, &list, &result, &err) == RS_OK)
 *         for (size_t r = 0; r < rs_event_list_n_ranks(list); r++) {
 *             const rs_event_rank *rank = rs_event_list_rank(list, r);
 *             for (size_t i = 0; i < rank->n; i++) use(rank->start[rs_event_row(rank, i)]);
 *         }
 *     rs_event_list_close(list);
 *
 * Events are numbered through the job: ranks ascending, in each the order of the file. What the job's ranks,
 * steps and window leave out is not there. Columns of a rank are indexed by the row, which is the event's
 * position in its file.
 *
 * A list is not changed after it is made, so any number of threads may read it. Stability: experimental. */
#ifndef RANKSCOPE_EVENTS_H
#define RANKSCOPE_EVENTS_H

#include "rankscope/job.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An unknown time or number. */
#define RS_EVENT_UNKNOWN INT64_MIN

/* A thread of a file: the texts of its process and thread id, empty when unknown. */
typedef struct rs_event_thread {
    const char *pid, *tid;
} rs_event_thread;

typedef struct rs_event_rank {
    int64_t rank;
    const char *file;                /* the job's */
    size_t n;                        /* events */
    size_t first;                    /* the number of its first event */
    const uint32_t *rows;            /* the row of each event, ascending; NULL: 0 to n - 1 */
    const int64_t *step;             /* by event, not by row: its training step; NULL: none has one */
    const int64_t *start, *duration; /* by row from here: ns as the file has them */
    const uint32_t *name;            /* a text */
    const uint32_t *thread;          /* into threads */
    const uint16_t *category;        /* into categories */
    const uint8_t *phase;            /* the Chrome phase letter; 0: nothing of it could be read */
    const rs_event_thread *threads;
    const uint32_t *categories; /* texts */
    size_t n_threads, n_categories, n_texts;
    const struct rs_events *events; /* the library's own */
} rs_event_rank;

static inline uint32_t rs_event_row(const rs_event_rank *rank, size_t i)
{
    return rank->rows ? rank->rows[i] : (uint32_t)i;
}

/* A text by its number; terminated, and may hold NUL bytes before that. length may be NULL. */
RS_API const char *rs_event_text(const rs_event_rank *rank, uint32_t text, size_t *length);
/* The number of a text; UINT32_MAX: no event of the file has it. */
RS_API uint32_t rs_event_find_text(const rs_event_rank *rank, const char *text, size_t length);

/* An argument that is a column. */
typedef struct rs_event_argument {
    const char *name; /* of the column: input_dims */
    const char *key;  /* in the file: Input Dims; NULL: the event's own "id", which is no argument */
    rs_type type;     /* RS_INT, RS_REAL or RS_TEXT */
} rs_event_argument;

RS_API const rs_event_argument *rs_event_arguments(size_t *n);
/* The place of those that link events. */
enum { RS_EVENT_EXTERNAL_ID, RS_EVENT_CORRELATION, RS_EVENT_STREAM, RS_EVENT_DEVICE };

/* The rows of a rank's file that have the argument, ascending; NULL with *n 0 when none has. */
RS_API const uint32_t *rs_event_argument_rows(const rs_event_rank *rank, size_t argument, size_t *n);
/* The value of the at-th of these rows; a text by its number. */
RS_API int64_t rs_event_argument_int(const rs_event_rank *rank, size_t argument, size_t at);
RS_API double rs_event_argument_real(const rs_event_rank *rank, size_t argument, size_t at);
RS_API uint32_t rs_event_argument_text(const rs_event_rank *rank, size_t argument, size_t at);
/* Where a row stands among them; false: it has no such argument. O(log n) */
RS_API bool rs_event_argument_find(const rs_event_rank *rank, size_t argument, uint32_t row, size_t *at);

/* An argument by another name, of a list that was opened with these. */
typedef struct rs_event_other {
    uint32_t row;
    uint32_t key;   /* its name in the file: a text */
    rs_type type;   /* RS_INT, RS_REAL or RS_TEXT */
    bool is_null;   /* JSON's null */
    int64_t number; /* whole, or the number of a text */
    double real;
} rs_event_other;

/* They stand in the order of the file, so that rows ascend and those of one row stand together. */
RS_API size_t rs_event_n_others(const rs_event_rank *rank);
RS_API rs_event_other rs_event_other_at(const rs_event_rank *rank, size_t at);
/* The first of a row, or where it would stand. O(log n) */
RS_API size_t rs_event_other_first(const rs_event_rank *rank, uint32_t row);

typedef struct rs_event_list rs_event_list;

/* Loads every rank with all known arguments, and with all others too if `others` says so, and keeps the columns. The job keeps its ranks loaded from then
 * on, so that further questions do not read the files again; the columns are shared with it, not copied. The
 * job must outlive the list. result, which the caller has initialised, gets problems and notes as of an
 * analysis, after a failure too. Errors: those of rs_job_run; RS_ERR_NOMEM when the columns take more than
 * the job's max_memory. Memory beyond the columns: 8 bytes an event where there are steps. */
RS_API rs_status rs_event_list_open(rs_job *job, bool others, rs_event_list **out, rs_result *result,
                                    rs_error *err);
RS_API void rs_event_list_close(rs_event_list *list); /* NULL is allowed */

RS_API size_t rs_event_list_n_ranks(const rs_event_list *list);
RS_API size_t rs_event_list_n_events(const rs_event_list *list);
RS_API const rs_event_rank *rs_event_list_rank(const rs_event_list *list, size_t i);
/* What moments count from, as those of tables do: the job's first event, 0 for a job with absolute times. */
RS_API int64_t rs_event_list_origin(const rs_event_list *list);

/* Which events a condition (rankscope/where.h) holds for: one bit an event, by number, in 64-bit words from
 * the lowest bit on. *bits is freed with free. option leads messages. Errors: RS_ERR_USAGE for the condition,
 * those of rs_job_run. Not while another question is put to the job. */
RS_API rs_status rs_event_list_mark(const rs_event_list *list, const char *condition, const char *option,
                                    uint64_t **bits, rs_error *err);

#ifdef __cplusplus
}
#endif
#endif
