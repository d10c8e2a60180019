/* One dump: from a tree of values to entries. Nothing recurses; every child looked at is paid from a budget
 * that grows with the size of the file, so that values which refer to each other over and over cost no more
 * than others. */
#include "flight/keys.h"
#include "flight/model.h"

#include "input/json.h"
#include "input/json_values.h"
#include "input/pickle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct rs_fl_reader {
    rs_values values;
    uint32_t *ids; /* by node: text or frame number + 1; 0 = not yet known */
    size_t ids_capacity;
    uint32_t *words;
    size_t words_capacity;
    char *joined;
    size_t joined_capacity;
};

rs_fl_reader *rs_fl_reader_create(void)
{
    return rs_calloc(1, sizeof(rs_fl_reader));
}

void rs_fl_reader_free(rs_fl_reader *reader)
{
    if (!reader) return;
    rs_values_clear(&reader->values);
    rs_free(reader->ids);
    rs_free(reader->words);
    rs_free(reader->joined);
    rs_free(reader);
}

void rs_fl_draft_clear(rs_fl_draft *draft)
{
    rs_free(draft->rank.entries);
    rs_free(draft->rank.file);
    rs_free(draft->groups);
    rs_free(draft->status);
    rs_strings_clear(&draft->texts);
    rs_strings_clear(&draft->call_keys);
    rs_strings_clear(&draft->frame_keys);
    rs_strings_clear(&draft->stack_keys);
    *draft = (rs_fl_draft){0};
}

/* ---- the state of one reading ---------------------------------------------------------------------------
 */

typedef struct build {
    rs_fl_reader *scratch;
    rs_values *v;
    rs_fl_draft *draft;
    uint64_t budget;
    bool nomem, spent;
    uint64_t n_bad; /* entries that could not be used */
} build;

static bool pay(build *b)
{
    if (b->budget == 0) b->spent = true;
    if (b->spent || b->nomem) return false;
    b->budget--;
    return true;
}

static bool next(build *b, rs_value_walk *walk, uint32_t *node)
{
    return rs_value_next(walk, node) && pay(b);
}

static bool next_pair(build *b, rs_value_walk *walk, uint32_t *k, uint32_t *value)
{
    return rs_value_next_pair(walk, k, value) && pay(b);
}

static uint32_t text_id(build *b, uint32_t node)
{
    const rs_value *v = &b->v->nodes[node];
    if (v->type == RS_VALUE_INT) {
        char digits[24];
        int n = snprintf(digits, sizeof digits, "%lld", (long long)v->as.i);
        uint32_t id = rs_strings_add(&b->draft->texts, digits, (size_t)n);
        if (id == RS_NO_STRING) b->nomem = true;
        return id;
    }
    if (v->type != RS_VALUE_TEXT) return RS_FL_NONE;
    uint32_t *known = &b->scratch->ids[node];
    if (*known) return *known - 1;
    uint32_t id = rs_strings_add(&b->draft->texts, v->as.text, v->n);
    if (id == RS_NO_STRING) {
        b->nomem = true;
        return RS_FL_NONE;
    }
    *known = id + 1;
    return id;
}

static bool int_of(const build *b, uint32_t node, int64_t *out)
{
    const rs_value *v = &b->v->nodes[node];
    switch (v->type) {
    case RS_VALUE_INT:
    case RS_VALUE_BOOL: *out = v->as.i; return true;
    case RS_VALUE_REAL:
        if (!(v->as.f > -9.2e18 && v->as.f < 9.2e18)) return false;
        *out = (int64_t)v->as.f;
        return true;
    case RS_VALUE_TEXT: return v->n && v->n < 32 && rs_json_int((const uint8_t *)v->as.text, v->n, out);
    default: return false;
    }
}

static int64_t time_of(const build *b, uint32_t node)
{
    int64_t ns;
    return int_of(b, node, &ns) && ns > 0 ? ns : 0;
}

