#include "perf/owner.h"

#include <string.h>

#include "base/interval.h"
#include "base/try.h"
#include "trace/launchers.h"
#include "trace/selection.h"

/* What is stored of owners: how work is shared out among them, and what their models were asked. All else follows from
 * that and the events. */
typedef struct stored_owners {
    uint32_t *node, *answer, *n_work; /* by owner; answer: number of the question, RS_NO_ANSWER */
    uint8_t *communication;           /* by owner */
    uint32_t
        *place; /* owner by owner, each one's work by start, then by row: its place in the tree's gpu_row */
    uint32_t *questions; /* RS_SHAPE_QUESTION numbers each */
    size_t n_questions;
} stored_owners;

/* What the facet holds. */
typedef struct owners_value {
    rs_owners owners;
    stored_owners stored;
    bool has_stored, lent; /* lent: `stored` is the keeper's */
} owners_value;

static void free_owners(void *value)
{
    owners_value *v = value;
    if (!v) return;
    rs_free_all(v->owners.items, v->owners.work_row);
    if (!v->lent) {
        rs_free_all(v->stored.node, v->stored.answer, v->stored.n_work, v->stored.communication,
                    v->stored.place, v->stored.questions);
    }
    rs_free(v);
}

typedef struct finder {
    rs_trace *trace;
    const rs_events *e;
    const rs_tree *t;
    const rs_classes *classes;
    rs_op_shapes *shapes;
    uint32_t *outer;  /* by node: the outermost operator with an answer, itself included; RS_NO_NODE */
    uint32_t *answer; /* by node, of those operators and of launchers */
    uint8_t *said;    /* by string id: what the name of a piece of work says; 0: not yet asked */
    uint32_t *place;  /* by work, in the order of out->work_row: its place in the tree's gpu_row */
    rs_keyed
        *pairs; /* (twice the owner's node, and one more for communication; place of its work in the tree) */
    size_t n_pairs;
} finder;

/* ---- whose -------------------------------------------------------------------------------------------- */

/* Parents stand before their children. Operators that launch nothing need no answer. */
static rs_status find_outermost(finder *f, rs_error *err)
{
    const rs_tree *t = f->t;
    for (size_t node = 0; node < t->n; node++) {
        uint32_t parent = t->parent[node];
        f->answer[node] = RS_NO_ANSWER;
        f->outer[node] = parent == RS_NO_NODE ? RS_NO_NODE : f->outer[parent];
        if (f->outer[node] != RS_NO_NODE || t->op[node] != node || !rs_tree_kernels(t, (uint32_t)node))
            continue;
        RS_TRY(rs_shapes_ask(f->shapes, t->row[node], false, &f->answer[node], err));
        if (f->answer[node] != RS_NO_ANSWER) f->outer[node] = (uint32_t)node;
    }
    return RS_OK;
}

static rs_status owner_of_call(finder *f, uint32_t call, uint32_t *owner, rs_error *err)
{
    *owner = f->outer[call];
    if (*owner != RS_NO_NODE) return RS_OK;
    *owner = rs_tree_launcher_of(f->trace, f->t, call);
    if (f->t->op[*owner] != *owner) return RS_OK; /* the call itself */
    return rs_shapes_ask(f->shapes, f->t->row[*owner], true, &f->answer[*owner], err);
}

static rs_status pair_up(finder *f, rs_error *err)
{
    const rs_tree *t = f->t;
    for (size_t node = 0; node < t->n; node++) {
        size_t end = node + 1 < t->end[node] ? t->gpu_first[node + 1] : t->gpu_first[t->end[node]];
        if (t->gpu_first[node] == end) continue;
        uint32_t owner;
        RS_TRY(owner_of_call(f, (uint32_t)node, &owner, err));
        for (size_t i = t->gpu_first[node]; i < end; i++) {
            bool comm = rs_class_at(f->classes, t->gpu_row[i]) == RS_CLASS_COMM;
            f->pairs[f->n_pairs++] = (rs_keyed){(int64_t)owner * 2 + comm, (uint32_t)i};
        }
    }
    return RS_OK;
}

/* ---- what of it --------------------------------------------------------------------------------------- */

static bool says_tf32(const char *name)
{
    if (strstr(name, "s1688")) return true;
    for (; *name; name++)
        if ((name[0] | 32) == 't' && (name[1] | 32) == 'f' && name[2] == '3' && name[3] == '2') return true;
    return false;
}

