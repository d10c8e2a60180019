/* Telling ranks apart by process and by order in the file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/finder.h"
#include "base/interval.h"
#include "trace/domains_internal.h"
#include "trace/trace_internal.h"

/* ---- one rank a launching process -------------------------------------------------------------------- */

typedef struct owners {
    const rs_events *e;
    const rs_pids *p;
    size_t n_cpu, n_gpu;
    uint32_t *place;     /* by process: its place among the launching or the working ones, RS_NO_DOMAIN */
    uint32_t *cpu, *gpu; /* processes by place; cpu by ascending pid */
    rs_finder calls;     /* by process and correlation: the first such call, as a place in the column */
    rs_finder heads;     /* by correlation: one call of calls; the others follow by next_of */
    uint32_t *next_of;   /* by place: the next call of calls with that correlation, RS_FINDER_NONE */
    uint32_t *shared;    /* [gpu][cpu]: GPU events whose correlation that process launched under */
    uint32_t *early;     /* [gpu][cpu]: ... but later than the event started */
    size_t *n_work;      /* by gpu: events with a correlation */
    uint32_t *owner;     /* by gpu: the place of its launching process */
} owners;

static uint64_t call_key(uint32_t process, int64_t correlation)
{
    return rs_hash_u64((uint64_t)correlation ^ ((uint64_t)process << 44)) ^ process;
}

static void owners_clear(owners *o)
{
    rs_free_all(o->place, o->cpu, o->gpu);
    rs_finder_clear(&o->calls);
    rs_finder_clear(&o->heads);
    rs_free_all(o->next_of, o->shared, o->early, o->n_work, o->owner);
}

/* Process ids that are texts come behind the numbers, in the order in which the file has them. */
static void order_texts(const owners *o, rs_keyed *order)
{
    bool any = false;
    for (size_t i = 0; i < o->p->n; i++) {
        if (order[i].key > -(INT64_C(1) << 62)) continue;
        order[i].key = INT64_MAX;
        any = true;
    }
    for (size_t i = 0; any && i < o->e->n; i++) {
        rs_keyed *k = &order[o->p->of_thread[o->e->thread[i]]];
        if (k->key == INT64_MAX) k->key = (INT64_C(1) << 62) + (int64_t)i;
    }
}

/* GPU work whose process id was lost goes with its neighbours, where other work has one. */
static void leave_nameless(owners *o)
{
    size_t kept = 0;
    for (size_t g = 0; g < o->n_gpu; g++) kept += o->p->pid[o->gpu[g]] != RS_NO_VALUE;
    if (kept == o->n_gpu || kept == 0) return;
    kept = 0;
    for (size_t g = 0; g < o->n_gpu; g++) {
        bool named = o->p->pid[o->gpu[g]] != RS_NO_VALUE;
        o->place[o->gpu[g]] = named ? (uint32_t)kept : RS_NO_DOMAIN;
        if (named) o->gpu[kept++] = o->gpu[g];
    }
    o->n_gpu = kept;
}

/* Work that belongs to one of the processes of the GPU. */
static bool is_placed_work(const owners *o, uint32_t row)
{
    uint32_t process = o->p->of_thread[o->e->thread[row]];
    return rs_kind_is_gpu_work(rs_event_kind(o->e, row)) && !(o->p->flags[process] & RS_PID_CALLS) &&
           o->place[process] != RS_NO_DOMAIN;
}

/* Launching processes that own GPU work, by ascending pid, and the processes that hold it. */
static bool list_processes(owners *o)
{
    const rs_pids *p = o->p;
    if (!o->place) o->place = rs_malloc(p->n * sizeof *o->place);
    if (!o->cpu) o->cpu = rs_malloc(p->n * sizeof *o->cpu);
    if (!o->gpu) o->gpu = rs_malloc(p->n * sizeof *o->gpu);
    o->n_cpu = o->n_gpu = 0;
    RS_LOCAL rs_keyed *order = rs_malloc(p->n * sizeof *order);
    bool ok = o->place && o->cpu && o->gpu && order;
    for (size_t i = 0; ok && i < p->n; i++) order[i] = (rs_keyed){p->pid[i], (uint32_t)i};
    if (ok) order_texts(o, order);
    ok = ok && rs_keyed_sort(order, p->n);
    for (size_t i = 0; ok && i < p->n; i++) {
        uint32_t at = order[i].value;
        o->place[at] = RS_NO_DOMAIN;
        if (p->flags[at] & RS_PID_CALLS) {
            o->place[at] = (uint32_t)o->n_cpu;
            o->cpu[o->n_cpu++] = at;
        } else if (p->flags[at] & RS_PID_WORKS) {
            o->place[at] = (uint32_t)o->n_gpu;
            o->gpu[o->n_gpu++] = at;
        }
    }
    if (ok) leave_nameless(o);
    return ok;
}

