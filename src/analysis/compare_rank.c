/* What one rank contributes to compare: its work by key. */
#include "analysis/compare.h"

#include <math.h>
#include <string.h>

#include "analysis/roofline_rank.h"
#include "base/interval.h"
#include "base/try.h"
#include "perf/owner.h"
#include "trace/categories.h"
#include "trace/kernel_kinds.h"
#include "trace/launchers.h"
#include "trace/selection.h"

rs_compare_by rs_compare_by_of(const rs_options *options)
{
    static const char *const words[] = {"args", "op", "kernel", "category", "module", "tree"};
    const char *by = rs_options_text(options, "by");
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(by, words[i]) == 0) return (rs_compare_by)i;
    return RS_COMPARE_ARGS;
}

void rs_compare_add(rs_compare_sum *to, const rs_compare_sum *more)
{
    to->count += more->count;
    to->time = rs_add_sat(to->time, more->time);
    to->flops += more->flops;
    to->bound += more->bound;
    to->computed = rs_add_sat(to->computed, more->computed);
    to->bounded = rs_add_sat(to->bounded, more->bounded);
}

void rs_compare_free(void *partial)
{
    rs_compare_rank *p = partial;
    if (!p) return;
    rs_pool_clear(&p->pool);
    rs_free_all(p->rows, p->nodes, p->work, p->threads, p->device, p);
}

/* ---- calls --------------------------------------------------------------------------------------------- */

/* Work of one kind that an event owns. A call is one event: an owner of communication and of other work
 * stands twice, one behind the other. */
typedef struct call {
    uint32_t row, node;
    uint32_t first_work; /* row of the first piece; RS_NO_ROW for none */
    bool communication;
    uint64_t pieces;
    int64_t time;
    const rs_owned *owned; /* NULL: communication */
} call;

/* The key of a call in ids of the events' texts, and the place of its row. Two may have one place: a list is
 * spelled in two ways. */
typedef struct raw_key {
    uint32_t texts[5];
    uint32_t place;
} raw_key;

typedef struct gatherer {
    rs_trace *trace;
    const rs_events *e;
    const rs_tree *t;
    uint32_t *module; /* by node; where calls are told apart by it */
    const rs_classes *classes;
    rs_op_shapes *shapes;
    const rs_rates *rates; /* NULL: unknown; else known_rates */
    rs_rates known_rates;
    rs_compare_by by;
    rs_compare_rank *p;
    size_t rows_capacity;
    rs_cursor dims, types, strides, concrete; /* calls come by event */
    uint8_t *kinds; /* by string id of a kernel: place of its kind below, + 1; 0: not yet asked */
    rs_map64 places;
    raw_key *raw; /* the different keys of calls as the file has them */
    size_t n_raw, raw_capacity;
    rs_map64 raw_places;    /* hash -> of raw */
    uint32_t *answer_place; /* by answer of shapes: the place of its name and arguments, RS_NO_ROW */
    size_t n_answers, answers_capacity;
    uint32_t last_row, last_place; /* of the call before */
    char *text;                    /* for names that are put together */
    size_t text_capacity;
} gatherer;

static int64_t length_of(const rs_events *e, uint32_t row)
{
    return e->duration[row] > 0 ? e->duration[row] : 0;
}

uint64_t rs_compare_hash(const rs_compare_key *k)
{
    uint64_t h = rs_hash_u64((uint64_t)k->name << 32 | k->dims);
    h = rs_hash_u64(h ^ ((uint64_t)k->types << 32 | k->strides));
    return rs_hash_u64(h ^ k->concrete);
}

/* The place of a key; RS_NO_ROW when out of memory. */
static uint32_t place_of(gatherer *g, const rs_compare_key *key)
{
    rs_compare_rank *p = g->p;
    for (uint64_t hash = rs_compare_hash(key);; hash++) { /* a clash of hashes takes the next key */
        bool is_new;
        uint32_t *place = rs_map64_put(&g->places, hash, &is_new);
        if (!place) return RS_NO_ROW;
        if (!is_new && memcmp(&p->rows[*place].key, key, sizeof *key) == 0) return *place;
        if (!is_new) continue;
        if (!RS_GROW_ONE(p->rows, p->n, g->rows_capacity)) return RS_NO_ROW;
        *place = (uint32_t)p->n;
        p->rows[p->n++] = (rs_compare_row){.key = *key};
        return *place;
    }
}

