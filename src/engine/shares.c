/* Which work of a rank its tensor-parallel group shares out.
 *
 * A product of matrices whose result the group reduces next has its inner size shared out (row-parallel), and so has the gradient of the input of
 * a column-parallel one. Both show which two sizes a shared weight has. A product of that weight that is not reduced makes a part of its
 * result; the gradient of a weight is as its weight. Attention is shared out by heads. What else runs goes by the number of elements: as many as
 * a shared weight, a part of an activation, or a whole one. */
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "engine/skeleton.h"
#include "match/stages.h"
#include "perf/owner.h"
#include "trace/structure.h"

/* An owner of work, or a collective of the group. */
typedef struct piece {
    uint32_t owner;     /* in owners */
    int64_t elements;   /* of the largest tensor; of a collective, of all that is gathered or reduced */
    int64_t m, n, k;    /* of a product; 0: it is none */
    bool is_collective; /* of the group */
    bool multiplies, reduced;
    uint8_t phase;
    uint8_t how, over;
} piece;

/* A weight of which the group shares out one size. */
typedef struct weight {
    int64_t part, whole; /* sizes */
} weight;

typedef struct sharer {
    rs_skeleton *s;
    const rs_events *e;
    const rs_owners *owners;
    rs_op_shapes *shapes;
    rs_mesh_axis axis;
    uint8_t *of_axis; /* by shape of communication */
    rs_keyed *nodes;  /* (row of work, node) */
    rs_keyed *comm;   /* (row of work, its op in comm) */
    size_t n_nodes, n_comm;
    piece *pieces;
    size_t n_pieces;
    weight *weights;
    size_t n_weights, weights_capacity;
    rs_keyed *sizes; /* elements of activations; bit 0: of a part, bit 1: of a whole one */
    size_t n_sizes, sizes_capacity;
    rs_map64 places; /* of shares */
    size_t shares_capacity;
    rs_arena arena;
} sharer;

static void clear_sharer(sharer *x)
{
    rs_free_all(x->of_axis, x->nodes, x->comm, x->pieces, x->weights, x->sizes);
    rs_map64_clear(&x->places);
    rs_arena_clear(&x->arena);
}

/* The value of a key; RS_NO_NODE: it is not there. */
static uint32_t value_of(const rs_keyed *items, size_t n, int64_t key)
{
    size_t at = rs_keyed_before(items, n, key);
    return at < n && items[at].key == key ? items[at].value : RS_NO_NODE;
}

/* ---- what there is ------------------------------------------------------------------------------------------ */

static rs_status find_axis(sharer *x, bool *found, rs_error *err)
{
    const rs_coll_rank *const comm = x->s->comm;
    rs_mesh mesh;
    *found = false;
    RS_TRY(rs_coll_mesh(&comm, 1, x->e->info.world_size, &mesh, err));
    for (size_t i = 0; i < mesh.n; i++)
        if (strcmp(mesh.axes[i].name, "tp") == 0) {
            x->axis = mesh.axes[i];
            *found = true;
        }
    x->of_axis = rs_calloc(comm->n_shapes + 1, 1);
    if (!x->of_axis) return rs_fail_nomem(err, "shares of work");
    for (size_t i = 0; *found && i < comm->n_shapes; i++)
        x->of_axis[i] = rs_coll_is_of_axis(comm, &comm->shapes[i], &x->axis);
    return RS_OK;
}

static bool list_rows(sharer *x)
{
    const rs_skeleton *s = x->s;
    x->nodes = rs_malloc((s->n + 1) * sizeof *x->nodes);
    x->comm = rs_malloc((s->n_comm + 1) * sizeof *x->comm);
    if (!x->nodes || !x->comm) return false;
    for (uint32_t i = 1; i < s->n; i++)
        if (rs_skeleton_is_work(s, i)) x->nodes[x->n_nodes++] = (rs_keyed){rs_skeleton_row(s, i), i};
    for (uint32_t i = 0; i < s->n_comm; i++) x->comm[x->n_comm++] = (rs_keyed){s->comm->ops[i].row, i};
    return rs_keyed_sort(x->nodes, x->n_nodes) && rs_keyed_sort(x->comm, x->n_comm);
}

