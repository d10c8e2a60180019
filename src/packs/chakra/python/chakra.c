/* Chakra: linking, converting, printing and checking execution traces. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

/* One call, whichever it is: its texts, where its output goes, what it came to. */
typedef struct call {
    char *first, *second; /* paths */
    char **paths;         /* of the traces of several ranks */
    size_t n_paths;
    PyObject *data;          /* bytes instead of the first path */
    rs_py_sink output, side; /* side: groups or the check's report */
    rs_py_sink explanation;
    rs_sink side_sink;
    rs_chakra_link_settings link;
    rs_chakra_convert_settings convert;
    rs_chakra_check_settings check;
    rs_chakra_text_settings text;
    rs_chakra_generate_settings generate;
    size_t pattern;
    double mhz;
    rs_chakra_linked *nodes; /* what linking left in memory */
    char *form;              /* of a graph */
    rs_chakra_link_report linked;
    rs_chakra_convert_report converted;
    rs_chakra_pairs *pairs;
    rs_problems problems;
    unsigned jobs;
    uint64_t count; /* nodes printed, faults found */
    uint64_t max_ratio;
    bool lines;
} call;

static void clear_call(void *context)
{
    call *c = context;
    free(c->first);
    free(c->second);
    for (size_t i = 0; i < c->n_paths; i++) free(c->paths[i]);
    free(c->paths);
    rs_chakra_pairs_free(c->pairs);
    rs_chakra_linked_free(c->nodes);
    free(c->form);
    rs_problems_clear(&c->problems);
    rs_py_release(c->data);
    rs_py_sink_clear(&c->output);
    rs_py_sink_clear(&c->side);
    rs_py_sink_clear(&c->explanation);
    rs_chakra_link_report_clear(&c->linked);
    rs_chakra_convert_report_clear(&c->converted);
    free(c);
}

/* A call with its paths: first is needed unless there is data; NULL with an exception. */
static call *make_call(PyObject *first, PyObject *second, PyObject *output, PyObject *name)
{
    call *c = calloc(1, sizeof *c);
    if (!c) {
        PyErr_NoMemory();
        return NULL;
    }
    c->first = rs_py_path(first);
    if (!PyErr_Occurred()) c->second = rs_py_path(second);
    if (!PyErr_Occurred()) c->output.path = rs_py_path(output);
    if (!PyErr_Occurred()) c->output.name = rs_py_path(name);
    if (!PyErr_Occurred()) return c;
    clear_call(c);
    return NULL;
}

/* Runs a call and makes its answer. Drops it. */
static PyObject *run_call(call *c, rs_status (*run)(void *, rs_error *), PyObject *(*answer)(call *),
                          const rs_problems *problems)
{
    rs_py_task *task = rs_py_task_create(&(rs_py_work){run, clear_call, c});
    if (!task) return NULL;
    rs_error err = RS_ERROR_INIT;
    PyObject *result = NULL;
    if (rs_py_task_run(task, Py_None, &err))
        result = err.status == RS_OK ? answer(c) : rs_py_raise_with(&err, problems);
    rs_py_task_drop(task);
    return result;
}

static bool put_count(PyObject *dict, const char *name, uint64_t value)
{
    return rs_py_put(dict, name, PyLong_FromUnsignedLongLong(value));
}

/* ---- link ---------------------------------------------------------------------------------------------- */

static void explain(void *context, const char *text)
{
    call *c = context;
    rs_sink sink = rs_py_sink_of(&c->explanation);
    if (sink.write(sink.context, text, strlen(text))) sink.write(sink.context, "\n", 1);
}

static rs_status write_linked(void *context, const rs_sink *sink, rs_error *err)
{
    call *c = context;
    return rs_chakra_link(&c->link, sink, &c->linked, err);
}

static rs_status do_link(void *context, rs_error *err)
{
    call *c = context;
    return rs_py_sink_fill(&c->output, write_linked, c, err);
}

