/* A linked trace in memory: its nodes, and where in some text the parts of each lie. The text is that of the
 * linked trace (JSON), or, when the linker hands its nodes over without writing them, that of the host trace.
 */
#pragma once

#include "base/memory.h"
#include "base/strings.h"
#include "chakra/et.h"
#include "rankscope/status.h"

#define RS_LINKED_NONE UINT32_MAX

/* A JSON value as it is in the text; bytes NULL: the member is absent. */
typedef struct rs_slice {
    const uint8_t *bytes;
    size_t n;
} rs_slice;

typedef struct rs_linked_io {
    rs_slice values, shapes, types;
} rs_linked_io;

/* What a node brings with it. The linker gives kernels that of their launcher. */
typedef struct rs_linked_body {
    rs_slice attrs;
    rs_linked_io inputs, outputs;
} rs_linked_body;

/* What few nodes have. */
typedef struct rs_linked_more {
    int64_t inter_thread;   /* id; -1: none */
    int64_t chain, thread;  /* the node that leads the chain of the thread it ran on, and that thread, where
                               that is not the one that it hangs from; -1 */
    rs_slice inter_threads; /* ids, where there are several; the first is inter_thread */
    rs_slice waits;         /* of thread roots: [from, to, id] in us, each time the thread stood still */
    rs_slice sync_dep;
    rs_slice args;
    /* what GPU nodes say of their collective besides args */
    rs_slice collective, dtype, in_nelems, group;
} rs_linked_more;

typedef struct rs_linked_gpu {
    int64_t stream, device, launch, launch_dur, position;
    int64_t lane; /* number of its device and stream */
    bool has_stream, has_device, has_lane, has_launch;
} rs_linked_gpu;

#define RS_BODY_OF_HOST (UINT32_C(1) << 31)

typedef struct rs_linked_node {
    int64_t id;
    int64_t parent;        /* id; its own when it has none */
    int64_t ts, exclusive; /* ns */
    int64_t inclusive;     /* ns; the exclusive time where nothing tells */
    rs_slice name;
    uint32_t body, more; /* indices; a body with RS_BODY_OF_HOST is that of a node of the host trace */
    uint32_t work;       /* index of what only GPU nodes have */
    bool timed, gpu;
    bool annotation; /* of the device trace: it names a span and does nothing */
} rs_linked_node;

typedef struct rs_linked {
    const char *file;
    const uint8_t *text; /* of the linked trace; NULL: it was never written */
    size_t n_text;
    uint8_t *own_text; /* what to free */
    rs_arena arena;    /* values that are in no text */
    rs_slice schema, pid, time, start_ts, finish_ts;
    bool has_rank;
    int64_t rank;          /* of the job; 0 where nothing tells it */
    rs_linked_node *nodes; /* by ascending id */
    size_t n_nodes, capacity;
    rs_linked_body *bodies;
    size_t n_bodies, bodies_capacity;
    rs_host_node *hosts; /* what bodies of host nodes are taken from, to be freed; NULL: there are none */
    rs_linked_gpu *gpus;
    size_t n_gpus, gpus_capacity;
    rs_linked_more *more; /* the first is that of nodes that have nothing of it */
    size_t n_more, more_capacity;
    bool dense;     /* ids follow one another: those of the nodes are nodes[0].id + index */
    rs_map64 by_id; /* id -> index, unless dense */
} rs_linked;

/* From a file (packed or not), or from bytes, which are borrowed. Errors name the byte offset and the field.
 * An unknown schema and a duplicate id are errors. */
rs_status rs_linked_open(const char *path, uint64_t max_ratio, rs_linked *out, rs_error *err);
rs_status rs_linked_open_bytes(const void *bytes, size_t n, const char *name, rs_linked *out, rs_error *err);
void rs_linked_clear(rs_linked *linked);

static inline rs_slice rs_slice_part(rs_et_span whole, rs_et_part part)
{
    return (rs_slice){part.n ? whole.at + part.at : NULL, part.n};
}

static inline rs_linked_io rs_linked_parts(rs_et_span whole, const rs_et_part *parts)
{
    return (rs_linked_io){rs_slice_part(whole, parts[RS_ET_VALUES]),
                          rs_slice_part(whole, parts[RS_ET_SHAPES]),
                          rs_slice_part(whole, parts[RS_ET_TYPES])};
}

