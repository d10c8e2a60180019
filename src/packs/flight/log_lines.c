/* Reading a log: what is in front of a line, whose it is and when; tracebacks over several lines. */
#define _DEFAULT_SOURCE
#include "flight/log.h"
#include "base/ascii.h"
#include "base/calendar.h"
#include "base/text.h"
#include "flight/serving.h"
#include "flight/sources.h"
#include "flight/template.h"
#include "flight/words.h"
#include "input/lines.h"

#include <string.h>

#define MAX_LINE ((size_t)64 << 10)
#define MAX_SOURCES 65536
#define MAX_STACKS ((size_t)1 << 20)
#define MAX_SEATS ((size_t)1 << 20) /* lines that say where a rank of some communicator sits */

/* A traceback that is being read from one source. */
typedef enum traceback { TB_NONE, TB_INSIDE, TB_ENDED } traceback;
typedef struct source {
    uint64_t key;
    traceback state;
    bool chained;             /* what follows explains how the first was handled */
    uint32_t file, user_file; /* texts: of the innermost frame, and of the innermost in the user's code */
    int64_t line, user_line;
    size_t event; /* of the first exception of a chain, + 1 */
} source;

typedef struct reading {
    rs_flight *flight;
    rs_fl_log *log;
    source *sources;
    size_t n_sources, sources_capacity;
    rs_map64 by_key;
    uint32_t file;
    char *clean; /* a line without colour codes */
    int64_t last_time;
    bool last_yearless;
    int64_t table_rank; /* of torchrun's table of failures */
    uint32_t table_host;
    rs_text stacks; /* of a process, as SGLang's watchdog logs them */
    int64_t stacks_line;
    uint64_t n_failures; /* of torchrun's agents so far: what a rank wrote before one is of other processes */
} reading;

/* ---- in front of a line -------------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t digits_at(const rs_fl_line *l, size_t at)
{
    size_t n = 0;
    while (at + n < l->n && rs_is_digit(l->text[at + n])) n++;
    return n;
}

static int64_t number_at(const rs_fl_line *l, size_t at, size_t n)
{
    return rs_fl_span_int((rs_fl_span){l->text + at, n});
}

static void drop(rs_fl_line *l, size_t n)
{
    l->text += n;
    l->n -= n;
}

/* "  12: " of srun -l. */
static bool peel_task(rs_fl_line *l)
{
    size_t at = 0;
    while (at < l->n && l->text[at] == ' ') at++;
    size_t n = digits_at(l, at);
    if (!n || n > 7 || at > 7 || at + n + 1 >= l->n || l->text[at + n] != ':' || l->text[at + n + 1] != ' ')
        return false;
    l->who.task = number_at(l, at, n);
    drop(l, at + n + 2);
    return true;
}

/* "[rank3]: " of torch's hooks, "[default3]:" of torchrun. */
static bool peel_bracket(rs_fl_line *l)
{
    if (l->n < 5 || l->text[0] != '[') return false;
    size_t at = 1;
    while (at < l->n && at < 40 && is_letter(l->text[at])) at++;
    size_t n = digits_at(l, at);
    if (at == 1 || !n || at + n + 1 >= l->n || l->text[at + n] != ']' || l->text[at + n + 1] != ':')
        return false;
    if (at == 5 && memcmp(l->text + 1, "rank", 4) == 0) {
        l->who.rank = number_at(l, at, n);
        l->hook = true;
    } else {
        l->who.local = number_at(l, at, n);
    }
    drop(l, at + n + 2);
    if (l->n && l->text[0] == ' ') drop(l, 1); /* the blank is the prefix's, what follows it is indent */
    return true;
}

/* Where only tensor parallelism splits a model, a worker's place is its rank. */
static void note_worker(rs_fl_line *l, const rs_fl_worker *w)
{
    if (!w->has_dp && !w->pp) l->who.rank = w->tp;
}

