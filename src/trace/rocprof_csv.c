#include "trace/native.h"
rs_status rs_rocprof_csv_load(rs_source *source, const rs_load_settings *settings, rs_events **out,
                              rs_error *err)
{
    (void)settings;
    *out = NULL;
    return rs_fail_at(err, RS_ERR_FORMAT, rs_source_name(source), RS_NO_OFFSET, "csv");
}
