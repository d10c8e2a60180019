/* Snapshots of PyTorch's allocator: every version's fields, what is refused and where, cuts, and memory that runs out; then
 * what is made of them, on a history that is counted by hand. */
#include "support.h"

#include "base/memory.h"
#include "format/format.h"
#include "format/snapshot.h"
#include "input/source.h"
#include "memory/frames.h"
#include "memory/history.h"
#include "memory/notes.h"
#include "memory/purpose.h"
#include "memory/segments.h"
#include "memory/sites.h"
#include "pickler.h"
#include "rankscope/partial.h"
#include "rankscope/render.h"

#define MIB ((int64_t)1 << 20)

/* ---- writing ----------------------------------------------------------------------------------------- */

typedef struct frame_line {
    const char *name, *file;
    int line;
} frame_line;

static void put_frames(pickler *p, const frame_line *frames, size_t n)
{
    pk_text(p, "frames");
    pk_open_list(p);
    for (size_t i = 0; i < n; i++) {
        pk_open_dict(p);
        pk_key_text(p, "name", frames[i].name);
        pk_key_text(p, "filename", frames[i].file);
        pk_key_int(p, "line", frames[i].line);
        pk_close_dict(p);
    }
    pk_close_list(p);
}

static const frame_line user_stack[] = {
    {"at::_ops::mm::call(at::Tensor const&)", "??", 0},
    {"linear", "/v/lib/python3.11/site-packages/torch/nn/functional.py", 10},
    {"forward", "/v/lib/python3.11/site-packages/mylm/model.py", 97},
    {"<module>", "/work/train.py", 3},
};

/* time 0: none. */
static void put_event(pickler *p, const char *action, uint64_t address, int64_t size, int64_t time,
                      bool stack)
{
    pk_open_dict(p);
    pk_key_text(p, "action", action);
    pk_text(p, strcmp(action, "oom") == 0 ? "device_free" : "addr");
    if (address > INT64_MAX)
        pk_unsigned(p, address);
    else
        pk_int(p, (int64_t)address);
    pk_key_int(p, "size", size);
    pk_key_int(p, "stream", 0);
    if (time) pk_key_int(p, "time_us", time);
    if (stack) put_frames(p, user_stack, sizeof user_stack / sizeof *user_stack);
    pk_close_dict(p);
}

static void put_block(pickler *p, int64_t address, int64_t size, int64_t requested, const char *state)
{
    pk_open_dict(p);
    if (address >= 0) pk_key_int(p, "address", address);
    pk_key_int(p, "size", size);
    if (requested >= 0) pk_key_int(p, "requested_size", requested);
    pk_key_text(p, "state", state);
    pk_close_dict(p);
}

/* Its blocks follow; close_segment ends it. */
static void open_segment(pickler *p, int device, int64_t address, int64_t size, const char *type,
                         bool expandable)
{
    pk_open_dict(p);
    pk_key_int(p, "device", device);
    pk_key_int(p, "address", address);
    pk_key_int(p, "total_size", size);
    pk_key_int(p, "stream", 0);
    pk_key_text(p, "segment_type", type);
    pk_text(p, "is_expandable");
    pk_byte(p, expandable ? 0x88 : 0x89);
    pk_text(p, "blocks");
    pk_open_list(p);
}

static void close_segment(pickler *p)
{
    pk_close_list(p);
    pk_close_dict(p);
}

/* A snapshot of one device: two blocks of a segment, one of which an event allocated. */
static pickler small_snapshot(int protocol, bool times)
{
    pickler p = pk_begin(protocol);
    pk_open_dict(&p);
    pk_text(&p, "segments");
    pk_open_list(&p);
    open_segment(&p, 0, 4096, 2 * MIB, "small", false);
    put_block(&p, 4096, 1024, 1000, "active_allocated");
    put_block(&p, 5120, 512, 500, "active_pending_free");
    put_block(&p, 5632, 2 * MIB - 1536, 0, "inactive");
    close_segment(&p);
    pk_close_list(&p);
    pk_text(&p, "device_traces");
    pk_open_list(&p);
    pk_open_list(&p);
    put_event(&p, "segment_alloc", 4096, 2 * MIB, times ? 1000 : 0, false);
    put_event(&p, "alloc", 4096, 1000, times ? 1001 : 0, true);
    pk_close_list(&p);
    pk_close_list(&p);
    pk_close_dict(&p);
    pk_end(&p);
    return p;
}

/* ---- reading ----------------------------------------------------------------------------------------- */

static rs_status load_pickle(const text *t, rs_events **out, rs_error *err)
{
    rs_source *source;
    rs_load_settings settings = {.records = RS_TAKES(ALLOCATIONS)};
    *err = (rs_error)RS_ERROR_INIT;
    *out = NULL;
    void *copy = malloc(t->n ? t->n : 1); /* so that a sanitizer sees a step too far */
    assert_non_null(copy);
    if (t->n) memcpy(copy, t->s, t->n);
    rs_status status = rs_source_open_bytes(copy, t->n, "rank0.pickle", 0, &source, err);
    if (status == RS_OK) {
        status = rs_format_torch_snapshot.load(source, &settings, out, err);
        rs_source_close(source);
    }
    free(copy);
    return status;
}

static const rs_snapshot *load_good(const pickler *p, rs_events **events)
{
    rs_error err;
    rs_status status = load_pickle(&p->t, events, &err);
    if (status != RS_OK) fail_msg("%s", err.causes[0].message);
    return (*events)->other.columns;
}

static const char *word_at(const rs_snapshot *s, uint32_t id)
{
    return s->strings.items[id].text;
}

