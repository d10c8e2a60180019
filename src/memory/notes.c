#include "memory/notes.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/search.h"

const char *const rs_steps_source_names[RS_N_STEPS_SOURCES] = {"step", "cycle"};

/* ---- open annotations ---------------------------------------------------------------------------------- */

/* One that was begun: a list of those that are open, and one of those of its name below it. */
typedef struct open_note {
    uint32_t name;
    uint32_t below, above; /* in the list; RS_NO_ROW: none */
    uint32_t same;         /* the one of its name before it that is open */
    int64_t end;
} open_note;

typedef struct note_order {
    const rs_note *note;
    size_t at;
} note_order;

static int by_time(const void *a, const void *b)
{
    const note_order *x = a, *y = b;
    if (x->note->time != y->note->time) return x->note->time < y->note->time ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* The notes of a device by time, in the order of the file where times are equal. NULL: no memory. */
static note_order *sort_notes(const rs_snapshot *s, int32_t device, size_t *n)
{
    note_order *order = rs_malloc((s->n_notes + 1) * sizeof *order);
    *n = 0;
    if (!order) return NULL;
    for (size_t i = 0; i < s->n_notes; i++)
        if (s->notes[i].device == device) order[(*n)++] = (note_order){&s->notes[i], i};
    if (*n) qsort(order, *n, sizeof *order, by_time);
    return order;
}

static uint32_t unlink_note(open_note *open, uint32_t at, uint32_t top)
{
    uint32_t below = open[at].below, above = open[at].above;
    if (below != RS_NO_ROW) open[below].above = above;
    if (above != RS_NO_ROW) open[above].below = below;
    return at == top ? below : top;
}

static bool follow_notes(const note_order *order, size_t n, rs_open_notes *out)
{
    RS_SCOPED(rs_map64_clear) rs_map64 latest = {0}; /* by name: the latest that is open + 1 */
    RS_LOCAL open_note *open = rs_malloc((n + 1) * sizeof *open);
    uint32_t n_open = 0, top = RS_NO_ROW;
    RS_LOCAL uint32_t *innermost = rs_malloc((n + 1) * sizeof *innermost);
    bool ok = open && innermost;
    for (size_t i = 0; ok && i < n; i++) {
        const rs_note *note = order[i].note;
        bool is_new;
        uint32_t *last = rs_map64_put(&latest, note->name, &is_new);
        if (!last) {
            ok = false;
            break;
        }
        if (is_new) *last = 0;
        if (!note->end) {
            open[n_open] = (open_note){note->name, top, RS_NO_ROW, *last ? *last - 1 : RS_NO_ROW, RS_NO_TIME};
            if (top != RS_NO_ROW) open[top].above = n_open;
            top = n_open++;
            *last = n_open;
        } else if (*last) {
            uint32_t at = *last - 1;
            *last = open[at].same == RS_NO_ROW ? 0 : open[at].same + 1;
            open[at].end = note->time;
            top = unlink_note(open, at, top);
        }
        innermost[i] = top;
        out->time[i] = note->time;
        out->name[i] = top == RS_NO_ROW ? RS_NO_STRING : open[top].name;
    }
    out->n = n;
    for (size_t i = 0; ok && i < n; i++)
        out->end[i] = innermost[i] == RS_NO_ROW ? RS_NO_TIME : open[innermost[i]].end;
    return ok;
}

rs_status rs_open_notes_make(const rs_snapshot *s, int32_t device, rs_open_notes *out, rs_error *err)
{
    size_t n;
    *out = (rs_open_notes){0};
    RS_LOCAL note_order *order = sort_notes(s, device, &n);
    out->time = rs_malloc((n + 1) * sizeof *out->time);
    out->name = rs_malloc((n + 1) * sizeof *out->name);
    out->end = rs_malloc((n + 1) * sizeof *out->end);
    bool ok = order && out->time && out->name && out->end && follow_notes(order, n, out);
    return ok ? RS_OK : rs_fail_nomem(err, "annotations");
}

void rs_open_notes_clear(rs_open_notes *a)
{
    rs_free_all(a->time, a->name, a->end);
    *a = (rs_open_notes){0};
}

uint32_t rs_open_note_at(const rs_open_notes *a, int64_t time, int64_t *end)
{
    size_t low;
    RS_SEARCH(low, a->n, a->time[low] <= time);
    if (low && end) *end = a->end[low - 1];
    return low ? a->name[low - 1] : RS_NO_STRING;
}

/* ---- steps ----------------------------------------------------------------------------------------------- */

#define LEAST_NOTES 4

/* Where steps begin, the best first. */
static const struct {
    const char *prefix;
    bool end, numbered;
} marks[] = {
    {"ProfilerStep#", false, true}, {"Optimizer.step#", true, false}, {"Optimizer.zero_grad#", false, false}};

static bool is_mark(const rs_snapshot *s, const rs_note *note, size_t mark)
{
    const rs_string *name = &s->strings.items[note->name];
    size_t n = strlen(marks[mark].prefix);
    return note->end == marks[mark].end && name->length >= n &&
           memcmp(name->text, marks[mark].prefix, n) == 0;
}

static int64_t number_behind(const char *text)
{
    int64_t v = 0;
    while (rs_is_digit(*text) && v < INT32_MAX) v = v * 10 + (*text++ - '0');
    return v;
}

/* The first event from `event` on that is not before the time. */
static uint32_t event_from(const rs_history *h, uint32_t event, int64_t time)
{
    while (event < h->n && (rs_event_time(h, event) == RS_NO_TIME || rs_event_time(h, event) < time)) event++;
    return event;
}

static bool steps_by_note(const rs_history *h, const note_order *order, size_t n, rs_memory_steps *out)
{
    const rs_snapshot *s = h->snapshot;
    for (size_t m = 0; m < sizeof marks / sizeof *marks; m++) {
        size_t n_marks = 0;
        for (size_t i = 0; i < n; i++) n_marks += is_mark(s, order[i].note, m);
        if (n_marks < LEAST_NOTES) continue;
        out->items = rs_malloc(n_marks * sizeof *out->items);
        if (!out->items) return false;
        uint32_t event = 0;
        for (size_t i = 0; i < n; i++) {
            if (!is_mark(s, order[i].note, m)) continue;
            const char *name = s->strings.items[order[i].note->name].text;
            event = event_from(h, event, order[i].note->time);
            if (out->n) out->items[out->n - 1].to = event;
            out->items[out->n] = (rs_memory_step){
                marks[m].numbered ? number_behind(name + strlen(marks[m].prefix)) : (int64_t)out->n, event,
                h->n};
            out->n++;
        }
        out->open = true;
        return true;
    }
    return true;
}

/* 3 x against 2 y, without overflow. */
static bool above_two_thirds(int64_t x, int64_t y)
{
    __extension__ typedef __int128 wide;
    return (wide)3 * x > (wide)2 * y;
}

static bool below_one_third(int64_t x, int64_t y)
{
    __extension__ typedef __int128 wide;
    return (wide)3 * x < (wide)y;
}

/* A cut is the instant at which the active bytes are first below a third of their range after they were above two
 * thirds of it; the range is that of the later half. */
static bool steps_by_cycle(const rs_history *h, rs_memory_steps *out)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    rs_held now = h->begin;
    for (uint32_t i = 0; i <= h->n; i++) {
        if (i) rs_held_after(h, i - 1, &now);
        if (i < ((uint64_t)h->n + 1) / 2) continue;
        if (now.active < low) low = now.active;
        if (now.active > high) high = now.active;
    }
    int64_t range = rs_sub_sat(high, low);
    size_t capacity = 0, n_cuts = 0;
    bool above = false;
    uint32_t last = 0;
    now = h->begin;
    for (uint32_t i = 0; i <= h->n && range > 0; i++) {
        if (i) rs_held_after(h, i - 1, &now);
        int64_t over = rs_sub_sat(now.active, low);
        if (above_two_thirds(over, range)) above = true;
        if (!above || !below_one_third(over, range)) continue;
        above = false;
        if (n_cuts++) {
            if (!RS_GROW_ONE(out->items, out->n, capacity)) return false;
            out->items[out->n] = (rs_memory_step){(int64_t)out->n, last, i};
            out->n++;
        }
        last = i;
    }
    return true;
}

