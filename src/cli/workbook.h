/* --xlsx: the tables of an answer as a workbook. */
#pragma once

#include "cli/cli.h"

struct rs_sheet;

/* Before anything is computed: RS_ERR_USAGE with the remedy when this build cannot write workbooks. */
rs_status rs_workbook_check(rs_error *err);
/* Writes sheets as a workbook, as rs_output_put writes. */
rs_status rs_workbook_put(const char *path, const char *command, const struct rs_sheet *sheets, size_t n,
                          rs_error *err);

/* Writes a sheet for each table that has rows, and for the main one; what stands along an axis has a chart
 * next to it. The exit code, RS_EXIT_OK or that of a failure, which it has complained of. */
int rs_deliver_workbook(const rs_request *request, const rs_result *result, const char *path);
