/* What holds GPU work and calls up, and where a window ends: the program's own event graph on small ranks.
 * Times are in ns; the main thread is 1, the GPU's events lie on threads named by their stream. */

#include "engine/build.h"
#include "engine/causes.h"
#include "trace/selection.h"
#include "builder.h"
#include "unit.h"

#define MAIN 1
#define US 1000

typedef struct answer {
    rs_path_part part;
    int64_t length, gpu, launch, host; /* of the path: GPU work and its gaps; launches; the rest */
} answer;

/* By target, then source; each once. */
static void check_order(const rs_sync_edges *sync)
{
    for (size_t i = 1; i < sync->n; i++) {
        const rs_sync_edge *a = &sync->items[i - 1], *b = &sync->items[i];
        assert_true(a->target < b->target || (a->target == b->target && a->source < b->source));
    }
}

static answer ask(builder *b, const char *annotation, int64_t first, int64_t last)
{
    rs_trace t;
    rs_sync_edges sync;
    answer a = {0};
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_path_window window = {.annotation = annotation, .first = first, .last = last};
    rs_trace_init(&t, b->e, NULL, b->e->n);
    assert_int_equal(rs_sync_find(&t, &policy, &sync, NULL), RS_OK);
    check_order(&sync);
    assert_int_equal(rs_path_build_own(&t, &policy, &window, &sync, &a.part, NULL), RS_OK);
    const rs_path_graph *g = a.part.graph;
    for (size_t i = 0; g && i < g->n_path; i++) {
        uint32_t edge = g->path[i], owner = g->owner[edge],
                 row = owner == RS_NO_ITEM ? RS_NO_ROW : g->row[owner];
        bool gpu = row != RS_NO_ROW && rs_kind_is_gpu_work(rs_event_kind(b->e, row));
        *(g->type[edge] == RS_EDGE_LAUNCH ? &a.launch : gpu ? &a.gpu : &a.host) += g->weight[edge];
    }
    if (g) a.length = a.part.end - a.part.start;
    if (g) assert_int_equal(g->path_weight, a.length);
    rs_sync_clear(&sync);
    rs_trace_clear(&t);
    return a;
}

static void finish(builder *b, answer *a)
{
    rs_path_part_clear(&a->part);
    rs_events_free(b->e);
}

static void add_launch(builder *b, const char *name, int64_t start, int64_t duration, int64_t correlation)
{
    add_row(b, 'X', "cuda_runtime", name, MAIN, MAIN, start, duration);
    add_arg(b, RS_COL_CORRELATION, correlation);
}

static void add_copy(builder *b, int64_t stream, int64_t start, int64_t duration, int64_t correlation)
{
    add_row(b, 'X', "gpu_memcpy", "Memcpy DtoH", 0, stream, start, duration);
    add_arg(b, RS_COL_STREAM, stream);
    add_arg(b, RS_COL_CORRELATION, correlation);
}

/* A host that only enqueues is done at 10 us; the work it launched runs until 912 us. What is launched behind
 * the step is not the step's. */
TEST(test_the_window_ends_with_its_work)
{
    builder b = builder_create();
    add_row(&b, 'X', "user_annotation", "ProfilerStep#1", MAIN, MAIN, 0, 10 * US);
    for (int64_t i = 0; i < 3; i++) {
        add_launch(&b, "cudaLaunchKernel", i * 3 * US, 2 * US, i);
        add_kernel(&b, "k", 0, 7, (12 + 300 * i) * US, 300 * US, i);
    }
    add_launch(&b, "cudaLaunchKernel", 11 * US, 2 * US, 3);
    add_kernel(&b, "next step's", 0, 7, 912 * US, 500 * US, 3);
    answer a = ask(&b, "ProfilerStep", 0, 0);
    assert_int_equal(a.length, 912 * US);
    assert_int_equal(a.gpu, 900 * US);
    finish(&b, &a);
}

/* Instances are counted, and a range that goes beyond the last is not there. */
TEST(test_instances)
{
    builder b = builder_create();
    for (int64_t i = 0; i < 3; i++)
        add_row(&b, 'X', "user_annotation", "ProfilerStep", MAIN, MAIN, i * 10, 10);
    add_op(&b, "op", MAIN, 1, 5, 1);
    answer a = ask(&b, "ProfilerStep", 0, 2);
    assert_non_null(a.part.graph);
    rs_path_part_clear(&a.part);
    a = ask(&b, "ProfilerStep", 1, 3);
    assert_null(a.part.graph);
    assert_int_equal(a.part.n_instances, 3);
    finish(&b, &a);
}

