/* Why a job hangs, is slow or ended: dumps, logs and the tables of periodic dumpers made so that one rank is to blame for
 * one reason, and what must be said of it. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "rankscope/flight.h"
#include "sink.h"
#include "support.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define MS INT64_C(1000000)
#define BEGIN (INT64_C(1773453600) * 1000 * MS) /* 2026-03-14T02:00:00Z */

/* ---- dumps ------------------------------------------------------------------------------------------------ */

typedef struct call {
    int64_t created, started, completed; /* ns; 0: not said */
    double ms;                           /* < 0: not said */
    const char *state;
} call;

static void dump_begin(text *t)
{
    text_puts(
        t,
        "{\"version\":\"2.10\",\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":\"default_pg\",\"ranks\":\"[0,1,2,3]\"},"
        "\"1\":{\"name\":\"1\",\"desc\":\"dp\",\"ranks\":\"[0,1]\"},\"2\":{\"name\":\"2\",\"desc\":\"tp\","
        "\"ranks\":\"[2,3]\"}},\"entries\":[");
}

static void dump_call(text *t, const char *group, const char *op, int64_t seq, const char *dtype,
                      const call *c)
{
    text_printf(
        t,
        "%s{\"record_id\":%lld,\"pg_id\":%s,\"process_group\":[\"%s\",\"d\"],\"collective_seq_id\":%lld,\"p2p_seq_id\":0,"
        "\"op_id\":%lld,\"profiling_name\":\"nccl:%s\",\"time_created_ns\":%lld,\"input_sizes\":[[256]],"
        "\"output_sizes\":[[256]],\"input_dtypes\":[\"%s\"],\"output_dtypes\":[\"%s\"],\"state\":\"%s\",\"is_p2p\":false",
        t->s[t->n - 1] == '[' ? "" : ",", (long long)t->n, group, group, (long long)seq, (long long)seq, op,
        (long long)c->created, dtype, dtype, c->state);
    if (c->started) text_printf(t, ",\"time_discovered_started_ns\":%lld", (long long)c->started);
    if (c->completed) text_printf(t, ",\"time_discovered_completed_ns\":%lld", (long long)c->completed);
    if (c->ms >= 0) text_printf(t, ",\"duration_ms\":%g", c->ms);
    text_puts(t, "}");
}

static void dump_end(text *t)
{
    text_puts(t, "]}");
}

/* ---- who is late ------------------------------------------------------------------------------------------ */

/* One call of a rank in a job of that kind: calls begin every 100 ms. */
typedef call (*call_fn)(unsigned rank, unsigned i);

static call at_time(int64_t created, double ms)
{
    return (call){BEGIN + created, BEGIN + created, BEGIN + created + (int64_t)(ms < 0 ? 0 : ms) * MS + MS,
                  ms, "completed"};
}

static call nobody_late(unsigned rank, unsigned i)
{
    return at_time((int64_t)i * 100 * MS + rank * 1000, 5);
}

/* Rank 2 comes 60 ms after all others: they wait so long. */
static call waits_least(unsigned rank, unsigned i)
{
    return at_time((int64_t)i * 100 * MS, rank == 2 ? 2 : 62 + rank);
}

/* No durations; rank 3 is 40 ms after the others each time. */
static call lags_always(unsigned rank, unsigned i)
{
    return at_time((int64_t)i * 100 * MS + (rank == 3 ? 40 * MS : rank * 1000), -1);
}

/* Rank 1 is 70 ms late in half of its calls. */
static call lags_often(unsigned rank, unsigned i)
{
    return at_time((int64_t)i * 100 * MS + (rank == 1 && i % 2 ? 70 * MS : (rank + i) % 4 * 1000), -1);
}

/* ... in somewhat less than half. */
static call lags_seldom(unsigned rank, unsigned i)
{
    return at_time((int64_t)i * 100 * MS + (rank == 1 && i % 20 < 9 ? 70 * MS : (rank + i) % 4 * 1000), -1);
}

