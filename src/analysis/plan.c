/* Runs plans: relations of a rank, then tables of all ranks. */
#include "analysis/plan.h"

#include <string.h>

#include "analysis/gate.h"
#include "base/try.h"

const rs_field rs_relations_fields[2] = {
    RS_FIELD_STRINGS(rs_relations, pool.strings),
    RS_FIELD_INDEX_OR_NONE(rs_relations, rest, rs_relations, pool.strings.n),
};

static bool is_chosen(const rs_plan_choice *choice, const rs_options *options)
{
    for (; choice->option; choice++) {
        const char *text = choice->value ? rs_options_text(options, choice->option) : NULL;
        if (choice->unless && rs_options_is_set(options, choice->unless)) continue;
        if (choice->value ? text && strcmp(text, choice->value) == 0
                          : rs_options_is_set(options, choice->option))
            return true;
    }
    return false;
}

/* ---- what algorithms call -------------------------------------------------------------------------------- */

void *rs_put(rs_relations *r, unsigned at, const void *row)
{
    void *put = NULL;
    if (!r->no_memory)
        put =
            r->groupers[at].by ? rs_grouper_add(&r->groupers[at], row) : rs_relation_add(&r->items[at], row);
    if (!put) r->no_memory = true;
    return put;
}

uint32_t rs_put_text(rs_relations *r, uint32_t id)
{
    bool ok = true;
    id = rs_pool_add(&r->pool, r->events, id, &ok);
    if (!ok) r->no_memory = true;
    return id;
}

uint32_t rs_put_string_n(rs_relations *r, const char *text, size_t length)
{
    uint32_t id = text ? rs_strings_add(&r->pool.strings, text, length) : RS_NO_STRING;
    if (text && id == RS_NO_STRING) r->no_memory = true;
    return id;
}

uint32_t rs_put_string(rs_relations *r, const char *text)
{
    return rs_put_string_n(r, text, text ? strlen(text) : 0);
}

void *rs_put_room(rs_relations *r, size_t n, size_t size)
{
    size_t bytes;
    void *room = __builtin_mul_overflow(n, size, &bytes) ? NULL : rs_arena_alloc(&r->scratch, bytes);
    if (!room)
        r->no_memory = true;
    else
        memset(room, 0, bytes);
    return room;
}

/* ---- relations ------------------------------------------------------------------------------------------- */

/* What only making them takes. */
static void trim(rs_relations *r)
{
    for (size_t i = 0; r->groupers && i < RS_MAX_RELATIONS; i++) rs_grouper_drop(&r->groupers[i]);
    rs_free(r->groupers);
    r->groupers = NULL;
    r->events = NULL;
    rs_arena_clear(&r->scratch);
    rs_map64_clear(&r->pool.plain);
    rs_map64_clear(&r->pool.tuple);
}

void rs_plan_free(void *partial)
{
    rs_relations *r = partial;
    if (!r) return;
    trim(r);
    if (r->extra) r->plan->free_extra(r->extra);
    rs_pool_clear(&r->pool);
    for (size_t i = 0; i < RS_MAX_RELATIONS; i++) rs_relation_clear(&r->items[i]);
    rs_free(r);
}

static rs_relations *create(const rs_plan *plan, const rs_events *events)
{
    rs_relations *r = rs_calloc(1, sizeof *r);
    if (!r) return NULL;
    *r = (rs_relations){.rest = RS_NO_STRING,
                        .plan = plan,
                        .events = events,
                        .groupers = rs_calloc(RS_MAX_RELATIONS, sizeof *r->groupers)};
    if (!r->groupers || !rs_pool_init(&r->pool)) {
        rs_plan_free(r);
        return NULL;
    }
    for (size_t i = 0; i < plan->n_relations; i++) {
        const rs_plan_relation *p = &plan->relations[i];
        r->items[i].size = p->list.size;
        if (p->by) rs_grouper_open(&r->groupers[i], p->by, p->n_by, &r->items[i]);
    }
    return r;
}