static uint32_t process_at(const owners *o, size_t place)
{
    return o->p->of_thread[o->e->thread[o->e->args[RS_COL_CORRELATION].rows[place]]];
}

/* The ids of one process stay neighbours, those of two begin elsewhere. */
static uint64_t key_of(uint32_t process, int64_t correlation)
{
    return (uint64_t)correlation + ((uint64_t)process << 44);
}

static uint32_t *call_slot(const owners *o, uint32_t process, int64_t correlation)
{
    const rs_sparse *ids = &o->e->args[RS_COL_CORRELATION];
    const uint32_t *slots = o->calls.slots;
    size_t at = rs_finder_first(&o->calls, key_of(process, correlation));
    while (slots[at] != RS_FINDER_NONE &&
           (rs_sparse_int(ids, slots[at]) != correlation || process_at(o, slots[at]) != process))
        at = rs_finder_next(&o->calls, at);
    return &o->calls.slots[at];
}

/* The row of the first call of a process under a correlation, RS_NO_ROW. */
static uint32_t call_of(const owners *o, uint32_t process, int64_t correlation)
{
    uint32_t place = *call_slot(o, process, correlation);
    return place == RS_FINDER_NONE ? RS_NO_ROW : o->e->args[RS_COL_CORRELATION].rows[place];
}

static uint32_t *head_slot(const owners *o, int64_t correlation)
{
    const rs_sparse *ids = &o->e->args[RS_COL_CORRELATION];
    const uint32_t *slots = o->heads.slots;
    size_t at = rs_finder_first(&o->heads, (uint64_t)correlation);
    while (slots[at] != RS_FINDER_NONE && rs_sparse_int(ids, slots[at]) != correlation)
        at = rs_finder_next(&o->heads, at);
    return &o->heads.slots[at];
}

/* As rs_finder_fetch_ahead, whose keys have no process in them. */
static void fetch_call_ahead(const owners *o, const rs_sparse *c, size_t i)
{
    size_t ahead = i + RS_FINDER_AHEAD;
    if (ahead < c->n) rs_finder_fetch(&o->calls, key_of(process_at(o, ahead), rs_sparse_int(c, ahead)));
}

static bool index_calls(owners *o)
{
    const rs_events *e = o->e;
    const rs_sparse *c = &e->args[RS_COL_CORRELATION];
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) n += rs_kind_is_call(rs_event_kind(e, c->rows[i]));
    o->next_of = rs_malloc((c->n + 1) * sizeof *o->next_of);
    if (!o->next_of || !rs_finder_init(&o->calls, n) || !rs_finder_init(&o->heads, n)) return false;
    for (size_t i = 0; n && i < c->n; i++) {
        rs_finder_fetch_ahead(&o->heads, c, i);
        fetch_call_ahead(o, c, i);
        if (!rs_kind_is_call(rs_event_kind(e, c->rows[i]))) continue;
        uint32_t *slot = call_slot(o, process_at(o, i), rs_sparse_int(c, i));
        if (*slot != RS_FINDER_NONE) continue;
        *slot = (uint32_t)i;
        uint32_t *head = head_slot(o, rs_sparse_int(c, i));
        o->next_of[i] = *head;
        *head = (uint32_t)i;
    }
    return true;
}

static bool count_shared(owners *o)
{
    const rs_events *e = o->e;
    const rs_sparse *c = &e->args[RS_COL_CORRELATION];
    o->shared = rs_calloc(o->n_gpu * o->n_cpu, sizeof *o->shared);
    o->early = rs_calloc(o->n_gpu * o->n_cpu, sizeof *o->early);
    o->n_work = rs_calloc(o->n_gpu, sizeof *o->n_work);
    if (!o->shared || !o->early || !o->n_work) return false;
    for (size_t i = 0; i < c->n; i++) {
        uint32_t row = c->rows[i], process = o->p->of_thread[e->thread[row]];
        rs_finder_fetch_ahead(&o->heads, c, i);
        if (!is_placed_work(o, row)) continue;
        uint32_t g = o->place[process];
        o->n_work[g]++;
        uint32_t call = *head_slot(o, rs_sparse_int(c, i));
        for (; call != RS_FINDER_NONE; call = o->next_of[call]) {
            size_t k = o->place[process_at(o, call)];
            o->shared[g * o->n_cpu + k]++;
            o->early[g * o->n_cpu + k] += e->start[row] < e->start[c->rows[call]];
        }
    }
    return true;
}

