#include "format/op_table.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/try.h"
#include "input/json.h"
#include "input/lines.h"
#include "text/numbers.h"

#define MAGIC "# rankscope-ops "
#define HEADER "step,dp,stage,rank,op,seq,mb,mc,start,duration"
#define N_FIELDS 10

#define MOST_RANKS (1 << 20)
#define MOST_STAGES (1 << 16)
#define MOST_SECONDS 4e9 /* as nanoseconds they stay whole in a double's reach of a year's steps */

const char *const rs_op_kind_names[RS_N_OP_KINDS] = {[RS_OP_BACKWARD_COMPUTE] = "backward-compute",
                                                     [RS_OP_BACKWARD_RECV] = "backward-recv",
                                                     [RS_OP_BACKWARD_SEND] = "backward-send",
                                                     [RS_OP_EMBEDDING] = "embedding-grads-all-reduce",
                                                     [RS_OP_FORWARD_COMPUTE] = "forward-compute",
                                                     [RS_OP_FORWARD_RECV] = "forward-recv",
                                                     [RS_OP_FORWARD_SEND] = "forward-send",
                                                     [RS_OP_GC] = "gc",
                                                     [RS_OP_SCATTER] = "grads-reduce-scatter",
                                                     [RS_OP_LAYERNORM] = "layernorm-grads-all-reduce",
                                                     [RS_OP_OPTIMIZER] = "optimizer",
                                                     [RS_OP_CLIP] = "optimizer-clip-main-grad",
                                                     [RS_OP_GATHER] = "params-all-gather",
                                                     [RS_OP_SEPARATE] = "separate-grads-all-reduce"};

int rs_op_kind_find(const char *name, size_t n)
{
    for (int k = 0; k < RS_N_OP_KINDS; k++)
        if (strlen(rs_op_kind_names[k]) == n && memcmp(rs_op_kind_names[k], name, n) == 0) return k;
    return -1;
}

void rs_op_table_clear(rs_op_table *table)
{
    rs_free(table->ops);
    *table = (rs_op_table){0};
}

static const char *find_fault(const rs_op_span *op)
{
    if (op->step < 0 || op->step > INT32_MAX) return "the step is no number from 0 to 2147483647";
    if (op->dp < 0 || op->dp >= MOST_RANKS) return "the data rank is no number from 0 to 1048575";
    if (op->stage < 0 || op->stage >= MOST_STAGES) return "the stage is no number from 0 to 65535";
    if (op->rank < 0 || op->rank > INT32_MAX) return "the rank is no number from 0 to 2147483647";
    if (op->seq < 0) return "the seq is no number from 0 on";
    if (op->mb < -1 || op->mc < -1) return "micro batch and chunk are numbers from 0 on, or -1";
    if (op->mc >= MOST_STAGES) return "the model chunk is above 65535";
    if (!(op->start >= -MOST_SECONDS && op->start <= MOST_SECONDS)) return "the start is no time";
    if (!(op->duration >= -MOST_SECONDS && op->duration <= MOST_SECONDS)) return "the duration is no time";
    return NULL;
}

bool rs_op_table_add(rs_op_table *table, const rs_op_span *op, const char **why)
{
    *why = find_fault(op);
    if (*why) return true;
    if (table->n >= UINT32_MAX - 1) {
        *why = "a table holds at most 4294967294 operations";
        return true;
    }
    return RS_PUSH(table->ops, table->n, table->capacity, *op);
}

/* ---- the text table ----------------------------------------------------------------------------------- */

typedef struct field {
    const char *text;
    size_t n;
} field;

typedef struct reader {
    rs_source *source;
    rs_op_table *out;
    rs_problems *problems;
    rs_lines lines;
    rs_line_text line;
} reader;

static bool next_line(reader *r, rs_status *status, rs_error *err)
{
    if (!rs_lines_next(&r->lines, &r->line, status, err)) return false;
    if (!r->line.too_long && r->line.n && r->line.text[r->line.n - 1] == '\r') r->line.n--;
    return true;
}

static rs_status refuse(const reader *r, const char *what, rs_error *err)
{
    return rs_fail_at(err, RS_ERR_FORMAT, rs_source_name(r->source), r->line.offset,
                      "line %llu: %s; expected \"" MAGIC "1 unit=s dsp=1\", then \"" HEADER
                      "\", then one operation a line",
                      (unsigned long long)r->line.number, what);
}

/* "# rankscope-ops 1 unit=s dp=4 dsp=1 ...": of the sizes only dsp matters, the others are counted. */
static rs_status read_magic(reader *r, rs_error *err)
{
    const char *p = (const char *)r->line.text;
    size_t n = r->line.too_long ? 0 : r->line.n, at = strlen(MAGIC);
    bool seconds = false, version = false;
    if (n < at || memcmp(p, MAGIC, at) != 0) return refuse(r, "the first line is not that of a table", err);
    while (at < n) {
        size_t begin = at;
        while (at < n && p[at] != ' ') at++;
        const field f = {p + begin, at - begin};
        if (begin == strlen(MAGIC)) version = f.n == 1 && f.text[0] == '1';
        if (f.n == 6 && memcmp(f.text, "unit=s", 6) == 0) seconds = true;
        if (f.n > 4 && memcmp(f.text, "dsp=", 4) == 0 &&
            (!rs_json_int((const uint8_t *)f.text + 4, f.n - 4, &r->out->dsp) || r->out->dsp < 1 ||
             r->out->dsp > MOST_RANKS))
            return refuse(r, "dsp is no number from 1 on", err);
        while (at < n && p[at] == ' ') at++;
    }
    if (!version) return refuse(r, "this version of the table is not known", err);
    return seconds ? RS_OK : refuse(r, "times must be in seconds (unit=s)", err);
}

