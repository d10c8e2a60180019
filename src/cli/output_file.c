/* Where the answer goes: standard output, or a file that is there whole or not at all. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/try.h"
#include "cli/cli.h"

static rs_status fail_file(rs_error *err, const char *path, const char *doing)
{
    return rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "%s: %s", doing, strerror(errno));
}

/* ---- the inputs, which no answer replaces -------------------------------------------------------------- */

static struct {
    dev_t device;
    ino_t number;
} * inputs;
static size_t n_inputs, inputs_capacity;

void rs_output_protect(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return;
    if (!RS_GROW_ONE(inputs, n_inputs, inputs_capacity)) return;
    inputs[n_inputs].device = info.st_dev;
    inputs[n_inputs++].number = info.st_ino;
}

static bool is_input(const struct stat *info)
{
    for (size_t i = 0; i < n_inputs; i++)
        if (inputs[i].device == info->st_dev && inputs[i].number == info->st_ino) return true;
    return false;
}

/* ---- one file ------------------------------------------------------------------------------------------ */

/* Files that are growing, for whoever ends the process in the midst of it. */
#define MOST_GROWING 16
static pthread_mutex_t growing_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *growing[MOST_GROWING];

static void exchange_growing(const char *from, const char *to)
{
    pthread_mutex_lock(&growing_lock);
    size_t i = 0;
    while (i < MOST_GROWING && growing[i] != from) i++;
    if (i < MOST_GROWING) growing[i] = to;
    pthread_mutex_unlock(&growing_lock);
}

void rs_output_abandon(void)
{
    pthread_mutex_lock(&growing_lock); /* for good: nothing is to grow any more */
    for (size_t i = 0; i < MOST_GROWING; i++)
        if (growing[i]) unlink(growing[i]);
}

#define TRIES 1000

/* Creates the file under which the answer grows, next to its place. The name is short, whatever the answer's,
 * and one that a killed process left behind is skipped. */