/* "(Worker pid=71, ip=10.0.0.3) " of Ray, with [rank=N] now and then; "(Worker_TP1 pid=71) " of vLLM. */
static bool peel_ray(reading *r, rs_fl_line *l, bool *nomem)
{
    if (l->n < 10 || l->text[0] != '(') return false;
    const char *close = memchr(l->text, ')', l->n < 120 ? l->n : 120),
               *pid = rs_fl_find(l->text, l->n, " pid=");
    if (!close || !pid || pid > close) return false;
    size_t at = (size_t)(pid - l->text) + 5, n = digits_at(l, at);
    if (!n) return false;
    l->who.pid = number_at(l, at, n);
    rs_fl_worker worker;
    if (rs_fl_process_of(l->text + 1, (size_t)(pid - l->text) - 1, &worker) == RS_FL_PROCESS_WORKER &&
        memchr(l->text, '_', (size_t)(pid - l->text)))
        note_worker(l, &worker);
    const char *rank = rs_fl_find(l->text, (size_t)(close - l->text), "[rank="),
               *ip = rs_fl_find(l->text, (size_t)(close - l->text), "ip=");
    if (rank) {
        size_t from = (size_t)(rank - l->text) + 6;
        l->who.rank = number_at(l, from, digits_at(l, from));
    }
    if (ip) {
        l->who.host = rs_strings_add(&r->flight->texts, ip + 3, (size_t)(close - ip - 3));
        *nomem = l->who.host == RS_NO_STRING;
    }
    drop(l, (size_t)(close - l->text) + 1);
    if (l->n && l->text[0] == ' ') drop(l, 1);
    return true;
}

/* "job-worker-3 | " of a cluster's log collector. */
static bool peel_pod(reading *r, rs_fl_line *l, bool *nomem)
{
    static const char *const roles[] = {"-worker-", "-master-", "-launcher-"};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        const char *found = rs_fl_find(l->text, l->n < 100 ? l->n : 100, roles[i]);
        if (!found) continue;
        size_t at = (size_t)(found - l->text) + strlen(roles[i]), n = digits_at(l, at), stop = at + n;
        for (const char *p = l->text; p < found; p++)
            if (!is_letter(*p) && !rs_is_digit(*p) && *p != '-' && *p != '.') n = 0;
        if (!n) continue;
        while (stop < l->n && l->text[stop] == ' ') stop++;
        if (stop >= l->n || (l->text[stop] != '|' && l->text[stop] != ':')) continue;
        l->who.host = rs_strings_add(&r->flight->texts, l->text, at + n);
        *nomem = l->who.host == RS_NO_STRING;
        drop(l, stop + 1);
        while (l->n && l->text[0] == ' ') drop(l, 1);
        return true;
    }
    return false;
}

/* "02:11:08.071" at a place; the characters read, 0 when there is none. */
static size_t clock_at(const rs_fl_line *l, size_t at, int64_t *ns)
{
    if (at + 8 > l->n || l->text[at + 2] != ':' || l->text[at + 5] != ':') return 0;
    for (int i = 0; i < 8; i++)
        if (i % 3 != 2 && !rs_is_digit(l->text[at + (size_t)i])) return 0;
    int64_t s = number_at(l, at, 2) * 3600 + number_at(l, at + 3, 2) * 60 + number_at(l, at + 6, 2), part = 0,
            unit = 100000000;
    size_t stop = at + 8;
    if (stop + 1 < l->n && (l->text[stop] == '.' || l->text[stop] == ',') && rs_is_digit(l->text[stop + 1])) {
        stop++;
        for (; stop < l->n && rs_is_digit(l->text[stop]); stop++, unit /= 10)
            part += (l->text[stop] - '0') * unit;
    }
    *ns = s * 1000000000 + part;
    return stop - at;
}

