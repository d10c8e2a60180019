/* list, verify and drop: what the command `store` does to a folder. */
#include "rankscope/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "base/memory.h"
#include "base/try.h"
#include "store/folder.h"
#include "store/stamp.h"
#include "table/cells.h"

static const rs_column_spec columns[] = {
    RS_COLUMN("file", TEXT, NONE, "the file, or the first of those, that it is of", NULL),
    RS_COLUMN(
        "kind", TEXT, NONE,
        "result (of a question to a job), answer (of one input to a question), events, or facet (what was worked out "
        "from them)",
        NULL),
    RS_COLUMN("what", TEXT, NONE, "the question, or the facet", NULL),
    RS_COLUMN("files", INT, COUNT, "how many files it depends on", NULL),
    RS_COLUMN(
        "state", TEXT, NONE,
        "fresh; stale: a file has changed or is gone; other: another program made it; damaged; left_over of a "
        "write that was interrupted",
        NULL),
    RS_COLUMN("size_bytes", INT, BYTES, "of the entry", "size"),
    RS_COLUMN("unused_hours", INT, COUNT, "whole hours since it was made or used", "unused h"),
};
static const rs_table_spec table = RS_TABLE("entries", "one row is one entry", columns);
const rs_table_spec *const rs_store_tables[1] = {&table};

typedef struct found {
    const rs_store_file *file;
    char *path; /* of the first file behind it */
    const char *kind, *state;
    char what[48];
    size_t n_files;
    bool wanted;
} found;

typedef struct paths {
    char **items; /* absolute; NULL where there is no such file */
    size_t n;
} paths;

/* Whether a file is one of these, or lies below one. */
static bool is_among(const paths *p, const char *path)
{
    for (size_t i = 0; i < p->n; i++) {
        size_t n = strlen(p->items[i]);
        if (strncmp(p->items[i], path, n) == 0 && (path[n] == '\0' || path[n] == '/')) return true;
    }
    return p->n == 0;
}

static rs_status read_stamps(found *f, const rs_entry_key *key, const paths *wanted, rs_arena *arena,
                             rs_error *err)
{
    rs_wire_reader r = {
        .p = key->stamps, .end = (const uint8_t *)key->stamps + key->n_stamps, .arena = arena};
    rs_stamp stamp;
    while (r.p < r.end && rs_stamp_take(&r, &stamp)) {
        if (f->n_files++ == 0 && !(f->path = rs_strdup(stamp.path))) return rs_fail_nomem(err, "the store");
        f->wanted = f->wanted || is_among(wanted, stamp.path);
    }
    return r.out_of_memory ? rs_fail_nomem(err, "the store") : RS_OK;
}

/* The identity begins with the question's name. */
static rs_status read_name(found *f, const rs_entry_key *key, rs_arena *arena, rs_error *err)
{
    rs_wire_reader r = {
        .p = key->identity, .end = (const uint8_t *)key->identity + key->n_identity, .arena = arena};
    const char *name = rs_wire_text(&r);
    snprintf(f->what, sizeof f->what, "%.40s", key->kind == RS_ENTRY_EVENTS || !name ? "" : name);
    return r.out_of_memory ? rs_fail_nomem(err, "the store") : RS_OK;
}

static rs_status look_at(const rs_store_file *file, rs_store_task task, const paths *wanted, found *f,
                         rs_error *err)
{
    static const char *const kinds[RS_N_ENTRY_KINDS] = {[RS_ENTRY_ANSWER] = "answer",
                                                        [RS_ENTRY_RESULT] = "result",
                                                        [RS_ENTRY_EVENTS] = "events",
                                                        [RS_ENTRY_FACET] = "facet"};
    *f = (found){.file = file, .state = file->left_over ? "left_over" : "damaged", .wanted = wanted->n == 0};
    rs_entry *entry = NULL;
    if (!file->left_over) RS_TRY(rs_entry_look(file->path, &entry, err));
    if (!entry) return RS_OK;
    rs_entry_key key = rs_entry_get_key(entry);
    RS_SCOPED(rs_arena_clear) rs_arena arena = {0};
    f->kind = kinds[key.kind];
    bool whole = true, fresh = false;
    rs_status status = read_name(f, &key, &arena, err);
    if (status == RS_OK) status = read_stamps(f, &key, wanted, &arena, err);
    if (status == RS_OK && task == RS_STORE_VERIFY) status = rs_entry_prove(entry, &whole, err);
    if (status == RS_OK) status = rs_stamps_check(key.stamps, key.n_stamps, &fresh, err);
    f->state = !whole ? "damaged" : !rs_entry_is_own(entry) ? "other" : fresh ? "fresh" : "stale";
    rs_entry_close(entry);
    return status;
}

