#include "perf/devices.h"

#include <math.h>
#include <string.h>

#include "base/suggest.h"
#include "base/try.h"
#include "input/json.h"
#include "input/source.h"
#include "text/numbers.h"

#define MAX_COLUMNS 32
#define MAX_FILE ((size_t)1 << 20)

extern const unsigned char rs_device_table[]; /* devices.tsv, built in */
extern const size_t rs_device_table_size;

static rs_rates unknown_rates(void)
{
    rs_rates r = {.memory_gb = (double)NAN, .mem_gbps = (double)NAN, .link_gbps = (double)NAN};
    for (unsigned i = 0; i < RS_N_PRECISIONS; i++) r.matrix[i] = r.vector[i] = (double)NAN;
    return r;
}

static bool is_word(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(text, word, n) == 0;
}

/* The rate that a column of the table, or a member of a file, is called: "matrix_bf16". NULL: none. */
static double *rate_called(rs_rates *r, const char *text, size_t n)
{
    double *rates = n > 7 && memcmp(text, "matrix_", 7) == 0   ? r->matrix
                    : n > 7 && memcmp(text, "vector_", 7) == 0 ? r->vector
                                                               : NULL;
    for (unsigned i = 1; rates && i < RS_N_PRECISIONS; i++)
        if (is_word(text + 7, n - 7, rs_precision_name((rs_precision)i))) return &rates[i];
    return NULL;
}

/* ---- the table ----------------------------------------------------------------------------------------- */

typedef struct cell {
    const char *text;
    size_t n;
} cell;

/* The cells of the next line; false at the end. */
static bool next_line(const char **at, const char *end, cell *cells, size_t *n)
{
    if (*at >= end) return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    if (!stop) stop = end;
    *n = 0;
    for (const char *p = *at;; p++) {
        if (p != stop && *p != '\t') continue;
        if (*n < MAX_COLUMNS) cells[(*n)++] = (cell){*at, (size_t)(p - *at)};
        *at = p + 1;
        if (p == stop) return true;
    }
}

static void fill(const cell *head, const cell *cells, size_t n, rs_rates *out)
{
    *out = unknown_rates();
    size_t length = cells[0].n < sizeof out->name - 1 ? cells[0].n : sizeof out->name - 1;
    memcpy(out->name, cells[0].text, length);
    for (size_t i = 1; i < n; i++) {
        double *place = is_word(head[i].text, head[i].n, "memory_gb")  ? &out->memory_gb
                        : is_word(head[i].text, head[i].n, "mem_gbps") ? &out->mem_gbps
                        : is_word(head[i].text, head[i].n, "link_gbps")
                            ? &out->link_gbps
                            : rate_called(out, head[i].text, head[i].n);
        double value;
        if (place && rs_parse_real(cells[i].text, cells[i].n, &value)) *place = value;
    }
}

bool rs_rates_find(const char *name, rs_rates *out)
{
    const char *at = (const char *)rs_device_table, *end = at + rs_device_table_size;
    cell head[MAX_COLUMNS], cells[MAX_COLUMNS];
    size_t n_head = 0, n = 0, length = strlen(name);
    if (!next_line(&at, end, head, &n_head)) return false;
    while (next_line(&at, end, cells, &n)) {
        bool same = n > 0 && cells[0].n == length && length > 0;
        for (size_t i = 0; same && i < length; i++) {
            char a = name[i], b = cells[0].text[i];
            same = a == b || ((a ^ b) == 32 && (a | 32) >= 'a' && (a | 32) <= 'z');
        }
        if (!same) continue;
        fill(head, cells, n < n_head ? n : n_head, out);
        return true;
    }
    return false;
}

/* ---- a user's file ------------------------------------------------------------------------------------- */

static void take_rates(rs_json_reader *r, rs_rates *out)
{
    while (rs_json_next(r) == RS_JSON_T_KEY) {
        double *place = rate_called(out, (const char *)r->text.bytes, r->text.length), value;
        rs_json_token t = rs_json_next(r);
        if (t == RS_JSON_T_ERROR || t == RS_JSON_T_END) return;
        if (t == RS_JSON_T_OBJECT || t == RS_JSON_T_ARRAY) rs_json_leave(r);
        if (t == RS_JSON_T_NUMBER && place && rs_json_real(r->text.bytes, r->text.length, &value) &&
            value > 0)
            *place = value;
    }
}

