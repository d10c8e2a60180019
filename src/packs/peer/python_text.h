/* Cells as Python prints them: what TraceLens writes is the text of lists, tuples and dicts. */
#pragma once

#include "base/text.h"

void rs_python_put_int(rs_text *t, int64_t value);
void rs_python_put_float(rs_text *t, double value);                /* as repr() does: 16.0, 1e-05, nan */
void rs_python_put_bool(rs_text *t, bool value);                   /* True, False */
void rs_python_put_string(rs_text *t, const char *text, size_t n); /* in quotes, as repr() does */
/* A JSON array as a list: [[512], [], "a"] is [[512], [], 'a']. What is none stays as it is. */
void rs_python_put_list(rs_text *t, const char *json, size_t n);
/* "(2, 3)", "(2,)", "()" */
void rs_python_put_tuple(rs_text *t, const int64_t *values, size_t n);
