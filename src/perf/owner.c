#include "perf/owner.h"

#include <string.h>

#include "base/interval.h"
#include "base/try.h"
#include "trace/launchers.h"
#include "trace/selection.h"

static void free_owners(void *value)
{
    rs_owners *o = value;
    if (!o) return;
    rs_free(o->items);
    rs_free(o->work_row);
    rs_free(o);
}

typedef struct finder {
    rs_trace *trace;
    const rs_events *e;
    const rs_tree *t;
    const rs_classes *classes;
    rs_op_shapes *shapes;
    uint32_t *outer;  /* by node: the outermost operator with an answer, itself included; RS_NO_NODE */
    uint32_t *answer; /* by node, of those operators and of launchers */
    uint8_t *said;    /* by string id: what the name of a piece of work says; 0: not yet asked */
    rs_keyed *pairs;  /* (twice the owner's node, and one more for communication; row of its work) */
    size_t n_pairs;
} finder;

/* ---- whose -------------------------------------------------------------------------------------------- */

/* Parents stand before their children. Operators that launch nothing need no answer. */
static rs_status find_outermost(finder *f, rs_error *err)
{
    const rs_tree *t = f->t;
    for (size_t node = 0; node < t->n; node++) {
        uint32_t parent = t->parent[node];
        f->answer[node] = RS_NO_ANSWER;
        f->outer[node] = parent == RS_NO_NODE ? RS_NO_NODE : f->outer[parent];
        if (f->outer[node] != RS_NO_NODE || t->op[node] != node || !rs_tree_kernels(t, (uint32_t)node))
            continue;
        RS_TRY(rs_shapes_ask(f->shapes, t->row[node], false, &f->answer[node], err));
        if (f->answer[node] != RS_NO_ANSWER) f->outer[node] = (uint32_t)node;
    }
    return RS_OK;
}

static rs_status owner_of_call(finder *f, uint32_t call, uint32_t *owner, rs_error *err)
{
    *owner = f->outer[call];
    if (*owner != RS_NO_NODE) return RS_OK;
    *owner = rs_tree_launcher_of(f->trace, f->t, call);
    if (f->t->op[*owner] != *owner) return RS_OK; /* the call itself */
    return rs_shapes_ask(f->shapes, f->t->row[*owner], true, &f->answer[*owner], err);
}

static rs_status pair_up(finder *f, rs_error *err)
{
    const rs_tree *t = f->t;
    for (size_t node = 0; node < t->n; node++) {
        size_t end = node + 1 < t->end[node] ? t->gpu_first[node + 1] : t->gpu_first[t->end[node]];
        if (t->gpu_first[node] == end) continue;
        uint32_t owner;
        RS_TRY(owner_of_call(f, (uint32_t)node, &owner, err));
        for (size_t i = t->gpu_first[node]; i < end; i++) {
            bool comm = rs_class_at(f->classes, t->gpu_row[i]) == RS_CLASS_COMM;
            f->pairs[f->n_pairs++] = (rs_keyed){(int64_t)owner * 2 + comm, t->gpu_row[i]};
        }
    }
    return RS_OK;
}

/* ---- what of it --------------------------------------------------------------------------------------- */

static bool says_tf32(const char *name)
{
    if (strstr(name, "s1688")) return true;
    for (; *name; name++)
        if ((name[0] | 32) == 't' && (name[1] | 32) == 'f' && name[2] == '3' && name[3] == '2') return true;
    return false;
}

/* CUDA's, XLA's and ROCm's names of copies over the link. */
static bool crosses_link(const char *name)
{
    return strstr(name, "HtoD") || strstr(name, "DtoH") || strstr(name, "H2D") || strstr(name, "D2H") ||
           strstr(name, "HostToDevice") || strstr(name, "DeviceToHost");
}

enum { ASKED = 1, SAYS_TF32 = 2, CROSSES_LINK = 4 };

