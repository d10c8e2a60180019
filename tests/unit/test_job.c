/* Jobs that are asked more than once: what is kept, for how many bytes, and runs that were stopped. */
#include <string.h>

#include "base/memory.h"
#include "rankscope/job.h"
#include "unit.h"

static const char small[] = RS_SOURCE_DIR "/tests/data/small";
/* One event, and one that breaks off. */
static const char cut[] =
    "{\"traceEvents\": [{\"ph\":\"X\",\"ts\":1,\"dur\":5,\"name\":\"a\",\"cat\":\"kernel\","
    "\"pid\":0,\"tid\":7,\"args\":{\"stream\":7}}, {\"ph\":\"X\",\"ts\":2";

static rs_job *open_small(rs_job_settings settings)
{
    const char *paths[] = {small};
    rs_job *job = NULL;
    assert_int_equal(rs_job_open(paths, 1, &settings, &job, NULL), RS_OK);
    return job;
}

/* Runs breakdown; returns how many bytes of files that took. */
static uint64_t read_by_run(rs_job *job)
{
    uint64_t before = rs_job_get_stats(job).bytes_read;
    rs_result result;
    assert_int_equal(rs_job_run(job, rs_analysis_find("breakdown"), NULL, RS_COMPAT_NONE, &result, NULL),
                     RS_OK);
    assert_int_equal(rs_table_n_rows(result.tables[0]), 2);
    rs_result_clear(&result);
    return rs_job_get_stats(job).bytes_read - before;
}

TEST(test_keeps_what_fits)
{
    rs_job *job = open_small((rs_job_settings){.size = sizeof(rs_job_settings), .keep = true});
    uint64_t all = read_by_run(job);
    assert_true(all > 0);
    assert_int_equal(read_by_run(job), 0);
    rs_job_close(job);

    job = open_small((rs_job_settings){
        .size = sizeof(rs_job_settings), .keep = true, .keep_memory = 1}); /* room for no rank */
    assert_int_equal(read_by_run(job), all);
    assert_int_equal(read_by_run(job), all);
    rs_job_close(job);

    /* Room for one rank: the other is read again, each time. Events of so small a file take some hundred KiB.
     */
    uint64_t again = 0;
    for (uint64_t room = 4096; room < UINT64_C(1) << 32 && (again == 0 || again == all); room += room / 4) {
        job = open_small(
            (rs_job_settings){.size = sizeof(rs_job_settings), .keep = true, .keep_memory = room, .jobs = 1});
        assert_int_equal(read_by_run(job), all);
        again = read_by_run(job);
        assert_int_equal(read_by_run(job), again);
        rs_job_close(job);
        if (again == 0) break;
    }
    assert_true(again > 0 && again < all);

    job = open_small((rs_job_settings){.size = sizeof(rs_job_settings), .keep = false});
    assert_int_equal(read_by_run(job), all);
    assert_int_equal(read_by_run(job), all);
    rs_job_close(job);
}

/* Every run tells what was wrong with the input, not only the one that read it. */
TEST(test_problems_stay)
{
    for (int keep = 0; keep < 2; keep++) {
        rs_job_settings settings = {.size = sizeof(rs_job_settings), .keep = keep};
        rs_job *job;
        assert_int_equal(rs_job_open_bytes(cut, sizeof cut - 1, "cut", &settings, &job, NULL), RS_OK);
        uint64_t counts[3];
        for (int i = 0; i < 3; i++) {
            rs_result r;
            assert_int_equal(rs_job_run(job, rs_analysis_find("breakdown"), NULL, RS_COMPAT_NONE, &r, NULL),
                             RS_OK);
            assert_int_equal(rs_problems_worst(&r.problems), RS_LOSS);
            assert_string_equal(r.problems.items[0].file, "cut");
            counts[i] = 0;
            for (size_t k = 0; k < r.problems.n; k++) counts[i] += r.problems.items[k].count;
            rs_result_clear(&r);
        }
        assert_int_equal(counts[0], counts[1]);
        assert_int_equal(counts[0], counts[2]);
        rs_job_close(job);
    }
}

typedef struct stopper {
    bool stop;
    uint64_t most;
} stopper;

/* What breakdown says of a job: the ranks of its rows, and the first one's span in ns. */
static size_t ask(rs_job *job, int64_t *first_rank, double *span)
{
    rs_result r;
    assert_int_equal(rs_job_run(job, rs_analysis_find("breakdown"), NULL, RS_COMPAT_NONE, &r, NULL), RS_OK);
    size_t n = rs_table_n_rows(r.tables[0]);
    *first_rank = rs_table_int(r.tables[0], 0, 0);
    *span = rs_table_real(r.tables[0], 0, 1);
    rs_result_clear(&r);
    return n;
}

