/* The traces of a job held against each other: what its ranks do together must fit. */
#include <stdio.h>
#include <string.h>

#include "base/order.h"
#include "base/search.h"
#include "base/settings.h"
#include "base/try.h"
#include "chakra/check_internal.h"

enum { SEND = 5, RECEIVE = 6, COLLECTIVE = 7 };
#define SHOWN 20
#define MOST_NAMES 64 /* of one group: hostile traces have more */

typedef rs_check_call call;

/* A group of the job: a name and its members. */
typedef struct job_group {
    const char *name, *members;
    const rs_group *group; /* of some file; NULL: nothing tells the members */
    size_t first, n;       /* of the calls */
    uint32_t with;         /* another name of the same group on other ranks; itself */
    uint32_t next;         /* the next name that is with the same; RS_LINKED_NONE */
} job_group;

typedef struct message {
    int64_t src, dst, tag, size;
    uint64_t node;
    uint32_t file;
    bool sends, of_host;
} message;

typedef struct matching {
    rs_check *files;
    size_t n;
    rs_map64 by_rank; /* file */
    call *calls;
    size_t n_calls, calls_capacity;
    job_group *groups;
    size_t n_groups, groups_capacity;
    rs_strings keys;
    message *messages;
    size_t n_messages, messages_capacity;
    rs_writer *out;    /* what is wrong, a line each */
    rs_json_put *json; /* NULL: not asked for */
    uint64_t faults, collectives, pairs, skipped, other_sizes, nameless;
    uint64_t on_edges; /* of the host, that other ranks recorded no more */
    rs_check_job job;  /* the replay of all ranks */
    rs_error *err;
} matching;

static const rs_check_node *node_of(const matching *m, const call *k)
{
    const rs_check *c = &m->files[k->file];
    return &c->nodes[c->comms[k->at].node];
}

static const rs_check_comm *comm_of(const matching *m, const call *k)
{
    return &m->files[k->file].comms[k->at];
}

static uint32_t file_of(const matching *m, int64_t rank)
{
    const uint32_t *at = rs_map64_get(&m->by_rank, (uint64_t)rank);
    return at ? *at : RS_LINKED_NONE;
}

/* ---- what is wrong ---------------------------------------------------------------------------------- */

static void tell(matching *m, const char *kind, const char *text)
{
    if (m->faults++ < SHOWN) {
        RS_WRITE(m->out, "  ", text, "\n");
    }
    if (!m->json || m->faults > RS_MAX_FINDINGS) return;
    rs_json_put_open(m->json, NULL, '{', RS_JSON_LINE);
    rs_json_put_text(m->json, "kind", kind);
    rs_json_put_text(m->json, "message", text);
    rs_json_put_close(m->json);
}

/* ---- collectives ------------------------------------------------------------------------------------ */

static const char *collective_name(const rs_check_comm *k)
{
    static const char *const names[] = {
        "all_reduce", "reduce",         "all_gather",           "gather", "scatter", "broadcast",
        "all_to_all", "reduce_scatter", "reduce_scatter_block", "barrier"};
    if (!k->has_type) return "a collective without a type";
    return k->type >= 0 && k->type < 10 ? names[k->type] : "a collective of unknown type";
}

static const rs_order by_value[] = {RS_RISING_VALUE(int64_t)};

/* The members as text, sorted; "" when unknown. NULL when out of memory. */
static char *members_of(const rs_group *g, rs_arena *arena)
{
    if (!g) return rs_arena_strndup(arena, "", 0);
    int64_t *ranks = rs_malloc((g->n_ranks + 1) * sizeof *ranks);
    char *text = rs_arena_alloc(arena, 22 * g->n_ranks + 1);
    size_t n = 0;
    if (ranks && text) {
        for (size_t i = 0; i < g->n_ranks; i++) ranks[i] = rs_group_rank(g, (int64_t)i);
        RS_SORT(ranks, g->n_ranks, by_value);
        for (size_t i = 0; i < g->n_ranks; i++)
            n += (size_t)snprintf(text + n, 22, "%s%lld", i ? "," : "", (long long)ranks[i]);
        text[n] = '\0';
    }
    rs_free(ranks);
    return ranks ? text : NULL;
}