/* The copy's call lasts from 10 us to 520 us because the kernel before it runs until 500 us. */
TEST(test_a_blocking_copy)
{
    builder b = builder_create();
    add_row(&b, 'X', "user_annotation", "ProfilerStep#1", MAIN, MAIN, 0, 521 * US);
    add_launch(&b, "cudaLaunchKernel", 1 * US, 2 * US, 1);
    add_kernel(&b, "k", 0, 7, 5 * US, 495 * US, 1);
    add_launch(&b, "cudaMemcpyAsync", 10 * US, 510 * US, 2);
    add_copy(&b, 7, 504 * US, 10 * US, 2);
    answer a = ask(&b, "ProfilerStep", 0, 0);
    assert_int_equal(a.gpu, (495 + 4 + 10) * US);
    assert_int_equal(a.launch, 4 * US);
    finish(&b, &a);
}

/* A kernel that is launched slowly was held up by its launch, though that began long before the kernel before
 * ended. */
TEST(test_a_slow_launch)
{
    builder b = builder_create();
    add_row(&b, 'X', "user_annotation", "ProfilerStep#1", MAIN, MAIN, 0, 700 * US);
    add_launch(&b, "cudaLaunchKernel", 1 * US, 2 * US, 1);
    add_kernel(&b, "k", 0, 7, 5 * US, 95 * US, 1);
    add_launch(&b, "cudaLaunchKernel", 10 * US, 500 * US, 2);
    add_kernel(&b, "loaded late", 0, 7, 509 * US, 300 * US, 2);
    answer a = ask(&b, "ProfilerStep", 0, 0);
    assert_int_equal(a.launch, 499 * US);
    assert_int_equal(a.gpu, 300 * US);
    finish(&b, &a);
}

/* 300 launches fit into the queue, or fewer where commands that the trace does not show are between them. From then on a
 * call returns 1 us after a kernel has started; of threes that start at once two find room. DELAYED: nothing is full, but each third
 * call takes longer, however deep the queue is. */
#define LIMIT 300
enum { FREE, FULL, MIXED, THREES, DELAYED, N_QUEUES };

static bool fills(int queue)
{
    return queue != FREE && queue != DELAYED;
}

static int room_of(int queue, int i)
{
    return queue == MIXED || queue == THREES ? LIMIT - 3 * (i / 40 % 5) : LIMIT;
}

/* ahead: so many were launched before the recording. */
static void add_full_queue(builder *b, int n, int queue, int ahead)
{
    int64_t host = 0, starts[LIMIT + 200], gpu = 2000 * US;
    for (int i = 0; i < n; i++) {
        int64_t start = host + US, end = start + 2 * US;
        const int room = room_of(queue, i);
        if (fills(queue) && i >= LIMIT && starts[i - room] + US > end) end = starts[i - room] + US;
        if (queue == DELAYED && i % 3 == 0) end += 120 * US;
        if (fills(queue) && i < LIMIT / 3 && i % 10 == 1) end += 8 * US; /* by chance */
        starts[i] = gpu;
        if (i >= ahead) add_launch(b, "cudaLaunchKernel", start, end - start, i);
        add_kernel(b, "k", 0, 7, gpu, queue != THREES || i % 3 == 2 ? 99 * US : 9, i);
        gpu += queue != THREES || i % 3 == 2 ? 100 * US : 10;
        host = end;
    }
    add_op(b, "at last", MAIN, host + US, US, 1);
    add_row(b, 'X', "user_annotation", "host", MAIN, MAIN, 0, host + 2 * US);
}

/* Each call with a full queue waits for the start of the work that many launches before. */
TEST(test_a_full_queue)
{
    for (int job = FREE; job <= N_QUEUES; job++) {
        const int queue = job < N_QUEUES ? job : FULL;
        const uint32_t ahead = job < N_QUEUES ? 0 : 250;
        builder b = builder_create();
        add_full_queue(&b, LIMIT + 150, queue, (int)ahead);
        rs_trace t;
        rs_sync_edges sync;
        rs_causes causes;
        rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
        const rs_work *w;
        const uint32_t *by_start;
        policy.whole = true;
        rs_trace_init(&t, b.e, NULL, b.e->n);
        assert_int_equal(rs_sync_find(&t, &policy, &sync, NULL), RS_OK);
        assert_int_equal(rs_trace_work_details(&t, &policy, &w, NULL), RS_OK);
        assert_int_equal(rs_trace_work_by_start(&t, &policy, &by_start, NULL), RS_OK);
        assert_int_equal(rs_causes_find(&t, w, by_start, &sync, &causes, NULL), RS_OK);
        for (uint32_t i = ahead; i < w->n; i++) {
            rs_path_cause c;
            uint32_t room = (uint32_t)room_of(queue, (int)i);
            /* where a command has left with the one before it, the call did not wait */
            bool waited = fills(queue) && i >= LIMIT && b.e->duration[w->launch[i]] > 10 * US;
            if (!waited) {
                assert_int_equal(causes.room[i], RS_NO_ITEM);
                continue;
            }
            if (queue == THREES)
                room = i - causes.room[i] + 2 >= room ? i - causes.room[i] : 0; /* one of those */
            assert_int_equal(causes.room[i], i - room);
            assert_true(rs_cause_of_call(&causes, w->launch[i], causes.room[i], false, &c));
            assert_int_equal(c.row, w->row[i - room]);
            assert_false(c.at_end);
        }
        rs_causes_clear(&causes);
        rs_sync_clear(&sync);
        rs_trace_clear(&t);
        rs_events_free(b.e);
    }
}

