/* A page with one answer alone. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

char *rs_py_text_of(PyObject *value)
{
    PyObject *bytes =
        PyUnicode_Check(value) ? PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape") : NULL;
    if (!bytes) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a name is a str");
        return NULL;
    }
    char *copy = strdup(PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    if (!copy) PyErr_NoMemory();
    return copy;
}

void rs_py_free_texts(char **texts, size_t n)
{
    for (size_t i = 0; texts && i < n; i++) free(texts[i]);
    free(texts);
}

/* ---- a page with one answer ---------------------------------------------------------------------------- */

static char **texts_of(PyObject *list, size_t *n)
{
    Py_ssize_t count = PyList_Size(list);
    char **texts = count < 0 ? NULL : calloc((size_t)count + 1, sizeof *texts);
    if (!texts && count >= 0) PyErr_NoMemory();
    for (*n = 0; texts && *n < (size_t)count; ++*n)
        if (!(texts[*n] = rs_py_text_of(PyList_GetItem(list, (Py_ssize_t)*n)))) {
            rs_py_free_texts(texts, *n);
            return NULL;
        }
    return texts;
}

static PyObject *make_page(const char *kind, char **names, size_t n_names, const rs_result *shown)
{
    rs_py_sink buffer = {0};
    rs_sink sink = rs_py_sink_of(&buffer);
    rs_error err = RS_ERROR_INIT;
    rs_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = strcmp(kind, "history") == 0
                 ? rs_report_write_history(names[0], shown, &sink, &err)
                 : rs_report_write_comparison((const char *const *)names, n_names, shown, &sink, &err);
    Py_END_ALLOW_THREADS;
    return rs_py_sink_end(&buffer, status, &err);
}

PyObject *rs_py_table_page(PyObject *self, PyObject *args)
{
    const char *kind;
    PyObject *given;
    size_t n = 0;
    if (!PyArg_ParseTuple(args, "sO!:page", &kind, &PyList_Type, &given)) return NULL;
    char **names = texts_of(given, &n);
    if (!names) return NULL;
    PyObject *text =
        n ? make_page(kind, names, n, rs_py_result_behind(self)) : rs_py_refuse("a page names its inputs");
    rs_py_free_texts(names, n);
    return text;
}
