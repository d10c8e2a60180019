/* Entries of the store by themselves: narrow numbers, sections and their damage, a file that is cut short while it is
 * read. */
#define _GNU_SOURCE
#include <unistd.h>

#include "base/memory.h"
#include "base/strings.h"
#include "store/entry.h"
#include "store/narrow.h"
#include "support.h"

static const unsigned sizes[] = {1, 2, 4, 8};
#define N_SIZES (sizeof sizes / sizeof *sizes)

/* A number of a block whose numbers lie in a range of that many bits; some mean "none". */
static uint64_t some_number(rng *r, unsigned size, unsigned bits, uint64_t base, unsigned none_in)
{
    uint64_t x = base + (bits ? rng_next(r) >> (64 - bits) : 0);
    if (none_in && rng_below(r, none_in) == 0) x = size == 8 ? (uint64_t)INT64_MIN : UINT64_MAX;
    return x;
}

static void fill_block(rng *r, size_t n, unsigned size, unsigned bits, unsigned none_in, uint8_t *out)
{
    uint64_t base = rng_next(r);
    if (rng_below(r, 4) == 0) base = 0;
    if (rng_below(r, 8) == 0) base = (uint64_t)INT64_MIN + 1;
    for (size_t i = 0; i < n; i++) {
        uint64_t x = some_number(r, size, bits, base, none_in);
        memcpy(out + i * size, &x, size); /* the lower bytes */
    }
}

/* Whatever the numbers are they come back, from no more bytes than were written and through no others. */
TEST(test_numbers)
{
    rng r = {.state = 5};
    uint8_t block[8 * RS_NARROW_BLOCK], again[8 * RS_NARROW_BLOCK + 8], out[RS_NARROW_MOST];
    size_t narrower = 0;
    for (size_t turn = 0; turn < ROUNDS(8000); turn++) {
        unsigned size = sizes[turn % N_SIZES], bits = (unsigned)rng_below(&r, 65);
        size_t n = turn % 3 ? RS_NARROW_BLOCK : 1 + rng_below(&r, RS_NARROW_BLOCK);
        fill_block(&r, n, size, bits, turn % 5 == 0 ? 1 + (unsigned)rng_below(&r, 40) : 0, block);
        size_t took = rs_narrow_put(block, n, size, out);
        assert_true(took <= sizeof out && took >= rs_narrow_least(n, size));
        assert_true(took <= 1 + size + n * size);
        narrower += took < n * size;
        guarded g = guarded_copy(out, took);
        memset(again, 0xa5, sizeof again);
        assert_int_equal(rs_narrow_take(g.bytes, took, n, size, again), took);
        assert_memory_equal(block, again, n * size);
        assert_int_equal(again[n * size], 0xa5);
        for (size_t cut = 0; cut < took; cut += 1 + cut / 4)
            assert_int_equal(rs_narrow_take(g.bytes, cut, n, size, again), 0);
        guarded_free(&g);
    }
    assert_true(narrower > ROUNDS(8000) / 5);
}

/* How wide blocks become. */
TEST(test_widths)
{
    const struct {
        uint64_t first, second;
        size_t width;
    } cases[] = {{7, 7, 0},
                 {1000000, 1000255, 1},
                 {1000000, 1000256, 2},
                 {1000000, 1065535, 2},
                 {1000000, 1065536, 3},
                 {0, 0xffffff, 3},
                 {0, 0x1000000, 4},
                 {1, (uint64_t)INT64_MIN, 1}, /* one number and "none" */
                 {1, (uint64_t)INT64_MIN + 1, 8},
                 {(uint64_t)INT64_MIN, (uint64_t)INT64_MIN, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t v[RS_NARROW_BLOCK];
        uint8_t out[RS_NARROW_MOST];
        for (size_t k = 0; k < RS_NARROW_BLOCK; k++) v[k] = k % 2 ? cases[i].first : cases[i].second;
        assert_int_equal(rs_narrow_put(v, RS_NARROW_BLOCK, 8, out), 9 + cases[i].width * RS_NARROW_BLOCK);
    }
}

/* Any bytes: a block within them, or none. */
TEST(test_hostile_numbers)
{
    rng r = {.state = 9};
    uint8_t bytes[64], out[8 * RS_NARROW_BLOCK];
    for (size_t turn = 0; turn < ROUNDS(20000); turn++) {
        size_t n = rng_below(&r, sizeof bytes), count = 1 + rng_below(&r, RS_NARROW_BLOCK);
        unsigned size = sizes[turn % N_SIZES];
        for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)rng_next(&r);
        if (n && turn % 2) bytes[0] &= 0x8f;
        guarded g = guarded_copy(bytes, n);
        size_t took = rs_narrow_take(g.bytes, n, count, size, out);
        assert_true(took <= n);
        if (took) assert_true(took == 1 + size + count * (bytes[0] & 0x0f) && (bytes[0] & 0x0f) <= size);
        guarded_free(&g);
    }
}

