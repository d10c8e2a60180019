/* Numbers as text: exact and fast for machines, short for people. Nothing here depends on the locale. */
#ifndef RS_TEXT_NUMBERS_H
#define RS_TEXT_NUMBERS_H

#include "rankscope/table.h"

#define RS_NUMBER_SIZE 32

/* Each writes into out, unterminated, and returns the number of bytes (< RS_NUMBER_SIZE). */
size_t rs_format_uint(uint64_t value, char *out);
size_t rs_format_int(int64_t value, char *out);

/* ns in the unit (RS_UNIT_NS, _US, _MS), exactly, without trailing zeros: 1234567 -> "1234.567" in us. */
size_t rs_format_time(int64_t ns, rs_unit unit, char *out);

/* The shortest decimal that reads back as the same double, the nearest of these to it. Plain notation from
 * 1e-5 up to 1e16, else an exponent. "0" for -0; "inf", "-inf" and "nan" as such. */
size_t rs_format_real(double value, char *out);

/* value with `decimals` (0..9) places, its whole part in groups of three: "-12 345.60". Values of 1e15 and
 * more get an exponent. Terminated; returns the length. */
size_t rs_format_grouped(double value, unsigned decimals, char out[48]);

#endif
