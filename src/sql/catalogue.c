/* The tables of a session and what they are called: events, arguments, what is made of these, and every table of
 * every analysis of traces. */
#include <stdio.h>
#include <string.h>

#include "rankscope/regress.h"
#include "sql/session.h"

/* ---- tables that are made here ------------------------------------------------------------------------ */

static const rs_column_spec tables_columns[] = {
    {"name", RS_TEXT, RS_UNIT_NONE, "name of the table in SQL", NULL},
    {"command", RS_TEXT, RS_UNIT_NONE, "the command whose table it is, with the options that fill it", NULL},
    {"help", RS_TEXT, RS_UNIT_NONE, "what a row is", NULL},
};
static const rs_column_spec columns_columns[] = {
    {"table_name", RS_TEXT, RS_UNIT_NONE, "name of the table", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "name of the column", NULL},
    {"type", RS_TEXT, RS_UNIT_NONE, "INTEGER, REAL, TEXT, or nothing where a column has values of several",
     NULL},
    {"unit", RS_TEXT, RS_UNIT_NONE, "its unit", NULL},
    {"hidden", RS_INT, RS_UNIT_NONE, "1: not part of *, to be asked for by name", NULL},
    {"help", RS_TEXT, RS_UNIT_NONE, "its meaning", NULL},
};
static const rs_column_spec files_columns[] = {
    {"file", RS_TEXT, RS_UNIT_NONE, "the file", NULL},
    {"ranks", RS_INT, RS_UNIT_COUNT, "how many ranks it holds", NULL},
    {"events", RS_INT, RS_UNIT_COUNT, "how many events were read and selected", NULL},
};
static const rs_column_spec threads_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"pid", RS_TEXT, RS_UNIT_ID, "process (device for GPU events)", NULL},
    {"tid", RS_TEXT, RS_UNIT_ID, "thread (stream for GPU events)", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "as the file calls it", NULL},
    {"events", RS_INT, RS_UNIT_COUNT, "how many events with a start there are", NULL},
    {"first_us", RS_MOMENT, RS_UNIT_US, "start of the first, from the job's first event", NULL},
    {"last_us", RS_MOMENT, RS_UNIT_US, "end of the last", NULL},
};
#define SPEC(name, help)                                                                                     \
    static const rs_table_spec name##_spec = {#name, help, name##_columns,                                   \
                                              sizeof name##_columns / sizeof *name##_columns}
SPEC(tables, "one row is one table");
SPEC(columns, "one row is one column of one table");
SPEC(files, "one row is one file");
SPEC(threads, "one row is one thread of one rank");
#undef SPEC

static const char *type_name(const rs_column_spec *c)
{
    if (c->type == RS_TEXT) return "TEXT";
    return c->type == RS_INT || (rs_type_is_time(c->type) && c->unit == RS_UNIT_NS) ? "INTEGER" : "REAL";
}

/* The i-th column of any table. */
typedef struct shown_column {
    const char *name, *type, *unit, *help;
    bool hidden;
} shown_column;

static bool column_at(const rs_sql_table *t, size_t i, shown_column *out)
{
    *out = (shown_column){0};
    if (t->spec) {
        if (i >= t->spec->n_columns + rs_sql_n_arguments(t)) return false;
        const rs_column_spec *c = &t->spec->columns[i];
        if (i < t->spec->n_columns)
            *out = (shown_column){c->name, type_name(c), rs_unit_name(c->unit), c->help, false};
        else
            *out = (shown_column){.name = rs_sql_table_argument(t, i - t->spec->n_columns, &out->help),
                                  .type = "TEXT",
                                  .hidden = true};
        if (i >= t->spec->n_columns) rs_sql_table_argument(t, i - t->spec->n_columns, &out->help);
        return true;
    }
    out->name = t->index == 0 ? rs_sql_event_column(i, &out->type, &out->help, &out->hidden)
                              : rs_sql_argument_column(i, &out->type, &out->help);
    return out->name != NULL;
}

static rs_status make_tables(rs_sql_session *s, rs_table *into, rs_error *err)
{
    char command[120];
    for (size_t i = 0; i < s->n_tables; i++) {
        const rs_sql_table *t = &s->tables[i];
        rs_table_add_text(into, t->name);
        if (t->analysis || t->compares) {
            snprintf(command, sizeof command, "%s%s%s",
                     t->analysis ? rs_analysis_name(t->analysis) : "regress", *t->preset ? " " : "",
                     t->preset);
            rs_table_add_text(into, command);
        } else {
            rs_table_add_null(into);
        }
        rs_table_add_text(into, t->help);
        RS_TRY(rs_table_end_row(into, err));
    }
    return RS_OK;
}

