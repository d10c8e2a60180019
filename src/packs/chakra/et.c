#include "chakra/et.h"

#include <string.h>

#include "base/memory.h"
#include "base/try.h"
#include "input/source.h"

/* Nodes are numbered by 32 bits, with room for made-up roots. */
#define MAX_NODES 0x7fffffffu

static const rs_json_limits limits = {RS_JSON_DEFAULT_DEPTH, RS_JSON_DEFAULT_STRING};

/* ---- walking ---------------------------------------------------------------------------------------- */

rs_et_cursor rs_et_enter(rs_et_span value)
{
    bool open = value.n >= 2 && (value.at[0] == '{' || value.at[0] == '[');
    if (!open) return (rs_et_cursor){.p = (const uint8_t *)"}", .end = (const uint8_t *)"}"};
    return (rs_et_cursor){.p = value.at + 1, .end = value.at + value.n};
}

static bool refuse(rs_et_cursor *c, rs_json_status status)
{
    c->status = status;
    return false;
}

/* To the next element, over a comma where one is due. */
static bool next_item(rs_et_cursor *c, uint8_t closing)
{
    c->p = rs_json_space(c->p, c->end);
    if (c->p >= c->end) return refuse(c, RS_JSON_END);
    if (*c->p == closing) {
        c->p++;
        return refuse(c, RS_JSON_OK);
    }
    if (c->any) {
        if (*c->p != ',') return refuse(c, RS_JSON_BAD);
        c->p = rs_json_space(c->p + 1, c->end);
        if (c->p >= c->end) return refuse(c, RS_JSON_END);
    }
    c->any = true;
    return true;
}

bool rs_et_next_element(rs_et_cursor *c)
{
    return next_item(c, ']');
}

bool rs_et_next_key(rs_et_cursor *c, rs_et_span *key)
{
    rs_json_text text;
    if (!next_item(c, '}')) return false;
    if (*c->p != '"') return refuse(c, RS_JSON_BAD);
    rs_json_status status = rs_json_string(&c->p, c->end, limits.max_string, &text);
    if (status != RS_JSON_OK) return refuse(c, status);
    *key = (rs_et_span){text.bytes, text.length};
    c->p = rs_json_space(c->p, c->end);
    if (c->p >= c->end) return refuse(c, RS_JSON_END);
    if (*c->p != ':') return refuse(c, RS_JSON_BAD);
    c->p = rs_json_space(c->p + 1, c->end);
    return c->p < c->end || refuse(c, RS_JSON_END);
}

static bool take(rs_et_cursor *c, const rs_json_limits *most, rs_et_span *value)
{
    const uint8_t *begin = c->p;
    rs_json_status status = rs_json_skip(&c->p, c->end, most);
    if (status != RS_JSON_OK) return refuse(c, status);
    *value = (rs_et_span){begin, (size_t)(c->p - begin)};
    return true;
}

bool rs_et_take(rs_et_cursor *c, rs_et_span *value)
{
    return take(c, &limits, value);
}

bool rs_et_is(rs_et_span text, const char *word)
{
    size_t n = strlen(word);
    return text.n == n && memcmp(text.at, word, n) == 0;
}

bool rs_et_int(rs_et_span value, int64_t *out)
{
    return value.n && rs_json_int(value.at, value.n, out);
}

/* ---- nodes ------------------------------------------------------------------------------------------ */

static int64_t int_or_none(rs_et_span value)
{
    int64_t number;
    return rs_et_int(value, &number) ? number : RS_ET_NO_VALUE;
}

/* An id, or a list of one id. */
static int64_t parent_of(rs_et_span value)
{
    rs_et_span first;
    if (value.n == 0 || value.at[0] != '[') return int_or_none(value);
    rs_et_cursor c = rs_et_enter(value);
    if (!rs_et_next_element(&c) || !rs_et_take(&c, &first)) return RS_ET_NO_VALUE;
    return int_or_none(first);
}

static rs_et_part *part_of(rs_et_part *parts, rs_et_span key)
{
    static const char *const names[RS_ET_PARTS] = {"values", "shapes", "types"};
    for (size_t i = 0; i < RS_ET_PARTS; i++)
        if (rs_et_is(key, names[i])) return &parts[i];
    return NULL;
}

