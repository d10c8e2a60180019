/* The engine on small ranks built by hand: skeletons, replay, questions, paths. Times are in ns; a thread's id is
 * its process's, the GPU's events lie on threads named by their stream. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "engine/step_lengths.h"
#include "base/memory.h"
#include "base/strings.h"
#include "base/wire.h"
#include "engine/contention.h"
#include "engine/edits.h"
#include "engine/edits_terms.h"
#include "engine/forest.h"
#include "engine/reference.h"
#include "trace/structure.h"
#include "verdict/judge.h"
#include "verdict/levels.h"
#include "verdict/verdicts.h"
#include "builder.h"

#define US 1000
#define MAIN 1
#define STEPS 4

/* Of the events, which are freed. */
static rs_skeleton *skeleton_of(builder *b)
{
    rs_trace trace;
    rs_skeleton *s = NULL;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_trace_init(&trace, b->e, NULL, b->e->n);
    assert_int_equal(rs_skeleton_of(&trace, &policy, &s, NULL), RS_OK);
    assert_non_null(s);
    rs_trace_clear(&trace);
    rs_events_free(b->e);
    return s;
}

/* Steps of: a loader, two kernels a and b on stream 7, and a wait for both. In the last step the device's queue
 * of b runs behind. slow: how long a takes, us. */
static rs_skeleton *make_steps(int64_t slow, const char *second, int steps)
{
    builder b = builder_create();
    int64_t t = 0;
    for (int step = 0; step < steps; step++) {
        char name[24];
        int64_t begin = t;
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        uint32_t row = add_row(&b, 'X', "user_annotation", name, MAIN, MAIN, begin, 1);
        add_row(&b, 'X', "user_annotation", "enumerate(DataLoader)#next", MAIN, MAIN, t + 5 * US, 50 * US);
        t += 60 * US;
        add_op(&b, "aten::mm", MAIN, t, 40 * US, step * 10 + 1);
        add_call(&b, "cudaLaunchKernel", MAIN, t + 5 * US, step * 10 + 1);
        add_kernel(&b, "gemm_a", 0, 7, t + 20 * US, slow * US, step * 10 + 1);
        add_call(&b, "cudaLaunchKernel", MAIN, t + 30 * US, step * 10 + 2);
        add_kernel(&b, second, 0, 7, t + (21 + slow) * US, 100 * US, step * 10 + 2);
        uint32_t call = add_row(&b, 'X', "cuda_runtime", "cudaDeviceSynchronize", MAIN, MAIN, t + 50 * US,
                                (21 + slow + 100 + 5 - 50) * US);
        (void)call;
        t += (21 + slow + 100 + 10) * US;
        b.e->duration[row] = t - begin - US;
    }
    return skeleton_of(&b);
}

static rs_skeleton *make_rank(int64_t slow, const char *second)
{
    return make_steps(slow, second, STEPS);
}

/* Steps of: a on stream 7, then an all-reduce on stream 20, then b on stream 7; nothing tells that they wait for each
 * other, and all were launched before. late: what a takes longer, us. skew: by what the all-reduce ends later in each other step, us. */
static rs_skeleton *make_met(int64_t late, int64_t skew)
{
    builder b = builder_create();
    for (int step = 0; step < STEPS; step++) {
        char name[24];
        int64_t t = step * 1000 * US, c = step * 10 + 1;
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        add_row(&b, 'X', "user_annotation", name, MAIN, MAIN, t, 990 * US);
        for (int k = 0; k < 3; k++) add_call(&b, "cudaLaunchKernel", MAIN, t + (5 + 10 * k) * US, c + k);
        add_kernel(&b, "gemm_a", 0, 7, t + 50 * US, (100 + late) * US, c);
        add_kernel(&b, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, t + (151 + late) * US,
                   (140 - late + (step % 2 ? skew : 0)) * US, c + 1);
        add_kernel(&b, "gemm_b", 0, 7, t + (292 + (step % 2 ? skew : 0)) * US, 50 * US, c + 2);
        add_row(&b, 'X', "cuda_runtime", "cudaDeviceSynchronize", MAIN, MAIN, t + 40 * US, 305 * US);
    }
    return skeleton_of(&b);
}

typedef struct occupied {
    const char *first, *second;  /* kernels: the one that fills the device, and the one that waits */
    int64_t begins;              /* us into the step: begin of the first, which lasts 1000 */
    int64_t early;               /* us before the end of the first the second starts, and 1 more each step */
    int64_t odd_step, odd_early; /* ... but in one step */
    bool copies;                 /* the second is a copy */
} occupied;

/* Steps of: a long kernel on stream 7, and one of 200 us on stream 20 that is launched at 60 us and then waits. */
static rs_skeleton *make_occupied(const occupied *o)
{
    builder b = builder_create();
    for (int step = 0; step < STEPS; step++) {
        char name[24];
        int64_t t = step * 2000 * US, c = step * 10 + 1, end = t + (o->begins + 1000) * US;
        int64_t early = step == o->odd_step ? o->odd_early : o->early + step;
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        add_row(&b, 'X', "user_annotation", name, MAIN, MAIN, t, 1990 * US);
        add_call(&b, "cudaLaunchKernel", MAIN, t + 5 * US, c);
        add_call(&b, "cudaLaunchKernel", MAIN, t + 50 * US, c + 1);
        add_kernel(&b, o->first, 0, 7, t + o->begins * US, 1000 * US, c);
        add_row(&b, 'X', o->copies ? "gpu_memcpy" : "kernel", o->second, 0, 20, end - early * US, 200 * US);
        add_arg(&b, RS_COL_STREAM, 20);
        add_arg(&b, RS_COL_CORRELATION, c + 1);
        add_row(&b, 'X', "cuda_runtime", "cudaDeviceSynchronize", MAIN, MAIN, t + 100 * US,
                (o->begins + 1000 + 200 + 5 - early - 100) * US);
    }
    return skeleton_of(&b);
}

static void launch(builder *b, const char *kernel, int64_t thread, int64_t at, int64_t gpu_at,
                   int64_t correlation)
{
    add_row(b, 'X', "cuda_runtime", "cudaLaunchKernel", MAIN, thread, at, 10 * US);
    add_arg(b, RS_COL_CORRELATION, correlation);
    add_kernel(b, kernel, 0, 7, gpu_at, 20 * US, correlation);
}

/* Steps of: an embedding, three equal layers of four kernels, their backward on a thread, such as autograd's, an optimizer. */
static rs_skeleton *make_trained_by(int64_t thread, bool waits)
{
    builder b = builder_create();
    int64_t t = 0, c = 1;
    for (int step = 0; step < STEPS; step++, t += 1000 * US) {
        char name[24];
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        add_row(&b, 'X', "user_annotation", name, MAIN, MAIN, t, 999 * US);
        static const char *const forward[] = {"norm", "gemm", "gelu", "drop"};
        launch(&b, "embed", MAIN, t + 2 * US, t + 4 * US, c++);
        for (int k = 0; k < 12; k++, c++)
            launch(&b, forward[k % 4], MAIN, t + (10 + 20 * k) * US, t + (25 + 25 * k) * US, c);
        add_row(&b, 'X', "cpu_op", "autograd::engine::evaluate_function: Gemm", MAIN, thread, t + 300 * US,
                350 * US);
        static const char *const backward[] = {"d_drop", "d_gelu", "d_gemm", "d_norm"};
        for (int k = 0; k < 12; k++, c++)
            launch(&b, backward[k % 4], thread, t + (310 + 20 * k) * US, t + (325 + 25 * k) * US, c);
        if (waits)
            add_row(&b, 'X', "cuda_runtime", "cudaDeviceSynchronize", MAIN, thread, t + 560 * US, 75 * US);
        add_row(&b, 'X', "user_annotation", "Optimizer.step#Adam.step", MAIN, MAIN, t + 660 * US, 100 * US);
        launch(&b, "adam", MAIN, t + 670 * US, t + 700 * US, c++);
        add_row(&b, 'X', "cuda_runtime", "cudaDeviceSynchronize", MAIN, MAIN, t + 900 * US, 20 * US);
    }
    rs_trace trace;
    rs_skeleton *s = NULL;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_trace_init(&trace, b.e, NULL, b.e->n);
    assert_int_equal(rs_skeleton_of(&trace, &policy, &s, NULL), RS_OK);
    assert_int_equal(rs_skeleton_place(s, &trace, NULL), RS_OK);
    rs_trace_clear(&trace);
    rs_events_free(b.e);
    return s;
}

static rs_skeleton *make_trained(void)
{
    return make_trained_by(2, false);
}

#define MOST_RANKS 6

typedef struct job {
    const rs_skeleton *ranks[MOST_RANKS];
    size_t n;
    rs_engine e;
    rs_weights w;
    rs_times t;
    rs_roles roles;
    int64_t rank_of[MOST_RANKS];
} job;

static void assert_same_replay(const rs_engine *e, const rs_weights *w, const rs_engine *lean,
                               const rs_weights *l)
{
    rs_times t, u;
    assert_int_equal(rs_engine_replay(e, w, &t, NULL), RS_OK);
    assert_int_equal(rs_engine_replay(lean, l, &u, NULL), RS_OK);
    /* nothing may be read before it is known */
    memset(u.own_start.since, 0x11, lean->n_nodes * sizeof *u.own_start.since);
    memset(u.met, 0x11, lean->n_members * sizeof *u.met);
    assert_null(u.end);
    assert_int_equal(rs_engine_replay_again(lean, l, &u, NULL), RS_OK);
    assert_null(u.start);
    for (uint32_t i = 0; i < e->n_nodes; i++) {
        assert_int_equal(t.start[i], rs_times_start(&u, i));
        assert_int_equal(t.end[i], rs_times_end(&u, i));
    }
    assert_null(u.cause);
    for (size_t r = 0; r < e->n_ranks; r++)
        for (uint32_t i = 0; i < e->ranks[r]->n; i++)
            assert_int_equal(rs_times_cause(&t, r, i), rs_times_cause(&u, r, i));
    assert_memory_equal(t.last, u.last, e->n_meetings * sizeof *t.last);
    for (uint32_t moment = 0; moment < 2 * e->n_nodes; moment++) {
        rs_link a = rs_engine_link(e, w, &t, moment), b = rs_engine_link(lean, l, &u, moment);
        assert_true(a.from == b.from && a.node == b.node && a.ns == b.ns && a.unexplained == b.unexplained &&
                    a.part == b.part && a.edge == b.edge);
    }
    rs_times_clear(&t);
    rs_times_clear(&u);
}

/* A lean engine tells the same as one that keeps its weights and an order. */
static void check_lean(const rs_skeleton *const *ranks, size_t n, const rs_engine *e)
{
    const rs_engine_how how = {.clocks = RS_CLOCKS_ENDS, .infer = true, .lean = true};
    rs_engine lean;
    assert_int_equal(rs_engine_join(ranks, n, &how, &lean, NULL), RS_OK);
    assert_int_equal(lean.n_dropped, e->n_dropped);
    for (int edges = RS_EDGES_TOLD; edges <= RS_EDGES_ALL; edges++)
        for (int fold = -2; fold < RS_SKELETON_FOLDS; fold++) { /* -2: as recorded */
            rs_weights w, l;
            if (fold == -2) {
                assert_int_equal(rs_weights_recorded(e, (rs_edges_used)edges, &w, NULL), RS_OK);
                assert_int_equal(rs_weights_recorded(&lean, (rs_edges_used)edges, &l, NULL), RS_OK);
            } else {
                assert_int_equal(rs_weights_constant(e, (rs_edges_used)edges, fold, &w, NULL), RS_OK);
                assert_int_equal(rs_weights_constant(&lean, (rs_edges_used)edges, fold, &l, NULL), RS_OK);
            }
            assert_null(l.work);
            assert_null(l.edge);
            assert_same_replay(e, &w, &lean, &l);
            /* work that was made a column, and changed: also beyond what 32 bits hold */
            assert_int_equal(rs_weights_spread_work(&lean, &l, NULL), RS_OK);
            for (size_t i = 0; i < e->n_nodes; i++) {
                assert_int_equal(rs_near_at(&l.own_work, i), w.work[i]);
                w.work[i] = w.work[i] / 2 + (i % 7 == 3 ? (int64_t)3000000 * US : 0);
                assert_true(rs_near_put(&l.own_work, i, w.work[i]));
            }
            assert_same_replay(e, &w, &lean, &l);
            rs_weights_clear(&w);
            rs_weights_clear(&l);
        }
    rs_engine_clear(&lean);
}

static void open_ranks(job *j)
{
    const rs_engine_how how = {.clocks = RS_CLOCKS_ENDS, .infer = true};
    assert_int_equal(rs_engine_join(j->ranks, j->n, &how, &j->e, NULL), RS_OK);
    assert_int_equal(rs_weights_recorded(&j->e, RS_EDGES_ALL, &j->w, NULL), RS_OK);
    assert_int_equal(rs_engine_replay(&j->e, &j->w, &j->t, NULL), RS_OK);
    assert_int_equal(rs_roles_find(j->ranks, j->n, &j->roles, NULL), RS_OK);
}

static void open_job(job *j, rs_skeleton *one, rs_skeleton *two)
{
    *j = (job){.ranks = {one, two}, .n = two ? 2 : 1, .rank_of = {10, 11}};
    open_ranks(j);
    check_lean(j->ranks, j->n, &j->e);
}

static void close_job(job *j)
{
    rs_roles_clear(&j->roles);
    rs_times_clear(&j->t);
    rs_weights_clear(&j->w);
    rs_engine_clear(&j->e);
    for (size_t i = 0; i < j->n; i++) rs_skeleton_free((void *)j->ranks[i]);
}

/* What questions changed is taken back to the last bit, and weights of another replay are those made for it. */
static void check_taken_back(const job *j, rs_weights *w)
{
    const rs_engine *e = &j->e;
    rs_weights_reset(w);
    assert_false(w->lost || w->n_extra || w->has_extra);
    assert_memory_equal(w->work, j->w.work, e->n_nodes * sizeof *w->work);
    assert_memory_equal(w->edge, j->w.edge, e->n_edges * sizeof *w->edge);
    assert_memory_equal(w->transfer, j->w.transfer, e->n_meetings * sizeof *w->transfer);
    for (int constant = 0; constant < 2; constant++) {
        rs_weights fresh;
        assert_int_equal((constant ? rs_weights_constant(e, RS_EDGES_TOLD, -1, &fresh, NULL)
                                   : rs_weights_recorded(e, RS_EDGES_TOLD, &fresh, NULL)),
                         RS_OK);
        rs_weights_refill(e, RS_EDGES_TOLD, constant, w);
        assert_memory_equal(w->work, fresh.work, e->n_nodes * sizeof *w->work);
        assert_memory_equal(w->edge, fresh.edge, e->n_edges * sizeof *w->edge);
        assert_memory_equal(w->transfer, fresh.transfer, e->n_meetings * sizeof *w->transfer);
        rs_weights_clear(&fresh);
    }
}

/* When the last step of a rank is over under a question, from the begin of its first; -1: nothing changed. */
static int64_t answer_to(job *j, const char *question, size_t rank)
{
    rs_what_if q;
    rs_weights w;
    rs_times t;
    int64_t ends[MOST_RANKS * STEPS];
    size_t n;
    assert_int_equal(rs_what_if_parse(question, &q, NULL), RS_OK);
    assert_int_equal(rs_weights_copy(&j->e, &j->w, &w, NULL), RS_OK);
    w.keeps = true;
    assert_int_equal(rs_what_if_apply(&q, &j->e, &j->roles, j->rank_of, &w, &n, NULL), RS_OK);
    assert_int_equal(rs_engine_replay(&j->e, &w, &t, NULL), RS_OK);
    rs_engine_step_ends(&j->e, &t, ends);
    int64_t last = ends[j->e.step_base[rank + 1] - 1] - rs_engine_begin(&j->e, &t, rank, NULL);
    check_taken_back(j, &w);
    rs_times_clear(&t);
    rs_weights_clear(&w);
    rs_what_if_clear(&q);
    return n ? last : -1;
}

