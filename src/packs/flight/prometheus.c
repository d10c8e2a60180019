/* What DCGM measured, as Prometheus answers a query_range (resultType matrix, metric names of dcgm-exporter): clocks against those
 * of the other GPUs, with the reason that limits them; Xid, ECC, PCIe and NVLink. A series belongs to a GPU of a host. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/changes.h"
#include "base/real.h"
#include "base/search.h"
#include "base/stats.h"
#include "flight/sources.h"
#include "flight/template.h"
#include "input/json.h"

#define MAX_FILE ((size_t)1 << 30)
#define MAX_SAMPLES ((size_t)64 << 20)
#define POINTS 64  /* of a history in which changes are looked for */
#define SLOWER 0.9 /* of the other GPUs' clock, after a change: a clock that is limited */
#define FEW 100.0  /* errors that a link may correct during a job without harm */

typedef enum measure {
    M_CLOCK,   /* lower than the others' since a change */
    M_CODE,    /* a number that names a fault, from its first change on */
    M_ERRORS,  /* a count that must not grow */
    M_RETRIES, /* a count that grows with a bad link */
    M_LINK,    /* width or generation: lower than before, or than the others' */
    M_REASON,  /* bits: why the clock is limited */
    M_POWER,   /* time that power, or heat, limited the clock */
    M_HEAT
} measure;

