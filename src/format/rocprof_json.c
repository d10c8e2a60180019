/* rocprofv3's _results.json: one object a process, its tables of names before its records. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "format/native.h"
#include "format/range_names.h"
#include "format/rocprof_fields.h"
#include "format/rocprof_walk.h"

#define MAX_WINDOW ((size_t)256 << 20) /* one value that is taken whole: a record, a table of names */

/* ---- what a process says before its records ----------------------------------------------------------- */

typedef struct symbol {
    uint32_t name;
    int64_t registers;
} symbol;

typedef struct api_kind {
    uint32_t name;
    uint32_t *operations;
    size_t n, capacity;
} api_kind;

typedef struct state {
    rs_walk walk;
    rs_events *events;
    const char *file;
    int64_t pid;
    rs_map64 device_of;  /* agent handle -> GPU ordinal; CPUs are absent */
    rs_map64 symbol_of;  /* kernel id -> symbols */
    rs_map64 marker_of;  /* correlation id -> string id */
    rs_map64 counter_of; /* counter handle -> string id */
    rs_map64 dispatches; /* number -> row */
    symbol *symbols;
    size_t n_symbols, symbols_capacity;
    api_kind *kinds;
    size_t n_kinds, kinds_capacity;
    bool first_process;
} state;

static bool no_memory(state *s)
{
    s->walk.status = rs_fail_nomem(s->walk.err, "tables of names");
    return false;
}

static bool map_put(state *s, rs_map64 *map, int64_t key, uint32_t value)
{
    bool is_new;
    uint32_t *slot = rs_map64_put(map, (uint64_t)key, &is_new);
    if (!slot) return no_memory(s);
    *slot = value;
    return true;
}

static void process_clear(state *s)
{
    for (size_t i = 0; i < s->n_kinds; i++) rs_free(s->kinds[i].operations);
    rs_free_all(s->kinds, s->symbols);
    rs_map64_clear(&s->device_of);
    rs_map64_clear(&s->symbol_of);
    rs_map64_clear(&s->marker_of);
    rs_map64_clear(&s->counter_of);
    rs_map64_clear(&s->dispatches);
    s->kinds = NULL;
    s->symbols = NULL;
    s->n_kinds = s->kinds_capacity = s->n_symbols = s->symbols_capacity = 0;
    s->pid = 0;
}

static uint32_t intern(state *s, const rs_json_text *text)
{
    uint32_t id;
    if (!text->escaped && !text->high) {
        id = rs_strings_add(&s->events->strings, (const char *)text->bytes, text->length);
    } else {
        char *plain = rs_malloc(text->length * 3 + 1);
        id = plain ? rs_strings_add(&s->events->strings, plain,
                                    rs_json_decode(text->bytes, text->length, plain, NULL))
                   : RS_NO_STRING;
        rs_free(plain);
    }
    if (id == RS_NO_STRING) no_memory(s);
    return id;
}

static void take_metadata(state *s, const uint8_t *text, size_t n)
{
    static const char *const paths[] = {"pid"};
    rs_rocprof_field f[1];
    if (rs_fields_read(text, n, paths, 1, f)) s->pid = rs_field_int(&f[0], 0);
}

static void take_agent(state *s, const uint8_t *text, size_t n)
{
    static const char *const paths[] = {"id.handle",    "handle", "type", "logical_node_type_id",
                                        "product_name", "name"};
    rs_rocprof_field f[6];
    if (!rs_fields_read(text, n, paths, 6, f) || rs_field_int(&f[2], 0) != 2) return;
    int64_t handle = rs_field_int(f[0].text.bytes ? &f[0] : &f[1], RS_NO_VALUE);
    rs_file_info *info = &s->events->info;
    if (!s->first_process) {
        /* the machine's devices are listed by each process */
    } else {
        info->n_devices++;
        const rs_rocprof_field *name = f[4].string && f[4].text.length ? &f[4] : &f[5];
        if (info->device_name == RS_NO_STRING && name->string) info->device_name = intern(s, &name->text);
    }
    int64_t ordinal = rs_field_int(&f[3], RS_NO_VALUE);
    if (handle != RS_NO_VALUE && ordinal >= 0 && ordinal < UINT32_MAX)
        map_put(s, &s->device_of, handle, (uint32_t)ordinal);
}

