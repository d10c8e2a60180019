#include "output/display.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/real.h"
#include "text/numbers.h"
#include "text/utf8.h"
#include "rankscope/text.h"

/* Values by power of ten: enough to find the median's magnitude without keeping the values. */
#define LOWEST_POWER (-20)
#define N_POWERS 60

typedef struct magnitudes {
    size_t count[N_POWERS];
    size_t n;            /* finite values that are not 0 */
    int median, highest; /* powers of ten */
    bool whole;          /* every value is a whole number */
} magnitudes;

static double raw_value(const rs_table *table, size_t row, size_t column)
{
    return rs_type_is_time(rs_table_get_spec(table)->columns[column].type)
               ? (double)rs_table_int(table, row, column)
               : rs_table_real(table, row, column);
}

static void measure(const rs_table *table, size_t column, magnitudes *m)
{
    *m = (magnitudes){.highest = LOWEST_POWER, .whole = true};
    size_t n_rows = rs_table_n_rows(table);
    for (size_t row = 0; row < n_rows; row++) {
        if (rs_table_is_null(table, row, column)) continue;
        double value = fabs(raw_value(table, row, column));
        if (value == 0 || !isfinite(value)) continue;
        if (value != floor(value)) m->whole = false;
        int power = (int)rs_int_of(floor(log10(value) + 1e-12));
        if (power < LOWEST_POWER) power = LOWEST_POWER;
        if (power >= LOWEST_POWER + N_POWERS) power = LOWEST_POWER + N_POWERS - 1;
        m->count[power - LOWEST_POWER]++;
        m->n++;
        if (power > m->highest) m->highest = power;
    }
    size_t seen = 0;
    for (int i = 0; i < N_POWERS; i++) {
        seen += m->count[i];
        if (seen * 2 >= m->n && m->n) {
            m->median = i + LOWEST_POWER;
            return;
        }
    }
    m->median = 0;
}

static unsigned clamp_decimals(int decimals, int most)
{
    return (unsigned)(decimals < 0 ? 0 : decimals > most ? most : decimals);
}

#define OWN_UNIT (-1)

/* values are nanoseconds / base; returns the unit's name. wanted: the unit as a power of 1000 ns, or OWN_UNIT. */
static const char *plan_time(const magnitudes *m, double base, rs_unit unit, bool exact_ns, bool utf8,
                             int wanted, rs_display *out)
{
    const char *const names[] = {"ns", utf8 ? "\xC2\xB5s" : "us", "ms", "s"};
    static const double scales[] = {1, 1e3, 1e6, 1e9};
    int base_power = base == 1e3 ? 3 : base == 1e6 ? 6 : 0;
    int at = unit == RS_UNIT_US ? 1 : unit == RS_UNIT_MS ? 2 : 0, decimals = 0;
    if (m->n) {
        int median = m->median + base_power;
        at = median >= 9 ? 3 : median >= 6 ? 2 : median >= 3 ? 1 : 0;
        decimals = 3 - (median - 3 * at);
        if (m->highest + base_power - 3 * at >= 6 && at < 3) {
            at++;
            decimals = 3;
        }
        if (wanted != OWN_UNIT) {
            decimals += 3 * (wanted - at);
            at = wanted;
        }
        if (at == 0) decimals = exact_ns ? 0 : 1;
    } else if (wanted != OWN_UNIT) {
        at = wanted;
    }
    out->time_unit = at;
    out->scale = scales[at] / base;
    out->decimals = clamp_decimals(decimals, 3);
    return names[at];
}

static const char *plan_bytes(const magnitudes *m, rs_display *out)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double typical = m->n ? 3 * pow(10, m->median) : 0;
    unsigned at = 0;
    out->scale = 1;
    while (at < 6 && typical >= 1024) {
        typical /= 1024;
        out->scale *= 1024;
        at++;
    }
    out->decimals = at == 0 ? 0 : typical < 10 ? 2 : 1;
    return names[at];
}

