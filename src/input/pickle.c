#include "input/pickle.h"

#include "input/json.h"
#include "input/windows.h"

#include <math.h>
#include <string.h>

/* The opcodes of data. Everything else is either refused by name (below) or unknown. */
enum {
    OP_MARK = '(',
    OP_STOP = '.',
    OP_POP = '0',
    OP_POP_MARK = '1',
    OP_DUP = '2',
    OP_FLOAT = 'F',
    OP_BINFLOAT = 'G',
    OP_INT = 'I',
    OP_BININT = 'J',
    OP_BININT1 = 'K',
    OP_LONG = 'L',
    OP_BININT2 = 'M',
    OP_NONE = 'N',
    OP_STRING = 'S',
    OP_BINSTRING = 'T',
    OP_SHORT_BINSTRING = 'U',
    OP_UNICODE = 'V',
    OP_BINUNICODE = 'X',
    OP_BINBYTES = 'B',
    OP_SHORT_BINBYTES = 'C',
    OP_APPEND = 'a',
    OP_DICT = 'd',
    OP_APPENDS = 'e',
    OP_GET = 'g',
    OP_BINGET = 'h',
    OP_LONG_BINGET = 'j',
    OP_LIST = 'l',
    OP_PUT = 'p',
    OP_BINPUT = 'q',
    OP_LONG_BINPUT = 'r',
    OP_SETITEM = 's',
    OP_TUPLE = 't',
    OP_SETITEMS = 'u',
    OP_EMPTY_TUPLE = ')',
    OP_EMPTY_LIST = ']',
    OP_EMPTY_DICT = '}',
    OP_PROTO = 0x80,
    OP_TUPLE1 = 0x85,
    OP_TUPLE2 = 0x86,
    OP_TUPLE3 = 0x87,
    OP_NEWTRUE = 0x88,
    OP_NEWFALSE = 0x89,
    OP_LONG1 = 0x8a,
    OP_LONG4 = 0x8b,
    OP_SHORT_BINUNICODE = 0x8c,
    OP_BINUNICODE8 = 0x8d,
    OP_BINBYTES8 = 0x8e,
    OP_EMPTY_SET = 0x8f,
    OP_ADDITEMS = 0x90,
    OP_FROZENSET = 0x91,
    OP_MEMOIZE = 0x94,
    OP_FRAME = 0x95
};

/* Those of protocol 0 that take lines of text. */
static const char *text_name(uint8_t op)
{
    switch (op) {
    case OP_FLOAT: return "FLOAT";
    case OP_INT: return "INT";
    case OP_LONG: return "LONG";
    case OP_STRING: return "STRING";
    case OP_UNICODE: return "UNICODE";
    case OP_GET: return "GET";
    case OP_PUT: return "PUT";
    default: return NULL;
    }
}

static const char *refused_name(uint8_t op)
{
    switch (op) {
    case 'c': return "GLOBAL";
    case 0x93: return "STACK_GLOBAL";
    case 'R': return "REDUCE";
    case 'o': return "OBJ";
    case 'i': return "INST";
    case 'b': return "BUILD";
    case 0x81: return "NEWOBJ";
    case 0x92: return "NEWOBJ_EX";
    case 'P': return "PERSID";
    case 'Q': return "BINPERSID";
    case 0x82: return "EXT1";
    case 0x83: return "EXT2";
    case 0x84: return "EXT4";
    case 0x96: return "BYTEARRAY8";
    case 0x97: return "NEXT_BUFFER";
    case 0x98: return "READONLY_BUFFER";
    default: return NULL;
    }
}

#define MEMO_MAP (UINT32_C(1) << 31) /* of a memo: it was a map when it was stored */
#define MARGIN ((size_t)1 << 20)     /* of a window: what may come with the longest text */

typedef struct memo_slot {
    uint32_t id, node;
} memo_slot;

