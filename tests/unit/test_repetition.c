/* Steps by repetition, on sequences made by hand: what is a step, what is a layer, what is neither. */
#include <string.h>

#include "base/memory.h"
#include "trace/repetition.h"
#include "unit.h"

enum { MOST = 4096 };

typedef struct maker {
    uint32_t token[MOST];
    uint16_t mark[MOST];
    int64_t gap[MOST];
    size_t n;
} maker;

/* A text of works: letters are kernels; '<' copies to the device, '>' to the host, 'O' is the optimizer's, '0'
 * clears; '|' in front of a work: the host pauses, '!': a loader's call. */
static void add(maker *m, const char *text)
{
    uint8_t mark = 0;
    int64_t gap = 1000;
    for (const char *c = text; *c; c++) {
        if (*c == '|') {
            gap = 500000;
            continue;
        }
        if (*c == '!') {
            mark |= RS_MARK_LOADER;
            continue;
        }
        assert_true(m->n < MOST);
        if (*c == '<') mark |= RS_MARK_TO_DEVICE;
        if (*c == '>') mark |= RS_MARK_TO_HOST;
        if (*c == 'O') mark |= RS_MARK_OPTIMIZER;
        if (*c == '0') mark |= RS_MARK_CLEAR;
        m->token[m->n] = (uint32_t)(unsigned char)*c;
        m->mark[m->n] = mark;
        m->gap[m->n++] = gap;
        mark = 0;
        gap = 1000;
    }
}

static void add_times(maker *m, const char *text, int times)
{
    for (int i = 0; i < times; i++) add(m, text);
}

static rs_tokens sequence_of(const maker *m)
{
    return (rs_tokens){.n = m->n, .token = m->token, .n_tokens = 256, .mark = m->mark, .gap = m->gap};
}

static rs_repetition find(const maker *m)
{
    rs_tokens s = sequence_of(m);
    rs_repetition r;
    assert_int_equal(rs_repetition_find(&s, &r, NULL), RS_OK);
    return r;
}

static void expect_steps(const maker *m, rs_border border, size_t n, size_t first, size_t length)
{
    rs_repetition r = find(m);
    assert_int_equal(r.border, border);
    assert_int_equal(r.n_steps, n);
    if (r.score >= 0.9) assert_false(r.weak);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(r.steps[i].first, first + i * length);
        assert_int_equal(r.steps[i].n, length);
    }
    rs_repetition_clear(&r);
}

static void expect_none(const maker *m)
{
    rs_repetition r = find(m);
    assert_int_equal(r.n_steps, 0);
    assert_int_equal(r.border, RS_BORDER_NONE);
    rs_repetition_clear(&r);
}

TEST(test_borders)
{
    maker m = {.n = 0};
    add_times(&m, "!<abcabcabcdedededOO00", 5);
    expect_steps(&m, RS_BORDER_LOADER, 5, 0, 21);
    m.n = 0;
    add_times(&m, "abcabcabcdedededOO|", 5); /* the pause stands before the next step */
    expect_steps(&m, RS_BORDER_OPTIMIZER, 5, 0, 18);
    m.n = 0;
    add_times(&m, "|<abcabcabcdededed", 5);
    expect_steps(&m, RS_BORDER_TO_DEVICE, 5, 0, 17);
    m.n = 0;
    add_times(&m, "|abcabcabcxdedededfgh", 5);
    expect_steps(&m, RS_BORDER_PAUSE, 5, 0, 20);
}

/* Gradients are cleared and the loss is read behind the optimizer: they are its step's. */
TEST(test_behind_optimizer)
{
    maker m = {.n = 0};
    add_times(&m, "<abcabcabcdedededOO00>", 4);
    expect_steps(&m, RS_BORDER_OPTIMIZER, 4, 0, 22);
    m.n = 0;
    add_times(&m, "|abcabcabcdedededOO00", 4); /* those of the last step, too */
    expect_steps(&m, RS_BORDER_OPTIMIZER, 4, 0, 20);
}

