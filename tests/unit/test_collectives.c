/* Collectives of small ranks: what belongs together when nothing is numbered, and clocks; events as fuse
 * copies them. */
/* before support.h: its `text` would be shadowed by parameters of that name */
#include "base/dtype.h"
#include "rewrite/fuse_internal.h"

#include "clock/collective_clocks.h"
#include "match/collective_wait.h"
#include "support.h"

#define MAX_RANKS 4

typedef struct job {
    text t[MAX_RANKS];
    rs_events *e[MAX_RANKS];
    rs_coll_rank *ranks[MAX_RANKS];
    rs_coll_job job;
    size_t n;
} job;

/* seq < 0: none; ts and dur in us */
static void add(job *j, size_t rank, const char *group, const char *members, double ts, double dur,
                long elements, int seq)
{
    char number[32] = "";
    if (seq >= 0) snprintf(number, sizeof number, ", \"Seq\": %d", seq);
    text_printf(&j->t[rank],
                "%s{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", \"pid\": 0, "
                "\"tid\": 5, "
                "\"ts\": %.3f, \"dur\": %.3f, \"args\": {\"stream\": 5, \"Collective name\": \"allreduce\", "
                "\"In msg nelems\": %ld, \"Out msg nelems\": %ld, \"Group size\": 2, \"dtype\": \"Float\", "
                "\"Process Group Name\": \"%s\", \"Process Group Ranks\": \"%s\"%s}}",
                j->t[rank].n ? ",\n" : "[", ts, dur, elements, elements, group, members, number);
    if (rank >= j->n) j->n = rank + 1;
}

static void match(job *j, bool align)
{
    rs_error err = RS_ERROR_INIT;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    for (size_t i = 0; i < j->n; i++) {
        text_puts(&j->t[i], "]");
        rs_trace trace;
        j->e[i] = load(j->t[i].s, j->t[i].n);
        rs_trace_init(&trace, j->e[i], NULL, j->e[i]->n);
        assert_int_equal(rs_coll_rank_of(&trace, &policy, &j->ranks[i], &err), RS_OK);
        rs_trace_clear(&trace);
    }
    assert_int_equal(rs_clock_match((const rs_coll_rank *const *)j->ranks, j->n, align, &j->job, &err),
                     RS_OK);
}

static void end(job *j)
{
    rs_coll_job_clear(&j->job);
    for (size_t i = 0; i < j->n; i++) {
        rs_coll_rank_free(j->ranks[i]);
        rs_events_free(j->e[i]);
        text_clear(&j->t[i]);
    }
}

/* Which op of `to` belongs to op `op` of `from`; -1 if none. */
static int partner(const job *j, uint32_t from, uint32_t op, uint32_t to)
{
    for (size_t i = 0; i < j->job.n; i++) {
        const rs_coll_instance *c = &j->job.instances[i];
        int found = -1;
        bool here = false;
        for (uint32_t k = c->first; k < c->first + c->n; k++) {
            const rs_coll_arrival *a = &j->job.arrivals[k];
            here = here || (a->rank == from && a->op == op);
            if (a->rank == to) found = (int)a->op;
        }
        if (here) return found;
    }
    fail_msg("op %u of rank %u is in no collective", op, from);
    return -1;
}

/* Ends at uneven times; rank 1 misses the first three and comes with another clock. */
static void test_late_start(void **state)
{
    (void)state;
    for (int numbered = 0; numbered < 2; numbered++) {
        for (int k = -2; k <= 2; k++) {
            double ahead = 1.5e6 * k;
            job j = {0};
            rng r = {11};
            double at = 1e7;
            for (int i = 0; i < 40; i++) {
                double wait = (double)rng_below(&r, 90);
                at += 200 + (double)rng_below(&r, 500);
                add(&j, 0, "1", "[0, 1]", at - 20 - wait, 20 + wait, 1000, numbered ? i : -1);
                if (i >= 3) add(&j, 1, "1", "[0, 1]", at - 20 + ahead, 20, 1000, numbered ? i : -1);
            }
            match(&j, true);
            assert_int_equal(j.job.n, 40);
            for (uint32_t i = 0; i < 40; i++) assert_int_equal(partner(&j, 0, i, 1), i < 3 ? -1 : (int)i - 3);
            assert_int_equal(j.job.clocks[1].offset, (int64_t)(ahead * 1000));
            assert_int_equal(j.job.clocks[1].worst, 0);
            end(&j);
        }
    }
}

static void test_equal_names(void **state)
{
    (void)state;
    job j = {0};
    for (int i = 0; i < 4; i++) {
        add(&j, 0, "dp", "[0, 1]", 100 * i, 20, 1000, i);
        add(&j, 1, "dp", "[0,1]", 100 * i, 20, 1000, i);
        add(&j, 2, "dp", "[2, 3]", 100 * i + 7, 20, 1000, i);
        add(&j, 3, "dp", "[2, 3]", 100 * i + 7, 20, 1000, i);
    }
    match(&j, true);
    assert_int_equal(j.job.n, 8);
    assert_int_equal(partner(&j, 0, 2, 1), 2);
    assert_int_equal(partner(&j, 0, 2, 2), -1);
    assert_int_equal(partner(&j, 3, 1, 2), 1);
    assert_int_equal(j.job.clocks[2].offset, 0); /* nothing ties it to the first two */
    assert_int_equal(j.job.clocks[2].reference, 2);
    assert_int_equal(j.job.clocks[3].reference, 2);
    assert_int_equal(rs_coll_n_parts(&j.job), 2);
    end(&j);
}

