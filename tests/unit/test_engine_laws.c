/* What holds of any job that the engine replays, whatever its numbers are: jobs of chance, whose ranks meet. Times are in ns. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/text.h"
#include "engine/edits.h"
#include "engine/edits_terms.h"
#include "engine/forest.h"
#include "builder.h"

#define US 1000
#define MAIN 1
#define RANKS 3
#define MEMBERS 4 /* of a group that exchanges; no job here has more ranks */
#define STEPS 3
#define LAYERS 3
#define MEETINGS (STEPS * LAYERS)

/* In each step each layer is a kernel on stream 7 and an all-reduce on stream 20, which starts when the kernel is over; at its end the host waits for
 * all. Times are multiplied by `times`. */
typedef struct plan {
    size_t n_ranks;
    int64_t work[RANKS][MEETINGS], transfer[MEETINGS], bytes[MEETINGS], times;
    int64_t stays; /* one rank of each meeting longer than the others */
    const char *host[RANKS];
} plan;

typedef struct job {
    const rs_skeleton *ranks[MEMBERS];
    size_t n;
    rs_engine e;
    rs_weights w;
    rs_times t;
    rs_roles roles;
    int64_t rank_of[MEMBERS];
} job;

static uint64_t chance = 1;

static int64_t below(int64_t n)
{
    chance = chance * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((chance >> 33) % (uint64_t)n);
}

static plan plan_of(uint64_t seed)
{
    plan p = {.n_ranks = RANKS, .times = 1};
    chance = seed * 2654435761u + 1;
    for (int i = 0; i < MEETINGS; i++) {
        for (size_t r = 0; r < RANKS; r++) p.work[r][i] = (20 + below(200)) * US;
        p.bytes[i] = (1 + below(3)) << 20;
        p.transfer[i] = (10 + below(90)) * US + p.bytes[i] / 100;
    }
    return p;
}

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A collective of so many elements of four bytes. */
typedef struct collective {
    const char *kernel, *name, *group;
    int64_t elements, members, seq;
} collective;

static void add_collective(builder *b, const collective *c, int64_t start, int64_t end, int64_t correlation)
{
    add_kernel(b, c->kernel, 0, 20, start, end - start, correlation);
    add_text(b, RS_COL_COLLECTIVE, c->name);
    add_text(b, RS_COL_DTYPE, "Float");
    add_text(b, RS_COL_GROUP_NAME, c->group);
    add_arg(b, RS_COL_IN_NELEMS, c->elements);
    add_arg(b, RS_COL_OUT_NELEMS, c->elements);
    add_arg(b, RS_COL_GROUP_SIZE, c->members);
    add_arg(b, RS_COL_SEQ, c->seq);
}

static const rs_skeleton *skeleton_of(builder *b)
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

/* What is asked of a job whose ranks are there. */
static void join_job(job *j)
{
    const rs_engine_how how = {.clocks = RS_CLOCKS_ENDS, .infer = true};
    assert_int_equal(rs_engine_join(j->ranks, j->n, &how, &j->e, NULL), RS_OK);
    assert_int_equal(rs_weights_recorded(&j->e, RS_EDGES_ALL, &j->w, NULL), RS_OK);
    assert_int_equal(rs_engine_replay(&j->e, &j->w, &j->t, NULL), RS_OK);
    assert_int_equal(rs_roles_find(j->ranks, j->n, &j->roles, NULL), RS_OK);
}

