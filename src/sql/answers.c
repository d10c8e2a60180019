/* Tables of analyses, as table-valued functions of their options: kernels('--by kind --top 5'). An analysis runs
 * when one of its tables is read for the first time under these options; its result stays for the session, up to
 * SQL_ANSWERS of them. Tables that are made from events or the catalogue take the same way. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/session.h"

#define MOST_ANSWERS 1000 /* in one statement */

/* ---- running ------------------------------------------------------------------------------------------ */

static const rs_option_spec *specs_of(const rs_analysis *analysis, size_t *n)
{
    if (analysis) return rs_analysis_options(analysis, n);
    *n = rs_sql_n_regress_options;
    return rs_sql_regress_options;
}

static const char *name_of(const rs_analysis *analysis)
{
    return analysis ? rs_analysis_name(analysis) : "regress";
}

static const rs_option_spec *option_of(const rs_analysis *analysis, const char *name, size_t n)
{
    size_t count;
    const rs_option_spec *specs = specs_of(analysis, &count);
    for (size_t i = 0; i < count; i++)
        if (strlen(specs[i].name) == n && memcmp(specs[i].name, name, n) == 0) return &specs[i];
    return NULL;
}

/* The next word of an option text: ended by white space, which may be in '...' or "...". The word is in
 * `word`. false: there is none. */
static bool next_word(const char **text, char *word)
{
    const char *p = *text;
    char quote = 0;
    size_t n = 0;
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') p++;
    if (!*p) return false;
    for (; *p && (quote || (*p != ' ' && *p != '\t' && *p != '\n' && *p != '\r')); p++) {
        if (quote && *p == quote)
            quote = 0;
        else if (!quote && (*p == '\'' || *p == '"'))
            quote = *p;
        else
            word[n++] = *p;
    }
    word[n] = 0;
    *text = p;
    return true;
}

/* Whether what represents the value in help, as in "NAME|FILE", has this word. */
static bool takes(const rs_option_spec *spec, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = spec->metavar; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
        if (strncmp(p, word, n) == 0 && (p[n] == '|' || p[n] == '\0')) return true;
    return false;
}

/* Whether a value is a file or a folder to read or write: a statement may be a stranger's, and reaches no file but those
 * of the job. A word of help that is no capital is a value of its own. */
static bool names_file(const rs_option_spec *spec, const char *value)
{
    if (spec->type != RS_OPTION_TEXT || !spec->metavar) return false;
    if (!takes(spec, "FILE") && !takes(spec, "DIR") && !takes(spec, "PATH")) return false;
    if (takes(spec, value) && *value >= 'a' && *value <= 'z') return false;
    return !takes(spec, "NAME") || strpbrk(value, "/.") != NULL;
}

/* --name VALUE, --name=VALUE, --flag. The dashes may be left out. */
static rs_status take_option(const rs_analysis *analysis, rs_options *into, char *word, const char **text,
                             char *value, rs_error *err)
{
    char *name = word + strspn(word, "-"), *equals = strchr(name, '=');
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    const rs_option_spec *spec = option_of(analysis, name, n);
    if (equals) *equals = 0;
    const char *given = equals ? equals + 1 : NULL;
    if (spec && spec->type == RS_OPTION_FLAG && given)
        return rs_fail(err, RS_ERR_USAGE, "--%s takes no value", spec->name);
    if (spec && spec->type != RS_OPTION_FLAG && !given) {
        if (!next_word(text, value)) return rs_fail(err, RS_ERR_USAGE, "--%s needs a value", spec->name);
        given = value;
    }
    if (spec && given && names_file(spec, given))
        return rs_fail(err, RS_ERR_USAGE,
                       "--%s names a file, which SQL reads none of but the traces: give it to the command %s",
                       spec->name, name_of(analysis));
    return rs_options_set(into, name, spec && spec->type == RS_OPTION_FLAG ? NULL : given ? given : "", err);
}

static rs_status take_options(const rs_analysis *analysis, const char *text, rs_options *into, rs_error *err)
{
    rs_status status = RS_OK;
    RS_LOCAL char *word = rs_malloc(strlen(text) + 1), *value = rs_malloc(strlen(text) + 1);
    if (!word || !value) status = rs_fail_nomem(err, "options");
    while (status == RS_OK && next_word(&text, word))
        status = take_option(analysis, into, word, &text, value, err);
    return status;
}

