#include "trace/recompute.h"

#include <string.h>

#include "base/interval.h"
#include "trace/facet.h"

/* ---- spans of torch's function ------------------------------------------------------------------------- */

/* Thread by thread, by start. */
typedef struct spans {
    rs_keyed *starts; /* key is the start, value the row */
    size_t *first;    /* by thread, one more at the end */
    int64_t *reach;   /* latest end of a span of the thread up to this one */
    size_t n;
} spans;

static void clear_spans(spans *s)
{
    rs_free_all(s->starts, s->first, s->reach);
}

static bool is_recompute_fn(const char *name)
{
    return strstr(name, "torch/utils/checkpoint.py") && strstr(name, "recompute_fn");
}

/* names: by string id, whether it is the function's. */
static bool list_spans(const rs_trace *t, const uint8_t *names, spans *s, rs_recompute *out)
{
    const rs_events *e = t->events;
    size_t capacity = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        uint32_t row = rs_trace_row(t, i);
        if (rs_event_kind(e, row) != RS_KIND_PYTHON_FUNCTION) continue;
        out->has_python = out->has_python || !rs_is_module_name(&e->strings.items[e->name[row]]);
        if (!names[e->name[row]] || !rs_event_is_span(e, row) || e->duration[row] < 0) continue;
        if (!RS_PUSH(s->starts, s->n, capacity, (rs_keyed){e->start[row], row})) return false;
    }
    if (!rs_keyed_sort(s->starts, s->n)) return false;
    for (size_t i = 0; i < s->n; i++) s->starts[i].key = e->thread[s->starts[i].value];
    return rs_keyed_sort(s->starts, s->n);
}

static bool find_spans(const rs_trace *t, spans *s, rs_recompute *out)
{
    const rs_events *e = t->events;
    RS_LOCAL uint8_t *names = rs_calloc(e->strings.n + 1, 1);
    s->first = rs_calloc(e->n_threads + 2, sizeof *s->first);
    bool ok = names && s->first;
    for (size_t i = 0; ok && i < e->strings.n; i++) names[i] = is_recompute_fn(e->strings.items[i].text);
    ok = ok && list_spans(t, names, s, out);
    s->reach = ok ? rs_malloc((s->n + 1) * sizeof *s->reach) : NULL;
    ok = s->reach != NULL;
    for (size_t i = 0; ok && i < s->n; i++) {
        uint32_t row = s->starts[i].value;
        bool same = i > 0 && e->thread[s->starts[i - 1].value] == e->thread[row];
        s->first[e->thread[row] + 1] = i + 1;
        s->reach[i] = rs_event_end(e, row);
        if (same && s->reach[i - 1] > s->reach[i]) s->reach[i] = s->reach[i - 1];
    }
    for (size_t i = 0; ok && i < s->n; i++) s->starts[i].key = e->start[s->starts[i].value];
    for (size_t i = 0; ok && i < e->n_threads; i++)
        if (s->first[i + 1] < s->first[i]) s->first[i + 1] = s->first[i];
    return ok;
}

static bool begins_in_span(const rs_events *e, const spans *s, uint32_t row)
{
    size_t begin = s->first[e->thread[row]], n = s->first[e->thread[row] + 1] - begin;
    if (!n) return false; /* of a rank without such spans there is no array */
    size_t low = begin + rs_keyed_until(s->starts + begin, n, e->start[row]);
    return low > begin && s->reach[low - 1] > e->start[row];
}

/* ---- operators ----------------------------------------------------------------------------------------- */

enum { OTHER, CHECKPOINT, BACKWARD };

bool rs_is_backward_wrapper(const rs_string *name)
{
    static const char wrapper[] = "autograd::engine::evaluate_function:";
    return strncmp(name->text, wrapper, sizeof wrapper - 1) == 0;
}

static uint8_t kind_of(const rs_string *name)
{
    const char *text = name->text;
    if (rs_is_backward_wrapper(name)) return BACKWARD;
    if (*text == '_') text++;
    return strcmp(text, "CheckpointFunctionBackward") == 0 ? CHECKPOINT : OTHER;
}

/* Parents stand before their children. */
static bool mark(const rs_trace *trace, const rs_tree *t, const spans *s, rs_recompute *out)
{
    const rs_events *e = trace->events;
    RS_LOCAL uint8_t *inside =
        rs_malloc(t->n + 1); /* by node: in an operator that checkpoints, in no backward pass of it */
    out->again = rs_calloc(t->n + 1, 1);
    out->n = t->n;
    for (size_t i = 0; inside && out->again && i < t->n; i++) {
        uint32_t row = t->row[i], parent = t->parent[i];
        uint8_t kind =
            rs_event_kind(e, row) == RS_KIND_CPU_OP ? kind_of(&e->strings.items[e->name[row]]) : OTHER;
        bool above = parent != RS_NO_NODE && inside[parent];
        inside[i] = kind == CHECKPOINT || (kind == OTHER && above);
        bool by_function = begins_in_span(e, s, row), again = by_function || (kind == OTHER && above);
        out->again[i] = (uint8_t)((again ? RS_AGAIN : 0) | (by_function ? RS_AGAIN_BY_FUNCTION : 0));
        out->n_again += again;
    }
    return inside && out->again;
}

static void free_recompute(void *value)
{
    rs_recompute *r = value;
    if (!r) return;
    rs_free_all(r->again, r);
}

static rs_status make_recompute(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    const rs_tree *tree = *(rs_tree *const *)key;
    RS_SCOPED(clear_spans) spans s = {0};
    rs_recompute *r = rs_calloc(1, sizeof *r);
    bool ok = r && find_spans(trace, &s, r) && mark(trace, tree, &s, r);
    if (!ok) {
        free_recompute(r);
        return rs_fail_nomem(err, "recomputation");
    }
    *out = r;
    return RS_OK;
}

/* A tree is the trace's and stays where it is, so its address is the key. */
const rs_facet rs_facet_recompute = {.name = "recomputation",
                                     .key_size = sizeof(rs_tree *),
                                     .make = make_recompute,
                                     .release = free_recompute};

rs_status rs_tree_recompute(rs_trace *trace, rs_tree *tree, const rs_recompute **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_recompute, &tree, out, err);
}
