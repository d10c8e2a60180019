/* The folder of a store: making it, walking over its entries, keeping it below a size. */
#pragma once

#include "store/entry.h"

#define RS_STORE_LIMIT (UINT64_C(5) << 30) /* bytes, where nothing else was said */

/* Makes the folder and those above it, for the user alone. RS_ERR_IO names what could not be made. */
rs_status rs_store_make(const char *folder, rs_error *err);

/* A file of the store. */
typedef struct rs_store_file {
    char *path;
    uint64_t size;
    int64_t used, made; /* ns since 1970 */
    bool left_over;     /* of a write that did not come to its end */
} rs_store_file;

typedef struct rs_store_files {
    rs_store_file *items; /* by path */
    size_t n, capacity;
} rs_store_files;

/* What lies there by the names that entries have; other files are skipped. A folder that is not there has
 * none. Clear it, also after a failure. */
rs_status rs_store_walk(const char *folder, rs_store_files *out, rs_error *err);
void rs_store_files_clear(rs_store_files *files);

/* Removes what was used longest ago until all entries together are no larger than the limit, and left-overs
 * older than an hour. Others may do the same at the same time. */
void rs_store_trim(const char *folder, uint64_t limit);
