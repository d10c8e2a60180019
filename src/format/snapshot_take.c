/* The dicts of a snapshot become rows as the pickle machine completes them, so that no tree of a file is ever held. */
#include "format/snapshot_read.h"

#include <string.h>

#define WORD_TEXT(id, text) text,
const char *const rs_snapshot_words[RS_N_WORDS] = {"", RS_SNAPSHOT_WORDS(WORD_TEXT)};

const char *const rs_snapshot_action_names[RS_N_SNAPSHOT_ACTIONS] = {
    "alloc",         "free",         "free_requested", "free_completed",
    "segment_alloc", "segment_free", "segment_map",    "segment_unmap",
    "oom",           "snapshot",     "other",          "bad"};

/* The values of a dict by key: its node, or RS_NO_NODE. */
typedef struct items {
    uint32_t of[RS_N_KEYS];
} items;

static bool has(const items *d, unsigned key)
{
    return d->of[key] != RS_NO_NODE;
}

/* false: a key is no text, or the dict is none of a snapshot's. */
static void read_items(rs_snapshot_reader *r, const rs_values *v, const uint32_t *pairs, size_t n, items *d)
{
    memset(d, 0xff, sizeof *d);
    for (size_t i = 0; i + 1 < n; i += 2) {
        const rs_value *key = rs_values_at(v, pairs[i]);
        if (key->type == RS_VALUE_NAME && key->n > 0 && key->n < RS_N_KEYS) {
            d->of[key->n] = pairs[i + 1];
        } else if (!r->n_unknown_keys++ && key->type == RS_VALUE_NAME) {
            r->unknown_key = key->n;
        }
    }
}

/* ---- values -------------------------------------------------------------------------------------------- */

/* A whole number from 0 up. */
static bool snapshot_unsigned(const rs_values *v, uint32_t node, uint64_t *out)
{
    if (node == RS_NO_NODE) return false;
    const rs_value *x = rs_values_at(v, node);
    if (x->type == RS_VALUE_UINT) {
        *out = x->as.u;
        return true;
    }
    if (x->type != RS_VALUE_INT || x->as.i < 0) return false;
    *out = (uint64_t)x->as.i;
    return true;
}

static bool size_of(const rs_values *v, uint32_t node, int64_t *out)
{
    uint64_t u;
    if (!snapshot_unsigned(v, node, &u) || u > INT64_MAX) return false;
    *out = (int64_t)u;
    return true;
}

/* A value that may be absent. */
static bool unsigned_or(const rs_values *v, uint32_t node, uint64_t otherwise, uint64_t *out)
{
    *out = otherwise;
    return node == RS_NO_NODE || snapshot_unsigned(v, node, out);
}

static uint32_t name_of(const rs_values *v, uint32_t node)
{
    return node != RS_NO_NODE && rs_values_at(v, node)->type == RS_VALUE_NAME ? rs_values_at(v, node)->n : 0;
}

static bool is_true(const rs_values *v, uint32_t node)
{
    return node != RS_NO_NODE && rs_values_at(v, node)->type == RS_VALUE_BOOL && rs_values_at(v, node)->as.i;
}

static bool device_of(const rs_values *v, uint32_t node, int32_t *out)
{
    uint64_t u;
    if (!unsigned_or(v, node, 0, &u) || u >= RS_SNAPSHOT_MAX_DEVICES) return false;
    *out = (int32_t)u;
    return true;
}

static int64_t time_of(const rs_values *v, uint32_t node)
{
    if (node == RS_NO_NODE || rs_values_at(v, node)->type != RS_VALUE_INT) return RS_NO_TIME;
    int64_t us = rs_values_at(v, node)->as.i;
    return us > -INT64_MAX / 1000 && us < INT64_MAX / 1000 ? us * 1000 : RS_NO_TIME;
}

/* ---- frames and stacks --------------------------------------------------------------------------------- */

