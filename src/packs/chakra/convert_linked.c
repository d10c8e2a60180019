/* Reading a linked trace. */
#include "chakra/convert_linked.h"

#include <string.h>

#include "base/order.h"
#include "base/try.h"
#include "input/json.h"
#include "input/source.h"

#define MAX_TEXT ((size_t)1 << 40)

static const char *const schemas[] = {"1.0.2-chakra.0.0.4", "1.0.3-chakra.0.0.4", "1.0.4-chakra.0.0.4",
                                      "1.1.0-chakra.0.0.4", "1.1.1-chakra.0.0.4", "1.1.1-chakra.1.0.0"};

typedef struct reading {
    rs_linked *linked;
    rs_json_reader json;
    rs_slice inputs, outputs; /* of the last body */
    rs_error *err;
} reading;

static rs_status fail_at(reading *r, const uint8_t *at, const char *what)
{
    return rs_fail_at(r->err, RS_ERR_FORMAT, r->linked->file, (uint64_t)(at - r->linked->text), "%s", what);
}

static rs_status fail_json(reading *r)
{
    const char *what = r->json.status == RS_JSON_END    ? "the file ends inside the linked trace"
                       : r->json.status == RS_JSON_DEEP ? "too deeply nested"
                       : r->json.status == RS_JSON_LONG ? "a string is too long"
                                                        : "this is not JSON";
    return fail_at(r, r->json.p, what);
}

/* The value behind a key. */
static bool value(reading *r, rs_slice *out)
{
    const uint8_t *from = r->json.p;
    if (!rs_json_skip_value(&r->json)) return false;
    while (from < r->json.p && (rs_json_is_space(*from) || *from == ':')) from++;
    *out = (rs_slice){from, (size_t)(r->json.p - from)};
    return true;
}

static bool is_null(rs_slice s)
{
    return !s.bytes || (s.n == 4 && memcmp(s.bytes, "null", 4) == 0);
}

/* ---- nodes ------------------------------------------------------------------------------------------ */

const rs_linked_more rs_linked_nothing = {.inter_thread = -1, .chain = -1};

bool rs_linked_start(rs_linked *l)
{
    return RS_PUSH(l->more, l->n_more, l->more_capacity, rs_linked_nothing);
}

bool rs_linked_add_more(rs_linked *l, const rs_linked_more *more, rs_linked_node *node)
{
    if (!RS_GROW_ONE(l->more, l->n_more, l->more_capacity)) return false;
    node->more = (uint32_t)l->n_more;
    l->more[l->n_more++] = *more;
    return true;
}

void rs_linked_split(rs_slice object, rs_linked_io *io)
{
    static const char *const names[] = {"values", "shapes", "types"};
    rs_slice found[3];
    rs_slice_members(object, names, found, 3);
    *io = (rs_linked_io){found[0], found[1], found[2]};
}

typedef struct members {
    rs_slice id, name, ctrl_deps, inputs, outputs, attrs, cat, ts, exclusive, inter_thread, stream, device,
        lane, launch, launch_dur, position, inclusive, annotation, chain, thread, inter_threads, waits,
        sync_dep, args, collective, dtype, in_nelems, group;
} members;

static rs_slice *place(reading *r, members *m)
{
#define KNOWN(word, place)                                                                                   \
    {                                                                                                        \
        word, sizeof word - 1, place                                                                         \
    }
    struct {
        const char *name;
        size_t length;
        rs_slice *to;
    } const known[] = {KNOWN("id", &m->id),
                       KNOWN("name", &m->name),
                       KNOWN("ctrl_deps", &m->ctrl_deps),
                       KNOWN("inputs", &m->inputs),
                       KNOWN("outputs", &m->outputs),
                       KNOWN("attrs", &m->attrs),
                       KNOWN("cat", &m->cat),
                       KNOWN("ts", &m->ts),
                       KNOWN("exclusive_dur", &m->exclusive),
                       KNOWN("inclusive_dur", &m->inclusive),
                       KNOWN("annotation", &m->annotation),
                       KNOWN("chain", &m->chain),
                       KNOWN("thread", &m->thread),
                       KNOWN("inter_thread_dep", &m->inter_thread),
                       KNOWN("inter_thread_deps", &m->inter_threads),
                       KNOWN("waits", &m->waits),
                       KNOWN("sync_dep", &m->sync_dep),
                       KNOWN("stream", &m->stream),
                       KNOWN("device", &m->device),
                       KNOWN("lane", &m->lane),
                       KNOWN("launch_ts", &m->launch),
                       KNOWN("launch_dur", &m->launch_dur),
                       KNOWN("event", &m->position),
                       KNOWN("args", &m->args),
                       KNOWN("collective_name", &m->collective),
                       KNOWN("dtype", &m->dtype),
                       KNOWN("in_msg_nelems", &m->in_nelems),
                       KNOWN("pg_name", &m->group)};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (r->json.text.length == known[i].length &&
            memcmp(r->json.text.bytes, known[i].name, known[i].length) == 0)
            return known[i].to;
#undef KNOWN
    return NULL;
}