/* As rs_et_take, and where the parts of an object are. Of a repeated member the first counts. */
static bool take_io(rs_et_cursor *c, rs_et_span *value, rs_et_part *parts)
{
    static const rs_json_limits within = {RS_JSON_DEFAULT_DEPTH - 1, RS_JSON_DEFAULT_STRING};
    const uint8_t *begin = c->p;
    rs_et_cursor in = {.p = c->p + 1, .end = c->end};
    rs_et_span key, member;
    memset(parts, 0, RS_ET_PARTS * sizeof *parts);
    if (*begin != '{') return rs_et_take(c, value);
    while (rs_et_next_key(&in, &key) && take(&in, &within, &member)) {
        rs_et_part *part = part_of(parts, key);
        if (part && !part->n && (size_t)(in.p - begin) <= UINT32_MAX)
            *part = (rs_et_part){(uint32_t)(member.at - begin), (uint32_t)member.n};
    }
    c->p = in.p;
    if (in.status != RS_JSON_OK) return refuse(c, in.status);
    *value = (rs_et_span){begin, (size_t)(in.p - begin)};
    return true;
}

static void read_attrs(rs_host_node *node)
{
    rs_et_cursor list = rs_et_enter(node->attrs);
    rs_et_span item, key, value;
    while (rs_et_next_element(&list) && rs_et_take(&list, &item)) {
        rs_et_cursor members = rs_et_enter(item);
        rs_et_span name = {0}, number = {0};
        while (rs_et_next_key(&members, &key) && rs_et_take(&members, &value)) {
            if (rs_et_is(key, "name")) name = value;
            if (rs_et_is(key, "value")) number = value;
        }
        if (rs_et_is(name, "\"rf_id\"")) node->rf_id = int_or_none(number);
        if (rs_et_is(name, "\"tid\"")) node->tid = int_or_none(number);
        if (rs_et_is(name, "\"fw_tid\"")) node->fw_tid = int_or_none(number);
        if (rs_et_is(name, "\"scope\"")) node->scope = int_or_none(number);
    }
}

static bool ends_with(rs_et_span text, const char *tail)
{
    size_t n = strlen(tail);
    return text.n >= n && memcmp(text.at + text.n - n, tail, n) == 0;
}

/* The cursor is at the node's bracket, and after the node afterwards. */
static bool read_node(rs_et_cursor *c, rs_host_node *node)
{
    *node = (rs_host_node){.id = RS_ET_NO_VALUE,
                           .parent = RS_ET_NO_VALUE,
                           .rf_id = RS_ET_NO_VALUE,
                           .tid = RS_ET_NO_VALUE,
                           .fw_tid = RS_ET_NO_VALUE,
                           .scope = RS_ET_NO_VALUE,
                           .up = RS_ET_NONE};
    const uint8_t *begin = c->p;
    rs_et_cursor in = {.p = c->p + 1, .end = c->end};
    rs_et_span key, value;
    while (rs_et_next_key(&in, &key)) {
        if (rs_et_is(key, "inputs")) {
            if (!take_io(&in, &node->inputs, node->input_parts)) break;
            continue;
        }
        if (rs_et_is(key, "outputs")) {
            if (!take_io(&in, &node->outputs, node->output_parts)) break;
            continue;
        }
        if (!rs_et_take(&in, &value)) break;
        if (rs_et_is(key, "id"))
            node->id = int_or_none(value);
        else if (rs_et_is(key, "name"))
            node->name = value;
        else if (rs_et_is(key, "ctrl_deps") || rs_et_is(key, "parent"))
            node->parent = parent_of(value);
        else if (rs_et_is(key, "attrs"))
            node->attrs = value;
        else if (rs_et_is(key, "rf_id"))
            node->rf_id = int_or_none(value);
        else if (rs_et_is(key, "tid"))
            node->tid = int_or_none(value);
        else if (rs_et_is(key, "fw_tid"))
            node->fw_tid = int_or_none(value);
        else if (rs_et_is(key, "scope"))
            node->scope = int_or_none(value);
        else
            node->more = true;
    }
    c->p = in.p;
    if (in.status != RS_JSON_OK) return refuse(c, in.status);
    node->whole = (rs_et_span){begin, (size_t)(in.p - begin)};
    if (node->attrs.n) read_attrs(node);
    node->role = ends_with(node->name, "|process]\"")  ? RS_ET_PROCESS
                 : ends_with(node->name, "|thread]\"") ? RS_ET_THREAD
                                                       : RS_ET_OP;
    return true;
}

typedef struct loader {
    rs_et *et;
    const char *path;
    rs_problems *problems;
    rs_error *err;
    uint64_t passed; /* bytes of elements that were no JSON */
    bool failed;     /* err says why */
} loader;