static void open_job(job *j, const plan *p)
{
    int64_t host[RANKS] = {0}, step[RANKS], gpu[RANKS] = {0}, net[RANKS] = {0}, ready[RANKS];
    uint32_t row[RANKS];
    builder b[RANKS];
    *j = (job){.n = p->n_ranks, .rank_of = {0, 1, 2}};
    for (size_t r = 0; r < j->n; r++) {
        b[r] = builder_create();
        if (p->host[r])
            b[r].e->info.host_name = rs_strings_add(&b[r].e->strings, p->host[r], strlen(p->host[r]));
    }
    for (int i = 0; i < MEETINGS; i++) {
        int64_t met = 0;
        for (size_t r = 0; r < j->n; r++) {
            char name[24];
            snprintf(name, sizeof name, "ProfilerStep#%d", i / LAYERS);
            if (i % LAYERS == 0)
                row[r] = add_row(&b[r], 'X', "user_annotation", name, MAIN, MAIN, step[r] = host[r], 1);
            for (int k = 0; k < 2; k++) {
                add_row(&b[r], 'X', "cuda_runtime", "cudaLaunchKernel", MAIN, MAIN,
                        host[r] + 2 * US * p->times, 5 * US * p->times);
                add_arg(&b[r], RS_COL_CORRELATION, 2 * i + k + 1);
                host[r] += 8 * US * p->times;
                if (k) continue;
                gpu[r] = max(gpu[r] + US * p->times, host[r]);
                add_kernel(&b[r], "gemm", 0, 7, gpu[r], p->work[r][i] * p->times, 2 * i + 1);
                gpu[r] += p->work[r][i] * p->times;
            }
            ready[r] = max(max(net[r], gpu[r]) + US * p->times, host[r]);
            met = max(met, ready[r]);
        }
        for (size_t r = 0; r < j->n; r++) {
            net[r] = met + (p->transfer[i] + (r == (size_t)i % RANKS ? p->stays : 0)) * p->times;
            const collective c = {"ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                                  "allreduce",
                                  "g",
                                  p->bytes[i] / 4,
                                  (int64_t)p->n_ranks,
                                  i + 1};
            add_collective(&b[r], &c, ready[r], net[r], 2 * i + 2);
            if (i % LAYERS < LAYERS - 1) continue;
            const int64_t over = max(gpu[r], net[r]) + 4 * US * p->times;
            add_row(&b[r], 'X', "cuda_runtime", "cudaDeviceSynchronize", MAIN, MAIN, host[r], over - host[r]);
            b[r].e->duration[row[r]] = over + US * p->times - step[r];
            host[r] = over + 3 * US * p->times;
        }
    }
    for (size_t r = 0; r < j->n; r++) j->ranks[r] = skeleton_of(&b[r]);
    join_job(j);
    assert_int_equal(j->e.n_meetings, MEETINGS);
}

static void close_job(job *j)
{
    rs_roles_clear(&j->roles);
    rs_times_clear(&j->t);
    rs_weights_clear(&j->w);
    rs_engine_clear(&j->e);
    for (size_t i = 0; i < j->n; i++) rs_skeleton_free((void *)j->ranks[i]);
}

/* ---- replay -------------------------------------------------------------------------------------------- */

/* Nothing starts or ends earlier than before. */
static void check_no_earlier(const job *j, rs_times *scratch)
{
    assert_int_equal(rs_engine_replay_again(&j->e, &j->w, scratch, NULL), RS_OK);
    for (uint32_t i = 0; i < j->e.n_nodes; i++)
        if (scratch->start[i] < j->t.start[i] || scratch->end[i] < j->t.end[i])
            fail_msg("node %u came earlier", i);
}

static void test_longer_never_shortens(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const plan p = plan_of(seed);
        job j;
        rs_times t;
        int64_t worst;
        open_job(&j, &p);
        assert_int_equal(rs_engine_deviations(&j.e, &j.t, &worst), 0);
        assert_int_equal(rs_engine_replay(&j.e, &j.w, &t, NULL), RS_OK);
        for (uint32_t k = 0; k < j.e.n_edges; k++) {
            const int64_t was = j.w.edge[k], more = 1 + below(300 * US);
            if (was == RS_NO_EDGE) continue;
            j.w.edge[k] = was + more;
            check_no_earlier(&j, &t);
            j.w.edge[k] = was;
        }
        for (uint32_t i = 0; i < j.e.n_nodes; i++) {
            if (!rs_skeleton_is_work(j.ranks[rs_engine_rank_of(&j.e, i)],
                                     i - j.e.node_base[rs_engine_rank_of(&j.e, i)]))
                continue;
            j.w.work[i] += 70 * US;
            check_no_earlier(&j, &t);
            assert_true(t.end[i] == j.t.end[i] + 70 * US);
            j.w.work[i] -= 70 * US;
        }
        for (size_t k = 0; k < j.e.n_meetings; k++) {
            const rs_meeting *m = &j.e.meetings[k];
            j.w.transfer[k] += 90 * US;
            check_no_earlier(&j, &t);
            for (uint32_t i = m->first; i < m->first + m->n; i++)
                assert_true(t.end[j.e.members[i]] == j.t.end[j.e.members[i]] + 90 * US);
            j.w.transfer[k] -= 90 * US;
        }
        rs_times_clear(&t);
        close_job(&j);
    }
}

