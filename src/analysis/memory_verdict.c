/* memory of snapshots in sentences. This is the one place that makes them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/memory_snapshot.h"
#include "base/interval.h"
#include "base/real.h"
#include "base/try.h"
#include "text/numbers.h"

#define SITE "%.160s"
#define LEAST_SHARE 0.02 /* of a peak: what is said of it */
#define LEAST_BYTES ((int64_t)1 << 20)
#define LEAST_STEPS_SEEN 5 /* for what grows: three, and those at both ends */

/* A page of expandable segments that may be used in part, of each stream and pool: small and large ones. */
#define PAGES ((int64_t)22 << 20)

/* Ranks as one job, while its sentences are made. */
typedef struct speaker {
    const rs_run *run;
    const rs_partial *ranks;
    size_t n;
    double median; /* of the peaks of all devices */
    rs_table **tables;
    rs_result *result;
    rs_error *err;
} speaker;

static const rs_memory_rank *rank_of(const speaker *s, size_t i)
{
    return s->ranks[i].value;
}

static const char *text_of(const rs_memory_rank *p, uint32_t id)
{
    return p->texts.items[id].text;
}

static rs_status say(const speaker *s, const rs_memory_finding *row)
{
    return rs_memory_put_finding(s->tables[RS_MEMORY_FINDINGS], row, s->err);
}

/* "at 1.25 ms" from the job's first event; "" where the time is unknown. */
static const char *when(const speaker *s, int64_t time, char out[48])
{
    char number[32];
    out[0] = '\0';
    if (time == RS_NO_TIME) return out;
    rs_human_time(rs_sub_sat(time, s->run->origin), number);
    snprintf(out, 48, " at %s", number);
    return out;
}

/* " (52.9 %)" */
static const char *share_text(int64_t part, int64_t whole, char out[32])
{
    out[0] = '\0';
    if (whole > 0) snprintf(out, 32, " (%s %%)", RS_FIXED(100.0 * (double)part / (double)whole, 1));
    return out;
}

/* ---- a failure --------------------------------------------------------------------------------------------- */

static const rs_memory_device *device_of(const rs_memory_rank *p, uint32_t device)
{
    size_t i = 0;
    while (i + 1 < p->n_devices && p->devices[i].device != device) i++;
    return &p->devices[i];
}

/* The sites whose blocks keep the segments with most stuck bytes, as "A and B". */
static void name_pins(const rs_memory_rank *p, uint32_t device, char *out, size_t size)
{
    size_t used = 0, n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < p->n_pins && n < 2; i++) {
        if (p->pins[i].device != device) continue;
        int wrote =
            snprintf(out + used, size - used, "%s" SITE, n++ ? " and " : "", text_of(p, p->pins[i].site));
        used += wrote < 0 || (size_t)wrote >= size - used ? 0 : (size_t)wrote;
    }
}

static void remedy_fragmentation(const rs_memory_rank *p, const rs_memory_failure *f, char *out, size_t size)
{
    const rs_memory_device *d = device_of(p, f->device);
    char pins[400], rounding[32];
    int64_t spare = rs_sub_sat(rs_add_sat(f->device_free, rs_sub_sat(f->reserved, f->active)), f->requested);
    name_pins(p, f->device, pins, sizeof pins);
    if (d->expandable) {
        snprintf(
            out, size,
            "expandable_segments is on already: blocks of %s keep pages that are used in part; allocate what stays "
            "before what goes",
            *pins ? pins : "other streams");
        return;
    }
    int64_t left = rs_sub_sat(spare, d->rounding);
    snprintf(
        out, size,
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True %s have been enough: %s would have been left, without "
        "rounding and but for pages in part use; or max_split_size_mb, not both. The segments with most stuck bytes hold "
        "blocks of %s",
        left >= PAGES ? "would" : "may", rs_human_bytes(left > 0 ? left : 0, rounding), pins);
}

