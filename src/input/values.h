/* A tree of plain values (numbers, texts, lists, maps) as data readers build it: one flat array of 16-byte
 * nodes.
 *
 * Readers drive it as a stack machine: push values, mark a place, attach what was pushed since the mark to
 * the container below it. Containers may be shared and may even contain themselves (a pickle can say so), so
 * whoever walks the tree goes down a fixed number of levels and never recurses. All growth is counted against
 * limits. */
#pragma once

#include "base/memory.h"
#include "rankscope/status.h"

typedef enum rs_value_type {
    RS_VALUE_NONE,
    RS_VALUE_BOOL,
    RS_VALUE_INT,
    RS_VALUE_UINT, /* a whole number of 2^63 and more */
    RS_VALUE_REAL,
    RS_VALUE_TEXT,
    RS_VALUE_NAME,   /* a text that the reader interned: n is its id */
    RS_VALUE_RECORD, /* a map or list that the reader's user took; tag and as.i are what that user made of it */
    RS_VALUE_LIST,   /* lists, tuples and sets */
    RS_VALUE_MAP     /* children are key, value, key, value, ... */
} rs_value_type;

#define RS_NO_CHUNK UINT32_MAX

typedef struct rs_value {
    uint8_t type;
    uint8_t tag; /* RECORD: what kind, as its maker numbers them. MAP: 1 once it was pushed a second time */
    uint16_t depth; /* levels of containers below, counted when children are attached */
    uint32_t n;     /* TEXT: bytes; NAME: its id; LIST, MAP: children */
    union {
        int64_t i;  /* BOOL, INT */
        uint64_t u; /* UINT */
        double f;
        const char *text; /* not terminated; in the input or in the tree's own arena */
        struct {
            uint32_t first, last; /* chunks of children, RS_NO_CHUNK when empty */
        } chunks;
    } as;
} rs_value;

#define RS_NO_NODE UINT32_MAX

/* A run of children: refs[first .. first + n). */
typedef struct rs_value_chunk {
    uint32_t first, n, next;
} rs_value_chunk;

typedef struct rs_value_limits {
    uint64_t max_nodes;  /* 0: 64 million */
    uint64_t max_bytes;  /* memory of the tree; 0: 4 GiB */
    uint32_t max_depth;  /* open marks, and nesting of containers; 0: 1024 */
    uint64_t max_string; /* bytes of one text; 0: 16 MiB */
} rs_value_limits;

typedef struct rs_values {
    rs_value *nodes;
    size_t n_nodes, nodes_capacity;
    uint32_t *refs;
    size_t n_refs, refs_capacity;
    rs_value_chunk *chunks;
    size_t n_chunks, chunks_capacity;
    uint32_t *stack; /* items: node ids, and scalars that are no nodes yet (RS_SCALAR) */
    size_t n_stack, stack_capacity;
    rs_value *scalars; /* of the stack, in its order */
    size_t n_scalars, scalars_capacity;
    uint32_t *marks; /* stack heights */
    size_t n_marks, marks_capacity;
    size_t
        n_kept; /* nodes below it may be referred to by more than the stack: a container's children, a memo's */
    rs_arena texts; /* texts that had to be decoded */
    rs_value_limits limits;
} rs_values;

/* An all-zero rs_values is a valid empty one. begin empties it, keeps its memory for reuse and sets the
 * limits (NULL: the defaults). */
void rs_values_begin(rs_values *values, const rs_value_limits *limits);
void rs_values_clear(rs_values *values);

/* An item of the stack that is a scalar: the bit, and its place among the scalars. It becomes a node when a container
 * takes it, or a memo. */
#define RS_SCALAR (UINT32_C(1) << 31)

static inline const rs_value *rs_values_at(const rs_values *values, uint32_t item)
{
    return item & RS_SCALAR ? &values->scalars[item & ~RS_SCALAR] : &values->nodes[item];
}

/* What a step came to; readers turn it into an error that names the place. */
typedef enum rs_values_step {
    RS_STEP_OK,
    RS_STEP_NOMEM,
    RS_STEP_LIMIT,
    RS_STEP_EMPTY,
    RS_STEP_TAKEN /* by a take function (input/pickle.h): the map is a RECORD now */
} rs_values_step;

rs_values_step rs_values_push_node(rs_values *values, const rs_value *value);
rs_values_step rs_values_push_scalar(rs_values *values, const rs_value *value);
/* The same item. */
rs_values_step rs_values_push_ref_slowly(rs_values *values, uint32_t item);
static inline rs_values_step rs_values_push_ref(rs_values *values, uint32_t item)
{
    if (item >= values->n_nodes || values->n_stack == values->stack_capacity)
        return rs_values_push_ref_slowly(values, item);
    values->stack[values->n_stack++] = item;
    return RS_STEP_OK;
}
rs_values_step rs_values_push_mark(rs_values *values);
/* Makes the item at that height of the stack a node, if it is none yet. */
rs_values_step rs_values_settle(rs_values *values, size_t height);
/* Pops the items from height `from` up. */
void rs_values_pop(rs_values *values, size_t from);

/* Attaches the stack's items from height `from` up to the container `node` and pops them. A map takes whole
 * pairs; an odd item out is RS_STEP_EMPTY unless drop_odd. */
rs_values_step rs_values_attach(rs_values *values, uint32_t node, size_t from, bool drop_odd);

/* Pops the items of a map that was taken as a record. alone: no other item of the stack is newer than the map, so
 * that nodes which were made for these items go, too. */
void rs_values_drop_taken(rs_values *values, uint32_t map, size_t from, bool alone);
/* Forgets the children of a list that was taken as a record, where they are the last that were attached. */
void rs_values_drop_children(rs_values *values, uint32_t list);

/* After a cut: attaches everything that is still open to the containers it was meant for, innermost first,
 * and returns the bottom of the stack, or RS_NO_NODE. */
uint32_t rs_values_close_all(rs_values *values);

/* Walks the children of a list or map. */
typedef struct rs_value_walk {
    const rs_values *values;
    uint32_t chunk, at;
} rs_value_walk;

static inline rs_value_walk rs_value_children(const rs_values *values, uint32_t node)
{
    const rs_value *v = &values->nodes[node];
    bool holds = v->type == RS_VALUE_LIST || v->type == RS_VALUE_MAP;
    return (rs_value_walk){.values = values, .chunk = holds ? v->as.chunks.first : RS_NO_CHUNK, .at = 0};
}

/* The next child's node id; false at the end. */
static inline bool rs_value_next(rs_value_walk *walk, uint32_t *node)
{
    while (walk->chunk != RS_NO_CHUNK) {
        const rs_value_chunk *chunk = &walk->values->chunks[walk->chunk];
        if (walk->at < chunk->n) {
            *node = walk->values->refs[chunk->first + walk->at++];
            return true;
        }
        walk->chunk = chunk->next;
        walk->at = 0;
    }
    return false;
}

/* The next key and value of a map; false at the end. */
static inline bool rs_value_next_pair(rs_value_walk *walk, uint32_t *key, uint32_t *value)
{
    return rs_value_next(walk, key) && rs_value_next(walk, value);
}
