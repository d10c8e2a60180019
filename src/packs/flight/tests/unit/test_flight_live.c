/* What statuses count, all roots at once, running jobs and their pages, stacks, logs. */
#include "support.h"

#include "flight/log.h"
#include "flight/periodic.h"
#include "flight/template.h"
#include "rankscope/flight.h"

/* ---- jobs as the recorders write them ------------------------------------------------------------------ */

#define WORLD4 "\"0\": {\"name\": \"0\", \"desc\": \"default_pg\", \"ranks\": \"[0, 1, 2, 3]\"}"
#define NOW INT64_C(1773454300000000000)

/* One dump: a group of four, entries [from, to] of which those after `done` are open, and a status. */
typedef struct shape {
    const char *backend;
    int from, to, done;
    bool active; /* only what is open */
    int enqueued, completed, op_step;
    bool retired_all;
} shape;

static void write_dump(text *t, shape s)
{
    *t = (text){0};
    text_printf(t,
                "{\"version\": \"2.10\", \"pg_config\": {" WORLD4
                "}, \"pg_status\": {\"0\": {\"last_enqueued_collective\": %d, "
                "\"last_started_collective\": -1, \"last_completed_collective\": %d}}, \"entries\": [",
                s.enqueued, s.completed);
    bool any = false;
    for (int q = s.from; q <= s.to; q++) {
        if (s.active && q <= s.done) continue;
        text_printf(t,
                    "%s{\"record_id\": %d, \"pg_id\": 0, \"process_group\": [\"0\", \"default_pg\"], "
                    "\"profiling_name\": \"%s:all_reduce\", "
                    "\"collective_seq_id\": %d, \"p2p_seq_id\": 0, \"op_id\": %d, \"is_p2p\": false, "
                    "\"input_sizes\": [[4]], "
                    "\"output_sizes\": [[4]], \"input_dtypes\": [\"Float\"], \"output_dtypes\": [\"Float\"], "
                    "\"state\": \"%s\", "
                    "\"retired\": %s, \"time_created_ns\": %lld}",
                    any ? "," : "", q + (s.active ? 100 : -s.from), s.backend, q,
                    q * (s.op_step ? s.op_step : 1),
                    q <= s.done && !s.retired_all ? "completed" : "scheduled",
                    q <= s.done || s.retired_all ? "true" : "false",
                    (long long)(NOW - INT64_C(60000000000) + q * 1000000));
        any = true;
    }
    text_puts(t, "]}");
}

static rs_flight *open_shapes(const shape *shapes, size_t n, const rs_flight_settings *settings,
                              const rs_flight_report **report)
{
    rs_flight_bytes bytes[8];
    text texts[8];
    rs_flight *flight;
    rs_error err = RS_ERROR_INIT;
    for (size_t i = 0; i < n; i++) {
        write_dump(&texts[i], shapes[i]);
        bytes[i] = (rs_flight_bytes){texts[i].s, texts[i].n, (int64_t)i, "dump"};
    }
    assert_int_equal(rs_flight_open_bytes(bytes, n, settings, &flight, &err), RS_OK);
    assert_int_equal(rs_flight_get_report(flight, report, &err), RS_OK);
    for (size_t i = 0; i < n; i++) text_clear(&texts[i]);
    return flight;
}

static void assert_one_culprit(const rs_flight_report *r, rs_flight_verdict verdict, rs_flight_root_kind kind,
                               int64_t rank, int64_t seq)
{
    assert_int_equal(r->root.verdict, verdict);
    assert_int_equal(r->root.n_culprits, 1);
    assert_int_equal(r->root.culprits[0], rank);
    assert_int_equal(r->n_roots, 1);
    assert_int_equal(r->roots[0].kind, kind);
    assert_int_equal(r->roots[0].seq, seq);
}

