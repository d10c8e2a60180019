/* --xlsx: the tables of an answer as a workbook. */
#include "cli/workbook.h"

#include <string.h>

#include "base/memory.h"
#include "output/xlsx.h"

typedef struct workbook {
    const rs_sheet *sheets;
    size_t n;
} workbook;

static rs_status write_workbook(void *context, const rs_sink *sink, rs_error *err)
{
    const workbook *w = context;
    return rs_xlsx_write(w->sheets, w->n, sink, err);
}

rs_status rs_workbook_put(const char *path, const char *command, const rs_sheet *sheets, size_t n,
                          rs_error *err)
{
    workbook w = {sheets, n};
    return rs_output_put(path, false, command, write_workbook, &w, err);
}

rs_status rs_workbook_check(rs_error *err)
{
    return rs_xlsx_check(err);
}

int rs_deliver_workbook(const rs_request *r, const rs_result *result, const char *path)
{
    rs_error err = RS_ERROR_INIT;
    rs_sheet *sheets = rs_calloc(result->n_tables + 1, sizeof *sheets);
    rs_sheet_chart chart = {.title = "GPU time", .y_title = "microseconds", .over = 0, .first = 1};
    size_t n = 0;
    for (size_t i = 0; sheets && i < result->n_tables; i++) {
        const rs_table *t = result->tables[i];
        const rs_table_spec *spec = rs_table_get_spec(t);
        if (!rs_table_n_rows(t) && i != result->main_table) continue;
        sheets[n] = (rs_sheet){.name = spec->name, .table = t};
        if (strcmp(spec->name, "pivot") == 0) {
            chart.x_title = spec->columns[0].name;
            chart.n = spec->n_columns - 1;
            sheets[n].chart = &chart;
        }
        n++;
    }
    rs_status status =
        sheets ? rs_workbook_put(path, r->command->name, sheets, n, &err) : rs_fail_nomem(&err, "sheets");
    rs_free(sheets);
    return status == RS_OK ? RS_EXIT_OK : rs_complain_error(NULL, &err);
}
