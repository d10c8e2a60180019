/* Names cut to a width so that what differs stays different: kernels of one family differ in the middle of their names. */
#pragma once

#include "base/strings.h"

typedef struct rs_briefs {
    rs_strings texts;    /* the names, by id */
    const char **briefs; /* by id, after rs_briefs_cut */
    rs_arena arena;
} rs_briefs;

/* False when out of memory; it then holds nothing. */
bool rs_briefs_init(rs_briefs *names);
bool rs_briefs_add(rs_briefs *names, const char *text, size_t length);
/* Cuts every name to at most so many columns of the terminal; `mark` represents what was cut. False when out of memory. */
bool rs_briefs_cut(rs_briefs *names, size_t columns, const char *mark);
/* The name as it was cut; NULL: it was never added. */
const char *rs_briefs_find(const rs_briefs *names, const char *text, size_t length);
void rs_briefs_clear(rs_briefs *names);
