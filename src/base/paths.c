#include "base/paths.h"

#include <string.h>
#include <sys/stat.h>

#include "base/ascii.h"
#include "base/memory.h"

/* Text order, but runs of digits by their value: rank2 before rank10. */
static int natural_compare(const char *a, const char *b)
{
    while (*a && *b) {
        if (rs_is_digit(*a) && rs_is_digit(*b)) {
            while (*a == '0') a++;
            while (*b == '0') b++;
            size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
            if (n != m) return n < m ? -1 : 1;
            int c = strncmp(a, b, n);
            if (c) return c;
            a += n;
            b += m;
        } else {
            if (*a != *b) return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
            a++;
            b++;
        }
    }
    return *a ? 1 : *b ? -1 : 0;
}

int rs_path_compare(const char *a, const char *b)
{
    int c = natural_compare(a, b);
    return c ? c : strcmp(a, b);
}

char *rs_path_join(const char *folder, const char *name)
{
    size_t n = strlen(folder), m = strlen(name);
    bool slash = n && folder[n - 1] == '/';
    char *path = rs_malloc(n + m + 2);
    if (!path) return NULL;
    memcpy(path, folder, n);
    if (!slash) path[n] = '/';
    memcpy(path + n + !slash, name, m + 1);
    return path;
}

bool rs_path_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}
