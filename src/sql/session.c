/* A session of SQL over a job: rankscope/sql.h. */
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/listed.h"
#include "sql/session.h"

#define DEFAULT_MEMORY (UINT64_C(1) << 30)
#define STEPS_A_CALL 200 /* of SQLite's machine between two looks at the clock, the memory and the user */
#define MEMORY_A_TEXT 16 /* a text may take so small a part of the memory: a function holds several at once */
#define MOST_TEXT (16 << 20)  /* bytes: what one call of a function does to it takes well below a second */
#define MOST_MARKS 256        /* conditions of one session */
#define PAGE_BYTES (64 << 20) /* of the rows of a page, and of the table that is made of them */

/* ---- limits ------------------------------------------------------------------------------------------- */

/* What of SQLite's abilities a statement may use. */
static void set_limits(rs_sql_session *s)
{
    uint64_t length = s->settings.max_memory / MEMORY_A_TEXT;
    const struct {
        int id, most;
    } limits[] = {{SQLITE_LIMIT_LENGTH, length < MOST_TEXT ? (int)length : MOST_TEXT},
                  {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
                  {SQLITE_LIMIT_COLUMN, 500},
                  {SQLITE_LIMIT_EXPR_DEPTH, 200},
                  {SQLITE_LIMIT_COMPOUND_SELECT, 100},
                  {SQLITE_LIMIT_VDBE_OP, 250000},
                  {SQLITE_LIMIT_ATTACHED, 0},
                  {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
                  {SQLITE_LIMIT_WORKER_THREADS, 0}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        sqlite3_limit(s->db, limits[i].id, limits[i].most);
}

void rs_sql_load_begin(rs_sql_session *s)
{
    s->load_began = rs_clock_seconds();
    rs_sql_run_on_thread(NULL);
}

void rs_sql_load_end(rs_sql_session *s)
{
    s->loaded += rs_clock_seconds() - s->load_began;
    s->load_began = 0;
    rs_sql_run_on_thread(s);
}

static bool query_is_late(const rs_sql_session *s, double now)
{
    double loaded = s->loaded + (s->load_began > 0 ? now - s->load_began : 0);
    return s->settings.query_timeout > 0 && now - s->began - loaded > s->settings.query_timeout;
}

static rs_sql_stop why_stop(const rs_sql_session *s)
{
    const rs_sql_settings *o = &s->settings;
    if (o->goes_on && !o->goes_on(o->context)) return RS_SQL_CANCELLED;
    double now = s->until > 0 || o->query_timeout > 0 ? rs_clock_seconds() : 0;
    if (s->until > 0 && now > s->until) return RS_SQL_TIME;
    if (query_is_late(s, now)) return RS_SQL_QUERY_TIME;
    int64_t used = rs_sql_taken(s);
    return used > 0 && (uint64_t)used + s->rows_memory > o->max_memory ? RS_SQL_MEMORY : RS_SQL_GOES_ON;
}

bool rs_sql_must_stop(rs_sql_session *s)
{
    if (s->stop == RS_SQL_GOES_ON) s->stop = why_stop(s);
    return s->stop != RS_SQL_GOES_ON;
}

static int on_progress(void *context)
{
    return rs_sql_must_stop(context);
}

bool rs_sql_goes_on(const rs_sql_session *s)
{
    return s->stop == RS_SQL_GOES_ON && why_stop(s) == RS_SQL_GOES_ON;
}

/* ---- what may be done --------------------------------------------------------------------------------- */

const char rs_sql_only_reads[] = "statements only read: SELECT, WITH, VALUES, EXPLAIN";

/* Pragmas that only tell of tables. */
static bool is_harmless(const char *pragma)
{
    static const char *const names[] = {"table_info", "table_xinfo", "table_list", "function_list"};
    for (size_t i = 0; pragma && i < sizeof names / sizeof *names; i++)
        if (sqlite3_stricmp(names[i], pragma) == 0) return true;
    return false;
}

/* Functions that compute from their arguments. Others of SQLite are about the process (its memory, its build) or are of extensions
 * that this program has no tables for; what a later SQLite adds is refused until it is known. */
static bool is_allowed_function(const char *name)
{
    static const char names[] =
        "->|->>|abs|acos|acosh|after|asin|asinh|atan|atan2|atanh|avg|before|ceil|ceiling|char|coalesce|"
        "concat|concat_ws|cos|cosh|count|cume_dist|current_date|current_time|current_timestamp|date|"
        "datetime|degrees|dense_rank|exp|first_value|floor|format|glob|group_concat|hex|holds|ifnull|iif|"
        "instr|json|json_array|json_array_length|json_error_position|json_extract|json_group_array|"
        "json_group_object|json_insert|json_object|json_patch|json_quote|json_remove|json_replace|"
        "json_set|json_type|json_valid|julianday|lag|last_value|lead|length|like|likelihood|likely|ln|"
        "log|log10|log2|lower|ltrim|max|min|mod|nth_value|ntile|nullif|octet_length|percent_rank|pi|pow|"
        "power|printf|quote|radians|random|randomblob|rank|regexp|replace|round|row_number|rtrim|sign|"
        "sin|sinh|soundex|sqrt|strftime|string_agg|substr|substring|subtype|sum|tan|tanh|time|timediff|"
        "total|trim|trunc|typeof|under|unhex|unicode|unixepoch|unlikely|upper|zeroblob";
    char low[32];
    size_t n = name ? strlen(name) : 0;
    for (size_t i = 0; i < n && n < sizeof low; i++) low[i] = rs_lower(name[i]);
    return n < sizeof low && rs_listed(names, low, n, true);
}

static int on_authorize(void *context, int action, const char *a, const char *b, const char *c, const char *d)
{
    rs_sql_session *s = context;
    (void)c;
    (void)d;
    if (s->declares) return SQLITE_OK;
    switch (action) {
    case SQLITE_READ: s->wants_whole |= a && sqlite3_stricmp(a, "arguments") == 0; return SQLITE_OK;
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
        if (is_allowed_function(b)) return SQLITE_OK;
        snprintf(s->refused, sizeof s->refused,
                 "function %.60s is refused: only those that compute from their arguments are available",
                 b ? b : "");
        return SQLITE_DENY;
    case SQLITE_PRAGMA:
        if (is_harmless(a)) return SQLITE_OK;
        snprintf(s->refused, sizeof s->refused,
                 "PRAGMA %.60s is refused: there is table_info, table_xinfo, table_list, function_list",
                 a ? a : "");
        return SQLITE_DENY;
    default: snprintf(s->refused, sizeof s->refused, "%s", rs_sql_only_reads); return SQLITE_DENY;
    }
}

/* ---- what tables need --------------------------------------------------------------------------------- */

int rs_sql_failed(rs_sql_session *s, sqlite3_vtab *table, const rs_error *err)
{
    char text[RS_ERROR_TEXT];
    if (s->failure.status == RS_OK) s->failure = *err;
    if (err->status == RS_ERR_NOMEM) return SQLITE_NOMEM;
    if (table && !table->zErrMsg)
        table->zErrMsg = sqlite3_mprintf("%s", rs_error_text(err, text, sizeof text));
    return SQLITE_ERROR;
}

static bool is_told(const rs_problems *list, const rs_problem *p)
{
    for (size_t i = 0; i < list->n; i++) {
        const rs_problem *known = &list->items[i];
        bool same_file = known->file && p->file ? strcmp(known->file, p->file) == 0 : known->file == p->file;
        if (same_file && known->rank == p->rank && strcmp(known->kind, p->kind) == 0) return true;
    }
    return false;
}

/* Drops what was told before. Where there is no memory for that, it is told again. */
static void drop_known(const rs_problems *told, rs_problems *from)
{
    size_t n = 0;
    rs_problems known = {.items = rs_calloc(from->n + 1, sizeof *known.items), .capacity = from->n + 1};
    if (!known.items) return;
    for (size_t i = 0; i < from->n; i++) {
        rs_problem p = from->items[i];
        if (is_told(told, &p))
            known.items[known.n++] = p;
        else
            from->items[n++] = p;
    }
    from->n = n;
    rs_problems_clear(&known);
}

static void take_note(rs_sql_session *s, char *note)
{
    rs_result *told = &s->told;
    for (size_t i = 0; i < told->n_notes; i++) {
        if (strcmp(told->notes[i], note) != 0) continue;
        rs_free(note);
        return;
    }
    char **grown = rs_realloc(told->notes, (told->n_notes + 1) * sizeof *grown);
    if (!grown) {
        rs_free(note); /* as rs_result_note does: a note is no part of the answer */
        return;
    }
    told->notes = grown;
    told->notes[told->n_notes++] = note;
}

void rs_sql_tell(rs_sql_session *s, rs_result *from)
{
    drop_known(&s->told.problems, &from->problems);
    rs_problems_move(&s->told.problems, &from->problems);
    for (size_t i = 0; i < from->n_notes; i++) take_note(s, from->notes[i]);
    rs_free(from->notes);
    from->notes = NULL;
    from->n_notes = 0;
}

/* A note for the statement's user, once; where there is no memory for it, none. */
static void sql_note(rs_sql_session *s, const char *text)
{
    char *note = rs_strdup(text);
    if (note) take_note(s, note);
}

/* With several inputs: whose events there are. */
static void tell_whose(rs_sql_session *s)
{
    char text[200];
    if (s->settings.n_inputs < 2) return;
    snprintf(text, sizeof text, "events, arguments, files and threads are those of input 1, %.100s",
             s->settings.inputs[0].name);
    sql_note(s, text);
}

static rs_status open_events(rs_sql_session *s, bool others, rs_event_list **out, rs_error *err)
{
    RS_SCOPED(rs_result_clear) rs_result told = {0};
    rs_sql_load_begin(s);
    rs_status status = rs_event_list_open(s->job, others, out, &told, err);
    rs_sql_load_end(s);
    rs_sql_tell(s, &told);
    return status;
}

rs_status rs_sql_events(rs_sql_session *s, const rs_event_list **out, rs_error *err)
{
    rs_status status = RS_OK;
    tell_whose(s);
    if (!s->events && s->wants_whole)
        status = rs_sql_whole_events(s, out, err);
    else if (!s->events)
        status = open_events(s, false, &s->events, err);
    *out = s->events;
    return status;
}

/* Events that were loaded without these arguments stay, as texts of answers may be theirs. */
rs_status rs_sql_whole_events(rs_sql_session *s, const rs_event_list **out, rs_error *err)
{
    tell_whose(s);
    if (!s->whole) RS_TRY(open_events(s, true, &s->whole, err));
    if (!s->events) s->events = s->whole;
    *out = s->whole;
    if (rs_event_list_n_events(s->whole) == rs_event_list_n_events(s->events)) return RS_OK;
    return rs_fail(err, RS_ERR_IO, "the traces have changed since their events were read: ask again");
}

rs_status rs_sql_marked(rs_sql_session *s, const char *condition, const uint64_t **bits, rs_error *err)
{
    for (size_t i = 0; i < s->n_marks; i++)
        if (strcmp(s->marks[i].condition, condition) == 0) {
            *bits = s->marks[i].bits;
            return RS_OK;
        }
    if (s->n_marks == MOST_MARKS)
        return rs_fail(err, RS_ERR_LIMIT, "more than %d different conditions on events in one session",
                       MOST_MARKS);
    if (!RS_GROW_ONE(s->marks, s->n_marks, s->marks_capacity)) return rs_fail_nomem(err, "a condition");
    rs_sql_marks m = {.condition = rs_strdup(condition)};
    rs_status status = m.condition ? RS_OK : rs_fail_nomem(err, "a condition");
    rs_sql_load_begin(s);
    if (status == RS_OK)
        status = rs_event_list_mark(s->events, condition, "the condition on events", &m.bits, err);
    rs_sql_load_end(s);
    if (status != RS_OK) {
        rs_free(m.condition);
        return status;
    }
    s->marks[s->n_marks++] = m;
    *bits = m.bits;
    return RS_OK;
}

/* Tables of SQLite's own that only tell: they are declared before statements may do nothing but read. */
static void declare_own_tables(sqlite3 *db)
{
    static const char *const queries[] = {
        "SELECT 1 FROM pragma_table_info('x')", "SELECT 1 FROM pragma_table_xinfo('x')",
        "SELECT 1 FROM pragma_table_list",      "SELECT 1 FROM pragma_function_list",
        "SELECT 1 FROM json_each('[]')",        "SELECT 1 FROM json_tree('[]')"};
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        sqlite3_stmt *unused = NULL;
        sqlite3_prepare_v2(db, queries[i], -1, &unused,
                           NULL); /* a SQLite without it: there is no such table */
        sqlite3_finalize(unused);
    }
}

/* ---- the session -------------------------------------------------------------------------------------- */

static rs_status open_database(rs_sql_session *s, rs_error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(":memory:", &s->db, flags, NULL) != SQLITE_OK) return rs_fail_nomem(err, "SQL");
    sqlite3_extended_result_codes(s->db, 0);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    /* "name" is a column; with these two off, one that does not exist is no text */
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    /* what a sort does not hold in memory would go to a file */
    if (sqlite3_exec(s->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL) != SQLITE_OK)
        return rs_fail_nomem(err, "SQL");
    declare_own_tables(s->db);
    set_limits(s);
    RS_TRY(rs_sql_list_tables(s, err));
    RS_TRY(rs_sql_add_functions(s, err));
    sqlite3_set_authorizer(s->db, on_authorize, s);
    sqlite3_progress_handler(s->db, STEPS_A_CALL, on_progress, s);
    return RS_OK;
}

rs_status rs_sql_open(rs_job *job, const rs_sql_settings *settings, rs_sql_session **out, rs_error *err)
{
    *out = NULL;
    if (settings->size != sizeof *settings)
        return rs_fail(err, RS_ERR_USAGE, "settings of SQL have no size, or another one");
    rs_sql_session *s = rs_calloc(1, sizeof *s);
    if (!s) return rs_fail_nomem(err, "SQL");
    s->job = job;
    s->settings = *settings;
    if (s->settings.n_inputs) s->job = s->settings.inputs[0].job;
    if (!s->settings.max_memory) s->settings.max_memory = DEFAULT_MEMORY;
    rs_status status = open_database(s, err);
    if (status == RS_OK)
        *out = s;
    else
        rs_sql_close(s);
    return status;
}

static void drop_statement(rs_sql_session *s)
{
    rs_sql_rows_close(s->rows);
    s->rows = NULL;
    sqlite3_finalize(s->statement);
    s->statement = NULL;
}

void rs_sql_close(rs_sql_session *s)
{
    if (!s) return;
    drop_statement(s);
    sqlite3_close(s->db); /* its cursors and tables point to what is freed below */
    rs_sql_drop_functions(s);
    rs_sql_answers_trim(s, 0);
    rs_free(s->answers);
    rs_sql_event_orders_clear(s);
    rs_sql_orders_clear(&s->made_orders);
    for (size_t i = 0; i < s->n_marks; i++) {
        rs_free_all(s->marks[i].condition, s->marks[i].bits);
    }
    rs_free(s->marks);
    for (size_t i = 0; i < s->n_tables; i++) rs_table_free(s->tables[i].made);
    rs_free(s->tables);
    if (s->whole != s->events) rs_event_list_close(s->whole);
    rs_event_list_close(s->events);
    rs_result_clear(&s->told);
    rs_arena_clear(&s->names);
    rs_free(s);
}

/* ---- statements --------------------------------------------------------------------------------------- */

static rs_status add_table(rs_result *result, rs_table *table, rs_error *err)
{
    rs_table **grown = rs_realloc(result->tables, (result->n_tables + 1) * sizeof *grown);
    if (!grown) {
        rs_table_free(table);
        return rs_fail_nomem(err, "answers");
    }
    result->tables = grown;
    result->tables[result->n_tables++] = table;
    return RS_OK;
}

/* A run of the job that was told to stop as time was over. */
static rs_status end_of_time(rs_sql_session *s, rs_status status, rs_error *err)
{
    if (status != RS_ERR_CANCELLED || why_stop(s) != RS_SQL_TIME) return status;
    return rs_fail(err, RS_ERR_LIMIT, "the statement took longer than allowed");
}

rs_status rs_sql_begin(rs_sql_session *s, const char *text, rs_error *err)
{
    if (s->text) return rs_fail(err, RS_ERR_USAGE, "statements run already: rs_sql_end is missing");
    s->text = text;
    s->at = 0;
    s->any = false;
    s->stop = RS_SQL_GOES_ON;
    s->began = rs_clock_seconds();
    s->loaded = 0;
    s->until = s->settings.timeout > 0 ? s->began + s->settings.timeout : 0;
    return RS_OK;
}

/* The statement at s->at, if there is one before the end. */
static rs_status prepare(rs_sql_session *s, rs_error *err)
{
    const char *rest;
    rs_sql_answers_trim(s, SQL_ANSWERS);
    s->failure.status = RS_OK;
    s->refused[0] = 0;
    s->wants_whole = false;
    s->memory = sqlite3_memory_used();
    s->taken = 0;
    rs_sql_run_on_thread(s);
    int code = sqlite3_prepare_v2(s->db, s->text + s->at, -1, &s->statement, &rest);
    rs_sql_run_on_thread(NULL);
    if (code != SQLITE_OK)
        return s->stop != RS_SQL_GOES_ON ? rs_sql_explain_stop(s, err)
                                         : rs_sql_explain(s, s->text, s->at, err);
    s->at = (size_t)(rest - s->text);
    if (!s->statement) return RS_OK; /* white space, a comment */
    s->any = true;
    if (sqlite3_column_count(s->statement) == 0 || !sqlite3_stmt_readonly(s->statement))
        return rs_fail(err, RS_ERR_USAGE, "%s", rs_sql_only_reads);
    return rs_sql_rows_open(s, s->statement, &s->rows, err);
}

rs_status rs_sql_next(rs_sql_session *s, bool *there, rs_error *err)
{
    rs_status status = RS_OK;
    *there = false;
    drop_statement(s);
    if (!s->text) return rs_fail(err, RS_ERR_USAGE, "no statements run: rs_sql_begin is missing");
    while (status == RS_OK && !s->statement && s->text[s->at]) status = prepare(s, err);
    if (status == RS_OK && !s->any) status = rs_fail(err, RS_ERR_USAGE, "there is no statement");
    *there = status == RS_OK && s->statement;
    return status;
}

bool rs_sql_is_last(rs_sql_session *s)
{
    sqlite3_stmt *next = NULL;
    const char *rest;
    bool whole = s->wants_whole, last = true;
    rs_sql_run_on_thread(s);
    for (size_t at = s->at; last && s->text && s->text[at]; at = (size_t)(rest - s->text)) {
        last = sqlite3_prepare_v2(s->db, s->text + at, -1, &next, &rest) == SQLITE_OK && !next;
        sqlite3_finalize(next);
    }
    rs_sql_run_on_thread(NULL);
    s->wants_whole = whole; /* which is what the statement at hand needs */
    s->refused[0] = 0;
    return last;
}

static rs_status take_page(rs_sql_session *s, size_t rows, size_t bytes, rs_table **page, rs_error *err)
{
    *page = NULL;
    if (!s->rows) return rs_fail(err, RS_ERR_USAGE, "no statement is at hand: rs_sql_next is missing");
    return end_of_time(s, rs_sql_rows_page(s->rows, rows, bytes, page, err), err);
}

rs_status rs_sql_page(rs_sql_session *s, size_t most_rows, rs_table **page, rs_error *err)
{
    rs_error local = RS_ERROR_INIT;
    size_t bytes = s->settings.max_memory / 4 < PAGE_BYTES ? (size_t)s->settings.max_memory / 4 : PAGE_BYTES;
    return take_page(s, most_rows ? most_rows : 1, bytes, page, err ? err : &local);
}

rs_status rs_sql_check(rs_sql_session *s, uint64_t held, rs_error *err)
{
    s->rows_memory = held;
    bool stops = rs_sql_must_stop(s);
    s->rows_memory = 0;
    return stops ? rs_sql_explain_stop(s, err) : RS_OK;
}

void rs_sql_again(rs_sql_session *s)
{
    if (s->rows) rs_sql_rows_again(s->rows);
}

/* Gives what there is to tell to a result, whose tables stay. */
static void end_run(rs_sql_session *s, rs_result *result)
{
    drop_statement(s);
    s->text = NULL;
    result->problems = s->told.problems;
    result->notes = s->told.notes;
    result->n_notes = s->told.n_notes;
    result->found = s->told.found;
    s->told = (rs_result){0};
}

void rs_sql_end(rs_sql_session *s, rs_result *result)
{
    *result = (rs_result){0};
    end_run(s, result);
}

const rs_result *rs_sql_told(const rs_sql_session *s)
{
    return &s->told;
}

/* The rows of all statements, each whole. */
static rs_status run_all(rs_sql_session *s, const char *text, rs_result *result, rs_error *err)
{
    bool there;
    RS_TRY(rs_sql_begin(s, text, err));
    RS_TRY(rs_sql_next(s, &there, err));
    while (there) {
        rs_table *table;
        RS_TRY(take_page(s, SIZE_MAX / 1024, SIZE_MAX, &table, err));
        RS_TRY(add_table(result, table, err));
        RS_TRY(rs_sql_next(s, &there, err));
    }
    return RS_OK;
}

rs_status rs_sql_run(rs_sql_session *s, const char *text, rs_result *result, rs_error *err)
{
    rs_error local = RS_ERROR_INIT;
    *result = (rs_result){0};
    rs_status status = run_all(s, text, result, err ? err : &local);
    for (size_t i = 0; status != RS_OK && i < result->n_tables; i++) rs_table_free(result->tables[i]);
    if (status != RS_OK) {
        rs_free(result->tables);
        result->tables = NULL;
        result->n_tables = 0;
    }
    end_run(s, result);
    return status;
}

bool rs_sql_is_complete(const char *text)
{
    return sqlite3_complete(text) != 0;
}
