/* Questions about groups of another size: their collectives, and the work that they share out. */
#include <math.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/try.h"
#include "engine/edits_terms.h"
#include "match/collective_wait.h"

/* ---- groups of another size ---------------------------------------------------------------------------- */

/* Transfers of one kind: sums of a fit of latency and time a byte by least squares, weighted so that relative distances count. */
typedef struct fit {
    double n, w, wb, wbb, wt, wbt, wtt;
    int64_t least, smallest, largest; /* ns, see bound_latencies; bytes */
    bool between_hosts;
} fit;

static void fit_add(fit *f, double bytes, double ns)
{
    const double w = 1 / (ns * ns);
    f->n += 1;
    f->w += w;
    f->wb += w * bytes;
    f->wbb += w * bytes * bytes;
    f->wt += w * ns;
    f->wbt += w * bytes * ns;
    f->wtt += w * ns * ns;
}

/* What of a transfer does not grow with its size, ns: the fitted latency, or at most with two standard errors of it. One size alone does not
 * show it: then it is none, at most all of the least transfer. */
static int64_t fit_latency(const fit *f, bool most)
{
    const double d = f->w * f->wbb - f->wb * f->wb;
    if (f->largest == f->smallest || f->n < RS_SIZES_OF_FIT || !(d > 0)) return most ? f->least : 0;
    const double alpha = (f->wbb * f->wt - f->wb * f->wbt) / d, beta = (f->w * f->wbt - f->wb * f->wt) / d;
    const double rest = f->wtt - alpha * f->wt - beta * f->wbt,
                 error = sqrt((rest > 0 ? rest : 0) / (f->n - 2) * f->wbb / d);
    const double at = alpha + (most ? 2 * error : 0);
    return at < 0 ? 0 : at > (double)f->least ? f->least : rs_int_near(at);
}

/* No latency is longer than the least transfer of its kind among as many ranks or more, on links that are no faster: groups of another axis, with
 * another payload, show it, too. */
static void bound_latencies(const rs_engine *e, uint32_t members, fit *fits)
{
    for (size_t k = 0; members && k < e->n_meetings; k++) {
        const rs_meeting *m = &e->meetings[k];
        const rs_coll_instance *c = &e->coll.instances[m->instance];
        fit *f = &fits[rs_coll_shape_at(&e->coll, &e->coll.arrivals[c->first])->kind];
        if (f->n > 0 && c->n >= members && m->n == c->n && m->transfer > 0 && m->transfer < f->least &&
            (!f->between_hosts || rs_edit_is_between_hosts(e, c)))
            f->least = m->transfer;
    }
}

static rs_status fit_all(const rs_edit *edit, const rs_editor *x, fit *fits, uint32_t *n, rs_error *err)
{
    const rs_engine *e = x->e;
    uint32_t members = 0;
    for (size_t k = 0; k < e->n_meetings; k++) {
        const rs_meeting *m = &e->meetings[k];
        const rs_coll_instance *c = &e->coll.instances[m->instance];
        const int64_t bytes = rs_meeting_bytes(e, m);
        if (c->n < 2 || m->transfer <= 0 || !rs_edit_is_of_group(edit, x, m)) continue;
        if (members && c->n != members)
            return rs_fail(err, RS_ERR_USAGE, "groups of %u and of %u members are meant; name one (GROUP:N)",
                           members, c->n);
        members = c->n;
        if (bytes < 0) continue;
        fit *f = &fits[rs_coll_shape_at(&e->coll, &e->coll.arrivals[c->first])->kind];
        if (f->n == 0 || m->transfer < f->least) f->least = m->transfer;
        if (f->n == 0) f->between_hosts = rs_edit_is_between_hosts(e, c);
        if (f->n == 0 || bytes < f->smallest) f->smallest = bytes;
        if (f->n == 0 || bytes > f->largest) f->largest = bytes;
        fit_add(f, (double)bytes, (double)m->transfer);
    }
    *n = members;
    bound_latencies(e, members, fits);
    return RS_OK;
}

static bool is_whole(rs_coll_kind kind)
{
    return kind == RS_COLL_BROADCAST || kind == RS_COLL_REDUCE;
}

