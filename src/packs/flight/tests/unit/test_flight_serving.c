/* Serving engines: titles of processes, where vLLM's and SGLang's workers wait, and the lines of their logs. Stacks and lines have the
 * form of public reports (vllm-project/vllm issue 27313, sgl-project/sglang issues 5034 and 7783). */
#include "evidence_texts.h"
#include "support.h"

#include "flight/serving.h"
#include "rankscope/flight.h"

TEST(test_titles)
{
    static const struct {
        const char *title;
        rs_fl_process process;
        int64_t dp, pp, tp;
    } cases[] = {
        {"VLLM::Worker_TP3", RS_FL_PROCESS_WORKER, 0, 0, 3},
        {"VLLM::Worker_PP1_TP12_EP12", RS_FL_PROCESS_WORKER, 0, 1, 12},
        {"VLLM::Worker", RS_FL_PROCESS_WORKER, 0, 0, 0},
        {"sglang::scheduler_DP1_TP1_EP1", RS_FL_PROCESS_WORKER, 1, 0, 1},
        {"Worker_TP7", RS_FL_PROCESS_WORKER, 0, 0, 7},
        {"VLLM::EngineCore_DP0", RS_FL_PROCESS_ENGINE, 0, 0, 0},
        {"sglang::detokenizer", RS_FL_PROCESS_ENGINE, 0, 0, 0},
        {"EngineCore_DP1", RS_FL_PROCESS_ENGINE, 0, 0, 0},
        {"VLLM::Worker_TP9999999", RS_FL_PROCESS_ENGINE, 0, 0, 0},
        {"python train.py", RS_FL_PROCESS_OTHER, 0, 0, 0},
        {"Worker", RS_FL_PROCESS_OTHER, 0, 0, 0},
        {"", RS_FL_PROCESS_OTHER, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rs_fl_worker w;
        rs_fl_process process = rs_fl_process_of(cases[i].title, strlen(cases[i].title), &w);
        if (process != cases[i].process || w.dp != cases[i].dp || w.pp != cases[i].pp || w.tp != cases[i].tp)
            fail_msg("%s", cases[i].title);
    }
}

/* ---- jobs ------------------------------------------------------------------------------------------------- */

typedef enum place { QUEUE, ALL_REDUCE, ON_GPU, LOADS, ASKS, IDLE } place;
static const char *const frames[] = {
    [QUEUE] =
        "    poll (zmq/sugar/poll.py:106)\n    wait (vllm/distributed/device_communicators/shm_broadcast.py:186)\n"
        "        timeout_ms: 60000\n    acquire_read (vllm/distributed/device_communicators/shm_broadcast.py:674)\n"
        "    worker_busy_loop (vllm/v1/executor/multiproc_executor.py:963)\n",
    [ALL_REDUCE] = "    all_reduce (vllm/distributed/device_communicators/pynccl.py:130)\n"
                   "    execute_model (vllm/v1/worker/gpu_model_runner.py:2190)\n",
    [ON_GPU] = "    cuStreamSynchronize (libcuda.so.1)\n    0x7f20 (libcudart.so.12)\n"
               "    execute_model (vllm/v1/worker/gpu_model_runner.py:2310)\n",
    [LOADS] = "    recv_into (ssl.py:1314)\n    fetch_image (vllm/multimodal/utils.py:88)\n"
              "    execute_model (vllm/v1/worker/gpu_model_runner.py:2100)\n",
    [ASKS] =
        "    acquire_read (vllm/distributed/device_communicators/shm_broadcast.py:674)\n"
        "    get_response (vllm/v1/executor/multiproc_executor.py:244)\n    step (vllm/v1/engine/core.py:300)\n",
    [IDLE] = "    get (queue.py:171)\n    _process_input_queue (vllm/v1/engine/core.py:1480)\n",
};

static void put_process(text *t, unsigned pid, const char *title, place where)
{
    text_printf(
        t, "Process %u: %s\nPython v3.12.3 (/usr/bin/python3.12)\n\nThread %u (active): \"MainThread\"\n",
        pid, title, pid);
    text_puts(t, frames[where]);
    text_printf(t, "    <module> (multiprocessing/spawn.py:120)\n");
}

#define TIMED_OUT                                                                                                        \
    "(EngineCore_DP0 pid=99) ERROR 10-22 09:48:49 [core.py:710] Traceback (most recent call last):\n"                    \
    "(EngineCore_DP0 pid=99) ERROR 10-22 09:48:49 [core.py:710]   File \"/usr/lib/python3.12/a.py\", line 264, in rpc\n" \
    "(EngineCore_DP0 pid=99) ERROR 10-22 09:48:49 [core.py:710]     result = get_response(w, dequeue_timeout,\n"         \
    "(EngineCore_DP0 pid=99) ERROR 10-22 09:48:49 [core.py:710] TimeoutError: RPC call to execute_model timed out.\n"

/* Four workers and their engine. One moment accuses no worker; the engine's time-out makes it a hang. */
TEST(test_vllm)
{
    static const char *const names[] = {"9000.txt", "9001.txt", "9002.txt",
                                        "9003.txt", "99.txt",   "server.log"};
    static const struct {
        place odd, usual, engine;
        bool log;
        int64_t culprit;
        const char *part;
    } cases[] = {
        {ON_GPU, QUEUE, ASKS, true, 2,
         "Rank 2 (VLLM::Worker_TP2) is still in execute_model (vllm/v1/worker/gpu_model_runner.py:2310), while 3 ranks wait for "
         "the engine's next call"},
        {LOADS, ALL_REDUCE, ASKS, true, 2,
         "(VLLM::Worker_TP2) is in fetch_image (vllm/multimodal/utils.py:88), while 3 ranks wait in torch"},
        {ON_GPU, QUEUE, ASKS, false, -1, "A job that runs looks so, too"},
        {QUEUE, QUEUE, IDLE, false, -1, "4 ranks wait for the engine's next call"},
        {LOADS, QUEUE, IDLE, true, -1, "time-out"},
        {QUEUE, ALL_REDUCE, ASKS, true, -1, "time-out"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        text t[6] = {0};
        const rs_flight_report *report;
        for (unsigned r = 0; r < 4; r++) {
            char title[32];
            snprintf(title, sizeof title, "VLLM::Worker_TP%u", r);
            put_process(&t[r], 9000 + r, title, r == 2 ? cases[c].odd : cases[c].usual);
        }
        put_process(&t[4], 99, "VLLM::EngineCore", cases[c].engine);
        text_puts(&t[5], TIMED_OUT);
        rs_flight *flight = flight_of_texts(t, names, 5 + cases[c].log, &report);
        size_t n = cases[c].culprit >= 0;
        if (report->root.n_culprits != n || (n && report->root.culprits[0] != cases[c].culprit) ||
            !strstr(report->root.summary, cases[c].part))
            fail_msg("case %zu: %s", c, report->root.summary);
        rs_flight_close(flight);
        for (size_t i = 0; i < 6; i++) text_clear(&t[i]);
    }
}

/* SGLang's watchdog logs the stacks of its processes; a second dump of one of them is no second rank. Ranks follow from stages and
 * tensor-parallel places; replicas of data parallelism follow each other unless the places differ without them. */
TEST(test_sglang)
{
    static const char *const name = "server.log";
    static const struct {
        const char *titles[4];
        int64_t culprit; /* of the third */
    } cases[] = {
        {{"sglang::scheduler_TP0", "sglang::scheduler_TP1", "sglang::scheduler_TP2", "sglang::scheduler_TP3"},
         2},
        {{"sglang::scheduler_DP0_TP0", "sglang::scheduler_DP0_TP1", "sglang::scheduler_DP1_TP2",
          "sglang::scheduler_DP1_TP3"},
         2},
        {{"sglang::scheduler_PP0_TP0", "sglang::scheduler_PP0_TP1", "sglang::scheduler_PP1_TP1",
          "sglang::scheduler_PP1_TP0"},
         3},
        {{"sglang::scheduler_DP0_TP0", "sglang::scheduler_DP0_TP1", "sglang::scheduler_DP1_TP1",
          "sglang::scheduler_DP1_TP0"},
         3},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        text t = {0};
        const rs_flight_report *report;
        for (unsigned twice = 0; twice < 2; twice++)
            for (unsigned r = 0; r < 4; r++) {
                text_printf(
                    &t,
                    "[2025-08-02 19:24:30 TP%u] Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)\n",
                    r);
                text_printf(&t, "[2025-08-02 19:24:31 TP%u] Pyspy dump for PID %u:\n", r, 100 + r);
                put_process(&t, 100 + r, cases[c].titles[r], r == 2 ? LOADS : ON_GPU);
                text_puts(&t, "\n");
            }
        text_puts(
            &t,
            "[2025-08-02 19:24:41] Received sigquit from a child process. It usually means the child failed.\n");
        rs_flight *flight = flight_of_texts(&t, &name, 1, &report);
        if (report->root.n_culprits != 1 || report->root.culprits[0] != cases[c].culprit ||
            !strstr(report->root.summary, "is in fetch_image") ||
            !strstr(report->root.summary, "3 ranks wait in torch"))
            fail_msg("case %zu: %s", c, report->root.summary);
        rs_flight_close(flight);
        text_clear(&t);
    }
}

/* In front of a line: vLLM's worker, level and stamp; SGLang's stamp and place. */
TEST(test_prefixes)
{
    static const char *const name = "server.log";
    text t = {0};
    const rs_flight_report *report;
    text_puts(
        &t,
        "(Worker_TP1 pid=7) ERROR 10-22 09:48:40 [multiproc_executor.py:671] CUDA error: an illegal memory access was encountered\n");
    rs_flight *flight = flight_of_texts(&t, &name, 1, &report);
    assert_int_equal(report->root.verdict, RS_FLIGHT_CRASHED);
    assert_int_equal(report->root.culprits[0], 1);
    rs_flight_close(flight);
    text_clear(&t);
    text_puts(&t, "[2025-08-02 19:24:30 TP3] Scheduler hit an exception: Traceback (most recent call last):\n"
                  "[2025-08-02 19:24:31 TP5] CUDA error: an illegal memory access was encountered\n");
    flight = flight_of_texts(&t, &name, 1, &report);
    assert_int_equal(report->root.culprits[0], 5);
    rs_flight_close(flight);
    text_clear(&t);
}
