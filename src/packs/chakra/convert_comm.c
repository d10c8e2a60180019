/* Telling what a communication kernel does: from the collective's own record where the host trace has one,
 * else from the kernel's arguments, else from its name. */
#include "chakra/convert_comm.h"
#include "base/ascii.h"

#include <string.h>

#include "base/dtype.h"
#include "input/json.h"
#include "et_def.pb-c.h"

enum { SEND = 5, RECEIVE = 6, COLLECTIVE = 7 };
#define NAME_MAX_FOLDED 256

/* Lower case, without what separates words. */
static void fold(const char *name, char out[NAME_MAX_FOLDED])
{
    size_t n = 0;
    for (; *name && n + 1 < NAME_MAX_FOLDED; name++) {
        char c = *name;
        if (c == '_' || c == '-' || c == ' ' || c == '\t') continue;
        out[n++] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    out[n] = '\0';
}

/* Longer words first: "reduce" is in "allreduce"; vLLM's cross_device_reduce is one. */
static const struct {
    const char *word;
    int type;
} operations[] = {
    {"allreduce", RS__ET__COLLECTIVE_TYPE__ALL_REDUCE},
    {"crossdevicereduce", RS__ET__COLLECTIVE_TYPE__ALL_REDUCE},
    {"alltoall", RS__ET__COLLECTIVE_TYPE__ALL_TO_ALL},
    {"all2all", RS__ET__COLLECTIVE_TYPE__ALL_TO_ALL},
    {"allgather", RS__ET__COLLECTIVE_TYPE__ALL_GATHER},
    {"reducescatter", RS__ET__COLLECTIVE_TYPE__REDUCE_SCATTER},
    {"broadcast", RS__ET__COLLECTIVE_TYPE__BROADCAST},
    {"gather", RS__ET__COLLECTIVE_TYPE__GATHER},
    {"scatter", RS__ET__COLLECTIVE_TYPE__SCATTER},
    {"barrier", RS__ET__COLLECTIVE_TYPE__BARRIER},
    {"sendrecv", RS__ET__COLLECTIVE_TYPE__ALL_TO_ALL},
    {"reduce", RS__ET__COLLECTIVE_TYPE__REDUCE},
};

/* What a folded name says; false when it says nothing. */
static bool operation_of(const char *folded, rs_comm *out)
{
    bool pair = rs_begins(folded, "sendrecv");
    if (!pair && (rs_begins(folded, "send") || rs_begins(folded, "isend") || rs_begins(folded, "ncclsend"))) {
        out->node_type = SEND;
        return true;
    }
    if (rs_begins(folded, "recv") || rs_begins(folded, "irecv") || rs_begins(folded, "ncclrecv")) {
        out->node_type = RECEIVE;
        return true;
    }
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (strstr(folded, operations[i].word)) {
            out->node_type = COLLECTIVE;
            out->comm_type = operations[i].type;
            return true;
        }
    return false;
}

static bool operation_of_slice(rs_slice s, rs_arena *arena, rs_comm *out, bool *nomem)
{
    char folded[NAME_MAX_FOLDED];
    if (!rs_slice_is_text(s) || s.n == 2) return false;
    const char *text = rs_slice_text(s, arena);
    if (!text) {
        *nomem = true;
        return false;
    }
    fold(text, folded);
    return operation_of(folded, out);
}

/* Where the operation starts in a kernel's folded name: behind "ncclKernel" or "ncclDevKernel". NULL: the
 * kernel is no communication. */
static const char *kernel_operation(const char *folded)
{
    static const char *const marks[] = {"ncclkernel", "nccldevkernel"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *at = strstr(folded, marks[i]);
        if (at) return at + strlen(marks[i]);
    }
    return strstr(folded, "rccl") ? folded : NULL;
}

/* Other libraries' communication kernels; those count whose name says what they do. */
static bool is_other_library(const char *folded)
{
    static const char *const words[] = {"oneccl",
                                        "xccl",
                                        "hccl",
                                        "nvshmem",
                                        "mscclkernel",
                                        "mscclpp",
                                        "multimem",
                                        "crossdevicereduce",
                                        "oneshotallreduce",
                                        "twoshotallreduce"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(folded, words[i])) return true;
    return false;
}

static bool other_operation(const char *folded, rs_comm *out)
{
    if (!is_other_library(folded)) return false;
    if (operation_of(folded, out)) return out->node_type == COLLECTIVE;
    return false;
}

/* ---- sizes ------------------------------------------------------------------------------------------ */

static bool size_of(rs_slice count, rs_slice type, rs_arena *arena, int64_t *bytes, bool *nomem)
{
    int64_t n;
    if (!rs_slice_is_text(type) || !rs_slice_int(count, &n) || n < 0) return false;
    const char *text = rs_slice_text(type, arena);
    if (!text) {
        *nomem = true;
        return false;
    }
    int64_t each = rs_dtype_size(text);
    return each && !__builtin_mul_overflow(n, each, bytes);
}

/* Adds up the tensors [id, storage, offset, elements, element bytes, device] in a value, at any depth. */
static bool add_tensors(rs_slice value, int64_t *total, bool *any)
{
    rs_json_reader r;
    rs_json_token token;
    int64_t numbers[5];
    unsigned n = 0;
    bool plain = false; /* the innermost open list holds nothing but what a tensor's may so far */
    rs_json_reader_init(&r, value.bytes, value.n);
    while ((token = rs_json_next(&r)) != RS_JSON_T_END && token != RS_JSON_T_ERROR) {
        if (token == RS_JSON_T_ARRAY) {
            n = 0;
            plain = true;
        } else if (token == RS_JSON_T_ARRAY_END) {
            int64_t bytes;
            if (plain && n == 6) {
                if (numbers[3] < 0 || numbers[4] < 0 ||
                    __builtin_mul_overflow(numbers[3], numbers[4], &bytes) ||
                    __builtin_add_overflow(*total, bytes, total))
                    return false;
                *any = true;
            }
            plain = false;
        } else if (plain) {
            if (n < 5)
                plain = token == RS_JSON_T_NUMBER && rs_json_int(r.text.bytes, r.text.length, &numbers[n]);
            else
                plain = n == 5 && token == RS_JSON_T_STRING;
            n++;
        }
    }
    return true;
}

static bool says_tensor(rs_slice type)
{
    for (size_t i = 0; i + 6 <= type.n; i++)
        if (memcmp(type.bytes + i, "Tensor", 6) == 0) return true;
    return false;
}

/* The bytes of the tensors among a node's inputs; false when there are none or they make no sense. */
static bool tensor_bytes(const rs_linked_io *io, int64_t *bytes)
{
    rs_slice_walk values = rs_slice_elements(io->values), types = rs_slice_elements(io->types);
    rs_slice value, type;
    bool any = false;
    *bytes = 0;
    while (rs_slice_next(&values, &value) && rs_slice_next(&types, &type))
        if (says_tensor(type) && !add_tensors(value, bytes, &any)) return false;
    return any;
}

/* ---- the record of the collective ------------------------------------------------------------------- */

static bool is_record(const rs_linked_node *n)
{
    static const char name[] = "\"record_param_comms\"";
    return n->name.n == sizeof name - 1 && memcmp(n->name.bytes, name, n->name.n) == 0;
}

/* The nearest record_param_comms at or above the parent. Real ones are a few levels up; the limit keeps a
 * trace of one endless chain from costing its square. */
#define MAX_LEVELS 4096

const rs_linked_node *rs_comm_record(const rs_linked *linked, const rs_linked_node *gpu)
{
    int64_t id = gpu->parent, last = gpu->id;
    for (int level = 0; id != last && level < MAX_LEVELS; level++) {
        uint32_t at = rs_linked_find(linked, id);
        if (at == RS_LINKED_NONE) return NULL;
        const rs_linked_node *n = &linked->nodes[at];
        if (is_record(n)) return n;
        last = id;
        id = n->parent;
    }
    return NULL;
}

static bool operation_of_record(const rs_linked_body *record, rs_arena *arena, rs_comm *out, bool *nomem)
{
    rs_slice name = rs_slice_attribute(record->attrs, "collective_name");
    if (rs_slice_is_text(name) && name.n > 2) return operation_of_slice(name, arena, out, nomem);
    rs_slice_walk values = rs_slice_elements(record->inputs.values),
                  types = rs_slice_elements(record->inputs.types);
    rs_slice value, type;
    while (rs_slice_next(&values, &value) && rs_slice_next(&types, &type))
        if (type.n == 8 && memcmp(type.bytes, "\"String\"", 8) == 0 &&
            operation_of_slice(value, arena, out, nomem))
            return true;
    return false;
}

static rs_slice either(rs_slice a, rs_slice b)
{
    bool empty = !a.bytes || (a.n == 2 && a.bytes[0] == '"') || (a.n == 4 && memcmp(a.bytes, "null", 4) == 0);
    return empty ? b : a;
}

static const char *group_of(const rs_linked_body *record, const rs_linked_more *gpu, rs_arena *arena,
                            bool *nomem)
{
    rs_slice none = {NULL, 0};
    rs_slice group = either(record ? rs_slice_attribute(record->attrs, "pg_name") : none,
                            either(rs_slice_member(gpu->args, "Process Group Name"), gpu->group));
    group = either(group, none);
    if (!group.bytes) return NULL;
    const char *text = rs_slice_text(group, arena);
    if (!text) *nomem = true;
    return text;
}

static void find_size(const rs_linked_body *record, const rs_linked_more *gpu, rs_arena *arena, rs_comm *out,
                      bool *nomem)
{
    rs_slice none = {NULL, 0};
    rs_slice attrs = record ? record->attrs : none;
    /* the record's own words, then the kernel's arguments, then what the linker kept of them */
    out->has_size = (record && size_of(rs_slice_attribute(attrs, "in_msg_nelems"),
                                       rs_slice_attribute(attrs, "dtype"), arena, &out->size, nomem)) ||
                    size_of(rs_slice_member(gpu->args, "In msg nelems"), rs_slice_member(gpu->args, "dtype"),
                            arena, &out->size, nomem) ||
                    size_of(gpu->in_nelems, gpu->dtype, arena, &out->size, nomem) ||
                    (record && tensor_bytes(&record->inputs, &out->size));
    /* A barrier sends nothing; a receiver's record has no input. */
    if (!out->has_size && record &&
        (out->comm_type == RS__ET__COLLECTIVE_TYPE__BARRIER || out->node_type == 6)) {
        out->has_size = true;
        out->size = 0;
    }
}

bool rs_comm_of(const rs_linked *linked, const rs_linked_node *gpu, rs_arena *arena, rs_comm *out)
{
    *out = (rs_comm){.comm_type = -1, .recorded = -1};
    bool nomem = false;
    char folded[NAME_MAX_FOLDED];
    const char *name = rs_slice_text(gpu->name, arena);
    if (!name) return false;
    fold(name, folded);
    const char *by_name = kernel_operation(folded);
    if (!by_name && !other_operation(folded, out)) return true;
    *out = (rs_comm){.comm_type = -1, .recorded = -1};
    const rs_linked_node *at = rs_comm_record(linked, gpu);
    const rs_linked_body body = at ? rs_linked_body_of(linked, at) : (rs_linked_body){0},
                         *record = at ? &body : NULL;
    const rs_linked_more *more = rs_linked_more_of(linked, gpu);
    bool found = record && operation_of_record(record, arena, out, &nomem);
    found = found || operation_of_slice(rs_slice_member(more->args, "Collective name"), arena, out, &nomem);
    found = found || operation_of_slice(more->collective, arena, out, &nomem);
    if (!found && !operation_of(by_name ? by_name : folded, out)) out->node_type = COLLECTIVE;
    find_size(record, more, arena, out, &nomem);
    out->group = group_of(record, more, arena, &nomem);
    return !nomem;
}

/* ---- communication that the host runs ------------------------------------------------------------------ */

bool rs_comm_is_of_host(const rs_linked *linked, const rs_linked_node *node)
{
    static const char *const words[] = {"\"gloo:", "\"mpi:", "\"ucc:"};
    if (node->gpu || linked->n_gpus) return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (node->name.n > n + 1 && memcmp(node->name.bytes, words[i], n) == 0) return true;
    }
    return false;
}

