/* SQL over a job: a method of Job. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

#include "rankscope/sql.h"

typedef struct asking {
    rs_py_job *job; /* held */
    rs_py_task *task;
    char *query;
    rs_sql_settings settings;
    rs_result result;
} asking;

static void clear(void *context)
{
    asking *a = context;
    rs_py_job_drop(a->job);
    rs_result_clear(&a->result);
    free(a->query);
    free(a);
}

static bool goes_on(void *context)
{
    return rs_py_task_progress(((asking *)context)->task, 0, 0);
}

static rs_status run(void *context, rs_error *err)
{
    asking *a = context;
    rs_sql_session *session = NULL;
    rs_job *job = rs_py_job_take(a->job, a->task);
    a->settings.goes_on = goes_on;
    a->settings.context = a;
    rs_status status = rs_sql_open(job, &a->settings, &session, err);
    if (status == RS_OK) status = rs_sql_run(session, a->query, &a->result, err);
    if (status == RS_OK && a->result.n_tables > 1)
        status = rs_fail(err, RS_ERR_USAGE, "sql takes one statement, and there are %zu", a->result.n_tables);
    rs_sql_close(session);
    rs_py_job_let_go(a->job);
    return status;
}

PyObject *rs_py_sql(PyObject *job, PyObject *args, PyObject *words)
{
    static char *names[] = {"query", "settings", "progress", NULL};
    PyObject *query, *settings, *progress = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, words, "UO!|O:sql", names, &query, &PyDict_Type, &settings,
                                     &progress))
        return NULL;
    asking *a = calloc(1, sizeof *a);
    if (!a) return PyErr_NoMemory();
    a->settings.size = sizeof a->settings;
    PyObject *text = PyUnicode_AsUTF8String(query);
    if (text && strlen(PyBytes_AsString(text)) != (size_t)PyBytes_Size(text))
        PyErr_SetString(PyExc_ValueError, "the query holds a null character");
    else if (text && !(a->query = strdup(PyBytes_AsString(text))))
        PyErr_NoMemory();
    Py_XDECREF(text);
    if (!a->query || !rs_py_get_number(settings, "max_memory", &a->settings.max_memory) ||
        !rs_py_get_real(settings, "timeout", &a->settings.timeout) || !(a->job = rs_py_job_hold(job))) {
        clear(a);
        return NULL;
    }
    a->task = rs_py_task_create(&(rs_py_work){run, clear, a});
    if (!a->task) return NULL;
    rs_py_task *task = a->task; /* a may be gone when the work was left to itself */
    rs_error err = RS_ERROR_INIT;
    PyObject *result = NULL;
    if (rs_py_task_run(task, progress, &err))
        result = err.status == RS_OK ? rs_py_result(&a->result) : rs_py_raise_with(&err, &a->result.problems);
    rs_py_task_drop(task);
    return result;
}
