/* Questions about load: no-stragglers, balanced.
 *
 * What a rank's kernel takes beyond the mean of its peers in a step is load and chance. The load is what the rank has more to do at that
 * place in all steps (a hot expert), and what its kernels of one name have more to do in that step (long sequences). The rest is chance:
 * caches, clocks, neighbours. It stays where load is even, and ranks that meet wait for the unlucky one of each meeting. So even load takes
 * the former two away, as far as they exceed chance. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "engine/edits_terms.h"
#include "match/collective_wait.h"

/* ---- places of the program, step by step --------------------------------------------------------------- */

/* The instances of one role in order of step numbers, so that ranks can be compared. */
typedef struct evener {
    rs_editor *x;
    const rs_role *role;
    rs_keyed *keys;  /* step number, index in the role */
    int64_t *values; /* scratch: a place of one step, by rank */
    uint32_t length; /* of an instance */
    int64_t mended;  /* the one rank that is changed; -1: all */
    /* of even load */
    size_t n_ranks, n_names;
    uint32_t *rank;     /* by index in the role: its rank among those of the role */
    uint32_t *name;     /* by place: its kernel among the names */
    double *lasting;    /* by rank and place: what it takes against the mean of a step, in all steps */
    uint32_t *n_steps;  /* by rank and place: how many they are */
    double *moving;     /* by index in the role and name: the same of one step, without what lasts */
    uint32_t *n_places; /* by index in the role and name */
    double *squares;    /* of the former by place, then of the latter by name */
} evener;

static const rs_instance *instance_of(const evener *v, size_t key)
{
    return rs_role_instance(v->x->roles, v->role, v->keys[key].value);
}

static uint32_t node_at(const evener *v, size_t key, uint32_t place)
{
    const rs_instance *in = instance_of(v, key);
    return v->x->e->node_base[in->rank] + rs_instance_node(v->x->roles, in, place);
}

static int64_t work_at(const evener *v, size_t key, uint32_t place)
{
    const uint32_t node = node_at(v, key, place);
    return v->x->w->work ? v->x->w->work[node] : rs_near_at(&v->x->w->own_work, node);
}

static void change_work(evener *v, size_t key, uint32_t place, int64_t to)
{
    rs_weights *w = v->x->w;
    const uint32_t node = node_at(v, key, place);
    if (w->work) {
        rs_edit_change(v->x, &w->work[node], to);
    } else {
        if (!rs_near_put(&w->own_work, node, to)) w->lost = true;
        v->x->n_changed++;
    }
}

/* What is done with one place of one step: of the keys [from, to), whose values are known. */
typedef void (*place_fn)(evener *v, size_t from, size_t to, uint32_t place);

/* Each place of each step that two ranks or more have, where it is plain work. */
static void each_place(evener *v, place_fn act)
{
    for (size_t i = 0, next; i < v->role->n; i = next) {
        for (next = i; next < v->role->n && v->keys[next].key == v->keys[i].key;) next++;
        for (uint32_t p = 0; next - i >= 2 && p < v->length; p++) {
            bool plain = true;
            for (size_t k = i; plain && k < next; k++) {
                const rs_instance *in = instance_of(v, k);
                plain = rs_edit_is_plain_work(v->x, in->rank, rs_instance_node(v->x->roles, in, p));
                v->values[k - i] = work_at(v, k, p);
            }
            if (plain) act(v, i, next, p);
        }
    }
}

/* Every rank takes what the median rank does, of two the faster. */
static void take_median(evener *v, size_t from, size_t to, uint32_t place)
{
    const int64_t median = rs_select_number(v->values, to - from, (to - from - 1) / 2);
    for (size_t k = from; k < to; k++)
        if (v->mended < 0 || v->x->rank_of[instance_of(v, k)->rank] == v->mended)
            change_work(v, k, place, median);
}

/* ---- even load ----------------------------------------------------------------------------------------- */

#define LEAST_LOAD 1e-6 /* of the mean: what takes less has no load to speak of */

static double *lasting_at(const evener *v, size_t key, uint32_t place)
{
    return &v->lasting[(size_t)v->rank[v->keys[key].value] * v->length + place];
}

static size_t moving_at(const evener *v, size_t key, uint32_t place)
{
    return (size_t)v->keys[key].value * v->n_names + v->name[place];
}

static double mean_of(const evener *v, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++) sum += (double)v->values[k];
    return sum / (double)n;
}

/* How much of what ranks differ by is load, so that what is left of it varies as chance alone does: a rank's own part of it is not known, and
 * the best guess of it (1 - by_chance / between) would take the chance away, too. within: the variance by chance of one measurement; each of
 * the n that differ is the mean of so many; between: their variance. */
static double load_share(double within, double measured, double between)
{
    if (!(within > 0) || !(measured > 0)) return 1;
    const double by_chance = within / measured;
    return between > by_chance ? 1 - sqrt(by_chance / between) : 0;
}

