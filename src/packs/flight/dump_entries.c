/* The entries of one dump: what was called, from where, when, and how far it came. */
#include "flight/dump_internal.h"

#include <math.h>
#include <string.h>

/* Stamps beyond the year 2116 are damage: their differences would not be numbers. */
#define LATEST (INT64_C(1) << 62)

static int64_t time_of(const rs_fl_build *b, uint32_t node)
{
    int64_t ns;
    return rs_fl_int_of(b, node, &ns) && ns > 0 && ns < LATEST ? ns : 0;
}

static bool truth_of(const rs_fl_build *b, uint32_t node)
{
    const rs_value *v = &b->v->nodes[node];
    return (v->type == RS_VALUE_BOOL || v->type == RS_VALUE_INT) && v->as.i;
}

static int32_t narrow(int64_t i)
{
    return i < INT32_MIN ? INT32_MIN : i > INT32_MAX ? INT32_MAX : (int32_t)i;
}

static bool add_word(rs_fl_build *b, size_t *n, uint32_t word)
{
    if (*n >= b->scratch->words_capacity && !rs_grow((void **)&b->scratch->words, &b->scratch->words_capacity,
                                                     *n + 1, sizeof *b->scratch->words)) {
        b->nomem = true;
        return false;
    }
    b->scratch->words[(*n)++] = word;
    return true;
}

/* Sizes as words: number of tensors, then for each the number of dimensions and each dimension in two words.
 */
static void add_sizes(rs_fl_build *b, size_t *n, uint32_t node)
{
    size_t count_at = *n;
    if (!add_word(b, n, 0) || node == RS_NO_NODE || b->v->nodes[node].type != RS_VALUE_LIST) return;
    rs_value_walk tensors = rs_value_children(b->v, node);
    uint32_t tensor, dim, n_tensors = 0;
    while (rs_fl_next(b, &tensors, &tensor)) {
        size_t dims_at = *n;
        uint32_t n_dims = 0;
        if (!add_word(b, n, 0)) return;
        rs_value_walk dims = rs_value_children(b->v, tensor);
        int64_t d;
        if (b->v->nodes[tensor].type != RS_VALUE_LIST && rs_fl_int_of(b, tensor, &d)) {
            add_word(b, n, (uint32_t)((uint64_t)d & UINT32_MAX));
            add_word(b, n, (uint32_t)((uint64_t)d >> 32));
            n_dims = 1;
        }
        while (rs_fl_next(b, &dims, &dim)) {
            if (!rs_fl_int_of(b, dim, &d)) d = -1;
            if (!add_word(b, n, (uint32_t)((uint64_t)d & UINT32_MAX)) ||
                !add_word(b, n, (uint32_t)((uint64_t)d >> 32)))
                return;
            n_dims++;
        }
        b->scratch->words[dims_at] = n_dims;
        n_tensors++;
    }
    b->scratch->words[count_at] = n_tensors;
}

/* Element types as one text, comma separated; "" when there are none. */
static uint32_t dtypes_id(rs_fl_build *b, uint32_t node)
{
    if (node == RS_NO_NODE) return 0;
    const rs_value *v = &b->v->nodes[node];
    if (v->type == RS_VALUE_TEXT) return rs_fl_text_id(b, node);
    if (v->type != RS_VALUE_LIST || v->n == 0) return 0;
    rs_value_walk walk = rs_value_children(b->v, node);
    uint32_t child;
    if (v->n == 1) {
        if (!rs_fl_next(b, &walk, &child)) return 0;
        uint32_t id = rs_fl_text_id(b, child);
        return id == RS_FL_NONE ? 0 : id;
    }
    size_t n = 0;
    while (rs_fl_next(b, &walk, &child)) {
        const rs_value *t = &b->v->nodes[child];
        if (t->type != RS_VALUE_TEXT) continue;
        if (n > (UINT32_C(1) << 20)) break;
        if (!rs_grow((void **)&b->scratch->joined, &b->scratch->joined_capacity, n + t->n + 1, 1)) {
            b->nomem = true;
            return 0;
        }
        if (n) b->scratch->joined[n++] = ',';
        memcpy(b->scratch->joined + n, t->as.text, t->n);
        n += t->n;
    }
    uint32_t id = rs_strings_add(&b->draft->texts, b->scratch->joined ? b->scratch->joined : "", n);
    if (id == RS_NO_STRING) b->nomem = true;
    return id;
}