/* Leaves only the launching processes whose calls own GPU work. A process without any is no rank. */
static void drop_idle_processes(owners *o)
{
    size_t kept = 0;
    for (size_t k = 0; k < o->n_cpu; k++) {
        bool owns = (o->p->flags[o->cpu[k]] & RS_PID_WORKS) != 0;
        for (size_t g = 0; g < o->n_gpu; g++) owns = owns || o->shared[g * o->n_cpu + k] > 0;
        o->place[o->cpu[k]] = RS_NO_DOMAIN;
        if (!owns) continue;
        for (size_t g = 0; g < o->n_gpu; g++) {
            /* the table keeps its row length; columns move to the left */
            o->shared[g * o->n_cpu + kept] = o->shared[g * o->n_cpu + k];
            o->early[g * o->n_cpu + kept] = o->early[g * o->n_cpu + k];
        }
        o->cpu[kept] = o->cpu[k];
        o->place[o->cpu[kept]] = (uint32_t)kept;
        kept++;
    }
    for (size_t g = 0; g < o->n_gpu; g++) {
        memmove(o->shared + g * kept, o->shared + g * o->n_cpu, kept * sizeof *o->shared);
        memmove(o->early + g * kept, o->early + g * o->n_cpu, kept * sizeof *o->early);
    }
    o->n_cpu = kept;
}

static bool is_host_event(rs_kind kind)
{
    return kind == RS_KIND_CPU_OP || rs_kind_is_call(kind);
}

/* The launching process whose block of the file each GPU process' events are in, where that is always one.
 */
static bool owner_by_neighbourhood(owners *o)
{
    const rs_events *e = o->e;
    memset(o->owner, 0xff, o->n_gpu * sizeof *o->owner);
    uint32_t block = RS_NO_DOMAIN;
    for (size_t i = 0; i < e->n; i++) {
        uint32_t process = o->p->of_thread[e->thread[i]], place = o->place[process];
        if (place == RS_NO_DOMAIN) continue;
        rs_kind kind = rs_event_kind(e, i);
        if (o->p->flags[process] & RS_PID_CALLS) {
            if (is_host_event(kind)) block = place;
        } else if (rs_kind_is_gpu_work(kind)) {
            if (block == RS_NO_DOMAIN || (o->owner[place] != RS_NO_DOMAIN && o->owner[place] != block))
                return false;
            o->owner[place] = block;
        }
    }
    return true;
}

/* Every launching process has one GPU process and the other way round. */
static bool is_one_to_one(const owners *o)
{
    if (o->n_gpu != o->n_cpu) return false;
    for (size_t g = 0; g < o->n_gpu; g++) {
        if (o->owner[g] == RS_NO_DOMAIN) return false;
        for (size_t h = 0; h < g; h++)
            if (o->owner[h] == o->owner[g]) return false;
    }
    return true;
}

/* No work starts before a call of its process that has the same correlation. O(events). */
static bool neighbours_are_causal(const owners *o)
{
    const rs_events *e = o->e;
    const rs_sparse *c = &e->args[RS_COL_CORRELATION];
    for (size_t i = 0; i < c->n; i++) {
        uint32_t row = c->rows[i], process = o->p->of_thread[e->thread[row]];
        if (!is_placed_work(o, row)) continue;
        uint32_t owner = o->owner[o->place[process]];
        uint32_t call = call_of(o, o->cpu[owner], rs_sparse_int(c, i));
        if (call != RS_NO_ROW && e->start[row] < e->start[call]) return false;
    }
    return true;
}

/* Leaves only the launching processes that own GPU work by neighbourhood. false when out of memory. */
static bool keep_owners(owners *o)
{
    RS_LOCAL uint32_t *to = rs_malloc(o->n_cpu * sizeof *to);
    if (!to) return false;
    size_t kept = 0;
    for (size_t k = 0; k < o->n_cpu; k++) {
        bool owns = (o->p->flags[o->cpu[k]] & RS_PID_WORKS) != 0;
        for (size_t g = 0; g < o->n_gpu && !owns; g++) owns = o->owner[g] == k;
        to[k] = owns ? (uint32_t)kept : RS_NO_DOMAIN;
        o->place[o->cpu[k]] = to[k];
        if (owns) o->cpu[kept++] = o->cpu[k];
    }
    for (size_t g = 0; g < o->n_gpu; g++)
        if (o->owner[g] != RS_NO_DOMAIN) o->owner[g] = to[o->owner[g]];
    o->n_cpu = kept;
    return true;
}

