/* What a slice of a Perfetto trace becomes. */
#include <stdio.h>
#include <string.h>

#include "base/interval.h"
#include "base/try.h"
#include "format/perfetto.h"

/* An event as its packet has it. */
typedef struct slice {
    uint64_t type, track;
    uint32_t name, category; /* string ids */
    rs_pb body;
} slice;

/* rocprofv3's categories; what an event of one is here. */
static const struct {
    const char *category, *here;
} rocprof_categories[] = {
    {"kernel_dispatch", "kernel"},      {"memory_copy", "gpu_memcpy"},     {"hip_api", "hip_runtime"},
    {"hip_runtime_api", "hip_runtime"}, {"marker_api", "user_annotation"},
};

/* rocprofv3's arguments that have a column. */
static const struct {
    const char *key;
    rs_column_id column;
} rocprof_arguments[] = {
    {"corr_id", RS_COL_CORRELATION},
    {"copy_bytes", RS_COL_BYTES},
    {"group_segment_size", RS_COL_SHARED_MEMORY},
    {"VGPR_Count", RS_COL_REGISTERS},
    {"stream_ID", RS_COL_STREAM},
};

static rs_status intern(rs_perfetto *p, const rs_perfetto_sequence *q, unsigned kind, uint64_t iid,
                        const uint8_t *at, uint32_t *out)
{
    const uint32_t *id = rs_map64_get(&q->names[kind], iid);
    char text[40];
    if (id) {
        *out = *id;
        return RS_OK;
    }
    rs_perfetto_problem(p, RS_LOSS, "no_name", "a name is not in the file; it is called by its number", at);
    int n = snprintf(text, sizeof text, "name %llu", (unsigned long long)iid);
    *out = rs_strings_add(&p->events->strings, text, (size_t)n);
    return *out == RS_NO_STRING ? rs_fail_nomem(p->err, "names") : RS_OK;
}

