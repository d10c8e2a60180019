#include <stdio.h>
#include <string.h>

#include "analysis/stragglers.h"
#include "peer/stragglers_hta.h"
#include "base/ascii.h"
#include "base/interval.h"

void rs_arrivals_free(void *partial)
{
    rs_arrivals *a = partial;
    if (!a) return;
    rs_hta_arrivals_free(a->hta);
    rs_strings_clear(&a->names);
    rs_free(a->items);
    rs_free(a);
}

/* ---- names ------------------------------------------------------------------------------------------ */

static bool contains(const char *text, size_t length, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= length; i++) {
        size_t k = 0;
        while (k < n && rs_lower(text[i + k]) == word[k]) k++;
        if (k == n) return true;
    }
    return false;
}

/* Kernels of one-sided libraries: ranks do not meet in them. */
static bool is_one_sided(const rs_string *name)
{
    return contains(name->text, name->length, "shmem") || contains(name->text, name->length, "deep_ep") ||
           contains(name->text, name->length, "deepep");
}

/* "AllReduce" of "ncclDevKernel_AllReduce_Sum_bf16_RING(...)", else the name before its arguments. */
static void op_of_kernel(const rs_string *name, const char **text, size_t *length)
{
    const char *p = name->text, *end = p + name->length, *kernel = NULL;
    for (const char *q = p; q + 7 <= end; q++)
        if (memcmp(q, "Kernel_", 7) == 0) {
            kernel = q + 7;
            break;
        }
    if (kernel) p = kernel;
    const char *q = p;
    while (q < end && *q != '(' && *q != '<' && !(kernel && *q == '_')) q++;
    *text = p;
    *length = (size_t)(q - p);
}

