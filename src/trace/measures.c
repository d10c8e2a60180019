#include "trace/measures.h"

#include <math.h>
#include <string.h>

#include "base/ascii.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "base/stats.h"

#define HOLDS 4 /* times the usual period: a sample counts no longer */

/* Words of counters' names in lower case, the first that fits. Sources: nsys' metric sets (GPU_METRICS of nsys 2023 to 2026), CUPTI's
 * metric names (pm sampling and range profiler), CUPTI's environment records as PyTorch 2.15 names them, counters that rocprofv3
 * derives. */
static const struct {
    const char *word;
    rs_measure what;
} words[] = {
    {"tensor active", RS_MEASURE_TENSOR},
    {"pipe_tensor", RS_MEASURE_TENSOR},
    {"mfmautil", RS_MEASURE_TENSOR},
    {"sms active", RS_MEASURE_SM},
    {"sm active", RS_MEASURE_SM},
    {"sm__cycles_active", RS_MEASURE_SM},
    {"dram read", RS_MEASURE_DRAM},
    {"dram write", RS_MEASURE_DRAM},
    {"dram__throughput", RS_MEASURE_DRAM},
    {"nvlink rx", RS_MEASURE_NVLINK_RX},
    {"nvlink tx", RS_MEASURE_NVLINK_TX},
    {"pcie rx", RS_MEASURE_PCIE_RX},
    {"pcie tx", RS_MEASURE_PCIE_TX},
    {"gpc clock", RS_MEASURE_CLOCK},
    {"sm clock", RS_MEASURE_CLOCK},
    {"graphics clock", RS_MEASURE_CLOCK},
    {"memory clock", RS_MEASURE_MEMORY_CLOCK},
    {"temperature", RS_MEASURE_TEMPERATURE},
    {"power limit", RS_MEASURE_POWER_LIMIT},
    {"power", RS_MEASURE_POWER},
};

rs_measure rs_measure_of(const char *counter, double *scale)
{
    char text[128];
    size_t n = 0;
    for (; counter[n] && n + 1 < sizeof text; n++) text[n] = (char)rs_lower(counter[n]);
    text[n] = '\0';
    *scale = 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strstr(text, words[i].word)) continue;
        rs_measure what = words[i].what;
        bool percent = what < RS_MEASURE_CLOCK;
        /* of CUPTI's metrics only those of the peak are percent; limits are not what is drawn */
        if (percent && strstr(text, "__") && !strstr(text, "pct_of_peak")) return RS_N_MEASURES;
        bool power = what == RS_MEASURE_POWER_LIMIT || what == RS_MEASURE_POWER;
        if ((what != RS_MEASURE_POWER_LIMIT && strstr(text, "limit")) || strstr(text, "slowdown"))
            return RS_N_MEASURES;
        if (power && strstr(text, "mw")) *scale = 1e-3;
        if ((what == RS_MEASURE_CLOCK || what == RS_MEASURE_MEMORY_CLOCK) && !strstr(text, "mhz")) *scale = 0;
        return what;
    }
    return RS_N_MEASURES;
}

double rs_measured_mean(const rs_measured *m, rs_measure what)
{
    return m->ns[what] > 0 ? m->sum[what] / m->ns[what] : (double)NAN;
}

void rs_measured_join(rs_measured *into, const rs_measured *more)
{
    for (int i = 0; i < RS_N_MEASURES; i++) {
        into->sum[i] += more->sum[i];
        into->ns[i] += more->ns[i];
    }
}

/* ---- samples to series ---------------------------------------------------------------------------------- */

typedef struct sample {
    int64_t start, end; /* end RS_NO_TIME: it holds until the next one */
    double value;
    size_t at; /* in the file */
} sample;

typedef struct collected {
    uint32_t name;
    rs_measure_series of;
    double scale;
    sample *samples;
    size_t n, capacity;
} collected;

static const rs_order by_start[] = {RS_RISING(sample, start), RS_RISING(sample, at)};

/* Clocks without a unit are Hz where they are greater than any clock in MHz. */
static double scale_of(const collected *c, double value)
{
    return c->scale > 0 ? c->scale : value > 1e5 ? 1e-6 : 1;
}