/* The members of each group of a file as text, once. */
typedef struct file_groups {
    const char **members; /* by place of the group */
    rs_arena arena;
} file_groups;

static bool add_call(matching *m, uint32_t file, uint32_t at, file_groups *known)
{
    const rs_check *c = &m->files[file];
    const rs_check_comm *k = &c->comms[at];
    const char *name = k->group && *k->group ? k->group : "0";
    const rs_group *group = rs_groups_find(&c->groups, name);
    const char *members = "";
    if (group) {
        const char **slot = &known->members[group - c->groups.items];
        if (!*slot && !(*slot = members_of(group, &known->arena))) return false;
        members = *slot;
    }
    size_t n = strlen(name), length = strlen(members);
    char *key = rs_malloc(n + length + 2);
    if (!key) return false;
    memcpy(key, name, n);
    key[n] = '\n';
    memcpy(key + n + 1, members, length + 1);
    size_t before = m->keys.n;
    uint32_t id = rs_strings_add(&m->keys, key, n + length + 1);
    rs_free(key);
    if (id == RS_NO_STRING) return false;
    if (m->keys.n > before) {
        if (!RS_GROW_ONE(m->groups, m->n_groups, m->groups_capacity)) return false;
        const char *text = m->keys.items[id].text;
        char *copy = rs_arena_strndup(&m->keys.arena, text, n);
        if (!copy) return false;
        m->groups[m->n_groups] = (job_group){.name = copy,
                                             .members = text + n + 1,
                                             .group = group,
                                             .with = (uint32_t)m->n_groups,
                                             .next = RS_LINKED_NONE};
        m->n_groups++;
    }
    return RS_PUSH(m->calls, m->n_calls, m->calls_capacity,
                   (call){id - 1, file, c->nodes[k->node].start, at});
}

static const rs_order in_order[] = {RS_RISING(call, group), RS_RISING(call, file), RS_RISING(call, start),
                                    RS_RISING(call, at)};

static bool find_calls(matching *m)
{
    bool ok = true;
    for (size_t f = 0; f < m->n && ok; f++) {
        const rs_check *c = &m->files[f];
        file_groups known = {.members = rs_calloc(c->groups.n + 1, sizeof *known.members)};
        ok = known.members != NULL;
        for (size_t i = 0; i < c->n_comms && ok; i++)
            if (c->nodes[c->comms[i].node].type == COLLECTIVE)
                ok = add_call(m, (uint32_t)f, (uint32_t)i, &known);
        rs_free(known.members);
        rs_arena_clear(&known.arena);
    }
    if (ok && m->n_calls) RS_SORT(m->calls, m->n_calls, in_order);
    for (size_t i = 0; ok && i < m->n_calls; i++) {
        job_group *g = &m->groups[m->calls[i].group];
        if (!g->n++) g->first = i;
    }
    return ok;
}

/* The calls of one rank in a group. */
static size_t calls_of(const matching *m, const job_group *g, uint32_t file, const call **first)
{
    size_t from, end = g->first + g->n;
    RS_SEARCH_BETWEEN(from, g->first, end, m->calls[from].file < file);
    *first = &m->calls[from];
    size_t n = 0;
    while (from + n < end && m->calls[from + n].file == file) n++;
    return n;
}

static bool shares_a_rank(const matching *m, const job_group *a, const job_group *b)
{
    const call *ignored;
    for (size_t i = a->first; i < a->first + a->n; i++)
        if ((i == a->first || m->calls[i].file != m->calls[i - 1].file) &&
            calls_of(m, b, m->calls[i].file, &ignored))
            return true;
    return false;
}

static int by_members(const void *a, const void *b)
{
    const job_group *const *x = a, *const *y = b;
    int c = strcmp((*x)->members, (*y)->members);
    return c ? c : (*x > *y) - (*x < *y);
}

/* Names of groups may be those of one process only: ranks that have the same members under names of which no
 * rank has two mean one group. */