const rs_linked_node *rs_comm_host_operator(const rs_linked *linked, const rs_linked_node *node)
{
    static const char *const names[] = {"\"c10d::send\"", "\"c10d::recv_\""};
    uint32_t at = node->parent == node->id ? RS_LINKED_NONE : rs_linked_find(linked, node->parent);
    const rs_linked_node *parent = at == RS_LINKED_NONE ? NULL : &linked->nodes[at];
    for (size_t i = 0; parent && i < sizeof names / sizeof *names; i++)
        if (parent->name.n == strlen(names[i]) && memcmp(parent->name.bytes, names[i], parent->name.n) == 0)
            return parent;
    return NULL;
}

bool rs_comm_of_host(const rs_linked *linked, const rs_linked_node *node, const rs_groups *groups,
                     rs_arena *arena, rs_comm *out)
{
    *out = (rs_comm){.comm_type = -1, .recorded = -1};
    char folded[NAME_MAX_FOLDED];
    if (!rs_comm_is_of_host(linked, node) || (groups && groups->n > 1)) return true;
    const char *name = rs_slice_text(node->name, arena);
    if (!name) return false;
    fold(strchr(name, ':') + 1, folded);
    if (!operation_of(folded, out)) return true;
    rs_linked_body body = rs_linked_body_of(linked, node);
    out->has_size = tensor_bytes(&body.inputs, &out->size);
    if (!out->has_size && out->comm_type == RS__ET__COLLECTIVE_TYPE__BARRIER) {
        out->has_size = true;
        out->size = 0;
    }
    if (groups && groups->n == 1) out->group = groups->items[0].name;
    return true;
}
