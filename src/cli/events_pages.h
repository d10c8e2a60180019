/* rankscope events without a condition: rows go out as they are taken from the events, and no table of all of them is
 * made. */
#pragma once

#include "cli/cli.h"

/* Whether that can be: all events are asked for, the form of output takes pages, and memory is not limited: the events of all
 * ranks are held at once, while rows of a condition are taken rank by rank. */
bool rs_events_can_stream(const rs_request *request);
/* Writes them to where the answer goes; result gets problems and notes. */
rs_status rs_events_stream(rs_request *request, rs_job *job, rs_result *result, rs_error *err);