static bool make_series(collected *c, rs_measure_series *out)
{
    *out = c->of;
    RS_SORT(c->samples, c->n, by_start);
    RS_LOCAL int64_t *periods = rs_malloc((c->n + 1) * sizeof *periods);
    size_t n_periods = 0;
    out->start = rs_malloc((c->n + 1) * sizeof *out->start);
    out->end = rs_malloc((c->n + 1) * sizeof *out->end);
    out->value = rs_malloc((c->n + 1) * sizeof *out->value);
    out->sums = rs_calloc(c->n + 1, sizeof *out->sums);
    out->lengths = rs_calloc(c->n + 1, sizeof *out->lengths);
    if (!periods || !out->start || !out->end || !out->value || !out->sums || !out->lengths) return false;
    for (size_t i = 0; i + 1 < c->n; i++)
        if (c->samples[i].end == RS_NO_TIME && c->samples[i + 1].start > c->samples[i].start)
            periods[n_periods++] = rs_sub_sat(c->samples[i + 1].start, c->samples[i].start);
    out->period = n_periods ? rs_select_number(periods, n_periods, n_periods / 2) : 0;
    int64_t longest = out->period > INT64_MAX / HOLDS ? INT64_MAX : HOLDS * out->period;
    for (size_t i = 0; i < c->n; i++) {
        const sample *s = &c->samples[i];
        int64_t next = i + 1 < c->n ? c->samples[i + 1].start : INT64_MAX;
        int64_t end =
            s->end == RS_NO_TIME ? rs_add_sat(s->start, i + 1 < c->n ? longest : out->period) : s->end;
        if (end > next) end = next;
        if (end <= s->start) continue;
        double length = (double)rs_sub_sat(end, s->start), value = s->value * scale_of(c, s->value);
        size_t k = out->n++;
        out->start[k] = s->start;
        out->end[k] = end;
        out->value[k] = value;
        out->sums[k + 1] = out->sums[k] + value * length;
        out->lengths[k + 1] = out->lengths[k] + length;
    }
    return true;
}

/* The device of a counter's event: as it says, else the number in the name of its process ("GPU 1 Counters"). */
static int64_t device_of(const rs_events *e, uint32_t row)
{
    int64_t device;
    if (rs_events_int(e, RS_COL_DEVICE, row, &device)) return device;
    const rs_thread *t = &e->threads[e->thread[row]];
    const char *text = t->pid_text == RS_NO_STRING ? "" : e->strings.items[t->pid_text].text;
    if (strncmp(text, "GPU ", 4) != 0 || !rs_is_digit(text[4])) return -1;
    for (device = 0, text += 4; rs_is_digit(*text) && device < 1 << 20; text++)
        device = 10 * device + (*text - '0');
    return device;
}

typedef struct collector {
    const rs_events *e;
    collected *items;
    size_t n, capacity;
    rs_map64 places; /* name and device -> item */
} collector;

static collected *item_of(collector *c, uint32_t name, rs_measure what, double scale, int64_t device)
{
    bool is_new;
    uint32_t *place = rs_map64_put(&c->places, rs_hash_u64(name) ^ (uint64_t)device, &is_new);
    if (!place) return NULL;
    if (is_new) {
        *place = (uint32_t)c->n;
        if (!RS_PUSH(
                c->items, c->n, c->capacity,
                (collected){.name = name, .of = {.device = device, .what = (uint8_t)what}, .scale = scale}))
            return NULL;
    }
    return &c->items[*place];
}

/* All that one counter of the events holds. known: by string id, whether its text is a measure, + 1. */
static bool collect(collector *c, const rs_trace *t, const rs_counter *counter, const uint8_t *mine,
                    uint8_t *known)
{
    const rs_events *e = c->e;
    bool ok = true;
    (void)t;
    for (size_t i = 0; ok && i < counter->values.n; i++) {
        uint32_t row = counter->values.rows[i];
        const uint32_t names[2] = {e->name[row], counter->name}; /* the event is called so, or the value */
        if (mine && !mine[row]) continue;
        for (int k = 0; ok && k < 2; k++) {
            double scale;
            if (known[names[k]] == 1) continue;
            rs_measure what = rs_measure_of(e->strings.items[names[k]].text, &scale);
            known[names[k]] = what == RS_N_MEASURES ? 1 : 2;
            if (what == RS_N_MEASURES || e->start[row] == RS_NO_TIME || !isfinite(counter->values.reals[i]))
                continue;
            collected *of = item_of(c, names[k], what, scale, device_of(e, row));
            bool range = e->duration[row] > 0;
            ok = of && RS_PUSH(of->samples, of->n, of->capacity,
                               (sample){e->start[row], range ? rs_event_end(e, row) : RS_NO_TIME,
                                        counter->values.reals[i], of->n});
            break;
        }
    }
    return ok;
}

