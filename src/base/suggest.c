#include "base/ascii.h"
#include "base/suggest.h"

#include <stdbool.h>
#include <string.h>

#define LONGEST 63

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static bool same_letter(char a, char b)
{
    /* '-' and '_' are easily mistaken too */
    if (a == '_') a = '-';
    if (b == '_') b = '-';
    return rs_lower(a) == rs_lower(b);
}

unsigned rs_word_distance(const char *a, const char *b, unsigned limit)
{
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST) return limit + 1;
    unsigned rows[3][LONGEST + 1], *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++) above[j] = (unsigned)j;
    memset(before, 0, sizeof rows[0]);
    for (size_t i = 1; i <= n; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned change = above[j - 1] + !same_letter(a[i - 1], b[j - 1]);
            row[j] = least(change, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
        unsigned *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return least(above[m], limit + 1);
}

void rs_suggest_from(rs_suggestion *suggestion, const char *word, const char *candidate)
{
    size_t n = strlen(word);
    unsigned limit = n <= 2 ? 1 : n <= 5 ? 2 : (unsigned)(n < 30 ? n / 3 : 10);
    unsigned distance = rs_word_distance(word, candidate, limit);
    size_t m = strlen(candidate), shorter = n < m ? n : m;
    if (distance > limit && shorter >= 3 && strncmp(word, candidate, shorter) == 0) distance = limit;
    if (distance > limit || distance >= m) return;
    if (suggestion->best && distance >= suggestion->distance) return;
    suggestion->best = candidate;
    suggestion->distance = distance;
}

const char *rs_suggest(const char *word, const char *const *candidates, size_t n)
{
    rs_suggestion suggestion = {0};
    for (size_t i = 0; i < n; i++)
        if (candidates[i]) rs_suggest_from(&suggestion, word, candidates[i]);
    return suggestion.best;
}
