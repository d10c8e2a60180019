/* Periods of a sequence of tokens, and the borders of its steps. */
#include "trace/repetition.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"

const char *const rs_border_names[RS_N_BORDERS] = {
    "none",      "data loader",     "optimizer",        "copy to the device",
    "read-back", "end of backward", "pause of the host"};

enum {
    MAX_CANDIDATES = 64,
    MAX_COUNTS = 24,    /* different numbers of occurrences that are looked at, the rarest first */
    MAX_TYPES = 3,      /* tokens of each of them */
    MAX_POSITIONS = 64, /* occurrences of each token */
    MAX_AHEAD = 8,      /* ... and how many of them ahead a distance reaches */
    LEAST_PERIOD = 4
};

/* ---- candidates ---------------------------------------------------------------------------------------- */

/* A distance between two occurrences of a rare token. Each token has one vote (of a million parts), shared by
 * the distances between its occurrences, so that the few of a step's own tokens are heard next to the many of
 * its layers. */
typedef struct candidate {
    size_t period;
    uint64_t votes;
    double score;
} candidate;

typedef struct candidates {
    candidate items[MAX_CANDIDATES];
    size_t n;
} candidates;

static const rs_order by_votes[] = {RS_FALLING(candidate, votes), RS_RISING(candidate, period)};

static const rs_order by_period[] = {RS_RISING(candidate, period)};

/* The tokens whose occurrences are looked at: of the smallest counts above one, the first of each. */
static size_t choose_tokens(const rs_tokens *s, const uint32_t *count, uint32_t *chosen)
{
    size_t n = 0;
    uint32_t least = 1;
    for (int c = 0; c < MAX_COUNTS; c++) {
        uint32_t next = UINT32_MAX;
        for (size_t t = 0; t < s->n_tokens; t++)
            if (count[t] > least && count[t] < next) next = count[t];
        if (next == UINT32_MAX) break;
        int types = 0;
        for (size_t t = 0; t < s->n_tokens && types < MAX_TYPES; t++)
            if (count[t] == next) {
                chosen[n++] = (uint32_t)t;
                types++;
            }
        least = next;
    }
    return n;
}

typedef struct position_list {
    size_t at[MAX_POSITIONS];
    size_t n;
} position_list;

static bool list_distances(const rs_tokens *s, const uint32_t *chosen, size_t n_chosen, candidate **out,
                           size_t *n_out)
{
    RS_LOCAL position_list *lists = rs_calloc(n_chosen, sizeof *lists);
    RS_LOCAL uint32_t *list_of = rs_malloc(s->n_tokens * sizeof *list_of);
    candidate *distances = rs_malloc(n_chosen * MAX_POSITIONS * MAX_AHEAD * sizeof *distances);
    size_t n = 0;
    bool ok = lists && list_of && distances;
    if (ok) memset(list_of, 0xff, s->n_tokens * sizeof *list_of);
    for (size_t i = 0; ok && i < n_chosen; i++) list_of[chosen[i]] = (uint32_t)i;
    for (size_t i = 0; ok && i < s->n; i++) {
        uint32_t list = list_of[s->token[i]];
        if (list != UINT32_MAX && lists[list].n < MAX_POSITIONS) lists[list].at[lists[list].n++] = i;
    }
    for (size_t l = 0; ok && l < n_chosen; l++) {
        size_t begin = n;
        for (size_t i = 0; i < lists[l].n; i++)
            for (size_t k = i + 1; k < lists[l].n && k <= i + MAX_AHEAD; k++) {
                size_t d = lists[l].at[k] - lists[l].at[i];
                if (d >= LEAST_PERIOD && d <= s->n / 2) distances[n++] = (candidate){.period = d};
            }
        for (size_t i = begin; i < n; i++) distances[i].votes = 1000000 / (n - begin);
    }
    *out = distances;
    *n_out = n;
    return ok;
}

