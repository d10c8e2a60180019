/* whatif on tables of operations: small jobs against a count by hand, damaged tables, the peer's rules. */
#include "support.h"

#include <math.h>

#include "analysis/whatif.h"
#include "base/memory.h"
#include "engine/ops.h"
#include "format/op_table.h"
#include "rankscope/job.h"
#include "peers.h"

#define HEAD                                                                                                 \
    "# rankscope-ops 1 unit=s dp=2 dsp=1 pp=1 tp=1 vpp=1\nstep,dp,stage,rank,op,seq,mb,mc,start,duration\n"

/* One stage, two data ranks, the second computes twice as long: a step of 105 ms.
 * gather 0-10; rank 0 computes 10-30-50 and waits in the scatter, rank 1 10-50-90; scatter to 100, optimizer. */
#define TWO_RANKS_OF(one, two)                                                                               \
    "5,0,0,0,params-all-gather,0,-1,0,0,0.01\n"                                                              \
    "5,1,0,1,params-all-gather,0,-1,0,0,0.01\n"                                                              \
    "5,0,0,0,forward-compute,0,0,0,0.01," one "\n"                                                           \
    "5,1,0,1,forward-compute,0,0,0,0.01," two "\n"                                                           \
    "5,0,0,0,backward-compute,0,0,0,0.03,0.02\n"                                                             \
    "5,1,0,1,backward-compute,0,0,0,0.05,0.04\n"                                                             \
    "5,0,0,0,grads-reduce-scatter,0,-1,0,0.05,0.05\n"                                                        \
    "5,1,0,1,grads-reduce-scatter,0,-1,0,0.09,0.01\n"                                                        \
    "5,0,0,0,optimizer,0,-1,-1,0.1,0.005\n"                                                                  \
    "5,1,0,1,optimizer,0,-1,-1,0.1,0.005\n"
#define TWO_RANKS TWO_RANKS_OF("0.02", "0.04")

/* Two stages, one micro batch: forward 0-10, transfer to 12, forward to 22, backward to 42, transfer to 44,
 * backward to 64, optimizer to 65. */
#define TWO_STAGES                                                                                           \
    "1,0,0,0,forward-compute,0,0,0,0,0.01\n"                                                                 \
    "1,0,0,0,forward-send,0,-1,-1,0.01,0.002\n"                                                              \
    "1,0,1,1,forward-recv,0,-1,-1,0,0.012\n"                                                                 \
    "1,0,1,1,forward-compute,0,0,0,0.012,0.01\n"                                                             \
    "1,0,1,1,backward-compute,0,0,0,0.022,0.02\n"                                                            \
    "1,0,1,1,backward-send,0,-1,-1,0.042,0.002\n"                                                            \
    "1,0,0,0,backward-recv,0,-1,-1,0.01,0.034\n"                                                             \
    "1,0,0,0,backward-compute,0,0,0,0.044,0.02\n"                                                            \
    "1,0,0,0,optimizer,0,-1,-1,0.064,0.001\n"                                                                \
    "1,0,1,1,optimizer,0,-1,-1,0.042,0.001\n"

typedef struct answer {
    rs_status status;
    rs_error err;
    rs_result result;
} answer;

static answer ask_for(const char *input, rs_compat compat, const char *option, const char *value,
                      const char *steps)
{
    answer a = {.err = RS_ERROR_INIT};
    const rs_analysis *whatif = rs_analysis_find("whatif");
    rs_options *options;
    rs_job *job;
    size_t n;
    const rs_option_spec *specs = rs_analysis_options(whatif, &n);
    const rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1, .steps = steps};
    assert_int_equal(rs_options_create(specs, n, &options, NULL), RS_OK);
    if (value) assert_int_equal(rs_options_set(options, option, value, NULL), RS_OK);
    assert_int_equal(rs_job_open_bytes(input, strlen(input), "ops", &settings, &job, NULL), RS_OK);
    a.status = rs_job_run(job, whatif, options, compat, &a.result, &a.err);
    rs_job_close(job);
    rs_options_free(options);
    return a;
}

