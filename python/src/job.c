/* Jobs: opening, running an analysis over one or two of them. */
#include "engine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A job outlives its Python object while a run that nobody waits for any more winds down. */
typedef struct shared_job {
    rs_job *job;
    PyObject *data;           /* the bytes that are read in place, NULL: files */
    PyObject *added;          /* a list of more such bytes, or NULL */
    rs_py_remote *remotes;    /* what is fetched by ranges, a chain */
    rs_options *chosen;       /* what the settings' texts are of */
    pthread_mutex_t lock;     /* one run at a time */
    rs_py_task *_Atomic task; /* of the run that holds the lock */
    atomic_int holders;
} shared_job;

typedef struct job_object {
    PyObject_HEAD shared_job *shared; /* NULL: closed */
} job_object;

static PyTypeObject *job_type;

static bool on_progress(void *context, uint64_t done, uint64_t total)
{
    shared_job *s = context;
    rs_py_task *task = atomic_load(&s->task);
    return !task || rs_py_task_progress(task, done, total);
}

void rs_py_job_drop(shared_job *s)
{
    if (!s || atomic_fetch_sub(&s->holders, 1) > 1) return;
    rs_job_close(s->job);
    rs_py_release(s->data);
    rs_py_release(s->added);
    rs_py_remote_free(s->remotes);
    rs_options_free(s->chosen);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ---- opening ------------------------------------------------------------------------------------------ */

/* "keep" and "keep_memory", and under "options" those of rs_job_options. */
static bool read_settings(PyObject *dict, shared_job *s, rs_job_settings *out)
{
    size_t n;
    rs_error err = RS_ERROR_INIT;
    const rs_option_spec *specs = rs_job_options(&n);
    PyObject *chosen = PyDict_GetItemString(dict, "options");
    *out = (rs_job_settings){.size = sizeof(rs_job_settings), .progress = on_progress, .progress_context = s};
    rs_status status = rs_options_create(specs, n, &s->chosen, &err);
    if (status == RS_OK) {
        if (!rs_py_get_number(dict, "keep_memory", &out->keep_memory) ||
            !rs_py_get_flag(dict, "keep", &out->keep) || (chosen && !rs_py_set_options(s->chosen, chosen)))
            return false;
        status = rs_job_settings_take(s->chosen, out, &err);
    }
    if (status != RS_OK) rs_py_raise(&err);
    return status == RS_OK;
}

static bool open_job(shared_job *s, PyObject *paths, PyObject *name, const rs_job_settings *settings)
{
    rs_error err = RS_ERROR_INIT;
    rs_status status;
    PyObject *kept = NULL;
    if (s->data) {
        PyObject *text = PyUnicode_AsUTF8String(name);
        if (!text) return false;
        status = rs_job_open_bytes(PyBytes_AsString(s->data), (size_t)PyBytes_Size(s->data),
                                   PyBytes_AsString(text), settings, &s->job, &err);
        Py_DECREF(text);
    } else {
        const char **list = rs_py_paths(paths, &kept);
        if (!list) return false;
        size_t n = (size_t)PyList_Size(paths);
        Py_BEGIN_ALLOW_THREADS;
        status = rs_job_open(list, n, settings, &s->job, &err);
        Py_END_ALLOW_THREADS;
        free(list);
        Py_DECREF(kept);
    }
    if (status != RS_OK) rs_py_raise(&err);
    return status == RS_OK;
}

static PyObject *job_new(PyTypeObject *type, PyObject *args, PyObject *words)
{
    static char *names[] = {"paths", "data", "name", "settings", NULL};
    PyObject *paths, *data, *name, *dict;
    if (!PyArg_ParseTupleAndKeywords(args, words, "OOUO!:Job", names, &paths, &data, &name, &PyDict_Type,
                                     &dict))
        return NULL;
    if (data != Py_None ? !PyBytes_Check(data) : !PyList_Check(paths)) {
        PyErr_SetString(PyExc_TypeError, "Job takes a list of paths, or None and bytes");
        return NULL;
    }
    shared_job *s = calloc(1, sizeof *s);
    if (!s) return PyErr_NoMemory();
    atomic_init(&s->holders, 1);
    pthread_mutex_init(&s->lock, NULL);
    if (data != Py_None) {
        Py_INCREF(data);
        s->data = data;
    }
    rs_job_settings settings;
    job_object *self = NULL;
    if (read_settings(dict, s, &settings) && open_job(s, paths, name, &settings))
        self = (job_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) {
        rs_py_job_drop(s);
        return NULL;
    }
    self->shared = s;
    return (PyObject *)self;
}

/* The job, locked against runs; NULL with an exception. */
static shared_job *lock_idle(PyObject *object)
{
    shared_job *s = ((job_object *)object)->shared;
    if (s && pthread_mutex_trylock(&s->lock) == 0) return s;
    rs_error err = RS_ERROR_INIT;
    rs_fail(&err, RS_ERR_USAGE, s ? "the job is busy" : "the job is closed");
    rs_py_raise(&err);
    return NULL;
}

bool rs_py_is_job(PyObject *object)
{
    return PyObject_TypeCheck(object, job_type);
}

rs_py_job *rs_py_job_hold(PyObject *object)
{
    shared_job *s = ((job_object *)object)->shared;
    if (s) {
        atomic_fetch_add(&s->holders, 1);
        return s;
    }
    rs_error err = RS_ERROR_INIT;
    rs_fail(&err, RS_ERR_USAGE, "the job is closed");
    rs_py_raise(&err);
    return NULL;
}

rs_job *rs_py_job_take(rs_py_job *job, rs_py_task *task)
{
    pthread_mutex_lock(&job->lock);
    atomic_store(&job->task, task);
    return job->job;
}

void rs_py_job_let_go(rs_py_job *job)
{
    atomic_store(&job->task, NULL);
    pthread_mutex_unlock(&job->lock);
}

/* Paths as the system spells them: the parts of a file and what is read instead of it. */
typedef struct path_list {
    PyObject *bytes; /* list that keeps what paths point to */
    const char **paths;
    size_t n;
    PyObject *instead;
} path_list;

static void clear_paths(path_list *list)
{
    PyMem_Free((void *)list->paths);
    Py_XDECREF(list->bytes);
    Py_XDECREF(list->instead);
}

/* parts: a sequence of paths or NULL; instead: a path, None or NULL. false with an exception set. */
static bool encode_paths(PyObject *parts, PyObject *instead, path_list *list)
{
    if (instead && instead != Py_None && !PyUnicode_FSConverter(instead, &list->instead)) return false;
    Py_ssize_t n = parts ? PySequence_Size(parts) : 0;
    if (n < 0) return false;
    list->bytes = PyList_New(0);
    list->paths = PyMem_Malloc(((size_t)n + 1) * sizeof *list->paths);
    if (!list->bytes) return false;
    if (!list->paths) {
        PyErr_NoMemory();
        return false;
    }
    for (; list->n < (size_t)n; list->n++) {
        PyObject *part = PySequence_GetItem(parts, (Py_ssize_t)list->n), *bytes = NULL;
        bool ok = part && PyUnicode_FSConverter(part, &bytes);
        Py_XDECREF(part);
        if (!ok) return false;
        list->paths[list->n] = PyBytes_AsString(bytes);
        if (!rs_py_append(list->bytes, bytes)) return false;
    }
    return true;
}

static PyObject *job_add(PyObject *object, PyObject *args, PyObject *words)
{
    static char *names[] = {"name", "data", "rank", "optional", "parts", "instead", NULL};
    PyObject *name = NULL, *data, *parts = NULL, *instead = NULL;
    long long rank = -1;
    int optional = 0;
    path_list list = {0};
    if (!PyArg_ParseTupleAndKeywords(args, words, "O&O|LpOO:add", names, PyUnicode_FSConverter, &name, &data,
                                     &rank, &optional, &parts, &instead))
        return NULL;
    if (data != Py_None && !PyBytes_Check(data) && !PyTuple_Check(data)) {
        PyErr_SetString(PyExc_TypeError, "add takes bytes, None, or a size and a function that fetches");
        Py_DECREF(name);
        return NULL;
    }
    if (!encode_paths(parts, instead, &list)) {
        clear_paths(&list);
        Py_DECREF(name);
        return NULL;
    }
    shared_job *s = lock_idle(object);
    rs_error err = RS_ERROR_INIT;
    bool ok = s != NULL;
    rs_py_remote *remote = NULL;
    if (ok && PyTuple_Check(data)) {
        remote = rs_py_remote_create(data, PyBytes_AsString(name), s->remotes);
        ok = remote != NULL;
        if (ok) s->remotes = remote;
    } else if (ok && data != Py_None) {
        if (!s->added) s->added = PyList_New(0);
        ok = s->added && PyList_Append(s->added, data) == 0;
    }
    if (ok) {
        rs_job_file file = {.name = PyBytes_AsString(name),
                            .rank = rank,
                            .optional = optional != 0,
                            .parts = list.paths,
                            .n_parts = list.n,
                            .remote = rs_py_remote_of(remote),
                            .instead = list.instead ? PyBytes_AsString(list.instead) : NULL};
        if (PyBytes_Check(data)) {
            file.bytes = PyBytes_AsString(data);
            file.n_bytes = (size_t)PyBytes_Size(data);
        }
        ok = rs_job_add(s->job, &file, &err) == RS_OK;
        if (!ok) rs_py_raise(&err);
    }
    if (s) pthread_mutex_unlock(&s->lock);
    clear_paths(&list);
    Py_DECREF(name);
    if (!ok) return NULL;
    Py_RETURN_NONE;
}

/* (name, rank, whether it may be no trace, the paths of its parts, what is read instead) */
static PyObject *describe_file(const rs_job_file *file)
{
    PyObject *name = PyUnicode_DecodeFSDefault(file->name), *parts = PyList_New(0);
    PyObject *instead = file->instead ? PyUnicode_DecodeFSDefault(file->instead) : Py_None;
    if (!file->instead) Py_INCREF(Py_None);
    for (size_t k = 0; parts && k < file->n_parts; k++)
        if (!rs_py_append(parts, PyUnicode_DecodeFSDefault(file->parts[k]))) Py_CLEAR(parts);
    PyObject *one = name && parts && instead
                        ? Py_BuildValue("(OLOOO)", name, (long long)file->rank,
                                        file->optional ? Py_True : Py_False, parts, instead)
                        : NULL;
    Py_XDECREF(name);
    Py_XDECREF(parts);
    Py_XDECREF(instead);
    return one;
}

static PyObject *job_files(PyObject *object, PyObject *args)
{
    (void)args;
    shared_job *s = lock_idle(object);
    PyObject *list = s ? PyList_New(0) : NULL;
    for (size_t i = 0; list && i < rs_job_n_files(s->job); i++) {
        rs_job_file file = rs_job_get_file(s->job, i);
        if (!rs_py_append(list, describe_file(&file))) Py_CLEAR(list);
    }
    if (s) pthread_mutex_unlock(&s->lock);
    return list;
}

static PyObject *job_close(PyObject *object, PyObject *args)
{
    (void)args;
    job_object *self = (job_object *)object;
    shared_job *s = self->shared;
    self->shared = NULL;
    rs_py_job_drop(s);
    Py_RETURN_NONE;
}

static void job_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    rs_py_job_drop(((job_object *)object)->shared);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- running ------------------------------------------------------------------------------------------ */

typedef struct run {
    shared_job **jobs; /* held; a job may stand there more than once */
    size_t n_jobs;
    rs_py_task *task; /* not held: it outlives its context */
    const rs_analysis *analysis;
    rs_options *options;
    rs_compat compat;
    rs_result result;
    shared_job **locked; /* the jobs, each once, by address */
    size_t n_locked;
    rs_job **sides;
    PyObject *select; /* texts of ranks, steps and window, or None each; NULL: as the jobs were opened */
    const char *selected[3];
} run;

static void clear_run(void *context)
{
    run *r = context;
    for (size_t i = 0; i < r->n_jobs; i++) rs_py_job_drop(r->jobs[i]);
    rs_options_free(r->options);
    rs_result_clear(&r->result);
    rs_py_release(r->select);
    free(r->jobs);
    free(r->locked);
    free(r->sides);
    free(r);
}

/* Jobs are always locked in the same order, so that two comparisons never wait for each other. */
static void lock_jobs(run *r)
{
    r->n_locked = 0;
    for (size_t i = 0; i < r->n_jobs; i++) {
        shared_job *s = r->jobs[i];
        size_t at = r->n_locked;
        while (at && (uintptr_t)r->locked[at - 1] > (uintptr_t)s) at--;
        if (at && r->locked[at - 1] == s) continue;
        memmove(&r->locked[at + 1], &r->locked[at], (r->n_locked - at) * sizeof *r->locked);
        r->locked[at] = s;
        r->n_locked++;
    }
    for (size_t i = 0; i < r->n_locked; i++) {
        pthread_mutex_lock(&r->locked[i]->lock);
        atomic_store(&r->locked[i]->task, r->task);
    }
}

static void unlock_jobs(run *r)
{
    for (size_t i = r->n_locked; i-- > 0;) {
        atomic_store(&r->locked[i]->task, NULL);
        pthread_mutex_unlock(&r->locked[i]->lock);
    }
}

static rs_status do_run(void *context, rs_error *err)
{
    run *r = context;
    lock_jobs(r);
    for (size_t i = 0; i < r->n_jobs; i++) r->sides[i] = r->jobs[i]->job;
    rs_status status = RS_OK;
    if (!rs_py_task_progress(r->task, 0, 0)) status = rs_fail(err, RS_ERR_CANCELLED, "stopped");
    for (size_t i = 0; r->select && status == RS_OK && i < r->n_locked; i++)
        status = rs_job_select(r->locked[i]->job, r->selected[0], r->selected[1], r->selected[2], err);
    if (status == RS_OK)
        status = rs_job_run_jobs(r->sides, r->n_jobs, r->analysis, r->options, r->compat, &r->result, err);
    for (size_t i = 0; r->select && i < r->n_locked; i++)
        rs_job_select(r->locked[i]->job, NULL, NULL, NULL, NULL); /* the opened part is there already */
    unlock_jobs(r);
    return status;
}

bool rs_py_set_options(rs_options *options, PyObject *values)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(values, &at, &key, &value)) {
        PyObject *name = PyUnicode_AsUTF8String(key);
        PyObject *text = name && value != Py_None ? PyUnicode_AsUTF8String(value) : NULL;
        bool ok = name && (value == Py_None || text);
        if (ok && text && strlen(PyBytes_AsString(text)) != (size_t)PyBytes_Size(text)) {
            PyErr_SetString(PyExc_ValueError, "an option holds a null character");
            ok = false;
        }
        rs_error err = RS_ERROR_INIT;
        if (ok && rs_options_set(options, PyBytes_AsString(name), text ? PyBytes_AsString(text) : NULL,
                                 &err) != RS_OK) {
            rs_py_raise(&err);
            ok = false;
        }
        Py_XDECREF(name);
        Py_XDECREF(text);
        if (!ok) return false;
    }
    return true;
}