static void take_counter(state *s, const uint8_t *text, size_t n)
{
    static const char *const paths[] = {"id.handle", "name"};
    rs_rocprof_field f[2];
    if (!rs_fields_read(text, n, paths, 2, f) || !f[1].string) return;
    int64_t handle = rs_field_int(&f[0], RS_NO_VALUE);
    uint32_t name = intern(s, &f[1].text);
    if (handle != RS_NO_VALUE && name != RS_NO_STRING) map_put(s, &s->counter_of, handle, name);
}

static void take_symbol(state *s, const uint8_t *text, size_t n)
{
    static const char *const paths[] = {"kernel_id", "formatted_kernel_name", "demangled_kernel_name",
                                        "kernel_name", "arch_vgpr_count"};
    rs_rocprof_field f[5];
    if (!rs_fields_read(text, n, paths, 5, f)) return;
    int64_t id = rs_field_int(&f[0], RS_NO_VALUE);
    size_t best = 1;
    while (best < 4 && !(f[best].string && f[best].text.length)) best++;
    if (id == RS_NO_VALUE || best == 4) return;
    uint32_t name = intern(s, &f[best].text);
    if (name == RS_NO_STRING) return;
    if (!RS_GROW_ONE(s->symbols, s->n_symbols, s->symbols_capacity)) {
        no_memory(s);
        return;
    }
    s->symbols[s->n_symbols] = (symbol){name, rs_field_int(&f[4], RS_NO_VALUE)};
    map_put(s, &s->symbol_of, id, (uint32_t)s->n_symbols++);
}

/* {"kind": NAME, "operations": [NAME, ...]}: the position in the list is the kind's number. */
static bool take_kind(state *s, rs_json_reader *r)
{
    if (!RS_GROW_ONE(s->kinds, s->n_kinds, s->kinds_capacity)) return no_memory(s);
    api_kind *kind = &s->kinds[s->n_kinds++];
    *kind = (api_kind){.name = 0};
    while (rs_json_next(r) == RS_JSON_T_KEY) {
        bool is_kind = rs_json_is(r, "kind"), is_list = rs_json_is(r, "operations");
        rs_json_token t = rs_json_next(r);
        if (is_kind && t == RS_JSON_T_STRING) {
            kind->name = intern(s, &r->text);
        } else if (is_list && t == RS_JSON_T_ARRAY) {
            while ((t = rs_json_next(r)) == RS_JSON_T_STRING) {
                if (!RS_PUSH(kind->operations, kind->n, kind->capacity, intern(s, &r->text)))
                    return no_memory(s);
            }
            if (t != RS_JSON_T_ARRAY_END) return false;
        } else if (t == RS_JSON_T_OBJECT || t == RS_JSON_T_ARRAY) {
            if (!rs_json_leave(r)) return false;
        } else if (t == RS_JSON_T_ERROR) {
            return false;
        }
    }
    return rs_walk_going(&s->walk);
}

/* [{"key": correlation id, "value": message}, ...] */
static bool take_marker_text(state *s, rs_json_reader *r)
{
    int64_t key = RS_NO_VALUE;
    uint32_t value = RS_NO_STRING;
    while (rs_json_next(r) == RS_JSON_T_KEY) {
        bool is_key = rs_json_is(r, "key"), is_value = rs_json_is(r, "value");
        rs_json_token t = rs_json_next(r);
        if (is_key && t == RS_JSON_T_NUMBER && !rs_json_int(r->text.bytes, r->text.length, &key))
            key = RS_NO_VALUE;
        if (is_value && t == RS_JSON_T_STRING) value = intern(s, &r->text);
        if ((t == RS_JSON_T_OBJECT || t == RS_JSON_T_ARRAY) && !rs_json_leave(r)) return false;
        if (t == RS_JSON_T_ERROR) return false;
    }
    if (key != RS_NO_VALUE && value != RS_NO_STRING) map_put(s, &s->marker_of, key, value);
    return rs_walk_going(&s->walk);
}