/* As lags_always, but its host runs ahead of its GPU: when it issues says nothing. */
static call runs_ahead(unsigned rank, unsigned i)
{
    call c = lags_always(rank, i);
    c.completed += 500 * MS;
    return c;
}

static call no_times(unsigned rank, unsigned i)
{
    (void)rank;
    (void)i;
    return (call){0, 0, 0, -1, "completed"};
}

static void expect_late(call_fn call_of, unsigned n_ranks, unsigned n_calls, rs_flight_verdict verdict,
                        int64_t culprit, const char *dtype, const char *says)
{
    rs_flight_bytes dumps[4];
    text t[4] = {{0}};
    rs_flight *flight;
    rs_error err = RS_ERROR_INIT;
    const rs_flight_report *r;
    for (unsigned k = 0; k < n_ranks; k++) {
        dump_begin(&t[k]);
        for (unsigned i = 0; i < n_calls; i++) {
            call c = call_of(k, i);
            dump_call(&t[k], "0", "all_reduce", i + 1, dtype, &c);
        }
        dump_end(&t[k]);
        dumps[k] = (rs_flight_bytes){t[k].s, t[k].n, k, "dump"};
    }
    rs_flight_settings settings = {.size = sizeof(rs_flight_settings), .allow_missing = true};
    assert_int_equal(rs_flight_open_bytes(dumps, n_ranks, &settings, &flight, &err), RS_OK);
    assert_int_equal(rs_flight_get_report(flight, &r, &err), RS_OK);
    if (r->root.verdict != verdict)
        fail_msg("%s: %s", rs_flight_verdict_name(r->root.verdict), r->root.summary);
    if (culprit >= 0) {
        assert_int_equal(r->root.n_culprits, 1);
        assert_int_equal(r->root.culprits[0], culprit);
        assert_int_equal(r->roots[0].kind, RS_FLIGHT_ROOT_SLOW);
    }
    rs_table *late = rs_flight_lateness(flight, &err), *speed = rs_flight_collectives(flight, &err);
    assert_non_null(late);
    assert_non_null(speed);
    bool timed = n_ranks == 4 && n_calls && call_of(0, 0).ms >= 0;
    assert_int_equal(rs_table_n_rows(speed), timed);
    if (says && !strstr(r->root.summary, says)) fail_msg("%s", r->root.summary);
    rs_table_free(late);
    rs_table_free(speed);
    rs_flight_close(flight);
    for (unsigned k = 0; k < n_ranks; k++) text_clear(&t[k]);
}

TEST(test_late)
{
    expect_late(nobody_late, 4, 40, RS_FLIGHT_HEALTHY, -1, "Float", NULL);
    expect_late(waits_least, 4, 40, RS_FLIGHT_STRAGGLER, 2, "BFloat16",
                "waits least in 40 of 40 collectives");
    expect_late(waits_least, 4, 7, RS_FLIGHT_HEALTHY, -1, "Float8_e4m3fn", NULL); /* too few to tell */
    expect_late(lags_always, 4, 40, RS_FLIGHT_STRAGGLER, 3, "Long",
                "40.00 ms after the others to all of its 40 collectives");
    expect_late(lags_always, 4, 7, RS_FLIGHT_HEALTHY, -1, "Long", NULL);
    expect_late(lags_often, 4, 60, RS_FLIGHT_STRAGGLER, 1, "Double",
                "70.00 ms after the others to 30 of its 60 collectives");
    expect_late(lags_often, 4, 12, RS_FLIGHT_STRAGGLER, 1, "Double", "to 6 of its 12 collectives");
    expect_late(lags_seldom, 4, 60, RS_FLIGHT_STRAGGLER, 1, "Double",
                "comes last to 27 of its 60 collectives");
    expect_late(runs_ahead, 4, 40, RS_FLIGHT_HEALTHY, -1, "Half", NULL);
    expect_late(no_times, 4, 40, RS_FLIGHT_HEALTHY, -1, "Nonsense", NULL);
    expect_late(nobody_late, 4, 1, RS_FLIGHT_HEALTHY, -1, "Float", NULL);
}