static bool join_names(matching *m)
{
    RS_LOCAL const job_group **order = rs_malloc((m->n_groups + 1) * sizeof *order);
    if (!order) return false;
    for (size_t i = 0; i < m->n_groups; i++) order[i] = &m->groups[i];
    if (m->n_groups) qsort(order, m->n_groups, sizeof *order, by_members);
    for (size_t i = 0; i < m->n_groups; i++) {
        size_t n = 1;
        if (!*order[i]->members || order[i]->with != order[i] - m->groups) continue;
        for (size_t k = i + 1; k < m->n_groups && strcmp(order[i]->members, order[k]->members) == 0; k++) {
            uint32_t head = (uint32_t)(order[i] - m->groups), at = (uint32_t)(order[k] - m->groups);
            bool apart = m->groups[at].with == at && n < MOST_NAMES;
            for (uint32_t j = head; j != RS_LINKED_NONE && apart; j = m->groups[j].next)
                apart = !shares_a_rank(m, &m->groups[j], &m->groups[at]);
            if (!apart) continue;
            m->groups[at].with = head;
            m->groups[at].next = m->groups[head].next;
            m->groups[head].next = at;
            n++;
        }
    }
    return true;
}

/* The calls of one rank in a group under whichever name it has them. */
static size_t joined_calls(const matching *m, uint32_t group, uint32_t file, const call **first)
{
    size_t n = calls_of(m, &m->groups[group], file, first);
    for (uint32_t k = m->groups[group].next; k != RS_LINKED_NONE && !n; k = m->groups[k].next)
        n = calls_of(m, &m->groups[k], file, first);
    return n;
}

static bool differ(matching *m, const call *a, const call *b)
{
    const rs_check_comm *x = comm_of(m, a), *y = comm_of(m, b);
    if (x->has_type != y->has_type || x->type != y->type) return true;
    const rs_check_node *p = node_of(m, a), *q = node_of(m, b);
    if (p->has_size == q->has_size && p->size == q->size) return false;
    /* each rank may give or get another share: gather, scatter, all_to_all */
    bool may = x->type == 3 || x->type == 4 || x->type == 6;
    m->other_sizes += may;
    return !may;
}

static void describe(const matching *m, const call *k, char *text, size_t size)
{
    const rs_check_node *n = node_of(m, k);
    char bytes[40] = "no size";
    if (n->has_size) snprintf(bytes, sizeof bytes, "%lld bytes", (long long)n->size);
    snprintf(text, size, "rank %lld node %llu %s, %s", (long long)m->files[k->file].rank,
             (unsigned long long)n->id, collective_name(comm_of(m, k)), bytes);
}

static void compare_ranks(matching *m, const job_group *g, const call *a, size_t n, uint32_t first_file,
                          const call *b, size_t k, uint32_t file)
{
    char text[600], x[160], y[160];
    for (size_t i = 0; i < n && i < k; i++) {
        if (!differ(m, &a[i], &b[i])) continue;
        describe(m, &a[i], x, sizeof x);
        describe(m, &b[i], y, sizeof y);
        snprintf(text, sizeof text, "group %.60s (ranks %.120s): collective %zu is not the same: %s; %s",
                 g->name, *g->members ? g->members : "unknown", i + 1, x, y);
        tell(m, "collective", text);
        return;
    }
    if (n == k) return;
    const call *rest = n > k ? a : b;
    size_t more = n > k ? n : k, fewer = n > k ? k : n;
    /* A worker of the host begins when it can: the last ones may be after the recording's end. */
    if (!node_of(m, &rest[fewer])->gpu) {
        m->on_edges += more - fewer;
        return;
    }
    if (n > k)
        describe(m, &a[k], x, sizeof x);
    else
        describe(m, &b[n], x, sizeof x);
    snprintf(
        text, sizeof text,
        "group %.60s (ranks %.120s): rank %lld has %zu collectives, rank %lld has %zu; collective %zu is "
        "alone: %s",
        g->name, *g->members ? g->members : "unknown", (long long)m->files[first_file].rank, n,
        (long long)m->files[file].rank, k, (n < k ? n : k) + 1, x);
    tell(m, "collective", text);
}

