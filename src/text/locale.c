#include "text/locale.h"

#include <locale.h>

bool rs_locale_enter(rs_locale *locale, const char *name)
{
    locale_t own = newlocale(LC_ALL_MASK, name, (locale_t)0);
    *locale = (rs_locale){.own = (void *)own};
    if (own) locale->before = (void *)uselocale(own);
    return own != (locale_t)0;
}

void rs_locale_leave(rs_locale *locale)
{
    if (!locale->own) return;
    uselocale((locale_t)locale->before);
    freelocale((locale_t)locale->own);
    *locale = (rs_locale){0};
}
