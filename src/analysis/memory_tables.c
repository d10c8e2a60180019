/* memory of snapshots: the tables, and what of their rows travels. */
#include <math.h>

#include "analysis/memory_snapshot.h"
#include "base/interval.h"
#include "memory/notes.h"

#define RANK_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(TEXT(rs_memory_device, device, rs_memory_rank, texts.n), "device", TEXT, NONE, "cuda:0, ...", NULL) \
    CELL(OF(rs_memory_device, events), "events", INT, COUNT, "events of the allocator in the file", NULL)    \
    CELL(OF(rs_memory_device, span), "span_us", TIME, US, "from the first to the last of them", "span")      \
    CELL(OF(rs_memory_device, before), "before_bytes", INT, BYTES,                                           \
         "active before the first event; unknown without events", "before")                                  \
    CELL(OF(rs_memory_device, peak[RS_ACTIVE]), "peak_active_bytes", INT, BYTES,                             \
         "the most that was in use at once, asked for: blocks that nothing else could use", "peak")          \
    CELL(OF(rs_memory_device, peak_at[RS_ACTIVE]), "peak_active_at_us", MOMENT, US, "when that was", "at")   \
    CELL(OF(rs_memory_device, peak[RS_HELD]), "peak_held_bytes", INT, BYTES,                                 \
         "the same without blocks that were freed while another stream still used them", "peak held")        \
    CELL(OF(rs_memory_device, peak_at[RS_HELD]), "peak_held_at_us", MOMENT, US, "when that was", "held at")  \
    CELL(OF(rs_memory_device, peak[RS_RESERVED]), "peak_reserved_bytes", INT, BYTES,                         \
         "the most that was taken from the device", "peak reserved")                                         \
    CELL(OF(rs_memory_device, peak_at[RS_RESERVED]), "peak_reserved_at_us", MOMENT, US, "when that was",     \
         "reserved at")                                                                                      \
    CELL(OF(rs_memory_device, end_active), "end_active_bytes", INT, BYTES, "in use at the end, asked for",   \
         "end")                                                                                              \
    CELL(OF(rs_memory_device, end_held), "end_held_bytes", INT, BYTES,                                       \
         "of these, not yet asked to be freed", "end held")                                                  \
    CELL(OF(rs_memory_device, end_allocated), "end_allocated_bytes", INT, BYTES,                             \
         "rounded: what torch.cuda.memory_allocated() says at the end", "end allocated")                     \
    CELL(OF(rs_memory_device, end_reserved), "end_reserved_bytes", INT, BYTES,                               \
         "taken from the device at the end", "end reserved")                                                 \
    CELL(OF(rs_memory_device, device_allocs), "device_allocs", INT, COUNT,                                   \
         "segments taken from the device, or mapped", "segments taken")                                      \
    CELL(OF(rs_memory_device, device_frees), "device_frees", INT, COUNT,                                     \
         "segments returned to the device, or unmapped", "returned")                                         \
    CELL(OF(rs_memory_device, out_of_memory), "out_of_memory", INT, COUNT, "allocations that failed",        \
         "failed")                                                                                           \
    CELL(SET, "above_median_pct", REAL, PERCENT, "peak_active_bytes against the median of all rows",         \
         "above median %")
RS_RECORD(rank, RANK_ROW);

#define SITE_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(TEXT(rs_memory_site, device, rs_memory_rank, texts.n), "device", TEXT, NONE, "cuda:0, ...", NULL)   \
    CELL(TEXT(rs_memory_site, site, rs_memory_rank, texts.n), "site", TEXT, NONE,                            \
         "who allocated it, as --by says; unknown: no stack, or from before the recording", NULL)            \
    CELL(OF(rs_memory_site, bytes), "bytes", INT, BYTES, "active at the time of --at", NULL)                 \
    CELL(OF(rs_memory_site, blocks), "blocks", INT, COUNT, "how many blocks", NULL)                          \
    CELL(SHARE(rs_memory_site, bytes, all), "share_pct", REAL, PERCENT, "of all that is active then",        \
         "share %")                                                                                          \
    CELL(OF(rs_memory_site, own_peak), "own_peak_bytes", INT, BYTES, "the most it held at once", "own peak") \
    CELL(OF(rs_memory_site, allocated), "allocated_bytes", INT, BYTES, "sum of its allocations",             \
         "allocated")                                                                                        \
    CELL(OF(rs_memory_site, allocations), "allocations", INT, COUNT, "how many", NULL)                       \
    CELL(OF(rs_memory_site, end), "end_bytes", INT, BYTES, "active at the end", "end")
RS_RECORD(site, SITE_ROW);

static const char *const states[] = {"held", "pending"};

#define BLOCK_ROW(CELL)                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(TEXT(rs_memory_block, device, rs_memory_rank, texts.n), "device", TEXT, NONE, "cuda:0, ...", NULL)  \
    CELL(CHARS(rs_memory_block, address), "address", TEXT, NONE, "where the block begins", NULL)             \
    CELL(OF(rs_memory_block, bytes), "bytes", INT, BYTES, "asked for", NULL)                                 \
    CELL(WORD(rs_memory_block, pending, states), "state", TEXT, NONE,                                        \
         "held, or pending: freed while another stream still used it", NULL)                                 \
    CELL(OF(rs_memory_block, since), "since_us", MOMENT, US,                                                 \
         "when it was allocated; unknown: before the recording", "since")                                    \
    CELL(OF(rs_memory_block, until), "until_us", MOMENT, US,                                                 \
         "when it could be used again; unknown: it is there at the end", "until")                            \
    CELL(TEXT(rs_memory_block, stream, rs_memory_rank, texts.n), "stream", TEXT, NONE,                       \
         "handle of the stream that it was allocated on", NULL)                                              \
    CELL(TEXT(rs_memory_block, pool, rs_memory_rank, texts.n), "pool", TEXT, NONE,                           \
         "pool of its segment at the end (0,0: the default one; others: CUDA graphs, MemPool)", NULL)        \
    CELL(TEXT(rs_memory_block, site, rs_memory_rank, texts.n), "site", TEXT, NONE, "who allocated it", NULL) \
    CELL(WORD(rs_memory_block, purpose, rs_purpose_names), "category", TEXT, NONE,                           \
         "what it is for, an estimate", NULL)                                                                \
    CELL(WORD(rs_memory_block, certainty, rs_certainty_names), "doubt", TEXT, NONE,                          \
         "how certain the category is: sure, likely or guess", "certainty")
