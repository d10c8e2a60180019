/* GPU work of a Perfetto trace that is no slice: PyTorch 2.15 writes kernels, copies and the nodes of graphs as render stages, each
 * with its length, its stream as a lane, and what it waits for. */
#include <string.h>

#include "base/ascii.h"
#include "base/interval.h"
#include "base/try.h"
#include "format/perfetto.h"

#define FIRST_WAIT (INT64_C(1) << 40) /* as PyTorch numbers these flows, beyond all correlations */

/* The stages of PyTorch's encoder; what work of each is here. */
static const struct {
    const char *stage, *category;
} stages[] = {
    {"Kernel", "kernel"},
    {"Memcpy", "gpu_memcpy"},
    {"Memset", "gpu_memset"},
    {"Annotation", "gpu_user_annotation"},
    {"EventRecord", "graph_event_node"},
    {"HostNode", "graph_host_node"},
};

/* What every stage repeats of its process and device. */
static const char *const repeated[] = {"arch", "process_id", "process_name"};

typedef struct stage {
    uint64_t event, duration;
    uint32_t lane, kind, name; /* string ids, RS_NO_STRING: not told */
    int64_t device;
    rs_pb launch;
    bool damaged;
} stage;

static rs_status parse_number(rs_perfetto *p, const rs_perfetto_sequence *q, const rs_pb_field *f, stage *out)
{
    switch (f->number) {
    case STAGE_EVENT: out->event = f->value; break;
    case STAGE_DURATION: out->duration = f->value; break;
    case STAGE_GPU: out->device = (int32_t)f->value; break;
    case STAGE_LANE_IID: return rs_perfetto_intern(p, q, RS_PERFETTO_LANE, f->value, f->from, &out->lane);
    case STAGE_STAGE_IID: return rs_perfetto_intern(p, q, RS_PERFETTO_LANE, f->value, f->from, &out->kind);
    case STAGE_NAME_IID: return rs_perfetto_intern(p, q, RS_PERFETTO_NAME, f->value, f->from, &out->name);
    case STAGE_KERNEL_IID:
        if (out->name == RS_NO_STRING)
            return rs_perfetto_intern(p, q, RS_PERFETTO_KERNEL, f->value, f->from, &out->name);
        break;
    default: break;
    }
    return RS_OK;
}

static rs_status parse(rs_perfetto *p, const rs_perfetto_sequence *q, rs_pb m, stage *out)
{
    rs_pb_field f;
    rs_pb_status status;
    *out = (stage){.lane = RS_NO_STRING, .kind = RS_NO_STRING, .name = RS_NO_STRING, .launch = {m.at, m.at}};
    while ((status = rs_pb_next(&m, &f)) == RS_PB_FIELD) {
        if (f.type == RS_PB_VARINT) RS_TRY(parse_number(p, q, &f, out));
        if (f.type == RS_PB_BYTES && f.number == STAGE_LAUNCH) out->launch = f.bytes;
    }
    out->damaged = status != RS_PB_END;
    return RS_OK;
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

static rs_status take_size(rs_perfetto *p, rs_pb m, rs_column_id column, uint32_t row)
{
    int64_t size[3] = {1, 1, 1};
    rs_pb_field f;
    while (rs_pb_next(&m, &f) == RS_PB_FIELD)
        if (f.type == RS_PB_VARINT && f.number >= 1 && f.number <= 3) size[f.number - 1] = (int64_t)f.value;
    return rs_perfetto_push_size(p, column, row, size);
}

static rs_status take_launch(rs_perfetto *p, const rs_perfetto_sequence *q, rs_pb m, uint32_t row)
{
    rs_pb_field f, part;
    while (rs_pb_next(&m, &f) == RS_PB_FIELD) {
        uint32_t key = RS_NO_STRING;
        int64_t number = RS_NO_VALUE;
        if (f.type != RS_PB_BYTES) continue;
        if (f.number == LAUNCH_GRID) RS_TRY(take_size(p, f.bytes, RS_COL_GRID, row));
        if (f.number == LAUNCH_GROUP) RS_TRY(take_size(p, f.bytes, RS_COL_BLOCK, row));
        if (f.number != LAUNCH_VALUE) continue;
        while (rs_pb_next(&f.bytes, &part) == RS_PB_FIELD) {
            if (part.type != RS_PB_VARINT) continue;
            if (part.number == LAUNCH_VALUE_IID)
                RS_TRY(rs_perfetto_intern(p, q, RS_PERFETTO_LAUNCH_VALUE, part.value, part.from, &key));
            if (part.number == LAUNCH_VALUE_UINT || part.number == LAUNCH_VALUE_INT)
                number = (int64_t)part.value;
        }
        if (key == RS_NO_STRING) continue;
        rs_column_id column = rs_perfetto_column_of(&p->events->strings.items[key]);
        if (column < RS_N_COLUMNS) RS_TRY(rs_perfetto_push_int(p, column, row, number));
    }
    return RS_OK;
}

static bool is_repeated(const char *key)
{
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++)
        if (strcmp(repeated[i], key) == 0) return true;
    return false;
}