TEST(test_reads_all_protocols)
{
    for (int protocol = 2; protocol <= 5; protocol++) {
        pickler p = small_snapshot(protocol, true);
        rs_events *events;
        const rs_snapshot *s = load_good(&p, &events);
        assert_int_equal(s->n_segments, 1);
        assert_int_equal(s->segments[0].size, 2 * MIB);
        assert_true(s->segments[0].small);
        assert_int_equal(s->segments[0].n, 3);
        const rs_block *b = &s->blocks[s->segments[0].first];
        assert_int_equal(b[0].address, 4096);
        assert_int_equal(b[0].requested, 1000);
        assert_int_equal(b[1].state, RS_BLOCK_PENDING);
        assert_int_equal(b[2].state, RS_BLOCK_INACTIVE);
        assert_int_equal(s->n_devices, 1);
        assert_int_equal(s->devices[0].n, 2);
        assert_int_equal(s->events.action[1], RS_SNAPSHOT_ALLOC);
        assert_int_equal(s->events.time[1], 1001000);
        assert_int_equal(events->other.first, 1000000);
        assert_int_equal(events->other.last, 1001000);
        const rs_stack *stack = &s->stacks[s->events.stack[1]];
        assert_int_equal(stack->n, 4);
        assert_string_equal(word_at(s, s->frames[s->stack_frames[stack->first + 2]].name), "forward");
        assert_int_equal(s->frames[s->stack_frames[stack->first + 2]].line, 97);
        assert_int_equal(s->events.stack[0], RS_NO_STACK);
        rs_events_free(events);
        text_clear(&p.t);
    }
}

/* From the first time to the last, in any order; events without one do not count. */
TEST(test_span_of_events)
{
    static const int64_t times[] = {0, 1003, 0, 1001, 1007, 0};
    enum { N = sizeof times / sizeof *times };
    for (size_t turn = 0; turn < N; turn++) {
        pickler p = pk_begin(4);
        rs_events *events;
        pk_open_dict(&p);
        pk_text(&p, "segments");
        pk_open_list(&p);
        pk_close_list(&p);
        pk_text(&p, "device_traces");
        pk_open_list(&p);
        pk_open_list(&p);
        for (size_t i = 0; i < N; i++) put_event(&p, "alloc", 4096, 512, times[(i + turn) % N], false);
        pk_close_list(&p);
        pk_close_list(&p);
        pk_close_dict(&p);
        pk_end(&p);
        const rs_snapshot *s = load_good(&p, &events);
        for (size_t i = 0; i < N; i++)
            assert_true(s->events.time[i] ==
                        (times[(i + turn) % N] ? times[(i + turn) % N] * 1000 : RS_NO_TIME));
        assert_true(events->other.first == 1001000 && events->other.last == 1007000);
        rs_events_free(events);
        text_clear(&p.t);
    }
}

/* The same stack written twice is one; so is one that the memo refers to. */
TEST(test_stacks_are_one)
{
    pickler p = pk_begin(4);
    pk_open_dict(&p);
    pk_text(&p, "segments");
    pk_open_list(&p);
    pk_close_list(&p);
    pk_text(&p, "device_traces");
    pk_open_list(&p);
    pk_open_list(&p);
    put_event(&p, "alloc", 4096, 10, 1, true);
    put_event(&p, "alloc", 8192, 10, 1, true);
    pk_close_list(&p);
    pk_close_list(&p);
    pk_close_dict(&p);
    pk_end(&p);
    rs_events *events;
    const rs_snapshot *s = load_good(&p, &events);
    assert_int_equal(s->n_stacks, 1);
    assert_int_equal(s->n_frames, 4);
    assert_int_equal(s->events.stack[0], s->events.stack[1]);
    rs_events_free(events);
    text_clear(&p.t);
}

/* 1.13: a list of segments whose blocks have a history and no address. 2.0: no times. */
TEST(test_old_versions)
{
    rs_events *events;
    pickler p = pk_begin(4);
    pk_open_list(&p);
    pk_open_dict(&p);
    pk_key_int(&p, "device", 1);
    pk_key_int(&p, "address", 8192);
    pk_key_int(&p, "total_size", 2 * MIB);
    pk_key_text(&p, "segment_type", "small");
    pk_text(&p, "blocks");
    pk_open_list(&p);
    pk_open_dict(&p);
    pk_key_int(&p, "size", 1024);
    pk_key_text(&p, "state", "active_allocated");
    pk_text(&p, "history");
    pk_open_list(&p);
    pk_open_dict(&p);
    pk_key_int(&p, "addr", 8192);
    pk_key_int(&p, "real_size", 600);
    put_frames(&p, user_stack, 4);
    pk_close_dict(&p);
    pk_close_list(&p);
    pk_close_dict(&p);
    put_block(&p, -1, 2 * MIB - 1024, -1, "inactive");
    pk_close_list(&p);
    pk_close_dict(&p);
    pk_close_list(&p);
    pk_end(&p);
    const rs_snapshot *s = load_good(&p, &events);
    assert_false(s->has_history);
    assert_int_equal(s->devices[0].number, 1);
    assert_int_equal(s->blocks[0].requested, 600);
    assert_int_equal(s->stacks[s->blocks[0].stack].n, 4);
    assert_int_equal(s->blocks[1].address, 8192 + 1024);
    rs_events_free(events);
    text_clear(&p.t);

    p = small_snapshot(2, false);
    s = load_good(&p, &events);
    assert_true(s->events.time[0] == RS_NO_TIME);
    assert_true(events->other.first == RS_NO_TIME);
    rs_events_free(events);
    text_clear(&p.t);
}

