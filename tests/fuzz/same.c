/* What targets share: bytes written, and two loads of one text, which must agree in everything that can be seen; ids
 * may differ. */
#include <string.h>

#include "fuzz.h"

static void same_text(const rs_events *a, uint32_t x, const rs_events *b, uint32_t y)
{
    if (x == RS_NO_STRING || y == RS_NO_STRING) {
        PROMISE(x == y);
        return;
    }
    PROMISE(x < a->strings.n && y < b->strings.n);
    const rs_string *s = &a->strings.items[x], *t = &b->strings.items[y];
    PROMISE(s->length == t->length && memcmp(s->text, t->text, s->length) == 0);
    PROMISE(s->text[s->length] == '\0');
}

static void same_id(const rs_events *a, int64_t x, uint32_t x_text, const rs_events *b, int64_t y,
                    uint32_t y_text)
{
    same_text(a, x_text, b, y_text);
    if (x_text == RS_NO_STRING) PROMISE(x == y);
}

static void same_sparse(const rs_events *a, const rs_sparse *s, const rs_events *b, const rs_sparse *t,
                        rs_column_type type)
{
    PROMISE(s->n == t->n);
    for (size_t i = 0; i < s->n; i++) {
        PROMISE(s->rows[i] == t->rows[i] && s->rows[i] < a->n);
        PROMISE(i == 0 || s->rows[i - 1] < s->rows[i]);
        if (type == RS_COLUMN_INT)
            PROMISE(rs_sparse_int(s, i) == rs_sparse_int(t, i));
        else if (type == RS_COLUMN_REAL)
            PROMISE(memcmp(&s->reals[i], &t->reals[i], sizeof *s->reals) == 0);
        else
            same_text(a, s->texts[i], b, t->texts[i]);
    }
}

static void same_rows(const rs_events *a, const rs_events *b)
{
    PROMISE(a->n == b->n);
    for (size_t i = 0; i < a->n; i++) {
        PROMISE(a->start[i] == b->start[i] && a->duration[i] == b->duration[i]);
        PROMISE(a->phase[i] == b->phase[i]);
        same_text(a, a->name[i], b, b->name[i]);
        PROMISE(a->category[i] < a->n_categories && b->category[i] < b->n_categories);
        PROMISE(rs_event_kind(a, i) == rs_event_kind(b, i));
        same_text(a, a->categories[a->category[i]].name, b, b->categories[b->category[i]].name);
        PROMISE(a->thread[i] < a->n_threads && b->thread[i] < b->n_threads);
        const rs_thread *s = &a->threads[a->thread[i]], *t = &b->threads[b->thread[i]];
        same_id(a, s->pid, s->pid_text, b, t->pid, t->pid_text);
        same_id(a, s->tid, s->tid_text, b, t->tid, t->tid_text);
        /* end = start + duration must be representable */
        int64_t end;
        if (a->start[i] != RS_NO_TIME && a->duration[i] != RS_NO_TIME)
            PROMISE(!__builtin_add_overflow(a->start[i], a->duration[i], &end));
    }
}

static void same_columns(const rs_events *a, const rs_events *b)
{
    for (size_t i = 0; i < RS_N_COLUMNS; i++)
        same_sparse(a, &a->args[i], b, &b->args[i], rs_column_infos[i].type);
    PROMISE(a->n_counters == b->n_counters);
    for (size_t i = 0; i < a->n_counters; i++) {
        same_text(a, a->counters[i].name, b, b->counters[i].name);
        same_sparse(a, &a->counters[i].values, b, &b->counters[i].values, RS_COLUMN_REAL);
    }
}

static void same_header(const rs_events *a, const rs_events *b)
{
    const rs_file_info *s = &a->info, *t = &b->info;
    PROMISE(s->rank == t->rank && s->world_size == t->world_size && s->base_time_ns == t->base_time_ns);
    PROMISE(s->schema_version == t->schema_version && s->cuda_runtime == t->cuda_runtime);
    PROMISE(s->n_devices == t->n_devices && s->max_threads_per_block == t->max_threads_per_block);
    PROMISE(s->record_shapes == t->record_shapes && s->with_stack == t->with_stack);
    same_text(a, s->backend, b, t->backend);
    same_text(a, s->display_unit, b, t->display_unit);
    same_text(a, s->trace_name, b, t->trace_name);
    same_text(a, s->trace_id, b, t->trace_id);
    same_text(a, s->nccl_version, b, t->nccl_version);
    same_text(a, s->device_name, b, t->device_name);
    PROMISE(a->n_documents == b->n_documents && a->n_log == b->n_log);
    for (size_t i = 0; i < a->n_documents; i++)
        PROMISE(a->documents[i].first_row == b->documents[i].first_row &&
                a->documents[i].rank == b->documents[i].rank);
    for (size_t i = 0; i < a->n_log; i++) {
        PROMISE(a->log[i].level == b->log[i].level);
        same_text(a, a->log[i].text, b, b->log[i].text);
    }
}

static void same_problems(const rs_events *a, const rs_events *b)
{
    PROMISE(a->n_rounded == b->n_rounded && a->n_lost == b->n_lost && a->bytes_lost == b->bytes_lost);
    PROMISE(a->n_bytes == b->n_bytes && a->truncated == b->truncated);
    PROMISE(a->problems.n == b->problems.n);
    for (size_t i = 0; i < a->problems.n; i++) {
        const rs_problem *s = &a->problems.items[i], *t = &b->problems.items[i];
        PROMISE(strcmp(s->kind, t->kind) == 0 && s->count == t->count && s->severity == t->severity);
        PROMISE(s->n_offsets == t->n_offsets);
        PROMISE(memcmp(s->offsets, t->offsets, s->n_offsets * sizeof *s->offsets) == 0);
    }
}

void promise_same(const loaded *a, const loaded *b)
{
    PROMISE(a->status == b->status);
    if (a->status != RS_OK) {
        char x[1024], y[1024];
        PROMISE(a->err.n_causes > 0);
        PROMISE(strcmp(rs_error_text(&a->err, x, sizeof x), rs_error_text(&b->err, y, sizeof y)) == 0);
        return;
    }
    same_rows(a->events, b->events);
    same_columns(a->events, b->events);
    same_header(a->events, b->events);
    same_problems(a->events, b->events);
}

bool fuzz_keep(void *bytes, const char *text, size_t n)
{
    fuzz_bytes *b = bytes;
    if (b->n + n > b->capacity) {
        b->capacity = (b->n + n) * 2;
        b->text = realloc(b->text, b->capacity);
        PROMISE(b->text);
    }
    if (n) memcpy(b->text + b->n, text, n);
    b->n += n;
    return true;
}

void loaded_clear(loaded *l)
{
    rs_events_free(l->events);
    *l = (loaded){0};
}
