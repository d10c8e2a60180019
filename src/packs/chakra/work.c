#include "chakra/work.h"

#include <string.h>

#include "base/interval.h"
#include "base/try.h"
#include "perf/models.h"
#include "text/writer.h"

typedef struct answer {
    bool known;
    int64_t ops, bytes; /* RS_NO_WORK */
} answer;

static const answer no_answer = {.ops = RS_NO_WORK, .bytes = RS_NO_WORK};

typedef struct share {
    int64_t durations, before; /* of its kernels: all, and those that have got their share */
} share;

/* The model of an operator's name. */
typedef struct named {
    uint16_t model;
    bool in_place, fallback;
} named;

#define NOT_ASKED (RS_LINKED_NONE - 1)

/* The same operators come with the same arguments in every layer and step: each name is looked up once, and so
 * is each combination of arguments asked about. */
typedef struct asking {
    const rs_linked *linked;
    uint32_t *questions_of; /* by node: number of its question, or NOT_ASKED */
    bool *fallback;         /* by node: its model answers only for the operator nearest to a launch */
    uint32_t *outermost; /* by node: the outermost operator at or above it that has an answer; RS_LINKED_NONE;
                            NOT_ASKED */
    uint32_t *way;       /* nodes on the way up */
    rs_strings names;
    named *models; /* by name */
    size_t models_capacity;
    rs_strings questions; /* model, shapes, types and values */
    answer *known;        /* by question; the first, the empty one, has no answer */
    size_t known_capacity;
    rs_arena arena; /* of one question */
    rs_sink sink;
    rs_writer *writer; /* into text */
    char *text;
    size_t n, capacity;
    bool nomem;
    rs_error *err;
} asking;

/* ---- arguments as the device trace would have them ---------------------------------------------------- */

static bool keep(void *context, const char *bytes, size_t n)
{
    asking *a = context;
    if (!rs_grow((void **)&a->text, &a->capacity, a->n + n + 1, 1)) return false;
    memcpy(a->text + a->n, bytes, n);
    a->n += n;
    return true;
}

static const char *take(asking *a)
{
    rs_writer_flush(a->writer);
    const char *copy = a->writer->failed ? NULL : rs_arena_strndup(&a->arena, a->text, a->n);
    a->nomem |= !copy;
    a->n = 0;
    return copy;
}

static bool starts(rs_slice s, const char *word)
{
    size_t n = strlen(word);
    return s.n > n && s.bytes[0] == '"' && memcmp(s.bytes + 1, word, n) == 0;
}

/* "Tensor(c10::BFloat16)" is a tensor of c10::BFloat16. */
static const char *types_of(asking *a, rs_slice types)
{
    rs_writer *w = a->writer;
    rs_slice_walk walk = rs_slice_elements(types);
    rs_slice type;
    bool any = false;
    rs_writer_char(w, '[');
    while (rs_slice_next(&walk, &type)) {
        rs_writer_text(w, any ? ", \"" : "\"");
        any = true;
        if (starts(type, "Tensor(") && type.n > 10)
            rs_writer_bytes(w, (const char *)type.bytes + 8, type.n - 10);
        rs_writer_char(w, '"');
    }
    rs_writer_char(w, ']');
    return take(a);
}

/* Values of what is no tensor, as texts: 1, True, [1, 2]. */
static void put_value(asking *a, rs_slice value)
{
    char *text =
        rs_slice_is_text(value) ? rs_slice_text(value, &a->arena) : rs_slice_python(value, &a->arena);
    a->nomem |= !text;
    if (text) rs_writer_json_string(a->writer, text, strlen(text));
}

static const char *values_of(asking *a, rs_slice values, rs_slice types)
{
    rs_slice_walk value_walk = rs_slice_elements(values), type_walk = rs_slice_elements(types);
    rs_slice value, type;
    bool any = false;
    rs_writer_char(a->writer, '[');
    while (rs_slice_next(&value_walk, &value) && rs_slice_next(&type_walk, &type)) {
        if (any) rs_writer_text(a->writer, ", ");
        any = true;
        bool tells = starts(type, "Int") || starts(type, "Bool") || starts(type, "Double") ||
                     starts(type, "GenericList[Int") || starts(type, "GenericList[Bool") ||
                     starts(type, "GenericList[Double");
        if (tells)
            put_value(a, value);
        else
            rs_writer_text(a->writer, "\"\"");
    }
    rs_writer_char(a->writer, ']');
    return take(a);
}

/* ---- questions --------------------------------------------------------------------------------------- */

