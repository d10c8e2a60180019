#include "trace/native.h"
rs_status rs_sqlite_load(const char *path, const void *bytes, size_t n_bytes, const rs_load_settings *settings,
                         rs_events **out, rs_error *err)
{
    (void)settings; (void)bytes; (void)n_bytes; *out = NULL;
    return rs_fail_at(err, RS_ERR_FORMAT, path, RS_NO_OFFSET, "sqlite");
}
