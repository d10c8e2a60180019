/* Perfetto's traces packet by packet: clocks, names, defaults, tracks, arguments and what is missing of each. The packets are
 * put together here, so that what they say is known. */
#include <math.h>

#include "format/perfetto_fields.h"
#include "members.h"
#include "native.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- messages --------------------------------------------------------------------------------------------- */

static void put_bytes(text *t, uint32_t field, const void *bytes, size_t n)
{
    pb_put(t, (uint64_t)field << 3 | RS_PB_BYTES);
    pb_put(t, n);
    if (n) text_add(t, bytes, n);
}

static void put_text(text *t, uint32_t field, const char *s)
{
    put_bytes(t, field, s, strlen(s));
}

static void put_message(text *t, uint32_t field, text *message)
{
    put_bytes(t, field, message->s, message->n);
    text_clear(message);
}

static void put_real(text *t, uint32_t field, double value)
{
    pb_put(t, (uint64_t)field << 3 | RS_PB_FIXED64);
    text_add(t, &value, sizeof value); /* little-endian, as all machines here */
}

static void put_packet(text *trace, text *packet)
{
    pb_put_number(packet, PACKET_SEQUENCE, 1);
    put_message(trace, TRACE_PACKET, packet);
}

/* A track with what describes it: a process, a thread of it, or a name below a parent. */
static void put_track(text *trace, uint64_t uuid, uint64_t parent, const char *name, int64_t pid, int64_t tid,
                      const char *process)
{
    text packet = {0}, track = {0}, owner = {0};
    pb_put_number(&track, TRACK_UUID, uuid);
    if (parent) pb_put_number(&track, TRACK_PARENT, parent);
    if (name) put_text(&track, TRACK_NAME, name);
    if (pid >= 0) {
        bool thread = tid >= 0;
        pb_put_number(&owner, thread ? THREAD_PID : PROCESS_PID, (uint64_t)pid);
        if (thread) pb_put_number(&owner, THREAD_TID, (uint64_t)tid);
        if (process) put_text(&owner, PROCESS_NAME, process);
        put_message(&track, thread ? TRACK_THREAD : TRACK_PROCESS, &owner);
    }
    put_message(&packet, PACKET_TRACK, &track);
    put_packet(trace, &packet);
}

/* One event; more: further fields of it, given back. clock: 0 for none. */
static void put_event(text *trace, uint64_t time, uint64_t clock, uint64_t track, int type, const char *name,
                      text *more)
{
    text packet = {0}, event = {0};
    pb_put_number(&packet, PACKET_TIMESTAMP, time);
    if (clock) pb_put_number(&packet, PACKET_CLOCK, clock);
    pb_put_number(&event, EVENT_TYPE, (uint64_t)type);
    if (track) pb_put_number(&event, EVENT_TRACK, track);
    if (name) put_text(&event, EVENT_NAME, name);
    if (more && more->n) text_add(&event, more->s, more->n);
    if (more) text_clear(more);
    put_message(&packet, PACKET_EVENT, &event);
    put_packet(trace, &packet);
}

static void put_slice(text *trace, uint64_t from, uint64_t to, uint64_t track, const char *name,
                      const char *category)
{
    text more = {0};
    if (category) put_text(&more, EVENT_CATEGORY, category);
    put_event(trace, from, 0, track, TYPE_BEGIN, name, &more);
    put_event(trace, to, 0, track, TYPE_END, NULL, NULL);
}

static rs_events *load_packets(const text *t)
{
    rs_events *e;
    rs_source *source;
    rs_load_settings settings = {.columns = RS_ALL_COLUMNS | RS_OTHER_ARGUMENTS};
    guarded g = guarded_copy(t->s, t->n);
    const rs_format *format = rs_format_of_text((const uint8_t *)g.bytes, g.n);
    assert_non_null(strstr(format->name, "perfetto"));
    assert_int_equal(rs_source_open_bytes(g.bytes, g.n, "x.pftrace", 0, &source, NULL), RS_OK);
    assert_int_equal(format->load(source, &settings, &e, NULL), RS_OK);
    rs_source_close(source);
    guarded_free(&g);
    return e;
}

/* ---- clocks ----------------------------------------------------------------------------------------------- */

static void put_clock(text *snapshot, uint64_t id, uint64_t time, bool incremental, uint64_t unit)
{
    text one = {0};
    pb_put_number(&one, CLOCK_ID, id);
    pb_put_number(&one, CLOCK_TIME, time);
    if (incremental) pb_put_number(&one, CLOCK_INCREMENTAL, 1);
    if (unit) pb_put_number(&one, CLOCK_UNIT, unit);
    put_text(&one, 99, "more");
    put_message(snapshot, CLOCKS_CLOCK, &one);
}