/* "2026-03-14T02:11:08.5Z" or with a blank. */
static bool peel_time(rs_fl_line *l)
{
    int64_t clock;
    if (l->n < 19 || digits_at(l, 0) != 4 || l->text[4] != '-' || l->text[7] != '-' ||
        (l->text[10] != 'T' && l->text[10] != ' '))
        return false;
    size_t n = clock_at(l, 11, &clock);
    int64_t month = number_at(l, 5, digits_at(l, 5)), day = number_at(l, 8, digits_at(l, 8));
    int64_t year = number_at(l, 0, 4);
    if (!n || year < 1970 || year > 2250 || month < 1 || month > 12 || day < 1 || day > 31) return false;
    l->time_ns = rs_days_of_date(year, month, day) * INT64_C(86400000000000) + clock;
    l->stamped = true;
    n += 11;
    if (n < l->n && l->text[n] == 'Z')
        n++;
    else if (n + 5 < l->n && (l->text[n] == '+' || l->text[n] == '-') && digits_at(l, n + 1) >= 2) {
        int64_t sign = l->text[n] == '-' ? 1 : -1, hours = number_at(l, n + 1, 2);
        size_t minutes = n + 3 + (l->text[n + 3] == ':');
        l->time_ns += sign * (hours * 3600 + number_at(l, minutes, 2) * 60) * 1000000000;
        n = minutes + 2 < l->n ? minutes + 2 : l->n;
    }
    if (n < l->n && l->text[n] == ' ') n++;
    drop(l, n);
    return true;
}

/* "[2025-08-02 19:24:30 TP3] " of SGLang. */
static bool peel_sglang(rs_fl_line *l)
{
    const char *close = l->n > 21 && l->text[0] == '[' ? memchr(l->text, ']', l->n < 80 ? l->n : 80) : NULL;
    rs_fl_worker worker;
    if (!close) return false;
    rs_fl_line inside = *l;
    drop(&inside, 1);
    inside.n = (size_t)(close - inside.text);
    if (!peel_time(&inside)) return false;
    if (inside.n && !rs_fl_worker_parts(inside.text, inside.n, &worker)) return false;
    if (inside.n) note_worker(l, &worker);
    l->time_ns = inside.time_ns;
    l->stamped = true;
    drop(l, (size_t)(close - l->text) + 1);
    if (l->n && l->text[0] == ' ') drop(l, 1);
    return true;
}

int64_t rs_fl_time_of(const char *text, size_t n)
{
    rs_fl_line line = {.text = text, .n = n};
    return peel_time(&line) ? line.time_ns : 0;
}

static void yearless_time(rs_fl_line *l, int64_t month, int64_t day, int64_t clock)
{
    if (month < 1 || month > 12 || day < 1 || day > 31) return;
    l->time_ns = rs_days_of_date(1972, month, day) * INT64_C(86400000000000) + clock;
    l->stamped = l->yearless = true;
}

/* "ERROR 10-27 13:45:16 [core.py:710] " of vLLM. What follows is a line of its own, as of a traceback. */
static bool peel_vllm(rs_fl_line *l)
{
    static const char *const levels[] = {"DEBUG ", "INFO ", "WARNING ", "ERROR ", "CRITICAL "};
    int64_t clock;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        size_t at = strlen(levels[i]), stop;
        if (l->n < at + 16 || memcmp(l->text, levels[i], at) != 0) continue;
        if (digits_at(l, at) != 2 || l->text[at + 2] != '-' || digits_at(l, at + 3) != 2 ||
            l->text[at + 5] != ' ' || !(stop = clock_at(l, at + 6, &clock)))
            return false;
        const char *close = memchr(l->text + at, ']', l->n - at);
        yearless_time(l, number_at(l, at, 2), number_at(l, at + 3, 2), clock);
        drop(l, close ? (size_t)(close - l->text) + 1 : at + 6 + stop);
        if (l->n && l->text[0] == ' ') drop(l, 1);
        return true;
    }
    return false;
}

/* "[E314 02:21:07.071 ProcessGroupNCCL.cpp:685]" of c10 and torch.distributed. */
static void read_glog_stamp(rs_fl_line *l)
{
    size_t at = l->n && l->text[0] == '[' ? 1 : 0;
    int64_t clock;
    if (at >= l->n || !strchr("IWEF", l->text[at])) return;
    size_t n = digits_at(l, at + 1);
    if (n < 3 || n > 4 || at + n + 2 >= l->n || l->text[at + n + 1] != ' ' ||
        !clock_at(l, at + n + 2, &clock))
        return;
    yearless_time(l, number_at(l, at + 1, n - 2), number_at(l, at + n - 1, 2), clock);
}

