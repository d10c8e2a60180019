/* Reading and writing {"workload_graph": [...]}. */
#include "chakra/graph_json.h"

#include <string.h>

/* ---- telling ---------------------------------------------------------------------------------------- */

bool rs_graph_json_is(const uint8_t *p, size_t n)
{
    const uint8_t *end = p + n;
    if (!n || *p != '{') return false;
    p = rs_json_space(p + 1, end);
    if (p >= end || *p++ != '"') return false;
    const uint8_t *from = p;
    while (p < end && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_')) p++;
    if (p == from || p >= end || *p != '"') return false;
    p = rs_json_space(p + 1, end);
    return p < end && *p == ':';
}

/* ---- reading ---------------------------------------------------------------------------------------- */

static rs_status bad(rs_graph_json *g, const char *what, rs_error *err)
{
    return rs_fail_at(err, RS_ERR_FORMAT, g->name, (uint64_t)rs_json_at(&g->json), "%s", what);
}

static rs_status damaged(rs_graph_json *g, rs_error *err)
{
    return bad(g,
               g->json.status == RS_JSON_END ? "the file ends inside the workload graph" : "this is not JSON",
               err);
}

rs_status rs_graph_json_open(const uint8_t *text, size_t n, const char *name, rs_graph_json *g, rs_error *err)
{
    *g = (rs_graph_json){.name = name};
    rs_json_reader_init(&g->json, text, n);
    rs_json_token token = rs_json_next(&g->json);
    if (token == RS_JSON_T_ERROR) return damaged(g, err);
    if (token != RS_JSON_T_OBJECT) return bad(g, "this is no workload graph", err);
    while ((token = rs_json_next(&g->json)) == RS_JSON_T_KEY) {
        if (rs_json_is(&g->json, "workload_graph"))
            return rs_json_next(&g->json) == RS_JSON_T_ARRAY ? RS_OK
                                                             : bad(g, "workload_graph is no list", err);
        if (!rs_json_skip_value(&g->json)) return damaged(g, err);
    }
    if (token == RS_JSON_T_ERROR) return damaged(g, err);
    return bad(g, "no \"workload_graph\": this is no execution trace", err);
}

void rs_graph_json_clear(rs_graph_json *g)
{
    rs_arena_clear(&g->arena);
    rs_free_all(g->deps, g->attrs);
    *g = (rs_graph_json){0};
}

static char *text_of(rs_graph_json *g)
{
    rs_json_text t = g->json.text;
    char *out = t.length < SIZE_MAX / 4 ? rs_arena_alloc(&g->arena, 3 * t.length + 1) : NULL;
    if (!out) return NULL;
    size_t n = rs_json_decode(t.bytes, t.length, out, NULL);
    out[n] = '\0';
    for (char *zero = out; (zero = memchr(zero, '\0', n - (size_t)(zero - out)));) *zero++ = ' ';
    return out;
}

static bool number_of(rs_graph_json *g, uint64_t *out)
{
    int64_t value;
    if (!rs_json_int(g->json.text.bytes, g->json.text.length, &value) || value < 0) return false;
    *out = (uint64_t)value;
    return true;
}

/* A list of ids behind those that are there. */
static rs_status read_ids(rs_graph_json *g, rs_json_token token, size_t *count, rs_error *err)
{
    size_t before = g->n_deps;
    if (token != RS_JSON_T_ARRAY) return bad(g, "dependencies are no list of ids", err);
    while ((token = rs_json_next(&g->json)) == RS_JSON_T_NUMBER) {
        uint64_t id;
        if (!number_of(g, &id)) return bad(g, "this is no id", err);
        if (!RS_PUSH(g->deps, g->n_deps, g->capacity, id)) return rs_fail_nomem(err, "dependencies");
    }
    if (token == RS_JSON_T_ERROR) return damaged(g, err);
    if (token != RS_JSON_T_ARRAY_END) return bad(g, "dependencies are no list of ids", err);
    *count = g->n_deps - before;
    return RS_OK;
}

static bool is_int32(const char *name)
{
    return strcmp(name, "comm_src") == 0 || strcmp(name, "comm_dst") == 0 || strcmp(name, "comm_tag") == 0;
}

static void set_number(rs_graph_json *g, Rs__Et__Attribute *a)
{
    int64_t whole;
    double real;
    if (!rs_json_int(g->json.text.bytes, g->json.text.length, &whole)) {
        if (!rs_json_real(g->json.text.bytes, g->json.text.length, &real)) return;
        a->value_case = RS__ET__ATTRIBUTE__VALUE_DOUBLE_VAL;
        a->double_val = real;
    } else if (is_int32(a->name) && whole >= INT32_MIN && whole <= INT32_MAX) {
        a->value_case = RS__ET__ATTRIBUTE__VALUE_INT32_VAL;
        a->int32_val = (int32_t)whole;
    } else {
        a->value_case = RS__ET__ATTRIBUTE__VALUE_INT64_VAL;
        a->int64_val = whole;
    }
}

/* Any other member is an attribute; lists and objects are skipped. */
static rs_status read_attribute(rs_graph_json *g, const char *name, rs_json_token token, rs_error *err)
{
    if (token == RS_JSON_T_OBJECT || token == RS_JSON_T_ARRAY)
        return rs_json_leave(&g->json) ? RS_OK : damaged(g, err);
    Rs__Et__Attribute *a = rs_arena_alloc(&g->arena, sizeof *a);
    if (!a || !RS_GROW_ONE(g->attrs, g->n_attrs, g->attrs_capacity)) return rs_fail_nomem(err, "attributes");
    rs__et__attribute__init(a);
    a->name = (char *)name;
    if (token == RS_JSON_T_NUMBER) {
        set_number(g, a);
    } else if (token == RS_JSON_T_STRING) {
        a->value_case = RS__ET__ATTRIBUTE__VALUE_STRING_VAL;
        if (!(a->string_val = text_of(g))) return rs_fail_nomem(err, "attributes");
    } else if (token == RS_JSON_T_TRUE || token == RS_JSON_T_FALSE) {
        a->value_case = RS__ET__ATTRIBUTE__VALUE_BOOL_VAL;
        a->bool_val = token == RS_JSON_T_TRUE;
    }
    if (a->value_case != RS__ET__ATTRIBUTE__VALUE__NOT_SET) g->attrs[g->n_attrs++] = a;
    return RS_OK;
}

/* Lists stand after each other in deps; which is which is known when the node is whole. */
typedef struct lists {
    size_t data, n_data, ctrl, n_ctrl;
} lists;

static rs_status read_member(rs_graph_json *g, lists *l, rs_error *err)
{
    Rs__Et__Node *n = &g->node;
    uint64_t number;
    char *key = text_of(g);
    if (!key) return rs_fail_nomem(err, "a node");
    rs_json_token token = rs_json_next(&g->json);
    if (token == RS_JSON_T_ERROR) return damaged(g, err);
    if (strcmp(key, "data_deps") == 0) {
        l->data = g->n_deps;
        return read_ids(g, token, &l->n_data, err);
    }
    if (strcmp(key, "ctrl_deps") == 0 || strcmp(key, "ctrlDeps") == 0) {
        l->ctrl = g->n_deps;
        return read_ids(g, token, &l->n_ctrl, err);
    }
    if (strcmp(key, "Name") == 0) {
        if (token != RS_JSON_T_STRING) return bad(g, "Name is no text", err);
        return (n->name = text_of(g)) ? RS_OK : rs_fail_nomem(err, "a node");
    }
    bool id = strcmp(key, "Id") == 0, type = strcmp(key, "NodeType") == 0, time = strcmp(key, "runtime") == 0;
    if (!id && !type && !time) return read_attribute(g, key, token, err);
    if (token != RS_JSON_T_NUMBER || !number_of(g, &number))
        return bad(g, "Id, NodeType and runtime are whole numbers, 0 or more", err);
    if (id) n->id = number;
    if (time) n->duration_micros = number;
    if (type) n->type = number <= INT32_MAX ? (Rs__Et__NodeType)number : (Rs__Et__NodeType)INT32_MAX;
    return RS_OK;
}

rs_status rs_graph_json_next(rs_graph_json *g, const Rs__Et__Node **node, uint64_t *offset, rs_error *err)
{
    lists l = {0};
    *node = NULL;
    if (g->done) return RS_OK;
    rs_json_token token = rs_json_next(&g->json);
    *offset = rs_json_at(&g->json);
    if (token == RS_JSON_T_ERROR) return damaged(g, err);
    if (token == RS_JSON_T_ARRAY_END) {
        g->done = true;
        if (!rs_json_leave(&g->json) || rs_json_next(&g->json) != RS_JSON_T_END) return damaged(g, err);
        return RS_OK;
    }
    if (token != RS_JSON_T_OBJECT) return bad(g, "this is no node", err);
    rs_arena_reset(&g->arena);
    rs__et__node__init(&g->node);
    g->n_deps = g->n_attrs = 0;
    while ((token = rs_json_next(&g->json)) == RS_JSON_T_KEY) {
        rs_status status = read_member(g, &l, err);
        if (status != RS_OK) return status;
    }
    if (token != RS_JSON_T_OBJECT_END) return damaged(g, err);
    g->node.n_data_deps = l.n_data;
    g->node.data_deps = l.n_data ? g->deps + l.data : NULL;
    g->node.n_ctrl_deps = l.n_ctrl;
    g->node.ctrl_deps = l.n_ctrl ? g->deps + l.ctrl : NULL;
    g->node.n_attr = g->n_attrs;
    g->node.attr = g->attrs;
    *node = &g->node;
    return RS_OK;
}

/* ---- writing ---------------------------------------------------------------------------------------- */

static void put_ids(rs_writer *w, const char *name, const uint64_t *ids, size_t n)
{
    rs_writer_text(w, name);
    for (size_t i = 0; i < n; i++) {
        if (i) rs_writer_text(w, ", ");
        rs_writer_uint(w, ids[i]);
    }
    rs_writer_char(w, ']');
}

/* What the feeder asks for, and no other attribute. */
static bool is_wanted(const char *name)
{
    static const char *const names[] = {"is_cpu_op", "comm_type",     "comm_size",   "comm_src", "comm_dst",
                                        "comm_tag",  "comm_priority", "tensor_size", "num_ops",  "pg_name"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static void put_value(rs_writer *w, const Rs__Et__Attribute *a)
{
    switch (a->value_case) {
    case RS__ET__ATTRIBUTE__VALUE_INT32_VAL: rs_writer_int(w, a->int32_val); return;
    case RS__ET__ATTRIBUTE__VALUE_INT64_VAL: rs_writer_int(w, a->int64_val); return;
    case RS__ET__ATTRIBUTE__VALUE_UINT64_VAL: rs_writer_uint(w, a->uint64_val); return;
    case RS__ET__ATTRIBUTE__VALUE_BOOL_VAL: rs_writer_text(w, a->bool_val ? "true" : "false"); return;
    case RS__ET__ATTRIBUTE__VALUE_STRING_VAL:
        rs_writer_json_string(w, a->string_val, strlen(a->string_val));
        return;
    default: rs_writer_text(w, "null");
    }
}

void rs_graph_json_put(rs_writer *w, const Rs__Et__Node *n)
{
    bool cpu = false;
    rs_writer_text(w, "{\"Id\": ");
    rs_writer_uint(w, n->id);
    rs_writer_text(w, ", \"Name\": ");
    rs_writer_json_string(w, n->name, strlen(n->name));
    rs_writer_text(w, ", \"NodeType\": ");
    rs_writer_int(w, (int64_t)n->type);
    put_ids(w, ", \"ctrl_deps\": [", n->ctrl_deps, n->n_ctrl_deps);
    put_ids(w, ", \"data_deps\": [", n->data_deps, n->n_data_deps);
    rs_writer_text(w, ", \"runtime\": ");
    rs_writer_uint(w, n->duration_micros);
    for (size_t i = 0; i < n->n_attr; i++) {
        const Rs__Et__Attribute *a = n->attr[i];
        bool is_cpu = strcmp(a->name, "is_cpu_op") == 0;
        if (!is_wanted(a->name) || (!is_cpu && n->type < RS__ET__NODE_TYPE__COMM_SEND_NODE &&
                                    strcmp(a->name, "num_ops") != 0 && strcmp(a->name, "tensor_size") != 0))
            continue;
        cpu |= is_cpu;
        rs_writer_text(w, ", \"");
        rs_writer_text(w, a->name);
        rs_writer_text(w, "\": ");
        put_value(w, a);
    }
    rs_writer_text(w, cpu ? "}" : ", \"is_cpu_op\": false}");
}