static void take_strings(state *s, const uint8_t *text, size_t n)
{
    rs_json_reader r;
    rs_json_reader_init(&r, text, n);
    if (rs_json_next(&r) != RS_JSON_T_OBJECT) return;
    while (rs_json_next(&r) == RS_JSON_T_KEY && rs_walk_going(&s->walk)) {
        bool kinds = rs_json_is(&r, "buffer_records"), markers = rs_json_is(&r, "marker_api");
        if (!kinds && !markers) {
            if (!rs_json_skip_value(&r)) return;
            continue;
        }
        rs_json_token t = rs_json_next(&r);
        if (t == RS_JSON_T_OBJECT) {
            if (!rs_json_leave(&r)) return;
            continue;
        }
        if (t != RS_JSON_T_ARRAY) continue;
        while ((t = rs_json_next(&r)) == RS_JSON_T_OBJECT)
            if (!(kinds ? take_kind(s, &r) : take_marker_text(s, &r))) return;
        if (t != RS_JSON_T_ARRAY_END) return;
    }
}

/* ---- records ------------------------------------------------------------------------------------------ */

enum {
    F_KIND,
    F_OPERATION,
    F_THREAD,
    F_CORRELATION,
    F_PLAIN_CORRELATION,
    F_START,
    F_END,
    F_STREAM,
    F_AGENT,
    F_QUEUE,
    F_KERNEL,
    F_DISPATCH,
    F_LDS,
    F_BLOCK_X,
    F_BLOCK_Y,
    F_BLOCK_Z,
    F_GRID_X,
    F_GRID_Y,
    F_GRID_Z,
    F_BYTES,
    F_SOURCE,
    F_TARGET,
    N_FIELDS
};

#define RECORD_PATHS(BEFORE)                                                                                 \
    {                                                                                                        \
        BEFORE "kind", BEFORE "operation", BEFORE "thread_id", BEFORE "correlation_id.internal",             \
            BEFORE "correlation_id", BEFORE "start_timestamp", BEFORE "end_timestamp",                       \
            BEFORE "stream_id.handle", BEFORE "dispatch_info.agent_id.handle",                               \
            BEFORE "dispatch_info.queue_id.handle", BEFORE "dispatch_info.kernel_id",                        \
            BEFORE "dispatch_info.dispatch_id", BEFORE "dispatch_info.group_segment_size",                   \
            BEFORE "dispatch_info.workgroup_size.x", BEFORE "dispatch_info.workgroup_size.y",                \
            BEFORE "dispatch_info.workgroup_size.z", BEFORE "dispatch_info.grid_size.x",                     \
            BEFORE "dispatch_info.grid_size.y", BEFORE "dispatch_info.grid_size.z", BEFORE "bytes",          \
            BEFORE "src_agent_id.handle", BEFORE "dst_agent_id.handle",                                      \
    }

static const char *const record_paths[N_FIELDS] = RECORD_PATHS("");
/* Of a kernel's counters; the thread is named outside of it. */
static const char *const counted_paths[N_FIELDS] = RECORD_PATHS("dispatch_data.");

/* Which list a record stands in, what becomes of it. */
static const struct {
    const char *list, *category;
} lists[] = {
    {"kernel_dispatch", "kernel"},
    {"memory_copy", "gpu_memcpy"},
    {"hip_api", "hip_runtime"},
    {"hsa_api", "hsa_api"},
    {"marker_api", "user_annotation"},
    {"rccl_api", "rccl_api"},
    {"memory_allocation", "memory_allocation"},
    {"scratch_memory", "scratch_memory"},
};
#define N_LISTS (sizeof lists / sizeof *lists)

static int64_t device_of(const state *s, const rs_rocprof_field *agent)
{
    int64_t handle = rs_field_int(agent, RS_NO_VALUE);
    const uint32_t *ordinal = handle == RS_NO_VALUE ? NULL : rs_map64_get(&s->device_of, (uint64_t)handle);
    return ordinal ? (int64_t)*ordinal : RS_NO_VALUE;
}

