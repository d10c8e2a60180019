/* NCCL RAS: reports of known jobs in both forms, what they accuse and what not, alone, twice, with a log and with dumps; cut at
 * every place, damaged, and in three sizes. The forms are those of NCCL's documentation. */
#include <time.h>

#include "support.h"

#include "flight/ras.h"
#include "rankscope/flight.h"

#define GONE (-1) /* counts: the rank does not answer */
#define DEAD (-2)

/* A communicator of n ranks, four on a host, with what each has launched. */
static void put_report(text *t, const char *time, const int *counts, unsigned n, bool comma)
{
    text_printf(
        t,
        "{\n  \"nccl_version\": \"2.29.1\",\n  \"timestamp\": \"%s\",\n  \"communicators_count\": 1,\n"
        "  \"communicators\": [\n    {\n      \"hash\": \"0xae94\",\n      \"size\": %u,\n      \"ranks\": [",
        time, n);
    for (int pass = 0; pass < 2; pass++) {
        unsigned written = 0;
        if (pass) text_puts(t, "\n      ],\n      \"missing_ranks\": [");
        for (unsigned r = 0; r < n; r++) {
            if ((counts[r] < 0) != (pass == 1)) continue;
            text_printf(t, "%s\n        {\n          \"rank\": %u,\n          \"host\": \"10.0.0.%u\",\n",
                        written++ ? "," : "", r, r / 4 + 1);
            text_printf(t,
                        "          \"pid\": %u%s\n          \"cuda_dev\": %u,\n          \"nvml_dev\": %u,\n",
                        1000 + r, comma ? "," : "", r % 4, r % 4);
            if (pass)
                text_printf(
                    t, "          \"status\": {\"unresponsive\": true, \"considered_dead\": %s}\n        }",
                    counts[r] == DEAD ? "true" : "false");
            else
                text_printf(
                    t,
                    "          \"status\": {\"init_state\": 0, \"async_error\": 0, \"abort_flag\": false},\n"
                    "          \"collective_counts\": {\"Broadcast\": 2, \"AllReduce\": %d}\n        }",
                    counts[r]);
        }
    }
    text_puts(t, "\n      ]\n    }\n  ],\n  \"ras\": {\"timeouts_count\": 0}\n}\n");
}

typedef struct answer {
    rs_flight *flight;
    const rs_flight_report *report;
} answer;

static answer judge(const text *texts, const char *const *names, size_t n, const rs_flight_bytes *dumps,
                    size_t n_dumps)
{
    rs_flight_bytes evidence[4];
    rs_error err = RS_ERROR_INIT;
    answer a = {0};
    for (size_t i = 0; i < n; i++) evidence[i] = (rs_flight_bytes){texts[i].s, texts[i].n, -1, names[i]};
    rs_flight_settings settings = {.size = sizeof settings, .evidence = evidence, .n_evidence = n};
    rs_status status = n_dumps ? rs_flight_open_bytes(dumps, n_dumps, &settings, &a.flight, &err)
                               : rs_flight_open(NULL, 0, &settings, &a.flight, &err);
    assert_int_equal(status, RS_OK);
    assert_int_equal(rs_flight_get_report(a.flight, &a.report, &err), RS_OK);
    return a;
}

static void expect(answer a, rs_flight_verdict verdict, int64_t culprit, const char *says)
{
    if (a.report->root.verdict != verdict || a.report->root.n_culprits != (culprit >= 0) ||
        (culprit >= 0 && a.report->root.culprits[0] != culprit) || !strstr(a.report->root.summary, says))
        fail_msg("%s, %zu culprits: %s", rs_flight_verdict_name(a.report->root.verdict),
                 a.report->root.n_culprits, a.report->root.summary);
    rs_flight_close(a.flight);
}

static bool proves(answer a, const char *says)
{
    for (size_t i = 0; i < a.report->root.n_evidence; i++)
        if (strstr(a.report->root.evidence[i].text, says)) return true;
    return false;
}

/* ---- alone ------------------------------------------------------------------------------------------------ */