static void add_lasting(evener *v, size_t from, size_t to, uint32_t place)
{
    const double mean = mean_of(v, to - from);
    for (size_t k = from; mean > 0 && k < to; k++) {
        const double load = (double)v->values[k - from] / mean;
        double *at = lasting_at(v, k, place);
        *at += load;
        v->n_steps[at - v->lasting]++;
        v->squares[place] += load * load;
    }
}

/* Sums of all steps become what lasts of them. One step does not show what is chance: then all is load. */
static void find_lasting(evener *v)
{
    for (uint32_t p = 0; p < v->length; p++) {
        double n = 0, n_ranks = 0, of_ranks = 0, between = 0;
        for (size_t r = 0; r < v->n_ranks; r++) {
            const size_t at = r * v->length + p;
            if (!v->n_steps[at]) continue;
            v->lasting[at] /= v->n_steps[at];
            of_ranks += v->lasting[at] * v->lasting[at] * v->n_steps[at];
            between += (v->lasting[at] - 1) * (v->lasting[at] - 1);
            n += v->n_steps[at];
            n_ranks++;
        }
        const double within = n > n_ranks ? (v->squares[p] - of_ranks) / (n - n_ranks) : 0,
                     share = load_share(within, n_ranks > 0 ? n / n_ranks : 0,
                                        n_ranks > 1 ? between / (n_ranks - 1) : 0);
        for (size_t r = 0; r < v->n_ranks; r++) {
            double *at = &v->lasting[r * v->length + p];
            *at = 1 + share * (*at - 1);
        }
    }
}

static void add_moving(evener *v, size_t from, size_t to, uint32_t place)
{
    const double mean = mean_of(v, to - from);
    for (size_t k = from; mean > 0 && k < to; k++) {
        const double lasting = *lasting_at(v, k, place);
        if (lasting < LEAST_LOAD) continue;
        const double load = (double)v->values[k - from] / mean / lasting;
        const size_t at = moving_at(v, k, place);
        v->moving[at] += load;
        v->n_places[at]++;
        v->squares[v->name[place]] += load * load;
    }
}

/* Of one name: sums, over the instances that have it. */
typedef struct spread {
    double n, n_means, of_means, between;
} spread;

static spread spread_of(const evener *v, size_t name)
{
    spread s = {0};
    for (size_t i = 0; i < v->role->n; i++) {
        const size_t at = i * v->n_names + name;
        if (!v->n_places[at]) continue;
        const double load = v->moving[at] / v->n_places[at];
        s.n += v->n_places[at];
        s.n_means++;
        s.of_means += load * load * v->n_places[at];
        s.between += (load - 1) * (load - 1);
    }
    return s;
}

/* Sums of the places of a name become what moves of them. What a name with one place in a step varies by, other names show. */
static void find_moving(evener *v)
{
    double all = 0, n_all = 0;
    for (size_t name = 0; name < v->n_names; name++) {
        const spread s = spread_of(v, name);
        all += v->squares[name] - s.of_means;
        n_all += s.n - s.n_means;
    }
    for (size_t name = 0; name < v->n_names; name++) {
        const spread s = spread_of(v, name);
        const double within = s.n > s.n_means ? (v->squares[name] - s.of_means) / (s.n - s.n_means)
                              : n_all > 0     ? all / n_all
                                              : 0,
                     share = s.n_means > 0 ? load_share(within, s.n / s.n_means, s.between / s.n_means) : 0;
        for (size_t i = 0; i < v->role->n; i++) {
            const size_t at = i * v->n_names + name;
            if (v->n_places[at]) v->moving[at] = 1 + share * (v->moving[at] / v->n_places[at] - 1);
        }
    }
}

static void take_load(evener *v, size_t from, size_t to, uint32_t place)
{
    const double mean = mean_of(v, to - from);
    for (size_t k = from; k < to; k++) {
        const double load = *lasting_at(v, k, place) * v->moving[moving_at(v, k, place)];
        change_work(v, k, place,
                    rs_edit_ns(mean > 0 && load > LEAST_LOAD ? (double)v->values[k - from] / load : mean));
    }
}

/* Ranks and names of the role. */
static bool number(evener *v)
{
    const rs_engine *e = v->x->e;
    const rs_instance *in = rs_role_instance(v->x->roles, v->role, 0);
    const rs_skeleton *s = e->ranks[in->rank];
    RS_LOCAL uint32_t *of_rank = rs_calloc(e->n_ranks + 1, sizeof *of_rank);
    RS_LOCAL uint32_t *of_name = rs_calloc(s->pool.strings.n + 1, sizeof *of_name);
    v->rank = rs_malloc((v->role->n + 1) * sizeof *v->rank);
    v->name = rs_malloc((v->length + 1) * sizeof *v->name);
    if (!of_rank || !of_name || !v->rank || !v->name) return false;
    for (size_t i = 0; i < v->role->n; i++) {
        uint32_t *at = &of_rank[rs_role_instance(v->x->roles, v->role, i)->rank];
        if (!*at) *at = (uint32_t)++v->n_ranks;
        v->rank[i] = *at - 1;
    }
    for (uint32_t p = 0; p < v->length; p++) {
        uint32_t name = rs_skeleton_at(s, rs_instance_node(v->x->roles, in, p))->name;
        uint32_t *at = &of_name[name < s->pool.strings.n ? name : s->pool.strings.n];
        if (!*at) *at = (uint32_t)++v->n_names;
        v->name[p] = *at - 1;
    }
    return true;
}

