/* The call tree on small traces: nesting, rounding, links, times of subtrees against a count by hand. */
#include "support.h"

#include "base/memory.h"
#include "trace/categories.h"
#include "trace/folded_tree.h"
#include "trace/launcher_rows.h"
#include "trace/launchers.h"
#include "trace/pool.h"
#include "trace/recompute.h"
#include "trace/tree.h"

typedef struct fixture {
    text t;
    rs_events *e;
    rs_trace trace;
    rs_tree *tree;
} fixture;

static void begin(fixture *f)
{
    *f = (fixture){0};
    text_puts(&f->t,
              "{\"traceEvents\": [\n{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"tid\": 0, "
              "\"args\": {\"name\": \"python\"}}");
}

static void host(fixture *f, const char *cat, const char *name, int tid, double ts, double dur,
                 const char *args)
{
    text_printf(&f->t,
                ",\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 1, \"tid\": %d, \"ts\": "
                "%.3f, \"dur\": %.3f, "
                "\"args\": {%s}}",
                cat, name, tid, ts, dur, args);
}

static void launch(fixture *f, int tid, double ts, int correlation)
{
    char args[40];
    snprintf(args, sizeof args, "\"correlation\": %d", correlation);
    host(f, "cuda_runtime", "cudaLaunchKernel", tid, ts, 1, args);
}

static void kernel(fixture *f, const char *name, int stream, double ts, double dur, int correlation)
{
    text_printf(&f->t,
                ",\n{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0, \"tid\": %d, \"ts\": "
                "%.3f, \"dur\": %.3f, "
                "\"args\": {\"stream\": %d, \"device\": 0, \"correlation\": %d}}",
                name, stream, ts, dur, stream, correlation);
}

static void build(fixture *f, bool python)
{
    rs_error err = RS_ERROR_INIT;
    text_puts(&f->t, "\n]}");
    f->e = load(f->t.s, f->t.n);
    rs_trace_init(&f->trace, f->e, NULL, f->e->n);
    assert_int_equal(rs_trace_tree(&f->trace, python, &f->tree, &err), RS_OK);
    assert_int_equal(rs_tree_busy(&f->trace, f->tree, &err), RS_OK);
}

static void end(fixture *f)
{
    rs_trace_clear(&f->trace);
    rs_events_free(f->e);
    text_clear(&f->t);
}

static uint32_t find(const fixture *f, const char *name)
{
    for (uint32_t i = 0; i < f->tree->n; i++)
        if (strcmp(rs_event_name(f->e, f->tree->row[i]), name) == 0) return i;
    fail_msg("no node %s", name);
    return RS_NO_NODE;
}

static const char *parent_name(const fixture *f, const char *name)
{
    uint32_t parent = f->tree->parent[find(f, name)];
    return parent == RS_NO_NODE ? "-" : rs_event_name(f->e, f->tree->row[parent]);
}

TEST(test_nesting)
{
    fixture f;
    begin(&f);
    host(&f, "cpu_op", "inner", 7, 100, 10, ""); /* starts with outer, and stands before it in the file */
    host(&f, "cpu_op", "outer", 7, 100, 50, "");
    host(&f, "cpu_op", "sticks_out", 7, 140, 10.4, ""); /* by less than a microsecond: rounding */
    host(&f, "cpu_op", "beside", 7, 150.2, 30,
         ""); /* starts within the last of outer, but is no part of it */
    host(&f, "cpu_op", "touches", 7, 180.2, 5, "");
    host(&f, "cpu_op", "elsewhere", 8, 110, 5, "");
    host(&f, "python_function", "nn.Module: Linear_0", 7, 90, 200, "");
    host(&f, "python_function", "train.py(3): step", 7, 80, 300, "");
    build(&f, false);
    assert_string_equal(parent_name(&f, "inner"), "outer");
    assert_string_equal(parent_name(&f, "sticks_out"), "outer");
    assert_string_equal(parent_name(&f, "beside"), "nn.Module: Linear_0");
    assert_string_equal(parent_name(&f, "touches"), "nn.Module: Linear_0");
    assert_string_equal(parent_name(&f, "elsewhere"), "-");
    assert_string_equal(parent_name(&f, "nn.Module: Linear_0"), "-");
    assert_int_equal(f.tree->n_roots, 4);
    assert_int_equal(f.tree->n_host, 6);
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_trace_tree(&f.trace, true, &f.tree, &err), RS_OK);
    assert_string_equal(parent_name(&f, "nn.Module: Linear_0"), "train.py(3): step");
    uint32_t *module = rs_tree_modules(&f.trace, f.tree);
    assert_int_equal(module[find(&f, "inner")], find(&f, "nn.Module: Linear_0"));
    rs_free(module);
    end(&f);
}

