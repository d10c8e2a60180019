/* Logs by their grammar: each form of an event after each prefix and stamp, of which kind, rank and time are known;
 * the same lines cut at every place and with each byte changed. Whatever is no longer there is unknown, never something
 * else. */
#include "support.h"

#include "base/memory.h"
#include "flight/log.h"
#include "rankscope/flight.h"
#include "sink.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Where the four ranks sit; busIds are 1b000 and 3b000 on both hosts. */
#define SEATS                                                                                                \
    "node00:4200:4200 [0] NCCL INFO comm 0x1 rank 0 nranks 4 cudaDev 0 busId 1b000 commId 0x9\n"             \
    "node00:4201:4201 [1] NCCL INFO comm 0x2 rank 1 nranks 4 cudaDev 1 busId 3b000 commId 0x9\n"             \
    "node01:4210:4210 [0] NCCL INFO comm 0x3 rank 2 nranks 4 cudaDev 0 busId 1B000 commId 0x9\n"             \
    "node01:4211:4211 [1] NCCL INFO comm 0x4 rank 3 nranks 4 cudaDev 1 busId 3B000 commId 0x9\n"

#define NONE RS_FL_N_EVENTS

/* What a line says of itself, without a prefix. */
static const struct message {
    const char *text;
    rs_fl_event_kind kind; /* NONE: it is no event */
    int64_t rank;          /* -1: it does not say */
    int64_t code;          /* INT64_MIN: none */
    const char *what;      /* its text; NULL: none */
    int64_t seq;           /* RS_FL_UNKNOWN: none */
} messages[] = {
    {"NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.", RS_FL_EV_XID, -1, 79,
     "pid=1, GPU has fallen off the bus.", RS_FL_UNKNOWN},
    {"NVRM: Xid (PCI:0000:3b:00 extra): 31,pid=1", RS_FL_EV_XID, -1, 31, "pid=1", RS_FL_UNKNOWN},
    {"node01 amdgpu 0000:1b:00.0: ring gfx_0 timeout, signaled", RS_FL_EV_AMDGPU, -1, INT64_MIN, "gfx_0",
     RS_FL_UNKNOWN},
    {"amdgpu 0000:1b:00.0: [gfxhub] page fault", RS_FL_EV_AMDGPU, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"amdgpu 0000:1b:00.0: Hang detected", RS_FL_EV_AMDGPU, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"amdgpu 0000:1b:00.0: amdgpu: RAS event: uncorrectable hardware errors", RS_FL_EV_AMDGPU, -1, INT64_MIN,
     NULL, RS_FL_UNKNOWN},
    {"slurmstepd: error: Detected 2 oom_kill events in StepId=9.0", RS_FL_EV_HOST_OOM, -1, INT64_MIN, NULL,
     RS_FL_UNKNOWN},
    {"slurmstepd: error: Detected 2 oom-kill events in step 9.0", RS_FL_EV_HOST_OOM, -1, INT64_MIN, NULL,
     RS_FL_UNKNOWN},
    {"srun: error: node01: task 3: Out Of Memory", RS_FL_EV_HOST_OOM, 3, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"srun: error: node01: tasks 1-2: Out Of Memory", RS_FL_EV_HOST_OOM, 1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"srun: error: node01: tasks all: Out Of Memory", RS_FL_EV_HOST_OOM, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"Out of memory: Killed process 4201 (python)", RS_FL_EV_HOST_OOM, 1, INT64_MIN, "python", RS_FL_UNKNOWN},
    {"RuntimeError: DataLoader worker (pid(s) 7) is killed by signal: Killed.", RS_FL_EV_HOST_OOM, -1,
     INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"  reason: OOMKilled", RS_FL_EV_HOST_OOM, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"Node failure on node01", RS_FL_EV_NODE_FAILURE, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"*** STEP 9.0 DUE TO NODE FAILURE, SEE SLURMCTLD LOG ***", RS_FL_EV_NODE_FAILURE, -1, INT64_MIN, NULL,
     RS_FL_UNKNOWN},
    {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", RS_FL_EV_CUDA_OOM, -1,
     INT64_MIN, "2.00 GiB.", RS_FL_UNKNOWN},
    {"HIP out of memory. Tried to allocate 3 MiB", RS_FL_EV_CUDA_OOM, -1, INT64_MIN, "3 MiB", RS_FL_UNKNOWN},
    {"CUDA error: device-side assert triggered", RS_FL_EV_CUDA_ERROR, -1, INT64_MIN,
     "device-side assert triggered", RS_FL_UNKNOWN},
    {"CUDA error: out of memory", NONE, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"HIP error: invalid device", RS_FL_EV_CUDA_ERROR, -1, INT64_MIN, "invalid device", RS_FL_UNKNOWN},
    {"Cuda failure 'unhandled'", RS_FL_EV_CUDA_ERROR, -1, INT64_MIN, "unhandled", RS_FL_UNKNOWN},
    {"Cuda failure 700 'illegal address'", RS_FL_EV_CUDA_ERROR, -1, INT64_MIN, "illegal address",
     RS_FL_UNKNOWN},
    {"NET/IB : Got completion from peer 1 with status=12 opcode=0", RS_FL_EV_NETWORK, -1, 12, NULL,
     RS_FL_UNKNOWN},
    {"NET/IB: Got completion from peer 1 with error 5", RS_FL_EV_NETWORK, -1, 5, NULL, RS_FL_UNKNOWN},
    {"NCCL WARN Call to connect failed : Connection refused", RS_FL_EV_NETWORK, -1, INT64_MIN,
     "Call to connect failed : Connection refused", RS_FL_UNKNOWN},
    {"NCCL WARN Call to ibv_poll_cq failed", RS_FL_EV_NETWORK, -1, INT64_MIN, "Call to ibv_poll_cq failed",
     RS_FL_UNKNOWN},
    {"NCCL WARN mlx5_0:1 Port down", RS_FL_EV_NETWORK, -1, INT64_MIN, "mlx5_0:1 Port down", RS_FL_UNKNOWN},
    {"NCCL WARN no such plugin", NONE, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"ncclRemoteError: A call failed possibly due to a network error", RS_FL_EV_NETWORK, -1, INT64_MIN, NULL,
     RS_FL_UNKNOWN},
    {"ncclRemoteError: A call to an async function failed", NONE, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"Fatal Python error: Segmentation fault", RS_FL_EV_SEGFAULT, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"Fatal Python error: Bus error", RS_FL_EV_SEGFAULT, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"failed (exitcode: -9) local_rank: 1 (pid: 4211) of binary: x", RS_FL_EV_KILLED, 3, -9, NULL,
     RS_FL_UNKNOWN},
    {"failed (exitcode: -11) local_rank: 0 (pid: 4210) of binary: x", RS_FL_EV_SEGFAULT, 2, -11, NULL,
     RS_FL_UNKNOWN},
    {"failed (exitcode: -6) local_rank: 0 (pid: 4210) of binary: x", RS_FL_EV_ABORT, 2, -6, NULL,
     RS_FL_UNKNOWN},
    {"failed (exitcode: 1) local_rank: 0 (pid: 4210) of binary: x", RS_FL_EV_EXIT, 2, 1, NULL, RS_FL_UNKNOWN},
    {"failed (exitcode: 0) local_rank: 0 (pid: 4210) of binary: x", NONE, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"ProcessGroupNCCL's watchdog got stuck for 480 seconds without making", RS_FL_EV_GIL, -1, INT64_MIN,
     "480", RS_FL_UNKNOWN},
    {"Could not acquire GIL within 300 ms on exit", RS_FL_EV_GIL, -1, INT64_MIN, "300", RS_FL_UNKNOWN},
    {"*** STEP 9.0 ON node00 CANCELLED AT 2026-03-14T02:11:09 DUE TO PREEMPTION ***", RS_FL_EV_CANCELLED, -1,
     INT64_MIN, "DUE TO PREEMPTION ***", RS_FL_UNKNOWN},
    {"Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=RECV, x", RS_FL_EV_TIMEOUT, -1,
     INT64_MIN, "RECV", 7},
    {"failure detected by watchdog at work sequence id: 9 PG status: last enqueued work: 12, last completed work: 8",
     RS_FL_EV_TIMEOUT, -1, INT64_MIN, NULL, 9},
    {"Received a dump signal due to a collective timeout from this local rank", RS_FL_EV_TIMEOUT, -1,
     INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"Timed out waiting 1000ms for send", RS_FL_EV_TIMEOUT, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"First PG on this rank to signal dumping.", RS_FL_EV_FIRST_DUMP, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"Heartbeat monitor timed out!", RS_FL_EV_HEARTBEAT, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"To avoid data inconsistency, we are taking the entire process down.", RS_FL_EV_ABORT, -1, INT64_MIN,
     NULL, RS_FL_UNKNOWN},
    {"Sending process 4200 closing signal SIGTERM", RS_FL_EV_SIGNAL, 0, INT64_MIN, "SIGTERM", RS_FL_UNKNOWN},
    {"SignalException: Process 4200 got signal: 15", RS_FL_EV_SIGNAL, 0, 15, NULL, RS_FL_UNKNOWN},
    {"DistBackendError: NCCL communicator was aborted on rank 2.", RS_FL_EV_ABORTED, -1, INT64_MIN, NULL,
     RS_FL_UNKNOWN},
    {"gloo/transport/tcp/pair.cc:534] Connection closed by peer", RS_FL_EV_ABORTED, -1, INT64_MIN, NULL,
     RS_FL_UNKNOWN},
    {"recvValue failed on SocketImpl", RS_FL_EV_STORE, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"Failed to recv, got 0 bytes", RS_FL_EV_STORE, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"step 12 loss 3.25 lr 0.1", NONE, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
    {"", NONE, -1, INT64_MIN, NULL, RS_FL_UNKNOWN},
};

/* Who is in front of a line. */
static const struct prefix {
    const char *text;
    int64_t rank, task, local, pid;
    const char *host;
} prefixes[] = {
    {"", -1, -1, -1, -1, NULL},
    {"[rank2]: ", 2, -1, -1, -1, NULL},
    {"[rank2]:", 2, -1, -1, -1, NULL},
    {"[default1]:", -1, -1, 1, -1, NULL},
    {"3: ", -1, 3, -1, -1, NULL},
    {"   12: ", -1, 12, -1, -1, NULL},
    {"12: [rank1]: ", 1, 12, -1, -1, NULL},
    {"(Worker pid=4210, ip=10.0.0.3) ", -1, -1, -1, 4210, "10.0.0.3"},
    {"(RayTrainWorker[rank=1] pid=77)", 1, -1, -1, 77, NULL},
    {"job-worker-3 | ", -1, -1, -1, -1, "job-worker-3"},
    {"job.x-master-0: ", -1, -1, -1, -1, "job.x-master-0"},
};

#define SECOND INT64_C(1000000000)
#define MARCH_14 (INT64_C(1773446400) * SECOND) /* 2026-03-14T00:00:00Z */
#define YEARLESS ((INT64_C(730) + 31 + 29 + 13) * 86400 * SECOND)
#define CLOCK ((INT64_C(2) * 3600 + 11 * 60 + 8) * SECOND)

static const struct stamp {
    const char *text;
    int64_t time;        /* 0: none is told */
    bool yearless, last; /* last: it is after all prefixes, on the line itself */
} stamps[] = {
    {"", 0, false, false},
    {"2026-03-14T02:11:08.071Z ", MARCH_14 + CLOCK + 71000000, false, false},
    {"2026-03-14 02:11:08,5 ", MARCH_14 + CLOCK + 500000000, false, false},
    {"2026-03-14T02:11:08 ", MARCH_14 + CLOCK, false, false},
    {"2026-03-14T02:11:08+02:00 ", MARCH_14 + CLOCK - 7200 * SECOND, false, false},
    {"2026-03-14T02:11:08-0530 ", MARCH_14 + CLOCK + 19800 * SECOND, false, false},
    {"[E314 02:11:08.071 P.cpp:1] ", YEARLESS + CLOCK + 71000000, true, true},
    {"W0314 02:11:08.071 77 x.py:9] ", YEARLESS + CLOCK + 71000000, true, true},
    /* of no such month, day or year */
    {"2026-13-14T02:11:08Z ", 0, false, true},
    {"2026-03-32T02:11:08Z ", 0, false, true},
    {"1912-03-14T02:11:08Z ", 0, false, true},
    {"E1314 02:11:08.071 ", 0, false, true},
    {"E0300 02:11:08.071 ", 0, false, true},
};

static rs_flight *read_log(const char *log, size_t n)
{
    rs_flight *flight;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_flight_open_bytes(NULL, 0, NULL, &flight, &err), RS_ERR_FORMAT);
    assert_int_equal(rs_fl_read_log_bytes(flight, log, n, "job.log", &err), RS_OK);
    assert_int_equal(rs_fl_resolve_log(flight, &err), RS_OK);
    return flight;
}