/* All times twice as long: every time is, and what held a node up is the same. */
static void test_twice_as_long(void **state)
{
    (void)state;
    plan p = plan_of(4);
    job one, two;
    open_job(&one, &p);
    p.times = 2;
    open_job(&two, &p);
    assert_int_equal(one.e.n_edges, two.e.n_edges);
    for (uint32_t i = 0; i < one.e.n_nodes; i++) {
        assert_int_equal(2 * one.t.start[i], two.t.start[i]);
        assert_int_equal(2 * one.t.end[i], two.t.end[i]);
        assert_int_equal(one.t.cause[i], two.t.cause[i]);
    }
    close_job(&one);
    close_job(&two);
}

/* Ranks in another order: the same times. */
static void test_order_of_ranks(void **state)
{
    (void)state;
    const plan p = plan_of(5);
    plan turned = p;
    job one, other;
    for (size_t r = 0; r < RANKS; r++) memcpy(turned.work[(r + 1) % RANKS], p.work[r], sizeof p.work[r]);
    open_job(&one, &p);
    open_job(&other, &turned);
    for (size_t r = 0; r < RANKS; r++) {
        const uint32_t a = one.e.node_base[r], b = other.e.node_base[(r + 1) % RANKS];
        assert_int_equal(one.ranks[r]->n, other.ranks[(r + 1) % RANKS]->n);
        for (uint32_t i = 0; i < one.ranks[r]->n; i++) {
            assert_int_equal(one.t.start[a + i], other.t.start[b + i]);
            assert_int_equal(one.t.end[a + i], other.t.end[b + i]);
        }
    }
    close_job(&one);
    close_job(&other);
}

/* ---- questions ----------------------------------------------------------------------------------------- */

