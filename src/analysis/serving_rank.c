/* serving: the steps of one rank, where their time goes, what the host does in its part, and what slow steps have more of. */
#include <string.h>

#include "analysis/serving.h"
#include "analysis/steps.h"
#include "base/ascii.h"
#include "base/order.h"
#include "base/search.h"
#include "base/try.h"
#include "trace/nest.h"
#include "trace/selection.h"

/* ---- where a rank's time goes ---------------------------------------------------------------------------- */

typedef struct intervals {
    rs_interval *items;
    size_t n, capacity;
} intervals;

enum { COMPUTE, COMM, COPIES, OTHER, LAUNCH, N_SETS };

/* Idle time before pieces of work from `reach` on, as `summary` has it: before the next launch it is the host's, which is the rest. */
static bool add_idle(const rs_trace *t, const rs_work *w, const uint32_t *order, int64_t reach,
                     intervals *sets)
{
    bool ok = true;
    for (size_t i = 0; ok && i < w->n; i++) {
        const uint32_t k = order[i];
        const int64_t start = w->start[k];
        if (start > reach && w->launch[k] == RS_NO_ROW) {
            ok = RS_APPEND(&sets[OTHER], (rs_interval){reach, start});
        } else if (start > reach) {
            const int64_t launch = t->events->start[w->launch[k]], from = launch > reach ? launch : reach;
            ok = from >= start || RS_APPEND(&sets[LAUNCH], (rs_interval){from, start});
        }
        if (w->end[k] > reach) reach = w->end[k];
    }
    return ok;
}

static bool fill_sets(const rs_trace *t, const rs_work *w, const uint32_t *order, int64_t begin,
                      intervals *sets)
{
    static const rs_class classes[] = {RS_CLASS_COMPUTE, RS_CLASS_COMM, RS_CLASS_MEMORY, RS_CLASS_OTHER};
    bool ok = true;
    for (int k = 0; ok && k < OTHER; k++) ok = rs_work_union(w, classes[k], &sets[k].items, &sets[k].n);
    for (size_t i = 0; ok && i < w->n; i++)
        if (w->class[i] == RS_CLASS_OTHER && w->end[i] > w->start[i])
            ok = RS_APPEND(&sets[OTHER], (rs_interval){w->start[i], w->end[i]});
    RS_LOCAL rs_interval *between = rs_malloc((t->n_recordings + 1) * sizeof *between);
    const size_t n = ok && between ? rs_work_gaps(t, w, between) : 0;
    for (size_t i = 0; ok && i < n; i++) ok = RS_APPEND(&sets[OTHER], between[i]);
    ok = ok && between && add_idle(t, w, order, begin, sets);
    ok = ok && (!sets[OTHER].n || rs_intervals_sort(sets[OTHER].items, sets[OTHER].n));
    if (ok && sets[OTHER].n) sets[OTHER].n = rs_intervals_unite(sets[OTHER].items, sets[OTHER].n);
    return ok;
}

static rs_status put_stretches(rs_trace *t, const rs_policy *policy, rs_interval whole, rs_relations *out,
                               rs_error *err)
{
    static const uint8_t parts[] = {RS_SERVING_COMPUTE, RS_SERVING_COMM,   RS_SERVING_COPIES,
                                    RS_SERVING_OTHER,   RS_SERVING_LAUNCH, RS_SERVING_HOST};
    const rs_work *w;
    const uint32_t *order;
    intervals sets[N_SETS] = {{0}};
    rs_interval_set views[N_SETS];
    rs_divisions all = {0};
    RS_TRY(rs_trace_work_details(t, policy, &w, err));
    RS_TRY(rs_trace_work_by_start(t, policy, &order, err));
    bool ok = fill_sets(t, w, order, whole.start, sets);
    for (int k = 0; k < N_SETS; k++) views[k] = (rs_interval_set){sets[k].items, sets[k].n};
    ok = ok && rs_intervals_divide(views, N_SETS, whole, N_SETS + 1, &all);
    for (size_t i = 0; ok && i < all.n; i++)
        rs_put(out, RS_SV_STRETCHES,
               &(rs_serving_stretch){all.items[i].from, all.items[i].time, parts[all.items[i].of]});
    for (int k = 0; k < N_SETS; k++) rs_free(sets[k].items);
    rs_free(all.items);
    return ok ? RS_OK : rs_fail_nomem(err, "serving");
}

