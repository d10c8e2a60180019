/* The module, and the registry as plain values. */
#include "engine.h"

#include "rankscope/slice.h"

#include <string.h>

static PyObject *version(PyObject *module, PyObject *args)
{
    (void)module;
    (void)args;
    return rs_py_text(rs_version());
}

static PyObject *make_option(const rs_option_spec *spec)
{
    static const char *const types[] = {"flag", "int", "real", "text", "choice", "ranges", "text", "lines"};
    PyObject *one = PyDict_New(), *choices = NULL;
    bool ok = one != NULL;
    if (ok && spec->choices) {
        PyObject *text = rs_py_text(spec->choices);
        choices = text ? PyObject_CallMethod(text, "split", "s", "|") : NULL;
        Py_XDECREF(text);
        ok = choices != NULL;
    }
    ok = ok && rs_py_put(one, "name", rs_py_text(spec->name)) &&
         rs_py_put(one, "type", rs_py_text(types[spec->type])) &&
         rs_py_put(one, "metavar", rs_py_text(spec->metavar)) &&
         PyDict_SetItemString(one, "choices", choices ? choices : Py_None) == 0 &&
         rs_py_put(one, "default", rs_py_text(spec->fallback)) &&
         rs_py_put(one, "help", rs_py_text(spec->help));
    Py_XDECREF(choices);
    if (!ok) Py_CLEAR(one);
    return one;
}

static PyObject *make_options(const rs_option_spec *specs, size_t n)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < n; i++)
        if (!rs_py_append(list, make_option(&specs[i]))) Py_CLEAR(list);
    return list;
}

static PyObject *make_specs(const rs_table_spec *const *specs, size_t n)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *one = PyDict_New();
        bool ok = one && rs_py_put(one, "name", rs_py_text(specs[i]->name)) &&
                  rs_py_put(one, "help", rs_py_text(specs[i]->help)) &&
                  rs_py_put(one, "columns", rs_py_schema(specs[i]));
        if (!ok) {
            Py_XDECREF(one);
            Py_CLEAR(list);
        } else if (!rs_py_append(list, one)) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* {"": [...], "hta": [...]}: the tables under each compatibility mode that the analysis knows. */
static PyObject *make_tables(const rs_analysis *analysis)
{
    static const char *const names[] = {"", "hta", "hta-exact", "tracelens", "aorta", "straggler-analysis"};
    PyObject *dict = PyDict_New();
    for (rs_compat c = RS_COMPAT_NONE; dict && c <= RS_COMPAT_STRAGGLER_ANALYSIS; c++) {
        size_t n;
        const rs_table_spec *const *specs = rs_analysis_tables(analysis, c, &n);
        if (specs && !rs_py_put(dict, names[c], make_specs(specs, n))) Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *make_analysis(const rs_analysis *analysis)
{
    static const char *const inputs[] = {"traces", "two_jobs", "file", "jobs", "recordings"};
    size_t n;
    const rs_option_spec *specs = rs_analysis_options(analysis, &n);
    PyObject *one = PyDict_New();
    if (one && rs_py_put(one, "name", rs_py_text(rs_analysis_name(analysis))) &&
        rs_py_put(one, "help", rs_py_text(rs_analysis_help(analysis))) &&
        rs_py_put(one, "about", rs_py_text(rs_analysis_about(analysis))) &&
        rs_py_put(one, "examples", rs_py_text(rs_analysis_examples(analysis))) &&
        rs_py_put(one, "input", rs_py_text(inputs[rs_analysis_input(analysis)])) &&
        rs_py_put(one, "options", make_options(specs, n)) && rs_py_put(one, "tables", make_tables(analysis)))
        return one;
    Py_XDECREF(one);
    return NULL;
}

static PyObject *analyses(PyObject *module, PyObject *args)
{
    (void)module;
    (void)args;
    size_t n;
    const rs_analysis *const *rows = rs_analyses(&n);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < n; i++)
        if (!rs_py_append(list, make_analysis(rows[i]))) Py_CLEAR(list);
    return list;
}

static PyObject *job_options(PyObject *module, PyObject *args)
{
    (void)module;
    (void)args;
    size_t n;
    const rs_option_spec *specs = rs_job_options(&n);
    return make_options(specs, n);
}

/* (those of slice, those that share has beside them) */
static PyObject *slice_options(PyObject *module, PyObject *args)
{
    (void)module;
    (void)args;
    size_t n, m;
    const rs_option_spec *slice = rs_slice_options(&n), *share = rs_share_options(&m);
    return Py_BuildValue("(NN)", make_options(slice, n), make_options(share, m));
}

static PyObject *output_forms(PyObject *module, PyObject *args)
{
    (void)module;
    (void)args;
    PyObject *names = rs_py_text(rs_output_form_names);
    PyObject *list = names ? PyObject_CallMethod(names, "split", "s", "|") : NULL;
    Py_XDECREF(names);
    return list;
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, "version() -> str"},
    {"job_options", job_options, METH_NOARGS, "job_options() -> what settings of a job can be chosen"},
    {"slice_options", slice_options, METH_NOARGS,
     "slice_options() -> (what slice takes, what share takes in addition)"},
    {"output_forms", output_forms, METH_NOARGS, "output_forms() -> list of the names that render takes"},
    {"analyses", analyses, METH_NOARGS, "analyses() -> list of dicts: the registry"},
    {"table_restore", rs_py_table_restore, METH_O, "table_restore(state) -> Table: what state() of one gave"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "rankscope._engine",
    "The native engine; use the package rankscope.",
    -1,
    functions,
    NULL,
    NULL,
    NULL,
    NULL,
};

static bool add_parts(PyObject *module)
{
    for (size_t i = 0; rs_py_part_rows[i]; i++)
        if (!rs_py_part_rows[i]->add(module)) return false;
    return true;
}

/* Python's own macro leaves the declaration to us where visibility is hidden. */
PyMODINIT_FUNC PyInit__engine(void);

PyMODINIT_FUNC PyInit__engine(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (!module) return NULL;
    if (rs_py_add_results(module) && rs_py_add_job(module) && rs_py_add_many(module) &&
        rs_py_add_regress(module) && rs_py_add_file(module) && rs_py_add_store(module) && add_parts(module))
        return module;
    Py_DECREF(module);
    return NULL;
}
