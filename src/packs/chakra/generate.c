/* Small Chakra execution traces that each show one thing, for trying out a simulator. */
#include <string.h>

#include "base/settings.h"
#include "chakra/proto.h"
#include "rankscope/chakra_trace.h"

typedef enum kind { METADATA, LOAD, STORE, COMPUTE, TWO, CHAIN, COLLECTIVE, SEND, RECEIVE } kind;

static const struct {
    const char *name;
    kind kind;
    int comm_type;
    const char *node;
} patterns[] = {
    {"one_metadata_node_all_types", METADATA, 0, "METADATA"},
    {"one_remote_mem_load_node", LOAD, 0, "MEM_LOAD"},
    {"one_remote_mem_store_node", STORE, 0, "MEM_STORE"},
    {"one_comp_node", COMPUTE, 0, "COMP"},
    {"two_comp_nodes_independent", TWO, 0, "COMP"},
    {"two_comp_nodes_dependent", CHAIN, 0, "COMP"},
    {"one_comm_coll_node_allreduce", COLLECTIVE, RS__ET__COLLECTIVE_TYPE__ALL_REDUCE, "ALL_REDUCE"},
    {"one_comm_coll_node_alltoall", COLLECTIVE, RS__ET__COLLECTIVE_TYPE__ALL_TO_ALL, "ALL_TO_ALL"},
    {"one_comm_coll_node_allgather", COLLECTIVE, RS__ET__COLLECTIVE_TYPE__ALL_GATHER, "ALL_GATHER"},
    {"one_comm_coll_node_reducescatter", COLLECTIVE, RS__ET__COLLECTIVE_TYPE__REDUCE_SCATTER,
     "REDUCE_SCATTER"},
    {"one_comm_coll_node_broadcast", COLLECTIVE, RS__ET__COLLECTIVE_TYPE__BROADCAST, "BROADCAST"},
    {"one_comm_coll_node_barrier", COLLECTIVE, RS__ET__COLLECTIVE_TYPE__BARRIER, "BARRIER"},
    {"one_comm_send_node", SEND, 0, "COMM_SEND"},
    {"one_comm_recv_node", RECEIVE, 0, "COMM_RECV"},
};
#define N_PATTERNS (sizeof patterns / sizeof *patterns)

const char *rs_chakra_pattern_name(size_t pattern)
{
    return pattern < N_PATTERNS ? patterns[pattern].name : NULL;
}

/* One attribute of every plain kind. */
static void add_every_kind(rs_et_writer *w)
{
    rs_et_add_int(w, "int64", -64);
    rs_et_add_uint(w, "uint64", 64);
    rs_et_add_int32(w, "int32", -32);
    rs_et_add_real(w, "double", 0.5);
    rs_et_add_bool(w, "bool", true);
    rs_et_add_text(w, "string", "text");
}

/* Simulators read comm_size and comm_type as int64, num_ops as int64, tensor_size as uint64. */
static Rs__Et__NodeType add_attributes(rs_et_writer *w, size_t pattern, const rs_chakra_generate_settings *s)
{
    kind k = patterns[pattern].kind;
    rs_et_add_bool(w, "is_cpu_op", false);
    switch (k) {
    case METADATA: add_every_kind(w); return RS__ET__NODE_TYPE__METADATA_NODE;
    case LOAD:
    case STORE:
        rs_et_add_uint(w, "tensor_size", s->tensor_size);
        return k == LOAD ? RS__ET__NODE_TYPE__MEM_LOAD_NODE : RS__ET__NODE_TYPE__MEM_STORE_NODE;
    case COLLECTIVE:
        rs_et_add_int(w, "comm_type", patterns[pattern].comm_type);
        rs_et_add_int(w, "comm_size", s->comm_size);
        return RS__ET__NODE_TYPE__COMM_COLL_NODE;
    case SEND:
    case RECEIVE: {
        /* Rank n sends to n + 1 and receives from n - 1. */
        int32_t n = (int32_t)s->npus, here = (int32_t)s->npu;
        rs_et_add_int32(w, "comm_src", k == SEND ? here : (here + n - 1) % n);
        rs_et_add_int32(w, "comm_dst", k == SEND ? (here + 1) % n : here);
        rs_et_add_int32(w, "comm_tag", 0);
        rs_et_add_int(w, "comm_size", s->comm_size);
        return k == SEND ? RS__ET__NODE_TYPE__COMM_SEND_NODE : RS__ET__NODE_TYPE__COMM_RECV_NODE;
    }
    default: return RS__ET__NODE_TYPE__COMP_NODE;
    }
}

rs_status rs_chakra_generate(size_t pattern, const rs_chakra_generate_settings *settings, const rs_sink *sink,
                             rs_error *err)
{
    rs_chakra_generate_settings own;
    const rs_chakra_generate_settings *s = &own;
    RS_TAKE_SETTINGS(rs_chakra_generate_settings, &own, settings, err);
    if (pattern >= N_PATTERNS || s->npus == 0 || s->npus > 1 << 20 || s->npu >= s->npus)
        return rs_fail(err, RS_ERR_USAGE, "there is no such pattern or NPU");
    kind k = patterns[pattern].kind;
    rs_et_writer w;
    rs_et_writer_init(&w, sink);
    rs_status status = rs_et_write_metadata(&w, "1.0.0", err);
    uint64_t n_nodes = k == TWO || k == CHAIN ? 2 : 1, before = 1;
    for (uint64_t id = 1; id <= n_nodes && status == RS_OK; id++) {
        Rs__Et__Node node = RS__ET__NODE__INIT;
        node.id = id;
        node.name = (char *)(uintptr_t)patterns[pattern].node;
        node.type = add_attributes(&w, pattern, s);
        if (k == COMPUTE || k == TWO || k == CHAIN) node.duration_micros = s->runtime;
        if (k == CHAIN && id == 2) {
            node.n_data_deps = 1;
            node.data_deps = &before;
        }
        status = rs_et_write_node(&w, &node, err);
    }
    if (status == RS_OK) status = rs_et_writer_finish(&w, err);
    rs_et_writer_clear(&w);
    return status;
}
