/* Work on a thread of its own, and the caller who waits for it. */
#include "engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* How long the caller sleeps before it sees to signals and progress again. */
#define SLICE_NS 20000000L
/* How long cancelled work may take to stop before the caller stops waiting for it. */
#define PATIENCE_SLICES 10

struct rs_py_task {
    rs_py_work work;
    atomic_int holders; /* the caller and the thread */
    atomic_bool cancelled;
    atomic_uint_fast64_t read, total;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool done; /* under the lock, as are the two below until it is set */
    rs_status status;
    rs_error error;
};

void rs_py_release(PyObject *object)
{
    if (!object) return;
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(object);
    PyGILState_Release(state);
}

bool rs_py_task_progress(void *context, uint64_t done, uint64_t total)
{
    rs_py_task *task = context;
    atomic_store(&task->read, done);
    atomic_store(&task->total, total);
    return !atomic_load(&task->cancelled);
}

rs_py_task *rs_py_task_create(const rs_py_work *work)
{
    rs_py_task *task = calloc(1, sizeof *task);
    if (!task) {
        work->clear(work->context);
        PyErr_NoMemory();
        return NULL;
    }
    task->work = *work;
    atomic_init(&task->holders, 1);
    pthread_mutex_init(&task->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&task->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    return task;
}

void rs_py_task_drop(rs_py_task *task)
{
    if (!task || atomic_fetch_sub(&task->holders, 1) > 1) return;
    task->work.clear(task->work.context);
    pthread_cond_destroy(&task->wake);
    pthread_mutex_destroy(&task->lock);
    free(task);
}

static void *run_task(void *context)
{
    rs_py_task *task = context;
    rs_error error = RS_ERROR_INIT;
    rs_status status = atomic_load(&task->cancelled) ? rs_fail(&error, RS_ERR_CANCELLED, "stopped")
                                                     : task->work.run(task->work.context, &error);
    pthread_mutex_lock(&task->lock);
    task->status = status;
    task->error = error;
    task->done = true;
    pthread_cond_signal(&task->wake);
    pthread_mutex_unlock(&task->lock);
    rs_py_task_drop(task);
    return NULL;
}

/* Sleeps until the work is done or a slice has passed; whether it is done. Without the GIL. */
static bool wait_slice(rs_py_task *task)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += SLICE_NS;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    pthread_mutex_lock(&task->lock);
    int code = 0;
    while (!task->done && code == 0) code = pthread_cond_timedwait(&task->wake, &task->lock, &until);
    bool done = task->done;
    pthread_mutex_unlock(&task->lock);
    return done;
}

static bool wait_slices(rs_py_task *task, int n)
{
    bool done = false;
    Py_BEGIN_ALLOW_THREADS;
    for (int i = 0; i < n && !done; i++) done = wait_slice(task);
    Py_END_ALLOW_THREADS;
    return done;
}

/* Calls progress when there is news. false: stop, with an exception set unless it asked for that itself. */
static bool show_progress(const rs_py_task *task, PyObject *progress, uint64_t *shown)
{
    uint64_t read = atomic_load(&task->read), total = atomic_load(&task->total);
    if (progress == Py_None || read == *shown) return true;
    *shown = read;
    PyObject *answer =
        PyObject_CallFunction(progress, "KK", (unsigned long long)read, (unsigned long long)total);
    bool go_on = answer && answer != Py_False;
    Py_XDECREF(answer);
    return go_on;
}

/* Waits for the work; false when the caller left it, with an exception set. */
static bool wait_for(rs_py_task *task, PyObject *progress, uint64_t *shown)
{
    while (!wait_slices(task, 1)) {
        bool stop = PyErr_CheckSignals() != 0 || !show_progress(task, progress, shown);
        if (!stop) continue;
        PyObject *type, *value, *traceback; /* the handler's exception, or none */
        PyErr_Fetch(&type, &value, &traceback);
        atomic_store(&task->cancelled, true);
        /* Readers stop within milliseconds. An analysis in the midst of its work ends on its own time: nobody
         * waits for that, its thread frees everything. */
        bool ended = wait_slices(task, PATIENCE_SLICES);
        if (type) {
            PyErr_Restore(type, value, traceback);
            return false;
        }
        if (ended) return true;
        rs_error stopped = RS_ERROR_INIT;
        rs_fail(&stopped, RS_ERR_CANCELLED, "stopped by the progress function");
        rs_py_raise(&stopped);
        return false;
    }
    return true;
}

bool rs_py_task_run(rs_py_task *task, PyObject *progress, rs_error *err)
{
    pthread_t thread;
    atomic_fetch_add(&task->holders, 1);
    int code = pthread_create(&thread, NULL, run_task, task);
    if (code != 0) {
        atomic_fetch_sub(&task->holders, 1);
        errno = code;
        PyErr_SetFromErrno(PyExc_OSError);
        return false;
    }
    uint64_t shown = 0;
    if (!wait_for(task, progress, &shown)) {
        pthread_detach(thread);
        return false;
    }
    Py_BEGIN_ALLOW_THREADS;
    pthread_join(thread, NULL); /* so that nothing of a finished run is held when its answer is given */
    Py_END_ALLOW_THREADS;
    if (task->status == RS_OK && !show_progress(task, progress, &shown) && PyErr_Occurred()) return false;
    *err = task->error;
    err->status = task->status;
    return true;
}