/* A layer repeats as well as a step, but nothing marks its border. */
TEST(test_layers)
{
    maker m = {.n = 0};
    add_times(&m, "abcdefghijklmno", 12);
    expect_none(&m);
    rs_repetition r = find(&m);
    assert_int_equal(r.period, 15);
    assert_true(r.score == 1);
    rs_repetition_clear(&r);
    m.n = 0;
    add(&m, "abcdefghijklmno");
    expect_none(&m);
    m.n = 0;
    expect_none(&m);
}

/* Micro batches have loaders of their own; a step has an optimizer. */
TEST(test_micro_batches)
{
    maker m = {.n = 0};
    for (int i = 0; i < 4; i++) {
        add_times(&m, "!<abcdefg", 4);
        add(&m, "OOO");
    }
    expect_steps(&m, RS_BORDER_LOADER, 4, 0, 35);
}

/* Evaluation every four steps is no step, nor a part of one. */
TEST(test_evaluation)
{
    maker m = {.n = 0};
    for (int i = 0; i < 3; i++) {
        add_times(&m, "!<abcdefghijklmnopqrstuvOOO", 4);
        add(&m, "vutsrq");
    }
    rs_repetition r = find(&m);
    assert_int_equal(r.n_steps, 12);
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(r.steps[i].first, i * 26 + i / 4 * 6);
        assert_int_equal(r.steps[i].n, 26);
    }
    rs_repetition_clear(&r);
}

/* A recording begins and ends in the midst of a step: those halves are none. One work more in a step is
 * tolerated. */
TEST(test_ragged)
{
    maker m = {.n = 0};
    add(&m, "opqrstuvOOO");
    add_times(&m, "!<abcdefghijklmnopqrstuvOOO", 2);
    add(&m, "!<abcdefghijkzlmnopqrstuvOOO");
    add_times(&m, "!<abcdefghijklmnopqrstuvOOO", 2);
    add(&m, "!<abcdefg");
    rs_repetition r = find(&m);
    static const size_t first[] = {11, 37, 63, 90, 116}, length[] = {26, 26, 27, 26, 26};
    assert_int_equal(r.n_steps, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(r.steps[i].first, first[i]);
        assert_int_equal(r.steps[i].n, length[i]);
    }
    rs_repetition_clear(&r);
}

/* What was launched before the recording belongs to no step, however much it looks like one. */
TEST(test_unlaunched)
{
    maker m = {.n = 0};
    add_times(&m, "!<abcdefghijklmnopqrstuvOOO", 4);
    for (size_t i = 0; i < 30; i++) m.mark[i] |= RS_MARK_UNLAUNCHED;
    expect_steps(&m, RS_BORDER_LOADER, 2, 52, 26);
}

TEST(test_likeness)
{
    maker m = {.n = 0};
    add(&m, "abcdefghijabcdxefghij");
    rs_tokens s = sequence_of(&m);
    double like = rs_stretch_likeness(&s, (rs_stretch){0, 10}, (rs_stretch){10, 11});
    assert_true(like > 10.0 / 11 - 1e-9 && like < 10.0 / 11 + 1e-9);
    assert_true(rs_stretch_likeness(&s, (rs_stretch){0, 10}, (rs_stretch){0, 10}) == 1);
    assert_true(rs_stretch_likeness(&s, (rs_stretch){0, 4}, (rs_stretch){4, 4}) == 0);
    assert_true(rs_stretch_likeness(&s, (rs_stretch){0, 0}, (rs_stretch){4, 0}) == 0);
}

TEST(test_no_memory)
{
    maker m = {.n = 0};
    add_times(&m, "!<abcabcabcdedededOO00", 5);
    rs_tokens s = sequence_of(&m);
    for (uint64_t at = 1;; at++) {
        rs_repetition r;
        rs_test_fail_allocation(at);
        rs_status status = rs_repetition_find(&s, &r, NULL);
        bool through = rs_test_fail_allocation(0) < at;
        assert_int_equal(status, through ? RS_OK : RS_ERR_NOMEM);
        rs_repetition_clear(&r);
        if (through) break;
    }
}
