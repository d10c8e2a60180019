/* Dumps become one job: their texts, calls, stacks and groups get the job's numbers. */
#include "base/interval.h"
#include "base/order.h"
#include "base/search.h"
#include "base/text.h"
#include "flight/model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    uint8_t kind;
} ops[] = {
    /* Names as ProcessGroup back ends and torchcomms write them. */
    {"all_reduce", RS_FL_ALL_REDUCE},
    {"allreduce", RS_FL_ALL_REDUCE},
    {"allreduce_coalesced", RS_FL_ALL_REDUCE},
    {"all_reduce_sparse", RS_FL_UNKNOWN_OP},
    {"broadcast", RS_FL_BROADCAST},
    {"_broadcast_oop", RS_FL_BROADCAST},
    {"reduce", RS_FL_REDUCE},
    {"_reduce_oop", RS_FL_REDUCE},
    {"all_gather", RS_FL_ALL_GATHER},
    {"allgather", RS_FL_ALL_GATHER},
    {"all_gather_single", RS_FL_ALL_GATHER},
    {"all_gather_v", RS_FL_ALL_GATHER},
    {"_all_gather_base", RS_FL_ALL_GATHER},
    {"all_gather_base", RS_FL_ALL_GATHER},
    {"_allgather_base", RS_FL_ALL_GATHER},
    {"all_gather_into_tensor_coalesced", RS_FL_ALL_GATHER},
    {"reduce_scatter", RS_FL_REDUCE_SCATTER},
    {"reduce_scatter_single", RS_FL_REDUCE_SCATTER},
    {"reduce_scatter_v", RS_FL_REDUCE_SCATTER},
    {"reduce_scatter_tensor_coalesced", RS_FL_REDUCE_SCATTER},
    {"_reduce_scatter_base", RS_FL_REDUCE_SCATTER},
    {"gather", RS_FL_GATHER},
    {"scatter", RS_FL_SCATTER},
    {"all_to_all", RS_FL_ALL_TO_ALL},
    {"alltoall", RS_FL_ALL_TO_ALL},
    {"alltoall_base", RS_FL_ALL_TO_ALL},
    {"all_to_all_single", RS_FL_ALL_TO_ALL},
    {"all_to_all_v_single", RS_FL_ALL_TO_ALL},
    {"all_reduce_barrier", RS_FL_NO_DATA},
    {"barrier", RS_FL_NO_DATA},
    {"split", RS_FL_NO_DATA},
    {"new_window", RS_FL_NO_DATA},
    {"coalesced", RS_FL_MARKER},
    {"ALLGATHER_coalesced", RS_FL_MARKER},
    {"REDUCE_SCATTER_coalesced", RS_FL_MARKER},
};

static const char *const state_names[] = {"scheduled", "started", "completed", "unknown"};

const char *rs_fl_state_name(rs_fl_state state)
{
    return state_names[state];
}