static int64_t elements_of(const rs_argument *a)
{
    int64_t n = 1;
    if (a->wrong) return 0;
    if (a->list) return a->list_elements;
    for (size_t i = 0; i < a->n_dims; i++)
        if (__builtin_mul_overflow(n, a->dims[i], &n)) return 0;
    return a->n_dims ? n : 0;
}

/* The sizes of a product of two matrices: the first two arguments of two or more sizes. The first may have more: a batch of rows. */
static void read_product(const rs_op_arguments *a, bool linear, piece *p)
{
    const rs_argument *left = NULL, *right = NULL;
    for (size_t i = 0; i < a->n; i++) {
        if (a->items[i].n_dims < 2 || a->items[i].wrong) continue;
        if (!left)
            left = &a->items[i];
        else if (!right)
            right = &a->items[i];
    }
    if (!left || !right || right->n_dims != 2) return;
    const int64_t k = left->dims[left->n_dims - 1], elements = elements_of(left);
    const int64_t inner = right->dims[linear ? 1 : 0], n = right->dims[linear ? 0 : 1];
    if (k <= 0 || inner != k || n <= 0 || elements <= 0) return;
    p->m = elements / k;
    p->n = n;
    p->k = k;
}

static const char *text_at(const rs_events *e, rs_column_id column, uint32_t row)
{
    const uint32_t id = rs_events_text(e, column, row);
    return id == RS_NO_STRING ? NULL : e->strings.items[id].text;
}

static rs_status read_piece(sharer *x, const rs_owned *o, piece *p, rs_error *err)
{
    const rs_argument_texts texts = {
        text_at(x->e, RS_COL_INPUT_DIMS, o->row), text_at(x->e, RS_COL_INPUT_TYPE, o->row),
        text_at(x->e, RS_COL_INPUT_STRIDES, o->row), text_at(x->e, RS_COL_CONCRETE_INPUTS, o->row)};
    const rs_model *model = o->answer == RS_NO_ANSWER ? NULL : &rs_shapes_at(x->shapes, o->answer)->model;
    rs_op_arguments arguments;
    rs_arena_reset(&x->arena);
    RS_TRY(rs_op_arguments_read(&texts, &x->arena, &arguments, err));
    for (size_t i = 0; i < arguments.n; i++) {
        const int64_t n = elements_of(&arguments.items[i]);
        if (n > p->elements) p->elements = n;
    }
    p->multiplies = model && model->has_flops && model->matrix > 0;
    if (!p->multiplies) return RS_OK;
    read_product(&arguments, strstr(rs_event_name(x->e, o->row), "linear") != NULL, p);
    if (p->m && (double)p->m * (double)p->n * (double)p->k * 2 != (double)model->matrix)
        p->m = p->n = p->k = 0; /* it is no plain product */
    return RS_OK;
}

static rs_status read_pieces(sharer *x, rs_error *err)
{
    x->pieces = rs_calloc(x->owners->n + 1, sizeof *x->pieces);
    if (!x->pieces) return rs_fail_nomem(err, "shares of work");
    for (uint32_t i = 0; i < x->owners->n; i++) {
        const rs_owned *o = &x->owners->items[i];
        const uint32_t first = o->n_work ? x->owners->work_row[o->first_work] : RS_NO_ROW;
        piece *p = &x->pieces[x->n_pieces];
        const uint32_t node = first == RS_NO_ROW ? RS_NO_NODE : value_of(x->nodes, x->n_nodes, first);
        if (node == RS_NO_NODE) continue;
        *p = (piece){.owner = i, .phase = x->s->n_placed ? x->s->phase[node] : RS_PHASE_UNKNOWN};
        if (o->communication) {
            const uint32_t op = value_of(x->comm, x->n_comm, first);
            if (op == RS_NO_NODE || !x->of_axis[x->s->comm->ops[op].shape]) continue;
            const rs_coll_shape *shape = rs_coll_shape_of(x->s->comm, &x->s->comm->ops[op]);
            p->is_collective = true;
            p->elements = shape->in_elements > shape->out_elements ? shape->in_elements : shape->out_elements;
        } else {
            RS_TRY(read_piece(x, o, p, err));
        }
        x->n_pieces++;
    }
    return RS_OK;
}

