/* Sections: what is short (META), all texts (TEXTS), and each array of the columns by itself. Whatever an entry says is
 * checked, as the bytes may come from anywhere: ids lie in their lists, rows ascend and exist. */
#include "store/events.h"

#include <string.h>

#include "base/layout.h"
#include "base/problems.h"
#include "base/workers.h"
#include "format/format.h"

enum {
    PART_META = 1,
    PART_TEXTS,
    PART_CORE = 10,   /* start, duration, name, thread, category, phase */
    PART_OTHERS = 20, /* rows, name, kind, value */
    PART_ARGUMENTS = 100,
    PART_COUNTERS = 400
};
#define MOST_COUNTERS 128 /* a trace with more of them is read as text */

/* ---- what is short ---------------------------------------------------------------------------------------- */

static const rs_field thread_fields[] = {RS_FIELD(rs_thread, pid), RS_FIELD(rs_thread, tid),
                                         RS_FIELD(rs_thread, pid_text), RS_FIELD(rs_thread, tid_text)};
static const rs_layout thread_layout = RS_LAYOUT(rs_thread, thread_fields);
static const rs_field device_fields[] = {RS_FIELD(rs_device, id),    RS_FIELD(rs_device, name),
                                         RS_FIELD(rs_device, units), RS_FIELD(rs_device, memory),
                                         RS_FIELD(rs_device, major), RS_FIELD(rs_device, minor)};
static const rs_layout device_layout = RS_LAYOUT(rs_device, device_fields);
static const rs_field document_fields[] = {RS_FIELD(rs_document, first_row), RS_FIELD(rs_document, rank)};
static const rs_layout document_layout = RS_LAYOUT(rs_document, document_fields);
static const rs_field category_fields[] = {RS_FIELD(rs_category, name)};
static const rs_layout category_layout = RS_LAYOUT(rs_category, category_fields);
static const rs_field name_fields[] = {RS_FIELD(rs_other_name, text), RS_FIELD(rs_other_name, first_row)};
static const rs_layout name_layout = RS_LAYOUT(rs_other_name, name_fields);

/* Numbers, texts (string ids or RS_NO_STRING) and truth values of rs_file_info. */
/* clang-format off */
#define INFO_NUMBERS(X)                                                                                      \
    X(rank) X(world_size) X(n_groups) X(group_size) X(base_time_ns) X(schema_version) X(cuda_runtime)        \
    X(cuda_driver) X(cupti) X(hip_runtime) X(hip_driver) X(roctracer_x1000) X(n_devices)                     \
    X(max_threads_per_block)
#define INFO_TEXTS(X)                                                                                        \
    X(backend) X(group_name) X(group_desc) X(group_ranks) X(host_name) X(display_unit) X(trace_name)         \
    X(trace_id) X(nccl_version) X(device_name)
#define INFO_TRUTHS(X) X(record_shapes) X(with_stack) X(with_flops) X(with_modules) X(profile_memory)
/* clang-format on */
#define INFO_FIELD(member) RS_FIELD(rs_file_info, member),
static const rs_field info_fields[] = {INFO_NUMBERS(INFO_FIELD) INFO_TEXTS(INFO_FIELD)
                                           INFO_TRUTHS(INFO_FIELD)};
static const rs_layout info_layout = RS_LAYOUT(rs_file_info, info_fields);
_Static_assert(sizeof info_fields / sizeof *info_fields == 29 && sizeof(rs_file_info) == 168,
               "what a file says about itself is stored member by member: list a new one above");

/* Texts that outlive the events: those that readers use. NULL: none of them. */
static const char *static_text(const char *text)
{
    static const char *const known[] = {"plain", "gzip", "zstd", "object", "array", "lines"};
    for (size_t i = 0; text && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], text) == 0) return known[i];
    for (size_t i = 0; text && rs_format_rows[i]; i++)
        if (strcmp(rs_format_rows[i]->title, text) == 0) return rs_format_rows[i]->title;
    return NULL;
}

