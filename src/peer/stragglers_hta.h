/* stragglers by HTA's rule (get_potential_stragglers). */
#ifndef RS_PEER_STRAGGLERS_HTA_H
#define RS_PEER_STRAGGLERS_HTA_H

#include "analysis/analysis.h"
#include "base/layout.h"
#include "base/strings.h"

/* The last kernel of a name on a stream in a step. */
typedef struct rs_hta_arrival {
    uint32_t name; /* string id of the rank's names */
    int64_t stream, step;
    int64_t start, duration; /* ns */
} rs_hta_arrival;

typedef struct rs_hta_arrivals {
    rs_strings names;
    rs_hta_arrival *items; /* communication kernels of the steps asked for, in the frame's order */
    size_t n, capacity;
    int64_t *steps; /* numbers seen, ascending */
    size_t n_steps, steps_capacity;
    int64_t first, last; /* ns, of all rows of the steps asked for; RS_NO_TIME: none */
} rs_hta_arrivals;

rs_status rs_hta_arrivals_of(const rs_run *run, rs_trace *trace, rs_hta_arrivals **out, rs_error *err);
extern const rs_layout rs_hta_arrivals_layout;
void rs_hta_arrivals_free(rs_hta_arrivals *arrivals); /* NULL is allowed */

/* Fills "stragglers" (result->tables[0]) and "steps" (tables[1]). arrivals[i] belongs to ranks[i]. */
rs_status rs_hta_stragglers_find(const rs_run *run, const rs_hta_arrivals *const *arrivals,
                                 const int64_t *ranks, size_t n, rs_result *result, rs_error *err);

#endif
