#include "clock/hosts.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool rs_host_in_name(const char *path, const char **host, size_t *n)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *end = strstr(name, ".pt.trace.json");
    if (!end) return false;
    const char *dot = end; /* of the time; older profilers write none */
    while (dot > name && is_digit(dot[-1])) dot--;
    if (dot > name && dot < end && dot[-1] == '.') end = dot - 1;
    const char *at = end;
    while (at > name && is_digit(at[-1])) at--;
    if (at == end || at < name + 2 || at[-1] != '_') return false;
    *host = name;
    *n = (size_t)(at - 1 - name);
    return true;
}