TEST(test_another_part_without_reading_again)
{
    rs_job *job = open_small((rs_job_settings){.size = sizeof(rs_job_settings), .keep = true});
    rs_job *alone = open_small((rs_job_settings){.size = sizeof(rs_job_settings), .steps = "10"});
    rs_job *next = open_small((rs_job_settings){.size = sizeof(rs_job_settings), .steps = "11"});
    rs_error err = RS_ERROR_INIT;
    int64_t rank;
    double whole, step, wanted, other;
    assert_int_equal(ask(job, &rank, &whole), 2);
    assert_int_equal(ask(alone, &rank, &wanted), 2);
    assert_int_equal(ask(next, &rank, &other), 2);
    uint64_t read = rs_job_get_stats(job).bytes_read;
    for (int round = 0; round < 3; round++) {
        assert_int_equal(rs_job_select(job, NULL, "10", NULL, NULL), RS_OK);
        assert_int_equal(ask(job, &rank, &step), 2);
        assert_true(step == wanted && step < whole);
        assert_int_equal(rs_job_select(job, NULL, "11", NULL, NULL), RS_OK); /* nothing of step 10 stays */
        assert_int_equal(ask(job, &rank, &step), 2);
        assert_true(step == other);
        assert_int_equal(rs_job_select(job, "1", "11", NULL, NULL), RS_OK); /* takes the place of the last */
        assert_int_equal(ask(job, &rank, &step), 1);
        assert_int_equal(rank, 1);
        assert_int_equal(rs_job_select(job, NULL, NULL, "0-20", NULL), RS_OK);
        assert_int_equal(ask(job, &rank, &step), 2);
        assert_true(step < whole);
        assert_int_equal(rs_job_select(job, NULL, "x", NULL, &err), RS_ERR_USAGE);
        assert_int_equal(ask(job, &rank, &step), 2); /* what it was opened with */
        assert_true(step == whole);
    }
    assert_int_equal(rs_job_get_stats(job).bytes_read, read);
    assert_int_equal(rs_job_select(job, "0", NULL, NULL, NULL), RS_OK);
    rs_job_close(job); /* while another part is chosen */
    rs_job_close(alone);
    rs_job_close(next);
}

static bool on_progress(void *context, uint64_t done, uint64_t total)
{
    stopper *s = context;
    assert_true(done <= total);
    if (done > s->most) s->most = done;
    return !s->stop;
}

TEST(test_stopped_and_run_again)
{
    stopper s = {.stop = true};
    rs_job *job = open_small(
        (rs_job_settings){.size = sizeof(rs_job_settings), .progress = on_progress, .progress_context = &s});
    rs_result r;
    assert_int_equal(rs_job_run(job, rs_analysis_find("breakdown"), NULL, RS_COMPAT_NONE, &r, NULL),
                     RS_ERR_CANCELLED);
    rs_result_clear(&r);
    s.stop = false;
    s.most = 0;
    uint64_t all = read_by_run(job);
    assert_int_equal(s.most, all);
    assert_int_equal(read_by_run(job), all);
    rs_job_close(job);
}

/* Where memory is missing, the message says for what: a word of these. */
TEST(test_words_without_memory)
{
    static const char *const words[] = {"job", "inputs"};
    const char *paths[] = {small};
    size_t seen[sizeof words / sizeof *words] = {0};
    for (uint64_t n = 1;; n++) {
        rs_error err = RS_ERROR_INIT;
        rs_job *job = NULL;
        char line[1024];
        rs_test_fail_allocation(n);
        rs_status status =
            rs_job_open(paths, 1, &(rs_job_settings){.size = sizeof(rs_job_settings), .jobs = 1}, &job, &err);
        rs_test_fail_allocation(0);
        rs_job_close(job);
        if (status == RS_OK) break;
        const char *text = rs_error_text(&err, line, sizeof line);
        bool known = false;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            size_t length = strlen(text), own = strlen(words[i]);
            bool is =
                length > own && strcmp(text + length - own, words[i]) == 0 && text[length - own - 1] == ' ';
            known |= is;
            seen[i] += is;
        }
        if (!known) fail_msg("%s", text);
    }
    assert_true(seen[0] && seen[1]);
}