/* ctrl_deps is an id, a list of one, or nothing. */
static bool read_parent(rs_slice s, rs_linked_node *n)
{
    n->parent = n->id;
    if (is_null(s)) return true;
    if (s.bytes[0] == '[') {
        rs_slice_walk walk = rs_slice_elements(s);
        rs_slice first, second;
        if (!rs_slice_next(&walk, &first)) return true;
        return !rs_slice_next(&walk, &second) && rs_slice_int(first, &n->parent);
    }
    return rs_slice_int(s, &n->parent);
}

static bool same_text(rs_slice a, rs_slice b)
{
    return a.n == b.n && (!a.n || memcmp(a.bytes, b.bytes, a.n) == 0);
}

/* Kernels repeat what their launcher brought with it. */
static rs_status add_body(reading *r, const members *m, rs_linked_node *n)
{
    rs_linked *l = r->linked;
    bool same = n->gpu && l->n_bodies && same_text(r->inputs, m->inputs) &&
                same_text(r->outputs, m->outputs) && same_text(l->bodies[l->n_bodies - 1].attrs, m->attrs);
    if (!same) {
        if (!RS_GROW_ONE(l->bodies, l->n_bodies, l->bodies_capacity)) return rs_fail_nomem(r->err, "nodes");
        rs_linked_body *body = &l->bodies[l->n_bodies++];
        body->attrs = m->attrs;
        rs_linked_split(m->inputs, &body->inputs);
        rs_linked_split(m->outputs, &body->outputs);
        r->inputs = m->inputs;
        r->outputs = m->outputs;
    }
    n->body = (uint32_t)(l->n_bodies - 1);
    return RS_OK;
}

static rs_slice list_or_nothing(rs_slice s)
{
    return s.bytes && s.bytes[0] == '[' ? s : (rs_slice){NULL, 0};
}

static rs_status read_more(reading *r, const members *m, rs_linked_node *n)
{
    rs_linked_more more = rs_linked_nothing;
    bool any = m->chain.bytes || m->inter_threads.bytes || m->waits.bytes || m->args.bytes ||
               m->collective.bytes || m->dtype.bytes || m->in_nelems.bytes || m->group.bytes ||
               !is_null(m->inter_thread) || !is_null(m->sync_dep);
    if (!any) return RS_OK;
    if (!is_null(m->inter_thread) &&
        (!rs_slice_int(m->inter_thread, &more.inter_thread) || more.inter_thread < 0))
        return fail_at(r, m->inter_thread.bytes, "inter_thread_dep is no id");
    if (!rs_slice_int(m->chain, &more.chain) || more.chain < 0 || !rs_slice_int(m->thread, &more.thread))
        more.chain = -1;
    if (!is_null(m->sync_dep)) more.sync_dep = m->sync_dep;
    if (more.sync_dep.bytes && more.sync_dep.bytes[0] != '[')
        return fail_at(r, more.sync_dep.bytes, "sync_dep is no list");
    more.inter_threads = list_or_nothing(m->inter_threads);
    more.waits = list_or_nothing(m->waits);
    more.args = m->args;
    more.collective = m->collective;
    more.dtype = m->dtype;
    more.in_nelems = m->in_nelems;
    more.group = m->group;
    return rs_linked_add_more(r->linked, &more, n) ? RS_OK : rs_fail_nomem(r->err, "nodes");
}

static rs_status read_times(reading *r, const members *m, rs_linked_node *n)
{
    n->timed = !is_null(m->ts);
    if (n->timed && !rs_slice_time(m->ts, &n->ts)) return fail_at(r, m->ts.bytes, "ts is no time");
    if (!is_null(m->exclusive) && (!rs_slice_time(m->exclusive, &n->exclusive) || n->exclusive < 0))
        return fail_at(r, m->exclusive.bytes, "exclusive_dur is no duration");
    n->inclusive = n->exclusive;
    if (!is_null(m->inclusive) && (!rs_slice_time(m->inclusive, &n->inclusive) || n->inclusive < 0))
        return fail_at(r, m->inclusive.bytes, "inclusive_dur is no duration");
    return RS_OK;
}

