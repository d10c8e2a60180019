/* Bytes that lie elsewhere: a Python function fetches them by ranges, on the threads that read. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

struct rs_py_remote {
    rs_remote remote;
    PyObject *fetch;
    char *name; /* in messages */
    rs_py_remote *next;
};

/* What the function raised, in one line. With the GIL. */
static rs_status fail_fetch(const rs_py_remote *r, uint64_t offset, rs_error *err)
{
    PyObject *type, *value, *traceback, *text = NULL;
    PyErr_Fetch(&type, &value, &traceback);
    bool no_memory = type && PyErr_GivenExceptionMatches(type, PyExc_MemoryError);
    if (value || type) text = PyObject_Str(value ? value : type);
    PyObject *bytes = text ? PyUnicode_AsEncodedString(text, "utf-8", "replace") : NULL;
    const char *why = bytes ? PyBytes_AsString(bytes) : NULL;
    rs_status status = no_memory ? rs_fail(err, RS_ERR_NOMEM, "out of memory while fetching %s", r->name)
                                 : rs_fail_at(err, RS_ERR_IO, r->name, offset, "cannot be fetched: %s",
                                              why ? why : "the fetch failed");
    PyErr_Clear();
    Py_XDECREF(bytes);
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return status;
}

static rs_status fetch(void *context, uint64_t offset, void *bytes, size_t n, size_t *got, rs_error *err)
{
    rs_py_remote *r = context;
    rs_status status = RS_OK;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *answer =
        PyObject_CallFunction(r->fetch, "KK", (unsigned long long)offset, (unsigned long long)n);
    if (answer && (!PyBytes_Check(answer) || (size_t)PyBytes_Size(answer) > n))
        PyErr_SetString(PyExc_TypeError, "fetch gives bytes, no more than it was asked for");
    if (PyErr_Occurred()) {
        status = fail_fetch(r, offset, err);
    } else {
        *got = (size_t)PyBytes_Size(answer);
        if (*got) memcpy(bytes, PyBytes_AsString(answer), *got);
    }
    Py_XDECREF(answer);
    PyGILState_Release(state);
    return status;
}

rs_py_remote *rs_py_remote_create(PyObject *given, const char *name, rs_py_remote *others)
{
    unsigned long long size;
    PyObject *function;
    if (!PyArg_ParseTuple(given, "KO", &size, &function)) return NULL;
    if (!PyCallable_Check(function)) {
        PyErr_SetString(PyExc_TypeError, "add takes a size and a function that fetches");
        return NULL;
    }
    rs_py_remote *r = calloc(1, sizeof *r);
    char *copy = strdup(name);
    if (!r || !copy) {
        free(r);
        free(copy);
        PyErr_NoMemory();
        return NULL;
    }
    Py_INCREF(function);
    *r = (rs_py_remote){.remote = {fetch, r, size}, .fetch = function, .name = copy, .next = others};
    return r;
}

const rs_remote *rs_py_remote_of(const rs_py_remote *remote)
{
    return remote ? &remote->remote : NULL;
}

void rs_py_remote_free(rs_py_remote *chain)
{
    while (chain) {
        rs_py_remote *next = chain->next;
        rs_py_release(chain->fetch);
        free(chain->name);
        free(chain);
        chain = next;
    }
}