/* What a row of the session keeps lies at one place until the session ends. */
static rs_status run(rs_sql_session *s, const rs_analysis *analysis, const char *options,
                     const rs_sql_inputs *inputs, rs_sql_answer *into, rs_error *err)
{
    size_t n;
    const rs_option_spec *specs = specs_of(analysis, &n);
    rs_options *given;
    RS_TRY(rs_options_create(specs, n, &given, err));
    rs_status status = take_options(analysis, options, given, err);
    if (status == RS_OK) status = rs_sql_inputs_run(s, analysis, inputs, given, &into->result, err);
    rs_options_free(given);
    rs_sql_tell(s, &into->result);
    s->told.found |= into->result.found;
    return status == RS_OK ? RS_OK : rs_error_wrap(err, "%s", name_of(analysis));
}

static void free_answer(rs_sql_answer *a)
{
    if (!a) return;
    rs_sql_orders_clear(&a->orders);
    rs_result_clear(&a->result);
    rs_free_all(a->options, a->inputs, a);
}

static rs_status ask(rs_sql_session *s, const rs_analysis *analysis, const char *options,
                     const rs_sql_inputs *inputs, rs_sql_answer **out, rs_error *err)
{
    for (size_t i = 0; i < s->n_answers; i++) {
        rs_sql_answer *a = s->answers[i];
        if (a->analysis != analysis || strcmp(a->options, options) != 0 ||
            strcmp(a->inputs, inputs->text) != 0)
            continue;
        a->used = ++s->n_asked;
        *out = a;
        return RS_OK;
    }
    if (s->n_answers == MOST_ANSWERS)
        return rs_fail(err, RS_ERR_LIMIT, "one statement runs analyses under more than %d different options",
                       MOST_ANSWERS);
    if (!RS_GROW_ONE(s->answers, s->n_answers, s->answers_capacity)) return rs_fail_nomem(err, "answers");
    rs_sql_answer *a = rs_calloc(1, sizeof *a);
    if (a) a->options = rs_strdup(options);
    if (a) a->inputs = rs_strdup(inputs->text);
    if (!a || !a->options || !a->inputs) {
        free_answer(a);
        return rs_fail_nomem(err, "answers");
    }
    a->analysis = analysis;
    a->number = a->used = ++s->n_asked;
    rs_status status = run(s, analysis, options, inputs, a, err);
    if (status != RS_OK) {
        free_answer(a);
        return status;
    }
    s->answers[s->n_answers++] = a;
    *out = a;
    return RS_OK;
}

/* A table that these options do not fill is no empty answer. */
static rs_status check_filled(rs_sql_session *s, const rs_sql_table *t, const rs_sql_answer *a, rs_error *err)
{
    size_t main = a->result.main_table;
    if (!t->analysis) return RS_OK; /* regress fills all of its tables */
    if (t->index == main || main >= a->result.n_tables || rs_table_n_rows(a->result.tables[t->index]) > 0)
        return RS_OK;
    if (rs_table_n_rows(a->result.tables[main]) == 0) return RS_OK;
    for (size_t i = 0; i < s->n_tables; i++)
        if (s->tables[i].analysis == t->analysis && s->tables[i].index == main)
            return rs_fail(err, RS_ERR_USAGE,
                           "%s is empty under these options: their answer is in %s(%s'%s')", t->name,
                           s->tables[i].name, t->compares ? "'1', '2', " : "", a->options);
    return RS_OK;
}

static rs_status answer_of(rs_sql_session *s, const rs_sql_table *t, const char *options,
                           const rs_sql_inputs *inputs, rs_sql_answer **out, rs_error *err)
{
    size_t n = strlen(t->preset) + strlen(options) + 2;
    RS_LOCAL char *all = rs_malloc(n);
    if (!all) return rs_fail_nomem(err, "options");
    snprintf(all, n, "%s%s%s", t->preset, *t->preset && *options ? " " : "", options);
    rs_status status = ask(s, t->analysis, all, inputs, out, err);
    return status == RS_OK && *options ? check_filled(s, t, *out, err) : status;
}

/* Between statements: those asked for last stay. */
static int by_use(const void *a, const void *b)
{
    const rs_sql_answer *x = *(rs_sql_answer *const *)a, *y = *(rs_sql_answer *const *)b;
    return (x->used < y->used) - (x->used > y->used);
}

