/* A snapshot of PyTorch's allocator, read through the pickle machine; then what the rows were put into is followed from
 * the root, so that every event knows its device, and every block its place. */
#include "format/snapshot.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/order.h"
#include "base/try.h"
#include "format/format.h"
#include "format/snapshot_read.h"

static void snapshot_free(void *columns)
{
    rs_snapshot *s = columns;
    if (!s) return;
    rs_strings_clear(&s->strings);
    rs_free_all(s->frames, s->stacks, s->stack_frames, s->segments, s->blocks, s->notes, s->devices);
    rs_big_free(s->events.action);
    rs_big_free(s->events.compiled);
    rs_big_free(s->events.address);
    rs_big_free(s->events.size);
    rs_big_free(s->events.stream);
    rs_big_free(s->events.time);
    rs_big_free(s->events.stack);
    rs_free(s);
}

const rs_snapshot *rs_snapshot_of(const rs_trace *trace)
{
    return trace->events->format == &rs_format_torch_snapshot ? trace->events->other.columns : NULL;
}

/* Gives the words their ids. */
static bool add_words(rs_strings *strings)
{
    if (!rs_strings_init(strings)) return false;
    for (uint32_t i = 1; i < RS_N_WORDS; i++)
        if (rs_strings_add(strings, rs_snapshot_words[i], strlen(rs_snapshot_words[i])) != i) return false;
    for (uint32_t i = 0; i < RS_SNAPSHOT_OTHER; i++) {
        const char *name = rs_snapshot_action_names[i];
        if (rs_strings_add(strings, name, strlen(name)) != RS_WORD_FIRST_ACTION + i) return false;
    }
    return true;
}

/* ---- what was wrong --------------------------------------------------------------------------------------- */

/* Following the values of a file from its root. */
typedef struct loading {
    rs_snapshot_reader reader;
    rs_values values;
    rs_events *events;
    const char *file;
    bool cut; /* the pickle breaks off: what is not complete is left out */
} loading;

static rs_status bad_field(const loading *l, rs_error *err, const char *format, ...) RS_PRINTF(3, 4);
static rs_status bad_field(const loading *l, rs_error *err, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return rs_fail_at(err, RS_ERR_FORMAT, l->file, RS_NO_OFFSET, "%s; write the snapshot again", text);
}

/* ---- devices ---------------------------------------------------------------------------------------------- */

/* The device of that number, a new one where there is none; they are sorted when all are known. */
static rs_snapshot_device *device_of(rs_snapshot *s, int32_t number)
{
    for (size_t i = 0; i < s->n_devices; i++)
        if (s->devices[i].number == number) return &s->devices[i];
    if (!RS_GROW_ONE(s->devices, s->n_devices, s->devices_capacity)) return NULL;
    s->devices[s->n_devices] = (rs_snapshot_device){.number = number};
    return &s->devices[s->n_devices++];
}

static const rs_order by_number[] = {RS_RISING(rs_snapshot_device, number)};

/* ---- segments --------------------------------------------------------------------------------------------- */

/* Blocks follow each other and fill their segment. */
static rs_status place_blocks(const loading *l, size_t at, rs_segment *g, rs_error *err)
{
    uint64_t address = g->address, end = g->address + (uint64_t)g->size;
    if (end < address) return bad_field(l, err, "segments[%zu].total_size reaches beyond all addresses", at);
    for (uint32_t i = 0; i < g->n; i++) {
        rs_block *b = &l->reader.s->blocks[g->first + i];
        if (b->state == RS_BLOCK_BAD)
            return bad_field(l, err, "segments[%zu].blocks[%u].%s has no usable value", at, i,
                             rs_snapshot_words[b->stack]);
        if (b->address == UINT64_MAX) b->address = address;
        if (b->address != address)
            return bad_field(l, err, "segments[%zu].blocks[%u].address is not where the block before it ends",
                             at, i);
        if ((uint64_t)b->size > end - address)
            return bad_field(l, err, "segments[%zu].blocks[%u].size reaches beyond the segment", at, i);
        address += (uint64_t)b->size;
    }
    if (address == end) return RS_OK;
    return bad_field(l, err, "segments[%zu].blocks do not fill the segment: %llu of %lld bytes", at,
                     (unsigned long long)(address - g->address), (long long)g->size);
}

