/* Several analyses at once: over a job, as partial results of its ranks, and merged from those. */
#include "engine.h"

#include "rankscope/partial.h"

#include <stdlib.h>

/* What one call works on; its queries, and either a job or packed parts. */
typedef struct batch {
    rs_py_job *job;   /* held; NULL: merging */
    rs_py_task *task; /* not held: it outlives its context */
    bool map;
    PyObject *kept; /* the list of bytes that are merged */
    rs_bytes *packed;
    size_t n_packed;
    rs_query *queries;
    rs_options **options; /* of each query */
    rs_result *results;   /* of each query */
    size_t n;
    rs_bytes out; /* of map */
} batch;

static void clear_batch(void *context)
{
    batch *b = context;
    rs_py_job_drop(b->job);
    rs_py_release(b->kept);
    for (size_t i = 0; i < b->n; i++) {
        rs_options_free(b->options[i]);
        rs_result_clear(&b->results[i]);
    }
    rs_bytes_free(&b->out);
    free(b->packed);
    free(b->queries);
    free(b->options);
    free(b->results);
    free(b);
}

static rs_status do_batch(void *context, rs_error *err)
{
    batch *b = context;
    if (!b->job) return rs_merge_packed(b->packed, b->n_packed, b->queries, b->n, b->results, err);
    rs_job *job = rs_py_job_take(b->job, b->task);
    rs_status status = !rs_py_task_progress(b->task, 0, 0) ? rs_fail(err, RS_ERR_CANCELLED, "stopped")
                       : b->map                            ? rs_job_map(job, b->queries, b->n, &b->out, err)
                                : rs_job_run_many(job, b->queries, b->n, b->results, err);
    rs_py_job_let_go(b->job);
    return status;
}

/* One (analysis, options, compat). */
static bool add_query(batch *b, PyObject *one)
{
    rs_error err = RS_ERROR_INIT;
    const char *name;
    PyObject *options, *compat;
    if (!PyTuple_Check(one)) {
        PyErr_SetString(PyExc_TypeError, "a query is a tuple: analysis, options, compat");
        return false;
    }
    if (!PyArg_ParseTuple(one, "sO!O:query", &name, &PyDict_Type, &options, &compat)) return false;
    rs_query *query = &b->queries[b->n];
    query->analysis = rs_analysis_find(name);
    if (!query->analysis) {
        rs_fail(&err, RS_ERR_USAGE, "there is no analysis \"%.60s\"", name);
        rs_py_raise(&err);
        return false;
    }
    size_t n;
    if (!rs_py_compat(compat, &query->compat)) return false;
    const rs_option_spec *specs = rs_analysis_options(query->analysis, &n);
    if (rs_options_create(specs, n, &b->options[b->n], &err) != RS_OK) {
        rs_py_raise(&err);
        return false;
    }
    query->options = b->options[b->n++];
    return rs_py_set_options(b->options[b->n - 1], options);
}

static batch *make_batch(PyObject *queries)
{
    Py_ssize_t n = PyList_Size(queries);
    batch *b = calloc(1, sizeof *b);
    if (b) {
        b->queries = calloc((size_t)n + 1, sizeof *b->queries);
        b->options = calloc((size_t)n + 1, sizeof *b->options);
        b->results = calloc((size_t)n + 1, sizeof *b->results);
    }
    if (!b || !b->queries || !b->options || !b->results) {
        if (b) clear_batch(b);
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (add_query(b, PyList_GetItem(queries, i))) continue;
        clear_batch(b);
        return NULL;
    }
    return b;
}

/* The bytes to merge: borrowed from a list of our own, which nobody else changes. */
static bool set_packed(batch *b, PyObject *list)
{
    Py_ssize_t n = PyList_Size(list);
    b->kept = PyList_GetSlice(list, 0, n);
    b->packed = b->kept ? calloc((size_t)n + 1, sizeof *b->packed) : NULL;
    if (b->kept && !b->packed) PyErr_NoMemory();
    if (!b->packed) return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *one = PyList_GetItem(b->kept, i);
        if (!PyBytes_Check(one)) {
            PyErr_SetString(PyExc_TypeError, "merge takes a list of bytes");
            return false;
        }
        b->packed[i] = (rs_bytes){.data = PyBytes_AsString(one), .n = (size_t)PyBytes_Size(one)};
        b->n_packed++;
    }
    return true;
}

static PyObject *answer(batch *b)
{
    if (b->map) return PyBytes_FromStringAndSize(b->out.data, (Py_ssize_t)b->out.n);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < b->n; i++)
        if (!rs_py_append(list, rs_py_result(&b->results[i]))) Py_CLEAR(list);
    return list;
}

/* What was found wrong with the input, of the first analysis that says something. */
static const rs_problems *first_problems(const batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->results[i].problems.n) return &b->results[i].problems;
    static const rs_problems none;
    return &none;
}

/* Runs a batch, which is taken over. */
static PyObject *run_batch(batch *b, PyObject *progress)
{
    rs_py_task *task = rs_py_task_create(&(rs_py_work){do_batch, clear_batch, b});
    if (!task) return NULL;
    b->task = task;
    PyObject *result = NULL;
    rs_error err = RS_ERROR_INIT;
    if (rs_py_task_run(task, progress, &err))
        result = err.status == RS_OK ? answer(b) : rs_py_raise_with(&err, first_problems(b));
    rs_py_task_drop(task);
    return result;
}

static PyObject *over_job(PyObject *job, PyObject *args, PyObject *words, bool map)
{
    static char *names[] = {"queries", "progress", NULL};
    PyObject *queries, *progress = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, words, map ? "O!|O:map" : "O!|O:run_many", names, &PyList_Type,
                                     &queries, &progress))
        return NULL;
    batch *b = make_batch(queries);
    if (!b) return NULL;
    b->map = map;
    b->job = rs_py_job_hold(job);
    if (b->job) return run_batch(b, progress);
    clear_batch(b);
    return NULL;
}

PyObject *rs_py_run_many(PyObject *job, PyObject *args, PyObject *words)
{
    return over_job(job, args, words, false);
}

PyObject *rs_py_map(PyObject *job, PyObject *args, PyObject *words)
{
    return over_job(job, args, words, true);
}

static PyObject *merge(PyObject *module, PyObject *args, PyObject *words)
{
    (void)module;
    static char *names[] = {"packed", "queries", NULL};
    PyObject *packed, *queries;
    if (!PyArg_ParseTupleAndKeywords(args, words, "O!O!:merge", names, &PyList_Type, &packed, &PyList_Type,
                                     &queries))
        return NULL;
    batch *b = make_batch(queries);
    if (!b) return NULL;
    if (set_packed(b, packed)) return run_batch(b, Py_None);
    clear_batch(b);
    return NULL;
}

/* The analyses whose partial results travel. */
static PyObject *can_map(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name;
    if (!PyArg_ParseTuple(args, "s:can_map", &name)) return NULL;
    const rs_analysis *analysis = rs_analysis_find(name);
    return PyBool_FromLong(analysis && rs_analysis_can_map(analysis));
}

static PyMethodDef functions[] = {
    {"merge", (PyCFunction)(void (*)(void))merge, METH_VARARGS | METH_KEYWORDS,
     "merge(packed, queries) -> list of Result: what one run over all the jobs that were mapped would have "
     "given"},
    {"can_map", can_map, METH_VARARGS, "can_map(analysis) -> bool: whether map takes it"},
    {NULL, NULL, 0, NULL},
};

bool rs_py_add_many(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}
