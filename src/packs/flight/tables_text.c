/* Tables as text: columns are the stretches between runs of two and more character columns that are blank in
 * every line. Fields are found by name, unknown ones are skipped. */
#include "flight/periodic.h"
#include "flight/template.h"
#include "flight/words.h"

#include <string.h>

#define MAX_COLUMNS 64
#define MAX_WIDTH ((size_t)1 << 20)

typedef struct column {
    size_t begin, end; /* character columns */
} column;

typedef struct text_table {
    const char *text; /* the lines, header first */
    size_t n;
    column columns[MAX_COLUMNS];
    size_t n_columns;
} text_table;

static rs_fl_span next_line(const char *text, size_t n, size_t *at)
{
    const char *end = *at < n ? memchr(text + *at, '\n', n - *at) : NULL;
    rs_fl_span line = {text + *at, (size_t)((end ? end : text + n) - (text + *at))};
    *at += line.n + 1;
    if (line.n && line.text[line.n - 1] == '\r') line.n--;
    return line;
}

/* The edges of the columns; false when out of memory. */
static bool find_columns(text_table *t)
{
    size_t width = 0, at = 0;
    while (at < t->n) {
        size_t n = next_line(t->text, t->n, &at).n;
        if (n > width) width = n;
    }
    t->n_columns = 0;
    if (width > MAX_WIDTH) return true;
    RS_LOCAL uint8_t *used = rs_calloc(width + 2, 1);
    if (!used) return false;
    for (at = 0; at < t->n;) {
        rs_fl_span line = next_line(t->text, t->n, &at);
        for (size_t i = 0; i < line.n; i++) used[i] |= line.text[i] != ' ';
    }
    for (size_t i = 0; i < width && t->n_columns < MAX_COLUMNS;) {
        while (i < width && !used[i]) i++;
        size_t begin = i;
        while (i < width && (used[i] || (i + 1 < width && used[i + 1]))) i++;
        if (i > begin) t->columns[t->n_columns++] = (column){begin, i};
    }
    return true;
}

static rs_fl_span cell(rs_fl_span line, column c)
{
    size_t begin = c.begin < line.n ? c.begin : line.n, end = c.end < line.n ? c.end : line.n;
    while (begin < end && line.text[begin] == ' ') begin++;
    while (end > begin && line.text[end - 1] == ' ') end--;
    return (rs_fl_span){line.text + begin, end - begin};
}

/* The cells of the named fields of a line, empty where the table has no such field. */
static void cells(const text_table *t, rs_fl_span header, rs_fl_span line, const char *const *names, size_t n,
                  rs_fl_span *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = (rs_fl_span){"", 0};
        for (size_t c = 0; c < t->n_columns; c++)
            if (rs_fl_span_is(cell(header, t->columns[c]), names[i])) out[i] = cell(line, t->columns[c]);
    }
}

static bool intern(rs_flight *flight, rs_fl_span span, uint32_t *id)
{
    *id = rs_strings_add(&flight->texts, span.n ? span.text : "", span.n);
    return *id != RS_NO_STRING;
}

/* "{1, 2}", "{1: ..., 2: ...}": the numbers at the outer level. */
static bool read_set(rs_fl_snapshot *s, rs_fl_span span, rs_fl_rank_set *out)
{
    int depth = 0;
    bool key = true, quoted = false;
    *out = (rs_fl_rank_set){(uint32_t)s->n_members, 0};
    for (size_t i = 0; i < span.n; i++) {
        char c = span.text[i];
        if (c == '\'') quoted = !quoted;
        if (quoted) continue;
        depth += c == '{' || c == '[' || c == '(';
        depth -= c == '}' || c == ']' || c == ')';
        if (depth == 1 && (c == ',' || c == '{')) key = true;
        if (depth != 1 || !key || c < '0' || c > '9') continue;
        size_t stop = i;
        while (stop < span.n && span.text[stop] >= '0' && span.text[stop] <= '9') stop++;
        if (!RS_PUSH(s->members, s->n_members, s->members_capacity,
                     rs_fl_span_int((rs_fl_span){span.text + i, stop - i})))
            return false;
        out->n++;
        key = false;
        i = stop - 1;
    }
    return true;
}

/* "[{'name': 'forward', 'filename': '/app/a.py', 'line': 148}, ...]": the innermost frame of the user's. */
static bool read_where(rs_flight *flight, rs_fl_span span, uint32_t *out)
{
    rs_fl_span f[RS_FL_MAX_FIELDS];
    const char *end = span.text + span.n;
    *out = RS_FL_NONE;
    for (const char *p = span.text; p < end;) {
        if (!rs_fl_template(p, (size_t)(end - p), "'filename': '%q', 'line': %d", f)) return true;
        uint32_t file;
        if (!intern(flight, f[0], &file)) return false;
        p = f[1].text + f[1].n;
        if (rs_fl_is_library(rs_fl_text(flight, file))) continue;
        const char *where =
            rs_fl_print(flight, "%s:%lld", rs_fl_text(flight, file), (long long)rs_fl_span_int(f[1]));
        return where && intern(flight, (rs_fl_span){where, strlen(where)}, out);
    }
    return true;
}