static bool is_text_id(const rs_field *f)
{
    return f->bounded && f->limit_here && f->optional && f->limit == offsetof(rs_relations, pool.strings.n);
}

/* The texts of a facet's rows are the trace's: they become the pool's. */
static void take_texts(const rs_plan_relation *p, rs_relations *r, rs_relation *relation)
{
    const rs_layout *layout = p->list.layout;
    for (size_t i = 0; i < layout->n + layout->n_heads; i++) {
        const rs_field *f = rs_layout_field(layout, i);
        if (!is_text_id(f)) continue;
        for (size_t k = 0; k < relation->n; k++) {
            uint32_t *id = (uint32_t *)((char *)relation->rows + k * relation->size + f->offset);
            *id = rs_put_text(r, *id);
        }
    }
}

static void finish(const rs_plan_relation *p, rs_relations *r, size_t at)
{
    rs_relation *relation = &r->items[at];
    if (p->by && !rs_grouper_close(&r->groupers[at])) r->no_memory = true;
    if (r->no_memory) return;
    if (p->from) take_texts(p, r, relation);
    for (size_t i = 0; p->amend && i < relation->n; i++)
        p->amend(r, (char *)relation->rows + i * relation->size);
    if (p->order)
        rs_sort(relation->rows, relation->n, relation->size, p->order, p->n_order, &r->pool.strings);
}

static bool is_dropped(const rs_plan_relation *p, unsigned active, const char *row)
{
    for (size_t i = 0; i < p->n_drops; i++) {
        const rs_plan_drop *d = &p->drops[i];
        int64_t value = d->kind == RS_AS_SIGNED ? rs_signed_at(row + d->offset, d->size)
                                                : (int64_t)rs_unsigned_at(row + d->offset, d->size);
        if (active >> i & 1 && value == d->value) return true;
    }
    return false;
}

/* Rows of a facet, a block at a time. */
static rs_status put_facet(const rs_run *run, rs_trace *trace, const rs_plan_relation *p, unsigned at,
                           rs_relations *r, rs_error *err)
{
    enum { BLOCK_BYTES = 8192 };
    _Alignas(max_align_t) char block[BLOCK_BYTES];
    const rs_facet_rows *shape = p->from->rows;
    void *value;
    unsigned active = 0;
    if (!shape || shape->size != p->row_size)
        return rs_fail(err, RS_ERR_USAGE, "the facet \"%s\" does not have the rows of this plan",
                       p->from->name);
    RS_TRY(rs_trace_facet(trace, p->from, p->from->key_size ? run->policy : NULL, &value, err));
    for (size_t i = 0; i < p->n_drops; i++)
        if (!p->drops[i].option || rs_options_is_set(run->options, p->drops[i].option)) active |= 1u << i;
    for (size_t from = 0, n; !r->no_memory; from += n) {
        n = shape->read(trace, value, from, BLOCK_BYTES / shape->size, block);
        if (!n) break;
        for (size_t i = 0; i < n; i++)
            if (!active || !is_dropped(p, active, block + i * shape->size))
                rs_put(r, at, block + i * shape->size);
    }
    return RS_OK;
}

static rs_status make(const rs_run *run, rs_trace *trace, rs_relations *r, rs_error *err)
{
    const rs_plan *plan = run->plan;
    for (size_t i = 0; i < plan->n_relations && !r->no_memory; i++) {
        const rs_plan_relation *p = &plan->relations[i];
        if (!p->choice || is_chosen(p->choice, run->options)) {
            if (p->from) RS_TRY(put_facet(run, trace, p, (unsigned)i, r, err));
            if (p->make) RS_TRY(p->make(run, trace, r, err));
        }
        finish(p, r, i);
    }
    for (size_t i = 0; i < plan->n_tables; i++) {
        const rs_plan_table *t = (const rs_plan_table *)plan->tables[i];
        if (t->rest) r->rest = rs_put_string(r, t->rest);
    }
    return r->no_memory ? rs_fail_nomem(err, "rows of a rank") : RS_OK;
}

