/* Flight-recorder dumps. */
#include "engine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct flight_object {
    PyObject_HEAD rs_flight *flight; /* NULL: a later snapshot of the job has taken it over */
    pthread_mutex_t lock;            /* an rs_flight is one thread's at a time */
} flight_object;

static PyTypeObject *flight_type;

#define MOST_WORKERS 100000 /* as the program has it */

/* ---- opening ------------------------------------------------------------------------------------------ */

typedef struct opening {
    const char **paths;
    size_t n_paths;
    rs_flight_bytes *dumps;
    size_t n_dumps;
    rs_flight_answer *answers; /* of a running job's servers */
    size_t n_answers;
    const char **logs;
    PyObject *kept, *kept_logs; /* what these point into */
    char *prefix;
    rs_flight_settings settings;
    rs_flight *flight;
} opening;

static void clear_opening(void *context)
{
    opening *o = context;
    rs_flight_close(o->flight);
    rs_flight_close(o->settings.previous); /* NULL once it was taken over */
    rs_py_release(o->kept);
    rs_py_release(o->kept_logs);
    free(o->paths);
    free(o->dumps);
    free(o->answers);
    free(o->logs);
    free(o->prefix);
    free(o);
}

static rs_status do_open(void *context, rs_error *err)
{
    opening *o = context;
    rs_status status = o->answers
                           ? rs_flight_open_answers(o->answers, o->n_answers, &o->settings, &o->flight, err)
                       : o->paths ? rs_flight_open(o->paths, o->n_paths, &o->settings, &o->flight, err)
                                  : rs_flight_open_bytes(o->dumps, o->n_dumps, &o->settings, &o->flight, err);
    const rs_flight_report *report;
    if (status == RS_OK || status == RS_ERR_FORMAT) o->settings.previous = NULL; /* the new one's */
    return status == RS_OK ? rs_flight_get_report(o->flight, &report, err) : status;
}

/* A list of (rank, bytes, name). */
static bool read_dumps(opening *o, PyObject *list)
{
    o->n_dumps = (size_t)PyList_Size(list);
    o->dumps = calloc(o->n_dumps + 1, sizeof *o->dumps);
    o->kept = PyList_New(0);
    if (!o->dumps) PyErr_NoMemory();
    bool ok = o->dumps && o->kept;
    for (size_t i = 0; ok && i < o->n_dumps; i++) {
        long long rank;
        PyObject *data, *name, *text = NULL;
        ok = PyArg_ParseTuple(PyList_GetItem(list, (Py_ssize_t)i), "LSU", &rank, &data, &name) &&
             (text = PyUnicode_AsUTF8String(name)) && PyList_Append(o->kept, data) == 0 &&
             PyList_Append(o->kept, text) == 0;
        if (ok)
            o->dumps[i] = (rs_flight_bytes){.bytes = PyBytes_AsString(data),
                                            .n = (size_t)PyBytes_Size(data),
                                            .rank = rank,
                                            .name = PyBytes_AsString(text)};
        Py_XDECREF(text);
    }
    return ok;
}

/* A text or bytes of a tuple, which lives as long as o->kept. NULL: None, or with an exception. */
static const char *keep_bytes(opening *o, PyObject *value, size_t *n)
{
    if (value == Py_None) return NULL;
    PyObject *bytes = PyBytes_Check(value) ? (Py_INCREF(value), value) : PyUnicode_AsUTF8String(value);
    bool ok = bytes && PyList_Append(o->kept, bytes) == 0;
    const char *text = ok ? PyBytes_AsString(bytes) : NULL;
    if (ok && n) *n = (size_t)PyBytes_Size(bytes);
    Py_XDECREF(bytes);
    return text;
}

/* A list of (page, rank, address, status, timed_out, failure, body). */
static bool read_answers(opening *o, PyObject *list)
{
    o->n_answers = (size_t)PyList_Size(list);
    o->answers = calloc(o->n_answers + 1, sizeof *o->answers);
    o->kept = PyList_New(0);
    if (!o->answers) PyErr_NoMemory();
    bool ok = o->answers && o->kept;
    for (size_t i = 0; ok && i < o->n_answers; i++) {
        PyObject *page, *address, *failure, *body;
        long long rank;
        int status, timed_out;
        rs_flight_answer *a = &o->answers[i];
        ok = PyArg_ParseTuple(PyList_GetItem(list, (Py_ssize_t)i), "ULUipOS", &page, &rank, &address, &status,
                              &timed_out, &failure, &body);
        if (!ok) break;
        *a = (rs_flight_answer){.rank = rank, .status = status, .timed_out = timed_out};
        a->page = keep_bytes(o, page, NULL);
        a->address = keep_bytes(o, address, NULL);
        a->failure = keep_bytes(o, failure, NULL);
        a->bytes = keep_bytes(o, body, &a->n);
        ok = !PyErr_Occurred();
    }
    return ok;
}