/* ---- why it ended ----------------------------------------------------------------------------------------- */

#define SEATS                                                                                                \
    "node00:4200:4200 [0] NCCL INFO comm 0x1 rank 0 nranks 4 cudaDev 0 busId 1b000 commId 0x9\n"             \
    "node00:4201:4201 [1] NCCL INFO comm 0x2 rank 1 nranks 4 cudaDev 1 busId 3b000 commId 0x9\n"             \
    "node01:4210:4210 [0] NCCL INFO comm 0x3 rank 2 nranks 4 cudaDev 0 busId 1b000 commId 0x9\n"             \
    "node01:4211:4211 [1] NCCL INFO comm 0x4 rank 3 nranks 4 cudaDev 1 busId 3b000 commId 0x9\n"
#define RAISED(rank, time)                                                                                   \
    "[rank" #rank "]: " time "Traceback (most recent call last):\n[rank" #rank                               \
    "]:   File \"/app/a.py\", line 9, in f\n"                                                                \
    "[rank" #rank "]: KeyError: 'x'\n"
#define KERNEL "Mar 14 02:00:01 node01 kernel: "

/* What each rank left: 'd' its dump with everything done, 'w' waiting in the second call, 's' without the second call,
 * 'o' a dump of nothing, '-' none. */
typedef struct ending {
    const char *left, *log;
    rs_flight_verdict verdict;
    int64_t rank;     /* first culprit; -1: none */
    const char *kind; /* of the cause; NULL: none is known */
    bool on_host;
    const char *says; /* in the report */
} ending;