/* The first piece of work of that name. */
static uint32_t work_of(const job *j, size_t rank, const char *name)
{
    const rs_skeleton *s = j->e.ranks[rank];
    for (uint32_t i = 0; i < s->n; i++)
        if (rs_skeleton_is_work(s, i) &&
            strcmp(rs_pool_text(&s->pool, rs_skeleton_at(s, i)->name), name) == 0)
            return j->e.node_base[rank] + i;
    fail_msg("no %s", name);
    return 0;
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static bool add_up(void *context, const rs_link *link, int64_t ns)
{
    (void)link;
    *(int64_t *)context += ns;
    return true;
}

static void test_identity(void **state)
{
    (void)state;
    job j;
    int64_t worst;
    open_job(&j, make_rank(200, "b"), make_rank(300, "b"));
    assert_int_equal(rs_engine_deviations(&j.e, &j.t, &worst), 0);
    assert_int_equal(j.ranks[0]->n_steps, STEPS);
    assert_int_equal(rs_engine_begin(&j.e, &j.t, 0, NULL), 0);
    for (int r = 0; r < 2; r++) assert_int_equal(j.ranks[r]->n_far + j.ranks[r]->n_longs, 0);
    close_job(&j);
}

/* Ranks that meet, and edges that are inferred: in open_job a lean engine has to tell the same. */
static void test_meetings(void **state)
{
    (void)state;
    job j;
    int64_t worst;
    open_job(&j, make_met(60, 0), make_met(0, 2));
    assert_int_equal(rs_engine_deviations(&j.e, &j.t, &worst), 0);
    assert_int_equal(j.e.n_meetings, STEPS);
    assert_int_equal(j.e.n_inferred, 2);
    for (size_t i = 0; i < 2; i++) { /* the all-reduce waits for a, and b for the all-reduce */
        const rs_inferred *k = &j.e.inferred[i];
        const bool first = k->source == work_of(&j, k->rank, "gemm_a");
        const uint32_t met = work_of(&j, k->rank, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
        assert_int_equal(first ? k->target : k->source, met);
        assert_true(first || k->target == work_of(&j, k->rank, "gemm_b"));
    }
    assert_int_equal(j.e.n_added, 2 * 2 * STEPS);
    assert_true(j.e.n_runs > STEPS); /* ranks wait for each other */
    close_job(&j);
}

/* Steps of two kernels on streams of their own, of which now this one, now that one ends last, 80 us after the other, and a third that starts then. */
static rs_skeleton *make_joined(void)
{
    builder b = builder_create();
    for (int step = 0; step < STEPS; step++) {
        char name[24];
        int64_t t = step * 1000 * US, c = step * 10 + 1;
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        add_row(&b, 'X', "user_annotation", name, MAIN, MAIN, t, 990 * US);
        for (int k = 0; k < 3; k++) add_call(&b, "cudaLaunchKernel", MAIN, t + (5 + 10 * k) * US, c + k);
        add_kernel(&b, "one", 0, 7, t + 50 * US, (step % 2 ? 100 : 180) * US, c);
        add_kernel(&b, "other", 0, 9, t + 50 * US, (step % 2 ? 180 : 100) * US, c + 1);
        add_kernel(&b, "joined", 0, 20, t + 231 * US, 50 * US, c + 2);
        add_row(&b, 'X', "cuda_runtime", "cudaDeviceSynchronize", MAIN, MAIN, t + 40 * US, 250 * US);
    }
    return skeleton_of(&b);
}

/* Of several that were inferred the one that ended last binds. */
static void test_last_of_inferred(void **state)
{
    (void)state;
    job j;
    size_t n = 0;
    open_job(&j, make_joined(), NULL);
    for (size_t i = 0; i < j.e.n_added; i++) {
        const char *name =
            rs_pool_text(&j.ranks[0]->pool, rs_skeleton_at(j.ranks[0], j.e.added[i].target)->name);
        if (strcmp(name, "joined") != 0) continue;
        assert_int_equal(j.e.added[i].binds, rs_skeleton_end(j.ranks[0], j.e.added[i].source) ==
                                                 rs_skeleton_time(j.ranks[0], j.e.added[i].target) - US);
        n++;
    }
    assert_int_equal(n, 2 * STEPS);
    close_job(&j);
}

enum { LAYERS = 4 };

/* Steps of four layers of which each is gathered on another stream. Two of them start when their gather is over. Of one the host is late: what it
 * launches starts at once; and the last starts later than anything explains. */
typedef struct gathered {
    int late;       /* that layer */
    int64_t device; /* of the layers */
    int64_t stream; /* of the gathers; that of the layers is 7 */
    bool graph;     /* a layer is launched with a kernel of 1 us, which follows it */
    bool
        early; /* in the last step the last gather starts before the layer that was launched before it is over */
    int64_t before; /* so many kernels come first, on stream 5 */
    const char *
        between; /* a kernel on stream 7 that is launched between the late layer's gather and the layer; NULL: none */
} gathered;

static builder gather(const gathered *g)
{
    builder b = builder_create();
    for (int step = 0; step < STEPS; step++) {
        char name[24];
        const int64_t begin = step * 10000 * US, t = begin + g->before * 6 * US;
        int64_t c = step * 1000 + 1, at = t;
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        add_row(&b, 'X', "user_annotation", name, MAIN, MAIN, begin, 9990 * US);
        for (int64_t k = 0; k < g->before; k++, c++) {
            add_call(&b, "cudaLaunchKernel", MAIN, begin + 5 * k * US, c);
            add_kernel(&b, "before", 0, 5, begin + (5 * k + 3) * US, US, c);
            add_arg(&b, RS_COL_DEVICE, 0);
        }
        for (int k = 0; k < LAYERS; k++) {
            const bool late = k == g->late, at_once = g->early && k == LAYERS - 1 && step == STEPS - 1;
            const int64_t gather = at + (at_once ? -5 : 20) * US,
                          wait = late              ? 100
                                 : k == LAYERS - 1 ? 90
                                                   : 61,
                          layer = at + (20 + wait) * US, call = gather - (k == LAYERS - 1 ? 10 : 4) * US;
            add_call(&b, "cudaLaunchKernel", MAIN, call, c);
            add_kernel(&b, "ncclDevKernel_AllGather_RING_LL", 0, g->stream, gather, 60 * US, c++);
            add_arg(&b, RS_COL_DEVICE, 0);
            if (late && g->between) {
                add_call(&b, "cudaLaunchKernel", MAIN, call + 70 * US, c);
                add_kernel(&b, g->between, 0, 7, call + 74 * US, 5 * US, c++);
                add_arg(&b, RS_COL_DEVICE, 0);
            }
            add_call(&b, g->graph ? "cudaGraphLaunch" : "cudaLaunchKernel", MAIN,
                     late ? layer - 5 * US : call + 3 * US, c);
            for (int more = 0; more <= g->graph; more++) {
                add_kernel(&b, more ? "more" : "layer", g->device, 7, layer + more * 41 * US,
                           (more ? 1 : 40) * US, c);
                add_arg(&b, RS_COL_DEVICE, g->device);
            }
            c++;
            at = layer + 42 * US;
        }
        add_row(&b, 'X', "cuda_runtime", "cudaDeviceSynchronize", MAIN, MAIN, at, 300 * US);
    }
    return b;
}

static rs_skeleton *make_gathered(const gathered *g)
{
    builder b = gather(g);
    return skeleton_of(&b);
}

/* Of a piece of work: which of those of its name in its step it is. */
static size_t place_of(const rs_skeleton *s, uint32_t node)
{
    size_t place = 0;
    for (uint32_t k = 1; k < s->n; k++)
        place += rs_skeleton_is_work(s, k) && rs_skeleton_at(s, k)->name == rs_skeleton_at(s, node)->name &&
                 rs_skeleton_step_of(s, k) == rs_skeleton_step_of(s, node) &&
                 rs_skeleton_time(s, k) < rs_skeleton_time(s, node);
    return place;
}

/* Waits that some places show hold at the places where the host is late, too; communication waits for what its thread launched before. What
 * a graph launches is in its own order. */
static void test_waits_by_calls(void **state)
{
    (void)state;
    static const gathered jobs[] = {
        {2, 0, 20, false, false, 0, NULL},      {2, 0, 20, false, true, 0, NULL},
        {0, 0, 3, false, false, 0, NULL},       {2, 0, 20, false, false, 600, NULL},
        {1, 0, 20, false, false, 0, "between"}, {2, 0, 20, true, false, 0, NULL}};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        const gathered *g = &jobs[i];
        job j;
        int64_t worst;
        size_t n_gathered[LAYERS] = {0}, n_before[LAYERS] = {0}, n = 0;
        open_job(&j, make_gathered(g), NULL);
        const rs_skeleton *s = j.ranks[0];
        assert_int_equal(rs_engine_deviations(&j.e, &j.t, &worst), 0);
        for (size_t k = 0; k < j.e.n_added; k++) {
            const rs_added_edge *a = &j.e.added[k];
            const bool gathers = rs_skeleton_at(s, a->source)->part == RS_PART_TRANSFER;
            const size_t source = place_of(s, a->source), target = place_of(s, a->target);
            if (gathers && source == target) n_gathered[source]++;
            if (!gathers && (source + 1 == target || g->before)) n_before[target]++;
            const bool shows = target != (size_t)g->late && target != LAYERS - 1;
            assert_int_equal(a->binds, gathers && source == target && shows);
        }
        for (size_t k = 0; k < LAYERS; k++) {
            const bool shows = k != (size_t)g->late && k != LAYERS - 1;
            assert_int_equal(n_gathered[k], g->graph && !shows ? 0 : STEPS);
            assert_int_equal(n_before[k],
                             (k || g->before) && !g->graph && !(g->early && k == LAYERS - 1) ? STEPS : 0);
            n += n_gathered[k] + n_before[k];
        }
        assert_int_equal(j.e.n_added, n);
        close_job(&j);
    }
}

/* A thread's current stream is one of the same device. */
static void test_no_waits_across_devices(void **state)
{
    (void)state;
    job j;
    open_job(&j, make_gathered(&(gathered){2, 1, 20, false, false, 0, NULL}), NULL);
    assert_int_equal(j.e.n_added, 0);
    close_job(&j);
}

/* A call that waits for so many streams that a byte does not tell which edge held it up. */
static void test_many_edges(void **state)
{
    (void)state;
    const int n = 320;
    builder b = builder_create();
    for (int k = 0; k < n; k++) {
        add_call(&b, "cudaLaunchKernel", MAIN, 20 * k * US, k + 1);
        add_kernel(&b, "k", 0, 7 + k, 8000 * US + (int64_t)((k * 37) % n) * US, 10 * US, k + 1);
    }
    add_row(&b, 'X', "cuda_runtime", "cudaDeviceSynchronize", MAIN, MAIN, 7500 * US, 900 * US);
    rs_trace trace;
    rs_skeleton *s = NULL;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_trace_init(&trace, b.e, NULL, b.e->n);
    assert_int_equal(rs_skeleton_of(&trace, &policy, &s, NULL), RS_OK);
    uint32_t most = 0;
    for (size_t i = 0; i < s->n; i++)
        if (rs_skeleton_first(s, i + 1) - rs_skeleton_first(s, i) > most)
            most = rs_skeleton_first(s, i + 1) - rs_skeleton_first(s, i);
    assert_true(most > 255);
    rs_trace_clear(&trace);
    rs_events_free(b.e);
    job j;
    open_job(&j, s, NULL);
    /* each source over last in turn, so that far edges are causes, too */
    const rs_engine_how how = {.clocks = RS_CLOCKS_ENDS, .infer = true, .lean = true};
    const rs_skeleton *ranks[1] = {s};
    rs_engine lean;
    rs_weights w;
    rs_times t;
    uint32_t wide = 0;
    size_t n_far = 0;
    while (rs_skeleton_first(s, wide + 1) - rs_skeleton_first(s, wide) < most) wide++;
    assert_int_equal(rs_engine_join(ranks, 1, &how, &lean, NULL), RS_OK);
    assert_int_equal(rs_weights_recorded(&lean, RS_EDGES_ALL, &w, NULL), RS_OK);
    assert_int_equal(rs_weights_spread_work(&lean, &w, NULL), RS_OK);
    for (uint32_t k = rs_skeleton_first(s, wide), k_end = rs_skeleton_first(s, wide + 1); k < k_end; k++) {
        uint32_t source = rs_edge_source(s, k) >> 1;
        int64_t was = j.w.work[source];
        j.w.work[source] = 100000 * US;
        assert_true(rs_near_put(&w.own_work, source, 100000 * US));
        assert_same_replay(&j.e, &j.w, &lean, &w);
        assert_int_equal(rs_engine_replay(&lean, &w, &t, NULL), RS_OK);
        n_far += rs_times_cause(&t, 0, wide) > rs_skeleton_first(s, wide) + 255;
        rs_times_clear(&t);
        j.w.work[source] = was;
        assert_true(rs_near_put(&w.own_work, source, was));
    }
    assert_true(n_far > 0);
    rs_weights_clear(&w);
    rs_engine_clear(&lean);
    close_job(&j);
}

/* Times that lie too far from each other for 32 bits, before and behind, with more nodes than a block has. */
static void test_far_times(void **state)
{
    (void)state;
    builder b = builder_create();
    int64_t worst;
    for (int k = 0; k < 1500; k++) {
        int64_t t = k * 100 * US + (k > 700 ? 7000000 : 0) * (int64_t)US;
        add_call(&b, "cudaLaunchKernel", MAIN, t, k + 1);
        add_kernel(&b, "k", 0, 7, t + (k == 300 ? 5000000 * (int64_t)US : 20 * US), 10 * US, k + 1);
    }
    rs_trace trace;
    rs_skeleton *s = NULL;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_trace_init(&trace, b.e, NULL, b.e->n);
    assert_int_equal(rs_skeleton_of(&trace, &policy, &s, NULL), RS_OK);
    assert_true(s->n > 2 << RS_SKELETON_BLOCK);
    assert_true(s->n_far > 0);
    for (size_t i = 1; i < s->n; i++) { /* of what is no call's end */
        if (rs_skeleton_is_work(s, i))
            assert_int_equal(rs_skeleton_time(s, i), b.e->start[rs_skeleton_row(s, i)]);
    }
    rs_trace_clear(&trace);
    rs_events_free(b.e);
    job j;
    open_job(&j, s, NULL);
    assert_int_equal(rs_engine_deviations(&j.e, &j.t, &worst), 0);
    close_job(&j);
}

static void check_no_room(const occupied *o)
{
    job j;
    open_job(&j, make_occupied(o), NULL);
    assert_int_equal(j.e.n_inferred, 0);
    assert_int_equal(j.e.n_added + j.e.n_leads, 0);
    close_job(&j);
}

/* A kernel that waits until another leaves room on the device starts before the other's end. */
static void test_room_on_the_device(void **state)
{
    (void)state;
    const occupied fits = {"fills", "waits", 20, 10, -1, 0, false};
    job j;
    int64_t worst;
    size_t n_occupied = 0;
    rs_weights w;
    rs_times t;
    open_job(&j, make_occupied(&fits), NULL);
    assert_int_equal(rs_engine_deviations(&j.e, &j.t, &worst), 0);
    assert_int_equal(j.e.n_inferred, 1);
    assert_int_equal(j.e.n_added, STEPS);
    assert_int_equal(j.e.n_leads, 1);
    assert_int_equal(j.e.inferred[0].n_tight, STEPS);
    assert_int_equal(j.e.inferred[0].n, STEPS);
    assert_int_equal(j.e.inferred[0].source, work_of(&j, 0, "fills"));
    assert_int_equal(j.e.inferred[0].target, work_of(&j, 0, "waits"));
    /* 10, 11, 12, 13 us; without the first (fold 0) 11, 12, 13 */
    assert_int_equal(j.e.leads[0].longest, 13 * US);
    assert_int_equal(j.e.leads[0].typical, 12 * US);
    assert_int_equal(j.e.leads[0].without[0], 12 * US);
    assert_int_equal(j.e.leads[0].without[3], 11 * US);
    /* the time is the first kernel's, and the path goes on at its start */
    rs_forest f = {&j.e, &j.w, &j.t};
    for (uint32_t i = 0; i < j.e.n_nodes; i++) {
        const char *name = rs_pool_text(&j.ranks[0]->pool, rs_skeleton_at(j.ranks[0], i)->name);
        rs_link l = rs_engine_link(&j.e, &j.w, &j.t, i << 1);
        if (rs_forest_tie(&f, &l) != RS_TIE_OCCUPIED) continue;
        n_occupied++;
        assert_string_equal(name, "waits");
        assert_string_equal(rs_pool_text(&j.ranks[0]->pool, rs_skeleton_at(j.ranks[0], l.node)->name),
                            "fills");
        assert_int_equal(l.from, l.node << 1);
        assert_int_equal(l.part, RS_PART_COMPUTE);
        assert_int_equal(l.ns, j.t.start[i] - j.t.start[l.node]);
        assert_int_equal(l.unexplained, 0);
        uint64_t steps = 0;
        int64_t sum = 0, since = j.t.start[l.node] - 5 * US;
        assert_true(rs_forest_chain(&f, i << 1 | 1, since, add_up, &sum, &steps));
        assert_int_equal(sum, j.t.end[i] - since);
    }
    assert_int_equal(n_occupied, STEPS);
    /* the last step ends 5 us behind the second kernel, at 20 + 1000 - 13 + 200 + 5, and 785 later with its annotation */
    int64_t whole = STEPS * 2000 * US - 10 * US;
    assert_int_equal(answer_to(&j, "scale name=fills=0.5", 0), whole - STEPS * 500 * US);
    /* with what is usual it waits, too: 12 us before the end */
    assert_int_equal(rs_weights_constant(&j.e, RS_EDGES_ALL, -1, &w, NULL), RS_OK);
    assert_int_equal(rs_engine_replay(&j.e, &w, &t, NULL), RS_OK);
    for (size_t i = 0; i < j.e.n_added; i++)
        assert_int_equal(t.end[j.e.added[i].source] - t.start[j.e.added[i].target], 12 * US);
    /* what is over sooner than it leaves room still has to start: here 500 us later */
    for (size_t i = 0; i < j.e.n_added; i++) {
        uint32_t source = j.e.added[i].source;
        w.work[source] = 1;
        for (uint32_t k = rs_skeleton_first(j.ranks[0], source);
             k < rs_skeleton_first(j.ranks[0], source + 1); k++)
            w.edge[k] += 500 * US;
    }
    assert_int_equal(rs_engine_replay_again(&j.e, &w, &t, NULL), RS_OK);
    for (size_t i = 0; i < j.e.n_added; i++)
        assert_true(t.start[j.e.added[i].target] >= t.start[j.e.added[i].source]);
    rs_times_clear(&t);
    rs_weights_clear(&w);
    close_job(&j);

    occupied o = fits;
    o.odd_step = 3;
    o.odd_early = -1; /* once it starts when the first is over: no lead, of 10, 11 and 12 us else */
    open_job(&j, make_occupied(&o), NULL);
    assert_int_equal(rs_engine_deviations(&j.e, &j.t, &worst), 0);
    assert_int_equal(j.e.n_leads, 1);
    assert_int_equal(j.e.leads[0].longest, 12 * US);
    assert_int_equal(j.e.leads[0].typical, 11 * US);
    assert_int_equal(j.e.leads[0].without[0], 12 * US);
    assert_int_equal(j.e.leads[0].without[2], 11 * US);
    close_job(&j);
    o = fits;
    o.odd_step = 2;
    o.odd_early = 400; /* it started in the midst of the first once: that leaves room */
    check_no_room(&o);
    o = fits;
    o.early = 100; /* no tail of 1000 us */
    check_no_room(&o);
    o = fits;
    o.begins = 70; /* the second waited before the first was there */
    check_no_room(&o);
    o = fits;
    o.first = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"; /* takes few multiprocessors */
    check_no_room(&o);
    o = fits;
    o.copies = true; /* needs none */
    check_no_room(&o);
}

/* The step lasts 60 (loader and host) + 21 + a + 100 + 10 us. */
static void test_questions(void **state)
{
    (void)state;
    job j;
    open_job(&j, make_rank(200, "b"), make_rank(300, "b"));
    int64_t whole = STEPS * 391 * US - US;
    assert_int_equal(answer_to(&j, "scale name=nothing=0.5", 0), -1);
    assert_int_equal(answer_to(&j, "scale name~gemm=0.5", 0), whole - STEPS * 100 * US);
    assert_int_equal(answer_to(&j, "scale name~gemm&rank=11=0.5", 0), whole);
    assert_int_equal(answer_to(&j, "scale name~gemm&step=2=0.5", 0), whole - 100 * US);
    assert_int_equal(answer_to(&j, "scale name~gemm&step>=2=0.5", 0), whole - 200 * US);
    assert_int_equal(answer_to(&j, "scale name~gemm=20us", 0), whole - STEPS * 180 * US);
    /* without a, b is held up by its own launch, which ends 9.01 us behind a's start */
    assert_int_equal(answer_to(&j, "scale name~gemm=none;scale name=b=2", 0), whole - STEPS * 90990);
    assert_int_equal(answer_to(&j, "scale name~gemm=median", 1), whole + STEPS * 50 * US);
    assert_int_equal(answer_to(&j, "no-stragglers", 1), whole); /* the faster of two */
    assert_int_equal(answer_to(&j, "balanced", 0), whole + STEPS * 50 * US);
    assert_int_equal(answer_to(&j, "no-loader", 0), whole - STEPS * 50 * US);
    assert_int_equal(answer_to(&j, "fuse gemm_a+b", 0), whole - STEPS * US);
    assert_int_equal(answer_to(&j, "network*2", 0), -1); /* nobody meets */
    close_job(&j);
}

/* What gemm_a takes by a reference: the lower one of the two middle ranks, the mean, and the middle of the three others;
 * however many steps each rank shows. */
static void test_four_ranks(void **state)
{
    (void)state;
    static const int64_t others[] = {400, 400, 300, 300};
    for (int steps = 1; steps < 4; steps++) {
        job j = {.n = 4, .rank_of = {10, 11, 12, 13}};
        rs_reference found;
        int seen = 0;
        for (int r = 0; r < 4; r++) j.ranks[r] = make_steps(200 + 100 * r, "b", steps);
        open_ranks(&j);
        assert_int_equal(rs_reference_find(&j.e, &j.w, true, &found, NULL), RS_OK);
        assert_int_equal(found.n_roles, 1);
        for (size_t r = 0; r < 4; r++)
            for (uint32_t i = 1; i < j.ranks[r]->n; i++) {
                const char *name = rs_pool_text(&j.ranks[r]->pool, rs_skeleton_at(j.ranks[r], i)->name);
                size_t node = j.e.node_base[r] + i;
                if (!name || strcmp(name, "gemm_a") != 0) continue;
                assert_int_equal(found.repair.work[node], 300 * US);
                assert_int_equal(found.balance.work[node], 350 * US);
                assert_int_equal(found.peers.work[node], others[r] * US);
                seen++;
            }
        assert_int_equal(seen, 4 * steps);
        rs_reference_clear(&found);
        close_job(&j);
    }
}

static void test_selectors(void **state)
{
    (void)state;
    job j;
    open_job(&j, make_rank(200, "b"), make_rank(300, "b"));
    int64_t whole = STEPS * 391 * US - US, half = whole - STEPS * 100 * US;
    assert_int_equal(answer_to(&j, "scale name~gemm&rank=9-10=0.5", 0), half);
    assert_int_equal(answer_to(&j, "scale name~gemm&rank=3|10|12=0.5", 0), half);
    assert_int_equal(answer_to(&j, "scale name~gemm&rank=11|12=0.5", 0), whole);
    assert_int_equal(answer_to(&j, "scale name~gemm&rank!=11-20=0.5", 0), half);
    assert_int_equal(answer_to(&j, "scale name~gemm&rank!=8-10=0.5", 0), whole);
    /* how long it takes: a is 200 us on one rank and 300 on the other */
    assert_int_equal(answer_to(&j, "scale name~gemm&us>199=0.5", 0), half);
    assert_int_equal(answer_to(&j, "scale name~gemm&us>200=0.5", 0), whole);
    assert_int_equal(answer_to(&j, "scale name~gemm&us>=200=0.5", 0), half);
    assert_int_equal(answer_to(&j, "scale name~gemm&us<=200=0.5", 0), half);
    assert_int_equal(answer_to(&j, "scale name~gemm&us<200=0.5", 0), -1);
    assert_int_equal(answer_to(&j, "scale name~gemm&us>300=0.5", 0), -1);
    /* behind a wait: 5 us to the step's end, 5 to the loader, 5 to the operator, 5 to its call; not in step 0 */
    assert_int_equal(answer_to(&j, "scale part=host&behind=cudaDeviceSynchronize=none", 0),
                     whole - (STEPS - 1) * 20 * US);
    assert_int_equal(answer_to(&j, "scale part=host&behind~Device&step=2=none", 0), whole - 20 * US);
    assert_int_equal(answer_to(&j, "scale part=host&behind=cudaStreamSynchronize=none", 0), -1);
    /* the launching calls, of 9.01 us each, are host time, too */
    assert_int_equal(answer_to(&j, "scale part=host&us>1000=none", 0), -1);
    /* that ends with the first launch: of the launching calls only the first of each step but one is behind */
    rs_editor x = {.e = &j.e, .roles = &j.roles, .rank_of = j.rank_of, .w = &j.w};
    int behind = 0;
    assert_int_equal(rs_edit_find_behind(&x, NULL), RS_OK);
    for (uint32_t i = 1; i < j.ranks[0]->n; i++) {
        const char *name = rs_pool_text(&j.ranks[0]->pool, rs_skeleton_at(j.ranks[0], i)->name);
        behind += name && strcmp(name, "cudaLaunchKernel") == 0 && x.behind[i] != RS_NO_STRING;
    }
    assert_int_equal(behind, STEPS - 1);
    rs_free(x.behind);
    rs_what_if q;
    assert_int_equal(rs_what_if_parse("scale step=1=0.5; scale rank=1&step=2=0.5", &q, NULL), RS_OK);
    assert_true(rs_what_if_is_of_steps(&q));
    rs_what_if_clear(&q);
    assert_int_equal(rs_what_if_parse("scale step=1=0.5; no-loader", &q, NULL), RS_OK);
    assert_false(rs_what_if_is_of_steps(&q));
    rs_what_if_clear(&q);
    assert_int_equal(rs_what_if_parse("scale step>=1=0.5", &q, NULL), RS_OK);
    assert_false(rs_what_if_is_of_steps(&q));
    rs_what_if_clear(&q);
    close_job(&j);
}

static void test_wrong_questions(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        ";",
                                        "straggler",
                                        "network",
                                        "network*0",
                                        "network*x",
                                        "no-loader now",
                                        "no-sync",
                                        "fuse a",
                                        "fuse a+",
                                        "coalesce x:",
                                        "coalesce x:-1",
                                        "scale",
                                        "scale =0.5",
                                        "scale name~a",
                                        "scale name~a=",
                                        "scale name~a=-1",
                                        "scale name~a=5 parsecs",
                                        "scale nam~a=1",
                                        "scale rank~1=1",
                                        "scale rank=x=1",
                                        "scale rank=1-=1",
                                        "scale rank=3|=1",
                                        "scale rank<3-4=1",
                                        "scale us~3=1",
                                        "scale us=much=1",
                                        "scale behind<x=1",
                                        "scale name<a=1",
                                        "scale class=kernel=1",
                                        "scale part=window=1",
                                        "scale part!=host=1",
                                        "no-stragglers:x",
                                        "no-stragglers:-1",
                                        "no-loader:x",
                                        "balanced now",
                                        "graphs:1",
                                        "micro-batches",
                                        "micro-batches:2",
                                        "micro-batches*1",
                                        "micro-batches*1001",
                                        "payload @4x2:2",
                                        "payload x*0",
                                        "group-size @4x2/other:2",
                                        "group-size x:0",
                                        "group-size x:1000001",
                                        "experts x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rs_what_if q;
        rs_error err = RS_ERROR_INIT;
        if (rs_what_if_parse(wrong[i], &q, &err) != RS_ERR_USAGE) fail_msg("%s", wrong[i]);
        assert_true(err.causes[0].message[0] != '\0');
        rs_what_if_clear(&q);
    }
}

