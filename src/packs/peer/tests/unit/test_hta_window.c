/* HTA's window and its rounding on events built by hand. */

#include "base/memory.h"
#include "builder.h"
#include "peer/hta_window.h"
#include "trace/selection.h"
#include "unit.h"

static rs_trace trace_of(builder *b)
{
    rs_trace t;
    rs_trace_init(&t, b->e, NULL, b->e->n);
    return t;
}

/* Rounding of a half-microsecond kernel, the lost last step, and the row that a repeated correlation doubles.
 */
TEST(test_hta_window)
{
    builder b = builder_create();
    add_step(&b, "user_annotation", "ProfilerStep#1", 9, 0, 100000);
    add_step(&b, "user_annotation", "ProfilerStep#2", 9, 100000, 100000);
    add_call(&b, "cudaLaunchKernel", 9, 10000, 1);
    add_call(&b, "cudaLaunchKernel", 9, 20000, 1);
    add_call(&b, "cudaLaunchKernel", 9, 150000, 2);
    uint32_t first = add_kernel(&b, "short", 0, 7, 40200, 500, 1);
    add_kernel(&b, "launched in the last step", 0, 7, 160000, 5000, 2);
    add_kernel(&b, "launch not in the file", 0, 7, 170000, 5000, 3);
    rs_trace t = trace_of(&b);
    rs_policy hta = rs_policy_of(RS_COMPAT_HTA);
    const rs_work *w;
    assert_int_equal(rs_trace_work_details(&t, &hta, &w, NULL), RS_OK);
    assert_int_equal(w->n, 2);
    assert_int_equal(w->row[0], first);
    assert_int_equal(w->row[1], first);
    assert_int_equal(w->start[0], 41000);
    assert_int_equal(w->end[0], 40000);
    hta.keep_last_step = true;
    assert_int_equal(rs_trace_work_details(&t, &hta, &w, NULL), RS_OK);
    assert_int_equal(w->n, 3);
    rs_policy exact = rs_policy_of(RS_COMPAT_HTA_EXACT);
    assert_int_equal(rs_trace_work_details(&t, &exact, &w, NULL), RS_OK);
    assert_int_equal(w->start[0], 40200);
    assert_int_equal(w->end[0], 40700);
    rs_trace_clear(&t);
    rs_events_free(b.e);
}

TEST(test_doubles_of_microseconds)
{
    assert_true(rs_hta_us(1234567891234567) == 1234567891234.567);
    assert_true(rs_hta_us(1719946000123456789) == 1719946000123456.789);
    assert_true(rs_hta_us(-1500) == -1.5);
}
