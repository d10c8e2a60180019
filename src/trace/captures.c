#include "trace/captures.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/ranges.h"
#include "base/search.h"
#include "base/try.h"
#include "trace/calls.h"
#include "trace/serving.h"
#include "trace/step_name.h"

/* ---- sizes ---------------------------------------------------------------------------------------------- */

/* "capture_32_FULL", also after the name of a part of the model: "encoder_capture_8_FULL". */
static bool size_of_annotation(const rs_string *name, int64_t *size)
{
    static const char word[] = "capture_";
    const char *at = strstr(name->text, word), *end;
    if (!at || (at > name->text && rs_is_alnum(at[-1]))) return false;
    return rs_parse_whole(at + sizeof word - 1, size, &end) && end[0] == '_' &&
           (strncmp(end, "_FULL", 5) == 0 || strncmp(end, "_PIECEWISE", 10) == 0);
}

/* bs_32, bs-32, bs32 as a word of the file's name. */
static bool size_of_file(const char *path, int64_t *size)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *end;
    for (const char *p = name; *p; p++) {
        if (strncmp(p, "bs", 2) != 0 || (p > name && rs_is_alnum(p[-1]))) continue;
        const char *number = p + 2 + (p[2] == '_' || p[2] == '-');
        if (rs_is_digit(*number) && rs_parse_whole(number, size, &end)) return true;
    }
    return false;
}

/* ---- what a file holds ---------------------------------------------------------------------------------- */

/* What a row can be. */
enum { NOT_HOST, HOST, NODE, BEGINS, ENDS };

typedef struct file {
    const rs_events *e;
    const char *path;
    uint8_t *roles;  /* by row */
    rs_map64 ran;    /* correlations of the work that ran */
    rs_keyed *items; /* all rows of a role, by start */
    size_t n;
    int64_t *busy;   /* by thread: the end of the last call that made a node */
    uint32_t *begun; /* by thread: the row that began the capture under way, and how many are open */
    uint32_t *depth;
    bool sized; /* its name says a size */
    int64_t size;
} file;

static void file_clear(file *f)
{
    rs_free_all(f->roles, f->items, f->busy, f->begun, f->depth);
    rs_map64_clear(&f->ran);
}

/* An annotation of a step would be taken for one of the replay. */
static bool is_step(const rs_string *name)
{
    rs_serving_step step;
    return rs_names_step(name->text) || rs_serving_parse(name->text, name->length, &step);
}

static uint8_t role_of(const rs_events *e, uint32_t row, uint8_t *of_name)
{
    rs_kind kind = rs_event_kind(e, row);
    const rs_string *name = &e->strings.items[e->name[row]];
    if (!rs_event_is_span(e, row) || e->duration[row] < 0) return NOT_HOST;
    if (kind == RS_KIND_USER_ANNOTATION) return is_step(name) ? NOT_HOST : HOST;
    if (kind == RS_KIND_CPU_OP || kind == RS_KIND_PYTHON_FUNCTION) return HOST;
    if (!rs_kind_is_call(kind)) return NOT_HOST;
    uint8_t *known = &of_name[e->name[row]];
    if (*known) return *known - 1;
    unsigned flags = rs_call_flags(name->text);
    bool works = ((flags & (RS_CALL_LAUNCHES | RS_CALL_COPIES)) || strstr(name->text, "Memset")) &&
                 !(flags & RS_CALL_RUNS_HOST);
    *known = 1 + (flags & RS_CALL_BEGINS_CAPTURE ? BEGINS
                  : flags & RS_CALL_ENDS_CAPTURE ? ENDS
                  : works                        ? NODE
                                                 : NOT_HOST);
    return *known - 1;
}

static bool note_work(file *f)
{
    rs_cursor correlation = rs_cursor_of(f->e, RS_COL_CORRELATION);
    for (size_t row = 0; row < f->e->n; row++) {
        if (!rs_kind_is_gpu_work(rs_event_kind(f->e, row)) || !rs_cursor_seek(&correlation, (uint32_t)row))
            continue;
        int64_t id = rs_sparse_int(correlation.column, correlation.at);
        if (id > 0 && !rs_map64_put(&f->ran, (uint64_t)id, &(bool){false})) return false;
    }
    return true;
}

/* A call whose work ran was none of a graph: it went to another stream. */
static bool has_run(const file *f, uint32_t row)
{
    int64_t id;
    return rs_events_int(f->e, RS_COL_CORRELATION, row, &id) && rs_map64_get(&f->ran, (uint64_t)id);
}