/* The largest sites of a device, as "1.2 GiB of A, 800 MiB of B". */
static void name_sites(const rs_memory_rank *p, uint32_t device, size_t most, char *out, size_t size)
{
    size_t used = 0, n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < p->n_sites && n < most; i++) {
        const rs_memory_site *site = &p->sites[i];
        char bytes[32];
        if (site->device != device || !site->bytes) continue;
        int wrote = snprintf(out + used, size - used, "%s%s of " SITE, n++ ? ", " : "",
                             rs_human_bytes(site->bytes, bytes), text_of(p, site->site));
        if (wrote < 0 || (size_t)wrote >= size - used) return;
        used += (size_t)wrote;
    }
}

static void remedy_demand(const rs_memory_rank *p, const rs_memory_failure *f, char *out, size_t size)
{
    char sites[600];
    name_sites(p, f->device, 2, sites, sizeof sites);
    snprintf(
        out, size,
        "less must be in use: recompute activations, shard optimizer state, or a smaller micro-batch. Largest: %s",
        sites);
}

static void remedy_limit(char *out, size_t size)
{
    snprintf(
        out, size,
        "the device had room: a limit stopped it (set_per_process_memory_fraction, a graph capture, or a failed "
        "mapping)");
}

static rs_status say_failure(const speaker *s, int64_t rank, const rs_memory_rank *p,
                             const rs_memory_failure *f)
{
    static const char *const causes[RS_N_CAUSES] = {"a limit", "fragmentation", "demand"};
    char text[1200], remedy[1200], active[32], asked[32], room[32], slack[32], at[48], largest[32];
    bool known = f->largest_free != RS_NO_VALUE;
    snprintf(text, sizeof text,
             "Rank %lld (%s) ran out of memory%s by %s: " SITE
             " asked for %s with %s active, %s free on the device and %s reserved but not active%s%s.",
             (long long)rank, text_of(p, f->device), when(s, f->time, at), causes[f->cause],
             text_of(p, f->site), rs_human_bytes(f->requested, asked), rs_human_bytes(f->active, active),
             rs_human_bytes(f->device_free, room), rs_human_bytes(rs_sub_sat(f->reserved, f->active), slack),
             known ? ", in pieces of at most " : "", known ? rs_human_bytes(f->largest_free, largest) : "");
    if (f->cause == RS_CAUSE_FRAGMENTATION)
        remedy_fragmentation(p, f, remedy, sizeof remedy);
    else if (f->cause == RS_CAUSE_DEMAND)
        remedy_demand(p, f, remedy, sizeof remedy);
    else
        remedy_limit(remedy, sizeof remedy);
    rs_memory_finding row = {.kind = "failure",
                             .finding = text,
                             .remedy = remedy,
                             .device = text_of(p, f->device),
                             .site = text_of(p, f->site),
                             .rank = rank,
                             .bytes = f->requested};
    return say(s, &row);
}

/* The earliest failure; those of no known time come last. */
static const rs_memory_failure *first_failure(const speaker *s, size_t *whose)
{
    const rs_memory_failure *first = NULL;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < rank_of(s, i)->n_failures; k++) {
            const rs_memory_failure *f = &rank_of(s, i)->failures[k];
            bool known = f->time != RS_NO_TIME;
            if (first && (!known || (first->time != RS_NO_TIME && f->time >= first->time))) continue;
            first = f;
            *whose = i;
        }
    return first;
}

static rs_status say_failures(const speaker *s, bool *any)
{
    size_t whose = 0, more = 0, last = 0;
    int64_t failures = 0;
    const rs_memory_failure *first = first_failure(s, &whose);
    *any = first != NULL;
    if (!first) return RS_OK;
    RS_TRY(say_failure(s, s->ranks[whose].rank, rank_of(s, whose), first));
    for (size_t i = 0; i < s->n; i++) {
        failures += (int64_t)rank_of(s, i)->n_failures;
        if (i == whose || !rank_of(s, i)->n_failures) continue;
        more++;
        last = i;
    }
    if (failures == 1) return RS_OK;
    char text[240];
    rs_memory_finding row = {.kind = "failure", .finding = text, .rank = RS_NO_VALUE, .bytes = RS_NO_VALUE};
    if (more == 1) row.rank = s->ranks[last].rank;
    if (more)
        snprintf(text, sizeof text,
                 "%zu more rank%s ran out of memory, too: %lld failed allocations in all (table oom).", more,
                 more == 1 ? "" : "s", (long long)failures);
    else
        snprintf(text, sizeof text, "%lld more allocations of this rank failed after it (table oom).",
                 (long long)failures - 1);
    return say(s, &row);
}

