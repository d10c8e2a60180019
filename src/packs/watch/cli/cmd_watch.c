/* rankscope watch SOURCE...: looks at its sources repeatedly, and says each change once. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/cli.h"
#include "rankscope/watch.h"
#include "watch/cli/hang.h"
#include "watch/cli/metrics_server.h"
#include "watch/cli/poster.h"

#define STALL_S                                                                                              \
    30 /* between two reports of RAS: what does not go on meanwhile hangs; and between two questions */
#define REST 20    /* times as long as flight took: what grows all the time is not asked about all the time */
#define LEASE_S 60 /* in which a message that is being posted is this watcher's */
#define OTLP_TRIES 6    /* of a window's metrics: 31 s */
#define LAST_POSTS_S 15 /* that a watch that ends has for what is left to post */

static const rs_option_spec specs[] = {
    {"history", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "the history, an SQLite database, made where there is none; several watchers may share it"},
    {"once", RS_OPTION_FLAG, NULL, NULL, NULL, "read what is there, judge it, and end"},
    {"every", RS_OPTION_TEXT, "DURATION", NULL, "10s", "time between two looks: 500ms, 10s, 5m, 2h"},
    {"for", RS_OPTION_TEXT, "DURATION", NULL, NULL,
     "end after that time (90s, 8h, 30d); without it a signal ends the watch"},
    {"settle", RS_OPTION_TEXT, "DURATION", NULL, "10s",
     "a file is complete when it has not changed for so long and its text ends"},
    {"min-effect", RS_OPTION_REAL, "PCT", NULL, "3",
     "least change that counts: percent, or percentage points of the step"},
    {"delete-traces", RS_OPTION_FLAG, NULL, NULL, NULL,
     "delete traces once the history has them, three windows later; those in whose windows a change began are kept"},
    {"ras", RS_OPTION_TEXT, "HOST[:PORT]", NULL, NULL,
     "ask NCCL's RAS of the running job, too, as rankscope flight does: twice, 30 s apart, every minute"},
    {"prometheus", RS_OPTION_TEXT, "URL", NULL, NULL,
     "ask a Prometheus that scrapes dcgm-exporter for the machines' health, too, as rankscope flight does"},
    {"metrics-listen", RS_OPTION_INT, "PORT", NULL, NULL,
     "answer GET /metrics on 127.0.0.1 in OpenMetrics, for Prometheus; 0: any port"},
    {"webhook", RS_OPTION_TEXT, "URL", NULL, NULL,
     "post each message there as JSON; retried until the receiver takes it, and never waited for"},
    {"otlp", RS_OPTION_TEXT, "URL", NULL, NULL,
     "send each new window's metrics there by OTLP/HTTP, in protobuf; without a path to URL/v1/metrics"},
};

typedef struct watch_request {
    rs_watch *watch;
    rs_hang_source *folders; /* by source; the last one: --ras and --prometheus */
    char live[300];          /* what these are, as a subject */
    rs_metrics_server *server;
    rs_poster *hook, *otlp;
    int64_t sent; /* the newest window that otlp is done with */
    int64_t every_ns, for_ns, settle_ns;
    double start;
    bool is_lines; /* JSON lines, else text */
    bool quietly;  /* messages are in the tables alone */
    bool quiet;    /* --quiet */
    size_t n_begun, n_windows;
    char complaint[RS_ERROR_TEXT * 2]; /* the last one: it is made once, not at each look */
} watch_request;

/* ---- the request -------------------------------------------------------------------------------------------- */

static const struct {
    const char *unit;
    int64_t ns;
} units[] = {{"ms", 1000000},
             {"s", 1000000000},
             {"m", INT64_C(60) * 1000000000},
             {"h", INT64_C(3600) * 1000000000},
             {"d", INT64_C(86400) * 1000000000}};

/* "10s", "5m": a whole number up to 999999 and a unit. */
static bool parse_duration(const char *text, int64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    int64_t n = 0;
    if (!digits || digits > 6) return false;
    for (size_t i = 0; i < digits; i++) n = n * 10 + (text[i] - '0');
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text + digits, units[i].unit) == 0) {
            if (n > INT64_MAX / units[i].ns) return false;
            *out = n * units[i].ns;
            return true;
        }
    return false;
}