static void name_kernel(state *s, const rs_rocprof_field *f, rs_native *r, char room[40])
{
    int64_t id = rs_field_int(&f[F_KERNEL], RS_NO_VALUE);
    const uint32_t *index = id == RS_NO_VALUE ? NULL : rs_map64_get(&s->symbol_of, (uint64_t)id);
    if (index) {
        r->name_id = s->symbols[*index].name;
        r->registers = s->symbols[*index].registers;
        return;
    }
    r->name_length = (size_t)snprintf(room, 40, "kernel %" PRId64, id == RS_NO_VALUE ? -1 : id);
    r->name = room;
    rs_problems_add(&s->events->problems, s->file, -1, RS_WARNING, "unnamed_kernel",
                    "a kernel has no symbol in the file; it is named by its number", RS_NO_OFFSET);
}

static void name_call(state *s, const rs_rocprof_field *f, rs_native *r, const char *otherwise)
{
    int64_t kind = rs_field_int(&f[F_KIND], -1), operation = rs_field_int(&f[F_OPERATION], -1);
    r->name = otherwise;
    r->name_length = strlen(otherwise);
    if (kind < 0 || (uint64_t)kind >= s->n_kinds) return;
    const api_kind *k = &s->kinds[kind];
    if (operation < 0 || (uint64_t)operation >= k->n) return;
    r->name = NULL;
    r->name_id = k->operations[operation];
}

static void fill_dispatch(state *s, const rs_rocprof_field *f, rs_native *r, char room[40])
{
    name_kernel(s, f, r, room);
    r->device = device_of(s, &f[F_AGENT]);
    r->shared_memory = rs_field_int(&f[F_LDS], RS_NO_VALUE);
    if (r->stream == RS_NO_VALUE) r->stream = rs_field_int(&f[F_QUEUE], RS_NO_VALUE);
    for (int i = 0; i < 3; i++) {
        r->block[i] = rs_field_int(&f[F_BLOCK_X + i], i ? 1 : RS_NO_VALUE);
        r->grid[i] = rs_field_int(&f[F_GRID_X + i], i ? 1 : RS_NO_VALUE);
    }
    rs_native_grid_of_items(r);
}

static uint32_t add_kernel(state *s, const rs_rocprof_field *f, rs_native *r, uint64_t offset)
{
    char room[40];
    uint32_t row = RS_NO_ROW;
    fill_dispatch(s, f, r, room);
    s->walk.status = rs_native_add_dispatch(s->events, s->file, r, offset, &s->dispatches,
                                            rs_field_int(&f[F_DISPATCH], RS_NO_VALUE), &row, s->walk.err);
    return row;
}

static void set_times(state *s, const rs_rocprof_field *f, size_t list, rs_native *r)
{
    r->category = lists[list].category;
    r->pid = s->pid;
    r->tid = rs_field_int(&f[F_THREAD], 0);
    r->correlation =
        rs_field_int(&f[f[F_CORRELATION].text.bytes ? F_CORRELATION : F_PLAIN_CORRELATION], RS_NO_VALUE);
    r->start = rs_field_int(&f[F_START], RS_NO_TIME);
    r->end = rs_field_int(&f[F_END], RS_NO_TIME);
    if (list < 2) r->stream = rs_field_int(&f[F_STREAM], RS_NO_VALUE);
}

/* A counter that was read in a kernel, in several parts of the device. */
typedef struct counted {
    uint32_t name;
    double value;
} counted;

typedef struct counted_list {
    counted *items;
    size_t n, capacity;
} counted_list;

/* Values of parts of the device add up. A kernel has few counters. */
static bool add_counted(counted_list *all, uint32_t name, double value)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].name == name) {
            all->items[i].value += value;
            return true;
        }
    return RS_PUSH(all->items, all->n, all->capacity, (counted){name, value});
}