/* Every rank as it travels gives the same; every damaged one is refused or gives something, never a crash. */
static void damage(rs_skeleton *s, int turns)
{
    rs_wire_writer w = {0};
    rs_layout_pack(&rs_skeleton_layout, s, &w);
    assert_false(w.out_of_memory);
    uint64_t random = 7;
    size_t used = 0;
    for (int turn = 0; turn < turns; turn++) {
        rs_arena arena = {0};
        uint8_t *bytes = rs_malloc(w.n);
        memcpy(bytes, w.bytes, w.n);
        for (int k = 0; turn && k < 1 + turn % 3; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            bytes[(random >> 33) % w.n] = (uint8_t)(random >> 17);
        }
        rs_wire_reader r = {.p = bytes, .end = bytes + w.n, .arena = &arena};
        const rs_skeleton *copy = rs_layout_unpack(&rs_skeleton_layout, &r);
        if (!turn) assert_non_null(copy);
        if (copy && !r.bad) {
            rs_engine e;
            rs_weights weights;
            rs_times t;
            int64_t worst;
            const rs_engine_how how = {.clocks = RS_CLOCKS_ENDS, .infer = true};
            assert_int_equal(rs_engine_join(&copy, 1, &how, &e, NULL), RS_OK);
            assert_int_equal(rs_weights_recorded(&e, RS_EDGES_ALL, &weights, NULL), RS_OK);
            assert_int_equal(rs_engine_replay(&e, &weights, &t, NULL), RS_OK);
            if (!turn) assert_int_equal(rs_engine_deviations(&e, &t, &worst), 0);
            if (turn % 8 == 0) check_lean(&copy, 1, &e);
            rs_times_clear(&t);
            rs_weights_clear(&weights);
            rs_engine_clear(&e);
            used++;
        }
        rs_arena_clear(&arena);
        rs_free(bytes);
    }
    assert_true(used > (size_t)turns / 30);
    rs_wire_clear(&w);
    rs_skeleton_free(s);
}

static void test_travels(void **state)
{
    (void)state;
    damage(make_trained(), 3000);
}

/* Durations that 32 bits do not hold. */
static void test_long_work(void **state)
{
    (void)state;
    job j;
    open_job(&j, make_rank(6000000, "b"), make_rank(7000000, "b")); /* 6 and 7 s */
    for (int r = 0; r < 2; r++) {
        const rs_skeleton *s = j.ranks[r];
        size_t n = 0;
        assert_int_equal(s->n_longs, STEPS);
        for (uint32_t i = 0; i < s->n; i++) {
            bool is_long = s->duration[i] == RS_SKELETON_LONG;
            n += is_long;
            if (is_long) assert_int_equal(rs_skeleton_duration(s, i), (6 + r) * 1000000 * (int64_t)US);
            if (!is_long) assert_int_equal(rs_skeleton_duration(s, i), s->duration[i]);
            assert_int_equal(j.t.end[j.e.node_base[r] + i] - j.t.start[j.e.node_base[r] + i],
                             rs_skeleton_duration(s, i));
        }
        assert_int_equal(n, STEPS);
    }
    close_job(&j);
    damage(make_rank(6000000, "b"), 600);
}