RS_RECORD(block, BLOCK_ROW);

#define PURPOSE_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(TEXT(rs_memory_purpose, device, rs_memory_rank, texts.n), "device", TEXT, NONE, "cuda:0, ...",      \
         NULL)                                                                                               \
    CELL(WORD(rs_memory_purpose, purpose, rs_purpose_names), "category", TEXT, NONE,                         \
         "what blocks are for, estimated from who allocated and freed them", NULL)                           \
    CELL(OF(rs_memory_purpose, bytes), "bytes", INT, BYTES, "active at the time of --at", NULL)              \
    CELL(SHARE(rs_memory_purpose, bytes, all), "share_pct", REAL, PERCENT, "of all that is active then",     \
         "share %")                                                                                          \
    CELL(WORD(rs_memory_purpose, certainty, rs_certainty_names), "doubt", TEXT, NONE,                        \
         "certainty of the least certain block: sure, likely or guess", "certainty")                         \
    CELL(OF(rs_memory_purpose, blocks), "blocks", INT, COUNT, "how many blocks", NULL)
RS_RECORD(purpose, PURPOSE_ROW);

#define CHANGE_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(TEXT(rs_memory_change, device, rs_memory_rank, texts.n), "device", TEXT, NONE, "cuda:0, ...", NULL) \
    CELL(OF(rs_memory_change, event), "event", INT, ID, "its place in the device's list", NULL)              \
    CELL(OF(rs_memory_change, time), "time_us", MOMENT, US, "when it was", "time")                           \
    CELL(WORD(rs_memory_change, action, rs_snapshot_action_names), "action", TEXT, NONE,                     \
         "what the allocator did", NULL)                                                                     \
    CELL(OF(rs_memory_change, bytes), "bytes", INT, BYTES, "what it adds to a sum, negative where it ends",  \
         NULL)                                                                                               \
    CELL(OF(rs_memory_change, held), "held_bytes", INT, BYTES, "held from then on", "held")                  \
    CELL(OF(rs_memory_change, active), "active_bytes", INT, BYTES, "active from then on", "active")          \
    CELL(OF(rs_memory_change, reserved), "reserved_bytes", INT, BYTES, "reserved from then on", "reserved")
RS_RECORD(change, CHANGE_ROW);

#define LAYER_ROW(CELL)                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(TEXT(rs_memory_layer, device, rs_memory_rank, texts.n), "device", TEXT, NONE, "cuda:0, ...", NULL)  \
    CELL(OF(rs_memory_layer, instant), "instant", INT, ID, "how many of the device's events are before it",  \
         NULL)                                                                                               \
    CELL(OF(rs_memory_layer, time), "time_us", MOMENT, US, "when it was", "time")                            \
    CELL(TEXT(rs_memory_layer, site, rs_memory_rank, texts.n), "site", TEXT, NONE,                           \
         "who allocated it, as --by says", NULL)                                                             \
    CELL(OF(rs_memory_layer, bytes), "bytes", INT, BYTES, "what the site has active then", NULL)             \
    CELL(OF(rs_memory_layer, active), "active_bytes", INT, BYTES, "active then, of all sites", "active")     \
    CELL(OF(rs_memory_layer, reserved), "reserved_bytes", INT, BYTES, "taken from the device then",          \
         "reserved")
RS_RECORD(layer, LAYER_ROW);

#define STRETCH_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(TEXT(rs_memory_stretch, device, rs_memory_rank, texts.n), "device", TEXT, NONE, "cuda:0, ...",      \
         NULL)                                                                                               \
    CELL(CHARS(rs_memory_stretch, address), "address", TEXT, NONE, "where it begins", NULL)                  \
    CELL(OF(rs_memory_stretch, bytes), "bytes", INT, BYTES, "how long it is", NULL)                          \
    CELL(OF(rs_memory_stretch, active), "active_bytes", INT, BYTES, "active in it then, asked for",          \
         "active")                                                                                           \
    CELL(OF(rs_memory_stretch, blocks), "blocks", INT, COUNT, "blocks in use in it then", NULL)
RS_RECORD(stretch, STRETCH_ROW);

#define COUNTER_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(TEXT(rs_memory_change, device, rs_memory_rank, texts.n), "device", TEXT, NONE, "cuda:0, ...", NULL) \
    CELL(OF(rs_memory_change, time), "time_us", MOMENT, US, "from when on", "time")                          \
    CELL(OF(rs_memory_change, held), "held_bytes", INT, BYTES, "held from then on", "held")                  \
    CELL(OF(rs_memory_change, active), "active_bytes", INT, BYTES, "active from then on", "active")          \
    CELL(OF(rs_memory_change, reserved), "reserved_bytes", INT, BYTES, "reserved from then on", "reserved")
RS_RECORD(counter, COUNTER_ROW);

static const char *const types[] = {"large", "small"};
static const char *const no_yes[] = {"no", "yes"};