/* "Mar 14 02:11:08 node01 kernel: " */
static bool read_kernel_stamp(reading *r, rs_fl_line *l)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t clock;
    if (l->n < 18 || l->text[3] != ' ') return true;
    const char *found = NULL;
    for (int m = 0; m < 12 && !found; m++)
        if (memcmp(months + 3 * m, l->text, 3) == 0) found = months + 3 * m;
    size_t at = 4;
    while (at < l->n && l->text[at] == ' ') at++;
    size_t n = digits_at(l, at);
    if (!found || !n || at + n + 1 >= l->n || !clock_at(l, at + n + 1, &clock)) return true;
    rs_fl_line rest = *l;
    drop(&rest, at + n + 1 + 8);
    while (rest.n && rest.text[0] == ' ') drop(&rest, 1);
    size_t length = 0;
    while (length < rest.n && rest.text[length] != ' ') length++;
    if (length + 8 >= rest.n || memcmp(rest.text + length, " kernel:", 8) != 0) return true;
    yearless_time(l, (found - months) / 3 + 1, number_at(l, at, n), clock);
    l->who.host = rs_strings_add(&r->flight->texts, rest.text, length);
    return l->who.host != RS_NO_STRING;
}

/* Whether "node01:4205:4205 [1]" is around that colon; a clock looks like it but for the device. */
static bool is_place(const rs_fl_line *l, const char *colon)
{
    size_t at = (size_t)(colon - l->text) + 1, pid = digits_at(l, at), thread;
    if (at == 1 || colon[-1] == ' ' || !pid || at + pid >= l->n || l->text[at + pid] != ':') return false;
    at += pid + 1;
    thread = digits_at(l, at);
    return thread && at + thread + 2 < l->n && memcmp(l->text + at + thread, " [", 2) == 0 &&
           digits_at(l, at + thread + 2);
}

/* "node01:4205:4205 [1] NCCL": whose line it is. The rest is the seat of a rank, where the line tells one. */
static bool read_nccl(reading *r, rs_fl_line *l)
{
    const char *nccl = rs_fl_find(l->text, l->n < 300 ? l->n : 300, " NCCL ");
    const char *colon = nccl ? memchr(l->text, ':', (size_t)(nccl - l->text)) : NULL;
    while (colon && !is_place(l, colon)) colon = memchr(colon + 1, ':', (size_t)(nccl - colon - 1));
    if (!colon) return true;
    const char *begin = colon;
    while (begin > l->text && begin[-1] != ' ') begin--;
    size_t at = (size_t)(colon - l->text) + 1, n = digits_at(l, at);
    l->who.host = rs_strings_add(&r->flight->texts, begin, (size_t)(colon - begin));
    l->who.pid = number_at(l, at, n);
    if (l->who.host == RS_NO_STRING) return false;
    rs_fl_span f[RS_FL_MAX_FIELDS], bus[RS_FL_MAX_FIELDS];
    if (!rs_fl_template(nccl, (size_t)(l->text + l->n - nccl), "rank %d nranks %d", f)) return true;
    int64_t rank = rs_fl_span_int(f[0]), n_ranks = rs_fl_span_int(f[1]);
    if (rank < 0 || rank >= n_ranks || r->log->n_seats >= MAX_SEATS) return true;
    if (!RS_GROW_ONE(r->log->seats, r->log->n_seats, r->log->seats_capacity)) return false;
    rs_fl_seat *seat = &r->log->seats[r->log->n_seats++];
    *seat = (rs_fl_seat){.host = l->who.host,
                         .pid = l->who.pid,
                         .rank = rank,
                         .n_ranks = n_ranks,
                         .file = r->log->n_files - 1};
    if (seat->n_ranks > r->log->world) r->log->world = seat->n_ranks;
    if (rs_fl_template(nccl, (size_t)(l->text + l->n - nccl), "busId %x", bus))
        for (size_t i = 0; i < bus[0].n && i < 12; i++) {
            int digit = rs_hex_digit(bus[0].text[i]);
            if (digit >= 0) seat->bus = seat->bus << 4 | (uint64_t)digit;
        }
    return true;
}