static uint32_t intern_frame(rs_snapshot_reader *r, rs_frame frame)
{
    rs_snapshot *s = r->s;
    uint64_t hash =
        rs_hash_u64(((uint64_t)frame.name << 32 | frame.file) ^ rs_hash_u64((uint32_t)frame.line));
    bool is_new;
    uint32_t *head = rs_map64_put(&r->frame_ids, hash, &is_new);
    if (!head) return RS_NO_ROW;
    for (uint32_t i = is_new ? RS_NO_ROW : *head; i != RS_NO_ROW; i = s->frames[i].next)
        if (s->frames[i].name == frame.name && s->frames[i].file == frame.file &&
            s->frames[i].line == frame.line)
            return i;
    if (s->n_frames >= RS_NO_ROW || !RS_GROW_ONE(s->frames, s->n_frames, s->frames_capacity))
        return RS_NO_ROW;
    frame.next = is_new ? RS_NO_ROW : *head;
    s->frames[s->n_frames] = frame;
    return *head = (uint32_t)s->n_frames++;
}

static uint32_t intern_stack(rs_snapshot_reader *r, const uint32_t *frames, uint32_t n)
{
    rs_snapshot *s = r->s;
    bool is_new;
    uint32_t *head = rs_map64_put(&r->stack_ids, rs_hash_bytes(frames, n * sizeof *frames), &is_new);
    if (!head) return RS_NO_STACK;
    for (uint32_t i = is_new ? RS_NO_STACK : *head; i != RS_NO_STACK; i = s->stacks[i].next)
        if (s->stacks[i].n == n &&
            memcmp(s->stack_frames + s->stacks[i].first, frames, n * sizeof *frames) == 0)
            return i;
    if (s->n_stacks >= RS_NO_STACK || !RS_GROW_ONE(s->stacks, s->n_stacks, s->stacks_capacity) ||
        !rs_grow((void **)&s->stack_frames, &s->stack_frames_capacity, s->n_stack_frames + n,
                 sizeof *s->stack_frames))
        return RS_NO_STACK;
    memcpy(s->stack_frames + s->n_stack_frames, frames, n * sizeof *frames);
    s->stacks[s->n_stacks] = (rs_stack){s->n_stack_frames, n, is_new ? RS_NO_STACK : *head};
    s->n_stack_frames += n;
    return *head = (uint32_t)s->n_stacks++;
}

/* The stack that a list of frames is; RS_NO_STACK: none. A list is made a record where it is first met: it comes again
 * with the block, or with the next event. false: no memory. */
