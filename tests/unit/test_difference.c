/* Difference constraints against Floyd and Warshall's algorithm on random systems. */
#include "base/difference.h"
#include "support.h"

enum { NODES = 9, EDGES = 26 };

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* dist[a][b]: the shortest path; returns false on a negative cycle. */
static bool all_pairs(const rs_difference_edge *edges, size_t n, int64_t dist[NODES][NODES])
{
    for (int a = 0; a < NODES; a++)
        for (int b = 0; b < NODES; b++) dist[a][b] = a == b ? 0 : RS_DIFFERENCE_NONE;
    for (size_t i = 0; i < n; i++)
        if (edges[i].weight < dist[edges[i].from][edges[i].to])
            dist[edges[i].from][edges[i].to] = edges[i].weight;
    for (int k = 0; k < NODES; k++)
        for (int a = 0; a < NODES; a++)
            for (int b = 0; b < NODES; b++)
                if (dist[a][k] != RS_DIFFERENCE_NONE && dist[k][b] != RS_DIFFERENCE_NONE &&
                    dist[a][k] + dist[k][b] < dist[a][b])
                    dist[a][b] = dist[a][k] + dist[k][b];
    for (int a = 0; a < NODES; a++)
        if (dist[a][a] < 0) return false;
    return true;
}

static rs_difference_edge listed(const void *edges, size_t i)
{
    return ((const rs_difference_edge *)edges)[i];
}

TEST(test_random)
{
    uint64_t random = 7;
    int feasible = 0, infeasible = 0;
    for (int turn = 0; turn < 3000; turn++) {
        rs_difference_edge edges[EDGES];
        size_t n = next(&random) % EDGES + 1;
        for (size_t i = 0; i < n; i++)
            edges[i] =
                (rs_difference_edge){(uint32_t)(next(&random) % NODES), (uint32_t)(next(&random) % NODES),
                                     (int64_t)(next(&random) % 1000) - 150};
        int64_t dist[NODES][NODES], potential[NODES] = {0}, least[NODES], greatest[NODES];
        uint32_t cycle[NODES];
        size_t n_cycle;
        const rs_difference_system system = {listed, edges, n, NODES};
        bool can = all_pairs(edges, n, dist);
        assert_int_equal(rs_difference_solve(&system, potential, cycle, &n_cycle, NULL), RS_OK);
        assert_int_equal(can, n_cycle == 0);
        if (!can) {
            int64_t sum = 0;
            for (size_t i = 0; i < n_cycle; i++) {
                sum += edges[cycle[i]].weight;
                assert_int_equal(edges[cycle[i]].from, edges[cycle[(i + 1) % n_cycle]].to);
            }
            assert_true(sum < 0);
            infeasible++;
            continue;
        }
        feasible++;
        for (size_t i = 0; i < n; i++)
            assert_true(potential[edges[i].to] - potential[edges[i].from] <= edges[i].weight);
        assert_int_equal(rs_difference_bounds(&system, potential, 3, least, greatest, NULL), RS_OK);
        for (int k = 0; k < NODES; k++) {
            assert_true(greatest[k] == dist[3][k]);
            assert_true(least[k] == (dist[k][3] == RS_DIFFERENCE_NONE ? RS_DIFFERENCE_NONE : -dist[k][3]));
        }
    }
    assert_true(feasible > 500 && infeasible > 500);
}

TEST(test_edge_taken_out)
{
    rs_difference_edge edges[] = {{0, 1, 5}, {1, 0, -7}, {1, 0, 3}};
    int64_t potential[2] = {0}, least[2], greatest[2];
    uint32_t cycle[2];
    size_t n_cycle;
    const rs_difference_system system = {listed, edges, 3, 2};
    assert_int_equal(rs_difference_solve(&system, potential, cycle, &n_cycle, NULL), RS_OK);
    assert_int_equal(n_cycle, 2);
    edges[1].weight = RS_DIFFERENCE_NONE;
    assert_int_equal(rs_difference_solve(&system, potential, cycle, &n_cycle, NULL), RS_OK);
    assert_int_equal(n_cycle, 0);
    assert_int_equal(rs_difference_bounds(&system, potential, 0, least, greatest, NULL), RS_OK);
    assert_true(greatest[1] == 5 && least[1] == -3);
}
