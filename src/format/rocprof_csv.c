/* rocprofv3's CSV files: *_kernel_trace.csv, *_memory_copy_trace.csv, *_hip_api_trace.csv and their like, one
 * by itself or those of a run together: their correlation ids are the same, and *_agent_info.csv says which
 * agent is which GPU.
 *
 * Columns are found by name, since every release has others. Fields in quotes are not escaped: a kernel's
 * name may hold quotes and commas, so a field ends at the quote that a comma or the end of the line follows,
 * and a line with more fields than the header is put right by taking what is too much for part of the name.
 */
#include <string.h>

#include "base/memory.h"
#include "base/try.h"
#include "input/lines.h"
#include "format/native.h"
#include "format/range_names.h"

#define MAX_COLUMNS 64

typedef struct field {
    const char *text;
    size_t n;
} field;

enum {
    C_KIND,
    C_DOMAIN,
    C_NAME,      /* Kernel_Name */
    C_FUNCTION,  /* of calls and markers */
    C_DIRECTION, /* of copies */
    C_OPERATION,
    C_AGENT,
    C_TARGET,
    C_SOURCE,
    C_QUEUE,
    C_STREAM,
    C_THREAD,
    C_PROCESS,
    C_CORRELATION,
    C_START,
    C_END,
    C_DISPATCH,
    C_COUNTER,
    C_VALUE,
    C_LDS,
    C_OLD_LDS,
    C_REGISTERS,
    C_BLOCK_X,
    C_BLOCK_Y,
    C_BLOCK_Z,
    C_GRID_X,
    C_GRID_Y,
    C_GRID_Z,
    C_BLOCK, /* the products, in counter_collection */
    C_GRID,
    C_NODE, /* from here on: of agents */
    C_LOGICAL_NODE,
    C_AGENT_TYPE,
    C_AGENT_NAME,
    C_PRODUCT,
    N_COLUMNS
};

static const char *const column_names[N_COLUMNS] = {
    "Kind",
    "Domain",
    "Kernel_Name",
    "Function",
    "Direction",
    "Operation",
    "Agent_Id",
    "Destination_Agent_Id",
    "Source_Agent_Id",
    "Queue_Id",
    "Stream_Id",
    "Thread_Id",
    "Process_Id",
    "Correlation_Id",
    "Start_Timestamp",
    "End_Timestamp",
    "Dispatch_Id",
    "Counter_Name",
    "Counter_Value",
    "LDS_Block_Size",
    "Group_Segment_Size",
    "VGPR_Count",
    "Workgroup_Size_X",
    "Workgroup_Size_Y",
    "Workgroup_Size_Z",
    "Grid_Size_X",
    "Grid_Size_Y",
    "Grid_Size_Z",
    "Workgroup_Size",
    "Grid_Size",
    "Node_Id",
    "Logical_Node_Id",
    "Agent_Type",
    "Name",
    "Product_Name",
};

#define NO_GPU UINT32_MAX /* an agent that is a processor */

struct rs_run_reader {
    rs_events *events;
    rs_map64 by_node, by_logical_node; /* agent -> GPU number or NO_GPU */
    rs_map64 dispatches;               /* by number: the row */
    bool unnumbered;                   /* kernels were read whose numbers are not known */
    int64_t process;                   /* the first that rows name; RS_NO_VALUE: none yet */

    /* the file that is being read */
    const char *file;
    int64_t pid;
    bool has_times;
    uint64_t before; /* bytes of text of the files before */
    size_t n_columns;
    size_t at[N_COLUMNS]; /* SIZE_MAX: absent */
    field fields[MAX_COLUMNS];
    size_t n_fields;
};
typedef struct rs_run_reader table;

/* A quoted field ends at a quote before a comma or the end of the line. */
static const char *field_end(const char *p, const char *end)
{
    for (; p < end; p++)
        if (*p == '"' && (p + 1 == end || p[1] == ',')) return p;
    return NULL;
}

