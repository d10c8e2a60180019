/* A text workload as a Chakra execution trace: forward and backward pass of each layer, repeatedly. */
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "chakra/proto.h"
#include "chakra/workload.h"

#define MAX_DEPS 3

/* The nodes that later ones wait for, by layer; 0: none. */
typedef struct layer_nodes {
    uint64_t forward;      /* the end of the forward pass: communication, where the next layer waits for it */
    uint64_t forward_comm; /* DLRM: the exchange next to the chain */
    uint64_t input, input_comm;
    uint64_t weight;     /* computation of the weight gradient */
    uint64_t weight_end; /* its communication if there is any, else the computation */
} layer_nodes;

typedef struct making {
    const rs_workload *load;
    rs_et_writer out;
    layer_nodes *nodes;
    uint64_t next; /* id */
    char *name;
    size_t name_size;
    rs_error *err;
    rs_status status;
} making;

/* Names one node and writes it behind up to MAX_DEPS others (0: nothing, equal ones once); its id. */
static uint64_t put_node(making *m, const Rs__Et__Node *kind, const char *format, const char *layer,
                         const char *last, const uint64_t *after)
{
    Rs__Et__Node node = *kind;
    uint64_t deps[MAX_DEPS];
    size_t n = 0;
    if (m->status != RS_OK) return 0;
    for (size_t i = 0; i < MAX_DEPS; i++) {
        bool known = !after[i];
        for (size_t k = 0; k < n; k++) known |= deps[k] == after[i];
        if (!known) deps[n++] = after[i];
    }
    snprintf(m->name, m->name_size, format, layer, last);
    node.id = m->next++;
    node.name = m->name;
    node.data_deps = deps;
    node.n_data_deps = n;
    m->status = rs_et_write_node(&m->out, &node, m->err);
    return node.id;
}

static uint64_t compute(making *m, size_t layer, size_t phase, const uint64_t after[MAX_DEPS])
{
    static const char *const names[RS_N_PHASES] = {"FWD", "BWD_IG", "BWD_WG"};
    Rs__Et__Node node = RS__ET__NODE__INIT;
    const rs_workload_layer *l = &m->load->layers[layer];
    node.type = RS__ET__NODE_TYPE__COMP_NODE;
    node.duration_micros = l->phases[phase].time;
    rs_et_add_bool(&m->out, "is_cpu_op", false);
    return put_node(m, &node, "COMP_NODE_%s_%s", l->name, names[phase], after);
}

/* The communication of a phase behind a node; 0 when it has none. */
static uint64_t communicate(making *m, size_t layer, size_t phase, uint64_t behind)
{
    Rs__Et__Node node = RS__ET__NODE__INIT;
    const rs_workload_layer *l = &m->load->layers[layer];
    const rs_workload_phase *p = &l->phases[phase];
    if (!p->comm) return 0;
    node.type = RS__ET__NODE_TYPE__COMM_COLL_NODE;
    rs_et_add_bool(&m->out, "is_cpu_op", false);
    rs_et_add_int(&m->out, "comm_type", p->comm_type);
    rs_et_add_int(&m->out, "comm_size", p->comm_size);
    return put_node(m, &node, "COMM_COLL_NODE_%s_%s", l->name, p->comm, (uint64_t[MAX_DEPS]){behind});
}

/* Whether a layer's forward and input-gradient results are exchanged before the next layer may go on. */
static bool splits_layers(const making *m)
{
    return m->load->kind == RS_WORKLOAD_MODEL || m->load->kind == RS_WORKLOAD_HYBRID;
}

static void forward(making *m)
{
    bool dlrm = m->load->kind == RS_WORKLOAD_DLRM;
    for (size_t i = 0; i < m->load->n_layers; i++) {
        layer_nodes *n = &m->nodes[i];
        /* The weights must be those that the pass before has made. */
        uint64_t after[MAX_DEPS] = {i ? m->nodes[i - 1].forward : 0, n->weight_end, 0};
        if (dlrm && i == m->load->last_bottom + 1) after[2] = m->nodes[0].forward_comm;
        n->forward = compute(m, i, RS_PHASE_FORWARD, after);
        if (!dlrm && !splits_layers(m)) continue;
        n->forward_comm = communicate(m, i, RS_PHASE_FORWARD, n->forward);
        if (splits_layers(m) && n->forward_comm) n->forward = n->forward_comm;
    }
}

