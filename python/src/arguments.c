/* What Python gives, as C takes it, and sinks. */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool rs_py_get_flag(PyObject *settings, const char *name, bool *out)
{
    PyObject *value = PyDict_GetItemString(settings, name);
    int truth = value ? PyObject_IsTrue(value) : *out;
    if (truth < 0) return false;
    *out = truth;
    return true;
}

bool rs_py_get_number(PyObject *settings, const char *name, uint64_t *out)
{
    PyObject *value = PyDict_GetItemString(settings, name);
    if (!value || value == Py_None) return true;
    *out = PyLong_AsUnsignedLongLong(value);
    return !PyErr_Occurred();
}

bool rs_py_get_real(PyObject *settings, const char *name, double *out)
{
    PyObject *value = PyDict_GetItemString(settings, name);
    if (!value || value == Py_None) return true;
    *out = PyFloat_AsDouble(value);
    return !PyErr_Occurred();
}

bool rs_py_get_text(PyObject *settings, const char *name, char **out)
{
    PyObject *value = PyDict_GetItemString(settings, name);
    if (!value || value == Py_None) return true;
    PyObject *bytes = PyUnicode_AsUTF8String(value);
    const char *text = bytes ? PyBytes_AsString(bytes) : NULL;
    *out = text ? strdup(text) : NULL;
    Py_XDECREF(bytes);
    if (text && !*out) PyErr_NoMemory();
    return *out != NULL;
}

const char **rs_py_paths(PyObject *list, PyObject **kept)
{
    Py_ssize_t n = PyList_Size(list);
    const char **paths = n < 0 ? NULL : calloc((size_t)n + 1, sizeof *paths);
    *kept = PyList_New(0);
    if (n >= 0 && !paths) PyErr_NoMemory();
    bool ok = paths && *kept;
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        PyObject *bytes = NULL;
        ok = PyUnicode_FSConverter(PyList_GetItem(list, i), &bytes) && PyList_Append(*kept, bytes) == 0 &&
             (paths[i] = PyBytes_AsString(bytes)) != NULL;
        Py_XDECREF(bytes);
    }
    if (ok) return paths;
    free(paths);
    Py_CLEAR(*kept);
    return NULL;
}

char *rs_py_path(PyObject *value)
{
    PyObject *bytes = NULL;
    if (value == Py_None || !PyUnicode_FSConverter(value, &bytes)) return NULL;
    char *copy = strdup(PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    if (!copy) PyErr_NoMemory();
    return copy;
}

/* ---- sinks -------------------------------------------------------------------------------------------- */

static bool add_bytes(void *context, const char *bytes, size_t n)
{
    rs_py_sink *s = context;
    if (s->file) {
        if (fwrite(bytes, 1, n, s->file) == n) return true;
        s->code = errno ? errno : EIO;
        return false;
    }
    if (n > s->capacity - s->n) {
        size_t wanted = s->capacity ? s->capacity : 4096;
        while (wanted - s->n < n && wanted <= SIZE_MAX / 2) wanted *= 2;
        char *grown = wanted - s->n < n ? NULL : realloc(s->bytes, wanted);
        if (!grown) {
            s->no_memory = true;
            return false;
        }
        s->bytes = grown;
        s->capacity = wanted;
    }
    memcpy(s->bytes + s->n, bytes, n);
    s->n += n;
    return true;
}

rs_sink rs_py_sink_of(rs_py_sink *sink)
{
    return (rs_sink){add_bytes, sink};
}

static rs_status fill(rs_py_sink *sink, rs_status (*write)(void *, const rs_sink *, rs_error *),
                      void *context, rs_error *err)
{
    rs_sink plain = rs_py_sink_of(sink);
    if (!sink->name) return write(context, &plain, err);
    rs_packer *packer = NULL;
    rs_status status = rs_packer_open(rs_pack_of_name(sink->name), &plain, &packer, err);
    if (status != RS_OK) return status;
    rs_sink packed = rs_packer_sink(packer);
    status = write(context, &packed, err);
    if (status == RS_OK) status = rs_packer_finish(packer, err);
    rs_packer_close(packer);
    return status;
}

rs_status rs_py_sink_fill(rs_py_sink *sink, rs_status (*write)(void *, const rs_sink *, rs_error *),
                          void *context, rs_error *err)
{
    if (sink->path && !(sink->file = fopen(sink->path, "wb")))
        return rs_fail_at(err, RS_ERR_IO, sink->path, RS_NO_OFFSET, "cannot write: %s", strerror(errno));
    rs_status status = fill(sink, write, context, err);
    if (sink->file && fclose(sink->file) != 0 && !sink->code) sink->code = errno;
    sink->file = NULL;
    if (sink->no_memory) return rs_fail_nomem(err, "the output");
    if (sink->code)
        return rs_fail_at(err, RS_ERR_IO, sink->path, RS_NO_OFFSET, "cannot write: %s", strerror(sink->code));
    return status;
}

PyObject *rs_py_sink_bytes(const rs_py_sink *sink)
{
    if (sink->path) Py_RETURN_NONE;
    return PyBytes_FromStringAndSize(sink->bytes, (Py_ssize_t)sink->n);
}

PyObject *rs_py_sink_text(const rs_py_sink *sink)
{
    if (sink->path) Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(sink->bytes ? sink->bytes : "", (Py_ssize_t)sink->n, "replace");
}

void rs_py_sink_clear(rs_py_sink *sink)
{
    free(sink->bytes);
    free(sink->path);
    free(sink->name);
    *sink = (rs_py_sink){0};
}

PyObject *rs_py_sink_end(rs_py_sink *sink, rs_status status, const rs_error *err)
{
    PyObject *text = sink->no_memory   ? PyErr_NoMemory()
                     : status == RS_OK ? rs_py_sink_text(sink)
                                       : rs_py_raise(err);
    rs_py_sink_clear(sink);
    return text;
}
