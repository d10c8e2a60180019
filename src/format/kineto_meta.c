#include <stdio.h>
#include <string.h>

#include "base/real.h"
#include "format/kineto_core.h"

#define MAX_LOG_LINES 256
#define MAX_DEVICES 1024

static uint32_t text_id(rs_kineto *core, const rs_json_text *text)
{
    rs_json_text copy = *text;
    copy.control = false;
    copy.high = true;
    return rs_kineto_text(core, &copy, RS_NO_OFFSET);
}

static void set_int(int64_t *field, rs_json_token token, const rs_json_text *text)
{
    int64_t v;
    if (*field == RS_NO_VALUE && (token == RS_JSON_T_NUMBER || token == RS_JSON_T_STRING) &&
        rs_json_int(text->bytes, text->length, &v))
        *field = v;
}

static void set_text(rs_kineto *core, uint32_t *field, rs_json_token token, const rs_json_text *text)
{
    if (*field == RS_NO_STRING && token == RS_JSON_T_STRING) *field = text_id(core, text);
}

static void set_flag(bool *field, rs_json_token token, const rs_json_text *text)
{
    int64_t v = 0;
    *field = token == RS_JSON_T_TRUE ||
             (token == RS_JSON_T_NUMBER && rs_json_int(text->bytes, text->length, &v) && v != 0);
}

/* Calls member for every scalar member of the object the reader has just entered. */
typedef void (*scalar_fn)(rs_kineto *core, const char *key, size_t n, rs_json_token token,
                          const rs_json_text *value, void *context);

static bool each_scalar(rs_kineto *core, rs_json_reader *r, scalar_fn member, void *context)
{
    for (;;) {
        rs_json_token t = rs_json_next(r);
        if (t != RS_JSON_T_KEY) return t == RS_JSON_T_OBJECT_END;
        rs_json_text key = r->text;
        t = rs_json_next(r);
        if (t == RS_JSON_T_ERROR || t == RS_JSON_T_END) return false;
        if (t == RS_JSON_T_OBJECT || t == RS_JSON_T_ARRAY) {
            if (!rs_json_leave(r)) return false;
            continue;
        }
        member(core, (const char *)key.bytes, key.length, t, &r->text, context);
    }
}

static bool is(const char *key, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(key, word, n) == 0;
}

static void distributed_member(rs_kineto *core, const char *key, size_t n, rs_json_token token,
                               const rs_json_text *value, rs_document *document)
{
    rs_file_info *info = &core->events->info;
    if (is(key, n, "rank")) {
        set_int(&document->rank, token, value);
        set_int(&info->rank, token, value);
    } else if (is(key, n, "world_size")) {
        set_int(&info->world_size, token, value);
    } else if (is(key, n, "backend")) {
        set_text(core, &info->backend, token, value);
    } else if (is(key, n, "nccl_version")) {
        set_text(core, &info->nccl_version, token, value);
    }
}

/* ---- pg_config: the groups that the rank belongs to ---------------------------------------------------- */

static void group_member(rs_kineto *core, const char *key, size_t n, rs_json_token token,
                         const rs_json_text *value)
{
    rs_file_info *info = &core->events->info;
    if (is(key, n, "pg_name")) set_text(core, &info->group_name, token, value);
    if (is(key, n, "pg_desc")) set_text(core, &info->group_desc, token, value);
    if (is(key, n, "pg_size")) set_int(&info->group_size, token, value);
}

/* The reader has just entered the array of ranks: they become the text "[0, 1]", as kernels name their
 * group's. false at broken text. */
static bool read_group_ranks(rs_kineto *core, rs_json_reader *r)
{
    char *text = NULL;
    size_t n = 0, capacity = 0;
    rs_json_token t;
    while ((t = rs_json_next(r)) == RS_JSON_T_NUMBER) {
        int64_t rank;
        if (!rs_json_int(r->text.bytes, r->text.length, &rank)) continue;
        if (n + 32 > capacity) {
            capacity = 2 * capacity + 64;
            char *more = rs_realloc(text, capacity);
            if (!more) {
                rs_free(text);
                rs_kineto_fail(core, rs_fail_nomem(core->err, "process groups"));
                return false;
            }
            text = more;
        }
        n += (size_t)snprintf(text + n, capacity - n, "%s%lld", n ? ", " : "[", (long long)rank);
    }
    if (n && core->events->info.group_ranks == RS_NO_STRING) {
        text[n++] = ']';
        rs_json_text whole = {.bytes = (const uint8_t *)text, .length = n};
        core->events->info.group_ranks = text_id(core, &whole);
    }
    rs_free(text);
    return t == RS_JSON_T_ARRAY_END;
}

