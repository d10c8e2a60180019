/* Clocks: slopes against trying all pairs of bounds; jobs whose clocks are known; every allocation failing.
 */
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "clock/clocks.h"
#include "clock/collective_clocks.h"
#include "clock/hosts.h"
#include "clock/hull.h"
#include "support.h"

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* ---- slopes ------------------------------------------------------------------------------------------- */

TEST(test_slopes)
{
    uint64_t random = 5;
    int passed = 0, refused = 0;
    for (int turn = 0; turn < 3000; turn++) {
        rs_clock_bound items[24];
        size_t n = 2 + next(&random) % 22, scratch[24];
        int64_t at = 0;
        for (size_t i = 0; i < n; i++) {
            at += (int64_t)(next(&random) % 4); /* some at the same moment */
            int64_t middle = at / 3 + (int64_t)(next(&random) % 9) - 4;
            items[i] = (rs_clock_bound){at, middle - (int64_t)(next(&random) % 12),
                                        middle + (int64_t)(next(&random) % 12)};
        }
        double least = -INFINITY, greatest = INFINITY, low, high;
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < n; b++) {
                if (items[a].at >= items[b].at) continue;
                double dt = (double)(items[b].at - items[a].at);
                greatest = fmin(greatest, (double)(items[b].high - items[a].low) / dt);
                least = fmax(least, (double)(items[b].low - items[a].high) / dt);
            }
        bool can = isfinite(least) && isfinite(greatest) && least <= greatest;
        assert_int_equal(rs_clock_slopes(items, n, scratch, &low, &high), can);
        if (can) {
            assert_true(fabs(low - least) < 1e-9 && fabs(high - greatest) < 1e-9);
            passed++;
        } else {
            refused++;
        }
    }
    assert_true(passed > 300 && refused > 300);
}

/* ---- jobs --------------------------------------------------------------------------------------------- */

typedef struct world {
    rs_coll_rank **ranks;
    size_t n;
} world;

static void world_clear(world *w)
{
    for (size_t i = 0; i < w->n; i++) rs_coll_rank_free(w->ranks[i]);
    free(w->ranks);
}

/* All-reduces of one group of all ranks. The clock of rank r is ahead by offset * r and gains ppm * r. */
static world world_make(size_t n, size_t collectives, int64_t every, int64_t offset, double ppm)
{
    world w = {calloc(n, sizeof *w.ranks), n};
    uint64_t random = 3;
    uint32_t group = 0;
    for (size_t r = 0; r < n; r++) {
        w.ranks[r] = rs_calloc(1, sizeof **w.ranks);
        assert_non_null(w.ranks[r]);
        assert_true(rs_pool_init(&w.ranks[r]->pool));
        group = rs_strings_add(&w.ranks[r]->pool.strings, "dp", 2);
        w.ranks[r]->base_time_ns = RS_NO_VALUE;
        w.ranks[r]->host = RS_NO_STRING;
    }
    for (size_t i = 0; i < collectives; i++) {
        int64_t ready = (int64_t)i * every, end = ready + 30000;
        size_t last = next(&random) % n;
        for (size_t r = 0; r < n; r++) {
            int64_t start = r == last ? ready : ready - (int64_t)(next(&random) % 20000);
            int64_t ahead = offset * (int64_t)r;
            double drift = ppm * (double)r / 1e6;
            const rs_coll_op op = {.start = start + ahead + (int64_t)(drift * (double)start),
                                   .end = end + ahead + (int64_t)(drift * (double)end),
                                   .seq = (int64_t)i + 1,
                                   .step = -1};
            const rs_coll_shape shape = {.group_size = (int64_t)n,
                                         .in_elements = i % 3 ? 1000 : 100000,
                                         .out_elements = -1,
                                         .source = -1,
                                         .target = -1,
                                         .kind = RS_COLL_ALL_REDUCE,
                                         .stream = 7,
                                         .group = group,
                                         .description = RS_NO_STRING,
                                         .members = RS_NO_STRING,
                                         .name = RS_NO_STRING,
                                         .dtype = RS_NO_STRING};
            assert_true(rs_coll_rank_add(w.ranks[r], op, &shape));
        }
    }
    return w;
}

