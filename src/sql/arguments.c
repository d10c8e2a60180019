/* The table of arguments: one row is one argument of one event. Rows come by rank, argument and event; those of
 * one event, as a join with events asks for them, are looked up. */
#include <string.h>

#include "sql/session.h"

enum { EVENT, RANK, POSITION, KEY, VALUE, N_COLUMNS };

static const struct {
    const char *name, *type, *help;
} columns[N_COLUMNS] = {
    {"event", "INTEGER", "number of the event in the job, as in events"},
    {"rank", "INTEGER", "rank of the job"},
    {"position", "INTEGER", "place of the event in its file's event array, from 0"},
    {"key", "TEXT", "the argument's name in the file"},
    {"value", "", "its value: a number, a text, or the JSON text of anything else"},
};

const char *sql_argument_column(size_t i, const char **type, const char **help)
{
    if (i >= N_COLUMNS) return NULL;
    *type = columns[i].type;
    *help = columns[i].help;
    return columns[i].name;
}

typedef struct argument_cursor {
    sqlite3_vtab_cursor base;
    rs_sql_session *session;
    const rs_event_list *list;
    bool nothing, one_event, one_key, one_rank;
    int64_t event, wanted_rank;
    char key[80]; /* longer than any argument's */

    size_t rank, argument, at; /* at hand; rank is the number of ranks at the end */
    const rs_event_rank *r;
    size_t i;    /* the event, in its rank */
    bool looked; /* of one event: this argument has been looked up */
    size_t n_passed;
} argument_cursor;

/* The plan is a letter a value: e event, k key, r rank. */
static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    char plan[16];
    size_t n = 0;
    double rows = 1e7;
    for (int i = 0; i < info->nConstraint && n < sizeof plan - 1; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        if (!c->usable || c->op != SQLITE_INDEX_CONSTRAINT_EQ || c->iColumn < 0) continue;
        if (c->iColumn != EVENT && c->iColumn != KEY && c->iColumn != RANK) continue;
        if (c->iColumn == KEY && strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0) continue;
        plan[n++] = c->iColumn == EVENT ? 'e' : c->iColumn == KEY ? 'k' : 'r';
        info->aConstraintUsage[i].argvIndex = (int)n;
        rows = c->iColumn == EVENT ? 10 : rows / 10;
    }
    plan[n] = 0;
    info->idxStr = sqlite3_mprintf("%s", plan);
    if (!info->idxStr) return SQLITE_NOMEM;
    info->needToFreeIdxStr = 1;
    info->estimatedRows = (sqlite3_int64)rows;
    info->estimatedCost = 10 + 2 * rows;
    return SQLITE_OK;
}

static int open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    argument_cursor *c = rs_calloc(1, sizeof *c);
    if (!c) return SQLITE_NOMEM;
    c->session = ((sql_vtab *)table)->table->session;
    *out = &c->base;
    return SQLITE_OK;
}

static int close(sqlite3_vtab_cursor *cursor)
{
    rs_free(cursor);
    return SQLITE_OK;
}