TEST(test_misnested)
{
    fixture f;
    begin(&f);
    host(&f, "cpu_op", "op", 7, 100, 50, "");
    host(&f, "user_annotation", "across", 7, 120, 100, ""); /* ends outside: holds nothing */
    host(&f, "cpu_op", "inside", 7, 130, 5, "");
    launch(&f, 7, 131, 1);
    launch(&f, 7, 149.5, 2); /* the call's clock runs ahead: it is the operator's all the same */
    kernel(&f, "k", 3, 200, 10, 1);
    kernel(&f, "k", 3, 210, 10, 2);
    build(&f, false);
    assert_string_equal(parent_name(&f, "across"), "op");
    assert_string_equal(parent_name(&f, "inside"), "op");
    assert_int_equal(f.tree->n_misnested, 1);
    assert_int_equal(rs_tree_kernels(f.tree, find(&f, "op")), 2);
    assert_int_equal(rs_tree_kernels(f.tree, find(&f, "inside")), 1);
    assert_int_equal(rs_tree_kernels(f.tree, find(&f, "across")), 0);
    end(&f);
}

TEST(test_launchers)
{
    fixture f;
    begin(&f);
    host(&f, "cpu_op", "outer", 7, 100, 100, "");
    launch(&f, 7, 101, 1);
    host(&f, "cpu_op", "execute", 7, 110, 20, ""); /* passed through */
    launch(&f, 7, 111, 2);
    host(&f, "cpu_op", "aten::mm", 7, 140, 20, "");
    host(&f, "cuda_runtime", "cudaGraphLaunch", 7, 141, 15, "\"correlation\": 3");
    host(&f, "cuda_driver", "cuLaunchKernel", 7, 142, 3, "\"correlation\": 4"); /* inside a runtime call */
    launch(&f, 7, 300, 5);                                                      /* no operator around it */
    kernel(&f, "a", 3, 200, 10, 1);
    kernel(&f, "b", 4, 205, 10, 2);
    kernel(&f, "g1", 3, 220, 10, 3);
    kernel(&f, "g2", 4, 225, 10, 3);
    kernel(&f, "d", 3, 240, 1, 4);
    kernel(&f, "alone", 3, 310, 2, 5);
    kernel(&f, "ncclDevKernel_AllReduce", 5, 300, 50, 1);
    kernel(&f, "unlinked", 3, 400, 2, 99);
    build(&f, false);
    const rs_launcher *l, *again;
    size_t n;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_tree_launchers(&f.trace, f.tree, &l, &n, &err), RS_OK);
    assert_int_equal(n, 3);
    assert_int_equal(l[0].node, find(&f, "outer"));
    assert_int_equal(l[0].n_kernels, 2);
    assert_int_equal(l[0].direct, 15000);
    assert_int_equal(l[0].subtree, 15000 + 15000 + 1000 + 50000);
    assert_int_equal(l[1].node, find(&f, "aten::mm"));
    assert_int_equal(l[1].direct, 16000);
    assert_int_equal(l[1].n_kernels, 3);
    assert_int_equal(l[2].n_kernels, 1);
    assert_int_equal(f.tree->n_unlinked, 1);
    assert_int_equal(rs_tree_launchers(&f.trace, f.tree, &again, &n, &err), RS_OK);
    assert_ptr_equal(again, l);
    end(&f);
}

TEST(test_forward_backward)
{
    fixture f;
    begin(&f);
    host(&f, "cpu_op", "aten::linear", 7, 100, 10, "\"Sequence number\": 4");
    host(&f, "cpu_op", "aten::addmm", 7, 102, 5, "\"Sequence number\": 4");
    host(&f, "cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 8, 200, 20,
         "\"Sequence number\": 4");
    host(&f, "cpu_op", "AddmmBackward0", 8, 201, 10, "\"Sequence number\": 4");
    host(&f, "cpu_op", "aten::relu", 8, 205, 1, "\"Sequence number\": 5");
    host(&f, "cpu_op", "autograd::engine::evaluate_function: Same", 8, 230, 2, "\"Sequence number\": 5");
    host(&f, "cpu_op", "aten::late", 7, 300, 2, "\"Sequence number\": 4"); /* behind the backward pass */
    build(&f, false);
    const rs_fwdbwd *links;
    size_t n;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_tree_fwdbwd(&f.trace, f.tree, &links, &n, &err), RS_OK);
    assert_int_equal(n, 1);
    assert_int_equal(links[0].backward, find(&f, "autograd::engine::evaluate_function: AddmmBackward0"));
    assert_int_equal(links[0].forward, find(&f, "aten::addmm"));
    end(&f);
}

