/* The sums of blame, and how one wait is shared out over them. */
#include <string.h>

#include "analysis/blame.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "trace/structure.h"

rs_blame_by rs_blame_by_of(const char *word)
{
    static const char *const words[] = {"rank", "kernel", "operator", "phase", "layer", "group", "edge"};
    size_t at = 0;
    while (at + 1 < sizeof words / sizeof *words && strcmp(word, words[at]) != 0) at++;
    return (rs_blame_by)at;
}

bool rs_blamer_init(rs_blamer *b)
{
    return rs_strings_init(&b->keys) && rs_strings_init(&b->texts);
}

void rs_blamer_clear(rs_blamer *b)
{
    rs_strings_clear(&b->keys);
    rs_strings_clear(&b->texts);
    rs_free_all(b->sums, b->touched);
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

/* What --by tells of a link. False when out of memory. */
static bool detail_of(rs_blamer *b, const rs_link *l, size_t rank, rs_part part, uint32_t *out)
{
    const rs_engine *e = b->f.e;
    const rs_skeleton *s = e->ranks[rank];
    uint32_t local = l->node - e->node_base[rank];
    const char *text = NULL;
    *out = RS_BLAME_NONE;
    if (part == RS_PART_WINDOW) return true;
    switch (b->by) {
    case RS_BLAME_BY_RANK: break;
    case RS_BLAME_BY_KERNEL: text = rs_pool_text(&s->pool, rs_skeleton_at(s, local)->name); break;
    case RS_BLAME_BY_OPERATOR: text = rs_pool_text(&s->pool, rs_skeleton_at(s, local)->operator_name); break;
    case RS_BLAME_BY_GROUP: text = part == RS_PART_TRANSFER ? rs_engine_group_of(e, l->node) : NULL; break;
    case RS_BLAME_BY_PHASE: *out = s->n_placed ? s->phase[local] : RS_PHASE_UNKNOWN; break;
    case RS_BLAME_BY_LAYER:
        if (s->n_placed && s->layer[local] != RS_SKELETON_NO_LAYER) *out = s->layer[local];
        break;
    case RS_BLAME_BY_EDGE: *out = rs_forest_tie(&b->f, l); break;
    }
    if (text) *out = rs_strings_add(&b->texts, text, strlen(text));
    return !text || *out != RS_NO_STRING;
}

static bool add_to_key(rs_blamer *b, const rs_link *l, rs_part part, int64_t ns)
{
    size_t r = rs_engine_rank_of(b->f.e, l->node);
    rs_blame_key k = {.kind = b->kind,
                      .waiting = b->waiting,
                      .rank = part == RS_PART_WINDOW ? UINT32_MAX : (uint32_t)r,
                      .part = part};
    if (ns == 0) return true;
    if (!detail_of(b, l, r, part, &k.detail)) return false;
    uint32_t id = rs_strings_add(&b->keys, (const char *)&k, sizeof k);
    if (id == RS_NO_STRING) return false;
    while (b->n_sums <= id) {
        if (!RS_PUSH(b->sums, b->n_sums, b->sums_capacity, (rs_blame_sum){.example = RS_NO_ROW}))
            return false;
    }
    if (!b->sums[id].is_touched) {
        if (!RS_PUSH(b->touched, b->n_touched, b->touched_capacity, id)) return false;
        b->sums[id].is_touched = true;
        b->sums[id].now = 0;
    }
    b->sums[id].now = rs_add_sat(b->sums[id].now, ns);
    return true;
}

/* What exceeds any usual latency is told apart from what the latency usually takes. */
bool rs_blame_link(rs_blamer *b, const rs_link *l, int64_t ns)
{
    if (ns == INT64_MIN) ns++;
    int64_t beyond = l->part == RS_PART_PINNED ? 0 : l->unexplained;
    if (ns < 0 ? beyond > -ns : beyond > ns) beyond = ns < 0 ? -ns : ns;
    if (ns < 0) beyond = -beyond;
    return add_to_key(b, l, RS_PART_UNEXPLAINED, beyond) &&
           add_to_key(b, l, (rs_part)l->part, rs_sub_sat(ns, beyond));
}

bool rs_blame_rank(rs_blamer *b, uint32_t node, int64_t ns)
{
    rs_link l = {.from = RS_NO_CAUSE, .node = node, .part = RS_PART_UNEXPLAINED, .edge = RS_NO_CAUSE};
    return add_to_key(b, &l, RS_PART_UNEXPLAINED, ns);
}

/* ---- one wait ------------------------------------------------------------------------------------------ */

typedef __int128 wide;

/* Parts of a whole in proportion to those weights that are above 0; they add up to it. What rounding leaves
 * goes to the greatest remainders, of equal ones the first. keys: room for n. */
static bool allot(int64_t whole, const int64_t *weights, size_t n, int64_t *parts, rs_keyed *keys)
{
    wide positive = 0;
    int64_t left = whole;
    size_t n_keys = 0;
    for (size_t i = 0; i < n; i++)
        if (weights[i] > 0) positive += weights[i];
    for (size_t i = 0; i < n; i++) {
        parts[i] = 0;
        if (weights[i] <= 0) continue;
        wide exact = (wide)whole * weights[i];
        parts[i] = (int64_t)(exact / positive);
        left -= parts[i];
        keys[n_keys++] = (rs_keyed){-(int64_t)((exact % positive) * ((wide)1 << 40) / positive), (uint32_t)i};
    }
    if (!rs_keyed_sort(keys, n_keys)) return false;
    for (size_t i = 0; i < n_keys && left > 0; i++, left--) parts[keys[i].value]++;
    return true;
}

rs_blame_key rs_blame_key_of(const rs_blamer *b, uint32_t id)
{
    rs_blame_key k;
    memcpy(&k, b->keys.items[id].text, sizeof k);
    return k;
}

/* Keys are told apart down to a level: part, then what --by says, then rank. */
static bool same_at(const rs_blame_key *x, const rs_blame_key *y, int level)
{
    return x->part == y->part && (level == 0 || x->detail == y->detail);
}

static const rs_order by_key[] = {RS_RISING(rs_blame_key, part), RS_RISING(rs_blame_key, detail),
                                  RS_RISING(rs_blame_key, rank)};

typedef struct shares {
    rs_blame_key *keys; /* of the wait, sorted */
    int64_t *x;         /* what the paths differ by */
    int64_t *sums, *parts;
    size_t *ends;
    rs_keyed *scratch;
} shares;

/* Shares out `whole` over [from, to): first over what the keys differ in at this level, by their sums. What two
 * ranks do alike, each on its own path, so cancels out before anybody is blamed. */
static bool share_level(shares *s, size_t from, size_t to, int64_t whole, int level)
{
    size_t n = 0;
    if (level == 2) return allot(whole, s->x + from, to - from, s->parts + from, s->scratch);
    for (size_t i = from, next; i < to; i = next) {
        int64_t differs = 0;
        for (next = i; next < to && same_at(&s->keys[i], &s->keys[next], level); next++)
            differs = rs_add_sat(differs, s->x[next]);
        s->sums[from + n] = differs;
        s->ends[from + n++] = next;
    }
    RS_LOCAL /* the parts of this level stand in the places of `parts` until the next one divides them */
        int64_t *own = rs_malloc((n + 1) * sizeof *own);
    RS_LOCAL size_t *ends = rs_malloc((n + 1) * sizeof *ends);
    bool ok = own && ends && allot(whole, s->sums + from, n, own, s->scratch);
    if (ok) memcpy(ends, s->ends + from, n * sizeof *ends);
    for (size_t i = 0, at = from; ok && i < n; at = ends[i++]) {
        if (own[i])
            ok = share_level(s, at, ends[i], own[i], level + 1);
        else
            for (size_t k = at; k < ends[i]; k++) s->parts[k] = 0;
    }
    return ok;
}

bool rs_blame_share_out(rs_blamer *b, int64_t wait)
{
    size_t n = b->n_touched;
    shares s = {.keys = rs_malloc((n + 1) * sizeof *s.keys),
                .x = rs_malloc((n + 1) * sizeof *s.x),
                .sums = rs_malloc((n + 1) * sizeof *s.sums),
                .parts = rs_malloc((n + 1) * sizeof *s.parts),
                .ends = rs_malloc((n + 1) * sizeof *s.ends),
                .scratch = rs_malloc((n + 1) * sizeof *s.scratch)};
    bool ok = s.keys && s.x && s.sums && s.parts && s.ends && s.scratch;
    for (size_t i = 0; ok && i < n; i++) s.keys[i] = rs_blame_key_of(b, b->touched[i]);
    if (ok && n) RS_SORT(s.keys, n, by_key);
    for (size_t i = 0; ok && i < n; i++) {
        b->touched[i] = rs_strings_find(&b->keys, (const char *)&s.keys[i], sizeof s.keys[i]);
        s.x[i] = b->sums[b->touched[i]].now;
    }
    ok = ok && share_level(&s, 0, n, wait, 0);
    for (size_t i = 0; ok && i < n; i++) b->sums[b->touched[i]].now = s.parts[i];
    rs_free_all(s.keys, s.x, s.sums, s.parts, s.ends, s.scratch);
    return ok;
}