/* Work whose launching call is not in the trace, on a stream of its own, behind an idle device. */
static void test_pinned(void **state)
{
    (void)state;
    builder b = builder_create();
    add_call(&b, "cudaLaunchKernel", MAIN, 0, 1);
    add_kernel(&b, "lost", 0, 9, 30 * US, 10 * US, 2);
    add_kernel(&b, "known", 0, 7, 50 * US, 10 * US, 1);
    rs_trace trace;
    rs_skeleton *s = NULL;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_trace_init(&trace, b.e, NULL, b.e->n);
    assert_int_equal(rs_skeleton_of(&trace, &policy, &s, NULL), RS_OK);
    size_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const rs_skeleton_label *l = rs_skeleton_at(s, i);
        const char *name = rs_pool_text(&s->pool, l->name);
        bool pinned = l->flags & RS_NODE_PINNED;
        if (rs_skeleton_is_work(s, i)) assert_int_equal(pinned, strcmp(name, "lost") == 0);
        n += rs_skeleton_is_work(s, i);
    }
    assert_int_equal(n, 2);
    rs_skeleton_free(s);
    rs_trace_clear(&trace);
    rs_events_free(b.e);
}

static void test_paths_add_up(void **state)
{
    (void)state;
    job j;
    open_job(&j, make_rank(200, "b"), make_rank(300, "b"));
    rs_forest f = {&j.e, &j.w, &j.t};
    uint64_t steps = 0;
    for (uint32_t a = 0; a < 2 * j.e.n_nodes; a += 3)
        for (uint32_t b = 0; b < 2 * j.e.n_nodes; b += 5) {
            int64_t sum = 0, distance = rs_moment_time(&j.t, a) - rs_moment_time(&j.t, b);
            assert_true(rs_forest_difference(&f, a, b, add_up, &sum, &steps));
            assert_int_equal(sum, distance);
            sum = 0;
            assert_true(rs_forest_chain(&f, a, rs_moment_time(&j.t, b), add_up, &sum, &steps));
            assert_int_equal(sum, distance > 0 ? distance : 0);
        }
    close_job(&j);
}

static void test_waits(void **state)
{
    (void)state;
    job j;
    rs_wait *waits;
    size_t n;
    open_job(&j, make_rank(200, "b"), NULL);
    rs_forest f = {&j.e, &j.w, &j.t};
    assert_int_equal(rs_waits_find(&f, RS_WAIT_COMMUNICATION, 0, &waits, &n, NULL), RS_OK);
    assert_int_equal(n, 0);
    rs_free(waits);
    /* between a and b 1 us; from b's end 10 us to the next step, 60 to its operator, 20 to a */
    assert_int_equal(rs_waits_find(&f, RS_WAIT_IDLE, 0, &waits, &n, NULL), RS_OK);
    assert_int_equal(n, 2 * STEPS - 1);
    for (size_t i = 0; i < n; i++) assert_int_equal(waits[i].ns, i % 2 ? 90 * US : US);
    rs_free(waits);
    /* the call is made at 50 us and waits until b has ended, 321 us behind the operator's start */
    assert_int_equal(rs_waits_find(&f, RS_WAIT_HOST, 0, &waits, &n, NULL), RS_OK);
    assert_int_equal(n, STEPS);
    for (size_t i = 0; i < n; i++) assert_int_equal(waits[i].ns, 271 * US);
    rs_free(waits);
    close_job(&j);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    rs_skeleton *s = make_rank(200, "b");
    const occupied fits = {"fills", "waits", 20, 10, -1, 0, false};
    rs_skeleton *o = make_occupied(&fits);
    rs_skeleton *g = make_gathered(&(gathered){.late = 2, .stream = 20});
    const rs_skeleton *ranks[] = {s, o, g};
    const rs_engine_how how = {.clocks = RS_CLOCKS_ENDS, .infer = true};
    const rs_engine_how lean = {.clocks = RS_CLOCKS_ENDS, .infer = true, .lean = true};
    for (uint64_t k = 1;; k++) {
        rs_engine e = {0};
        rs_weights w = {0};
        rs_times t = {0};
        rs_test_fail_allocation(k);
        rs_status status = rs_engine_join(ranks, 3, &lean, &e, NULL);
        if (status == RS_OK) status = rs_weights_recorded(&e, RS_EDGES_ALL, &w, NULL);
        if (status == RS_OK) status = rs_weights_spread_work(&e, &w, NULL);
        if (status == RS_OK) status = rs_engine_replay(&e, &w, &t, NULL);
        rs_test_fail_allocation(0);
        rs_times_clear(&t);
        rs_weights_clear(&w);
        rs_engine_clear(&e);
        if (status == RS_OK) break;
        assert_int_equal(status, RS_ERR_NOMEM);
    }
    for (uint64_t k = 1;; k++) {
        rs_engine e = {0};
        rs_weights w = {0};
        rs_times t = {0};
        rs_roles roles = {0};
        rs_what_if q = {0};
        const int64_t rank_of[] = {0, 1, 2};
        size_t n;
        rs_test_fail_allocation(k);
        rs_status status = rs_engine_join(ranks, 3, &how, &e, NULL);
        if (status == RS_OK) status = rs_weights_recorded(&e, RS_EDGES_ALL, &w, NULL);
        if (status == RS_OK) status = rs_roles_find(ranks, 3, &roles, NULL);
        if (status == RS_OK)
            status =
                rs_what_if_parse("scale name~gemm=median;no-stragglers;balanced;network*2;overlap;graphs;"
                                 "no-loader;no-sync Device;fuse gemm+b;coalesce x:100;"
                                 "scale part=host&behind~Sync&rank=0-3|5&us<9=none",
                                 &q, NULL);
        w.keeps = true;
        if (status == RS_OK) status = rs_what_if_apply(&q, &e, &roles, rank_of, &w, &n, NULL);
        if (status == RS_OK) status = rs_engine_replay(&e, &w, &t, NULL);
        rs_test_fail_allocation(0);
        rs_times_clear(&t);
        rs_weights_clear(&w);
        rs_roles_clear(&roles);
        rs_what_if_clear(&q);
        rs_engine_clear(&e);
        if (status == RS_OK) break;
        assert_int_equal(status, RS_ERR_NOMEM);
    }
    rs_skeleton_free(s);
    rs_skeleton_free(o);
    rs_skeleton_free(g);
}

/* Of work by its name; of a launching call, and of the time before it, what it launches. */
static void test_places(void **state)
{
    (void)state;
    rs_skeleton *s = make_trained();
    size_t n[RS_N_PHASES] = {0}, points[RS_N_PHASES] = {0}, n_synced = 0;
    assert_int_equal(s->n_placed, s->n);
    for (size_t i = 1; i < s->n; i++) {
        const char *name = rs_pool_text(&s->pool, rs_skeleton_at(s, i)->name);
        if (!rs_skeleton_is_work(s, i)) {
            points[s->phase[i]]++;
            if (strcmp(name, "cudaDeviceSynchronize") == 0) { /* behind it the step launches nothing */
                n_synced++;
                assert_int_equal(s->phase[i], RS_PHASE_UNKNOWN);
            }
            bool late = rs_skeleton_time(s, i) % (1000 * US) >= 600 * US,
                 autograd = s->lanes[rs_skeleton_at(s, i)->lane].tid == 2;
            if (strcmp(name, "cudaLaunchKernel") == 0)
                assert_int_equal(s->phase[i], autograd ? RS_PHASE_BACKWARD
                                              : late   ? RS_PHASE_OPTIMIZER
                                                       : RS_PHASE_FORWARD);
            continue;
        }
        n[s->phase[i]]++;
        rs_phase want = name[1] == '_'              ? RS_PHASE_BACKWARD
                        : strcmp(name, "adam") == 0 ? RS_PHASE_OPTIMIZER
                                                    : RS_PHASE_FORWARD;
        assert_int_equal(s->phase[i], want);
        int64_t at = rs_skeleton_time(s, i) % (1000 * US);
        if (want == RS_PHASE_FORWARD && strcmp(name, "embed") != 0)
            assert_int_equal(s->layer[i], (at / US - 25) / 100);
        if (want == RS_PHASE_OPTIMIZER) assert_int_equal(s->layer[i], RS_SKELETON_NO_LAYER);
    }
    assert_int_equal(n[RS_PHASE_FORWARD], 13 * STEPS);
    assert_int_equal(n[RS_PHASE_BACKWARD], 12 * STEPS);
    assert_int_equal(n[RS_PHASE_OPTIMIZER], STEPS);
    assert_true(n_synced >= STEPS);
    assert_true(points[RS_PHASE_FORWARD] >= 12 * STEPS && points[RS_PHASE_BACKWARD] >= 12 * STEPS);
    rs_skeleton_free(s);
}

/* What a step launches, in order. A send has the phase of what was computed before it, a receive of what is computed after it, also where
 * several follow each other; other communication has the phase of its thread. */
static void test_phases_of_transfers(void **state)
{
    (void)state;
    enum { NONE, SEND, RECEIVE, REDUCE };
    static const struct {
        uint8_t transfer, phase;
        int64_t thread;
    } work[] = {{NONE, RS_PHASE_FORWARD, MAIN},     {SEND, RS_PHASE_FORWARD, MAIN},
                {RECEIVE, RS_PHASE_BACKWARD, MAIN}, {RECEIVE, RS_PHASE_BACKWARD, MAIN},
                {NONE, RS_PHASE_BACKWARD, 2},       {SEND, RS_PHASE_BACKWARD, MAIN},
                {REDUCE, RS_PHASE_FORWARD, MAIN},   {NONE, RS_PHASE_BACKWARD, 2}};
    static const char *const collectives[] = {NULL, "send", "recv", "allreduce"};
    enum { N = sizeof work / sizeof *work };
    builder b = builder_create();
    uint32_t row[2 * N];
    for (int64_t step = 0; step < 2; step++) {
        char name[24];
        const int64_t t = step * 1000 * US;
        snprintf(name, sizeof name, "ProfilerStep#%d", (int)step);
        add_row(&b, 'X', "user_annotation", name, MAIN, MAIN, t, 990 * US);
        add_row(&b, 'X', "cpu_op", "autograd::engine::evaluate_function: Gemm", MAIN, 2, t + 100 * US,
                500 * US);
        for (int64_t k = 0; k < N; k++) {
            const int64_t c = 1 + k + step * 20, at = t + (k < 2 ? 20 * k : 120 + 20 * k) * US;
            const char *collective = collectives[work[k].transfer];
            add_row(&b, 'X', "cuda_runtime", "cudaLaunchKernel", MAIN, work[k].thread, at + US, 5 * US);
            add_arg(&b, RS_COL_CORRELATION, c);
            row[step * N + k] =
                add_kernel(&b, collective ? "ncclDevKernel_SendRecv" : "gemm", 0, 7, at + 10 * US, 8 * US, c);
            if (collective) add_text(&b, RS_COL_COLLECTIVE, collective);
        }
    }
    rs_trace trace;
    const rs_structure *structure;
    rs_trace_init(&trace, b.e, NULL, b.e->n);
    assert_int_equal(rs_trace_structure(&trace, RS_FROM_AUTO, &structure, NULL), RS_OK);
    for (size_t i = 0; i < 2 * N; i++)
        assert_int_equal(structure->phase[rs_structure_at(structure, row[i])], work[i % N].phase);
    rs_trace_clear(&trace);
    rs_events_free(b.e);
}

/* Every moment is tied to the one before it, and each kind of tie is where it was made. */
static void test_ties(void **state)
{
    (void)state;
    job j;
    size_t n[RS_N_TIES] = {0};
    open_job(&j, make_rank(200, "b"), NULL);
    rs_forest f = {&j.e, &j.w, &j.t};
    for (uint32_t m = 0; m < 2 * j.e.n_nodes; m++) {
        rs_link l = rs_engine_link(&j.e, &j.w, &j.t, m);
        n[rs_forest_tie(&f, &l)]++;
    }
    const rs_skeleton *s = j.ranks[0];
    size_t works = 0;
    for (size_t i = 0; i < s->n; i++) works += rs_skeleton_is_work(s, i);
    assert_int_equal(works, 2 * STEPS);
    assert_int_equal(n[RS_TIE_WORK], works);
    assert_int_equal(n[RS_TIE_LAUNCH], STEPS); /* a, by its launch; b, by a */
    assert_int_equal(n[RS_TIE_STREAM], STEPS);
    assert_true(n[RS_TIE_SYNC] >= STEPS);
    assert_true(n[RS_TIE_THREAD] > 0);
    assert_int_equal(n[RS_TIE_MEETING] + n[RS_TIE_HANDOVER] + n[RS_TIE_QUESTION], 0);
    close_job(&j);
}

/* Before and after changed about: the same draws with the other sign, so the interval's ends change places. */
static void test_spread(void **state)
{
    (void)state;
    int64_t a[10], b[10];
    for (int64_t i = 0; i < 10; i++) {
        a[i] = 1000 + 37 * i * i;
        b[i] = 900 + 11 * i * i * i;
    }
    rs_lengths before = {a, 10}, after = {b, 10};
    double low, high, turned_low, turned_high;
    rs_lengths_spread(&before, &after, &low, &high);
    rs_lengths_spread(&after, &before, &turned_low, &turned_high);
    assert_true(low < high && low == -turned_high && high == -turned_low);
    before.n = after.n = 2; /* too few to draw from: the differences themselves, 100 and 126 */
    rs_lengths_spread(&before, &after, &low, &high);
    assert_true(low == 100 && high == 126);
}

/* The interval of a mean: of steps that gain as much that gain itself; twice as wide of times twice as long; moved by
 * what all gain more; and of steps that vary by chance as wide as 1.96 standard errors either way, a third more or
 * less. */
static void test_spread_of_means(void **state)
{
    (void)state;
    enum { MOST = 400 };
    static int64_t a[MOST], same[MOST], b[MOST], a2[MOST], b2[MOST], less[MOST];
    uint64_t random = 5;
    for (size_t i = 0; i < MOST; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        a[i] = 100000 + 64 * (int64_t)i;
        same[i] = a[i] - 512;
        b[i] = a[i] - 64 * (int64_t)(random >> 58);
        a2[i] = 2 * a[i];
        b2[i] = 2 * b[i];
        less[i] = b[i] - 1024;
    }
    for (size_t n = 3; n <= MOST; n += 1 + n / 3) {
        double low, high, other_low, other_high, sum = 0, squares = 0;
        const rs_lengths before = {a, n}, after = {b, n};
        rs_lengths_spread(&before, &(rs_lengths){same, n}, &low, &high);
        assert_true(low == 512 && high == 512);
        rs_lengths_spread(&before, &after, &low, &high);
        rs_lengths_spread(&(rs_lengths){a2, n}, &(rs_lengths){b2, n}, &other_low, &other_high);
        assert_true(other_low == 2 * low && other_high == 2 * high);
        rs_lengths_spread(&before, &(rs_lengths){less, n}, &other_low, &other_high);
        assert_true(fabs(other_low - low - 1024) < 1e-6 && fabs(other_high - high - 1024) < 1e-6);
        for (size_t i = 0; i < n; i++) sum += (double)(a[i] - b[i]);
        for (size_t i = 0; i < n; i++) squares += pow((double)(a[i] - b[i]) - sum / (double)n, 2);
        const double wide = 1.96 * sqrt(squares) / (double)n;
        assert_true(low <= sum / (double)n && high >= sum / (double)n);
        if (n < 50) continue;
        assert_true(sum / (double)n - low > 0.67 * wide && sum / (double)n - low < 1.33 * wide);
        assert_true(high - sum / (double)n > 0.67 * wide && high - sum / (double)n < 1.33 * wide);
    }
}

/* Pinned copies take the middle of a third and a half: of 200 us a step in 2000 the question leaves 0.4167, and a
 * twelfth of them is uncertain either way. */