/* ---- steps ------------------------------------------------------------------------------------------------ */

static const rs_order by_number[] = {RS_RISING(rs_serving_row, number)};

static rs_serving_row *find_step(rs_serving_row *rows, size_t n, int64_t number)
{
    size_t at;
    RS_SEARCH(at, n, rows[at].number < number);
    return at < n && rows[at].number == number ? &rows[at] : NULL;
}

static void take_annotation(rs_serving_row *row, const rs_step_serving *s)
{
    row->phase = s->phase;
    row->from = RS_SV_ANNOTATED;
    row->requests = rs_add_sat(s->context_requests, s->generation_requests);
    row->tokens = rs_add_sat(s->context_q, s->generation_q);
    row->context_requests = s->context_requests;
    row->context_tokens = s->context_q;
    row->generation_requests = s->generation_requests;
}

/* The phase of steps that nothing describes, by what their attention is. */
static rs_status look_at_kernels(rs_trace *t, const rs_work *w, rs_serving_row *rows, size_t n, rs_error *err)
{
    const rs_events *e = t->events;
    RS_LOCAL uint8_t *of = rs_malloc(e->strings.n + 1);
    RS_LOCAL uint8_t *seen = rs_calloc(n + 1, 1);
    if (!of || !seen) return rs_fail_nomem(err, "serving");
    memset(of, 0xff, e->strings.n + 1);
    for (size_t i = 0; i < w->n; i++) {
        const uint32_t name = e->name[w->row[i]];
        rs_serving_row *row = w->step[i] < 0 ? NULL : find_step(rows, n, w->step[i]);
        if (!row || w->class[i] != RS_CLASS_COMPUTE) continue;
        if (of[name] == 0xff)
            of[name] = (uint8_t)rs_serving_phase_of_kernel(e->strings.items[name].text,
                                                           e->strings.items[name].length);
        seen[row - rows] |= (uint8_t)(1u << of[name]);
        if (of[name] == RS_N_SERVING_PHASES) return RS_OK; /* training */
    }
    for (size_t i = 0; i < n; i++) {
        const bool prefill = seen[i] >> RS_SERVING_PREFILL & 1, decode = seen[i] >> RS_SERVING_DECODE & 1;
        if (!prefill && !decode) continue;
        rows[i].from = RS_SV_BY_KERNELS;
        rows[i].phase = prefill && decode ? RS_SERVING_MIXED
                        : prefill         ? RS_SERVING_PREFILL
                                          : RS_SERVING_DECODE;
    }
    return RS_OK;
}

/* Rows of the steps whose period is known, by number; their parts are empty. */
static rs_status make_steps(rs_trace *t, const rs_work *w, const rs_rank_steps *p, rs_relations *out,
                            rs_serving_row **rows, size_t *n, rs_error *err)
{
    *n = 0;
    *rows = RS_ROOM(out, rs_serving_row, p->n + 1);
    if (!*rows) return rs_fail_nomem(err, "serving");
    for (size_t i = 0; i < p->n; i++) {
        const rs_step_times *s = &p->items[i];
        if (s->period == RS_NO_TIME) continue;
        (*rows)[(*n)++] = (rs_serving_row){.number = s->number,
                                           .begin = rs_sub_sat(s->until, s->period),
                                           .until = s->until,
                                           .time = s->period,
                                           .phase = RS_SERVING_UNKNOWN,
                                           .from = RS_SV_NOT_SHOWN,
                                           .requests = RS_NO_VALUE,
                                           .tokens = RS_NO_VALUE,
                                           .context_requests = RS_NO_VALUE,
                                           .context_tokens = RS_NO_VALUE,
                                           .generation_requests = RS_NO_VALUE};
    }
    if (*n) RS_SORT(*rows, *n, by_number);
    for (size_t i = 0; i < p->n_serving; i++) {
        rs_serving_row *row = find_step(*rows, *n, p->serving[i].number);
        if (row) take_annotation(row, &p->serving[i]);
    }
    return p->n_serving ? RS_OK : look_at_kernels(t, w, *rows, *n, err);
}

