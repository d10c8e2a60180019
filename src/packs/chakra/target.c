/* What a simulator takes of the communication of a trace. */
#include <string.h>

#include "chakra/convert_comm.h"
#include "et_def.pb-c.h"

enum { SEND = 5, RECEIVE = 6, COLLECTIVE = 7 };

/* ---- kinds ------------------------------------------------------------------------------------------ */

/* ASTRA-sim knows all_reduce, all_gather, broadcast, all_to_all and reduce_scatter. Others become what moves
 * as much in the same direction. */
static int astra_type(int type)
{
    switch (type) {
    case RS__ET__COLLECTIVE_TYPE__BARRIER:
    case RS__ET__COLLECTIVE_TYPE__REDUCE: return RS__ET__COLLECTIVE_TYPE__ALL_REDUCE;
    case RS__ET__COLLECTIVE_TYPE__GATHER: return RS__ET__COLLECTIVE_TYPE__ALL_GATHER;
    case RS__ET__COLLECTIVE_TYPE__SCATTER: return RS__ET__COLLECTIVE_TYPE__BROADCAST;
    case RS__ET__COLLECTIVE_TYPE__REDUCE_SCATTER_BLOCK: return RS__ET__COLLECTIVE_TYPE__REDUCE_SCATTER;
    default: return type;
    }
}

/* It divides by the size. */
#define LEAST_BYTES 4

void rs_comm_for_target(rs_chakra_target target, rs_comm *comm)
{
    comm->recorded = -1;
    if (target != RS_CHAKRA_TARGET_ASTRA_SIM || !comm->node_type) return;
    if (comm->has_size && comm->size < 1) comm->size = LEAST_BYTES;
    if (comm->node_type == COLLECTIVE) {
        int type = astra_type(comm->comm_type);
        if (type != comm->comm_type) comm->recorded = comm->comm_type;
        comm->comm_type = type;
    }
    bool known = comm->node_type == COLLECTIVE ? comm->comm_type >= 0 : comm->has_peers;
    if (!known || !comm->has_size) comm->node_type = 0;
}

/* ---- all of a trace --------------------------------------------------------------------------------- */

static bool keep(rs_comms *comms, uint32_t node, const rs_comm *comm)
{
    if (!RS_GROW_ONE(comms->items, comms->n, comms->capacity) ||
        !RS_GROW_ONE(comms->node, comms->n, comms->node_capacity))
        return false;
    uint32_t name = 0;
    if (comm->group) name = rs_strings_add(&comms->groups, comm->group, strlen(comm->group));
    if (name == RS_NO_STRING) return false;
    comms->items[comms->n] = *comm;
    comms->items[comms->n].group = name ? comms->groups.items[name].text : NULL;
    comms->node[comms->n++] = node;
    return true;
}

static void tell(rs_problems *problems, const rs_linked *linked, const rs_linked_node *n,
                 rs_severity severity, const char *kind, const char *message)
{
    rs_problems_add(problems, linked->file, -1, severity, kind, message,
                    rs_linked_offset(linked, n->name.bytes));
}

static void tell_unknown(rs_problems *problems, const rs_linked *linked, const rs_linked_node *n,
                         const rs_comm *comm)
{
    if (comm->comm_type < 0 && comm->node_type == COLLECTIVE)
        tell(problems, linked, n, RS_WARNING, "unknown_collective",
             "nothing says which collective these kernels are; they have no comm_type");
    if (!comm->has_size)
        tell(problems, linked, n, RS_WARNING, "unknown_size",
             "nothing says how much these collectives send; they have no comm_size");
}

/* The group as the target names it. A group that nobody declares is all ranks to a simulator. */
static void take_group(const rs_linked *linked, const rs_linked_node *n, const rs_groups *groups,
                       rs_chakra_target target, rs_comm *comm, rs_problems *problems)
{
    const rs_group *group = rs_groups_find(groups, comm->group);
    if (!comm->group || target != RS_CHAKRA_TARGET_ASTRA_SIM) return;
    if (group) {
        comm->group = group->as;
    } else if (strcmp(comm->group, "0") != 0) {
        if (comm->node_type == COLLECTIVE)
            tell(problems, linked, n, RS_NOTE, "unknown_group",
                 "nothing gives the ranks of these collectives' groups; pg_name is left out, which means all "
                 "ranks");
        comm->group = NULL;
    }
}

