/* Rank metrics: numbers, overlap, damaged lines, appended runs, warm-up, comparison, and running out of
 * memory anywhere. */
#include "folder.h"
#include "support.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metrics/dataset.h"
#include "metrics/plot.h"

/* ---- numbers ---------------------------------------------------------------------------------------- */

static int64_t units(const char *s, int shift)
{
    int64_t v = 77;
    assert_true(rs_metrics_units((const uint8_t *)s, strlen(s), shift, &v));
    return v;
}

TEST(test_numbers)
{
    const int64_t one = INT64_C(1) << RS_METRICS_SHIFT;
    assert_int_equal(units("1", RS_METRICS_SHIFT), one);
    assert_int_equal(units("-0.5", RS_METRICS_SHIFT), -one / 2);
    assert_int_equal(units("1e3", RS_METRICS_SHIFT), 1000 * one);
    assert_int_equal(units("1.0E-1", RS_METRICS_SHIFT), llrint(ldexp(0.1, RS_METRICS_SHIFT)));
    assert_int_equal(units("Infinity", RS_METRICS_SHIFT), RS_METRICS_FAR);
    assert_int_equal(units("-Infinity", RS_METRICS_SHIFT), -RS_METRICS_FAR);
    assert_int_equal(units("1e400", RS_METRICS_SHIFT), RS_METRICS_FAR);
    assert_int_equal(units("99999999999999999999999999", RS_METRICS_SHIFT), RS_METRICS_FAR);
    assert_int_equal(units("9999999999999999999", RS_METRICS_SHIFT), RS_METRICS_FAR);
    int64_t v;
    assert_false(rs_metrics_units((const uint8_t *)"NaN", 3, RS_METRICS_SHIFT, &v));
    assert_true(isnan(rs_metrics_real((const uint8_t *)"NaN", 3)));
    assert_true(rs_metrics_real((const uint8_t *)"-Infinity", 9) == -INFINITY);
    /* every 32-bit float of a plausible size is exact, as Python prints it */
    rng r = {42};
    for (size_t i = 0; i < ROUNDS(20000); i++) {
        float f = (float)ldexp((double)(rng_next(&r) >> 40), -10 - (int)rng_below(&r, 6));
        char s[40];
        snprintf(s, sizeof s, "%.17g", (double)f);
        assert_int_equal(units(s, RS_METRICS_SHIFT), (int64_t)ldexp((double)f, RS_METRICS_SHIFT));
        assert_true(fabs(rs_metrics_real((const uint8_t *)s, strlen(s)) - (double)f) <=
                    fabs((double)f) * 3e-16);
    }
}

/* ---- one record ------------------------------------------------------------------------------------- */

static rs_line read_line(const char *line, rs_record *out)
{
    rs_record_reader reader = {0};
    size_t at;
    guarded g = guarded_copy(line, strlen(line));
    rs_line what = rs_record_read(&reader, g.bytes, g.n, out, &at);
    guarded_free(&g);
    rs_record_reader_clear(&reader);
    return what;
}

#define RECORD(total, ranges)                                                                                \
    "{\"global_step\": 3, \"loss\": 0.5, \"profile\": {\"total_ms\": " total ", \"ranges\": [" ranges "]}}"
#define RANGE(stream, tag, start, end)                                                                       \
    "{\"stream\": \"" stream "\", \"tag\": \"" tag "\", \"start_ms\": " start ", \"end_ms\": " end           \
    ", \"metadata\": {}}"

static void expect(const char *line, double compute, double comm, double overlap, double idle)
{
    rs_record r;
    assert_int_equal(read_line(line, &r), RS_LINE_OK);
    assert_true(fabs(r.compute - compute) < 1e-11);
    assert_true(fabs(r.comm - comm) < 1e-11);
    assert_true(fabs(r.overlap - overlap) < 1e-11);
    assert_true(fabs(r.idle - idle) < 1e-11);
}