static PyObject *link_counts(const rs_chakra_link_report *r)
{
    PyObject *report = PyDict_New();
    if (report && put_count(report, "host_nodes", r->host_nodes) &&
        put_count(report, "rf_nodes", r->rf_nodes) && put_count(report, "near_nodes", r->near_nodes) &&
        put_count(report, "linked", r->linked) && put_count(report, "linked_by_name", r->linked_by_name) &&
        put_count(report, "unlinked_inside", r->unlinked_inside) &&
        put_count(report, "gpu_nodes", r->gpu_nodes) && put_count(report, "gpu_outside", r->gpu_outside) &&
        put_count(report, "gpu_lost", r->gpu_lost) && put_count(report, "roots_made", r->roots_made) &&
        put_count(report, "orphans", r->orphans) && put_count(report, "stream_syncs", r->stream_syncs) &&
        put_count(report, "event_syncs", r->event_syncs) &&
        put_count(report, "context_syncs", r->context_syncs) &&
        put_count(report, "blocking_copies", r->blocking_copies) &&
        put_count(report, "stream_waits", r->stream_waits) &&
        put_count(report, "inter_thread", r->inter_thread))
        return report;
    Py_XDECREF(report);
    return NULL;
}

/* A tuple of n values, which are taken over; NULL where one is missing. */
static PyObject *tuple_of(PyObject **values, size_t n)
{
    bool ok = true;
    for (size_t i = 0; i < n; i++) ok = ok && values[i];
    PyObject *tuple = ok ? PyTuple_New((Py_ssize_t)n) : NULL;
    for (size_t i = 0; i < n; i++) {
        if (tuple)
            PyTuple_SetItem(tuple, (Py_ssize_t)i, values[i]);
        else
            Py_XDECREF(values[i]);
    }
    return tuple;
}

static PyObject *answer_link(call *c)
{
    PyObject *values[] = {link_counts(&c->linked), rs_py_sink_bytes(&c->output),
                          rs_py_problems(&c->linked.problems), rs_py_sink_text(&c->explanation)};
    return tuple_of(values, 4);
}

/* The settings of linking, which may only name one rank of a device trace. */
static bool read_link(call *c, PyObject *settings, PyObject *rank, double min_match)
{
    uint64_t jobs = 0;
    rs_chakra_link_settings link = {.size = sizeof(rs_chakra_link_settings),
                                    .host = c->first,
                                    .device = c->second,
                                    .min_match = min_match};
    if (!rs_py_get_number(settings, "jobs", &jobs) ||
        !rs_py_get_number(settings, "max_ratio", &link.max_ratio))
        return false;
    if (rank != Py_None) {
        link.rank_set = true;
        link.rank = PyLong_AsLongLong(rank);
        if (PyErr_Occurred()) return false;
    }
    if (jobs > 4096 || !(min_match >= 0 && min_match <= 1))
        return rs_py_refuse(jobs > 4096 ? "jobs takes 0 to 4096" : "min_match takes a number from 0 to 1") !=
               NULL;
    link.jobs = (unsigned)jobs;
    c->link = link;
    return true;
}

static PyObject *chakra_link(PyObject *module, PyObject *args, PyObject *words)
{
    (void)module;
    static char *names[] = {"host",      "device",   "output",  "name", "rank",
                            "min_match", "settings", "explain", NULL};
    PyObject *host, *device, *output, *name, *rank, *settings;
    double min_match;
    int explained;
    if (!PyArg_ParseTupleAndKeywords(args, words, "OOOOOdO!p:chakra_link", names, &host, &device, &output,
                                     &name, &rank, &min_match, &PyDict_Type, &settings, &explained))
        return NULL;
    call *c = make_call(host, device, output, name);
    if (!c) return NULL;
    if (!read_link(c, settings, rank, min_match)) {
        clear_call(c);
        return NULL;
    }
    c->link.explain = explained ? explain : NULL;
    c->link.explain_context = c;
    return run_call(c, do_link, answer_link, &c->linked.problems);
}