TEST(test_active_entries_only)
{
    /* Rank 0's GPU has not finished 5, which the others' dumps leave out because it is completed there. */
    shape jobs[4] = {{"nccl", 1, 7, 4, true, 7, 4, 0, false}};
    for (int i = 1; i < 4; i++) jobs[i] = (shape){"nccl", 1, 7, 5, true, 7, 5, 0, false};
    const rs_flight_report *r;
    rs_flight *flight = open_shapes(jobs, 4, NULL, &r);
    assert_one_culprit(r, RS_FLIGHT_STATE_MISMATCH, RS_FLIGHT_ROOT_STALLED, 0, 5);
    assert_int_equal(r->roots[0].last_completed, 4);
    assert_int_equal(r->roots[0].frontier, 5);
    assert_int_equal(r->n_isolate, 1);
    assert_int_equal(r->shapes[2], 4);
    rs_flight_close(flight);
    /* All completed on rank 2: its dump is empty, and says so by its status. It never issued 6. */
    jobs[0] = jobs[1];
    jobs[2] = (shape){"nccl", 1, 5, 5, true, 5, 5, 0, false};
    flight = open_shapes(jobs, 4, NULL, &r);
    assert_one_culprit(r, RS_FLIGHT_RANK_MISSING, RS_FLIGHT_ROOT_SILENT, 2, 6);
    assert_null(strstr(r->root.summary, "recorded nothing"));
    rs_flight_close(flight);
    for (int i = 0; i < 4; i++) jobs[i] = (shape){"nccl", 1, 5, 5, true, 5, 5, 0, false};
    flight = open_shapes(jobs, 4, NULL, &r);
    assert_int_equal(r->root.verdict, RS_FLIGHT_HEALTHY);
    assert_int_equal(r->n_roots, 0);
    assert_null(r->cause);
    rs_flight_close(flight);
}

TEST(test_status_counts_op_ids)
{
    /* The hook's status is an op id: 15 is the fifth operation, not the fifteenth. */
    shape jobs[4];
    for (int i = 0; i < 4; i++) jobs[i] = (shape){"nccl2", 1, 5, 4, false, 15, 12, 3, false};
    jobs[1] = (shape){"nccl2", 1, 4, 4, false, 12, 12, 3, false};
    const rs_flight_report *r;
    rs_flight *flight = open_shapes(jobs, 4, NULL, &r);
    assert_one_culprit(r, RS_FLIGHT_RANK_MISSING, RS_FLIGHT_ROOT_SILENT, 1, 5);
    rs_flight_close(flight);
}

TEST(test_issue_only)
{
    shape jobs[4];
    const rs_flight_report *r;
    for (int i = 0; i < 4; i++) jobs[i] = (shape){"acme", 1, 6, 6, false, 6, -1, 0, true};
    rs_flight *flight = open_shapes(jobs, 4, NULL, &r);
    assert_int_equal(r->root.verdict, RS_FLIGHT_HEALTHY);
    rs_flight_close(flight);
    jobs[3] = (shape){"acme", 1, 4, 4, false, 4, -1, 0, true};
    flight = open_shapes(jobs, 4, NULL, &r);
    assert_one_culprit(r, RS_FLIGHT_RANK_MISSING, RS_FLIGHT_ROOT_SILENT, 3, 5);
    rs_flight_close(flight);
}

TEST(test_two_silent)
{
    shape jobs[4];
    const rs_flight_report *r;
    for (int i = 0; i < 4; i++) jobs[i] = (shape){"nccl", 1, 6, 5, true, 6, 5, 0, false};
    jobs[1] = jobs[3] = (shape){"nccl", 1, 5, 5, true, 5, 5, 0, false};
    rs_flight *flight = open_shapes(jobs, 4, NULL, &r);
    assert_int_equal(r->root.n_culprits, 2);
    assert_int_equal(r->root.culprits[0], 1);
    assert_int_equal(r->root.culprits[1], 3);
    assert_int_equal(r->n_roots, 2);
    assert_int_equal(r->n_isolate, 2);
    assert_non_null(strstr(r->root.summary, "Ranks 1 and 3"));
    rs_flight_close(flight);
}

