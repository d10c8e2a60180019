/* Tables and results. A table's memory is shared by the Python objects and by the Arrow consumers that look
 * at it, and freed, on whatever thread, when the last of them is gone. */
#include "engine.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct shared {
    rs_result result;
    atomic_size_t holders;
} shared;

typedef struct table_object {
    PyObject_HEAD shared *owner;
    const rs_table *table;
} table_object;

static PyTypeObject *table_type, *result_type;

static void hold(void *context)
{
    atomic_fetch_add(&((shared *)context)->holders, 1);
}

static void drop(void *context)
{
    shared *s = context;
    if (atomic_fetch_sub(&s->holders, 1) > 1) return;
    rs_result_clear(&s->result);
    free(s);
}

/* ---- plain values ------------------------------------------------------------------------------------- */

PyObject *rs_py_schema(const rs_table_spec *spec)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < spec->n_columns; i++) {
        const rs_column_spec *column = &spec->columns[i];
        PyObject *one = PyDict_New();
        bool ok = one && rs_py_put(one, "name", rs_py_text(column->name)) &&
                  rs_py_put(one, "type", rs_py_text(rs_type_name(column->type))) &&
                  rs_py_put(one, "unit", rs_py_text(rs_unit_name(column->unit))) &&
                  rs_py_put(one, "help", rs_py_text(column->help));
        if (!ok) {
            Py_XDECREF(one);
            Py_CLEAR(list);
        } else if (!rs_py_append(list, one)) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *make_problem(const rs_problem *p)
{
    static const char *const severities[] = {"note", "warning", "loss"};
    PyObject *one = PyDict_New(), *offsets = PyList_New(0);
    bool ok = one && offsets;
    for (unsigned i = 0; ok && i < p->n_offsets; i++)
        ok = rs_py_append(offsets, PyLong_FromUnsignedLongLong(p->offsets[i]));
    ok = ok && rs_py_put(one, "file", rs_py_text(p->file)) &&
         rs_py_put(one, "rank", p->rank < 0 ? rs_py_text(NULL) : PyLong_FromLongLong(p->rank)) &&
         rs_py_put(one, "severity", rs_py_text(severities[p->severity])) &&
         rs_py_put(one, "kind", rs_py_text(p->kind)) && rs_py_put(one, "message", rs_py_text(p->message)) &&
         rs_py_put(one, "detail", rs_py_text(p->detail)) &&
         rs_py_put(one, "count", PyLong_FromUnsignedLongLong(p->count)) &&
         PyDict_SetItemString(one, "offsets", offsets) == 0;
    Py_XDECREF(offsets);
    if (!ok) Py_CLEAR(one);
    return one;
}

PyObject *rs_py_problems(const rs_problems *problems)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < problems->n; i++)
        if (!rs_py_append(list, make_problem(&problems->items[i]))) Py_CLEAR(list);
    if (!list || !problems->n_dropped) return list;
    rs_problem rest = {.kind = "unrecorded",
                       .message = "defects that could not be recorded for lack of memory",
                       .rank = -1,
                       .severity = RS_LOSS,
                       .count = problems->n_dropped};
    if (!rs_py_append(list, make_problem(&rest))) Py_CLEAR(list);
    return list;
}

/* ---- Table: attributes -------------------------------------------------------------------------------- */

static const rs_table_spec *spec_of(const table_object *self)
{
    return rs_table_get_spec(self->table);
}

static PyObject *get_name(PyObject *self, void *closure)
{
    (void)closure;
    return rs_py_text(spec_of((table_object *)self)->name);
}

static PyObject *get_help(PyObject *self, void *closure)
{
    (void)closure;
    return rs_py_text(spec_of((table_object *)self)->help);
}

static PyObject *get_schema(PyObject *self, void *closure)
{
    (void)closure;
    return rs_py_schema(spec_of((table_object *)self));
}

static PyObject *get_num_rows(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromSize_t(rs_table_n_rows(((table_object *)self)->table));
}

const rs_table *rs_py_table_of(PyObject *table)
{
    return ((table_object *)table)->table;
}