/* ---- convert ------------------------------------------------------------------------------------------- */

static rs_status write_converted(void *context, const rs_sink *sink, rs_error *err)
{
    call *c = context;
    return rs_chakra_convert(&c->convert, sink, &c->converted, err);
}

static rs_status do_convert(void *context, rs_error *err)
{
    call *c = context;
    return rs_py_sink_fill(&c->output, write_converted, c, err);
}

static PyObject *convert_counts(const rs_chakra_convert_report *r)
{
    PyObject *report = PyDict_New();
    if (report && put_count(report, "nodes", r->nodes) && put_count(report, "gpu_nodes", r->gpu_nodes) &&
        put_count(report, "comm_nodes", r->comm_nodes) && put_count(report, "chain", r->chain) &&
        put_count(report, "inter_thread", r->inter_thread) && put_count(report, "sync", r->sync) &&
        put_count(report, "launch", r->launch) && put_count(report, "stream", r->stream) &&
        put_count(report, "gaps", r->gaps) && put_count(report, "timing", r->timing) &&
        put_count(report, "groups", r->groups))
        return report;
    Py_XDECREF(report);
    return NULL;
}

static PyObject *answer_convert(call *c)
{
    PyObject *values[] = {convert_counts(&c->converted), rs_py_sink_bytes(&c->output),
                          rs_py_problems(&c->converted.problems), rs_py_sink_text(&c->side)};
    return tuple_of(values, 4);
}

static bool read_convert(call *c, PyObject *settings)
{
    rs_chakra_convert_settings convert = {
        .size = sizeof(rs_chakra_convert_settings), .linked = c->first, .groups = &c->side_sink};
    uint64_t exclusive = 0, astra = 0, json = 0, unlinked = 0, rank = 0, rank_set = 0;
    if (!rs_py_get_number(settings, "max_ratio", &convert.max_ratio) ||
        !rs_py_get_number(settings, "exclusive", &exclusive) ||
        !rs_py_get_number(settings, "astra", &astra) || !rs_py_get_number(settings, "json", &json) ||
        !rs_py_get_number(settings, "unlinked", &unlinked) || !rs_py_get_number(settings, "rank", &rank) ||
        !rs_py_get_number(settings, "rank_set", &rank_set))
        return false;
    convert.timing = exclusive ? RS_CHAKRA_TIMING_EXCLUSIVE : RS_CHAKRA_TIMING_RECORDED;
    convert.target = astra ? RS_CHAKRA_TARGET_ASTRA_SIM : RS_CHAKRA_TARGET_ANY;
    convert.json = json != 0;
    convert.allow_unlinked = unlinked != 0;
    convert.rank_set = rank_set != 0 && rank <= INT64_MAX;
    convert.rank = convert.rank_set ? (int64_t)rank : 0;
    c->side_sink = rs_py_sink_of(&c->side);
    c->convert = convert;
    return true;
}

static PyObject *chakra_convert(PyObject *module, PyObject *args, PyObject *words)
{
    (void)module;
    static char *names[] = {"linked", "data", "output", "name", "settings", NULL};
    PyObject *linked, *data, *output, *name, *settings;
    if (!PyArg_ParseTupleAndKeywords(args, words, "OOOOO!:chakra_convert", names, &linked, &data, &output,
                                     &name, &PyDict_Type, &settings))
        return NULL;
    if (data != Py_None && !PyBytes_Check(data)) {
        PyErr_SetString(PyExc_TypeError, "data must be bytes or None");
        return NULL;
    }
    call *c = make_call(linked, Py_None, output, name);
    if (!c) return NULL;
    if (!read_convert(c, settings)) {
        clear_call(c);
        return NULL;
    }
    if (data != Py_None) {
        Py_INCREF(data);
        c->data = data;
        c->convert.bytes = PyBytes_AsString(data);
        c->convert.n_bytes = (size_t)PyBytes_Size(data);
    }
    return run_call(c, do_convert, answer_convert, &c->converted.problems);
}