/* Splits a line; false when a quote stays open or there are too many fields. */
static bool split(table *t, const char *p, size_t n)
{
    const char *end = p + n;
    if (n && end[-1] == '\r') end--;
    t->n_fields = 0;
    for (;;) {
        if (t->n_fields == MAX_COLUMNS) return false;
        field *f = &t->fields[t->n_fields++];
        if (p < end && *p == '"') {
            const char *close = field_end(p + 1, end);
            if (!close) return false;
            *f = (field){p + 1, (size_t)(close - p - 1)};
            p = close + 1;
        } else {
            const char *comma = memchr(p, ',', (size_t)(end - p));
            *f = (field){p, (size_t)((comma ? comma : end) - p)};
            p += f->n;
        }
        if (p == end) return true;
        p++; /* the comma */
    }
}

/* A name that holds `",` was split too often: its pieces are put together again. */
static bool rejoin_name(table *t)
{
    if (t->n_fields == t->n_columns) return true;
    size_t name = t->at[C_NAME] != SIZE_MAX ? t->at[C_NAME] : t->at[C_FUNCTION];
    if (t->n_fields < t->n_columns || name == SIZE_MAX) return false;
    size_t extra = t->n_fields - t->n_columns;
    field *last = &t->fields[name + extra];
    /* the last piece ends with the quote that closes the name, unless it was taken for a quoted field */
    size_t closing = extra && last->n && last->text[-1] != '"' && last->text[last->n - 1] == '"';
    t->fields[name].n = (size_t)(last->text + last->n - t->fields[name].text) - closing;
    memmove(&t->fields[name + 1], &t->fields[name + 1 + extra],
            (t->n_fields - name - 1 - extra) * sizeof *t->fields);
    t->n_fields = t->n_columns;
    return true;
}

static const field *get(const table *t, int column)
{
    return t->at[column] == SIZE_MAX ? NULL : &t->fields[t->at[column]];
}

static int64_t number(const table *t, int column, int64_t otherwise)
{
    const field *f = get(t, column);
    int64_t v;
    return f && rs_json_int((const uint8_t *)f->text, f->n, &v) ? v : otherwise;
}

/* "Agent 2" or "2": a node, by its absolute or its relative number; "GPU 0": the GPU itself. Where no file
 * says which node is which GPU, the node's number stands for it. */
static int64_t agent(const table *t, int column)
{
    const field *f = get(t, column);
    if (!f) return RS_NO_VALUE;
    size_t from = f->n;
    while (from > 0 && f->text[from - 1] >= '0' && f->text[from - 1] <= '9') from--;
    int64_t v;
    if (!rs_json_int((const uint8_t *)f->text + from, f->n - from, &v)) return RS_NO_VALUE;
    if (f->n >= 3 && memcmp(f->text, "GPU", 3) == 0) return v;
    if (f->n >= 3 && memcmp(f->text, "CPU", 3) == 0) return RS_NO_VALUE;
    const uint32_t *gpu = rs_map64_get(&t->by_node, (uint64_t)v);
    if (!gpu) gpu = rs_map64_get(&t->by_logical_node, (uint64_t)v);
    if (!gpu) return v;
    return *gpu == NO_GPU ? RS_NO_VALUE : (int64_t)*gpu;
}

static bool field_has(const field *f, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; f && i + n <= f->n; i++)
        if (memcmp(f->text + i, word, n) == 0) return true;
    return false;
}