static bool fail(loader *x, rs_status status, const char *what)
{
    x->failed = true;
    if (status == RS_ERR_NOMEM)
        rs_fail_nomem(x->err, what);
    else
        rs_fail_at(x->err, status, x->path, RS_NO_OFFSET, "%s", what);
    return false;
}

/* ---- damage ----------------------------------------------------------------------------------------- */

/* The next place that begins a node: {"id":. Inside a string its quotes would be escaped; PyTorch escapes none in
 * names, so that a name may hold one: then what follows fails again. NULL: none. */
static const uint8_t *next_node(const uint8_t *p, const uint8_t *end)
{
    static const char id[] = "\"id\"";
    size_t n = sizeof id - 1;
    for (const uint8_t *q; p < end && (q = memchr(p, '{', (size_t)(end - p))); p = q + 1) {
        const uint8_t *key = rs_json_space(q + 1, end);
        if ((size_t)(end - key) <= n || memcmp(key, id, n) != 0) continue;
        key = rs_json_space(key + n, end);
        if (key < end && *key == ':') return q;
    }
    return NULL;
}

/* What is skipped twice and more is bounded: texts made of beginnings would cost their square. */
#define MOST_PASSED 8

/* From an element that is no JSON to the next node. */
static bool resume(loader *x, rs_et_cursor *list, const uint8_t *from)
{
    rs_et *et = x->et;
    const uint8_t *next = from < list->end ? next_node(from + 1, list->end) : NULL;
    x->passed += (uint64_t)(list->p > from ? list->p - from : 0);
    if (!next || list->status == RS_JSON_END || x->passed / MOST_PASSED > et->n_text) return false;
    rs_problems_add(x->problems, x->path, -1, RS_LOSS, "damaged_node",
                    "nodes that are no valid JSON are left out (PyTorch writes quotes in names as they are)",
                    (uint64_t)(from - et->text));
    *list = (rs_et_cursor){.p = next, .end = list->end};
    return true;
}

static bool keep_node(loader *x, const rs_host_node *node, uint64_t at)
{
    rs_et *et = x->et;
    if (node->id == RS_ET_NO_VALUE || node->name.n == 0 || node->name.at[0] != '"') {
        rs_problems_add(x->problems, x->path, -1, RS_LOSS, "node_without_id",
                        "nodes without an id or a name; they are left out", at);
        return true;
    }
    if (et->n_nodes >= MAX_NODES) return fail(x, RS_ERR_LIMIT, "too many nodes");
    if (!RS_PUSH(et->nodes, et->n_nodes, et->nodes_capacity, *node)) return fail(x, RS_ERR_NOMEM, "nodes");
    return true;
}

/* The cursor is at an element, and after it afterwards. */
static bool read_element(loader *x, rs_et_cursor *list, bool *whole)
{
    rs_et_span ignored;
    rs_host_node node;
    uint64_t at = (uint64_t)(list->p - x->et->text);
    *whole = *list->p == '{' ? read_node(list, &node) : rs_et_take(list, &ignored);
    if (!*whole) return true;
    if (x->et->text[at] == '{') return keep_node(x, &node, at);
    rs_problems_add(x->problems, x->path, -1, RS_LOSS, "no_node", "elements that are no nodes", at);
    return true;
}

static bool read_nodes(loader *x, rs_et_cursor *c)
{
    rs_et_cursor list = {.p = c->p + 1, .end = c->end};
    for (bool whole = true;;) {
        const uint8_t *from = list.p;
        bool more = rs_et_next_element(&list);
        if (more) {
            from = list.p;
            if (!read_element(x, &list, &whole)) return false;
        }
        if (more ? whole : list.status == RS_JSON_OK) {
            if (more) continue;
            break;
        }
        if (!resume(x, &list, from)) break;
    }
    c->p = list.p;
    return list.status == RS_JSON_OK || refuse(c, list.status);
}

static bool read_top(loader *x, rs_et_cursor *c)
{
    rs_et *et = x->et;
    rs_et_span key, value;
    bool nodes_seen = false;
    while (rs_et_next_key(c, &key)) {
        bool nodes = rs_et_is(key, "nodes") && *c->p == '[' && !nodes_seen;
        value = (rs_et_span){0};
        if (nodes || rs_et_take(c, &value)) {
            if (!RS_PUSH(et->members, et->n_members, et->members_capacity, (rs_et_member){key, value}))
                return fail(x, RS_ERR_NOMEM, "members");
        }
        if (nodes && !read_nodes(x, c)) return false;
        nodes_seen |= nodes;
        if (c->status != RS_JSON_OK) return false;
    }
    return c->status == RS_JSON_OK;
}

