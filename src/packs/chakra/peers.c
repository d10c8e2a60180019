/* Who sends to whom, and under which tag. */
#include <string.h>

#include "chakra/convert_comm.h"

enum { SEND = 5, RECEIVE = 6 };

/* ---- peers ------------------------------------------------------------------------------------------ */

/* The place that the record names as its peer: the whole number right before the operation's name. */
static bool peer_of_record(const rs_linked *linked, const rs_linked_node *record, int64_t *peer)
{
    rs_linked_body body = rs_linked_body_of(linked, record);
    rs_slice_walk values = rs_slice_elements(body.inputs.values),
                  types = rs_slice_elements(body.inputs.types);
    rs_slice value, type;
    bool number = false;
    while (rs_slice_next(&values, &value) && rs_slice_next(&types, &type)) {
        if (type.n == 8 && memcmp(type.bytes, "\"String\"", 8) == 0) return number;
        number = type.n == 5 && memcmp(type.bytes, "\"Int\"", 5) == 0 && rs_slice_int(value, peer);
    }
    return false;
}

/* The place that the operator on the host names: c10d::send(tensors, group, dst, tag). */
static bool peer_of_operator(const rs_linked *linked, const rs_linked_node *call, int64_t *peer)
{
    rs_linked_body body = rs_linked_body_of(linked, call);
    rs_slice_walk values = rs_slice_elements(body.inputs.values);
    rs_slice value;
    for (int i = 0; i < 3; i++)
        if (!rs_slice_next(&values, &value)) return false;
    return rs_slice_int(value, peer);
}

/* The other one in a group of two. */
static bool peer_of_two(const rs_group *group, int64_t own, int64_t *peer)
{
    if (!group || group->n_ranks != 2) return false;
    int64_t a = rs_group_rank(group, 0), b = rs_group_rank(group, 1);
    if (own != a && own != b) return false;
    *peer = own == a ? b : a;
    return a != b;
}

static bool is_rank(int64_t rank)
{
    return rank >= 0 && rank <= INT32_MAX;
}

static bool find_peers(const rs_linked *linked, const rs_groups *groups, const rs_linked_node *n,
                       rs_comm *comm)
{
    int64_t src, dst, peer, own = linked->rank;
    rs_slice args = rs_linked_more_of(linked, n)->args;
    bool has_src = rs_slice_int(rs_slice_member(args, "Src Rank"), &src) && is_rank(src);
    bool has_dst = rs_slice_int(rs_slice_member(args, "Dst Rank"), &dst) && is_rank(dst);
    if (!has_src || !has_dst) {
        const rs_group *group = rs_groups_find(groups, comm->group);
        const rs_linked_node *record = rs_comm_record(linked, n);
        const rs_linked_node *call = n->gpu ? NULL : rs_comm_host_operator(linked, n);
        bool found = comm->node_type == SEND ? has_dst : has_src;
        if (!n->gpu) {
            found = call && peer_of_operator(linked, call, &peer);
            if (found && group) peer = rs_group_rank(group, peer);
            found = found && is_rank(peer) && peer != own;
        } else if (found) {
            peer = has_dst ? dst : src;
        } else if (!(found = peer_of_two(group, own, &peer)) && record &&
                   peer_of_record(linked, record, &peer)) {
            /* the record counts within its group */
            if (group)
                peer = rs_group_rank(group, peer);
            else if (comm->group && strcmp(comm->group, "0") != 0)
                peer = -1;
            found = is_rank(peer) && peer != own;
        }
        if (!found || !is_rank(own)) return false;
        src = comm->node_type == SEND ? own : peer;
        dst = comm->node_type == SEND ? peer : own;
    }
    comm->src = (int32_t)src;
    comm->dst = (int32_t)dst;
    return true;
}

/* ---- tags ------------------------------------------------------------------------------------------- */

typedef struct message {
    int64_t ts, launch, position;
    rs_comm *comm;
} message;

#define COMPARE(a, b)                                                                                        \
    if ((a) != (b)) return (a) < (b) ? -1 : 1

/* By what is sent from whom to whom, then in the order of streams. */
static int in_order(const void *a, const void *b)
{
    const message *x = a, *y = b;
    COMPARE(x->comm->node_type, y->comm->node_type);
    COMPARE(x->comm->src, y->comm->src);
    COMPARE(x->comm->dst, y->comm->dst);
    COMPARE(x->ts, y->ts);
    COMPARE(x->launch, y->launch);
    COMPARE(x->position, y->position);
    return 0;
}

static bool same_way(const rs_comm *a, const rs_comm *b)
{
    return a->node_type == b->node_type && a->src == b->src && a->dst == b->dst;
}

/* Sends and receives between the same two come in the same order on both sides, so that counting them there
 * and here gives the same numbers. */
static void number_messages(message *messages, size_t n)
{
    if (n) qsort(messages, n, sizeof *messages, in_order);
    for (size_t i = 1; i < n; i++)
        if (same_way(messages[i - 1].comm, messages[i].comm) && messages[i - 1].comm->tag < INT32_MAX)
            messages[i].comm->tag = messages[i - 1].comm->tag + 1;
}

rs_status rs_comms_find_peers(const rs_linked *linked, const rs_groups *groups, rs_comms *comms,
                              rs_problems *problems, rs_error *err)
{
    RS_LOCAL message *messages = rs_malloc((comms->n + 1) * sizeof *messages);
    size_t n = 0;
    bool guessed = false;
    if (!messages) return rs_fail_nomem(err, "sends and receives");
    for (size_t i = 0; i < comms->n; i++) {
        rs_comm *comm = &comms->items[i];
        const rs_linked_node *node = &linked->nodes[comms->node[i]];
        const rs_linked_gpu *work = node->gpu ? rs_linked_gpu_of(linked, node) : NULL;
        if (comm->node_type != SEND && comm->node_type != RECEIVE) continue;
        comm->has_peers = find_peers(linked, groups, node, comm);
        guessed |= comm->has_peers && !linked->has_rank &&
                   !rs_slice_member(rs_linked_more_of(linked, node)->args, "Src Rank").bytes;
        if (comm->has_peers)
            messages[n++] = (message){node->ts, work && work->has_launch ? work->launch : INT64_MIN,
                                      work ? work->position : 0, comm};
        else
            rs_problems_add(
                problems, linked->file, -1, RS_NOTE, "unknown_peer",
                "nothing says whom these send to or receive from; they have no comm_src, comm_dst "
                "and comm_tag",
                rs_linked_offset(linked, node->name.bytes));
    }
    if (guessed)
        rs_problems_add(
            problems, linked->file, -1, RS_NOTE, "unknown_rank",
            "neither the trace nor its name gives its rank: sends and receives are those of rank 0; "
            "--rank says another",
            RS_NO_OFFSET);
    number_messages(messages, n);
    return RS_OK;
}
