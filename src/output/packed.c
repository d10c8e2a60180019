#include "output/packed.h"

#include <isa-l/igzip_lib.h>
#include <string.h>
#include <zstd.h>

#include "base/memory.h"

#define OUT_SIZE ((size_t)256 << 10)

struct rs_packed {
    const rs_sink *below;
    rs_pack pack;
    bool failed;
    struct isal_zstream *gzip;
    uint8_t *level_buffer;
    ZSTD_CCtx *zstd;
    uint8_t *out; /* OUT_SIZE bytes */
};

static bool ends_with(const char *text, const char *tail)
{
    size_t n = strlen(text), m = strlen(tail);
    return n >= m && strcmp(text + n - m, tail) == 0;
}

rs_pack rs_pack_of_name(const char *path)
{
    if (ends_with(path, ".gz")) return RS_PACK_GZIP;
    return ends_with(path, ".zst") || ends_with(path, ".zstd") ? RS_PACK_ZSTD : RS_PACK_PLAIN;
}

static bool start_gzip(rs_packed *p)
{
    p->gzip = rs_malloc(sizeof *p->gzip);
    p->level_buffer = rs_malloc(ISAL_DEF_LVL1_DEFAULT);
    if (!p->gzip || !p->level_buffer) return false;
    isal_deflate_init(p->gzip);
    p->gzip->level = 1;
    p->gzip->level_buf = p->level_buffer;
    p->gzip->level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    p->gzip->gzip_flag = IGZIP_GZIP;
    p->gzip->flush = NO_FLUSH;
    return true;
}

rs_status rs_packed_create(const rs_sink *below, rs_pack pack, rs_packed **out, rs_error *err)
{
    rs_packed *p = rs_calloc(1, sizeof *p);
    bool ok = p != NULL;
    if (ok) {
        p->below = below;
        p->pack = pack;
        p->out = rs_malloc(OUT_SIZE);
        ok = p->out != NULL;
    }
    if (ok && pack == RS_PACK_GZIP) ok = start_gzip(p);
    if (ok && pack == RS_PACK_ZSTD) ok = (p->zstd = ZSTD_createCCtx()) != NULL;
    if (ok) {
        *out = p;
        return RS_OK;
    }
    rs_packed_free(p);
    return rs_fail_nomem(err, "packing");
}

void rs_packed_free(rs_packed *p)
{
    if (!p) return;
    rs_free(p->gzip);
    rs_free(p->level_buffer);
    ZSTD_freeCCtx(p->zstd);
    rs_free(p->out);
    rs_free(p);
}

static bool pass_on(rs_packed *p, size_t n)
{
    if (n && !p->failed && !p->below->write(p->below->context, (const char *)p->out, n)) p->failed = true;
    return !p->failed;
}

static bool deflate_part(rs_packed *p, const uint8_t *bytes, uint32_t n, bool last)
{
    struct isal_zstream *z = p->gzip;
    z->next_in = (uint8_t *)(uintptr_t)bytes;
    z->avail_in = n;
    z->end_of_stream = last;
    do {
        z->next_out = p->out;
        z->avail_out = OUT_SIZE;
        if (isal_deflate(z) != COMP_OK) p->failed = true;
        if (!pass_on(p, OUT_SIZE - z->avail_out)) return false;
    } while (z->avail_out == 0 || z->avail_in);
    return true;
}

static bool zstd_part(rs_packed *p, const char *bytes, size_t n, bool last)
{
    ZSTD_inBuffer in = {bytes, n, 0};
    for (;;) {
        ZSTD_outBuffer out = {p->out, OUT_SIZE, 0};
        size_t left = ZSTD_compressStream2(p->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) p->failed = true;
        if (!pass_on(p, out.pos)) return false;
        if (last ? left == 0 : in.pos == in.size) return true;
    }
}

static bool write_packed(void *context, const char *bytes, size_t n)
{
    rs_packed *p = context;
    if (p->failed) return false;
    if (p->pack == RS_PACK_ZSTD) return zstd_part(p, bytes, n, false);
    if (p->pack == RS_PACK_PLAIN) {
        if (!p->below->write(p->below->context, bytes, n)) p->failed = true;
        return !p->failed;
    }
    while (n) {
        uint32_t part = n < ((uint32_t)1 << 30) ? (uint32_t)n : (uint32_t)1 << 30;
        if (!deflate_part(p, (const uint8_t *)bytes, part, false)) return false;
        bytes += part;
        n -= part;
    }
    return true;
}

rs_sink rs_packed_sink(rs_packed *p)
{
    return (rs_sink){write_packed, p};
}

rs_status rs_packed_finish(rs_packed *p, rs_error *err)
{
    static const uint8_t nothing[1] = {0};
    if (!p->failed && p->pack == RS_PACK_GZIP) deflate_part(p, nothing, 0, true);
    if (!p->failed && p->pack == RS_PACK_ZSTD) zstd_part(p, "", 0, true);
    return p->failed ? rs_fail(err, RS_ERR_IO, "the output could not be written") : RS_OK;
}