static void write_list(rs_wire_writer *w, const rs_layout *layout, const void *items, size_t n)
{
    rs_wire_put_unsigned(w, n);
    for (size_t i = 0; i < n; i++) rs_layout_pack(layout, (const char *)items + i * layout->size, w);
}

static void write_problems(rs_wire_writer *w, const rs_problems *list)
{
    rs_wire_put_unsigned(w, list->n);
    for (size_t i = 0; i < list->n; i++) {
        rs_wire_put_problem(w, &list->items[i]);
        rs_wire_put_fixed(w, list->items[i].columns);
    }
}

static void write_meta(rs_wire_writer *w, const rs_events *e)
{
    rs_wire_put_fixed(w, e->loaded);
    rs_wire_put_unsigned(w, e->n);
    rs_wire_put_unsigned(w, e->strings.n);
    rs_wire_put_text(w, e->packing);
    rs_wire_put_text(w, e->form);
    rs_wire_put_text(w, e->format ? e->format->name : NULL);
    rs_wire_put_unsigned(w, e->n_rounded);
    rs_wire_put_unsigned(w, e->n_lost);
    rs_wire_put_unsigned(w, e->bytes_lost);
    rs_wire_put_unsigned(w, e->n_bytes);
    rs_wire_put_unsigned(w, e->truncated);
    rs_layout_pack(&info_layout, &e->info, w);
    write_list(w, &category_layout, e->categories, e->n_categories);
    write_list(w, &thread_layout, e->threads, e->n_threads);
    write_list(w, &document_layout, e->documents, e->n_documents);
    write_list(w, &device_layout, e->devices, e->n_devices);
    rs_wire_put_unsigned(w, e->n_log);
    for (size_t i = 0; i < e->n_log; i++) {
        rs_wire_put_unsigned(w, (uint8_t)e->log[i].level);
        rs_wire_put_unsigned(w, e->log[i].text);
    }
    for (size_t i = 0; i < RS_N_COLUMNS; i++) {
        rs_wire_put_unsigned(w, e->args[i].n);
        rs_wire_put_unsigned(w, e->args[i].is_wide);
    }
    rs_wire_put_unsigned(w, e->n_counters);
    for (size_t i = 0; i < e->n_counters; i++) {
        rs_wire_put_unsigned(w, e->counters[i].name);
        rs_wire_put_unsigned(w, e->counters[i].values.n);
    }
    rs_wire_put_unsigned(w, e->others.n);
    write_list(w, &name_layout, e->others.names, e->others.n_names);
    write_problems(w, &e->problems);
}

/* Lengths, then the bytes of all. */
static void write_texts(rs_wire_writer *w, const rs_strings *strings)
{
    for (size_t i = 0; i < strings->n; i++) rs_wire_put_unsigned(w, strings->items[i].length);
    for (size_t i = 0; i < strings->n; i++) rs_wire_put(w, strings->items[i].text, strings->items[i].length);
}

/* ---- arrays ----------------------------------------------------------------------------------------------- */

typedef enum array_rule { ANY, BELOW, ASCENDING, NOT_DESCENDING } array_rule;

/* One array of the events, where it lies and what its values must satisfy. */
typedef struct array {
    uint32_t part;
    void *at;
    size_t n;
    uint8_t size;
    uint8_t rule; /* array_rule, of whole numbers of `size` bytes */
    uint64_t limit;
} array;

#define MOST_ARRAYS (6 + 4 + 2 * RS_N_COLUMNS + 2 * MOST_COUNTERS)

typedef struct array_list {
    array items[MOST_ARRAYS];
    size_t n;
} array_list;

static void add_array(array_list *list, uint32_t part, void *at, size_t n, size_t size, array_rule rule,
                      uint64_t limit)
{
    if (n) list->items[list->n++] = (array){part, at, n, (uint8_t)size, (uint8_t)rule, limit};
}

static void add_sparse(array_list *list, uint32_t part, const rs_sparse *s, size_t size, bool texts,
                       const rs_events *e)
{
    add_array(list, part, s->rows, s->n, 4, ASCENDING, e->n);
    add_array(list, part + 1, s->wide, s->n, size, texts ? BELOW : ANY, e->strings.n);
}

