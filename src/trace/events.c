#include "base/interval.h"
#include "base/search.h"
#include "base/try.h"
#include "trace/events.h"

#include <string.h>

static const struct {
    const char *category;
    rs_kind kind;
} kinds[] = {
    {"cpu_op", RS_KIND_CPU_OP},
    {"Operator", RS_KIND_CPU_OP},
    {"user_annotation", RS_KIND_USER_ANNOTATION},
    {"python_function", RS_KIND_PYTHON_FUNCTION},
    {"cuda_runtime", RS_KIND_RUNTIME},
    {"Runtime", RS_KIND_RUNTIME},
    {"hip_runtime", RS_KIND_RUNTIME},
    {"privateuse1_runtime", RS_KIND_RUNTIME},
    {"xpu_runtime", RS_KIND_RUNTIME},
    {"cann_runtime", RS_KIND_RUNTIME},
    {"cuda_driver", RS_KIND_DRIVER},
    {"xpu_driver", RS_KIND_DRIVER},
    {"privateuse1_driver", RS_KIND_DRIVER},
    {"mtia_runtime", RS_KIND_MTIA_RUNTIME},
    {"kernel", RS_KIND_KERNEL},
    {"Kernel", RS_KIND_KERNEL},
    {"gpu_memcpy", RS_KIND_MEMCPY},
    {"Memcpy", RS_KIND_MEMCPY},
    {"gpu_memset", RS_KIND_MEMSET},
    {"Memset", RS_KIND_MEMSET},
    {"mtia_ccp_events", RS_KIND_MTIA_WORK},
    {"gpu_user_annotation", RS_KIND_GPU_USER_ANNOTATION},
    {"cuda_sync", RS_KIND_SYNC},
    {"cuda_profiler_range", RS_KIND_PROFILER_RANGE},
    {"ac2g", RS_KIND_FLOW},
    {"async_cpu_to_gpu", RS_KIND_FLOW},
    {"async_npu", RS_KIND_FLOW},
    {"fwdbwd", RS_KIND_FWDBWD},
    {"forward_backward", RS_KIND_FWDBWD},
    {"cpu_instant_event", RS_KIND_INSTANT},
    {"overhead", RS_KIND_OVERHEAD},
    {"Trace", RS_KIND_SPAN},
    {"os_call", RS_KIND_OS_CALL},
    {"off_cpu", RS_KIND_OFF_CPU},
    {"cpu_sample", RS_KIND_CPU_SAMPLE},
    {"gpu_metric", RS_KIND_GPU_METRIC},
    /* rocprofv3's Perfetto traces as JSON (traceconv json) */
    {"kernel_dispatch", RS_KIND_KERNEL},
    {"memory_copy", RS_KIND_MEMCPY},
    {"hip_api", RS_KIND_RUNTIME},
    {"marker_api", RS_KIND_USER_ANNOTATION},
};

rs_kind rs_kind_of_category(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].category) == length && memcmp(kinds[i].category, name, length) == 0)
            return kinds[i].kind;
    return RS_KIND_OTHER;
}

const char *rs_kind_name(rs_kind kind)
{
    if (kind == RS_KIND_OTHER) return "other";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].kind == kind) return kinds[i].category;
    return "other";
}

size_t rs_sparse_leap(const rs_sparse *column, size_t at, uint32_t row)
{
    size_t step = 1, low = at;
    while (step < column->n - low && column->rows[low + step] < row) {
        low += step;
        step *= 2;
    }
    size_t high = step < column->n - low ? low + step : column->n;
    RS_SEARCH_BETWEEN(low, low, high, column->rows[low] < row);
    return low;
}

size_t rs_sparse_near(const rs_sparse *column, size_t at, uint32_t row)
{
    if (at > column->n) at = column->n;
    for (size_t step = 1; at && column->rows[at - 1] >= row; step *= 2) at = at > step ? at - step : 0;
    return rs_sparse_leap(column, at, row);
}

static rs_column_type column_type(rs_column_id id)
{
    return rs_column_infos[id].type;
}

#define RS_COLUMN_INFO(id, key, type) {key, sizeof key - 1, RS_COLUMN_##type},
const rs_column_info rs_column_infos[RS_N_COLUMNS] = {RS_COLUMNS(RS_COLUMN_INFO)};

