/* Each [memory] event is an allocation (bytes above 0) or a release of one device, with what the allocator held
 * behind it. It belongs to the innermost operator or annotation of its thread, as in torch's key_averages(). */
#include "analysis/memory_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/try.h"
#include "match/collective_names.h"
#include "table/cells.h"
#include "table/record.h"
#include "trace/selection.h"

/* What one device's allocator did. Bytes; times in ns, as the file has them. */
typedef struct rs_traced_device {
    char *device; /* owned */
    int64_t allocations, allocated, releases, freed;
    int64_t before, peak, peak_time, peak_step, end, reserved; /* RS_NO_VALUE: not told */
    char *peak_operator;                                       /* owned; NULL: none */
    int64_t out_of_memory;
} device_row;

typedef struct rs_traced_operator {
    char *device, *name; /* owned; name NULL: outside of all operators */
    int64_t allocations, allocated, releases, freed, net;
} operator_row;

typedef struct rs_traced_held {
    int64_t time;
    uint32_t device; /* index into the devices */
    int64_t bytes, held, reserved;
} held_row;

#define DEVICE_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(OF(device_row, device), "device", TEXT, NONE, "cpu, cuda:0, ...", NULL)                             \
    CELL(OF(device_row, peak), "peak_bytes", INT, BYTES,                                                     \
         "the most that the allocator held; of the host from the recording's start on", "peak")              \
    CELL(OF(device_row, peak_time), "peak_at_us", MOMENT, US, "when that was", "at")                         \
    CELL(ID(device_row, peak_step), "peak_step", INT, ID, "step in which that was", NULL)                    \
    CELL(MAYBE(device_row, peak_operator), "peak_operator", TEXT, NONE,                                      \
         "innermost operator or annotation around that allocation", NULL)                                    \
    CELL(OF(device_row, before), "before_bytes", INT, BYTES, "held before the first event", "before")        \
    CELL(OF(device_row, end), "end_bytes", INT, BYTES, "held after the last", "at the end")                  \
    CELL(OF(device_row, reserved), "reserved_bytes", INT, BYTES,                                             \
         "the most that the allocator had reserved from the device; unknown where it reserves nothing",      \
         "reserved")                                                                                         \
    CELL(OF(device_row, allocated), "allocated_bytes", INT, BYTES, "sum of all allocations", "allocated")    \
    CELL(OF(device_row, allocations), "allocations", INT, COUNT, "how many", NULL)                           \
    CELL(OF(device_row, freed), "freed_bytes", INT, BYTES, "sum of all releases", "freed")                   \
    CELL(OF(device_row, releases), "releases", INT, COUNT, "how many", NULL)                                 \
    CELL(OF(device_row, out_of_memory), "out_of_memory", INT, COUNT,                                         \
         "allocations that failed for want of memory", "failed")
RS_RECORD(device, DEVICE_ROW);

#define OPERATOR_ROW(CELL)                                                                                   \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(OF(operator_row, device), "device", TEXT, NONE, "cpu, cuda:0, ...", NULL)                           \
    CELL(MAYBE(operator_row, name), "operator", TEXT, NONE,                                                  \
         "innermost operator or annotation on the thread; unknown: outside of all", NULL)                    \
    CELL(OF(operator_row, allocated), "allocated_bytes", INT, BYTES, "sum of its allocations", "allocated")  \
    CELL(OF(operator_row, allocations), "allocations", INT, COUNT, "how many", NULL)                         \
    CELL(OF(operator_row, freed), "freed_bytes", INT, BYTES, "sum of its releases", "freed")                 \
    CELL(OF(operator_row, releases), "releases", INT, COUNT, "how many", NULL)                               \
    CELL(OF(operator_row, net), "net_bytes", INT, BYTES, "allocated_bytes less freed_bytes", "net")
RS_RECORD(operator, OPERATOR_ROW);

static const rs_column_spec held_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank of the job", NULL},
    {"device", RS_TEXT, RS_UNIT_NONE, "cpu, cuda:0, ...", NULL},
    {"time_us", RS_MOMENT, RS_UNIT_US, "when it changed", "time"},
    {"bytes", RS_INT, RS_UNIT_BYTES, "allocated, or released (below 0)", NULL},
    {"held_bytes", RS_INT, RS_UNIT_BYTES, "held from then on", "held"},
    {"reserved_bytes", RS_INT, RS_UNIT_BYTES, "reserved from the device; unknown where nothing is",
     "reserved"}};