static uint32_t frame_id(rs_fl_build *b, uint32_t node)
{
    if (b->v->nodes[node].type != RS_VALUE_MAP) return RS_FL_NONE;
    uint32_t *known = &b->scratch->ids[node];
    if (*known) return *known - 1;
    uint32_t name = 0, file = 0, k, value;
    int64_t line = 0;
    rs_value_walk walk = rs_value_children(b->v, node);
    while (rs_fl_next_pair(b, &walk, &k, &value)) {
        switch (rs_fl_key_of(&b->v->nodes[k])) {
        case RS_FL_KEY_NAME: name = rs_fl_text_id(b, value); break;
        case RS_FL_KEY_FILENAME: file = rs_fl_text_id(b, value); break;
        case RS_FL_KEY_LINE:
            if (!rs_fl_int_of(b, value, &line)) line = 0;
            break;
        default: break;
        }
    }
    uint32_t words[4] = {name == RS_FL_NONE ? 0 : name, file == RS_FL_NONE ? 0 : file,
                         (uint32_t)((uint64_t)line & UINT32_MAX), (uint32_t)((uint64_t)line >> 32)};
    uint32_t id = rs_strings_add(&b->draft->frame_keys, (const char *)words, sizeof words);
    if (id == RS_NO_STRING) {
        b->nomem = true;
        return RS_FL_NONE;
    }
    *known = id + 1;
    return id;
}

static uint32_t stack_id(rs_fl_build *b, uint32_t node)
{
    if (b->v->nodes[node].type != RS_VALUE_LIST || b->v->nodes[node].n == 0) return 0;
    size_t n = 0;
    uint32_t frame;
    rs_value_walk walk = rs_value_children(b->v, node);
    while (rs_fl_next(b, &walk, &frame)) {
        uint32_t id = frame_id(b, frame);
        if (id != RS_FL_NONE && !add_word(b, &n, id)) return 0;
    }
    uint32_t id =
        rs_strings_add(&b->draft->stack_keys, (const char *)b->scratch->words, n * sizeof(uint32_t));
    if (id == RS_NO_STRING) b->nomem = true;
    return id;
}

static uint8_t state_of(const rs_value *v)
{
    static const char *const names[] = {"scheduled", "started", "completed"};
    for (uint8_t i = 0; i < 3; i++)
        if (v->type == RS_VALUE_TEXT && v->n == strlen(names[i]) && memcmp(v->as.text, names[i], v->n) == 0)
            return i;
    return RS_FL_NO_STATE;
}

static void read_process_group(rs_fl_build *b, uint32_t node, uint32_t *uid, uint32_t *desc)
{
    rs_value_walk walk = rs_value_children(b->v, node);
    uint32_t child;
    if (b->v->nodes[node].type != RS_VALUE_LIST) {
        *uid = rs_fl_text_id(b, node);
        return;
    }
    if (rs_fl_next(b, &walk, &child)) *uid = rs_fl_text_id(b, child);
    if (rs_fl_next(b, &walk, &child)) *desc = rs_fl_text_id(b, child);
}

#define P2P_UNSAID 2

