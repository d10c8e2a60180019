/* Windows as metrics: the newest one in OpenMetrics, and any one as OTLP's ExportMetricsServiceRequest (opentelemetry-proto 1.x,
 * metrics/v1). Names follow OpenTelemetry; OpenMetrics' are made of them as its Collector makes them, so that dashboards fit both. */
#include <math.h>
#include <string.h>

#include "base/try.h"
#include "input/protobuf.h"
#include "rewrite/proto_bytes.h"
#include "text/writer.h"
#include "watch/watch.h"

#define MAX_RANKS 32 /* that are named */

/* One value. Those of one metric follow each other. */
typedef struct point {
    const char *name, *unit, *help; /* unit: of UCUM */
    const char *kind;               /* of a change; NULL: it has none */
    int64_t rank;                   /* negative: of none */
    double value;                   /* NaN: unknown, and left out */
} point;

typedef struct points {
    point *items;
    size_t n, capacity;
} points;

static void points_clear(points *p)
{
    rs_free(p->items);
}

static rs_status add(points *p, point one, rs_error *err)
{
    if (isnan(one.value)) return RS_OK;
    return RS_PUSH(p->items, p->n, p->capacity, one) ? RS_OK : rs_fail_nomem(err, "the metrics");
}

static rs_status add_window(points *p, const rs_window_medians *w, rs_error *err)
{
    const point all[] = {
        {"window", "", "Number of the newest window in the history.", NULL, -1, (double)w->id},
        {"window_start", "s", "Start of the newest window, on the epoch clock.", NULL, -1,
         (double)w->start / 1e9},
        {"ranks", "{rank}", "Ranks recorded in the newest window.", NULL, -1, (double)w->ranks},
        {"step", "s", "Mean step, median over ranks.", NULL, -1, w->step / 1e6},
        {"own_work", "s", "Own work of a rank a step, median over ranks.", NULL, -1, w->own / 1e6},
        {"exposed_comm", "s", "Exposed communication a step, median over ranks.", NULL, -1, w->exposed / 1e6},
        {"idle", "s", "Idle time a step, median over ranks.", NULL, -1, w->idle / 1e6},
        {"mfu", "1", "Model FLOPs utilization, median over ranks.", NULL, -1, w->mfu / 100},
        {"memory", "By", "Reserved memory, median over ranks.", NULL, -1, w->memory},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) RS_TRY(add(p, all[i], err));
    return RS_OK;
}

static double count_open(const rs_watch *w, const char *kind, bool as_prefix)
{
    double n = 0;
    for (size_t i = 0; i < w->n_open; i++)
        n += as_prefix ? strncmp(w->open[i].kind, kind, strlen(kind)) == 0
                       : strcmp(w->open[i].kind, kind) == 0;
    return n;
}

/* What goes on now. */
static rs_status add_open(points *p, const rs_watch *w, rs_error *err)
{
    static const char *const others[] = {"hang", "slow", "finding"};
    size_t n = 0;
    for (int m = 0; m < RS_WATCH_METRICS + 3; m++) {
        const char *kind = m < RS_WATCH_METRICS ? rs_metric_specs[m].name : others[m - RS_WATCH_METRICS];
        if (m == RS_WATCH_COMPUTE) continue;
        const point one = {"open_changes", "{change}", "Changes that go on, by what changed.",
                           kind,           -1,         count_open(w, kind, m == RS_WATCH_METRICS + 2)};
        RS_TRY(add(p, one, err));
    }
    for (size_t i = 0; i < w->n_open && n < MAX_RANKS; i++) {
        const rs_open_change *o = &w->open[i];
        const point one = {"rank_change",
                           "1",
                           "Change of a rank against the others when it was found; at most 32 ranks.",
                           o->kind,
                           o->rank,
                           o->rank < 0 ? (double)NAN : o->change};
        n += !isnan(one.value);
        RS_TRY(add(p, one, err));
    }
    return RS_OK;
}