static const char *text_of(const rs_flight *flight, uint32_t id)
{
    return id == RS_FL_NONE ? NULL : rs_fl_text(flight, id);
}

static void expect_text(const rs_flight *flight, uint32_t id, const char *want, const char *line)
{
    const char *is = text_of(flight, id);
    if (!want != !is || (want && strcmp(want, is) != 0)) fail_msg("%s: %s", line, is ? is : "no text");
}

/* ---- whole lines ---------------------------------------------------------------------------------------- */

static void expect_line(const struct prefix *p, const struct stamp *s, const struct message *m)
{
    char line[600];
    snprintf(line, sizeof line, "%s%s%s\n", s->last ? p->text : s->text, s->last ? s->text : p->text,
             m->text);
    rs_flight *flight = read_log(line, strlen(line));
    const rs_fl_log *log = flight->log;
    if (log->n != (m->kind != NONE)) fail_msg("%zu events in %s", log->n, line);
    if (log->n) {
        const rs_fl_event *e = &log->events[0];
        if (e->kind != m->kind) fail_msg("%s in %s", rs_fl_event_kind_name((rs_fl_event_kind)e->kind), line);
        if (e->time_ns != s->time || e->yearless != s->yearless)
            fail_msg("time %lld in %s", (long long)e->time_ns, line);
        if (e->who.rank != p->rank || e->who.task != p->task) fail_msg("another speaker: %s", line);
        if (e->code != m->code || e->seq != m->seq) fail_msg("another number: %s", line);
        expect_text(flight, e->text, m->what, line);
        /* a number of the line itself goes before that of its prefix */
        if (p->pid >= 0 && !strstr(m->text, "rocess 4") && !strstr(m->text, "pid: "))
            assert_int_equal(e->who.pid, p->pid);
        if (p->local >= 0 && !strstr(m->text, "local_rank")) assert_int_equal(e->who.local, p->local);
        if (p->host && e->host != RS_FL_NONE && !strstr(m->text, "node01"))
            expect_text(flight, e->host, p->host, line);
    }
    rs_flight_close(flight);
}