/* "PG GUID 8(TENSOR_MODEL_PARALLEL_GROUP) Rank 0]", "[Rank 4] Watchdog": the rank inside its group. */
static bool read_group_rank(reading *r, rs_fl_line *l)
{
    const char *guid = rs_fl_find(l->text, l->n, "PG GUID "),
               *rank = rs_fl_find(l->text, l->n, guid ? " Rank " : "[Rank ");
    if (rank) {
        size_t at = (size_t)(rank - l->text) + 6, n = digits_at(l, at);
        if (n && at + n < l->n && l->text[at + n] == ']') l->who.group_rank = number_at(l, at, n);
    }
    if (!guid) return true;
    size_t at = (size_t)(guid - l->text) + 8, stop = at;
    while (stop < l->n && l->text[stop] != '(' && l->text[stop] != ' ') stop++;
    l->who.guid = rs_strings_add(&r->flight->texts, l->text + at, stop - at);
    return l->who.guid != RS_NO_STRING;
}

static bool read_dump_path(reading *r, const rs_fl_line *l)
{
    static const char *const marks[] = {"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
                                        "riting Flight Recorder debug info to "};
    for (size_t i = 0; i < 3; i++) {
        const char *found = rs_fl_find(l->text, l->n, marks[i]);
        if (!found) continue;
        size_t at = (size_t)(found - l->text) + strlen(marks[i]);
        if (i < 2) {
            if (at >= l->n || (l->text[at] != '=' && l->text[at] != ':')) continue;
            for (at++; at < l->n && (l->text[at] == ' ' || l->text[at] == '\'' || l->text[at] == '"');) at++;
        }
        size_t stop = at;
        while (stop < l->n && !strchr(" \t'\",;\r", l->text[stop]) && l->text[stop]) stop++;
        if (i == 2)
            while (stop > at && rs_is_digit(l->text[stop - 1])) stop--;
        if (stop == at) continue;
        uint32_t path = rs_strings_add(&r->flight->texts, l->text + at, stop - at);
        if (path == RS_NO_STRING ||
            !RS_GROW_ONE(r->log->dump_paths, r->log->n_dump_paths, r->log->dump_paths_capacity))
            return false;
        for (size_t k = 0; k < r->log->n_dump_paths; k++)
            if (r->log->dump_paths[k] == path) return true;
        r->log->dump_paths[r->log->n_dump_paths++] = path;
    }
    return true;
}

/* ---- tracebacks ---------------------------------------------------------------------------------------- */

static source *source_of(reading *r, uint64_t key, bool *nomem)
{
    bool is_new;
    if (r->n_sources >= MAX_SOURCES) key = 0;
    uint32_t *known = rs_map64_put(&r->by_key, key, &is_new);
    *nomem = !known || (is_new && !RS_GROW_ONE(r->sources, r->n_sources, r->sources_capacity));
    if (*nomem) return NULL;
    if (is_new) {
        *known = (uint32_t)r->n_sources;
        r->sources[r->n_sources++] = (source){.key = key};
    }
    return &r->sources[*known];
}

static bool starts(const rs_fl_line *l, const char *text)
{
    size_t n = strlen(text);
    return l->n >= n && memcmp(l->text, text, n) == 0;
}

/* '  File "F", line N, in FN' */
static bool read_frame(reading *r, source *s, const rs_fl_line *l)
{
    rs_fl_span f[RS_FL_MAX_FIELDS];
    if (!rs_fl_template(l->text, l->n, "\", line %d", f)) return true;
    const char *open = memchr(l->text, '"', l->n), *close = rs_fl_find(l->text, l->n, "\", line ");
    if (!open || close <= open) return true;
    uint32_t file = rs_strings_add(&r->flight->texts, open + 1, (size_t)(close - open - 1));
    if (file == RS_NO_STRING) return false;
    s->file = file;
    s->line = rs_fl_span_int(f[0]);
    if (!rs_fl_is_library(rs_fl_text(r->flight, file))) {
        s->user_file = s->file;
        s->user_line = s->line;
    }
    return true;
}

/* "Type: text": an exception's name begins with a capital in its last part, and is alone or before a
 * colon. */
static size_t exception_length(const rs_fl_line *l)
{
    size_t n = 0, last = 0;
    while (n < l->n && (is_letter(l->text[n]) || rs_is_digit(l->text[n]) || l->text[n] == '.'))
        if (l->text[n++] == '.') last = n;
    bool capital = last < n && l->text[last] >= 'A' && l->text[last] <= 'Z';
    return capital && (n == l->n || l->text[n] == ':') ? n : 0;
}

