/* Meshes told by process groups: all sizes up to 512 ranks, renamed, shuffled, half of the ranks gone. */
#include <string.h>

#include "base/memory.h"
#include "match/mesh.h"
#include "unit.h"

enum { MOST = 512 * 4 };

typedef struct job {
    rs_mesh_group *groups;
    size_t n;
} job;

static void add_group(job *j, int64_t first, int64_t count, int64_t stride, const char *description, int axis)
{
    rs_mesh_group *g = &j->groups[j->n++];
    assert_true(j->n <= MOST);
    *g = (rs_mesh_group){.members = rs_malloc((size_t)count * sizeof(int64_t)),
                         .n = (size_t)count,
                         .description = description,
                         .ops = 10,
                         .transfers = axis == 2 ? 10 : 0,
                         .forward_sums = axis == 0 ? 5 : 0,
                         .behind = axis == 2   ? 0
                                   : axis == 0 ? 5
                                               : 10};
    for (int64_t i = 0; i < count; i++) g->members[i] = first + i * stride;
}

/* What every rank that is there brings: its groups. rank = (pp * DP + dp) * TP + tp. */
static job make_job(int64_t dp, int64_t tp, int64_t pp, bool named, bool (*is_there)(int64_t))
{
    static const char *const names[] = {"TENSOR_MODEL_PARALLEL_GROUP", "mesh_dp", "pipeline"};
    job j = {.groups = rs_calloc(MOST, sizeof *j.groups)};
    for (int64_t r = 0; r < dp * tp * pp; r++) {
        if (!is_there(r)) continue;
        int64_t t = r % tp, d = r / tp % dp, p = r / (tp * dp);
        if (tp > 1) add_group(&j, r - t, tp, 1, named ? names[0] : NULL, 0);
        if (dp > 1) add_group(&j, r - d * tp, dp, tp, named ? names[1] : NULL, 1);
        if (pp > 1) add_group(&j, r - p * tp * dp, pp, tp * dp, named ? names[2] : NULL, 2);
        /* what takes no part: a group of all, and all ranks of a stage */
        if (r % 7 == 0) add_group(&j, 0, dp * tp * pp, 1, NULL, 1);
        if (tp > 1 && dp > 1 && r % 5 == 0) add_group(&j, p * tp * dp, tp * dp, 1, NULL, 1);
    }
    return j;
}

static void shuffle(job *j)
{
    uint64_t random = j->n;
    for (size_t i = j->n; i > 1; i--) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        size_t k = (size_t)(random >> 33) % i;
        rs_mesh_group g = j->groups[i - 1];
        j->groups[i - 1] = j->groups[k];
        j->groups[k] = g;
    }
}

static void clear(job *j)
{
    for (size_t i = 0; i < MOST; i++) rs_free(j->groups[i].members);
    rs_free(j->groups);
}

static bool all_there(int64_t rank)
{
    (void)rank;
    return true;
}

static bool half_there(int64_t rank)
{
    return (rank * 2654435761u >> 7) % 2 == 0 || rank == 0;
}

static void expect_mesh(int64_t dp, int64_t tp, int64_t pp, bool named, bool (*is_there)(int64_t))
{
    job j = make_job(dp, tp, pp, named, is_there);
    rs_mesh mesh;
    shuffle(&j);
    assert_int_equal(rs_mesh_find(j.groups, j.n, dp * tp * pp, &mesh, NULL), RS_OK);
    const struct {
        const char *name;
        int64_t size, stride;
    } want[] = {{"tp", tp, 1}, {"dp", dp, tp}, {"pp", pp, tp * dp}};
    size_t at = 0;
    for (int i = 0; i < 3; i++) {
        if (want[i].size < 2) continue;
        assert_true(at < mesh.n);
        const rs_mesh_axis *a = &mesh.axes[at++];
        if (a->size != want[i].size || a->stride != want[i].stride || strcmp(a->name, want[i].name) != 0)
            fail_msg("dp %lld tp %lld pp %lld: %s %lld stride %lld", (long long)dp, (long long)tp,
                     (long long)pp, a->name, (long long)a->size, (long long)a->stride);
        assert_int_equal(a->described, named);
    }
    assert_int_equal(mesh.n, at);
    assert_int_equal(mesh.covered, dp * tp * pp);
    clear(&j);
}