static const struct metric {
    const char *name, *words;
    uint8_t measure, kind;
} metrics[] = {
    {"DCGM_FI_DEV_SM_CLOCK", "SM clock", M_CLOCK, RS_FL_EV_THROTTLED},
    {"DCGM_FI_DEV_XID_ERRORS", "Xid", M_CODE, RS_FL_EV_XID},
    {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "uncorrectable ECC errors", M_ERRORS, RS_FL_EV_ECC},
    {"DCGM_FI_DEV_ROW_REMAP_FAILURE", "failed row remappings", M_ERRORS, RS_FL_EV_ECC},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "PCIe retries", M_RETRIES, RS_FL_EV_PCIE},
    {"DCGM_FI_DEV_PCIE_LINK_WIDTH", "PCIe width", M_LINK, RS_FL_EV_PCIE},
    {"DCGM_FI_DEV_PCIE_LINK_GEN", "PCIe generation", M_LINK, RS_FL_EV_PCIE},
    {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "NVLink CRC errors", M_RETRIES, RS_FL_EV_NVLINK},
    {"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "NVLink retries", M_RETRIES, RS_FL_EV_NVLINK},
    {"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "NVLink recoveries", M_RETRIES, RS_FL_EV_NVLINK},
    {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", NULL, M_REASON, 0},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", NULL, M_REASON, 0},
    {"DCGM_FI_DEV_POWER_VIOLATION", NULL, M_POWER, 0},
    {"DCGM_FI_DEV_THERMAL_VIOLATION", NULL, M_HEAT, 0},
};
#define N_METRICS (sizeof metrics / sizeof *metrics)

const char *rs_flight_metric(size_t i)
{
    return i < N_METRICS ? metrics[i].name : NULL;
}

typedef struct series {
    uint8_t metric;
    uint32_t host, pci, file; /* texts; RS_FL_NONE unknown */
    int64_t gpu, line;
    size_t first, n; /* samples, in time */
} series;

struct rs_fl_prometheus {
    series *series;
    size_t n, capacity;
    double *times, *values; /* s since 1970 */
    size_t n_samples, times_capacity, values_capacity;
};

static bool knows(const char *path, const uint8_t *text, size_t n)
{
    (void)path;
    return n && text[0] == '{' && memmem(text, n, "\"resultType\"", 12) && memmem(text, n, "DCGM_FI_", 8);
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

typedef struct reading {
    rs_flight *flight;
    rs_json_reader json;
    const uint8_t *at; /* up to where lines are counted */
    int64_t line;
    uint32_t file;
    bool nomem;
} reading;

static uint32_t intern(reading *r, const char *text, size_t n)
{
    uint32_t id = rs_strings_add(&r->flight->texts, text, n > 256 ? 256 : n);
    r->nomem |= id == RS_NO_STRING;
    return id;
}

/* A host as the log names it. */
static uint32_t host_text(reading *r, const char *text, size_t n)
{
    uint32_t id = rs_fl_add_host(r->flight, text, n);
    r->nomem |= id == RS_NO_STRING;
    return id;
}

static void read_label(reading *r, series *s)
{
    static const char *const hosts[] = {"Hostname", "hostname", "node", "kubernetes_node"};
    rs_json_text key = r->json.text;
    if (rs_json_next(&r->json) != RS_JSON_T_STRING) return;
    const char *text = (const char *)r->json.text.bytes;
    size_t n = r->json.text.length;
    rs_fl_span name = {(const char *)key.bytes, key.length};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (rs_fl_span_is(name, hosts[i])) s->host = host_text(r, text, n);
    if (rs_fl_span_is(name, "instance") && s->host == RS_FL_NONE) {
        s->host = host_text(r, text, n);
    } else if (rs_fl_span_is(name, "gpu")) {
        s->gpu = rs_fl_span_int((rs_fl_span){text, n});
    } else if (rs_fl_span_is(name, "pci_bus_id")) {
        s->pci = intern(r, text, n);
    } else if (rs_fl_span_is(name, "__name__")) {
        for (size_t i = 0; i < N_METRICS; i++)
            if (rs_fl_span_is((rs_fl_span){text, n}, metrics[i].name)) s->metric = (uint8_t)i;
    }
}

/* [[time, "value"], ...]; what is no pair of numbers is left out. */
static void read_samples(reading *r, series *s)
{
    struct rs_fl_prometheus *p = r->flight->prometheus;
    double time, value;
    if (rs_json_next(&r->json) != RS_JSON_T_ARRAY) return;
    s->first = p->n_samples;
    while (!r->nomem && rs_json_next(&r->json) == RS_JSON_T_ARRAY) {
        bool good = rs_json_next(&r->json) == RS_JSON_T_NUMBER &&
                    rs_json_real(r->json.text.bytes, r->json.text.length, &time);
        good = good && rs_json_next(&r->json) == RS_JSON_T_STRING &&
               rs_json_real(r->json.text.bytes, r->json.text.length, &value);
        if (!rs_json_leave(&r->json)) return;
        if (!good || value > 1e18 || p->n_samples >= MAX_SAMPLES || !(time > 0 && time < 9e9) ||
            (s->n && time <= p->times[p->n_samples - 1]))
            continue;
        if (!rs_grow((void **)&p->times, &p->times_capacity, p->n_samples + 1, sizeof *p->times) ||
            !rs_grow((void **)&p->values, &p->values_capacity, p->n_samples + 1, sizeof *p->values)) {
            r->nomem = true;
            return;
        }
        p->times[p->n_samples] = time;
        p->values[p->n_samples++] = value;
        s->n++;
    }
}

static void read_series(reading *r)
{
    struct rs_fl_prometheus *p = r->flight->prometheus;
    series s = {.metric = N_METRICS, .host = RS_FL_NONE, .pci = RS_FL_NONE, .gpu = -1, .file = r->file};
    for (const uint8_t *end = r->json.p; r->at < end; r->at++) r->line += *r->at == '\n';
    s.line = r->line;
    while (rs_json_next(&r->json) == RS_JSON_T_KEY) {
        if (rs_json_is(&r->json, "metric")) {
            if (rs_json_next(&r->json) != RS_JSON_T_OBJECT) return;
            while (rs_json_next(&r->json) == RS_JSON_T_KEY) read_label(r, &s);
        } else if (rs_json_is(&r->json, "values")) {
            read_samples(r, &s);
        } else {
            rs_json_skip_value(&r->json);
        }
    }
    if (!r->nomem && s.metric < N_METRICS && s.n && !RS_PUSH(p->series, p->n, p->capacity, s))
        r->nomem = true;
}

static rs_status read(rs_flight *flight, rs_source *from, rs_error *err)
{
    RS_LOCAL uint8_t *text = NULL;
    const char *name = rs_source_name(from);
    size_t n = 0;
    rs_status status = rs_fl_read_whole(flight, from, MAX_FILE, &text, &n, err);
    if (status != RS_OK || !text) return status;
    if (!flight->prometheus && !(flight->prometheus = rs_calloc(1, sizeof *flight->prometheus)))
        return rs_fail_nomem(err, name);
    reading r = {.flight = flight, .at = text, .line = 1};
    r.file = intern(&r, name, strlen(name));
    rs_json_reader_init(&r.json, text, n);
    rs_json_token token = rs_json_next(&r.json);
    /* {"status": ..., "data": {"resultType": "matrix", "result": [...]}}: objects are entered down to the result. */
    while (!r.nomem && token != RS_JSON_T_END && token != RS_JSON_T_ERROR) {
        token = rs_json_next(&r.json);
        if (token != RS_JSON_T_KEY || rs_json_is(&r.json, "data")) continue;
        if (!rs_json_is(&r.json, "result")) {
            if (!rs_json_skip_value(&r.json)) break;
        } else if ((token = rs_json_next(&r.json)) == RS_JSON_T_ARRAY) {
            while (!r.nomem && (token = rs_json_next(&r.json)) == RS_JSON_T_OBJECT) read_series(&r);
        }
    }
    if (r.json.status != RS_JSON_OK || r.json.depth)
        rs_problems_add(&flight->problems, name, -1, RS_LOSS, "metrics_damaged",
                        "the answer of Prometheus is damaged or cut short: what follows is lost",
                        rs_json_at(&r.json));
    return r.nomem ? rs_fail_nomem(err, name) : RS_OK;
}

/* ---- judging ---------------------------------------------------------------------------------------------- */

/* Over all GPUs: the median of a metric at POINTS moments of equal distance. NaN: fewer than three GPUs. */
typedef struct level {
    double from, step, usual[POINTS];
} level;

typedef struct judging {
    rs_flight *flight;
    const struct rs_fl_prometheus *p;
    level levels[N_METRICS];
} judging;

/* For words: what Prometheus stores are whole numbers in all metrics that are read. */
static int64_t as_whole(double value)
{
    return value > -9e15 && value < 9e15 ? rs_int_near(value) : 0;
}

/* The value at a moment: the newest sample that is not later, else the first. */
static double value_at(const struct rs_fl_prometheus *p, const series *s, double time)
{
    size_t low;
    RS_SEARCH(low, s->n, p->times[s->first + low] <= time);
    return p->values[s->first + (low ? low - 1 : 0)];
}

/* Fills the levels; O(series) for each moment. False when out of memory. */
static bool find_levels(judging *j)
{
    const struct rs_fl_prometheus *p = j->p;
    RS_LOCAL double *values = rs_malloc((p->n + 1) * sizeof *values);
    for (size_t m = 0; values && m < N_METRICS; m++) {
        double from = INFINITY, to = 0;
        for (size_t i = 0; i < p->n; i++) {
            if (p->series[i].metric != m) continue;
            from = fmin(from, p->times[p->series[i].first]);
            to = fmax(to, p->times[p->series[i].first + p->series[i].n - 1]);
        }
        j->levels[m] = (level){.from = from, .step = (to - from) / (POINTS - 1)};
        for (size_t k = 0; k < POINTS; k++) {
            size_t n = 0;
            for (size_t i = 0; i < p->n; i++)
                if (p->series[i].metric == m)
                    values[n++] = value_at(p, &p->series[i], from + (double)k * j->levels[m].step);
            rs_sort_doubles(values, n);
            j->levels[m].usual[k] = n < 3 ? NAN : rs_quantile(values, n, 0.5);
        }
    }
    return values != NULL;
}

static bool say(judging *j, const series *s, double time, rs_fl_event_kind kind, int64_t code,
                const char *text)
{
    rs_fl_event *e =
        text ? rs_fl_testify(j->flight, RS_FLIGHT_FILE_PROMETHEUS, kind, -1, s->host, text, s->file, s->line)
             : NULL;
    if (!e) return false;
    if (kind == RS_FL_EV_LEVEL) {
        e->host = RS_FL_NONE;
    } else {
        e->pci = s->pci;
        e->who.local = s->gpu;
    }
    e->time_ns = rs_int_of(time * 1e9);
    e->settled = true;
    e->code = code;
    return true;
}

/* Why the clock of a GPU is limited at a moment, by the series of the same GPU; "" unknown. */
static const char *reason_at(const judging *j, const series *clock, double time)
{
    static const struct {
        uint64_t bits;
        const char *name;
    } reasons[] = {{0x80, ", power brake"},
                   {0x48, ", hardware slowdown"},
                   {0x20, ", too hot"},
                   {0x04, ", power cap"},
                   {0x02, ", clocks set by hand"}};
    const char *found = "";
    for (size_t i = 0; i < j->p->n; i++) {
        const series *s = &j->p->series[i];
        uint8_t how = metrics[s->metric].measure;
        if (how < M_REASON || s->host != clock->host || s->gpu != clock->gpu || s->pci != clock->pci)
            continue;
        double value = value_at(j->p, s, time);
        if (how == M_REASON && value >= 0 && value < 1e15)
            for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++)
                if ((uint64_t)value & reasons[k].bits) return reasons[k].name;
        bool grows = j->p->values[s->first + s->n - 1] > value;
        if (how == M_POWER && grows) found = ", power cap";
        if (how == M_HEAT && grows) found = ", too hot";
    }
    return found;
}

/* A clock against the median of all GPUs: all of them fall when a job stops. */
static bool judge_clock(judging *j, const series *s)
{
    const level *all = &j->levels[s->metric];
    double points[POINTS];
    rs_change changes[POINTS];
    size_t n_changes = 0;
    if (s->n < 8) return true;
    for (size_t i = 0; i < POINTS; i++) {
        points[i] = value_at(j->p, s, all->from + (double)i * all->step) / all->usual[i];
        if (!isfinite(points[i])) return true;
    }
    if (!rs_changes_find(points, POINTS, 1e-4, 1 - SLOWER, changes, &n_changes)) return false;
    size_t at = n_changes ? changes[n_changes - 1].at : 0;
    if (rs_mean(points + at, POINTS - at) > SLOWER) return true;
    double since = all->from + (double)at * all->step,
           now = value_at(j->p, s, all->from + (double)(at + POINTS) / 2 * all->step);
    double then = at ? value_at(j->p, s, since - all->step) : all->usual[POINTS / 2];
    const char *why = reason_at(j, s, since);
    return say(j, s, since, RS_FL_EV_THROTTLED, INT64_MIN,
               at ? rs_fl_print(j->flight, "is slow: SM clock %" PRId64 " -> %" PRId64 " MHz%s",
                                as_whole(then), as_whole(now), why)
                  : rs_fl_print(j->flight,
                                "is slow all the time: SM clock %" PRId64 " MHz, the other GPUs %" PRId64
                                "%s",
                                as_whole(now), as_whole(then), why));
}

/* A number or count that changes within the series. What was there before the job is not of it. */
static bool judge_count(judging *j, const series *s)
{
    const struct rs_fl_prometheus *p = j->p;
    const struct metric *m = &metrics[s->metric];
    double first = p->values[s->first], last = p->values[s->first + s->n - 1];
    size_t at = 1;
    while (at < s->n &&
           (m->measure == M_LINK ? p->values[s->first + at] >= first : p->values[s->first + at] == first))
        at++;
    if (at == s->n) return true;
    double now = p->values[s->first + at], time = p->times[s->first + at];
    if (m->measure == M_CODE)
        return now <= 0 || now > 1e6 || say(j, s, time, RS_FL_EV_XID, rs_int_of(now), m->name);
    if (m->measure == M_ERRORS && last <= first) return true;
    if (m->measure == M_RETRIES) {
        double usual = j->levels[s->metric].usual[POINTS - 1];
        if (last - first < FEW || (!isnan(usual) && last < 10 * usual)) return true;
    }
    return say(j, s, time, (rs_fl_event_kind)m->kind, INT64_MIN,
               rs_fl_print(j->flight, "has %s %" PRId64 " -> %" PRId64, m->words, as_whole(first),
                           as_whole(m->measure == M_LINK ? now : last)));
}

static bool testify(rs_flight *flight)
{
    const struct rs_fl_prometheus *p = flight->prometheus;
    if (!p || !p->n) return true;
    judging j = {.flight = flight, .p = p};
    size_t told = rs_fl_events_of(flight) ? flight->log->n : 0;
    bool good = flight->log && find_levels(&j);
    for (size_t i = 0; good && i < p->n; i++) {
        const series *s = &p->series[i];
        uint8_t how = metrics[s->metric].measure;
        if (how == M_CLOCK)
            good = judge_clock(&j, s);
        else if (how < M_REASON)
            good = judge_count(&j, s);
    }
    if (good && flight->log->n == told)
        good = say(&j, &p->series[0], p->times[p->series[0].first], RS_FL_EV_LEVEL, INT64_MIN,
                   rs_fl_print(flight, "%zu series show no clock below the others and no new error", p->n));
    return good;
}

static void clear(rs_flight *flight)
{
    if (!flight->prometheus) return;
    rs_free_all(flight->prometheus->series, flight->prometheus->times, flight->prometheus->values,
                flight->prometheus);
}

const rs_fl_source rs_fl_prometheus_source = {.file = RS_FLIGHT_FILE_PROMETHEUS,
                                              .title = "DCGM",
                                              .knows = knows,
                                              .read = read,
                                              .testify = testify,
                                              .clear = clear,
                                              .blind =
                                                  " It measures GPUs, and not what their programs wait for.",
                                              .decides = "dcgmi diag -r 3 on that host"};
