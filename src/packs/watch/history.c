#include "watch/history.h"

#include <math.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/strings.h"
#include "base/try.h"

#define WAIT_MS 30000
/* Of a window: what a row says beyond that is damage, and no reason to take memory. */
#define MOST_RANKS (1 << 20)
#define APPLICATION 0x72737768 /* "rswh" */

/* The steps from one version to the next: the n-th makes version n + 1 of version n. */
static const char *const migrations[RS_HISTORY_VERSION] = {
    "CREATE TABLE window (id INTEGER PRIMARY KEY, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,"
    " first_step INTEGER, n_ranks INTEGER NOT NULL, ranks BLOB NOT NULL, UNIQUE (start_ns, first_step));"
    "CREATE TABLE rank_value (window INTEGER NOT NULL REFERENCES window(id), metric INTEGER NOT NULL,"
    " value BLOB NOT NULL, PRIMARY KEY (window, metric)) WITHOUT ROWID;"
    "CREATE TABLE file (key INTEGER PRIMARY KEY, window INTEGER NOT NULL);"
    "CREATE TABLE change (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, subject TEXT NOT NULL, rank INTEGER NOT NULL,"
    " begun INTEGER NOT NULL, ended INTEGER, usual REAL, now REAL, change REAL, low REAL, high REAL, cause TEXT,"
    " UNIQUE (kind, subject, rank, begun));"
    "CREATE UNIQUE INDEX change_open ON change (kind, subject, rank) WHERE ended IS NULL;"
    "CREATE TABLE said (id INTEGER PRIMARY KEY, window INTEGER NOT NULL, at_ns INTEGER NOT NULL, what TEXT NOT NULL,"
    " kind TEXT NOT NULL, subject TEXT NOT NULL, text TEXT NOT NULL, printed INTEGER NOT NULL DEFAULT 0,"
    " posted INTEGER NOT NULL DEFAULT 0, UNIQUE (window, what, kind, subject));",
    /* changes of one fault are said together: a change of version 1 was a fault of its own */
    "ALTER TABLE change ADD COLUMN fault INTEGER; ALTER TABLE change ADD COLUMN culprit TEXT;"
    "UPDATE change SET fault = id;"
    "CREATE TABLE message (id INTEGER PRIMARY KEY, window INTEGER NOT NULL, at_ns INTEGER NOT NULL, what TEXT NOT NULL,"
    " kind TEXT NOT NULL, subject TEXT NOT NULL, text TEXT NOT NULL, printed INTEGER NOT NULL DEFAULT 0,"
    " posted INTEGER NOT NULL DEFAULT 0, fault INTEGER NOT NULL, UNIQUE (window, what, fault));"
    "INSERT INTO message SELECT id, window, at_ns, what, kind, subject, text, printed, posted, -id FROM said;"
    "DROP TABLE said; ALTER TABLE message RENAME TO said;",
};

enum {
    FILE_WINDOW,
    FILE_STATE,
    ADD_FILE,
    FIND_WINDOW,
    ADD_WINDOW,
    SET_RANKS,
    GET_RANKS,
    SET_VALUES,
    GET_VALUES,
    NEWEST,
    NEXT_WINDOW,
    WINDOW_START,
    BEGIN_CHANGE,
    LEAD_FAULT,
    END_CHANGE,
    LIST_CHANGES,
    SAY,
    UNPRINTED,
    UNPOSTED,
    MARK_PRINTED,
    MARK_POSTED,
    STATEMENTS
};

/* Whether a file's window is three old, and whether a change began near it. */
static const char file_state[] =
    "SELECT f.window + 3 <= (SELECT MAX(id) FROM window), EXISTS (SELECT 1 FROM change c WHERE c.begun "
    "BETWEEN f.window - 2 AND f.window + 1) FROM file f WHERE f.key = ?";

