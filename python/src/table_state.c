/* Tables made of another table's rows, and tables that travel as plain Python values (pickle, copy). */
#include "engine.h"

#include <string.h>

rs_table *rs_py_copy_rows(const rs_table *from, const size_t *rows, size_t first, size_t n, rs_error *err)
{
    const rs_table_spec *spec = rs_table_get_spec(from);
    rs_table *into = rs_table_create_dynamic(spec);
    rs_status status = into ? RS_OK : rs_fail_nomem(err, "a table");
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        for (size_t at = 0; at < spec->n_columns; at++)
            rs_table_add_cell(into, from, rows ? rows[i] : first + i, at);
        status = rs_table_end_row(into, err);
    }
    if (status == RS_OK) return into;
    rs_table_free(into);
    return NULL;
}

PyObject *rs_py_table_take(PyObject *self, PyObject *numbers)
{
    const rs_table *from = rs_py_table_of(self);
    size_t n_rows = rs_table_n_rows(from);
    PyObject *list = PySequence_List(numbers);
    Py_ssize_t n = list ? PyList_Size(list) : 0;
    size_t *rows = list ? PyMem_Malloc((size_t)(n + 1) * sizeof *rows) : NULL;
    bool ok = rows != NULL;
    if (list && !rows) PyErr_NoMemory();
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        Py_ssize_t row = PyLong_AsSsize_t(PyList_GetItem(list, i));
        ok = !(row == -1 && PyErr_Occurred());
        if (ok && (row < 0 || (size_t)row >= n_rows)) {
            PyErr_Format(PyExc_IndexError, "the table has %zu rows", n_rows);
            ok = false;
        }
        rows[i] = (size_t)row;
    }
    Py_XDECREF(list);
    rs_table *into = NULL;
    rs_error err = RS_ERROR_INIT;
    if (ok) {
        Py_BEGIN_ALLOW_THREADS;
        into = rs_py_copy_rows(from, rows, 0, (size_t)n, &err);
        Py_END_ALLOW_THREADS;
        if (!into) rs_py_raise(&err);
    }
    PyMem_Free(rows);
    return into ? rs_py_table(into) : NULL;
}

/* ---- as plain values ----------------------------------------------------------------------------------- */

/* Both kinds of time share a name elsewhere; here they must be told apart. */
static const char *type_name(rs_type type)
{
    return type == RS_MOMENT ? "moment" : rs_type_name(type);
}

static PyObject *raw_cell(const rs_table *table, size_t row, size_t at)
{
    size_t length;
    if (rs_table_is_null(table, row, at)) Py_RETURN_NONE;
    switch (rs_table_get_spec(table)->columns[at].type) {
    case RS_INT:
    case RS_TIME:
    case RS_MOMENT: return PyLong_FromLongLong(rs_table_int(table, row, at)); /* to the nanosecond */
    case RS_REAL: return PyFloat_FromDouble(rs_table_real(table, row, at));
    case RS_TEXT: break;
    }
    const char *text = rs_table_text(table, row, at, &length);
    return PyBytes_FromStringAndSize(text, (Py_ssize_t)length);
}

static PyObject *raw_column(const rs_table *table, size_t at)
{
    size_t n = rs_table_n_rows(table);
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t row = 0; list && row < n; row++) {
        PyObject *cell = raw_cell(table, row, at);
        if (!cell || PyList_SetItem(list, (Py_ssize_t)row, cell) != 0) Py_CLEAR(list);
    }
    return list;
}

PyObject *rs_py_table_state(PyObject *self, PyObject *args)
{
    (void)args;
    const rs_table *table = rs_py_table_of(self);
    const rs_table_spec *spec = rs_table_get_spec(table);
    PyObject *columns = PyList_New(0), *state = NULL;
    bool ok = columns != NULL;
    for (size_t at = 0; ok && at < spec->n_columns; at++) {
        const rs_column_spec *c = &spec->columns[at];
        PyObject *cells = raw_column(table, at);
        ok = cells && rs_py_append(columns, Py_BuildValue("(zszzzN)", c->name, type_name(c->type),
                                                          rs_unit_name(c->unit), c->help, c->title, cells));
    }
    if (ok)
        state = Py_BuildValue("(zzLO)", spec->name, spec->help, (long long)rs_table_origin(table), columns);
    Py_XDECREF(columns);
    return state;
}