typedef struct reader {
    rs_values *v;
    const uint8_t *begin, *p, *end; /* all bytes, or a window of them */
    const rs_pickle_settings *settings;
    rs_windows *windows; /* NULL: all bytes are in memory */
    uint64_t base;       /* of begin in the text */
    bool last;           /* no window follows */
    rs_error *err;
    bool told;            /* err says why no window could be had */
    uint32_t *name_nodes; /* by id of a name: its node + 1, or 0 */
    size_t names_capacity;
    uint32_t *memo; /* by id, for ids that count up as writers make them */
    size_t n_memo, memo_capacity;
    memo_slot
        *sparse; /* ids ahead of the count: an open-addressing table, so that a wild id takes no memory */
    size_t n_sparse, n_slots;
    const char *why; /* what is wrong; NULL: nothing yet */
    rs_status status;
    bool cut;
} reader;

static bool fail(reader *r, rs_status status, const char *why)
{
    r->status = status;
    r->why = why;
    return false;
}

static bool step(reader *r, rs_values_step s)
{
    switch (s) {
    case RS_STEP_TAKEN:
    case RS_STEP_OK: return true;
    case RS_STEP_NOMEM: return fail(r, RS_ERR_NOMEM, "out of memory");
    case RS_STEP_LIMIT: return fail(r, RS_ERR_LIMIT, "too many values or too deep nesting");
    case RS_STEP_EMPTY: break;
    }
    return fail(r, RS_ERR_FORMAT, "a dict is given half a pair");
}

static bool next_window(reader *r)
{
    rs_window w;
    const rs_pickle_settings *s = r->settings;
    rs_status status = s->progress && !s->progress(s->progress_context)
                           ? rs_fail(r->err, RS_ERR_CANCELLED, "interrupted")
                           : rs_windows_next(r->windows, (size_t)(r->p - r->begin), &w, r->err);
    r->told = status != RS_OK;
    if (r->told) return fail(r, status, NULL);
    r->begin = r->p = w.data;
    r->end = w.data + w.n;
    r->base = w.offset;
    r->last = w.last;
    return true;
}

/* Whether n bytes follow; where the text comes through windows, they are fetched. */
static bool follow(reader *r, uint64_t n, const char *why)
{
    while ((uint64_t)(r->end - r->p) < n) {
        if (!r->windows || r->last) {
            r->cut = true;
            return fail(r, RS_ERR_FORMAT, why);
        }
        if (!next_window(r)) return false;
    }
    return true;
}

static inline bool take(reader *r, uint64_t n, const uint8_t **at)
{
    if ((uint64_t)(r->end - r->p) < n && !follow(r, n, "the data ends inside a value")) return false;
    *at = r->p;
    r->p += n;
    return true;
}

/* n is at most 8. */
static inline bool take_u(reader *r, unsigned n, uint64_t *out)
{
    const uint8_t *at;
    uint64_t v = 0;
    if (!take(r, n, &at)) return false;
    for (unsigned i = 0; i < n; i++) v |= (uint64_t)at[i] << (8 * i);
    *out = v;
    return true;
}

/* A line of a text opcode, without its newline. */
static bool take_line(reader *r, const uint8_t **at, size_t *n)
{
    const uint8_t *newline;
    while (!(newline = memchr(r->p, '\n', (size_t)(r->end - r->p))))
        if (!follow(r, (uint64_t)(r->end - r->p) + 1, "the data ends inside a line")) return false;
    *at = r->p;
    *n = (size_t)(newline - r->p);
    r->p = newline + 1;
    return true;
}

static bool push_int(reader *r, int64_t i)
{
    return step(r, rs_values_push_scalar(r->v, &(rs_value){.type = RS_VALUE_INT, .as.i = i}));
}

static bool push_bool(reader *r, bool b)
{
    return step(r, rs_values_push_scalar(r->v, &(rs_value){.type = RS_VALUE_BOOL, .as.i = b}));
}

static bool push_real(reader *r, double f)
{
    return step(r, rs_values_push_scalar(r->v, &(rs_value){.type = RS_VALUE_REAL, .as.f = f}));
}