const rs_result *rs_py_result_behind(PyObject *table)
{
    return &((table_object *)table)->owner->result;
}

static Py_ssize_t table_length(PyObject *self)
{
    return (Py_ssize_t)rs_table_n_rows(((table_object *)self)->table);
}

static void table_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    drop(((table_object *)self)->owner);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* Only runs make tables. */
static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *words)
{
    (void)type;
    (void)args;
    (void)words;
    PyErr_SetString(PyExc_TypeError, "tables are made by running an analysis");
    return NULL;
}

static PyObject *new_table(shared *owner, const rs_table *table)
{
    allocfunc make = (allocfunc)PyType_GetSlot(table_type, Py_tp_alloc);
    table_object *self = (table_object *)make(table_type, 0);
    if (!self) return NULL;
    hold(owner);
    self->owner = owner;
    self->table = table;
    return (PyObject *)self;
}

/* ---- Table: cells ------------------------------------------------------------------------------------- */

/* Tables keep each text once, so that the last str made of an address serves its repetitions. */
#define REMEMBERED 256

typedef struct memory {
    const char *texts[REMEMBERED];
    PyObject *strings[REMEMBERED]; /* borrowed from the list being filled */
} memory;

static PyObject *make_text(const char *text, size_t length, memory *seen)
{
    size_t slot = (size_t)((uintptr_t)text >> 3) % REMEMBERED;
    if (seen->texts[slot] == text && seen->strings[slot]) {
        Py_INCREF(seen->strings[slot]);
        return seen->strings[slot];
    }
    PyObject *string = PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace");
    seen->texts[slot] = text;
    seen->strings[slot] = string;
    return string;
}

static PyObject *make_cell(const rs_table *table, size_t row, size_t at, memory *seen)
{
    size_t length;
    if (rs_table_is_null(table, row, at)) Py_RETURN_NONE;
    switch (rs_table_get_spec(table)->columns[at].type) {
    case RS_INT: return PyLong_FromLongLong(rs_table_int(table, row, at));
    case RS_REAL:
    case RS_TIME:
    case RS_MOMENT: return PyFloat_FromDouble(rs_table_real(table, row, at));
    case RS_TEXT: break;
    }
    const char *text = rs_table_text(table, row, at, &length);
    return make_text(text, length, seen);
}

/* The index of a column that a name or number stands for, -1 with an exception. */
static Py_ssize_t find_column(const table_object *self, PyObject *key)
{
    const rs_table_spec *spec = spec_of(self);
    if (PyLong_Check(key)) {
        Py_ssize_t at = PyLong_AsSsize_t(key);
        if (at == -1 && PyErr_Occurred()) return -1;
        if (at < 0) at += (Py_ssize_t)spec->n_columns;
        if (at >= 0 && at < (Py_ssize_t)spec->n_columns) return at;
        PyErr_Format(PyExc_IndexError, "table %s has %zu columns", spec->name, spec->n_columns);
        return -1;
    }
    if (!PyUnicode_Check(key)) {
        PyErr_SetString(PyExc_TypeError, "a column is given by its name or number");
        return -1;
    }
    for (size_t i = 0; i < spec->n_columns; i++)
        if (PyUnicode_CompareWithASCIIString(key, spec->columns[i].name) == 0) return (Py_ssize_t)i;
    /* names that depend on the data may hold anything */
    for (size_t i = 0; i < spec->n_columns; i++) {
        PyObject *name = rs_py_text(spec->columns[i].name);
        int same = name ? PyObject_RichCompareBool(key, name, Py_EQ) : -1;
        Py_XDECREF(name);
        if (same) return same < 0 ? -1 : (Py_ssize_t)i;
    }
    PyObject *names = rs_py_text("");
    for (size_t i = 0; names && i < spec->n_columns; i++) {
        PyObject *longer = PyUnicode_FromFormat("%U%s%s", names, i ? ", " : "", spec->columns[i].name);
        Py_DECREF(names);
        names = longer;
    }
    if (names) PyErr_Format(PyExc_KeyError, "table %s has no column %U; it has %U", spec->name, key, names);
    Py_XDECREF(names);
    return -1;
}