static answer ask(const char *input, rs_compat compat, const char *scale, const char *steps)
{
    return ask_for(input, compat, "scale", scale, steps);
}

static size_t column(const rs_table *t, const char *name)
{
    const rs_table_spec *spec = rs_table_get_spec(t);
    for (size_t i = 0; i < spec->n_columns; i++)
        if (strcmp(spec->columns[i].name, name) == 0) return i;
    fail_msg("no column %s", name);
    return 0;
}

static void is(const answer *a, const char *table, size_t row, const char *name, double expected)
{
    const rs_table *t = rs_result_table(&a->result, table);
    assert_non_null(t);
    double got = rs_table_real(t, row, column(t, name));
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected) + 1e-12))
        fail_msg("%s.%s, row %zu: %.12g, not %.12g", table, name, row, got, expected);
}

static void good(const answer *a)
{
    char line[2048];
    if (a->status != RS_OK) fail_msg("%s", rs_error_text(&a->err, line, sizeof line));
}

static void done(answer *a)
{
    rs_result_clear(&a->result);
}

static void test_two_ranks(void **state)
{
    (void)state;
    answer a = ask(HEAD TWO_RANKS, RS_COMPAT_NONE, NULL, NULL);
    good(&a);
    is(&a, "whatif", 0, "actual_us", 105000);
    is(&a, "whatif", 0, "replayed_us", 105000);
    is(&a, "whatif", 0, "ideal_us", 85000); /* 10 + 30 + 30 + 10 + 5 */
    is(&a, "whatif", 0, "slowdown", 105.0 / 85);
    is(&a, "whatif", 0, "m_w", 1);
    is(&a, "whatif", 0, "m_s", 1);
    is(&a, "whatif", 0, "delay_slowdown", 1);
    is(&a, "dp_ranks", 0, "slowdown", 1);
    is(&a, "dp_ranks", 1, "slowdown", 105.0 / 85);
    is(&a, "workers", 1, "slowdown", 105.0 / 85);
    is(&a, "workers", 1, "slowest", 1);
    is(&a, "workers", 0, "slowest", 0);
    is(&a, "kinds", 0, "slowdown", 95.0 / 85); /* backward-compute: 40 instead of 30 */
    is(&a, "balances", 0, "ideal_us", 105000);
    is(&a, "scales", 1, "speedup", 105.0 / 85); /* neither gather nor scatter */
    is(&a, "parts", 0, "t_removed_us", 85000);
    is(&a, "parts", 0, "t_added_us", 105000);
    done(&a);
}

/* Of one stage every worker is in the last: also where the first is the slow one. */
static void test_slow_first_worker(void **state)
{
    (void)state;
    answer a = ask(
        HEAD "5,0,0,0,params-all-gather,0,-1,0,0,0.01\n5,1,0,1,params-all-gather,0,-1,0,0,0.01\n"
             "5,0,0,0,forward-compute,0,0,0,0.01,0.04\n5,1,0,1,forward-compute,0,0,0,0.01,0.02\n"
             "5,0,0,0,grads-reduce-scatter,0,-1,0,0.05,0.01\n5,1,0,1,grads-reduce-scatter,0,-1,0,0.03,0.03\n",
        RS_COMPAT_NONE, NULL, NULL);
    good(&a);
    is(&a, "whatif", 0, "replayed_us", 60000);
    is(&a, "whatif", 0, "ideal_us", 50000);
    is(&a, "whatif", 0, "m_s", 1);
    is(&a, "whatif", 0, "m_w", 1);
    is(&a, "workers", 0, "slowest", 1);
    is(&a, "workers", 1, "slowdown", 1);
    done(&a);
}

