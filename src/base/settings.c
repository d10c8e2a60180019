#include "base/settings.h"

#include <string.h>

rs_status rs_settings_read(const void *given, size_t size, void *out, size_t out_size, const char *name,
                           rs_error *err)
{
    const unsigned char *bytes = given;
    if (size < sizeof(size_t))
        return rs_fail(err, RS_ERR_USAGE, "%s.size is not set: it is the struct's sizeof", name);
    for (size_t i = out_size; i < size; i++)
        if (bytes[i])
            return rs_fail(err, RS_ERR_USAGE, "%s has fields that this library, %s, does not know", name,
                           rs_version());
    memset(out, 0, out_size);
    memcpy(out, given, size < out_size ? size : out_size);
    return RS_OK;
}