#define SEGMENT_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(TEXT(rs_memory_segment, device, rs_memory_rank, texts.n), "device", TEXT, NONE, "cuda:0, ...",      \
         NULL)                                                                                               \
    CELL(CHARS(rs_memory_segment, address), "address", TEXT, NONE, "where the segment begins", NULL)         \
    CELL(WORD(rs_memory_segment, small, types), "type", TEXT, NONE,                                          \
         "small: for blocks of at most 1 MiB; large: for the others", NULL)                                  \
    CELL(TEXT(rs_memory_segment, stream, rs_memory_rank, texts.n), "stream", TEXT, NONE,                     \
         "handle of the stream that it serves", NULL)                                                        \
    CELL(TEXT(rs_memory_segment, pool, rs_memory_rank, texts.n), "pool", TEXT, NONE, "0,0: the default one", \
         NULL)                                                                                               \
    CELL(WORD(rs_memory_segment, expandable, no_yes), "expandable", TEXT, NONE, "yes or no", NULL)           \
    CELL(OF(rs_memory_segment, use.reserved), "reserved_bytes", INT, BYTES, "taken from the device",         \
         "reserved")                                                                                         \
    CELL(OF(rs_memory_segment, use.active), "active_bytes", INT, BYTES, "rounded bytes in use", "active")    \
    CELL(OF(rs_memory_segment, use.allocated), "allocated_bytes", INT, BYTES,                                \
         "of these, not pending: freed while another stream still used them", "allocated")                   \
    CELL(OF(rs_memory_segment, use.requested), "requested_bytes", INT, BYTES,                                \
         "asked for, of the bytes in use", "requested")                                                      \
    CELL(OF(rs_memory_segment, use.free), "free_bytes", INT, BYTES, "not in use", "free")                    \
    CELL(OF(rs_memory_segment, use.releasable), "releasable_bytes", INT, BYTES,                              \
         "of these, what empty_cache can return to the device", "releasable")                                \
    CELL(OF(rs_memory_segment, use.stuck), "stuck_bytes", INT, BYTES, "of these, what it cannot return",     \
         "stuck")                                                                                            \
    CELL(OF(rs_memory_segment, use.largest_free), "largest_free_bytes", INT, BYTES,                          \
         "the largest free run: the largest allocation that fits", "largest free")                           \
    CELL(OF(rs_memory_segment, use.free_runs), "free_runs", INT, COUNT, "pieces that the free bytes are in", \
         NULL)                                                                                               \
    CELL(OF(rs_memory_segment, use.blocks), "blocks", INT, COUNT, "blocks in use", NULL)
RS_RECORD(segment, SEGMENT_ROW);

#define GROUP_ROW(CELL)                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(TEXT(rs_memory_segment, device, rs_memory_rank, texts.n), "device", TEXT, NONE, "cuda:0, ...",      \
         NULL)                                                                                               \
    CELL(TEXT(rs_memory_segment, pool, rs_memory_rank, texts.n), "pool", TEXT, NONE, "0,0: the default one", \
         NULL)                                                                                               \
    CELL(TEXT(rs_memory_segment, stream, rs_memory_rank, texts.n), "stream", TEXT, NONE,                     \
         "handle of the stream that the segments serve", NULL)                                               \
    CELL(WORD(rs_memory_segment, small, types), "type", TEXT, NONE,                                          \
         "small: for blocks of at most 1 MiB; large: for the others", NULL)                                  \
    CELL(OF(rs_memory_segment, segments), "segments", INT, COUNT, "how many segments", NULL)                 \
    CELL(OF(rs_memory_segment, use.reserved), "reserved_bytes", INT, BYTES, "taken from the device",         \
         "reserved")                                                                                         \
    CELL(OF(rs_memory_segment, use.active), "active_bytes", INT, BYTES, "rounded bytes in use", "active")    \
    CELL(OF(rs_memory_segment, use.requested), "requested_bytes", INT, BYTES,                                \
         "asked for, of the bytes in use", "requested")                                                      \
    CELL(OF(rs_memory_segment, use.free), "free_bytes", INT, BYTES, "not in use", "free")                    \
    CELL(OF(rs_memory_segment, use.releasable), "releasable_bytes", INT, BYTES,                              \
         "of these, what empty_cache can return to the device", "releasable")                                \
    CELL(OF(rs_memory_segment, use.stuck), "stuck_bytes", INT, BYTES,                                        \
         "of these, what it cannot return: external fragmentation", "stuck")                                 \
    CELL(OF(rs_memory_segment, use.free_runs), "free_runs", INT, COUNT, "pieces that the free bytes are in", \
         NULL)                                                                                               \
    CELL(SET, "rounding_bytes", INT, BYTES, "active without requested bytes: internal fragmentation",        \
         "rounding")                                                                                         \
    CELL(OF(rs_memory_segment, use.largest_free), "largest_free_bytes", INT, BYTES, "the largest free run",  \
         "largest free")                                                                                     \
    CELL(SHARE(rs_memory_segment, use.stuck, use.reserved), "stuck_pct", REAL, PERCENT,                      \
         "stuck_bytes of reserved_bytes", "stuck %")
RS_RECORD(group, GROUP_ROW);

#define GROWTH_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(TEXT(rs_memory_growth, device, rs_memory_rank, texts.n), "device", TEXT, NONE, "cuda:0, ...", NULL) \
    CELL(TEXT(rs_memory_growth, site, rs_memory_rank, texts.n), "site", TEXT, NONE,                          \
         "who allocates in most steps what is there at the end", NULL)                                       \
    CELL(WORD(rs_memory_growth, source, rs_steps_source_names), "told_by", TEXT, NONE,                       \
         "what steps are detected from: step (annotations), cycle (troughs of the active bytes)",            \
         "steps by")                                                                                         \
    CELL(OF(rs_memory_growth, steps), "steps", INT, COUNT, "steps looked at, the first and last left out",   \
         NULL)                                                                                               \
    CELL(OF(rs_memory_growth, steps_kept), "steps_kept", INT, COUNT, "of these, in how many it kept some",   \
         NULL)                                                                                               \
    CELL(OF(rs_memory_growth, kept), "kept_bytes", INT, BYTES, "allocated in these, there at the end",       \
         "kept")                                                                                             \
    CELL(OF(rs_memory_growth, blocks), "kept_blocks", INT, COUNT, "how many blocks", NULL)                   \
    CELL(SHARE(rs_memory_growth, kept, allocated), "kept_pct", REAL, PERCENT,                                \
         "of what it allocated in these steps", "kept %")                                                    \
    CELL(SET, "bytes_per_step", REAL, BYTES, "kept_bytes over steps", "per step")
