/* What one device of a snapshot held, and when: its events and segments put together.
 *
 * Instant 0 is before the first event, instant i + 1 after event i. A *life* is a block of memory from its allocation to
 * the moment from which it can be used again; an address has many lives, none at the same time. A life that began before the
 * first event is known by the event that ends it, or by the segments; of one that is there at the end the segments say so.
 *
 *     held      bytes asked for, of lives that their owner has not asked to be freed
 *     active    bytes asked for, of lives that have not ended: what could not be used for anything else
 *     reserved  bytes taken from the device */
#pragma once

#include "base/ranges.h"
#include "format/snapshot.h"

#define RS_NEVER UINT32_MAX
#define RS_NO_LIFE UINT32_MAX

typedef struct rs_life {
    uint64_t address, stream;
    int64_t size;   /* asked for */
    uint32_t stack; /* of the allocation; RS_NO_STACK: unknown */
    uint32_t from;  /* the first instant at which it is active; 0: it is from before */
    uint32_t asked,
        until; /* the first instant at which it is not held, not active; RS_NEVER: it is at the end */
} rs_life;

/* The sums at one instant. */
typedef struct rs_held {
    int64_t held, active, reserved;
} rs_held;

enum { RS_HELD, RS_ACTIVE, RS_RESERVED, RS_N_SUMS };

/* From one instant to another, both included. */
typedef struct rs_instants {
    uint32_t first, last;
} rs_instants;

typedef struct rs_cut_life {
    uint32_t event, life;
} rs_cut_life;

typedef struct rs_history {
    const rs_snapshot *snapshot;
    const rs_snapshot_device *device;
    uint32_t n; /* events */
    rs_life *lives;
    size_t n_lives, lives_capacity;
    uint32_t *life_of; /* by event: the life that it begins or ends, or RS_NO_LIFE */
    rs_held begin;     /* at instant 0 */
    rs_held end;       /* as the segments say */
    int64_t
        allocated; /* rounded bytes of blocks in use at the end, as torch.cuda.memory_allocated() counts them */
    uint32_t device_allocs, device_frees, n_failed;
    /* what does not fit together */
    struct rs_cut_life
        *cut; /* allocations at an address that was in use: the older block ends there; by event */
    size_t n_cut, cut_capacity;
    uint64_t n_freed_twice; /* frees of what was freed */
    uint64_t n_unplaced;    /* in use by the events, not by the segments */
    uint64_t n_before;      /* lives from before that the segments or a free show */
} rs_history;

/* Both borrowed as long as the history lives. Release with rs_history_clear, also after a failure. */
rs_status rs_history_make(const rs_snapshot *snapshot, const rs_snapshot_device *device, rs_history *out,
                          rs_error *err);
void rs_history_clear(rs_history *history);

/* The time of an instant: that of the event before it, of instant 0 the first event's. RS_NO_TIME: there is none. */
int64_t rs_instant_time(const rs_history *history, uint32_t instant);

static inline bool rs_life_is_active(const rs_life *life, uint32_t instant)
{
    return life->from <= instant && instant < life->until;
}
static inline bool rs_life_is_held(const rs_life *life, uint32_t instant)
{
    return life->from <= instant && instant < life->asked && instant < life->until;
}
/* The action of an event, and its size. */
static inline rs_snapshot_action rs_event_action(const rs_history *h, uint32_t event)
{
    return (rs_snapshot_action)h->snapshot->events.action[h->device->first + event];
}
static inline int64_t rs_event_size(const rs_history *h, uint32_t event)
{
    return h->snapshot->events.size[h->device->first + event];
}
static inline uint32_t rs_event_stack(const rs_history *h, uint32_t event)
{
    return h->snapshot->events.stack[h->device->first + event];
}
static inline int64_t rs_event_time(const rs_history *h, uint32_t event)
{
    return h->snapshot->events.time[h->device->first + event];
}

/* Walks the instants upwards: *now are the sums after event `event`. */
void rs_held_after(const rs_history *history, uint32_t event, rs_held *now);

/* The largest value of each sum over the instants of the spans, which ascend, and the first instant that has it. */
typedef struct rs_peaks {
    int64_t value[RS_N_SUMS];
    uint32_t instant[RS_N_SUMS];
} rs_peaks;
rs_peaks rs_history_peaks(const rs_history *history, const rs_instants *spans, size_t n);

/* The last instant whose event is not later than the time; 0 where all are. */
uint32_t rs_instant_at(const rs_history *history, int64_t time);
