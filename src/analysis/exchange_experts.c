/* exchange: dispatch and combine of mixtures of experts, without metadata of process groups. */
#include <math.h>
#include <string.h>

#include "analysis/exchange.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/try.h"
#include "trace/comm_kernels.h"

static const rs_field fields[] = {RS_FIELDS(rs_exchange_call, call.start, call.end, call.exposed,
                                            call.experts, call.step, call.layer, call.row),
                                  RS_FIELD_BELOW(rs_exchange_call, call.role, RS_N_EXPERT_ROLES),
                                  RS_FIELD_BELOW(rs_exchange_call, call.phase, RS_N_PHASES),
                                  RS_FIELD_TEXT_ID(rs_exchange_call, stack)};
const rs_layout rs_exchange_call_layout = RS_LAYOUT(rs_exchange_call, fields);

rs_status rs_exchange_put_calls(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    rs_coll_rank *ops;
    size_t n;
    RS_LOCAL rs_expert_call *calls = NULL;
    RS_TRY(rs_coll_rank_of(trace, run->policy, &ops, err));
    rs_status status = rs_expert_calls_of(trace, run->policy, ops, &calls, &n, err);
    rs_coll_rank_free(ops);
    RS_TRY(status);
    for (size_t i = 0; i < n; i++) {
        const char *name = rs_event_name(trace->events, calls[i].row);
        const char *stack = rs_comm_family_of(name, strlen(name))->name;
        rs_put(out, RS_EXCHANGE_CALLS, &(rs_exchange_call){calls[i], rs_put_string(out, stack)});
    }
    return RS_OK;
}

/* Partials may come from anywhere: sums of their times may be beyond what whole numbers hold. */
static int64_t to_ns(double ns)
{
    return ns >= 9e18 ? INT64_MAX : ns <= -9e18 ? INT64_MIN + 1 : rs_int_of(ns);
}

/* ---- all ranks ----------------------------------------------------------------------------------------- */

/* The lines of one library, role and phase, in order of ranks. */
typedef struct key {
    const char *stack;
    uint8_t role, phase;
    rs_expert_line *lines;
    size_t *of;                     /* by line: index of its rank */
    const rs_expert_line **partner; /* by line, while balance is made: the combines of the same rank */
    double *share; /* by line: the team's mean load over that of its rank, over all calls; 0: unknown */
    size_t n;
} key;

static bool is_of(const rs_relations *p, const rs_exchange_call *c, const key *k)
{
    return c->call.role == k->role && c->call.phase == k->phase && rs_relations_text(p, c->stack) &&
           strcmp(rs_relations_text(p, c->stack), k->stack) == 0;
}

/* Adds the line of a rank, where it has calls of the key. */
static bool add_line(key *k, const rs_relations *p, size_t rank, rs_relations *out)
{
    const rs_exchange_call *calls = RS_ROWS(rs_exchange_call, p, RS_EXCHANGE_CALLS);
    size_t n = 0, at = 0;
    for (size_t i = 0; i < p->items[RS_EXCHANGE_CALLS].n; i++) n += is_of(p, &calls[i], k);
    if (!n) return true;
    const rs_expert_call **list = RS_ROOM(out, const rs_expert_call *, n);
    int64_t *least = RS_ROOM(out, int64_t, n);
    if (!list || !least) return false;
    for (size_t i = 0; at < n; i++)
        if (is_of(p, &calls[i], k)) list[at++] = &calls[i].call;
    k->of[k->n] = rank;
    k->lines[k->n++] = (rs_expert_line){.calls = list, .n = n, .least = least};
    return true;
}

static bool find_lines(key *k, const rs_partial *partials, size_t n, rs_relations *out)
{
    k->n = 0;
    k->lines = RS_ROOM(out, rs_expert_line, n);
    k->of = RS_ROOM(out, size_t, n);
    k->share = RS_ROOM(out, double, n);
    k->partner = RS_ROOM(out, const rs_expert_line *, n);
    if (!k->lines || !k->of || !k->share || !k->partner) return false;
    for (size_t r = 0; r < n; r++)
        if (!add_line(k, partials[r].value, r, out)) return false;
    return rs_expert_teams(k->lines, k->n);
}

static void put_line(const key *k, size_t at, int64_t rank, rs_relations *out)
{
    const rs_expert_line *line = &k->lines[at];
    rs_exchange_experts row = {.rank = rank,
                               .calls = (int64_t)line->n,
                               .least = INT64_MAX,
                               .ranks = (int64_t)line->size,
                               .wait = RS_NO_VALUE,
                               .transfer = RS_NO_VALUE,
                               .within = RS_NO_VALUE,
                               .stack = rs_put_string(out, k->stack),
                               .role = rs_put_string(out, rs_expert_role_names[k->role]),
                               .phase = rs_put_string(out, rs_phase_names[k->phase])};
    int64_t transfer = 0;
    for (size_t i = 0; i < line->n; i++) {
        const int64_t time = rs_expert_duration(line->calls[i]);
        row.time = rs_add_sat(row.time, time);
        row.exposed = rs_add_sat(row.exposed, line->calls[i]->exposed);
        if (time < row.least) row.least = time;
        if (time > row.greatest) row.greatest = time;
        if (line->size > 1) transfer = rs_add_sat(transfer, rs_expert_transfer(k->lines, line, i));
    }
    row.mean = row.time / row.calls;
    if (line->size > 1) {
        row.transfer = transfer;
        row.wait = rs_sub_sat(row.time, transfer);
        row.within = to_ns((double)line->spread * (double)row.calls);
    }
    rs_put(out, RS_EXCHANGE_EXPERTS, &row);
}

