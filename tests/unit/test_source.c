/* Bytes of any packing: whole, in pieces, cut, damaged, padded. */
#include "support.h"

#include <pthread.h>
#include <unistd.h>
#include <zstd.h>

#include "base/memory.h"
#include "input/source.h"

/* Reads everything, `step` bytes at a time (0: at once). */
static text read_all(rs_source *source, size_t step, rs_status *status)
{
    text t = {0};
    uint8_t *block = malloc(step ? step : 1 << 16);
    assert_non_null(block);
    for (;;) {
        size_t got = 99, want = step ? step : (size_t)1 << 16;
        *status = rs_source_read(source, block, want, &got, NULL);
        if (*status != RS_OK) break;
        text_add(&t, block, got);
        if (got < want) {
            /* the end stays the end */
            assert_int_equal(rs_source_read(source, block, want, &got, NULL), RS_OK);
            assert_int_equal(got, 0);
            break;
        }
    }
    free(block);
    return t;
}

static rs_status try_unpack(const void *bytes, size_t n, size_t step, text *out, rs_source_end *end)
{
    rs_source *source;
    rs_status status;
    guarded g = guarded_copy(bytes, n);
    assert_int_equal(rs_source_open_bytes(g.bytes, n, "test", 0, &source, NULL), RS_OK);
    *out = read_all(source, step, &status);
    *end = rs_source_get_end(source);
    rs_source_close(source);
    guarded_free(&g);
    return status;
}

static text unpack(const void *bytes, size_t n, size_t step, rs_source_end *end)
{
    text t;
    assert_int_equal(try_unpack(bytes, n, step, &t, end), RS_OK);
    return t;
}

static bool clean(const rs_source_end *end)
{
    return !end->truncated && !end->corrupt && !end->checksum && !end->trailing;
}

static void assert_text(const text *got, const text *expected)
{
    assert_int_equal(got->n, expected->n);
    if (expected->n) assert_memory_equal(got->s, expected->s, expected->n);
}

static text packed(int kind, const text *plain)
{
    text t = {0};
    if (kind == 0) text_add(&t, plain->s, plain->n);
    if (kind == 1) t = gzip_pack(plain->s, plain->n, 6);
    if (kind == 2) t = zstd_pack(plain->s, plain->n);
    if (kind == 3) t = gzip_pack(plain->s, plain->n, 0); /* stored blocks */
    return t;
}

TEST(test_every_packing_in_every_step)
{
    static const size_t steps[] = {1, 2, 3, 7, 64, 1000, 65536, 0};
    static const rs_packing kinds[] = {RS_PACKING_PLAIN, RS_PACKING_GZIP, RS_PACKING_ZSTD, RS_PACKING_GZIP};
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 100, 3000, 65535, 65536, 65537, 131072, 300000};
    text all = text_trace(1500, 1);
    assert_true(all.n >= 300000);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        for (int kind = 0; kind < 4; kind++) {
            text plain = {0};
            text_add(&plain, all.s, sizes[k]);
            text p = packed(kind, &plain);
            for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
                if (RS_TEST_SLOW && sizes[k] > 70000 && steps[i] && steps[i] < 64) continue;
                rs_source_end end;
                text t = unpack(p.s, p.n, steps[i], &end);
                assert_text(&t, &plain);
                assert_true(clean(&end));
                if (kind) assert_int_equal(end.members, 1);
                text_clear(&t);
            }
            rs_source *source;
            assert_int_equal(rs_source_open_bytes(p.s, p.n, "name", 0, &source, NULL), RS_OK);
            assert_int_equal(rs_source_packing(source), kinds[kind]);
            assert_string_equal(rs_source_name(source), "name");
            assert_int_equal(rs_source_bytes_total(source), p.n);
            size_t n = 77;
            const uint8_t *memory = rs_source_memory(source, &n);
            if (kind == 0) assert_true(memory == (const uint8_t *)p.s && n == p.n);
            if (kind) assert_null(memory);
            rs_source_close(source);
            text_clear(&p);
            text_clear(&plain);
        }
    }
    text_clear(&all);
}

/* Reading exactly as many bytes as there are must not hide how the stream ends. */
TEST(test_exact_reads)
{
    text plain = text_trace(200, 2);
    for (int kind = 0; kind < 4; kind++) {
        text p = packed(kind, &plain);
        rs_source_end end;
        text t = unpack(p.s, p.n, plain.n, &end);
        assert_text(&t, &plain);
        assert_true(clean(&end));
        text_clear(&t);
        text_clear(&p);
    }
    text_clear(&plain);
}

