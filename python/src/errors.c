/* The library's errors as Python's exceptions. */
#include "engine.h"

#include <string.h>

PyObject *rs_py_text(const char *text)
{
    if (!text) Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

bool rs_py_put(PyObject *dict, const char *key, PyObject *value)
{
    bool ok = value && PyDict_SetItemString(dict, key, value) == 0;
    Py_XDECREF(value);
    return ok;
}

bool rs_py_append(PyObject *list, PyObject *value)
{
    bool ok = value && PyList_Append(list, value) == 0;
    Py_XDECREF(value);
    return ok;
}

static const char *status_name(rs_status status)
{
    switch (status) {
    case RS_OK: return "ok";
    case RS_ERR_NOMEM: return "memory";
    case RS_ERR_IO: return "io";
    case RS_ERR_FORMAT: return "format";
    case RS_ERR_LIMIT: return "limit";
    case RS_ERR_USAGE: return "usage";
    case RS_ERR_AMBIGUOUS: return "ambiguous";
    case RS_ERR_CANCELLED: return "cancelled";
    }
    return "unknown";
}

static PyObject *make_causes(const rs_error *err)
{
    PyObject *list = PyList_New(0);
    for (unsigned i = 0; list && i < err->n_causes; i++) {
        const rs_cause *cause = &err->causes[i];
        PyObject *one = PyDict_New();
        bool ok = one && rs_py_put(one, "message", rs_py_text(cause->message)) &&
                  rs_py_put(one, "file", rs_py_text(cause->file[0] ? cause->file : NULL)) &&
                  rs_py_put(one, "offset",
                            cause->offset == RS_NO_OFFSET ? rs_py_text(NULL)
                                                          : PyLong_FromUnsignedLongLong(cause->offset));
        if (!ok) {
            Py_XDECREF(one);
            Py_CLEAR(list);
        } else if (!rs_py_append(list, one)) {
            Py_CLEAR(list);
        }
    }
    return list;
}

PyObject *rs_py_raise_with(const rs_error *err, const rs_problems *problems)
{
    char text[RS_ERROR_CAUSES * (2 * RS_ERROR_TEXT + 64)];
    rs_error_text(err, text, sizeof text);
    PyObject *module = PyImport_ImportModule("rankscope.errors");
    PyObject *message = rs_py_text(text), *causes = make_causes(err);
    PyObject *list = problems ? rs_py_problems(problems) : PyList_New(0);
    PyObject *exception =
        module && message && causes && list
            ? PyObject_CallMethod(module, "_make", "sOOO", status_name(err->status), message, causes, list)
            : NULL;
    if (exception) PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(module);
    Py_XDECREF(message);
    Py_XDECREF(causes);
    Py_XDECREF(list);
    Py_XDECREF(exception);
    return NULL;
}

PyObject *rs_py_raise(const rs_error *err)
{
    return rs_py_raise_with(err, NULL);
}

PyObject *rs_py_refuse(const char *message)
{
    rs_error err = RS_ERROR_INIT;
    rs_fail(&err, RS_ERR_USAGE, "%s", message);
    return rs_py_raise(&err);
}
