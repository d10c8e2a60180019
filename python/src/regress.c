/* Comparisons of runs, and their history. */
#include "engine.h"

#include "rankscope/regress.h"

#include <stdlib.h>
#include <string.h>

/* A run that is loaded, or runs that were stored. */
typedef struct member {
    rs_py_job *job; /* held; NULL: bytes */
    char *label;
    PyObject *bytes;  /* held */
    const char *data; /* of bytes */
    size_t size;
} member;

typedef enum question { COMPARE, SAVE, HISTORY } question;

typedef struct comparison {
    question question;
    member *members[2];
    size_t n[2];
    rs_regress_side *sides[2];
    rs_regress_side_settings of_sides;
    rs_regress_settings settings;
    bool strict;
    rs_result result;
    rs_py_sink text; /* JUnit, or what is stored */
    rs_py_task *task;
} comparison;

static void clear_comparison(void *context)
{
    comparison *c = context;
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < c->n[k]; i++) {
            rs_py_job_drop(c->members[k][i].job);
            rs_py_release(c->members[k][i].bytes);
            free(c->members[k][i].label);
        }
        free(c->members[k]);
        rs_regress_side_free(c->sides[k]);
    }
    rs_result_clear(&c->result);
    rs_py_sink_clear(&c->text);
    free(c);
}

/* ---- on a thread of its own ---------------------------------------------------------------------------- */

typedef struct writing {
    comparison *c;
    rs_regress_verdict verdict;
} writing;

static rs_status write_text(void *context, const rs_sink *sink, rs_error *err)
{
    writing *w = context;
    comparison *c = w->c;
    return c->question == SAVE
               ? rs_regress_save(c->sides[0], sink, err)
               : rs_regress_junit(&c->result, w->verdict, c->strict, c->settings.min_effect, sink, err);
}

static rs_status add_members(comparison *c, int side, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < c->n[side]; i++) {
        const member *m = &c->members[side][i];
        if (!m->job) {
            status = rs_regress_read(c->sides[side], m->data, m->size, m->label, err);
            continue;
        }
        if (!rs_py_task_progress(c->task, 0, 0)) return rs_fail(err, RS_ERR_CANCELLED, "stopped");
        rs_job *job = rs_py_job_take(m->job, c->task);
        status = rs_regress_add_run(c->sides[side], m->label, job, &c->result, err);
        rs_py_job_let_go(m->job);
    }
    return status;
}

static rs_status do_comparison(void *context, rs_error *err)
{
    comparison *c = context;
    writing w = {.c = c};
    rs_status status = RS_OK;
    for (int k = 0; status == RS_OK && k < 2; k++) {
        status = rs_regress_side_create(&c->of_sides, &c->sides[k], err);
        if (status == RS_OK) status = add_members(c, k, err);
    }
    if (status != RS_OK) return status;
    if (c->question == HISTORY) return rs_regress_history(c->sides[0], &c->settings, &c->result, err);
    if (c->question == COMPARE) {
        status = rs_regress(c->sides[0], c->sides[1], &c->settings, &c->result, &w.verdict, err);
        c->result.found = w.verdict == RS_REGRESS_SLOWER || (c->strict && w.verdict == RS_REGRESS_UNDECIDED);
    }
    return status == RS_OK ? rs_py_sink_fill(&c->text, write_text, &w, err) : status;
}

/* ---- what Python gives --------------------------------------------------------------------------------- */