static rs_status read_gpu(reading *r, const members *m, rs_linked_node *n)
{
    rs_linked *l = r->linked;
    rs_linked_gpu g = {0};
    g.has_launch = rs_slice_time(m->launch, &g.launch);
    if (!rs_slice_time(m->launch_dur, &g.launch_dur) || g.launch_dur < 0) g.launch_dur = 0;
    g.has_stream = rs_slice_int(m->stream, &g.stream);
    g.has_device = rs_slice_int(m->device, &g.device);
    g.has_lane = rs_slice_int(m->lane, &g.lane);
    if (!rs_slice_int(m->position, &g.position)) g.position = n->id;
    if (!RS_GROW_ONE(l->gpus, l->n_gpus, l->gpus_capacity)) return rs_fail_nomem(r->err, "nodes");
    n->work = (uint32_t)l->n_gpus;
    l->gpus[l->n_gpus++] = g;
    return RS_OK;
}

static rs_status understand(reading *r, const uint8_t *at, const members *m, rs_linked_node *n)
{
    n->name = m->name;
    if (!rs_slice_int(m->id, &n->id) || n->id < 0) return fail_at(r, at, "this node has no id");
    if (!rs_slice_is_text(n->name)) return fail_at(r, at, "this node has no name");
    if (!read_parent(m->ctrl_deps, n)) return fail_at(r, m->ctrl_deps.bytes, "ctrl_deps is no id");
    n->gpu = !is_null(m->cat);
    rs_status status = read_times(r, m, n);
    if (status == RS_OK) status = read_more(r, m, n);
    if (status == RS_OK && n->gpu) status = read_gpu(r, m, n);
    if (status != RS_OK) return status;
    n->annotation = m->annotation.n == 4 && memcmp(m->annotation.bytes, "true", 4) == 0;
    return add_body(r, m, n);
}

static rs_status read_node(reading *r)
{
    rs_linked *l = r->linked;
    members m = {0};
    rs_linked_node n = {0};
    const uint8_t *at = r->json.p - 1;
    rs_json_token token;
    while ((token = rs_json_next(&r->json)) == RS_JSON_T_KEY) {
        rs_slice ignored, *to = place(r, &m);
        if (!value(r, to ? to : &ignored)) return fail_json(r);
    }
    if (token != RS_JSON_T_OBJECT_END) return fail_json(r);
    RS_TRY(understand(r, at, &m, &n));
    if (l->n_nodes >= RS_BODY_OF_HOST - 1)
        return rs_fail(r->err, RS_ERR_LIMIT, "%s: too many nodes", l->file);
    return RS_PUSH(l->nodes, l->n_nodes, l->capacity, n) ? RS_OK : rs_fail_nomem(r->err, "nodes");
}

static rs_status read_nodes(reading *r)
{
    rs_json_token token = rs_json_next(&r->json);
    if (token == RS_JSON_T_ERROR) return fail_json(r);
    if (token != RS_JSON_T_ARRAY) return fail_at(r, r->json.p, "nodes is no list");
    while ((token = rs_json_next(&r->json)) == RS_JSON_T_OBJECT) RS_TRY(read_node(r));
    if (token == RS_JSON_T_ERROR) return fail_json(r);
    return token == RS_JSON_T_ARRAY_END ? RS_OK : fail_at(r, r->json.p, "this is no node");
}

static rs_status read_document(reading *r)
{
    rs_linked *l = r->linked;
    bool nodes = false;
    rs_slice rank = {NULL, 0};
    rs_json_token token = rs_json_next(&r->json);
    if (token == RS_JSON_T_ERROR) return fail_json(r);
    if (token != RS_JSON_T_OBJECT)
        return fail_at(r, l->text, "this is no linked trace: it is no JSON object");
    while ((token = rs_json_next(&r->json)) == RS_JSON_T_KEY) {
        rs_slice ignored, *to = rs_json_is(&r->json, "schema")      ? &l->schema
                                : rs_json_is(&r->json, "pid")       ? &l->pid
                                : rs_json_is(&r->json, "time")      ? &l->time
                                : rs_json_is(&r->json, "start_ts")  ? &l->start_ts
                                : rs_json_is(&r->json, "finish_ts") ? &l->finish_ts
                                : rs_json_is(&r->json, "rank")      ? &rank
                                                                    : &ignored;
        if (rs_json_is(&r->json, "nodes")) {
            RS_TRY(nodes ? fail_at(r, r->json.p, "nodes is there twice") : read_nodes(r));
            nodes = true;
        } else if (!value(r, to)) {
            return fail_json(r);
        }
    }
    if (token != RS_JSON_T_OBJECT_END) return fail_json(r);
    l->has_rank = rs_slice_int(rank, &l->rank) && l->rank >= 0;
    if (!l->has_rank) l->rank = 0;
    return nodes ? RS_OK : fail_at(r, l->text, "this is no linked trace: it has no nodes");
}