rs_status rs_events_create(uint64_t columns, uint64_t max_memory, rs_events **out, rs_error *err)
{
    *out = NULL;
    rs_events *e = rs_calloc(1, sizeof *e);
    if (!e) return rs_fail_nomem(err, "event columns");
    e->loaded = columns;
    e->max_memory = max_memory;
    e->info = (rs_file_info){.rank = RS_NO_VALUE,
                             .world_size = RS_NO_VALUE,
                             .backend = RS_NO_STRING,
                             .group_size = RS_NO_VALUE,
                             .group_name = RS_NO_STRING,
                             .group_desc = RS_NO_STRING,
                             .group_ranks = RS_NO_STRING,
                             .host_name = RS_NO_STRING,
                             .base_time_ns = RS_NO_VALUE,
                             .display_unit = RS_NO_STRING,
                             .trace_name = RS_NO_STRING,
                             .trace_id = RS_NO_STRING,
                             .schema_version = RS_NO_VALUE,
                             .cuda_runtime = RS_NO_VALUE,
                             .cuda_driver = RS_NO_VALUE,
                             .cupti = RS_NO_VALUE,
                             .hip_runtime = RS_NO_VALUE,
                             .hip_driver = RS_NO_VALUE,
                             .roctracer_x1000 = RS_NO_VALUE,
                             .nccl_version = RS_NO_STRING,
                             .device_name = RS_NO_STRING,
                             .max_threads_per_block = RS_NO_VALUE};
    /* category 0 is "no category" */
    if (!rs_strings_init(&e->strings) || rs_events_category(e, 0) != 0) {
        rs_events_free(e);
        return rs_fail_nomem(err, "event columns");
    }
    *out = e;
    return RS_OK;
}

static size_t value_size(const rs_events *e, rs_column_id id)
{
    bool eight = column_type(id) == RS_COLUMN_REAL || e->args[id].is_wide;
    return eight ? 8 : 4;
}

void rs_events_free_array(const rs_events *e, void *array)
{
    if (!rs_events_is_lent(e, array)) rs_big_free(array);
}

void *rs_events_resize(const rs_events *e, void *array, size_t before, size_t bytes)
{
    if (!rs_events_is_lent(e, array)) return rs_big_resize(array, bytes);
    void *own = rs_big_resize(NULL, bytes);
    if (own) memcpy(own, array, before < bytes ? before : bytes);
    return own;
}

static void sparse_free(const rs_events *e, rs_sparse *s)
{
    rs_events_free_array(e, s->rows);
    rs_events_free_array(e, s->wide);
    *s = (rs_sparse){0};
}

void rs_events_hold(rs_events *e)
{
    __atomic_add_fetch(&e->n_holders, 1, __ATOMIC_RELAXED);
}

void rs_events_free(rs_events *e)
{
    if (!e || __atomic_fetch_sub(&e->n_holders, 1, __ATOMIC_ACQ_REL) > 0) return;
    rs_events_free_array(e, e->start);
    rs_events_free_array(e, e->duration);
    rs_events_free_array(e, e->name);
    rs_events_free_array(e, e->thread);
    rs_events_free_array(e, e->category);
    rs_events_free_array(e, e->phase);
    for (size_t i = 0; i < RS_N_COLUMNS; i++) sparse_free(e, &e->args[i]);
    for (size_t i = 0; i < e->n_counters; i++) sparse_free(e, &e->counters[i].values);
    rs_free(e->counters);
    if (e->other.columns) e->other.release(e->other.columns);
    rs_others_clear(e);
    rs_free_all(e->threads, e->documents, e->grafted, e->devices, e->log, e->categories);
    rs_map64_clear(&e->thread_ids);
    rs_strings_clear(&e->strings);
    rs_problems_clear(&e->problems);
    if (e->give_back) e->give_back(e->lender);
    rs_free(e);
}

void rs_events_trim(rs_events *e)
{
    if (e->give_back) return; /* no reader's */
    rs_big_trim(e->start, e->n * sizeof *e->start);
    rs_big_trim(e->duration, e->n * sizeof *e->duration);
    rs_big_trim(e->name, e->n * sizeof *e->name);
    rs_big_trim(e->thread, e->n * sizeof *e->thread);
    rs_big_trim(e->category, e->n * sizeof *e->category);
    rs_big_trim(e->phase, e->n * sizeof *e->phase);
    for (size_t i = 0; i < RS_N_COLUMNS; i++) {
        rs_big_trim(e->args[i].rows, e->args[i].n * sizeof *e->args[i].rows);
        rs_big_trim(e->args[i].wide, e->args[i].n * value_size(e, (rs_column_id)i));
    }
    rs_others_trim(&e->others);
}