/* A list of numbers is one of stretches, and each is selected once. */
static void test_lists_of_numbers(void **state)
{
    (void)state;
    static const struct {
        int64_t numbers[6];
        size_t n;
        const char *text;
    } cases[] = {{{5}, 1, "rank=5"},
                 {{0, 1, 2, 3}, 4, "rank=0-3"},
                 {{0, 2, 4}, 3, "rank=0|2|4"},
                 {{1, 2, 5, 6, 7, 9}, 6, "rank=1-2|5-7|9"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rs_what_if q = {0};
        rs_text text = {0};
        rs_selector_numbers(rs_what_if_scale_by(&q, 0.5), RS_SELECT_RANK, cases[i].numbers, cases[i].n);
        assert_int_equal(rs_what_if_check(&q, NULL), RS_OK);
        rs_what_if_print(&q, &text);
        assert_non_null(strstr(rs_text_get(&text), cases[i].text));
        assert_int_equal(rs_text_get(&text)[strlen("scale ") + strlen(cases[i].text)], '=');
        rs_text_clear(&text);
        rs_what_if_clear(&q);
    }
}

/* When all is over under a question, at an end of what is not known (rs_edit_end); `w`: what it makes of the weights, NULL: not wanted. */
static int64_t length_under(const job *j, const char *question, int end, rs_weights *w)
{
    rs_what_if q;
    rs_weights own;
    rs_times t;
    size_t n;
    int64_t ends[RANKS * STEPS], last = 0;
    if (!w) w = &own;
    assert_int_equal(rs_what_if_parse(question, &q, NULL), RS_OK);
    for (size_t i = 0; i < q.n; i++) q.edits[i].end = (uint8_t)end;
    assert_int_equal(rs_weights_copy(&j->e, &j->w, w, NULL), RS_OK);
    assert_int_equal(rs_what_if_apply(&q, &j->e, &j->roles, j->rank_of, w, &n, NULL), RS_OK);
    if (n == 0) fail_msg("%s changes nothing", question);
    assert_int_equal(rs_engine_replay(&j->e, w, &t, NULL), RS_OK);
    rs_engine_step_ends(&j->e, &t, ends);
    for (size_t r = 0; r < j->n; r++) last = max(last, ends[j->e.step_base[r + 1] - 1]);
    rs_times_clear(&t);
    rs_what_if_clear(&q);
    if (w == &own) rs_weights_clear(w);
    return last;
}

static void test_questions_in_order(void **state)
{
    (void)state;
    /* each line from the shortest to the longest; 1 is as recorded */
    static const char *const lines[][5] = {
        {"scale name=gemm=0", "scale name=gemm=0.5", "scale name=gemm=1", "scale name=gemm=1.2",
         "scale name=gemm=3"},
        {"scale class=communication=0", "scale class=communication=0.5", "scale class=communication=1",
         "scale class=communication=1.5", "scale class=communication=4"},
        {"network*8", "network*2", "network*1", "network*0.8", "network*0.1"},
        {"scale part=host=none", "scale part=host=0.5", "scale part=host=1", "scale part=host=3",
         "scale part=host=50"},
        {"group-size g:2", "group-size g:2", "group-size g:3", "group-size g:5", "group-size g:64"}};
    for (uint64_t seed = 6; seed < 9; seed++) {
        const plan p = plan_of(seed);
        job j;
        open_job(&j, &p);
        for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
            for (int grows = 0; grows < 2; grows++) {
                int64_t was = 0;
                for (int i = 0; i < 5; i++) {
                    const int64_t now = length_under(&j, lines[k][i], grows, NULL);
                    if (now < was) fail_msg("%s is shorter than what comes before it", lines[k][i]);
                    if (i == 2) assert_int_equal(now, length_under(&j, "scale name=gemm=1", false, NULL));
                    was = now;
                }
            }
        close_job(&j);
    }
}

typedef struct merged {
    const char *hosts[2];
    int64_t transfer_us;
    double least_us,
        most_us; /* that grow of each of three with its size on the fastest links, and on slow ones; negative: all */
    bool by_hosts; /* hosts run it: nothing is known of what it goes over */
} merged;

/* Three transfers of 4.5 MB become one: what grows of three, and the mean of what does not. How fast the links are is not known: the usual ones are in
 * the middle of the slowest and the fastest. */
static void test_coalesce_bounds(void **state)
{
    (void)state;
    static const merged cases[] = {
        {{"a", "a"}, 200, 10, 45, false},
        {{NULL, NULL}, 200, 10, 45, false}, /* two ranks fit one host */
        {{"a", "a"}, 40, 10, 40, false},    /* faster than the slow links: all of it grows */
        {{"a", "b"}, 250, 90, 180, false},
        {{"a", "b"}, 50, 10, 50, false}, /* faster than any link between hosts that is known */
        {{"a", "b"}, 250, 0, 250, true}};
    static const int ends[] = {RS_END_NONE, RS_END_OTHER, RS_END_SHORT};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int end = 0; end < 3; end++) {
            const merged *c = &cases[i];
            const double middle = c->by_hosts ? 0 : sqrt(c->least_us * (c->least_us > 45 ? 180 : 45)),
                         grows = ends[end] == RS_END_OTHER   ? c->most_us
                                 : ends[end] == RS_END_SHORT ? c->least_us
                                                             : middle;
            const int64_t want = (int64_t)((3 * grows + (double)c->transfer_us - grows) * US);
            plan p = plan_of(9);
            job j;
            rs_weights w;
            p.n_ranks = 2;
            for (int k = 0; k < MEETINGS; k++) {
                p.transfer[k] = c->transfer_us * US;
                p.bytes[k] = 4500000;
            }
            for (size_t r = 0; r < 2; r++) p.host[r] = c->hosts[r];
            open_job(&j, &p);
            for (size_t k = 0; k < j.e.coll.n; k++) j.e.coll.instances[k].on_host = c->by_hosts;
            length_under(&j, "coalesce g:1000000000", ends[end], &w);
            for (int k = 0; k < MEETINGS; k++) /* what the step's last waits for nothing but its end */
                assert_in_range(w.transfer[k], k % LAYERS < LAYERS - 1 ? 0 : want - 5,
                                k % LAYERS < LAYERS - 1 ? 0 : want + 5);
            rs_weights_clear(&w);
            length_under(&j, "coalesce g:9000000", ends[end], &w); /* room for two */
            for (int k = 0; k < MEETINGS; k++)
                assert_true(k % LAYERS == 0   ? w.transfer[k] == 0
                            : k % LAYERS == 2 ? w.transfer[k] == c->transfer_us * US
                                              : w.transfer[k] > c->transfer_us * US / 2);
            rs_weights_clear(&w);
            close_job(&j);
        }
}