/* A group whose members nobody tells: the ranks that have it; the default group is all. */
static bool is_member(const matching *m, const job_group *g, uint32_t file, size_t n)
{
    if (!g->group) return n || strcmp(g->name, "0") == 0;
    for (size_t i = 0; i < g->group->n_ranks; i++)
        if (rs_group_rank(g->group, (int64_t)i) == m->files[file].rank) return true;
    return n > 0;
}

static void compare_group(matching *m, uint32_t at)
{
    const job_group *g = &m->groups[at];
    const call *first = NULL, *calls;
    size_t n_first = 0, given = 0;
    uint32_t first_file = RS_LINKED_NONE;
    for (uint32_t f = 0; f < m->n; f++) {
        size_t n = joined_calls(m, at, f, &calls);
        m->collectives += n;
        if (!is_member(m, g, f, n)) continue;
        given++;
        if (first_file == RS_LINKED_NONE) {
            first = calls;
            n_first = n;
            first_file = f;
        } else {
            compare_ranks(m, g, first, n_first, first_file, calls, n, f);
        }
    }
    if (g->group && g->group->n_ranks > given) m->skipped += g->group->n_ranks - given;
}

/* ---- sends and receives ----------------------------------------------------------------------------- */

static const rs_order by_message[] = {
    RS_RISING(message, src),    RS_RISING(message, dst),  RS_RISING(message, tag), RS_RISING(message, size),
    RS_FALLING(message, sends), RS_RISING(message, file), RS_RISING(message, node)};

static bool find_messages(matching *m)
{
    for (size_t f = 0; f < m->n; f++) {
        const rs_check *c = &m->files[f];
        for (size_t i = 0; i < c->n_comms; i++) {
            const rs_check_comm *k = &c->comms[i];
            const rs_check_node *n = &c->nodes[k->node];
            if (n->type != SEND && n->type != RECEIVE) continue;
            if (!k->has_src || !k->has_dst || !k->has_tag) {
                m->nameless++;
                continue;
            }
            if (!RS_PUSH(m->messages, m->n_messages, m->messages_capacity,
                         (message){k->src, k->dst, k->tag, n->has_size ? n->size : -1, n->id, (uint32_t)f,
                                   n->type == SEND, !n->gpu}))
                return false;
        }
    }
    RS_SORT(m->messages, m->n_messages, by_message);
    return true;
}

static bool same_key(const message *a, const message *b)
{
    return a->src == b->src && a->dst == b->dst && a->tag == b->tag && a->size == b->size;
}

static void tell_lonely(matching *m, const message *x)
{
    char text[300], bytes[40] = "no size";
    int64_t peer = x->sends ? x->dst : x->src, own = x->sends ? x->src : x->dst;
    if (own == m->files[x->file].rank && file_of(m, peer) == RS_LINKED_NONE) {
        m->skipped++;
        return;
    }
    if (x->of_host && own == m->files[x->file].rank) {
        m->on_edges++;
        return;
    }
    if (x->size >= 0) snprintf(bytes, sizeof bytes, "%lld bytes", (long long)x->size);
    snprintf(text, sizeof text, "rank %lld node %llu: the %s rank %lld (tag %lld, %s)%s",
             (long long)m->files[x->file].rank, (unsigned long long)x->node,
             x->sends ? "send to" : "receive from", (long long)peer, (long long)x->tag, bytes,
             own != m->files[x->file].rank ? " names another rank as its own"
             : x->sends                    ? " has no receive there"
                                           : " has no send there");
    tell(m, x->sends ? "send" : "receive", text);
}

