/* serving: how long tokens take, and what a benchmark's requests and a server's log say of the same time. */
#include <math.h>
#include <string.h>

#include "analysis/serving.h"
#include "base/ascii.h"
#include "base/calendar.h"
#include "base/interval.h"
#include "base/order.h"
#include "base/real.h"
#include "base/search.h"
#include "base/try.h"
#include "format/serving_files.h"
#include "text/numbers.h"

enum { FIRST_TOKEN, FIRST_TOKEN_STEP, BETWEEN_TOKENS, STEP };
const char *const rs_serving_metrics[4] = {"time_to_first_token", "first_token_step", "between_tokens",
                                           "step"};

/* Requests of which at least this share is found on the trace, and tokens that agree with the steps' batches. */
#define LEAST_PLACED 0.5
#define LEAST_AGREEMENT 0.5
#define SECOND INT64_C(1000000000)

/* ---- measuring ------------------------------------------------------------------------------------------ */

#define EVERY 64

bool rs_serving_ruler_open(rs_serving_ruler *r, const rs_serving_stretch *rows, size_t n)
{
    int64_t sums[RS_N_SERVING_PARTS] = {0};
    *r = (rs_serving_ruler){rows, n, rs_malloc((n / EVERY + 1) * sizeof *r->before)};
    for (size_t i = 0; r->before && i < n; i++) {
        if (i % EVERY == 0) memcpy(r->before[i / EVERY], sums, sizeof sums);
        sums[rows[i].of] = rs_add_sat(sums[rows[i].of], rows[i].time);
    }
    return r->before != NULL;
}

void rs_serving_ruler_clear(rs_serving_ruler *r)
{
    rs_free(r->before);
    *r = (rs_serving_ruler){0};
}

static void add(int64_t *to, int sign, int64_t ns)
{
    *to = sign > 0 ? rs_add_sat(*to, ns) : rs_sub_sat(*to, ns);
}

/* What goes by before a moment; sign: added or taken away. */
static void add_before(const rs_serving_ruler *r, int64_t at, int sign, int64_t *part)
{
    size_t end;
    RS_SEARCH(end, r->n, rs_add_sat(r->rows[end].from, r->rows[end].time) <= at);
    size_t i = end / EVERY * EVERY;
    if (i == r->n && i) i -= EVERY;
    for (int k = 0; r->n && k < RS_N_SERVING_PARTS; k++) add(&part[k], sign, r->before[i / EVERY][k]);
    for (; i < end; i++) add(&part[r->rows[i].of], sign, r->rows[i].time);
    if (end < r->n && r->rows[end].from < at)
        add(&part[r->rows[end].of], sign, rs_sub_sat(at, r->rows[end].from));
}

void rs_serving_measure(const rs_serving_ruler *r, int64_t from, int64_t to, int64_t part[RS_N_SERVING_PARTS])
{
    if (to <= from) return;
    add_before(r, to, 1, part);
    add_before(r, from, -1, part);
}

/* ---- samples -------------------------------------------------------------------------------------------- */

/* A stretch that n tokens, or one step, took. */
typedef struct gap {
    int64_t time, from, to, n, step, sent; /* sent: of a request, RS_NO_TIME: none */
} gap;

typedef struct gaps {
    gap *items;
    size_t n, capacity;
} gaps;

typedef struct answer {
    rs_relations *out;
    const rs_serving_row *steps;
    size_t n;
    rs_serving_ruler ruler;
    int64_t rank, base, begin, end;
} answer;

static void clear_answer(answer *a)
{
    rs_serving_ruler_clear(&a->ruler);
}

static void clear_gaps(gaps *g)
{
    rs_free(g->items);
}

static bool add_gap(gaps *g, int64_t from, const rs_serving_row *step, int64_t n)
{
    return RS_APPEND(g, (gap){rs_sub_sat(step->until, from), from, step->until, n, step->number, RS_NO_TIME});
}

static const rs_order by_length[] = {RS_RISING(gap, time), RS_RISING(gap, to)};

static int64_t in_prefill(const answer *a, const gap *g)
{
    int64_t sum = 0;
    size_t at;
    RS_SEARCH(at, a->n, a->steps[at].until <= g->from);
    for (; at < a->n && a->steps[at].begin < g->to; at++) {
        const rs_serving_row *s = &a->steps[at];
        const int64_t from = s->begin > g->from ? s->begin : g->from,
                      to = s->until < g->to ? s->until : g->to;
        if (s->phase == RS_SERVING_PREFILL && to > from) sum = rs_add_sat(sum, rs_sub_sat(to, from));
    }
    return sum;
}

