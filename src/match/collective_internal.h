/* What the files of match/ share and nobody else uses. */
#ifndef RS_MATCH_COLLECTIVE_INTERNAL_H
#define RS_MATCH_COLLECTIVE_INTERNAL_H

#include "match/collective_ops.h"

/* A rank without ops. */
rs_status rs_coll_rank_create(rs_trace *trace, rs_coll_rank **out, rs_error *err);
/* What the host ran: rs_coll_rank_any. */
rs_status rs_coll_rank_of_host(rs_trace *trace, rs_coll_rank **out, rs_error *err);

/* What an event's arguments say of its communication; kind and stream stay. *ok becomes false when out of memory. */
void rs_coll_shape_read(rs_coll_shape *shape, const rs_events *e, uint32_t args, rs_pool *pool, bool *ok);

/* What a kind is run as on the host: gloo has no reduce-scatter of its own and runs an all-reduce. */
static inline rs_coll_kind rs_coll_kind_on_host(rs_coll_kind kind)
{
    return kind == RS_COLL_REDUCE_SCATTER ? RS_COLL_ALL_REDUCE : kind;
}

/* An op on its way to its instance. */
typedef struct rs_coll_item {
    int64_t number;
    uint32_t rank, op;
} rs_coll_item;

/* Numbers a channel's items (by rank, then start): equal numbers belong together, and the least is 1. By the
 * order alone, see collective_order.c. false when out of memory. */
bool rs_coll_number_by_order(const rs_coll_job *job, rs_coll_item *items, size_t n);
/* The same for sends and receives of which the far end is not recorded: two that end together are one. The clocks must be
 * right. */
bool rs_coll_number_by_end(const rs_coll_job *job, rs_coll_item *items, size_t n);
/* The same of hosts, by places of the program: collective_places.c. */
bool rs_coll_number_by_places(const rs_coll_job *job, rs_coll_item *items, size_t n);

/* Items [first, end) of a channel. */
typedef struct rs_coll_range {
    size_t first, end;
} rs_coll_range;

/* Channels (items by rank, then start) whose collectives may be of several groups that no trace names: who calls together
 * shows in ends, see collective_teams.c. Orders the items of each channel by team and adds a range for each team to *out, which the caller
 * releases with rs_free. false when out of memory. */
bool rs_coll_find_teams(const rs_coll_job *job, rs_coll_item *items, const rs_coll_range *channels, size_t n,
                        rs_coll_range **out, size_t *n_out);

static inline const rs_coll_op *rs_coll_item_op(const rs_coll_job *job, const rs_coll_item *i)
{
    return &job->ranks[i->rank]->ops[i->op];
}
static inline const rs_coll_shape *rs_coll_item_shape(const rs_coll_job *job, const rs_coll_item *i)
{
    return rs_coll_shape_of(job->ranks[i->rank], rs_coll_item_op(job, i));
}
/* Of one kind and size. */
static inline bool rs_coll_same_signature(const rs_coll_job *job, const rs_coll_item *a,
                                          const rs_coll_item *b)
{
    const rs_coll_shape *x = rs_coll_item_shape(job, a), *y = rs_coll_item_shape(job, b);
    return x->kind == y->kind && x->in_elements == y->in_elements && x->out_elements == y->out_elements;
}

#endif