static bool end_traceback(reading *r, source *s, const rs_fl_line *l)
{
    bool chained = s->chained && s->event;
    s->state = TB_ENDED;
    s->chained = false;
    if (chained) return true; /* the first of a chain is the cause */
    size_t n = exception_length(l);
    rs_fl_event_kind kind = RS_FL_EV_EXCEPTION;
    bool other = rs_fl_exception_kind(l->text, l->n, &kind);
    if (other &&
        (kind == RS_FL_EV_ABORTED || kind == RS_FL_EV_STORE || rs_fl_event_role(kind) == RS_FL_CONSEQUENCE)) {
        s->event = 0;
        return rs_fl_add_event(r->log, l, kind) != NULL;
    }
    if (other && rs_fl_read_event(r->flight, r->log, l) == RS_FL_LINE_NOMEM) return false;
    rs_fl_event *e = other && r->log->n ? &r->log->events[r->log->n - 1] : rs_fl_add_event(r->log, l, kind);
    if (!e) return false;
    if (n) {
        size_t text = n + (n < l->n);
        while (text < l->n && l->text[text] == ' ') text++;
        e->exception = rs_strings_add(&r->flight->texts, l->text, n);
        if (e->exception == RS_NO_STRING) return false;
        /* An event of another kind has its text from its form, or none. */
        if (!other) {
            size_t rest = l->n - text > 400 ? 400 : l->n - text;
            if ((e->text = rs_strings_add(&r->flight->texts, l->text + text, rest)) == RS_NO_STRING)
                return false;
        }
    }
    uint32_t file = s->user_file ? s->user_file : s->file;
    if (file) {
        const char *where = rs_fl_print(r->flight, "%s:%lld", rs_fl_text(r->flight, file),
                                        (long long)(s->user_file ? s->user_line : s->line));
        if (!where || (e->where = rs_strings_add(&r->flight->texts, where, strlen(where))) == RS_NO_STRING)
            return false;
    }
    s->event = r->log->n;
    return true;
}

/* True when the line is part of a traceback; *good false when out of memory. */
static bool in_traceback(reading *r, source *s, const rs_fl_line *l, bool *good)
{
    *good = true;
    if (starts(l, "Traceback (most recent call last):")) {
        s->state = TB_INSIDE;
        if (!s->chained) s->event = 0;
        s->file = s->user_file = 0;
        return true;
    }
    bool joins = starts(l, "During handling of the above exception") ||
                 starts(l, "The above exception was the direct cause");
    if (s->state == TB_ENDED) {
        if (joins) s->chained = true;
        if (joins || l->n == 0) return true;
        s->state = TB_NONE;
        return false;
    }
    if (s->state != TB_INSIDE) return false;
    if (starts(l, "  File \"")) {
        *good = read_frame(r, s, l);
        return true;
    }
    if (l->n == 0 || starts(l, "    ") || starts(l, "  +") || starts(l, "  |") ||
        starts(l, "  [Previous line repeated"))
        return true;
    *good = end_traceback(r, s, l);
    return true;
}

/* ---- lines --------------------------------------------------------------------------------------------- */

/* Without "ESC [ ... m"; the text itself when there is none. */
static const char *without_colours(reading *r, const char *text, size_t *n)
{
    size_t out = 0;
    if (!memchr(text, 0x1b, *n)) return text;
    for (size_t i = 0; i < *n; i++) {
        if (text[i] == 0x1b && i + 1 < *n && text[i + 1] == '[') {
            size_t stop = i + 2;
            while (stop < *n && (rs_is_digit(text[stop]) || text[stop] == ';')) stop++;
            if (stop < *n && is_letter(text[stop])) {
                i = stop;
                continue;
            }
        }
        r->clean[out++] = text[i];
    }
    *n = out;
    return r->clean;
}