TEST(test_lines)
{
    for (size_t p = 0; p < COUNT(prefixes); p++)
        for (size_t s = 0; s < COUNT(stamps); s++)
            for (size_t m = 0; m < COUNT(messages); m++)
                if (!RS_TEST_SLOW || (p + s + m) % 7 == 0)
                    expect_line(&prefixes[p], &stamps[s], &messages[m]);
}

/* Behind the seats: the process, the address or the task says which rank it was; the job's verdict names that one. */
TEST(test_ranks)
{
    for (size_t m = 0; m < COUNT(messages); m++) {
        text t = {0};
        const rs_flight_report *report;
        rs_error err = RS_ERROR_INIT;
        collected json = {0};
        rs_sink sink = {collect, &json};
        text_printf(&t, "%s%s\n", SEATS, messages[m].text);
        rs_flight *flight = read_log(t.s, t.n);
        assert_int_equal(flight->log->n_seats, 4);
        assert_int_equal(flight->log->world, 4);
        assert_int_equal(flight->log->n_hosts, 2);
        assert_int_equal(flight->log->n, messages[m].kind != NONE);
        assert_int_equal(rs_flight_get_report(flight, &report, &err), RS_OK);
        assert_int_equal(rs_flight_write_json(flight, &sink, &err), RS_OK);
        rs_table *table = rs_flight_log(flight, &err);
        assert_int_equal(rs_table_n_rows(table), flight->log->n);
        rs_table_free(table);
        if (flight->log->n) {
            const rs_fl_event *e = &flight->log->events[0];
            if (e->rank != messages[m].rank) fail_msg("rank %lld: %s", (long long)e->rank, messages[m].text);
            bool origin = rs_fl_event_role(messages[m].kind) == RS_FL_ORIGIN;
            /* what struck nobody in particular accuses nobody */
            if (origin && e->rank >= 0 && !report->cause) fail_msg("no cause: %s", messages[m].text);
            if (!origin && report->cause) fail_msg("a cause: %s", messages[m].text);
            if (report->cause) {
                assert_string_equal(report->cause->kind, rs_fl_event_kind_name(messages[m].kind));
                assert_int_equal(report->root.verdict, RS_FLIGHT_CRASHED);
                assert_int_equal(report->cause->rank, e->rank);
                assert_non_null(strstr(json.text, report->cause->kind));
            }
        } else {
            assert_null(report->cause);
        }
        collected_clear(&json);
        rs_flight_close(flight);
        text_clear(&t);
    }
}

