/* Flight-recorder dumps: the rules of matching one by one, cut and damaged dumps, archives, the database. */
#include "support.h"

#include <dirent.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "flight/files.h"
#include "rankscope/flight.h"

/* ---- small dumps in JSON ------------------------------------------------------------------------------- */

typedef struct dump {
    text t;
    unsigned n;
} dump;

static void dump_begin(dump *d, const char *config)
{
    *d = (dump){0};
    text_printf(&d->t, "{\"version\": \"2.10\", \"pg_config\": {%s}, \"entries\": [", config);
}

/* One entry of group ("0", "default"); p2p by its name. */
static void dump_add(dump *d, const char *op, const char *in, const char *out, const char *type,
                     const char *state, const char *seq)
{
    bool p2p = strncmp(op, "send", 4) == 0 || strncmp(op, "recv", 4) == 0 || strncmp(op, "p2p", 3) == 0;
    const char *name = strncmp(op, "p2p ", 4) == 0 ? op + 4 : op;
    text_printf(&d->t,
                "%s{\"record_id\": %u, \"pg_id\": 0, \"process_group\": [\"0\", \"default\"], "
                "\"profiling_name\": \"nccl:%s\","
                " \"collective_seq_id\": %s, \"p2p_seq_id\": %s, \"is_p2p\": %s, \"input_sizes\": %s, "
                "\"output_sizes\": %s,"
                " \"input_dtypes\": [\"%s\"], \"output_dtypes\": [\"%s\"], \"state\": \"%s\", "
                "\"time_created_ns\": %u000}",
                d->n ? "," : "", d->n, name, p2p ? "0" : seq, p2p ? seq : "0", p2p ? "true" : "false", in,
                out, type, type, state, d->n + 1);
    d->n++;
}

static void dump_end(dump *d)
{
    text_puts(&d->t, "]}");
}

static rs_flight *open_dumps(dump *dumps, size_t n, const rs_flight_report **report)
{
    rs_flight_bytes bytes[16];
    rs_flight *flight;
    rs_error err = RS_ERROR_INIT;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (rs_flight_bytes){dumps[i].t.s, dumps[i].t.n, (int64_t)i, "dump"};
    assert_int_equal(rs_flight_open_bytes(bytes, n, NULL, &flight, &err), RS_OK);
    assert_int_equal(rs_flight_get_report(flight, report, &err), RS_OK);
    for (size_t i = 0; i < n; i++) text_clear(&dumps[i].t);
    return flight;
}

#define PAIR "\"0\": {\"name\": \"0\", \"desc\": \"default\", \"ranks\": \"[0, 1]\"}"

typedef struct call {
    const char *op, *in, *out, *type, *state;
} call;

/* The verdict on two ranks that make one call each under sequence number 1. */
static rs_flight_verdict verdict_of_two(call a, call b, char *summary, size_t size)
{
    dump d[2];
    const rs_flight_report *report;
    for (int i = 0; i < 2; i++) {
        call c = i ? b : a;
        dump_begin(&d[i], PAIR);
        dump_add(&d[i], c.op, c.in, c.out, c.type, c.state, "\"1\"");
        dump_end(&d[i]);
    }
    rs_flight *flight = open_dumps(d, 2, &report);
    rs_flight_verdict v = report->root.verdict;
    assert_non_null(report->root.summary);
    if (summary) snprintf(summary, size, "%s", report->root.summary);
    rs_flight_close(flight);
    return v;
}

/* Where a rank stands is identified by its newest entry that carries frames, not by its newest entry. */
TEST(test_where_it_stands)
{
    dump d[2];
    for (int r = 0; r < 2; r++) {
        dump_begin(&d[r], "\"0\": {\"name\": \"0\", \"desc\": \"default\", \"ranks\": \"[0, 1]\"}");
        for (int seq = 1; seq <= 4 - 2 * r; seq++) {
            char number[8];
            snprintf(number, sizeof number, "%d", seq);
            dump_add(&d[r], "all_reduce", "[[4]]", "[[4]]", "Float", seq < 3 ? "completed" : "scheduled",
                     number);
            if (seq > 1) continue;
            d[r].t.n--; /* behind the entry's members */
            text_puts(&d[r].t,
                      ", \"frames\": [{\"name\": \"step\", \"filename\": \"/app/a.py\", \"line\": 3}]}");
        }
        dump_end(&d[r]);
    }
    const rs_flight_report *report;
    rs_flight *flight = open_dumps(d, 2, &report);
    assert_int_equal(report->n_roots, 1);
    assert_int_equal(report->roots[0].rank, 1);
    assert_non_null(report->roots[0].where);
    assert_string_equal(report->roots[0].where, "/app/a.py:3");
    rs_flight_close(flight);
}

