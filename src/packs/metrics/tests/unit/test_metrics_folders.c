/* Runs of rank metrics as they are found on disks: files that are missing, doubled, empty or of no rank, runs that began
 * again, sensors, odd numbers, and traces next to them. What is said of each, and what is counted. */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "metrics/dataset.h"
#include "sink.h"
#include "support.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* A record whose step takes 10 ms, of which 6 compute and 4 communicate, 2 of them hidden. */
static void add_record(text *t, long long step, const char *world, double ms, const char *more)
{
    text_printf(
        t,
        "{\"world_size\": %s, \"global_step\": %lld, \"profile\": {\"total_ms\": %g, \"ranges\": [{\"stream\": "
        "\"compute\", \"tag\": \"f\", \"start_ms\": 0, \"end_ms\": %g}, {\"stream\": \"aux\", \"tag\": \"all_reduce\", "
        "\"start_ms\": %g, \"end_ms\": %g}]}%s}\n",
        world, step, ms, 0.6 * ms, 0.4 * ms, 0.8 * ms, more);
}

static text records(long long from, int n, const char *more)
{
    text t = {0};
    for (int i = 0; i < n; i++) add_record(&t, from + i, "2", 10, more);
    return t;
}

typedef struct run {
    rs_metrics *m;
    rs_problems problems;
    rs_result result;
    collected summary;
    rs_status status;
    rs_error err;
} run;

/* Everything that metrics makes of a folder. */
static run read_folder(const folder *f, const rs_metrics_settings *settings)
{
    run r = {.err = RS_ERROR_INIT};
    rs_sink sink = {collect, &r.summary};
    assert_int_equal(rs_metrics_create(settings, &r.m, NULL), RS_OK);
    assert_int_equal(rs_metrics_add(r.m, "run", f->path, NULL), RS_OK);
    r.status = rs_metrics_read(r.m, &r.problems, &r.err);
    if (r.status != RS_OK) return r;
    assert_int_equal(rs_metrics_result(r.m, &r.result, NULL), RS_OK);
    assert_int_equal(rs_metrics_summary(r.m, &sink, NULL), RS_OK);
    if (rs_metrics_can_plot()) {
        char path[96];
        snprintf(path, sizeof path, "%.60s/picture", f->path);
        assert_int_equal(rs_metrics_plot(r.m, 0, path, NULL), RS_OK);
        unlink(path);
    }
    return r;
}

static void run_clear(run *r)
{
    rs_problems_clear(&r->problems);
    rs_result_clear(&r->result);
    rs_metrics_free(r->m);
    collected_clear(&r->summary);
}

static uint64_t told(const run *r, const char *kind)
{
    uint64_t n = 0;
    for (size_t i = 0; i < r->problems.n; i++)
        if (strcmp(r->problems.items[i].kind, kind) == 0) n += r->problems.items[i].count;
    return n;
}

static const rs_metrics_settings plain = {.size = sizeof(rs_metrics_settings), .skip_warmup = 2, .jobs = 1};

/* ---- files ------------------------------------------------------------------------------------------------ */

TEST(test_files)
{
    folder f = folder_make();
    text good = records(0, 12, ""), fewer = records(0, 7, ""), empty = {0};
    run r = read_folder(&f, &plain);
    assert_int_equal(r.status, RS_ERR_FORMAT); /* there is nothing */
    run_clear(&r);
    text_puts(&empty, "\n");
    folder_add(&f, "rank_0_metrics.jsonl", &good);
    folder_add(&f, "rank_01_metrics.jsonl", &fewer);
    folder_add(&f, "rank_2_metrics.jsonl", &empty);
    folder_add(&f, "rank_99999999999_metrics.jsonl", &good); /* no rank has that number */
    folder_add(&f, "rank_7_metrics.jsonl", NULL);            /* a folder */
    folder_add(&f, "rank_metrics.jsonl", &good);
    folder_add(&f, "other_3_metrics.jsonl", &good);
    r = read_folder(&f, &plain);
    assert_int_equal(r.status, RS_OK);
    assert_int_equal(r.m->datasets[0].n_series, 3);
    assert_int_equal(r.m->datasets[0].count, 19);
    assert_int_equal(r.m->datasets[0].used, 10 + 5);
    assert_int_equal(told(&r, "no_rank"), 2);
    assert_int_equal(told(&r, "no_records"), 1);
    assert_int_equal(told(&r, "fewer_steps"), 1);
    run_clear(&r);
    /* two files of one rank: which of them is it? */
    folder_add(&f, "rank_1_metrics.jsonl", &good);
    r = read_folder(&f, &plain);
    assert_int_equal(r.status, RS_ERR_AMBIGUOUS);
    run_clear(&r);
    folder_remove(&f);
    /* no file holds a record */
    f = folder_make();
    folder_add(&f, "rank_0_metrics.jsonl", &empty);
    r = read_folder(&f, &plain);
    assert_int_equal(r.status, RS_ERR_FORMAT);
    run_clear(&r);
    folder_remove(&f);
    r = read_folder(&(folder){.path = "/tmp/rs_folders_not_there"}, &plain);
    assert_int_equal(r.status, RS_ERR_IO);
    run_clear(&r);
    text_clear(&good);
    text_clear(&fewer);
    text_clear(&empty);
}