static uint32_t add_text(gatherer *g, const char *text, size_t length, bool *ok)
{
    uint32_t id = rs_strings_add(&g->p->pool.strings, text, length);
    if (id == RS_NO_STRING) *ok = false;
    return id;
}

static uint32_t add_unlinked(gatherer *g, uint32_t row, bool *ok)
{
    static const char prefix[] = "(unlinked) ";
    const rs_string *s = &g->e->strings.items[g->e->name[row]];
    if (!rs_grow((void **)&g->text, &g->text_capacity, sizeof prefix + s->length, 1)) {
        *ok = false;
        return RS_NO_STRING;
    }
    memcpy(g->text, prefix, sizeof prefix - 1);
    memcpy(g->text + sizeof prefix - 1, s->text, s->length);
    return add_text(g, g->text, sizeof prefix - 1 + s->length, ok);
}

/* The kind of a kernel, asked once for each name. */
static const char *kind_of(const gatherer *g, uint32_t row)
{
    const rs_events *e = g->e;
    const rs_string *s = &e->strings.items[e->name[row]];
    rs_class class = rs_class_at(g->classes, row);
    if (class != RS_CLASS_COMPUTE) return rs_kernel_kind(class, s->text, s->length);
    uint8_t *known = &g->kinds[e->name[row]];
    if (!*known) {
        const char *kind = rs_kernel_kind(class, s->text, s->length);
        uint8_t at = 0;
        while (strcmp(rs_kernel_kind_at(at), kind) != 0) at++;
        *known = (uint8_t)(at + 1);
    }
    return rs_kernel_kind_at(*known - 1u);
}

/* The kind of a call's work: that of the operator, else of the kernel. */
static const char *category_of(const gatherer *g, const call *c)
{
    const rs_events *e = g->e;
    if (c->communication) return "communication";
    const rs_string *kernel = &e->strings.items[e->name[c->first_work]];
    const char *kind = kind_of(g, c->first_work);
    if (strcmp(kind, "memory") == 0 || rs_event_kind(e, c->row) != RS_KIND_CPU_OP) return kind;
    const char *category = rs_op_category(rs_event_name(e, c->row), kernel->text);
    return strcmp(category, "other") == 0 ? kind : category;
}

static uint32_t argument_of(rs_cursor *column, uint32_t row)
{
    return rs_cursor_seek(column, row) ? column->column->texts[column->at] : RS_NO_STRING;
}

static uint32_t add_argument(gatherer *g, uint32_t text, bool *ok)
{
    return text == RS_NO_STRING ? RS_NO_STRING : rs_pool_add_tuple(&g->p->pool, g->e, text, ok);
}

/* The place of a row by operator and arguments; RS_NO_ROW when out of memory. */
static uint32_t place_of_raw(gatherer *g, raw_key raw)
{
    const rs_events *e = g->e;
    bool ok = true, is_new;
    uint64_t hash = rs_hash_u64((uint64_t)raw.texts[0] << 32 | raw.texts[1]);
    hash = rs_hash_u64(hash ^ ((uint64_t)raw.texts[2] << 32 | raw.texts[3])) + raw.texts[4];
    uint32_t *at = rs_map64_put(&g->raw_places, hash, &is_new);
    for (; at && !is_new && memcmp(g->raw[*at].texts, raw.texts, sizeof raw.texts) != 0; /* a clash */)
        at = rs_map64_put(&g->raw_places, ++hash, &is_new);
    if (!at) return RS_NO_ROW;
    if (!is_new) return g->raw[*at].place;
    rs_compare_key key = {.name = rs_pool_add(&g->p->pool, e, raw.texts[0], &ok),
                          .dims = add_argument(g, raw.texts[1], &ok),
                          .types = add_argument(g, raw.texts[2], &ok),
                          .strides = add_argument(g, raw.texts[3], &ok),
                          .concrete = add_argument(g, raw.texts[4], &ok)};
    raw.place = ok ? place_of(g, &key) : RS_NO_ROW;
    if (raw.place == RS_NO_ROW || !RS_GROW_ONE(g->raw, g->n_raw, g->raw_capacity)) return RS_NO_ROW;
    *at = (uint32_t)g->n_raw;
    g->raw[g->n_raw++] = raw;
    return raw.place;
}