TEST(test_high_numbers_and_unknown_words)
{
    rs_events *events;
    pickler p = pk_begin(4);
    pk_open_dict(&p);
    pk_text(&p, "segments");
    pk_open_list(&p);
    pk_close_list(&p);
    pk_text(&p, "device_traces");
    pk_open_list(&p);
    pk_open_list(&p);
    put_event(&p, "alloc", UINT64_C(0xffff800000001000), 10, 1, false);
    put_event(&p, "teleport", 1, 10, 2, false);
    pk_open_dict(&p);
    pk_key_text(&p, "action", "free_requested");
    pk_text(&p, "addr");
    pk_unsigned(&p, UINT64_C(0xffff800000001000));
    pk_key_int(&p, "size", 10);
    pk_key_int(&p, "colour", 3);
    pk_close_dict(&p);
    pk_close_list(&p);
    pk_close_list(&p);
    pk_close_dict(&p);
    pk_end(&p);
    const rs_snapshot *s = load_good(&p, &events);
    assert_true(s->events.address[0] == UINT64_C(0xffff800000001000));
    assert_int_equal(s->events.action[1], RS_SNAPSHOT_OTHER);
    assert_int_equal(events->problems.n, 2);
    assert_string_equal(events->problems.items[0].kind, "unknown_keys");
    assert_string_equal(events->problems.items[0].detail, "colour");
    assert_string_equal(events->problems.items[1].detail, "teleport");
    assert_int_equal(rs_problems_worst(&events->problems), RS_NOTE);
    rs_events_free(events);
    text_clear(&p.t);
}

/* More than a batch of items, and lists of one item, which come without a mark. */
TEST(test_batches)
{
    rs_events *events;
    pickler p = pk_begin(4);
    pk_open_dict(&p);
    pk_text(&p, "segments");
    pk_byte(&p, ']');
    pk_store(&p);
    pk_text(&p, "device_traces");
    pk_byte(&p, ']');
    pk_store(&p);
    pk_open_list(&p);
    for (int i = 0; i < 2500; i++) {
        if (i && i % 1000 == 0) {
            pk_close_list(&p);
            pk_byte(&p, '(');
        }
        put_event(&p, i % 2 ? "free_completed" : "alloc", 4096, 512, 10 + i, i == 0);
    }
    pk_close_list(&p);
    pk_byte(&p, 'a');
    pk_close_dict(&p);
    pk_end(&p);
    const rs_snapshot *s = load_good(&p, &events);
    assert_int_equal(s->devices[0].n, 2500);
    for (int i = 0; i < 2500; i++) assert_int_equal(s->events.time[s->devices[0].first + i], (10 + i) * 1000);
    rs_events_free(events);
    /* of the same, cut in the list, all that was complete is there */
    for (size_t cut = p.t.n - 40; cut < p.t.n - 5; cut++) {
        text part = {p.t.s, cut, 0};
        rs_error err;
        assert_int_equal(load_pickle(&part, &events, &err), RS_OK);
        s = events->other.columns;
        assert_in_range(s->devices[0].n, 2499, 2500);
        assert_int_equal(rs_problems_worst(&events->problems), RS_LOSS);
        rs_events_free(events);
    }
    text_clear(&p.t);
}

/* What is wrong is named with its place. */
TEST(test_refuses_by_place)
{
    static const struct {
        const char *place;
        int what;
    } cases[] = {{"segments[1].blocks[1].size", 0}, {"segments[1].address", 1},
                 {"segments[1].blocks", 2},         {"segments[1].total_size", 3},
                 {"device_traces[0][1].addr", 4},   {"segments[1].blocks[0].state", 5},
                 {"device_traces[0][1].size", 6},   {"segments[0].blocks do not fill", 7},
                 {"device_traces[0][1]", 8},        {"segments[1].blocks[1].address", 9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int what = cases[i].what;
        pickler p = pk_begin(4);
        rs_events *events;
        rs_error err;
        char line[1024];
        pk_open_dict(&p);
        pk_text(&p, "segments");
        pk_open_list(&p);
        open_segment(&p, 0, 0, 512, "small", false);
        put_block(&p, 0, what == 7 ? 256 : 512, 5, "inactive");
        close_segment(&p);
        pk_open_dict(&p);
        if (what == 1)
            pk_key_text(&p, "address", "x");
        else
            pk_key_int(&p, "address", 4096);
        pk_key_int(&p, "total_size", what == 3 ? -5 : 1024);
        pk_text(&p, "blocks");
        if (what == 2) {
            pk_byte(&p, 'N');
        } else {
            pk_open_list(&p);
            put_block(&p, 4096, 512, 5, what == 5 ? "asleep" : "active_allocated");
            put_block(&p, what == 9 ? 5000 : 4608, what == 0 ? 4096 : 512, 5, "inactive");
            pk_close_list(&p);
        }
        pk_close_dict(&p);
        pk_close_list(&p);
        pk_text(&p, "device_traces");
        pk_open_list(&p);
        pk_open_list(&p);
        put_event(&p, "alloc", 4096, 5, 1, false);
        if (what == 8) {
            pk_text(&p, "x");
        } else {
            pk_open_dict(&p);
            pk_key_text(&p, "action", "alloc");
            if (what != 4) pk_key_int(&p, "addr", 8192);
            pk_key_int(&p, "size", what == 6 ? -1 : 5);
            pk_close_dict(&p);
        }
        pk_close_list(&p);
        pk_close_list(&p);
        pk_close_dict(&p);
        pk_end(&p);
        assert_int_equal(load_pickle(&p.t, &events, &err), RS_ERR_FORMAT);
        assert_null(events);
        rs_error_text(&err, line, sizeof line);
        if (!strstr(line, cases[i].place) || !strstr(line, "rank0.pickle"))
            fail_msg("%s: %s", cases[i].place, line);
        text_clear(&p.t);
    }
}

/* Code is refused wherever it is, also after complete segments; a cut is not. */
TEST(test_refuses_code)
{
    static const char code[] = "\x8c\x01x\x8c\x02os\x8c\x06system\x93";
    pickler p = small_snapshot(4, true);
    rs_events *events;
    rs_error err;
    text_delete(&p.t, p.t.n - 2, 2);
    text_add(&p.t, code, sizeof code - 1);
    assert_int_equal(load_pickle(&p.t, &events, &err), RS_ERR_FORMAT);
    text_clear(&p.t);
    p = pk_begin(4);
    pk_byte(&p, 'I');
    text_puts(&p.t, "12\n.");
    assert_int_equal(load_pickle(&p.t, &events, &err), RS_ERR_FORMAT);
    assert_non_null(strstr(err.causes[0].message, "INT"));
    text_clear(&p.t);
}

/* Every prefix is refused, or is the segments and some of the events; every byte may be any other. */
TEST(test_prefixes_and_damage)
{
    pickler p = small_snapshot(4, true);
    rs_events *events;
    rs_error err;
    size_t answered = 0;
    for (size_t cut = 0; cut < p.t.n; cut++) {
        text part = {p.t.s, cut, 0};
        rs_status status = load_pickle(&part, &events, &err);
        assert_true(status == RS_OK || status == RS_ERR_FORMAT);
        if (status != RS_OK) continue;
        const rs_snapshot *s = events->other.columns;
        assert_int_equal(s->n_segments, 1);
        assert_int_equal(rs_problems_worst(&events->problems), RS_LOSS);
        answered++;
        rs_events_free(events);
    }
    assert_true(answered > 50);
    for (size_t at = 0; at < p.t.n; at++)
        for (int bit = 0; bit < 8; bit += RS_TEST_SLOW ? 5 : 1) {
            p.t.s[at] = (char)(p.t.s[at] ^ (1 << bit));
            rs_status status = load_pickle(&p.t, &events, &err);
            assert_true(status == RS_OK || status == RS_ERR_FORMAT || status == RS_ERR_LIMIT);
            if (status == RS_OK) rs_events_free(events);
            p.t.s[at] = (char)(p.t.s[at] ^ (1 << bit));
        }
    text_clear(&p.t);
}

TEST(test_memory_runs_out)
{
    pickler p = small_snapshot(4, true);
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        rs_events *events;
        rs_source *source;
        rs_error err = RS_ERROR_INIT;
        rs_load_settings settings = {0};
        assert_int_equal(rs_source_open_bytes(p.t.s, p.t.n, "x", 0, &source, &err), RS_OK);
        rs_test_fail_allocation(n);
        rs_status status = rs_format_torch_snapshot.load(source, &settings, &events, &err);
        rs_test_fail_allocation(0);
        rs_source_close(source);
        done = status == RS_OK;
        if (!done) assert_int_equal(status, RS_ERR_NOMEM);
        if (done) rs_events_free(events);
        assert_true(n < 1000);
    }
    text_clear(&p.t);
}