void rs_sql_answers_trim(rs_sql_session *s, size_t keep)
{
    if (s->n_answers <= keep) return;
    qsort(s->answers, s->n_answers, sizeof *s->answers, by_use);
    while (s->n_answers > keep) free_answer(s->answers[--s->n_answers]);
}

/* ---- the table ---------------------------------------------------------------------------------------- */

#define MOST_ARGUMENTS 3

typedef struct answer_cursor {
    sqlite3_vtab_cursor base;
    const rs_table *rows;
    sqlite3_value *given[MOST_ARGUMENTS]; /* the table's arguments; NULL: not given. Owned */
    uint64_t number;                      /* of the answer */
    const uint32_t *list;                 /* these rows; NULL: all */
    size_t at, n;
} answer_cursor;

static const char *const argument_names[][MOST_ARGUMENTS] = {{"options", "input", NULL},
                                                             {"base", "other", "options"}};
static const char *const argument_helps[][MOST_ARGUMENTS] = {
    {"options of the command, as the table's argument", "the number or name of the input whose table it is",
     NULL},
    {"the number or name of the input that is compared with, as the table's first argument",
     "those of what is compared, with commas between", "options of the command"}};

size_t rs_sql_n_arguments(const rs_sql_table *t)
{
    if (!t->spec || t->make) return 0;
    return t->compares ? 3 : t->session->settings.n_inputs > 1 ? 2 : 1;
}

const char *rs_sql_table_argument(const rs_sql_table *t, size_t i, const char **help)
{
    *help = argument_helps[t->compares][i];
    return argument_names[t->compares][i];
}

/* number: a bit for each argument that is given; above them, one more than the column that is looked up. */
static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const rs_sql_table *t = ((rs_sql_vtab *)base)->table;
    size_t hidden = t->spec->n_columns;
    int arguments[MOST_ARGUMENTS] = {-1, -1, -1}, column = -1, n = 0, number = 0;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        if (c->op != SQLITE_INDEX_CONSTRAINT_EQ || c->iColumn < 0) continue;
        if ((size_t)c->iColumn >= hidden) {
            if (!c->usable) return SQLITE_CONSTRAINT; /* it comes from a table that is read first */
            arguments[(size_t)c->iColumn - hidden] = i;
        } else if (c->usable && column < 0 && strcmp(sqlite3_vtab_collation(info, i), "BINARY") == 0) {
            column = i;
        }
    }
    for (int k = 0; k < MOST_ARGUMENTS; k++) {
        if (arguments[k] < 0) continue;
        info->aConstraintUsage[arguments[k]].argvIndex = ++n;
        info->aConstraintUsage[arguments[k]].omit = 1;
        number |= 1 << k;
    }
    if (column >= 0) {
        info->aConstraintUsage[column].argvIndex = ++n;
        number |= (info->aConstraint[column].iColumn + 1) << MOST_ARGUMENTS;
    }
    info->idxNum = number;
    info->estimatedRows = column >= 0 ? 10 : 1000;
    info->estimatedCost = column >= 0 ? 50 : 2000;
    return SQLITE_OK;
}

static void forget_arguments(answer_cursor *c)
{
    for (size_t i = 0; i < MOST_ARGUMENTS; i++) {
        sqlite3_value_free(c->given[i]);
        c->given[i] = NULL;
    }
}

static int open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    (void)table;
    answer_cursor *c = rs_calloc(1, sizeof *c);
    *out = c ? &c->base : NULL;
    return c ? SQLITE_OK : SQLITE_NOMEM;
}

static int close(sqlite3_vtab_cursor *cursor)
{
    forget_arguments((answer_cursor *)cursor);
    rs_free(cursor);
    return SQLITE_OK;
}

static rs_status make(rs_sql_table *t, rs_error *err)
{
    if (t->made) return RS_OK;
    rs_table *made = rs_table_create(t->spec);
    if (!made) return rs_fail_nomem(err, t->name);
    rs_status status = t->make(t->session, made, err);
    if (status == RS_OK)
        t->made = made;
    else
        rs_table_free(made);
    return status;
}

/* Keeps what was given; false: no memory. */
static bool take_arguments(answer_cursor *c, int number, sqlite3_value **argv)
{
    int n = 0;
    forget_arguments(c);
    for (int i = 0; i < MOST_ARGUMENTS; i++)
        if (number >> i & 1 && !(c->given[i] = sqlite3_value_dup(argv[n++]))) return false;
    return true;
}