/* False when the text is no JSON object. */
static bool take_file(const uint8_t *text, size_t n, rs_rates *out)
{
    rs_json_reader r;
    rs_json_reader_init(&r, text, n);
    if (rs_json_next(&r) != RS_JSON_T_OBJECT) return false;
    for (;;) {
        rs_json_token t = rs_json_next(&r);
        if (t != RS_JSON_T_KEY) return t == RS_JSON_T_OBJECT_END;
        bool rates = rs_json_is(&r, "max_achievable_tflops"), name = rs_json_is(&r, "name");
        double *place = rs_json_is(&r, "mem_bw_gbps") ? &out->mem_gbps
                        : rs_json_is(&r, "memory_gb") ? &out->memory_gb
                        : rs_json_is(&r, "link_gbps") ? &out->link_gbps
                                                      : NULL;
        double value;
        t = rs_json_next(&r);
        if (t == RS_JSON_T_ERROR || t == RS_JSON_T_END) return false;
        if (t == RS_JSON_T_OBJECT && rates)
            take_rates(&r, out);
        else if (t == RS_JSON_T_OBJECT || t == RS_JSON_T_ARRAY)
            rs_json_leave(&r);
        if (t == RS_JSON_T_NUMBER && place && rs_json_real(r.text.bytes, r.text.length, &value) && value > 0)
            *place = value;
        if (t == RS_JSON_T_STRING && name && 3 * r.text.length < sizeof out->name)
            out->name[rs_json_decode(r.text.bytes, r.text.length, out->name, NULL)] = '\0';
    }
}

static rs_status read_file(const char *path, rs_rates *out, rs_error *err)
{
    rs_source *source;
    uint8_t *text = NULL;
    size_t n = 0;
    *out = unknown_rates();
    RS_TRY(rs_source_open(path, 0, &source, err));
    rs_status status = rs_source_read_all(source, MAX_FILE, &text, &n, err);
    rs_source_close(source);
    if (status == RS_OK && !take_file(text, n, out))
        status =
            rs_fail(err, RS_ERR_FORMAT,
                    "%s: no description of a device: {\"name\", \"mem_bw_gbps\", \"max_achievable_tflops\": "
                    "{\"matrix_bf16\": ...}}",
                    path);
    rs_free(text);
    return status;
}

bool rs_rates_is_plain_name(const char *word)
{
    return !strchr(word, '/') && !strchr(word, '.');
}

static rs_status no_such_device(const char *word, rs_error *err)
{
    const char *at = (const char *)rs_device_table, *end = at + rs_device_table_size;
    cell cells[MAX_COLUMNS];
    char name[64] = "", nearest[64] = "";
    size_t n;
    unsigned least = 63;
    next_line(&at, end, cells, &n);
    while (next_line(&at, end, cells, &n)) {
        if (cells[0].n == 0 || cells[0].n >= sizeof name) continue;
        memcpy(name, cells[0].text, cells[0].n);
        name[cells[0].n] = '\0';
        unsigned distance = rs_word_distance(word, name, least);
        if (distance >= least) continue;
        least = distance;
        memcpy(nearest, name, sizeof nearest);
    }
    return rs_fail(
        err, RS_ERR_USAGE,
        "--device: \"%.64s\" is no device of the table (the nearest is %s); a file is given with its "
        "ending or folder",
        word, *nearest ? nearest : "not near");
}

rs_status rs_rates_of_option(const char *word, rs_rates *out, rs_error *err)
{
    if (rs_rates_find(word, out)) return RS_OK;
    if (rs_rates_is_plain_name(word)) return no_such_device(word, err);
    return read_file(word, out, err);
}

/* ---- recorded devices ---------------------------------------------------------------------------------- */

#define GIB (INT64_C(1) << 30)

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
}

