/* The table of events: rows come straight from the columns of rankscope/events.h.
 *
 * What a statement asks of rank, time, name, category, step, stream, correlation, external_id or event is handed
 * to the table (best_index) and cuts down what it shows. SQLite tests every row again, so that the table may show
 * too many rows and never too few. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/real.h"
#include "base/search.h"
#include "sql/session.h"

/* ---- columns ------------------------------------------------------------------------------------------ */

enum {
    EVENT,
    RANK,
    POSITION,
    PHASE,
    CATEGORY,
    NAME,
    PID,
    TID,
    TS_US,
    DUR_US,
    END_US,
    STEP,
    DEVICE,
    STREAM,
    CORRELATION,
    EXTERNAL_ID,
    CONDITION, /* hidden from here on; events('CONDITION') */
    TS_NS,
    DUR_NS,
    END_NS,
    N_OWN /* the other arguments */
};

static const struct {
    const char *name, *type, *help;
} own[N_OWN] = {
    {"event", "INTEGER", "number of the event in the job: the first argument of under(), after(), before()"},
    {"rank", "INTEGER", "rank of the job"},
    {"position", "INTEGER", "place in the file's event array, from 0"},
    {"phase", "TEXT", "Chrome phase letter; X is a complete event"},
    {"category", "TEXT", "the event's cat"},
    {"name", "TEXT", "the event's name"},
    {"pid", "TEXT", "process (device for GPU events)"},
    {"tid", "TEXT", "thread (stream for GPU events)"},
    {"ts_us", "REAL", "start, from the job's first event (with --absolute: as in the file)"},
    {"dur_us", "REAL", "duration"},
    {"end_us", "REAL", "end: start and duration"},
    {"step", "INTEGER", "training step it belongs to"},
    {"device", "INTEGER", "device ordinal"},
    {"stream", "INTEGER", "stream"},
    {"correlation", "INTEGER", "number that launch and work share"},
    {"external_id", "INTEGER", "number that operator and launch share"},
    {"condition", "TEXT", "a condition of events --where, as in events('under(forward)')"},
    {"ts_ns", "INTEGER", "start, whole nanoseconds"},
    {"dur_ns", "INTEGER", "duration, whole nanoseconds"},
    {"end_ns", "INTEGER", "end, whole nanoseconds"},
};

/* The argument that a column shows; SIZE_MAX: none. The four that link events have columns of their own. */
static size_t argument_of(size_t column)
{
    switch (column) {
    case DEVICE: return RS_EVENT_DEVICE;
    case STREAM: return RS_EVENT_STREAM;
    case CORRELATION: return RS_EVENT_CORRELATION;
    case EXTERNAL_ID: return RS_EVENT_EXTERNAL_ID;
    default: return column < N_OWN ? SIZE_MAX : column - N_OWN + RS_EVENT_DEVICE + 1;
    }
}

const char *rs_sql_event_column(size_t i, const char **type, const char **help, bool *hidden)
{
    size_t n;
    const rs_event_argument *all = rs_event_arguments(&n);
    *hidden = i >= CONDITION;
    if (i < N_OWN) {
        *type = own[i].type;
        *help = own[i].help;
        return own[i].name;
    }
    if (argument_of(i) >= n) return NULL;
    const rs_event_argument *a = &all[argument_of(i)];
    *type = a->type == RS_INT ? "INTEGER" : a->type == RS_REAL ? "REAL" : "TEXT";
    *help = a->key ? a->key : "the event's own id: of flows";
    return a->name;
}

/* ---- what is asked ------------------------------------------------------------------------------------ */

typedef struct asked_key {
    rs_sql_key key;
    sqlite3_value *value; /* text of names and categories */
    int64_t number;       /* of the rank at hand: the key to look for */
} asked_key;

typedef struct event_cursor {
    sqlite3_vtab_cursor base;
    rs_sql_session *session;
    const rs_event_list *list;

    bool nothing; /* some value can be no event's */
    int64_t first_event, last_event, first_rank, last_rank, first_position, last_position; /* inclusive */
    int64_t from, until; /* starts, ns on the files' clock, inclusive */
    bool by_time;
    asked_key keys[SQL_N_KEYS];
    size_t n_keys;
    const uint64_t *bits[4];
    size_t n_bits;
    sqlite3_value *condition; /* the first of these */

    size_t rank; /* at hand; the number of ranks at the end */
    const rs_event_rank *r;
    const uint32_t *items; /* candidates: these, or the numbers from `next` on */
    size_t next, end;
    size_t at; /* the event at hand, in its rank */
    size_t n_passed;
} event_cursor;

