/* What the files of the converter share. */
#pragma once

#include "chakra/convert_comm.h"
#include "chakra/convert_time.h"
#include "chakra/proto.h"
#include "rankscope/chakra_trace.h"

/* What the linker hands over (link_nodes.c). */
struct rs_chakra_linked {
    rs_linked linked;
};

/* Attributes of host nodes (convert_attrs.c). Most nodes have the same ones in the same places, so what
 * is before each value is remembered and compared instead of being read again. */
#define RS_ATTRIBUTES_SEEN 16
#define RS_ATTRIBUTE_NAME 32
typedef struct rs_attribute_seen {
    const uint8_t
        *bytes; /* in the text that is converted: from the bracket to the value, which ends the object */
    size_t n;   /* 0: nothing was seen */
    char name[RS_ATTRIBUTE_NAME];
    size_t n_name;
    bool own, identity, thread;
} rs_attribute_seen;
typedef struct rs_attributes {
    rs_attribute_seen seen[RS_ATTRIBUTES_SEEN]; /* by place in the list */
    bool kept; /* the first n_kept bytes of the writer's attributes are those of a kernel with this body: */
    uint32_t body;
    size_t n_kept;
} rs_attributes;

/* Both false when out of memory. Texts are put into the arena. Those of a node come before all others. */
bool rs_attribute_add(const char *name, rs_slice value, rs_et_writer *writer, rs_arena *arena);
bool rs_attributes_add(rs_attributes *attributes, const rs_linked *linked, const rs_linked_node *node,
                       rs_et_writer *writer, rs_arena *arena);

/* Data dependencies of all nodes: those of node i are deps[first[i] .. first[i + 1]), as indices. */
typedef struct rs_convert_graph {
    uint64_t *first;
    uint32_t *deps;
    size_t n_deps, capacity;
    uint32_t *tops; /* by node: the one whose chain it belongs to */
    bool recorded;  /* there are gaps, behind the nodes, and times */
    rs_convert_times times;
} rs_convert_graph;

/* The id of a node or gap. */
uint64_t rs_convert_id(const rs_linked *linked, uint32_t index);

/* Builds the graph and makes sure that neither it nor the parents have a cycle. */
rs_status rs_convert_graph_make(const rs_linked *linked, rs_chakra_timing timing, rs_convert_graph *graph,
                                rs_chakra_convert_report *report, rs_error *err);
void rs_convert_graph_clear(rs_convert_graph *graph);

/* Fails with the ids on one cycle of the graph; RS_OK when there is none. ids and graph are by index. */
rs_status rs_graph_has_no_cycle(const uint64_t *first, const uint32_t *deps, size_t n,
                                uint64_t (*id_of)(const void *context, uint32_t index), const void *context,
                                const char *what, rs_error *err);
