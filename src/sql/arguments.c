/* The table of arguments: one row is one argument of one event. Rows come by rank, argument and event; those of
 * one event, as a join with events asks for them, are looked up. */
#include <string.h>

#include "base/real.h"
#include "base/search.h"
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

const char *rs_sql_argument_column(size_t i, const char **type, const char **help)
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
    char key[256];

    /* at hand; rank is the number of ranks at the end; behind the arguments that are columns come the others */
    size_t rank, argument, at;
    size_t n_arguments;
    const rs_event_rank *r;
    size_t i; /* the event, in its rank */
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
    info->estimatedRows = rs_int_of(rows);
    info->estimatedCost = 10 + 2 * rows;
    return SQLITE_OK;
}

static int open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    argument_cursor *c = rs_calloc(1, sizeof *c);
    if (!c) return SQLITE_NOMEM;
    c->session = ((rs_sql_vtab *)table)->table->session;
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
    size_t low;
    if (!r->rows) {
        *i = row;
        return row < r->n;
    }
    RS_SEARCH(low, r->n, r->rows[low] < row);
    *i = low;
    return low < r->n && r->rows[low] == row;
}

static bool wants_argument(const argument_cursor *c, size_t argument)
{
    size_t n;
    if (argument == c->n_arguments) return rs_event_n_others(c->r) > 0;
    const char *key = rs_event_arguments(&n)[argument].key;
    return key && (!c->one_key || strcmp(key, c->key) == 0);
}

static bool wants_rank(const argument_cursor *c)
{
    const rs_event_rank *r = c->r;
    if (c->one_rank && r->rank != c->wanted_rank) return false;
    return !c->one_event || (c->event >= (int64_t)r->first && c->event < (int64_t)(r->first + r->n));
}

static bool has_wanted_key(const argument_cursor *c, const rs_event_other *other)
{
    size_t n;
    const char *key = rs_event_text(c->r, other->key, &n);
    return !c->one_key || (strlen(c->key) == n && memcmp(c->key, key, n) == 0);
}

/* The same of the arguments that are no columns. */
static bool next_other(argument_cursor *c, bool first)
{
    size_t n = rs_event_n_others(c->r);
    uint32_t row = 0;
    if (c->one_event) row = rs_event_row(c->r, (size_t)(c->event - (int64_t)c->r->first));
    c->at = !first ? c->at + 1 : c->one_event ? rs_event_other_first(c->r, row) : 0;
    for (; c->at < n; c->at++) {
        rs_event_other other = rs_event_other_at(c->r, c->at);
        if (c->one_event && other.row != row) return false;
        if (has_wanted_key(c, &other) && event_of(c->r, other.row, &c->i)) return true;
    }
    return false;
}

/* The next value of the argument at hand; false: there is none. c->at is its place afterwards. */
static bool next_value(argument_cursor *c, bool first)
{
    size_t n;
    if (c->argument == c->n_arguments) return next_other(c, first);
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
    size_t n_ranks = rs_event_list_n_ranks(c->list);
    rs_event_arguments(&c->n_arguments);
    if ((++c->n_passed & 0xffff) == 0 && rs_sql_must_stop(c->session)) return SQLITE_INTERRUPT;
    if (c->r && next_value(c, false)) return SQLITE_OK;
    for (;;) {
        c->argument += c->r != NULL;
        if (!c->r || c->argument > c->n_arguments) {
            c->rank += c->r != NULL;
            c->r = NULL;
            c->argument = 0;
            if (c->rank >= n_ranks || c->nothing) return SQLITE_OK;
            c->r = rs_event_list_rank(c->list, c->rank);
            if (!wants_rank(c)) {
                c->argument = c->n_arguments; /* all of this rank are skipped */
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
    if (rs_sql_whole_events(c->session, &c->list, &err) != RS_OK)
        return rs_sql_failed(c->session, cursor->pVtab, &err);
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
            c->nothing |= !text;
            c->one_key = text && strlen(text) < sizeof c->key; /* a longer one SQLite looks for itself */
            if (c->one_key) strcpy(c->key, text);
            if (!text && sqlite3_value_type(argv[i]) != SQLITE_NULL) return SQLITE_NOMEM;
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
    *out = c->argument < c->n_arguments ? (sqlite3_int64)((c->r->first + c->i) * 64 + c->argument)
                                        : -(sqlite3_int64)(c->rank << 40 | c->at) - 1;
    return SQLITE_OK;
}

static void give_other(sqlite3_context *out, const rs_event_rank *r, const rs_event_other *other)
{
    if (other->is_null) return;
    if (other->type == RS_INT)
        sqlite3_result_int64(out, other->number);
    else if (other->type == RS_REAL)
        sqlite3_result_double(out, other->real);
    else
        rs_sql_give_text(out, r, (uint32_t)other->number);
}

static void give_value(sqlite3_context *out, const argument_cursor *c, rs_type type)
{
    if (type == RS_INT)
        sqlite3_result_int64(out, rs_event_argument_int(c->r, c->argument, c->at));
    else if (type == RS_REAL)
        sqlite3_result_double(out, rs_event_argument_real(c->r, c->argument, c->at));
    else
        rs_sql_give_text(out, c->r, rs_event_argument_text(c->r, c->argument, c->at));
}

static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *out, int i)
{
    const argument_cursor *c = (argument_cursor *)cursor;
    size_t n;
    const rs_event_argument *known =
        c->argument < c->n_arguments ? &rs_event_arguments(&n)[c->argument] : NULL;
    rs_event_other other = {0};
    if (!known) other = rs_event_other_at(c->r, c->at);
    switch (i) {
    case EVENT: sqlite3_result_int64(out, (sqlite3_int64)(c->r->first + c->i)); break;
    case RANK: sqlite3_result_int64(out, c->r->rank); break;
    case POSITION: sqlite3_result_int64(out, rs_event_row(c->r, c->i)); break;
    case KEY:
        if (known)
            sqlite3_result_text(out, known->key, -1, SQLITE_STATIC);
        else
            rs_sql_give_text(out, c->r, other.key);
        break;
    default:
        if (known)
            give_value(out, c, known->type);
        else
            give_other(out, c->r, &other);
    }
    return SQLITE_OK;
}

const sqlite3_module rs_sql_arguments_module = SQL_MODULE;
