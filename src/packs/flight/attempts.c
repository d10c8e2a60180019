/* torchrun starts a job again after a failure (--max-restarts). A log then holds several attempts, and what failed
 * in an earlier one is no cause of the last one's end. The lines of torchrun's agents, one a node, say where an
 * attempt ends: "Sending process N closing signal" and "failed (exitcode: N) local_rank: K (pid: P)"; at level INFO
 * also "will restart worker group", "Rendezvous complete" and "successfully finished". The forms are those of
 * PyTorch 1.9 to 2.15. An agent that fails for good raises ChildFailedError; one that starts again does not. */
#include "base/order.h"
#include "base/search.h"
#include "flight/log.h"
#include "flight/template.h"

#include <string.h>

#define AT_ONCE INT64_C(2000000000)   /* ns: within it an agent tells its ranks to end */
#define PATIENCE INT64_C(60000000000) /* ns: an agent waits 30 s for ranks that it has told to end */
#define MAX_MARKS ((size_t)1 << 16)
#define MAX_ATTEMPTS 4096

const char *rs_fl_outcome_name(rs_fl_outcome outcome)
{
    static const char *const names[] = {"restarted", "failed", "failed", "finished", "stopped", "no failure"};
    return names[outcome];
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* "16170 torch/distributed/elastic/...": the agent's process or thread, as far as its stamp tells. */
static uint64_t agent_of(const rs_fl_line *l, const char *words)
{
    uint64_t pid = 0, unit = 1;
    const char *p = words;
    while (p && p > l->text && p[-1] == ' ') p--;
    for (; p && p > l->text && p[-1] >= '0' && p[-1] <= '9'; p--, unit *= 10)
        pid += unit * (uint64_t)(p[-1] - '0');
    uint64_t key = rs_hash_u64(l->file + 1);
    key = rs_hash_u64(key + (uint64_t)(l->who.task + 1));
    key = rs_hash_u64(key + (uint64_t)l->who.host);
    key = rs_hash_u64(key + (uint64_t)(l->who.pid + 1));
    return rs_hash_u64(key + pid);
}

static bool add_mark(rs_fl_log *log, const rs_fl_line *l, rs_fl_mark_kind kind, uint64_t agent,
                     const int64_t *numbers)
{
    if (log->n_marks >= MAX_MARKS) return true;
    const rs_fl_log_file *file = log->n_files ? &log->files[log->n_files - 1] : NULL;
    bool after_worker = log->n_marks && file && file->last_worker > log->marks[log->n_marks - 1].line;
    return RS_PUSH(log->marks, log->n_marks, log->marks_capacity,
                   (rs_fl_mark){.kind = (uint8_t)kind,
                                .yearless = l->yearless,
                                .file = l->file,
                                .agent = agent,
                                .line = l->line,
                                .time_ns = l->stamped ? l->time_ns : 0,
                                .after_worker = after_worker,
                                .pid = numbers[0],
                                .local = numbers[1],
                                .number = numbers[2],
                                .attempt = -1});
}

bool rs_fl_read_mark(rs_fl_log *log, const rs_fl_line *l, bool *by_agent)
{
    /* The fields of a form: pid, local rank, number; -1 where it has none. */
    static const struct {
        uint8_t kind;
        const char *pattern;
        int8_t pid, local, number;
    } forms[] = {
        {RS_FL_MARK_FAILED, "failed (exitcode: %d) local_rank: %d (pid: %d)", 2, 1, 0},
        {RS_FL_MARK_STOPS, "Sending process %d closing signal", 0, -1, -1},
        {RS_FL_MARK_RESTARTS, "will restart worker group", -1, -1, -1},
        {RS_FL_MARK_STARTS, "Rendezvous complete for workers", -1, -1, -1},
        {RS_FL_MARK_PLACE, "global_ranks=[%d", -1, -1, 0},
        {RS_FL_MARK_FINISHED, "worker group successfully finished", -1, -1, -1},
        {RS_FL_MARK_FINISHED, "workers successfully finished", -1, -1, -1},
        {RS_FL_MARK_SIGNAL, "Received %d death signal", -1, -1, 0},
        {RS_FL_MARK_GAVE_UP, "Root Cause (first observed failure)", -1, -1, -1},
        {RS_FL_MARK_GAVE_UP, "srun: error:", -1, -1, -1},
        {RS_FL_MARK_GAVE_UP, "slurmstepd: error:", -1, -1, -1},
    };
    static const char *const words[] = {"torch/distributed/elastic/", "torch.distributed.elastic"};
    const char *found = rs_fl_find(l->text, l->n, words[0]);
    if (!found) found = rs_fl_find(l->text, l->n, words[1]);
    *by_agent = found != NULL;
    rs_fl_span f[RS_FL_MAX_FIELDS];
    static const int64_t none[] = {-1, -1, -1};
    /* What an agent raises is at the end of its traceback: ChildFailedError, RendezvousTimeoutError, ... */
    if (found == l->text && rs_fl_template(l->text, l->n, "torch.distributed.elastic.%*Error:", f))
        return add_mark(log, l, RS_FL_MARK_GAVE_UP, agent_of(l, NULL), none);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (!rs_fl_template(l->text, l->n, forms[i].pattern, f)) continue;
        int64_t numbers[3] = {-1, -1, -1};
        if (forms[i].pid >= 0) numbers[0] = rs_fl_span_int(f[forms[i].pid]);
        if (forms[i].local >= 0) numbers[1] = rs_fl_span_int(f[forms[i].local]);
        if (forms[i].number >= 0) numbers[2] = rs_fl_span_int(f[forms[i].number]);
        if (forms[i].kind == RS_FL_MARK_FAILED && numbers[2] == 0) return true; /* that is no failure */
        *by_agent = true;
        return add_mark(log, l, (rs_fl_mark_kind)forms[i].kind, agent_of(l, found), numbers);
    }
    return true;
}