/* ---- several members -------------------------------------------------------------------------------- */

TEST(test_members)
{
    text plain = text_trace(100, 3), whole = {0};
    for (int kind = 1; kind <= 2; kind++) {
        text file = {0}, empty = {0};
        for (size_t i = 0; i < 5; i++) {
            text part = {0};
            text_add(&part, plain.s + i * 1000, 1000 + i);
            text p = packed(kind, &part), none = packed(kind, &empty);
            text_add(&file, p.s, p.n);
            text_add(&file, none.s, none.n); /* an empty member between */
            text_add(&whole, part.s, part.n);
            text_clear(&p);
            text_clear(&none);
            text_clear(&part);
        }
        for (size_t step = 0; step < 40; step += 13) {
            rs_source_end end;
            text t = unpack(file.s, file.n, step, &end);
            assert_text(&t, &whole);
            assert_true(clean(&end));
            assert_int_equal(end.members, 10);
            text_clear(&t);
        }
        text_clear(&file);
        text_clear(&whole);
    }
    text_clear(&plain);
}

TEST(test_skippable_frames)
{
    static const uint8_t skippable[] = {0x5c, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'};
    text plain = text_trace(10, 3), p = packed(2, &plain), file = {0}, twice = {0};
    text_add(&file, p.s, p.n);
    text_add(&file, skippable, sizeof skippable);
    text_add(&file, p.s, p.n);
    text_add(&file, skippable, sizeof skippable);
    text_add(&twice, plain.s, plain.n);
    text_add(&twice, plain.s, plain.n);
    for (size_t step = 0; step < 3; step++) {
        rs_source_end end;
        text t = unpack(file.s, file.n, step, &end);
        assert_text(&t, &twice);
        assert_true(clean(&end));
        text_clear(&t);
    }
    text_clear(&plain);
    text_clear(&p);
    text_clear(&file);
    text_clear(&twice);
}

TEST(test_what_follows)
{
    static const struct {
        const char *bytes;
        size_t n;
        bool trailing, truncated;
        size_t at; /* of the offset, behind the member */
    } tails[] = {
        {"\0", 1, false, false, 0},     {"\0\0\0\0\0\0", 6, false, false, 0},
        {"garbage", 7, true, false, 0}, {"\0\0\0x", 4, true, false, 3},
        {"\x1fx", 2, true, false, 0},   {"(\xb5/", 3, true, true, 0}, /* by kind, see below */
        {"\x1f", 1, false, true, 1},    {"{}", 2, true, false, 0},
    };
    text plain = text_trace(20, 4);
    for (int kind = 1; kind <= 2; kind++) {
        for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
            text p = packed(kind, &plain);
            size_t n = p.n;
            text_add(&p, tails[i].bytes, tails[i].n);
            bool part = tails[i].truncated && (tails[i].bytes[0] == '(') == (kind == 2);
            rs_source_end end;
            text t = unpack(p.s, p.n, 0, &end);
            assert_text(&t, &plain);
            assert_int_equal(end.members, 1);
            assert_false(end.corrupt || end.checksum);
            assert_int_equal(end.truncated, part);
            assert_int_equal(end.trailing, !part && (tails[i].trailing || tails[i].truncated));
            if (end.trailing) assert_int_equal(end.offset, n + (tails[i].truncated ? 0 : tails[i].at));
            if (end.truncated) assert_int_equal(end.offset, p.n);
            text_clear(&t);
            text_clear(&p);
        }
        /* padding and members that lie around the edge of the input buffer */
        for (size_t pad = 262144 - 4; pad < 262144 + 4; pad++) {
            text file = {0}, stored = {0}, part = {0};
            text_add(&part, plain.s, 300);
            text p = packed(kind, &part);
            while (stored.n < pad) text_add(&stored, "\0", 1);
            text_add(&file, p.s, p.n);
            text_add(&file, stored.s, pad - p.n);
            rs_source_end end;
            text t = unpack(file.s, file.n, 0, &end);
            assert_true(clean(&end) && t.n == 300);
            text_clear(&t);
            text_puts(&file, "x");
            t = unpack(file.s, file.n, 0, &end);
            assert_true(end.trailing && end.offset == pad && t.n == 300);
            text_clear(&t);
            text_clear(&file);
            text_clear(&stored);
            text_clear(&part);
            text_clear(&p);
        }
    }
    text_clear(&plain);
}

