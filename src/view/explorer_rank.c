/* One rank of the explorer: its threads and streams, and what is known of an event. */
#include <string.h>

#include "base/interval.h"
#include "base/search.h"
#include "rankscope/events.h"
#include "view/explorer.h"

/* An event as it is drawn. Those of a lane are in preorder. */
typedef struct shape {
    int64_t from, to; /* ns from the job's first event */
    uint32_t id;      /* its place in the file's event array */
    uint32_t row;     /* of the table, which has the texts */
    uint8_t class, depth;
} shape;

typedef struct lane {
    size_t first, n;
    unsigned depth; /* rows that it takes */
    bool of_gpu;
} lane;

struct rs_rank_lanes {
    int64_t rank;
    char ranks[24]; /* the job's setting: borrowed by it */
    rs_job *job;
    rs_result result;
    const rs_table *table; /* of `map --lanes` */
    size_t lane_column, name_column, class_column, parent_column, launch_column;
    shape *shapes;
    size_t n;
    lane *lanes;
    size_t n_lanes, lanes_capacity;
    rs_keyed *by_id; /* places in shapes, by id */
    rs_event_list *events;
    rs_result events_told;
    rs_rank_counters *counters; /* NULL: not asked yet */
};

#define MOST_DEPTH 255

void rs_rank_lanes_free(rs_rank_lanes *l)
{
    if (!l) return;
    rs_event_list_close(l->events);
    rs_result_clear(&l->events_told);
    rs_rank_counters_free(l->counters);
    rs_job_close(l->job);
    rs_result_clear(&l->result);
    rs_free_all(l->shapes, l->lanes, l->by_id, l);
}

/* ---- loading ------------------------------------------------------------------------------------------- */

static const char *const class_names[] = {"computation",    "communication", "memory", "other",
                                          "operator",       "annotation",    "python", "call",
                                          "gpu_annotation", "host"};
enum { N_CLASSES = sizeof class_names / sizeof *class_names, GPU_CLASSES = 4, GPU_ANNOTATION = 8 };

static uint8_t class_of(const char *name)
{
    uint8_t at = 0;
    while (at + 1 < N_CLASSES && strcmp(class_names[at], name) != 0) at++;
    return at;
}

static rs_status make_shapes(rs_rank_lanes *l, int64_t origin, rs_error *err)
{
    const rs_table *t = l->table;
    const size_t from = rs_column_of(t, "from_us"), time = rs_column_of(t, "time_us"),
                 depth = rs_column_of(t, "depth"), id = rs_column_of(t, "position");
    const char *before = NULL;
    l->n = rs_table_n_rows(t);
    l->shapes = rs_malloc((l->n + 1) * sizeof *l->shapes);
    l->by_id = rs_malloc((l->n + 1) * sizeof *l->by_id);
    if (!l->shapes || !l->by_id) return rs_fail_nomem(err, "the lanes of a rank");
    for (size_t i = 0; i < l->n; i++) {
        const char *name = rs_table_text(t, i, l->lane_column, NULL);
        const int64_t deep = rs_table_int(t, i, depth), start = rs_table_int(t, i, from) - origin;
        if (i == 0 || name != before) { /* texts of a table are kept once */
            if (!RS_GROW_ONE(l->lanes, l->n_lanes, l->lanes_capacity)) return rs_fail_nomem(err, "lanes");
            l->lanes[l->n_lanes++] = (lane){.first = i};
            before = name;
        }
        lane *of = &l->lanes[l->n_lanes - 1];
        l->shapes[i] = (shape){.from = start,
                               .to = start + rs_table_int(t, i, time),
                               .id = (uint32_t)rs_table_int(t, i, id),
                               .row = (uint32_t)i,
                               .class = class_of(rs_table_text(t, i, l->class_column, NULL)),
                               .depth = (uint8_t)(deep < MOST_DEPTH ? deep : MOST_DEPTH)};
        if (l->shapes[i].class < GPU_CLASSES) of->of_gpu = true;
        if (l->shapes[i].depth + 1u > of->depth) of->depth = l->shapes[i].depth + 1u;
        of->n++;
    }
    return RS_OK;
}

