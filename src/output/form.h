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
    /* A table that comes in pages, as it comes; of a form that has `result`, a result of that one table. */
    rs_status (*pages)(rs_writer *writer, const rs_pages *pages, const rs_render_settings *settings,
                       rs_error *err);
};

/* Rows of a page: of forms that write what they have, and of those that look at the first page to lay out all. */
#define RS_PAGE_ROWS 1024
#define RS_FIRST_PAGE_ROWS 65536

typedef rs_status (*rs_page_fn)(void *context, rs_writer *writer, const rs_table *page, bool first,
                                const rs_render_settings *settings, rs_error *err);
/* Writes page after page; what was written of one goes to the sink before the next is asked for. */
rs_status rs_pages_each(const rs_pages *pages, size_t rows, rs_page_fn write, void *context,
                        rs_writer *writer, const rs_render_settings *settings, rs_error *err);

/* Whether to go on, where the form holds so many bytes in addition to the page. The writer asks, too. */
rs_status rs_pages_check(const rs_render_settings *settings, uint64_t held, rs_error *err);

/* The rows that the build collected, text first, ended by NULL. */
extern const rs_output_form *const rs_output_form_rows[];

#endif
