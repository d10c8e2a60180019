/* memory of traces: allocations and releases of [memory] events by device and operator, against counts by hand. */
#include "support.h"

#include "rankscope/job.h"

#define SPAN(cat, name, tid, ts, dur)                                                                        \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts         \
    ",\"dur\":" #dur "},\n"
#define EVENT(name, tid, ts, args)                                                                           \
    "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #tid  \
    ",\"ts\":" #ts ",\"args\":{" args "}},\n"
#define OF(type, id, bytes, total, reserved)                                                                 \
    "\"Device Type\":" #type ",\"Device Id\":" #id ",\"Bytes\":" #bytes ",\"Total Allocated\":" #total       \
    ",\"Total Reserved\":" #reserved
#define HEAD "{\"traceEvents\":[\n"
#define FOOT "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0}]}"

/* Two steps. On thread 1 a calls b: 100 bytes of the host by b, 30 by a behind it, which frees 100 within the second
 * step, outside of operators. Thread 2 allocates 70 of the GPU at the time of b, under no operator: callers are of one
 * thread. Then 512 more, which fails once. An all_reduce that a worker runs calls nobody. In the file, the second step
 * stands first. */
static const char whole[] = HEAD EVENT("[memory]", 1, 150, OF(0, -1, -100, 30, 0))
    SPAN("user_annotation", "ProfilerStep#8", 1, 140, 60) SPAN("user_annotation", "ProfilerStep#7", 1, 0, 140)
        SPAN("cpu_op", "a", 1, 10, 60) SPAN("cpu_op", "b", 1, 20, 20)
            SPAN("user_annotation", "gloo:all_reduce", 1, 20, 130)
                EVENT("[memory]", 1, 25, OF(0, -1, 100, 100, 0))
                    EVENT("[memory]", 1, 45, OF(0, -1, 30, 130, 0))
                        EVENT("[memory]", 2, 26, OF(1, 0, 70, 1070, 4096))
                            EVENT("[OutOfMemory]", 2, 27, OF(1, 0, 512, 1070, 4096))
                                EVENT("[memory]", 2, 160, OF(1, 0, 512, 1582, 8192)) FOOT;

typedef struct asked {
    rs_result result;
    rs_job *job;
} asked;

static asked ask(const char *trace, const char *steps, const char *option, const char *value)
{
    asked a = {0};
    const rs_analysis *memory = rs_analysis_find("memory");
    const rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1, .steps = steps};
    rs_options *options;
    size_t n;
    const rs_option_spec *specs = rs_analysis_options(memory, &n);
    assert_int_equal(rs_options_create(specs, n, &options, NULL), RS_OK);
    if (option) assert_int_equal(rs_options_set(options, option, value, NULL), RS_OK);
    assert_int_equal(rs_job_open_bytes(trace, strlen(trace), "a.json", &settings, &a.job, NULL), RS_OK);
    assert_int_equal(rs_job_run(a.job, memory, options, RS_COMPAT_NONE, &a.result, NULL), RS_OK);
    rs_options_free(options);
    return a;
}

static void end(asked *a)
{
    rs_result_clear(&a->result);
    rs_job_close(a->job);
}

static size_t column(const rs_table *t, const char *name)
{
    const rs_table_spec *spec = rs_table_get_spec(t);
    for (size_t c = 0; c < spec->n_columns; c++)
        if (strcmp(spec->columns[c].name, name) == 0) return c;
    fail_msg("no column %s", name);
    return 0;
}

#define UNKNOWN (-12345)

static void expect(const rs_table *t, size_t row, const char *name, int64_t want)
{
    size_t c = column(t, name);
    if (want == UNKNOWN)
        assert_true(rs_table_is_null(t, row, c));
    else
        assert_int_equal(rs_table_int(t, row, c), want);
}

static void expect_text(const rs_table *t, size_t row, const char *name, const char *want)
{
    size_t c = column(t, name);
    if (!want)
        assert_true(rs_table_is_null(t, row, c));
    else
        assert_string_equal(rs_table_text(t, row, c, &(size_t){0}), want);
}

TEST(test_devices)
{
    asked a = ask(whole, NULL, NULL, NULL);
    const rs_table *t = rs_result_table(&a.result, "devices");
    static const struct {
        const char *column;
        int64_t host, gpu;
    } want[] = {{"peak_bytes", 130, 1582},     {"peak_at_us", 45000, 160000},
                {"peak_step", 7, 8},           {"before_bytes", 0, 1000},
                {"end_bytes", 30, 1582},       {"reserved_bytes", UNKNOWN, 8192},
                {"allocated_bytes", 130, 582}, {"allocations", 2, 2},
                {"freed_bytes", 100, 0},       {"releases", 1, 0},
                {"out_of_memory", 0, 1}};
    assert_int_equal(rs_table_n_rows(t), 2);
    expect_text(t, 0, "device", "cpu");
    expect_text(t, 1, "device", "cuda:0");
    expect_text(t, 0, "peak_operator", "a");
    expect_text(t, 1, "peak_operator", NULL);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        expect(t, 0, want[i].column, want[i].host);
        expect(t, 1, want[i].column, want[i].gpu);
    }
    assert_int_equal(rs_table_n_rows(rs_result_table(&a.result, "held")), 0);
    end(&a);
}