static uint8_t said_by(const finder *f, uint32_t row)
{
    uint8_t *said = &f->said[f->e->name[row]];
    if (!*said) {
        const char *name = rs_event_name(f->e, row);
        *said = ASKED | (says_tf32(name) ? SAYS_TF32 : 0) | (crosses_link(name) ? CROSSES_LINK : 0);
    }
    return *said;
}

static void note_work(const finder *f, rs_owned *o, uint32_t row)
{
    bool copies = rs_event_kind(f->e, row) == RS_KIND_MEMCPY;
    if (copies && (said_by(f, row) & CROSSES_LINK)) o->host_link = true;
    if (o->answer == RS_NO_ANSWER || o->tf32) return;
    const rs_model *m = &rs_shapes_at(f->shapes, o->answer)->model;
    if (m->matrix > 0 && rs_dtype_precision(m->type) == RS_FP32) o->tf32 = (said_by(f, row) & SAYS_TF32) != 0;
}

/* The work of one owner, sorted by row, then by start: the sort is stable. */
static bool measure(const finder *f, rs_keyed *pairs, size_t n, rs_interval *scratch, rs_owners *out)
{
    const rs_events *e = f->e;
    rs_owned *o = &out->items[out->n++];
    uint32_t node = (uint32_t)(pairs[0].key / 2);
    *o = (rs_owned){.row = f->t->row[node],
                    .node = node,
                    .answer = f->answer[node],
                    .first_work = (uint32_t)out->n_work,
                    .n_work = (uint32_t)n,
                    .communication = pairs[0].key & 1};
    for (size_t i = 0; n > 1 && i < n; i++) pairs[i].key = pairs[i].value;
    if (n > 1 && !rs_keyed_sort(pairs, n)) return false;
    for (size_t i = 0; n > 1 && i < n; i++) pairs[i].key = e->start[pairs[i].value];
    if (n > 1 && !rs_keyed_sort(pairs, n)) return false;
    for (size_t i = 0; i < n; i++) {
        uint32_t row = pairs[i].value;
        int64_t start = e->start[row], length = e->duration[row] > 0 ? e->duration[row] : 0;
        scratch[i] = (rs_interval){start, rs_add_sat(start, length)};
        o->durations = rs_add_sat(o->durations, length);
        out->work_row[out->n_work++] = row;
        note_work(f, o, row);
    }
    o->time = n == 1 ? o->durations : rs_intervals_length(scratch, rs_intervals_unite(scratch, n));
    if (!o->communication) out->linked = rs_add_sat(out->linked, o->durations);
    return true;
}

/* Keys that are equal stand together: sorts each run of them by row, communication last. */
static bool order_ties(const rs_owners *o, rs_keyed *keys)
{
    bool ok = true;
    for (size_t i = 0, end; ok && i < o->n; i = end) {
        const int64_t start = keys[i].key;
        for (end = i + 1; end < o->n && keys[end].key == start; end++) {
        }
        if (end - i == 1) continue;
        for (size_t k = i; k < end; k++) {
            const rs_owned *item = &o->items[keys[k].value];
            keys[k].key = (int64_t)item->row * 2 + item->communication;
        }
        ok = rs_keyed_sort(keys + i, end - i);
    }
    return ok;
}

/* By the owner's start, then row; communication last. */
static bool in_time(const rs_events *e, rs_owners *o)
{
    rs_keyed *keys = rs_malloc((o->n + 1) * sizeof *keys);
    rs_owned *sorted = rs_malloc((o->n + 1) * sizeof *sorted);
    bool ok = keys && sorted;
    for (size_t i = 0; ok && i < o->n; i++) keys[i] = (rs_keyed){e->start[o->items[i].row], (uint32_t)i};
    ok = ok && rs_keyed_sort(keys, o->n) && order_ties(o, keys);
    for (size_t i = 0; ok && i < o->n; i++) sorted[i] = o->items[keys[i].value];
    rs_free(keys);
    if (!ok) {
        rs_free(sorted);
        return false;
    }
    rs_free(o->items);
    o->items = sorted;
    return true;
}