/* ---- the schema ------------------------------------------------------------------------------------- */

static bool is_known(const char *schema)
{
    static const char *const known[] = {"1.0.1", "1.0.2", "1.0.3", "1.0.4", "1.1.0", "1.1.1"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i]);
        if (strncmp(schema, known[i], n) == 0 && (!schema[n] || strncmp(schema + n, "-chakra.", 8) == 0))
            return true;
    }
    return false;
}

static rs_status check_schema(rs_et *et, const char *path, rs_error *err)
{
    for (size_t i = 0; i < et->n_members; i++) {
        rs_et_span value = et->members[i].value;
        if (!rs_et_is(et->members[i].key, "schema") || value.n < 2 || value.at[0] != '"') continue;
        size_t n = value.n - 2 < sizeof et->schema - 1 ? value.n - 2 : sizeof et->schema - 1;
        memcpy(et->schema, value.at + 1, n);
        et->schema[n] = '\0';
    }
    if (!et->schema[0])
        return rs_fail_at(err, RS_ERR_FORMAT, path, RS_NO_OFFSET,
                          "no \"schema\": this is no PyTorch execution trace");
    if (!is_known(et->schema))
        return rs_fail_at(err, RS_ERR_FORMAT, path, RS_NO_OFFSET,
                          "schema \"%s\" is not known; 1.0.1 to 1.1.1 are", et->schema);
    et->flat = strncmp(et->schema, "1.0.1", 5) == 0;
    return RS_OK;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

void rs_et_clear(rs_et *et)
{
    rs_free_all(et->text, et->members, et->nodes, et->order);
    *et = (rs_et){0};
}

static rs_status read_text(loader *x, rs_source *source)
{
    rs_et *et = x->et;
    RS_TRY(rs_source_read_all(source, SIZE_MAX / 8, &et->text, &et->n_text, x->err));
    rs_source_report_end(source, -1, x->problems);
    if (rs_utf8_valid(et->text, et->n_text)) return RS_OK;
    if (et->n_text > SIZE_MAX / 4) return rs_fail_nomem(x->err, "text");
    char *repaired = rs_malloc(et->n_text * 3 + 64);
    if (!repaired) return rs_fail_nomem(x->err, "text");
    et->n_text = rs_utf8_repair(et->text, et->n_text, repaired);
    rs_free(et->text);
    et->text = (uint8_t *)repaired;
    rs_problems_add(x->problems, x->path, -1, RS_WARNING, "bad_utf8", "bytes that are no UTF-8 were replaced",
                    RS_NO_OFFSET);
    return RS_OK;
}

rs_status rs_et_load(const char *path, uint64_t max_ratio, rs_et *et, rs_problems *problems, rs_error *err)
{
    rs_source *source;
    *et = (rs_et){0};
    RS_TRY(rs_source_open(path, max_ratio, &source, err));
    rs_status status = rs_et_load_source(source, path, et, problems, err);
    rs_source_close(source);
    return status;
}

rs_status rs_et_load_source(rs_source *source, const char *path, rs_et *et, rs_problems *problems,
                            rs_error *err)
{
    *et = (rs_et){0};
    loader x = {.et = et, .path = path, .problems = problems, .err = err};
    RS_TRY(read_text(&x, source));
    rs_et_cursor c = {.p = rs_json_space(et->text, et->text + et->n_text), .end = et->text + et->n_text};
    if (c.p >= c.end || *c.p != '{')
        return rs_fail_at(err, RS_ERR_FORMAT, path, (uint64_t)(c.p - et->text),
                          "this is no execution trace: a JSON object was expected");
    c.p++;
    bool whole = read_top(&x, &c);
    if (x.failed) return err->status;
    RS_TRY(check_schema(et, path, err));
    uint64_t at = (uint64_t)(c.p - et->text);
    if (!whole) {
        const char *why = c.status == RS_JSON_END ? "the text ends before its last bracket"
                                                  : "the text is damaged; what follows is lost";
        if (c.status == RS_JSON_END) at = et->n_text;
        if (!et->n_nodes) return rs_fail_at(err, RS_ERR_FORMAT, path, at, "%s", why);
        rs_problems_add(problems, path, -1, RS_LOSS, c.status == RS_JSON_END ? "truncated" : "damaged", why,
                        at);
    }
    if (!et->n_nodes) return rs_fail_at(err, RS_ERR_FORMAT, path, at, "the execution trace has no nodes");
    return rs_et_repair(et, path, problems, err);
}
