/* The public feeder: a whole trace in memory, and which of its nodes are ready. */
#include <string.h>

#include "base/heap.h"
#include "base/order.h"
#include "base/strings.h"
#include "base/search.h"
#include "chakra/proto.h"
#include "rankscope/feeder.h"

#define NONE UINT32_MAX

typedef enum value_kind { VALUE_OTHER, VALUE_INT, VALUE_UINT, VALUE_REAL, VALUE_TEXT } value_kind;

typedef struct attribute {
    uint32_t name; /* string id */
    uint8_t kind;  /* value_kind */
    union {
        int64_t whole;
        uint64_t big;
        double real;
        uint32_t text; /* string id */
    };
} attribute;

struct rs_et_node {
    const rs_et_feeder *feeder;
    uint64_t id, runtime, start;
    uint64_t first_attr, first_dep, first_child; /* of the feeder's arrays */
    uint32_t n_attr, n_dep, n_child;
    uint32_t name, texts[6]; /* string ids: values, shapes and types of inputs, then of outputs */
    int32_t type;
    uint32_t waits; /* data dependencies that are not complete */
    bool queued, issued, complete, removed;
};

struct rs_et_feeder {
    rs_et_node *nodes; /* by ascending id */
    size_t n, capacity;
    attribute *attrs;
    size_t n_attrs, attrs_capacity;
    uint64_t *deps; /* ids while reading, then the children's ids */
    size_t n_deps, deps_capacity;
    uint64_t *children;
    rs_strings strings;
    uint32_t *ready; /* a heap: the lowest node on top, which has the lowest id */
    size_t n_ready;
    size_t n_left, n_removed, n_dangling;
};

/* ---- reading ---------------------------------------------------------------------------------------- */

static bool take_text(rs_et_feeder *f, const char *text, uint32_t *out)
{
    *out = text ? rs_strings_add(&f->strings, text, strlen(text)) : 0;
    return *out != RS_NO_STRING;
}

static bool take_value(rs_et_feeder *f, const Rs__Et__Attribute *a, attribute *out)
{
    out->kind = VALUE_INT;
    switch (a->value_case) {
    case RS__ET__ATTRIBUTE__VALUE_INT32_VAL: out->whole = a->int32_val; return true;
    case RS__ET__ATTRIBUTE__VALUE_INT64_VAL: out->whole = a->int64_val; return true;
    case RS__ET__ATTRIBUTE__VALUE_SINT32_VAL: out->whole = a->sint32_val; return true;
    case RS__ET__ATTRIBUTE__VALUE_SINT64_VAL: out->whole = a->sint64_val; return true;
    case RS__ET__ATTRIBUTE__VALUE_SFIXED32_VAL: out->whole = a->sfixed32_val; return true;
    case RS__ET__ATTRIBUTE__VALUE_SFIXED64_VAL: out->whole = a->sfixed64_val; return true;
    case RS__ET__ATTRIBUTE__VALUE_BOOL_VAL: out->whole = a->bool_val ? 1 : 0; return true;
    default: break;
    }
    out->kind = VALUE_UINT;
    switch (a->value_case) {
    case RS__ET__ATTRIBUTE__VALUE_UINT32_VAL: out->big = a->uint32_val; return true;
    case RS__ET__ATTRIBUTE__VALUE_UINT64_VAL: out->big = a->uint64_val; return true;
    case RS__ET__ATTRIBUTE__VALUE_FIXED32_VAL: out->big = a->fixed32_val; return true;
    case RS__ET__ATTRIBUTE__VALUE_FIXED64_VAL: out->big = a->fixed64_val; return true;
    default: break;
    }
    out->kind = VALUE_REAL;
    if (a->value_case == RS__ET__ATTRIBUTE__VALUE_DOUBLE_VAL) {
        out->real = a->double_val;
        return true;
    }
    if (a->value_case == RS__ET__ATTRIBUTE__VALUE_FLOAT_VAL) {
        out->real = (double)a->float_val;
        return true;
    }
    out->kind = a->value_case == RS__ET__ATTRIBUTE__VALUE_STRING_VAL ? VALUE_TEXT : VALUE_OTHER;
    return out->kind == VALUE_OTHER || take_text(f, a->string_val, &out->text);
}

