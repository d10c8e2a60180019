/* The registry's face, and what every analysis does with its result. */
#include "analysis/registry.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/plan.h"
#include "verdict/verdicts.h"
#include "base/memory.h"

const rs_analysis *const *rs_analyses(size_t *n)
{
    /* the build lists the rows by file name, which is the analysis' name; a test holds it to that */
    size_t count = 0;
    while (rs_registry_rows[count]) count++;
    *n = count;
    return rs_registry_rows;
}

const rs_analysis *rs_analysis_find(const char *name)
{
    for (const rs_analysis *const *row = rs_registry_rows; *row; row++)
        if (strcmp((*row)->name, name) == 0) return *row;
    return NULL;
}

const char *rs_analysis_name(const rs_analysis *analysis)
{
    return analysis->name;
}

const char *rs_analysis_group(const rs_analysis *analysis)
{
    return analysis->group;
}

const char *rs_analysis_help(const rs_analysis *analysis)
{
    return analysis->help;
}

const char *rs_analysis_about(const rs_analysis *analysis)
{
    return analysis->about;
}

const char *rs_analysis_examples(const rs_analysis *analysis)
{
    return analysis->examples;
}

const rs_option_spec *rs_analysis_options(const rs_analysis *analysis, size_t *n)
{
    *n = analysis->n_options;
    return analysis->options;
}

/* The row of a peer that answers under this mode, or NULL. */
static const rs_peer_row *find_peer(const rs_analysis *analysis, rs_compat compat)
{
    for (const rs_peer_row *const *row = rs_registry_peers; compat != RS_COMPAT_NONE && *row; row++)
        if (((*row)->modes >> compat & 1) && strcmp((*row)->analysis, analysis->name) == 0) return *row;
    return NULL;
}

const rs_table_spec *const *rs_analysis_tables(const rs_analysis *analysis, rs_compat compat, size_t *n)
{
    const rs_peer_row *peer = find_peer(analysis, compat);
    const rs_plan *plan = peer                       ? peer->over ? peer->over : peer->plan
                          : compat == RS_COMPAT_NONE ? analysis->plan
                                                     : NULL;
    if (plan) {
        *n = plan->n_tables;
        return plan->tables;
    }
    if (peer && peer->tables) {
        *n = peer->n_tables;
        return peer->tables;
    }
    for (size_t i = 0; i < analysis->n_table_sets; i++) {
        const rs_table_set *set = &analysis->table_sets[i];
        if (set->compat != compat) continue;
        *n = set->n;
        return set->tables;
    }
    if (peer) return rs_analysis_tables(analysis, RS_COMPAT_NONE, n); /* the analysis' own */
    *n = 0;
    return NULL;
}

static void take_plan(rs_method *method, const rs_plan *plan)
{
    if (!plan) return;
    method->plan = plan;
    method->rank = rs_plan_rank;
    method->merge = rs_plan_merge;
    method->free_partial = rs_plan_free;
    method->partial_layout = plan->layout;
}

rs_method rs_analysis_method(const rs_analysis *analysis, rs_compat compat)
{
    const rs_peer_row *peer = find_peer(analysis, compat);
    rs_method method = {.rounds = analysis->rounds,
                        .n_rounds = analysis->n_rounds,
                        .file = analysis->file,
                        .rank = analysis->rank,
                        .merge = analysis->merge,
                        .free_partial = analysis->free_partial,
                        .absent = analysis->absent,
                        .partial_layout = analysis->partial_layout};
    take_plan(&method, analysis->plan);
    if (!peer) return method;
    method.rounds = peer->rounds;
    method.n_rounds = peer->n_rounds;
    take_plan(&method, peer->plan);
    method.over = peer->over;
    if (peer->rank) {
        method.rank = peer->rank;
        method.free_partial = peer->free_partial;
        method.partial_layout = peer->partial_layout;
    }
    if (peer->file) method.file = peer->file;
    if (peer->merge) method.merge = peer->merge;
    if (peer->absent) method.absent = peer->absent;
    return method;
}

rs_judged_how rs_analysis_judged(const rs_analysis *analysis)
{
    return analysis->judged;
}

