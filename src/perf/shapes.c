#include "perf/shapes.h"

#include <string.h>

#include "base/interval.h"
#include "base/try.h"
#include "trace/launcher_rows.h"

struct rs_op_shapes {
    const rs_trace *trace;
    uint16_t *entry_of;   /* by string id: the model of that name, or NOT_ASKED */
    uint16_t *forward_of; /* by string id: the model of the name without its ending Backward */
    rs_map64 places;      /* hash of a question -> answer */
    rs_shape_answer *answers;
    size_t n, capacity;
    size_t near[4]; /* where the arguments of the last question stood in their columns */
    size_t moved;   /* how far the first of them lay from that of the question before */
    bool has_forwards;
    rs_map64 forwards; /* name and sequence number -> row + 1 of a forward operator with arguments */
    bool has_batches;
    rs_keyed *batches; /* annotations of batches: start, row; by start */
    size_t n_batches, batches_capacity;
    rs_arena arena; /* of the arguments being read */
};

static void free_shapes(void *value)
{
    rs_op_shapes *s = value;
    if (!s) return;
    rs_free_all(s->entry_of, s->forward_of);
    rs_map64_clear(&s->places);
    rs_map64_clear(&s->forwards);
    rs_free_all(s->answers, s->batches);
    rs_arena_clear(&s->arena);
    rs_free(s);
}

/* Stands for a name that was not looked up yet. */
#define NOT_ASKED (RS_NO_MODEL - 1)

static bool prepare(rs_op_shapes *s)
{
    const size_t n = s->trace->events->strings.n + 1;
    s->entry_of = rs_malloc(n * sizeof *s->entry_of);
    s->forward_of = rs_malloc(n * sizeof *s->forward_of);
    if (!s->entry_of || !s->forward_of) return false;
    for (size_t i = 0; i < n; i++) s->entry_of[i] = NOT_ASKED;
    for (size_t i = 0; i < n; i++) s->forward_of[i] = RS_NO_MODEL;
    return true;
}

/* The model of a name, which is looked up once; settles forward_of, too. */
static uint16_t entry_of(rs_op_shapes *s, uint32_t id)
{
    if (s->entry_of[id] != NOT_ASKED) return s->entry_of[id];
    const rs_string *name = &s->trace->events->strings.items[id];
    char forward[64];
    s->entry_of[id] = rs_model_find(name->text);
    size_t n = rs_forward_name(name->text, name->length);
    if (s->entry_of[id] != RS_NO_MODEL || n == 0 || n >= sizeof forward) return s->entry_of[id];
    memcpy(forward, name->text, n);
    forward[n] = '\0';
    uint16_t entry = rs_model_find(forward);
    if (entry != RS_NO_MODEL && rs_model_backward(entry) != RS_NO_MODEL)
        s->forward_of[id] = rs_model_backward(entry);
    return s->entry_of[id];
}

static rs_status make_shapes(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    rs_op_shapes *s = rs_calloc(1, sizeof *s);
    if (s) s->trace = trace;
    if (!s || !prepare(s)) {
        free_shapes(s);
        return rs_fail_nomem(err, "operator shapes");
    }
    *out = s;
    return RS_OK;
}

const rs_facet rs_facet_shapes = {.name = "shapes",
                                  .columns = RS_ARGS_COLUMNS | RS_COLUMN_BIT(SEQUENCE_NUMBER),
                                  .make = make_shapes,
                                  .release = free_shapes};

rs_status rs_trace_shapes(rs_trace *trace, rs_op_shapes **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_shapes, NULL, out, err);
}

/* ---- the forward operator of a backward one ------------------------------------------------------------ */

static uint64_t forward_key(uint32_t name, int64_t sequence)
{
    return (uint64_t)name << 40 | ((uint64_t)sequence & ((UINT64_C(1) << 40) - 1));
}

/* All operators of a forward pass that have a model for the backward pass, the first of each number. */
static bool find_forwards(rs_op_shapes *s)
{
    const rs_events *e = s->trace->events;
    rs_cursor number = rs_cursor_of(e, RS_COL_SEQUENCE_NUMBER), dims = rs_cursor_of(e, RS_COL_INPUT_DIMS);
    for (size_t i = 0; i < s->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(s->trace, i);
        uint16_t entry = entry_of(s, e->name[row]);
        if (entry == RS_NO_MODEL || rs_model_backward(entry) == RS_NO_MODEL) continue;
        int64_t sequence = rs_cursor_int(&number, row, -1);
        if (sequence < 0 || !rs_cursor_seek(&dims, row)) continue;
        bool is_new;
        uint32_t *place = rs_map64_put(&s->forwards, forward_key(e->name[row], sequence), &is_new);
        if (!place) return false;
        if (is_new) *place = row;
    }
    return s->has_forwards = true;
}