static size_t cell_size(const rs_sparse *s, rs_column_type type)
{
    return type == RS_COLUMN_REAL || s->is_wide ? 8 : 4;
}

/* Every array of the events, in the order in which they are written. */
static void list_arrays(const rs_events *e, array_list *list)
{
    list->n = 0;
    add_array(list, PART_CORE, e->start, e->n, 8, ANY, 0);
    add_array(list, PART_CORE + 1, e->duration, e->n, 8, ANY, 0);
    add_array(list, PART_CORE + 2, e->name, e->n, 4, BELOW, e->strings.n);
    add_array(list, PART_CORE + 3, e->thread, e->n, 4, BELOW, e->n_threads);
    add_array(list, PART_CORE + 4, e->category, e->n, 2, BELOW, e->n_categories);
    add_array(list, PART_CORE + 5, e->phase, e->n, 1, ANY, 0);
    const rs_others *o = &e->others;
    add_array(list, PART_OTHERS, o->rows, o->n, 4, NOT_DESCENDING, e->n);
    add_array(list, PART_OTHERS + 1, o->name, o->n, 2, BELOW, o->n_names);
    add_array(list, PART_OTHERS + 2, o->kind, o->n, 1, BELOW, RS_N_OTHER_KINDS);
    add_array(list, PART_OTHERS + 3, o->value, o->n, 8, ANY, 0);
    for (size_t i = 0; i < RS_N_COLUMNS; i++) {
        rs_column_type type = rs_column_infos[i].type;
        add_sparse(list, PART_ARGUMENTS + 2 * (uint32_t)i, &e->args[i], cell_size(&e->args[i], type),
                   type == RS_COLUMN_TEXT, e);
    }
    for (size_t i = 0; i < e->n_counters; i++)
        add_sparse(list, PART_COUNTERS + 2 * (uint32_t)i, &e->counters[i].values, 8, false, e);
}

#define CHECK_BELOW(type)                                                                                    \
    do {                                                                                                     \
        const type *v = a->at;                                                                               \
        type most = 0;                                                                                       \
        for (size_t i = 0; i < a->n; i++) most = v[i] > most ? v[i] : most;                                  \
        return most < a->limit;                                                                              \
    } while (0)

static bool is_below(const array *a)
{
    if (a->size == 1) CHECK_BELOW(uint8_t);
    if (a->size == 2) CHECK_BELOW(uint16_t);
    CHECK_BELOW(uint32_t);
}

static bool obeys(const array *a)
{
    const uint32_t *rows = a->at;
    uint32_t wrong = 0;
    switch ((array_rule)a->rule) {
    case ANY: return true;
    case BELOW: return is_below(a);
    case ASCENDING:
        for (size_t i = 1; i < a->n; i++) wrong |= rows[i] <= rows[i - 1];
        break;
    case NOT_DESCENDING:
        for (size_t i = 1; i < a->n; i++) wrong |= rows[i] < rows[i - 1];
        break;
    }
    return !wrong && rows[a->n - 1] < a->limit;
}

/* ---- writing ---------------------------------------------------------------------------------------------- */