/* ---- what the host does ------------------------------------------------------------------------------------ */

static bool has_word(const rs_string *name, const char *word)
{
    const size_t n = strlen(word);
    for (size_t at = 0; at + n <= name->length; at++) {
        size_t k = 0;
        while (k < n && rs_lower(name->text[at + k]) == word[k]) k++;
        if (k == n) return true;
    }
    return false;
}

/* By names that vLLM, SGLang and TensorRT-LLM give to annotations, functions and files. */
static rs_serving_host class_of_host(const rs_string *name)
{
    static const struct {
        const char *word;
        rs_serving_host class;
    } words[] = {
        {"tokeniz", RS_SV_HOST_TOKENIZER}, /* of "detokenizer", too */
        {"sampl", RS_SV_HOST_SAMPLING},
        {"bookkeep", RS_SV_HOST_OUTPUT},
        {"update_from_output", RS_SV_HOST_OUTPUT},
        {"process_batch_result", RS_SV_HOST_OUTPUT},
        {"postprocess", RS_SV_HOST_OUTPUT},
        {"preprocess", RS_SV_HOST_INPUT},
        {"prepare", RS_SV_HOST_INPUT},
        {"update_states", RS_SV_HOST_INPUT},
        {"recv_requests", RS_SV_HOST_REQUESTS},
        {"process_input_requests", RS_SV_HOST_REQUESTS},
        {"fetch_new_requests", RS_SV_HOST_REQUESTS},
        {"forward", RS_SV_HOST_MODEL},
        {"nn.module", RS_SV_HOST_MODEL},
        {"schedul", RS_SV_HOST_SCHEDULER},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has_word(name, words[i].word)) return words[i].class;
    return RS_SV_HOST_OTHER;
}

/* The thread that launches most; UINT32_MAX: none. */
static uint32_t launching_thread(const rs_trace *t, const rs_work *w, rs_relations *out)
{
    size_t *n = RS_ROOM(out, size_t, t->events->n_threads + 1);
    uint32_t best = UINT32_MAX;
    for (size_t i = 0; n && i < w->n; i++) {
        if (w->launch[i] == RS_NO_ROW) continue;
        const uint32_t thread = t->events->thread[w->launch[i]];
        n[thread]++;
        if (best == UINT32_MAX || n[thread] > n[best]) best = thread;
    }
    return best;
}

static int64_t host_in(const rs_serving_ruler *ruler, const rs_events *e, uint32_t row)
{
    int64_t part[RS_N_SERVING_PARTS] = {0};
    rs_serving_measure(ruler, e->start[row], rs_event_end(e, row), part);
    return part[RS_SERVING_HOST];
}

/* Time of an event without what is in it belongs to the innermost event around that has a class, else to itself. */
static rs_status put_nest(const rs_events *e, const rs_nest *nest, const rs_serving_ruler *ruler,
                          int64_t *left, rs_relations *out, rs_error *err)
{
    RS_LOCAL uint8_t *classes = rs_calloc(e->strings.n + 1, 1);
    RS_LOCAL uint32_t *shows = rs_malloc((nest->n + 1) * sizeof *shows); /* by node: which shows the class */
    RS_LOCAL int64_t *own = rs_malloc((nest->n + 1) * sizeof *own);
    if (!classes || !shows || !own) return rs_fail_nomem(err, "serving");
    for (size_t i = 0; i < nest->n; i++) {
        const uint32_t name = e->name[nest->row[i]], above = nest->parent[i];
        if (!classes[name]) classes[name] = (uint8_t)class_of_host(&e->strings.items[name]);
        const bool plain = classes[name] == RS_SV_HOST_OTHER && above != RS_NO_ROW &&
                           classes[e->name[nest->row[shows[above]]]] != RS_SV_HOST_OTHER;
        shows[i] = plain ? shows[above] : (uint32_t)i;
        own[i] = host_in(ruler, e, nest->row[i]);
        if (above != RS_NO_ROW) own[above] = rs_sub_sat(own[above], own[i]);
    }
    for (size_t i = 0; i < nest->n; i++) {
        const uint32_t name = e->name[nest->row[shows[i]]];
        if (own[i] <= 0) continue;
        *left = rs_sub_sat(*left, own[i]);
        rs_put(out, RS_SV_HOST,
               &(rs_serving_host_row){.time = own[i], .name = rs_put_text(out, name), .what = classes[name]});
    }
    return RS_OK;
}

