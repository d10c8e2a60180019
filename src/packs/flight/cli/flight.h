/* The parts of `rankscope flight`: its text, and what fetches a running job's answers. */
#ifndef RS_CLI_FLIGHT_H
#define RS_CLI_FLIGHT_H

#include "cli/cli.h"
#include "cli/fetch.h"
#include "output/layout.h"

/* flight_text.c: the answer for people. */
rs_status rs_flight_show_text(const rs_request *r, rs_flight *flight, const rs_sink *sink, rs_error *err);
/* A stack, a line a frame. */
void rs_flight_put_stack(rs_page *layout, rs_flight *flight, uint32_t stack);

/* flight_live.c: one snapshot of a running job: of the front end at `server`, or of the workers that
 * --workers names. */
rs_status rs_flight_snapshot(const rs_request *r, const char *server, const rs_flight_settings *settings,
                             rs_flight **out, rs_error *err);
/* ras_client.c: what NCCL's RAS at --ras answers, once, or twice when --stall is given. Only reads the job's state. */
rs_status rs_flight_ask_ras(const rs_request *r, rs_fetch *answers, rs_flight_bytes *out, size_t *n,
                            rs_error *err);
/* Snapshot after snapshot of a debug server or a folder, until a hang (RS_OK), an error, or the server's end:
 * *ended is then the exit code, else RS_EXIT_OK. A line goes to standard error when the state changes. */
rs_status rs_flight_watch(const rs_request *r, const char *what, rs_flight_settings *settings,
                          rs_flight **out, int *ended, rs_error *err);

#endif