TEST(test_clocks)
{
    text trace = {0}, packet = {0}, snapshot = {0}, defaults = {0}, event = {0};
    put_track(&trace, 7, 0, NULL, 10, 11, NULL);
    /* the boot time is 5000 where the own clocks show 100 us, 40 and 9 */
    put_clock(&snapshot, 1, 4000, false, 0);
    put_clock(&snapshot, 64, 100, false, 1000);
    put_clock(&snapshot, 65, 40, true, 0);
    put_clock(&snapshot, 6, 5000, false, 0);
    put_clock(&snapshot, 66, UINT64_MAX, false, 1000);
    pb_put_number(&snapshot, CLOCKS_CLOCK, 5); /* no clock */
    put_message(&packet, PACKET_CLOCKS, &snapshot);
    put_packet(&trace, &packet);
    put_event(&trace, 101, 64, 7, TYPE_INSTANT, "by us", NULL);        /* 5000 + 1000 */
    put_event(&trace, 3, 65, 7, TYPE_INSTANT, "3 later", NULL);        /* 5003 */
    put_event(&trace, 4, 65, 7, TYPE_INSTANT, "4 more", NULL);         /* 5007 */
    put_event(&trace, 5050, 0, 7, TYPE_INSTANT, "of the trace", NULL); /* 5050 */
    put_event(&trace, 77, 99, 7, TYPE_INSTANT, "unknown clock", NULL); /* as it stands */
    /* from here on the clock is 65 and the track 7 without a word */
    pb_put_number(&defaults, DEFAULTS_CLOCK, 65);
    pb_put_number(&event, EVENT_TRACK, 7);
    put_message(&defaults, DEFAULTS_EVENT, &event);
    put_text(&defaults, 88, "more");
    put_message(&packet, PACKET_DEFAULTS, &defaults);
    put_packet(&trace, &packet);
    put_event(&trace, 10, 0, 0, TYPE_INSTANT, "by default", NULL); /* 5017 */
    /* the state is forgotten, in the old way of saying so */
    pb_put_number(&packet, PACKET_CLEARED, 1);
    put_packet(&trace, &packet);
    put_event(&trace, 123, 0, 7, TYPE_INSTANT, "anew", NULL);
    put_event(&trace, UINT64_MAX, 0, 7, TYPE_INSTANT, "beyond", NULL);
    rs_events *e = load_packets(&trace);
    static const struct {
        const char *name;
        int64_t start;
    } want[] = {{"by us", 6000},       {"3 later", 5003},    {"4 more", 5007}, {"of the trace", 5050},
                {"unknown clock", 77}, {"by default", 5017}, {"anew", 123},    {"beyond", INT64_MAX}};
    assert_int_equal(e->n, COUNT(want));
    for (size_t i = 0; i < COUNT(want); i++) {
        assert_string_equal(rs_event_name(e, i), want[i].name);
        if (e->start[i] != want[i].start) fail_msg("%s at %lld", want[i].name, (long long)e->start[i]);
        assert_int_equal(e->threads[e->thread[i]].pid, 10);
        assert_int_equal(e->threads[e->thread[i]].tid, 11);
    }
    rs_events_free(e);
    text_clear(&trace);
}

/* ---- names and arguments ---------------------------------------------------------------------------------- */

static void put_item(text *names, uint32_t kind, uint64_t iid, const char *s)
{
    text item = {0};
    pb_put_number(&item, ITEM_IID, iid);
    put_text(&item, ITEM_TEXT, s);
    put_message(names, kind, &item);
}

static void put_argument(text *event, uint64_t key_iid, const char *key, uint32_t field, uint64_t number,
                         const char *s)
{
    text a = {0};
    if (key_iid) pb_put_number(&a, ANNOTATION_KEY_IID, key_iid);
    if (key) put_text(&a, ANNOTATION_KEY, key);
    if (s)
        put_text(&a, field, s);
    else if (field == ANNOTATION_REAL)
        put_real(&a, field, number ? 2.5 : (double)INFINITY);
    else if (field)
        pb_put_number(&a, field, number);
    put_message(event, EVENT_ANNOTATION, &a);
}

static const char *other_text(const rs_events *e, size_t row, const char *name)
{
    const rs_others *o = &e->others;
    for (size_t i = rs_other_first(o, (uint32_t)row); i < o->n && o->rows[i] == row; i++)
        if (strcmp(e->strings.items[o->names[o->name[i]].text].text, name) == 0 &&
            o->kind[i] == RS_OTHER_TEXT)
            return e->strings.items[o->value[i]].text;
    return NULL;
}