/* Sends stand before receives of the same key; each takes one that is on the rank it names. */
static void match_messages(matching *m)
{
    for (size_t i = 0, end; i < m->n_messages; i = end) {
        size_t half, sends, receives, both;
        for (end = i + 1; end < m->n_messages && same_key(&m->messages[i], &m->messages[end]); end++) {
        }
        for (half = i; half < end && m->messages[half].sends; half++) {
        }
        sends = half - i;
        receives = end - half;
        both = sends < receives ? sends : receives;
        for (size_t k = 0; k < both; k++) {
            const message *a = &m->messages[i + k], *b = &m->messages[half + k];
            bool fits = m->files[a->file].rank == a->src && m->files[b->file].rank == b->dst;
            m->pairs += fits;
            if (!fits) tell_lonely(m, a);
            if (!fits) tell_lonely(m, b);
        }
        for (size_t k = both; k < sends; k++) tell_lonely(m, &m->messages[i + k]);
        for (size_t k = both; k < receives; k++) tell_lonely(m, &m->messages[half + k]);
    }
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static rs_status number_files(matching *m)
{
    bool all = true;
    for (size_t f = 0; f < m->n; f++) all &= m->files[f].has_rank;
    for (size_t f = 0; f < m->n; f++) {
        bool fresh;
        if (!all) m->files[f].rank = (int64_t)f;
        uint32_t *at = rs_map64_put(&m->by_rank, (uint64_t)m->files[f].rank, &fresh);
        if (!at) return rs_fail_nomem(m->err, "ranks");
        if (!fresh)
            return rs_fail(m->err, RS_ERR_USAGE, "%s and %s are both rank %lld by their names",
                           m->files[*at].path, m->files[f].path, (long long)m->files[f].rank);
        *at = (uint32_t)f;
    }
    return RS_OK;
}

static void put_count(rs_writer *w, uint64_t n, const char *text)
{
    if (!n) return;
    RS_WRITE(w, "; ", n, text);
}

static void put_sum(const matching *m, rs_writer *w)
{
    size_t groups = 0;
    for (size_t i = 0; i < m->n_groups; i++) groups += m->groups[i].with == i;
    RS_WRITE(w, m->n, " ranks: ", m->collectives, " collectives in ", groups, " groups, ", m->pairs,
             " sends with their receives, ", m->faults, " faults between ranks");
    put_count(w, m->skipped, " peers or members are not given");
    put_count(w, m->other_sizes, " gathers, scatters or all-to-alls of other sizes");
    put_count(w, m->nameless, " sends or receives name no peer");
    put_count(w, m->on_edges, " of the host are unmatched at an end of the recording");
    rs_writer_char(w, '\n');
    rs_writer_text(w, "replay of all: ");
    if (m->job.n_stuck) rs_writer_text(w, "does not end; until then ");
    rs_check_put_span(w, m->job.has_recorded, m->job.recorded, m->job.time);
    RS_WRITE(w, "; ranks meet ", m->job.meetings, " times");
    if (m->job.has_recorded && !m->job.as_recorded)
        rs_writer_text(w, "; durations are exclusive times: no fault");
    if (m->job.has_recorded && m->job.parts > 1)
        put_count(w, m->job.parts,
                  " parts that no communication ties together: their clocks are as the files have them");
    rs_writer_char(w, '\n');
}

static void put_json_sum(const matching *m, rs_json_put *j)
{
    rs_json_put_close(j); /* findings */
    rs_json_put_uint(j, "ranks", m->n);
    rs_json_put_layout(j, RS_JSON_LINE);
    rs_json_put_uint(j, "collectives", m->collectives);
    rs_json_put_uint(j, "pairs", m->pairs);
    rs_json_put_uint(j, "not_given", m->skipped);
    rs_json_put_uint(j, "other_sizes", m->other_sizes);
    rs_json_put_uint(j, "without_peer", m->nameless);
    rs_json_put_uint(j, "on_edges", m->on_edges);
    rs_json_put_layout(j, RS_JSON_BREAKS);
    rs_json_put_open(j, "replay", '{', RS_JSON_LINE);
    rs_json_put_int(j, "time_ns", m->job.time);
    rs_json_put_known(j, "recorded_ns", m->job.recorded, m->job.has_recorded);
    rs_json_put_uint(j, "meetings", m->job.meetings);
    rs_json_put_uint(j, "stuck", m->job.n_stuck);
    rs_json_put_uint(j, "parts", m->job.parts);
    rs_json_put_close(j);
    rs_json_put_close(j);
    rs_writer_char(j->writer, '\n');
}

/* All ranks together, each group under one number whatever it is called on them. */
static rs_status replay(matching *m)
{
    char text[400];
    for (size_t i = 0; i < m->n_calls; i++) m->calls[i].group = m->groups[m->calls[i].group].with;
    RS_TRY(rs_check_job_run(m->files, m->n, m->calls, m->n_calls, &m->job, m->err));
    const rs_check_job *job = &m->job;
    if (job->n_stuck) {
        tell(m, "stuck", job->stuck);
    } else if (job->has_recorded && job->as_recorded && m->n &&
               rs_check_is_off(job->time, job->recorded, m->files[0].tolerance)) {
        snprintf(text, sizeof text,
                 "the replay of all ranks takes %lld ns, the recording %lld ns: more than --tolerance apart",
                 (long long)job->time, (long long)job->recorded);
        tell(m, "time", text);
    }
    return RS_OK;
}

static rs_status match(matching *m)
{
    RS_TRY(number_files(m));
    if (!rs_strings_init(&m->keys) || !find_calls(m) || !join_names(m) || !find_messages(m))
        return rs_fail_nomem(m->err, "the ranks together");
    for (uint32_t i = 0; i < m->n_groups; i++)
        if (m->groups[i].with == i) compare_group(m, i);
    match_messages(m);
    return replay(m);
}

static void put_files(const matching *m)
{
    if (m->json) {
        rs_json_put_open(m->json, NULL, '{', RS_JSON_BREAKS);
        rs_json_put_open(m->json, "files", '[', RS_JSON_LINES);
    }
    for (size_t f = 0; f < m->n; f++) {
        if (m->json) rs_check_put_json(&m->files[f], m->json);
        if (!rs_check_faults(&m->files[f])) continue;
        RS_WRITE(m->out, m->files[f].path, ":\n");
        rs_check_put_text(&m->files[f], m->out);
    }
    if (!m->json) return;
    rs_json_put_close(m->json);
    rs_json_put_open(m->json, "findings", '[', RS_JSON_LINES);
}

rs_status rs_chakra_check_ranks(const rs_chakra_check_settings *settings, const char *const *paths, size_t n,
                                const rs_sink *sink, uint64_t *faults, rs_error *err)
{
    rs_chakra_check_settings own;
    *faults = 0;
    RS_TAKE_SETTINGS(rs_chakra_check_settings, &own, settings, err);
    settings = &own;
    rs_writer *writers = rs_malloc(2 * sizeof *writers);
    rs_json_put json;
    matching m = {.files = rs_calloc(n + 1, sizeof *m.files), .out = writers, .err = err};
    rs_status status = m.files && writers ? RS_OK : rs_fail_nomem(err, "the ranks together");
    while (status == RS_OK && m.n < n) {
        status = rs_check_open(&m.files[m.n], paths[m.n], settings, err);
        m.n++;
    }
    if (status == RS_OK) {
        rs_writer_init(m.out, sink);
        if (settings->report) {
            rs_writer_init(writers + 1, settings->report);
            rs_json_put_init(m.json = &json, writers + 1);
        }
        put_files(&m);
        status = match(&m);
        if (m.faults > SHOWN) {
            RS_WRITE(m.out, "  and ", m.faults - SHOWN, " more (--report lists them)\n");
        }
        put_sum(&m, m.out);
        if (m.json) put_json_sum(&m, m.json);
        if (status == RS_OK) status = rs_writer_finish(m.out, err);
        if (status == RS_OK && m.json) status = rs_writer_finish(writers + 1, err);
    }
    for (size_t f = 0; f < m.n; f++) {
        *faults += rs_check_faults(&m.files[f]);
        rs_check_clear(&m.files[f]);
    }
    *faults += m.faults;
    rs_map64_clear(&m.by_rank);
    rs_free_all(m.calls, m.groups, m.messages);
    rs_strings_clear(&m.keys);
    rs_free_all(m.files, writers);
    return status;
}