static rs_status ask_model(asking *a, const rs_linked_io *in, named name, const char *values, answer *out)
{
    rs_op_arguments arguments;
    rs_argument_texts texts = {.concrete = values, .types = types_of(a, in->types)};
    char *shapes = rs_arena_strndup(&a->arena, (const char *)in->shapes.bytes, in->shapes.n);
    texts.dims = shapes;
    if (a->nomem || !shapes) return rs_fail_nomem(a->err, "models");
    RS_TRY(rs_op_arguments_read(&texts, &a->arena, &arguments, a->err));
    rs_model m = rs_model_answer(name.model, name.in_place, &arguments);
    int64_t ops;
    if (!m.family || m.lower || (!m.has_flops && !m.has_bytes)) return RS_OK;
    out->known = true;
    if (m.has_flops && !__builtin_add_overflow(m.matrix, m.vector, &ops) && ops >= 0) out->ops = ops;
    if (m.has_bytes && m.bytes >= 0) out->bytes = m.bytes;
    return RS_OK;
}

/* Values of tensors are addresses, which differ everywhere and tell nothing: the question is made of what is
 * left of them. */
static rs_status ask_once(asking *a, const rs_linked_io *in, named name, uint32_t *question)
{
    const char *values = values_of(a, in->values, in->types);
    if (a->nomem) return rs_fail_nomem(a->err, "models");
    rs_writer_uint(a->writer, (uint64_t)name.model << 1 | name.in_place);
    rs_writer_bytes(a->writer, (const char *)in->shapes.bytes, in->shapes.n);
    rs_writer_char(a->writer, '\n');
    if (in->types.n) rs_writer_bytes(a->writer, (const char *)in->types.bytes, in->types.n);
    RS_WRITE(a->writer, "\n", values);
    rs_writer_flush(a->writer);
    size_t before = a->questions.n;
    uint32_t id = a->writer->failed ? RS_NO_STRING : rs_strings_add(&a->questions, a->text, a->n);
    a->n = 0;
    if (id == RS_NO_STRING || !rs_grow((void **)&a->known, &a->known_capacity, id + 1, sizeof *a->known))
        return rs_fail_nomem(a->err, "models");
    rs_status status = RS_OK;
    if (a->questions.n > before) {
        a->known[id] = no_answer;
        status = ask_model(a, in, name, values, &a->known[id]);
    }
    *question = id;
    return status;
}

static rs_status model_of(asking *a, rs_slice name, named *out)
{
    size_t before = a->names.n;
    uint32_t id = rs_strings_add(&a->names, (const char *)name.bytes, name.n);
    if (id == RS_NO_STRING || !rs_grow((void **)&a->models, &a->models_capacity, id + 1, sizeof *a->models))
        return rs_fail_nomem(a->err, "models");
    if (a->names.n > before) {
        const char *text = rs_slice_text(name, &a->arena);
        if (!text) return rs_fail_nomem(a->err, "models");
        size_t length = strlen(text);
        uint16_t model = length ? rs_model_find(text) : RS_NO_MODEL;
        a->models[id] = (named){.model = model,
                                .in_place = length && text[length - 1] == '_',
                                .fallback = model != RS_NO_MODEL && rs_model_is_fallback(model)};
    }
    *out = a->models[id];
    return RS_OK;
}

/* What the operator's model says of its arguments, asked once. nearest: as the operator nearest to a launch, not
 * as one around others. */
static rs_status ask(asking *a, uint32_t at, bool nearest, const answer **out)
{
    uint32_t *question = &a->questions_of[at];
    if (*question == NOT_ASKED) {
        const rs_linked_node *n = &a->linked->nodes[at];
        rs_linked_io in = rs_linked_body_of(a->linked, n).inputs;
        named name = {.model = RS_NO_MODEL};
        rs_arena_reset(&a->arena);
        rs_status status = in.shapes.bytes && n->name.n ? model_of(a, n->name, &name) : RS_OK;
        bool asks = nearest || !name.fallback;
        if (asks) *question = 0;
        a->fallback[at] = name.fallback;
        if (status == RS_OK && name.model != RS_NO_MODEL && asks) status = ask_once(a, &in, name, question);
        if (status != RS_OK) return status;
    }
    *out = &a->known[nearest || !a->fallback[at] ? *question : 0];
    return RS_OK;
}

/* The node above, if it is an operator; RS_LINKED_NONE. */
static uint32_t above(const rs_linked *l, const rs_linked_node *n)
{
    uint32_t at = n->parent == n->id ? RS_LINKED_NONE : rs_linked_find(l, n->parent);
    return at == RS_LINKED_NONE || l->nodes[at].gpu ? RS_LINKED_NONE : at;
}

/* Every node is walked over once. On the way up it counts as one without, so that a ring ends the walk. */
static rs_status find_outermost(asking *a, uint32_t at, uint32_t *found)
{
    const answer *known;
    size_t n = 0;
    for (; at != RS_LINKED_NONE && a->outermost[at] == NOT_ASKED;
         at = above(a->linked, &a->linked->nodes[at])) {
        RS_TRY(ask(a, at, false, &known));
        a->outermost[at] = RS_LINKED_NONE;
        a->way[n++] = at;
    }
    *found = at == RS_LINKED_NONE ? at : a->outermost[at];
    while (n-- > 0) {
        uint32_t on = a->way[n];
        if (*found == RS_LINKED_NONE && !a->fallback[on] && a->known[a->questions_of[on]].known) *found = on;
        a->outermost[on] = *found;
    }
    return RS_OK;
}