static bool truth_of(const build *b, uint32_t node)
{
    const rs_value *v = &b->v->nodes[node];
    return (v->type == RS_VALUE_BOOL || v->type == RS_VALUE_INT) && v->as.i;
}

static int32_t narrow(int64_t i)
{
    return i < INT32_MIN ? INT32_MIN : i > INT32_MAX ? INT32_MAX : (int32_t)i;
}

static bool add_word(build *b, size_t *n, uint32_t word)
{
    if (*n >= b->scratch->words_capacity && !rs_grow((void **)&b->scratch->words, &b->scratch->words_capacity,
                                                     *n + 1, sizeof *b->scratch->words)) {
        b->nomem = true;
        return false;
    }
    b->scratch->words[(*n)++] = word;
    return true;
}

/* ---- entries --------------------------------------------------------------------------------------------
 */

/* Sizes as words: number of tensors, then for each the number of dimensions and each dimension in two words.
 */
static void add_sizes(build *b, size_t *n, uint32_t node)
{
    size_t count_at = *n;
    if (!add_word(b, n, 0) || node == RS_NO_NODE || b->v->nodes[node].type != RS_VALUE_LIST) return;
    rs_value_walk tensors = rs_value_children(b->v, node);
    uint32_t tensor, dim, n_tensors = 0;
    while (next(b, &tensors, &tensor)) {
        size_t dims_at = *n;
        uint32_t n_dims = 0;
        if (!add_word(b, n, 0)) return;
        rs_value_walk dims = rs_value_children(b->v, tensor);
        int64_t d;
        if (b->v->nodes[tensor].type != RS_VALUE_LIST && int_of(b, tensor, &d)) {
            add_word(b, n, (uint32_t)((uint64_t)d & UINT32_MAX));
            add_word(b, n, (uint32_t)((uint64_t)d >> 32));
            n_dims = 1;
        }
        while (next(b, &dims, &dim)) {
            if (!int_of(b, dim, &d)) d = -1;
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
static uint32_t dtypes_id(build *b, uint32_t node)
{
    if (node == RS_NO_NODE) return 0;
    const rs_value *v = &b->v->nodes[node];
    if (v->type == RS_VALUE_TEXT) return text_id(b, node);
    if (v->type != RS_VALUE_LIST || v->n == 0) return 0;
    rs_value_walk walk = rs_value_children(b->v, node);
    uint32_t child;
    if (v->n == 1) {
        if (!next(b, &walk, &child)) return 0;
        uint32_t id = text_id(b, child);
        return id == RS_FL_NONE ? 0 : id;
    }
    size_t n = 0;
    while (next(b, &walk, &child)) {
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

static uint32_t frame_id(build *b, uint32_t node)
{
    if (b->v->nodes[node].type != RS_VALUE_MAP) return RS_FL_NONE;
    uint32_t *known = &b->scratch->ids[node];
    if (*known) return *known - 1;
    uint32_t name = 0, file = 0, k, value;
    int64_t line = 0;
    rs_value_walk walk = rs_value_children(b->v, node);
    while (next_pair(b, &walk, &k, &value)) {
        switch (rs_fl_key_of(&b->v->nodes[k])) {
        case RS_FL_KEY_NAME: name = text_id(b, value); break;
        case RS_FL_KEY_FILENAME: file = text_id(b, value); break;
        case RS_FL_KEY_LINE:
            if (!int_of(b, value, &line)) line = 0;
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

static uint32_t stack_id(build *b, uint32_t node)
{
    if (b->v->nodes[node].type != RS_VALUE_LIST || b->v->nodes[node].n == 0) return 0;
    size_t n = 0;
    uint32_t frame;
    rs_value_walk walk = rs_value_children(b->v, node);
    while (next(b, &walk, &frame)) {
        uint32_t id = frame_id(b, frame);
        if (id != RS_FL_NONE && !add_word(b, &n, id)) return 0;
    }
    uint32_t id =
        rs_strings_add(&b->draft->stack_keys, (const char *)b->scratch->words, n * sizeof(uint32_t));
    if (id == RS_NO_STRING) b->nomem = true;
    return id;
}

static uint32_t draft_group(build *b, uint32_t uid)
{
    rs_fl_draft *d = b->draft;
    for (size_t i = 0; i < d->n_groups; i++)
        if (d->groups[i].uid == uid) return (uint32_t)i;
    if (!RS_GROW_ONE(d->groups, d->n_groups, d->groups_capacity)) {
        b->nomem = true;
        return 0;
    }
    d->groups[d->n_groups] =
        (struct rs_fl_draft_group){.uid = uid, .desc = RS_FL_NONE, .members = RS_FL_NONE};
    return (uint32_t)d->n_groups++;
}

static uint8_t state_of(const rs_value *v)
{
    static const char *const names[] = {"scheduled", "started", "completed"};
    for (uint8_t i = 0; i < 3; i++)
        if (v->type == RS_VALUE_TEXT && v->n == strlen(names[i]) && memcmp(v->as.text, names[i], v->n) == 0)
            return i;
    return RS_FL_NO_STATE;
}

static void read_process_group(build *b, uint32_t node, uint32_t *uid, uint32_t *desc)
{
    rs_value_walk walk = rs_value_children(b->v, node);
    uint32_t child;
    if (b->v->nodes[node].type != RS_VALUE_LIST) {
        *uid = text_id(b, node);
        return;
    }
    if (next(b, &walk, &child)) *uid = text_id(b, child);
    if (next(b, &walk, &child)) *desc = text_id(b, child);
}

#define P2P_UNSAID 2

static void read_entry(build *b, uint32_t node, uint8_t *p2p_said)
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
    while (next_pair(b, &walk, &k, &value)) {
        switch (rs_fl_key_of(&b->v->nodes[k])) {
        case RS_FL_KEY_FRAMES: frames = value; break;
        case RS_FL_KEY_RECORD_ID:
            if (int_of(b, value, &i)) e.record_id = i;
            break;
        case RS_FL_KEY_PG_ID:
            if (int_of(b, value, &i)) e.pg_id = narrow(i);
            break;
        case RS_FL_KEY_PROCESS_GROUP: read_process_group(b, value, &uid, &desc); break;
        case RS_FL_KEY_THREAD_NAME: {
            uint32_t id = text_id(b, value);
            if (id != RS_FL_NONE) e.thread = id;
            break;
        }
        case RS_FL_KEY_SEQ:
            if (int_of(b, value, &i)) e.seq = i;
            break;
        case RS_FL_KEY_P2P_SEQ:
            if (int_of(b, value, &i)) e.p2p_seq = i;
            break;
        case RS_FL_KEY_OP_ID:
            if (int_of(b, value, &i)) e.op_id = i;
            break;
        case RS_FL_KEY_PROFILING_NAME: name = text_id(b, value); break;
        case RS_FL_KEY_CREATED: e.created = time_of(b, value); break;
        case RS_FL_KEY_STARTED: e.started = time_of(b, value); break;
        case RS_FL_KEY_COMPLETED: e.completed = time_of(b, value); break;
        case RS_FL_KEY_DURATION:
            if (b->v->nodes[value].type == RS_VALUE_REAL)
                e.duration_ms = b->v->nodes[value].as.f;
            else if (int_of(b, value, &i))
                e.duration_ms = (double)i;
            break;
        case RS_FL_KEY_INPUT_SIZES: in_sizes = value; break;
        case RS_FL_KEY_OUTPUT_SIZES: out_sizes = value; break;
        case RS_FL_KEY_INPUT_DTYPES: in_dtypes = value; break;
        case RS_FL_KEY_OUTPUT_DTYPES: out_dtypes = value; break;
        case RS_FL_KEY_STATE: e.state = state_of(&b->v->nodes[value]); break;
        case RS_FL_KEY_RETIRED: e.retired = truth_of(b, value); break;
        case RS_FL_KEY_TIMEOUT:
            if (int_of(b, value, &i)) e.timeout_ms = narrow(i);
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
    e.group = draft_group(b, uid);
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

static void read_entries(build *b, uint32_t node)
{
    rs_fl_rank *rank = &b->draft->rank;
    rank->has_entries = true;
    rs_value_walk walk = rs_value_children(b->v, node);
    uint32_t child;
    bool unsaid = false;
    if (b->v->nodes[node].type != RS_VALUE_LIST) return;
    if (!rs_grow((void **)&rank->entries, &b->draft->entries_capacity, b->v->nodes[node].n / 8 + 1,
                 sizeof *rank->entries)) {
        b->nomem = true;
        return;
    }
    while (next(b, &walk, &child)) {
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

/* ---- the rest of a dump ---------------------------------------------------------------------------------
 */

/* A list of ranks as text, when it is not text already. */
static uint32_t ranks_text(build *b, uint32_t node)
{
    if (b->v->nodes[node].type == RS_VALUE_TEXT) return text_id(b, node);
    if (b->v->nodes[node].type != RS_VALUE_LIST) return RS_FL_NONE;
    size_t n = 0;
    uint32_t child;
    rs_value_walk walk = rs_value_children(b->v, node);
    while (next(b, &walk, &child)) {
        int64_t rank;
        if (!int_of(b, child, &rank)) return RS_FL_NONE;
        if (!rs_grow((void **)&b->scratch->joined, &b->scratch->joined_capacity, n + 24, 1)) {
            b->nomem = true;
            return RS_FL_NONE;
        }
        n += (size_t)snprintf(b->scratch->joined + n, 24, "%c%lld", n ? ',' : '[', (long long)rank);
    }
    if (!rs_grow((void **)&b->scratch->joined, &b->scratch->joined_capacity, n + 3, 1)) {
        b->nomem = true;
        return RS_FL_NONE;
    }
    if (n == 0) b->scratch->joined[n++] = '[';
    b->scratch->joined[n++] = ']';
    uint32_t id = rs_strings_add(&b->draft->texts, b->scratch->joined, n);
    if (id == RS_NO_STRING) b->nomem = true;
    return id;
}

static void read_pg_config(build *b, uint32_t node)
{
    rs_value_walk walk = rs_value_children(b->v, node);
    uint32_t k, value, field, inner;
    if (b->v->nodes[node].type != RS_VALUE_MAP) return;
    while (next_pair(b, &walk, &k, &value)) {
        uint32_t uid = text_id(b, k);
        if (uid == RS_FL_NONE || b->v->nodes[value].type != RS_VALUE_MAP) continue;
        uint32_t g = draft_group(b, uid);
        if (b->nomem) return;
        rs_value_walk fields = rs_value_children(b->v, value);
        while (next_pair(b, &fields, &field, &inner)) {
            rs_fl_key f = rs_fl_key_of(&b->v->nodes[field]);
            if (f == RS_FL_KEY_DESC) b->draft->groups[g].desc = text_id(b, inner);
            if (f == RS_FL_KEY_RANKS) b->draft->groups[g].members = ranks_text(b, inner);
        }
        b->draft->groups[g].configured = b->draft->groups[g].members != RS_FL_NONE;
    }
}

static void read_pg_status(build *b, uint32_t node)
{
    rs_value_walk walk = rs_value_children(b->v, node);
    uint32_t k, value, field, inner;
    if (b->v->nodes[node].type != RS_VALUE_MAP) return;
    while (next_pair(b, &walk, &k, &value)) {
        struct rs_fl_draft_status s = {
            .enqueued = RS_FL_UNKNOWN, .began = RS_FL_UNKNOWN, .done = RS_FL_UNKNOWN};
        if (!int_of(b, k, &s.pg_id)) continue;
        rs_value_walk fields = rs_value_children(b->v, value);
        while (next_pair(b, &fields, &field, &inner)) {
            rs_fl_key f = rs_fl_key_of(&b->v->nodes[field]);
            int64_t i;
            if (!int_of(b, inner, &i)) continue;
            if (f == RS_FL_KEY_LAST_ENQUEUED) s.enqueued = i;
            if (f == RS_FL_KEY_LAST_STARTED) s.began = i;
            if (f == RS_FL_KEY_LAST_COMPLETED) s.done = i;
        }
        if (!RS_GROW_ONE(b->draft->status, b->draft->n_status, b->draft->status_capacity)) {
            b->nomem = true;
            return;
        }
        b->draft->status[b->draft->n_status++] = s;
    }
}

static void read_version(build *b, uint32_t node)
{
    rs_fl_rank *rank = &b->draft->rank;
    uint32_t id = text_id(b, node);
    if (id == RS_FL_NONE || id == RS_NO_STRING) return;
    rank->version = id;
    unsigned major, minor;
    /* NOLINTNEXTLINE(cert-err34-c): the width keeps every number in range */
    if (sscanf(b->draft->texts.items[id].text, "%6u.%6u", &major, &minor) == 2) {
        rank->major = (int)major;
        rank->minor = (int)minor;
    }
}

/* Reads what the root holds; false when it is nothing like a dump. */
static bool read_root(build *b, uint32_t root)
{
    uint32_t k, value, entries = RS_NO_NODE, config = RS_NO_NODE;
    bool known = false;
    if (root == RS_NO_NODE || b->v->nodes[root].type != RS_VALUE_MAP) return false;
    rs_value_walk walk = rs_value_children(b->v, root);
    while (next_pair(b, &walk, &k, &value)) {
        switch (rs_fl_key_of(&b->v->nodes[k])) {
        case RS_FL_KEY_VERSION:
            read_version(b, value);
            known = true;
            break;
        case RS_FL_KEY_LIB_VERSION:
        case RS_FL_KEY_NCCL_VERSION: {
            uint32_t id = text_id(b, value);
            if (id != RS_FL_NONE) b->draft->rank.library = id;
            break;
        }
        case RS_FL_KEY_COMM_STATE:
            if (b->v->nodes[value].type == RS_VALUE_MAP) b->draft->rank.n_comms = b->v->nodes[value].n / 2;
            break;
        case RS_FL_KEY_PG_STATUS: read_pg_status(b, value); break;
        case RS_FL_KEY_PG_CONFIG:
            config = value;
            known = true;
            break;
        case RS_FL_KEY_ENTRIES:
            entries = value;
            known = true;
            break;
        default: break;
        }
    }
    if (config != RS_NO_NODE) read_pg_config(b, config);
    if (entries != RS_NO_NODE) read_entries(b, entries);
    return known;
}

/* ---- the whole ------------------------------------------------------------------------------------------
 */

static bool looks_like_json(const uint8_t *bytes, size_t n, size_t *skip)
{
    *skip = n >= 3 && bytes[0] == 0xef && bytes[1] == 0xbb && bytes[2] == 0xbf ? 3 : 0;
    size_t i = *skip;
    while (i < n && rs_json_is_space(bytes[i])) i++;
    return i < n && bytes[i] == '{';
}

static void report_bad(const char *file, int64_t rank, rs_problems *problems, const rs_error *fault,
                       const rs_pickle_info *info, bool usable)
{
    const rs_cause *cause = &fault->causes[0];
    const char *kind = "bad_dump", *message = "the dump cannot be used";
    if (info->truncated && usable) {
        kind = "truncated_dump";
        message = "the dump is cut short: its newest entries are lost";
    } else if (strncmp(cause->message, "refused", 7) == 0) {
        kind = "unsafe_dump";
        message = "the dump tries to run code and was refused; nothing in it was executed";
    }
    rs_problems_add_many(problems, file, rank, RS_LOSS, kind, message, cause->offset, 1, cause->message);
}

rs_status rs_fl_read_dump(rs_fl_reader *scratch, const uint8_t *bytes, size_t n, const char *file,
                          int64_t rank, rs_fl_draft *draft, bool *usable, rs_problems *problems,
                          rs_error *err)
{
    *usable = false;
    *draft = (rs_fl_draft){0};
    draft->rank = (rs_fl_rank){.rank = rank, .major = -1, .minor = -1};
    if (!rs_strings_init(&draft->texts) || !rs_strings_init(&draft->call_keys) ||
        !rs_strings_init(&draft->frame_keys) || !rs_strings_init(&draft->stack_keys))
        return rs_fail_nomem(err, file);
    rs_error fault = RS_ERROR_INIT;
    rs_pickle_info info;
    size_t skip;
    bool json = looks_like_json(bytes, n, &skip);
    rs_status status =
        json ? rs_json_read_values(&scratch->values, bytes + skip, n - skip, file, &info, &fault)
             : rs_pickle_read(&scratch->values, bytes, n, file, NULL, &info, &fault);
    if (status == RS_ERR_NOMEM) {
        if (err) *err = fault;
        return status;
    }
    if (status != RS_OK && !info.truncated) {
        report_bad(file, rank, problems, &fault, &info, false);
        return RS_OK;
    }
    rs_values *v = &scratch->values;
    if (!rs_grow((void **)&scratch->ids, &scratch->ids_capacity, v->n_nodes + 1, sizeof *scratch->ids))
        return rs_fail_nomem(err, file);
    memset(scratch->ids, 0, (v->n_nodes + 1) * sizeof *scratch->ids);
    build b = {.scratch = scratch, .v = v, .draft = draft, .budget = UINT64_C(32) * n + (1 << 20)};
    bool known = read_root(&b, info.root);
    if (b.nomem) return rs_fail_nomem(err, file);
    if (b.spent) {
        rs_problems_add(problems, file, rank, RS_LOSS, "bad_dump",
                        "the dump's values refer to each other more often than any recorder writes",
                        RS_NO_OFFSET);
        return RS_OK;
    }
    if (status != RS_OK) {
        *usable = known && (draft->rank.n || draft->n_groups);
        draft->rank.cut = true;
        report_bad(file, rank, problems, &fault, &info, *usable);
        return RS_OK;
    }
    if (!known) {
        rs_problems_add(problems, file, rank, RS_LOSS, "bad_dump",
                        "the file holds data, but no flight-recorder dump (no version, entries or pg_config)",
                        RS_NO_OFFSET);
        return RS_OK;
    }
    if (b.n_bad)
        rs_problems_add_many(problems, file, rank, RS_WARNING, "bad_entry",
                             "entries without a name, group or state were skipped", RS_NO_OFFSET, b.n_bad,
                             NULL);
    if (info.consumed + (json ? skip : 0) < n && !json)
        rs_problems_add(problems, file, rank, RS_NOTE, "trailing_data",
                        "bytes after the end of the dump were ignored", info.consumed);
    *usable = true;
    return RS_OK;
}

bool rs_fl_parse_ranks(const char *text, size_t n, int64_t **ranks, size_t *n_ranks, bool *nomem)
{
    *ranks = NULL;
    *n_ranks = 0;
    *nomem = false;
    size_t capacity = 0;
    const char *p = text, *end = text + n;
    while (p < end && (*p == '\'' || *p == '"' || *p == ' ' || *p == '\\')) p++;
    while (p < end && (end[-1] == '\'' || end[-1] == '"' || end[-1] == ' ' || end[-1] == '\\')) end--;
    if (end - p < 2 || *p != '[' || end[-1] != ']') return false;
    p++;
    end--;
    bool wants_number = false;
    for (;;) {
        while (p < end && *p == ' ') p++;
        if (p == end) return !wants_number || *n_ranks == 0;
        uint64_t value = 0;
        const char *digits = p;
        while (p < end && *p >= '0' && *p <= '9' && p - digits < 18)
            value = value * 10 + (uint64_t)(*p++ - '0');
        if (p == digits) return false;
        if (!RS_GROW_ONE(*ranks, *n_ranks, capacity)) {
            *nomem = true;
            return false;
        }
        (*ranks)[(*n_ranks)++] = (int64_t)value;
        while (p < end && *p == ' ') p++;
        if (p == end) return true;
        if (*p++ != ',') return false;
        wants_number = true;
    }
}
