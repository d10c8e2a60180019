/* Reading NCCL RAS: `ncclras -f json` (NCCL 2.28 on) and its text, whose forms are those that NCCL's src/ras/client_support.cc
 * prints. The text lists only ranks that differ from the others. */
#define _GNU_SOURCE
#include <string.h>

#include "flight/ras.h"
#include "flight/template.h"
#include "input/json.h"

#define MAX_RANKS ((size_t)8 << 20) /* of all communicators */

static bool holds(const uint8_t *text, size_t n, const char *wanted)
{
    return memmem(text, n, wanted, strlen(wanted)) != NULL;
}

bool rs_fl_knows_ras(const char *path, const uint8_t *text, size_t n)
{
    (void)path;
    if (n && text[0] == '{') return holds(text, n, "\"communicators\"") && holds(text, n, "nccl_version");
    return holds(text, n, "Job summary") && holds(text, n, "Communicators...");
}

typedef struct reading {
    rs_flight *flight;
    struct rs_fl_ras *ras;
    const uint8_t *text, *at; /* at: up to where lines are counted */
    size_t n;
    int64_t line;
    bool nomem;
} reading;

static uint32_t intern(reading *r, const char *text, size_t n)
{
    uint32_t id = rs_strings_add(&r->flight->texts, text, n > 256 ? 256 : n);
    r->nomem |= id == RS_NO_STRING;
    return id;
}

static rs_fl_ras_comm *add_comm(reading *r, int64_t line)
{
    struct rs_fl_ras *ras = r->ras;
    if (!RS_PUSH(ras->comms, ras->n_comms, ras->comms_capacity,
                 (rs_fl_ras_comm){.hash = 0, .line = line, .first = ras->n_ranks, .op = RS_FL_NONE})) {
        r->nomem = true;
        return NULL;
    }
    ras->reports[ras->n_reports - 1].n++;
    return &ras->comms[ras->n_comms - 1];
}

static bool add_rank(reading *r, rs_fl_ras_comm *comm, const rs_fl_ras_rank *rank)
{
    struct rs_fl_ras *ras = r->ras;
    if (ras->n_ranks >= MAX_RANKS || rank->rank < 0) return true;
    if (!RS_PUSH(ras->ranks, ras->n_ranks, ras->ranks_capacity, *rank)) r->nomem = true;
    comm->n += !r->nomem;
    return !r->nomem;
}

/* The place of an operation's name among those counted; RS_FL_RAS_OPS when there are too many. */
static size_t op_of(reading *r, const char *text, size_t n)
{
    struct rs_fl_ras *ras = r->ras;
    uint32_t name = intern(r, text, n);
    size_t i = 0;
    while (i < ras->n_ops && ras->ops[i] != name) i++;
    if (i == ras->n_ops && i < RS_FL_RAS_OPS) ras->ops[ras->n_ops++] = name;
    return i;
}

static rs_fl_ras_rank no_rank(int64_t line)
{
    return (rs_fl_ras_rank){.rank = -1, .pid = -1, .gpu = -1, .host = RS_FL_NONE, .line = line};
}

/* ---- JSON ------------------------------------------------------------------------------------------------- */

/* The line of a byte. Bytes are asked for in ascending order. */
static int64_t line_of(reading *r, size_t at)
{
    const uint8_t *end = r->text + at;
    while (r->at < end) {
        const uint8_t *newline = memchr(r->at, '\n', (size_t)(end - r->at));
        if (!newline) break;
        r->at = newline + 1;
        r->line++;
    }
    return r->line;
}

/* NCCL 2.28.9 leaves out the comma before some keys: a comma takes the place of white space there. How many there were. */
static size_t fill_commas(uint8_t *text, size_t n)
{
    size_t filled = 0;
    uint8_t before = 0; /* the last byte that is no white space */
    for (size_t i = 0; i < n; i++) {
        if (rs_json_is_space(text[i])) continue;
        bool value = before == '"' || before == 'e' || before == 'l' || before == '}' ||
                     (before >= '0' && before <= '9');
        if (text[i] != '"') {
            before = text[i];
            continue;
        }
        if (value && i && rs_json_is_space(text[i - 1])) {
            size_t at = i - 1;
            if (text[at] == '\n' && at && rs_json_is_space(text[at - 1])) at--; /* lines keep their numbers */
            if (text[at] != '\n') text[at] = ',', filled++;
        }
        while (++i < n && text[i] != '"')
            if (text[i] == '\\') i++;
        before = '"';
    }
    return filled;
}

