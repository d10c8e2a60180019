/* Ranks of merged files: every rule, and what must be refused. */
#include <string.h>

#include "base/memory.h"
#include "builder.h"
#include "unit.h"

enum { RANKS = 4, LAUNCHES = 20 };

typedef struct shape {
    int64_t cpu_pid[RANKS], gpu_pid[RANKS];
    int64_t correlation_step; /* added to ids from rank to rank; 0: they collide */
    bool rank_argument, window_end, external_ids;
} shape;

/* One rank as the profiler writes it: operators, launches, work. Its kernels last (rank + 1) * 10 ns. */
static void add_rank(builder *b, const shape *s, int r)
{
    int64_t shift = r * 137, pid = s->cpu_pid[r];
#define RANK_MARK()                                                                                          \
    do {                                                                                                     \
        if (s->rank_argument) add_arg(b, RS_COL_RANK, 10 + r);                                               \
    } while (0)
    for (int64_t i = 0; i < LAUNCHES; i++) {
        if (s->external_ids)
            add_op(b, "aten::mm", pid, 1000 * i + shift, 200, i + 1);
        else
            add_row(b, 'X', "cpu_op", "aten::mm", pid, pid, 1000 * i + shift, 200);
        RANK_MARK();
        add_call(b, "cudaLaunchKernel", pid, 1000 * i + 50 + shift, i + r * s->correlation_step);
        RANK_MARK();
    }
    for (int64_t i = 0; i < LAUNCHES; i++) {
        add_kernel(b, "gemm", s->gpu_pid[r], 7, 1000 * i + 300 + shift, 10 * (r + 1),
                   i + r * s->correlation_step);
        RANK_MARK();
    }
    if (s->window_end) add_row(b, 'i', "", "Record Window End", pid, pid, 100000, RS_NO_TIME);
#undef RANK_MARK
}

static builder build(const shape *s)
{
    builder b = builder_create();
    for (int r = 0; r < RANKS; r++) add_rank(&b, s, r);
    return b;
}

/* The same rows in another order. */
static builder shuffled(const rs_events *from)
{
    builder b = builder_create();
    size_t n = from->n;
    static uint32_t order[4096];
    assert_true(n <= 4096);
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    uint64_t x = 42;
    for (size_t i = n; i > 1; i--) {
        x = x * UINT64_C(6364136223846793005) + 1;
        size_t k = (size_t)((x >> 33) % i);
        uint32_t swap = order[i - 1];
        order[i - 1] = order[k];
        order[k] = swap;
    }
    static const rs_column_id columns[] = {RS_COL_RANK, RS_COL_CORRELATION, RS_COL_EXTERNAL_ID,
                                           RS_COL_STREAM};
    for (size_t i = 0; i < n; i++) {
        uint32_t row = order[i];
        rs_thread t = from->threads[from->thread[row]];
        add_row(&b, (char)from->phase[row],
                from->strings.items[from->categories[from->category[row]].name].text,
                rs_event_name(from, row), t.pid, t.tid, from->start[row], from->duration[row]);
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
            int64_t value;
            if (rs_events_int(from, columns[c], row, &value)) add_arg(&b, columns[c], value);
        }
    }
    return b;
}

/* Every rank has its own work and nothing else: all linked, of the duration that is its mark. */
static void check(const builder *b, size_t n, const int *mark_of, int64_t first_rank)
{
    rs_domains d;
    rs_error err = RS_ERROR_INIT;
    char line[600];
    if (rs_domains_split(b->e, "merged.json", &d, &err) != RS_OK)
        fail_msg("%s", rs_error_text(&err, line, sizeof line));
    assert_int_equal(d.n, n);
    size_t rows = 0;
    for (size_t k = 0; k < n; k++) {
        rs_trace t;
        rows += d.n_rows[k];
        rs_trace_init(&t, b->e, d.rows[k], d.n_rows[k]);
        d.rows[k] = NULL;
        const rs_links *l;
        assert_int_equal(rs_trace_links(&t, &l, NULL), RS_OK);
        assert_int_equal(l->n_work, LAUNCHES);
        assert_int_equal(l->n_unlinked, 0);
        assert_int_equal(l->n_early, 0);
        const uint32_t *gpu_rows;
        size_t n_gpu_rows;
        assert_int_equal(rs_trace_gpu_rows(&t, &gpu_rows, &n_gpu_rows, NULL), RS_OK);
        for (size_t i = 0; i < n_gpu_rows; i++)
            assert_int_equal(b->e->duration[gpu_rows[i]], 10 * (mark_of[k] + 1));
        if (first_rank >= 0) assert_int_equal(d.rank[k], first_rank + mark_of[k]);
        rs_trace_clear(&t);
    }
    assert_int_equal(rows, b->e->n);
    rs_domains_clear(&d);
}