static rs_status take_duration(const rs_request *r, const char *name, int64_t *out, rs_error *err)
{
    const char *text = rs_request_text(r, name);
    *out = -1;
    if (!text || parse_duration(text, out)) return RS_OK;
    return rs_fail(err, RS_ERR_USAGE, "--%s takes a whole number and a unit (ms, s, m, h, d), not \"%.40s\"",
                   name, text);
}

static rs_status choose(rs_request *r, rs_error *err)
{
    (void)err;
    r->tables = rs_watch_tables(&r->n_tables);
    r->render.rows = rs_request_rows(r);
    return RS_OK;
}

static rs_status check(rs_request *r, rs_error *err)
{
    watch_request *own = r->own;
    bool once = rs_request_flag(r, "once"),
         is_text = rs_renders_as(&r->render, "text") && r->table == SIZE_MAX;
    own->is_lines = rs_renders_as(&r->render, "jsonl") && r->table == SIZE_MAX;
    own->quietly = !is_text && !own->is_lines;
    RS_TRY(take_duration(r, "every", &own->every_ns, err));
    RS_TRY(take_duration(r, "for", &own->for_ns, err));
    RS_TRY(take_duration(r, "settle", &own->settle_ns, err));
    RS_TRY(rs_request_check_rows(r, err));
    if (!r->arguments.n_paths)
        return rs_fail(err, RS_ERR_USAGE, "which recordings? rankscope watch SOURCE... --history FILE");
    if (!rs_request_text(r, "history"))
        return rs_fail(err, RS_ERR_USAGE,
                       "where is the history kept? --history FILE, made where there is none");
    if (once && (own->for_ns >= 0 || rs_request_is_set(r, "metrics-listen")))
        return rs_fail(err, RS_ERR_USAGE, "--once looks once: it does not go with --for or --metrics-listen");
    if (!once && own->quietly)
        return rs_fail(err, RS_ERR_USAGE,
                       "messages are text or --format jsonl while the watch goes on; tables are for --once");
    if (rs_request_int(r, "metrics-listen") > 65535)
        return rs_fail(err, RS_ERR_USAGE, "--metrics-listen takes a port up to 65535");
    if (rs_request_text(r, "webhook"))
        RS_TRY(rs_poster_check("--webhook", rs_request_text(r, "webhook"), err));
    if (rs_request_text(r, "otlp")) RS_TRY(rs_poster_check("--otlp", rs_request_text(r, "otlp"), err));
    if (own->every_ns < 1000000) return rs_fail(err, RS_ERR_USAGE, "--every takes at least 1ms");
    return RS_OK;
}

/* ---- messages ----------------------------------------------------------------------------------------------- */

static void put_message(rs_writer *writer, const rs_watch_message *m)
{
    rs_json_put j;
    rs_json_put_init(&j, writer);
    rs_json_put_open(&j, NULL, '{', RS_JSON_LINE);
    rs_json_put_int(&j, "id", m->id);
    rs_json_put_int(&j, "window", m->window);
    rs_json_put_int(&j, "fault", m->fault);
    rs_json_put_int(&j, "at_ns", m->at_ns);
    rs_json_put_text(&j, "what", m->what);
    rs_json_put_text(&j, "kind", m->kind);
    rs_json_put_text(&j, "subject", m->subject);
    rs_json_put_text(&j, "text", m->text);
    rs_json_put_close(&j);
    rs_writer_char(writer, '\n');
}

static bool write_out(void *context, const char *bytes, size_t n)
{
    (void)context;
    return fwrite(bytes, 1, n, stdout) == n;
}

static rs_status print(void *context, const rs_watch_message *m, rs_error *err)
{
    watch_request *own = context;
    rs_sink sink = {write_out, NULL};
    rs_writer writer;
    own->n_begun += strcmp(m->what, "begun") == 0;
    if (own->quietly) return RS_OK;
    rs_writer_init(&writer, &sink);
    if (own->is_lines) {
        put_message(&writer, m);
    } else {
        RS_WRITE(&writer, "[", m->id, "] ", m->text, "\n");
    }
    rs_status status = rs_writer_finish(&writer, err);
    if (status == RS_OK && fflush(stdout) == 0) return RS_OK;
    return rs_fail(err, RS_ERR_IO, "cannot write standard output: %s", strerror(errno));
}

static bool add_text(void *context, const char *bytes, size_t n)
{
    rs_text_add(context, bytes, n);
    return !((rs_text *)context)->failed;
}