/* Out of pageable memory a copy is staged: its call waits for most of it, and returns before its end. What returns at once
 * has not waited. */
TEST(test_a_staged_copy)
{
    static const char *const names[] = {"Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pinned -> Device)"};
    for (int pinned = 0; pinned < 2; pinned++)
        for (int soon = 0; soon < 2; soon++) {
            builder b = builder_create();
            rs_trace t;
            rs_sync_edges sync;
            rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
            add_launch(&b, "cudaMemcpyAsync", 0, soon ? 110 * US : 980 * US, 1);
            add_row(&b, 'X', "gpu_memcpy", names[pinned], 0, 7, 100 * US, 900 * US);
            add_arg(&b, RS_COL_STREAM, 7);
            add_arg(&b, RS_COL_CORRELATION, 1);
            rs_trace_init(&t, b.e, NULL, b.e->n);
            assert_int_equal(rs_sync_find(&t, &policy, &sync, NULL), RS_OK);
            assert_int_equal(sync.n, !pinned && !soon);
            if (sync.n) assert_int_equal(sync.items[0].kind, RS_SYNC_COPY);
            rs_sync_clear(&sync);
            rs_trace_clear(&t);
            rs_events_free(b.e);
        }
}

/* A watchdog asks every 10 us until long after the last work: it bounds nothing, and the trace ends without
 * it. */
TEST(test_a_thread_that_polls)
{
    builder b = builder_create();
    add_launch(&b, "cudaLaunchKernel", 0, 2 * US, 1);
    add_kernel(&b, "k", 0, 7, 5 * US, 995 * US, 1);
    add_launch(&b, "cudaLaunchKernel", 700 * US, 2 * US, 2);
    add_kernel(&b, "k", 0, 7, 1001 * US, 99 * US, 2);
    for (int64_t i = 0; i < 300; i++)
        add_row(&b, 'X', "cuda_runtime", i % 2 ? "cudaEventQuery" : "cudaPointerGetAttributes", MAIN, 99,
                i * 10 * US, US);
    answer a = ask(&b, "", 0, 0);
    assert_int_equal(a.length, 1100 * US);
    assert_int_equal(a.gpu, (995 + 1 + 99) * US);
    finish(&b, &a);
}

/* A thread that does one thing and then only asks takes part, be that thing the very first event. */
TEST(test_a_thread_that_works_once)
{
    builder b = builder_create();
    uint32_t op = add_op(&b, "aten::add", MAIN, 10 * US, 50 * US, 1);
    add_row(&b, 'X', "user_annotation", "ProfilerStep#1", MAIN, MAIN, 0, 100 * US);
    add_row(&b, 'X', "cuda_runtime", "cudaEventQuery", MAIN, MAIN, 70 * US, US);
    answer a = ask(&b, "ProfilerStep", 0, 0);
    size_t found = 0;
    for (size_t i = 0; a.part.graph && i < a.part.graph->n_items; i++) found += a.part.graph->row[i] == op;
    assert_int_equal(op, 0);
    assert_int_equal(found, 1);
    finish(&b, &a);
}

/* A whole trace ends with the thread that gave the GPU work, be its last event the first of the file. */
TEST(test_the_first_event_ends_last)
{
    builder b = builder_create();
    add_op(&b, "aten::linear", MAIN, 0, 500 * US, 1);
    add_launch(&b, "cudaLaunchKernel", 10 * US, 2 * US, 1);
    add_kernel(&b, "k", 0, 7, 20 * US, 100 * US, 1);
    answer a = ask(&b, "", 0, 0);
    assert_int_equal(a.length, 500 * US);
    finish(&b, &a);
}

/* Steps without an annotation of the name asked for: two processes show the same two, of which the second is
 * selected in the end. */