/* ---- a history, counted by hand ------------------------------------------------------------------------ */

/* Segment of 2 MiB at 1 MiB. Before the first event: A (300 of 512 B, at +0) and P (100 of 512 B, pending, at +512) and
 * X (400 B, at +1536), which the events free.
 *   0 alloc B +1024 (200)   1 free_requested B   2 free_completed B   3 alloc B' +1024 (250)   4 free_requested X
 *   5 free_completed X      6 segment_alloc 20 MiB  7 alloc C (5 MiB)  8 alloc C again (6 MiB, no free between)
 *   9 oom 30 MiB, 1 MiB free on the device
 * At the end: A, P, B' and C of 6 MiB; of these the segments show A, P and C. */
static rs_events *hand_made(void)
{
    int64_t at = MIB, large = 64 * MIB;
    pickler p = pk_begin(4);
    rs_events *events;
    pk_open_dict(&p);
    pk_text(&p, "segments");
    pk_open_list(&p);
    open_segment(&p, 0, at, 2 * MIB, "small", false);
    put_block(&p, at, 512, 300, "active_allocated");
    put_block(&p, at + 512, 512, 100, "active_pending_free");
    put_block(&p, at + 1024, 2 * MIB - 1024, 0, "inactive");
    close_segment(&p);
    open_segment(&p, 0, large, 20 * MIB, "large", false);
    put_block(&p, large, 6 * MIB, 6 * MIB, "active_allocated");
    put_block(&p, large + 6 * MIB, 14 * MIB, 0, "inactive");
    close_segment(&p);
    pk_close_list(&p);
    pk_text(&p, "device_traces");
    pk_open_list(&p);
    pk_open_list(&p);
    put_event(&p, "alloc", (uint64_t)at + 1024, 200, 100, true);
    put_event(&p, "free_requested", (uint64_t)at + 1024, 200, 110, false);
    put_event(&p, "free_completed", (uint64_t)at + 1024, 200, 120, false);
    put_event(&p, "alloc", (uint64_t)at + 1024, 250, 130, true);
    put_event(&p, "free_requested", (uint64_t)at + 1536, 400, 140, false);
    put_event(&p, "free_completed", (uint64_t)at + 1536, 400, 150, false);
    put_event(&p, "segment_alloc", (uint64_t)large, 20 * MIB, 160, false);
    put_event(&p, "alloc", (uint64_t)large, 5 * MIB, 170, false);
    put_event(&p, "alloc", (uint64_t)large, 6 * MIB, 180, false);
    put_event(&p, "oom", (uint64_t)MIB, 30 * MIB, 190, true);
    pk_close_list(&p);
    pk_close_list(&p);
    pk_close_dict(&p);
    pk_end(&p);
    load_good(&p, &events);
    text_clear(&p.t);
    return events;
}