static rs_status find(const world *w, rs_coll_job *job, rs_clocks *clocks, rs_error *err)
{
    rs_status status = rs_clock_match((const rs_coll_rank *const *)w->ranks, w->n, true, job, err);
    if (status != RS_OK) return status;
    status = rs_clocks_find(job, NULL, clocks, err);
    if (status != RS_OK) rs_coll_job_clear(job);
    return status;
}

TEST(test_offsets_and_drift)
{
    world w = world_make(5, 400, 25000000, 700000, 8);
    rs_coll_job job;
    rs_clocks clocks;
    assert_int_equal(find(&w, &job, &clocks, NULL), RS_OK);
    for (size_t r = 1; r < w.n; r++) {
        const rs_clock *c = &clocks.of[r];
        double truth = 700000.0 * (double)r + 8e-6 * (double)r * (double)clocks.at;
        assert_int_equal(c->status, RS_CLOCK_LIKELY);
        assert_true((double)c->certain_low <= truth && truth <= (double)c->certain_high);
        assert_true((double)c->low <= truth && truth <= (double)c->high);
        assert_true(c->certain_high - c->certain_low < 200000);
        assert_false(c->drift_assumed);
        assert_true(c->drift_low <= 8.0 * (double)r && 8.0 * (double)r <= c->drift_high);
        assert_true(c->drift_high - c->drift_low < 16);
        assert_int_equal(c->n_set_aside, 0);
    }
    rs_clocks_clear(&clocks);
    rs_coll_job_clear(&job);
    world_clear(&w);
}

TEST(test_wrong_matches)
{
    world w = world_make(4, 300, 1000000, 50000, 0);
    rs_coll_op *ops = w.ranks[2]->ops; /* two neighbours swap numbers, one has a number of its own */
    ops[100].seq = 102;
    ops[101].seq = 101;
    ops[200].seq = 9999;
    rs_coll_job job;
    rs_clocks clocks;
    assert_int_equal(find(&w, &job, &clocks, NULL), RS_OK);
    for (size_t r = 1; r < w.n; r++) {
        const rs_clock *c = &clocks.of[r];
        assert_true(c->certain_low <= 50000 * (int64_t)r && 50000 * (int64_t)r <= c->certain_high);
        assert_true(c->low <= 50000 * (int64_t)r && 50000 * (int64_t)r <= c->high);
    }
    assert_int_equal(clocks.of[2].n_set_aside, 2);
    assert_int_equal(clocks.of[3].n_set_aside, 0);
    rs_clocks_clear(&clocks);
    rs_coll_job_clear(&job);
    world_clear(&w);
}

TEST(test_contradiction)
{
    world w = world_make(2, 4, 1000000, 0, 0);
    for (size_t i = 0; i < 2;
         i++) { /* over on one rank before the other came: no clocks explain both halves */
        w.ranks[1]->ops[i].start += 400000;
        w.ranks[1]->ops[i].end += 400000;
    }
    rs_coll_job job;
    rs_clocks clocks;
    assert_int_equal(find(&w, &job, &clocks, NULL), RS_OK);
    assert_true(clocks.of[1].status == RS_CLOCK_CONTRADICTORY || clocks.of[1].n_set_aside > 0);
    rs_clocks_clear(&clocks);
    rs_coll_job_clear(&job);
    world_clear(&w);
}

TEST(test_unbound)
{
    world w = world_make(3, 50, 1000000, 0, 0);
    for (size_t i = 0; i < 50; i++) w.ranks[2]->ops[i].seq += 1000;
    rs_coll_job job;
    rs_clocks clocks;
    assert_int_equal(find(&w, &job, &clocks, NULL), RS_OK);
    assert_int_equal(clocks.of[2].status, RS_CLOCK_UNBOUND);
    assert_true(clocks.of[2].offset == RS_NO_TIME && clocks.of[2].low == RS_NO_TIME);
    assert_int_equal(clocks.of[1].status, RS_CLOCK_LIKELY);
    rs_clocks_clear(&clocks);
    rs_coll_job_clear(&job);
    world_clear(&w);
}

