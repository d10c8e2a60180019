/* Whose work it is: each linked piece of GPU work belongs to exactly one event of the host.
 *
 * Of the operators around the launching call the owner is the outermost one that has a model which yields an
 * answer for its arguments. If none has, it is the launcher (rs_tree_launcher_of), where a fallback model may
 * apply; without any operator it is the call itself. So rows of owners never share time, and nothing is
 * counted twice. */
#pragma once

#include "perf/shapes.h"
#include "trace/tree.h"

/* One owner and the work it owns. An owner of both communication and other work stands twice. */
typedef struct rs_owned {
    uint32_t row;        /* the owner's event */
    uint32_t node;       /* ... in the tree above GPU work */
    uint32_t answer;     /* of the rank's shapes; RS_NO_ANSWER: no model */
    uint32_t first_work; /* in work_row */
    uint32_t n_work;
    int64_t time;       /* union of that work, ns */
    int64_t durations;  /* its durations added up, ns */
    bool communication; /* that is what the work is */
    bool tf32;          /* a kernel's name says that it multiplies in tf32 */
    bool host_link;     /* a copy crosses the link to the host */
} rs_owned;

typedef struct rs_owners {
    size_t n;
    rs_owned *items;    /* in order of the owner's start, then row; communication after other work */
    uint32_t *work_row; /* linked work, by owner, then by start, then by row */
    size_t n_work;
    size_t n_unlinked;        /* work whose launch is not in the file: it has no owner */
    int64_t linked, unlinked; /* durations of work that is no communication, ns */
} rs_owners;

extern const rs_facet rs_facet_owners;

/* The trace's; of what is selected. O((nodes + work) log work). */
rs_status rs_trace_owners(rs_trace *trace, const rs_owners **out, rs_error *err);