static const char *const texts[STATEMENTS] = {
    [FILE_WINDOW] = "SELECT window FROM file WHERE key = ?",
    [FILE_STATE] = file_state,
    [ADD_FILE] = "INSERT OR IGNORE INTO file VALUES (?, ?)",
    [FIND_WINDOW] =
        "SELECT id FROM window WHERE first_step IS ? AND start_ns <= ? AND end_ns >= ? ORDER BY id DESC LIMIT 1",
    [ADD_WINDOW] = "INSERT INTO window VALUES (NULL, ?, ?, ?, ?, ?)",
    [SET_RANKS] = "UPDATE window SET n_ranks = ?, ranks = ? WHERE id = ?",
    [GET_RANKS] = "SELECT ranks, n_ranks, start_ns FROM window WHERE id = ?",
    [SET_VALUES] = "INSERT OR REPLACE INTO rank_value VALUES (?, ?, ?)",
    [GET_VALUES] = "SELECT metric, value FROM rank_value WHERE window = ?",
    [NEWEST] = "SELECT id, start_ns FROM window ORDER BY id DESC LIMIT 1",
    [NEXT_WINDOW] = "SELECT id FROM window WHERE id > ? ORDER BY id LIMIT 1",
    [WINDOW_START] = "SELECT start_ns FROM window WHERE id = ?",
    [BEGIN_CHANGE] = "INSERT OR IGNORE INTO change VALUES (NULL, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
    [LEAD_FAULT] = "UPDATE change SET fault = id WHERE id = ?",
    [END_CHANGE] =
        "UPDATE change SET ended = ? WHERE kind = ? AND subject = ? AND rank = ? AND ended IS NULL RETURNING fault",
    [LIST_CHANGES] =
        "SELECT id, kind, subject, rank, begun, ended, usual, now, change, low, high, cause, fault, culprit FROM change WHERE ended IS NULL OR ? ORDER BY id",
    [SAY] =
        "INSERT OR IGNORE INTO said (window, at_ns, what, kind, subject, text, fault) VALUES (?, ?, ?, ?, ?, ?, ?)",
    [UNPRINTED] =
        "SELECT id, window, at_ns, what, kind, subject, text, fault FROM said WHERE printed = 0 ORDER BY id",
    [UNPOSTED] =
        "SELECT id, window, at_ns, what, kind, subject, text, fault FROM said WHERE posted <= 0 AND posted >= -? ORDER BY id LIMIT 1",
    [MARK_PRINTED] = "UPDATE said SET printed = 1 WHERE id = ?",
    [MARK_POSTED] = "UPDATE said SET posted = ?2 WHERE id = ?1",
};

struct rs_watch_history {
    sqlite3 *db;
    char *path;
    sqlite3_stmt *statements[STATEMENTS];
    bool locked;
};

/* ---- SQLite ------------------------------------------------------------------------------------------------- */

static rs_status fail(const rs_watch_history *h, rs_error *err)
{
    int code = sqlite3_errcode(h->db);
    if (code == SQLITE_NOMEM) return rs_fail_nomem(err, "the history");
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
        return rs_fail_at(err, RS_ERR_FORMAT, h->path, RS_NO_OFFSET,
                          "is no history, or a damaged one (%s): name another file", sqlite3_errmsg(h->db));
    return rs_fail_at(err, RS_ERR_IO, h->path, RS_NO_OFFSET, "the history cannot be %s: %s",
                      code == SQLITE_BUSY ? "locked" : "written", sqlite3_errmsg(h->db));
}

static rs_status run(rs_watch_history *h, const char *sql, rs_error *err)
{
    return sqlite3_exec(h->db, sql, NULL, NULL, NULL) == SQLITE_OK ? RS_OK : fail(h, err);
}

/* A statement with its values, a letter each: i int64_t, k one that is null below 0, r double (NaN is null), t text,
 * b bytes and their size_t. */
static rs_status prepare(rs_watch_history *h, int which, sqlite3_stmt **s, const char *kinds, va_list values,
                         rs_error *err)
{
    *s = NULL;
    if (!h->statements[which] && sqlite3_prepare_v3(h->db, texts[which], -1, SQLITE_PREPARE_PERSISTENT,
                                                    &h->statements[which], NULL) != SQLITE_OK)
        return fail(h, err);
    *s = h->statements[which];
    sqlite3_clear_bindings(*s);
    for (int at = 1; kinds[at - 1]; at++) {
        if (kinds[at - 1] == 'i' || kinds[at - 1] == 'k') {
            int64_t x = va_arg(values, int64_t);
            if (x >= 0 || kinds[at - 1] == 'i') sqlite3_bind_int64(*s, at, x);
        } else if (kinds[at - 1] == 'r') {
            double x = va_arg(values, double);
            if (!isnan(x)) sqlite3_bind_double(*s, at, x);
        } else if (kinds[at - 1] == 't') {
            sqlite3_bind_text(*s, at, va_arg(values, const char *), -1, SQLITE_STATIC);
        } else {
            const void *bytes = va_arg(values, const void *);
            sqlite3_bind_blob64(*s, at, bytes, va_arg(values, size_t), SQLITE_TRANSIENT);
        }
    }
    return RS_OK;
}

