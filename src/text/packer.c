#include "rankscope/text.h"

#include <isa-l/igzip_lib.h>
#include <string.h>
#include <zstd.h>

#include "base/memory.h"

#define OUT_SIZE ((size_t)1 << 18)

struct rs_packer {
    rs_pack pack;
    const rs_sink *sink;
    ZSTD_CCtx *zstd;
    struct isal_zstream *gzip;
    uint8_t *level;
    char *out;
};

rs_pack rs_pack_of_name(const char *name)
{
    size_t n = strlen(name);
    if (n > 3 && strcmp(name + n - 3, ".gz") == 0) return RS_PACK_GZIP;
    if (n > 4 && strcmp(name + n - 4, ".zst") == 0) return RS_PACK_ZSTD;
    return RS_PACK_NONE;
}

static bool start_gzip(rs_packer *p)
{
    p->gzip = rs_calloc(1, sizeof *p->gzip);
    p->level = rs_malloc(ISAL_DEF_LVL1_DEFAULT);
    if (!p->gzip || !p->level) return false;
    isal_deflate_init(p->gzip);
    p->gzip->gzip_flag = IGZIP_GZIP;
    p->gzip->level = 1;
    p->gzip->level_buf = p->level;
    p->gzip->level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    return true;
}

rs_status rs_packer_open(rs_pack pack, const rs_sink *sink, rs_packer **out, rs_error *err)
{
    rs_packer *p = rs_calloc(1, sizeof *p);
    bool ok = p != NULL;
    if (ok) {
        p->pack = pack;
        p->sink = sink;
        p->out = pack == RS_PACK_NONE ? NULL : rs_malloc(OUT_SIZE);
        ok = pack == RS_PACK_NONE || p->out;
    }
    if (ok && pack == RS_PACK_GZIP) ok = start_gzip(p);
    if (ok && pack == RS_PACK_ZSTD) {
        p->zstd = ZSTD_createCCtx();
        ok = p->zstd && !ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1));
    }
    if (!ok) {
        rs_packer_close(p);
        return rs_fail_nomem(err, "packing");
    }
    *out = p;
    return RS_OK;
}

static bool pack_gzip(rs_packer *p, const char *bytes, size_t n, bool end)
{
    struct isal_zstream *s = p->gzip;
    do {
        uint32_t part = n > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)n;
        s->next_in = (uint8_t *)(uintptr_t)bytes; /* read only */
        s->avail_in = part;
        s->end_of_stream = end && part == n;
        do {
            s->next_out = (uint8_t *)p->out;
            s->avail_out = OUT_SIZE;
            if (isal_deflate(s) != COMP_OK) return false;
            size_t made = OUT_SIZE - s->avail_out;
            if (made && !p->sink->write(p->sink->context, p->out, made)) return false;
        } while (s->avail_out == 0);
        bytes += part;
        n -= part;
    } while (n);
    return true;
}

static bool pack_zstd(rs_packer *p, const char *bytes, size_t n, bool end)
{
    ZSTD_inBuffer in = {bytes, n, 0};
    for (;;) {
        ZSTD_outBuffer out = {p->out, OUT_SIZE, 0};
        size_t left = ZSTD_compressStream2(p->zstd, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) return false;
        if (out.pos && !p->sink->write(p->sink->context, p->out, out.pos)) return false;
        if (end ? left == 0 : in.pos == in.size) return true;
    }
}

static bool write_packed(void *context, const char *bytes, size_t n)
{
    rs_packer *p = context;
    if (n == 0) return true;
    switch (p->pack) {
    case RS_PACK_GZIP: return pack_gzip(p, bytes, n, false);
    case RS_PACK_ZSTD: return pack_zstd(p, bytes, n, false);
    default: return p->sink->write(p->sink->context, bytes, n);
    }
}

rs_sink rs_packer_sink(rs_packer *packer)
{
    return (rs_sink){write_packed, packer};
}

rs_status rs_packer_finish(rs_packer *p, rs_error *err)
{
    bool ok = p->pack == RS_PACK_GZIP   ? pack_gzip(p, "", 0, true)
              : p->pack == RS_PACK_ZSTD ? pack_zstd(p, "", 0, true)
                                        : true;
    return ok ? RS_OK : rs_fail(err, RS_ERR_IO, "the output could not be written");
}

void rs_packer_close(rs_packer *p)
{
    if (!p) return;
    ZSTD_freeCCtx(p->zstd);
    rs_free_all(p->gzip, p->level, p->out, p);
}
