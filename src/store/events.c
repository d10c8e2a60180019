/* Sections: what is short (META), all texts (TEXTS), and each array of the columns by itself. Whatever an entry says is
 * checked, as the bytes may come from anywhere: ids are in their lists, rows ascend and exist. */
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

static const rs_field thread_fields[] = {RS_FIELDS(rs_thread, pid, tid, pid_text, tid_text)};
static const rs_layout thread_layout = RS_LAYOUT(rs_thread, thread_fields);
static const rs_field device_fields[] = {RS_FIELDS(rs_device, id, name, units, memory, major, minor)};
static const rs_layout device_layout = RS_LAYOUT(rs_device, device_fields);
static const rs_field document_fields[] = {RS_FIELDS(rs_document, first_row, rank)};
static const rs_layout document_layout = RS_LAYOUT(rs_document, document_fields);
static const rs_field category_fields[] = {RS_FIELD(rs_category, name)};
static const rs_layout category_layout = RS_LAYOUT(rs_category, category_fields);
static const rs_field name_fields[] = {RS_FIELDS(rs_other_name, text, first_row)};
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

static void write_meta(rs_wire_writer *w, const rs_events *e, const uint8_t *rows_of)
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
        rs_wire_put_unsigned(w, rows_of[i]);
    }
    rs_wire_put_unsigned(w, e->n_counters);
    for (size_t i = 0; i < e->n_counters; i++) {
        rs_wire_put_unsigned(w, e->counters[i].name);
        rs_wire_put_unsigned(w, e->counters[i].values.n);
    }
    rs_wire_put_unsigned(w, e->others.n);
    write_list(w, &name_layout, e->others.names, e->others.n_names);
    write_problems(w, &e->problems);
    rs_wire_put_unsigned(w, e->one_rank);
    rs_wire_put_fixed(w, e->one_rank_by);
}

/* Lengths, then the bytes of all. */
static void write_texts(rs_wire_writer *w, const rs_strings *strings)
{
    for (size_t i = 0; i < strings->n; i++) rs_wire_put_unsigned(w, strings->items[i].length);
    for (size_t i = 0; i < strings->n; i++) rs_wire_put(w, strings->items[i].text, strings->items[i].length);
}

/* ---- arrays ----------------------------------------------------------------------------------------------- */

typedef enum array_rule { ANY, BELOW, ASCENDING, NOT_DESCENDING } array_rule;

/* One array of the events, where its address stands and what its values must satisfy. */
typedef struct array {
    uint32_t part;
    void **slot;
    size_t n;
    uint8_t size;
    uint8_t rule; /* array_rule, of whole numbers of `size` bytes */
    uint64_t limit;
    size_t at; /* in the memory of all */
} array;

#define MOST_ARRAYS (6 + 4 + 2 * RS_N_COLUMNS + 2 * MOST_COUNTERS)

typedef struct array_list {
    array items[MOST_ARRAYS];
    size_t n;
    /* Arguments of the same events, such as all those of kernels, have the same rows. These are kept once, with the
     * first column that has them. */
    uint8_t rows_of[RS_N_COLUMNS];
} array_list;

_Static_assert(RS_N_COLUMNS <= UINT8_MAX, "rows_of");

/* A pointer to any array: all of them are had and set as bytes. */
static void *address(void **slot)
{
    void *p;
    memcpy(&p, slot, sizeof p);
    return p;
}

static void set_address(void **slot, const void *p)
{
    memcpy(slot, &p, sizeof p);
}

static void add_array(array_list *list, uint32_t part, void *slot, size_t n, size_t size, array_rule rule,
                      uint64_t limit)
{
    if (n) list->items[list->n++] = (array){part, slot, n, (uint8_t)size, (uint8_t)rule, limit, 0};
}

static size_t cell_size(const rs_sparse *s, rs_column_type type)
{
    return type == RS_COLUMN_REAL || s->is_wide ? 8 : 4;
}

