/* Process groups: read, numbered, written. */
#include "chakra/groups.h"

#include <stdio.h>
#include <string.h>

#include "base/order.h"
#include "base/try.h"
#include "input/json.h"
#include "input/source.h"
#include "text/writer.h"

#define MAX_RANKS (1 << 20)

/* ---- names ------------------------------------------------------------------------------------------ */

bool rs_group_is_number(const char *name)
{
    size_t n = strspn(name, "0123456789");
    return n && n <= 9 && !name[n] && (n == 1 || name[0] != '0');
}

static bool is_zero(const char *name)
{
    return !name[0] || strcmp(name, "0") == 0;
}

const rs_group *rs_groups_find(const rs_groups *groups, const char *name)
{
    uint32_t at = name ? rs_strings_find(&groups->names, name, strlen(name)) : RS_NO_STRING;
    return at == RS_NO_STRING || at == 0 ? NULL : &groups->items[at - 1];
}

int64_t rs_group_rank(const rs_group *group, int64_t place)
{
    if (place < 0 || (uint64_t)place >= group->n_ranks) return -1;
    return group->ranks ? group->ranks[place] : place;
}

/* ---- reading ---------------------------------------------------------------------------------------- */

bool rs_groups_are_declared_by(const rs_linked_node *n)
{
    static const char name[] = "\"## process_group:init ##\"";
    return !n->gpu && n->name.n == sizeof name - 1 && memcmp(n->name.bytes, name, n->name.n) == 0;
}

/* A group without ranks holds all of them. */
static bool take_ranks(rs_groups *groups, rs_slice list, rs_slice size, rs_group *group)
{
    rs_slice_walk walk = rs_slice_elements(list);
    rs_slice rank;
    int64_t value = 0, *ranks = NULL;
    size_t n = 0;
    while (rs_slice_next(&walk, &rank)) n += rs_slice_int(rank, &value);
    if (!n) {
        if (rs_slice_int(size, &value) && value > 0 && value <= MAX_RANKS) group->n_ranks = (size_t)value;
        return true;
    }
    if (!(ranks = rs_arena_alloc(&groups->arena, n * sizeof *ranks))) return false;
    walk = rs_slice_elements(list);
    while (rs_slice_next(&walk, &rank))
        if (rs_slice_int(rank, &value)) ranks[group->n_ranks++] = value;
    group->ranks = ranks;
    return true;
}

/* The first word on a group holds; "" names none. */
static bool add_group(rs_groups *groups, rs_slice name, rs_slice ranks, rs_slice size, rs_slice desc)
{
    static const char world[] = "\"default_pg\"";
    if (!name.bytes) return true;
    const char *text = rs_slice_text(name, &groups->arena);
    if (!text) return false;
    if (!*text || rs_groups_find(groups, text)) return true;
    if (rs_strings_add(&groups->names, text, strlen(text)) == RS_NO_STRING ||
        !RS_GROW_ONE(groups->items, groups->n, groups->capacity))
        return false;
    rs_group *group = &groups->items[groups->n++];
    bool is_world = desc.n == sizeof world - 1 && memcmp(desc.bytes, world, desc.n) == 0;
    *group = (rs_group){.name = text, .as = text, .is_default = is_zero(text) || is_world};
    return take_ranks(groups, ranks, size, group);
}

/* Whether a text is one whole JSON value; the slices that follow take it for granted. */
static bool is_json(const char *text, size_t n)
{
    rs_json_reader r;
    rs_json_token token;
    rs_json_reader_init(&r, text, n);
    while ((token = rs_json_next(&r)) != RS_JSON_T_END)
        if (token == RS_JSON_T_ERROR) return false;
    return rs_json_space(r.p, r.end) == r.end;
}

static rs_slice trimmed(const char *text)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + strlen(text);
    p = rs_json_space(p, end);
    while (end > p && rs_json_is_space(end[-1])) end--;
    return (rs_slice){p, (size_t)(end - p)};
}

/* The list of a declaration as text in the arena, and where it is a list also as such. */
static bool declared_list(const rs_linked_body *body, rs_arena *arena, rs_slice *at, rs_slice *list)
{
    rs_slice_walk values = rs_slice_elements(body->inputs.values);
    *list = (rs_slice){NULL, 0};
    *at = (rs_slice){NULL, 0};
    if (!rs_slice_next(&values, at)) return true;
    const char *text = rs_slice_text(*at, arena);
    if (!text) return false;
    if (is_json(text, strlen(text))) *list = trimmed(text);
    return true;
}