RS_RECORD(growth, GROWTH_ROW);

static const char *const causes[RS_N_CAUSES] = {"limit", "fragmentation", "demand"};

#define FAILURE_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(TEXT(rs_memory_failure, device, rs_memory_rank, texts.n), "device", TEXT, NONE, "cuda:0, ...",      \
         NULL)                                                                                               \
    CELL(OF(rs_memory_failure, event), "event", INT, ID, "its place in the device's list", NULL)             \
    CELL(OF(rs_memory_failure, time), "time_us", MOMENT, US, "when it failed", "time")                       \
    CELL(OF(rs_memory_failure, requested), "requested_bytes", INT, BYTES, "asked for, rounded", "requested") \
    CELL(OF(rs_memory_failure, device_free), "device_free_bytes", INT, BYTES,                                \
         "free on the device, outside of PyTorch's segments", "device free")                                 \
    CELL(OF(rs_memory_failure, held), "held_bytes", INT, BYTES, "held then", "held")                         \
    CELL(OF(rs_memory_failure, active), "active_bytes", INT, BYTES, "active then", "active")                 \
    CELL(OF(rs_memory_failure, reserved), "reserved_bytes", INT, BYTES, "reserved then", "reserved")         \
    CELL(SET, "room_bytes", INT, BYTES, "reserved and free on the device: all that PyTorch could have",      \
         "room")                                                                                             \
    CELL(SET, "slack_bytes", INT, BYTES, "reserved, and not active: fragments and rounding", "slack")        \
    CELL(SET, "short_bytes", INT, BYTES, "requested beyond what was free on the device", "short")            \
    CELL(WORD(rs_memory_failure, cause, causes), "cause", TEXT, NONE,                                        \
         "limit: the device had room; fragmentation: it and the slack had; demand: too much was in use",     \
         NULL)                                                                                               \
    CELL(TEXT(rs_memory_failure, site, rs_memory_rank, texts.n), "site", TEXT, NONE, "who asked", NULL)      \
    CELL(OF(rs_memory_failure, largest_free), "largest_free_bytes", INT, BYTES,                              \
         "the largest free run of the segments; unknown where allocations followed", "largest free")
RS_RECORD(failure, FAILURE_ROW);

#define SPREAD_ROW(CELL)                                                                                     \
    CELL(OF(rs_memory_spread, site), "site", TEXT, NONE, "who allocated it, as --by says", NULL)             \
    CELL(OF(rs_memory_spread, ranks), "ranks", INT, COUNT, "ranks that hold some", NULL)                     \
    CELL(OF(rs_memory_spread, min), "min_bytes", INT, BYTES, "the least of a device at its own peak", "min") \
    CELL(OF(rs_memory_spread, min_rank), "min_rank", INT, ID, "whose", NULL)                                 \
    CELL(OF(rs_memory_spread, median), "median_bytes", REAL, BYTES, "median of all devices", "median")       \
    CELL(OF(rs_memory_spread, max), "max_bytes", INT, BYTES, "the most", "max")                              \
    CELL(OF(rs_memory_spread, max_rank), "max_rank", INT, ID, "whose", NULL)                                 \
    CELL(OF(rs_memory_spread, spread), "spread_bytes", INT, BYTES, "max_bytes without min_bytes", "spread")
RS_RECORD(spread, SPREAD_ROW);

#define BASE_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(OF(rs_memory_pair, device), "device", TEXT, NONE, "cuda:0, ...", NULL)                              \
    CELL(OF(rs_memory_pair, site), "site", TEXT, NONE, "who allocated it, as --by says", NULL)               \
    CELL(OF(rs_memory_pair, a), "a_bytes", INT, BYTES, "active at the time of --at in the base", "base")     \
    CELL(OF(rs_memory_pair, b), "b_bytes", INT, BYTES,                                                       \
         "active at the time of --at in what is compared with it", "now")                                    \
    CELL(OF(rs_memory_pair, change), "change_bytes", INT, BYTES, "b_bytes without a_bytes", "change")        \
    CELL(OF(rs_memory_pair, a_blocks), "a_blocks", INT, COUNT, "blocks in the base", "base blocks")          \
    CELL(OF(rs_memory_pair, b_blocks), "b_blocks", INT, COUNT, "blocks in the other", "blocks")
RS_RECORD(base, BASE_ROW);