/* ---- both, without the linked trace's text between them -------------------------------------------------- */

static rs_status do_build(void *context, rs_error *err)
{
    call *c = context;
    rs_status status = rs_chakra_link_nodes(&c->link, &c->nodes, &c->linked, err);
    c->convert.linked = NULL; /* the nodes in its place */
    c->convert.nodes = c->nodes;
    return status == RS_OK ? rs_py_sink_fill(&c->output, write_converted, c, err) : status;
}

static PyObject *answer_build(call *c)
{
    PyObject *values[] = {
        link_counts(&c->linked),      rs_py_problems(&c->linked.problems),    convert_counts(&c->converted),
        rs_py_sink_bytes(&c->output), rs_py_problems(&c->converted.problems), rs_py_sink_text(&c->side)};
    return tuple_of(values, 6);
}

static PyObject *chakra_build(PyObject *module, PyObject *args, PyObject *words)
{
    (void)module;
    static char *names[] = {"host", "device", "output", "name", "rank", "min_match", "settings", NULL};
    PyObject *host, *device, *output, *name, *rank, *settings;
    double min_match;
    if (!PyArg_ParseTupleAndKeywords(args, words, "OOOOOdO!:chakra_build", names, &host, &device, &output,
                                     &name, &rank, &min_match, &PyDict_Type, &settings))
        return NULL;
    call *c = make_call(host, device, output, name);
    if (!c) return NULL;
    if (!read_convert(c, settings) || !read_link(c, settings, rank, min_match)) {
        clear_call(c);
        return NULL;
    }
    return run_call(c, do_build, answer_build, &c->linked.problems);
}

/* ---- print and check ----------------------------------------------------------------------------------- */

static rs_status write_printed(void *context, const rs_sink *sink, rs_error *err)
{
    call *c = context;
    return rs_chakra_print(c->first, c->max_ratio, c->lines, sink, &c->count, err);
}

static rs_status do_print(void *context, rs_error *err)
{
    call *c = context;
    return rs_py_sink_fill(&c->output, write_printed, c, err);
}

static PyObject *answer_text(call *c)
{
    return rs_py_sink_text(&c->output);
}

static PyObject *chakra_print(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path;
    int lines;
    unsigned long long max_ratio;
    if (!PyArg_ParseTuple(args, "OpK:chakra_print", &path, &lines, &max_ratio)) return NULL;
    call *c = make_call(path, Py_None, Py_None, Py_None);
    if (!c) return NULL;
    c->lines = lines;
    c->max_ratio = max_ratio;
    return run_call(c, do_print, answer_text, NULL);
}

static rs_status write_checked(void *context, const rs_sink *sink, rs_error *err)
{
    call *c = context;
    if (c->n_paths > 1)
        return rs_chakra_check_ranks(&c->check, (const char *const *)c->paths, c->n_paths, sink, &c->count,
                                     err);
    return rs_chakra_check(&c->check, sink, &c->count, err);
}

static rs_status do_check(void *context, rs_error *err)
{
    call *c = context;
    return rs_py_sink_fill(&c->output, write_checked, c, err);
}

static PyObject *answer_check(call *c)
{
    PyObject *faults = PyLong_FromUnsignedLongLong(c->count), *text = rs_py_sink_text(&c->output),
             *report = rs_py_sink_text(&c->side);
    PyObject *answer = faults && text && report ? PyTuple_Pack(3, faults, text, report) : NULL;
    Py_XDECREF(faults);
    Py_XDECREF(text);
    Py_XDECREF(report);
    return answer;
}

static bool take_paths(call *c, PyObject *list)
{
    Py_ssize_t n = PyList_Size(list);
    c->paths = calloc((size_t)n, sizeof *c->paths);
    if (!c->paths) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        c->paths[i] = rs_py_path(PyList_GetItem(list, i));
        if (!c->paths[i]) {
            if (!PyErr_Occurred()) rs_py_refuse("check takes a path, or one for each rank");
            return false;
        }
        c->n_paths++;
    }
    return true;
}