static rs_status load(rs_explorer *x, rs_rank_lanes *l, rs_error *err)
{
    static const char *const options[][2] = {{"lanes", NULL}, {NULL, NULL}};
    RS_TRY(rs_explorer_open_rank(x, l->rank, l->ranks, &l->job, err));
    RS_TRY(rs_explorer_run(l->job, "map", options, &l->result, err));
    l->table = rs_result_table(&l->result, "lanes");
    l->lane_column = rs_column_of(l->table, "lane");
    l->name_column = rs_column_of(l->table, "name");
    l->class_column = rs_column_of(l->table, "class");
    l->parent_column = rs_column_of(l->table, "parent");
    l->launch_column = rs_column_of(l->table, "launch");
    RS_TRY(make_shapes(l, x->settings.absolute ? 0 : x->origin, err));
    for (size_t i = 0; i < l->n; i++) l->by_id[i] = (rs_keyed){l->shapes[i].id, (uint32_t)i};
    return rs_keyed_sort(l->by_id, l->n) ? RS_OK : rs_fail_nomem(err, "the events of a rank");
}

static rs_status find_rank(rs_explorer *x, int64_t rank, rs_rank_lanes **out, rs_error *err)
{
    size_t at = 0;
    while (at < x->map.n && x->map.ranks[at].rank != rank) at++;
    if (at == x->map.n) return rs_fail(err, RS_ERR_USAGE, "there is no rank %lld", (long long)rank);
    for (at = 0; at < RS_LOADED_RANKS && x->loaded[at] && x->loaded[at]->rank != rank; at++) {
    }
    rs_rank_lanes *found = at < RS_LOADED_RANKS ? x->loaded[at] : NULL;
    if (!found) {
        found = rs_calloc(1, sizeof *found);
        if (!found) return rs_fail_nomem(err, "a rank");
        found->rank = rank;
        const rs_status status = load(x, found, err);
        if (status != RS_OK) {
            rs_rank_lanes_free(found);
            return status;
        }
        if (at == RS_LOADED_RANKS) rs_rank_lanes_free(x->loaded[--at]);
    }
    memmove(x->loaded + 1, x->loaded, at * sizeof *x->loaded);
    x->loaded[0] = *out = found;
    return RS_OK;
}

rs_status rs_explorer_need_counters(rs_explorer *x, int64_t rank, const rs_rank_counters **out, rs_error *err)
{
    rs_rank_lanes *l = NULL;
    RS_TRY(find_rank(x, rank, &l, err));
    if (!l->counters)
        RS_TRY(rs_rank_counters_make(l->job, x->settings.absolute ? 0 : x->origin, &l->counters, err));
    *out = l->counters;
    return RS_OK;
}

/* ---- lanes --------------------------------------------------------------------------------------------- */

static const rs_column_spec lane_columns[] = {
    {"lane", RS_INT, RS_UNIT_ID, "number of the lane", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "thread or stream", NULL},
    {"gpu", RS_INT, RS_UNIT_NONE, "1: a stream of a device", NULL},
    {"depth", RS_INT, RS_UNIT_COUNT, "rows that its nested events take", NULL},
    {"events", RS_INT, RS_UNIT_COUNT, "events of the lane", NULL},
};
static const rs_table_spec lane_table = {"lanes", "one row is a lane", lane_columns,
                                         sizeof lane_columns / sizeof *lane_columns};
static const rs_column_spec item_columns[] = {
    {"lane", RS_INT, RS_UNIT_ID, "its lane", NULL},
    {"depth", RS_INT, RS_UNIT_COUNT, "row within the lane", NULL},
    {"from", RS_INT, RS_UNIT_ID, "start, ns", NULL},
    {"to", RS_INT, RS_UNIT_ID, "end, ns", NULL},
    {"id", RS_INT, RS_UNIT_ID, "the event, or the longest of a bin", NULL},
    {"class", RS_TEXT, RS_UNIT_NONE, "its class", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "its name", NULL},
    {"count", RS_INT, RS_UNIT_COUNT, "1: an event; more: a bin of so many", NULL},
    {"busy", RS_INT, RS_UNIT_ID, "their time, ns", NULL},
    {"wait", RS_INT, RS_UNIT_ID,
     "of an event of communication: its begin, in which it waits for other ranks, ns; once waits was asked",
     NULL},
};
static const rs_table_spec item_table = {"items", "one row is an event, or a bin of several", item_columns,
                                         sizeof item_columns / sizeof *item_columns};

