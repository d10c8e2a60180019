/* Letters, digits and words of ASCII. The C library's isalpha, tolower and the like follow the locale; these do not.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

static inline bool rs_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool rs_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool rs_is_alnum(char c)
{
    return rs_is_digit(c) || rs_is_letter(c);
}

/* White space: blanks, tabs, line ends. */
static inline bool rs_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline char rs_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* The value of a digit in base 16; -1: it is none. */
static inline int rs_hex_digit(char c)
{
    return rs_is_digit(c)         ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static inline char rs_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - ('a' - 'A')) : c;
}

/* Whether what is at `at` begins with the word. */
static inline bool rs_begins(const char *at, const char *word)
{
    return strncmp(at, word, strlen(word)) == 0;
}
