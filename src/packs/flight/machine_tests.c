/* Tables of machine tests: what a matrix product, a copy or a collective reached on each GPU or link when it was tried by itself, before a job
 * or between two. CSV, whose first line is
 *
 *     host,gpu,peer,test,value,unit
 *     node07,3,,gemm_bf16,512.4,TFLOP/s
 *     node07,,node12,all_reduce_busbw,183.1,GB/s
 *
 * gpu and peer may be empty; a larger value is better; of several rows of one thing the last one counts. A value is compared with those of
 * the others in the same test. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/order.h"
#include "base/stats.h"
#include "base/try.h"
#include "flight/sources.h"
#include "flight/template.h"
#include "text/numbers.h"

#define HEAD "host,gpu,peer,test,value,unit"
#define MAX_FILE ((size_t)256 << 20)
#define LEAST 4        /* results of a test: fewer do not show by how much GPUs differ */
#define SLOWER 0.95    /* times the median: what is nearer is no finding */
#define DEVIATIONS 5.0 /* standard, below the median: about one healthy GPU in three million */

enum { HOST, GPU, PEER, TEST, VALUE, UNIT, FIELDS };

typedef struct tried {
    uint32_t texts[FIELDS]; /* of HOST, PEER, TEST and UNIT; RS_FL_NONE: empty */
    int64_t gpu;            /* -1: of the host, or of a link */
    double value;
    uint32_t file;
    int64_t line;
} tried;

struct rs_fl_machine_tests {
    tried *items;
    size_t n, capacity;
};

static bool knows(const char *path, const uint8_t *text, size_t n)
{
    (void)path;
    return n > strlen(HEAD) && memcmp(text, HEAD, strlen(HEAD)) == 0 &&
           (text[strlen(HEAD)] == '\n' || text[strlen(HEAD)] == '\r');
}

/* The fields of a line; false: it has not so many. */
static bool part(const char *line, size_t n, rs_fl_span fields[FIELDS])
{
    size_t at = 0;
    for (int i = 0; i < FIELDS; i++) {
        const char *comma = at <= n ? memchr(line + at, ',', n - at) : NULL;
        size_t end = comma ? (size_t)(comma - line) : n;
        if (!comma != (i == UNIT)) return false;
        fields[i] = (rs_fl_span){line + at, end - at};
        at = end + 1;
    }
    return true;
}

/* Whether the fields are a result. *nomem: out of memory. */
static bool take(rs_flight *flight, const rs_fl_span fields[FIELDS], tried *out, bool *nomem)
{
    for (size_t i = 0; i < fields[GPU].n; i++)
        if (fields[GPU].text[i] < '0' || fields[GPU].text[i] > '9') return false;
    out->gpu = fields[GPU].n ? rs_fl_span_int(fields[GPU]) : -1;
    if (!rs_parse_real(fields[VALUE].text, fields[VALUE].n, &out->value) || !(out->value > 0) ||
        isinf(out->value) || !fields[HOST].n || !fields[TEST].n)
        return false;
    for (int i = 0; i < FIELDS; i++) {
        out->texts[i] = RS_FL_NONE;
        if (i == GPU || i == VALUE || !fields[i].n) continue;
        bool is_host = i == HOST || i == PEER;
        out->texts[i] = is_host ? rs_fl_add_host(flight, fields[i].text, fields[i].n)
                                : rs_strings_add(&flight->texts, fields[i].text, fields[i].n);
        *nomem |= out->texts[i] == RS_NO_STRING;
    }
    return true;
}

static bool is_of_one(const tried *a, const tried *b)
{
    return a->gpu == b->gpu && a->texts[HOST] == b->texts[HOST] && a->texts[PEER] == b->texts[PEER] &&
           a->texts[TEST] == b->texts[TEST];
}

static rs_status read(rs_flight *flight, rs_source *from, rs_error *err)
{
    RS_LOCAL uint8_t *text = NULL;
    const char *name = rs_source_name(from);
    size_t n = 0;
    bool nomem = false;
    int64_t line = 1;
    RS_TRY(rs_fl_read_whole(flight, from, MAX_FILE, &text, &n, err));
    if (!text) return RS_OK;
    if (!flight->tests && !(flight->tests = rs_calloc(1, sizeof *flight->tests)))
        return rs_fail_nomem(err, name);
    uint32_t file = rs_strings_add(&flight->texts, name, strlen(name));
    for (size_t at = 0, end; at < n && !nomem; at = end + 1, line++) {
        const uint8_t *stop = memchr(text + at, '\n', n - at);
        rs_fl_span fields[FIELDS];
        end = stop ? (size_t)(stop - text) : n;
        size_t length = end - at - (end > at && text[end - 1] == '\r');
        tried one = {.file = file, .line = line};
        if (line == 1 || !length) continue;
        if (!part((const char *)text + at, length, fields) || !take(flight, fields, &one, &nomem))
            rs_problems_add(&flight->problems, name, -1, RS_LOSS, "test_damaged",
                            "a line is no result of a machine test", (int64_t)at);
        else
            nomem |= !RS_PUSH(flight->tests->items, flight->tests->n, flight->tests->capacity, one);
    }
    return nomem || file == RS_NO_STRING ? rs_fail_nomem(err, name) : RS_OK;
}

