/* A section of the report page that a pack adds: `const rs_report_section rs_report_section_NAME`, which the build
 * collects. The page's data has its answer under its name. */
#pragma once

#include "rankscope/report.h"
#include "report/data.h"

#define RS_REPORT_WHOLE_TABLE 2048 /* rows of a table that is not cut by a column */

typedef struct rs_report_section {
    const char *name;
    bool (*is_asked)(const rs_report_settings *settings);
    /* Computes the answer. told receives problems, also on failure. *answer is freed by the caller, also on failure. */
    rs_status (*gather)(const rs_report_settings *settings, void **answer, rs_result *told, rs_error *err);
    /* Writes the answer as one JSON value. */
    rs_status (*put)(rs_report_data *data, void *answer, rs_error *err);
    void (*free)(void *answer); /* NULL is allowed */
} rs_report_section;

extern const rs_report_section *const rs_report_section_rows[];

/* Adds problems to told, each once, with its largest count: every run over the same files meets the same defects. */
void rs_report_tell_problems(rs_result *told, const rs_problems *problems);
/* One member of an object: the table under its name, cut by the part. */
rs_status rs_report_put_part(rs_report_data *data, const rs_table *table, const rs_report_part *part,
                             bool first, rs_error *err);
/* The member "notes" behind others. */
void rs_report_put_notes(rs_report_data *data, const rs_result *result);
