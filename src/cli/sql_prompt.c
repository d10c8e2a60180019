/* The prompt of `rankscope sql`: statements that end in ";", and commands that begin with a dot. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "base/try.h"
#include "cli/line_editor.h"
#include "cli/sql.h"

/* ---- words that complete ------------------------------------------------------------------------------ */

static const char *const keywords[] = {
    "SELECT", "FROM",    "WHERE",    "GROUP",  "BY",    "ORDER",  "LIMIT",  "JOIN",    "LEFT",
    "USING",  "ON",      "AS",       "AND",    "OR",    "NOT",    "IN",     "LIKE",    "GLOB",
    "REGEXP", "BETWEEN", "DISTINCT", "HAVING", "WITH",  "UNION",  "VALUES", "EXPLAIN", "CASE",
    "WHEN",   "THEN",    "ELSE",     "END",    "DESC",  "NULL",   "count",  "sum",     "avg",
    "min",    "max",     "round",    "under",  "after", "before", "holds"};
#define N_KEYWORDS (sizeof keywords / sizeof *keywords)

static const char *const commands[] = {".format", ".help", ".quit", ".schema", ".tables"};
#define N_COMMANDS (sizeof commands / sizeof *commands)

typedef struct prompt {
    rs_request *request;
    rs_sql_request *own;
    rs_line_editor *editor;
    rs_result words; /* names of tables, then of columns */
    char *text;      /* of the statement so far */
    size_t n, capacity;
} prompt;

static const char *complete(void *context, const char *line, const char *word, size_t n, size_t i)
{
    const prompt *p = context;
    size_t length;
    if (!*line && n && *word == '.') return i < N_COMMANDS ? commands[i] : NULL;
    if (i < N_KEYWORDS) return keywords[i];
    i -= N_KEYWORDS;
    for (size_t k = 0; k < p->words.n_tables; k++) {
        size_t rows = rs_table_n_rows(p->words.tables[k]);
        if (i < rows) return rs_table_text(p->words.tables[k], i, 0, &length);
        i -= rows;
    }
    return NULL;
}

/* Where earlier lines are kept: under XDG_STATE_HOME, else ~/.local/state. NULL: nowhere. */
static char *history_path(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool own = state && *state == '/';
    if (!own && (!home || *home != '/')) return NULL;
    size_t n = strlen(own ? state : home) + 64;
    char *path = rs_malloc(n);
    if (!path) return NULL;
    snprintf(path, n, own ? "%s/rankscope/sql_history" : "%s/.local/state/rankscope/sql_history",
             own ? state : home);
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = 0;
        bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (made) continue;
        rs_free(path);
        return NULL;
    }
    return path;
}

/* ---- answers ------------------------------------------------------------------------------------------ */

typedef struct shown {
    const rs_request *request;
    const rs_result *result;
} shown;

static rs_status write_answer(void *context, const rs_sink *sink, rs_error *err)
{
    const shown *s = context;
    return rs_sql_show(s->request, s->result, sink, err);
}

/* Whatever becomes of a statement, the prompt goes on; an output that is gone ends it. */
static rs_status run(prompt *p, const char *text, rs_error *err)
{
    rs_request *r = p->request;
    rs_error failed = RS_ERROR_INIT;
    rs_result result;
    rs_progress_start(&r->progress, !r->quiet && !rs_request_flag(r, "no-progress"));
    rs_status status = rs_sql_run(p->own->session, text, &result, &failed);
    rs_progress_end(&r->progress);
    if (status == RS_ERR_CANCELLED) {
        rs_signal_forget();
        rs_complain("stopped");
    } else if (status == RS_OK) {
        shown s = {r, &result};
        status = rs_output_put(NULL, false, "sql", write_answer, &s, err);
        rs_report_result(&result, r->quiet);
        rs_result_clear(&result);
        return status;
    } else if (!rs_is_told(&result, &failed)) {
        rs_complain_error(NULL, &failed);
    }
    rs_report_result(&result, r->quiet);
    rs_result_clear(&result);
    return RS_OK;
}

/* ---- commands ----------------------------------------------------------------------------------------- */

static rs_status show_schema(prompt *p, const char *table, rs_error *err)
{
    char query[400];
    for (const char *c = table; *c; c++)
        if (!(rs_is_digit(*c) || rs_is_letter(*c) || *c == '_')) {
            rs_complain("a table's name has letters, digits and _: .schema events");
            return RS_OK;
        }
    if (*table)
        snprintf(query, sizeof query,
                 "SELECT name, type, unit, hidden, help FROM columns WHERE table_name = lower('%.100s')",
                 table);
    else
        snprintf(query, sizeof query,
                 "SELECT table_name, group_concat(name, ', ') AS columns FROM columns WHERE NOT "
                 "hidden GROUP BY table_name");
    return run(p, query, err);
}