/* CUDA's, XLA's and ROCm's names of copies over the link. */
static bool crosses_link(const char *name)
{
    return strstr(name, "HtoD") || strstr(name, "DtoH") || strstr(name, "H2D") || strstr(name, "D2H") ||
           strstr(name, "HostToDevice") || strstr(name, "DeviceToHost");
}

enum { ASKED = 1, SAYS_TF32 = 2, CROSSES_LINK = 4 };

static uint8_t said_by(const finder *f, uint32_t row)
{
    uint8_t *said = &f->said[f->e->name[row]];
    if (!*said) {
        const char *name = rs_event_name(f->e, row);
        *said = ASKED | (says_tf32(name) ? SAYS_TF32 : 0) | (crosses_link(name) ? CROSSES_LINK : 0);
    }
    return *said;
}

static void note_work(const finder *f, rs_owned *o, uint32_t row)
{
    bool copies = rs_event_kind(f->e, row) == RS_KIND_MEMCPY;
    if (copies && (said_by(f, row) & CROSSES_LINK)) o->host_link = true;
    if (o->answer == RS_NO_ANSWER || o->tf32) return;
    const rs_model *m = &rs_shapes_at(f->shapes, o->answer)->model;
    if (m->matrix > 0 && rs_dtype_precision(m->type) == RS_FP32) o->tf32 = (said_by(f, row) & SAYS_TF32) != 0;
}

/* The work of one owner as places in the tree, in order of start, then row. */
static void measure(const finder *f, rs_owned *o, const uint32_t *places, rs_interval *scratch,
                    rs_owners *out)
{
    const rs_events *e = f->e;
    for (size_t i = 0; i < o->n_work; i++) {
        uint32_t row = f->t->gpu_row[places[i]];
        int64_t start = e->start[row], length = e->duration[row] > 0 ? e->duration[row] : 0;
        scratch[i] = (rs_interval){start, rs_add_sat(start, length)};
        o->durations = rs_add_sat(o->durations, length);
        out->work_row[out->n_work++] = row;
        note_work(f, o, row);
    }
    o->time =
        o->n_work == 1 ? o->durations : rs_intervals_length(scratch, rs_intervals_unite(scratch, o->n_work));
    if (!o->communication) out->linked = rs_add_sat(out->linked, o->durations);
}

/* By row, then by start: the sort is stable. */
static bool order_work(const finder *f, rs_keyed *pairs, size_t n)
{
    if (n == 1) return true;
    for (size_t i = 0; i < n; i++) pairs[i].key = f->t->gpu_row[pairs[i].value];
    if (!rs_keyed_sort(pairs, n)) return false;
    for (size_t i = 0; i < n; i++) pairs[i].key = f->e->start[f->t->gpu_row[pairs[i].value]];
    return rs_keyed_sort(pairs, n);
}

/* The pairs of one owner. */
static bool add_owner(const finder *f, rs_keyed *pairs, size_t n, rs_interval *scratch, rs_owners *out)
{
    rs_owned *o = &out->items[out->n++];
    uint32_t node = (uint32_t)(pairs[0].key / 2), *places = f->place + out->n_work;
    *o = (rs_owned){.row = f->t->row[node],
                    .node = node,
                    .answer = f->answer[node],
                    .first_work = (uint32_t)out->n_work,
                    .n_work = (uint32_t)n,
                    .communication = pairs[0].key & 1};
    if (!order_work(f, pairs, n)) return false;
    for (size_t i = 0; i < n; i++) places[i] = pairs[i].value;
    measure(f, o, places, scratch, out);
    return true;
}

/* Keys that are equal stand together: sorts each run of them by row, communication last. */
static bool order_ties(const rs_owners *o, rs_keyed *keys)
{
    bool ok = true;
    for (size_t i = 0, end; ok && i < o->n; i = end) {
        const int64_t start = keys[i].key;
        for (end = i + 1; end < o->n && keys[end].key == start; end++) {
        }
        if (end - i == 1) continue;
        for (size_t k = i; k < end; k++) {
            const rs_owned *item = &o->items[keys[k].value];
            keys[k].key = (int64_t)item->row * 2 + item->communication;
        }
        ok = rs_keyed_sort(keys + i, end - i);
    }
    return ok;
}