/* The distances that were met most often, by size. */
static bool find_candidates(const rs_tokens *s, candidates *out)
{
    RS_LOCAL uint32_t *count = rs_calloc(s->n_tokens + 1, sizeof *count);
    uint32_t chosen[MAX_COUNTS * MAX_TYPES];
    RS_LOCAL candidate *distances = NULL;
    size_t n = 0, n_chosen = 0, n_all = 0;
    bool ok = count != NULL;
    out->n = 0;
    for (size_t i = 0; ok && i < s->n; i++) count[s->token[i]]++;
    if (ok) n_chosen = choose_tokens(s, count, chosen);
    if (ok && n_chosen) ok = list_distances(s, chosen, n_chosen, &distances, &n);
    if (ok && n) RS_SORT(distances, n, by_period);
    for (size_t i = 0; ok && i < n; i++) {
        if (n_all && distances[n_all - 1].period == distances[i].period)
            distances[n_all - 1].votes += distances[i].votes;
        else
            distances[n_all++] = distances[i];
    }
    if (ok && n_all) {
        RS_SORT(distances, n_all, by_votes);
        out->n = n_all < MAX_CANDIDATES ? n_all : MAX_CANDIDATES;
        memcpy(out->items, distances, out->n * sizeof *distances);
        RS_SORT(out->items, out->n, by_period);
    }
    return ok;
}

static double score_of(const rs_tokens *s, size_t period)
{
    const uint32_t *x = s->token;
    size_t equal = 0, n = s->n - period;
    for (size_t i = 0; i < n; i++) equal += x[i] == x[i + period];
    return n ? (double)equal / (double)n : 0;
}

/* Share of works that are equal to the one a period before or behind: programs that change now and then
 * leave it high. */
static double cover_of(const rs_tokens *s, size_t period)
{
    const uint32_t *x = s->token;
    size_t covered = 0;
    for (size_t i = 0; i < s->n; i++)
        covered += (i + period < s->n && x[i] == x[i + period]) || (i >= period && x[i] == x[i - period]);
    return (double)covered / (double)s->n;
}

static bool is_kin(size_t a, size_t b)
{
    return a % b == 0 || b % a == 0;
}

static double runner_up(const candidates *c, size_t period)
{
    double best = 0;
    for (size_t i = 0; i < c->n; i++)
        if (!is_kin(c->items[i].period, period) && c->items[i].score > best) best = c->items[i].score;
    return best;
}

/* ---- borders ------------------------------------------------------------------------------------------- */

double rs_stretch_likeness(const rs_tokens *s, rs_stretch a, rs_stretch b)
{
    size_t n = a.n < b.n ? a.n : b.n, longer = a.n < b.n ? b.n : a.n, back = 0, front = 0;
    const uint32_t *x = s->token + a.first, *y = s->token + b.first;
    for (size_t k = 0; k < n; k++) back += x[a.n - 1 - k] == y[b.n - 1 - k];
    size_t best = back;
    for (size_t k = 0; k < n; k++) { /* the first k + 1 from the front, the others from the back */
        front += x[k] == y[k];
        back -= x[a.n - n + k] == y[b.n - n + k];
        if (front + back > best) best = front + back;
    }
    return longer ? (double)best / (double)longer : 0;
}

static size_t tolerance(size_t period)
{
    return period / 50 > 2 ? period / 50 : 2;
}

static bool is_near(size_t length, size_t period)
{
    size_t t = tolerance(period);
    return length + t >= period && length <= period + t;
}

/* Where borders of one kind may be, upwards. */
typedef struct places {
    size_t *at;
    size_t n;
} places;

/* The end of the optimizer, moved behind what clears gradients and reads the loss: to a copy to the device
 * if that follows, else to the longest pause on the way. Where nothing else follows the sequence ends: n. */
static size_t behind_optimizer(const rs_tokens *s, size_t i)
{
    size_t best = i;
    for (size_t k = i; k < s->n; k++) {
        if (s->mark[k] & RS_MARK_TO_DEVICE || s->mark[k] & RS_MARK_LOADER) return k;
        if (s->gap[k] > s->gap[best]) best = k;
        if (!(s->mark[k] & (RS_MARK_CLEAR | RS_MARK_TO_HOST))) return best;
    }
    return s->n;
}