static bool take_tensors(rs_et_feeder *f, const Rs__Et__InputsOutputs *io, uint32_t texts[3])
{
    return !io || (take_text(f, io->values, &texts[0]) && take_text(f, io->shapes, &texts[1]) &&
                   take_text(f, io->types, &texts[2]));
}

static bool take_node(rs_et_feeder *f, const Rs__Et__Node *in)
{
    rs_et_node n = {.feeder = f,
                    .id = in->id,
                    .runtime = in->duration_micros,
                    .start = in->start_time_micros,
                    .first_attr = f->n_attrs,
                    .first_dep = f->n_deps,
                    .type = (int32_t)in->type};
    if (!take_text(f, in->name, &n.name) || !take_tensors(f, in->inputs, n.texts) ||
        !take_tensors(f, in->outputs, n.texts + 3))
        return false;
    for (size_t i = 0; i < in->n_attr; i++) {
        attribute a = {0};
        if (!take_text(f, in->attr[i]->name, &a.name) || !take_value(f, in->attr[i], &a) ||
            !RS_GROW_ONE(f->attrs, f->n_attrs, f->attrs_capacity))
            return false;
        f->attrs[f->n_attrs++] = a;
        n.n_attr++;
    }
    for (size_t i = 0; i < in->n_data_deps; i++) {
        if (!RS_PUSH(f->deps, f->n_deps, f->deps_capacity, in->data_deps[i])) return false;
        n.n_dep++;
    }
    return RS_PUSH(f->nodes, f->n, f->capacity, n);
}

static rs_status read_nodes(rs_et_feeder *f, const char *path, rs_error *err)
{
    rs_et_reader *reader;
    const Rs__Et__Node *node;
    rs_status status = rs_et_open(path, 0, &reader, err);
    if (status != RS_OK) return status;
    while ((status = rs_et_next(reader, &node, err)) == RS_OK && node) {
        if (f->n >= NONE - 1 || node->n_attr > UINT32_MAX / 2 || node->n_data_deps > UINT32_MAX / 2)
            status = rs_fail(err, RS_ERR_LIMIT, "%s: too many nodes", path);
        else if (!take_node(f, node))
            status = rs_fail_nomem(err, "an execution trace");
        if (status != RS_OK) break;
    }
    rs_et_close(reader);
    return status;
}

/* ---- the graph -------------------------------------------------------------------------------------- */

static const rs_order by_id[] = {RS_RISING(rs_et_node, id)};

static const rs_order by_value[] = {RS_RISING_VALUE(uint64_t)};

static uint32_t index_of(const rs_et_feeder *f, uint64_t id)
{
    size_t from;
    RS_SEARCH(from, f->n, f->nodes[from].id < id);
    return from < f->n && f->nodes[from].id == id ? (uint32_t)from : NONE;
}

static rs_status sort_nodes(rs_et_feeder *f, const char *path, rs_error *err)
{
    bool sorted = true;
    for (size_t i = 1; i < f->n && sorted; i++) sorted = f->nodes[i - 1].id < f->nodes[i].id;
    if (sorted) return RS_OK;
    RS_SORT(f->nodes, f->n, by_id);
    for (size_t i = 1; i < f->n; i++)
        if (f->nodes[i - 1].id == f->nodes[i].id)
            return rs_fail(err, RS_ERR_FORMAT, "%s: two nodes have the id %llu", path,
                           (unsigned long long)f->nodes[i].id);
    return RS_OK;
}

/* A dependency that a node names twice counts once; one on itself it can never have. */
static void clean_deps(rs_et_feeder *f, rs_et_node *n)
{
    uint64_t *deps = f->deps + n->first_dep;
    uint32_t kept = 0;
    if (n->n_dep > 1) RS_SORT(deps, n->n_dep, by_value);
    for (uint32_t k = 0; k < n->n_dep; k++) {
        if (k && deps[k] == deps[k - 1]) continue;
        uint32_t at = index_of(f, deps[k]);
        if (at == NONE) {
            f->n_dangling++;
            continue;
        }
        deps[kept++] = at; /* from here on an index */
        f->nodes[at].n_child++;
    }
    n->n_dep = n->waits = kept;
}

static bool add_ready(rs_et_feeder *f, uint32_t node);

