/* One dump: from a tree of values to entries. Nothing recurses; every child looked at is paid from a budget
 * that grows with the size of the file, so that values which refer to each other over and over cost no more
 * than others. */
#include "base/real.h"
#include "flight/dump_internal.h"

#include "input/json.h"
#include "input/json_values.h"
#include "input/pickle.h"

#include <stdio.h>
#include <string.h>

rs_fl_reader *rs_fl_reader_create(void)
{
    return rs_calloc(1, sizeof(rs_fl_reader));
}

void rs_fl_reader_free(rs_fl_reader *reader)
{
    if (!reader) return;
    rs_values_clear(&reader->values);
    rs_free_all(reader->ids, reader->words, reader->joined, reader);
}

void rs_fl_draft_clear(rs_fl_draft *draft)
{
    rs_free_all(draft->rank.entries, draft->rank.file, draft->groups, draft->status);
    rs_strings_clear(&draft->texts);
    rs_strings_clear(&draft->call_keys);
    rs_strings_clear(&draft->frame_keys);
    rs_strings_clear(&draft->stack_keys);
    *draft = (rs_fl_draft){.nameless = {.desc = RS_FL_NONE, .members = RS_FL_NONE}};
}

/* ---- values ------------------------------------------------------------------------------------------ */

static bool pay(rs_fl_build *b)
{
    if (b->budget == 0) b->spent = true;
    if (b->spent || b->nomem) return false;
    b->budget--;
    return true;
}

bool rs_fl_next(rs_fl_build *b, rs_value_walk *walk, uint32_t *node)
{
    return rs_value_next(walk, node) && pay(b);
}

bool rs_fl_next_pair(rs_fl_build *b, rs_value_walk *walk, uint32_t *k, uint32_t *value)
{
    return rs_value_next_pair(walk, k, value) && pay(b);
}

uint32_t rs_fl_text_id(rs_fl_build *b, uint32_t node)
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

bool rs_fl_int_of(const rs_fl_build *b, uint32_t node, int64_t *out)
{
    const rs_value *v = &b->v->nodes[node];
    switch (v->type) {
    case RS_VALUE_INT:
    case RS_VALUE_BOOL: *out = v->as.i; return true;
    case RS_VALUE_REAL:
        if (!(v->as.f > -9.2e18 && v->as.f < 9.2e18)) return false;
        *out = rs_int_of(v->as.f);
        return true;
    case RS_VALUE_TEXT: return v->n && v->n < 32 && rs_json_int((const uint8_t *)v->as.text, v->n, out);
    default: return false;
    }
}

uint32_t rs_fl_draft_group(rs_fl_build *b, uint32_t uid)
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

/* ---- the rest of a dump ------------------------------------------------------------------------------ */