/* ---- where attempts end -------------------------------------------------------------------------------- */

/* One agent's end of one attempt: the marks of its last lines. */
typedef struct an_end {
    uint64_t agent;
    uint32_t file;
    int64_t last; /* line */
    int64_t time_ns;
    bool yearless, failed;
    int64_t n;         /* marks */
    size_t first_mark; /* its first failure; what else it has, if it has none */
    int64_t attempt;
} an_end;

/* Where one attempt ends in one file: at the last line of the last agent. */
typedef struct border {
    uint32_t file;
    int64_t attempt, line, time_ns;
    bool yearless;
} border;

typedef struct finding {
    rs_fl_log *log;
    an_end *ends;
    size_t n_ends;
    border *borders;
    size_t n_borders;
} finding;

/* Whether a mark is of the same end as the agent's marks before it. Ranks are told to end at once; the failure is
 * written when the last one has ended. Without times, lines of ranks between them part two ends. */
static bool is_same_end(const an_end *e, const rs_fl_mark *m)
{
    int64_t apart = m->kind == RS_FL_MARK_FAILED ? PATIENCE : AT_ONCE;
    if (e->failed) return false;
    if (!e->time_ns || !m->time_ns || e->yearless != m->yearless)
        return m->kind == RS_FL_MARK_FAILED || !m->after_worker;
    return m->time_ns - e->time_ns <= apart && e->time_ns - m->time_ns <= apart;
}

/* Joins the marks of each agent to ends. */
static bool find_ends(finding *f)
{
    RS_SCOPED(rs_map64_clear) rs_map64 open = {0};
    rs_fl_log *log = f->log;
    bool gave_up = false;
    for (size_t i = 0; i < log->n_marks; i++) {
        const rs_fl_mark *m = &log->marks[i];
        bool is_new, failed = m->kind == RS_FL_MARK_FAILED;
        uint32_t *place = rs_map64_put(&open, m->agent, &is_new);
        if (!place) return false;
        if (is_new) *place = RS_FL_NONE;
        if (i && m->file != log->marks[i - 1].file) gave_up = false;
        gave_up = gave_up || m->kind == RS_FL_MARK_GAVE_UP;
        if (m->kind == RS_FL_MARK_RESTARTS || m->kind == RS_FL_MARK_STARTS) *place = RS_FL_NONE;
        if (!failed && (m->kind != RS_FL_MARK_STOPS || gave_up)) continue;
        if (*place == RS_FL_NONE || !is_same_end(&f->ends[*place], m)) {
            *place = (uint32_t)f->n_ends;
            f->ends[f->n_ends++] = (an_end){.agent = m->agent, .file = m->file, .first_mark = i};
        }
        an_end *e = &f->ends[*place];
        if (failed) e->first_mark = i;
        e->failed = failed;
        e->n++;
        e->last = m->line;
        e->time_ns = m->time_ns;
        e->yearless = m->yearless;
    }
    return true;
}

