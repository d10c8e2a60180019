/* PyTorch execution traces (host traces), schemas 1.0.1 to 1.1.1: which operator called which, with what
 * arguments, but without times.
 *
 * The text stays in memory as it is and nodes are spans of it, so that what is written again is unchanged. */
#pragma once

#include "base/strings.h"
#include "input/json.h"
#include "input/source.h"
#include "rankscope/status.h"

#define RS_ET_NONE UINT32_MAX
#define RS_ET_NO_VALUE INT64_MIN

/* Raw JSON text of one value, without white space around it; n 0: absent. Of keys: without the quotes. */
typedef struct rs_et_span {
    const uint8_t *at;
    size_t n;
} rs_et_span;

/* A value within a span: its offset there; n 0: absent. */
typedef struct rs_et_part {
    uint32_t at, n;
} rs_et_part;

/* The members of "inputs" and "outputs" that matter. */
enum { RS_ET_VALUES, RS_ET_SHAPES, RS_ET_TYPES, RS_ET_PARTS };

typedef enum rs_et_role { RS_ET_OP, RS_ET_PROCESS, RS_ET_THREAD } rs_et_role;

typedef struct rs_host_node {
    int64_t id, parent;                      /* as written; parent RS_ET_NO_VALUE: none */
    int64_t rf_id, tid;                      /* RS_ET_NO_VALUE: none */
    int64_t fw_tid, scope;                   /* RS_ET_NO_VALUE: none */
    rs_et_span whole;                        /* the node; n 0: made up here */
    rs_et_span name, inputs, outputs, attrs; /* attrs n 0: schema 1.0.1's flat layout */
    rs_et_part input_parts[RS_ET_PARTS];     /* of inputs and outputs that are objects of less than 4 GiB */
    rs_et_part output_parts[RS_ET_PARTS];
    uint32_t up;    /* index of the parent; the process root is its own */
    uint32_t place; /* index into order */
    uint8_t role;   /* rs_et_role */
    bool more;      /* has members beyond those above */
} rs_host_node;

typedef struct rs_et_member {
    rs_et_span key, value; /* of "nodes" the value is empty */
} rs_et_member;

typedef struct rs_et {
    uint8_t *text;
    size_t n_text;
    rs_et_member *members; /* of the top level, in the file's order */
    size_t n_members, members_capacity;
    rs_host_node *nodes; /* in the file's order, made-up roots behind them */
    size_t n_nodes, nodes_capacity;
    uint32_t *order; /* all nodes by id; made-up roots stand before the first node that needs them */
    size_t n_order;
    char schema[64];
    bool flat;             /* schema 1.0.1 */
    uint64_t n_roots_made; /* process and thread roots that were missing */
    uint64_t n_orphans;    /* nodes whose parent does not exist */
} rs_et;

/* Reads and repairs: every node hangs from the process root afterwards. Text that breaks off or is damaged
 * gives the nodes before that and RS_LOSS in problems. RS_ERR_FORMAT: an unknown schema, or no node. path is
 * borrowed during the call. et is overwritten; clear it in any case. */
rs_status rs_et_load(const char *path, uint64_t max_ratio, rs_et *et, rs_problems *problems, rs_error *err);
/* The same from an open source, which stays the caller's; path names it. */
rs_status rs_et_load_source(rs_source *source, const char *path, rs_et *et, rs_problems *problems,
                            rs_error *err);
void rs_et_clear(rs_et *et);

/* Gives every node its parent and its place: part of rs_et_load. */
rs_status rs_et_repair(rs_et *et, const char *path, rs_problems *problems, rs_error *err);

/* ---- walking through JSON text ---------------------------------------------------------------------- */

/* Stands behind the opening bracket of an object or array. */
typedef struct rs_et_cursor {
    const uint8_t *p, *end;
    bool any;              /* an element was read */
    rs_json_status status; /* why a step was refused; RS_JSON_OK: the closing bracket */
} rs_et_cursor;

/* The cursor into a span that is an object or array; an empty one for anything else. */
rs_et_cursor rs_et_enter(rs_et_span value);
/* To the value of the next member, or the next element; false at the end or damage. */
bool rs_et_next_key(rs_et_cursor *c, rs_et_span *key);
bool rs_et_next_element(rs_et_cursor *c);
/* Skips the value that the cursor is at. */
bool rs_et_take(rs_et_cursor *c, rs_et_span *value);

bool rs_et_is(rs_et_span text, const char *word);
bool rs_et_int(rs_et_span value, int64_t *out);
