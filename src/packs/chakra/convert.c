/* A linked trace to a Chakra execution trace. */
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "base/interval.h"
#include "base/try.h"
#include "chakra/convert_internal.h"
#include "chakra/work.h"

typedef struct converting {
    const rs_linked *linked;
    const rs_convert_graph *graph;
    const rs_chakra_convert_settings *settings;
    const rs_groups *groups;
    const rs_comms *comms;
    const rs_convert_work *work;
    size_t comm; /* the next one */
    rs_chakra_convert_report *report;
    rs_et_writer writer;
    rs_arena arena; /* texts of the present node */
    uint32_t body;  /* whose inputs and outputs these are; RS_LINKED_NONE: nobody's */
    rs_et_io inputs, outputs;
    rs_et_io groups_io, nothing; /* inputs of a declaration; of a gap */
    rs_attributes attributes;
    uint64_t *deps; /* ids of the present node's */
    size_t capacity;
    uint32_t top; /* the chain whose thread was asked for last; RS_LINKED_NONE */
    rs_slice thread;
    bool nomem;
    rs_error *err;
} converting;

static bool for_astra(const converting *c)
{
    return c->settings->target == RS_CHAKRA_TARGET_ASTRA_SIM;
}

/* Nodes come in the order in which their communication was found. */
static void add_comm(converting *c, size_t index, rs_et_message *out)
{
    if (c->comm == c->comms->n || c->comms->node[c->comm] != index) return;
    const rs_comm *comm = &c->comms->items[c->comm++];
    if (!comm->node_type) return;
    out->type = (Rs__Et__NodeType)comm->node_type;
    c->report->comm_nodes++;
    if (comm->comm_type >= 0) rs_et_add_int(&c->writer, "comm_type", comm->comm_type);
    if (comm->recorded >= 0) rs_et_add_int(&c->writer, "comm_type_recorded", comm->recorded);
    if (comm->has_size) rs_et_add_int(&c->writer, "comm_size", comm->size);
    if (comm->has_peers) {
        rs_et_add_int32(&c->writer, "comm_src", comm->src);
        rs_et_add_int32(&c->writer, "comm_dst", comm->dst);
        rs_et_add_int32(&c->writer, "comm_tag", comm->tag);
    }
    if (comm->group) rs_et_add_text(&c->writer, "pg_name", comm->group);
}

/* ---- nodes ------------------------------------------------------------------------------------------ */

static void put_value(converting *c, rs_slice value, unsigned field, rs_et_io *out)
{
    char *to = value.n > RS_SLICE_MOST ? NULL : rs_et_io_open(out, rs_slice_python_room(value));
    size_t n = to ? rs_slice_put_python(value, to, &c->arena) : SIZE_MAX;
    if (n == SIZE_MAX)
        c->nomem = true;
    else
        rs_et_io_close(out, field, n);
}

static void fill_io(converting *c, const rs_linked_io *io, rs_et_io *out)
{
    out->n = 0;
    put_value(c, io->values, RS_ET_FIELD_VALUES, out);
    put_value(c, io->shapes, RS_ET_FIELD_SHAPES, out);
    put_value(c, io->types, RS_ET_FIELD_TYPES, out);
}

