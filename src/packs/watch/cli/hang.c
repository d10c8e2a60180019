#define _GNU_SOURCE
#include "watch/cli/hang.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strings.h"
#include "base/system.h"
#include "base/try.h"
#include "cli/cli.h"

#define HEAD 4096
#define VERDICT "\nverdict "
#define SLOW VERDICT "straggler"
#define REST 20 /* times as long as an answer took: what grows all the time is not asked about all the time */

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

static void see(const rs_file_kind *kinds, const char *path, rs_hang_folder *now)
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

bool rs_hang_is_new(const char *folder, rs_hang_folder *known)
{
    const rs_file_kind *kinds = flight_kinds();
    rs_hang_folder now = {.was_looked_at = true};
    if (rs_clock_seconds() < known->not_before) return false;
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
    *known = now;
    return changed;
}

static rs_status start(const char *folder, pid_t *child, int *out, rs_error *err)
{
    char program[4096];
    char *words[] = {program, "flight",       "--quiet", "--no-progress", "--color", "never",
                     "--",    (char *)folder, NULL};
    int ends[2];
    posix_spawn_file_actions_t actions;
    rs_system_beside("rankscope", program, sizeof program);
    if (pipe(ends) != 0) return rs_fail(err, RS_ERR_IO, "cannot run rankscope flight: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int why = posix_spawnp(child, program, &actions, NULL, words, rs_system_environment());
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *out = ends[0];
    if (why) close(ends[0]);
    return why ? rs_fail(err, RS_ERR_IO, "cannot run %s flight: %s", program, strerror(why)) : RS_OK;
}

/* The sentence, which ends where the line of the verdict begins, and whether that is a straggler; the rest is read and dropped. */
static void read_answer(int fd, rs_text *sentence, bool *is_slow)
{
    char bytes[4096];
    RS_SCOPED(rs_text_clear) rs_text head = {0};
    for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR);)
        if (n > 0 && head.n < 4 * sizeof bytes) rs_text_add(&head, bytes, (size_t)n);
    const char *text = rs_text_get(&head), *end = text ? strstr(text, VERDICT) : NULL;
    if (!text) return;
    if (!end) end = strchr(text, '\n');
    rs_text_add(sentence, text, end ? (size_t)(end - text) : head.n);
    for (size_t i = 0; i < sentence->n; i++)
        if (sentence->s[i] == '\n') sentence->s[i] = ' ';
    *is_slow = end && strncmp(end, SLOW, strlen(SLOW)) == 0;
}

rs_status rs_hang_ask(const char *folder, rs_hang_folder *known, rs_hang_state *state, rs_text *sentence,
                      rs_error *err)
{
    pid_t child = -1;
    int fd = -1, status = 0;
    double begun = rs_clock_seconds();
    bool is_slow = false;
    RS_TRY(start(folder, &child, &fd, err));
    read_answer(fd, sentence, &is_slow);
    close(fd);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return rs_fail(err, RS_ERR_IO, "rankscope flight: %s", strerror(errno));
    if (sentence->n && sentence->s[sentence->n - 1] == ':')
        sentence->s[sentence->n - 1] = '.'; /* a list follows */
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    *state = code != RS_EXIT_FOUND ? RS_HANG_NONE : is_slow ? RS_HANG_SLOW : RS_HANG_STUCK;
    known->not_before = rs_clock_seconds() + REST * (rs_clock_seconds() - begun);
    if (!rs_text_get(sentence)) return rs_fail_nomem(err, "a verdict");
    return code == RS_EXIT_FOUND || code == RS_EXIT_OK || code == RS_EXIT_LOSS || code == RS_EXIT_INPUT
               ? RS_OK
               : rs_fail(err, RS_ERR_FORMAT, "rankscope flight %s ended with code %d", folder, code);
}