/* By the owner's start, then row; communication last. */
static bool in_time(const rs_events *e, rs_owners *o)
{
    RS_LOCAL rs_keyed *keys = rs_malloc((o->n + 1) * sizeof *keys);
    rs_owned *sorted = rs_malloc((o->n + 1) * sizeof *sorted);
    bool ok = keys && sorted;
    for (size_t i = 0; ok && i < o->n; i++) keys[i] = (rs_keyed){e->start[o->items[i].row], (uint32_t)i};
    ok = ok && rs_keyed_sort(keys, o->n) && order_ties(o, keys);
    for (size_t i = 0; ok && i < o->n; i++) sorted[i] = o->items[keys[i].value];
    if (!ok) {
        rs_free(sorted);
        return false;
    }
    rs_free(o->items);
    o->items = sorted;
    return true;
}

static bool gather(finder *f, rs_owners *out)
{
    size_t n = f->n_pairs, owners = 0;
    bool ok = true;
    RS_LOCAL rs_interval *scratch = rs_malloc((n + 1) * sizeof *scratch);
    ok = scratch && rs_keyed_sort(f->pairs, n);
    for (size_t i = 0; ok && i < n; i++) owners += i == 0 || f->pairs[i].key != f->pairs[i - 1].key;
    out->items = rs_malloc((owners + 1) * sizeof *out->items);
    out->work_row = rs_malloc((n + 1) * sizeof *out->work_row);
    f->place = rs_malloc((n + 1) * sizeof *f->place);
    ok = ok && out->items && out->work_row && f->place;
    for (size_t i = 0, end; ok && i < n; i = end) {
        for (end = i + 1; end < n && f->pairs[end].key == f->pairs[i].key; end++) {
        }
        ok = add_owner(f, f->pairs + i, end - i, scratch, out);
    }
    return ok && in_time(f->e, out);
}

static rs_status count_unlinked(finder *f, rs_owners *out, rs_error *err)
{
    const rs_links *links;
    const uint32_t *rows;
    size_t n;
    rs_selector selector;
    RS_TRY(rs_trace_links(f->trace, &links, err));
    RS_TRY(rs_trace_gpu_rows(f->trace, &rows, &n, err));
    RS_TRY(rs_trace_selector(f->trace, &selector, err));
    for (size_t i = 0; i < n; i++) {
        if (links->launch_of[i] != RS_NO_ROW || !rs_selects_work(&selector, rows[i], RS_NO_ROW)) continue;
        int64_t length = f->e->duration[rows[i]];
        out->n_unlinked++;
        if (length > 0 && rs_class_at(f->classes, rows[i]) != RS_CLASS_COMM)
            out->unlinked = rs_add_sat(out->unlinked, length);
    }
    return RS_OK;
}

static rs_status look_at(finder *f, rs_error *err)
{
    rs_tree *tree;
    RS_TRY(rs_trace_working_tree(f->trace, &tree, err));
    RS_TRY(rs_trace_classes(f->trace, RS_CLASSES_OWN, &f->classes, err));
    RS_TRY(rs_trace_shapes(f->trace, &f->shapes, err));
    f->t = tree;
    f->said = rs_calloc(f->e->strings.n + 1, sizeof *f->said);
    return f->said ? RS_OK : rs_fail_nomem(err, "owners of GPU work");
}

static void finder_clear(finder *f)
{
    rs_free_all(f->outer, f->answer, f->place, f->pairs, f->said);
}

/* ---- stored ---------------------------------------------------------------------------------------------- */

enum { NODE, ANSWER, N_WORK, COMMUNICATION, PLACE, QUESTIONS, N_PARTS };
_Static_assert(N_PARTS <= RS_FACET_PARTS, "parts of owners");

/* The answers that owners have, numbered by their first owner. */
static bool list_questions(const finder *f, const rs_owners *o, stored_owners *s)
{
    size_t n_answers = rs_shapes_count(f->shapes);
    RS_LOCAL uint32_t *number = rs_malloc((n_answers + 1) * sizeof *number);
    s->questions = rs_malloc((n_answers + 1) * RS_SHAPE_QUESTION * sizeof *s->questions);
    bool ok = number && s->questions;
    for (size_t i = 0; ok && i < n_answers; i++) number[i] = RS_NO_ANSWER;
    for (size_t i = 0; ok && i < o->n; i++) {
        uint32_t answer = o->items[i].answer;
        if (answer != RS_NO_ANSWER && number[answer] == RS_NO_ANSWER) {
            rs_shapes_question(f->shapes, answer, s->questions + RS_SHAPE_QUESTION * s->n_questions);
            number[answer] = (uint32_t)s->n_questions++;
        }
        s->answer[i] = answer == RS_NO_ANSWER ? RS_NO_ANSWER : number[answer];
    }
    return ok;
}