/* The assignment breaks no launch: all work that has a launch anywhere has it in its own process, later than
 * it. */
static bool is_causal(const owners *o)
{
    for (size_t g = 0; g < o->n_gpu; g++) {
        const uint32_t *shared = o->shared + g * o->n_cpu;
        uint32_t most = 0;
        for (size_t k = 0; k < o->n_cpu; k++) most = shared[k] > most ? shared[k] : most;
        if (o->owner[g] == RS_NO_DOMAIN || shared[o->owner[g]] < most ||
            o->early[g * o->n_cpu + o->owner[g]] > 0)
            return false;
    }
    return true;
}

/* The launching process that shares the most correlations, where it is the only one. */
static bool owner_by_correlation(owners *o)
{
    for (size_t g = 0; g < o->n_gpu; g++) {
        const uint32_t *shared = o->shared + g * o->n_cpu;
        uint32_t most = 0, times = 0;
        for (size_t k = 0; k < o->n_cpu; k++) {
            if (shared[k] > most) {
                most = shared[k];
                times = 0;
                o->owner[g] = (uint32_t)k;
            }
            times += shared[k] == most;
        }
        if (most == 0 || times != 1) return false;
    }
    return true;
}

static int64_t median_start(const owners *o, uint32_t process, bool work, rs_keyed *keys, bool *ok)
{
    const rs_events *e = o->e;
    const rs_sparse *c = &e->args[RS_COL_CORRELATION];
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        rs_kind kind = rs_event_kind(e, c->rows[i]);
        if (o->p->of_thread[e->thread[c->rows[i]]] != process) continue;
        if (work ? rs_kind_is_gpu_work(kind) : rs_kind_is_call(kind))
            keys[n++] = (rs_keyed){e->start[c->rows[i]], 0};
    }
    *ok = *ok && n > 0 && rs_keyed_sort(keys, n);
    return n ? keys[n / 2].key : 0;
}

/* Both sides by the median of their starts, paired in that order. Two equal medians tell nothing. */
static bool owner_by_time(owners *o, bool *memory)
{
    size_t n = o->n_cpu;
    RS_LOCAL rs_keyed *cpu = rs_malloc(n * sizeof *cpu), *gpu = rs_malloc(n * sizeof *gpu);
    rs_keyed *keys = rs_malloc(o->e->args[RS_COL_CORRELATION].n * sizeof *keys);
    *memory = cpu && gpu && keys;
    bool ok = *memory && o->n_gpu == n;
    for (size_t k = 0; ok && k < n; k++) {
        cpu[k] = (rs_keyed){median_start(o, o->cpu[k], false, keys, memory), (uint32_t)k};
        gpu[k] = (rs_keyed){median_start(o, o->gpu[k], true, keys, memory), (uint32_t)k};
    }
    *memory = *memory && (!ok || (rs_keyed_sort(cpu, n) && rs_keyed_sort(gpu, n)));
    ok = ok && *memory;
    for (size_t k = 0; ok && k < n; k++) {
        o->owner[gpu[k].value] = cpu[k].value;
        if (k) ok = cpu[k].key != cpu[k - 1].key && gpu[k].key != gpu[k - 1].key;
    }
    rs_free(keys);
    return ok;
}

/* No correlation is launched under by two processes: each piece of work then has one owner by itself. */
static bool correlations_are_apart(const owners *o)
{
    for (size_t g = 0; g < o->n_gpu; g++) {
        size_t sum = 0;
        for (size_t k = 0; k < o->n_cpu; k++) sum += o->shared[g * o->n_cpu + k];
        if (sum > o->n_work[g]) return false;
    }
    return true;
}

static void mark_by_correlation(const owners *o, uint32_t *domain)
{
    const rs_events *e = o->e;
    const rs_sparse *c = &e->args[RS_COL_CORRELATION];
    for (size_t i = 0; i < c->n; i++) {
        if (!rs_kind_is_gpu_work(rs_event_kind(e, c->rows[i]))) continue;
        for (size_t k = 0; k < o->n_cpu; k++)
            if (call_of(o, o->cpu[k], rs_sparse_int(c, i)) != RS_NO_ROW) domain[c->rows[i]] = (uint32_t)k;
    }
}

