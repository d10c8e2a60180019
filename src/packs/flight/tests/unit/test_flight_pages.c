/* What a running job's servers answer: pages, sections, stacks and tables, whole, cut at every place and with each byte
 * changed; and what an answer that did not come is worth. */
#include "support.h"

#include "flight/live.h"
#include "flight/periodic.h"
#include "rankscope/flight.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define NOW INT64_C(1773454300000000000)

/* ---- blocks of pages -------------------------------------------------------------------------------------- */

TEST(test_blocks)
{
    static const struct {
        const char *page;
        size_t n;     /* blocks */
        int64_t rank; /* of the first */
        int status;
        const char *address, *text;
    } cases[] = {
        {"<h2>Rank 3: http://a:1</h2><pre>x</pre>", 1, 3, 200, "http://a:1", "x"},
        {"<h2>Rank 3:</h2><pre>x</pre>", 1, 3, 200, "", "x"},
        {"<h2>Rank 3: a</h2><pre>x</pre>y</pre> z", 1, 3, 200, "a", "x</pre>y"},
        {"<h2>Rank 3: a</h2><pre>x", 1, 3, 200, "a", "x"},
        {"<h2>Rank 3: a</h2>nothing", 1, 3, 0, "a", ""},
        {"<h2>Rank 3: a</h2>Failed to fetch: status=503", 1, 3, 503, "a", ""},
        {"<h2>Rank 3: a</h2>Failed to fetch: status=408<pre>x</pre>", 1, 3, 408, "a", "x"},
        {"<h2>Rank 3: a</h2><pre>Failed to fetch: status=408</pre>", 1, 3, 200, "a",
         "Failed to fetch: status=408"},
        {"<h2>Rank 3: a</h2>Failed to fetch: status=x", 1, 3, 0, "a", ""},
        {"<h2>Rank 3: a</h2>Failed to fetch: status=9999999999", 1, 3, 0, "a", ""},
        {"<h2>Rank x: a</h2><h2>Rank 4: b</h2><pre>y</pre>", 1, 4, 200, "b", "y"},
        {"<h2>Rank 9999999999: a</h2><h2>Rank 4: b</h2><pre>y</pre>", 1, 4, 200, "b", "y"},
        {"<h2>Rank 3 a</h2><h2>Rank 4: b</h2><pre>y</pre>", 1, 4, 200, "b", "y"},
        {"<h2>Rank 3: a\n</h2><h2>Rank 4: b</h2><pre>y</pre>", 1, 4, 200, "b", "y"},
        {"<h2>Rank 3: a</h2><pre>x</pre><h2>Rank 4: b</h2><pre>y</pre>", 2, 3, 200, "a", "x"},
        {"<h2>Rank 3: a", 0, 0, 0, NULL, NULL},
        {"<h2>Rank 3", 0, 0, 0, NULL, NULL},
        {"<h2>Rank ", 0, 0, 0, NULL, NULL},
        {"", 0, 0, 0, NULL, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        guarded g = guarded_copy(cases[i].page, strlen(cases[i].page));
        rs_fl_block b;
        size_t at = 0, n = 0;
        while (rs_fl_next_block((const char *)g.bytes, g.n, &at, &b)) {
            if (n++) continue;
            if (b.rank != cases[i].rank || b.status != cases[i].status)
                fail_msg("rank %d, %d: %s", (int)b.rank, b.status, cases[i].page);
            assert_int_equal(b.n_address, strlen(cases[i].address));
            assert_memory_equal(b.address, cases[i].address, b.n_address);
            if (b.n != strlen(cases[i].text)) fail_msg("%.*s: %s", (int)b.n, b.text, cases[i].page);
            if (b.n) assert_memory_equal(b.text, cases[i].text, b.n);
        }
        if (n != cases[i].n) fail_msg("%zu blocks: %s", n, cases[i].page);
        guarded_free(&g);
    }
}

TEST(test_sections)
{
    static const struct {
        const char *text;
        size_t n;
        int64_t rank;
        int status;
        const char *address, *body;
    } cases[] = {
        {"=== Rank 2: http://a:1 ===\nx\n", 1, 2, 200, "http://a:1", "x\n"},
        {"=== Rank 2: a ===\nx\n=== Rank 3: b ===\ny", 2, 2, 200, "a", "x"},
        {"=== Rank 2:a ===", 1, 2, 200, "a", ""},
        {"=== Rank 2: a ===\nError: 408\n", 1, 2, 408, "a", "Error: 408\n"},
        {"=== Rank 2: a ===\nError: x\n", 1, 2, 0, "a", "Error: x\n"},
        {"x === Rank 2: a ===\n=== Rank 3: b ===\ny", 1, 3, 200, "b", "y"},
        {"=== Rank x: a ===\n=== Rank 3: b ===\ny", 1, 3, 200, "b", "y"},
        {"=== Rank 2 a ===\n=== Rank 3: b ===\ny", 1, 3, 200, "b", "y"},
        {"=== Rank 2: a\n===\n=== Rank 3: b ===\ny", 1, 3, 200, "b", "y"},
        {"=== Rank 2: a", 0, 0, 0, NULL, NULL},
        {"=== Rank 2", 0, 0, 0, NULL, NULL},
        {"", 0, 0, 0, NULL, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        guarded g = guarded_copy(cases[i].text, strlen(cases[i].text));
        rs_fl_block b;
        size_t at = 0, n = 0;
        while (rs_fl_next_section((const char *)g.bytes, g.n, &at, &b)) {
            if (n++) continue;
            if (b.rank != cases[i].rank || b.status != cases[i].status)
                fail_msg("rank %d, %d: %s", (int)b.rank, b.status, cases[i].text);
            assert_int_equal(b.n_address, strlen(cases[i].address));
            assert_memory_equal(b.address, cases[i].address, b.n_address);
            if (b.n != strlen(cases[i].body)) fail_msg("%.*s: %s", (int)b.n, b.text, cases[i].text);
            if (b.n) assert_memory_equal(b.text, cases[i].body, b.n);
        }
        if (n != cases[i].n) fail_msg("%zu sections: %s", n, cases[i].text);
        guarded_free(&g);
    }
}

TEST(test_entities)
{
    static const struct {
        const char *text, *plain;
    } cases[] = {
        {"a&lt;b&gt;&amp;&quot;&#39;&#x27;&#34;", "a<b>&\"''\""},
        {"&amp;lt;", "&lt;"},
        {"<b>&lt;", "<b>&lt;"},
        {"&nbsp;&", "&nbsp;&"},
        {"&lt", "&lt"},
        {"", ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[64] = "";
        guarded g = guarded_copy(cases[i].text, strlen(cases[i].text));
        size_t n = rs_fl_unescape((const char *)g.bytes, g.n, out);
        assert_int_equal(n, strlen(cases[i].plain));
        assert_memory_equal(out, cases[i].plain, n);
        guarded_free(&g);
    }
}

/* ---- stacks ----------------------------------------------------------------------------------------------- */

static const char faulthandler[] =
    "Thread 0x00007f10 [pt_data] (most recent call first):\n"
    "  File \"/usr/lib/python3.12/threading.py\", line 359 in wait\n"
    "  File \"/usr/lib/python3.12/threading.py\", line 1030 in _bootstrap\n\n"
    "Current thread 0x00007f20 (most recent call first):\n  <no Python frame>\n\n"
    "Thread 0x00007f30 (most recent call first):\n  Garbage-collecting\n"
    "  File \"/app/loader.py\", line 212 in next batch\n  File \"/app/main.py\", line 91 in <module>\n";
static const char pyspy[] =
    "Process 71: python train.py\nPython v3.12.3 (/usr/bin/python3.12)\n\n"
    "Thread 75 (idle): \"pt_data\"\n    wait (threading.py:359)\n    run (frozen)\n\n"
    "Thread 71 (active+gil): \"MainThread\"\n    next batch (data/loader.py:212)\n        i: 7 (x:1)\n"
    "    <module> (main.py:91)\n";

static size_t read_stacks(const char *s, size_t n, rs_flight **flight, const rs_fl_note **note)
{
    size_t n_threads;
    guarded g = guarded_copy(s, n);
    assert_int_equal(rs_flight_open_bytes(NULL, 0, NULL, flight, NULL), RS_ERR_FORMAT);
    assert_true(rs_fl_read_stacks(*flight, 4, RS_FL_NONE, (const char *)g.bytes, n, &n_threads));
    *note = rs_fl_note_of(*flight, 4);
    guarded_free(&g);
    return n_threads;
}

/* Cut or with a byte changed there are no more threads than the text names, and every frame is one of the text's or holds the
 * changed byte. */
TEST(test_stacks)
{
    static const struct {
        const char *text;
        size_t threads;
        const char *stack;
    } whole[] = {{faulthandler, 3, "next batch at /app/loader.py:212\n<module> at /app/main.py:91"},
                 {pyspy, 2, "next batch at data/loader.py:212\n<module> at main.py:91"}};
    static const char other[] = {'x', ' ', '\n', '\0', '(', '"', '\xff'};
    rs_flight *flight;
    const rs_fl_note *note;
    for (size_t i = 0; i < COUNT(whole); i++) {
        size_t n = strlen(whole[i].text);
        assert_int_equal(read_stacks(whole[i].text, n, &flight, &note), whole[i].threads);
        assert_non_null(note);
        assert_string_equal(rs_flight_stack(flight, note->stack), whole[i].stack);
        assert_int_equal(note->collecting, i == 0);
        rs_flight_close(flight);
        for (size_t cut = 0, before = 0; cut <= n; cut++) {
            size_t threads = read_stacks(whole[i].text, cut, &flight, &note);
            assert_true(threads >= before && threads <= whole[i].threads);
            before = threads;
            rs_flight_close(flight);
        }
        text t = {0};
        text_add(&t, whole[i].text, n);
        for (size_t at = 0; at < n; at++) {
            char was = t.s[at];
            t.s[at] = other[at % sizeof other];
            size_t threads = read_stacks(t.s, n, &flight, &note);
            assert_true(threads <= whole[i].threads);
            if (note) assert_non_null(rs_flight_stack(flight, note->stack));
            t.s[at] = was;
            rs_flight_close(flight);
        }
        text_clear(&t);
    }
}

TEST(test_odd_stacks)
{
    static const struct {
        const char *text;
        size_t threads;
        const char *stack; /* NULL: none is the main thread's */
    } cases[] = {
        {"", 0, NULL},
        {"Thread 0x1 (most recent call first):\n", 1, NULL},
        {"Thread 0x1 (most recent call first):\n  File \"a.py\", line 3 in f\n", 1, "f at a.py:3"},
        {"Thread 0x1 (most recent call first):\r\n  File \"a.py\", line 3 in f\r\n", 1, "f at a.py:3"},
        /* of two that begin in no module the last with a stack */
        {"Thread 0x1 (most recent call first):\n  File \"a.py\", line 3 in f\nThread 0x2 (most recent call first):\n"
         "  File \"b.py\", line 4 in g\nThread 0x3 (most recent call first):\n",
         3, "g at b.py:4"},
        {"  File \"a.py\", line 3 in f\n", 0, NULL},
        {"Thread one (most recent call first):\n", 0, NULL},
        {"The thread 0x1 (most recent call first):\n", 0, NULL},
        {"Thread 0x1 [MainThread (most recent call first):\n  File \"a.py\", line 3 in f\n", 1,
         "f at a.py:3"},
        {"Thread 0x1 (most recent call first):\n  File \"a.py, line 3 in f\n  File \"b.py\", line x in g\n",
         1, NULL},
        {"\nPython v3\nThread 1\nThread 2 (idle\nThread 3 (idle)\n    f (a.py:3)\n", 1, "f at a.py:3"},
        {"\nPython v3\nThread 3 (idle): \"MainThread\n    f (a.py)\n    (b.py:1)\n    g b.py:2)\n     h (c.py:3)\n",
         1, "f at a.py:0"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        rs_flight *flight;
        const rs_fl_note *note;
        size_t threads = read_stacks(cases[i].text, strlen(cases[i].text), &flight, &note);
        if (threads != cases[i].threads) fail_msg("%zu threads: %s", threads, cases[i].text);
        const char *is = note && note->stack ? rs_flight_stack(flight, note->stack) : NULL;
        if (!is != !cases[i].stack || (is && strcmp(is, cases[i].stack) != 0))
            fail_msg("%s: %s", is ? is : "no stack", cases[i].text);
        rs_flight_close(flight);
    }
    /* deeper and more of them than are kept */
    text t = {0};
    rs_flight *flight;
    const rs_fl_note *note;
    for (int i = 0; i < 5000; i++)
        text_puts(&t, "Thread 0x1 (most recent call first):\n  File \"a.py\", line 1 in f\n");
    for (int i = 0; i < 600; i++) text_printf(&t, "  File \"a.py\", line %d in f\n", i);
    for (int i = 0; i < 10000; i++) text_puts(&t, "x");
    text_puts(&t, "\n");
    assert_int_equal(read_stacks(t.s, t.n, &flight, &note), 4096);
    assert_non_null(note);
    rs_flight_close(flight);
    text_clear(&t);
}

/* ---- tables ----------------------------------------------------------------------------------------------- */

static const char table[] =
    "=== FR Trace ===\n--- Collectives ---\nid  group_id  pass_check  collective_seq_id  record_id  pg_desc       "
    "collective_name  missing_ranks  collective_state  expected_ranks                       collective_frames\n"
    " 0  0         True                        1          0  0:default_pg  gloo:all_reduce  {3}            completed         "
    "{0, 1, 2, 3}                         [{'name': 'f', 'filename': '/x/site-packages/torch/a.py', 'line': 1}, {'name': 'g', "
    "'filename': '/app/b.py', 'line': 2}]\n"
    " 1  0         False                       2          2  0:default_pg  nccl:all_reduce                 scheduled         "
    "{0: 'a, 5', 1: [7, 8], 2: (9)}\n"
    "--- NCCL Calls ---\nid  collective_id  group_id  global_rank\n 0              0  0                   0\n"
    " 1                 0                   3\n";

static void snapshot_clear(rs_fl_snapshot *s)
{
    rs_free_all(s->rows, s->unmatched, s->members);
    *s = (rs_fl_snapshot){0};
}

/* Cut anywhere: rows before the cut; a byte changed: rows and sets stay within what was read. */
TEST(test_tables)
{
    rs_flight *flight;
    rs_fl_snapshot s = {0};
    static const char other[] = {' ', '9', '\n', '{', '\'', '-', '\xff'};
    assert_int_equal(rs_flight_open_bytes(NULL, 0, NULL, &flight, NULL), RS_ERR_FORMAT);
    assert_int_equal(rs_fl_read_tables(flight, table, sizeof table - 1, &s, NULL), RS_OK);
    assert_int_equal(s.n_rows, 2);
    assert_string_equal(rs_fl_text(flight, s.rows[0].where), "/app/b.py:2");
    assert_int_equal(s.rows[0].missing.n, 1);
    assert_int_equal(s.rows[1].expected.n, 3); /* the keys at the outer level */
    assert_int_equal(s.n_unmatched, 1);
    snapshot_clear(&s);
    char copy[sizeof table];
    memcpy(copy, table, sizeof table);
    for (size_t i = 0; i < 2 * (sizeof table - 1); i++) {
        size_t at = i / 2, n = i % 2 ? sizeof table - 1 : at;
        char was = copy[at];
        if (i % 2) copy[at] = other[at % sizeof other];
        guarded g = guarded_copy(copy, n);
        assert_int_equal(rs_fl_read_tables(flight, (const char *)g.bytes, n, &s, NULL), RS_OK);
        assert_true(s.n_rows <= 3 && s.n_unmatched <= 3);
        for (size_t r = 0; r < s.n_rows; r++) {
            assert_true(s.rows[r].expected.first + s.rows[r].expected.n <= s.n_members);
            assert_true(s.rows[r].missing.first + s.rows[r].missing.n <= s.n_members);
        }
        snapshot_clear(&s);
        guarded_free(&g);
        copy[at] = was;
    }
    rs_flight_close(flight);
}

/* ---- answers ---------------------------------------------------------------------------------------------- */

static const char record[] =
    "{\"version\":\"2.10\",\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":\"default_pg\",\"ranks\":\"[0, 1]\"}},\"entries\":["
    "{\"record_id\":0,\"pg_id\":0,\"process_group\":[\"0\",\"default_pg\"],\"collective_seq_id\":1,\"p2p_seq_id\":0,"
    "\"profiling_name\":\"nccl:all_reduce\",\"time_created_ns\":1773454200000000000,\"input_sizes\":[[4]],\"output_sizes\":[[4]],"
    "\"input_dtypes\":[\"Float\"],\"output_dtypes\":[\"Float\"],\"state\":\"started\",\"is_p2p\":false}]}";

/* Rank 0 answers; rank 1 does so, or fails in a way that is told. */
TEST(test_answers)
{
    static const struct {
        int status;
        bool timed_out;
        const char *failure, *bytes;
        const char *says; /* of the failure; NULL: there is a record, or an answer without one */
        size_t n_records;
    } cases[] = {
        {200, false, NULL, record, NULL, 2},
        {200, false, NULL, "{\"version\":\"2.10\",\"pg_config\":{},\"entries\":[]}", NULL, 1},
        {200, false, NULL, "nonsense", NULL, 1},
        {200, false, NULL, "", NULL, 1},
        {0, true, "no answer in time", "", "accepts the connection and does not answer", 1},
        {408, false, NULL, "", "accepts the connection and does not answer", 1},
        {0, false, "no process listens there", "", "no process listens there", 1},
        {503, false, NULL, "", "refused", 1},
        {502, false, NULL, "", "refused", 1},
        {500, false, NULL, record, "answers with status 500", 1},
        {404, false, NULL, "", "answers with status 404", 1},
    };
    static const char *const addresses[] = {"http://node07:1", "node07", "http://[::1]:2/x", ""};
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t a = 0; a < COUNT(addresses); a++) {
            rs_flight_answer answers[] = {
                {"dump_nccl_trace_json", 0, "http://node00:1", 200, false, NULL, record, sizeof record - 1},
                {"dump_nccl_trace_json", 1, addresses[a], cases[i].status, cases[i].timed_out,
                 cases[i].failure, cases[i].bytes, strlen(cases[i].bytes)},
                {"dump_traceback", 1, addresses[a], cases[i].status, cases[i].timed_out, cases[i].failure,
                 faulthandler, sizeof faulthandler - 1}};
            rs_flight_settings live = {
                .size = sizeof(rs_flight_settings), .now_ns = NOW, .allow_missing = true};
            rs_flight *flight;
            rs_error err = RS_ERROR_INIT;
            const rs_flight_report *r;
            assert_int_equal(rs_flight_count_records(answers, 3), cases[i].n_records);
            assert_int_equal(rs_flight_open_answers(answers, 3, &live, &flight, &err), RS_OK);
            assert_int_equal(rs_flight_get_report(flight, &r, &err), RS_OK);
            assert_int_equal(r->n_ranks, cases[i].n_records);
            const rs_fl_note *note = rs_fl_note_of(flight, 1);
            assert_non_null(note);
            const char *is = note->failure == RS_FL_NONE ? NULL : rs_fl_text(flight, note->failure);
            if (!is != !cases[i].says || (is && !strstr(is, cases[i].says)))
                fail_msg("case %zu: %s", i, is ? is : "no failure");
            /* the stack came with the answer, or is missing with it */
            if (cases[i].status == 200) assert_true(note->stack != 0);
            const char *host = note->host == RS_FL_NONE ? "" : rs_fl_text(flight, note->host);
            assert_string_equal(host, a == 2 ? "[::1]" : a == 3 ? "" : "node07");
            rs_flight_close(flight);
        }
}

/* A front end's page names the workers, each once, as far as there is room. */
TEST(test_workers)
{
    static const char page[] =
        "<h2>Rank 0: http://a:1/handler/x?</h2><pre>x</pre><h2>Rank 1: http://b:1</h2><pre>y</pre>"
        "<h2>Rank 0: http://c:1</h2><pre>z</pre>";
    text longer = {0};
    text_puts(&longer, "<h2>Rank 5: http://");
    for (int i = 0; i < RS_FLIGHT_ADDRESS; i++) text_puts(&longer, "h");
    text_puts(&longer, "</h2><pre>x</pre>");
    rs_flight_answer answers[] = {{"stacks", -1, "http://f:1", 200, false, NULL, page, sizeof page - 1},
                                  {"stacks", -1, "http://f:1", 200, false, NULL, longer.s, longer.n},
                                  {"stacks", -1, "http://f:1", 404, false, NULL, page, sizeof page - 1},
                                  {"stacks", 2, "http://f:1", 200, false, NULL, page, sizeof page - 1}};
    int64_t ranks[4];
    char addresses[4][RS_FLIGHT_ADDRESS];
    assert_int_equal(rs_flight_list_workers(answers, 4, ranks, addresses, 4), 2);
    assert_int_equal(ranks[0], 0);
    assert_string_equal(addresses[0], "http://a:1");
    assert_string_equal(addresses[1], "http://b:1");
    assert_int_equal(rs_flight_list_workers(answers, 4, ranks, addresses, 1), 1);
    assert_int_equal(rs_flight_list_workers(answers, 0, ranks, addresses, 4), 0);
    text_clear(&longer);
}

/* What a page names is asked only where it is a worker of the job. */
TEST(test_who_may_be_asked)
{
    static const struct {
        const char *address, *server, *allowed;
        bool may;
    } cases[] = {
        {"http://node0:4000", "http://node0:25999", NULL, true},
        {"http://NODE0:4000", "http://node0", NULL, true},
        {"https://node0:4000", "https://node0:25999", NULL, true},
        {"http://127.0.0.1:4000", "http://localhost:25999", NULL, true},
        {"http://[::1]:4000", "http://[::1]:25999", NULL, true},
        {"http://node1:4000", "http://node0:25999", NULL, false},
        {"http://node1:4000", "http://node0:25999", "node*", true},
        {"http://node1:4000", "http://node0:25999", "node1", true},
        {"http://node11:4000", "http://node0:25999", "node1", false},
        {"http://a.cluster.local:4000", "http://node0:25999", "*.cluster.local", true},
        {"http://a.cluster.local.evil.org:4000", "http://node0:25999", "*.cluster.local", false},
        {"http://node1:4000", "http://node0:25999", "*", false}, /* that would be everywhere */
        {"http://node0:80", "http://node0:25999", NULL, false},
        {"http://node0", "http://node0:25999", NULL, false},
        {"http://node0:65536", "http://node0:25999", NULL, false},
        {"http://node0:18446744073709552617", "http://node0:25999", NULL, false},
        {"http://node0:4000/admin/delete?user=", "http://node0:25999", NULL, false},
        {"http://node0:4000?x", "http://node0:25999", NULL, false},
        {"http://user@node0:4000", "http://node0:25999", NULL, false},
        {"http://node0:4000@evil.org", "http://node0:25999", NULL, false},
        {"http://node0#:4000", "http://node0:25999", NULL, false},
        {"file:///etc/passwd", "http://node0:25999", "*", false},
        {"ftp://node0:4000", "http://node0:25999", NULL, false},
        {"http://:4000", "http://:25999", NULL, false},
        {"http://[node0:4000", "http://node0:25999", NULL, false},
        {"", "", NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (rs_flight_may_ask(cases[i].address, cases[i].server, &cases[i].allowed,
                              cases[i].allowed != NULL) != cases[i].may)
            fail_msg("%s of %s, %s", cases[i].address, cases[i].server, cases[i].allowed);
}