static void find_shared_rows(const rs_events *e, array_list *list)
{
    for (size_t i = 0; i < RS_N_COLUMNS; i++) {
        const rs_sparse *s = &e->args[i];
        list->rows_of[i] = (uint8_t)i;
        for (size_t k = 0; k < i && s->n && list->rows_of[i] == i; k++)
            if (list->rows_of[k] == k && e->args[k].n == s->n &&
                memcmp(e->args[k].rows, s->rows, s->n * sizeof *s->rows) == 0)
                list->rows_of[i] = (uint8_t)k;
    }
}

/* The first column that has the same rows as this one, and is itself among the wanted ones: it holds them for both. */
static size_t holder_of(const array_list *list, uint64_t wanted, size_t column)
{
    for (size_t k = 0; k < column; k++)
        if ((wanted >> k & 1) && list->rows_of[k] == list->rows_of[column]) return k;
    return column;
}

/* Every array of these columns, in the order in which they are written. */
static void list_arrays(rs_events *e, uint64_t wanted, array_list *list)
{
    list->n = 0;
    add_array(list, PART_CORE, &e->start, e->n, 8, ANY, 0);
    add_array(list, PART_CORE + 1, &e->duration, e->n, 8, ANY, 0);
    add_array(list, PART_CORE + 2, &e->name, e->n, 4, BELOW, e->strings.n);
    add_array(list, PART_CORE + 3, &e->thread, e->n, 4, BELOW, e->n_threads);
    add_array(list, PART_CORE + 4, &e->category, e->n, 2, BELOW, e->n_categories);
    add_array(list, PART_CORE + 5, &e->phase, e->n, 1, ANY, 0);
    rs_others *o = &e->others;
    add_array(list, PART_OTHERS, &o->rows, o->n, 4, NOT_DESCENDING, e->n);
    add_array(list, PART_OTHERS + 1, &o->name, o->n, 2, BELOW, o->n_names);
    add_array(list, PART_OTHERS + 2, &o->kind, o->n, 1, BELOW, RS_N_OTHER_KINDS);
    add_array(list, PART_OTHERS + 3, &o->value, o->n, 8, ANY, 0);
    for (size_t i = 0; i < RS_N_COLUMNS; i++) {
        rs_column_type type = rs_column_infos[i].type;
        rs_sparse *s = &e->args[i];
        if (!(wanted >> i & 1)) continue;
        if (holder_of(list, wanted, i) == i)
            add_array(list, PART_ARGUMENTS + 2 * (uint32_t)list->rows_of[i], &s->rows, s->n, 4, ASCENDING,
                      e->n);
        add_array(list, PART_ARGUMENTS + 2 * (uint32_t)i + 1, &s->wide, s->n, cell_size(s, type),
                  type == RS_COLUMN_TEXT ? BELOW : ANY, e->strings.n);
    }
    for (size_t i = 0; i < e->n_counters; i++) {
        rs_sparse *s = &e->counters[i].values;
        add_array(list, PART_COUNTERS + 2 * (uint32_t)i, &s->rows, s->n, 4, ASCENDING, e->n);
        add_array(list, PART_COUNTERS + 2 * (uint32_t)i + 1, &s->reals, s->n, 8, ANY, 0);
    }
}

/* Blocks whose length the compiler knows become vector instructions. */
#define BLOCK 32
#define CHECK_BELOW(type)                                                                                    \
    do {                                                                                                     \
        const type *v = values;                                                                              \
        type most[BLOCK] = {0}, greatest = 0;                                                                \
        size_t i = from;                                                                                     \
        for (; i + BLOCK <= to; i += BLOCK)                                                                  \
            for (size_t k = 0; k < BLOCK; k++) most[k] = v[i + k] > most[k] ? v[i + k] : most[k];            \
        for (; i < to; i++) greatest = v[i] > greatest ? v[i] : greatest;                                    \
        for (i = 0; i < BLOCK; i++) greatest = most[i] > greatest ? most[i] : greatest;                      \
        return greatest < a->limit;                                                                          \
    } while (0)

