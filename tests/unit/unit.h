/* What unit tests include: cmocka with the headers that it needs, and tests that list themselves. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

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
