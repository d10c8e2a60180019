/* `collectives` on a screen: kinds and sizes, who is late, clocks. Single collectives are a table of their
 * own. */
#include <stdio.h>

#include "output/face_tools.h"
#include "output/verdict.h"

static rs_status part(const rs_result *result, const char *name, const char *heading, bool first,
                      rs_page *layout, rs_error *err)
{
    const rs_table *table = rs_result_table(result, name);
    if (rs_table_n_rows(table) == 0) return RS_OK;
    rs_page_heading(layout, heading, first);
    return rs_face_first(table, NULL, layout, err);
}

rs_status rs_face_collectives(const rs_result *result, rs_page *layout, rs_error *err)
{
    const rs_table *all = rs_result_table(result, "collectives");
    if (rs_table_n_rows(all) == 0) return rs_page_table(layout, all, err);
    char text[160];
    rs_status status = part(result, "summary", "Collectives by kind and size", true, layout, err);
    if (status == RS_OK) status = part(result, "lateness", "Who is late", false, layout, err);
    if (status == RS_OK) rs_page_lateness(layout, result, -1);
    if (status == RS_OK) status = part(result, "clocks", "Clocks", false, layout, err);
    snprintf(text, sizeof text,
             "%zu collectives; one by one: --table collectives, with each rank's arrival: --table arrivals",
             rs_table_n_rows(all));
    rs_page_blank(layout);
    rs_page_wrap(layout, "", text);
    return status;
}
