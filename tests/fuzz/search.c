/* What is linked where libFuzzer invents the inputs. */
#include "fuzz.h"

const bool fuzz_every_way = false;

/* How deep the stack went, for libFuzzer. That depends on where the stack is, which differs from run to run: put back,
 * it teaches the search nothing, and the same seed goes the same way. */
extern __thread uintptr_t __sancov_lowest_stack;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

__attribute__((no_sanitize("coverage"))) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    uintptr_t before = __sancov_lowest_stack;
    int result = fuzz_one(data, n);
    __sancov_lowest_stack = before;
    return result;
}
