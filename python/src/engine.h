/* rankscope._engine: the C API for Python, thin. No number is computed here.
 *
 * Only the limited API of Python 3.9 is used, so that one build serves every Python since. */
#ifndef RS_PYTHON_ENGINE_H
#define RS_PYTHON_ENGINE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdio.h>

#include "rankscope/rankscope.h"

/* ---- errors ----------------------------------------------------------------------------------------- */

/* Raises what rankscope.errors makes of an error. Returns NULL. */
PyObject *rs_py_raise(const rs_error *err);
/* The same, with what was wrong with the input as the exception's problems. */
PyObject *rs_py_raise_with(const rs_error *err, const rs_problems *problems);
/* Raises UsageError. Returns NULL. */
PyObject *rs_py_refuse(const char *message);
/* Text of the library, which may hold anything, as str. None for NULL. */
PyObject *rs_py_text(const char *text);
/* PyDict_SetItemString that takes the value over. false with an exception when value is NULL or it fails. */
bool rs_py_put(PyObject *dict, const char *key, PyObject *value);
/* PyList_Append that takes the value over. */
bool rs_py_append(PyObject *list, PyObject *value);

/* ---- work on a thread of its own -------------------------------------------------------------------- */

/* Work that runs without the interpreter while the caller waits for it, sees to signals and shows progress.
 * When a signal's handler raises, the caller gets its exception at once; the work is told to stop and cleans
 * up after itself, whenever that is. */
typedef struct rs_py_work {
    rs_status (*run)(void *context, rs_error *err); /* without the GIL */
    void (*clear)(void *context);                   /* frees the context; without the GIL, on any thread */
    void *context;                                  /* taken over */
} rs_py_work;

typedef struct rs_py_task rs_py_task;

/* For rs_job_settings.progress and its like; the context is the task. */
bool rs_py_task_progress(void *task, uint64_t done, uint64_t total);
/* Makes a task of work whose context is then rs_py_task_context's. NULL with an exception set. */
rs_py_task *rs_py_task_create(const rs_py_work *work);
/* Runs it. progress: a callable taking (done, total), which may return False to stop, or None. true: the work
 * has ended, its context can be read and *err has its status. false: an exception is set and the context is
 * no longer the caller's. Either way the caller drops its hold afterwards. */
bool rs_py_task_run(rs_py_task *task, PyObject *progress, rs_error *err);
void rs_py_task_drop(rs_py_task *task);

/* Drops a reference from a thread that may not hold the GIL. NULL is allowed. */
void rs_py_release(PyObject *object);

/* ---- bytes that Python fetches ---------------------------------------------------------------------- */

/* A file whose bytes a Python function fetches by ranges: fetch(offset, n) -> bytes, fewer only at the end. */
typedef struct rs_py_remote rs_py_remote;

/* given: (size, fetch), size 0 where it is not known. The new one stands in front of `others`. NULL with an exception. */
rs_py_remote *rs_py_remote_create(PyObject *given, const char *name, rs_py_remote *others);
const rs_remote *rs_py_remote_of(const rs_py_remote *remote); /* NULL gives NULL */
void rs_py_remote_free(rs_py_remote *chain); /* the whole chain; without the GIL, on any thread */

/* ---- where bytes go --------------------------------------------------------------------------------- */

/* A sink into memory or into a file. */
typedef struct rs_py_sink {
    char *bytes;
    size_t n, capacity;
    bool no_memory;
    FILE *file; /* NULL: memory */
    char *path; /* of file */
    char *name; /* whose end says how to pack; NULL: not at all */
    int code;   /* errno of a write that failed */
} rs_py_sink;

rs_sink rs_py_sink_of(rs_py_sink *sink);
/* Runs write with a sink that packs by the end of sink->name into sink, opening sink->path if there is one.
 */
rs_status rs_py_sink_fill(rs_py_sink *sink,
                          rs_status (*write)(void *context, const rs_sink *sink, rs_error *err),
                          void *context, rs_error *err);
/* What a sink into memory received, as bytes or str; None for one into a file. */
PyObject *rs_py_sink_bytes(const rs_py_sink *sink);
PyObject *rs_py_sink_text(const rs_py_sink *sink);
void rs_py_sink_clear(rs_py_sink *sink);
/* What was written as str, or the exception that says why not. Clears the sink. */
PyObject *rs_py_sink_end(rs_py_sink *sink, rs_status status, const rs_error *err);

/* A str or path as the file system has it, to be freed. NULL with an exception; None gives NULL without. */
char *rs_py_path(PyObject *value);

/* ---- jobs ------------------------------------------------------------------------------------------- */

/* What a Job object and the runs over it share. */
typedef struct shared_job rs_py_job;

