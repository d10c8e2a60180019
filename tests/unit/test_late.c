/* Libraries that are opened when they are needed: found once, and said where they, or a function, are missing. */
#include "support.h"

#include <math.h>

#include "base/late.h"

static struct {
    double (*floor)(double), (*ceil)(double);
} functions;

#ifdef __GLIBC__
#define LIBRARY "libm.so.6"
#else
#define LIBRARY "none"
#endif

static rs_late late_of(const char *library, const char *const *names, size_t n)
{
    memset(&functions, 0, sizeof functions);
    return (rs_late){library, names, n, &functions, false};
}

TEST(test_found)
{
    static const char *const names[] = {"floor", "ceil"};
    rs_late late = late_of(LIBRARY, names, 2);
    if (strcmp(LIBRARY, "none") == 0) skip();
    assert_int_equal(rs_late_open(&late, NULL), RS_OK);
    assert_true(late.open);
    assert_true(functions.floor(1.5) == 1 && functions.ceil(1.5) == 2);
    functions.floor = ceil; /* what is open is not looked at again */
    assert_int_equal(rs_late_open(&late, NULL), RS_OK);
    assert_true(functions.floor == ceil);
}

TEST(test_missing)
{
    static const char *const names[] = {"floor", "no_such_function"};
    static const char *const libraries[] = {"libnone_such.so.1", LIBRARY};
    for (size_t i = 0; i < 2; i++) {
        rs_error err = RS_ERROR_INIT;
        rs_late late = late_of(libraries[i], names, 2);
        assert_int_equal(rs_late_open(&late, &err), RS_ERR_USAGE);
        assert_true(!late.open && !functions.floor);
        assert_non_null(strstr(err.causes[0].message, libraries[i]));
        assert_non_null(strstr(err.causes[0].message, "install the package that has it"));
        if (i == 1 && strcmp(LIBRARY, "none") != 0)
            assert_non_null(strstr(err.causes[0].message, "no_such_function"));
    }
}