static bool is_place(const rs_tokens *s, rs_border kind, int64_t pause, size_t i)
{
    uint16_t here = s->mark[i], before = i ? s->mark[i - 1] : 0;
    switch (kind) {
    case RS_BORDER_LOADER: return here & RS_MARK_LOADER;
    case RS_BORDER_OPTIMIZER: return before & RS_MARK_OPTIMIZER && !(here & RS_MARK_OPTIMIZER);
    case RS_BORDER_TO_DEVICE: return here & RS_MARK_TO_DEVICE && !(before & RS_MARK_TO_DEVICE);
    case RS_BORDER_BACKWARD: return before & RS_MARK_BACKWARD && !(here & RS_MARK_BACKWARD);
    case RS_BORDER_READ_BACK: return before & RS_MARK_TO_HOST && here & RS_MARK_SYNC;
    default: return s->gap[i] >= pause;
    }
}

static bool find_places(const rs_tokens *s, size_t from, rs_border kind, int64_t pause, places *out)
{
    out->at = rs_malloc((s->n + 1) * sizeof *out->at);
    out->n = 0;
    if (!out->at) return false;
    for (size_t i = from; i < s->n; i++) {
        if (!is_place(s, kind, pause, i)) continue;
        size_t at = kind == RS_BORDER_OPTIMIZER ? behind_optimizer(s, i) : i;
        if (at < s->n && (out->n == 0 || at > out->at[out->n - 1])) out->at[out->n++] = at;
    }
    return true;
}

/* A place with a hash of what stands around it. */
typedef struct keyed_place {
    uint64_t key;
    size_t at;
} keyed_place;

static const rs_order by_key[] = {RS_RISING(keyed_place, key), RS_RISING(keyed_place, at)};