/* The slot for the place of an answer's arguments; NULL when out of memory. */
static uint32_t *place_of_answer(gatherer *g, uint32_t answer)
{
    while (g->n_answers <= answer)
        if (!RS_PUSH(g->answer_place, g->n_answers, g->answers_capacity, RS_NO_ROW)) return NULL;
    return &g->answer_place[answer];
}

/* The place of a call's row by operator and arguments; RS_NO_ROW when out of memory. An answer of shapes knows the
 * arguments already, unless they are those of a forward operator. */
static uint32_t place_of_arguments(gatherer *g, const call *c)
{
    const rs_events *e = g->e;
    uint32_t row = c->row, answer = c->owned ? c->owned->answer : RS_NO_ANSWER;
    if (answer != RS_NO_ANSWER) {
        const rs_shape_answer *a = rs_shapes_at(g->shapes, answer);
        uint32_t *place = a->name == e->name[row] ? place_of_answer(g, answer) : NULL;
        if (place && *place == RS_NO_ROW)
            *place =
                place_of_raw(g, (raw_key){.texts = {a->name, a->dims, a->types, a->strides, a->concrete}});
        if (place) return *place;
    }
    bool is_op = rs_event_kind(e, row) == RS_KIND_CPU_OP;
    return place_of_raw(g,
                        (raw_key){.texts = {e->name[row], is_op ? argument_of(&g->dims, row) : RS_NO_STRING,
                                            is_op ? argument_of(&g->types, row) : RS_NO_STRING,
                                            is_op ? argument_of(&g->strides, row) : RS_NO_STRING,
                                            is_op ? argument_of(&g->concrete, row) : RS_NO_STRING}});
}

static rs_compare_key key_of(gatherer *g, const call *c, bool *ok)
{
    const rs_events *e = g->e;
    rs_pool *pool = &g->p->pool;
    rs_compare_key k = {RS_NO_STRING, RS_NO_STRING, RS_NO_STRING, RS_NO_STRING, RS_NO_STRING};
    if (g->by == RS_COMPARE_CATEGORY) {
        const char *category = category_of(g, c);
        k.name = add_text(g, category, strlen(category), ok);
        return k;
    }
    if (g->by == RS_COMPARE_MODULE) {
        static const char none[] = "(no module)";
        uint32_t module = g->module[c->node];
        k.name = module == RS_NO_NODE ? add_text(g, none, sizeof none - 1, ok)
                                      : rs_pool_add(pool, e, e->name[g->t->row[module]], ok);
        return k;
    }
    k.name = rs_pool_add(pool, e, e->name[c->row], ok);
    return k;
}

/* FLOPs and bound of a call whose operator has a model. */
static void add_model(const gatherer *g, const rs_owned *o, rs_compare_sum *s)
{
    if (!o || o->answer == RS_NO_ANSWER) return;
    const rs_model *m = &rs_shapes_at(g->shapes, o->answer)->model;
    if (!m->family) return;
    if (m->has_flops) {
        s->flops = (double)m->matrix + (double)m->vector;
        s->computed = o->time;
    }
    if (!g->rates || !m->has_bytes || o->host_link) return;
    rs_precision precision = rs_dtype_precision(m->type);
    if (o->tf32 && m->matrix > 0) precision = RS_TF32;
    rs_least_time b = rs_rates_bound(g->rates, precision, m->matrix, m->vector, m->bytes);
    if (isnan(b.us)) return;
    s->bound = b.us * 1e3;
    s->bounded = o->time;
}