/* ---- loads --------------------------------------------------------------------------------------------- */

static double load_of(const rs_expert_line *line)
{
    double sum = 0;
    for (size_t i = 0; i < line->n; i++)
        if (line->calls[i]->experts != RS_NO_VALUE) sum += (double)line->calls[i]->experts;
    return sum;
}

static void set_shares(const key *k, size_t team)
{
    double sum = 0;
    for (size_t i = team; i < k->n; i++) {
        if (k->lines[i].team == team) sum += k->share[i] = load_of(&k->lines[i]);
    }
    for (size_t i = team; i < k->n; i++)
        if (k->lines[i].team == team && k->share[i] > 0)
            k->share[i] = sum / (double)k->lines[team].size / k->share[i];
}

/* The greatest computation of a team after dispatch k if each rank had the mean load: what varies from call to call stays. */
static double most_if_equal(const key *k, size_t team, size_t call)
{
    double most = 0;
    for (size_t i = team; i < k->n; i++)
        if (k->lines[i].team == team)
            most = fmax(most, k->share[i] * (double)k->lines[i].calls[call]->experts);
    return most;
}

/* The mean of a team's computation after dispatch k, and the greatest. false: a member's is not known. */
static bool loads_of(const key *k, size_t team, size_t call, double *mean, int64_t *most)
{
    double sum = 0;
    size_t n = 0;
    *most = 0;
    for (size_t i = team; i < k->n; i++) {
        if (k->lines[i].team != team) continue;
        int64_t time = k->lines[i].calls[call]->experts;
        if (time == RS_NO_VALUE) return false;
        sum += (double)time;
        n++;
        if (time > *most) *most = time;
    }
    *mean = sum / (double)n;
    return true;
}

/* One row for each layer of a rank; calls of no layer are one. */
static void put_load(const key *k, size_t at, size_t call, double mean, const rs_partial *partials,
                     rs_relations *out)
{
    const rs_expert_call *c = k->lines[at].calls[call];
    rs_put(out, RS_EXCHANGE_LOADS,
           &(rs_exchange_load){.rank = partials[k->of[at]].rank,
                               .layer = c->layer,
                               .calls = 1,
                               .time = c->experts,
                               .mean = to_ns(mean),
                               .phase = rs_put_string(out, rs_phase_names[k->phase])});
}

static void put_loads(const key *k, size_t team, const rs_partial *partials, rs_relations *out)
{
    double mean;
    int64_t most;
    for (size_t call = 0; call < k->lines[team].n; call++) {
        if (!loads_of(k, team, call, &mean, &most)) continue;
        for (size_t i = team; i < k->n; i++)
            if (k->lines[i].team == team) put_load(k, i, call, mean, partials, out);
    }
}

/* Of each line of a team the combines of the same rank; NULL: there are none. Both are in order of ranks. */
static void find_partners(const key *dispatch, size_t team, const key *combine)
{
    size_t at = 0;
    for (size_t i = team; i < dispatch->n; i++) {
        while (at < combine->n && combine->of[at] < dispatch->of[i]) at++;
        dispatch->partner[i] =
            at < combine->n && combine->of[at] == dispatch->of[i] ? &combine->lines[at] : NULL;
    }
}

/* What a team's ranks wait in the combines on average, ns, and of that what no computation hides. false: that is not known, since
 * the combines are of another number or the ranks do not come together in them. */
static bool waits_of(const key *dispatch, size_t team, const key *combine, size_t call, double *wait,
                     double *exposed)
{
    size_t n = 0;
    *wait = *exposed = 0;
    for (size_t i = team; i < dispatch->n; i++) {
        if (dispatch->lines[i].team != team) continue;
        const rs_expert_line *line = dispatch->partner[i];
        if (!line || line->n != dispatch->lines[i].n || line->size != dispatch->lines[i].size) return false;
        const rs_expert_call *c = line->calls[call];
        double w = (double)rs_sub_sat(rs_expert_duration(c), rs_expert_transfer(combine->lines, line, call));
        *wait += w;
        *exposed += w < (double)c->exposed ? w : (double)c->exposed;
        n++;
    }
    *wait /= (double)n;
    *exposed /= (double)n;
    return true;
}

