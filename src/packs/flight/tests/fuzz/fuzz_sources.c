/* What a cluster writes next to the dumps, as any bytes: every kind of source comes to a verdict, and to events whose ranks and
 * kinds are sound. Only a packing that asks for more than its due is refused. */

#include "flight/sources.h"
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
    /* The first half is another file of the same kind. */
    rs_flight_bytes given[2] = {{data, n, -1, "rank3.txt"}, {data, n / 2, -1, "half"}};
    rs_flight_settings settings = {.size = sizeof settings, .evidence = given, .n_evidence = 2};
    rs_status status = rs_flight_open_bytes(NULL, 0, &settings, &flight, &err);
    PROMISE(status == RS_OK || status == RS_ERR_FORMAT || status == RS_ERR_LIMIT);
    if (!flight) return 0;
    for (size_t i = 0; flight->log && i < flight->log->n; i++) {
        const rs_fl_event *e = &flight->log->events[i];
        PROMISE(e->kind < RS_FL_N_EVENTS && e->line > 0 && e->rank >= -1);
    }
    PROMISE(rs_flight_get_report(flight, &report, &err) == RS_OK && report->root.summary);
    PROMISE(rs_flight_write_json(flight, &sink, &err) == RS_OK);
    rs_table *table = rs_flight_log(flight, &err);
    PROMISE(table);
    rs_table_free(table);
    rs_flight_close(flight);
    return 0;
}