/* A statement that gives rows. */
static rs_status ask(rs_watch_history *h, int which, sqlite3_stmt **s, rs_error *err, const char *kinds, ...)
{
    va_list values;
    va_start(values, kinds);
    rs_status status = prepare(h, which, s, kinds, values, err);
    va_end(values);
    return status;
}

/* Runs a statement that gives none. */
static rs_status tell(rs_watch_history *h, int which, rs_error *err, const char *kinds, ...)
{
    sqlite3_stmt *s;
    va_list values;
    va_start(values, kinds);
    rs_status status = prepare(h, which, &s, kinds, values, err);
    va_end(values);
    if (status != RS_OK) return status;
    if (sqlite3_step(s) != SQLITE_DONE) status = fail(h, err);
    sqlite3_reset(s);
    return status;
}

/* The next row: *has is false after the last one, and the statement is reset then. */
static rs_status next(rs_watch_history *h, sqlite3_stmt *s, bool *has, rs_error *err)
{
    int code = sqlite3_step(s);
    *has = code == SQLITE_ROW;
    if (*has) return RS_OK;
    rs_status status = code == SQLITE_DONE ? RS_OK : fail(h, err);
    sqlite3_reset(s);
    return status;
}

/* The first row's whole numbers, n at most; *has is false where there is none, and they are as they were. */
static rs_status first_row(rs_watch_history *h, sqlite3_stmt *s, bool *has, int64_t *out, int n,
                           rs_error *err)
{
    RS_TRY(next(h, s, has, err));
    for (int i = 0; *has && i < n; i++) out[i] = sqlite3_column_int64(s, i);
    sqlite3_reset(s);
    return RS_OK;
}

static double real_of(sqlite3_stmt *s, int at)
{
    return sqlite3_column_type(s, at) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(s, at);
}

static const char *text_of(sqlite3_stmt *s, int at)
{
    return (const char *)sqlite3_column_text(s, at);
}

/* ---- opening ------------------------------------------------------------------------------------------------ */

static rs_status get_number(rs_watch_history *h, const char *sql, int64_t *out, rs_error *err)
{
    sqlite3_stmt *s;
    if (sqlite3_prepare_v2(h->db, sql, -1, &s, NULL) != SQLITE_OK) return fail(h, err);
    int code = sqlite3_step(s);
    *out = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    return code == SQLITE_ROW ? RS_OK : fail(h, err);
}

/* What is there is a history of a known version, or nothing. */
static rs_status check(rs_watch_history *h, int64_t *version, rs_error *err)
{
    int64_t application = 0, tables = 0;
    RS_TRY(get_number(h, "PRAGMA user_version", version, err));
    RS_TRY(get_number(h, "PRAGMA application_id", &application, err));
    RS_TRY(get_number(h, "SELECT count(*) FROM sqlite_master", &tables, err));
    if (application != APPLICATION && (tables || *version))
        return rs_fail_at(err, RS_ERR_FORMAT, h->path, RS_NO_OFFSET,
                          "is a database, but no history: name another file");
    if (*version < 0 || *version > RS_HISTORY_VERSION)
        return rs_fail_at(
            err, RS_ERR_FORMAT, h->path, RS_NO_OFFSET,
            "is a history of version %lld, and this program knows %d: it was made by a newer rankscope",
            (long long)*version, RS_HISTORY_VERSION);
    return RS_OK;
}

static rs_status migrate(rs_watch_history *h, rs_error *err)
{
    int64_t version = 0;
    char set[96];
    rs_error ignored = RS_ERROR_INIT;
    RS_TRY(run(h, "BEGIN", err)); /* one moment: another watcher may be making the history */
    rs_status seen = check(h, &version, err);
    run(h, "ROLLBACK", &ignored);
    if (seen != RS_OK) return seen;
    if (version == RS_HISTORY_VERSION) return RS_OK;
    RS_TRY(rs_history_begin(h, err));
    rs_status status = check(h, &version, err); /* another watcher may have done it meanwhile */
    for (; status == RS_OK && version < RS_HISTORY_VERSION; version++)
        status = run(h, migrations[version], err);
    snprintf(set, sizeof set, "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION,
             RS_HISTORY_VERSION);
    if (status == RS_OK) status = run(h, set, err);
    if (status == RS_OK) status = rs_history_commit(h, err);
    rs_history_rollback(h);
    return status;
}

