/* NCCL Inspector: jobs whose slow rank, slow link and change are known, written as the plugin writes them. */
#include <math.h>
#include <time.h>

#include "support.h"

#include "rankscope/flight.h"

#define RANKS 8u
#define START INT64_C(1748030377748202) /* us */

typedef struct job {
    unsigned late, late_us; /* rank, and how much it comes after the others; RANKS: none */
    unsigned slow;          /* pair whose transfer takes 2.2 times as long; RANKS: none */
    unsigned change;        /* step from which the group of all takes twice as long; 0: none */
    unsigned steps;
    bool shared; /* v4.3: a line with dump_stats has the header of those after it */
} job;

static void put_record(text *t, const job *j, const char *comm, unsigned rank, unsigned in_comm,
                       unsigned size, unsigned step, double us)
{
    text_printf(
        t,
        "{\"header\":{\"id\":\"%s\",\"rank\":%u,\"n_ranks\":%u,\"nnodes\":2},\"metadata\":{"
        "\"inspector_output_format_version\":\"%s\",\"git_rev\":\"\",\"rec_mechanism\":\"profiler_plugin\","
        "\"dump_timestamp_us\":%lld,\"hostname\":\"node%02u\",\"pid\":%u},",
        comm, in_comm, size, j->shared ? "v4.3" : "v4.0", (long long)(START + (int64_t)step * 1000000),
        rank / 4, 4200 + rank);
    if (j->shared)
        text_puts(
            t, "\"dump_stats\":{\"coll_records\":1,\"coll_dropped_since_last_dump\":2,\"p2p_records\":1}}\n{"
               "\"p2p_perf\":{\"p2p\":\"Send\",\"p2p_sn\":1,\"p2p_peer\":1,\"p2p_exec_time_us\":9}}\n{");
    text_printf(
        t,
        "\"coll_perf\":{\"coll\":\"AllReduce\","
        "\"coll_sn\":%u,\"coll_msg_size_bytes\":67108864,\"coll_exec_time_us\":%.0f,\"coll_timing_source\":\"kernel_gpu\","
        "\"coll_algobw_gbs\":%.6f,\"coll_busbw_gbs\":%.6f}}\n",
        step + 1, us, 67108.864 / us, 67108.864 / us);
}

static double noise(rng *r, double most)
{
    return most * (double)(rng_next(r) % 1000) / 1000;
}

/* Ranks are in the group of all and in pairs; each collective ends on all members together. */
static void put_job(text *t, const job *j)
{
    rng r = {12345};
    for (unsigned s = 0; s < j->steps; s++)
        for (unsigned g = 0; g <= RANKS / 2; g++) {
            unsigned first = g ? (g - 1) * 2 : 0, size = g ? 2 : RANKS;
            double transfer = (g ? 800 : 5000) * (g && g - 1 == j->slow ? 2.2 : 1) *
                              (!g && j->change && s >= j->change ? 2 : 1);
            double come[RANKS], end = 0;
            char comm[8];
            snprintf(comm, sizeof comm, "0x%u", g);
            transfer *= 0.98 + noise(&r, 0.04);
            for (unsigned i = 0; i < size; i++) {
                come[i] = noise(&r, 100) + (first + i == j->late ? j->late_us : 0);
                if (come[i] + transfer > end) end = come[i] + transfer;
            }
            for (unsigned i = 0; i < size; i++) put_record(t, j, comm, first + i, i, size, s, end - come[i]);
        }
}

static rs_flight *open_text(const text *t, const rs_flight_report **report)
{
    rs_flight_bytes bytes = {t->s, t->n, -1, "node00-pid4200.log"};
    rs_flight_settings settings = {.size = sizeof settings, .evidence = &bytes, .n_evidence = 1};
    rs_flight *flight;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_flight_open(NULL, 0, &settings, &flight, &err), RS_OK);
    assert_int_equal(rs_flight_get_report(flight, report, &err), RS_OK);
    return flight;
}