static bool store(const finder *f, owners_value *v)
{
    const rs_owners *o = &v->owners;
    stored_owners *s = &v->stored;
    s->node = rs_malloc((o->n + 1) * sizeof *s->node);
    s->answer = rs_malloc((o->n + 1) * sizeof *s->answer);
    s->n_work = rs_malloc((o->n + 1) * sizeof *s->n_work);
    s->communication = rs_malloc(o->n + 1);
    s->place = rs_malloc((o->n_work + 1) * sizeof *s->place);
    if (!s->node || !s->answer || !s->n_work || !s->communication || !s->place) return false;
    for (size_t i = 0, at = 0; i < o->n; i++) {
        const rs_owned *item = &o->items[i];
        s->node[i] = item->node;
        s->n_work[i] = item->n_work;
        s->communication[i] = item->communication;
        memcpy(s->place + at, f->place + item->first_work, item->n_work * sizeof *s->place);
        at += item->n_work;
    }
    return v->has_stored = list_questions(f, o, s);
}

static void give(const void *value, rs_facet_part *parts)
{
    const owners_value *v = value;
    const stored_owners *s = &v->stored;
    size_t n = v->owners.n;
    if (!v->has_stored || !n) return;
    parts[NODE] = RS_FACET_NUMBERS(s->node, n);
    parts[ANSWER] = RS_FACET_NUMBERS(s->answer, n);
    parts[N_WORK] = RS_FACET_NUMBERS(s->n_work, n);
    parts[COMMUNICATION] = RS_FACET_NUMBERS(s->communication, n);
    parts[PLACE] = RS_FACET_NUMBERS(s->place, v->owners.n_work);
    parts[QUESTIONS] = RS_FACET_NUMBERS(s->questions, s->n_questions * RS_SHAPE_QUESTION);
}
/* Whether this is work below the owner's node and of its kind, not before the last of its work, and nobody's yet. */
static bool is_next(const finder *f, const rs_owned *o, const uint32_t *places, size_t i, uint64_t *taken)
{
    const rs_tree *t = f->t;
    uint32_t place = places[i];
    if (place < t->gpu_first[o->node] || place >= t->gpu_first[t->end[o->node]]) return false;
    if (taken[place / 64] >> place % 64 & 1) return false;
    taken[place / 64] |= UINT64_C(1) << place % 64;
    uint32_t row = t->gpu_row[place];
    if ((rs_class_at(f->classes, row) == RS_CLASS_COMM) != o->communication) return false;
    if (i == 0) return true;
    uint32_t last = t->gpu_row[places[i - 1]];
    int64_t by = f->e->start[last];
    return by < f->e->start[row] || (by == f->e->start[row] && last < row);
}

static bool is_behind(const rs_events *e, const rs_owned *a, const rs_owned *b)
{
    if (e->start[a->row] != e->start[b->row]) return e->start[a->row] > e->start[b->row];
    return a->row != b->row ? a->row > b->row : a->communication && !b->communication;
}

/* Shares the work out again as it is stored; every piece comes once. answers: by question. */
static bool share_out(const finder *f, const stored_owners *s, size_t n, const uint32_t *answers,
                      uint64_t *taken, rs_interval *scratch, rs_owners *out)
{
    const rs_tree *t = f->t;
    for (size_t i = 0; i < n; i++) {
        uint32_t node = s->node[i], answer = s->answer[i], n_work = s->n_work[i];
        const uint32_t *places = s->place + out->n_work;
        if (node >= t->n || n_work == 0 || n_work > t->n_gpu - out->n_work || s->communication[i] > 1)
            return false;
        if (answer != RS_NO_ANSWER && answer >= s->n_questions) return false;
        rs_owned *o = &out->items[out->n++];
        *o = (rs_owned){.row = t->row[node],
                        .node = node,
                        .answer = answer == RS_NO_ANSWER ? RS_NO_ANSWER : answers[answer],
                        .first_work = (uint32_t)out->n_work,
                        .n_work = n_work,
                        .communication = s->communication[i]};
        if (i && !is_behind(f->e, o, o - 1)) return false;
        for (size_t k = 0; k < n_work; k++)
            if (!is_next(f, o, places, k, taken)) return false;
        measure(f, o, places, scratch, out);
    }
    return out->n_work == t->n_gpu;
}