const rs_table_spec rs_memory_devices_table =
    RS_TABLE("devices", "one row is the allocator of one device of a rank, by the trace's [memory] events",
             device_columns);
const rs_table_spec rs_memory_operators_table =
    RS_TABLE("operators", "one row is one operator of a rank, by what it allocated", operator_columns);
const rs_table_spec rs_memory_held_table =
    RS_TABLE("held", "one row is one change of a trace; empty without --series", held_columns);

static const rs_field device_fields[] = {RS_FIELD(device_row, peak_step)};
static const rs_layout device_layout = RS_RECORD_LAYOUT_AND(device_row, device, device_fields);
static const rs_layout operator_layout = RS_RECORD_LAYOUT(operator_row, operator);
static const rs_field held_fields[] = {
    RS_FIELD(held_row, time),
    RS_FIELD_INDEX(held_row, device, rs_traced_memory, n_devices),
    RS_FIELDS(held_row, bytes, held, reserved),
};
static const rs_layout held_layout = RS_LAYOUT(held_row, held_fields);
static const rs_field rank_fields[] = {
    RS_FIELD_LIST(rs_traced_memory, devices, n_devices, &device_layout),
    RS_FIELD_LIST(rs_traced_memory, operators, n_operators, &operator_layout),
    RS_FIELD_LIST(rs_traced_memory, held, n_held, &held_layout),
};
const rs_layout rs_memory_rank_layout = RS_LAYOUT(rs_traced_memory, rank_fields);

void rs_memory_trace_free(void *partial)
{
    rs_traced_memory *p = partial;
    if (!p) return;
    for (size_t i = 0; i < p->n_devices; i++) {
        rs_free_all(p->devices[i].device, p->devices[i].peak_operator);
    }
    for (size_t i = 0; i < p->n_operators; i++) {
        rs_free_all(p->operators[i].device, p->operators[i].name);
    }
    rs_free_all(p->devices, p->operators, p->held, p);
}

/* ---- events -------------------------------------------------------------------------------------------- */

typedef rs_memory_event change;
typedef rs_memory_device_id device_id;
typedef rs_memory_events reader;

static bool device_of(reader *r, int64_t type, int64_t id, uint32_t *out)
{
    size_t i = 0;
    while (i < r->n_devices && (r->devices[i].type != type || r->devices[i].id != id)) i++;
    if (i == r->n_devices)
        if (!RS_PUSH(r->devices, r->n_devices, r->devices_capacity, (device_id){type, id})) return false;
    *out = (uint32_t)i;
    return true;
}

static int64_t int_at(const rs_events *e, rs_column_id column, uint32_t row, int64_t otherwise)
{
    int64_t value;
    return rs_events_int(e, column, row, &value) ? value : otherwise;
}

static const rs_order in_time[] = {RS_RISING(change, time), RS_RISING(change, row)};

static bool collect(reader *r, const rs_selector *selector)
{
    const rs_events *e = r->trace->events;
    for (size_t i = 0; i < r->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(r->trace, i);
        const char *name = rs_event_name(e, row);
        if (name[0] != '[' || e->start[row] == RS_NO_TIME || rs_event_is_span(e, row)) continue;
        bool failed = strcmp(name, "[OutOfMemory]") == 0;
        if ((!failed && strcmp(name, "[memory]") != 0) || (selector && !rs_selects_row(selector, row)))
            continue;
        change c = {.time = e->start[row],
                    .bytes = int_at(e, RS_COL_ALLOC_BYTES, row, 0),
                    .held = int_at(e, RS_COL_TOTAL_ALLOCATED, row, RS_NO_VALUE),
                    .reserved = int_at(e, RS_COL_TOTAL_RESERVED, row, RS_NO_VALUE),
                    .row = row,
                    .operator= RS_NO_ROW,
                    .failed = failed};
        if (!device_of(r, int_at(e, RS_COL_DEVICE_TYPE, row, 0), int_at(e, RS_COL_DEVICE_ID, row, -1),
                       &c.device) ||
            !RS_GROW_ONE(r->changes, r->n, r->capacity))
            return false;
        r->changes[r->n++] = c;
    }
    RS_SORT(r->changes, r->n, in_time);
    return true;
}