static bool begins(const points *p, size_t i)
{
    return !i || strcmp(p->items[i].name, p->items[i - 1].name) != 0;
}

static rs_status keep_medians(void *context, const rs_window_values *w, rs_error *err)
{
    return rs_watch_describe(w, context, err);
}

/* ---- OpenMetrics -------------------------------------------------------------------------------------------- */

static void put_name(rs_writer *writer, const point *p)
{
    RS_WRITE(writer, "rankscope_", p->name);
    if (strcmp(p->unit, "s") == 0) rs_writer_text(writer, "_seconds");
    if (strcmp(p->unit, "1") == 0) rs_writer_text(writer, "_ratio");
    if (strcmp(p->unit, "By") == 0) rs_writer_text(writer, "_bytes");
}

static void put_head(rs_writer *writer, const point *p)
{
    rs_writer_text(writer, "# TYPE ");
    put_name(writer, p);
    rs_writer_text(writer, " gauge\n# HELP ");
    put_name(writer, p);
    RS_WRITE(writer, " ", p->help, "\n");
}

static void put_point(rs_writer *writer, const point *p)
{
    put_name(writer, p);
    if (p->kind) {
        RS_WRITE(writer, "{kind=\"", p->kind);
        if (p->rank >= 0) {
            RS_WRITE(writer, "\",rank=\"", p->rank);
        }
        rs_writer_text(writer, "\"}");
    }
    rs_writer_char(writer, ' ');
    rs_writer_real(writer, p->value);
    rs_writer_char(writer, '\n');
}

rs_status rs_watch_write_metrics(rs_watch *w, const rs_sink *sink, rs_error *err)
{
    RS_SCOPED(points_clear) points all = {0};
    rs_writer writer;
    rs_window_medians medians = {.step = (double)NAN,
                                 .own = (double)NAN,
                                 .exposed = (double)NAN,
                                 .idle = (double)NAN,
                                 .mfu = (double)NAN,
                                 .memory = (double)NAN};
    if (w->newest) RS_TRY(rs_history_each_window(w->history, w->newest - 1, keep_medians, &medians, err));
    RS_TRY(add_window(&all, &medians, err));
    RS_TRY(add_open(&all, w, err));
    rs_writer_init(&writer, sink);
    for (size_t i = 0; i < all.n; i++) {
        if (begins(&all, i)) put_head(&writer, &all.items[i]);
        put_point(&writer, &all.items[i]);
    }
    rs_writer_text(&writer, "# EOF\n");
    return rs_writer_finish(&writer, err);
}

/* ---- OTLP --------------------------------------------------------------------------------------------------- */

/* Numbers of the fields. */
enum { RESOURCE_METRICS = 1, RESOURCE = 1, SCOPE_METRICS = 2, SCOPE = 1, SCOPE_VERSION = 2, METRICS = 2 };
enum { METRIC_NAME = 1, DESCRIPTION = 2, UNIT = 3, GAUGE = 5, DATA_POINTS = 1 };
enum { POINT_TIME = 3, POINT_REAL = 4, POINT_ATTRIBUTES = 7 };
enum { ATTRIBUTES = 1, KEY = 1, VALUE = 2, TEXT_VALUE = 1, INT_VALUE = 3 };
enum { PARTIAL_SUCCESS = 1, REJECTED = 1 };

static void put_text(rs_proto_bytes *b, unsigned field, const char *text)
{
    rs_proto_text(b, field, text, strlen(text));
}

/* text NULL: the number. */
static void put_attribute(rs_proto_bytes *b, unsigned field, const char *key, const char *text,
                          int64_t number)
{
    size_t pair = rs_proto_open(b, field);
    put_text(b, KEY, key);
    size_t value = rs_proto_open(b, VALUE);
    if (text)
        put_text(b, TEXT_VALUE, text);
    else
        rs_proto_uint(b, INT_VALUE, (uint64_t)number);
    rs_proto_close(b, value);
    rs_proto_close(b, pair);
}