static void test_two_stages(void **state)
{
    (void)state;
    answer a = ask(HEAD TWO_STAGES, RS_COMPAT_NONE, "stage:1=0.5,rank:0=2", NULL);
    good(&a);
    is(&a, "whatif", 0, "replayed_us", 65000);
    is(&a, "whatif", 0, "slowdown", 1);
    is(&a, "scales", 0, "speedup", 65.0 / 61);
    is(&a, "scales", 2, "speedup", 65.0 / 49); /* 10 1 5 10 2 20 1 */
    is(&a, "scales", 3, "speedup", 65.0 / 98); /* 20 2 10 20 4 40 2 */
    const rs_table *delays = rs_result_table(&a.result, "delays");
    assert_int_equal(rs_table_n_rows(delays),
                     6 + 1 + 2); /* six kinds, first-op among them, one data rank, two stages */
    done(&a);
}

/* Gradients of embeddings, and the norm of all, are reduced over the stages: the second stage, which is done at 44, waits for the first, and its
 * longer optimizer ends the step. */
static void test_stages_reduce(void **state)
{
    (void)state;
    static const char stages[] = TWO_STAGES;
    static const struct {
        const char *name;
        double at, second_at; /* s: of the reduction of the first stage, and when the second comes to it */
    } cases[] = {{"embedding-grads-all-reduce", 0.064, 0.044}, {"optimizer-clip-main-grad", 0.064, 0.044}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char input[2000];
        const char *two = strstr(stages, "1,0,0,0,optimizer");
        snprintf(input, sizeof input,
                 HEAD "%.*s1,0,0,0,%s,0,-1,-1,%g,0.003\n1,0,1,1,%s,0,-1,-1,%g,%g\n"
                      "1,0,0,0,optimizer,0,-1,-1,0.067,0.001\n1,0,1,1,optimizer,0,-1,-1,0.067,0.01\n",
                 (int)(two - stages), stages, cases[i].name, cases[i].at, cases[i].name, cases[i].second_at,
                 cases[i].at + 0.003 - cases[i].second_at);
        answer a = ask(input, RS_COMPAT_NONE, "stage:0=2", NULL);
        good(&a);
        is(&a, "whatif", 0, "actual_us", 77000);
        is(&a, "whatif", 0, "replayed_us", 77000);
        is(&a, "scales", 2, "speedup", 77.0 / 109); /* 20 2 10 20 4 40 3 10 */
        done(&a);
    }
}

/* The peer's rules: what is negative above -10 ms stays, and data rank 0 tells the order of all. */
static void test_peer(void **state)
{
    (void)state;
    NEEDS_PEERS();
    answer a = ask(HEAD TWO_RANKS, RS_COMPAT_STRAGGLER_ANALYSIS, NULL, NULL);
    good(&a);
    const rs_table *t = rs_result_table(&a.result, "whatif");
    double got = rs_table_real(t, 0, column(t, "slowdown"));
    assert_true(fabs(got - 105.0 / 85) < 1e-6);
    assert_true(got != 105.0 / 85); /* 32-bit floats */
    is(&a, "workers", 0, "slowdown", 1);
    done(&a);
}

static size_t count_kind(const answer *a, const char *kind, const char *detail)
{
    for (size_t i = 0; i < a->result.problems.n; i++) {
        const rs_problem *p = &a->result.problems.items[i];
        if (strcmp(p->kind, kind) != 0) continue;
        if (detail && (!p->detail || !strstr(p->detail, detail)))
            fail_msg("%s: detail \"%s\", not \"%s\"", kind, p->detail ? p->detail : "", detail);
        return (size_t)p->count;
    }
    return 0;
}

#define SIX                                                                                                  \
    "6,0,0,0,params-all-gather,0,-1,0,0,0.01\n"                                                              \
    "6,1,0,1,params-all-gather,0,-1,0,0,0.01\n"                                                              \
    "6,0,0,0,forward-compute,0,0,0,0.01,0.02\n"                                                              \
    "6,1,0,1,forward-compute,0,0,0,0.01,0.04\n"                                                              \
    "6,0,0,0,backward-compute,0,0,0,0.03,0.02\n"                                                             \
    "6,1,0,1,backward-compute,0,0,0,0.05,0.04\n"                                                             \
    "6,0,0,0,grads-reduce-scatter,0,-1,0,0.05,0.05\n"                                                        \
    "6,1,0,1,grads-reduce-scatter,0,-1,0,0.09,0.01\n"                                                        \
    "6,0,0,0,optimizer,0,-1,-1,0.1,0.005\n"

