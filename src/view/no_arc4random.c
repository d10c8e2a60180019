/* Programs for other machines only: libevent's archive, made on this one, wants random numbers of a C library of
 * 2022 (2.36), which would refuse all older ones a start. It fetches them for names to look up and for boundaries
 * of forms, neither of which the server has; they are the system's here, too. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

uint32_t arc4random(void);
void arc4random_buf(void *out, size_t n);

void arc4random_buf(void *out, size_t n)
{
    unsigned char *bytes = out;
    while (n > 0) {
        ssize_t got = getrandom(bytes, n, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) abort(); /* a system from before 2014 has none, and the library cannot be told */
        bytes += got;
        n -= (size_t)got;
    }
}

uint32_t arc4random(void)
{
    uint32_t number;
    arc4random_buf(&number, sizeof number);
    return number;
}