/* One name and value, both texts; what is a whole number is one. */
static rs_status take_extra(rs_perfetto *p, rs_pb m, uint32_t row, bool *linked)
{
    rs_perfetto_value v = {.key = RS_NO_STRING, .text = RS_NO_STRING, .kind = RS_OTHER_TEXT};
    rs_pb_field f;
    while (rs_pb_next(&m, &f) == RS_PB_FIELD) {
        if (f.type != RS_PB_BYTES || (f.number != EXTRA_NAME && f.number != EXTRA_VALUE)) continue;
        uint32_t text = rs_perfetto_text(p, f.bytes);
        if (text == RS_NO_STRING) return rs_fail_nomem(p->err, "arguments");
        *(f.number == EXTRA_NAME ? &v.key : &v.text) = text;
    }
    if (v.key == RS_NO_STRING || v.text == RS_NO_STRING) return RS_OK;
    const rs_string *key = &p->events->strings.items[v.key], *value = &p->events->strings.items[v.text];
    rs_column_id column = rs_perfetto_column_of(key);
    if (is_repeated(key->text)) return RS_OK;
    *linked = *linked || column == RS_COL_CORRELATION;
    if (column == RS_N_COLUMNS && rs_is_digit(*value->text) &&
        rs_json_int((const uint8_t *)value->text, value->length, &v.number))
        v.kind = RS_OTHER_INT;
    return rs_perfetto_push(p, column, row, &v);
}

static rs_status take_wait(rs_perfetto *p, uint64_t event, uint32_t row)
{
    return RS_PUSH(p->waits, p->n_waits, p->waits_capacity, (rs_perfetto_wait){row, event})
               ? RS_OK
               : rs_fail_nomem(p->err, "waits");
}

static rs_status take_waits(rs_perfetto *p, const rs_pb_field *f, uint32_t row)
{
    uint64_t event;
    if (f->type == RS_PB_VARINT) return take_wait(p, f->value, row);
    for (rs_pb m = f->bytes; f->type == RS_PB_BYTES && m.at < m.end && rs_pb_varint(&m, &event);)
        RS_TRY(take_wait(p, event, row));
    return RS_OK;
}

/* Work that says no correlation has that of the call that says it submitted it. */
static rs_status take_link(rs_perfetto *p, uint64_t event, uint32_t row)
{
    const uint32_t *call = rs_map64_get(&p->launched, event);
    int64_t correlation;
    if (!call || !rs_events_int(p->events, RS_COL_CORRELATION, *call, &correlation)) return RS_OK;
    return rs_perfetto_push_int(p, RS_COL_CORRELATION, row, correlation);
}

