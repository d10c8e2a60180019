/* memory of snapshots of PyTorch's allocator: what each rank contributes, and the tables that are made of it. */
#pragma once

#include "analysis/analysis.h"
#include "memory/edits.h"
#include "memory/history.h"
#include "memory/purpose.h"
#include "memory/segments.h"
#include "memory/sites.h"

/* The rows of tables, of all devices of a rank. Texts are ids in the partial's; times are ns as the file has them;
 * RS_NO_VALUE and RS_NO_TIME: unknown. */

typedef struct rs_memory_device {
    uint32_t device; /* text */
    int64_t events, span, before;
    int64_t peak[RS_N_SUMS], peak_at[RS_N_SUMS]; /* held, active, reserved */
    int64_t end_active, end_held, end_allocated, end_reserved;
    int64_t device_allocs, device_frees, out_of_memory;
    int64_t need, floor; /* the most that it needed, or asked for in vain: reserved, and active bytes */
    /* what is not known, and what does not fit together */
    int64_t n_before, n_cut, n_freed_twice, n_unplaced, n_without_stack, allocations, overflowed, max_entries;
    int64_t without_stack; /* bytes active at the peak whose allocation is recorded, but not its stack */
    int64_t free, releasable, stuck, rounding, free_runs; /* at the end, of the reserved bytes */
    int64_t steps;                                        /* whole steps that were found */
    bool has_history, expandable;
} rs_memory_device;

typedef struct rs_memory_site {
    uint32_t device, site;
    int64_t bytes, blocks, all; /* at --at; all: of the device */
    int64_t own_peak, allocated, allocations, end;
    int64_t at_peak; /* bytes when the device was fullest */
} rs_memory_site;

typedef struct rs_memory_block {
    uint32_t device, stream, pool, site;
    uint64_t place; /* the address, by which blocks are ordered */
    char address[24];
    int64_t bytes, since, until;
    unsigned pending, purpose, certainty;
} rs_memory_block;

typedef struct rs_memory_purpose {
    uint32_t device;
    unsigned purpose, certainty; /* the worst of its blocks */
    int64_t bytes, blocks, all;
} rs_memory_purpose;

/* An event that changes a sum; event -1: what it begins with. */
typedef struct rs_memory_change {
    uint32_t device;
    unsigned action;
    int64_t event, time, bytes, held, active, reserved;
} rs_memory_change;

typedef struct rs_memory_segment {
    uint32_t device, stream, pool;
    unsigned small, expandable;
    char address[24];
    rs_segment_use use;
    int64_t segments;
} rs_memory_segment;

typedef struct rs_memory_growth {
    uint32_t device, site;
    unsigned source; /* rs_steps_source */
    int64_t steps, steps_kept, kept, blocks, allocated;
    size_t place; /* of the site among the device's */
} rs_memory_growth;

typedef struct rs_memory_failure {
    uint32_t device, site;
    unsigned cause; /* rs_memory_cause */
    int64_t event, time, requested, device_free, held, active, reserved;
    int64_t
        largest_free; /* the largest free block at the end, where nothing happened since; RS_NO_VALUE: unknown */
} rs_memory_failure;

typedef enum rs_memory_cause {
    RS_CAUSE_LIMIT,
    RS_CAUSE_FRAGMENTATION,
    RS_CAUSE_DEMAND,
    RS_N_CAUSES
} rs_memory_cause;

/* A site by line whose blocks keep segments from being returned to the device. */
typedef struct rs_memory_pin {
    uint32_t device, site;
    int64_t stuck; /* stuck bytes of the segments that its blocks are in */
} rs_memory_pin;

/* The peak with an edit; RS_NO_VALUE where the interval is too wide for an answer. */
typedef struct rs_memory_answer {
    uint32_t device, change;
    unsigned edit; /* rs_memory_edit; RS_N_MEMORY_EDITS: all that were asked, together */
    int64_t blocks, removed, peak, new_peak, new_peak_at, low, high, floor, new_floor;
} rs_memory_answer;

/* A block, for --trace. */
typedef struct rs_memory_allocation {
    uint32_t device, line, site; /* texts; site: by --by */
    int64_t number;              /* of the device */
    int64_t time, size;          /* time: RS_NO_TIME where it is not known, which the trace cannot show */
    int64_t from, until;         /* instants; RS_NEVER: it is there at the end */
    uint64_t address;
    unsigned purpose;
    bool at_peak, made_peak; /* active when the device was fullest; what made it so */
    bool shown;              /* active at --at */
} rs_memory_allocation;

/* What a site holds at an instant that is drawn. */
typedef struct rs_memory_layer {
    uint32_t device, site;
    int64_t instant, time, bytes, active, reserved; /* active, reserved: of the device */
} rs_memory_layer;

/* Addresses that are taken from the device at --at. */
typedef struct rs_memory_stretch {
    uint32_t device;
    uint64_t place;
    char address[24];
    int64_t bytes, active, blocks;
} rs_memory_stretch;

