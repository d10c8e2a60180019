/* What a slice of a Perfetto trace becomes. */
#include <string.h>

#include "base/try.h"
#include "format/perfetto.h"

/* An event as its packet has it. */
typedef struct slice {
    uint64_t type, track;
    uint32_t name, category; /* string ids */
    uint64_t flow;           /* the first of its flows */
    bool has_flow;
    rs_pb body, submitted;
} slice;

/* rocprofv3's categories; what an event of one is here. */
static const struct {
    const char *category, *here;
} rocprof_categories[] = {
    {"kernel_dispatch", "kernel"},      {"memory_copy", "gpu_memcpy"},     {"hip_api", "hip_runtime"},
    {"hip_runtime_api", "hip_runtime"}, {"marker_api", "user_annotation"},
};

static rs_status parse_number(rs_perfetto *p, const rs_perfetto_sequence *q, const rs_pb_field *f, slice *out)
{
    switch (f->number) {
    case EVENT_TYPE: out->type = f->value; break;
    case EVENT_TRACK: out->track = f->value; break;
    case EVENT_NAME_IID: return rs_perfetto_intern(p, q, RS_PERFETTO_NAME, f->value, f->from, &out->name);
    case EVENT_CATEGORY_IID:
        if (!out->category)
            return rs_perfetto_intern(p, q, RS_PERFETTO_CATEGORY, f->value, f->from, &out->category);
        break;
    default: break;
    }
    return RS_OK;
}

