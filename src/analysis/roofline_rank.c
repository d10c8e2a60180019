#include "analysis/roofline_rank.h"

#include <string.h>

#include "base/order.h"
#include "base/stats.h"
#include "base/try.h"
#include "text/numbers.h"

void rs_roof_free(void *partial)
{
    rs_roof_rank *p = partial;
    if (!p) return;
    rs_pool_clear(&p->pool);
    rs_free_all(p->rows, p->devices, p);
}

/* ---- the device ---------------------------------------------------------------------------------------- */

const rs_device *rs_rank_device(rs_trace *trace, rs_error *err, rs_status *status)
{
    const rs_events *e = trace->events;
    const uint32_t *rows;
    size_t n;
    int64_t id;
    *status = rs_trace_gpu_rows(trace, &rows, &n, err);
    if (*status != RS_OK || e->n_devices == 0) return NULL;
    if (n && rs_events_int(e, RS_COL_DEVICE, rows[0], &id))
        for (size_t i = 0; i < e->n_devices; i++)
            if (e->devices[i].id == id) return &e->devices[i];
    return &e->devices[0];
}

rs_status rs_check_device_option(const rs_run *run, rs_error *err)
{
    const char *word = rs_options_text(run->options, "device");
    rs_rates rates;
    return word && rs_rates_is_plain_name(word) ? rs_rates_of_option(word, &rates, err) : RS_OK;
}

rs_status rs_rank_rates(const rs_run *run, const char *known_as, rs_rates *out, bool *known, rs_error *err)
{
    const char *word = rs_options_text(run->options, "device");
    *known = true;
    if (word) return rs_rates_of_option(word, out, err);
    *known = known_as && rs_rates_find(known_as, out);
    return RS_OK;
}