static bool collect_all(collector *c, const rs_trace *t)
{
    const rs_events *e = c->e;
    RS_LOCAL uint8_t *known = rs_calloc(e->strings.n + 1, 1);
    RS_LOCAL uint8_t *mine = t->n_rows < e->n ? rs_calloc(e->n + 1, 1) : NULL; /* by row; NULL: all are */
    bool ok = known && (mine || t->n_rows >= e->n);
    for (size_t i = 0; ok && mine && i < t->n_rows; i++) mine[rs_trace_row(t, i)] = 1;
    for (size_t i = 0; ok && i < e->n_counters; i++) ok = collect(c, t, &e->counters[i], mine, known);
    return ok;
}

/* ---- the facet ------------------------------------------------------------------------------------------ */

static void release(void *value)
{
    rs_measures *m = value;
    for (size_t i = 0; m && i < m->n; i++) {
        rs_measure_series *s = &m->series[i];
        rs_free_all(s->start, s->end, s->value, s->sums, s->lengths);
    }
    if (m) rs_free(m->series);
    rs_free(m);
}

static rs_status make(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    collector c = {.e = trace->events};
    rs_measures *m = rs_calloc(1, sizeof *m);
    bool ok = m && collect_all(&c, trace) && (m->series = rs_calloc(c.n + 1, sizeof *m->series));
    (void)key;
    for (size_t i = 0; ok && i < c.n; i++) {
        bool leads = true;
        for (size_t k = 0; k < i; k++)
            leads &= c.items[k].of.what != c.items[i].of.what || c.items[k].of.device != c.items[i].of.device;
        c.items[i].of.leads = leads;
        /* what goes different ways adds up; of two counters of a clock one is enough */
        bool adds_up = c.items[i].of.what >= RS_MEASURE_DRAM && c.items[i].of.what < RS_MEASURE_CLOCK;
        if (leads || adds_up) ok = make_series(&c.items[i], &m->series[m->n++]);
    }
    for (size_t i = 0; i < c.n; i++) rs_free(c.items[i].samples);
    rs_free(c.items);
    rs_map64_clear(&c.places);
    if (!ok) {
        release(m);
        return rs_fail_nomem(err, "counters");
    }
    *out = m;
    return RS_OK;
}

const rs_facet rs_facet_measures = {
    .name = "measures", .columns = RS_COLUMN_BIT(DEVICE), .make = make, .release = release};

rs_status rs_trace_measures(rs_trace *trace, const rs_measures **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_measures, NULL, out, err);
}

/* The first sample that ends after t. */
static size_t sample_after(const rs_measure_series *s, int64_t t)
{
    size_t low;
    RS_SEARCH(low, s->n, s->end[low] <= t);
    return low;
}

/* Value times ns, and ns, up to t. */
static void until(const rs_measure_series *s, int64_t t, double *sum, double *ns)
{
    size_t i = sample_after(s, t);
    double part = i < s->n && s->start[i] < t ? (double)rs_sub_sat(t, s->start[i]) : 0;
    *ns = s->lengths[i] + part;
    *sum = s->sums[i] + (part > 0 ? part * s->value[i] : 0);
}

void rs_measures_add(const rs_measures *m, int64_t device, int64_t start, int64_t end, rs_measured *into)
{
    for (size_t i = 0; i < m->n && start < end; i++) {
        const rs_measure_series *s = &m->series[i];
        double sum[2], ns[2];
        if (device >= 0 && s->device >= 0 && s->device != device) continue;
        until(s, start, &sum[0], &ns[0]);
        until(s, end, &sum[1], &ns[1]);
        into->sum[s->what] += sum[1] - sum[0];
        if (s->leads) into->ns[s->what] += ns[1] - ns[0];
    }
}