static const int in_order[] = {0, 1, 2, 3};

TEST(test_rank_argument)
{
    shape s = {.cpu_pid = {5, 5, 5, 5}, .rank_argument = true};
    builder b = build(&s);
    check(&b, RANKS, in_order, 10);
    builder mixed = shuffled(b.e);
    rs_domains d;
    assert_int_equal(rs_domains_split(mixed.e, "m", &d, NULL), RS_OK);
    assert_int_equal(d.n, RANKS);
    assert_string_equal(d.rule, "args.rank");
    rs_domains_clear(&d);
    rs_events_free(mixed.e);
    rs_events_free(b.e);
}

/* Several nodes: their devices are counted from 0 on each. The ranks stand in the order of their blocks. */
TEST(test_repeated_devices)
{
    shape s = {.cpu_pid = {8, 7, 6, 5}, .gpu_pid = {0, 1, 0, 1}};
    builder b = build(&s);
    check(&b, RANKS, in_order, -1);
    builder mixed = shuffled(b.e);
    rs_domains d;
    assert_int_equal(rs_domains_split(mixed.e, "m", &d, NULL), RS_ERR_AMBIGUOUS);
    rs_events_free(mixed.e);
    rs_events_free(b.e);
    /* a kernel of the first rank that only the third one launched */
    builder foreign = builder_create();
    for (int r = 0; r < RANKS; r++) {
        add_rank(&foreign, &s, r);
        if (r == 0) add_kernel(&foreign, "gemm", 0, 7, 500000, 10, 77);
        if (r == 2) add_call(&foreign, "cudaLaunchKernel", s.cpu_pid[r], 400000, 77);
    }
    assert_int_equal(rs_domains_split(foreign.e, "m", &d, NULL), RS_ERR_AMBIGUOUS);
    rs_events_free(foreign.e);
    /* a kernel before all that launches: nobody's */
    builder early = builder_create();
    add_kernel(&early, "gemm", 0, 7, 10, 10, 900);
    for (int r = 0; r < RANKS; r++) add_rank(&early, &s, r);
    assert_int_equal(rs_domains_split(early.e, "m", &d, NULL), RS_ERR_AMBIGUOUS);
    rs_events_free(early.e);
}

/* A kernel whose process id is damaged goes with its neighbours and leaves the others' ranks as they are. */
TEST(test_lost_process_id)
{
    shape s = {.cpu_pid = {8, 7, 6, 5}, .gpu_pid = {0, 1, 2, 3}};
    for (int mixed = 0; mixed < 2; mixed++) {
        builder b = builder_create();
        s.correlation_step = mixed ? 1000 : 0;
        for (int r = 0; r < RANKS; r++) {
            add_rank(&b, &s, r);
            if (r == 2) add_kernel(&b, "gemm", RS_NO_VALUE, 7, 500000, 10, 5);
        }
        builder other = mixed ? shuffled(b.e) : b;
        rs_domains d;
        assert_int_equal(rs_domains_split(other.e, "m", &d, NULL), RS_OK);
        assert_int_equal(d.n, RANKS);
        size_t rows = 0;
        for (size_t k = 0; k < d.n; k++) rows += d.n_rows[k];
        assert_int_equal(rows, b.e->n);
        if (!mixed) assert_int_equal(d.n_rows[1], d.n_rows[2] + 1); /* by process id */
        rs_domains_clear(&d);
        if (mixed) rs_events_free(other.e);
        rs_events_free(b.e);
    }
}

