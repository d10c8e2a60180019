/* Sets the calling thread's locale for the time of a call of the C library that follows it. Other threads and
 * the program's own setting are not affected. */
#pragma once

#include <stdbool.h>

typedef struct rs_locale {
    void *own, *before;
} rs_locale;

/* Sets the locale of that name ("C", "C.UTF-8") in every category. False when the machine has none of it:
 * then nothing changed, and rs_locale_leave does nothing. */
bool rs_locale_enter(rs_locale *locale, const char *name);
/* Gives the thread back what it had. */
void rs_locale_leave(rs_locale *locale);