static void test_median_clock(void **state)
{
    (void)state;
    job j = {0};
    for (int i = 0; i < 9; i++) {
        add(&j, 0, "1", "[0, 1]", 1000 * i, 20, 1000, i);
        /* ahead by 50 us; twice something held its end back, and every end jitters a little */
        add(&j, 1, "1", "[0, 1]", 1000 * i + 50, 20 + (i == 4 || i == 7 ? 400 : 0) + 0.1 * (i % 3), 1000, i);
    }
    match(&j, true);
    assert_true(j.job.clocks[1].offset >= 50000 && j.job.clocks[1].offset <= 50200);
    assert_true(j.job.clocks[1].residual <= 200);
    assert_true(j.job.clocks[1].worst >= 399000);
    end(&j);
    j = (job){0};
    add(&j, 0, "1", "[0, 1]", 0, 20, 1000, 1);
    add(&j, 1, "1", "[0, 1]", 50, 20, 1000, 1);
    match(&j, false);
    assert_int_equal(j.job.shift[1], 0);
    end(&j);
}

/* Rank 0 launches SendRecv kernels inside annotations that say what they are part of. */
static void test_sendrecv_inside(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        rs_coll_kind kind;
    } cases[] = {
        {"nccl:all_to_all", RS_COLL_ALL_TO_ALL},       {"nccl:all_reduce", RS_COLL_ALL_REDUCE},
        {"nccl:_all_gather_base", RS_COLL_ALL_GATHER}, {"rccl:reduce_scatter", RS_COLL_REDUCE_SCATTER},
        {"c10d::alltoall_base_", RS_COLL_ALL_TO_ALL},  {"nccl:send 0->1", RS_COLL_SEND_RECV},
        {"nccl:coalesced", RS_COLL_SEND_RECV},         {"something", RS_COLL_SEND_RECV}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text t = {0};
        text_printf(
            &t,
            "[{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"%s\", \"pid\": 1, \"tid\": 1, "
            "\"ts\": 0, \"dur\": 50},\n"
            "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, "
            "\"tid\": 1, \"ts\": 10, \"dur\": 5, \"args\": {\"correlation\": 7}},\n"
            "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_SendRecv(x)\", \"pid\": 0, "
            "\"tid\": 5, \"ts\": 20, \"dur\": 5, \"args\": {\"stream\": 5, \"correlation\": 7}}]",
            cases[i].call);
        rs_error err = RS_ERROR_INIT;
        rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
        rs_events *e = load(t.s, t.n);
        rs_trace trace;
        rs_coll_rank *r;
        rs_trace_init(&trace, e, NULL, e->n);
        assert_int_equal(rs_coll_rank_of(&trace, &policy, &r, &err), RS_OK);
        assert_int_equal(r->n, 1);
        assert_int_equal(rs_coll_shape_of(r, &r->ops[0])->kind, cases[i].kind);
        rs_coll_rank_free(r);
        rs_trace_clear(&trace);
        rs_events_free(e);
        text_clear(&t);
    }
}

/* One end of a batch of sends and receives: the records in front of its launch, and a kernel without arguments. What: '>'
 * sends, '<' receives, for each a record of so many elements. */
static void add_batch(job *j, size_t rank, const char *what, double ts, double dur, long elements)
{
    text *t = &j->t[rank];
    size_t n = strlen(what);
    double at = ts - 100 + 10 * (double)n; /* after the records */
    for (size_t k = 0; k < n; k++)
        text_printf(
            t,
            "%s{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", \"pid\": 1, "
            "\"tid\": 1, \"ts\": %.3f, \"dur\": 5, \"args\": {\"Collective name\": \"%s\", "
            "\"In msg nelems\": %ld, \"Out msg nelems\": %ld, \"Group size\": 4, \"dtype\": \"Float\", "
            "\"Process Group Name\": \"5\", \"Process Group Ranks\": \"[0, 1, 2, 3]\"}}",
            t->n ? ",\n" : "[", ts - 100 + 10 * (double)k, what[k] == '>' ? "send" : "recv", elements,
            elements);
    text_printf(t,
                ",\n{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"nccl:coalesced\", \"pid\": 1, "
                "\"tid\": 1, \"ts\": %.3f, \"dur\": 9},\n"
                "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, "
                "\"tid\": 1, \"ts\": %.3f, \"dur\": 5, \"args\": {\"correlation\": %.0f}},\n"
                "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_SendRecv(x)\", \"pid\": 0, "
                "\"tid\": 7, \"ts\": %.3f, \"dur\": %.3f, \"args\": {\"stream\": 7, \"correlation\": %.0f}}",
                at, at + 2, ts, ts, dur, ts);
    if (rank >= j->n) j->n = rank + 1;
}

static const rs_coll_shape *shape_at(const job *j, size_t rank, size_t op)
{
    return rs_coll_shape_of(j->ranks[rank], &j->ranks[rank]->ops[op]);
}

/* A pipeline of four whose batches do not say who the far end is: what ends together is one, on clocks that
 * collectives have set right, and what one sends the other receives. */