static bool gather(finder *f, rs_owners *out)
{
    size_t n = f->n_pairs, owners = 0;
    bool ok = true;
    rs_interval *scratch = rs_malloc((n + 1) * sizeof *scratch);
    ok = scratch && rs_keyed_sort(f->pairs, n);
    for (size_t i = 0; ok && i < n; i++) owners += i == 0 || f->pairs[i].key != f->pairs[i - 1].key;
    out->items = rs_malloc((owners + 1) * sizeof *out->items);
    out->work_row = rs_malloc((n + 1) * sizeof *out->work_row);
    ok = ok && out->items && out->work_row;
    for (size_t i = 0, end; ok && i < n; i = end) {
        for (end = i + 1; end < n && f->pairs[end].key == f->pairs[i].key; end++) {
        }
        ok = measure(f, f->pairs + i, end - i, scratch, out);
    }
    ok = ok && in_time(f->e, out);
    rs_free(scratch);
    return ok;
}

static rs_status count_unlinked(finder *f, rs_owners *out, rs_error *err)
{
    const rs_links *links;
    const uint32_t *rows;
    size_t n;
    rs_selector selector;
    RS_TRY(rs_trace_links(f->trace, &links, err));
    RS_TRY(rs_trace_gpu_rows(f->trace, &rows, &n, err));
    RS_TRY(rs_trace_selector(f->trace, &selector, err));
    for (size_t i = 0; i < n; i++) {
        if (links->launch_of[i] != RS_NO_ROW || !rs_selects_work(&selector, rows[i], RS_NO_ROW)) continue;
        int64_t length = f->e->duration[rows[i]];
        out->n_unlinked++;
        if (length > 0 && rs_class_at(f->classes, rows[i]) != RS_CLASS_COMM)
            out->unlinked = rs_add_sat(out->unlinked, length);
    }
    return RS_OK;
}

static rs_status find_owners(finder *f, rs_owners *out, rs_error *err)
{
    rs_tree *tree;
    RS_TRY(rs_trace_working_tree(f->trace, &tree, err));
    RS_TRY(rs_trace_classes(f->trace, RS_CLASSES_OWN, &f->classes, err));
    RS_TRY(rs_trace_shapes(f->trace, &f->shapes, err));
    f->t = tree;
    f->outer = rs_malloc((tree->n + 1) * sizeof *f->outer);
    f->answer = rs_malloc((tree->n + 1) * sizeof *f->answer);
    f->pairs = rs_malloc((tree->n_gpu + 1) * sizeof *f->pairs);
    f->said = rs_calloc(f->e->strings.n + 1, sizeof *f->said);
    if (!f->outer || !f->answer || !f->pairs || !f->said) return rs_fail_nomem(err, "owners of GPU work");
    RS_TRY(find_outermost(f, err));
    RS_TRY(pair_up(f, err));
    if (!gather(f, out)) return rs_fail_nomem(err, "owners of GPU work");
    return count_unlinked(f, out, err);
}

static rs_status make_owners(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    finder f = {.trace = trace, .e = trace->events};
    rs_owners *o = rs_calloc(1, sizeof *o);
    rs_status status = o ? find_owners(&f, o, err) : rs_fail_nomem(err, "owners of GPU work");
    rs_free(f.outer);
    rs_free(f.answer);
    rs_free(f.pairs);
    rs_free(f.said);
    if (status == RS_OK)
        *out = o;
    else
        free_owners(o);
    return status;
}

const rs_facet rs_facet_owners = {
    .name = "owners of GPU work",
    .needs = {&rs_facet_working_tree, &rs_facet_classes, &rs_facet_links, &rs_facet_shapes, &rs_facet_steps},
    .selected = true,
    .make = make_owners,
    .release = free_owners};

rs_status rs_trace_owners(rs_trace *trace, const rs_owners **out, rs_error *err)
{
    void *value;
    RS_TRY(rs_trace_facet(trace, &rs_facet_owners, NULL, &value, err));
    *out = value;
    return RS_OK;
}