/* What is packed and damaged is left out by name, the rest is read. */
TEST(test_damaged_file)
{
    folder f = folder_make();
    text good = records(0, 400, ""), packed = gzip_pack(good.s, good.n, 6);
    folder_add(&f, "rank_0_metrics.jsonl.gz", &packed);
    packed.n /= 2;
    folder_add(&f, "rank_1_metrics.jsonl.gz", &packed);
    packed.s[3] = (char)0xff; /* no such header */
    packed.n = 40;
    folder_add(&f, "rank_2_metrics.jsonl.gz", &packed);
    text zst = zstd_pack(good.s, good.n);
    folder_add(&f, "rank_3_metrics.jsonl.zst", &zst);
    run r = read_folder(&f, &plain);
    assert_int_equal(r.status, RS_OK);
    assert_int_equal(r.m->datasets[0].series[0].n, 400);
    assert_int_equal(r.m->datasets[0].series[3].n, 400);
    assert_true(r.m->datasets[0].series[1].n < 400);
    assert_int_equal(rs_problems_worst(&r.problems), RS_LOSS);
    run_clear(&r);
    folder_remove(&f);
    text_clear(&good);
    text_clear(&packed);
    text_clear(&zst);
}

/* ---- lines ------------------------------------------------------------------------------------------------ */

