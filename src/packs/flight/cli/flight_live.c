/* Snapshots of a running job: asking its debug server or its workers, and watching it. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "base/try.h"
#include "cli/fetch.h"
#include "flight/cli/flight.h"

#define DEFAULT_PORT "25999"
#define MAX_WORKERS 65536
#define NCCL_JSON "dump_nccl_trace_json?includecollectives=true&onlyactive=false"
#define CPU_JSON "fr_trace_json?includecollectives=true&onlyactive=false"
#define NCCL_PICKLE "dump_nccl_trace_pickle?includecollectives=true&includestacktraces=true&onlyactive=false"

typedef char worker_address[RS_FLIGHT_ADDRESS];

/* Answers and what they were asked by. */
typedef struct gathered {
    rs_fetch *fetches;
    rs_flight_answer *answers;
    size_t n, capacity, answers_capacity;
} gathered;

typedef struct workers {
    int64_t *ranks;
    worker_address *addresses;
    size_t n, capacity, addresses_capacity;
} workers;

static void gathered_clear(gathered *g)
{
    for (size_t i = 0; i < g->n; i++) rs_fetch_clear(&g->fetches[i]);
    rs_free_all(g->fetches, g->answers);
    *g = (gathered){0};
}

static void workers_clear(workers *w)
{
    rs_free_all(w->ranks, w->addresses);
    *w = (workers){0};
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- asking -------------------------------------------------------------------------------------------- */

static rs_status want(gathered *g, int64_t rank, const char *address, const char *between, const char *page,
                      rs_error *err)
{
    if (!RS_GROW_ONE(g->fetches, g->n, g->capacity) ||
        !rs_grow((void **)&g->answers, &g->answers_capacity, g->n + 1, sizeof *g->answers))
        return rs_fail_nomem(err, "a request");
    size_t a = strlen(address), b = strlen(between), c = strlen(page);
    while (a && address[a - 1] == '/') a--;
    char *url = rs_malloc(a + b + c + 1);
    if (!url) return rs_fail_nomem(err, "a request");
    memcpy(url, address, a);
    memcpy(url + a, between, b);
    memcpy(url + a + b, page, c + 1);
    g->fetches[g->n] = (rs_fetch){.url = url, .post = rank >= 0};
    g->answers[g->n] = (rs_flight_answer){.page = page, .rank = rank, .address = address};
    g->n++;
    return RS_OK;
}

/* The name of a handler or page, without its arguments. */
static const char *bare_name(const char *page)
{
    static const char *const names[] = {"dump_nccl_trace_json", "dump_nccl_trace_pickle", "dump_traceback",
                                        "pyspy_dump", "fr_trace_json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(page, names[i], strlen(names[i])) == 0) return names[i];
    return page;
}

/* Asks for everything from `from` on. */
static rs_status ask(gathered *g, size_t from, int64_t timeout_s, rs_error *err)
{
    rs_status status = rs_fetch_all(g->fetches + from, g->n - from, timeout_s, err);
    for (size_t i = from; i < g->n; i++) {
        const rs_fetch *f = &g->fetches[i];
        rs_flight_answer *a = &g->answers[i];
        a->page = bare_name(a->page);
        a->status = f->status;
        a->timed_out = f->timed_out;
        a->failure = f->failure[0] ? f->failure : NULL;
        a->bytes = f->body ? f->body : "";
        a->n = f->n;
    }
    return status;
}

/* Whether a rank's record is among the answers so far. */
static bool has_record(const gathered *g, int64_t rank)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->answers[i].rank == rank && strcmp(g->answers[i].page, "dump_traceback") != 0 &&
            rs_flight_count_records(&g->answers[i], 1))
            return true;
    return false;
}

/* All workers at once: the record and the stack; then, of those whose record is of another recorder, that
 * one. */