rs_status rs_history_open(const char *path, rs_watch_history **out, rs_error *err)
{
    rs_watch_history *h = rs_calloc(1, sizeof *h);
    *out = NULL;
    if (!h || !(h->path = rs_strdup(path ? path : ":memory:"))) {
        rs_history_close(h);
        return rs_fail_nomem(err, "the history");
    }
    int code = sqlite3_open_v2(h->path, &h->db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    rs_status status = RS_OK;
    if (code != SQLITE_OK) {
        status = rs_fail_at(err, RS_ERR_IO, h->path, RS_NO_OFFSET, "the history cannot be opened: %s",
                            h->db ? sqlite3_errmsg(h->db) : "out of memory");
    } else {
        sqlite3_busy_timeout(h->db, WAIT_MS);
        sqlite3_db_config(h->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        sqlite3_db_config(h->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        status = migrate(h, err);
    }
    if (status == RS_OK)
        *out = h;
    else
        rs_history_close(h);
    return status;
}

void rs_history_close(rs_watch_history *h)
{
    if (!h) return;
    rs_history_rollback(h);
    for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(h->statements[i]);
    sqlite3_close(h->db);
    rs_free_all(h->path, h);
}

rs_status rs_history_begin(rs_watch_history *h, rs_error *err)
{
    RS_TRY(run(h, "BEGIN IMMEDIATE", err));
    h->locked = true;
    return RS_OK;
}

rs_status rs_history_commit(rs_watch_history *h, rs_error *err)
{
    RS_TRY(run(h, "COMMIT", err));
    h->locked = false;
    return RS_OK;
}

void rs_history_rollback(rs_watch_history *h)
{
    if (!h->locked) return;
    sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
    h->locked = false;
}

void rs_history_limit_pages(rs_watch_history *h, int64_t pages)
{
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA max_page_count = %lld", (long long)pages);
    sqlite3_exec(h->db, sql, NULL, NULL, NULL);
}

/* ---- files -------------------------------------------------------------------------------------------------- */

uint64_t rs_history_file_key(const char *path, int64_t size, int64_t mtime_ns)
{
    uint64_t parts[3] = {rs_hash_bytes(path, strlen(path)), (uint64_t)size, (uint64_t)mtime_ns};
    return rs_hash_u64(parts[0] ^ rs_hash_u64(parts[1] ^ rs_hash_u64(parts[2])));
}

rs_status rs_history_file_window(rs_watch_history *h, uint64_t key, int64_t *window, rs_error *err)
{
    sqlite3_stmt *s;
    bool has;
    *window = 0;
    RS_TRY(ask(h, FILE_WINDOW, &s, err, "i", (int64_t)key));
    return first_row(h, s, &has, window, 1, err);
}

rs_status rs_history_file_state(rs_watch_history *h, uint64_t key, rs_file_state *out, rs_error *err)
{
    sqlite3_stmt *s;
    bool has;
    int64_t row[2] = {0};
    *out = RS_FILE_NEEDED;
    RS_TRY(ask(h, FILE_STATE, &s, err, "i", (int64_t)key));
    RS_TRY(first_row(h, s, &has, row, 2, err));
    if (row[0]) *out = row[1] ? RS_FILE_KEPT : RS_FILE_SPENT;
    return RS_OK;
}

rs_status rs_history_add_file(rs_watch_history *h, uint64_t key, int64_t window, rs_error *err)
{
    return tell(h, ADD_FILE, err, "ii", (int64_t)key, window);
}

/* ---- ranks and values as bytes -------------------------------------------------------------------------------- */

/* Ranks as runs of consecutive ones: first and count, each of four bytes, the lowest first. */
static void put_u32(uint8_t *at, uint32_t x)
{
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(x >> (8 * i));
}

static uint32_t get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* out has room for 8 bytes a rank; how many were written. */
static size_t pack_ranks(const int64_t *ranks, size_t n, uint8_t *out)
{
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        size_t k = i + 1;
        while (k < n && ranks[k] == ranks[k - 1] + 1) k++;
        put_u32(out + used, (uint32_t)ranks[i]);
        put_u32(out + used + 4, (uint32_t)(k - i));
        used += 8;
        i = k;
    }
    return used;
}

/* False: the bytes are damaged. */
static bool unpack_ranks(const uint8_t *bytes, size_t size, int64_t *out, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint32_t first = get_u32(bytes + i), count = get_u32(bytes + i + 4);
        if (count > n - used || (used && (int64_t)first <= out[used - 1])) return false;
        for (uint32_t k = 0; k < count; k++) out[used++] = (int64_t)first + k;
    }
    return used == n && size % 8 == 0;
}

static void pack_values(const float *values, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        put_u32(out + 4 * i, bits);
    }
}