static void test_pageable_copies(void **state)
{
    (void)state;
    static const rs_fault_kind fault = {.id = "pageable_copy"};
    static const char *const names[] = {"Memcpy HtoD (Pageable -> Device)",
                                        "Memcpy DtoH (Device -> Pageable)", "Memcpy DtoH (Device -> Pinned)"};
    for (size_t k = 0; k < 3; k++) {
        const occupied o = {"gemm", names[k], 10, 5, -1, 0, true};
        job j = {.ranks = {make_occupied(&o)}, .n = 1, .rank_of = {10}};
        rs_reference found;
        rs_candidates out = {0};
        const char *lacks = NULL;
        open_ranks(&j);
        assert_int_equal(rs_reference_find(&j.e, &j.w, true, &found, NULL), RS_OK);
        const rs_judged judged = {&j.e, &j.w, &found, j.rank_of, NULL};
        assert_int_equal(rs_find_pageable_copy(&judged, &fault, &out, &lacks, NULL), RS_OK);
        assert_int_equal(out.n, k < 2);
        assert_int_equal(lacks != NULL, k == 2);
        if (out.n) {
            const rs_candidate *c = &out.items[0];
            rs_weights w;
            size_t n, copies = 0;
            assert_true(fabs(c->facts.ms - 0.2) < 1e-9 && fabs(c->excess - 200) < 1e-6);
            assert_true(fabs(c->doubt - 200 / 12.0) < 0.02);
            assert_int_equal(rs_weights_copy(&j.e, &j.w, &w, NULL), RS_OK);
            assert_int_equal(rs_what_if_apply(&c->edits, &j.e, &j.roles, j.rank_of, &w, &n, NULL), RS_OK);
            for (uint32_t i = 1; i < j.e.n_nodes; i++) {
                const bool copy =
                    rs_skeleton_is_work(j.ranks[0], i) && rs_skeleton_at(j.ranks[0], i)->part == RS_PART_COPY;
                copies += copy;
                assert_int_equal(w.work[i], copy ? 83340 : j.w.work[i]);
            }
            assert_int_equal(copies, STEPS);
            rs_weights_clear(&w);
        }
        rs_candidates_clear(&out);
        rs_reference_clear(&found);
        close_job(&j);
    }
}

/* Steps that a question shortens are held against those that it leaves alone. */
static void test_misfit(void **state)
{
    (void)state;
    int64_t a[4] = {100, 150, 100, 150}, right[4] = {100, 100, 100, 100}, low[4] = {100, 80, 100, 80},
            varied[4] = {90, 100, 110, 100};
    rs_lengths before = {a, 4}, after = {right, 4};
    assert_true(rs_lengths_misfit(&before, &after) == 0);
    after.ns = low; /* half of the steps, each 20 less than the others */
    assert_true(rs_lengths_misfit(&before, &after) == 10);
    after.ns = varied; /* the others vary by 200 squared in all: two standard errors of half of the steps */
    assert_true(fabs(rs_lengths_misfit(&before, &after) - 10) < 1e-9);
    after.ns = a; /* nothing gains */
    assert_true(rs_lengths_misfit(&before, &after) == 0);
    /* k of n equal steps gain 500 and differ from the others by 300 then: of a step on average by 300 k / n; by nothing where all gain, or none */
    for (size_t n = 1; n <= 8; n++)
        for (size_t k = 0; k <= n; k++) {
            int64_t was[8], now[8];
            for (size_t i = 0; i < n; i++) {
                was[i] = i < k ? 1200 : 1000;
                now[i] = i < k ? 700 : 1000;
            }
            const double misfit = rs_lengths_misfit(&(rs_lengths){was, n}, &(rs_lengths){now, n});
            assert_true(fabs(misfit - (k && k < n ? 300 * (double)k / (double)n : 0)) < 1e-9);
        }
}

/* Steps that gain as much as each other, and others that gain nothing: of few where these are a third and more of at least three. All times as long
 * or as short again, and in another order, they are as many. */
static void test_of_few(void **state)
{
    (void)state;
    for (int64_t unit = 1; unit < 2000000; unit *= 1000)
        for (size_t n = 1; n <= 9; n++)
            for (size_t gains = 0; gains <= n; gains++)
                for (size_t from = 0; from < n; from++) {
                    int64_t a[9], b[9];
                    for (size_t i = 0; i < n; i++) {
                        a[i] = (1000 + 10 * (int64_t)i) * unit;
                        b[i] = a[i] - ((i + n - from) % n < gains ? 100 - (int64_t)i : (int64_t)i - 4) * unit;
                    }
                    rs_lengths before = {a, n}, after = {b, n};
                    assert_int_equal(rs_lengths_of_few(&before, &after),
                                     gains && n > 2 && 3 * gains <= 2 * n);
                }
    int64_t a[4] = {1000, 1000, 1000, 1000}, b[4] = {900, 1000, 1000, 1000};
    rs_lengths before = {a, 4}, after = {b, 4};
    b[1] =
        949; /* more than half of the most gains, too; from half to a tenth of it there are steps of all kinds */
    assert_true(rs_lengths_of_few(&before, &after));
    b[1] = 950;
    assert_false(rs_lengths_of_few(&before, &after));
    b[1] = 989;
    assert_false(rs_lengths_of_few(&before, &after));
    b[1] = 990;
    assert_true(rs_lengths_of_few(&before, &after));
    b[1] = 1011; /* and so where they lose as much */
    assert_false(rs_lengths_of_few(&before, &after));
    b[1] = 1010;
    assert_true(rs_lengths_of_few(&before, &after));
}

/* What computes and copies on one stream counts, each moment once, from the begin of the steps on. */
static void test_busy(void **state)
{
    (void)state;
    job j = {.ranks = {make_met(0, 0), make_met(40, 0)}, .n = 2, .rank_of = {0, 1}};
    int64_t lanes[64];
    open_ranks(&j);
    for (size_t r = 0; r < 2; r++) assert_true(2 * j.ranks[r]->n_lanes <= 64);
    assert_true(rs_lengths_busy(&j.e, &j.t, 0, 1, STEPS, lanes) == 150 * US); /* not the all-reduce of 140 */
    assert_true(rs_lengths_busy(&j.e, &j.t, 1, 2, STEPS, lanes) == 190 * US);
    assert_true(rs_lengths_busy(&j.e, &j.t, 0, 2, STEPS, lanes) == 190 * US); /* the busiest rank's */
    assert_true(rs_lengths_busy(&j.e, &j.t, 0, 1, 0, lanes) == STEPS * 150 * US);
    uint32_t a = work_of(&j, 0, "gemm_a"), b = work_of(&j, 0, "gemm_b");
    const int64_t length = j.t.end[b] - j.t.start[b], begin = rs_engine_begin(&j.e, &j.t, 0, NULL);
    j.t.start[b] = j.t.end[a] - 30 * US;
    j.t.end[b] = j.t.start[b] + length;
    assert_true(rs_lengths_busy(&j.e, &j.t, 0, 1, 1, lanes) == (STEPS * 150 - 30) * US);
    j.t.end[b] = j.t.end[a] - 10 * US; /* within a */
    assert_true(rs_lengths_busy(&j.e, &j.t, 0, 1, 1, lanes) == (STEPS * 150 - 50) * US);
    j.t.start[a] = begin - 60 * US;
    j.t.end[a] = j.t.end[b] = begin + 40 * US;
    assert_true(rs_lengths_busy(&j.e, &j.t, 0, 1, 1, lanes) == (STEPS * 150 - 110) * US);
    j.e.copies[0].step.spread[b] = 0; /* what ends after the steps is not theirs */
    j.t.end[b] = begin + 1000000 * US;
    assert_true(rs_lengths_busy(&j.e, &j.t, 0, 1, 1, lanes) == (STEPS * 150 - 110) * US);
    close_job(&j);
    const occupied o = {"gemm", "Memcpy DtoH (Device -> Pinned)", 10, 5, -1, 0, true};
    j = (job){.ranks = {make_occupied(&o)}, .n = 1};
    open_ranks(&j);
    assert_true(rs_lengths_busy(&j.e, &j.t, 0, 1, STEPS, lanes) ==
                1000 * US); /* the other stream copies for 200 */
    for (uint32_t i = 0; i < j.e.n_nodes; i++)
        if (rs_skeleton_is_work(j.ranks[0], i) && rs_skeleton_at(j.ranks[0], i)->part == RS_PART_COMPUTE)
            j.t.end[i] = j.t.start[i];
    assert_true(rs_lengths_busy(&j.e, &j.t, 0, 1, STEPS, lanes) == 200 * US);
    close_job(&j);
}

/* Steps of two kernels of so many us. */
static const rs_skeleton *make_pairs(const int64_t a[STEPS], const int64_t b[STEPS])
{
    builder x = builder_create();
    for (int step = 0; step < STEPS; step++) {
        char name[24];
        int64_t t = step * 2000 * US, c = step * 10 + 1;
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        add_row(&x, 'X', "user_annotation", name, MAIN, MAIN, t, 1990 * US);
        add_call(&x, "cudaLaunchKernel", MAIN, t + 5 * US, c);
        add_call(&x, "cudaLaunchKernel", MAIN, t + 25 * US, c + 1);
        add_kernel(&x, "gemm_a", 0, 7, t + 50 * US, a[step] * US, c);
        add_kernel(&x, "gemm_b", 0, 7, t + (51 + a[step]) * US, b[step] * US, c + 1);
    }
    rs_trace trace;
    rs_skeleton *s = NULL;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_trace_init(&trace, x.e, NULL, x.e->n);
    assert_int_equal(rs_skeleton_of(&trace, &policy, &s, NULL), RS_OK);
    rs_trace_clear(&trace);
    rs_events_free(x.e);
    return s;
}

/* Of four ranks the last takes a and b: how many times what the others take, whether it is slow, and whether it is steadily so. */
static void check_level(const int64_t a[STEPS], const int64_t b[STEPS], double times, bool slow, bool off)
{
    static const int64_t usual_a[3][STEPS] = {{198, 198, 198, 198},
                                              {200, 200, 200, 200},
                                              {202, 202, 202, 202}},
                         usual_b[STEPS] = {200, 200, 200, 200};
    job j = {.n = 4, .rank_of = {10, 11, 12, 13}};
    rs_reference found;
    rs_levels levels;
    for (int r = 0; r < 3; r++) j.ranks[r] = make_pairs(usual_a[r], usual_b);
    j.ranks[3] = make_pairs(a, b);
    open_ranks(&j);
    assert_int_equal(rs_reference_find(&j.e, &j.w, true, &found, NULL), RS_OK);
    const rs_judged judged = {&j.e, &j.w, &found, j.rank_of, NULL};
    assert_int_equal(rs_levels_find(&judged, false, &levels, NULL), RS_OK);
    assert_int_equal(levels.n, 4);
    assert_int_equal(rs_levels_role_end(&levels, 0), 4);
    for (int r = 0; r < 3; r++) assert_false(levels.items[r].slow || levels.items[r].off);
    assert_true(levels.items[3].times > times - 1e-3 && levels.items[3].times < times + 1e-3);
    assert_int_equal(levels.items[3].slow, slow);
    assert_int_equal(levels.items[3].off, off);
    /* the others differ by 1 %, a standard deviation of 2 us of 400: twice that, if they are three */
    if (slow) assert_true(levels.items[3].doubt > 0.0099 && levels.items[3].doubt < 0.0101);
    rs_levels_clear(&levels);
    rs_reference_clear(&found);
    close_job(&j);
}

/* Two ranks of which now this one, now that one has more to do, by 1.5 % of computation, or one always, by 6 %: a finding where kernels of a
 * step differ by less. */
static void check_moving(bool moves, int64_t apart, size_t wanted)
{
    static const rs_fault_kind fault = {.id = "imbalance"};
    job j = {.n = 2, .rank_of = {10, 11}};
    rs_reference found;
    rs_candidates out = {0};
    const char *lacks = NULL;
    for (int r = 0; r < 2; r++) {
        int64_t a[STEPS], b[STEPS];
        for (int step = 0; step < STEPS; step++) {
            const int64_t more = !moves ? 0 : step % 2 == r ? 15 : -15, differ = step < 2 ? apart : -apart;
            a[step] = 1000 + more + differ;
            b[step] = 1000 + more - differ + (moves ? 0 : r * 120);
        }
        j.ranks[r] = make_pairs(a, b);
    }
    open_ranks(&j);
    assert_int_equal(rs_reference_find(&j.e, &j.w, true, &found, NULL), RS_OK);
    const rs_judged judged = {&j.e, &j.w, &found, j.rank_of, (const char *const[]){NULL, NULL}};
    assert_int_equal(rs_find_imbalance(&judged, &fault, &out, &lacks, NULL), RS_OK);
    assert_int_equal(out.n, wanted);
    if (wanted && moves) assert_true(fabs(out.items[0].facts.pct - 1.5) < 0.05);
    if (wanted && !moves) assert_true(out.items[0].culprits[0].number == 11);
    rs_candidates_clear(&out);
    rs_reference_clear(&found);
    close_job(&j);
}

/* Even load leaves steps in which all ranks have more to do as they are. */
static void check_balanced_steps(void)
{
    static const int64_t a[2][STEPS] = {{100, 100, 300, 300}, {200, 200, 400, 400}},
                         b[STEPS] = {100, 100, 100, 100};
    job j = {.ranks = {make_pairs(a[0], b), make_pairs(a[1], b)}, .n = 2, .rank_of = {10, 11}};
    rs_what_if q;
    size_t n;
    open_ranks(&j);
    assert_int_equal(rs_what_if_parse("balanced", &q, NULL), RS_OK);
    assert_int_equal(rs_what_if_apply(&q, &j.e, &j.roles, j.rank_of, &j.w, &n, NULL), RS_OK);
    for (size_t r = 0; r < 2; r++)
        for (uint32_t i = 0; i < j.ranks[r]->n; i++)
            if (rs_skeleton_is_work(j.ranks[r], i) && j.w.work[j.e.node_base[r] + i] != 100 * US)
                assert_int_equal(j.w.work[j.e.node_base[r] + i],
                                 rs_skeleton_step_of(j.ranks[r], i) < 2 ? 150 * US : 350 * US);
    assert_int_equal(n, 2 * 2 * STEPS);
    rs_what_if_clear(&q);
    close_job(&j);
}

/* What kernel k of a step takes by chance, us: within 4 % of 1000, and different on each rank, in each step. */
static int64_t by_chance(size_t rank, int32_t step, uint32_t k)
{
    const uint64_t mixed = (rank * 4 + (uint64_t)step) * 1009 + k;
    return 960 + (int64_t)(rs_hash_u64(mixed) % 81);
}