static bool is_below(const array *a, const void *values, size_t from, size_t to)
{
    if (a->size == 1) CHECK_BELOW(uint8_t);
    if (a->size == 2) CHECK_BELOW(uint16_t);
    CHECK_BELOW(uint32_t);
}

#define CHECK_ORDER(compare)                                                                                 \
    do {                                                                                                     \
        uint32_t wrong[BLOCK] = {0}, any = 0;                                                                \
        size_t i = from ? from : 1;                                                                          \
        for (; i + BLOCK <= to; i += BLOCK)                                                                  \
            for (size_t k = 0; k < BLOCK; k++) wrong[k] |= v[i + k] compare v[i + k - 1];                    \
        for (; i < to; i++) any |= v[i] compare v[i - 1];                                                    \
        for (i = 0; i < BLOCK; i++) any |= wrong[i];                                                         \
        return !any;                                                                                         \
    } while (0)

static bool ascends(const uint32_t *v, size_t from, size_t to)
{
    CHECK_ORDER(<=);
}

static bool never_descends(const uint32_t *v, size_t from, size_t to)
{
    CHECK_ORDER(<);
}

/* Whether numbers, of which those before have been looked at, are as the array's rule says. */
static bool obeys(void *context, const void *values, size_t from_byte, size_t to_byte)
{
    const array *a = context;
    const uint32_t *rows = values;
    size_t from = from_byte / a->size, to = to_byte / a->size;
    switch ((array_rule)a->rule) {
    case ANY: return true;
    case BELOW: return is_below(a, values, from, to);
    case ASCENDING: return rows[to - 1] < a->limit && ascends(rows, from, to);
    case NOT_DESCENDING: return rows[to - 1] < a->limit && never_descends(rows, from, to);
    }
    return false;
}

/* ---- writing ---------------------------------------------------------------------------------------------- */

struct rs_events_draft {
    rs_events *e;
    rs_wire_writer meta, texts;
    array_list list;
    rs_entry_part parts[MOST_ARRAYS + 2];
};

/* All that is read of the events but their arrays is read here: the rest may happen next to an analysis. */
rs_events_draft *rs_stored_events_draft(rs_events *e)
{
    if (e->n_counters > MOST_COUNTERS || e->problems.n_dropped) return NULL;
    if (!static_text(e->packing) || !static_text(e->form)) return NULL;
    rs_events_draft *d = rs_calloc(1, sizeof *d);
    if (!d) return NULL;
    d->e = e;
    rs_events_hold(e);
    find_shared_rows(e, &d->list);
    list_arrays(e, RS_ALL_COLUMNS, &d->list);
    write_meta(&d->meta, e, d->list.rows_of);
    write_texts(&d->texts, &e->strings);
    if (!d->meta.out_of_memory && !d->texts.out_of_memory) return d;
    rs_stored_events_drop(d);
    return NULL;
}

void rs_stored_events_drop(rs_events_draft *d)
{
    if (!d) return;
    rs_wire_clear(&d->meta);
    rs_wire_clear(&d->texts);
    rs_events_free(d->e);
    rs_free(d);
}

