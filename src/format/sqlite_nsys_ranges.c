/* Ranges of NVTX: annotations, PyTorch's operators where it marks them, and NCCL's calls.
 *
 * NCCL describes its calls on the host, in a payload that nsys exports as JSON (--include-json true) or as
 * bytes (--include-blobs true); they are followed through the launch within them to the kernel. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/search.h"
#include "base/order.h"
#include "base/ascii.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "format/range_names.h"
#include "format/rocprof_fields.h"
#include "format/sqlite_nsys.h"

#define PUSH_POP 59 /* kinds of NVTX events */
#define START_END 60
#define DOMAIN_CREATE 75

#define EVERY_PROCESS ((1 << 24) - 1)
#define MAX_GROUP 4096 /* calls of NCCL that are looked through for the beginning of a group */

static uint32_t intern(rs_nsys_ranges *n, const char *text, size_t length)
{
    return rs_strings_add(&n->d->events->strings, text, length);
}

/* ---- domains ------------------------------------------------------------------------------------------- */

static const char *const domain_columns[] = {"globalTid", "domainId", "eventType", "text", NULL};

static rs_status domain_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    rs_nsys_ranges *n = context;
    (void)r;
    int64_t thread = rs_row_int(s, 1);
    const char *name = rs_row_text(s, 4);
    uint64_t key;
    bool is_new;
    if (!name) name = rs_row_text(s, 0);
    if (rs_row_int(s, 3) != DOMAIN_CREATE || !name || strcmp(name, "NCCL") != 0) return RS_OK;
    if (thread == RS_NO_VALUE || !rs_nsys_key(rs_nsys_pid(thread), rs_row_int(s, 2), &key)) return RS_OK;
    return rs_map64_put(&n->domains, key, &is_new) ? RS_OK : rs_fail_nomem(n->d->err, "NVTX domains");
}

const rs_source_table rs_nsys_domains = {"NVTX_EVENTS", domain_columns, "textId", domain_row,
                                         "eventType = 75"};

/* ---- what NCCL says of a call --------------------------------------------------------------------------- */

/* As NCCL's NVTX schemas name them. */
static const char *const keys[RS_PAYLOAD_FIELDS] = {"NCCL communicator ID", "Message size [bytes]",
                                                    "No. of ranks"};

static const char *const payload_columns[] = {"domainId", "schemaId", "type", "offset", NULL};

/* Bytes of a whole number of NVTX's types; 0: it is none. */
static unsigned size_of_type(int64_t type)
{
    static const unsigned char sizes[] = {
        [3] = 2,  [4] = 2,  [5] = 4,  [6] = 4,  [7] = 8,  [8] = 8,  [9] = 8,  [10] = 8, [11] = 1,
        [12] = 1, [13] = 2, [14] = 2, [15] = 4, [16] = 4, [17] = 8, [18] = 8, [22] = 8, [23] = 8};
    return type >= 0 && type < (int64_t)sizeof sizes ? sizes[type] : 0;
}

/* An entry of a payload's schema. The process that registered it is unknown: they all register the same. */
static rs_status payload_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    rs_nsys_ranges *n = context;
    (void)r;
    const char *name = rs_row_text(s, 0);
    int64_t offset = rs_row_int(s, 4);
    unsigned size = size_of_type(rs_row_int(s, 3)), field = 0;
    uint64_t key;
    bool is_new;
    while (field < RS_PAYLOAD_FIELDS && (!name || strcmp(name, keys[field]) != 0)) field++;
    if (field == RS_PAYLOAD_FIELDS || !size || !rs_nsys_key(rs_row_int(s, 1), rs_row_int(s, 2), &key))
        return RS_OK;
    uint32_t *slot = rs_map64_put(&n->layouts_of, key, &is_new);
    if (!slot) return rs_fail_nomem(n->d->err, "NVTX payloads");
    if (is_new) {
        if (!RS_GROW_ONE(n->layouts, n->n_layouts, n->layouts_capacity))
            return rs_fail_nomem(n->d->err, "NVTX payloads");
        *slot = (uint32_t)n->n_layouts;
        n->layouts[n->n_layouts++] = (rs_payload_layout){0};
    }
    rs_payload_layout *layout = &n->layouts[*slot];
    layout->size[field] = size;
    layout->offset[field] = offset == RS_NO_VALUE ? 0 : offset;
    if (field == RS_PAYLOAD_COMM && rs_nsys_key(EVERY_PROCESS, rs_row_int(s, 1), &key) &&
        !rs_map64_put(&n->domains, key, &is_new))
        return rs_fail_nomem(n->d->err, "NVTX domains");
    return RS_OK;
}

const rs_source_table rs_nsys_payloads = {"NVTX_PAYLOAD_SCHEMA_ENTRIES", payload_columns, NULL, payload_row,
                                          NULL};