rs_status rs_events_charge(rs_events *e, uint64_t bytes, rs_error *err)
{
    if (e->max_memory && e->memory + bytes > e->max_memory)
        return rs_fail(
            err, RS_ERR_NOMEM,
            "the events need more than --max-memory allows (%llu bytes); raise it, or read fewer ranks",
            (unsigned long long)e->max_memory);
    e->memory += bytes;
    return RS_OK;
}

static bool resize(const rs_events *e, void **p, size_t before, size_t n, size_t size)
{
    void *q = rs_events_resize(e, *p, before * size, n * size);
    if (q) *p = q;
    return q != NULL;
}

rs_status rs_events_reserve(rs_events *e, size_t more, rs_error *err)
{
    if (more <= e->capacity - e->n) return RS_OK;
    if (more > RS_NO_ROW - 1 || e->n > RS_NO_ROW - 1 - more)
        return rs_fail(err, RS_ERR_LIMIT, "more than %u events in one file: split it", RS_NO_ROW - 1);
    size_t wanted = e->capacity ? rs_big_next(e->capacity, sizeof *e->start) : 4096;
    if (wanted < e->n + more) wanted = e->n + more;
    struct {
        void **array;
        size_t size;
    } all[] = {{(void **)&e->start, 8},  {(void **)&e->duration, 8}, {(void **)&e->name, 4},
               {(void **)&e->thread, 4}, {(void **)&e->category, 2}, {(void **)&e->phase, 1}};
    RS_TRY(rs_events_charge(e, (wanted - e->capacity) * 27, err));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!resize(e, all[i].array, e->n, wanted, all[i].size)) return rs_fail_nomem(err, "event columns");
    }
    e->capacity = wanted;
    return RS_OK;
}

static rs_status sparse_grow(rs_events *e, rs_sparse *s, size_t size, size_t more, rs_error *err)
{
    if (more <= s->capacity - s->n) return RS_OK;
    size_t wanted = s->capacity ? rs_big_next(s->capacity, size) : 1024;
    if (wanted < s->n + more) wanted = s->n + more;
    RS_TRY(rs_events_charge(e, (wanted - s->capacity) * (size + 4), err));
    if (!resize(e, (void **)&s->rows, s->n, wanted, sizeof *s->rows) ||
        !resize(e, (void **)&s->wide, s->n, wanted, size))
        return rs_fail_nomem(err, "arguments");
    s->capacity = wanted;
    return RS_OK;
}

rs_status rs_events_reserve_column(rs_events *e, rs_column_id column, size_t more, rs_error *err)
{
    return sparse_grow(e, &e->args[column], value_size(e, column), more, err);
}

rs_status rs_events_widen(rs_events *e, rs_column_id column, rs_error *err)
{
    rs_sparse *s = &e->args[column];
    if (s->is_wide) return RS_OK;
    RS_TRY(rs_events_charge(e, s->capacity * (sizeof *s->wide - sizeof *s->narrow), err));
    int64_t *wide = s->capacity ? rs_big_resize(NULL, s->capacity * sizeof *wide) : NULL;
    if (s->capacity && !wide) return rs_fail_nomem(err, "arguments");
    for (size_t i = 0; i < s->n; i++) wide[i] = s->narrow[i];
    rs_events_free_array(e, s->narrow);
    s->wide = wide;
    s->is_wide = true;
    return RS_OK;
}

rs_status rs_events_push_int(rs_events *e, rs_column_id column, uint32_t row, int64_t value, rs_error *err)
{
    rs_sparse *s = &e->args[column];
    bool fits = value >= INT32_MIN && value <= INT32_MAX;
    rs_status status = rs_events_reserve_column(e, column, 1, err);
    if (status == RS_OK && !fits) status = rs_events_widen(e, column, err);
    if (status != RS_OK) return status;
    s->rows[s->n] = row;
    if (s->is_wide)
        s->wide[s->n++] = value;
    else
        s->narrow[s->n++] = (int32_t)value;
    return RS_OK;
}