static void test_batches(void **state)
{
    (void)state;
    static const struct {
        size_t a, b;
        const char *by_a, *by_b;
        double end, waits, late; /* us: of a; by how much b came earlier, and left later */
        long elements;
    } pairs[] = {
        {0, 1, ">", "<", 3000, 900, 1, 10},    {1, 2, ">", "<", 5000, 700, 1, 10},
        {2, 3, ">", "<", 7000, 500, 1, 10},    {0, 1, "><", "<>", 9000, 60, 1, 10},
        {2, 3, ">", "<", 9006, 800, 1, 20},    {0, 2, ">", "<", 11000, 90, 1, 10},
        {1, 3, ">", "<", 11004, 80, 1, 10},    {0, 1, "<<", ">>", 13000, 70, 1, 10},
        {2, 3, "<", ">", 13003, 70, 1, 20},    {0, 1, ">", "<", 15000, 70, 4, 10}, /* two send at one time */
        {2, 3, ">", "<", 15001, 70, 1, 10},    {0, 1, ">", "<", 17000, 70, 9, 10}, /* the nearest first */
        {2, 3, "<", ">", 17007, 70, 0.25, 10}, {0, 1, ">", "<", 19000, 70, 1, 10}};
    static const double ahead[] = {0, 4000, -70, 900000};
    const size_t n = sizeof pairs / sizeof *pairs;
    uint32_t op[2][sizeof pairs / sizeof *pairs],
        n_ops[MAX_RANKS] = {1, 1, 1, 1}; /* the all-reduce is the first */
    job j = {0};
    for (size_t r = 0; r < MAX_RANKS; r++) add(&j, r, "7", "[0, 1, 2, 3]", 1e6 + ahead[r], 50, 1, -1);
    for (size_t i = 0; i < n; i++) {
        size_t a = pairs[i].a, b = pairs[i].b;
        double end = 1e6 + pairs[i].end;
        add_batch(&j, a, pairs[i].by_a, end - 50 + ahead[a], 50, pairs[i].elements);
        add_batch(&j, b, pairs[i].by_b, end - 50 - pairs[i].waits + ahead[b],
                  50 + pairs[i].waits + pairs[i].late, pairs[i].elements);
        op[0][i] = n_ops[a]++;
        op[1][i] = n_ops[b]++;
    }
    for (size_t r = 0; r < MAX_RANKS; r++) add(&j, r, "7", "[0, 1, 2, 3]", 1.1e6 + ahead[r], 50, 1, -1);
    match(&j, true);
    assert_int_equal(j.job.n, n + 2);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(partner(&j, (uint32_t)pairs[i].a, op[0][i], (uint32_t)pairs[i].b), op[1][i]);
        const rs_coll_shape *x = shape_at(&j, pairs[i].a, op[0][i]);
        assert_string_equal(rs_pool_text(&j.ranks[pairs[i].a]->pool, x->group), "5");
        assert_int_equal(x->in_elements, pairs[i].elements * (long)strlen(pairs[i].by_a));
    }
    end(&j);
}

/* A kernel of a group that the trace does not name. */
static void add_nameless(job *j, size_t rank, int stream, double ts, double dur)
{
    text_printf(&j->t[rank],
                "%s{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", \"pid\": 0, "
                "\"tid\": %d, \"ts\": %.3f, \"dur\": %.3f, \"args\": {\"stream\": %d}}",
                j->t[rank].n ? ",\n" : "[", stream, ts, dur, stream);
    if (rank >= j->n) j->n = rank + 1;
}

/* Two stages of a pipeline reduce their gradients, the second one always so much earlier, and then all four ranks meet. Ends of both stages keep
 * their distance nearly as well as if they were of one collective, but on other clocks than what all meet in. */
static void test_stages_without_names(void **state)
{
    (void)state;
    static const double ahead[] = {0, 3000, -2000, 5000};
    for (int is_long = 0; is_long < 2; is_long++) {
        job j = {0};
        rng r = {17};
        for (uint32_t i = 0; i < 8; i++) {
            const double step = 1e6 + 2e4 * i, lag = 2000 + (double)rng_below(&r, is_long ? 60 : 8);
            for (size_t k = 0; k < 4; k++) {
                const double late = (double)rng_below(&r, 8), dp = step + (k < 2 ? lag : 0) + late;
                add_nameless(&j, k, 6, dp - 900 + ahead[k], 900);
                add_nameless(&j, k, 7,
                             step + 2500 + (double)rng_below(&r, 2) - (k < 2 ? 100 : 2000) + ahead[k],
                             k < 2 ? 100 : 2000);
            }
        }
        match(&j, true);
        assert_int_equal(j.job.n, 8 * 3);
        for (uint32_t i = 0; i < 8; i++) {
            assert_int_equal(partner(&j, 0, 2 * i, 1), (int)(2 * i));
            assert_int_equal(partner(&j, 2, 2 * i, 3), (int)(2 * i));
            assert_int_equal(partner(&j, 0, 2 * i, 2), -1);
            assert_int_equal(partner(&j, 0, 2 * i + 1, 3), (int)(2 * i + 1));
        }
        for (size_t k = 1; k < 4; k++) {
            const double off = (double)j.job.clocks[k].offset / 1000 - ahead[k];
            assert_true(off > -5 && off < 5);
        }
        end(&j);
    }
}