/* ---- judging ---------------------------------------------------------------------------------------------- */

static const rs_order by_test[] = {RS_RISING(tried, texts[TEST]), RS_RISING(tried, texts[PEER]),
                                   RS_RISING(tried, texts[HOST]), RS_RISING(tried, gpu),
                                   RS_RISING(tried, file),        RS_RISING(tried, line)};

/* Of each thing the last row. */
static size_t keep_last(tried *items, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || !is_of_one(&items[i], &items[i + 1])) items[kept++] = items[i];
    return kept;
}

static bool say(rs_flight *flight, const tried *t, const double *others, size_t n)
{
    const char *unit = t->texts[UNIT] == RS_FL_NONE ? "" : rs_fl_text(flight, t->texts[UNIT]);
    bool is_link = t->texts[PEER] != RS_FL_NONE;
    const char *text = rs_fl_print(
        flight, "is slow in the test %s%s%s: %s %s against %s of the other %zu (80 %% of them %s to %s)",
        rs_fl_text(flight, t->texts[TEST]), is_link ? " with " : "",
        is_link ? rs_fl_text(flight, t->texts[PEER]) : "", RS_FIXED(t->value, 1), unit,
        RS_FIXED(rs_quantile(others, n, 0.5), 1), n - 1, RS_FIXED(rs_quantile(others, n, 0.1), 1),
        RS_FIXED(rs_quantile(others, n, 0.9), 1));
    rs_fl_event *e = text ? rs_fl_testify(flight, RS_FLIGHT_FILE_MACHINE_TESTS,
                                          is_link ? RS_FL_EV_SLOW_LINK : RS_FL_EV_THROTTLED, -1,
                                          t->texts[HOST], text, t->file, t->line)
                          : NULL;
    if (!e) return false;
    e->who.local = t->gpu;
    e->settled = true;
    return true;
}

/* One test: its results against their median, and how far the middle of them is spread. */
static bool judge(rs_flight *flight, const tried *items, size_t n, double *sorted, double *apart)
{
    for (size_t i = 0; i < n; i++) sorted[i] = items[i].value;
    rs_sort_doubles(sorted, n);
    double usual = rs_quantile(sorted, n, 0.5);
    for (size_t i = 0; i < n; i++) apart[i] = fabs(items[i].value - usual);
    rs_sort_doubles(apart, n);
    double least = fmin(SLOWER * usual, usual - DEVIATIONS * 1.4826 * rs_quantile(apart, n, 0.5));
    bool good = true;
    for (size_t i = 0; i < n && good && n >= LEAST; i++)
        if (items[i].value < least) good = say(flight, &items[i], sorted, n);
    return good;
}

static bool testify(rs_flight *flight)
{
    struct rs_fl_machine_tests *t = flight->tests;
    if (!t || !t->n) return true;
    size_t told = rs_fl_events_of(flight) ? flight->log->n : 0, tests = 0;
    RS_LOCAL double *scratch = rs_malloc(2 * t->n * sizeof *scratch);
    bool good = flight->log && scratch;
    RS_SORT(t->items, t->n, by_test);
    t->n = keep_last(t->items, t->n);
    for (size_t i = 0, k; i < t->n && good; i = k, tests++) {
        for (k = i + 1; k < t->n && t->items[k].texts[TEST] == t->items[i].texts[TEST];) k++;
        good = judge(flight, t->items + i, k - i, scratch, scratch + t->n);
    }
    if (!good || flight->log->n != told) return good;
    const char *text =
        rs_fl_print(flight, "%zu results of %zu test%s show none that is slower than the others", t->n, tests,
                    tests == 1 ? "" : "s");
    return text && rs_fl_testify(flight, RS_FLIGHT_FILE_MACHINE_TESTS, RS_FL_EV_LEVEL, -1, RS_FL_NONE, text,
                                 t->items[0].file, t->items[0].line);
}

static void clear(rs_flight *flight)
{
    if (!flight->tests) return;
    rs_free_all(flight->tests->items, flight->tests);
}

const rs_fl_source rs_fl_machine_tests_source = {
    .file = RS_FLIGHT_FILE_MACHINE_TESTS,
    .title = "Machine tests",
    .knows = knows,
    .read = read,
    .testify = testify,
    .clear = clear,
    .blind = " They were made before or after the job, and say nothing of what its programs wait for.",
    .decides = "the same test again on that host"};