/* ---- posts -------------------------------------------------------------------------------------------------- */

typedef struct claimed {
    rs_text *body;
    int64_t id;
} claimed;

static rs_status put_post(void *context, const rs_watch_message *m, rs_error *err)
{
    claimed *c = context;
    rs_sink sink = {add_text, c->body};
    rs_writer writer;
    c->id = m->id;
    rs_writer_init(&writer, &sink);
    put_message(&writer, m);
    return rs_writer_finish(&writer, err);
}

static rs_status claim_message(void *context, rs_text *body, int64_t *id, bool *has, rs_error *err)
{
    watch_request *own = context;
    claimed c = {.body = body};
    RS_TRY(rs_watch_claim_post(own->watch, LEASE_S, put_post, &c, has, err));
    *id = c.id;
    return RS_OK;
}

static rs_status end_message(void *context, int64_t id, rs_watch_posted outcome, const rs_fetch *answer,
                             char complaint[160], rs_error *err)
{
    watch_request *own = context;
    (void)answer;
    (void)complaint;
    return rs_watch_end_post(own->watch, id, outcome, err);
}

/* A receiver that is overloaded, or failing. */
static bool is_failing(int status)
{
    return status == 408 || status == 429 || status >= 500;
}

static rs_status claim_window(void *context, rs_text *body, int64_t *id, bool *has, rs_error *err)
{
    watch_request *own = context;
    rs_sink sink = {add_text, body};
    RS_TRY(rs_watch_write_otlp(own->watch, own->sent, &sink, id, err));
    *has = *id != 0;
    return RS_OK;
}

static rs_status end_window(void *context, int64_t id, rs_watch_posted outcome, const rs_fetch *answer,
                            char complaint[160], rs_error *err)
{
    watch_request *own = context;
    int64_t rejected = answer->n ? rs_watch_otlp_rejected(answer->body, answer->n) : 0;
    (void)err;
    if (outcome != RS_WATCH_POST_AGAIN) own->sent = id;
    if (outcome == RS_WATCH_POSTED && rejected > 0)
        snprintf(complaint, 160, "the receiver rejected %lld points of window %lld", (long long)rejected,
                 (long long)id);
    return RS_OK;
}

/* What OTLP/HTTP calls retryable. */
static bool is_retryable(int status)
{
    return status == 429 || (status >= 502 && status <= 504);
}

static rs_status open_posts(rs_request *r, rs_error *err)
{
    watch_request *own = r->own;
    const rs_post_source messages = {.option = "--webhook",
                                     .noun = "message",
                                     .may_take_later = is_failing,
                                     .claim = claim_message,
                                     .end = end_message,
                                     .context = own},
                         windows = {.option = "--otlp",
                                    .noun = "window",
                                    .type = "application/x-protobuf",
                                    .tries = OTLP_TRIES,
                                    .may_take_later = is_retryable,
                                    .claim = claim_window,
                                    .end = end_window,
                                    .context = own};
    const char *hook = rs_request_text(r, "webhook"), *otlp = rs_request_text(r, "otlp");
    if (hook) RS_TRY(rs_watch_begin_posts(own->watch, err));
    if (hook) RS_TRY(rs_poster_open(hook, "", &messages, &own->hook, err));
    own->sent = rs_watch_newest(own->watch);
    const char *path = otlp ? strchr(strstr(otlp, "//") + 2, '/') : NULL;
    const char *suffix = !path ? "/v1/metrics" : !path[1] ? "v1/metrics" : "";
    return otlp ? rs_poster_open(otlp, suffix, &windows, &own->otlp, err) : RS_OK;
}

static rs_status publish(watch_request *own, rs_error *err)
{
    RS_SCOPED(rs_text_clear) rs_text text = {0};
    rs_sink sink = {add_text, &text};
    if (!own->server) return RS_OK;
    RS_TRY(rs_watch_write_metrics(own->watch, &sink, err));
    return rs_metrics_publish(own->server, text.s, text.n) ? RS_OK : rs_fail_nomem(err, "the metrics");
}

/* ---- looking ------------------------------------------------------------------------------------------------ */

