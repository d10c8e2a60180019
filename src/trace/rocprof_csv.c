/* rocprofv3's CSV files: *_kernel_trace.csv, *_memory_copy_trace.csv, *_hip_api_trace.csv and their like.
 *
 * Columns are found by name, since every release has others. Fields in quotes are not escaped: a kernel's
 * name may hold quotes and commas, so a field ends at the quote that a comma or the end of the line follows,
 * and a line with more fields than the header is put right by taking what is too much for part of the name.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "input/lines.h"
#include "trace/native.h"

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
    C_LDS,
    C_OLD_LDS,
    C_REGISTERS,
    C_BLOCK_X,
    C_BLOCK_Y,
    C_BLOCK_Z,
    C_GRID_X,
    C_GRID_Y,
    C_GRID_Z,
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
    "LDS_Block_Size",
    "Group_Segment_Size",
    "VGPR_Count",
    "Workgroup_Size_X",
    "Workgroup_Size_Y",
    "Workgroup_Size_Z",
    "Grid_Size_X",
    "Grid_Size_Y",
    "Grid_Size_Z",
};

typedef struct table {
    rs_events *events;
    const char *file;
    int64_t pid;
    size_t n_columns;
    size_t at[N_COLUMNS]; /* SIZE_MAX: absent */
    field fields[MAX_COLUMNS];
    size_t n_fields;
} table;

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

/* "Agent 2", "GPU 0" or "2": the number. */
static int64_t agent(const table *t, int column)
{
    const field *f = get(t, column);
    if (!f) return RS_NO_VALUE;
    size_t from = f->n;
    while (from > 0 && f->text[from - 1] >= '0' && f->text[from - 1] <= '9') from--;
    int64_t v;
    return rs_json_int((const uint8_t *)f->text + from, f->n - from, &v) ? v : RS_NO_VALUE;
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
    return t->at[C_START] != SIZE_MAX && t->at[C_END] != SIZE_MAX;
}

static void set_name(rs_native *r, const field *f, const char *otherwise)
{
    r->name = f && f->n ? f->text : otherwise;
    r->name_length = f && f->n ? f->n : strlen(otherwise);
}

static rs_status take_row(table *t, uint64_t offset, rs_error *err)
{
    rs_native r = RS_NATIVE_NONE;
    const field *domain = get(t, C_DOMAIN), *kind = get(t, C_KIND);
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
        for (int i = 0; i < 3; i++) {
            r.block[i] = number(t, C_BLOCK_X + i, i ? 1 : RS_NO_VALUE);
            r.grid[i] = number(t, C_GRID_X + i, i ? 1 : RS_NO_VALUE);
        }
        rs_native_grid_of_items(&r);
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
    }
    return rs_native_add(t->events, t->file, &r, offset, err);
}

/* "<host>/908_kernel_trace.csv": the process stands in the name, since the rows do not have it. */
static int64_t pid_in_name(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    size_t n = strspn(name, "0123456789");
    int64_t pid;
    return n && name[n] == '_' && rs_json_int((const uint8_t *)name, n, &pid) ? pid : 0;
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
        if (line.too_long || line.n == 0 || (line.n == 1 && line.text[0] == '\r')) continue;
        const char *text = (const char *)line.text;
        if (!header) {
            header = true;
            if (read_header(t, text, line.n)) continue;
            status = rs_fail_at(err, RS_ERR_FORMAT, t->file, line.offset, "is no rocprofv3 CSV: no times");
            break;
        }
        if (split(t, text, line.n) && rejoin_name(t)) {
            status = take_row(t, line.offset, err);
        } else {
            t->events->n_lost++;
            rs_problems_add(&t->events->problems, t->file, -1, RS_LOSS, "bad_row",
                            "a row does not fit the header and was left out", line.offset);
        }
        t->events->n_bytes = line.offset + line.n + line.whole;
        if (status == RS_OK && settings->progress && line.offset - reported > UINT64_C(1) << 20) {
            reported = line.offset;
            if (!settings->progress(settings->progress_context))
                status = rs_fail(err, RS_ERR_CANCELLED, "stopped");
        }
        if (status != RS_OK) break;
    }
    rs_lines_close(&lines);
    return status;
}

rs_status rs_rocprof_csv_load(rs_source *source, const rs_load_settings *settings, rs_events **out,
                              rs_error *err)
{
    *out = NULL;
    table t = {.file = rs_source_name(source), .pid = pid_in_name(rs_source_name(source))};
    rs_status status = rs_events_create(settings->columns, settings->max_memory, &t.events, err);
    if (status != RS_OK) return status;
    t.events->packing = rs_source_packing(source) == RS_PACKING_GZIP   ? "gzip"
                        : rs_source_packing(source) == RS_PACKING_ZSTD ? "zstd"
                                                                       : "plain";
    t.events->form = "rocprofv3 CSV";
    status = read_rows(&t, source, settings, err);
    if (status != RS_OK) {
        rs_events_free(t.events);
        return status;
    }
    rs_source_end end = rs_source_get_end(source);
    if (end.corrupt || end.truncated)
        rs_problems_add(&t.events->problems, t.file, -1, RS_LOSS, "truncated_packing",
                        "the compressed file is damaged; what follows was lost", end.offset);
    *out = t.events;
    return RS_OK;
}
