/* memory of a snapshot: one rank. Each device's history is put together once; then each table takes its rows from it. */
#include "analysis/memory_snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "memory/notes.h"
#include "rankscope/where.h"
#include "trace/selection.h"

#define MOST_STRETCHES 100000 /* of --layers */

void rs_memory_snapshot_free(rs_memory_rank *r)
{
    if (!r) return;
    rs_strings_clear(&r->texts);
    rs_free_all(r->devices, r->sites, r->blocks, r->purposes, r->changes, r->segments, r->groups, r->pins,
                r->growth, r->failures, r->answers, r->allocations, r->layers, r->layout, r);
}

uint32_t rs_memory_number_text(rs_memory_rank *rank, uint64_t number)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRIu64, number);
    return rs_strings_add(&rank->texts, text, (size_t)n);
}

uint32_t rs_memory_pool_text(rs_memory_rank *rank, const uint64_t pool[2])
{
    char text[48];
    int n = snprintf(text, sizeof text, "%" PRIu64 ",%" PRIu64, pool[0], pool[1]);
    return rs_strings_add(&rank->texts, text, (size_t)n);
}

/* ---- what is asked ------------------------------------------------------------------------------------- */

static rs_status read_size(const rs_options *options, const char *name, int64_t *out, rs_error *err)
{
    const char *text = rs_options_text(options, name);
    *out = -1;
    if (!text || rs_parse_size(text, out)) return RS_OK;
    return rs_fail(err, RS_ERR_USAGE,
                   "--%s %.60s is no size: give bytes, or 900M, 40G, 79.1G in parts of 1024", name, text);
}

static rs_status read_at(const char *text, rs_memory_question *q, rs_error *err)
{
    const char *end;
    int64_t us;
    if (strcmp(text, "peak") == 0) return RS_OK;
    q->at = RS_AT_END;
    if (strcmp(text, "end") == 0) return RS_OK;
    q->at = RS_AT_TIME;
    if (!rs_parse_whole(text, &us, &end) || *end || us > INT64_MAX / 1000)
        return rs_fail(err, RS_ERR_USAGE,
                       "--at %.60s: give peak, end, or microseconds from the job's first event", text);
    q->at_ns = us * 1000;
    return RS_OK;
}

static rs_status read_layers(const rs_options *options, rs_memory_question *q, rs_error *err)
{
    const int64_t n = rs_options_is_set(options, "layers") ? rs_options_int(options, "layers") : 0;
    if (rs_options_is_set(options, "layers") && (n < 1 || n > MOST_STRETCHES))
        return rs_fail(err, RS_ERR_USAGE, "--layers takes 1 to %d, not %lld", MOST_STRETCHES, (long long)n);
    q->layers = (size_t)n;
    if (n && q->traced && q->by == RS_BY_OP)
        return rs_fail(err, RS_ERR_USAGE,
                       "--layers does not know the operators of --trace: leave out one of them");
    return RS_OK;
}

rs_status rs_memory_question_read(const rs_options *options, rs_memory_question *q, rs_error *err)
{
    const char *by = rs_options_text(options, "by");
    *q = (rs_memory_question){.top = (size_t)rs_options_int(options, "top"),
                              .series = rs_options_flag(options, "series"),
                              .counters = rs_options_is_set(options, "counters"),
                              .layout = rs_options_flag(options, "layout"),
                              .traced = rs_options_is_set(options, "trace")};
    while (q->by + 1 < RS_N_SITE_BYS && strcmp(rs_site_by_names[q->by], by) != 0) q->by++;
    RS_TRY(read_at(rs_options_text(options, "at"), q, err));
    RS_TRY(read_layers(options, q, err));
    RS_TRY(read_size(options, "fit", &q->room, err));
    RS_TRY(read_size(options, "other", &q->other, err));
    if (q->other >= 0 && q->room < 0)
        return rs_fail(err, RS_ERR_USAGE, "--other says what of --fit is not PyTorch's: give --fit, too");
    return rs_memory_read_edits(options, q, err);
}

void rs_memory_question_clear(rs_memory_question *q)
{
    for (size_t k = 0; k <= RS_MEMORY_EARLY; k++) rs_pattern_free(q->patterns[k]);
    *q = (rs_memory_question){0};
}

/* ---- what is selected ----------------------------------------------------------------------------------- */

static bool add_span(rs_memory_view *v, size_t *capacity, uint32_t first, uint32_t last)
{
    if (v->n_spans && v->spans[v->n_spans - 1].last + 1 >= first) {
        v->spans[v->n_spans - 1].last = last;
        return true;
    }
    return RS_PUSH(v->spans, v->n_spans, *capacity, (rs_instants){first, last});
}

