#include "rankscope/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/problems.h"

static void add_cause(rs_error *err, const char *file, uint64_t offset, const char *format, va_list args)
{
    if (err->n_causes == RS_ERROR_CAUSES) return;
    rs_cause *cause = &err->causes[err->n_causes++];
    vsnprintf(cause->message, sizeof cause->message, format, args);
    for (char *c = cause->message; *c; c++)
        if ((unsigned char)*c < ' ') *c = ' ';
    snprintf(cause->file, sizeof cause->file, "%s", file ? file : "");
    cause->offset = offset;
}

rs_status rs_fail(rs_error *err, rs_status status, const char *format, ...)
{
    if (!err) return status;
    va_list args;
    va_start(args, format);
    err->status = status;
    err->n_causes = 0;
    add_cause(err, NULL, RS_NO_OFFSET, format, args);
    va_end(args);
    return status;
}

rs_status rs_fail_at(rs_error *err, rs_status status, const char *file, uint64_t offset, const char *format,
                     ...)
{
    if (!err) return status;
    va_list args;
    va_start(args, format);
    err->status = status;
    err->n_causes = 0;
    add_cause(err, file, offset, format, args);
    va_end(args);
    return status;
}

rs_status rs_error_wrap(rs_error *err, const char *format, ...)
{
    if (!err) return RS_ERR_FORMAT;
    va_list args;
    va_start(args, format);
    add_cause(err, NULL, RS_NO_OFFSET, format, args);
    va_end(args);
    return err->status;
}

rs_status rs_fail_nomem(rs_error *err, const char *what)
{
    return rs_fail(err, RS_ERR_NOMEM, "out of memory: %s", what);
}

