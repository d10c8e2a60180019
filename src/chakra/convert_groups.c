/* The process groups that a trace declares, as the file that simulators take: {"pg_name": [ranks]}. */
#include <string.h>

#include "chakra/convert_internal.h"
#include "input/json.h"

#define MAX_RANKS (1 << 20)

static bool declares_groups(const rs_linked_node *n)
{
    static const char name[] = "\"## process_group:init ##\"";
    return !n->gpu && n->name.n == sizeof name - 1 && memcmp(n->name.bytes, name, n->name.n) == 0;
}

/* A group without ranks holds all of them. */
static void write_ranks(rs_writer *w, rs_slice ranks, rs_slice size)
{
    rs_slice_walk walk = rs_slice_elements(ranks);
    rs_slice rank;
    int64_t value, n = 0;
    bool any = false;
    rs_writer_char(w, '[');
    while (rs_slice_next(&walk, &rank)) {
        if (!rs_slice_int(rank, &value)) continue;
        if (any) rs_writer_text(w, ", ");
        rs_writer_int(w, value);
        any = true;
    }
    if (!any && rs_slice_int(size, &n) && n <= MAX_RANKS)
        for (int64_t i = 0; i < n; i++) {
            if (i) rs_writer_text(w, ", ");
            rs_writer_int(w, i);
        }
    rs_writer_char(w, ']');
}

/* The list is JSON in a JSON string. */
static rs_status write_list(rs_writer *w, rs_slice list, rs_strings *seen, rs_arena *arena, uint64_t *n,
                            rs_error *err)
{
    rs_slice_walk walk = rs_slice_elements(list);
    rs_slice group;
    while (rs_slice_next(&walk, &group)) {
        rs_slice name = rs_slice_member(group, "pg_name");
        if (!name.bytes) continue;
        const char *text = rs_slice_text(name, arena);
        if (!text) return rs_fail_nomem(err, "process groups");
        size_t length = strlen(text);
        if (rs_strings_find(seen, text, length) != RS_NO_STRING && *text) continue;
        if (rs_strings_add(seen, text, length) == RS_NO_STRING) return rs_fail_nomem(err, "process groups");
        rs_writer_text(w, *n ? ",\n  " : "\n  ");
        rs_writer_json_string(w, text, length);
        rs_writer_text(w, ": ");
        write_ranks(w, rs_slice_member(group, "ranks"), rs_slice_member(group, "group_size"));
        (*n)++;
    }
    return RS_OK;
}

/* Whether a text is one whole JSON value; the slices that follow take it for granted. */
static bool well_formed(const char *text, size_t n)
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

rs_status rs_convert_groups(const rs_linked *linked, const rs_sink *sink, rs_chakra_convert_report *report,
                            rs_error *err)
{
    rs_writer w;
    rs_arena arena = {0};
    rs_strings seen;
    if (!rs_strings_init(&seen)) return rs_fail_nomem(err, "process groups");
    rs_writer_init(&w, sink);
    rs_status status = RS_OK;
    rs_writer_char(&w, '{');
    for (size_t i = 0; i < linked->n_nodes && status == RS_OK; i++) {
        if (!declares_groups(&linked->nodes[i])) continue;
        rs_slice_walk values = rs_slice_elements(linked->nodes[i].inputs.values);
        rs_slice list;
        if (!rs_slice_next(&values, &list)) continue;
        const char *text = rs_slice_text(list, &arena);
        if (!text)
            status = rs_fail_nomem(err, "process groups");
        else if (!well_formed(text, strlen(text)))
            rs_problems_add(&report->problems, linked->file, -1, RS_WARNING, "bad_process_groups",
                            "a declaration of process groups is no JSON; its groups are left out",
                            rs_linked_offset(linked, list.bytes));
        else
            status = write_list(&w, trimmed(text), &seen, &arena, &report->groups, err);
    }
    rs_writer_text(&w, report->groups ? "\n}\n" : "}\n");
    rs_status end = rs_writer_finish(&w, err);
    rs_strings_clear(&seen);
    rs_arena_clear(&arena);
    return status == RS_OK ? end : status;
}
