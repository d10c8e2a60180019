/* The rows of a statement as tables, a page at a time. SQLite types cells: a column's type is known when its last row is.
 * A page has the types of the rows up to its end, so that a column can become wider from one page to the next (whole
 * numbers, numbers, texts) and never narrower. */
#include <stdio.h>
#include <string.h>

#include "base/real.h"
#include "rankscope/text.h"
#include "sql/session.h"

typedef struct cell {
    int64_t number; /* a whole number, the bits of a double, or where a text begins */
    uint32_t n;     /* bytes of a text */
    uint8_t type;   /* SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT, SQLITE_NULL */
} cell;

struct rs_sql_rows {
    rs_sql_session *session;
    sqlite3_stmt *statement;
    size_t n_columns;
    cell *cells;
    size_t n, capacity; /* cells of the page */
    char *texts;
    size_t n_texts, texts_capacity;
    unsigned *seen; /* by column: 1 << type of every cell so far, of earlier runs of the statement, too */
    bool began, ended;
};

typedef struct rs_sql_rows rows;

static rs_status over(rs_error *err, uint64_t limit)
{
    return rs_fail(
        err, RS_ERR_LIMIT,
        "the answer takes more than %llu MiB: select fewer rows or columns, add LIMIT, or allow more",
        (unsigned long long)(limit >> 20));
}

static bool add_text(rows *r, const void *bytes, size_t n, cell *into)
{
    if (n && !rs_grow((void **)&r->texts, &r->texts_capacity, r->n_texts + n, 1)) return false;
    if (n) memcpy(r->texts + r->n_texts, bytes, n);
    into->number = (int64_t)r->n_texts;
    into->n = (uint32_t)n;
    into->type = SQLITE_TEXT;
    r->n_texts += n;
    return true;
}

