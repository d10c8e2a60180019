/* Which training step of a trace is which record: ProfilerStep#N is the record with that global_step; where
 * no number is among the records (a run that was resumed counts from another one), the steps are taken in
 * order.
 */
#include <stdio.h>
#include <string.h>

#include "base/keymap.h"
#include "base/memory.h"
#include "metrics/dataset.h"
#include "metrics/trace_steps.h"

#define NAMED 160 /* bytes of a line that names steps */

/* Steps -> index of the record; the first where a step is repeated, which one run never does. */
static bool index_records(const rs_series *s, rs_keymap *map)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    size_t hint = 0;
    for (size_t i = 0; i < s->n; i++) {
        int64_t step = rs_series_step(s, i, &hint);
        least = step < least ? step : least;
        most = step > most ? step : most;
    }
    bool ok = rs_keymap_init(map, least, most, s->n);
    for (size_t i = 0; ok && i < s->n; i++) ok = rs_keymap_put(map, rs_series_step(s, i, &hint), (uint32_t)i);
    return ok;
}

static bool add_pair(rs_dataset *d, const rs_series *s, size_t record, const rs_traced_step *step,
                     bool by_number)
{
    static const int time_of[RS_N_OF] = {[RS_OF_TOTAL] = RS_TRACE_TOTAL,
                                         [RS_OF_COMPUTE] = RS_TRACE_COMPUTE,
                                         [RS_OF_COMM] = RS_TRACE_COMM,
                                         [RS_OF_OVERLAP] = RS_TRACE_OVERLAP,
                                         [RS_OF_IDLE] = RS_TRACE_IDLE};
    size_t hint = 0;
    if (!RS_GROW_ONE(d->pairs, d->n_pairs, d->pairs_capacity)) return false;
    rs_step_pair *p = &d->pairs[d->n_pairs++];
    *p = (rs_step_pair){.rank = s->rank,
                        .step = rs_series_step(s, record, &hint),
                        .trace_step = step->number,
                        .by_number = by_number};
    for (int k = 0; k < RS_N_OF; k++) {
        p->recorded[k] = s->of[k][record];
        p->traced[k] = (double)step->ns[time_of[k]] / 1e6;
    }
    return true;
}

/* "12, 14-16, 40" and so on, as far as there is room. */
typedef struct step_list {
    char text[NAMED];
    size_t used, n;
    int64_t first, last;
    bool open;
} step_list;

static void list_flush(step_list *l)
{
    size_t room = sizeof l->text - l->used;
    if (!l->open) return;
    l->open = false;
    if (room < 48) {
        if (room > 8 && l->used && l->text[l->used - 1] != '.')
            l->used += (size_t)snprintf(l->text + l->used, room, ", ...");
        return;
    }
    const char *comma = l->used ? ", " : "";
    l->used += l->first == l->last
                   ? (size_t)snprintf(l->text + l->used, room, "%s%lld", comma, (long long)l->first)
                   : (size_t)snprintf(l->text + l->used, room, "%s%lld-%lld", comma, (long long)l->first,
                                      (long long)l->last);
}

static void list_add(step_list *l, int64_t step)
{
    l->n++;
    if (l->open && l->last < INT64_MAX && step == l->last + 1) {
        l->last = step;
        return;
    }
    list_flush(l);
    l->first = l->last = step;
    l->open = true;
}

static bool add_line(rs_dataset *d, const char *text)
{
    char *copy = rs_strdup(text);
    if (!copy || !RS_GROW_ONE(d->unmatched, d->n_unmatched, d->unmatched_capacity)) {
        rs_free(copy);
        return false;
    }
    d->unmatched[d->n_unmatched++] = copy;
    return true;
}

/* Says what of a rank has no partner. */
static bool tell_unmatched(rs_dataset *d, int64_t rank, const step_list *traced, const step_list *records,
                           size_t n_records, bool by_order)
{
    char line[4 * NAMED];
    int n = snprintf(line, sizeof line, "rank %lld: ", (long long)rank);
    if (by_order)
        n += snprintf(line + n, sizeof line - (size_t)n,
                      "no ProfilerStep's number is a global_step, so steps were matched in order%s",
                      traced->n || records->n ? "; " : "");
    if (traced->n)
        n += snprintf(line + n, sizeof line - (size_t)n,
                      "%zu training steps of the trace have no record (%s)%s", traced->n, traced->text,
                      records->n ? "; " : "");
    if (records->n)
        snprintf(line + n, sizeof line - (size_t)n,
                 "%zu of %zu records have no training step in the trace (%s)", records->n, n_records,
                 records->text);
    return !(by_order || traced->n || records->n) || add_line(d, line);
}

static bool align_rank(rs_dataset *d, const rs_series *s, const rs_traced_rank *steps,
                       rs_trace_report *report)
{
    RS_SCOPED(rs_keymap_clear) rs_keymap map = {.min = 0, .max = -1};
    RS_LOCAL uint8_t *used = rs_calloc(s->n + 1, 1);
    bool ok = used && s->n < UINT32_MAX && index_records(s, &map);
    step_list traced = {.used = 0}, records = {.used = 0};
    size_t before = d->n_pairs, hint = 0;
    report->by_number = false;
    for (size_t i = 0; ok && i < steps->n_steps && !report->by_number; i++)
        report->by_number = rs_keymap_get(&map, steps->steps[i].number) != RS_KEYMAP_NONE;
    for (size_t i = 0; ok && i < steps->n_steps; i++) {
        const rs_traced_step *step = &steps->steps[i];
        size_t record = i;
        if (report->by_number) {
            uint32_t found = rs_keymap_get(&map, step->number);
            record = found == RS_KEYMAP_NONE ? SIZE_MAX : found;
        }
        if (record >= s->n || used[record]) {
            list_add(&traced, step->number);
            continue;
        }
        used[record] = 1;
        ok = add_pair(d, s, record, step, report->by_number);
    }
    for (size_t i = 0; ok && i < s->n; i++)
        if (!used[i]) list_add(&records, rs_series_step(s, i, &hint));
    list_flush(&traced);
    list_flush(&records);
    report->n_matched = d->n_pairs - before;
    return ok && tell_unmatched(d, s->rank, &traced, &records, s->n, !report->by_number && report->n_matched);
}

rs_status rs_dataset_align(rs_dataset *d, const rs_rank_value *ranks, rs_error *err)
{
    char line[96];
    bool ok = true;
    for (size_t i = 0; ok && i < d->n_traces; i++) {
        const rs_series *s = NULL;
        for (size_t k = 0; k < d->n_series; k++)
            if (d->series[k].rank == d->traces[i].rank && !d->series[k].skipped) s = &d->series[k];
        if (s) {
            ok = align_rank(d, s, ranks[i].value, &d->traces[i]);
            continue;
        }
        snprintf(line, sizeof line, "rank %lld: there is a trace and no record to compare it with",
                 (long long)d->traces[i].rank);
        ok = add_line(d, line);
    }
    return ok ? RS_OK : rs_fail_nomem(err, "the steps of traces");
}
