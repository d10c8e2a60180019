#include "format/serving_files.h"

#include <math.h>
#include <string.h>

#include "base/ascii.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/real.h"
#include "base/try.h"
#include "input/json.h"
#include "input/lines.h"

/* ---- benchmarks ---------------------------------------------------------------------------------------- */

#define MOST_BYTES ((size_t)4 << 30)

typedef struct numbers {
    double *items;
    size_t n, capacity;
} numbers;

/* The lists of one document. */
typedef struct lists {
    numbers starts, ttfts, itls, counts; /* counts: how many of itls each request has */
    bool no_memory;
} lists;

static void clear_lists(lists *l)
{
    rs_free_all(l->starts.items, l->ttfts.items, l->itls.items, l->counts.items);
}

static void add(lists *l, numbers *to, double value)
{
    if (!RS_PUSH(to->items, to->n, to->capacity, value)) l->no_memory = true;
}

static double number_of(const rs_json_reader *r, rs_json_token token)
{
    double value;
    return token == RS_JSON_T_NUMBER && rs_json_real(r->text.bytes, r->text.length, &value) ? value
                                                                                            : (double)NAN;
}

/* The numbers of a list that was opened; what is none is NaN. false: the text is damaged. */
static bool read_list(lists *l, rs_json_reader *r, numbers *out)
{
    for (;;) {
        const rs_json_token token = rs_json_next(r);
        if (token == RS_JSON_T_ARRAY_END) return true;
        if (token == RS_JSON_T_ERROR || token == RS_JSON_T_END) return false;
        add(l, out, number_of(r, token));
        if ((token == RS_JSON_T_ARRAY || token == RS_JSON_T_OBJECT) && !rs_json_leave(r)) return false;
        if (l->no_memory) return false;
    }
}

/* A list of lists. */
static bool read_lists(lists *l, rs_json_reader *r)
{
    for (;;) {
        const rs_json_token token = rs_json_next(r);
        const size_t before = l->itls.n;
        if (token == RS_JSON_T_ARRAY_END) return true;
        if (token == RS_JSON_T_ERROR || token == RS_JSON_T_END) return false;
        if (token == RS_JSON_T_ARRAY && !read_list(l, r, &l->itls)) return false;
        if (token == RS_JSON_T_OBJECT && !rs_json_leave(r)) return false;
        add(l, &l->counts, (double)(l->itls.n - before));
        if (l->no_memory) return false;
    }
}

static bool read_member(lists *l, rs_json_reader *r)
{
    numbers *list = rs_json_is(r, "start_times") ? &l->starts : rs_json_is(r, "ttfts") ? &l->ttfts : NULL;
    const bool nested = rs_json_is(r, "itls");
    if (!list && !nested) return rs_json_skip_value(r);
    const rs_json_token token = rs_json_next(r);
    if (token == RS_JSON_T_ARRAY) return nested ? read_lists(l, r) : read_list(l, r, list);
    if (token == RS_JSON_T_OBJECT) return rs_json_leave(r);
    return token != RS_JSON_T_ERROR && token != RS_JSON_T_END;
}

/* One document. false: it is damaged. */
static bool read_document(lists *l, rs_json_reader *r)
{
    rs_json_token token = rs_json_next(r);
    if (token != RS_JSON_T_OBJECT) return false;
    while ((token = rs_json_next(r)) == RS_JSON_T_KEY)
        if (!read_member(l, r)) return false;
    return token == RS_JSON_T_OBJECT_END && rs_json_next(r) == RS_JSON_T_END;
}

/* Seconds as ns; RS_NO_TIME: no moment. */
static int64_t ns_of(double seconds)
{
    return fabs(seconds) < 9e9 ? rs_int_near(seconds * 1e9) : RS_NO_TIME;
}

static bool add_tokens(rs_serving_benchmark *out, const lists *l, size_t from, size_t n, int64_t first)
{
    int64_t at = first;
    for (size_t i = 0; at != RS_NO_TIME && i <= n; i++) {
        if (!RS_PUSH(out->tokens, out->n_tokens, out->tokens_capacity, at)) return false;
        const int64_t next = i < n ? ns_of(l->itls.items[from + i]) : 0;
        at = next == RS_NO_TIME || next < 0 ? RS_NO_TIME : rs_add_sat(at, next);
    }
    return true;
}

static bool add_requests(rs_serving_benchmark *out, const lists *l)
{
    const size_t n = l->starts.n < l->ttfts.n ? l->starts.n : l->ttfts.n;
    for (size_t i = 0, at = 0; i < n; i++) {
        const size_t more = i < l->counts.n ? (size_t)l->counts.items[i] : 0;
        const int64_t start = ns_of(l->starts.items[i]), wait = ns_of(l->ttfts.items[i]);
        const bool answered = start != RS_NO_TIME && wait != RS_NO_TIME && wait > 0;
        const rs_serving_request request = {start, answered ? rs_add_sat(start, wait) : 0};
        if (answered && (!RS_PUSH(out->requests, out->n, out->requests_capacity, request) ||
                         !add_tokens(out, l, at, more, request.first)))
            return false;
        out->n_failed += !answered;
        at += more;
    }
    return true;
}

static const rs_order by_time[] = {RS_RISING_VALUE(int64_t)};