static const ending endings[] = {
    /* a rank that never came, for a reason */
    {"wwws", RAISED(3, ""), RS_FLIGHT_RANK_MISSING, 3, "python_exception", false,
     "raised KeyError at /app/a.py:9"},
    {"wwws", "", RS_FLIGHT_RANK_MISSING, 3, NULL, false, NULL},
    {"wwws", RAISED(3, "") "[rank3]: WARNING caught, went on\n", RS_FLIGHT_RANK_MISSING, 3,
     "python_exception", false, "KeyError"},
    {"wwws", "[rank3]: RuntimeError\n", RS_FLIGHT_RANK_MISSING, 3, NULL, false, NULL},
    {"wwws", KERNEL "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n",
     RS_FLIGHT_RANK_MISSING, 3, "xid", false, "Xid 79"},
    {"wwws", KERNEL "amdgpu 0000:3b:00.0: Hang detected\n", RS_FLIGHT_RANK_MISSING, 3, "amdgpu", false,
     "error of its GPU (amdgpu)"},
    {"wwws", "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
     RS_FLIGHT_RANK_MISSING, 3, "cuda_oom", false, "2.00 GiB. more were asked for"},
    {"wwws", "[rank3]: CUDA error: device-side assert\n", RS_FLIGHT_RANK_MISSING, 3, "cuda_error", false,
     "device-side assert"},
    {"wwws", "[rank3]: Fatal Python error: Segmentation fault\n", RS_FLIGHT_RANK_MISSING, 3, "segfault",
     false, "crashed"},
    {"wwws", "failed (exitcode: -9) local_rank: 1 (pid: 4211) of binary: x\n", RS_FLIGHT_RANK_MISSING, 3,
     "killed", false, "SIGKILL"},
    {"wwws", "failed (exitcode: 3) local_rank: 1 (pid: 4211) of binary: x\n", RS_FLIGHT_RANK_MISSING, 3,
     "exit", false, "exit code 3"},
    {"wwws", "[rank3]: watchdog got stuck for 480 seconds\n", RS_FLIGHT_RANK_MISSING, 3, "gil_or_driver",
     false, "480 s"},
    {"wwws", "Out of memory: Killed process 4211 (python)\n", RS_FLIGHT_RANK_MISSING, 3, "host_oom", false,
     "killed for lack of host memory"},
    {"wwws", "[rank3]: NET/IB : Got completion from peer 1 with status=12 opcode=0\n", RS_FLIGHT_RANK_MISSING,
     3, "nccl_network", false, "NET/IB, status 12"},
    {"wwws", "[rank3]: ncclRemoteError: x\n", RS_FLIGHT_RANK_MISSING, 3, "nccl_network", false,
     "ncclRemoteError"},
    /* what comes after its own time-out counts only where there is nothing else; a bare end says less than a reason */
    {"wwws", "[rank3]: Heartbeat monitor timed out\n" RAISED(3, ""), RS_FLIGHT_RANK_MISSING, 3,
     "python_exception", false, NULL},
    {"wwws", "failed (exitcode: 3) local_rank: 1 (pid: 4211) of binary: x\n" RAISED(3, ""),
     RS_FLIGHT_RANK_MISSING, 3, "python_exception", false, NULL},
    {"wwws", RAISED(3, "") "[rank3]: CUDA error: x\n", RS_FLIGHT_RANK_MISSING, 3, "cuda_error", false, NULL},
    {"wwws", RAISED(3, "2026-03-14T02:00:00Z ") "[rank3]: 2026-03-14T02:09:00Z CUDA error: x\n",
     RS_FLIGHT_RANK_MISSING, 3, "python_exception", false, "02:00:00"},
    /* a rank without a dump: its host */
    {"www-", KERNEL "NVRM: Xid (PCI:0000:99:00): 62, pid=1, x\n", RS_FLIGHT_DUMP_MISSING, 3, "xid", true,
     "On the host of rank 3"},
    {"www-", "Node failure on node01\n", RS_FLIGHT_DUMP_MISSING, 3, "node_failure", true, "the node failed"},
    {"www-", "Node failure on node00\n", RS_FLIGHT_DUMP_MISSING, 3, NULL, false, NULL},
    {"www-", "slurmstepd: error: Detected 1 oom_kill event in StepId=9.0\n", RS_FLIGHT_DUMP_MISSING, 3,
     "host_oom", true, "a process was killed for lack of memory"},
    {"www-", "srun: error: node01: tasks all: Out Of Memory\n", RS_FLIGHT_DUMP_MISSING, 3, "host_oom", true,
     NULL},
    {"www-", "[rank0]: CUDA error: x\n", RS_FLIGHT_DUMP_MISSING, 3, NULL, false, NULL},
    {"wwws", "slurmstepd: error: Detected 1 oom_kill event in StepId=9.0\n", RS_FLIGHT_RANK_MISSING, 3, NULL,
     false, NULL},
    /* all joined and nobody finished: whatever struck one of them */
    {"wwww", "[rank2]: NCCL WARN link down\n", RS_FLIGHT_STUCK, -1, "nccl_network", false, "link down"},
    {"wwww", KERNEL "NVRM: Xid (PCI:0000:1b:00): 62, pid=1, x\n", RS_FLIGHT_STUCK, -1, "xid", false, NULL},
    {"wwww", "[rank1]: CUDA error: x\n", RS_FLIGHT_STUCK, -1, "cuda_error", false, NULL},
    {"wwww", "[rank1]: ncclRemoteError: x\n", RS_FLIGHT_STUCK, -1, NULL, false, NULL},
    {"wwww", "NCCL WARN link down\n", RS_FLIGHT_STUCK, -1, NULL, false, NULL},
    /* no dump at all */
    {"----", RAISED(2, ""), RS_FLIGHT_CRASHED, 2, "python_exception", false, "KeyError"},
    {"----", RAISED(2, "") RAISED(1, ""), RS_FLIGHT_CRASHED, 1, "python_exception", false, NULL},
    {"----", "Node failure on node01\n", RS_FLIGHT_CRASHED, 2, "node_failure", false, "the node failed"},
    {"----", "JOB 5 DUE TO NODE FAILURE, x\n", RS_FLIGHT_CRASHED, -1, "node_failure", false, NULL},
    {"----", "*** STEP 9.0 ON node00 CANCELLED AT 2026-03-14T02:11:09 DUE TO PREEMPTION ***\n",
     RS_FLIGHT_CRASHED, -1, "cancelled", false, "DUE TO PREEMPTION"},
    {"----", "failed (exitcode: 1) local_rank: 1 (pid: 4211) of binary: x\n", RS_FLIGHT_CRASHED, 3, "exit",
     false, NULL},
    {"----", RAISED(0, "2026-03-14T02:00:00Z ") RAISED(1, "2026-03-14T02:00:09Z "), RS_FLIGHT_CRASHED, 0,
     "python_exception", false, NULL},
    {"----", "[rank1]: Heartbeat monitor timed out\n", RS_FLIGHT_BAD_INPUT, -1, NULL, false, NULL},
};