static rs_status file_read(file *f, rs_error *err)
{
    const rs_events *e = f->e;
    RS_LOCAL uint8_t *of_name = rs_calloc(e->strings.n + 1, 1);
    f->roles = rs_malloc(e->n + 1);
    f->items = rs_malloc((e->n + 1) * sizeof *f->items);
    f->busy = rs_malloc((e->n_threads + 1) * sizeof *f->busy);
    f->begun = rs_malloc((e->n_threads + 1) * sizeof *f->begun);
    f->depth = rs_calloc(e->n_threads + 1, sizeof *f->depth);
    bool ok = of_name && f->roles && f->items && f->busy && f->begun && f->depth && note_work(f);
    for (size_t row = 0; ok && row < e->n; row++) {
        uint8_t role = f->roles[row] = role_of(e, (uint32_t)row, of_name);
        if (role != NOT_HOST) f->items[f->n++] = (rs_keyed){e->start[row], (uint32_t)row};
    }
    ok = ok && rs_keyed_sort(f->items, f->n);
    for (size_t i = 0; ok && i < e->n_threads; i++) f->busy[i] = INT64_MIN;
    return ok ? RS_OK : rs_fail_nomem(err, "captured graphs");
}

/* ---- one capture ---------------------------------------------------------------------------------------- */

static const rs_order by_row[] = {RS_RISING_VALUE(uint32_t)};

/* A call inside one that made a node is part of it. */
static bool makes_node(file *f, uint32_t row)
{
    int64_t *busy = &f->busy[f->e->thread[row]];
    if (f->roles[row] != NODE || f->e->start[row] < *busy || has_run(f, row)) return false;
    *busy = rs_event_end(f->e, row);
    return true;
}

/* The host's rows of the process inside, in the order of the file; of calls those that make a node, which *nodes
 * lists in the order of time. */
static bool rows_inside(file *f, uint32_t begin, uint32_t end, uint32_t **rows, size_t *n, uint32_t **nodes,
                        size_t *n_nodes)
{
    const rs_events *e = f->e;
    int64_t from = rs_event_end(e, begin), until = e->start[end], pid = e->threads[e->thread[begin]].pid;
    size_t first = rs_keyed_before(f->items, f->n, from), last = rs_keyed_before(f->items, f->n, until);
    *n = *n_nodes = 0;
    *rows = rs_malloc((last - first + 1) * sizeof **rows);
    *nodes = rs_malloc((last - first + 1) * sizeof **nodes);
    if (!*rows || !*nodes) return false;
    for (size_t i = first; i < last; i++) {
        uint32_t row = f->items[i].value;
        if (rs_event_end(e, row) > until || e->threads[e->thread[row]].pid != pid) continue;
        if (f->roles[row] != HOST && !makes_node(f, row)) continue;
        if (f->roles[row] == NODE) (*nodes)[(*n_nodes)++] = row;
        (*rows)[(*n)++] = row;
    }
    RS_SORT(*rows, *n, by_row);
    return true;
}

/* Turns times into places. */
static bool count_places(rs_capture *c)
{
    rs_events *to = c->events;
    RS_LOCAL rs_keyed *ends = rs_malloc((2 * to->n + 1) * sizeof *ends);
    if (!ends) return false;
    for (size_t i = 0; i < to->n; i++) {
        ends[2 * i] = (rs_keyed){to->start[i], (uint32_t)i};
        ends[2 * i + 1] = (rs_keyed){rs_event_end(to, i), (uint32_t)i};
    }
    bool ok = rs_keyed_sort(ends, 2 * to->n);
    /* the start of a row comes before its end, also where both are one moment: the sort keeps their order */
    for (size_t i = 0; ok && i < to->n; i++) to->duration[i] = -1;
    for (size_t i = 0; ok && i < 2 * to->n; i++) {
        uint32_t row = ends[i].value;
        if (i == 0 || ends[i].key != ends[i - 1].key) c->n_places++;
        if (to->duration[row] == -1) {
            to->start[row] = c->n_places - 1;
            to->duration[row] = 0;
        } else {
            to->duration[row] = c->n_places - 1 - to->start[row];
        }
    }
    return ok;
}

static rs_status put_value(rs_events *to, rs_column_id column, const rs_events *from, size_t at, uint32_t row,
                           rs_error *err)
{
    const rs_sparse *s = &from->args[column];
    rs_sparse *into = &to->args[column];
    rs_column_type type = rs_column_infos[column].type;
    if (type == RS_COLUMN_INT) return rs_events_push_int(to, column, row, rs_sparse_int(s, at), err);
    RS_TRY(rs_events_reserve_column(to, column, 1, err));
    if (type == RS_COLUMN_TEXT) {
        const rs_string *text = &from->strings.items[s->texts[at]];
        uint32_t id = rs_strings_add(&to->strings, text->text, text->length);
        if (id == RS_NO_STRING) return rs_fail_nomem(err, "captured graphs");
        into->texts[into->n] = id;
    } else {
        into->reals[into->n] = s->reals[at];
    }
    into->rows[into->n++] = row;
    return RS_OK;
}