TEST(test_two_calls)
{
    static const struct {
        call a, b;
        rs_flight_verdict verdict;
        const char *says; /* NULL: nothing is asked */
    } cases[] = {
        {{"all_reduce", "[[4, 4]]", "[[4, 4]]", "Float", "completed"},
         {"all_reduce", "[[4, 4]]", "[[4, 4]]", "Float", "completed"},
         RS_FLIGHT_HEALTHY,
         NULL},
        {{"all_reduce", "[[4, 4]]", "[[4, 4]]", "Float", "completed"},
         {"all_gather", "[[4, 4]]", "[[4, 8]]", "Float", "completed"},
         RS_FLIGHT_TYPE_MISMATCH,
         "Rank 0 called all_reduce where rank 1 called all_gather: seq 1 of default (group 0)."},
        {{"all_to_all", "[[4, 4]]", "[[4, 4]]", "Float", "completed"},
         {"all_to_all", "[[4, 4]]", "[[4, 4]]", "Float", "completed"},
         RS_FLIGHT_HEALTHY,
         NULL},
        {{"all_reduce", "[[4, 4]]", "[[4, 4]]", "Float", "completed"},
         {"all_reduce", "[[5, 4]]", "[[4, 4]]", "Float", "completed"},
         RS_FLIGHT_SIZE_MISMATCH,
         "Rank 1 called all_reduce with sizes that do not fit a group of 2: input [[5, 4]], output [[4, 4]] (seq 1, default (group 0))."},
        {{"all_reduce", "[[4, 4]]", "[[4, 4]]", "Float", "completed"},
         {"all_reduce", "[[4, 4]]", "[[5, 4]]", "Float", "completed"},
         RS_FLIGHT_SIZE_MISMATCH,
         NULL},
        {{"all_reduce", "[[4, 4]]", "[[5, 4]]", "Float", "completed"},
         {"all_reduce", "[[4, 4]]", "[[5, 4]]", "Float", "completed"},
         RS_FLIGHT_SIZE_MISMATCH,
         "Ranks 0 and 1 called all_reduce with sizes that do not fit a group of 2: input [[4, 4]], output [[5, 4]] (seq 1, default (group 0))."},
        {{"all_reduce", "[[4, 4]]", "[[4, 4]]", "Float", "scheduled"},
         {"all_reduce", "[[4, 4]]", "[[4, 4]]", "Float", "completed"},
         RS_FLIGHT_STATE_MISMATCH,
         "The GPU of rank 0 has not finished all_reduce 1 of default (group 0); rank 1 finished it."},
        {{"all_reduce", "[[4, 4]]", "[[4, 4]]", "Half", "completed"},
         {"all_reduce", "[[4, 4]]", "[[4, 4]]", "Float", "completed"},
         RS_FLIGHT_DTYPE_MISMATCH,
         "Rank 0 called all_reduce on Half where rank 1 used Float: seq 1 of default (group 0)."},
        {{"all_reduce", "[[4, 4]]", "[[16]]", "Float", "completed"},
         {"all_reduce", "[[16]]", "[[2, 8]]", "Float", "completed"},
         RS_FLIGHT_HEALTHY,
         NULL},
        {{"gather", "[[4, 4]]", "[[4, 4], [4, 4]]", "Float", "completed"},
         {"gather", "[[4, 4]]", "[[]]", "Float", "completed"},
         RS_FLIGHT_HEALTHY,
         NULL},
        {{"gather", "[[4, 4]]", "[[4, 4], [4, 4]]", "Float", "completed"},
         {"gather", "[[4, 4]]", "[[4, 4]]", "Float", "completed"},
         RS_FLIGHT_HEALTHY,
         NULL},
        {{"all_gather", "[[3]]", "[[3], [5]]", "Float", "completed"},
         {"all_gather", "[[5]]", "[[3], [5]]", "Float", "completed"},
         RS_FLIGHT_HEALTHY,
         NULL},
        {{"all_gather", "[[3]]", "[[3], [5]]", "Float", "completed"},
         {"all_gather", "[[6]]", "[[3], [5]]", "Float", "completed"},
         RS_FLIGHT_SIZE_MISMATCH,
         "Rank 0 called all_gather on [[3]] -> [[3], [5]] where rank 1 used [[6]] -> [[3], [5]]: seq 1 of default (group 0)."},
        {{"reduce_scatter", "[[3], [5]]", "[[3]]", "Float", "completed"},
         {"reduce_scatter", "[[3], [5]]", "[[5]]", "Float", "completed"},
         RS_FLIGHT_HEALTHY,
         NULL},
        {{"all_to_all_single", "[[10]]", "[[6]]", "Float", "completed"},
         {"all_to_all_single", "[[6]]", "[[10]]", "Float", "completed"},
         RS_FLIGHT_HEALTHY,
         NULL},
        {{"all_to_all_single", "[[10]]", "[[6]]", "Float", "completed"},
         {"all_to_all_single", "[[6]]", "[[11]]", "Float", "completed"},
         RS_FLIGHT_SIZE_MISMATCH,
         "What the ranks send and receive in all_to_all_single 1 of default (group 0) does not add up: Rank 0 has input [[10]] and output [[6]], rank 1 has [[6]] and [[11]]."},
        {{"all_reduce", "[[4]]", "[[4]]", "Float", "started"},
         {"all_reduce", "[[4]]", "[[4]]", "Float", "started"},
         RS_FLIGHT_STUCK,
         NULL},
        {{"all_reduce", "[[4]]", "[[4]]", "Float", "started"},
         {"all_reduce", "[[4]]", "[[4]]", "Float", "scheduled"},
         RS_FLIGHT_BLOCKED_BEFORE_START,
         "Rank 1 issued all_reduce 1 of default (group 0) but the GPU never reached it, while others wait inside it: earlier GPU work hangs."},
        {{"send 0->1", "[[8]]", "[[8]]", "Float", "completed"},
         {"recv 1<-0", "[[8]]", "[[8]]", "Float", "completed"},
         RS_FLIGHT_HEALTHY,
         NULL},
        {{"send 0->1", "[[8]]", "[[8]]", "Float", "started"},
         {"recv 1<-0", "[[9]]", "[[9]]", "Float", "started"},
         RS_FLIGHT_P2P_SIZE_MISMATCH,
         "Ranks 0 and 1 disagree about a transfer: send to rank 1 (p2p 1 of default (group 0)) gives 8 elements and the receiver takes 9."},
        {{"send 0->1", "[[8]]", "[[8]]", "Float", "started"},
         {"send 1->0", "[[8]]", "[[8]]", "Float", "started"},
         RS_FLIGHT_P2P_DEADLOCK,
         "Ranks 0 and 1 wait for each other in a circle: rank 0 in send to rank 1 (p2p 1 of default (group 0)), rank 1 in send to rank 0 (p2p 1 of default (group 0))."},
        {{"frobnicate", "[[8]]", "[[3]]", "Float", "completed"},
         {"frobnicate", "[[8]]", "[[3]]", "Float", "completed"},
         RS_FLIGHT_HEALTHY,
         NULL},
        {{"frobnicate", "[[8]]", "[[3]]", "Float", "completed"},
         {"frobnicate", "[[8]]", "[[4]]", "Float", "completed"},
         RS_FLIGHT_SIZE_MISMATCH,
         "Rank 0 called frobnicate on [[8]] -> [[3]] where rank 1 used [[8]] -> [[4]]: seq 1 of default (group 0)."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char summary[400];
        rs_flight_verdict v = verdict_of_two(cases[i].a, cases[i].b, summary, sizeof summary);
        if (cases[i].says) assert_string_equal(summary, cases[i].says);
        if (v != cases[i].verdict) fail_msg("case %zu: %s", i, rs_flight_verdict_name(v));
    }
}

TEST(test_every_name_matches_itself)
{
    static const char *const names[] = {"broadcast",
                                        "_broadcast_oop",
                                        "reduce",
                                        "_reduce_oop",
                                        "all_gather",
                                        "all_gather_single",
                                        "all_gather_v",
                                        "all_reduce",
                                        "_all_gather_base",
                                        "all_gather_into_tensor_coalesced",
                                        "reduce_scatter",
                                        "reduce_scatter_single",
                                        "reduce_scatter_v",
                                        "reduce_scatter_tensor_coalesced",
                                        "_reduce_scatter_base",
                                        "gather",
                                        "scatter",
                                        "all_to_all",
                                        "all_to_all_single",
                                        "all_to_all_v_single",
                                        "all_reduce_barrier",
                                        "barrier",
                                        "split",
                                        "new_window",
                                        "allreduce_coalesced",
                                        "ALLGATHER_coalesced",
                                        "REDUCE_SCATTER_coalesced",
                                        "some_plugin_op"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool gathers = strstr(names[i], "all_gather") != NULL,
             scatters = strstr(names[i], "reduce_scatter") != NULL;
        call c = {names[i], scatters ? "[[8, 4]]" : "[[4, 4]]", gathers ? "[[32]]" : "[[4, 4]]", "Float",
                  "completed"};
        rs_flight_verdict v = verdict_of_two(c, c, NULL, 0);
        if (v != RS_FLIGHT_HEALTHY) fail_msg("%s: %s", names[i], rs_flight_verdict_name(v));
    }
}

/* Coalesced groups, equal numbers in one run, split groups that share a name. */
TEST(test_batches)
{
    const rs_flight_report *report;
    dump d[2];
    for (int i = 0; i < 2; i++) {
        dump_begin(&d[i], PAIR);
        dump_add(&d[i], "_broadcast_oop", "[[4, 4]]", "[[4, 4]]", "Float", "completed", "1");
        dump_add(&d[i], "_broadcast_oop", i ? "[[5, 5]]" : "[[4, 4]]", i ? "[[5, 5]]" : "[[4, 4]]", "Float",
                 "completed", "1");
        dump_add(&d[i], "ALLGATHER_coalesced", "[[]]", "[[]]", "", "completed", "1");
        dump_end(&d[i]);
    }
    rs_flight *flight = open_dumps(d, 2, &report);
    assert_int_equal(report->root.verdict, RS_FLIGHT_SIZE_MISMATCH);
    assert_int_equal(report->root.seq, 1);
    rs_flight_close(flight);
    for (int i = 0; i < 2;
         i++) { /* one rank has more under one number: no rule of the recorder, and no crash */
        dump_begin(&d[i], PAIR);
        dump_add(&d[i], "all_reduce", "[[4, 4]]", "[[4, 4]]", "Float", "completed", "\"0\"");
        for (int k = 0; i && k < 2; k++)
            dump_add(&d[i], "_reduce_oop", "[[4, 4]]", "[[4, 4]]", "Float", "completed", "\"0\"");
        if (i) dump_add(&d[i], "REDUCE_SCATTER_coalesced", "[[]]", "[[]]", "", "completed", "\"0\"");
        dump_end(&d[i]);
    }
    flight = open_dumps(d, 2, &report);
    assert_int_not_equal(report->root.verdict, RS_FLIGHT_HEALTHY);
    rs_flight_close(flight);
    for (int i = 0; i < 2; i++) { /* uid 0 is two groups of one rank each: disjoint, so no conflict */
        dump_begin(&d[i], i ? "\"0\": {\"name\": \"0\", \"desc\": \"default\", \"ranks\": \"[1]\"}"
                            : "\"0\": {\"name\": \"0\", \"desc\": \"default\", \"ranks\": \"[0]\"}");
        dump_add(&d[i], "all_reduce", i ? "[[5]]" : "[[4]]", i ? "[[5]]" : "[[4]]", "Float", "completed",
                 "1");
        dump_end(&d[i]);
    }
    flight = open_dumps(d, 2, &report);
    assert_int_equal(report->root.verdict, RS_FLIGHT_HEALTHY);
    assert_int_equal(report->n_groups, 2);
    rs_flight_close(flight);
}

TEST(test_config_conflict)
{
    const rs_flight_report *report;
    dump d[3];
    for (int i = 0; i < 3; i++) {
        dump_begin(&d[i], i == 2
                              ? "\"0\": {\"name\": \"0\", \"desc\": \"default\", \"ranks\": \"[0, 2]\"}"
                              : "\"0\": {\"name\": \"0\", \"desc\": \"default\", \"ranks\": \"[0, 1, 2]\"}");
        dump_add(&d[i], "all_reduce", "[[4]]", "[[4]]", "Float", "started", "1");
        dump_end(&d[i]);
    }
    rs_flight *flight = open_dumps(d, 3, &report);
    assert_int_equal(report->root.verdict, RS_FLIGHT_BAD_CONFIG);
    assert_int_equal(report->root.n_culprits, 1);
    assert_int_equal(report->root.culprits[0], 2);
    rs_flight_close(flight);
}

/* One rank's GPU has not finished what the others have, one of which is further on. */
TEST(test_stalled)
{
    const rs_flight_report *report;
    dump d[3];
    for (int i = 0; i < 3; i++) {
        dump_begin(&d[i], "\"0\": {\"name\": \"0\", \"desc\": \"default\", \"ranks\": \"[0, 1, 2]\"}");
        dump_add(&d[i], "all_reduce", "[[4]]", "[[4]]", "Float", i == 1 ? "started" : "completed", "1");
        if (i != 1)
            dump_add(&d[i], "all_gather", "[[4]]", "[[12]]", "Float", i ? "started" : "completed", "2");
        dump_end(&d[i]);
    }
    rs_flight *flight = open_dumps(d, 3, &report);
    assert_int_equal(report->root.n_culprits, 1);
    assert_int_equal(report->root.culprits[0], 1);
    assert_non_null(strstr(report->root.summary, "; ranks 0 and 2 finished it and 1 more"));
    rs_flight_close(flight);
}

TEST(test_member_lists)
{
    static const struct {
        const char *text;
        bool good;
        size_t n;
    } cases[] = {{"[0, 1, 2]", true, 3},
                 {"[0,1,2]", true, 3},
                 {"'[0, 1]'", true, 2},
                 {"\"'[7]'\"", true, 1},
                 {"[]", true, 0},
                 {"__import__('os')", false, 0},
                 {"[0, x]", false, 0},
                 {"[0 1]", false, 0},
                 {"[-1]", false, 0},
                 {"[1,]", false, 0},
                 {"[99999999999999999999]", false, 0},
                 {"[", false, 0},
                 {"", false, 0},
                 {"[0]]", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t *ranks;
        size_t n;
        bool nomem, good = rs_fl_parse_ranks(cases[i].text, strlen(cases[i].text), &ranks, &n, &nomem);
        if (good != cases[i].good || (good && n != cases[i].n)) fail_msg("case %zu", i);
        free(ranks);
    }
}

/* What of two dumps could not be read is no proof of health; what pg_status says about them is. */
TEST(test_no_verdict_on_nothing)
{
#define ENTRY(state_key)                                                                                          \
    "{\"record_id\": 0, \"pg_id\": 0, \"process_group\": [\"0\", \"default\"], \"profiling_name\": "              \
    "\"nccl:all_reduce\", \"collective_seq_id\": 1, \"p2p_seq_id\": 0, \"is_p2p\": false, \"input_sizes\": "      \
    "[[4]], \"output_sizes\": [[4]], \"input_dtypes\": [\"Float\"], \"output_dtypes\": [\"Float\"], \"" state_key \
    "\": \"completed\", \"time_created_ns\": 1000}"
#define STATUS(done)                                                                                         \
    ", \"pg_status\": {\"0\": {\"last_enqueued_collective\": 5, \"last_started_collective\": 5, "            \
    "\"last_completed_collective\": " done "}}"
    static const struct {
        const char *rest;
        rs_flight_verdict verdict;
        rs_severity worst;
    } cases[] = {
        {", \"entries\": [" ENTRY("state") "]", RS_FLIGHT_HEALTHY, RS_NOTE},
        {", \"entries\": [" ENTRY("state") ", " ENTRY("status") "]", RS_FLIGHT_HEALTHY, RS_LOSS},
        {", \"entries\": [" ENTRY("status") "]" STATUS("5"), RS_FLIGHT_BAD_INPUT, RS_LOSS},
        {", \"entries\": [1, 2, 3]", RS_FLIGHT_BAD_INPUT, RS_LOSS},
        {", \"entries\": null" STATUS("5"), RS_FLIGHT_BAD_INPUT, RS_LOSS},
        {", \"entries\": {\"a\": 1}", RS_FLIGHT_BAD_INPUT, RS_LOSS},
        {"", RS_FLIGHT_BAD_INPUT, RS_LOSS},
        {", \"entries\": []", RS_FLIGHT_BAD_INPUT, RS_NOTE},
        {", \"entries\": []" STATUS("5"), RS_FLIGHT_HEALTHY, RS_NOTE},
        {STATUS("5"), RS_FLIGHT_HEALTHY, RS_NOTE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dump d[2] = {{{0}, 0}, {{0}, 0}};
        const rs_flight_report *report;
        for (int r = 0; r < 2; r++)
            text_printf(&d[r].t, "{\"version\": \"2.10\", \"pg_config\": {%s}%s}", PAIR, cases[i].rest);
        rs_flight *flight = open_dumps(d, 2, &report);
        if (report->root.verdict != cases[i].verdict || rs_problems_worst(report->problems) != cases[i].worst)
            fail_msg("case %zu: %s", i, report->root.summary);
        rs_flight_close(flight);
    }
}

TEST(test_names_of_files)
{
    static const struct {
        const char *path, *prefix;
        int64_t rank; /* -1: none */
    } cases[] = {{"d/nccl_trace_rank_12", NULL, 12},
                 {"nccl_trace_rank_container-node02_5", NULL, 5},
                 {"host7_rank_3.gz", NULL, 3},
                 {"rank-4.json.zst", NULL, 4},
                 {"d/dump0", NULL, 0},
                 {"rank_9/dump", NULL, 9},
                 {"notes", NULL, -1},
                 {"a_rank_3_of_rank_8", NULL, 8},
                 {"comm5_lib_2", "comm5_lib_", 2},
                 {"other_3", "comm", -1},
                 {"frank_x", NULL, -1},
                 {"rank_99999999999999999999", NULL, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t rank;
        const char *rule;
        bool says, found = rs_fl_rank_of_path(cases[i].path, cases[i].prefix, &rank, &rule, &says);
        if (found != (cases[i].rank >= 0) || (found && rank != cases[i].rank))
            fail_msg("%s: %lld", cases[i].path, (long long)rank);
    }
}

/* ---- the corpus ---------------------------------------------------------------------------------------- */

typedef void (*dump_fn)(const char *path, const text *bytes);

static size_t each_dump(dump_fn visit)
{
    const char *root = getenv("RANKSCOPE_CORPUS");
    char folder[2048], path[4096];
    snprintf(folder, sizeof folder, "%s/flight", root ? root : RS_SOURCE_DIR "/../shared/corpus");
    struct dirent **cases, **files;
    size_t n = 0;
    int n_cases = scandir(folder, &cases, NULL, alphasort);
    for (int c = 0; c < n_cases; c++) {
        snprintf(path, sizeof path, "%s/%s", folder, cases[c]->d_name);
        int n_files = cases[c]->d_name[0] == '.' ? -1 : scandir(path, &files, NULL, alphasort);
        for (int f = 0; f < n_files; f++) {
            snprintf(path, sizeof path, "%s/%s/%s", folder, cases[c]->d_name, files[f]->d_name);
            if (files[f]->d_name[0] != '.') {
                text t = text_of_file(path);
                visit(path, &t);
                text_clear(&t);
                n++;
            }
            free(files[f]);
        }
        if (n_files >= 0) free(files);
        free(cases[c]);
    }
    if (n_cases >= 0) free(cases);
    return n;
}

static rs_status analyse_bytes(const void *bytes, size_t n, size_t *n_entries)
{
    rs_flight *flight = NULL;
    rs_error err = RS_ERROR_INIT;
    const rs_flight_report *report;
    /* The bytes are copied so that a sanitizer sees a step beyond their end. */
    void *copy = malloc(n + !n);
    assert_non_null(copy);
    if (n) memcpy(copy, bytes, n);
    rs_flight_bytes one = {copy, n, 0, "dump"};
    rs_status status = rs_flight_open_bytes(&one, 1, NULL, &flight, &err);
    free(copy);
    *n_entries = 0;
    if (flight) {
        assert_int_equal(rs_flight_get_report(flight, &report, &err), RS_OK);
        *n_entries = report->n_entries;
    }
    rs_flight_close(flight);
    return status;
}

static void cut_everywhere(const char *path, const text *bytes)
{
    size_t before = 0, entries;
    bool pickle = bytes->n && (uint8_t)bytes->s[0] == 0x80;
    size_t step = 1 + bytes->n / ROUNDS(4096); /* a long dump has as many cuts as a short one */
    for (size_t cut = 0; cut < bytes->n; cut += step) {
        analyse_bytes(bytes->s, cut, &entries);
        if (entries < before && pickle)
            fail_msg("%s: cut at %zu holds %zu entries, an earlier one %zu", path, cut, entries, before);
        before = entries;
    }
    (void)analyse_bytes(bytes->s, bytes->n, &entries);
    if (entries < before) fail_msg("%s: the whole holds fewer entries than a part", path);
}

TEST(test_every_prefix)
{
    if (each_dump(cut_everywhere) == 0) skip();
}

static void damage(const char *path, const text *bytes)
{
    rng r = {bytes->n * 2654435761u + strlen(path)};
    size_t entries;
    for (unsigned i = 0; i < ROUNDS(24); i++) {
        text t = {0};
        text_add(&t, bytes->s ? bytes->s : "", bytes->n);
        if (t.n) text_mutate(&t, &r);
        analyse_bytes(t.s, t.n, &entries);
        text_clear(&t);
    }
}

TEST(test_damaged_dumps)
{
    if (each_dump(damage) == 0) skip();
}

#define ADD(t, literal) text_add(t, literal, sizeof literal - 1)

static void begin_entry(text *t)
{
    ADD(t, "\x80\x02}(U\x07"
           "entries](}(U\x0eprofiling_nameU\x0cnccl:barrierU\x0dprocess_groupU\x01"
           "0U\x05stateU\x09"
           "completed");
}

/* Values that refer to each other over and over must not cost more than their bytes. */
TEST(test_reference_bombs)
{
    text t = {0};
    size_t entries;
    begin_entry(&t); /* sizes: twenty thousand times one list of twenty thousand */
    ADD(&t, "U\x0binput_sizes](](K\x01q\x01");
    for (int i = 0; i < 20000; i++) ADD(&t, "h\x01");
    ADD(&t, "eq\x02");
    for (int i = 0; i < 20000; i++) ADD(&t, "h\x02");
    ADD(&t, "eueu.");
    assert_int_equal(analyse_bytes(t.s, t.n, &entries), RS_ERR_FORMAT);
    assert_int_equal(entries, 0);
    text_clear(&t);
    begin_entry(&t); /* one entry many times: as many entries, in linear time */
    ADD(&t, "uq\x03");
    for (int i = 0; i < 50000; i++) ADD(&t, "h\x03");
    ADD(&t, "eu.");
    assert_int_equal(analyse_bytes(t.s, t.n, &entries), RS_OK);
    assert_int_equal(entries, 50001);
    text_clear(&t);
    begin_entry(&t); /* an entry that is its own frames, sizes and group */
    ADD(&t, "uq\x03U\x06"
            "framesh\x03sU\x0binput_sizesh\x03sU\x0coutput_sizes]q\x04h\x04"
            "aseu.");
    (void)analyse_bytes(t.s, t.n, &entries);
    text_clear(&t);
}

/* ---- archives and files -------------------------------------------------------------------------------- */

static void tar_add(text *t, const char *name, const void *bytes, size_t n)
{
    char header[512] = {0};
    unsigned sum = 0;
    snprintf(header, 100, "%s", name);
    memcpy(header + 100, "0000644", 8);
    snprintf(header + 124, 12, "%011o", (unsigned)n);
    memset(header + 148, ' ', 8);
    header[156] = '0';
    memcpy(header + 257,
           "ustar\0"
           "00",
           8);
    for (int i = 0; i < 512; i++) sum += (unsigned char)header[i];
    snprintf(header + 148, 8, "%06o", sum);
    text_add(t, header, sizeof header);
    text_add(t, bytes, n);
    char zeros[512] = {0};
    text_add(t, zeros, (512 - n % 512) % 512);
}

TEST(test_files_and_archives)
{
    char directory[] = "/tmp/rankscope_flight.XXXXXX", path[256];
    assert_non_null(mkdtemp(directory));
    text archive = {0};
    dump d[2];
    for (int i = 0; i < 2; i++) {
        char name[64];
        dump_begin(&d[i], "\"0\": {\"name\": \"0\", \"desc\": \"default\", \"ranks\": \"[0, 1, 2]\"}");
        dump_add(&d[i], "all_reduce", "[[4]]", "[[4]]", "Float", "started", "1");
        dump_end(&d[i]);
        snprintf(name, sizeof name, "job/host%d/trace_rank_%d", i + 5, i);
        tar_add(&archive, name, d[i].t.s, d[i].t.n);
    }
    char zeros[1024] = {0};
    text_add(&archive, zeros, sizeof zeros);
    text packed = gzip_pack(archive.s, archive.n, 6), third = {0};
    dump last;
    dump_begin(&last, "");
    dump_end(&last);
    third = zstd_pack(last.t.s, last.t.n);
    const struct {
        const char *name;
        const text *bytes;
    } files[] = {{"dumps.tar.gz", &packed}, {"trace_rank_2.zst", &third}};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, files[i].name);
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(files[i].bytes->s, 1, files[i].bytes->n, f), files[i].bytes->n);
        fclose(f);
    }
    snprintf(path, sizeof path, "%s/README", directory);
    FILE *readme = fopen(path, "wb");
    assert_non_null(readme);
    fputs("these are dumps\n", readme);
    fclose(readme);
    for (unsigned jobs = 1; jobs <= 3; jobs++) {
        rs_flight *flight;
        rs_error err = RS_ERROR_INIT;
        const rs_flight_report *report;
        const char *paths[] = {directory};
        rs_flight_settings settings = {.size = sizeof(rs_flight_settings), .jobs = jobs};
        assert_int_equal(rs_flight_open(paths, 1, &settings, &flight, &err), RS_OK);
        assert_int_equal(rs_flight_get_report(flight, &report, &err), RS_OK);
        assert_int_equal(report->n_ranks, 3);
        assert_int_equal(report->root.verdict, RS_FLIGHT_RANK_MISSING);
        assert_int_equal(report->root.culprits[0], 2);
        assert_int_equal(report->root.n_waiters, 2);
        bool skipped = false;
        for (size_t i = 0; i < report->problems->n; i++)
            skipped |= strcmp(report->problems->items[i].kind, "not_a_dump") == 0;
        assert_true(skipped);
        rs_flight_close(flight);
    }
    const char *names[] = {"README", "dumps.tar.gz", "trace_rank_2.zst"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        unlink(path);
    }
    rmdir(directory);
    for (int i = 0; i < 2; i++) text_clear(&d[i].t);
    text_clear(&last.t);
    text_clear(&archive);
    text_clear(&packed);
    text_clear(&third);
}

TEST(test_two_dumps_of_a_rank)
{
    dump d;
    rs_flight *flight;
    rs_error err = RS_ERROR_INIT;
    dump_begin(&d, PAIR);
    dump_end(&d);
    rs_flight_bytes twice[] = {{d.t.s, d.t.n, 3, "a"}, {d.t.s, d.t.n, 3, "b"}};
    assert_int_equal(rs_flight_open_bytes(twice, 2, NULL, &flight, &err), RS_ERR_AMBIGUOUS);
    assert_null(flight);
    text_clear(&d.t);
}

/* ---- outputs ------------------------------------------------------------------------------------------- */

static rs_flight *small_job(const rs_flight_report **report)
{
    dump d[2];
    for (int i = 0; i < 2; i++) {
        dump_begin(&d[i], PAIR);
        dump_add(&d[i], "all_reduce", "[[4]]", "[[4]]", "Float", "completed", "1");
        dump_add(&d[i], i ? "recv 1<-0" : "send 0->1", "[[8]]", "[[8]]", "Half", "completed", "1");
        if (i == 0) dump_add(&d[i], "all_reduce", "[[4]]", "[[4]]", "Float", "started", "2");
        dump_end(&d[i]);
    }
    return open_dumps(d, 2, report);
}

TEST(test_json_is_json)
{
    const rs_flight_report *report;
    rs_flight *flight = small_job(&report);
    rs_error err = RS_ERROR_INIT;
    text out[2] = {{0}};
    rs_sink sinks[2] = {text_sink(&out[0]), text_sink(&out[1])};
    assert_int_equal(rs_flight_write_json(flight, &sinks[0], &err), RS_OK);
    assert_int_equal(rs_flight_write_timeline(flight, &sinks[1], &err), RS_OK);
    assert_non_null(strstr(out[0].s, "\"verdict\": \"rank_missing\""));
    assert_non_null(strstr(out[0].s, "\"culprits\": [1]"));
    assert_non_null(strstr(out[1].s, "\"traceEvents\""));
    for (int i = 0; i < 2; i++) {
        size_t entries;
        analyse_bytes(out[i].s, out[i].n, &entries); /* our own reader takes it for JSON, if not for a dump */
        text_clear(&out[i]);
    }
    rs_flight_close(flight);
}

static int64_t query(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    int64_t value = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : -1;
    sqlite3_finalize(s);
    return value;
}

TEST(test_database)
{
    const rs_flight_report *report;
    rs_flight *flight = small_job(&report);
    rs_error err = RS_ERROR_INIT;
    char directory[] = "/tmp/rankscope_flight.XXXXXX", database[96];
    sqlite3 *db;
    assert_non_null(mkdtemp(directory));
    snprintf(database, sizeof database, "%s/flight.sqlite", directory);
    for (int again = 0; again < 2; again++)
        assert_int_equal(rs_flight_write_database(flight, database, &err), RS_OK);
    assert_int_equal(sqlite3_open(database, &db), SQLITE_OK);
    assert_int_equal(query(db, "SELECT count(*) FROM groups"), 1);
    assert_int_equal(query(db, "SELECT count(*) FROM memberships JOIN groups ON groups.id = group_id"), 2);
    assert_int_equal(query(db, "SELECT count(*) FROM collectives"), 3);
    assert_int_equal(query(db, "SELECT count(*) FROM nccl_calls"), 5);
    assert_int_equal(
        query(db, "SELECT count(*) FROM nccl_calls n JOIN collectives c ON c.id = n.collective_id"), 5);
    assert_int_equal(query(db, "SELECT count(*) FROM collectives WHERE missing_ranks = '[1]'"), 1);
    assert_int_equal(query(db, "PRAGMA foreign_key_check"), -1);
    sqlite3_close(db);
    unlink(database);
    rmdir(directory);
    rs_flight_close(flight);
}

TEST(test_tables)
{
    const rs_flight_report *report;
    rs_flight *flight = small_job(&report);
    rs_error err = RS_ERROR_INIT;
    rs_table *t = rs_flight_entries(flight, "0", NULL, true, &err);
    assert_int_equal(rs_table_n_rows(t), 3);
    rs_table_free(t);
    t = rs_flight_entries(flight, NULL, "default", false, &err);
    assert_int_equal(rs_table_n_rows(t), 5);
    rs_table_free(t);
    t = rs_flight_side_by_side(flight, NULL, NULL, &err);
    assert_int_equal(rs_table_n_rows(t), 3);
    rs_table_free(t);
    t = rs_flight_groups(flight, NULL, &err);
    assert_int_equal(rs_table_n_rows(t), 1);
    rs_table_free(t);
    assert_null(rs_flight_entries(flight, "9", NULL, false, &err));
    assert_int_equal(err.status, RS_ERR_USAGE);
    assert_null(rs_flight_groups(flight, "nonsense", &err));
    assert_int_equal(err.status, RS_ERR_USAGE);
    rs_flight_close(flight);
}

/* Every allocation of a whole run made to fail in turn: an error each time, never a crash or a leak. */
TEST(test_memory_runs_out)
{
    dump d[3];
    rs_flight_bytes bytes[3];
    for (int i = 0; i < 3; i++) {
        dump_begin(&d[i], "\"0\": {\"name\": \"0\", \"desc\": \"default\", \"ranks\": \"[0, 1, 2, 3]\"}");
        for (int k = 1; k < 8; k++) {
            char seq[16];
            snprintf(seq, sizeof seq, "%d", k);
            dump_add(&d[i], "all_reduce", "[[4]]", "[[4]]", i == 1 && k == 5 ? "Half" : "Float", "completed",
                     seq);
            if (i < 2)
                dump_add(&d[i], i ? "recv 1<-0" : "send 0->1", "[[8]]", "[[8]]", "Float",
                         k == 7 ? "started" : "completed", seq);
        }
        if (i) dump_add(&d[i], "barrier", "[]", "[]", "", "started", "8");
        dump_end(&d[i]);
        bytes[i] = (rs_flight_bytes){d[i].t.s, d[i].t.n, i, "dump"};
    }
    bool done = false;
    for (uint64_t n = 1; !done; n += RS_TEST_SLOW ? 3 : 1) {
        rs_flight *flight = NULL;
        rs_error err = RS_ERROR_INIT;
        const rs_flight_report *report;
        text out = {0};
        rs_sink sink = text_sink(&out);
        rs_test_fail_allocation(n);
        rs_status status = rs_flight_open_bytes(bytes, 3, NULL, &flight, &err);
        if (status == RS_OK) status = rs_flight_get_report(flight, &report, &err);
        if (status == RS_OK) status = rs_flight_write_json(flight, &sink, &err);
        if (status == RS_OK) status = rs_flight_write_timeline(flight, &sink, &err);
        rs_table *tables[4] = {NULL};
        if (status == RS_OK && !(tables[0] = rs_flight_entries(flight, NULL, NULL, true, &err)))
            status = err.status;
        if (status == RS_OK && !(tables[1] = rs_flight_side_by_side(flight, NULL, NULL, &err)))
            status = err.status;
        if (status == RS_OK && !(tables[2] = rs_flight_lateness(flight, &err))) status = err.status;
        if (status == RS_OK && !(tables[3] = rs_flight_groups(flight, NULL, &err))) status = err.status;
        rs_test_fail_allocation(0);
        done = status == RS_OK;
        if (!done) assert_int_equal(status, RS_ERR_NOMEM);
        if (done) assert_int_equal(report->root.verdict, RS_FLIGHT_DTYPE_MISMATCH);
        for (int i = 0; i < 4; i++) rs_table_free(tables[i]);
        rs_flight_close(flight);
        text_clear(&out);
        assert_true(n < 100000);
    }
    for (int i = 0; i < 3; i++) text_clear(&d[i].t);
}
