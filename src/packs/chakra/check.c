/* Proving a Chakra execution trace: what a simulator relies on must hold. */
#include <string.h>

#include "base/order.h"
#include "base/settings.h"
#include "base/ascii.h"
#include "base/interval.h"
#include "chakra/check_internal.h"

uint32_t rs_check_find(const rs_check *c, uint64_t id)
{
    const uint32_t *at = rs_map64_get(&c->by_id, id);
    return at ? *at : RS_LINKED_NONE;
}

rs_status rs_check_fault(rs_check *c, rs_fault fault, uint64_t node, uint64_t other, rs_error *err)
{
    c->counts[fault]++;
    if (c->n_findings == RS_MAX_FINDINGS) return RS_OK;
    return RS_PUSH(c->findings, c->n_findings, c->findings_capacity, (rs_finding){fault, node, other})
               ? RS_OK
               : rs_fail_nomem(err, "findings");
}

/* ---- reading ---------------------------------------------------------------------------------------- */

static rs_status keep_ids(rs_check *c, const uint64_t *ids, size_t n, uint32_t *first, uint32_t *count,
                          rs_error *err)
{
    if (n > UINT32_MAX - c->n_deps) return rs_fail(err, RS_ERR_LIMIT, "%s: too many dependencies", c->path);
    if (!rs_grow((void **)&c->deps, &c->deps_capacity, c->n_deps + n + 1, sizeof *c->deps))
        return rs_fail_nomem(err, "dependencies");
    if (n) memcpy(c->deps + c->n_deps, ids, n * sizeof *ids);
    *first = (uint32_t)c->n_deps;
    *count = (uint32_t)n;
    c->n_deps += n;
    return RS_OK;
}

static int64_t to_ns(uint64_t micros)
{
    return micros > INT64_MAX / 1000 ? INT64_MAX : (int64_t)micros * 1000;
}

static rs_status keep_comm(rs_check *c, const Rs__Et__Node *n, rs_error *err)
{
    rs_check_comm k = {.node = (uint32_t)c->n_nodes, .recorded = -1};
    const char *group = rs_et_attribute_text(n, "pg_name");
    uint32_t name = group ? rs_strings_add(&c->names, group, strlen(group)) : 0;
    k.has_type = rs_et_attribute_int(n, "comm_type", &k.type);
    if (!rs_et_attribute_int(n, "comm_type_recorded", &k.recorded)) k.recorded = -1;
    k.has_src = rs_et_attribute_int(n, "comm_src", &k.src);
    k.has_dst = rs_et_attribute_int(n, "comm_dst", &k.dst);
    k.has_tag = rs_et_attribute_int(n, "comm_tag", &k.tag);
    if (name == RS_NO_STRING || !RS_GROW_ONE(c->comms, c->n_comms, c->comms_capacity))
        return rs_fail_nomem(err, "communication");
    k.group = name ? c->names.items[name].text : NULL;
    c->comms[c->n_comms++] = k;
    return RS_OK;
}

/* A metadata node holds the process groups, where it is a list of them. */
static rs_status keep_groups(rs_check *c, const Rs__Et__Node *n, rs_error *err)
{
    bool known = false;
    rs_status status = RS_OK;
    c->metadata_nodes++;
    if (n->inputs) status = rs_groups_add_input(&c->groups, n->inputs->values, &known, err);
    if (status == RS_OK && c->astra && !known) status = rs_check_fault(c, RS_FAULT_METADATA, n->id, 0, err);
    return status;
}