/* The row whose arguments represent those of a backward operator; RS_NO_ROW: none. */
static rs_status forward_row(rs_op_shapes *s, uint32_t row, uint32_t *out, rs_error *err)
{
    const rs_events *e = s->trace->events;
    const rs_string *name = &e->strings.items[e->name[row]];
    int64_t sequence;
    *out = RS_NO_ROW;
    if (!s->has_forwards && !find_forwards(s)) return rs_fail_nomem(err, "operator shapes");
    uint32_t forward = rs_strings_find(&e->strings, name->text, rs_forward_name(name->text, name->length));
    if (forward == RS_NO_STRING || !rs_events_int(e, RS_COL_SEQUENCE_NUMBER, row, &sequence)) return RS_OK;
    const uint32_t *place = rs_map64_get(&s->forwards, forward_key(forward, sequence));
    if (place) *out = *place;
    return RS_OK;
}

/* ---- the batch of a serving engine ---------------------------------------------------------------------- */

static bool find_batches(rs_op_shapes *s)
{
    const rs_events *e = s->trace->events;
    rs_batch batch;
    for (size_t i = 0; i < s->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(s->trace, i);
        if (rs_event_kind(e, row) != RS_KIND_USER_ANNOTATION || !rs_event_is_span(e, row) ||
            !rs_batch_read(rs_event_name(e, row), &batch))
            continue;
        if (!RS_PUSH(s->batches, s->n_batches, s->batches_capacity, (rs_keyed){e->start[row], row}))
            return false;
    }
    return s->has_batches = rs_keyed_sort(s->batches, s->n_batches);
}

/* The name of the last annotation of a batch that began before the row's start, if it was still open then. */
static rs_status batch_at(rs_op_shapes *s, uint32_t row, uint32_t *name, rs_error *err)
{
    const rs_events *e = s->trace->events;
    if (!s->has_batches && !find_batches(s)) return rs_fail_nomem(err, "operator shapes");
    size_t low = rs_keyed_until(s->batches, s->n_batches, e->start[row]);
    *name = RS_NO_STRING;
    if (low == 0) return RS_OK;
    uint32_t last = s->batches[low - 1].value;
    if (rs_event_end(e, last) > e->start[row]) *name = e->name[last];
    return RS_OK;
}

/* ---- answers ------------------------------------------------------------------------------------------- */

static bool same_question(const rs_shape_answer *a, const rs_shape_answer *b)
{
    return a->name == b->name && a->entry == b->entry && a->dims == b->dims && a->types == b->types &&
           a->strides == b->strides && a->concrete == b->concrete && a->batch == b->batch;
}

static uint64_t hash_question(const rs_shape_answer *q)
{
    uint64_t h = rs_hash_u64((uint64_t)q->name << 32 | q->entry);
    h = rs_hash_u64(h ^ ((uint64_t)q->dims << 32 | q->types));
    return rs_hash_u64(h ^ ((uint64_t)q->strides << 32 | q->concrete)) + q->batch;
}

static const char *text_of(const rs_events *e, uint32_t id)
{
    return id == RS_NO_STRING ? NULL : e->strings.items[id].text;
}

static rs_status answer(rs_op_shapes *s, rs_shape_answer *q, rs_error *err)
{
    const rs_events *e = s->trace->events;
    const rs_string *name = &e->strings.items[q->name];
    rs_argument_texts texts = {text_of(e, q->dims), text_of(e, q->types), text_of(e, q->strides),
                               text_of(e, q->concrete)};
    rs_op_arguments arguments;
    rs_arena_reset(&s->arena);
    RS_TRY(rs_op_arguments_read(&texts, &s->arena, &arguments, err));
    rs_batch batch;
    if (q->batch != RS_NO_STRING && rs_batch_read(text_of(e, q->batch), &batch)) arguments.batch = &batch;
    q->model = rs_model_answer(q->entry, name->length && name->text[name->length - 1] == '_', &arguments);
    return RS_OK;
}

/* The texts of the row. Questions come almost in the order of the file, so what follows the last answer is
 * looked at first. Rows mostly have all four or none: where the first column's place is the row's in another
 * one too, nothing is searched. */