static rs_status read_segments(loading *l, uint32_t list, rs_error *err)
{
    rs_snapshot *s = l->reader.s;
    size_t n = 0;
    uint32_t child;
    if (l->values.nodes[list].type != RS_VALUE_LIST) return bad_field(l, err, "segments is no list");
    rs_segment *kept = rs_malloc(((size_t)l->values.nodes[list].n + 1) * sizeof *kept);
    rs_status status = kept ? RS_OK : rs_fail_nomem(err, "segments");
    for (rs_value_walk walk = rs_value_children(&l->values, list);
         status == RS_OK && rs_value_next(&walk, &child);) {
        rs_values_step step;
        uint32_t row = rs_snapshot_row(&l->reader, &l->values, child, RS_RECORD_SEGMENT, &step);
        if (step != RS_STEP_OK) {
            status = rs_fail_nomem(err, "segments");
        } else if (row == RS_NO_ROW) {
            status = bad_field(l, err, "segments[%zu] is no segment", n);
        } else {
            kept[n] = s->segments[row];
            if (kept[n].bad)
                status = bad_field(l, err, "segments[%zu].%s has no usable value", n,
                                   rs_snapshot_words[kept[n].bad]);
            if (status == RS_OK) status = place_blocks(l, n, &kept[n], err);
            if (status == RS_OK && !device_of(s, kept[n].device)) status = rs_fail_nomem(err, "devices");
            n++;
        }
    }
    if (status != RS_OK) {
        rs_free(kept);
        return status;
    }
    rs_free(s->segments);
    s->segments = kept;
    s->n_segments = s->segments_capacity = n;
    return RS_OK;
}

/* ---- events ----------------------------------------------------------------------------------------------- */

/* The events of one device. They were read sequentially; where a file refers to one twice, all of the device are
 * copied. */
static rs_status read_device(loading *l, int32_t number, uint32_t list, rs_error *err)
{
    rs_snapshot *s = l->reader.s;
    rs_snapshot_events *e = &s->events;
    size_t n = 0, first = 0;
    bool follow = true;
    uint32_t child;
    if (l->values.nodes[list].type != RS_VALUE_LIST)
        return bad_field(l, err, "device_traces[%d] is no list", (int)number);
    for (rs_value_walk walk = rs_value_children(&l->values, list); rs_value_next(&walk, &child);) {
        rs_values_step step;
        uint32_t row = rs_snapshot_row(&l->reader, &l->values, child, RS_RECORD_EVENT, &step);
        if (step != RS_STEP_OK) return rs_fail_nomem(err, "events");
        bool bad = row == RS_NO_ROW || e->action[row] == RS_SNAPSHOT_BAD;
        if (bad && l->cut && n + 1 >= l->values.nodes[list].n) break;
        if (row == RS_NO_ROW) return bad_field(l, err, "device_traces[%d][%zu] is no event", (int)number, n);
        if (bad)
            return bad_field(l, err, "device_traces[%d][%zu].%s has no usable value", (int)number, n,
                             rs_snapshot_words[e->stack[row]]);
        if (n == 0) first = row;
        follow = follow && row == first + n;
        n++;
    }
    size_t left = n;
    for (rs_value_walk walk = rs_value_children(&l->values, list);
         !follow && left && rs_value_next(&walk, &child); left--) {
        if (left == n) first = e->n;
        if (!rs_snapshot_copy_event(e, (size_t)l->values.nodes[child].as.i))
            return rs_fail_nomem(err, "events");
    }
    if (!n) return RS_OK;
    rs_snapshot_device *device = device_of(s, number);
    if (!device) return rs_fail_nomem(err, "devices");
    device->first = first;
    device->n = n;
    return RS_OK;
}

static rs_status read_events(loading *l, uint32_t list, rs_error *err)
{
    int32_t number = 0;
    uint32_t child;
    l->reader.s->has_history = true;
    if (l->values.nodes[list].type != RS_VALUE_LIST) return bad_field(l, err, "device_traces is no list");
    for (rs_value_walk walk = rs_value_children(&l->values, list); rs_value_next(&walk, &child); number++) {
        if (number >= RS_SNAPSHOT_MAX_DEVICES)
            return bad_field(l, err, "device_traces has more than %d lists", RS_SNAPSHOT_MAX_DEVICES);
        RS_TRY(read_device(l, number, child, err));
    }
    return RS_OK;
}

/* ---- the rest --------------------------------------------------------------------------------------------- */

static uint32_t value_of(const rs_values *v, uint32_t map, uint32_t word)
{
    uint32_t key, value;
    if (map == RS_NO_NODE || v->nodes[map].type != RS_VALUE_MAP) return RS_NO_NODE;
    for (rs_value_walk walk = rs_value_children(v, map); rs_value_next_pair(&walk, &key, &value);)
        if (v->nodes[key].type == RS_VALUE_NAME && v->nodes[key].n == word) return value;
    return RS_NO_NODE;
}

static int64_t number_or(const rs_values *v, uint32_t node, int64_t otherwise)
{
    bool number =
        node != RS_NO_NODE && (v->nodes[node].type == RS_VALUE_INT || v->nodes[node].type == RS_VALUE_BOOL);
    return number ? v->nodes[node].as.i : otherwise;
}