static rs_status list_devices(rs_trace *trace, rs_roof_rank *p, rs_error *err)
{
    const rs_events *e = trace->events;
    rs_status status;
    const rs_device *own = rs_rank_device(trace, err, &status);
    RS_TRY(status);
    p->devices = rs_calloc(e->n_devices + 1, sizeof *p->devices);
    if (!p->devices) return rs_fail_nomem(err, "devices");
    bool ok = true;
    for (size_t i = 0; i < e->n_devices; i++)
        p->devices[p->n_devices++] =
            (rs_roof_device){.id = e->devices[i].id,
                             .name_id = rs_pool_add(&p->pool, e, e->devices[i].name, &ok),
                             .known_as = rs_device_known_as(e, &e->devices[i])};
    p->described = own != NULL;
    p->known_as = own ? rs_device_known_as(e, own) : NULL;
    return ok ? RS_OK : rs_fail_nomem(err, "devices");
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

rs_roof_part rs_roof_part_of(const rs_options *options)
{
    const char *by = rs_options_text(options, "by");
    if (!by) return RS_ROOF_WHOLE; /* of another analysis */
    return strcmp(by, "module") == 0 ? RS_ROOF_MODULE
           : strcmp(by, "step") == 0 ? RS_ROOF_STEP
                                     : RS_ROOF_WHOLE;
}

/* What tells rows apart. answer: of an operator that has its arguments from elsewhere. */
typedef struct row_key {
    uint32_t name, dims, types, strides, concrete, answer, part;
} row_key;

typedef struct gatherer {
    const rs_events *e;
    const rs_op_shapes *shapes;
    rs_roof_part by;
    const rs_tree *tree;  /* by module */
    uint32_t *module;     /* by its node; NULL: not by module */
    const rs_step *steps; /* by step */
    size_t n_steps;
    rs_roof_rank *p;
    size_t near[4]; /* where the arguments of the last operator stood in their columns */
    row_key *keys;  /* by row */
    size_t n_keys, keys_capacity, rows_capacity;
    rs_map64 places;
    const rs_measures *measures; /* NULL: not asked for */
    const rs_owners *owners;
} gatherer;

static uint64_t hash_key(const row_key *k)
{
    uint64_t h = rs_hash_u64((uint64_t)k->name << 32 | k->dims);
    h = rs_hash_u64(h ^ ((uint64_t)k->types << 32 | k->strides));
    return rs_hash_u64(h ^ ((uint64_t)k->concrete << 32 | k->answer)) + k->part;
}

/* The module around an operator, or the step in which it begins. */
static uint32_t part_of(gatherer *g, const rs_owned *o, bool *ok)
{
    const rs_events *e = g->e;
    char number[RS_NUMBER_SIZE];
    if (g->by == RS_ROOF_MODULE) {
        uint32_t module = g->module[o->node];
        return module == RS_NO_NODE ? RS_NO_STRING
                                    : rs_pool_add(&g->p->pool, e, e->name[g->tree->row[module]], ok);
    }
    if (g->by != RS_ROOF_STEP) return RS_NO_STRING;
    int64_t step =
        rs_trace_step_at(g->steps, g->n_steps, e->threads[e->thread[o->row]].pid, e->start[o->row]);
    if (step < 0) return RS_NO_STRING;
    uint32_t id = rs_strings_add(&g->p->pool.strings, number, rs_format_int(step, number));
    if (id == RS_NO_STRING) *ok = false;
    return id;
}

/* The text of a column. Operators come almost in the order of the file: what follows the last one is looked at first. */
static uint32_t text_at(gatherer *g, unsigned which, rs_column_id column, uint32_t row)
{
    const rs_sparse *c = &g->e->args[column];
    size_t at = g->near[which] = rs_sparse_near(c, g->near[which], row);
    return at < c->n && c->rows[at] == row ? c->texts[at] : RS_NO_STRING;
}

static bool key_of(gatherer *g, const rs_owned *o, row_key *out)
{
    const rs_events *e = g->e;
    rs_pool *pool = &g->p->pool;
    uint32_t dims = text_at(g, 0, RS_COL_INPUT_DIMS, o->row);
    bool ok = true;
    *out = (row_key){
        .name = rs_pool_add(pool, e, e->name[o->row], &ok),
        .dims = rs_pool_add_tuple(pool, e, dims, &ok),
        .types = rs_pool_add_tuple(pool, e, text_at(g, 1, RS_COL_INPUT_TYPE, o->row), &ok),
        .strides = rs_pool_add_tuple(pool, e, text_at(g, 2, RS_COL_INPUT_STRIDES, o->row), &ok),
        .concrete = rs_pool_add_tuple(pool, e, text_at(g, 3, RS_COL_CONCRETE_INPUTS, o->row), &ok),
        .answer = dims == RS_NO_STRING ? o->answer : RS_NO_ANSWER,
        .part = part_of(g, o, &ok),
    };
    return ok;
}

static rs_roof_row first_of(const gatherer *g, const row_key *k, const rs_owned *o)
{
    rs_roof_row r = {.name = k->name,
                     .dims = k->dims,
                     .types = k->types,
                     .strides = k->strides,
                     .concrete = k->concrete,
                     .part = k->part,
                     .uid = o->row,
                     .tf32 = o->tf32};
    if (o->answer == RS_NO_ANSWER) return r;
    const rs_model *m = &rs_shapes_at(g->shapes, o->answer)->model;
    r.family = m->family;
    r.lower = m->lower;
    r.has_flops = m->has_flops;
    r.has_bytes = m->has_bytes;
    r.matrix = m->matrix;
    r.vector = m->vector;
    r.bytes = m->bytes;
    r.precision = (uint8_t)rs_dtype_precision(m->type);
    if (o->tf32 && m->matrix > 0) r.precision = RS_TF32;
    return r;
}

static bool add_call(gatherer *g, const rs_owned *o)
{
    rs_roof_rank *p = g->p;
    row_key key;
    uint32_t *place = NULL;
    bool is_new = false;
    if (!key_of(g, o, &key)) return false;
    for (uint64_t hash = hash_key(&key);; hash++) { /* a clash of hashes takes the next key */
        place = rs_map64_put(&g->places, hash, &is_new);
        if (!place || is_new || memcmp(&g->keys[*place], &key, sizeof key) == 0) break;
    }
    if (!place) return false;
    if (is_new) {
        if (!RS_GROW_ONE(g->keys, g->n_keys, g->keys_capacity)) return false;
        if (!RS_GROW_ONE(p->rows, p->n, g->rows_capacity)) return false;
        *place = (uint32_t)p->n;
        g->keys[g->n_keys++] = key;
        p->rows[p->n++] = first_of(g, &key, o);
    }
    rs_roof_row *r = &p->rows[*place];
    r->host_link |= o->host_link;
    rs_moments_add(&r->time, o->time);
    for (uint32_t i = 0; g->measures && i < o->n_work; i++) {
        uint32_t work = g->owners->work_row[o->first_work + i];
        int64_t device;
        if (!rs_events_int(g->e, RS_COL_DEVICE, work, &device)) device = -1;
        rs_measures_add(g->measures, device, g->e->start[work], rs_event_end(g->e, work), &r->measured);
    }
    return true;
}

static const rs_order by_time[] = {RS_FALLING(rs_roof_row, time.sum), RS_RISING(rs_roof_row, uid)};

static rs_status gather(const rs_run *run, rs_trace *trace, rs_roof_rank *p, rs_error *err)
{
    const rs_owners *owners;
    rs_op_shapes *shapes;
    rs_tree *tree;
    gatherer g = {.e = trace->events, .by = rs_roof_part_of(run->options), .p = p};
    RS_TRY(rs_trace_owners(trace, &owners, err));
    g.owners = owners;
    if (rs_options_has(run->options, "measured") && rs_options_flag(run->options, "measured"))
        RS_TRY(rs_trace_measures(trace, &g.measures, err));
    p->has_counters = g.measures && g.measures->n;
    RS_TRY(rs_trace_shapes(trace, &shapes, err));
    RS_TRY(rs_trace_working_tree(trace, &tree, err)); /* the owners' */
    if (g.by == RS_ROOF_STEP) RS_TRY(rs_trace_steps(trace, &g.steps, &g.n_steps, err));
    g.shapes = shapes;
    g.tree = tree;
    if (g.by == RS_ROOF_MODULE) g.module = rs_tree_modules(trace, tree);
    bool ok = g.module || g.by != RS_ROOF_MODULE;
    for (size_t i = 0; ok && i < owners->n; i++)
        if (!owners->items[i].communication) ok = add_call(&g, &owners->items[i]);
    rs_free_all(g.module, g.keys);
    rs_map64_clear(&g.places);
    if (!ok) return rs_fail_nomem(err, "operators");
    RS_SORT(p->rows, p->n, by_time);
    p->linked = owners->linked;
    p->unlinked = owners->unlinked;
    p->has_work = owners->n_work || owners->n_unlinked;
    return RS_OK;
}

rs_status rs_roof_rank_of(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    RS_TRY(rs_check_device_option(run, err));
    rs_roof_rank *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "operators");
    rs_status status = rs_pool_init(&p->pool) ? RS_OK : rs_fail_nomem(err, "operators");
    if (status == RS_OK) status = list_devices(trace, p, err);
    if (status == RS_OK) status = gather(run, trace, p, err);
    for (size_t i = 0; i < p->n_devices; i++)
        p->devices[i].name = rs_pool_text(&p->pool, p->devices[i].name_id);
    if (status == RS_OK)
        *partial = p;
    else
        rs_roof_free(p);
    return status;
}