/* The second member's magic cut in two by the edge of the input buffer. */
TEST(test_member_at_buffer_edge)
{
    rng r = {5};
    text noise = {0};
    for (size_t i = 0; i < 262144; i++) {
        char c = (char)rng_next(&r);
        text_add(&noise, &c, 1);
    }
    for (int kind = 1; kind <= 2; kind++) {
        text part = {0}, p = {0};
        for (size_t target = 262144 - 5; target <= 262144 + 1; target++) {
            /* noise does not compress: its length sets the member's */
            size_t n = 262000, last = 0;
            for (;; n += target - p.n) {
                text_clear(&part);
                text_clear(&p);
                text_add(&part, noise.s, n);
                p = packed(kind, &part);
                if (p.n == target || n == last) break;
                last = n;
            }
            if (p.n == target) {
                text file = {0}, twice = {0};
                for (int k = 0; k < 2; k++) {
                    text_add(&file, p.s, p.n);
                    text_add(&twice, part.s, part.n);
                }
                rs_source_end end;
                text t = unpack(file.s, file.n, 0, &end);
                assert_text(&t, &twice);
                assert_true(clean(&end) && end.members == 2);
                text_clear(&t);
                text_clear(&file);
                text_clear(&twice);
            } else {
                fail_msg("no member of %zu bytes could be made", target);
            }
        }
        text_clear(&part);
        text_clear(&p);
    }
    text_clear(&noise);
}

/* ---- damage ----------------------------------------------------------------------------------------- */

TEST(test_cut_at_every_byte)
{
    text plain = text_trace(12, 5), two = {0};
    for (int kind = 1; kind <= 2; kind++) {
        text file = {0}, p = packed(kind, &plain);
        text_add(&file, p.s, p.n);
        text_add(&file, p.s, p.n);
        text_clear(&two);
        text_add(&two, plain.s, plain.n);
        text_add(&two, plain.s, plain.n);
        size_t before = 0;
        for (size_t cut = kind == 1 ? 2 : 4; cut <= file.n; cut++) {
            rs_source_end end;
            text t = unpack(file.s, cut, cut % 3 ? 0 : 5, &end);
            bool whole = cut == file.n || cut == p.n;
            assert_int_equal(end.truncated, !whole);
            assert_false(end.corrupt || end.checksum || end.trailing);
            if (!whole) assert_int_equal(end.offset, cut);
            assert_true(t.n <= two.n && (t.n == 0 || memcmp(t.s, two.s, t.n) == 0));
            assert_true(t.n >= before); /* more bytes never give less text */
            if (cut >= p.n) assert_true(t.n >= plain.n);
            if (kind == 1) {
                bool complete;
                text theirs = gzip_prefix(file.s, cut, &complete);
                assert_true(t.n >= theirs.n);
                text_clear(&theirs);
            }
            before = t.n;
            text_clear(&t);
        }
        text_clear(&file);
        text_clear(&p);
    }
    text_clear(&plain);
    text_clear(&two);
}

/* A flipped byte anywhere is noticed, unless it lies in a header field that says nothing about the text. */
TEST(test_every_byte_corrupted)
{
    text plain = text_trace(12, 6);
    for (int kind = 1; kind <= 2; kind++) {
        text p = packed(kind, &plain);
        for (size_t at = 0; at < p.n; at++) {
            for (int bit = 0; bit < 8; bit += RS_TEST_SLOW ? 5 : 1) {
                p.s[at] = (char)(p.s[at] ^ (1 << bit));
                rs_source_end end;
                text t;
                rs_status status = try_unpack(p.s, p.n, 0, &t, &end);
                if (status != RS_OK) { /* a size in the frame's header that means a huge window */
                    assert_true(status == RS_ERR_LIMIT && kind == 2 && at < 12);
                    assert_int_equal(t.n, 0);
                }
                bool same = t.n == plain.n && memcmp(t.s, plain.s, t.n) == 0;
                bool magic = at < (kind == 1 ? 2 : 4), says_nothing = kind == 1 && at >= 3 && at < 10;
                if (status == RS_OK && !magic && !says_nothing && clean(&end) && !same)
                    fail_msg("kind %d, byte %zu, bit %d: a wrong text passed for right", kind, at, bit);
                if (!clean(&end)) assert_true(end.offset <= p.n);
                text_clear(&t);
                p.s[at] = (char)(p.s[at] ^ (1 << bit));
            }
        }
        text_clear(&p);
    }
    text_clear(&plain);
}

