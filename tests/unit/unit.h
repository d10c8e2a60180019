/* What unit tests include: cmocka with the headers that it needs, and tests that list themselves. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RS_TEST_SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RS_TEST_SLOW 1
#endif
#endif
#ifndef RS_TEST_SLOW
#define RS_TEST_SLOW 0
#endif
/* How often something is repeated: fewer times under a sanitizer. */
#define ROUNDS(n) (RS_TEST_SLOW ? ((n) + 15) / 16 : (n))

/* Defines a test. The tests of a program run in the order of its file. */
#define TEST(name)                                                                                           \
    static void name(void **state);                                                                          \
    __attribute__((constructor)) static void list_##name(void)                                               \
    {                                                                                                        \
        unit_list(#name, name, __LINE__);                                                                    \
    }                                                                                                        \
    static void name(__attribute__((unused)) void **state)

void unit_list(const char *name, CMUnitTestFunction test, int line);

/* Runs the tests that were listed. unit.c has a main function that does, for files that have none of their own. */
int unit_run(CMFixtureFunction before, CMFixtureFunction after);