/* ---- operators around them ----------------------------------------------------------------------------- */

/* A span of the host, or a change (index into changes; else RS_NO_ROW). */
typedef struct mark {
    uint32_t thread, row, change;
    int64_t start, end;
} mark;

/* By thread and start; a span stands before what begins with it and is shorter, and before a change. */
static int by_place(const void *a, const void *b)
{
    const mark *x = a, *y = b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if ((x->change == RS_NO_ROW) != (y->change == RS_NO_ROW)) return x->change == RS_NO_ROW ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* What a worker of gloo runs is filed under the thread that submitted it, and is nobody's caller. */
static bool calls(const rs_events *e, uint32_t row)
{
    rs_kind kind = rs_event_kind(e, row);
    if (!rs_event_is_span(e, row)) return false;
    return kind == RS_KIND_CPU_OP ||
           (kind == RS_KIND_USER_ANNOTATION && !rs_coll_is_host_span(rs_event_name(e, row)));
}

static bool find_operators(reader *r)
{
    const rs_events *e = r->trace->events;
    RS_LOCAL mark *marks = NULL;
    RS_LOCAL uint32_t *open = NULL;
    size_t n = 0, capacity = 0, depth = 0;
    bool ok = r->n < RS_NO_ROW;
    for (size_t i = 0; ok && i < r->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(r->trace, i);
        if (!calls(e, row)) continue;
        ok = RS_PUSH(marks, n, capacity,
                     (mark){e->thread[row], row, RS_NO_ROW, e->start[row], rs_event_end(e, row)});
    }
    for (uint32_t i = 0; ok && i < r->n; i++) {
        uint32_t row = r->changes[i].row;
        ok = RS_PUSH(marks, n, capacity,
                     (mark){e->thread[row], row, i, r->changes[i].time, r->changes[i].time});
    }
    ok = ok && (open = rs_malloc((n + 1) * sizeof *open)) != NULL;
    if (ok && n) qsort(marks, n, sizeof *marks, by_place);
    for (size_t i = 0; ok && i < n; i++) {
        const mark *m = &marks[i];
        if (i && marks[i - 1].thread != m->thread) depth = 0;
        while (depth && marks[open[depth - 1]].end < m->start) depth--;
        if (m->change == RS_NO_ROW)
            open[depth++] = (uint32_t)i;
        else if (depth)
            r->changes[m->change].operator= marks[open[depth - 1]].row;
    }
    return ok;
}

rs_status rs_memory_events_read(const rs_trace *trace, const rs_selector *selector, rs_memory_events *out,
                                rs_error *err)
{
    *out = (rs_memory_events){.trace = trace};
    bool ok = collect(out, selector) && (!out->n || find_operators(out));
    return ok ? RS_OK : rs_fail_nomem(err, "memory events");
}

void rs_memory_events_clear(rs_memory_events *events)
{
    rs_free_all(events->changes, events->devices);
}

/* ---- what they add up to ------------------------------------------------------------------------------- */

/* c10::DeviceType, as far as a profiler has been seen to write it. */
static char *device_name(device_id d)
{
    static const char *const types[] = {"cpu", "cuda", "mkldnn",       "opengl", "opencl", "ideep",
                                        "hip", "fpga", "maia",         "xla",    "vulkan", "metal",
                                        "xpu", "mps",  "meta",         "hpu",    "ve",     "lazy",
                                        "ipu", "mtia", "privateuseone"};
    char text[64];
    if (d.type >= 0 && d.type < (int64_t)(sizeof types / sizeof *types))
        snprintf(text, sizeof text, "%s", types[d.type]);
    else
        snprintf(text, sizeof text, "device type %lld", (long long)d.type);
    size_t n = strlen(text);
    if (d.id >= 0) snprintf(text + n, sizeof text - n, ":%lld", (long long)d.id);
    return rs_strdup(text);
}

/* Where the allocator tells no total, changes are added up from nothing. */
static void count(device_row *d, const change *c, bool first)
{
    int64_t behind = c->held != RS_NO_VALUE ? c->held : rs_add_sat(first ? 0 : d->end, c->bytes);
    if (c->failed) {
        d->out_of_memory++;
        return;
    }
    if (first) d->before = rs_sub_sat(behind, c->bytes);
    if (c->bytes > 0) {
        d->allocations++;
        d->allocated = rs_add_sat(d->allocated, c->bytes);
    } else {
        d->releases++;
        d->freed = rs_sub_sat(d->freed, c->bytes);
    }
    d->end = behind;
    /* the host's allocator reserves nothing, and says 0 */
    if (c->reserved > 0 && (d->reserved == RS_NO_VALUE || c->reserved > d->reserved))
        d->reserved = c->reserved;
}

static bool add_devices(const reader *r, const rs_step *steps, size_t n_steps, rs_traced_memory *p)
{
    const rs_events *e = r->trace->events;
    RS_LOCAL uint32_t *peak_at = rs_malloc((r->n_devices + 1) * sizeof *peak_at);
    p->devices = rs_calloc(r->n_devices + 1, sizeof *p->devices);
    if (!peak_at || !p->devices) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < r->n_devices; i++) {
        device_row *d = &p->devices[p->n_devices++];
        *d = (device_row){.before = RS_NO_VALUE,
                          .peak = RS_NO_VALUE,
                          .peak_time = RS_NO_TIME,
                          .peak_step = -1,
                          .end = RS_NO_VALUE,
                          .reserved = RS_NO_VALUE};
        ok = (d->device = device_name(r->devices[i])) != NULL;
        peak_at[i] = UINT32_MAX;
    }
    for (uint32_t i = 0; ok && i < r->n; i++) {
        const change *c = &r->changes[i];
        device_row *d = &p->devices[c->device];
        bool first = d->end == RS_NO_VALUE;
        count(d, c, first);
        if (first && !c->failed) { /* what was there before may have been the most */
            d->peak = d->before;
            d->peak_time = c->time;
        }
        if (c->failed || d->end <= d->peak) continue;
        d->peak = d->end;
        d->peak_time = c->time;
        peak_at[c->device] = i;
    }
    for (size_t i = 0; ok && i < p->n_devices; i++) {
        device_row *d = &p->devices[i];
        if (d->peak_time == RS_NO_TIME || peak_at[i] == UINT32_MAX) continue;
        const change *c = &r->changes[peak_at[i]];
        d->peak_step = rs_trace_step_at(steps, n_steps, e->threads[e->thread[c->row]].pid, c->time);
        if (c->operator!= RS_NO_ROW)
            ok = (d->peak_operator = rs_strdup(rs_event_name(e, c->operator))) != NULL;
    }
    return ok;
}