enum {
    C_GROUP,
    C_PASS,
    C_SEQ,
    C_P2P,
    C_RECORD,
    C_DESC,
    C_NAME,
    C_EXPECTED,
    C_STATE,
    C_FRAMES,
    C_MISSING,
    C_DIFFERING,
    C_TYPE,
    C_N
};

static bool add_row(rs_flight *flight, rs_fl_snapshot *s, const rs_fl_span *c)
{
    if (!RS_GROW_ONE(s->rows, s->n_rows, s->rows_capacity)) return false;
    rs_fl_row *row = &s->rows[s->n_rows++];
    const char *colon = memchr(c[C_DESC].text, ':', c[C_DESC].n),
               *op = memchr(c[C_NAME].text, ':', c[C_NAME].n);
    rs_fl_span desc = colon ? (rs_fl_span){colon + 1, c[C_DESC].n - (size_t)(colon + 1 - c[C_DESC].text)}
                            : (rs_fl_span){"", 0};
    rs_fl_span name = op ? (rs_fl_span){op + 1, c[C_NAME].n - (size_t)(op + 1 - c[C_NAME].text)} : c[C_NAME];
    *row = (rs_fl_row){.seq = rs_fl_span_int(c[C_SEQ]),
                       .record = rs_fl_span_int(c[C_RECORD]),
                       .passed = rs_fl_span_is(c[C_PASS], "True"),
                       .completed = rs_fl_span_is(c[C_STATE], "completed"),
                       .gloo = c[C_NAME].n > 5 && memcmp(c[C_NAME].text, "gloo:", 5) == 0,
                       .mismatch = RS_FL_NONE};
    if (c[C_TYPE].n && !intern(flight, c[C_TYPE], &row->mismatch)) return false;
    return intern(flight, c[C_GROUP], &row->group) && intern(flight, desc, &row->desc) &&
           intern(flight, name, &row->op) && read_where(flight, c[C_FRAMES], &row->where) &&
           read_set(s, c[C_EXPECTED], &row->expected) && read_set(s, c[C_MISSING], &row->missing) &&
           read_set(s, c[C_DIFFERING], &row->differing);
}

static bool read_collectives(rs_flight *flight, const text_table *t, rs_fl_snapshot *s)
{
    static const char *const names[C_N] = {
        "group_id",      "pass_check",           "collective_seq_id", "p2p_seq_id",       "record_id",
        "pg_desc",       "collective_name",      "expected_ranks",    "collective_state", "collective_frames",
        "missing_ranks", "mismatch_collectives", "type_of_mismatch"};
    size_t at = 0;
    rs_fl_span header = next_line(t->text, t->n, &at), values[C_N];
    while (at < t->n) {
        rs_fl_span line = next_line(t->text, t->n, &at);
        cells(t, header, line, names, C_N, values);
        if (values[C_GROUP].n && !add_row(flight, s, values)) return false;
    }
    return true;
}

static bool read_calls(rs_flight *flight, const text_table *t, rs_fl_snapshot *s)
{
    static const char *const names[] = {"collective_id", "group_id", "global_rank"};
    size_t at = 0;
    rs_fl_span header = next_line(t->text, t->n, &at), v[3];
    while (at < t->n) {
        rs_fl_span line = next_line(t->text, t->n, &at);
        cells(t, header, line, names, 3, v);
        if (v[0].n || !v[1].n || !v[2].n) continue;
        rs_fl_unmatched u = {.rank = rs_fl_span_int(v[2])};
        if (!intern(flight, v[1], &u.group) ||
            !RS_GROW_ONE(s->unmatched, s->n_unmatched, s->unmatched_capacity))
            return false;
        s->unmatched[s->n_unmatched++] = u;
    }
    return true;
}

rs_status rs_fl_read_tables(rs_flight *flight, const char *text, size_t n, rs_fl_snapshot *out, rs_error *err)
{
    size_t at = 0;
    bool good = true;
    while (good && at < n) {
        rs_fl_span title = next_line(text, n, &at);
        bool collectives = rs_fl_span_is(title, "--- Collectives ---"),
             calls = rs_fl_span_is(title, "--- NCCL Calls ---");
        if (!collectives && !calls) continue;
        size_t begin = at, stop = at;
        while (at < n) {
            size_t line_at = at;
            rs_fl_span line = next_line(text, n, &at);
            if (line.n == 0 ||
                (line.n > 3 && (memcmp(line.text, "---", 3) == 0 || memcmp(line.text, "===", 3) == 0))) {
                at = line_at + (line.n == 0);
                break;
            }
            stop = at < n ? at : n;
        }
        text_table t = {.text = text + begin, .n = stop - begin};
        good = find_columns(&t) &&
               (collectives ? read_collectives(flight, &t, out) : read_calls(flight, &t, out));
    }
    return good ? RS_OK : rs_fail_nomem(err, "the tables");
}