/* Files in the order in which they were read, lines ascending. */
static const rs_order by_place[] = {RS_RISING(an_end, file), RS_RISING(an_end, last)};

/* Agents meet before an attempt begins, so in one file all of them end an attempt before any ends the next one. */
static bool find_borders(finding *f)
{
    RS_SCOPED(rs_map64_clear) rs_map64 seen = {0};
    RS_SORT(f->ends, f->n_ends, by_place);
    for (size_t i = 0; i < f->n_ends; i++) {
        an_end *e = &f->ends[i];
        border *now = f->n_borders ? &f->borders[f->n_borders - 1] : NULL;
        int64_t attempt = !now || now->file != e->file ? 0 : now->attempt;
        bool is_new, other_file = !now || now->file != e->file;
        uint32_t *last = rs_map64_put(&seen, e->agent, &is_new);
        if (!last) return false;
        if (!other_file && !is_new && (int64_t)*last == attempt && attempt + 1 < MAX_ATTEMPTS) attempt++;
        if (other_file || attempt != now->attempt) {
            now = &f->borders[f->n_borders++];
            *now = (border){.file = e->file, .attempt = attempt};
        }
        *last = (uint32_t)attempt;
        e->attempt = attempt;
        now->line = e->last;
        now->time_ns = e->time_ns;
        now->yearless = e->yearless;
    }
    return true;
}

/* How many borders stand before that attempt's of that file: they are sorted by file and attempt. */
static size_t borders_before(const finding *f, uint32_t file, int64_t attempt)
{
    size_t low;
    RS_SEARCH(low, f->n_borders,
              f->borders[low].file < file ||
                  (f->borders[low].file == file && f->borders[low].attempt < attempt));
    return low;
}

static const border *border_of(const finding *f, uint32_t file, int64_t attempt)
{
    size_t at = borders_before(f, file, attempt);
    bool found = at < f->n_borders && f->borders[at].file == file && f->borders[at].attempt == attempt;
    return found ? &f->borders[at] : NULL;
}

/* The last mark of that kind behind the ends of all attempts before `n`; NULL. */
static const rs_fl_mark *mark_since(const finding *f, int64_t n, rs_fl_mark_kind kind)
{
    for (size_t i = f->log->n_marks; i-- > 0;) {
        const rs_fl_mark *m = &f->log->marks[i];
        if (m->kind != kind) continue;
        size_t at = borders_before(f, m->file, n);
        bool ended = at > 0 && f->borders[at - 1].file == m->file;
        if (!ended || m->line > f->borders[at - 1].line) return m;
    }
    return NULL;
}

/* Whether the job ran on after the last end that an agent told of. */
static bool runs_on(const finding *f, int64_t last)
{
    const rs_fl_log *log = f->log;
    bool gave_up = mark_since(f, last, RS_FL_MARK_GAVE_UP) || mark_since(f, last, RS_FL_MARK_SIGNAL);
    for (size_t i = 0; i < log->n_marks; i++) {
        const rs_fl_mark *m = &log->marks[i];
        const border *end = border_of(f, m->file, last);
        bool says =
            m->kind == RS_FL_MARK_RESTARTS || m->kind == RS_FL_MARK_STARTS || m->kind == RS_FL_MARK_FINISHED;
        if (says && end && m->line > end->line) return true;
    }
    for (size_t i = 0; !gave_up && i < log->n_files; i++) {
        const border *end = border_of(f, log->files[i].name, last);
        if (end && log->files[i].last_worker > end->line) return true;
    }
    return false;
}