/* Instants around the selected events: the one before each, and the one after it. */
static rs_status select_instants(rs_memory_view *v, const rs_selection *selection,
                                 const rs_memory_steps *steps, rs_error *err)
{
    const rs_history *h = &v->history;
    size_t capacity = 0, step = 0;
    bool ok = true, all = !selection || (!selection->by_step && !selection->by_window);
    if (all) ok = add_span(v, &capacity, 0, h->n);
    for (uint32_t i = 0; ok && !all && i < h->n; i++) {
        while (step < steps->n && steps->items[step].to <= i) step++;
        bool in_step = step < steps->n && steps->items[step].from <= i &&
                       rs_ranges_has(&selection->steps, steps->items[step].number);
        if (selection->by_step && !in_step) continue;
        if (selection->by_window &&
            (rs_event_time(h, i) == RS_NO_TIME || !rs_selection_has_time(selection, rs_event_time(h, i))))
            continue;
        ok = add_span(v, &capacity, i, i + 1);
    }
    return ok ? RS_OK : rs_fail_nomem(err, "selected events");
}

/* --at as an instant. */
static uint32_t find_instant(const rs_memory_view *v, const rs_run *run)
{
    const rs_memory_question *q = v->question;
    if (q->at == RS_AT_PEAK) return v->peaks.instant[RS_ACTIVE];
    if (q->at == RS_AT_END) return RS_NEVER;
    int64_t origin = run->selection && run->selection->origin != RS_NO_TIME ? run->selection->origin : 0;
    return rs_instant_at(&v->history, rs_add_sat(origin, q->at_ns));
}

/* ---- one device ------------------------------------------------------------------------------------------- */

static int64_t time_or_none(const rs_memory_view *v, uint32_t instant)
{
    return v->history.n ? rs_instant_time(&v->history, instant) : RS_NO_TIME;
}

static void fill_device(rs_memory_view *v, rs_memory_device *d)
{
    const rs_history *h = &v->history;
    const rs_snapshot *s = v->snapshot;
    int64_t first = time_or_none(v, 0), last = time_or_none(v, h->n);
    *d = (rs_memory_device){.device = v->device,
                            .events = h->n,
                            .span = first == RS_NO_TIME || last == RS_NO_TIME ? RS_NO_TIME
                                                                              : rs_sub_sat(last, first),
                            .before = h->n ? h->begin.active : RS_NO_VALUE,
                            .end_active = h->end.active,
                            .end_held = h->end.held,
                            .end_allocated = h->allocated,
                            .end_reserved = h->end.reserved,
                            .device_allocs = h->device_allocs,
                            .device_frees = h->device_frees,
                            .out_of_memory = h->n_failed,
                            .n_before = (int64_t)h->n_before,
                            .n_cut = (int64_t)h->n_cut,
                            .n_freed_twice = (int64_t)h->n_freed_twice,
                            .n_unplaced = (int64_t)h->n_unplaced,
                            .max_entries = s->max_entries,
                            .overflowed = s->overflowed,
                            .has_history = s->has_history,
                            .expandable = s->expandable};
    for (int k = 0; k < RS_N_SUMS; k++) {
        d->peak[k] = v->peaks.value[k];
        d->peak_at[k] = time_or_none(v, v->peaks.instant[k]);
    }
    d->need = d->peak[RS_RESERVED];
    d->floor = d->peak[RS_ACTIVE];
    for (size_t i = 0; i < h->n_lives; i++) {
        const rs_life *life = &h->lives[i];
        if (!life->from) continue;
        d->allocations++;
        if (life->stack != RS_NO_STACK) continue;
        d->n_without_stack++;
        if (rs_life_is_active(life, v->peaks.instant[RS_ACTIVE]))
            d->without_stack = rs_add_sat(d->without_stack, life->size);
    }
}

/* What a device contributes; its history is there. */
static rs_status add_rows(rs_memory_view *v, rs_stack_names *by, const rs_run *run, rs_error *err)
{
    rs_memory_rank *rank = v->rank;
    if (!RS_GROW_ONE(rank->devices, rank->n_devices, rank->devices_capacity))
        return rs_fail_nomem(err, "devices");
    rs_memory_device *d = &rank->devices[rank->n_devices];
    v->peaks = rs_history_peaks(&v->history, v->spans, v->n_spans);
    v->instant = find_instant(v, run);
    fill_device(v, d);
    RS_TRY(rs_memory_add_sites(v, by, err));
    RS_TRY(rs_memory_add_blocks(v, err));
    if (v->question->series || v->question->counters) RS_TRY(rs_memory_add_changes(v, err));
    if (v->question->layers) RS_TRY(rs_memory_add_layers(v, err));
    if (v->question->layout) RS_TRY(rs_memory_add_layout(v, err));
    RS_TRY(rs_memory_add_segments(v, d, err));
    RS_TRY(rs_memory_add_growth(v, d, err));
    RS_TRY(rs_memory_add_failures(v, d, err));
    if (v->question->traced) RS_TRY(rs_memory_add_allocations(v, err));
    if (v->question->edits) RS_TRY(rs_memory_add_answers(v, d, run->options, err));
    rank->n_devices++;
    return RS_OK;
}