TEST(test_verdicts)
{
    static const struct {
        job job;
        rs_flight_verdict verdict;
        int64_t culprit;
        const char *says;
    } cases[] = {
        {{RANKS, 0, RANKS, 0, 60, false},
         RS_FLIGHT_HEALTHY,
         -1,
         "none is late often, and no communicator is slow"},
        {{5, 4000, RANKS, 0, 60, false}, RS_FLIGHT_STRAGGLER, 5, "comes last in 120 of 120 collectives"},
        {{5, 4000, RANKS, 0, 3, false}, RS_FLIGHT_HEALTHY, -1, "none is late often"}, /* too few to judge */
        {{5, 150, RANKS, 0, 60, false},
         RS_FLIGHT_HEALTHY,
         -1,
         "none is late often"}, /* too little to matter */
        {{RANKS, 0, 2, 0, 60, false},
         RS_FLIGHT_STRAGGLER,
         -1,
         "communicator 0x3 (2 ranks) takes 2.2 times as long as on the other"},
        {{RANKS, 0, RANKS, 30, 60, false},
         RS_FLIGHT_STRAGGLER,
         -1,
         "communicator 0x0 (8 ranks) became slower with number 31"},
        {{5, 4000, RANKS, 0, 60, true}, RS_FLIGHT_STRAGGLER, 5, "comes last in 120 of 120 collectives"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text t = {0};
        const rs_flight_report *report;
        put_job(&t, &cases[i].job);
        rs_flight *flight = open_text(&t, &report);
        const rs_flight_finding *root = &report->root;
        if (root->verdict != cases[i].verdict || root->n_culprits != (cases[i].culprit >= 0) ||
            (cases[i].culprit >= 0 && root->culprits[0] != cases[i].culprit) ||
            !strstr(root->summary, cases[i].says))
            fail_msg("case %zu: %s, %zu culprits: %s", i, rs_flight_verdict_name(root->verdict),
                     root->n_culprits, root->summary);
        rs_flight_close(flight);
        text_clear(&t);
    }
}

TEST(test_table)
{
    static const job slow = {RANKS, 0, 2, 0, 20, false};
    text t = {0};
    const rs_flight_report *report;
    rs_error err = RS_ERROR_INIT;
    put_job(&t, &slow);
    rs_flight *flight = open_text(&t, &report);
    rs_table *table = rs_flight_inspector(flight, &err);
    assert_non_null(table);
    assert_int_equal(rs_table_n_rows(table), 1 + RANKS / 2);
    for (size_t row = 0; row < rs_table_n_rows(table); row++) {
        double transfer, usual = 800, all = 5000;
        bool pair = rs_table_int(table, row, 3) == 2,
             bad = strcmp(rs_table_text(table, row, 0, NULL), "0x3") == 0;
        assert_int_equal(rs_table_int(table, row, 4), 20);
        transfer = rs_table_real(table, row, 5);
        assert_true(fabs(transfer / ((pair ? usual : all) * (bad ? 2.2 : 1)) - 1) < 0.05);
    }
    rs_table_free(table);
    rs_flight_close(flight);
    text_clear(&t);
}

/* A part of a file never accuses a rank that the whole does not; a damaged line costs itself. */
TEST(test_damage)
{
    static const job late = {5, 4000, RANKS, 0, 12, false};
    text t = {0};
    const rs_flight_report *report;
    put_job(&t, &late);
    for (size_t cut = 4096; cut < t.n; cut += RS_TEST_SLOW ? 1009 : 61) {
        text part = {0};
        text_add(&part, t.s, cut);
        rs_flight *flight = open_text(&part, &report);
        if (report->root.n_culprits && report->root.culprits[0] != 5)
            fail_msg("cut at %zu: %s", cut, report->root.summary);
        rs_flight_close(flight);
        text_clear(&part);
    }
    memset(strchr(t.s, '\n') + 20, '"', 3);
    rs_flight *flight = open_text(&t, &report);
    assert_int_equal(rs_flight_problems(flight)->n, 1);
    assert_int_equal(rs_flight_problems(flight)->items[0].count, 1);
    assert_int_equal(report->root.culprits[0], 5);
    rs_flight_close(flight);
    text_clear(&t);
}

/* What the plugin lost and what is not used are notes; a time of the host is no time of a transfer. */
TEST(test_other_records)
{
    static const job shared = {RANKS, 0, RANKS, 0, 2, true};
    text t = {0};
    const rs_flight_report *report;
    put_job(&t, &shared);
    size_t n_records = 2 * (RANKS + RANKS);
    rs_flight *flight = open_text(&t, &report);
    const rs_problems *p = rs_flight_problems(flight);
    assert_int_equal(p->n, 2);
    for (size_t i = 0; i < p->n; i++) {
        assert_int_equal(p->items[i].severity, RS_NOTE);
        assert_int_equal(p->items[i].count,
                         strcmp(p->items[i].kind, "inspector_dropped") == 0 ? 2 * n_records : n_records);
    }
    rs_flight_close(flight);
    text_clear(&t);
    text_puts(
        &t,
        "{\"header\":{\"id\":\"1\",\"rank\":0,\"n_ranks\":2},\"metadata\":{\"pid\":1},\"coll_perf\":{\"coll\":\"X\","
        "\"coll_sn\":1,\"coll_exec_time_us\":5,\"coll_timing_source\":\"collective_cpu\"}}\n");
    flight = open_text(&t, &report);
    assert_int_equal(rs_flight_problems(flight)->n, 1);
    assert_string_equal(rs_flight_problems(flight)->items[0].kind, "inspector_other");
    rs_flight_close(flight);
    text_clear(&t);
}

TEST(test_cost)
{
    double seconds[3];
    for (int i = 0; i < 3; i++) {
        job j = {5, 4000, RANKS, 0, 400u << i, false};
        text t = {0};
        const rs_flight_report *report;
        put_job(&t, &j);
        seconds[i] = 1e9;
        for (int k = 0; k < 3; k++) {
            struct timespec a, b;
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
            rs_flight_close(open_text(&t, &report));
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
            double s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
            if (s < seconds[i]) seconds[i] = s;
        }
        text_clear(&t);
    }
    print_message("6400, 12800, 25600 records: %.3f, %.3f, %.3f s\n", seconds[0], seconds[1], seconds[2]);
    if (seconds[2] > 8 * seconds[0] + 0.05) fail_msg("the cost grows faster than the files");
}