bool rs_stored_events_put(const char *folder, const rs_entry_key *key, const rs_events *e)
{
    if (e->n_counters > MOST_COUNTERS || e->problems.n_dropped) return false;
    if (!static_text(e->packing) || !static_text(e->form)) return false;
    rs_wire_writer meta = {0}, texts = {0};
    array_list *list = rs_malloc(sizeof *list);
    rs_entry_part *parts = rs_malloc((MOST_ARRAYS + 2) * sizeof *parts);
    bool ok = list && parts;
    if (ok) {
        uint64_t size;
        size_t n = 2;
        write_meta(&meta, e);
        write_texts(&texts, &e->strings);
        parts[0] = (rs_entry_part){PART_META, false, meta.bytes, meta.n};
        parts[1] = (rs_entry_part){PART_TEXTS, false, texts.bytes, texts.n};
        list_arrays(e, list);
        for (size_t i = 0; i < list->n; i++)
            parts[n++] = (rs_entry_part){list->items[i].part, false, list->items[i].at,
                                         list->items[i].n * list->items[i].size};
        ok = !meta.out_of_memory && !texts.out_of_memory &&
             rs_entry_write(folder, key, parts, n, &size, NULL) == RS_OK;
    }
    rs_wire_clear(&meta);
    rs_wire_clear(&texts);
    rs_free(list);
    rs_free(parts);
    return ok;
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

typedef struct reading {
    rs_entry *entry;
    rs_wire_reader meta;
    rs_arena arena;
    rs_events *e;
    array_list list;
    bool out_of_memory;
} reading;

static uint64_t is_text(const rs_events *e, uint32_t id, bool or_none)
{
    return id < e->strings.n || (or_none && id == RS_NO_STRING);
}

static bool read_texts(reading *r, uint64_t n)
{
    size_t size;
    const uint8_t *bytes = rs_entry_part_of(r->entry, PART_TEXTS, &size);
    if (!bytes || n > size || n == 0) return false;
    rs_wire_reader lengths = {.p = bytes, .end = bytes + size};
    for (uint64_t i = 0; i < n; i++) rs_wire_unsigned(&lengths);
    if (lengths.bad) return false;
    const char *text = (const char *)lengths.p;
    size_t left = rs_wire_left(&lengths);
    lengths.p = bytes;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t length = rs_wire_unsigned(&lengths);
        if (length > left || rs_strings_add(&r->e->strings, text, (size_t)length) != i) return false;
        text += length;
        left -= (size_t)length;
    }
    return left == 0;
}

/* A list in the arena. */
static void *read_list(reading *r, const rs_layout *layout, size_t *n)
{
    uint64_t count = rs_wire_unsigned(&r->meta);
    char *items = rs_wire_room(&r->meta, count, layout->size, layout->n);
    for (uint64_t i = 0; !r->meta.bad && i < count; i++) {
        const void *item = rs_layout_unpack(layout, &r->meta);
        if (item) memcpy(items + i * layout->size, item, layout->size);
    }
    *n = r->meta.bad ? 0 : (size_t)count;
    return r->meta.bad ? NULL : items;
}

/* The same, of memory that the events free. */
static void *own_list(reading *r, const rs_layout *layout, size_t *n, size_t *capacity)
{
    const void *items = read_list(r, layout, n);
    void *own = items ? rs_malloc(*n * layout->size + 1) : NULL;
    if (own && *n) memcpy(own, items, *n * layout->size);
    if (!own) {
        *n = 0;
        r->meta.bad = true;
    }
    *capacity = *n;
    return own;
}

static bool read_info(reading *r)
{
    const rs_file_info *info = rs_layout_unpack(&info_layout, &r->meta);
    if (!info) return false;
    r->e->info = *info;
#define TEXT_IS_KNOWN(member) &&is_text(r->e, info->member, true)
    return true INFO_TEXTS(TEXT_IS_KNOWN);
}

static bool read_names(reading *r)
{
    size_t n;
    rs_events *e = r->e;
    const rs_category *categories = read_list(r, &category_layout, &n);
    for (size_t i = 0; i < n; i++)
        if (!is_text(e, categories[i].name, false) || rs_events_category(e, categories[i].name) != i)
            return false;
    const rs_thread *threads = read_list(r, &thread_layout, &n);
    for (size_t i = 0; i < n; i++)
        if (!is_text(e, threads[i].pid_text, true) || !is_text(e, threads[i].tid_text, true) ||
            rs_events_thread(e, threads[i]) != i)
            return false;
    return !r->meta.bad;
}

