/* Schedules by the order of their passes, and causes of bubbles in pipelines made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "engine/pipeline.h"

enum { F = RS_PASS_FORWARD, B = RS_PASS_BACKWARD, W = RS_PASS_WEIGHT, MOST_STAGES = 8, MOST = 256 };

/* ---- schedules -------------------------------------------------------------------------------------------- */

typedef struct order {
    uint8_t kinds[MOST_STAGES][MOST];
    rs_stage_order stages[MOST_STAGES];
} order;

static void put(order *o, size_t stage, uint8_t kind, size_t n)
{
    o->stages[stage].kinds = o->kinds[stage];
    for (size_t i = 0; i < n; i++) o->kinds[stage][o->stages[stage].n++] = kind;
}

/* Begins with `lead` forwards, then one backward, one forward. */
static void put_one_by_one(order *o, size_t stage, size_t lead, size_t forwards)
{
    if (lead > forwards) lead = forwards;
    put(o, stage, F, lead);
    for (size_t i = lead; i < forwards; i++) {
        put(o, stage, B, 1);
        put(o, stage, F, 1);
    }
    put(o, stage, B, lead);
}

static rs_pipe_schedule name(order *o, size_t p, size_t batches, bool both_ways, size_t *chunks)
{
    o->stages[0].n_free = batches;
    o->stages[0].first_is_free = true;
    return rs_pipe_schedule_of(o->stages, p, both_ways, chunks);
}

static void names_schedules(void **state)
{
    (void)state;
    size_t chunks;
    for (size_t p = 2; p <= 6; p++)
        for (size_t m = 2; m <= 12; m++) {
            order gpipe = {0}, one = {0}, interleaved = {0}, looped = {0};
            for (size_t s = 0; s < p; s++) {
                put(&gpipe, s, F, m);
                put(&gpipe, s, B, m);
                put_one_by_one(&one, s, p - s, m);
                put_one_by_one(&interleaved, s, 2 * (p - s - 1) + p + 1, 2 * m);
                put(&looped, s, F, 2 * m);
                put(&looped, s, B, 2 * m);
            }
            assert_int_equal(name(&gpipe, p, m, false, &chunks), RS_PIPE_GPIPE);
            assert_int_equal(chunks, 1);
            assert_int_equal(name(&one, p, m, false, &chunks), RS_PIPE_1F1B);
            assert_int_equal(name(&looped, p, m, false, &chunks), RS_PIPE_INTERLEAVED_GPIPE);
            assert_int_equal(chunks, 2);
            if (2 * m > p + 1)
                assert_int_equal(name(&interleaved, p, m, false, &chunks), RS_PIPE_INTERLEAVED_1F1B);
        }
}

static void names_newer_schedules(void **state)
{
    (void)state;
    order zero = {0}, dual = {0}, forward = {0}, odd = {0};
    size_t chunks;
    for (size_t s = 0; s < 3; s++) {
        put(&zero, s, F, 3 - s);
        for (size_t i = 0; i < 4; i++) {
            put(&zero, s, B, 1);
            if (3 - s + i < 4) put(&zero, s, F, 1);
            put(&zero, s, W, 1);
        }
        put_one_by_one(&dual, s, 2, 8);
        dual.stages[s].first_is_free = s != 1;
        put(&forward, s, F, 5);
        put_one_by_one(&odd, s, 2, 6);
    }
    assert_int_equal(name(&zero, 3, 4, false, &chunks), RS_PIPE_ZERO_BUBBLE);
    assert_int_equal(name(&zero, 3, 4, true, &chunks), RS_PIPE_ZERO_BUBBLE_V);
    assert_int_equal(name(&dual, 3, 4, true, &chunks), RS_PIPE_DUAL);
    assert_int_equal(name(&forward, 3, 5, false, &chunks), RS_PIPE_FORWARD);
    assert_int_equal(name(&odd, 3, 6, false, &chunks), RS_PIPE_UNKNOWN);
    assert_int_equal(rs_pipe_schedule_of(NULL, 0, false, &chunks), RS_PIPE_UNKNOWN);
}

/* ---- bubbles ---------------------------------------------------------------------------------------------- */

/* A pipeline of two ranks; times in us, written as ns. */
typedef struct made {
    rs_coll_rank comm[2];
    rs_passes passes[2], *list[2];
    const rs_coll_rank *ranks[2];
    rs_pipe_pass items[2][8];
    uint32_t before[2][16];
    int64_t busy[2][32];
} made;