/* A send or a receive of which only what launched it says to whom. */
static void add_called(job *j, size_t rank, const char *call, double ts, double dur)
{
    text_printf(&j->t[rank],
                "%s{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"%s\", \"pid\": 1, \"tid\": 1, "
                "\"ts\": %.3f, \"dur\": 9},\n"
                "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, "
                "\"tid\": 1, \"ts\": %.3f, \"dur\": 5, \"args\": {\"correlation\": %.0f}},\n"
                "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_SendRecv(x)\", \"pid\": 0, "
                "\"tid\": 7, \"ts\": %.3f, \"dur\": %.3f, \"args\": {\"stream\": 7, \"correlation\": %.0f}}",
                j->t[rank].n ? ",\n" : "[", call, ts - 20, ts - 18, ts, ts, dur, ts);
    if (rank >= j->n) j->n = rank + 1;
}

/* What ends nearest is of others: the annotations say who sends and, by ranks of the group, to whom. */
static void test_called_sends(void **state)
{
    (void)state;
    job j = {0};
    for (size_t r = 0; r < 4; r++) add(&j, r, "7", "[0, 1, 2, 3]", 1e6, 50, 1, -1);
    add_called(&j, 0, "nccl:send 0->1", 1.01e6, 50);
    add_called(&j, 3, "nccl:recv 2<-1", 1.01e6 + 1, 50);
    add_called(&j, 1, "nccl:recv 1<-0", 1.01e6 + 3, 50);
    add_called(&j, 2, "nccl:send 1->2", 1.01e6 + 4, 50);
    for (size_t r = 0; r < 4; r++) add(&j, r, "7", "[0, 1, 2, 3]", 1.1e6, 50, 1, -1);
    match(&j, true);
    assert_int_equal(j.job.n, 4);
    assert_int_equal(partner(&j, 0, 1, 1), 1);
    assert_int_equal(partner(&j, 2, 1, 3), 1);
    assert_true(rs_coll_sends(j.ranks[0], shape_at(&j, 0, 1)));
    assert_false(rs_coll_sends(j.ranks[1], shape_at(&j, 1, 1)));
    end(&j);
}

/* Names whose ends are broken off, or go on, name no rank: what ends nearest is the partner. */
static void test_called_badly(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"nccl:send 0->1", "nccl:recv 1<-0"},         {"nccl:send 0-", "nccl:recv 1<-0"},
        {"nccl:send 0->2x", "nccl:recv 1<-0"},        {"nccl:send 0->", "nccl:recv 3<-2"},
        {"nccl:send ->2", "nccl:recv 1<-0"},          {"nccl:send 0->2", "nccl:recv 1<"},
        {"nccl:send 0->2", "nccl:recv <-0"},          {"nccl:send 0->2", "nccl:recv 1<-x"},
        {"nccl:send 10->2", "nccl:recv 1<-10 of 12"}, {"nccl:send 0->2", "nccl:recv 1<-0"},
        {"nccl:send 2->1", "nccl:recv 1<-0"},         {"nccl:send 0->1", "nccl:send 1->0"},
        {"nccl:send 0->11", "nccl:recv 1<-0"},        {"nccl:send 10->1", "nccl:recv 1<-0"}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        job j = {0};
        for (size_t r = 0; r < 2; r++) add(&j, r, "7", "[0, 1]", 1e6, 50, 1, -1);
        for (size_t r = 0; r < 2; r++) add_called(&j, r, names[k][r], 1.01e6 + (double)r, 50);
        for (size_t r = 0; r < 2; r++) add(&j, r, "7", "[0, 1]", 1.1e6, 50, 1, -1);
        match(&j, true);
        if (partner(&j, 0, 1, 1) != (k < 9 ? 1 : -1)) fail_msg("%s, %s", names[k][0], names[k][1]);
        end(&j);
    }
}

/* Two pipelines of two in step with each other: what ends nearest is of the other pipeline now and then, but no other pairs explain all messages. */
static void test_pipelines_in_step(void **state)
{
    (void)state;
    job j = {0};
    rng r = {23};
    for (size_t k = 0; k < 4; k++) add(&j, k, "7", "[0, 1, 2, 3]", 1e6, 50, 1, -1);
    for (int i = 0; i < 20; i++)
        for (size_t k = 0; k < 4; k++) {
            const double late = (k < 2 ? 0 : (double)rng_below(&r, 13) - 6) + (double)rng_below(&r, 8);
            add_batch(&j, k, k % 2 ? "<" : ">", 1.01e6 + 1000 * i, 50 + late, 10);
        }
    for (size_t k = 0; k < 4; k++) add(&j, k, "7", "[0, 1, 2, 3]", 1.1e6, 50, 1, -1);
    match(&j, true);
    for (uint32_t i = 1; i <= 20; i++) {
        assert_int_equal(partner(&j, 0, i, 1), (int)i);
        assert_int_equal(partner(&j, 2, i, 3), (int)i);
    }
    end(&j);
}

/* A pipeline of four: messages of the first and the last two stages end together now and then, on two that also send to each other. By that chance
 * no pair of stages explains what another one's messages are. With steps each place of the program has its partner, even where another kernel ends
 * nearer in some of them. */