/* What takes longer by chance takes longer in both parts: merged, three that take 100, 200 and 300 us take a share of all, and of their mean. */
static void test_coalesced_by_chance(void **state)
{
    (void)state;
    plan p = plan_of(9);
    job j;
    rs_weights w;
    p.n_ranks = 2;
    for (int k = 0; k < MEETINGS; k++) {
        p.transfer[k] = (1 + k % LAYERS) * 100 * US;
        p.bytes[k] = 4500000;
    }
    open_job(&j, &p);
    length_under(&j, "coalesce g:1000000000", RS_END_NONE, &w);
    const double grows = sqrt(10 * 45) / 200; /* of the median */
    const int64_t want = (int64_t)((600 * grows + 200 * (1 - grows)) * US);
    assert_in_range(w.transfer[LAYERS - 1], want - 5, want + 5);
    rs_weights_clear(&w);
    close_job(&j);
}

/* Of what is merged into the last one no kernel is left: what comes before it on its stream and what comes after it follow each other at once. */
static void check_gone(const job *j, const rs_weights *w, const rs_meeting *m, size_t *longer)
{
    for (uint32_t i = m->first; i < m->first + m->n; i++) {
        const uint32_t node = j->e.members[i];
        const size_t r = rs_engine_rank_of(&j->e, node);
        const rs_skeleton *s = j->ranks[r];
        const uint32_t local = node - j->e.node_base[r];
        *longer += j->w.work[node] > 0;
        assert_int_equal(w->work[node], 0);
        for (uint32_t k = rs_skeleton_first(s, local); k < rs_skeleton_first(s, local + 1); k++)
            if (rs_edge_cost(s, k) >= RS_COST_STREAM && rs_edge_cost(s, k) < RS_COST_EVENT)
                assert_true(w->edge[j->e.edge_base[r] + k] <= 0);
    }
}

static void test_coalesced_are_gone(void **state)
{
    (void)state;
    plan p = plan_of(9);
    job j;
    rs_weights w;
    size_t longer = 0;
    p.stays = 3 * US;
    open_job(&j, &p);
    length_under(&j, "coalesce g:1000000000", RS_END_NONE, &w);
    for (int k = 0; k < MEETINGS; k++)
        if (k % LAYERS < LAYERS - 1) check_gone(&j, &w, &j.e.meetings[k], &longer);
    assert_true(longer >= 4);
    rs_weights_clear(&w);
    close_job(&j);
}

/* Transfers of 50 us and a ns for 100 bytes, of three sizes or of one: what a question makes of the first. A ring of six has 5 turns where one of three
 * has 2, of half as much each. */
static void test_what_grows(void **state)
{
    (void)state;
    static const struct {
        const char *question;
        bool one_size, grows;
        int64_t fixed, growing; /* of a thousand */
        int64_t certain;        /* ns that grow on the fastest links, too: they do not take all turns */
    } cases[] = {{"network*2", false, false, 1000, 500, 0},
                 {"network*2", false, true, 500, 500, 0},
                 {"network*2", true, true, 500, 500, 0},
                 {"network*2", true, false, 1000, 1000, 0}, /* none grows for certain */
                 {"group-size g:6", false, false, 2500, 1250, 0},
                 {"group-size g:6", false, true, 2500, 1250, 0},
                 {"group-size g:6", true, false, 1250, 1250, 0},
                 {"group-size g:6", true, true, 2500, 2500, 11851}, /* 4 MB x 4/3 at 450 GB/s */
                 {"payload g*3", false, false, 1000, 3000, 0},
                 {"payload g*3", true, true, 1000, 1000, -18962}}; /* ... grow to three times as much */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plan p = plan_of(31);
        job j;
        rs_weights w;
        for (int k = 0; k < MEETINGS; k++) {
            p.bytes[k] = (cases[i].one_size ? 1 : 1 + k % 3) * 4000000;
            p.transfer[k] = 50 * US + p.bytes[k] / 100;
        }
        open_job(&j, &p);
        length_under(&j, cases[i].question, cases[i].grows, &w);
        const int64_t want = 50 * cases[i].fixed + 40 * cases[i].growing - cases[i].certain * 5 / 4;
        assert_in_range(w.transfer[0], want - 1, want + 1);
        rs_weights_clear(&w);
        close_job(&j);
    }
}

/* Transfers of three sizes, of which the largest took longer now and then: the latency is that of the line whose relative distances are least, at most two
 * standard errors more. */
