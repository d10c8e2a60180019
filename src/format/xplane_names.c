/* What a plane of an XPlane file calls its events and values. */
#include <string.h>

#include "base/try.h"
#include "format/xplane.h"
#include "input/json.h"
#include "trace/trace.h"

/* The names of values that mean something here; further ones become arguments. "_"-names link host events to each
 * other by numbers of their own. */
static const struct {
    const char *name;
    rs_xstat what;
} known[] = {
    {"correlation_id", RS_XSTAT_CORRELATION},
    {"device_id", RS_XSTAT_DEVICE},
    {"context_id", RS_XSTAT_CONTEXT},
    {"kernel_details", RS_XSTAT_KERNEL},
    {"memcpy_details", RS_XSTAT_MEMCPY},
    {"memset_details", RS_XSTAT_MEMSET},
    {"memalloc_details", RS_XSTAT_MEMORY},
    {"memfree_details", RS_XSTAT_MEMORY},
    {"memory_residency_details", RS_XSTAT_MEMORY},
    {"hlo_op", RS_XSTAT_HLO_OP},
    {"step_num", RS_XSTAT_STEP},
    {"process_id", RS_XSTAT_PROCESS},
    {"profile_start_time", RS_XSTAT_START},
    {"core_count", RS_XSTAT_UNITS},
    {"memory_size", RS_XSTAT_DEVICE_MEMORY},
    {"compute_cap_major", RS_XSTAT_MAJOR},
    {"compute_cap_minor", RS_XSTAT_MINOR},
    {"device_type_string", RS_XSTAT_DEVICE_NAME},
};

static bool is_text(rs_pb text, const char *word)
{
    return rs_pb_length(text) == strlen(word) && memcmp(text.at, word, strlen(word)) == 0;
}

static rs_xstat meaning(rs_pb name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_text(name, known[i].name)) return known[i].what;
    return rs_pb_length(name) && *name.at == '_' ? RS_XSTAT_HIDDEN : RS_XSTAT_OTHER;
}

uint32_t rs_xspace_text(rs_xspace *s, rs_pb text)
{
    size_t n = rs_pb_length(text);
    if (n > RS_JSON_DEFAULT_STRING) n = RS_JSON_DEFAULT_STRING;
    if (rs_utf8_valid(text.at, n)) return rs_strings_add(&s->events->strings, (const char *)text.at, n);
    if (!rs_grow((void **)&s->room, &s->room_size, n * 3, 1)) return RS_NO_STRING;
    rs_problems_add(&s->events->problems, s->file, -1, RS_WARNING, "invalid_utf8",
                    "a text is no UTF-8; its damaged bytes were replaced", (uint64_t)(text.at - s->text));
    return rs_strings_add(&s->events->strings, s->room, rs_utf8_repair(text.at, n, s->room));
}

void rs_xplane_clear(rs_xplane *p)
{
    rs_map64_clear(&p->event_ids);
    rs_map64_clear(&p->value_ids);
    rs_free_all(p->event_names, p->value_names);
}

/* ---- values -------------------------------------------------------------------------------------------- */

bool rs_xplane_next_value(const rs_xplane *p, rs_pb *message, uint32_t number, rs_xvalue *out)
{
    rs_pb_field f, part;
    while (rs_xplane_next(message, &f) == RS_PB_FIELD) {
        if (f.number != number || f.type != RS_PB_BYTES) continue;
        int64_t id = 0;
        *out = (rs_xvalue){.refer = RS_NO_STRING};
        while (rs_xplane_next(&f.bytes, &part) == RS_PB_FIELD) {
            bool bytes = part.number == STAT_TEXT || part.number == STAT_BLOB;
            rs_pb_type type = bytes ? RS_PB_BYTES : part.number == STAT_REAL ? RS_PB_FIXED64 : RS_PB_VARINT;
            if (part.number < STAT_NAME || part.number > STAT_REFERENCE || part.type != type) continue;
            if (part.number == STAT_NAME) {
                id = (int64_t)part.value;
                continue;
            }
            out->kind = part.number;
            out->bits = part.value;
            out->text = part.bytes;
        }
        const uint32_t *at = rs_map64_get(&p->value_ids, (uint64_t)id);
        if (!at || !out->kind) continue;
        out->name = p->value_names[*at];
        if (out->kind == STAT_REFERENCE) {
            at = rs_map64_get(&p->value_ids, out->bits);
            if (!at) continue;
            out->refer = p->value_names[*at].text;
        }
        return true;
    }
    return false;
}

bool rs_xvalue_int(const rs_xvalue *v, int64_t *out)
{
    if (v->kind != STAT_NATURAL && v->kind != STAT_WHOLE) return false;
    if (v->kind == STAT_NATURAL && v->bits > INT64_MAX) return false;
    *out = (int64_t)v->bits;
    return true;
}

uint32_t rs_xvalue_text(rs_xspace *s, const rs_xvalue *v)
{
    if (v->kind == STAT_REFERENCE) return v->refer;
    return v->kind == STAT_TEXT ? rs_xspace_text(s, v->text) : RS_NO_STRING;
}

/* ---- tables of names ----------------------------------------------------------------------------------- */

bool rs_xplane_is_entry(rs_pb body, int64_t *key, rs_pb *value)
{
    rs_pb_field f;
    rs_pb_status status;
    bool has_value = false;
    *key = 0;
    while ((status = rs_xplane_next(&body, &f)) == RS_PB_FIELD) {
        if (f.number == ENTRY_KEY && f.type == RS_PB_VARINT)
            *key = (int64_t)f.value;
        else if (f.number == ENTRY_VALUE && f.type == RS_PB_BYTES)
            *value = f.bytes, has_value = true;
        else
            return false;
    }
    return status == RS_PB_END && has_value && rs_pb_is_whole(*value);
}