static PyObject *chakra_check(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *paths, *linked, *groups;
    double tolerance;
    int astra;
    unsigned long long max_ratio;
    if (!PyArg_ParseTuple(args, "O!OOdpK:chakra_check", &PyList_Type, &paths, &linked, &groups, &tolerance,
                          &astra, &max_ratio))
        return NULL;
    if (PyList_Size(paths) < 1) {
        rs_py_refuse("check takes a path, or one for each rank");
        return NULL;
    }
    call *c = make_call(groups, linked, Py_None, Py_None);
    if (!c) return NULL;
    if (!take_paths(c, paths)) {
        clear_call(c);
        return NULL;
    }
    c->side_sink = rs_py_sink_of(&c->side);
    c->check = (rs_chakra_check_settings){.size = sizeof(rs_chakra_check_settings),
                                          .path = c->paths[0],
                                          .linked = c->second,
                                          .groups = c->first,
                                          .target = astra ? RS_CHAKRA_TARGET_ASTRA_SIM : RS_CHAKRA_TARGET_ANY,
                                          .tolerance_set = true,
                                          .tolerance = tolerance,
                                          .max_ratio = max_ratio,
                                          .report = &c->side_sink};
    return run_call(c, do_check, answer_check, NULL);
}

/* ---- all ranks of a job --------------------------------------------------------------------------------- */

static rs_status do_pairs(void *context, rs_error *err)
{
    call *c = context;
    return rs_chakra_pairs_find(c->first, c->second, c->max_ratio, c->jobs, &c->pairs, &c->problems, err);
}

static PyObject *answer_pairs(call *c)
{
    PyObject *list = PyList_New(0), *problems = rs_py_problems(&c->problems), *answer = NULL;
    bool ok = list && problems;
    for (size_t i = 0; ok && i < rs_chakra_pairs_count(c->pairs); i++) {
        rs_chakra_pair pair = rs_chakra_pairs_at(c->pairs, i);
        PyObject *row = Py_BuildValue("(LNN)", (long long)pair.rank, PyUnicode_DecodeFSDefault(pair.host),
                                      PyUnicode_DecodeFSDefault(pair.device));
        ok = row && PyList_Append(list, row) == 0;
        Py_XDECREF(row);
    }
    if (ok) answer = PyTuple_Pack(2, list, problems);
    Py_XDECREF(list);
    Py_XDECREF(problems);
    return answer;
}

static PyObject *chakra_pairs(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *host, *device;
    unsigned jobs;
    unsigned long long max_ratio;
    if (!PyArg_ParseTuple(args, "OOIK:chakra_pairs", &host, &device, &jobs, &max_ratio)) return NULL;
    call *c = make_call(host, device, Py_None, Py_None);
    if (!c) return NULL;
    c->jobs = jobs <= 4096 ? jobs : 4096;
    c->max_ratio = max_ratio;
    return run_call(c, do_pairs, answer_pairs, &c->problems);
}

/* The process groups of all ranks as one file. */
static rs_status write_joined(void *context, const rs_sink *sink, rs_error *err)
{
    call *c = context;
    size_t *lengths = calloc(c->n_paths + 1, sizeof *lengths);
    if (!lengths) return rs_fail_nomem(err, "process groups");
    for (size_t i = 0; i < c->n_paths; i++) lengths[i] = strlen(c->paths[i]);
    rs_status status = rs_chakra_join_groups((const char *const *)c->paths, lengths, c->n_paths, sink, err);
    free(lengths);
    return status;
}

static rs_status do_join(void *context, rs_error *err)
{
    call *c = context;
    return rs_py_sink_fill(&c->output, write_joined, c, err);
}

