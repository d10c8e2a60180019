/* report --tracelens. */
#ifndef RS_CLI_REPORT_TRACELENS_H
#define RS_CLI_REPORT_TRACELENS_H

#include "cli/cli.h"

/* Refuses what does not go with --tracelens. */
rs_status rs_report_check_tracelens(rs_request *r, rs_error *err);
/* Writes the sheets. */
rs_status rs_report_write_tracelens(rs_request *r, rs_result *told, rs_error *err);

#endif