static bool add_list(rs_groups *groups, rs_slice list)
{
    rs_slice_walk walk = rs_slice_elements(list);
    rs_slice group;
    while (rs_slice_next(&walk, &group))
        if (!add_group(groups, rs_slice_member(group, "pg_name"), rs_slice_member(group, "ranks"),
                       rs_slice_member(group, "group_size"), rs_slice_member(group, "pg_desc")))
            return false;
    return true;
}

static bool read_declaration(const rs_linked *linked, const rs_linked_node *n, rs_groups *groups,
                             rs_problems *problems)
{
    rs_slice at, list;
    rs_linked_body body = rs_linked_body_of(linked, n);
    if (!declared_list(&body, &groups->arena, &at, &list)) return false;
    if (at.bytes && !list.bytes)
        rs_problems_add(problems, linked->file, -1, RS_WARNING, "bad_process_groups",
                        "a declaration of process groups is no JSON; its groups are left out",
                        rs_linked_offset(linked, at.bytes));
    return add_list(groups, list);
}

/* A kernel tells of its own group; the ranks are a JSON list in a string, or the list itself. A list that the
 * profiler cut short is no JSON and says nothing. */
static bool read_arguments(const rs_linked_more *n, rs_groups *groups, rs_arena *scratch)
{
    if (!n->args.bytes) return true;
    rs_slice name = rs_slice_member(n->args, "Process Group Name");
    if (!rs_slice_is_text(name)) return true;
    rs_arena_reset(scratch);
    const char *text = rs_slice_text(name, scratch);
    if (!text) return false;
    if (rs_groups_find(groups, text)) return true;
    rs_slice ranks = rs_slice_member(n->args, "Process Group Ranks");
    if (rs_slice_is_text(ranks)) {
        const char *list = rs_slice_text(ranks, &groups->arena);
        if (!list) return false;
        ranks = is_json(list, strlen(list)) ? trimmed(list) : (rs_slice){NULL, 0};
    }
    if (!ranks.bytes || ranks.bytes[0] != '[') return true;
    return add_group(groups, name, ranks, rs_slice_member(n->args, "Group size"),
                     rs_slice_member(n->args, "Process Group Description"));
}

/* ---- one by one ------------------------------------------------------------------------------------- */

rs_status rs_groups_init(rs_groups *groups, rs_error *err)
{
    *groups = (rs_groups){0};
    return rs_strings_init(&groups->names) ? RS_OK : rs_fail_nomem(err, "process groups");
}

/* Takes one level of backslashes off, as in a Python literal. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *p = text; *p; p++) {
        if (*p == '\\' && (p[1] == '\\' || p[1] == '\'')) p++;
        *to++ = *p;
    }
    *to = '\0';
}

rs_status rs_groups_add_input(rs_groups *groups, const char *values, bool *known, rs_error *err)
{
    size_t n = strlen(values);
    *known = false;
    if (n < 4 || values[0] != '[' || values[n - 1] != ']') return RS_OK;
    char *text = rs_arena_strndup(&groups->arena, values + 2, n - 4);
    if (!text) return rs_fail_nomem(err, "process groups");
    if (!is_json(text, strlen(text))) unescape(text);
    rs_slice list = is_json(text, strlen(text)) ? trimmed(text) : (rs_slice){NULL, 0};
    if (!list.bytes || list.bytes[0] != '[') return RS_OK;
    *known = true;
    return add_list(groups, list) ? RS_OK : rs_fail_nomem(err, "process groups");
}

/* later: the text's word counts more than what is known. */
static rs_status add_members(rs_groups *groups, const char *path, const char *text, size_t n, bool later,
                             rs_error *err)
{
    rs_json_reader r;
    rs_json_reader_init(&r, text, n);
    if (!is_json(text, n) || rs_json_next(&r) != RS_JSON_T_OBJECT)
        return rs_fail_at(err, RS_ERR_FORMAT, path, 0,
                          "this is no file of process groups: {\"number\": [ranks]}");
    while (rs_json_next(&r) == RS_JSON_T_KEY) {
        rs_group group = {0};
        char *name = rs_arena_alloc(&groups->arena, 3 * r.text.length + 1);
        if (!name) return rs_fail_nomem(err, "process groups");
        name[rs_json_decode(r.text.bytes, r.text.length, name, NULL)] = '\0';
        const uint8_t *from = r.p;
        if (!rs_json_skip_value(&r)) break;
        while (from < r.p && (rs_json_is_space(*from) || *from == ':')) from++;
        rs_slice none = {NULL, 0}, ranks = {from, (size_t)(r.p - from)};
        if (!*name) continue;
        uint32_t at = rs_strings_find(&groups->names, name, strlen(name));
        if (at != RS_NO_STRING && !later) continue;
        if (at == RS_NO_STRING) {
            if (rs_strings_add(&groups->names, name, strlen(name)) == RS_NO_STRING ||
                !RS_GROW_ONE(groups->items, groups->n, groups->capacity))
                return rs_fail_nomem(err, "process groups");
            at = (uint32_t)++groups->n;
        }
        group.name = group.as = name;
        group.is_default = is_zero(name);
        if (!take_ranks(groups, ranks, none, &group)) return rs_fail_nomem(err, "process groups");
        groups->items[at - 1] = group;
    }
    return RS_OK;
}

