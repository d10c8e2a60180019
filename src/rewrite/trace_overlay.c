#include "rewrite/trace_overlay.h"

#include <stdio.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/strings.h"
#include "table/cells.h"

static bool has_rank(const rs_overlay *o, int64_t rank)
{
    for (size_t i = 0; i < o->n_ranks; i++)
        if (o->ranks[i] == rank) return true;
    return false;
}

static void write_text(rs_writer *out, const rs_table *t, size_t row, size_t at)
{
    size_t length;
    const char *text = rs_table_text(t, row, at, &length);
    rs_writer_json_string(out, text, length);
}

/* ---- counter tracks
 * ---------------------------------------------------------------------------------------- */

typedef struct counters {
    const rs_overlay *overlay;
    const rs_table *table;
    size_t row;
} counters;

static bool next_counter(void *context, const char *separator, rs_writer *out)
{
    counters *c = context;
    const rs_table *t = c->table;
    while (c->row < rs_table_n_rows(t) &&
           !has_rank(c->overlay, rs_table_int(t, c->row, rs_table_column_of(t, "rank"))))
        c->row++;
    if (c->row >= rs_table_n_rows(t)) return false;
    size_t row = c->row++, id = rs_table_column_of(t, "id");
    rs_writer_text(out, separator);
    rs_writer_text(out, "{\"ph\": \"C\", \"name\": ");
    write_text(out, t, row, rs_table_column_of(t, "name"));
    rs_writer_text(out, ", \"pid\": ");
    rs_writer_int(out, rs_table_int(t, row, rs_table_column_of(t, "pid")));
    if (!rs_table_is_null(t, row, id)) {
        rs_writer_text(out, ", \"id\": ");
        rs_writer_int(out, rs_table_int(t, row, id));
    }
    rs_writer_text(out, ", \"ts\": ");
    rs_writer_time(out, rs_table_int(t, row, rs_table_column_of(t, "ts_us")), RS_UNIT_US);
    rs_writer_text(out, ", \"args\": {");
    write_text(out, t, row, rs_table_column_of(t, "series"));
    rs_writer_text(out, ": ");
    rs_writer_real(out, rs_table_real(t, row, rs_table_column_of(t, "value")));
    rs_writer_text(out, "}}");
    return true;
}

/* ---- marked events
 * ------------------------------------------------------------------------------------------ */

/* Rows of a table by the position of the event they are about. */
typedef struct marks {
    rs_keyed *items; /* position and row */
    size_t n, capacity, at;
} marks;

static bool add_mark(marks *m, int64_t position, size_t row)
{
    return RS_APPEND(m, (rs_keyed){position, (uint32_t)row});
}

/* Whether the event is marked; m->at then is its first mark. Positions must not descend. */
static bool is_marked(marks *m, uint64_t position)
{
    while (m->at < m->n && (uint64_t)m->items[m->at].key < position) m->at++;
    return m->at < m->n && (uint64_t)m->items[m->at].key == position;
}

static bool is_word(const uint8_t *value, size_t length, const char *word)
{
    size_t n = strlen(word);
    return value && length == n + 2 && value[0] == '"' && memcmp(value + 1, word, n) == 0;
}

static bool is_member(const uint8_t *bytes, size_t n, const char *key, const char *word)
{
    const uint8_t *value;
    size_t length;
    rs_event_member(bytes, n, key, &value, &length);
    return is_word(value, length, word);
}

/* ---- the critical path
 * ---------------------------------------------------------------------------------------- */

/* Where the two ends of an arrow stand: process and thread as the file writes them. */
typedef struct places {
    rs_strings text; /* raw JSON of "pid": ..., "tid": ... */
    uint32_t *of;    /* by position in marks: string id */
} places;

typedef struct path {
    const rs_table *table;
    bool keep_all; /* events off the path stay too */
    marks marks;   /* value: which of the row's ends, row << 1 | target */
    places places;
    size_t row, next_id;
    bool arrow_end; /* the second half of row's arrow is next */
    bool failed;    /* out of memory */
} path;

