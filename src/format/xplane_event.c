/* What an event of an XPlane file is. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/interval.h"
#include "base/try.h"
#include "format/xplane.h"
#include "trace/step_name.h"
#include "trace/trace.h"

/* A process whose number is not told: the one under which XLA's own viewer shows the host. */
#define UNTOLD_PROCESS 701

/* What the values of an event say, its own and those of its name. */
typedef struct told {
    int64_t correlation, device, context, step;
    bool has_step, memory;
    rs_pb kernel, copy, set; /* what tells details, as "key:value key:value" */
    bool has_kernel, has_copy, has_set;
    uint32_t hlo; /* string id */
} told;

static void take_value(rs_xspace *s, const rs_xvalue *v, told *t)
{
    int64_t number = RS_NO_VALUE;
    bool whole = rs_xvalue_int(v, &number);
    rs_pb text = v->text;
    if (v->kind == STAT_REFERENCE) {
        const rs_string *shared = &s->events->strings.items[v->refer];
        text.at = (const uint8_t *)shared->text;
        text.end = text.at + shared->length;
    }
    switch (v->name.what) {
    case RS_XSTAT_CORRELATION: t->correlation = whole && number != 0 ? number : RS_NO_VALUE; break;
    case RS_XSTAT_DEVICE: t->device = number; break;
    case RS_XSTAT_CONTEXT: t->context = number; break;
    case RS_XSTAT_STEP:
        t->step = number;
        t->has_step = whole && number >= 0;
        break;
    case RS_XSTAT_KERNEL: t->kernel = text, t->has_kernel = true; break;
    case RS_XSTAT_MEMCPY: t->copy = text, t->has_copy = true; break;
    case RS_XSTAT_MEMSET: t->set = text, t->has_set = true; break;
    case RS_XSTAT_MEMORY: t->memory = true; break;
    case RS_XSTAT_HLO_OP: t->hlo = rs_xvalue_text(s, v); break;
    default: break;
    }
}

/* What a name says holds unless the event says otherwise. */
static void take_values(rs_xplane *p, const rs_xevent_name *name, rs_pb body, told *out)
{
    rs_xvalue v;
    *out = (told){
        .correlation = RS_NO_VALUE, .device = RS_NO_VALUE, .context = RS_NO_VALUE, .hlo = RS_NO_STRING};
    rs_pb m = name ? name->body : (rs_pb){body.end, body.end};
    while (rs_xplane_next_value(p, &m, NAME_STAT, &v)) take_value(p->space, &v, out);
    while (rs_xplane_next_value(p, &body, EVENT_STAT, &v)) take_value(p->space, &v, out);
}

/* ---- details ------------------------------------------------------------------------------------------- */

/* The numbers behind "key:" in a text of such pairs, at most three, parted by commas; how many. */
static unsigned detail(rs_pb text, const char *key, int64_t out[3])
{
    size_t m = strlen(key);
    unsigned n = 0;
    bool begins = true;
    for (const uint8_t *p = text.at; p < text.end; begins = *p == ' ' || *p == '\n' || *p == '\t', p++) {
        if (!begins || (size_t)(text.end - p) <= m || memcmp(p, key, m) != 0 || p[m] != ':') continue;
        for (p += m + 1; n < 3 && p < text.end && rs_is_digit((char)*p); n++) {
            int64_t value = 0;
            for (; p < text.end && rs_is_digit((char)*p); p++)
                value = value > INT64_MAX / 16 ? INT64_MAX / 16 : value * 10 + (*p - '0');
            out[n] = value;
            if (p < text.end && *p == ',') p++;
        }
        break;
    }
    return n;
}

static void fill_kernel(const told *t, rs_native *r)
{
    int64_t v[3];
    if (detail(t->kernel, "regs", v) == 1) r->registers = v[0];
    if (detail(t->kernel, "static_shared", v) == 1) r->shared_memory = v[0];
    if (detail(t->kernel, "dynamic_shared", v) == 1)
        r->shared_memory = rs_add_sat(r->shared_memory == RS_NO_VALUE ? 0 : r->shared_memory, v[0]);
    if (detail(t->kernel, "grid", v) == 3) memcpy(r->grid, v, sizeof v);
    if (detail(t->kernel, "block", v) == 3) memcpy(r->block, v, sizeof v);
}

static void fill_size(rs_pb details, rs_native *r)
{
    int64_t v[3];
    if (detail(details, "size", v) == 1) r->bytes = v[0];
}

/* ---- what it is ---------------------------------------------------------------------------------------- */

static bool starts_with(const char *name, const char *word)
{
    return strncmp(name, word, strlen(word)) == 0;
}

/* Calls of a device's runtime; NULL: it is none. */
static const char *call_category(const char *name)
{
    if (starts_with(name, "hip")) return "hip_runtime";
    if (starts_with(name, "cuda")) return "cuda_runtime";
    return starts_with(name, "cu") && name[2] >= 'A' && name[2] <= 'Z' ? "cuda_driver" : NULL;
}

