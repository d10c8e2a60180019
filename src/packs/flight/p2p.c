#include "flight/p2p.h"

#include "base/interval.h"
#include "base/order.h"
#include "base/search.h"

#include <math.h>
#include <string.h>

typedef struct item {
    uint32_t src, dst;
    uint32_t rank, entry;
    bool is_recv;
} item;

static const rs_order by_pair[] = {RS_RISING(item, src), RS_RISING(item, dst), RS_RISING(item, is_recv),
                                   RS_RISING(item, entry)};

uint32_t rs_fl_peer_slot(const rs_flight *flight, const rs_fl_entry *entry)
{
    const rs_fl_call *call = rs_fl_call_of(flight, entry);
    int32_t peer = call->kind == RS_FL_SEND ? call->dst : call->kind == RS_FL_RECV ? call->src : -1;
    if (peer < 0 || (size_t)peer >= flight->groups[entry->group].n) return RS_FL_NONE;
    return (uint32_t)peer;
}

bool rs_fl_in_batch(const rs_fl_rank *rank, size_t i)
{
    const rs_fl_entry *e = &rank->entries[i];
    for (int step = -1; step <= 1; step += 2)
        for (size_t k = i + (size_t)step, looks = 0; k < rank->n && looks < 64; k += (size_t)step, looks++) {
            const rs_fl_entry *o = &rank->entries[k];
            if (o->group != e->group || !o->is_p2p) continue;
            if (o->p2p_seq == e->p2p_seq && !o->marker) return true;
            if (o->p2p_seq != e->p2p_seq) break;
        }
    return false;
}

size_t rs_fl_batch_begin(const rs_fl_rank *rank, size_t i)
{
    const rs_fl_entry *own = &rank->entries[i];
    for (size_t k = i; k-- > 0;) {
        const rs_fl_entry *e = &rank->entries[k];
        if (e->group != own->group || !e->is_p2p) continue;
        if (e->p2p_seq != own->p2p_seq) break;
        i = k;
    }
    return i;
}

int64_t rs_fl_p2p_numel(const rs_fl_call *call)
{
    bool in = call->kind == RS_FL_SEND ? call->n_in > 0 : call->n_out == 0;
    return in ? call->in_numel : call->out_numel;
}

static uint32_t p2p_dtype(const rs_fl_call *call)
{
    return call->in_dtype ? call->in_dtype : call->out_dtype;
}

/* Whether a rank's record of a group's point-to-point operations reaches back to the first. */
static bool reaches_back(const rs_flight *flight, uint32_t rank, uint32_t group)
{
    if (rank == RS_FL_NONE) return false;
    const rs_fl_rank *r = &flight->ranks[rank];
    if (r->filtered || r->shape == RS_FL_ACTIVE) return false;
    if (!r->wrapped) return true;
    const rs_fl_member *m = rs_fl_member_of(flight, rank, group);
    return m && m->n_p2p && r->entries[r->order[m->p2p_begin]].p2p_seq == 1 &&
           r->entries[r->order[m->p2p_begin]].op_id <= 1;
}

static size_t first_open(const rs_flight *flight, uint32_t rank, const uint32_t *entries, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (flight->ranks[rank].entries[entries[i]].state != RS_FL_COMPLETED) return i;
    return n;
}

/* How well a shift fits the newest partners of a pair. */
typedef struct fit {
    size_t n, same_seq, same_call; /* partners; of these with equal p2p_seq_id, with equal size and type */
    size_t torn;                   /* partners of which one is completed and the other is not */
    size_t timed;                  /* partners that both have a completion */
    double apart;                  /* mean time between the two completions, ns */
} fit;

static fit try_shift(const rs_flight *flight, const rs_fl_p2p *p2p, const rs_fl_pair *pair, int64_t shift)
{
    const rs_fl_rank *src = &flight->ranks[pair->src_rank], *dst = &flight->ranks[pair->dst_rank];
    fit f = {0};
    for (size_t i = pair->n_sends; i-- > 0 && f.n < 128;) {
        int64_t j = (int64_t)i + shift;
        if (j < 0 || j >= (int64_t)pair->n_recvs) continue;
        const rs_fl_entry *s = &src->entries[p2p->entries[pair->sends + i]];
        const rs_fl_entry *r = &dst->entries[p2p->entries[pair->recvs + (uint32_t)j]];
        const rs_fl_call *cs = rs_fl_call_of(flight, s), *cr = rs_fl_call_of(flight, r);
        /* Two open ends may be what is wrong: they speak neither for a shift nor against it. */
        if (s->state != RS_FL_COMPLETED && r->state != RS_FL_COMPLETED) continue;
        f.n++;
        /* The open one's state may be that of the rest of its batch. */
        if ((s->state == RS_FL_COMPLETED) != (r->state == RS_FL_COMPLETED))
            f.torn += s->state == RS_FL_COMPLETED ? !rs_fl_in_batch(dst, (size_t)(r - dst->entries))
                                                  : !rs_fl_in_batch(src, (size_t)(s - src->entries));
        f.same_seq += s->p2p_seq == r->p2p_seq;
        f.same_call += rs_fl_p2p_numel(cs) == rs_fl_p2p_numel(cr) && p2p_dtype(cs) == p2p_dtype(cr);
        int64_t a = s->completed ? s->completed : s->created, b = s->completed ? r->completed : r->created;
        if (!a || !b) continue;
        f.apart += fabs((double)rs_sub_sat(rs_sub_sat(a, src->clock), rs_sub_sat(b, dst->clock)));
        f.timed++;
    }
    if (f.timed) f.apart /= (double)f.timed;
    return f;
}