static void texts_at(rs_op_shapes *s, uint32_t row, uint32_t texts[4])
{
    static const rs_column_id columns[4] = {RS_COL_INPUT_DIMS, RS_COL_INPUT_TYPE, RS_COL_INPUT_STRIDES,
                                            RS_COL_CONCRETE_INPUTS};
    for (unsigned which = 0; which < 4; which++) {
        const rs_sparse *c = &s->trace->events->args[columns[which]];
        size_t at = which ? s->near[which] + s->moved : c->n;
        if (at >= c->n || c->rows[at] != row) at = rs_sparse_near(c, s->near[which], row);
        bool found = at < c->n && c->rows[at] == row;
        if (!which) s->moved = at - s->near[0];
        s->near[which] = at;
        texts[which] = found ? c->texts[at] : RS_NO_STRING;
    }
}

/* The answer to a question, given once. */
static rs_status settle(rs_op_shapes *s, rs_shape_answer *q, uint32_t *out, rs_error *err)
{
    uint32_t *place = NULL;
    *out = RS_NO_ANSWER;
    for (uint64_t hash = hash_question(q);; hash++) { /* a clash of hashes takes the next key */
        bool is_new;
        place = rs_map64_put(&s->places, hash, &is_new);
        if (!place) return rs_fail_nomem(err, "operator shapes");
        if (is_new) break;
        /* a place without an answer is left from an earlier failure */
        if (*place < s->n && same_question(q, &s->answers[*place])) {
            if (s->answers[*place].model.family) *out = *place;
            return RS_OK;
        }
        if (*place >= s->n) break;
    }
    *place = UINT32_MAX;
    RS_TRY(answer(s, q, err));
    if (!RS_GROW_ONE(s->answers, s->n, s->capacity)) return rs_fail_nomem(err, "operator shapes");
    *place = (uint32_t)s->n;
    s->answers[s->n] = *q;
    if (q->model.family) *out = (uint32_t)s->n;
    s->n++;
    return RS_OK;
}

rs_status rs_shapes_ask(rs_op_shapes *s, uint32_t row, bool nearest, uint32_t *out, rs_error *err)
{
    const rs_events *e = s->trace->events;
    uint16_t entry = entry_of(s, e->name[row]);
    uint32_t texts[4];
    *out = RS_NO_ANSWER;
    if (entry == RS_NO_MODEL && s->forward_of[e->name[row]] != RS_NO_MODEL) {
        entry = s->forward_of[e->name[row]];
        texts_at(s, row, texts);
        if (texts[0] == RS_NO_STRING) RS_TRY(forward_row(s, row, &row, err));
    }
    if (entry == RS_NO_MODEL || row == RS_NO_ROW || (rs_model_is_fallback(entry) && !nearest)) return RS_OK;
    texts_at(s, row, texts);
    rs_shape_answer q = {.name = e->name[row],
                         .entry = entry,
                         .dims = texts[0],
                         .types = texts[1],
                         .strides = texts[2],
                         .concrete = texts[3],
                         .batch = RS_NO_STRING};
    if (rs_model_asks_batch(entry)) RS_TRY(batch_at(s, row, &q.batch, err));
    return settle(s, &q, out, err);
}

void rs_shapes_question(const rs_op_shapes *s, uint32_t at, uint32_t question[RS_SHAPE_QUESTION])
{
    const rs_shape_answer *q = &s->answers[at];
    const uint32_t all[RS_SHAPE_QUESTION] = {q->name,     q->dims,  q->types, q->strides,
                                             q->concrete, q->batch, q->entry};
    memcpy(question, all, sizeof all);
}

rs_status rs_shapes_ask_again(rs_op_shapes *s, const uint32_t question[RS_SHAPE_QUESTION], uint32_t *out,
                              rs_error *err)
{
    const size_t n_strings = s->trace->events->strings.n;
    uint32_t name = question[0], entry = question[6];
    *out = RS_NO_ANSWER;
    if (name >= n_strings || entry >= NOT_ASKED) return RS_OK;
    for (unsigned i = 1; i < 6; i++)
        if (question[i] >= n_strings && question[i] != RS_NO_STRING) return RS_OK;
    /* the model of the name, or of its backward pass, told by either's name */
    uint16_t own = entry_of(s, name);
    bool backward = own != RS_NO_MODEL && rs_model_backward(own) == entry;
    if (entry != own && entry != s->forward_of[name] && !backward) return RS_OK;
    if (question[5] != RS_NO_STRING && !rs_model_asks_batch((uint16_t)entry)) return RS_OK;
    rs_shape_answer q = {.name = name,
                         .dims = question[1],
                         .types = question[2],
                         .strides = question[3],
                         .concrete = question[4],
                         .batch = question[5],
                         .entry = (uint16_t)entry};
    return settle(s, &q, out, err);
}

size_t rs_shapes_count(const rs_op_shapes *s)
{
    return s->n;
}

const rs_shape_answer *rs_shapes_at(const rs_op_shapes *s, uint32_t at)
{
    return &s->answers[at];
}