/* ---- what was asked ------------------------------------------------------------------------------------------ */

/* The worst device of --fit. */
static rs_status say_fit(const speaker *s, const rs_memory_question *q)
{
    const rs_memory_device *worst = NULL;
    size_t whose = 0, n = 0, n_fit = 0;
    int64_t room = rs_sub_sat(q->room, q->other < 0 ? 0 : q->other);
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < rank_of(s, i)->n_devices; k++) {
            const rs_memory_device *d = &rank_of(s, i)->devices[k];
            n++;
            n_fit += d->need <= room;
            if (worst && d->need <= worst->need) continue;
            worst = d;
            whose = i;
        }
    if (!worst) return RS_OK;
    char text[500], left[32], need[32], have[32];
    int64_t headroom = rs_sub_sat(room, worst->need);
    const char *fits = headroom >= 0          ? "It fits"
                       : worst->floor <= room ? "It fits without fragmentation only"
                                              : "It does not fit";
    snprintf(
        text, sizeof text,
        "%s: the fullest device, rank %lld (%s), needs %s of %s, %s %s; %zu of %zu devices fit as they are.",
        fits, (long long)s->ranks[whose].rank, text_of(rank_of(s, whose), worst->device),
        rs_human_bytes(worst->need, need), rs_human_bytes(room, have),
        rs_human_bytes(headroom < 0 ? rs_sub_sat(0, headroom) : headroom, left),
        headroom < 0 ? "too much" : "to spare", n_fit, n);
    rs_memory_finding row = {.kind = "fit",
                             .finding = text,
                             .device = text_of(rank_of(s, whose), worst->device),
                             .rank = s->ranks[whose].rank,
                             .bytes = headroom};
    return say(s, &row);
}

/* What the worst failed allocation of the device would then need; "" where none failed. */
static const char *if_it_failed(const rs_memory_rank *p, const rs_memory_answer *a, char out[160])
{
    const rs_memory_failure *worst = NULL;
    char needed[32], room[32];
    out[0] = '\0';
    for (size_t i = 0; i < p->n_failures; i++) {
        const rs_memory_failure *f = &p->failures[i];
        if (f->device != a->device) continue;
        if (!worst || rs_add_sat(f->active, f->requested) > rs_add_sat(worst->active, worst->requested))
            worst = f;
    }
    if (!worst || a->new_floor == RS_NO_VALUE) return out;
    int64_t has = rs_add_sat(worst->reserved, worst->device_free);
    snprintf(out, 160,
             " With the allocation that failed it would need at most %s of the %s that there were: %s.",
             rs_human_bytes(a->new_floor, needed), rs_human_bytes(has, room),
             a->new_floor > has ? "that may be too much" : "it fits without fragmentation");
    return out;
}

/* " It fits into 24.0 GiB."; "" without --fit. What is reserved and not active stays as it is. */
static const char *if_it_fits(const rs_memory_question *q, const rs_memory_rank *p, const rs_memory_answer *a,
                              char out[120])
{
    const rs_memory_device *d = device_of(p, a->device);
    int64_t room = rs_sub_sat(q->room, q->other < 0 ? 0 : q->other);
    int64_t spare = rs_sub_sat(d->peak[RS_RESERVED], d->peak[RS_ACTIVE]);
    const char *fits = rs_add_sat(a->high, spare) <= room ? "It would fit"
                       : a->high <= room                  ? "It would fit without fragmentation"
                       : a->low <= room                   ? "It may fit without fragmentation"
                                                          : "It would not fit";
    char text[32];
    out[0] = '\0';
    if (q->room >= 0) snprintf(out, 120, " %s into %s.", fits, rs_human_bytes(room, text));
    return out;
}