/* Four ranks in two groups of two each way: the pairs that share one, by their ranks. */
TEST(test_pairs_of_groups)
{
    static const uint32_t wanted[][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
    world w = {calloc(4, sizeof *w.ranks), 4};
    for (size_t r = 0; r < 4; r++) {
        w.ranks[r] = rs_calloc(1, sizeof **w.ranks);
        assert_non_null(w.ranks[r]);
        assert_true(rs_pool_init(&w.ranks[r]->pool));
        w.ranks[r]->base_time_ns = RS_NO_VALUE;
        w.ranks[r]->host = RS_NO_STRING;
        for (int64_t i = 0; i < 40; i++) {
            char name[16];
            snprintf(name, sizeof name, i % 2 ? "rows %zu" : "columns %zu", i % 2 ? r / 2 : r % 2);
            const rs_coll_op op = {.start = i * 100000 + (int64_t)r * 1000,
                                   .end = i * 100000 + 50000 + (int64_t)r * 1000,
                                   .seq = i};
            const rs_coll_shape shape = {.group_size = 2,
                                         .in_elements = 10,
                                         .out_elements = 10,
                                         .source = -1,
                                         .target = -1,
                                         .group =
                                             rs_strings_add(&w.ranks[r]->pool.strings, name, strlen(name)),
                                         .description = RS_NO_STRING,
                                         .members = RS_NO_STRING,
                                         .name = RS_NO_STRING,
                                         .dtype = RS_NO_STRING,
                                         .kind = RS_COLL_ALL_REDUCE};
            assert_true(rs_coll_rank_add(w.ranks[r], op, &shape));
        }
    }
    rs_coll_job job;
    rs_clocks clocks;
    assert_int_equal(find(&w, &job, &clocks, NULL), RS_OK);
    assert_int_equal(clocks.n_pairs, 4);
    for (size_t p = 0; p < 4; p++) {
        assert_int_equal(clocks.pairs[p].a, wanted[p][0]);
        assert_int_equal(clocks.pairs[p].b, wanted[p][1]);
        assert_int_equal(clocks.pairs[p].n, 20);
    }
    for (uint32_t r = 1; r < 4; r++) assert_int_equal(clocks.of[r].offset, 1000 * (int64_t)r);
    rs_clocks_clear(&clocks);
    rs_coll_job_clear(&job);
    world_clear(&w);
}

TEST(test_memory)
{
    world w = world_make(3, 40, 1000000, 1000, 0);
    for (uint64_t n = 1;; n++) {
        rs_coll_job job;
        rs_clocks clocks;
        rs_test_fail_allocation(n);
        rs_status status = find(&w, &job, &clocks, NULL);
        rs_test_fail_allocation(0);
        if (status == RS_OK) {
            rs_clocks_clear(&clocks);
            rs_coll_job_clear(&job);
            assert_true(n > 20);
            break;
        }
        assert_int_equal(status, RS_ERR_NOMEM);
    }
    world_clear(&w);
}

TEST(test_host_in_name)
{
    const char *host;
    size_t n;
    assert_true(rs_host_in_name("dir/gpu-7_1234.1795316745448588107.pt.trace.json.gz", &host, &n));
    assert_int_equal(n, 5);
    assert_memory_equal(host, "gpu-7", 5);
    assert_true(rs_host_in_name("a_b_77.pt.trace.json", &host, &n));
    assert_int_equal(n, 3);
    assert_true(rs_host_in_name("h_7.pt.trace.json", &host, &n));
    assert_int_equal(n, 1);
    assert_false(rs_host_in_name("rank0.179.pt.trace.json", &host, &n));
    assert_false(rs_host_in_name("_12.1.pt.trace.json", &host, &n));
    assert_false(rs_host_in_name("rank0.json", &host, &n));
}

/* What is told by hand bounds a clock that nothing else ties, and never widens one; what contradicts the collectives
 * leaves no number. */
TEST(test_ties)
{
    world w = world_make(3, 50, 1000000, 500000, 0);
    for (size_t i = 0; i < 50; i++) w.ranks[2]->ops[i].seq += 1000;
    const rs_clock_tie good[] = {{0, 1, 495000, 503000}, {1, 2, 490000, 520000}};
    const rs_clock_tie wrong = {0, 1, 900000, 910000};
    const rs_clock_tie apart[] = {{0, 2, 0, 10}, {0, 2, 1000, 1010}};
    rs_clocks_settings settings = {RS_CLOCK_END_SKEW, good, 2};
    rs_coll_job job;
    rs_clocks clocks;
    assert_int_equal(rs_clock_match((const rs_coll_rank *const *)w.ranks, w.n, true, &job, NULL), RS_OK);
    assert_int_equal(rs_clocks_find(&job, &settings, &clocks, NULL), RS_OK);
    assert_int_equal(clocks.of[1].certain_low, 495000);
    assert_int_equal(clocks.of[1].certain_high, 503000);
    assert_int_equal(clocks.of[2].status, RS_CLOCK_CERTAIN);
    assert_int_equal(clocks.of[2].certain_low, 985000);
    assert_int_equal(clocks.of[2].certain_high, 1023000);
    rs_clocks_clear(&clocks);
    settings = (rs_clocks_settings){RS_CLOCK_END_SKEW, &wrong, 1};
    assert_int_equal(rs_clocks_find(&job, &settings, &clocks, NULL), RS_OK);
    assert_int_equal(clocks.of[1].status, RS_CLOCK_CONTRADICTORY);
    assert_true(clocks.of[1].low == RS_NO_TIME);
    rs_clocks_clear(&clocks);
    settings = (rs_clocks_settings){RS_CLOCK_END_SKEW, apart, 2};
    assert_int_equal(rs_clocks_find(&job, &settings, &clocks, NULL), RS_OK);
    assert_int_equal(clocks.of[2].status, RS_CLOCK_CONTRADICTORY);
    rs_clocks_clear(&clocks);
    rs_coll_job_clear(&job);
    world_clear(&w);
}

/* However clocks are set, the true distance of two of them lies within what they are said to be off by. */
TEST(test_trust)
{
    static const rs_clock_how hows[] = {RS_CLOCKS_ENDS, RS_CLOCKS_LIKELY, RS_CLOCKS_CERTAIN};
    const int64_t offset = 300000;
    world w = world_make(4, 60, 1000000, offset, 0);
    rs_coll_job job;
    rs_clock_trust trust;
    uint64_t random = 9;
    for (size_t r = 0; r < w.n; r++) /* ends of one kind scatter, those of the other less */
        for (size_t i = 0; i < 60; i++)
            w.ranks[r]->ops[i].end += (int64_t)(next(&random) % (i % 3 ? 4000 : 9000));
    for (size_t h = 0; h < 3; h++) {
        assert_int_equal(
            rs_clock_match_by((const rs_coll_rank *const *)w.ranks, w.n, hows[h], &job, &trust, NULL), RS_OK);
        assert_int_equal(trust.n, 3);
        assert_int_equal(trust.n_loose, 0);
        for (size_t a = 0; a < w.n; a++)
            for (size_t b = 0; b < w.n; b++) {
                int64_t off = (job.shift[b] + offset * (int64_t)b) - (job.shift[a] + offset * (int64_t)a);
                int64_t most = rs_clock_trust_between(&trust, a, b);
                assert_true(a == b ? most == 0 : most > 0 && most <= 2 * trust.width);
                assert_true(off <= most && -off <= most);
                assert_int_equal(most, rs_clock_trust_between(&trust, b, a));
            }
        rs_clock_trust_clear(&trust);
        rs_coll_job_clear(&job);
    }
    for (size_t i = 0; i < 60; i++) w.ranks[3]->ops[i].seq += 1000;
    assert_int_equal(
        rs_clock_match_by((const rs_coll_rank *const *)w.ranks, w.n, RS_CLOCKS_ENDS, &job, &trust, NULL),
        RS_OK);
    assert_int_equal(trust.n_loose, 1);
    assert_true(rs_clock_trust_between(&trust, 0, 3) == INT64_MAX);
    rs_clock_trust_clear(&trust);
    rs_coll_job_clear(&job);
    assert_int_equal(
        rs_clock_match_by((const rs_coll_rank *const *)w.ranks, w.n, RS_CLOCKS_FILE, &job, &trust, NULL),
        RS_OK);
    assert_true(!trust.of && rs_clock_trust_between(&trust, 0, 3) == 0);
    rs_clock_trust_clear(&trust);
    rs_coll_job_clear(&job);
    world_clear(&w);
}

/* Ranks that share collectives are told by these, not by the way over the reference. */
TEST(test_trust_of_pairs)
{
    world w = world_make(3, 80, 1000000, 300000, 0);
    uint64_t random = 9;
    rs_coll_job job;
    rs_clock_trust trust;
    for (size_t i = 0; i < 80; i++) { /* 0 and 1 are in every other one, 1 and 2 in the rest */
        for (size_t r = 0; r < w.n; r++)
            w.ranks[r]->ops[i].end += (int64_t)(next(&random) % (i % 3 ? 4000 : 9000));
        w.ranks[i % 2 ? 2 : 0]->ops[i].seq += i % 2 ? 1000 : 2000;
    }
    assert_int_equal(
        rs_clock_match_by((const rs_coll_rank *const *)w.ranks, w.n, RS_CLOCKS_LIKELY, &job, &trust, NULL),
        RS_OK);
    int64_t one = rs_clock_trust_between(&trust, 0, 1), two = rs_clock_trust_between(&trust, 1, 2),
            both = rs_clock_trust_between(&trust, 0, 2);
    assert_true(one > 0 && two > 0 && two < both && both < INT64_MAX);
    assert_true(two < 20000);
    rs_clock_trust_clear(&trust);
    rs_coll_job_clear(&job);
    world_clear(&w);
}

/* Of two jobs alike but for a drift the one that drifts is less sure, by what its clock surely moved. */
TEST(test_trust_drifts)
{
    int64_t most[2];
    for (int drifts = 0; drifts < 2; drifts++) {
        world w = world_make(2, 400, 25000000, 0, drifts ? 40 : 0);
        rs_coll_job job;
        rs_clock_trust trust;
        assert_int_equal(rs_clock_match_by((const rs_coll_rank *const *)w.ranks, w.n, RS_CLOCKS_LIKELY, &job,
                                           &trust, NULL),
                         RS_OK);
        most[drifts] = rs_clock_trust_between(&trust, 0, 1);
        rs_clock_trust_clear(&trust);
        rs_coll_job_clear(&job);
        world_clear(&w);
    }
    assert_true(most[0] < 60000); /* 40 ppm of half of 10 s are 200 us */
    assert_true(most[1] > 150000 && most[1] < 260000);
}

static rs_status read_hosts(const char *lines, rs_host_list *list, rs_error *err)
{
    char path[] = "/tmp/rankscope-hosts-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, lines, strlen(lines)), (ssize_t)strlen(lines));
    close(file);
    rs_status status = rs_hosts_read(path, list, err);
    unlink(path);
    return status;
}

TEST(test_host_list)
{
    static const char *const wrong[] = {
        "", "rank,host\n", "0 a\n", "0,\n", "0,a\nhost,1\n", "0,a\n1,b\n0,c\n", "99999999999,a\n"};
    rs_host_list list;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(read_hosts("rank,host\r\n# two\n\n 12 , node b \r\n3,a", &list, &err), RS_OK);
    assert_int_equal(list.n, 2);
    assert_string_equal(rs_hosts_find(&list, 12), "node b");
    assert_string_equal(rs_hosts_find(&list, 3), "a");
    assert_null(rs_hosts_find(&list, 0));
    rs_hosts_clear(&list);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(read_hosts(wrong[i], &list, &err), RS_ERR_FORMAT);
        rs_hosts_clear(&list);
    }
}