static void read_entry(rs_fl_build *b, uint32_t node, uint8_t *p2p_said)
{
    rs_fl_entry e = {.record_id = -1,
                     .duration_ms = NAN,
                     .state = RS_FL_NO_STATE,
                     .pg_id = -1,
                     .timeout_ms = -1,
                     .thread = 0};
    uint32_t in_sizes = RS_NO_NODE, out_sizes = RS_NO_NODE, in_dtypes = RS_NO_NODE, out_dtypes = RS_NO_NODE;
    uint32_t uid = RS_FL_NONE, desc = RS_FL_NONE, name = RS_FL_NONE, frames = RS_NO_NODE, k, value;
    int64_t i;
    uint8_t said = P2P_UNSAID;
    rs_value_walk walk = rs_value_children(b->v, node);
    if (b->v->nodes[node].type != RS_VALUE_MAP) {
        b->n_bad++;
        return;
    }
    while (rs_fl_next_pair(b, &walk, &k, &value)) {
        switch (rs_fl_key_of(&b->v->nodes[k])) {
        case RS_FL_KEY_FRAMES: frames = value; break;
        case RS_FL_KEY_RECORD_ID:
            if (rs_fl_int_of(b, value, &i)) e.record_id = rs_fl_count(i);
            break;
        case RS_FL_KEY_PG_ID:
            if (rs_fl_int_of(b, value, &i)) e.pg_id = narrow(i);
            break;
        case RS_FL_KEY_PROCESS_GROUP: read_process_group(b, value, &uid, &desc); break;
        case RS_FL_KEY_THREAD_NAME: {
            uint32_t id = rs_fl_text_id(b, value);
            if (id != RS_FL_NONE) e.thread = id;
            break;
        }
        case RS_FL_KEY_SEQ:
            if (rs_fl_int_of(b, value, &i)) e.seq = rs_fl_count(i);
            break;
        case RS_FL_KEY_P2P_SEQ:
            if (rs_fl_int_of(b, value, &i)) e.p2p_seq = rs_fl_count(i);
            break;
        case RS_FL_KEY_OP_ID:
            if (rs_fl_int_of(b, value, &i)) e.op_id = rs_fl_count(i);
            break;
        case RS_FL_KEY_PROFILING_NAME: name = rs_fl_text_id(b, value); break;
        case RS_FL_KEY_CREATED: e.created = time_of(b, value); break;
        case RS_FL_KEY_STARTED: e.started = time_of(b, value); break;
        case RS_FL_KEY_COMPLETED: e.completed = time_of(b, value); break;
        case RS_FL_KEY_DURATION:
            if (b->v->nodes[value].type == RS_VALUE_REAL)
                e.duration_ms = b->v->nodes[value].as.f;
            else if (rs_fl_int_of(b, value, &i))
                e.duration_ms = (double)i;
            break;
        case RS_FL_KEY_INPUT_SIZES: in_sizes = value; break;
        case RS_FL_KEY_OUTPUT_SIZES: out_sizes = value; break;
        case RS_FL_KEY_INPUT_DTYPES: in_dtypes = value; break;
        case RS_FL_KEY_OUTPUT_DTYPES: out_dtypes = value; break;
        case RS_FL_KEY_STATE: e.state = state_of(&b->v->nodes[value]); break;
        case RS_FL_KEY_RETIRED: e.retired = truth_of(b, value); break;
        case RS_FL_KEY_TIMEOUT:
            if (rs_fl_int_of(b, value, &i)) e.timeout_ms = narrow(i);
            break;
        case RS_FL_KEY_IS_P2P: said = truth_of(b, value); break;
        default: break;
        }
    }
    if (b->nomem || b->spent) return;
    if (name == RS_FL_NONE || uid == RS_FL_NONE || e.state == RS_FL_NO_STATE) {
        b->n_bad++;
        return;
    }
    if (frames != RS_NO_NODE) e.stack = stack_id(b, frames);
    size_t n = 0;
    uint32_t ins = dtypes_id(b, in_dtypes), outs = dtypes_id(b, out_dtypes);
    if (!add_word(b, &n, name) || !add_word(b, &n, ins) || !add_word(b, &n, outs)) return;
    add_sizes(b, &n, in_sizes);
    add_sizes(b, &n, out_sizes);
    if (b->nomem || b->spent) return;
    e.call = rs_strings_add(&b->draft->call_keys, (const char *)b->scratch->words, n * sizeof(uint32_t));
    if (e.call == RS_NO_STRING) b->nomem = true;
    e.group = rs_fl_draft_group(b, uid);
    if (b->nomem) return;
    if (b->draft->groups[e.group].desc == RS_FL_NONE) b->draft->groups[e.group].desc = desc;
    rs_fl_rank *rank = &b->draft->rank;
    if (!RS_GROW_ONE(rank->entries, rank->n, b->draft->entries_capacity)) {
        b->nomem = true;
        return;
    }
    p2p_said[0] = said;
    rank->entries[rank->n++] = e;
}

/* "nccl:send 0->1" or "send 0->1". */
static bool named_p2p(const rs_string *name)
{
    const char *colon = memchr(name->text, ':', name->length);
    const char *op = colon ? colon + 1 : name->text;
    return strncmp(op, "send ", 5) == 0 || strncmp(op, "recv ", 5) == 0 || strcmp(op, "send") == 0 ||
           strcmp(op, "recv") == 0;
}

void rs_fl_read_entries(rs_fl_build *b, uint32_t node)
{
    rs_fl_rank *rank = &b->draft->rank;
    rank->has_entries = true;
    rs_value_walk walk = rs_value_children(b->v, node);
    uint32_t child;
    bool unsaid = false;
    if (b->v->nodes[node].type != RS_VALUE_LIST) {
        b->no_list = true;
        return;
    }
    if (!rs_grow((void **)&rank->entries, &b->draft->entries_capacity, b->v->nodes[node].n / 8 + 1,
                 sizeof *rank->entries)) {
        b->nomem = true;
        return;
    }
    while (rs_fl_next(b, &walk, &child)) {
        size_t before = rank->n;
        uint8_t said = P2P_UNSAID;
        read_entry(b, child, &said);
        if (rank->n == before) continue;
        rs_fl_entry *e = &rank->entries[before];
        const uint32_t *call = (const uint32_t *)(const void *)b->draft->call_keys.items[e->call].text;
        e->is_p2p = said == true || named_p2p(&b->draft->texts.items[call[0]]);
        if (e->is_p2p || said != P2P_UNSAID) continue;
        /* Before version 2.4 nothing says so: the end mark of a batch is like what it ends. */
        unsaid = true;
        for (size_t i = before; unsaid && i-- > 0 && before - i < 64;) {
            const rs_fl_entry *p = &rank->entries[i];
            if (p->group != e->group) continue;
            e->is_p2p = p->is_p2p && e->p2p_seq > 0 && p->p2p_seq == e->p2p_seq && p->seq == e->seq;
            break;
        }
    }
}