static rs_status say_answer(const speaker *s, const rs_memory_question *q, size_t whose,
                            const rs_memory_answer *a)
{
    const rs_memory_rank *p = rank_of(s, whose);
    char text[1000], peak[32], less[32], now[32], low[32], high[32], failed[160], room[120],
        interval[96] = "";
    const char *change = text_of(p, a->change), *device = text_of(p, a->device);
    rs_memory_finding row = {.kind = "without",
                             .finding = text,
                             .remedy = NULL,
                             .device = device,
                             .rank = s->ranks[whose].rank,
                             .bytes =
                                 a->new_peak == RS_NO_VALUE ? RS_NO_VALUE : rs_sub_sat(a->peak, a->new_peak)};
    rs_human_bytes(a->peak, peak);
    rs_human_bytes(a->low, low);
    rs_human_bytes(a->high, high);
    if (a->low != a->high) snprintf(interval, sizeof interval, " (%s to %s)", low, high);
    if (!a->blocks)
        snprintf(text, sizeof text, "%s changes no block of rank %lld (%s)%s.", change, (long long)row.rank,
                 device,
                 a->edit == RS_MEMORY_SHARD
                     ? ": optimizer state is from before the recording, or there is none"
                     : "");
    else if (a->new_peak == RS_NO_VALUE)
        snprintf(
            text, sizeof text,
            "%s: no answer. The peak of rank %lld (%s), %s, would be anything from %s to %s: what the snapshot does not "
            "say is more than a quarter of it.%s",
            change, (long long)row.rank, device, peak, low, high, if_it_fits(q, p, a, room));
    else
        snprintf(text, sizeof text, "%s: the peak of rank %lld (%s) would be %s%s instead of %s, %s %s.%s%s",
                 change, (long long)row.rank, device, rs_human_bytes(a->new_peak, now), interval, peak,
                 rs_human_bytes(row.bytes < 0 ? rs_sub_sat(0, row.bytes) : row.bytes, less),
                 row.bytes < 0 ? "more" : "less", if_it_failed(p, a, failed), if_it_fits(q, p, a, room));
    if (!a->blocks && a->edit < RS_N_MEMORY_EDITS) rs_result_note(s->result, "%s", text);
    if (a->edit < RS_N_MEMORY_EDITS)
        rs_result_note(s->result, "%s assumes: %s.", change, rs_memory_edit_assumptions[a->edit]);
    return say(s, &row);
}

/* What was asked, of the device whose peak is largest; all at once comes first. */
static rs_status say_answers(const speaker *s, const rs_memory_question *q)
{
    for (size_t edit = RS_N_MEMORY_EDITS + 1; edit-- > 0;) {
        const rs_memory_answer *worst = NULL;
        size_t whose = 0;
        for (size_t i = 0; i < s->n; i++)
            for (size_t k = 0; k < rank_of(s, i)->n_answers; k++) {
                const rs_memory_answer *a = &rank_of(s, i)->answers[k];
                if (a->edit != edit || (worst && a->peak <= worst->peak)) continue;
                worst = a;
                whose = i;
            }
        if (worst) RS_TRY(say_answer(s, q, whose, worst));
    }
    return RS_OK;
}