static rs_status keep_node(rs_check *c, const Rs__Et__Node *n, rs_error *err)
{
    rs_check_node k = {.id = n->id,
                       .micros_start = n->start_time_micros,
                       .micros_duration = n->duration_micros,
                       .type = (int32_t)n->type};
    int64_t cpu = 1;
    k.placed = rs_et_attribute_int(n, "is_cpu_op", &cpu);
    k.gpu = k.placed && !cpu;
    k.has_stream = k.gpu && rs_et_attribute_int(n, "stream", &k.stream);
    k.has_device = k.gpu && rs_et_attribute_int(n, "device", &k.device);
    /* Without a device the converter tells streams of different devices apart by this. */
    if (k.gpu && !k.has_device) rs_et_attribute_int(n, "lane", &k.device);
    k.has_size = rs_et_attribute_int(n, "comm_size", &k.size);
    k.exact =
        rs_et_attribute_int(n, "start_ns", &k.start) && rs_et_attribute_int(n, "duration_ns", &k.duration);
    int64_t ignored;
    k.has_end = k.exact && rs_et_attribute_int(n, "end_ns", &k.end);
    /* The first gap of a thread comes after nothing; unlike an operator of that name it has no end_ns. */
    k.gap = rs_et_attribute_int(n, "gap_after", &ignored) ||
            (k.exact && !k.has_end && !k.gpu && n->name && strcmp(n->name, "gap") == 0);
    k.has_tid = !k.gpu && rs_et_attribute_int(n, "tid", &k.tid);
    k.timed = k.exact || n->start_time_micros;
    if (!k.exact) {
        k.start = to_ns(n->start_time_micros);
        k.duration = to_ns(n->duration_micros);
    }
    rs_status status = keep_ids(c, n->data_deps, n->n_data_deps, &k.data, &k.n_data, err);
    if (status == RS_OK) status = keep_ids(c, n->ctrl_deps, n->n_ctrl_deps, &k.ctrl, &k.n_ctrl, err);
    if (status == RS_OK && k.type >= RS__ET__NODE_TYPE__COMM_SEND_NODE) status = keep_comm(c, n, err);
    if (status == RS_OK && k.type == RS__ET__NODE_TYPE__METADATA_NODE) status = keep_groups(c, n, err);
    if (status != RS_OK) return status;
    if (c->n_nodes >= RS_LINKED_NONE - 1) return rs_fail(err, RS_ERR_LIMIT, "%s: too many nodes", c->path);
    if (!RS_GROW_ONE(c->nodes, c->n_nodes, c->nodes_capacity)) return rs_fail_nomem(err, "nodes");
    bool fresh;
    uint32_t *at = rs_map64_put(&c->by_id, k.id, &fresh);
    if (!at) return rs_fail_nomem(err, "node ids");
    if (fresh) *at = (uint32_t)c->n_nodes;
    c->nodes[c->n_nodes++] = k;
    c->gpu_nodes += k.gpu;
    c->gaps += k.gap;
    if (!k.gap) c->time = rs_add_sat(c->time, k.duration);
    if (k.type >= RS__ET__NODE_TYPE__COMM_SEND_NODE) {
        c->comm_nodes++;
        c->bytes = rs_add_sat(c->bytes, k.has_size ? k.size : 0);
    }
    return fresh ? RS_OK : rs_check_fault(c, RS_FAULT_DUPLICATE, k.id, k.id, err);
}

static rs_status read_trace(rs_check *c, uint64_t max_ratio, rs_error *err)
{
    rs_et_reader *reader;
    const Rs__Et__Node *node;
    rs_status status = rs_et_open(c->path, max_ratio, &reader, err);
    if (status != RS_OK) return status;
    const Rs__Et__GlobalMetadata *metadata = rs_et_metadata(reader);
    for (size_t i = 0; i < metadata->n_attr; i++) {
        const Rs__Et__Attribute *a = metadata->attr[i];
        if (!a->name || a->value_case != RS__ET__ATTRIBUTE__VALUE_STRING_VAL) continue;
        c->as_recorded |= strcmp(a->name, "timing") == 0 && strcmp(a->string_val, "recorded") == 0;
        c->for_astra |= strcmp(a->name, "target") == 0 && strcmp(a->string_val, "astra-sim") == 0;
    }
    while ((status = rs_et_next(reader, &node, err)) == RS_OK && node)
        if ((status = keep_node(c, node, err)) != RS_OK) break;
    rs_et_close(reader);
    return status;
}

/* ---- dependencies ----------------------------------------------------------------------------------- */

static uint64_t id_of(const void *context, uint32_t index)
{
    return ((const rs_check *)context)->nodes[index].id;
}

/* Resolves one kind of dependencies and looks for those that lead nowhere, twice to the same, or in a ring.
 */