static void mark(const owners *o, bool gpu_too, uint32_t *domain)
{
    const rs_events *e = o->e;
    for (size_t i = 0; i < e->n; i++) {
        uint32_t process = o->p->of_thread[e->thread[i]], place = o->place[process];
        if (place == RS_NO_DOMAIN) continue;
        if (o->p->flags[process] & RS_PID_CALLS)
            domain[i] = place;
        else if (gpu_too)
            domain[i] = o->owner[place];
    }
}

static rs_status refuse(const owners *o, const char *file, rs_error *err)
{
    char pids[200];
    size_t used = 0;
    pids[0] = '\0';
    for (size_t k = 0; k < o->n_cpu && used < sizeof pids - 30; k++)
        used += (size_t)snprintf(pids + used, sizeof pids - used, "%s%" PRId64, k ? ", " : "",
                                 o->p->pid[o->cpu[k]]);
    return rs_fail_at(
        err, RS_ERR_AMBIGUOUS, file, RS_NO_OFFSET,
        "%zu processes launch GPU work (pids %s%s) and neither order nor correlation ids show whose it "
        "is: analyse one file a rank, or merge with args.rank on every event",
        o->n_cpu, pids, used >= sizeof pids - 30 ? ", ..." : "");
}

/* The common case, in O(events): every rank's events stand together. */
static bool assign_by_neighbourhood(owners *o, bool *memory)
{
    if (!owner_by_neighbourhood(o) || !neighbours_are_causal(o)) return false;
    for (size_t g = 0; g < o->n_gpu; g++)
        if (o->owner[g] == RS_NO_DOMAIN) return false;
    *memory = keep_owners(o);
    return *memory && (o->n_cpu < 2 || o->n_gpu == 0 || is_one_to_one(o));
}

static rs_status assign(owners *o, const char *file, uint32_t *domain, size_t *n, const char **rule,
                        rs_error *err)
{
    bool memory = true;
    size_t n_work = o->e->args[RS_COL_CORRELATION].n;
    if (!list_processes(o)) return rs_fail_nomem(err, "ranks");
    if (o->n_cpu < 2) return RS_OK;
    if (o->n_cpu > 65536 || o->n_gpu > 65536 || o->n_gpu * o->n_cpu > (1u << 28))
        return rs_fail_at(err, RS_ERR_LIMIT, file, RS_NO_OFFSET, "too many processes (%zu) launch GPU work",
                          o->n_cpu);
    o->owner = rs_malloc(o->n_gpu * sizeof *o->owner);
    if (!o->owner || !index_calls(o)) return rs_fail_nomem(err, "ranks");
    if (assign_by_neighbourhood(o, &memory)) {
        *n = o->n_cpu < 2 ? 1 : o->n_cpu;
        *rule = "launching processes, GPU processes by their place in the file";
        mark(o, true, domain);
        return RS_OK;
    }
    if (!memory || !list_processes(o)) return rs_fail_nomem(err, "ranks");
    if (o->n_cpu > 4096 || o->n_gpu > 4096 || n_work > (UINT64_C(1) << 33) / o->n_cpu)
        return rs_fail_at(err, RS_ERR_LIMIT, file, RS_NO_OFFSET,
                          "too many processes (%zu) launch GPU work in no order", o->n_cpu);
    if (!count_shared(o)) return rs_fail_nomem(err, "ranks");
    drop_idle_processes(o);
    *n = o->n_cpu < 2 ? 1 : o->n_cpu;
    if (o->n_cpu < 2) return RS_OK;
    if (owner_by_correlation(o) && is_one_to_one(o)) {
        *rule = "launching processes, GPU processes by correlation";
    } else if (correlations_are_apart(o)) {
        *rule = "launching processes, GPU work by correlation";
        mark(o, false, domain);
        mark_by_correlation(o, domain);
        return RS_OK;
    } else if (owner_by_time(o, &memory) && is_one_to_one(o) && is_causal(o)) {
        *rule = "launching processes, GPU processes by correlation and time";
    } else {
        return memory ? refuse(o, file, err) : rs_fail_nomem(err, "ranks");
    }
    mark(o, true, domain);
    return RS_OK;
}

rs_status rs_domains_by_process(const rs_events *e, const char *file, const rs_pids *p, uint32_t *domain,
                                size_t *n, const char **rule, rs_error *err)
{
    RS_SCOPED(owners_clear) owners o = {.e = e, .p = p};
    *n = 1;
    return assign(&o, file, domain, n, rule, err);
}

