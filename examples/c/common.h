/* What the examples share: opening a job from the command line, and printing a table. */
#ifndef EXAMPLE_COMMON_H
#define EXAMPLE_COMMON_H

#include <inttypes.h>
#include <rankscope/rankscope.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints an error and gives the exit code for it. */
static inline int failed(const rs_error *err)
{
    char text[1024];
    fprintf(stderr, "%s\n", rs_error_text(err, text, sizeof text));
    return 2;
}

/* The settings of a job as they are by default. `size` tells the library which version of the struct this program knows. */
static inline rs_job_settings default_settings(void)
{
    rs_job_settings settings;
    memset(&settings, 0, sizeof settings);
    settings.size = sizeof settings;
    return settings;
}

static inline void print_cell(const rs_table *table, size_t row, size_t column)
{
    if (rs_table_is_null(table, row, column)) {
        printf("-");
        return;
    }
    switch (rs_table_get_spec(table)->columns[column].type) {
    case RS_TEXT: printf("%s", rs_table_text(table, row, column, NULL)); break;
    case RS_REAL: printf("%g", rs_table_real(table, row, column)); break;
    default:
        printf("%" PRId64, rs_table_int(table, row, column));
        break; /* whole numbers; times in nanoseconds */
    }
}

static inline void print_table(const rs_table *table, size_t most_rows)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    for (size_t c = 0; c < spec->n_columns; c++) printf("%s%s", c ? "\t" : "", spec->columns[c].name);
    printf("\n");
    for (size_t r = 0; r < rs_table_n_rows(table) && r < most_rows; r++) {
        for (size_t c = 0; c < spec->n_columns; c++) {
            if (c) printf("\t");
            print_cell(table, r, c);
        }
        printf("\n");
    }
}

/* Runs one analysis with options NAME VALUE, NAME VALUE, ... NULL, and prints one of its tables; NULL: the first. */
static inline int ask(rs_job *job, const char *name, const char *const *choices, const char *table_name)
{
    rs_error err = RS_ERROR_INIT;
    const rs_analysis *analysis = rs_analysis_find(name);
    if (!analysis) {
        fprintf(stderr, "this library has no analysis '%s'\n", name);
        return 2;
    }
    size_t n;
    const rs_option_spec *specs = rs_analysis_options(analysis, &n);
    rs_options *options = NULL;
    rs_status status = rs_options_create(specs, n, &options, &err);
    for (; status == RS_OK && choices && *choices; choices += 2)
        status = rs_options_set(options, choices[0], choices[1], &err);
    if (status != RS_OK) {
        rs_options_free(options);
        return failed(&err);
    }
    rs_result result;
    memset(&result, 0, sizeof result);
    status = rs_job_run(job, analysis, options, RS_COMPAT_NONE, &result, &err);
    int code = 0;
    if (status != RS_OK) {
        code = failed(&err);
    } else {
        const rs_table *table = table_name        ? rs_result_table(&result, table_name)
                                : result.n_tables ? result.tables[0]
                                                  : NULL;
        if (table) {
            print_table(table, 10);
        } else {
            fprintf(stderr, "'%s' has no table '%s' here\n", name, table_name ? table_name : "");
            code = 1;
        }
    }
    rs_result_clear(&result);
    rs_options_free(options);
    return code;
}

#endif
