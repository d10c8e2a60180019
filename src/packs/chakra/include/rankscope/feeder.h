/* A feeder for simulators: hands out the nodes of a Chakra execution trace as what they depend on gets done.
 *
 *     rs_et_feeder *feeder;
 *     rs_error err = RS_ERROR_INIT;
 *     if (rs_et_feeder_open("job.0.et", &feeder, &err) != RS_OK) ...
 *     for (const rs_et_node *node; (node = rs_et_feeder_next(feeder));)
 *         rs_et_feeder_complete(feeder, rs_et_node_id(node));
 *     rs_et_feeder_close(feeder);
 *
 * A node is ready when every node that its data_deps name is complete; dependencies that name no node of the
 * trace are ignored and counted. Nodes in a ring, or behind one, are never ready. Files are .et or the JSON form
 * {"workload_graph": [...]}, packed or not. Calls on different feeders may run side by side. The same class names
 * as the established feeder's, in C++: rankscope/et_feeder.hpp. */
#ifndef RANKSCOPE_FEEDER_H
#define RANKSCOPE_FEEDER_H

#include "rankscope/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rs_et_feeder rs_et_feeder;
typedef struct rs_et_node rs_et_node;

/* Reads the whole trace. *out is the caller's to close, NULL on failure. RS_ERR_FORMAT with the offset, or with an
 * id that two nodes have; RS_ERR_IO, RS_ERR_NOMEM, RS_ERR_LIMIT. Cost: one pass; memory about 300 bytes a node and
 * its texts, each once. */
RS_API rs_status rs_et_feeder_open(const char *path, rs_et_feeder **out, rs_error *err);
RS_API void rs_et_feeder_close(rs_et_feeder *feeder); /* NULL is allowed */

/* ---- handing out ------------------------------------------------------------------------------------ */

/* The ready node with the lowest id that was not handed out; NULL when none is ready. Nodes belong to the feeder
 * and stay where they are until it is closed. */
RS_API const rs_et_node *rs_et_feeder_next(rs_et_feeder *feeder);
/* What depends on the node waits for it no longer. An id that is unknown or complete changes nothing. */
RS_API void rs_et_feeder_complete(rs_et_feeder *feeder, uint64_t id);
/* The node was not issued after all: it is handed out again. Does nothing for one that is complete or was not
 * handed out. */
RS_API void rs_et_feeder_push_back(rs_et_feeder *feeder, uint64_t id);
/* The node is handed out in its turn whether it is ready or not, once. Does nothing for one that was. */
RS_API void rs_et_feeder_offer(rs_et_feeder *feeder, uint64_t id);
/* The node is found no more, and not handed out if it was not. What depends on it waits on. */
RS_API void rs_et_feeder_remove(rs_et_feeder *feeder, uint64_t id);
/* Whether rs_et_feeder_next has a node now. */
RS_API bool rs_et_feeder_has_next(const rs_et_feeder *feeder);

RS_API size_t rs_et_feeder_size(const rs_et_feeder *feeder);     /* nodes of the trace */
RS_API size_t rs_et_feeder_left(const rs_et_feeder *feeder);     /* of these never handed out */
RS_API size_t rs_et_feeder_removed(const rs_et_feeder *feeder);  /* of these removed */
RS_API size_t rs_et_feeder_dangling(const rs_et_feeder *feeder); /* data_deps that name no node */
/* The node of an id, in whatever state; NULL if there is none, or it was removed. */
RS_API const rs_et_node *rs_et_feeder_find(const rs_et_feeder *feeder, uint64_t id);

/* ---- a node ----------------------------------------------------------------------------------------- */

RS_API uint64_t rs_et_node_id(const rs_et_node *node);
RS_API const char *rs_et_node_name(const rs_et_node *node);
RS_API int rs_et_node_type(const rs_et_node *node); /* 4 COMP, 5 COMM_SEND, 6 COMM_RECV, 7 COMM_COLL */
RS_API uint64_t rs_et_node_runtime(const rs_et_node *node); /* duration_micros */
RS_API uint64_t rs_et_node_start(const rs_et_node *node);   /* start_time_micros */
RS_API bool rs_et_node_is_cpu_op(const rs_et_node *node);   /* false where nothing tells */

/* Whether the node has an attribute of the name. */
RS_API bool rs_et_node_has(const rs_et_node *node, const char *name);
/* Its value when it is a whole number or truth value of any kind within int64, else otherwise. */
RS_API int64_t rs_et_node_int(const rs_et_node *node, const char *name, int64_t otherwise);
/* ... when it is a number of any kind. */
RS_API double rs_et_node_double(const rs_et_node *node, const char *name, double otherwise);
/* ... when it is a text; it lives as long as the feeder. */
RS_API const char *rs_et_node_text(const rs_et_node *node, const char *name, const char *otherwise);

/* The tensors of the node as the trace writes them: part is "values", "shapes" or "types"; "" where there are
 * none. */
RS_API const char *rs_et_node_inputs(const rs_et_node *node, const char *part);
RS_API const char *rs_et_node_outputs(const rs_et_node *node, const char *part);

/* The ids of the nodes whose data_deps name this one, ascending, each once; *count of them. The feeder's. */
RS_API const uint64_t *rs_et_node_children(const rs_et_node *node, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