typedef struct bin {
    int64_t from, to, busy, longest;
    const shape *shown;
    int64_t n;
} bin;

typedef struct drawing {
    const rs_rank_lanes *of;
    rs_waits *waits;
    int64_t from, to, column; /* column: ns of a pixel */
    rs_table *items;
    bin *bins; /* by depth */
    int64_t lane;
    rs_error *err;
} drawing;

static rs_status put_item(drawing *d, unsigned depth)
{
    bin *b = &d->bins[depth];
    if (!b->n) return RS_OK;
    rs_table_add_int(d->items, d->lane);
    rs_table_add_int(d->items, depth);
    rs_table_add_int(d->items, b->from);
    rs_table_add_int(d->items, b->to);
    rs_table_add_int(d->items, b->shown->id);
    rs_table_add_text(d->items, class_names[b->shown->class]);
    rs_table_add_text(d->items, rs_table_text(d->of->table, b->shown->row, d->of->name_column, NULL));
    rs_table_add_int(d->items, b->n);
    rs_table_add_int(d->items, b->busy);
    rs_table_add_int(d->items, b->n == 1 ? rs_waits_of_event(d->waits, d->of->rank, b->shown->id) : 0);
    b->n = 0;
    return rs_table_end_row(d->items, d->err);
}

/* Events narrower than a column that follow each other within one are a bin. */
static rs_status draw_lane(drawing *d, const lane *l, int64_t most_depth)
{
    for (size_t i = l->first; i < l->first + l->n && d->of->shapes[i].from < d->to; i++) {
        const shape *s = &d->of->shapes[i];
        if (s->to < d->from || s->depth >= most_depth) continue;
        bin *b = &d->bins[s->depth];
        const int64_t length = s->to - s->from;
        const bool small = length < d->column, joins = b->n && small && s->from - b->to < d->column &&
                                                       s->to - b->from < 64 * d->column &&
                                                       b->longest < d->column;
        if (!joins) RS_TRY(put_item(d, s->depth));
        if (!b->n) *b = (bin){.from = s->from, .longest = -1};
        if (length > b->longest) {
            b->longest = length;
            b->shown = s;
        }
        b->to = s->to;
        b->busy += length;
        b->n++;
    }
    for (unsigned depth = 0; depth < l->depth; depth++) RS_TRY(put_item(d, depth));
    return RS_OK;
}

static rs_status put_lanes(const rs_rank_lanes *l, rs_explorer_answer *answer, rs_error *err)
{
    rs_table *t = rs_table_create(&lane_table);
    rs_status status = t ? RS_OK : rs_fail_nomem(err, "the lanes");
    for (size_t i = 0; status == RS_OK && i < l->n_lanes; i++) {
        rs_table_add_int(t, (int64_t)i);
        rs_table_add_text(t, rs_table_text(l->table, l->lanes[i].first, l->lane_column, NULL));
        rs_table_add_int(t, l->lanes[i].of_gpu);
        rs_table_add_int(t, l->lanes[i].depth);
        rs_table_add_int(t, (int64_t)l->lanes[i].n);
        status = rs_table_end_row(t, err);
    }
    if (status == RS_OK) status = rs_answer_table(answer, "lanes", t, false, err);
    rs_table_free(t);
    return status;
}

rs_status rs_answer_lanes(rs_explorer *x, const rs_explorer_request *request, rs_explorer_answer *answer,
                          rs_error *err)
{
    rs_rank_lanes *l = NULL;
    bin bins[MOST_DEPTH + 1] = {{0}};
    const int64_t width = rs_ask_int(request, "width", 1000), most_depth = rs_ask_int(request, "depth", 24);
    drawing d = {.bins = bins, .waits = &x->waits, .err = err};
    RS_TRY(rs_ask_window(request, x->map.last, &d.from, &d.to, err));
    if (width < 1 || width > 8192) return rs_fail(err, RS_ERR_USAGE, "width is 1 to 8192");
    RS_TRY(find_rank(x, rs_ask_int(request, "rank", -1), &l, err));
    d.of = l;
    d.column = (d.to - d.from) / width > 0 ? (d.to - d.from) / width : 1;
    d.items = rs_table_create(&item_table);
    rs_status status = d.items ? RS_OK : rs_fail_nomem(err, "the lanes");
    for (size_t i = 0; status == RS_OK && i < l->n_lanes; i++) {
        d.lane = (int64_t)i;
        status = draw_lane(&d, &l->lanes[i], most_depth);
    }
    rs_answer_print(answer, "{\"rank\":%lld", (long long)l->rank);
    if (status == RS_OK) status = put_lanes(l, answer, err);
    if (status == RS_OK) status = rs_answer_table(answer, "items", d.items, false, err);
    rs_answer_append(answer, "}", 1);
    rs_table_free(d.items);
    return status;
}