static size_t split(const rs_line_text *line, field out[N_FIELDS])
{
    const char *p = (const char *)line->text, *end = p + line->n;
    size_t n = 0;
    while (n < N_FIELDS) {
        const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end;
        out[n++] = (field){p, (size_t)(stop - p)};
        if (!comma) return n;
        p = comma + 1;
    }
    return n + 1; /* too many */
}

static bool whole(field f, int64_t least, int64_t most, int64_t *out)
{
    return rs_json_int((const uint8_t *)f.text, f.n, out) && *out >= least && *out <= most;
}

/* NULL when the line is an operation. */
static const char *parse_line(const rs_line_text *line, rs_op_span *op)
{
    enum { STEP, DP, STAGE, RANK, OP, SEQ, MB, MC, START, DURATION };
    field f[N_FIELDS];
    int64_t dp, stage, seq, mb, mc;
    if (line->too_long || split(line, f) != N_FIELDS) return "the line has not ten fields";
    int kind = rs_op_kind_find(f[OP].text, f[OP].n);
    if (kind < 0) return "the kind of operation is not known";
    if (!whole(f[STEP], INT64_MIN, INT64_MAX, &op->step)) return "the step is no whole number";
    if (!whole(f[DP], INT32_MIN, INT32_MAX, &dp)) return "the data rank is no whole number";
    if (!whole(f[STAGE], INT32_MIN, INT32_MAX, &stage)) return "the stage is no whole number";
    if (!whole(f[RANK], INT64_MIN, INT64_MAX, &op->rank)) return "the rank is no whole number";
    if (!whole(f[SEQ], INT32_MIN, INT32_MAX, &seq)) return "the seq is no whole number";
    if (!whole(f[MB], INT32_MIN, INT32_MAX, &mb)) return "the micro batch is no whole number";
    if (!whole(f[MC], INT32_MIN, INT32_MAX, &mc)) return "the model chunk is no whole number";
    if (!rs_parse_real(f[START].text, f[START].n, &op->start)) return "the start is no number";
    if (!rs_parse_real(f[DURATION].text, f[DURATION].n, &op->duration)) return "the duration is no number";
    op->dp = (int32_t)dp;
    op->stage = (int32_t)stage;
    op->seq = (int32_t)seq;
    op->mb = (int32_t)mb;
    op->mc = (int32_t)mc;
    op->kind = (uint8_t)kind;
    return NULL;
}

static rs_status read_rows(reader *r, rs_error *err)
{
    rs_status status = RS_OK;
    char detail[160];
    while (next_line(r, &status, err)) {
        rs_op_span op = {0};
        if (!r->line.too_long && r->line.n == 0) continue;
        const char *why = parse_line(&r->line, &op);
        if (!why && !rs_op_table_add(r->out, &op, &why)) return rs_fail_nomem(err, "operations");
        if (!why) continue;
        snprintf(detail, sizeof detail, "line %llu: %s", (unsigned long long)r->line.number, why);
        rs_problems_add_many(r->problems, rs_source_name(r->source), -1, RS_LOSS, "bad_operation",
                             "a line is no operation and was left out", r->line.offset, 1, detail);
    }
    return status;
}

static rs_status read_lines(reader *r, rs_error *err)
{
    rs_status status = RS_OK;
    if (!next_line(r, &status, err)) return status == RS_OK ? refuse(r, "the table is empty", err) : status;
    RS_TRY(read_magic(r, err));
    if (!next_line(r, &status, err))
        return status == RS_OK ? refuse(r, "the header is missing", err) : status;
    if (r->line.too_long || r->line.n != strlen(HEADER) || memcmp(r->line.text, HEADER, r->line.n) != 0)
        return refuse(r, "the header is another", err);
    return read_rows(r, err);
}

static rs_status read_table(rs_source *source, rs_op_table *out, rs_problems *problems, rs_error *err)
{
    reader r = {.source = source, .out = out, .problems = problems};
    RS_TRY(rs_lines_open(source, &r.lines, err));
    rs_status status = read_lines(&r, err);
    rs_lines_close(&r.lines);
    return status;
}

/* ---- either form --------------------------------------------------------------------------------------- */

static bool holds(const uint8_t *text, size_t n, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= n; i++)
        if (text[i] == (uint8_t)word[0] && memcmp(text + i, word, length) == 0) return true;
    return false;
}

static bool is_table(const uint8_t *head, size_t n)
{
    return n >= strlen(MAGIC) && memcmp(head, MAGIC, strlen(MAGIC)) == 0;
}

bool rs_op_table_is(const uint8_t *head, size_t n)
{
    if (is_table(head, n)) return true;
    const uint8_t *p = rs_json_space(head, head + n);
    size_t left = n - (size_t)(p - head);
    return left && *p == '[' && holds(p, left, "\"seq_id\"") && holds(p, left, "\"model_chunk\"");
}

rs_status rs_op_table_read(rs_source *source, rs_op_table *out, rs_problems *problems, rs_error *err)
{
    const uint8_t *head;
    size_t n;
    *out = (rs_op_table){.dsp = 1};
    RS_TRY(rs_source_peek(source, RS_SOURCE_PEEK, &head, &n, err));
    rs_status status = !is_table(head, n) && rs_op_table_is(head, n)
                           ? rs_op_timeline_read(source, out, problems, err)
                           : read_table(source, out, problems, err);
    if (status == RS_OK) rs_source_report_end(source, -1, problems);
    return status;
}