static rs_status note_hang(watch_request *own, const char *subject, rs_hang_state state,
                           const rs_text *sentence, rs_error *err)
{
    const char *text = sentence->s ? sentence->s : "";
    RS_TRY(rs_watch_note(own->watch, "hang", subject, state == RS_HANG_STUCK, text, err));
    return rs_watch_note(own->watch, "slow", subject, state == RS_HANG_SLOW, text, err);
}

/* Asks about a folder when its dumps are others, and notes when there are none any more. */
static rs_status look_at_folder(watch_request *own, const char *folder, rs_hang_source *source, rs_error *err)
{
    RS_SCOPED(rs_text_clear) rs_text sentence = {0};
    const char *words[] = {"--", folder};
    if (!rs_hang_is_new(folder, source)) return RS_OK;
    if (source->has_evidence) return rs_hang_ask(source, words, 2, err);
    rs_text_printf(&sentence, "Over: there are no flight-recorder dumps in %s any more.", folder);
    return note_hang(own, folder, RS_HANG_NONE, &sentence, err);
}

static rs_status ask_live(rs_request *r, rs_hang_source *source, rs_error *err)
{
    watch_request *own = r->own;
    const char *ras = rs_request_text(r, "ras"), *server = rs_request_text(r, "prometheus"), *words[6];
    char stall[16];
    size_t n = 0;
    snprintf(stall, sizeof stall, "%d", STALL_S);
    if ((!ras && !server) || source->child || rs_clock_seconds() < source->not_before) return RS_OK;
    if (ras) words[n++] = "--ras", words[n++] = ras, words[n++] = "--stall", words[n++] = stall;
    if (server) words[n++] = "--prometheus", words[n++] = server;
    snprintf(own->live, sizeof own->live, "%.140s%s%.140s", ras ? ras : "", ras && server ? ", " : "",
             server ? server : "");
    return rs_hang_ask(source, words, n, err);
}

/* What does not answer says nothing of a hang that goes on. */
static rs_status take_answer(rs_request *r, size_t i, bool wait, rs_error *err)
{
    watch_request *own = r->own;
    rs_hang_source *source = &own->folders[i];
    RS_SCOPED(rs_text_clear) rs_text sentence = {0};
    rs_hang_state state = RS_HANG_NONE;
    bool is_live = i == r->arguments.n_paths, done = false;
    if (!source->child) return RS_OK;
    RS_TRY(rs_hang_answer(source, wait, REST, &done, &state, &sentence, err));
    if (!done) return RS_OK;
    if (is_live) source->not_before = rs_clock_seconds() + STALL_S;
    if (is_live && state == RS_HANG_UNKNOWN)
        return rs_fail(err, RS_ERR_IO, "%s: no answer that rankscope flight can use", own->live);
    return note_hang(own, is_live ? own->live : r->arguments.paths[i], state, &sentence, err);
}

static rs_status look_for_hangs(rs_request *r, bool wait, rs_error *err)
{
    watch_request *own = r->own;
    const size_t n = r->arguments.n_paths;
    for (size_t i = 0; i < n; i++) {
        RS_TRY(look_at_folder(own, r->arguments.paths[i], &own->folders[i], err));
        RS_TRY(take_answer(r, i, wait, err));
    }
    RS_TRY(ask_live(r, &own->folders[n], err));
    return take_answer(r, n, wait, err);
}

static rs_status look(rs_request *r, bool last, rs_watch_round *round, rs_result *result, rs_error *err)
{
    watch_request *own = r->own;
    rs_status status = rs_watch_look(own->watch, r->arguments.paths, r->arguments.n_paths, last, round,
                                     &result->problems, err);
    own->n_windows += round->windows;
    if (status == RS_OK) status = look_for_hangs(r, last, err);
    /* what an earlier look, or a watcher that was killed, found and did not say is said now */
    rs_error second = RS_ERROR_INIT;
    rs_status said = rs_watch_deliver(own->watch, print, own, &second);
    if (status == RS_OK && said != RS_OK) *err = second, status = said;
    rs_poster_wake(own->hook);
    rs_poster_wake(own->otlp);
    return status == RS_OK ? publish(own, err) : status;
}

/* What cannot be noted in the history now is noted at the next turn. */
static void post(watch_request *own)
{
    rs_poster *posters[] = {own->hook, own->otlp};
    for (int i = 0; i < 2; i++) {
        rs_error why = RS_ERROR_INIT;
        const char *complaint = NULL;
        rs_poster_turn(posters[i], &complaint, &why);
        if (complaint && !own->quiet) rs_complain("%s", complaint);
    }
}