static bool push_container(reader *r, rs_value_type type)
{
    return step(r, rs_values_push_node(
                       r->v, &(rs_value){.type = (uint8_t)type, .as.chunks = {RS_NO_CHUNK, RS_NO_CHUNK}}));
}

static bool is_short(reader *r, uint64_t n)
{
    if (n <= r->v->limits.max_string && n <= UINT32_MAX) return true;
    return fail(r, RS_ERR_LIMIT, "a text beyond the limit");
}

/* What is too long fails before a window grows for it. */
static bool fits_window(reader *r, uint64_t n)
{
    return !r->windows || is_short(r, n);
}

/* The node of a text that is interned, the one that it had before. */
static bool push_name(reader *r, const char *text, uint64_t n)
{
    uint32_t id = rs_strings_add(r->settings->names, text, (size_t)n);
    if (id == RS_NO_STRING) return fail(r, RS_ERR_NOMEM, "out of memory");
    size_t before = r->names_capacity;
    if (id >= before) {
        if (!rs_grow((void **)&r->name_nodes, &r->names_capacity, (size_t)id + 1, sizeof *r->name_nodes))
            return fail(r, RS_ERR_NOMEM, "out of memory");
        memset(r->name_nodes + before, 0, (r->names_capacity - before) * sizeof *r->name_nodes);
    }
    if (r->name_nodes[id]) return step(r, rs_values_push_ref(r->v, r->name_nodes[id] - 1));
    if (!step(r, rs_values_push_node(r->v, &(rs_value){.type = RS_VALUE_NAME, .n = id}))) return false;
    r->name_nodes[id] = (uint32_t)r->v->n_nodes;
    r->v->n_kept = r->v->n_nodes;
    return true;
}

static bool push_text(reader *r, const char *text, uint64_t n)
{
    if (!is_short(r, n)) return false;
    if (r->settings->names) return push_name(r, text, n);
    return step(
        r, rs_values_push_node(r->v, &(rs_value){.type = RS_VALUE_TEXT, .n = (uint32_t)n, .as.text = text}));
}

static bool push_counted_text(reader *r, unsigned length_bytes)
{
    uint64_t n;
    const uint8_t *at;
    return take_u(r, length_bytes, &n) && fits_window(r, n) && take(r, n, &at) &&
           push_text(r, (const char *)at, n);
}

/* The height above which the current opcode may take items: it must not reach below the innermost mark. */
static size_t floor_of(const reader *r)
{
    return r->v->n_marks ? r->v->marks[r->v->n_marks - 1] : 0;
}

static bool need(reader *r, size_t items)
{
    if (r->v->n_stack - floor_of(r) >= items) return true;
    return fail(r, RS_ERR_FORMAT, "the stack is empty");
}

static bool pop_mark(reader *r, size_t *from)
{
    if (!r->v->n_marks) return fail(r, RS_ERR_FORMAT, "there is no mark");
    *from = r->v->marks[--r->v->n_marks];
    return true;
}

/* Puts the items above height `from` into a container, or has them taken as a record. */
static bool fill(reader *r, uint32_t node, size_t from)
{
    rs_values *v = r->v;
    const rs_value *container = &v->nodes[node];
    bool alone = container->tag == 0;
    bool whole = container->type == RS_VALUE_LIST || (v->n_stack - from) % 2 == 0;
    if (r->settings->take && !container->n && whole) {
        rs_values_step taken = r->settings->take(r->settings->context, v, node, from);
        if (taken == RS_STEP_TAKEN) {
            rs_values_drop_taken(v, node, from, alone);
            return true;
        }
        if (taken != RS_STEP_OK) return step(r, taken);
    }
    return step(r, rs_values_attach(v, node, from, false));
}

/* A list, tuple or dict of the items above height `from`. */
static bool gather(reader *r, rs_value_type type, size_t from)
{
    rs_values *v = r->v;
    if (!push_container(r, type)) return false;
    uint32_t node = v->stack[--v->n_stack];
    return fill(r, node, from) && step(r, rs_values_push_ref(v, node));
}