/* Independent measures of what unequal loads cost: the slowest rank's computation above what it would be if only the ranks' totals were equal,
 * the same above the mean of each call, and what ranks wait in combine. The gain is between the least and the greatest; what
 * computation hides of the waits need not be gained. */
static void put_balance(const key *dispatch, size_t team, const key *combine, int64_t first_rank,
                        rs_relations *out)
{
    const rs_expert_line *line = &dispatch->lines[team];
    rs_exchange_balance row = {.first_rank = first_rank,
                               .ranks = (int64_t)line->size,
                               .phase = rs_put_string(out, rs_phase_names[dispatch->phase])};
    double low = 0, high = 0, mean, mean_sum = 0, wait, exposed;
    int64_t most;
    set_shares(dispatch, team);
    find_partners(dispatch, team, combine);
    for (size_t i = 0; i < line->n; i++) {
        if (!loads_of(dispatch, team, i, &mean, &most) ||
            !waits_of(dispatch, team, combine, i, &wait, &exposed))
            continue;
        double more = (double)most - mean;
        low += fmin((double)most - most_if_equal(dispatch, team, i), exposed) - (double)line->spread;
        high += fmax(more, wait) + (double)line->spread;
        mean_sum += mean;
        row.slowest = rs_add_sat(row.slowest, most);
        row.calls++;
    }
    if (!row.calls) return;
    row.mean = to_ns(mean_sum);
    row.low = low > 0 ? to_ns(low) : 0;
    row.high = to_ns(high);
    rs_put(out, RS_EXCHANGE_BALANCE, &row);
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

typedef struct keys {
    key *items;
    size_t n, capacity;
} keys;

static const key *key_of(const keys *list, const char *stack, uint8_t role, uint8_t phase)
{
    for (size_t i = 0; i < list->n; i++) {
        const key *k = &list->items[i];
        if (k->role == role && k->phase == phase && strcmp(k->stack, stack) == 0) return k;
    }
    return NULL;
}

/* Room for one more, in scratch memory, which goes when the relations are made. */
static bool add_key(keys *list, key k, rs_relations *out)
{
    if (list->n == list->capacity) {
        key *more = RS_ROOM(out, key, 2 * list->capacity + 16);
        if (!more) return false;
        if (list->n) memcpy(more, list->items, list->n * sizeof *more);
        list->items = more;
        list->capacity = 2 * list->capacity + 16;
    }
    list->items[list->n++] = k;
    return true;
}

static bool find_keys(const rs_partial *partials, size_t n, keys *list, rs_relations *out)
{
    for (size_t r = 0; r < n; r++) {
        const rs_relations *p = partials[r].value;
        const rs_exchange_call *calls = RS_ROWS(rs_exchange_call, p, RS_EXCHANGE_CALLS);
        for (size_t i = 0; i < p->items[RS_EXCHANGE_CALLS].n; i++) {
            const rs_expert_call *c = &calls[i].call;
            const char *stack = rs_relations_text(p, calls[i].stack);
            if (!stack || key_of(list, stack, c->role, c->phase)) continue;
            if (!add_key(list, (key){.stack = stack, .role = c->role, .phase = c->phase}, out)) return false;
        }
    }
    for (size_t i = 0; i < list->n; i++)
        if (!find_lines(&list->items[i], partials, n, out)) return false;
    return true;
}

rs_status rs_exchange_put_experts(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                                  rs_error *err)
{
    keys *list = RS_ROOM(out, keys, 1);
    (void)run;
    if (!list || !find_keys(partials, n, list, out)) return rs_fail_nomem(err, "dispatch and combine");
    out->work = list;
    for (size_t i = 0; i < list->n; i++)
        for (size_t k = 0; k < list->items[i].n; k++)
            put_line(&list->items[i], k, partials[list->items[i].of[k]].rank, out);
    return RS_OK;
}

rs_status rs_exchange_put_loads(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                                rs_error *err)
{
    const keys *list = out->work;
    (void)run;
    (void)n;
    (void)err;
    for (size_t i = 0; i < list->n; i++) {
        const key *k = &list->items[i];
        for (size_t at = 0; k->role == RS_EXPERT_DISPATCH && at < k->n; at++)
            if (k->lines[at].team == at && k->lines[at].size > 1) put_loads(k, at, partials, out);
    }
    return RS_OK;
}

rs_status rs_exchange_put_balance(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                                  rs_error *err)
{
    const keys *list = out->work;
    (void)run;
    (void)n;
    (void)err;
    for (size_t i = 0; i < list->n; i++) {
        const key *k = &list->items[i], *combine = key_of(list, k->stack, RS_EXPERT_COMBINE, k->phase);
        for (size_t at = 0; k->role == RS_EXPERT_DISPATCH && combine && at < k->n; at++)
            if (k->lines[at].team == at && k->lines[at].size > 1)
                put_balance(k, at, combine, partials[k->of[at]].rank, out);
    }
    return RS_OK;
}
