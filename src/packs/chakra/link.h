/* The parts of linking a host trace with a device trace. Private to src/packs/chakra/link*.c, sync_deps.c and
 * linked_write.c. Nodes are indices into et->nodes, ops and gpus into the arrays below. */
#pragma once

#include "chakra/et.h"
#include "engine/sync.h"
#include "text/writer.h"
#include "rankscope/chakra.h"
#include "trace/trace.h"

#define RS_LINK_NONE UINT32_MAX

/* An operator or annotation of the device trace. */
typedef struct rs_link_op {
    int64_t ts, end;
    int64_t exclusive; /* time in it and in none that started in it */
    uint32_t row, thread;
    uint32_t node; /* linked host node or RS_LINK_NONE */
} rs_link_op;

/* What a host node became. */
typedef struct rs_link_host {
    uint32_t op;                   /* RS_LINK_NONE: not linked */
    uint32_t first_inter, n_inter; /* into inters */
    uint32_t first_gpu, n_gpu;     /* into by_parent */
    uint32_t first_dep, n_dep;     /* into deps */
    uint32_t first_wait, n_wait;   /* into waits; of what leads a thread's chain */
    uint32_t
        leader;  /* node that leads the chain of the thread it ran on, where that is not its root; or NONE */
    uint64_t id; /* in the linked trace */
} rs_link_host;

typedef enum rs_link_fate {
    RS_LINK_KEPT,    /* becomes a node */
    RS_LINK_OUTSIDE, /* lies outside the common time */
    RS_LINK_LOST     /* is within it, but nothing says where it belongs */
} rs_link_fate;

typedef struct rs_link_gpu {
    int64_t ts, end, launch_ts, launch_end;
    uint32_t row, launch; /* launch: row or RS_NO_ROW */
    uint32_t parent;      /* node */
    uint32_t lane;        /* number of its device and stream */
    uint32_t first_dep, n_dep;
    uint8_t fate;
    bool has_device, has_stream;
    bool has_args; /* the trace says more of it: rs_link_put_args */
    int64_t device, stream;
    uint64_t id;
} rs_link_gpu;

/* A node waits for a GPU node. */
typedef struct rs_link_dep {
    uint32_t gpu;     /* that is waited for */
    uint32_t carrier; /* node or gpu that waits */
    uint8_t on_gpu;   /* the carrier is a gpu */
    uint8_t kind;     /* rs_sync_kind */
} rs_link_dep;

/* A thread stood still until a GPU node had ended: a synchronizing call, cut at the end of that node. */
typedef struct rs_link_wait {
    int64_t from, to; /* to may be before from: nothing was waited for */
    uint32_t gpu;
    uint32_t root; /* node that leads the thread's chain */
} rs_link_wait;

/* What the device trace says about a communication kernel. */
#define RS_LINK_ARGS 10
extern const rs_column_id rs_link_args[RS_LINK_ARGS];

typedef struct rs_linker {
    const rs_chakra_link_settings *settings;
    rs_chakra_link_report *report;
    rs_et et;
    struct rs_job *job; /* holds the device trace */
    rs_trace *trace;
    const rs_events *e;
    rs_link_op *ops; /* by thread, then start, longest first, then by place of the node, then row */
    size_t n_ops;
    uint32_t *linked; /* indices into ops: the linked ones in the same order */
    size_t n_linked;
    size_t n_ranks; /* in the device trace */
    bool has_rank;
    bool rank_told;         /* by the device trace */
    int64_t rank;           /* of the job */
    uint64_t n_other_names; /* ops whose id is that of a host node of another name */
    uint32_t *thread_first; /* n_threads + 1 offsets into linked */
    rs_link_host *hosts;    /* by node */
    rs_link_gpu *gpus;      /* by row */
    size_t n_gpus;
    uint32_t *by_parent; /* gpus that are kept, by parent's place, then time, launch, row */
    size_t n_kept;
    rs_link_dep *deps; /* by carrier */
    size_t n_deps;
    uint32_t *leaders; /* by thread: the node that leads its chain: a thread root, or its own first node */
    uint32_t
        *inters; /* nodes of other threads that a node waited for; the one whose thread ended last first */
    size_t n_inters;
    rs_link_wait *waits; /* by root, then time */
    size_t n_waits;
} rs_linker;

/* link_ops.c: the ops of the trace, which host node each is, their exclusive times. RS_ERR_FORMAT with the
 * ratio when too few match. */
rs_status rs_link_ops(rs_linker *x, rs_error *err);
/* link_threads.c: what waited for other threads. */
rs_status rs_link_threads(rs_linker *x, rs_error *err);
/* link_names.c: links where the device trace has no record function ids. The ops are sorted; they must be
 * sorted again afterwards. false when out of memory. */
bool rs_link_by_name(rs_linker *x);
/* A host node's name in the device trace's strings; RS_NO_STRING: not there. false when out of memory. */
bool rs_link_name_of(const rs_linker *x, const rs_host_node *node, uint32_t *name);
/* link_gpus.c: the parent of every GPU event. */
rs_status rs_link_gpus(rs_linker *x, rs_error *err);
/* The root above the ops of a node: roots, by node, keeps what was found and starts as RS_LINK_NONE. */
uint32_t rs_link_root_of(const rs_linker *x, uint32_t *roots, uint32_t node);
/* linked_write.c: numbers for all nodes; then the text. */
void rs_link_number(rs_linker *x);
rs_status rs_link_write(rs_linker *x, const rs_sink *sink, rs_error *err);
/* What both the text and the nodes in memory hold: a member of a host node, absent n 0; the attributes of a
 * node that has no list of them. */
rs_et_span rs_link_member(const rs_host_node *node, const char *name);
void rs_link_put_attrs(rs_writer *w, const rs_host_node *node);
/* Lists of ids and of [from, to, id of what was waited for] as JSON. */
void rs_link_put_inters(const rs_linker *x, rs_writer *w, const rs_link_host *host);
void rs_link_put_waits(const rs_linker *x, rs_writer *w, const rs_link_host *root);
/* What the device trace says about a communication kernel: an object, behind a text; false: nothing. */
bool rs_link_put_args(const rs_linker *x, rs_writer *w, const char *before, uint32_t row);
/* link_nodes.c: the same nodes without the text; takes the host trace's text over. */
rs_status rs_link_nodes(rs_linker *x, rs_chakra_linked **out, rs_error *err);
/* sync_deps.c */
rs_status rs_link_sync(rs_linker *x, rs_error *err);
void rs_link_explain(const rs_linker *x);

/* The first linked op of a thread that starts at t or later: index into linked, or RS_LINK_NONE. */
uint32_t rs_link_first_after(const rs_linker *x, uint32_t thread, int64_t t);
