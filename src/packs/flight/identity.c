/* The communicator of all ranks numbers them as the job does, and names their processes; processes are the same in the others. A
 * communicator of which the recorder has one group of the same size numbers its ranks as that group lists them. */
#include "flight/identity.h"

static uint64_t key_of(const rs_fl_identity *x)
{
    if (x->pid < 0)
        return rs_hash_u64(rs_hash_u64(x->comm) + (uint64_t)x->rank + 1); /* of this communicator only */
    return rs_hash_u64(rs_hash_u64((uint64_t)x->pid) + rs_hash_u64((uint64_t)x->gpu << 32 | x->host));
}

static bool number_processes(rs_fl_identity *list, size_t n, size_t *n_processes)
{
    RS_SCOPED(rs_map64_clear) rs_map64 known = {0};
    *n_processes = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_new;
        uint32_t *place = rs_map64_put(&known, key_of(&list[i]), &is_new);
        if (!place) return false;
        if (is_new) *place = (uint32_t)(*n_processes)++;
        list[i].process = *place;
    }
    return true;
}

/* The recorder's only group of a size; NULL: there are several, or none. */
static const rs_fl_group *only_group(const rs_flight *flight, int64_t size)
{
    const rs_fl_group *only = NULL;
    for (size_t g = 0; g < flight->n_groups; g++) {
        if ((int64_t)flight->groups[g].n != size || !flight->groups[g].described) continue;
        if (only) return NULL;
        only = &flight->groups[g];
    }
    return only;
}

bool rs_fl_identify(const rs_flight *flight, rs_fl_identity *list, size_t n, size_t *n_processes)
{
    int64_t world = rs_fl_world_of(flight), largest = 0, size = -1;
    const rs_fl_group *group = NULL;
    if (!number_processes(list, n, n_processes)) return false;
    RS_LOCAL int64_t *global = rs_malloc((*n_processes + 1) * sizeof *global);
    if (!global) return false;
    for (size_t i = 0; i < *n_processes; i++) global[i] = -1;
    for (size_t i = 0; i < n; i++)
        if (list[i].size > largest) largest = list[i].size;
    if (world <= 0) world = largest;
    for (size_t i = 0; i < n; i++)
        if (list[i].size == world && list[i].rank < world) global[list[i].process] = list[i].rank;
    for (size_t i = 0; i < n; i++) {
        const rs_fl_identity *x = &list[i];
        if (global[x->process] >= 0) continue;
        if (x->size != size) group = only_group(flight, size = x->size);
        if (group && x->rank >= 0 && x->rank < x->size)
            global[x->process] = group->ranks[x->rank];
        else if (x->pid >= 0)
            global[x->process] = rs_fl_rank_of_process(flight, x->host, x->pid);
    }
    for (size_t i = 0; i < n; i++) list[i].global = global[list[i].process];
    return true;
}