/* ---- damaged lines -------------------------------------------------------------------------------------- */

/* What a number becomes when its end is cut off, or a byte in it changes, is not known: everything else is as it was or
 * unknown. */
static void expect_damaged(const char *line, size_t n, const struct prefix *p, const struct message *m)
{
    rs_flight *flight = read_log(line, n);
    for (size_t i = 0; i < flight->log->n; i++) {
        const rs_fl_event *e = &flight->log->events[i];
        bool exits = m->kind == RS_FL_EV_KILLED || m->kind == RS_FL_EV_SEGFAULT ||
                     m->kind == RS_FL_EV_ABORT || m->kind == RS_FL_EV_EXIT;
        bool is_exit = e->kind == RS_FL_EV_KILLED || e->kind == RS_FL_EV_SEGFAULT ||
                       e->kind == RS_FL_EV_ABORT || e->kind == RS_FL_EV_EXIT;
        /* a text that is not an event for one of its words may be one without that word */
        if (m->kind != NONE && e->kind != m->kind && !(exits && is_exit) && e->kind != RS_FL_EV_STORE &&
            e->kind != RS_FL_EV_NETWORK && e->kind != RS_FL_EV_ABORTED)
            fail_msg("%s of %.*s", rs_fl_event_kind_name((rs_fl_event_kind)e->kind), (int)n, line);
        if (p->rank < 0 && e->who.rank >= 0)
            fail_msg("rank %lld of %.*s", (long long)e->who.rank, (int)n, line);
        if (p->task < 0 && e->who.task >= 0)
            fail_msg("task %lld of %.*s", (long long)e->who.task, (int)n, line);
        assert_true(e->time_ns >= 0);
    }
    rs_flight_close(flight);
}