rs_status rs_events_add_counter(rs_events *e, uint32_t name, uint32_t row, double value, rs_error *err)
{
    size_t i = 0;
    while (i < e->n_counters && e->counters[i].name != name) i++;
    if (i == e->n_counters) {
        if (i >= RS_MAX_COUNTERS)
            return rs_fail(err, RS_ERR_LIMIT, "more than %d different profiler counters", RS_MAX_COUNTERS);
        if (!RS_PUSH(e->counters, e->n_counters, e->counters_capacity, (rs_counter){.name = name}))
            return rs_fail_nomem(err, "counters");
    }
    rs_sparse *s = &e->counters[i].values;
    RS_TRY(sparse_grow(e, s, sizeof(double), 1, err));
    if (s->n && s->rows[s->n - 1] == row) s->n--;
    s->rows[s->n] = row;
    s->reals[s->n++] = value;
    return RS_OK;
}

static bool ascends(const rs_sparse *s)
{
    for (size_t i = 1; i < s->n; i++)
        if (s->rows[i] <= s->rows[i - 1]) return false;
    return true;
}

rs_status rs_events_sort_counters(rs_events *e, rs_error *err)
{
    for (size_t k = 0; k < e->n_counters; k++) {
        rs_sparse *s = &e->counters[k].values;
        if (ascends(s)) continue;
        RS_LOCAL rs_keyed *order = rs_malloc((s->n + 1) * sizeof *order);
        RS_LOCAL double *values = rs_malloc((s->n + 1) * sizeof *values);
        if (!order || !values) return rs_fail_nomem(err, "counters");
        for (size_t i = 0; i < s->n; i++) order[i] = (rs_keyed){s->rows[i], (uint32_t)i};
        if (!rs_keyed_sort(order, s->n)) return rs_fail_nomem(err, "counters");
        memcpy(values, s->reals, s->n * sizeof *values);
        size_t n = 0;
        for (size_t i = 0; i < s->n; i++) {
            uint32_t row = (uint32_t)order[i].key;
            if (n && s->rows[n - 1] == row) n--;
            s->rows[n] = row;
            s->reals[n++] = values[order[i].value];
        }
        s->n = n;
    }
    return RS_OK;
}

static bool find_row(const rs_sparse *s, uint32_t row, size_t *at)
{
    size_t low;
    RS_SEARCH(low, s->n, s->rows[low] < row);
    *at = low;
    return low < s->n && s->rows[low] == row;
}

bool rs_events_int(const rs_events *e, rs_column_id column, uint32_t row, int64_t *value)
{
    size_t at;
    if (!find_row(&e->args[column], row, &at)) return false;
    *value = rs_sparse_int(&e->args[column], at);
    return true;
}

bool rs_events_real(const rs_events *e, rs_column_id column, uint32_t row, double *value)
{
    size_t at;
    if (!find_row(&e->args[column], row, &at)) return false;
    *value = e->args[column].reals[at];
    return true;
}

uint32_t rs_events_text(const rs_events *e, rs_column_id column, uint32_t row)
{
    size_t at;
    return find_row(&e->args[column], row, &at) ? e->args[column].texts[at] : RS_NO_STRING;
}

uint32_t rs_events_thread(rs_events *e, rs_thread thread)
{
    /* One key from the pair; pairs whose keys collide are distinguished by walking on. */
    uint64_t key = rs_hash_u64((uint64_t)thread.pid) * 31 + (uint64_t)thread.tid;
    for (;; key++) {
        bool is_new;
        uint32_t *slot = rs_map64_put(&e->thread_ids, key, &is_new);
        if (!slot) return UINT32_MAX;
        if (is_new) {
            if (!RS_GROW_ONE(e->threads, e->n_threads, e->threads_capacity)) {
                *slot = UINT32_MAX;
                return UINT32_MAX;
            }
            *slot = (uint32_t)e->n_threads;
            e->threads[e->n_threads++] = thread;
            return *slot;
        }
        if (*slot == UINT32_MAX) return UINT32_MAX;
        const rs_thread *t = &e->threads[*slot];
        if (t->pid == thread.pid && t->tid == thread.tid) return *slot;
    }
}

uint32_t rs_events_category(rs_events *e, uint32_t name_id)
{
    for (size_t i = 0; i < e->n_categories; i++)
        if (e->categories[i].name == name_id) return (uint32_t)i;
    /* Beyond any honest number of categories the rest share the nameless one. */
    if (e->n_categories >= RS_MAX_CATEGORIES) return 0;
    if (!RS_GROW_ONE(e->categories, e->n_categories, e->categories_capacity)) return UINT32_MAX;
    const rs_string *s = &e->strings.items[name_id];
    e->categories[e->n_categories] =
        (rs_category){.name = name_id, .kind = rs_kind_of_category(s->text, s->length)};
    return (uint32_t)e->n_categories++;
}
