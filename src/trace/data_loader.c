#include "trace/data_loader.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"

static void release(void *value)
{
    rs_data_loader *d = value;
    if (!d) return;
    rs_free_all(d->named, d->calls, d);
}

static bool is_loader(const char *name)
{
    static const char *const words[] = {"DataLoader", "dataloader", "data_loader"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i])) return true;
    return false;
}

static bool list_calls(const rs_trace *t, rs_data_loader *d)
{
    const rs_events *e = t->events;
    RS_LOCAL rs_keyed *found = NULL;
    size_t n = 0, capacity = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < t->n_rows; i++) {
        uint32_t row = rs_trace_row(t, i);
        rs_kind kind = rs_event_kind(e, row);
        if (kind != RS_KIND_USER_ANNOTATION && kind != RS_KIND_CPU_OP) continue;
        if (!d->named[e->name[row]] || !rs_event_is_span(e, row) || e->duration[row] < 0) continue;
        ok = RS_PUSH(found, n, capacity, (rs_keyed){e->start[row], row});
    }
    ok = ok && rs_keyed_sort(found, n) && (d->calls = rs_malloc((n + 1) * sizeof *d->calls));
    int64_t reach = INT64_MIN;
    for (size_t i = 0; ok && i < n; i++) {
        int64_t from = found[i].key < reach ? reach : found[i].key, end = rs_event_end(e, found[i].value);
        if (end <= from) continue;
        reach = end;
        d->calls[d->n++] = (rs_loader_call){found[i].value, from, end};
    }
    return ok;
}

static rs_status make(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    const rs_strings *s = &trace->events->strings;
    rs_data_loader *d = rs_calloc(1, sizeof *d);
    bool ok = d && (d->named = rs_calloc(s->n + 1, 1)), any = false;
    (void)key;
    for (size_t i = 0; ok && i < s->n; i++) any |= d->named[i] = is_loader(s->items[i].text);
    if (!ok || (any && !list_calls(trace, d))) {
        release(d);
        return rs_fail_nomem(err, "data loading");
    }
    *out = d;
    return RS_OK;
}

const rs_facet rs_facet_data_loader = {.name = "data loading", .make = make, .release = release};

rs_status rs_trace_data_loader(rs_trace *trace, const rs_data_loader **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_data_loader, NULL, out, err);
}