/* L4 is neither L40S nor GL4. The text is in upper case. */
static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || !is_alnum(at[-1])) && !is_alnum(at[n])) return true;
    return false;
}

const char *rs_device_known_as(const rs_events *e, const rs_device *d)
{
    static const struct {
        const char *word, *name;
    } words[] = {{"GB300", "GB300"},
                 {"GB200", "GB200"},
                 {"GH200", "GH200"},
                 {"B300", "B300"},
                 {"B200", "B200"},
                 {"H200", "H200-SXM"},
                 {"H800", "H800"},
                 {"H20", "H20"},
                 {"L40S", "L40S"},
                 {"L40", "L40"},
                 {"L20", "L20"},
                 {"L4", "L4"},
                 {"A10G", "A10G"},
                 {"A10", "A10"},
                 {"RTX PRO 6000", "RTX-PRO-6000"},
                 {"RTX 4090", "RTX-4090"},
                 {"MI355X", "MI355X"},
                 {"MI350X", "MI350X"},
                 {"MI325X", "MI325X"},
                 {"MI300X", "MI300X"},
                 {"MI250X", "MI250X-GCD"},
                 {"V100", "V100-SXM2"},
                 {"TPU V5E", "TPU-v5e"},
                 {"TPU V5 LITE", "TPU-v5e"},
                 {"TPU V6E", "TPU-v6e"},
                 {"TPU V6 LITE", "TPU-v6e"},
                 {"GAUDI2", "Gaudi2"},
                 {"GAUDI3", "Gaudi3"}};
    char upper[128];
    const char *name = d->name == RS_NO_STRING ? "" : e->strings.items[d->name].text;
    size_t n = 0;
    for (; name[n] && n < sizeof upper - 1; n++) {
        char c = name[n];
        upper[n] = c == '-' ? ' ' : c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
    }
    upper[n] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has_word(upper, words[i].word)) return words[i].name;
    bool pcie = strstr(upper, "PCIE") != NULL;
    if (strstr(upper, "H100"))
        return strstr(upper, "NVL") ? "H100-NVL" : pcie || d->units == 114 ? "H100-PCIe" : "H100-SXM";
    if (has_word(upper, "A800")) return pcie ? "A800-PCIe" : "A800";
    if (strstr(upper, "A100"))
        return d->memory != RS_NO_VALUE && d->memory < 48 * GIB ? "A100-40GB"
               : pcie                                           ? "A100-80GB-PCIe"
                                                                : "A100-80GB-SXM";
    if (n == 0 && d->major == 9 && d->minor == 4 && d->units == 304)
        return d->memory <= 196 * GIB ? "MI300X" : "MI325X";
    return NULL;
}

double rs_rates_matrix(const rs_rates *r, rs_precision precision)
{
    if (precision == RS_FP32 && isnan(r->matrix[RS_FP32])) return r->vector[RS_FP32];
    return r->matrix[precision];
}

double rs_rates_vector(const rs_rates *r, rs_precision precision)
{
    return isnan(r->vector[precision]) ? r->vector[RS_FP32] : r->vector[precision];
}

rs_least_time rs_rates_bound(const rs_rates *rates, rs_precision precision, int64_t matrix, int64_t vector,
                             int64_t bytes)
{
    rs_precision of_vector = precision == RS_TF32 ? RS_FP32 : precision;
    double parts[3] = {
        matrix ? (double)matrix / rs_rates_matrix(rates, precision) / 1e6 : 0,
        vector ? (double)vector / rs_rates_vector(rates, of_vector) / 1e6 : 0,
        bytes ? (double)bytes / rates->mem_gbps / 1e3 : 0,
    };
    static const char *const words[3] = {"matrix", "vector", "memory"};
    rs_least_time b = {(double)NAN, NULL};
    for (unsigned i = 0; i < 3; i++) {
        if (isnan(parts[i])) return (rs_least_time){(double)NAN, NULL};
        if (!b.what || parts[i] > b.us) b = (rs_least_time){parts[i], words[i]};
    }
    return b;
}