TEST(test_overlap)
{
    expect(RECORD("10", ""), 0, 0, 0, 10);
    /* nested and touching ranges of one stream are a union */
    expect(RECORD("20", RANGE("compute", "a", "0", "10") "," RANGE("compute", "b", "3", "5") "," RANGE(
                            "compute", "c", "10", "12")),
           12, 0, 0, 8);
    /* the function tells the collective, whatever the stream */
    expect(RECORD("10", RANGE("aux", "All_Gather_into_tensor", "1", "4") "," RANGE("compute", "x", "3", "6")),
           3, 3, 1, 5);
    expect(RECORD("10", RANGE("compute", "reduce_scatter_tensor", "1", "4")), 0, 3, 0, 7);
    expect(RECORD("10", RANGE("aux", "epoch0_step3_allreduce_sync", "1", "4")), 0, 0, 0, 7);
    /* cut to the step; backwards, empty and without times */
    expect(RECORD("10", RANGE("compute", "x", "-5", "3") "," RANGE("compute", "y", "8", "40")), 5, 0, 0, 5);
    expect(RECORD("10", RANGE("compute", "x", "5", "3") "," RANGE("compute", "y", "4", "4")), 0, 0, 0, 10);
    expect(RECORD("10", "{\"stream\": \"compute\"}, 7, null, " RANGE("compute", "y", "NaN", "4")), 0, 0, 0,
           10);
    expect(RECORD("10", RANGE("compute", "y", "2", "Infinity")), 8, 0, 0, 2);
    /* a step of three hours, one longer than anything, and one of less than nothing */
    expect(RECORD("10800000", RANGE("compute", "y", "0", "10800000")), 10800000, 0, 0, 0);
    rs_record r;
    assert_int_equal(read_line(RECORD("1e300", RANGE("compute", "y", "0", "5e299")), &r), RS_LINE_OK);
    assert_true(fabs(r.compute / 5e299 - 1) < 1e-12 && fabs(r.idle / 5e299 - 1) < 1e-12);
    expect(RECORD("-3", RANGE("compute", "y", "0", "4")), 0, 0, 0, 0);
}