static void test_fit_by_relative_distance(void **state)
{
    (void)state;
    plan p = plan_of(32);
    double w = 0, b = 0, t = 0, bb = 0, bt = 0, rest = 0;
    for (int k = 0; k < MEETINGS; k++) {
        p.bytes[k] = (1 + k % 3) * 4000000;
        p.transfer[k] = 50 * US + p.bytes[k] / 100 + (k == 2 ? 60 * US : 0);
        const double each = 1 / ((double)p.transfer[k] * (double)p.transfer[k]);
        w += each;
        b += each * (double)p.bytes[k];
        t += each * (double)p.transfer[k];
    }
    for (int k = 0; k < MEETINGS; k++) {
        const double each = 1 / ((double)p.transfer[k] * (double)p.transfer[k]),
                     x = (double)p.bytes[k] - b / w;
        bb += each * x * x;
        bt += each * x * (double)p.transfer[k];
    }
    const double slope = bt / bb, latency = (t - slope * b) / w;
    for (int k = 0; k < MEETINGS; k++) {
        const double off = (double)p.transfer[k] - latency - slope * (double)p.bytes[k];
        rest += off * off / ((double)p.transfer[k] * (double)p.transfer[k]);
    }
    const double error = sqrt(rest / (MEETINGS - 2) * (1 / w + b / w * b / w / bb));
    for (int most = 0; most < 2; most++) {
        const double fixed = fmin(latency + 2 * most * error, (double)p.transfer[0]);
        job j;
        rs_weights of;
        open_job(&j, &p);
        length_under(&j, "group-size g:6", most, &of);
        const int64_t want = (int64_t)(2.5 * fixed + 1.25 * ((double)p.transfer[0] - fixed));
        assert_in_range(of.transfer[0], want - 2, want + 2);
        rs_weights_clear(&of);
        close_job(&j);
    }
}

/* One takes no longer than its parts did, and no less than the longest of them needs; of one size, which differ by chance, than the mean. */
static void test_coalesced_between_parts(void **state)
{
    (void)state;
    for (uint64_t seed = 10; seed < 30; seed++)
        for (int grows = 0; grows < 2; grows++) {
            plan p = plan_of(seed);
            job j;
            rs_weights w;
            for (int i = 0; i < MEETINGS; i++)
                if (seed % 2) p.bytes[i] = 1 << 20; /* of one size, which shows no latency */
            open_job(&j, &p);
            length_under(&j, "coalesce g:1000000000", grows, &w);
            for (int step = 0; step < STEPS; step++) {
                int64_t was = 0, longest = 0, now = 0;
                for (int k = step * LAYERS; k < (step + 1) * LAYERS; k++) {
                    was += j.w.transfer[k];
                    longest = max(longest, j.w.transfer[k]);
                    now += w.transfer[k];
                }
                assert_true(now <= was && now >= (seed % 2 ? was / LAYERS : longest));
            }
            rs_weights_clear(&w);
            close_job(&j);
        }
}

/* ---- experts ------------------------------------------------------------------------------------------- */

typedef struct exchanges {
    int64_t load[MEMBERS]; /* of each rank's experts in step 0, us; each step 10 us more */
    int64_t counts;        /* elements of an exchange before each dispatch; the others have 1000 */
    bool open;             /* the last step has no combine */
} exchanges;

static void add_exchange(builder *b, int64_t elements, int64_t seq, int64_t start, int64_t end,
                         int64_t correlation)
{
    const collective c = {"ncclDevKernel_SendRecv", "all_to_allv", "x", elements, MEMBERS, seq};
    add_collective(b, &c, start, end, correlation);
}

/* A step on one stream: what counts tokens, 20 us; "before"; a dispatch; "experts", in two halves; a combine; "after". */
static const rs_skeleton *make_exchanges(const exchanges *x, size_t rank)
{
    builder b = builder_create();
    for (int step = 0; step < STEPS; step++) {
        char name[24];
        const int64_t t = step * 2000 * US, load = (x->load[rank] + 10 * step) * US, met = t + 150 * US;
        int64_t c = 10 * step + 1, at = t + 50 * US;
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        add_row(&b, 'X', "user_annotation", name, MAIN, MAIN, t, 1990 * US);
        for (int k = 0; k < 7; k++) add_call(&b, "cudaLaunchKernel", MAIN, t + (5 + 5 * k) * US, c + k);
        add_exchange(&b, x->counts, 3 * step + 1, at, at + 20 * US, c);
        add_kernel(&b, "before", 0, 20, at + 21 * US, 30 * US, c + 1);
        add_exchange(&b, 1000, 3 * step + 2, at + 52 * US, met, c + 2);
        at = met + US;
        for (int k = 0; k < 2; k++, at += load / 2 + US)
            add_kernel(&b, "experts", 0, 20, at, load / 2, c + 3 + k);
        if (!x->open || step < STEPS - 1) add_exchange(&b, 1000, 3 * step + 3, at, t + 1500 * US, c + 5);
        add_kernel(&b, "after", 0, 20, t + 1501 * US, 40 * US, c + 6);
        add_row(&b, 'X', "cuda_runtime", "cudaDeviceSynchronize", MAIN, MAIN, t + 45 * US, 1500 * US);
    }
    return skeleton_of(&b);
}

