/* Overlap metrics. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

typedef struct run {
    rs_metrics *metrics;
    rs_metrics_settings settings;
    char *reference, *candidate, *gate;
    char **plots; /* where each label's picture goes; NULL: none are drawn */
    size_t n_plots;
    rs_problems problems;
    rs_result result;
    rs_py_sink summary;
    rs_py_task *task;
} run;

static void clear_run(void *context)
{
    run *r = context;
    rs_metrics_free(r->metrics);
    free(r->reference);
    free(r->candidate);
    free(r->gate);
    for (size_t i = 0; i < r->n_plots; i++) free(r->plots[i]);
    free(r->plots);
    rs_problems_clear(&r->problems);
    rs_result_clear(&r->result);
    rs_py_sink_clear(&r->summary);
    free(r);
}

static rs_status write_summary(void *context, const rs_sink *sink, rs_error *err)
{
    return rs_metrics_summary(context, sink, err);
}

static rs_status do_run(void *context, rs_error *err)
{
    run *r = context;
    rs_status status = rs_metrics_read(r->metrics, &r->problems, err);
    if (status == RS_OK) status = rs_metrics_result(r->metrics, &r->result, err);
    if (status == RS_OK && r->gate) status = rs_metrics_gate(r->gate, &r->result, err);
    if (status == RS_OK) status = rs_py_sink_fill(&r->summary, write_summary, r->metrics, err);
    for (size_t i = 0; status == RS_OK && i < r->n_plots; i++)
        status = rs_metrics_plot(r->metrics, i, r->plots[i], err);
    rs_problems_move(&r->result.problems, &r->problems);
    return status;
}

static bool read_plots(run *r, PyObject *list)
{
    if (list == Py_None) return true;
    Py_ssize_t n = PyList_Size(list);
    if (n < 0) return false;
    r->plots = calloc((size_t)n + 1, sizeof *r->plots);
    if (!r->plots) PyErr_NoMemory();
    for (Py_ssize_t i = 0; r->plots && i < n; i++) {
        char *path = rs_py_path(PyList_GetItem(list, i));
        if (!path) return false;
        r->plots[r->n_plots++] = path;
    }
    return r->plots != NULL;
}

static bool read_settings(run *r, PyObject *dict)
{
    r->settings.size = sizeof r->settings;
    bool ok = rs_py_get_flag(dict, "aorta", &r->settings.aorta);
    uint64_t jobs = 0, skip = r->settings.aorta ? 0 : RS_METRICS_WARMUP;
    double percent = 0;
    ok = ok && rs_py_get_number(dict, "skip_warmup", &skip) && rs_py_get_number(dict, "jobs", &jobs) &&
         rs_py_get_flag(dict, "traces", &r->settings.traces) &&
         rs_py_get_real(dict, "between_run_sd", &percent) &&
         rs_py_get_text(dict, "reference", &r->reference) &&
         rs_py_get_text(dict, "candidate", &r->candidate) && rs_py_get_text(dict, "fail_on", &r->gate);
    if (ok && (jobs > 4096 || skip > INT64_MAX)) {
        PyErr_SetString(PyExc_ValueError, "jobs takes 0 to 4096");
        ok = false;
    }
    r->settings.jobs = (unsigned)jobs;
    r->settings.between_run_sd = percent / 100;
    r->settings.skip_warmup = (int64_t)skip;
    r->settings.progress = rs_py_task_progress;
    return ok;
}

/* runs: a list of (label, directory). */
static rs_status add_runs(run *r, PyObject *runs, rs_error *err)
{
    rs_status status = RS_OK;
    for (Py_ssize_t i = 0; status == RS_OK && i < PyList_Size(runs); i++) {
        PyObject *label, *directory, *text = NULL;
        char *path = NULL;
        if (PyArg_ParseTuple(PyList_GetItem(runs, i), "UO", &label, &directory) &&
            (text = PyUnicode_AsUTF8String(label)))
            path = rs_py_path(directory);
        if (path) status = rs_metrics_add(r->metrics, PyBytes_AsString(text), path, err);
        Py_XDECREF(text);
        free(path);
        if (!path) return RS_ERR_USAGE; /* with Python's exception */
    }
    return status;
}

static rs_status prepare(run *r, PyObject *runs, rs_error *err)
{
    rs_status status = rs_metrics_create(&r->settings, &r->metrics, err);
    if (status == RS_OK) status = add_runs(r, runs, err);
    if (status == RS_OK && r->reference && r->candidate)
        status = rs_metrics_compare(r->metrics, r->reference, r->candidate, err);
    if (status == RS_OK && r->gate &&
        (status = rs_metrics_gate_check(r->gate, &r->settings, r->reference && r->candidate, err)) != RS_OK)
        rs_error_wrap(err, "--fail-on");
    return status;
}

static PyObject *metrics(PyObject *module, PyObject *args, PyObject *words)
{
    (void)module;
    static char *names[] = {"runs", "settings", "plots", "progress", NULL};
    PyObject *runs, *settings, *plots = Py_None, *progress = Py_None, *answer = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, words, "O!O!|OO:metrics", names, &PyList_Type, &runs, &PyDict_Type,
                                     &settings, &plots, &progress))
        return NULL;
    run *r = calloc(1, sizeof *r);
    if (!r) return PyErr_NoMemory();
    if (!read_settings(r, settings) || !read_plots(r, plots)) {
        clear_run(r);
        return NULL;
    }
    rs_py_task *task = rs_py_task_create(&(rs_py_work){do_run, clear_run, r});
    if (!task) return NULL;
    r->settings.progress_context = task;
    rs_error err = RS_ERROR_INIT;
    rs_status status = prepare(r, runs, &err);
    if (status != RS_OK)
        answer = PyErr_Occurred() ? NULL : rs_py_raise(&err);
    else if (rs_py_task_run(task, progress, &err))
        answer = err.status == RS_OK ? rs_py_result_and_text(&r->result, &r->summary)
                                     : rs_py_raise_with(&err, &r->result.problems);
    rs_py_task_drop(task);
    return answer;
}

static PyObject *can_plot(PyObject *module, PyObject *args)
{
    (void)module;
    (void)args;
    return PyBool_FromLong(rs_metrics_can_plot());
}

static PyMethodDef functions[] = {
    {"metrics", (PyCFunction)(void (*)(void))metrics, METH_VARARGS | METH_KEYWORDS,
     "metrics(runs, settings, plots=None, progress=None) -> (Result, summary as JSON)"},
    {"can_plot", can_plot, METH_NOARGS, "can_plot() -> bool: whether this build draws pictures"},
    {NULL, NULL, 0, NULL},
};

static bool add(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}

const rs_py_part rs_py_part_metrics = {.add = add};
