/* What the files of this room share: a session, its tables, and what was computed for them.
 *
 * Every table is an eponymous virtual table of SQLite. There is no database: sqlite3_open(":memory:") gives the
 * parser, the planner and the machine, and an authorizer lets nothing but reading through. */
#ifndef RS_SQL_SESSION_H
#define RS_SQL_SESSION_H

#include <sqlite3.h>

#include "base/memory.h"
#include "base/try.h"
#include "rankscope/events.h"
#include "rankscope/sql.h"

/* One table of the session. */
typedef struct rs_sql_table {
    rs_sql_session *session;
    const char *name;
    const char *help;
    const rs_table_spec *spec; /* columns that are shown; NULL for events and arguments */
    /* an answer: which table of which analysis, and the options that fill it */
    const rs_analysis *analysis; /* NULL of an answer: regress */
    size_t index;
    const char *preset;
    bool compares; /* jobs, not ranks of one: base and other are arguments of the table, too */
    /* or what is made from the events or the catalogue, once */
    rs_status (*make)(rs_sql_session *session, rs_table *into, rs_error *err);
    rs_table *made;
} rs_sql_table;

/* Rows of one column of a table in the order of its values, for look-ups. */
typedef struct rs_sql_order {
    struct rs_sql_order *next;
    const rs_table *table;
    size_t column;
    size_t n; /* rows with a value */
    uint32_t *rows;
} rs_sql_order;

/* The result of an analysis under some options. */
typedef struct rs_sql_answer {
    const rs_analysis *analysis; /* NULL: regress */
    char *options;               /* as they were given, behind the preset's */
    char *inputs;                /* whose: numbers as rs_sql_inputs writes them */
    rs_result result;
    rs_sql_order *orders;
    uint64_t number; /* no two of a session have the same */
    uint64_t used;   /* when it was asked for last, by the session's count */
} rs_sql_answer;

#define SQL_ANSWERS 64 /* kept from one statement to the next */

/* The events for which a condition holds. */
typedef struct rs_sql_marks {
    char *condition;
    uint64_t *bits;
} rs_sql_marks;

typedef struct rs_sql_event_order rs_sql_event_order;

#define RS_SQL_BOUNDED 7
/* A function of SQLite that is called through a bound: functions.c. */
typedef struct rs_sql_bounded {
    rs_sql_session *session;
    size_t index;
    sqlite3_stmt *statement; /* SELECT of it with so many arguments; NULL: not yet called */
    int argc;
} rs_sql_bounded;

typedef enum rs_sql_stop {
    RS_SQL_GOES_ON,
    RS_SQL_CANCELLED,
    RS_SQL_TIME,
    RS_SQL_QUERY_TIME,
    RS_SQL_MEMORY
} rs_sql_stop;

struct rs_sql_session {
    rs_job *job;
    rs_sql_settings settings;
    sqlite3 *db;
    sqlite3 *plain; /* has no tables: calls SQLite's functions */
    rs_sql_bounded bounded[RS_SQL_BOUNDED];
    rs_arena names;
    rs_sql_table *tables;
    size_t n_tables, tables_capacity;

    rs_event_list *events;      /* on first need */
    rs_event_list *whole;       /* the same with arguments by any name; may be the same list */
    bool wants_whole;           /* the statement reads the table of arguments */
    rs_sql_event_order *orders; /* of the events: event_order.c */
    rs_sql_answer **answers;
    size_t n_answers, answers_capacity;
    uint64_t n_asked;
    rs_sql_marks *marks;
    size_t n_marks, marks_capacity;
    rs_sql_order *made_orders; /* of tables that are made */

    const char *text; /* the statements that run; NULL: none */
    size_t at;        /* behind the statement at hand */
    bool any;         /* some statement was there */
    sqlite3_stmt *statement;
    struct rs_sql_rows *rows; /* of the statement at hand */