static PyObject *table_column(PyObject *object, PyObject *args)
{
    const table_object *self = (table_object *)object;
    PyObject *key;
    Py_ssize_t first = 0, last = PY_SSIZE_T_MAX, n = table_length(object);
    if (!PyArg_ParseTuple(args, "O|nn:column", &key, &first, &last)) return NULL;
    Py_ssize_t at = find_column(self, key);
    if (at < 0) return NULL;
    if (last > n) last = n;
    if (first < 0) first = 0;
    if (first > last) first = last;
    PyObject *list = PyList_New(last - first);
    memory *seen = calloc(1, sizeof *seen);
    if (!seen) PyErr_NoMemory();
    for (Py_ssize_t row = first; list && row < last; row++) {
        PyObject *cell = seen ? make_cell(self->table, (size_t)row, (size_t)at, seen) : NULL;
        if (!cell || PyList_SetItem(list, row - first, cell) != 0) Py_CLEAR(list);
    }
    if (!seen) Py_CLEAR(list);
    free(seen);
    return list;
}

static PyObject *table_slice(PyObject *object, PyObject *args)
{
    Py_ssize_t first, last, n = table_length(object);
    if (!PyArg_ParseTuple(args, "nn:slice", &first, &last)) return NULL;
    if (last > n) last = n;
    if (first < 0 || first > last) first = first < 0 ? 0 : last;
    rs_error err = RS_ERROR_INIT;
    const rs_table *from = ((table_object *)object)->table;
    rs_table *copy;
    Py_BEGIN_ALLOW_THREADS;
    copy = rs_py_copy_rows(from, NULL, (size_t)first, last < first ? 0 : (size_t)(last - first), &err);
    Py_END_ALLOW_THREADS;
    return copy ? rs_py_table(copy) : rs_py_raise(&err);
}

/* ---- Table: Arrow -------------------------------------------------------------------------------------- */

static void free_stream(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream && stream->release) stream->release(stream);
    free(stream);
}

static void free_schema(PyObject *capsule)
{
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema && schema->release) schema->release(schema);
    free(schema);
}

static PyObject *table_arrow_stream(PyObject *object, PyObject *args, PyObject *words)
{
    /* The schema that a consumer would like is a wish; ours has one form of each type. */
    static char *names[] = {"requested_schema", NULL};
    PyObject *wish = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, words, "|O:__arrow_c_stream__", names, &wish)) return NULL;
    const table_object *self = (table_object *)object;
    struct ArrowArrayStream *stream = malloc(sizeof *stream);
    if (!stream) return PyErr_NoMemory();
    rs_arrow_owner owner = {hold, drop, self->owner};
    rs_error err = RS_ERROR_INIT;
    if (rs_table_arrow_stream(self->table, &owner, stream, &err) != RS_OK) {
        free(stream);
        return rs_py_raise(&err);
    }
    PyObject *capsule = PyCapsule_New(stream, "arrow_array_stream", free_stream);
    if (!capsule) {
        stream->release(stream);
        free(stream);
    }
    return capsule;
}

static PyObject *table_arrow_schema(PyObject *object, PyObject *args)
{
    (void)args;
    struct ArrowSchema *schema = malloc(sizeof *schema);
    if (!schema) return PyErr_NoMemory();
    rs_error err = RS_ERROR_INIT;
    if (rs_table_arrow_schema(((table_object *)object)->table, schema, &err) != RS_OK) {
        free(schema);
        return rs_py_raise(&err);
    }
    PyObject *capsule = PyCapsule_New(schema, "arrow_schema", free_schema);
    if (!capsule) {
        schema->release(schema);
        free(schema);
    }
    return capsule;
}

/* ---- traces written again ------------------------------------------------------------------------------ */

typedef struct rewriting {
    shared *owner;
    char *file, *to;
    rs_rewrite_settings settings;
    bool truncated;
} rewriting;

static bool write_file(void *context, const char *bytes, size_t n)
{
    return fwrite(bytes, 1, n, context) == n;
}