static int create_temporary(const char *path, char **name)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path + 1) : 0;
    size_t size = (size_t)folder + 64;
    *name = rs_malloc(size);
    if (!*name) return -1;
    for (int i = 0; i < TRIES; i++) {
        snprintf(*name, size, "%.*s.rankscope-%ld-%d", folder, path, (long)getpid(), i);
        int fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

/* Where a chain of links ends that leads to no file yet; NULL: path is none. */
static char *end_of_links(const char *path)
{
    char *at = NULL, target[4096];
    for (int i = 0; i < 40; i++) {
        ssize_t n = readlink(at ? at : path, target, sizeof target - 1);
        if (n <= 0) return at;
        target[n] = '\0';
        const char *from = at ? at : path, *slash = target[0] == '/' ? NULL : strrchr(from, '/');
        size_t folder = slash ? (size_t)(slash - from + 1) : 0;
        char *next = rs_malloc(folder + (size_t)n + 1);
        if (next) {
            memcpy(next, from, folder);
            memcpy(next + folder, target, (size_t)n + 1);
        }
        rs_free(at);
        if (!next) return NULL;
        at = next;
    }
    return at;
}

static rs_status open_regular(rs_output *output, const char *path, mode_t mode, rs_error *err)
{
    output->path = rs_strdup(path);
    if (!output->path) return rs_fail_nomem(err, "a file name");
    output->fd = create_temporary(path, &output->temporary);
    if (!output->temporary) return rs_fail_nomem(err, "a file name");
    if (output->fd < 0) {
        rs_status status = fail_file(err, path, "cannot create the file");
        rs_free(output->temporary);
        output->temporary = NULL;
        return status;
    }
    exchange_growing(NULL, output->temporary);
    if (mode) fchmod(output->fd, mode & 0777); /* replacing a file keeps who may read it */
    return RS_OK;
}

rs_status rs_output_open(rs_output *output, const char *path, rs_error *err)
{
    *output = (rs_output){.fd = STDOUT_FILENO};
    if (!path || strcmp(path, "-") == 0) return RS_OK;
    output->to_file = true;
    output->fd = -1;
    struct stat info;
    bool exists = stat(path, &info) == 0;
    rs_status status;
    if (exists && is_input(&info)) {
        status = rs_fail_at(err, RS_ERR_USAGE, path, RS_NO_OFFSET,
                            "is one of the inputs, which an answer never replaces; give another name");
    } else if (exists && !S_ISREG(info.st_mode)) {
        /* a device or a pipe is written to, never replaced */
        output->fd = open(path, O_WRONLY | O_CLOEXEC);
        status = output->fd < 0 ? fail_file(err, path, "cannot write to it") : RS_OK;
        if (status == RS_OK && !(output->path = rs_strdup(path))) status = rs_fail_nomem(err, "a file name");
    } else {
        char *real = exists ? realpath(path, NULL) : end_of_links(path); /* a link stays a link */
        status = open_regular(output, real ? real : path, exists ? info.st_mode : 0, err);
        free(real);
    }
    if (status != RS_OK) rs_output_discard(output);
    return status;
}

static bool write_all(void *context, const char *bytes, size_t n)
{
    rs_output *output = context;
    while (n) {
        if (rs_signal_came()) {
            output->error = EINTR;
            return false;
        }
        ssize_t done = write(output->fd, bytes, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) {
            output->error = done < 0 ? errno : ENOSPC;
            return false;
        }
        bytes += done;
        n -= (size_t)done;
    }
    return true;
}

rs_sink rs_output_sink(rs_output *output)
{
    return (rs_sink){write_all, output};
}

rs_status rs_output_commit(rs_output *output, rs_error *err)
{
    if (!output->to_file) return RS_OK;
    int fd = output->fd;
    output->fd = -1;
    /* the bytes are on the disk before the name says so */
    bool ok = !output->temporary || fsync(fd) == 0 || errno == EINVAL || errno == EROFS;
    if (!ok) output->error = errno;
    if (close(fd) != 0 && ok) {
        output->error = errno;
        ok = false;
    }
    if (ok && output->temporary && rename(output->temporary, output->path) != 0) {
        output->error = errno;
        ok = false;
    }
    if (!ok) {
        errno = output->error;
        return fail_file(err, output->path, "cannot write the file");
    }
    if (output->temporary) exchange_growing(output->temporary, NULL);
    rs_free(output->temporary);
    output->temporary = NULL;
    rs_output_discard(output);
    return RS_OK;
}

void rs_output_discard(rs_output *output)
{
    if (output->to_file && output->fd >= 0) close(output->fd);
    output->fd = -1;
    if (output->temporary) {
        unlink(output->temporary);
        exchange_growing(output->temporary, NULL);
    }
    rs_free_all(output->temporary, output->path);
    output->temporary = output->path = NULL;
}

int rs_output_failed(rs_output *output, const char *command, const rs_error *err)
{
    int error = output->error;
    bool to_file = output->to_file;
    char path[RS_ERROR_TEXT];
    snprintf(path, sizeof path, "%s", output->path ? output->path : "");
    rs_output_discard(output);
    rs_signal_repeat();
    if (error == EPIPE) return RS_EXIT_CLOSED_PIPE;
    if (!error) return rs_complain_error(command, err);
    rs_complain("cannot write %s: %s", to_file ? (path[0] ? path : "the output") : "standard output",
                strerror(error));
    return RS_EXIT_INPUT;
}

/* ---- all at once -------------------------------------------------------------------------------------- */

static bool reader_gone;

bool rs_output_reader_gone(void)
{
    return reader_gone;
}

static rs_status write_packed(const char *path, rs_write_fn write, void *context, const rs_sink *sink,
                              rs_error *err)
{
    rs_packer *packer = NULL;
    RS_TRY(rs_packer_open(rs_pack_of_name(path), sink, &packer, err));
    rs_sink packed = rs_packer_sink(packer);
    rs_status status = write(context, &packed, err);
    if (status == RS_OK) status = rs_packer_finish(packer, err);
    rs_packer_close(packer);
    return status;
}

rs_status rs_output_put(const char *path, bool by_name, const char *command, rs_write_fn write, void *context,
                        rs_error *err)
{
    rs_output output;
    RS_TRY(rs_output_open(&output, path, err));
    rs_sink sink = rs_output_sink(&output);
    rs_status status =
        by_name && path ? write_packed(path, write, context, &sink, err) : write(context, &sink, err);
    if (status == RS_OK) status = rs_output_commit(&output, err);
    if (status == RS_OK) return RS_OK;
    if (output.error) {
        reader_gone = output.error == EPIPE;
        *err = (rs_error)RS_ERROR_INIT;
        status = rs_fail(err, RS_ERR_IO, "cannot write %s: %s",
                         !output.to_file ? "standard output"
                         : output.path   ? output.path
                                         : "the output",
                         strerror(output.error));
    } else if (command) {
        rs_error_wrap(err, "%s", command);
    }
    rs_output_discard(&output);
    rs_signal_repeat();
    return status;
}

typedef struct made_text {
    void (*make)(rs_writer *writer, const void *context);
    const void *context;
} made_text;

static rs_status write_made(void *context, const rs_sink *sink, rs_error *err)
{
    const made_text *text = context;
    rs_writer writer;
    rs_writer_init(&writer, sink);
    text->make(&writer, text->context);
    return rs_writer_finish(&writer, err);
}

int rs_print(const char *command, void (*make)(rs_writer *writer, const void *context), const void *context)
{
    rs_error err = RS_ERROR_INIT;
    made_text text = {make, context};
    bool ok = rs_output_put(NULL, false, command, write_made, &text, &err) == RS_OK;
    return ok ? RS_EXIT_OK : rs_complain_error(NULL, &err);
}