/* The operator whose work a kernel is a part of; RS_LINKED_NONE. */
static rs_status find_owner(asking *a, const rs_linked_node *gpu, uint32_t *owner)
{
    uint32_t parent = rs_linked_find(a->linked, gpu->parent);
    const answer *known;
    *owner = RS_LINKED_NONE;
    if (parent == RS_LINKED_NONE || a->linked->nodes[parent].gpu) return RS_OK;
    rs_status status = ask(a, parent, true, &known);
    bool fits = status == RS_OK && known->known;
    if (status == RS_OK) status = find_outermost(a, above(a->linked, &a->linked->nodes[parent]), owner);
    if (*owner == RS_LINKED_NONE && fits) *owner = parent;
    return status;
}

/* ---- shares ------------------------------------------------------------------------------------------ */

static int64_t part(int64_t total, int64_t before, int64_t own, int64_t all)
{
    return (int64_t)((__int128)total * rs_add_sat(before, own) / all) -
           (int64_t)((__int128)total * before / all);
}

static void share_out(const asking *a, const uint32_t *owner, share *shares, rs_convert_work *work)
{
    const rs_linked *l = a->linked;
    for (size_t i = 0; i < l->n_nodes; i++)
        if (owner[i] != RS_LINKED_NONE)
            shares[owner[i]].durations = rs_add_sat(shares[owner[i]].durations, l->nodes[i].exclusive);
    for (size_t i = 0; i < l->n_nodes; i++) {
        if (owner[i] == RS_LINKED_NONE) continue;
        share *s = &shares[owner[i]];
        const answer *known = &a->known[a->questions_of[owner[i]]];
        int64_t own = l->nodes[i].exclusive;
        if (s->durations <= 0) continue;
        if (known->ops >= 0) work->ops[i] = part(known->ops, s->before, own, s->durations);
        if (known->bytes >= 0) work->bytes[i] = part(known->bytes, s->before, own, s->durations);
        s->before = rs_add_sat(s->before, own);
    }
}

/* Room for what is by node, nothing asked yet. */
static bool start(asking *a, size_t n)
{
    a->questions_of = rs_malloc(3 * n * sizeof *a->questions_of);
    a->fallback = rs_malloc(n * sizeof *a->fallback);
    a->writer = rs_malloc(sizeof *a->writer);
    if (!a->questions_of || !a->fallback || !a->writer || !rs_strings_init(&a->names) ||
        !rs_strings_init(&a->questions))
        return false;
    a->outermost = a->questions_of + n;
    a->way = a->outermost + n;
    for (size_t i = 0; i < 2 * n; i++) a->questions_of[i] = NOT_ASKED;
    a->sink = (rs_sink){keep, a};
    rs_writer_init(a->writer, &a->sink);
    /* The empty name and question are there already. */
    if (!rs_grow((void **)&a->models, &a->models_capacity, 1, sizeof *a->models) ||
        !rs_grow((void **)&a->known, &a->known_capacity, 1, sizeof *a->known))
        return false;
    a->models[0] = (named){.model = RS_NO_MODEL};
    a->known[0] = no_answer;
    return true;
}

rs_status rs_convert_work_find(const rs_linked *l, const rs_comms *comms, rs_convert_work *work,
                               rs_error *err)
{
    size_t n = l->n_nodes + 1, comm = 0;
    asking a = {.linked = l, .err = err};
    RS_LOCAL uint32_t *owner = rs_malloc(n * sizeof *owner);
    RS_LOCAL share *shares = rs_calloc(n, sizeof *shares);
    *work = (rs_convert_work){rs_malloc(n * sizeof *work->ops), rs_malloc(n * sizeof *work->bytes)};
    bool ok = start(&a, n) && owner && shares && work->ops && work->bytes;
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "models");
    for (size_t i = 0; ok && i < l->n_nodes && status == RS_OK; i++) {
        bool is_comm = comm < comms->n && comms->node[comm] == i;
        comm += is_comm;
        work->ops[i] = work->bytes[i] = RS_NO_WORK;
        owner[i] = RS_LINKED_NONE;
        if (l->nodes[i].gpu && !is_comm) status = find_owner(&a, &l->nodes[i], &owner[i]);
    }
    if (status == RS_OK) share_out(&a, owner, shares, work);
    rs_free_all(a.questions_of, a.fallback, a.models, a.known, a.writer, a.text);
    rs_strings_clear(&a.names);
    rs_strings_clear(&a.questions);
    rs_arena_clear(&a.arena);
    if (status != RS_OK) rs_convert_work_clear(work);
    return status;
}

void rs_convert_work_clear(rs_convert_work *work)
{
    rs_free_all(work->ops, work->bytes);
    *work = (rs_convert_work){0};
}
