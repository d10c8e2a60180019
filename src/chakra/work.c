#include "chakra/work.h"

#include <string.h>

#include "base/interval.h"
#include "perf/models.h"
#include "text/writer.h"

#define MOST_LEVELS 4096

typedef struct answer {
    bool asked, known;
    int64_t ops, bytes; /* RS_NO_WORK */
} answer;

typedef struct share {
    int64_t durations, before; /* of its kernels: all, and those that have got their share */
} share;

/* The model of an operator's name. */
typedef struct named {
    uint16_t model;
    bool in_place, fallback;
} named;

/* The same operators come with the same arguments in every layer and step: each name is looked up once, and so
 * is each combination of arguments asked about. */
typedef struct asking {
    const rs_linked *linked;
    answer *answers; /* by node: as an operator around others */
    answer *nearest; /* by node: as the operator nearest to a launch */
    rs_strings names;
    named *models; /* by name */
    size_t models_capacity;
    rs_strings questions; /* model, shapes, types and values */
    answer *known;        /* by question */
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

static rs_status ask_model(asking *a, const rs_linked_node *n, named name, const char *values, answer *out)
{
    rs_op_arguments arguments;
    rs_argument_texts texts = {.concrete = values, .types = types_of(a, n->inputs.types)};
    char *shapes = rs_arena_strndup(&a->arena, (const char *)n->inputs.shapes.bytes, n->inputs.shapes.n);
    texts.dims = shapes;
    if (a->nomem || !shapes) return rs_fail_nomem(a->err, "models");
    rs_status status = rs_op_arguments_read(&texts, &a->arena, &arguments, a->err);
    if (status != RS_OK) return status;
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
static rs_status ask_once(asking *a, const rs_linked_node *n, named name, answer *out)
{
    const char *values = values_of(a, n->inputs.values, n->inputs.types);
    if (a->nomem) return rs_fail_nomem(a->err, "models");
    rs_writer_uint(a->writer, (uint64_t)name.model << 1 | name.in_place);
    rs_writer_bytes(a->writer, (const char *)n->inputs.shapes.bytes, n->inputs.shapes.n);
    rs_writer_char(a->writer, '\n');
    if (n->inputs.types.n) rs_writer_bytes(a->writer, (const char *)n->inputs.types.bytes, n->inputs.types.n);
    rs_writer_char(a->writer, '\n');
    rs_writer_text(a->writer, values);
    rs_writer_flush(a->writer);
    size_t before = a->questions.n;
    uint32_t id = a->writer->failed ? RS_NO_STRING : rs_strings_add(&a->questions, a->text, a->n);
    a->n = 0;
    if (id == RS_NO_STRING || !rs_grow((void **)&a->known, &a->known_capacity, id + 1, sizeof *a->known))
        return rs_fail_nomem(a->err, "models");
    rs_status status = RS_OK;
    if (a->questions.n > before) {
        a->known[id] = *out;
        status = ask_model(a, n, name, values, &a->known[id]);
    }
    *out = a->known[id];
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

/* What the operator's model says of its arguments, asked once. */
static rs_status ask(asking *a, uint32_t at, bool nearest, answer *out)
{
    answer *known = nearest ? &a->nearest[at] : &a->answers[at];
    const rs_linked_node *n = &a->linked->nodes[at];
    if (!known->asked) {
        named name = {.model = RS_NO_MODEL};
        *known = (answer){.asked = true, .ops = RS_NO_WORK, .bytes = RS_NO_WORK};
        rs_arena_reset(&a->arena);
        rs_status status = n->inputs.shapes.bytes && n->name.n ? model_of(a, n->name, &name) : RS_OK;
        if (status == RS_OK && name.model != RS_NO_MODEL && (nearest || !name.fallback))
            status = ask_once(a, n, name, known);
        if (status != RS_OK) return status;
    }
    *out = *known;
    return RS_OK;
}

/* The operator whose work a kernel is a part of; RS_LINKED_NONE. */
static rs_status find_owner(asking *a, const rs_linked_node *gpu, uint32_t *owner)
{
    uint32_t at = rs_linked_find(a->linked, gpu->parent);
    *owner = RS_LINKED_NONE;
    for (int level = 0; at != RS_LINKED_NONE && level < MOST_LEVELS; level++) {
        const rs_linked_node *n = &a->linked->nodes[at];
        answer found = {0};
        if (n->gpu) return RS_OK;
        rs_status status = ask(a, at, level == 0, &found);
        if (status != RS_OK) return status;
        if (found.known) *owner = at;
        if (n->parent == n->id) return RS_OK;
        at = rs_linked_find(a->linked, n->parent);
    }
    return RS_OK;
}

/* ---- shares ------------------------------------------------------------------------------------------ */

static int64_t part(int64_t total, int64_t before, int64_t own, int64_t all)
{
    return (int64_t)((__int128)total * rs_add_sat(before, own) / all) -
           (int64_t)((__int128)total * before / all);
}

static void share_out(const rs_linked *l, const uint32_t *owner, const answer *answers, const answer *nearest,
                      share *shares, rs_convert_work *work)
{
    for (size_t i = 0; i < l->n_nodes; i++)
        if (owner[i] != RS_LINKED_NONE)
            shares[owner[i]].durations = rs_add_sat(shares[owner[i]].durations, l->nodes[i].exclusive);
    for (size_t i = 0; i < l->n_nodes; i++) {
        if (owner[i] == RS_LINKED_NONE) continue;
        share *s = &shares[owner[i]];
        const answer *a = answers[owner[i]].known ? &answers[owner[i]] : &nearest[owner[i]];
        int64_t own = l->nodes[i].exclusive;
        if (s->durations <= 0) continue;
        if (a->ops >= 0) work->ops[i] = part(a->ops, s->before, own, s->durations);
        if (a->bytes >= 0) work->bytes[i] = part(a->bytes, s->before, own, s->durations);
        s->before = rs_add_sat(s->before, own);
    }
}

rs_status rs_convert_work_find(const rs_linked *l, const rs_comms *comms, rs_convert_work *work,
                               rs_error *err)
{
    size_t n = l->n_nodes + 1, comm = 0;
    asking a = {.linked = l,
                .answers = rs_calloc(n, sizeof *a.answers),
                .nearest = rs_calloc(n, sizeof *a.nearest),
                .writer = rs_malloc(sizeof *a.writer),
                .err = err};
    uint32_t *owner = rs_malloc(n * sizeof *owner);
    share *shares = rs_calloc(n, sizeof *shares);
    *work = (rs_convert_work){rs_malloc(n * sizeof *work->ops), rs_malloc(n * sizeof *work->bytes)};
    bool ok = a.answers && a.nearest && a.writer && owner && shares && work->ops && work->bytes;
    ok = ok && rs_strings_init(&a.names) && rs_strings_init(&a.questions);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "models");
    a.sink = (rs_sink){keep, &a};
    if (ok) rs_writer_init(a.writer, &a.sink);
    /* The empty name and question are there already. */
    if (ok && (!rs_grow((void **)&a.models, &a.models_capacity, 1, sizeof *a.models) ||
               !rs_grow((void **)&a.known, &a.known_capacity, 1, sizeof *a.known)))
        status = rs_fail_nomem(err, "models");
    if (status == RS_OK) a.models[0] = (named){.model = RS_NO_MODEL};
    for (size_t i = 0; ok && i < l->n_nodes && status == RS_OK; i++) {
        bool is_comm = comm < comms->n && comms->node[comm] == i;
        comm += is_comm;
        work->ops[i] = work->bytes[i] = RS_NO_WORK;
        owner[i] = RS_LINKED_NONE;
        if (l->nodes[i].gpu && !is_comm) status = find_owner(&a, &l->nodes[i], &owner[i]);
    }
    if (status == RS_OK) share_out(l, owner, a.answers, a.nearest, shares, work);
    rs_free(a.answers);
    rs_free(a.nearest);
    rs_free(a.models);
    rs_free(a.known);
    rs_free(a.writer);
    rs_free(a.text);
    rs_strings_clear(&a.names);
    rs_strings_clear(&a.questions);
    rs_arena_clear(&a.arena);
    rs_free(owner);
    rs_free(shares);
    if (status != RS_OK) rs_convert_work_clear(work);
    return status;
}

void rs_convert_work_clear(rs_convert_work *work)
{
    rs_free(work->ops);
    rs_free(work->bytes);
    *work = (rs_convert_work){0};
}