/* The value of the key that was read as a number; what else it is, is left. false: the text is no JSON. */
static bool number_of(rs_json_reader *r, double *out)
{
    rs_json_token t = rs_json_next(r);
    if (t == RS_JSON_T_OBJECT || t == RS_JSON_T_ARRAY) return rs_json_leave(r);
    if (t == RS_JSON_T_NUMBER && !rs_json_real(r->text.bytes, r->text.length, out)) *out = (double)NAN;
    return t != RS_JSON_T_ERROR;
}

/* {"counter_id": {"handle": N}, "value": X} */
static bool read_record(state *s, rs_json_reader *r, counted_list *all)
{
    double handle = (double)NAN, value = (double)NAN;
    rs_json_token t;
    while ((t = rs_json_next(r)) == RS_JSON_T_KEY) {
        bool is_id = rs_json_is(r, "counter_id"), is_value = rs_json_is(r, "value");
        if (!is_id) {
            double other;
            if (!number_of(r, is_value ? &value : &other)) return false;
            continue;
        }
        if (rs_json_next(r) != RS_JSON_T_OBJECT) return false;
        while ((t = rs_json_next(r)) == RS_JSON_T_KEY) {
            double other;
            if (!number_of(r, rs_json_is(r, "handle") ? &handle : &other)) return false;
        }
        if (t != RS_JSON_T_OBJECT_END) return false;
    }
    bool known = handle >= 0 && handle < 0x1p53 && isfinite(value);
    const uint32_t *name = known ? rs_map64_get(&s->counter_of, (uint64_t)handle) : NULL;
    if (name && !add_counted(all, *name, value)) return no_memory(s);
    return t == RS_JSON_T_OBJECT_END;
}

/* {..., "records": [...]} */
static void read_counted(state *s, const uint8_t *text, size_t n, counted_list *all)
{
    rs_json_reader r;
    rs_json_reader_init(&r, text, n);
    if (rs_json_next(&r) != RS_JSON_T_OBJECT) return;
    while (rs_json_next(&r) == RS_JSON_T_KEY) {
        if (!rs_json_is(&r, "records")) {
            if (!rs_json_skip_value(&r)) return;
            continue;
        }
        if (rs_json_next(&r) != RS_JSON_T_ARRAY) return;
        while (rs_json_next(&r) == RS_JSON_T_OBJECT)
            if (all->n >= RS_MAX_COUNTERS || !read_record(s, &r, all)) return;
    }
}

/* A kernel and its counters, which come before the list of kernels. */
static void take_counted(state *s, size_t which, const uint8_t *text, size_t n, uint64_t offset)
{
    rs_rocprof_field f[N_FIELDS];
    rs_native r = RS_NATIVE_NONE;
    counted_list all = {0};
    (void)which;
    if (!rs_fields_read(text, n, counted_paths, N_FIELDS, f) || !f[F_START].text.bytes) return;
    set_times(s, f, 0, &r);
    uint32_t row = add_kernel(s, f, &r, offset);
    if (s->walk.status == RS_OK) read_counted(s, text, n, &all);
    for (size_t i = 0; s->walk.status == RS_OK && row != RS_NO_ROW && i < all.n; i++)
        s->walk.status =
            rs_events_add_counter(s->events, all.items[i].name, row, all.items[i].value, s->walk.err);
    rs_free(all.items);
}