static void fill_parts(const answer *a, const gap *g, int64_t *part)
{
    rs_serving_measure(&a->ruler, g->from, g->to, part);
    if (g->sent == RS_NO_TIME) return;
    part[RS_SERVING_QUEUE] = rs_sub_sat(g->from, g->sent);
    part[RS_SERVING_DELIVERY] = rs_sub_sat(g->time, rs_sub_sat(g->to, g->sent));
}

/* The first of the sorted sample that is no shorter than this share of it, by what they count. */
static const gap *at_share(const gaps *g, int64_t all, double share)
{
    int64_t so_far = 0;
    size_t at = 0;
    for (; at + 1 < g->n; at++) {
        so_far = rs_add_sat(so_far, g->items[at].n);
        if ((double)so_far >= ceil((double)all * share)) break;
    }
    return &g->items[at];
}

/* Rows of a sample's percentiles. Each is one of the sample, by nearest rank, so that its parts add up. A percentile needs as many
 * stretches as have one beyond it. Tokens of one step share its time: the interval counts stretches, not tokens. */
static void put_percentiles(answer *a, uint8_t metric, uint8_t phase, gaps *g)
{
    static const int64_t percentiles[] = {50, 90, 99, 100};
    int64_t all = 0;
    if (!g->n) return;
    RS_SORT(g->items, g->n, by_length);
    for (size_t i = 0; i < g->n; i++) all = rs_add_sat(all, g->items[i].n);
    for (size_t k = 0; k < sizeof percentiles / sizeof *percentiles; k++) {
        const double p = (double)percentiles[k] / 100, off = 1.96 * sqrt(p * (1 - p) / (double)g->n);
        if (p < 1 && (1 - p) * (double)g->n < 1) continue;
        const gap *x = at_share(g, all, p);
        rs_serving_latency row = {.rank = a->rank,
                                  .time = x->time,
                                  .low = p < 1 ? at_share(g, all, fmax(p - off, 0))->time : RS_NO_TIME,
                                  .high = p < 1 ? at_share(g, all, fmin(p + off, 1))->time : RS_NO_TIME,
                                  .n = all,
                                  .step = x->step,
                                  .metric = metric,
                                  .phase = phase,
                                  .percentile = percentiles[k],
                                  .in_prefill = metric == BETWEEN_TOKENS ? in_prefill(a, x) : RS_NO_TIME};
        fill_parts(a, x, row.part);
        if (x->sent == RS_NO_TIME) row.part[RS_SERVING_QUEUE] = row.part[RS_SERVING_DELIVERY] = RS_NO_TIME;
        rs_put(a->out, RS_SV_LATENCY, &row);
    }
}

static bool has(int64_t n)
{
    return n != RS_NO_VALUE && n > 0;
}

/* The tokens of a step's requests in decode came after those before them: of as many as were in prefill since the last step that
 * decodes, after that prefill; of the rest, after that step. A recording's first ones are unknown. */
static bool add_between(const answer *a, size_t k, gaps *out)
{
    const rs_serving_row *s = &a->steps[k];
    int64_t left = s->generation_requests;
    bool ok = true;
    for (size_t i = k; ok && left > 0 && i-- > 0;) {
        const rs_serving_row *before = &a->steps[i];
        const bool decodes = has(before->generation_requests);
        const int64_t n = decodes || before->context_requests > left ? left : before->context_requests;
        if (has(n)) {
            ok = add_gap(out, before->until, s, n);
            left -= n;
        }
    }
    return ok;
}

static bool put_steps(answer *a)
{
    bool ok = true;
    for (uint8_t phase = 0; ok && phase <= RS_SERVING_UNKNOWN; phase++) {
        RS_SCOPED(clear_gaps) gaps steps = {0};
        for (size_t i = 0; ok && i < a->n; i++)
            if (a->steps[i].phase == phase) ok = add_gap(&steps, a->steps[i].begin, &a->steps[i], 1);
        if (ok) put_percentiles(a, STEP, phase, &steps);
    }
    return ok;
}