static rs_status make_columns(rs_sql_session *s, rs_table *into, rs_error *err)
{
    for (size_t i = 0; i < s->n_tables; i++) {
        shown_column c;
        for (size_t k = 0; column_at(&s->tables[i], k, &c); k++) {
            rs_table_add_text(into, s->tables[i].name);
            rs_table_add_text(into, c.name);
            rs_table_add_text(into, c.type);
            rs_table_add_text(into, c.unit);
            rs_table_add_int(into, c.hidden);
            rs_table_add_text(into, c.help);
            RS_TRY(rs_table_end_row(into, err));
        }
    }
    return RS_OK;
}

static rs_status make_files(rs_sql_session *s, rs_table *into, rs_error *err)
{
    const rs_event_list *list;
    RS_TRY(rs_sql_events(s, &list, err));
    size_t n = rs_event_list_n_ranks(list);
    for (size_t i = 0; i < n; i++) {
        const char *file = rs_event_list_rank(list, i)->file;
        int64_t ranks = 0, events = 0;
        bool told = false;
        for (size_t k = 0; k < n && !told; k++) {
            const rs_event_rank *r = rs_event_list_rank(list, k);
            if (strcmp(r->file, file) != 0) continue;
            told = k < i;
            ranks++;
            events += (int64_t)r->n;
        }
        if (told) continue;
        rs_table_add_text(into, file);
        rs_table_add_int(into, ranks);
        rs_table_add_int(into, events);
        RS_TRY(rs_table_end_row(into, err));
    }
    return RS_OK;
}

typedef struct thread_row {
    int64_t events, first, last;
    const char *name;
} thread_row;

/* The names that metadata events give to threads. */
static void name_thread(const rs_event_rank *r, uint32_t row, thread_row *into)
{
    static const char wanted[] = "thread_name";
    size_t n, n_arguments, at, argument = 0;
    const char *name = rs_event_text(r, r->name[row], &n);
    const rs_event_argument *all = rs_event_arguments(&n_arguments);
    if (n != sizeof wanted - 1 || memcmp(name, wanted, n) != 0) return;
    while (argument < n_arguments && strcmp(all[argument].name, "meta_name") != 0) argument++;
    if (argument < n_arguments && rs_event_argument_find(r, argument, row, &at))
        into->name = rs_event_text(r, rs_event_argument_text(r, argument, at), &n);
}

static void count_thread(const rs_event_rank *r, uint32_t row, thread_row *into)
{
    int64_t start = r->start[row], length = r->duration[row];
    if (r->phase[row] == 'M') {
        name_thread(r, row, into);
        return;
    }
    if (start == RS_EVENT_UNKNOWN) return;
    int64_t end;
    if (length == RS_EVENT_UNKNOWN || __builtin_add_overflow(start, length, &end)) end = start;
    if (into->events == 0 || start < into->first) into->first = start;
    if (into->events == 0 || end > into->last) into->last = end;
    into->events++;
}

static rs_status put_threads(const rs_event_rank *r, rs_table *into, rs_error *err)
{
    RS_LOCAL thread_row *rows = rs_calloc(r->n_threads + 1, sizeof *rows);
    if (!rows) return rs_fail_nomem(err, "threads");
    for (size_t i = 0; i < r->n; i++) {
        uint32_t row = rs_event_row(r, i);
        count_thread(r, row, &rows[r->thread[row]]);
    }
    for (size_t i = 0; i < r->n_threads; i++) {
        if (rows[i].events == 0) continue;
        rs_table_add_int(into, r->rank);
        rs_table_add_text(into, r->threads[i].pid);
        rs_table_add_text(into, r->threads[i].tid);
        rs_table_add_text(into, rows[i].name);
        rs_table_add_int(into, rows[i].events);
        rs_table_add_moment(into, rows[i].first);
        rs_table_add_moment(into, rows[i].last);
        RS_TRY(rs_table_end_row(into, err));
    }
    return RS_OK;
}