static int by_file(const void *a, const void *b)
{
    const found *x = a, *y = b;
    int c = strcmp(x->path ? x->path : "", y->path ? y->path : "");
    if (!c) c = strcmp(x->kind ? x->kind : "", y->kind ? y->kind : "");
    if (!c) c = strcmp(x->what, y->what);
    return c ? c : strcmp(x->file->path, y->file->path);
}

static rs_status put_row(rs_table *t, const found *f, int64_t now, rs_error *err)
{
    int64_t last = f->file->used > f->file->made ? f->file->used : f->file->made;
    return RS_PUT_ROW(t, err, f->path, f->kind, f->what[0] ? f->what : NULL,
                      f->path ? f->n_files : RS_NO_VALUE, f->state, f->file->size,
                      now > last ? (now - last) / INT64_C(3600000000000) : 0);
}

/* Removes it when the task says so; whether it is to be listed. */
static bool deal_with(const found *f, rs_store_task task, uint64_t *freed)
{
    bool fresh = strcmp(f->state, "fresh") == 0,
         remove = task == RS_STORE_DROP || (task == RS_STORE_VERIFY && !fresh);
    if (!f->wanted || (task == RS_STORE_VERIFY && fresh)) return false;
    if (remove && unlink(f->file->path) == 0) *freed += f->file->size;
    return true;
}

static rs_status fill(const rs_store_files *files, rs_store_task task, const paths *wanted, rs_result *result,
                      rs_error *err)
{
    struct timespec now;
    rs_table *t = rs_table_create(&table);
    found *all = rs_calloc(files->n + 1, sizeof *all);
    result->tables = rs_calloc(1, sizeof *result->tables);
    if (!t || !all || !result->tables) {
        rs_table_free(t);
        rs_free(all);
        return rs_fail_nomem(err, "tables");
    }
    result->tables[result->n_tables++] = t;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t freed = 0;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < files->n; i++)
        status = look_at(&files->items[i], task, wanted, &all[i], err);
    if (status == RS_OK && files->n) qsort(all, files->n, sizeof *all, by_file);
    for (size_t i = 0; status == RS_OK && i < files->n; i++)
        if (deal_with(&all[i], task, &freed))
            status = put_row(t, &all[i], (int64_t)now.tv_sec * 1000000000 + now.tv_nsec, err);
    if (status == RS_OK && task != RS_STORE_LIST)
        rs_result_note(result, "%zu of %zu entries removed, %llu bytes", rs_table_n_rows(t), files->n,
                       (unsigned long long)freed);
    for (size_t i = 0; i < files->n; i++) rs_free(all[i].path);
    rs_free(all);
    return status;
}

rs_status rs_store_do(const char *folder, rs_store_task task, const char *const *given, size_t n,
                      rs_result *result, rs_error *err)
{
    rs_store_files files;
    paths wanted = {rs_calloc(n + 1, sizeof *wanted.items), 0};
    rs_status status = wanted.items ? RS_OK : rs_fail_nomem(err, "paths");
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        wanted.items[wanted.n] = rs_absolute_path(given[i]);
        if (wanted.items[wanted.n])
            wanted.n++;
        else
            status =
                rs_fail_at(err, RS_ERR_IO, given[i], RS_NO_OFFSET,
                           "there is no such file; `store verify` removes what is of files that are gone");
    }
    if (status == RS_OK) {
        status = rs_store_walk(folder, &files, err);
        if (status == RS_OK) status = fill(&files, task, &wanted, result, err);
        rs_store_files_clear(&files);
    }
    for (size_t i = 0; i < wanted.n; i++) free(wanted.items[i]); /* the C library's */
    rs_free(wanted.items);
    return status;
}