static void label(const builder *b, int64_t pid, const char *text)
{
    rs_events *e = b->e;
    for (size_t i = 0; i < e->n_threads; i++) {
        if (e->threads[i].pid != pid) continue;
        e->threads[i].pid_text = rs_strings_add(&e->strings, text, strlen(text));
        e->threads[i].pid = rs_thread_id_of_text(e->threads[i].pid_text);
    }
}

/* What a merger wrote before the process ids: ranks in the order of the file, whatever the ids are. */
TEST(test_labels)
{
    static const char *const texts[] = {"[TP01-DP00] 5", "[TP00] 5", "[Unknown] 5", "[EP10] 5"};
    static const char *const gpu_texts[] = {"[TP01-DP00] 0", "[TP00] 0", "[Unknown] 0", "[EP10] 0"};
    shape s = {.cpu_pid = {5, 6, 7, 8}, .gpu_pid = {100, 101, 102, 103}};
    builder b = build(&s);
    for (int r = 0; r < RANKS; r++) {
        label(&b, s.cpu_pid[r], texts[r]);
        if (r < RANKS - 1) label(&b, s.gpu_pid[r], gpu_texts[r]);
    }
    rs_domains d;
    assert_int_equal(rs_domains_split(b.e, "m", &d, NULL), RS_OK); /* not all are labelled: another rule */
    assert_null(strstr(d.rule, "labels"));
    rs_domains_clear(&d);
    label(&b, s.gpu_pid[RANKS - 1], gpu_texts[RANKS - 1]);
    check(&b, RANKS, in_order, -1);
    assert_int_equal(rs_domains_split(b.e, "m", &d, NULL), RS_OK);
    assert_non_null(strstr(d.rule, "labels"));
    rs_trace t;
    const char *text;
    size_t n;
    rs_trace_init(&t, b.e, d.rows[0], d.n_rows[0]);
    d.rows[0] = NULL;
    assert_true(rs_trace_label(&t, &text, &n));
    assert_int_equal(n, 9);
    assert_memory_equal(text, "TP01-DP00", n);
    rs_trace_clear(&t);
    rs_domains_clear(&d);
    rs_events_free(b.e);
    /* what only looks like a label */
    static const char *const others[] = {"[TP] 5", "[XP1] 5", "[TP1-] 5", "TP1 5", "[TP1]5", "[] 5"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        builder one = builder_create();
        add_rank(&one, &s, 0);
        label(&one, 5, others[i]);
        label(&one, 100, others[i]);
        rs_trace_init(&t, one.e, NULL, one.e->n);
        assert_false(rs_trace_label(&t, &text, &n));
        rs_trace_clear(&t);
        rs_events_free(one.e);
    }
}

static void expect_one(const builder *b)
{
    rs_domains d;
    assert_int_equal(rs_domains_split(b->e, "f", &d, NULL), RS_OK);
    assert_int_equal(d.n, 1);
    assert_null(d.rows);
    rs_domains_clear(&d);
}

TEST(test_stray_rank_argument_is_no_rank)
{
    builder b = builder_create();
    shape s = {.cpu_pid = {5, 5, 5, 5}};
    add_rank(&b, &s, 0);
    for (int i = 0; i < 3; i++) {
        add_row(&b, 'X', "user_annotation", "barrier", 5, 5, 10, 10);
        add_arg(&b, RS_COL_RANK, i);
    }
    expect_one(&b);
    rs_events_free(b.e);
}

static void expect_refusal(const builder *b, const char *word)
{
    rs_domains d;
    rs_error err = RS_ERROR_INIT;
    char line[900];
    assert_int_equal(rs_domains_split(b->e, "merged.json", &d, &err), RS_ERR_AMBIGUOUS);
    rs_error_text(&err, line, sizeof line);
    if (!strstr(line, word)) fail_msg("%s", line);
}

TEST(test_processes_side_by_side)
{
    /* ranks count by ascending pid, wherever they stand in the file */
    shape s = {.cpu_pid = {50, 20, 40, 30}, .gpu_pid = {0, 1, 2, 3}};
    static const int by_pid[] = {1, 3, 2, 0};
    builder b = build(&s);
    check(&b, RANKS, by_pid, -1);
    builder mixed = shuffled(b.e); /* order destroyed, ids collide: time has to tell */
    check(&mixed, RANKS, by_pid, -1);
    rs_events_free(mixed.e);
    rs_events_free(b.e);
}