/* ---- what travels -------------------------------------------------------------------------------------- */

static const rs_field row_fields[] = {
    RS_FIELD_INDEX_OR_NONE(rs_roof_row, name, rs_roof_rank, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_roof_row, dims, rs_roof_rank, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_roof_row, types, rs_roof_rank, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_roof_row, strides, rs_roof_rank, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_roof_row, concrete, rs_roof_rank, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_roof_row, part, rs_roof_rank, pool.strings.n),
    RS_FIELD(rs_roof_row, uid),
    RS_FIELD_OR_NULL(rs_roof_row, family),
    RS_FIELDS(rs_roof_row, lower, has_flops, has_bytes, tf32, host_link, matrix, vector, bytes),
    RS_FIELD_BELOW(rs_roof_row, precision, RS_N_PRECISIONS),
    RS_FIELD_STRUCT(rs_roof_row, time, &rs_moments_layout),
    RS_FIELD_ARRAY(rs_roof_row, measured.sum),
    RS_FIELD_ARRAY(rs_roof_row, measured.ns),
};
static const rs_layout row_layout = RS_LAYOUT(rs_roof_row, row_fields);

static const rs_field device_fields[] = {
    RS_FIELD(rs_roof_device, id),
    RS_FIELD_OR_NULL(rs_roof_device, name),
    RS_FIELD_OR_NULL(rs_roof_device, known_as),
};
static const rs_layout device_layout = RS_LAYOUT(rs_roof_device, device_fields);

static const rs_field rank_fields[] = {
    RS_FIELD_STRINGS(rs_roof_rank, pool.strings),
    RS_FIELD_LIST(rs_roof_rank, rows, n, &row_layout),
    RS_FIELD_LIST(rs_roof_rank, devices, n_devices, &device_layout),
    RS_FIELD_OR_NULL(rs_roof_rank, known_as),
    RS_FIELDS(rs_roof_rank, described, linked, unlinked, has_work, has_counters),
};
const rs_layout rs_roof_layout = RS_LAYOUT(rs_roof_rank, rank_fields);