/* Kernels have the inputs and outputs of their launcher, which stands right before them. */
static void fill_tensors(converting *c, const rs_linked_node *n, rs_et_message *out)
{
    if (c->body != n->body) {
        rs_linked_body body = rs_linked_body_of(c->linked, n);
        fill_io(c, &body.inputs, &c->inputs);
        fill_io(c, &body.outputs, &c->outputs);
        c->body = n->body;
    }
    out->inputs = &c->inputs;
    out->outputs = &c->outputs;
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

static void fill_times(converting *c, const rs_linked_node *n, rs_et_message *out)
{
    const rs_convert_graph *g = c->graph;
    size_t index = (size_t)(n - c->linked->nodes);
    out->duration_micros = g->recorded ? g->times.micros[index] : micros(n->exclusive);
    if (!n->timed) return;
    out->start_time_micros = micros(n->ts);
    if (n->ts <= -1000)
        rs_problems_add(&c->report->problems, c->linked->file, -1, RS_WARNING, "negative_start",
                        "start_time_micros cannot be negative and is 0; start_ns has the time",
                        rs_linked_offset(c->linked, n->name.bytes));
    rs_et_add_int(&c->writer, "start_ns", n->ts);
    rs_et_add_int(&c->writer, "duration_ns", n->exclusive);
    if (!n->gpu) rs_et_add_int(&c->writer, "end_ns", rs_add_sat(n->ts, n->inclusive));
    if (!g->recorded) return;
    if (g->times.delay[index]) rs_et_add_int(&c->writer, "launch_delay_ns", g->times.delay[index]);
    if (g->times.inferred[index] != RS_LINKED_NONE)
        rs_et_add_int(&c->writer, "inferred_dep",
                      (int64_t)rs_convert_id(c->linked, g->times.inferred[index]));
}

static rs_status take_deps(converting *c, size_t i, rs_et_message *out)
{
    const rs_convert_graph *g = c->graph;
    size_t count = (size_t)(g->first[i + 1] - g->first[i]);
    if (!rs_grow((void **)&c->deps, &c->capacity, count + 1, sizeof *c->deps))
        return rs_fail_nomem(c->err, "dependencies");
    for (size_t k = 0; k < count; k++) c->deps[k] = rs_convert_id(c->linked, g->deps[g->first[i] + k]);
    out->n_data_deps = count;
    out->data_deps = c->deps;
    return RS_OK;
}

/* The thread of a chain, as its nodes have it. */
static rs_slice thread_of(converting *c, uint32_t top)
{
    const rs_linked *l = c->linked;
    if (c->top == top) return c->thread;
    rs_slice tid = rs_slice_attribute(rs_linked_body_of(l, &l->nodes[top]).attrs, "tid");
    for (size_t i = top; !tid.bytes && i < l->n_nodes && c->graph->tops[i] == top; i++)
        tid = rs_slice_attribute(rs_linked_body_of(l, &l->nodes[i]).attrs, "tid");
    c->top = top;
    c->thread = tid;
    return tid;
}

static rs_status write_gap(converting *c, size_t i)
{
    const rs_convert_gap *gap = &c->graph->times.gaps[i - c->linked->n_nodes];
    const rs_linked_more *top = rs_linked_more_of(c->linked, &c->linked->nodes[gap->top]);
    rs_et_message out = {.id = rs_convert_id(c->linked, (uint32_t)i),
                         .name = "gap",
                         .n_name = 3,
                         .type = RS__ET__NODE_TYPE__COMP_NODE,
                         .inputs = &c->nothing,
                         .outputs = &c->nothing};
    uint64_t after = gap->after == RS_LINKED_NONE ? 0 : rs_convert_id(c->linked, gap->after);
    rs_arena_reset(&c->arena);
    RS_TRY(take_deps(c, i, &out));
    if (!c->nothing.n) fill_io(c, &(rs_linked_io){{NULL, 0}, {NULL, 0}, {NULL, 0}}, &c->nothing);
    if (gap->after != RS_LINKED_NONE) {
        out.n_ctrl_deps = 1;
        out.ctrl_deps = &after;
        rs_et_add_int(&c->writer, "gap_after", (int64_t)after);
    }
    if (top->chain >= 0)
        rs_et_add_int(&c->writer, "tid", top->thread);
    else
        c->nomem |= !rs_attribute_add("tid", thread_of(c, gap->top), &c->writer, &c->arena);
    rs_et_add_bool(&c->writer, "is_cpu_op", true);
    rs_et_add_int(&c->writer, "start_ns", gap->start);
    rs_et_add_int(&c->writer, "duration_ns", rs_sub_sat(gap->end, gap->start));
    out.start_time_micros = micros(gap->start);
    out.duration_micros = rs_convert_micros(gap->start, gap->end);
    if (c->nomem) return rs_fail_nomem(c->err, "a node");
    return rs_et_write_message(&c->writer, &out, c->err);
}

/* A feeder that waits for parents cannot wait for one that started later. The execution trace has such: what
 * another thread ran for an operator may stand above what the operator did before. */
static bool has_parent(const rs_linked *l, const rs_linked_node *n, uint32_t at)
{
    if (n->parent == n->id || at == RS_LINKED_NONE) return false;
    const rs_linked_node *parent = &l->nodes[at];
    return n->gpu || !n->timed || !parent->timed || parent->ts <= n->ts;
}

/* Whether data dependencies lead to the parent: one of them names it, or both are in one thread's chain. */
static bool comes_after(const converting *c, size_t i, uint32_t parent)
{
    const rs_convert_graph *g = c->graph;
    const rs_linked_node *n = &c->linked->nodes[i], *p = &c->linked->nodes[parent];
    for (uint64_t k = g->first[i]; k < g->first[i + 1]; k++)
        if (g->deps[k] == parent) return true;
    return !n->gpu && !p->gpu && g->tops[i] == g->tops[parent] && parent < i &&
           !c->linked->nodes[g->tops[i]].gpu;
}

/* The groups as ASTRA-sim reads them: it takes two characters off at both ends. */
static void fill_groups(converting *c, const rs_linked_node *n, rs_et_message *out)
{
    rs_linked_body body = rs_linked_body_of(c->linked, n);
    const char *list = rs_groups_list(c->groups, &body, &c->arena);
    size_t length = list ? strlen(list) : 0;
    char *text = list ? rs_et_io_open(&c->groups_io, length + 4) : NULL;
    if (!text) {
        c->nomem = true;
        return;
    }
    memcpy(text, "['", 2);
    memcpy(text + 2, list, length);
    memcpy(text + 2 + length, "']", 2);
    rs_et_io_close(&c->groups_io, RS_ET_FIELD_VALUES, length + 4);
    put_value(c, body.inputs.shapes, RS_ET_FIELD_SHAPES, &c->groups_io);
    put_value(c, body.inputs.types, RS_ET_FIELD_TYPES, &c->groups_io);
    out->inputs = &c->groups_io;
}

static rs_status write_node(converting *c, size_t i)
{
    const rs_linked *l = c->linked;
    const rs_linked_node *n = &l->nodes[i];
    rs_et_message out = {.id = (uint64_t)n->id};
    rs_arena_reset(&c->arena);
    RS_TRY(take_deps(c, i, &out));
    uint64_t parent = (uint64_t)n->parent;
    uint32_t above = rs_linked_find(l, n->parent);
    if (!(out.name = rs_slice_text_of(n->name, &out.n_name, &c->arena))) c->nomem = true;
    out.type = !n->gpu && is_metadata(n) ? RS__ET__NODE_TYPE__METADATA_NODE : RS__ET__NODE_TYPE__COMP_NODE;
    if (has_parent(l, n, above) && (!for_astra(c) || comes_after(c, i, above))) {
        out.n_ctrl_deps = 1;
        out.ctrl_deps = &parent;
    }
    fill_tensors(c, n, &out);
    c->groups_io.n = 0;
    if (for_astra(c) && rs_groups_are_declared_by(n)) fill_groups(c, n, &out);
    c->nomem |= !rs_attributes_add(&c->attributes, l, n, &c->writer, &c->arena);
    rs_et_add_bool(&c->writer, "is_cpu_op", !n->gpu);
    const rs_linked_gpu *g = n->gpu ? rs_linked_gpu_of(l, n) : NULL;
    if (g && g->has_stream) rs_et_add_int(&c->writer, "stream", g->stream);
    if (g && g->has_device) rs_et_add_int(&c->writer, "device", g->device);
    if (g && !g->has_device && g->has_lane) rs_et_add_int(&c->writer, "lane", g->lane);
    fill_times(c, n, &out);
    add_comm(c, i, &out);
    if (c->work->ops[i] != RS_NO_WORK) rs_et_add_int(&c->writer, "num_ops", c->work->ops[i]);
    if (c->work->bytes[i] != RS_NO_WORK) rs_et_add_int(&c->writer, "tensor_size", c->work->bytes[i]);
    if (c->nomem) return rs_fail_nomem(c->err, "a node");
    return rs_et_write_message(&c->writer, &out, c->err);
}

static rs_status write_trace(converting *c)
{
    const rs_linked *l = c->linked;
    const rs_slice values[] = {l->schema, l->pid, l->time, l->start_ts, l->finish_ts};
    static const char *const names[] = {"schema", "pid", "time", "start_ts", "finish_ts"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        c->nomem |= !rs_attribute_add(names[i], values[i], &c->writer, &c->arena);
    rs_et_add_text(&c->writer, "timing", c->graph->recorded ? "recorded" : "exclusive");
    if (for_astra(c)) rs_et_add_text(&c->writer, "target", "astra-sim");
    if (c->nomem) return rs_fail_nomem(c->err, "metadata");
    rs_status status = rs_et_write_metadata(&c->writer, "", c->err);
    size_t n = l->n_nodes + c->graph->times.n_gaps;
    for (size_t i = 0; i < n && status == RS_OK; i++)
        status = i < l->n_nodes ? write_node(c, i) : write_gap(c, i);
    return status;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

/* Without times a replay says nothing: the host trace alone was given. */
static rs_status check_linked(const rs_linked *l, const rs_chakra_convert_settings *settings,
                              rs_chakra_convert_report *report, rs_error *err)
{
    for (size_t i = 0; i < l->n_nodes; i++)
        if (l->nodes[i].timed) return RS_OK;
    if (settings->allow_unlinked) {
        rs_problems_add(&report->problems, l->file, -1, RS_NOTE, "never_linked",
                        "no node has a time: every node of the result lasts 0", RS_NO_OFFSET);
        return RS_OK;
    }
    if (settings->nodes) return RS_OK; /* the linker has told how much it found */
    return rs_fail_at(err, RS_ERR_FORMAT, l->file, RS_NO_OFFSET,
                      "was never linked: no node has a time; `rankscope chakra link` first (or "
                      "--allow-unlinked)");
}

static void explain(const rs_linked *l, const rs_chakra_convert_settings *settings)
{
    for (size_t i = 0; settings->explain && i < l->n_nodes; i++) {
        rs_slice_walk walk = rs_slice_elements(rs_linked_more_of(l, &l->nodes[i])->sync_dep);
        rs_slice element;
        int64_t id;
        while (!l->nodes[i].gpu && rs_slice_next(&walk, &element)) {
            char line[128];
            if (!rs_slice_int(element, &id)) continue;
            snprintf(line, sizeof line, "Node ID %lld now has an synchonization dependency on Node ID %lld",
                     (long long)l->nodes[i].id, (long long)id);
            settings->explain(settings->explain_context, line);
        }
    }
}

static rs_status write_all(const rs_linked *linked, const rs_chakra_convert_settings *settings,
                           const rs_groups *groups, const rs_comms *comms, const rs_convert_work *work,
                           const rs_sink *sink, rs_chakra_convert_report *report, rs_error *err)
{
    rs_convert_graph graph;
    RS_TRY(rs_convert_graph_make(linked, settings->timing, &graph, report, err));
    converting c = {.linked = linked,
                    .graph = &graph,
                    .settings = settings,
                    .groups = groups,
                    .comms = comms,
                    .work = work,
                    .report = report,
                    .body = RS_LINKED_NONE,
                    .top = RS_LINKED_NONE,
                    .err = err};
    explain(linked, settings);
    rs_et_writer_init(&c.writer, sink);
    c.writer.json = settings->json;
    rs_status status = write_trace(&c);
    if (status == RS_OK) status = rs_et_writer_finish(&c.writer, err);
    rs_et_writer_clear(&c.writer);
    rs_arena_clear(&c.arena);
    rs_free_all(c.inputs.bytes, c.outputs.bytes, c.groups_io.bytes, c.nothing.bytes, c.deps);
    rs_convert_graph_clear(&graph);
    return status;
}

static rs_status convert(const rs_linked *linked, const rs_chakra_convert_settings *settings,
                         const rs_sink *sink, rs_chakra_convert_report *report, rs_error *err)
{
    rs_groups groups;
    rs_comms comms;
    rs_convert_work work;
    rs_status status = check_linked(linked, settings, report, err);
    if (status == RS_OK)
        status = rs_groups_read(linked, settings->target == RS_CHAKRA_TARGET_ASTRA_SIM, &groups,
                                &report->problems, err);
    if (status != RS_OK) return status;
    if (groups.renamed)
        rs_problems_add_many(&report->problems, linked->file, -1, RS_NOTE, "renamed_groups",
                             "process groups have numbers instead of their names, in nodes, metadata and the "
                             "groups' file",
                             RS_NO_OFFSET, groups.renamed, NULL);
    status = rs_comms_find(linked, &groups, settings->target, &comms, &report->problems, err);
    if (status == RS_OK) {
        status = rs_convert_work_find(linked, &comms, &work, err);
        if (status == RS_OK) {
            status = write_all(linked, settings, &groups, &comms, &work, sink, report, err);
            rs_convert_work_clear(&work);
        }
        rs_comms_clear(&comms);
    }
    if (status == RS_OK && settings->groups)
        status = rs_groups_write(&groups, settings->groups, &report->groups, err);
    rs_groups_clear(&groups);
    return status;
}

rs_status rs_chakra_convert(const rs_chakra_convert_settings *settings, const rs_sink *sink,
                            rs_chakra_convert_report *report, rs_error *err)
{
    rs_linked linked = {0};
    rs_status status = RS_OK;
    rs_chakra_convert_settings own;
    *report = (rs_chakra_convert_report){0};
    RS_TAKE_SETTINGS(rs_chakra_convert_settings, &own, settings, err);
    settings = &own;
    if (settings->nodes)
        linked = settings->nodes->linked; /* what it points to stays the caller's */
    else if (settings->bytes)
        status = rs_linked_open_bytes(settings->bytes, settings->n_bytes, settings->linked, &linked, err);
    else
        status = rs_linked_open(settings->linked, settings->max_ratio, &linked, err);
    if (status != RS_OK) return status;
    if (!linked.has_rank && settings->rank_set) {
        linked.rank = settings->rank;
        linked.has_rank = true;
    }
    status = convert(&linked, settings, sink, report, err);
    if (!settings->nodes) rs_linked_clear(&linked);
    return status;
}

void rs_chakra_convert_report_clear(rs_chakra_convert_report *report)
{
    rs_problems_clear(&report->problems);
    *report = (rs_chakra_convert_report){0};
}
