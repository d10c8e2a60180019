/* What machines say: lines of the kernel's log, and DCGM's series as Prometheus answers them, of hosts whose fault is known. */
#include <time.h>

#include "evidence_texts.h"
#include "support.h"

#include "flight/log.h"
#include "rankscope/flight.h"

#define GPUS 8u
#define START 1773453600u /* 2026-03-14T02:00:00Z */

#define SEATS                                                                                                \
    "node00:4200:4200 [0] NCCL INFO comm 0x1 rank 0 nranks 4 cudaDev 0 busId 1b000 commId 0x9\n"             \
    "node00:4201:4201 [1] NCCL INFO comm 0x2 rank 1 nranks 4 cudaDev 1 busId 3b000 commId 0x9\n"             \
    "node01:4210:4210 [0] NCCL INFO comm 0x3 rank 2 nranks 4 cudaDev 0 busId 1b000 commId 0x9\n"             \
    "node01:4211:4211 [1] NCCL INFO comm 0x4 rank 3 nranks 4 cudaDev 1 busId 3b000 commId 0x9\n"

/* ---- the kernel's log ------------------------------------------------------------------------------------- */

TEST(test_kernel_lines)
{
    static const struct {
        const char *line;
        rs_fl_event_kind kind;
        rs_fl_role role;
        int64_t rank, code;
    } cases[] = {
        {"nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", RS_FL_EV_SXID,
         RS_FL_ORIGIN, -1, 20034},
        {"nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20009, Non-fatal, Link 28 RX Short Error Rate",
         RS_FL_EV_NVLINK, RS_FL_CONDITION, -1, 20009},
        {"pcieport 0000:3a:00.0: AER: Uncorrected (Fatal) error received: 0000:3b:00.0", RS_FL_EV_PCIE_ERROR,
         RS_FL_ORIGIN, 3, INT64_MIN},
        {"pcieport 0000:3a:00.0: AER: Uncorrectable (Fatal) error message received from 0000:3b:00.0",
         RS_FL_EV_PCIE_ERROR, RS_FL_ORIGIN, 3, INT64_MIN},
        {"pci 0000:1b:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link at 0000:00:01.0",
         RS_FL_EV_PCIE, RS_FL_CONDITION, 2, INT64_MIN},
        {"CPU12: Core temperature above threshold, cpu clock throttled (total events = 1)",
         RS_FL_EV_THROTTLED, RS_FL_CONDITION, -1, INT64_MIN},
        {"pcieport 0000:3a:00.0: AER: Corrected error received: 0000:3b:00.0", RS_FL_N_EVENTS, RS_FL_REMARK,
         -1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const char *const name = "job.log";
        text t = {0};
        const rs_flight_report *report;
        text_printf(&t, SEATS "Mar 14 02:11:08 node01 kernel: [812345.118822] %s\n", cases[i].line);
        rs_flight *flight = flight_of_texts(&t, &name, 1, &report);
        const rs_fl_event *e = flight->log->n ? &flight->log->events[0] : NULL;
        if (cases[i].kind == RS_FL_N_EVENTS) {
            assert_null(e);
        } else {
            if (!e || e->kind != cases[i].kind || e->role != cases[i].role || e->rank != cases[i].rank ||
                e->code != cases[i].code || strcmp(rs_fl_text(flight, e->host), "node01") != 0)
                fail_msg("%s: kind %d of rank %lld", cases[i].line, e ? e->kind : -1,
                         e ? (long long)e->rank : -1);
            assert_int_equal(report->root.verdict == RS_FLIGHT_CRASHED,
                             e->role == RS_FL_ORIGIN && e->rank >= 0);
        }
        rs_flight_close(flight);
        text_clear(&t);
    }
}

/* ---- Prometheus ------------------------------------------------------------------------------------------- */

typedef struct cluster {
    unsigned slow, from, mhz, reason; /* a GPU whose clock is limited from that sample on; GPUS: none */
    unsigned idle;                    /* sample from which no GPU works; 0: never */
    unsigned bad, xid;                /* a GPU that reports that Xid; GPUS: none */
    unsigned samples;
} cluster;

static void put_series(text *t, unsigned gpu, const char *name, const cluster *c,
                       unsigned (*value)(const cluster *, unsigned, unsigned))
{
    text_printf(
        t,
        "%s{\"metric\":{\"__name__\":\"%s\",\"gpu\":\"%u\",\"Hostname\":\"node%02u.cluster.local\",\"pci_bus_id\":"
        "\"00000000:%s:00.0\",\"instance\":\"10.0.0.1:9400\"},\"values\":[",
        t->s[t->n - 1] == '[' ? "" : ",\n", name, gpu % 2, gpu / 2, gpu % 2 ? "3B" : "1B");
    for (unsigned i = 0; i < c->samples; i++)
        text_printf(t, "%s[%u.5,\"%u\"]", i ? "," : "", START + 15 * i, value(c, gpu, i));
    text_puts(t, "]}");
}

static unsigned clock_of(const cluster *c, unsigned gpu, unsigned i)
{
    if (c->idle && i >= c->idle) return 345;
    return gpu == c->slow && i >= c->from ? c->mhz : 1980 - (i * 7 + gpu) % 3 * 15;
}

static unsigned reason_of(const cluster *c, unsigned gpu, unsigned i)
{
    return gpu == c->slow && i >= c->from ? c->reason : 0;
}

static unsigned xid_of(const cluster *c, unsigned gpu, unsigned i)
{
    return gpu == c->bad && i >= c->samples / 2 ? c->xid : 0;
}

static void put_answer(text *t, const cluster *c)
{
    text_puts(t, "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[");
    for (unsigned gpu = 0; gpu < GPUS; gpu++) {
        put_series(t, gpu, "DCGM_FI_DEV_SM_CLOCK", c, clock_of);
        put_series(t, gpu, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", c, reason_of);
        put_series(t, gpu, "DCGM_FI_DEV_XID_ERRORS", c, xid_of);
    }
    text_puts(t, "]}}");
}

TEST(test_prometheus)
{
    static const struct {
        cluster c;
        rs_flight_verdict verdict;
        int64_t culprit;
        const char *says;
    } cases[] = {
        {{GPUS, 0, 0, 0, 0, GPUS, 0, 40}, RS_FLIGHT_HEALTHY, -1, "no clock below the others"},
        {{GPUS, 0, 0, 0, 20, GPUS, 0, 40},
         RS_FLIGHT_HEALTHY,
         -1,
         "no clock below the others"}, /* a job that stops */
        {{3, 20, 1230, 4, 0, GPUS, 0, 40}, RS_FLIGHT_STRAGGLER, 3, "Rank 3 is slow: SM clock 19"},
        {{3, 20, 1230, 4, 0, GPUS, 0, 40},
         RS_FLIGHT_STRAGGLER,
         3,
         "-> 1230 MHz, power cap (DCGM, dcgm.json:10, 02:05"},
        {{3, 0, 1230, 0x40, 0, GPUS, 0, 40}, RS_FLIGHT_STRAGGLER, 3, "all the time: SM clock 1230 MHz"},
        {{3, 20, 1900, 4, 0, GPUS, 0, 40},
         RS_FLIGHT_HEALTHY,
         -1,
         "no clock below the others"}, /* too little to matter */
        {{GPUS, 0, 0, 0, 0, 1, 79, 40}, RS_FLIGHT_CRASHED, 1, "Xid 79"},
    };
    static const char *const names[] = {"dcgm.json", "job.log"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text t[2] = {0};
        const rs_flight_report *report;
        put_answer(&t[0], &cases[i].c);
        text_puts(&t[1], SEATS);
        rs_flight *flight = flight_of_texts(t, names, 2, &report);
        const rs_flight_finding *root = &report->root;
        if (root->verdict != cases[i].verdict || root->n_culprits != (cases[i].culprit >= 0) ||
            (cases[i].culprit >= 0 && root->culprits[0] != cases[i].culprit) ||
            !strstr(root->summary, cases[i].says))
            fail_msg("case %zu: %s, %zu culprits: %s", i, rs_flight_verdict_name(root->verdict),
                     root->n_culprits, root->summary);
        rs_flight_close(flight);
        text_clear(&t[0]);
        text_clear(&t[1]);
    }
}

/* ---- stacks ----------------------------------------------------------------------------------------------- */

static void put_stack(text *t, unsigned rank, bool waits)
{
    text_printf(
        t,
        "Process %u: python train.py\nPython v3.12.3 (/usr/bin/python3.12)\n\nThread %u (active): \"MainThread\"\n",
        100 + rank, 100 + rank);
    text_puts(t, waits ? "    all_reduce (torch/distributed/distributed_c10d.py:2501)\n"
                       : "    next_batch (/app/loader.py:212)\n");
    text_puts(t, "    step (/app/train.py:64)\n    <module> (/app/train.py:91)\n");
}

#define TIMEOUT                                                                                                    \
    "[rank1]:[E314 02:21:07.071 ProcessGroupNCCL.cpp:685] [Rank 1] Watchdog caught collective operation timeout: " \
    "WorkNCCL(SeqNum=6, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran\n"

/* One moment accuses no rank; with a watchdog's time-out the one that is elsewhere is the one that is missing. */
TEST(test_stacks)
{
    static const char *const names[] = {"rank0.txt", "rank1.txt", "rank2.txt", "job.log"};
    for (unsigned elsewhere = 0; elsewhere < 4; elsewhere++)
        for (size_t with_log = 0; with_log < 2; with_log++) {
            text t[4] = {0};
            const rs_flight_report *report;
            for (unsigned r = 0; r < 3; r++) put_stack(&t[r], r, r != elsewhere);
            text_puts(&t[3], TIMEOUT);
            rs_flight *flight = flight_of_texts(t, names, 3 + with_log, &report);
            bool named = with_log && elsewhere < 3;
            rs_flight_verdict verdict = named      ? RS_FLIGHT_RANK_MISSING
                                        : with_log ? RS_FLIGHT_BAD_INPUT
                                                   : RS_FLIGHT_HEALTHY;
            if (report->root.verdict != verdict || report->root.n_culprits != named ||
                (named && report->root.culprits[0] != elsewhere) ||
                (elsewhere < 3 &&
                 !strstr(report->root.summary,
                         "is in next_batch (/app/loader.py:212), while 2 ranks wait in torch")))
                fail_msg("%u, log %zu: %s", elsewhere, with_log, report->root.summary);
            rs_flight_close(flight);
            for (size_t i = 0; i < 4; i++) text_clear(&t[i]);
        }
}

/* Without the log's map of hosts a GPU is named by its host. A cut answer names no other one. */
TEST(test_cut_answers)
{
    static const cluster c = {5, 6, 1230, 4, 0, GPUS, 0, 12};
    static const char *const name = "dcgm.json";
    text t = {0};
    const rs_flight_report *report;
    put_answer(&t, &c);
    for (size_t cut = 500; cut <= t.n; cut += cut + 97 > t.n && cut < t.n ? t.n - cut : 97) {
        text part = {0};
        text_add(&part, t.s, cut);
        rs_flight *flight = flight_of_texts(&part, &name, 1, &report);
        bool named = strstr(report->root.summary, "GPU 1 of node02 is slow") != NULL;
        if (strstr(report->root.summary, " is slow") && !named)
            fail_msg("cut at %zu: %s", cut, report->root.summary);
        if (cut == t.n) assert_true(named);
        assert_int_equal(report->root.n_culprits, 0);
        rs_flight_close(flight);
        text_clear(&part);
    }
    text_clear(&t);
}

TEST(test_cost)
{
    static const char *const name = "dcgm.json";
    double seconds[3];
    for (int i = 0; i < 3; i++) {
        cluster c = {3, 20, 1230, 4, 0, GPUS, 0, 1500u << i};
        text t = {0};
        const rs_flight_report *report;
        put_answer(&t, &c);
        seconds[i] = 1e9;
        for (int k = 0; k < 3; k++) {
            struct timespec a, b;
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
            rs_flight_close(flight_of_texts(&t, &name, 1, &report));
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
            double s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
            if (s < seconds[i]) seconds[i] = s;
        }
        text_clear(&t);
    }
    print_message("36, 72, 144 thousand samples: %.3f, %.3f, %.3f s\n", seconds[0], seconds[1], seconds[2]);
    if (seconds[2] > 8 * seconds[0] + 0.05) fail_msg("the cost grows faster than the answer");
}