/* A backward operator that launches names its forward one: of the first link, a middle one and the last. */
TEST(test_rows_name_their_forward)
{
    fixture f;
    char args[40];
    begin(&f);
    for (int i = 0; i < 3; i++) {
        snprintf(args, sizeof args, "\"Sequence number\": %d", 4 + i);
        host(&f, "cpu_op", "aten::addmm", 7, 100 + 10 * i, 5, args);
    }
    for (int i = 0; i < 3; i++) {
        double at = 200 + 30 * i;
        snprintf(args, sizeof args, "\"Sequence number\": %d", 4 + i);
        host(&f, "cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 8, at, 20, args);
        host(&f, "cpu_op", "aten::mm", 8, at + 1, 10, "");
        launch(&f, 8, at + 2, 1 + i);
        kernel(&f, "gemm", 20, at + 5, 5, 1 + i);
    }
    build(&f, false);
    rs_relation rows = {.size = sizeof(rs_launcher_row)};
    rs_launcher_counts counts;
    rs_pool pool;
    assert_true(rs_pool_init(&pool));
    assert_int_equal(rs_launcher_rows_of(&f.trace, &pool, &rows, &counts, NULL), RS_OK);
    assert_int_equal(rows.n, 3);
    for (size_t i = 0; i < 3; i++) {
        uint32_t forward = ((const rs_launcher_row *)rows.rows)[i].forward;
        assert_true(forward < f.e->n);
        assert_string_equal(rs_event_name(f.e, forward), "aten::addmm");
        assert_int_equal(f.e->start[forward], (100 + 10 * (int64_t)i) * 1000);
    }
    rs_relation_clear(&rows);
    rs_pool_clear(&pool);
    end(&f);
}

/* Union by painting microseconds. */
static int64_t painted(const fixture *f, size_t first, size_t last)
{
    static uint8_t line[4096];
    int64_t n = 0;
    memset(line, 0, sizeof line);
    for (size_t i = first; i < last; i++) {
        uint32_t row = f->tree->gpu_row[i];
        for (int64_t t = f->e->start[row]; t < rs_event_end(f->e, row); t += 1000) line[t / 1000] = 1;
    }
    for (size_t i = 0; i < sizeof line; i++) n += line[i];
    return n * 1000;
}

TEST(test_busy_of_every_node)
{
    rng r = {7};
    for (int round = 0; round < ROUNDS(60); round++) {
        fixture f;
        begin(&f);
        double at = 0;
        int correlation = 1;
        for (int i = 0; i < 60; i++) {
            at += (double)rng_below(&r, 20);
            host(&f, "cpu_op", "op", 7, at, (double)rng_below(&r, 120), "");
            if (rng_below(&r, 3) == 0) continue;
            launch(&f, 7, at, correlation);
            for (size_t k = rng_below(&r, 4); k > 0; k--)
                kernel(&f, "k", (int)rng_below(&r, 3), (double)rng_below(&r, 3000),
                       (double)rng_below(&r, 200), correlation);
            correlation++;
        }
        build(&f, false);
        size_t with_work = 0;
        for (uint32_t i = 0; i < f.tree->n; i++) {
            size_t first = f.tree->gpu_first[i], last = f.tree->gpu_first[f.tree->end[i]];
            assert_int_equal(f.tree->busy[i], painted(&f, first, last));
            with_work += first < last;
        }
        assert_true(with_work > 10);
        int64_t total;
        rs_error err = RS_ERROR_INIT;
        assert_int_equal(rs_tree_total_busy(&f.trace, f.tree, &total, &err), RS_OK);
        assert_int_equal(total, painted(&f, 0, f.tree->n_gpu));
        end(&f);
    }
}

TEST(test_deep)
{
    fixture f;
    begin(&f);
    int depth = 20000;
    for (int i = 0; i < depth; i++) host(&f, "cpu_op", "op", 7, i * 0.001, 100000 - i * 0.002, "");
    launch(&f, 7, 50, 1);
    kernel(&f, "k", 3, 200, 10, 1);
    build(&f, false);
    assert_int_equal(f.tree->depth[f.tree->n - 1], depth);
    assert_int_equal(f.tree->busy[0], 10000);
    rs_folded_settings settings = {0};
    rs_folded_tree *folded;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_fold_tree(&f.trace, &settings, &folded, &err), RS_OK);
    assert_int_equal(folded->n, depth + 3);
    rs_folded_tree_free(folded);
    end(&f);
}