/* test_clocks RANKS COLLECTIVES: how long the clocks of so many take. */
static int measure(size_t ranks, size_t collectives)
{
    world w = world_make(ranks, collectives, 1000000, 1000, 0);
    rs_coll_job job;
    rs_clocks clocks;
    struct timespec t[3];
    clock_gettime(CLOCK_MONOTONIC, &t[0]);
    if (rs_clock_match((const rs_coll_rank *const *)w.ranks, w.n, true, &job, NULL) != RS_OK) return 1;
    clock_gettime(CLOCK_MONOTONIC, &t[1]);
    if (rs_clocks_find(&job, NULL, &clocks, NULL) != RS_OK) return 1;
    clock_gettime(CLOCK_MONOTONIC, &t[2]);
    printf("%zu arrivals: match %.2f s, clocks %.2f s; last clock within [%lld, %lld]\n", job.n_arrivals,
           (double)(t[1].tv_sec - t[0].tv_sec) + (double)(t[1].tv_nsec - t[0].tv_nsec) / 1e9,
           (double)(t[2].tv_sec - t[1].tv_sec) + (double)(t[2].tv_nsec - t[1].tv_nsec) / 1e9,
           (long long)clocks.of[ranks - 1].certain_low, (long long)clocks.of[ranks - 1].certain_high);
    rs_clocks_clear(&clocks);
    rs_coll_job_clear(&job);
    world_clear(&w);
    return 0;
}

