/* Cells as Python prints them: what TraceLens writes is the text of lists, tuples and dicts. */
#ifndef RS_PEER_PYTHON_TEXT_H
#define RS_PEER_PYTHON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text that grows. After the first failure, out of memory, `failed` stays set and nothing is added any more.
 * An all-zero one is empty. */
typedef struct rs_python_text {
    char *text; /* not terminated */
    size_t n, capacity;
    bool failed;
} rs_python_text;

void rs_python_clear(rs_python_text *t);
void rs_python_put(rs_python_text *t, const char *bytes, size_t n);
void rs_python_put_text(rs_python_text *t, const char *text);
void rs_python_put_int(rs_python_text *t, int64_t value);
void rs_python_put_float(rs_python_text *t, double value); /* as repr() does: 16.0, 1e-05, nan */
void rs_python_put_bool(rs_python_text *t, bool value);    /* True, False */
void rs_python_put_string(rs_python_text *t, const char *text, size_t n); /* in quotes, as repr() does */
/* A JSON array as a list: [[512], [], "a"] is [[512], [], 'a']. What is none stays as it is. */
void rs_python_put_list(rs_python_text *t, const char *json, size_t n);
/* "(2, 3)", "(2,)", "()" */
void rs_python_put_tuple(rs_python_text *t, const int64_t *values, size_t n);

#endif