rs_status rs_plan_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_relations *r = create(run->plan, trace->events);
    if (!r) return rs_fail_nomem(err, "rows of a rank");
    unsigned needed = run->plan->absent_without;
    rs_status status = make(run, trace, r, err);
    trim(r);
    if (status != RS_OK || r->absent || (needed && r->items[needed - 1].n == 0))
        rs_plan_free(r);
    else
        *partial = r;
    return status;
}

/* ---- tables ---------------------------------------------------------------------------------------------- */

static const rs_plan *plan_of(const rs_run *run)
{
    return run->over ? run->over : run->plan;
}

/* The relation of a table. A plan over the rows of another has tables alone, or all relations. */
static const rs_plan_relation *relation_of(const rs_run *run, const rs_plan_table *t)
{
    return &(plan_of(run)->n_relations ? plan_of(run) : run->plan)->relations[t->relation];
}

/* One rank's rows of a table. */
typedef struct showing {
    const rs_run *run;
    const rs_plan_table *plan;
    const rs_plan_relation *rows;
    const rs_relations *of;
    rs_table *table;
    int64_t rank;
    rs_row_within within;
} showing;

static const void *row_at(const showing *s, size_t i)
{
    const rs_relation *r = &s->of->items[s->plan->relation];
    return (const char *)r->rows + i * s->rows->list.size;
}

static bool is_shown(const showing *s, size_t i)
{
    return !s->plan->shows || s->plan->shows(s->run, s->of, row_at(s, i));
}

static rs_status put_row(showing *s, const void *row, rs_error *err)
{
    rs_table_put_within(s->table, s->plan->record, s->rank, row, &s->within);
    if (s->plan->set) s->plan->set(s->table, s->run, s->of, row);
    rs_within_pass(&s->within, s->plan->record, row);
    return rs_table_end_row(s->table, err);
}

/* All rows from a place on as one, whose keys are unknown but for the text that names it. */
static rs_status put_rest(showing *s, size_t from, rs_error *err)
{
    const rs_plan_relation *p = s->rows;
    size_t n = s->of->items[s->plan->relation].n;
    bool named = false;
    const int64_t unknown = INT64_MIN;
    _Alignas(max_align_t) char row[512] = {0};
    if (from >= n) return RS_OK;
    if (p->list.size > sizeof row)
        return rs_fail(err, RS_ERR_USAGE, "rows of table %s are too large", s->plan->spec.name);
    for (size_t i = 0; i < p->n_by; i++) {
        const rs_aggregate *a = &p->by[i];
        bool known =
            a->how != RS_BY_KEY && a->how != RS_BY_FIRST && a->how != RS_BY_LEAST && a->how != RS_BY_GREATEST;
        if (is_text_id(&a->field) && !named) {
            memcpy(row + a->field.offset, &s->of->rest, sizeof s->of->rest);
            named = true;
        } else if (!known) {
            memset(row + a->field.offset, 0xff, a->field.size);
            if (a->field.kind == RS_AS_SIGNED) memcpy(row + a->field.offset, &unknown, a->field.size);
        }
    }
    s->within.folded = (int64_t)(n - from);
    for (size_t i = from; i < n; i++) rs_aggregate_merge(p->by, p->n_by, row, row_at(s, i));
    return put_row(s, row, err);
}

/* What makes the share of the whole that --until asks for, of the first CUMULATIVE cell; its place in *cell. */
static double wanted_share(const showing *s, size_t *cell)
{
    const rs_row_spec *record = s->plan->record;
    for (*cell = 0; *cell < record->n && record->cells[*cell].source != RS_CELL_CUMULATIVE;) ++*cell;
    return *cell < record->n ? rs_options_real(s->run->options, s->plan->until) * (double)s->within.all[*cell]
                             : 0;
}

