/* "Did you mean": the valid word nearest to a mistyped one. */
#pragma once

#include <stddef.h>

/* Insertions, deletions, changes and swaps of neighbours that lead from a to b, case aside; at most `limit`
 * are counted, more return limit + 1. Words beyond 63 bytes are as far as can be. */
unsigned rs_word_distance(const char *a, const char *b, unsigned limit);

/* The nearest of candidates (NULL entries are skipped), or NULL when none is near: a word that starts with
 * what was typed (three letters or more), else at most a third of the letters wrong. The first of equals. */
const char *rs_suggest(const char *word, const char *const *candidates, size_t n);

/* The same, fed one candidate after the other: start with *best NULL. */
typedef struct rs_suggestion {
    const char *best;
    unsigned distance;
} rs_suggestion;
void rs_suggest_from(rs_suggestion *suggestion, const char *word, const char *candidate);
