/* A linked trace to a Chakra execution trace. */
#include <string.h>

#include "chakra/convert_internal.h"

typedef struct converting {
    const rs_linked *linked;
    const rs_convert_graph *graph;
    rs_chakra_convert_report *report;
    rs_et_writer writer;
    rs_arena arena; /* texts of the present node */
    uint64_t *deps; /* ids of the present node's */
    size_t capacity;
    bool nomem;
    rs_error *err;
} converting;

/* ---- attributes ------------------------------------------------------------------------------------- */

/* Set for every node below; what the host trace has under these names is something else. */
static bool is_own(const char *name)
{
    static const char *const own[] = {"is_cpu_op", "stream",      "device",    "lane",
                                      "start_ns",  "duration_ns", "comm_type", "comm_size"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(name, own[i]) == 0) return true;
    return false;
}

/* A kernel shares its launcher's identity, not what else is known of that. */
static bool is_identity(const char *name)
{
    static const char *const names[] = {"rf_id", "fw_parent", "seq_id",   "scope",
                                        "tid",   "fw_tid",    "op_schema"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static bool is_word(rs_slice s, const char *word)
{
    return s.n == strlen(word) && memcmp(s.bytes, word, s.n) == 0;
}

/* 0 ... 2^64 - 1 */
static bool read_unsigned(rs_slice s, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.bytes[i] < '0' || s.bytes[i] > '9') return false;
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, s.bytes[i] - '0', out))
            return false;
    }
    return s.n > 0;
}

static void add_value(converting *c, const char *name, rs_slice value)
{
    int64_t number;
    uint64_t big;
    if (!value.bytes || is_word(value, "null")) return;
    if (is_word(value, "true") || is_word(value, "false")) {
        rs_et_add_bool(&c->writer, name, value.bytes[0] == 't');
    } else if (rs_slice_int(value, &number)) {
        rs_et_add_int(&c->writer, name, number);
    } else if (read_unsigned(value, &big)) {
        rs_et_add_uint(&c->writer, name, big);
    } else {
        const char *text =
            rs_slice_is_text(value) ? rs_slice_text(value, &c->arena) : rs_slice_python(value, &c->arena);
        if (text)
            rs_et_add_text(&c->writer, name, text);
        else
            c->nomem = true;
    }
}

static void add_host_attributes(converting *c, const rs_linked_node *n)
{
    rs_slice_walk walk = rs_slice_elements(n->attrs);
    rs_slice key, value;
    while (!c->nomem && rs_slice_next_attribute(&walk, &key, &value)) {
        if (!rs_slice_is_text(key)) continue;
        const char *name = rs_slice_text(key, &c->arena);
        if (!name)
            c->nomem = true;
        else if (!is_own(name) && (!n->gpu || is_identity(name)))
            add_value(c, name, value);
    }
}

static void add_comm(converting *c, const rs_linked_node *n, Rs__Et__Node *out)
{
    rs_comm comm;
    if (!rs_comm_of(c->linked, n, &c->arena, &comm)) {
        c->nomem = true;
        return;
    }
    if (!comm.node_type) return;
    uint64_t at = rs_linked_offset(c->linked, n->name.bytes);
    out->type = (Rs__Et__NodeType)comm.node_type;
    c->report->comm_nodes++;
    if (comm.comm_type >= 0)
        rs_et_add_int(&c->writer, "comm_type", comm.comm_type);
    else if (comm.node_type == RS__ET__NODE_TYPE__COMM_COLL_NODE)
        rs_problems_add(&c->report->problems, c->linked->file, -1, RS_WARNING, "unknown_collective",
                        "nothing says which collective these kernels are; they have no comm_type", at);
    if (comm.has_size)
        rs_et_add_int(&c->writer, "comm_size", comm.size);
    else
        rs_problems_add(&c->report->problems, c->linked->file, -1, RS_WARNING, "unknown_size",
                        "nothing says how much these collectives send; they have no comm_size", at);
    if (comm.group) rs_et_add_text(&c->writer, "pg_name", comm.group);
}

/* ---- nodes ------------------------------------------------------------------------------------------ */

static void fill_io(converting *c, const rs_linked_io *io, Rs__Et__InputsOutputs *out)
{
    out->values = rs_slice_python(io->values, &c->arena);
    out->shapes = rs_slice_python(io->shapes, &c->arena);
    out->types = rs_slice_python(io->types, &c->arena);
    if (!out->values || !out->shapes || !out->types) c->nomem = true;
}

static bool is_metadata(const rs_linked_node *n)
{
    static const char word[] = "process_group:init";
    size_t length = sizeof word - 1;
    const uint8_t *p = n->name.bytes, *end = p + n->name.n;
    for (; (p = memchr(p, word[0], (size_t)(end - p))) && (size_t)(end - p) >= length; p++)
        if (memcmp(p, word, length) == 0) return true;
    return false;
}

static uint64_t micros(int64_t ns)
{
    return ns > 0 ? (uint64_t)ns / 1000 : 0;
}