static rs_status ask_workers(const rs_request *r, const workers *w, gathered *g, rs_error *err)
{
    int64_t timeout = rs_request_int(r, "timeout");
    size_t from = g->n;
    rs_status status = RS_OK;
    for (size_t i = 0; i < w->n && status == RS_OK; i++) {
        status = want(g, w->ranks[i], w->addresses[i], "/handler/",
                      rs_request_flag(r, "frames") ? NCCL_PICKLE : NCCL_JSON, err);
        if (status == RS_OK)
            status = want(g, w->ranks[i], w->addresses[i], "/handler/", "dump_traceback", err);
        if (status == RS_OK && rs_request_flag(r, "pyspy"))
            status = want(g, w->ranks[i], w->addresses[i], "/handler/", "pyspy_dump", err);
    }
    if (status == RS_OK) status = ask(g, from, timeout, err);
    from = g->n;
    for (size_t i = 0; i < w->n && status == RS_OK; i++)
        if (!has_record(g, w->ranks[i]))
            status = want(g, w->ranks[i], w->addresses[i], "/handler/", CPU_JSON, err);
    return status == RS_OK && g->n > from ? ask(g, from, timeout, err) : status;
}

static rs_status ask_page(gathered *g, const char *server, const char *page, int64_t timeout, rs_error *err)
{
    size_t from = g->n;
    rs_status status = want(g, -1, server, "/", page, err);
    return status == RS_OK ? ask(g, from, timeout, err) : status;
}

/* Whether some rank's stack did not come in time: py-spy needs no lock of the interpreter. */
static bool stack_timed_out(const gathered *g)
{
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->answers[i].page, "stacks") == 0 && g->answers[i].n &&
            strstr((const char *)g->answers[i].bytes, "Failed to fetch: status=408"))
            return true;
    return false;
}

/* Leaves the workers that may be asked; says which others the page named. */
static void keep_allowed(const rs_request *r, const char *server, workers *w)
{
    const rs_repeated *allowed = rs_request_repeated(r, "allow-host");
    size_t n = 0, refused = 0;
    for (size_t i = 0; i < w->n; i++) {
        if (rs_flight_may_ask(w->addresses[i], server, allowed->values, allowed->n)) {
            w->ranks[n] = w->ranks[i];
            memmove(w->addresses[n++], w->addresses[i], sizeof *w->addresses);
        } else if (refused++ == 0) {
            rs_complain(
                "flight: the server names %.80s for rank %lld, which is not its own host, or no worker's address: not asked. "
                "--allow-host HOST allows it",
                w->addresses[i], (long long)w->ranks[i]);
        }
    }
    if (refused > 1) rs_complain("flight: %zu more workers were not asked for the same reason", refused - 1);
    w->n = n;
}

/* The front end: the recorders' pages until one describes groups, then the stacks. */
static rs_status ask_server(const rs_request *r, const char *server, gathered *g, rs_error *err)
{
    static const char *const records[] = {"fr_trace_nccl_json", "fr_trace_json", "torchcomms_fr_trace_json"};
    int64_t timeout = rs_request_int(r, "timeout") * 6; /* the front end waits for its workers */
    rs_status status = RS_OK;
    bool found = false;
    for (size_t i = 0; i < 3 && status == RS_OK && !found; i++) {
        RS_TRY(ask_page(g, server, records[i], timeout, err));
        if (g->answers[g->n - 1].status == 0)
            return rs_fail(err, RS_ERR_IO,
                           "%s does not answer (%s): is the debug server started there? "
                           "torch.distributed.debug.start_debug_server()",
                           server, g->answers[g->n - 1].failure ? g->answers[g->n - 1].failure : "no answer");
        found = rs_flight_count_records(&g->answers[g->n - 1], 1) > 0;
    }
    status = ask_page(g, server, "stacks", timeout, err);
    if (status == RS_OK && (rs_request_flag(r, "pyspy") || stack_timed_out(g)))
        status = ask_page(g, server, "pyspy_dump", timeout, err);
    if (status != RS_OK || found) return status;
    /* One worker whose answer is no JSON makes the whole page fail: the others are asked one by one. */
    RS_SCOPED(workers_clear)
    workers w = {.ranks = rs_malloc(MAX_WORKERS * sizeof *w.ranks),
                 .addresses = rs_malloc(MAX_WORKERS * sizeof *w.addresses)};
    if (!w.ranks || !w.addresses)
        status = rs_fail_nomem(err, "the workers");
    else
        w.n = rs_flight_list_workers(g->answers, g->n, w.ranks, w.addresses, MAX_WORKERS);
    keep_allowed(r, server, &w);
    if (status == RS_OK && w.n) status = ask_workers(r, &w, g, err);
    /* The addresses are borrowed by the answers: they move to the requests' own texts. */
    for (size_t i = 0; i < g->n; i++)
        if (g->answers[i].rank >= 0) g->answers[i].address = g->fetches[i].url;
    return status;
}

