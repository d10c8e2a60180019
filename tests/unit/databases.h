/* Databases made by SQL, for tests of their readers. */
#pragma once

#include <sqlite3.h>

#include "native.h"
#include "unit.h"

typedef struct image {
    unsigned char *bytes;
    sqlite3_int64 n;
} image;

static inline image database(const char *sql)
{
    sqlite3 *db;
    image out;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s", message);
    out.bytes = sqlite3_serialize(db, "main", &out.n, 0);
    assert_non_null(out.bytes);
    sqlite3_close(db);
    return out;
}

static inline rs_status load_database(const char *sql, rs_events **out, rs_error *err)
{
    image db = database(sql);
    rs_status status = load_native((const char *)db.bytes, (size_t)db.n, "x.db", out, err);
    sqlite3_free(db.bytes);
    return status;
}
