/* Stages and data ranks of jobs made by hand: who sends to whom, and who else meets. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "match/stages.h"
#include "unit.h"

#define MOST 32

typedef struct made {
    rs_coll_rank ranks[MOST];
    const rs_coll_rank *list[MOST];
    rs_coll_op ops[MOST][MOST];
    rs_coll_shape shapes[MOST][MOST]; /* of each op one */
    rs_coll_instance instances[MOST * MOST];
    rs_coll_arrival arrivals[2 * MOST * MOST];
    int64_t numbers[MOST];
    rs_coll_job job;
} made;

static made *make(size_t n)
{
    made *m = rs_calloc(1, sizeof *m);
    assert_non_null(m);
    m->job =
        (rs_coll_job){.ranks = m->list, .n_ranks = n, .instances = m->instances, .arrivals = m->arrivals};
    for (size_t r = 0; r < n; r++) {
        assert_true(rs_pool_init(&m->ranks[r].pool));
        m->ranks[r].ops = m->ops[r];
        m->ranks[r].shapes = m->shapes[r];
        m->list[r] = &m->ranks[r];
        m->numbers[r] = (int64_t)r;
    }
    return m;
}

static uint32_t text_of(rs_coll_rank *r, const char *text)
{
    uint32_t id = rs_strings_add(&r->pool.strings, text, strlen(text));
    assert_int_not_equal(id, RS_NO_STRING);
    return id;
}

/* One collective of some ranks, which their texts list. */
static void meet(made *m, rs_coll_kind kind, const char *description, const uint32_t *ranks, uint32_t n)
{
    char members[256] = "[";
    for (uint32_t i = 0; i < n; i++)
        snprintf(members + strlen(members), sizeof members - strlen(members), "%s%u", i ? ", " : "",
                 ranks[i]);
    rs_coll_instance *c = &m->instances[m->job.n++];
    *c = (rs_coll_instance){.first = (uint32_t)m->job.n_arrivals, .n = n};
    for (uint32_t i = 0; i < n; i++) {
        rs_coll_rank *r = &m->ranks[ranks[i]];
        r->ops[r->n] = (rs_coll_op){.shape = (uint32_t)r->n};
        r->shapes[r->n_shapes++] = (rs_coll_shape){.kind = kind,
                                                   .group_size = n,
                                                   .members = text_of(r, members),
                                                   .description = text_of(r, description),
                                                   .group = RS_NO_STRING};
        m->arrivals[m->job.n_arrivals++] = (rs_coll_arrival){ranks[i], (uint32_t)r->n++, 0};
    }
}

static void unmake(made *m)
{
    for (size_t r = 0; r < m->job.n_ranks; r++) rs_pool_clear(&m->ranks[r].pool);
    rs_free(m);
}

/* rank = (pp * DP + dp) * TP + tp, as Megatron numbers them. */
static made *make_job(uint32_t dp, uint32_t tp, uint32_t pp)
{
    made *m = make(dp * tp * pp);
    uint32_t ranks[MOST];
    for (uint32_t s = 0; s < pp; s++)
        for (uint32_t d = 0; d < dp; d++) {
            for (uint32_t t = 0; t < tp; t++) ranks[t] = (s * dp + d) * tp + t;
            if (tp > 1) meet(m, RS_COLL_ALL_REDUCE, "TENSOR_MODEL_PARALLEL_GROUP", ranks, tp);
        }
    for (uint32_t s = 0; s < pp; s++)
        for (uint32_t t = 0; t < tp; t++) {
            for (uint32_t d = 0; d < dp; d++) ranks[d] = (s * dp + d) * tp + t;
            if (dp > 1) meet(m, RS_COLL_ALL_REDUCE, "DATA_PARALLEL_GROUP", ranks, dp);
        }
    for (uint32_t i = 0; pp > 1 && i < dp * tp; i++)
        for (uint32_t s = 0; s + 1 < pp; s++) {
            for (uint32_t k = 0; k < pp; k++) ranks[k] = k * dp * tp + i;
            uint32_t pair[2] = {ranks[s], ranks[s + 1]};
            meet(m, RS_COLL_SEND_RECV, "PIPELINE_MODEL_PARALLEL_GROUP", pair, 2);
            /* the texts list the whole group */
            char members[256] = "[";
            for (uint32_t k = 0; k < pp; k++)
                snprintf(members + strlen(members), sizeof members - strlen(members), "%s%u", k ? ", " : "",
                         ranks[k]);
            for (int k = 0; k < 2; k++) {
                rs_coll_rank *r = &m->ranks[pair[k]];
                r->shapes[r->n - 1].members = text_of(r, members);
                r->shapes[r->n - 1].group_size = pp;
            }
        }
    return m;
}

