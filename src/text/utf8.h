/* UTF-8 as terminals need it: width, and names that cannot steer a terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/utf8.h"

#define RS_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* The same for a whole text; invalid bytes count 1 each. */
size_t rs_text_width(const char *text, size_t length);
/* The bytes at its start that fit into columns. */
size_t rs_text_fitting(const char *text, size_t length, size_t columns);

/* Characters that steer a terminal or reorder what is read: controls, also those of C1, bidirectional marks and
 * overrides, invisible ones. */
bool rs_utf8_steers(uint32_t code);

/* Copies text as a terminal may show it: control characters, escape sequences' ESC, bidirectional overrides
 * and invalid bytes become U+FFFD ('?' without utf8), tabs and line ends a space, and without utf8 all that
 * is not ASCII becomes '?'. out must hold 3 * length + 1 bytes; terminated; returns the length. */
size_t rs_text_clean(const char *text, size_t length, bool utf8, char *out);

/* As rs_shorten_middle, with the mark that represents what was cut (of width 1 or more). */
const char *rs_text_shorten(const char *text, size_t length, size_t columns, const char *mark, char *out,
                            size_t out_size);