/* ---- sections ------------------------------------------------------------------------------------------- */

#define N_NUMBERS ((size_t)100003)
static const rs_entry_key key = {RS_ENTRY_FACET, "which", "when", 5, 4};

typedef struct sample {
    char folder[64], path[128];
    uint32_t *rows;
    int64_t *times;
    char *text;
} sample;

/* Rows and times as narrow numbers, the same times as they are, and a text that is packed. */
static sample make_sample(size_t n, bool in_place)
{
    sample s = {.folder = "/tmp/rs-entry-XXXXXX"};
    char name[RS_ENTRY_NAME];
    uint64_t size;
    rng r = {.state = 3};
    assert_non_null(mkdtemp(s.folder));
    rs_entry_name(&key, name);
    snprintf(s.path, sizeof s.path, "%s/%s", s.folder, name);
    s.rows = rs_malloc(n * sizeof *s.rows);
    s.times = rs_malloc(n * sizeof *s.times);
    s.text = rs_malloc(n * 4);
    for (size_t i = 0; i < n; i++) {
        s.rows[i] = (uint32_t)(2 * i + rng_below(&r, 2));
        s.times[i] = i % 97 ? (int64_t)(i * 1000 + rng_below(&r, 70000)) : INT64_MIN;
        for (size_t k = 0; k < 4; k++) s.text[4 * i + k] = (char)('0' + (i >> 3 * k) % 8);
    }
    const rs_entry_part parts[] = {{.id = 1, .number = 4, .bytes = s.rows, .n = n * 4},
                                   {.id = 2, .number = 8, .bytes = s.times, .n = n * 8},
                                   {.id = 3, .bytes = s.times, .n = n * 8},
                                   {.id = 4, .pack = true, .bytes = s.text, .n = n * 4}};
    assert_int_equal(rs_entry_write(s.folder, &key, in_place, parts, 4, &size, NULL), RS_OK);
    text t = text_of_file(s.path);
    assert_int_equal(t.n, size);
    text_clear(&t);
    return s;
}

static void drop_sample(sample *s)
{
    assert_int_equal(unlink(s->path), 0);
    *strrchr(s->path, '/') = '\0';
    rmdir(s->path);
    rmdir(s->folder);
    rs_free_all(s->rows, s->times, s->text);
}

static bool is_as_written(const sample *s, size_t n, uint32_t id, const void *bytes)
{
    const void *own = id == 1 ? (const void *)s->rows : id == 4 ? (const void *)s->text : s->times;
    return memcmp(own, bytes, n * (id == 1 || id == 4 ? 4 : 8)) == 0;
}

typedef struct seen {
    size_t upto, calls;
    size_t stop; /* is told to be wrong from here on */
} seen;

static bool see(void *context, const void *bytes, size_t from, size_t to)
{
    seen *s = context;
    (void)bytes;
    assert_int_equal(from, s->upto);
    assert_true(to > from && to % 8 % 4 == 0);
    s->upto = to;
    s->calls++;
    return to <= s->stop;
}

static void check_sections(bool in_place)
{
    sample s = make_sample(N_NUMBERS, in_place);
    rs_entry *entry = rs_entry_find(s.folder, &key);
    assert_non_null(entry);
    assert_true(rs_entry_is_whole(entry));
    assert_int_equal(rs_entry_lying(entry) != NULL, in_place);
    if (!in_place) assert_true(rs_entry_size(entry) < N_NUMBERS * (8 + 3 + 2 + 2)); /* of 24 bytes a number */
    for (uint32_t id = 1; id < 5; id++) {
        size_t n;
        assert_true(rs_entry_part_size(entry, id, &n));
        assert_int_equal(n, N_NUMBERS * (id == 1 || id == 4 ? 4 : 8));
        uint8_t *out = rs_malloc(n + 8);
        memset(out + n, 0x5a, 8);
        seen all = {.stop = n}, some = {.stop = n / 2};
        assert_true(rs_entry_part_into(entry, id, n, out, &(rs_entry_check){see, &all}));
        assert_true(is_as_written(&s, N_NUMBERS, id, out) && out[n] == 0x5a);
        assert_int_equal(all.upto, n);
        assert_true(id == 4 || all.calls > 2);
        assert_false(rs_entry_part_into(entry, id, n, out, &(rs_entry_check){see, &some}));
        assert_false(rs_entry_part_into(entry, id, n - 8, out, NULL));
        rs_free(out);
        seen lying = {.stop = n}, less = {.stop = n / 2};
        const uint8_t *file = rs_entry_lying(entry),
                      *place = rs_entry_part_lying(entry, id, n, &(rs_entry_check){see, &lying});
        assert_int_equal(place != NULL, in_place);
        if (place) assert_true(place > file && place + n <= file + rs_entry_size(entry) && lying.upto == n);
        assert_null(rs_entry_part_lying(entry, id, n, &(rs_entry_check){see, &less}));
        assert_null(rs_entry_part_lying(entry, id, n - 8, NULL));
        const void *own = rs_entry_part_of(entry, id, &n);
        assert_non_null(own);
        if (place) assert_ptr_equal(own, place);
        assert_true(is_as_written(&s, N_NUMBERS, id, own));
    }
    size_t n;
    assert_false(rs_entry_part_size(entry, 5, &n));
    rs_entry_close(entry);
    drop_sample(&s);
}