/* Root-bound operations end on some members before others. */
static bool is_symmetric(const char *op, size_t length)
{
    static const char *const all[] = {"allreduce",  "all_reduce",    "allgather",
                                      "all_gather", "reducescatter", "reduce_scatter",
                                      "alltoall",   "all_to_all",    "barrier"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (contains(op, length, all[i])) return true;
    return false;
}

static bool is_text(const rs_string *s, const char *word)
{
    return s->length == strlen(word) && memcmp(s->text, word, s->length) == 0;
}

/* ---- one rank --------------------------------------------------------------------------------------- */

typedef struct reader {
    const rs_events *e;
    rs_cursor group, desc, ranks, collective, seq, size;
} reader;

static const rs_string *text_at(const rs_events *e, rs_cursor *c, uint32_t row)
{
    return rs_cursor_seek(c, row) ? &e->strings.items[c->column->texts[c->at]] : NULL;
}

/* Appends length-led parts, so that no two keys can be confused. */
static uint32_t add_key(rs_strings *names, const char *kind, const rs_string *a, const rs_string *b)
{
    size_t n = (a ? a->length : 0) + (b ? b->length : 0) + strlen(kind) + 48;
    char *key = rs_malloc(n);
    if (!key) return RS_NO_STRING;
    size_t used = (size_t)snprintf(key, n, "%s:%zu:", kind, a ? (size_t)a->length : 0);
    if (a) memcpy(key + used, a->text, a->length);
    used += a ? a->length : 0;
    if (b) memcpy(key + used, b->text, b->length);
    used += b ? b->length : 0;
    uint32_t id = rs_strings_add(names, key, used);
    rs_free(key);
    return id;
}

static bool name_group(rs_arrivals *a, rs_arrival *x, const rs_string *group, const rs_string *ranks,
                       const rs_string *desc, const rs_string *op, int64_t stream)
{
    char label[40];
    bool named = group || ranks;
    const char *kind = named ? x->seq == RS_NO_SEQ ? "group" : "group with seq" : "stream";
    int n = snprintf(label, sizeof label, "stream %lld", (long long)stream);
    rs_string on_stream = {.text = label, .length = (uint32_t)n};
    x->group = named ? add_key(&a->names, kind, group, ranks) : add_key(&a->names, kind, &on_stream, op);
    const rs_string *shown = group && group->length ? group : named ? ranks : &on_stream;
    x->label = shown ? rs_strings_add(&a->names, shown->text, shown->length) : 0;
    x->desc = desc ? rs_strings_add(&a->names, desc->text, desc->length) : 0;
    return x->group != RS_NO_STRING && x->label != RS_NO_STRING && x->desc != RS_NO_STRING;
}

/* *taken: whether the work is a collective that ranks can be late at. false when out of memory. */
static bool read_arrival(reader *r, const rs_work *w, size_t i, rs_arrivals *a, rs_arrival *x, bool *taken)
{
    const rs_events *e = r->e;
    uint32_t row = w->row[i];
    const rs_string *kernel = &e->strings.items[e->name[row]], *op = text_at(e, &r->collective, row);
    const rs_string *group = text_at(e, &r->group, row), *ranks = text_at(e, &r->ranks, row),
                    *desc = text_at(e, &r->desc, row);
    rs_string from_kernel = {0};
    *taken = false;
    *x = (rs_arrival){.row = row,
                      .start = w->start[i],
                      .end = w->end[i],
                      .step = w->step[i],
                      .seq = rs_cursor_int(&r->seq, row, RS_NO_SEQ)};
    if (op && (is_text(op, "send") || is_text(op, "recv"))) {
        a->n_p2p++;
        return true;
    }
    if (!op && is_one_sided(kernel)) return true;
    x->pair_only = !op && contains(kernel->text, kernel->length, "sendrecv");
    if (!op) {
        size_t length;
        op_of_kernel(kernel, &from_kernel.text, &length);
        from_kernel.length = (uint32_t)length;
        op = &from_kernel;
    }
    int64_t size = rs_cursor_int(&r->size, row, 0);
    x->size = size > 0 && size < INT32_MAX ? (int32_t)size : 0;
    x->symmetric = is_symmetric(op->text, op->length) || x->pair_only;
    x->op = rs_strings_add(&a->names, op->text, op->length);
    *taken = true;
    return x->op != RS_NO_STRING && name_group(a, x, group, ranks, desc, op, w->stream[i]);
}

/* Orders by start, then numbers what shares its group and seq, or its group and step. */
static bool order_arrivals(rs_arrivals *a)
{
    size_t n = a->n;
    rs_keyed *order = rs_malloc((n + 1) * sizeof *order);
    rs_arrival *sorted = rs_malloc((n + 1) * sizeof *sorted);
    bool ok = order && sorted && n < UINT32_MAX;
    for (size_t i = 0; ok && i < n; i++) order[i] = (rs_keyed){a->items[i].start, (uint32_t)i};
    ok = ok && rs_keyed_sort(order, n);
    for (size_t i = 0; ok && i < n; i++) sorted[i] = a->items[order[i].value];
    if (ok && n) memcpy(a->items, sorted, n * sizeof *sorted);
#define PLACE(x) ((x)->seq == RS_NO_SEQ ? (x)->step : (x)->seq)
    for (size_t i = 0; ok && i < n; i++) order[i] = (rs_keyed){PLACE(&a->items[i]), (uint32_t)i};
    ok = ok && rs_keyed_sort(order, n);
    for (size_t i = 0; ok && i < n; i++) order[i].key = a->items[order[i].value].group;
    ok = ok && rs_keyed_sort(order, n);
    for (size_t i = 1; ok && i < n; i++) {
        const rs_arrival *before = &a->items[order[i - 1].value];
        rs_arrival *x = &a->items[order[i].value];
        if (before->group == x->group && PLACE(before) == PLACE(x)) x->index = before->index + 1;
    }
#undef PLACE
    rs_free(order);
    rs_free(sorted);
    return ok;
}

static bool collect(const rs_trace *t, const rs_work *w, rs_arrivals *a)
{
    const rs_events *e = t->events;
    reader r = {.e = e,
                .group = rs_cursor_of(e, RS_COL_GROUP_NAME),
                .desc = rs_cursor_of(e, RS_COL_GROUP_DESC),
                .ranks = rs_cursor_of(e, RS_COL_GROUP_RANKS),
                .collective = rs_cursor_of(e, RS_COL_COLLECTIVE),
                .seq = rs_cursor_of(e, RS_COL_SEQ),
                .size = rs_cursor_of(e, RS_COL_GROUP_SIZE)};
    for (size_t i = 0; i < w->n; i++) {
        if (w->class[i] != RS_CLASS_COMM) continue;
        rs_arrival x;
        bool taken;
        if (!read_arrival(&r, w, i, a, &x, &taken)) return false;
        if (!taken) continue;
        if (!RS_GROW_ONE(a->items, a->n, a->capacity)) return false;
        a->items[a->n++] = x;
    }
    return order_arrivals(a);
}

rs_status rs_arrivals_rank(const rs_run *run, rs_trace *t, void **partial, rs_error *err)
{
    const rs_work *work;
    int64_t last;
    rs_arrivals *a = rs_calloc(1, sizeof *a);
    if (!a) return rs_fail_nomem(err, "collectives");
    *partial = a;
    if (run->policy->rows_by_stream) return rs_hta_arrivals_of(run, t, &a->hta, err);
    if (!rs_strings_init(&a->names)) return rs_fail_nomem(err, "collectives");
    a->base_ns = t->events->info.base_time_ns;
    rs_status status = rs_trace_span(t, &a->first_ns, &last, err);
    if (status == RS_OK) status = rs_trace_work_details(t, run->policy, &work, err);
    if (status == RS_OK && !collect(t, work, a)) status = rs_fail_nomem(err, "collectives");
    return status;
}