/* The event of a row, if the rank has it. */
static bool event_of(const rs_event_rank *r, uint32_t row, size_t *i)
{
    size_t low = 0, high = r->n;
    if (!r->rows) {
        *i = row;
        return row < r->n;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    *i = low;
    return low < r->n && r->rows[low] == row;
}

static bool wants_argument(const argument_cursor *c, size_t argument)
{
    size_t n;
    const char *key = rs_event_arguments(&n)[argument].key;
    return key && (!c->one_key || strcmp(key, c->key) == 0);
}

static bool wants_rank(const argument_cursor *c)
{
    const rs_event_rank *r = c->r;
    if (c->one_rank && r->rank != c->wanted_rank) return false;
    return !c->one_event || (c->event >= (int64_t)r->first && c->event < (int64_t)(r->first + r->n));
}

/* The next value of the argument at hand; false: there is none. c->at is its place afterwards. */
static bool next_value(argument_cursor *c, bool first)
{
    size_t n;
    if (c->one_event) {
        if (!first) return false;
        c->i = (size_t)(c->event - (int64_t)c->r->first);
        return rs_event_argument_find(c->r, c->argument, rs_event_row(c->r, c->i), &c->at);
    }
    const uint32_t *rows = rs_event_argument_rows(c->r, c->argument, &n);
    for (c->at = first ? 0 : c->at + 1; c->at < n; c->at++)
        if (event_of(c->r, rows[c->at], &c->i)) return true;
    return false;
}

static int advance(argument_cursor *c)
{
    size_t n_arguments, n_ranks = rs_event_list_n_ranks(c->list);
    rs_event_arguments(&n_arguments);
    if ((++c->n_passed & 0xffff) == 0 && sql_must_stop(c->session)) return SQLITE_INTERRUPT;
    if (c->r && next_value(c, false)) return SQLITE_OK;
    for (;;) {
        c->argument += c->r != NULL;
        if (!c->r || c->argument == n_arguments) {
            c->rank += c->r != NULL;
            c->r = NULL;
            c->argument = 0;
            if (c->rank >= n_ranks || c->nothing) return SQLITE_OK;
            c->r = rs_event_list_rank(c->list, c->rank);
            if (!wants_rank(c)) {
                c->argument = n_arguments - 1; /* all of this rank are passed over */
                continue;
            }
        }
        if (wants_argument(c, c->argument) && next_value(c, true)) return SQLITE_OK;
    }
}

static int filter(sqlite3_vtab_cursor *cursor, int number, const char *plan, int argc, sqlite3_value **argv)
{
    argument_cursor *c = (argument_cursor *)cursor;
    rs_error err = RS_ERROR_INIT;
    (void)number;
    if (sql_events(c->session, &c->list, &err) != RS_OK) return sql_failed(c->session, cursor->pVtab, &err);
    c->nothing = c->one_event = c->one_key = c->one_rank = false;
    c->rank = c->argument = c->at = 0;
    c->r = NULL;
    for (int i = 0; i < argc; i++) {
        bool whole = sqlite3_value_numeric_type(argv[i]) == SQLITE_INTEGER;
        if (plan[i] == 'e') {
            c->one_event = true;
            c->event = sqlite3_value_int64(argv[i]);
            c->nothing |= !whole && sqlite3_value_numeric_type(argv[i]) != SQLITE_FLOAT;
        } else if (plan[i] == 'r') {
            c->one_rank = true;
            c->wanted_rank = sqlite3_value_int64(argv[i]);
            c->nothing |= !whole && sqlite3_value_numeric_type(argv[i]) != SQLITE_FLOAT;
        } else {
            const char *text = (const char *)sqlite3_value_text(argv[i]);
            c->one_key = true;
            c->nothing |= !text || strlen(text) >= sizeof c->key;
            if (!c->nothing) strcpy(c->key, text);
        }
    }
    return advance(c);
}

static int next(sqlite3_vtab_cursor *cursor)
{
    return advance((argument_cursor *)cursor);
}

static int at_end(sqlite3_vtab_cursor *cursor)
{
    return ((argument_cursor *)cursor)->r == NULL;
}

static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *out)
{
    const argument_cursor *c = (argument_cursor *)cursor;
    *out = (sqlite3_int64)((c->r->first + c->i) * 64 + c->argument);
    return SQLITE_OK;
}

static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *out, int i)
{
    const argument_cursor *c = (argument_cursor *)cursor;
    size_t n;
    const rs_event_argument *a = &rs_event_arguments(&n)[c->argument];
    const char *text;
    switch (i) {
    case EVENT: sqlite3_result_int64(out, (sqlite3_int64)(c->r->first + c->i)); break;
    case RANK: sqlite3_result_int64(out, c->r->rank); break;
    case POSITION: sqlite3_result_int64(out, rs_event_row(c->r, c->i)); break;
    case KEY: sqlite3_result_text(out, a->key, -1, SQLITE_STATIC); break;
    default:
        if (a->type == RS_INT) {
            sqlite3_result_int64(out, rs_event_argument_int(c->r, c->argument, c->at));
        } else if (a->type == RS_REAL) {
            sqlite3_result_double(out, rs_event_argument_real(c->r, c->argument, c->at));
        } else {
            text = rs_event_text(c->r, rs_event_argument_text(c->r, c->argument, c->at), &n);
            sqlite3_result_text64(out, text, n, SQLITE_STATIC, SQLITE_UTF8);
        }
    }
    return SQLITE_OK;
}

const sqlite3_module sql_arguments_module = {
    .iVersion = 1,
    .xConnect = sql_connect,
    .xBestIndex = best_index,
    .xDisconnect = sql_disconnect,
    .xOpen = open,
    .xClose = close,
    .xFilter = filter,
    .xNext = next,
    .xEof = at_end,
    .xColumn = column,
    .xRowid = rowid,
};