static const char *const compat_names[] = {"",          "hta",   "hta-exact",
                                           "tracelens", "aorta", "straggler-analysis"};

bool rs_py_compat(PyObject *name, rs_compat *out)
{
    *out = RS_COMPAT_NONE;
    if (name == Py_None) return true;
    for (rs_compat c = RS_COMPAT_NONE; PyUnicode_Check(name) && c <= RS_COMPAT_STRAGGLER_ANALYSIS; c++) {
        *out = c;
        if (PyUnicode_CompareWithASCIIString(name, compat_names[c]) == 0) return true;
    }
    return rs_py_refuse("compat takes one of hta, hta-exact, tracelens, aorta, straggler-analysis") != NULL;
}

/* The peers that an analysis can imitate, for a message. */
static rs_status check_compat(const rs_analysis *analysis, rs_compat compat, rs_error *err)
{
    size_t n;
    if (rs_analysis_tables(analysis, compat, &n)) return RS_OK;
    char known[120] = "";
    for (rs_compat c = RS_COMPAT_NONE + 1; c <= RS_COMPAT_STRAGGLER_ANALYSIS; c++)
        if (rs_analysis_tables(analysis, c, &n))
            snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", *known ? ", " : "",
                     compat_names[c]);
    return rs_fail(err, RS_ERR_USAGE, "%s has no compat=\"%s\"; %s%s", rs_analysis_name(analysis),
                   compat_names[compat], *known ? "there is " : "it imitates no other tool", known);
}