TEST(test_lines)
{
    rs_record r;
    assert_int_equal(read_line("", &r), RS_LINE_BLANK);
    assert_int_equal(read_line(" \t\r", &r), RS_LINE_BLANK);
    static const char *const broken[] = {
        "[]",     "17",       "{",
        "{]",     "{\"a\":}", "{\"a\" 1}",
        "W1121 ", "{} {}",    "{\"global_step\": 3, \"profile\": {\"total_ms\": 1"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        assert_int_equal(read_line(broken[i], &r), RS_LINE_BROKEN);
    assert_int_equal(read_line("{}", &r), RS_LINE_NO_STEP);
    assert_int_equal(read_line("{\"global_step\": \"3\"}", &r), RS_LINE_NO_STEP);
    assert_int_equal(read_line("{\"global_step\": 3.5}", &r), RS_LINE_NO_STEP);
    assert_int_equal(read_line("{\"global_step\": 3}", &r), RS_LINE_NO_PROFILE);
    assert_int_equal(read_line("{\"global_step\": 3, \"profile\": []}", &r), RS_LINE_NO_PROFILE);
    assert_int_equal(read_line("{\"global_step\": 3, \"profile\": {\"ranges\": []}}", &r),
                     RS_LINE_NO_PROFILE);
    assert_int_equal(read_line(RECORD("NaN", ""), &r), RS_LINE_NO_PROFILE);
    assert_int_equal(read_line(RECORD("Infinity", ""), &r), RS_LINE_NO_PROFILE);
    assert_int_equal(read_line("{\"global_step\": 3, \"profile\": {\"total_ms\": 1, \"ranges\": {}}}", &r),
                     RS_LINE_NO_PROFILE);
    /* an escaped key is the key it represents, of repeated ones the last counts */
    assert_int_equal(read_line("{\"global\\u005fstep\": 4, \"profile\": 1, \"profile\": {\"total_ms\": 1, "
                               "\"ranges\": []}, \"loss\": NaN}",
                               &r),
                     RS_LINE_OK);
    assert_int_equal(r.step, 4);
    assert_true(r.has_loss && isnan(r.loss));
    /* cut anywhere, a record is broken, never misread */
    const char *whole = RECORD("10", RANGE("compute", "x", "1", "2"));
    for (size_t n = 1; n < strlen(whole); n++) {
        char cut[400];
        memcpy(cut, whole, n);
        cut[n] = '\0';
        assert_int_equal(read_line(cut, &r), RS_LINE_BROKEN);
    }
}

/* Many random ranges against counting on a grid of whole milliseconds. */
TEST(test_overlap_by_counting)
{
    rng r = {7};
    /* those behind the fourth are collectives unless they are on the stream of computation */
    static const char *const tags[] = {"x",         "all_reduce", "reduce_scatter",    "all_gather",
                                       "broadcast", "scatter",    "all_to_all_single", "irecv"};
    for (size_t round = 0; round < ROUNDS(400); round++) {
        bool compute[64] = {0}, comm[64] = {0}, any[64] = {0};
        text t = {0};
        text_puts(&t, "{\"global_step\":1,\"profile\":{\"total_ms\":60,\"ranges\":[");
        size_t n = rng_below(&r, 12);
        for (size_t i = 0; i < n; i++) {
            int from = (int)rng_below(&r, 64) - 2, to = from + (int)rng_below(&r, 20) - 3;
            size_t tag = rng_below(&r, 8);
            bool on_compute = rng_below(&r, 2), is_comm = tag && (tag < 4 || !on_compute);
            text_printf(&t, "%s{\"stream\":\"%s\",\"tag\":\"%s\",\"start_ms\":%d,\"end_ms\":%d}",
                        i ? "," : "", on_compute ? "compute" : "aux", tags[tag], from, to);
            for (int k = from < 0 ? 0 : from; k < to && k < 60; k++) {
                any[k] = true;
                if (is_comm) comm[k] = true;
                if (!is_comm && on_compute) compute[k] = true;
            }
        }
        text_puts(&t, "]}}");
        int sums[4] = {0};
        for (int k = 0; k < 60; k++) {
            sums[0] += compute[k];
            sums[1] += comm[k];
            sums[2] += compute[k] && comm[k];
            sums[3] += !any[k];
        }
        expect(t.s, sums[0], sums[1], sums[2], sums[3]);
        text_clear(&t);
    }
}

/* ---- directories ------------------------------------------------------------------------------------ */

static void add_record(text *t, int step, double loss, double scale)
{
    text_printf(
        t,
        "{\"world_size\": 3, \"global_step\": %d, \"loss\": %g, \"profile\": {\"total_ms\": %g, \"ranges\": "
        "[{\"stream\": \"compute\", \"tag\": \"f\", \"start_ms\": 0, \"end_ms\": %g, \"metadata\": {}}, "
        "{\"stream\": \"aux\", \"tag\": \"g\", \"start_ms\": %g, \"end_ms\": %g, \"metadata\": "
        "{\"function\": \"all_reduce\"}}]}}\n",
        step, loss, 10 * scale, 6 * scale, 4 * scale, 8 * scale);
}

static rs_status read_folder(const folder *f, int64_t warm_up, unsigned jobs, rs_metrics **m,
                             rs_problems *problems)
{
    rs_metrics_settings settings = {
        .size = sizeof(rs_metrics_settings), .skip_warmup = warm_up, .jobs = jobs};
    rs_status status = rs_metrics_create(&settings, m, NULL);
    if (status == RS_OK) status = rs_metrics_add(*m, "run", f->path, NULL);
    if (status == RS_OK) status = rs_metrics_read(*m, problems, NULL);
    return status;
}

static bool has_problem(const rs_problems *p, const char *kind, rs_severity severity, uint64_t count)
{
    uint64_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->items[i].kind, kind) == 0 && p->items[i].severity == severity) n += p->items[i].count;
    return n == count;
}