static void test_stages_in_step(void **state)
{
    (void)state;
    for (uint32_t n_steps = 0; n_steps <= 5; n_steps += 5) {
        job j = {0};
        rng r = {29};
        for (size_t k = 0; k < 4; k++) add(&j, k, "7", "[0, 1, 2, 3]", 0.9e6, 50, 1, -1);
        for (uint32_t i = 0; i < 20; i++) {
            const double at = 1e6 + 2000 * i, chance = (double)rng_below(&r, 10) + (n_steps ? 0 : 8);
            for (size_t k = 0; n_steps && i % 4 == 0 && k < 4; k++)
                text_printf(&j.t[k],
                            ",\n{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#%u\", "
                            "\"pid\": 1, \"tid\": 1, \"ts\": %.3f, \"dur\": 7990}",
                            i / 4, at - 200);
            add_batch(&j, 0, ">", at, 50, 10);
            add_batch(&j, 1, "<", at + 1, 50 + (double)rng_below(&r, 3), 10);
            add_batch(&j, 2, ">", at + 2, 48 + chance, 10);
            add_batch(&j, 3, "<", at + 3, 47 + chance + (double)rng_below(&r, 3), 10);
            add_batch(&j, 1, ">", at + 1000, 50, 10);
            add_batch(&j, 2, "<", at + 1001, 50, 10);
        }
        for (size_t k = 0; k < 4; k++) add(&j, k, "7", "[0, 1, 2, 3]", 1.1e6, 50, 1, -1);
        match(&j, true);
        for (uint32_t i = 0; i < 20; i++) {
            assert_int_equal(partner(&j, 0, 1 + i, 1), (int)(1 + 2 * i));
            assert_int_equal(partner(&j, 3, 1 + i, 2), (int)(1 + 2 * i));
            assert_int_equal(partner(&j, 1, 2 + 2 * i, 2), (int)(2 + 2 * i));
        }
        end(&j);
    }
}

/* Wait and transfer by their definition; a broadcast's root leaves before the last member comes. */
static void test_wait(void **state)
{
    (void)state;
    static const rs_coll_op arrivals[] = {
        {.start = 100, .end = 700}, {.start = 400, .end = 720}, {.start = 600, .end = 710}};
    rs_coll_shape shapes[3] = {
        {.kind = RS_COLL_ALL_REDUCE}, {.kind = RS_COLL_ALL_REDUCE}, {.kind = RS_COLL_ALL_REDUCE}};
    rs_coll_op ops[3];
    rs_coll_rank ranks[3] = {0};
    const rs_coll_rank *const of[] = {&ranks[0], &ranks[1], &ranks[2]};
    int64_t shift[3] = {0};
    rs_coll_arrival members[] = {{.rank = 0}, {.rank = 1}, {.rank = 2}};
    rs_coll_instance c = {.n = 3};
    rs_coll_job matched = {
        .ranks = of, .n_ranks = 3, .shift = shift, .instances = &c, .n = 1, .arrivals = members};
    memcpy(ops, arrivals, sizeof ops);
    for (int i = 0; i < 3; i++)
        ranks[i] =
            (rs_coll_rank){.ops = &ops[i], .shapes = &shapes[i], .n = 1, .n_shapes = 1, .first_ns = 50 + i};
    rs_coll_wait w = rs_coll_measure(&matched, &c);
    assert_int_equal(w.transfer, 100);
    assert_int_equal(w.sum_wait, 500 + 200);
    assert_int_equal(w.cost, 200);
    assert_int_equal(w.first_at, 0);
    assert_int_equal(w.last_at, 2);
    assert_int_equal(w.sum_duration, 600 + 320 + 110);
    assert_true(rs_coll_compares(&matched, &c));
    assert_int_equal(rs_coll_origin(&matched), 50);
    ops[0].end = 200;
    shapes[0].kind = RS_COLL_BROADCAST;
    assert_int_equal(rs_coll_measure(&matched, &c).transfer, 110);
    shapes[0].kind = RS_COLL_SEND_RECV;
    assert_false(rs_coll_compares(&matched, &c));
    shapes[0].kind = RS_COLL_ALL_REDUCE;
    c.mixed = true;
    assert_false(rs_coll_compares(&matched, &c));
    c = (rs_coll_instance){.n = 1, .first = 1};
    assert_int_equal(rs_coll_measure(&matched, &c).transfer, 320);
    assert_int_equal(rs_coll_measure(&matched, &c).cost, 0);
    assert_false(rs_coll_compares(&matched, &c));
    shift[2] = -10; /* an aligned clock, not the rank's own */
    c = (rs_coll_instance){.n = 2, .first = 1};
    assert_int_equal(rs_coll_measure(&matched, &c).sum_wait, 190);
}

/* Without a group's name streams tell communicators apart, in a job where some rank has several; what has members
 * but no name is told by these, whatever stream it ran on. */
static void test_streams_of_nameless(void **state)
{
    (void)state;
    static const int64_t streams[2][2] = {{5, 6}, {6, 5}};
    for (int with_members = 0; with_members < 2; with_members++) {
        rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
        job j = {.n = 2};
        for (size_t r = 0; r < 2; r++) {
            rs_trace trace;
            for (int i = 0; i < 2; i++)
                text_printf(&j.t[r],
                            "%s{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", "
                            "\"pid\": 0, \"tid\": %d, \"ts\": %d, \"dur\": 50, \"args\": {\"stream\": %d, "
                            "\"Collective name\": \"allreduce\", \"In msg nelems\": 8%s}}",
                            i ? ",\n" : "[", (int)streams[r][i], 100 + 100 * i, (int)streams[r][i],
                            with_members ? ", \"Process Group Ranks\": \"[0, 1]\"" : "");
            text_puts(&j.t[r], "]");
            j.e[r] = load(j.t[r].s, j.t[r].n);
            rs_trace_init(&trace, j.e[r], NULL, j.e[r]->n);
            assert_int_equal(rs_coll_rank_of(&trace, &policy, &j.ranks[r], NULL), RS_OK);
            rs_trace_clear(&trace);
        }
        assert_int_equal(rs_clock_match((const rs_coll_rank *const *)j.ranks, j.n, false, &j.job, NULL),
                         RS_OK);
        for (uint32_t op = 0; op < 2; op++)
            assert_int_equal(partner(&j, 0, op, 1), with_members ? (int)op : 1 - (int)op);
        end(&j);
    }
}

