/* Lists of words as one text: "all_reduce|all_gather|barrier". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Whether n bytes of text begin with one of the words; whole: are one of them. */
static inline bool rs_listed(const char *words, const char *text, size_t n, bool whole)
{
    for (const char *word = words; *word;) {
        size_t k = 0;
        while (k < n && word[k] == text[k] && word[k] != '|' && word[k]) k++;
        if ((word[k] == '|' || !word[k]) && (k == n || !whole)) return true;
        word += k;
        word += strcspn(word, "|");
        word += *word == '|';
    }
    return false;
}