rs_status rs_groups_add_file(rs_groups *groups, const char *path, uint64_t max_ratio, rs_error *err)
{
    rs_source *source;
    uint8_t *text = NULL;
    size_t n = 0;
    RS_TRY(rs_source_open(path, max_ratio, &source, err));
    rs_status status = rs_source_read_all(source, SIZE_MAX / 8, &text, &n, err);
    rs_source_close(source);
    if (status == RS_OK) status = add_members(groups, path, (const char *)text, n, true, err);
    rs_free(text);
    return status;
}

/* ---- numbers for names ------------------------------------------------------------------------------ */

typedef struct naming {
    rs_group *group;
    const int64_t *sorted; /* NULL: 0 and on */
} naming;

static const rs_order by_value[] = {RS_RISING_VALUE(int64_t)};

static int by_ranks(const void *a, const void *b)
{
    const naming *x = a, *y = b;
    size_t n = x->group->n_ranks, m = y->group->n_ranks;
    for (size_t i = 0; i < n && i < m; i++) {
        int64_t p = x->sorted ? x->sorted[i] : (int64_t)i, q = y->sorted ? y->sorted[i] : (int64_t)i;
        if (p != q) return p < q ? -1 : 1;
    }
    if (n != m) return n < m ? -1 : 1;
    return strcmp(x->group->name, y->group->name);
}

static bool sort_ranks(rs_groups *groups, naming *x)
{
    const rs_group *g = x->group;
    bool ordered = true;
    for (size_t i = 1; g->ranks && i < g->n_ranks; i++) ordered &= g->ranks[i - 1] <= g->ranks[i];
    x->sorted = g->ranks;
    if (ordered) return true;
    int64_t *copy = rs_arena_alloc(&groups->arena, g->n_ranks * sizeof *copy);
    if (!copy) return false;
    memcpy(copy, g->ranks, g->n_ranks * sizeof *copy);
    RS_SORT(copy, g->n_ranks, by_value);
    x->sorted = copy;
    return true;
}

static bool number_groups(rs_groups *groups)
{
    RS_LOCAL naming *order = rs_malloc((groups->n + 1) * sizeof *order);
    size_t n = 0;
    bool ok = order != NULL;
    for (size_t i = 0; ok && i < groups->n; i++) {
        if (rs_group_is_number(groups->items[i].name)) continue;
        order[n] = (naming){.group = &groups->items[i]};
        ok = sort_ranks(groups, &order[n++]);
    }
    if (ok && n) qsort(order, n, sizeof *order, by_ranks);
    uint64_t number = 0;
    for (size_t i = 0; ok && i < n; i++) {
        char text[24];
        int length;
        do {
            length = snprintf(text, sizeof text, "%llu", (unsigned long long)++number);
        } while (rs_groups_find(groups, text));
        char *copy = rs_arena_strndup(&groups->arena, text, (size_t)length);
        ok = copy != NULL;
        order[i].group->as = copy;
    }
    groups->renamed = n;
    return ok;
}

