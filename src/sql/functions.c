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
    sqlite3_result_int(out,
                       rs_pattern_matches(known ? known : made, text, (size_t)sqlite3_value_bytes(argv[1])));
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
    return RS_OK;
}
