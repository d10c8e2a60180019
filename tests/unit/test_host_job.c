/* A job without a GPU: the host's own time by name, its waiting in communication, what doctor and summary
 * make of it; against a count by hand. */
#include "support.h"

#include "analysis/doctor_checks.h"
#include "analysis/ops_host.h"
#include "analysis/summary.h"
#include "base/memory.h"
#include "match/group_table.h"
#include "match/host_job.h"
#include "trace/data_loader.h"

#define X(cat, name, tid, ts, dur)                                                                           \
    ",{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts        \
    ",\"dur\":" #dur "}\n"
#define HEAD(more) "{" more "\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0}\n"
#define GLOO "\"distributedInfo\":{\"backend\":\"gloo\",\"rank\":0,\"world_size\":2},"

typedef struct fixture {
    rs_events *e;
    rs_trace t;
} fixture;

static void begin(fixture *f, const char *trace)
{
    f->e = load(trace, strlen(trace));
    rs_trace_init(&f->t, f->e, NULL, f->e->n);
}

static void end(fixture *f)
{
    rs_trace_clear(&f->t);
    rs_events_free(f->e);
}

static void expect_op(const rs_relations *ops, size_t i, const char *name, int64_t count, int64_t total_us,
                      int64_t self_us)
{
    assert_true(i < ops->items[RS_OPS_HOST].n);
    const rs_host_op *op = &RS_ROWS(rs_host_op, ops, RS_OPS_HOST)[i];
    assert_string_equal(rs_relations_text(ops, op->name), name);
    assert_int_equal(op->count, count);
    assert_int_equal(op->total, total_us * 1000);
    assert_int_equal(op->self, self_us * 1000);
}

/* 100 of step: less two calls of a (30 and 20) and less c. The outer a calls only one of its own name (10): they are one
 * call. The same of b in b, which calls two of its name, and of f in f, which calls an f
 * and h: that f is a call of its own. What
 * crosses the end of its caller (d), stands on another thread (e) or is communication of a worker that was
 * filed under this thread takes nothing. */
TEST(test_own_time)
{
    fixture f;
    const rs_analysis *a = rs_analysis_find("ops");
    rs_options *options;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_relations *ops = NULL;
    assert_int_equal(rs_options_create(a->options, a->n_options, &options, NULL), RS_OK);
    assert_int_equal(rs_options_set(options, "host", NULL, NULL), RS_OK);
    begin(&f,
          HEAD("") X("user_annotation", "step", 1, 0, 100) X("cpu_op", "a", 1, 10, 30)
              X("cpu_op", "a", 1, 15, 10) X("cpu_op", "b", 3, 0, 50) X("cpu_op", "b", 3, 10, 10)
                  X("cpu_op", "b", 3, 20, 10) X("cpu_op", "f", 3, 100, 40) X("cpu_op", "f", 3, 101, 38)
                      X("cpu_op", "f", 3, 102, 30) X("cpu_op", "g", 3, 110, 10) X("cpu_op", "h", 3, 133, 2)
                          X("cpu_op", "a", 1, 50, 20) X("cpu_op", "c", 1, 70, 5) X("cpu_op", "d", 1, 90, 22)
                              X("cpu_op", "e", 2, 20, 7) X("user_annotation", "gloo:all_reduce", 1, 75, 12)
                                  X("kernel", "k", 7, 0, 50) X("python_function", "p", 1, 0, 100) "]}");
    rs_run run = {.options = options, .plan = a->plan, .policy = &policy};
    assert_int_equal(rs_plan_rank(&run, &f.t, (void **)&ops, NULL), RS_OK);
    assert_int_equal(ops->items[RS_OPS_HOST].n, 10);
    expect_op(ops, 0, "b", 3, 70, 50);
    expect_op(ops, 1, "a", 2, 50, 50);
    expect_op(ops, 2, "step", 1, 100, 45);
    expect_op(ops, 3, "f", 2, 70, 28);
    expect_op(ops, 4, "d", 1, 22, 22);
    expect_op(ops, 5, "gloo:all_reduce", 1, 12, 12);
    expect_op(ops, 6, "g", 1, 10, 10);
    expect_op(ops, 7, "e", 1, 7, 7);
    expect_op(ops, 8, "c", 1, 5, 5);
    expect_op(ops, 9, "h", 1, 2, 2);
    rs_plan_free(ops);
    rs_options_free(options);
    end(&f);
}