/* ".../attempt_1/3/stderr.log", as torchrun's --log-dir has them; -1. */
static int64_t attempt_of_path(const char *path)
{
    int64_t attempt = -1;
    for (const char *p = path; (p = strstr(p, "attempt_")); p += 8) {
        size_t n = strspn(p + 8, "0123456789");
        if (n && n < 4 && p[8 + n] == '/' && (p == path || p[-1] == '/'))
            attempt = rs_fl_span_int((rs_fl_span){p + 8, n});
    }
    return attempt;
}

/* In a file without an agent the times tell. */
static int64_t attempt_by_time(const finding *f, const rs_fl_event *e)
{
    int64_t passed = 0;
    if (!e->time_ns) return -1;
    for (size_t i = 0; i < f->n_borders; i++) {
        const border *b = &f->borders[i];
        if (!b->time_ns || b->yearless != e->yearless) return -1;
        if (e->time_ns > b->time_ns && b->attempt >= passed) passed = b->attempt + 1;
    }
    return passed;
}

static int64_t attempt_of_event(const rs_flight *flight, const finding *f, const rs_fl_event *e)
{
    int64_t last = (int64_t)f->log->n_attempts - 1, attempt = attempt_of_path(rs_fl_text(flight, e->file));
    if (last == 0) return 0;
    if (attempt >= 0) return attempt;
    size_t first = borders_before(f, e->file, 0), end = borders_before(f, e->file, INT64_MAX), low;
    if (first == end) {
        attempt = attempt_by_time(f, e);
        return attempt < last ? attempt : last;
    }
    RS_SEARCH_BETWEEN(low, first, end, f->borders[low].line < e->line);
    attempt = low == first ? 0 : f->borders[low - 1].attempt + 1;
    return attempt < last ? attempt : last;
}

/* ---- what became of them ------------------------------------------------------------------------------- */

static bool count_attempts(const rs_flight *flight, finding *f)
{
    rs_fl_log *log = f->log;
    int64_t n = 0;
    for (size_t i = 0; i < f->n_borders; i++)
        if (f->borders[i].attempt >= n) n = f->borders[i].attempt + 1;
    if (n > 0 && runs_on(f, n - 1)) n++;
    for (size_t i = 0; i < log->n_files; i++) {
        int64_t attempt = attempt_of_path(rs_fl_text(flight, log->files[i].name));
        if (attempt >= n) n = attempt + 1;
    }
    log->n_attempts = n > 0 ? (size_t)n : 1;
    log->attempts = rs_calloc(log->n_attempts, sizeof *log->attempts);
    return log->attempts != NULL;
}

static void judge_outcomes(finding *f)
{
    rs_fl_log *log = f->log;
    size_t last = log->n_attempts - 1;
    for (size_t i = 0; i < f->n_ends; i++) {
        const an_end *e = &f->ends[i];
        rs_fl_attempt *a = &log->attempts[e->attempt];
        log->marks[e->first_mark].attempt = e->attempt;
        if (e->failed && !a->failed) a->failed = e->first_mark + 1;
    }
    rs_fl_attempt *a = &log->attempts[last];
    const rs_fl_mark *by_signal = mark_since(f, (int64_t)last, RS_FL_MARK_SIGNAL);
    bool gave_up = mark_since(f, (int64_t)last, RS_FL_MARK_GAVE_UP) != NULL;
    a->outcome = RS_FL_NO_FAILURE;
    if (by_signal && !(a->failed && gave_up)) {
        a->outcome = RS_FL_ENDED_BY_SIGNAL;
        a->signal = by_signal->number;
    } else if (a->failed || gave_up) {
        a->outcome = gave_up ? RS_FL_FAILED : RS_FL_CUT_OFF;
    } else if (mark_since(f, (int64_t)last, RS_FL_MARK_FINISHED)) {
        a->outcome = RS_FL_FINISHED;
    }
}