static rs_status take_arguments(rs_perfetto *p, const rs_perfetto_sequence *q, const stage *s, rs_pb body,
                                uint32_t row)
{
    rs_pb_field f;
    bool linked = false;
    while (rs_pb_next(&body, &f) == RS_PB_FIELD) {
        if (f.number == STAGE_WAITS) RS_TRY(take_waits(p, &f, row));
        if (f.number == STAGE_EXTRA && f.type == RS_PB_BYTES) RS_TRY(take_extra(p, f.bytes, row, &linked));
    }
    if (rs_pb_length(s->launch)) RS_TRY(take_launch(p, q, s->launch, row));
    return linked ? RS_OK : take_link(p, s->event, row);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* "[0007] stream 7", "[0003] DP": the number in brackets is the stream, or the lane that work of graphs is shown on. */
static int64_t stream_of(const rs_perfetto *p, uint32_t lane)
{
    if (lane == RS_NO_STRING) return RS_NO_VALUE;
    const rs_string *s = &p->events->strings.items[lane];
    const uint8_t *text = (const uint8_t *)s->text;
    return s->length && *text == '[' ? rs_perfetto_number((rs_pb){text + 1, text + s->length}) : RS_NO_VALUE;
}

static rs_status category_of(rs_perfetto *p, uint32_t kind, uint32_t *out)
{
    const char *told = kind == RS_NO_STRING ? "" : p->events->strings.items[kind].text, *category = told;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (strcmp(stages[i].stage, told) == 0) category = stages[i].category;
    uint32_t name = rs_strings_add(&p->events->strings, category, strlen(category));
    *out = name == RS_NO_STRING ? UINT32_MAX : rs_events_category(p->events, name);
    return *out == UINT32_MAX ? rs_fail_nomem(p->err, "categories") : RS_OK;
}

rs_status rs_perfetto_take_stage(rs_perfetto *p, const rs_perfetto_sequence *q, rs_pb body, int64_t time)
{
    rs_events *e = p->events;
    stage s;
    uint32_t category, row = (uint32_t)e->n;
    bool is_new;
    RS_TRY(parse(p, q, body, &s));
    if (s.damaged) {
        e->n_lost++;
        rs_perfetto_problem(p, RS_LOSS, "damaged_event", "an event is damaged and was left out", body.at);
        return RS_OK;
    }
    int64_t stream = stream_of(p, s.lane);
    RS_TRY(rs_events_reserve(e, 1, p->err));
    RS_TRY(category_of(p, s.kind, &category));
    if (rs_kind_is_gpu_work(e->categories[category].kind)) {
        RS_TRY(rs_perfetto_push_int(p, RS_COL_STREAM, row, stream));
        RS_TRY(rs_perfetto_push_int(p, RS_COL_DEVICE, row, s.device));
    }
    RS_TRY(take_arguments(p, q, &s, body, row));
    uint32_t *slot = s.event ? rs_map64_put(&p->stage_at, s.event, &is_new) : &(uint32_t){0};
    if (!slot) return rs_fail_nomem(p->err, "GPU work");
    *slot = row;
    const rs_thread thread = {.pid = s.device,
                              .tid = stream == RS_NO_VALUE ? 0 : stream,
                              .pid_text = RS_NO_STRING,
                              .tid_text = RS_NO_STRING};
    uint32_t name = s.name != RS_NO_STRING ? s.name : s.kind != RS_NO_STRING ? s.kind : 0;
    int64_t duration = s.duration > INT64_MAX ? INT64_MAX : (int64_t)s.duration;
    return rs_perfetto_add_row(p, category, name, thread, 'X', time,
                               rs_sub_sat(rs_add_sat(time, duration), time));
}

rs_status rs_perfetto_take_submission(rs_perfetto *p, rs_pb m, uint32_t row)
{
    rs_pb_field f;
    while (rs_pb_next(&m, &f) == RS_PB_FIELD) {
        bool is_new;
        if (f.number != GPU_CORRELATION_SUBMITTED || f.type != RS_PB_VARINT) continue;
        uint32_t *slot = rs_map64_put(&p->launched, f.value, &is_new);
        if (!slot) return rs_fail_nomem(p->err, "launches");
        *slot = row;
    }
    return RS_OK;
}

/* ---- waits --------------------------------------------------------------------------------------------- */

static rs_status add_flow(rs_perfetto *p, uint32_t category, uint32_t name, uint32_t of, char phase,
                          int64_t id)
{
    rs_events *e = p->events;
    int64_t time = phase == 's' ? rs_event_end(e, of) : e->start[of];
    if (e->loaded & RS_COLUMN_BIT(FLOW_ID))
        RS_TRY(rs_events_push_int(e, RS_COL_FLOW_ID, (uint32_t)e->n, id, p->err));
    return rs_perfetto_add_row(p, category, name, e->threads[e->thread[of]], phase, time, RS_NO_TIME);
}

rs_status rs_perfetto_add_waits(rs_perfetto *p)
{
    rs_events *e = p->events;
    int64_t id = FIRST_WAIT;
    if (p->n_waits == 0) return RS_OK;
    uint32_t name = rs_strings_add(&e->strings, "ac2g", 4);
    uint32_t category = name == RS_NO_STRING ? UINT32_MAX : rs_events_category(e, name);
    if (category == UINT32_MAX) return rs_fail_nomem(p->err, "categories");
    for (size_t i = 0; i < p->n_waits; i++) {
        const uint32_t *before = rs_map64_get(&p->stage_at, p->waits[i].event);
        if (!before || *before == p->waits[i].row) continue;
        RS_TRY(add_flow(p, category, name, *before, 's', id));
        RS_TRY(add_flow(p, category, name, p->waits[i].row, 'f', id++));
    }
    return RS_OK;
}
