#include "rankscope/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

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

void rs_problems_add_many(rs_problems *list, const char *file, int64_t rank, rs_severity severity,
                          const char *kind, const char *message, uint64_t offset, uint64_t count,
                          const char *detail)
{
    rs_problem *found = NULL;
    for (size_t i = list->n; i-- > 0 && !found;) {
        rs_problem *p = &list->items[i];
        if (p->rank == rank && strcmp(p->kind, kind) == 0 && same_text(p->file, file)) found = p;
    }
    if (!found) {
        char *own_file = file ? rs_strdup(file) : NULL;
        char *own_detail = detail ? rs_strdup(detail) : NULL;
        if ((file && !own_file) || (detail && !own_detail) ||
            !RS_GROW_ONE(list->items, list->n, list->capacity)) {
            rs_free(own_file);
            rs_free(own_detail);
            list->n_dropped += count;
            return;
        }
        found = &list->items[list->n++];
        *found = (rs_problem){.kind = kind,
                              .message = message,
                              .file = own_file,
                              .detail = own_detail,
                              .rank = rank,
                              .severity = severity};
    }
    found->count += count;
    if (severity > found->severity) found->severity = severity;
    if (offset != RS_NO_OFFSET && found->n_offsets < RS_PROBLEM_OFFSETS)
        found->offsets[found->n_offsets++] = offset;
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
            rs_free(p->file);
            rs_free(p->detail);
        }
    }
    into->n_dropped += from->n_dropped;
    rs_free(from->items);
    *from = (rs_problems){0};
}

void rs_problems_copy(rs_problems *into, const rs_problems *from)
{
    for (size_t i = 0; i < from->n; i++) {
        rs_problem p = from->items[i];
        p.file = p.file ? rs_strdup(p.file) : NULL;
        p.detail = p.detail ? rs_strdup(p.detail) : NULL;
        bool copied = (p.file || !from->items[i].file) && (p.detail || !from->items[i].detail);
        if (copied && RS_GROW_ONE(into->items, into->n, into->capacity)) {
            into->items[into->n++] = p;
        } else {
            into->n_dropped += p.count;
            rs_free(p.file);
            rs_free(p.detail);
        }
    }
    into->n_dropped += from->n_dropped;
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
    for (size_t i = 0; i < list->n; i++) {
        rs_free(list->items[i].file);
        rs_free(list->items[i].detail);
    }
    rs_free(list->items);
    *list = (rs_problems){0};
}

const char *rs_version(void)
{
    return RS_VERSION;
}
