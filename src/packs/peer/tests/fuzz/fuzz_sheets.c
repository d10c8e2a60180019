/* Sheets, alone: any bytes, as a workbook or (where they do not begin as one) as CSV, come to sheets whose rows are whole
 * and whose texts exist, or to an error that says why. A comparison of them with themselves keeps every row once. */
#include <string.h>

#include "fuzz.h"
#include "input/sheets.h"
#include "peer/tracelens_join.h"

static void promise_whole(const rs_book *book, const rs_strings *texts)
{
    for (size_t i = 0; i < book->n; i++) {
        const rs_grid *g = &book->grids[i];
        PROMISE(g->name < texts->n && g->n_cells == g->n_rows * g->n_columns);
        for (size_t k = 0; k < g->n_columns; k++) PROMISE(g->columns[k] < texts->n);
        for (size_t k = 0; k < g->n_cells; k++) {
            PROMISE(g->cells[k].kind <= RS_GRID_TEXT);
            PROMISE(g->cells[k].kind != RS_GRID_TEXT || g->cells[k].text < texts->n);
        }
    }
}

/* By the first column, with itself. */
static void promise_joined(const rs_grid *grid, const rs_strings *texts)
{
    const rs_grid *grids[] = {grid, grid};
    if (grid->n_columns == 0) return;
    rs_tl_join join = {
        .texts = texts, .n_reports = 2, .grids = grids, .keys = {grid->columns[0]}, .n_keys = 1};
    PROMISE(rs_tl_join_make(&join));
    PROMISE(join.n == grid->n_rows);
    uint32_t *order = rs_tl_order_by_keys(&join);
    PROMISE(order && rs_tl_order_by_size(&join, order, join.n, 1, grid->n_columns - 1));
    for (size_t i = 0; i < join.n; i++)
        PROMISE(join.slots[i].rows[0] != RS_TL_NO_ROW && join.slots[i].rows[0] == join.slots[i].rows[1]);
    rs_free(order);
    rs_tl_join_clear(&join);
}

int fuzz_one(const uint8_t *data, size_t n)
{
    rs_strings texts;
    rs_book book = {0};
    rs_error err = RS_ERROR_INIT;
    PROMISE(rs_strings_init(&texts));
    bool is_zip = n >= 2 && memcmp(data, "PK", 2) == 0;
    rs_status status = is_zip ? rs_workbook_read(data, n, "fuzz", &texts, &book, &err)
                              : rs_csv_read((const char *)data, n, "fuzz", "sheet", 5, &texts, &book, &err);
    PROMISE(status == RS_OK || status == RS_ERR_FORMAT || status == RS_ERR_LIMIT || status == RS_ERR_USAGE);
    PROMISE(status == RS_OK || strlen(rs_error_text(&err, (char[1024]){0}, 1024)) > 0);
    promise_whole(&book, &texts);
    for (size_t i = 0; status == RS_OK && i < book.n; i++) promise_joined(&book.grids[i], &texts);
    rs_book_clear(&book);
    rs_strings_clear(&texts);
    return 0;
}
