#include <string.h>

#include "analysis/diff.h"
#include "base/interval.h"
#include "base/strings.h"

const char *rs_diff_kind_name(unsigned kind)
{
    return kind == RS_DIFF_OPERATOR ? "operator" : kind == RS_DIFF_CALL ? "call" : rs_class_names[kind];
}

void rs_diff_free(void *partial)
{
    rs_diff_rank *p = partial;
    if (!p) return;
    rs_arena_clear(&p->names);
    rs_map64_clear(&p->places);
    rs_free_all(p->items, p->steps, p);
}

/* ---- short names ------------------------------------------------------------------------------------- */

/* The last word of a name once everything in <> and () is dropped: "void at::f<int>(float*)" is "at::f".
 * Names that are not balanced stay as they are. out: room for length. Returns the length written. */
static size_t shorten(const char *name, size_t length, char *out)
{
    size_t depth = 0, used = 0;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        if (c == '-' && i + 1 < length && name[i + 1] == '>') {
            i++;
            continue;
        }
        if (c == '<' || c == '(') {
            depth++;
        } else if (c == '>' || c == ')') {
            if (depth == 0) goto unbalanced;
            depth--;
        } else if (depth == 0) {
            out[used++] = c;
        }
    }
    while (used && out[used - 1] == ' ') used--;
    if (depth || used == 0) goto unbalanced;
    size_t from = used;
    while (from && out[from - 1] != ' ') from--;
    memmove(out, out + from, used - from);
    return used - from;
unbalanced:
    memcpy(out, name, length);
    return length;
}

/* ---- names -------------------------------------------------------------------------------------------- */

bool rs_diff_add(rs_diff_rank *p, const rs_events *e, unsigned kind, uint32_t name, bool cut, int64_t time)
{
    bool is_new;
    uint32_t *place = rs_map64_put(&p->places, (uint64_t)kind << 32 | name, &is_new);
    if (!place) return false;
    if (is_new) {
        const rs_string *s = &e->strings.items[name];
        if (!RS_GROW_ONE(p->items, p->n, p->capacity)) return false;
        char *copy = rs_arena_strndup(&p->names, s->text, s->length);
        if (!copy) return false;
        size_t length = cut ? shorten(s->text, s->length, copy) : s->length;
        copy[length] = '\0';
        *place = (uint32_t)p->n;
        p->items[p->n++] = (rs_diff_name){.name = copy, .length = (uint32_t)length, .kind = (uint8_t)kind};
    }
    rs_diff_name *x = &p->items[*place];
    x->count++;
    x->time = rs_add_sat(x->time, time);
    return true;
}

static bool add_host(rs_diff_rank *p, const rs_trace *trace, const rs_step *steps, size_t n_steps,
                     bool in_steps, const rs_selector *selector)
{
    const rs_events *e = trace->events;
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        rs_kind kind = rs_event_kind(e, row);
        bool call = rs_kind_is_call(kind);
        if ((kind != RS_KIND_CPU_OP && !call) || !rs_event_is_span(e, row)) continue;
        if (in_steps && rs_trace_step_at(steps, n_steps, e->threads[e->thread[row]].pid, e->start[row]) < 0)
            continue;
        if (!rs_selects_row(selector, row)) continue;
        int64_t time = e->duration[row] > 0 ? e->duration[row] : 0;
        if (!rs_diff_add(p, e, call ? RS_DIFF_CALL : RS_DIFF_OPERATOR, e->name[row], false, time))
            return false;
    }
    return true;
}

/* The work that belongs to a step, as a view of arrays of its own. */
static bool work_in_steps(const rs_work *w, rs_work *out, void **memory)
{
    size_t n = w->n, at = 0;
    *memory = rs_malloc(n * (2 * sizeof(int64_t) + sizeof(uint32_t) + 1) + 1);
    if (!*memory) return false;
    *out = (rs_work){.start = *memory};
    out->end = out->start + n;
    out->row = (uint32_t *)(out->end + n);
    out->class = (uint8_t *)(out->row + n);
    for (size_t i = 0; i < n; i++) {
        if (w->step[i] < 0) continue;
        out->start[at] = w->start[i];
        out->end[at] = w->end[i];
        out->row[at] = w->row[i];
        out->class[at++] = w->class[i];
        out->n_class[w->class[i]]++;
        out->n_unlinked += w->launch[i] == RS_NO_ROW;
    }
    out->n = at;
    return true;
}

