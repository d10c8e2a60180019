/* The words of a kernel's own name: what it is called, without what it is made with.
 *
 * "void dpsk::ep::internode::dispatch<false, 8>(int4*)" is "dpsk::ep::internode::dispatch". Template arguments, parameters,
 * return types and anonymous namespaces are left out, since what a kernel works on says nothing of what it does. Words are lower case
 * with '_' between: "oneShotAllReduceKernel" is "one_shot_all_reduce_kernel", "moeA2ADispatchKernel" is "moe_a2a_dispatch_kernel",
 * "all-reduce.1" is "all_reduce_1". Names that the compiler mangled are read, too ("_ZN7deep_ep9internode8dispatchILb0EEEvv"). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define RS_KERNEL_WORDS 256

/* At most RS_KERNEL_WORDS bytes with the end; of a longer name its beginning. O(length). */
void rs_kernel_words(const char *name, size_t length, char out[RS_KERNEL_WORDS]);
/* Whether it has whole words, in this order: "all_reduce" does in "one_shot_all_reduce_kernel". */
bool rs_words_have(const char *words, const char *wanted);