static void unpack_values(const uint8_t *bytes, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = get_u32(bytes + 4 * i);
        memcpy(&out[i], &bits, sizeof bits);
    }
}

/* ---- windows ------------------------------------------------------------------------------------------------ */

rs_status rs_history_find_window(rs_watch_history *h, int64_t start_ns, int64_t end_ns, int64_t first_step,
                                 int64_t *id, rs_error *err)
{
    sqlite3_stmt *s;
    bool has;
    *id = 0;
    RS_TRY(ask(h, FIND_WINDOW, &s, err, "kii", first_step, end_ns, start_ns));
    return first_row(h, s, &has, id, 1, err);
}

static rs_status set_values(rs_watch_history *h, int64_t id, const rs_window_values *w, rs_error *err)
{
    RS_LOCAL uint8_t *bytes = rs_malloc(4 * w->n + 1);
    if (!bytes) return rs_fail_nomem(err, "a window");
    for (int m = 0; m < RS_WATCH_STORED; m++) {
        if (!w->values[m]) continue;
        pack_values(w->values[m], w->n, bytes);
        RS_TRY(tell(h, SET_VALUES, err, "iib", id, (int64_t)m, bytes, 4 * w->n));
    }
    return RS_OK;
}

rs_status rs_history_add_window(rs_watch_history *h, const rs_history_window *w, int64_t *id, rs_error *err)
{
    RS_LOCAL uint8_t *bytes = rs_malloc(8 * w->values.n + 1);
    if (!bytes) return rs_fail_nomem(err, "a window");
    size_t size = pack_ranks(w->values.ranks, w->values.n, bytes);
    RS_TRY(tell(h, ADD_WINDOW, err, "iikib", w->start_ns, w->end_ns, w->first_step, (int64_t)w->values.n,
                bytes, size));
    *id = sqlite3_last_insert_rowid(h->db);
    return set_values(h, *id, &w->values, err);
}

/* A window that was read back: all of it is its own. */
typedef struct stored {
    int64_t *ranks;
    float *values; /* RS_WATCH_STORED of n */
    bool has[RS_WATCH_STORED];
    size_t n;
    int64_t start_ns;
} stored;

static void stored_clear(stored *w)
{
    rs_free_all(w->ranks, w->values);
}

static rs_status damaged(const rs_watch_history *h, int64_t id, rs_error *err)
{
    return rs_fail_at(err, RS_ERR_FORMAT, h->path, RS_NO_OFFSET,
                      "window %lld of the history is damaged: delete its rows, or name another file",
                      (long long)id);
}

static rs_status make_room(stored *w, size_t n, rs_error *err)
{
    w->ranks = rs_malloc((n + 1) * sizeof *w->ranks);
    w->values = rs_malloc((n + 1) * RS_WATCH_STORED * sizeof *w->values);
    w->n = n;
    return w->ranks && w->values ? RS_OK : rs_fail_nomem(err, "a window");
}

static rs_status load_ranks(rs_watch_history *h, int64_t id, stored *w, rs_error *err)
{
    sqlite3_stmt *s;
    bool has;
    RS_TRY(ask(h, GET_RANKS, &s, err, "i", id));
    RS_TRY(next(h, s, &has, err));
    if (!has) return damaged(h, id, err);
    int64_t n = sqlite3_column_int64(s, 1);
    w->start_ns = sqlite3_column_int64(s, 2);
    rs_status status = n < 0 || n > MOST_RANKS ? damaged(h, id, err) : make_room(w, (size_t)n, err);
    const uint8_t *bytes = sqlite3_column_blob(s, 0);
    if (status == RS_OK && !unpack_ranks(bytes, (size_t)sqlite3_column_bytes(s, 0), w->ranks, w->n))
        status = damaged(h, id, err);
    sqlite3_reset(s);
    return status;
}