/* Adds the items above height `from` to the container below them. */
static bool extend(reader *r, rs_value_type type, size_t from)
{
    rs_values *v = r->v;
    if (from <= floor_of(r)) return fail(r, RS_ERR_FORMAT, "there is no container below the items");
    uint32_t node = v->stack[from - 1];
    if (rs_values_at(v, node)->type != type)
        return fail(r, RS_ERR_FORMAT, "items are added to what is no container of them");
    return fill(r, node, from);
}

static memo_slot *sparse_slot(const reader *r, uint32_t id)
{
    size_t at = (id * UINT32_C(2654435761)) & (r->n_slots - 1);
    while (r->sparse[at].node != RS_NO_NODE && r->sparse[at].id != id) at = (at + 1) & (r->n_slots - 1);
    return &r->sparse[at];
}

static bool sparse_put(reader *r, uint32_t id, uint32_t node)
{
    if ((r->n_sparse + 1) * 2 > r->n_slots) {
        reader grown = *r;
        grown.n_slots = r->n_slots ? r->n_slots * 2 : 64;
        grown.sparse = rs_malloc(grown.n_slots * sizeof *grown.sparse);
        if (!grown.sparse) return fail(r, RS_ERR_NOMEM, "out of memory");
        memset(grown.sparse, 0xff, grown.n_slots * sizeof *grown.sparse);
        for (size_t i = 0; i < r->n_slots; i++)
            if (r->sparse[i].node != RS_NO_NODE) *sparse_slot(&grown, r->sparse[i].id) = r->sparse[i];
        rs_free(r->sparse);
        r->sparse = grown.sparse;
        r->n_slots = grown.n_slots;
    }
    memo_slot *slot = sparse_slot(r, id);
    if (slot->node == RS_NO_NODE) r->n_sparse++;
    *slot = (memo_slot){id, node};
    return true;
}

static bool put(reader *r, uint64_t id)
{
    if (!need(r, 1) || !step(r, rs_values_settle(r->v, r->v->n_stack - 1))) return false;
    uint32_t node = r->v->stack[r->v->n_stack - 1];
    if (node >= r->v->n_kept) r->v->n_kept = (size_t)node + 1;
    uint32_t kept = r->v->nodes[node].type == RS_VALUE_MAP ? node | MEMO_MAP : node;
    if (id < r->n_memo) {
        r->memo[id] = kept;
        return true;
    }
    if (id == r->n_memo) {
        if (!RS_PUSH(r->memo, r->n_memo, r->memo_capacity, kept))
            return fail(r, RS_ERR_NOMEM, "out of memory");
        return true;
    }
    if (id > UINT32_MAX) return fail(r, RS_ERR_LIMIT, "a memo id beyond 32 bits");
    return sparse_put(r, (uint32_t)id, node);
}

static bool push_again(reader *r, uint32_t node)
{
    if (!(node & RS_SCALAR) && r->v->nodes[node].type == RS_VALUE_MAP) r->v->nodes[node].tag = 1;
    return step(r, rs_values_push_ref(r->v, node));
}

static bool get(reader *r, uint64_t id)
{
    if (id < r->n_memo) {
        uint32_t node = r->memo[id];
        if (node & MEMO_MAP) {
            node &= ~MEMO_MAP;
            if (r->v->nodes[node].type != RS_VALUE_MAP) r->memo[id] = node;
            return push_again(r, node);
        }
        return step(r, rs_values_push_ref(r->v, node));
    }
    if (r->n_slots && id <= UINT32_MAX) {
        const memo_slot *slot = sparse_slot(r, (uint32_t)id);
        if (slot->node != RS_NO_NODE) return push_again(r, slot->node);
    }
    return fail(r, RS_ERR_FORMAT, "a memo id that was never stored");
}

