#include "compile/compile_log.h"

#include <string.h>

#include "base/ascii.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "format/format.h"
#include "input/json.h"
#include "input/lines.h"

#define MAX_TEXT 300 /* bytes of a name or a reason that are kept */

/* ---- entries ----------------------------------------------------------------------------------------------- */

/* What an entry is, by its member. */
typedef enum kind {
    KIND_OTHER,
    KIND_START,
    KIND_OUTPUT_GRAPH,
    KIND_METRICS,
    KIND_GRAPH,
    KIND_BREAK,
    KIND_RECOMPILE,
    KIND_FAILURE
} kind;

typedef struct entry {
    kind kind;
    rs_compiled_graph graph;
    int64_t rank, frame, compile, attempt, us;
    uint32_t name, failed; /* string ids */
} entry;

typedef struct reading {
    rs_compile_log *log;
    rs_events *events;
    const char *file;
    rs_map64 by_id; /* frame and compile -> compilation */
    entry now;      /* the entry that a payload belongs to */
    uint32_t at;    /* its compilation; UINT32_MAX: none */
    bool wants;     /* the reason of a graph break is on the payload's next line that is not empty */
    size_t n_entries;
    rs_error *err;
} reading;

static uint32_t keep(reading *r, const uint8_t *text, size_t n, bool json)
{
    char room[3 * MAX_TEXT];
    if (n > MAX_TEXT) n = MAX_TEXT;
    n = json ? rs_json_decode(text, n, room, NULL) : rs_utf8_repair(text, n, room);
    return rs_strings_add(&r->log->strings, room, n);
}

/* The next value as a text of the log; false: out of memory. Anything but a text is none. */
static bool take_text(reading *r, rs_json_reader *j, uint32_t *out)
{
    rs_json_token t = rs_json_next(j);
    if (t == RS_JSON_T_OBJECT || t == RS_JSON_T_ARRAY) rs_json_leave(j);
    if (t != RS_JSON_T_STRING || *out != RS_NO_STRING) return true;
    *out = keep(r, j->text.bytes, j->text.length, true);
    return *out != RS_NO_STRING;
}

static void take_number(rs_json_reader *j, int64_t *out)
{
    rs_json_token t = rs_json_next(j);
    if (t == RS_JSON_T_OBJECT || t == RS_JSON_T_ARRAY) rs_json_leave(j);
    if (t != RS_JSON_T_NUMBER || !rs_json_int(j->text.bytes, j->text.length, out) || *out < 0) *out = -1;
}

/* After the key: the members of compilation_metrics that count. Its first failure is the entry's. */
static bool take_metrics(reading *r, rs_json_reader *j, entry *e)
{
    if (rs_json_next(j) != RS_JSON_T_OBJECT) return true;
    bool ok = true;
    while (ok && rs_json_next(j) == RS_JSON_T_KEY) {
        if (rs_json_is(j, "co_name"))
            ok = take_text(r, j, &e->name);
        else if (rs_json_is(j, "fail_type") || rs_json_is(j, "fail_reason"))
            ok = take_text(r, j, &e->failed);
        else if (rs_json_is(j, "duration_us"))
            take_number(j, &e->us);
        else
            rs_json_skip_value(j);
    }
    return ok;
}

static bool take_artifact(reading *r, rs_json_reader *j, entry *e)
{
    if (rs_json_next(j) != RS_JSON_T_OBJECT) return true;
    bool ok = true;
    while (ok && rs_json_next(j) == RS_JSON_T_KEY) {
        if (!rs_json_is(j, "name")) {
            rs_json_skip_value(j);
            continue;
        }
        uint32_t name = RS_NO_STRING;
        ok = take_text(r, j, &name);
        const char *text = name == RS_NO_STRING ? "" : r->log->strings.items[name].text;
        if (strcmp(text, "dynamo_graph_break_reason") == 0) e->kind = KIND_BREAK;
        if (strcmp(text, "recompile_reasons") == 0) e->kind = KIND_RECOMPILE;
        if (strcmp(text, "make_fx_fail_partial") == 0) {
            e->kind = KIND_FAILURE;
            e->failed = name;
        }
    }
    return ok;
}