/* Which columns can be asked for by which comparison, how many rows of a million one value leaves, and the letter
 * that represents the column in the plan. */
static const struct askable {
    int column;
    char letter;
    bool range;
    double left;
} askables[] = {{EVENT, 'e', true, 1},     {CORRELATION, 'c', false, 2}, {EXTERNAL_ID, 'x', false, 3},
                {POSITION, 'p', true, 8},  {NAME, 'n', false, 1e3},      {STEP, 's', false, 1e5},
                {STREAM, 'q', false, 1e5}, {CATEGORY, 'k', false, 2e5},  {RANK, 'r', true, 1.5e5},
                {TS_US, 't', true, 5e4},   {TS_NS, 'T', true, 5e4}};
#define N_ASKABLES (sizeof askables / sizeof *askables)

static const struct askable *askable_of(const sqlite3_index_info *info, int i)
{
    const struct sqlite3_index_constraint *c = &info->aConstraint[i];
    for (size_t k = 0; k < N_ASKABLES; k++) {
        if (askables[k].column != c->iColumn) continue;
        bool equal = c->op == SQLITE_INDEX_CONSTRAINT_EQ;
        bool range = c->op == SQLITE_INDEX_CONSTRAINT_LT || c->op == SQLITE_INDEX_CONSTRAINT_LE ||
                     c->op == SQLITE_INDEX_CONSTRAINT_GT || c->op == SQLITE_INDEX_CONSTRAINT_GE;
        if (!equal && !(range && askables[k].range)) return NULL;
        /* names are compared byte by byte, as the default collation does */
        if ((c->iColumn == NAME || c->iColumn == CATEGORY) &&
            strcmp(sqlite3_vtab_collation((sqlite3_index_info *)(uintptr_t)info, i), "BINARY") != 0)
            return NULL;
        return &askables[k];
    }
    return NULL;
}

/* The plan is a text of two letters a value: the column, and one of = < L > G (L: <=, G: >=). */
static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    char plan[2 * 32 + 1];
    size_t n = 0;
    double rows = 1e6;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        bool condition = c->iColumn == CONDITION && c->op == SQLITE_INDEX_CONSTRAINT_EQ;
        const struct askable *a = condition ? NULL : askable_of(info, i);
        if (!condition && !a) continue;
        if (!c->usable) {
            if (condition)
                return SQLITE_CONSTRAINT; /* the value comes from a table that must be read first */
            continue;
        }
        if (n >= sizeof plan - 3) continue;
        plan[n++] = (char)(condition ? 'w' : a->letter);
        plan[n++] = c->op == SQLITE_INDEX_CONSTRAINT_EQ   ? '='
                    : c->op == SQLITE_INDEX_CONSTRAINT_LT ? '<'
                    : c->op == SQLITE_INDEX_CONSTRAINT_LE ? 'L'
                    : c->op == SQLITE_INDEX_CONSTRAINT_GT ? '>'
                                                          : 'G';
        info->aConstraintUsage[i].argvIndex = (int)(n / 2);
        info->aConstraintUsage[i].omit = condition;
        double left = condition ? 1e5 : c->op == SQLITE_INDEX_CONSTRAINT_EQ ? a->left : 3e5;
        rows = rows * left / 1e6;
    }
    plan[n] = 0;
    info->idxStr = sqlite3_mprintf("%s", plan);
    if (!info->idxStr) return SQLITE_NOMEM;
    info->needToFreeIdxStr = 1;
    info->estimatedRows = rows < 1 ? 1 : rs_int_of(rows);
    info->estimatedCost = 10 + rows * 2;
    return SQLITE_OK;
}

static int open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    event_cursor *c = rs_calloc(1, sizeof *c);
    if (!c) return SQLITE_NOMEM;
    c->session = ((rs_sql_vtab *)table)->table->session;
    *out = &c->base;
    return SQLITE_OK;
}

static void forget_values(event_cursor *c)
{
    for (size_t i = 0; i < c->n_keys; i++) sqlite3_value_free(c->keys[i].value);
    c->n_keys = 0;
    sqlite3_value_free(c->condition);
    c->condition = NULL;
}

static int close(sqlite3_vtab_cursor *cursor)
{
    forget_values((event_cursor *)cursor);
    rs_free(cursor);
    return SQLITE_OK;
}

/* ---- values of a plan --------------------------------------------------------------------------------- */