/* ---- what is shared out ------------------------------------------------------------------------------------- */

enum { SIZE_OF_PART = 1, SIZE_OF_WHOLE = 2 };

static bool add_size(sharer *x, int64_t elements, uint32_t of)
{
    for (size_t i = 0; i < x->n_sizes; i++)
        if (x->sizes[i].key == elements) {
            x->sizes[i].value |= of;
            return true;
        }
    return RS_PUSH(x->sizes, x->n_sizes, x->sizes_capacity, (rs_keyed){elements, of});
}

static uint32_t size_is(const sharer *x, int64_t elements)
{
    for (size_t i = 0; i < x->n_sizes; i++)
        if (x->sizes[i].key == elements) return x->sizes[i].value;
    return 0;
}

static const weight *find_weight(const sharer *x, int64_t a, int64_t b)
{
    for (size_t i = 0; i < x->n_weights; i++) {
        const weight *w = &x->weights[i];
        if ((w->part == a && w->whole == b) || (w->part == b && w->whole == a)) return w;
    }
    return NULL;
}

static bool add_weight(sharer *x, int64_t part, int64_t whole, int64_t rows)
{
    if (!add_size(x, rows * part, SIZE_OF_PART)) return false;
    if (find_weight(x, part, whole)) return true;
    return RS_PUSH(x->weights, x->n_weights, x->weights_capacity, (weight){part, whole});
}

/* Products that the next collective of the group reduces. */
static bool find_reduced(sharer *x)
{
    piece *last = NULL;
    for (size_t i = 0; i < x->n_pieces; i++) {
        piece *p = &x->pieces[i];
        if (p->multiplies) last = p;
        if (!p->is_collective) continue;
        if (!add_size(x, p->elements, SIZE_OF_WHOLE) ||
            !add_size(x, p->elements / x->axis.size, SIZE_OF_PART))
            return false;
        if (last && last->m && last->m * last->n == p->elements) {
            last->reduced = true;
            if (!add_weight(x, last->k, last->n, last->m)) return false;
        }
        last = NULL;
    }
    return true;
}

/* Column-parallel products without a backward pass: in the same phase, between two collectives of the group, ahead of one that is reduced, of as
 * many rows, over what a reduced one gives whole. */
static bool find_columns(sharer *x)
{
    size_t from = 0;
    for (size_t i = 0; i < x->n_pieces; i++) {
        const piece *c = &x->pieces[i];
        if (c->is_collective) from = i + 1;
        if (!c->reduced) continue;
        for (size_t k = from; k < i; k++) {
            const piece *p = &x->pieces[k];
            if (p->m != c->m || p->phase != c->phase || p->k != c->n || p->reduced) continue;
            if (!add_weight(x, p->n, p->k, p->m)) return false;
        }
    }
    return true;
}

static bool holds_one(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strstr(name, *words)) return true;
    return false;
}

static void judge_product(const sharer *x, piece *p)
{
    const weight *w = find_weight(x, p->n, p->k), *gradient = find_weight(x, p->m, p->n);
    if (p->reduced) {
        p->how = RS_SHARE_PART;
        p->over = 2;
    } else if (w && size_is(x, p->m * w->part) & SIZE_OF_PART) { /* of as many rows as activations have */
        p->how = RS_SHARE_PART;
        p->over = 1;
    } else if (gradient) {
        p->how = RS_SHARE_PART;
        p->over = p->m == gradient->part ? 0 : 1;
    }
}