#define RANGES(r) "{\"global_step\": 3, \"profile\": {\"total_ms\": 10, \"ranges\": [" r "]}}\n"
TEST(test_lines)
{
    static const struct {
        const char *line, *kind; /* what is told of it */
        size_t kept;
    } cases[] = {
        {RANGES("{\"stream\": \"compute\", \"start_ms\": 8, \"end_ms\": 12}"), "cut_range", 1},
        {RANGES("{\"stream\": \"compute\", \"start_ms\": -3, \"end_ms\": 2}"), "cut_range", 1},
        {RANGES("{\"stream\": \"compute\", \"start_ms\": 5, \"end_ms\": 5}"), "void_range", 1},
        {RANGES("{\"stream\": \"compute\", \"start_ms\": 5, \"end_ms\": 4}"), "void_range", 1},
        {RANGES("{\"stream\": \"compute\", \"start_ms\": 5}"), "void_range", 1},
        {RANGES("{\"stream\": \"compute\", \"start_ms\": \"5\", \"end_ms\": null}"), "void_range", 1},
        {RANGES("{\"stream\": \"compute\", \"start_ms\": NaN, \"end_ms\": 4}"), "void_range", 1},
        {"{\"global_step\": 3}\n", "no_profile", 0},
        {"{\"global_step\": 3, \"profile\": 5}\n", "no_profile", 0},
        {"{\"global_step\": 3, \"profile\": {\"total_ms\": -1, \"ranges\": []}}\n", NULL, 1},
        {"{\"global_step\": 3, \"profile\": {\"total_ms\": NaN, \"ranges\": []}}\n", "no_profile", 0},
        {"{\"global_step\": \"x\", \"profile\": {\"total_ms\": 1, \"ranges\": []}}\n", "no_global_step", 0},
        {"{\"global_step\": 1.5, \"profile\": {\"total_ms\": 1, \"ranges\": []}}\n", "no_global_step", 0},
        {"{\"profile\": {\"total_ms\": 1, \"ranges\": []}}\n", "no_global_step", 0},
        {"[1]\n", "bad_line", 0},
        {"{\"global_step\": 3,,}\n", "bad_line", 0},
        {"{\"global_step\": 3", "partial_line", 0},
        {"\n  \t\n", NULL, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        folder f = folder_make();
        text t = {0};
        add_record(&t, 1, "1", 10, "");
        add_record(&t, 2, "1", 10, "");
        text_puts(&t, cases[i].line);
        folder_add(&f, "rank_0_metrics.jsonl", &t);
        run r = read_folder(&f, &(rs_metrics_settings){.size = sizeof(rs_metrics_settings), .jobs = 1});
        assert_int_equal(r.status, RS_OK);
        if (r.m->datasets[0].count != 2 + cases[i].kept)
            fail_msg("%zu records: %s", r.m->datasets[0].count, cases[i].line);
        if (cases[i].kind && told(&r, cases[i].kind) != 1)
            fail_msg("no word of %s: %s", cases[i].kind, cases[i].line);
        if (!cases[i].kind) assert_int_equal(r.problems.n, 0);
        run_clear(&r);
        folder_remove(&f);
        text_clear(&t);
    }
}

/* ---- dips and sensors ------------------------------------------------------------------------------------- */

TEST(test_sensors)
{
    folder f = folder_make();
    text t = {0};
    for (int i = 0; i < 120; i++) {
        char more[200];
        bool slow = i >= 60 && i < 64;
        snprintf(
            more, sizeof more,
            ", \"rocm_smi_output\": \"GPU[0]\\t\\t: GPU use (%%): %d\\nGPU[0]\\t\\t: Temperature (Sensor junction) (C): %d.0\"",
            slow ? 20 : 90, slow ? 95 : 60);
        add_record(&t, i, "1", slow ? 40 : 10, i % 2 ? more : "");
    }
    folder_add(&f, "rank_0_metrics.jsonl", &t);
    run r = read_folder(&f, &plain);
    const rs_dataset *d = &r.m->datasets[0];
    assert_int_equal(r.status, RS_OK);
    assert_int_equal(d->n_dips, 1);
    assert_int_equal(d->dips[0].first_step, 60);
    assert_int_equal(d->dips[0].last_step, 63);
    assert_true(d->has_smi);
    assert_true(fabs(d->dips[0].ratio - 4) < 1e-9);
    assert_true(fabs(d->dips[0].smi[RS_SMI_USE] - 20) < 1e-6 && fabs(d->smi_outside[RS_SMI_USE] - 90) < 1e-6);
    assert_true(fabs(d->dips[0].smi[RS_SMI_TEMPERATURE] - 95) < 1e-6);
    assert_true(isnan(d->dips[0].smi[RS_SMI_CLOCK]));
    assert_non_null(strstr(r.summary.text, "sensors_outside_dips"));
    run_clear(&r);
    folder_remove(&f);
    text_clear(&t);
}

/* One rank is slower than all others, none communicates, all are equal, one step is endless: pictures and tables of each. */
TEST(test_shapes)
{
    static const char *const lines[] = {
        "{\"world_size\": 9, \"global_step\": %d, \"loss\": 1e400, \"profile\": {\"total_ms\": 10, \"ranges\": []}}\n",
        "{\"global_step\": %d, \"loss\": NaN, \"profile\": {\"total_ms\": 0, \"ranges\": []}}\n",
        "{\"global_step\": %d, \"loss\": -Infinity, \"profile\": {\"total_ms\": 1e300, \"ranges\": [{\"stream\": \"compute\", "
        "\"start_ms\": 0, \"end_ms\": 1e299}]}}\n",
        "{\"global_step\": %d, \"profile\": {\"total_ms\": 1e-9, \"ranges\": [{\"stream\": \"comm\", \"tag\": \"send\", "
        "\"start_ms\": 0, \"end_ms\": 1e-9}]}}\n",
    };
    for (size_t i = 0; i < COUNT(lines); i++)
        for (int n = 1; n < 30; n += 28) {
            folder f = folder_make();
            text t = {0}, slow = {0};
            for (int k = 0; k < n; k++) {
                text_printf(&t, lines[i], k);
                add_record(&slow, k, "2", k % 2 ? 30 : 10, "");
            }
            folder_add(&f, "rank_0_metrics.jsonl", &t);
            folder_add(&f, "rank_1_metrics.jsonl", &slow);
            folder_add(&f, "rank_2_metrics.jsonl", &slow);
            for (int aorta = 0; aorta < 2; aorta++) {
                run r = read_folder(&f, &(rs_metrics_settings){
                                            .size = sizeof(rs_metrics_settings), .jobs = 2, .aorta = aorta});
                assert_int_equal(r.status, RS_OK);
                assert_int_equal(r.m->datasets[0].count, 3 * n);
                for (size_t k = 0; k < r.result.n_tables; k++) assert_non_null(r.result.tables[k]);
                run_clear(&r);
            }
            folder_remove(&f);
            text_clear(&t);
            text_clear(&slow);
        }
}

/* ---- traces beside ---------------------------------------------------------------------------------------- */

static void add_step(text *t, int step, int at, const char *group)
{
    text_printf(
        t,
        "%s{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":100},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":50,"
        "\"args\":{\"stream\":7,\"device\":0}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum\","
        "\"pid\":0,\"tid\":8,\"ts\":%d,\"dur\":30,\"args\":{\"stream\":8,\"device\":0,\"Collective name\":\"%s\","
        "\"Process Group Name\":\"%s\",\"Process Group Description\":\"dp\"}}",
        t->n > 40 ? "," : "", step, at, at + 10, at + 40, group[0] == 'x' ? "allgather" : "allreduce", group);
}

