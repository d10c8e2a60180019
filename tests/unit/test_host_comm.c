/* Communication that hosts run, matched over ranks: by step and by what was under way at one time, not by ends;
 * sends with the receives that they name. Times of recordings of torch 2.15 (torch.compile under DDP; a pipeline). */
#include "analysis/collective_notes.h"
#include "clock/collective_clocks.h"
#include "support.h"

#define MAX_RANKS 4
#define MAX_OPS 4

/* us: when the rank arrives, when its span ends */
typedef struct span {
    double start, end;
} span;

typedef struct job {
    rs_events *e[MAX_RANKS];
    rs_coll_rank *ranks[MAX_RANKS];
    rs_coll_job job;
    size_t n;
} job;

static void add_rank(job *j, const text *t)
{
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_trace trace;
    size_t r = j->n++;
    j->e[r] = load(t->s, t->n);
    rs_trace_init(&trace, j->e[r], NULL, j->e[r]->n);
    assert_int_equal(rs_coll_rank_any(&trace, &policy, &j->ranks[r], NULL), RS_OK);
    rs_trace_clear(&trace);
}

static void match(job *j)
{
    assert_int_equal(rs_clock_match((const rs_coll_rank *const *)j->ranks, j->n, true, &j->job, NULL), RS_OK);
}

static void end(job *j)
{
    rs_coll_job_clear(&j->job);
    for (size_t i = 0; i < j->n; i++) {
        rs_coll_rank_free(j->ranks[i]);
        rs_events_free(j->e[i]);
    }
}

static text head(size_t rank, size_t world)
{
    text t = {0};
    text_printf(
        &t,
        "{\"distributedInfo\": {\"backend\": \"gloo\", \"rank\": %zu, \"world_size\": %zu, \"pg_config\": "
        "[{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"pg_size\": %zu}]}, \"traceEvents\": [",
        rank, world, world);
    return t;
}

/* An operation: what submits it, and 0.1 us later the span that a worker runs. */
static void put(text *t, const char *operator, const char * given, const char *name, span s)
{
    text_printf(
        t,
        "%s{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": 1, \"tid\": 1, \"ts\": %.3f, "
        "\"dur\": 0.05, \"args\": {\"Concrete Inputs\": [%s]}},\n"
        "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"%s\", \"pid\": 1, \"tid\": 9, \"ts\": "
        "%.3f, \"dur\": %.3f}",
        t->s[t->n - 1] == '[' ? "" : ",\n", operator, s.start, given, name, s.start + 0.1,
        s.end - s.start - 0.1);
}

static void put_step(text *t, int number, double start, double stop)
{
    text_printf(t,
                ",\n{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#%d\", \"pid\": 1, "
                "\"tid\": 1, \"ts\": %.3f, \"dur\": %.3f}",
                number, start, stop - start);
}

/* all_reduces 10, 11 and 12 of a job in which workers end tens of milliseconds apart. The last rank may miss the first;
 * its clock may be ahead. */
static const span compiled[4][3] = {{{15540, 31340}, {32810, 71310}, {73990, 95590}},
                                    {{16810, 22480}, {28730, 67140}, {89600, 109670}},
                                    {{12630, 19440}, {34060, 74180}, {77710, 122300}},
                                    {{18120, 22540}, {56240, 62600}, {93990, 95170}}};

static void one_order(bool steps, bool misses, double ahead)
{
    job j = {0};
    for (size_t r = 0; r < 4; r++) {
        text t = head(r, 4);
        size_t from = misses && r == 3;
        for (size_t i = from; i < 3; i++) {
            span s = compiled[r][i];
            if (r == 3) s = (span){s.start + ahead, s.end + ahead};
            put(&t, "c10d::allreduce_", "", "gloo:all_reduce", s);
        }
        for (size_t i = from; steps && i < 3; i++) {
            double a = r == 3 ? ahead : 0;
            put_step(&t, (int)i + 4, compiled[r][i].start - 100 + a, compiled[r][i].start + 500 + a);
        }
        text_puts(&t, "]}");
        add_rank(&j, &t);
        text_clear(&t);
    }
    match(&j);
    assert_int_equal(j.job.n, 3);
    for (size_t i = 0; i < 3; i++) {
        const rs_coll_instance *c = &j.job.instances[i];
        assert_int_equal(c->n, misses && i == 0 ? 3 : 4);
        for (uint32_t k = c->first; k < c->first + c->n; k++) {
            const rs_coll_arrival *a = &j.job.arrivals[k];
            assert_int_equal(a->op, misses && a->rank == 3 ? i - 1 : i);
        }
    }
    end(&j);
}