TEST(test_history)
{
    rs_events *events = hand_made();
    const rs_snapshot *s = events->other.columns;
    rs_history h;
    assert_int_equal(rs_history_make(s, &s->devices[0], &h, NULL), RS_OK);
    assert_int_equal(h.begin.active, 300 + 100 + 400);
    assert_int_equal(h.begin.held, 300 + 400);
    assert_int_equal(h.begin.reserved, 2 * MIB);
    assert_int_equal(h.end.active, 300 + 100 + 6 * MIB);
    assert_int_equal(h.end.held, 300 + 6 * MIB);
    assert_int_equal(h.end.reserved, 22 * MIB);
    assert_int_equal(h.allocated, 512 + 6 * MIB);
    assert_int_equal(h.n_cut, 1);
    assert_int_equal(h.n_unplaced, 1); /* B' */
    assert_int_equal(h.n_before, 3);
    assert_int_equal(h.n_failed, 1);
    static const int64_t active[] = {800, 1000, 1000,          800,           1050,         1050,
                                     650, 650,  650 + 5 * MIB, 650 + 6 * MIB, 650 + 6 * MIB};
    static const int64_t held[] = {700, 900, 700,           700,           950,          550,
                                   550, 550, 550 + 5 * MIB, 550 + 6 * MIB, 550 + 6 * MIB};
    rs_held now = h.begin;
    for (uint32_t i = 0; i <= h.n; i++) {
        if (i) rs_held_after(&h, i - 1, &now);
        assert_int_equal(now.active, active[i]);
        assert_int_equal(now.held, held[i]);
        assert_int_equal(now.reserved, i < 7 ? 2 * MIB : 22 * MIB);
        int64_t counted = 0;
        for (size_t k = 0; k < h.n_lives; k++)
            if (rs_life_is_active(&h.lives[k], i)) counted += h.lives[k].size;
        assert_int_equal(counted, active[i]);
    }
    rs_instants all = {0, h.n}, early = {2, 5};
    rs_peaks p = rs_history_peaks(&h, &all, 1);
    assert_int_equal(p.value[RS_ACTIVE], 650 + 6 * MIB);
    assert_int_equal(p.instant[RS_ACTIVE], 9);
    assert_int_equal(rs_instant_time(&h, 9), 180000);
    assert_int_equal(rs_instant_time(&h, 0), 100000);
    p = rs_history_peaks(&h, &early, 1);
    assert_int_equal(p.value[RS_ACTIVE], 1050);
    assert_int_equal(p.instant[RS_ACTIVE], 4);
    assert_int_equal(p.instant[RS_RESERVED], 2); /* the earliest of equals */
    assert_int_equal(rs_instant_at(&h, 125000), 3);
    assert_int_equal(rs_instant_at(&h, 99999), 0);
    rs_history_clear(&h);
    rs_events_free(events);
}

TEST(test_history_out_of_memory)
{
    rs_events *events = hand_made();
    const rs_snapshot *s = events->other.columns;
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        rs_history h;
        rs_test_fail_allocation(n);
        rs_status status = rs_history_make(s, &s->devices[0], &h, NULL);
        rs_test_fail_allocation(0);
        done = status == RS_OK;
        rs_history_clear(&h);
        assert_true(n < 100);
    }
    rs_events_free(events);
}

/* ---- segments -------------------------------------------------------------------------------------------- */

TEST(test_segments)
{
    pickler p = pk_begin(4);
    rs_events *events;
    int64_t base = 1024 * MIB;
    pk_open_list(&p);
    /* expandable, large: pages of 20 MiB; free from 15 to 70 MiB, of which 20 to 60 can go */
    open_segment(&p, 0, base, 100 * MIB, "large", true);
    put_block(&p, base, 15 * MIB, 14 * MIB, "active_allocated");
    put_block(&p, base + 15 * MIB, 30 * MIB, 0, "inactive");
    put_block(&p, base + 45 * MIB, 25 * MIB, 0, "inactive");
    put_block(&p, base + 70 * MIB, 10 * MIB, 10 * MIB, "active_pending_free");
    put_block(&p, base + 80 * MIB, 20 * MIB, 0, "inactive");
    close_segment(&p);
    /* not expandable: nothing can go while a block is there */
    open_segment(&p, 0, 2 * base, 20 * MIB, "large", false);
    put_block(&p, 2 * base, 10 * MIB, 10 * MIB, "active_allocated");
    put_block(&p, 2 * base + 10 * MIB, 10 * MIB, 0, "inactive");
    close_segment(&p);
    /* without blocks all of it can */
    open_segment(&p, 0, 3 * base, 2 * MIB, "small", false);
    put_block(&p, 3 * base, 2 * MIB, 0, "inactive");
    close_segment(&p);
    pk_close_list(&p);
    pk_end(&p);
    const rs_snapshot *s = load_good(&p, &events);
    rs_segment_use a = rs_segment_use_of(s, &s->segments[0]), b = rs_segment_use_of(s, &s->segments[1]),
                   c = rs_segment_use_of(s, &s->segments[2]);
    assert_int_equal(a.active, 25 * MIB);
    assert_int_equal(a.allocated, 15 * MIB);
    assert_int_equal(a.requested, 24 * MIB);
    assert_int_equal(a.free, 75 * MIB);
    assert_int_equal(a.releasable, 60 * MIB);
    assert_int_equal(a.stuck, 15 * MIB);
    assert_int_equal(a.largest_free, 55 * MIB);
    assert_int_equal(a.free_runs, 2);
    assert_int_equal(a.blocks, 2);
    assert_int_equal(b.releasable, 0);
    assert_int_equal(b.stuck, 10 * MIB);
    assert_int_equal(c.releasable, 2 * MIB);
    assert_int_equal(c.stuck, 0);
    rs_segment_finder f;
    assert_int_equal(rs_segment_finder_init(&f, s, 0, NULL), RS_OK);
    assert_ptr_equal(rs_segment_at(&f, (uint64_t)base + 99 * MIB), &s->segments[0]);
    assert_null(rs_segment_at(&f, (uint64_t)base + 100 * MIB));
    assert_null(rs_segment_at(&f, 0));
    rs_segment_finder_clear(&f);
    rs_events_free(events);
    text_clear(&p.t);
}