static rs_status make_threads(rs_sql_session *s, rs_table *into, rs_error *err)
{
    const rs_event_list *list;
    RS_TRY(rs_sql_events(s, &list, err));
    for (size_t i = 0; i < rs_event_list_n_ranks(list); i++)
        RS_TRY(put_threads(rs_event_list_rank(list, i), into, err));
    rs_table_count_from(into, rs_event_list_origin(list));
    return RS_OK;
}

/* ---- names -------------------------------------------------------------------------------------------- */

/* Tables that are filled under certain options only. What is given in a statement comes behind these. */
static const struct {
    const char *analysis, *table, *options;
} presets[] = {
    {"annotations", "kernels", "--by kernel"},
    {"bandwidth", "series", "--series"},
    {"blame", "chain", "--instance 0"},
    {"blame", "folded", "--folded"},
    {"compare", "names", "--by op"},
    {"compare", "pairs", "--by tree"},
    {"compare", "tree", "--by tree"},
    {"critical-path", "breakdown", "--breakdown"},
    {"critical-path", "edges", "--edges"},
    {"critical-path", "nodes", "--nodes"},
    {"critical-path", "sync_edges", "--sync-edges"},
    {"delays", "sequences", "--by sequence"},
    {"idle", "intervals", "--intervals"},
    {"kernels", "kinds", "--by kind"},
    {"kernels", "types", "--by type"},
    {"launches", "list", "--list"},
    {"ops", "args", "--by args"},
    {"ops", "categories", "--by category"},
    {"ops", "coverage", "--perf"},
    {"ops", "host", "--host"},
    {"ops", "perf", "--perf"},
    {"queue", "blocked", "--blocked"},
    {"map", "lanes", "--lanes"},
    {"queue", "series", "--series"},
    {"roofline", "models", "--by model"},
    {"roofline", "ops", "--by op"},
    {"roofline", "parts", "--by step"},
    {"steps", "ranks", "--by rank"},
    {"tree", "folded", "--folded"},
    {"tree", "stats", "--stats"},
};

/* Other names of tables that people look for. */
static const struct {
    const char *name, *analysis, *table;
} also[] = {{"ranks", "info", "ranks"}, {"streams", "info", "streams"}, {"categories", "info", "categories"}};

static const char *preset_of(const char *analysis, const char *table)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (strcmp(presets[i].analysis, analysis) == 0 && strcmp(presets[i].table, table) == 0)
            return presets[i].options;
    return "";
}

static bool compares(const rs_analysis *analysis)
{
    rs_input_kind input = rs_analysis_input(analysis);
    return input == RS_INPUT_TWO_JOBS || input == RS_INPUT_JOBS;
}

/* What only a written trace needs, what the table of events replaces, and what compares jobs where there is one. */
static bool is_left_out(const rs_sql_session *s, const rs_analysis *analysis, const rs_table_spec *spec)
{
    return (compares(analysis) && s->settings.n_inputs < 2) ||
           strcmp(rs_analysis_name(analysis), "events") == 0 || strcmp(spec->name, "files") == 0 ||
           strcmp(spec->name, "overlay") == 0 || strcmp(spec->name, "marks") == 0;
}

static rs_status add_table(rs_sql_session *s, const rs_sql_table *table, rs_error *err)
{
    if (!RS_GROW_ONE(s->tables, s->n_tables, s->tables_capacity)) return rs_fail_nomem(err, "tables of SQL");
    rs_sql_table *t = &s->tables[s->n_tables];
    *t = *table;
    t->session = s;
    char *name = rs_arena_strndup(&s->names, table->name, strlen(table->name));
    if (!name) return rs_fail_nomem(err, "tables of SQL");
    for (char *c = name; *c; c++)
        if (*c == '-') *c = '_';
    t->name = name;
    s->n_tables++;
    return RS_OK;
}

/* An analysis gives its name to the table that is called as it is, else to its first one (compare to what it shows without
 * options); the others are called ANALYSIS_TABLE. */