/* Host: calls that launched something have its correlation; "$file.py:12 function" is Python's; operators are XLA's, and
 * functions of its runtime by their qualified names. All else somebody annotated. */
static void judge_host(const told *t, const char *name, bool is_comm, rs_native *r, char *room, size_t size)
{
    const char *call = call_category(name);
    r->category = "user_annotation";
    if (call && (t->correlation != RS_NO_VALUE || t->device != RS_NO_VALUE)) {
        r->category = call;
        r->correlation = t->correlation;
    } else if (*name == '$') {
        r->category = "python_function";
    } else if (t->has_step) {
        r->name_length = (size_t)snprintf(room, size, RS_STEP_PREFIX "%" PRId64, t->step);
        r->name = room;
    } else if (t->hlo != RS_NO_STRING && is_comm) {
        /* what the host runs of communication is told by its back end, as in gloo:all_reduce */
        r->name_length = (size_t)snprintf(room, size, "xla:%.200s", name);
        r->name = room;
    } else if (starts_with(name, "ThreadpoolListener::") || starts_with(name, "end: ")) {
        r->category = "xla_runtime";
    } else if (t->hlo != RS_NO_STRING || strstr(name, "::") || starts_with(name, "PjitFunction(")) {
        r->category = "cpu_op";
    }
}

static void judge_stream(rs_xspace *s, const told *t, bool is_comm, rs_native *r)
{
    r->category = t->has_copy  ? "gpu_memcpy"
                  : t->has_set ? "gpu_memset"
                  : t->memory  ? "memory_allocation"
                               : "kernel";
    r->correlation = t->memory ? RS_NO_VALUE : t->correlation;
    if (t->has_kernel) fill_kernel(t, r);
    if (t->has_copy) fill_size(t->copy, r);
    if (t->has_set) fill_size(t->set, r);
    if (t->hlo == RS_NO_STRING || !is_comm) return;
    const rs_string *hlo = &s->events->strings.items[t->hlo];
    if (rs_class_of(RS_KIND_KERNEL, hlo->text, hlo->length) == RS_CLASS_COMM) r->collective = t->hlo;
}

/* "all-reduce-start.1", "copy-done": where an operator that runs beside the others begins, and where it is waited for. */
static bool is_edge(const char *name)
{
    static const char *const ends[] = {"-start", "-done"};
    size_t n = strcspn(name, ".");
    for (size_t i = 0; i < 2; i++) {
        size_t m = strlen(ends[i]);
        if (n >= m && memcmp(name + n - m, ends[i], m) == 0) return true;
    }
    return false;
}

/* Copies between a TPU's memories, or to the host's, are done next to the computation; "copy-done" waits for one. */
static bool is_copy(const char *name)
{
    return starts_with(name, "async-copy") || (starts_with(name, "copy-") && is_edge(name));
}

/* Of an operator of a TPU. */
static bool fill_collective(rs_xspace *s, const rs_hlo_collective *hlo, rs_native *r)
{
    rs_strings *texts = &s->events->strings;
    if (!rs_pb_length(hlo->kind)) return true;
    r->collective = rs_xspace_text(s, hlo->kind);
    if (hlo->dtype) r->dtype = rs_strings_add(texts, hlo->dtype, strlen(hlo->dtype));
    if (rs_pb_length(hlo->groups)) r->group = rs_xspace_text(s, hlo->groups);
    r->in_elements = hlo->in;
    r->out_elements = hlo->out;
    r->group_size = hlo->members;
    return r->collective != RS_NO_STRING && (!hlo->dtype || r->dtype != RS_NO_STRING) &&
           (!rs_pb_length(hlo->groups) || r->group != RS_NO_STRING);
}

static void judge_step(const told *t, const char *name, rs_native *r, char *room, size_t size)
{
    size_t digits = strspn(name, "0123456789");
    r->category = "gpu_user_annotation";
    if (digits && !name[digits])
        r->name_length = (size_t)snprintf(room, size, RS_STEP_PREFIX "%.20s", name);
    else if (t->has_step)
        r->name_length = (size_t)snprintf(room, size, RS_STEP_PREFIX "%" PRId64, t->step);
    else
        return;
    r->name = room;
}

static void judge(rs_xplane *p, const rs_xline *l, const rs_xevent *event, const told *t, const char *name,
                  bool is_comm, rs_native *r, char *room, size_t size)
{
    switch (l->lane) {
    case RS_XLANE_HOST: judge_host(t, name, is_comm, r, room, size); break;
    case RS_XLANE_STREAM: judge_stream(p->space, t, is_comm, r); break;
    case RS_XLANE_STEPS: judge_step(t, name, r, room, size); break;
    case RS_XLANE_MODULES: r->category = "gpu_user_annotation"; break;
    case RS_XLANE_ASYNC: r->category = is_copy(name) ? "gpu_memcpy" : "kernel"; break;
    case RS_XLANE_OPS:
        r->category = event->holds                    ? "xla_control"
                      : p->has_async && is_edge(name) ? "xla_async_edge"
                      : is_copy(name)                 ? "gpu_memcpy"
                                                      : "kernel";
        break;
    default: r->category = "xla_line";
    }
}