typedef struct tally {
    uint32_t device, name; /* RS_NO_STRING: outside of all */
    int64_t allocations, allocated, releases, freed;
} tally;

static const rs_order by_name[] = {RS_RISING(tally, device), RS_RISING(tally, name)};

static int by_bytes(const void *a, const void *b)
{
    const operator_row *x = a, *y = b;
    if (x->allocated != y->allocated) return x->allocated > y->allocated ? -1 : 1;
    if (x->freed != y->freed) return x->freed > y->freed ? -1 : 1;
    if (!x->name || !y->name) return (x->name != NULL) - (y->name != NULL);
    int c = strcmp(x->name, y->name);
    return c ? c : strcmp(x->device, y->device);
}

static bool add_operators(const reader *r, rs_traced_memory *p)
{
    const rs_events *e = r->trace->events;
    RS_LOCAL tally *all = rs_calloc(r->n + 1, sizeof *all);
    size_t n = 0, kept = 0;
    if (!all) return false;
    for (size_t i = 0; i < r->n; i++) {
        const change *c = &r->changes[i];
        if (c->failed) continue;
        all[n++] =
            (tally){.device = c->device,
                    .name = c->operator== RS_NO_ROW
                                ? RS_NO_STRING
                                : e->name[c->operator], .allocations = c->bytes > 0,
                                          .allocated = c->bytes > 0 ? c->bytes : 0, .releases = c->bytes <= 0,
                                          .freed = c->bytes > 0 ? 0 : rs_sub_sat(0, c->bytes) };
    }
    RS_SORT(all, n, by_name);
    for (size_t i = 0; i < n; i++) {
        if (!kept || RS_COMPARE(by_name, &all[kept - 1], &all[i]) != 0) {
            all[kept++] = all[i];
            continue;
        }
        tally *t = &all[kept - 1];
        t->allocations += all[i].allocations;
        t->releases += all[i].releases;
        t->allocated = rs_add_sat(t->allocated, all[i].allocated);
        t->freed = rs_add_sat(t->freed, all[i].freed);
    }
    bool ok = (p->operators = rs_calloc(kept + 1, sizeof *p->operators)) != NULL;
    for (size_t i = 0; ok && i < kept; i++) {
        operator_row *o = &p->operators[p->n_operators++];
        *o = (operator_row){.device = rs_strdup(p->devices[all[i].device].device),
                            .allocations = all[i].allocations,
                            .allocated = all[i].allocated,
                            .releases = all[i].releases,
                            .freed = all[i].freed,
                            .net = rs_sub_sat(all[i].allocated, all[i].freed)};
        ok = o->device != NULL;
        if (ok && all[i].name != RS_NO_STRING)
            ok = (o->name = rs_strdup(e->strings.items[all[i].name].text)) != NULL;
    }
    if (ok && p->n_operators) qsort(p->operators, p->n_operators, sizeof *p->operators, by_bytes);
    return ok;
}

