/* What a job gives besides tables: a fused trace and the report page, written into files. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

typedef struct writing {
    rs_py_job *job; /* held */
    rs_py_task *task;
    rs_py_sink out;
    bool page; /* the report, else the fused trace */
    char *categories, *without, *clocks, *ranks, *steps;
    rs_fuse_settings fuse;
    char **inputs, **flight, **labels, **directories, **memory; /* ended by NULL */
    rs_result result;
} writing;

static void free_list(char **list)
{
    for (size_t i = 0; list && list[i]; i++) free(list[i]);
    free(list);
}

static void clear(void *context)
{
    writing *w = context;
    rs_py_job_drop(w->job);
    rs_py_sink_clear(&w->out);
    free(w->categories);
    free(w->without);
    free(w->clocks);
    free(w->ranks);
    free(w->steps);
    free_list(w->inputs);
    free_list(w->flight);
    free_list(w->labels);
    free_list(w->directories);
    free_list(w->memory);
    rs_result_clear(&w->result);
    free(w);
}

static size_t length(char *const *list)
{
    size_t n = 0;
    while (list && list[n]) n++;
    return n;
}

static rs_status write_page(writing *w, rs_job *job, const rs_sink *sink, rs_error *err)
{
    size_t n = length(w->labels);
    rs_report_run *runs = calloc(n + 1, sizeof *runs);
    if (!runs) return rs_fail_nomem(err, "the settings of the report");
    for (size_t i = 0; i < n; i++) runs[i] = (rs_report_run){w->labels[i], w->directories[i]};
    rs_report_settings settings = {.size = sizeof settings,
                                   .inputs = (const char *const *)w->inputs,
                                   .n_inputs = length(w->inputs),
                                   .flight = (const char *const *)w->flight,
                                   .n_flight = length(w->flight),
                                   .metrics = runs,
                                   .n_metrics = n,
                                   .memory = (const char *const *)w->memory,
                                   .n_memory = length(w->memory),
                                   .ranks = w->ranks,
                                   .steps = w->steps,
                                   .progress = rs_py_task_progress,
                                   .progress_context = w->task};
    rs_status status = rs_report_write(job, &settings, sink, &w->result, err);
    free(runs);
    return status;
}

typedef struct job_writing {
    writing *w;
    rs_job *job;
} job_writing;

static rs_status write_to(void *context, const rs_sink *sink, rs_error *err)
{
    job_writing *j = context;
    return j->w->page ? write_page(j->w, j->job, sink, err)
                      : rs_fuse(j->job, &j->w->fuse, sink, &j->w->result, err);
}

static rs_status run(void *context, rs_error *err)
{
    writing *w = context;
    job_writing j = {w, rs_py_job_take(w->job, w->task)};
    rs_status status = rs_py_sink_fill(&w->out, write_to, &j, err);
    rs_py_job_let_go(w->job);
    return status;
}

/* A list of str or paths as a list of our own; NULL with an exception. */
static char **copy_list(PyObject *settings, const char *name)
{
    PyObject *list = PyDict_GetItemString(settings, name);
    Py_ssize_t n = list ? PyList_Size(list) : 0;
    if (n < 0) return NULL;
    char **copy = calloc((size_t)n + 1, sizeof *copy);
    if (!copy) PyErr_NoMemory();
    for (Py_ssize_t i = 0; copy && i < n; i++) {
        copy[i] = rs_py_path(PyList_GetItem(list, i));
        if (copy[i]) continue;
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a path is missing");
        free_list(copy);
        copy = NULL;
    }
    return copy;
}

static bool read_settings(writing *w, PyObject *dict)
{
    if (w->page)
        return (w->inputs = copy_list(dict, "inputs")) && (w->flight = copy_list(dict, "flight")) &&
               (w->labels = copy_list(dict, "labels")) && (w->directories = copy_list(dict, "directories")) &&
               (w->memory = copy_list(dict, "memory")) && rs_py_get_text(dict, "ranks", &w->ranks) &&
               rs_py_get_text(dict, "steps", &w->steps);
    w->fuse = (rs_fuse_settings){.size = sizeof w->fuse, .align = true};
    bool ok = rs_py_get_text(dict, "categories", &w->categories) &&
              rs_py_get_text(dict, "without", &w->without) && rs_py_get_flag(dict, "align", &w->fuse.align) &&
              rs_py_get_text(dict, "clocks", &w->clocks) &&
              rs_py_get_number(dict, "max_events", &w->fuse.max_events);
    w->fuse.clocks = w->clocks;
    w->fuse.categories = w->categories;
    w->fuse.without = w->without;
    return ok;
}

static PyObject *write_file(PyObject *job, PyObject *args, PyObject *words, bool page)
{
    static char *names[] = {"to", "name", "settings", "progress", NULL};
    PyObject *to, *name, *settings, *progress = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, words, "OOO!|O:write", names, &to, &name, &PyDict_Type, &settings,
                                     &progress))
        return NULL;
    writing *w = calloc(1, sizeof *w);
    if (!w) return PyErr_NoMemory();
    w->page = page;
    w->out.path = rs_py_path(to);
    w->out.name = PyErr_Occurred() ? NULL : rs_py_path(name);
    if (PyErr_Occurred() || !read_settings(w, settings) || !(w->job = rs_py_job_hold(job))) {
        clear(w);
        return NULL;
    }
    w->fuse.perfetto = !page && w->out.name && rs_is_perfetto_name(w->out.name);
    w->task = rs_py_task_create(&(rs_py_work){run, clear, w});
    if (!w->task) return NULL;
    rs_py_task *task = w->task; /* w may be gone when the work was left to itself */
    rs_error err = RS_ERROR_INIT;
    PyObject *result = NULL;
    if (rs_py_task_run(task, progress, &err))
        result = err.status == RS_OK ? rs_py_result(&w->result) : rs_py_raise_with(&err, &w->result.problems);
    rs_py_task_drop(task);
    return result;
}

PyObject *rs_py_fuse(PyObject *job, PyObject *args, PyObject *words)
{
    return write_file(job, args, words, false);
}

PyObject *rs_py_report(PyObject *job, PyObject *args, PyObject *words)
{
    return write_file(job, args, words, true);
}