static bool add_call(gatherer *g, const call *c)
{
    uint32_t place = RS_NO_ROW;
    if (g->by == RS_COMPARE_ARGS) {
        place = place_of_arguments(g, c);
    } else {
        bool ok = true;
        rs_compare_key key = key_of(g, c, &ok);
        if (ok) place = place_of(g, &key);
    }
    if (place == RS_NO_ROW) return false;
    rs_compare_sum sum = {.count = c->row != g->last_row || place != g->last_place, .time = c->time};
    add_model(g, c->owned, &sum);
    rs_compare_add(&g->p->rows[place].sum, &sum);
    g->last_row = c->row;
    g->last_place = place;
    return true;
}

/* A piece of work that is a row's by itself. */
static bool add_piece(gatherer *g, uint32_t row, bool linked)
{
    const rs_events *e = g->e;
    bool ok = true;
    rs_compare_key k = {RS_NO_STRING, RS_NO_STRING, RS_NO_STRING, RS_NO_STRING, RS_NO_STRING};
    if (g->by == RS_COMPARE_KERNEL) {
        k.name = rs_pool_add(&g->p->pool, e, e->name[row], &ok);
    } else if (g->by == RS_COMPARE_CATEGORY) {
        const char *kind = kind_of(g, row);
        k.name = add_text(g, kind, strlen(kind), &ok);
    } else if (g->by == RS_COMPARE_MODULE) {
        k.name = add_text(g, "(unlinked)", 10, &ok);
    } else {
        k.name = linked ? rs_pool_add(&g->p->pool, e, e->name[row], &ok) : add_unlinked(g, row, &ok);
    }
    uint32_t place = ok ? place_of(g, &k) : RS_NO_ROW;
    if (place == RS_NO_ROW) return false;
    rs_compare_add(&g->p->rows[place].sum, &(rs_compare_sum){.count = 1, .time = length_of(e, row)});
    return true;
}

/* ---- whose communication is ---------------------------------------------------------------------------- */

static size_t own_end(const rs_tree *t, size_t node)
{
    return node + 1 < t->end[node] ? t->gpu_first[node + 1] : t->gpu_first[t->end[node]];
}

/* Communication by its launcher, as (launcher's node, row). */
static rs_keyed *list_communication(const gatherer *g, size_t *n)
{
    const rs_tree *t = g->t;
    size_t capacity = 0;
    rs_keyed *items = NULL;
    *n = 0;
    bool ok = RS_GROW_ONE(items, *n, capacity);
    for (size_t node = 0; ok && node < t->n; node++) {
        size_t end = own_end(t, node);
        for (size_t i = t->gpu_first[node]; ok && i < end; i++) {
            if (rs_class_at(g->classes, t->gpu_row[i]) != RS_CLASS_COMM) continue;
            ok = RS_PUSH(items, *n, capacity,
                         (rs_keyed){rs_tree_launcher_of(g->trace, t, (uint32_t)node), t->gpu_row[i]});
        }
    }
    ok = ok && rs_keyed_sort(items, *n);
    if (ok) return items;
    rs_free(items);
    return NULL;
}

/* All calls, and their order by event; communication behind other work of the same event. */
static call *list_calls(const gatherer *g, const rs_owners *owners, size_t *n, rs_keyed **order)
{
    size_t n_comm = 0;
    RS_LOCAL rs_keyed *comm = list_communication(g, &n_comm);
    call *calls = comm ? rs_malloc((owners->n + n_comm + 1) * sizeof *calls) : NULL;
    *n = 0;
    *order = NULL;
    for (size_t i = 0; calls && i < owners->n; i++) {
        const rs_owned *o = &owners->items[i];
        if (o->communication) continue;
        calls[(*n)++] = (call){.row = o->row,
                               .node = o->node,
                               .first_work = owners->work_row[o->first_work],
                               .pieces = o->n_work,
                               .time = o->durations,
                               .owned = o};
    }
    for (size_t i = 0, end; calls && i < n_comm; i = end) {
        uint32_t node = (uint32_t)comm[i].key;
        call *c = &calls[(*n)++];
        *c = (call){.row = g->t->row[node], .node = node, .first_work = comm[i].value, .communication = true};
        for (end = i; end < n_comm && comm[end].key == node; end++, c->pieces++)
            c->time = rs_add_sat(c->time, length_of(g->e, comm[end].value));
    }
    if (calls) *order = rs_malloc((*n + 1) * sizeof **order);
    bool ok = *order != NULL;
    for (size_t i = 0; ok && i < *n; i++)
        (*order)[i] = (rs_keyed){(int64_t)calls[i].row * 2 + calls[i].communication, (uint32_t)i};
    if (ok && rs_keyed_sort(*order, *n)) return calls;
    rs_free_all(calls, *order);
    *order = NULL;
    return NULL;
}

