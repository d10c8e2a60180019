/* `doctor` for people: what is wrong, what it costs, how to mend it; what is right in one line. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/strings.h"
#include "output/face_tools.h"

#define MAX_FINDINGS 40

/* What several ranks have in common: a finding of a check, the first row that says it, and how many do. */
typedef struct saying {
    size_t row, n;
    bool ok;
} saying;

typedef struct sayings {
    rs_strings keys;
    saying *items; /* in the order of their first rows */
    size_t n, capacity;
} sayings;

static bool add_row(sayings *s, const rs_table *t, size_t row)
{
    char key[1200];
    int n = snprintf(key, sizeof key, "%s\n%s", rs_face_string(t, row, "check"),
                     rs_face_string(t, row, "finding"));
    uint32_t id = rs_strings_add(&s->keys, key, n < (int)sizeof key ? (size_t)n : sizeof key - 1);
    if (id == RS_NO_STRING) return false;
    id--; /* 0 is "", which no key is */
    if (id >= s->n) {
        if (!RS_APPEND(s, (saying){.row = row, .ok = strcmp(rs_face_string(t, row, "severity"), "ok") == 0}))
            return false;
    }
    s->items[id].n++;
    return true;
}

static rs_status collect(sayings *s, const rs_table *t, rs_error *err)
{
    bool good = rs_strings_init(&s->keys);
    for (size_t i = 0; good && i < rs_table_n_rows(t); i++) good = add_row(s, t, i);
    return good ? RS_OK : rs_fail_nomem(err, "the findings");
}

static void show_finding(const rs_table *t, const saying *s, rs_page *layout)
{
    char lead[32], text[700];
    size_t i = s->row, alike = s->n - 1;
    snprintf(lead, sizeof lead, "  %-8s ", rs_face_string(t, i, "severity"));
    if (alike)
        snprintf(text, sizeof text, "%s: %s (rank %lld and %zu more)", rs_face_string(t, i, "check"),
                 rs_face_string(t, i, "finding"), (long long)rs_face_int(t, i, "rank", -1), alike);
    else
        snprintf(text, sizeof text, "%s: %s (rank %lld)", rs_face_string(t, i, "check"),
                 rs_face_string(t, i, "finding"), (long long)rs_face_int(t, i, "rank", -1));
    rs_page_wrap(layout, lead, text);
    rs_page_wrap(layout, "           weakens: ", rs_face_string(t, i, "disables"));
    rs_page_wrap(layout, "           remedy:  ", rs_face_string(t, i, "remedy"));
}

static void show_right(const rs_table *t, const sayings *s, rs_page *layout)
{
    char right[400];
    size_t used = 0;
    for (size_t i = 0; i < s->n && used < sizeof right - 128; i++) {
        if (!s->items[i].ok) continue;
        int m = snprintf(right + used, sizeof right - used, "%s%.100s", used ? "; " : "",
                         rs_face_string(t, s->items[i].row, "finding"));
        used += m > 0 ? (size_t)m : 0;
    }
    if (!used) return;
    rs_page_blank(layout);
    rs_page_wrap(layout, "  ok       ", right);
}

rs_status rs_face_doctor(const rs_result *result, rs_page *layout, rs_error *err)
{
    const rs_table *t = rs_result_table(result, "findings");
    sayings s = {0};
    rs_status status = collect(&s, t, err);
    size_t bad = 0, shown = 0;
    for (size_t i = 0; i < s.n; i++) bad += !s.items[i].ok;
    if (status == RS_OK)
        rs_page_heading(layout,
                        result->found ? "This capture is unfit for some of the main analyses"
                        : bad         ? "This capture is usable, with limits"
                                      : "This capture is fit",
                        true);
    for (size_t i = 0; status == RS_OK && i < s.n; i++)
        if (!s.items[i].ok && shown++ < MAX_FINDINGS) show_finding(t, &s.items[i], layout);
    if (shown > MAX_FINDINGS) rs_page_wrap(layout, "  ", "... more: --table findings");
    if (status == RS_OK) show_right(t, &s, layout);
    rs_strings_clear(&s.keys);
    rs_free(s.items);
    const rs_table *launches = rs_result_table(result, "launches");
    if (status != RS_OK || rs_table_n_rows(launches) == 0) return status;
    rs_page_heading(layout, "Launching calls and the work they show", false);
    return rs_page_table(layout, launches, err);
}
