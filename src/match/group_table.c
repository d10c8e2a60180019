#include "match/group_table.h"

#include <string.h>

#include "base/interval.h"
#include "base/order.h"
#include "base/search.h"
#include "match/collective_internal.h"

/* Recorder and profiler read different clocks of one machine, and the recorder notes an operation while its
 * operator runs: an entry may seem this much earlier than the operator's start, ns. */
#define EARLIEST INT64_C(1000000)
/* How many entries around an operation's start are looked at, each way. */
#define NEAREST 64

void rs_group_table_clear(rs_group_table *table)
{
    rs_free(table->entries);
    if (table->release) table->release(table->owner);
    *table = (rs_group_table){0};
}

static const rs_order by_rank_and_time[] = {
    RS_RISING(rs_group_entry, rank), RS_RISING(rs_group_entry, created), RS_RISING(rs_group_entry, seq)};

void rs_group_table_sort(rs_group_table *table)
{
    RS_SORT(table->entries, table->n, by_rank_and_time);
}

/* The first entry that is not before (rank, time). */
static size_t entry_at(const rs_group_table *t, int64_t rank, int64_t time)
{
    size_t low;
    RS_SEARCH(low, t->n,
              t->entries[low].rank < rank ||
                  (t->entries[low].rank == rank && t->entries[low].created < time));
    return low;
}

/* The entry that an operation was submitted with: the nearest to its start of those of its kind that no other
 * operation has taken. NULL if there is none. */
static rs_group_entry *entry_of(rs_group_table *t, int64_t rank, const rs_coll_op *op, rs_coll_kind kind,
                                int64_t base)
{
    int64_t start = rs_add_sat(op->start, base), end = rs_add_sat(op->end, base), least = INT64_MAX;
    size_t from = entry_at(t, rank, start), first = from > NEAREST ? from - NEAREST : 0;
    rs_group_entry *found = NULL;
    for (size_t i = first; i < t->n && i < from + NEAREST; i++) {
        rs_group_entry *e = &t->entries[i];
        int64_t after = rs_sub_sat(e->created, start), distance = after < 0 ? -after : after;
        if (e->rank != rank || e->taken || rs_coll_kind_on_host(e->kind) != rs_coll_kind_on_host(kind))
            continue;
        if (after < -EARLIEST || e->created > end || distance >= least) continue;
        least = distance;
        found = e;
    }
    return found;
}

static uint32_t add_text(rs_coll_rank *r, const char *text, bool *ok)
{
    if (!text) return RS_NO_STRING;
    uint32_t id = rs_strings_add(&r->pool.strings, text, strlen(text));
    if (id == RS_NO_STRING) *ok = false;
    return id;
}

static rs_coll_rank *copy_of(const rs_coll_rank *in)
{
    rs_coll_rank *r = rs_malloc(sizeof *r);
    if (!r) return NULL;
    *r = *in;
    r->ops = rs_malloc((in->n + 1) * sizeof *r->ops);
    r->shapes = rs_malloc((in->n_shapes + 1) * sizeof *r->shapes);
    r->spans = in->n_spans ? rs_malloc(in->n_spans * sizeof *r->spans) : NULL;
    r->lately = NULL;
    bool ok = rs_pool_init(&r->pool) && r->ops && r->shapes && (r->spans || !in->n_spans);
    if (ok && in->n) memcpy(r->ops, in->ops, in->n * sizeof *r->ops);
    if (ok && in->n_shapes) memcpy(r->shapes, in->shapes, in->n_shapes * sizeof *r->shapes);
    if (ok && in->n_spans) memcpy(r->spans, in->spans, in->n_spans * sizeof *r->spans);
    r->capacity = in->n + 1;
    r->shapes_capacity = in->n_shapes + 1;
    r->spans_capacity = in->n_spans;
    /* ids count up in the order of first appearance: they are those of the original */
    for (size_t i = 0; ok && i < in->pool.strings.n; i++)
        ok = rs_strings_add(&r->pool.strings, in->pool.strings.items[i].text,
                            in->pool.strings.items[i].length) == i;
    if (ok) return r;
    rs_coll_rank_free(r);
    return NULL;
}

rs_status rs_coll_rank_name(const rs_coll_rank *in, int64_t rank, rs_group_table *table, rs_coll_rank **out,
                            size_t *n_named, rs_error *err)
{
    rs_coll_rank *r = copy_of(in);
    bool ok = r != NULL;
    for (size_t i = 0; ok && i < r->n; i++) {
        rs_coll_op *op = &r->ops[i];
        rs_coll_shape shape = *rs_coll_shape_of(r, op);
        rs_group_entry *e =
            shape.kind == RS_COLL_SEND_RECV ? NULL : entry_of(table, rank, op, shape.kind, r->base_time_ns);
        if (!e) continue;
        e->taken = true;
        ++*n_named;
        r->n_nameless -= shape.group == RS_NO_STRING && shape.members == RS_NO_STRING;
        op->seq = e->seq;
        shape.group_size = e->group_size;
        shape.group = add_text(r, e->group, &ok);
        shape.description = add_text(r, e->description, &ok);
        shape.members = add_text(r, e->members, &ok);
        if (shape.dtype == RS_NO_STRING) shape.dtype = add_text(r, e->dtype, &ok);
        if (shape.in_elements < 0) shape.in_elements = e->in_elements;
        if (shape.out_elements < 0) shape.out_elements = e->out_elements;
        op->shape = rs_coll_rank_shape(r, &shape);
        ok = ok && op->shape != UINT32_MAX;
    }
    if (!ok) {
        rs_coll_rank_free(r);
        return rs_fail_nomem(err, "collectives");
    }
    *out = r;
    return RS_OK;
}