TEST(test_names)
{
    text trace = {0}, packet = {0}, names = {0}, more = {0};
    put_track(&trace, 7, 0, NULL, 10, 11, NULL);
    put_item(&names, INTERNED_NAME, 1, "first");
    put_item(&names, INTERNED_CATEGORY, 1, "hip_api");
    put_item(&names, INTERNED_KEY, 1, "stream");
    put_item(&names, INTERNED_VALUE, 1, "a value");
    put_item(&names, 77, 1, "of a kind that is not known");
    put_message(&packet, PACKET_INTERNED, &names);
    put_packet(&trace, &packet);
    /* names by number, one that is not there, and arguments of each kind */
    pb_put_number(&more, EVENT_NAME_IID, 1);
    pb_put_number(&more, EVENT_CATEGORY_IID, 1);
    put_argument(&more, 1, NULL, ANNOTATION_INT, 5, NULL);
    put_argument(&more, 0, "bytes", ANNOTATION_NATURAL, 4096, NULL);
    put_argument(&more, 0, "bytes", ANNOTATION_NATURAL, 8192, NULL); /* a second time */
    put_argument(&more, 0, "text", ANNOTATION_TEXT, 0, "x");
    put_argument(&more, 0, "json", ANNOTATION_JSON, 0, "[1]");
    put_argument(&more, 0, "value", ANNOTATION_TEXT_IID, 1, NULL);
    put_argument(&more, 0, "unknown value", ANNOTATION_TEXT_IID, 9, NULL);
    put_argument(&more, 0, "real", ANNOTATION_REAL, 1, NULL);
    put_argument(&more, 0, "infinite", ANNOTATION_REAL, 0, NULL);
    put_argument(&more, 0, "huge", ANNOTATION_NATURAL, UINT64_MAX, NULL);
    put_argument(&more, 0, "empty", 0, 0, NULL);
    put_argument(&more, 0, NULL, ANNOTATION_INT, 7, NULL);          /* no key */
    put_argument(&more, 0, "correlation", ANNOTATION_TEXT, 0, "x"); /* no number */
    put_text(&more, 200, "more");
    put_event(&trace, 100, 0, 7, TYPE_BEGIN, NULL, &more);
    put_event(&trace, 150, 0, 7, TYPE_END, NULL, NULL);
    pb_put_number(&more, EVENT_NAME_IID, 9);
    put_event(&trace, 200, 0, 7, TYPE_INSTANT, NULL, &more);
    put_event(&trace, 250, 0, 7, TYPE_END, NULL, NULL);        /* nothing is open */
    put_event(&trace, 260, 0, 7, TYPE_COUNTER, "count", NULL); /* no slice */
    put_event(&trace, 300, 0, 7, TYPE_BEGIN, "short", NULL);
    put_event(&trace, 400, 0, 7, TYPE_BEGIN, "open", NULL); /* never ends */
    put_event(&trace, 350, 0, 7, TYPE_END, NULL, NULL);     /* no end of what begins later */
    rs_events *e = load_packets(&trace);
    assert_int_equal(e->n, 4);
    expect_event(e, 0, "hip_runtime", "first", 100, 50);
    expect_int(e, 0, RS_COL_BYTES, 4096);
    assert_string_equal(other_text(e, 0, "text"), "x");
    assert_string_equal(other_text(e, 0, "json"), "[1]");
    assert_string_equal(other_text(e, 0, "value"), "a value");
    assert_string_equal(other_text(e, 0, "unknown value"), "name 9");
    assert_null(other_text(e, 0, "infinite"));
    assert_string_equal(rs_event_name(e, 1), "name 9");
    assert_int_equal(problem_count(e, "no_name"), 2);
    assert_int_equal(problem_count(e, "no_begin"), 1);
    assert_int_equal(problem_count(e, "no_end"), 1);
    assert_int_equal(e->duration[2], 50);
    assert_int_equal(e->duration[3], 0);
    rs_events_free(e);
    text_clear(&trace);
}

/* ---- tracks ----------------------------------------------------------------------------------------------- */