static rs_status load_values(rs_watch_history *h, int64_t id, stored *w, rs_error *err)
{
    sqlite3_stmt *s;
    bool has;
    RS_TRY(ask(h, GET_VALUES, &s, err, "i", id));
    for (;;) {
        RS_TRY(next(h, s, &has, err));
        if (!has) return RS_OK;
        int64_t m = sqlite3_column_int64(s, 0);
        const void *bytes = sqlite3_column_blob(s, 1);
        if (m < 0 || m >= RS_WATCH_STORED || (size_t)sqlite3_column_bytes(s, 1) != 4 * w->n) {
            sqlite3_reset(s);
            return damaged(h, id, err);
        }
        w->has[m] = true;
        unpack_values(bytes, w->n, w->values + (size_t)m * w->n);
    }
}

static rs_status load(rs_watch_history *h, int64_t id, stored *w, rs_error *err)
{
    RS_TRY(load_ranks(h, id, w, err));
    return load_values(h, id, w, err);
}

static rs_window_values view_of(const stored *w, int64_t id)
{
    rs_window_values v = {.id = id, .start_ns = w->start_ns, .ranks = w->ranks, .n = w->n};
    for (int m = 0; m < RS_WATCH_STORED; m++)
        if (w->has[m]) v.values[m] = w->values + (size_t)m * w->n;
    return v;
}

/* Puts a rank of one window into the next place of another. */
static void copy_rank(stored *into, size_t at, const rs_window_values *from, size_t i)
{
    into->ranks[at] = from->ranks[i];
    for (int m = 0; m < RS_WATCH_STORED; m++) {
        float x = from->values[m] ? from->values[m][i] : NAN;
        into->values[(size_t)m * into->n + at] = x;
    }
}

static size_t count_new(const rs_window_values *old, const rs_window_values *more)
{
    size_t n = 0;
    for (size_t i = 0, k = 0; k < more->n; k++) {
        while (i < old->n && old->ranks[i] < more->ranks[k]) i++;
        n += i == old->n || old->ranks[i] != more->ranks[k];
    }
    return n;
}

static void merge(const rs_window_values *old, const rs_window_values *more, stored *into)
{
    size_t i = 0, k = 0;
    for (size_t at = 0; at < into->n; at++) {
        bool take_old = k == more->n || (i < old->n && old->ranks[i] <= more->ranks[k]);
        if (take_old && k < more->n && old->ranks[i] == more->ranks[k]) k++;
        copy_rank(into, at, take_old ? old : more, take_old ? i++ : k++);
    }
    for (int m = 0; m < RS_WATCH_STORED; m++) into->has[m] = old->values[m] || more->values[m];
}

static rs_status set_ranks(rs_watch_history *h, int64_t id, const stored *w, rs_error *err)
{
    RS_LOCAL uint8_t *bytes = rs_malloc(8 * w->n + 1);
    if (!bytes) return rs_fail_nomem(err, "a window");
    return tell(h, SET_RANKS, err, "ibi", (int64_t)w->n, bytes, pack_ranks(w->ranks, w->n, bytes), id);
}

rs_status rs_history_add_ranks(rs_watch_history *h, int64_t id, const rs_window_values *more, size_t *n_added,
                               rs_error *err)
{
    RS_SCOPED(stored_clear) stored w = {0};
    RS_SCOPED(stored_clear) stored all = {0};
    RS_TRY(load(h, id, &w, err));
    rs_window_values old = view_of(&w, id);
    *n_added = count_new(&old, more);
    if (!*n_added) return RS_OK;
    RS_TRY(make_room(&all, old.n + *n_added, err));
    merge(&old, more, &all);
    RS_TRY(set_ranks(h, id, &all, err));
    rs_window_values values = view_of(&all, id);
    return set_values(h, id, &values, err);
}