static void pass(made *m, int rank, uint8_t kind, int64_t start, int64_t length)
{
    rs_passes *p = &m->passes[rank];
    m->items[rank][p->n++] = (rs_pipe_pass){start * 1000, (start + length) * 1000, 1, kind};
    m->busy[rank][p->n_busy++] = start * 1000;
    m->busy[rank][p->n_busy++] = (start + length) * 1000;
}

static uint32_t text_of(rs_coll_rank *r, const char *text)
{
    uint32_t id = rs_strings_add(&r->pool.strings, text, strlen(text));
    assert_int_not_equal(id, RS_NO_STRING);
    return id;
}

/* An operation after the passes that the rank has so far. */
static void add_op(made *m, int rank, const char *what, int64_t source, int64_t start, int64_t end)
{
    rs_coll_rank *r = &m->comm[rank];
    const bool message = source >= 0;
    rs_coll_shape shape = {.kind = message ? RS_COLL_SEND_RECV : RS_COLL_ALL_REDUCE,
                           .group_size = 2,
                           .in_elements = 1,
                           .out_elements = 1,
                           .source = source,
                           .target = message ? 1 - source : -1,
                           .stream = 7,
                           .group = text_of(r, message ? "pp" : "all"),
                           .description = RS_NO_STRING,
                           .members = text_of(r, "[0, 1]"),
                           .name = text_of(r, what),
                           .dtype = RS_NO_STRING};
    m->before[rank][m->passes[rank].n_before++] = (uint32_t)m->passes[rank].n;
    assert_true(rs_coll_rank_add(
        r, (rs_coll_op){.start = start * 1000, .end = end * 1000, .seq = -1, .step = 1}, &shape));
}

static void begin(made *m)
{
    *m = (made){0};
    for (int r = 0; r < 2; r++) {
        assert_true(rs_pool_init(&m->comm[r].pool));
        m->comm[r].host = RS_NO_STRING;
        m->passes[r] = (rs_passes){
            .comm = &m->comm[r], .items = m->items[r], .before = m->before[r], .busy = m->busy[r]};
        m->list[r] = &m->passes[r];
        m->ranks[r] = &m->comm[r];
    }
}

static void finish(made *m)
{
    for (int r = 0; r < 2; r++) {
        rs_pool_clear(&m->comm[r].pool);
        rs_free_all(m->comm[r].ops, m->comm[r].shapes, m->comm[r].lately);
    }
}

/* Two micro-batches of GPipe: forwards take 100 us (the second stage's `second`), backwards 200, messages `link`. A launch comes
 * `late` on rank 1 ahead of its first backward. Rank 1 sends each gradient when it has it. */
static void make_gpipe(made *m, int64_t second, int64_t link, int64_t late)
{
    int64_t free_at = 0, came, sent[2];
    begin(m);
    for (int i = 0; i < 2; i++) {
        pass(m, 0, F, 100 * i, 100);
        came = 100 * (i + 1) + link;
        if (came < free_at + link) came = free_at + link; /* it is asked for after the pass before */
        add_op(m, 0, "send", 0, 100 * (i + 1), came);
        add_op(m, 1, "recv", 0, free_at, came);
        pass(m, 1, F, came, second);
        free_at = came + second;
    }
    for (int i = 0; i < 2; i++) {
        pass(m, 1, B, free_at + (i ? 0 : late), 200);
        sent[i] = free_at += 200 + (i ? 0 : late);
    }
    free_at = 200;
    m->passes[1].n -= 1; /* what is sent in between comes after the first backward */
    for (int i = 0; i < 2; i++) {
        came = (sent[i] > free_at ? sent[i] : free_at) + link;
        add_op(m, 1, "send", 1, sent[i], came);
        m->passes[1].n += !i;
        add_op(m, 0, "recv", 1, free_at, came);
        pass(m, 0, B, came, 200);
        free_at = came + 200;
    }
}

static rs_stage_step *answer(made *m, rs_pipelines *out)
{
    rs_coll_job job;
    assert_int_equal(rs_coll_match(m->ranks, 2, NULL, &job, NULL), RS_OK);
    assert_int_equal(rs_pipelines_find(m->list, &job, out, NULL), RS_OK);
    rs_coll_job_clear(&job);
    assert_int_equal(out->n_steps, 2);
    for (size_t i = 0; i < 2; i++) {
        int64_t sum = 0;
        for (size_t k = 0; k < RS_N_BUBBLES; k++) sum += out->steps[i].cause[k];
        assert_int_equal(sum, out->steps[i].idle);
    }
    return out->steps;
}

