/* Files' texts and headers. */
#include "engine.h"

#include <stdlib.h>

#include "rankscope/file.h"

typedef rs_status (*reader)(const char *path, uint64_t max_ratio, const rs_sink *sink, rs_error *err);

typedef struct call {
    reader read;
    char *path;
    rs_py_sink out;
} call;

static void clear_call(void *context)
{
    call *c = context;
    rs_py_sink_clear(&c->out);
    free(c->path);
    free(c);
}

static rs_status do_read(void *context, rs_error *err)
{
    call *c = context;
    rs_sink sink = rs_py_sink_of(&c->out);
    rs_status status = c->read(c->path, 0, &sink, err);
    return c->out.no_memory ? rs_fail(err, RS_ERR_NOMEM, "out of memory") : status;
}

static PyObject *run(reader read, PyObject *path)
{
    rs_error err = RS_ERROR_INIT;
    call *c = calloc(1, sizeof *c);
    if (!c) return PyErr_NoMemory();
    c->read = read;
    c->path = rs_py_path(path);
    if (!c->path) {
        clear_call(c);
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a path is wanted, not None");
        return NULL;
    }
    rs_py_task *task = rs_py_task_create(&(rs_py_work){do_read, clear_call, c});
    if (!task) return NULL;
    PyObject *bytes = NULL;
    if (rs_py_task_run(task, Py_None, &err))
        bytes = err.status == RS_OK ? rs_py_sink_bytes(&c->out) : rs_py_raise(&err);
    rs_py_task_drop(task);
    return bytes;
}

static PyObject *file_text(PyObject *module, PyObject *path)
{
    (void)module;
    return run(rs_file_text, path);
}

static PyObject *file_header(PyObject *module, PyObject *path)
{
    (void)module;
    return run(rs_file_header, path);
}

static PyMethodDef functions[] = {
    {"file_text", file_text, METH_O, "file_text(path) -> bytes: a file's text, unpacked"},
    {"file_header", file_header, METH_O,
     "file_header(path) -> bytes: the JSON of a trace's file without its events"},
    {NULL, NULL, 0, NULL},
};

bool rs_py_add_file(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}