rs_status rs_linked_check_schema(const rs_linked *l, rs_error *err)
{
    rs_slice s = l->schema;
    if (!rs_slice_is_text(s))
        return rs_fail_at(err, RS_ERR_FORMAT, l->file, rs_linked_offset(l, l->text),
                          "this is no linked trace: it has no schema");
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
        if (s.n == strlen(schemas[i]) + 2 && memcmp(s.bytes + 1, schemas[i], s.n - 2) == 0) return RS_OK;
    return rs_fail_at(err, RS_ERR_FORMAT, l->file, rs_linked_offset(l, s.bytes),
                      "schema \"%.*s\" is not known; link the execution trace again",
                      (int)(s.n - 2 < 60 ? s.n - 2 : 60), (const char *)s.bytes + 1);
}

static const rs_order by_id[] = {RS_RISING(rs_linked_node, id)};

static rs_status index_nodes(reading *r)
{
    rs_linked *l = r->linked;
    bool sorted = true;
    for (size_t i = 1; i < l->n_nodes && sorted; i++) sorted = l->nodes[i - 1].id <= l->nodes[i].id;
    if (!sorted) RS_SORT(l->nodes, l->n_nodes, by_id);
    l->dense = true;
    for (size_t i = 1; i < l->n_nodes && l->dense; i++) l->dense = l->nodes[i].id - 1 == l->nodes[i - 1].id;
    if (l->dense) return RS_OK;
    for (size_t i = 0; i < l->n_nodes; i++) {
        bool fresh;
        uint32_t *at = rs_map64_put(&l->by_id, (uint64_t)l->nodes[i].id, &fresh);
        if (!at) return rs_fail_nomem(r->err, "node ids");
        if (!fresh)
            return rs_fail(r->err, RS_ERR_FORMAT, "%s: node id %lld is a duplicate", l->file,
                           (long long)l->nodes[i].id);
        *at = (uint32_t)i;
    }
    return RS_OK;
}

rs_status rs_linked_open_bytes(const void *bytes, size_t n, const char *name, rs_linked *out, rs_error *err)
{
    *out = (rs_linked){.file = name, .text = bytes, .n_text = n};
    reading r = {.linked = out, .err = err};
    rs_json_reader_init(&r.json, bytes, n);
    rs_status status = rs_linked_start(out) ? read_document(&r) : rs_fail_nomem(err, "nodes");
    if (status == RS_OK) status = rs_linked_check_schema(out, err);
    if (status == RS_OK) status = index_nodes(&r);
    if (status != RS_OK) rs_linked_clear(out);
    return status;
}

rs_status rs_linked_open(const char *path, uint64_t max_ratio, rs_linked *out, rs_error *err)
{
    *out = (rs_linked){0};
    rs_source *source;
    uint8_t *text = NULL;
    size_t n = 0;
    RS_TRY(rs_source_open(path, max_ratio, &source, err));
    rs_status status = rs_source_read_all(source, MAX_TEXT, &text, &n, err);
    if (status == RS_OK) {
        status = rs_linked_open_bytes(text, n, path, out, err);
        if (status == RS_OK)
            out->own_text = text;
        else
            rs_free(text);
    }
    rs_source_close(source);
    return status;
}

void rs_linked_clear(rs_linked *l)
{
    rs_free_all(l->own_text, l->nodes, l->bodies, l->hosts, l->gpus, l->more);
    rs_arena_clear(&l->arena);
    rs_map64_clear(&l->by_id);
    *l = (rs_linked){0};
}

uint64_t rs_linked_offset(const rs_linked *l, const uint8_t *at)
{
    return l->text ? (uint64_t)(at - l->text) : RS_NO_OFFSET;
}

uint32_t rs_linked_find(const rs_linked *l, int64_t id)
{
    if (l->dense) {
        uint64_t away = l->n_nodes && id >= l->nodes[0].id ? (uint64_t)(id - l->nodes[0].id) : UINT64_MAX;
        return away < l->n_nodes ? (uint32_t)away : RS_LINKED_NONE;
    }
    const uint32_t *at = id < 0 ? NULL : rs_map64_get(&l->by_id, (uint64_t)id);
    return at ? *at : RS_LINKED_NONE;
}