/* A list of (label, Job or bytes). */
static bool read_side(comparison *c, int side, PyObject *list)
{
    Py_ssize_t n = PyList_Size(list);
    if (n < 0) return false;
    c->members[side] = calloc((size_t)n + 1, sizeof *c->members[side]);
    if (!c->members[side]) PyErr_NoMemory();
    for (Py_ssize_t i = 0; c->members[side] && i < n; i++) {
        PyObject *label, *what, *text = NULL;
        member *m = &c->members[side][c->n[side]];
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "UO", &label, &what) ||
            !(text = PyUnicode_AsEncodedString(label, "utf-8", "surrogateescape")))
            return false;
        m->label = strdup(PyBytes_AsString(text));
        Py_DECREF(text);
        if (!m->label) {
            PyErr_NoMemory();
            return false;
        }
        c->n[side]++;
        if (PyBytes_Check(what)) {
            Py_INCREF(what);
            m->bytes = what;
            m->data = PyBytes_AsString(what);
            m->size = (size_t)PyBytes_Size(what);
        } else if (!(m->job = rs_py_job_hold(what))) {
            return false;
        }
    }
    return c->members[side] != NULL;
}

static bool choice_of(PyObject *dict, const char *name, const char *const *words, size_t n, int *out)
{
    char *text = NULL;
    if (!rs_py_get_text(dict, name, &text)) return false;
    for (size_t i = 0; text && i < n; i++)
        if (strcmp(text, words[i]) == 0) *out = (int)i;
    free(text);
    return true;
}

static bool read_settings(comparison *c, PyObject *dict)
{
    static const char *const questions[] = {"compare", "save", "history"}, *const steps[] = {"rank", "job"};
    static const char *const keys[] = {"kernel", "part", "operator", "phase", "group"};
    static const char *const methods[] = {"path", "exposed"};
    int asked = COMPARE, step = RS_REGRESS_STEP_RANK, key = RS_REGRESS_KERNEL, method = RS_REGRESS_PATH;
    c->settings = (rs_regress_settings){.size = sizeof c->settings, .between_run_sd = -1};
    bool ok = choice_of(dict, "question", questions, 3, &asked) && choice_of(dict, "step", steps, 2, &step) &&
              choice_of(dict, "by", keys, 5, &key) && choice_of(dict, "method", methods, 2, &method) &&
              rs_py_get_real(dict, "alpha", &c->settings.alpha) &&
              rs_py_get_real(dict, "min_effect", &c->settings.min_effect) &&
              rs_py_get_real(dict, "between_run_sd", &c->settings.between_run_sd) &&
              rs_py_get_flag(dict, "strict", &c->strict);
    c->question = (question)asked;
    c->settings.key = (rs_regress_key)key;
    c->settings.method = (rs_regress_method)method;
    c->of_sides = (rs_regress_side_settings){
        .size = sizeof c->of_sides, .step = (rs_regress_step)step, .no_path = method == RS_REGRESS_EXPOSED};
    return ok;
}

static PyObject *regress(PyObject *module, PyObject *args, PyObject *words)
{
    (void)module;
    static char *names[] = {"base", "new", "settings", "progress", NULL};
    PyObject *base, *now, *settings, *progress = Py_None, *answer = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, words, "O!O!O!|O:regress", names, &PyList_Type, &base,
                                     &PyList_Type, &now, &PyDict_Type, &settings, &progress))
        return NULL;
    comparison *c = calloc(1, sizeof *c);
    if (!c) return PyErr_NoMemory();
    if (!read_settings(c, settings) || !read_side(c, 0, base) || !read_side(c, 1, now)) {
        clear_comparison(c);
        return NULL;
    }
    rs_py_task *task = rs_py_task_create(&(rs_py_work){do_comparison, clear_comparison, c});
    if (!task) return NULL;
    c->task = task;
    rs_error err = RS_ERROR_INIT;
    if (rs_py_task_run(task, progress, &err))
        answer = err.status == RS_OK ? rs_py_result_and_text(&c->result, &c->text)
                                     : rs_py_raise_with(&err, &c->result.problems);
    rs_py_task_drop(task);
    return answer;
}

static PyMethodDef functions[] = {
    {"regress", (PyCFunction)(void (*)(void))regress, METH_VARARGS | METH_KEYWORDS,
     "regress(base, new, settings, progress=None) -> (Result, JUnit or what is stored)"},
    {NULL, NULL, 0, NULL},
};

bool rs_py_add_regress(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}
