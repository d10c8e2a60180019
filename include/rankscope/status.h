/* Status codes, errors with their chain of causes, and tolerated defects.
 *
 * Nothing here allocates for an error, so that running out of memory can be reported like anything else.
 * All functions are thread-safe as long as no two threads share one rs_error or rs_problems. */
#ifndef RANKSCOPE_STATUS_H
#define RANKSCOPE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) || !defined(__GNUC__)
#define RS_API
#define RS_PRINTF(fmt, args)
#else
#define RS_API __attribute__((visibility("default")))
#define RS_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a call came to. 0 is success; everything else left its reason in the rs_error it was given. */
typedef enum rs_status {
    RS_OK = 0,
    RS_ERR_NOMEM,     /* an allocation failed, or --max-memory was reached */
    RS_ERR_IO,        /* the system refused to open, read or write */
    RS_ERR_FORMAT,    /* the input is not what it should be */
    RS_ERR_LIMIT,     /* a limit that guards against hostile input was reached */
    RS_ERR_USAGE,     /* the caller asked for something that does not exist */
    RS_ERR_AMBIGUOUS, /* several readings are possible and none may be guessed */
    RS_ERR_CANCELLED  /* the caller asked to stop */
} rs_status;

#define RS_ERROR_CAUSES 4
#define RS_ERROR_TEXT 384
#define RS_NO_OFFSET UINT64_MAX

typedef struct rs_cause {
    char message[RS_ERROR_TEXT]; /* one line, no newline, UTF-8 */
    char file[RS_ERROR_TEXT];    /* empty when no file is involved */
    uint64_t offset;             /* byte in that file (uncompressed text), or RS_NO_OFFSET */
} rs_cause;

/* An error: causes[0] is the root, causes[n - 1] what the outermost layer was doing.
 * Owned by the caller, usually on its stack; start it with RS_ERROR_INIT. */
typedef struct rs_error {
    rs_status status;
    unsigned n_causes;
    rs_cause causes[RS_ERROR_CAUSES];
} rs_error;

#define RS_ERROR_INIT                                                                                        \
    {                                                                                                        \
        .status = RS_OK, .n_causes = 0                                                                       \
    }

/* Replaces whatever err held by one cause and returns status, so that a function can end in
 * `return rs_fail(err, RS_ERR_IO, "cannot open: %s", strerror(errno));`. err may be NULL. */
RS_API rs_status rs_fail(rs_error *err, rs_status status, const char *format, ...) RS_PRINTF(3, 4);

/* As rs_fail, naming a file and a byte offset (RS_NO_OFFSET if there is none). file may be NULL. */
RS_API rs_status rs_fail_at(rs_error *err, rs_status status, const char *file, uint64_t offset,
                            const char *format, ...) RS_PRINTF(5, 6);

/* Adds an outer cause ("reading rank 3") to an error on its way up; returns the error's status. */
RS_API rs_status rs_error_wrap(rs_error *err, const char *format, ...) RS_PRINTF(2, 3);

/* rs_fail with RS_ERR_NOMEM and a message that names what did not fit. */
RS_API rs_status rs_fail_nomem(rs_error *err, const char *what);

/* Writes the error as one line, outermost cause first, into out (always terminated); returns out.
 * "traces/r0.json: byte 1234: text ends inside an event". */
RS_API const char *rs_error_text(const rs_error *err, char *out, size_t out_size);

/* ---- tolerated defects ------------------------------------------------------------------------------- */

typedef enum rs_severity {
    RS_NOTE,    /* worth knowing, nothing was lost */
    RS_WARNING, /* part of one value or event is unreliable */
    RS_LOSS     /* part of the input was lost or skipped: exit code 4 */
} rs_severity;

#define RS_PROBLEM_OFFSETS 4

/* All defects of one kind in one file. */
typedef struct rs_problem {
    const char *kind;    /* stable identifier, e.g. "bad_event"; static storage, or in words */
    const char *message; /* what it means and costs, one line; as kind */
    char *file;          /* owned by the list; NULL if none */
    char *detail;        /* owned by the list; more about the first one, or NULL */
    int64_t rank;        /* -1 if unknown */
    rs_severity severity;
    uint64_t count;                       /* how many */
    unsigned n_offsets;                   /* how many of offsets are set */
    uint64_t offsets[RS_PROBLEM_OFFSETS]; /* where the first ones are, bytes of uncompressed text */
    char *words;      /* owned by the list: kind and message that came from elsewhere, else NULL */
    uint64_t columns; /* the library's own: arguments that had to be read to meet it; 0 in results */
} rs_problem;

/* A list of defects, grouped by file, rank and kind, in order of first appearance. */
typedef struct rs_problems {
    rs_problem *items;
    size_t n, capacity;
    uint64_t n_dropped; /* defects that could not even be recorded (out of memory) */
} rs_problems;

/* Counts one defect. kind and message must have static storage. offset may be RS_NO_OFFSET. Never fails: when
 * memory runs out it counts in n_dropped. O(number of kinds). */
RS_API void rs_problems_add(rs_problems *list, const char *file, int64_t rank, rs_severity severity,
                            const char *kind, const char *message, uint64_t offset);

/* As rs_problems_add, with count defects at once and a detail of the first (may be NULL; copied). */
RS_API void rs_problems_add_many(rs_problems *list, const char *file, int64_t rank, rs_severity severity,
                                 const char *kind, const char *message, uint64_t offset, uint64_t count,
                                 const char *detail);

/* Moves everything in from to the end of into; from is empty afterwards. */
RS_API void rs_problems_move(rs_problems *into, rs_problems *from);

/* The worst severity present, RS_NOTE for an empty list. */
RS_API rs_severity rs_problems_worst(const rs_problems *list);

/* Frees the items; the list is empty and usable afterwards. */
RS_API void rs_problems_clear(rs_problems *list);

/* The library's version, "MAJOR.MINOR.PATCH". */
RS_API const char *rs_version(void);

#ifdef __cplusplus
}
#endif
#endif