/* The site that changed most. */
static rs_status say_change(const speaker *s)
{
    enum { CHANGE_RANK, CHANGE_DEVICE, CHANGE_SITE, CHANGE_A, CHANGE_B, CHANGE_BYTES };
    const rs_table *t = s->tables[RS_MEMORY_CHANGE];
    size_t best = 0, n = rs_table_n_rows(t), length;
    int64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t change = rs_table_int(t, i, CHANGE_BYTES);
        if (change < 0) change = rs_sub_sat(0, change);
        if (change <= most) continue;
        most = change;
        best = i;
    }
    char text[600], by[32], from[32], to[32];
    rs_memory_finding row = {.kind = "change", .finding = text, .rank = RS_NO_VALUE, .bytes = 0};
    snprintf(text, sizeof text, "No site holds more or less than in the base.");
    if (most) {
        row.rank = rs_table_int(t, best, CHANGE_RANK);
        row.device = rs_table_text(t, best, CHANGE_DEVICE, &length);
        row.site = rs_table_text(t, best, CHANGE_SITE, &length);
        row.bytes = rs_table_int(t, best, CHANGE_BYTES);
        snprintf(text, sizeof text,
                 SITE " changed most: it holds %s on rank %lld (%s), and %s in the base (%s%s).", row.site,
                 rs_human_bytes(rs_table_int(t, best, CHANGE_B), to), (long long)row.rank, row.device,
                 rs_human_bytes(rs_table_int(t, best, CHANGE_A), from), row.bytes > 0 ? "+" : "",
                 rs_human_bytes(row.bytes, by));
    }
    return say(s, &row);
}

/* ---- the fullest rank ---------------------------------------------------------------------------------------- */

static const rs_memory_device *fullest(const speaker *s, size_t *whose)
{
    const rs_memory_device *best = NULL;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < rank_of(s, i)->n_devices; k++) {
            const rs_memory_device *d = &rank_of(s, i)->devices[k];
            if (best && d->peak[RS_ACTIVE] <= best->peak[RS_ACTIVE]) continue;
            best = d;
            *whose = i;
        }
    return best;
}

static const rs_memory_purpose *largest_purpose(const rs_memory_rank *p, uint32_t device)
{
    const rs_memory_purpose *best = NULL;
    for (size_t i = 0; i < p->n_purposes; i++)
        if (p->purposes[i].device == device && (!best || p->purposes[i].bytes > best->bytes))
            best = &p->purposes[i];
    return best;
}

static const rs_memory_site *largest_site(const rs_memory_rank *p, uint32_t device)
{
    for (size_t i = 0; i < p->n_sites; i++)
        if (p->sites[i].device == device) return &p->sites[i];
    return NULL;
}

/* Whether all devices are about as full. */
static bool is_even(const speaker *s, const rs_memory_device *most)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < rank_of(s, i)->n_devices; k++, n++)
            if ((double)rank_of(s, i)->devices[k].peak[RS_ACTIVE] < 0.99 * (double)most->peak[RS_ACTIVE])
                return false;
    return n > 1;
}

static rs_status say_fullest(const speaker *s)
{
    size_t whose = 0;
    const rs_memory_device *d = fullest(s, &whose);
    if (!d) return RS_OK;
    const rs_memory_rank *p = rank_of(s, whose);
    const rs_memory_purpose *purpose = largest_purpose(p, d->device);
    const rs_memory_site *site = largest_site(p, d->device);
    char text[900], sites[600], peak[32], share[32], reserved[32], at[48];
    name_sites(p, d->device, 2, sites, sizeof sites);
    const char *what = purpose && purpose->all ? rs_purpose_names[purpose->purpose] : NULL;
    snprintf(text, sizeof text, "Rank %lld (%s) is the fullest%s: %s active%s, %s reserved%s%s%s%s%s.",
             (long long)s->ranks[whose].rank, text_of(p, d->device),
             is_even(s, d) ? ", by less than 1 %" : "", rs_human_bytes(d->peak[RS_ACTIVE], peak),
             when(s, d->peak_at[RS_ACTIVE], at), rs_human_bytes(d->peak[RS_RESERVED], reserved),
             *sites ? "; " : "", sites, what ? "; the largest category is " : "", what ? what : "",
             what ? share_text(purpose->bytes, purpose->all, share) : "");
    rs_memory_finding row = {.kind = "peak",
                             .finding = text,
                             .device = text_of(p, d->device),
                             .site = site ? text_of(p, site->site) : NULL,
                             .rank = s->ranks[whose].rank,
                             .bytes = d->peak[RS_ACTIVE]};
    return say(s, &row);
}

