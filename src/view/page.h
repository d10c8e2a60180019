/* The viewer's entry page: what is shown, and the button that hands the trace over. */
#ifndef RS_VIEW_PAGE_H
#define RS_VIEW_PAGE_H

#include "rankscope/analysis.h"
#include "rankscope/render.h"
#include "rankscope/view.h"
#include "view/routes.h"

typedef struct rs_view_facts {
    const char *title;  /* what the user calls the job */
    const char *viewer; /* address of the UI */
    const rs_view_trace *trace;
    const rs_result *notes; /* what was left out, and what is wrong with the input */
    bool has_report;
} rs_view_facts;

/* Writes the page. Every text in it may come from a hostile trace or file name. */
rs_status rs_view_page_write(const rs_view_facts *facts, const rs_view_routes *routes, const rs_sink *sink,
                             rs_error *err);

/* The page's own script and style, built in. */
extern const unsigned char rs_view_script[], rs_view_style[];
extern const size_t rs_view_script_size, rs_view_style_size;

/* The explorer's page, built from report/; of size 0 in a program that was built without Node.js. */
extern const unsigned char rs_explorer_page[];
extern const size_t rs_explorer_page_size;
/* What it may load and run: all that is in it, and its own server's answers. */
extern const char rs_view_explorer_policy[];

/* What the page may load and run: its own script and style, nothing from elsewhere; and what the report may,
 * which has all within itself. */
extern const char rs_view_page_policy[], rs_view_report_policy[];

#endif