static int64_t number(rs_json_reader *json)
{
    int64_t value = -1;
    if (rs_json_next(json) != RS_JSON_T_NUMBER || !rs_json_int(json->text.bytes, json->text.length, &value))
        return -1;
    return value;
}

static uint32_t word(reading *r, rs_json_reader *json)
{
    return rs_json_next(json) == RS_JSON_T_STRING
               ? intern(r, (const char *)json->text.bytes, json->text.length)
               : RS_FL_NONE;
}

/* Enters the object or array that comes next; another value is skipped. */
static bool enter(rs_json_reader *json, rs_json_token wanted)
{
    rs_json_token token = rs_json_next(json);
    if (token == wanted) return true;
    if (token == RS_JSON_T_OBJECT || token == RS_JSON_T_ARRAY) rs_json_leave(json);
    return false;
}

static void read_status(rs_json_reader *json, rs_fl_ras_rank *rank)
{
    if (!enter(json, RS_JSON_T_OBJECT)) return;
    while (rs_json_next(json) == RS_JSON_T_KEY) {
        if (rs_json_is(json, "init_state"))
            rank->init_state = number(json);
        else if (rs_json_is(json, "async_error"))
            rank->async_error = number(json);
        else if (rs_json_is(json, "unresponsive"))
            rank->unreachable = rs_json_next(json) == RS_JSON_T_TRUE;
        else if (rs_json_is(json, "considered_dead"))
            rank->dead = rs_json_next(json) == RS_JSON_T_TRUE;
        else
            rs_json_skip_value(json);
    }
}

static void read_counts(reading *r, rs_json_reader *json, rs_fl_ras_rank *rank)
{
    if (!enter(json, RS_JSON_T_OBJECT)) return;
    while (rs_json_next(json) == RS_JSON_T_KEY) {
        size_t op = op_of(r, (const char *)json->text.bytes, json->text.length);
        int64_t count = number(json);
        if (count < 0) continue;
        rank->counted = true;
        rank->launched += (uint64_t)count;
        if (op < RS_FL_RAS_OPS) rank->counts[op] = (uint64_t)count;
    }
}

/* A rank's object, already entered. */
static bool read_rank(reading *r, rs_json_reader *json, rs_fl_ras_comm *comm, bool missing)
{
    rs_fl_ras_rank rank = no_rank(line_of(r, rs_json_at(json)));
    rs_json_token token;
    rank.missing = missing;
    while ((token = rs_json_next(json)) == RS_JSON_T_KEY) {
        if (rs_json_is(json, "rank"))
            rank.rank = number(json);
        else if (rs_json_is(json, "host"))
            rank.host = word(r, json);
        else if (rs_json_is(json, "pid"))
            rank.pid = number(json);
        else if (rs_json_is(json, "nvml_dev"))
            rank.gpu = number(json);
        else if (rs_json_is(json, "status"))
            read_status(json, &rank);
        else if (rs_json_is(json, "collective_counts"))
            read_counts(r, json, &rank);
        else
            rs_json_skip_value(json);
    }
    return token == RS_JSON_T_OBJECT_END && add_rank(r, comm, &rank);
}

static void read_ranks(reading *r, rs_json_reader *json, rs_fl_ras_comm *comm, bool missing)
{
    rs_json_token token;
    if (!enter(json, RS_JSON_T_ARRAY)) return;
    while ((token = rs_json_next(json)) != RS_JSON_T_ARRAY_END && token != RS_JSON_T_ERROR &&
           token != RS_JSON_T_END)
        if (token == RS_JSON_T_OBJECT && !read_rank(r, json, comm, missing)) return;
}

static void read_comm(reading *r, rs_json_reader *json)
{
    rs_fl_ras_comm *comm = add_comm(r, line_of(r, rs_json_at(json)));
    while (comm && !r->nomem && rs_json_next(json) == RS_JSON_T_KEY) {
        if (rs_json_is(json, "hash"))
            comm->hash = word(r, json);
        else if (rs_json_is(json, "size"))
            comm->size = number(json);
        else if (rs_json_is(json, "ranks"))
            read_ranks(r, json, comm, false);
        else if (rs_json_is(json, "missing_ranks"))
            read_ranks(r, json, comm, true);
        else
            rs_json_skip_value(json);
    }
}