TEST(test_all_sizes)
{
    for (int64_t dp = 1; dp <= 512; dp++)
        for (int64_t tp = 1; dp * tp <= 512; tp++)
            for (int64_t pp = 1; dp * tp * pp <= 512; pp++) {
                if ((dp > 1) + (tp > 1) + (pp > 1) < 2) continue; /* a group of all is the axis itself */
                if (dp * tp * pp > 64 && (dp * 31 + tp * 7 + pp) % 5)
                    continue; /* a fifth of the large ones */
                expect_mesh(dp, tp, pp, (dp + tp) % 2, all_there);
                expect_mesh(dp, tp, pp, (dp + tp) % 2, half_there);
            }
}

TEST(test_lists)
{
    int64_t *members;
    size_t n;
    assert_int_equal(rs_mesh_parse("[3, 1, 2, 1]", 0, &members, &n, NULL), RS_OK);
    assert_int_equal(n, 3);
    assert_int_equal(members[0], 1);
    assert_int_equal(members[2], 3);
    rs_free(members);
    assert_int_equal(rs_mesh_parse("[0, 8, 16, ...]", 64, &members, &n, NULL), RS_OK);
    assert_int_equal(n, 64);
    assert_int_equal(members[63], 504);
    rs_free(members);
    for (uint64_t k = 1; k <= 3; k++) { /* no list for want of memory is none that says nothing */
        rs_test_fail_allocation(k);
        assert_int_equal(rs_mesh_parse("[0, 8, ...]", 64, &members, &n, NULL), RS_ERR_NOMEM);
        rs_test_fail_allocation(0);
        assert_true(n == 0 && !members);
    }
    assert_int_equal(rs_mesh_parse("[0, 8, 17, ...]", 64, &members, &n, NULL), RS_OK);
    assert_true(n == 0 && !members);
    assert_int_equal(rs_mesh_parse("[0, 8, ...]", INT64_MAX, &members, &n, NULL), RS_OK);
    assert_true(n == 0 && !members);
    assert_int_equal(rs_mesh_parse("[99999999999999999999]", 0, &members, &n, NULL), RS_OK);
    assert_true(n == 0 && !members);
    assert_int_equal(rs_mesh_parse("", 4, &members, &n, NULL), RS_OK);
    assert_true(n == 0 && !members);
    assert_null(members);
}

/* Groups that share ranks are no axis; without groups there is no mesh; a world beyond reason is none. */
TEST(test_odd)
{
    job j = {.groups = rs_calloc(MOST, sizeof *j.groups)};
    rs_mesh mesh;
    add_group(&j, 0, 3, 1, NULL, 0);
    add_group(&j, 2, 3, 1, NULL, 0);
    add_group(&j, 0, 2, 3, NULL, 1);
    assert_int_equal(rs_mesh_find(j.groups, j.n, 0, &mesh, NULL), RS_OK);
    assert_int_equal(mesh.world, 5);
    assert_int_equal(mesh.n, 0); /* 2 does not divide 5 */
    assert_int_equal(rs_mesh_find(j.groups, 0, 8, &mesh, NULL), RS_OK);
    assert_int_equal(mesh.n, 0);
    assert_int_equal(rs_mesh_find(j.groups, j.n, INT64_MAX, &mesh, NULL), RS_OK);
    assert_int_equal(mesh.n, 0);
    clear(&j);
    j = (job){.groups = rs_calloc(MOST, sizeof *j.groups)};
    for (int64_t r = 0; r < 8; r += 4) add_group(&j, r, 4, 1, NULL, 1);
    for (int64_t r = 0; r < 8; r += 2) add_group(&j, r, 2, 1, NULL, 0); /* within those: no second axis */
    assert_int_equal(rs_mesh_find(j.groups, j.n, 8, &mesh, NULL), RS_OK);
    assert_int_equal(mesh.n, 1);
    assert_int_equal(mesh.axes[0].size, 4);
    assert_int_equal(mesh.covered, 4);
    for (uint64_t at = 1;; at++) {
        rs_test_fail_allocation(at);
        rs_status status = rs_mesh_find(j.groups, 3, 6, &mesh, NULL);
        bool through = rs_test_fail_allocation(0) < at;
        assert_int_equal(status, through ? RS_OK : RS_ERR_NOMEM);
        if (through) break;
    }
    clear(&j);
}
