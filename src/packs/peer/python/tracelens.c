/* TraceLens' sheets and its comparison of reports. */
#include "engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "rankscope/tracelens.h"
#include "rankscope/tracelens_compare.h"

/* The tables of a list of Table, borrowed; to be freed. NULL with an exception. */
static rs_table **tables_of(PyObject *list, PyObject *type, size_t *n)
{
    Py_ssize_t count = PyList_Size(list);
    rs_table **tables = count < 0 ? NULL : calloc((size_t)count + 1, sizeof *tables);
    if (!tables && count >= 0) PyErr_NoMemory();
    for (Py_ssize_t i = 0; tables && i < count; i++) {
        PyObject *one = PyList_GetItem(list, i);
        if (!PyObject_TypeCheck(one, (PyTypeObject *)type)) {
            PyErr_SetString(PyExc_TypeError, "what is shown are tables");
            free(tables);
            return NULL;
        }
        tables[i] = (rs_table *)rs_py_table_of(one); /* only read */
    }
    *n = count < 0 ? 0 : (size_t)count;
    return tables;
}

/* ---- TraceLens' report --------------------------------------------------------------------------------- */

typedef struct sheets {
    rs_py_job *job; /* held */
    rs_py_task *task;
    char *device;
    rs_tracelens_settings settings;
    rs_tracelens_report *report;
    rs_result told;
} sheets;

static void clear_sheets(void *context)
{
    sheets *s = context;
    rs_py_job_drop(s->job);
    rs_tracelens_report_free(s->report);
    rs_result_clear(&s->told);
    free(s->device);
    free(s);
}

static rs_status run_sheets(void *context, rs_error *err)
{
    sheets *s = context;
    rs_job *job = rs_py_job_take(s->job, s->task);
    rs_status status = rs_tracelens_report_create(job, &s->settings, &s->report, &s->told, err);
    rs_py_job_let_go(s->job);
    return status;
}

/* Copies, so that they outlive the report. */
static PyObject *tables_list(const rs_table *const *tables, size_t n)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < n; i++) {
        rs_error err = RS_ERROR_INIT;
        rs_table *copy = rs_py_copy_rows(tables[i], NULL, 0, rs_table_n_rows(tables[i]), &err);
        PyObject *table = copy ? rs_py_table(copy) : rs_py_raise(&err);
        if (!rs_py_append(list, table)) Py_CLEAR(list);
    }
    return list;
}

/* ([(rank, its sheets)], those over all ranks, Result without tables) */
static PyObject *sheets_of(sheets *s)
{
    PyObject *ranks = PyList_New(0);
    size_t n;
    for (size_t i = 0; ranks && i < rs_tracelens_report_n_ranks(s->report); i++) {
        const rs_table *const *tables = rs_tracelens_report_sheets(s->report, i, &n);
        PyObject *list = tables_list(tables, n);
        long long rank = rs_tracelens_report_rank(s->report, i);
        if (!rs_py_append(ranks, list ? Py_BuildValue("(LN)", rank, list) : NULL)) Py_CLEAR(ranks);
    }
    const rs_table *const *of_job = rs_tracelens_report_job_sheets(s->report, &n);
    PyObject *job = ranks ? tables_list(of_job, n) : NULL;
    PyObject *told = job ? rs_py_result(&s->told) : NULL;
    PyObject *answer = told ? PyTuple_Pack(3, ranks, job, told) : NULL;
    Py_XDECREF(ranks);
    Py_XDECREF(job);
    Py_XDECREF(told);
    return answer;
}

/* Microseconds, as whole nanoseconds; absent: 0. */
static bool get_us(PyObject *settings, const char *name, int64_t *ns)
{
    double us = 0;
    if (!rs_py_get_real(settings, name, &us)) return false;
    *ns = rs_int_near(us * 1000);
    return true;
}

static PyObject *tracelens(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *job, *settings, *progress = Py_None, *answer = NULL;
    if (!PyArg_ParseTuple(args, "OO!|O:tracelens", &job, &PyDict_Type, &settings, &progress)) return NULL;
    if (!rs_py_is_job(job)) return rs_py_refuse("sheets are made of a Job");
    sheets *s = calloc(1, sizeof *s);
    if (!s) return PyErr_NoMemory();
    s->settings = (rs_tracelens_settings){.size = sizeof s->settings};
    rs_tracelens_settings *w = &s->settings;
    if (!rs_py_get_text(settings, "device", &s->device) || !get_us(settings, "short_kernels", &w->short_ns) ||
        !get_us(settings, "micro_idle", &w->micro_idle_ns) ||
        !rs_py_get_flag(settings, "unlinked", &w->unlinked) ||
        !rs_py_get_flag(settings, "recompute", &w->recompute) ||
        !rs_py_get_flag(settings, "collectives", &w->collectives_only) ||
        !rs_py_get_flag(settings, "detailed", &w->detailed) || !(s->job = rs_py_job_hold(job))) {
        clear_sheets(s);
        return NULL;
    }
    w->device = s->device;
    s->task = rs_py_task_create(&(rs_py_work){run_sheets, clear_sheets, s});
    if (!s->task) return NULL;
    rs_py_task *task = s->task; /* s may be gone when the work was left to itself */
    rs_error err = RS_ERROR_INIT;
    if (rs_py_task_run(task, progress, &err))
        answer = err.status == RS_OK ? sheets_of(s) : rs_py_raise_with(&err, &s->told.problems);
    rs_py_task_drop(task);
    return answer;
}