/* Even load takes from a rank what it has more to do in all steps, or in all kernels of a name in some, and leaves what is chance. */
static void test_load_and_chance(void **state)
{
    (void)state;
    job j = {.ranks = {make_trained(), make_trained(), make_trained()}, .n = 3, .rank_of = {10, 11, 12}};
    rs_what_if q;
    size_t n;
    open_ranks(&j);
    for (size_t r = 0; r < j.n; r++)
        for (uint32_t i = 1; i < j.ranks[r]->n; i++) {
            if (!rs_skeleton_is_work(j.ranks[r], i)) continue;
            const char *name = rs_pool_text(&j.ranks[r]->pool, rs_skeleton_at(j.ranks[r], i)->name);
            const int32_t step = rs_skeleton_step_of(j.ranks[r], i);
            int64_t ns = by_chance(r, step, i) * US;
            if (r == 1 && strcmp(name, "d_gelu") == 0) ns *= 2;              /* lasting */
            if (strcmp(name, "norm") == 0 && r == (size_t)step % 3) ns *= 2; /* moving */
            j.w.work[j.e.node_base[r] + i] = ns;
        }
    assert_int_equal(rs_what_if_parse("balanced", &q, NULL), RS_OK);
    assert_int_equal(rs_what_if_apply(&q, &j.e, &j.roles, j.rank_of, &j.w, &n, NULL), RS_OK);
    double kept = 0, before = 0;
    double norms[2][3][STEPS] = {{{0}}}, ranks_differ[2] = {0}; /* by chance alone, and with even load */
    for (size_t r = 0; r < j.n; r++)
        for (uint32_t i = 1; i < j.ranks[r]->n; i++) {
            if (!rs_skeleton_is_work(j.ranks[r], i)) continue;
            const char *name = rs_pool_text(&j.ranks[r]->pool, rs_skeleton_at(j.ranks[r], i)->name);
            const int64_t now = j.w.work[j.e.node_base[r] + i],
                          own = by_chance(r, rs_skeleton_step_of(j.ranks[r], i), i) * US;
            const bool loaded = strcmp(name, "d_gelu") == 0 || strcmp(name, "norm") == 0;
            /* a third of all that is done twice is each rank's */
            const double even = (double)own * (loaded ? 4.0 / 3 : 1);
            assert_true(fabs((double)now / even - 1) < 0.05);
            for (int k = 0; strcmp(name, "norm") == 0 && k < 2; k++)
                norms[k][r][rs_skeleton_step_of(j.ranks[r], i)] += k ? (double)now : (double)own * 4.0 / 3;
            if (r == 0 || strcmp(name, "gemm") != 0) continue;
            kept += fabs((double)(now - j.w.work[j.e.node_base[r - 1] + i]));
            before += fabs((double)(own - by_chance(r - 1, rs_skeleton_step_of(j.ranks[r], i), i) * US));
        }
    assert_true(kept > 0.7 * before);
    /* what a rank's kernels of a name have in common by chance in a step stays as large, too */
    for (int k = 0; k < 2; k++)
        for (int step = 0; step < STEPS; step++) {
            const double *of[3] = {&norms[k][0][step], &norms[k][1][step], &norms[k][2][step]};
            const double mean = (*of[0] + *of[1] + *of[2]) / 3;
            for (int r = 0; r < 3; r++) ranks_differ[k] += (*of[r] / mean - 1) * (*of[r] / mean - 1);
        }
    assert_true(ranks_differ[1] > 0.4 * ranks_differ[0] && ranks_differ[1] < 2.5 * ranks_differ[0]);
    rs_what_if_clear(&q);
    close_job(&j);
}

/* Kernels of stream 20 are launched early and start when one of stream 7 has ended, without an event that says so: how long they wait says
 * nothing of what a launch takes. */
static void test_launches_that_wait(void **state)
{
    (void)state;
    for (int64_t between = 0; between < 2; between++) {
        builder b = builder_create();
        for (int64_t k = 0, c = 1; k < 40; k++) {
            const int64_t t = k * 1000 * US;
            add_call(&b, "cudaLaunchKernel", MAIN, t, c);
            add_kernel(&b, "gemm", 0, 7, t + 50 * US, (between ? 400 : 10) * US, c++);
            add_call(&b, "cudaLaunchKernel", MAIN, t + 100 * US, c);
            add_kernel(&b, "ncclDevKernel_AllGather_RING_LL", 0, 20, t + 455 * US, 100 * US, c++);
        }
        rs_trace trace;
        rs_skeleton *s = NULL;
        rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
        rs_trace_init(&trace, b.e, NULL, b.e->n);
        assert_int_equal(rs_skeleton_of(&trace, &policy, &s, NULL), RS_OK);
        const int64_t typical = s->all.typical[RS_COST_LAUNCH + RS_WORK_KERNEL];
        assert_true(between ? typical < 100 * US : typical > 100 * US);
        rs_skeleton_free(s);
        rs_trace_clear(&trace);
        rs_events_free(b.e);
    }
}

static void test_moving(void **state)
{
    (void)state;
    check_balanced_steps();
    check_moving(true, 0, 1);
    check_moving(true, 10, 1);
    check_moving(true, 25, 1);
    check_moving(true, 60, 0);
    check_moving(false, 10, 1);
    check_moving(false, 100, 0);
}

/* A slower device takes longer always and in all kernels; more work shows in some steps, or in some kernels. */
static void test_levels(void **state)
{
    (void)state;
    static const int64_t plain[STEPS] = {200, 200, 200, 200}, slower[STEPS] = {240, 240, 240, 240},
                         little[STEPS] = {204, 204, 204, 204}, twice[STEPS] = {400, 400, 400, 400},
                         moving[STEPS] = {200, 320, 200, 240};
    check_level(slower, slower, 1.2, true, true);
    check_level(plain, plain, 1.0, false, false);
    check_level(little, little, 408 / 402.0, false,
                false); /* no more than three times what the others differ by */
    check_level(twice, plain, 1.5, true, false);
    check_level(moving, moving, 1.2, true, false);
}

/* ---- pauses -------------------------------------------------------------------------------------------- */

#define LAUNCHES 100
#define DELAYS 80 /* of them in two ranks and four steps */

/* Launches 12 us apart, every tenth of them later: delay[] us, by step, then launch. */
static const rs_skeleton *make_delayed(const int64_t delay[STEPS * LAUNCHES / 10])
{
    builder b = builder_create();
    int64_t t = 0;
    for (int step = 0; step < STEPS; step++) {
        char name[24];
        int64_t begin = t;
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        uint32_t row = add_row(&b, 'X', "user_annotation", name, MAIN, MAIN, begin, 1);
        for (int i = 0; i < LAUNCHES; i++) {
            t += (12 + (i % 10 == 7 ? delay[(step * LAUNCHES + i) / 10] : 0)) * US;
            add_call(&b, "cudaLaunchKernel", MAIN, t, step * LAUNCHES + i + 1);
            add_kernel(&b, "k", 0, 7, t + 10 * US, US, step * LAUNCHES + i + 1);
        }
        t += 50 * US;
        b.e->duration[row] = t - begin - US;
    }
    rs_trace trace;
    rs_skeleton *s = NULL;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_trace_init(&trace, b.e, NULL, b.e->n);
    assert_int_equal(rs_skeleton_of(&trace, &policy, &s, NULL), RS_OK);
    rs_trace_clear(&trace);
    rs_events_free(b.e);
    return s;
}

/* Delays that fall off exponentially, 60 us on average, the longest of 262 us in one step of one rank, are no pauses; one of
 * `longest` us is, if it is far longer. */
static void check_pauses(int64_t longest, size_t wanted)
{
    static const rs_fault_kind fault = {.id = "host_pause"};
    job j = {.n = 2, .rank_of = {10, 11}};
    int64_t delay[2][DELAYS / 2];
    rs_reference found;
    rs_candidates out = {0};
    const char *lacks = NULL;
    for (int k = 0; k < DELAYS; k++) { /* the ten longest in step 1 of rank 1 */
        int place = k < 10 ? 50 + k : k < 60 ? k - 10 : k;
        delay[place / 40][place % 40] = (int64_t)(60 * log((double)DELAYS / (k + 1)));
    }
    if (longest) delay[1][35] = longest;
    for (int r = 0; r < 2; r++) j.ranks[r] = make_delayed(delay[r]);
    open_ranks(&j);
    assert_int_equal(rs_reference_find(&j.e, &j.w, true, &found, NULL), RS_OK);
    const rs_judged judged = {&j.e, &j.w, &found, j.rank_of, (const char *const[]){NULL, NULL}};
    assert_int_equal(rs_find_host_pause(&judged, &fault, &out, &lacks, NULL), RS_OK);
    assert_int_equal(out.n, wanted);
    if (wanted) assert_true(out.items[0].facts.ms > 1.8 && out.items[0].facts.ms < 2.1);
    rs_candidates_clear(&out);
    rs_reference_clear(&found);
    close_job(&j);
}

/* Kernels of 1 us, launched 12 us apart: of 4939 us the GPU is idle for all but 400. What a host of another rank delays by 2 ms is not for its
 * launches. */
static void test_waits_for_launches(void **state)
{
    (void)state;
    static const rs_fault_kind fault = {.id = "launch_bound"};
    for (int n = 1; n <= 3; n++) { /* ranks; of two and three one is delayed, of three it is the first */
        job j = {.n = n == 3 ? 1 : (size_t)n, .rank_of = {10, 11}};
        int64_t delay[2][DELAYS / 2] = {{0}, {0}};
        rs_reference found;
        rs_candidates out = {0};
        const char *lacks = NULL;
        delay[n == 3 ? 0 : 1][15] = 2000;
        for (size_t r = 0; r < j.n; r++) j.ranks[r] = make_delayed(delay[r]);
        open_ranks(&j);
        assert_int_equal(rs_reference_find(&j.e, &j.w, true, &found, NULL), RS_OK);
        const rs_judged judged = {&j.e, &j.w, &found, j.rank_of, NULL};
        assert_int_equal(rs_find_launch_bound(&judged, &fault, &out, &lacks, NULL), RS_OK);
        assert_null(lacks);
        assert_int_equal(out.n, 1);
        const double pct = n == 3 ? 452800 / 6939.0 : 453900 / 4939.0;
        assert_true(fabs(out.items[0].facts.pct - pct) < 0.05);
        rs_candidates_clear(&out);
        rs_reference_clear(&found);
        close_job(&j);
    }
}

/* Half of the hosts are slow, and a call of one that is not blocks in one step, which no trace explains. uneven: the slow ones are so by as much,
 * but now more, now less. */
static void check_hosts(bool uneven)
{
    job j = {.n = 4, .rank_of = {10, 11, 12, 13}};
    rs_reference found;
    rs_levels levels;
    for (int r = 0; r < 4; r++) {
        int64_t delay[DELAYS / 2] = {0};
        for (int i = 0; i < DELAYS / 2; i++)
            delay[i] = r < 2 ? 0 : !uneven ? 29 + i / 10 % 3 : i < 10 ? 0 : i < 20 ? 120 : 30;
        if (r == 1) delay[15] = 20000;
        j.ranks[r] = make_delayed(delay);
    }
    open_ranks(&j);
    assert_int_equal(rs_reference_find(&j.e, &j.w, true, &found, NULL), RS_OK);
    const rs_judged judged = {&j.e, &j.w, &found, j.rank_of, NULL};
    assert_int_equal(rs_levels_find(&judged, true, &levels, NULL), RS_OK);
    for (int r = 0; r < 4; r++) {
        assert_int_equal(levels.items[r].off, r >= 2 && !uneven);
        assert_true(uneven || fabs(levels.items[r].times - (r < 2 ? 1 : 1.25)) < 0.02);
    }
    rs_levels_clear(&levels);
    rs_reference_clear(&found);
    close_job(&j);
}

/* What each kind of fault finds is the same with the memory that it takes, and nothing with less: out of memory is said. */
static void check_finders(job *j, size_t *n_found)
{
    static const char *const hosts[MOST_RANKS] = {"a", "a", "b", "b", "c", "c"};
    rs_reference found;
    for (uint64_t k = 1;; k++) {
        rs_test_fail_allocation(k);
        const rs_status status = rs_reference_find(&j->e, &j->w, true, &found, NULL);
        rs_test_fail_allocation(0);
        if (status == RS_OK) break;
        assert_int_equal(status, RS_ERR_NOMEM);
        rs_reference_clear(&found);
    }
    const rs_judged judged = {&j->e, &j->w, &found, j->rank_of, hosts};
    for (const rs_fault_kind *f = rs_faults; f->id; f++)
        for (uint64_t k = 0, wanted = 0;; k++) { /* 0: none fails */
            rs_candidates out = {0};
            const char *lacks = NULL;
            rs_test_fail_allocation(k);
            const rs_status status = f->find(&judged, f, &out, &lacks, NULL);
            rs_test_fail_allocation(0);
            assert_int_equal(status, k && status ? RS_ERR_NOMEM : RS_OK);
            if (status == RS_OK && k) assert_int_equal(out.n, wanted);
            wanted = k ? wanted : out.n;
            rs_candidates_clear(&out);
            if (status != RS_OK || !k) continue;
            *n_found += wanted > 0;
            break;
        }
    rs_reference_clear(&found);
    close_job(j);
}

static void test_finders_without_memory(void **state)
{
    (void)state;
    static const int64_t slow[STEPS] = {240, 240, 240, 240}, usual[STEPS] = {200, 200, 200, 200};
    size_t n_found = 0;
    int64_t delay[2][DELAYS / 2] = {{0}};
    job j = {.n = 4, .rank_of = {10, 11, 12, 13}};
    for (int r = 0; r < 4; r++) j.ranks[r] = make_pairs(r ? usual : slow, r ? usual : slow);
    open_ranks(&j);
    check_finders(&j, &n_found);
    delay[1][15] = 5000;
    j = (job){.n = 2, .rank_of = {10, 11}, .ranks = {make_delayed(delay[0]), make_delayed(delay[1])}};
    open_ranks(&j);
    check_finders(&j, &n_found);
    j = (job){.n = 2, .rank_of = {10, 11}, .ranks = {make_met(60, 0), make_met(0, 2)}};
    open_ranks(&j);
    check_finders(&j, &n_found);
    const occupied copies = {"gemm", "Memcpy HtoD (Pageable -> Device)", 10, 5, -1, 0, true};
    j = (job){.n = 1, .rank_of = {10}, .ranks = {make_occupied(&copies)}};
    open_ranks(&j);
    check_finders(&j, &n_found);
    assert_true(n_found >= 6);
}

/* Events without memory are no skeleton, and skeletons without memory no verdict; with each that is left out there is no crash, and no leak. */
static void test_verdict_without_memory(void **state)
{
    (void)state;
    static const int64_t slow[STEPS] = {240, 240, 240, 240}, usual[STEPS] = {200, 200, 200, 200};
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    builder b = gather(&(gathered){.late = 2, .stream = 20, .graph = true});
    rs_status status = RS_ERR_NOMEM;
    for (uint64_t k = 1; status != RS_OK; k++) {
        rs_trace trace;
        rs_skeleton *s = NULL;
        rs_trace_init(&trace, b.e, NULL, b.e->n);
        rs_test_fail_allocation(k);
        status = rs_skeleton_of(&trace, &policy, &s, NULL);
        if (status == RS_OK) status = rs_skeleton_place(s, &trace, NULL);
        rs_test_fail_allocation(0);
        assert_true(status == RS_OK || status == RS_ERR_NOMEM);
        rs_skeleton_free(s);
        rs_trace_clear(&trace);
    }
    rs_events_free(b.e);
    job j = {.n = 3,
             .rank_of = {10, 11, 12},
             .ranks = {make_pairs(slow, slow), make_pairs(usual, usual), make_met(0, 2)}};
    const rs_judge_ranks ranks = {j.ranks, j.rank_of, (const char *const[]){"a", "a", "b"}, j.n};
    const rs_judge_how how = {
        .clocks = RS_CLOCKS_ENDS, .least = 0.01, .findings = true, .opportunities = true};
    status = RS_ERR_NOMEM;
    for (uint64_t k = 1; status != RS_OK; k += 1 + k / 60) {
        rs_judgement judged = {0};
        rs_verdicts *verdicts = NULL;
        rs_test_fail_allocation(k);
        status = rs_judge(&ranks, &how, &judged, NULL);
        if (status == RS_OK) status = rs_verdicts_make(&judged, &verdicts, NULL);
        rs_test_fail_allocation(0);
        assert_true(status == RS_OK || status == RS_ERR_NOMEM);
        rs_judgement_clear(&judged);
        rs_verdicts_free(verdicts);
    }
    for (size_t r = 0; r < j.n; r++) rs_skeleton_free((void *)j.ranks[r]);
}

static void test_levels_of_hosts(void **state)
{
    (void)state;
    check_hosts(false);
    check_hosts(true);
}

static void test_pauses(void **state)
{
    (void)state;
    check_pauses(0, 0);
    check_pauses(2000, 1);
}

