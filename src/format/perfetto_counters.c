/* Counters of a Perfetto trace: samples of GPUs (PyTorch 2.15 writes power, clocks and what CUPTI samples), and tracks
 * that are counters. They become what Kineto writes of them to JSON: an event of phase C, with a number. */
#include <stdio.h>
#include <string.h>

#include "base/try.h"
#include "format/perfetto.h"

/* Lists of counters are known by a number, or are a GPU's own. */
static uint64_t counter_key(uint64_t list, uint64_t counter)
{
    return rs_hash_u64(list) ^ counter;
}

static uint64_t own_list(uint64_t gpu)
{
    return UINT64_MAX - gpu;
}

/* The names of a list. */
static rs_status take_list(rs_perfetto *p, rs_perfetto_sequence *q, rs_pb m, uint64_t list)
{
    rs_pb_field f, part;
    while (rs_pb_next(&m, &f) == RS_PB_FIELD) {
        uint64_t id = 0;
        rs_pb name = {f.from, f.from};
        bool is_new;
        if (f.number != DESCRIPTOR_COUNTER || f.type != RS_PB_BYTES) continue;
        while (rs_pb_next(&f.bytes, &part) == RS_PB_FIELD) {
            if (part.number == COUNTER_ID && part.type == RS_PB_VARINT) id = part.value;
            if (part.number == COUNTER_NAME && part.type == RS_PB_BYTES) name = part.bytes;
        }
        uint32_t text = rs_perfetto_text(p, name);
        uint32_t *slot = rs_map64_put(&q->names[RS_PERFETTO_GPU_COUNTER], counter_key(list, id), &is_new);
        if (text == RS_NO_STRING || !slot) return rs_fail_nomem(p->err, "counters");
        *slot = text;
    }
    return RS_OK;
}

rs_status rs_perfetto_take_counters(rs_perfetto *p, rs_perfetto_sequence *q, rs_pb body)
{
    rs_pb descriptor = {body.at, body.at};
    rs_pb_field f;
    uint64_t iid = 0;
    while (rs_pb_next(&body, &f) == RS_PB_FIELD) {
        if (f.number == COUNTERS_IID && f.type == RS_PB_VARINT) iid = f.value;
        if (f.number == COUNTERS_DESCRIPTOR && f.type == RS_PB_BYTES) descriptor = f.bytes;
    }
    return take_list(p, q, descriptor, iid);
}

static rs_status add_sample(rs_perfetto *p, uint32_t name, uint32_t key, rs_thread thread, int64_t time,
                            double value)
{
    RS_TRY(rs_events_reserve(p->events, 1, p->err));
    RS_TRY(rs_events_add_counter(p->events, key, (uint32_t)p->events->n, value, p->err));
    return rs_perfetto_add_row(p, 0, name, thread, 'C', time, RS_NO_TIME);
}

/* One counter's value; false: there is none. */
static bool read_value(rs_pb m, uint64_t *counter, double *value)
{
    rs_pb_field f;
    bool any = false;
    *counter = 0;
    while (rs_pb_next(&m, &f) == RS_PB_FIELD) {
        if (f.number == VALUE_COUNTER && f.type == RS_PB_VARINT) *counter = f.value;
        if (f.number == VALUE_INT && f.type == RS_PB_VARINT) *value = (double)(int64_t)f.value, any = true;
        if (f.number == VALUE_REAL && f.type == RS_PB_FIXED64) *value = rs_pb_real(f.value), any = true;
    }
    return any;
}

rs_status rs_perfetto_take_samples(rs_perfetto *p, rs_perfetto_sequence *q, rs_pb body, int64_t time)
{
    rs_pb descriptor = {body.at, body.at};
    rs_pb_field f;
    uint64_t gpu = 0, list = 0;
    char text[48];
    for (rs_pb m = body; rs_pb_next(&m, &f) == RS_PB_FIELD;) {
        if (f.number == GPU_COUNTERS_DESCRIPTOR && f.type == RS_PB_BYTES) descriptor = f.bytes;
        if (f.number == GPU_COUNTERS_GPU && f.type == RS_PB_VARINT) gpu = f.value & INT32_MAX;
        if (f.number == GPU_COUNTERS_IID && f.type == RS_PB_VARINT) list = f.value;
    }
    if (!list) list = own_list(gpu);
    if (rs_pb_length(descriptor)) RS_TRY(take_list(p, q, descriptor, list));
    int n = snprintf(text, sizeof text, "GPU %llu Counters", (unsigned long long)gpu);
    rs_thread thread = {.pid_text = rs_strings_add(&p->events->strings, text, (size_t)n),
                        .tid_text = RS_NO_STRING};
    uint32_t key = rs_strings_add(&p->events->strings, "", 0);
    if (thread.pid_text == RS_NO_STRING || key == RS_NO_STRING) return rs_fail_nomem(p->err, "counters");
    thread.pid = rs_thread_id_of_text(thread.pid_text);
    while (rs_pb_next(&body, &f) == RS_PB_FIELD) {
        uint64_t counter;
        uint32_t name;
        double value;
        if (f.number != GPU_COUNTERS_VALUE || f.type != RS_PB_BYTES) continue;
        if (!read_value(f.bytes, &counter, &value)) continue;
        RS_TRY(rs_perfetto_intern(p, q, RS_PERFETTO_GPU_COUNTER, counter_key(list, counter), f.from, &name));
        RS_TRY(add_sample(p, name, key, thread, time, value));
    }
    return RS_OK;
}

/* As slice and fuse write them, a track is called "NAME: NUMBER". */
static rs_pb number_of(const rs_perfetto *p, rs_pb *name)
{
    rs_pb key = {name->end, name->end}, rest = *name;
    if (!p->own) return key;
    bool any = false;
    for (; rs_perfetto_behind(rest, ": ", &rest); any = true) key = rest;
    if (any) name->end = key.at - 2;
    return key;
}

rs_status rs_perfetto_take_value(rs_perfetto *p, const rs_perfetto_track *t, rs_pb body, int64_t time)
{
    rs_pb_field f;
    double value = 0;
    bool any = false;
    while (rs_pb_next(&body, &f) == RS_PB_FIELD) {
        if (f.number == EVENT_INT_VALUE && f.type == RS_PB_VARINT)
            value = (double)(int64_t)f.value, any = true;
        if (f.number == EVENT_REAL_VALUE && f.type == RS_PB_FIXED64) value = rs_pb_real(f.value), any = true;
    }
    if (!any || t->is_incremental) return RS_OK;
    rs_pb name = t->name, key = number_of(p, &name);
    uint32_t id = rs_perfetto_text(p, name), number = rs_perfetto_text(p, key);
    if (id == RS_NO_STRING || number == RS_NO_STRING) return rs_fail_nomem(p->err, "counters");
    if (p->events->n_counters >= RS_MAX_COUNTERS / 2) return RS_OK;
    return add_sample(p, id, number, t->thread, time, value);
}
