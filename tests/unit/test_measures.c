/* Counters of a GPU as measures. */

#include <math.h>

#include "base/memory.h"
#include "builder.h"
#include "trace/measures.h"
#include "unit.h"

static void expect_name(const char *counter, rs_measure what, double scale)
{
    double found;
    assert_int_equal(rs_measure_of(counter, &found), what);
    if (what != RS_N_MEASURES) assert_true(found == scale);
}

/* Names as nsys 2023 and 2026, CUPTI and PyTorch 2.15 write them. */
TEST(test_names)
{
    expect_name("SM Active", RS_MEASURE_SM, 1);
    expect_name("SMs Active [Throughput %]", RS_MEASURE_SM, 1);
    expect_name("sm__cycles_active.avg.pct_of_peak_sustained_elapsed", RS_MEASURE_SM, 1);
    expect_name("sm__cycles_active.sum", RS_N_MEASURES, 0);
    expect_name("Unallocated Warps in Active SMs", RS_N_MEASURES, 0);
    expect_name("Tensor Active / FP16 Active", RS_MEASURE_TENSOR, 1);
    expect_name("sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active", RS_MEASURE_TENSOR, 1);
    expect_name("DRAM Write Bandwidth [Throughput %]", RS_MEASURE_DRAM, 1);
    expect_name("NVLink TX Responses User Data", RS_MEASURE_NVLINK_TX, 1);
    expect_name("PCIe RX Throughput", RS_MEASURE_PCIE_RX, 1);
    expect_name("GPC Clock Frequency [MHz]", RS_MEASURE_CLOCK, 1);
    expect_name("GPC Clock Frequency", RS_MEASURE_CLOCK, 0); /* its unit shows in the values */
    expect_name("MfmaUtil", RS_MEASURE_TENSOR, 1);           /* rocprofv3 */
    expect_name("SQ_WAVES", RS_N_MEASURES, 0);
    expect_name("Power (mW)", RS_MEASURE_POWER, 1e-3);
    expect_name("Power Limit (W)", RS_MEASURE_POWER_LIMIT, 1);
    expect_name("Temperature Limit (C)", RS_N_MEASURES, 0);
    expect_name("Temperature (C)", RS_MEASURE_TEMPERATURE, 1);
    expect_name("Total Reserved", RS_N_MEASURES, 0);
}

static void sample(builder *b, const char *name, int64_t device, int64_t at, int64_t length, double value)
{
    uint32_t row = add_row(b, length ? 'X' : 'C', "gpu_metric", name, 1, 1, at, length ? length : RS_NO_TIME);
    assert_int_equal(rs_events_add_counter(b->e, rs_strings_add(&b->e->strings, "", 0), row, value, NULL),
                     RS_OK);
    add_arg(b, RS_COL_DEVICE, device);
}

static double mean(const rs_measures *m, int64_t device, int64_t from, int64_t to, rs_measure what,
                   double *ns)
{
    rs_measured sum = {0};
    rs_measures_add(m, device, from, to, &sum);
    *ns = sum.ns[what];
    return rs_measured_mean(&sum, what);
}

TEST(test_series)
{
    builder b = builder_create();
    rs_trace t;
    const rs_measures *m;
    double ns;
    /* every 100 ns, out of order; then nothing for 10000 ns, in which a sample holds for 400 */
    sample(&b, "SM Active", 0, 200, 0, 40);
    sample(&b, "SM Active", 0, 100, 0, 20);
    sample(&b, "SM Active", 0, 300, 0, 80);
    sample(&b, "SM Active", 0, 10300, 0, 10);
    sample(&b, "SM Active", 0, 10400, 0, 30);
    sample(&b, "SM Active", 1, 100, 0, 99);
    /* two that add up, one clock in Hz, and a second clock of the same device that is left out */
    for (int64_t at = 100; at < 500; at += 100) {
        sample(&b, "DRAM Read Throughput", 0, at, 0, 30);
        sample(&b, "DRAM Write Throughput", 0, at, 0, 5);
        sample(&b, "GPC Clock Frequency", 0, at, 0, 1.5e9);
        sample(&b, "SM Clock (MHz)", 0, at, 0, 900);
    }
    /* ranges hold as long as they last */
    sample(&b, "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active", 0, 1000, 50, 60);
    sample(&b, "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active", 0, 2000, 150, 20);
    rs_trace_init(&t, b.e, NULL, b.e->n);
    assert_int_equal(rs_trace_measures(&t, &m, NULL), RS_OK);
    assert_true(mean(m, 0, 100, 300, RS_MEASURE_SM, &ns) == 30 && ns == 200);
    assert_true(mean(m, 0, 150, 250, RS_MEASURE_SM, &ns) == 30 && ns == 100);
    assert_true(mean(m, 0, 0, 150, RS_MEASURE_SM, &ns) == 20 && ns == 50);
    assert_true(mean(m, 0, 300, 10300, RS_MEASURE_SM, &ns) == 80 && ns == 400);
    assert_true(mean(m, 0, 10400, 20000, RS_MEASURE_SM, &ns) == 30 &&
                ns == 100); /* the last holds for a period */
    assert_true(isnan(mean(m, 0, 5000, 6000, RS_MEASURE_SM, &ns)) && ns == 0);
    assert_true(isnan(mean(m, 0, 200, 200, RS_MEASURE_SM, &ns)));
    assert_true(mean(m, 0, 100, 400, RS_MEASURE_DRAM, &ns) == 35 && ns == 300);
    assert_true(mean(m, 0, 100, 400, RS_MEASURE_CLOCK, &ns) == 1500 && ns == 300);
    assert_true(mean(m, 0, 0, 5000, RS_MEASURE_TENSOR, &ns) == 30 && ns == 200);
    assert_true(isnan(mean(m, 2, 100, 400, RS_MEASURE_DRAM, &ns)));
    rs_trace_clear(&t);
    rs_events_free(b.e);
}

TEST(test_every_allocation_may_fail)
{
    builder b = builder_create();
    rs_status status = RS_ERR_NOMEM;
    uint64_t k = 0;
    for (int64_t at = 0; at < 500; at += 100) sample(&b, "SM Active", 0, at, 0, 40);
    while (status != RS_OK) {
        rs_trace t;
        const rs_measures *m;
        rs_trace_init(&t, b.e, NULL, b.e->n);
        rs_test_fail_allocation(++k);
        status = rs_trace_measures(&t, &m, NULL);
        rs_test_fail_allocation(0);
        assert_true(status == RS_OK || status == RS_ERR_NOMEM);
        rs_trace_clear(&t);
    }
    assert_true(k > 6);
    rs_events_free(b.e);
}