/* Whole numbers between which what compares so with a value lies, perhaps some more: the value times `scale`. */
static void narrow(event_cursor *c, sqlite3_value *value, char op, double scale, int64_t origin,
                   int64_t *first, int64_t *last)
{
    int64_t low, high;
    int type = sqlite3_value_numeric_type(value);
    if (type == SQLITE_NULL) {
        c->nothing = true;
        return;
    }
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return; /* a text: greater than any number */
    if (type == SQLITE_INTEGER && scale == 1) {
        low = high = rs_add_sat(sqlite3_value_int64(value), origin);
    } else {
        double exact = sqlite3_value_double(value) * scale, slack = 2 + fabs(exact) * 1e-14;
        if (isnan(exact)) return;
        low = exact - slack <= -9.2e18  ? INT64_MIN
              : exact - slack >= 9.2e18 ? INT64_MAX
                                        : rs_int_of(exact - slack);
        high = exact + slack <= -9.2e18  ? INT64_MIN
               : exact + slack >= 9.2e18 ? INT64_MAX
                                         : rs_int_of(exact + slack);
        low = rs_add_sat(low, origin);
        high = rs_add_sat(high, origin);
    }
    if (op != '<' && op != 'L' && low > *first) *first = low;
    if (op != '>' && op != 'G' && high < *last) *last = high;
}

static int add_key(event_cursor *c, rs_sql_key key, sqlite3_value *value)
{
    asked_key *k = &c->keys[c->n_keys];
    for (size_t i = 0; i < c->n_keys; i++)
        if (c->keys[i].key == key) return SQLITE_OK; /* two values of one column: the first is enough */
    if (sqlite3_value_type(value) == SQLITE_NULL) {
        c->nothing = true;
        return SQLITE_OK;
    }
    k->key = key;
    k->value = NULL;
    if (key == SQL_BY_NAME || key == SQL_BY_CATEGORY) {
        k->value = sqlite3_value_dup(value);
        if (!k->value) return SQLITE_NOMEM;
    } else {
        int type = sqlite3_value_numeric_type(value);
        if (type == SQLITE_FLOAT) {
            double real = sqlite3_value_double(value);
            if (!(fabs(real) < 9.2e18)) return SQLITE_OK; /* beyond what a key can be: SQLite tests it */
            k->number = rs_int_of(floor(real));
        } else if (type == SQLITE_INTEGER) {
            k->number = sqlite3_value_int64(value);
        } else {
            c->nothing = true; /* a text is equal to no number */
        }
    }
    c->n_keys++;
    return SQLITE_OK;
}

static rs_status add_condition(event_cursor *c, sqlite3_value *value, rs_error *err)
{
    const char *text = (const char *)sqlite3_value_text(value);
    if (!text) {
        c->nothing = true;
        return RS_OK;
    }
    if (c->n_bits == sizeof c->bits / sizeof *c->bits)
        return rs_fail(err, RS_ERR_USAGE, "events: more than four conditions: join them in one by \"and\"");
    RS_TRY(rs_sql_marked(c->session, text, &c->bits[c->n_bits], err));
    if (c->n_bits++ == 0 && !(c->condition = sqlite3_value_dup(value)))
        return rs_fail_nomem(err, "a condition");
    return RS_OK;
}

static int take_value(event_cursor *c, char letter, char op, sqlite3_value *value, rs_error *err)
{
    int64_t origin = rs_event_list_origin(c->list);
    switch (letter) {
    case 'e': narrow(c, value, op, 1, 0, &c->first_event, &c->last_event); break;
    case 'r': narrow(c, value, op, 1, 0, &c->first_rank, &c->last_rank); break;
    case 'p': narrow(c, value, op, 1, 0, &c->first_position, &c->last_position); break;
    case 't': narrow(c, value, op, 1000, origin, &c->from, &c->until); break;
    case 'T': narrow(c, value, op, 1, origin, &c->from, &c->until); break;
    case 'n': return add_key(c, SQL_BY_NAME, value);
    case 'k': return add_key(c, SQL_BY_CATEGORY, value);
    case 's': return add_key(c, SQL_BY_STEP, value);
    case 'q': return add_key(c, SQL_BY_STREAM, value);
    case 'c': return add_key(c, SQL_BY_CORRELATION, value);
    case 'x': return add_key(c, SQL_BY_EXTERNAL_ID, value);
    default: return add_condition(c, value, err) == RS_OK ? SQLITE_OK : SQLITE_ERROR;
    }
    return SQLITE_OK;
}

/* ---- walking ------------------------------------------------------------------------------------------ */