/* Two GPUs have finished what two others have not, and one of them is further on: the sentence names both. */
TEST(test_who_finished)
{
    shape jobs[4];
    const rs_flight_report *r;
    for (int i = 0; i < 4; i++)
        jobs[i] = (shape){"nccl", 1, 6, i < 2 ? 6 : 5, false, 6, i < 2 ? 6 : 5, 0, false};
    rs_flight *flight = open_shapes(jobs, 4, NULL, &r);
    assert_int_equal(r->root.n_culprits, 2);
    assert_non_null(strstr(r->root.summary, "The GPUs of ranks 2 and 3 have not finished all_reduce 6"));
    assert_non_null(strstr(r->root.summary, "; ranks 0 and 1 finished it"));
    assert_null(strstr(r->root.summary, " more"));
    rs_flight_close(flight);
    jobs[1] = (shape){"nccl", 1, 8, 8, false, 8, 8, 0, false};
    flight = open_shapes(jobs, 4, NULL, &r);
    assert_non_null(strstr(r->root.summary, "; ranks 0 and 1 finished it and 2 more"));
    rs_flight_close(flight);
}

/* ---- a running job ------------------------------------------------------------------------------------- */

TEST(test_moving)
{
    shape jobs[4];
    const rs_flight_report *r;
    for (int i = 0; i < 4; i++) jobs[i] = (shape){"nccl", 1, 6, 5, false, 6, 5, 0, false};
    jobs[2] = (shape){"nccl", 1, 5, 5, false, 5, 5, 0, false};
    /* The newest issue is 60 s old: a hang by the usual 30 s, none by 90 s. */
    rs_flight_settings live = {
        .size = sizeof(rs_flight_settings), .now_ns = NOW, .stall_ns = INT64_C(90000000000)};
    rs_flight *flight = open_shapes(jobs, 4, &live, &r);
    assert_int_equal(r->root.verdict, RS_FLIGHT_HEALTHY);
    assert_non_null(strstr(r->root.summary, "No hang: 3 operations open"));
    rs_flight_close(flight);
    live.stall_ns = 0;
    flight = open_shapes(jobs, 4, &live, &r);
    assert_one_culprit(r, RS_FLIGHT_RANK_MISSING, RS_FLIGHT_ROOT_SILENT, 2, 6);
    /* The next snapshot: rank 2 has gone on, and a minute has passed. */
    jobs[2] = (shape){"nccl", 1, 6, 5, false, 6, 5, 0, false};
    live.previous = flight;
    live.now_ns = NOW + INT64_C(60000000000);
    flight = open_shapes(jobs, 4, &live, &r);
    assert_int_equal(r->root.verdict, RS_FLIGHT_HEALTHY);
    rs_error err = RS_ERROR_INIT;
    rs_table *progress = rs_flight_progress(flight, &err);
    assert_int_equal(rs_table_n_rows(progress), 4);
    rs_table_free(progress);
    /* And again, where nobody has. */
    live.previous = flight;
    live.now_ns += INT64_C(60000000000);
    flight = open_shapes(jobs, 4, &live, &r);
    assert_int_equal(r->root.verdict, RS_FLIGHT_STUCK);
    rs_flight_close(flight);
}

TEST(test_blocks)
{
    static const char page[] =
        "<h1>Stacks</h1>\n<h2>Rank 0: http://node00:40001/handler/dump_traceback?</h2>\n <pre>a <module> "
        "</pre> b & c\n</pre>\n"
        "<h2>Rank 12: http://node01:1/x</h2> <p>Failed to fetch: status=408</p><pre>TimeoutError: </pre>"
        "<h2>Rank x: y</h2><h2>Rank 3: http://h/x</h2><pre>unfinished";
    rs_fl_block b;
    size_t at = 0;
    assert_true(rs_fl_next_block(page, sizeof page - 1, &at, &b));
    assert_int_equal(b.rank, 0);
    assert_int_equal(b.status, 200);
    assert_memory_equal(b.address, "http://node00:40001/", 20);
    assert_int_equal(b.n, strlen("a <module> </pre> b & c\n"));
    assert_true(rs_fl_next_block(page, sizeof page - 1, &at, &b));
    assert_int_equal(b.rank, 12);
    assert_int_equal(b.status, 408);
    assert_true(rs_fl_next_block(page, sizeof page - 1, &at, &b));
    assert_int_equal(b.rank, 3);
    assert_int_equal(b.n, strlen("unfinished"));
    assert_false(rs_fl_next_block(page, sizeof page - 1, &at, &b));
    char out[64];
    assert_int_equal(rs_fl_unescape("a &lt;b&gt; &amp;&amp;", 22, out), 8);
    assert_memory_equal(out, "a <b> &&", 8);
    assert_int_equal(rs_fl_unescape("<b> &lt;", 8, out), 8);
}