static void suit_target(const rs_linked *linked, const rs_groups *groups, rs_chakra_target target,
                        rs_comms *comms, rs_problems *problems)
{
    for (size_t i = 0; i < comms->n; i++) {
        rs_comm *comm = &comms->items[i];
        const rs_linked_node *n = &linked->nodes[comms->node[i]];
        int type = comm->node_type;
        take_group(linked, n, groups, target, comm, problems);
        rs_comm_for_target(target, comm);
        if (comm->recorded >= 0)
            tell(problems, linked, n, RS_NOTE, "mapped_collective",
                 "collectives that the target does not know became the nearest that it knows; "
                 "comm_type_recorded keeps them");
        if (comm->node_type != type)
            tell(problems, linked, n, RS_NOTE, "replayed_by_time",
                 "communication without a kind, a size or a peer is replayed by its duration: COMP_NODE");
    }
}

/* The same kernels come repeatedly: what was asked of the last names that were no communication. */
#define NAMES_KEPT 256

static rs_slice *place_of(rs_slice *names, rs_slice name)
{
    uint64_t first = 0, last = 0;
    size_t n = name.n < sizeof first ? name.n : sizeof first;
    memcpy(&first, name.bytes, n);
    memcpy(&last, name.bytes + name.n - n, n);
    uint64_t mixed = (first ^ last * UINT64_C(0x9e3779b97f4a7c15) ^ name.n) * UINT64_C(0xff51afd7ed558ccd);
    return &names[mixed >> 56];
}

static bool same_name(rs_slice a, rs_slice b)
{
    return a.n == b.n && a.bytes && (a.bytes == b.bytes || memcmp(a.bytes, b.bytes, a.n) == 0);
}

/* A simulator has no communication on a CPU: there it is replayed by its duration. */
static bool add_host(const rs_linked *linked, const rs_groups *groups, rs_chakra_target target,
                     rs_comms *comms, uint32_t at, rs_arena *scratch, rs_problems *problems)
{
    const rs_linked_node *n = &linked->nodes[at];
    rs_comm comm;
    if (target == RS_CHAKRA_TARGET_ASTRA_SIM) {
        tell(problems, linked, n, RS_NOTE, "host_communication",
             "communication on the host (gloo, mpi, ucc) is replayed by its duration: COMP_NODE");
        return true;
    }
    if (!rs_comm_of_host(linked, n, groups, scratch, &comm)) return false;
    if (groups->n > 1)
        tell(
            problems, linked, n, RS_NOTE, "host_group",
            "the job has several process groups, and nothing says which one this communication on the host (gloo, mpi, "
            "ucc) is of: COMP_NODE");
    if (!comm.node_type) return true;
    if (!groups->n)
        tell(
            problems, linked, n, RS_NOTE, "unknown_group",
            "nothing gives the ranks of these collectives' groups; pg_name is left out, which means all ranks");
    tell_unknown(problems, linked, n, &comm);
    return keep(comms, at, &comm);
}

rs_status rs_comms_find(const rs_linked *linked, const rs_groups *groups, rs_chakra_target target,
                        rs_comms *comms, rs_problems *problems, rs_error *err)
{
    rs_arena scratch = {0};
    rs_slice others[NAMES_KEPT] = {{NULL, 0}}; /* names of kernels that are no communication */
    *comms = (rs_comms){0};
    bool ok = rs_strings_init(&comms->groups);
    if (!ok) return rs_fail_nomem(err, "communication");
    for (size_t i = 0; ok && i < linked->n_nodes; i++) {
        rs_comm comm;
        if (rs_comm_is_of_host(linked, &linked->nodes[i])) {
            rs_arena_reset(&scratch);
            ok = add_host(linked, groups, target, comms, (uint32_t)i, &scratch, problems);
        }
        if (!linked->nodes[i].gpu) continue;
        rs_slice name = linked->nodes[i].name, *known = place_of(others, name);
        if (same_name(*known, name)) continue;
        rs_arena_reset(&scratch);
        ok = rs_comm_of(linked, &linked->nodes[i], &scratch, &comm);
        if (ok && !comm.node_type) *known = name;
        if (!ok || !comm.node_type) continue;
        tell_unknown(problems, linked, &linked->nodes[i], &comm);
        ok = keep(comms, (uint32_t)i, &comm);
    }
    rs_arena_clear(&scratch);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "communication");
    if (status == RS_OK) status = rs_comms_find_peers(linked, groups, comms, problems, err);
    if (status == RS_OK)
        suit_target(linked, groups, target, comms, problems);
    else
        rs_comms_clear(comms);
    return status;
}

void rs_comms_clear(rs_comms *comms)
{
    rs_free_all(comms->items, comms->node);
    rs_strings_clear(&comms->groups);
    *comms = (rs_comms){0};
}