rs_input_kind rs_analysis_input(const rs_analysis *analysis)
{
    return analysis->two_sided                                        ? RS_INPUT_TWO_JOBS
           : analysis->many_sided                                     ? RS_INPUT_JOBS
           : analysis->file && !analysis->file_is                     ? RS_INPUT_FILE
           : analysis->takes && !(analysis->takes & RS_TAKES(EVENTS)) ? RS_INPUT_RECORDINGS
                                                                      : RS_INPUT_TRACES;
}

/* ---- facets --------------------------------------------------------------------------------------------- */

typedef struct facet_row {
    const char *facet, *column, *type, *unit, *meaning;
    bool follows;
} facet_row;

#define FACET_ROW(CELL)                                                                                      \
    CELL(OF(facet_row, facet), "facet", TEXT, NONE, "what is known of a rank", NULL)                         \
    CELL(OF(facet_row, follows), "follows", INT, NONE,                                                       \
         "1: of the steps and the window that are asked about; 0: of the whole rank", NULL)                  \
    CELL(MAYBE(facet_row, column), "column", TEXT, NONE, "of its rows; unknown: it has none", NULL)          \
    CELL(MAYBE(facet_row, type), "type", TEXT, NONE, "as --schema calls it", NULL)                           \
    CELL(MAYBE(facet_row, unit), "unit", TEXT, NONE, "as --schema calls it", NULL)                           \
    CELL(MAYBE(facet_row, meaning), "meaning", TEXT, NONE, "what the column says", NULL)
RS_RECORD(facet, FACET_ROW);

rs_table *rs_facet_table(void)
{
    static const rs_table_spec spec =
        RS_TABLE("facets", "one row is one facet, or one of its columns", facet_columns);
    rs_table *table = rs_table_create(&spec);
    rs_status status = RS_OK;
    for (const rs_facet *const *f = rs_registry_facets; table && status == RS_OK && *f; f++) {
        const rs_row_spec *rows = (*f)->rows ? (*f)->rows->record : NULL;
        for (size_t i = 0; status == RS_OK && i < (rows ? rows->n : 1); i++) {
            facet_row row = {.facet = (*f)->name, .follows = (*f)->selected};
            const rs_column_spec *c = rows ? &rows->columns[i] : NULL;
            if (c)
                row.column = c->name, row.type = rs_type_name(c->type), row.unit = rs_unit_name(c->unit),
                row.meaning = c->help;
            status = rs_table_put_row(table, &facet_record, 0, &row, NULL);
        }
    }
    if (status == RS_OK) return table;
    rs_table_free(table);
    return NULL;
}

/* ---- results -------------------------------------------------------------------------------------------- */

void rs_result_drop_tables(rs_result *result)
{
    for (size_t i = 0; i < result->n_tables; i++) rs_table_free(result->tables[i]);
    rs_free(result->tables);
    result->tables = NULL;
    result->n_tables = 0;
}

void rs_result_clear(rs_result *result)
{
    rs_result_drop_tables(result);
    for (size_t i = 0; i < result->n_notes; i++) rs_free(result->notes[i]);
    rs_free(result->notes);
    rs_problems_clear(&result->problems);
    rs_verdicts_free(result->verdicts);
    *result = (rs_result){0};
}

rs_table *rs_result_table(const rs_result *result, const char *name)
{
    for (size_t i = 0; i < result->n_tables; i++)
        if (result->tables[i] && strcmp(rs_table_get_spec(result->tables[i])->name, name) == 0)
            return result->tables[i];
    return NULL;
}

void rs_result_note(rs_result *result, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    for (size_t i = 0; i < result->n_notes; i++)
        if (strcmp(result->notes[i], line) == 0) return;
    char *copy = rs_strdup(line);
    char **notes = copy ? rs_realloc(result->notes, (result->n_notes + 1) * sizeof *notes) : NULL;
    if (!notes) {
        rs_free(copy);
        result->problems.n_dropped++;
        return;
    }
    result->notes = notes;
    result->notes[result->n_notes++] = copy;
}