static rs_status read_documents(const char *name, const uint8_t *text, size_t n, rs_serving_benchmark *out,
                                rs_error *err)
{
    rs_json_reader r;
    size_t starts = 0, ttfts = 0;
    rs_json_reader_init(&r, text, n);
    do {
        RS_SCOPED(clear_lists) lists l = {0};
        const bool ok = read_document(&l, &r);
        if (l.no_memory || (ok && !add_requests(out, &l))) return rs_fail_nomem(err, "requests");
        if (!ok)
            return rs_fail(err, RS_ERR_FORMAT, "%s: no JSON of a benchmark at byte %zu", name,
                           rs_json_at(&r));
        starts += l.starts.n;
        ttfts += l.ttfts.n;
    } while (rs_json_space(r.p, r.end) < r.end);
    if (starts && ttfts) return RS_OK;
    return rs_fail(
        err, RS_ERR_FORMAT,
        "%s has no %s: vLLM writes them with `bench serve --save-result --save-detailed`, SGLang with "
        "`bench_serving --output-details`",
        name, starts ? "ttfts of requests" : "start_times of requests");
}

rs_status rs_serving_benchmark_read(rs_source *source, rs_serving_benchmark *out, rs_error *err)
{
    size_t n = 0;
    RS_LOCAL uint8_t *text = NULL;
    *out = (rs_serving_benchmark){0};
    RS_TRY(rs_source_read_all(source, MOST_BYTES, &text, &n, err));
    RS_TRY(read_documents(rs_source_name(source), text, n, out, err));
    if (out->n_tokens) RS_SORT(out->tokens, out->n_tokens, by_time);
    return RS_OK;
}

void rs_serving_benchmark_clear(rs_serving_benchmark *b)
{
    rs_free_all(b->requests, b->tokens);
    *b = (rs_serving_benchmark){0};
}

/* ---- logs ---------------------------------------------------------------------------------------------- */

/* The text after the first occurrence of a word; NULL: none. */
static const char *after(const char *text, const char *end, const char *word)
{
    const size_t n = strlen(word);
    for (const char *c = text; (size_t)(end - c) >= n; c++)
        if (*c == *word && memcmp(c, word, n) == 0) return c + n;
    return NULL;
}

static double real_after(const char *text, const char *end, const char *word)
{
    const char *from = after(text, end, word), *to = from;
    double value;
    while (to && to < end && (rs_is_digit(*to) || *to == '.')) to++;
    return from && rs_json_real((const uint8_t *)from, (size_t)(to - from), &value) ? value : (double)NAN;
}

static int64_t count_after(const char *text, const char *end, const char *word)
{
    const double value = real_after(text, end, word);
    return value >= 0 && value < 1e15 ? rs_int_of(value) : RS_NO_VALUE;
}

/* N digits; -1: something else. */
static int64_t digits(const char *text, size_t n)
{
    int64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        if (!rs_is_digit(text[i])) return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

/* "[YYYY-]MM-DD hh:mm:ss", the first of the line. */
static bool find_time(const char *text, const char *end, rs_serving_line *line)
{
    for (const char *c = text; end - c >= 14; c++) {
        if (c[2] != '-' || (c[5] != ' ' && c[5] != 'T') || c[8] != ':' || c[11] != ':') continue;
        const int64_t month = digits(c, 2), day = digits(c + 3, 2), hour = digits(c + 6, 2),
                      minute = digits(c + 9, 2), second = digits(c + 12, 2);
        if (month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 23 || minute < 0 ||
            minute > 59 || second < 0 || second > 60)
            continue;
        const int64_t year = c - text >= 5 && c[-1] == '-' ? digits(c - 5, 4) : -1;
        line->year = year > 0 ? year : 0;
        line->month = month;
        line->day = day;
        line->second = hour * 3600 + minute * 60 + second;
        return true;
    }
    return false;
}

/* What a line says. false: nothing of these. */
static bool read_line(const char *text, const char *end, rs_serving_line *line)
{
    *line = (rs_serving_line){.running = count_after(text, end, "Running: "),
                              .waiting = count_after(text, end, "Waiting: "),
                              .preempted = count_after(text, end, "#retracted_reqs: "),
                              .kv_pct = real_after(text, end, "KV cache usage: ")};
    if (line->running == RS_NO_VALUE) line->running = count_after(text, end, "#running-req: ");
    if (line->waiting == RS_NO_VALUE) line->waiting = count_after(text, end, "#queue-req: ");
    if (isnan(line->kv_pct)) line->kv_pct = 100 * real_after(text, end, "token usage: ");
    if (line->preempted == RS_NO_VALUE && after(text, end, " is preempted by ")) line->preempted = 1;
    return (!isnan(line->kv_pct) || line->preempted != RS_NO_VALUE) && find_time(text, end, line);
}

rs_status rs_serving_log_read(rs_source *source, rs_serving_log *out, rs_error *err)
{
    RS_SCOPED(rs_lines_close) rs_lines lines = {0};
    rs_line_text text;
    rs_serving_line line;
    rs_status status = RS_OK;
    *out = (rs_serving_log){0};
    RS_TRY(rs_lines_open(source, &lines, err));
    while (rs_lines_next(&lines, &text, &status, err)) {
        const char *from = (const char *)text.text;
        if (text.too_long || !read_line(from, from + text.n, &line)) continue;
        if (!RS_PUSH(out->lines, out->n, out->capacity, line)) return rs_fail_nomem(err, "lines of a log");
    }
    RS_TRY(status);
    if (out->n) return RS_OK;
    return rs_fail(
        err, RS_ERR_FORMAT,
        "%s has no line with a time and the use of the KV cache: vLLM writes \"GPU KV cache usage\" every ten "
        "seconds, SGLang \"token usage\" with each batch",
        rs_source_name(source));
}

void rs_serving_log_clear(rs_serving_log *log)
{
    rs_free(log->lines);
    *log = (rs_serving_log){0};
}
