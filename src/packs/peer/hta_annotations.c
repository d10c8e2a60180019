/* annotations as HTA's get_gpu_user_annotation_breakdown: lengths of the annotations its window left. */
#include <stdlib.h>
#include <string.h>

#include "analysis/annotations.h"
#include "analysis/layouts.h"
#include "base/interval.h"
#include "base/memory.h"
#include "peer/hta_fold.h"
#include "peer/hta_steps.h"
#include "peer/hta_window.h"

#define ROW(CELL)                                                                                            \
    CELL(OF(rs_hta_row, name), "name", TEXT, NONE, "annotation, or others", NULL)                            \
    RS_HTA_FOLD_CELLS(CELL, "total length", "names")                                                         \
    CELL(OF(rs_hta_row, rank), "rank", INT, ID, "rank", NULL)
RS_RECORD(hta, ROW);

static const rs_table_spec table = RS_TABLE(
    "annotations", "one row is one annotation name of one rank, as HTA's get_gpu_user_annotation_breakdown",
    hta_columns);
static const rs_table_spec *const tables[] = {&table};

typedef struct annotation {
    const char *name;
    rs_moments length; /* ns */
} annotation;

typedef struct annotation_list {
    rs_arena names;
    annotation *items;
    size_t n, capacity;
} annotation_list;

static void free_partial(void *partial)
{
    annotation_list *p = partial;
    if (!p) return;
    rs_arena_clear(&p->names);
    rs_free(p->items);
    rs_free(p);
}

/* The place of a name, by its id in the trace. */
static annotation *item_of(annotation_list *p, rs_map64 *places, const rs_events *e, uint32_t name)
{
    bool is_new;
    uint32_t *place = rs_map64_put(places, name, &is_new);
    if (!place) return NULL;
    if (is_new) {
        const rs_string *s = &e->strings.items[name];
        char *copy = rs_arena_strndup(&p->names, s->text, s->length);
        if (!copy || !RS_GROW_ONE(p->items, p->n, p->capacity)) return NULL;
        *place = (uint32_t)p->n;
        p->items[p->n++] = (annotation){.name = copy};
    }
    return &p->items[*place];
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    const rs_frame_rows *f;
    rs_map64 places = {0};
    const rs_events *e = trace->events;
    bool gpu = rs_annotations_of_gpu(run->options, true);
    annotation_list *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "annotations");
    *partial = p;
    rs_status status = rs_trace_hta_frame(trace, run->policy, &f, err);
    for (size_t i = 0; status == RS_OK && i < f->n; i++) {
        if (rs_event_kind(e, f->row[i]) != (gpu ? RS_KIND_GPU_USER_ANNOTATION : RS_KIND_USER_ANNOTATION))
            continue;
        annotation *a = item_of(p, &places, e, e->name[f->row[i]]);
        if (a)
            rs_moments_add(&a->length, rs_sub_sat(f->end[i], f->start[i]));
        else
            status = rs_fail_nomem(err, "annotations");
    }
    rs_map64_clear(&places);
    return status;
}

/* ---- all ranks ---------------------------------------------------------------------------------------- */

static bool is_kept(const char *name, const char *list)
{
    for (const char *at = list; at && *at;) {
        size_t n = strcspn(at, ",");
        for (const char *p = name; n && *p; p++)
            if (strncmp(p, at, n) == 0) return true;
        at += n;
        if (*at) at++;
    }
    return false;
}

static int by_length(const void *a, const void *b)
{
    const rs_hta_named *x = a, *y = b;
    if (x->time.sum != y->time.sum) return x->time.sum > y->time.sum ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const rs_hta_row *)a)->name, ((const rs_hta_row *)b)->name);
}

static rs_status add_rank(const rs_run *run, const rs_partial *partial, rs_table *t, rs_error *err)
{
    const annotation_list *p = partial->value;
    rs_hta_named *items = rs_malloc((p->n + 1) * sizeof *items);
    rs_hta_rows rows = {0};
    for (size_t i = 0; items && i < p->n; i++)
        items[i] = (rs_hta_named){.name = p->items[i].name,
                                  .time = p->items[i].length,
                                  .keep = is_kept(p->items[i].name, rs_options_text(run->options, "keep"))};
    if (items && p->n) qsort(items, p->n, sizeof *items, by_length);
    bool ok =
        items && rs_hta_fold(items, p->n, partial->rank, rs_options_real(run->options, "duration-ratio"),
                             (size_t)rs_options_int(run->options, "top"), &rows);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "annotations");
    if (ok && rows.n) qsort(rows.items, rows.n, sizeof *rows.items, by_name);
    for (size_t i = 0; status == RS_OK && i < rows.n; i++)
        status = rs_table_put_row(t, &hta_record, rows.items[i].rank, &rows.items[i], err);
    rs_free(items);
    rs_free(rows.items);
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const annotation_list *p = partials[i].value;
        if (p->n == 0)
            rs_result_note(result, "rank %lld: no user annotations on the %s", (long long)partials[i].rank,
                           rs_annotations_of_gpu(run->options, true) ? "GPU" : "host");
        status = add_rank(run, &partials[i], result->tables[0], err);
    }
    return status;
}

static const rs_field annotation_fields[] = {
    RS_FIELD(annotation, name),
    RS_FIELD_STRUCT(annotation, length, &rs_moments_layout),
};
static const rs_layout annotation_layout = RS_LAYOUT(annotation, annotation_fields);

static const rs_field list_fields[] = {RS_FIELD_LIST(annotation_list, items, n, &annotation_layout)};
static const rs_layout list_layout = RS_LAYOUT(annotation_list, list_fields);

const rs_peer_row rs_peer_hta_annotations = {
    RS_HTA_ROW("annotations"),
    .tables = tables,
    .n_tables = 1,
    .rank = rank,
    .merge = merge,
    .free_partial = free_partial,
    .partial_layout = &list_layout,
};