static void read_settings(rs_snapshot *s, const rs_values *v, uint32_t map)
{
    uint32_t conf = value_of(v, map, RS_WORD_CONF);
    if (conf != RS_NO_NODE && v->nodes[conf].type == RS_VALUE_NAME) s->settings = v->nodes[conf].n;
    s->expandable = number_or(v, value_of(v, map, RS_WORD_EXPANDABLE_SEGMENTS), 0) != 0;
    s->max_entries = number_or(v, value_of(v, map, RS_WORD_MAX_ENTRIES), -1);
    s->overflowed = number_or(v, value_of(v, map, RS_WORD_OVERFLOWED), -1);
}

/* Notes were taken in the order of the file; those without a time are of no use. */
static void keep_notes(rs_snapshot *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_notes; i++)
        if (s->notes[i].time != RS_NO_TIME) s->notes[n++] = s->notes[i];
    s->n_notes = n;
}

static const char is_dump[] = "is a pickle, no trace; a flight recorder's dump is for `rankscope flight`";
static const char is_other[] = "is a pickle of something else: a snapshot of PyTorch's allocator, as "
                               "torch.cuda.memory._dump_snapshot writes it, has segments";

static rs_status not_a_snapshot(const loading *l, uint32_t root, rs_error *err)
{
    const rs_values *v = &l->values;
    bool dump = value_of(v, root, RS_WORD_ENTRIES) != RS_NO_NODE ||
                value_of(v, root, RS_WORD_PG_CONFIG) != RS_NO_NODE;
    return rs_fail_at(err, RS_ERR_FORMAT, l->file, RS_NO_OFFSET, "%s", dump ? is_dump : is_other);
}

static rs_status read_root(loading *l, uint32_t root, rs_error *err)
{
    const rs_values *v = &l->values;
    rs_snapshot *s = l->reader.s;
    bool bare = root != RS_NO_NODE && v->nodes[root].type == RS_VALUE_LIST; /* 1.13 */
    uint32_t segments = bare ? root : value_of(v, root, RS_WORD_SEGMENTS), events = RS_NO_NODE;
    if (segments == RS_NO_NODE || (bare && !s->n_segments)) return not_a_snapshot(l, root, err);
    RS_TRY(read_segments(l, segments, err));
    if (!bare) events = value_of(v, root, RS_WORD_TRACES);
    if (events != RS_NO_NODE) RS_TRY(read_events(l, events, err));
    if (!bare) read_settings(s, v, value_of(v, root, RS_WORD_SETTINGS));
    keep_notes(s);
    RS_SORT(s->devices, s->n_devices, by_number);
    return RS_OK;
}

/* Whether the segments of a pickle that breaks off were complete: another key follows them. */
static bool has_all_segments(const rs_values *v)
{
    if (v->n_marks == 0 || v->n_stack == 0) return false;
    for (size_t i = v->marks[0]; i + 2 < v->n_stack; i += 2) {
        const rs_value *key = rs_values_at(v, v->stack[i]), *next = rs_values_at(v, v->stack[i + 2]);
        if (key->type != RS_VALUE_NAME) return false;
        if (key->n == RS_WORD_SEGMENTS) return next->type == RS_VALUE_NAME;
    }
    return false;
}

static void count_bytes(loading *l)
{
    const rs_snapshot *s = l->reader.s;
    uint64_t event = 2 + 3 * sizeof(int64_t) + sizeof(int64_t) + sizeof(uint32_t);
    l->events->memory += s->events.capacity * event + s->strings.arena.total +
                         s->n_frames * sizeof *s->frames + s->n_stacks * sizeof *s->stacks +
                         s->n_stack_frames * sizeof *s->stack_frames + s->n_blocks * sizeof *s->blocks +
                         s->n_segments * sizeof *s->segments;
}

/* From the first event to the last. */
static void find_span(rs_events *events, const rs_snapshot *s)
{
    events->other.first = events->other.last = RS_NO_TIME;
    for (size_t d = 0; d < s->n_devices; d++)
        for (size_t i = s->devices[d].first; i < s->devices[d].first + s->devices[d].n; i++) {
            int64_t time = s->events.time[i];
            if (time == RS_NO_TIME) continue;
            if (events->other.first == RS_NO_TIME || time < events->other.first) events->other.first = time;
            if (time > events->other.last) events->other.last = time;
        }
}