/* In small pieces: a signal ends it. */
static void pause_for(watch_request *own, int64_t ns)
{
    double end = rs_clock_seconds() + (double)ns * 1e-9;
    for (double left; !rs_signal_came() && (left = end - rs_clock_seconds()) > 0;) {
        post(own);
        int64_t piece = left < 0.1 ? rs_int_of(left * 1e9) : 100000000;
        struct timespec t = {.tv_sec = 0, .tv_nsec = (long)piece};
        nanosleep(&t, NULL);
    }
}

/* Before the watch ends, what is left is posted, for a while. */
static void post_rest(watch_request *own)
{
    double end = rs_clock_seconds() + LAST_POSTS_S;
    const struct timespec piece = {.tv_nsec = 20000000};
    post(own);
    while (!(rs_poster_is_done(own->hook, 3) && rs_poster_is_done(own->otlp, 3)) &&
           rs_clock_seconds() < end) {
        nanosleep(&piece, NULL);
        post(own);
    }
}

static rs_status look_once(rs_request *r, rs_result *result, rs_error *err)
{
    watch_request *own = r->own;
    rs_watch_round round;
    for (;;) {
        RS_TRY(look(r, true, &round, result, err));
        if (!round.files_changing) break;
        pause_for(own, own->settle_ns / 4 + 1000000);
        if (rs_signal_came()) return rs_fail(err, RS_ERR_CANCELLED, "interrupted");
    }
    return RS_OK;
}

/* What fails now may succeed at the next look (a full disk, a lock): it is complained of once. */
static void complain(watch_request *own, const rs_error *err)
{
    char text[sizeof own->complaint];
    rs_error_text(err, text, sizeof text);
    if (strcmp(text, own->complaint) != 0) rs_complain("watch: %s; trying again", text);
    snprintf(own->complaint, sizeof own->complaint, "%s", text);
}

static bool is_over(const watch_request *own)
{
    return rs_signal_came() ||
           (own->for_ns >= 0 && (rs_clock_seconds() - own->start) * 1e9 >= (double)own->for_ns);
}

static rs_status follow(rs_request *r, rs_error *err)
{
    watch_request *own = r->own;
    while (!is_over(own)) {
        rs_watch_round round;
        RS_SCOPED(rs_result_clear) rs_result told = {0};
        rs_error why = RS_ERROR_INIT;
        rs_status status = look(r, false, &round, &told, &why);
        rs_report_result(&told, r->quiet);
        if (status == RS_ERR_CANCELLED) break;
        if (status == RS_ERR_NOMEM || rs_output_reader_gone() || ferror(stdout)) {
            *err = why;
            return status;
        }
        if (status == RS_OK)
            own->complaint[0] = '\0';
        else
            complain(own, &why);
        pause_for(own, own->every_ns);
    }
    rs_signal_forget(); /* that is how it ends, not how it fails */
    return RS_OK;
}

static rs_status open_watch(rs_request *r, rs_error *err)
{
    watch_request *own = r->own;
    const rs_watch_settings settings = {.size = sizeof settings,
                                        .history = rs_request_text(r, "history"),
                                        .job = &r->job,
                                        .min_effect =
                                            rs_options_real(r->arguments.options[0], "min-effect") / 100,
                                        .settle_ns = own->settle_ns,
                                        .delete_traces = rs_request_flag(r, "delete-traces")};
    unsigned port;
    own->start = rs_clock_seconds();
    own->quiet = r->quiet;
    own->folders = rs_calloc(r->arguments.n_paths + 1, sizeof *own->folders);
    if (!own->folders) return rs_fail_nomem(err, "the sources");
    RS_TRY(rs_watch_open(&settings, &own->watch, err));
    RS_TRY(open_posts(r, err));
    if (!rs_request_is_set(r, "metrics-listen")) return RS_OK;
    RS_TRY(rs_metrics_serve((unsigned)rs_request_int(r, "metrics-listen"), &port, &own->server, err));
    if (!r->quiet) rs_complain("metrics: http://127.0.0.1:%u/metrics", port);
    return publish(own, err);
}