TEST(test_folding)
{
    fixture f;
    begin(&f);
    host(&f, "user_annotation", "ProfilerStep#1", 7, 0, 100, "");
    host(&f, "cpu_op", "short", 7, 1, 2, "");
    host(&f, "cpu_op", "op", 7, 10, 20, "");
    launch(&f, 7, 11, 1);
    host(&f, "user_annotation", "ProfilerStep#2", 7, 200, 100, "");
    host(&f, "cpu_op", "op", 7, 210, 30, "");
    launch(&f, 7, 211, 2);
    kernel(&f, "k", 3, 20, 10, 1);
    kernel(&f, "k", 3, 220, 30, 2);
    build(&f, false);
    rs_error err = RS_ERROR_INIT;
    rs_folded_tree *t;
    rs_folded_settings settings = {.depth = 2};
    assert_int_equal(rs_fold_tree(&f.trace, &settings, &t, &err), RS_OK);
    assert_int_equal(t->n, 4); /* thread, step, op, short */
    assert_string_equal(rs_pool_text(&t->pool, t->nodes[1].name), "ProfilerStep");
    assert_int_equal(t->nodes[1].count, 2);
    assert_string_equal(rs_pool_text(&t->pool, t->nodes[2].name), "op");
    assert_int_equal(t->nodes[2].gpu, 40000);
    assert_int_equal(t->nodes[2].host, 50000);
    assert_int_equal(t->nodes[1].self, 200000 - 52000);
    assert_int_equal(t->busy, 40000);
    rs_folded_tree_free(t);
    settings = (rs_folded_settings){.root = "o*", .min_time = 1};
    assert_int_equal(rs_fold_tree(&f.trace, &settings, &t, &err), RS_OK);
    assert_int_equal(t->n_found, 2);
    assert_int_equal(t->n, 4); /* thread, op, call, kernel */
    assert_int_equal(t->nodes[0].gpu, 40000);
    rs_folded_tree_free(t);
    settings = (rs_folded_settings){.each = true};
    assert_int_equal(rs_fold_tree(&f.trace, &settings, &t, &err), RS_OK);
    assert_int_equal(t->n, 1 + 5 + 2 + 2);
    assert_string_equal(rs_pool_text(&t->pool, t->nodes[1].name), "ProfilerStep#1");
    rs_folded_tree_free(t);
    end(&f);
}

