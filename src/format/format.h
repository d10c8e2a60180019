/* One reader is one row.
 *
 * The file that reads a format defines, at its foot, `const rs_format rs_format_NAME`; the build collects the
 * rows. By them files are told apart, read, joined to runs, described by `info`, and advised on by `doctor`.
 */
#pragma once

#include "format/kineto.h"

struct rs_database;

/* An input: path, bytes and remote (both NULL: the path is read) are those that the source was opened with. */
typedef struct rs_trace_input {
    const char *path;
    const void *bytes;
    size_t n_bytes;
    const rs_remote *remote;
    rs_source *source;
} rs_trace_input;

/* What a file is a recording of. */
typedef enum rs_records {
    RS_RECORDS_EVENTS,
    RS_RECORDS_ALLOCATIONS,  /* what an allocator did and holds: format/snapshot.h */
    RS_RECORDS_COMPILATIONS, /* what a compiler did: src/packs/compile */
} rs_records;
#define RS_TAKES(records) (1u << RS_RECORDS_##records)

/* What a check of `doctor` advises to who records with this format's profiler. */
typedef struct rs_remedy {
    const char *check, *text;
} rs_remedy;

/* What a file's name tells of the run that it is part of. A run may be recorded in several formats, each
 * whole or in several files; files of one run begin alike. */
typedef struct rs_run_name {
    const struct rs_format *format; /* NULL: the name says nothing */
    size_t prefix;                  /* bytes of the path that every file of the run begins with */
    unsigned preference;            /* of a run in several formats the one with the smallest is read */
    bool is_part;                   /* the run's other files of this format belong to it */
    unsigned order;                 /* of a part: in which they are read */
    bool leads;                     /* the part whose name stands for the run */
    bool alone_useless;             /* says what others refer to, and no events */
    bool yields;                    /* of a folder: not read beside a file of the run that does not yield */
} rs_run_name;

/* Several files read one after another into the same events. */
typedef struct rs_run_reader rs_run_reader;

typedef struct rs_format {
    const char *name;  /* "rocprof_csv" */
    const char *title; /* as `info` calls it: "rocprofv3 CSV" */

    /* Whether the first bytes of a text are of this format. NULL: what no other format claims, for one row.
     */
    bool (*sniff)(const uint8_t *text, size_t n);
    /* Reads a text from its beginning to its end. NULL for databases. */
    rs_status (*load)(rs_source *source, const rs_load_settings *settings, rs_events **out, rs_error *err);

    /* Files that only a program of the vendor reads, known by their names; NULL: there are none. */
    bool (*is_report)(const char *path);
    rs_status (*load_report)(const rs_trace_input *input, const rs_load_settings *settings, rs_events **out,
                             rs_error *err);

    /* Calls take with the path of each further file that such a file is read with, always in the same order, until it answers false.
     * false: it did, or the files cannot be listed. NULL: there are none. */
    bool (*each_file)(const char *path, bool (*take)(void *context, const char *path), void *context);

    /* Databases: whether one that is open is of this format, and reading it. */
    rs_status (*database_is)(struct rs_database *database, bool *is);
    rs_status (*database_read)(struct rs_database *database);
    const char *database_mark; /* by what it is told, for messages: "Nsight Systems (table StringIds)" */

    /* Files of one run; NULL where a file is a run. */
    rs_run_name (*run_name)(const char *path);
    rs_status (*run_open)(const rs_load_settings *settings, rs_run_reader **out, rs_error *err);
    /* RS_ERR_FORMAT: the file is none of the format's; others may still be added. settings: for its progress.
     */
    rs_status (*run_add)(rs_run_reader *run, rs_source *source, const rs_load_settings *settings,
                         rs_error *err);
    /* Takes the events; the caller frees them. out NULL: nothing is kept. */
    void (*run_close)(rs_run_reader *run, rs_events **out);

    rs_records records;
    /* Who reads it, where it is given to one who does not: "is a snapshot of ...: rankscope memory reads it". By its
     * first bytes. NULL: a trace. */
    const char *(*elsewhere)(const uint8_t *text, size_t n);
    bool tells_operators;      /* its profiler records the framework's operators */
    bool can_be_written_again; /* its text is Chrome's event format: fuse, annotate and overlays copy its
                                  events */
    const rs_remedy
        *remedies; /* ended by a NULL check; what is not there is advised as for PyTorch's profiler */
} rs_format;

/* The rows that the build collected, ended by NULL. */
extern const rs_format *const rs_format_rows[];
extern const rs_format rs_format_kineto, rs_format_torch_snapshot, rs_format_rocprof_json,
    rs_format_rocprof_csv, rs_format_rocpd, rs_format_nsys, rs_format_otf2;

/* Told by the first bytes of the text. Of databases, which only their tables tell apart, the first row. */
const rs_format *rs_format_of_text(const uint8_t *text, size_t n);
/* By which format a file's name is one of a run's. */
rs_run_name rs_run_name_of(const char *path);
/* The advice of the events' format for a check; NULL: none of its own. */
const char *rs_format_remedy(const rs_events *events, const char *check);

/* RS_ERR_FORMAT where a file of the format, which begins so, is of a kind that is not among the records (RS_TAKES) that
 * are wanted; the message says who reads it. */
rs_status rs_format_refuses(const rs_format *format, unsigned records, const char *file, const uint8_t *text,
                            size_t n, rs_error *err);

/* Looks which format the input is and reads it. */
rs_status rs_trace_load(const rs_trace_input *input, const rs_load_settings *settings, rs_events **out,
                        rs_error *err);