static bool take_member(reading *r, rs_json_reader *j, entry *e)
{
    static const struct {
        const char *word;
        kind kind;
        rs_compiled_graph graph;
    } kinds[] = {{"dynamo_start", KIND_START, RS_GRAPH_NONE},
                 {"dynamo_output_graph", KIND_OUTPUT_GRAPH, RS_GRAPH_NONE},
                 {"aot_forward_graph", KIND_GRAPH, RS_GRAPH_FORWARD},
                 {"aot_backward_graph", KIND_GRAPH, RS_GRAPH_BACKWARD},
                 {"aot_inference_graph", KIND_GRAPH, RS_GRAPH_INFERENCE}};
    static const struct {
        const char *word;
        size_t offset;
    } numbers[] = {{"rank", offsetof(entry, rank)},
                   {"frame_id", offsetof(entry, frame)},
                   {"frame_compile_id", offsetof(entry, compile)},
                   {"attempt", offsetof(entry, attempt)}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (rs_json_is(j, numbers[i].word)) {
            take_number(j, (int64_t *)((char *)e + numbers[i].offset));
            return true;
        }
    if (rs_json_is(j, "compilation_metrics")) {
        e->kind = KIND_METRICS;
        return take_metrics(r, j, e);
    }
    if (rs_json_is(j, "artifact")) return take_artifact(r, j, e);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (rs_json_is(j, kinds[i].word)) {
            e->kind = kinds[i].kind;
            e->graph = kinds[i].graph;
        }
    rs_json_skip_value(j);
    return true;
}

/* The compilation of an entry, a new one where it is the first. */
static rs_status find_compilation(reading *r, const entry *e)
{
    bool tied = e->frame >= 0 && e->frame < INT32_MAX && e->compile >= 0 && e->compile <= INT32_MAX, is_new;
    uint64_t key = tied ? (uint64_t)e->frame << 32 | (uint64_t)e->compile : UINT64_MAX;
    uint32_t *slot = rs_map64_put(&r->by_id, key, &is_new);
    rs_compile_log *log = r->log;
    if (!slot || (is_new && !RS_GROW_ONE(log->compilations, log->n_compilations, log->compilations_capacity)))
        return rs_fail_nomem(r->err, "compilations");
    if (is_new) {
        *slot = (uint32_t)log->n_compilations;
        log->compilations[log->n_compilations++] = (rs_compilation){.frame = tied ? e->frame : -1,
                                                                    .compile = tied ? e->compile : -1,
                                                                    .attempt = -1,
                                                                    .name = RS_NO_STRING,
                                                                    .reason = RS_NO_STRING,
                                                                    .failed = RS_NO_STRING};
    }
    r->at = *slot;
    return RS_OK;
}

static rs_status add_entry(reading *r, const entry *e)
{
    if (e->rank >= 0 && r->events->info.rank == RS_NO_VALUE) r->events->info.rank = e->rank;
    r->now = *e;
    r->at = UINT32_MAX;
    r->wants = false;
    if (e->kind == KIND_OTHER) return RS_OK;
    RS_TRY(find_compilation(r, e));
    rs_compilation *c = &r->log->compilations[r->at];
    if (e->attempt > c->attempt) c->attempt = e->attempt;
    c->graphs += e->kind == KIND_OUTPUT_GRAPH;
    c->breaks += e->kind == KIND_BREAK;
    if (e->us > 0) c->time = rs_add_sat(c->time, e->us > INT64_MAX / 1000 ? INT64_MAX : e->us * 1000);
    if (c->name == RS_NO_STRING) c->name = e->name;
    if (c->failed == RS_NO_STRING) c->failed = e->failed;
    return RS_OK;
}

/* ---- payloads ---------------------------------------------------------------------------------------------- */

static bool is_name(uint8_t c)
{
    return rs_is_alnum((char)c) || c == '_';
}

/* Calls "torch.ops._c10d_functional.all_reduce.default(" of a line of a graph, up to its comment. What waits for one is none. */
static rs_status take_calls(reading *r, const uint8_t *text, size_t n)
{
    static const char space[] = "c10d_functional", waits[] = "wait_tensor";
    const uint8_t *end = memchr(text, '#', n), *p = text;
    if (!end) end = text + n;
    rs_compile_log *log = r->log;
    for (; end - p > (ptrdiff_t)sizeof space; p++) {
        if (memcmp(p, space, sizeof space - 1) != 0) continue;
        p += sizeof space - 1;
        if ((size_t)(end - p) > 9 && memcmp(p, "_autograd", 9) == 0) p += 9;
        if (p >= end || *p != '.') continue;
        const uint8_t *from = ++p;
        while (p < end && is_name(*p)) p++;
        size_t length = (size_t)(p - from);
        if (!length || (length == sizeof waits - 1 && memcmp(from, waits, length) == 0)) continue;
        uint32_t name = keep(r, from, length, false);
        if (name == RS_NO_STRING ||
            !RS_GROW_ONE(log->collectives, log->n_collectives, log->collectives_capacity))
            return rs_fail_nomem(r->err, "collectives");
        log->collectives[log->n_collectives++] =
            (rs_compiled_collective){.compilation = r->at, .name = name, .graph = (uint8_t)r->now.graph};
        log->compilations[r->at].collectives++;
    }
    return RS_OK;
}

static bool starts(const uint8_t *text, size_t n, const char *word)
{
    return n >= strlen(word) && memcmp(text, word, strlen(word)) == 0;
}

static rs_status set_reason(reading *r, const uint8_t *text, size_t n)
{
    uint32_t *reason = &r->log->compilations[r->at].reason;
    *reason = keep(r, text, n, false);
    return *reason == RS_NO_STRING ? rs_fail_nomem(r->err, "reasons") : RS_OK;
}

/* The first of the guards that failed: a text, or the first of a list of them. */
static rs_status take_guard(reading *r, const uint8_t *text, size_t n)
{
    if (r->log->compilations[r->at].reason != RS_NO_STRING || (n && *text == '[')) return RS_OK;
    if (n && *text == '"') text++, n--;
    if (n && text[n - 1] == ',') n--;
    if (n && text[n - 1] == '"') n--;
    return n ? set_reason(r, text, n) : RS_OK;
}

/* "Graph Break Reason: ", which newer versions explain on the next line. */
static rs_status take_break(reading *r, const uint8_t *text, size_t n)
{
    static const char mark[] = "Graph Break Reason: ";
    if (starts(text, n, mark)) {
        r->wants = true;
        return set_reason(r, text + sizeof mark - 1, n - (sizeof mark - 1));
    }
    if (!r->wants || !n) return RS_OK;
    r->wants = false;
    return *text == ' ' || starts(text, n, "User code") ? RS_OK : set_reason(r, text, n);
}

static rs_status take_payload(reading *r, const uint8_t *text, size_t n)
{
    if (r->at == UINT32_MAX) return RS_OK;
    switch (r->now.kind) {
    case KIND_GRAPH: return take_calls(r, text, n);
    case KIND_RECOMPILE: return take_guard(r, text, n);
    case KIND_BREAK: return take_break(r, text, n);
    default: return RS_OK;
    }
}

/* ---- lines --------------------------------------------------------------------------------------------------- */

/* "V1123 07:53:15.431000 2837 torch/x.py:12] " before the entry. */
static bool has_prefix(const uint8_t *text, size_t n)
{
    if (n < 15 || !memchr("VDIWE", text[0], 5)) return false;
    for (size_t i = 1; i < 5; i++)
        if (!rs_is_digit((char)text[i])) return false;
    return text[5] == ' ' && text[8] == ':' && text[11] == ':';
}

static void lose(reading *r, const rs_line_text *line)
{
    rs_problems_add(&r->events->problems, r->file, -1, RS_LOSS, "bad_line",
                    "a line is no entry of a compile log and was left out", line->offset);
    r->events->n_lost++;
    r->at = UINT32_MAX;
}

static rs_status take_line(reading *r, const rs_line_text *line)
{
    const uint8_t *text = line->text;
    size_t n = line->n;
    if (line->too_long || !text) {
        lose(r, line);
        return RS_OK;
    }
    if (n && *text == '\t') return take_payload(r, text + 1, n - 1);
    if (!n) return RS_OK;
    if (has_prefix(text, n)) {
        const uint8_t *from = memchr(text, '{', n);
        n = from ? n - (size_t)(from - text) : 0;
        text = from;
    }
    rs_json_reader j;
    entry e = {.rank = -1,
               .frame = -1,
               .compile = -1,
               .attempt = -1,
               .us = -1,
               .name = RS_NO_STRING,
               .failed = RS_NO_STRING};
    rs_json_reader_init(&j, text ? text : (const uint8_t *)"", n);
    bool ok = rs_json_next(&j) == RS_JSON_T_OBJECT;
    rs_json_token t = RS_JSON_T_ERROR;
    while (ok && (t = rs_json_next(&j)) == RS_JSON_T_KEY)
        if (!take_member(r, &j, &e)) return rs_fail_nomem(r->err, "names");
    if (t != RS_JSON_T_OBJECT_END) {
        if (!line->whole) r->events->truncated = true;
        lose(r, line);
        return RS_OK;
    }
    r->n_entries++;
    return add_entry(r, &e);
}

static void log_free(void *value)
{
    rs_compile_log *log = value;
    if (!log) return;
    rs_strings_clear(&log->strings);
    rs_free_all(log->compilations, log->collectives, log);
}

static rs_status read_lines(reading *r, rs_source *source, rs_error *err)
{
    rs_lines lines;
    rs_line_text line;
    rs_status status = RS_OK;
    RS_TRY(rs_lines_open(source, &lines, err));
    while (status == RS_OK && rs_lines_next(&lines, &line, &status, err)) status = take_line(r, &line);
    r->events->n_bytes = lines.offset + (lines.end - lines.begin);
    rs_lines_close(&lines);
    if (status != RS_OK) return status;
    rs_source_report_end(source, -1, &r->events->problems);
    if (!r->n_entries)
        return rs_fail_at(err, RS_ERR_FORMAT, r->file, 0,
                          "is no compile log: it has no entry (see TORCH_TRACE)");
    return RS_OK;
}

static rs_status load(rs_source *source, const rs_load_settings *settings, rs_events **out, rs_error *err)
{
    rs_events *events;
    *out = NULL;
    RS_TRY(rs_events_create(settings->columns, settings->max_memory, &events, err));
    reading r = {.log = rs_calloc(1, sizeof *r.log),
                 .events = events,
                 .file = rs_source_name(source),
                 .at = UINT32_MAX,
                 .err = err};
    events->other = (rs_other_recording){r.log, log_free, RS_NO_TIME, RS_NO_TIME};
    events->packing = rs_packing_name(rs_source_packing(source));
    events->form = "lines";
    rs_status status = r.log ? read_lines(&r, source, err) : rs_fail_nomem(err, "compile log");
    rs_map64_clear(&r.by_id);
    if (status == RS_OK)
        *out = events;
    else
        rs_events_free(events);
    return status;
}

/* The log's own lines; or tlparse's, which begin with a table of strings. */
static bool sniff(const uint8_t *text, size_t n)
{
    static const char table[] = "{\"string_table\":", member[] = "\"frame_compile_id\"";
    if (starts(text, n, table)) return true;
    const uint8_t *end = memchr(text, '\n', n);
    size_t line = end ? (size_t)(end - text) : n;
    if (has_prefix(text, n)) {
        const uint8_t *at = memchr(text, ']', line);
        return at && (size_t)(at - text) + 2 < line && at[1] == ' ' && at[2] == '{';
    }
    for (size_t i = 0; *text == '{' && i + sizeof member <= line; i++)
        if (memcmp(text + i, member, sizeof member - 1) == 0) return true;
    return false;
}

static const char *elsewhere(const uint8_t *text, size_t n)
{
    (void)text;
    (void)n;
    return "is a log of torch.compile, no trace: `rankscope compile` reads it";
}

const rs_format rs_format_torch_compile_log = {.name = "torch_compile_log",
                                               .title = "TORCH_TRACE log",
                                               .sniff = sniff,
                                               .load = load,
                                               .records = RS_RECORDS_COMPILATIONS,
                                               .elsewhere = elsewhere};

const rs_compile_log *rs_compile_log_of(const rs_trace *trace)
{
    const rs_events *e = trace->events;
    return e->format == &rs_format_torch_compile_log ? e->other.columns : NULL;
}