static PyObject *chakra_join_groups(PyObject *module, PyObject *texts)
{
    (void)module;
    if (!PyList_Check(texts)) {
        PyErr_SetString(PyExc_TypeError, "join_groups takes a list of texts");
        return NULL;
    }
    call *c = make_call(Py_None, Py_None, Py_None, Py_None);
    if (!c) return NULL;
    c->paths = calloc((size_t)PyList_Size(texts) + 1, sizeof *c->paths);
    bool ok = c->paths != NULL;
    for (Py_ssize_t i = 0; ok && i < PyList_Size(texts); i++) {
        PyObject *bytes = PyUnicode_AsUTF8String(PyList_GetItem(texts, i));
        ok = bytes && (c->paths[c->n_paths] = strdup(PyBytes_AsString(bytes))) != NULL;
        c->n_paths += ok;
        Py_XDECREF(bytes);
    }
    if (!ok) {
        if (!PyErr_Occurred()) PyErr_NoMemory();
        clear_call(c);
        return NULL;
    }
    return run_call(c, do_join, answer_text, NULL);
}

/* ---- small tools ---------------------------------------------------------------------------------------- */

static PyObject *answer_bytes(call *c)
{
    return rs_py_sink_bytes(&c->output);
}

static rs_status write_graph(void *context, const rs_sink *sink, rs_error *err)
{
    call *c = context;
    if (strcmp(c->form, "graphml") == 0) return rs_chakra_graphml(c->first, c->max_ratio, sink, err);
    if (strcmp(c->form, "jsonizer") == 0) return rs_chakra_jsonize(c->first, c->max_ratio, sink, err);
    return rs_chakra_visualize(c->first, c->max_ratio, sink, err);
}

static rs_status do_graph(void *context, rs_error *err)
{
    call *c = context;
    return rs_py_sink_fill(&c->output, write_graph, c, err);
}

static PyObject *chakra_graph(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path;
    const char *form;
    unsigned long long max_ratio;
    if (!PyArg_ParseTuple(args, "OsK:chakra_graph", &path, &form, &max_ratio)) return NULL;
    call *c = make_call(path, Py_None, Py_None, Py_None);
    if (!c) return NULL;
    c->form = strdup(form);
    c->max_ratio = max_ratio;
    if (!c->form) {
        clear_call(c);
        return PyErr_NoMemory();
    }
    return run_call(c, do_graph, answer_bytes, NULL);
}

static rs_status write_workload(void *context, const rs_sink *sink, rs_error *err)
{
    call *c = context;
    return rs_chakra_text(&c->text, sink, &c->count, err);
}

static rs_status do_workload(void *context, rs_error *err)
{
    call *c = context;
    return rs_py_sink_fill(&c->output, write_workload, c, err);
}

static PyObject *chakra_text(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path;
    unsigned long long passes, max_ratio;
    if (!PyArg_ParseTuple(args, "OKK:chakra_text", &path, &passes, &max_ratio)) return NULL;
    call *c = make_call(path, Py_None, Py_None, Py_None);
    if (!c) return NULL;
    c->text = (rs_chakra_text_settings){
        .size = sizeof(rs_chakra_text_settings), .path = c->first, .passes = passes, .max_ratio = max_ratio};
    return run_call(c, do_workload, answer_bytes, NULL);
}

static rs_status write_pattern(void *context, const rs_sink *sink, rs_error *err)
{
    call *c = context;
    return rs_chakra_generate(c->pattern, &c->generate, sink, err);
}

static rs_status do_pattern(void *context, rs_error *err)
{
    call *c = context;
    return rs_py_sink_fill(&c->output, write_pattern, c, err);
}

static PyObject *chakra_generate(PyObject *module, PyObject *args)
{
    (void)module;
    unsigned pattern;
    unsigned long long npu, npus, runtime, tensor_size;
    long long comm_size;
    if (!PyArg_ParseTuple(args, "IKKKKL:chakra_generate", &pattern, &npu, &npus, &runtime, &tensor_size,
                          &comm_size))
        return NULL;
    call *c = make_call(Py_None, Py_None, Py_None, Py_None);
    if (!c) return NULL;
    c->pattern = pattern;
    c->generate =
        (rs_chakra_generate_settings){sizeof c->generate, npu, npus, runtime, tensor_size, comm_size};
    return run_call(c, do_pattern, answer_bytes, NULL);
}

