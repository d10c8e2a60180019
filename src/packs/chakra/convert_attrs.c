/* The attributes that host nodes bring with them. */
#include <string.h>

#include "chakra/convert_internal.h"
#include "input/json.h"

/* Set for every node by the converter; what the host trace has under these names is something else. */
static bool is_own(const char *name)
{
    static const char *const own[] = {"is_cpu_op", "stream",      "device",       "lane",
                                      "start_ns",  "duration_ns", "comm_type",    "comm_size",
                                      "end_ns",    "gap_after",   "inferred_dep", "launch_delay_ns",
                                      "comm_src",  "comm_dst",    "comm_tag",     "comm_type_recorded",
                                      "num_ops",   "tensor_size"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(name, own[i]) == 0) return true;
    return false;
}

/* Simulators run the nodes of one tid one after another: a node's is that of the thread it ran on. */
static bool is_thread(const char *name)
{
    return strcmp(name, "tid") == 0;
}

/* A kernel shares its launcher's identity, not what else is known of that. */
static bool is_identity(const char *name)
{
    static const char *const names[] = {"rf_id", "fw_parent", "seq_id",   "scope",
                                        "tid",   "fw_tid",    "op_schema"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* ---- values ----------------------------------------------------------------------------------------- */

static bool is_word(rs_slice s, const char *word)
{
    return s.n == strlen(word) && memcmp(s.bytes, word, s.n) == 0;
}

/* 0 ... 2^64 - 1 */
static bool read_unsigned(rs_slice s, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.bytes[i] < '0' || s.bytes[i] > '9') return false;
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, s.bytes[i] - '0', out))
            return false;
    }
    return s.n > 0;
}

bool rs_attribute_add(const char *name, rs_slice value, rs_et_writer *writer, rs_arena *arena)
{
    int64_t number;
    uint64_t big;
    if (!value.bytes || is_word(value, "null")) return true;
    if (is_word(value, "\"\"")) {
        rs_et_add_text(writer, name, "");
    } else if (is_word(value, "true") || is_word(value, "false")) {
        rs_et_add_bool(writer, name, value.bytes[0] == 't');
    } else if (rs_slice_int(value, &number)) {
        rs_et_add_int(writer, name, number);
    } else if (read_unsigned(value, &big)) {
        rs_et_add_uint(writer, name, big);
    } else {
        const char *text =
            rs_slice_is_text(value) ? rs_slice_text(value, arena) : rs_slice_python(value, arena);
        if (!text) return false;
        rs_et_add_text(writer, name, text);
    }
    return true;
}

/* ---- lists of attributes ---------------------------------------------------------------------------- */

/* Whether the element that the walk is at begins as the one seen does and ends with its value. Plain
 * whole numbers come as such, other values as they are written. */
static bool take_seen(rs_slice_walk *w, const rs_attribute_seen *seen, bool *whole, int64_t *number,
                      rs_slice *value)
{
    if (!seen->n || (size_t)(w->end - w->p) <= seen->n || memcmp(w->p, seen->bytes, seen->n) != 0)
        return false;
    const uint8_t *from = w->p + seen->n, *p = from;
    int64_t n = 0;
    while (p < w->end && *p >= '0' && *p <= '9' && p - from < 18) n = 10 * n + (*p++ - '0');
    *whole = p > from && p < w->end && *p == '}' && (*from != '0' || p - from == 1);
    if (!*whole) {
        if (rs_json_is_space(*from) || !(p = rs_slice_pass(from, w->end)) || p >= w->end || *p != '}')
            return false;
        *value = (rs_slice){from, (size_t)(p - from)};
    }
    *number = n;
    w->p = p + 1;
    return true;
}

static void remember(rs_attribute_seen *seen, const uint8_t *from, const uint8_t *to, rs_slice key,
                     const char *name, rs_slice value)
{
    size_t length = strlen(name);
    if (!length || !value.bytes || key.bytes > value.bytes || value.bytes + value.n + 1 != to ||
        length >= RS_ATTRIBUTE_NAME)
        return;
    *seen = (rs_attribute_seen){.bytes = from,
                                .n = (size_t)(value.bytes - from),
                                .n_name = length,
                                .own = is_own(name),
                                .identity = is_identity(name),
                                .thread = is_thread(name)};
    memcpy(seen->name, name, length + 1);
}

/* One that is read again, or for the first time. *kernels: a kernel has it, too. */
static bool add_unseen(const rs_linked_node *n, const char *name, rs_slice value, const int64_t *thread,
                       rs_et_writer *writer, rs_arena *arena, bool *kernels)
{
    bool identity = is_identity(name);
    if (thread && is_thread(name)) {
        rs_et_add_int(writer, name, *thread);
        return true;
    }
    if (is_own(name)) return true;
    *kernels &= identity;
    return (n->gpu && !identity) || rs_attribute_add(name, value, writer, arena);
}

/* thread: what takes the place of the node's tid; NULL: nothing does. */
static bool add_list(rs_attributes *a, const rs_linked_node *n, rs_slice attrs, const int64_t *thread,
                     rs_et_writer *writer, rs_arena *arena, bool *kernels)
{
    rs_slice_walk walk = rs_slice_elements(attrs);
    for (size_t i = 0;; i++) {
        rs_attribute_seen *seen = &a->seen[i % RS_ATTRIBUTES_SEEN];
        rs_slice key, value = {NULL, 0};
        int64_t number;
        bool whole;
        rs_slice_to_next(&walk);
        if (take_seen(&walk, seen, &whole, &number, &value)) {
            if (thread && seen->thread) {
                rs_et_add_int(writer, seen->name, *thread);
                continue;
            }
            if (seen->own) continue;
            *kernels &= seen->identity;
            if (n->gpu && !seen->identity) continue;
            if (whole)
                rs_et_put_int(writer, seen->name, seen->n_name, sizeof seen->name, number);
            else if (!rs_attribute_add(seen->name, value, writer, arena))
                return false;
            continue;
        }
        const uint8_t *from = walk.p;
        if (!rs_slice_next_attribute(&walk, &key, &value)) return true;
        if (!rs_slice_is_text(key)) continue;
        const char *name = rs_slice_text(key, arena);
        if (!name) return false;
        remember(seen, from, walk.p, key, name, value);
        if (!add_unseen(n, name, value, thread, writer, arena, kernels)) return false;
    }
}

bool rs_attributes_add(rs_attributes *a, const rs_linked *linked, const rs_linked_node *n,
                       rs_et_writer *writer, rs_arena *arena)
{
    const rs_linked_more *more = rs_linked_more_of(linked, n);
    bool moved = more->chain >= 0, kernels = true;
    if (a->kept && n->gpu && !moved && a->body == n->body) {
        rs_et_keep_attributes(writer, a->n_kept);
        return true;
    }
    if (!add_list(a, n, rs_linked_body_of(linked, n).attrs, moved ? &more->thread : NULL, writer, arena,
                  &kernels))
        return false;
    a->kept = !moved && (n->gpu || kernels);
    a->body = n->body;
    a->n_kept = writer->n_attr;
    return true;
}