static bool stack_of(rs_snapshot_reader *r, rs_values *v, uint32_t node, uint32_t *out)
{
    *out = RS_NO_STACK;
    if (node == RS_NO_NODE) return true;
    const rs_value *given = rs_values_at(v, node);
    if (given->type == RS_VALUE_RECORD && given->tag == RS_RECORD_STACK) {
        *out = (uint32_t)given->as.i;
        return true;
    }
    if (given->type != RS_VALUE_LIST) {
        r->n_bad_stacks += given->type != RS_VALUE_NONE;
        return true;
    }
    rs_value *list = &v->nodes[node];
    uint32_t n = 0, child, none = 0;
    if (!rs_grow((void **)&r->scratch, &r->scratch_capacity, (size_t)list->n + 1, sizeof *r->scratch))
        return false;
    for (rs_value_walk walk = rs_value_children(v, node); rs_value_next(&walk, &child);) {
        const rs_value *frame = &v->nodes[child];
        if (frame->type == RS_VALUE_RECORD && frame->tag == RS_RECORD_FRAME)
            r->scratch[n++] = (uint32_t)frame->as.i;
        else
            none++;
    }
    r->n_bad_stacks += none > 0;
    if (n) {
        *out = intern_stack(r, r->scratch, n);
        if (*out == RS_NO_STACK) return false;
    }
    rs_values_drop_children(v, node);
    *list = (rs_value){.type = RS_VALUE_RECORD, .tag = RS_RECORD_STACK, .as.i = *out};
    return true;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static rs_values_step made(rs_values *v, uint32_t map, rs_snapshot_record kind, size_t row)
{
    v->nodes[map] = (rs_value){.type = RS_VALUE_RECORD, .tag = (uint8_t)kind, .as.i = (int64_t)row};
    return RS_STEP_TAKEN;
}

static rs_values_step take_frame(rs_snapshot_reader *r, rs_values *v, uint32_t map, const items *d)
{
    rs_frame frame = {name_of(v, d->of[RS_WORD_NAME]), name_of(v, d->of[RS_WORD_FILENAME]), 0, RS_NO_ROW};
    int64_t line;
    if (size_of(v, d->of[RS_WORD_LINE], &line) && line <= INT32_MAX) frame.line = (int32_t)line;
    uint32_t row = intern_frame(r, frame);
    return row == RS_NO_ROW ? RS_STEP_NOMEM : made(v, map, RS_RECORD_FRAME, row);
}

#define GROW_COLUMN(column, capacity) grow_column((void **)&(column), (capacity), sizeof *(column))

static bool grow_column(void **column, size_t capacity, size_t size)
{
    void *grown = rs_big_resize(*column, capacity * size);
    if (grown) *column = grown;
    return grown != NULL;
}

static bool grow_events(rs_snapshot_events *e)
{
    if (e->n < e->capacity) return true;
    size_t capacity = e->capacity ? rs_big_next(e->capacity, sizeof *e->address) : 1024;
    if (e->n >= RS_NO_ROW - 1 || !GROW_COLUMN(e->action, capacity) || !GROW_COLUMN(e->compiled, capacity) ||
        !GROW_COLUMN(e->address, capacity) || !GROW_COLUMN(e->size, capacity) ||
        !GROW_COLUMN(e->stream, capacity) || !GROW_COLUMN(e->time, capacity) ||
        !GROW_COLUMN(e->stack, capacity))
        return false;
    e->capacity = capacity;
    return true;
}

bool rs_snapshot_copy_event(rs_snapshot_events *e, size_t row)
{
    if (!grow_events(e)) return false;
    size_t to = e->n++;
    e->action[to] = e->action[row];
    e->compiled[to] = e->compiled[row];
    e->address[to] = e->address[row];
    e->size[to] = e->size[row];
    e->stream[to] = e->stream[row];
    e->time[to] = e->time[row];
    e->stack[to] = e->stack[row];
    return true;
}

static rs_snapshot_action action_of(rs_snapshot_reader *r, const rs_values *v, uint32_t node)
{
    uint32_t name = name_of(v, node);
    if (name >= RS_WORD_FIRST_ACTION && name < RS_WORD_FIRST_ACTION + RS_SNAPSHOT_OTHER)
        return (rs_snapshot_action)(name - RS_WORD_FIRST_ACTION);
    if (!r->n_unknown_actions++) r->unknown_action = name;
    return RS_SNAPSHOT_OTHER;
}

/* The key of which an event that changes something has no usable value; 0: none. */
static unsigned read_event(const rs_values *v, const items *d, rs_snapshot_action action,
                           rs_snapshot_events *e)
{
    size_t at = e->n;
    bool oom = action == RS_SNAPSHOT_OOM;
    e->address[at] = 0;
    e->size[at] = 0;
    if (!unsigned_or(v, d->of[RS_WORD_STREAM], 0, &e->stream[at])) return RS_WORD_STREAM;
    if (action == RS_SNAPSHOT_SNAPSHOT || action == RS_SNAPSHOT_OTHER) return 0;
    if (!snapshot_unsigned(v, d->of[oom ? RS_WORD_DEVICE_FREE : RS_WORD_ADDR], &e->address[at]))
        return oom ? RS_WORD_DEVICE_FREE : RS_WORD_ADDR;
    return size_of(v, d->of[RS_WORD_SIZE], &e->size[at]) ? 0 : RS_WORD_SIZE;
}

static rs_values_step take_event(rs_snapshot_reader *r, rs_values *v, uint32_t map, const items *d)
{
    rs_snapshot_events *e = &r->s->events;
    uint32_t stack;
    if (!stack_of(r, v, d->of[RS_WORD_FRAMES], &stack) || !grow_events(e)) return RS_STEP_NOMEM;
    rs_snapshot_action action = action_of(r, v, d->of[RS_WORD_ACTION]);
    uint32_t context = name_of(v, d->of[RS_WORD_COMPILE]);
    unsigned bad = read_event(v, d, action, e);
    e->action[e->n] = (uint8_t)(bad ? RS_SNAPSHOT_BAD : action);
    e->compiled[e->n] = context != 0 && context != RS_WORD_NOT_COMPILED;
    e->time[e->n] = time_of(v, d->of[RS_WORD_TIME]);
    e->stack[e->n] = bad ? bad : stack;
    return made(v, map, RS_RECORD_EVENT, e->n++);
}

/* What 1.13 says of a block in place of frames and requested_size: the newest of its history. */
static void read_history(const rs_values *v, uint32_t history, items *d)
{
    uint32_t newest, key, value;
    if (rs_values_at(v, history)->type != RS_VALUE_LIST) return;
    rs_value_walk walk = rs_value_children(v, history);
    if (!rs_value_next(&walk, &newest) || v->nodes[newest].type != RS_VALUE_MAP) return;
    walk = rs_value_children(v, newest);
    while (rs_value_next_pair(&walk, &key, &value)) {
        uint32_t name = name_of(v, key);
        if (name == RS_WORD_FRAMES) d->of[RS_WORD_FRAMES] = value;
        if (name == RS_WORD_REAL_SIZE) d->of[RS_WORD_REQUESTED] = value;
    }
}

static rs_values_step take_block(rs_snapshot_reader *r, rs_values *v, uint32_t map, items *d)
{
    rs_snapshot *s = r->s;
    rs_block b = {0};
    unsigned bad = 0;
    uint32_t state = name_of(v, d->of[RS_WORD_STATE]);
    if (has(d, RS_WORD_HISTORY) && !has(d, RS_WORD_FRAMES)) read_history(v, d->of[RS_WORD_HISTORY], d);
    if (!stack_of(r, v, d->of[RS_WORD_FRAMES], &b.stack)) return RS_STEP_NOMEM;
    b.state = state == RS_WORD_INACTIVE ? RS_BLOCK_INACTIVE
              : state == RS_WORD_ACTIVE ? RS_BLOCK_ALLOCATED
                                        : RS_BLOCK_PENDING;
    if (state < RS_WORD_ACTIVE || state > RS_WORD_INACTIVE) bad = RS_WORD_STATE;
    if (!unsigned_or(v, d->of[RS_WORD_ADDRESS], UINT64_MAX, &b.address)) bad = RS_WORD_ADDRESS;
    if (!size_of(v, d->of[RS_WORD_SIZE], &b.size)) bad = RS_WORD_SIZE;
    b.requested = b.size;
    if (has(d, RS_WORD_REQUESTED) && !size_of(v, d->of[RS_WORD_REQUESTED], &b.requested))
        bad = RS_WORD_REQUESTED;
    if (bad) {
        b.state = RS_BLOCK_BAD;
        b.stack = bad;
    }
    if (s->n_blocks >= RS_NO_ROW || !RS_GROW_ONE(s->blocks, s->n_blocks, s->blocks_capacity))
        return RS_STEP_NOMEM;
    s->blocks[s->n_blocks] = b;
    return made(v, map, RS_RECORD_BLOCK, s->n_blocks++);
}

static bool read_pool(const rs_values *v, uint32_t node, uint64_t pool[2])
{
    if (rs_values_at(v, node)->type != RS_VALUE_LIST) return false;
    rs_value_walk walk = rs_value_children(v, node);
    uint32_t a, b;
    return rs_value_next(&walk, &a) && rs_value_next(&walk, &b) && snapshot_unsigned(v, a, &pool[0]) &&
           snapshot_unsigned(v, b, &pool[1]);
}

/* The blocks of a segment were taken just before it; those of a list that is strange are copied to the end. */
static rs_values_step take_blocks(rs_snapshot_reader *r, rs_values *v, uint32_t list, rs_segment *segment)
{
    rs_snapshot *s = r->s;
    rs_values_step step = RS_STEP_OK;
    uint32_t child, n = 0;
    bool follow = true;
    if (list == RS_NO_NODE || rs_values_at(v, list)->type != RS_VALUE_LIST) {
        segment->bad = RS_WORD_BLOCKS;
        return RS_STEP_OK;
    }
    for (rs_value_walk walk = rs_value_children(v, list); rs_value_next(&walk, &child); n++) {
        uint32_t row = rs_snapshot_row(r, v, child, RS_RECORD_BLOCK, &step);
        if (step != RS_STEP_OK) return step;
        if (row == RS_NO_ROW) segment->bad = RS_WORD_BLOCKS;
        if (row == RS_NO_ROW) return RS_STEP_OK;
        if (n == 0) segment->first = row;
        follow = follow && row == segment->first + n;
    }
    segment->n = n;
    if (follow) return RS_STEP_OK;
    if (s->n_blocks + n >= RS_NO_ROW ||
        !rs_grow((void **)&s->blocks, &s->blocks_capacity, s->n_blocks + n, sizeof *s->blocks))
        return RS_STEP_NOMEM;
    segment->first = (uint32_t)s->n_blocks;
    for (rs_value_walk walk = rs_value_children(v, list); rs_value_next(&walk, &child);)
        s->blocks[s->n_blocks++] = s->blocks[v->nodes[child].as.i];
    return RS_STEP_OK;
}

#define SMALL_SEGMENT ((int64_t)2 << 20) /* of what is no larger than 1 MiB */

static rs_values_step take_segment(rs_snapshot_reader *r, rs_values *v, uint32_t map, const items *d)
{
    rs_snapshot *s = r->s;
    rs_segment g = {.stack = RS_NO_STACK};
    rs_values_step step = take_blocks(r, v, d->of[RS_WORD_BLOCKS], &g);
    if (step != RS_STEP_OK) return step;
    if (!stack_of(r, v, d->of[RS_WORD_FRAMES], &g.stack)) return RS_STEP_NOMEM;
    if (has(d, RS_WORD_POOL)) {
        s->has_pools = true;
        if (!read_pool(v, d->of[RS_WORD_POOL], g.pool)) g.bad = RS_WORD_POOL;
    }
    if (!unsigned_or(v, d->of[RS_WORD_STREAM], 0, &g.stream)) g.bad = RS_WORD_STREAM;
    if (!device_of(v, d->of[RS_WORD_DEVICE], &g.device)) g.bad = RS_WORD_DEVICE;
    if (!size_of(v, d->of[RS_WORD_TOTAL_SIZE], &g.size)) g.bad = RS_WORD_TOTAL_SIZE;
    if (!snapshot_unsigned(v, d->of[RS_WORD_ADDRESS], &g.address)) g.bad = RS_WORD_ADDRESS;
    g.expandable = is_true(v, d->of[RS_WORD_EXPANDABLE]);
    g.small = has(d, RS_WORD_SEGMENT_TYPE) ? name_of(v, d->of[RS_WORD_SEGMENT_TYPE]) == RS_WORD_SMALL
                                           : g.size == SMALL_SEGMENT;
    if (!RS_GROW_ONE(s->segments, s->n_segments, s->segments_capacity)) return RS_STEP_NOMEM;
    s->segments[s->n_segments] = g;
    return made(v, map, RS_RECORD_SEGMENT, s->n_segments++);
}

static rs_values_step take_note(rs_snapshot_reader *r, rs_values *v, uint32_t map, const items *d)
{
    rs_snapshot *s = r->s;
    rs_note note = {.time = time_of(v, d->of[RS_WORD_TIME]),
                    .name = name_of(v, d->of[RS_WORD_NAME]),
                    .end = name_of(v, d->of[RS_WORD_STAGE]) == RS_WORD_END};
    if (!device_of(v, d->of[RS_WORD_DEVICE], &note.device)) note.time = RS_NO_TIME;
    if (!RS_GROW_ONE(s->notes, s->n_notes, s->notes_capacity)) return RS_STEP_NOMEM;
    s->notes[s->n_notes] = note;
    return made(v, map, RS_RECORD_NOTE, s->n_notes++);
}

/* The keys by which a dict is one of a snapshot's, in this order. */
static rs_values_step take_pairs(rs_snapshot_reader *r, rs_values *v, uint32_t map, const uint32_t *pairs,
                                 size_t n)
{
    items d;
    uint64_t unknown = r->n_unknown_keys;
    read_items(r, v, pairs, n, &d);
    if (has(&d, RS_WORD_ACTION)) return take_event(r, v, map, &d);
    if (has(&d, RS_WORD_FILENAME)) return take_frame(r, v, map, &d);
    if (has(&d, RS_WORD_STATE)) return take_block(r, v, map, &d);
    if (has(&d, RS_WORD_BLOCKS) || has(&d, RS_WORD_TOTAL_SIZE)) return take_segment(r, v, map, &d);
    if (has(&d, RS_WORD_STAGE)) return take_note(r, v, map, &d);
    r->n_unknown_keys = unknown; /* of another dict */
    return RS_STEP_OK;
}

/* A list of frames becomes a stack at once, unless more of it may come. */
static rs_values_step take_frames(rs_snapshot_reader *r, rs_values *v, uint32_t list, size_t from)
{
    size_t n = v->n_stack - from;
    if (!n || n == RS_PICKLE_BATCH) return RS_STEP_OK;
    if (!rs_grow((void **)&r->scratch, &r->scratch_capacity, n, sizeof *r->scratch)) return RS_STEP_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const rs_value *frame = rs_values_at(v, v->stack[from + i]);
        if (frame->type != RS_VALUE_RECORD || frame->tag != RS_RECORD_FRAME) return RS_STEP_OK;
        r->scratch[i] = (uint32_t)frame->as.i;
    }
    uint32_t stack = intern_stack(r, r->scratch, (uint32_t)n);
    return stack == RS_NO_STACK ? RS_STEP_NOMEM : made(v, list, RS_RECORD_STACK, stack);
}

