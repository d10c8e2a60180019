/* Errors of statements: what SQLite says, where in the text that is, and the nearest word that would do. */
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "sql/session.h"

/* "line 2, character 5", or "character 5" of a text of one line; empty when unknown. */
static const char *place_of(const char *text, size_t offset, char *out, size_t size)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < offset && text[i]; i++) {
        if (((unsigned char)text[i] & 0xc0) == 0x80) continue;
        column++;
        if (text[i] != '\n') continue;
        line++;
        column = 1;
    }
    if (strchr(text, '\n'))
        snprintf(out, size, "line %zu, character %zu: ", line, column);
    else
        snprintf(out, size, "character %zu: ", column);
    return out;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Whether a statement names a table. */
static bool names(const char *text, const char *table)
{
    size_t n = strlen(table);
    for (const char *p = text; *p; p++) {
        if ((p > text && is_word(p[-1])) || is_word(p[0]) == false) continue;
        if (sqlite3_strnicmp(p, table, (int)n) == 0 && !is_word(p[n])) return true;
    }
    return false;
}

/* Columns of the tables that the statement names; of all when these have no near one. */
static rs_status nearest_column(rs_sql_session *s, const char *text, const char *word, char *out, size_t size,
                                rs_error *err)
{
    sqlite3_stmt *all = NULL;
    rs_suggestion nearest = {0};
    char known[128];
    *out = 0;
    for (int pass = 0; pass < 2 && !*out; pass++) {
        int code = sqlite3_prepare_v2(s->db, "SELECT table_name, name FROM columns", -1, &all, NULL);
        while (code == SQLITE_OK && sqlite3_step(all) == SQLITE_ROW) {
            const char *table = (const char *)sqlite3_column_text(all, 0);
            const char *column = (const char *)sqlite3_column_text(all, 1);
            if (!table || !column || (pass == 0 && !names(text, table))) continue;
            nearest.best = *out ? out : NULL;
            snprintf(known, sizeof known, "%s", column);
            rs_suggest_from(&nearest, word, known);
            if (nearest.best == known) snprintf(out, size, "%s", known);
        }
        sqlite3_finalize(all);
        if (code == SQLITE_NOMEM) return rs_fail_nomem(err, "a message");
    }
    return RS_OK;
}

static const char *nearest_table(const rs_sql_session *s, const char *word)
{
    rs_suggestion nearest = {0};
    for (size_t i = 0; i < s->n_tables; i++) rs_suggest_from(&nearest, word, s->tables[i].name);
    return nearest.best;
}

static const char *behind(const char *message, const char *beginning)
{
    size_t n = strlen(beginning);
    return strncmp(message, beginning, n) == 0 ? message + n : NULL;
}

/* Where a word of the message is in the statement, when SQLite does not say it. */
static int find_word(const char *statement, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = statement; n && *p; p++)
        if (sqlite3_strnicmp(p, word, (int)n) == 0 && !is_word(p[n]) && (p == statement || !is_word(p[-1])))
            return (int)(p - statement);
    return -1;
}

static rs_status no_table(rs_sql_session *s, const char *place, const char *word, rs_error *err)
{
    char command[64];
    size_t n = 0;
    for (; word[n] && n < sizeof command - 1; n++) command[n] = word[n] == '_' ? '-' : word[n];
    command[n] = 0;
    const rs_analysis *analysis = rs_analysis_find(command);
    rs_input_kind input = analysis ? rs_analysis_input(analysis) : RS_INPUT_TRACES;
    if ((analysis && (input == RS_INPUT_TWO_JOBS || input == RS_INPUT_JOBS)) ||
        strcmp(command, "regress") == 0)
        return rs_fail(
            err, RS_ERR_USAGE,
            "%s%s compares jobs and is no table of one: rankscope sql --apart 'SELECT ...' A B, or "
            "rankscope %s A B",
            place, command, command);
    const char *near = nearest_table(s, word);
    return near ? rs_fail(err, RS_ERR_USAGE, "%sthere is no table %.60s; did you mean %s?", place, word, near)
                : rs_fail(err, RS_ERR_USAGE, "%sthere is no table %.60s; SELECT name FROM tables lists them",
                          place, word);
}

rs_status rs_sql_explain(rs_sql_session *s, const char *text, size_t from, rs_error *err)
{
    char message[256], place[64] = "", near[128];
    int code = sqlite3_errcode(s->db), offset = sqlite3_error_offset(s->db);
    snprintf(message, sizeof message, "%s", sqlite3_errmsg(s->db));
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < ' ') *c = ' ';
    if (offset >= 0) place_of(text, from + (size_t)offset, place, sizeof place);
    if (s->failure.status != RS_OK) {
        *err = s->failure;
        return err->status;
    }
    if (code == SQLITE_NOMEM) return rs_fail_nomem(err, "a statement");
    if (s->refused[0]) return rs_fail(err, RS_ERR_USAGE, "%s%s", place, s->refused);
    if (strstr(message, " may not be modified") || strstr(message, "virtual tables"))
        return rs_fail(err, RS_ERR_USAGE, "%s", rs_sql_only_reads);
    const char *word = behind(message, "no such table: ");
    if (word && offset < 0 && (offset = find_word(text + from, word)) >= 0)
        place_of(text, from + (size_t)offset, place, sizeof place);
    if (word) return no_table(s, place, word, err);
    word = behind(message, "no such column: ");
    if (word) {
        const char *dot = strrchr(word, '.');
        RS_TRY(nearest_column(s, text, dot ? dot + 1 : word, near, sizeof near, err));
        if (*near && strcmp(near, dot ? dot + 1 : word) != 0) /* another table's has that name */
            return rs_fail(err, RS_ERR_USAGE, "%sthere is no column %.80s; did you mean %s?", place, word,
                           near);
        return rs_fail(err, RS_ERR_USAGE, "%sthere is no column %.80s; text is put in single quotes", place,
                       word);
    }
    word = behind(message, "no such function: ");
    if (word)
        return rs_fail(
            err, RS_ERR_USAGE,
            "%sthere is no function %.60s; in addition to SQLite's there is regexp, under, after, before, holds",
            place, word);
    return rs_fail(err, RS_ERR_USAGE, "%s%s", place, message);
}