TEST(test_alone)
{
    static const struct {
        int counts[8];
        rs_flight_verdict verdict;
        int64_t culprit;
        const char *says;
    } cases[] = {
        {{6, 6, 6, 6, 6, 6, 6, 6}, RS_FLIGHT_HEALTHY, -1, "equally much"},
        {{6, 6, 6, 5, 6, 6, 6, 6}, RS_FLIGHT_HEALTHY, -1, "A job that runs looks so, too"},
        {{6, 6, 6, 6, 6, DEAD, 6, 6},
         RS_FLIGHT_CRASHED,
         5,
         "considered dead by NCCL RAS (process 1005 on 10.0.0.2, GPU 1)"},
        {{6, GONE, 6, 6, 6, 6, 6, 6},
         RS_FLIGHT_CRASHED,
         1,
         "does not answer NCCL RAS (process 1001 on 10.0.0.1, GPU 1)"},
        /* Who has launched less while one is gone waits for that one, or came too late to. */
        {{6, 6, 5, 6, 6, 6, 6, DEAD}, RS_FLIGHT_CRASHED, 7, "considered dead"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int comma = 0; comma < 2; comma++) {
            text t = {0};
            const char *name = "ras.json";
            put_report(&t, "2026-03-14 02:30:00", cases[i].counts, 8, comma);
            answer a = judge(&t, &name, 1, NULL, 0);
            assert_int_equal(rs_flight_problems(a.flight)->n, !comma); /* the commas that were filled in */
            expect(a, cases[i].verdict, cases[i].culprit, cases[i].says);
            text_clear(&t);
        }
}

/* Counts that are the same half a minute later are of a job that does not move. */
TEST(test_twice)
{
    static const char *const names[] = {"a.json", "b.json"};
    static const int now[] = {6, 6, 6, 5}, less[] = {5, 5, 5, 4};
    static const struct {
        const char *time;
        const int *before;
        bool stands;
    } cases[] = {{"2026-03-14 02:29:00", now, true},
                 {"2026-03-14 02:29:30", now, true},
                 {"2026-03-14 02:29:31", now, false},
                 {"2026-03-14 02:29:00", less, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text t[2] = {0};
        put_report(&t[0], "2026-03-14 02:30:00", now, 4, true);
        put_report(&t[1], cases[i].time, cases[i].before, 4, true);
        answer a = judge(t, names, 2, NULL, 0);
        expect(
            a, cases[i].stands ? RS_FLIGHT_RANK_MISSING : RS_FLIGHT_HEALTHY, cases[i].stands ? 3 : -1,
            "ank 3 has launched 5 AllReduce operations of communicator 0xae94 (4 ranks), 3 others up to 6");
        text_clear(&t[0]);
        text_clear(&t[1]);
    }
}

#define TIMEOUT                                                                                                    \
    "[rank2]:[E314 02:21:07.071 ProcessGroupNCCL.cpp:685] [Rank 2] Watchdog caught collective operation timeout: " \
    "WorkNCCL(SeqNum=6, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran\n"

TEST(test_with_a_log)
{
    static const char *const names[] = {"ras.json", "job.log"};
    static const int late[] = {6, 6, 6, 5}, level[] = {6, 6, 6, 6};
    for (int i = 0; i < 2; i++) {
        text t[2] = {0};
        put_report(&t[0], "2026-03-14 02:30:00", i ? level : late, 4, true);
        text_puts(&t[1], TIMEOUT);
        answer a = judge(t, names, 2, NULL, 0);
        if (i)
            expect(a, RS_FLIGHT_BAD_INPUT, -1, "The log shows a time-out, though");
        else
            expect(a, RS_FLIGHT_RANK_MISSING, 3, "the others wait for it");
        text_clear(&t[0]);
        text_clear(&t[1]);
    }
}

/* A log whose ranks are other processes than the report's: the older of both is of another attempt. */
TEST(test_other_attempt)
{
    static const char *const names[] = {"ras.json", "job.log"};
    static const int dead[] = {6, DEAD, 6, 6};
    static const struct {
        int first_pid;
        const char *time;
        int64_t culprit; /* 1: by RAS; 3: by the log */
        const char *foreign;
    } cases[] = {
        {1000, "00:10:00", 3, NULL},
        {7700, "00:10:00", 1, "job.log is of another attempt and is not used: rank 0 is process 7700"},
        {7700, "04:10:00", 3, "ras.json is of another attempt and is not used: rank 0 is process 7700"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text t[2] = {0};
        put_report(&t[0], "2026-03-14 02:30:00", dead, 4, true);
        for (int r = 0; r < 4; r++)
            text_printf(
                &t[1],
                "node00:%d:%d [%d] NCCL INFO comm 0x1 rank %d nranks 4 cudaDev %d busId %db000 commId 0x9\n",
                cases[i].first_pid + r, cases[i].first_pid + r, r, r, r, r + 1);
        text_printf(&t[1], "2026-03-14 %s [rank3]: Fatal Python error: Segmentation fault\n", cases[i].time);
        answer a = judge(t, names, 2, NULL, 0);
        if (cases[i].foreign) assert_true(proves(a, cases[i].foreign));
        assert_int_equal(a.report->root.culprits[0], cases[i].culprit);
        expect(a, RS_FLIGHT_CRASHED, cases[i].culprit, "");
        text_clear(&t[0]);
        text_clear(&t[1]);
    }
}

/* ---- text ------------------------------------------------------------------------------------------------- */

#define HEAD                                                                                                       \
    "Job summary\n===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n"                            \
    "(total)   per node  per process    (total)  (total)\n      4          8            1         32       32\n\n" \
    "Communicators... (2.05s)\n=============\n\n"                                                                  \
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"                                  \
    "    #  in group  per comm  per node  per comm  in group\n"

static const struct {
    const char *report;
    int64_t rank; /* that is said something of; -1 none */
    rs_fl_event_kind kind;
    const char *says;
} forms[] = {
    {HEAD
     "    0         8         4         1         4        32   RUNNING      OK\n\nErrors\n======\n\nWarnings\n========\n\n",
     -1, RS_FL_EV_LEVEL, NULL},
    {HEAD
     "    0         1         4       7-8        32        32   RUNNING  INCOMPLETE\n\nErrors\n======\n\nINCOMPLETE\n"
     "  Missing communicator data from 1 job process\n  Process 3487984 on node 172.16.64.213 managing GPU 5\n\n"
     "#0-0 (cf264af53edbe986) INCOMPLETE\n  Missing communicator data from 1 rank\n  The missing rank: 21\n\n",
     21, RS_FL_EV_UNREACHABLE, "does not answer"},
    {HEAD
     "    0         1         4       7-8        32        32   RUNNING  INCOMPLETE\n\nErrors\n======\n\n"
     "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
     "  Process 3487984 on node 172.16.64.213 managing GPU 5\n\n"
     "#0-0 (cf264af53edbe986) INCOMPLETE\n  Missing communicator data from 1 rank\n"
     "  Rank 21 -- GPU 5 managed by process 3487984 on node 172.16.64.213\n\n",
     21, RS_FL_EV_UNREACHABLE, "considered dead by NCCL RAS (process 3487984 on 172.16.64.213, GPU 5)"},
    {HEAD
     "    0         1         4         8        32        32   RUNNING  MISMATCH\n\nErrors\n======\n\nWarnings\n========\n\n"
     "#0-0 (27a079b828ff1a75) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
     "  30 ranks have launched up to operation 6650\n  2 ranks have launched up to operation 6649\n"
     "  Rank 3 -- GPU 3 managed by process 483076 on node 172.16.64.210\n"
     "  Rank 7 -- GPU 7 managed by process 483079 on node 172.16.64.210\n\n",
     7, RS_FL_EV_BEHIND,
     "has launched 6649 AllReduce operations of communicator 27a079b828ff1a75 (32 ranks), 30 others up to 6650"},
    {HEAD
     "    0         1         4         8        32        32   RUNNING  MISMATCH\n\nErrors\n======\n\nWarnings\n========\n\n"
     "#0-0 (27a079b828ff1a75) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
     "  31 ranks have launched up to operation 3\n"
     "  Rank 9 has not launched any operations -- GPU 1 (NVML 5) managed by process 7 on node a\n\n",
     9, RS_FL_EV_BEHIND, "has launched 0 AllReduce"},
};
#define N_FORMS (sizeof forms / sizeof *forms)

/* The statement about a rank after reading; NULL. */
static const rs_fl_event *heard(rs_flight *flight, int64_t rank, rs_fl_event_kind kind)
{
    for (size_t i = 0; flight->log && i < flight->log->n; i++)
        if (flight->log->events[i].rank == rank && flight->log->events[i].kind == kind)
            return &flight->log->events[i];
    return NULL;
}

TEST(test_text)
{
    for (size_t i = 0; i < N_FORMS; i++) {
        text t = {0};
        const char *name = "ras.txt";
        text_puts(&t, forms[i].report);
        answer a = judge(&t, &name, 1, NULL, 0);
        const rs_fl_event *e = heard(a.flight, forms[i].rank, forms[i].kind);
        if (!e || (forms[i].says && !strstr(rs_fl_text(a.flight, e->text), forms[i].says)))
            fail_msg("form %zu: %s", i, e ? rs_fl_text(a.flight, e->text) : a.report->root.summary);
        rs_flight_close(a.flight);
        text_clear(&t);
    }
}

/* ---- damage and cost -------------------------------------------------------------------------------------- */

/* A part of a report never accuses a rank that the whole does not. */
TEST(test_every_prefix)
{
    static const int counts[] = {6, 6, 6, 5, 6, DEAD};
    for (size_t f = 0; f <= N_FORMS; f++) {
        text t = {0};
        if (f < N_FORMS)
            text_puts(&t, forms[f].report);
        else
            put_report(&t, "2026-03-14 02:30:00", counts, 6, true);
        for (size_t cut = 64; cut < t.n; cut += RS_TEST_SLOW ? 17 : 1) {
            rs_error err = RS_ERROR_INIT;
            rs_flight_bytes part = {t.s, cut, -1, "ras"};
            rs_flight_settings settings = {.size = sizeof settings, .evidence = &part, .n_evidence = 1};
            const rs_flight_report *report;
            rs_flight *flight;
            rs_status status = rs_flight_open(NULL, 0, &settings, &flight, &err);
            assert_true(status == RS_OK || status == RS_ERR_FORMAT);
            assert_int_equal(rs_flight_get_report(flight, &report, &err), RS_OK);
            for (size_t i = 0; i < report->root.n_culprits; i++) {
                int64_t rank = report->root.culprits[i];
                bool fair = f == N_FORMS ? rank == 3 || rank == 5 : rank == forms[f].rank;
                if (!fair) fail_msg("form %zu cut at %zu: %s", f, cut, report->root.summary);
            }
            rs_flight_close(flight);
        }
        text_clear(&t);
    }
}

/* Reports of n, 2n and 4n ranks: each costs about twice as much as the one before. */
TEST(test_cost)
{
    double seconds[3];
    for (int i = 0; i < 3; i++) {
        unsigned n = 2000u << i;
        int *counts = calloc(n, sizeof *counts);
        text t = {0};
        const char *name = "ras.json";
        assert_non_null(counts);
        for (unsigned r = 0; r < n; r++) counts[r] = r % 7 == 1 ? GONE : r % 3 ? 6 : 5;
        put_report(&t, "2026-03-14 02:30:00", counts, n, true);
        seconds[i] = 1e9;
        for (int k = 0; k < 3; k++) {
            struct timespec a, b;
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
            rs_flight_close(judge(&t, &name, 1, NULL, 0).flight);
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
            double s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
            if (s < seconds[i]) seconds[i] = s;
        }
        text_clear(&t);
        free(counts);
    }
    print_message("2000, 4000, 8000 ranks: %.3f, %.3f, %.3f s\n", seconds[0], seconds[1], seconds[2]);
    /* Of four times the ranks 16 were quadratic. Caches make it up to 9. */
    if (seconds[2] > 10 * seconds[0] + 0.05) fail_msg("the cost grows faster than the report");
}

/* ---- with dumps ------------------------------------------------------------------------------------------- */

/* A rank's record of `n` calls in the group of all four, the last of them open. */
static void put_dump(text *t, int n, bool open)
{
    text_puts(
        t,
        "{\"version\":\"2.10\",\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":\"default_pg\",\"ranks\":\"[0,1,2,3]\"}},"
        "\"entries\":[");
    for (int i = 0; i < n; i++)
        text_printf(
            t,
            "%s{\"record_id\":%d,\"pg_id\":0,\"process_group\":[\"0\",\"default_pg\"],\"collective_seq_id\":%d,"
            "\"p2p_seq_id\":0,\"op_id\":%d,\"profiling_name\":\"nccl:all_reduce\",\"time_created_ns\":%lld,"
            "\"input_sizes\":[[4]],\"output_sizes\":[[4]],\"input_dtypes\":[\"Float\"],\"output_dtypes\":[\"Float\"],"
            "\"state\":\"%s\",\"is_p2p\":false,\"retired\":false}",
            i ? "," : "", i, i + 1, i + 1, (long long)(1773453600000000000 + i * 1000000),
            open && i == n - 1 ? "scheduled" : "completed");
    text_puts(t, "]}");
}

static answer with_dumps(const int *calls, const int *counts)
{
    static const char *const name = "ras.json";
    text dumps[4] = {0}, ras = {0};
    rs_flight_bytes bytes[4];
    size_t n = 0;
    for (int r = 0; r < 4; r++) {
        if (calls[r] < 0) continue; /* it left no dump */
        put_dump(&dumps[n], calls[r], calls[r] == 6);
        bytes[n] = (rs_flight_bytes){dumps[n].s, dumps[n].n, r, "dump"};
        n++;
    }
    put_report(&ras, "2026-03-14 02:30:00", counts, 4, true);
    answer a = judge(&ras, &name, 1, bytes, n);
    for (size_t i = 0; i < n; i++) text_clear(&dumps[i]);
    text_clear(&ras);
    return a;
}

TEST(test_with_dumps)
{
    static const int hang[] = {6, 6, 5, 6}, well[] = {5, 5, 5, 5}, lost[] = {6, -1, -1, 6};
    static const int agrees[] = {6, 6, 5, 6}, stale[] = {3, 3, 3, 3}, lies[] = {6, DEAD, 6, 6};
    answer a = with_dumps(hang, agrees);
    assert_true(proves(a, "NCCL RAS agrees (ras.json:"));
    expect(a, RS_FLIGHT_RANK_MISSING, 2, "Rank 2 stopped on its host");
    a = with_dumps(hang, stale);
    assert_true(proves(a, "NCCL RAS does not show the fault"));
    expect(a, RS_FLIGHT_RANK_MISSING, 2, "Rank 2 stopped on its host");
    a = with_dumps(hang, lies);
    assert_true(proves(a, "NCCL RAS says something else"));
    assert_true(proves(a, "To decide: "));
    expect(a, RS_FLIGHT_RANK_MISSING, 2, "Rank 2 stopped on its host");
    expect(with_dumps(well, stale), RS_FLIGHT_HEALTHY, -1, "Nothing is wrong");
    expect(with_dumps(well, agrees), RS_FLIGHT_HEALTHY, -1, "Nothing is wrong");
    expect(with_dumps(well, lies), RS_FLIGHT_HEALTHY, -1, "NCCL RAS says something else");
    /* Of two that left no dump, the one that NCCL has seen last. */
    a = with_dumps(lost, lies);
    assert_true(proves(a, "NCCL RAS agrees"));
    expect(a, RS_FLIGHT_DUMP_MISSING, 1, "is considered dead");
}