static bool put_tokens(answer *a)
{
    RS_SCOPED(clear_gaps) gaps first = {0};
    RS_SCOPED(clear_gaps) gaps between = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < a->n; i++) {
        if (has(a->steps[i].context_requests))
            ok = add_gap(&first, a->steps[i].begin, &a->steps[i], a->steps[i].context_requests);
        if (ok && has(a->steps[i].generation_requests)) ok = add_between(a, i, &between);
    }
    if (ok) put_percentiles(a, FIRST_TOKEN_STEP, RS_SERVING_UNKNOWN, &first);
    if (ok) put_percentiles(a, BETWEEN_TOKENS, RS_SERVING_UNKNOWN, &between);
    return ok && put_steps(a);
}

/* ---- a benchmark ---------------------------------------------------------------------------------------- */

static rs_status fail_no_epoch(const char *path, rs_error *err)
{
    return rs_fail(
        err, RS_ERR_USAGE,
        "%s: the trace does not say when its clock began (baseTimeNanoseconds, which PyTorch 2.4 and newer writes), "
        "so nothing can be put next to it by time",
        path);
}

/* What is added to the client's times to have the trace's. */
static rs_status find_shift(const rs_run *run, const char *path, const rs_serving_benchmark *b,
                            const answer *a, int64_t *shift, rs_error *err)
{
    const bool given = rs_options_is_set(run->options, "benchmark-clock");
    const double seconds = given ? rs_options_real(run->options, "benchmark-clock") : 0;
    if (a->base == RS_NO_VALUE) return fail_no_epoch(path, err);
    if (!(fabs(seconds) < 9e9)) return rs_fail(err, RS_ERR_USAGE, "--benchmark-clock is out of range");
    if (!given && b->n && b->requests[0].start < 1000000000 * SECOND)
        return rs_fail(
            err, RS_ERR_USAGE,
            "%s: its start_times do not count from 1970 (Python's perf_counter counts from the machine's start). Say "
            "--benchmark-clock SECONDS, their distance from 1970: python3 -c 'import time; print(time.time() - "
            "time.perf_counter())' prints it on the client's machine until that is started again",
            path);
    *shift = rs_sub_sat(rs_int_near(seconds * 1e9), a->base);
    return RS_OK;
}

/* 1: in every step as many tokens came as its batch has requests, counted from its end to that of the next. */
static double agreement(const answer *a, const rs_serving_benchmark *b, int64_t shift)
{
    double off = 0, all = 0;
    for (size_t i = 0; i + 1 < a->n; i++) {
        const rs_serving_row *s = &a->steps[i];
        size_t from, to;
        if (s->requests == RS_NO_VALUE) continue;
        RS_SEARCH(from, b->n_tokens, rs_add_sat(b->tokens[from], shift) < s->until);
        RS_SEARCH(to, b->n_tokens, rs_add_sat(b->tokens[to], shift) < a->steps[i + 1].until);
        off += fabs((double)(to - from) - (double)s->requests);
        all += (double)(to - from) + (double)s->requests;
    }
    return all > 0 ? 1 - off / all : (double)NAN;
}

/* The last step with requests in prefill that ends by then; SIZE_MAX: none. */
static size_t step_of_first(const answer *a, int64_t first)
{
    size_t at;
    RS_SEARCH(at, a->n, a->steps[at].until <= first);
    while (at-- > 0)
        if (has(a->steps[at].context_requests)) return at;
    return SIZE_MAX;
}

/* A request from when it was sent to its first token: the queue until its step begins, the step, and from there to the client. */
static bool put_request(answer *a, size_t number, int64_t sent, int64_t first, gaps *all)
{
    const size_t at = step_of_first(a, first);
    if (at == SIZE_MAX || a->steps[at].until < sent) return true;
    const rs_serving_row *s = &a->steps[at];
    const int64_t from = s->begin > sent ? s->begin : sent;
    rs_serving_request_row row = {.rank = a->rank,
                                  .request = (int64_t)number,
                                  .sent = sent,
                                  .time = rs_sub_sat(first, sent),
                                  .step = s->number};
    rs_serving_measure(&a->ruler, from, s->until, row.part);
    row.part[RS_SERVING_QUEUE] = rs_sub_sat(from, sent);
    row.part[RS_SERVING_DELIVERY] = rs_sub_sat(first, s->until);
    rs_put(a->out, RS_SV_REQUESTS, &row);
    return RS_APPEND(all, (gap){row.time, from, s->until, 1, s->number, sent});
}

