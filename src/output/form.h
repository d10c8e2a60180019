/* An output form is one row: the file that renders it defines, at its foot,
 *
 *     const rs_output_form rs_output_form_csv = {.name = "csv", ...};
 *
 * and the build collects it. The command line, the manual, the completions and Python take the names from
 * there. */
#ifndef RS_OUTPUT_FORM_H
#define RS_OUTPUT_FORM_H

#include "rankscope/render.h"
#include "text/writer.h"

struct rs_output_form {
    const char *name, *help, *extension;
    bool binary;
    bool has_budget;       /* it knows how to write an answer within settings->budget bytes */
    const char *elsewhere; /* the form is made elsewhere: where, as an error says it; NULL: here */
    /* One table. The caller finishes the writer, whose failure it also reports. */
    rs_status (*table)(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                       rs_error *err);
    /* A whole result; NULL: its main table. */
    rs_status (*result)(rs_writer *writer, const rs_result *result, size_t main_table,
                        const rs_render_settings *settings, rs_error *err);
};

/* The rows that the build collected, text first, ended by NULL. */
extern const rs_output_form *const rs_output_form_rows[];

#endif
