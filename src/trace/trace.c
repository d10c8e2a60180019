#include <string.h>

#include "base/try.h"
#include "trace/facet.h"
#include "trace/trace_internal.h"

void rs_trace_init(rs_trace *trace, rs_events *events, uint32_t *rows, size_t n_rows)
{
    *trace = (rs_trace){.events = events, .rank = RS_NO_VALUE, .rows = rows, .n_rows = n_rows};
}

void rs_trace_clear(rs_trace *trace)
{
    rs_facets_clear(trace);
    rs_free(trace->rows);
    *trace = (rs_trace){.rank = RS_NO_VALUE};
}

/* ---- rows of GPU work ---------------------------------------------------------------------------------- */

/* What one walk over the kinds of all rows tells. */
typedef struct row_list {
    uint32_t *rows;
    size_t n, room;
    size_t n_calls; /* of the host to a device */
    bool counted;   /* n_calls is known */
    bool lent;      /* rows are the keeper's */
} row_list;

static void free_rows(void *value)
{
    row_list *list = value;
    if (!list->lent) rs_free(list->rows);
    rs_free(list);
}

/* MTIA lists a queue's waits for another queue, and its marks for others' waits, among its work: they keep a
 * queue from working and are no work themselves, as those of the category cuda_sync. */
static bool is_mtia_wait(const rs_events *e, uint32_t row)
{
    const char *name = rs_event_name(e, row);
    return strcmp(name, "event_wait") == 0 || strcmp(name, "event_record") == 0;
}

static uint8_t *list_kinds(const rs_events *e)
{
    uint8_t *kinds = rs_malloc(e->n_categories + 1); /* the kinds of categories, close together */
    for (size_t i = 0; kinds && i < e->n_categories; i++) kinds[i] = (uint8_t)e->categories[i].kind;
    return kinds;
}

static rs_status make_gpu_rows(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    const rs_events *e = trace->events;
    row_list *list = rs_calloc(1, sizeof *list);
    RS_LOCAL uint8_t *kinds = list_kinds(e);
    bool ok = list && kinds;
    for (size_t i = 0; ok && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        rs_kind kind = (rs_kind)kinds[e->category[row]];
        list->n_calls += rs_kind_is_call(kind);
        if (!rs_kind_is_gpu_work(kind) || !rs_event_is_span(e, row)) continue;
        if (kind == RS_KIND_MTIA_WORK && is_mtia_wait(e, row)) continue;
        ok = RS_PUSH(list->rows, list->n, list->room, row);
    }
    if (!ok) {
        if (list) free_rows(list);
        return rs_fail_nomem(err, "list of GPU work");
    }
    list->counted = true;
    *out = list;
    return RS_OK;
}

static void give_rows(const void *value, rs_facet_part *parts)
{
    const row_list *list = value;
    parts[0] = RS_FACET_NUMBERS(list->rows, list->n);
}

static void *take_rows(rs_trace *trace, const void *key, const rs_facet_part *parts)
{
    const rs_events *e = trace->events;
    const uint32_t *rows = parts[0].bytes;
    size_t n = parts[0].n / sizeof *rows;
    rs_membership member = {trace, 0};
    bool ok = parts[0].n % sizeof *rows == 0;
    (void)key;
    for (size_t i = 0; ok && i < n; i++)
        ok = rows[i] < e->n && (i == 0 || rows[i] > rows[i - 1]) && rs_event_is_span(e, rows[i]) &&
             rs_kind_is_gpu_work(rs_event_kind(e, rows[i])) && rs_is_member(&member, rows[i]);
    row_list *list = ok ? rs_calloc(1, sizeof *list) : NULL;
    if (list) *list = (row_list){.rows = (uint32_t *)(uintptr_t)rows, .n = n, .lent = true};
    return list;
}

static const rs_facet_form rows_form = {1, give_rows, take_rows, false};
const rs_facet rs_facet_gpu_rows = {
    .name = "rows of GPU work", .make = make_gpu_rows, .release = free_rows, .form = &rows_form};

rs_status rs_trace_gpu_rows(rs_trace *trace, const uint32_t **rows, size_t *n, rs_error *err)
{
    void *value;
    RS_TRY(rs_trace_facet(trace, &rs_facet_gpu_rows, NULL, &value, err));
    *rows = ((const row_list *)value)->rows;
    *n = ((const row_list *)value)->n;
    return RS_OK;
}

rs_status rs_trace_n_calls(rs_trace *trace, size_t *n, rs_error *err)
{
    void *value;
    RS_TRY(rs_trace_facet(trace, &rs_facet_gpu_rows, NULL, &value, err));
    row_list *list = value;
    if (!list->counted) {
        uint8_t *kinds = list_kinds(trace->events);
        if (!kinds) return rs_fail_nomem(err, "calls");
        for (size_t i = 0; i < trace->n_rows; i++)
            list->n_calls += rs_kind_is_call((rs_kind)kinds[trace->events->category[rs_trace_row(trace, i)]]);
        list->counted = true;
        rs_free(kinds);
    }
    *n = list->n_calls;
    return RS_OK;
}

