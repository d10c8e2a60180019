/* A trace's text gives the same events, problems and errors whichever way it is read: event by event, by
 * learned layouts at every SIMD level, from memory or through windows, on one thread or two. */
#include <string.h>
#include <zstd.h>

#include "fuzz.h"
#include "format/kineto.h"

static loaded load(const void *bytes, size_t n, const rs_load_settings *settings)
{
    loaded l = {.err = RS_ERROR_INIT};
    rs_source *source;
    l.status = rs_source_open_bytes(bytes, n, "input", 0, &source, &l.err);
    PROMISE(l.status == RS_OK);
    l.status = rs_kineto_load(source, settings, &l.events, &l.err);
    PROMISE((l.status == RS_OK) == (l.events != NULL));
    rs_source_close(source);
    return l;
}

/* A first byte of 0x80 or above is no text: it says what is kept and what the limits are. */
static rs_load_settings settings_of(uint8_t byte)
{
    rs_load_settings s = {.columns = RS_ALL_COLUMNS, .threads = 1, .simd = -1};
    if (byte < 0x80) return s;
    if (byte & 1) s.columns = RS_COLUMN_BIT(CORRELATION) | RS_COLUMN_BIT(STREAM) | RS_COLUMN_BIT(INPUT_DIMS);
    if (byte & 2) s.columns = 0;
    if (byte & 4) s.max_depth = 4;
    if (byte & 8) s.max_string = 24;
    return s;
}

static void check(const void *bytes, size_t n, const rs_load_settings *settings, const loaded *reference)
{
    loaded other = load(bytes, n, settings);
    promise_same(reference, &other);
    loaded_clear(&other);
}

/* The text packed: it comes through windows, not from memory. */
static void check_packed(const void *bytes, size_t n, rs_load_settings *settings, const loaded *reference)
{
    static ZSTD_CCtx *context;
    if (!context) context = ZSTD_createCCtx();
    size_t bound = ZSTD_compressBound(n);
    uint8_t *packed = malloc(bound);
    PROMISE(packed && context);
    size_t size = ZSTD_compressCCtx(context, packed, bound, bytes, n, 1);
    PROMISE(!ZSTD_isError(size));
    for (settings->threads = 1; settings->threads <= 1 + (unsigned)fuzz_every_way; settings->threads++)
        check(packed, size, settings, reference);
    free(packed);
}

int fuzz_one(const uint8_t *data, size_t n)
{
    rs_load_settings settings = settings_of(n ? *data : 0);
    if (n && *data >= 0x80) {
        data++;
        n--;
    }
    /* plain text only: packed bytes are fuzz_gzip's */
    if (n >= 2 && data[0] == 0x1f && data[1] == 0x8b) return 0;
    if (n >= 4 && memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0) return 0;

    loaded reference = load(data, n, &settings);
    if (fuzz_every_way) {
        for (settings.simd = 1; settings.simd <= 4; settings.simd++) check(data, n, &settings, &reference);
        settings.simd = 0;
        for (settings.threads = 2; settings.threads <= 3; settings.threads++)
            check(data, n, &settings, &reference);
        check_packed(data, n, &settings, &reference);
    } else {
        /* one way at a time, as the length of the text has it; the levels that every machine has */
        settings.simd = 1 + (int)(n % 2);
        if (n % 3)
            check(data, n, &settings, &reference);
        else
            check_packed(data, n, &settings, &reference);
    }
    loaded_clear(&reference);
    return 0;
}