/* Steps are only looked for where they are selected. */
static rs_status select_part(rs_memory_view *v, const rs_selection *selection, rs_error *err)
{
    RS_SCOPED(rs_memory_steps_clear) rs_memory_steps steps = {0};
    rs_status status =
        selection && selection->by_step ? rs_memory_steps_make(&v->history, &steps, err) : RS_OK;
    if (status == RS_OK) status = select_instants(v, selection, &steps, err);
    return status;
}

static void clear_view(rs_memory_view *v)
{
    rs_history_clear(&v->history);
    rs_purposes_clear(&v->purposes);
    rs_segment_finder_clear(&v->segments);
    rs_free_all(v->site_of_life, v->spans);
}

static rs_status add_device(const rs_memory_view *common, const rs_snapshot_device *device,
                            rs_stack_names *by, const rs_run *run, const rs_selection *selection,
                            rs_error *err)
{
    rs_memory_view v = *common;
    char name[24];
    int n = snprintf(name, sizeof name, "cuda:%d", (int)device->number);
    v.device = rs_strings_add(&v.rank->texts, name, (size_t)n);
    rs_status status = v.device == RS_NO_STRING ? rs_fail_nomem(err, "devices")
                                                : rs_history_make(v.snapshot, device, &v.history, err);
    if (status == RS_OK) status = select_part(&v, selection, err);
    if (status == RS_OK && v.n_spans) {
        status = rs_purposes_init(&v.purposes, &v.history, by->traits, err);
        if (status == RS_OK) status = rs_segment_finder_init(&v.segments, v.snapshot, device->number, err);
        if (status == RS_OK) status = add_rows(&v, by, run, err);
    }
    clear_view(&v);
    return status;
}

static rs_status nothing_selected(const rs_selection *s, rs_error *err)
{
    if (s->by_step && !s->by_window)
        return rs_fail(
            err, RS_ERR_USAGE,
            "no step %.80s: steps of a snapshot are those of ProfilerStep#N, of Optimizer.step or zero_grad, "
            "or the cycles of its memory",
            s->steps_text);
    return rs_fail(err, RS_ERR_USAGE, "--window %.80s: no event of the snapshot is in it", s->window_text);
}

static rs_status add_devices(const rs_memory_view *common, rs_stack_names *by, const rs_run *run,
                             rs_error *err)
{
    const rs_snapshot *s = common->snapshot;
    const rs_selection *selection = run->selection;
    for (size_t i = 0; i < s->n_devices; i++)
        RS_TRY(add_device(common, &s->devices[i], by, run, selection, err));
    if (common->rank->n_devices || !s->n_devices) return RS_OK;
    return nothing_selected(selection, err);
}

static rs_status fill_rank(const rs_run *run, const rs_snapshot *s, const rs_memory_question *q,
                           rs_memory_rank *rank, rs_error *err)
{
    rs_frame_traits traits;
    rs_stack_names lines = {0}, other = {0};
    rs_memory_view v = {.question = q, .snapshot = s, .rank = rank, .lines = &lines};
    rs_status status = rs_strings_init(&rank->texts) ? RS_OK : rs_fail_nomem(err, "snapshot");
    if (status == RS_OK) status = rs_frame_traits_make(s, &traits, err);
    if (status != RS_OK) return status;
    bool own = q->by != RS_BY_LINE && rs_site_is_of_stack(q->by);
    status = rs_stack_names_init(&lines, &traits, RS_BY_LINE, &rank->texts, err);
    if (status == RS_OK && own) status = rs_stack_names_init(&other, &traits, q->by, &rank->texts, err);
    if (status == RS_OK) status = add_devices(&v, own ? &other : &lines, run, err);
    rs_stack_names_clear(&lines);
    rs_stack_names_clear(&other);
    rs_frame_traits_clear(&traits);
    return status;
}

rs_status rs_memory_snapshot_rank(const rs_run *run, rs_trace *trace, rs_memory_rank **out, rs_error *err)
{
    rs_memory_question q;
    rs_memory_rank *rank = rs_calloc(1, sizeof *rank);
    rs_status status = rs_memory_question_read(run->options, &q, err);
    if (status == RS_OK && !rank) status = rs_fail_nomem(err, "snapshot");
    if (status == RS_OK) status = fill_rank(run, rs_snapshot_of(trace), &q, rank, err);
    rs_memory_question_clear(&q);
    if (status == RS_OK)
        *out = rank;
    else
        rs_memory_snapshot_free(rank);
    return status;
}