/* Communication from 10 to 40 and 30 to 60, an operator from 20 to 35: 50 in all, 35 of it waiting. */
TEST(test_waiting)
{
    static const char *const events = X("user_annotation", "gloo:all_reduce", 9, 10, 30)
        X("user_annotation", "gloo:all_reduce", 8, 30, 30) X("cpu_op", "aten::add", 1, 20, 15)
            X("cpu_op", "c10d::allreduce_", 1, 5, 3) X("cpu_op", "_c10d_functional::wait_tensor", 1, 40, 20)
                X("user_annotation", "sleep", 1, 60, 40);
    static const char *const heads[] = {HEAD(GLOO), HEAD("")};
    for (size_t i = 0; i < 2; i++) {
        text t = {0};
        fixture f;
        rs_host_job job;
        text_puts(&t, heads[i]);
        text_puts(&t, events);
        text_puts(&t, "]}");
        begin(&f, t.s);
        assert_int_equal(rs_trace_host_job(&f.t, &job, NULL), RS_OK);
        assert_true(job.on_host);
        assert_int_equal(job.communication, 50000);
        assert_int_equal(job.waiting, 35000);
        rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
        rs_run run = {.policy = &policy};
        void *summary;
        assert_int_equal(rs_summary_rank(&run, &f.t, &summary, NULL), RS_OK);
        assert_int_equal(rs_summary_own_time(summary), 95000 - 35000);
        rs_summary_free(summary);
        end(&f);
        text_clear(&t);
    }
}

/* XLA runs a collective inside the function that runs its program, on the same thread: that function does not
 * compute meanwhile, what runs on another thread does. */
TEST(test_waiting_inside)
{
    fixture f;
    rs_host_job job;
    begin(&f, HEAD("") X("cpu_op", "ThunkExecutor::Execute", 9, 0, 100) X("cpu_op", "dot.1", 9, 0, 20)
                  X("user_annotation", "xla:all-reduce.2", 9, 20, 50) X("cpu_op", "dot.3", 8, 60, 30) "]}");
    assert_int_equal(rs_trace_host_job(&f.t, &job, NULL), RS_OK);
    assert_true(job.on_host);
    assert_int_equal(job.communication, 50000);
    assert_int_equal(job.waiting, 40000);
    end(&f);
}

/* Data loading: the annotation holds the operator and counts once; what follows a pause counts again. */
TEST(test_data_loading)
{
    fixture f;
    const rs_data_loader *d;
    begin(&f,
          HEAD("") X("user_annotation", "my dataloader", 1, 10, 30) X("cpu_op", "step", 1, 0, 100)
              X("cpu_op", "enumerate(DataLoader)#x.__next__", 1, 20, 40) X("kernel", "dataloader", 7, 0, 90)
                  X("user_annotation", "enumerate(DataLoader)#x.__next__", 1, 80, 5) "]}");
    assert_int_equal(rs_trace_data_loader(&f.t, &d, NULL), RS_OK);
    assert_int_equal(d->n, 3);
    assert_int_equal(d->calls[1].from, 40000);
    assert_int_equal(d->calls[1].end, 60000);
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_run run = {.policy = &policy};
    void *summary;
    assert_int_equal(rs_summary_rank(&run, &f.t, &summary, NULL), RS_OK);
    assert_int_equal(((rs_rank_summary *)summary)->data_loading, 55000);
    rs_summary_free(summary);
    end(&f);
}

static bool on_host(const char *trace)
{
    fixture f;
    rs_host_job job;
    begin(&f, trace);
    assert_int_equal(rs_trace_host_job(&f.t, &job, NULL), RS_OK);
    end(&f);
    return job.on_host;
}

TEST(test_no_host_job)
{
    assert_true(on_host(HEAD(GLOO) X("cpu_op", "a", 1, 0, 1) "]}"));
    assert_false(on_host(HEAD("") X("cpu_op", "a", 1, 0, 1) "]}"));
    assert_false(on_host(HEAD("\"distributedInfo\":{\"backend\":\"nccl\"},") X("cpu_op", "a", 1, 0, 1) "]}"));
    assert_false(on_host(HEAD(GLOO) X("cuda_runtime", "cudaLaunchKernel", 1, 0, 1) "]}"));
    assert_false(on_host(HEAD(GLOO) X("kernel", "k", 7, 0, 1) "]}"));
    /* a list of devices that is empty says that there are none */
    assert_true(on_host(HEAD("\"deviceProperties\":[],") X("cpu_op", "a", 1, 0, 1) "]}"));
    assert_false(on_host(HEAD("\"deviceProperties\":[],") X("kernel", "k", 7, 0, 1) "]}"));
    assert_false(on_host(HEAD("\"deviceProperties\":[{\"id\":0,\"name\":\"G\"}]," GLOO)
                             X("cpu_op", "a", 1, 0, 1) "]}"));
}