TEST(test_runs)
{
    folder f = folder_make();
    text a = {0}, b = {0};
    for (int i = 0; i < 20; i++) add_record(&a, i, 1, 100);
    for (int i = 0; i < 12; i++) add_record(&a, i, 2, i < 3 ? 50 : 1); /* a second run with a slow start */
    for (int i = 0; i < 12; i++) add_record(&b, i, 4, 2);
    text_puts(&b, "\n \nstray text\n{\"global_step\": 12}\n{\"global_step\": 12, \"pro");
    folder_add(&f, "rank_000_metrics.jsonl", &a);
    folder_add(&f, "rank_1_metrics.jsonl", &b);
    folder_add(&f, "rank_x_metrics.jsonl", &b);
    folder_add(&f, "rank_2_metrics.txt", &b);
    rs_metrics *m = NULL;
    rs_problems p = {0};
    assert_int_equal(read_folder(&f, 3, 2, &m, &p), RS_OK);
    const rs_dataset *d = &m->datasets[0];
    assert_int_equal(d->count, 24);
    assert_int_equal(d->used, 18);
    assert_true(fabs(rs_dataset_metric(d, RS_M_STEP) - 15) < 1e-12);
    assert_true(fabs(rs_dataset_metric(d, RS_M_OVERLAP) - 3) < 1e-12);
    assert_true(fabs(rs_dataset_metric(d, RS_M_HIDDEN_SHARE) - 0.5) < 1e-12);
    assert_true(fabs(rs_dataset_metric(d, RS_M_LOSS) - 3) < 1e-12);
    assert_true(fabs(d->percentiles[RS_Q_STEP].p50 - 15) < 1e-12);
    assert_true(fabs(d->straggler_index - 12.0 / 9) < 1e-12);
    assert_int_equal(d->straggler_rank, 1);
    assert_true(has_problem(&p, "appended_run", RS_NOTE, 1));
    assert_true(has_problem(&p, "bad_line", RS_LOSS, 1));
    assert_true(has_problem(&p, "no_profile", RS_LOSS, 1));
    assert_true(has_problem(&p, "partial_line", RS_LOSS, 1));
    assert_true(has_problem(&p, "no_rank", RS_LOSS, 1));
    assert_true(has_problem(&p, "missing_ranks", RS_NOTE, 1));
    rs_problems_clear(&p);
    rs_metrics_free(m);
    /* a run of at most that many records keeps all */
    assert_int_equal(read_folder(&f, 12, 1, &m, &p), RS_OK);
    assert_int_equal(m->datasets[0].used, 24);
    rs_problems_clear(&p);
    rs_metrics_free(m);
    folder_remove(&f);
    text_clear(&a);
    text_clear(&b);
}

/* Every kind that the recorder writes, and what only begins like one. */
TEST(test_kinds)
{
    static const struct {
        const char *name;
        int kind; /* -1: none */
    } names[] = {{"all_reduce_coalesced", RS_ALL_REDUCE},
                 {"broadcast", RS_BROADCAST},
                 {"reduce", RS_REDUCE},
                 {"reduce_scatter_tensor", RS_REDUCE_SCATTER},
                 {"gather", RS_GATHER},
                 {"scatter", RS_SCATTER},
                 {"all_to_all", RS_ALL_TO_ALL},
                 {"all_to_all_single", RS_ALL_TO_ALL},
                 {"send", RS_SEND_RECV},
                 {"recv", RS_SEND_RECV},
                 {"isend", RS_SEND_RECV},
                 {"irecv", RS_SEND_RECV},
                 {"send_batch", -1},
                 {"scatter_add", -1}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char line[400];
        rs_record r;
        snprintf(
            line, sizeof line,
            "{\"global_step\": 1, \"profile\": {\"total_ms\": 10, \"ranges\": [{\"stream\": \"comm\", "
            "\"tag\": \"%s\", \"start_ms\": 2, \"end_ms\": 5}, {\"stream\": \"compute\", \"tag\": \"f\", "
            "\"start_ms\": 4, \"end_ms\": 8}]}}",
            names[i].name);
        assert_int_equal(read_line(line, &r), RS_LINE_OK);
        for (int k = 0; k < RS_N_COLLECTIVES; k++) {
            assert_true(r.in_collective[k] == (k == names[i].kind ? 3 : 0));
            assert_true(r.hidden_collective[k] == (k == names[i].kind ? 1 : 0));
        }
        assert_true(r.comm == (names[i].kind < 0 ? 0 : 3) && r.idle == 4);
    }
}