#define MOMENT_ROW(CELL)                                                                                         \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                         \
    CELL(OF(rs_memory_moment, device), "device", TEXT, NONE, "cuda:0, ...", NULL)                                \
    CELL(OF(rs_memory_moment, time), "peak_active_at_us", MOMENT, US, "when it was fullest", "at")               \
    CELL(OF(rs_memory_moment, peak), "peak_active_bytes", INT, BYTES, "the most that was in use at once",        \
         "peak")                                                                                                 \
    CELL(                                                                                                        \
        ID(rs_memory_moment, step), "step", INT, ID,                                                             \
        "step of the trace in which that was; this and what follows: unknown where the trace does not show the " \
        "allocation that made the peak",                                                                         \
        NULL)                                                                                                    \
    CELL(MAYBE(rs_memory_moment, pass), "phase", TEXT, NONE, "forward, backward, ...: as in modules", NULL)      \
    CELL(MAYBE(rs_memory_moment, module), "module", TEXT, NONE, "nn.Module that allocated; unknown: none",       \
         NULL)                                                                                                   \
    CELL(MAYBE(rs_memory_moment, op), "operator", TEXT, NONE,                                                    \
         "innermost operator or annotation around it, but "                                                      \
         "for aten::empty and its like, which allocate for their caller",                                        \
         NULL)                                                                                                   \
    CELL(OF(rs_memory_moment, bytes), "bytes", INT, BYTES, "asked for by that allocation", NULL)                 \
    CELL(OF(rs_memory_moment, both), "allocations", INT, COUNT,                                                  \
         "the rank's allocations at times that snapshot and trace cover", NULL)                                  \
    CELL(SHARE(rs_memory_moment, found, both), "matched_pct", REAL, PERCENT,                                     \
         "of these, found in the trace by address, size and time", "matched %")                                  \
    CELL(OF(rs_memory_moment, shift), "shift_us", TIME, US,                                                      \
         "how far the trace's clock is ahead of the snapshot's: the median", "shift")                            \
    CELL(OF(rs_memory_moment, error), "error_us", TIME, US, "95 % of the matches are so close to it", "error")
RS_RECORD(moment, MOMENT_ROW);

#define MODULE_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(OF(rs_memory_module, device), "device", TEXT, NONE, "cuda:0, ...", NULL)                            \
    CELL(MAYBE(rs_memory_module, module), "module", TEXT, NONE,                                              \
         "innermost nn.Module around the allocation, of the backward pass that of its forward operator; "    \
         "unknown: none",                                                                                    \
         NULL)                                                                                               \
    CELL(MAYBE(rs_memory_module, pass), "phase", TEXT, NONE,                                                 \
         "in which it was allocated; unknown: the trace does not show the allocation", NULL)                 \
    CELL(OF(rs_memory_module, bytes), "bytes", INT, BYTES, "active when the device was fullest", NULL)       \
    CELL(OF(rs_memory_module, blocks), "blocks", INT, COUNT, "how many blocks", NULL)                        \
    CELL(SHARE(rs_memory_module, bytes, all), "share_pct", REAL, PERCENT, "of all that is active then",      \
         "share %")                                                                                          \
    CELL(OF(rs_memory_module, activations), "activation_bytes", INT, BYTES,                                  \
         "of these, activations, an estimate: the most that computing them again saves", "activations")      \
    CELL(OF(rs_memory_module, forward), "forward_us", TIME, US,                                              \
         "GPU time of the module's own forward work in the step of the peak: what computing it again costs", \
         "forward")
RS_RECORD(module, MODULE_ROW);

#define COST_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(OF(rs_memory_cost, device), "device", TEXT, NONE, "cuda:0, ...", NULL)                              \
    CELL(OF(rs_memory_cost, site), "site", TEXT, NONE, "source line that allocated, as --by line", NULL)     \
    CELL(OF(rs_memory_cost, bytes), "activation_bytes", INT, BYTES,                                          \
         "its activations when the device was fullest, an estimate: the most that computing them again "     \
         "saves",                                                                                            \
         "activations")                                                                                      \
    CELL(SHARE(rs_memory_cost, bytes, all), "share_pct", REAL, PERCENT, "of all that is active then",        \
         "share %")                                                                                          \
    CELL(OF(rs_memory_cost, blocks), "blocks", INT, COUNT, "how many blocks", NULL)                          \
    CELL(OF(rs_memory_cost, calls), "operators", INT, COUNT,                                                 \
         "outermost operators of its module that allocated them", NULL)                                      \
    CELL(SHARE(rs_memory_cost, priced, bytes), "priced_pct", REAL, PERCENT,                                  \
         "of activation_bytes, those whose operator the trace shows", "priced %")                            \
    CELL(OF(rs_memory_cost, cost), "least_cost_us", TIME, US,                                                \
         "GPU time of these operators: what computing them alone again costs", "cost from")                  \
    CELL(OF(rs_memory_cost, most), "most_cost_us", TIME, US,                                                 \
         "GPU time of all own forward work of their modules in that step: what computing the modules "       \
         "again costs; unknown: part of it has no module",                                                   \
         "cost to")
RS_RECORD(cost, COST_ROW);

static const char *const fits[] = {"yes", "without fragmentation", "no"};

#define FINDING_ROW(CELL)                                                                                                          \
    CELL(                                                                                                                          \
        OF(rs_memory_finding, kind), "kind", TEXT, NONE,                                                                           \
        "peak, failure, fragmentation, growth, outlier, not_known; moment, recompute, cost, fit, without, change: what was asked", \
        NULL)                                                                                                                      \
    CELL(OF(rs_memory_finding, rank), "rank", INT, ID, "of which rank; unknown: of several", NULL)                                 \
    CELL(MAYBE(rs_memory_finding, device), "device", TEXT, NONE, "of which device", NULL)                                          \
    CELL(MAYBE(rs_memory_finding, site), "site", TEXT, NONE, "the site that it names", NULL)                                       \
    CELL(OF(rs_memory_finding, bytes), "bytes", INT, BYTES, "how much it is about", NULL)                                          \
    CELL(OF(rs_memory_finding, finding), "finding", TEXT, NONE, "the sentence; the first is the verdict",                          \
         NULL)                                                                                                                     \
    CELL(MAYBE(rs_memory_finding, remedy), "remedy", TEXT, NONE, "what to try", NULL)
RS_RECORD(finding, FINDING_ROW);

