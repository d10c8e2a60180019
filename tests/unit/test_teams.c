/* Who calls together, by the ends of calls alone. */
#include <string.h>

#include "match/teams.h"
#include "support.h"
#include "trace/events.h"

#define LINES 8
#define CALLS 40

/* Lines of teams of `size`: clocks differ and drift, ends of one call differ by noise, teams by 60 us and more. */
typedef struct job {
    int64_t ends[LINES][CALLS];
    rs_team_line lines[LINES];
} job;

static int64_t about(rng *r, int64_t ns)
{
    return (int64_t)rng_below(r, (uint64_t)(2 * ns)) - ns;
}

static void make(job *j, size_t size, int64_t apart, rng *r)
{
    int64_t own[LINES][CALLS];
    for (size_t team = 0; team < LINES; team++)
        for (int k = 0; k < CALLS; k++) own[team][k] = INT64_C(50000000) * (k + 1) + about(r, apart);
    for (size_t i = 0; i < LINES; i++) {
        const int64_t ahead = about(r, 5000000), ppm = about(r, 40);
        for (int k = 0; k < CALLS; k++) {
            const int64_t end = own[i / size][k] + about(r, 4000);
            j->ends[i][k] = end + ahead + end / 1000000 * ppm;
        }
        j->lines[i] = (rs_team_line){.ends = j->ends[i], .n = CALLS, .most_spread = 30000};
    }
}

static void test_sizes(void **state)
{
    (void)state;
    rng r = {.state = 7};
    for (size_t size = 1; size <= LINES; size *= 2) {
        job j;
        make(&j, size, 200000, &r);
        assert_true(rs_teams_find(j.lines, LINES, 0));
        for (size_t i = 0; i < LINES; i++) {
            assert_int_equal(j.lines[i].team, i / size * size);
            assert_int_equal(j.lines[i].size, size);
            if (size == 1)
                assert_true(j.lines[i].spread == RS_NO_VALUE);
            else
                assert_in_range(j.lines[i].spread, 1000, 8000);
        }
    }
}

/* Below what is allowed teams lie near to each other: that which stays the same over limits is taken. */
static void test_near(void **state)
{
    (void)state;
    rng r = {.state = 3};
    job j;
    make(&j, 2, 40000, &r);
    for (size_t i = 0; i < LINES; i++) j.lines[i].most_spread = 200000;
    assert_true(rs_teams_find(j.lines, LINES, 0));
    for (size_t i = 0; i < LINES; i++) assert_int_equal(j.lines[i].team, i / 2 * 2);
}

/* Of two teams that a line may be of the nearer one is taken. */
static void test_nearer(void **state)
{
    (void)state;
    static const int64_t off[3] = {32000, 0, 28000};
    job j;
    for (size_t i = 0; i < 3; i++) {
        for (int k = 0; k < CALLS; k++) j.ends[i][k] = INT64_C(1000000) * k + (k % 2 ? off[i] : -off[i]);
        j.lines[i] = (rs_team_line){.ends = j.ends[i], .n = CALLS, .most_spread = 30000};
    }
    assert_true(rs_teams_find(j.lines, 3, 0));
    assert_int_equal(j.lines[1].size, 1);
    assert_int_equal(j.lines[2].team, 0);
    assert_int_equal(j.lines[2].spread, 4000);
}

/* A recording that begins or ends a call later. */
static void test_slack(void **state)
{
    (void)state;
    rng r = {.state = 5};
    job j;
    make(&j, 4, 200000, &r);
    j.lines[1].ends++;
    j.lines[1].n--;
    j.lines[2].n -= 2;
    j.lines[6].ends++; /* as many, from the second on: it lacks the last but one of another */
    j.lines[6].n--;
    j.lines[7].n--;
    assert_true(rs_teams_find(j.lines, LINES, 2));
    for (size_t i = 0; i < LINES; i++) assert_int_equal(j.lines[i].team, i / 4 * 4);
    assert_true(rs_teams_find(j.lines, LINES, 0));
    assert_int_equal(j.lines[1].team, 1);
    assert_int_equal(j.lines[2].team, 2);
    assert_int_equal(j.lines[3].team, 0);
}

/* A host that runs far ahead has launched many calls before the recording begins, which are on its GPU alone. */
static void test_ahead(void **state)
{
    (void)state;
    rng r = {.state = 7};
    job j;
    make(&j, 8, 200000, &r);
    for (size_t i = 4; i < LINES; i++) {
        j.lines[i].ends += CALLS / 4;
        j.lines[i].n -= CALLS / 4;
    }
    assert_true(rs_teams_find(j.lines, LINES, 2));
    for (size_t i = 0; i < LINES; i++) assert_int_equal(j.lines[i].team, 0);
}

