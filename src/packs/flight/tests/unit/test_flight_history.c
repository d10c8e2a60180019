/* Attempts of one job whose ends are known, each looked at with the records of those before it: what to do is what a person who
 * knows them all would do. */
#include <dirent.h>
#include <unistd.h>

#include "support.h"

#include "rankscope/flight.h"

typedef struct attempt {
    unsigned minute, rank;
    const char *host;  /* NULL: no line maps ranks to hosts */
    const char *shard; /* the end of the exception's message; NULL: the GPU's Xid instead */
    int line;
    rs_flight_decision decision;
    const char *says;
} attempt;

static void put_log(text *t, const attempt *a)
{
    for (unsigned r = 0; r < 4; r++)
        text_printf(
            t,
            "%s:42%02u:42%02u [%u] NCCL INFO comm 0x1 rank %u nranks 4 cudaDev %u busId %ub000 commId 0x9\n",
            a->host && r == a->rank ? a->host : "other", r, r, r, r, r, r + 1);
    if (a->shard)
        text_printf(t,
                    "2026-03-14 02:%02u:00 [rank%u]: Traceback (most recent call last):\n"
                    "2026-03-14 02:%02u:00 [rank%u]:   File \"/app/loader.py\", line %d, in read\n"
                    "2026-03-14 02:%02u:00 [rank%u]: ValueError: bad shard %s\n",
                    a->minute, a->rank, a->minute, a->rank, a->line, a->minute, a->rank, a->shard);
    else
        text_printf(
            t,
            "2026-03-14 02:%02u:00 %s kernel: NVRM: Xid (PCI:0000:%ub:00): 79, GPU has fallen off the bus.\n",
            a->minute, a->host, a->rank + 1);
}

static bool to_text(void *context, const char *bytes, size_t n)
{
    text_add(context, bytes, n);
    return true;
}

static void look(const char *folder, const attempt *a)
{
    text t = {0}, record = {0};
    rs_flight_bytes log;
    rs_flight *flight;
    rs_error err = RS_ERROR_INIT;
    const rs_flight_report *report;
    char name[RS_FLIGHT_RECORD_NAME], path[200];
    rs_sink sink = {to_text, &record};
    put_log(&t, a);
    log = (rs_flight_bytes){t.s, t.n, -1, "job.log"};
    rs_flight_settings settings = {
        .size = sizeof settings, .evidence = &log, .n_evidence = 1, .history = folder};
    assert_int_equal(rs_flight_open(NULL, 0, &settings, &flight, &err), RS_OK);
    assert_int_equal(rs_flight_get_report(flight, &report, &err), RS_OK);
    if (report->decision != a->decision || !strstr(report->decision_text, a->says))
        fail_msg("attempt of minute %u: %s: %s", a->minute, rs_flight_decision_name(report->decision),
                 report->decision_text);
    assert_int_equal(report->decision_host != NULL, a->decision == RS_FLIGHT_RESTART_WITHOUT_HOST);
    assert_int_equal(rs_flight_write_record(flight, &sink, &err), RS_OK);
    rs_flight_name_record(flight, name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    text_save(&record, path);
    rs_flight_close(flight);
    text_clear(&record);
    text_clear(&t);
}

static void remove_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    closedir(dir);
    assert_int_equal(rmdir(folder), 0);
}

static void look_at_all(const attempt *attempts, size_t n, const char *damaged)
{
    char folder[] = "/tmp/rs_history_XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/flight-00.json", folder);
    text t = {0};
    text_puts(&t, damaged);
    text_save(&t, path);
    text_clear(&t);
    for (size_t i = 0; i < n; i++) look(folder, &attempts[i]);
    remove_folder(folder);
}

TEST(test_same_line)
{
    static const attempt attempts[] = {
        {1, 1, "a", "7", 88, RS_FLIGHT_RESTART, "the first record"},
        {1, 1, "a", "7", 88, RS_FLIGHT_RESTART, "the first record"}, /* the same attempt */
        {2, 3, "b", "9", 120, RS_FLIGHT_RESTART, "no host and no line ended 2 of 2 attempts"},
        {3, 2, "c", "8", 88, RS_FLIGHT_STOP, "2 of 3 attempts ended at /app/loader.py:88"},
    };
    look_at_all(attempts, sizeof attempts / sizeof *attempts, "{\"record\": 1, \"key\": ");
}

TEST(test_same_host)
{
    static const attempt attempts[] = {
        {1, 1, "bad", NULL, 0, RS_FLIGHT_RESTART_WITHOUT_HOST, "its machine is suspect (xid)"},
        {2, 3, "good", "9", 120, RS_FLIGHT_RESTART, "no host and no line"},
        {3, 2, "bad", NULL, 0, RS_FLIGHT_RESTART_WITHOUT_HOST, "without bad: 2 of 3 attempts ended there"},
    };
    look_at_all(attempts, sizeof attempts / sizeof *attempts, "");
}

/* A healthy look decides nothing and counts nothing. */
TEST(test_no_end)
{
    char folder[] = "/tmp/rs_history_XXXXXX";
    static const char record[] =
        "{\"version\":\"2.10\",\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":\"d\",\"ranks\":\"[0]\"}},\"entries\":[{"
        "\"record_id\":0,\"pg_id\":0,\"process_group\":[\"0\",\"d\"],\"collective_seq_id\":1,\"p2p_seq_id\":0,"
        "\"op_id\":1,\"profiling_name\":\"nccl:all_reduce\",\"time_created_ns\":1773453600000000000,"
        "\"input_sizes\":[[4]],\"output_sizes\":[[4]],\"input_dtypes\":[\"Float\"],\"output_dtypes\":[\"Float\"],"
        "\"state\":\"completed\",\"is_p2p\":false}]}";
    rs_flight_bytes dump = {record, sizeof record - 1, 0, "dump"};
    rs_flight *flight;
    const rs_flight_report *report;
    rs_error err = RS_ERROR_INIT;
    assert_non_null(mkdtemp(folder));
    rs_flight_settings settings = {.size = sizeof settings, .history = folder};
    assert_int_equal(rs_flight_open_bytes(&dump, 1, &settings, &flight, &err), RS_OK);
    assert_int_equal(rs_flight_get_report(flight, &report, &err), RS_OK);
    assert_int_equal(report->decision, RS_FLIGHT_GO_ON);
    rs_flight_close(flight);
    remove_folder(folder);
}
