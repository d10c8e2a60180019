/* What machines and programs say, given to flight as texts. */
#pragma once

#include "rankscope/flight.h"
#include "support.h"

enum { MOST_EVIDENCE = 8 };

/* A job of which there are these texts under these names, and no dump. */
static inline rs_flight *flight_of_texts(const text *texts, const char *const *names, size_t n,
                                         const rs_flight_report **report)
{
    rs_flight_bytes bytes[MOST_EVIDENCE];
    rs_flight *flight;
    rs_error err = RS_ERROR_INIT;
    assert_true(n <= MOST_EVIDENCE);
    for (size_t i = 0; i < n; i++) bytes[i] = (rs_flight_bytes){texts[i].s, texts[i].n, -1, names[i]};
    rs_flight_settings settings = {.size = sizeof settings, .evidence = bytes, .n_evidence = n};
    rs_status status = rs_flight_open(NULL, 0, &settings, &flight, &err);
    assert_true(status == RS_OK || status == RS_ERR_FORMAT);
    assert_int_equal(rs_flight_get_report(flight, report, &err), RS_OK);
    return flight;
}