static void choose_format(prompt *p, const char *name)
{
    const rs_output_form *form = rs_output_form_find(name);
    if (!form || rs_output_form_is_binary(form))
        rs_complain("there is no format \"%.40s\" for a prompt; there is %s", name, rs_output_form_names);
    else
        p->request->render.form = form;
}

static void show_help(void)
{
    puts("A statement ends in \";\". Tables: .tables; their columns: .schema NAME. TAB completes words.\n"
         "  .tables         names of all tables, the command each is of, what a row is\n"
         "  .schema [NAME]  columns of all tables, or of one with types, units and meanings\n"
         "  .format NAME    how answers are written: text, csv, json, jsonl, md\n"
         "  .quit           leave; so does Ctrl-D. Ctrl-C stops a statement");
    fflush(stdout);
}

/* *leave: it was .quit. */
static rs_status obey(prompt *p, const char *line, bool *leave, rs_error *err)
{
    char word[32], argument[128] = "";
    size_t n = strcspn(line, " \t;");
    snprintf(word, sizeof word, "%.*s", (int)n, line);
    line += n + strspn(line + n, " \t");
    snprintf(argument, sizeof argument, "%.*s", (int)strcspn(line, " \t;"), line);
    *leave = strcmp(word, ".quit") == 0 || strcmp(word, ".exit") == 0;
    if (*leave) return RS_OK;
    if (strcmp(word, ".tables") == 0) return run(p, "SELECT * FROM tables", err);
    if (strcmp(word, ".schema") == 0) return show_schema(p, argument, err);
    if (strcmp(word, ".format") == 0) {
        choose_format(p, argument);
    } else if (strcmp(word, ".help") == 0) {
        show_help();
    } else {
        const char *near = rs_suggest(word, commands, N_COMMANDS);
        rs_complain("there is no command %s; %s%s", word, near ? "did you mean " : ".help lists them",
                    near ? near : "");
    }
    return RS_OK;
}

/* ---- the loop ----------------------------------------------------------------------------------------- */

static rs_status add_line(prompt *p, const char *line, rs_error *err)
{
    size_t n = strlen(line);
    if (!rs_grow((void **)&p->text, &p->capacity, p->n + n + 2, 1)) return rs_fail_nomem(err, "a statement");
    if (p->n) p->text[p->n++] = '\n';
    memcpy(p->text + p->n, line, n + 1);
    p->n += n;
    return RS_OK;
}

/* A statement is remembered as one line, unless that would change it: a comment ends with its line. */
static void remember(prompt *p)
{
    if (!strstr(p->text, "--"))
        for (char *c = p->text; *c; c++)
            if (*c == '\n') *c = ' ';
    rs_line_editor_remember(p->editor, p->text);
}

static rs_status converse(prompt *p, rs_error *err)
{
    const char *line;
    for (;;) {
        rs_line_event came = rs_line_editor_read(p->editor, p->n ? "  ...> " : "sql> ", &line);
        if (came == RS_LINE_INTERRUPTED) {
            rs_signal_forget();
            putchar('\n');
            p->n = 0;
            continue;
        }
        if (came == RS_LINE_END) {
            putchar('\n');
            return RS_OK;
        }
        if (!p->n && line[strspn(line, " \t")] == 0) continue;
        if (!p->n && *line == '.') {
            bool leave;
            rs_line_editor_remember(p->editor, line);
            RS_TRY(obey(p, line, &leave, err));
            if (leave) return RS_OK;
            continue;
        }
        RS_TRY(add_line(p, line, err));
        if (!rs_sql_is_complete(p->text)) continue;
        rs_status status = run(p, p->text, err);
        remember(p);
        p->n = 0;
        RS_TRY(status);
    }
}

rs_status rs_sql_prompt(rs_request *r, rs_error *err)
{
    prompt p = {.request = r, .own = r->own};
    RS_LOCAL char *history = history_path();
    rs_progress_end(&r->progress);
    rs_status status = rs_sql_run(
        p.own->session, "SELECT name FROM tables; SELECT DISTINCT name FROM columns", &p.words, err);
    if (status == RS_OK) status = rs_line_editor_open(history, complete, &p, &p.editor, err);
    if (status == RS_OK && !r->quiet) puts("SQL over this job; .help says more.");
    if (status == RS_OK) status = converse(&p, err);
    rs_line_editor_close(p.editor);
    rs_result_clear(&p.words);
    rs_free(p.text);
    return status;
}