/* The keys as numbers of this rank; false: it has no such name. */
static bool translate(event_cursor *c)
{
    for (size_t i = 0; i < c->n_keys; i++) {
        asked_key *k = &c->keys[i];
        if (!k->value) continue;
        const char *text = (const char *)sqlite3_value_text(k->value);
        uint32_t id =
            text ? rs_event_find_text(c->r, text, (size_t)sqlite3_value_bytes(k->value)) : UINT32_MAX;
        if (id == UINT32_MAX) return false;
        k->number = id;
        if (k->key != SQL_BY_CATEGORY) continue;
        size_t at = 0;
        while (at < c->r->n_categories && c->r->categories[at] != id) at++;
        if (at == c->r->n_categories) return false;
        k->number = (int64_t)at;
    }
    return true;
}

static size_t first_from(const rs_event_rank *r, int64_t position)
{
    size_t low;
    RS_SEARCH(low, r->n, (int64_t)rs_event_row(r, low) < position);
    return low;
}

/* The candidates of the rank at hand: the shortest of the lists that are there. */
static rs_status choose(event_cursor *c, rs_error *err)
{
    const rs_event_rank *r = c->r;
    c->items = NULL;
    c->next = 0;
    c->end = r->n;
    if (c->first_position > 0) c->next = first_from(r, c->first_position);
    if (c->last_position < INT64_MAX) c->end = first_from(r, c->last_position + 1);
    if (c->first_event > (int64_t)r->first && c->first_event - (int64_t)r->first > (int64_t)c->next)
        c->next = (size_t)(c->first_event - (int64_t)r->first);
    if (c->last_event < (int64_t)(r->first + c->end))
        c->end = (size_t)(c->last_event + 1 - (int64_t)r->first);
    if (c->end <= c->next) c->end = c->next;
    for (size_t i = 0; i < c->n_keys + c->by_time && c->end - c->next > 16; i++) {
        bool time = i == c->n_keys, found;
        const uint32_t *items;
        size_t from, n;
        RS_TRY(rs_sql_events_between(c->session, c->rank, time ? SQL_BY_TIME : c->keys[i].key,
                                     time ? c->from : c->keys[i].number, time ? c->until : c->keys[i].number,
                                     &items, &from, &n, &found, err));
        if (!found || n >= c->end - c->next) continue;
        c->items = items;
        c->next = items ? 0 : from;
        c->end = c->next + n;
    }
    return RS_OK;
}

static bool fits(const event_cursor *c, size_t i)
{
    const rs_event_rank *r = c->r;
    int64_t event = (int64_t)(r->first + i), value;
    uint32_t row = rs_event_row(r, i);
    if (event < c->first_event || event > c->last_event) return false;
    if ((int64_t)row < c->first_position || (int64_t)row > c->last_position) return false;
    for (size_t k = 0; k < c->n_bits; k++)
        if (!(c->bits[k][event / 64] >> event % 64 & 1)) return false;
    for (size_t k = 0; k < c->n_keys; k++)
        if (!rs_sql_event_key(r, c->keys[k].key, i, &value) || value != c->keys[k].number) return false;
    if (!c->by_time) return true;
    return r->start[row] != RS_EVENT_UNKNOWN && r->start[row] >= c->from && r->start[row] <= c->until;
}

/* To the next event that fits, or the end. */
static int advance(event_cursor *c)
{
    rs_error err = RS_ERROR_INIT;
    size_t n_ranks = rs_event_list_n_ranks(c->list);
    for (;;) {
        while (c->r && c->next < c->end) {
            c->at = c->items ? c->items[c->next] : c->next;
            c->next++;
            if ((++c->n_passed & 0xffff) == 0 && rs_sql_must_stop(c->session)) return SQLITE_INTERRUPT;
            if (fits(c, c->at)) return SQLITE_OK;
        }
        c->rank += c->r != NULL;
        c->r = NULL;
        while (c->rank < n_ranks && !c->nothing && !c->r) {
            c->r = rs_event_list_rank(c->list, c->rank);
            if (c->r->rank < c->first_rank || c->r->rank > c->last_rank || c->r->n == 0 ||
                (int64_t)c->r->first > c->last_event || (int64_t)(c->r->first + c->r->n) <= c->first_event ||
                !translate(c)) {
                c->r = NULL;
                c->rank++;
            }
        }
        if (!c->r) return SQLITE_OK;
        if (choose(c, &err) != RS_OK) return rs_sql_failed(c->session, c->base.pVtab, &err);
    }
}