static rs_status check_deps(rs_check *c, bool data, rs_error *err)
{
    size_t n = c->n_nodes;
    uint64_t *first = rs_malloc((n + 1) * sizeof *first), k = 0;
    RS_LOCAL uint32_t *to = rs_malloc((c->n_deps + 1) * sizeof *to),
                      *seen = rs_malloc((n + 1) * sizeof *seen);
    rs_status status = first && to && seen ? RS_OK : rs_fail_nomem(err, "dependencies");
    for (size_t i = 0; status == RS_OK && i < n; i++) seen[i] = RS_LINKED_NONE;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_check_node *node = &c->nodes[i];
        uint32_t from = data ? node->data : node->ctrl, count = data ? node->n_data : node->n_ctrl;
        first[i] = k;
        for (uint32_t j = 0; j < count && status == RS_OK; j++) {
            uint64_t id = c->deps[from + j];
            uint32_t at = rs_check_find(c, id);
            if (at == RS_LINKED_NONE) {
                status = rs_check_fault(c, data ? RS_FAULT_DANGLING_DATA : RS_FAULT_DANGLING_CTRL, node->id,
                                        id, err);
            } else if (seen[at] == i) {
                status = rs_check_fault(c, RS_FAULT_REPEATED, node->id, id, err);
            } else if (data || at != i) { /* a root may be its own parent */
                seen[at] = (uint32_t)i;
                to[k++] = at;
            }
        }
    }
    if (status == RS_OK) {
        rs_error found = RS_ERROR_INIT;
        first[n] = k;
        status = rs_graph_has_no_cycle(first, to, n, id_of, c,
                                       data ? "data dependencies" : "control dependencies", &found);
        if (status == RS_ERR_FORMAT) {
            if (!c->cycle[0]) rs_error_text(&found, c->cycle, sizeof c->cycle);
            status = rs_check_fault(c, RS_FAULT_CYCLE, 0, 0, err);
        } else if (status != RS_OK) {
            *err = found;
        }
    }
    rs_free(first);
    return status;
}

/* A kernel depends on the node that launched it: its parent, where it names one. */
static bool has_launcher(const rs_check *c, const rs_check_node *n)
{
    for (uint32_t j = 0; j < n->n_data; j++) {
        uint64_t id = c->deps[n->data + j];
        uint32_t at = rs_check_find(c, id);
        if (at == RS_LINKED_NONE || c->nodes[at].gpu) continue;
        if (!n->n_ctrl || c->deps[n->ctrl] == id) return true;
    }
    return false;
}

static rs_status list_inversion(rs_check *c, const rs_check_node *n, rs_error *err)
{
    for (uint32_t j = 0; n->timed && j < n->n_data; j++) {
        uint32_t at = rs_check_find(c, c->deps[n->data + j]);
        if (at == RS_LINKED_NONE || !c->nodes[at].timed || n->start >= c->nodes[at].start) continue;
        if (!RS_PUSH(c->inversions, c->n_inversions, c->inversions_capacity, n->id))
            return rs_fail_nomem(err, "inversions");
        break;
    }
    return RS_OK;
}

static rs_status check_nodes(rs_check *c, rs_error *err)
{
    rs_status status = RS_OK;
    /* Synthetic traces of accelerator work alone have nothing that launches it. */
    bool hosts = c->gpu_nodes < c->n_nodes;
    for (size_t i = 0; i < c->n_nodes && status == RS_OK; i++) {
        const rs_check_node *n = &c->nodes[i];
        if (hosts && n->gpu && !has_launcher(c, n))
            status = rs_check_fault(c, RS_FAULT_NO_LAUNCHER, n->id, 0, err);
        if (status == RS_OK) status = list_inversion(c, n, err);
    }
    return status;
}

/* ---- streams ---------------------------------------------------------------------------------------- */

static bool same_stream(const rs_check_node *a, const rs_check_node *b)
{
    return a->gpu && b->gpu && a->has_stream && b->has_stream && a->stream == b->stream &&
           a->has_device == b->has_device && a->device == b->device;
}

typedef struct head {
    bool has_device;
    int64_t device, stream;
    uint32_t index;
} head;

static const rs_order by_stream[] = {RS_RISING(head, has_device), RS_RISING(head, device),
                                     RS_RISING(head, stream), RS_RISING(head, index)};

/* The GPU nodes of a stream form one chain: one of them is its head, each other one has a predecessor, and no
 * two follow the same one alone. */
