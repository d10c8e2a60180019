/* Reading ahead: other threads read blocks of events into columns of their own, starting at the first place
 * in the block that looks like an event. The reader takes such a run over when it arrives at exactly that
 * place, expecting an event there; then what was read ahead is what it would have read itself, guess or no
 * guess. */
#include <string.h>

#include "format/kineto_core.h"

/* What one slot of the ring holds: a reader of its own, and the run of events it found in the slot's block.
 */
typedef struct ahead_slot {
    rs_kineto core;
    rs_error error;
    uint64_t begin, end; /* of the run in the text; equal: none */
    uint32_t *strings;   /* ids here to ids in the reader's events, RS_NO_STRING: not yet known */
    size_t n_strings, strings_capacity;
    uint32_t *threads;
    size_t n_threads, threads_capacity;
    uint16_t *categories;
    size_t n_categories, categories_capacity;
} ahead_slot;

struct rs_ahead {
    ahead_slot *slots;
    unsigned n;
    rs_shapes_run_fn run;
};

void rs_ahead_free(rs_ahead *ahead)
{
    if (!ahead) return;
    for (unsigned i = 0; ahead->slots && i < ahead->n; i++) {
        ahead_slot *s = &ahead->slots[i];
        rs_events_free(s->core.events);
        rs_shapes_free(s->core.shapes);
        rs_free_all(s->core.scratch, s->strings, s->threads, s->categories);
    }
    rs_free_all(ahead->slots, ahead);
}

rs_ahead *rs_ahead_create(const rs_kineto *core, rs_shapes_run_fn run, unsigned n_slots)
{
    rs_ahead *ahead = rs_calloc(1, sizeof *ahead);
    if (!ahead) return NULL;
    ahead->run = run;
    ahead->n = n_slots;
    ahead->slots = rs_calloc(n_slots, sizeof *ahead->slots);
    for (unsigned i = 0; ahead->slots && i < n_slots; i++) {
        ahead_slot *s = &ahead->slots[i];
        s->core.columns = core->columns;
        s->core.limits = core->limits;
        s->core.file = core->file;
        s->core.clean_only = true;
        s->core.err = &s->error;
        s->core.shapes = rs_shapes_create();
        if (!s->core.shapes || rs_events_create(core->columns, 0, &s->core.events, &s->error) != RS_OK) {
            rs_ahead_free(ahead);
            return NULL;
        }
    }
    if (!ahead->slots) {
        rs_ahead_free(ahead);
        return NULL;
    }
    return ahead;
}

static void empty(ahead_slot *s)
{
    rs_events *e = s->core.events;
    e->n = 0;
    e->n_rounded = 0;
    for (size_t i = 0; i < RS_N_COLUMNS; i++) e->args[i].n = 0;
    e->others.n = e->others.n_names = 0;
    s->begin = s->end = 0;
    s->core.failure = RS_OK;
}

/* The first '{' that a comma introduces and that has an event's key behind it. */
static const uint8_t *first_event(const uint8_t *p, const uint8_t *end)
{
    bool after_comma = false;
    for (; p < end; p++) {
        if (rs_json_is_space(*p)) continue;
        if (*p == '{' && after_comma && rs_kineto_looks_like_event(p, end)) return p;
        after_comma = *p == ',';
    }
    return NULL;
}

void rs_ahead_prepare(void *context, unsigned slot, const uint8_t *bytes, size_t n, uint64_t offset)
{
    rs_ahead *ahead = context;
    ahead_slot *s = &ahead->slots[slot];
    empty(s);
    const uint8_t *end = bytes + n, *begin = first_event(bytes, end), *p = begin;
    if (!begin) return;
    s->core.learn_from = NULL;
    for (;;) {
        const uint8_t *event = p;
        if (s->core.learn_from) {
            if (ahead->run) ahead->run(&s->core, &p, end);
            if (s->core.failure != RS_OK) break;
            event = rs_json_space(p, end);
            if (event >= end || *event != ',') break;
            event = rs_json_space(event + 1, end);
            s->core.learn_from = p;
        }
        if (event >= end || *event != '{' ||
            rs_kineto_event(&s->core, &event, end, bytes, offset) != RS_JSON_OK)
            break;
        p = event;
        s->core.learn_from = p;
    }
    if (s->core.failure != RS_OK || s->core.events->n == 0) {
        empty(s);
        return;
    }
    s->begin = offset + (uint64_t)(begin - bytes);
    s->end = offset + (uint64_t)(p - bytes);
}

uint64_t rs_ahead_begin(const rs_ahead *ahead, unsigned slot)
{
    const ahead_slot *s = &ahead->slots[slot];
    return s->end > s->begin ? s->begin : UINT64_MAX;
}

/* Extends the maps from the slot's ids to the reader's by what is new. */
static bool map_ids(ahead_slot *s, rs_events *to)
{
    rs_events *from = s->core.events;
    if (!rs_grow((void **)&s->strings, &s->strings_capacity, from->strings.n, sizeof *s->strings) ||
        !rs_grow((void **)&s->threads, &s->threads_capacity, from->n_threads, sizeof *s->threads) ||
        !rs_grow((void **)&s->categories, &s->categories_capacity, from->n_categories, sizeof *s->categories))
        return false;
    for (; s->n_strings < from->strings.n; s->n_strings++) {
        const rs_string *t = &from->strings.items[s->n_strings];
        uint32_t id = rs_strings_add(&to->strings, t->text, t->length);
        if (id == RS_NO_STRING) return false;
        s->strings[s->n_strings] = id;
    }
    for (; s->n_threads < from->n_threads; s->n_threads++) {
        rs_thread t = from->threads[s->n_threads];
        if (t.pid_text != RS_NO_STRING) {
            t.pid_text = s->strings[t.pid_text];
            t.pid = rs_thread_id_of_text(t.pid_text);
        }
        if (t.tid_text != RS_NO_STRING) {
            t.tid_text = s->strings[t.tid_text];
            t.tid = rs_thread_id_of_text(t.tid_text);
        }
        uint32_t id = rs_events_thread(to, t);
        if (id == UINT32_MAX) return false;
        s->threads[s->n_threads] = id;
    }
    for (; s->n_categories < from->n_categories; s->n_categories++) {
        uint32_t id = rs_events_category(to, s->strings[from->categories[s->n_categories].name]);
        if (id == UINT32_MAX) return false;
        s->categories[s->n_categories] = (uint16_t)id;
    }
    return true;
}