/* NULL: not given, or SQL's NULL. *ok is false when out of memory. */
static const char *argument_text(const answer_cursor *c, size_t i, bool *ok)
{
    if (!c->given[i] || sqlite3_value_type(c->given[i]) == SQLITE_NULL) return NULL;
    const char *text = (const char *)sqlite3_value_text(c->given[i]);
    *ok = *ok && text;
    return text;
}

static rs_status answer(answer_cursor *c, const rs_sql_table *t, rs_sql_answer **out, rs_error *err)
{
    bool ok = true;
    const char *texts[MOST_ARGUMENTS];
    rs_sql_inputs inputs;
    for (size_t i = 0; i < MOST_ARGUMENTS; i++) texts[i] = argument_text(c, i, &ok);
    if (!ok) return rs_fail_nomem(err, "arguments of a table");
    const char *options = texts[t->compares ? 2 : 0];
    RS_TRY(rs_sql_inputs_read(t->session, t, t->compares ? texts[0] : texts[1], t->compares ? texts[1] : NULL,
                              &inputs, err));
    rs_status status = answer_of(t->session, t, options ? options : "", &inputs, out, err);
    rs_sql_inputs_clear(&inputs);
    return status;
}

static int filter(sqlite3_vtab_cursor *cursor, int number, const char *plan, int argc, sqlite3_value **argv)
{
    answer_cursor *c = (answer_cursor *)cursor;
    rs_sql_table *t = ((rs_sql_vtab *)cursor->pVtab)->table;
    rs_sql_session *s = t->session;
    rs_error err = RS_ERROR_INIT;
    rs_sql_answer *found = NULL;
    int column = number >> MOST_ARGUMENTS;
    (void)plan;
    c->list = NULL;
    c->at = 0;
    if (!take_arguments(c, number, argv)) return SQLITE_NOMEM;
    if (rs_sql_must_stop(s)) return SQLITE_INTERRUPT;
    rs_status status = t->make ? make(t, &err) : answer(c, t, &found, &err);
    if (status == RS_OK) {
        c->rows = t->make ? t->made : found->result.tables[t->index];
        c->n = rs_table_n_rows(c->rows);
        c->number = found ? found->number : 0;
        if (column)
            status = rs_sql_look_up(t->make ? &s->made_orders : &found->orders, c->rows, (size_t)(column - 1),
                                    argv[argc - 1], &c->list, &c->n, &err);
    }
    return status == RS_OK ? SQLITE_OK : rs_sql_failed(s, cursor->pVtab, &err);
}

static int next(sqlite3_vtab_cursor *cursor)
{
    ((answer_cursor *)cursor)->at++;
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *cursor)
{
    const answer_cursor *c = (answer_cursor *)cursor;
    return c->at >= c->n;
}

static size_t row_of(const answer_cursor *c)
{
    return c->list ? c->list[c->at] : c->at;
}

static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *out)
{
    const answer_cursor *c = (answer_cursor *)cursor;
    *out = (sqlite3_int64)(c->number << 32 | row_of(c)); /* one row under two options is two rows */
    return SQLITE_OK;
}

/* Texts are the result's: it stays until the statement has ended. */
static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *out, int i)
{
    const answer_cursor *c = (answer_cursor *)cursor;
    const rs_table_spec *spec = rs_table_get_spec(c->rows);
    size_t row = row_of(c), n;
    size_t argument = (size_t)i - spec->n_columns;
    if ((size_t)i >= spec->n_columns && argument < MOST_ARGUMENTS && c->given[argument])
        sqlite3_result_value(out, c->given[argument]);
    if ((size_t)i >= spec->n_columns || rs_table_is_null(c->rows, row, (size_t)i)) return SQLITE_OK;
    const rs_column_spec *column = &spec->columns[i];
    if (column->type == RS_TEXT) {
        const char *text = rs_table_text(c->rows, row, (size_t)i, &n);
        sqlite3_result_text64(out, text, n, SQLITE_STATIC, SQLITE_UTF8);
    } else if (column->type == RS_INT || (rs_type_is_time(column->type) && column->unit == RS_UNIT_NS)) {
        sqlite3_result_int64(out, rs_table_int(c->rows, row, (size_t)i));
    } else {
        sqlite3_result_double(out, rs_table_real(c->rows, row, (size_t)i));
    }
    return SQLITE_OK;
}

const sqlite3_module rs_sql_answer_module = SQL_MODULE;