/* What one rank's snapshot contributes. */
typedef struct rs_memory_rank {
    rs_strings texts;
    rs_memory_device *devices;
    size_t n_devices, devices_capacity;
    rs_memory_site *sites;
    size_t n_sites, sites_capacity;
    rs_memory_block *blocks;
    size_t n_blocks, blocks_capacity;
    rs_memory_purpose *purposes;
    size_t n_purposes, purposes_capacity;
    rs_memory_change *changes;
    size_t n_changes, changes_capacity;
    rs_memory_segment *segments, *groups;
    size_t n_segments, segments_capacity, n_groups, groups_capacity;
    rs_memory_pin *pins; /* a few of each device, the most stuck bytes first */
    size_t n_pins, pins_capacity;
    rs_memory_growth *growth;
    size_t n_growth, growth_capacity;
    rs_memory_failure *failures;
    size_t n_failures, failures_capacity;
    rs_memory_answer *answers;
    size_t n_answers, answers_capacity;
    rs_memory_allocation *allocations; /* only with --trace: all blocks */
    size_t n_allocations, allocations_capacity;
    rs_memory_layer *layers; /* only with --layers */
    size_t n_layers, layers_capacity;
    rs_memory_stretch *layout; /* only with --layout */
    size_t n_layout, layout_capacity;
} rs_memory_rank;

extern const rs_layout rs_memory_snapshot_layout;
void rs_memory_snapshot_free(rs_memory_rank *rank);

/* The rank's snapshot, by the options of `memory`. */
rs_status rs_memory_snapshot_rank(const rs_run *run, rs_trace *trace, rs_memory_rank **out, rs_error *err);

/* Where these tables begin in the analysis' set, and the first of them. */

enum {
    RS_MEMORY_RANKS,
    RS_MEMORY_SITES,
    RS_MEMORY_PEAK,
    RS_MEMORY_CATEGORIES,
    RS_MEMORY_TIMELINE,
    RS_MEMORY_SEGMENTS,
    RS_MEMORY_FRAGMENTATION,
    RS_MEMORY_LEAKS,
    RS_MEMORY_OOM,
    RS_MEMORY_SPREAD,
    RS_MEMORY_CHANGE,
    RS_MEMORY_FIT,
    RS_MEMORY_WITHOUT,
    RS_MEMORY_MOMENTS,
    RS_MEMORY_MODULES,
    RS_MEMORY_COSTS,
    RS_MEMORY_LAYERS,
    RS_MEMORY_LAYOUT,
    RS_MEMORY_FINDINGS,
    RS_MEMORY_COUNTERS, /* the last of all: what --counters writes */
    RS_N_MEMORY_TABLES
};
extern const rs_table_spec rs_memory_snapshot_tables[RS_N_MEMORY_TABLES];
/* Fills them, which begin at `first` among the result's. A partial's value is an rs_memory_rank; side 1 is --base.
 * Of --trace, which is the last side, it is an rs_memory_clock. */
rs_status rs_memory_snapshot_merge(const rs_run *run, const rs_partial *partials, size_t n, size_t first,
                                   rs_result *result, rs_error *err);

/* ---- rows over all ranks ------------------------------------------------------------------------------- */

/* A site over all devices. */
typedef struct rs_memory_spread {
    const char *site;
    int64_t ranks, min, min_rank, max, max_rank, spread;
    double median;
} rs_memory_spread;

/* A site in the base, and in what is compared with it. */
typedef struct rs_memory_pair {
    const char *device, *site;
    int64_t a, b, a_blocks, b_blocks, change;
} rs_memory_pair;

/* What the snapshots say in one sentence. */
typedef struct rs_memory_finding {
    const char *kind, *finding, *remedy, *device, *site;
    int64_t rank, bytes; /* RS_NO_VALUE: of none, of all */
} rs_memory_finding;
rs_status rs_memory_put_finding(rs_table *table, const rs_memory_finding *row, rs_error *err);

/* Whether a device's work would fit. */
typedef struct rs_memory_fit {
    uint32_t device;
    unsigned fits; /* yes, without fragmentation, no */
    int64_t room, need, floor, headroom;
} rs_memory_fit;

rs_status rs_memory_put_spread(rs_table *table, const rs_memory_spread *row, rs_error *err);
rs_status rs_memory_put_pair(rs_table *table, int64_t rank, const rs_memory_pair *row, rs_error *err);
rs_status rs_memory_put_fit(rs_table *table, int64_t rank, const rs_memory_fit *row, rs_error *err);

/* Where in the trace of --trace a device was fullest; texts may be NULL. */
typedef struct rs_memory_moment {
    const char *device, *pass, *module, *op;
    int64_t time, peak, step, bytes, found, both, shift, error;
} rs_memory_moment;

/* What a module allocated in a pass that is active when the device is fullest. */
typedef struct rs_memory_module {
    const char *device, *module, *pass;
    int64_t bytes, blocks, all, activations, forward;
} rs_memory_module;
rs_status rs_memory_put_moment(rs_table *table, int64_t rank, const rs_memory_moment *row, rs_error *err);
rs_status rs_memory_put_module(rs_table *table, int64_t rank, const rs_memory_module *row, rs_error *err);