static rs_status check_streams(rs_check *c, rs_error *err)
{
    size_t n_heads = 0;
    RS_LOCAL head *heads = rs_malloc((c->n_nodes + 1) * sizeof *heads);
    RS_LOCAL uint8_t *followed = rs_calloc(c->n_nodes + 1, 1);
    rs_status status = heads && followed ? RS_OK : rs_fail_nomem(err, "the order of streams");
    for (size_t i = 0; i < c->n_nodes && status == RS_OK; i++) {
        const rs_check_node *n = &c->nodes[i];
        uint32_t before = RS_LINKED_NONE, n_before = 0;
        if (!n->has_stream) continue;
        for (uint32_t j = 0; j < n->n_data; j++) {
            uint32_t at = rs_check_find(c, c->deps[n->data + j]);
            if (at == RS_LINKED_NONE || at == i || !same_stream(n, &c->nodes[at])) continue;
            before = at;
            n_before++;
        }
        if (!n_before) {
            heads[n_heads++] = (head){n->has_device, n->device, n->stream, (uint32_t)i};
        } else if (n_before == 1) {
            if (followed[before])
                status = rs_check_fault(c, RS_FAULT_STREAM_ORDER, n->id, c->nodes[before].id, err);
            followed[before] = 1;
        }
    }
    if (status == RS_OK && n_heads) RS_SORT(heads, n_heads, by_stream);
    for (size_t i = 0; i < n_heads && status == RS_OK; i++) {
        const rs_check_node *n = &c->nodes[heads[i].index];
        if (i && same_stream(n, &c->nodes[heads[i - 1].index]))
            status = rs_check_fault(c, RS_FAULT_STREAM_ORDER, n->id, c->nodes[heads[i - 1].index].id, err);
        else
            c->streams++;
    }
    return status;
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static int64_t check_rank_of(const char *path)
{
    static const char *const ends[] = {".et", ".et.gz", ".et.zst", ".json", ".json.gz", ".json.zst"};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t length = strlen(ends[i]), digits = 0;
        if (n < length || strcmp(path + n - length, ends[i]) != 0) continue;
        const char *end = path + n - length;
        int64_t rank = 0;
        while (digits < (size_t)(end - path) && rs_is_digit(end[-1 - (ptrdiff_t)digits])) digits++;
        if (!digits || digits > 9) return RS_NO_RANK_IN_NAME;
        for (const char *p = end - digits; p < end; p++) rank = rank * 10 + (*p - '0');
        return rank;
    }
    return RS_NO_RANK_IN_NAME;
}

rs_status rs_check_open(rs_check *c, const char *path, const rs_chakra_check_settings *settings,
                        rs_error *err)
{
    int64_t rank = check_rank_of(path);
    *c = (rs_check){.path = path,
                    .linked = settings->linked,
                    .astra = settings->target == RS_CHAKRA_TARGET_ASTRA_SIM,
                    .has_rank = rank != RS_NO_RANK_IN_NAME,
                    .rank = rank,
                    .tolerance = settings->tolerance_set ? settings->tolerance : 5};
    if (!rs_strings_init(&c->names)) return rs_fail_nomem(err, "names");
    rs_status status = rs_groups_init(&c->groups, err);
    if (status == RS_OK) status = read_trace(c, settings->max_ratio, err);
    if (status == RS_OK && settings->groups)
        status = rs_groups_add_file(&c->groups, settings->groups, settings->max_ratio, err);
    if (status == RS_OK) status = check_deps(c, true, err);
    if (status == RS_OK) status = check_deps(c, false, err);
    if (status == RS_OK) status = check_nodes(c, err);
    if (status == RS_OK) status = check_streams(c, err);
    if (status == RS_OK && c->astra) status = rs_check_astra(c, err);
    if (status == RS_OK) status = rs_check_replay(c, err);
    if (status == RS_OK && c->linked) status = rs_check_conservation(c, settings->max_ratio, err);
    return status;
}

void rs_check_clear(rs_check *c)
{
    rs_free_all(c->nodes, c->comms, c->deps, c->findings, c->inversions);
    rs_map64_clear(&c->by_id);
    rs_strings_clear(&c->names);
    rs_groups_clear(&c->groups);
    *c = (rs_check){0};
}

rs_status rs_chakra_check(const rs_chakra_check_settings *settings, const rs_sink *sink, uint64_t *faults,
                          rs_error *err)
{
    rs_check c;
    rs_writer w;
    rs_json_put j;
    rs_chakra_check_settings own;
    *faults = 0;
    RS_TAKE_SETTINGS(rs_chakra_check_settings, &own, settings, err);
    settings = &own;
    rs_status status = rs_check_open(&c, settings->path, settings, err);
    if (status == RS_OK) {
        rs_writer_init(&w, sink);
        rs_check_put_text(&c, &w);
        status = rs_writer_finish(&w, err);
    }
    if (status == RS_OK && settings->report) {
        rs_writer_init(&w, settings->report);
        rs_json_put_init(&j, &w);
        rs_check_put_json(&c, &j);
        rs_writer_char(&w, '\n');
        status = rs_writer_finish(&w, err);
    }
    *faults = rs_check_faults(&c);
    rs_check_clear(&c);
    return status;
}