rs_status rs_history_newest(rs_watch_history *h, int64_t *id, int64_t *start_ns, rs_error *err)
{
    sqlite3_stmt *s;
    bool has;
    int64_t row[2] = {0};
    *id = *start_ns = 0;
    RS_TRY(ask(h, NEWEST, &s, err, ""));
    RS_TRY(first_row(h, s, &has, row, 2, err));
    *id = row[0];
    *start_ns = row[1];
    return RS_OK;
}

rs_status rs_history_window_start(rs_watch_history *h, int64_t id, int64_t *start_ns, rs_error *err)
{
    sqlite3_stmt *s;
    bool has;
    *start_ns = 0;
    RS_TRY(ask(h, WINDOW_START, &s, err, "i", id));
    return first_row(h, s, &has, start_ns, 1, err);
}

static rs_status visit(rs_watch_history *h, int64_t id, rs_history_window_fn each, void *context,
                       rs_error *err)
{
    RS_SCOPED(stored_clear) stored w = {0};
    RS_TRY(load(h, id, &w, err));
    rs_window_values values = view_of(&w, id);
    return each(context, &values, err);
}

rs_status rs_history_next_window(rs_watch_history *h, int64_t *after, rs_history_window_fn each,
                                 void *context, bool *has, rs_error *err)
{
    sqlite3_stmt *s;
    RS_TRY(ask(h, NEXT_WINDOW, &s, err, "i", *after));
    RS_TRY(first_row(h, s, has, after, 1, err));
    return *has ? visit(h, *after, each, context, err) : RS_OK;
}

rs_status rs_history_each_window(rs_watch_history *h, int64_t after, rs_history_window_fn each, void *context,
                                 rs_error *err)
{
    bool has = true;
    while (has) RS_TRY(rs_history_next_window(h, &after, each, context, &has, err));
    return RS_OK;
}

/* ---- changes ------------------------------------------------------------------------------------------------ */

/* The change that was added last is the first of its fault. */
static rs_status lead_fault(rs_watch_history *h, int64_t *fault, rs_error *err)
{
    *fault = sqlite3_last_insert_rowid(h->db);
    return tell(h, LEAD_FAULT, err, "i", *fault);
}

rs_status rs_history_begin_change(rs_watch_history *h, const rs_history_change *c, int64_t *fault,
                                  rs_error *err)
{
    RS_TRY(tell(h, BEGIN_CHANGE, err, "ttiirrrrrtit", c->kind, c->subject, c->rank, c->begun, c->usual,
                c->now, c->change, c->low, c->high, c->cause, c->fault, c->culprit));
    *fault = sqlite3_changes(h->db) > 0 ? c->fault : 0;
    return sqlite3_changes(h->db) > 0 && !c->fault ? lead_fault(h, fault, err) : RS_OK;
}

rs_status rs_history_end_change(rs_watch_history *h, const char *kind, const char *subject, int64_t rank,
                                int64_t ended, int64_t *fault, rs_error *err)
{
    sqlite3_stmt *s;
    bool has;
    *fault = 0;
    RS_TRY(ask(h, END_CHANGE, &s, err, "itti", ended, kind, subject, rank));
    RS_TRY(next(h, s, &has, err));
    if (!has) return RS_OK;
    *fault = sqlite3_column_int64(s, 0);
    return next(h, s, &has, err);
}

static rs_history_change change_of(sqlite3_stmt *s)
{
    return (rs_history_change){.id = sqlite3_column_int64(s, 0),
                               .kind = text_of(s, 1),
                               .subject = text_of(s, 2),
                               .rank = sqlite3_column_int64(s, 3),
                               .begun = sqlite3_column_int64(s, 4),
                               .ended = sqlite3_column_int64(s, 5),
                               .usual = real_of(s, 6),
                               .now = real_of(s, 7),
                               .change = real_of(s, 8),
                               .low = real_of(s, 9),
                               .high = real_of(s, 10),
                               .cause = text_of(s, 11),
                               .fault = sqlite3_column_int64(s, 12),
                               .culprit = text_of(s, 13)};
}

rs_status rs_history_each_change(rs_watch_history *h, bool all, rs_history_change_fn each, void *context,
                                 rs_error *err)
{
    sqlite3_stmt *s;
    rs_status status = RS_OK;
    RS_TRY(ask(h, LIST_CHANGES, &s, err, "i", (int64_t)all));
    for (bool has = true; status == RS_OK;) {
        status = next(h, s, &has, err);
        if (status != RS_OK || !has) break;
        rs_history_change c = change_of(s);
        status = c.kind && c.subject ? each(context, &c, err) : rs_fail_nomem(err, "a change");
    }
    sqlite3_reset(s);
    return status;
}