char *rs_fl_print(rs_flight *flight, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *out = n < 0 ? NULL : rs_arena_alloc(&flight->arena, (size_t)n + 1);
    if (out) vsnprintf(out, (size_t)n + 1, format, again);
    va_end(again);
    return out;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

static int64_t saturating_mul(int64_t a, int64_t b)
{
    int64_t out;
    return __builtin_mul_overflow(a, b, &out) ? INT64_MAX : out;
}

/* Reads sizes from the words of a key and writes them as text; returns the words used. */
static size_t describe_sizes(const uint32_t *words, rs_text *out, uint32_t *n_tensors, int64_t *numel)
{
    size_t at = 1;
    *n_tensors = words[0];
    *numel = 0;
    rs_text_put(out, "[");
    for (uint32_t t = 0; t < words[0]; t++) {
        uint32_t n_dims = words[at++];
        int64_t product = 1;
        rs_text_put(out, t ? ", [" : "[");
        for (uint32_t d = 0; d < n_dims; d++) {
            int64_t dim = (int64_t)(words[at] | (uint64_t)words[at + 1] << 32);
            rs_text_printf(out, "%s%" PRId64, d ? ", " : "", dim);
            product = saturating_mul(product, dim < 0 ? 0 : dim);
            at += 2;
        }
        rs_text_put(out, "]");
        if (__builtin_add_overflow(*numel, product, numel)) *numel = INT64_MAX;
    }
    rs_text_put(out, "]");
    return at;
}

/* The set of types in a comma-separated list: sorted, each once; so that the number of tensors does not
 * matter. */
static uint32_t type_set(rs_flight *flight, uint32_t list)
{
    const rs_string *s = &flight->texts.items[list];
    const char *comma = memchr(s->text, ',', s->length);
    if (!comma) return list;
    const char *parts[16];
    size_t lengths[16], n = 0;
    for (const char *p = s->text, *end = p + s->length; p <= end;) {
        const char *stop = memchr(p, ',', (size_t)(end - p));
        if (!stop) stop = end;
        size_t length = (size_t)(stop - p), at = 0;
        int order = 1;
        for (; at < n; at++) {
            size_t shorter = length < lengths[at] ? length : lengths[at];
            order = memcmp(p, parts[at], shorter);
            if (order == 0) order = length < lengths[at] ? -1 : length > lengths[at];
            if (order <= 0) break;
        }
        if (at == n || order < 0) {
            if (n == 16) return list; /* no such recorder; compare the list as it stands */
            memmove(parts + at + 1, parts + at, (n - at) * sizeof parts[0]);
            memmove(lengths + at + 1, lengths + at, (n - at) * sizeof lengths[0]);
            parts[at] = p;
            lengths[at] = length;
            n++;
        }
        p = stop + 1;
    }
    rs_text joined = {0};
    for (size_t i = 0; i < n; i++) {
        if (i) rs_text_put(&joined, ",");
        rs_text_add(&joined, parts[i], lengths[i]);
    }
    uint32_t id = joined.failed ? RS_NO_STRING : rs_strings_add(&flight->texts, joined.s, joined.n);
    rs_text_clear(&joined);
    return id;
}

static bool has_suffix(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && strcmp(text + n - m, suffix) == 0;
}

/* The op of "nccl:all_reduce", and of "nccl:send 0->1" or "nccl:recv 1<-0" its ends too. */
static bool name_op(rs_flight *flight, rs_fl_call *call)
{
    const rs_string *s = &flight->texts.items[call->name];
    const char *colon = memchr(s->text, ':', s->length);
    const char *op = colon ? colon + 1 : s->text;
    size_t n = strlen(op);
    long long a, b;
    char any[2];
    call->src = call->dst = -1;
    call->kind = RS_FL_UNKNOWN_OP;
    /* NOLINTBEGIN(cert-err34-c): the width keeps every number in range */
    if (sscanf(op, "send %9lld->%9lld", &a, &b) == 2) {
        call->kind = RS_FL_SEND;
        call->src = (int32_t)a;
        call->dst = (int32_t)b;
        n = 4;
    } else if (sscanf(op, "recv %9lld<-%9lld", &a, &b) == 2) {
        call->kind = RS_FL_RECV;
        call->src = (int32_t)b;
        call->dst = (int32_t)a;
        n = 4;
    } else if (sscanf(op, "recv %9lld<-%1[?]", &a, any) == 2) {
        call->kind = RS_FL_RECV;
        call->dst = (int32_t)a;
        n = 4;
        /* NOLINTEND(cert-err34-c) */
    } else {
        for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
            if (strcmp(op, ops[i].name) == 0) call->kind = ops[i].kind;
        if (call->kind == RS_FL_UNKNOWN_OP && has_suffix(op, "_coalesced") && call->in_numel <= 1 &&
            call->out_numel <= 1 && call->in_dtypes == 0 && call->out_dtypes == 0)
            call->kind = RS_FL_MARKER;
    }
    call->op = rs_strings_add(&flight->texts, op, n);
    return call->op != RS_NO_STRING;
}

static uint32_t add_call(rs_flight *flight, const uint32_t *words, size_t n_words)
{
    size_t known = flight->call_keys.n;
    uint32_t id = rs_strings_add(&flight->call_keys, (const char *)words, n_words * sizeof *words);
    if (id == RS_NO_STRING || id < known) return id;
    rs_fl_call call = {.name = words[0], .in_dtypes = words[1], .out_dtypes = words[2]};
    rs_text in = {0}, out = {0};
    size_t at = 3 + describe_sizes(words + 3, &in, &call.n_in, &call.in_numel);
    describe_sizes(words + at, &out, &call.n_out, &call.out_numel);
    bool good = !in.failed && !out.failed;
    if (good) {
        call.in_sizes = rs_strings_add(&flight->texts, in.s, in.n);
        call.out_sizes = rs_strings_add(&flight->texts, out.s, out.n);
        call.in_dtype = type_set(flight, call.in_dtypes);
        call.out_dtype = type_set(flight, call.out_dtypes);
        good = call.in_sizes != RS_NO_STRING && call.out_sizes != RS_NO_STRING &&
               call.in_dtype != RS_NO_STRING && call.out_dtype != RS_NO_STRING && name_op(flight, &call) &&
               rs_grow((void **)&flight->calls, &flight->calls_capacity, (size_t)id + 1, sizeof call);
    }
    rs_text_clear(&in);
    rs_text_clear(&out);
    if (!good) return RS_NO_STRING;
    flight->calls[id] = call;
    flight->n_calls = (size_t)id + 1;
    return id;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

/* The canonical text of a member list, RS_FL_NONE when it is none; the list itself when ranks is given. */
static bool canonical_members(rs_flight *flight, uint32_t text, uint32_t *canonical)
{
    bool is_new;
    uint32_t *known = rs_map64_put(&flight->member_texts, text, &is_new);
    if (!known) return false;
    if (!is_new) {
        *canonical = *known - 1;
        return true;
    }
    const rs_string *s = &flight->texts.items[text];
    int64_t *ranks;
    size_t n;
    bool nomem, good = rs_fl_parse_ranks(s->text, s->length, &ranks, &n, &nomem);
    rs_text out = {0};
    for (size_t i = 0; good && i < n; i++) {
        rs_text_printf(&out, "%s%" PRId64, i ? "," : "", ranks[i]);
    }
    rs_free(ranks);
    *canonical = RS_FL_NONE;
    if (good && n && !out.failed) *canonical = rs_strings_add(&flight->texts, out.s, out.n);
    nomem = nomem || out.failed || (good && n && *canonical == RS_NO_STRING);
    rs_text_clear(&out);
    if (nomem) return false;
    *known = *canonical + 1; /* RS_FL_NONE + 1 wraps to 0 and back */
    return true;
}

static const rs_order by_rank[] = {RS_RISING(rs_keyed, key)};

static bool fill_members(rs_flight *flight, rs_fl_group *group, uint32_t canonical, int64_t base)
{
    const rs_string *s = &flight->texts.items[canonical];
    size_t n = 1;
    for (uint32_t i = 0; i < s->length; i++) n += s->text[i] == ',';
    group->ranks = rs_malloc(n * sizeof *group->ranks);
    group->sorted = rs_malloc(n * sizeof *group->sorted);
    rs_keyed *pairs = rs_malloc(n * sizeof *pairs);
    if (group->ranks && group->sorted && pairs) {
        const char *p = s->text;
        for (size_t i = 0; i < n; i++) {
            int64_t rank = 0;
            while (*p >= '0' && *p <= '9') rank = rank * 10 + (*p++ - '0');
            p++;
            group->ranks[i] = rank + base;
            pairs[i] = (rs_keyed){group->ranks[i], (uint32_t)i};
        }
        RS_SORT(pairs, n, by_rank);
        for (size_t i = 0; i < n; i++) group->sorted[i] = pairs[i].value;
        group->n = n;
    }
    rs_free(pairs);
    return group->n == n;
}

uint32_t rs_fl_slot_of(const rs_fl_group *group, int64_t rank)
{
    size_t low;
    RS_SEARCH(low, group->n, group->ranks[group->sorted[low]] < rank);
    return low < group->n && group->ranks[group->sorted[low]] == rank ? group->sorted[low] : RS_FL_NONE;
}

/* The group of a uid and member list; canonical RS_FL_NONE: of a uid no dump has described. */
static uint32_t add_group(rs_flight *flight, uint32_t uid, uint32_t canonical, int64_t base)
{
    uint32_t words[4] = {uid, canonical, (uint32_t)((uint64_t)base & UINT32_MAX),
                         (uint32_t)((uint64_t)base >> 32)};
    size_t known = flight->group_keys.n;
    uint32_t id = rs_strings_add(&flight->group_keys, (const char *)words, sizeof words);
    if (id == RS_NO_STRING) return RS_NO_STRING;
    if (id < known) return id - 1; /* key 0 is the empty one */
    if (!RS_GROW_ONE(flight->groups, flight->n_groups, flight->groups_capacity)) return RS_NO_STRING;
    rs_fl_group *group = &flight->groups[flight->n_groups++];
    *group = (rs_fl_group){.uid = uid, .desc = RS_FL_NONE, .described = canonical != RS_FL_NONE};
    if (group->described && !fill_members(flight, group, canonical, base)) return RS_NO_STRING;
    return id - 1;
}

/* ---- merging ------------------------------------------------------------------------------------------- */

typedef struct maps {
    uint32_t *text, *call, *frame, *stack;
} maps;

static void free_maps(maps *m)
{
    rs_free_all(m->text, m->call, m->frame, m->stack);
}

static const uint32_t *key_words(const rs_string *key)
{
    return (const uint32_t *)(const void *)key->text;
}

static bool map_texts_and_calls(rs_flight *flight, const rs_fl_draft *draft, maps *m)
{
    for (size_t i = 0; i < draft->texts.n; i++) {
        m->text[i] = rs_strings_add(&flight->texts, draft->texts.items[i].text, draft->texts.items[i].length);
        if (m->text[i] == RS_NO_STRING) return false;
    }
    for (size_t i = 1; i < draft->call_keys.n; i++) {
        /* The key is the draft's own: rewriting its first words in place saves a copy. */
        uint32_t *words = (uint32_t *)(void *)draft->call_keys.items[i].text;
        for (int w = 0; w < 3; w++) words[w] = m->text[words[w]];
        m->call[i] = add_call(flight, words, draft->call_keys.items[i].length / sizeof *words);
        if (m->call[i] == RS_NO_STRING) return false;
    }
    return true;
}

static bool map_frames(rs_flight *flight, const rs_fl_draft *draft, maps *m)
{
    for (size_t i = 1; i < draft->frame_keys.n; i++) {
        const uint32_t *own = key_words(&draft->frame_keys.items[i]);
        uint32_t words[4] = {m->text[own[0]], m->text[own[1]], own[2], own[3]};
        size_t known = flight->frame_keys.n;
        uint32_t id = rs_strings_add(&flight->frame_keys, (const char *)words, sizeof words);
        if (id == RS_NO_STRING || !rs_grow((void **)&flight->frames, &flight->frames_capacity, (size_t)id + 1,
                                           sizeof *flight->frames))
            return false;
        if (id >= known) {
            flight->frames[id] =
                (rs_fl_frame){words[0], words[1], (int64_t)(words[2] | (uint64_t)words[3] << 32)};
            flight->n_frames = (size_t)id + 1;
        }
        m->frame[i] = id;
    }
    return true;
}

static bool map_stacks(rs_flight *flight, const rs_fl_draft *draft, maps *m)
{
    for (size_t i = 1; i < draft->stack_keys.n; i++) {
        uint32_t *words = (uint32_t *)(void *)draft->stack_keys.items[i].text;
        size_t n = draft->stack_keys.items[i].length / sizeof *words, known = flight->stack_keys.n;
        for (size_t f = 0; f < n; f++) words[f] = m->frame[words[f]];
        uint32_t id = rs_strings_add(&flight->stack_keys, (const char *)words, n * sizeof *words);
        if (id == RS_NO_STRING ||
            !rs_grow((void **)&flight->stacks, &flight->stacks_capacity, (size_t)id + 1,
                     sizeof *flight->stacks) ||
            !rs_grow((void **)&flight->stack_frames, &flight->stack_frames_capacity,
                     flight->n_stack_frames + n, sizeof *flight->stack_frames))
            return false;
        if (id >= known) {
            memcpy(flight->stack_frames + flight->n_stack_frames, words, n * sizeof *words);
            flight->stacks[id] = (rs_fl_stack){(uint32_t)flight->n_stack_frames, (uint32_t)n, RS_FL_NONE};
            flight->n_stack_frames += n;
            flight->n_stacks = (size_t)id + 1;
        }
        m->stack[i] = id;
    }
    return true;
}

static bool merge_groups(rs_flight *flight, const rs_fl_draft *draft, const maps *m, rs_fl_rank *rank)
{
    rank->members = rs_calloc(draft->n_groups, sizeof *rank->members);
    if (!rank->members) return false;
    rank->n_members = draft->n_groups;
    for (size_t i = 0; i < draft->n_groups; i++) {
        const struct rs_fl_draft_group *g = &draft->groups[i];
        rs_fl_member *member = &rank->members[i];
        uint32_t desc = g->desc == RS_FL_NONE ? RS_FL_NONE : m->text[g->desc], canonical = RS_FL_NONE;
        const char *desc_text = rs_fl_text(flight, desc);
        int64_t base = 0, size = flight->settings.replica_size;
        if (desc_text && (!*desc_text || strcmp(desc_text, "undefined") == 0)) desc = RS_FL_NONE;
        if (desc_text && size > 0 && strcmp(desc_text, "default_pg") == 0) base = rank->rank / size * size;
        if (g->members != RS_FL_NONE && !canonical_members(flight, m->text[g->members], &canonical))
            return false;
        if (g->members != RS_FL_NONE && canonical == RS_FL_NONE)
            rs_problems_add_many(&flight->problems, rank->file, rank->rank, RS_WARNING, "bad_group_members",
                                 "a group's members are no list of ranks; they are never evaluated",
                                 RS_NO_OFFSET, 1, rs_fl_text(flight, m->text[g->uid]));
        uint32_t group = add_group(flight, m->text[g->uid], canonical, canonical == RS_FL_NONE ? 0 : base);
        if (group == RS_NO_STRING) return false;
        *member = (rs_fl_member){.group = group,
                                 .desc = desc,
                                 .slot = RS_FL_NONE,
                                 .configured = g->configured && canonical != RS_FL_NONE,
                                 .pg_id = -1,
                                 .enqueued = RS_FL_UNKNOWN,
                                 .began = RS_FL_UNKNOWN,
                                 .done = RS_FL_UNKNOWN,
                                 .issued_seq = RS_FL_UNKNOWN,
                                 .done_seq = RS_FL_UNKNOWN,
                                 .first_seq = RS_FL_UNKNOWN,
                                 .last_seq = RS_FL_UNKNOWN};
    }
    return true;
}

/* ---- joining pg_status to groups ----------------------------------------------------------------------- */

static const struct rs_fl_draft_status *status_of(const rs_fl_draft *draft, int64_t pg_id)
{
    for (size_t s = draft->n_status; s-- > 0;)
        if (draft->status[s].pg_id == pg_id) return &draft->status[s];
    return NULL;
}

static void take_status(rs_fl_member *member, const struct rs_fl_draft_status *s)
{
    if (!s) return;
    member->pg_id = s->pg_id;
    member->enqueued = s->enqueued;
    member->began = s->began;
    member->done = s->done;
}

/* A group's name as a number; false when it is none. */
static bool decimal_name(const rs_flight *flight, uint32_t uid, int64_t *number)
{
    const rs_string *s = &flight->texts.items[uid];
    *number = 0;
    for (uint32_t i = 0; i < s->length; i++) {
        if (s->text[i] < '0' || s->text[i] > '9' || s->length > 18) return false;
        *number = *number * 10 + (s->text[i] - '0');
    }
    return s->length > 0;
}

typedef struct numbered {
    int64_t number;
    uint32_t which;
} numbered;

static const rs_order by_its_number[] = {RS_RISING(numbered, number)};

/* Groups are numbered in the order of their creation, by name and locally alike, so both lists sorted by
 * number belong together pair by pair. Only where there are as many statuses as groups, all names are
 * numbers, and no pair contradicts what an entry says. */
static bool join_by_order(const rs_flight *flight, const rs_fl_draft *draft, rs_fl_rank *rank)
{
    size_t n = 0;
    for (size_t m = 0; m < rank->n_members; m++) n += rank->members[m].configured;
    if (!n || n != draft->n_status) return true;
    RS_LOCAL numbered *names = rs_malloc(n * sizeof *names), *keys = rs_malloc(n * sizeof *keys);
    bool good = names && keys, fits = good;
    n = 0;
    for (size_t m = 0; fits && m < rank->n_members; m++) {
        if (!rank->members[m].configured) continue;
        names[n].which = (uint32_t)m;
        fits = decimal_name(flight, flight->groups[rank->members[m].group].uid, &names[n].number);
        n++;
    }
    for (size_t i = 0; fits && i < n; i++) keys[i] = (numbered){draft->status[i].pg_id, (uint32_t)i};
    if (fits) {
        RS_SORT(names, n, by_its_number);
        RS_SORT(keys, n, by_its_number);
    }
    for (size_t i = 0; fits && i < n; i++) {
        const rs_fl_member *member = &rank->members[names[i].which];
        fits = member->pg_id < 0 || member->pg_id == keys[i].number;
    }
    for (size_t i = 0; fits && i < n; i++)
        if (rank->members[names[i].which].pg_id < 0)
            take_status(&rank->members[names[i].which], &draft->status[keys[i].which]);
    return good;
}

static bool keep_loose(const rs_fl_draft *draft, rs_fl_rank *rank)
{
    rank->loose = rs_malloc((draft->n_status + 1) * sizeof *rank->loose);
    if (!rank->loose) return false;
    for (size_t s = 0; s < draft->n_status; s++) {
        bool joined = false;
        for (size_t m = 0; m < rank->n_members && !joined; m++)
            joined = rank->members[m].pg_id == draft->status[s].pg_id &&
                     rank->members[m].enqueued != RS_FL_UNKNOWN;
        if (!joined)
            rank->loose[rank->n_loose++] =
                (struct rs_fl_loose){draft->status[s].enqueued, draft->status[s].done};
    }
    return true;
}

/* pg_status is keyed by the local number of the group object: an entry that has both joins the two, else
 * their order. */
static bool join_status(const rs_flight *flight, const rs_fl_draft *draft, rs_fl_rank *rank)
{
    for (size_t i = 0; i < rank->n; i++) {
        rs_fl_member *member = &rank->members[rank->entries[i].group];
        if (member->pg_id >= 0 || rank->entries[i].pg_id < 0) continue;
        member->pg_id = rank->entries[i].pg_id;
        take_status(member, status_of(draft, member->pg_id));
    }
    for (size_t s = 0; s < draft->n_status; s++) {
        const struct rs_fl_draft_status *status = &draft->status[s];
        bool known = status->enqueued != RS_FL_UNKNOWN;
        rank->status_work = rank->status_work || (known && status->enqueued >= 0);
        rank->status_open =
            rank->status_open || (known && status->done != RS_FL_UNKNOWN && status->enqueued != status->done);
        rank->status_done = rank->status_done || (status->done != RS_FL_UNKNOWN && status->done >= 0);
    }
    return join_by_order(flight, draft, rank) && keep_loose(draft, rank);
}

static rs_status merge(rs_flight *flight, rs_fl_draft *draft, maps *m, rs_error *err)
{
    if (!RS_GROW_ONE(flight->ranks, flight->n_ranks, flight->ranks_capacity) || !m->text || !m->call ||
        !m->frame || !m->stack || !map_texts_and_calls(flight, draft, m) || !map_frames(flight, draft, m) ||
        !map_stacks(flight, draft, m))
        return rs_fail_nomem(err, draft->rank.file);
    rs_fl_rank *rank = &flight->ranks[flight->n_ranks];
    *rank = draft->rank;
    rank->members = NULL;
    rank->version = m->text[rank->version];
    rank->library = m->text[rank->library];
    if (!merge_groups(flight, draft, m, rank)) {
        rs_free(rank->members);
        return rs_fail_nomem(err, draft->rank.file);
    }
    for (size_t i = 0; i < rank->n; i++) {
        rs_fl_entry *e = &rank->entries[i];
        e->call = m->call[e->call];
        e->stack = e->stack ? m->stack[e->stack] : 0;
        e->thread = m->text[e->thread];
        uint8_t kind = flight->calls[e->call].kind;
        e->marker = kind == RS_FL_MARKER;
        if (kind == RS_FL_SEND || kind == RS_FL_RECV) e->is_p2p = true;
    }
    if (!join_status(flight, draft, rank)) {
        rs_free_all(rank->members, rank->loose);
        return rs_fail_nomem(err, draft->rank.file);
    }
    rs_fl_entry *exact = rs_realloc(rank->entries, rank->n * sizeof *rank->entries);
    if (exact) rank->entries = exact;
    draft->rank.entries = NULL;
    draft->rank.file = NULL;
    flight->n_ranks++;
    return RS_OK;
}

rs_status rs_fl_merge(rs_flight *flight, rs_fl_draft *draft, rs_error *err)
{
    if (!flight->n_stacks) {
        if (!rs_grow((void **)&flight->stacks, &flight->stacks_capacity, 1, sizeof *flight->stacks))
            return rs_fail_nomem(err, "stacks");
        flight->stacks[0] = (rs_fl_stack){0, 0, RS_FL_NONE};
        flight->n_stacks = 1;
    }
    RS_SCOPED(free_maps)
    maps m = {.text = rs_malloc(draft->texts.n * sizeof(uint32_t)),
              .call = rs_malloc(draft->call_keys.n * sizeof(uint32_t)),
              .frame = rs_malloc(draft->frame_keys.n * sizeof(uint32_t)),
              .stack = rs_malloc(draft->stack_keys.n * sizeof(uint32_t))};
    return merge(flight, draft, &m, err);
}