/* What is launched for reductions alone: gradients that are copied into buckets. A group of one may do without. */
static void drop_copies(rs_editor *x)
{
    for (size_t r = 0; r < x->e->n_ranks; r++) {
        const rs_skeleton *s = x->e->ranks[r];
        for (uint32_t i = 1; i < s->n; i++) {
            const rs_skeleton_label *label = rs_skeleton_at(s, i);
            const char *name = rs_pool_text(&s->pool, label->operator_name);
            int64_t *w = &x->w->work[x->e->node_base[r] + i];
            if (label->part != RS_PART_COMPUTE || *w <= 0 || !name || !strstr(name, "reducer")) continue;
            rs_edit_change(x, w, 0);
            if (x->w->edge) rs_edit_save_launch(x, r, i);
        }
    }
}

/* What a transfer takes then: fixed does not grow with its size, growing does. n: members now. */
typedef double (*retime_fn)(const rs_edit *edit, rs_coll_kind kind, double n, double fixed, double growing);

/* Over one size alone all of a transfer may be fixed, but for what its bytes take on the fastest links that there are. */
static int64_t fixed_part(const rs_editor *x, const rs_meeting *m, rs_coll_kind kind, int64_t ns,
                          int64_t latency)
{
    const rs_coll_instance *c = &x->e->coll.instances[m->instance];
    const int64_t bytes = rs_meeting_bytes(x->e, m);
    const int64_t least = bytes < 0 || c->on_host
                              ? 0
                              : rs_edit_least_transfer(kind, c->n, bytes, rs_edit_is_between_hosts(x->e, c));
    const int64_t most = rs_sub_sat(ns, least);
    return most < 0 ? 0 : latency < most ? latency : most;
}

static rs_status retime(const rs_edit *edit, rs_editor *x, retime_fn then, rs_error *err)
{
    const rs_engine *e = x->e;
    fit fits[RS_N_COLL_KINDS] = {{0}};
    uint32_t members;
    RS_TRY(fit_all(edit, x, fits, &members, err));
    for (uint32_t k = 0; k < e->n_meetings; k++) {
        const rs_meeting *m = &e->meetings[k];
        const rs_coll_instance *c = &e->coll.instances[m->instance];
        if (c->n < 2 || !rs_edit_is_of_group(edit, x, m)) continue;
        const rs_coll_kind kind = rs_coll_shape_at(&e->coll, &e->coll.arrivals[c->first])->kind;
        int64_t *w = &x->w->transfer[k];
        const int64_t fixed = fixed_part(x, m, kind, *w, fit_latency(&fits[kind], edit->end == RS_END_OTHER));
        rs_edit_change(x, w, rs_int_near(then(edit, kind, c->n, (double)fixed, (double)(*w - fixed))));
        if (edit->kind == RS_EDIT_GROUP_SIZE && edit->number == 1 && x->w->edge) rs_edit_save_launches(x, k);
    }
    return RS_OK;
}

/* A ring of n takes a multiple of n - 1 turns, and moves (n - 1)/n of all that is gathered or reduced over each link, once or twice. An all-to-all sends
 * to all at once, at the other end one after the other. What one member sends to all goes over each link whole. A group of one has nothing to say, and
 * says nothing. */
static double with_members(const rs_edit *edit, rs_coll_kind kind, double n, double fixed, double growing)
{
    const double other = (double)edit->number, turns = (other - 1) / (n - 1);
    const bool at_once = kind == RS_COLL_ALL_TO_ALL && edit->number > 1 && edit->end != RS_END_OTHER;
    return fixed * (at_once ? 1 : turns) +
           growing * (is_whole(kind) && edit->number > 1 ? 1 : turns * n / other);
}

static double with_payload(const rs_edit *edit, rs_coll_kind kind, double n, double fixed, double growing)
{
    (void)kind;
    (void)n;
    return fixed + growing * edit->factor;
}

rs_status rs_edit_group_size(const rs_edit *edit, rs_editor *x, rs_error *err)
{
    RS_TRY(retime(edit, x, with_members, err));
    if (edit->number == 1 && edit->end == RS_END_OTHER) drop_copies(x);
    return RS_OK;
}

rs_status rs_edit_payload(const rs_edit *edit, rs_editor *x, rs_error *err)
{
    return retime(edit, x, with_payload, err);
}