static bool even_load(evener *v)
{
    if (!number(v)) return false;
    const size_t n_lasting = v->n_ranks * v->length + 1, n_moving = v->role->n * v->n_names + 1,
                 n_squares = (v->length > v->n_names ? v->length : v->n_names) + 1;
    v->lasting = rs_calloc(n_lasting, sizeof *v->lasting);
    v->n_steps = rs_calloc(n_lasting, sizeof *v->n_steps);
    v->moving = rs_calloc(n_moving, sizeof *v->moving);
    v->n_places = rs_calloc(n_moving, sizeof *v->n_places);
    v->squares = rs_calloc(n_squares, sizeof *v->squares);
    if (!v->lasting || !v->n_steps || !v->moving || !v->n_places || !v->squares) return false;
    each_place(v, add_lasting);
    find_lasting(v);
    memset(v->squares, 0, n_squares * sizeof *v->squares);
    each_place(v, add_moving);
    find_moving(v);
    each_place(v, take_load);
    return true;
}

static bool even_out_role(rs_editor *x, const rs_role *role, bool load, int64_t rank)
{
    RS_LOCAL rs_keyed *keys = rs_malloc((role->n + 1) * sizeof *keys);
    RS_LOCAL int64_t *values = rs_malloc((role->n + 1) * sizeof *values);
    if (!keys || !values) return false;
    for (uint32_t i = 0; i < role->n; i++) {
        const rs_instance *in = rs_role_instance(x->roles, role, i);
        keys[i] = (rs_keyed){x->e->ranks[in->rank]->steps[in->step].number, i};
    }
    if (!rs_keyed_sort(keys, role->n)) return false;
    evener v = {.x = x,
                .role = role,
                .keys = keys,
                .values = values,
                .length = rs_role_instance(x->roles, role, 0)->n,
                .mended = rank};
    bool ok = true;
    if (load)
        ok = even_load(&v);
    else
        each_place(&v, take_median);
    rs_free_all(v.rank, v.name, v.lasting, v.n_steps, v.moving, v.n_places, v.squares);
    return ok;
}

/* ---- hosts --------------------------------------------------------------------------------------------- */

/* The host time of a rank without a GPU, step by step: `own` by step_base; factor: what each is multiplied by; NULL: it is
 * summed up. */
static void each_host_time(rs_editor *x, double *own, const double *factor)
{
    const rs_engine *e = x->e;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        int64_t *weight = x->w->edge + e->edge_base[r];
        for (uint32_t i = 1; i < s->n; i++)
            if (rs_skeleton_step_of(s, i) >= 0)
                RS_EDGES_INTO(s, i, k) {
                    size_t at = e->step_base[r] + (size_t)rs_skeleton_step_of(s, i);
                    if (rs_edge_part(s, k) != RS_PART_HOST || weight[k] == RS_NO_EDGE) continue;
                    if (factor)
                        rs_edit_change(x, &weight[k], rs_edit_ns((double)weight[k] * factor[at]));
                    else if (k == rs_skeleton_first(s, i))
                        own[at] += (double)weight[k];
                }
    }
}

/* Ranks without a GPU compute on their hosts: in each step of a role each takes the mean of all. */
static bool balance_hosts(rs_editor *x)
{
    const rs_engine *e = x->e;
    size_t n = e->step_base[e->n_ranks];
    RS_LOCAL double *own = rs_calloc(n + 1, sizeof *own), *factor = rs_malloc((n + 1) * sizeof *factor);
    if (!own || !factor) return false;
    each_host_time(x, own, NULL);
    for (size_t i = 0; i < n; i++) factor[i] = 1;
    for (size_t k = 0; k < x->roles->n_roles; k++) {
        const rs_role *role = &x->roles->roles[k];
        double sum = 0;
        for (uint32_t i = 0; i < 2 * role->n; i++) {
            const rs_instance *in = rs_role_instance(x->roles, role, i % role->n);
            size_t at = e->step_base[in->rank] + in->step;
            if (i < role->n)
                sum += own[at];
            else if (own[at] > 0)
                factor[at] = sum / (double)role->n / own[at];
        }
    }
    each_host_time(x, own, factor);
    return true;
}

rs_status rs_edit_even_out(const rs_edit *edit, rs_editor *x, rs_error *err)
{
    const bool load = edit->kind == RS_EDIT_BALANCED;
    /* weights of a lean engine have no edges that could be changed */
    bool ok = !load || !x->w->edge || !rs_coll_on_host(&x->e->coll) || balance_hosts(x);
    for (size_t i = 0; ok && i < x->roles->n_roles; i++)
        ok = even_out_role(x, &x->roles->roles[i], load, load ? -1 : edit->number);
    return ok ? RS_OK : rs_fail_nomem(err, "a question");
}