/* Two ranks, each in a group of its own on stream 6 and in one with the other on stream 5. What has no name, as it was
 * launched before the recording, is of the group that is named on its stream; of which group what runs on stream 9 is nobody
 * can know. */
static void test_groups_of_nameless(void **state)
{
    (void)state;
    static const int streams[] = {5, 6, 9, 5, 6};
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    job j = {.n = 2};
    for (size_t r = 0; r < 2; r++) {
        rs_trace trace;
        for (int i = 0; i < 5; i++) {
            text_printf(&j.t[r],
                        "%s{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", "
                        "\"pid\": 0, \"tid\": %d, \"ts\": %d, \"dur\": 50, \"args\": {\"stream\": %d",
                        i ? ",\n" : "[", streams[i], 100 + 100 * i, streams[i]);
            if (i == 3)
                text_puts(&j.t[r], ", \"Collective name\": \"allreduce\", \"Process Group Name\": \"both\", "
                                   "\"Process Group Ranks\": \"[0, 1]\", \"In msg nelems\": 8");
            if (i == 4)
                text_printf(&j.t[r],
                            ", \"Collective name\": \"allreduce\", \"Process Group Name\": \"own%zu\", "
                            "\"Process Group Ranks\": \"[%zu]\", \"In msg nelems\": 8",
                            r, r);
            text_puts(&j.t[r], "}}");
        }
        text_puts(&j.t[r], "]");
        j.e[r] = load(j.t[r].s, j.t[r].n);
        rs_trace_init(&trace, j.e[r], NULL, j.e[r]->n);
        assert_int_equal(rs_coll_rank_of(&trace, &policy, &j.ranks[r], NULL), RS_OK);
        rs_trace_clear(&trace);
    }
    assert_int_equal(rs_clock_match((const rs_coll_rank *const *)j.ranks, j.n, false, &j.job, NULL), RS_OK);
    assert_int_equal(partner(&j, 0, 0, 1), 0);
    assert_int_equal(partner(&j, 0, 3, 1), 3);
    for (uint32_t op = 1; op < 5; op++)
        if (op != 3) assert_int_equal(partner(&j, 0, op, 1), -1);
    end(&j);
}

/* What the host ran: arrivals are the operators', by the numbers of record functions and without them. */
static void test_host_spans(void **state)
{
    (void)state;
    for (int numbered = 0; numbered < 2; numbered++) {
        text t = {0};
        text_puts(
            &t,
            "{\"distributedInfo\": {\"backend\": \"gloo\", \"rank\": 0, \"pg_config\": [{\"pg_name\": \"0\", "
            "\"pg_desc\": \"default_pg\", \"pg_size\": 2, \"ranks\": [0, 1]}]}, \"host_name\": \"h0\", "
            "\"traceEvents\": [");
        /* a span of an operator before the recording, two of one kind that wait for each other, another kind
         */
        static const struct {
            const char *category, *name;
            int tid, id;
            double ts, dur;
        } events[] = {{"user_annotation", "gloo:all_reduce", 9, 0, 5, 10},
                      {"cpu_op", "c10d::allreduce_", 1, 11, 20, 3},
                      {"cpu_op", "c10d::_reduce_scatter_base_", 1, 14, 30, 3},
                      {"cpu_op", "c10d::broadcast_", 1, 17, 40, 3},
                      {"user_annotation", "gloo:broadcast", 8, 18, 45, 5},
                      {"user_annotation", "gloo:all_reduce", 9, 12, 60, 20},
                      {"user_annotation", "gloo:all_reduce", 9, 15, 90, 20},
                      {"cpu_op", "gloo:all_reduce", 9, 15, 90, 20}};
        for (size_t i = 0; i < sizeof events / sizeof *events; i++)
            text_printf(
                &t,
                "%s{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 1, \"tid\": %d, \"ts\": %g, "
                "\"dur\": %g, \"args\": {\"Record function id\": %d}}",
                i ? ",\n" : "", events[i].category, events[i].name, events[i].tid, events[i].ts,
                events[i].dur, numbered ? events[i].id : 0);
        text_puts(&t, "]}");
        static const struct {
            uint32_t row;
            int64_t start, end;
            rs_coll_kind kind;
        } want[] = {{0, 5000, 15000, RS_COLL_ALL_REDUCE},
                    {5, 20000, 80000, RS_COLL_ALL_REDUCE},
                    {6, 30000, 110000, RS_COLL_REDUCE_SCATTER},
                    {4, 40000, 50000, RS_COLL_BROADCAST}};
        rs_error err = RS_ERROR_INIT;
        rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
        rs_events *e = load(t.s, t.n);
        rs_trace trace;
        rs_coll_rank *r;
        rs_trace_init(&trace, e, NULL, e->n);
        assert_int_equal(rs_coll_rank_any(&trace, &policy, &r, &err), RS_OK);
        assert_int_equal(r->n, sizeof want / sizeof *want);
        for (size_t i = 0; i < r->n; i++) {
            const rs_coll_shape *shape = rs_coll_shape_of(r, &r->ops[i]);
            assert_int_equal(r->ops[i].row, want[i].row);
            assert_int_equal(r->ops[i].start, want[i].start);
            assert_int_equal(r->ops[i].end, want[i].end);
            assert_int_equal(shape->kind, want[i].kind);
            assert_int_equal(shape->group_size, 2);
            assert_string_equal(rs_pool_text(&r->pool, shape->members), "[0, 1]");
            assert_string_equal(rs_pool_text(&r->pool, shape->description), "default_pg");
        }
        assert_int_equal(rs_coll_duration(r, &r->ops[1]), 20000);
        assert_true(r->on_host);
        assert_string_equal(rs_pool_text(&r->pool, r->host), "h0");
        rs_coll_rank_free(r);
        assert_int_equal(rs_coll_rank_of(&trace, &policy, &r, &err), RS_OK);
        assert_int_equal(r->n, 0); /* no GPU work */
        rs_coll_rank_free(r);
        rs_trace_clear(&trace);
        rs_events_free(e);
        text_clear(&t);
    }
}