/* `before` works before the place and as many from it on; a place too near an end has none. */
static uint64_t context_of(const rs_tokens *s, size_t at, size_t around)
{
    uint64_t h = UINT64_C(0x9E3779B97F4A7C15);
    if (at < around || at + around > s->n) return 0;
    for (size_t i = at - around; i < at + around; i++) {
        h ^= s->token[i] + 1;
        h *= UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    return h ? h : 1;
}

/* One set of borders that come once a period, and what speaks for it. */
typedef struct border_set {
    size_t *at; /* owned */
    size_t n;
    int64_t gap; /* median pause of the host there */
    size_t good; /* neighbours a period apart */
} border_set;

static const rs_order by_time[] = {RS_RISING_VALUE(int64_t)};

static bool median_gap(const rs_tokens *s, const keyed_place *items, size_t n, int64_t *out)
{
    RS_LOCAL int64_t *gaps = rs_malloc(n * sizeof *gaps);
    if (!gaps) return false;
    for (size_t i = 0; i < n; i++) gaps[i] = s->gap[items[i].at];
    RS_SORT(gaps, n, by_time);
    *out = gaps[(n - 1) / 2];
    return true;
}

/* What marks steps, or micro batches, and nothing else. */
static bool is_strong(rs_border kind)
{
    return kind == RS_BORDER_LOADER || kind == RS_BORDER_OPTIMIZER || kind == RS_BORDER_BACKWARD;
}

/* Whether places that look alike come once a period: at least half of the neighbours are a period apart, and
 * none nearer. Of
 * strong marks the ends of the sequence count as neighbours: the first step of a recording has nothing before
 * it that could mark its border. */
static size_t good_neighbours(const rs_tokens *s, size_t from, rs_border kind, const keyed_place *items,
                              size_t n, size_t period)
{
    size_t good = 0, near = 0, ends = 0;
    if (is_strong(kind)) {
        ends += is_near(items[0].at - from, period);
        ends += is_near(s->n - items[n - 1].at, period);
    }
    for (size_t i = 1; i < n; i++) {
        size_t length = items[i].at - items[i - 1].at;
        good += is_near(length, period);
        near += length + tolerance(period) < period;
    }
    return near * 10 <= good && good * 2 + 1 >= n ? good + ends : 0;
}

typedef struct set_search {
    const rs_tokens *s;
    size_t from, period;
    rs_border kind;
    keyed_place *items; /* by key, then place */
    size_t n;
} set_search;

/* The places from i on that look alike. */
static size_t alike(const set_search *x, size_t i)
{
    size_t end = i + 1;
    while (end < x->n && x->items[end].key == x->items[i].key) end++;
    return end;
}

static size_t good_at(const set_search *x, size_t i, size_t end)
{
    return x->items[i].key ? good_neighbours(x->s, x->from, x->kind, x->items + i, end - i, x->period) : 0;
}

/* Of the sets with the most neighbours a period apart, or one less (the first step may lack its border), the
 * one with the longest pause of the host, then the first. */
static bool take_best(const set_search *x, border_set *best)
{
    size_t most = 0, first = 0, last = 0;
    for (size_t i = 0, end; i < x->n; i = end) {
        end = alike(x, i);
        size_t good = good_at(x, i, end);
        if (good > most) most = good;
    }
    for (size_t i = 0, end; most && i < x->n; i = end) {
        end = alike(x, i);
        size_t good = good_at(x, i, end);
        int64_t gap;
        if (good == 0 || good + 1 < most) continue;
        if (!median_gap(x->s, x->items + i, end - i, &gap)) return false;
        bool better = !last || gap > best->gap || (gap == best->gap && x->items[i].at < x->items[first].at);
        if (!better) continue;
        first = i;
        last = end;
        best->gap = gap;
        best->good = good;
    }
    if (!last) return true;
    best->at = rs_malloc((last - first) * sizeof *best->at);
    if (!best->at) return false;
    for (size_t k = first; k < last; k++) best->at[best->n++] = x->items[k].at;
    return true;
}

/* Places are distinguished by as few works around them as will do. */
static bool best_set(const rs_tokens *s, size_t from, rs_border kind, const places *p, size_t period,
                     border_set *best)
{
    static const size_t around[] = {0, 1, 4, 16};
    set_search x = {.s = s, .from = from, .period = period, .kind = kind, .n = p->n};
    x.items = rs_malloc((p->n + 1) * sizeof *x.items);
    bool ok = x.items != NULL;
    for (size_t a = 0; ok && a < sizeof around / sizeof *around && best->n == 0; a++) {
        for (size_t i = 0; i < p->n; i++)
            x.items[i] = (keyed_place){around[a] ? context_of(s, p->at[i], around[a]) : 1, p->at[i]};
        RS_SORT(x.items, p->n, by_key);
        ok = take_best(&x, best);
    }
    rs_free(x.items);
    return ok;
}

/* ---- steps --------------------------------------------------------------------------------------------- */

typedef struct step_builder {
    const rs_tokens *s;
    size_t from; /* first work that was launched in the file */
    size_t period;
    double least; /* likeness that two steps need */
    rs_stretch *steps;
    size_t n, capacity;
    rs_stretch model; /* a step between two borders */
} step_builder;

static bool is_step(const step_builder *b, rs_stretch x)
{
    return rs_stretch_likeness(b->s, x, b->model) >= b->least;
}

static bool add_step(step_builder *b, rs_stretch x)
{
    return RS_PUSH(b->steps, b->n, b->capacity, x);
}

/* The first stretch between two borders, or the ends, that is like another one. */
static bool find_model(step_builder *b, const border_set *set)
{
    rs_stretch kept = {0, 0};
    for (size_t i = 0; i <= set->n; i++) {
        size_t first = i ? set->at[i - 1] : b->from, end = i < set->n ? set->at[i] : b->s->n;
        rs_stretch x = {first, end - first};
        if (!is_near(x.n, b->period)) continue;
        if (!kept.n) b->model = x;
        if (kept.n && rs_stretch_likeness(b->s, kept, x) >= b->least) {
            b->model = kept;
            return true;
        }
        kept = x;
    }
    return kept.n > 0;
}

/* Steps before the first border: the recording may have begun behind what marks it. */
static bool add_head(step_builder *b, size_t first)
{
    size_t steps = 0, at = first;
    while (at >= b->from + b->model.n && is_step(b, (rs_stretch){at - b->model.n, b->model.n})) {
        at -= b->model.n;
        steps++;
    }
    bool ok = true;
    for (size_t i = 0; ok && i < steps; i++) ok = add_step(b, (rs_stretch){at + i * b->model.n, b->model.n});
    return ok;
}

/* What is between borders is a step where it is as long as the period; where it is longer, as much of it as
 * a step has, if that is like one. */
static bool add_between(step_builder *b, size_t first, size_t end)
{
    rs_stretch x = {first, end - first};
    if (is_near(x.n, b->period)) return !is_step(b, x) || add_step(b, x);
    if (x.n < b->model.n) return true;
    x.n = b->model.n;
    return !is_step(b, x) || add_step(b, x);
}

static bool make_steps(step_builder *b, const border_set *set)
{
    if (!find_model(b, set)) return true;
    bool ok = add_head(b, set->at[0]);
    for (size_t i = 0; ok && i < set->n; i++)
        ok = add_between(b, set->at[i], i + 1 < set->n ? set->at[i + 1] : b->s->n);
    return ok;
}

/* Whether steps hold enough of the work, and some of the optimizer each where there is one at all. */
static bool are_steps(const step_builder *b)
{
    size_t covered = 0, optimizer = 0, with = 0;
    if (b->n < 2) return false;
    for (size_t i = b->from; i < b->s->n; i++) optimizer += (b->s->mark[i] & RS_MARK_OPTIMIZER) != 0;
    for (size_t i = 0; i < b->n; i++) {
        size_t mine = 0;
        for (size_t k = 0; k < b->steps[i].n; k++)
            mine += (b->s->mark[b->steps[i].first + k] & RS_MARK_OPTIMIZER) != 0;
        with += mine > 0;
        covered += b->steps[i].n;
    }
    return covered * 2 >= b->s->n - b->from && (optimizer == 0 || with == b->n);
}

/* One answer to where the steps are. */
typedef struct division {
    rs_border border;
    rs_stretch *steps; /* owned */
    size_t n_steps;
    int64_t gap;
} division;

/* Leaves *out without steps where borders of that kind do not come once a period. */
static bool divide(const rs_tokens *s, size_t from, size_t period, double least, rs_border kind,
                   const places *p, division *out)
{
    border_set set = {0};
    step_builder b = {.s = s, .from = from, .period = period, .least = least};
    *out = (division){.border = kind};
    bool ok = p->n == 0 || best_set(s, from, kind, p, period, &set);
    if (ok && set.n) ok = make_steps(&b, &set);
    if (ok && set.n && are_steps(&b)) {
        *out = (division){kind, b.steps, b.n, set.gap};
        b.steps = NULL;
    }
    rs_free_all(b.steps, set.at);
    return ok;
}

/* ---- which period is the step -------------------------------------------------------------------------- */

/* A pause that is no ordinary one: five times the median. */
static bool long_pause(const rs_tokens *s, size_t from, int64_t *out)
{
    size_t n = s->n - from;
    RS_LOCAL int64_t *gaps = rs_malloc((n + 1) * sizeof *gaps);
    if (!gaps) return false;
    memcpy(gaps, s->gap + from, n * sizeof *gaps);
    RS_SORT(gaps, n, by_time);
    int64_t middle = n ? gaps[n / 2] : 0;
    *out = middle > 0 ? rs_add_sat(rs_add_sat(middle, middle), rs_add_sat(middle, rs_add_sat(middle, middle)))
                      : 1000;
    return true;
}

/* The smallest candidate within 0.02 of the best score. */
static const candidate *smallest_of_best(const candidates *c)
{
    double best = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i].score > best) best = c->items[i].score;
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i].score >= best - 0.02) return &c->items[i];
    return NULL;
}