/* The texts of the part that is asked about, which the run keeps. */
static bool take_selection(run *r, PyObject *select)
{
    if (select == Py_None) return true;
    if (!PyTuple_Check(select) || PyTuple_Size(select) != 3)
        return rs_py_refuse("select takes the texts of ranks, steps and window") != NULL;
    r->select = PyList_New(0);
    if (!r->select) return false;
    for (Py_ssize_t i = 0; i < 3; i++) {
        PyObject *one = PyTuple_GetItem(select, i);
        if (one == Py_None) continue;
        PyObject *bytes = PyUnicode_AsUTF8String(one);
        if (!bytes) return false;
        r->selected[i] = PyBytes_AsString(bytes);
        if (!rs_py_append(r->select, bytes)) return false;
    }
    return true;
}

static PyObject *make_run(job_object *const *jobs, size_t n_jobs, const char *name, PyObject *options,
                          PyObject *compat, PyObject *progress, PyObject *select)
{
    rs_error err = RS_ERROR_INIT;
    rs_compat mode;
    const rs_analysis *analysis = rs_analysis_find(name);
    if (!rs_py_compat(compat, &mode)) return NULL;
    if (!analysis) {
        rs_fail(&err, RS_ERR_USAGE, "there is no analysis \"%.60s\"", name);
        return rs_py_raise(&err);
    }
    if (check_compat(analysis, mode, &err) != RS_OK) return rs_py_raise(&err);
    for (size_t i = 0; i < n_jobs; i++)
        if (!jobs[i]->shared) return rs_py_refuse("the job is closed");
    run *r = calloc(1, sizeof *r);
    size_t n;
    const rs_option_spec *specs = rs_analysis_options(analysis, &n);
    if (!r) return PyErr_NoMemory();
    r->jobs = calloc(n_jobs, sizeof *r->jobs);
    r->locked = calloc(n_jobs + 1, sizeof *r->locked);
    r->sides = calloc(n_jobs, sizeof *r->sides);
    if (!r->jobs || !r->locked || !r->sides) {
        clear_run(r);
        return PyErr_NoMemory();
    }
    if (rs_options_create(specs, n, &r->options, &err) != RS_OK) {
        clear_run(r);
        return rs_py_raise(&err);
    }
    r->analysis = analysis;
    r->compat = mode;
    for (size_t i = 0; i < n_jobs; i++) {
        r->jobs[r->n_jobs++] = jobs[i]->shared;
        atomic_fetch_add(&jobs[i]->shared->holders, 1);
    }
    if (!rs_py_set_options(r->options, options) || !take_selection(r, select)) {
        clear_run(r);
        return NULL;
    }
    r->task = rs_py_task_create(&(rs_py_work){do_run, clear_run, r});
    if (!r->task) return NULL;
    rs_py_task *task = r->task; /* r may be gone when the run was left to itself */
    PyObject *result = NULL;
    if (rs_py_task_run(task, progress, &err))
        result = err.status == RS_OK ? rs_py_result(&r->result) : rs_py_raise_with(&err, &r->result.problems);
    rs_py_task_drop(task);
    return result;
}