static void take_record(state *s, size_t list, const uint8_t *text, size_t n, uint64_t offset)
{
    rs_rocprof_field f[N_FIELDS];
    if (!rs_fields_read(text, n, record_paths, N_FIELDS, f)) {
        s->events->n_lost++;
        rs_problems_add(&s->events->problems, s->file, -1, RS_LOSS, "bad_record",
                        "a record is no object and was left out", offset);
        return;
    }
    rs_native r = RS_NATIVE_NONE;
    set_times(s, f, list, &r);
    if (list == 0) {
        add_kernel(s, f, &r, offset);
        return;
    }
    name_call(s, f, &r, lists[list].category);
    r.bytes = rs_field_int(&f[F_BYTES], RS_NO_VALUE);
    if (list == 1) {
        r.device = device_of(s, &f[F_TARGET]);
        if (r.device == RS_NO_VALUE) r.device = device_of(s, &f[F_SOURCE]);
    }
    const uint32_t *message = list == 4 && r.correlation != RS_NO_VALUE
                                  ? rs_map64_get(&s->marker_of, (uint64_t)r.correlation)
                                  : NULL;
    if (message) {
        const rs_string *name = &s->events->strings.items[*message];
        r.name = name->text;
        r.name_length = name->length;
        s->walk.status = rs_native_name_range(s->events, &r, true, s->walk.err);
        if (s->walk.status != RS_OK) return;
    }
    /* only calls and GPU work are linked by correlation */
    if (list > 2) r.correlation = RS_NO_VALUE;
    s->walk.status = rs_native_add(s->events, s->file, &r, offset, s->walk.err);
}

/* ---- the document ------------------------------------------------------------------------------------- */

typedef void (*element_fn)(state *s, size_t which, const uint8_t *text, size_t n, uint64_t offset);

static void each_element(state *s, element_fn use, size_t which)
{
    rs_walk *w = &s->walk;
    const uint8_t *text;
    size_t n;
    if (rs_walk_peek(w) != '[') {
        rs_walk_value(w, &text, &n);
        return;
    }
    w->at++;
    for (bool more = rs_walk_first(w, ']'); more; more = rs_walk_next(w, ']')) {
        if (!rs_walk_value(w, &text, &n)) return;
        if (use) use(s, which, text, n, rs_walk_offset(w) - n);
        if (!rs_walk_going(w)) return;
    }
}

static void on_agent(state *s, size_t which, const uint8_t *text, size_t n, uint64_t offset)
{
    (void)which;
    (void)offset;
    take_agent(s, text, n);
}

static void on_counter(state *s, size_t which, const uint8_t *text, size_t n, uint64_t offset)
{
    (void)which;
    (void)offset;
    take_counter(s, text, n);
}

static void on_symbol(state *s, size_t which, const uint8_t *text, size_t n, uint64_t offset)
{
    (void)which;
    (void)offset;
    take_symbol(s, text, n);
}

static void take_records(state *s, bool wanted)
{
    rs_walk *w = &s->walk;
    const uint8_t *text;
    char key[RS_WALK_KEY];
    size_t n;
    if (rs_walk_peek(w) != '{') {
        rs_walk_value(w, &text, &n);
        return;
    }
    w->at++;
    for (bool more = rs_walk_first(w, '}'); more && rs_walk_key(w, key); more = rs_walk_next(w, '}')) {
        size_t list = 0;
        while (list < N_LISTS && strcmp(lists[list].list, key) != 0) list++;
        bool counters = !wanted && strcmp(key, "counter_collection") == 0;
        each_element(s, counters ? take_counted : wanted && list < N_LISTS ? take_record : NULL, list);
        if (!rs_walk_going(w)) return;
    }
}

static void take_process(state *s)
{
    rs_walk *w = &s->walk;
    const uint8_t *text;
    char key[RS_WALK_KEY];
    size_t n;
    if (rs_walk_peek(w) != '{') {
        uint64_t offset = rs_walk_offset(w);
        if (!rs_walk_value(w, &text, &n)) return;
        rs_problems_add(&s->events->problems, s->file, -1, RS_LOSS, "bad_process",
                        "what should be a process is no object; its records are lost", offset);
        return;
    }
    w->at++;
    for (bool more = rs_walk_first(w, '}'); more && rs_walk_key(w, key); more = rs_walk_next(w, '}')) {
        if (strcmp(key, "metadata") == 0) {
            if (rs_walk_value(w, &text, &n)) take_metadata(s, text, n);
        } else if (strcmp(key, "strings") == 0) {
            if (rs_walk_value(w, &text, &n)) take_strings(s, text, n);
        } else if (strcmp(key, "agents") == 0) {
            each_element(s, on_agent, 0);
        } else if (strcmp(key, "kernel_symbols") == 0) {
            each_element(s, on_symbol, 0);
        } else if (strcmp(key, "counters") == 0) {
            each_element(s, on_counter, 0);
        } else if (strcmp(key, "buffer_records") == 0 || strcmp(key, "callback_records") == 0) {
            take_records(s, key[0] == 'b');
        } else {
            each_element(s, NULL, 0);
        }
        if (!rs_walk_going(w)) return;
    }
}