/* Forwards end 10 ms before they start: to the study a step is 10 ms shorter than to us, who take them for nothing. */
static void test_negative_durations(void **state)
{
    (void)state;
    answer a = ask(HEAD TWO_RANKS_OF("-0.01", "-0.01"), RS_COMPAT_NONE, NULL, NULL);
    good(&a);
    is(&a, "whatif", 0, "replayed_us", 65000); /* 10 + 0 + 40 + 10 + 5 */
    assert_int_equal(count_kind(&a, "negative_duration", NULL), 2);
    done(&a);
    if (!has_peers()) return;
    a = ask(HEAD TWO_RANKS_OF("-0.01", "-0.01"), RS_COMPAT_STRAGGLER_ANALYSIS, NULL, NULL);
    good(&a);
    const rs_table *t = rs_result_table(&a.result, "whatif");
    assert_true(fabs(rs_table_real(t, 0, column(t, "replayed_us")) - 55000) < 1);
    assert_int_equal(count_kind(&a, "negative_duration", NULL), 0);
    done(&a);
}

static void test_gaps(void **state)
{
    (void)state;
    /* step 6 lacks the optimizer of data rank 1 */
    answer a = ask(HEAD TWO_RANKS SIX, RS_COMPAT_NONE, NULL, NULL);
    good(&a);
    assert_int_equal(
        count_kind(&a, "incomplete_step", "step 6, data rank 1: optimizer 0 of stage 0 is missing"), 1);
    is(&a, "whatif", 0, "steps", 1);
    done(&a);
    /* whole, but with one operation that no other step has, and one recorded twice */
    a = ask(HEAD TWO_RANKS SIX "6,1,0,1,optimizer,0,-1,-1,0.1,0.005\n6,1,0,1,gc,0,0,-1,0.09,0\n",
            RS_COMPAT_NONE, NULL, NULL);
    good(&a);
    is(&a, "whatif", 0, "steps", 1);
    assert_int_equal(count_kind(&a, "incomplete_step", "missing in most others"), 1);
    done(&a);
    a = ask(HEAD TWO_RANKS SIX "6,1,0,1,optimizer,0,-1,-1,0.1,0.005\n6,1,0,1,optimizer,0,-1,-1,0.1,0.006\n",
            RS_COMPAT_NONE, NULL, NULL);
    good(&a);
    is(&a, "whatif", 0, "steps", 1);
    assert_int_equal(count_kind(&a, "incomplete_step", "recorded twice"), 1);
    done(&a);
    /* whole: both count; one can be selected */
    a = ask(HEAD TWO_RANKS SIX "6,1,0,1,optimizer,0,-1,-1,0.1,0.005\n", RS_COMPAT_NONE, NULL, NULL);
    good(&a);
    is(&a, "whatif", 0, "steps", 2);
    assert_int_equal(a.result.problems.n, 0);
    done(&a);
    a = ask(HEAD TWO_RANKS SIX "6,1,0,1,optimizer,0,-1,-1,0.1,0.005\n", RS_COMPAT_NONE, NULL, "6-9");
    good(&a);
    is(&a, "steps", 0, "step", 6);
    is(&a, "whatif", 0, "steps", 1);
    done(&a);
}

static void refused(const char *input, rs_status status, const char *scale, const char *steps,
                    const char *why)
{
    char line[2048];
    answer a = ask(input, RS_COMPAT_NONE, scale, steps);
    if (a.status != status || !strstr(rs_error_text(&a.err, line, sizeof line), why))
        fail_msg("%d, %s\nnot %d, %s", a.status, a.status ? line : "ok", status, why);
    done(&a);
}

