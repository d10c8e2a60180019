/* What the system is asked for: the program next door, sockets that children do not have, random bytes. */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/system.h"
#include "unit.h"

TEST(test_program_next_to_this_one)
{
    char path[4096], small[8];
    rs_system_beside("test_system", path, sizeof path);
    assert_int_equal(path[0], '/');
    assert_int_equal(access(path, X_OK), 0);
    rs_system_beside("no-such-program", path, sizeof path);
    assert_string_equal(path, "no-such-program");
    rs_system_beside("test_system", small,
                     sizeof small); /* without room for a path the name is cut, not the memory */
    assert_string_equal(small, "test_sy");
}

TEST(test_sockets)
{
    for (int waits = 0; waits < 2; waits++) {
        int fd = rs_system_socket(AF_INET, SOCK_STREAM, 0, waits);
        assert_true(fd >= 0);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        assert_int_equal(!(fcntl(fd, F_GETFL) & O_NONBLOCK), waits);
        close(fd);
    }
    assert_int_equal(rs_system_socket(-1, SOCK_STREAM, 0, true), -1);
}

TEST(test_random_bytes)
{
    unsigned char bytes[2][700]; /* more than the system gives at once */
    memset(bytes, 0, sizeof bytes);
    for (int i = 0; i < 2; i++) assert_true(rs_system_random(bytes[i], sizeof bytes[i]));
    for (size_t at = 0; at < sizeof bytes[0]; at += 100)
        assert_memory_not_equal(bytes[0] + at, bytes[1] + at, 100);
}

TEST(test_processors_and_times)
{
    assert_true(rs_system_processors() >= 1);
    assert_int_equal(rs_system_ns((struct timespec){.tv_sec = 2, .tv_nsec = 5}), 2000000005);
}
