/* Packed bytes: any bytes are read to an end without harm, in pieces as at once, on one thread as on two;
 * what was packed comes out again; a cut is noticed and what comes before it is right. */
#include <isa-l/igzip_lib.h>
#include <string.h>
#include <zstd.h>

#include "fuzz.h"
#include "format/kineto.h"

#define MAX_TEXT ((size_t)64 << 20)

typedef struct text {
    uint8_t *bytes;
    size_t n;
    rs_status status;
    rs_source_end end;
} text;

/* All text of the source, `step` bytes at a time. */
static text unpack(const uint8_t *data, size_t n, size_t step)
{
    text t = {0};
    rs_error err = RS_ERROR_INIT;
    rs_source *source;
    PROMISE(rs_source_open_bytes(data, n, "input", 0, &source, &err) == RS_OK);
    size_t capacity = 1 << 16, got = 1;
    t.bytes = malloc(capacity);
    PROMISE(t.bytes);
    while (got) {
        if (t.n + step > capacity) {
            t.bytes = realloc(t.bytes, capacity = (t.n + step) * 2);
            PROMISE(t.bytes);
        }
        t.status = rs_source_read(source, t.bytes + t.n, step, &got, &err);
        PROMISE(got <= step);
        t.n += got;
        PROMISE(t.n <= MAX_TEXT);
        if (t.status != RS_OK) break;
    }
    t.end = rs_source_get_end(source);
    PROMISE(t.status == RS_OK || t.status == RS_ERR_LIMIT);
    PROMISE(t.end.offset <= n && rs_source_bytes_in(source) <= n);
    rs_source_close(source);
    return t;
}

static void check_packed(const uint8_t *data, size_t n)
{
    text whole = unpack(data, n, (size_t)1 << 20), pieces = unpack(data, n, 1009);
    PROMISE(whole.status == pieces.status);
    if (whole.status == RS_OK) {
        /* where the bytes go wrong, how much of the last good ones is saved depends on the pieces */
        size_t least = whole.n < pieces.n ? whole.n : pieces.n;
        PROMISE(memcmp(whole.bytes, pieces.bytes, least) == 0);
        PROMISE(whole.n == pieces.n || (whole.end.corrupt && pieces.end.corrupt));
        PROMISE(whole.end.truncated == pieces.end.truncated && whole.end.corrupt == pieces.end.corrupt);
        PROMISE(whole.end.checksum == pieces.end.checksum && whole.end.trailing == pieces.end.trailing);
        PROMISE(whole.end.members == pieces.end.members);
    }
    free(whole.bytes);
    free(pieces.bytes);

    loaded reads[2] = {{.err = RS_ERROR_INIT}, {.err = RS_ERROR_INIT}};
    for (unsigned i = 0; i < 2; i++) {
        /* the second time on two threads; while inputs are invented: with learned layouts, as every machine has them */
        rs_load_settings settings = {.columns = RS_ALL_COLUMNS, .threads = 1};
        if (fuzz_every_way)
            settings.threads = i + 1;
        else
            settings.simd = i ? 2 : -1;
        rs_source *source;
        PROMISE(rs_source_open_bytes(data, n, "input", 0, &source, &reads[i].err) == RS_OK);
        reads[i].status = rs_kineto_load(source, &settings, &reads[i].events, &reads[i].err);
        rs_source_close(source);
    }
    promise_same(&reads[0], &reads[1]);
    loaded_clear(&reads[0]);
    loaded_clear(&reads[1]);
}

static size_t pack_gzip(const uint8_t *data, size_t n, uint8_t *out, size_t room)
{
    struct isal_zstream stream;
    isal_deflate_stateless_init(&stream);
    stream.gzip_flag = IGZIP_GZIP;
    stream.end_of_stream = 1;
    stream.next_in = (uint8_t *)(uintptr_t)data;
    stream.avail_in = (uint32_t)n;
    stream.next_out = out;
    stream.avail_out = (uint32_t)room;
    PROMISE(isal_deflate_stateless(&stream) == COMP_OK);
    return room - stream.avail_out;
}

static void check_cut(const uint8_t *packed, size_t cut, size_t first, size_t whole, const uint8_t *data,
                      size_t n)
{
    uint8_t *copy = malloc(cut + !cut);
    PROMISE(copy);
    memcpy(copy, packed, cut);
    text t = unpack(copy, cut, 4096);
    PROMISE(t.status == RS_OK);
    if (cut >= 4) PROMISE(t.n <= n && memcmp(t.bytes, data, t.n) == 0);
    if (cut >= 4) PROMISE(t.end.truncated == (cut != first && cut != whole));
    PROMISE(!t.end.corrupt && !t.end.checksum);
    free(t.bytes);
    free(copy);
}

/* Packs the text itself, in two members, and takes it apart again. */
static void check_round_trip(const uint8_t *data, size_t n)
{
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < n; i++) h = (h ^ data[i]) * 1099511628211u;
    size_t split = (size_t)(h % (n + 1)), room = 2 * (ZSTD_compressBound(n) + n + 512);
    uint8_t *packed = malloc(room);
    PROMISE(packed);
    for (int kind = 0; kind < 2; kind++) {
        size_t first, size;
        if (kind == 0) {
            first = pack_gzip(data, split, packed, room);
            size = first + pack_gzip(data + split, n - split, packed + first, room - first);
        } else {
            first = ZSTD_compress(packed, room, data, split, 1);
            size = first + ZSTD_compress(packed + first, room - first, data + split, n - split, 1);
        }
        text t = unpack(packed, size, 4096);
        PROMISE(t.status == RS_OK && t.n == n && memcmp(t.bytes, data, n) == 0);
        PROMISE(t.end.members == 2);
        PROMISE(!t.end.truncated && !t.end.corrupt && !t.end.checksum && !t.end.trailing);
        free(t.bytes);
        check_cut(packed, (size_t)(h >> 20) % size, first, size, data, n);
        check_packed(packed, size);
    }
    free(packed);
}

int fuzz_one(const uint8_t *data, size_t n)
{
    bool is_packed = (n >= 2 && data[0] == 0x1f && data[1] == 0x8b) ||
                     (n >= 4 && memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0);
    if (is_packed)
        check_packed(data, n);
    else
        check_round_trip(data, n);
    return 0;
}