    rs_result told;       /* problems and notes of what was loaded and run since the statement began */
    rs_error failure;     /* of a table, in its own words; status RS_OK: none */
    char refused[160];    /* by the authorizer; empty: nothing */
    bool declares;        /* a table is declared to SQLite, which is no statement of the user's */
    rs_sql_stop stop;     /* why a statement was interrupted */
    double until;         /* rs_clock_seconds; 0: no limit */
    double began;         /* the call, by that clock */
    double loaded;        /* seconds of it that went into traces and analyses */
    double load_began;    /* 0: none is under way */
    int64_t memory;       /* of SQLite before the statement */
    int64_t taken;        /* bytes of the statement: memory.c */
    unsigned n_taken;     /* allocations so far */
    uint64_t rows_memory; /* of the rows of the answer so far */
};

/* ---- session.c */

/* Around what reads traces or runs analyses. */
void rs_sql_load_begin(rs_sql_session *session);
void rs_sql_load_end(rs_sql_session *session);

extern const char rs_sql_only_reads[];

/* Keeps the first error of a table, for the end of the statement; returns what SQLite is to be told. */
int rs_sql_failed(rs_sql_session *session, sqlite3_vtab *table, const rs_error *err);
/* Whether a loop inside a table must end: cancelled, out of time or memory. */
bool rs_sql_must_stop(rs_sql_session *session);
/* The events, loaded on first need. */
rs_status rs_sql_events(rs_sql_session *session, const rs_event_list **out, rs_error *err);
/* The same events with arguments by any name. */
rs_status rs_sql_whole_events(rs_sql_session *session, const rs_event_list **out, rs_error *err);
/* The events for which a condition holds; the session's. */
rs_status rs_sql_marked(rs_sql_session *session, const char *condition, const uint64_t **bits, rs_error *err);
/* Adds problems and notes to the statement's, each once. */
void rs_sql_tell(rs_sql_session *session, rs_result *from);

/* ---- memory.c */

/* The session whose limits SQLite's allocations on this thread are held to; NULL: none. */
void rs_sql_run_on_thread(rs_sql_session *session);
/* Bytes that the statement has taken of SQLite's memory. */
int64_t rs_sql_taken(const rs_sql_session *session);

/* ---- catalogue.c */

rs_status rs_sql_list_tables(rs_sql_session *session, rs_error *err);

/* A table as SQLite holds it, and how it comes there and goes: the same for all of them. */
typedef struct rs_sql_vtab {
    sqlite3_vtab base;
    rs_sql_table *table;
} rs_sql_vtab;
int rs_sql_connect(sqlite3 *db, void *table, int argc, const char *const *argv, sqlite3_vtab **out,
                   char **message);
int rs_sql_disconnect(sqlite3_vtab *table);

/* ---- answers.c */

extern const sqlite3_module rs_sql_answer_module;
/* Frees answers but for those that were asked for last. Not while a statement runs. */
void rs_sql_answers_trim(rs_sql_session *session, size_t keep);

/* The columns of a table that are its arguments, behind its own: their number, and each. */
size_t rs_sql_n_arguments(const rs_sql_table *table);
const char *rs_sql_table_argument(const rs_sql_table *table, size_t i, const char **help);

/* ---- inputs.c */

/* Jobs that a statement names, by their numbers from 0. */
typedef struct rs_sql_inputs {
    size_t *base, *other; /* owned; other is empty of a table that compares nothing */
    size_t n_base, n_other;
    char *text; /* the same as text; owned */
} rs_sql_inputs;

/* Reads what was given for a table: names or numbers from 1 with commas between; NULL: not given. */
rs_status rs_sql_inputs_read(rs_sql_session *session, const rs_sql_table *table, const char *base,
                             const char *other, rs_sql_inputs *out, rs_error *err);
void rs_sql_inputs_clear(rs_sql_inputs *inputs);
/* Runs an analysis on them, or regress where there is none. */
rs_status rs_sql_inputs_run(rs_sql_session *session, const rs_analysis *analysis, const rs_sql_inputs *inputs,
                            const rs_options *options, rs_result *result, rs_error *err);
/* The options of regress. */
extern const rs_option_spec rs_sql_regress_options[];
extern const size_t rs_sql_n_regress_options;

