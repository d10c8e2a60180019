/* delays by HTA's rules (get_aten_op_kernels_and_delay). */
#ifndef RS_PEER_DELAYS_HTA_H
#define RS_PEER_DELAYS_HTA_H

#include "analysis/analysis.h"
#include "base/memory.h"
#include "base/layout.h"
#include "base/stats.h"

typedef struct rs_hta_delay {
    const char *op, *sequence;         /* in the list's arena */
    rs_moments op_delay, launch_delay; /* ns */
} rs_hta_delay;

typedef struct rs_hta_delays {
    rs_arena names;
    rs_hta_delay *items; /* by operator, then sequence */
    size_t n, capacity;
    size_t n_launches, n_without_kernel, n_outside;
} rs_hta_delays;

/* A launch belongs to the aten:: operator around it, on any thread, that began last. HTA fails where a launch
 * has no kernel or several; here it is left out, or goes by the first. O(n log n). */
rs_status rs_hta_delays_of(const rs_run *run, rs_trace *trace, rs_hta_delays **out, rs_error *err);
extern const rs_layout rs_hta_delays_layout;
void rs_hta_delays_free(rs_hta_delays *delays); /* NULL is allowed */

#endif