static rs_status take_comm(rs_nsys_ranges *n, const char *text, size_t length, int64_t ranks,
                           rs_nccl_call *call)
{
    bool is_new;
    call->comm = intern(n, text, length);
    if (call->comm == RS_NO_STRING) return rs_fail_nomem(n->d->err, "strings");
    if (ranks < 1 || ranks > INT32_MAX) return RS_OK;
    uint32_t *slot = rs_map64_put(&n->ranks_of, call->comm, &is_new);
    if (!slot) return rs_fail_nomem(n->d->err, "communicators");
    *slot = (uint32_t)ranks;
    return RS_OK;
}

/* A flat object. */
static rs_status take_json(rs_nsys_ranges *n, const char *json, size_t length, rs_nccl_call *call)
{
    rs_rocprof_field f[RS_PAYLOAD_FIELDS];
    if (!rs_fields_read((const uint8_t *)json, length, keys, RS_PAYLOAD_FIELDS, f)) return RS_OK;
    call->bytes = rs_field_int(&f[RS_PAYLOAD_BYTES], RS_NO_VALUE);
    const rs_json_text *comm = &f[RS_PAYLOAD_COMM].text;
    if (!comm->bytes) return RS_OK;
    return take_comm(n, (const char *)comm->bytes, comm->length, rs_field_int(&f[RS_PAYLOAD_RANKS], 0), call);
}

static uint64_t little(const uint8_t *bytes, unsigned n)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < n; i++) value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

/* Domain, schema, size and place of the payload, each of 64 bits, then the payload itself. */
#define HEADER 32
static rs_status take_bytes(rs_nsys_ranges *n, const uint8_t *bytes, size_t length, rs_nccl_call *call)
{
    uint64_t value[RS_PAYLOAD_FIELDS] = {0}, key;
    char comm[24];
    if (length < HEADER) return RS_OK;
    uint64_t domain = little(bytes, 4), schema = little(bytes + 8, 8), size = little(bytes + 16, 8);
    if (schema > INT64_MAX || !rs_nsys_key((int64_t)domain, (int64_t)schema, &key)) return RS_OK;
    const uint32_t *at = rs_map64_get(&n->layouts_of, key);
    if (!at || size > length - HEADER) return RS_OK;
    const rs_payload_layout *layout = &n->layouts[*at];
    bool has[RS_PAYLOAD_FIELDS];
    for (unsigned i = 0; i < RS_PAYLOAD_FIELDS; i++) {
        int64_t offset = layout->offset[i];
        has[i] = layout->size[i] && offset >= 0 && (uint64_t)offset < size &&
                 layout->size[i] <= size - (uint64_t)offset;
        if (has[i]) value[i] = little(bytes + HEADER + offset, layout->size[i]);
    }
    if (has[RS_PAYLOAD_BYTES] && value[RS_PAYLOAD_BYTES] <= INT64_MAX)
        call->bytes = (int64_t)value[RS_PAYLOAD_BYTES];
    if (!has[RS_PAYLOAD_COMM]) return RS_OK;
    int written = snprintf(comm, sizeof comm, "%" PRIu64, value[RS_PAYLOAD_COMM]);
    uint64_t ranks = has[RS_PAYLOAD_RANKS] ? value[RS_PAYLOAD_RANKS] : 0;
    return take_comm(n, comm, (size_t)written, ranks > INT32_MAX ? 0 : (int64_t)ranks, call);
}

static rs_status take_payload(rs_nsys_ranges *n, sqlite3_stmt *s, rs_nccl_call *call)
{
    for (int column = 7; column <= 8; column++) {
        const char *json = rs_row_text(s, column);
        if (json) return take_json(n, json, (size_t)sqlite3_column_bytes(s, column), call);
    }
    const uint8_t *bytes = sqlite3_column_type(s, 9) == SQLITE_BLOB ? sqlite3_column_blob(s, 9) : NULL;
    return bytes ? take_bytes(n, bytes, (size_t)sqlite3_column_bytes(s, 9), call) : RS_OK;
}