/* Threads and texts by which a row is told are put in again. */
static rs_status put_row(rs_events *to, const rs_events *from, uint32_t row, rs_error *err)
{
    const rs_string *name = &from->strings.items[from->name[row]],
                    *category = &from->strings.items[from->categories[from->category[row]].name];
    rs_thread thread = from->threads[from->thread[row]];
    RS_TRY(rs_events_reserve(to, 1, err));
    thread.pid_text = thread.tid_text = RS_NO_STRING; /* graft.c says on which thread a copy lies */
    uint32_t name_id = rs_strings_add(&to->strings, name->text, name->length),
             category_name = rs_strings_add(&to->strings, category->text, category->length);
    if (name_id == RS_NO_STRING || category_name == RS_NO_STRING)
        return rs_fail_nomem(err, "captured graphs");
    uint32_t category_id = rs_events_category(to, category_name), thread_id = rs_events_thread(to, thread);
    if (category_id == UINT32_MAX || thread_id == UINT32_MAX) return rs_fail_nomem(err, "captured graphs");
    to->start[to->n] = from->start[row];
    to->duration[to->n] = from->duration[row];
    to->name[to->n] = name_id;
    to->thread[to->n] = thread_id;
    to->category[to->n] = (uint16_t)category_id;
    to->phase[to->n++] = 'X';
    return RS_OK;
}

/* Arguments but for the correlation, which a node has by its place, from 1 on. */
static rs_status put_arguments(rs_capture *c, const rs_events *from, const uint32_t *rows, rs_error *err)
{
    for (size_t k = 0; k < RS_N_COLUMNS; k++) {
        rs_cursor cursor = rs_cursor_of(from, (rs_column_id)k);
        for (size_t i = 0; k != RS_COL_CORRELATION && from->args[k].n && i < c->events->n; i++)
            if (rs_cursor_seek(&cursor, rows[i]))
                RS_TRY(put_value(c->events, (rs_column_id)k, from, cursor.at, (uint32_t)i, err));
    }
    return RS_OK;
}

static rs_status put_nodes(rs_capture *c, const uint32_t *rows, size_t n, uint32_t *nodes, size_t n_nodes,
                           rs_error *err)
{
    RS_LOCAL uint32_t *place =
        rs_calloc(n + 1, sizeof *place); /* by row of the capture: its node from 1 on */
    if (!place) return rs_fail_nomem(err, "captured graphs");
    for (size_t i = 0; i < n_nodes; i++) {
        size_t at;
        RS_SEARCH(at, n, rows[at] < nodes[i]);
        nodes[i] = at < n && rows[at] == nodes[i] ? (uint32_t)at : 0;
        place[nodes[i]] = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < n; i++)
        if (place[i]) RS_TRY(rs_events_push_int(c->events, RS_COL_CORRELATION, (uint32_t)i, place[i], err));
    return RS_OK;
}

static uint64_t hash_of(uint64_t hash, const rs_events *e, uint32_t text)
{
    if (text == RS_NO_STRING) return rs_hash_u64(hash + 1);
    const rs_string *s = &e->strings.items[text];
    return rs_hash_u64(hash ^ rs_hash_bytes(s->text, s->length));
}

static uint64_t contents_of(const rs_events *e)
{
    uint64_t hash = 0;
    for (uint32_t row = 0; row < e->n; row++) {
        if (rs_event_kind(e, row) != RS_KIND_CPU_OP) continue;
        hash = hash_of(hash, e, e->name[row]);
        hash = hash_of(hash, e, rs_events_text(e, RS_COL_INPUT_DIMS, row));
        hash = hash_of(hash, e, rs_events_text(e, RS_COL_INPUT_TYPE, row));
    }
    return hash;
}

static void capture_clear(rs_capture *c)
{
    rs_events_free(c->events);
    rs_free(c->nodes);
    *c = (rs_capture){0};
}