static PyObject *job_run(PyObject *self, PyObject *args, PyObject *words)
{
    static char *names[] = {"analysis", "options", "compat", "progress", "select", NULL};
    const char *name;
    PyObject *options, *compat = Py_None, *progress = Py_None, *select = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, words, "sO!|OOO:run", names, &name, &PyDict_Type, &options,
                                     &compat, &progress, &select))
        return NULL;
    return make_run((job_object *[]){(job_object *)self}, 1, name, options, compat, progress, select);
}

static PyObject *run_jobs(PyObject *module, PyObject *args, PyObject *words)
{
    (void)module;
    static char *names[] = {"jobs", "analysis", "options", "compat", "progress", "select", NULL};
    const char *name;
    PyObject *jobs, *options, *compat = Py_None, *progress = Py_None, *select = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, words, "O!sO!|OOO:run_jobs", names, &PyTuple_Type, &jobs, &name,
                                     &PyDict_Type, &options, &compat, &progress, &select))
        return NULL;
    size_t n = (size_t)PyTuple_Size(jobs);
    if (n == 0) return rs_py_refuse("there is no job");
    job_object **items = calloc(n, sizeof *items);
    if (!items) return PyErr_NoMemory();
    PyObject *result = NULL;
    size_t k = 0;
    for (; k < n; k++) {
        PyObject *one = PyTuple_GetItem(jobs, (Py_ssize_t)k); /* borrowed: the tuple is immutable */
        if (!PyObject_TypeCheck(one, job_type)) break;
        items[k] = (job_object *)one;
    }
    if (k < n)
        PyErr_SetString(PyExc_TypeError, "run_jobs takes a tuple of jobs");
    else
        result = make_run(items, n, name, options, compat, progress, select);
    free(items);
    return result;
}