TEST(test_python_text)
{
    static const char *const cases[][2] = {
        {"[[512],[141, 512]]", "((512,), (141, 512))"},
        {"[]", "()"},
        {"[[], [[]]]", "((), ((),))"},
        {"[\"float\",\"\"]", "('float', '')"},
        {"[\"it's\", \"\\\"\", \"a\\\\b\", \"x\\ny\"]", "(\"it's\", '\"', 'a\\\\b', 'x\\ny')"},
        {"[1.0, 2.5, -3, true, false, null]", "(1.0, 2.5, -3, True, False, None)"},
        {"float", "float"},
        {"[1, 2", "[1, 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *out;
        size_t n;
        assert_true(rs_python_tuple(cases[i][0], strlen(cases[i][0]), &out, &n));
        assert_string_equal(out, cases[i][1]);
        assert_int_equal(n, strlen(out));
        rs_free(out);
    }
}

TEST(test_categories)
{
    assert_true(rs_op_categories_sorted());
    assert_string_equal(rs_op_category("aten::mm", NULL), "GEMM");
    assert_string_equal(rs_op_category("triton_poi_fused_add_0", NULL), "triton");
    assert_string_equal(rs_op_category("mine", "void at::native::reduce_kernel<512>"), "reduce");
    assert_string_equal(rs_op_category("mine", "void at::native::vectorized_elementwise_kernel<4>"),
                        "elementwise");
    assert_string_equal(rs_op_category("mine", "ampere_gemm"), "other");
    assert_string_equal(rs_op_category("mine", NULL), "other");
}

/* A rank of many finds its values without walking over the others'. */
TEST(test_leap)
{
    uint32_t rows[300];
    int32_t values[300];
    for (uint32_t i = 0; i < 300; i++) rows[i] = i * 3, values[i] = (int32_t)i;
    rs_sparse column = {.n = 300, .rows = rows, .narrow = values};
    for (uint32_t from = 0; from < 300; from += 7)
        for (uint32_t row = 0; row < 910; row += 5) {
            rs_cursor c = {&column, from};
            bool has = rs_cursor_seek(&c, row);
            size_t want = (row + 2) / 3;
            if (want < from) want = from;
            if (want > 300) want = 300;
            assert_int_equal(c.at, want);
            assert_int_equal(has, want < 300 && rows[want] == row);
        }
}

static rs_status try_all(fixture *f)
{
    rs_error err = RS_ERROR_INIT;
    const rs_launcher *l = NULL;
    const rs_fwdbwd *links = NULL;
    rs_folded_tree *folded = NULL;
    rs_folded_settings settings = {.root = "*"};
    size_t n;
    rs_trace trace;
    rs_tree *tree;
    rs_trace_init(&trace, f->e, NULL, f->e->n);
    rs_status status = rs_trace_tree(&trace, true, &tree, &err);
    if (status == RS_OK) status = rs_tree_launchers(&trace, tree, &l, &n, &err);
    if (status == RS_OK) status = rs_tree_fwdbwd(&trace, tree, &links, &n, &err);
    if (status == RS_OK) status = rs_fold_tree(&trace, &settings, &folded, &err);
    rs_folded_tree_free(folded);
    rs_trace_clear(&trace);
    return status;
}

TEST(test_out_of_memory)
{
    fixture f;
    begin(&f);
    host(&f, "cpu_op", "op", 7, 0, 50, "\"Sequence number\": 4");
    host(&f, "cpu_op", "b", 7, 0, 50, "");
    launch(&f, 7, 1, 1);
    kernel(&f, "k", 3, 20, 10, 1);
    kernel(&f, "k", 4, 25, 10, 1);
    build(&f, true);
    rs_test_fail_allocation(0);
    assert_int_equal(try_all(&f), RS_OK);
    uint64_t n = rs_test_fail_allocation(0);
    assert_true(n > 30);
    for (uint64_t i = 1; i <= n; i++) {
        rs_test_fail_allocation(i);
        rs_status status = try_all(&f);
        rs_test_fail_allocation(0);
        assert_int_equal(status, RS_ERR_NOMEM);
    }
    end(&f);
}

/* ---- the tree above GPU work --------------------------------------------------------------------------- */

static uint32_t row_of(const rs_tree *t, uint32_t node)
{
    return node == RS_NO_NODE ? RS_NO_ROW : t->row[node];
}

/* A call that has work only in a call within it. */
static bool is_idle_call(const rs_events *e, const rs_tree *t, uint32_t node)
{
    size_t own_end = node + 1 < t->end[node] ? t->gpu_first[node + 1] : t->gpu_first[t->end[node]];
    return rs_kind_is_call(rs_event_kind(e, t->row[node])) && own_end == t->gpu_first[node];
}

static uint32_t parent_of(const rs_events *e, const rs_tree *t, uint32_t node, uint32_t *depth)
{
    uint32_t parent = RS_NO_NODE;
    *depth = 0;
    for (uint32_t at = t->parent[node]; at != RS_NO_NODE; at = t->parent[at]) {
        if (is_idle_call(e, t, at)) continue;
        if (parent == RS_NO_NODE) parent = at;
        ++*depth;
    }
    return parent;
}

/* Nodes of the whole tree that have work, in the same order and relations, but for calls without their own. */
static void assert_is_working_part(const rs_events *e, const rs_tree *whole, const rs_tree *part)
{
    uint32_t depth;
    size_t at = 0;
    assert_int_equal(part->n_gpu, whole->n_gpu);
    for (uint32_t node = 0; node < whole->n; node++) {
        if (!rs_tree_kernels(whole, node) || is_idle_call(e, whole, node)) continue;
        assert_true(at < part->n);
        assert_int_equal(part->row[at], whole->row[node]);
        assert_int_equal(row_of(part, part->parent[at]), row_of(whole, parent_of(e, whole, node, &depth)));
        assert_int_equal(row_of(part, part->op[at]), row_of(whole, whole->op[node]));
        assert_int_equal(part->depth[at], depth);
        assert_int_equal(part->gpu_first[at], whole->gpu_first[node]);
        assert_int_equal(rs_tree_kernels(part, (uint32_t)at), rs_tree_kernels(whole, node));
        assert_int_equal(rs_tree_gpu_sum(part, (uint32_t)at), rs_tree_gpu_sum(whole, node));
        at++;
    }
    assert_int_equal(part->n, at);
    for (size_t i = 0; i < whole->n_gpu; i++) assert_int_equal(part->gpu_row[i], whole->gpu_row[i]);
}

/* Operators, annotations and calls at random places of a few threads, many of them without work, some across
 * the ends of others. */
TEST(test_working_tree)
{
    static const char *const kinds[] = {"cpu_op", "cpu_op", "user_annotation", "python_function"};
    for (unsigned seed = 1; seed <= 60; seed++) {
        fixture f;
        unsigned random = seed;
        rs_tree *part;
        begin(&f);
        for (int i = 0; i < 120; i++) {
            random = random * 1103515245u + 12345u;
            unsigned r = random >> 8;
            int tid = 7 + (int)(r % 3);
            double at = (double)(r / 3 % 400) / 2, length = (double)(r / 1200 % 90);
            if (i % 3 == 0) {
                launch(&f, tid, at, i);
                if (r & 4096) kernel(&f, "k", 3, at + 300, 1 + (double)(r % 5), i);
            } else {
                host(&f, kinds[r / 7 % 4], r & 1 ? "nn.Module: M_0" : "x", tid, at, length, "");
            }
        }
        build(&f, false);
        assert_int_equal(rs_trace_working_tree(&f.trace, &part, NULL), RS_OK);
        assert_is_working_part(f.e, f.tree, part);
        end(&f);
    }
}

/* ---- what is computed again ---------------------------------------------------------------------------- */

/* An operator with a launch and a kernel in it. */
static void working_op(fixture *f, const char *name, int tid, double at, int correlation)
{
    host(f, "cpu_op", name, tid, at, 3, "");
    launch(f, tid, at + 1, correlation);
    kernel(f, name, 3, 500 + at, 1, correlation);
}

static bool is_again(const rs_recompute *r, const rs_tree *t, const rs_events *e, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(rs_event_name(e, t->row[i]), name) == 0) return r->again[i];
    fail_msg("no node %s", name);
    return false;
}