bool rs_stored_events_write(rs_events_draft *d, const char *folder, const rs_entry_key *key, bool in_place)
{
    uint64_t size;
    size_t n = 2;
    d->parts[0] = (rs_entry_part){.id = PART_META, .bytes = d->meta.bytes, .n = d->meta.n};
    d->parts[1] = (rs_entry_part){.id = PART_TEXTS, .bytes = d->texts.bytes, .n = d->texts.n};
    for (size_t i = 0; i < d->list.n; i++) {
        const array *a = &d->list.items[i];
        d->parts[n++] =
            (rs_entry_part){.id = a->part, .number = a->size, .bytes = address(a->slot), .n = a->n * a->size};
    }
    return rs_entry_write(folder, key, in_place, d->parts, n, &size, NULL) == RS_OK;
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

typedef struct reading {
    rs_entry *entry;
    uint64_t wanted; /* columns */
    rs_wire_reader meta;
    rs_arena arena;
    rs_events *e;
    array_list list;
    uint8_t *room; /* of all arrays */
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

/* How long all columns are, whose arrays come later. */
static bool read_columns(reading *r, uint64_t n_rows)
{
    rs_events *e = r->e;
    uint64_t lengths[RS_N_COLUMNS];
    if (n_rows > RS_NO_ROW - 1) return false;
    e->n = e->capacity = (size_t)n_rows;
    for (size_t i = 0; i < RS_N_COLUMNS; i++) {
        rs_sparse *s = &e->args[i];
        lengths[i] = rs_wire_below(&r->meta, n_rows + 1);
        s->is_wide = rs_wire_bool(&r->meta);
        uint64_t k = rs_wire_below(&r->meta, i + 1);
        if (r->meta.bad || (s->is_wide && rs_column_infos[i].type != RS_COLUMN_INT)) return false;
        if (lengths[k] != lengths[i] || (k != i && r->list.rows_of[k] != k)) return false;
        r->list.rows_of[i] = (uint8_t)k;
        if (r->wanted >> i & 1) s->n = s->capacity = (size_t)lengths[i];
        if (!(r->wanted >> i & 1)) s->is_wide = false;
    }
    uint64_t n_counters = rs_wire_below(&r->meta, MOST_COUNTERS + 1);
    for (uint64_t i = 0; !r->meta.bad && i < n_counters; i++) {
        uint32_t name = (uint32_t)rs_wire_below(&r->meta, e->strings.n);
        uint64_t n = rs_wire_below(&r->meta, n_rows + 1);
        if (r->meta.bad || !n || rs_events_add_counter(e, name, 0, 0, NULL) != RS_OK ||
            e->n_counters != i + 1)
            return false;
        rs_sparse *s = &e->counters[i].values;
        rs_big_free(s->rows);
        rs_big_free(s->reals);
        *s = (rs_sparse){.n = (size_t)n, .capacity = (size_t)n};
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
    if (r->meta.bad) return false;
    if (!(r->wanted & RS_OTHER_ARGUMENTS)) return true;
    for (size_t i = 0; i < n_names; i++) {
        uint32_t name;
        if (!is_text(e, names[i].text, false)) return false;
        if (rs_other_name_add(e, names[i].text, names[i].first_row, &name, NULL) != RS_OK || name != i)
            return false;
    }
    o->n = o->capacity = (size_t)n;
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
    return !r->meta.bad && !r->e->problems.n_dropped;
}

static bool read_ranks(reading *r)
{
    r->e->one_rank = rs_wire_bool(&r->meta);
    r->e->one_rank_by = rs_wire_fixed(&r->meta);
    return !r->meta.bad && r->meta.p == r->meta.end;
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
    if (loaded & ~(RS_ALL_COLUMNS | RS_OTHER_ARGUMENTS) || r->wanted & ~loaded) return false;
    if (m->bad || rs_events_create(r->wanted, 0, &r->e, NULL) != RS_OK) return false;
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
           read_columns(r, n_rows) && read_others(r) && read_problems(r) && read_ranks(r);
}

/* One block of memory for all arrays, unless they are used where they lie: so columns with the same rows can share them.
 * Nothing is asked for before all arrays are known to be there, each as long as it has to be. */
static bool make_room(reading *r)
{
    rs_events *e = r->e;
    const uint8_t *lying = rs_entry_lying(r->entry);
    size_t room = 0;
    for (size_t i = 0; i < r->list.n; i++) {
        array *a = &r->list.items[i];
        size_t n;
        if (!rs_entry_part_size(r->entry, a->part, &n) || n != a->n * a->size) return false;
        a->at = room;
        room += (n + 63) & ~(size_t)63;
        e->memory += n;
    }
    if (!lying) r->room = rs_big_resize(NULL, room + 1);
    e->lent = lying ? lying : r->room;
    e->lent_end = lying ? lying + rs_entry_size(r->entry) : r->room + room;
    return e->lent != NULL;
}

static rs_status take_array(void *context, size_t item, unsigned worker, rs_error *err)
{
    reading *r = context;
    array *a = &r->list.items[item];
    const rs_entry_check check = {obeys, a};
    (void)worker;
    const void *bytes = NULL;
    if (!r->room)
        bytes = rs_entry_part_lying(r->entry, a->part, a->n * a->size, &check);
    else if (rs_entry_part_into(r->entry, a->part, a->n * a->size, r->room + a->at, &check))
        bytes = r->room + a->at;
    set_address(a->slot, bytes);
    return bytes ? RS_OK : rs_fail(err, RS_ERR_FORMAT, "a damaged column");
}

/* Columns with the rows of another one. */
static void share_rows(reading *r)
{
    rs_events *e = r->e;
    for (size_t i = 0; i < RS_N_COLUMNS; i++) {
        rs_sparse *s = &e->args[i];
        if ((r->wanted >> i & 1) && s->n && !s->rows)
            s->rows = e->args[holder_of(&r->list, r->wanted, i)].rows;
    }
}

/* No reader makes a span whose end is beyond the range. */
static bool time_obeys(const rs_events *e, size_t i)
{
    int64_t end;
    return e->start[i] == RS_NO_TIME || e->duration[i] == RS_NO_TIME ||
           !__builtin_add_overflow(e->start[i], e->duration[i], &end);
}

/* Blocks without any overflow are seen at once: both numbers have a sign that the sum has not. */
static bool times_obey(const rs_events *e)
{
    size_t i = 0;
    bool ok = true;
    for (; i + BLOCK <= e->n; i += BLOCK) {
        uint64_t any = 0;
        for (size_t k = 0; k < BLOCK; k++) {
            uint64_t a = (uint64_t)e->start[i + k], b = (uint64_t)e->duration[i + k];
            any |= ((a + b) ^ a) & ((a + b) ^ b);
        }
        for (size_t k = 0; any >> 63 && k < BLOCK; k++) ok &= time_obeys(e, i + k);
    }
    for (; i < e->n; i++) ok &= time_obeys(e, i);
    return ok;
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
    rs_events *e = r->e;
    list_arrays(e, r->wanted, &r->list);
    if (!make_room(r) || rs_workers_run(r->list.n, threads, take_array, r, NULL) != RS_OK) return false;
    share_rows(r);
    return times_obey(e) && others_obey(e);
}

static void close_lender(void *entry)
{
    rs_entry_close(entry);
}

uint64_t rs_stored_events_columns(rs_entry *entry)
{
    size_t n;
    const uint8_t *bytes = rs_entry_part_of(entry, PART_META, &n);
    if (!bytes) return 0;
    rs_wire_reader r = {.p = bytes, .end = bytes + n};
    return rs_wire_fixed(&r) & (RS_ALL_COLUMNS | RS_OTHER_ARGUMENTS);
}

rs_events *rs_stored_events_get(rs_entry *entry, uint64_t columns, unsigned threads)
{
    RS_LOCAL reading *r = rs_calloc(1, sizeof *r);
    if (!r) return NULL;
    r->entry = entry;
    r->wanted = columns;
    rs_events *e = NULL;
    if (read_all(r, threads)) {
        e = r->e;
        e->lender = r->room ? (void *)r->room : entry;
        e->give_back = r->room ? rs_big_free : close_lender;
        if (r->room)
            rs_entry_close(entry);
        else
            rs_entry_let_go(entry);
    } else {
        rs_events_free(r->e);
        rs_big_free(r->room);
    }
    rs_arena_clear(&r->arena);
    return e;
}
