/* Files that only another program reads: it exports them to a temporary file, which is read in their place. */
#pragma once

#include <string.h>

#include "format/format.h"

typedef enum rs_exported {
    RS_EXPORTED,
    RS_EXPORT_FAILED, /* the program said that it failed, or was stopped by a signal */
    RS_EXPORT_ABSENT, /* there is no such program */
    RS_EXPORT_STOPPED /* the user stopped it */
} rs_exported;

/* Runs a program, words[0] on the PATH or a path, to its end; it says and hears nothing. words: ended by NULL. */
rs_exported rs_export_run(const char *const *words, const rs_load_settings *settings);

typedef struct rs_exporter {
    const char *file; /* what the exported file is called: "report.sqlite" */
    rs_exported (*run)(const char *path, const char *to, const rs_load_settings *settings);
    /* Reads what was exported, which is open and has no name any more; the caller closes it. */
    rs_status (*read)(const rs_trace_input *in, int fd, uint64_t size, const rs_load_settings *settings,
                      rs_events **out, rs_error *err);
    /* Fails: what the user may do instead. fd: what there is of the exported file; -1: nothing. */
    rs_status (*advise)(const rs_trace_input *in, rs_exported how, int fd, rs_error *err);
} rs_exporter;

rs_status rs_export_load(const rs_exporter *by, const rs_trace_input *in, const rs_load_settings *settings,
                         rs_events **out, rs_error *err);

static inline bool rs_path_ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    return n > m && strcmp(path + n - m, end) == 0;
}