/* Nodes are walked by ascending id, so that children come in that order. */
static bool connect(rs_et_feeder *f)
{
    uint64_t at = 0;
    for (size_t i = 0; i < f->n; i++) clean_deps(f, &f->nodes[i]);
    f->children = rs_malloc((f->n_deps + 1) * sizeof *f->children);
    f->ready = rs_malloc((f->n + 1) * sizeof *f->ready);
    if (!f->children || !f->ready) return false;
    for (size_t i = 0; i < f->n; i++) {
        f->nodes[i].first_child = at;
        at += f->nodes[i].n_child;
        f->nodes[i].n_child = 0;
    }
    for (size_t i = 0; i < f->n; i++) {
        const rs_et_node *n = &f->nodes[i];
        for (uint32_t k = 0; k < n->n_dep; k++) {
            rs_et_node *on = &f->nodes[f->deps[n->first_dep + k]];
            f->children[on->first_child + on->n_child++] = n->id;
        }
        if (!n->waits) add_ready(f, (uint32_t)i);
    }
    rs_free(f->deps);
    f->deps = NULL;
    f->n_left = f->n;
    return true;
}

rs_status rs_et_feeder_open(const char *path, rs_et_feeder **out, rs_error *err)
{
    rs_et_feeder *f = rs_calloc(1, sizeof *f);
    *out = NULL;
    if (!f || !rs_strings_init(&f->strings)) {
        rs_free(f);
        return rs_fail_nomem(err, "a feeder");
    }
    rs_status status = read_nodes(f, path, err);
    if (status == RS_OK) status = sort_nodes(f, path, err);
    if (status == RS_OK && !connect(f)) status = rs_fail_nomem(err, "a feeder");
    if (status == RS_OK)
        *out = f;
    else
        rs_et_feeder_close(f);
    return status;
}

void rs_et_feeder_close(rs_et_feeder *f)
{
    if (!f) return;
    rs_free_all(f->nodes, f->attrs, f->deps, f->children, f->ready);
    rs_strings_clear(&f->strings);
    rs_free(f);
}

/* ---- handing out ------------------------------------------------------------------------------------ */

#define IS_LOWER(a, b) ((a) < (b))

/* A node is in the heap once at most, so that there is room. Removed ones are taken out when they come up.
 */
static bool add_ready(rs_et_feeder *f, uint32_t node)
{
    rs_et_node *n = &f->nodes[node];
    if (n->queued || n->issued || n->removed) return false;
    n->queued = true;
    RS_HEAP_UP(f->ready, f->n_ready++, node, IS_LOWER, RS_HEAP_UNMARKED);
    return true;
}

static void take_first(rs_et_feeder *f)
{
    uint32_t last = f->ready[--f->n_ready];
    RS_HEAP_DOWN(f->ready, f->n_ready, last, IS_LOWER, RS_HEAP_UNMARKED);
}

static void drop_removed(rs_et_feeder *f)
{
    while (f->n_ready && f->nodes[f->ready[0]].removed) {
        f->nodes[f->ready[0]].queued = false;
        take_first(f);
    }
}

const rs_et_node *rs_et_feeder_next(rs_et_feeder *f)
{
    drop_removed(f);
    if (!f->n_ready) return NULL;
    rs_et_node *n = &f->nodes[f->ready[0]];
    take_first(f);
    n->queued = false;
    n->issued = true;
    f->n_left--;
    drop_removed(f);
    return n;
}

void rs_et_feeder_complete(rs_et_feeder *f, uint64_t id)
{
    uint32_t at = index_of(f, id);
    if (at == NONE || f->nodes[at].complete) return;
    rs_et_node *n = &f->nodes[at];
    n->complete = true;
    for (uint32_t k = 0; k < n->n_child; k++) {
        uint32_t child = index_of(f, f->children[n->first_child + k]);
        if (--f->nodes[child].waits == 0) add_ready(f, child);
    }
}

void rs_et_feeder_push_back(rs_et_feeder *f, uint64_t id)
{
    uint32_t at = index_of(f, id);
    if (at == NONE || !f->nodes[at].issued || f->nodes[at].complete || f->nodes[at].removed) return;
    f->nodes[at].issued = false;
    f->n_left++;
    add_ready(f, at);
}