/* Ranks lose kernels here and there; nothing is numbered, and steps are all of one length. */
static void test_lost_kernels(void **state)
{
    (void)state;
    for (int ahead = 0; ahead < 2; ahead++) {
        job j = {0};
        int op_of[2][60], n[2] = {0};
        for (int i = 0; i < 60; i++) {
            double end = 10000 + 1000 * i + (i * 37 % 11) * 20;
            for (size_t rank = 0; rank < 2; rank++) {
                op_of[rank][i] = -1;
                if ((rank ? i + 2 : i) % 7 == 3 || (rank && i == 20)) continue;
                double length = 40 + (i * 13 % 5) * 3 + (rank ? 0 : 9);
                add(&j, rank, "1", "[0, 1]", end - length + (rank && ahead ? 333.25 : 0), length, 1000, -1);
                op_of[rank][i] = n[rank]++;
            }
        }
        match(&j, true);
        for (int i = 0; i < 60; i++)
            if (op_of[0][i] >= 0) assert_int_equal(partner(&j, 0, (uint32_t)op_of[0][i], 1), op_of[1][i]);
        assert_int_equal(j.job.clocks[1].offset, ahead ? 333250 : 0);
        assert_int_equal(j.job.clocks[1].reference, 0);
        assert_int_equal(rs_coll_n_parts(&j.job), 1);
        end(&j);
    }
}