static PyObject *job_stats(PyObject *object, PyObject *args)
{
    (void)args;
    shared_job *s = lock_idle(object);
    if (!s) return NULL;
    rs_job_stats stats = rs_job_get_stats(s->job);
    pthread_mutex_unlock(&s->lock);
    return Py_BuildValue("{s:K,s:K,s:K,s:d,s:d,s:d}", "bytes_read", (unsigned long long)stats.bytes_read,
                         "bytes_text", (unsigned long long)stats.bytes_text, "events",
                         (unsigned long long)stats.events, "load_seconds", stats.load_seconds,
                         "index_seconds", stats.index_seconds, "analysis_seconds", stats.analysis_seconds);
}

static PyObject *get_closed(PyObject *object, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((job_object *)object)->shared == NULL);
}

/* ---- the type ------------------------------------------------------------------------------------------ */

static PyGetSetDef job_attributes[] = {
    {"closed", get_closed, NULL, "whether close was called", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef job_methods[] = {
    {"run", (PyCFunction)(void (*)(void))job_run, METH_VARARGS | METH_KEYWORDS,
     "run(analysis, options, compat=None, progress=None, select=None) -> Result; options are {name: text, None "
     "for a flag}, select (ranks, steps, window) of this run, None: as the job was opened"},
    {"run_many", (PyCFunction)(void (*)(void))rs_py_run_many, METH_VARARGS | METH_KEYWORDS,
     "run_many(queries, progress=None) -> list of Result; queries are (analysis, options, compat), and each "
     "rank is "
     "loaded once for all of them"},
    {"map", (PyCFunction)(void (*)(void))rs_py_map, METH_VARARGS | METH_KEYWORDS,
     "map(queries, progress=None) -> bytes for merge: what the job's ranks contribute"},
    {"fuse", (PyCFunction)(void (*)(void))rs_py_fuse, METH_VARARGS | METH_KEYWORDS,
     "fuse(to, name, settings, progress=None) -> Result: all ranks as one trace, packed as name ends"},
    {"report", (PyCFunction)(void (*)(void))rs_py_report, METH_VARARGS | METH_KEYWORDS,
     "report(to, name, settings, progress=None) -> Result without tables: the page; name is None"},
    {"slice", (PyCFunction)(void (*)(void))rs_py_slice, METH_VARARGS | METH_KEYWORDS,
     "slice(to, each, options, share, map, progress=None) -> Result: a part of the job into the file, or folder (each), to; "
     "share: options of share, or None; map: the file for what replaces what, or None"},
    {"sql", (PyCFunction)(void (*)(void))rs_py_sql, METH_VARARGS | METH_KEYWORDS,
     "sql(query, settings, progress=None) -> Result with the table rows; settings are max_memory and timeout"},
    {"build_store", rs_py_build_store, METH_VARARGS,
     "build_store(progress=None) -> Result: keeps the events with all known arguments in the job's store"},
    {"add", (PyCFunction)(void (*)(void))job_add, METH_VARARGS | METH_KEYWORDS,
     "add(name, data, rank=-1, optional=False): one file more, of bytes that are not copied, or None: on the "
     "disk"},
    {"files", job_files, METH_NOARGS,
     "files() -> list of (name, rank or -1, optional), in the order of the job"},
    {"stats", job_stats, METH_NOARGS, "stats() -> dict: what the loads cost so far"},
    {"close", job_close, METH_NOARGS, "close(): frees what is loaded"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot job_slots[] = {
    {Py_tp_new, (void *)(uintptr_t)job_new},
    {Py_tp_dealloc, (void *)(uintptr_t)job_dealloc},
    {Py_tp_getset, job_attributes},
    {Py_tp_methods, job_methods},
    {Py_tp_doc, "Job(paths, data, name, settings): the traces of one training run."},
    {0, NULL},
};

static PyType_Spec job_spec = {
    .name = "rankscope._engine.Job",
    .basicsize = sizeof(job_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = job_slots,
};

static PyMethodDef functions[] = {
    {"run_jobs", (PyCFunction)(void (*)(void))run_jobs, METH_VARARGS | METH_KEYWORDS,
     "run_jobs(jobs, analysis, options, compat=None, progress=None, select=None) -> Result; jobs is a tuple"},
    {NULL, NULL, 0, NULL},
};

bool rs_py_add_job(PyObject *module)
{
    job_type = (PyTypeObject *)PyType_FromSpec(&job_spec);
    if (!job_type) return false;
    Py_INCREF(job_type);
    return PyModule_AddFunctions(module, functions) == 0 &&
           PyModule_AddObject(module, "Job", (PyObject *)job_type) == 0;
}