static rs_status judge_clock(const char *path, size_t within, size_t placed, double agrees, rs_error *err)
{
    if (within && (double)placed >= LEAST_PLACED * (double)within &&
        (isnan(agrees) || agrees >= LEAST_AGREEMENT))
        return RS_OK;
    if (!within)
        return rs_fail(
            err, RS_ERR_USAGE,
            "%s: none of its requests was sent and answered within the trace: another run, or another clock "
            "(--benchmark-clock)",
            path);
    return rs_fail(
        err, RS_ERR_USAGE,
        "%s does not fit the trace: %zu of %zu requests have a step that ends before their first token, and %s%% of the "
        "tokens came when the steps' batches say; 50 %% is asked for. Another run, or another clock (--benchmark-clock)",
        path, placed, within, isnan(agrees) ? "no" : RS_FIXED(100 * agrees, 0));
}

static rs_status put_benchmark(const rs_run *run, const char *path, answer *a, rs_error *err)
{
    RS_SCOPED(rs_serving_benchmark_clear) rs_serving_benchmark b = {0};
    RS_SCOPED(clear_gaps) gaps all = {0};
    rs_source *source;
    int64_t shift = 0;
    size_t within = 0;
    bool ok = true;
    RS_TRY(rs_source_open(path, 0, &source, err));
    rs_status status = rs_serving_benchmark_read(source, &b, err);
    rs_source_close(source);
    RS_TRY(status);
    RS_TRY(find_shift(run, path, &b, a, &shift, err));
    for (size_t i = 0; ok && i < b.n; i++) {
        const int64_t sent = rs_add_sat(b.requests[i].start, shift),
                      first = rs_add_sat(b.requests[i].first, shift);
        if (sent < a->begin || first > rs_add_sat(a->end, SECOND)) continue;
        within++;
        ok = put_request(a, i, sent, first, &all);
    }
    if (!ok) return rs_fail_nomem(err, "requests");
    const double agrees = agreement(a, &b, shift);
    RS_TRY(judge_clock(path, within, all.n, agrees, err));
    rs_put(a->out, RS_SV_FIT, &(rs_serving_fit){a->rank, (int64_t)within, (int64_t)all.n, 100 * agrees});
    put_percentiles(a, FIRST_TOKEN, RS_SERVING_UNKNOWN, &all);
    return RS_OK;
}

/* ---- a log ---------------------------------------------------------------------------------------------- */

#define ZONE 900 /* s: offsets from UTC are quarters of hours */
#define FIRST_ZONE (-12 * 3600 / ZONE)
#define LAST_ZONE (14 * 3600 / ZONE)