static void put_data_point(rs_proto_bytes *b, const point *p, int64_t at_ns)
{
    size_t from = rs_proto_open(b, DATA_POINTS);
    rs_proto_fixed(b, POINT_TIME, (uint64_t)at_ns);
    rs_proto_real(b, POINT_REAL, p->value);
    if (p->kind) put_attribute(b, POINT_ATTRIBUTES, "kind", p->kind, 0);
    if (p->rank >= 0) put_attribute(b, POINT_ATTRIBUTES, "rank", NULL, p->rank);
    rs_proto_close(b, from);
}

/* The metric that begins with the first point: how many points it has. */
static size_t put_metric(rs_proto_bytes *b, const points *all, size_t i, int64_t at_ns)
{
    const point *p = &all->items[i];
    size_t k = i, metric = rs_proto_open(b, METRICS);
    char name[64] = "rankscope.";
    strncat(name, p->name, sizeof name - strlen(name) - 1);
    put_text(b, METRIC_NAME, name);
    put_text(b, DESCRIPTION, p->help);
    put_text(b, UNIT, p->unit);
    size_t gauge = rs_proto_open(b, GAUGE);
    do put_data_point(b, &all->items[k++], at_ns);
    while (k < all->n && !begins(all, k));
    rs_proto_close(b, gauge);
    rs_proto_close(b, metric);
    return k - i;
}

static void put_request(rs_proto_bytes *b, const points *all, int64_t at_ns)
{
    size_t resources = rs_proto_open(b, RESOURCE_METRICS), resource = rs_proto_open(b, RESOURCE);
    put_attribute(b, ATTRIBUTES, "service.name", "rankscope", 0);
    rs_proto_close(b, resource);
    size_t scopes = rs_proto_open(b, SCOPE_METRICS), scope = rs_proto_open(b, SCOPE);
    put_text(b, SCOPE, "rankscope");
    put_text(b, SCOPE_VERSION, rs_version());
    rs_proto_close(b, scope);
    for (size_t i = 0; i < all->n;) i += put_metric(b, all, i, at_ns);
    rs_proto_close(b, scopes);
    rs_proto_close(b, resources);
}

rs_status rs_watch_write_otlp(rs_watch *w, int64_t after, const rs_sink *sink, int64_t *window, rs_error *err)
{
    RS_SCOPED(points_clear) points all = {0};
    rs_window_medians medians;
    rs_proto_bytes b = {0};
    *window = 0;
    bool has;
    RS_TRY(rs_history_next_window(w->history, &after, keep_medians, &medians, &has, err));
    if (!has) return RS_OK;
    RS_TRY(add_window(&all, &medians, err));
    if (after == w->newest) RS_TRY(add_open(&all, w, err)); /* what goes on now says nothing of older ones */
    put_request(&b, &all, medians.start);
    bool ok = !b.failed && sink->write(sink->context, (const char *)b.bytes, b.n);
    rs_status status = b.failed ? rs_fail_nomem(err, "the metrics")
                       : ok     ? RS_OK
                                : rs_fail(err, RS_ERR_IO, "the metrics cannot be written");
    rs_free(b.bytes);
    if (ok) *window = after;
    return status;
}

int64_t rs_watch_otlp_rejected(const char *bytes, size_t n)
{
    rs_pb m = {(const uint8_t *)bytes, (const uint8_t *)bytes + n}, inner;
    rs_pb_field f, g;
    int64_t rejected = 0;
    while (rs_pb_next(&m, &f) == RS_PB_FIELD)
        for (inner = f.bytes;
             f.number == PARTIAL_SUCCESS && f.type == RS_PB_BYTES && rs_pb_next(&inner, &g) == RS_PB_FIELD;)
            if (g.number == REJECTED && g.type == RS_PB_VARINT) rejected = (int64_t)g.value;
    return rejected;
}