TEST(test_processes_with_ids_apart)
{
    /* two processes of one device: only the correlation ids tell whose the work is */
    shape s = {.cpu_pid = {20, 30, 40, 50}, .gpu_pid = {0, 0, 1, 1}, .correlation_step = 1000};
    builder b = build(&s);
    check(&b, RANKS, in_order, -1);
    builder mixed = shuffled(b.e);
    check(&mixed, RANKS, in_order, -1);
    rs_events_free(mixed.e);
    rs_events_free(b.e);
}

TEST(test_processes_that_cannot_be_told)
{
    shape s = {.cpu_pid = {20, 30, 40, 50}, .gpu_pid = {0, 0, 0, 0}};
    builder b = build(&s), mixed = shuffled(b.e);
    expect_refusal(&mixed, "20, 30, 40, 50");
    rs_events_free(mixed.e);
    rs_events_free(b.e);
}

TEST(test_blocks)
{
    shape s = {.cpu_pid = {5, 5, 5, 5}, .external_ids = true};
    builder b = build(&s);
    check(&b, RANKS, in_order, -1);
    builder mixed = shuffled(b.e);
    expect_refusal(&mixed, "correlation");
    rs_events_free(mixed.e);
    rs_events_free(b.e);
    s = (shape){.cpu_pid = {5, 5, 5, 5}, .window_end = true};
    b = build(&s);
    check(&b, RANKS, in_order, -1);
    rs_events_free(b.e);
    s = (shape){.cpu_pid = {5, 5, 5, 5}, .window_end = true, .external_ids = true};
    b = build(&s);
    check(&b, RANKS, in_order, -1);
    rs_events_free(b.e);
}

TEST(test_documents)
{
    shape s = {.cpu_pid = {5, 5, 5, 5}};
    builder b = builder_create();
    b.e->documents = rs_calloc(RANKS, sizeof *b.e->documents);
    for (int r = 0; r < RANKS; r++) {
        b.e->documents[r] = (rs_document){.first_row = (uint32_t)b.e->n, .rank = 10 + r};
        add_rank(&b, &s, r);
    }
    b.e->n_documents = RANKS;
    check(&b, RANKS, in_order, 10);
    rs_events_free(b.e);
}

TEST(test_one_rank)
{
    shape s = {.cpu_pid = {5, 5, 5, 5}, .window_end = true, .external_ids = true};
    builder b = builder_create();
    add_rank(&b, &s, 0);
    expect_one(&b);
    add_call(&b, "cudaLaunchKernel", 5, 50000, 3); /* one repeated correlation is a defect, not a rank */
    expect_one(&b);
    add_call(&b, "cudaStreamSynchronize", 6, 50000, 100); /* a process that launches nothing */
    expect_one(&b);
    rs_events_free(b.e);
    b = builder_create();
    expect_one(&b);
    rs_events_free(b.e);
}

TEST(test_every_allocation_may_fail)
{
    shape shapes[] = {{.cpu_pid = {5, 5, 5, 5}, .rank_argument = true},
                      {.cpu_pid = {50, 20, 40, 30}, .gpu_pid = {0, 1, 2, 3}},
                      {.cpu_pid = {5, 5, 5, 5}, .external_ids = true}};
    for (size_t i = 0; i < 4; i++) {
        builder b = build(&shapes[i % 3]);
        if (i == 3) {
            builder plain = build(&shapes[1]);
            rs_events_free(b.e);
            b = shuffled(plain.e);
            rs_events_free(plain.e);
        }
        rs_status status = RS_ERR_NOMEM;
        for (uint64_t k = 1; status != RS_OK; k++) {
            rs_domains d;
            rs_test_fail_allocation(k);
            status = rs_domains_split(b.e, "f", &d, NULL);
            rs_test_fail_allocation(0);
            assert_true(status == RS_OK || status == RS_ERR_NOMEM);
            rs_domains_clear(&d);
        }
        rs_events_free(b.e);
    }
}