#define TRACEBACK                                                                                            \
    "Thread 0x01 (most recent call first):\n  File \"/usr/lib/python3.12/threading.py\", line 359 in wait\n" \
    "  File \"/usr/lib/python3.12/threading.py\", line 1030 in _bootstrap\n\nCurrent thread 0x02 (most "     \
    "recent call first):\n"                                                                                  \
    "  <no Python frame>\n\nThread 0x03 [pt_main] (most recent call first):\n  Garbage-collecting\n"         \
    "  File \"/x/site-packages/torch/nn.py\", line 7 in call\n  File \"/app/loader.py\", line 212 in "       \
    "next_batch\n"                                                                                           \
    "  File \"/app/main.py\", line 91 in <module>\n"

TEST(test_stacks)
{
    static const char pyspy[] = "Process 71: python train.py\nPython v3.12.3 (/usr/bin/python3.12)\n\nThread "
                                "0x7F (idle): \"Thread-1\"\n"
                                "    wait (threading.py:359)\nThread 71 (active+gil): \"MainThread\"\n    "
                                "next_batch (data/loader.py:212)\n"
                                "        i: 7 (x:1)\n    <module> (main.py:91)\n";
    rs_flight_answer answers[2] = {
        {"dump_traceback", 0, "http://node00:1", 200, false, NULL, TRACEBACK, sizeof TRACEBACK - 1},
        {"pyspy_dump", 1, "http://[::1]:2", 200, false, NULL, pyspy, sizeof pyspy - 1}};
    rs_flight_settings live = {.size = sizeof(rs_flight_settings), .now_ns = NOW};
    rs_flight *flight;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_flight_open_answers(answers, 2, &live, &flight, &err), RS_ERR_FORMAT);
    assert_int_equal(flight->n_threads, 5);
    const rs_fl_note *note = rs_fl_note_of(flight, 0);
    assert_true(note && note->collecting);
    assert_string_equal(rs_fl_text(flight, note->host), "node00");
    assert_string_equal(rs_flight_stack(flight, note->stack),
                        "call at /x/site-packages/torch/nn.py:7\nnext_batch at /app/loader.py:212\n<module> "
                        "at /app/main.py:91");
    note = rs_fl_note_of(flight, 1);
    assert_non_null(note);
    assert_string_equal(rs_fl_text(flight, note->host), "[::1]");
    assert_string_equal(rs_flight_stack(flight, note->stack),
                        "next_batch at data/loader.py:212\n<module> at main.py:91");
    rs_table *table = rs_flight_stacks(flight, &err);
    assert_int_equal(rs_table_n_rows(table), 8);
    rs_table_free(table);
    rs_flight_close(flight);
}

/* Three workers of four answer; one of these not with its stack, and the fourth not at all. */
TEST(test_silence_is_evidence)
{
    text t[3];
    rs_flight_answer answers[6];
    size_t n = 0;
    for (int i = 0; i < 3; i++) {
        write_dump(&t[i], (shape){"nccl", 1, 6, 5, false, 6, 5, 0, false});
        answers[n++] = (rs_flight_answer){
            "dump_nccl_trace_json", i, "http://node00:1", 200, false, NULL, t[i].s, t[i].n};
    }
    answers[n++] = (rs_flight_answer){
        "dump_nccl_trace_json", 3, "http://node07:1", 0, false, "no process listens there", "", 0};
    answers[n++] =
        (rs_flight_answer){"dump_traceback", 2, "http://node00:1", 0, true, "no answer in time", "", 0};
    rs_flight_settings live = {.size = sizeof(rs_flight_settings), .now_ns = NOW, .allow_missing = true};
    rs_flight *flight;
    rs_error err = RS_ERROR_INIT;
    const rs_flight_report *r;
    assert_int_equal(rs_flight_open_answers(answers, n, &live, &flight, &err), RS_OK);
    assert_int_equal(rs_flight_get_report(flight, &r, &err), RS_OK);
    assert_one_culprit(r, RS_FLIGHT_DUMP_MISSING, RS_FLIGHT_ROOT_NO_DUMP, 3, 6);
    assert_non_null(strstr(r->root.summary, "no process listens there"));
    assert_string_equal(r->roots[0].host, "node07");
    assert_true(rs_fl_note_of(flight, 2)->no_traceback);
    assert_null(r->cause); /* rank 2's lock, if it is held, is not what the others wait for */
    rs_flight_close(flight);
    for (int i = 0; i < 3; i++) text_clear(&t[i]);
}