static int filter(sqlite3_vtab_cursor *cursor, int number, const char *plan, int argc, sqlite3_value **argv)
{
    event_cursor *c = (event_cursor *)cursor;
    rs_error err = RS_ERROR_INIT;
    (void)number;
    forget_values(c);
    if (rs_sql_events(c->session, &c->list, &err) != RS_OK)
        return rs_sql_failed(c->session, cursor->pVtab, &err);
    c->nothing = false;
    c->n_bits = 0;
    c->rank = c->next = c->end = 0;
    c->r = NULL;
    c->first_event = c->first_rank = c->first_position = c->from = INT64_MIN;
    c->last_event = c->last_rank = c->last_position = c->until = INT64_MAX;
    for (int i = 0; i < argc; i++) {
        int code = take_value(c, plan[2 * i], plan[2 * i + 1], argv[i], &err);
        if (err.status != RS_OK) return rs_sql_failed(c->session, cursor->pVtab, &err);
        if (code != SQLITE_OK) return code;
    }
    c->by_time = c->from != INT64_MIN || c->until != INT64_MAX;
    return advance(c);
}

static int next(sqlite3_vtab_cursor *cursor)
{
    return advance((event_cursor *)cursor);
}

static int at_end(sqlite3_vtab_cursor *cursor)
{
    return ((event_cursor *)cursor)->r == NULL;
}

static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *out)
{
    const event_cursor *c = (event_cursor *)cursor;
    *out = (sqlite3_int64)(c->r->first + c->at);
    return SQLITE_OK;
}

/* ---- cells -------------------------------------------------------------------------------------------- */

void rs_sql_give_text(sqlite3_context *out, const rs_event_rank *r, uint32_t id)
{
    size_t n;
    const char *text = rs_event_text(r, id, &n);
    sqlite3_result_text64(out, text, n, SQLITE_STATIC, SQLITE_UTF8);
}

static void give_time(sqlite3_context *out, int64_t ns, bool exact)
{
    if (exact)
        sqlite3_result_int64(out, ns);
    else
        sqlite3_result_double(out, (double)ns / 1000);
}

static void give_argument(sqlite3_context *out, const rs_event_rank *r, size_t argument, uint32_t row)
{
    size_t at, n;
    if (!rs_event_argument_find(r, argument, row, &at)) return;
    rs_type type = rs_event_arguments(&n)[argument].type;
    if (type == RS_INT)
        sqlite3_result_int64(out, rs_event_argument_int(r, argument, at));
    else if (type == RS_REAL)
        sqlite3_result_double(out, rs_event_argument_real(r, argument, at));
    else
        rs_sql_give_text(out, r, rs_event_argument_text(r, argument, at));
}

static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *out, int i)
{
    const event_cursor *c = (event_cursor *)cursor;
    const rs_event_rank *r = c->r;
    uint32_t row = rs_event_row(r, c->at);
    int64_t start = r->start[row], duration = r->duration[row], origin = rs_event_list_origin(c->list);
    const rs_event_thread *thread = &r->threads[r->thread[row]];
    char phase = (char)r->phase[row];
    switch (i) {
    case EVENT: sqlite3_result_int64(out, (sqlite3_int64)(r->first + c->at)); break;
    case RANK: sqlite3_result_int64(out, r->rank); break;
    case POSITION: sqlite3_result_int64(out, row); break;
    case PHASE:
        if (phase) sqlite3_result_text(out, &phase, 1, SQLITE_TRANSIENT);
        break;
    case CATEGORY: rs_sql_give_text(out, r, r->categories[r->category[row]]); break;
    case NAME: rs_sql_give_text(out, r, r->name[row]); break;
    case PID: sqlite3_result_text(out, thread->pid, -1, SQLITE_STATIC); break;
    case TID: sqlite3_result_text(out, thread->tid, -1, SQLITE_STATIC); break;
    case TS_US:
    case TS_NS:
        if (start != RS_EVENT_UNKNOWN) give_time(out, rs_sub_sat(start, origin), i == TS_NS);
        break;
    case DUR_US:
    case DUR_NS:
        if (duration != RS_EVENT_UNKNOWN) give_time(out, duration, i == DUR_NS);
        break;
    case END_US:
    case END_NS:
        if (start != RS_EVENT_UNKNOWN)
            give_time(out, rs_sub_sat(rs_add_sat(start, duration == RS_EVENT_UNKNOWN ? 0 : duration), origin),
                      i == END_NS);
        break;
    case STEP:
        if (r->step && r->step[c->at] != RS_EVENT_UNKNOWN) sqlite3_result_int64(out, r->step[c->at]);
        break;
    case CONDITION:
        if (c->condition) sqlite3_result_value(out, c->condition);
        break;
    default: give_argument(out, r, argument_of((size_t)i), row);
    }
    return SQLITE_OK;
}

const sqlite3_module rs_sql_events_module = SQL_MODULE;