#define FIT_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(TEXT(rs_memory_fit, device, rs_memory_rank, texts.n), "device", TEXT, NONE, "cuda:0, ...", NULL)    \
    CELL(OF(rs_memory_fit, room), "room_bytes", INT, BYTES, "--fit without --other", "room")                 \
    CELL(OF(rs_memory_fit, need), "need_bytes", INT, BYTES,                                                  \
         "the most that was reserved, or would have been had no allocation failed", "need")                  \
    CELL(OF(rs_memory_fit, floor), "floor_bytes", INT, BYTES,                                                \
         "the same of active bytes: without fragmentation", "floor")                                         \
    CELL(OF(rs_memory_fit, headroom), "headroom_bytes", INT, BYTES, "room_bytes without need_bytes",         \
         "headroom")                                                                                         \
    CELL(WORD(rs_memory_fit, fits, fits), "fits", TEXT, NONE, "yes, without fragmentation, or no", NULL)
RS_RECORD(fit, FIT_ROW);

#define WITHOUT_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(TEXT(rs_memory_answer, device, rs_memory_rank, texts.n), "device", TEXT, NONE, "cuda:0, ...", NULL) \
    CELL(OF(rs_memory_answer, blocks), "blocks", INT, COUNT, "blocks that would be different", NULL)         \
    CELL(OF(rs_memory_answer, removed), "removed_at_peak_bytes", INT, BYTES,                                 \
         "what they would not hold when the device was fullest", "removed at peak")                          \
    CELL(OF(rs_memory_answer, peak), "peak_active_bytes", INT, BYTES, "the peak as recorded", "peak")        \
    CELL(OF(rs_memory_answer, new_peak), "new_peak_active_bytes", INT, BYTES,                                \
         "the peak then; unknown where its interval is too wide", "new peak")                                \
    CELL(OF(rs_memory_answer, new_peak_at), "new_peak_at_us", MOMENT, US, "when that would be", "at")        \
    CELL(SET, "saved_bytes", INT, BYTES, "peak_active_bytes without new_peak_active_bytes", "saved")         \
    CELL(OF(rs_memory_answer, low), "low_bytes", INT, BYTES, "the least that the new peak may be", "from")   \
    CELL(OF(rs_memory_answer, high), "high_bytes", INT, BYTES, "the most that it may be", "to")              \
    CELL(OF(rs_memory_answer, floor), "floor_bytes", INT, BYTES,                                             \
         "the peak as recorded, or what was active when an allocation failed and what that asked for",       \
         "needed")                                                                                           \
    CELL(OF(rs_memory_answer, new_floor), "new_floor_bytes", INT, BYTES, "the same then, at most",           \
         "needed then")                                                                                      \
    CELL(TEXT(rs_memory_answer, change, rs_memory_rank, texts.n), "change", TEXT, NONE,                      \
         "the option; together: all of them at once", NULL)                                                  \
    CELL(WORD(rs_memory_answer, edit, rs_memory_edit_assumptions), "assumes", TEXT, NONE,                    \
         "what it rests on", NULL)
RS_RECORD(without, WITHOUT_ROW);

const rs_table_spec rs_memory_snapshot_tables[RS_N_MEMORY_TABLES] = {
    [RS_MEMORY_RANKS] = RS_TABLE("ranks", "one row is one device of a rank, by its snapshot", rank_columns),
    [RS_MEMORY_SITES] = RS_TABLE("sites", "one row is one site of a device and what it holds", site_columns),
    [RS_MEMORY_PEAK] =
        RS_TABLE("peak", "one row is one block that is active at the time of --at", block_columns),
    [RS_MEMORY_CATEGORIES] = RS_TABLE(
        "categories", "one row is what blocks that are active at the time of --at are for, an estimate",
        purpose_columns),
    [RS_MEMORY_TIMELINE] = RS_TABLE(
        "timeline", "one row is one event that changes a sum; empty without --series", change_columns),
    [RS_MEMORY_SEGMENTS] = RS_TABLE("segments", "one row is one segment at the end", segment_columns),
    [RS_MEMORY_FRAGMENTATION] = RS_TABLE(
        "fragmentation", "one row is the segments of one pool, stream and type at the end", group_columns),
    [RS_MEMORY_LEAKS] =
        RS_TABLE("leaks", "one row is one site that keeps something in most steps", growth_columns),
    [RS_MEMORY_OOM] = RS_TABLE("oom", "one row is one allocation that failed", failure_columns),
    [RS_MEMORY_SPREAD] = RS_TABLE(
        "spread", "one row is one site over all devices of all ranks, each at its own peak", spread_columns),
    [RS_MEMORY_CHANGE] =
        RS_TABLE("change", "one row is one site in --base and in what is given", base_columns),
    [RS_MEMORY_FIT] = RS_TABLE("fit", "one row is whether one device's work fits in --fit", fit_columns),
    [RS_MEMORY_WITHOUT] =
        RS_TABLE("without", "one row is the peak of one device if something were different", without_columns),
    [RS_MEMORY_MOMENTS] = RS_TABLE(
        "moments", "one row is where in --trace one device was fullest; empty without it", moment_columns),
    [RS_MEMORY_MODULES] = RS_TABLE(
        "modules",
        "one row is what one module of --trace holds when the device is fullest, by phase; empty without it",
        module_columns),
    [RS_MEMORY_COSTS] = RS_TABLE(
        "costs",
        "one row is one line whose activations are there when the device is fullest, and what computing them again "
        "costs by --trace; empty without it",
        cost_columns),
    [RS_MEMORY_LAYERS] = RS_TABLE(
        "layers",
        "one row is one site at one instant: of each stretch its fullest and its last; empty without --layers",
        layer_columns),
    [RS_MEMORY_LAYOUT] = RS_TABLE(
        "layout",
        "one row is one stretch of addresses that is taken from the device at the time of --at; empty without "
        "--layout",
        stretch_columns),
    [RS_MEMORY_FINDINGS] =
        RS_TABLE("findings", "one row is one sentence; the first is the verdict", finding_columns),
    [RS_MEMORY_COUNTERS] =
        RS_TABLE("counters", "one row is what --counters writes; empty without it", counter_columns)};