static void take_document(state *s)
{
    rs_walk *w = &s->walk;
    const uint8_t *text;
    char key[RS_WALK_KEY];
    size_t n;
    if (!rs_walk_byte(w, '{')) return;
    for (bool more = rs_walk_first(w, '}'); more && rs_walk_key(w, key); more = rs_walk_next(w, '}')) {
        if (strcmp(key, "rocprofiler-sdk-tool") != 0 || rs_walk_peek(w) != '[') {
            rs_walk_value(w, &text, &n);
        } else {
            w->at++;
            for (bool next = rs_walk_first(w, ']'); next; next = rs_walk_next(w, ']')) {
                take_process(s);
                process_clear(s);
                s->first_process = false;
                if (!rs_walk_going(w)) return;
            }
        }
        if (!rs_walk_going(w)) return;
    }
}

static void report_end(state *s, rs_source *source)
{
    rs_events *e = s->events;
    e->n_bytes = rs_walk_offset(&s->walk);
    e->truncated = s->walk.ended;
    rs_source_report_end(source, -1, &e->problems);
    if (s->walk.bad)
        rs_problems_add(&e->problems, s->file, -1, RS_LOSS, "bad_json",
                        "the text is no JSON from here on; the records before it were kept", e->n_bytes);
    else if (s->walk.ended)
        rs_problems_add(&e->problems, s->file, -1, RS_LOSS, "truncated",
                        "the text breaks off; the records before were kept", e->n_bytes);
}

rs_status rs_rocprof_json_load(rs_source *source, const rs_load_settings *settings, rs_events **out,
                               rs_error *err)
{
    *out = NULL;
    state s = {.file = rs_source_name(source), .first_process = true};
    s.walk = (rs_walk){.settings = settings, .err = err};
    s.walk.limits.max_depth = settings->max_depth ? settings->max_depth : RS_JSON_DEFAULT_DEPTH;
    s.walk.limits.max_string = settings->max_string ? settings->max_string : RS_JSON_DEFAULT_STRING;
    rs_status status = rs_events_create(settings->columns, settings->max_memory, &s.events, err);
    if (status != RS_OK) return status;
    s.events->packing = rs_packing_name(rs_source_packing(source));
    s.events->form = rs_format_rocprof_json.title;
    status = rs_windows_open(source, settings->threads > 1, MAX_WINDOW, &s.walk.windows, err);
    if (status == RS_OK) status = rs_windows_next(s.walk.windows, 0, &s.walk.now, err);
    s.walk.status = status;
    if (status == RS_OK) {
        take_document(&s);
        status = s.walk.status;
    }
    process_clear(&s);
    if (status == RS_OK) status = rs_events_sort_counters(s.events, err);
    if (status == RS_OK) report_end(&s, source);
    rs_windows_close(s.walk.windows);
    if (status != RS_OK) {
        rs_events_free(s.events);
        return status;
    }
    *out = s.events;
    return RS_OK;
}

static bool is_rocprof(const uint8_t *text, size_t n)
{
    static const char mark[] = "\"rocprofiler-sdk-tool\"";
    const uint8_t *end = text + n, *p = rs_json_space(text, end);
    if (p == end || *p != '{') return false;
    p = rs_json_space(p + 1, end);
    return (size_t)(end - p) >= sizeof mark - 1 && memcmp(p, mark, sizeof mark - 1) == 0;
}

const rs_format rs_format_rocprof_json = {.name = "rocprof_json",
                                          .title = "rocprofv3 JSON",
                                          .sniff = is_rocprof,
                                          .load = rs_rocprof_json_load,
                                          .run_name = rs_rocprof_json_name,
                                          .remedies = rs_rocprof_remedies};