static PyObject *chakra_patterns(PyObject *module, PyObject *args)
{
    (void)module;
    (void)args;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && rs_chakra_pattern_name(i); i++)
        if (!rs_py_append(list, rs_py_text(rs_chakra_pattern_name(i)))) Py_CLEAR(list);
    return list;
}

static rs_status write_timeline(void *context, const rs_sink *sink, rs_error *err)
{
    call *c = context;
    return rs_chakra_timeline(c->first, c->max_ratio, c->mhz, sink, &c->problems, err);
}

static rs_status do_timeline(void *context, rs_error *err)
{
    call *c = context;
    return rs_py_sink_fill(&c->output, write_timeline, c, err);
}

static PyObject *answer_timeline(call *c)
{
    PyObject *values[] = {rs_py_sink_bytes(&c->output), rs_py_problems(&c->problems)};
    return tuple_of(values, 2);
}

static PyObject *chakra_timeline(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path, *output, *name;
    unsigned long long max_ratio;
    double mhz;
    if (!PyArg_ParseTuple(args, "OOOdK:chakra_timeline", &path, &output, &name, &mhz, &max_ratio))
        return NULL;
    call *c = make_call(path, Py_None, output, name);
    if (!c) return NULL;
    c->mhz = mhz;
    c->max_ratio = max_ratio;
    return run_call(c, do_timeline, answer_timeline, &c->problems);
}

static PyMethodDef functions[] = {
    {"chakra_link", (PyCFunction)(void (*)(void))chakra_link, METH_VARARGS | METH_KEYWORDS,
     "chakra_link(...) -> (report, linked trace or None, problems, explanation)"},
    {"chakra_convert", (PyCFunction)(void (*)(void))chakra_convert, METH_VARARGS | METH_KEYWORDS,
     "chakra_convert(...) -> (report, execution trace or None, problems, groups as JSON)"},
    {"chakra_build", (PyCFunction)(void (*)(void))chakra_build, METH_VARARGS | METH_KEYWORDS,
     "chakra_build(...) -> (report of linking, its problems, report, execution trace or None, problems, groups as JSON)"},
    {"chakra_join_groups", chakra_join_groups, METH_O,
     "chakra_join_groups(texts) -> the groups of all ranks as JSON"},
    {"chakra_graph", chakra_graph, METH_VARARGS,
     "chakra_graph(path, \"dot\", \"graphml\" or \"jsonizer\", max_ratio) -> bytes"},
    {"chakra_text", chakra_text, METH_VARARGS,
     "chakra_text(path, passes, max_ratio) -> the trace of one NPU"},
    {"chakra_generate", chakra_generate, METH_VARARGS,
     "chakra_generate(pattern, npu, npus, runtime, tensor_size, comm_size) -> the trace of one NPU"},
    {"chakra_patterns", chakra_patterns, METH_NOARGS, "chakra_patterns() -> names, by number"},
    {"chakra_timeline", chakra_timeline, METH_VARARGS,
     "chakra_timeline(path, output, name, mhz, max_ratio) -> (bytes or None, problems)"},
    {"chakra_print", chakra_print, METH_VARARGS, "chakra_print(path, lines, max_ratio) -> JSON"},
    {"chakra_check", chakra_check, METH_VARARGS,
     "chakra_check(paths, linked, groups, tolerance, astra, max_ratio) -> (faults, text, JSON)"},
    {"chakra_pairs", chakra_pairs, METH_VARARGS,
     "chakra_pairs(host, device, jobs, max_ratio) -> (pairs, problems)"},
    {NULL, NULL, 0, NULL},
};

static bool add(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}

const rs_py_part rs_py_part_chakra = {.add = add};