/* false: the message is damaged. */
static rs_status parse(rs_perfetto *p, const rs_perfetto_sequence *q, rs_pb body, slice *out, bool *whole)
{
    rs_pb m = body;
    rs_pb_field f;
    rs_pb_status status;
    *out =
        (slice){.track = q->track, .body = body, .name = 0, .category = 0, .submitted = {body.at, body.at}};
    while ((status = rs_pb_next(&m, &f)) == RS_PB_FIELD) {
        if (f.type == RS_PB_VARINT) RS_TRY(parse_number(p, q, &f, out));
        if (f.type == RS_PB_FIXED64 && f.number == EVENT_FLOW && !out->has_flow) {
            out->flow = f.value;
            out->has_flow = true;
        }
        if (f.type == RS_PB_BYTES && f.number == EVENT_GPU_CORRELATION) out->submitted = f.bytes;
        if (f.type != RS_PB_BYTES || (f.number != EVENT_NAME && f.number != EVENT_CATEGORY)) continue;
        uint32_t text = rs_perfetto_text(p, f.bytes);
        if (text == RS_NO_STRING) return rs_fail_nomem(p->err, "names");
        *(f.number == EVENT_NAME ? &out->name : &out->category) = text;
    }
    *whole = status == RS_PB_END;
    return RS_OK;
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

/* rocprofv3's own: "GPU-0", "Agent-4"; sizes are work-items, all dimensions multiplied. */
typedef struct dispatch {
    int64_t device, queue, tid, items, group;
} dispatch;

static void take_dispatch(const rs_events *e, const rs_perfetto_value *v, dispatch *d)
{
    const char *key = e->strings.items[v->key].text;
    if (v->kind == RS_OTHER_TEXT && (strcmp(key, "agent") == 0 || strcmp(key, "dst_agent") == 0)) {
        const rs_string *s = &e->strings.items[v->text];
        const uint8_t *text = (const uint8_t *)s->text;
        const uint8_t *dash = memchr(text, '-', s->length);
        if (dash) d->device = rs_perfetto_number((rs_pb){dash + 1, text + s->length});
    }
    if (v->kind != RS_OTHER_INT) return;
    if (strcmp(key, "queue") == 0) d->queue = v->number;
    if (strcmp(key, "tid") == 0) d->tid = v->number;
    if (strcmp(key, "grid_size") == 0) d->items = v->number;
    if (strcmp(key, "workgroup_size") == 0) d->group = v->number;
}

/* linked: rocprofv3 writes its correlation on every slice; on work and calls alone it is one. */
static rs_status take_arguments(rs_perfetto *p, const rs_perfetto_sequence *q, const slice *s, bool linked,
                                dispatch *d, unsigned *facts)
{
    rs_events *e = p->events;
    uint32_t row = (uint32_t)e->n;
    rs_pb m = s->body;
    rs_pb_field f;
    while (rs_pb_next(&m, &f) == RS_PB_FIELD) {
        rs_perfetto_value v;
        if (f.number != EVENT_ANNOTATION || f.type != RS_PB_BYTES) continue;
        RS_TRY(rs_perfetto_read_value(p, q, f.bytes, &v));
        if (v.key == RS_NO_STRING || v.kind == RS_OTHER_NONE) continue;
        const rs_string *key = &e->strings.items[v.key];
        rs_column_id column = rs_perfetto_column_of(key);
        *facts |= rs_perfetto_fact_of(column, key);
        if (!p->own) take_dispatch(e, &v, d);
        if (column == RS_COL_CORRELATION && !linked && strcmp(key->text, "corr_id") == 0) continue;
        RS_TRY(rs_perfetto_push(p, column, row, &v));
    }
    /* in the files of all known encoders a flow's number is the correlation */
    if (linked && s->has_flow && !(*facts & RS_PERFETTO_HAS_LINK) && s->flow <= INT64_MAX)
        return rs_perfetto_push_int(p, RS_COL_CORRELATION, row, (int64_t)s->flow);
    return RS_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static const char *category_here(const char *category)
{
    for (size_t i = 0; i < sizeof rocprof_categories / sizeof *rocprof_categories; i++)
        if (strcmp(rocprof_categories[i].category, category) == 0) return rocprof_categories[i].here;
    return NULL;
}

static rs_status fill_work(rs_perfetto *p, const rs_perfetto_track *t, const dispatch *d, rs_thread *thread)
{
    uint32_t row = (uint32_t)p->events->n;
    int64_t stream = t->stream == RS_NO_VALUE ? d->queue : t->stream;
    RS_TRY(rs_perfetto_push_int(p, RS_COL_STREAM, row, stream));
    RS_TRY(rs_perfetto_push_int(p, RS_COL_DEVICE, row, d->device == RS_NO_VALUE ? t->device : d->device));
    if (d->group > 0 && d->items > 0) {
        const int64_t block[3] = {d->group, 1, 1};
        const int64_t grid[3] = {d->items / d->group + (d->items % d->group != 0), 1, 1};
        RS_TRY(rs_perfetto_push_size(p, RS_COL_BLOCK, row, block));
        RS_TRY(rs_perfetto_push_size(p, RS_COL_GRID, row, grid));
    }
    if (stream != RS_NO_VALUE) thread->tid = stream & INT64_MAX;
    return RS_OK;
}

rs_status rs_perfetto_add_row(rs_perfetto *p, uint32_t category, uint32_t name, rs_thread thread, char phase,
                              int64_t start, int64_t duration)
{
    rs_events *e = p->events;
    RS_TRY(rs_events_reserve(e, 1, p->err));
    uint32_t at = rs_events_thread(e, thread);
    if (at == UINT32_MAX) return rs_fail_nomem(p->err, "threads");
    e->start[e->n] = start;
    e->duration[e->n] = duration;
    e->name[e->n] = name;
    e->thread[e->n] = at;
    e->category[e->n] = (uint16_t)category;
    e->phase[e->n] = (uint8_t)phase;
    e->n++;
    return RS_OK;
}

static rs_status category_id(rs_perfetto *p, const char *text, uint32_t *out)
{
    uint32_t name = rs_strings_add(&p->events->strings, text, strlen(text));
    *out = name == RS_NO_STRING ? UINT32_MAX : rs_events_category(p->events, name);
    return *out == UINT32_MAX ? rs_fail_nomem(p->err, "categories") : RS_OK;
}

/* What is known of a slice's category before its arguments are read: NULL, they must tell. */
static const char *told_category(rs_perfetto *p, const slice *s)
{
    const char *category = p->events->strings.items[s->category].text;
    if (p->own) return category;
    const char *here = category_here(category);
    p->is_rocprof = p->is_rocprof || here;
    return here ? here : *category ? category : NULL;
}

static rs_status begin(rs_perfetto *p, const rs_perfetto_sequence *q, const slice *s, size_t track,
                       int64_t time, char phase)
{
    rs_events *e = p->events;
    rs_perfetto_track *t = &p->tracks[track];
    const char *told = told_category(p, s);
    unsigned facts = 0;
    bool is_sure = true;
    dispatch d = {RS_NO_VALUE, RS_NO_VALUE, RS_NO_VALUE, RS_NO_VALUE, RS_NO_VALUE};
    rs_thread thread = t->thread;
    rs_kind kind = told ? rs_kind_of_category(told, strlen(told)) : RS_KIND_OTHER;
    RS_TRY(rs_events_reserve(e, 1, p->err));
    RS_TRY(take_arguments(p, q, s, !told || rs_kind_is_gpu_work(kind) || rs_kind_is_call(kind), &d, &facts));
    if (!told) told = rs_perfetto_category_of(t, &e->strings.items[s->name], facts, &is_sure);
    bool work = rs_kind_is_gpu_work(rs_kind_of_category(told, strlen(told)));
    t->has_work = t->has_work || work;
    if (!is_sure && !RS_GROW_ONE(p->unsettled, p->n_unsettled, p->unsettled_capacity))
        return rs_fail_nomem(p->err, "categories");
    if (!is_sure) p->unsettled[p->n_unsettled++] = (rs_perfetto_unsettled){(uint32_t)e->n, (uint32_t)track};
    if (!p->own && work) RS_TRY(fill_work(p, t, &d, &thread));
    if (!p->own && !work && d.tid != RS_NO_VALUE) thread.tid = d.tid;
    if (p->ranks_differ) RS_TRY(rs_perfetto_push_int(p, RS_COL_RANK, (uint32_t)e->n, t->rank));
    if (rs_pb_length(s->submitted)) RS_TRY(rs_perfetto_take_submission(p, s->submitted, (uint32_t)e->n));
    uint32_t category;
    RS_TRY(category_id(p, told, &category));
    return rs_perfetto_add_row(p, category, s->name, thread, phase, time, phase == 'X' ? 0 : RS_NO_TIME);
}

static rs_status mark(rs_perfetto *p, rs_perfetto_sequence *q, size_t track, int64_t time, uint32_t row)
{
    return RS_PUSH(q->marks, q->n_marks, q->marks_capacity, (rs_perfetto_mark){time, (uint32_t)track, row})
               ? RS_OK
               : rs_fail_nomem(p->err, "slices");
}

rs_status rs_perfetto_take_event(rs_perfetto *p, rs_perfetto_sequence *q, rs_pb body, int64_t time)
{
    slice s;
    bool whole = false;
    RS_TRY(parse(p, q, body, &s, &whole));
    if (!whole) {
        p->events->n_lost++;
        rs_perfetto_problem(p, RS_LOSS, "damaged_event", "an event is damaged and was left out", body.at);
        return RS_OK;
    }
    if (s.type != TYPE_BEGIN && s.type != TYPE_END && s.type != TYPE_INSTANT && s.type != TYPE_COUNTER)
        return RS_OK;
    size_t track = rs_perfetto_track_of(p, s.track);
    if (track == SIZE_MAX) return rs_fail_nomem(p->err, "tracks");
    if ((s.type == TYPE_COUNTER) != (p->tracks[track].lane == RS_PERFETTO_COUNTER)) return RS_OK;
    if (s.type == TYPE_COUNTER) return rs_perfetto_take_value(p, &p->tracks[track], body, time);
    if (s.type == TYPE_END) return mark(p, q, track, time, RS_NO_ROW);
    RS_TRY(begin(p, q, &s, track, time, s.type == TYPE_BEGIN ? 'X' : 'i'));
    return s.type == TYPE_BEGIN ? mark(p, q, track, time, (uint32_t)p->events->n - 1) : RS_OK;
}

/* What lies on a track of GPU work, and is none, names that work. */
rs_status rs_perfetto_settle_kinds(rs_perfetto *p)
{
    uint32_t category;
    if (p->n_unsettled == 0) return RS_OK;
    RS_TRY(category_id(p, "gpu_user_annotation", &category));
    for (size_t i = 0; i < p->n_unsettled; i++)
        if (p->tracks[p->unsettled[i].track].has_work)
            p->events->category[p->unsettled[i].row] = (uint16_t)category;
    return RS_OK;
}