static void read_json(reading *r, const char *name)
{
    rs_json_reader json;
    rs_json_reader_init(&json, r->text, r->n);
    if (!enter(&json, RS_JSON_T_OBJECT)) return;
    while (!r->nomem && rs_json_next(&json) == RS_JSON_T_KEY) {
        if (rs_json_is(&json, "timestamp")) {
            rs_fl_ras_report *report = &r->ras->reports[r->ras->n_reports - 1];
            if (rs_json_next(&json) == RS_JSON_T_STRING)
                report->time_ns = rs_fl_time_of((const char *)json.text.bytes, json.text.length);
        } else if (rs_json_is(&json, "communicators")) {
            rs_json_token token;
            if (!enter(&json, RS_JSON_T_ARRAY)) continue;
            while (!r->nomem && (token = rs_json_next(&json)) != RS_JSON_T_ARRAY_END &&
                   token != RS_JSON_T_ERROR && token != RS_JSON_T_END)
                if (token == RS_JSON_T_OBJECT) read_comm(r, &json);
        } else {
            rs_json_skip_value(&json);
        }
    }
    r->ras->reports[r->ras->n_reports - 1].listed = r->ras->reports[r->ras->n_reports - 1].n;
    if (json.status != RS_JSON_OK || json.depth)
        rs_problems_add(&r->flight->problems, name, -1, RS_LOSS, "ras_damaged",
                        "the NCCL RAS report is damaged or cut short: what follows is lost",
                        rs_json_at(&json));
}

/* ---- text ------------------------------------------------------------------------------------------------- */

typedef struct text_state {
    size_t n_comms;     /* of the summary table */
    int64_t sizes[256]; /* of the communicators in each group of the summary table; 0 unknown */
    bool in_table, dead, incomplete;
    rs_fl_ras_comm *comm;
    uint64_t launched; /* of the ranks that are listed next */
    bool has_launched, listed;
} text_state;

/* A row of the summary: group, communicators, nodes, ranks per node ("7-8"), ranks per communicator, ... */
static void read_summary_row(text_state *s, const char *text, size_t n)
{
    int64_t cells[5] = {0};
    size_t at = 0, k = 0;
    for (; k < 5 && at < n; k++) {
        while (at < n && text[at] == ' ') at++;
        size_t begin = at;
        while (at < n && text[at] != ' ') at++;
        cells[k] = rs_fl_span_int((rs_fl_span){text + begin, at - begin});
        if (at == begin || text[begin] < '0' || text[begin] > '9') return;
    }
    if (k < 5 || cells[0] < 0 || cells[0] >= 256 || cells[1] < 0) return;
    s->sizes[cells[0]] = cells[4];
    s->n_comms += (size_t)cells[1];
}

/* The ranks that the last count was about are not listed: they are all that no other line names. */
static void end_count(text_state *s)
{
    if (s->comm && s->has_launched && !s->listed) {
        s->comm->rest = true;
        s->comm->rest_launched = s->launched;
    }
    s->has_launched = s->listed = false;
}

/* "Rank 3 -- GPU 3 managed by process 483076 on node 172.16.64.210", with what the rank did before the dashes. */
static bool read_rank_line(reading *r, text_state *s, const char *text, size_t n, rs_fl_ras_rank *rank)
{
    rs_fl_span f[RS_FL_MAX_FIELDS];
    if (!s->comm || n < 5 || memcmp(text, "Rank ", 5) != 0 || !rs_fl_template(text, n, "Rank %d", f))
        return true;
    rank->rank = rs_fl_span_int(f[0]);
    if (rs_fl_template(text, n, "-- GPU %d%*managed by process %d on node %s", f)) {
        rank->gpu = rs_fl_span_int(f[0]);
        rank->pid = rs_fl_span_int(f[1]);
        rank->host = intern(r, f[2].text, f[2].n);
    }
    if (rs_fl_template(text, n, "has launched up to operation %d", f)) {
        rank->counted = true;
        rank->launched = (uint64_t)rs_fl_span_int(f[0]);
    } else if (rs_fl_find(text, n, "has not launched any operations")) {
        rank->counted = true;
    } else if (s->has_launched) {
        rank->counted = s->listed = true;
        rank->launched = s->launched;
    } else if (s->incomplete) {
        rank->missing = rank->unreachable = true;
    } else {
        return true;
    }
    return add_rank(r, s->comm, rank);
}

/* "#0-0 (27a079b828ff1a75) MISMATCH" */
static bool read_comm_line(reading *r, text_state *s, const char *text, size_t n, int64_t line)
{
    rs_fl_span f[RS_FL_MAX_FIELDS];
    if (!rs_fl_template(text, n, "#%d-%d (%x) %w", f)) return false;
    int64_t group = rs_fl_span_int(f[0]);
    s->comm = add_comm(r, line);
    s->incomplete = rs_fl_span_is(f[3], "INCOMPLETE");
    s->dead = false;
    if (!s->comm) return true;
    s->comm->hash = intern(r, f[2].text, f[2].n);
    s->comm->size = group >= 0 && group < 256 ? s->sizes[group] : 0;
    return true;
}

