/* The linked trace: the host trace's own text, with times, GPU nodes and dependencies added. */
#include "base/interval.h"
#include "base/listed.h"
#include "chakra/link.h"
#include "text/writer.h"

static const char no_values[] = "{\"values\": [], \"shapes\": [], \"types\": []}";

void rs_link_number(rs_linker *x)
{
    uint64_t id = 0;
    for (size_t i = 0; i < x->et.n_order; i++) {
        rs_link_host *host = &x->hosts[x->et.order[i]];
        host->id = ++id;
        for (uint32_t k = 0; k < host->n_gpu; k++) x->gpus[x->by_parent[host->first_gpu + k]].id = ++id;
    }
}

static void put_span(rs_writer *w, rs_et_span span)
{
    rs_writer_bytes(w, (const char *)span.at, span.n);
}

static void put_time(rs_writer *w, const char *key, int64_t ns)
{
    rs_writer_text(w, key);
    rs_writer_time(w, ns, RS_UNIT_US);
}

/* ---- inputs, outputs, attrs ------------------------------------------------------------------------- */

rs_et_span rs_link_member(const rs_host_node *node, const char *name)
{
    rs_et_cursor c = rs_et_enter(node->whole);
    rs_et_span key, value;
    while (rs_et_next_key(&c, &key) && rs_et_take(&c, &value))
        if (rs_et_is(key, name)) return value;
    return (rs_et_span){0};
}

static void put_or(rs_writer *w, rs_et_span span, const char *otherwise)
{
    if (span.n)
        put_span(w, span);
    else
        rs_writer_text(w, otherwise);
}

static void put_flat_values(rs_writer *w, const rs_host_node *node, const char *key, const char *values,
                            const char *shapes, const char *types)
{
    rs_writer_text(w, key);
    rs_writer_text(w, "{\"values\": ");
    put_or(w, rs_link_member(node, values), "[]");
    rs_writer_text(w, ", \"shapes\": ");
    put_or(w, rs_link_member(node, shapes), "[]");
    rs_writer_text(w, ", \"types\": ");
    put_or(w, rs_link_member(node, types), "[]");
    rs_writer_char(w, '}');
}

static const struct {
    const char *name, *type, *root; /* root: the value of a made-up one */
} attrs[] = {{"rf_id", "uint64", "0"},       {"fw_parent", "uint64", "0"}, {"seq_id", "int64", "-1"},
             {"scope", "uint64", "7"},       {"tid", "uint64", NULL},      {"fw_tid", "uint64", "0"},
             {"op_schema", "string", "\"\""}};

void rs_link_put_attrs(rs_writer *w, const rs_host_node *node)
{
    bool any = false;
    rs_writer_char(w, '[');
    for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++) {
        rs_et_span value = rs_link_member(node, attrs[i].name);
        if (node->whole.n && value.n == 0) continue;
        rs_writer_text(w, any ? ", {\"name\": \"" : "{\"name\": \"");
        rs_writer_text(w, attrs[i].name);
        rs_writer_text(w, "\", \"type\": \"");
        rs_writer_text(w, attrs[i].type);
        rs_writer_text(w, "\", \"value\": ");
        if (value.n)
            put_span(w, value);
        else if (attrs[i].root)
            rs_writer_text(w, attrs[i].root);
        else
            rs_writer_int(w, node->tid);
        rs_writer_char(w, '}');
        any = true;
    }
    rs_writer_char(w, ']');
}

static void put_body(rs_writer *w, const rs_host_node *node)
{
    if (node->attrs.n || !node->whole.n) {
        rs_writer_text(w, ", \"inputs\": ");
        put_or(w, node->inputs, no_values);
        rs_writer_text(w, ", \"outputs\": ");
        put_or(w, node->outputs, no_values);
    } else {
        put_flat_values(w, node, ", \"inputs\": ", "inputs", "input_shapes", "input_types");
        put_flat_values(w, node, ", \"outputs\": ", "outputs", "output_shapes", "output_types");
    }
    rs_writer_text(w, ", \"attrs\": ");
    if (node->attrs.n)
        put_span(w, node->attrs);
    else
        rs_link_put_attrs(w, node);
}