/* A difference far beyond the spread of the steps: two runs alone decide nothing. */
TEST(test_comparison)
{
    static const struct {
        bool aorta;
        double sd, scale;
        const char *verdict;
        int beyond;
    } cases[] = {{false, 0, 1.2, "undecided", -1},      {false, 0.01, 1.2, "worse", 1},
                 {false, 0.01, 0.8, "better", 1},       {false, 0.2, 1.2, "within noise", 0},
                 {false, 0, 1.0001, "within noise", 0}, {true, 0, 1.2, "noise unknown", -1},
                 {true, 0.01, 1.2, "noise unknown", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        folder f[2] = {folder_make(), folder_make()};
        rs_metrics_settings settings = {.size = sizeof(rs_metrics_settings),
                                        .aorta = cases[i].aorta,
                                        .jobs = 1,
                                        .between_run_sd = cases[i].sd,
                                        .skip_warmup = 0};
        rs_problems p = {0};
        rs_metrics *m;
        assert_int_equal(rs_metrics_create(&settings, &m, NULL), RS_OK);
        for (int k = 0; k < 2; k++) {
            text t = {0};
            for (int s = 0; s < 200; s++) add_record(&t, s, 1, (k ? cases[i].scale : 1) * (1 + s % 7 * 0.01));
            folder_add(&f[k], "rank_0_metrics.jsonl", &t);
            text_clear(&t);
            assert_int_equal(rs_metrics_add(m, k ? "new" : "old", f[k].path, NULL), RS_OK);
        }
        assert_int_equal(rs_metrics_compare(m, "old", "new", NULL), RS_OK);
        assert_int_equal(rs_metrics_read(m, &p, NULL), RS_OK);
        rs_comparison c = rs_metrics_compared(m, RS_M_STEP);
        assert_int_equal(c.beyond_noise, cases[i].beyond);
        assert_string_equal(c.verdict, cases[i].verdict);
        rs_problems_clear(&p);
        rs_metrics_free(m);
        folder_remove(&f[0]);
        folder_remove(&f[1]);
    }
}

TEST(test_dips)
{
    folder f = folder_make();
    text a = {0};
    for (int i = 0; i < 200; i++)
        add_record(&a, i + 1000, 1, (i >= 50 && i < 53) || i == 120 ? 2 : 1 + i % 3 * 0.01);
    folder_add(&f, "rank_0_metrics.jsonl", &a);
    folder_add(&f, "rank_1_metrics.jsonl", &a);
    rs_metrics *m = NULL;
    rs_problems p = {0};
    assert_int_equal(read_folder(&f, 5, 0, &m, &p), RS_OK);
    const rs_dataset *d = &m->datasets[0];
    assert_int_equal(d->n_dips, 2);
    assert_int_equal(d->dips[0].first_step, 1050);
    assert_int_equal(d->dips[0].last_step, 1052);
    assert_int_equal(d->dips[1].n_steps, 1);
    assert_true(fabs(d->dips[0].median_ms - 20) < 1e-9);
    rs_problems_clear(&p);
    rs_metrics_free(m);
    folder_remove(&f);
    text_clear(&a);
}

TEST(test_labels)
{
    rs_metrics_settings settings = {.size = sizeof(rs_metrics_settings), .jobs = 1};
    rs_metrics *m;
    assert_int_equal(rs_metrics_create(&settings, &m, NULL), RS_OK);
    static const char *const bad[] = {"", "a/b", "..", ".", "x..y", "a\nb", "a\x7f"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(rs_metrics_add(m, bad[i], "x", NULL), RS_ERR_USAGE);
    assert_int_equal(rs_metrics_add(m, "one", "x", NULL), RS_OK);
    assert_int_equal(rs_metrics_add(m, "one", "y", NULL), RS_ERR_USAGE);
    assert_int_equal(rs_metrics_compare(m, "one", "two", NULL), RS_ERR_USAGE);
    assert_int_equal(rs_metrics_compare(m, "one", "one", NULL), RS_OK);
    rs_metrics_free(m);
    assert_int_equal(rs_metrics_gate_check("hidden_share < 50%", &settings, false, NULL), RS_OK);
    const char *gate = "worse_percent > 5, beyond_noise >= 1";
    assert_int_equal(rs_metrics_gate_check(gate, &settings, true, NULL), RS_ERR_USAGE);
    settings.between_run_sd = 0.01;
    assert_int_equal(rs_metrics_gate_check(gate, &settings, true, NULL), RS_OK);
    assert_int_equal(rs_metrics_gate_check("worse_percent > 5", &settings, false, NULL), RS_ERR_USAGE);
    assert_int_equal(rs_metrics_gate_check("hiden_share < 1", &settings, true, NULL), RS_ERR_USAGE);
}

TEST(test_sensors)
{
    static const char raw[] =
        "===\\nGPU[0]\\t\\t: Temperature (Sensor edge) (C): 40.0\\nGPU[0]\\t\\t: Temperature (Sensor "
        "junction) (C): "
        "61.5\\nGPU[1]\\t\\t: Temperature (Sensor edge) (C): 44.0\\nGPU[1]\\t\\t: GPU use (%): N/A\\n"
        "GPU[1]\\t\\t: sclk clock level: 19: (1815Mhz)\\nGPU[99]: GPU use (%): 3\\nGPU[]\\nGPU[1";
    rs_json_text t = {.bytes = (const uint8_t *)raw, .length = sizeof raw - 1, .escaped = true};
    rs_smi_sample s;
    assert_true(rs_smi_parse(&t, 4, &s)); /* of two GPUs the first */
    assert_true(s.value[RS_SMI_TEMPERATURE] == 61.5F && isnan(s.value[RS_SMI_CLOCK]));
    assert_true(rs_smi_parse(&t, 1, &s));
    assert_true(s.value[RS_SMI_TEMPERATURE] == 44.0F && s.value[RS_SMI_CLOCK] == 1815.0F);
    assert_true(isnan(s.value[RS_SMI_USE]));
    t.length = 3;
    assert_false(rs_smi_parse(&t, 0, &s));
    static const char tenth[] = "GPU[9]: GPU use (%): 7\\nGPU[63]: GPU use (%): 5\\nGPU[64]: GPU use (%): 3";
    t = (rs_json_text){.bytes = (const uint8_t *)tenth, .length = sizeof tenth - 1, .escaped = true};
    assert_true(rs_smi_parse(&t, 9, &s));
    assert_true(s.value[RS_SMI_USE] == 7.0F);
    assert_true(rs_smi_parse(&t, 63, &s)); /* the last that is kept */
    assert_true(s.value[RS_SMI_USE] == 5.0F);
}

TEST(test_quantiles)
{
    rng r = {3};
    for (size_t round = 0; round < ROUNDS(200); round++) {
        static const double qs[] = {0, 0.25, 0.5, 0.9, 0.99, 1};
        size_t n = 1 + rng_below(&r, 300);
        double values[300], sorted[300], out[6];
        for (size_t i = 0; i < n; i++) values[i] = sorted[i] = (double)rng_below(&r, round % 2 ? 5 : 1000);
        for (size_t i = 1; i < n; i++)
            for (size_t k = i; k > 0 && sorted[k - 1] > sorted[k]; k--) {
                double x = sorted[k];
                sorted[k] = sorted[k - 1];
                sorted[k - 1] = x;
            }
        rs_select_quantiles(values, n, qs, 6, out);
        for (size_t i = 0; i < 6; i++) {
            double place = qs[i] * (double)(n - 1);
            size_t low = (size_t)place;
            double high = low + 1 < n ? sorted[low + 1] : sorted[low];
            assert_true(fabs(out[i] - (sorted[low] + (high - sorted[low]) * (place - (double)low))) < 1e-9);
        }
    }
}

/* Each allocation fails in turn: an error, never a crash or a leak. */
TEST(test_no_memory)
{
    folder f = folder_make();
    text a = {0};
    for (int i = 0; i < 30; i++) add_record(&a, i, 1, i == 20 ? 9 : 1);
    folder_add(&f, "rank_0_metrics.jsonl", &a);
    folder_add(&f, "rank_1_metrics.jsonl", &a);
    for (uint64_t k = 1;; k++) {
        rs_metrics *m = NULL;
        rs_problems p = {0};
        rs_result result = {0};
        rs_error err = RS_ERROR_INIT;
        rs_metrics_settings settings = {.size = sizeof(rs_metrics_settings), .skip_warmup = 5, .jobs = 1};
        rs_test_fail_allocation(k);
        rs_status status = rs_metrics_create(&settings, &m, &err);
        if (status == RS_OK) status = rs_metrics_add(m, "a", f.path, &err);
        if (status == RS_OK) status = rs_metrics_read(m, &p, &err);
        if (status == RS_OK) status = rs_metrics_result(m, &result, &err);
        uint64_t made = rs_test_fail_allocation(0);
        rs_result_clear(&result);
        rs_problems_clear(&p);
        rs_metrics_free(m);
        if (made < k) {
            assert_int_equal(status, RS_OK);
            break;
        }
        if (status != RS_OK) assert_true(err.n_causes > 0);
    }
    folder_remove(&f);
    text_clear(&a);
}

/* What the picture shows is looked at where cairo is at hand. */
#if __has_include(<cairo.h>)
#include <cairo.h>

/* The height of the box of dark pixels in some columns. */
static int ink_height(cairo_surface_t *picture, int from, int to)
{
    const unsigned char *at = cairo_image_surface_get_data(picture);
    int first = -1, last = -1, stride = cairo_image_surface_get_stride(picture);
    for (int y = 0; y < cairo_image_surface_get_height(picture); y++)
        for (int x = from; x < to; x++)
            if (at[y * stride + 4 * x] < 128) {
                if (first < 0) first = y;
                last = y;
            }
    return first < 0 ? 0 : last - first + 1;
}

TEST(test_picture)
{
    static const double x[] = {0, 1, 2, 3}, y[] = {1, 3, 2, 4};
    static const rs_plot_line lines[] = {{.name = "a", .mid = y, .color = 0x204080}};
    rs_plot plot = {.title = "title",
                    .subtitle = "",
                    .x_label = "step",
                    .y_label = "a label of thirty characters..",
                    .x = x,
                    .n = 4,
                    .x_to = 3,
                    .y_to = 5,
                    .lines = lines,
                    .n_lines = 1,
                    .width = 800,
                    .height = 600};
    char path[] = "/tmp/rankscope-plot-XXXXXX";
    rs_error err = RS_ERROR_INIT;
    if (!rs_plot_available()) skip();
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(rs_plot_png(&plot, path, &err), RS_OK);
    cairo_surface_t *picture = cairo_image_surface_create_from_png(path);
    unlink(path);
    assert_int_equal(cairo_surface_status(picture), CAIRO_STATUS_SUCCESS);
    assert_int_equal(cairo_image_surface_get_width(picture), 800);
    assert_int_equal(cairo_image_surface_get_height(picture), 600);
    assert_true(ink_height(picture, 22, 38) > 150); /* the label stands upright in these columns */
    cairo_surface_destroy(picture);
}
#else
TEST(test_picture)
{
    skip();
}
#endif