TEST(test_tracks)
{
    static const struct {
        const char *name;
        const char *category;
        int64_t pid, tid, device, stream; /* of an event on it; RS_NO_VALUE: none */
    } cases[] = {
        {"COMPUTE AGENT [4] STREAM [3] (GPU)", "kernel_dispatch", 10, 3, 4, 3},
        {"COMPUTE AGENT [4] QUEUE [2] (GPU)", "kernel_dispatch", 10, 2, 4, 2},
        {"COPY to AGENT [5] THREAD [1] (GPU)", "memory_copy", 10, 9, 5, RS_NO_VALUE},
        {"COMPUTE without numbers", "kernel_dispatch", 10, 9, RS_NO_VALUE, RS_NO_VALUE},
        {"THREAD 2 (4712)", "hip_api", 10, 4712, RS_NO_VALUE, RS_NO_VALUE},
        {"THREAD 2 (x)", "hip_api", 10, 9, RS_NO_VALUE, RS_NO_VALUE},
        {"THREAD 2", "hip_api", 10, 9, RS_NO_VALUE, RS_NO_VALUE},
        {"THREAD 2 (-5)", "hip_api", 10, -5, RS_NO_VALUE, RS_NO_VALUE},
        {"anything", "marker_api", 10, 9, RS_NO_VALUE, RS_NO_VALUE},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        text trace = {0};
        put_track(&trace, 1, 0, NULL, 10, -1, "python");
        put_track(&trace, 9, 1, cases[i].name, -1, -1, NULL);
        put_slice(&trace, 100, 200, 9, "it", cases[i].category);
        rs_events *e = load_packets(&trace);
        assert_int_equal(e->n, 1);
        assert_int_equal(e->threads[e->thread[0]].pid, cases[i].pid);
        if (e->threads[e->thread[0]].tid != cases[i].tid)
            fail_msg("thread %lld: %s", (long long)e->threads[e->thread[0]].tid, cases[i].name);
        expect_int(e, 0, RS_COL_DEVICE, cases[i].device);
        expect_int(e, 0, RS_COL_STREAM, cases[i].stream);
        rs_events_free(e);
        text_clear(&trace);
    }
    /* parents that are not there, are their own, or stand in a long row; an event on a track that nobody describes */
    text trace = {0};
    put_track(&trace, 2, 99, "lost", -1, -1, NULL);
    put_track(&trace, 3, 3, "itself", -1, -1, NULL);
    put_track(&trace, 20, 0, NULL, 10, -1, "python");
    for (uint64_t k = 21; k < 60; k++) put_track(&trace, k, k - 1, "deep", -1, -1, NULL);
    uint64_t tracks[] = {2, 3, 21, 59, 777};
    for (size_t i = 0; i < COUNT(tracks); i++) put_slice(&trace, 100 + i, 200 + i, tracks[i], "it", NULL);
    rs_events *e = load_packets(&trace);
    assert_int_equal(e->n, COUNT(tracks) + 1); /* and the process' name */
    for (size_t i = 0; i < COUNT(tracks); i++) {
        assert_int_equal(e->duration[i], 100);
        assert_int_equal(e->threads[e->thread[i]].pid, 10); /* the only process there is */
        assert_int_equal(e->threads[e->thread[i]].tid, (int64_t)tracks[i]);
    }
    rs_events_free(e);
    text_clear(&trace);
}

/* What slice and fuse call their tracks. */
TEST(test_own_tracks)
{
    static const struct {
        const char *process, *track;
        int64_t rank;         /* RS_NO_VALUE: it is none of ours */
        int64_t pid, tid;     /* where they are numbers */
        const char *pid_text; /* where it is none */
    } cases[] = {
        {"rank 3: python (process 4711)", "thread 4712", 3, 4711, 4712, NULL},
        {"rank 3: python (process 1) (process 4711)", "thread -7", 3, 4711, -7, NULL},
        {"rank 3: GPU 2", "stream 7", 3, 2, 7, NULL},
        {"rank 3: python (process abc)", "thread 4712", 3, 0, 4712, "abc"},
        {"rank 3: python (process 12x)", "thread 4712", 3, 0, 4712, "12x"},
        {"rank 3: python (process 4711", "thread 4712", RS_NO_VALUE, 0, 0, NULL},
        {"rank 3: python", "thread 4712", RS_NO_VALUE, 0, 0, NULL},
        {"rank x: python (process 1)", "thread 4712", RS_NO_VALUE, 0, 0, NULL},
        {"rank 3 python (process 1)", "thread 4712", RS_NO_VALUE, 0, 0, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        text trace = {0};
        put_track(&trace, 1, 0, NULL, 10, -1, "rank 0: python (process 5)");
        put_track(&trace, 2, 0, NULL, 77, -1, cases[i].process);
        put_track(&trace, 9, 2, cases[i].track, -1, -1, NULL);
        put_slice(&trace, 50, 60, 1, "another rank's", "cpu_op");
        put_slice(&trace, 100, 200, 9, "it", "cpu_op");
        rs_events *e = load_packets(&trace);
        assert_int_equal(e->n, 2);
        const rs_thread *t = &e->threads[e->thread[1]];
        int64_t rank = RS_NO_VALUE;
        rs_events_int(e, RS_COL_RANK, 1, &rank);
        if (cases[i].rank != RS_NO_VALUE) {
            if (rank != cases[i].rank) fail_msg("rank %lld: %s", (long long)rank, cases[i].process);
            if (cases[i].pid_text)
                assert_string_equal(text_at(e, t->pid_text), cases[i].pid_text);
            else
                assert_int_equal(t->pid, cases[i].pid);
            assert_int_equal(t->tid, cases[i].tid);
        } else {
            assert_true(rank == RS_NO_VALUE || rank == 0);
            assert_int_equal(t->pid, 77);
        }
        rs_events_free(e);
        text_clear(&trace);
    }
}