static void test_refused(void **state)
{
    (void)state;
    refused("", RS_ERR_FORMAT, NULL, NULL, "is empty");
    refused("# rankscope-ops 2 unit=s\n", RS_ERR_FORMAT, NULL, NULL, "line 1: this version");
    refused("# rankscope-ops 1 unit=ms\n", RS_ERR_FORMAT, NULL, NULL, "unit=s");
    refused("# rankscope-ops 1 unit=s dsp=0\n", RS_ERR_FORMAT, NULL, NULL, "dsp");
    refused("# rankscope-ops 1 unit=s\nstep,dp\n", RS_ERR_FORMAT, NULL, NULL, "line 2: the header");
    refused(HEAD, RS_ERR_FORMAT, NULL, NULL, "no operation");
    refused(HEAD TWO_RANKS, RS_ERR_USAGE, NULL, "7", "complete steps of ops are 5 to 5");
    refused(HEAD TWO_RANKS, RS_ERR_USAGE, "rank:9=1", NULL, "no such thing");
    refused(HEAD TWO_RANKS, RS_ERR_USAGE, "host:0=1", NULL, "no such thing");
    refused(HEAD TWO_RANKS, RS_ERR_USAGE, "bogus=1", NULL, "no such thing");
    refused(HEAD TWO_RANKS, RS_ERR_USAGE, "gc", NULL, "WHAT=FACTOR");
    refused(HEAD TWO_RANKS, RS_ERR_USAGE, "gc=-1", NULL, "WHAT=FACTOR");
    refused(HEAD "5,0,0,0,gc,0,0,-1,0,0\n5,1,1,0,gc,0,0,-1,0,0\n", RS_ERR_FORMAT, NULL, NULL, "stage 0");
    /* a middle stage must receive what it computes */
    refused(HEAD "1,0,0,0,forward-compute,0,0,0,0,1\n1,0,0,0,forward-send,0,-1,-1,1,1\n"
                 "1,0,1,1,forward-compute,0,0,0,2,1\n1,0,2,2,forward-compute,0,0,0,4,1\n"
                 "1,0,2,2,forward-recv,0,-1,-1,0,4\n",
            RS_ERR_FORMAT, NULL, NULL, "stage 1: 0 forward-send for 1 computations");
    refused(HEAD "1,0,0,0,forward-compute,0,0,0,0,1\n1,0,0,0,forward-send,0,-1,-1,1,1\n"
                 "1,0,1,1,forward-compute,0,0,0,2,1\n",
            RS_ERR_FORMAT, NULL, NULL, "meet 0 forward-recv");
}