/* ---- what was said ------------------------------------------------------------------------------------------ */

rs_status rs_history_say(rs_watch_history *h, const rs_history_message *m, rs_error *err)
{
    return tell(h, SAY, err, "iitttti", m->window, m->at_ns, m->what, m->kind, m->subject, m->text, m->fault);
}

/* Gives the next message of a statement to the function; *id: which one it was, 0: there is none. */
static rs_status give_next(rs_watch_history *h, sqlite3_stmt *s, rs_history_deliver_fn deliver, void *context,
                           int64_t *id, rs_error *err)
{
    bool has;
    *id = 0;
    RS_TRY(next(h, s, &has, err));
    if (!has) return RS_OK;
    rs_history_message m = {.id = sqlite3_column_int64(s, 0),
                            .window = sqlite3_column_int64(s, 1),
                            .at_ns = sqlite3_column_int64(s, 2),
                            .what = text_of(s, 3),
                            .kind = text_of(s, 4),
                            .subject = text_of(s, 5),
                            .text = text_of(s, 6),
                            .fault = sqlite3_column_int64(s, 7)};
    rs_status status =
        m.what && m.kind && m.subject && m.text ? deliver(context, &m, err) : rs_fail_nomem(err, "a message");
    sqlite3_reset(s);
    *id = m.id;
    return status;
}

static rs_status deliver_next(rs_watch_history *h, rs_history_deliver_fn deliver, void *context, int64_t *id,
                              rs_error *err)
{
    sqlite3_stmt *s;
    RS_TRY(ask(h, UNPRINTED, &s, err, ""));
    RS_TRY(give_next(h, s, deliver, context, id, err));
    return *id ? tell(h, MARK_PRINTED, err, "i", *id) : RS_OK;
}

rs_status rs_history_deliver(rs_watch_history *h, rs_history_deliver_fn deliver, void *context, rs_error *err)
{
    rs_status status = rs_history_begin(h, err);
    for (int64_t id = 1; status == RS_OK && id;) status = deliver_next(h, deliver, context, &id, err);
    if (!h->locked) return status;
    /* what was delivered before a failure stays marked */
    rs_error second = RS_ERROR_INIT;
    rs_status committed = rs_history_commit(h, &second);
    rs_history_rollback(h);
    if (status == RS_OK && committed != RS_OK) *err = second;
    return status == RS_OK ? committed : status;
}

/* The column `posted` is 1 or 2 of a message that is done with, else 0, or less: the negated time until which a watcher has it. */
static rs_status claim(rs_watch_history *h, int64_t now_s, int64_t until_s, rs_history_deliver_fn copy,
                       void *context, bool *has, rs_error *err)
{
    sqlite3_stmt *s;
    int64_t id;
    RS_TRY(ask(h, UNPOSTED, &s, err, "i", now_s));
    RS_TRY(give_next(h, s, copy, context, &id, err));
    *has = id != 0;
    return id ? tell(h, MARK_POSTED, err, "ii", id, -until_s) : RS_OK;
}

rs_status rs_history_claim_post(rs_watch_history *h, int64_t now_s, int64_t until_s,
                                rs_history_deliver_fn copy, void *context, bool *has, rs_error *err)
{
    *has = false;
    RS_TRY(rs_history_begin(h, err));
    rs_status status = claim(h, now_s, until_s, copy, context, has, err);
    if (status == RS_OK) status = rs_history_commit(h, err);
    rs_history_rollback(h);
    return status;
}

rs_status rs_history_end_post(rs_watch_history *h, int64_t id, rs_posted outcome, rs_error *err)
{
    return tell(h, MARK_POSTED, err, "ii", id, outcome == RS_POST_AGAIN ? INT64_C(-1) : (int64_t)outcome);
}

rs_status rs_history_skip_old_posts(rs_watch_history *h, rs_error *err)
{
    return run(h,
               "UPDATE said SET posted = 2 WHERE printed AND NOT EXISTS (SELECT 1 FROM said WHERE posted)"
               " AND fault NOT IN (SELECT fault FROM change WHERE ended IS NULL)",
               err);
}