TEST(test_checksum)
{
    text plain = text_trace(12, 7), p = packed(1, &plain), q = packed(1, &plain);
    for (size_t back = 1; back <= 8; back++) {
        text file = {0};
        text_add(&file, p.s, p.n);
        file.s[p.n - back] = (char)(file.s[p.n - back] ^ 1);
        text_add(&file, q.s, q.n);
        rs_source_end end;
        text t = unpack(file.s, file.n, 0, &end);
        assert_true(end.checksum && !end.corrupt && !end.truncated && !end.trailing);
        assert_int_equal(end.offset, p.n);
        assert_int_equal(end.members, 2); /* the next member is read all the same */
        assert_int_equal(t.n, 2 * plain.n);
        text_clear(&t);
        text_clear(&file);
    }
    text z = packed(2, &plain);
    z.s[z.n - 1] = (char)(z.s[z.n - 1] ^ 1);
    rs_source_end end;
    text t = unpack(z.s, z.n, 0, &end);
    assert_true(end.checksum && !end.corrupt && !end.truncated);
    assert_text(&t, &plain);
    text_clear(&t);
    text_clear(&z);
    text_clear(&p);
    text_clear(&q);
    text_clear(&plain);
}

/* All blocks before a damaged one come out, however large the pieces are that are asked for. */
TEST(test_blocks_before_damage)
{
    text plain = text_trace(8000, 10);
    assert_true(plain.n > (size_t)1 << 20);
    for (int kind = 1; kind <= 2; kind++) {
        text p = packed(kind, &plain);
        for (size_t tenth = 3; tenth < 10; tenth++) {
            size_t at = p.n * tenth / 10;
            for (size_t i = 0; i < 64; i++) p.s[at + i] = (char)~p.s[at + i];
            rs_source_end end;
            text t = unpack(p.s, p.n, plain.n * 2, &end);
            assert_false(clean(&end));
            size_t same = 0;
            while (same < t.n && same < plain.n && t.s[same] == plain.s[same]) same++;
            /* a block is 128 KiB of text, that of gzip shorter */
            assert_true(same + 2 * 131072 > plain.n * tenth / 10 * 9 / 10);
            text_clear(&t);
            for (size_t i = 0; i < 64; i++) p.s[at + i] = (char)~p.s[at + i];
        }
        text_clear(&p);
    }
    text_clear(&plain);
}

TEST(test_ratio)
{
    text zeros = {0};
    zeros.n = (size_t)40 << 20;
    zeros.s = calloc(1, zeros.n);
    assert_non_null(zeros.s);
    for (int kind = 1; kind <= 2; kind++) {
        text p = packed(kind, &zeros);
        for (int i = 0; i < 2; i++) {
            uint64_t max_ratio = i ? 1000000 : 20;
            rs_source *source;
            rs_status status;
            assert_int_equal(rs_source_open_bytes(p.s, p.n, "bomb", max_ratio, &source, NULL), RS_OK);
            text t = read_all(source, 1 << 20, &status);
            assert_int_equal(status, i ? RS_OK : RS_ERR_LIMIT);
            if (i) assert_int_equal(t.n, zeros.n);
            if (!i) assert_true(t.n <= (size_t)17 << 20);
            text_clear(&t);
            rs_source_close(source);
        }
        text_clear(&p);
    }
    text_clear(&zeros);
}

/* ---- files and pipes -------------------------------------------------------------------------------- */

typedef struct feed {
    int fd;
    const text *bytes;
    size_t step;
} feed;

static void *feeder(void *context)
{
    feed *f = context;
    for (size_t at = 0; at < f->bytes->n; at += f->step) {
        size_t n = f->bytes->n - at < f->step ? f->bytes->n - at : f->step;
        if (write(f->fd, f->bytes->s + at, n) != (ssize_t)n) break;
    }
    close(f->fd);
    return NULL;
}

TEST(test_pipes)
{
    text plain = text_trace(60, 8);
    static const size_t steps[] = {1, 3, 5000};
    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 0; i < 3; i++) {
            for (int cut = 0; cut < 6; cut++) {
                text p = packed(kind, &plain);
                if (cut) p.n = (size_t)cut - 1; /* 0 to 4 bytes, too */
                int fds[2];
                assert_int_equal(pipe(fds), 0);
                feed f = {.fd = fds[1], .bytes = &p, .step = steps[i]};
                pthread_t thread;
                assert_int_equal(pthread_create(&thread, NULL, feeder, &f), 0);
                char path[64];
                snprintf(path, sizeof path, "/dev/fd/%d", fds[0]);
                rs_source *source;
                rs_status status;
                assert_int_equal(rs_source_open(path, 0, &source, NULL), RS_OK);
                text t = read_all(source, 777, &status);
                assert_int_equal(status, RS_OK);
                if (!cut) assert_text(&t, &plain);
                if (cut && kind == 0) assert_text(&t, &p);
                assert_false(rs_source_is_seekable(source));
                assert_int_equal(rs_source_bytes_total(source), 0);
                assert_int_equal(rs_source_bytes_in(source), p.n);
                rs_source_close(source);
                pthread_join(thread, NULL);
                close(fds[0]);
                text_clear(&t);
                text_clear(&p);
            }
        }
    }
    text_clear(&plain);
}