/* ---- sites ------------------------------------------------------------------------------------------------- */

static void put_stack_event(pickler *p, const frame_line *frames, size_t n)
{
    pk_open_dict(p);
    pk_key_text(p, "action", "alloc");
    pk_key_int(p, "addr", 4096);
    pk_key_int(p, "size", 1);
    put_frames(p, frames, n);
    pk_close_dict(p);
}

TEST(test_sites)
{
    static const frame_line library[] = {{"wrap", "/usr/lib/python3.11/contextlib.py", 5},
                                         {"all_reduce", "/a/dist-packages/torch/distributed/c10d.py", 7}};
    static const frame_line nested[] = {{"f", "/a/site-packages/x/site-packages/torchvision/models.py", 4},
                                        {"g", "/work/train.py", 1}};
    static const frame_line node[] = {
        {"at::native::mm(at::Tensor const&)", "", 0},
        {"torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)", "", 0},
        {"torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)", "", 0}};
    static const frame_line op[] = {{"c10::alloc()", "", 0}, {"at::_ops::add_Tensor::redispatch(x)", "", 0}};
    static const frame_line native[] = {{"cudaMalloc(void**, unsigned long)", "x.cpp", 3}};
    static const struct {
        const frame_line *frames;
        size_t n;
        const char *line, *function, *file, *frame;
    } cases[] = {
        {user_stack, 4, "mylm/model.py:97 forward", "mylm/model.py forward", "mylm/model.py",
         "torch/nn/functional.py:10 linear"},
        {library, 2, "/usr/lib/python3.11/contextlib.py:5 wrap", "/usr/lib/python3.11/contextlib.py wrap",
         "/usr/lib/python3.11/contextlib.py", "/usr/lib/python3.11/contextlib.py:5 wrap"},
        {nested, 2, "torchvision/models.py:4 f", "torchvision/models.py f", "torchvision/models.py",
         "torchvision/models.py:4 f"},
        {node, 3, "backward: MmBackward0", "backward: MmBackward0", "backward: MmBackward0",
         "backward: MmBackward0"},
        {op, 2, "op: add_Tensor", "op: add_Tensor", "op: add_Tensor", "op: add_Tensor"},
        {native, 1, "native: cudaMalloc(void**, unsigned long)", "native: cudaMalloc(void**, unsigned long)",
         "native: cudaMalloc(void**, unsigned long)", "native: cudaMalloc(void**, unsigned long)"},
    };
    size_t n = sizeof cases / sizeof *cases;
    pickler p = pk_begin(4);
    rs_events *events;
    pk_open_dict(&p);
    pk_text(&p, "segments");
    pk_open_list(&p);
    pk_close_list(&p);
    pk_text(&p, "device_traces");
    pk_open_list(&p);
    pk_open_list(&p);
    for (size_t i = 0; i < n; i++) put_stack_event(&p, cases[i].frames, cases[i].n);
    pk_close_list(&p);
    pk_close_list(&p);
    pk_close_dict(&p);
    pk_end(&p);
    const rs_snapshot *s = load_good(&p, &events);
    rs_frame_traits traits;
    rs_strings names;
    assert_true(rs_strings_init(&names));
    assert_int_equal(rs_frame_traits_make(s, &traits, NULL), RS_OK);
    for (rs_site_by by = RS_BY_LINE; by <= RS_BY_STACK; by++) {
        rs_stack_names of;
        assert_int_equal(rs_stack_names_init(&of, &traits, by, &names, NULL), RS_OK);
        for (size_t i = 0; i < n; i++) {
            const char *wanted[] = {cases[i].line, cases[i].function, cases[i].file, cases[i].frame};
            uint32_t id = rs_stack_name(&of, s->events.stack[i]);
            const char *got = names.items[id].text;
            if (by < RS_BY_STACK) assert_string_equal(got, wanted[by]);
        }
        uint32_t first = rs_stack_name(&of, s->events.stack[0]), unknown = rs_stack_name(&of, RS_NO_STACK);
        if (by == RS_BY_STACK)
            assert_string_equal(
                names.items[first].text,
                "/work/train.py:3 <module>;mylm/model.py:97 forward;torch/nn/functional.py:10 "
                "linear;at::_ops::mm::call(at::Tensor const&)");
        assert_string_equal(names.items[unknown].text, "unknown");
        rs_stack_names_clear(&of);
    }
    rs_frame_traits_clear(&traits);
    rs_strings_clear(&names);
    rs_events_free(events);
    text_clear(&p.t);
}

/* ---- notes and steps ----------------------------------------------------------------------------------------- */

static void put_note(pickler *p, const char *stage, const char *name, int64_t time)
{
    pk_open_dict(p);
    pk_key_text(p, "stage", stage);
    pk_key_text(p, "name", name);
    pk_key_int(p, "device", 0);
    pk_key_int(p, "time_us", time);
    pk_close_dict(p);
}

