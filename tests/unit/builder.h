/* Builds small event columns by hand: one call a row. Included by the tests that need it. */
#pragma once

#include <string.h>

#include "trace/trace.h"
#include "unit.h"

typedef struct builder {
    rs_events *e;
} builder;

static inline builder builder_create(void)
{
    builder b = {0};
    assert_int_equal(rs_events_create(RS_ALL_COLUMNS, 0, &b.e, NULL), RS_OK);
    return b;
}

static inline uint32_t add_row(builder *b, char phase, const char *category, const char *name, int64_t pid,
                               int64_t tid, int64_t start, int64_t duration)
{
    rs_events *e = b->e;
    assert_int_equal(rs_events_reserve(e, 1, NULL), RS_OK);
    size_t row = e->n++;
    e->start[row] = start;
    e->duration[row] = duration;
    e->name[row] = rs_strings_add(&e->strings, name, strlen(name));
    e->thread[row] = rs_events_thread(
        e, (rs_thread){.pid = pid, .tid = tid, .pid_text = RS_NO_STRING, .tid_text = RS_NO_STRING});
    e->category[row] =
        (uint16_t)rs_events_category(e, rs_strings_add(&e->strings, category, strlen(category)));
    e->phase[row] = (uint8_t)phase;
    return (uint32_t)row;
}

/* Adds a number to the row added last. */
static inline void add_arg(builder *b, rs_column_id column, int64_t value)
{
    assert_int_equal(rs_events_push_int(b->e, column, (uint32_t)(b->e->n - 1), value, NULL), RS_OK);
}

/* The same of a text. */
static inline void add_text(builder *b, rs_column_id column, const char *value)
{
    rs_events *e = b->e;
    assert_int_equal(rs_events_reserve_column(e, column, 1, NULL), RS_OK);
    rs_sparse *c = &e->args[column];
    c->rows[c->n] = (uint32_t)(e->n - 1);
    c->texts[c->n++] = rs_strings_add(&e->strings, value, strlen(value));
}

static inline uint32_t add_call(builder *b, const char *name, int64_t pid, int64_t start, int64_t correlation)
{
    uint32_t row = add_row(b, 'X', "cuda_runtime", name, pid, pid, start, 10);
    add_arg(b, RS_COL_CORRELATION, correlation);
    return row;
}

static inline uint32_t add_kernel(builder *b, const char *name, int64_t pid, int64_t stream, int64_t start,
                                  int64_t duration, int64_t correlation)
{
    uint32_t row = add_row(b, 'X', "kernel", name, pid, stream, start, duration);
    add_arg(b, RS_COL_STREAM, stream);
    if (correlation >= 0) add_arg(b, RS_COL_CORRELATION, correlation);
    return row;
}

static inline uint32_t add_op(builder *b, const char *name, int64_t pid, int64_t start, int64_t duration,
                              int64_t external_id)
{
    uint32_t row = add_row(b, 'X', "cpu_op", name, pid, pid, start, duration);
    add_arg(b, RS_COL_EXTERNAL_ID, external_id);
    return row;
}

static inline void add_step(builder *b, const char *category, const char *name, int64_t pid, int64_t start,
                            int64_t duration)
{
    add_row(b, 'X', category, name, pid, pid, start, duration);
}