static bool read_documents(reading *r, uint64_t n_rows)
{
    rs_events *e = r->e;
    e->documents = own_list(r, &document_layout, &e->n_documents, &e->documents_capacity);
    e->devices = own_list(r, &device_layout, &e->n_devices, &e->devices_capacity);
    for (size_t i = 0; i < e->n_documents; i++)
        if (e->documents[i].first_row > n_rows ||
            (i && e->documents[i].first_row < e->documents[i - 1].first_row))
            return false;
    for (size_t i = 0; i < e->n_devices; i++)
        if (!is_text(e, e->devices[i].name, true)) return false;
    uint64_t n_log = rs_wire_unsigned(&r->meta);
    if (n_log > rs_wire_left(&r->meta)) return false;
    e->log = rs_malloc((size_t)n_log * sizeof *e->log + 1);
    if (!e->log) return false;
    for (; e->n_log < n_log; e->n_log++) {
        e->log[e->n_log].level = (char)rs_wire_below(&r->meta, 128);
        e->log[e->n_log].text = (uint32_t)rs_wire_below(&r->meta, e->strings.n);
    }
    e->log_capacity = e->n_log;
    return !r->meta.bad;
}

/* Room for all columns, whose arrays are copied later. */
static bool read_columns(reading *r, uint64_t n_rows)
{
    rs_events *e = r->e;
    if (n_rows > RS_NO_ROW - 1 || rs_events_reserve(e, (size_t)n_rows, NULL) != RS_OK) return false;
    e->n = (size_t)n_rows;
    for (size_t i = 0; i < RS_N_COLUMNS; i++) {
        rs_sparse *s = &e->args[i];
        uint64_t n = rs_wire_below(&r->meta, n_rows + 1);
        s->is_wide = rs_wire_bool(&r->meta);
        if (r->meta.bad || (s->is_wide && rs_column_infos[i].type != RS_COLUMN_INT)) return false;
        if (n && rs_events_reserve_column(e, (rs_column_id)i, (size_t)n, NULL) != RS_OK) return false;
        s->n = (size_t)n;
    }
    uint64_t n_counters = rs_wire_below(&r->meta, MOST_COUNTERS + 1);
    for (uint64_t i = 0; !r->meta.bad && i < n_counters; i++) {
        uint32_t name = (uint32_t)rs_wire_below(&r->meta, e->strings.n);
        uint64_t n = rs_wire_below(&r->meta, n_rows + 1);
        if (r->meta.bad || !n || rs_events_add_counter(e, name, 0, 0, NULL) != RS_OK ||
            e->n_counters != i + 1)
            return false;
        rs_sparse *s = &e->counters[i].values;
        void *rows = rs_big_resize(s->rows, n * 4), *values = rows ? rs_big_resize(s->reals, n * 8) : NULL;
        if (rows) s->rows = rows;
        if (values) s->reals = values;
        if (!values) return false;
        s->n = s->capacity = (size_t)n;
    }
    return !r->meta.bad;
}

static bool read_others(reading *r)
{
    rs_events *e = r->e;
    rs_others *o = &e->others;
    size_t n_names;
    uint64_t n = rs_wire_below(&r->meta, rs_entry_size(r->entry));
    const rs_other_name *names = read_list(r, &name_layout, &n_names);
    if (r->meta.bad || (n && rs_others_reserve(e, (size_t)n, NULL) != RS_OK)) return false;
    for (size_t i = 0; i < n_names; i++) {
        uint32_t name;
        if (!is_text(e, names[i].text, false)) return false;
        if (rs_other_name_add(e, names[i].text, names[i].first_row, &name, NULL) != RS_OK || name != i)
            return false;
    }
    o->n = (size_t)n;
    return true;
}

static bool read_problems(reading *r)
{
    uint64_t n = rs_wire_unsigned(&r->meta);
    for (uint64_t i = 0; !r->meta.bad && i < n; i++) {
        rs_problem p = rs_wire_problem(&r->meta);
        p.columns = rs_wire_fixed(&r->meta);
        if (!r->meta.bad) rs_problems_adopt(&r->e->problems, &p);
    }
    return !r->meta.bad && r->meta.p == r->meta.end && !r->e->problems.n_dropped;
}

static const rs_format *format_of(const char *name)
{
    for (size_t i = 0; name && rs_format_rows[i]; i++)
        if (strcmp(rs_format_rows[i]->name, name) == 0) return rs_format_rows[i];
    return NULL;
}