/* 24 MiB: 15/16 of it twice over the links of 16 ranks. */
static void test_least_transfer(void **state)
{
    (void)state;
    const int64_t bytes = 24 << 20;
    assert_int_equal(rs_edit_least_transfer(RS_COLL_ALL_REDUCE, 16, bytes, true), bytes * 30 / 16 / 50);
    assert_int_equal(rs_edit_least_transfer(RS_COLL_ALL_REDUCE, 4, bytes, false), bytes * 6 / 4 / 450);
    assert_int_equal(rs_edit_least_transfer(RS_COLL_ALL_GATHER, 4, bytes, true), bytes * 3 / 4 / 50);
    assert_int_equal(rs_edit_least_transfer(RS_COLL_BARRIER, 4, bytes, true), 0);
    assert_int_equal(rs_edit_least_transfer(RS_COLL_ALL_REDUCE, 1, bytes, true), 0);
}

/* ---- overlap ------------------------------------------------------------------------------------------- */

#define AUTO 2

#define REDUCE "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
#define GATHER "ncclDevKernel_AllGather_RING_LL"

/* Work of a step: the thread that launches it and when, its stream and when it runs, us. Autograd's thread runs the backward pass. */
typedef struct piece {
    const char *name;
    int64_t thread, launch, stream, start, us;
} piece;

static const rs_skeleton *make_pieces(const piece *work, size_t n)
{
    builder b = builder_create();
    for (int step = 0; step < STEPS; step++) {
        char name[24];
        int64_t t = step * 2000 * US, c = step * 100 + 1;
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        add_row(&b, 'X', "user_annotation", name, MAIN, MAIN, t, 1200 * US);
        for (size_t k = 0; k < n; k++) {
            add_row(&b, 'X', "cuda_runtime", "cudaLaunchKernel", 1, work[k].thread, t + work[k].launch * US,
                    5 * US);
            add_arg(&b, RS_COL_CORRELATION, c + (int64_t)k);
            add_kernel(&b, work[k].name, 0, work[k].stream, t + work[k].start * US, work[k].us * US,
                       c + (int64_t)k);
        }
        add_row(&b, 'X', "cuda_runtime", "cudaDeviceSynchronize", MAIN, MAIN, t + 100 * US, 925 * US);
    }
    rs_trace trace;
    rs_skeleton *s = NULL;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_trace_init(&trace, b.e, NULL, b.e->n);
    assert_int_equal(rs_skeleton_of(&trace, &policy, &s, NULL), RS_OK);
    rs_trace_clear(&trace);
    rs_events_free(b.e);
    return s;
}

#define OPTIMIZER SIZE_MAX

/* When the i-th communication of step 1, in the order of the recording, or the optimizer starts under overlap, us into the step, if the piece
 * `as_recorded` starts as recorded. */
static int64_t start_under_overlap(const piece *work, size_t n_pieces, size_t as_recorded, size_t which)
{
    job j = {.n = 2, .rank_of = {10, 11}};
    rs_what_if q;
    rs_weights w;
    rs_times t;
    size_t n, seen = 0;
    int64_t out = -1;
    for (int r = 0; r < 2; r++) j.ranks[r] = make_pieces(work, n_pieces);
    open_ranks(&j);
    assert_int_equal(rs_what_if_parse("overlap", &q, NULL), RS_OK);
    assert_int_equal(rs_weights_copy(&j.e, &j.w, &w, NULL), RS_OK);
    assert_int_equal(rs_what_if_apply(&q, &j.e, &j.roles, j.rank_of, &w, &n, NULL), RS_OK);
    assert_int_equal(rs_engine_replay(&j.e, &w, &t, NULL), RS_OK);
    const rs_skeleton *s = j.ranks[0];
    uint32_t base = 0;
    for (uint32_t i = 1; i < s->n; i++)
        if (rs_skeleton_is_work(s, i) && rs_skeleton_time(s, i) == (2000 + work[as_recorded].start) * US)
            base = i;
    assert_int_not_equal(base, 0);
    for (size_t i = 0; i < s->n_comm; i++)
        if (rs_skeleton_step_of(s, s->comm_node[i]) == 1 && seen++ == which)
            out = work[as_recorded].start + (t.start[s->comm_node[i]] - t.start[base]) / US;
    for (uint32_t i = 1; which == OPTIMIZER && i < s->n; i++)
        if (rs_skeleton_step_of(s, i) == 1 && rs_skeleton_is_work(s, i) &&
            strcmp(rs_pool_text(&s->pool, rs_skeleton_at(s, i)->name), "multi_tensor_apply_kernel") == 0)
            out = work[as_recorded].start + (t.start[i] - t.start[base]) / US;
    rs_times_clear(&t);
    rs_weights_clear(&w);
    rs_what_if_clear(&q);
    close_job(&j);
    return out;
}

/* Two reductions are issued when the backward pass is done. The last line: the group reduces in the forward pass, too. */
static void test_overlap(void **state)
{
    (void)state;
    static const piece late[] = {
        {"forward", MAIN, 10, 7, 50, 100},   {"backward", AUTO, 18, 7, 151, 300},
        {"backward", AUTO, 26, 7, 452, 300}, {REDUCE, AUTO, 764, 20, 780, 100},
        {REDUCE, AUTO, 772, 20, 881, 100},   {"multi_tensor_apply_kernel", MAIN, 50, 7, 990, 30},
        {REDUCE, MAIN, 1, 20, 10, 20}};
    assert_int_equal(start_under_overlap(late, 6, 1, 0), 451); /* half of the pass is done */
    assert_int_equal(start_under_overlap(late, 6, 1, 1), 752); /* all of it */
    assert_int_equal(start_under_overlap(late, 7, 4, 1),
                     780); /* as recorded: such a group is no one's gradients' */
    piece soon[6];
    memcpy(soon, late, sizeof soon);
    soon[5].start = 984; /* the optimizer waits for the last reduction, 3 us, and still does */
    assert_int_equal(start_under_overlap(soon, 6, 1, 1), 752);
    assert_int_equal(start_under_overlap(soon, 6, 1, OPTIMIZER), 855);
}

/* The second gather is issued where the first was, and runs after it. A reduction that runs before the first is over by then; one
 * that runs after it is overtaken. */
static void test_overlap_of_gathers(void **state)
{
    (void)state;
    static const piece alone[] = {
        {"forward", MAIN, 10, 7, 50, 100},    {"backward", AUTO, 18, 7, 151, 300},
        {GATHER, AUTO, 34, 21, 200, 50},      {GATHER, AUTO, 400, 21, 410, 50},
        {"backward", AUTO, 480, 7, 490, 200}, {"multi_tensor_apply_kernel", MAIN, 50, 7, 990, 30}};
    assert_int_equal(start_under_overlap(alone, 6, 2, 1), 250);
    piece with[7] = {[6] = {REDUCE, AUTO, 26, 20, 160, 100}};
    memcpy(with, alone, sizeof alone);
    assert_int_equal(start_under_overlap(with, 7, 2, 0), 160);
    assert_int_equal(start_under_overlap(with, 7, 2, 2), 260); /* when the reduction is over */
    with[6].start = 220;
    assert_int_equal(start_under_overlap(with, 7, 2, 1), 300); /* when the second gather is over */
    assert_int_equal(start_under_overlap(with, 7, 2, 2), 250);
}

/* The answer to a question as the judge has it, and a step without what slows work down during communication, us. */
static rs_foretold ask(job *j, const char *question, double *plain)
{
    rs_what_if q;
    rs_replayed replayed;
    rs_asker *asker;
    rs_foretold answer;
    rs_asked asked = {.question = &q, .answers = &answer};
    const rs_ask_how how = {.rank_of = j->rank_of, .force = true};
    assert_int_equal(rs_what_if_parse(question, &q, NULL), RS_OK);
    assert_int_equal(rs_replay_measure(&j->e, RS_EDGES_ALL, false, &replayed, NULL), RS_OK);
    assert_int_equal(rs_asker_open(&replayed, &how, &asker, NULL), RS_OK);
    assert_int_equal(rs_asker_ask(asker, &asked, 1, NULL), RS_OK);
    assert_null(asked.refused);
    assert_int_equal(rs_asker_try(asker, &q, plain, NULL), RS_OK);
    rs_asker_close(asker);
    rs_replayed_clear(&replayed);
    rs_what_if_clear(&q);
    return answer;
}

/* A reduction that is moved to a kernel of 250 us, in a recording where nothing runs during communication: the kernel takes 5 % longer, and may take
 * 15 %. */
static void test_assumed_contention(void **state)
{
    (void)state;
    static const piece work[] = {
        {"forward", MAIN, 10, 7, 50, 50},    {"backward", AUTO, 18, 7, 101, 250},
        {"backward", AUTO, 26, 7, 352, 250}, {REDUCE, AUTO, 610, 20, 620, 200},
        {REDUCE, AUTO, 618, 20, 821, 100},   {"multi_tensor_apply_kernel", MAIN, 50, 7, 990, 30}};
    job j = {.n = 2, .rank_of = {10, 11}};
    double plain;
    for (int r = 0; r < 2; r++) j.ranks[r] = make_pieces(work, 6);
    open_ranks(&j);
    const rs_foretold a = ask(&j, "overlap", &plain);
    /* steps begin when the host begins them: the last one alone is shorter */
    assert_true(fabs(a.after - plain - 12.5 / STEPS) < 0.05);
    assert_true(a.before - a.low >= plain + 37.5 / STEPS);
    assert_true(a.before - a.high <= plain);
    const rs_foretold b = ask(&j, "scale name=forward=0.5", &plain); /* moves no communication */
    assert_true(fabs(b.after - plain) < 1e-9);
    close_job(&j);
}

/* A kernel takes 1.2 times as long during a reduction. The second rank is slower by more than that and comes last, so that most of its kernels run alone
 * and most of the first one's do not: ranks are not compared with each other. */
static void test_contention_of_unequal_ranks(void **state)
{
    (void)state;
    enum { KERNELS = 18 };
    static const int64_t alone[2] = {5, 13}, us[2][2] = {{20, 24}, {26, 31}};
    job j = {.n = 2, .rank_of = {10, 11}};
    rs_contention c;
    size_t n = 0;
    for (int r = 0; r < 2; r++) {
        piece work[KERNELS + 1];
        int64_t t = r ? 150 : 230, begin = 0;
        for (int64_t k = 0; k < KERNELS; k++) {
            if (k == alone[r]) begin = t - 1;
            work[k] = (piece){"gemm", MAIN, 5 * k, 7, t, us[r][k >= alone[r]]};
            t += work[k].us + 1;
        }
        work[KERNELS] = (piece){REDUCE, MAIN, 5 * KERNELS, 20, begin, 665 - begin};
        j.ranks[r] = make_pieces(work, KERNELS + 1);
    }
    open_ranks(&j);
    assert_int_equal(rs_contention_learn(&j.e, &j.t, &c, NULL), RS_OK);
    assert_int_equal(c.n_names, 1);
    for (uint32_t i = 0; i < j.e.n_nodes; i++) {
        assert_true(c.factor[i] <= 0 || fabs((double)c.factor[i] - 1.2) < 0.02);
        n += c.factor[i] > 0;
    }
    assert_int_equal(n, 2 * KERNELS * STEPS);
    rs_contention_clear(&c);
    close_job(&j);
}

static const rs_skeleton *close_builder(builder *b)
{
    rs_trace trace;
    rs_skeleton *s = NULL;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_trace_init(&trace, b->e, NULL, b->e->n);
    assert_int_equal(rs_skeleton_of(&trace, &policy, &s, NULL), RS_OK);
    rs_trace_clear(&trace);
    rs_events_free(b->e);
    return s;
}

/* A question that is stopped has its gain, and no more than its asker wanted was certain; the others have the answers of questions that
 * may not stop. */
static void test_stopped_questions(void **state)
{
    (void)state;
    enum { N = 5 };
    static const char *const texts[N] = {"scale class=computation=0.5", "scale part=host=0.5", "graphs",
                                         "scale class=communication=0.2; scale name~gemm=0.9",
                                         "scale class=computation&rank=11=0.7"};
    job j;
    rs_what_if q[N];
    rs_replayed replayed;
    rs_asker *asker;
    rs_foretold full[N], answers[N];
    rs_asked asked[N];
    size_t n_stopped = 0, n_whole = 0;
    open_job(&j, make_rank(200, "b"), make_rank(300, "b"));
    const rs_ask_how how = {.rank_of = j.rank_of, .force = true};
    for (int i = 0; i < N; i++) {
        assert_int_equal(rs_what_if_parse(texts[i], &q[i], NULL), RS_OK);
        asked[i] = (rs_asked){.question = &q[i], .answers = &full[i]};
    }
    assert_int_equal(rs_replay_measure(&j.e, RS_EDGES_ALL, false, &replayed, NULL), RS_OK);
    assert_int_equal(rs_asker_open(&replayed, &how, &asker, NULL), RS_OK);
    assert_int_equal(rs_asker_ask(asker, asked, N, NULL), RS_OK);
    for (int limit = 0; limit < 3 * N; limit++) {
        const rs_foretold *of = &full[limit / 3];
        const bool by_gain = limit % 3 == 0;
        for (int i = 0; i < N; i++)
            asked[i] = (rs_asked){.question = &q[i],
                                  .answers = &answers[i],
                                  .may_stop = true,
                                  .least = by_gain ? of->gain : -INFINITY,
                                  .certain = by_gain ? -INFINITY : of->low - (limit % 3 == 2 ? 1e-6 : 0)};
        assert_int_equal(rs_asker_ask(asker, asked, N, NULL), RS_OK);
        for (int i = 0; i < N; i++) {
            const rs_foretold *a = &answers[i], *f = &full[i];
            assert_true(a->gain == f->gain && a->before == f->before && a->after == f->after);
            if (asked[i].stopped) {
                assert_true(f->gain <= asked[i].least || f->low <= asked[i].certain);
                assert_true(a->low >= f->low && a->high <= f->high);
            } else {
                assert_true(a->low == f->low && a->high == f->high && f->gain > asked[i].least);
            }
            n_stopped += asked[i].stopped;
            n_whole += !asked[i].stopped;
        }
    }
    assert_true(n_stopped > N && n_whole > N);
    rs_asker_close(asker);
    rs_replayed_clear(&replayed);
    for (int i = 0; i < N; i++) rs_what_if_clear(&q[i]);
    close_job(&j);
}

/* Steps whose host launches too slowly, and waits `late` us before the first one. */
static const rs_skeleton *make_slow_host(int64_t late)
{
    builder b = builder_create();
    for (int step = 0; step < STEPS; step++) {
        char name[24];
        const int64_t t = step * 400 * US + (step ? late * US : 0), from = t + (step ? 0 : late * US);
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        add_row(&b, 'X', "user_annotation", name, MAIN, MAIN, t, 400 * US + (step ? 0 : late * US));
        for (int k = 0; k < 4; k++) {
            const int64_t at = from + (k + 1) * 100 * US - 20 * US;
            add_row(&b, 'X', "cuda_runtime", "cudaLaunchKernel", 1, MAIN, at, 5 * US);
            add_arg(&b, RS_COL_CORRELATION, step * 10 + k + 1);
            add_kernel(&b, "work", 0, 7, at + 6 * US, 50 * US, step * 10 + k + 1);
        }
    }
    return close_builder(&b);
}

/* Where the host would run ahead it would have done so before the recording began, too: then the GPU is not idle while the first step begins. What the host
 * waits there is hidden as far as it would be ahead, and never more than it waits. */
static void test_ahead_of_first_step(void **state)
{
    (void)state;
    for (int64_t late = 0; late <= 500; late += 500) {
        job j = {.n = 1, .rank_of = {10}, .ranks = {make_slow_host(late)}};
        double step;
        open_ranks(&j);
        const rs_foretold as_is = ask(&j, "scale name=work=1.0001", &step);
        assert_true(fabs(as_is.before - (400 + (double)late / STEPS)) < 10);
        const rs_foretold a = ask(&j, "scale part=host&us<101=0.1", &step);
        /* four kernels a step, and the first step's wait but for what the host is ahead: its GPU is 150 us longer busy than it, and more each step */
        assert_true(a.after > 195 && a.after < 215 + (double)late / STEPS / 2);
        assert_true(a.bound >= a.gain - 1e-6);
        close_job(&j);
    }
}

