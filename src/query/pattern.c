/* Regular expressions over texts of a trace: rankscope/where.h. */
#include <regex.h>

#include "base/memory.h"
#include "rankscope/where.h"
#include "text/locale.h"

struct rs_pattern {
    regex_t regex;
};

rs_status rs_pattern_compile(const char *text, rs_pattern **out, rs_error *err)
{
    rs_locale locale;
    char why[120];
    *out = NULL;
    rs_pattern *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "regular expression");
    bool entered = rs_locale_enter(&locale, "C");
    int failed = regcomp(&p->regex, text, REG_EXTENDED | REG_NOSUB);
    if (entered) rs_locale_leave(&locale);
    if (!failed) {
        *out = p;
        return RS_OK;
    }
    regerror(failed, &p->regex, why, sizeof why);
    rs_free(p);
    if (failed == REG_ESPACE) return rs_fail_nomem(err, "regular expression");
    return rs_fail(err, RS_ERR_USAGE, "\"%.80s\" is no regular expression: %s", text, why);
}

/* A regular expression looks at this much of a text: its cost must not depend on what a file holds. */
#define MAX_MATCHED 65536

bool rs_pattern_matches(const rs_pattern *p, const char *text, size_t n)
{
    rs_locale locale;
    regmatch_t all = {.rm_so = 0, .rm_eo = (regoff_t)(n < MAX_MATCHED ? n : MAX_MATCHED)};
    bool entered = rs_locale_enter(&locale, "C");
    bool found = regexec(&p->regex, text, 1, &all, REG_STARTEND) == 0;
    if (entered) rs_locale_leave(&locale);
    return found;
}

void rs_pattern_free(rs_pattern *p)
{
    if (!p) return;
    regfree(&p->regex);
    rs_free(p);
}