/* Ranks without a collective, and one of two of them: both end at one moment of the true time, give or take the skew. */
static world world_apart(size_t n)
{
    world w = {calloc(n, sizeof *w.ranks), n};
    for (size_t r = 0; r < n; r++) {
        w.ranks[r] = rs_calloc(1, sizeof **w.ranks);
        assert_non_null(w.ranks[r]);
        assert_true(rs_pool_init(&w.ranks[r]->pool));
        w.ranks[r]->base_time_ns = RS_NO_VALUE;
        w.ranks[r]->host = RS_NO_STRING;
    }
    return w;
}

static void world_pair(world *w, const char *name, rs_coll_kind kind, size_t a, size_t b, int64_t seq,
                       int64_t end, int64_t skew)
{
    for (int k = 0; k < 2; k++) {
        size_t r = k ? b : a;
        int64_t ahead = 1000000 * (int64_t)r;
        const rs_coll_op op = {
            .start = end - 30000 + ahead, .end = end + ahead + (k ? skew : 0), .seq = seq, .step = -1};
        const rs_coll_shape shape = {.group_size = 2,
                                     .in_elements = 1000,
                                     .out_elements = -1,
                                     .source = -1,
                                     .target = -1,
                                     .kind = kind,
                                     .stream = 7,
                                     .group = rs_strings_add(&w->ranks[r]->pool.strings, name, strlen(name)),
                                     .description = RS_NO_STRING,
                                     .members = RS_NO_STRING,
                                     .name = RS_NO_STRING,
                                     .dtype = RS_NO_STRING};
        assert_true(rs_coll_rank_add(w->ranks[r], op, &shape));
    }
}

