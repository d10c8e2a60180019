/* torchrun's attempts in a log: where each ends, what became of it, and that only the last one is judged. The real logs
 * of src/packs/flight/tests/data/torchrun are judged by tests/cli/cases/flight-attempts. */
#include "support.h"

#include "base/memory.h"
#include "flight/log.h"
#include "rankscope/flight.h"

#define AGENT(pid, time)                                                                                     \
    "W1123 02:" time ".000000 " pid " torch/distributed/elastic/multiprocessing/api.py:1028] "
#define STOPS(pid, time, rank) AGENT(pid, time) "Sending process " rank " closing signal SIGTERM\n"
#define FAILED(pid, time, rank, local)                                                                       \
    AGENT(pid, time)                                                                                         \
    "failed (exitcode: 7) local_rank: " local " (pid: " rank ") of binary: /opt/venv/bin/python\n"
#define GAVE_UP                                                                                              \
    "Traceback (most recent call last):\n  File \"/opt/venv/torch/distributed/run.py\", line 1, in main\n"   \
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
#define RAISED(rank)                                                                                         \
    "[rank" rank "]: Traceback (most recent call last):\n[rank" rank                                         \
    "]:   File \"/app/main.py\", line 9, in main\n"                                                          \
    "[rank" rank "]: KeyError: 'a'\n"

typedef struct named_log {
    const char *name, *text;
} named_log;

static rs_flight *read_logs(const named_log *logs, size_t n)
{
    rs_flight *flight;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_flight_open_bytes(NULL, 0, NULL, &flight, &err), RS_ERR_FORMAT);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rs_fl_read_log_bytes(flight, logs[i].text, strlen(logs[i].text), logs[i].name, &err),
                         RS_OK);
    assert_int_equal(rs_fl_resolve_log(flight, &err), RS_OK);
    return flight;
}

static const rs_flight_report *report_of(rs_flight *flight)
{
    const rs_flight_report *report;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_flight_get_report(flight, &report, &err), RS_OK);
    return report;
}

/* Outcomes as letters: r restarted, f failed, c cut off, d done, s stopped, n no failure. Attempts of the events as
 * digits. */
static void check(const named_log *logs, size_t n, const char *outcomes, const char *attempts)
{
    static const char letters[] = "rfcdsn";
    rs_flight *flight = read_logs(logs, n);
    const rs_fl_log *log = flight->log;
    assert_int_equal(log->n_attempts, strlen(outcomes));
    for (size_t i = 0; i < log->n_attempts; i++)
        assert_int_equal(letters[log->attempts[i].outcome], outcomes[i]);
    assert_int_equal(log->n, strlen(attempts));
    for (size_t i = 0; i < log->n; i++)
        assert_int_equal(log->events[i].attempt, attempts[i] == '-' ? -1 : attempts[i] - '0');
    rs_flight_close(flight);
}