/* ---- rows ---------------------------------------------------------------------------------------------- */

static rs_status put_rank(rs_table *t, int64_t rank, const rs_memory_device *d, double median, rs_error *err)
{
    rs_table_put(t, &rank_record, rank, d);
    double peak = (double)d->peak[RS_ACTIVE];
    rs_table_set_real(t, "above_median_pct", median > 0 ? 100 * (peak - median) / median : NAN);
    return rs_table_end_row(t, err);
}

static rs_status put_group(rs_table *t, int64_t rank, const rs_memory_segment *g, rs_error *err)
{
    rs_table_put(t, &group_record, rank, g);
    rs_table_set_int(t, "rounding_bytes", rs_sub_sat(g->use.active, g->use.requested));
    return rs_table_end_row(t, err);
}

static rs_status put_growth(rs_table *t, int64_t rank, const rs_memory_growth *g, rs_error *err)
{
    rs_table_put(t, &growth_record, rank, g);
    rs_table_set_real(t, "bytes_per_step", (double)g->kept / (double)g->steps);
    return rs_table_end_row(t, err);
}

static rs_status put_failure(rs_table *t, int64_t rank, const rs_memory_failure *f, rs_error *err)
{
    int64_t missing = rs_sub_sat(f->requested, f->device_free);
    rs_table_put(t, &failure_record, rank, f);
    rs_table_set_int(t, "room_bytes", rs_add_sat(f->reserved, f->device_free));
    rs_table_set_int(t, "slack_bytes", rs_sub_sat(f->reserved, f->active));
    rs_table_set_int(t, "short_bytes", missing > 0 ? missing : 0);
    return rs_table_end_row(t, err);
}

static rs_status put_answer(rs_table *t, int64_t rank, const rs_memory_answer *w, rs_error *err)
{
    rs_table_put(t, &without_record, rank, w);
    rs_table_set_int(t, "saved_bytes",
                     w->new_peak == RS_NO_VALUE ? RS_NO_VALUE : rs_sub_sat(w->peak, w->new_peak));
    return rs_table_end_row(t, err);
}

rs_status rs_memory_put_spread(rs_table *t, const rs_memory_spread *row, rs_error *err)
{
    return rs_table_put_row(t, &spread_record, 0, row, err);
}

rs_status rs_memory_put_pair(rs_table *t, int64_t rank, const rs_memory_pair *row, rs_error *err)
{
    return rs_table_put_row(t, &base_record, rank, row, err);
}

rs_status rs_memory_put_finding(rs_table *t, const rs_memory_finding *row, rs_error *err)
{
    return rs_table_put_row(t, &finding_record, 0, row, err);
}

rs_status rs_memory_put_fit(rs_table *t, int64_t rank, const rs_memory_fit *row, rs_error *err)
{
    return rs_table_put_row(t, &fit_record, rank, row, err);
}

rs_status rs_memory_put_moment(rs_table *t, int64_t rank, const rs_memory_moment *row, rs_error *err)
{
    return rs_table_put_row(t, &moment_record, rank, row, err);
}

rs_status rs_memory_put_module(rs_table *t, int64_t rank, const rs_memory_module *row, rs_error *err)
{
    return rs_table_put_row(t, &module_record, rank, row, err);
}

rs_status rs_memory_put_cost(rs_table *t, int64_t rank, const rs_memory_cost *row, rs_error *err)
{
    return rs_table_put_row(t, &cost_record, rank, row, err);
}

/* At most `top` rows of a device; 0: all. */
typedef struct most {
    uint32_t device;
    size_t n, top;
} most;

static bool is_among(most *m, uint32_t device)
{
    if (m->device != device) *m = (most){device, 0, m->top};
    return m->n++ < m->top || !m->top;
}

rs_status rs_memory_put_rank(const rs_memory_question *q, rs_table **tables, int64_t rank,
                             const rs_memory_rank *p, double median, rs_error *err)
{
    rs_status status = RS_OK;
    most sites = {RS_NO_STRING, 0, q->top}, growth = sites;
    for (size_t k = 0; k < RS_N_MEMORY_TABLES; k++) rs_table_use_texts(tables[k], &p->texts);
    for (size_t i = 0; status == RS_OK && i < p->n_devices; i++)
        status = put_rank(tables[RS_MEMORY_RANKS], rank, &p->devices[i], median, err);
    for (size_t i = 0; status == RS_OK && i < p->n_sites; i++)
        if (is_among(&sites, p->sites[i].device))
            status = rs_table_put_row(tables[RS_MEMORY_SITES], &site_record, rank, &p->sites[i], err);
    for (size_t i = 0; status == RS_OK && i < p->n_blocks; i++)
        status = rs_table_put_row(tables[RS_MEMORY_PEAK], &block_record, rank, &p->blocks[i], err);
    for (size_t i = 0; status == RS_OK && i < p->n_purposes; i++)
        status = rs_table_put_row(tables[RS_MEMORY_CATEGORIES], &purpose_record, rank, &p->purposes[i], err);
    for (size_t i = 0; status == RS_OK && q->series && i < p->n_changes; i++)
        if (p->changes[i].event >= 0)
            status = rs_table_put_row(tables[RS_MEMORY_TIMELINE], &change_record, rank, &p->changes[i], err);
    for (size_t i = 0; status == RS_OK && q->counters && i < p->n_changes; i++)
        status = rs_table_put_row(tables[RS_MEMORY_COUNTERS], &counter_record, rank, &p->changes[i], err);
    for (size_t i = 0; status == RS_OK && i < p->n_layers; i++)
        status = rs_table_put_row(tables[RS_MEMORY_LAYERS], &layer_record, rank, &p->layers[i], err);
    for (size_t i = 0; status == RS_OK && i < p->n_layout; i++)
        status = rs_table_put_row(tables[RS_MEMORY_LAYOUT], &stretch_record, rank, &p->layout[i], err);
    for (size_t i = 0; status == RS_OK && i < p->n_segments; i++)
        status = rs_table_put_row(tables[RS_MEMORY_SEGMENTS], &segment_record, rank, &p->segments[i], err);
    for (size_t i = 0; status == RS_OK && i < p->n_groups; i++)
        status = put_group(tables[RS_MEMORY_FRAGMENTATION], rank, &p->groups[i], err);
    for (size_t i = 0; status == RS_OK && i < p->n_growth; i++)
        if (is_among(&growth, p->growth[i].device))
            status = put_growth(tables[RS_MEMORY_LEAKS], rank, &p->growth[i], err);
    for (size_t i = 0; status == RS_OK && i < p->n_failures; i++)
        status = put_failure(tables[RS_MEMORY_OOM], rank, &p->failures[i], err);
    for (size_t i = 0; status == RS_OK && i < p->n_answers; i++)
        status = put_answer(tables[RS_MEMORY_WITHOUT], rank, &p->answers[i], err);
    return status;
}