TEST(test_notes)
{
    pickler p = pk_begin(4);
    rs_events *events;
    pk_open_dict(&p);
    pk_text(&p, "segments");
    pk_open_list(&p);
    pk_close_list(&p);
    pk_text(&p, "device_traces");
    pk_open_list(&p);
    pk_open_list(&p);
    for (int i = 0; i < 20; i++) put_event(&p, "alloc", 4096 + (uint64_t)i * 512, 1, 100 + i * 10, false);
    pk_close_list(&p);
    pk_close_list(&p);
    pk_text(&p, "external_annotations");
    pk_open_list(&p);
    put_note(&p, "START", "outer", 100);
    put_note(&p, "START", "inner", 110);
    put_note(&p, "START", "inner", 120);
    put_note(&p, "END", "outer", 130); /* not the innermost one */
    put_note(&p, "END", "inner", 140);
    put_note(&p, "END", "nothing", 145);
    put_note(&p, "END", "inner", 150);
    for (int k = 0; k < 5; k++) {
        char name[40];
        snprintf(name, sizeof name, "ProfilerStep#%d", 7 + k);
        put_note(&p, "START", name, 155 + k * 30);
        put_note(&p, "END", name, 184 + k * 30);
    }
    pk_close_list(&p);
    pk_close_dict(&p);
    pk_end(&p);
    const rs_snapshot *s = load_good(&p, &events);
    rs_open_notes notes;
    assert_int_equal(rs_open_notes_make(s, 0, &notes, NULL), RS_OK);
    static const struct {
        int64_t at;
        const char *name;
    } open[] = {{99, NULL},     {100, "outer"}, {115, "inner"},         {130, "inner"},
                {140, "inner"}, {150, NULL},    {160, "ProfilerStep#7"}};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        uint32_t name = rs_open_note_at(&notes, open[i].at * 1000, NULL);
        if (open[i].name)
            assert_string_equal(word_at(s, name), open[i].name);
        else
            assert_int_equal(name, RS_NO_STRING);
    }
    rs_open_notes_clear(&notes);
    rs_history h;
    rs_memory_steps steps;
    assert_int_equal(rs_history_make(s, &s->devices[0], &h, NULL), RS_OK);
    assert_int_equal(rs_memory_steps_make(&h, &steps, NULL), RS_OK);
    assert_int_equal(steps.source, RS_STEPS_BY_NOTE);
    assert_int_equal(steps.n, 5);
    assert_true(steps.open);
    assert_int_equal(steps.items[0].number, 7);
    assert_int_equal(steps.items[0].from, 6); /* event 6 is at 160 */
    assert_int_equal(steps.items[0].to, 9);   /* event 9 at 190 is the first not before 185 */
    rs_memory_steps_clear(&steps);
    rs_history_clear(&h);
    rs_events_free(events);
    text_clear(&p.t);
}

/* Without annotations: the troughs of what is active. */
TEST(test_cycles)
{
    pickler p = pk_begin(4);
    rs_events *events;
    pk_open_dict(&p);
    pk_text(&p, "segments");
    pk_open_list(&p);
    pk_close_list(&p);
    pk_text(&p, "device_traces");
    pk_open_list(&p);
    pk_open_list(&p);
    for (int k = 0; k < 6; k++) {
        for (int i = 0; i < 3; i++) put_event(&p, "alloc", 4096 + (uint64_t)i * 512, 100, 1 + k, false);
        for (int i = 0; i < 3; i++)
            put_event(&p, "free_completed", 4096 + (uint64_t)i * 512, 100, 1 + k, false);
    }
    pk_close_list(&p);
    pk_close_list(&p);
    pk_close_dict(&p);
    pk_end(&p);
    const rs_snapshot *s = load_good(&p, &events);
    rs_history h;
    rs_memory_steps steps;
    assert_int_equal(rs_history_make(s, &s->devices[0], &h, NULL), RS_OK);
    assert_int_equal(rs_memory_steps_make(&h, &steps, NULL), RS_OK);
    assert_int_equal(steps.source, RS_STEPS_BY_CYCLE);
    /* 300 bytes at most, 0 at least: active is below 100 first when the last block is freed, at instants 6, 12, ... */
    assert_int_equal(steps.n, 5);
    assert_false(steps.open);
    for (size_t i = 0; i < steps.n; i++) {
        assert_int_equal(steps.items[i].from, 6 + 6 * i);
        assert_int_equal(steps.items[i].to, 12 + 6 * i);
    }
    rs_memory_steps_clear(&steps);
    rs_history_clear(&h);
    rs_events_free(events);
    text_clear(&p.t);
}

/* ---- what blocks are for ----------------------------------------------------------------------------------------- */

static const frame_line by_user[] = {{"step", "/work/train.py", 9}};
static const frame_line by_autograd[] = {{"torch::autograd::Engine::thread_main(x)", "", 0}};
static const frame_line by_zero_grad[] = {{"zero_grad", "/v/site-packages/torch/optim/optimizer.py", 9},
                                          {"s", "/work/train.py", 1}};

