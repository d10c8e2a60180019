/* The linked trace in memory: what linked_write.c writes and the converter reads again, without the text. The
 * values of host nodes stay where they are in the host trace's text; what the device trace says is written as
 * JSON, each text once. */
#include "chakra/convert_internal.h"
#include "chakra/link.h"

typedef struct making {
    rs_linker *x;
    rs_linked *out;
    rs_slice *texts; /* by string of the device trace: as JSON; bytes NULL: not yet */
    rs_sink sink;
    rs_writer writer;
    char *text; /* what was written since the last take */
    size_t n, capacity;
    bool nomem;
} making;

static bool keep(void *context, const char *bytes, size_t n)
{
    making *m = context;
    if (n > SIZE_MAX - m->n || !rs_grow((void **)&m->text, &m->capacity, m->n + n, 1)) {
        m->nomem = true;
        return false;
    }
    memcpy(m->text + m->n, bytes, n);
    m->n += n;
    return true;
}

/* What was written, as a value of its own. */
static rs_slice take(making *m)
{
    rs_writer_flush(&m->writer);
    char *copy = m->nomem ? NULL : rs_arena_strndup(&m->out->arena, m->text, m->n);
    rs_slice slice = {(const uint8_t *)copy, copy ? m->n : 0};
    if (!copy) m->nomem = true;
    m->n = 0;
    return slice;
}

static rs_slice text_of(making *m, uint32_t string)
{
    if (string == RS_NO_STRING) return (rs_slice){NULL, 0};
    if (!m->texts[string].bytes) {
        const rs_string *s = &m->x->e->strings.items[string];
        rs_writer_json_string(&m->writer, s->text, s->length);
        m->texts[string] = take(m);
    }
    return m->texts[string];
}

static rs_slice slice_of(rs_et_span span)
{
    return (rs_slice){span.n ? span.at : NULL, span.n};
}

/* ---- nodes ------------------------------------------------------------------------------------------ */

static rs_linked_io flat_io(const rs_host_node *node, const char *values, const char *shapes,
                            const char *types)
{
    return (rs_linked_io){slice_of(rs_link_member(node, values)), slice_of(rs_link_member(node, shapes)),
                          slice_of(rs_link_member(node, types))};
}

/* Bodies of schema 1.0.1, and of roots that were made up, are written here; others stay where they are. */
static bool has_body(const rs_host_node *node)
{
    return node->attrs.n && node->inputs.n <= UINT32_MAX && node->outputs.n <= UINT32_MAX;
}

static void add_body(making *m, const rs_host_node *node, rs_linked_node *n)
{
    rs_linked *out = m->out;
    if (!RS_GROW_ONE(out->bodies, out->n_bodies, out->bodies_capacity)) {
        m->nomem = true;
        return;
    }
    n->body = (uint32_t)out->n_bodies;
    rs_linked_body *body = &out->bodies[out->n_bodies++];
    *body = (rs_linked_body){.attrs = slice_of(node->attrs)};
    if (node->attrs.n || !node->whole.n) {
        rs_linked_split(slice_of(node->inputs), &body->inputs);
        rs_linked_split(slice_of(node->outputs), &body->outputs);
    } else {
        body->inputs = flat_io(node, "inputs", "input_shapes", "input_types");
        body->outputs = flat_io(node, "outputs", "output_shapes", "output_types");
    }
    if (node->attrs.n) return;
    rs_link_put_attrs(&m->writer, node);
    body->attrs = take(m);
}

static rs_slice syncs(making *m, uint32_t first, uint32_t n)
{
    if (!n) return (rs_slice){NULL, 0};
    for (uint32_t i = 0; i < n; i++) {
        rs_writer_char(&m->writer, i ? ',' : '[');
        rs_writer_uint(&m->writer, m->x->gpus[m->x->deps[first + i].gpu].id);
    }
    rs_writer_char(&m->writer, ']');
    return take(m);
}

/* What the device trace says of a host node. */
static void fill_op(const rs_linker *x, const rs_link_op *op, rs_linked_node *n)
{
    n->timed = true;
    n->ts = op->ts;
    n->exclusive = op->exclusive;
    n->inclusive = op->end - op->ts;
    n->annotation = rs_event_kind(x->e, op->row) == RS_KIND_USER_ANNOTATION;
}

static void fill_host_more(making *m, const rs_link_host *host, rs_linked_node *n)
{
    const rs_linker *x = m->x;
    rs_linked_more more = rs_linked_nothing;
    bool linked = host->op != RS_LINK_NONE;
    if (!host->n_wait && !host->n_dep && (!linked || (!host->n_inter && host->leader == RS_LINK_NONE)))
        return;
    if (linked && host->leader != RS_LINK_NONE) {
        more.chain = (int64_t)x->hosts[host->leader].id;
        more.thread = x->e->threads[x->ops[host->op].thread].tid;
    }
    if (linked && host->n_inter) more.inter_thread = (int64_t)x->hosts[x->inters[host->first_inter]].id;
    if (linked && host->n_inter > 1) {
        rs_link_put_inters(x, &m->writer, host);
        more.inter_threads = take(m);
    }
    if (host->n_wait) {
        rs_link_put_waits(x, &m->writer, host);
        more.waits = take(m);
    }
    more.sync_dep = syncs(m, host->first_dep, host->n_dep);
    if (!rs_linked_add_more(m->out, &more, n)) m->nomem = true;
}

static void fill_host(making *m, uint32_t index, rs_linked_node *n)
{
    const rs_linker *x = m->x;
    const rs_host_node *node = &x->et.nodes[index];
    const rs_link_host *host = &x->hosts[index];
    *n = (rs_linked_node){.id = (int64_t)host->id,
                          .name = slice_of(node->name),
                          .parent = (int64_t)x->hosts[node->up].id,
                          .body = index | RS_BODY_OF_HOST};
    if (!has_body(node)) add_body(m, node, n);
    if (host->op != RS_LINK_NONE) fill_op(x, &x->ops[host->op], n);
    fill_host_more(m, host, n);
}

