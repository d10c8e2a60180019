/* A part of a job as a trace of its own, with names or without: a method of Job. */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rankscope/slice.h"

typedef struct cutting {
    rs_py_job *job; /* held */
    rs_py_task *task;
    char *to, *name; /* the file; what its name will be, whose end says how to pack */
    char *map;       /* the file for what stands for what; NULL: none */
    bool each;       /* to is a folder: a file a rank */
    rs_options *options, *share;
    rs_slicing *slice;
    size_t rank; /* the one being written, or RS_SLICE_ALL */
    rs_result result;
} cutting;

static void clear(void *context)
{
    cutting *c = context;
    rs_py_job_drop(c->job);
    rs_options_free(c->options);
    rs_options_free(c->share);
    rs_result_clear(&c->result);
    free(c->to);
    free(c->name);
    free(c->map);
    free(c);
}

static rs_status write_trace(void *context, const rs_sink *sink, rs_error *err)
{
    cutting *c = context;
    return rs_slice_write(c->slice, c->rank, sink, &c->result, err);
}

static rs_status write_map(void *context, const rs_sink *sink, rs_error *err)
{
    return rs_slice_map(((cutting *)context)->slice, sink, err);
}

/* A file that is whole or not there. */
static rs_status write_file(cutting *c, const char *path, const char *name,
                            rs_status (*write)(void *, const rs_sink *, rs_error *), rs_error *err)
{
    size_t n = strlen(path);
    rs_py_sink out = {.path = malloc(n + 6), .name = name ? strdup(name) : NULL};
    rs_status status = out.path && (!name || out.name) ? RS_OK : rs_fail_nomem(err, "a file name");
    if (status == RS_OK) {
        memcpy(out.path, path, n);
        memcpy(out.path + n, ".part", 6);
        status = rs_py_sink_fill(&out, write, c, err);
        if (status == RS_OK && rename(out.path, path) != 0)
            status = rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "cannot write the file");
        if (status != RS_OK) remove(out.path);
    }
    rs_py_sink_clear(&out);
    return status;
}

/* rank_N.json.gz for each rank, as the command writes them. */
static rs_status write_each(cutting *c, rs_error *err)
{
    size_t n = strlen(c->to) + 60;
    char *path = malloc(n);
    rs_status status = path ? RS_OK : rs_fail_nomem(err, "a file name");
    for (c->rank = 0; status == RS_OK && c->rank < rs_slice_n_ranks(c->slice); c->rank++) {
        snprintf(path, n, "%s/rank_%lld.json.gz", c->to, (long long)rs_slice_rank(c->slice, c->rank));
        status = write_file(c, path, path, write_trace, err);
    }
    free(path);
    return status;
}

static rs_status run(void *context, rs_error *err)
{
    cutting *c = context;
    rs_slice_settings settings = {.size = sizeof settings};
    rs_slice_settings_take(c->options, c->share, c->name, &settings);
    rs_job *job = rs_py_job_take(c->job, c->task);
    rs_status status = rs_slice_open(job, &settings, &c->slice, &c->result, err);
    if (status == RS_OK) {
        c->rank = RS_SLICE_ALL;
        status = c->each ? write_each(c, err) : write_file(c, c->to, c->name, write_trace, err);
        if (status == RS_OK) status = rs_slice_removed(c->slice, &c->result, err);
        if (status == RS_OK && c->map) status = write_file(c, c->map, NULL, write_map, err);
        rs_slice_close(c->slice);
    }
    rs_py_job_let_go(c->job);
    return status;
}

static bool read_options(PyObject *values, const rs_option_spec *(*list)(size_t *n), rs_options **out)
{
    size_t n;
    rs_error err = RS_ERROR_INIT;
    const rs_option_spec *specs = list(&n);
    if (rs_options_create(specs, n, out, &err) != RS_OK) return rs_py_raise(&err) != NULL;
    return rs_py_set_options(*out, values);
}

PyObject *rs_py_slice(PyObject *job, PyObject *args, PyObject *words)
{
    static char *names[] = {"to", "each", "options", "share", "map", "progress", NULL};
    PyObject *to, *options, *share, *map, *progress = Py_None;
    int each;
    if (!PyArg_ParseTupleAndKeywords(args, words, "OpO!OO|O:slice", names, &to, &each, &PyDict_Type, &options,
                                     &share, &map, &progress))
        return NULL;
    cutting *c = calloc(1, sizeof *c);
    if (!c) return PyErr_NoMemory();
    c->each = each;
    bool ok = (c->to = rs_py_path(to)) && (c->name = rs_py_path(to)) &&
              read_options(options, rs_slice_options, &c->options) &&
              (share == Py_None || read_options(share, rs_share_options, &c->share));
    if (ok) c->map = rs_py_path(map);
    if (!ok || PyErr_Occurred() || !(c->job = rs_py_job_hold(job))) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a path is missing");
        clear(c);
        return NULL;
    }
    c->task = rs_py_task_create(&(rs_py_work){run, clear, c});
    if (!c->task) return NULL;
    rs_py_task *task = c->task; /* c may be gone when the work was left to itself */
    rs_error err = RS_ERROR_INIT;
    PyObject *result = NULL;
    if (rs_py_task_run(task, progress, &err))
        result = err.status == RS_OK ? rs_py_result(&c->result) : rs_py_raise_with(&err, &c->result.problems);
    rs_py_task_drop(task);
    return result;
}