void rs_et_feeder_offer(rs_et_feeder *f, uint64_t id)
{
    uint32_t at = index_of(f, id);
    if (at != NONE) add_ready(f, at);
}

void rs_et_feeder_remove(rs_et_feeder *f, uint64_t id)
{
    uint32_t at = index_of(f, id);
    if (at == NONE || f->nodes[at].removed) return;
    f->nodes[at].removed = true;
    f->n_removed++;
    if (!f->nodes[at].issued) f->n_left--;
    drop_removed(f);
}

bool rs_et_feeder_has_next(const rs_et_feeder *f)
{
    return f->n_ready > 0; /* no removed node stays on top */
}

size_t rs_et_feeder_size(const rs_et_feeder *f)
{
    return f->n;
}

size_t rs_et_feeder_left(const rs_et_feeder *f)
{
    return f->n_left;
}

size_t rs_et_feeder_removed(const rs_et_feeder *f)
{
    return f->n_removed;
}

size_t rs_et_feeder_dangling(const rs_et_feeder *f)
{
    return f->n_dangling;
}

const rs_et_node *rs_et_feeder_find(const rs_et_feeder *f, uint64_t id)
{
    uint32_t at = index_of(f, id);
    return at == NONE || f->nodes[at].removed ? NULL : &f->nodes[at];
}

/* ---- a node ----------------------------------------------------------------------------------------- */

static const char *text_of(const rs_et_node *n, uint32_t id)
{
    return n->feeder->strings.items[id].text;
}

/* The last attribute of a name, as messages have it. */
static const attribute *find(const rs_et_node *n, const char *name)
{
    uint32_t id = rs_strings_find(&n->feeder->strings, name, strlen(name));
    if (id == RS_NO_STRING) return NULL;
    for (uint32_t k = n->n_attr; k-- > 0;)
        if (n->feeder->attrs[n->first_attr + k].name == id) return &n->feeder->attrs[n->first_attr + k];
    return NULL;
}

uint64_t rs_et_node_id(const rs_et_node *n)
{
    return n->id;
}

const char *rs_et_node_name(const rs_et_node *n)
{
    return text_of(n, n->name);
}

int rs_et_node_type(const rs_et_node *n)
{
    return n->type;
}

uint64_t rs_et_node_runtime(const rs_et_node *n)
{
    return n->runtime;
}

uint64_t rs_et_node_start(const rs_et_node *n)
{
    return n->start;
}

bool rs_et_node_is_cpu_op(const rs_et_node *n)
{
    return rs_et_node_int(n, "is_cpu_op", 0) != 0;
}

bool rs_et_node_has(const rs_et_node *n, const char *name)
{
    return find(n, name) != NULL;
}

int64_t rs_et_node_int(const rs_et_node *n, const char *name, int64_t otherwise)
{
    const attribute *a = find(n, name);
    if (a && a->kind == VALUE_INT) return a->whole;
    return a && a->kind == VALUE_UINT && a->big <= INT64_MAX ? (int64_t)a->big : otherwise;
}

double rs_et_node_double(const rs_et_node *n, const char *name, double otherwise)
{
    const attribute *a = find(n, name);
    if (!a || a->kind == VALUE_TEXT || a->kind == VALUE_OTHER) return otherwise;
    return a->kind == VALUE_REAL ? a->real : a->kind == VALUE_INT ? (double)a->whole : (double)a->big;
}

const char *rs_et_node_text(const rs_et_node *n, const char *name, const char *otherwise)
{
    const attribute *a = find(n, name);
    return a && a->kind == VALUE_TEXT ? text_of(n, a->text) : otherwise;
}

static const char *tensors(const rs_et_node *n, const uint32_t *texts, const char *part)
{
    static const char *const parts[] = {"values", "shapes", "types"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i], part) == 0) return text_of(n, texts[i]);
    return "";
}

const char *rs_et_node_inputs(const rs_et_node *n, const char *part)
{
    return tensors(n, n->texts, part);
}

const char *rs_et_node_outputs(const rs_et_node *n, const char *part)
{
    return tensors(n, n->texts + 3, part);
}

const uint64_t *rs_et_node_children(const rs_et_node *n, size_t *count)
{
    *count = n->n_child;
    return n->feeder->children + n->first_child;
}