/* ---- an event ------------------------------------------------------------------------------------------ */

static const rs_column_spec event_columns[] = {
    {"id", RS_INT, RS_UNIT_ID, "its place in the file's event array", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "its name", NULL},
    {"class", RS_TEXT, RS_UNIT_NONE, "its class", NULL},
    {"lane", RS_TEXT, RS_UNIT_NONE, "thread or stream", NULL},
    {"from", RS_INT, RS_UNIT_ID, "start, ns from the job's first event", NULL},
    {"to", RS_INT, RS_UNIT_ID, "end", NULL},
    {"step", RS_INT, RS_UNIT_ID, "its step", NULL},
};
static const rs_table_spec event_table = {"events", "one row is an event", event_columns,
                                          sizeof event_columns / sizeof *event_columns};
static const rs_column_spec argument_columns[] = {
    {"name", RS_TEXT, RS_UNIT_NONE, "as the file has it", NULL},
    {"text", RS_TEXT, RS_UNIT_NONE, "its value, where that is a text", NULL},
    {"number", RS_INT, RS_UNIT_ID, "... a whole number", NULL},
    {"real", RS_REAL, RS_UNIT_NONE, "... another number", NULL},
};
static const rs_table_spec argument_table = {"arguments", "one row is an argument", argument_columns,
                                             sizeof argument_columns / sizeof *argument_columns};

/* NULL: there is no such event. */
static const shape *shape_of(const rs_rank_lanes *l, int64_t id)
{
    const size_t at = rs_keyed_before(l->by_id, l->n, id);
    return at < l->n && l->by_id[at].key == id ? &l->shapes[l->by_id[at].value] : NULL;
}

static const shape *shape_in(const rs_rank_lanes *l, const shape *s, size_t column)
{
    return rs_table_is_null(l->table, s->row, column) ? NULL
                                                      : shape_of(l, rs_table_int(l->table, s->row, column));
}

static rs_status add_event(const rs_rank_lanes *l, const shape *s, rs_table *t, rs_error *err)
{
    const rs_event_rank *rank = l->events ? rs_event_list_rank(l->events, 0) : NULL;
    int64_t step = INT64_MIN;
    const size_t n = rank && rank->step ? rank->n : 0;
    size_t at;
    RS_SEARCH(at, n, rs_event_row(rank, at) < s->id);
    if (at < n && rs_event_row(rank, at) == s->id) step = rank->step[at];
    rs_table_add_int(t, s->id);
    rs_table_add_text(t, rs_table_text(l->table, s->row, l->name_column, NULL));
    rs_table_add_text(t, class_names[s->class]);
    rs_table_add_text(t, rs_table_text(l->table, s->row, l->lane_column, NULL));
    rs_table_add_int(t, s->from);
    rs_table_add_int(t, s->to);
    if (step >= 0)
        rs_table_add_int(t, step);
    else
        rs_table_add_null(t);
    return rs_table_end_row(t, err);
}