static rs_status put_host(rs_trace *t, const rs_work *w, const rs_serving_ruler *ruler, int64_t all,
                          rs_relations *out, rs_error *err)
{
    const rs_events *e = t->events;
    const uint32_t thread = launching_thread(t, w, out);
    RS_LOCAL uint32_t *rows = rs_malloc((t->n_rows + 1) * sizeof *rows);
    RS_LOCAL int64_t *starts = rs_malloc((t->n_rows + 1) * sizeof *starts);
    RS_LOCAL int64_t *ends = rs_malloc((t->n_rows + 1) * sizeof *ends);
    rs_nest *nest = NULL;
    size_t n = 0;
    if (!rows || !starts || !ends) return rs_fail_nomem(err, "serving");
    for (size_t i = 0; i < t->n_rows; i++) {
        const uint32_t row = rs_trace_row(t, i);
        const rs_kind kind = rs_event_kind(e, row);
        rs_serving_step step;
        if (e->thread[row] != thread || !rs_event_is_span(e, row) ||
            (kind != RS_KIND_USER_ANNOTATION && kind != RS_KIND_PYTHON_FUNCTION))
            continue;
        const rs_string *name = &e->strings.items[e->name[row]];
        if (kind == RS_KIND_USER_ANNOTATION && rs_serving_parse(name->text, name->length, &step)) continue;
        rows[n] = row;
        starts[n] = e->start[row];
        ends[n++] = rs_event_end(e, row);
    }
    RS_TRY(rs_nest_create(e, rows, starts, ends, n, &nest, err));
    int64_t left = all;
    rs_status status = put_nest(e, nest, ruler, &left, out, err);
    rs_nest_free(nest);
    if (left > 0)
        rs_put(out, RS_SV_HOST,
               &(rs_serving_host_row){.time = left, .name = RS_NO_STRING, .what = RS_SV_HOST_NOTHING});
    return status;
}

/* ---- what differs ------------------------------------------------------------------------------------------ */

enum { ORDINARY, TYPICAL, SLOW };
enum { LEAST_STEPS = 20 }; /* of a phase */

static int64_t nearest(const int64_t *sorted, size_t n, unsigned percent)
{
    const size_t rank = (n * percent + 99) / 100;
    return sorted[rank ? rank - 1 : 0];
}

static const rs_order rising[] = {RS_RISING_VALUE(int64_t)};

/* By step what it is in its phase; counts: of each phase the typical and slow ones. */
static bool sort_out(const rs_serving_row *rows, size_t n, uint8_t *is, int64_t counts[][3],
                     rs_relations *out)
{
    int64_t *times = RS_ROOM(out, int64_t, n + 1);
    for (uint8_t phase = 0; times && phase <= RS_SERVING_UNKNOWN; phase++) {
        size_t m = 0;
        for (size_t i = 0; i < n; i++)
            if (rows[i].phase == phase) times[m++] = rows[i].time;
        if (m < LEAST_STEPS) continue;
        RS_SORT(times, m, rising);
        const int64_t low = nearest(times, m, 40), high = nearest(times, m, 60), slow = nearest(times, m, 99);
        for (size_t i = 0; i < n; i++) {
            if (rows[i].phase != phase) continue;
            is[i] = rows[i].time >= slow && slow > high           ? SLOW
                    : rows[i].time >= low && rows[i].time <= high ? TYPICAL
                                                                  : ORDINARY;
            counts[phase][is[i]]++;
        }
    }
    return times != NULL;
}

static void put_difference(rs_relations *out, const rs_serving_row *row, uint8_t is, int64_t counts[][3],
                           uint8_t what, uint32_t name, int64_t value)
{
    const bool slow = is == SLOW;
    if (value == RS_NO_VALUE) return;
    rs_put(out, RS_SV_DIFFERENCES,
           &(rs_serving_difference){.what = what,
                                    .phase = row->phase,
                                    .name = name,
                                    .typical = slow ? 0 : value,
                                    .slow = slow ? value : 0,
                                    .n_typical = !slow,
                                    .n_slow = slow,
                                    .steps_typical = counts[row->phase][TYPICAL],
                                    .steps_slow = counts[row->phase][SLOW]});
}