static rs_status body(rs_request *r, rs_result *result, rs_error *err)
{
    watch_request *own = r->own;
    RS_TRY(open_watch(r, err));
    rs_status status = rs_request_flag(r, "once") ? look_once(r, result, err) : follow(r, err);
    rs_progress_end(&r->progress);
    post_rest(own);
    if (status != RS_OK) return status;
    result->found = rs_watch_n_open(own->watch) > 0 || own->n_begun > 0;
    return rs_watch_result(own->watch, result, err);
}

/* In text the messages have been written; what follows is where the watch is. */
static void put_state(rs_writer *writer, const void *context)
{
    const watch_request *own = context;
    size_t n = rs_watch_n_open(own->watch);
    RS_WRITE(writer, own->n_windows, own->n_windows == 1 ? " window added; " : " windows added; ");
    if (n) {
        RS_WRITE(writer, n, n == 1 ? " change goes on.\n" : " changes go on.\n");
    } else {
        rs_writer_text(writer, "no change goes on.\n");
    }
}

/* Why something is not judged yet is worth a line, once. */
static void note_limits(const rs_request *r, const rs_result *result)
{
    const rs_table *limits = result->tables[result->n_tables - 1];
    size_t last = rs_table_get_spec(limits)->n_columns - 1, length;
    for (size_t i = 0; !r->quiet && i < rs_table_n_rows(limits); i++)
        if (!rs_table_is_null(limits, i, last) && strcmp(rs_table_text(limits, i, 0, &length), "step") == 0)
            rs_complain("changes of the step are not judged yet: %s (table limits)",
                        rs_table_text(limits, i, last, &length));
}

static int deliver(rs_request *r, const rs_result *result)
{
    const watch_request *own = r->own;
    if (own->quietly) return rs_request_deliver(r, result);
    if (own->is_lines) return RS_EXIT_OK;
    int code = rs_print("watch", put_state, own);
    note_limits(r, result);
    return code;
}

static void clear(rs_request *r)
{
    watch_request *own = r->own;
    rs_metrics_stop(own->server);
    rs_poster_close(own->hook);
    rs_poster_close(own->otlp);
    rs_watch_close(own->watch);
    for (size_t i = 0; own->folders && i <= r->arguments.n_paths; i++) rs_hang_stop(&own->folders[i]);
    rs_free(own->folders);
}

const rs_command rs_command_watch = {
    .name = "watch",
    .group = "Across ranks",
    .help = "Watches a job for weeks: summarises traces as they come, and reports each change once",
    .usage = "[options] SOURCE... --history FILE",
    .about =
        "SOURCE is a folder into which traces keep coming (as torch.profiler's schedule with repeat writes them), or a "
        "file. A trace is read when it is complete: unchanged for the settle time, with a text that ends. Traces of "
        "all ranks over the same steps are a window. Its numbers (step, own work, exposed communication, idle time, "
        "MFU, memory) are added to the history, and are judged; flight-recorder dumps in the folder are judged by "
        "rankscope flight.\n\n"
        "A change is said once, with its cause by the judge (rankscope diagnose) and its 95 % interval, and once when "
        "it is over. A measurement has changed when three windows in a row are above its limit. The limit is measured on "
        "its own history, so that healthy jobs have one false alarm in 30 days; below 12 windows, and where windows are "
        "too similar to the one before, nothing is claimed and the table limits says so. Until there is a baseline, "
        "findings of the judge that are there in three windows in a row are said.\n\n"
        "Watchers of one history share the work; one that was killed goes on where it ended, and nothing is lost or "
        "said twice. docs/watch.md describes the database.\n\n"
        "Exit code 1: a change was found or goes on. A signal ends the watch with the same codes.",
    .examples = "rankscope watch traces/ --history job.db --once\n"
                "rankscope watch traces/ --history job.db --every 30s --format jsonl --metrics-listen 9464\n"
                "rankscope watch traces/ --history job.db --once --format csv --table windows",
    .groups = {{.title = "Options", .specs = specs, .n = sizeof specs / sizeof *specs},
               {.base = &rs_input_options,
                .without = "compat|absolute|include-last-step|ranks|steps|window|renumber|keep|keep-memory"},
               {.base = &rs_output_options, .without = "output|stats|verbose"},
               {.base = &rs_row_options}},
    .n_groups = 4,
    .choose = choose,
    .check = check,
    .body = body,
    .deliver = deliver,
    .own_size = sizeof(watch_request),
    .clear = clear,
};
