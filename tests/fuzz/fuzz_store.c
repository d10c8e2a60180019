/* Entries of the store, well summed and for this program, so that the bytes come as far as they can. Whatever they say,
 * reading touches nothing but them, and what comes out of it holds together: events whose ids and rows exist, tables
 * that can be shown. */
#include <string.h>

#include "engine/causes.h"
#include "fuzz.h"
#include "job/job_internal.h"
#include "perf/owner.h"
#include "rankscope/rankscope.h"
#include "store/events.h"
#include "store/narrow.h"
#include "trace/facet.h"
#include "trace/tree.h"

static bool add_up(void *context, const char *bytes, size_t n)
{
    uint64_t *hash = context;
    for (size_t i = 0; i < n; i++) *hash = (*hash ^ (uint8_t)bytes[i]) * UINT64_C(0x100000001b3);
    return true;
}

static void check_sparse(const rs_events *e, const rs_sparse *s, bool texts)
{
    for (size_t i = 0; i < s->n; i++) {
        PROMISE(s->rows[i] < e->n && (i == 0 || s->rows[i] > s->rows[i - 1]));
        if (texts) PROMISE(s->texts[i] < e->strings.n);
    }
}

static void check_events(const rs_events *e)
{
    for (size_t i = 0; i < e->n; i++) {
        int64_t end;
        PROMISE(e->start[i] == RS_NO_TIME || e->duration[i] == RS_NO_TIME ||
                !__builtin_add_overflow(e->start[i], e->duration[i], &end));
        PROMISE(e->name[i] < e->strings.n && e->thread[i] < e->n_threads && e->category[i] < e->n_categories);
    }
    for (size_t i = 0; i < RS_N_COLUMNS; i++)
        check_sparse(e, &e->args[i], rs_column_infos[i].type == RS_COLUMN_TEXT);
    for (size_t i = 0; i < e->n_counters; i++) check_sparse(e, &e->counters[i].values, false);
    for (size_t i = 0; i < e->others.n; i++) {
        PROMISE(e->others.name[i] < e->others.n_names && e->others.rows[i] < e->n);
        if (e->others.kind[i] == RS_OTHER_TEXT) PROMISE((uint64_t)e->others.value[i] < e->strings.n);
    }
    for (size_t i = 0; i < e->n_log; i++) PROMISE(e->log[i].text < e->strings.n);
}

/* Arrays of facets stand in the same file as the events here, with these numbers. */
#define PART_FACETS 900
#define PARTS_EACH 16
static const rs_facet *const facets[] = {&rs_facet_gpu_rows, &rs_facet_launches, &rs_facet_tree,
                                         &rs_facet_owners,   &rs_facet_sync,     &rs_facet_causes};

static bool fetch(void *entry, const rs_trace *trace, const rs_facet *facet, const void *key,
                  rs_facet_part *parts)
{
    bool any = false;
    (void)trace;
    (void)key;
    for (uint32_t f = 0; f < sizeof facets / sizeof *facets; f++)
        for (uint32_t i = 0; facets[f] == facet && i < facet->form->n_parts; i++) {
            parts[i].bytes = rs_entry_part_of(entry, PART_FACETS + PARTS_EACH * f + i, &parts[i].n);
            any |= parts[i].bytes != NULL;
        }
    return any;
}

static void keep(void *entry, const rs_trace *trace, const rs_facet *facet, const void *key,
                 const rs_facet_part *parts)
{
    (void)entry;
    (void)trace;
    (void)facet;
    (void)key;
    for (unsigned i = 0; i < RS_FACET_PARTS; i++) PROMISE(!parts[i].n || parts[i].bytes);
}

static void check_links(const rs_events *e, const rs_links *links, size_t n_gpu)
{
    PROMISE(links->n_work + links->n_unlinked == n_gpu);
    for (size_t i = 0; i < n_gpu; i++)
        PROMISE(links->launch_of[i] == RS_NO_ROW || rs_event_is_span(e, links->launch_of[i]));
}

static void check_tree(const rs_events *e, const rs_tree *t)
{
    for (size_t i = 0; i < t->n; i++) {
        PROMISE(rs_event_is_span(e, t->row[i]) && t->end[i] > i && t->end[i] <= t->n);
        PROMISE(t->parent[i] == RS_NO_NODE ? t->depth[i] == 0
                                           : t->parent[i] < i && t->end[t->parent[i]] >= t->end[i]);
        PROMISE(t->op[i] == RS_NO_NODE || t->op[i] <= i);
        PROMISE(t->gpu_first[i] <= t->gpu_first[i + 1]);
    }
    PROMISE(t->n == 0 || t->gpu_first[t->n] == t->n_gpu);
    for (size_t i = 0; i < t->n_gpu; i++) PROMISE(rs_event_is_span(e, t->gpu_row[i]));
}

/* Every piece of the tree's work has one owner. */
static void check_owners(const rs_events *e, const rs_owners *o, const rs_tree *t)
{
    size_t n = 0;
    for (size_t i = 0; i < o->n; i++) {
        PROMISE(o->items[i].node < t->n && o->items[i].row == t->row[o->items[i].node]);
        PROMISE(o->items[i].n_work > 0 && o->items[i].first_work + o->items[i].n_work <= o->n_work);
        n += o->items[i].n_work;
    }
    PROMISE(n == o->n_work && n == t->n_gpu);
    for (size_t i = 0; i < n; i++) PROMISE(rs_event_is_span(e, o->work_row[i]));
}

static void check_sync(const rs_events *e, const rs_sync_edges *s)
{
    for (size_t i = 0; i < s->n; i++) {
        PROMISE(s->items[i].source < e->n && s->items[i].target < e->n && s->items[i].kind < RS_N_SYNC_KINDS);
        PROMISE(i == 0 || s->items[i].target >= s->items[i - 1].target);
    }
}