static void plan_number(const magnitudes *m, rs_display *out)
{
    if (m->n && (m->median < -5 || m->highest >= 15)) out->scientific = true;
    out->decimals = m->whole ? 0 : clamp_decimals(3 - m->median, 8);
}

/* Numbers that are billions as a rule, such as FLOPs. */
static const char *plan_large(const magnitudes *m, rs_display *out)
{
    static const char *const names[] = {"G", "T", "P", "E"};
    int at = m->n ? (m->median - 9) / 3 : -1;
    if (!m->n || m->median < 9 || at > 3) return NULL;
    out->scale = pow(10, 9 + 3 * at);
    out->scientific = false;
    out->decimals = clamp_decimals(3 - (m->median - 9 - 3 * at), 3);
    return names[at];
}

static bool mentions(const char *heading, const char *word)
{
    return strstr(heading, word) != NULL;
}

static bool cut_suffix(char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    if (n <= m || strcmp(text + n - m, suffix) != 0) return false;
    text[n - m] = '\0';
    return true;
}

/* The heading without the unit that the machine-readable name carries: the shown one may differ. */
static void strip_time_unit(char *text)
{
    static const char *const suffixes[] = {"_ns",   "_us",  "_ms",  " (ns)", " (us)",
                                           " (ms)", "(ns)", "(us)", "(ms)"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (cut_suffix(text, suffixes[i])) return;
}

static void set_heading(const rs_column_spec *spec, const char *unit, bool is_time, bool utf8,
                        rs_display *out)
{
    const char *name = spec->title ? spec->title : spec->name;
    char raw[RS_HEADING_SIZE / 3 - 8], clean[RS_HEADING_SIZE - 16];
    snprintf(raw, sizeof raw, "%s", name);
    rs_text_clean(raw, strlen(raw), utf8, clean);
    if (is_time) strip_time_unit(clean);
    if (unit)
        snprintf(out->heading, sizeof out->heading, "%s (%s)", clean, unit);
    else
        snprintf(out->heading, sizeof out->heading, "%s", clean);
}

static void plan(const rs_table *table, size_t column, bool utf8, int wanted, rs_display *out)
{
    const rs_column_spec *spec = &rs_table_get_spec(table)->columns[column];
    *out = (rs_display){.scale = 1, .type = spec->type, .time_unit = OWN_UNIT};
    if (spec->type == RS_TEXT) {
        out->is_text = true;
        set_heading(spec, NULL, false, utf8, out);
        return;
    }
    const char *name = spec->title ? spec->title : spec->name, *unit = NULL;
    bool is_time = rs_type_is_time(spec->type);
    magnitudes m;
    measure(table, column, &m);
    switch (spec->unit) {
    case RS_UNIT_ID: out->plain_int = spec->type == RS_INT; break;
    case RS_UNIT_NS:
    case RS_UNIT_US:
    case RS_UNIT_MS:
        if (is_time || spec->type == RS_REAL) {
            double base = is_time || spec->unit == RS_UNIT_NS ? 1 : spec->unit == RS_UNIT_US ? 1e3 : 1e6;
            unit = plan_time(&m, base, spec->unit, is_time, utf8, wanted, out);
            is_time = true;
        }
        break;
    case RS_UNIT_BYTES: unit = plan_bytes(&m, out); break;
    case RS_UNIT_PERCENT:
        out->decimals = spec->type == RS_INT ? 0 : m.n && m.highest >= 1 ? 1 : 2;
        if (!mentions(name, "%") && !mentions(name, "percent") && !mentions(name, "pct")) unit = "%";
        break;
    case RS_UNIT_RATIO: out->decimals = spec->type == RS_INT ? 0 : 3; break;
    case RS_UNIT_GBPS:
        plan_number(&m, out);
        if (!mentions(name, "GB/s")) unit = "GB/s";
        break;
    case RS_UNIT_NONE: out->plain_int = spec->type == RS_INT; break;
    case RS_UNIT_COUNT: break;
    }
    if (spec->type == RS_REAL &&
        (spec->unit == RS_UNIT_NONE || spec->unit == RS_UNIT_COUNT || spec->unit == RS_UNIT_ID))
        plan_number(&m, out);
    if (spec->unit == RS_UNIT_COUNT) unit = plan_large(&m, out);
    if (rs_type_is_time(spec->type) && !unit) unit = plan_time(&m, 1, RS_UNIT_NS, true, utf8, wanted, out);
    set_heading(spec, unit, is_time, utf8, out);
}

void rs_display_plan(const rs_table *table, size_t column, bool utf8, rs_display *out)
{
    plan(table, column, utf8, OWN_UNIT, out);
}

/* ---- parts that add up -------------------------------------------------------------------------------------- */

/* Whether the times of columns [first, end) but `total` add up to it in every row; unknown ones are 0. */
static bool add_up(const rs_table *table, const rs_display *displays, size_t total, size_t first, size_t end)
{
    bool some = false;
    for (size_t row = 0; row < rs_table_n_rows(table); row++) {
        if (rs_table_is_null(table, row, total)) continue;
        double whole = raw_value(table, row, total), sum = 0;
        for (size_t c = first; c < end; c++)
            if (c != total && displays[c].time_unit != OWN_UNIT && !rs_table_is_null(table, row, c))
                sum += raw_value(table, row, c);
        if (fabs(sum - whole) > 1e-9 * fabs(whole)) return false;
        some |= whole != 0;
    }
    return some;
}

/* Every run of columns is tried as the parts of every time, which so many columns can afford. */
#define MOST_TIMES 24

void rs_display_plan_table(const rs_table *table, bool utf8, rs_display *out)
{
    size_t n = rs_table_get_spec(table)->n_columns, times = 0;
    for (size_t at = 0; at < n; at++) {
        plan(table, at, utf8, OWN_UNIT, &out[at]);
        times += out[at].time_unit != OWN_UNIT;
    }
    if (times > MOST_TIMES) return;
    for (size_t total = 0; total < n; total++) {
        if (out[total].time_unit == OWN_UNIT) continue;
        for (size_t first = 0; first < n; first++) {
            if (first == total || out[first].time_unit == OWN_UNIT) continue;
            for (size_t end = first + 2; end <= n; end++) {
                if (end - 1 == total || out[end - 1].time_unit == OWN_UNIT ||
                    !add_up(table, out, total, first, end))
                    continue;
                int unit = out[total].time_unit;
                for (size_t c = first; c < end; c++)
                    if (out[c].time_unit > unit) unit = out[c].time_unit;
                if (out[total].time_unit != unit) plan(table, total, utf8, unit, &out[total]);
                for (size_t c = first; c < end; c++)
                    if (out[c].time_unit != OWN_UNIT && out[c].time_unit != unit)
                        plan(table, c, utf8, unit, &out[c]);
            }
        }
    }
}

bool rs_display_suits(const rs_table *table, size_t column, const rs_display *display)
{
    return rs_table_get_spec(table)->columns[column].type == display->type;
}

size_t rs_display_cell(const rs_table *table, size_t row, size_t column, const rs_display *display,
                       char out[RS_CELL_SIZE])
{
    if (rs_table_is_null(table, row, column)) return (size_t)snprintf(out, RS_CELL_SIZE, "-");
    rs_type type = rs_table_get_spec(table)->columns[column].type;
    if (type == RS_INT && display->plain_int) {
        size_t n = rs_format_int(rs_table_int(table, row, column), out);
        out[n] = '\0';
        return n;
    }
    if (type != RS_REAL && display->scale == 1 && display->decimals == 0) {
        rs_human_count(rs_table_int(table, row, column), out); /* exact beyond 2^53 */
        return strlen(out);
    }
    double value = raw_value(table, row, column);
    if (isinf(value)) return (size_t)snprintf(out, RS_CELL_SIZE, value < 0 ? "-inf" : "inf");
    if (display->scientific) return rs_format_exponent(value, 3, out);
    return rs_format_grouped(value / display->scale, display->decimals, out);
}