static void report(loading *l, const rs_error *why, uint64_t consumed)
{
    const rs_snapshot_reader *r = &l->reader;
    rs_problems *p = &l->events->problems;
    char line[512];
    if (why)
        rs_problems_add_many(p, l->file, -1, RS_LOSS, "truncated",
                             "the snapshot breaks off: its segments are complete, what follows is lost",
                             consumed, 1, rs_error_text(why, line, sizeof line));
    if (r->n_unknown_keys)
        rs_problems_add_many(p, l->file, -1, RS_NOTE, "unknown_keys",
                             "keys that rankscope does not know were skipped", RS_NO_OFFSET,
                             r->n_unknown_keys, r->s->strings.items[r->unknown_key].text);
    if (r->n_unknown_actions)
        rs_problems_add_many(p, l->file, -1, RS_NOTE, "unknown_actions",
                             "events whose action rankscope does not know were skipped", RS_NO_OFFSET,
                             r->n_unknown_actions, r->s->strings.items[r->unknown_action].text);
    if (r->n_bad_stacks)
        rs_problems_add_many(p, l->file, -1, RS_WARNING, "bad_stacks",
                             "call stacks held something that is no frame, which was left out", RS_NO_OFFSET,
                             r->n_bad_stacks, NULL);
}

static rs_status load(loading *l, rs_source *source, const rs_load_settings *settings, rs_error *err)
{
    const rs_value_limits limits = {.max_depth = settings->max_depth, .max_string = settings->max_string};
    const rs_pickle_settings pickle = {.limits = &limits,
                                       .binary = true,
                                       .names = &l->reader.s->strings,
                                       .take = rs_snapshot_take,
                                       .context = &l->reader,
                                       .threaded = settings->threads > 1,
                                       .progress = settings->progress,
                                       .progress_context = settings->progress_context};
    rs_pickle_info info;
    rs_error why = RS_ERROR_INIT;
    uint32_t root;
    rs_status status = rs_pickle_read_source(&l->values, source, &pickle, &info, &why);
    rs_source_report_end(source, -1, &l->events->problems);
    l->cut = status == RS_ERR_FORMAT && !info.refused && has_all_segments(&l->values);
    if (status != RS_OK && !l->cut) {
        *err = why;
        return status;
    }
    root = l->cut ? rs_values_close_all(&l->values) : info.root;
    RS_TRY(read_root(l, root, err));
    l->events->n_bytes = info.consumed;
    l->events->truncated = l->cut;
    report(l, l->cut ? &why : NULL, info.consumed);
    find_span(l->events, l->reader.s);
    count_bytes(l);
    return RS_OK;
}

static rs_status snapshot_load(rs_source *source, const rs_load_settings *settings, rs_events **out,
                               rs_error *err)
{
    rs_events *events;
    rs_error local = RS_ERROR_INIT;
    if (!err) err = &local;
    *out = NULL;
    RS_TRY(rs_events_create(settings->columns, settings->max_memory, &events, err));
    loading l = {.events = events, .file = rs_source_name(source)};
    l.reader.s = rs_calloc(1, sizeof *l.reader.s);
    events->other = (rs_other_recording){l.reader.s, snapshot_free, RS_NO_TIME, RS_NO_TIME};
    events->packing = rs_packing_name(rs_source_packing(source));
    events->form = "pickle";
    rs_status status = l.reader.s && add_words(&l.reader.s->strings) ? RS_OK : rs_fail_nomem(err, "snapshot");
    if (status == RS_OK) status = load(&l, source, settings, err);
    rs_values_clear(&l.values);
    rs_map64_clear(&l.reader.frame_ids);
    rs_map64_clear(&l.reader.stack_ids);
    rs_free(l.reader.scratch);
    if (status == RS_OK)
        *out = events;
    else
        rs_events_free(events);
    return status;
}

/* Protocols 2 to 5 begin so; a trace never does. */
static bool is_pickle(const uint8_t *text, size_t n)
{
    return n >= 2 && text[0] == 0x80 && text[1] >= 2 && text[1] <= 5;
}

static bool holds(const uint8_t *text, size_t n, const char *word)
{
    size_t m = strlen(word);
    for (size_t i = 0; i + m <= n; i++)
        if (memcmp(text + i, word, m) == 0) return true;
    return false;
}

/* By the first keys; without any bytes it is one that was read. */
static const char *elsewhere(const uint8_t *text, size_t n)
{
    if (n && !holds(text, n, "segments") && !holds(text, n, "total_size")) return is_dump;
    return "is a snapshot of PyTorch's allocator, no trace: `rankscope memory` reads it, and `rankscope memory --base A B` "
           "compares two";
}

const rs_format rs_format_torch_snapshot = {
    .name = "torch_snapshot",
    .title = "PyTorch allocator snapshot",
    .sniff = is_pickle,
    .load = snapshot_load,
    .records = RS_RECORDS_ALLOCATIONS,
    .elsewhere = elsewhere,
};
