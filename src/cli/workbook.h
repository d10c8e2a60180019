/* --xlsx: the tables of an answer as a workbook. */
#pragma once

#include "cli/cli.h"

/* Writes a sheet for each table that has rows, and for the main one; what stands along an axis has a chart
 * next to it. The exit code, RS_EXIT_OK or that of a failure, which it has complained of. */
int rs_deliver_workbook(const rs_request *request, const rs_result *result, const char *path);
