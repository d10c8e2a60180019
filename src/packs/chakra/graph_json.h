/* The other form of an execution trace that feeders read: {"workload_graph": [{"Id": 1, "Name": ...}, ...]}.
 * Nodes come as messages, as those of an .et file do. */
#pragma once

#include "base/memory.h"
#include "et_def.pb-c.h"
#include "input/json.h"
#include "text/writer.h"
#include "rankscope/status.h"

typedef struct rs_graph_json {
    rs_json_reader json;
    const char *name;
    rs_arena arena; /* of the present node */
    Rs__Et__Node node;
    uint64_t *deps;
    size_t n_deps, capacity;
    Rs__Et__Attribute **attrs;
    size_t n_attrs, attrs_capacity;
    bool done;
} rs_graph_json;

/* Whether the bytes begin as such a text does and no .et file: a bracket, and a member's name. */
bool rs_graph_json_is(const uint8_t *bytes, size_t n);
/* To the list of nodes. The text is borrowed until clear; name names it in errors. */
rs_status rs_graph_json_open(const uint8_t *text, size_t n, const char *name, rs_graph_json *graph,
                             rs_error *err);
/* The next node, valid until the next call; *node NULL after the last. *offset: where it begins. */
rs_status rs_graph_json_next(rs_graph_json *graph, const Rs__Et__Node **node, uint64_t *offset,
                             rs_error *err);
void rs_graph_json_clear(rs_graph_json *graph);

/* One node as a member of the list. */
void rs_graph_json_put(rs_writer *w, const Rs__Et__Node *node);
