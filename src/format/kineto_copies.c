/* Copies as PyTorch 2.15's own profiler writes them: all of them are called "Memcpy", and arguments say from where to where. Here they
 * get the name that Kineto gives them: "Memcpy HtoD (Pageable -> Device)". */
#include <string.h>

#include "format/kineto_core.h"

#define LONGEST 40 /* bytes of a word that are taken over */

typedef struct copy_name {
    char text[3 * LONGEST + 32];
    size_t n;
} copy_name;

static void add(copy_name *name, const char *text, size_t n)
{
    if (n > LONGEST) n = LONGEST;
    memcpy(name->text + name->n, text, n);
    name->n += n;
}

/* "device_static" as "Device Static" */
static void add_memory(copy_name *name, const rs_string *kind)
{
    size_t from = name->n;
    add(name, kind->text, kind->length);
    for (size_t i = from; i < name->n; i++) {
        char *c = &name->text[i];
        if (*c == '_') *c = ' ';
        if ((i == from || c[-1] == ' ') && *c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
    }
}

static const rs_string *text_at(const rs_events *e, rs_column_id column, uint32_t row)
{
    uint32_t id = rs_events_text(e, column, row);
    return id == RS_NO_STRING ? NULL : &e->strings.items[id];
}

rs_status rs_kineto_name_copies(rs_events *e, rs_error *err)
{
    const rs_sparse *kinds = &e->args[RS_COL_COPY_KIND];
    for (size_t i = 0; i < kinds->n; i++) {
        uint32_t row = kinds->rows[i];
        const rs_string *kind = &e->strings.items[kinds->texts[i]];
        const rs_string *from = text_at(e, RS_COL_SOURCE_KIND, row),
                        *to = text_at(e, RS_COL_TARGET_KIND, row);
        if (rs_event_kind(e, row) != RS_KIND_MEMCPY || strcmp(rs_event_name(e, row), "Memcpy") != 0) continue;
        copy_name name = {.n = 0};
        add(&name, "Memcpy ", 7);
        add(&name, kind->text, kind->length);
        if (from && to) {
            add(&name, " (", 2);
            add_memory(&name, from);
            add(&name, " -> ", 4);
            add_memory(&name, to);
            add(&name, ")", 1);
        }
        uint32_t id = rs_strings_add(&e->strings, name.text, name.n);
        if (id == RS_NO_STRING) return rs_fail_nomem(err, "names");
        e->name[row] = id;
    }
    return RS_OK;
}