/* ---- addresses ----------------------------------------------------------------------------------------- */

/* "host", "host:port", "http://host:port/" as "http://host:port". */
static void complete_address(const char *text, size_t n, bool default_port, worker_address out)
{
    bool scheme = n > 7 && (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0);
    while (n && (text[n - 1] == '/' || rs_is_space(text[n - 1]))) n--;
    const char *host = scheme ? strstr(text, "://") + 3 : text, *end = text + n,
               *bracket = memchr(host, ']', (size_t)(end - host));
    bool port = memchr(bracket ? bracket : host, ':', (size_t)(end - (bracket ? bracket : host))) != NULL;
    snprintf(out, RS_FLIGHT_ADDRESS, "%s%.*s%s", scheme ? "" : "http://", (int)(n < 200 ? n : 200), text,
             !port && default_port ? ":" DEFAULT_PORT : "");
}

static rs_status read_worker_line(const char *line, size_t number, const char *path, workers *w,
                                  rs_error *err)
{
    int64_t rank = (int64_t)w->n;
    size_t n = strcspn(line, "#\r\n");
    while (n && rs_is_space(*line)) line++, n--;
    while (n && rs_is_space(line[n - 1])) n--;
    if (!n) return RS_OK;
    size_t digits = strspn(line, "0123456789");
    if (digits && digits < n && rs_is_space(line[digits])) {
        rank = 0;
        for (size_t i = 0; i < digits && i < 9; i++) rank = rank * 10 + (line[i] - '0');
        while (digits < n && rs_is_space(line[digits])) digits++;
        line += digits;
        n -= digits;
    }
    for (size_t i = 0; i < n; i++)
        if (rs_is_space(line[i]))
            return rs_fail(err, RS_ERR_USAGE,
                           "%s, line %zu: an address, or RANK ADDRESS, is expected, not \"%.60s\"", path,
                           number, line);
    if (!RS_GROW_ONE(w->ranks, w->n, w->capacity) ||
        !rs_grow((void **)&w->addresses, &w->addresses_capacity, w->n + 1, sizeof *w->addresses))
        return rs_fail_nomem(err, path);
    w->ranks[w->n] = rank;
    complete_address(line, n, false, w->addresses[w->n]);
    w->n++;
    return RS_OK;
}

static rs_status read_workers(const char *path, workers *w, rs_error *err)
{
    FILE *file = fopen(path, "r");
    char line[1024];
    if (!file) return rs_fail(err, RS_ERR_IO, "cannot open %s: %s", path, strerror(errno));
    rs_status status = RS_OK;
    for (size_t number = 1; status == RS_OK && w->n < MAX_WORKERS && fgets(line, sizeof line, file); number++)
        status = read_worker_line(line, number, path, w, err);
    fclose(file);
    if (status == RS_OK && !w->n)
        status = rs_fail(err, RS_ERR_USAGE, "%s names no worker: an address a line, line n for rank n", path);
    return status;
}

/* ---- one snapshot -------------------------------------------------------------------------------------- */

rs_status rs_flight_snapshot(const rs_request *r, const char *server, const rs_flight_settings *settings,
                             rs_flight **out, rs_error *err)
{
    RS_SCOPED(gathered_clear) gathered g = {0};
    RS_SCOPED(workers_clear) workers w = {0};
    worker_address address;
    rs_flight_settings own = *settings;
    const char *file = rs_request_text(r, "workers");
    rs_status status;
    *out = NULL;
    if (server) {
        complete_address(server, strlen(server), true, address);
        status = ask_server(r, address, &g, err);
    } else {
        status = read_workers(file, &w, err);
        if (status == RS_OK) status = ask_workers(r, &w, &g, err);
    }
    own.now_ns = now();
    own.stall_ns = rs_request_int(r, "stall") * 1000000000;
    own.allow_missing = true;
    if (status == RS_OK) status = rs_flight_open_answers(g.answers, g.n, &own, out, err);
    return status;
}