/* "+02:00", "Z". */
static bool read_zone(const char *text, int64_t *zone)
{
    const bool utc = strcmp(text, "Z") == 0;
    const size_t n = strlen(text);
    *zone = 0;
    if (utc) return true;
    if (n != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return false;
    for (size_t i = 1; i < n; i++)
        if (i != 3 && !rs_is_digit(text[i])) return false;
    const int64_t hours = (text[1] - '0') * 10 + text[2] - '0',
                  minutes = (text[4] - '0') * 10 + text[5] - '0';
    *zone = (text[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
    return hours <= 14 && minutes < 60;
}

/* A line's time on the trace's clock, were the server in that zone; s. A line without a year is of the trace's. */
static int64_t line_at(const rs_serving_line *line, int64_t zone, int64_t year)
{
    return rs_days_of_date(line->year ? line->year : year, line->month, line->day) * 86400 + line->second -
           zone;
}

static int64_t year_of(int64_t seconds)
{
    const int64_t days = seconds / 86400;
    int64_t year = 1970 + days / 366;
    while (rs_days_of_date(year + 1, 1, 1) <= days) year++;
    return year;
}

static size_t lines_within(const rs_serving_log *log, int64_t zone, int64_t year, int64_t from, int64_t to)
{
    size_t n = 0;
    for (size_t i = 0; i < log->n; i++) {
        const int64_t at = line_at(&log->lines[i], zone, year);
        n += at >= from && at <= to;
    }
    return n;
}

static rs_status find_zone(const rs_run *run, const char *path, const rs_serving_log *log, int64_t from,
                           int64_t to, int64_t *zone, rs_error *err)
{
    const char *given = rs_options_text(run->options, "log-zone");
    const int64_t year = year_of(from);
    size_t found = 0;
    if (given && !read_zone(given, zone))
        return rs_fail(err, RS_ERR_USAGE, "--log-zone is an offset from UTC such as +02:00, or Z");
    for (int64_t z = FIRST_ZONE; !given && z <= LAST_ZONE; z++) {
        if (!lines_within(log, z * ZONE, year, from, to)) continue;
        if (!found++) *zone = z * ZONE;
    }
    if (found > 1)
        return rs_fail(
            err, RS_ERR_USAGE,
            "%s has lines at the time of the trace in %zu time zones: say its own with --log-zone +02:00 (date +%%:z "
            "prints it on the server)",
            path, found);
    if (given ? lines_within(log, *zone, year, from, to) > 0 : found == 1) return RS_OK;
    return rs_fail(
        err, RS_ERR_USAGE,
        "%s has no line at the time of the trace%s: another run, or a recording between two of its lines",
        path, given ? " in that time zone" : " in any time zone");
}

/* The steps that end from one line to the next. */
static void put_line(answer *a, const rs_serving_line *line, int64_t from, int64_t until)
{
    rs_serving_load row = {.rank = a->rank,
                           .at = from,
                           .running = line->running,
                           .waiting = line->waiting,
                           .preempted = line->preempted,
                           .kv_pct = line->kv_pct};
    int64_t time = 0;
    size_t at;
    RS_SEARCH(at, a->n, a->steps[at].until < from);
    for (; at < a->n && a->steps[at].until < until; at++, row.steps++) {
        time = rs_add_sat(time, a->steps[at].time);
        if (has(a->steps[at].tokens)) row.tokens = rs_add_sat(row.tokens, a->steps[at].tokens);
    }
    row.step_time = row.steps ? time / row.steps : RS_NO_TIME;
    rs_put(a->out, RS_SV_LOAD, &row);
}

static rs_status put_log(const rs_run *run, const char *path, answer *a, rs_error *err)
{
    RS_SCOPED(rs_serving_log_clear) rs_serving_log log = {0};
    rs_source *source;
    int64_t zone = 0;
    if (a->base == RS_NO_VALUE) return fail_no_epoch(path, err);
    RS_TRY(rs_source_open(path, 0, &source, err));
    rs_status status = rs_serving_log_read(source, &log, err);
    rs_source_close(source);
    RS_TRY(status);
    const int64_t from = rs_add_sat(a->base, a->begin) / SECOND, to = rs_add_sat(a->base, a->end) / SECOND;
    RS_TRY(find_zone(run, path, &log, from, to, &zone, err));
    const rs_serving_line *last = NULL;
    int64_t last_at = 0;
    for (size_t i = 0; i < log.n; i++) {
        const int64_t s = line_at(&log.lines[i], zone, year_of(from));
        if (s < from || s > to) continue;
        const int64_t at = rs_sub_sat(s * SECOND, a->base); /* within the trace: no overflow */
        if (last) put_line(a, last, last_at, at > last_at ? at : last_at);
        last = &log.lines[i];
        last_at = at;
    }
    if (last) put_line(a, last, last_at, INT64_MAX);
    return RS_OK;
}

/* ---- all ranks ------------------------------------------------------------------------------------------ */

/* What a client and a server say is put next to the first rank with steps. */
rs_status rs_serving_put_across(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                                rs_error *err)
{
    const char *benchmark = rs_options_text(run->options, "benchmark"),
               *log = rs_options_text(run->options, "log");
    for (size_t r = 0; r < n; r++) {
        const rs_relations *p = partials[r].value;
        RS_SCOPED(clear_answer)
        answer a = {.out = out,
                    .steps = RS_ROWS(rs_serving_row, p, RS_SV_STEPS),
                    .n = p->items[RS_SV_STEPS].n,
                    .rank = partials[r].rank};
        if (!a.n) continue;
        a.base = p->items[RS_SV_OWN].n ? RS_ROWS(rs_serving_own, p, RS_SV_OWN)->base : RS_NO_VALUE;
        a.begin = a.steps[0].begin;
        a.end = a.steps[a.n - 1].until;
        if (!rs_serving_ruler_open(&a.ruler, RS_ROWS(rs_serving_stretch, p, RS_SV_STRETCHES),
                                   p->items[RS_SV_STRETCHES].n))
            return rs_fail_nomem(err, "serving");
        if (benchmark) RS_TRY(put_benchmark(run, benchmark, &a, err));
        if (log) RS_TRY(put_log(run, log, &a, err));
        benchmark = log = NULL;
        if (!put_tokens(&a)) return rs_fail_nomem(err, "serving");
    }
    return RS_OK;
}