/* ---- the span ------------------------------------------------------------------------------------------ */

typedef struct span {
    int64_t first, last; /* of all complete events but the profiler's own; RS_NO_TIME: none */
} span;

static rs_status make_span(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    const rs_events *e = trace->events;
    int64_t first = INT64_MAX, last = INT64_MIN;
    bool any = false;
    span *made = rs_malloc(sizeof *made);
    if (!made) return rs_fail_nomem(err, "a rank's span");
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        /* most rows lie inside of what is known; for one without a duration the sum means nothing */
        int64_t start = e->start[row], end = (int64_t)((uint64_t)start + (uint64_t)e->duration[row]);
        if (start >= first && end <= last) continue;
        /* the profiler's own span begins with its warm-up, long before anything that was asked for */
        rs_kind kind = rs_event_kind(e, row);
        if (!rs_event_is_span(e, row) || kind == RS_KIND_SPAN || rs_kind_is_host_state(kind)) continue;
        if (start < first) first = start;
        if (end > last) last = end;
        any = true;
    }
    *made = any ? (span){first, last} : (span){RS_NO_TIME, RS_NO_TIME};
    if (e->other.columns) *made = (span){e->other.first, e->other.last};
    *out = made;
    return RS_OK;
}

static void free_one(void *value)
{
    rs_free(value);
}

const rs_facet rs_facet_span = {.name = "a rank's span", .make = make_span, .release = free_one};

rs_status rs_trace_span(rs_trace *trace, int64_t *first_ns, int64_t *last_ns, rs_error *err)
{
    void *value;
    *first_ns = *last_ns = RS_NO_TIME;
    RS_TRY(rs_trace_facet(trace, &rs_facet_span, NULL, &value, err));
    *first_ns = ((const span *)value)->first;
    *last_ns = ((const span *)value)->last;
    return RS_OK;
}

/* ---- kernel classes ------------------------------------------------------------------------------------ */

static void free_classes(void *value)
{
    rs_classes *classes = value;
    rs_free_all(classes->of_name, classes->judged, classes);
}

static rs_status make_classes(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    const rs_class_rules *rules = key;
    const rs_class_judge *judge = *rules == RS_CLASSES_OWN ? trace->judge : NULL;
    rs_classes *made = rs_calloc(1, sizeof *made);
    uint8_t *of_name = rs_calloc(trace->events->strings.n + 1, 1);
    uint8_t *judged = judge ? rs_calloc(trace->events->strings.n + 1, 1) : NULL;
    if (!made || !of_name || (judge && !judged)) {
        rs_free_all(made, of_name, judged);
        return rs_fail_nomem(err, "kernel classes");
    }
    *made = (rs_classes){trace->events, *rules, judge, of_name, judged};
    *out = made;
    return RS_OK;
}

const rs_facet rs_facet_classes = {.name = "kernel classes",
                                   .key_size = sizeof(rs_class_rules),
                                   .make = make_classes,
                                   .release = free_classes};

rs_status rs_trace_classes(rs_trace *trace, rs_class_rules rules, const rs_classes **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_classes, &rules, out, err);
}

/* false: no rule of the judge fits the name. */
static bool is_judged(const rs_classes *c, uint32_t name, rs_class *out)
{
    uint8_t *known = &c->judged[name];
    if (!*known) {
        const rs_string *s = &c->e->strings.items[name];
        rs_class class;
        bool fits = c->judge->judge(c->judge->context, s->text, s->length, &class);
        *known = (uint8_t)(fits ? class + 1 : RS_N_CLASSES + 1);
    }
    *out = (rs_class)(*known - 1);
    return *known <= RS_N_CLASSES;
}

rs_class rs_class_at(const rs_classes *c, uint32_t row)
{
    const rs_events *e = c->e;
    rs_kind kind = rs_event_kind(e, row);
    rs_class judged;
    if (c->judge && is_judged(c, e->name[row], &judged)) return judged;
    if (c->rules != RS_CLASSES_HTA && (kind == RS_KIND_MEMCPY || kind == RS_KIND_MEMSET))
        return c->rules == RS_CLASSES_TRACELENS && kind == RS_KIND_MEMSET ? RS_CLASS_COMPUTE
                                                                          : RS_CLASS_MEMORY;
    uint8_t *known = &c->of_name[e->name[row]];
    if (!*known) {
        const rs_string *s = &e->strings.items[e->name[row]];
        rs_class class = c->rules == RS_CLASSES_HTA         ? rs_class_of_hta(s->text, s->length)
                         : c->rules == RS_CLASSES_TRACELENS ? rs_class_of_tracelens(kind, s->text, s->length)
                                                            : rs_class_of(kind, s->text, s->length);
        *known = (uint8_t)(class + 1);
    }
    return (rs_class)(*known - 1);
}
