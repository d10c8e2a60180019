/* The sentences that open answers, from tables that are written here: every command's own, with the case in which there is
 * nothing to report. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "output/faces.h"
#include "rankscope/regress.h"
#include "unit.h"

#define MOST_TABLES 16

typedef struct answer {
    const char *command;
    rs_table *tables[MOST_TABLES];
    rs_result result;
} answer;

static void begin(answer *a, const char *command)
{
    size_t n = 3;
    const rs_analysis *analysis = rs_analysis_find(command);
    const rs_table_spec *const *specs =
        analysis ? rs_analysis_tables(analysis, RS_COMPAT_NONE, &n) : rs_regress_tables;
    *a = (answer){.command = command};
    assert_true(n <= MOST_TABLES);
    for (size_t i = 0; i < n; i++) assert_non_null(a->tables[i] = rs_table_create(specs[i]));
    a->result = (rs_result){.tables = a->tables, .n_tables = n};
}

/* One row of "column=value column=value ...": times in microseconds, _ms in milliseconds; the rest is unknown. */
static void row(answer *a, const char *table, const char *cells)
{
    rs_table *t = rs_result_table(&a->result, table);
    assert_non_null(t);
    const rs_table_spec *spec = rs_table_get_spec(t);
    size_t set = 0, wanted = 0;
    for (const char *c = cells; (c = strchr(c, '=')); c++) wanted++;
    for (size_t i = 0; i < spec->n_columns; i++) {
        char key[80], value[80] = "";
        const char *at = NULL;
        snprintf(key, sizeof key, "%s=", spec->columns[i].name);
        for (const char *c = cells; (c = strstr(c, key)); c++)
            if (c == cells || c[-1] == ' ') at = c + strlen(key);
        if (!at) {
            rs_table_add_null(t);
            continue;
        }
        snprintf(value, sizeof value, "%.*s", (int)strcspn(at, " "), at);
        set++;
        switch (spec->columns[i].type) {
        case RS_TEXT: rs_table_add_text(t, value); break;
        case RS_REAL: rs_table_add_real(t, strtod(value, NULL)); break;
        case RS_INT: rs_table_add_int(t, strtoll(value, NULL, 10)); break;
        default:
            rs_table_add_time(
                t, llround(strtod(value, NULL) * (spec->columns[i].unit == RS_UNIT_MS ? 1e6 : 1e3)));
        }
    }
    assert_int_equal(set, wanted);
    assert_int_equal(rs_table_end_row(t, NULL), RS_OK);
}

static void show(answer *a, const char *main_table)
{
    for (size_t i = 0; main_table && i < a->result.n_tables; i++)
        if (a->tables[i] == rs_result_table(&a->result, main_table)) a->result.main_table = i;
}

/* Ends the answer. */
static void expect(answer *a, const char *sentence)
{
    rs_text text = {0};
    const rs_face *face = rs_face_find(a->command, "");
    assert_non_null(face->headline);
    face->headline(&a->result, &text);
    assert_string_equal(rs_text_get(&text), sentence);
    rs_text_clear(&text);
    for (size_t i = 0; i < a->result.n_tables; i++) rs_table_free(a->tables[i]);
}

/* A name counts over all ranks together; what is called others is none. */
TEST(test_kernels)
{
    answer a;
    begin(&a, "kernels");
    row(&a, "kernels", "rank=0 name=gemm sum_us=300");
    row(&a, "kernels", "rank=0 name=nccl sum_us=250");
    row(&a, "kernels", "rank=0 name=others sum_us=5000");
    row(&a, "kernels", "rank=1 name=nccl sum_us=450");
    expect(&a, "nccl takes the most GPU time: 700.0 us of 6.000 ms (11.7 %).");
    begin(&a, "kernels");
    row(&a, "types", "rank=0 kernel_type=computation time_us=10");
    row(&a, "types", "rank=0 kernel_type=memory time_us=30");
    show(&a, "types");
    expect(&a, "memory is what runs longest: 30.00 us of 40.00 us (75.0 %).");
    begin(&a, "kernels");
    expect(&a, "");
}

TEST(test_ops)
{
    answer a;
    begin(&a, "ops");
    row(&a, "ops", "rank=0 name=aten::mm total_direct_kernel_time_us=75");
    row(&a, "ops", "rank=0 name=aten::add total_direct_kernel_time_us=25");
    expect(&a, "aten::mm launches the most GPU time: 75.00 us of 100.0 us (75.0 %).");
    begin(&a, "ops");
    row(&a, "categories", "rank=0 op_category=GEMM total_direct_kernel_time_ms=3");
    show(&a, "categories");
    expect(&a, "GEMM launches the most GPU time: 3.000 ms of 3.000 ms (100.0 %).");
    begin(&a, "ops");
    row(&a, "host", "rank=0 name=aten::item self_us=9");
    show(&a, "host");
    expect(&a, "aten::item takes the most host time of its own: 9.000 us of 9.000 us (100.0 %).");
}