/* A column of the state as a spec; the texts are borrowed from it. */
static bool read_spec(PyObject *column, rs_column_spec *out, PyObject **cells)
{
    const char *type, *unit;
    if (!PyArg_ParseTuple(column, "sszzzO!:column", &out->name, &type, &unit, &out->help, &out->title,
                          &PyList_Type, cells))
        return false;
    for (int t = RS_INT; t <= RS_MOMENT; t++) {
        if (strcmp(type, type_name((rs_type)t)) != 0) continue;
        out->type = (rs_type)t;
        for (int u = RS_UNIT_NONE; u <= RS_UNIT_LAST; u++) {
            const char *name = rs_unit_name((rs_unit)u);
            if (name ? !unit || strcmp(unit, name) != 0 : unit != NULL) continue;
            out->unit = (rs_unit)u;
            return true;
        }
    }
    PyErr_Format(PyExc_ValueError,
                 "a table with a column of type %s and unit %s, which this rankscope does not know", type,
                 unit ? unit : "none");
    return false;
}

static bool put_cell(rs_table *table, rs_type type, PyObject *cell, int64_t origin)
{
    char *text;
    Py_ssize_t length;
    if (cell == Py_None) {
        rs_table_add_null(table);
    } else if (type == RS_TEXT) {
        if (PyBytes_AsStringAndSize(cell, &text, &length) != 0) return false;
        rs_table_add_text_n(table, text, (size_t)length);
    } else if (type == RS_REAL) {
        rs_table_add_real(table, PyFloat_AsDouble(cell));
    } else {
        int64_t value = PyLong_AsLongLong(cell);
        if (type == RS_INT) rs_table_add_int(table, value);
        if (type == RS_TIME) rs_table_add_time(table, value);
        if (type == RS_MOMENT) rs_table_add_moment(table, (int64_t)((uint64_t)value + (uint64_t)origin));
    }
    return !PyErr_Occurred();
}

static rs_table *fill(const rs_table_spec *spec, PyObject *const *cells, int64_t origin)
{
    Py_ssize_t n = spec->n_columns ? PyList_Size(cells[0]) : 0;
    rs_error err = RS_ERROR_INIT;
    rs_table *table = rs_table_create_dynamic(spec);
    if (!table) PyErr_NoMemory();
    bool ok = table != NULL;
    for (size_t at = 0; ok && at < spec->n_columns; at++) {
        ok = PyList_Size(cells[at]) == n;
        if (!ok) PyErr_SetString(PyExc_ValueError, "a table whose columns differ in length");
    }
    for (Py_ssize_t row = 0; ok && row < n; row++) {
        for (size_t at = 0; ok && at < spec->n_columns; at++)
            ok = put_cell(table, spec->columns[at].type, PyList_GetItem(cells[at], row), origin);
        if (ok && rs_table_end_row(table, &err) != RS_OK) {
            rs_py_raise(&err);
            ok = false;
        }
    }
    if (ok) rs_table_count_from(table, origin);
    if (ok) return table;
    rs_table_free(table);
    return NULL;
}

PyObject *rs_py_table_restore(PyObject *module, PyObject *state)
{
    (void)module;
    rs_table_spec spec = {0};
    long long origin;
    PyObject *list;
    if (!PyTuple_Check(state)) return rs_py_refuse("a table is restored from what its state gave");
    if (!PyArg_ParseTuple(state, "zzLO!:table_restore", &spec.name, &spec.help, &origin, &PyList_Type, &list))
        return NULL;
    spec.n_columns = (size_t)PyList_Size(list);
    rs_column_spec *columns = PyMem_Calloc(spec.n_columns + 1, sizeof *columns);
    PyObject **cells = PyMem_Calloc(spec.n_columns + 1, sizeof(PyObject *)); /* borrowed from the list */
    bool ok = columns && cells;
    if (!ok) PyErr_NoMemory();
    for (size_t at = 0; ok && at < spec.n_columns; at++) {
        PyObject *column = PyList_GetItem(list, (Py_ssize_t)at);
        ok = PyTuple_Check(column) && read_spec(column, &columns[at], &cells[at]);
        if (!ok && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a column of a table is a tuple");
    }
    spec.columns = columns;
    rs_table *table = ok ? fill(&spec, cells, origin) : NULL;
    PyMem_Free(columns);
    PyMem_Free(cells);
    return table ? rs_py_table(table) : NULL;
}