static bool read_settings(opening *o, PyObject *dict)
{
    uint64_t jobs = 0, replica = 0, now = 0, stall = 0;
    PyObject *logs = PyDict_GetItemString(dict, "logs");
    bool ok = rs_py_get_number(dict, "jobs", &jobs) && rs_py_get_number(dict, "replica_size", &replica) &&
              rs_py_get_number(dict, "max_ratio", &o->settings.max_ratio) &&
              rs_py_get_number(dict, "max_file", &o->settings.max_file) &&
              rs_py_get_flag(dict, "allow_missing", &o->settings.allow_missing) &&
              rs_py_get_number(dict, "now_ns", &now) && rs_py_get_number(dict, "stall_ns", &stall) &&
              rs_py_get_text(dict, "prefix", &o->prefix);
    if (ok && logs && PyList_Size(logs) > 0) {
        o->logs = rs_py_paths(logs, &o->kept_logs);
        ok = o->logs != NULL;
        o->settings.logs = o->logs;
        o->settings.n_logs = ok ? (size_t)PyList_Size(logs) : 0;
    }
    if (ok && (jobs > 4096 || replica > INT64_MAX || now > INT64_MAX || stall > INT64_MAX)) {
        PyErr_SetString(PyExc_ValueError, "jobs takes 0 to 4096");
        ok = false;
    }
    o->settings.jobs = (unsigned)jobs;
    o->settings.replica_size = (int64_t)replica;
    o->settings.prefix = o->prefix;
    o->settings.now_ns = (int64_t)now;
    o->settings.stall_ns = (int64_t)stall;
    o->settings.progress = rs_py_task_progress;
    return ok;
}

static opening *make_opening(PyObject *paths, PyObject *dumps, PyObject *answers, PyObject *settings)
{
    opening *o = calloc(1, sizeof *o);
    if (!o) {
        PyErr_NoMemory();
        return NULL;
    }
    o->settings.size = sizeof o->settings;
    bool ok = read_settings(o, settings);
    if (ok && answers != Py_None) {
        ok = read_answers(o, answers);
    } else if (ok && paths != Py_None) {
        o->paths = rs_py_paths(paths, &o->kept);
        o->n_paths = o->paths ? (size_t)PyList_Size(paths) : 0;
        ok = o->paths != NULL;
    } else if (ok) {
        ok = read_dumps(o, dumps);
    }
    if (ok) return o;
    clear_opening(o);
    return NULL;
}

static PyObject *make_object(PyTypeObject *type, opening *o)
{
    flight_object *self = (flight_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    self->flight = o->flight;
    o->flight = NULL;
    pthread_mutex_init(&self->lock, NULL);
    return (PyObject *)self;
}

static PyObject *flight_new(PyTypeObject *type, PyObject *args, PyObject *words)
{
    static char *names[] = {"paths", "dumps", "settings", "progress", "answers", "previous", NULL};
    PyObject *paths, *dumps, *settings, *progress = Py_None, *answers = Py_None, *previous = Py_None,
                                        *self = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, words, "OOO!|OOO:Flight", names, &paths, &dumps, &PyDict_Type,
                                     &settings, &progress, &answers, &previous))
        return NULL;
    PyObject *given = answers != Py_None ? answers : paths != Py_None ? paths : dumps;
    if (!PyList_Check(given) || (previous != Py_None && !PyObject_TypeCheck(previous, flight_type))) {
        PyErr_SetString(PyExc_TypeError,
                        "Flight takes a list of paths, of dumps or of answers, and the Flight before");
        return NULL;
    }
    opening *o = make_opening(paths, dumps, answers, settings);
    if (o && previous != Py_None) {
        flight_object *before = (flight_object *)previous;
        pthread_mutex_lock(&before->lock);
        o->settings.previous = before->flight;
        before->flight = NULL;
        pthread_mutex_unlock(&before->lock);
    }
    rs_py_task *task = o ? rs_py_task_create(&(rs_py_work){do_open, clear_opening, o}) : NULL;
    if (!task) return NULL;
    o->settings.progress_context = task;
    rs_error err = RS_ERROR_INIT;
    if (rs_py_task_run(task, progress, &err))
        self = err.status == RS_OK ? make_object(type, o)
                                   : rs_py_raise_with(&err, o->flight ? rs_flight_problems(o->flight) : NULL);
    rs_py_task_drop(task);
    return self;
}

