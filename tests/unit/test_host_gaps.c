/* What the host did between its calls; times below are in microseconds. */

#include "base/memory.h"
#include "builder.h"
#include "trace/host_gaps.h"
#include "trace/selection.h"
#include "unit.h"

#define US 1000

static void add(builder *b, const char *category, const char *name, int64_t thread, int64_t from, int64_t to)
{
    add_row(b, 'X', category, name, 1, thread, from * US, (to - from) * US);
}

static void launch(builder *b, int64_t thread, int64_t from, int64_t to, int64_t correlation)
{
    add(b, "cuda_runtime", "cudaLaunchKernel", thread, from, to);
    add_arg(b, RS_COL_CORRELATION, correlation);
    add_kernel(b, "k", 0, 7, to * US, 5 * US, correlation);
}

/* Thread 1 launches at 0, 5000, 5900 (no gap) and 9000; thread 2 ends the gap from 9010 to 13000. */
static builder make_job(void)
{
    builder b = builder_create();
    launch(&b, 1, 0, 10, 1);
    launch(&b, 1, 5000, 5010, 2);
    launch(&b, 1, 5900, 5910, 3);
    launch(&b, 1, 9000, 9010, 4);
    launch(&b, 2, 13000, 13010, 5);
    /* in the gap from 10 to 5000: an annotation with a call of the system in it, of which the annotation keeps 700 */
    add(&b, "user_annotation", "outer", 1, 1000, 3000);
    add(&b, "os_call", "poll", 1, 1500, 2800);
    add(&b, "off_cpu", "off CPU", 1, 1600, 2600);
    add(&b, "cpu_sample", "f (python)", 1, 1100, 1100);
    add(&b, "cpu_sample", "f (python)", 1, 1200, 1200);
    add(&b, "cpu_sample", "in no gap", 1, 5, 5);
    /* reaches over the call at 5000 into what is no gap */
    add(&b, "cpu_op", "aten::item", 1, 4000, 5500);
    /* the gap from 5910 to 9000 is loading but for its last 90 */
    add(&b, "user_annotation", "enumerate(DataLoader)#_Iter.__next__", 1, 5905, 8910);
    add(&b, "os_call", "read", 1, 6000, 8000);
    /* what thread 1 does while thread 2 ends the gap says nothing, nor does a thread that launches nothing */
    add(&b, "os_call", "sem_wait", 1, 10000, 12000);
    add(&b, "python_function", "train.py(3): step", 2, 10000, 12000);
    add(&b, "os_call", "futex", 3, 10, 12000);
    add(&b, "cuda_runtime", "cudaEventQuery", 3, 11000, 11010);
    return b;
}

static const rs_host_gap_row *find(const rs_host_gaps *g, const rs_events *e, const char *name)
{
    for (size_t i = 0; i < g->n; i++) {
        const char *text = g->rows[i].name == RS_NO_STRING ? "" : e->strings.items[g->rows[i].name].text;
        if (strcmp(text, name) == 0) return &g->rows[i];
    }
    return NULL;
}

static void expect(const rs_host_gaps *g, const rs_events *e, const char *name, rs_host_doing what,
                   int64_t us, uint64_t n)
{
    const rs_host_gap_row *row = find(g, e, name);
    if (!row) fail_msg("no row of '%s'", name);
    assert_int_equal(row->what, what);
    assert_int_equal(row->ns, us * US);
    assert_int_equal(row->n, n);
}

TEST(test_gaps)
{
    builder b = make_job();
    rs_trace t;
    const rs_host_gaps *g;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_trace_init(&t, b.e, NULL, b.e->n);
    assert_int_equal(rs_trace_host_gaps(&t, &policy, &g, NULL), RS_OK);
    assert_int_equal(g->span, 13000 * US);
    assert_int_equal(g->n_gaps, 3);
    assert_int_equal(g->gaps[2].start, 9010 * US);
    assert_int_equal(g->gaps[2].end, 13000 * US);
    assert_int_equal(g->loading, 3000 * US);
    assert_int_equal(g->elsewhere, (4990 + 90 + 3990) * US);
    assert_int_equal(g->n_samples, 2);
    assert_int_equal(g->n, 7);
    expect(g, b.e, "outer", RS_DOING_ANNOTATION, 700, 2);
    expect(g, b.e, "poll", RS_DOING_OS_CALL, 1300, 1);
    expect(g, b.e, "off CPU", RS_DOING_OFF_CPU, 1000, 1);
    expect(g, b.e, "f (python)", RS_DOING_SAMPLE, 0, 2);
    expect(g, b.e, "aten::item", RS_DOING_OPERATOR, 1000, 1);
    expect(g, b.e, "train.py(3): step", RS_DOING_PYTHON, 2000, 1);
    expect(g, b.e, "", RS_DOING_UNKNOWN, 990 + 1000 + 90 + 1990, 5);
    for (size_t i = 1; i < g->n; i++) assert_true(g->rows[i - 1].ns >= g->rows[i].ns);
    rs_trace_clear(&t);
    rs_events_free(b.e);
}

/* Of a selection: the gaps that its calls end. */
TEST(test_selection)
{
    builder b = make_job();
    rs_trace t;
    const rs_host_gaps *g;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    const rs_selection window = {.by_window = true, .from = 8950 * US, .to = 20000 * US};
    rs_trace_init(&t, b.e, NULL, b.e->n);
    t.selection = &window;
    assert_int_equal(rs_trace_host_gaps(&t, &policy, &g, NULL), RS_OK);
    assert_int_equal(g->n_gaps, 1);
    assert_int_equal(g->span, 4000 * US);
    assert_int_equal(g->elsewhere, 3990 * US);
    rs_trace_clear(&t);
    rs_events_free(b.e);
}

TEST(test_nothing)
{
    builder b = builder_create();
    rs_trace t;
    const rs_host_gaps *g;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    launch(&b, 1, 0, 10, 1);
    rs_trace_init(&t, b.e, NULL, b.e->n);
    assert_int_equal(rs_trace_host_gaps(&t, &policy, &g, NULL), RS_OK);
    assert_int_equal(g->span + g->elsewhere + g->loading, 0);
    assert_int_equal(g->n_gaps, 0);
    assert_int_equal(g->n, 0);
    rs_trace_clear(&t);
    rs_events_free(b.e);
}

/* Gaps of which nothing else is known. */
TEST(test_calls_alone)
{
    builder b = builder_create();
    rs_trace t;
    const rs_host_gaps *g;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    launch(&b, 1, 0, 10, 1);
    launch(&b, 1, 5000, 5010, 2);
    rs_trace_init(&t, b.e, NULL, b.e->n);
    assert_int_equal(rs_trace_host_gaps(&t, &policy, &g, NULL), RS_OK);
    assert_int_equal(g->elsewhere, 4990 * US);
    assert_int_equal(g->n, 1);
    expect(g, b.e, "", RS_DOING_UNKNOWN, 4990, 1);
    rs_trace_clear(&t);
    rs_events_free(b.e);
}

TEST(test_every_allocation_may_fail)
{
    builder b = make_job();
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_status status = RS_ERR_NOMEM;
    uint64_t k = 0;
    while (status != RS_OK) {
        rs_trace t;
        const rs_host_gaps *g;
        rs_trace_init(&t, b.e, NULL, b.e->n);
        rs_test_fail_allocation(++k);
        status = rs_trace_host_gaps(&t, &policy, &g, NULL);
        rs_test_fail_allocation(0);
        assert_true(status == RS_OK || status == RS_ERR_NOMEM);
        rs_trace_clear(&t);
    }
    assert_true(k > 10);
    rs_events_free(b.e);
}