static rs_status add_analysis(rs_sql_session *s, const rs_analysis *analysis, rs_error *err)
{
    size_t n, main = 0;
    const char *name = rs_analysis_name(analysis);
    const rs_table_spec *const *specs = rs_analysis_tables(analysis, RS_COMPAT_NONE, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(specs[i]->name, name) == 0 || (compares(analysis) && strcmp(specs[i]->name, "args") == 0))
            main = i;
    for (size_t i = 0; specs && i < n; i++) {
        char full[120];
        if (is_left_out(s, analysis, specs[i])) continue;
        snprintf(full, sizeof full, i == main ? "%s" : "%s_%s", name, specs[i]->name);
        rs_sql_table t = {.name = full,
                          .help = specs[i]->help,
                          .spec = specs[i],
                          .analysis = analysis,
                          .compares = compares(analysis),
                          .index = i,
                          .preset = preset_of(name, specs[i]->name)};
        RS_TRY(add_table(s, &t, err));
        for (size_t k = 0; k < sizeof also / sizeof *also; k++) {
            if (strcmp(also[k].analysis, name) != 0 || strcmp(also[k].table, specs[i]->name) != 0) continue;
            t.name = also[k].name;
            RS_TRY(add_table(s, &t, err));
        }
    }
    return RS_OK;
}

/* The tables of regress, which is no analysis of the registry. */
static rs_status add_regress(rs_sql_session *s, rs_error *err)
{
    if (s->settings.n_inputs < 2) return RS_OK;
    for (size_t i = 0; i < sizeof rs_regress_tables / sizeof *rs_regress_tables; i++) {
        char full[120];
        const rs_table_spec *spec = rs_regress_tables[i];
        snprintf(full, sizeof full, i == 0 ? "regress" : "regress_%s", spec->name);
        const rs_sql_table t = {
            .name = full, .help = spec->help, .spec = spec, .compares = true, .index = i, .preset = ""};
        RS_TRY(add_table(s, &t, err));
    }
    return RS_OK;
}

rs_status rs_sql_list_tables(rs_sql_session *s, rs_error *err)
{
    static const rs_sql_table made[] = {
        {.name = "events", .help = "one row is one event"},
        {.name = "arguments", .help = "one row is one argument of one event", .index = 1},
        {.name = "files", .help = "one row is one file", .spec = &files_spec, .make = make_files},
        {.name = "threads",
         .help = "one row is one thread of one rank",
         .spec = &threads_spec,
         .make = make_threads},
        {.name = "tables", .help = "one row is one table", .spec = &tables_spec, .make = make_tables},
        {.name = "columns",
         .help = "one row is one column of one table",
         .spec = &columns_spec,
         .make = make_columns},
    };
    size_t n;
    const rs_analysis *const *all = rs_analyses(&n);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) RS_TRY(add_table(s, &made[i], err));
    for (size_t i = 0; i < n; i++) RS_TRY(add_analysis(s, all[i], err));
    RS_TRY(add_regress(s, err));
    for (size_t i = 0; i < s->n_tables; i++) {
        rs_sql_table *t = &s->tables[i];
        const sqlite3_module *module = t->spec         ? &rs_sql_answer_module
                                       : t->index == 0 ? &rs_sql_events_module
                                                       : &rs_sql_arguments_module;
        if (sqlite3_create_module(s->db, t->name, module, t) != SQLITE_OK)
            return rs_fail_nomem(err, "tables of SQL");
    }
    return RS_OK;
}

static char *declaration(const rs_sql_table *t)
{
    shown_column c;
    char *text = sqlite3_mprintf("CREATE TABLE x(");
    for (size_t i = 0; text && column_at(t, i, &c); i++) {
        char *longer = sqlite3_mprintf("%s%s\"%w\" %s%s", text, i ? ", " : "", c.name, c.type,
                                       c.hidden ? " HIDDEN" : "");
        sqlite3_free(text);
        text = longer;
    }
    char *whole = text ? sqlite3_mprintf("%s)", text) : NULL;
    sqlite3_free(text);
    return whole;
}

int rs_sql_connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **out,
                   char **message)
{
    rs_sql_table *table = context;
    (void)argc;
    (void)argv;
    *out = NULL;
    char *text = declaration(table);
    if (!text) return SQLITE_NOMEM;
    table->session->declares = true;
    int code = sqlite3_declare_vtab(db, text);
    table->session->declares = false;
    sqlite3_free(text);
    if (code == SQLITE_ERROR) *message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    if (code != SQLITE_OK) return code;
    rs_sql_vtab *made = rs_calloc(1, sizeof *made);
    if (!made) return SQLITE_NOMEM;
    made->table = table;
    *out = &made->base;
    return SQLITE_OK;
}

int rs_sql_disconnect(sqlite3_vtab *table)
{
    rs_free(table);
    return SQLITE_OK;
}