/* Members that are not of the known schemas; what linking itself says is not taken over from the input. */
static void put_more(rs_writer *w, const rs_host_node *node)
{
    static const char own[] =
        "id|name|ctrl_deps|parent|inputs|outputs|attrs|inclusive_dur|exclusive_dur|ts|inter_thread_dep|"
        "sync_dep|cat|ph|inter_thread_deps|annotation|waits|chain|thread|stream|host_id";
    rs_et_cursor c = rs_et_enter(node->whole);
    rs_et_span key, value;
    while (rs_et_next_key(&c, &key) && rs_et_take(&c, &value)) {
        if (rs_listed(own, (const char *)key.at, key.n, true)) continue;
        rs_writer_text(w, ", \"");
        put_span(w, key);
        rs_writer_text(w, "\": ");
        put_span(w, value);
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------ */

void rs_link_put_inters(const rs_linker *x, rs_writer *w, const rs_link_host *host)
{
    for (uint32_t i = 0; i < host->n_inter; i++) {
        rs_writer_text(w, i ? ", " : "[");
        rs_writer_uint(w, x->hosts[x->inters[host->first_inter + i]].id);
    }
    rs_writer_char(w, ']');
}

void rs_link_put_waits(const rs_linker *x, rs_writer *w, const rs_link_host *root)
{
    for (uint32_t i = 0; i < root->n_wait; i++) {
        const rs_link_wait *wait = &x->waits[root->first_wait + i];
        put_time(w, i ? ", [" : "[[", wait->from);
        put_time(w, ", ", wait->to);
        rs_writer_text(w, ", ");
        rs_writer_uint(w, x->gpus[wait->gpu].id);
        rs_writer_char(w, ']');
    }
    rs_writer_char(w, ']');
}

static void put_sync(const rs_linker *x, rs_writer *w, uint32_t first, uint32_t n)
{
    if (!n) return;
    rs_writer_text(w, ", \"sync_dep\": [");
    for (uint32_t i = 0; i < n; i++) {
        if (i) rs_writer_text(w, ", ");
        rs_writer_uint(w, x->gpus[x->deps[first + i].gpu].id);
    }
    rs_writer_char(w, ']');
}

static void put_inters(const rs_linker *x, rs_writer *w, const rs_link_host *host)
{
    rs_writer_text(w, ", \"inter_thread_dep\": ");
    if (!host->n_inter) {
        rs_writer_text(w, "null");
        return;
    }
    rs_writer_uint(w, x->hosts[x->inters[host->first_inter]].id);
    if (host->n_inter < 2) return;
    rs_writer_text(w, ", \"inter_thread_deps\": ");
    rs_link_put_inters(x, w, host);
}

static void put_head(rs_writer *w, uint64_t id)
{
    rs_writer_text(w, "{\"id\": ");
    rs_writer_uint(w, id);
    rs_writer_text(w, ", \"name\": ");
}

static void put_host(const rs_linker *x, rs_writer *w, uint32_t index)
{
    const rs_host_node *node = &x->et.nodes[index];
    const rs_link_host *host = &x->hosts[index];
    put_head(w, host->id);
    put_span(w, node->name);
    rs_writer_text(w, ", \"ctrl_deps\": ");
    rs_writer_uint(w, x->hosts[node->up].id);
    put_body(w, node);
    if (node->more && node->attrs.n) put_more(w, node);
    if (node->whole.n) {
        rs_writer_text(w, ", \"host_id\": ");
        rs_writer_int(w, node->id);
    }
    if (host->op != RS_LINK_NONE) {
        const rs_link_op *op = &x->ops[host->op];
        put_time(w, ", \"inclusive_dur\": ", op->end - op->ts);
        put_time(w, ", \"exclusive_dur\": ", op->exclusive);
        put_time(w, ", \"ts\": ", op->ts);
        put_inters(x, w, host);
        if (rs_event_kind(x->e, op->row) == RS_KIND_USER_ANNOTATION)
            rs_writer_text(w, ", \"annotation\": true");
        if (host->leader != RS_LINK_NONE) {
            rs_writer_text(w, ", \"chain\": ");
            rs_writer_uint(w, x->hosts[host->leader].id);
            rs_writer_text(w, ", \"thread\": ");
            rs_writer_int(w, x->e->threads[op->thread].tid);
        }
    }
    put_sync(x, w, host->first_dep, host->n_dep);
    if (host->n_wait) {
        rs_writer_text(w, ", \"waits\": ");
        rs_link_put_waits(x, w, host);
    }
    rs_writer_char(w, '}');
}

const rs_column_id rs_link_args[RS_LINK_ARGS] = {
    RS_COL_COLLECTIVE, RS_COL_IN_NELEMS,  RS_COL_OUT_NELEMS,  RS_COL_DTYPE,    RS_COL_GROUP_SIZE,
    RS_COL_GROUP_NAME, RS_COL_GROUP_DESC, RS_COL_GROUP_RANKS, RS_COL_SRC_RANK, RS_COL_DST_RANK};

bool rs_link_put_args(const rs_linker *x, rs_writer *w, const char *before, uint32_t row)
{
    const rs_column_id *columns = rs_link_args;
    bool any = false;
    for (size_t i = 0; i < RS_LINK_ARGS; i++) {
        const rs_column_info *info = &rs_column_infos[columns[i]];
        int64_t number = 0;
        uint32_t text = RS_NO_STRING;
        if (info->type == RS_COLUMN_TEXT) {
            text = rs_events_text(x->e, columns[i], row);
            if (text == RS_NO_STRING) continue;
        } else if (!rs_events_int(x->e, columns[i], row, &number)) {
            continue;
        }
        rs_writer_text(w, any ? ", " : before);
        if (!any) rs_writer_char(w, '{');
        rs_writer_json_string(w, info->key, info->key_length);
        rs_writer_text(w, ": ");
        if (info->type == RS_COLUMN_TEXT)
            rs_writer_json_string(w, x->e->strings.items[text].text, x->e->strings.items[text].length);
        else
            rs_writer_int(w, number);
        any = true;
    }
    if (any) rs_writer_char(w, '}');
    return any;
}

static void put_gpu(const rs_linker *x, rs_writer *w, const rs_link_gpu *g)
{
    const rs_events *e = x->e;
    const rs_string *name = &e->strings.items[e->name[g->row]];
    const rs_string *cat = &e->strings.items[e->categories[e->category[g->row]].name];
    put_head(w, g->id);
    rs_writer_json_string(w, name->text, name->length);
    rs_writer_text(w, ", \"ctrl_deps\": ");
    rs_writer_uint(w, x->hosts[g->parent].id);
    put_body(w, &x->et.nodes[g->parent]);
    put_time(w, ", \"inclusive_dur\": ", g->end - g->ts);
    put_time(w, ", \"exclusive_dur\": ", g->end - g->ts);
    put_time(w, ", \"ts\": ", g->ts);
    rs_writer_text(w, ", \"inter_thread_dep\": null, \"cat\": ");
    rs_writer_json_string(w, cat->text, cat->length);
    rs_writer_text(w, ", \"ph\": \"X\", \"stream\": ");
    if (g->has_stream)
        rs_writer_int(w, g->stream);
    else
        rs_writer_text(w, "null");
    if (g->has_device) {
        rs_writer_text(w, ", \"device\": ");
        rs_writer_int(w, g->device);
    }
    rs_writer_text(w, ", \"lane\": ");
    rs_writer_uint(w, g->lane);
    put_time(w, ", \"launch_ts\": ", g->launch_ts);
    put_time(w, ", \"launch_dur\": ", rs_sub_sat(g->launch_end, g->launch_ts));
    rs_writer_text(w, ", \"event\": ");
    rs_writer_uint(w, g->row);
    if (g->has_args) rs_link_put_args(x, w, ", \"args\": ", g->row);
    put_sync(x, w, g->first_dep, g->n_dep);
    rs_writer_char(w, '}');
}

static void put_nodes(const rs_linker *x, rs_writer *w)
{
    rs_writer_char(w, '[');
    for (size_t i = 0; i < x->et.n_order; i++) {
        const rs_link_host *host = &x->hosts[x->et.order[i]];
        rs_writer_text(w, i ? ",\n" : "\n");
        put_host(x, w, x->et.order[i]);
        for (uint32_t k = 0; k < host->n_gpu; k++) {
            rs_writer_text(w, ",\n");
            put_gpu(x, w, &x->gpus[x->by_parent[host->first_gpu + k]]);
        }
    }
    rs_writer_text(w, "\n]");
}

rs_status rs_link_write(rs_linker *x, const rs_sink *sink, rs_error *err)
{
    RS_LOCAL rs_writer *w = rs_malloc(sizeof *w);
    bool any = false;
    if (!w) return rs_fail_nomem(err, "output");
    rs_writer_init(w, sink);
    rs_writer_char(w, '{');
    /* rank 0 is what a converter takes it for that is told none */
    if (x->has_rank && (x->rank_told || x->rank)) {
        rs_writer_text(w, "\n\"rank\": ");
        rs_writer_int(w, x->rank);
        any = true;
    }
    for (size_t i = 0; i < x->et.n_members; i++) {
        const rs_et_member *m = &x->et.members[i];
        if (x->has_rank && rs_et_is(m->key, "rank")) continue;
        rs_writer_text(w, any ? ",\n\"" : "\n\"");
        any = true;
        put_span(w, m->key);
        rs_writer_text(w, "\": ");
        if (!m->value.n) {
            put_nodes(x, w);
        } else if (x->et.flat && rs_et_is(m->key, "schema")) {
            rs_writer_text(w, "\"1.0.2-chakra.0.0.4\",\n\"source_schema\": ");
            put_span(w, m->value);
        } else {
            put_span(w, m->value);
        }
    }
    rs_writer_text(w, "\n}\n");
    return rs_writer_finish(w, err);
}