static rs_status add_gpu(rs_diff_rank *p, const rs_events *e, const rs_work *w, bool cut, rs_error *err)
{
    rs_status status = rs_busy_of(w, &p->gpu, err);
    for (size_t i = 0; status == RS_OK && i < w->n; i++)
        if (!rs_diff_add(p, e, w->class[i], e -> name[w->row[i]], cut && w -> class[i] != RS_CLASS_MEMORY,
                         rs_sub_sat(w->end[i], w->start[i])))
            status = rs_fail_nomem(err, "names");
    return status;
}

rs_status rs_diff_rank_of(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    const rs_work *work;
    const rs_step *steps;
    size_t n_steps;
    rs_selector selector;
    rs_diff_rank *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "names");
    *partial = p;
    bool in_steps = strcmp(rs_options_text(run->options, "per"), "step") == 0;
    const bool cut = rs_options_flag(run->options, "short-names");
    rs_status status = in_steps ? rs_trace_work_details(trace, run->policy, &work, err)
                                : rs_trace_work(trace, run->policy, &work, err);
    if (status == RS_OK) status = rs_trace_steps(trace, &steps, &n_steps, err);
    if (status == RS_OK) status = rs_trace_selector(trace, &selector, err);
    if (status != RS_OK) return status;
    status = rs_trace_step_lengths(trace, &p->steps, &p->n_steps, err);
    if (status == RS_OK && in_steps) {
        rs_work part;
        void *memory = NULL;
        status = work_in_steps(work, &part, &memory) ? add_gpu(p, trace->events, &part, cut, err)
                                                     : rs_fail_nomem(err, "GPU work");
        rs_free(memory);
    } else if (status == RS_OK) {
        status = add_gpu(p, trace->events, work, cut, err);
    }
    if (status == RS_OK && !add_host(p, trace, steps, n_steps, in_steps, &selector))
        status = rs_fail_nomem(err, "names");
    rs_map64_clear(&p->places);
    return status;
}

/* ---- all ranks --------------------------------------------------------------------------------------- */

static bool add_partial(rs_diff_rows *c, const rs_partial *partial)
{
    const rs_diff_rank *p = partial->value;
    for (size_t i = 0; i < p->n; i++) {
        const rs_diff_name *x = &p->items[i];
        bool is_new;
        uint32_t name = rs_strings_add(&c->names, x->name, x->length);
        uint32_t *place =
            name == RS_NO_STRING ? NULL : rs_map64_put(&c->places, (uint64_t)x->kind << 32 | name, &is_new);
        if (!place || (is_new && !RS_GROW_ONE(c->items, c->n, c->capacity))) return false;
        if (is_new) {
            *place = (uint32_t)c->n;
            c->items[c->n++] = (rs_diff_row){.name = name, .kind = x->kind};
        }
        rs_diff_row *r = &c->items[*place];
        r->count[partial->side] += x->count;
        r->time[partial->side] = rs_add_sat(r->time[partial->side], x->time);
    }
    return true;
}

rs_status rs_diff_rows_make(const rs_partial *partials, size_t n, rs_diff_rows *out, rs_error *err)
{
    bool ok = rs_strings_init(&out->names);
    for (size_t i = 0; ok && i < n; i++) ok = add_partial(out, &partials[i]);
    return ok ? RS_OK : rs_fail_nomem(err, "names");
}

void rs_diff_rows_clear(rs_diff_rows *rows)
{
    rs_strings_clear(&rows->names);
    rs_map64_clear(&rows->places);
    rs_free(rows->items);
}