static void fill_times(converting *c, const rs_linked_node *n, Rs__Et__Node *out)
{
    out->duration_micros = micros(n->exclusive);
    if (!n->timed) return;
    out->start_time_micros = micros(n->ts);
    if (n->ts <= -1000)
        rs_problems_add(&c->report->problems, c->linked->file, -1, RS_WARNING, "negative_start",
                        "start_time_micros cannot be negative and is 0; start_ns has the time",
                        rs_linked_offset(c->linked, n->name.bytes));
    rs_et_add_int(&c->writer, "start_ns", n->ts);
    rs_et_add_int(&c->writer, "duration_ns", n->exclusive);
}

static rs_status write_node(converting *c, size_t i)
{
    const rs_linked *l = c->linked;
    const rs_linked_node *n = &l->nodes[i];
    Rs__Et__Node out = RS__ET__NODE__INIT;
    Rs__Et__InputsOutputs inputs = RS__ET__INPUTS_OUTPUTS__INIT, outputs = RS__ET__INPUTS_OUTPUTS__INIT;
    rs_arena_clear(&c->arena);
    size_t count = (size_t)(c->graph->first[i + 1] - c->graph->first[i]);
    if (!rs_grow((void **)&c->deps, &c->capacity, count + 1, sizeof *c->deps))
        return rs_fail_nomem(c->err, "dependencies");
    for (size_t k = 0; k < count; k++)
        c->deps[k] = (uint64_t)l->nodes[c->graph->deps[c->graph->first[i] + k]].id;
    uint64_t parent = (uint64_t)n->parent;
    out.id = (uint64_t)n->id;
    if (!(out.name = rs_slice_text(n->name, &c->arena))) c->nomem = true;
    out.type = !n->gpu && is_metadata(n) ? RS__ET__NODE_TYPE__METADATA_NODE : RS__ET__NODE_TYPE__COMP_NODE;
    if (n->parent != n->id && rs_linked_find(l, n->parent) != RS_LINKED_NONE) {
        out.n_ctrl_deps = 1;
        out.ctrl_deps = &parent;
    }
    out.n_data_deps = count;
    out.data_deps = c->deps;
    fill_io(c, &n->inputs, &inputs);
    fill_io(c, &n->outputs, &outputs);
    out.inputs = &inputs;
    out.outputs = &outputs;
    add_host_attributes(c, n);
    rs_et_add_bool(&c->writer, "is_cpu_op", !n->gpu);
    if (n->gpu && n->has_stream) rs_et_add_int(&c->writer, "stream", n->stream);
    if (n->gpu && n->has_device) rs_et_add_int(&c->writer, "device", n->device);
    if (n->gpu && !n->has_device && n->has_lane) rs_et_add_int(&c->writer, "lane", n->lane);
    fill_times(c, n, &out);
    if (n->gpu) add_comm(c, n, &out);
    if (c->nomem) return rs_fail_nomem(c->err, "a node");
    return rs_et_write_node(&c->writer, &out, c->err);
}

static rs_status write_trace(converting *c)
{
    const rs_linked *l = c->linked;
    add_value(c, "schema", l->schema);
    add_value(c, "pid", l->pid);
    add_value(c, "time", l->time);
    add_value(c, "start_ts", l->start_ts);
    add_value(c, "finish_ts", l->finish_ts);
    if (c->nomem) return rs_fail_nomem(c->err, "metadata");
    rs_status status = rs_et_write_metadata(&c->writer, "", c->err);
    for (size_t i = 0; i < l->n_nodes && status == RS_OK; i++) status = write_node(c, i);
    return status;
}

rs_status rs_chakra_convert(const rs_chakra_convert_settings *settings, const rs_sink *sink,
                            rs_chakra_convert_report *report, rs_error *err)
{
    rs_linked own = {0};
    const rs_linked *linked = settings->nodes ? &settings->nodes->linked : &own;
    rs_convert_graph graph;
    rs_status status = RS_OK;
    *report = (rs_chakra_convert_report){0};
    if (!settings->nodes && settings->bytes)
        status = rs_linked_open_bytes(settings->bytes, settings->n_bytes, settings->linked, &own, err);
    else if (!settings->nodes)
        status = rs_linked_open(settings->linked, settings->max_ratio, &own, err);
    if (status != RS_OK) return status;
    status = rs_convert_graph_make(linked, &graph, report, err);
    if (status == RS_OK) {
        converting c = {.linked = linked, .graph = &graph, .report = report, .err = err};
        rs_et_writer_init(&c.writer, sink);
        status = write_trace(&c);
        if (status == RS_OK) status = rs_et_writer_finish(&c.writer, err);
        rs_et_writer_clear(&c.writer);
        rs_arena_clear(&c.arena);
        rs_free(c.deps);
        rs_convert_graph_clear(&graph);
    }
    if (status == RS_OK && settings->groups)
        status = rs_convert_groups(linked, settings->groups, report, err);
    rs_linked_clear(&own);
    return status;
}

void rs_chakra_convert_report_clear(rs_chakra_convert_report *report)
{
    rs_problems_clear(&report->problems);
    *report = (rs_chakra_convert_report){0};
}
