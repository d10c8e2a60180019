/* Whole jobs: the input is cut into dumps at the bytes ff fe fd fc. Any bytes come to a verdict or a refusal,
 * the same on a second run, and every view of the result can be made. */
#include <string.h>

#include "fuzz.h"
#include "rankscope/flight.h"

#define MAX_DUMPS 16

static size_t split(const uint8_t *data, size_t n, rs_flight_bytes *dumps)
{
    size_t count = 0, begin = 0;
    for (size_t i = 0; i <= n && count < MAX_DUMPS; i++) {
        bool mark = i + 4 <= n && memcmp(data + i, "\xff\xfe\xfd\xfc", 4) == 0;
        if (!mark && i < n) continue;
        dumps[count] = (rs_flight_bytes){data + begin, i - begin, (int64_t)count, "input"};
        count++;
        begin = i + 4;
        i += 3;
    }
    return count;
}

static fuzz_bytes run(const rs_flight_bytes *dumps, size_t n)
{
    rs_flight *flight = NULL;
    rs_error err = RS_ERROR_INIT;
    fuzz_bytes out = {0}, timeline = {0};
    rs_sink sink = {fuzz_keep, &out}, other = {fuzz_keep, &timeline};
    const rs_flight_report *report;
    rs_status status = rs_flight_open_bytes(dumps, n, NULL, &flight, &err);
    PROMISE(status == RS_OK || status == RS_ERR_FORMAT);
    PROMISE(rs_flight_get_report(flight, &report, &err) == RS_OK);
    PROMISE(report->root.summary);
    /* dumps that can be read may still hold nothing to judge */
    PROMISE(status == RS_OK || report->root.verdict == RS_FLIGHT_BAD_INPUT);
    PROMISE(rs_flight_write_json(flight, &sink, &err) == RS_OK);
    if (status == RS_OK) {
        PROMISE(rs_flight_write_timeline(flight, &other, &err) == RS_OK);
        rs_table *tables[] = {rs_flight_entries(flight, NULL, NULL, true, &err),
                              rs_flight_side_by_side(flight, NULL, NULL, &err),
                              rs_flight_groups(flight, NULL, &err),
                              rs_flight_lateness(flight, &err),
                              rs_flight_collectives(flight, &err),
                              rs_flight_dumps(flight, &err)};
        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
            PROMISE(tables[i]);
            rs_table_free(tables[i]);
        }
    }
    rs_flight_close(flight);
    free(timeline.text);
    return out;
}

int fuzz_one(const uint8_t *data, size_t n)
{
    rs_flight_bytes dumps[MAX_DUMPS];
    size_t count = split(data, n, dumps);
    fuzz_bytes first = run(dumps, count), second = run(dumps, count);
    PROMISE(first.n == second.n && memcmp(first.text, second.text, first.n) == 0);
    free(first.text);
    free(second.text);
    return 0;
}