TEST(test_the_window_of_steps)
{
    builder b = builder_create();
    for (int64_t pid = MAIN; pid < MAIN + 2; pid++)
        for (int64_t i = 0; i < 2; i++)
            add_row(&b, 'X', "user_annotation", i ? "ProfilerStep#8" : "ProfilerStep#7", pid, pid,
                    i * 100 * US, (90 + i) * US);
    add_op(&b, "op", MAIN, 10 * US, 50 * US, 1);
    add_op(&b, "op", MAIN, 110 * US, 50 * US, 2);
    rs_selection second;
    assert_int_equal(rs_selection_parse(NULL, "8", NULL, &second, NULL), RS_OK);
    for (int selected = 0; selected < 2; selected++) {
        rs_trace t;
        rs_sync_edges sync;
        rs_path_part part;
        rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
        const rs_path_window window = {.annotation = "another", .or_steps = true};
        rs_trace_init(&t, b.e, NULL, b.e->n);
        if (selected) t.selection = &second;
        assert_int_equal(rs_sync_find(&t, &policy, &sync, NULL), RS_OK);
        assert_int_equal(rs_path_build_own(&t, &policy, &window, &sync, &part, NULL), RS_OK);
        assert_int_equal(part.n_instances, 2 - selected);
        assert_int_equal(part.start, selected ? 100 * US : 0);
        rs_path_part_clear(&part);
        rs_sync_clear(&sync);
        rs_trace_clear(&t);
    }
    rs_selection_clear(&second);
    rs_events_free(b.e);
}

/* The thread that waits for gloo shows nothing from 12 us to 600 us; the span that it waits for runs from 15
 * us. */
TEST(test_communication_of_the_host)
{
    builder b = builder_create();
    add_row(&b, 'X', "user_annotation", "ProfilerStep#1", MAIN, MAIN, 0, 700 * US);
    add_op(&b, "aten::add", MAIN, 1 * US, 5 * US, 1);
    add_op(&b, "c10d::allreduce_", MAIN, 7 * US, 5 * US, 2);
    uint32_t span = add_row(&b, 'X', "user_annotation", "gloo:all_reduce", MAIN, 50, 15 * US, 580 * US);
    add_op(&b, "aten::mul", MAIN, 600 * US, 99 * US, 3);
    answer a = ask(&b, "ProfilerStep", 0, 0);
    const rs_path_graph *g = a.part.graph;
    int64_t waited = 0;
    for (size_t i = 0; i < g->n_path; i++) {
        uint32_t owner = g->owner[g->path[i]];
        if (owner != RS_NO_ITEM && g->row[owner] == span) waited += g->weight[g->path[i]];
    }
    assert_int_equal(waited, 580 * US);
    finish(&b, &a);
}

/* A thread that goes on working while communication runs did not wait for it. */
TEST(test_communication_beside_work)
{
    builder b = builder_create();
    add_row(&b, 'X', "user_annotation", "ProfilerStep#1", MAIN, MAIN, 0, 700 * US);
    add_op(&b, "c10d::allreduce_", MAIN, 7 * US, 5 * US, 2);
    uint32_t span = add_row(&b, 'X', "user_annotation", "gloo:all_reduce", MAIN, 50, 15 * US, 580 * US);
    for (int64_t at = 20; at < 700; at += 20) add_op(&b, "aten::mul", MAIN, at * US, 14 * US, at);
    answer a = ask(&b, "ProfilerStep", 0, 0);
    const rs_path_graph *g = a.part.graph;
    for (size_t i = 0; i < g->n_path; i++) {
        uint32_t owner = g->owner[g->path[i]];
        assert_true(owner == RS_NO_ITEM || g->row[owner] != span);
    }
    finish(&b, &a);
}

static size_t count_waits(builder *b, rs_sync_kind kind, int64_t *ahead)
{
    rs_trace t;
    rs_sync_edges sync;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    size_t n = 0;
    rs_trace_init(&t, b->e, NULL, b->e->n);
    assert_int_equal(rs_sync_find(&t, &policy, &sync, NULL), RS_OK);
    check_order(&sync);
    for (size_t i = 0; i < sync.n; i++) n += sync.items[i].kind == kind;
    *ahead = sync.ahead;
    rs_sync_clear(&sync);
    rs_trace_clear(&t);
    return n;
}

/* n times: a kernel on stream 7, an event after it, stream 20 waits for the event, of three and more twice, a kernel there. Nothing tells the
 * streams of the calls, and the second kernel starts long after the first has ended; the last one, if early, before. */