/* Whether both ends number their launches alike: two ranks that only have each other do, and so do ranks that
 * send and receive in batches. */
static bool counts_alike(const rs_flight *flight, uint32_t group, const rs_fl_pair *pair)
{
    if (flight->groups[group].n == 2) return true;
    const uint32_t ends[2] = {pair->src_rank, pair->dst_rank};
    for (int k = 0; k < 2; k++) {
        const rs_fl_rank *rank = &flight->ranks[ends[k]];
        const rs_fl_member *member = rs_fl_member_of(flight, ends[k], group);
        bool batches = false;
        for (uint32_t i = 0; member && i < member->n_p2p && !batches; i++)
            batches = rank->entries[rank->order[member->p2p_begin + i]].marker;
        if (!batches) return false;
    }
    return true;
}

/* Where a ring has lost the beginning, the shift is inferred: by the numbers of the launches where both sides
 * count alike, else by sizes, else by when partners completed; failing that, what is first open on both sides
 * belongs together. */
static void align(const rs_flight *flight, uint32_t group, const rs_fl_p2p *p2p, rs_fl_pair *pair)
{
    pair->shift = 0;
    pair->exact = reaches_back(flight, pair->src_rank, group) && reaches_back(flight, pair->dst_rank, group);
    if (pair->exact || pair->src_rank == RS_FL_NONE || pair->dst_rank == RS_FL_NONE) return;
    int64_t s = (int64_t)first_open(flight, pair->src_rank, p2p->entries + pair->sends, pair->n_sends);
    int64_t r = (int64_t)first_open(flight, pair->dst_rank, p2p->entries + pair->recvs, pair->n_recvs);
    fit best = {0};
    bool numbered = counts_alike(flight, group, pair);
    pair->shift = r - s;
    /* Dumps of active entries hold nothing to compare: what is open first on both sides belongs together. */
    if (flight->ranks[pair->src_rank].shape == RS_FL_ACTIVE ||
        flight->ranks[pair->dst_rank].shape == RS_FL_ACTIVE)
        return;
    for (int64_t d = 0; d <= 12; d++) {
        int64_t shift = r - s + (d % 2 ? (d + 1) / 2 : -d / 2);
        fit f = try_shift(flight, p2p, pair, shift);
        /* What is completed on both sides is gone from the rings: nothing speaks against the first guess. */
        if (!f.n && d == 0) return;
        if (!f.n) continue;
        bool better;
        if (numbered && f.same_seq * 10 >= f.n * 9 && f.n >= 2)
            better = best.same_seq * 10 < best.n * 9 || best.n < 2;
        else if (numbered && best.n >= 2 && best.same_seq * 10 >= best.n * 9)
            better = false;
        else if (best.n && f.torn != best.torn)
            better = f.torn < best.torn; /* both ends of a transfer end together */
        else if (f.same_call * best.n != best.same_call * f.n)
            better = f.same_call * best.n > best.same_call * f.n;
        else
            better = f.timed && best.timed && f.apart * 8 < best.apart;
        if (best.n && !better) continue;
        best = f;
        pair->shift = shift;
    }
}