static bool read_header(table *t, const char *text, size_t n)
{
    if (!split(t, text, n)) return false;
    t->n_columns = t->n_fields;
    for (int c = 0; c < N_COLUMNS; c++) {
        t->at[c] = SIZE_MAX;
        for (size_t i = 0; i < t->n_fields; i++)
            if (t->fields[i].n == strlen(column_names[c]) &&
                memcmp(t->fields[i].text, column_names[c], t->fields[i].n) == 0)
                t->at[c] = i;
    }
    t->has_times = t->at[C_START] != SIZE_MAX && t->at[C_END] != SIZE_MAX;
    return t->has_times || (t->at[C_NODE] != SIZE_MAX && t->at[C_AGENT_TYPE] != SIZE_MAX);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static bool map_put(rs_map64 *map, int64_t key, uint32_t value)
{
    bool is_new;
    if (key == RS_NO_VALUE) return true;
    uint32_t *slot = rs_map64_put(map, (uint64_t)key, &is_new);
    if (slot) *slot = value;
    return slot != NULL;
}

/* GPUs are numbered in the order in which they are listed, which is that of their nodes. */
static rs_status take_agent(table *t, rs_error *err)
{
    rs_file_info *info = &t->events->info;
    uint32_t gpu = NO_GPU;
    const field *name = get(t, C_PRODUCT);
    if (!name || !name->n) name = get(t, C_AGENT_NAME);
    if (field_has(get(t, C_AGENT_TYPE), "GPU")) {
        gpu = (uint32_t)info->n_devices++;
        if (info->device_name == RS_NO_STRING && name) {
            info->device_name = rs_strings_add(&t->events->strings, name->text, name->n);
            if (info->device_name == RS_NO_STRING) return rs_fail_nomem(err, "strings");
        }
    }
    if (map_put(&t->by_node, number(t, C_NODE, RS_NO_VALUE), gpu) &&
        map_put(&t->by_logical_node, number(t, C_LOGICAL_NODE, RS_NO_VALUE), gpu))
        return RS_OK;
    return rs_fail_nomem(err, "agents");
}

/* A kernel; where counters were collected it has a row for each of them. */
static rs_status add_kernel(table *t, const rs_native *r, uint64_t offset, rs_error *err)
{
    const field *counter = get(t, C_COUNTER), *value = get(t, C_VALUE);
    int64_t id = number(t, C_DISPATCH, RS_NO_VALUE);
    uint32_t row;
    double counted;
    if (counter && t->unnumbered) {
        rs_problems_add(&t->events->problems, t->file, -1, RS_WARNING, "unmatched_counters",
                        "counters of kernels whose dispatches have no numbers (Dispatch_Id) are not read",
                        offset);
        return RS_OK;
    }
    t->unnumbered |= !counter && id == RS_NO_VALUE;
    RS_TRY(rs_native_add_dispatch(t->events, t->file, r, offset, &t->dispatches, id, &row, err));
    if (!counter || !value || !rs_json_real((const uint8_t *)value->text, value->n, &counted)) return RS_OK;
    return rs_native_count(t->events, row, counter->text, counter->n, counted, err);
}

static void set_name(rs_native *r, const field *f, const char *otherwise)
{
    r->name = f && f->n ? f->text : otherwise;
    r->name_length = f && f->n ? f->n : strlen(otherwise);
}

static void set_sizes(const table *t, rs_native *r)
{
    bool products = t->at[C_GRID_X] == SIZE_MAX;
    for (int i = 0; i < 3; i++) {
        r->block[i] = number(t, products && !i ? C_BLOCK : C_BLOCK_X + i, i ? 1 : RS_NO_VALUE);
        r->grid[i] = number(t, products && !i ? C_GRID : C_GRID_X + i, i ? 1 : RS_NO_VALUE);
    }
    rs_native_grid_of_items(r);
}

static rs_status take_row(table *t, uint64_t offset, rs_error *err)
{
    rs_native r = RS_NATIVE_NONE;
    const field *domain = get(t, C_DOMAIN), *kind = get(t, C_KIND);
    if (!t->has_times) return take_agent(t, err);
    if (t->process == RS_NO_VALUE) t->process = number(t, C_PROCESS, RS_NO_VALUE);
    r.start = number(t, C_START, RS_NO_TIME);
    r.end = number(t, C_END, RS_NO_TIME);
    r.pid = number(t, C_PROCESS, t->pid);
    r.tid = number(t, C_THREAD, 0);
    r.correlation = number(t, C_CORRELATION, RS_NO_VALUE);
    if (t->at[C_NAME] != SIZE_MAX) {
        r.category = "kernel";
        set_name(&r, get(t, C_NAME), "kernel");
        r.device = agent(t, C_AGENT);
        r.stream = number(t, C_STREAM, number(t, C_QUEUE, RS_NO_VALUE));
        r.shared_memory = number(t, C_LDS, number(t, C_OLD_LDS, RS_NO_VALUE));
        r.registers = number(t, C_REGISTERS, RS_NO_VALUE);
        set_sizes(t, &r);
        return add_kernel(t, &r, offset, err);
    } else if (t->at[C_DIRECTION] != SIZE_MAX) {
        r.category = "gpu_memcpy";
        set_name(&r, get(t, C_DIRECTION), "copy");
        r.device = agent(t, field_has(get(t, C_DIRECTION), "DEVICE_TO_HOST") ? C_SOURCE : C_TARGET);
        r.stream = number(t, C_STREAM, RS_NO_VALUE);
    } else {
        bool hip = field_has(domain, "HIP"), marker = field_has(domain, "MARKER");
        r.category = hip ? "hip_runtime" : marker ? "user_annotation" : domain ? "other_api" : "other";
        set_name(&r, get(t, C_FUNCTION), kind ? "record" : "call");
        if (t->at[C_FUNCTION] == SIZE_MAX && get(t, C_OPERATION)) set_name(&r, get(t, C_OPERATION), "record");
        if (!hip) r.correlation = RS_NO_VALUE;
        if (marker) RS_TRY(rs_native_name_range(t->events, &r, true, err));
    }
    return rs_native_add(t->events, t->file, &r, offset, err);
}

/* ---- files --------------------------------------------------------------------------------------------- */

/* "<host>/908_kernel_trace.csv", "rank0_908_kernel_trace.csv": the process stands in the name, since the rows
 * of kernels do not have it. */
static int64_t pid_in_name(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    rs_run_name parts = rs_rocprof_csv_name(name);
    size_t n = parts.format ? parts.prefix : strspn(name, "0123456789");
    size_t from = n;
    while (from > 0 && name[from - 1] >= '0' && name[from - 1] <= '9') from--;
    int64_t pid;
    bool whole = n && from < n && name[n] == '_' && (from == 0 || name[from - 1] == '_');
    return whole && rs_json_int((const uint8_t *)name + from, n - from, &pid) ? pid : 0;
}

/* A row that does not fit; where the text breaks off in it, that is why. */
static void lose_row(table *t, const rs_line_text *line)
{
    t->events->n_lost++;
    if (!line->whole) t->events->truncated = true;
    if (line->whole)
        rs_problems_add(&t->events->problems, t->file, -1, RS_LOSS, "bad_row",
                        "a row does not fit the header and was left out", line->offset);
    else
        rs_problems_add(&t->events->problems, t->file, -1, RS_LOSS, "truncated",
                        "the text breaks off in a row, which was left out", line->offset);
}

static rs_status read_rows(table *t, rs_source *source, const rs_load_settings *settings, rs_error *err)
{
    rs_lines lines;
    rs_line_text line;
    bool header = false;
    uint64_t reported = 0;
    rs_status status = rs_lines_open(source, &lines, err);
    if (status != RS_OK) return status;
    while (rs_lines_next(&lines, &line, &status, err)) {
        if (line.too_long) lose_row(t, &line);
        if (line.too_long || line.n == 0 || (line.n == 1 && line.text[0] == '\r')) continue;
        const char *text = (const char *)line.text;
        if (!header) {
            header = read_header(t, text, line.n);
            if (header) continue;
            break;
        }
        if (split(t, text, line.n) && rejoin_name(t))
            status = take_row(t, line.offset, err);
        else
            lose_row(t, &line);
        t->events->n_bytes = t->before + line.offset + line.n + line.whole;
        if (status == RS_OK && settings->progress && line.offset - reported > UINT64_C(1) << 20) {
            reported = line.offset;
            if (!settings->progress(settings->progress_context))
                status = rs_fail(err, RS_ERR_CANCELLED, "stopped");
        }
        if (status != RS_OK) break;
    }
    rs_lines_close(&lines);
    if (status == RS_OK && !header)
        status = rs_fail_at(err, RS_ERR_FORMAT, t->file, 0,
                            "is no rocprofv3 CSV: its first line names no times (Start_Timestamp)");
    return status;
}

static rs_status run_open(const rs_load_settings *settings, rs_run_reader **out, rs_error *err)
{
    *out = NULL;
    rs_run_reader *run = rs_calloc(1, sizeof *run);
    if (!run) return rs_fail_nomem(err, "a run");
    rs_status status = rs_events_create(settings->columns, settings->max_memory, &run->events, err);
    if (status != RS_OK) {
        rs_free(run);
        return status;
    }
    run->process = RS_NO_VALUE;
    run->events->format = &rs_format_rocprof_csv;
    run->events->form = rs_format_rocprof_csv.title;
    run->events->packing = "plain";
    *out = run;
    return RS_OK;
}

static rs_status run_add(rs_run_reader *t, rs_source *source, const rs_load_settings *settings, rs_error *err)
{
    t->file = rs_source_name(source);
    t->pid = pid_in_name(t->file);
    /* a name like "results_kernel_trace.csv" says nothing, but the calls' rows do */
    if (t->pid == 0 && t->process != RS_NO_VALUE) t->pid = t->process;
    t->before = t->events->n_bytes;
    if (rs_source_packing(source) != RS_PACKING_PLAIN)
        t->events->packing = rs_packing_name(rs_source_packing(source));
    rs_status status = read_rows(t, source, settings, err);
    /* also after a failure: what the file gave before it is kept */
    rs_status sorted = rs_events_sort_counters(t->events, err);
    if (status == RS_OK) status = sorted;
    if (status == RS_OK) rs_source_report_end(source, -1, &t->events->problems);
    return status;
}

static void run_close(rs_run_reader *run, rs_events **out)
{
    if (!run) return;
    rs_map64_clear(&run->by_node);
    rs_map64_clear(&run->by_logical_node);
    rs_map64_clear(&run->dispatches);
    if (out)
        *out = run->events;
    else
        rs_events_free(run->events);
    rs_free(run);
}

rs_status rs_rocprof_csv_load(rs_source *source, const rs_load_settings *settings, rs_events **out,
                              rs_error *err)
{
    rs_run_reader *run;
    *out = NULL;
    RS_TRY(run_open(settings, &run, err));
    rs_status status = run_add(run, source, settings, err);
    if (status == RS_OK && !run->has_times)
        status = rs_fail_at(err, RS_ERR_FORMAT, run->file, 0,
                            "lists a machine's agents and no trace: give it with the run's other files");
    run_close(run, status == RS_OK ? out : NULL);
    return status;
}

static bool starts_with(const uint8_t *text, size_t n, const char *word)
{
    size_t m = strlen(word);
    return n >= m && memcmp(text, word, m) == 0;
}

/* The first line names columns of which every rocprofv3 CSV with times has these, a list of agents those. */
static bool is_csv(const uint8_t *text, size_t n)
{
    const uint8_t *end = memchr(text, '\n', n);
    if (!end) end = text + n;
    static const char *const words[] = {"Start_Timestamp", "End_Timestamp", "Node_Id", "Agent_Type"};
    unsigned found = 0;
    for (const uint8_t *p = text; p < end; p++)
        for (unsigned i = 0; i < 4; i++)
            if (*p == (uint8_t)words[i][0] && starts_with(p, (size_t)(end - p), words[i])) found |= 1u << i;
    return ((found & 3) == 3 || (found & 12) == 12) && *text != '{' && *text != '[';
}

const rs_format rs_format_rocprof_csv = {.name = "rocprof_csv",
                                         .title = "rocprofv3 CSV",
                                         .sniff = is_csv,
                                         .load = rs_rocprof_csv_load,
                                         .run_name = rs_rocprof_csv_name,
                                         .run_open = run_open,
                                         .run_add = run_add,
                                         .run_close = run_close,
                                         .remedies = rs_rocprof_remedies};
