#include "trace/launch_order.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/try.h"
#include "trace/facet.h"

typedef struct item {
    int64_t time, start, lane; /* lane: device and stream */
    uint32_t row, launch;
} item;

static int64_t lane_of(rs_cursor *device, rs_cursor *stream, uint32_t row)
{
    uint64_t d = (uint64_t)rs_cursor_int(device, row, -1), s = (uint64_t)rs_cursor_int(stream, row, -1);
    return (int64_t)(d << 32 ^ s);
}

/* Work without a launch takes the time of the work before it on its lane. items stand by start. */
static bool fill_times(const rs_trace *trace, item *items, size_t n, bool told)
{
    const rs_events *e = trace->events;
    RS_SCOPED(rs_map64_clear) rs_map64 lanes = {0};
    RS_LOCAL int64_t *last = NULL;
    size_t n_lanes = 0, capacity = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        if (!told) {
            items[i].time = items[i].start;
            continue;
        }
        bool is_new;
        uint32_t *slot = rs_map64_put(&lanes, (uint64_t)items[i].lane, &is_new);
        ok = slot && (!is_new || RS_GROW_ONE(last, n_lanes, capacity));
        if (!ok) break;
        if (is_new) {
            *slot = (uint32_t)n_lanes;
            last[n_lanes++] = INT64_MIN;
        }
        if (items[i].launch != RS_NO_ROW) last[*slot] = e->start[items[i].launch];
        items[i].time = last[*slot];
    }
    return ok;
}

static const rs_order by_lane[] = {RS_RISING(item, launch), RS_RISING(item, lane), RS_RISING(item, start),
                                   RS_RISING(item, row)};

/* Stable: by time or by start. */
static bool sort_items(item *items, item *other, rs_keyed *keys, size_t n, bool by_time)
{
    for (size_t i = 0; i < n; i++)
        keys[i] = (rs_keyed){by_time ? items[i].time : items[i].start, (uint32_t)i};
    if (!rs_keyed_sort(keys, n)) return false;
    for (size_t i = 0; i < n; i++) other[i] = items[keys[i].value];
    memcpy(items, other, n * sizeof *items);
    return true;
}

static bool order_items(const rs_trace *trace, item *items, size_t n, bool told)
{
    RS_LOCAL item *other = rs_malloc((n + 1) * sizeof *other);
    RS_LOCAL rs_keyed *keys = rs_malloc((n + 1) * sizeof *keys);
    bool ok = other && keys && sort_items(items, other, keys, n, false) &&
              fill_times(trace, items, n, told) && sort_items(items, other, keys, n, true);
    for (size_t i = 0, end; ok && told && i < n; i = end) {
        for (end = i + 1; end < n && items[end].launch == items[i].launch; end++) {
        }
        if (items[i].launch != RS_NO_ROW && end - i > 1) RS_SORT(items + i, end - i, by_lane);
    }
    return ok;
}

static void free_order(void *value)
{
    rs_launch_order *o = value;
    rs_free_all(o->row, o->launch, o->time, o);
}

static rs_launch_order *build(rs_trace *trace, const uint32_t *rows, size_t n, const rs_links *links)
{
    const rs_events *e = trace->events;
    rs_launch_order *o = rs_calloc(1, sizeof *o);
    RS_LOCAL item *items = rs_malloc((n + 1) * sizeof *items);
    if (o) {
        o->row = rs_malloc((n + 1) * sizeof *o->row);
        o->launch = rs_malloc((n + 1) * sizeof *o->launch);
        o->time = rs_malloc((n + 1) * sizeof *o->time);
    }
    bool ok = o && items && o->row && o->launch && o->time;
    rs_cursor device = rs_cursor_of(e, RS_COL_DEVICE), stream = rs_cursor_of(e, RS_COL_STREAM);
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t launch = links->launch_of[i];
        o->told = o->told || launch != RS_NO_ROW;
        items[i] = (item){.start = e->start[rows[i]],
                          .lane = lane_of(&device, &stream, rows[i]),
                          .row = rows[i],
                          .launch = launch};
    }
    ok = ok && order_items(trace, items, n, o->told);
    for (size_t i = 0; ok && i < n; i++) {
        o->row[i] = items[i].row;
        o->launch[i] = items[i].launch;
        o->time[i] = items[i].time;
    }
    if (ok) o->n = n;
    if (!ok && o) free_order(o);
    return ok ? o : NULL;
}

static rs_status make_order(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    const uint32_t *rows;
    const rs_links *links;
    size_t n;
    RS_TRY(rs_trace_gpu_rows(trace, &rows, &n, err));
    RS_TRY(rs_trace_launches(trace, &links, err));
    *out = build(trace, rows, n, links);
    return *out ? RS_OK : rs_fail_nomem(err, "the order of launches");
}

const rs_facet rs_facet_launch_order = {
    .name = "order of launches", .needs = {&rs_facet_launches}, .make = make_order, .release = free_order};

rs_status rs_trace_launch_order(rs_trace *trace, const rs_launch_order **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_launch_order, NULL, out, err);
}