static bool read_group(rs_kineto *core, rs_json_reader *r)
{
    for (;;) {
        rs_json_token t = rs_json_next(r);
        if (t != RS_JSON_T_KEY) return t == RS_JSON_T_OBJECT_END;
        rs_json_text key = r->text;
        t = rs_json_next(r);
        if (t == RS_JSON_T_ERROR || t == RS_JSON_T_END) return false;
        if (t == RS_JSON_T_ARRAY && is((const char *)key.bytes, key.length, "ranks")) {
            if (!read_group_ranks(core, r)) return false;
        } else if (t == RS_JSON_T_OBJECT || t == RS_JSON_T_ARRAY) {
            if (!rs_json_leave(r)) return false;
        } else {
            group_member(core, (const char *)key.bytes, key.length, t, &r->text);
        }
    }
}

static bool read_groups(rs_kineto *core, rs_json_reader *r)
{
    rs_file_info *info = &core->events->info;
    for (;;) {
        rs_json_token t = rs_json_next(r);
        if (t == RS_JSON_T_ARRAY_END) return true;
        if (t != RS_JSON_T_OBJECT || !read_group(core, r)) return false;
        info->n_groups++;
    }
}

static void read_distributed(rs_kineto *core, rs_json_reader *r, rs_document *document)
{
    for (;;) {
        if (rs_json_next(r) != RS_JSON_T_KEY) return;
        rs_json_text key = r->text;
        rs_json_token t = rs_json_next(r);
        if (t == RS_JSON_T_ERROR || t == RS_JSON_T_END) return;
        if (t == RS_JSON_T_ARRAY && is((const char *)key.bytes, key.length, "pg_config")) {
            if (!read_groups(core, r)) return;
        } else if (t == RS_JSON_T_OBJECT || t == RS_JSON_T_ARRAY) {
            if (!rs_json_leave(r)) return;
        } else {
            distributed_member(core, (const char *)key.bytes, key.length, t, &r->text, document);
        }
    }
}