/* ---- watching ------------------------------------------------------------------------------------------ */

static bool is_url(const char *text)
{
    return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;
}

void rs_flight_pause(int64_t seconds)
{
    struct timespec t = {.tv_sec = seconds};
    while (nanosleep(&t, &t) != 0 && errno == EINTR) continue;
}

/* A line when the state changes. */
static void tell(const rs_flight_report *report, char *state, size_t size)
{
    char next[512];
    snprintf(next, sizeof next, "%s: %s", rs_flight_verdict_name(report->root.verdict), report->root.summary);
    bool healthy = report->root.verdict == RS_FLIGHT_HEALTHY;
    if (healthy && strncmp(state, "healthy", 7) == 0) return; /* its numbers change all the time */
    /* The times of a slow rank or GPU follow the window of the measurements. */
    const char *times = report->root.verdict == RS_FLIGHT_STRAGGLER ? strstr(next, " (") : NULL;
    if (strncmp(state, next, times ? (size_t)(times - next) : size - 1) == 0) return;
    snprintf(state, size, "%s", next);
    int64_t s = now() / 1000000000 % 86400;
    fprintf(stderr, "%02d:%02d:%02d UTC %s\n", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60), state);
}

static rs_status look(const rs_request *r, const char *what, rs_flight_settings *settings,
                      rs_flight_sources *sources, rs_flight *before, rs_flight **out, rs_error *err)
{
    RS_TRY(rs_flight_ask_sources_again(r, sources, settings, err));
    settings->previous = before;
    if (is_url(what)) return rs_flight_snapshot(r, what, settings, out, err);
    return rs_flight_open(&what, 1, settings, out, err);
}

/* Whether nothing was open when it was last seen. */
static bool was_idle(rs_flight *flight)
{
    const rs_flight_report *report;
    rs_error err = RS_ERROR_INIT;
    if (!flight || rs_flight_get_report(flight, &report, &err) != RS_OK) return false;
    return report->n_waiting == 0 && report->root.verdict == RS_FLIGHT_HEALTHY &&
           strncmp(report->root.summary, "No hang", 7) != 0;
}

rs_status rs_flight_watch(const rs_request *r, const char *what, rs_flight_settings *settings,
                          rs_flight_sources *sources, rs_flight **out, int *ended, rs_error *err)
{
    int64_t every = rs_request_int(r, "every");
    bool once = rs_request_flag(r, "once");
    char state[512] = "";
    rs_flight *before = NULL;
    *ended = RS_EXIT_OK;
    for (;;) {
        const rs_flight_report *report;
        rs_status status = look(r, what, settings, sources, before, out, err);
        if (status == RS_ERR_IO && before && is_url(what)) {
            /* The server is gone: the job ended, or vanished. */
            *ended = was_idle(before) ? RS_EXIT_OK : RS_EXIT_LOSS;
            fprintf(stderr, "rankscope: flight: %s is gone: %s\n", what,
                    *ended == RS_EXIT_OK ? "everything was completed when it was last seen"
                                         : "operations were open when it was last seen");
            *out = before;
            return RS_OK;
        }
        if (status == RS_ERR_FORMAT && !is_url(what) && !once && !settings->n_evidence) {
            /* A job that runs has left nothing yet. */
            rs_flight_close(*out);
            *out = before = NULL;
            if (!r->quiet && !state[0]) fprintf(stderr, "%s holds no dump yet\n", what);
            snprintf(state, sizeof state, "nothing");
            rs_flight_pause(every);
            continue;
        }
        if (status != RS_OK && (status != RS_ERR_FORMAT || !*out)) {
            rs_flight_close(before);
            return status;
        }
        RS_TRY(rs_flight_get_report(*out, &report, err));
        settings->previous = NULL;
        before = NULL; /* it is the new one's now */
        bool hang = report->root.verdict != RS_FLIGHT_HEALTHY && report->root.verdict != RS_FLIGHT_STRAGGLER;
        if (!once && !r->quiet) tell(report, state, sizeof state);
        if (once || hang) return RS_OK;
        before = *out;
        *out = NULL;
        rs_flight_pause(every);
    }
}