/* "ncclAllReduce" and its like are kept; what only administrates is not. */
static rs_status take_nccl(rs_nsys_ranges *n, sqlite3_stmt *s, const rs_native *r, int64_t thread)
{
    rs_nccl_call call = {.thread = thread,
                         .start = r->start,
                         .end = r->end,
                         .name = RS_NO_STRING,
                         .comm = RS_NO_STRING,
                         .bytes = RS_NO_VALUE};
    RS_TRY(take_payload(n, s, &call));
    const char *name = r->name + 4;
    size_t length = r->name_length - 4;
    call.group_start = length == 10 && memcmp(name, "GroupStart", 10) == 0;
    bool group_end = length == 8 && memcmp(name, "GroupEnd", 8) == 0;
    if ((length >= 4 && memcmp(name, "Comm", 4) == 0) || thread == RS_NO_VALUE) return RS_OK;
    if (!call.group_start && !group_end) {
        char lower[64];
        if (length > sizeof lower) return RS_OK;
        for (size_t i = 0; i < length; i++) lower[i] = rs_lower(name[i]);
        call.name = intern(n, lower, length);
        if (call.name == RS_NO_STRING) return rs_fail_nomem(n->d->err, "strings");
    }
    if (!RS_GROW_ONE(n->nccl, n->n_nccl, n->nccl_capacity)) return rs_fail_nomem(n->d->err, "NCCL's calls");
    n->nccl[n->n_nccl++] = call;
    return RS_OK;
}

static const char *const range_columns[] = {"start",    "end",      "globalTid",   "text",       "eventType",
                                            "domainId", "jsonText", "@jsonTextId", "binaryData", NULL};

void rs_nsys_times(sqlite3_stmt *s, rs_native *r)
{
    int64_t global = rs_row_int(s, 3);
    r->start = rs_row_int(s, 1);
    r->end = rs_row_int(s, 2);
    if (global == RS_NO_VALUE) return;
    r->pid = rs_nsys_pid(global);
    r->tid = rs_nsys_tid(global);
}

/* Whether the thread's process knows the domain as NCCL's: by its name, or by the payloads of its calls. */
static bool is_nccl(const rs_nsys_ranges *n, int64_t thread, int64_t domain)
{
    uint64_t key;
    if (thread == RS_NO_VALUE) return false;
    return (rs_nsys_key(rs_nsys_pid(thread), domain, &key) && rs_map64_get(&n->domains, key)) ||
           (rs_nsys_key(EVERY_PROCESS, domain, &key) && rs_map64_get(&n->domains, key));
}

/* Ranges that threads push and pop, and those that start and end; marks and open ones have no length. Of the
 * former those of the domain without a name may be PyTorch's. */
static rs_status range_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    rs_nsys_ranges *n = context;
    int64_t type = rs_row_int(s, 5), thread = rs_row_int(s, 3), domain = rs_row_int(s, 6);
    if (type != PUSH_POP && type != START_END) return RS_OK;
    rs_nsys_times(s, r);
    if (r->end == RS_NO_TIME) r->end = r->start;
    rs_row_name(s, rs_row_text(s, 4) ? 4 : 0, r, "range");
    r->category = "user_annotation";
    if (type != PUSH_POP) return RS_OK;
    if (r->name_length >= 5 && memcmp(r->name, "nccl", 4) == 0 && is_nccl(n, thread, domain))
        return take_nccl(n, s, r, thread);
    return rs_native_name_range(n->d->events, r, domain == RS_NO_VALUE || domain == 0, n->d->err);
}

const rs_source_table rs_nsys_events = {"NVTX_EVENTS", range_columns, "textId", range_row, NULL};

/* ---- from launches to kernels --------------------------------------------------------------------------- */

static const rs_order by_thread[] = {RS_RISING(rs_nccl_call, thread), RS_RISING(rs_nccl_call, start),
                                     RS_FALLING(rs_nccl_call, end)};

/* The call of NCCL that a thread was in at a time; SIZE_MAX: none. */
static size_t call_at(const rs_nsys_ranges *n, int64_t thread, int64_t time)
{
    const rs_nccl_call *c = n->nccl;
    size_t low;
    RS_SEARCH(low, n->n_nccl, c[low].thread < thread || (c[low].thread == thread && c[low].start <= time));
    /* ranges of a thread nest: the last that began is the innermost, unless it is over */
    for (size_t back = 0; low > 0 && back < 16; low--, back++) {
        if (c[low - 1].thread != thread) return SIZE_MAX;
        if (c[low - 1].end >= time) return low - 1;
    }
    return SIZE_MAX;
}

/* Sums unless one of them is unknown. */
static int64_t both(int64_t a, int64_t b)
{
    return a == RS_NO_VALUE || b == RS_NO_VALUE ? RS_NO_VALUE : rs_add_sat(a, b);
}

/* The calls that a launch is for, as one. */
typedef struct described {
    uint32_t name, comm; /* string ids; RS_NO_STRING: calls of several kinds, of several communicators */
    int64_t bytes, sent, received;
    bool transfers; /* nothing but sends and receives */
} described;

