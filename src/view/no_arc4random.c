/* Programs for other machines only: libevent's archive, made on this one, wants random numbers of a C library of
 * 2022 (2.36), which would refuse all older ones a start. It fetches them for names to look up and for boundaries
 * of forms, neither of which the server has; they are the system's here, too. */
#include <stdint.h>
#include <stdlib.h>

#include "base/system.h"

uint32_t arc4random(void);
void arc4random_buf(void *out, size_t n);

void arc4random_buf(void *out, size_t n)
{
    if (!rs_system_random(out, n))
        abort(); /* a system from before 2014 has none, and the library cannot be told */
}

uint32_t arc4random(void)
{
    uint32_t number;
    arc4random_buf(&number, sizeof number);
    return number;
}
