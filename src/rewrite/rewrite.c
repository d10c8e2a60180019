#include "base/settings.h"
#include "rankscope/rewrite.h"

#include <string.h>

#include "base/memory.h"
#include "input/source.h"
#include "rankscope/text.h"
#include "rewrite/trace_overlay.h"

/* The ranks read from the file: rows of the table "files". */
static rs_status find_ranks(const rs_result *result, const char *file, int64_t **ranks, size_t *n,
                            rs_error *err)
{
    const rs_table *files = rs_result_table(result, "files");
    size_t rows = files ? rs_table_n_rows(files) : 0;
    *n = 0;
    *ranks = rs_malloc((rows + 1) * sizeof **ranks);
    if (!*ranks) return rs_fail_nomem(err, "ranks");
    for (size_t row = 0; row < rows; row++) {
        size_t length;
        if (strcmp(rs_table_text(files, row, 1, &length), file) == 0)
            (*ranks)[(*n)++] = rs_table_int(files, row, 0);
    }
    return *n ? RS_OK : rs_fail(err, RS_ERR_USAGE, "%s: the result holds nothing about this file", file);
}

static rs_status write_packed(rs_source *source, const rs_overlay *overlay, rs_pack pack,
                              const rs_sink *below, bool *truncated, rs_error *err)
{
    rs_packer *packer;
    rs_status status = rs_packer_open(pack, below, &packer, err);
    if (status != RS_OK) return status;
    rs_sink sink = rs_packer_sink(packer);
    rs_writer writer;
    rs_writer_init(&writer, &sink);
    status = rs_overlay_write(source, overlay, &writer, truncated, err);
    if (status == RS_OK) status = rs_writer_finish(&writer, err);
    if (status == RS_OK) status = rs_packer_finish(packer, err);
    rs_packer_close(packer);
    return status;
}

rs_status rs_result_rewrite(const rs_result *result, const char *file, const rs_rewrite_settings *settings,
                            const rs_sink *sink, bool *truncated, rs_error *err)
{
    int64_t *ranks = NULL;
    rs_source *source = NULL;
    bool broken = false;
    rs_rewrite_settings own;
    RS_TAKE_SETTINGS(rs_rewrite_settings, &own, settings, err);
    settings = &own;
    rs_overlay overlay = {.result = result, .compress = settings->compress, .keep_all = settings->keep_all};
    if (!rs_overlay_applies(result))
        return rs_fail(err, RS_ERR_USAGE, "there is nothing to write into a trace");
    rs_status status = find_ranks(result, file, &ranks, &overlay.n_ranks, err);
    overlay.ranks = ranks;
    if (status == RS_OK) status = rs_source_open(file, settings->max_ratio, &source, err);
    if (status == RS_OK) {
        rs_pack pack = settings->name ? rs_pack_of_name(settings->name) : RS_PACK_NONE;
        status = write_packed(source, &overlay, pack, sink, &broken, err);
    }
    rs_source_close(source);
    rs_free(ranks);
    if (truncated) *truncated = broken;
    return status;
}