static bool read_path(path *p, const rs_overlay *o)
{
    const rs_table *t = p->table;
    size_t rank = rs_table_column_of(t, "rank"),
           ends[2] = {rs_table_column_of(t, "source"), rs_table_column_of(t, "target")};
    if (rs_table_n_rows(t) > UINT32_MAX / 2) return false;
    for (size_t row = 0; row < rs_table_n_rows(t); row++) {
        if (!has_rank(o, rs_table_int(t, row, rank))) continue;
        for (size_t k = 0; k < 2; k++)
            if (!rs_table_is_null(t, row, ends[k]) &&
                !add_mark(&p->marks, rs_table_int(t, row, ends[k]), row << 1 | k))
                return false;
    }
    size_t n = 2 * rs_table_n_rows(t);
    p->places.of = rs_calloc(n + 1, sizeof *p->places.of);
    return p->places.of && rs_strings_init(&p->places.text) && rs_keyed_sort(p->marks.items, p->marks.n);
}

/* Every mark of the event learns its process and thread. */
static void note_place(path *p, uint64_t position, const uint8_t *bytes, size_t n)
{
    const uint8_t *pid, *tid;
    size_t pid_length, tid_length;
    rs_event_member(bytes, n, "pid", &pid, &pid_length);
    rs_event_member(bytes, n, "tid", &tid, &tid_length);
    if (!pid || !tid || pid_length > 200 || tid_length > 200) return;
    char text[440];
    int length = snprintf(text, sizeof text, "\"pid\": %.*s, \"tid\": %.*s", (int)pid_length,
                          (const char *)pid, (int)tid_length, (const char *)tid);
    uint32_t id = rs_strings_add(&p->places.text, text, (size_t)length);
    if (id == RS_NO_STRING) {
        p->failed = true;
        return;
    }
    for (size_t i = p->marks.at; i < p->marks.n && (uint64_t)p->marks.items[i].key == position; i++)
        p->places.of[p->marks.items[i].value] = id;
}

static bool is_on_path(const path *p)
{
    const marks *m = &p->marks;
    for (size_t i = m->at; i < m->n && m->items[i].key == m->items[m->at].key; i++)
        if (rs_table_int(p->table, m->items[i].value >> 1, rs_table_column_of(p->table, "critical")))
            return true;
    return false;
}

/* What stays: events on the path, whatever is no complete event, annotations and Python's frames. */
static bool path_event(void *context, uint64_t position, const uint8_t *bytes, size_t n,
                       const char *separator, rs_writer *out)
{
    static const char critical[] = "\"critical\": 1";
    path *p = context;
    bool marked = is_marked(&p->marks, position);
    if (marked) note_place(p, position, bytes, n);
    if (marked && is_on_path(p)) {
        rs_writer_text(out, separator);
        rs_event_write_with_arg(bytes, n, critical, sizeof critical - 1, out);
        return true;
    }
    if (!p->keep_all && is_member(bytes, n, "ph", "X") && !is_member(bytes, n, "cat", "user_annotation") &&
        !is_member(bytes, n, "cat", "python_function"))
        return false;
    rs_writer_text(out, separator);
    rs_writer_bytes(out, (const char *)bytes, n);
    return true;
}

static void write_arrow(path *p, size_t row, bool end, const char *separator, rs_writer *out)
{
    const rs_table *t = p->table;
    rs_writer_text(out, separator);
    rs_writer_text(out, "{\"ph\": ");
    rs_writer_text(out, end ? "\"f\", \"bp\": \"e\"" : "\"s\"");
    rs_writer_text(out, ", \"id\": ");
    rs_writer_uint(out, p->next_id);
    rs_writer_text(out, ", \"name\": \"critical_path\", \"cat\": ");
    write_text(out, t, row,
               rs_table_column_of(t, "type")); /* as HTA has it: a viewer can hide a kind of edges */
    rs_writer_text(out, ", ");
    rs_writer_text(out, p->places.text.items[p->places.of[row << 1 | end]].text);
    rs_writer_text(out, ", \"ts\": ");
    rs_writer_time(out, rs_table_int(t, row, rs_table_column_of(t, end ? "target_us" : "source_us")),
                   RS_UNIT_US);
    rs_writer_text(out, ", \"args\": {\"weight\": ");
    rs_writer_time(out, rs_table_int(t, row, rs_table_column_of(t, "weight")), RS_UNIT_US);
    rs_writer_text(out, rs_table_int(t, row, rs_table_column_of(t, "critical")) ? ", \"critical\": true"
                                                                                : ", \"critical\": false");
    rs_writer_text(out, ", \"type\": ");
    write_text(out, t, row, rs_table_column_of(t, "type"));
    rs_writer_text(out, "}}");
}

