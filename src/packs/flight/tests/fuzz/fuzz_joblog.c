/* A job's log, alone: any bytes come to a verdict, and to a table of events whose ranks and kinds are sound.
 * Only a packing that asks for more than its due is refused. */

#include "flight/log.h"
#include "fuzz.h"

static bool drop(void *context, const char *text, size_t n)
{
    (void)text;
    *(size_t *)context += n;
    return true;
}

int fuzz_one(const uint8_t *data, size_t n)
{
    rs_flight *flight = NULL;
    rs_error err = RS_ERROR_INIT;
    const rs_flight_report *report;
    size_t written = 0;
    rs_sink sink = {drop, &written};
    PROMISE(rs_flight_open_bytes(NULL, 0, NULL, &flight, &err) == RS_ERR_FORMAT && flight);
    rs_status status = rs_fl_read_log_bytes(flight, data, n, "job.log", &err);
    if (status != RS_OK) {
        PROMISE(status == RS_ERR_LIMIT);
        rs_flight_close(flight);
        return 0;
    }
    PROMISE(rs_fl_resolve_log(flight, &err) == RS_OK);
    for (size_t i = 0; i < flight->log->n; i++) {
        const rs_fl_event *e = &flight->log->events[i];
        PROMISE(e->kind < RS_FL_N_EVENTS && e->line > 0 && e->rank >= -1);
    }
    PROMISE(rs_flight_get_report(flight, &report, &err) == RS_OK && report->root.summary);
    PROMISE(rs_flight_write_json(flight, &sink, &err) == RS_OK);
    rs_table *table = rs_flight_log(flight, &err);
    PROMISE(table && rs_table_n_rows(table) == flight->log->n);
    rs_table_free(table);
    rs_flight_close(flight);
    return 0;
}