static rs_status run_rewriting(void *context, rs_error *err)
{
    rewriting *w = context;
    FILE *out = fopen(w->to, "wb");
    if (!out) return rs_fail_at(err, RS_ERR_IO, w->to, RS_NO_OFFSET, "%s", strerror(errno));
    rs_sink sink = {write_file, out};
    rs_status status = rs_result_rewrite(&w->owner->result, w->file, &w->settings, &sink, &w->truncated, err);
    if (fclose(out) != 0 && status == RS_OK)
        status = rs_fail_at(err, RS_ERR_IO, w->to, RS_NO_OFFSET, "%s", strerror(errno));
    return status;
}

static void clear_rewriting(void *context)
{
    rewriting *w = context;
    drop(w->owner);
    free(w->file);
    free(w->to);
    free((char *)w->settings.name);
    free(w);
}

static PyObject *table_rewrite(PyObject *object, PyObject *args, PyObject *words)
{
    static char *names[] = {"file", "to", "name", "compress", "keep_all", NULL};
    const char *file, *to, *name;
    int compress = 0, keep_all = 0;
    if (!PyArg_ParseTupleAndKeywords(args, words, "sss|pp:rewrite", names, &file, &to, &name, &compress,
                                     &keep_all))
        return NULL;
    rewriting *w = calloc(1, sizeof *w);
    if (!w) return PyErr_NoMemory();
    w->owner = ((table_object *)object)->owner;
    hold(w->owner);
    w->file = strdup(file);
    w->to = strdup(to);
    w->settings = (rs_rewrite_settings){.size = sizeof(rs_rewrite_settings),
                                        .name = strdup(name),
                                        .compress = compress,
                                        .keep_all = keep_all};
    rs_py_work work = {run_rewriting, clear_rewriting, w};
    if (!w->file || !w->to || !w->settings.name) {
        clear_rewriting(w);
        return PyErr_NoMemory();
    }
    rs_py_task *task = rs_py_task_create(&work);
    if (!task) return NULL;
    rs_error err = RS_ERROR_INIT;
    PyObject *answer = NULL;
    if (rs_py_task_run(task, Py_None, &err))
        answer = err.status == RS_OK ? PyBool_FromLong(w->truncated) : rs_py_raise(&err);
    rs_py_task_drop(task);
    return answer;
}

/* ---- Table: renderers ---------------------------------------------------------------------------------- */

static PyObject *render(PyObject *self, const rs_render_settings *settings)
{
    rs_py_sink buffer = {0};
    rs_sink sink = rs_py_sink_of(&buffer);
    rs_error err = RS_ERROR_INIT;
    rs_status status;
    const rs_table *table = ((table_object *)self)->table;
    Py_BEGIN_ALLOW_THREADS;
    status = rs_render_table(table, settings, &sink, &err);
    Py_END_ALLOW_THREADS;
    PyObject *text = buffer.no_memory  ? PyErr_NoMemory()
                     : status == RS_OK ? (settings->form && rs_output_form_is_binary(settings->form)
                                              ? rs_py_sink_bytes(&buffer)
                                              : rs_py_sink_text(&buffer))
                                       : rs_py_raise(&err);
    rs_py_sink_clear(&buffer);
    return text;
}

/* One output form, by its name. */
static PyObject *table_render(PyObject *self, PyObject *args, PyObject *words)
{
    static char *names[] = {"form", "width", "color", "utf8", NULL};
    const char *name;
    unsigned width = 0;
    int color = 0, utf8 = 1;
    if (!PyArg_ParseTupleAndKeywords(args, words, "s|Ipp:render", names, &name, &width, &color, &utf8))
        return NULL;
    rs_render_settings settings = {.size = sizeof settings,
                                   .form = rs_output_form_find(name),
                                   .width = width,
                                   .color = color,
                                   .utf8 = utf8};
    rs_error err = RS_ERROR_INIT;
    if (settings.form) return render(self, &settings);
    rs_fail(&err, RS_ERR_USAGE, "there is no output form \"%.60s\"; there is %s", name, rs_output_form_names);
    return rs_py_raise(&err);
}