static bool next_arrow(void *context, const char *separator, rs_writer *out)
{
    path *p = context;
    const rs_table *t = p->table;
    if (p->arrow_end) {
        write_arrow(p, p->row++, true, separator, out);
        p->arrow_end = false;
        p->next_id++;
        return true;
    }
    for (; p->row < rs_table_n_rows(t); p->row++) {
        if (!rs_table_int(t, p->row, rs_table_column_of(t, "arrow"))) continue;
        /* an end whose event was not met has no place: it is the window's border, or of another file */
        if (!p->places.of[p->row << 1] || !p->places.of[p->row << 1 | 1]) continue;
        write_arrow(p, p->row, false, separator, out);
        p->arrow_end = true;
        return true;
    }
    return false;
}

/* ---- sequences
 * ------------------------------------------------------------------------------------------------- */

typedef struct sequences {
    const rs_table *table;
    marks marks;
    bool compress;
    rs_strings names; /* raw JSON of the names that were shortened, by their number */
    size_t next_name;
    bool listed, failed;
} sequences;

static bool read_marks(sequences *s, const rs_overlay *o)
{
    const rs_table *t = s->table;
    for (size_t row = 0; row < rs_table_n_rows(t) && row < UINT32_MAX; row++)
        if (has_rank(o, rs_table_int(t, row, rs_table_column_of(t, "rank"))) &&
            !add_mark(&s->marks, rs_table_int(t, row, rs_table_column_of(t, "index")), row))
            return false;
    return rs_strings_init(&s->names) && rs_keyed_sort(s->marks.items, s->marks.n);
}

/* The event's patterns as one member of its args. */
static void write_marked(sequences *s, const uint8_t *bytes, size_t n, rs_writer *out)
{
    /* the member is written through a writer of its own, into memory */
    const rs_table *t = s->table;
    const uint8_t *args;
    size_t length;
    rs_event_member(bytes, n, "args", &args, &length);
    bool object = args && length >= 2 && args[0] == '{';
    size_t at = object ? (size_t)(args - bytes) + 1 : n - 1;
    rs_writer_bytes(out, (const char *)bytes, at);
    if (!object) rs_writer_text(out, ",\"args\":{");
    rs_writer_text(out, "\"Patterns\": {");
    for (size_t i = s->marks.at, first = i;
         i < s->marks.n && s->marks.items[i].key == s->marks.items[first].key; i++) {
        if (i > first) rs_writer_text(out, ", ");
        write_text(out, t, s->marks.items[i].value, rs_table_column_of(t, "pattern"));
        rs_writer_text(out, ": ");
        rs_writer_int(out, rs_table_int(t, s->marks.items[i].value, rs_table_column_of(t, "count")));
    }
    rs_writer_char(out, '}');
    if (!object) {
        rs_writer_text(out, "}}");
        return;
    }
    size_t inner = at;
    while (inner < n &&
           (bytes[inner] == ' ' || bytes[inner] == '\n' || bytes[inner] == '\r' || bytes[inner] == '\t'))
        inner++;
    if (inner < n && bytes[inner] != '}') rs_writer_char(out, ',');
    rs_writer_bytes(out, (const char *)bytes + at, n - at);
}