/* ---- where no operators were recorded ------------------------------------------------------------------- */

static bool has_operators(const rs_tree *t)
{
    for (size_t node = 0; node < t->n; node++)
        if (t->op[node] != RS_NO_NODE) return true;
    return false;
}

/* A range that was marked, other than a step: those have names of their own each. */
static bool is_range(const rs_events *e, uint32_t row)
{
    return rs_event_kind(e, row) == RS_KIND_USER_ANNOTATION &&
           strncmp(rs_event_name(e, row), "ProfilerStep", 12) != 0;
}

static bool add_of_range(gatherer *g, uint32_t row, int64_t time, bool first)
{
    bool ok = true;
    rs_compare_key k = {rs_pool_add(&g->p->pool, g->e, g->e->name[row], &ok), RS_NO_STRING, RS_NO_STRING,
                        RS_NO_STRING, RS_NO_STRING};
    uint32_t place = ok ? place_of(g, &k) : RS_NO_ROW;
    if (place == RS_NO_ROW) return false;
    rs_compare_add(&g->p->rows[place].sum, &(rs_compare_sum){.count = first, .time = time});
    return true;
}

/* Linked work by the innermost range around its call, else by itself: calls have the same few names. */
static rs_status gather_ranges(gatherer *g, rs_error *err)
{
    const rs_tree *t = g->t;
    uint32_t *range = rs_malloc((t->n + 1) * sizeof *range); /* by node */
    uint8_t *met = rs_calloc(t->n + 1, 1);
    bool ok = range && met;
    for (size_t node = 0; ok && node < t->n; node++) {
        uint32_t above = t->parent[node] == RS_NO_NODE ? RS_NO_NODE : range[t->parent[node]];
        range[node] = is_range(g->e, t->row[node]) ? (uint32_t)node : above;
        for (size_t i = t->gpu_first[node], end = own_end(t, node); ok && i < end; i++) {
            uint32_t row = t->gpu_row[i], of = range[node];
            ok = of == RS_NO_NODE ? add_piece(g, row, true)
                                  : add_of_range(g, t->row[of], length_of(g->e, row), !met[of]);
            if (of != RS_NO_NODE) met[of] = 1;
        }
    }
    rs_free_all(range, met);
    return ok ? RS_OK : rs_fail_nomem(err, "ranges");
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static rs_status gather_calls(gatherer *g, rs_error *err)
{
    const rs_owners *owners;
    rs_tree *tree;
    RS_TRY(rs_trace_working_tree(g->trace, &tree, err));
    RS_TRY(rs_trace_classes(g->trace, RS_CLASSES_OWN, &g->classes, err));
    g->t = tree;
    if ((g->by == RS_COMPARE_OP || g->by == RS_COMPARE_ARGS) && !has_operators(tree))
        return gather_ranges(g, err);
    if (g->by == RS_COMPARE_MODULE && !(g->module = rs_tree_modules(g->trace, tree)))
        return rs_fail_nomem(err, "operators");
    RS_TRY(rs_trace_owners(g->trace, &owners, err));
    RS_TRY(rs_trace_shapes(g->trace, &g->shapes, err));
    size_t n = 0;
    rs_keyed *order;
    call *calls = list_calls(g, owners, &n, &order);
    bool ok = calls != NULL;
    for (size_t i = 0; ok && i < n; i++) ok = add_call(g, &calls[order[i].value]);
    rs_free_all(calls, order);
    return ok ? RS_OK : rs_fail_nomem(err, "operators");
}

/* Work that is counted by itself: all of it by kernel, else what has no launch. */
static rs_status gather_pieces(gatherer *g, const rs_work *work, rs_error *err)
{
    rs_compare_rank *p = g->p;
    p->pieces = work->n;
    for (size_t i = 0; i < work->n; i++) {
        uint32_t row = work->row[i];
        bool linked = work->launch[i] != RS_NO_ROW;
        int64_t time = length_of(g->e, row);
        p->time = rs_add_sat(p->time, time);
        if (!linked) p->unlinked = rs_add_sat(p->unlinked, time);
        if (g->by == RS_COMPARE_TREE || (linked && g->by != RS_COMPARE_KERNEL)) continue;
        if (!add_piece(g, row, linked)) return rs_fail_nomem(err, "kernels");
    }
    return RS_OK;
}

static rs_status note_device(const rs_run *run, rs_trace *trace, rs_compare_rank *p, rs_rates *rates,
                             rs_error *err)
{
    rs_status status;
    const rs_device *device = rs_rank_device(trace, err, &status);
    RS_TRY(status);
    const char *known = device ? rs_device_known_as(trace->events, device) : NULL;
    RS_TRY(rs_rank_rates(run, known, rates, &p->rates_known, err));
    const char *name = p->rates_known ? rates->name
                       : device && device->name != RS_NO_STRING
                           ? trace->events->strings.items[device->name].text
                           : NULL;
    if (!name) return RS_OK;
    p->device = rs_strdup(name);
    return p->device ? RS_OK : rs_fail_nomem(err, "devices");
}

static rs_status gather(const rs_run *run, rs_trace *trace, gatherer *g, rs_error *err)
{
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    const rs_work *work;
    rs_compare_rank *p = g->p;
    RS_TRY(note_device(run, trace, p, &g->known_rates, err));
    if (p->rates_known) g->rates = &g->known_rates;
    RS_TRY(rs_trace_count_steps(trace, &p->n_steps, &p->step_length, err));
    RS_TRY(rs_trace_work(trace, &policy, &work, err));
    if (g->by == RS_COMPARE_TREE)
        RS_TRY(rs_compare_nodes(trace, p, err));
    else if (g->by != RS_COMPARE_KERNEL)
        RS_TRY(gather_calls(g, err));
    return gather_pieces(g, work, err);
}

uint64_t rs_compare_columns(const rs_options *options)
{
    static const rs_facet *const of_calls[] = {&rs_facet_owners, &rs_facet_shapes, &rs_facet_working_tree};
    static const rs_facet *const of_trees[] = {&rs_facet_working_tree};
    rs_compare_by by = rs_compare_by_of(options);
    if (by == RS_COMPARE_KERNEL) return 0;
    if (by == RS_COMPARE_TREE) return rs_facet_columns(of_trees, 1) | RS_COLUMN_BIT(INPUT_DIMS);
    return rs_facet_columns(of_calls, 3);
}

rs_status rs_compare_rank_of(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    RS_TRY(rs_check_device_option(run, err));
    RS_TRY(rs_compare_check_axis(rs_options_text(run->options, "axis"), err));
    rs_compare_rank *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "operators");
    gatherer g = {.trace = trace,
                  .e = trace->events,
                  .by = rs_compare_by_of(run->options),
                  .p = p,
                  .dims = rs_cursor_of(trace->events, RS_COL_INPUT_DIMS),
                  .types = rs_cursor_of(trace->events, RS_COL_INPUT_TYPE),
                  .strides = rs_cursor_of(trace->events, RS_COL_INPUT_STRIDES),
                  .concrete = rs_cursor_of(trace->events, RS_COL_CONCRETE_INPUTS),
                  .last_row = RS_NO_ROW};
    if (g.by == RS_COMPARE_CATEGORY) g.kinds = rs_calloc(trace->events->strings.n + 1, 1);
    bool ok = rs_pool_init(&p->pool) && (g.kinds || g.by != RS_COMPARE_CATEGORY);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "operators");
    if (status == RS_OK) status = gather(run, trace, &g, err);
    rs_map64_clear(&g.places);
    rs_map64_clear(&g.raw_places);
    rs_free_all(g.raw, g.answer_place, g.text, g.kinds, g.module);
    if (status == RS_OK)
        *partial = p;
    else
        rs_compare_free(p);
    return status;
}