static rs_status put_rows(showing *s, rs_error *err)
{
    const rs_plan_table *t = s->plan;
    size_t n = s->of->items[t->relation].n, cell = 0, i = 0, shown = 0;
    size_t top = t->top ? (size_t)rs_options_int(s->run->options, t->top) : 0;
    bool limited = t->top && (top || t->rest);
    for (size_t k = 0; k < n; k++) rs_within_count(&s->within, t->record, row_at(s, k));
    double wanted = t->until ? wanted_share(s, &cell) : 0;
    for (; i < n && (!limited || shown < top); i++) {
        if (t->until && shown && (double)s->within.before[cell] >= wanted) break;
        if (!is_shown(s, i)) continue;
        RS_TRY(put_row(s, row_at(s, i), err));
        shown++;
    }
    return t->rest ? put_rest(s, i, err) : RS_OK;
}

static rs_status fill(const rs_run *run, const rs_plan_table *t, const rs_relations *of, int64_t rank,
                      rs_table *table, rs_error *err)
{
    showing s = {.run = run,
                 .plan = t,
                 .rows = relation_of(run, t),
                 .of = of,
                 .table = table,
                 .rank = rank,
                 .within = {.folded = 1}};
    rs_table_use_texts(table, &of->pool.strings);
    rs_status status = put_rows(&s, err);
    rs_table_use_texts(table, NULL);
    return status;
}

rs_status rs_plan_put_before(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                             rs_error *err)
{
    (void)run;
    (void)partials;
    (void)n;
    (void)out;
    (void)err;
    return RS_OK;
}

/* The relations over ranks, or NULL when the plan has none. */
static rs_status make_across(const rs_run *run, const rs_partial *partials, size_t n, rs_relations **out,
                             rs_error *err)
{
    const rs_plan *plan = plan_of(run);
    *out = NULL;
    for (size_t i = 0; i < plan->n_relations; i++) {
        const rs_plan_relation *p = &plan->relations[i];
        if (!p->across || (p->choice && !is_chosen(p->choice, run->options))) continue;
        if (!*out && !(*out = create(plan, NULL))) return rs_fail_nomem(err, "rows of all ranks");
        RS_TRY(p->across(run, partials, n, *out, err));
        finish(p, *out, i);
    }
    return *out && (*out)->no_memory ? rs_fail_nomem(err, "rows of all ranks") : RS_OK;
}

static rs_status fill_tables(const rs_run *run, const rs_partial *partials, size_t n,
                             const rs_relations *across, rs_result *result, rs_error *err)
{
    const rs_plan *plan = plan_of(run);
    for (size_t k = 0; k < plan->n_tables; k++) {
        const rs_plan_table *t = (const rs_plan_table *)plan->tables[k];
        if (t->only && !is_chosen(t->only, run->options)) continue;
        for (size_t i = 0; t->relation == RS_OF_PARTIALS && i < n; i++)
            RS_TRY(rs_table_put_row(result->tables[k], t->record, partials[i].rank, &partials[i], err));
        if (t->relation >= RS_OF_MORE) continue;
        if (relation_of(run, t)->across) {
            if (across) RS_TRY(fill(run, t, across, 0, result->tables[k], err));
            continue;
        }
        for (size_t i = 0; i < n; i++)
            RS_TRY(fill(run, t, partials[i].value, partials[i].rank, result->tables[k], err));
    }
    return RS_OK;
}

static size_t main_table(const rs_run *run)
{
    for (size_t k = 0; k < plan_of(run)->n_tables; k++) {
        const rs_plan_table *t = (const rs_plan_table *)plan_of(run)->tables[k];
        if (t->choice && is_chosen(t->choice, run->options)) return k;
    }
    return 0;
}

rs_status rs_plan_merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_relations *across;
    result->main_table = main_table(run);
    for (size_t i = 0; plan_of(run)->note && i < n; i++)
        plan_of(run)->note(run, &partials[i], partials[i].value, result);
    rs_status status = make_across(run, partials, n, &across, err);
    if (status == RS_OK) status = fill_tables(run, partials, n, across, result, err);
    rs_plan_free(across);
    if (status == RS_OK && plan_of(run)->more) status = plan_of(run)->more(run, partials, n, result, err);
    if (status == RS_OK && plan_of(run)->gate)
        status = rs_gate_apply(run->options, result->tables[result->main_table], result, err);
    return status;
}