/* Bytes that are no text are shown as SQL writes them: x'00ff'. */
static bool add_blob(rows *r, const uint8_t *bytes, size_t n, cell *into)
{
    static const char digits[] = "0123456789abcdef";
    size_t length = 2 * n + 3;
    if (!rs_grow((void **)&r->texts, &r->texts_capacity, r->n_texts + length, 1)) return false;
    char *out = r->texts + r->n_texts;
    *out++ = 'x';
    *out++ = '\'';
    for (size_t i = 0; i < n; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\'';
    *into = (cell){.number = (int64_t)r->n_texts, .n = (uint32_t)length, .type = SQLITE_TEXT};
    r->n_texts += length;
    return true;
}

static bool add_cell(rows *r, int column)
{
    if (!RS_GROW_ONE(r->cells, r->n, r->capacity)) return false;
    cell *c = &r->cells[r->n++];
    sqlite3_stmt *s = r->statement;
    double real;
    *c = (cell){.type = (uint8_t)sqlite3_column_type(s, column)};
    const void *bytes;
    switch (c->type) {
    case SQLITE_INTEGER: c->number = sqlite3_column_int64(s, column); break;
    case SQLITE_FLOAT:
        real = sqlite3_column_double(s, column);
        memcpy(&c->number, &real, sizeof real);
        break;
    case SQLITE_NULL: break;
    default:
        bytes = c->type == SQLITE_TEXT ? (const void *)sqlite3_column_text(s, column)
                                       : sqlite3_column_blob(s, column);
        size_t n = (size_t)sqlite3_column_bytes(s, column);
        if (!bytes && n) return false;
        if (c->type == SQLITE_BLOB ? !add_blob(r, bytes, n, c) : !add_text(r, bytes, n, c)) return false;
    }
    r->seen[column] |= 1u << c->type;
    return true;
}

static rs_status add_row(rows *r, rs_error *err)
{
    uint64_t limit = r->session->settings.max_memory;
    for (size_t i = 0; i < r->n_columns; i++)
        if (!add_cell(r, (int)i)) return rs_fail_nomem(err, "the rows of an answer");
    /* the table that is made of them takes about as much again */
    r->session->rows_memory = 2 * (uint64_t)(r->n * sizeof(cell) + r->n_texts);
    return r->session->rows_memory > limit ? over(err, limit) : RS_OK;
}

/* ---- the table ---------------------------------------------------------------------------------------- */

/* What the cells are, else what a column of a table is declared as. */
static rs_type type_of(const rows *r, size_t column)
{
    unsigned seen = r->seen[column] & ~(1u << SQLITE_NULL);
    const char *declared = sqlite3_column_decltype(r->statement, (int)column);
    if (seen == 0 && declared)
        return strcmp(declared, "INTEGER") == 0 ? RS_INT : strcmp(declared, "REAL") == 0 ? RS_REAL : RS_TEXT;
    if (seen == 1u << SQLITE_INTEGER) return declared && strcmp(declared, "REAL") == 0 ? RS_REAL : RS_INT;
    return seen && !(seen & 1u << SQLITE_TEXT) ? RS_REAL : RS_TEXT;
}

/* A name that has come before gets a number behind it: rank, rank_2. */
static const char *name_of(rs_arena *names, const rs_column_spec *before, size_t n, const char *name)
{
    char other[160];
    for (unsigned number = 1;; number++) {
        size_t i = 0;
        snprintf(other, sizeof other, number == 1 ? "%.140s" : "%.140s_%u", name, number);
        while (i < n && strcmp(before[i].name, other) != 0) i++;
        if (i == n) return rs_arena_strndup(names, other, strlen(other));
    }
}

static void put_cell(const rows *r, const cell *c, rs_type type, rs_table *t)
{
    char digits[32];
    double real;
    if (c->type == SQLITE_NULL) {
        rs_table_add_null(t);
    } else if (c->type == SQLITE_TEXT) {
        rs_table_add_text_n(t, c->n ? r->texts + c->number : "", c->n);
    } else if (c->type == SQLITE_INTEGER && type == RS_INT) {
        rs_table_add_int(t, c->number);
    } else if (c->type == SQLITE_INTEGER && type == RS_REAL) {
        rs_table_add_real(t, (double)c->number);
    } else if (c->type == SQLITE_INTEGER) {
        int n = snprintf(digits, sizeof digits, "%lld", (long long)c->number);
        rs_table_add_text_n(t, digits, (size_t)n);
    } else {
        memcpy(&real, &c->number, sizeof real);
        if (type == RS_REAL) {
            rs_table_add_real(t, real);
        } else {
            sqlite3_snprintf(sizeof digits, digits, "%!.15g", real); /* as SQLite makes a text of it */
            rs_table_add_text_n(t, digits, strlen(digits));
        }
    }
}

static rs_status make_table(const rows *r, rs_table **out, rs_error *err)
{
    RS_SCOPED(rs_arena_clear) rs_arena names = {0};
    rs_column_spec *columns = rs_calloc(r->n_columns + 1, sizeof *columns);
    bool ok = columns != NULL;
    for (size_t i = 0; ok && i < r->n_columns; i++) {
        const char *name = sqlite3_column_name(r->statement, (int)i);
        columns[i] = (rs_column_spec){.name = name ? name_of(&names, columns, i, name) : NULL,
                                      .type = type_of(r, i),
                                      .help = "as the statement says"};
        columns[i].unit = columns[i].type == RS_INT ? RS_UNIT_ID : RS_UNIT_NONE;
        ok = columns[i].name != NULL;
    }
    const rs_table_spec spec = {.name = "rows",
                                .help = "one row is one row of the answer",
                                .columns = columns,
                                .n_columns = r->n_columns};
    rs_table *t = ok ? rs_table_create_dynamic(&spec) : NULL;
    rs_status status = t ? RS_OK : rs_fail_nomem(err, "an answer");
    for (size_t at = 0; status == RS_OK && at < r->n; at += r->n_columns) {
        for (size_t i = 0; i < r->n_columns; i++) put_cell(r, &r->cells[at + i], columns[i].type, t);
        status = rs_table_end_row(t, err);
    }
    rs_free(columns);
    if (status == RS_OK)
        *out = t;
    else
        rs_table_free(t);
    return status;
}

/* Why a statement did not come to its end. */
rs_status rs_sql_explain_stop(rs_sql_session *s, rs_error *err)
{
    char wait[32];
    if (s->failure.status != RS_OK) {
        *err = s->failure;
        return err->status;
    }
    switch (s->stop) {
    case RS_SQL_CANCELLED: return rs_fail(err, RS_ERR_CANCELLED, "stopped");
    case RS_SQL_TIME:
        return rs_fail(err, RS_ERR_LIMIT, "the statement took longer than the %s allowed",
                       rs_human_time(rs_int_of(s->settings.timeout * 1e9), wait));
    case RS_SQL_QUERY_TIME:
        return rs_fail(
            err, RS_ERR_LIMIT,
            "the statement took longer than the %s allowed, not counting reading traces and analyses",
            rs_human_time(rs_int_of(s->settings.query_timeout * 1e9), wait));
    case RS_SQL_MEMORY: return over(err, s->settings.max_memory);
    default: break;
    }
    int code = sqlite3_errcode(s->db);
    if (code == SQLITE_NOMEM) return rs_fail_nomem(err, "a statement");
    if (code == SQLITE_TOOBIG)
        return rs_fail(err, RS_ERR_LIMIT, "a text of the answer is longer than a statement may make");
    return rs_fail(err, RS_ERR_USAGE, "%s", sqlite3_errmsg(s->db));
}

rs_status rs_sql_rows_open(rs_sql_session *s, sqlite3_stmt *statement, rs_sql_rows **out, rs_error *err)
{
    rows *r = rs_calloc(1, sizeof *r);
    *out = r;
    if (!r) return rs_fail_nomem(err, "an answer");
    r->session = s;
    r->statement = statement;
    r->n_columns = (size_t)sqlite3_column_count(statement);
    r->seen = rs_calloc(r->n_columns + 1, sizeof *r->seen);
    if (r->seen) return RS_OK;
    *out = NULL;
    rs_free(r);
    return rs_fail_nomem(err, "an answer");
}

rs_status rs_sql_rows_page(rs_sql_rows *r, size_t most_rows, size_t most_bytes, rs_table **out, rs_error *err)
{
    rs_sql_session *s = r->session;
    rs_status status = RS_OK;
    int code = SQLITE_ROW;
    *out = NULL;
    r->n = r->n_texts = 0;
    rs_sql_run_on_thread(s);
    while (status == RS_OK && !r->ended && r->n < most_rows * r->n_columns && s->rows_memory <= most_bytes) {
        code = sqlite3_step(r->statement);
        if (code == SQLITE_ROW)
            status = add_row(r, err);
        else
            r->ended = true;
    }
    rs_sql_run_on_thread(NULL);
    if (status == RS_OK && code != SQLITE_ROW && code != SQLITE_DONE) status = rs_sql_explain_stop(s, err);
    if (status == RS_OK && (r->n || !r->began)) status = make_table(r, out, err);
    r->began = true;
    r->ended |= status != RS_OK;
    s->rows_memory = 0;
    return status;
}

void rs_sql_rows_again(rs_sql_rows *r)
{
    sqlite3_reset(r->statement);
    r->began = r->ended = false;
}

void rs_sql_rows_close(rs_sql_rows *r)
{
    if (!r) return;
    rs_free_all(r->seen, r->cells, r->texts, r);
}
