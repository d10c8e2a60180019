/* Sizes of the types that elements of tensors have, by the names that traces, dumps and execution traces give them. */
#pragma once

#include <stdint.h>

/* Bytes of an element: "BFloat16", "c10::BFloat16", "bfloat16", "Float8_e4m3fn", "int64". Case, '_', '-' and blanks make no
 * difference. Of packed 4-bit numbers the bytes of the pair. 0: no such type. */
int64_t rs_dtype_size(const char *name);