TEST(test_outcomes)
{
    static const struct {
        const char *log, *outcomes, *attempts;
    } cases[] = {
        {"step 1\n", "n", ""},
        {RAISED("1"), "n", "0"},
        /* The log ends with the failure: it may have been cut. */
        {RAISED("1") FAILED("77", "24:44", "11", "1"), "c", "00"},
        {RAISED("1") FAILED("77", "24:44", "11", "1") GAVE_UP, "f", "000"},
        {RAISED("1")
             FAILED("77", "24:44", "11", "1") "train.py FAILED\nRoot Cause (first observed failure):\n[0]:\n",
         "f", "00"},
        /* A rank speaks again: torchrun started the job again, and says nothing of it at its usual level. */
        {RAISED("1") FAILED("77", "24:44", "11", "1") "step 0\n", "rn", "00"},
        {RAISED("1") FAILED("77", "24:44", "11", "1") "step 0\n" RAISED("2") FAILED("77", "24:50", "22", "2")
             GAVE_UP,
         "rf", "00111"},
        {FAILED("77", "24:44", "11", "1") AGENT(
             "77", "24:44") "[default] Worker group FAILED. 2/2 attempts left; will restart worker group\n",
         "rn", "0"},
        {FAILED("77", "24:44", "11", "1")
             AGENT("77", "24:45") "[default] Rendezvous complete for workers. Result:\n" AGENT(
                 "77", "24:59") "[default] worker group successfully finished. Waiting 300 seconds\n",
         "rd", "0"},
        /* Of PyTorch 1.9 to 2.2: no process, no time. */
        {"ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 17) of binary: p\n"
         "INFO:torch.distributed.elastic.agent.server.api:[default] Worker group FAILED. 3/3 attempts left; will "
         "restart worker group\nstep\n"
         "[2024-01-02 03:04:05,678] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1) "
         "local_rank: 2 (pid: 19) of binary: p\n" GAVE_UP,
         "rf", "011"},
        {"WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 5 closing signal SIGTERM\n"
         "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 7) of binary: p\n"
         "step\n"
         "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 8 closing signal SIGTERM\n"
         "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 9 closing signal SIGTERM\nstep\n",
         "rrn", "0011"},
        /* Another node's ranks failed: the agent only ends its own, and a second end is no part of it. */
        {STOPS("77", "24:45", "1") STOPS("77", "24:45", "2") "step 0\n" STOPS("77", "24:55", "3")
             FAILED("77", "24:56", "4", "1") "step 0\n",
         "rrn", "0011"},
        /* A rank that takes its time to end. */
        {STOPS("77", "24:10", "1") FAILED("77", "24:40", "4", "1") GAVE_UP, "f", "000"},
        /* Two agents in one log end an attempt in any order. */
        {FAILED("77", "24:44", "1", "0") "late\n" FAILED("78", "24:45", "2", "1") "step 0\n" RAISED("3")
             FAILED("78", "24:50", "3", "1") FAILED("77", "24:51", "4", "0") GAVE_UP,
         "rf", "001111"},
        {FAILED("77", "24:44", "1", "0") "step 0\n" AGENT("77", "25:00") "Received 15 death signal, shutting down workers\n" STOPS(
             "77", "25:00",
             "5") "torch.distributed.elastic.multiprocessing.api.SignalException: Process 77 got "
                  "signal: 15\n",
         "rs", "0111"},
        /* The scheduler tells that torchrun ended. */
        {FAILED("77", "24:44", "1", "0") "srun: error: node01: task 0: Exited with exit code 1\nstep 0\n",
         "f", "0"},
        /* Exit code 0 is no failure. */
        {AGENT("77", "24:44") "failed (exitcode: 0) local_rank: 1 (pid: 4) of binary: p\nstep 0\n", "n", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        named_log log = {"job.log", cases[i].log};
        check(&log, 1, cases[i].outcomes, cases[i].attempts);
    }
}

TEST(test_several_files)
{
    static const char agent[] = FAILED("77", "24:44", "1", "0") "step 0\n";
    static const char kernel[] = "Nov 23 02:20:00 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, x\n"
                                 "Nov 23 02:30:00 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, x\n";
    /* A log without an agent is parted by time, one without times by nothing. */
    check((const named_log[]){{"job.log", agent}, {"dmesg", kernel}}, 2, "rn", "001");
    check((const named_log[]){{"job.log", agent}, {"rank3.log", RAISED("3")}}, 2, "rn", "0-");
    /* torchrun's folders name the attempt. */
    check((const named_log[]){{"x/attempt_0/3/stderr.log", RAISED("3")},
                              {"x/attempt_1/3/stderr.log", "step 0\n"}},
          2, "rn", "0");
    /* Two nodes: the second one's ranks were ended by its agent, as the first one's failed. */
    check((const named_log[]){{"n0.log", FAILED("77", "24:44", "1", "0") "step 0\n" FAILED("77", "24:54", "3",
                                                                                           "0") GAVE_UP},
                              {"n1.log", STOPS("78", "24:45", "5") "step 0\n" STOPS("78", "24:55", "6")}},
          2, "rf", "01101");
}

TEST(test_what_is_judged)
{
    named_log log = {"job.log",
                     RAISED("1") STOPS("77", "24:44", "10") FAILED("77", "24:44", "11", "1") "step 0\n"};
    rs_flight *flight = read_logs(&log, 1);
    const rs_flight_report *report = report_of(flight);
    assert_int_equal(report->root.verdict, RS_FLIGHT_BAD_INPUT);
    assert_int_equal(report->n_findings, 1);
    assert_int_equal(report->n_attempts, 2);
    assert_int_equal(report->attempts[0].cause->rank, 1);
    assert_string_equal(report->attempts[0].cause->exception, "KeyError");
    assert_int_equal(report->attempts[0].n_lines, 5);
    assert_int_equal(report->attempts[0].n_events, 3);
    assert_int_equal(report->attempts[0].pid, 11);
    assert_int_equal(report->attempts[1].n_lines, 1);
    assert_true(report->attempts[1].judged);
    assert_non_null(strstr(report->root.summary,
                           "Attempt 0: rank 1 raised KeyError at /app/main.py:9: 'a' (job.log:3)."));
    /* No dump: the local rank is the job's, as all ranks that speak are among the agent's two. */
    assert_int_equal(flight->log->events[2].rank, 1);
    rs_flight_close(flight);

    log.text = RAISED("1") FAILED("77", "24:44", "11", "1") "step 0\n" RAISED("2")
        FAILED("77", "24:50", "12", "0") GAVE_UP;
    flight = read_logs(&log, 1);
    report = report_of(flight);
    assert_int_equal(report->root.verdict, RS_FLIGHT_CRASHED);
    assert_int_equal(report->n_roots, 1);
    assert_int_equal(report->roots[0].rank, 2);
    /* One rank at most is the agent's, and rank 2 spoke: whose local rank 0 is, is not known. */
    assert_int_equal(flight->log->events[1].rank, -1);
    rs_flight_close(flight);

    log.text = RAISED("1") FAILED("77", "24:44", "11", "1");
    flight = read_logs(&log, 1);
    assert_non_null(
        strstr(report_of(flight)->root.summary, "the log was cut, or the job was started again."));
    rs_flight_close(flight);

    log.text = "x\n" AGENT("77", "24:40") "  global_ranks=[4, 5]\n" FAILED(
        "77", "24:44", "11", "1") "step\n" FAILED("77", "24:50", "12", "0") GAVE_UP;
    flight = read_logs(&log, 1);
    assert_int_equal(flight->log->events[0].rank, 5);
    assert_int_equal(report_of(flight)->roots[0].rank, 4);
    rs_flight_close(flight);
}

/* Each allocation fails once. */
TEST(test_memory)
{
    const char *lines = RAISED("1") FAILED("77", "24:44", "11", "1") "step 0\n" RAISED("2")
        FAILED("77", "24:50", "12", "0") GAVE_UP;
    rs_status status = RS_ERR_NOMEM;
    for (unsigned nth = 1; nth < 1000 && status == RS_ERR_NOMEM; nth++) {
        rs_flight *flight;
        const rs_flight_report *report;
        rs_error err = RS_ERROR_INIT;
        assert_int_equal(rs_flight_open_bytes(NULL, 0, NULL, &flight, &err), RS_ERR_FORMAT);
        rs_test_fail_allocation(nth);
        status = rs_fl_read_log_bytes(flight, lines, strlen(lines), "job.log", &err);
        if (status == RS_OK) status = rs_fl_resolve_log(flight, &err);
        if (status == RS_OK) status = rs_flight_get_report(flight, &report, &err);
        rs_test_fail_allocation(0);
        if (status != RS_ERR_NOMEM) assert_int_equal(status, RS_OK);
        rs_flight_close(flight);
    }
    assert_int_equal(status, RS_OK);
}