/* HLO text stands for a TPU's operators: "%fusion.3 = f32[8]{0} fusion(...)" is fusion.3. */
static rs_pb short_name(rs_pb name)
{
    static const char mark[] = " = ";
    if (!rs_pb_length(name) || *name.at != '%') return name;
    for (const uint8_t *p = name.at; (size_t)(name.end - p) >= sizeof mark - 1; p++)
        if (memcmp(p, mark, sizeof mark - 1) == 0) return (rs_pb){name.at + 1, p};
    return name;
}

static rs_status take_event_name(rs_xplane *p, int64_t key, rs_pb body)
{
    rs_xspace *s = p->space;
    rs_xevent_name name = {.body = body};
    rs_pb text = {body.at, body.at}, shown = text;
    rs_pb_field f;
    bool is_new;
    while (rs_xplane_next(&body, &f) == RS_PB_FIELD) {
        if (f.type != RS_PB_BYTES) continue;
        if (f.number == NAME_TEXT) text = f.bytes;
        if (f.number == NAME_SHOWN) shown = f.bytes;
    }
    bool on_device = p->role == RS_XROLE_GPU || p->role == RS_XROLE_TPU;
    name.text = rs_xspace_text(s, on_device && rs_pb_length(shown) ? shown : short_name(text));
    uint32_t *at = rs_map64_put(&p->event_ids, (uint64_t)key, &is_new);
    if (!at || name.text == RS_NO_STRING ||
        !RS_GROW_ONE(p->event_names, p->n_event_names, p->event_names_capacity))
        return rs_fail_nomem(s->err, "names of events");
    const rs_string *own = &s->events->strings.items[name.text];
    name.is_comm = rs_class_of(RS_KIND_KERNEL, own->text, own->length) == RS_CLASS_COMM;
    if (name.is_comm) rs_hlo_collective_read(text, &name.hlo);
    *at = (uint32_t)p->n_event_names;
    p->event_names[p->n_event_names++] = name;
    return RS_OK;
}

static rs_status take_value_name(rs_xplane *p, int64_t key, rs_pb body)
{
    rs_xspace *s = p->space;
    rs_pb text = {body.at, body.at};
    rs_pb_field f;
    bool is_new;
    while (rs_xplane_next(&body, &f) == RS_PB_FIELD)
        if (f.type == RS_PB_BYTES && f.number == NAME_TEXT) text = f.bytes;
    rs_xvalue_name name = {.text = rs_xspace_text(s, text), .what = meaning(text)};
    uint32_t *at = rs_map64_put(&p->value_ids, (uint64_t)key, &is_new);
    if (!at || name.text == RS_NO_STRING ||
        !RS_GROW_ONE(p->value_names, p->n_value_names, p->value_names_capacity))
        return rs_fail_nomem(s->err, "names of values");
    *at = (uint32_t)p->n_value_names;
    p->value_names[p->n_value_names++] = name;
    return RS_OK;
}

static rs_status take_entry(rs_xplane *p, const rs_pb_field *f)
{
    int64_t key;
    rs_pb value;
    if (!rs_xplane_is_entry(f->bytes, &key, &value)) {
        rs_xspace_damage(p->space, "damaged", "a name is damaged; what bears it is called by its number",
                         f->from);
        return RS_OK;
    }
    return f->number == PLANE_EVENT_NAMES ? take_event_name(p, key, value) : take_value_name(p, key, value);
}

/* Past damage: the next place where an entry of a table begins whose value repeats its key, as all of them do. */
static bool find_entry(rs_xplane *p, rs_pb *m)
{
    for (; m->at < m->end && rs_xspace_spend(p->space, 1); m->at++) {
        if (*m->at != (PLANE_EVENT_NAMES << 3 | RS_PB_BYTES) &&
            *m->at != (PLANE_STAT_NAMES << 3 | RS_PB_BYTES))
            continue;
        rs_pb now = *m, value;
        rs_pb_field f;
        int64_t key;
        if (rs_xplane_next(&now, &f) != RS_PB_FIELD || !rs_xspace_spend(p->space, rs_pb_length(f.bytes)) ||
            !rs_xplane_is_entry(f.bytes, &key, &value) || rs_xplane_next(&value, &f) != RS_PB_FIELD)
            continue;
        if (f.number == NAME_ID && f.type == RS_PB_VARINT && f.value == (uint64_t)key) return true;
    }
    return false;
}

rs_status rs_xplane_read_names(rs_xplane *p)
{
    rs_pb m = p->body;
    rs_pb_field f;
    bool damaged = false;
    for (;;) {
        rs_pb_status status = rs_xplane_next(&m, &f);
        bool is_entry =
            (f.number == PLANE_EVENT_NAMES || f.number == PLANE_STAT_NAMES) && f.type == RS_PB_BYTES;
        if (status == RS_PB_FIELD) {
            if (is_entry) RS_TRY(take_entry(p, &f));
            continue;
        }
        /* a line that claims more bytes than it has may have swallowed the tables */
        if (status == RS_PB_END && !damaged && !p->n_event_names) {
            damaged = true;
            m = p->body;
        } else if (status == RS_PB_END) {
            return RS_OK;
        } else {
            damaged = true;
            m.at++;
        }
        if (!find_entry(p, &m)) return RS_OK;
    }
}
