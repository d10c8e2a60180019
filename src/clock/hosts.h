/* Which ranks ran on one host. */
#pragma once

#include "rankscope/status.h"

/* The host in a name as PyTorch's profiler gives it, HOST_PID.TIME.pt.trace.json: a piece of path. false when
 * the name is not of that form. */
bool rs_host_in_name(const char *path, const char **host, size_t *n);

/* A list of ranks and their hosts. All-zero is empty. */
typedef struct rs_host_line {
    int64_t rank;
    char *host; /* owned */
} rs_host_line;

typedef struct rs_host_list {
    rs_host_line *items; /* by rank */
    size_t n, capacity;
} rs_host_list;

/* Reads "rank,host" lines; a first line without a number is a heading, empty ones and what begins with # are passed
 * over. Errors name the file and the line. Clear out also after a failure. */
rs_status rs_hosts_read(const char *path, rs_host_list *out, rs_error *err);
void rs_hosts_clear(rs_host_list *list);
const char *rs_hosts_find(const rs_host_list *list, int64_t rank); /* NULL: not listed */