TEST(test_damaged_lines)
{
    static const char other[] = {'x', ' ', '9', ':', ']', '-', '\0', '\x1b', '\xff', '('};
    for (size_t m = 0; m < COUNT(messages); m += RS_TEST_SLOW ? 5 : 1)
        for (size_t turn = 0; turn < 3; turn++) {
            const struct prefix *p = &prefixes[(m + 4 * turn) % COUNT(prefixes)];
            const struct stamp *s = &stamps[(m / 2 + 5 * turn) % COUNT(stamps)];
            char line[600];
            size_t n = (size_t)snprintf(line, sizeof line, "%s%s%s", s->last ? p->text : s->text,
                                        s->last ? s->text : p->text, messages[m].text);
            for (size_t cut = 0; cut < n; cut++) expect_damaged(line, cut, p, &messages[m]);
            for (size_t at = 0; at < n; at++) {
                char was = line[at];
                line[at] = other[(at + m) % sizeof other];
                expect_damaged(line, n, p, &messages[m]);
                line[at] = was;
            }
        }
}

/* Seats with each byte changed or cut off: a rank beyond the number of ranks is none, and no other line's seat moves. */
TEST(test_damaged_seats)
{
    static const char seat[] =
        "node01:4211:4211 [1] NCCL INFO comm 0x4 rank 3 nranks 4 cudaDev 1 busId 3B000 commId 0x9";
    static const char other[] = {'x', ' ', '9', ':', '-', '\xff'};
    for (size_t at = 0; at + 1 < sizeof seat; at++)
        for (size_t k = 0; k <= sizeof other; k++) {
            text t = {0};
            text_puts(&t, SEATS);
            t.n -= sizeof seat; /* the last of them is the one that is damaged */
            size_t begin = t.n;
            text_add(&t, seat, k < sizeof other ? sizeof seat - 1 : at);
            if (k < sizeof other) t.s[begin + at] = other[k];
            rs_flight *flight = read_log(t.s, t.n);
            const rs_fl_log *log = flight->log;
            assert_int_equal(log->n, 0);
            bool larger = log->world > 4;
            if (larger) assert_int_equal(log->n_seats, 1); /* it alone is of a job of that size */
            if (!larger) assert_true(log->n_seats >= 3);
            for (size_t i = 0; i < log->n_seats; i++) {
                assert_true(log->seats[i].rank >= 0 && log->seats[i].rank < log->world);
                if (!larger && log->seats[i].rank < 3 && log->n_seats == 4)
                    assert_int_equal(log->seats[i].pid,
                                     4200 + (log->seats[i].rank & 1) + 10 * (log->seats[i].rank >> 1));
            }
            rs_flight_close(flight);
            text_clear(&t);
        }
}

/* ---- whose it was ----------------------------------------------------------------------------------------- */

/* A dump that knows a group of two of the four ranks, written at a time of 2025, which is no leap year. */
static const char dump[] =
    "{\"version\":\"2.10\",\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":\"default_pg\",\"ranks\":\"[0,1,2,3]\"},"
    "\"8\":{\"name\":\"8\",\"desc\":\"tp\",\"ranks\":\"[1,3]\"}},\"entries\":[{\"record_id\":0,\"pg_id\":0,"
    "\"process_group\":[\"0\",\"default_pg\"],\"collective_seq_id\":1,\"p2p_seq_id\":0,\"profiling_name\":\"nccl:all_reduce\","
    "\"time_created_ns\":1741046400000000000,\"input_sizes\":[[4]],\"output_sizes\":[[4]],\"input_dtypes\":[\"Float\"],"
    "\"output_dtypes\":[\"Float\"],\"state\":\"completed\",\"is_p2p\":false}]}";
#define BIT "CUDA error: x\n"
#define ONE_HOST                                                                                             \
    "node00:4200:4200 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1b000 commId 0x9\n"             \
    "node00:4201:4201 [1] NCCL INFO comm 0x2 rank 1 nranks 2 cudaDev 1 busId 3b000 commId 0x9\n"
#define OTHER_COMMUNICATOR                                                                                   \
    "node00:4201:4201 [1] NCCL INFO comm 0x2 rank 0 nranks 2 cudaDev 1 busId 3b000 commId 0x9\n"