TEST(test_annotations)
{
    answer a;
    begin(&a, "annotations");
    row(&a, "annotations", "rank=0 name=forward own_us=60");
    row(&a, "annotations", "rank=0 own_us=40");
    expect(
        &a,
        "forward holds the most GPU time: 60.00 us of 100.0 us (60.0 %), nested ones left out; 40.0 % is under none.");
    begin(&a, "annotations");
    row(&a, "annotations", "rank=0 own_us=40");
    expect(&a, "No GPU time is under an annotation.");
}

TEST(test_modules)
{
    answer a;
    begin(&a, "modules");
    row(&a, "modules", "rank=0 module=Linear own_us=30");
    row(&a, "modules", "rank=0 module=(unlinked) own_us=70");
    row(&a, "phases", "rank=0 phase=forward gpu_us=75");
    row(&a, "phases", "rank=0 phase=recompute gpu_us=25");
    expect(
        &a,
        "Linear has the most GPU time of its own: 30.00 us of 100.0 us (30.0 %); 25.0 % is computed again.");
    begin(&a, "modules");
    row(&a, "modules", "rank=0 module=(unlinked) own_us=70");
    expect(&a, "No GPU time is below a module: record with_modules=True.");
}

TEST(test_sequences)
{
    answer a;
    begin(&a, "sequences");
    row(&a, "sequences", "rank=0 pattern=a|b count=9 kernels=9 gpu_us=10");
    row(&a, "sequences", "rank=3 pattern=a|c count=1 kernels=2 gpu_us=30");
    expect(
        &a,
        "2 patterns of GPU work; the one with the most GPU time, 30.00 us on rank 3, is launched 1 time, 2 pieces in all.");
}

TEST(test_timeline)
{
    answer a;
    begin(&a, "timeline");
    for (int rank = 0; rank < 2; rank++) {
        row(&a, "timeline", "type=computation_time time_ms=50");
        row(&a, "timeline", "type=exposed_comm_time time_ms=30");
        row(&a, "timeline", "type=exposed_memcpy_time time_ms=15");
        row(&a, "timeline", "type=idle_time time_ms=5");
        row(&a, "timeline", "type=total_time time_ms=100");
    }
    expect(
        &a,
        "GPUs compute for 50.0 % of the time; exposed communication takes 30.0 %, exposed copies 15.0 %, and 5.0 % is idle.");
}

/* Means count as often as what they are of. */
TEST(test_delays)
{
    answer a;
    begin(&a, "delays");
    row(&a, "delays", "operators=1 launches=3 mean_op_delay_us=4 mean_launch_delay_us=100 mean_queued_us=90");
    row(&a, "delays", "operators=3 launches=1 mean_op_delay_us=8 mean_launch_delay_us=20 mean_queued_us=2");
    expect(
        &a,
        "Work starts 80.00 us after its launch on average, 68.00 us of it waiting in its stream: the host is ahead of "
        "the GPU. Operators launch 7.000 us after their start on average.");
    begin(&a, "delays");
    row(&a, "sequences", "occurrence_count=2 mean_launch_delay_us=20 mean_queued_us=2");
    show(&a, "sequences");
    expect(
        &a,
        "Work starts 20.00 us after its launch on average, 2.000 us of it waiting in its stream: the GPU waits for "
        "launches.");
}

TEST(test_variance)
{
    answer a;
    begin(&a, "variance");
    row(&a, "variance", "rank=0 name=gemm sum_us=900 above_median_us=10");
    row(&a, "variance", "rank=1 name=add sum_us=100 above_median_us=40");
    row(&a, "ranks", "rank=0 ratio=1");
    row(&a, "ranks", "rank=1 ratio=1.5");
    expect(
        &a,
        "Runs that take longer than the median of their kind do so by 50.00 us, 5.0 % of the GPU time, most of it in "
        "add. Rank 1 takes 1.50 times as long as the median rank for the same work.");
    begin(&a, "variance");
    row(&a, "variance", "rank=0 name=gemm sum_us=900 above_median_us=0");
    row(&a, "ranks", "rank=0 ratio=1");
    row(&a, "ranks", "rank=1 ratio=1.04");
    expect(
        &a,
        "Runs that take longer than the median of their kind do so by 0 ns, 0.0 % of the GPU time. No rank is 5 % "
        "slower than the median one at the same work.");
}

TEST(test_exchange)
{
    answer a;
    begin(&a, "exchange");
    row(&a, "ranks", "rank=0 sent_bytes=1048576 vs_mean=0.5 unknown=0");
    row(&a, "ranks", "rank=1 sent_bytes=1048576 vs_mean=1.5 unknown=2");
    expect(
        &a,
        "All-to-alls send 2.00 MiB in all; rank 1 receives the most, 1.50 times the mean of the ranks. The sizes of 2 "
        "more are not known.");
    begin(&a, "exchange");
    row(&a, "ranks", "rank=0 sent_bytes=1048576 vs_mean=1.1");
    expect(
        &a,
        "All-to-alls send 1.00 MiB in all; no rank receives 1.2 times the mean of the ranks: no problem found.");
    begin(&a, "exchange");
    row(&a, "ranks", "rank=0 unknown=7");
    expect(&a, "The sizes of 7 all-to-alls are not known: the traces do not hold them.");
}