static void weight_gradient(making *m, size_t i, const uint64_t after[MAX_DEPS])
{
    layer_nodes *n = &m->nodes[i];
    n->weight_end = n->weight = compute(m, i, RS_PHASE_WEIGHT, after);
    if (m->load->kind == RS_WORKLOAD_MODEL) return; /* each rank has weights of its own */
    uint64_t comm = communicate(m, i, RS_PHASE_WEIGHT, n->weight);
    if (comm) n->weight_end = comm;
}

/* DATA and DLRM: the gradient that is communicated comes first; the first layer needs no input gradient. */
static void backward_weights_first(making *m)
{
    const rs_workload *load = m->load;
    for (size_t i = load->n_layers; i-- > 0;) {
        layer_nodes *n = &m->nodes[i];
        bool last = i + 1 == load->n_layers;
        uint64_t after[MAX_DEPS] = {last ? n->forward : m->nodes[i + 1].input, 0, 0};
        if (load->kind == RS_WORKLOAD_DLRM && i == 0) after[1] = n->input_comm;
        weight_gradient(m, i, after);
        if (i == 0) break;
        n->input = compute(m, i, RS_PHASE_INPUT, (uint64_t[MAX_DEPS]){n->weight});
        /* What the first top layer hands down goes back to the embeddings, next to the bottom layers. */
        if (load->kind == RS_WORKLOAD_DLRM && i == load->last_bottom + 1)
            m->nodes[0].input_comm = communicate(m, 0, RS_PHASE_INPUT, n->input);
    }
}

/* MODEL and the hybrids: the gradient that the layer below waits for comes first. */
static void backward_inputs_first(making *m)
{
    for (size_t i = m->load->n_layers; i-- > 0;) {
        layer_nodes *n = &m->nodes[i];
        uint64_t after[MAX_DEPS] = {n->forward, 0, 0};
        if (i + 1 < m->load->n_layers) {
            after[0] = m->nodes[i + 1].weight;
            after[1] = m->nodes[i + 1].input_comm;
        }
        n->input = compute(m, i, RS_PHASE_INPUT, after);
        n->input_comm = i ? communicate(m, i, RS_PHASE_INPUT, n->input) : 0;
        weight_gradient(m, i, (uint64_t[MAX_DEPS]){n->input});
    }
}

static void pass(making *m)
{
    switch (m->load->kind) {
    case RS_WORKLOAD_MICRO:
        for (size_t i = 0; i < m->load->n_layers; i++) communicate(m, i, RS_PHASE_WEIGHT, 0);
        break;
    case RS_WORKLOAD_MODEL:
    case RS_WORKLOAD_HYBRID:
        forward(m);
        backward_inputs_first(m);
        break;
    default: forward(m); backward_weights_first(m);
    }
}

static bool start(making *m)
{
    size_t longest = 0;
    for (size_t i = 0; i < m->load->n_layers; i++) {
        size_t n = strlen(m->load->layers[i].name);
        if (n > longest) longest = n;
    }
    m->name_size = longest + 64;
    m->name = rs_malloc(m->name_size);
    m->nodes = rs_calloc(m->load->n_layers, sizeof *m->nodes);
    return m->name && m->nodes;
}

rs_status rs_chakra_text(const rs_chakra_text_settings *settings, const rs_sink *sink, uint64_t *nodes,
                         rs_error *err)
{
    rs_workload load;
    making m = {.load = &load, .next = 1, .err = err};
    rs_chakra_text_settings own;
    if (nodes) *nodes = 0;
    RS_TAKE_SETTINGS(rs_chakra_text_settings, &own, settings, err);
    settings = &own;
    m.status = rs_workload_open(settings, &load, err);
    rs_et_writer_init(&m.out, sink);
    if (m.status == RS_OK && !start(&m)) m.status = rs_fail_nomem(err, "the layers' nodes");
    if (m.status == RS_OK) {
        rs_et_add_text(&m.out, "schema", "1.0.2-chakra.1.0.0");
        rs_et_add_text(&m.out, "input_file", load.text);
        m.status = rs_et_write_metadata(&m.out, "", err);
    }
    for (uint64_t p = 0; p < settings->passes && m.status == RS_OK && !m.out.out.failed; p++) pass(&m);
    if (m.status == RS_OK) m.status = rs_et_writer_finish(&m.out, err);
    if (m.status == RS_OK && nodes) *nodes = m.next - 1;
    rs_et_writer_clear(&m.out);
    rs_free_all(m.nodes, m.name);
    rs_workload_clear(&load);
    return m.status;
}