TEST(test_files)
{
    text plain = text_trace(2000, 9);
    for (int kind = 0; kind < 3; kind++) {
        text p = packed(kind, &plain);
        char path[64];
        int fd = file_of(p.s, p.n, path);
        rs_source *source;
        rs_status status;
        assert_int_equal(rs_source_open(path, 0, &source, NULL), RS_OK);
        assert_int_equal(rs_source_is_seekable(source), kind == 0);
        assert_int_equal(rs_source_bytes_total(source), p.n);
        text t = read_all(source, 0, &status);
        assert_text(&t, &plain);
        assert_int_equal(rs_source_bytes_in(source), p.n);
        if (kind == 0) {
            char piece[100];
            size_t got;
            assert_int_equal(rs_source_read_at(source, 1000, piece, 100, &got, NULL), RS_OK);
            assert_int_equal(got, 100);
            assert_memory_equal(piece, plain.s + 1000, 100);
            assert_int_equal(rs_source_read_at(source, plain.n - 10, piece, 100, &got, NULL), RS_OK);
            assert_int_equal(got, 10);
            assert_int_equal(rs_source_read_at(source, plain.n + 10, piece, 100, &got, NULL), RS_OK);
            assert_int_equal(got, 0);
        }
        rs_source_close(source);
        text_clear(&t);

        uint8_t *block;
        size_t n;
        for (int i = 0; i < 4; i++) {
            size_t max = i == 0 ? plain.n : i == 1 ? plain.n - 1 : i == 2 ? SIZE_MAX : 0;
            assert_int_equal(rs_source_open(path, 0, &source, NULL), RS_OK);
            status = rs_source_read_all(source, max, &block, &n, NULL);
            assert_int_equal(status, max >= plain.n ? RS_OK : RS_ERR_LIMIT);
            if (status == RS_OK) {
                assert_int_equal(n, plain.n);
                assert_memory_equal(block, plain.s, n);
                for (size_t k = 0; k < 64; k++) assert_int_equal(block[n + k], 0);
                rs_free(block);
            }
            rs_source_close(source);
        }
        close(fd);
        text_clear(&p);
    }
    text_clear(&plain);
}

TEST(test_refusals)
{
    rs_source *source = (rs_source *)&source;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_source_open("/no/such/file", 0, &source, &err), RS_ERR_IO);
    assert_null(source);
    assert_string_equal(err.causes[0].file, "/no/such/file");
    assert_int_equal(rs_source_open("/", 0, &source, &err), RS_ERR_IO);
    assert_null(source);
    rs_source_close(NULL);
}

/* A frame header of zstd that asks for a window of 2^log bytes, and one stored block. */
static rs_status read_window(unsigned log, char *got, rs_error *err)
{
    const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0,  (uint8_t)((log - 10) << 3), 4 << 3 | 1, 0,
                             0,    'a',  'b',  'c',  'd'};
    rs_source *source;
    assert_int_equal(rs_source_open_bytes(frame, sizeof frame, "frame", 0, &source, NULL), RS_OK);
    size_t n = 0;
    rs_status status = rs_source_read(source, (uint8_t *)got, 4, &n, err);
    got[n] = '\0';
    rs_source_close(source);
    return status;
}

TEST(test_zstd_windows)
{
    char got[5];
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(read_window(27, got, &err), RS_OK);
    assert_string_equal(got, "abcd");
    assert_int_equal(read_window(28, got, &err), RS_ERR_LIMIT);
    assert_string_equal(err.causes[0].file, "frame");
    assert_non_null(strstr(err.causes[0].message, "--long"));
}