static bool number_of(reader *r, const uint8_t *at, size_t n, int64_t *out)
{
    if (n && at[n - 1] == 'L') n--;
    if (n && rs_json_int(at, n, out)) return true;
    return fail(r, RS_ERR_FORMAT, "not a number of at most 64 bits");
}

static bool line_number(reader *r, int64_t *out)
{
    const uint8_t *at;
    size_t n;
    return take_line(r, &at, &n) && number_of(r, at, n, out);
}

static bool op_int(reader *r)
{
    const uint8_t *at;
    size_t n;
    int64_t i;
    if (!take_line(r, &at, &n)) return false;
    if (n == 2 && at[0] == '0' && at[1] <= '1') return push_bool(r, at[1] == '1'); /* "00" and "01" */
    return number_of(r, at, n, &i) && push_int(r, i);
}

static bool op_float(reader *r)
{
    const uint8_t *at;
    size_t n;
    double f;
    if (!take_line(r, &at, &n)) return false;
    if (!rs_json_real(at, n, &f)) f = NAN;
    return push_real(r, f);
}

/* Eight bytes, whose sign is in a ninth. */
static bool push_unsigned(reader *r, const uint8_t *at)
{
    uint64_t u = 0;
    for (unsigned i = 0; i < 8; i++) u |= (uint64_t)at[i] << (8 * i);
    if (u <= INT64_MAX) return push_int(r, (int64_t)u);
    return step(r, rs_values_push_scalar(r->v, &(rs_value){.type = RS_VALUE_UINT, .as.u = u}));
}

static bool op_long(reader *r, unsigned length_bytes)
{
    uint64_t n, u;
    const uint8_t *at;
    if (!take_u(r, length_bytes, &n)) return false;
    if (length_bytes == 4 && n > INT32_MAX) return fail(r, RS_ERR_FORMAT, "a negative length");
    if (n > 8) {
        if (!fits_window(r, n) || !take(r, n, &at)) return false;
        if (n == 9 && at[8] == 0) return push_unsigned(r, at);
        return push_real(r, NAN); /* wider than any field of a dump: present, of no known value */
    }
    if (!take_u(r, (unsigned)n, &u)) return false;
    if (n && n < 8 && (u >> (8 * n - 1) & 1)) u |= ~UINT64_C(0) << (8 * n);
    return push_int(r, (int64_t)u);
}

static bool op_binfloat(reader *r)
{
    const uint8_t *at;
    if (!take(r, 8, &at)) return false;
    uint64_t u = 0;
    for (unsigned i = 0; i < 8; i++) u = u << 8 | at[i];
    double f;
    memcpy(&f, &u, sizeof f);
    return push_real(r, f);
}

/* Protocol 0 texts: V is raw-unicode-escape, S is a quoted Python literal. Escapes are kept as they stand
 * except the ones that hide a quote, a backslash or a newline. */
static bool op_line_text(reader *r, bool quoted)
{
    const uint8_t *at;
    size_t n;
    if (!take_line(r, &at, &n)) return false;
    if (quoted) {
        if (n < 2 || (at[0] != '\'' && at[0] != '"') || at[n - 1] != at[0])
            return fail(r, RS_ERR_FORMAT, "a text without its quotes");
        at++;
        n -= 2;
    }
    if (!memchr(at, '\\', n)) return push_text(r, (const char *)at, n);
    if (n > r->v->limits.max_string) return fail(r, RS_ERR_LIMIT, "a text beyond the limit");
    char *out = rs_arena_alloc(&r->v->texts, n + 1);
    if (!out) return fail(r, RS_ERR_NOMEM, "out of memory");
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (at[i] == '\\' && i + 1 < n && memchr("\\'\"", at[i + 1], 3)) i++;
        out[m++] = (char)at[i];
    }
    return push_text(r, out, m);
}

static bool pop_top(reader *r)
{
    if (r->v->n_stack > floor_of(r)) {
        rs_values_pop(r->v, r->v->n_stack - 1);
        return true;
    }
    size_t from; /* as Python: POP on a bare mark takes the mark */
    return pop_mark(r, &from);
}