/* A list of ranks as text, when it is not text already. */
static uint32_t ranks_text(rs_fl_build *b, uint32_t node)
{
    if (b->v->nodes[node].type == RS_VALUE_TEXT) return rs_fl_text_id(b, node);
    if (b->v->nodes[node].type != RS_VALUE_LIST) return RS_FL_NONE;
    size_t n = 0;
    uint32_t child;
    rs_value_walk walk = rs_value_children(b->v, node);
    while (rs_fl_next(b, &walk, &child)) {
        int64_t rank;
        if (!rs_fl_int_of(b, child, &rank)) return RS_FL_NONE;
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

static void read_description(rs_fl_build *b, uint32_t node, struct rs_fl_draft_group *group)
{
    uint32_t field, inner;
    rs_value_walk fields = rs_value_children(b->v, node);
    while (rs_fl_next_pair(b, &fields, &field, &inner)) {
        rs_fl_key f = rs_fl_key_of(&b->v->nodes[field]);
        if (f == RS_FL_KEY_DESC) group->desc = rs_fl_text_id(b, inner);
        if (f == RS_FL_KEY_RANKS) group->members = ranks_text(b, inner);
    }
    group->configured = group->members != RS_FL_NONE;
}

static void read_pg_config(rs_fl_build *b, uint32_t node)
{
    rs_value_walk walk = rs_value_children(b->v, node);
    uint32_t k, value;
    if (b->v->nodes[node].type != RS_VALUE_MAP) return;
    while (rs_fl_next_pair(b, &walk, &k, &value)) {
        uint32_t uid = rs_fl_text_id(b, k);
        if (uid == RS_FL_NONE || b->v->nodes[value].type != RS_VALUE_MAP) continue;
        if (b->draft->texts.items[uid].length == 0) {
            b->draft->rank.nameless = true; /* gloo's: one entry without a name, for whichever group */
            read_description(b, value, &b->draft->nameless);
            continue;
        }
        uint32_t g = rs_fl_draft_group(b, uid);
        if (b->nomem) return;
        read_description(b, value, &b->draft->groups[g]);
    }
}

/* A description without a name is that of the group, where pg_status and the entries know no other one. */
static void adopt_nameless(rs_fl_draft *d)
{
    if (!d->nameless.configured || d->n_groups != 1 || d->n_status != 1 || d->groups[0].configured) return;
    d->groups[0].members = d->nameless.members;
    d->groups[0].configured = true;
    d->rank.nameless = false;
}

static void read_pg_status(rs_fl_build *b, uint32_t node)
{
    rs_value_walk walk = rs_value_children(b->v, node);
    uint32_t k, value, field, inner;
    if (b->v->nodes[node].type != RS_VALUE_MAP) return;
    while (rs_fl_next_pair(b, &walk, &k, &value)) {
        struct rs_fl_draft_status s = {
            .enqueued = RS_FL_UNKNOWN, .began = RS_FL_UNKNOWN, .done = RS_FL_UNKNOWN};
        if (!rs_fl_int_of(b, k, &s.pg_id)) continue;
        rs_value_walk fields = rs_value_children(b->v, value);
        while (rs_fl_next_pair(b, &fields, &field, &inner)) {
            rs_fl_key f = rs_fl_key_of(&b->v->nodes[field]);
            int64_t i;
            if (!rs_fl_int_of(b, inner, &i)) continue;
            i = rs_fl_count(i);
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

static void read_version(rs_fl_build *b, uint32_t node)
{
    rs_fl_rank *rank = &b->draft->rank;
    uint32_t id = rs_fl_text_id(b, node);
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
static bool read_root(rs_fl_build *b, uint32_t root)
{
    uint32_t k, value, entries = RS_NO_NODE, config = RS_NO_NODE;
    bool known = false;
    if (root == RS_NO_NODE || b->v->nodes[root].type != RS_VALUE_MAP) return false;
    rs_value_walk walk = rs_value_children(b->v, root);
    while (rs_fl_next_pair(b, &walk, &k, &value)) {
        switch (rs_fl_key_of(&b->v->nodes[k])) {
        case RS_FL_KEY_VERSION:
            read_version(b, value);
            known = true;
            break;
        case RS_FL_KEY_LIB_VERSION:
        case RS_FL_KEY_NCCL_VERSION: {
            uint32_t id = rs_fl_text_id(b, value);
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
    if (entries != RS_NO_NODE) rs_fl_read_entries(b, entries);
    adopt_nameless(b->draft);
    return known;
}

/* ---- the whole --------------------------------------------------------------------------------------- */

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
    *draft = (rs_fl_draft){.nameless = {.desc = RS_FL_NONE, .members = RS_FL_NONE}};
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
    rs_fl_build b = {.scratch = scratch, .v = v, .draft = draft, .budget = UINT64_C(32) * n + (1 << 20)};
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
    /* What could not be read must not pass for a rank with nothing open. */
    if (b.n_bad)
        rs_problems_add_many(problems, file, rank, RS_LOSS, "bad_entry",
                             "entries without a name, group or state were skipped", RS_NO_OFFSET, b.n_bad,
                             NULL);
    bool silent = !draft->rank.has_entries && !draft->n_status;
    if (silent)
        rs_problems_add(problems, file, rank, RS_LOSS, "no_entries",
                        "the dump has no `entries` and no `pg_status`: what the rank called is not known",
                        RS_NO_OFFSET);
    draft->rank.unread = silent || (!draft->rank.n && (b.n_bad || b.no_list));
    if (b.no_list)
        rs_problems_add(problems, file, rank, RS_LOSS, "bad_entries",
                        "the entries are no list: none of them could be read", RS_NO_OFFSET);
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
