/* How ranks are distinguished where no event names its own. Private to src/trace/domains*.c. */
#pragma once

#include "trace/trace.h"

#define RS_NO_DOMAIN UINT32_MAX
#define RS_MANY_DOMAINS (UINT32_MAX - 1)

enum { RS_PID_CALLS = 1, RS_PID_WORKS = 2 };

/* The processes of a file. */
typedef struct rs_pids {
    size_t n;
    int64_t *pid;
    uint8_t *flags;      /* RS_PID_*: has calls, has GPU work, both with a correlation */
    uint32_t *of_thread; /* by thread: place in pid */
} rs_pids;

/* Several processes launch: one rank each, GPU processes assigned to them. *n stays 1 when only one of them
 * owns GPU work. domain (one entry a row) is set for the rows of the processes involved. */
rs_status rs_domains_by_process(const rs_events *e, const char *file, const rs_pids *p, uint32_t *domain,
                                size_t *n, const char **rule, rs_error *err);

/* Every process with launches or GPU work has a merger's label in front of its id. (domains_labels.c) */
bool rs_domains_are_labelled(const rs_events *e, const rs_pids *p);
/* One rank a label, in the order in which the file has them; other rows stay as they are. */
rs_status rs_domains_by_label(const rs_events *e, uint32_t *domain, size_t *n, rs_error *err);

/* Ranks of several nodes, in blocks, whose devices have the same process ids. *n stays 0 when the file is no
 * such one. (domains_blocks.c) */
rs_status rs_domains_by_block(const rs_events *e, const rs_pids *p, uint32_t *domain, size_t *n,
                              rs_error *err);

/* Whether so many launches repeat a correlation of their process that several ranks must be in the file;
 * fewer are a defect, not a rank. */
bool rs_domains_repeat(size_t n_calls, size_t n_repeated);
/* Ranks one after another in the file; needs External ids. */
rs_status rs_domains_by_segment(const rs_events *e, const char *file, const rs_pids *p, size_t n_calls,
                                size_t n_repeated, uint32_t *domain, size_t *n, const char **rule,
                                rs_error *err);