TEST(test_sections)
{
    check_sections(false);
    check_sections(true);
}

/* What was read stays when the file is let go, or cut short by another hand, and no more of it is had. */
TEST(test_cut_short)
{
    for (int cut = 0; cut < 2; cut++) {
        sample s = make_sample(N_NUMBERS, false);
        rs_entry *entry = rs_entry_find(s.folder, &key);
        size_t n;
        const void *rows = rs_entry_part_of(entry, 1, &n);
        assert_non_null(rows);
        if (cut)
            assert_int_equal(truncate(s.path, (off_t)rs_entry_size(entry) / 8), 0);
        else
            rs_entry_let_go(entry);
        assert_true(is_as_written(&s, N_NUMBERS, 1, rows));
        assert_ptr_equal(rs_entry_part_of(entry, 1, &n), rows);
        for (uint32_t id = 2; id < 5; id++) assert_null(rs_entry_part_of(entry, id, &n));
        rs_entry_close(entry);
        if (cut) assert_null(rs_entry_find(s.folder, &key));
        drop_sample(&s);
    }
}

/* A byte changed anywhere in a section of several pieces: noticed, by reading it and by its sum alone. */
static void check_pieces(bool in_place)
{
    sample s = make_sample(N_NUMBERS, in_place);
    text t = text_of_file(s.path);
    uint8_t *copy = rs_malloc(t.n);
    rng r = {.state = 21};
    for (size_t turn = 0; turn < ROUNDS(60); turn++) {
        memcpy(copy, t.s, t.n);
        copy[t.n - 1 - rng_below(&r, t.n - 2048)] ^= (uint8_t)(1 + rng_below(&r, 255));
        rs_entry *entry = rs_entry_of_bytes(copy, t.n);
        assert_non_null(entry);
        size_t n, bad = 0;
        for (uint32_t id = 1; id < 5; id++) {
            const void *bytes = rs_entry_part_of(entry, id, &n);
            bad += !bytes;
            if (bytes) assert_true(is_as_written(&s, N_NUMBERS, id, bytes));
        }
        assert_true(bad <= 1);
        assert_int_equal(rs_entry_is_whole(entry), bad == 0); /* between two sections nothing counts */
        rs_entry_close(entry);
    }
    rs_free(copy);
    text_clear(&t);
    drop_sample(&s);
}

TEST(test_pieces)
{
    check_pieces(false);
    check_pieces(true);
}

/* Well summed and wrong, down to the table: read within its bounds or refused. */
static void check_hostile(bool in_place)
{
    sample s = make_sample(3000, in_place);
    text t = text_of_file(s.path);
    rng r = {.state = 17};
    size_t read = 0, refused = 0;
    for (size_t turn = 0; turn < ROUNDS(3000); turn++) {
        guarded g = guarded_copy(t.s, turn % 16 ? t.n : rng_below(&r, t.n));
        for (size_t k = 0; k < 1 + turn % 4; k++)
            if (g.n) g.bytes[rng_below(&r, turn % 2 && g.n > 320 ? 320 : g.n)] = (uint8_t)rng_next(&r);
        rs_entry_seal(g.bytes, g.n);
        rs_entry *entry = rs_entry_of_bytes(g.bytes, g.n);
        for (uint32_t id = 0; entry && id < 6; id++) {
            size_t n;
            const uint8_t *bytes = rs_entry_part_of(entry, id, &n);
            read += bytes && (!n || rs_hash_bytes(bytes, n) != 0); /* touches all of them */
            refused += !bytes;
        }
        rs_entry_close(entry);
        guarded_free(&g);
    }
    assert_true(read > 0 && refused > 0);
    text_clear(&t);
    drop_sample(&s);
}

TEST(test_hostile_sections)
{
    check_hostile(false);
    check_hostile(true);
}