static void fill_gpu(making *m, const rs_link_gpu *g, const rs_linked_node *parent, rs_linked_node *n)
{
    rs_linked *out = m->out;
    *n = (rs_linked_node){.id = (int64_t)g->id,
                          .name = text_of(m, m->x->e->name[g->row]),
                          .parent = parent->id,
                          .body = parent->body,
                          .ts = g->ts,
                          .exclusive = g->end - g->ts,
                          .inclusive = g->end - g->ts,
                          .work = (uint32_t)out->n_gpus,
                          .timed = true,
                          .gpu = true};
    out->gpus[out->n_gpus++] = (rs_linked_gpu){.stream = g->stream,
                                               .device = g->device,
                                               .launch = g->launch_ts,
                                               .launch_dur = g->launch_end - g->launch_ts,
                                               .position = g->row,
                                               .lane = g->lane,
                                               .has_stream = g->has_stream,
                                               .has_device = g->has_device,
                                               .has_lane = true,
                                               .has_launch = true};
    rs_linked_more more = rs_linked_nothing;
    bool args = g->has_args && rs_link_put_args(m->x, &m->writer, "", g->row);
    if (!args && !g->n_dep) return;
    if (args) more.args = take(m);
    more.sync_dep = syncs(m, g->first_dep, g->n_dep);
    if (!rs_linked_add_more(m->out, &more, n)) m->nomem = true;
}

/* In the order of rs_link_number: a node's index is its id - 1. */
static rs_status fill_nodes(making *m, rs_error *err)
{
    const rs_linker *x = m->x;
    rs_linked *out = m->out;
    size_t n = x->et.n_order + x->n_kept;
    if (n >= RS_BODY_OF_HOST) return rs_fail(err, RS_ERR_LIMIT, "%s: too many nodes", out->file);
    out->nodes = rs_malloc(n * sizeof *out->nodes + 1);
    out->gpus = rs_malloc(x->n_kept * sizeof *out->gpus + 1);
    out->dense = true;
    m->nomem = m->nomem || !out->nodes || !out->gpus || !rs_linked_start(out);
    for (size_t i = 0; i < x->et.n_order && !m->nomem; i++) {
        const rs_link_host *host = &x->hosts[x->et.order[i]];
        rs_linked_node *node = &out->nodes[out->n_nodes++];
        fill_host(m, x->et.order[i], node);
        for (uint32_t k = 0; k < host->n_gpu; k++) {
            rs_linked_node *gpu = &out->nodes[out->n_nodes++];
            fill_gpu(m, &x->gpus[x->by_parent[host->first_gpu + k]], node, gpu);
            if (gpu->exclusive < 0)
                return rs_fail_at(err, RS_ERR_FORMAT, out->file, RS_NO_OFFSET,
                                  "exclusive_dur is no duration");
        }
    }
    return m->nomem ? rs_fail_nomem(err, "the linked trace") : RS_OK;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static rs_status take_members(const rs_et *et, rs_linked *out, rs_error *err)
{
    static const char flat[] = "\"1.0.2-chakra.0.0.4\"";
    bool nodes = false;
    for (size_t i = 0; i < et->n_members; i++) {
        rs_et_span key = et->members[i].key;
        rs_slice value = slice_of(et->members[i].value);
        if (rs_et_is(key, "nodes")) {
            if (nodes) return rs_fail_at(err, RS_ERR_FORMAT, out->file, RS_NO_OFFSET, "nodes is there twice");
            nodes = true;
        }
        if (rs_et_is(key, "schema")) {
            out->schema = et->flat ? (rs_slice){(const uint8_t *)flat, sizeof flat - 1} : value;
        } else if (rs_et_is(key, "pid")) {
            out->pid = value;
        } else if (rs_et_is(key, "time")) {
            out->time = value;
        } else if (rs_et_is(key, "start_ts")) {
            out->start_ts = value;
        } else if (rs_et_is(key, "finish_ts")) {
            out->finish_ts = value;
        }
    }
    return rs_linked_check_schema(out, err);
}

rs_status rs_link_nodes(rs_linker *x, rs_chakra_linked **out, rs_error *err)
{
    rs_chakra_linked *made = rs_calloc(1, sizeof *made);
    making *m = rs_malloc(sizeof *m);
    rs_slice *texts = rs_calloc(x->e->strings.n + 1, sizeof *texts);
    rs_status status = RS_OK;
    if (!made || !m || !texts) {
        status = rs_fail_nomem(err, "the linked trace");
    } else {
        made->linked.file = "the linked trace";
        m->x = x;
        m->out = &made->linked;
        made->linked.has_rank = x->has_rank;
        made->linked.rank = x->rank;
        m->texts = texts;
        m->sink = (rs_sink){keep, m};
        m->text = NULL;
        m->n = m->capacity = 0;
        m->nomem = false;
        rs_writer_init(&m->writer, &m->sink);
        status = take_members(&x->et, m->out, err);
        if (status == RS_OK) status = fill_nodes(m, err);
        rs_free(m->text);
    }
    rs_free_all(texts, m);
    if (status != RS_OK) {
        rs_chakra_linked_free(made);
        return status;
    }
    made->linked.own_text = x->et.text;
    made->linked.hosts = x->et.nodes;
    x->et.text = NULL;
    x->et.nodes = NULL;
    *out = made;
    return RS_OK;
}

void rs_chakra_linked_free(rs_chakra_linked *linked)
{
    if (linked) rs_linked_clear(&linked->linked);
    rs_free(linked);
}