/* ---- fragments ------------------------------------------------------------------------------------------------- */

/* The device with the most stuck bytes, where they are a share of its reserved ones that counts. */
static rs_status say_fragments(const speaker *s)
{
    const rs_memory_device *worst = NULL;
    size_t whose = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < rank_of(s, i)->n_devices; k++) {
            const rs_memory_device *d = &rank_of(s, i)->devices[k];
            if (worst && d->stuck <= worst->stuck) continue;
            worst = d;
            whose = i;
        }
    if (!worst || worst->stuck < LEAST_BYTES ||
        (double)worst->stuck < LEAST_SHARE * (double)worst->end_reserved)
        return RS_OK;
    const rs_memory_rank *p = rank_of(s, whose);
    char text[900], pins[400], stuck[32], free[32], reserved[32], rounding[32];
    name_pins(p, worst->device, pins, sizeof pins);
    snprintf(
        text, sizeof text,
        "Rank %lld (%s) has %s of %s reserved in %lld free pieces at the end; %s of it cannot be returned to the "
        "device, as blocks of %s share its segments. Rounding takes %s.",
        (long long)s->ranks[whose].rank, text_of(p, worst->device), rs_human_bytes(worst->free, free),
        rs_human_bytes(worst->end_reserved, reserved), (long long)worst->free_runs,
        rs_human_bytes(worst->stuck, stuck), *pins ? pins : "other sites",
        rs_human_bytes(worst->rounding, rounding));
    rs_memory_finding row = {.kind = "fragmentation",
                             .finding = text,
                             .remedy = worst->expandable ? NULL
                                                         : "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
                             .device = text_of(p, worst->device),
                             .rank = s->ranks[whose].rank,
                             .bytes = worst->stuck};
    return say(s, &row);
}

/* ---- what grows -------------------------------------------------------------------------------------------------- */

/* The site that grows most by the step, and how many ranks see it. */
static rs_status say_growth(const speaker *s)
{
    const rs_memory_growth *worst = NULL;
    size_t whose = 0, n_ranks = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < rank_of(s, i)->n_growth; k++) {
            const rs_memory_growth *g = &rank_of(s, i)->growth[k];
            if (worst && g->kept / g->steps <= worst->kept / worst->steps) continue;
            worst = g;
            whose = i;
        }
    if (!worst) return RS_OK;
    const rs_memory_rank *p = rank_of(s, whose);
    const char *site = text_of(p, worst->site);
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < rank_of(s, i)->n_growth; k++)
            if (strcmp(text_of(rank_of(s, i), rank_of(s, i)->growth[k].site), site) == 0) {
                n_ranks++;
                break;
            }
    char text[600], step[32], share[32];
    bool all = worst->kept == worst->allocated;
    snprintf(text, sizeof text,
             SITE " grows by %s a step on %zu of %zu ranks (rank %lld: in %lld of %lld steps it keeps %s%s).",
             site, rs_human_bytes(worst->kept / worst->steps, step), n_ranks, s->n,
             (long long)s->ranks[whose].rank, (long long)worst->steps_kept, (long long)worst->steps,
             all ? "all that it allocates" : "part of it,",
             all ? "" : share_text(worst->kept, worst->allocated, share));
    rs_memory_finding row = {
        .kind = "growth",
        .finding = text,
        .remedy = all ? "free it before the next step, or keep numbers instead of tensors "
                        "(.item(), .detach())"
                      : "a cache that still fills grows, too: record more steps to distinguish them",
        .device = text_of(p, worst->device),
        .site = site,
        .rank = s->ranks[whose].rank,
        .bytes = worst->kept};
    return say(s, &row);
}

/* ---- the rank that differs ------------------------------------------------------------------------------------------- */