/* torchrun's table names a rank, its host and then its exit code. */
static bool read_table(reading *r, rs_fl_line *l)
{
    rs_fl_span f[RS_FL_MAX_FIELDS];
    if (rs_fl_template(l->text, l->n, "rank%?:%?%d (local_rank: %d)", f)) {
        int64_t rank = rs_fl_span_int(f[0]);
        r->table_rank = rank < 0 ? -1 : rank; /* A damaged number is no rank. */
    } else if (starts(l, "  host ") && rs_fl_template(l->text, l->n, "host%?:%?%s", f)) {
        r->table_host = rs_strings_add(&r->flight->texts, f[0].text, f[0].n);
        if (r->table_host == RS_NO_STRING) return false;
    } else if (starts(l, "  exitcode")) {
        l->who.rank = r->table_rank;
        if (r->table_host != RS_FL_NONE) l->who.host = r->table_host;
        r->table_rank = -1;
    }
    return true;
}

static uint64_t key_of(const reading *r, const rs_fl_line *l)
{
    uint64_t key = rs_hash_u64(rs_hash_u64(r->n_failures) + r->file + 1);
    if (l->who.rank >= 0) return rs_hash_u64(key + 3 * (uint64_t)l->who.rank);
    if (l->who.local >= 0 || l->who.task >= 0)
        return rs_hash_u64(rs_hash_u64(key + 1 + 3 * (uint64_t)(l->who.local + 1)) +
                           (uint64_t)(l->who.task + 1));
    if (l->who.pid >= 0) return rs_hash_u64(key + 2 + 3 * (uint64_t)l->who.pid);
    return key;
}

static bool note_plain(reading *r, const rs_fl_line *l)
{
    bool is_new;
    uint32_t *last = rs_map64_put(&r->log->last_plain, l->source, &is_new);
    if (!last) return false;
    *last = l->line > (int64_t)UINT32_MAX ? UINT32_MAX : (uint32_t)l->line;
    return true;
}

static bool read_line(reading *r, rs_fl_line *l)
{
    bool nomem = false, good;
    for (int i = 0; i < 8; i++)
        if (!peel_task(l) && !peel_bracket(l) && !peel_ray(r, l, &nomem) && !peel_time(l) &&
            !peel_sglang(l) && !peel_vllm(l) && !peel_pod(r, l, &nomem))
            break;
    if (nomem) return false;
    bool is_new;
    if (l->who.task >= 0 && !rs_map64_put(&r->log->tasks, (uint64_t)l->who.task, &is_new)) return false;
    read_glog_stamp(l);
    if (!read_kernel_stamp(r, l) || !read_nccl(r, l) || !read_group_rank(r, l) || !read_dump_path(r, l) ||
        !read_table(r, l))
        return false;
    if (l->stamped) {
        r->last_time = l->time_ns;
        r->last_yearless = l->yearless;
    } else {
        l->time_ns = r->last_time;
        l->yearless = r->last_yearless;
    }
    bool by_agent;
    size_t n_marks = r->log->n_marks;
    if (!rs_fl_read_mark(r->log, l, &by_agent)) return false;
    rs_fl_log_file *file = &r->log->files[r->log->n_files - 1];
    if (!by_agent && l->n) file->last_worker = l->line;
    file->of_agent = file->of_agent || r->log->n_marks > n_marks;
    l->source = key_of(r, l);
    if (r->log->n_marks > n_marks && r->log->marks[n_marks].kind == RS_FL_MARK_FAILED) r->n_failures++;
    source *s = source_of(r, l->source, &nomem);
    if (!s) return false;
    if (in_traceback(r, s, l, &good)) return good;
    rs_fl_line_kind kind = rs_fl_read_event(r->flight, r->log, l);
    if (kind == RS_FL_LINE_NOMEM) return false;
    return kind == RS_FL_LINE_PLAIN && l->n ? note_plain(r, l) : true;
}

static bool end_stacks(reading *r)
{
    if (!r->stacks.n) return true;
    const char *text = rs_text_get(&r->stacks);
    bool good = text && rs_fl_take_stacks(r->flight, -1, r->file, r->stacks_line, text, r->stacks.n);
    rs_text_clear(&r->stacks);
    return good;
}