const char *rs_error_text(const rs_error *err, char *out, size_t out_size)
{
    if (out_size == 0) return out;
    out[0] = '\0';
    size_t used = 0;
    for (unsigned i = err->n_causes; i-- > 0;) {
        const rs_cause *cause = &err->causes[i];
        char place[48] = "";
        if (cause->offset != RS_NO_OFFSET)
            snprintf(place, sizeof place, "byte %llu: ", (unsigned long long)cause->offset);
        int n = snprintf(out + used, out_size - used, "%s%s%s%s%s", cause->file, cause->file[0] ? ": " : "",
                         place, cause->message, i ? ": " : "");
        if (n < 0 || (size_t)n >= out_size - used) break;
        used += (size_t)n;
    }
    return out;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void clear_problem(rs_problem *p)
{
    rs_free_all(p->file, p->detail, p->words);
}

/* Gives a problem its own copies of kind and message. */
static bool take_words(rs_problem *p)
{
    size_t n = strlen(p->kind) + 1, m = strlen(p->message) + 1;
    char *words = rs_malloc(n + m);
    if (!words) return false;
    memcpy(words, p->kind, n);
    memcpy(words + n, p->message, m);
    p->kind = p->words = words;
    p->message = words + n;
    return true;
}

/* The entry that counts such defects: the present one, or a new one with no count yet; NULL when out of
 * memory.
 */
static rs_problem *entry_for(rs_problems *list, const rs_problem *like, bool copy_words)
{
    for (size_t i = list->n; i-- > 0;) {
        rs_problem *p = &list->items[i];
        if (p->rank == like->rank && p->columns == like->columns && strcmp(p->kind, like->kind) == 0 &&
            same_text(p->file, like->file))
            return p;
    }
    rs_problem own = {.kind = like->kind,
                      .message = like->message,
                      .file = like->file ? rs_strdup(like->file) : NULL,
                      .detail = like->detail ? rs_strdup(like->detail) : NULL,
                      .rank = like->rank,
                      .severity = like->severity,
                      .columns = like->columns};
    bool ok = (own.file || !like->file) && (own.detail || !like->detail) && (!copy_words || take_words(&own));
    if (!ok || !RS_GROW_ONE(list->items, list->n, list->capacity)) {
        clear_problem(&own);
        list->n_dropped += like->count;
        return NULL;
    }
    rs_problem *p = &list->items[list->n++];
    *p = own;
    return p;
}

static void count(rs_problems *list, const rs_problem *like, bool copy_words)
{
    rs_problem *p = entry_for(list, like, copy_words);
    if (!p) return;
    p->count += like->count;
    if (like->severity > p->severity) p->severity = like->severity;
    for (unsigned i = 0; i < like->n_offsets && p->n_offsets < RS_PROBLEM_OFFSETS; i++)
        p->offsets[p->n_offsets++] = like->offsets[i];
}

void rs_problems_count(rs_problems *list, const rs_problem *like)
{
    count(list, like, false);
}

void rs_problems_adopt(rs_problems *list, const rs_problem *like)
{
    count(list, like, true);
}

/* Keeps the first offsets of both lists, in the order of the text. */
static void join_offsets(rs_problem *p, const rs_problem *from)
{
    uint64_t all[2 * RS_PROBLEM_OFFSETS];
    unsigned n = 0, i = 0, k = 0;
    while (i < p->n_offsets || k < from->n_offsets) {
        bool own = k == from->n_offsets || (i < p->n_offsets && p->offsets[i] <= from->offsets[k]);
        all[n++] = own ? p->offsets[i++] : from->offsets[k++];
    }
    p->n_offsets = n < RS_PROBLEM_OFFSETS ? n : RS_PROBLEM_OFFSETS;
    memcpy(p->offsets, all, p->n_offsets * sizeof *all);
}

void rs_problems_view(rs_problems *into, const rs_problems *from, uint64_t columns)
{
    for (size_t i = 0; i < from->n; i++) {
        rs_problem like = from->items[i];
        if (like.columns && !(like.columns & columns)) continue;
        like.columns = 0;
        rs_problem *p = entry_for(into, &like, like.words != NULL);
        if (!p) continue;
        p->count += like.count;
        if (like.severity > p->severity) p->severity = like.severity;
        join_offsets(p, &like);
    }
    into->n_dropped += from->n_dropped;
}

void rs_problems_add_many(rs_problems *list, const char *file, int64_t rank, rs_severity severity,
                          const char *kind, const char *message, uint64_t offset, uint64_t count,
                          const char *detail)
{
    const rs_problem like = {.kind = kind,
                             .message = message,
                             .file = (char *)(uintptr_t)file, /* only copied */
                             .detail = (char *)(uintptr_t)detail,
                             .rank = rank,
                             .severity = severity,
                             .count = count,
                             .n_offsets = offset != RS_NO_OFFSET,
                             .offsets = {offset}};
    rs_problems_count(list, &like);
}

void rs_problems_add(rs_problems *list, const char *file, int64_t rank, rs_severity severity,
                     const char *kind, const char *message, uint64_t offset)
{
    rs_problems_add_many(list, file, rank, severity, kind, message, offset, 1, NULL);
}

void rs_problems_move(rs_problems *into, rs_problems *from)
{
    for (size_t i = 0; i < from->n; i++) {
        rs_problem *p = &from->items[i];
        if (RS_GROW_ONE(into->items, into->n, into->capacity)) {
            into->items[into->n++] = *p;
        } else {
            into->n_dropped += p->count;
            clear_problem(p);
        }
    }
    into->n_dropped += from->n_dropped;
    rs_free(from->items);
    *from = (rs_problems){0};
}

rs_severity rs_problems_worst(const rs_problems *list)
{
    rs_severity worst = list->n_dropped ? RS_LOSS : RS_NOTE;
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].severity > worst) worst = list->items[i].severity;
    return worst;
}

void rs_problems_clear(rs_problems *list)
{
    for (size_t i = 0; i < list->n; i++) clear_problem(&list->items[i]);
    rs_free(list->items);
    *list = (rs_problems){0};
}

const char *rs_version(void)
{
    return RS_VERSION;
}