/* An empty capture is none. */
static rs_status add_capture(rs_captures *captures, file *f, uint32_t begin, uint32_t end,
                             const rs_capture *like, rs_error *err)
{
    RS_LOCAL uint32_t *rows = NULL;
    size_t n;
    rs_capture c = *like;
    bool ok = rows_inside(f, begin, end, &rows, &n, &c.nodes, &c.n_nodes);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "captured graphs");
    if (status == RS_OK && c.n_nodes) {
        status = rs_events_create(RS_ALL_COLUMNS, 0, &c.events, err);
        for (size_t i = 0; status == RS_OK && i < n; i++) status = put_row(c.events, f->e, rows[i], err);
        if (status == RS_OK) status = put_arguments(&c, f->e, rows, err);
        if (status == RS_OK) status = put_nodes(&c, rows, n, c.nodes, c.n_nodes, err);
        if (status == RS_OK && !count_places(&c)) status = rs_fail_nomem(err, "captured graphs");
        if (status == RS_OK && !RS_GROW_ONE(captures->items, captures->n, captures->capacity))
            status = rs_fail_nomem(err, "captured graphs");
        if (status == RS_OK) {
            c.contents = contents_of(c.events);
            captures->items[captures->n++] = c;
            c = (rs_capture){0};
        }
    }
    capture_clear(&c);
    return status;
}

/* ---- all of a file -------------------------------------------------------------------------------------- */

/* The annotations that are open, walked over in the order of time. */
typedef struct opened {
    uint32_t *rows;
    size_t n, capacity;
} opened;

static bool open_annotation(opened *o, const rs_events *e, uint32_t row)
{
    int64_t size;
    if (rs_event_kind(e, row) != RS_KIND_USER_ANNOTATION) return true;
    if (!size_of_annotation(&e->strings.items[e->name[row]], &size)) return true;
    return RS_PUSH(o->rows, o->n, o->capacity, row);
}

/* The size that the innermost annotation around a moment says, else the file's name. */
static void find_size(opened *o, const file *f, int64_t moment, rs_capture *c)
{
    while (o->n && rs_event_end(f->e, o->rows[o->n - 1]) <= moment) o->n--;
    if (o->n) {
        c->unit = RS_CAPTURE_TOKENS;
        size_of_annotation(&f->e->strings.items[f->e->name[o->rows[o->n - 1]]], &c->size);
    } else if (f->sized) {
        c->unit = RS_CAPTURE_REQUESTS;
        c->size = f->size;
    }
}

/* Captures on one thread nest when several streams capture at once: the outermost holds all. */
static rs_status find_captures(rs_captures *captures, file *f, int64_t rank, rs_error *err)
{
    const rs_events *e = f->e;
    opened o = {0};
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < f->n; i++) {
        uint32_t row = f->items[i].value, thread = e->thread[row];
        if (f->roles[row] == HOST && !open_annotation(&o, e, row))
            status = rs_fail_nomem(err, "captured graphs");
        if (f->roles[row] == BEGINS && f->depth[thread]++ == 0) f->begun[thread] = row;
        if (f->roles[row] != ENDS || !f->depth[thread] || --f->depth[thread]) continue;
        rs_capture like = {.file = f->path, .rank = rank, .tid = e->threads[thread].tid};
        find_size(&o, f, e->start[f->begun[thread]], &like);
        status = add_capture(captures, f, f->begun[thread], row, &like, err);
    }
    rs_free(o.rows);
    return status;
}

static int by_size(const void *a, const void *b)
{
    const rs_capture *x = *(rs_capture *const *)a, *y = *(rs_capture *const *)b;
    if (x->unit != y->unit) return x->unit < y->unit ? -1 : 1;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Captures of one size follow each other in time, as they were found. */
static bool number_captures(rs_capture *items, size_t n)
{
    rs_capture **order = rs_malloc((n + 1) * sizeof *order);
    if (!order) return false;
    for (size_t i = 0; i < n; i++) order[i] = &items[i];
    if (n) qsort((void *)order, n, sizeof *order, by_size);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && order[end]->unit == order[i]->unit && order[end]->size == order[i]->size;
             end++) {
        }
        for (size_t k = i; k < end; k++) order[k]->ordinal = k - i, order[k]->alike = end - i;
    }
    rs_free((void *)order);
    return true;
}

rs_status rs_captures_add(rs_captures *captures, const rs_events *events, const char *path, int64_t rank,
                          rs_error *err)
{
    RS_SCOPED(file_clear) file f = {.e = events, .path = path};
    size_t before = captures->n;
    f.sized = size_of_file(path, &f.size);
    rs_status status = file_read(&f, err);
    if (status == RS_OK) status = find_captures(captures, &f, rank, err);
    if (status == RS_OK && captures->n > before &&
        !number_captures(captures->items + before, captures->n - before))
        status = rs_fail_nomem(err, "captured graphs");
    return status;
}

void rs_captures_clear(rs_captures *captures)
{
    for (size_t i = 0; i < captures->n; i++) capture_clear(&captures->items[i]);
    rs_free(captures->items);
    *captures = (rs_captures){0};
}