TEST(test_whose)
{
    static const struct {
        const char *log, *name;
        bool with_dump;
        int64_t rank; /* of the last event */
        const char *host;
    } cases[] = {
        /* a local rank: on the only host, on that of the node's task, or nobody knows where */
        {ONE_HOST "[default1]:" BIT, "job.log", false, 1, "node00"},
        {SEATS "[default1]:" BIT, "job.log", false, -1, NULL},
        {SEATS "0: a\n1: [default1]:" BIT, "job.log", false, 3, "node01"},
        {SEATS "0: a\n1: [default7]:" BIT, "job.log", false, -1, "node01"},
        {SEATS "0: a\n9: [default1]:" BIT, "job.log", false, -1, NULL},
        {"[default1]:" BIT, "job.log", false, -1, NULL},
        /* tasks are ranks where there are as many, and nodes where there are fewer */
        {SEATS "0: a\n1: b\n2: c\n3: " BIT, "job.log", false, 3, NULL},
        {SEATS "0: a\n1: " BIT, "job.log", false, -1, "node01"},
        {SEATS "0: srun: error: node01: task 3: Out Of Memory\n", "job.log", false, -1, "node01"},
        /* processes: of two hosts with the same number none, of a job that began again the new ones */
        {SEATS
         "node02:4200:4200 [0] NCCL INFO comm 0x3 rank 2 nranks 4 cudaDev 0 busId 1b000 x\nOut of memory: Killed process "
         "4200 (x)\n",
         "job.log", false, -1, NULL},
        {SEATS
         "node01:9999:9999 [1] NCCL INFO comm 0x4 rank 3 nranks 4 cudaDev 1 busId 3b000 x\nOut of memory: Killed process "
         "9999 (x)\n",
         "job.log", false, 3, NULL},
        {SEATS OTHER_COMMUNICATOR "Out of memory: Killed process 4201 (x)\n", "job.log", false, 1, NULL},
        {SEATS "Out of memory: Killed process 5 (x)\n", "job.log", false, -1, NULL},
        /* a rank inside a group: of the default group it is the job's, of others the dumps know it */
        {"PG GUID 0(default_pg) Rank 2] " BIT, "job.log", false, 2, NULL},
        {"PG GUID 8(tp) Rank 1] " BIT, "job.log", false, -1, NULL},
        {"PG GUID 8(tp) Rank 1] " BIT, "job.log", true, 3, NULL},
        {"PG GUID 8 Rank 1] " BIT, "job.log", true, 3, NULL},
        {"PG GUID 8(tp) Rank 2] " BIT, "job.log", true, -1, NULL},
        {"PG GUID 8(tp) Rank x] " BIT, "job.log", true, -1, NULL},
        {"PG GUID 7(dp) Rank 1] " BIT, "job.log", true, -1, NULL},
        {"[Rank 1] " BIT, "job.log", true, -1, NULL},
        /* a log of its own */
        {BIT, "out/rank_3.log", false, 3, NULL},
        {BIT, "out/3.log", false, -1, NULL},
        {BIT, "out/rank_7.log", true, -1, NULL}, /* there are four */
        {"slurmstepd: error: Detected 1 oom_kill event in StepId=9.0\n", "out/rank_3.log", false, -1, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        rs_flight *flight;
        rs_error err = RS_ERROR_INIT;
        rs_flight_bytes one = {dump, sizeof dump - 1, 0, "dump"};
        rs_status status = rs_flight_open_bytes(&one, cases[i].with_dump, NULL, &flight, &err);
        assert_int_equal(status, cases[i].with_dump ? RS_OK : RS_ERR_FORMAT);
        assert_int_equal(
            rs_fl_read_log_bytes(flight, cases[i].log, strlen(cases[i].log), cases[i].name, &err), RS_OK);
        assert_int_equal(rs_fl_resolve_log(flight, &err), RS_OK);
        assert_true(flight->log->n > 0);
        const rs_fl_event *e = &flight->log->events[flight->log->n - 1];
        if (e->rank != cases[i].rank) fail_msg("rank %d: %s", (int)e->rank, cases[i].log);
        expect_text(flight, e->host, cases[i].host, cases[i].log);
        rs_flight_close(flight);
    }
}

/* Stamps without a year get that of the newest dump; the days behind February are another one in leap years. */
TEST(test_years)
{
    static const struct {
        const char *stamp;
        int64_t seconds; /* since 1970 */
    } cases[] = {
        {"E0101 00:00:00.0", INT64_C(1735689600)}, {"E0228 00:00:00.0", INT64_C(1740700800)},
        {"E0301 00:00:00.0", INT64_C(1740787200)}, {"E0303 12:00:00.0", INT64_C(1741003200)},
        {"E1231 23:59:59.0", INT64_C(1767225599)},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char line[100];
        rs_flight *flight;
        rs_error err = RS_ERROR_INIT;
        rs_flight_bytes one = {dump, sizeof dump - 1, 0, "dump"};
        assert_int_equal(rs_flight_open_bytes(&one, 1, NULL, &flight, &err), RS_OK);
        int n = snprintf(line, sizeof line, "[%s P.cpp:1] OOMKilled\n", cases[i].stamp);
        assert_int_equal(rs_fl_read_log_bytes(flight, line, (size_t)n, "job.log", &err), RS_OK);
        assert_int_equal(rs_fl_resolve_log(flight, &err), RS_OK);
        assert_int_equal(flight->log->n, 1);
        assert_false(flight->log->events[0].yearless);
        assert_int_equal(flight->log->events[0].time_ns, cases[i].seconds * SECOND);
        rs_flight_close(flight);
    }
}

/* ---- more than one line --------------------------------------------------------------------------------- */

TEST(test_paragraphs)
{
    static const struct {
        const char *log;
        size_t n;              /* events */
        rs_fl_event_kind kind; /* of the first */
        int64_t rank;
        const char *exception, *where;
    } cases[] = {
        /* torchrun's table: rank and host are in front of the code */
        {"  rank      : 1 (local_rank: 1)\n  host      : node07\n  exitcode  : -11 (pid: 9)\n", 1,
         RS_FL_EV_SEGFAULT, 1, NULL, NULL},
        {"  rank      : 1 (local_rank: 1)\n  exitcode  : 1 (pid: 9)\n  exitcode  : -9 (pid: 9)\n", 2,
         RS_FL_EV_EXIT, 1, NULL, NULL},
        /* of two sources each has a traceback of its own */
        {"[rank0]: Traceback (most recent call last):\n[rank1]: Traceback (most recent call last):\n"
         "[rank0]:   File \"/app/a.py\", line 3, in f\n[rank1]:   File \"/app/b.py\", line 4, in g\n"
         "[rank0]: KeyError: 'a'\n[rank1]: ValueError\n",
         2, RS_FL_EV_EXCEPTION, 0, "KeyError", "/app/a.py:3"},
        /* marks under a frame, repeated lines, groups of exceptions and blanks belong to the traceback */
        {"Traceback (most recent call last):\n  File \"/app/a.py\", line 3, in f\n    x()\n    ^^^\n"
         "  [Previous line repeated 9 more times]\n  + Exception Group Traceback\n  | x\n\nKeyError: 'a'\n",
         1, RS_FL_EV_EXCEPTION, -1, "KeyError", "/app/a.py:3"},
        /* no file, no name, a name that begins small */
        {"Traceback (most recent call last):\nKeyError\n", 1, RS_FL_EV_EXCEPTION, -1, "KeyError", NULL},
        {"Traceback (most recent call last):\n  File \"/app/a.py\", line 3, in f\nsomething else\n", 1,
         RS_FL_EV_EXCEPTION, -1, NULL, "/app/a.py:3"},
        {"Traceback (most recent call last):\n  File \"/app/a.py, line 3, in f\n  File x\", line 3, in f\nA.b: c\n",
         1, RS_FL_EV_EXCEPTION, -1, NULL, NULL},
        /* frames of libraries alone */
        {"Traceback (most recent call last):\n  File \"/x/site-packages/torch/a.py\", line 3, in f\ntorch.X: y\n",
         1, RS_FL_EV_EXCEPTION, -1, "torch.X", "/x/site-packages/torch/a.py:3"},
        /* a chain whose first exception was a consequence: the second is told */
        {"Traceback (most recent call last):\n  File \"/app/a.py\", line 3, in f\nDistNetworkError: x\n\n"
         "The above exception was the direct cause of the following exception:\n\n"
         "Traceback (most recent call last):\n  File \"/app/b.py\", line 5, in f\nValueError: v\n",
         2, RS_FL_EV_ABORTED, -1, NULL, NULL},
        /* the file ends in it */
        {"Traceback (most recent call last):\n  File \"/app/a.py\", line 3, in f\n", 0, NONE, -1, NULL, NULL},
        /* colours that are none, and a line that holds nothing else */
        {"\x1b[31mOOMKilled\x1b[0m\n", 1, RS_FL_EV_HOST_OOM, -1, NULL, NULL},
        {"\x1b[1;31\n\x1b]x OOMKilled\n\x1b\n\x1b[m\n", 1, RS_FL_EV_HOST_OOM, -1, NULL, NULL},
        {"OOMKilled\r\n", 1, RS_FL_EV_HOST_OOM, -1, NULL, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        rs_flight *flight = read_log(cases[i].log, strlen(cases[i].log));
        if (flight->log->n != cases[i].n) fail_msg("%zu events: %s", flight->log->n, cases[i].log);
        if (cases[i].n) {
            const rs_fl_event *e = &flight->log->events[0];
            assert_int_equal(e->kind, cases[i].kind);
            assert_int_equal(e->rank, cases[i].rank);
            expect_text(flight, e->exception, cases[i].exception, cases[i].log);
            expect_text(flight, e->where, cases[i].where, cases[i].log);
        }
        rs_flight_close(flight);
    }
}

/* NCCL's lines name a host and a process behind whatever is in front; a clock is neither. */
TEST(test_places)
{
    static const struct {
        const char *line, *host;
        int64_t pid;
    } cases[] = {
        {"node01:4211:4300 [1] NCCL WARN link down", "node01", 4211},
        {"[2026-03-14 02:11:08] node01:4211:4300 [1] net.cc:12 NCCL WARN link down", "node01", 4211},
        {"[E314 02:11:08.071 P.cpp:685] some NCCL WARN link down", NULL, -1},
        {"02:11:08 [1] NCCL WARN link down", "02", 11}, /* a host may be called so */
        {":11:08 [1] NCCL WARN link down", NULL, -1},
        {"node01:x:08 [1] NCCL WARN link down", NULL, -1},
        {"node01:11:x [1] NCCL WARN link down", NULL, -1},
        {"node01:11:8 (1) NCCL WARN link down", NULL, -1},
        {"node01:11 NCCL WARN link down", NULL, -1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        rs_flight *flight = read_log(cases[i].line, strlen(cases[i].line));
        assert_int_equal(flight->log->n, 1);
        expect_text(flight, flight->log->events[0].host, cases[i].host, cases[i].line);
        assert_int_equal(flight->log->events[0].who.pid, cases[i].pid);
        rs_flight_close(flight);
    }
}

/* The dumps that a log names, in the ways in which it does. */
TEST(test_dump_paths)
{
    static const struct {
        const char *log;
        size_t n;
        const char *first;
    } cases[] = {
        {"export TORCH_FR_DUMP_TEMP_FILE=/tmp/fr_\n", 1, "/tmp/fr_"},
        {"TORCH_NCCL_DEBUG_INFO_TEMP_FILE: '/tmp/nccl_trace_rank_', other\n", 1, "/tmp/nccl_trace_rank_"},
        {"TORCH_FR_DUMP_TEMP_FILE \"/tmp/fr_\"\n", 0, NULL},
        {"TORCH_FR_DUMP_TEMP_FILE=\n", 0, NULL},
        {"TORCH_FR_DUMP_TEMP_FILE", 0, NULL},
        {"Writing Flight Recorder debug info to /tmp/fr_12\nwriting Flight Recorder debug info to /tmp/fr_3\n",
         1, "/tmp/fr_"},
        {"Writing Flight Recorder debug info to 12\n", 0, NULL},
        {"TORCH_FR_DUMP_TEMP_FILE=/a TORCH_NCCL_DEBUG_INFO_TEMP_FILE=/b\n", 2, "/a"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        rs_flight *flight = read_log(cases[i].log, strlen(cases[i].log));
        if (flight->log->n_dump_paths != cases[i].n)
            fail_msg("%zu paths: %s", flight->log->n_dump_paths, cases[i].log);
        if (cases[i].n) assert_string_equal(rs_fl_text(flight, flight->log->dump_paths[0]), cases[i].first);
        rs_flight_close(flight);
    }
}

/* Each allocation of reading a log failing in turn: memory is said to be short, or all of it was read. */
TEST(test_memory)
{
    text t = {0};
    text_puts(
        &t, SEATS
        "job-worker-1 | 1: (W pid=3, ip=::1) [rank1]: \x1b[1mx\n"
        "Mar 14 02:11:08 node01 kernel: [1.2] NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n"
        "TORCH_FR_DUMP_TEMP_FILE=/a\n[PG ID 3 PG GUID 8(TP) Rank 0] Watchdog\n"
        "  rank      : 1 (local_rank: 1)\n  host      : node07\n  exitcode  : -11 (pid: 9)\n"
        "Traceback (most recent call last):\n  File \"/app/a.py\", line 3, in f\nKeyError: 'a'\n"
        "Traceback (most recent call last):\n  File \"/app/a.py\", line 3, in f\nRuntimeError: NCCL WARN link down\n"
        "NCCL WARN link down\nNode failure on node01\n");
    rs_status status = RS_ERR_NOMEM;
    for (uint64_t at = 1; status != RS_OK; at++) {
        rs_flight *flight;
        rs_error err = RS_ERROR_INIT;
        assert_true(at < 2000);
        assert_int_equal(rs_flight_open_bytes(NULL, 0, NULL, &flight, &err), RS_ERR_FORMAT);
        rs_test_fail_allocation(at);
        status = rs_fl_read_log_bytes(flight, t.s, t.n, "job.log", &err);
        if (status == RS_OK) status = rs_fl_resolve_log(flight, &err);
        rs_test_fail_allocation(0);
        if (status != RS_OK) assert_int_equal(status, RS_ERR_NOMEM);
        if (status == RS_OK) assert_int_equal(flight->log->n, 6);
        rs_flight_close(flight);
    }
    text_clear(&t);
}