/* One opcode; *stop when it was STOP. */
static bool read_op(reader *r, uint8_t op, bool *stop)
{
    uint64_t u;
    int64_t i;
    size_t from;
    const uint8_t *at;
    rs_values *v = r->v;
    switch (op) {
    case OP_STOP: *stop = true; return need(r, 1) && step(r, rs_values_settle(v, v->n_stack - 1));
    case OP_PROTO:
        if (!take_u(r, 1, &u)) return false;
        return u <= 5 || fail(r, RS_ERR_FORMAT, "a protocol newer than 5");
    case OP_FRAME: return take(r, 8, &at);
    case OP_MARK: return step(r, rs_values_push_mark(v));
    case OP_POP: return pop_top(r);
    case OP_POP_MARK:
        if (!pop_mark(r, &from)) return false;
        rs_values_pop(v, from);
        return true;
    case OP_DUP: return need(r, 1) && push_again(r, v->stack[v->n_stack - 1]);
    case OP_NONE: return step(r, rs_values_push_scalar(v, &(rs_value){.type = RS_VALUE_NONE}));
    case OP_NEWTRUE: return push_bool(r, true);
    case OP_NEWFALSE: return push_bool(r, false);
    case OP_BININT1: return take_u(r, 1, &u) && push_int(r, (int64_t)u);
    case OP_BININT2: return take_u(r, 2, &u) && push_int(r, (int64_t)u);
    case OP_BININT: return take_u(r, 4, &u) && push_int(r, (int32_t)(uint32_t)u);
    case OP_LONG1: return op_long(r, 1);
    case OP_LONG4: return op_long(r, 4);
    case OP_INT: return op_int(r);
    case OP_LONG: return line_number(r, &i) && push_int(r, i);
    case OP_FLOAT: return op_float(r);
    case OP_BINFLOAT: return op_binfloat(r);
    case OP_SHORT_BINUNICODE:
    case OP_SHORT_BINSTRING:
    case OP_SHORT_BINBYTES: return push_counted_text(r, 1);
    case OP_BINUNICODE:
    case OP_BINSTRING:
    case OP_BINBYTES: return push_counted_text(r, 4);
    case OP_BINUNICODE8:
    case OP_BINBYTES8: return push_counted_text(r, 8);
    case OP_UNICODE: return op_line_text(r, false);
    case OP_STRING: return op_line_text(r, true);
    case OP_EMPTY_TUPLE:
    case OP_EMPTY_LIST:
    case OP_EMPTY_SET: return push_container(r, RS_VALUE_LIST);
    case OP_EMPTY_DICT: return push_container(r, RS_VALUE_MAP);
    case OP_TUPLE1:
    case OP_TUPLE2:
    case OP_TUPLE3:
        return need(r, op - OP_TUPLE1 + 1u) && gather(r, RS_VALUE_LIST, v->n_stack - (op - OP_TUPLE1 + 1u));
    case OP_TUPLE:
    case OP_LIST:
    case OP_FROZENSET: return pop_mark(r, &from) && gather(r, RS_VALUE_LIST, from);
    case OP_DICT: return pop_mark(r, &from) && gather(r, RS_VALUE_MAP, from);
    case OP_APPEND: return need(r, 2) && extend(r, RS_VALUE_LIST, v->n_stack - 1);
    case OP_SETITEM: return need(r, 3) && extend(r, RS_VALUE_MAP, v->n_stack - 2);
    case OP_APPENDS:
    case OP_ADDITEMS: return pop_mark(r, &from) && extend(r, RS_VALUE_LIST, from);
    case OP_SETITEMS: return pop_mark(r, &from) && extend(r, RS_VALUE_MAP, from);
    case OP_BINPUT: return take_u(r, 1, &u) && put(r, u);
    case OP_LONG_BINPUT: return take_u(r, 4, &u) && put(r, u);
    case OP_PUT:
        return line_number(r, &i) && (i >= 0 || fail(r, RS_ERR_FORMAT, "a negative memo id")) &&
               put(r, (uint64_t)i);
    case OP_MEMOIZE: return put(r, r->n_memo + r->n_sparse);
    case OP_BINGET: return take_u(r, 1, &u) && get(r, u);
    case OP_LONG_BINGET: return take_u(r, 4, &u) && get(r, u);
    case OP_GET:
        return line_number(r, &i) && (i >= 0 || fail(r, RS_ERR_FORMAT, "a negative memo id")) &&
               get(r, (uint64_t)i);
    default: return fail(r, RS_ERR_FORMAT, NULL);
    }
}

