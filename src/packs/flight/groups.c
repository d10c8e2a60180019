/* Flight-recorder dumps as what names the process groups of a trace's collectives. */
#include <stdio.h>
#include <string.h>

#include "base/problems.h"
#include "flight/model.h"
#include "match/group_table.h"

/* "[0, 1, 2, 3]", as traces write it. NULL when out of memory. */
static const char *members_of(rs_flight *flight, const rs_fl_group *group)
{
    char *text = rs_arena_alloc(&flight->arena, group->n * 22 + 3), *at = text;
    if (!text) return NULL;
    *at++ = '[';
    for (size_t i = 0; i < group->n; i++)
        at += snprintf(at, 23, "%s%lld", i ? ", " : "", (long long)group->ranks[i]);
    memcpy(at, "]", 2);
    return text;
}

static bool add_group(rs_flight *flight, const rs_fl_rank *rank, const rs_fl_member *member,
                      rs_group_table *out)
{
    const rs_fl_group *group = &flight->groups[member->group];
    const char *members = member->n ? members_of(flight, group) : "";
    if (!members) return false;
    for (uint32_t i = member->begin; i < member->begin + member->n; i++) {
        const rs_fl_entry *e = &rank->entries[rank->order[i]];
        const rs_fl_call *call = rs_fl_call_of(flight, e);
        if (e->marker || e->created == 0 || e->seq < 0) continue;
        if (!RS_PUSH(out->entries, out->n, out->capacity,
                     (rs_group_entry){.rank = rank->rank,
                                      .created = e->created,
                                      .seq = e->seq,
                                      .group_size = (int64_t)group->n,
                                      .in_elements = call->n_in ? call->in_numel : -1,
                                      .out_elements = call->n_out ? call->out_numel : -1,
                                      .group = rs_fl_text(flight, group->uid),
                                      .description = rs_fl_text(flight, group->desc),
                                      .members = members,
                                      .dtype = call->n_in ? rs_fl_text(flight, call->in_dtype) : NULL,
                                      .kind = rs_coll_kind_of(rs_fl_text(flight, call->op))}))
            return false;
    }
    return true;
}

static void release(void *owner)
{
    rs_flight_close(owner);
}

static rs_status read(const char *path, rs_group_table *out, rs_problems *problems, rs_error *err)
{
    rs_flight *flight = NULL;
    rs_status status = rs_flight_open(&path, 1, NULL, &flight, err);
    *out = (rs_group_table){.owner = flight, .release = release};
    for (size_t i = 0; flight && i < flight->problems.n; i++)
        if (flight->problems.items[i].severity > RS_NOTE)
            rs_problems_count(problems, &flight->problems.items[i]);
    for (size_t r = 0; status == RS_OK && r < flight->n_ranks; r++)
        for (size_t m = 0; status == RS_OK && m < flight->ranks[r].n_members; m++)
            if (!add_group(flight, &flight->ranks[r], &flight->ranks[r].members[m], out))
                status = rs_fail_nomem(err, "process groups");
    return status;
}

const rs_group_source rs_group_source_flight = {.option = "flight", .read = read};