/* What computing a line's activations again costs, by --trace. */
typedef struct rs_memory_cost {
    const char *device, *site;
    int64_t bytes, blocks, all; /* activations when the device is fullest; all: that is active then */
    int64_t priced, calls;      /* bytes whose operator the trace shows; how many operators */
    int64_t cost, most;         /* GPU time */
} rs_memory_cost;
rs_status rs_memory_put_cost(rs_table *table, int64_t rank, const rs_memory_cost *row, rs_error *err);

/* Sorts the sites of a device: the most bytes first, then the largest peak of its own, then by name. */
void rs_memory_sort_sites(rs_memory_site *sites, size_t n, const rs_strings *texts);

/* ---- between the files of these functions --------------------------------------------------------------- */

/* What one rank is asked. */
typedef struct rs_memory_question {
    rs_site_by by;
    size_t top, layers;                    /* layers: 0, not asked */
    bool series, counters, traced, layout; /* traced: --trace */
    enum { RS_AT_PEAK, RS_AT_END, RS_AT_TIME } at;
    int64_t at_ns;                                    /* from the job's first event */
    int64_t room, other;                              /* --fit; -1: not asked */
    unsigned edits;                                   /* those that are asked: bits of rs_memory_edit */
    struct rs_pattern *patterns[RS_MEMORY_EARLY + 1]; /* or NULL */
    rs_memory_change_of edited;                       /* but for its stacks */
} rs_memory_question;

/* Parses the options of `memory` on snapshots; RS_ERR_USAGE names the one that is wrong. Release with
 * rs_memory_question_clear, also after a failure. */
rs_status rs_memory_question_read(const rs_options *options, rs_memory_question *out, rs_error *err);
void rs_memory_question_clear(rs_memory_question *question);

/* The one place that makes sentences of snapshots: fills the findings, the verdict first, and notes and problems of the
 * result. The other tables are full. */
rs_status rs_memory_add_findings(const rs_run *run, const rs_memory_question *q, const rs_partial *partials,
                                 size_t n, double median, rs_table **tables, rs_result *result,
                                 rs_error *err);
/* All that one rank contributes to tables of ranks; its sites and what grows are sorted, and cut at q->top of a
 * device. */
rs_status rs_memory_put_rank(const rs_memory_question *q, rs_table **tables, int64_t rank,
                             const rs_memory_rank *p, double median, rs_error *err);

/* One device of a rank, while its rows are made. */
typedef struct rs_memory_view {
    const rs_memory_question *question;
    const rs_snapshot *snapshot;
    rs_history history;
    rs_purposes purposes;
    rs_segment_finder segments;
    rs_stack_names *lines; /* names of stacks by line */
    rs_memory_rank *rank;
    uint32_t device;        /* text */
    uint32_t *site_of_life; /* by --by: index into rank->sites */
    size_t first_site;      /* the device's first row */
    rs_instants *spans;     /* what is selected */
    size_t n_spans;
    rs_peaks peaks;
    uint32_t instant; /* --at; RS_NEVER: the end */
} rs_memory_view;

static inline bool rs_view_is_active(const rs_memory_view *v, const rs_life *life)
{
    return v->instant == RS_NEVER ? life->until == RS_NEVER : rs_life_is_active(life, v->instant);
}

/* The parts of a rank's contribution, one device each. */
rs_status rs_memory_add_sites(rs_memory_view *v, rs_stack_names *names, rs_error *err);
rs_status rs_memory_add_blocks(rs_memory_view *v, rs_error *err); /* peak and categories */
rs_status rs_memory_add_changes(rs_memory_view *v, rs_error *err);
rs_status rs_memory_add_layers(rs_memory_view *v, rs_error *err); /* after the sites */
rs_status rs_memory_add_layout(rs_memory_view *v, rs_error *err);
rs_status rs_memory_add_segments(rs_memory_view *v, rs_memory_device *device, rs_error *err);
rs_status rs_memory_add_growth(rs_memory_view *v, rs_memory_device *device, rs_error *err);
rs_status rs_memory_add_failures(rs_memory_view *v, rs_memory_device *device, rs_error *err);
rs_status rs_memory_add_answers(rs_memory_view *v, const rs_memory_device *device, const rs_options *options,
                                rs_error *err);
rs_status rs_memory_add_allocations(rs_memory_view *v, rs_error *err); /* for --trace */
rs_status rs_memory_read_edits(const rs_options *options, rs_memory_question *q, rs_error *err);
/* An unsigned number, "a,b" and 0x... as texts of the rank; RS_NO_STRING: no memory. */
uint32_t rs_memory_number_text(rs_memory_rank *rank, uint64_t number);
uint32_t rs_memory_pool_text(rs_memory_rank *rank, const uint64_t pool[2]);
