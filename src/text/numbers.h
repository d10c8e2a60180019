/* Numbers as text and back: exact and fast for machines, short for people. Nothing here depends on the
 * locale, and nothing outside this room reads or writes a number with a fraction (scripts/check rooms). */
#pragma once

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

/* value as printf's "%.*f" gives it in the "C" locale, with `decimals` (0..9) places; from 2^63 on as
 * rs_format_real does. Terminated; returns out. */
#define RS_FIXED_SIZE 40
const char *rs_format_fixed(double value, unsigned decimals, char out[RS_FIXED_SIZE]);
/* The same as an argument for a "%s"; the text lasts to the end of the block. */
#define RS_FIXED(value, decimals) rs_format_fixed((value), (decimals), (char[RS_FIXED_SIZE]){0})

/* value as printf's "%.*e" gives it in the "C" locale, with `places` (0..16) behind the point. Terminated;
 * returns the length. */
size_t rs_format_exponent(double value, unsigned places, char out[RS_NUMBER_SIZE]);

/* Reads the whole text as a decimal number: digits with at most one point among them, perhaps a sign in front
 * and an exponent behind ("-12.5", ".5", "1e-3"). The nearest double, ties to even. False when the text is no
 * such number, or when it is too large for a double. */
bool rs_parse_real(const char *text, size_t length, double *out);