static void test_bad_lines(void **state)
{
    (void)state;
    static const struct {
        const char *line, *why;
    } lines[] = {{"5,0,0,0,gc,0,0,-1,0\n", "ten fields"},  {"5,0,0,0,gc,0,0,-1,0,0,0\n", "ten fields"},
                 {"5,0,0,0,gx,0,0,-1,0,0\n", "kind"},      {"x,0,0,0,gc,0,0,-1,0,0\n", "step"},
                 {"-5,0,0,0,gc,0,0,-1,0,0\n", "step"},     {"5,-1,0,0,gc,0,0,-1,0,0\n", "data rank"},
                 {"5,0,70000,0,gc,0,0,-1,0,0\n", "stage"}, {"5,0,0,-1,gc,0,0,-1,0,0\n", "rank"},
                 {"5,0,0,0,gc,-1,0,-1,0,0\n", "seq"},      {"5,0,0,0,gc,0,-2,-1,0,0\n", "micro batch"},
                 {"5,0,0,0,gc,0,0,x,0,0\n", "chunk"},      {"5,0,0,0,gc,0,0,-1,1e300,0\n", "start"},
                 {"5,0,0,0,gc,0,0,-1,nan,0\n", "start"},   {"5,0,0,0,gc,0,0,-1,0,-1e10\n", "duration"},
                 {"5,0,0,0,gc,0,0,-1,0,", "duration"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char input[4096], expected[64];
        snprintf(input, sizeof input, HEAD TWO_RANKS "%s", lines[i].line);
        snprintf(expected, sizeof expected, "line 13: ");
        answer a = ask(input, RS_COMPAT_NONE, NULL, NULL);
        good(&a);
        assert_int_equal(count_kind(&a, "bad_operation", expected), 1);
        count_kind(&a, "bad_operation", lines[i].why);
        is(&a, "whatif", 0, "slowdown", 105.0 / 85);
        done(&a);
    }
}

/* Every prefix of a table and of a timeline is a table or refused. */
static void test_prefixes(void **state)
{
    (void)state;
    static const char table[] = HEAD TWO_STAGES;
    static const char timeline[] =
        "[{\"name\":\"gc\",\"ph\":\"X\",\"pid\":0,\"tid\":4,\"ts\":5,\"dur\":2.5,\"args\":{\"step\":3,"
        "\"model_chunk\":-1,\"mb_id\":0,\"seq_id\":0}},{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,"
        "\"tid\":4,\"args\":{\"name\":\"PP rank 0, TP rank 0, misc\"}}]";
    const char *const texts[] = {table, timeline};
    for (size_t k = 0; k < 2; k++)
        for (size_t n = 0; n <= strlen(texts[k]); n++) {
            char input[2048];
            snprintf(input, sizeof input, "%.*s", (int)n, texts[k]);
            answer a = ask(input, RS_COMPAT_NONE, NULL, NULL);
            assert_true(a.status == RS_OK || a.status == RS_ERR_FORMAT);
            done(&a);
        }
    answer a = ask(timeline, RS_COMPAT_NONE, NULL, NULL);
    good(&a);
    is(&a, "whatif", 0, "actual_us", 2.5);
    is(&a, "steps", 0, "step", 3);
    done(&a);
}

/* Data rank 1 runs its two micro batches the other way round: its own order is replayed, the peer's is not. */
static void test_own_order(void **state)
{
    (void)state;
    NEEDS_PEERS();
    static const char input[] = HEAD "1,0,0,0,forward-compute,0,0,0,0,0.01\n"
                                     "1,0,0,0,backward-compute,0,0,0,0.01,0.02\n"
                                     "1,1,0,1,forward-compute,0,0,0,0.02,0.01\n"
                                     "1,1,0,1,backward-compute,0,0,0,0,0.02\n";
    answer a = ask(input, RS_COMPAT_NONE, NULL, NULL);
    good(&a);
    assert_int_equal(count_kind(&a, "other_order", "1 of 2"), 1);
    is(&a, "whatif", 0, "replayed_us", 30000);
    done(&a);
    a = ask(input, RS_COMPAT_STRAGGLER_ANALYSIS, NULL, NULL);
    good(&a);
    assert_int_equal(count_kind(&a, "other_order", NULL), 0);
    done(&a);
}

/* The steps that are asked about keep all that is theirs: micro batches and chunks, too. */
static void test_selected_steps(void **state)
{
    (void)state;
    text input = {0};
    text_puts(&input, "# rankscope-ops 1 unit=s dp=1 dsp=1 pp=1 tp=1 vpp=1\n"
                      "step,dp,stage,rank,op,seq,mb,mc,start,duration\n");
    for (int step = 0; step < 3; step++)
        for (int seq = 0; seq < 2; seq++) {
            int mb = 10 * step + seq;
            double at = 0.06 * seq;
            text_printf(&input, "%d,0,0,0,forward-compute,%d,%d,0,%.3f,0.02\n", step, seq, mb, at);
            text_printf(&input, "%d,0,0,0,backward-compute,%d,%d,0,%.3f,0.04\n", step, seq, mb, at + 0.02);
        }
    answer a = ask_for(input.s, RS_COMPAT_NONE, "ideal-trace", "none", "2");
    good(&a);
    const rs_table *t = rs_result_table(&a.result, "ideal");
    assert_non_null(t);
    assert_int_equal(rs_table_n_rows(t), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(rs_table_int(t, i, column(t, "step")), 2);
        assert_int_equal(rs_table_int(t, i, column(t, "micro_batch")),
                         20 + rs_table_int(t, i, column(t, "seq")));
        assert_int_equal(rs_table_int(t, i, column(t, "model_chunk")), 0);
    }
    done(&a);
    text_clear(&input);
}

/* Orders that have the same predecessors, of other operations. */
static void test_equal_orders(void **state)
{
    (void)state;
    const rs_ops ops = {.n_names = 8};
    uint32_t first[9] = {0, 0, 0, 0, 0, 0, 0, 1, 1}, later[9] = {0, 0, 0, 0, 0, 0, 0, 0, 1}, pred[1] = {0},
             other_pred[1] = {1}, pair[8] = {0, 1, 2, 3, 4, 5, 6, 7},
             other_pair[8] = {0, 1, 2, 3, 4, 5, 7, 6};
    uint8_t use[8] = {0}, other_use[8] = {0, 0, 0, 0, 0, 0, 0, RS_OPS_VOID};
    const rs_ops_order a = {first, pred, pair, use};
    rs_ops_order b = a;
    assert_true(rs_ops_order_equal(&ops, &a, &b));
    b.first = later;
    assert_false(rs_ops_order_equal(&ops, &a, &b));
    b = (rs_ops_order){first, other_pred, pair, use};
    assert_false(rs_ops_order_equal(&ops, &a, &b));
    b = (rs_ops_order){first, pred, other_pair, use};
    assert_false(rs_ops_order_equal(&ops, &a, &b));
    b = (rs_ops_order){first, pred, pair, other_use};
    assert_false(rs_ops_order_equal(&ops, &a, &b));
}

/* The longest, in their own places; where lengths are equal the first. */
static void test_longest(void **state)
{
    (void)state;
    static const double lengths[] = {5, 5, 7, 5, 6};
    static const char *const wanted[] = {"00000", "00100", "00101", "10101", "11101", "11111", "11111"};
    for (size_t most = 0; most < sizeof wanted / sizeof *wanted; most++) {
        bool chosen[5];
        size_t n, expected = most < 5 ? most : 5;
        assert_int_equal(rs_whatif_choose_longest(lengths, 5, most, chosen, &n, NULL), RS_OK);
        assert_int_equal(n, expected);
        for (size_t i = 0; i < 5; i++) assert_int_equal(chosen[i], wanted[most][i] == '1');
    }
}

static void test_allocations(void **state)
{
    (void)state;
    for (uint64_t n = 1; n < 4000; n++) {
        rs_test_fail_allocation(n);
        answer a = {.err = RS_ERROR_INIT};
        rs_job *job = NULL;
        static const char input[] = HEAD TWO_STAGES;
        a.status =
            rs_job_open_bytes(input, sizeof input - 1, "ops",
                              &(rs_job_settings){.size = sizeof(rs_job_settings), .jobs = 1}, &job, &a.err);
        if (a.status == RS_OK)
            a.status = rs_job_run(job, rs_analysis_find("whatif"), NULL, RS_COMPAT_NONE, &a.result, &a.err);
        rs_test_fail_allocation(0);
        rs_job_close(job);
        rs_status status = a.status;
        done(&a);
        assert_true(status == RS_OK || status == RS_ERR_NOMEM);
        if (status == RS_OK) return;
    }
    fail_msg("allocations without end");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_ranks),
        cmocka_unit_test(test_slow_first_worker),
        cmocka_unit_test(test_two_stages),
        cmocka_unit_test(test_stages_reduce),
        cmocka_unit_test(test_peer),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_negative_durations),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_own_order),
        cmocka_unit_test(test_allocations),
        cmocka_unit_test(test_selected_steps),
        cmocka_unit_test(test_equal_orders),
        cmocka_unit_test(test_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