TEST(test_grids)
{
    static const uint32_t sizes[][3] = {{4, 1, 2}, {2, 2, 2}, {2, 1, 4}, {3, 2, 3},
                                        {4, 2, 1}, {1, 2, 4}, {8, 1, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t dp = sizes[i][0], tp = sizes[i][1], pp = sizes[i][2];
        made *m = make_job(dp, tp, pp);
        rs_stages s;
        int64_t data[MOST], n_data;
        assert_int_equal(rs_stages_find(&m->job, &s, NULL), RS_OK);
        assert_int_equal(s.n_stages, pp > 1 ? pp : 0);
        if (pp > 1) assert_int_equal(s.n_lines, dp * tp);
        assert_int_equal(rs_data_ranks(&m->job, m->numbers, data, &n_data, NULL), RS_OK);
        assert_int_equal(n_data, dp > 1 ? dp : 0);
        for (uint32_t r = 0; r < dp * tp * pp; r++) {
            if (pp > 1) assert_int_equal(s.stage[r], r / (dp * tp));
            if (pp > 1) assert_int_equal(s.line[r], r % (dp * tp));
            assert_int_equal(data[r], dp > 1 ? (int64_t)(r / tp % dp) : -1);
        }
        rs_stages_clear(&s);
        unmake(m);
    }
}

/* Where there are steps, what is sent outside of them ties no ranks: before the recording it may have been anything. */
TEST(test_outside_steps)
{
    for (int outside = 0; outside < 3; outside++) {
        made *m = make_job(2, 1, 2);
        rs_stages s;
        for (size_t i = 0; i < m->job.n_arrivals; i++) {
            rs_coll_op *op = &m->ranks[m->arrivals[i].rank].ops[m->arrivals[i].op];
            const bool sends = m->ranks[m->arrivals[i].rank].shapes[op->shape].kind == RS_COLL_SEND_RECV;
            if (outside == 2 || (outside && sends)) op->step = -1;
        }
        assert_int_equal(rs_stages_find(&m->job, &s, NULL), RS_OK);
        assert_int_equal(s.n_stages, outside == 1 ? 0 : 2);
        rs_stages_clear(&s);
        unmake(m);
    }
}

/* Lines of different lengths are no pipelines of stages. */
TEST(test_uneven)
{
    made *m = make(5);
    rs_stages s;
    meet(m, RS_COLL_SEND_RECV, "", (uint32_t[]){0, 1}, 2);
    meet(m, RS_COLL_SEND_RECV, "", (uint32_t[]){2, 3}, 2);
    meet(m, RS_COLL_SEND_RECV, "", (uint32_t[]){3, 4}, 2);
    assert_int_equal(rs_stages_find(&m->job, &s, NULL), RS_OK);
    assert_int_equal(s.n_stages, 0);
    assert_int_equal(s.n_lines, 2);
    rs_stages_clear(&s);
    unmake(m);
}

/* A message from one rank to another, later than all before it. */
static void tell(made *m, uint32_t from, uint32_t to, int64_t step)
{
    const int64_t now = (int64_t)m->job.n * 10;
    meet(m, RS_COLL_SEND_RECV, "", (uint32_t[]){from, to}, 2);
    const uint32_t ranks[2] = {from, to};
    for (int i = 0; i < 2; i++) {
        rs_coll_rank *r = &m->ranks[ranks[i]];
        r->shapes[r->n - 1].name = text_of(r, i ? "recv" : "send");
        r->ops[r->n - 1].start = now + i;
        r->ops[r->n - 1].step = step;
    }
}

static void expect(made *m, const uint32_t *stages, size_t n)
{
    rs_stages s;
    assert_int_equal(rs_stages_find(&m->job, &s, NULL), RS_OK);
    assert_int_equal(s.n_stages, n);
    for (size_t r = 0; r < n; r++) assert_int_equal(s.stage[r], stages[r]);
    rs_stages_clear(&s);
    unmake(m);
}

static void pass(made *m, const uint32_t *line, size_t n, int64_t step, bool forward)
{
    for (size_t i = 0; i + 1 < n; i++)
        if (forward)
            tell(m, line[i], line[i + 1], step);
        else
            tell(m, line[n - 1 - i], line[n - 2 - i], step);
}

/* The order of the first messages of a step, however ranks are numbered. */
TEST(test_order)
{
    static const uint32_t line[] = {3, 0, 2, 1}, falls[] = {3, 2, 1, 0};
    for (int64_t step = -1; step < 2; step++) {
        made *m = make(4);
        pass(m, line, 4, step, true);
        pass(m, line, 4, step, false);
        expect(m, (uint32_t[]){1, 3, 2, 0}, 4);
    }
    made *m = make(4); /* the recording begins in a step's backward, and ends in a forward */
    pass(m, line, 4, 4, false);
    pass(m, line, 4, 5, true);
    pass(m, line, 4, 5, false);
    tell(m, 3, 0, 6);
    expect(m, (uint32_t[]){1, 3, 2, 0}, 4);
    m = make(4); /* with a step the highest rank may be the first stage; without, this may be a backward */
    pass(m, falls, 4, 0, true);
    expect(m, (uint32_t[]){3, 2, 1, 0}, 4);
    m = make(4);
    pass(m, falls, 4, -1, true);
    expect(m, (uint32_t[]){0, 1, 2, 3}, 4);
    m = make(4); /* both ends send first */
    tell(m, 2, 0, 0);
    tell(m, 1, 3, 0);
    tell(m, 0, 3, 0);
    tell(m, 3, 0, 0);
    expect(m, (uint32_t[]){0, 1, 2, 3}, 4);
    m = make(3); /* they lead back before all are met */
    tell(m, 2, 0, 0);
    tell(m, 0, 2, 0);
    tell(m, 0, 1, 0);
    expect(m, (uint32_t[]){0, 1, 2}, 3);
}