/* ---- work that is shared out over another number of ranks ------------------------------------------------ */

/* What a product of matrices takes: a launch, its multiplications, its operands' bytes, and the depth of a tile. */
enum { N_TERMS = 4 };
#define MOST_TURNS 2000
#define ENOUGH_SHAPES 5

typedef struct product {
    double terms[N_TERMS], ns, n; /* ns: mean of n */
    int64_t size[3];
} product;

typedef struct products {
    product *items;
    size_t n, capacity;
    double factor[N_TERMS];   /* of the fit */
    double flat[N_TERMS];     /* ... of a launch and multiplications alone */
    double spread;            /* of relative distances from the fit; NaN: not known */
    double smallest, largest; /* multiplications */
    double least;             /* ns: of the shortest work of the job */
} products;

static void set_terms(const double size[3], double terms[N_TERMS])
{
    terms[0] = 1;
    terms[1] = size[0] * size[1] * size[2];
    terms[2] = size[0] * size[1] + size[1] * size[2] + size[0] * size[2];
    terms[3] = size[2];
}

static double sum_terms(const double factor[N_TERMS], const double terms[N_TERMS])
{
    double sum = 0;
    for (int i = 0; i < N_TERMS; i++) sum += factor[i] * terms[i];
    return sum;
}

static bool add_product(products *all, const rs_skeleton_share *s, double ns, double n)
{
    const int64_t size[3] = {s->m, s->n, s->k};
    for (size_t i = 0; i < all->n; i++) {
        product *p = &all->items[i];
        if (memcmp(p->size, size, sizeof size) != 0) continue;
        p->ns += (ns / n - p->ns) * n / (p->n + n);
        p->n += n;
        return true;
    }
    product p = {.ns = ns / n, .n = n, .size = {s->m, s->n, s->k}};
    set_terms((const double[]){(double)s->m, (double)s->n, (double)s->k}, p.terms);
    return RS_PUSH(all->items, all->n, all->capacity, p);
}

/* What each product of every rank takes on average. */
static bool gather_products(const rs_editor *x, products *all)
{
    const rs_engine *e = x->e;
    bool ok = true;
    all->least = INFINITY;
    for (size_t r = 0; ok && r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        RS_LOCAL double *sum = rs_calloc(2 * s->n_shares + 2, sizeof *sum);
        ok = sum != NULL;
        for (uint32_t i = 1; ok && i < s->n_shared; i++) {
            if (!rs_skeleton_is_work(s, i) || rs_skeleton_at(s, i)->part != RS_PART_COMPUTE) continue;
            const double ns = (double)x->w->work[e->node_base[r] + i];
            if (ns > 0 && ns < all->least) all->least = ns;
            sum[2 * (size_t)s->share[i]] += ns;
            sum[2 * (size_t)s->share[i] + 1]++;
        }
        for (size_t k = 0; ok && k < s->n_shares; k++)
            if (s->shares[k].m && sum[2 * k] > 0)
                ok = add_product(all, &s->shares[k], sum[2 * k], sum[2 * k + 1]);
    }
    if (all->least == INFINITY) all->least = 0;
    return ok;
}

/* Least squares of relative distances with factors of 0 or more: each factor is set to its best value, repeatedly. n_terms:
 * how many take part. */
static void fit_products(const products *all, int n_terms, double rest[], double factor[N_TERMS])
{
    double largest[N_TERMS] = {0};
    for (size_t i = 0; i < all->n; i++) {
        rest[i] = 1;
        for (int k = 0; k < n_terms; k++)
            largest[k] = fmax(largest[k], all->items[i].terms[k] / all->items[i].ns);
    }
    for (int k = 0; k < N_TERMS; k++) factor[k] = 0;
    for (int turn = 0; turn < MOST_TURNS; turn++)
        for (int k = 0; k < n_terms; k++) {
            double over = 0, under = 0;
            for (size_t i = 0; i < all->n; i++) {
                const double a = all->items[i].terms[k] / all->items[i].ns / largest[k];
                over += a * rest[i];
                under += a * a;
            }
            const double to = fmax(0, factor[k] + over / under), by = to - factor[k];
            factor[k] = to;
            for (size_t i = 0; i < all->n; i++)
                rest[i] -= by * all->items[i].terms[k] / all->items[i].ns / largest[k];
        }
    for (int k = 0; k < n_terms; k++) factor[k] /= largest[k];
}