static void judge_other(const sharer *x, piece *p)
{
    static const char *const inner[] = {"gelu", "silu", "relu", "swiglu", "glu", NULL}, *const outer[] = {
                                                                                            "norm", "dropout",
                                                                                            "aten::add",
                                                                                            "residual", NULL};
    const char *name = rs_event_name(x->e, x->owners->items[p->owner].row);
    const uint32_t is = size_is(x, p->elements);
    bool parameters = p->phase == RS_PHASE_OPTIMIZER || strstr(name, "reducer");
    for (size_t i = 0; i < x->n_weights; i++)
        parameters |= p->elements == x->weights[i].part * x->weights[i].whole && !(is & SIZE_OF_WHOLE);
    if (parameters || is == SIZE_OF_PART)
        p->how = RS_SHARE_PART;
    else if (is == (SIZE_OF_PART | SIZE_OF_WHOLE))
        p->how = holds_one(name, inner)   ? RS_SHARE_PART
                 : holds_one(name, outer) ? RS_SHARE_WHOLE
                                          : RS_SHARE_UNKNOWN;
}

static void judge(sharer *x)
{
    for (size_t i = 0; x->n_weights && i < x->n_pieces; i++) {
        piece *p = &x->pieces[i];
        if (p->is_collective) continue;
        if (p->m)
            judge_product(x, p);
        else if (p->multiplies)
            p->how = RS_SHARE_PART;
        else
            judge_other(x, p);
    }
}

/* ---- what is kept ------------------------------------------------------------------------------------------- */

static bool place_of(sharer *x, const rs_skeleton_share *want, uint32_t *out)
{
    rs_skeleton *s = x->s;
    uint64_t hash =
        rs_hash_u64((uint64_t)want->m ^ rs_hash_u64((uint64_t)want->n ^ rs_hash_u64((uint64_t)want->k)));
    for (hash ^= (uint64_t)want->how << 8 | want->over;; hash++) {
        bool is_new;
        uint32_t *place = rs_map64_put(&x->places, hash, &is_new);
        if (!place) return false;
        if (is_new) {
            *place = *out = (uint32_t)s->n_shares;
            return RS_PUSH(s->shares, s->n_shares, x->shares_capacity, *want);
        }
        const rs_skeleton_share *is = &s->shares[*place];
        *out = *place;
        if (is->m == want->m && is->n == want->n && is->k == want->k && is->how == want->how &&
            is->over == want->over)
            return true;
    }
}

static bool keep(sharer *x)
{
    rs_skeleton *s = x->s;
    uint32_t place;
    s->share = rs_calloc(s->n + 1, sizeof *s->share);
    if (!s->share || !place_of(x, &(rs_skeleton_share){.how = RS_SHARE_WHOLE}, &place)) return false;
    s->n_shared = s->n;
    for (size_t i = 0; i < x->n_pieces; i++) {
        const piece *p = &x->pieces[i];
        const rs_owned *o = &x->owners->items[p->owner];
        if (p->is_collective || (!p->m && p->how == RS_SHARE_WHOLE)) continue;
        if (!place_of(x,
                      &(rs_skeleton_share){.m = p->m, .n = p->n, .k = p->k, .how = p->how, .over = p->over},
                      &place))
            return false;
        for (uint32_t w = 0; w < o->n_work; w++) {
            const uint32_t node = value_of(x->nodes, x->n_nodes, x->owners->work_row[o->first_work + w]);
            if (node != RS_NO_NODE) s->share[node] = place;
        }
    }
    return true;
}

rs_status rs_skeleton_share_out(rs_skeleton *s, rs_trace *trace, rs_error *err)
{
    RS_SCOPED(clear_sharer) sharer x = {.s = s, .e = trace->events};
    bool found;
    RS_TRY(rs_trace_owners(trace, &x.owners, err));
    RS_TRY(rs_trace_shapes(trace, &x.shapes, err));
    RS_TRY(find_axis(&x, &found, err));
    if (!list_rows(&x)) return rs_fail_nomem(err, "shares of work");
    RS_TRY(read_pieces(&x, err));
    if (found && (!find_reduced(&x) || !find_columns(&x))) return rs_fail_nomem(err, "shares of work");
    judge(&x);
    return keep(&x) ? RS_OK : rs_fail_nomem(err, "shares of work");
}
