/* What the filter language of `events --where` has and SQL has not: regexp, and events under, after and before
 * others. */
#include <stdio.h>
#include <string.h>

#include "rankscope/where.h"
#include "sql/session.h"

static void give_error(sqlite3_context *out, rs_sql_session *s, const rs_error *err)
{
    char text[RS_ERROR_TEXT];
    rs_sql_failed(s, NULL, err);
    if (err->status == RS_ERR_NOMEM)
        sqlite3_result_error_nomem(out);
    else
        sqlite3_result_error(out, rs_error_text(err, text, sizeof text), -1);
}

static void free_pattern(void *pattern)
{
    rs_pattern_free(pattern);
}

/* TEXT REGEXP PATTERN is regexp(PATTERN, TEXT). A pattern that is the same for every row is compiled once. */
static void regexp(sqlite3_context *out, int argc, sqlite3_value **argv)
{
    (void)argc;
    rs_sql_session *s = sqlite3_user_data(out);
    rs_error err = RS_ERROR_INIT;
    rs_pattern *known = sqlite3_get_auxdata(out, 0), *made = NULL;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL || sqlite3_value_type(argv[1]) == SQLITE_NULL) return;
    const char *pattern = (const char *)sqlite3_value_text(argv[0]);
    const char *text = (const char *)sqlite3_value_text(argv[1]);
    if (!pattern || !text) {
        sqlite3_result_error_nomem(out);
        return;
    }
    if (!known && rs_pattern_compile(pattern, &made, &err) != RS_OK) {
        give_error(out, s, &err);
        return;
    }
    size_t n = (size_t)sqlite3_value_bytes(argv[1]);
    if (rs_pattern_is_quick(known ? known : made, n))
        sqlite3_result_int(out, rs_pattern_matches(known ? known : made, text, n));
    else
        sqlite3_result_error(out, "regexp: the text is too long for so large a pattern", -1);
    if (made) sqlite3_set_auxdata(out, 0, made, free_pattern); /* which may free it at once */
}

/* Whether the bit of an event is set under a condition, which `format` makes of the argument. */
static void give_bit(sqlite3_context *out, sqlite3_value **argv, const char *format)
{
    rs_sql_session *s = sqlite3_user_data(out);
    rs_error err = RS_ERROR_INIT;
    const rs_event_list *list;
    const uint64_t *bits;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL || sqlite3_value_type(argv[1]) == SQLITE_NULL) return;
    char *condition = sqlite3_mprintf(format, sqlite3_value_text(argv[1]));
    if (!condition) {
        sqlite3_result_error_nomem(out);
        return;
    }
    rs_status status = rs_sql_events(s, &list, &err);
    if (status == RS_OK) status = rs_sql_marked(s, condition, &bits, &err);
    sqlite3_free(condition);
    if (status != RS_OK) {
        give_error(out, s, &err);
        return;
    }
    int64_t event = sqlite3_value_int64(argv[0]);
    if (event >= 0 && (uint64_t)event < rs_event_list_n_events(list))
        sqlite3_result_int(out, (int)(bits[event / 64] >> event % 64 & 1));
}

static void under(sqlite3_context *out, int argc, sqlite3_value **argv)
{
    (void)argc;
    give_bit(out, argv, "under(%s)");
}

static void after(sqlite3_context *out, int argc, sqlite3_value **argv)
{
    (void)argc;
    give_bit(out, argv, "after(%s)");
}

static void before(sqlite3_context *out, int argc, sqlite3_value **argv)
{
    (void)argc;
    give_bit(out, argv, "before(%s)");
}

static void holds(sqlite3_context *out, int argc, sqlite3_value **argv)
{
    (void)argc;
    give_bit(out, argv, "%s");
}

/* ---- functions whose time SQLite does not bound ----------------------------------------------------------- */

/* A call of a function is not interrupted. These take time with the product of two arguments' lengths, or with a width that a
 * format asks for: beyond a bound they are refused, else SQLite's own does the work, on a connection that has no tables. */
#define MOST_SOUGHT 1000        /* bytes of what is looked for */
#define MOST_TRIMMED (32 << 20) /* bytes of a text times those that are trimmed */
#define MOST_WIDTH 100000
#define MOST_ARGUMENTS 127 /* of a function in SQLite */

static bool is_short(sqlite3_value **argv, int argc)
{
    return argc < 2 || sqlite3_value_bytes(argv[1]) <= MOST_SOUGHT;
}

static bool is_trimmed_soon(sqlite3_value **argv, int argc)
{
    return argc < 2 || (int64_t)sqlite3_value_bytes(argv[0]) * sqlite3_value_bytes(argv[1]) <= MOST_TRIMMED;
}

