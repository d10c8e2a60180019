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

static bool is_in_step(const rs_skeleton *s, uint32_t node)
{
    return rs_skeleton_is_work(s, node) && rs_skeleton_step_of(s, node) >= 0;
}

static size_t count_work(const rs_skeleton *s)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) n += is_in_step(s, i);
    return n;
}

/* Adds the instances of a rank; its work is put into list at *at. */
static bool add_rank(rs_roles *f, const rs_skeleton *const *ranks, uint32_t rank, size_t *at)
{
    const rs_skeleton *s = ranks[rank];
    RS_LOCAL uint32_t *place = rs_malloc((s->n_lanes + 1) * sizeof *place);
    RS_LOCAL uint64_t *names = rs_malloc((s->pool.strings.n + 1) * sizeof *names);
    RS_LOCAL rs_keyed *keys = rs_malloc((count_work(s) + 1) * sizeof *keys);
    size_t n = 0;
    bool ok = place && names && keys && order_lanes(s, place);
    for (size_t i = 0; ok && i < s->pool.strings.n; i++)
        names[i] = rs_hash_bytes(s->pool.strings.items[i].text, s->pool.strings.items[i].length);
    for (uint32_t i = 0; ok && i < s->n; i++)
        if (is_in_step(s, i))
            keys[n++] =
                (rs_keyed){((int64_t)rs_skeleton_step_of(s, i) << 20) + place[rs_skeleton_at(s, i)->lane], i};
    ok = ok && rs_keyed_sort(keys, n);
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t node = keys[i].value, step = (uint32_t)rs_skeleton_step_of(s, node);
        bool fresh = i == 0 || (uint32_t)rs_skeleton_step_of(s, keys[i - 1].value) != step;
        if (fresh) {
            ok = RS_GROW_ONE(f->instances, f->n_instances, f->capacity);
            if (!ok) break;
            f->instances[f->n_instances++] =
                (rs_instance){.rank = rank, .step = step, .first = (uint32_t)*at};
        }
        rs_instance *in = &f->instances[f->n_instances - 1];
        f->list[(*at)++] = node;
        in->n++;
        in->hash = mix(in->hash, (uint64_t)s->lanes[rs_skeleton_at(s, node)->lane].stream);
        in->hash =
            mix(in->hash,
                rs_skeleton_at(s, node)->name == RS_NO_STRING ? 0 : names[rs_skeleton_at(s, node)->name]);
    }
    return ok;
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
    size_t at = 0, n = 0;
    *out = (rs_roles){0};
    for (size_t r = 0; r < n_ranks; r++) n += count_work(ranks[r]);
    out->list = rs_malloc((n + 1) * sizeof *out->list);
    bool ok = out->list != NULL;
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