/* A host that launches four kernels of 50 us a step, 100 us apart, and waits for 2 ms before the third one in the first n_held steps. */
static const rs_skeleton *make_held(int n_held)
{
    builder b = builder_create();
    int64_t t = 0;
    for (int step = 0; step < STEPS; step++) {
        char name[24];
        const int64_t begin = t;
        for (int k = 0; k < 4; k++) {
            t += 100 * US + (k == 2 && step < n_held ? 2000 * US : 0);
            add_row(&b, 'X', "cuda_runtime", "cudaLaunchKernel", 1, MAIN, t, 5 * US);
            add_arg(&b, RS_COL_CORRELATION, step * 10 + k + 1);
            add_kernel(&b, "work", 0, 7, t + 6 * US, 50 * US, step * 10 + k + 1);
        }
        t += 10 * US;
        add_row(&b, 'X', "cuda_runtime", "cudaDeviceSynchronize", MAIN, MAIN, t, 100 * US);
        t += 110 * US;
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        add_row(&b, 'X', "user_annotation", name, MAIN, MAIN, begin, t - begin);
    }
    return close_builder(&b);
}

/* What a thread waits for in each step is what the program does, and no graph takes it away; what it waits for once is no program. */
static void test_graphs_of_held_threads(void **state)
{
    (void)state;
    for (int held = 0; held <= STEPS; held += held ? STEPS - 1 : 1) {
        job j = {.n = 1, .rank_of = {10}, .ranks = {make_held(held)}};
        double plain;
        open_ranks(&j);
        const rs_foretold a = ask(&j, "graphs", &plain);
        /* what comes before the first launch, a graph's launch of four nodes, four kernels, the synchronization */
        const double kept = held == STEPS ? 2000 : 0;
        assert_true(fabs(a.after - kept - 374.4) < 0.1);
        close_job(&j);
    }
}

/* A host that launches forty kernels of 50 us a step, 20 us apart, as few of them say nothing of the gap: each starts gap ns after the one before. Then it waits for them. */
static const rs_skeleton *make_queued(int64_t gap)
{
    builder b = builder_create();
    int64_t t = 0;
    for (int step = 0; step < STEPS; step++) {
        char name[24];
        const int64_t begin = t;
        int64_t at = begin + 26 * US;
        for (int k = 0; k < 40; k++, at += 50 * US + gap) {
            t += 20 * US;
            add_row(&b, 'X', "cuda_runtime", "cudaLaunchKernel", 1, MAIN, t, 5 * US);
            add_arg(&b, RS_COL_CORRELATION, step * 100 + k + 1);
            add_kernel(&b, "work", 0, 7, at, 50 * US, step * 100 + k + 1);
        }
        t += 10 * US;
        add_row(&b, 'X', "cuda_runtime", "cudaDeviceSynchronize", MAIN, MAIN, t, at - gap + 5 * US - t);
        t = at - gap + 10 * US;
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        add_row(&b, 'X', "user_annotation", name, MAIN, MAIN, begin, t - begin);
    }
    return close_builder(&b);
}

/* Between kernels of a graph is 0.8 of the stream's gap: of 10 us more between forty kernels 39 * 8 are left. */
static void test_gaps_of_graphs(void **state)
{
    (void)state;
    double before[2], after[2];
    for (int k = 0; k < 2; k++) {
        job j = {.n = 1, .rank_of = {10}, .ranks = {make_queued((10 + 10 * k) * US)}};
        double plain;
        open_ranks(&j);
        const rs_foretold a = ask(&j, "graphs", &plain);
        before[k] = a.before;
        after[k] = a.after;
        close_job(&j);
    }
    assert_true(fabs(before[1] - before[0] - 390) < 0.1);
    assert_true(fabs(after[1] - after[0] - 312) < 0.1);
}

/* Where another thread goes on, the graph does: the answer is that of a job in which one thread launches all, and so it is where that thread waits
 * at the end of the backward pass, so that the optimizer has a graph of its own. */
static void test_graphs_of_threads(void **state)
{
    (void)state;
    for (int waits = 0; waits < 2; waits++) {
        rs_foretold a[2];
        for (int64_t thread = 1; thread <= 2; thread++) {
            job j = {.n = 1, .rank_of = {10}, .ranks = {make_trained_by(thread, waits)}};
            double plain;
            open_ranks(&j);
            a[thread - 1] = ask(&j, "graphs", &plain);
            close_job(&j);
        }
        assert_true(fabs(a[0].before - a[1].before) < 0.1);
        assert_true(fabs(a[0].after - a[1].after) < 0.2); /* GRAPH_NODE is 0.1 */
    }
}

/* Steps of a stage: its kernel forward, and one backward that autograd's thread launches. us. */
static const rs_skeleton *make_stage(const char *name, int64_t forward, int64_t backward, int steps)
{
    builder b = builder_create();
    for (int step = 0; step < steps; step++) {
        char text[24];
        const int64_t t = step * 2000 * US, c = step * 10 + 1;
        snprintf(text, sizeof text, "ProfilerStep#%d", step);
        add_row(&b, 'X', "user_annotation", text, MAIN, MAIN, t, 1990 * US);
        for (int k = 0; k < 2; k++) {
            add_row(&b, 'X', "cuda_runtime", "cudaLaunchKernel", MAIN, k ? 2 : MAIN, t + (10 + 20 * k) * US,
                    5 * US);
            add_arg(&b, RS_COL_CORRELATION, c + k);
        }
        add_kernel(&b, name, 0, 7, t + 40 * US, forward * US, c);
        add_kernel(&b, "back", 0, 7, t + (41 + forward) * US, backward * US, c + 1);
        add_row(&b, 'X', "cuda_runtime", "cudaDeviceSynchronize", MAIN, MAIN, t + 60 * US, 1500 * US);
    }
    return close_builder(&b);
}

/* What the stages take of a step, each by all its ranks and steps, is the mean of the stages afterwards, forward and backward apart; within a stage
 * each piece keeps its share. */
static void test_balanced_roles(void **state)
{
    (void)state;
    static const int64_t us[4][2] = {{200, 300}, {400, 600}, {100, 1100}, {340, 500}};
    static const size_t role_of[4] = {0, 1, 0, 1};
    job j = {.n = 4, .rank_of = {10, 11, 12, 13}};
    rs_reference found;
    double before[2][2] = {{0}}, after[2][2] = {{0}}, steps[2] = {0};
    for (size_t r = 0; r < j.n; r++)
        j.ranks[r] = make_stage(role_of[r] ? "late" : "early", us[r][0], us[r][1], r == 3 ? 2 : STEPS);
    open_ranks(&j);
    assert_int_equal(rs_reference_find(&j.e, &j.w, true, &found, NULL), RS_OK);
    assert_int_equal(found.n_roles, 2);
    /* as recorded, not the mean over ranks */
    memcpy(found.balance.work, j.w.work, j.e.n_nodes * sizeof *j.w.work);
    assert_int_equal(rs_reference_balance_roles(&j.e, &found, NULL), RS_OK);
    for (size_t r = 0; r < j.n; r++) {
        assert_int_equal(found.role[r], role_of[r]);
        steps[role_of[r]] += (double)j.ranks[r]->n_steps;
        for (uint32_t i = 1; i < j.ranks[r]->n; i++) {
            if (!rs_skeleton_is_work(j.ranks[r], i)) continue;
            const char *name = rs_pool_text(&j.ranks[r]->pool, rs_skeleton_at(j.ranks[r], i)->name);
            const size_t back = strcmp(name, "back") == 0;
            before[role_of[r]][back] += (double)us[r][back] * US;
            after[role_of[r]][back] += (double)found.balance.work[j.e.node_base[r] + i];
        }
    }
    for (size_t back = 0; back < 2; back++) {
        const double mean = (before[0][back] / steps[0] + before[1][back] / steps[1]) / 2;
        for (size_t role = 0; role < 2; role++) {
            assert_true(fabs(after[role][back] / steps[role] - mean) < 2);
            for (size_t r = role; r < j.n; r += 2) {
                const uint32_t node = work_of(&j, r, back ? "back" : role ? "late" : "early");
                const double share = (double)us[r][back] * US / before[role][back];
                assert_true(fabs((double)found.balance.work[node] / after[role][back] - share) < 1e-5);
            }
        }
    }
    rs_reference_clear(&found);
    close_job(&j);
}

/* Steps of a rank without a GPU: of so many us before data is loaded, meanwhile and until a call of 1 us submits an all-reduce, which is over 1 us before the next step. */
static const rs_skeleton *make_on_host(const int64_t us[3])
{
    static const char *const names[3] = {"aten::mm", "enumerate(DataLoader)#next", "aten::mm"};
    builder b = builder_create();
    b.e->info.backend = rs_strings_add(&b.e->strings, "gloo", strlen("gloo"));
    for (int step = 0; step < STEPS; step++) {
        char name[24];
        int64_t begin = step * 600 * US, t = begin;
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        add_row(&b, 'X', "user_annotation", name, MAIN, MAIN, begin, 599 * US);
        for (int k = 0; k < 3; t += us[k++] * US)
            add_row(&b, 'X', k == 1 ? "user_annotation" : "cpu_op", names[k], MAIN, MAIN, t, us[k] * US);
        add_row(&b, 'X', "cpu_op", "c10d::allreduce_", MAIN, MAIN, t, US);
        add_row(&b, 'X', "user_annotation", "gloo:all_reduce", MAIN, 9, begin + 300 * US, 299 * US);
    }
    return close_builder(&b);
}

/* Of 20, 106 and 18 us between two all-reduces 20 are usual: the first of the longest stretches takes the difference, and what it can not take the
 * others do, in their order. */
static void test_stretches_on_hosts(void **state)
{
    (void)state;
    enum { N = 4 };
    static const int64_t us[3][3] = {{8, 6, 4}, {40, 35, 29}, {6, 6, 4}},
                         repaired[3][N] = {{1, 8, 6, 5}, {0, 0, 0, 20}, {1, 8, 6, 5}};
    job j = {.n = 3, .rank_of = {10, 11, 12}};
    rs_reference found;
    for (int r = 0; r < 3; r++) j.ranks[r] = make_on_host(us[r]);
    open_ranks(&j);
    assert_int_equal(rs_reference_find(&j.e, &j.w, true, &found, NULL), RS_OK);
    for (size_t r = 0; r < 3; r++) {
        const rs_skeleton *s = j.ranks[r];
        size_t n = 0;
        for (uint32_t i = 1; i < s->n; i++)
            if (rs_skeleton_step_of(s, i) > 0 && !rs_skeleton_is_work(s, i)) {
                const int64_t ns = found.repair.edge[j.e.edge_base[r] + rs_skeleton_first(s, i)];
                assert_int_equal(ns, repaired[r][n++ % N] * US);
            }
        assert_int_equal(n, N * (STEPS - 1));
    }
    rs_reference_clear(&found);
    close_job(&j);
}

/* Steps of a rank of a pipeline of two stages of three ranks: computation, and a message to the rank that follows or from the one before. */
static const rs_skeleton *make_passed(int64_t rank, int64_t us)
{
    const bool second = rank >= 3;
    builder b = builder_create();
    for (int64_t step = 0; step < STEPS; step++) {
        char name[24];
        const int64_t t = step * 2000 * US, c = step * 10 + 1;
        snprintf(name, sizeof name, "ProfilerStep#%d", (int)step);
        add_row(&b, 'X', "user_annotation", name, MAIN, MAIN, t, 1990 * US);
        for (int k = 0; k < 2; k++) add_call(&b, "cudaLaunchKernel", MAIN, t + (5 + 10 * k) * US, c + k);
        add_kernel(&b, "gemm", 0, 7, t + (second ? 500 : 50) * US, us * US, c);
        add_kernel(&b, "ncclDevKernel_SendRecv", 0, 20, t + (second ? 40 : 400) * US,
                   (second ? 440 : 80) * US, c + 1);
        add_text(&b, RS_COL_COLLECTIVE, second ? "recv" : "send");
        add_text(&b, RS_COL_GROUP_NAME, "pp");
        add_arg(&b, RS_COL_GROUP_SIZE, 2);
        add_arg(&b, RS_COL_SEQ, step + 1);
        add_arg(&b, RS_COL_SRC_RANK, rank % 3);
        add_arg(&b, RS_COL_DST_RANK, rank % 3 + 3);
        add_row(&b, 'X', "cuda_runtime", "cudaDeviceSynchronize", MAIN, MAIN, t + 30 * US, 1500 * US);
    }
    b.e->info.rank = rank;
    return close_builder(&b);
}

/* Of the ranks of a stage the middle one counts: 110 and 220 us. */
static void test_uneven_stages(void **state)
{
    (void)state;
    static const rs_fault_kind fault = {.id = "pipeline_imbalance"};
    static const int64_t us[] = {110, 100, 130, 260, 200, 220};
    job j = {.n = 6, .rank_of = {0, 1, 2, 3, 4, 5}};
    rs_reference found;
    rs_candidates out = {0};
    const char *lacks = NULL;
    for (int r = 0; r < 6; r++) j.ranks[r] = make_passed(r, us[r]);
    open_ranks(&j);
    assert_int_equal(rs_reference_find(&j.e, &j.w, true, &found, NULL), RS_OK);
    const rs_judged judged = {&j.e, &j.w, &found, j.rank_of, (const char *const[MOST_RANKS]){NULL}};
    assert_int_equal(rs_find_pipeline_imbalance(&judged, &fault, &out, &lacks, NULL), RS_OK);
    assert_null(lacks);
    assert_int_equal(out.n, 1);
    const rs_candidate *c = &out.items[0];
    assert_int_equal(c->culprits[0].number, 1);
    assert_int_equal(c->culprits[0].n_ranks, 3);
    for (int64_t k = 0; k < 3; k++) assert_int_equal(c->culprits[0].ranks[k], 3 + k);
    assert_true(fabs(c->facts.times - 220.0 / 165) < 1e-9 && fabs(c->excess - 55) < 1e-9);
    rs_candidates_clear(&out);
    rs_reference_clear(&found);
    close_job(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graphs_of_threads),
        cmocka_unit_test(test_balanced_roles),
        cmocka_unit_test(test_uneven_stages),
        cmocka_unit_test(test_stretches_on_hosts),
        cmocka_unit_test(test_gaps_of_graphs),
        cmocka_unit_test(test_graphs_of_held_threads),
        cmocka_unit_test(test_assumed_contention),
        cmocka_unit_test(test_contention_of_unequal_ranks),
        cmocka_unit_test(test_stopped_questions),
        cmocka_unit_test(test_ahead_of_first_step),
        cmocka_unit_test(test_meetings),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_room_on_the_device),
        cmocka_unit_test(test_last_of_inferred),
        cmocka_unit_test(test_waits_by_calls),
        cmocka_unit_test(test_no_waits_across_devices),
        cmocka_unit_test(test_many_edges),
        cmocka_unit_test(test_far_times),
        cmocka_unit_test(test_questions),
        cmocka_unit_test(test_four_ranks),
        cmocka_unit_test(test_selectors),
        cmocka_unit_test(test_wrong_questions),
        cmocka_unit_test(test_travels),
        cmocka_unit_test(test_long_work),
        cmocka_unit_test(test_pinned),
        cmocka_unit_test(test_paths_add_up),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_phases_of_transfers),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_spread_of_means),
        cmocka_unit_test(test_pageable_copies),
        cmocka_unit_test(test_misfit),
        cmocka_unit_test(test_of_few),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_moving),
        cmocka_unit_test(test_load_and_chance),
        cmocka_unit_test(test_launches_that_wait),
        cmocka_unit_test(test_pauses),
        cmocka_unit_test(test_waits_for_launches),
        cmocka_unit_test(test_levels_of_hosts),
        cmocka_unit_test(test_finders_without_memory),
        cmocka_unit_test(test_verdict_without_memory),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_overlap_of_gathers),
        cmocka_unit_test(test_least_transfer),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