TEST(test_operators)
{
    static const struct {
        const char *device, *name;
        int64_t allocated, allocations, freed, releases, net;
    } want[] = {{"cuda:0", NULL, 582, 2, 0, 0, 582},
                {"cpu", "b", 100, 1, 0, 0, 100},
                {"cpu", "a", 30, 1, 0, 0, 30},
                {"cpu", "ProfilerStep#8", 0, 0, 100, 1, -100}};
    for (size_t top = 0; top < 3; top++) {
        static const char *const values[] = {"0", "1", "2"};
        asked a = ask(whole, NULL, "top", values[top]);
        const rs_table *t = rs_result_table(&a.result, "operators");
        size_t n = top ? top : 4;
        assert_int_equal(rs_table_n_rows(t), n);
        for (size_t i = 0; i < n; i++) {
            expect_text(t, i, "device", want[i].device);
            expect_text(t, i, "operator", want[i].name);
            expect(t, i, "allocated_bytes", want[i].allocated);
            expect(t, i, "allocations", want[i].allocations);
            expect(t, i, "freed_bytes", want[i].freed);
            expect(t, i, "releases", want[i].releases);
            expect(t, i, "net_bytes", want[i].net);
        }
        end(&a);
    }
}

TEST(test_series)
{
    static const int64_t want[][4] = {{25000, 100, 100, UNKNOWN},
                                      {26000, 70, 1070, 4096},
                                      {45000, 30, 130, UNKNOWN},
                                      {150000, -100, 30, UNKNOWN},
                                      {160000, 512, 1582, 8192}};
    asked a = ask(whole, NULL, "series", NULL);
    const rs_table *t = rs_result_table(&a.result, "held");
    assert_int_equal(rs_table_n_rows(t), 5);
    for (size_t i = 0; i < 5; i++) {
        expect(t, i, "time_us", want[i][0]);
        expect(t, i, "bytes", want[i][1]);
        expect(t, i, "held_bytes", want[i][2]);
        expect(t, i, "reserved_bytes", want[i][3]);
    }
    end(&a);
}

/* Of the second step: what was there before it counts as the most where nothing more is allocated. */
TEST(test_of_a_step)
{
    asked a = ask(whole, "8", NULL, NULL);
    const rs_table *t = rs_result_table(&a.result, "devices");
    assert_int_equal(rs_table_n_rows(t), 2);
    expect(t, 0, "before_bytes", 130);
    expect(t, 0, "peak_bytes", 130);
    expect(t, 0, "freed_bytes", 100);
    expect(t, 0, "allocations", 0);
    expect(t, 1, "before_bytes", 1070);
    expect(t, 1, "peak_bytes", 1582);
    end(&a);
}

/* Without totals changes are added up; sums stop at the ends of the range; a release of nothing is a release. */
TEST(test_odd_numbers)
{
    asked a =
        ask(HEAD EVENT("[memory]", 1, 1, "\"Bytes\":40") EVENT("[memory]", 1, 2, "\"Bytes\":-10")
                EVENT("[memory]", 1, 3, "\"Bytes\":0") EVENT("[memory]", 1, 3.2, "\"Bytes\":10")
                    EVENT("[memory]", 1, 3.4, "\"Bytes\":-10") EVENT("[memory]", 1, 4, "\"Device Type\":77")
                        EVENT("[memory]", 1, 5, OF(20, 3, 9223372036854775807, 9223372036854775807, -5))
                            EVENT("[memory]", 1, 6, OF(20, 3, 9223372036854775807, -9223372036854775807, 0))
                                EVENT("[memory]", 1, 7, OF(20, 3, -9223372036854775807, 1, 0)) FOOT,
            NULL, NULL, NULL);
    const rs_table *t = rs_result_table(&a.result, "devices");
    assert_int_equal(rs_table_n_rows(t), 3);
    expect(t, 0, "peak_bytes", 40);
    expect(t, 0, "peak_at_us", 1000); /* the first time, not the last */
    expect(t, 0, "end_bytes", 30);
    expect(t, 0, "releases", 3);
    expect_text(t, 1, "device", "device type 77");
    expect_text(t, 2, "device", "privateuseone:3");
    expect(t, 2, "allocated_bytes", INT64_MAX);
    expect(t, 2, "freed_bytes", INT64_MAX);
    expect(t, 2, "reserved_bytes", UNKNOWN);
    end(&a);
}

TEST(test_none)
{
    asked a = ask(HEAD SPAN("cpu_op", "a", 1, 0, 5) FOOT, NULL, NULL, NULL);
    assert_int_equal(rs_table_n_rows(rs_result_table(&a.result, "devices")), 0);
    end(&a);
    a = ask("[[1000,2,50,4],[1500,2,8,3]]", NULL, NULL, NULL); /* a timeline, as ever */
    assert_int_equal(rs_table_n_rows(rs_result_table(&a.result, "memory")), 9);
    end(&a);
}
