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

typedef struct asking {
    const rs_linked *linked;
    answer *answers; /* by node: as an operator around others */
    answer *nearest; /* by node: as the operator nearest to a launch */
    rs_arena arena;  /* of one question */
    char *text;      /* what is being written */
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

static const char *take(asking *a, rs_writer *w)
{
    rs_writer_flush(w);
    const char *copy = w->failed ? NULL : rs_arena_strndup(&a->arena, a->text, a->n);
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
static const char *types_of(asking *a, rs_writer *w, rs_slice types)
{
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
    return take(a, w);
}

/* Values of what is no tensor, as texts: 1, True, [1, 2]. */
static void put_value(asking *a, rs_writer *w, rs_slice value)
{
    char *text =
        rs_slice_is_text(value) ? rs_slice_text(value, &a->arena) : rs_slice_python(value, &a->arena);
    a->nomem |= !text;
    if (text) rs_writer_json_string(w, text, strlen(text));
}

static const char *values_of(asking *a, rs_writer *w, rs_slice values, rs_slice types)
{
    rs_slice_walk value_walk = rs_slice_elements(values), type_walk = rs_slice_elements(types);
    rs_slice value, type;
    bool any = false;
    rs_writer_char(w, '[');
    while (rs_slice_next(&value_walk, &value) && rs_slice_next(&type_walk, &type)) {
        if (any) rs_writer_text(w, ", ");
        any = true;
        bool tells = starts(type, "Int") || starts(type, "Bool") || starts(type, "Double") ||
                     starts(type, "GenericList[Int") || starts(type, "GenericList[Bool") ||
                     starts(type, "GenericList[Double");
        if (tells)
            put_value(a, w, value);
        else
            rs_writer_text(w, "\"\"");
    }
    rs_writer_char(w, ']');
    return take(a, w);
}

/* ---- questions --------------------------------------------------------------------------------------- */

static rs_status ask_model(asking *a, const rs_linked_node *n, uint16_t model, const char *name, answer *out)
{
    rs_op_arguments arguments;
    rs_writer *w = rs_malloc(sizeof *w);
    rs_sink sink = {keep, a};
    if (!w) return rs_fail_nomem(a->err, "models");
    rs_writer_init(w, &sink);
    rs_argument_texts texts = {0};
    char *shapes = rs_arena_strndup(&a->arena, (const char *)n->inputs.shapes.bytes, n->inputs.shapes.n);
    a->nomem |= !shapes;
    texts.dims = shapes;
    texts.types = types_of(a, w, n->inputs.types);
    texts.concrete = values_of(a, w, n->inputs.values, n->inputs.types);
    rs_free(w);
    if (a->nomem) return rs_fail_nomem(a->err, "models");
    rs_status status = rs_op_arguments_read(&texts, &a->arena, &arguments, a->err);
    if (status != RS_OK) return status;
    size_t length = strlen(name);
    rs_model m = rs_model_answer(model, length && name[length - 1] == '_', &arguments);
    int64_t ops;
    if (!m.family || m.lower || (!m.has_flops && !m.has_bytes)) return RS_OK;
    out->known = true;
    if (m.has_flops && !__builtin_add_overflow(m.matrix, m.vector, &ops) && ops >= 0) out->ops = ops;
    if (m.has_bytes && m.bytes >= 0) out->bytes = m.bytes;
    return RS_OK;
}

/* What the operator's model says of its arguments, asked once. */
static rs_status ask(asking *a, uint32_t at, bool nearest, answer *out)
{
    answer *known = nearest ? &a->nearest[at] : &a->answers[at];
    const rs_linked_node *n = &a->linked->nodes[at];
    if (!known->asked) {
        *known = (answer){.asked = true, .ops = RS_NO_WORK, .bytes = RS_NO_WORK};
        rs_arena_reset(&a->arena);
        const char *name = n->inputs.shapes.bytes ? rs_slice_text(n->name, &a->arena) : "";
        if (!name) return rs_fail_nomem(a->err, "models");
        uint16_t model = *name ? rs_model_find(name) : RS_NO_MODEL;
        if (model != RS_NO_MODEL && (nearest || !rs_model_is_fallback(model))) {
            rs_status status = ask_model(a, n, model, name, known);
            if (status != RS_OK) return status;
        }
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
                .err = err};
    uint32_t *owner = rs_malloc(n * sizeof *owner);
    share *shares = rs_calloc(n, sizeof *shares);
    *work = (rs_convert_work){rs_malloc(n * sizeof *work->ops), rs_malloc(n * sizeof *work->bytes)};
    bool ok = a.answers && a.nearest && owner && shares && work->ops && work->bytes;
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "models");
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
    rs_free(a.text);
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
