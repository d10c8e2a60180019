/* What tests of profiler formats share. */
#pragma once

#include "support.h"
#include "format/native.h"

static inline rs_status load_native(const char *s, size_t n, const char *name, rs_events **out, rs_error *err)
{
    rs_source *source;
    rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
    guarded g = guarded_copy(s, n);
    assert_int_equal(rs_source_open_bytes(g.bytes, g.n, name, 0, &source, NULL), RS_OK);
    rs_status status =
        rs_trace_load(&(rs_trace_input){name, g.bytes, g.n, NULL, source}, &settings, out, err);
    rs_source_close(source);
    guarded_free(&g);
    return status;
}

/* How many rows claim a text: more than one, and the order of the rows would decide. */
static inline unsigned count_claims(const void *bytes, size_t n)
{
    unsigned claims = 0;
    for (const rs_format *const *row = rs_format_rows; *row; row++)
        claims += (*row)->sniff && (*row)->sniff(bytes, n < 2048 ? n : 2048);
    return claims;
}

static inline void expect_event(const rs_events *e, size_t row, const char *category, const char *name,
                                int64_t start, int64_t duration)
{
    assert_true(row < e->n);
    assert_string_equal(e->strings.items[e->categories[e->category[row]].name].text, category);
    assert_string_equal(rs_event_name(e, row), name);
    assert_int_equal(e->start[row], start);
    assert_int_equal(e->duration[row], duration);
}

static inline void expect_int(const rs_events *e, size_t row, rs_column_id column, int64_t wanted)
{
    int64_t v = RS_NO_VALUE;
    rs_events_int(e, column, (uint32_t)row, &v);
    assert_int_equal(v, wanted);
}

static inline void expect_text(const rs_events *e, size_t row, rs_column_id column, const char *wanted)
{
    uint32_t id = rs_events_text(e, column, (uint32_t)row);
    assert_true(id != RS_NO_STRING);
    assert_string_equal(e->strings.items[id].text, wanted);
}