static bool add_held(const reader *r, rs_traced_memory *p)
{
    RS_LOCAL int64_t *now = rs_calloc(r->n_devices + 1, sizeof *now);
    p->held = rs_calloc(r->n + 1, sizeof *p->held);
    bool ok = now && p->held;
    for (size_t i = 0; ok && i < r->n; i++) {
        const change *c = &r->changes[i];
        if (c->failed) continue;
        now[c->device] = c->held != RS_NO_VALUE ? c->held : rs_add_sat(now[c->device], c->bytes);
        p->held[p->n_held++] = (held_row){.time = c->time,
                                          .device = c->device,
                                          .bytes = c->bytes,
                                          .held = now[c->device],
                                          .reserved = c->reserved > 0 ? c->reserved : RS_NO_VALUE};
    }
    return ok;
}

rs_status rs_memory_trace_rank(const rs_run *run, rs_trace *trace, rs_traced_memory **partial, rs_error *err)
{
    RS_SCOPED(rs_memory_events_clear) reader r = {0};
    rs_selector selector;
    const rs_step *steps;
    size_t n_steps;
    *partial = NULL;
    RS_TRY(rs_trace_selector(trace, &selector, err));
    RS_TRY(rs_trace_steps(trace, &steps, &n_steps, err));
    RS_TRY(rs_memory_events_read(trace, &selector, &r, err));
    rs_traced_memory *p = rs_calloc(1, sizeof *p);
    bool ok = p && add_devices(&r, steps, n_steps, p) && add_operators(&r, p) &&
              (!rs_options_flag(run->options, "series") || add_held(&r, p));
    if (!ok || !p->n_devices) {
        rs_memory_trace_free(p);
        p = NULL;
    }
    *partial = p;
    return ok ? RS_OK : rs_fail_nomem(err, "memory events");
}

rs_status rs_memory_trace_merge(const rs_run *run, const rs_partial *partials, size_t n,
                                const rs_memory_tables *at, rs_result *result, rs_error *err)
{
    size_t top = (size_t)rs_options_int(run->options, "top");
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_traced_memory *p = partials[i].value;
        int64_t rank = partials[i].rank;
        for (size_t k = 0; status == RS_OK && k < p->n_devices; k++)
            status = rs_table_put_row(result->tables[at->devices], &device_record, rank, &p->devices[k], err);
        for (size_t k = 0; status == RS_OK && k < p->n_operators && (!top || k < top); k++)
            status = rs_table_put_row(result->tables[at->operators], &operator_record, rank, &p->operators[k],
                                      err);
        for (size_t k = 0; status == RS_OK && k < p->n_held; k++) {
            rs_table *t = result->tables[at->held];
            const held_row *h = &p->held[k];
            status = RS_PUT_ROW(t, err, rank, p->devices[h->device].device, h->time, h->bytes, h->held,
                                h->reserved);
        }
    }
    return status;
}