static void count_lines(const rs_flight *flight, const finding *f)
{
    rs_fl_log *log = f->log;
    for (size_t i = 0; i < log->n_files; i++) {
        const rs_fl_log_file *file = &log->files[i];
        int64_t begin = 0, attempt = attempt_of_path(rs_fl_text(flight, file->name));
        if (attempt >= 0) {
            log->attempts[attempt].n_lines += (uint64_t)file->n_lines;
            continue;
        }
        for (size_t k = 0; k + 1 < log->n_attempts; k++) {
            const border *b = border_of(f, file->name, (int64_t)k);
            if (!b) continue;
            log->attempts[k].n_lines += (uint64_t)(b->line - begin);
            begin = b->line;
        }
        /* Lines of a file that no agent wrote into are nobody's, as only those with events are looked at. */
        if (begin || log->n_attempts == 1)
            log->attempts[log->n_attempts - 1].n_lines += (uint64_t)(file->n_lines - begin);
    }
}

/* ---- ranks --------------------------------------------------------------------------------------------- */

/* Without a line that tells: the only agent's ranks are the job's first ones, if no line is of a rank beyond
 * them. How many it has is what it told to end at the end of an attempt, and the one that had ended. */
static bool count_from_zero(const finding *f)
{
    const rs_fl_log *log = f->log;
    int64_t most = 0, largest = -1;
    for (size_t i = 0; i < f->n_ends; i++) {
        if (f->ends[i].agent != f->ends[0].agent) return false;
        if (f->ends[i].n > most) most = f->ends[i].n;
    }
    for (size_t i = 0; i < log->n; i++)
        if (log->events[i].by_hook && log->events[i].who.rank > largest) largest = log->events[i].who.rank;
    return largest >= 0 && largest < most;
}

/* The job's number of each agent's first rank, where a line before tells it. */
static bool place_agents(const finding *f)
{
    rs_fl_log *log = f->log;
    RS_SCOPED(rs_map64_clear) rs_map64 firsts = {0};
    bool zero = count_from_zero(f), is_new;
    for (size_t i = 0; i < log->n_marks; i++) {
        rs_fl_mark *m = &log->marks[i];
        uint32_t *first = rs_map64_put(&firsts, m->agent, &is_new);
        if (!first) return false;
        if (is_new) *first = zero ? 0 : RS_FL_NONE;
        if (m->kind == RS_FL_MARK_PLACE && m->number >= 0 && m->number < (int64_t)RS_FL_NONE)
            *first = (uint32_t)m->number;
        m->first_rank = *first == RS_FL_NONE ? -1 : (int64_t)*first;
    }
    return true;
}

bool rs_fl_find_attempts(const rs_flight *flight)
{
    rs_fl_log *log = flight->log;
    finding f = {.log = log,
                 .ends = rs_calloc(log->n_marks + 1, sizeof *f.ends),
                 .borders = rs_calloc(log->n_marks + 1, sizeof *f.borders)};
    bool good = f.ends && f.borders && find_ends(&f) && find_borders(&f) && count_attempts(flight, &f) &&
                place_agents(&f);
    if (good) {
        judge_outcomes(&f);
        count_lines(flight, &f);
        for (size_t i = 0; i < log->n; i++)
            log->events[i].attempt = attempt_of_event(flight, &f, &log->events[i]);
    }
    rs_free_all(f.ends, f.borders);
    return good;
}

void rs_fl_judge_attempt(const rs_flight *flight)
{
    rs_fl_log *log = flight->log;
    int64_t judged = (int64_t)log->n_attempts - 1, failed = -1;
    for (size_t i = 0; i < log->n; i++) {
        const rs_fl_event *e = &log->events[i];
        if (e->role == RS_FL_ORIGIN && e->fatal && e->attempt > failed) failed = e->attempt;
    }
    /* A job that hangs or fails leaves dumps, one that runs well leaves none: they are of the last that failed. */
    if (flight->n_ranks && failed >= 0 && failed < judged) judged = failed;
    log->judged = (size_t)judged;
    for (size_t i = 0; i < log->n; i++)
        log->events[i].past = log->events[i].attempt >= 0 && log->events[i].attempt != judged;
}