/* Those that hold the event, the innermost first; the call that launched it, or the work that it launched. */
static rs_status put_related(const rs_rank_lanes *l, const shape *s, rs_explorer_answer *answer,
                             rs_error *err)
{
    rs_table *t[3] = {rs_table_create(&event_table), rs_table_create(&event_table),
                      rs_table_create(&event_table)};
    static const char *const names[3] = {"event", "inside", "launch"};
    rs_status status = t[0] && t[1] && t[2] ? add_event(l, s, t[0], err) : rs_fail_nomem(err, "an event");
    const shape *launch = s->class < GPU_CLASSES ? shape_in(l, s, l->launch_column) : NULL;
    if (status == RS_OK && launch) status = add_event(l, launch, t[2], err);
    size_t n = 0;
    for (const shape *p = shape_in(l, launch ? launch : s, l->parent_column);
         status == RS_OK && p && n < MOST_DEPTH; n++) {
        status = add_event(l, p, t[1], err);
        p = shape_in(l, p, l->parent_column);
    }
    for (size_t i = 0, found = 0; status == RS_OK && s->class >= GPU_CLASSES && i < l->n && found < 32; i++) {
        const shape *work = &l->shapes[i];
        if (work->class >= GPU_CLASSES || rs_table_is_null(l->table, i, l->launch_column) ||
            rs_table_int(l->table, i, l->launch_column) != s->id)
            continue;
        status = add_event(l, work, t[2], err);
        found++;
    }
    for (size_t i = 0; i < 3; i++) {
        if (status == RS_OK) status = rs_answer_table(answer, names[i], t[i], false, err);
        rs_table_free(t[i]);
    }
    return status;
}

/* A text, a whole number or another one: the cells after the argument's name. */
static void add_value(rs_table *t, rs_type type, const char *text, size_t length, int64_t whole, double real)
{
    if (type == RS_TEXT)
        rs_table_add_text_n(t, text, length);
    else
        rs_table_add_null(t);
    if (type == RS_INT)
        rs_table_add_int(t, whole);
    else
        rs_table_add_null(t);
    if (type == RS_REAL)
        rs_table_add_real(t, real);
    else
        rs_table_add_null(t);
}

static rs_status add_arguments(const rs_event_rank *r, uint32_t row, rs_table *t, rs_error *err)
{
    size_t n, at, length = 0;
    const rs_event_argument *all = rs_event_arguments(&n);
    for (size_t k = 0; k < n; k++) {
        if (!rs_event_argument_find(r, k, row, &at)) continue;
        rs_table_add_text(t, all[k].key ? all[k].key : all[k].name);
        const bool is_text = all[k].type == RS_TEXT;
        const char *text = is_text ? rs_event_text(r, rs_event_argument_text(r, k, at), &length) : NULL;
        add_value(t, all[k].type, text, length, all[k].type == RS_INT ? rs_event_argument_int(r, k, at) : 0,
                  all[k].type == RS_REAL ? rs_event_argument_real(r, k, at) : 0);
        RS_TRY(rs_table_end_row(t, err));
    }
    for (size_t i = rs_event_other_first(r, row); i < rs_event_n_others(r); i++) {
        const rs_event_other o = rs_event_other_at(r, i);
        if (o.row != row) break;
        const char *key = rs_event_text(r, o.key, &length);
        rs_table_add_text_n(t, key, length);
        const char *text = o.type == RS_TEXT ? rs_event_text(r, (uint32_t)o.number, &length) : NULL;
        add_value(t, o.type, o.is_null ? NULL : text, length, o.number, o.real);
        RS_TRY(rs_table_end_row(t, err));
    }
    return RS_OK;
}

rs_status rs_answer_event(rs_explorer *x, const rs_explorer_request *request, rs_explorer_answer *answer,
                          rs_error *err)
{
    rs_rank_lanes *l = NULL;
    RS_TRY(find_rank(x, rs_ask_int(request, "rank", -1), &l, err));
    const int64_t id = rs_ask_int(request, "id", -1);
    const shape *s = shape_of(l, id);
    if (!s)
        return rs_fail(err, RS_ERR_USAGE, "rank %lld has no event %lld", (long long)l->rank, (long long)id);
    if (!l->events) RS_TRY(rs_event_list_open(l->job, true, &l->events, &l->events_told, err));
    rs_table *t = rs_table_create(&argument_table);
    rs_status status = t ? RS_OK : rs_fail_nomem(err, "arguments of an event");
    rs_answer_print(answer, "{\"rank\":%lld", (long long)l->rank);
    if (status == RS_OK) status = put_related(l, s, answer, err);
    if (status == RS_OK && rs_event_list_n_ranks(l->events))
        status = add_arguments(rs_event_list_rank(l->events, 0), s->id, t, err);
    if (status == RS_OK) status = rs_answer_table(answer, "arguments", t, false, err);
    rs_answer_append(answer, "}", 1);
    rs_table_free(t);
    return status;
}