/* What was looked at is read all the same, packed or not, however little is asked for. */
TEST(test_peek)
{
    text plain = {0};
    for (int i = 0; i < 3000; i++) text_printf(&plain, "line %d\n", i);
    text packed = gzip_pack(plain.s, plain.n, 6);
    const text *all[] = {&plain, &packed};
    for (size_t i = 0; i < 2; i++) {
        rs_source *source;
        const uint8_t *head;
        size_t n, total = 0, got;
        char path[64], out[700];
        int fd = file_of(all[i]->s, all[i]->n, path);
        assert_int_equal(rs_source_open(path, 0, &source, NULL), RS_OK);
        assert_int_equal(rs_source_peek(source, 6, &head, &n, NULL), RS_OK);
        assert_int_equal(n, 6);
        assert_memory_equal(head, "line 0", 6);
        assert_int_equal(rs_source_peek(source, SIZE_MAX, &head, &n, NULL), RS_OK);
        assert_int_equal(n, RS_SOURCE_PEEK);
        do {
            assert_int_equal(rs_source_read(source, out, sizeof out, &got, NULL), RS_OK);
            assert_true(total + got <= plain.n);
            assert_memory_equal(out, plain.s + total, got);
            total += got;
        } while (got == sizeof out);
        assert_int_equal(total, plain.n);
        assert_int_equal(rs_source_read(source, out, sizeof out, &got, NULL), RS_OK);
        assert_int_equal(got, 0);
        rs_source_close(source);
        close(fd);
        unlink(path);
    }
    text_clear(&plain);
    text_clear(&packed);
    rs_source *source;
    const uint8_t *head;
    size_t n = 9;
    assert_int_equal(rs_source_open_bytes("", 0, "x", 0, &source, NULL), RS_OK);
    assert_int_equal(rs_source_peek(source, 10, &head, &n, NULL), RS_OK);
    assert_int_equal(n, 0);
    rs_source_close(source);
}

/* Bytes that come in pieces of at most 1000; the second half can fail, or come with more than was asked for. */
typedef struct far_away {
    const text *all;
    uint64_t fails_from;
    size_t n_fetched;
} far_away;

static rs_status fetch(void *context, uint64_t offset, void *bytes, size_t n, size_t *got, rs_error *err)
{
    far_away *f = context;
    if (offset >= f->fails_from)
        return rs_fail_at(err, RS_ERR_IO, "far", offset, "cannot be fetched: the store is gone");
    size_t left = offset < f->all->n ? f->all->n - (size_t)offset : 0;
    *got = n < left ? n : left;
    if (*got > 1000) *got = 1000;
    memcpy(bytes, f->all->s + (offset < f->all->n ? offset : 0), *got);
    f->n_fetched += *got;
    return RS_OK;
}

TEST(test_remote)
{
    text plain = {0};
    for (int i = 0; i < 60000; i++) text_printf(&plain, "line %d\n", i * 7919 % 60013);
    text packed = gzip_pack(plain.s, plain.n, 1);
    const text *all[] = {&plain, &packed};
    for (size_t i = 0; i < 2; i++) {
        rs_source *source;
        rs_status status;
        rs_error err = RS_ERROR_INIT;
        far_away f = {all[i], UINT64_MAX, 0};
        rs_remote remote = {fetch, &f, all[i]->n};
        assert_int_equal(rs_source_open_remote(&remote, "far", 0, &source, NULL), RS_OK);
        assert_int_equal(rs_source_packing(source), i ? RS_PACKING_GZIP : RS_PACKING_PLAIN);
        assert_false(rs_source_is_seekable(source));
        size_t n;
        assert_null(rs_source_memory(source, &n));
        text got = read_all(source, 777, &status);
        assert_int_equal(status, RS_OK);
        assert_text(&got, &plain);
        text_clear(&got);
        assert_int_equal(f.n_fetched, all[i]->n); /* each byte once */
        assert_int_equal(rs_source_bytes_in(source), all[i]->n);
        assert_int_equal(rs_source_bytes_total(source), all[i]->n);
        rs_source_close(source);
        f.fails_from = all[i]->n - 100;
        status = rs_source_open_remote(&remote, "far", 0, &source, &err);
        uint8_t *whole = NULL;
        if (status == RS_OK) status = rs_source_read_all(source, SIZE_MAX / 4, &whole, &n, &err);
        assert_int_equal(status, RS_ERR_IO);
        assert_non_null(strstr(err.causes[0].message, "the store is gone"));
        rs_source_close(source);
        f.fails_from = 0;
        assert_int_equal(rs_source_open_remote(&remote, "far", 0, &source, NULL), RS_ERR_IO);
        assert_null(source);
    }
    text_clear(&plain);
    text_clear(&packed);
}