/* The site by which a rank is above the others most: a row of the table spread. */
static const char *site_above(const speaker *s, int64_t rank, double *above)
{
    const rs_table *t = s->tables[RS_MEMORY_SPREAD];
    const char *site = NULL;
    size_t n;
    *above = 0;
    for (size_t i = 0; i < rs_table_n_rows(t); i++) {
        double more = rs_table_real(t, i, 5) - rs_table_real(t, i, 4);
        if (rs_table_int(t, i, 6) != rank || more <= *above) continue;
        *above = more;
        site = rs_table_text(t, i, 0, &n);
    }
    return site;
}

static rs_status say_outlier(const speaker *s)
{
    size_t whose = 0;
    const rs_memory_device *d = fullest(s, &whose);
    double more = d ? (double)d->peak[RS_ACTIVE] - s->median : 0, above;
    if (s->n < 2 || more < LEAST_SHARE * s->median || more < (double)LEAST_BYTES) return RS_OK;
    const rs_memory_rank *p = rank_of(s, whose);
    int64_t rank = s->ranks[whose].rank;
    const char *site = site_above(s, rank, &above);
    char text[600], by[32], part[32], share[32];
    snprintf(text, sizeof text, "Rank %lld (%s) holds %s more than the median at its peak%s%s%s%s%s.",
             (long long)rank, text_of(p, d->device), rs_human_bytes(rs_int_of(more), by),
             share_text(rs_int_of(more), rs_int_of(s->median), share), site ? "; it has " : "",
             site ? rs_human_bytes(rs_int_of(above), part) : "", site ? " more of " : "", site ? site : "");
    rs_memory_finding row = {.kind = "outlier",
                             .finding = text,
                             .device = text_of(p, d->device),
                             .site = site,
                             .rank = rank,
                             .bytes = rs_int_of(more)};
    return say(s, &row);
}

/* ---- what is not known ------------------------------------------------------------------------------------------------- */

/* A sum over devices, in one sentence and as a note. */
static rs_status say_unknown(const speaker *s, int64_t bytes, size_t n_ranks, const char *remedy,
                             const char *format, ...) RS_PRINTF(5, 6);

static rs_status say_unknown(const speaker *s, int64_t bytes, size_t n_ranks, const char *remedy,
                             const char *format, ...)
{
    char text[400];
    va_list args;
    if (!n_ranks) return RS_OK;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rs_memory_finding row = {
        .kind = "not_known", .finding = text, .remedy = remedy, .rank = RS_NO_VALUE, .bytes = bytes};
    rs_result_note(s->result, "%s%s%s", text, remedy ? " Try: " : "", remedy ? remedy : "");
    return say(s, &row);
}

typedef struct unknowns {
    size_t devices, before, no_events, no_history, no_stack, ring, few_steps;
    int64_t bytes_before, blocks_before, bytes_no_stack, n_no_stack, allocations;
} unknowns;

static void count_unknowns(const rs_memory_rank *p, unknowns *u)
{
    for (size_t k = 0; k < p->n_devices; k++) {
        const rs_memory_device *d = &p->devices[k];
        u->devices++;
        u->no_history += !d->has_history;
        u->no_events += d->has_history && !d->events;
        u->before += d->events && d->before > 0;
        if (d->events && d->before > 0) u->bytes_before = rs_add_sat(u->bytes_before, d->before);
        u->blocks_before += d->n_before;
        u->no_stack += d->n_without_stack > 0;
        u->n_no_stack += d->n_without_stack;
        u->allocations += d->allocations;
        u->bytes_no_stack = rs_add_sat(u->bytes_no_stack, d->without_stack);
        u->ring += d->overflowed > 0 || (d->max_entries > 0 && d->events >= d->max_entries);
        u->few_steps += d->events && d->steps < LEAST_STEPS_SEEN;
    }
}