static void write_left(folder *f, char left, unsigned rank)
{
    text t = {0};
    char name[32];
    call done = {BEGIN + 10 * MS, 0, BEGIN + 20 * MS, 1, "completed"},
         open = {BEGIN + 60000 * MS, 0, 0, -1, "started"};
    if (left == '-') return;
    dump_begin(&t);
    if (left != 'o') dump_call(&t, "0", "all_reduce", 1, "Float", &done);
    if (left == 'w') dump_call(&t, "0", "all_reduce", 2, "Float", &open);
    dump_end(&t);
    snprintf(name, sizeof name, "dump_%u", rank);
    folder_add(f, name, &t);
    text_clear(&t);
}

static void expect_ending(const ending *e)
{
    folder f = folder_make();
    text t = {0};
    rs_flight *flight = NULL;
    rs_error err = RS_ERROR_INIT;
    const rs_flight_report *r;
    collected json = {0};
    rs_sink sink = {collect, &json};
    for (unsigned rank = 0; rank < 4; rank++) write_left(&f, e->left[rank], rank);
    bool any = f.n > 0;
    text_printf(&t, SEATS "%s", e->log);
    const char *log = folder_add(&f, "job.log", &t), *prefix = f.path;
    char dumps[96];
    snprintf(dumps, sizeof dumps, "%.60s/dump_", prefix);
    const char *paths[] = {dumps};
    rs_flight_settings settings = {.size = sizeof(rs_flight_settings), .jobs = 2, .logs = &log, .n_logs = 1};
    assert_int_equal(rs_flight_open(paths, any, &settings, &flight, &err), RS_OK);
    assert_int_equal(rs_flight_get_report(flight, &r, &err), RS_OK);
    assert_int_equal(rs_flight_write_json(flight, &sink, &err), RS_OK);
    const char *line = strchr(strstr(t.s, "busId 3b000 commId 0x9\nnode01") + 24, '\n');
    for (int i = 0; i < 1; i++) line = strstr(line, e->log);
    if (r->root.verdict != e->verdict)
        fail_msg("%s %s: %s, %s", e->left, line, rs_flight_verdict_name(r->root.verdict), r->root.summary);
    if (e->rank >= 0) assert_true(r->root.n_culprits > 0);
    if (e->rank >= 0 && r->root.culprits[0] != e->rank)
        fail_msg("rank %d: %s %s", (int)r->root.culprits[0], e->left, line);
    if (e->rank < 0) assert_int_equal(r->root.n_culprits, 0);
    const char *kind = r->cause ? r->cause->kind : NULL;
    if (!kind != !e->kind || (kind && strcmp(kind, e->kind) != 0))
        fail_msg("%s of %s %s", kind ? kind : "no cause", e->left, line);
    if (r->cause) assert_int_equal(r->cause->on_host, e->on_host);
    if (e->says && !strstr(json.text, e->says)) fail_msg("no \"%s\" in %s", e->says, json.text);
    rs_table *tables[] = {rs_flight_roots(flight, &err), rs_flight_log(flight, &err),
                          rs_flight_progress(flight, &err), rs_flight_open_groups(flight, &err)};
    for (size_t i = 0; i < COUNT(tables); i++) {
        assert_non_null(tables[i]);
        rs_table_free(tables[i]);
    }
    collected_clear(&json);
    rs_flight_close(flight);
    text_clear(&t);
    folder_remove(&f);
}