static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        rs_coll_kind kind;
    } cases[] = {{"allreduce", RS_COLL_ALL_REDUCE},
                 {"_allgather_base", RS_COLL_ALL_GATHER},
                 {"_reduce_scatter_base", RS_COLL_REDUCE_SCATTER},
                 {"all_to_allv", RS_COLL_ALL_TO_ALL},
                 {"broadcast", RS_COLL_BROADCAST},
                 {"reduce", RS_COLL_REDUCE},
                 {"gather", RS_COLL_GATHER},
                 {"scatter", RS_COLL_SCATTER},
                 {"send", RS_COLL_SEND_RECV},
                 {"ncclDevKernel_SendRecv(x)", RS_COLL_SEND_RECV},
                 {"barrier", RS_COLL_BARRIER},
                 {"wait", RS_COLL_OTHER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(rs_coll_kind_of(cases[i].name), cases[i].kind);
    assert_int_equal(rs_dtype_size("BFloat16"), 2);
    assert_int_equal(rs_dtype_size("Float8_e4m3fn"), 1);
    assert_int_equal(rs_dtype_size("Mystery"), 0);
    assert_int_equal(rs_dtype_size("QInt32"), 4);
    assert_int_equal(rs_dtype_size("Float8_e8m0fnu"), 1);
    assert_int_equal(rs_dtype_size("Float4_e2m1fn_x2"), 1);
    assert_int_equal(rs_dtype_size("c10::Half"), 2);
    assert_int_equal(rs_dtype_size("int64"), 8);
    assert_int_equal(rs_dtype_size("Float8_e4m3fn,Float"), 0); /* several types of one call */
    assert_int_equal(rs_dtype_size("ComplexDouble and more than any name has"), 0);
}

/* ---- fuse
 * ------------------------------------------------------------------------------------------------------ */

static rs_fuse_outcome copy(const char *event, const char *without, int64_t shift, text *out)
{
    static rs_writer writer;
    rs_fuse_rank zero = {.rank = 0}, three = {.rank = 3, .shift = shift};
    rs_fuse_rank *ranks[] = {&zero, &three};
    rs_fuse_plan plan = {.ranks = ranks, .n = 2};
    for (unsigned i = 0; i < RS_N_FUSE_IDS; i++) plan.step[i] = 1000;
    rs_fuse_filter filter = {NULL, without};
    rs_sink sink = text_sink(out);
    rs_error err = RS_ERROR_INIT;
    rs_writer_init(&writer, &sink);
    rs_fuse_outcome outcome =
        rs_fuse_event(&plan, 1, &filter, (const uint8_t *)event, strlen(event), "", &writer);
    assert_int_equal(rs_writer_finish(&writer, &err), RS_OK);
    text_add(out, "", 1);
    return outcome;
}

static void test_fused_event(void **state)
{
    (void)state;
    static const struct {
        const char *event;
        int64_t shift;
        const char *want; /* NULL: left out */
    } cases[] = {
        {"{\"ph\":\"X\",\"pid\":7,\"tid\":7,\"ts\":1.5,\"dur\":2,\"args\":{\"correlation\":9,\"External "
         "id\":0,"
         "\"Sequence number\":0,\"x\":NaN,\"rank\":8}}",
         -250,
         "{\"ph\": \"X\", \"pid\": 1007, \"tid\": 7, \"ts\": 1.25, \"dur\": 2, \"args\": {\"correlation\": "
         "1009, "
         "\"External id\": 0, \"Sequence number\": 1000, \"x\": null, \"rank\": 3}}"},
        {"{\"ph\": \"f\", \"id\": 0, \"pid\": \"Spans\", \"ts\": 12}", 0,
         "{\"ph\": \"f\", \"id\": 1000, \"pid\": \"Spans rank 3\", \"ts\": 12, \"args\": {\"rank\": 3}}"},
        {"{\"ph\": \"X\", \"ts\": 1.0001}", 1, "{\"ph\": \"X\", \"ts\": 1.0011, \"args\": {\"rank\": 3}}"},
        {"{\"ph\": \"X\", \"ts\": 0.5}", -1000, "{\"ph\": \"X\", \"ts\": -0.5, \"args\": {\"rank\": 3}}"},
        {"{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 1, \"tid\": 2, \"ts\": 5, \"args\": {\"name\": "
         "\"a\"}}",
         7,
         "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 1001, \"tid\": 2, \"ts\": 5, \"args\": "
         "{\"name\": \"a\", "
         "\"rank\": 3}}"},
        {"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1}", 0, NULL},
        {"{\"ph\": \"X\", \"cat\": \"Trace\"}", 0, NULL},
        {"{}", 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text out = {0};
        rs_fuse_outcome outcome = copy(cases[i].event, "x,Trace", cases[i].shift, &out);
        assert_int_equal(outcome == RS_FUSE_WRITTEN, cases[i].want != NULL);
        assert_string_equal(out.s, cases[i].want ? cases[i].want : "");
        text_clear(&out);
    }
}

static rs_coll_rank *numbered_rank(size_t n, int64_t (*number)(size_t i))
{
    rs_coll_rank *r = rs_calloc(1, sizeof *r);
    assert_non_null(r);
    assert_true(rs_pool_init(&r->pool));
    r->base_time_ns = RS_NO_VALUE;
    r->host = RS_NO_STRING;
    const rs_coll_shape shape = {.group_size = 2,
                                 .in_elements = 8,
                                 .out_elements = 8,
                                 .source = -1,
                                 .target = -1,
                                 .group = rs_strings_add(&r->pool.strings, "dp", 2),
                                 .description = RS_NO_STRING,
                                 .members = RS_NO_STRING,
                                 .name = RS_NO_STRING,
                                 .dtype = RS_NO_STRING,
                                 .kind = RS_COLL_ALL_REDUCE};
    for (size_t i = 0; i < n; i++) {
        const rs_coll_op op = {.start = 1000 * (int64_t)i, .end = 1000 * (int64_t)i + 500, .seq = number(i)};
        assert_true(rs_coll_rank_add(r, op, &shape));
    }
    assert_int_equal(r->n_shapes, 1);
    assert_true(rs_coll_rank_sort(r));
    return r;
}

static int64_t all_one(size_t i)
{
    (void)i;
    return 7;
}
static int64_t far_apart(size_t i)
{
    return (int64_t)(i % 100) << 55 | (int64_t)i;
}
static int64_t counted(size_t i)
{
    return INT64_MAX - (int64_t)i;
}

/* However numbers lie, the k-th op with a number on one rank meets the k-th with it on the other. Many of one number
 * cost no more than many numbers. */
static void test_numbers(void **state)
{
    (void)state;
    int64_t (*const numbers[])(size_t i) = {all_one, far_apart, counted};
    const size_t n = 20000;
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        rs_coll_rank *ranks[2] = {numbered_rank(n, numbers[k]), numbered_rank(n - 1, numbers[k])};
        rs_coll_job matched;
        assert_int_equal(rs_coll_match((const rs_coll_rank *const *)ranks, 2, NULL, &matched, NULL), RS_OK);
        assert_int_equal(matched.n, n);
        assert_int_equal(matched.n_arrivals, 2 * n - 1);
        for (size_t i = 0; i < n; i++) {
            const rs_coll_arrival *a = &matched.arrivals[matched.instances[i].first];
            assert_int_equal(matched.instances[i].n, i + 1 < n ? 2 : 1);
            assert_int_equal(matched.instances[i].number, numbers[k](a->op));
            assert_int_equal(a->instance, i);
            assert_int_equal(a[0].op, i); /* in order of time */
            if (i + 1 < n) assert_int_equal(a[1].op, i);
        }
        rs_coll_job_clear(&matched);
        for (int r = 0; r < 2; r++) rs_coll_rank_free(ranks[r]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_start),
        cmocka_unit_test(test_equal_names),
        cmocka_unit_test(test_median_clock),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_fused_event),
        cmocka_unit_test(test_sendrecv_inside),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_wait),
        cmocka_unit_test(test_streams_of_nameless),
        cmocka_unit_test(test_stages_without_names),
        cmocka_unit_test(test_called_sends),
        cmocka_unit_test(test_called_badly),
        cmocka_unit_test(test_pipelines_in_step),
        cmocka_unit_test(test_stages_in_step),
        cmocka_unit_test(test_groups_of_nameless),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_host_spans),
        cmocka_unit_test(test_lost_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