/* ---- logs ---------------------------------------------------------------------------------------------- */

static rs_flight *read_log(const char *log)
{
    rs_flight *flight;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_flight_open_bytes(NULL, 0, NULL, &flight, &err), RS_ERR_FORMAT);
    assert_int_equal(rs_fl_read_log_bytes(flight, log, strlen(log), "job.log", &err), RS_OK);
    assert_int_equal(rs_fl_resolve_log(flight, &err), RS_OK);
    return flight;
}

#define SEATS                                                                                                \
    "node00:4200:4200 [0] NCCL INFO comm 0x1 rank 0 nranks 4 cudaDev 0 busId 1b000 commId 0x9\n"             \
    "node00:4201:4201 [1] NCCL INFO comm 0x2 rank 1 nranks 4 cudaDev 1 busId 3b000 commId 0x9\n"             \
    "node01:4200:4200 [0] NCCL INFO comm 0x3 rank 2 nranks 4 cudaDev 0 busId 1b000 commId 0x9\n"             \
    "node01:4203:4203 [1] NCCL INFO comm 0x4 rank 3 nranks 4 cudaDev 1 busId 3b000 commId 0x9\n"

TEST(test_whose_line)
{
    static const struct {
        const char *line;
        int64_t rank;
        rs_fl_event_kind kind;
    } cases[] = {
        {"[rank2]: ValueError: no traceback before it\n", -2, RS_FL_EV_EXCEPTION},
        {"[rank2]:[E314 02:21:07.5 P.cpp:1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, "
         "OpType=RECV, x\n",
         2, RS_FL_EV_TIMEOUT},
        {"Mar 14 02:11:08 node01 kernel: [1.2] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the "
         "bus.\n",
         3, RS_FL_EV_XID},
        {"Mar 14 02:11:08 node01 kernel: amdgpu 0000:1b:00.0: amdgpu: GPU reset begin!\n", 2,
         RS_FL_EV_AMDGPU},
        {"node00:4201:4391 [1] t.cc:2 NCCL WARN NET/IB : Got completion from peer 1 with status=12 "
         "opcode=0\n",
         1, RS_FL_EV_NETWORK},
        {"E314 02:11:09.0 7 api.py:880] failed (exitcode: -9) local_rank: 1 (pid: 4203) of binary: x\n", 3,
         RS_FL_EV_KILLED},
        {"  rank      : 1 (local_rank: 1)\n  exitcode  : -11 (pid: 9)\n", 1, RS_FL_EV_SEGFAULT},
        {"  rank      : -5 (local_rank: -1)\n  exitcode  : -11 (pid: 9)\n", -1, RS_FL_EV_SEGFAULT},
        {"srun: error: node01: task 3: Out Of Memory\n", 3, RS_FL_EV_HOST_OOM},
        {"\x1b[31m[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\x1b[0m\n",
         1, RS_FL_EV_CUDA_OOM},
        {"[rank0]: RuntimeError: CUDA error: device-side assert triggered\n", 0, RS_FL_EV_CUDA_ERROR},
        {"slurmstepd: error: *** STEP 9.0 ON node00 CANCELLED AT 2026-03-14T02:11:09 DUE TO PREEMPTION ***\n",
         -1, RS_FL_EV_CANCELLED},
        {"[rank3]:[E314 02:19:09.0 P.cpp:1] ProcessGroupNCCL's watchdog got stuck for 480 seconds without "
         "making\n",
         3, RS_FL_EV_GIL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text t = {0};
        text_printf(&t, "%s%s", SEATS, cases[i].line);
        rs_flight *flight = read_log(t.s);
        if (cases[i].rank == -2) {
            assert_int_equal(flight->log->n, 0);
        } else {
            assert_int_equal(flight->log->n, 1);
            assert_int_equal(flight->log->events[0].kind, cases[i].kind);
            assert_int_equal(flight->log->events[0].rank, cases[i].rank);
        }
        rs_flight_close(flight);
        text_clear(&t);
    }
}

#define RAISED(lead)                                                                                         \
    lead "Traceback (most recent call last):\n" lead "  File \"/app/main.py\", line 9, in main\n" lead       \
         "    go()\n" lead "  File \"/x/site-packages/torch/a.py\", line 3, in f\n" lead "    x()\n" lead    \
         "KeyError: 'a'\n"

/* One moment, as zones write it. */
TEST(test_zones)
{
    static const char *const stamps[] = {
        "2026-03-14T02:11:08.5Z",       "2026-03-14 02:11:08.5",       "2026-03-14T07:41:08.5+05:30",
        "2026-03-14T07:41:08.5+0530",   "2026-03-13T22:41:08.5-03:30", "2026-03-14T02:26:08.500000000+00:15",
        "2026-03-14T02:11:08.500+00:00"};
    for (size_t i = 0; i < sizeof stamps / sizeof *stamps; i++) {
        char log[400];
        snprintf(
            log, sizeof log,
            "%s [rank1]: Traceback (most recent call last):\n%s [rank1]:   File \"/app/b.py\", line 1, in g\n"
            "%s [rank1]: KeyError: 'a'\n",
            stamps[i], stamps[i], stamps[i]);
        rs_flight *flight = read_log(log);
        assert_int_equal(flight->log->n, 1);
        assert_int_equal(flight->log->events[0].rank, 1);
        if (flight->log->events[0].time_ns != INT64_C(1773454268500000000))
            fail_msg("%s: %lld", stamps[i], (long long)flight->log->events[0].time_ns);
        rs_flight_close(flight);
    }
}

TEST(test_tracebacks)
{
    /* Caught, and the program went on. */
    rs_flight *flight = read_log(RAISED("") "WARNING: went on\n");
    assert_int_equal(flight->log->n, 1);
    assert_false(flight->log->events[0].fatal);
    rs_flight_close(flight);
    /* The same, and nothing more came. */
    flight = read_log(RAISED(""));
    assert_true(flight->log->events[0].fatal);
    assert_string_equal(rs_fl_text(flight, flight->log->events[0].where), "/app/main.py:9");
    rs_flight_close(flight);
    /* Printed by torch's hook: it ended the rank, whatever follows. */
    flight = read_log(RAISED("[rank2]: ") "[rank2]: bye\n");
    assert_true(flight->log->events[0].fatal);
    assert_int_equal(flight->log->events[0].rank, 2);
    rs_flight_close(flight);
    /* Of a chain the first is the cause. */
    flight = read_log(RAISED("[rank1]: ") "[rank1]: \n[rank1]: During handling of the above exception, "
                                          "another exception occurred:\n[rank1]: \n"
                                          "[rank1]: Traceback (most recent call last):\n[rank1]:   File "
                                          "\"/app/b.py\", line 1, in g\n[rank1]:     h()\n"
                                          "[rank1]: ValueError: b\n");
    assert_int_equal(flight->log->n, 1);
    assert_string_equal(rs_fl_text(flight, flight->log->events[0].exception), "KeyError");
    rs_flight_close(flight);
    /* A traceback that ends in what a hang does to everybody is a consequence. */
    flight =
        read_log("[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/app/b.py\", line 1, in "
                 "g\n[rank1]:     h()\n"
                 "[rank1]: torch.distributed.DistBackendError: NCCL communicator was aborted on rank 1.\n");
    assert_int_equal(flight->log->n, 1);
    assert_int_equal(flight->log->events[0].role, RS_FL_CONSEQUENCE);
    rs_flight_close(flight);
    /* Ended by a cause whose form has no text. */
    flight =
        read_log("[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/app/b.py\", line 1, in "
                 "g\n[rank1]: RuntimeError: NCCL Error 6: ncclSystemError\n");
    assert_int_equal(flight->log->n, 1);
    assert_int_equal(flight->log->events[0].kind, RS_FL_EV_NETWORK);
    assert_string_equal(rs_fl_text(flight, flight->log->events[0].exception), "RuntimeError");
    assert_string_equal(rs_fl_text(flight, flight->log->events[0].where), "/app/b.py:1");
    rs_flight_close(flight);
}

/* The earliest origins together, the deepest of these; time-outs are never one. */
TEST(test_cause_of_a_log)
{
    static const char log[] =
        SEATS "[rank0]:[E314 02:10:00.0 P.cpp:1] Watchdog caught collective operation timeout: "
              "WorkNCCL(SeqNum=7, OpType=RECV, x\n"
              "[rank3]:[E314 02:11:07.0 P.cpp:1] hello\n" RAISED(
                  "[rank3]: ") "Mar 14 02:11:08 node01 kernel: [1.2] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, "
                               "GPU has fallen off the bus.\n"
                               "  rank      : 1 (local_rank: 1)\n  exitcode  : 1 (pid: 4201)\n";
    rs_flight *flight = read_log(log);
    const rs_flight_report *r;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_flight_get_report(flight, &r, &err), RS_OK);
    assert_int_equal(r->root.verdict, RS_FLIGHT_CRASHED);
    assert_int_equal(r->root.n_culprits, 1);
    assert_int_equal(r->root.culprits[0], 3);
    assert_string_equal(r->cause->kind, "xid");
    assert_int_equal(r->cause->code, 79);
    assert_string_equal(r->cause->host, "node01");
    assert_int_equal(r->n_isolate, 1);
    rs_flight_close(flight);
}

