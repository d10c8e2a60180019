/* memory of a snapshot: the peak if something were different (--without, --recompute, --early, --batch, --shard). */
#include <stdio.h>
#include <string.h>

#include "analysis/memory_snapshot.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "rankscope/where.h"
#include "text/numbers.h"

/* An answer whose interval is wider than this share of the peak is none. */
#define WIDEST 0.25

static const char *const names[RS_N_MEMORY_EDITS] = {"without", "recompute", "early", "batch", "shard"};

static rs_status read_pattern(const rs_options *options, size_t edit, struct rs_pattern **out, rs_error *err)
{
    const char *text = rs_options_text(options, names[edit]);
    if (!text) return RS_OK;
    rs_status status = rs_pattern_compile(text, out, err);
    return status == RS_OK ? RS_OK : rs_error_wrap(err, "--%s", names[edit]);
}

rs_status rs_memory_read_edits(const rs_options *options, rs_memory_question *q, rs_error *err)
{
    q->edited = (rs_memory_change_of){.batch = 1, .shard = 1};
    for (size_t k = 0; k <= RS_MEMORY_EARLY; k++) RS_TRY(read_pattern(options, k, &q->patterns[k], err));
    if (rs_options_is_set(options, "batch")) q->edited.batch = rs_options_real(options, "batch");
    if (rs_options_is_set(options, "shard")) q->edited.shard = rs_options_int(options, "shard");
    if (!(q->edited.batch > 0) || q->edited.batch > 1e6)
        return rs_fail(err, RS_ERR_USAGE,
                       "--batch takes a factor above 0, up to 1000000: 0.5 is half the micro-batch");
    if (q->edited.shard < 1) return rs_fail(err, RS_ERR_USAGE, "--shard takes a number of ranks above 0");
    for (size_t k = 0; k < RS_N_MEMORY_EDITS; k++)
        if (rs_options_is_set(options, names[k])) q->edits |= 1U << k;
    return RS_OK;
}

/* Which stacks have a site by line that the pattern fits. NULL: no memory. */
static bool *fitting_stacks(rs_memory_view *v, const struct rs_pattern *pattern)
{
    size_t n = v->snapshot->n_stacks;
    bool *fits = rs_calloc(n + 1, sizeof *fits);
    for (size_t i = 0; fits && i <= n; i++) {
        uint32_t name = rs_stack_name(v->lines, i == n ? RS_NO_STACK : (uint32_t)i);
        if (name == RS_NO_STRING) {
            rs_free(fits);
            return NULL;
        }
        const rs_string *text = &v->rank->texts.items[name];
        fits[i] = rs_pattern_matches(pattern, text->text, text->length);
    }
    return fits;
}

/* "--recompute mlp", as it was given. */
static uint32_t name_edit(rs_memory_view *v, const rs_options *options, size_t edit)
{
    char text[256], number[RS_NUMBER_SIZE];
    const char *value = edit <= RS_MEMORY_EARLY ? rs_options_text(options, names[edit]) : number;
    if (edit == RS_MEMORY_BATCH) number[rs_format_real(v->question->edited.batch, number)] = '\0';
    if (edit == RS_MEMORY_SHARD) number[rs_format_int(v->question->edited.shard, number)] = '\0';
    int n = snprintf(text, sizeof text, "--%s %.200s", names[edit], value);
    return rs_strings_add(&v->rank->texts, text, (size_t)n);
}

/* One row: edits of the mask at once. An answer that is exact is its own interval. */
static rs_status add_row(rs_memory_view *v, const rs_memory_edits *x, unsigned mask, rs_memory_answer *row,
                         rs_error *err)
{
    uint32_t peak = v->peaks.instant[RS_ACTIVE];
    rs_edited now, least, most;
    RS_TRY(rs_memory_edited(x, mask, RS_BOUND_NONE, v->spans, v->n_spans, peak, &now, err));
    least = most = now;
    if (mask != 1U << RS_MEMORY_WITHOUT_SITES) {
        RS_TRY(rs_memory_edited(x, mask, RS_BOUND_LEAST, v->spans, v->n_spans, peak, &least, err));
        RS_TRY(rs_memory_edited(x, mask, RS_BOUND_MOST, v->spans, v->n_spans, peak, &most, err));
    }
    row->blocks = now.blocks;
    row->removed = now.removed;
    row->new_peak = now.peak;
    row->new_peak_at = rs_instant_time(&v->history, now.instant);
    row->low = least.peak < most.peak ? least.peak : most.peak;
    row->high = least.peak < most.peak ? most.peak : least.peak;
    if (now.peak < row->low) row->low = now.peak;
    if (now.peak > row->high) row->high = now.peak;
    row->new_floor = now.floor;
    if (least.floor > row->new_floor) row->new_floor = least.floor;
    if (most.floor > row->new_floor) row->new_floor = most.floor;
    if ((double)rs_sub_sat(row->high, row->low) <= WIDEST * (double)row->peak) return RS_OK;
    row->new_peak = row->new_floor = RS_NO_VALUE;
    row->new_peak_at = RS_NO_TIME;
    return RS_OK;
}

static rs_status add_rows(rs_memory_view *v, const rs_memory_device *d, const rs_options *options,
                          const rs_memory_edits *x, rs_error *err)
{
    rs_memory_rank *rank = v->rank;
    unsigned asked = v->question->edits;
    for (size_t k = 0; k <= RS_N_MEMORY_EDITS; k++) {
        unsigned mask = k < RS_N_MEMORY_EDITS ? asked & 1U << k : asked & (asked - 1) ? asked : 0;
        if (!mask) continue;
        if (!RS_GROW_ONE(rank->answers, rank->n_answers, rank->answers_capacity))
            return rs_fail_nomem(err, "edits");
        rs_memory_answer *row = &rank->answers[rank->n_answers++];
        *row =
            (rs_memory_answer){.device = v->device,
                               .edit = (unsigned)k,
                               .change = k < RS_N_MEMORY_EDITS ? name_edit(v, options, k)
                                                               : rs_strings_add(&rank->texts, "together", 8),
                               .peak = d->peak[RS_ACTIVE],
                               .floor = d->floor};
        if (row->change == RS_NO_STRING) return rs_fail_nomem(err, "edits");
        RS_TRY(add_row(v, x, mask, row, err));
    }
    return RS_OK;
}

rs_status rs_memory_add_answers(rs_memory_view *v, const rs_memory_device *d, const rs_options *options,
                                rs_error *err)
{
    rs_memory_change_of asked = v->question->edited;
    bool *fits[RS_MEMORY_EARLY + 1] = {NULL}, ok = true;
    for (size_t k = 0; ok && k <= RS_MEMORY_EARLY; k++) {
        if (!v->question->patterns[k]) continue;
        asked.stacks[k] = fits[k] = fitting_stacks(v, v->question->patterns[k]);
        ok = fits[k] != NULL;
    }
    RS_SCOPED(rs_memory_edits_clear) rs_memory_edits x = {0};
    rs_status status = ok ? rs_memory_edits_make(&v->purposes, &asked, &x, err) : rs_fail_nomem(err, "edits");
    if (status == RS_OK) status = add_rows(v, d, options, &x, err);
    for (size_t k = 0; k <= RS_MEMORY_EARLY; k++) rs_free(fits[k]);
    return status;
}