TEST(test_endings)
{
    for (size_t i = 0; i < COUNT(endings); i++) expect_ending(&endings[i]);
}

/* Two hang, and a third rank ended long before: it is a root of its own, unless it came after. */
TEST(test_early_end)
{
    for (int late = 0; late < 2; late++) {
        folder f = folder_make();
        rs_flight *flight;
        rs_error err = RS_ERROR_INIT;
        const rs_flight_report *r;
        call done = {BEGIN + 10 * MS, 0, BEGIN + 20 * MS, 1, "completed"},
             open = {BEGIN + 60000 * MS, 0, 0, -1, "started"};
        for (unsigned rank = 0; rank < 4; rank++) {
            text t = {0};
            char name[32];
            dump_begin(&t);
            dump_call(&t, "0", "all_reduce", 1, "Float", &done);
            if (rank == 0) dump_call(&t, "1", "all_reduce", 1, "Float", &open);
            dump_end(&t);
            snprintf(name, sizeof name, "dump_%u", rank);
            folder_add(&f, name, &t);
            text_clear(&t);
        }
        const char *early = RAISED(3, "2026-03-14T02:00:20Z "), *after = RAISED(3, "2026-03-14T02:05:00Z ");
        const char *log = folder_add_bytes(&f, "job.log", late ? after : early, strlen(late ? after : early));
        const char *paths[] = {f.path};
        rs_flight_settings settings = {
            .size = sizeof(rs_flight_settings), .prefix = "dump_", .logs = &log, .n_logs = 1};
        assert_int_equal(rs_flight_open(paths, 1, &settings, &flight, &err), RS_OK);
        assert_int_equal(rs_flight_get_report(flight, &r, &err), RS_OK);
        assert_int_equal(r->n_roots, late ? 1 : 2);
        bool crashed = false;
        for (size_t i = 0; i < r->n_roots; i++)
            crashed |= r->roots[i].verdict == RS_FLIGHT_CRASHED && r->roots[i].rank == 3;
        assert_int_equal(crashed, !late);
        rs_flight_close(flight);
        folder_remove(&f);
    }
}

/* ---- tables of periodic dumpers --------------------------------------------------------------------------- */

#define HEAD                                                                                                        \
    "=== FR Trace ===\n--- Collectives ---\nid  group_id  pass_check  collective_seq_id  record_id  pg_desc       " \
    "collective_name  expected_ranks  collective_state  missing_ranks  mismatch_collectives  type_of_mismatch\n"
#define ROW(id, pass, seq, name, state, missing, mismatch, type)                                             \
    " " #id "  0         " pass "       " #seq "                  " #id "          0:default_pg  " name      \
    "  {0, 1, 2, 3}    " state "  " missing "  " mismatch "  " type "\n"
#define DONE(id, seq)                                                                                        \
    ROW(id, "True ", seq, "nccl:all_reduce", "completed       ", "             ", "                    ", "")
#define OPEN(id, seq, missing)                                                                               \
    ROW(id, "True ", seq, "nccl:all_reduce", "scheduled       ", missing, "                    ", "")
#define GLOO(id, seq, missing)                                                                               \
    ROW(id, "True ", seq, "gloo:all_reduce", "scheduled       ", missing, "                    ", "")
#define DIFFER(id, seq, who, type)                                                                           \
    ROW(id, "False", seq, "nccl:all_reduce", "scheduled       ", "             ", who, type)