/* Clocks of different hosts are told to be as recorded, those of one host need no word. */
TEST(test_note_of_hosts)
{
    for (int differ = 0; differ < 2; differ++) {
        job j = {0};
        rs_result result = {0};
        for (size_t r = 0; r < 2; r++) {
            text t = {0};
            text_printf(
                &t,
                "{\"host_name\": \"node%d\", \"distributedInfo\": {\"backend\": \"gloo\", \"rank\": %zu, "
                "\"world_size\": 2, \"pg_config\": [{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", "
                "\"pg_size\": 2}]}, \"traceEvents\": [",
                differ && r, r);
            put(&t, "c10d::allreduce_", "", "gloo:all_reduce", (span){100, 200});
            text_puts(&t, "]}");
            add_rank(&j, &t);
            text_clear(&t);
        }
        match(&j);
        rs_coll_note_host(&j.job, &result);
        assert_int_equal(result.n_notes, differ);
        if (differ) assert_non_null(strstr(result.notes[0], "different hosts"));
        rs_result_clear(&result);
        end(&j);
    }
}

TEST(test_order)
{
    one_order(true, false, 0);
    one_order(false, false, 0);
    one_order(true, true, 0);
    one_order(false, true, 0);
    one_order(true, false, 70000);
    one_order(true, true, 70000);
}

/* Rank 0 sends two messages to 1 and one to 2, with a message of another tag between, and 1 answers: each send is with
 * the receive that names it, in order; what has a tag, or names nobody, is with nothing. */
TEST(test_pairs)
{
    job j = {0};
    text t[3] = {head(0, 3), head(1, 3), head(2, 3)};
    put(&t[0], "c10d::send", "\"\", \"\", \"1\", \"0\"", "gloo:send", (span){100, 140});
    put(&t[0], "c10d::send", "\"\", \"\", \"2\", \"0\"", "gloo:send", (span){150, 170});
    put(&t[0], "c10d::send", "\"\", \"\", \"1\", \"7\"", "gloo:send", (span){180, 190});
    put(&t[0], "c10d::send", "\"\", \"\", \"1\", \"0\"", "gloo:send", (span){200, 240});
    put(&t[0], "c10d::recv_", "\"\", \"\", \"1\", \"0\"", "gloo:recv", (span){300, 410});
    put(&t[1], "c10d::recv_", "\"\", \"\", \"0\", \"0\"", "gloo:recv", (span){90, 141});
    put(&t[1], "c10d::recv_", "\"\", \"\", \"0\", \"0\"", "gloo:recv", (span){150, 241});
    put(&t[1], "c10d::send", "\"\", \"\", \"0\", \"0\"", "gloo:send", (span){400, 409});
    put(&t[1], "c10d::recv_any_source_", "\"\", \"\", \"0\"", "gloo:recvAnySource", (span){500, 509});
    put(&t[2], "c10d::recv_", "\"\", \"\", \"0\", \"0\"", "gloo:recv", (span){20, 171});
    for (size_t r = 0; r < 3; r++) {
        text_puts(&t[r], "]}");
        add_rank(&j, &t[r]);
        text_clear(&t[r]);
    }
    const rs_coll_shape *first = rs_coll_shape_of(j.ranks[0], &j.ranks[0]->ops[0]),
                        *last = rs_coll_shape_of(j.ranks[0], &j.ranks[0]->ops[4]);
    assert_true(first->source == 0 && first->target == 1 && last->source == 1 && last->target == 0);
    match(&j);
    static const struct {
        uint32_t from, sent, to, received;
    } want[] = {{0, 0, 1, 0}, {0, 1, 2, 0}, {0, 3, 1, 1}, {1, 2, 0, 4}};
    size_t pairs = 0;
    for (size_t i = 0; i < j.job.n; i++) {
        const rs_coll_instance *c = &j.job.instances[i];
        if (c->n == 1) continue;
        pairs++;
        assert_int_equal(c->n, 2);
        const rs_coll_arrival *a = &j.job.arrivals[c->first];
        bool found = false;
        for (size_t k = 0; k < sizeof want / sizeof *want; k++)
            found = found ||
                    (want[k].from < want[k].to ? a[0].rank == want[k].from && a[0].op == want[k].sent &&
                                                     a[1].rank == want[k].to && a[1].op == want[k].received
                                               : a[1].rank == want[k].from && a[1].op == want[k].sent &&
                                                     a[0].rank == want[k].to && a[0].op == want[k].received);
        assert_true(found);
    }
    assert_int_equal(pairs, 4);
    end(&j);
}