static text trace(int from, int n, int stride, const char *group)
{
    text t = {0};
    text_puts(&t, "{\"traceEvents\":[");
    for (int i = 0; i < n; i++) {
        char own[16];
        snprintf(own, sizeof own, "%s%d", group, i % 3);
        add_step(&t, from + i * stride, 1000 + 200 * i, own);
    }
    text_puts(&t, "]}");
    return t;
}

static bool notes_have(const rs_result *r, const char *word)
{
    for (size_t i = 0; i < r->n_notes; i++)
        if (strstr(r->notes[i], word)) return true;
    return false;
}

TEST(test_traces)
{
    static const rs_metrics_settings with_traces = {
        .size = sizeof(rs_metrics_settings), .jobs = 1, .traces = true};
    text forty = {0};
    for (int i = 0; i < 40; i++) add_record(&forty, i * 2, "4", 10, "");
    folder f = folder_make();
    folder_add(&f, "rank_0_metrics.jsonl", &forty);
    run r = read_folder(&f, &with_traces);
    assert_true(notes_have(&r.result, "there are no traces"));
    run_clear(&r);
    /* rank 0: some steps have a record; 1: none has, so they are taken in order; 2: a trace alone; 3: no step at all */
    text some = trace(0, 6, 3, "a"), ordered = trace(1000, 3, 1, "x"), alone = trace(0, 2, 1, "b"),
         none = trace(0, 0, 1, "");
    folder_add(&f, "torch_profiler", NULL);
    folder_add(&f, "torch_profiler/rank", NULL);
    folder_add(&f, "torch_profiler/other", NULL);
    folder_add(&f, "torch_profiler/rank7x", NULL);
    folder_add(&f, "torch_profiler/rank_9", NULL); /* nothing in it */
    folder_add(&f, "torch_profiler/rank8", &some); /* a file of that name */
    folder_add(&f, "torch_profiler/rank3", NULL);
    folder_add(&f, "torch_profiler/rank3/a.json", &none);
    r = read_folder(&f, &with_traces);
    assert_true(notes_have(&r.result, "hold no training step"));
    run_clear(&r);
    folder_add(&f, "rank_1_metrics.jsonl", &forty);
    folder_add(&f, "torch_profiler/rank0", NULL);
    folder_add(&f, "torch_profiler/rank0/step_1.json", &alone);
    folder_add(&f, "torch_profiler/rank0/step_2.json", &some); /* the last by name is taken */
    folder_add(&f, "torch_profiler/rank0/.step_3.json", &alone);
    folder_add(&f, "torch_profiler/rank0/zzz.txt", &alone);
    folder_add(&f, "torch_profiler/rank_1", NULL);
    folder_add(&f, "torch_profiler/rank_1/t.json", &ordered);
    folder_add(&f, "torch_profiler/rank2", NULL);
    folder_add(&f, "torch_profiler/rank2/t.json", &alone);
    r = read_folder(&f, &with_traces);
    const rs_dataset *d = &r.m->datasets[0];
    assert_int_equal(r.status, RS_OK);
    assert_int_equal(d->n_traces, 4);
    assert_int_equal(d->traces[0].steps, 6);
    assert_int_equal(d->traces[0].n_matched, 3); /* steps 0, 6 and 12 are even */
    assert_true(d->traces[0].by_number);
    assert_int_equal(d->traces[1].n_matched, 3);
    assert_false(d->traces[1].by_number);
    assert_int_equal(d->n_pairs, 6);
    assert_true(notes_have(&r.result, "3 training steps of the trace have no record (3, 9, 15)"));
    assert_true(notes_have(&r.result, "37 of 40 records have no training step"));
    assert_true(notes_have(&r.result, "in order"));
    assert_true(notes_have(&r.result, "rank 2: there is a trace and no record"));
    /* the same kernels of several ranks are one row: three groups of three kinds */
    assert_int_equal(d->n_exposed, 8);
    for (size_t i = 1; i < d->n_exposed; i++)
        assert_true(d->exposed[i - 1].exposed_ns >= d->exposed[i].exposed_ns);
    run_clear(&r);
    folder_remove(&f);
    text_clear(&forty);
    text_clear(&some);
    text_clear(&ordered);
    text_clear(&alone);
    text_clear(&none);
}