/* What experts take on so many ranks, us in step 0 (each step 10 us more): with no end asked, at the short one and at
 * the long one. */
static void check_experts(const exchanges *x, int n, const double *const wanted[3])
{
    static const uint8_t ends[] = {RS_END_NONE, RS_END_SHORT, RS_END_LONG};
    job j = {.n = MEMBERS, .rank_of = {0, 1, 2, 3}};
    rs_weights w;
    rs_what_if q;
    char question[24];
    for (size_t r = 0; r < MEMBERS; r++) j.ranks[r] = make_exchanges(x, r);
    join_job(&j);
    snprintf(question, sizeof question, "experts x:%d", n);
    assert_int_equal(rs_what_if_parse(question, &q, NULL), RS_OK);
    for (size_t end = 0; end < 3; end++) {
        size_t changed, seen = 0;
        q.edits[0].end = ends[end];
        assert_int_equal(rs_weights_copy(&j.e, &j.w, &w, NULL), RS_OK);
        assert_int_equal(rs_what_if_apply(&q, &j.e, &j.roles, j.rank_of, &w, &changed, NULL), RS_OK);
        for (size_t r = 0; r < MEMBERS; r++)
            for (uint32_t i = 0; i < j.ranks[r]->n; i++) {
                const rs_skeleton *s = j.ranks[r];
                const uint32_t node = j.e.node_base[r] + i;
                if (!rs_skeleton_is_work(s, i)) continue;
                if (strcmp(rs_pool_text(&s->pool, rs_skeleton_at(s, i)->name), "experts") != 0) {
                    assert_int_equal(w.work[node], j.w.work[node]);
                    continue;
                }
                const bool kept = x->open && rs_skeleton_step_of(s, i) == STEPS - 1;
                const double us =
                    (kept ? (double)x->load[r] : wanted[end][r]) + 10 * rs_skeleton_step_of(s, i);
                assert_in_range(w.work[node] + 1, (int64_t)(us * US / 2), (int64_t)(us * US / 2) + 2);
                seen++;
            }
        assert_int_equal(seen, 2 * STEPS * MEMBERS);
        rs_weights_clear(&w);
    }
    rs_what_if_clear(&q);
    close_job(&j);
}

/* On fewer ranks neighbours' experts take their mean, and each group of so many ranks has them all. On more each keeps
 * its own, or all take the mean at best, or what a rank has beyond the mean is one part's at worst. What counts tokens
 * is no dispatch; a dispatch without a combine changes nothing. */
static void test_experts(void **state)
{
    (void)state;
    static const double one[] = {350, 350, 350, 350}, two[] = {200, 500, 200, 500},
                        same[] = {100, 300, 400, 600}, twice[] = {100, 300, 450, 850};
    for (int kind = 0; kind < 3; kind++) {
        const exchanges x = {{100, 300, 400, 600}, kind ? 99 : 50, kind == 2};
        check_experts(&x, 1, (const double *[]){one, one, one});
        check_experts(&x, 2, (const double *[]){two, two, two});
        check_experts(&x, 4, (const double *[]){same, same, same});
        check_experts(&x, 8, (const double *[]){same, one, twice});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longer_never_shortens),
        cmocka_unit_test(test_twice_as_long),
        cmocka_unit_test(test_order_of_ranks),
        cmocka_unit_test(test_lists_of_numbers),
        cmocka_unit_test(test_questions_in_order),
        cmocka_unit_test(test_coalesce_bounds),
        cmocka_unit_test(test_what_grows),
        cmocka_unit_test(test_fit_by_relative_distance),
        cmocka_unit_test(test_coalesced_between_parts),
        cmocka_unit_test(test_coalesced_by_chance),
        cmocka_unit_test(test_coalesced_are_gone),
        cmocka_unit_test(test_experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