static builder add_waits(int64_t n, bool early)
{
    builder b = builder_create();
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i * 400 * US, end = at + (early && i == n - 1 ? 200 * US : 40 * US);
        add_launch(&b, "cudaLaunchKernel", at, 3 * US, 10 * i);
        add_kernel(&b, "compute", 0, 7, at + 5 * US, end - at, 10 * i);
        add_launch(&b, "cudaEventRecord", at + 4 * US, US, 10 * i + 1);
        add_launch(&b, "cudaStreamWaitEvent", at + 6 * US, US, 10 * i + 2);
        if (n > 2) add_launch(&b, "cudaStreamWaitEvent", at + 8 * US, US, 10 * i + 4);
        add_launch(&b, "cudaLaunchKernel", at + 100 * US, 3 * US, 10 * i + 3);
        add_kernel(&b, "reduce", 0, 20, at + 105 * US, 20 * US, 10 * i + 3);
    }
    return b;
}

TEST(test_waits_told_by_calls_alone)
{
    const struct {
        int64_t n;
        bool early;
        size_t waits;
    } cases[] = {{3, false, 3}, {2, false, 0}, {9, false, 9}, {9, true, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ahead;
        builder b = add_waits(cases[i].n, cases[i].early);
        assert_int_equal(count_waits(&b, RS_SYNC_STREAM_WAIT, &ahead), cases[i].waits);
        rs_events_free(b.e);
    }
}

/* Calls that return 7 us before the work has ended that they waited for; one that returns 90 us before did not wait. */
TEST(test_a_device_whose_clock_is_ahead)
{
    for (int odd = 0; odd < 2; odd++) {
        builder b = builder_create();
        int64_t ahead;
        for (int64_t i = 0; i < 6; i++) {
            int64_t at = i * 400 * US, early = odd && i == 5 ? 90 : 7;
            add_launch(&b, "cudaLaunchKernel", at, 3 * US, 10 * i);
            add_kernel(&b, "compute", 0, 7, at + 5 * US, 200 * US, 10 * i);
            add_launch(&b, "cudaDeviceSynchronize", at + 4 * US, (205 - early - 4) * US, 10 * i + 1);
        }
        assert_int_equal(count_waits(&b, RS_SYNC_CONTEXT, &ahead), 6 - odd);
        assert_int_equal(ahead, 7 * US);
        rs_events_free(b.e);
    }
}

/* Memory is given back when the device is idle, and that takes 30 us more. Work launched behind the call, and a call that
 * frees on a stream, are no part of it; nor does it tell how far clocks are apart. */
TEST(test_free_waits_for_the_device)
{
    static const struct {
        const char *call;
        size_t waits;
    } cases[] = {
        {"cudaFree", 8}, {"hipFree", 8}, {"cudaFreeAsync", 0}, {"cudaFreeHost", 0}, {"cudaMalloc", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        builder b = builder_create();
        int64_t ahead;
        for (int64_t k = 0; k < 4; k++) {
            int64_t at = k * 400 * US;
            for (int64_t stream = 7; stream < 9; stream++) {
                int64_t id = 10 * k + stream;
                add_launch(&b, "cudaLaunchKernel", at + (stream - 7) * 3 * US, 2 * US, id);
                add_kernel(&b, "compute", 0, stream, at + 10 * US, (150 + 10 * stream) * US, id);
            }
            add_launch(&b, cases[i].call, at + 8 * US, (152 + 80 + 30) * US, 10 * k);
        }
        assert_int_equal(count_waits(&b, RS_SYNC_FREE, &ahead), cases[i].waits);
        assert_int_equal(ahead, 0);
        rs_events_free(b.e);
    }
}

/* A call that a cuda_sync event says waited for work which ended 50 us after its return. */
TEST(test_contradictions_are_counted)
{
    builder b = builder_create();
    add_launch(&b, "cudaLaunchKernel", 0, 2 * US, 1);
    add_kernel(&b, "k", 0, 7, 5 * US, 95 * US, 1);
    add_launch(&b, "cudaStreamSynchronize", 10 * US, 40 * US, 2);
    add_row(&b, 'X', "cuda_sync", "Stream Sync", 0, 7, 11 * US, 38 * US);
    add_arg(&b, RS_COL_CORRELATION, 2);
    add_arg(&b, RS_COL_STREAM, 7);
    add_launch(&b, "cudaLaunchKernel", 200 * US, 2 * US, 3);
    add_kernel(&b, "too early", 0, 7, 150 * US, 10 * US, 3);
    answer a = ask(&b, "", 0, 0);
    assert_int_equal(a.part.n_contradicted, 2);
    finish(&b, &a);
}