/* What there is to choose from. */
typedef struct choice {
    const rs_tokens *s;
    size_t from; /* first work that was launched in the file */
    const candidates *candidates;
    places places[RS_N_BORDERS];
    division best;
} choice;

/* Takes the division if its host pauses longer at the border than at that of the best so far. */
static bool offer(choice *c, size_t period, double least, rs_border kind)
{
    division d;
    bool ok = divide(c->s, c->from, period, least, kind, &c->places[kind], &d);
    if (ok && d.n_steps && (!c->best.n_steps || d.gap > c->best.gap)) {
        rs_free(c->best.steps);
        c->best = d;
        d.steps = NULL;
    }
    rs_free(d.steps);
    return ok;
}

/* A loader or an optimizer marks steps and nothing smaller: the smallest period that has them is the step,
 * even where other programs (an evaluation now and then) make longer periods score higher. */
static bool choose_strong(choice *c, const candidate **chosen)
{
    const candidates *all = c->candidates;
    bool ok = true;
    *chosen = NULL;
    for (int kind = RS_BORDER_LOADER; kind <= RS_BORDER_OPTIMIZER; kind++) {
        if (c->places[kind].n == 0) continue;
        for (size_t i = 0; ok && i < all->n; i++) {
            if (cover_of(c->s, all->items[i].period) < 0.5) continue;
            ok = offer(c, all->items[i].period, 0.9, (rs_border)kind);
            if (!c->best.n_steps) continue;
            *chosen = &all->items[i];
            return ok;
        }
    }
    return ok;
}

