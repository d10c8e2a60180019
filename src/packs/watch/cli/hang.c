#define _GNU_SOURCE
#include "watch/cli/hang.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strings.h"
#include "base/system.h"
#include "cli/cli.h"

#define HEAD 4096
#define VERDICT "\nverdict "
#define SLOW VERDICT "straggler"
#define MOST_WORDS 8

/* The rows by which the front door knows what `flight` reads; NULL: this program has no such command. */
static const rs_file_kind *flight_kinds(void)
{
    rs_command command;
    return rs_command_find("flight", &command) ? command.inputs : NULL;
}

/* A log says nothing by itself of a job that runs: it is read with the others. */
static bool is_evidence(const rs_file_kind *kinds, const char *path)
{
    uint8_t head[HEAD];
    size_t n = 0;
    rs_error why = RS_ERROR_INIT;
    if (rs_file_begin(path, head, HEAD, &n, &why) != RS_OK) return false;
    for (; kinds->title; kinds++)
        if (!kinds->by_name && kinds->knows(path, head, n)) return true;
    return false;
}

static void see(const rs_file_kind *kinds, const char *path, rs_hang_source *now)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return;
    /* a trace is found by its first bytes, which cost more than its name */
    const char *end = strstr(path, ".json");
    if ((end && strstr(path, "trace.json")) || !is_evidence(kinds, path)) return;
    uint64_t parts[3] = {rs_hash_bytes(path, strlen(path)), (uint64_t)info.st_size,
                         (uint64_t)rs_system_ns(info.st_mtim)};
    now->has_evidence = true;
    now->signature += rs_hash_bytes(parts, sizeof parts);
}

bool rs_hang_is_new(const char *folder, rs_hang_source *known)
{
    const rs_file_kind *kinds = flight_kinds();
    rs_hang_source now = {0};
    if (known->child || rs_clock_seconds() < known->not_before) return false;
    DIR *d = kinds ? opendir(folder) : NULL;
    if (!d) return false;
    for (struct dirent *e; (e = readdir(d));) {
        rs_text path = {0};
        rs_text_printf(&path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.' && rs_text_get(&path)) see(kinds, path.s, &now);
        rs_text_clear(&path);
    }
    closedir(d);
    bool changed = now.signature != known->signature || !known->was_looked_at;
    known->signature = now.signature;
    known->has_evidence = now.has_evidence;
    known->was_looked_at = true;
    return changed;
}

rs_status rs_hang_ask(rs_hang_source *source, const char *const *words, size_t n, rs_error *err)
{
    char program[4096];
    char *all[7 + MOST_WORDS] = {program, "flight", "--quiet", "--no-progress", "--color", "never"};
    int ends[2];
    posix_spawn_file_actions_t actions;
    rs_system_beside("rankscope", program, sizeof program);
    for (size_t i = 0; i < n && i < MOST_WORDS; i++) all[6 + i] = (char *)words[i];
    if (pipe(ends) != 0) return rs_fail(err, RS_ERR_IO, "cannot run rankscope flight: %s", strerror(errno));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int why = posix_spawnp(&source->child, program, &actions, NULL, all, rs_system_environment());
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    source->answers = ends[0];
    source->begun = rs_clock_seconds();
    if (!why) return RS_OK;
    close(ends[0]);
    source->child = 0;
    return rs_fail(err, RS_ERR_IO, "cannot run %s flight: %s", program, strerror(why));
}

/* Takes what is there; the rest of a long answer is read and dropped. True: it has ended. */
static bool read_on(rs_hang_source *source, bool wait)
{
    char bytes[4096];
    for (;;) {
        ssize_t n = read(source->answers, bytes, sizeof bytes);
        if (n > 0 && source->head.n < 4 * sizeof bytes) rs_text_add(&source->head, bytes, (size_t)n);
        if (n > 0 || (n < 0 && errno == EINTR)) continue;
        if (n == 0 || errno != EAGAIN) return true;
        struct pollfd more = {.fd = source->answers, .events = POLLIN};
        if (!wait) return false;
        poll(&more, 1, -1);
    }
}

/* The sentence, which ends where the line of the verdict begins, and whether that is a straggler. */
static void take_sentence(const rs_text *head, rs_text *sentence, bool *is_slow)
{
    const char *text = rs_text_get(head), *end = text ? strstr(text, VERDICT) : NULL;
    if (!text) return;
    if (!end) end = strchr(text, '\n');
    rs_text_add(sentence, text, end ? (size_t)(end - text) : head->n);
    for (size_t i = 0; i < sentence->n; i++)
        if (sentence->s[i] == '\n') sentence->s[i] = ' ';
    if (sentence->n && sentence->s[sentence->n - 1] == ':')
        sentence->s[sentence->n - 1] = '.'; /* a list follows */
    *is_slow = end && strncmp(end, SLOW, strlen(SLOW)) == 0;
}

rs_status rs_hang_answer(rs_hang_source *source, bool wait, double rest, bool *done, rs_hang_state *state,
                         rs_text *sentence, rs_error *err)
{
    int status = 0;
    bool is_slow = false;
    *done = read_on(source, wait);
    if (!*done) return RS_OK;
    while (waitpid(source->child, &status, 0) < 0 && errno == EINTR) {
    }
    take_sentence(&source->head, sentence, &is_slow);
    source->child = 0;
    source->not_before = rs_clock_seconds() + rest * (rs_clock_seconds() - source->begun);
    rs_hang_stop(source);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    *state = code == RS_EXIT_INPUT   ? RS_HANG_UNKNOWN
             : code != RS_EXIT_FOUND ? RS_HANG_NONE
             : is_slow               ? RS_HANG_SLOW
                                     : RS_HANG_STUCK;
    if (!rs_text_get(sentence)) return rs_fail_nomem(err, "a verdict");
    return code == RS_EXIT_FOUND || code == RS_EXIT_OK || code == RS_EXIT_LOSS || code == RS_EXIT_INPUT
               ? RS_OK
               : rs_fail(err, RS_ERR_IO, "rankscope flight ended with code %d", code);
}

void rs_hang_stop(rs_hang_source *source)
{
    if (source->child > 0) {
        kill(source->child, SIGTERM);
        while (waitpid(source->child, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (source->begun > 0) close(source->answers);
    rs_text_clear(&source->head);
    source->child = 0;
    source->begun = 0;
}