/* ---- its row ------------------------------------------------------------------------------------------- */

/* Picoseconds behind a time to the nearest nanosecond, half to even. */
static int64_t to_ns(rs_events *e, int64_t time, int64_t ps)
{
    int64_t ns = ps / 1000, rest = ps % 1000;
    if (rest < 0) {
        rest += 1000;
        ns--;
    }
    e->n_rounded += rest != 0;
    if (rest > 500 || (rest == 500 && (ns & 1))) ns++;
    return rs_add_sat(time, ns);
}

static rs_status add_other(rs_xspace *s, const rs_xvalue *v, uint32_t row)
{
    rs_events *e = s->events;
    uint32_t name, text;
    int64_t number, bits;
    memcpy(&bits, &v->bits, sizeof bits);
    if (v->kind == STAT_BLOB) return RS_OK;
    RS_TRY(rs_other_name_add(e, v->name.text, row, &name, s->err));
    if (name == RS_NO_OTHER) {
        rs_problems_add(&e->problems, s->file, -1, RS_LOSS, "too_many_arguments",
                        "more names of arguments than are kept; values under further names are unknown",
                        RS_NO_OFFSET);
        return RS_OK;
    }
    if (v->kind == STAT_REAL) {
        double real = rs_pb_real(v->bits);
        bool finite = real - real == 0;
        return rs_other_add(e, name, row, finite ? RS_OTHER_REAL : RS_OTHER_NONE, finite ? bits : 0, s->err);
    }
    if (rs_xvalue_int(v, &number)) return rs_other_add(e, name, row, RS_OTHER_INT, number, s->err);
    if (v->kind == STAT_NATURAL) return RS_OK; /* beyond 63 bits: addresses, hashes */
    text = rs_xvalue_text(s, v);
    if (text == RS_NO_STRING) return rs_fail_nomem(s->err, "arguments");
    return rs_other_add(e, name, row, RS_OTHER_TEXT, text, s->err);
}

static rs_status add_others(rs_xplane *p, rs_pb body, uint32_t number, uint32_t row)
{
    rs_xvalue v;
    while (rs_xplane_next_value(p, &body, number, &v)) {
        bool has_column = v.name.what == RS_XSTAT_CORRELATION || v.name.what == RS_XSTAT_DEVICE ||
                          v.name.what == RS_XSTAT_CONTEXT || v.name.what == RS_XSTAT_HIDDEN;
        if (!has_column) RS_TRY(add_other(p->space, &v, row));
    }
    return RS_OK;
}

rs_status rs_xplane_add(rs_xplane *p, const rs_xline *l, const rs_xevent *event)
{
    rs_xspace *s = p->space;
    rs_events *e = s->events;
    uint64_t offset = (uint64_t)(event->body.at - s->text);
    const uint32_t *at = rs_map64_get(&p->event_ids, (uint64_t)event->name);
    const rs_xevent_name *known = at ? &p->event_names[*at] : NULL;
    char number[40], room[240];
    told t;
    rs_native r = RS_NATIVE_NONE;
    take_values(p, known, event->body, &t);
    if (known) {
        r.name_id = known->text;
    } else {
        r.name_length = (size_t)snprintf(number, sizeof number, "event %" PRId64, event->name);
        r.name = number;
        rs_problems_add(&e->problems, s->file, -1, RS_LOSS, "no_name",
                        "an event's name is not in the file; it is called by its number", offset);
    }
    const char *name = known ? e->strings.items[known->text].text : number;
    bool on_device = p->role == RS_XROLE_GPU || p->role == RS_XROLE_TPU;
    r.pid = on_device ? p->device : s->process != RS_NO_VALUE ? s->process : UNTOLD_PROCESS;
    r.tid = l->id;
    r.context = t.context;
    r.device = on_device ? p->device : t.device;
    if (l->lane == RS_XLANE_STREAM || l->lane == RS_XLANE_OPS || l->lane == RS_XLANE_ASYNC)
        r.stream = l->stream;
    r.start = to_ns(e, l->time, event->offset);
    r.end = to_ns(e, l->time, rs_add_sat(event->offset, event->duration));
    judge(p, l, event, &t, name, known && known->is_comm, &r, room, sizeof room);
    if (known && p->role == RS_XROLE_TPU && strcmp(r.category, "kernel") == 0 && known->is_comm &&
        !fill_collective(s, &known->hlo, &r))
        return rs_fail_nomem(s->err, "collectives");
    size_t row = e->n;
    RS_TRY(rs_native_add(e, s->file, &r, offset, s->err));
    if (e->n == row || !(e->loaded & RS_OTHER_ARGUMENTS)) return RS_OK;
    if (known) RS_TRY(add_others(p, known->body, NAME_STAT, (uint32_t)row));
    return add_others(p, event->body, EVENT_STAT, (uint32_t)row);
}