/* The job of a Job object, held; NULL with an exception when it is closed. */
bool rs_py_is_job(PyObject *object);
rs_py_job *rs_py_job_hold(PyObject *object);
void rs_py_job_drop(rs_py_job *job); /* on any thread, with the interpreter or without; NULL is allowed */
/* The C job, which nobody else uses until it is let go. Without the GIL. Progress goes to the task. */
rs_job *rs_py_job_take(rs_py_job *job, rs_py_task *task);
void rs_py_job_let_go(rs_py_job *job);

/* ---- results ---------------------------------------------------------------------------------------- */

/* A Result of a C result, which is taken over (and left empty) even on failure. */
PyObject *rs_py_result(rs_result *result);
/* (Result, text) of a C result, which is taken over, and of what a sink holds. */
PyObject *rs_py_result_and_text(rs_result *result, const rs_py_sink *text);
/* A Table of a C table, which is taken over even on failure. */
PyObject *rs_py_table(rs_table *table);
/* The C table of a Table, borrowed. */
const rs_table *rs_py_table_of(PyObject *table);
/* The result that a Table belongs to, borrowed. */
const rs_result *rs_py_result_behind(PyObject *table);
/* A copy of n rows: those numbered in rows, in that order; with rows NULL those from first on. Without the GIL. */
rs_table *rs_py_copy_rows(const rs_table *from, const size_t *rows, size_t first, size_t n, rs_error *err);
/* Methods of Table: a copy of the rows of these numbers, in their order; the table as plain Python values. */
PyObject *rs_py_table_take(PyObject *self, PyObject *numbers);
PyObject *rs_py_table_state(PyObject *self, PyObject *args);
/* A method of Table: a page with the result that it belongs to. */
PyObject *rs_py_table_page(PyObject *self, PyObject *args);
/* A function of the module: the Table of such a state. */
PyObject *rs_py_table_restore(PyObject *module, PyObject *state);
PyObject *rs_py_problems(const rs_problems *problems);
/* The verdicts of a result, and who is late because of whom: lists of dicts. */
PyObject *rs_py_verdicts(const rs_result *result);
PyObject *rs_py_lateness(const rs_result *result);
/* Schema of a table as a list of dicts. */
PyObject *rs_py_schema(const rs_table_spec *spec);
/* The name of a compatibility mode, or None. false with an exception. */
bool rs_py_compat(PyObject *name, rs_compat *out);

/* A dict {name: text, None for a flag} into options. false with an exception. */
bool rs_py_set_options(rs_options *options, PyObject *values);

/* Reads of a settings dict; absent or None leaves *out as it is. false with an exception. */
bool rs_py_get_flag(PyObject *settings, const char *name, bool *out);
bool rs_py_get_number(PyObject *settings, const char *name, uint64_t *out);
bool rs_py_get_real(PyObject *settings, const char *name, double *out);
bool rs_py_get_text(PyObject *settings, const char *name, char **out); /* to be freed */
/* The paths of a list of str as the file system has them, borrowed from *kept. To be freed; NULL with an
 * exception. */
const char **rs_py_paths(PyObject *list, PyObject **kept);

/* Adds types or functions to the module. */
bool rs_py_add_results(PyObject *module);
bool rs_py_add_job(PyObject *module);
bool rs_py_add_regress(PyObject *module);
bool rs_py_add_many(PyObject *module);
bool rs_py_add_file(PyObject *module);
bool rs_py_add_store(PyObject *module);

/* What a pack adds to the module: `const rs_py_part rs_py_part_NAME`, which the build collects. */
typedef struct rs_py_part {
    bool (*add)(PyObject *module);
} rs_py_part;
extern const rs_py_part *const rs_py_part_rows[];

/* A str as text, to be freed; NULL with an exception. Frees n such texts and their array. */
char *rs_py_text_of(PyObject *value);
void rs_py_free_texts(char **texts, size_t n);

/* Several analyses over one job, their partial results, and what is made of those: methods of Job. */
PyObject *rs_py_run_many(PyObject *job, PyObject *args, PyObject *words);
PyObject *rs_py_map(PyObject *job, PyObject *args, PyObject *words);

/* A fused trace and the report page, written into files: methods of Job. */
PyObject *rs_py_fuse(PyObject *job, PyObject *args, PyObject *words);
PyObject *rs_py_report(PyObject *job, PyObject *args, PyObject *words);
/* A part of the job, with names or without, written into files: a method of Job. */
PyObject *rs_py_slice(PyObject *job, PyObject *args, PyObject *words);
/* Keeps the job's events in its store: a method of Job. */
PyObject *rs_py_build_store(PyObject *job, PyObject *args);
/* The answer of a statement of SQL: a method of Job. */
PyObject *rs_py_sql(PyObject *job, PyObject *args, PyObject *words);

#endif