static rs_status put_differences(const rs_trace *t, const rs_work *w, rs_serving_row *rows, size_t n,
                                 rs_relations *out, rs_error *err)
{
    static const char *const names[RS_N_SERVING_PARTS] = {
        "queue", "host", "launch", "compute", "exposed comm", "exposed copies", "other", "delivery"};
    int64_t counts[RS_SERVING_UNKNOWN + 1][3] = {{0}};
    RS_LOCAL uint8_t *is = rs_calloc(n + 1, 1);
    if (!is || !sort_out(rows, n, is, counts, out)) return rs_fail_nomem(err, "serving");
    for (size_t i = 0; i < n; i++) {
        if (!is[i] || !counts[rows[i].phase][SLOW]) {
            is[i] = ORDINARY;
            continue;
        }
        put_difference(out, &rows[i], is[i], counts, RS_SV_DIFFERS_TIME, rs_put_string(out, "step"),
                       rows[i].time);
        put_difference(out, &rows[i], is[i], counts, RS_SV_DIFFERS_BATCH, rs_put_string(out, "requests"),
                       rows[i].requests);
        put_difference(out, &rows[i], is[i], counts, RS_SV_DIFFERS_BATCH, rs_put_string(out, "tokens"),
                       rows[i].tokens);
        for (int k = RS_SERVING_HOST; k <= RS_SERVING_OTHER; k++)
            put_difference(out, &rows[i], is[i], counts, RS_SV_DIFFERS_PART, rs_put_string(out, names[k]),
                           rows[i].part[k]);
    }
    for (size_t i = 0; i < w->n; i++) {
        const rs_serving_row *row = w->step[i] < 0 ? NULL : find_step(rows, n, w->step[i]);
        if (row && is[row - rows])
            put_difference(out, row, is[row - rows], counts, RS_SV_DIFFERS_KERNEL,
                           rs_put_text(out, t->events->name[w->row[i]]), rs_sub_sat(w->end[i], w->start[i]));
    }
    return RS_OK;
}

/* ---- a rank ------------------------------------------------------------------------------------------------- */

static rs_status put_all(rs_trace *t, const rs_policy *policy, const rs_rank_steps *p, rs_relations *out,
                         rs_error *err)
{
    const rs_work *w;
    rs_serving_row *rows;
    rs_serving_ruler ruler = {0};
    int64_t host = 0;
    size_t n;
    RS_TRY(rs_trace_work_details(t, policy, &w, err));
    RS_TRY(make_steps(t, w, p, out, &rows, &n, err));
    out->absent = n == 0 || w->n == 0;
    if (out->absent) return RS_OK;
    rs_put(out, RS_SV_OWN, &(rs_serving_own){t->events->info.base_time_ns});
    RS_TRY(put_stretches(t, policy, (rs_interval){rows[0].begin, rows[n - 1].until}, out, err));
    if (!rs_serving_ruler_open(&ruler, RS_ROWS(rs_serving_stretch, out, RS_SV_STRETCHES),
                               out->items[RS_SV_STRETCHES].n))
        return rs_fail_nomem(err, "serving");
    for (size_t i = 0; i < n; i++) {
        rs_serving_measure(&ruler, rows[i].begin, rows[i].until, rows[i].part);
        host = rs_add_sat(host, rows[i].part[RS_SERVING_HOST]);
        rs_put(out, RS_SV_STEPS, &rows[i]);
    }
    rs_status status = put_host(t, w, &ruler, host, out, err);
    if (status == RS_OK) status = put_differences(t, w, rows, n, out, err);
    rs_serving_ruler_clear(&ruler);
    return status;
}

rs_status rs_serving_put_rank(const rs_run *run, rs_trace *t, rs_relations *out, rs_error *err)
{
    void *steps = NULL;
    rs_policy all = *run->policy;
    all.whole = t->selection && (t->selection->by_step || t->selection->by_window);
    rs_status status = rs_steps_rank(run, t, &steps, err);
    if (status == RS_OK) status = put_all(t, &all, steps, out, err);
    rs_steps_free(steps);
    return status;
}