TEST(test_recompute)
{
    static const char wrapper[] = "autograd::engine::evaluate_function: CheckpointFunctionBackward";
    static const char function[] = "torch/utils/checkpoint.py(1100): recompute_fn";
    const rs_recompute *r;
    rs_tree *t;
    fixture f;
    begin(&f);
    working_op(&f, "forward", 7, 0, 1);
    /* the older way: the operator runs the forward pass again, then a backward pass of its own */
    host(&f, "cpu_op", wrapper, 8, 100, 50, "");
    host(&f, "cpu_op", "CheckpointFunctionBackward", 8, 101, 48, "");
    working_op(&f, "forward_again", 8, 102, 2);
    host(&f, "cpu_op", "autograd::engine::evaluate_function: MmBackward0", 8, 110, 20, "");
    working_op(&f, "backward", 8, 112, 3);
    working_op(&f, "between", 8, 140, 4);
    /* the newer way: a hook in the backward pass, which only a Python function shows */
    host(&f, "cpu_op", "autograd::engine::evaluate_function: MulBackward0", 8, 200, 50, "");
    host(&f, "python_function", function, 8, 201, 10, "");
    working_op(&f, "hooked", 8, 203, 5);
    working_op(&f, "after", 8, 220, 6);
    host(&f, "python_function", function, 9, 219, 10, ""); /* on another thread */
    build(&f, false);
    assert_int_equal(rs_trace_working_tree(&f.trace, &t, NULL), RS_OK);
    assert_int_equal(rs_tree_recompute(&f.trace, t, &r, NULL), RS_OK);
    assert_int_equal(r->n, t->n);
    assert_true(r->has_python);
    assert_true(is_again(r, t, f.e, "forward_again"));
    assert_true(is_again(r, t, f.e, "between"));
    assert_true(is_again(r, t, f.e, "hooked"));
    assert_false(is_again(r, t, f.e, "forward"));
    assert_false(is_again(r, t, f.e, "backward"));
    assert_false(is_again(r, t, f.e, "after"));
    assert_false(is_again(r, t, f.e, wrapper));
    assert_int_equal(r->n_again, 6); /* three operators, three calls */
    end(&f);
}
