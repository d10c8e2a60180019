/* The periodic dumper's files: tables in text, sections with stacks. */

#include "flight/periodic.h"
#include "fuzz.h"

int fuzz_one(const uint8_t *data, size_t n)
{
    rs_flight *flight = NULL;
    rs_error err = RS_ERROR_INIT;
    const rs_flight_report *report;
    const char *text = (const char *)data;
    size_t half = n / 2, at = 0;
    PROMISE(rs_flight_open_bytes(NULL, 0, NULL, &flight, &err) == RS_ERR_FORMAT && flight);
    flight->periodic = rs_calloc(1, sizeof *flight->periodic);
    PROMISE(flight->periodic);
    /* The whole is the newest snapshot, its first half the one before. */
    PROMISE(rs_fl_read_tables(flight, text, n, &flight->periodic->snapshots[0], &err) == RS_OK);
    PROMISE(rs_fl_read_tables(flight, text, half, &flight->periodic->snapshots[1], &err) == RS_OK);
    flight->periodic->n_snapshots = 2;
    for (size_t i = 0; i < flight->periodic->snapshots[0].n_rows; i++) {
        const rs_fl_row *row = &flight->periodic->snapshots[0].rows[i];
        PROMISE((size_t)row->missing.first + row->missing.n <= flight->periodic->snapshots[0].n_members);
    }
    rs_fl_block b;
    size_t threads;
    while (rs_fl_next_section(text, n, &at, &b)) {
        PROMISE(b.rank >= 0 && b.text >= text && b.text + b.n <= text + n);
        PROMISE(rs_fl_note_address(flight, b.rank, b.address, b.n_address));
        PROMISE(rs_fl_read_stacks(flight, b.rank, RS_FL_NONE, b.text, b.n, &threads));
    }
    PROMISE(rs_flight_get_report(flight, &report, &err) == RS_OK && report->root.summary);
    rs_flight_close(flight);
    return 0;
}
