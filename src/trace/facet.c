#include "trace/facet.h"

#include <string.h>

#include "base/memory.h"
#include "trace/selection.h"

/* The key is after it. */
struct rs_facet_value {
    struct rs_facet_value *next; /* made before */
    const rs_facet *facet;
    const rs_selection *selection; /* that it follows; NULL: everything */
    void *value;
    unsigned n_stored; /* of its parts, how many are in the store */
    max_align_t key[];
};

static const rs_selection *followed(const rs_trace *trace, const rs_facet *facet)
{
    return facet->selected && rs_trace_is_selected(trace) ? trace->selection : NULL;
}

static bool is_same(const rs_facet *facet, const void *a, const void *b)
{
    if (!facet->key_size) return true;
    return facet->same ? facet->same(a, b) : memcmp(a, b, facet->key_size) == 0;
}

static unsigned count_parts(const rs_facet *facet, const rs_facet_part *parts)
{
    unsigned n = 0;
    for (unsigned i = 0; i < facet->form->n_parts; i++) n += parts[i].n > 0;
    return n;
}

/* A value from the store; false: it has to be made. */
static bool fetch(rs_trace *trace, rs_facet_value *v)
{
    rs_facet_part parts[RS_FACET_PARTS] = {0};
    if (!v->facet->form || !trace->keeper || v->selection) return false;
    if (!trace->keeper->fetch(trace->keeper->context, trace, v->facet, v->key, parts)) return false;
    v->value = v->facet->form->take(trace, v->key, parts);
    v->n_stored = v->value ? count_parts(v->facet, parts) : 0;
    return v->value != NULL;
}

void rs_facets_keep(rs_trace *trace)
{
    for (rs_facet_value *v = trace->keeper ? trace->facets : NULL; v; v = v->next) {
        rs_facet_part parts[RS_FACET_PARTS] = {0};
        if (!v->facet->form || v->selection) continue;
        v->facet->form->give(v->value, parts);
        unsigned n = count_parts(v->facet, parts);
        if (n > v->n_stored) trace->keeper->keep(trace->keeper->context, trace, v->facet, v->key, parts);
        v->n_stored = n;
    }
}

rs_status rs_trace_facet(rs_trace *trace, const rs_facet *facet, const void *key, void *out, rs_error *err)
{
    const rs_selection *selection = followed(trace, facet);
    for (const rs_facet_value *v = trace->facets; v; v = v->next) {
        if (v->facet != facet || v->selection != selection || !is_same(facet, v->key, key)) continue;
        memcpy(out, &v->value, sizeof v->value);
        return RS_OK;
    }
    rs_facet_value *made = rs_calloc(1, sizeof *made + facet->key_size);
    if (!made) return rs_fail_nomem(err, facet->name);
    made->facet = facet;
    made->selection = selection;
    if (facet->key_size) memcpy(made->key, key, facet->key_size);
    rs_status status = fetch(trace, made) ? RS_OK : facet->make(trace, made->key, &made->value, err);
    if (status != RS_OK) {
        rs_free(made);
        return status;
    }
    made->next = trace->facets; /* after those that it is based on, which making it has added */
    trace->facets = made;
    memcpy(out, &made->value, sizeof made->value);
    return RS_OK;
}

static uint64_t columns_of(const rs_facet *facet)
{
    uint64_t columns = facet->columns;
    for (size_t i = 0; i < RS_FACET_NEEDS && facet->needs[i]; i++) columns |= columns_of(facet->needs[i]);
    return columns;
}

uint64_t rs_facet_columns(const rs_facet *const *facets, size_t n)
{
    uint64_t columns = 0;
    for (size_t i = 0; i < n && facets[i]; i++) columns |= columns_of(facets[i]);
    return columns;
}

static void release(rs_facet_value *v)
{
    if (v->facet->release) v->facet->release(v->value);
    rs_free(v);
}

void rs_facets_clear(rs_trace *trace)
{
    while (trace->facets) {
        rs_facet_value *v = trace->facets;
        trace->facets = v->next;
        release(v);
    }
}

void rs_facets_forget(rs_trace *trace, const rs_selection *selection)
{
    for (rs_facet_value **at = &trace->facets; *at;) {
        rs_facet_value *v = *at;
        if (v->selection != selection) {
            at = &v->next;
            continue;
        }
        *at = v->next;
        release(v);
    }
}
