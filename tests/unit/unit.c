/* The tests of a program, and the main function of those that need no arguments. */
#include "unit.h"

#define MOST 200

static struct CMUnitTest tests[MOST];
static int lines[MOST];
static size_t n_tests;

/* Constructors run in any order. */
void unit_list(const char *name, CMUnitTestFunction test, int line)
{
    size_t at = n_tests++;
    assert_true(at < MOST);
    for (; at && lines[at - 1] > line; at--) {
        tests[at] = tests[at - 1];
        lines[at] = lines[at - 1];
    }
    tests[at] = (struct CMUnitTest){.name = name, .test_func = test};
    lines[at] = line;
}

int unit_run(CMFixtureFunction before, CMFixtureFunction after)
{
    return _cmocka_run_group_tests("tests", tests, n_tests, before, after);
}

__attribute__((weak)) int main(void)
{
    return unit_run(NULL, NULL);
}