/* The run's whole answer in text, as the command of its analysis prints it. */
static PyObject *table_answer(PyObject *self, PyObject *args, PyObject *words)
{
    static char *names[] = {"analysis", "compat", "width", "color", "utf8", NULL};
    const char *name;
    PyObject *compat = Py_None;
    unsigned width = 0;
    int color = 0, utf8 = 1;
    rs_compat mode;
    rs_error err = RS_ERROR_INIT;
    if (!PyArg_ParseTupleAndKeywords(args, words, "s|OIpp:answer", names, &name, &compat, &width, &color,
                                     &utf8) ||
        !rs_py_compat(compat, &mode))
        return NULL;
    const rs_analysis *analysis = rs_analysis_find(name);
    if (!analysis) return rs_py_refuse("there is no such analysis");
    const rs_result *result = &((table_object *)self)->owner->result;
    rs_render_settings settings = {.size = sizeof settings, .width = width, .color = color, .utf8 = utf8};
    rs_py_sink buffer = {0};
    rs_sink sink = rs_py_sink_of(&buffer);
    rs_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = rs_render_answer(analysis, mode, result, &settings, &sink, &err);
    Py_END_ALLOW_THREADS;
    return rs_py_sink_end(&buffer, status, &err);
}

/* ---- the types ----------------------------------------------------------------------------------------- */