TEST(test_periodic)
{
    static const struct {
        const char *now, *then; /* then NULL: there is one file */
        rs_flight_verdict verdict;
        int64_t rank;
        size_t n;
    } cases[] = {
        {DONE(0, 1) OPEN(1, 2, "{2}          "), DONE(0, 1) OPEN(1, 2, "{2}          "),
         RS_FLIGHT_RANK_MISSING, 2, 1},
        {DONE(0, 1) OPEN(1, 2, "{2}          "), NULL, RS_FLIGHT_RANK_MISSING, 2, 1},
        /* it went on between the two */
        {DONE(0, 1) DONE(1, 2) OPEN(2, 3, "{2}          "), DONE(0, 1) OPEN(1, 2, "{2}          "),
         RS_FLIGHT_HEALTHY, -1, 0},
        {DONE(0, 1) OPEN(1, 2, "{2}          "), DONE(0, 1) OPEN(1, 2, "{2, 3}       "), RS_FLIGHT_HEALTHY,
         -1, 0},
        {DONE(0, 1) DONE(1, 2), DONE(0, 1) OPEN(1, 2, "             "), RS_FLIGHT_HEALTHY, -1, 0},
        /* all are in it and none finishes; of gloo's nothing can be said, nor of one snapshot */
        {DONE(0, 1) OPEN(1, 2, "             "), DONE(0, 1) OPEN(1, 2, "             "), RS_FLIGHT_STUCK, -1,
         0},
        {DONE(0, 1) GLOO(1, 2, "             "), DONE(0, 1) GLOO(1, 2, "             "), RS_FLIGHT_HEALTHY,
         -1, 0},
        {DONE(0, 1) OPEN(1, 2, "             "), NULL, RS_FLIGHT_HEALTHY, -1, 0},
        {OPEN(1, 2, "             "), OPEN(1, 2, "             "), RS_FLIGHT_HEALTHY, -1, 0},
        /* calls that differ: those who are fewer */
        {DONE(0, 1) DIFFER(1, 2, "{3: x}              ", "SIZE_OR_SYNTAX_MISMATCH"), NULL,
         RS_FLIGHT_SIZE_MISMATCH, 3, 1},
        {DONE(0, 1) DIFFER(1, 2, "{1: a, 2: b, 3: c}  ", "COLLECTIVE_DTYPE_MISMATCH"), NULL,
         RS_FLIGHT_DTYPE_MISMATCH, 0, 1},
        {DONE(0, 1) DIFFER(1, 2, "{3: x}              ", "COLLECTIVE_TYPE_MISMATCH"), NULL,
         RS_FLIGHT_TYPE_MISMATCH, 3, 1},
        {DONE(0, 1) DIFFER(1, 2, "{3: x}              ", "COLLECTIVE_STATE_MISMATCH"), NULL,
         RS_FLIGHT_HEALTHY, -1, 0},
        /* a row that is cut off, or has nothing in its cells */
        {DONE(0, 1) " 1  0", NULL, RS_FLIGHT_HEALTHY, -1, 0},
        {"", NULL, RS_FLIGHT_BAD_INPUT, -1, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        folder f = folder_make();
        text t = {0};
        rs_flight *flight = NULL;
        rs_error err = RS_ERROR_INIT;
        const rs_flight_report *r;
        text_printf(&t, HEAD "%s", cases[i].now);
        folder_add(&f, "fr_trace_20260314_021408.txt", &t);
        text_clear(&t);
        text_printf(&t, HEAD "%s", cases[i].then ? cases[i].then : "");
        if (cases[i].then) folder_add(&f, "fr_trace_20260114_021308.txt", &t);
        const char *paths[] = {f.path};
        rs_status status = rs_flight_open(paths, 1, NULL, &flight, &err);
        assert_true(status == RS_OK || cases[i].verdict == RS_FLIGHT_BAD_INPUT);
        assert_int_equal(rs_flight_get_report(flight, &r, &err), RS_OK);
        if (r->root.verdict != cases[i].verdict)
            fail_msg("case %zu: %s: %s", i, rs_flight_verdict_name(r->root.verdict), r->root.summary);
        assert_int_equal(r->root.n_culprits, cases[i].n);
        if (cases[i].n) assert_int_equal(r->root.culprits[0], cases[i].rank);
        rs_flight_close(flight);
        text_clear(&t);
        folder_remove(&f);
    }
}