static void check_causes(const rs_events *e, const rs_causes *c)
{
    for (size_t i = 0; i < c->w->n; i++) {
        PROMISE(c->before[i] == RS_NO_ITEM || c->before[i] < c->w->n);
        PROMISE(c->around[i] == RS_NO_ITEM || c->around[i] < c->w->n);
        PROMISE(c->room[i] == RS_NO_ITEM || c->room[i] < c->w->n);
        PROMISE(c->kind[i] < RS_N_WORK_KINDS);
    }
    for (size_t i = 0; i < c->n_samples; i++)
        PROMISE(c->samples[i].row < e->n && c->samples[i].cost < RS_N_COSTS);
}

/* Questions to these events, with what the entry says was worked out from them. */
static void ask(rs_events *e, rs_entry *entry)
{
    const struct rs_facet_keeper keeper = {entry, fetch, keep};
    const uint32_t *rows;
    rs_tree *tree;
    const rs_owners *owners;
    const rs_sync_edges *sync;
    const rs_causes *causes;

    rs_trace trace;
    rs_trace_init(&trace, e, NULL, e->n);
    const rs_links *links;
    const rs_step *steps;
    size_t n;
    trace.file = "stored";
    trace.problems = &e->problems;
    trace.keeper = entry ? &keeper : NULL;
    if (rs_trace_links(&trace, &links, NULL) == RS_OK) PROMISE(links->n_work <= e->n);
    if (rs_trace_gpu_rows(&trace, &rows, &n, NULL) == RS_OK &&
        rs_trace_launches(&trace, &links, NULL) == RS_OK)
        check_links(e, links, n);
    if (rs_trace_tree(&trace, false, &tree, NULL) == RS_OK && rs_tree_busy(&trace, tree, NULL) == RS_OK)
        check_tree(e, tree);
    if (rs_trace_steps(&trace, &steps, &n, NULL) == RS_OK) PROMISE(n <= e->n);
    if (rs_trace_owners(&trace, &owners, NULL) == RS_OK &&
        rs_trace_working_tree(&trace, &tree, NULL) == RS_OK)
        check_owners(e, owners, tree);
    if (rs_trace_sync(&trace, &sync, NULL) == RS_OK) check_sync(e, sync);
    if (rs_trace_causes(&trace, &causes, NULL) == RS_OK) check_causes(e, causes);
    rs_facets_keep(&trace);
    rs_trace_clear(&trace);
}

static void try_result(rs_entry *entry, const char *name)
{
    const rs_query query = {.analysis = rs_analysis_find(name)};
    const rs_job_settings settings = {.size = sizeof(rs_job_settings)};
    const rs_render_settings json = {.size = sizeof json, .form = rs_output_form_find("json")};
    rs_question q;
    rs_result result = {0};
    uint64_t hash = 0;
    size_t n;
    const void *bytes = rs_entry_part_of(entry, 1, &n);
    if (!bytes) return;
    PROMISE(rs_question_init(&q, &query, &settings, NULL) == RS_OK);
    if (rs_result_read(&q, bytes, n, &result)) {
        PROMISE(result.n_tables > 0 && result.main_table < result.n_tables);
        PROMISE(rs_render_result(&result, result.main_table, &json, &(rs_sink){add_up, &hash}, NULL) ==
                RS_OK);
    }
    rs_result_clear(&result);
    rs_question_clear(&q);
}

/* Any bytes as numbers of every size: what is taken for a block lies within them, and comes back the same. */
static void try_narrow(const uint8_t *data, size_t n)
{
    uint64_t numbers[RS_NARROW_BLOCK], again[RS_NARROW_BLOCK];
    uint8_t block[RS_NARROW_MOST];
    for (unsigned size = 1; size <= 8; size *= 2) {
        size_t count = n < RS_NARROW_BLOCK ? n + 1 : RS_NARROW_BLOCK,
               took = rs_narrow_take(data, n, count, size, numbers);
        PROMISE(took <= n);
        if (!took) continue;
        size_t put = rs_narrow_put(numbers, count, size, block);
        PROMISE(put <= sizeof block && rs_narrow_take(block, put, count, size, again) == put);
        PROMISE(memcmp(numbers, again, count * size) == 0);
    }
}

int fuzz_one(const uint8_t *data, size_t n)
{
    uint64_t *bytes = malloc(n + 8);
    PROMISE(bytes != NULL);
    memcpy(bytes, data, n);
    try_narrow(data, n);
    rs_entry *entry = rs_entry_of_bytes(bytes, n);
    if (entry) PROMISE(rs_entry_size(entry) == n);
    rs_entry_close(entry);
    rs_entry_seal(bytes, n);
    entry = rs_entry_of_bytes(bytes, n);
    if (entry) {
        PROMISE(rs_entry_is_own(entry));
        try_result(entry, "idle");
        try_result(entry, "counters");
        uint64_t columns = rs_stored_events_columns(entry);
        rs_events *events = rs_stored_events_get(entry, columns, 1);
        if (events) {
            check_events(events);
            entry = rs_entry_of_bytes(bytes, n); /* the other one is gone, or the events' */
            ask(events, entry);
        }
        rs_events_free(events);
        /* some of the arguments */
        events = entry ? rs_stored_events_get(entry, columns & UINT64_C(0x5555555555555555), 1) : NULL;
        if (events) {
            check_events(events);
            ask(events, NULL);
            entry = NULL;
        }
        rs_events_free(events);
    }
    rs_entry_close(entry);
    free(bytes);
    return 0;
}