static void read_text_line(reading *r, text_state *s, const char *text, size_t n, int64_t line)
{
    rs_fl_span f[RS_FL_MAX_FIELDS];
    while (n && *text == ' ') text++, n--;
    while (n && text[n - 1] == '\r') n--;
    if (n == 0 || rs_fl_find(text, n, "ranks have launched up to operation") ||
        rs_fl_find(text, n, "ranks have not launched any") || text[0] == '#')
        end_count(s);
    if (rs_fl_find(text, n, "Ranks     Ranks     Ranks")) s->in_table = true;
    if (s->in_table) read_summary_row(s, text, n);
    if (n == 4 && memcmp(text, "DEAD", 4) == 0) s->dead = true, s->comm = NULL;
    if (n == 6 && memcmp(text, "Errors", 6) == 0) s->in_table = false;
    if (n == 8 && memcmp(text, "Warnings", 8) == 0)
        r->ras->reports[r->ras->n_reports - 1].listed = s->n_comms;
    if (read_comm_line(r, s, text, n, line)) return;
    rs_fl_ras_rank rank = no_rank(line);
    if (s->comm && rs_fl_template(text, n, "ranks have different %w operation", f)) {
        s->comm->op = intern(r, f[0].text, f[0].n);
    } else if (s->comm && rs_fl_template(text, n, "ranks have launched up to operation %d", f)) {
        s->launched = (uint64_t)rs_fl_span_int(f[0]);
        s->has_launched = true;
    } else if (s->comm && rs_fl_find(text, n, "ranks have not launched any operations")) {
        s->launched = 0;
        s->has_launched = true;
    } else if (s->comm && s->incomplete && rs_fl_template(text, n, "The missing rank%?: %d", f)) {
        rank.rank = rs_fl_span_int(f[0]); /* NCCL 2.24 and 2.25 */
        rank.missing = rank.unreachable = true;
        add_rank(r, s->comm, &rank);
    } else if (s->dead && rs_fl_template(text, n, "Process %d on node %s managing", f)) {
        /* The communicators below list its rank without its fate: kept in a communicator of one that has no size. */
        rs_fl_ras_comm *alone = add_comm(r, line);
        rank.rank = 0;
        rank.pid = rs_fl_span_int(f[0]);
        rank.host = intern(r, f[1].text, f[1].n);
        if (rs_fl_template(text, n, "managing GPU %d", f) || rs_fl_template(text, n, "managing GPUs %d", f))
            rank.gpu = rs_fl_span_int(f[0]);
        rank.missing = rank.unreachable = rank.dead = true;
        if (alone) add_rank(r, alone, &rank);
    } else {
        read_rank_line(r, s, text, n, &rank);
    }
}

static void read_text(reading *r)
{
    text_state s = {.in_table = false};
    int64_t line = 0;
    for (size_t at = 0; at < r->n && !r->nomem;) {
        const char *begin = (const char *)r->text + at, *end = memchr(begin, '\n', r->n - at);
        if (!end) break; /* a line that was cut may name another rank */
        size_t n = (size_t)(end - begin);
        read_text_line(r, &s, begin, n > 4096 ? 4096 : n, ++line);
        at += n + 1;
    }
    end_count(&s);
}

rs_status rs_fl_read_ras(rs_flight *flight, uint8_t *text, size_t n, const char *name, rs_error *err)
{
    if (!flight->ras && !(flight->ras = rs_calloc(1, sizeof *flight->ras))) return rs_fail_nomem(err, name);
    struct rs_fl_ras *ras = flight->ras;
    reading r = {.flight = flight, .ras = ras, .text = text, .at = text, .n = n, .line = 1};
    rs_fl_ras_report report = {.file = intern(&r, name, strlen(name)), .first = ras->n_comms};
    if (r.nomem || !RS_PUSH(ras->reports, ras->n_reports, ras->reports_capacity, report))
        return rs_fail_nomem(err, name);
    const uint8_t *first = rs_json_space(text, text + n);
    if (first < text + n && *first == '{') {
        if (fill_commas(text, n))
            rs_problems_add(&flight->problems, name, -1, RS_NOTE, "ras_comma",
                            "commas that NCCL 2.28.9 leaves out were added", RS_NO_OFFSET);
        read_json(&r, name);
    } else {
        read_text(&r);
    }
    return r.nomem ? rs_fail_nomem(err, name) : RS_OK;
}