/* ---- ranks one after another ------------------------------------------------------------------------- */

/* Marks each row with the number of its block. A block ends after "Record Window End" and before an operator
 * whose External id the block has seen already. */
static bool number_blocks(const rs_events *e, uint32_t *domain, size_t *n_blocks)
{
    uint32_t window_end = rs_strings_find(&e->strings, "Record Window End", 17);
    RS_SCOPED(rs_map64_clear) rs_map64 seen = {0}; /* External id -> block that saw it last */
    rs_cursor id = rs_cursor_of(e, RS_COL_EXTERNAL_ID);
    uint32_t block = 0;
    bool ok = true, ended = false;
    for (size_t i = 0; ok && i < e->n; i++) {
        bool next = ended && e->phase[i] != 0;
        ended = window_end != RS_NO_STRING && e->name[i] == window_end;
        if (next) block++;
        if (rs_event_kind(e, i) == RS_KIND_CPU_OP && rs_cursor_seek(&id, (uint32_t)i)) {
            bool is_new;
            uint32_t *slot = rs_map64_put(&seen, (uint64_t)rs_sparse_int(id.column, id.at), &is_new);
            ok = slot != NULL;
            if (ok && !is_new && *slot == block && !next) block++;
            if (ok) *slot = block;
        }
        domain[i] = block;
    }
    *n_blocks = (size_t)block + 1;
    return ok;
}

/* Joins blocks without launches to the one before them; returns how many ranks are left. */
static bool join_blocks(const rs_events *e, uint32_t *domain, size_t n_blocks, size_t *n)
{
    RS_LOCAL uint8_t *calls = rs_calloc(n_blocks, 1);
    RS_LOCAL uint32_t *rank = rs_malloc(n_blocks * sizeof *rank);
    bool ok = calls && rank;
    for (size_t i = 0; ok && i < e->n; i++)
        if (rs_kind_is_call(rs_event_kind(e, i))) calls[domain[i]] = 1;
    uint32_t next = 0;
    for (size_t k = 0; ok && k < n_blocks; k++) {
        if (calls[k]) next++;
        rank[k] = next ? next - 1 : 0;
    }
    for (size_t i = 0; ok && i < e->n; i++) domain[i] = rank[domain[i]];
    *n = next ? next : 1;
    return ok;
}

/* How many calls still repeat a correlation of their process inside their own rank. */
static bool count_repeats(const rs_events *e, const rs_pids *p, const uint32_t *domain, size_t *n)
{
    const rs_sparse *c = &e->args[RS_COL_CORRELATION];
    RS_SCOPED(rs_map64_clear) rs_map64 last = {0};
    bool ok = true;
    *n = 0;
    for (size_t i = 0; ok && i < c->n; i++) {
        uint32_t row = c->rows[i];
        if (!rs_kind_is_call(rs_event_kind(e, row))) continue;
        bool is_new;
        uint32_t *slot =
            rs_map64_put(&last, call_key(p->of_thread[e->thread[row]], rs_sparse_int(c, i)), &is_new);
        ok = slot != NULL;
        if (!ok) break;
        *n += !is_new && *slot == domain[row];
        *slot = domain[row];
    }
    return ok;
}

bool rs_domains_repeat(size_t n_calls, size_t n_repeated)
{
    return n_repeated >= 2 && n_repeated >= n_calls / 8;
}

rs_status rs_domains_by_segment(const rs_events *e, const char *file, const rs_pids *p, size_t n_calls,
                                size_t n_repeated, uint32_t *domain, size_t *n, const char **rule,
                                rs_error *err)
{
    size_t n_blocks, left;
    *n = 1;
    if (!number_blocks(e, domain, &n_blocks) || !join_blocks(e, domain, n_blocks, n) ||
        !count_repeats(e, p, domain, &left))
        return rs_fail_nomem(err, "ranks");
    if (left <= n_repeated / 64) {
        *rule = "blocks of the file: External ids that repeat, Record Window End";
        return RS_OK;
    }
    return rs_fail_at(
        err, RS_ERR_AMBIGUOUS, file, RS_NO_OFFSET,
        "%zu of %zu launches repeat a correlation id of their own process, as in several ranks written "
        "into one file, and the order of the events does not separate the ranks: analyse one file a "
        "rank, or merge with args.rank on every event",
        n_repeated, n_calls);
}