static bool ask_again(const finder *f, const stored_owners *s, uint32_t *answers)
{
    for (size_t i = 0; i < s->n_questions; i++)
        if (rs_shapes_ask_again(f->shapes, s->questions + RS_SHAPE_QUESTION * i, &answers[i], NULL) !=
                RS_OK ||
            answers[i] == RS_NO_ANSWER)
            return false;
    return true;
}

static bool restore(finder *f, size_t n, owners_value *v)
{
    rs_owners *o = &v->owners;
    size_t n_gpu = f->t->n_gpu;
    RS_LOCAL uint32_t *answers = rs_malloc((v->stored.n_questions + 1) * sizeof *answers);
    RS_LOCAL uint64_t *taken = rs_calloc(n_gpu / 64 + 1, sizeof *taken);
    RS_LOCAL rs_interval *scratch = rs_malloc((n_gpu + 1) * sizeof *scratch);
    o->items = rs_malloc((n + 1) * sizeof *o->items);
    o->work_row = rs_malloc((n_gpu + 1) * sizeof *o->work_row);
    return answers && taken && scratch && o->items && o->work_row && ask_again(f, &v->stored, answers) &&
           share_out(f, &v->stored, n, answers, taken, scratch, o) && count_unlinked(f, o, NULL) == RS_OK;
}

static void *take(rs_trace *trace, const void *key, const rs_facet_part *parts)
{
    (void)key;
    size_t n = parts[NODE].n / sizeof(uint32_t), question = RS_SHAPE_QUESTION * sizeof(uint32_t);
    RS_SCOPED(finder_clear) finder f = {.trace = trace, .e = trace->events};
    owners_value *v = rs_calloc(1, sizeof *v);
    bool ok = v && n && parts[NODE].n == n * sizeof(uint32_t) && parts[ANSWER].n == parts[NODE].n &&
              parts[N_WORK].n == parts[NODE].n && parts[COMMUNICATION].n == n &&
              parts[QUESTIONS].n % question == 0 && look_at(&f, NULL) == RS_OK &&
              parts[PLACE].n == f.t->n_gpu * sizeof(uint32_t);
    if (ok) {
        v->stored = (stored_owners){rs_facet_lend(&parts[NODE]),   rs_facet_lend(&parts[ANSWER]),
                                    rs_facet_lend(&parts[N_WORK]), rs_facet_lend(&parts[COMMUNICATION]),
                                    rs_facet_lend(&parts[PLACE]),  rs_facet_lend(&parts[QUESTIONS]),
                                    parts[QUESTIONS].n / question};
        v->has_stored = v->lent = true;
        ok = restore(&f, n, v);
    }
    if (ok) return v;
    free_owners(v);
    return NULL;
}

static const rs_facet_form owners_form = {N_PARTS, give, take, false};

/* ---- all of it ------------------------------------------------------------------------------------------- */

static rs_status find_owners(finder *f, owners_value *v, rs_error *err)
{
    RS_TRY(look_at(f, err));
    f->outer = rs_malloc((f->t->n + 1) * sizeof *f->outer);
    f->answer = rs_malloc((f->t->n + 1) * sizeof *f->answer);
    f->pairs = rs_malloc((f->t->n_gpu + 1) * sizeof *f->pairs);
    if (!f->outer || !f->answer || !f->pairs) return rs_fail_nomem(err, "owners of GPU work");
    RS_TRY(find_outermost(f, err));
    RS_TRY(pair_up(f, err));
    if (!gather(f, &v->owners) || (f->trace->keeper && !store(f, v)))
        return rs_fail_nomem(err, "owners of GPU work");
    return count_unlinked(f, &v->owners, err);
}

static rs_status make_owners(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    RS_SCOPED(finder_clear) finder f = {.trace = trace, .e = trace->events};
    owners_value *v = rs_calloc(1, sizeof *v);
    rs_status status = v ? find_owners(&f, v, err) : rs_fail_nomem(err, "owners of GPU work");
    if (status == RS_OK)
        *out = v;
    else
        free_owners(v);
    return status;
}

const rs_facet rs_facet_owners = {
    .name = "owners of GPU work",
    .needs = {&rs_facet_working_tree, &rs_facet_classes, &rs_facet_links, &rs_facet_shapes, &rs_facet_steps},
    .selected = true,
    .make = make_owners,
    .release = free_owners,
    .form = &owners_form};

rs_status rs_trace_owners(rs_trace *trace, const rs_owners **out, rs_error *err)
{
    void *value;
    RS_TRY(rs_trace_facet(trace, &rs_facet_owners, NULL, &value, err));
    *out = &((const owners_value *)value)->owners;
    return RS_OK;
}
