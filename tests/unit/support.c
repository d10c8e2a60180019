#define _GNU_SOURCE
#include "support.h"

#include <unistd.h>

/* ---- where the events are --------------------------------------------------------------------------- */

static void spans_add(spans *s, size_t begin, size_t end)
{
    if (s->n == s->capacity) {
        s->capacity = s->capacity ? s->capacity * 2 : 256;
        s->begin = realloc(s->begin, s->capacity * sizeof *s->begin);
        s->end = realloc(s->end, s->capacity * sizeof *s->end);
        if (!s->begin || !s->end) abort();
    }
    s->begin[s->n] = begin;
    s->end[s->n++] = end;
}

void spans_clear(spans *s)
{
    free(s->begin);
    free(s->end);
    *s = (spans){0};
}

static size_t over_space(const char *s, size_t n, size_t at)
{
    while (at < n && strchr(" \n\r\t", s[at]) && s[at]) at++;
    return at;
}

/* The place behind the value that begins at `at`. */
static size_t over_value(const char *s, size_t n, size_t at)
{
    size_t depth = 0;
    while (at < n) {
        char c = s[at];
        if (c == '"') {
            for (at++; at < n && s[at] != '"'; at++) at += s[at] == '\\';
            at++;
        } else if (c == '{' || c == '[') {
            depth++;
            at++;
        } else if (c == '}' || c == ']') {
            if (depth == 0) return at;
            depth--;
            at++;
        } else if (depth == 0 && (c == ',' || strchr(" \n\r\t", c))) {
            return at;
        } else {
            at++;
            if (depth || (at < n && !strchr(",}] \n\r\t", s[at]))) continue;
        }
        if (depth == 0) return at;
    }
    return n;
}

static size_t over_elements(spans *out, const char *s, size_t n, size_t at)
{
    for (at = over_space(s, n, at + 1); at < n && s[at] != ']';) {
        size_t end = over_value(s, n, at);
        spans_add(out, at, end);
        at = over_space(s, n, end);
        if (at < n && s[at] == ',') at = over_space(s, n, at + 1);
    }
    return at + 1;
}

static size_t over_document(spans *out, const char *s, size_t n, size_t at)
{
    static const char events_key[] = "\"traceEvents\"", phase_key[] = "\"ph\"";
    size_t begin = at;
    bool is_event = false;
    for (at = over_space(s, n, at + 1); at < n && s[at] != '}';) {
        size_t key = at;
        at = over_space(s, n, over_value(s, n, at));
        at = over_space(s, n, at + 1);
        if (strncmp(s + key, phase_key, 4) == 0) is_event = true;
        if (strncmp(s + key, events_key, 13) == 0 && s[at] == '[')
            at = over_elements(out, s, n, at);
        else
            at = over_value(s, n, at);
        at = over_space(s, n, at);
        if (at < n && s[at] == ',') at = over_space(s, n, at + 1);
    }
    at++;
    if (is_event) spans_add(out, begin, at);
    return at;
}

spans spans_of(const char *s, size_t n)
{
    spans out = {0};
    for (size_t at = over_space(s, n, 0); at < n; at = over_space(s, n, at)) {
        if (s[at] == '[')
            at = over_elements(&out, s, n, at);
        else if (s[at] == '{')
            at = over_document(&out, s, n, at);
        else
            fail_msg("byte %zu of the sample begins no document", at);
        out.done = at;
    }
    return out;
}

size_t spans_before(const spans *s, size_t cut)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (s->end[mid] <= cut)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* ---- loading ---------------------------------------------------------------------------------------- */

rs_status load_with(const void *bytes, size_t n, const rs_load_settings *settings, rs_events **out,
                    rs_error *err)
{
    rs_source *source;
    *out = NULL;
    rs_status status = rs_source_open_bytes(bytes, n, "test", 0, &source, err);
    if (status != RS_OK) return status;
    status = rs_kineto_load(source, settings, out, err);
    rs_source_close(source);
    return status;
}

rs_status load_bytes(const void *bytes, size_t n, rs_events **out, rs_error *err)
{
    const rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
    return load_with(bytes, n, &settings, out, err);
}

rs_events *load(const void *bytes, size_t n)
{
    rs_events *e;
    rs_error err = RS_ERROR_INIT;
    char line[512];
    if (load_bytes(bytes, n, &e, &err) != RS_OK) fail_msg("%s", rs_error_text(&err, line, sizeof line));
    return e;
}