#define US(step, bubble) ((step).cause[RS_BUBBLE_##bubble] / 1000)

static void schedule_alone(void **state)
{
    (void)state;
    made m;
    rs_pipelines p;
    make_gpipe(&m, 100, 0, 0);
    const rs_stage_step *s = answer(&m, &p);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(s[r].window, 900000);
        assert_int_equal(s[r].idle, 300000);
        assert_int_equal(s[r].ideal, 300000);
        assert_int_equal(s[r].micro_batches, 2);
        assert_int_equal(s[r].schedule, RS_PIPE_GPIPE);
        assert_int_equal(s[r].unmatched, 0);
    }
    assert_int_equal(US(s[0], WARM_UP), 300);
    assert_int_equal(US(s[1], WARM_UP), 100);
    assert_int_equal(US(s[1], DRAIN), 200);
    rs_pipelines_clear(&p);
    finish(&m);
}

static void links_and_launches(void **state)
{
    (void)state;
    made m;
    rs_pipelines p;
    make_gpipe(&m, 100, 10, 30);
    const rs_stage_step *s = answer(&m, &p);
    /* rank 0: 2 forwards, to rank 1 and back, and the late launch; then the second gradient */
    assert_int_equal(s[0].window, 970000);
    assert_int_equal(US(s[0], WARM_UP), 300);
    assert_int_equal(US(s[0], LINK), 40);
    assert_int_equal(US(s[0], HOST), 30);
    assert_int_equal(US(s[1], WARM_UP), 100);
    assert_int_equal(US(s[1], LINK), 40);
    assert_int_equal(US(s[1], HOST), 30);
    assert_int_equal(US(s[1], DRAIN), 200);
    assert_int_equal(US(s[1], IMBALANCE), 0);
    rs_pipelines_clear(&p);
    finish(&m);
}

static void longer_stage(void **state)
{
    (void)state;
    made m;
    rs_pipelines p;
    make_gpipe(&m, 160, 0, 0);
    const rs_stage_step *s = answer(&m, &p);
    assert_int_equal(s[0].idle, 420000);
    /* forwards take 130 in the mean: of the 420 the schedule has 130 + 200, the rest is that the second stage takes longer */
    assert_int_equal(US(s[0], WARM_UP), 330);
    assert_int_equal(US(s[0], IMBALANCE), 90);
    assert_int_equal(US(s[1], WARM_UP), 100);
    assert_int_equal(US(s[1], IMBALANCE), 0);
    assert_int_equal(US(s[1], DRAIN), 200);
    rs_pipelines_clear(&p);
    finish(&m);
}

static void memory_fails(void **state)
{
    (void)state;
    made m;
    rs_coll_job job;
    rs_status status = RS_ERR_NOMEM;
    make_gpipe(&m, 100, 10, 0);
    assert_int_equal(rs_coll_match(m.ranks, 2, NULL, &job, NULL), RS_OK);
    for (uint64_t n = 1; status != RS_OK && n < 200; n++) {
        rs_pipelines p;
        rs_test_fail_allocation(n);
        status = rs_pipelines_find(m.list, &job, &p, NULL);
        rs_test_fail_allocation(0);
        assert_true(status == RS_OK || status == RS_ERR_NOMEM);
        rs_pipelines_clear(&p);
    }
    assert_int_equal(status, RS_OK);
    rs_coll_job_clear(&job);
    finish(&m);
}

/* ---- another layout --------------------------------------------------------------------------------------- */

static void replays_layouts(void **state)
{
    (void)state;
    rs_pipe_costs *c = rs_calloc(1, sizeof *c);
    assert_non_null(c);
    for (size_t s = 0; s < 8; s++) {
        c->forward[s] = 100;
        c->backward[s] = 200;
    }
    for (size_t p = 2; p <= 8; p++)
        for (size_t m = 1; m <= 9; m++) /* by itself either schedule takes (m + p - 1) of both passes */
            for (int one = 0; one < 2; one++) {
                int64_t window, idle;
                rs_pipe_layout l = {p, m, one ? RS_PIPE_1F1B : RS_PIPE_GPIPE};
                assert_int_equal(rs_pipe_layout_replay(c, &l, &window, &idle, NULL), RS_OK);
                assert_int_equal(window, (int64_t)(300 * (m + p - 1)));
                assert_int_equal(idle, (int64_t)(300 * (p - 1) * p));
            }
    int64_t window, idle;
    rs_pipe_layout l = {2, 1, RS_PIPE_GPIPE};
    c->link = 10;
    c->late = 1;
    c->start = 2;
    c->gap = 5;
    assert_int_equal(rs_pipe_layout_replay(c, &l, &window, &idle, NULL), RS_OK);
    /* forward, message, forward, gap, backward, message, backward */
    assert_int_equal(window, 100 + 13 + 100 + 5 + 200 + 13 + 200);
    assert_int_equal(idle, 2 * window - 600);
    c->last_longer[1] = 30; /* the other stage waits for it */
    assert_int_equal(rs_pipe_layout_replay(c, &l, &window, &idle, NULL), RS_OK);
    assert_int_equal(window, 100 + 13 + 100 + 5 + 230 + 13 + 200);
    rs_free(c);
}