static rs_status build(rs_flight *flight, uint32_t g, rs_fl_p2p *p2p, rs_error *err)
{
    const rs_fl_group *group = &flight->groups[g];
    size_t total = 0, n = 0, n_pairs = 0;
    for (uint32_t m = 0; m < group->n_members; m++) total += flight->by_group[group->first_member + m]->n_p2p;
    item *items = rs_malloc(total * sizeof *items);
    p2p->entries = rs_malloc(total * sizeof *p2p->entries);
    if (!items || !p2p->entries) {
        rs_free(items);
        return rs_fail_nomem(err, "matching point-to-point operations");
    }
    for (uint32_t m = 0; m < group->n_members; m++) {
        const rs_fl_member *member = flight->by_group[group->first_member + m];
        const rs_fl_rank *rank = &flight->ranks[member->rank];
        for (uint32_t i = 0; i < member->n_p2p; i++) {
            uint32_t e = rank->order[member->p2p_begin + i];
            uint32_t peer = rs_fl_peer_slot(flight, &rank->entries[e]);
            if (peer == RS_FL_NONE || member->slot == RS_FL_NONE) continue;
            bool recv = rs_fl_call_of(flight, &rank->entries[e])->kind == RS_FL_RECV;
            items[n++] =
                (item){recv ? peer : member->slot, recv ? member->slot : peer, member->rank, e, recv};
        }
    }
    RS_SORT(items, n, by_pair);
    for (size_t i = 0; i < n; i++)
        n_pairs += i == 0 || items[i].src != items[i - 1].src || items[i].dst != items[i - 1].dst;
    p2p->pairs = rs_malloc(n_pairs * sizeof *p2p->pairs);
    if (!p2p->pairs) {
        rs_free(items);
        return rs_fail_nomem(err, "matching point-to-point operations");
    }
    for (size_t i = 0; i < n;) {
        rs_fl_pair *pair = &p2p->pairs[p2p->n_pairs++];
        *pair = (rs_fl_pair){.src = items[i].src,
                             .dst = items[i].dst,
                             .src_rank = group->index[items[i].src],
                             .dst_rank = group->index[items[i].dst],
                             .sends = (uint32_t)i,
                             .recvs = (uint32_t)i};
        size_t begin = i;
        for (; i < n && items[i].src == items[begin].src && items[i].dst == items[begin].dst; i++) {
            p2p->entries[i] = items[i].entry;
            if (items[i].is_recv)
                pair->n_recvs++;
            else
                pair->n_sends++;
        }
        pair->recvs = pair->sends + pair->n_sends;
        align(flight, g, p2p, pair);
    }
    rs_free(items);
    p2p->built = true;
    return RS_OK;
}

rs_status rs_fl_p2p_of(rs_flight *flight, uint32_t group, const rs_fl_p2p **out, rs_error *err)
{
    if (!flight->p2p && !(flight->p2p = rs_calloc(flight->n_groups, sizeof *flight->p2p)))
        return rs_fail_nomem(err, "matching point-to-point operations");
    rs_fl_p2p *p2p = &flight->p2p[group];
    *out = p2p;
    if (p2p->built) return RS_OK;
    rs_free_all(p2p->entries, p2p->pairs);
    *p2p = (rs_fl_p2p){0};
    return build(flight, group, p2p, err);
}

void rs_fl_p2p_free(rs_flight *flight)
{
    for (size_t g = 0; flight->p2p && g < flight->n_groups; g++) {
        rs_free_all(flight->p2p[g].entries, flight->p2p[g].pairs);
    }
    rs_free(flight->p2p);
    flight->p2p = NULL;
}

static const rs_fl_pair *find_pair(const rs_fl_p2p *p2p, uint32_t src, uint32_t dst)
{
    size_t low;
    RS_SEARCH(low, p2p->n_pairs,
              p2p->pairs[low].src < src || (p2p->pairs[low].src == src && p2p->pairs[low].dst < dst));
    bool found = low < p2p->n_pairs && p2p->pairs[low].src == src && p2p->pairs[low].dst == dst;
    return found ? &p2p->pairs[low] : NULL;
}

static size_t position_of(const uint32_t *entries, size_t n, uint32_t entry)
{
    size_t low;
    RS_SEARCH(low, n, entries[low] < entry);
    return low;
}

const rs_fl_entry *rs_fl_mate(rs_flight *flight, const rs_fl_p2p *p2p, uint32_t rank, uint32_t entry,
                              uint32_t *peer_slot, bool *known)
{
    const rs_fl_entry *e = &flight->ranks[rank].entries[entry];
    const rs_fl_member *member = rs_fl_member_of(flight, rank, e->group);
    *peer_slot = rs_fl_peer_slot(flight, e);
    *known = false;
    if (*peer_slot == RS_FL_NONE || !member || member->slot == RS_FL_NONE) return NULL;
    bool recv = rs_fl_call_of(flight, e)->kind == RS_FL_RECV;
    uint32_t src = recv ? *peer_slot : member->slot, dst = recv ? member->slot : *peer_slot;
    const rs_fl_pair *pair = find_pair(p2p, src, dst);
    if (!pair) return NULL;
    uint32_t peer = recv ? pair->src_rank : pair->dst_rank;
    if (peer == RS_FL_NONE) return NULL;
    int64_t at = recv ? (int64_t)position_of(p2p->entries + pair->recvs, pair->n_recvs, entry) - pair->shift
                      : (int64_t)position_of(p2p->entries + pair->sends, pair->n_sends, entry) + pair->shift;
    uint32_t n = recv ? pair->n_sends : pair->n_recvs, begin = recv ? pair->sends : pair->recvs;
    if (at < 0) return NULL;
    if (at >= n) {
        *known = !flight->ranks[peer].cut;
        return NULL;
    }
    *known = true;
    return &flight->ranks[peer].entries[p2p->entries[begin + (uint32_t)at]];
}