/* Broadcasts tie 0 to 3, 3 to 1 and 1 to 2: each rank is set against the one before it, though 1 is lower than 3. */
TEST(test_chain_of_loose_ties)
{
    world w = world_apart(5); /* the last has nothing: a part of its own */
    for (int64_t i = 1; i <= 9; i++) {
        world_pair(&w, "a", RS_COLL_BROADCAST, 0, 3, i, i * 1000000, 0);
        world_pair(&w, "b", RS_COLL_BROADCAST, 3, 1, i, i * 1000000 + 200000, 0);
        world_pair(&w, "c", RS_COLL_BROADCAST, 1, 2, i, i * 1000000 + 400000, 0);
    }
    rs_coll_job job;
    assert_int_equal(rs_clock_match((const rs_coll_rank *const *)w.ranks, w.n, true, &job, NULL), RS_OK);
    for (size_t r = 0; r < 4; r++) {
        assert_int_equal(job.clocks[r].offset, 1000000 * (int64_t)r);
        assert_int_equal(job.clocks[r].reference, 0);
    }
    assert_int_equal(job.clocks[4].reference, 4);
    assert_int_equal(rs_coll_n_parts(&job), 2);
    rs_coll_job_clear(&job);
    world_clear(&w);
}

/* Ranks 0 and 3 meet, but end unevenly: the way over 1 and 2, of three narrow intervals, is the narrower. */
TEST(test_narrow_way_round)
{
    world w = world_apart(4);
    uint64_t random = 11;
    for (int64_t i = 1; i <= 60; i++) {
        world_pair(&w, "a", RS_COLL_ALL_REDUCE, 0, 1, i, i * 1000000, 0);
        world_pair(&w, "b", RS_COLL_ALL_REDUCE, 1, 2, i, i * 1000000 + 200000, 0);
        world_pair(&w, "c", RS_COLL_ALL_REDUCE, 2, 3, i, i * 1000000 + 400000, 0);
        world_pair(&w, "d", RS_COLL_ALL_REDUCE, 0, 3, i, i * 1000000 + 600000,
                   (int64_t)(next(&random) % 400000) - 200000);
    }
    rs_coll_job job;
    rs_clocks clocks;
    assert_int_equal(find(&w, &job, &clocks, NULL), RS_OK);
    assert_true(clocks.of[3].high - clocks.of[3].low < 50000);
    assert_true(clocks.of[3].low <= 3000000 && clocks.of[3].high >= 3000000);
    rs_clocks_clear(&clocks);
    rs_coll_job_clear(&job);
    world_clear(&w);
}

int main(int n, char **words)
{
    if (n == 3) return measure(strtoul(words[1], NULL, 10), strtoul(words[2], NULL, 10));
    return unit_run(NULL, NULL);
}