/* "Process 972452: sglang::scheduler_TP3" and the lines after it, up to one with a stamp. *good false when out of memory. */
static bool in_stacks(reading *r, const rs_fl_line *l, bool *good)
{
    rs_fl_span f[RS_FL_MAX_FIELDS];
    rs_fl_worker worker;
    *good = true;
    bool begins = starts(l, "Process ") && rs_fl_template(l->text, l->n, "Process %d: %r", f) &&
                  rs_fl_process_of(f[1].text, f[1].n, &worker) != RS_FL_PROCESS_OTHER;
    bool part = r->stacks.n && l->n < MAX_STACKS - r->stacks.n &&
                (l->n == 0 || starts(l, "    ") || starts(l, "Python v") || starts(l, "Thread "));
    if (!begins && !part) {
        *good = end_stacks(r);
        return false;
    }
    if (begins) {
        *good = end_stacks(r);
        r->stacks_line = l->line;
    }
    rs_text_add(&r->stacks, l->text, l->n);
    rs_text_add(&r->stacks, "\n", 1);
    return true;
}

rs_status rs_fl_read_log_from(rs_flight *flight, rs_source *from, rs_error *err)
{
    const char *name = rs_source_name(from);
    rs_lines lines;
    rs_line_text text;
    rs_status status = rs_lines_open(from, &lines, err);
    if (status != RS_OK) return status;
    if (!rs_fl_events_of(flight)) status = rs_fail_nomem(err, name);
    reading r = {.flight = flight,
                 .log = flight->log,
                 .clean = rs_malloc(MAX_LINE),
                 .file = rs_strings_add(&flight->texts, name, strlen(name)),
                 .table_rank = -1,
                 .table_host = RS_FL_NONE};
    if (!r.clean || r.file == RS_NO_STRING) status = rs_fail_nomem(err, name);
    if (status == RS_OK && !RS_GROW_ONE(r.log->files, r.log->n_files, r.log->files_capacity))
        status = rs_fail_nomem(err, name);
    if (status == RS_OK) r.log->files[r.log->n_files++] = (rs_fl_log_file){.name = r.file};
    while (status == RS_OK && rs_lines_next(&lines, &text, &status, err)) {
        size_t n = text.n > MAX_LINE ? MAX_LINE : text.n;
        if (!text.text) continue;
        const char *clean = without_colours(&r, (const char *)text.text, &n);
        if (n && clean[n - 1] == '\r') n--;
        rs_fl_line l = {.text = clean,
                        .n = n,
                        .who = {.rank = -1,
                                .task = -1,
                                .local = -1,
                                .pid = -1,
                                .group_rank = -1,
                                .host = RS_FL_NONE,
                                .guid = RS_FL_NONE},
                        .file = r.file,
                        .line = (int64_t)text.number};
        bool good;
        if (in_stacks(&r, &l, &good) ? !good : !good || !read_line(&r, &l)) status = rs_fail_nomem(err, name);
    }
    if (status == RS_OK && !end_stacks(&r)) status = rs_fail_nomem(err, name);
    rs_text_clear(&r.stacks);
    if (flight->log && status == RS_OK) {
        flight->log->n_lines += lines.number;
        flight->log->files[flight->log->n_files - 1].n_lines = (int64_t)lines.number;
        rs_source_report_end(from, -1, &flight->problems);
    }
    rs_free_all(r.clean, r.sources);
    rs_map64_clear(&r.by_key);
    rs_lines_close(&lines);
    return status;
}

rs_status rs_fl_read_log(rs_flight *flight, const char *path, rs_error *err)
{
    rs_source *from = NULL;
    rs_status status = rs_source_open(path, flight->settings.max_ratio, &from, err);
    if (status == RS_OK) status = rs_fl_read_log_from(flight, from, err);
    rs_source_close(from);
    return status;
}

rs_status rs_fl_read_log_bytes(rs_flight *flight, const void *bytes, size_t n, const char *name,
                               rs_error *err)
{
    rs_source *from = NULL;
    rs_status status = rs_source_open_bytes(bytes, n, name, flight->settings.max_ratio, &from, err);
    if (status == RS_OK) status = rs_fl_read_log_from(flight, from, err);
    rs_source_close(from);
    return status;
}

void rs_fl_log_clear(rs_fl_log *log)
{
    if (!log) return;
    rs_free(log->events);
    rs_map64_clear(&log->foreign);
    rs_free_all(log->seats, log->hosts, log->dump_paths, log->marks, log->files, log->attempts);
    rs_map64_clear(&log->tasks);
    rs_map64_clear(&log->last_plain);
    rs_free(log);
}