static bool read_meta(reading *r)
{
    rs_wire_reader *m = &r->meta;
    uint64_t loaded = rs_wire_fixed(m), n_rows = rs_wire_unsigned(m), n_texts = rs_wire_unsigned(m);
    if (loaded & ~(RS_ALL_COLUMNS | RS_OTHER_ARGUMENTS)) return false;
    if (m->bad || rs_events_create(loaded, 0, &r->e, NULL) != RS_OK) return false;
    rs_events *e = r->e;
    e->packing = static_text(rs_wire_text(m));
    e->form = static_text(rs_wire_text(m));
    const char *format = rs_wire_text(m);
    e->format = format_of(format);
    e->n_rounded = rs_wire_unsigned(m);
    e->n_lost = rs_wire_unsigned(m);
    e->bytes_lost = rs_wire_unsigned(m);
    e->n_bytes = rs_wire_unsigned(m);
    e->truncated = rs_wire_bool(m);
    if (m->bad || !e->packing || !e->form || (format && !e->format)) return false;
    return read_texts(r, n_texts) && read_info(r) && read_names(r) && read_documents(r, n_rows) &&
           read_columns(r, n_rows) && read_others(r) && read_problems(r);
}

/* Each section is asked for by one thread only. */
static rs_status copy_array(void *context, size_t item, unsigned worker, rs_error *err)
{
    reading *r = context;
    const array *a = &r->list.items[item];
    size_t n;
    const void *bytes = rs_entry_part_of(r->entry, a->part, &n);
    (void)worker;
    if (!bytes || n != a->n * a->size) return rs_fail(err, RS_ERR_FORMAT, "a damaged column");
    memcpy(a->at, bytes, n);
    rs_entry_done_with(r->entry, a->part);
    return obeys(a) ? RS_OK : rs_fail(err, RS_ERR_FORMAT, "a damaged column");
}

/* No reader makes a span whose end is beyond the range. */
static bool times_obey(const rs_events *e)
{
    bool wrong = false;
    for (size_t i = 0; i < e->n; i++) {
        int64_t end;
        wrong |= e->start[i] != RS_NO_TIME && e->duration[i] != RS_NO_TIME &&
                 __builtin_add_overflow(e->start[i], e->duration[i], &end);
    }
    return !wrong;
}

/* What texts of other arguments say where their text stands. */
static bool others_obey(const rs_events *e)
{
    const rs_others *o = &e->others;
    for (size_t i = 0; i < o->n; i++)
        if (o->kind[i] == RS_OTHER_TEXT && (o->value[i] < 0 || (uint64_t)o->value[i] >= e->strings.n))
            return false;
    return true;
}

static bool read_all(reading *r, unsigned threads)
{
    size_t n;
    const uint8_t *bytes = rs_entry_part_of(r->entry, PART_META, &n);
    if (!bytes) return false;
    r->meta = (rs_wire_reader){.p = bytes, .end = bytes + n, .arena = &r->arena};
    if (!read_meta(r)) return false;
    list_arrays(r->e, &r->list);
    return rs_workers_run(r->list.n, threads, copy_array, r, NULL) == RS_OK && times_obey(r->e) &&
           others_obey(r->e);
}

uint64_t rs_stored_events_columns(rs_entry *entry)
{
    size_t n;
    const uint8_t *bytes = rs_entry_part_of(entry, PART_META, &n);
    if (!bytes) return 0;
    rs_wire_reader r = {.p = bytes, .end = bytes + n};
    return rs_wire_fixed(&r) & (RS_ALL_COLUMNS | RS_OTHER_ARGUMENTS);
}

rs_events *rs_stored_events_get(rs_entry *entry, unsigned threads)
{
    reading *r = rs_calloc(1, sizeof *r);
    if (!r) return NULL;
    r->entry = entry;
    rs_events *e = NULL;
    if (read_all(r, threads))
        e = r->e;
    else
        rs_events_free(r->e);
    rs_arena_clear(&r->arena);
    rs_free(r);
    return e;
}