/* Behind the optimizer metrics may be computed before the next step begins with its batch: of the end of the
 * optimizer and copies to the device, the one where the host pauses longer is the border. A layer may have
 * copies, too, so without a loader or an optimizer the period is that of the score. */
static rs_status choose(choice *c, rs_repetition *out, rs_error *err)
{
    const candidate *best = smallest_of_best(c->candidates), *strong;
    double runner = runner_up(c->candidates, best->period);
    bool weak = best->score < 0.9 && best->score >= 3 * runner;
    bool ok = choose_strong(c, &strong);
    if (strong) best = strong;
    double least = strong || best->score >= 0.9 ? 0.9 : 0.1;
    if (ok && !strong && best->score < 0.9 && !weak) least = 2; /* nothing is like that */
    if (ok && least <= 1 && c->best.border != RS_BORDER_LOADER)
        ok = offer(c, best->period, least, RS_BORDER_TO_DEVICE);
    for (int kind = RS_BORDER_READ_BACK; ok && least <= 1 && !c->best.n_steps && kind < RS_N_BORDERS; kind++)
        ok = offer(c, best->period, least, (rs_border)kind);
    if (!ok) return rs_fail_nomem(err, "steps");
    *out = (rs_repetition){.period = best->period,
                           .score = best->score,
                           .runner_up = runner_up(c->candidates, best->period),
                           .weak = !strong && weak,
                           .border = c->best.n_steps ? c->best.border : RS_BORDER_NONE,
                           .steps = c->best.steps,
                           .n_steps = c->best.n_steps};
    c->best.steps = NULL;
    return RS_OK;
}

static bool find_all_places(choice *c)
{
    int64_t pause;
    bool ok = long_pause(c->s, c->from, &pause);
    for (int kind = RS_BORDER_LOADER; ok && kind < RS_N_BORDERS; kind++)
        ok = find_places(c->s, c->from, (rs_border)kind, pause, &c->places[kind]);
    return ok;
}

rs_status rs_repetition_find(const rs_tokens *s, rs_repetition *out, rs_error *err)
{
    *out = (rs_repetition){0};
    size_t from = 0;
    while (from < s->n && s->mark[from] & RS_MARK_UNLAUNCHED) from++;
    if (from == s->n) from = 0;
    if (s->n - from < 2 * LEAST_PERIOD) return RS_OK;
    candidates all;
    if (!find_candidates(s, &all)) return rs_fail_nomem(err, "steps");
    if (all.n == 0) return RS_OK;
    for (size_t i = 0; i < all.n; i++) all.items[i].score = score_of(s, all.items[i].period);
    choice c = {.s = s, .from = from, .candidates = &all};
    rs_status status = find_all_places(&c) ? choose(&c, out, err) : rs_fail_nomem(err, "steps");
    for (int kind = 0; kind < RS_N_BORDERS; kind++) rs_free(c.places[kind].at);
    rs_free(c.best.steps);
    return status;
}

void rs_repetition_clear(rs_repetition *r)
{
    rs_free(r->steps);
    *r = (rs_repetition){0};
}