rs_events *load_text(const char *s)
{
    return load(s, strlen(s));
}

rs_status load_file(const void *bytes, size_t n, const rs_load_settings *settings, rs_events **out,
                    rs_error *err)
{
    char path[64];
    int fd = file_of(bytes, n, path);
    rs_source *source;
    *out = NULL;
    rs_status status = rs_source_open(path, 0, &source, err);
    if (status == RS_OK) {
        status = rs_kineto_load(source, settings, out, err);
        rs_source_close(source);
    }
    close(fd);
    return status;
}

/* ---- comparing -------------------------------------------------------------------------------------- */

const char *text_at(const rs_events *e, uint32_t id)
{
    return id == RS_NO_STRING ? "(none)" : e->strings.items[id].text;
}

static bool same_string(const rs_events *a, uint32_t x, const rs_events *b, uint32_t y)
{
    if (x == RS_NO_STRING || y == RS_NO_STRING) return x == y;
    const rs_string *s = &a->strings.items[x], *t = &b->strings.items[y];
    return s->length == t->length && memcmp(s->text, t->text, s->length) == 0;
}

static bool same_id(const rs_events *a, int64_t x, uint32_t x_text, const rs_events *b, int64_t y,
                    uint32_t y_text)
{
    return same_string(a, x_text, b, y_text) && (x_text != RS_NO_STRING || x == y);
}

static bool differ(const char *what, size_t row)
{
    print_message("row %zu: %s differs\n", row, what);
    return false;
}

static bool same_row(const rs_events *a, size_t i, const rs_events *b, size_t j)
{
    const rs_thread *s = &a->threads[a->thread[i]], *t = &b->threads[b->thread[j]];
    if (a->start[i] != b->start[j]) return differ("start", i);
    if (a->duration[i] != b->duration[j]) return differ("duration", i);
    if (a->phase[i] != b->phase[j]) return differ("phase", i);
    if (!same_string(a, a->name[i], b, b->name[j])) return differ("name", i);
    if (!same_string(a, a->categories[a->category[i]].name, b, b->categories[b->category[j]].name))
        return differ("category", i);
    if (!same_id(a, s->pid, s->pid_text, b, t->pid, t->pid_text)) return differ("pid", i);
    if (!same_id(a, s->tid, s->tid_text, b, t->tid, t->tid_text)) return differ("tid", i);
    return true;
}

static size_t first_value(const rs_sparse *s, size_t row)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (s->rows[mid] < row)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool same_values(const rs_events *a, const rs_sparse *s, size_t from_a, const rs_events *b,
                        const rs_sparse *t, size_t from_b, size_t n, rs_column_type type, const char *what)
{
    size_t i = first_value(s, from_a), j = first_value(t, from_b);
    for (;; i++, j++) {
        bool more_a = i < s->n && s->rows[i] < from_a + n, more_b = j < t->n && t->rows[j] < from_b + n;
        if (!more_a && !more_b) return true;
        if (more_a != more_b) return differ(what, more_a ? s->rows[i] : t->rows[j]);
        if (s->rows[i] - from_a != t->rows[j] - from_b) return differ(what, s->rows[i]);
        bool same = type == RS_COLUMN_TEXT  ? same_string(a, s->texts[i], b, t->texts[j])
                    : type == RS_COLUMN_INT ? rs_sparse_int(s, i) == rs_sparse_int(t, j)
                                            : memcmp(&s->reals[i], &t->reals[j], 8) == 0;
        if (!same) return differ(what, s->rows[i]);
    }
}

bool same_rows(const rs_events *a, size_t from_a, const rs_events *b, size_t from_b, size_t n)
{
    if (from_a + n > a->n || from_b + n > b->n) return differ("number of rows", n);
    for (size_t i = 0; i < n; i++)
        if (!same_row(a, from_a + i, b, from_b + i)) return false;
    for (size_t c = 0; c < RS_N_COLUMNS; c++)
        if (!same_values(a, &a->args[c], from_a, b, &b->args[c], from_b, n, rs_column_infos[c].type,
                         rs_column_infos[c].key))
            return false;
    return true;
}