static bool sequence_event(void *context, uint64_t position, const uint8_t *bytes, size_t n,
                           const char *separator, rs_writer *out)
{
    sequences *s = context;
    const uint8_t *name;
    size_t length;
    rs_writer_text(out, separator);
    if (is_marked(&s->marks, position)) {
        write_marked(s, bytes, n, out);
        return true;
    }
    rs_event_member(bytes, n, "name", &name, &length);
    if (!s->compress || !name || !is_member(bytes, n, "ph", "X")) {
        rs_writer_bytes(out, (const char *)bytes, n);
        return true;
    }
    uint32_t id = rs_strings_add(&s->names, (const char *)name, length);
    if (id == RS_NO_STRING) {
        s->failed = true;
        id = 0;
    }
    char number[24];
    snprintf(number, sizeof number, "\"%u\"", (unsigned)id);
    rs_event_write_bare(bytes, n, number, out);
    return true;
}

/* One metadata event says what the numbers represent. */
static bool next_name_list(void *context, const char *separator, rs_writer *out)
{
    sequences *s = context;
    if (s->listed || !s->compress) return false;
    s->listed = true;
    rs_writer_text(out, separator);
    rs_writer_text(out, "{\"ph\": \"M\", \"name\": \"short_names\", \"pid\": 0, \"tid\": 0, \"args\": {");
    for (size_t i = 1; i < s->names.n; i++) {
        rs_writer_text(out, i > 1 ? ", \"" : "\"");
        rs_writer_uint(out, i);
        rs_writer_text(out, "\": ");
        rs_writer_bytes(out, s->names.items[i].text, s->names.items[i].length);
    }
    rs_writer_text(out, "}}");
    return true;
}

/* ---- all of them
 * ------------------------------------------------------------------------------------------------- */

static const char *const table_names[] = {"counter_events", "overlay", "marks"};

bool rs_overlay_applies(const rs_result *result)
{
    for (size_t i = 0; i < sizeof table_names / sizeof *table_names; i++)
        if (rs_result_table(result, table_names[i])) return true;
    return false;
}

static rs_status write_path(rs_source *source, const rs_overlay *o, const rs_table *table, rs_writer *out,
                            bool *truncated, rs_error *err)
{
    path p = {.table = table, .keep_all = o->keep_all};
    rs_trace_edit edit = {path_event, next_arrow, &p};
    rs_status status =
        read_path(&p, o) ? rs_trace_copy(source, &edit, out, truncated, err) : rs_fail_nomem(err, "overlay");
    if (status == RS_OK && p.failed) status = rs_fail_nomem(err, "overlay");
    rs_free_all(p.marks.items, p.places.of);
    rs_strings_clear(&p.places.text);
    return status;
}

static rs_status write_sequences(rs_source *source, const rs_overlay *o, const rs_table *table,
                                 rs_writer *out, bool *truncated, rs_error *err)
{
    sequences s = {.table = table, .compress = o->compress};
    rs_trace_edit edit = {sequence_event, next_name_list, &s};
    rs_status status =
        read_marks(&s, o) ? rs_trace_copy(source, &edit, out, truncated, err) : rs_fail_nomem(err, "overlay");
    if (status == RS_OK && s.failed) status = rs_fail_nomem(err, "overlay");
    rs_free(s.marks.items);
    rs_strings_clear(&s.names);
    return status;
}

rs_status rs_overlay_write(rs_source *source, const rs_overlay *o, rs_writer *out, bool *truncated,
                           rs_error *err)
{
    *truncated = false;
    const rs_table *table = rs_result_table(o->result, "counter_events");
    if (table) {
        counters c = {o, table, 0};
        rs_trace_edit edit = {NULL, next_counter, &c};
        return rs_trace_copy(source, &edit, out, truncated, err);
    }
    table = rs_result_table(o->result, "overlay");
    if (table) return write_path(source, o, table, out, truncated, err);
    table = rs_result_table(o->result, "marks");
    if (table) return write_sequences(source, o, table, out, truncated, err);
    return rs_fail(err, RS_ERR_USAGE, "there is nothing to write into a trace");
}