/* ---- settings --------------------------------------------------------------------------------------------- */

static bool stop(void *context, uint64_t done, uint64_t total)
{
    (void)total;
    return done < *(uint64_t *)context;
}

TEST(test_settings)
{
    rs_metrics *m;
    char label[300];
    memset(label, 'a', sizeof label - 1);
    label[sizeof label - 1] = '\0';
    assert_int_equal(
        rs_metrics_create(&(rs_metrics_settings){.size = sizeof(rs_metrics_settings), .skip_warmup = -1}, &m,
                          NULL),
        RS_ERR_USAGE);
    assert_int_equal(
        rs_metrics_create(&(rs_metrics_settings){.size = sizeof(rs_metrics_settings), .between_run_sd = -0.1},
                          &m, NULL),
        RS_ERR_USAGE);
    assert_int_equal(rs_metrics_create(&(rs_metrics_settings){.size = sizeof(rs_metrics_settings),
                                                              .between_run_sd = (double)NAN},
                                       &m, NULL),
                     RS_ERR_USAGE);
    assert_int_equal(rs_metrics_create(&plain, &m, NULL), RS_OK);
    assert_int_equal(rs_metrics_add(m, label, "x", NULL), RS_ERR_USAGE);
    assert_int_equal(rs_metrics_add(m, "baseline", "x", NULL), RS_OK);
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_metrics_compare(m, "baselin", "baseline", &err), RS_ERR_USAGE);
    assert_non_null(strstr(err.causes[0].message, "did you mean baseline"));
    assert_int_equal(rs_metrics_compare(m, "baseline", "candidate", NULL), RS_ERR_USAGE);
    rs_metrics_free(m);
    /* the caller stops it */
    folder f = folder_make();
    text t = records(0, 12000, "");
    folder_add(&f, "rank_0_metrics.jsonl", &t);
    folder_add(&f, "rank_1_metrics.jsonl", &t);
    uint64_t limit = 1;
    run r = read_folder(&f, &(rs_metrics_settings){.size = sizeof(rs_metrics_settings),
                                                   .jobs = 2,
                                                   .progress = stop,
                                                   .progress_context = &limit});
    assert_int_equal(r.status, RS_ERR_CANCELLED);
    run_clear(&r);
    limit = UINT64_MAX;
    r = read_folder(&f, &(rs_metrics_settings){.size = sizeof(rs_metrics_settings),
                                               .jobs = 2,
                                               .progress = stop,
                                               .progress_context = &limit});
    assert_int_equal(r.status, RS_OK);
    assert_int_equal(r.m->datasets[0].count, 24000);
    run_clear(&r);
    folder_remove(&f);
    text_clear(&t);
}