/* at: of the opcode at fault, in the text. */
static rs_status describe(const reader *r, const char *file, uint64_t at, uint8_t op, rs_error *err)
{
    if (r->told) return r->status;
    if (r->cut)
        return rs_fail_at(err, RS_ERR_FORMAT, file, r->base + (uint64_t)(r->end - r->begin),
                          "the pickle is cut short: %s", r->why);
    if (r->why) return rs_fail_at(err, r->status, file, at, "%s (opcode 0x%02x)", r->why, op);
    const char *name = refused_name(op);
    if (name)
        return rs_fail_at(err, RS_ERR_FORMAT, file, at,
                          "refused: opcode %s (0x%02x) would run code; a dump holds only data", name, op);
    name = r->settings->binary ? text_name(op) : NULL;
    if (name)
        return rs_fail_at(err, RS_ERR_FORMAT, file, at, "refused: opcode %s (0x%02x) of protocol 0", name,
                          op);
    return rs_fail_at(err, RS_ERR_FORMAT, file, at, "0x%02x is no opcode of pickled data", op);
}

static rs_status run(reader *r, const char *file, rs_pickle_info *info, rs_error *err)
{
    rs_values *values = r->v;
    bool stop = false, good = true;
    uint64_t at = 0;
    uint8_t op = 0;
    while (good && !stop) {
        at = r->base + (uint64_t)(r->p - r->begin);
        good = r->p != r->end || follow(r, 1, at ? "there is no STOP" : "the file is empty");
        if (!good) break;
        op = *r->p++;
        good = r->settings->binary && text_name(op) ? fail(r, RS_ERR_FORMAT, NULL) : read_op(r, op, &stop);
    }
    info->consumed = r->base + (uint64_t)(r->p - r->begin);
    if (good) {
        info->root = values->stack[values->n_stack - 1];
    } else {
        info->truncated = r->cut;
        info->refused = !r->cut && !r->why && (refused_name(op) || text_name(op));
        info->consumed = at;
    }
    rs_free_all(r->memo, r->sparse, r->name_nodes);
    return good ? RS_OK : describe(r, file, at, op, err);
}

rs_status rs_pickle_read(rs_values *values, const void *bytes, size_t n, const char *file,
                         const rs_value_limits *limits, rs_pickle_info *info, rs_error *err)
{
    const rs_pickle_settings settings = {.limits = limits};
    reader r = {.v = values, .begin = bytes, .p = bytes, .settings = &settings};
    r.end = r.begin + n;
    *info = (rs_pickle_info){.root = RS_NO_NODE};
    rs_values_begin(values, limits);
    rs_status status = run(&r, file, info, err);
    if (status != RS_OK && status != RS_ERR_NOMEM) info->root = rs_values_close_all(values);
    return status;
}

rs_status rs_pickle_read_source(rs_values *values, rs_source *source, const rs_pickle_settings *settings,
                                rs_pickle_info *info, rs_error *err)
{
    reader r = {.v = values, .settings = settings, .err = err};
    *info = (rs_pickle_info){.root = RS_NO_NODE};
    rs_values_begin(values, settings->limits);
    size_t widest = (size_t)values->limits.max_string + MARGIN;
    rs_status status = rs_windows_open(source, settings->threaded, widest, &r.windows, err);
    if (status == RS_OK) status = run(&r, rs_source_name(source), info, err);
    rs_windows_close(r.windows);
    return status;
}