/* A line of three ranks that do not say whom they meet, in four steps. Rank 0 sends twice to 1, which waits for the first
 * message only; 1 sends to 2, then to 0, which both wait. In one step 0 sends late, just before 2 receives from 1. */
TEST(test_places)
{
    job j = {0};
    text t[3] = {head(0, 3), head(1, 3), head(2, 3)};
    for (int i = 0; i < 4; i++) {
        double at = 10000 * i, late = i == 2 ? 2050 : 0;
        put(&t[0], "c10d::send", "", "gloo:send", (span){at + 1000, at + 9500});
        put(&t[0], "c10d::send", "", "gloo:send", (span){at + 2000 + late, at + 9500});
        put(&t[0], "c10d::recv_", "", "gloo:recv", (span){at + 5000, at + 9000});
        put(&t[1], "c10d::recv_", "", "gloo:recv", (span){at + 100, at + 1100});
        put(&t[1], "c10d::recv_", "", "gloo:recv", (span){at + 3000, at + 3050 + late});
        put(&t[1], "c10d::send", "", "gloo:send", (span){at + 4000, at + 9500});
        put(&t[1], "c10d::send", "", "gloo:send", (span){at + 8900, at + 9500});
        put(&t[2], "c10d::recv_", "", "gloo:recv", (span){at + 200, at + 4100});
    }
    for (size_t r = 0; r < 3; r++) {
        for (int i = 0; i < 4; i++) put_step(&t[r], i + 1, 10000 * i, 10000 * i + 9900);
        text_puts(&t[r], "]}");
        add_rank(&j, &t[r]);
        text_clear(&t[r]);
    }
    match(&j);
    /* by rank and place in the step: the rank and the place of the other end */
    static const struct {
        uint32_t rank, op;
    } want[3][4] = {{{1, 0}, {1, 1}, {1, 3}}, {{0, 0}, {0, 1}, {2, 0}, {0, 2}}, {{1, 2}}};
    static const uint32_t n_of[3] = {3, 4, 1};
    assert_int_equal(j.job.n, 16);
    assert_int_equal(j.job.n_inferred, 16);
    assert_int_equal(rs_coll_n_parts(&j.job), 1);
    for (size_t i = 0; i < j.job.n; i++) {
        const rs_coll_arrival *a = &j.job.arrivals[j.job.instances[i].first];
        assert_int_equal(j.job.instances[i].n, 2);
        assert_int_equal(a[0].op / n_of[a[0].rank], a[1].op / n_of[a[1].rank]); /* the step */
        assert_int_equal(want[a[0].rank][a[0].op % n_of[a[0].rank]].rank, a[1].rank);
        assert_int_equal(want[a[0].rank][a[0].op % n_of[a[0].rank]].op, a[1].op % n_of[a[1].rank]);
    }
    end(&j);
}