/* Teams that differ in size are no teams where calls are so few that some end together by chance. */
static void test_uneven(void **state)
{
    (void)state;
    for (size_t n = 4; n <= CALLS; n += CALLS - 4) {
        rng r = {.state = 11};
        job j;
        make(&j, 4, 40000, &r);
        j.lines[7].ends = j.ends[3];
        for (size_t i = 0; i < LINES; i++) {
            j.lines[i].n = n;
            j.lines[i].most_spread = 20000;
        }
        assert_true(rs_teams_find(j.lines, LINES, 2));
        assert_int_equal(j.lines[7].team, n == 4 ? 7 : 0);
    }
}

/* Of fewer than four calls nothing is known, and nothing of no lines. */
static void test_few(void **state)
{
    (void)state;
    rng r = {.state = 9};
    job j;
    make(&j, 8, 200000, &r);
    for (size_t i = 0; i < LINES; i++) j.lines[i].n = i < 4 ? 3 : 4;
    assert_true(rs_teams_find(j.lines, LINES, 2));
    for (size_t i = 0; i < LINES; i++) assert_int_equal(j.lines[i].team, i < 4 ? i : 4);
    assert_true(rs_teams_find(j.lines, 0, 2));
}

/* What two lines say of their clocks: where the one begins later, too. */
static void test_distance(void **state)
{
    (void)state;
    rng r = {.state = 5};
    job j;
    make(&j, LINES, 200000, &r);
    for (size_t k = 0; k < CALLS; k++) j.ends[1][k] = j.ends[0][k] + 70000 + (k % 2 ? 3000 : -3000);
    rs_team_apart one[RS_TEAM_WAYS];
    assert_int_equal(rs_team_distances(&j.lines[0], &j.lines[1], 0, one), 1);
    assert_in_range(one->distance, 67000, 73000);
    assert_in_range(one->spread, 3000, 6000);
    assert_in_range(one->time, j.ends[0][CALLS / 2 - 1], j.ends[0][CALLS / 2]);
    j.lines[1].ends += 2;
    j.lines[1].n -= 2;
    assert_int_equal(rs_team_distances(&j.lines[0], &j.lines[1], 0, one), 0);
    assert_int_equal(rs_team_distances(&j.lines[0], &j.lines[1], 2, one), 1);
    assert_in_range(one->distance, 67000, 73000);
    assert_int_equal(rs_team_distances(&j.lines[1], &j.lines[0], 2, one), 1);
    assert_in_range(-one->distance, 67000, 73000);
    /* equal steps: whichever call is the first */
    for (size_t k = 0; k < CALLS; k++) j.ends[2][k] = (j.ends[3][k] = INT64_C(1000000) * (int64_t)k) + 500;
    assert_int_equal(rs_team_distances(&j.lines[2], &j.lines[3], 2, one), 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(one[i].distance, INT64_C(1000000) * (2 - (int64_t)i) - 500);
}

/* Few calls, in pairs that end nearly together with other pairs: each line's nearest is its mate. What is known otherwise counts. */
static bool not_first(void *context, size_t a, size_t b)
{
    (void)context;
    return a && b;
}

static void test_nearest(void **state)
{
    (void)state;
    static const int64_t off[LINES][6] = {{0, 0, 0, 0, 0, 0},
                                          {1500, -900, 0, 700, -1500, 0},
                                          {9000, -7000, 3000, 0, 0, -8000},
                                          {9000, -8500, 3000, 1000, 0, -7000},
                                          {0, 0, 8500, 0, -9000, 7000},
                                          {1000, 0, 8500, -900, -9000, 7000},
                                          {-9000, 9000, 0, 5000, 4000, 0},
                                          {-9000, 8200, 900, 5000, 4000, 0}};
    job j;
    for (size_t i = 0; i < LINES; i++) {
        for (int k = 0; k < 6; k++) j.ends[i][k] = INT64_C(1000000) * k * k + off[i][k];
        j.lines[i] = (rs_team_line){.ends = j.ends[i], .n = 6, .most_spread = 200000};
    }
    assert_true(rs_teams_find(j.lines, LINES, 2));
    for (size_t i = 0; i < LINES; i++) {
        assert_int_equal(j.lines[i].team, i / 2 * 2);
        assert_int_equal(j.lines[i].size, 2);
    }
    assert_true(rs_teams_find_among(j.lines, LINES, 2, not_first, NULL));
    assert_int_equal(j.lines[0].size, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes), cmocka_unit_test(test_near),     cmocka_unit_test(test_nearer),
        cmocka_unit_test(test_slack), cmocka_unit_test(test_ahead),    cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_few),   cmocka_unit_test(test_distance), cmocka_unit_test(test_nearest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