/* ---- TraceLens' comparison of reports ------------------------------------------------------------------ */

typedef struct inputs {
    rs_tracelens_input *items;
    char **names, **paths;
    rs_table ***tables;
    size_t n;
} inputs;

static void clear_inputs(inputs *in)
{
    for (size_t i = 0; in->tables && i < in->n; i++) free(in->tables[i]);
    rs_py_free_texts(in->names, in->n);
    rs_py_free_texts(in->paths, in->n);
    free(in->tables);
    free(in->items);
}

/* A list of (name, path or None, list of Table). */
static bool read_inputs(inputs *in, PyObject *list, PyObject *type)
{
    size_t n = (size_t)PyList_Size(list);
    in->items = calloc(n + 1, sizeof *in->items);
    in->names = calloc(n + 1, sizeof *in->names);
    in->paths = calloc(n + 1, sizeof *in->paths);
    in->tables = calloc(n + 1, sizeof *in->tables);
    in->n = n;
    if (!in->items || !in->names || !in->paths || !in->tables) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        PyObject *name, *path, *tables;
        rs_tracelens_input *item = &in->items[i];
        if (!PyArg_ParseTuple(PyList_GetItem(list, (Py_ssize_t)i), "OOO!:input", &name, &path, &PyList_Type,
                              &tables) ||
            !(in->names[i] = rs_py_text_of(name)))
            return false;
        in->paths[i] = rs_py_path(path);
        if (PyErr_Occurred() || !(in->tables[i] = tables_of(tables, type, &item->n_sheets))) return false;
        item->name = in->names[i];
        item->path = in->paths[i];
        item->sheets = (const rs_table *const *)in->tables[i];
    }
    return true;
}

static PyObject *compare(const inputs *in, const char *groups)
{
    rs_tracelens_comparison *compared = NULL;
    rs_result told = {0};
    rs_error err = RS_ERROR_INIT;
    rs_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = rs_tracelens_compare(in->items, in->n, groups, &compared, &told, &err);
    Py_END_ALLOW_THREADS;
    PyObject *answer = NULL;
    if (status != RS_OK) {
        rs_py_raise_with(&err, &told.problems);
    } else {
        size_t n;
        const rs_table *const *tables = rs_tracelens_comparison_sheets(compared, &n);
        PyObject *list = tables_list(tables, n), *rest = list ? rs_py_result(&told) : NULL;
        answer = rest ? PyTuple_Pack(2, list, rest) : NULL;
        Py_XDECREF(list);
        Py_XDECREF(rest);
    }
    rs_tracelens_comparison_free(compared);
    rs_result_clear(&told);
    return answer;
}

static PyObject *tracelens_compare(PyObject *module, PyObject *args)
{
    PyObject *list;
    const char *groups;
    if (!PyArg_ParseTuple(args, "O!z:tracelens_compare", &PyList_Type, &list, &groups)) return NULL;
    PyObject *type = PyObject_GetAttrString(module, "Table"), *answer = NULL;
    inputs in = {0};
    if (type && read_inputs(&in, list, type)) answer = compare(&in, groups);
    clear_inputs(&in);
    Py_XDECREF(type);
    return answer;
}

static PyObject *is_report(PyObject *module, PyObject *path)
{
    (void)module;
    char *name = rs_py_path(path);
    if (!name) return PyErr_Occurred() ? NULL : PyBool_FromLong(0);
    bool is = rs_tracelens_is_report(name);
    free(name);
    return PyBool_FromLong(is);
}

static PyMethodDef functions[] = {
    {"tracelens", tracelens, METH_VARARGS,
     "tracelens(job, settings, progress=None) -> ([(rank, sheets)], sheets over all ranks, Result without tables)"},
    {"tracelens_compare", tracelens_compare, METH_VARARGS,
     "tracelens_compare([(name, path or None, tables)], groups or None) -> (tables, Result)"},
    {"tracelens_is_report", is_report, METH_O,
     "tracelens_is_report(path) -> whether it is a workbook or a folder of sheets"},
    {NULL, NULL, 0, NULL},
};

static bool add(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}

const rs_py_part rs_py_part_tracelens = {.add = add};