TEST(test_purposes)
{
    static const frame_line forward[] = {{"forward", "/v/site-packages/m/model.py", 1},
                                         {"train", "/work/train.py", 2}};
    static const frame_line wrapped[] = {
        {"forward", "/v/site-packages/torch/nn/modules/linear.py", 1},
        {"forward", "/v/site-packages/m/model.py", 1},
        {"wrapper", "/v/site-packages/torch/distributed/elastic/errors.py", 2}};
    static const frame_line gather[] = {{"unshard", "/v/site-packages/torch/distributed/fsdp/p.py", 1},
                                        {"forward", "/v/site-packages/m/model.py", 1}};
    static const frame_line init[] = {{"__init__", "/v/site-packages/torch/nn/modules/linear.py", 1},
                                      {"build", "/work/m.py", 2}};
    static const frame_line state_of[] = {{"_init_group", "/v/site-packages/torch/optim/adamw.py", 1},
                                          {"s", "/work/train.py", 2}};
    static const frame_line update[] = {{"_multi_tensor_adamw", "/v/site-packages/torch/optim/adamw.py", 5},
                                        {"s", "/work/train.py", 2}};
    static const frame_line loader[] = {{"collate_fn", "/work/data.py", 2}};
    static const frame_line workspace[] = {{"at::cuda::getNewWorkspace()", "", 0},
                                           {"forward", "/v/site-packages/m/model.py", 1}};
    static const frame_line cudnn_out[] = {{"at::detail::empty_cuda(x)", "", 0},
                                           {"at::native::_cudnn_attention_forward(x)", "", 0},
                                           {"forward", "/v/site-packages/m/model.py", 1}};
    static const frame_line nccl[] = {{"c10d::ProcessGroupNCCL::allreduce(x)", "", 0}};
    static const frame_line accumulate[] = {{"torch::autograd::AccumulateGrad::apply(x)", "", 0}};
    static const frame_line backward[] = {{"torch::autograd::generated::MmBackward0::apply(x)", "", 0}};
    static const frame_line other[] = {{"evaluate", "/work/train.py", 2}};
    static const struct {
        const frame_line *made;
        size_t n;
        const frame_line *freed; /* NULL: stays */
        rs_purpose purpose;
    } cases[] = {
        {forward, 2, by_autograd, RS_FOR_ACTIVATION},
        {forward, 2, NULL, RS_FOR_ACTIVATION},
        {forward, 2, by_user, RS_FOR_TEMPORARY},
        {wrapped, 3, NULL, RS_FOR_ACTIVATION},
        {gather, 2, by_user, RS_FOR_COMMUNICATION},
        {init, 2, NULL, RS_FOR_PARAMETER},
        {init, 2, by_user, RS_FOR_OTHER},
        {state_of, 2, NULL, RS_FOR_OPTIMIZER_STATE},
        {update, 2, by_user, RS_FOR_TEMPORARY},
        {update, 2, NULL, RS_FOR_OPTIMIZER_STATE},
        {loader, 1, by_user, RS_FOR_INPUT},
        {workspace, 2, NULL, RS_FOR_WORKSPACE},
        {cudnn_out, 3, NULL, RS_FOR_ACTIVATION},
        {nccl, 1, by_user, RS_FOR_COMMUNICATION},
        {accumulate, 1, NULL, RS_FOR_GRADIENT},
        {backward, 1, by_autograd, RS_FOR_TEMPORARY},
        {backward, 1, by_zero_grad, RS_FOR_GRADIENT},
        {other, 1, NULL, RS_FOR_OTHER},
    };
    size_t n = sizeof cases / sizeof *cases;
    pickler p = pk_begin(4);
    rs_events *events;
    pk_open_dict(&p);
    pk_text(&p, "segments");
    pk_open_list(&p);
    open_segment(&p, 0, MIB, (int64_t)n * 512, "small", false);
    for (size_t i = 0; i < n; i++)
        put_block(&p, MIB + (int64_t)i * 512, 512, 512, cases[i].freed ? "inactive" : "active_allocated");
    close_segment(&p);
    pk_close_list(&p);
    pk_text(&p, "device_traces");
    pk_open_list(&p);
    pk_open_list(&p);
    for (int end = 0; end < 2; end++)
        for (size_t i = 0; i < n; i++) {
            if (end && !cases[i].freed) continue;
            const frame_line *frames = end ? cases[i].freed : cases[i].made;
            pk_open_dict(&p);
            pk_key_text(&p, "action", end ? "free_completed" : "alloc");
            pk_key_int(&p, "addr", MIB + (int64_t)i * 512);
            pk_key_int(&p, "size", 512);
            put_frames(&p, frames, end ? (frames == by_zero_grad ? 2 : 1) : cases[i].n);
            pk_close_dict(&p);
        }
    pk_close_list(&p);
    pk_close_list(&p);
    pk_close_dict(&p);
    pk_end(&p);
    const rs_snapshot *s = load_good(&p, &events);
    rs_frame_traits traits;
    rs_history h;
    rs_purposes purposes;
    assert_int_equal(rs_frame_traits_make(s, &traits, NULL), RS_OK);
    assert_int_equal(rs_history_make(s, &s->devices[0], &h, NULL), RS_OK);
    assert_int_equal(rs_purposes_init(&purposes, &h, &traits, NULL), RS_OK);
    for (size_t i = 0; i < n; i++) {
        rs_certainty certainty;
        rs_purpose got = rs_purpose_of(&purposes, &h.lives[i], &certainty);
        if (got != cases[i].purpose)
            fail_msg("case %zu: %s, not %s", i, rs_purpose_names[got], rs_purpose_names[cases[i].purpose]);
    }
    rs_purposes_clear(&purposes);
    rs_history_clear(&h);
    rs_frame_traits_clear(&traits);
    rs_events_free(events);
    text_clear(&p.t);
}

/* ---- ranks analysed elsewhere ---------------------------------------------------------------------------------------- */

static void render(const rs_result *r, text *out)
{
    const rs_sink sink = text_sink(out);
    rs_render_settings settings = {.size = sizeof settings};
    for (size_t i = 0; i < r->n_tables; i++)
        assert_int_equal(rs_render_table(r->tables[i], &settings, &sink, NULL), RS_OK);
}

/* What travels makes the same tables. */
TEST(test_travels)
{
    rs_query query = {.analysis = rs_analysis_find("memory")};
    rs_job *job;
    rs_result whole, merged;
    rs_bytes bytes;
    text a = {0}, b = {0};
    pickler p = small_snapshot(4, true);
    assert_int_equal(rs_job_open_bytes(p.t.s, p.t.n, "rank7.pickle", NULL, &job, NULL), RS_OK);
    assert_int_equal(rs_job_run(job, query.analysis, NULL, RS_COMPAT_NONE, &whole, NULL), RS_OK);
    assert_int_equal(rs_job_map(job, &query, 1, &bytes, NULL), RS_OK);
    assert_int_equal(rs_merge_packed(&bytes, 1, &query, 1, &merged, NULL), RS_OK);
    assert_int_equal(rs_table_n_rows(rs_result_table(&whole, "ranks")), 1);
    assert_int_equal(rs_table_n_rows(rs_result_table(&whole, "peak")), 2);
    render(&whole, &a);
    render(&merged, &b);
    assert_string_equal(a.s, b.s);
    rs_result_clear(&whole);
    rs_result_clear(&merged);
    rs_bytes_free(&bytes);
    rs_job_close(job);
    text_clear(&a);
    text_clear(&b);
    text_clear(&p.t);
}
