/* Databases that are packed, or come as a stream. Private to src/format. */
#pragma once

#include <sqlite3.h>

#include "format/native.h"

/* Unpacks to a file without a name in TMPDIR (else the system's folder for temporary files); the caller closes
 * it. RS_ERR_LIMIT: the file system would be full. */
rs_status rs_spool(rs_source *source, const rs_load_settings *settings, int *fd, uint64_t *size,
                   rs_error *err);
/* As sqlite3_open_v2, read-only; the file stays the caller's, and open while the database is. */
int rs_spool_open_database(int fd, sqlite3 **out);