static void add_call(const rs_nsys_ranges *n, const rs_nccl_call *c, bool first, described *out)
{
    const char *name = n->d->events->strings.items[c->name].text;
    bool send = strcmp(name, "send") == 0, receive = strcmp(name, "recv") == 0;
    if (first) *out = (described){.name = c->name, .comm = c->comm, .transfers = true};
    if (out->comm != c->comm) out->comm = RS_NO_STRING;
    if (out->name != c->name) out->name = RS_NO_STRING;
    out->transfers = out->transfers && (send || receive);
    out->bytes = both(out->bytes, c->bytes);
    if (send) out->sent = both(out->sent, c->bytes);
    if (receive) out->received = both(out->received, c->bytes);
}

/* The calls that a launch at the end of a group is for: back to where the group began. */
static bool calls_of_group(const rs_nsys_ranges *n, size_t end, described *out)
{
    size_t found = 0;
    int depth = 1;
    for (size_t i = end; i > 0 && end - i < MAX_GROUP && n->nccl[i - 1].thread == n->nccl[end].thread; i--) {
        const rs_nccl_call *c = &n->nccl[i - 1];
        depth += c->name == RS_NO_STRING ? (c->group_start ? -1 : 1) : 0;
        if (depth == 0) break;
        if (c->name != RS_NO_STRING) add_call(n, c, found++ == 0, out);
    }
    return found > 0;
}

/* NCCL names the part of one rank where what is sent or received grows by the number of ranks. */
static int64_t side(const rs_nsys_ranges *n, const described *call, const char *const grows[3])
{
    const char *name = n->d->events->strings.items[call->name].text;
    const uint32_t *ranks = call->comm == RS_NO_STRING ? NULL : rs_map64_get(&n->ranks_of, call->comm);
    int64_t all;
    for (size_t i = 0; i < 3; i++)
        if (strcmp(name, grows[i]) == 0)
            return ranks && !__builtin_mul_overflow(call->bytes, (int64_t)*ranks, &all) ? all : RS_NO_VALUE;
    return call->bytes;
}

/* Sizes are bytes: the type is unknown. */
static rs_status describe_sizes(rs_nsys_ranges *n, const described *call, rs_native *r)
{
    static const char *const sent[] = {"reducescatter", "scatter", "alltoall"};
    static const char *const received[] = {"allgather", "gather", "alltoall"};
    bool mixed = call->name == RS_NO_STRING;
    if (call->bytes < 0 || (mixed && !call->transfers)) return RS_OK;
    r->dtype = intern(n, "Byte", 4);
    if (r->dtype == RS_NO_STRING) return rs_fail_nomem(n->d->err, "strings");
    r->in_elements = mixed ? call->sent : side(n, call, sent);
    r->out_elements = mixed ? call->received : side(n, call, received);
    return RS_OK;
}

rs_status rs_nsys_describe(rs_nsys_ranges *n, rs_native *r)
{
    uint64_t key;
    described call;
    const uint32_t *at = rs_nsys_key(r->pid, r->correlation, &key) ? rs_map64_get(&n->nccl_of, key) : NULL;
    if (!at) return RS_OK;
    if (n->nccl[*at].name != RS_NO_STRING)
        add_call(n, &n->nccl[*at], true, &call);
    else if (!calls_of_group(n, *at, &call))
        return RS_OK;
    r->collective = call.name;
    if (call.name == RS_NO_STRING && call.transfers) {
        r->collective = intern(n, "sendrecv", 8);
        if (r->collective == RS_NO_STRING) return rs_fail_nomem(n->d->err, "strings");
    }
    r->group = call.comm;
    const uint32_t *ranks = call.comm == RS_NO_STRING ? NULL : rs_map64_get(&n->ranks_of, call.comm);
    if (ranks) r->group_size = *ranks;
    return describe_sizes(n, &call, r);
}

rs_status rs_nsys_take_launch(rs_nsys_ranges *n, int64_t thread, const rs_native *launch)
{
    uint64_t key;
    bool is_new;
    size_t at = n->n_nccl ? call_at(n, thread, launch->start) : SIZE_MAX;
    if (at > UINT32_MAX || !rs_nsys_key(launch->pid, launch->correlation, &key)) return RS_OK;
    uint32_t *slot = rs_map64_put(&n->nccl_of, key, &is_new);
    if (!slot) return rs_fail_nomem(n->d->err, "NCCL's launches");
    *slot = (uint32_t)at;
    return RS_OK;
}

void rs_nsys_ranges_end(rs_nsys_ranges *n)
{
    RS_SORT(n->nccl, n->n_nccl, by_thread);
}

void rs_nsys_ranges_clear(rs_nsys_ranges *n)
{
    rs_map64_clear(&n->domains);
    rs_map64_clear(&n->layouts_of);
    rs_map64_clear(&n->ranks_of);
    rs_map64_clear(&n->nccl_of);
    rs_free_all(n->layouts, n->nccl);
    *n = (rs_nsys_ranges){0};
}