static void device_member(rs_kineto *core, const char *key, size_t n, rs_json_token token,
                          const rs_json_text *value, void *context)
{
    rs_device *device = context;
    rs_file_info *info = &core->events->info;
    const struct {
        const char *key;
        int64_t *number;
    } numbers[] = {{"id", &device->id},
                   {"numSms", &device->units},
                   {"totalGlobalMem", &device->memory},
                   {"computeMajor", &device->major},
                   {"computeMinor", &device->minor},
                   {"multiProcessorCount", &device->units}, /* these three as PyTorch 1.8 wrote them */
                   {"major", &device->major},
                   {"minor", &device->minor},
                   {"maxThreadsPerBlock", &info->max_threads_per_block}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (is(key, n, numbers[i].key)) set_int(numbers[i].number, token, value);
    if (is(key, n, "name")) {
        set_text(core, &device->name, token, value);
        if (info->device_name == RS_NO_STRING) info->device_name = device->name;
    }
}

static void read_devices(rs_kineto *core, rs_json_reader *r)
{
    rs_events *e = core->events;
    bool first = e->n_devices == 0; /* of several documents the first list counts */
    if (rs_json_next(r) != RS_JSON_T_ARRAY) return;
    int64_t n = 0;
    while (rs_json_next(r) == RS_JSON_T_OBJECT) {
        rs_device device = {RS_NO_VALUE, RS_NO_STRING, RS_NO_VALUE, RS_NO_VALUE, RS_NO_VALUE, RS_NO_VALUE};
        if (!each_scalar(core, r, device_member, &device)) break;
        n++;
        if (!first || e->n_devices == MAX_DEVICES) continue;
        if (!RS_GROW_ONE(e->devices, e->n_devices, e->devices_capacity)) {
            rs_kineto_fail(core, rs_fail_nomem(core->err, "devices"));
            return;
        }
        e->devices[e->n_devices++] = device;
    }
    if (e->info.n_devices <= 0) e->info.n_devices = n ? n : -1;
}

static void read_log(rs_kineto *core, rs_json_reader *r, char level)
{
    rs_events *e = core->events;
    if (rs_json_next(r) != RS_JSON_T_ARRAY) return;
    while (rs_json_next(r) == RS_JSON_T_STRING && e->n_log < MAX_LOG_LINES) {
        uint32_t text = text_id(core, &r->text);
        if (text == RS_NO_STRING) return;
        if (!RS_GROW_ONE(e->log, e->n_log, e->log_capacity)) {
            rs_kineto_fail(core, rs_fail_nomem(core->err, "the profiler's log"));
            return;
        }
        e->log[e->n_log++] = (rs_log_line){.level = level, .text = text};
    }
}

static void read_plain(rs_kineto *core, const rs_json_text *key, rs_json_reader *r)
{
    rs_file_info *info = &core->events->info;
    const struct {
        const char *key;
        int64_t *number;
        uint32_t *text;
        bool *flag;
    } members[] = {
        {"schemaVersion", &info->schema_version, NULL, NULL},
        {"baseTimeNanoseconds", &info->base_time_ns, NULL, NULL},
        {"cuda_runtime_version", &info->cuda_runtime, NULL, NULL},
        {"cuda_driver_version", &info->cuda_driver, NULL, NULL},
        {"cupti_version", &info->cupti, NULL, NULL},
        {"hip_runtime_version", &info->hip_runtime, NULL, NULL},
        {"hip_driver_version", &info->hip_driver, NULL, NULL},
        {"displayTimeUnit", NULL, &info->display_unit, NULL},
        {"traceName", NULL, &info->trace_name, NULL},
        {"trace_id", NULL, &info->trace_id, NULL},
        {"host_name", NULL, &info->host_name, NULL},
        {"record_shapes", NULL, NULL, &info->record_shapes},
        {"with_stack", NULL, NULL, &info->with_stack},
        {"with_flops", NULL, NULL, &info->with_flops},
        {"with_modules", NULL, NULL, &info->with_modules},
        {"profile_memory", NULL, NULL, &info->profile_memory},
    };
    const char *k = (const char *)key->bytes;
    rs_json_token t = rs_json_next(r);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (!is(k, key->length, members[i].key)) continue;
        if (members[i].number) set_int(members[i].number, t, &r->text);
        if (members[i].text) set_text(core, members[i].text, t, &r->text);
        if (members[i].flag) set_flag(members[i].flag, t, &r->text);
    }
    double version;
    if (is(k, key->length, "roctracer_version") && t == RS_JSON_T_NUMBER &&
        rs_json_real(r->text.bytes, r->text.length, &version) && version > 0 && version < 1e6)
        info->roctracer_x1000 = rs_int_of(version * 1000 + 0.5);
}

void rs_kineto_metadata(rs_kineto *core, const rs_json_text *key, const uint8_t *value, size_t n)
{
    rs_json_reader r;
    core->n_pending = 0;
    rs_json_reader_init(&r, value, n);
    r.limits = core->limits;
    const char *k = (const char *)key->bytes;
    if (is(k, key->length, "distributedInfo")) {
        rs_document none = {.rank = RS_NO_VALUE};
        rs_events *e = core->events;
        rs_document *document = e->n_documents ? &e->documents[e->n_documents - 1] : &none;
        if (rs_json_next(&r) == RS_JSON_T_OBJECT) read_distributed(core, &r, document);
    } else if (is(k, key->length, "deviceProperties") || is(k, key->length, "computeProperties")) {
        read_devices(core, &r);
    } else if (is(k, key->length, "INFO") || is(k, key->length, "WARNING") || is(k, key->length, "ERROR")) {
        read_log(core, &r, k[0]);
    } else {
        read_plain(core, key, &r);
    }
    rs_kineto_report(core);
}