TEST(test_regress)
{
    answer a;
    begin(&a, "regress");
    row(&a, "verdict",
        "verdict=slower base_us=50000 new_us=60000 change_pct=20 low_pct=15 high_pct=25 smallest_visible_pct=2");
    expect(
        &a,
        "The new side is slower: a step takes 60.00 ms after 50.00 ms (+20.0 %, between 15.0 and 25.0 %). The least "
        "change that these runs can show is 2.0 %.");
    begin(&a, "regress");
    row(&a, "verdict", "verdict=same base_us=50000 new_us=50000 change_pct=0");
    expect(
        &a,
        "No problem found: the new side is as fast as the base; a step takes 50.00 ms after 50.00 ms (+0.0 %).");
    begin(&a, "regress");
    row(&a, "verdict", "verdict=undecided reason=few");
    expect(&a, "Undecided. Why: few.");
}

static void put_totals(answer *a, const char *step_b, const char *compute_b, const char *comm_b)
{
    char text[200];
    begin(a, "diff");
    row(a, "totals", "metric=steps a=10 b=10");
    snprintf(text, sizeof text, "metric=mean_step_us a=50000 b=%s", step_b);
    row(a, "totals", text);
    snprintf(text, sizeof text, "metric=compute_us a=300000 b=%s", compute_b);
    row(a, "totals", text);
    snprintf(text, sizeof text, "metric=exposed_comm_us a=200000 b=%s", comm_b);
    row(a, "totals", text);
}

/* The rank that changed by more than the others is named, with what they did; where all did the same none is. */
TEST(test_diff)
{
    answer a;
    put_totals(&a, "60000", "320000", "280000");
    row(&a, "ranks", "rank=0 span_diff_us=10000 compute_diff_us=-100 exposed_comm_diff_us=10100");
    row(&a, "ranks",
        "rank=1 span_diff_us=10000 compute_diff_us=9000 exposed_comm_diff_us=1000 kernel=gemm kernel_diff_us=8000");
    row(&a, "ranks", "rank=2 span_diff_us=10000 compute_diff_us=100 exposed_comm_diff_us=9900");
    expect(
        &a,
        "A step takes 10.00 ms longer in B, 60.00 ms after 50.00 ms (+20.0 %): computation +2.00 ms, exposed "
        "communication +8.00 ms. Rank 1 computes 9.000 ms longer a step (the other ranks -0.10 ms to +0.10 ms), and "
        "their communication, waits for it included, changes by +10.00 ms on average. gemm changed most there: +8.00 "
        "ms a step. Whether it is more than chance needs several runs a side (regress).");
    put_totals(&a, "60000", "400000", "200000");
    row(&a, "ranks", "rank=0 compute_diff_us=10000 kernel=flash kernel_diff_us=9000");
    row(&a, "ranks", "rank=1 compute_diff_us=10100 kernel=flash kernel_diff_us=9000");
    expect(
        &a,
        "A step takes 10.00 ms longer in B, 60.00 ms after 50.00 ms (+20.0 %): computation +10.00 ms. flash changed "
        "most: +9.00 ms a step. Whether it is more than chance needs several runs a side (regress).");
    put_totals(&a, "60000 diff_low=8000 diff_high=12000", "300000", "300000");
    row(&a, "ranks",
        "rank=0 span_diff_us=10000 compute_diff_us=0 idle_diff_us=100 exposed_comm_diff_us=9900");
    row(&a, "ranks",
        "rank=1 span_diff_us=10000 compute_diff_us=50 idle_diff_us=9900 exposed_comm_diff_us=100");
    row(&a, "ranks", "rank=2 span_diff_us=10000 compute_diff_us=0 idle_diff_us=0 exposed_comm_diff_us=10000");
    expect(
        &a,
        "A step takes 10.00 ms longer in B, 60.00 ms after 50.00 ms (+20.0 %; 95 % CI of these steps +8.00 ms to +12.00 "
        "ms): exposed communication +10.00 ms. Rank 1's GPU is idle 9.900 ms longer a step (the other ranks +0.00 ms to "
        "+0.10 ms), and their communication, waits for it included, changes by +9.95 ms on average. Whether it is more "
        "than chance needs several runs a side (regress).");
    put_totals(&a, "50100", "300000", "201000");
    expect(&a, "A step takes as long in B as in A: 50.10 ms and 50.00 ms (+0.2 %).");
}

/* A sentence for which memory does not do is an error, never half a sentence. */
TEST(test_memory_runs_out)
{
    const rs_face *face = rs_face_find("kernels", "");
    answer a;
    begin(&a, "kernels");
    row(&a, "kernels", "rank=0 name=gemm sum_us=300");
    for (uint64_t n = 1;; n++) {
        rs_text text = {0};
        rs_test_fail_allocation(n);
        face->headline(&a.result, &text);
        bool failed = rs_test_fail_allocation(0) >= n;
        assert_int_equal(rs_text_get(&text) == NULL, failed);
        rs_text_clear(&text);
        if (!failed) break;
    }
    for (size_t i = 0; i < a.result.n_tables; i++) rs_table_free(a.tables[i]);
}