static bool learn_products(const rs_editor *x, products *all)
{
    if (!gather_products(x, all)) return false;
    RS_LOCAL double *rest = rs_malloc((all->n + 1) * sizeof *rest);
    if (!rest) return false;
    all->spread = (double)NAN;
    if (!all->n) return true;
    all->smallest = INFINITY;
    for (size_t i = 0; i < all->n; i++) {
        all->smallest = fmin(all->smallest, all->items[i].terms[1]);
        all->largest = fmax(all->largest, all->items[i].terms[1]);
    }
    fit_products(all, 2, rest, all->flat);
    memcpy(all->factor, all->flat, sizeof all->flat);
    if (all->n < ENOUGH_SHAPES) return true;
    fit_products(all, N_TERMS, rest, all->factor);
    double squares = 0;
    for (size_t i = 0; i < all->n; i++) squares += rest[i] * rest[i];
    all->spread = sqrt(squares / (double)(all->n - N_TERMS));
    return true;
}

#define UNKNOWN_SPREAD 0.1 /* of products of too few shapes */

/* What a product takes then, as a share of what it takes. What the two fits differ by, and twice what shapes differ from theirs, is uncertain;
 * twice as much for each time that it is twice as large or half as small as any that was recorded. */
static double product_ratio(const products *all, const rs_skeleton_share *s, double part, rs_edit_end end)
{
    double before[N_TERMS], after[N_TERMS], size[3] = {(double)s->m, (double)s->n, (double)s->k};
    set_terms(size, before);
    size[s->over] *= part;
    set_terms(size, after);
    const double ratio = sum_terms(all->factor, after) / sum_terms(all->factor, before),
                 flat = sum_terms(all->flat, after) / sum_terms(all->flat, before),
                 beyond = fmax(1, fmax(all->smallest / after[1], after[1] / all->largest)),
                 spread = 2 * (isnan(all->spread) ? UNKNOWN_SPREAD : all->spread) * (1 + log2(beyond));
    if (end == RS_END_LONG) return fmax(ratio, flat) * (1 + spread);
    if (end == RS_END_SHORT) return fmin(ratio, flat) * fmax(0, 1 - spread);
    return ratio;
}

/* What other work takes then: it grows with what it reads and writes, but for its launch. */
static double other_ratio(const products *all, uint8_t how, double ns, double part, rs_edit_end end)
{
    const double fixed = fmin(all->least, ns), least = (fixed + (ns - fixed) * part) / ns;
    double of_part = least;
    if (end == RS_END_LONG) of_part = fmax(part, least);
    if (end == RS_END_SHORT) of_part = fmin(part, least);
    if (how == RS_SHARE_PART) return of_part;
    return end == RS_END_LONG ? fmax(1, of_part) : end == RS_END_SHORT ? fmin(1, of_part) : (1 + of_part) / 2;
}

rs_status rs_edit_shard(const rs_edit *edit, rs_editor *x, rs_error *err)
{
    const rs_engine *e = x->e;
    fit fits[RS_N_COLL_KINDS] = {{0}};
    products all = {.n = 0};
    uint32_t members = 0;
    RS_TRY(fit_all(edit, x, fits, &members, err));
    bool ok = learn_products(x, &all);
    const double part = members ? (double)members / (double)edit->number : 1;
    for (size_t r = 0; ok && members && r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        for (uint32_t i = 1; i < s->n_shared; i++) {
            const rs_skeleton_share *h = &s->shares[s->share[i]];
            int64_t *w = &x->w->work[e->node_base[r] + i];
            if (h->how == RS_SHARE_WHOLE || *w <= 0) continue;
            const double ratio = h->m ? product_ratio(&all, h, part, edit->end)
                                      : other_ratio(&all, h->how, (double)*w, part, edit->end);
            rs_edit_change(x, w, rs_int_near((double)*w * ratio));
        }
    }
    rs_free(all.items);
    return ok ? RS_OK : rs_fail_nomem(err, "a question");
}