static void append_rows(const ahead_slot *s, rs_events *to)
{
    const rs_events *from = s->core.events;
    size_t n = from->n, at = to->n;
    memcpy(to->start + at, from->start, n * sizeof *to->start);
    memcpy(to->duration + at, from->duration, n * sizeof *to->duration);
    memcpy(to->phase + at, from->phase, n);
    for (size_t i = 0; i < n; i++) to->name[at + i] = s->strings[from->name[i]];
    for (size_t i = 0; i < n; i++) to->thread[at + i] = s->threads[from->thread[i]];
    for (size_t i = 0; i < n; i++) to->category[at + i] = s->categories[from->category[i]];
}

static void append_ints(const rs_sparse *from, rs_sparse *into)
{
    if (into->is_wide && !from->is_wide)
        for (size_t i = 0; i < from->n; i++) into->wide[into->n + i] = from->narrow[i];
    else if (into->is_wide)
        memcpy(into->wide + into->n, from->wide, from->n * sizeof *from->wide);
    else
        memcpy(into->narrow + into->n, from->narrow, from->n * sizeof *from->narrow);
}

static void append_column(const ahead_slot *s, rs_column_id column, rs_events *to)
{
    const rs_sparse *from = &s->core.events->args[column];
    rs_sparse *into = &to->args[column];
    uint32_t base = (uint32_t)to->n;
    for (size_t i = 0; i < from->n; i++) into->rows[into->n + i] = from->rows[i] + base;
    if (rs_column_infos[column].type == RS_COLUMN_TEXT)
        for (size_t i = 0; i < from->n; i++) into->texts[into->n + i] = s->strings[from->texts[i]];
    else if (rs_column_infos[column].type == RS_COLUMN_INT)
        append_ints(from, into);
    else
        memcpy(into->reals + into->n, from->reals, from->n * sizeof *from->reals);
    into->n += from->n;
}

/* The arguments that are no columns. Names are added in the order of the slot, which is the file's. */
static rs_status append_others(const ahead_slot *s, rs_events *to, rs_error *err)
{
    const rs_others *from = &s->core.events->others;
    uint32_t names[RS_MAX_OTHERS];
    uint32_t base = (uint32_t)to->n;
    rs_status status = rs_others_reserve(to, from->n, err);
    for (size_t i = 0; status == RS_OK && i < from->n_names; i++)
        status = rs_other_name_add(to, s->strings[from->names[i].text], from->names[i].first_row + base,
                                   &names[i], err);
    for (size_t i = 0; status == RS_OK && i < from->n; i++) {
        rs_other_kind kind = (rs_other_kind)from->kind[i];
        int64_t value = kind == RS_OTHER_TEXT ? s->strings[from->value[i]] : from->value[i];
        status = rs_other_add(to, names[from->name[i]], from->rows[i] + base, kind, value, err);
    }
    return status;
}

bool rs_ahead_fits(const rs_ahead *ahead, unsigned slot, const rs_events *to)
{
    const rs_events *from = ahead->slots[slot].core.events;
    size_t n_new = 0;
    if (from->others.n_names + to->others.n_names <= RS_MAX_OTHERS) return true;
    for (size_t i = 0; i < from->others.n_names; i++) {
        const rs_string *s = &from->strings.items[from->others.names[i].text];
        uint32_t text = rs_strings_find(&to->strings, s->text, s->length);
        n_new += text == RS_NO_STRING || rs_other_find(&to->others, text) == RS_NO_OTHER;
    }
    return n_new + to->others.n_names <= RS_MAX_OTHERS;
}

void rs_ahead_drop(rs_ahead *ahead, unsigned slot)
{
    empty(&ahead->slots[slot]);
}

static rs_status reserve_column(const rs_events *from, rs_events *to, rs_column_id column, rs_error *err)
{
    rs_status status = rs_events_reserve_column(to, column, from->args[column].n, err);
    return status == RS_OK && from->args[column].is_wide ? rs_events_widen(to, column, err) : status;
}

rs_status rs_ahead_take(rs_ahead *ahead, unsigned slot, rs_events *to, uint64_t *end, rs_error *err)
{
    ahead_slot *s = &ahead->slots[slot];
    rs_events *from = s->core.events;
    rs_status status = rs_events_reserve(to, from->n, err);
    for (size_t i = 0; status == RS_OK && i < RS_N_COLUMNS; i++)
        if (from->args[i].n) status = reserve_column(from, to, (rs_column_id)i, err);
    if (status != RS_OK) return status;
    if (!map_ids(s, to)) return rs_fail_nomem(err, "names");
    append_rows(s, to);
    for (size_t i = 0; i < RS_N_COLUMNS; i++)
        if (from->args[i].n) append_column(s, (rs_column_id)i, to);
    status = append_others(s, to, err);
    if (status != RS_OK) return status;
    to->n += from->n;
    to->n_rounded += from->n_rounded;
    *end = s->end;
    empty(s);
    return RS_OK;
}