static rs_status say_unknowns(const speaker *s)
{
    static const char history[] = "torch.cuda.memory._record_memory_history() before the model is made";
    unknowns u = {0};
    char bytes[32];
    for (size_t i = 0; i < s->n; i++) count_unknowns(rank_of(s, i), &u);
    RS_TRY(say_unknown(
        s, RS_NO_VALUE, u.no_history + u.no_events, history,
        "%zu of %zu devices have no events, so that the peak is the state at the end: the history was not "
        "recorded.",
        u.no_history + u.no_events, u.devices));
    RS_TRY(say_unknown(
        s, u.bytes_before, u.before, history,
        "%s in %lld blocks are from before the recording (%zu of %zu devices): who allocated them, and what "
        "for, is not known.",
        rs_human_bytes(u.bytes_before, bytes), (long long)u.blocks_before, u.before, u.devices));
    RS_TRY(say_unknown(s, RS_NO_VALUE, u.ring, "_record_memory_history(max_entries=...)",
                       "The list of events is full, and older ones are gone (%zu of %zu devices).", u.ring,
                       u.devices));
    RS_TRY(say_unknown(s, u.bytes_no_stack, u.no_stack,
                       u.n_no_stack == u.allocations ? "context=\"all\""
                                                     : "stacks=\"all\" for the backward pass",
                       "%lld of %lld allocations have no stack, %s at the peaks.", (long long)u.n_no_stack,
                       (long long)u.allocations, rs_human_bytes(u.bytes_no_stack, bytes)));
    return say_unknown(
        s, RS_NO_VALUE, u.few_steps == u.devices ? u.few_steps : 0, NULL,
        "What grows by the step was not examined: fewer than %d whole steps (ProfilerStep#N, Optimizer.step, "
        "or cycles of the active bytes).",
        LEAST_STEPS_SEEN);
}

/* ---- what does not fit together ------------------------------------------------------------------------------------------- */

static void report_defects(const speaker *s)
{
    rs_problems *list = &s->result->problems;
    for (size_t i = 0; i < s->n; i++) {
        const rs_memory_rank *p = rank_of(s, i);
        for (size_t k = 0; k < p->n_devices; k++) {
            const rs_memory_device *d = &p->devices[k];
            const char *file = s->ranks[i].source;
            if (d->n_unplaced)
                rs_problems_add_many(
                    list, file, s->ranks[i].rank, RS_WARNING, "not_in_segments",
                    "blocks are live by the events and not in the segments: another thread went on while "
                    "the snapshot was taken; they count until the last event",
                    RS_NO_OFFSET, (uint64_t)d->n_unplaced, NULL);
            if (d->n_cut)
                rs_problems_add_many(
                    list, file, s->ranks[i].rank, RS_WARNING, "alloc_at_live_address",
                    "allocations at an address that was in use: the older block counts until then",
                    RS_NO_OFFSET, (uint64_t)d->n_cut, NULL);
            if (d->n_freed_twice)
                rs_problems_add_many(list, file, s->ranks[i].rank, RS_WARNING, "freed_twice",
                                     "blocks were asked to be freed twice: the first time counts",
                                     RS_NO_OFFSET, (uint64_t)d->n_freed_twice, NULL);
        }
    }
}

rs_status rs_memory_add_findings(const rs_run *run, const rs_memory_question *q, const rs_partial *partials,
                                 size_t n, double median, rs_table **tables, rs_result *result, rs_error *err)
{
    const speaker s = {run, partials, n, median, tables, result, err};
    bool failed;
    report_defects(&s);
    if (q->edits) RS_TRY(say_answers(&s, q));
    if (q->room >= 0) RS_TRY(say_fit(&s, q));
    if (rs_options_is_set(run->options, "base")) RS_TRY(say_change(&s));
    RS_TRY(say_failures(&s, &failed));
    RS_TRY(say_growth(&s)); /* what is wrong comes before what is large */
    RS_TRY(say_fullest(&s));
    if (!failed) RS_TRY(say_fragments(&s));
    RS_TRY(say_outlier(&s));
    return say_unknowns(&s);
}