rs_status rs_groups_read(const rs_linked *linked, bool numbered, rs_groups *groups, rs_problems *problems,
                         rs_error *err)
{
    rs_arena scratch = {0};
    bool ok = true;
    RS_TRY(rs_groups_init(groups, err));
    for (size_t i = 0; ok && i < linked->n_nodes; i++)
        if (rs_groups_are_declared_by(&linked->nodes[i]))
            ok = read_declaration(linked, &linked->nodes[i], groups, problems);
    for (size_t i = 0; ok && i < linked->n_nodes; i++)
        if (linked->nodes[i].gpu)
            ok = read_arguments(rs_linked_more_of(linked, &linked->nodes[i]), groups, &scratch);
    rs_arena_clear(&scratch);
    ok = ok && (!numbered || number_groups(groups));
    if (ok) return RS_OK;
    rs_groups_clear(groups);
    return rs_fail_nomem(err, "process groups");
}

void rs_groups_clear(rs_groups *groups)
{
    rs_strings_clear(&groups->names);
    rs_arena_clear(&groups->arena);
    rs_free(groups->items);
    *groups = (rs_groups){0};
}

/* ---- writing ---------------------------------------------------------------------------------------- */

static bool keep(void *context, const char *bytes, size_t n)
{
    rs_slice *to = context; /* n: what is used of the room that was measured before */
    memcpy((char *)to->bytes + to->n, bytes, n);
    to->n += n;
    return true;
}

/* Longer than its number no name gets: ten digits and two quotes. */
static void put_list(const rs_groups *groups, rs_slice list, rs_arena *arena, rs_writer *w)
{
    rs_slice_walk walk = rs_slice_elements(list);
    rs_slice group;
    const uint8_t *from = list.bytes;
    while (rs_slice_next(&walk, &group)) {
        rs_slice name = rs_slice_member(group, "pg_name");
        const char *text = name.bytes ? rs_slice_text(name, arena) : NULL;
        const rs_group *known = rs_groups_find(groups, text);
        if (!known || known->as == known->name) continue;
        rs_writer_bytes(w, (const char *)from, (size_t)(name.bytes - from));
        rs_writer_json_string(w, known->as, strlen(known->as));
        from = name.bytes + name.n;
    }
    rs_writer_bytes(w, (const char *)from, (size_t)(list.bytes + list.n - from));
}

const char *rs_groups_list(const rs_groups *groups, const rs_linked_body *body, rs_arena *arena)
{
    rs_slice at, list;
    if (!declared_list(body, arena, &at, &list)) return NULL;
    if (!list.bytes || list.bytes[0] != '[') return "[]";
    if (list.n > SIZE_MAX / 16) return NULL;
    rs_slice out = {rs_arena_alloc(arena, 12 * list.n + 1), 0};
    rs_writer *w = rs_malloc(sizeof *w);
    if (!out.bytes || !w) {
        rs_free(w);
        return NULL;
    }
    rs_sink sink = {keep, &out};
    rs_writer_init(w, &sink);
    put_list(groups, list, arena, w);
    rs_writer_flush(w);
    rs_free(w);
    ((char *)out.bytes)[out.n] = '\0';
    return (const char *)out.bytes;
}

rs_status rs_groups_write(const rs_groups *groups, const rs_sink *sink, uint64_t *written, rs_error *err)
{
    rs_writer w;
    rs_writer_init(&w, sink);
    *written = 0;
    rs_writer_char(&w, '{');
    for (size_t i = 0; i < groups->n; i++) {
        const rs_group *g = &groups->items[i];
        if (is_zero(g->as)) continue; /* the number of the default group is reserved */
        rs_writer_text(&w, (*written)++ ? ",\n  " : "\n  ");
        rs_writer_json_string(&w, g->as, strlen(g->as));
        rs_writer_text(&w, ": [");
        for (size_t k = 0; k < g->n_ranks; k++) {
            if (k) rs_writer_text(&w, ", ");
            rs_writer_int(&w, rs_group_rank(g, (int64_t)k));
        }
        rs_writer_char(&w, ']');
    }
    rs_writer_text(&w, *written ? "\n}\n" : "}\n");
    return rs_writer_finish(&w, err);
}

rs_status rs_chakra_join_groups(const char *const *texts, const size_t *lengths, size_t n_texts,
                                const rs_sink *sink, rs_error *err)
{
    rs_groups groups;
    uint64_t written;
    rs_status status = rs_groups_init(&groups, err);
    for (size_t i = 0; i < n_texts && status == RS_OK; i++)
        status = add_members(&groups, "process groups", texts[i], lengths[i], false, err);
    if (status == RS_OK) status = rs_groups_write(&groups, sink, &written, err);
    rs_groups_clear(&groups);
    return status;
}