static void parses_layouts(void **state)
{
    (void)state;
    rs_layout_asked l;
    assert_int_equal(rs_layout_parse("pp=2,schedule=1f1b", &l, NULL), RS_OK);
    assert_int_equal(l.pp, 2);
    assert_int_equal(l.micro_batches, 0);
    assert_int_equal(l.schedule, RS_PIPE_1F1B);
    assert_int_equal(rs_layout_parse("micro-batches=7,dp=3,ep=5,tp=4", &l, NULL), RS_OK);
    assert_true(l.dp == 3 && l.tp == 4 && l.ep == 5 && l.pp == 0 && l.micro_batches == 7);
    assert_int_equal(l.schedule, RS_PIPE_UNKNOWN);
    static const char *const wrong[] = {"pp",
                                        "pp=",
                                        "pp=0",
                                        "pp=x",
                                        "",
                                        "pp=2x",
                                        "xp=2",
                                        "=2",
                                        "schedule=other",
                                        "micro-batches=0",
                                        ",",
                                        "pp=2;x=1",
                                        "dp=9999999",
                                        "pp=-2",
                                        "micro-batches=99999999999999999999",
                                        "PP=2",
                                        "pp=2,pp=2",
                                        "schedule=1f1b,schedule=gpipe"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(rs_layout_parse(wrong[i], &l, NULL), RS_ERR_USAGE);
}

/* ---- forecasts -------------------------------------------------------------------------------------------- */

enum { FORECAST_STEPS = 2 };

/* Two steps of p stages by GPipe or 1F1B: as the replay has them, stretched. */
typedef struct played {
    rs_pipelines p;
    rs_stage_step steps[FORECAST_STEPS * 8];
    rs_stage_pass passes[FORECAST_STEPS * 8 * 2 * 8];
} played;

static played *play(size_t stages, size_t batches, rs_pipe_schedule schedule, double stretch)
{
    played *x = rs_calloc(1, sizeof *x);
    rs_pipe_costs *c = rs_calloc(1, sizeof *c);
    int64_t window, idle;
    assert_true(x && c);
    for (size_t s = 0; s < stages; s++) {
        c->forward[s] = 100000;
        c->backward[s] = 200000;
    }
    assert_int_equal(
        rs_pipe_layout_replay(c, &(rs_pipe_layout){stages, batches, schedule}, &window, &idle, NULL), RS_OK);
    x->p =
        (rs_pipelines){.steps = x->steps, .passes = x->passes, .stages = {.n_stages = stages, .n_lines = 1}};
    for (int64_t step = 0; step < FORECAST_STEPS; step++)
        for (uint32_t s = 0; s < stages; s++) {
            x->steps[x->p.n_steps++] = (rs_stage_step){.stage = s,
                                                       .step = step,
                                                       .window = (int64_t)((double)window * stretch),
                                                       .idle = idle / (int64_t)stages,
                                                       .micro_batches = (int64_t)batches,
                                                       .schedule = (uint8_t)schedule};
            for (size_t k = 0; k < 2 * batches; k++) {
                const int64_t start = step * 100000000 + (int64_t)k * 300000;
                x->passes[x->p.n_passes++] = (rs_stage_pass){.stage = s,
                                                             .step = step,
                                                             .number = (int64_t)k / 2,
                                                             .kind = k % 2 ? B : F,
                                                             .start = start,
                                                             .end = start + (k % 2 ? 200000 : 100000)};
            }
        }
    rs_free(c);
    return x;
}

static void forecasts_layouts(void **state)
{
    (void)state;
    rs_pipe_forecast f;
    rs_layout_asked asked = {.micro_batches = 12};
    played *x = play(4, 6, RS_PIPE_1F1B, 1);
    assert_int_equal(rs_pipelines_forecast(&x->p, &asked, &f, NULL), RS_OK);
    assert_int_equal(f.steps, FORECAST_STEPS);
    assert_true(f.recorded.stages == 4 && f.recorded.micro_batches == 6 &&
                f.recorded.schedule == RS_PIPE_1F1B);
    assert_int_equal(f.recorded_window, 300000 * (6 + 3));
    assert_int_equal(f.window, 300000 * (12 + 3)); /* (m + p - 1) of both passes */
    assert_true(f.low < f.window && f.window < f.high);
    assert_true(f.error > -1e-9 && f.error < 1e-9);
    asked = (rs_layout_asked){.pp = 2}; /* passes of twice the layers */
    assert_int_equal(rs_pipelines_forecast(&x->p, &asked, &f, NULL), RS_OK);
    assert_int_equal(f.window, 600000 * (6 + 1));
    assert_int_equal(f.idle, 2 * 600000);
    asked = (rs_layout_asked){.pp = 1};
    assert_int_equal(rs_pipelines_forecast(&x->p, &asked, &f, NULL), RS_OK);
    assert_int_equal(f.window, 1200000 * 6);
    assert_int_equal(f.idle, 0);
    x->steps[4].micro_batches = 5; /* the first stage of the second step */
    assert_int_equal(rs_pipelines_forecast(&x->p, &asked, &f, NULL), RS_ERR_USAGE);
    rs_free(x);

    x = play(4, 6, RS_PIPE_GPIPE, 1.06); /* above 5 % */
    assert_int_equal(rs_pipelines_forecast(&x->p, &asked, &f, NULL), RS_ERR_USAGE);
    rs_free(x);
    x = play(4, 6, RS_PIPE_GPIPE, 1.04);
    assert_int_equal(rs_pipelines_forecast(&x->p, &asked, &f, NULL), RS_OK);
    assert_true(f.error < -3 && f.error > -5 && f.low < (int64_t)(0.97 * 7200000));
    for (size_t i = 0; i < x->p.n_steps; i++) x->steps[i].schedule = RS_PIPE_DUAL;
    assert_int_equal(rs_pipelines_forecast(&x->p, &asked, &f, NULL), RS_ERR_USAGE);
    rs_free(x);

    x = play(1, 4, RS_PIPE_GPIPE, 1); /* the last backward takes longer: of fewer micro-batches it is more */
    for (size_t i = 0; i < x->p.n_steps; i++) x->steps[i].window += 40000;
    for (size_t i = 0; i < x->p.n_passes; i++)
        if (x->passes[i].kind == B && x->passes[i].number == 3) x->passes[i].end += 40000;
    asked = (rs_layout_asked){.micro_batches = 2};
    assert_int_equal(rs_pipelines_forecast(&x->p, &asked, &f, NULL), RS_OK);
    assert_int_equal(f.window, 2 * 300000 + 40000);
    rs_free(x);

    x = play(1, 3, RS_PIPE_1F1B, 1); /* gradient accumulation */
    for (size_t i = 0; i < x->p.n_steps; i++) x->steps[i].schedule = RS_PIPE_UNKNOWN;
    asked = (rs_layout_asked){.micro_batches = 7};
    assert_int_equal(rs_pipelines_forecast(&x->p, &asked, &f, NULL), RS_OK);
    assert_int_equal(f.window, 300000 * 7);
    for (size_t i = 0; i < x->p.n_steps; i++)
        x->steps[i].micro_batches = 1; /* what a second one takes is not recorded */
    assert_int_equal(rs_pipelines_forecast(&x->p, &asked, &f, NULL), RS_ERR_USAGE);
    asked = (rs_layout_asked){.pp = 1025};
    for (size_t i = 0; i < x->p.n_steps; i++) x->steps[i].micro_batches = 3;
    assert_int_equal(rs_pipelines_forecast(&x->p, &asked, &f, NULL), RS_ERR_USAGE);
    asked = (rs_layout_asked){.pp = 1000, .micro_batches = 100000};
    assert_int_equal(rs_pipelines_forecast(&x->p, &asked, &f, NULL), RS_ERR_LIMIT);
    x->p.n_steps = 0;
    assert_int_equal(rs_pipelines_forecast(&x->p, &asked, &f, NULL), RS_OK);
    assert_int_equal(f.steps, 0);
    rs_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_schedules),  cmocka_unit_test(names_newer_schedules),
        cmocka_unit_test(schedule_alone),   cmocka_unit_test(links_and_launches),
        cmocka_unit_test(longer_stage),     cmocka_unit_test(memory_fails),
        cmocka_unit_test(replays_layouts),  cmocka_unit_test(parses_layouts),
        cmocka_unit_test(forecasts_layouts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