static bool same_problems(const rs_problems *a, const rs_problems *b)
{
    if (a->n != b->n) return differ("number of kinds of problems", a->n);
    for (size_t i = 0; i < a->n; i++) {
        const rs_problem *p = &a->items[i], *q = &b->items[i];
        if (strcmp(p->kind, q->kind) != 0 || p->count != q->count || p->n_offsets != q->n_offsets ||
            p->severity != q->severity ||
            memcmp(p->offsets, q->offsets, p->n_offsets * sizeof *p->offsets) != 0) {
            print_message("problem %s x %llu at %llu, %s x %llu at %llu\n", p->kind,
                          (unsigned long long)p->count, (unsigned long long)p->offsets[0], q->kind,
                          (unsigned long long)q->count, (unsigned long long)q->offsets[0]);
            return false;
        }
    }
    return true;
}

/* The arguments that are no columns: names in the same order, and cells. */
static bool same_others(const rs_events *a, const rs_events *b)
{
    const rs_others *s = &a->others, *t = &b->others;
    if (s->n_names != t->n_names) return differ("number of other arguments", 0);
    for (size_t i = 0; i < s->n_names; i++)
        if (!same_string(a, s->names[i].text, b, t->names[i].text) ||
            s->names[i].first_row != t->names[i].first_row)
            return differ("other argument's name", i);
    if (s->n != t->n) return differ("number of their values", s->n);
    for (size_t i = 0; i < s->n; i++) {
        bool same = s->rows[i] == t->rows[i] && s->name[i] == t->name[i] && s->kind[i] == t->kind[i];
        if (same && s->kind[i] == RS_OTHER_TEXT)
            same = same_string(a, (uint32_t)s->value[i], b, (uint32_t)t->value[i]);
        else if (same)
            same = s->value[i] == t->value[i];
        if (!same) return differ("other argument", s->rows[i]);
    }
    return true;
}

static bool same_info(const rs_events *a, const rs_events *b)
{
    const rs_file_info *x = &a->info, *y = &b->info;
    return x->rank == y->rank && x->world_size == y->world_size && x->base_time_ns == y->base_time_ns &&
           x->schema_version == y->schema_version && x->n_devices == y->n_devices &&
           x->max_threads_per_block == y->max_threads_per_block && x->with_stack == y->with_stack &&
           same_string(a, x->backend, b, y->backend) && same_string(a, x->trace_name, b, y->trace_name) &&
           same_string(a, x->display_unit, b, y->display_unit) &&
           same_string(a, x->device_name, b, y->device_name);
}

bool same_events(const rs_events *a, const rs_events *b)
{
    if (a->n != b->n) return differ("number of events", a->n < b->n ? a->n : b->n);
    if (!same_problems(&a->problems, &b->problems)) return false;
    if (!same_rows(a, 0, b, 0, a->n)) return false;
    if (a->n_lost != b->n_lost || a->bytes_lost != b->bytes_lost || a->truncated != b->truncated ||
        a->n_rounded != b->n_rounded || a->n_bytes != b->n_bytes)
        return differ("what was lost or rounded", a->n);
    if (a->n_counters != b->n_counters) return differ("number of counters", 0);
    for (size_t i = 0; i < a->n_counters; i++) {
        if (!same_string(a, a->counters[i].name, b, b->counters[i].name)) return differ("counter", i);
        if (!same_values(a, &a->counters[i].values, 0, b, &b->counters[i].values, 0, a->n, RS_COLUMN_REAL,
                         "counter"))
            return false;
    }
    if (!same_others(a, b)) return false;
    if (!same_info(a, b)) return differ("info", 0);
    if (a->n_documents != b->n_documents) return differ("number of documents", 0);
    for (size_t i = 0; i < a->n_documents; i++)
        if (a->documents[i].first_row != b->documents[i].first_row ||
            a->documents[i].rank != b->documents[i].rank)
            return differ("document", i);
    return true;
}

const rs_problem *problem_of(const rs_events *e, const char *kind)
{
    for (size_t i = 0; i < e->problems.n; i++)
        if (strcmp(e->problems.items[i].kind, kind) == 0) return &e->problems.items[i];
    return NULL;
}

uint64_t problem_count(const rs_events *e, const char *kind)
{
    const rs_problem *p = problem_of(e, kind);
    return p ? p->count : 0;
}

uint64_t problem_total(const rs_events *e)
{
    uint64_t n = 0;
    for (size_t i = 0; i < e->problems.n; i++) n += e->problems.items[i].count;
    return n;
}