rs_status rs_memory_steps_make(const rs_history *h, rs_memory_steps *out, rs_error *err)
{
    size_t n;
    *out = (rs_memory_steps){.source = RS_STEPS_BY_NOTE};
    RS_LOCAL note_order *order = sort_notes(h->snapshot, h->device->number, &n);
    bool ok = order && steps_by_note(h, order, n, out);
    if (ok && !out->n) {
        out->source = RS_STEPS_BY_CYCLE;
        ok = steps_by_cycle(h, out);
    }
    return ok ? RS_OK : rs_fail_nomem(err, "steps");
}

void rs_memory_steps_clear(rs_memory_steps *steps)
{
    rs_free(steps->items);
    *steps = (rs_memory_steps){0};
}

/* ---- the optimizer ---------------------------------------------------------------------------------------- */

rs_status rs_optimizer_instants(const rs_history *h, const uint32_t *stack_traits, uint32_t trait,
                                uint32_t **out, size_t *n_out, rs_error *err)
{
    size_t n, capacity = 0;
    RS_LOCAL note_order *order = sort_notes(h->snapshot, h->device->number, &n);
    uint32_t event = 0;
    bool ok = order != NULL, inside = false;
    *out = NULL;
    *n_out = 0;
    for (size_t i = 0; ok && i < n; i++) {
        const rs_string *name = &h->snapshot->strings.items[order[i].note->name];
        if (order[i].note->end || strncmp(name->text, "Optimizer.step#", 15) != 0) continue;
        event = event_from(h, event, order[i].note->time);
        ok = RS_PUSH(*out, *n_out, capacity, event);
    }
    for (uint32_t i = 0; ok && !n && i < h->n; i++) {
        uint32_t stack = rs_event_stack(h, i);
        bool now = stack != RS_NO_STACK && stack_traits[stack] & trait;
        if (now && !inside && (ok = RS_GROW_ONE(*out, *n_out, capacity))) (*out)[(*n_out)++] = i;
        inside = now;
    }
    return ok ? RS_OK : rs_fail_nomem(err, "steps of the optimizer");
}
