/* One pool of threads for all work that falls into items: files, ranks, blocks. */
#pragma once

#include <stddef.h>

#include "rankscope/status.h"

#define RS_MAX_WORKERS 256

/* Does one item. `worker` (0 .. rs_workers_count - 1) distinguishes threads: two items with the same number
 * never run at once, so that each worker may have memory of its own. */
typedef rs_status (*rs_work_fn)(void *context, size_t item, unsigned worker, rs_error *err);

/* How many workers n items get under `jobs` (0: one): no more than there are items, nor than RS_MAX_WORKERS.
 */
unsigned rs_workers_count(size_t n, size_t jobs);

/* Runs work for the items 0 .. n-1, each once, on as many threads as rs_workers_count says, the calling one
 * among them; fewer threads than that do the same work when the machine gives no more. Returns when all are
 * done.
 *
 * Items begin in ascending order. After an item fails none begins any more, and the status and error are
 * those of the least item that failed: they do not depend on the number of threads. What items write must be
 * apart by item or by worker, or under a lock of the caller's. */
rs_status rs_workers_run(size_t n, size_t jobs, rs_work_fn work, void *context, rs_error *err);