/* The worst level of a check's findings; -1: it says nothing. */
static int level_of(const char *trace, const char *check)
{
    fixture f;
    rs_findings found = {0};
    int level = -1;
    begin(&f, trace);
    assert_int_equal(rs_doctor_examine(&f.t, &found, NULL), RS_OK);
    for (size_t i = 0; i < found.n; i++) {
        if (strcmp(found.items[i].check->name, check) == 0 && (int)found.items[i].level > level)
            level = (int)found.items[i].level;
        rs_free(found.items[i].text);
    }
    rs_free(found.items);
    for (size_t i = 0; i < found.n_calls; i++) rs_free(found.calls[i].name);
    rs_free(found.calls);
    end(&f);
    return level;
}

TEST(test_doctor)
{
    static const char op[] = X("cpu_op", "a", 1, 0, 1);
    char whole[600], cut[600], shaped[600];
    assert_int_equal(level_of(HEAD(GLOO) X("cpu_op", "a", 1, 0, 1) "]}", "GPU work"), RS_FINE);
    assert_int_equal(level_of(HEAD("\"deviceProperties\":[],") X("cpu_op", "a", 1, 0, 1) "]}", "GPU work"),
                     RS_FINE);
    assert_int_equal(level_of(HEAD("\"deviceProperties\":[],")
                                  X("Trace", "PyTorch Profiler (0)", 1, 0, 9) "]}",
                              "content"),
                     RS_UNFIT);
    snprintf(whole, sizeof whole, "%s%s]}", HEAD(""), op);
    snprintf(cut, sizeof cut, "%s%s,{\"ph", HEAD(""), op);
    snprintf(shaped, sizeof shaped, "%s%s,{\"ph", HEAD("\"record_shapes\":1,\"with_stack\":1,"), op);
    static const char *const checks[] = {"GPU work", "steps", "Python stacks", "rank"};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        assert_true(level_of(whole, checks[i]) > RS_FINE);
        assert_int_equal(level_of(cut, checks[i]), -1);
    }
    assert_int_equal(level_of(whole, "GPU work"), RS_UNFIT);
    assert_int_equal(level_of(cut, "shapes"), RS_WEAK);
    assert_int_equal(level_of(shaped, "shapes"), -1);
}

static rs_group_entry entry(int64_t created_us, rs_coll_kind kind, int64_t seq)
{
    return (rs_group_entry){.rank = 3,
                            .created = 1000000000 + created_us * 1000,
                            .seq = seq,
                            .group_size = 2,
                            .in_elements = 8,
                            .out_elements = -1,
                            .group = "g",
                            .members = "[3, 5]",
                            .kind = kind};
}

/* The entry of an operation is the nearest of its kind: not the one of an operation before the trace (95),
 * nor one that was created after the operation ended (900). A reduce-scatter runs as an all-reduce. Sends
 * have no entry, nor have operations of other ranks. */
TEST(test_names_of_groups)
{
    static const char trace[] =
        HEAD("\"baseTimeNanoseconds\":1000000000," GLOO) X("cpu_op", "c10d::allreduce_", 1, 100, 9)
            X("user_annotation", "gloo:all_reduce", 9, 110, 50) X("cpu_op", "c10d::broadcast_", 1, 200, 9)
                X("user_annotation", "gloo:broadcast", 9, 210, 50) X("cpu_op", "c10d::send", 1, 300, 9)
                    X("user_annotation", "gloo:send", 9, 310, 50) X("cpu_op", "c10d::allgather_", 1, 400, 9)
                        X("user_annotation", "gloo:all_gather", 9, 410, 50) "]}";
    fixture f;
    rs_coll_rank *rank;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    begin(&f, trace);
    assert_int_equal(rs_coll_rank_any(&f.t, &policy, &rank, NULL), RS_OK);
    end(&f);
    assert_int_equal(rank->n, 4);
    rs_status status = RS_ERR_NOMEM;
    for (uint64_t k = 0; status != RS_OK;) {
        rs_group_entry entries[] = {entry(900, RS_COLL_ALL_GATHER, 9), entry(104, RS_COLL_REDUCE_SCATTER, 5),
                                    entry(95, RS_COLL_ALL_REDUCE, 4),  entry(203, RS_COLL_BROADCAST, 6),
                                    entry(305, RS_COLL_SEND_RECV, 7),  entry(401, RS_COLL_ALL_GATHER, 8)};
        entries[5].rank = 4;
        rs_group_table table = {.entries = entries, .n = 6};
        rs_coll_rank *named = NULL;
        size_t n = 0;
        rs_group_table_sort(&table);
        assert_int_equal(table.entries[0].seq, 4);
        rs_test_fail_allocation(++k);
        status = rs_coll_rank_name(rank, 3, &table, &named, &n, NULL);
        rs_test_fail_allocation(0);
        if (status != RS_OK) continue;
        static const int64_t numbers[] = {5, 6, -1, -1};
        assert_int_equal(n, 2);
        assert_int_equal(named->n_nameless, rank->n_nameless - 2);
        for (size_t i = 0; i < 4; i++) {
            const rs_coll_op *op = &named->ops[i];
            const rs_coll_shape *shape = rs_coll_shape_of(named, op);
            const char *members = rs_pool_text(&named->pool, shape->members);
            assert_int_equal(op->seq, numbers[i]);
            assert_int_equal(shape->in_elements, numbers[i] < 0 ? -1 : 8);
            assert_true(numbers[i] < 0 ? !members : strcmp(members, "[3, 5]") == 0);
        }
        assert_string_equal(rs_pool_text(&named->pool, named->host == RS_NO_STRING ? 0 : named->host), "");
        rs_coll_rank_free(named);
    }
    rs_coll_rank_free(rank);
}

