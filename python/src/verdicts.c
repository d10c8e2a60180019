/* Verdicts of a result as plain values: rankscope/verdict.h. */
#include "engine.h"

#include <math.h>

#include "rankscope/verdict.h"

static PyObject *make_real(double value)
{
    if (isfinite(value)) return PyFloat_FromDouble(value);
    Py_RETURN_NONE;
}

/* A list of n values, each made by make. */
static PyObject *make_list(const void *items, size_t size, size_t n, PyObject *(*make)(const void *item))
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < n; i++)
        if (!rs_py_append(list, make((const char *)items + i * size))) Py_CLEAR(list);
    return list;
}

static PyObject *make_number(const void *item)
{
    return PyLong_FromLongLong(*(const int64_t *)item);
}

static PyObject *make_text(const void *item)
{
    return rs_py_text(*(const char *const *)item);
}

/* As in JSON: {"rank": 5}, {"group": "dp", "ranks": [1, 5]}. */
static PyObject *make_culprit(const void *item)
{
    const rs_culprit *c = item;
    PyObject *one = PyDict_New();
    bool ok = one && rs_py_put(one, rs_culprit_kind_name(c->kind),
                               c->number >= 0 ? PyLong_FromLongLong(c->number) : rs_py_text(c->name));
    if (ok && c->n_ranks)
        ok = rs_py_put(one, "ranks", make_list(c->ranks, sizeof *c->ranks, c->n_ranks, make_number));
    if (ok && c->n_hosts)
        ok = rs_py_put(one, "hosts", make_list(c->hosts, sizeof *c->hosts, c->n_hosts, make_text));
    if (!ok) Py_CLEAR(one);
    return one;
}

static PyObject *make_written(const rs_evidence *e, rs_evidence_form form)
{
    rs_py_sink buffer = {0};
    const rs_sink sink = rs_py_sink_of(&buffer);
    rs_error err = RS_ERROR_INIT;
    rs_status status = rs_evidence_write(e, form, NULL, 0, &sink, &err);
    return rs_py_sink_end(&buffer, status, &err);
}

static PyObject *make_evidence(const void *item)
{
    const rs_evidence *e = item;
    PyObject *one = PyDict_New(), *options = PyDict_New();
    bool ok = one && options;
    for (size_t i = 0; ok && i < e->n_options; i++)
        ok = rs_py_put(options, e->options[i].name,
                       e->options[i].value ? rs_py_text(e->options[i].value) : PyBool_FromLong(1));
    ok = ok && rs_py_put(one, "command", rs_py_text(e->command)) &&
         PyDict_SetItemString(one, "options", options) == 0 &&
         rs_py_put(one, "shell", make_written(e, RS_EVIDENCE_SHELL)) &&
         rs_py_put(one, "python", make_written(e, RS_EVIDENCE_PYTHON));
    Py_XDECREF(options);
    if (!ok) Py_CLEAR(one);
    return one;
}

static PyObject *make_verdict(const rs_verdict *v)
{
    const struct {
        const char *key, *text;
    } texts[] = {{"kind", rs_verdict_kind_name(v->kind)},
                 {"id", v->id},
                 {"text", v->text},
                 {"claim", v->claim},
                 {"remedy", v->remedy},
                 {"assumption", v->assumption},
                 {"reason", v->reason}};
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"before_us", v->before_us},         {"after_us", v->after_us},
                   {"after_low_us", v->after_low_us},   {"after_high_us", v->after_high_us},
                   {"gain_pct", v->gain_pct},           {"gain_low_pct", v->gain_low_pct},
                   {"gain_high_pct", v->gain_high_pct}, {"bound_us", v->bound_us}};
    PyObject *one = PyDict_New();
    bool ok = one;
    for (size_t i = 0; ok && i < sizeof texts / sizeof *texts; i++)
        ok = rs_py_put(one, texts[i].key, rs_py_text(texts[i].text));
    for (size_t i = 0; ok && i < sizeof numbers / sizeof *numbers; i++)
        ok = rs_py_put(one, numbers[i].key, make_real(numbers[i].value));
    ok =
        ok && rs_py_put(one, "sensitivity", PyBool_FromLong(v->sensitivity)) &&
        rs_py_put(one, "steps", PyLong_FromLongLong(v->steps)) &&
        rs_py_put(one, "culprits",
                  make_list(v->culprits, sizeof *v->culprits, v->n_culprits, make_culprit)) &&
        rs_py_put(one, "evidence", make_list(v->evidence, sizeof *v->evidence, v->n_evidence, make_evidence));
    if (!ok) Py_CLEAR(one);
    return one;
}

PyObject *rs_py_verdicts(const rs_result *result)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < rs_result_n_verdicts(result); i++)
        if (!rs_py_append(list, make_verdict(rs_result_verdict(result, i)))) Py_CLEAR(list);
    return list;
}

PyObject *rs_py_lateness(const rs_result *result)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < rs_result_n_lateness(result); i++) {
        const rs_lateness *l = rs_result_lateness(result, i);
        PyObject *one = PyDict_New();
        bool ok = one && rs_py_put(one, "rank", PyLong_FromLongLong(l->rank)) &&
                  rs_py_put(one, "because_of", PyLong_FromLongLong(l->cause)) &&
                  rs_py_put(one, "wait_us", make_real(l->wait_us)) &&
                  rs_py_put(one, "of_cause_us", make_real(l->of_cause_us));
        if (!ok) Py_CLEAR(one);
        if (!rs_py_append(list, one)) Py_CLEAR(list);
    }
    return list;
}