/* ---- table_order.c */

/* The rows whose cell equals a value: *rows, *n; the table's order of that column is made on first need and
 * kept in the list. */
rs_status rs_sql_look_up(rs_sql_order **orders, const rs_table *table, size_t column, sqlite3_value *value,
                         const uint32_t **rows, size_t *n, rs_error *err);
void rs_sql_orders_clear(rs_sql_order **orders);

/* ---- events.c, arguments.c */

extern const sqlite3_module rs_sql_events_module, rs_sql_arguments_module;
/* The columns of events: name, type, meaning; NULL after the last. hidden: not part of *. */
const char *rs_sql_event_column(size_t i, const char **type, const char **help, bool *hidden);
/* The i-th column of table arguments, as above. */
const char *rs_sql_argument_column(size_t i, const char **type, const char **help);

/* ---- event_order.c */

/* What events are looked up by. */
typedef enum rs_sql_key {
    SQL_BY_TIME,
    SQL_BY_NAME,
    SQL_BY_CATEGORY,
    SQL_BY_STEP,
    SQL_BY_STREAM,
    SQL_BY_CORRELATION,
    SQL_BY_EXTERNAL_ID,
    SQL_N_KEYS
} rs_sql_key;

/* The key of a rank's i-th event; false: it has none. */
bool rs_sql_event_key(const rs_event_rank *rank, rs_sql_key key, size_t i, int64_t *value);
/* The events of a rank with first <= key <= last: *items (NULL: the numbers *n events from *from on). A key that was
 * asked for once is looked for event by event; from the second time on events are sorted by it: *found is false the
 * first time. Time is sorted at once. */
rs_status rs_sql_events_between(rs_sql_session *session, size_t rank, rs_sql_key key, int64_t first,
                                int64_t last, const uint32_t **items, size_t *from, size_t *n, bool *found,
                                rs_error *err);
void rs_sql_event_orders_clear(rs_sql_session *session);

/* ---- functions.c */

rs_status rs_sql_add_functions(rs_sql_session *session, rs_error *err);
/* After the session's connection is closed, also where adding them failed. */
void rs_sql_drop_functions(rs_sql_session *session);

/* ---- rows.c */

typedef struct rs_sql_rows rs_sql_rows;

/* The rows of a prepared statement, which stays the caller's. *out is NULL on failure. */
rs_status rs_sql_rows_open(rs_sql_session *session, sqlite3_stmt *statement, rs_sql_rows **out,
                           rs_error *err);
/* The next of them as a table, at most so many, and about so many bytes; *out is NULL when there are no more, but for the
 * first page. After a failure there are no more. */
rs_status rs_sql_rows_page(rs_sql_rows *rows, size_t most_rows, size_t most_bytes, rs_table **out,
                           rs_error *err);
/* Back to the first row. What types columns have is remembered. */
void rs_sql_rows_again(rs_sql_rows *rows);
void rs_sql_rows_close(rs_sql_rows *rows); /* NULL is allowed */

/* ---- messages.c */

/* Why a statement did not come to its end. */
rs_status rs_sql_explain_stop(rs_sql_session *session, rs_error *err);
/* The error of a statement that does not parse: where in the text, and the nearest word. text is all of it,
 * the statement begins at `from`. */
rs_status rs_sql_explain(rs_sql_session *session, const char *text, size_t from, rs_error *err);

/* A table of the functions that each file has under these names. */
#define SQL_MODULE                                                                                           \
    {                                                                                                        \
        .iVersion = 1, .xConnect = rs_sql_connect, .xBestIndex = best_index,                                 \
        .xDisconnect = rs_sql_disconnect, .xOpen = open, .xClose = close, .xFilter = filter, .xNext = next,  \
        .xEof = at_end, .xColumn = column, .xRowid = rowid                                                   \
    }

/* Texts belong to the event list, which lives as long as the session. */
void rs_sql_give_text(sqlite3_context *out, const rs_event_rank *rank, uint32_t id);

#endif