/* ---- what travels ---------------------------------------------------------------------------------------- */

static const rs_field device_fields[] = {
    RS_FIELDS(rs_memory_device, need, floor, n_before, n_cut, n_freed_twice, n_unplaced, n_without_stack,
              allocations, overflowed, max_entries, without_stack, free, releasable, stuck, rounding,
              has_history, expandable, free_runs, steps),
};
static const rs_layout device_layout = RS_RECORD_LAYOUT_AND(rs_memory_device, rank, device_fields);

static const rs_field site_fields[] = {RS_FIELDS(rs_memory_site, all, at_peak)};
static const rs_layout site_layout = RS_RECORD_LAYOUT_AND(rs_memory_site, site, site_fields);
static const rs_layout block_layout = RS_RECORD_LAYOUT(rs_memory_block, block);
static const rs_field purpose_fields[] = {RS_FIELD(rs_memory_purpose, all)};
static const rs_layout purpose_layout = RS_RECORD_LAYOUT_AND(rs_memory_purpose, purpose, purpose_fields);
static const rs_layout change_layout = RS_RECORD_LAYOUT(rs_memory_change, change);
static const rs_layout layer_layout = RS_RECORD_LAYOUT(rs_memory_layer, layer);
static const rs_layout stretch_layout = RS_RECORD_LAYOUT(rs_memory_stretch, stretch);
static const rs_field segment_fields[] = {RS_FIELD(rs_memory_segment, segments)};
static const rs_layout segment_layout = RS_RECORD_LAYOUT_AND(rs_memory_segment, segment, segment_fields);
static const rs_field growth_fields[] = {RS_FIELD(rs_memory_growth, allocated)};
static const rs_layout growth_layout = RS_RECORD_LAYOUT_AND(rs_memory_growth, growth, growth_fields);
static const rs_field pin_fields[] = {
    RS_FIELD_INDEX(rs_memory_pin, device, rs_memory_rank, texts.n),
    RS_FIELD_INDEX(rs_memory_pin, site, rs_memory_rank, texts.n),
    RS_FIELD(rs_memory_pin, stuck),
};
static const rs_layout pin_layout = RS_LAYOUT(rs_memory_pin, pin_fields);
static const rs_layout failure_layout = RS_RECORD_LAYOUT(rs_memory_failure, failure);
static const rs_layout answer_layout = RS_RECORD_LAYOUT(rs_memory_answer, without);

static const rs_field allocation_fields[] = {
    RS_FIELD_INDEX(rs_memory_allocation, device, rs_memory_rank, texts.n),
    RS_FIELD_INDEX(rs_memory_allocation, line, rs_memory_rank, texts.n),
    RS_FIELD_INDEX(rs_memory_allocation, site, rs_memory_rank, texts.n),
    RS_FIELDS(rs_memory_allocation, number, time, size, from, until, address),
    RS_FIELD_BELOW(rs_memory_allocation, purpose, RS_N_PURPOSES),
    RS_FIELDS(rs_memory_allocation, at_peak, made_peak, shown),
};
static const rs_layout allocation_layout = RS_LAYOUT(rs_memory_allocation, allocation_fields);

static const rs_field rank_fields[] = {
    RS_FIELD_STRINGS(rs_memory_rank, texts),
    RS_FIELD_LIST(rs_memory_rank, devices, n_devices, &device_layout),
    RS_FIELD_LIST(rs_memory_rank, sites, n_sites, &site_layout),
    RS_FIELD_LIST(rs_memory_rank, blocks, n_blocks, &block_layout),
    RS_FIELD_LIST(rs_memory_rank, purposes, n_purposes, &purpose_layout),
    RS_FIELD_LIST(rs_memory_rank, changes, n_changes, &change_layout),
    RS_FIELD_LIST(rs_memory_rank, segments, n_segments, &segment_layout),
    RS_FIELD_LIST(rs_memory_rank, groups, n_groups, &segment_layout),
    RS_FIELD_LIST(rs_memory_rank, pins, n_pins, &pin_layout),
    RS_FIELD_LIST(rs_memory_rank, growth, n_growth, &growth_layout),
    RS_FIELD_LIST(rs_memory_rank, failures, n_failures, &failure_layout),
    RS_FIELD_LIST(rs_memory_rank, answers, n_answers, &answer_layout),
    RS_FIELD_LIST(rs_memory_rank, allocations, n_allocations, &allocation_layout),
    RS_FIELD_LIST(rs_memory_rank, layers, n_layers, &layer_layout),
    RS_FIELD_LIST(rs_memory_rank, layout, n_layout, &stretch_layout),
};
const rs_layout rs_memory_snapshot_layout = RS_LAYOUT(rs_memory_rank, rank_fields);
