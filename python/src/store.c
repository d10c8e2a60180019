/* The store of what was read: looking at it, checking it, emptying it, filling it from a job. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

#include "rankscope/store.h"

typedef struct storing {
    rs_py_job *job; /* held; NULL: a folder */
    rs_py_task *task;
    char *folder;
    rs_store_task what;
    PyObject *kept; /* what the paths point into */
    const char **paths;
    size_t n_paths;
    rs_result result;
} storing;

static void clear(void *context)
{
    storing *s = context;
    rs_py_job_drop(s->job);
    rs_py_release(s->kept);
    rs_result_clear(&s->result);
    free(s->folder);
    free(s->paths);
    free(s);
}

static rs_status run(void *context, rs_error *err)
{
    storing *s = context;
    if (!s->job) return rs_store_do(s->folder, s->what, s->paths, s->n_paths, &s->result, err);
    rs_status status = rs_job_build_store(rs_py_job_take(s->job, s->task), &s->result, err);
    rs_py_job_let_go(s->job);
    return status;
}

/* Runs it and gives its Result. Drops it. */
static PyObject *answer(storing *s, PyObject *progress)
{
    s->task = rs_py_task_create(&(rs_py_work){run, clear, s});
    if (!s->task) return NULL;
    rs_py_task *task = s->task; /* s may be gone when the work was left to itself */
    rs_error err = RS_ERROR_INIT;
    PyObject *result = NULL;
    if (rs_py_task_run(task, progress, &err))
        result = err.status == RS_OK ? rs_py_result(&s->result) : rs_py_raise_with(&err, &s->result.problems);
    rs_py_task_drop(task);
    return result;
}

static PyObject *store(PyObject *module, PyObject *args)
{
    static const char *const words[] = {"list", "verify", "drop"};
    (void)module;
    PyObject *folder, *paths;
    const char *what;
    if (!PyArg_ParseTuple(args, "OsO!:store", &folder, &what, &PyList_Type, &paths)) return NULL;
    size_t task = 0;
    while (task < 3 && strcmp(words[task], what) != 0) task++;
    if (task == 3) return rs_py_refuse("store takes list, verify or drop");
    storing *s = calloc(1, sizeof *s);
    if (!s) return PyErr_NoMemory();
    s->what = (rs_store_task)task;
    s->folder = rs_py_path(folder);
    if (s->folder) s->paths = rs_py_paths(paths, &s->kept);
    if (!s->paths) {
        if (!PyErr_Occurred()) rs_py_refuse("the store is a folder");
        clear(s);
        return NULL;
    }
    s->n_paths = (size_t)PyList_Size(paths);
    return answer(s, Py_None);
}

PyObject *rs_py_build_store(PyObject *job, PyObject *args)
{
    PyObject *progress = Py_None;
    if (!PyArg_ParseTuple(args, "|O:build_store", &progress)) return NULL;
    storing *s = calloc(1, sizeof *s);
    if (!s) return PyErr_NoMemory();
    if (!(s->job = rs_py_job_hold(job))) {
        clear(s);
        return NULL;
    }
    return answer(s, progress);
}

static PyMethodDef functions[] = {
    {"store", store, METH_VARARGS, "store(folder, \"list\", \"verify\" or \"drop\", paths) -> Result"},
    {NULL, NULL, 0, NULL},
};

bool rs_py_add_store(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}
