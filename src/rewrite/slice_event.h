/* The text of an event that is shortened to the time of a slice. */
#pragma once

#include "text/writer.h"

/* Writes the event at [text, text + n), an object, so that it neither begins before `from` nor ends after `to`
 * (ns); its args say under "uncut" what times it had. A time that need not change keeps its text. */
void rs_event_write_cut(const uint8_t *text, size_t n, int64_t from, int64_t to, rs_writer *out);