/* Whether no width and no precision of the format is large: numbers in it, and arguments where it has a '*'. */
static bool is_narrow(sqlite3_value **argv, int argc)
{
    const char *format = argc ? (const char *)sqlite3_value_text(argv[0]) : NULL;
    bool stars = format && strchr(format, '*');
    for (int i = 1; stars && i < argc; i++) {
        int64_t value = sqlite3_value_type(argv[i]) == SQLITE_INTEGER ? sqlite3_value_int64(argv[i]) : 0;
        if (value > MOST_WIDTH || value < -MOST_WIDTH) return false;
    }
    for (size_t digits = 0; format && *format; format++) {
        digits = *format >= '0' && *format <= '9' ? digits + 1 : 0;
        if (digits > 5) return false;
    }
    return true;
}

static const struct bounded {
    const char *name, *refusal;
    bool (*may)(sqlite3_value **argv, int argc);
} bounded[] = {
    {"instr", "looks for at most 1000 bytes", is_short},
    {"replace", "replaces at most 1000 bytes", is_short},
    {"trim", "trims fewer characters of so long a text", is_trimmed_soon},
    {"ltrim", "trims fewer characters of so long a text", is_trimmed_soon},
    {"rtrim", "trims fewer characters of so long a text", is_trimmed_soon},
    {"printf", "has a width of 100000 at most", is_narrow},
    {"format", "has a width of 100000 at most", is_narrow},
};
#define N_BOUNDED (sizeof bounded / sizeof *bounded)
_Static_assert(N_BOUNDED == RS_SQL_BOUNDED, "a place for each in the session");

static void call_own(sqlite3_context *out, rs_sql_bounded *b, int argc, sqlite3_value **argv)
{
    if (b->statement && b->argc != argc) {
        sqlite3_finalize(b->statement);
        b->statement = NULL;
    }
    if (!b->statement) {
        char marks[2 * MOST_ARGUMENTS];
        int n = argc < MOST_ARGUMENTS ? argc : MOST_ARGUMENTS;
        for (int i = 0; i < n; i++) marks[2 * i] = '?', marks[2 * i + 1] = ',';
        char *text = sqlite3_mprintf("SELECT %s(%.*s)", bounded[b->index].name, n ? 2 * n - 1 : 0, marks);
        int made = text ? sqlite3_prepare_v2(b->session->plain, text, -1, &b->statement, NULL) : SQLITE_NOMEM;
        sqlite3_free(text);
        if (made != SQLITE_OK) {
            sqlite3_result_error(out, sqlite3_errmsg(b->session->plain), -1);
            return;
        }
        b->argc = argc;
    }
    for (int i = 0; i < argc; i++) sqlite3_bind_value(b->statement, i + 1, argv[i]);
    if (sqlite3_step(b->statement) == SQLITE_ROW)
        sqlite3_result_value(out, sqlite3_column_value(b->statement, 0));
    else
        sqlite3_result_error(out, sqlite3_errmsg(b->session->plain), -1);
    sqlite3_reset(b->statement);
    sqlite3_clear_bindings(b->statement);
}

static void call_bounded(sqlite3_context *out, int argc, sqlite3_value **argv)
{
    rs_sql_bounded *b = sqlite3_user_data(out);
    if (bounded[b->index].may(argv, argc)) {
        call_own(out, b, argc, argv);
        return;
    }
    char text[100];
    snprintf(text, sizeof text, "%s %s", bounded[b->index].name, bounded[b->index].refusal);
    sqlite3_result_error(out, text, -1);
}

static rs_status add_bounded(rs_sql_session *s, rs_error *err)
{
    if (sqlite3_open_v2(":memory:", &s->plain,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return rs_fail_nomem(err, "functions of SQL");
    sqlite3_limit(s->plain, SQLITE_LIMIT_LENGTH, sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, -1));
    for (size_t i = 0; i < N_BOUNDED; i++) {
        s->bounded[i] = (rs_sql_bounded){.session = s, .index = i};
        if (sqlite3_create_function_v2(s->db, bounded[i].name, -1,
                                       SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, &s->bounded[i],
                                       call_bounded, NULL, NULL, NULL) != SQLITE_OK)
            return rs_fail_nomem(err, "functions of SQL");
    }
    return RS_OK;
}

void rs_sql_drop_functions(rs_sql_session *s)
{
    for (size_t i = 0; i < N_BOUNDED; i++) sqlite3_finalize(s->bounded[i].statement);
    sqlite3_close(s->plain);
}

rs_status rs_sql_add_functions(rs_sql_session *s, rs_error *err)
{
    static const struct {
        const char *name;
        void (*call)(sqlite3_context *out, int argc, sqlite3_value **argv);
    } functions[] = {
        {"regexp", regexp}, {"under", under}, {"after", after}, {"before", before}, {"holds", holds}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (sqlite3_create_function_v2(s->db, functions[i].name, 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, s,
                                       functions[i].call, NULL, NULL, NULL) != SQLITE_OK)
            return rs_fail_nomem(err, "functions of SQL");
    return add_bounded(s, err);
}
