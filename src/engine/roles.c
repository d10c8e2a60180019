/* The same place of the program, over steps and ranks. */
#include "engine/roles.h"

#include "base/interval.h"
#include "base/memory.h"

/* ---- instances and roles ------------------------------------------------------------------------------- */

/* By lane: its place among the streams of the rank, in order of device and number. false when out of memory. */
static bool order_lanes(const rs_skeleton *s, uint32_t *place)
{
    RS_LOCAL rs_keyed *keys = rs_malloc((s->n_lanes + 1) * sizeof *keys);
    bool ok = keys != NULL;
    for (uint32_t i = 0; ok && i < s->n_lanes; i++) keys[i] = (rs_keyed){s->lanes[i].stream, i};
    ok = ok && rs_keyed_sort(keys, s->n_lanes);
    for (size_t i = 0; ok && i < s->n_lanes; i++) keys[i].key = s->lanes[keys[i].value].device;
    ok = ok && rs_keyed_sort(keys, s->n_lanes);
    for (uint32_t i = 0; ok && i < s->n_lanes; i++) place[keys[i].value] = i;
    return ok;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* The work of a rank's steps by step, lane and node: the key is the step << 20 + the lane's place. False when out of memory. */
static bool list_work(const rs_skeleton *s, const uint32_t *place, rs_keyed **keys, size_t *n)
{
    rs_packed_reader labels = {.of = &s->label}, steps = {.of = &s->step};
    size_t capacity = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const rs_skeleton_label *l = &s->labels[rs_packed_read(&labels, i)];
        const int64_t step = (int64_t)rs_packed_read(&steps, i) - 1;
        if (step < 0 || !(l->flags & RS_NODE_WORK)) continue;
        if (!RS_PUSH(*keys, *n, capacity, (rs_keyed){(step << 20) + place[l->lane], i})) return false;
    }
    return *n == 0 || rs_keyed_sort(*keys, *n);
}

/* Adds the instances of a rank; its work is added to list at *at. */
static bool add_rank(rs_roles *f, const rs_skeleton *const *ranks, uint32_t rank, size_t *at)
{
    const rs_skeleton *s = ranks[rank];
    RS_LOCAL uint32_t *place = rs_malloc((s->n_lanes + 1) * sizeof *place);
    RS_LOCAL uint64_t *names = rs_pool_hashes(&s->pool);
    RS_LOCAL rs_keyed *keys = NULL;
    size_t n = 0;
    if (!place || !names || !order_lanes(s, place) || !list_work(s, place, &keys, &n)) return false;
    uint32_t *list = rs_realloc(f->list, (*at + n + 1) * sizeof *list);
    if (!list) return false;
    f->list = list;
    for (size_t i = 0; i < n; i++) {
        const uint32_t node = keys[i].value, step = (uint32_t)(keys[i].key >> 20);
        const rs_skeleton_label *l = rs_skeleton_at(s, node);
        if ((i == 0 || (uint32_t)(keys[i - 1].key >> 20) != step) &&
            !RS_PUSH(f->instances, f->n_instances, f->capacity,
                     (rs_instance){.rank = rank, .step = step, .first = (uint32_t)*at}))
            return false;
        rs_instance *in = &f->instances[f->n_instances - 1];
        list[(*at)++] = node;
        in->n++;
        in->hash = mix(in->hash, (uint64_t)s->lanes[l->lane].stream);
        in->hash = mix(in->hash, l->name == RS_NO_STRING ? 0 : names[l->name]);
    }
    return true;
}

/* Instances with one hash and one length are one role. */
static bool group(rs_roles *f)
{
    RS_LOCAL rs_keyed *keys = rs_malloc((f->n_instances + 1) * sizeof *keys);
    f->order = rs_malloc((f->n_instances + 1) * sizeof *f->order);
    f->roles = rs_malloc((f->n_instances + 1) * sizeof *f->roles);
    bool ok = keys && f->order && f->roles;
    for (uint32_t i = 0; ok && i < f->n_instances; i++)
        keys[i] = (rs_keyed){(int64_t)f->instances[i].hash, i};
    ok = ok && rs_keyed_sort(keys, f->n_instances);
    for (uint32_t i = 0; ok && i < f->n_instances; i++) {
        const rs_instance *in = &f->instances[keys[i].value];
        const rs_instance *last = i ? &f->instances[f->order[i - 1]] : NULL;
        f->order[i] = keys[i].value;
        if (!last || last->hash != in->hash || last->n != in->n)
            f->roles[f->n_roles++] = (rs_role){.first = i};
        f->roles[f->n_roles - 1].n++;
    }
    return ok;
}

rs_status rs_roles_find(const rs_skeleton *const *ranks, size_t n_ranks, rs_roles *out, rs_error *err)
{
    size_t at = 0;
    bool ok = true;
    *out = (rs_roles){0};
    for (uint32_t r = 0; ok && r < n_ranks; r++) ok = add_rank(out, ranks, r, &at);
    if (ok && group(out)) return RS_OK;
    rs_roles_clear(out);
    return rs_fail_nomem(err, "roles");
}

void rs_roles_clear(rs_roles *r)
{
    rs_free_all(r->list, r->instances, r->order, r->roles);
    *r = (rs_roles){0};
}