static inline rs_linked_body rs_linked_body_of(const rs_linked *linked, const rs_linked_node *node)
{
    if (!(node->body & RS_BODY_OF_HOST)) return linked->bodies[node->body];
    const rs_host_node *host = &linked->hosts[node->body & ~RS_BODY_OF_HOST];
    return (rs_linked_body){.attrs = {host->attrs.at, host->attrs.n},
                            .inputs = rs_linked_parts(host->inputs, host->input_parts),
                            .outputs = rs_linked_parts(host->outputs, host->output_parts)};
}

static inline const rs_linked_more *rs_linked_more_of(const rs_linked *linked, const rs_linked_node *node)
{
    return &linked->more[node->more];
}

static inline const rs_linked_gpu *rs_linked_gpu_of(const rs_linked *linked, const rs_linked_node *gpu)
{
    return &linked->gpus[gpu->work];
}

/* A rs_linked_more with nothing in it. */
extern const rs_linked_more rs_linked_nothing;
/* Gives the node what few have; both false when out of memory. The first call makes the empty one. */
bool rs_linked_start(rs_linked *linked);
bool rs_linked_add_more(rs_linked *linked, const rs_linked_more *more, rs_linked_node *node);

/* Where a value is in the linked trace, for errors; RS_NO_OFFSET when that was never written. */
uint64_t rs_linked_offset(const rs_linked *linked, const uint8_t *at);
/* Whether the schema is one that can be converted; the error says what is wrong. */
rs_status rs_linked_check_schema(const rs_linked *linked, rs_error *err);
/* The parts of "inputs" or "outputs". */
void rs_linked_split(rs_slice object, rs_linked_io *io);

/* The index of a node, or RS_LINKED_NONE. */
uint32_t rs_linked_find(const rs_linked *linked, int64_t id);

/* ---- values ----------------------------------------------------------------------------------------- */

bool rs_slice_is_text(rs_slice s); /* a JSON string */
bool rs_slice_int(rs_slice s, int64_t *out);
bool rs_slice_time(rs_slice s, int64_t *ns); /* microseconds to whole ns */
/* A string's text, without NUL bytes, terminated, valid UTF-8; other values as they are written. "" when
 * absent. NULL when out of memory. */
char *rs_slice_text(rs_slice s, rs_arena *arena);
/* The same and its length, without a terminator where the value is plain text: then it is not copied. */
const char *rs_slice_text_of(rs_slice s, size_t *n, rs_arena *arena);
/* The value as a Python literal, the form in which traces carry tensors; absent: "[]". NULL when out of
 * memory. (convert_python.c) */
char *rs_slice_python(rs_slice s, rs_arena *arena);
/* The same into room for rs_slice_python_room(s) bytes, for values of at most RS_SLICE_MOST; its length, or
 * SIZE_MAX when out of memory. */
size_t rs_slice_put_python(rs_slice s, char *out, rs_arena *scratch);
#define RS_SLICE_MOST (SIZE_MAX / 16)
static inline size_t rs_slice_python_room(rs_slice s)
{
    return 4 * s.n + 16; /* a byte comes out as at most four: "\\x01" */
}

/* Walks the elements of a JSON array that is known to be well formed. */
typedef struct rs_slice_walk {
    const uint8_t *p, *end;
} rs_slice_walk;
rs_slice_walk rs_slice_elements(rs_slice array);
bool rs_slice_next(rs_slice_walk *walk, rs_slice *element);
void rs_slice_to_next(rs_slice_walk *walk); /* to where the next element begins, or the end */
/* Behind a value that is known to be well formed; NULL when it is not whole. */
const uint8_t *rs_slice_pass(const uint8_t *value, const uint8_t *end);
/* The next element of a node's list of attributes: its name and value, bytes NULL where it has none. */
bool rs_slice_next_attribute(rs_slice_walk *walk, rs_slice *name, rs_slice *value);
/* A member of a JSON object that is known to be well formed; absent: bytes NULL. */
rs_slice rs_slice_member(rs_slice object, const char *name);
/* Several at once, up to RS_SLICE_MEMBERS. */
#define RS_SLICE_MEMBERS 4
void rs_slice_members(rs_slice object, const char *const *names, rs_slice *values, size_t n);
/* The value of an attribute in a node's list of attributes; absent: bytes NULL. */
rs_slice rs_slice_attribute(rs_slice attrs, const char *name);