static void flight_dealloc(PyObject *object)
{
    flight_object *self = (flight_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    rs_flight_close(self->flight);
    pthread_mutex_destroy(&self->lock);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- asking ------------------------------------------------------------------------------------------- */

typedef rs_status (*write_fn)(rs_flight *flight, const rs_sink *sink, rs_error *err);

static rs_status taken_over(rs_error *err)
{
    return rs_fail(
        err, RS_ERR_USAGE,
        "a later snapshot of the job has taken this one over: look at its tables before the next one");
}

static PyObject *write_text(PyObject *object, write_fn write)
{
    flight_object *self = (flight_object *)object;
    rs_py_sink buffer = {0};
    rs_sink sink = rs_py_sink_of(&buffer);
    rs_error err = RS_ERROR_INIT;
    rs_status status;
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&self->lock);
    status = self->flight ? write(self->flight, &sink, &err) : taken_over(&err);
    pthread_mutex_unlock(&self->lock);
    Py_END_ALLOW_THREADS;
    return rs_py_sink_end(&buffer, status, &err);
}

static PyObject *flight_json(PyObject *self, PyObject *args)
{
    (void)args;
    return write_text(self, rs_flight_write_json);
}

static PyObject *flight_timeline(PyObject *self, PyObject *args)
{
    (void)args;
    return write_text(self, rs_flight_write_timeline);
}

static PyObject *flight_database(PyObject *object, PyObject *args)
{
    flight_object *self = (flight_object *)object;
    PyObject *path;
    if (!PyArg_ParseTuple(args, "O:database", &path)) return NULL;
    char *name = rs_py_path(path);
    if (!name) return NULL;
    rs_error err = RS_ERROR_INIT;
    rs_status status;
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&self->lock);
    status = self->flight ? rs_flight_write_database(self->flight, name, &err) : taken_over(&err);
    pthread_mutex_unlock(&self->lock);
    Py_END_ALLOW_THREADS;
    free(name);
    if (status != RS_OK) return rs_py_raise(&err);
    Py_RETURN_NONE;
}

static rs_table *make_table(rs_flight *flight, const char *name, const char *ranks, const char *groups,
                            bool stacks, rs_error *err)
{
    if (strcmp(name, "entries") == 0) return rs_flight_entries(flight, ranks, groups, stacks, err);
    if (strcmp(name, "groups") == 0) return rs_flight_groups(flight, groups, err);
    if (strcmp(name, "side_by_side") == 0) return rs_flight_side_by_side(flight, ranks, groups, err);
    if (strcmp(name, "lateness") == 0) return rs_flight_lateness(flight, err);
    if (strcmp(name, "collectives") == 0) return rs_flight_collectives(flight, err);
    if (strcmp(name, "dumps") == 0) return rs_flight_dumps(flight, err);
    if (strcmp(name, "roots") == 0) return rs_flight_roots(flight, err);
    if (strcmp(name, "log") == 0) return rs_flight_log(flight, err);
    if (strcmp(name, "attempts") == 0) return rs_flight_attempts(flight, err);
    if (strcmp(name, "progress") == 0) return rs_flight_progress(flight, err);
    if (strcmp(name, "stacks") == 0) return rs_flight_stacks(flight, err);
    if (strcmp(name, "inspector") == 0) return rs_flight_inspector(flight, err);
    rs_fail(
        err, RS_ERR_USAGE,
        "there is no table \"%.60s\"; there is groups, entries, side_by_side, dumps, lateness, collectives, roots, "
        "log, attempts, progress, stacks, inspector",
        name);
    return NULL;
}

static PyObject *flight_table(PyObject *object, PyObject *args, PyObject *words)
{
    static char *names[] = {"name", "ranks", "groups", "stacks", NULL};
    flight_object *self = (flight_object *)object;
    const char *name, *ranks = NULL, *groups = NULL;
    int stacks = 0;
    if (!PyArg_ParseTupleAndKeywords(args, words, "s|zzp:table", names, &name, &ranks, &groups, &stacks))
        return NULL;
    rs_error err = RS_ERROR_INIT;
    rs_table *table;
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&self->lock);
    table = NULL;
    if (self->flight)
        table = make_table(self->flight, name, ranks, groups, stacks, &err);
    else
        taken_over(&err);
    pthread_mutex_unlock(&self->lock);
    Py_END_ALLOW_THREADS;
    return table ? rs_py_table(table) : rs_py_raise(&err);
}

static PyObject *flight_stack(PyObject *object, PyObject *args)
{
    flight_object *self = (flight_object *)object;
    unsigned stack;
    if (!PyArg_ParseTuple(args, "I:stack", &stack)) return NULL;
    PyObject *text;
    pthread_mutex_lock(
        &self->lock); /* nothing long happens under it here, and nobody waits for the GIL in it */
    text = rs_py_text(self->flight ? rs_flight_stack(self->flight, stack) : "");
    pthread_mutex_unlock(&self->lock);
    return text;
}