static PyGetSetDef table_attributes[] = {
    {"name", get_name, NULL, "what the table is called", NULL},
    {"help", get_help, NULL, "what a row is", NULL},
    {"schema", get_schema, NULL, "one dict a column: name, type, unit, help", NULL},
    {"num_rows", get_num_rows, NULL, "how many rows", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef table_methods[] = {
    {"column", table_column, METH_VARARGS,
     "column(name_or_number, first=0, last=end) -> list; None where a value is unknown"},
    {"slice", table_slice, METH_VARARGS, "slice(first, last) -> Table: a copy of these rows"},
    {"take", rs_py_table_take, METH_O, "take(numbers) -> Table: a copy of these rows, in this order"},
    {"page", rs_py_table_page, METH_VARARGS,
     "page(\"history\" or \"comparison\", names) -> str: the whole run's answer as a page"},
    {"state", rs_py_table_state, METH_NOARGS,
     "state() -> tuple: the table as plain values, for table_restore"},
    {"render", (PyCFunction)(void (*)(void))table_render, METH_VARARGS | METH_KEYWORDS,
     "render(form, width=0, color=False, utf8=True) -> str, or bytes of a binary form: as the program prints "
     "it; the "
     "rest is for text, where width 0 shortens nothing"},
    {"answer", (PyCFunction)(void (*)(void))table_answer, METH_VARARGS | METH_KEYWORDS,
     "answer(analysis, compat=None, width=0, color=False, utf8=True) -> str: the whole run's answer as the "
     "command "
     "prints it"},
    {"rewrite", (PyCFunction)(void (*)(void))table_rewrite, METH_VARARGS | METH_KEYWORDS,
     "rewrite(file, to, name, compress=False, keep_all=False) -> bool: writes a file of the result again "
     "into to, "
     "packed as name ends, with what its tables say; whether the file ends too early"},
    {"__arrow_c_stream__", (PyCFunction)(void (*)(void))table_arrow_stream, METH_VARARGS | METH_KEYWORDS,
     "the table for any Arrow library, its numbers not copied"},
    {"__arrow_c_schema__", table_arrow_schema, METH_NOARGS, "the table's Arrow schema"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot table_slots[] = {
    {Py_tp_new, (void *)(uintptr_t)refuse_new},
    {Py_tp_dealloc, (void *)(uintptr_t)table_dealloc},
    {Py_tp_getset, table_attributes},
    {Py_tp_methods, table_methods},
    {Py_sq_length, (void *)(uintptr_t)table_length},
    {Py_tp_doc, "A table of the engine."},
    {0, NULL},
};

static PyType_Spec table_spec = {
    .name = "rankscope._engine.Table",
    .basicsize = sizeof(table_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = table_slots,
};

#define N_FIELDS 7

static PyStructSequence_Field result_fields[N_FIELDS + 1] = {
    {"tables", "dict of Tables by name, in the analysis' order"},
    {"main", "name of the table to show"},
    {"problems", "what was wrong with the input, one dict a kind and file"},
    {"notes", "reasons for what is merely absent"},
    {"found", "whether what was looked for is there"},
    {"verdicts", "what is wrong with the job, one dict each, the most important first"},
    {"late", "ranks that come late because of one of these, one dict each"},
    {NULL, NULL},
};

static PyStructSequence_Desc result_description = {.name = "rankscope._engine.Result",
                                                   .doc = "What a run answered.",
                                                   .fields = result_fields,
                                                   .n_in_sequence = N_FIELDS};

/* ---- making them --------------------------------------------------------------------------------------- */

static shared *share(rs_result *result)
{
    shared *owner = calloc(1, sizeof *owner);
    if (!owner) {
        rs_result_clear(result);
        PyErr_NoMemory();
        return NULL;
    }
    owner->result = *result;
    *result = (rs_result){0};
    atomic_init(&owner->holders, 1);
    return owner;
}

static PyObject *make_tables(shared *owner)
{
    PyObject *tables = PyDict_New();
    for (size_t i = 0; tables && i < owner->result.n_tables; i++) {
        const rs_table *table = owner->result.tables[i];
        if (!rs_py_put(tables, rs_table_get_spec(table)->name, new_table(owner, table))) Py_CLEAR(tables);
    }
    return tables;
}

static PyObject *make_notes(const rs_result *result)
{
    PyObject *notes = PyList_New(0);
    for (size_t i = 0; notes && i < result->n_notes; i++)
        if (!rs_py_append(notes, rs_py_text(result->notes[i]))) Py_CLEAR(notes);
    return notes;
}

PyObject *rs_py_result(rs_result *result)
{
    shared *owner = share(result);
    if (!owner) return NULL;
    const rs_result *r = &owner->result;
    const char *main = r->main_table < r->n_tables ? rs_table_get_spec(r->tables[r->main_table])->name : NULL;
    PyObject *values[N_FIELDS] = {make_tables(owner), rs_py_text(main),          rs_py_problems(&r->problems),
                                  make_notes(r),      PyBool_FromLong(r->found), rs_py_verdicts(r),
                                  rs_py_lateness(r)};
    drop(owner);
    bool ok = true;
    for (int i = 0; i < N_FIELDS; i++) ok = ok && values[i];
    PyObject *self = ok ? PyStructSequence_New(result_type) : NULL;
    for (int i = 0; i < N_FIELDS; i++) {
        if (self)
            PyStructSequence_SetItem(self, i, values[i]); /* takes it over */
        else
            Py_XDECREF(values[i]);
    }
    return self;
}

PyObject *rs_py_result_and_text(rs_result *result, const rs_py_sink *text)
{
    PyObject *first = rs_py_result(result), *second = rs_py_sink_text(text);
    PyObject *pair = first && second ? PyTuple_Pack(2, first, second) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(second);
    return pair;
}

PyObject *rs_py_table(rs_table *table)
{
    rs_result result = {.tables = malloc(sizeof(rs_table *))};
    if (!result.tables) {
        rs_table_free(table);
        return PyErr_NoMemory();
    }
    result.tables[0] = table;
    result.n_tables = 1;
    shared *owner = share(&result);
    if (!owner) return NULL;
    PyObject *self = new_table(owner, table);
    drop(owner);
    return self;
}

bool rs_py_add_results(PyObject *module)
{
    table_type = (PyTypeObject *)PyType_FromSpec(&table_spec);
    result_type = PyStructSequence_NewType(&result_description);
    if (!table_type || !result_type) return false;
    Py_INCREF(table_type);
    Py_INCREF(result_type);
    return PyModule_AddObject(module, "Table", (PyObject *)table_type) == 0 &&
           PyModule_AddObject(module, "Result", (PyObject *)result_type) == 0;
}
