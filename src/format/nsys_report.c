/* Reports of Nsight Systems (.nsys-rep), which only nsys reads: where it is on the PATH it exports them. */
#include <string.h>

#include "format/export.h"
#include "format/sqlite_nsys.h"

bool rs_nsys_is_report(const char *path)
{
    return rs_path_ends_with(path, ".nsys-rep") || rs_path_ends_with(path, ".qdrep");
}

static rs_status advise(const rs_trace_input *in, rs_exported how, int fd, rs_error *err)
{
    const char *slash = strrchr(in->path, '/');
    const char *why = in->bytes || in->remote   ? "which only nsys reads"
                      : how == RS_EXPORT_ABSENT ? "and nsys is not on the PATH to export it"
                      : how == RS_EXPORT_FAILED ? "and nsys failed to export it"
                                                : "and nsys wrote no export of it";
    (void)fd;
    return rs_fail_at(
        err, RS_ERR_FORMAT, in->path, RS_NO_OFFSET,
        "is a report of Nsight Systems, %s: nsys export --type sqlite --include-blobs true '%s'", why,
        slash ? slash + 1 : in->path);
}

/* Older ones know fewer options. */
static rs_exported run(const char *path, const char *to, const rs_load_settings *settings)
{
    const char *const all[] = {
        "nsys",     "export", "--type", "sqlite", "--include-blobs=true", "--include-json=true",
        "--output", to,       path,     NULL};
    const char *const few[] = {"nsys", "export", "--type", "sqlite", "--output", to, path, NULL};
    rs_exported first = rs_export_run(all, settings);
    return first == RS_EXPORT_FAILED ? rs_export_run(few, settings) : first;
}

static rs_status read_export(const rs_trace_input *in, int fd, uint64_t size,
                             const rs_load_settings *settings, rs_events **out, rs_error *err)
{
    return rs_sqlite_load_open(in->path, fd, size, settings, out, err);
}

static const rs_exporter nsys = {"report.sqlite", run, read_export, advise};

rs_status rs_nsys_load_report(const rs_trace_input *in, const rs_load_settings *settings, rs_events **out,
                              rs_error *err)
{
    return rs_export_load(&nsys, in, settings, out, err);
}