/* Operators 10-40 and 50-70 on thread 1 and 60-80 on 2; the wait 20-30 is none of thread 1's operators, and no operator
 * of thread 2 hides it. Communication 35-55: 40-50 is exposed. Loading 80-95, of it 5 hidden by communication 90-99. What
 * holds communication on its own thread (c, 88-100) does not compute. */
TEST(test_view)
{
    fixture f;
    rs_host_view view;
    begin(&f, HEAD("") X("user_annotation", "step", 1, 0, 120) X("cpu_op", "a", 1, 10, 30)
                  X("cpu_op", "b", 1, 15, 20) X("cuda_runtime", "cudaStreamSynchronize", 1, 20, 10)
                      X("cuda_runtime", "cudaLaunchKernel", 1, 32, 2) X("cpu_op", "a", 1, 50, 20)
                          X("cpu_op", "e", 2, 60, 20) X("user_annotation", "gloo:all_reduce", 3, 35, 20)
                              X("cpu_op", "c", 4, 88, 12) X("user_annotation", "gloo:broadcast", 4, 90, 9)
                                  X("user_annotation",
                                    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 80,
                                    15) "]}");
    assert_int_equal(rs_host_view_of(&f.t, &view, NULL), RS_OK);
    assert_int_equal(view.span, 120000);
    assert_int_equal(view.operators, 50000);
    assert_int_equal(view.comm, 29000);
    assert_int_equal(view.exposed_comm, 19000);
    assert_int_equal(view.sync, 10000);
    assert_int_equal(view.exposed_sync, 10000);
    assert_int_equal(view.loading, 15000);
    assert_int_equal(view.exposed_loading, 10000);
    assert_int_equal(view.other, 31000);
    assert_int_equal(view.n_operators, 4);
    assert_int_equal(view.n_comm, 2);
    assert_int_equal(view.n_sync, 1);
    assert_int_equal(view.n_threads, 4);
    assert_int_equal(view.threads[0].operators, 40000);
    assert_int_equal(view.threads[0].sync, 10000);
    assert_int_equal(view.threads[0].n, 4);
    assert_string_equal(view.threads[1].label, "process 1 thread 2");
    assert_int_equal(view.threads[1].operators, 20000);
    assert_int_equal(view.threads[2].comm, 20000);
    assert_int_equal(view.threads[3].comm, 9000);
    rs_host_view_clear(&view);
    /* 0-40: the wait 20-30; 40-100; 30-60 overlaps both and has the end of one operator and the beginning of another */
    const rs_interval windows[] = {{0, 40000}, {40000, 100000}, {30000, 60000}, {70, 70}};
    rs_host_view of[4];
    assert_int_equal(rs_host_view_of_windows(&f.t, windows, 4, &view, of, NULL), RS_OK);
    const int64_t want[][7] = {/* span, operators, exposed and all communication, waits, loading, other */
                               {40000, 20000, 0, 5000, 10000, 0, 10000},
                               {60000, 30000, 19000, 24000, 0, 10000, 1000},
                               {30000, 20000, 10000, 20000, 0, 0, 0},
                               {0, 0, 0, 0, 0, 0, 0}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(of[i].span, want[i][0]);
        assert_int_equal(of[i].operators, want[i][1]);
        assert_int_equal(of[i].exposed_comm, want[i][2]);
        assert_int_equal(of[i].comm, want[i][3]);
        assert_int_equal(of[i].exposed_sync, want[i][4]);
        assert_int_equal(of[i].exposed_loading, want[i][5]);
        assert_int_equal(of[i].other, want[i][6]);
    }
    rs_host_view_clear(&view);
    end(&f);
}