static PyObject *get_problems(PyObject *object, void *closure)
{
    (void)closure;
    rs_flight *flight = ((flight_object *)object)->flight;
    return flight ? rs_py_problems(rs_flight_problems(flight)) : PyList_New(0);
}

/* ---- the type ------------------------------------------------------------------------------------------ */

static PyGetSetDef flight_attributes[] = {
    {"problems", get_problems, NULL, "what was wrong with the dumps", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef flight_methods[] = {
    {"json", flight_json, METH_NOARGS, "json() -> str: the report"},
    {"timeline", flight_timeline, METH_NOARGS, "timeline() -> str: a trace of the recorded operations"},
    {"database", flight_database, METH_VARARGS, "database(path): writes an SQLite database"},
    {"table", (PyCFunction)(void (*)(void))flight_table, METH_VARARGS | METH_KEYWORDS,
     "table(name, ranks=None, groups=None, stacks=False) -> Table"},
    {"stack", flight_stack, METH_VARARGS, "stack(number) -> str: a stack's frames, innermost first"},
    {NULL, NULL, 0, NULL},
};

/* ---- a running job -------------------------------------------------------------------------------------- */

static PyObject *count_records(PyObject *module, PyObject *list)
{
    (void)module;
    opening o = {0};
    PyObject *n = PyList_Check(list) && read_answers(&o, list)
                      ? PyLong_FromSize_t(rs_flight_count_records(o.answers, o.n_answers))
                      : NULL;
    free(o.answers);
    Py_XDECREF(o.kept);
    if (!n && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "count_records takes a list of answers");
    return n;
}

/* The workers that front-end pages name: [(rank, address)]. */
static PyObject *list_workers(PyObject *module, PyObject *list)
{
    (void)module;
    opening o = {0};
    PyObject *workers = NULL;
    if (PyList_Check(list) && read_answers(&o, list)) {
        int64_t *ranks = calloc(MOST_WORKERS, sizeof *ranks);
        char(*addresses)[RS_FLIGHT_ADDRESS] = calloc(MOST_WORKERS, sizeof *addresses);
        if (!ranks || !addresses) {
            PyErr_NoMemory();
        } else {
            size_t n = rs_flight_list_workers(o.answers, o.n_answers, ranks, addresses, MOST_WORKERS);
            workers = PyList_New(0);
            for (size_t i = 0; workers && i < n; i++)
                if (!rs_py_append(workers,
                                  Py_BuildValue("(LN)", (long long)ranks[i], rs_py_text(addresses[i]))))
                    Py_CLEAR(workers);
        }
        free(ranks);
        free(addresses);
    }
    free(o.answers);
    Py_XDECREF(o.kept);
    if (!workers && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "list_workers takes a list of answers");
    return workers;
}

static PyObject *may_ask(PyObject *module, PyObject *args)
{
    (void)module;
    const char *address, *server;
    PyObject *list, *kept = NULL;
    if (!PyArg_ParseTuple(args, "ssO!:flight_may_ask", &address, &server, &PyList_Type, &list)) return NULL;
    const char **allowed = rs_py_paths(list, &kept);
    if (!allowed) return NULL;
    bool may = rs_flight_may_ask(address, server, allowed, (size_t)PyList_Size(list));
    free((void *)allowed);
    Py_XDECREF(kept);
    return PyBool_FromLong(may);
}

static PyMethodDef functions[] = {
    {"flight_count_records", count_records, METH_O,
     "flight_count_records(answers) -> how many ranks' records describe anything"},
    {"flight_workers", list_workers, METH_O, "flight_workers(answers) -> [(rank, address)]"},
    {"flight_may_ask", may_ask, METH_VARARGS, "flight_may_ask(address, server, [allowed host]) -> bool"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot flight_slots[] = {
    {Py_tp_new, (void *)(uintptr_t)flight_new},
    {Py_tp_dealloc, (void *)(uintptr_t)flight_dealloc},
    {Py_tp_getset, flight_attributes},
    {Py_tp_methods, flight_methods},
    {Py_tp_doc, "Flight(paths, dumps, settings, progress=None): the dumps of one job, analysed."},
    {0, NULL},
};

static PyType_Spec flight_spec = {
    .name = "rankscope._engine.Flight",
    .basicsize = sizeof(flight_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = flight_slots,
};

static bool add(PyObject *module)
{
    flight_type = (PyTypeObject *)PyType_FromSpec(&flight_spec);
    return flight_type && PyModule_AddFunctions(module, functions) == 0 &&
           PyModule_AddObject(module, "Flight", (PyObject *)flight_type) == 0;
}

const rs_py_part rs_py_part_flight = {.add = add};
