#include "rewrite/scrub.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/try.h"
#include "table/record.h"

static const char *const private_words[RS_N_PRIVATE] = {
    "folder",  "file",   "function", "Module", "annotation", "operator", "kernel", "call",
    "process", "thread", "host",     "group",  "device",     "category", "name",   "word"};

static const char *const place_words[RS_N_LEFT_PLACES] = {"argument", "member", "header"};

typedef struct removed_row {
    const char *what, *how, *key;
    uint64_t distinct, times;
} removed_row;

#define REMOVED_ROW(CELL)                                                                                    \
    CELL(OF(removed_row, what), "what", TEXT, NONE, "what it is", NULL)                                      \
    CELL(OF(removed_row, how), "how", TEXT, NONE,                                                            \
         "replaced: another name takes its place, the same one everywhere; removed: it is not there", NULL)  \
    CELL(OF(removed_row, key), "key", TEXT, NONE, "of what was removed: its key in the file", NULL)          \
    CELL(OF(removed_row, distinct), "distinct", INT, COUNT, "different ones", NULL)                          \
    CELL(OF(removed_row, times), "times", INT, COUNT, "places where it was", NULL)
RS_RECORD(removed, REMOVED_ROW);

const rs_table_spec rs_scrub_table = {"removed", "what is not in the shared trace", removed_columns,
                                      sizeof removed_columns / sizeof *removed_columns};

rs_status rs_scrub_init(rs_scrub *s, bool keep_names, bool keep_values, rs_error *err)
{
    *s = (rs_scrub){.keep_names = keep_names, .keep_values = keep_values};
    bool ok = rs_strings_init(&s->seen) && rs_scrub_init_words(&s->public_words);
    for (size_t i = 0; ok && i < RS_N_PRIVATE; i++) ok = rs_strings_init(&s->private[i].texts);
    for (size_t i = 0; ok && i < RS_N_LEFT_PLACES; i++) ok = rs_strings_init(&s->left[i].texts);
    return ok ? RS_OK : rs_fail_nomem(err, "names");
}

static void counts_clear(rs_scrub_counts *c)
{
    rs_strings_clear(&c->texts);
    rs_free(c->times);
}

void rs_scrub_clear(rs_scrub *s)
{
    for (size_t i = 0; i < s->seen.n && i < s->replaced_capacity; i++) rs_free(s->replaced[i].text);
    rs_free(s->replaced);
    rs_strings_clear(&s->seen);
    rs_strings_clear(&s->public_words);
    for (size_t i = 0; i < RS_N_PRIVATE; i++) counts_clear(&s->private[i]);
    for (size_t i = 0; i < RS_N_LEFT_PLACES; i++) counts_clear(&s->left[i]);
    *s = (rs_scrub){0};
}

rs_status rs_scrub_status(const rs_scrub *s, rs_error *err)
{
    return s->failed ? rs_fail_nomem(err, "names") : RS_OK;
}

/* The text's id, RS_NO_STRING when out of memory. */
static uint32_t count(rs_scrub_counts *c, const char *text, size_t n)
{
    size_t before = c->texts.n;
    uint32_t id = rs_strings_add(&c->texts, text, n);
    if (id == RS_NO_STRING || !rs_grow((void **)&c->times, &c->capacity, c->texts.n, sizeof *c->times))
        return RS_NO_STRING;
    for (size_t i = before == 1 ? 0 : before; i < c->texts.n; i++) c->times[i] = 0;
    c->times[id]++;
    return id;
}

void rs_scrub_private(rs_scrub *s, rs_private of, const char *text, size_t n, char out[RS_SCRUBBED])
{
    uint32_t id = count(&s->private[of], text, n);
    s->failed = s->failed || id == RS_NO_STRING;
    s->kinds |= 1u << of;
    snprintf(out, RS_SCRUBBED, "%s_%u", private_words[of], (unsigned)id);
}

void rs_scrub_count(rs_scrub *s, uint32_t kinds)
{
    for (size_t i = 0; kinds && i < RS_N_PRIVATE; i++) s->places[i] += kinds >> i & 1;
}

void rs_scrub_leave(rs_scrub *s, rs_left_place place, const char *key, size_t n)
{
    s->failed = s->failed || count(&s->left[place], key, n) == RS_NO_STRING;
}

rs_status rs_scrub_report(const rs_scrub *s, rs_table *table, rs_error *err)
{
    for (size_t i = 0; i < RS_N_PRIVATE; i++) {
        const rs_scrub_counts *c = &s->private[i];
        removed_row row = {.what = private_words[i], .how = "replaced", .key = ""};
        if (i == RS_PRIVATE_MODULE) row.what = "module";
        for (size_t k = 0; c->times && k < c->texts.n; k++) row.distinct += c->times[k] > 0;
        row.times = s->places[i];
        if (row.times) RS_TRY(rs_table_put_row(table, &removed_record, 0, &row, err));
    }
    for (size_t i = 0; i < RS_N_LEFT_PLACES; i++) {
        const rs_scrub_counts *c = &s->left[i];
        for (size_t k = 0; c->times && k < c->texts.n; k++) {
            if (!c->times[k]) continue;
            removed_row row = {place_words[i], "removed", c->texts.items[k].text, 1, c->times[k]};
            RS_TRY(rs_table_put_row(table, &removed_record, 0, &row, err));
        }
    }
    return RS_OK;
}

void rs_scrub_write_map(const rs_scrub *s, rs_writer *out)
{
    rs_writer_text(out, "replacement,original\n");
    for (size_t i = 0; i < RS_N_PRIVATE; i++)
        for (size_t k = 0; s->private[i].times && k < s->private[i].texts.n; k++) {
            const rs_string *text = &s->private[i].texts.items[k];
            if (!s->private[i].times[k]) continue;
            RS_WRITE(out, private_words[i], "_", k, ",");
            rs_writer_csv_text(out, text->text, text->length);
            rs_writer_char(out, '\n');
        }
}
