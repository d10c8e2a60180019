/* SQL over a job: a method of Job. */
#include "engine.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rankscope/sql.h"

typedef struct asking {
    rs_py_job **jobs; /* held: the one that is asked, and those that it is compared with */
    char **names;     /* theirs */
    size_t n_jobs;
    rs_py_job **locked; /* the same, each once, by address: so no two statements wait for each other */
    size_t n_locked;
    rs_sql_input *inputs;
    rs_py_task *task;
    char *query;
    rs_sql_settings settings;
    rs_result result;
} asking;

static void clear(void *context)
{
    asking *a = context;
    for (size_t i = 0; i < a->n_jobs; i++) {
        rs_py_job_drop(a->jobs[i]);
        free(a->names[i]);
    }
    free(a->jobs);
    free(a->names);
    free(a->locked);
    free(a->inputs);
    rs_result_clear(&a->result);
    free(a->query);
    free(a);
}

static bool goes_on(void *context)
{
    return rs_py_task_progress(((asking *)context)->task, 0, 0);
}

/* Takes each job once, by address. */
static void lock_jobs(asking *a)
{
    for (size_t i = 0; i < a->n_jobs; i++) {
        size_t at = a->n_locked;
        while (at && (uintptr_t)a->locked[at - 1] > (uintptr_t)a->jobs[i]) at--;
        if (at && a->locked[at - 1] == a->jobs[i]) continue;
        memmove(&a->locked[at + 1], &a->locked[at], (a->n_locked - at) * sizeof *a->locked);
        a->locked[at] = a->jobs[i];
        a->n_locked++;
    }
    for (size_t k = 0; k < a->n_locked; k++) {
        rs_job *job = rs_py_job_take(a->locked[k], a->task);
        for (size_t i = 0; i < a->n_jobs; i++)
            if (a->jobs[i] == a->locked[k]) a->inputs[i] = (rs_sql_input){a->names[i], job};
    }
}

static rs_status run(void *context, rs_error *err)
{
    asking *a = context;
    rs_sql_session *session = NULL;
    lock_jobs(a);
    a->settings.goes_on = goes_on;
    a->settings.context = a;
    if (a->n_jobs > 1) {
        a->settings.inputs = a->inputs;
        a->settings.n_inputs = a->n_jobs;
    }
    rs_status status = rs_sql_open(a->inputs[0].job, &a->settings, &session, err);
    if (status == RS_OK) status = rs_sql_run(session, a->query, &a->result, err);
    if (status == RS_OK && a->result.n_tables > 1)
        status = rs_fail(err, RS_ERR_USAGE, "sql takes one statement, and there are %zu", a->result.n_tables);
    rs_sql_close(session);
    while (a->n_locked) rs_py_job_let_go(a->locked[--a->n_locked]);
    return status;
}

/* A text of Python without null characters; NULL with an exception. */
static char *copy_text(PyObject *text, const char *what)
{
    char *copy = NULL;
    PyObject *bytes = PyUnicode_AsUTF8String(text);
    if (bytes && strlen(PyBytes_AsString(bytes)) != (size_t)PyBytes_Size(bytes))
        PyErr_Format(PyExc_ValueError, "%s holds a null character", what);
    else if (bytes && !(copy = strdup(PyBytes_AsString(bytes))))
        PyErr_NoMemory();
    Py_XDECREF(bytes);
    return copy;
}

static bool add_job(asking *a, PyObject *name, PyObject *job)
{
    if (!rs_py_is_job(job)) {
        PyErr_SetString(PyExc_TypeError, "sql takes jobs to compare with");
        return false;
    }
    if (!(a->names[a->n_jobs] = copy_text(name, "the name of an input"))) return false;
    rs_py_job *held = rs_py_job_hold(job);
    if (!held) {
        free(a->names[a->n_jobs]);
        return false;
    }
    a->jobs[a->n_jobs++] = held;
    return true;
}

/* others: a tuple of (name, job). */
static bool add_jobs(asking *a, PyObject *self, PyObject *others)
{
    size_t n = 1 + (size_t)PyTuple_Size(others);
    a->jobs = calloc(n, sizeof *a->jobs);
    a->names = calloc(n, sizeof *a->names);
    a->locked = calloc(n + 1, sizeof *a->locked);
    a->inputs = calloc(n, sizeof *a->inputs);
    PyObject *first = PyUnicode_FromString("1");
    bool ok = first && a->jobs && a->names && a->locked && a->inputs;
    if (first && !ok) PyErr_NoMemory();
    ok = ok && add_job(a, first, self);
    Py_XDECREF(first);
    for (size_t i = 1; ok && i < n; i++) {
        PyObject *name, *job;
        ok = PyArg_ParseTuple(PyTuple_GetItem(others, (Py_ssize_t)i - 1), "UO", &name, &job) &&
             add_job(a, name, job);
    }
    return ok;
}

PyObject *rs_py_sql(PyObject *job, PyObject *args, PyObject *words)
{
    static char *names[] = {"query", "settings", "progress", "others", NULL};
    PyObject *query, *settings, *progress = Py_None, *others = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, words, "UO!|OO!:sql", names, &query, &PyDict_Type, &settings,
                                     &progress, &PyTuple_Type, &others))
        return NULL;
    asking *a = calloc(1, sizeof *a);
    if (!a) return PyErr_NoMemory();
    a->settings.size = sizeof a->settings;
    PyObject *none = PyTuple_New(0);
    bool ok = none && (a->query = copy_text(query, "the query")) != NULL &&
              rs_py_get_number(settings, "max_memory", &a->settings.max_memory) &&
              rs_py_get_real(settings, "timeout", &a->settings.timeout) &&
              add_jobs(a, job, others ? others : none);
    Py_XDECREF(none);
    if (!ok) {
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