TEST(test_templates)
{
    rs_fl_span f[RS_FL_MAX_FIELDS];
    static const char line[] = "a rank  12 b rank -3 nranks 8, file 'x y' 0000:3b:00";
    assert_true(rs_fl_template(line, sizeof line - 1, "rank %d nranks %d,", f));
    assert_int_equal(rs_fl_span_int(f[0]), -3);
    assert_int_equal(rs_fl_span_int(f[1]), 8);
    assert_true(rs_fl_template(line, sizeof line - 1, "nranks %d%*file '%q' %x", f));
    assert_true(rs_fl_span_is(f[1], "x y"));
    assert_true(rs_fl_span_is(f[2], "0000:3b:00"));
    assert_false(rs_fl_template(line, sizeof line - 1, "nranks %w x", f));
    assert_false(rs_fl_template("", 0, "a", f));
}

/* ---- tables in text ------------------------------------------------------------------------------------ */

TEST(test_text_tables)
{
    static const char tables[] = "=== FR Trace ===\n--- Collectives ---\n"
                                 "id  group_id  pass_check  collective_seq_id  record_id  pg_desc       "
                                 "collective_name  expected_ranks  collective_state  missing_ranks\n"
                                 " 0  0         True                        1          0  0:default_pg  "
                                 "gloo:all_reduce  {0, 1, 2, 3}    completed\n"
                                 " 1  0         True                        2          2  0:default_pg  "
                                 "gloo:all_reduce  {0, 1, 2, 3}    scheduled         {2}\n"
                                 "--- NCCL Calls ---\nid  collective_id  group_id  global_rank\n 0           "
                                 "   0  0                   0\n 1                 0                   3\n\n"
                                 "=== FR Trace NCCL ===\nFailed to fetch NCCL trace\n";
    rs_flight *flight;
    rs_error err = RS_ERROR_INIT;
    rs_fl_snapshot s = {0};
    assert_int_equal(rs_flight_open_bytes(NULL, 0, NULL, &flight, &err), RS_ERR_FORMAT);
    assert_int_equal(rs_fl_read_tables(flight, tables, sizeof tables - 1, &s, &err), RS_OK);
    assert_int_equal(s.n_rows, 2);
    assert_int_equal(s.rows[0].missing.n, 0);
    assert_true(s.rows[0].completed && s.rows[0].passed && s.rows[0].gloo);
    assert_int_equal(s.rows[1].seq, 2);
    assert_int_equal(s.rows[1].expected.n, 4);
    assert_int_equal(s.rows[1].missing.n, 1);
    assert_int_equal(s.members[s.rows[1].missing.first], 2);
    assert_int_equal(s.n_unmatched, 1);
    assert_int_equal(s.unmatched[0].rank, 3);
    rs_free_all(s.rows, s.unmatched, s.members);
    rs_flight_close(flight);
}