/* false: the message is damaged. */
static rs_status parse(rs_perfetto *p, const rs_perfetto_sequence *q, rs_pb body, slice *out, bool *whole)
{
    rs_pb m = body;
    rs_pb_field f;
    rs_pb_status status;
    *out = (slice){.track = q->track, .body = body, .name = 0, .category = 0}; /* 0: "" */
    while ((status = rs_pb_next(&m, &f)) == RS_PB_FIELD) {
        if (f.type == RS_PB_VARINT && f.number == EVENT_TYPE) out->type = f.value;
        if (f.type == RS_PB_VARINT && f.number == EVENT_TRACK) out->track = f.value;
        if (f.type == RS_PB_VARINT && f.number == EVENT_NAME_IID)
            RS_TRY(intern(p, q, 1, f.value, f.from, &out->name));
        if (f.type == RS_PB_VARINT && f.number == EVENT_CATEGORY_IID && !out->category)
            RS_TRY(intern(p, q, 0, f.value, f.from, &out->category));
        if (f.type != RS_PB_BYTES || (f.number != EVENT_NAME && f.number != EVENT_CATEGORY)) continue;
        uint32_t text = rs_perfetto_text(p, f.bytes);
        if (text == RS_NO_STRING) return rs_fail_nomem(p->err, "names");
        *(f.number == EVENT_NAME ? &out->name : &out->category) = text;
    }
    *whole = status == RS_PB_END;
    return RS_OK;
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

typedef struct value {
    uint32_t key, text; /* string ids */
    rs_other_kind kind;
    int64_t number; /* REAL: its bits */
} value;

static rs_status read_value(rs_perfetto *p, const rs_perfetto_sequence *q, rs_pb m, value *out)
{
    rs_pb_field f;
    *out = (value){.key = RS_NO_STRING, .text = RS_NO_STRING};
    while (rs_pb_next(&m, &f) == RS_PB_FIELD) {
        bool number = f.type == RS_PB_VARINT, bytes = f.type == RS_PB_BYTES;
        if (number && f.number == ANNOTATION_KEY_IID) RS_TRY(intern(p, q, 2, f.value, f.from, &out->key));
        if (bytes && f.number == ANNOTATION_KEY) out->key = rs_perfetto_text(p, f.bytes);
        if (number && (f.number == ANNOTATION_INT || f.number == ANNOTATION_BOOL ||
                       (f.number == ANNOTATION_NATURAL && f.value <= INT64_MAX))) {
            out->kind = RS_OTHER_INT;
            out->number = (int64_t)f.value;
        }
        if (f.type == RS_PB_FIXED64 && f.number == ANNOTATION_REAL) {
            double real = rs_pb_real(f.value);
            out->kind = real - real == 0 ? RS_OTHER_REAL : RS_OTHER_NONE;
            memcpy(&out->number, &f.value, sizeof out->number);
        }
        if (bytes && (f.number == ANNOTATION_TEXT || f.number == ANNOTATION_JSON)) {
            out->kind = RS_OTHER_TEXT;
            out->text = rs_perfetto_text(p, f.bytes);
            if (out->text == RS_NO_STRING) return rs_fail_nomem(p->err, "arguments");
        }
        if (number && f.number == ANNOTATION_TEXT_IID) {
            out->kind = RS_OTHER_TEXT;
            RS_TRY(intern(p, q, 3, f.value, f.from, &out->text));
        }
    }
    return RS_OK;
}

static rs_column_id column_of(const rs_string *key)
{
    for (size_t i = 0; i < RS_COL_FLOW_ID; i++)
        if (rs_column_infos[i].key_length == key->length &&
            memcmp(rs_column_infos[i].key, key->text, key->length) == 0)
            return (rs_column_id)i;
    for (size_t i = 0; i < sizeof rocprof_arguments / sizeof *rocprof_arguments; i++)
        if (strcmp(rocprof_arguments[i].key, key->text) == 0) return rocprof_arguments[i].column;
    return RS_N_COLUMNS;
}

static bool has_row(const rs_events *e, rs_column_id column, uint32_t row)
{
    const rs_sparse *s = &e->args[column];
    return s->n && s->rows[s->n - 1] == row;
}

static rs_status push(rs_perfetto *p, rs_column_id column, uint32_t row, const value *v)
{
    rs_events *e = p->events;
    rs_column_type type = rs_column_infos[column].type;
    if (!(e->loaded >> column & 1) || has_row(e, column, row)) return RS_OK;
    if (type == RS_COLUMN_INT)
        return v->kind == RS_OTHER_INT ? rs_events_push_int(e, column, row, v->number, p->err) : RS_OK;
    if (type == RS_COLUMN_TEXT ? v->kind != RS_OTHER_TEXT
                               : v->kind != RS_OTHER_INT && v->kind != RS_OTHER_REAL)
        return RS_OK;
    RS_TRY(rs_events_reserve_column(e, column, 1, p->err));
    rs_sparse *s = &e->args[column];
    s->rows[s->n] = row;
    if (type == RS_COLUMN_TEXT)
        s->texts[s->n++] = v->text;
    else if (v->kind == RS_OTHER_INT)
        s->reals[s->n++] = (double)v->number;
    else
        memcpy(&s->reals[s->n++], &v->number, sizeof v->number);
    return RS_OK;
}

static rs_status push_int(rs_perfetto *p, rs_column_id column, uint32_t row, int64_t number)
{
    value v = {.kind = RS_OTHER_INT, .number = number};
    return number == RS_NO_VALUE ? RS_OK : push(p, column, row, &v);
}

static rs_status push_other(rs_perfetto *p, uint32_t row, const value *v)
{
    rs_events *e = p->events;
    uint32_t name;
    if (!(e->loaded & RS_OTHER_ARGUMENTS)) return RS_OK;
    RS_TRY(rs_other_name_add(e, v->key, row, &name, p->err));
    if (name != RS_NO_OTHER)
        return rs_other_add(e, name, row, v->kind, v->kind == RS_OTHER_TEXT ? v->text : v->number, p->err);
    rs_perfetto_problem(p, RS_LOSS, "too_many_arguments",
                        "more names of arguments than are kept; values under further names are unknown",
                        NULL);
    return RS_OK;
}

/* rocprofv3's own: "GPU-0", "Agent-4"; sizes are work-items, all dimensions multiplied. */
typedef struct dispatch {
    int64_t device, queue, tid, items, group;
} dispatch;

static void take_dispatch(const rs_events *e, const value *v, dispatch *d)
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

static rs_status push_size(rs_perfetto *p, rs_column_id column, uint32_t row, int64_t size)
{
    char text[48];
    int n = snprintf(text, sizeof text, "[%lld, 1, 1]", (long long)size);
    value v = {.kind = RS_OTHER_TEXT, .text = rs_strings_add(&p->events->strings, text, (size_t)n)};
    return v.text == RS_NO_STRING ? rs_fail_nomem(p->err, "arguments") : push(p, column, row, &v);
}

/* *linked: whether the event may have a correlation; work and calls alone do. */
static rs_status take_arguments(rs_perfetto *p, const rs_perfetto_sequence *q, const slice *s, bool rocprof,
                                bool linked, dispatch *d)
{
    rs_events *e = p->events;
    uint32_t row = (uint32_t)e->n;
    rs_pb m = s->body;
    rs_pb_field f;
    while (rs_pb_next(&m, &f) == RS_PB_FIELD) {
        value v;
        if (f.number != EVENT_ANNOTATION || f.type != RS_PB_BYTES) continue;
        RS_TRY(read_value(p, q, f.bytes, &v));
        if (v.key == RS_NO_STRING || v.kind == RS_OTHER_NONE) continue;
        rs_column_id column = column_of(&e->strings.items[v.key]);
        if (rocprof) take_dispatch(e, &v, d);
        if (column == RS_COL_CORRELATION && rocprof && !linked) continue;
        RS_TRY(column < RS_N_COLUMNS ? push(p, column, row, &v) : push_other(p, row, &v));
    }
    return RS_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static const char *category_here(const char *category)
{
    for (size_t i = 0; i < sizeof rocprof_categories / sizeof *rocprof_categories; i++)
        if (strcmp(rocprof_categories[i].category, category) == 0) return rocprof_categories[i].here;
    return NULL;
}

static rs_status fill_rocprof(rs_perfetto *p, const rs_perfetto_track *t, const dispatch *d, bool work,
                              rs_thread *thread)
{
    uint32_t row = (uint32_t)p->events->n;
    if (!work) {
        if (d->tid != RS_NO_VALUE) thread->tid = d->tid;
        return RS_OK;
    }
    RS_TRY(push_int(p, RS_COL_STREAM, row, t->stream == RS_NO_VALUE ? d->queue : t->stream));
    RS_TRY(push_int(p, RS_COL_DEVICE, row, d->device == RS_NO_VALUE ? t->device : d->device));
    if (d->group > 0 && d->items > 0) {
        RS_TRY(push_size(p, RS_COL_BLOCK, row, d->group));
        RS_TRY(push_size(p, RS_COL_GRID, row, d->items / d->group + (d->items % d->group != 0)));
    }
    int64_t stream = t->stream == RS_NO_VALUE ? d->queue : t->stream;
    if (stream != RS_NO_VALUE) thread->tid = stream & INT64_MAX;
    return RS_OK;
}

static rs_status begin(rs_perfetto *p, const rs_perfetto_sequence *q, const slice *s, rs_perfetto_track *t,
                       int64_t time, char phase)
{
    rs_events *e = p->events;
    const char *here = p->own ? NULL : category_here(e->strings.items[s->category].text);
    uint32_t category_name = here ? rs_strings_add(&e->strings, here, strlen(here)) : s->category;
    uint32_t category = category_name == RS_NO_STRING ? UINT32_MAX : rs_events_category(e, category_name);
    if (category == UINT32_MAX) return rs_fail_nomem(p->err, "categories");
    rs_kind kind = e->categories[category].kind;
    bool work = rs_kind_is_gpu_work(kind);
    dispatch d = {RS_NO_VALUE, RS_NO_VALUE, RS_NO_VALUE, RS_NO_VALUE, RS_NO_VALUE};
    rs_thread thread = t->thread;
    RS_TRY(rs_events_reserve(e, 1, p->err));
    RS_TRY(take_arguments(p, q, s, !p->own, work || rs_kind_is_call(kind), &d));
    if (!p->own) RS_TRY(fill_rocprof(p, t, &d, work, &thread));
    if (p->ranks_differ) RS_TRY(push_int(p, RS_COL_RANK, (uint32_t)e->n, t->rank));
    uint32_t at = rs_events_thread(e, thread);
    if (at == UINT32_MAX) return rs_fail_nomem(p->err, "threads");
    e->start[e->n] = time;
    e->duration[e->n] = phase == 'X' ? 0 : RS_NO_TIME;
    e->name[e->n] = s->name;
    e->thread[e->n] = at;
    e->category[e->n] = (uint16_t)category;
    e->phase[e->n] = (uint8_t)phase;
    e->n++;
    return RS_OK;
}

static rs_status open_slice(rs_perfetto *p, rs_perfetto_track *t)
{
    if (!RS_GROW_ONE(p->open, p->n_open, p->open_capacity)) return rs_fail_nomem(p->err, "open slices");
    p->open[p->n_open] = (rs_perfetto_open){.row = (uint32_t)p->events->n - 1, .below = t->top};
    t->top = p->n_open++;
    return RS_OK;
}

static void close_slice(rs_perfetto *p, rs_perfetto_track *t, int64_t time, const uint8_t *at)
{
    rs_events *e = p->events;
    if (t->top == SIZE_MAX) {
        rs_perfetto_problem(p, RS_WARNING, "no_begin", "a slice ends whose beginning is not in the file", at);
        return;
    }
    uint32_t row = p->open[t->top].row;
    /* places of the list are used again once they are its last */
    size_t closed = t->top;
    t->top = p->open[closed].below;
    p->open[closed].row = RS_NO_ROW;
    while (p->n_open && p->open[p->n_open - 1].row == RS_NO_ROW) p->n_open--;
    e->duration[row] = rs_sub_sat(time, e->start[row]);
    if (e->duration[row] >= 0) return;
    e->duration[row] = 0;
    rs_perfetto_problem(p, RS_WARNING, "negative_duration",
                        "a record ends before it starts; it was given no length", at);
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
    if (s.type != TYPE_BEGIN && s.type != TYPE_END && s.type != TYPE_INSTANT) return RS_OK;
    rs_perfetto_track *t = rs_perfetto_track_of(p, s.track);
    if (!t) return rs_fail_nomem(p->err, "tracks");
    if (t->lane == RS_PERFETTO_COUNTER) return RS_OK;
    if (s.type == TYPE_END) {
        close_slice(p, t, time, body.at);
        return RS_OK;
    }
    RS_TRY(begin(p, q, &s, t, time, s.type == TYPE_BEGIN ? 'X' : 'i'));
    return s.type == TYPE_BEGIN ? open_slice(p, t) : RS_OK;
}