rs_values_step rs_snapshot_take(void *context, rs_values *v, uint32_t container, size_t from)
{
    if (v->nodes[container].type == RS_VALUE_LIST) return take_frames(context, v, container, from);
    return take_pairs(context, v, container, v->stack + from, v->n_stack - from);
}

uint32_t rs_snapshot_row(rs_snapshot_reader *r, rs_values *v, uint32_t node, rs_snapshot_record kind,
                         rs_values_step *step)
{
    const rs_value *x = &v->nodes[node];
    *step = RS_STEP_OK;
    if (x->type == RS_VALUE_MAP && x->n) {
        uint32_t child, *pairs = rs_malloc((size_t)x->n * sizeof *pairs);
        size_t n = 0;
        if (!pairs) *step = RS_STEP_NOMEM;
        for (rs_value_walk walk = rs_value_children(v, node); pairs && rs_value_next(&walk, &child);)
            pairs[n++] = child;
        rs_values_step taken = pairs ? take_pairs(r, v, node, pairs, n) : RS_STEP_OK;
        if (taken != RS_STEP_TAKEN && taken != RS_STEP_OK) *step = taken;
        rs_free(pairs);
    }
    x = &v->nodes[node];
    return x->type == RS_VALUE_RECORD && x->tag == kind ? (uint32_t)x->as.i : RS_NO_ROW;
}
