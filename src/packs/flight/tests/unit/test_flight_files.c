/* Dumps as they lie on disks: folders in folders, prefixes, ranks in names and before them, archives whole and cut, packed
 * files that break off; and the database that is made of a job, with SQLite's memory running out. */
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "folder.h"
#include "rankscope/flight.h"
#include "support.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static text dump_of(unsigned rank, unsigned n)
{
    text t = {0};
    text_puts(
        &t,
        "{\"version\":\"2.10\",\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":\"default_pg\",\"ranks\":\"[0, 1, 2]\"}},"
        "\"entries\":[");
    for (unsigned i = 0; i < n; i++)
        text_printf(
            &t,
            "%s{\"record_id\":%u,\"pg_id\":0,\"process_group\":[\"0\",\"default_pg\"],\"collective_seq_id\":%u,"
            "\"p2p_seq_id\":0,\"profiling_name\":\"nccl:all_reduce\",\"time_created_ns\":%u,\"input_sizes\":[[4]],"
            "\"output_sizes\":[[4]],\"input_dtypes\":[\"Float\"],\"output_dtypes\":[\"Float\"],\"state\":\"completed\","
            "\"frames\":[{\"name\":\"f%u\",\"filename\":\"a.py\",\"line\":%u}],\"is_p2p\":false}",
            i ? "," : "", i, i + 1, 1000 * i + rank + 1, i, i);
    text_puts(&t, "]}");
    return t;
}

/* ---- which files are read --------------------------------------------------------------------------------- */

TEST(test_which_files)
{
    folder f = folder_make();
    text zero = dump_of(0, 3), one = dump_of(1, 3), two = dump_of(2, 3), none = {0};
    text_puts(&none, "hello");
    folder_add(&f, "job", NULL);
    folder_add(&f, "job/a", NULL);
    folder_add(&f, "job/a/nccl_trace_rank_0", &zero);
    folder_add(&f, "job/a/deep", NULL);
    folder_add(&f, "job/a/deep/rank-1.json", &one);
    folder_add(&f, "job/rank_2_dir", NULL);
    folder_add(&f, "job/rank_2_dir/trace", &two);
    folder_add(&f, "job/.hidden", &none);
    folder_add(&f, "job/notes.txt", &none);
    folder_add(&f, "own", NULL);
    folder_add(&f, "own/trace0", &zero);
    folder_add(&f, "own/trace1", &one);
    folder_add(&f, "own/trace2x", &two);
    folder_add(&f, "own/trace3", NULL); /* a folder of that name */
    folder_add(&f, "plain", &zero);
    folder_add(&f, "empty", NULL);
    static const struct {
        const char *path[3]; /* below the folder; '!' in front: not below it, but after the '=' */
        const char *prefix;
        rs_status status;
        size_t ranks;
        size_t problems; /* that are losses */
    } cases[] = {
        {{"job"}, NULL, RS_OK, 3, 0},
        {{"job/"}, NULL, RS_OK, 3, 0},
        {{"job"}, "rank_", RS_OK, 1, 0},
        {{"job"}, "nothing", RS_ERR_FORMAT, 0, 0},
        {{"own/trace"}, NULL, RS_OK, 2, 0},
        {{"own/other"}, NULL, RS_ERR_IO, 0, 0},
        {{"gone/other"}, NULL, RS_ERR_IO, 0, 0},
        {{"plain"}, NULL, RS_OK, 1, 0}, /* the only one: rank 0 */
        {{"own/trace0", "own/trace1"}, NULL, RS_OK, 2, 0},
        {{"own/trace0", "own/trace0"}, NULL, RS_ERR_AMBIGUOUS, 0, 0},
        {{"!5=plain", "own/trace1"}, NULL, RS_OK, 2, 0},
        {{"!x5=plain"}, NULL, RS_ERR_IO, 0, 0},
        {{"!99999999999999999999=plain"}, NULL, RS_ERR_IO, 0, 0},
        {{"empty"}, NULL, RS_ERR_FORMAT, 0, 0},
        {{"job/notes.txt"}, NULL, RS_ERR_FORMAT, 0, 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char room[3][200];
        const char *paths[3];
        size_t n = 0;
        for (; n < 3 && cases[i].path[n]; n++) {
            const char *p = cases[i].path[n], *equals = strchr(p, '=');
            if (*p == '!')
                snprintf(room[n], sizeof room[n], "%.*s=%.60s/%s", (int)(equals - p - 1), p + 1, f.path,
                         equals + 1);
            else
                snprintf(room[n], sizeof room[n], "%.60s/%s", f.path, p);
            paths[n] = room[n];
        }
        for (unsigned jobs = 1; jobs < 4; jobs += 2) {
            rs_flight_settings settings = {
                .size = sizeof(rs_flight_settings), .jobs = jobs, .prefix = cases[i].prefix};
            rs_flight *flight = NULL;
            rs_error err = RS_ERROR_INIT;
            const rs_flight_report *r;
            rs_status status = rs_flight_open(paths, n, &settings, &flight, &err);
            if (status != cases[i].status)
                fail_msg("case %zu: %d, %s", i, status, status ? err.causes[0].message : "read");
            if (status == RS_OK) {
                assert_int_equal(rs_flight_get_report(flight, &r, &err), RS_OK);
                if (r->n_ranks != cases[i].ranks) fail_msg("case %zu: %zu ranks", i, r->n_ranks);
                assert_int_equal(r->n_entries, 3 * r->n_ranks);
            }
            if (flight && cases[i].problems)
                assert_int_equal(rs_problems_worst(rs_flight_problems(flight)), RS_LOSS);
            rs_flight_close(flight);
        }
    }
    folder_remove(&f);
    text_clear(&zero);
    text_clear(&one);
    text_clear(&two);
    text_clear(&none);
}

static bool stop_at(void *context, uint64_t done, uint64_t total)
{
    (void)total;
    return done < *(const uint64_t *)context;
}

/* Files that cannot be unpacked are named and the others read; the caller may stop it. */
TEST(test_unusable_files)
{
    folder f = folder_make();
    text t = dump_of(0, 200), packed = gzip_pack(t.s, t.n, 6), bomb = {0};
    folder_add(&f, "rank_0", &t);
    folder_add(&f, "rank_1.gz", &packed);
    packed.n /= 2;
    folder_add(&f, "rank_3.gz", &packed);
    packed.n = 5;
    folder_add(&f, "rank_2.gz", &packed);
    for (int i = 0; i < 100; i++)
        text_puts(&bomb, "                                                                ");
    text tight = gzip_pack(bomb.s, bomb.n, 9);
    folder_add(&f, "rank_4.gz", &tight);
    const char *paths[] = {f.path};
    const rs_flight_report *r;
    rs_flight *flight;
    rs_error err = RS_ERROR_INIT;
    rs_flight_settings settings = {
        .size = sizeof(rs_flight_settings), .jobs = 2, .max_ratio = 20, .max_file = 1 << 20};
    assert_int_equal(rs_flight_open(paths, 1, &settings, &flight, &err), RS_OK);
    assert_int_equal(rs_flight_get_report(flight, &r, &err), RS_OK);
    assert_true(r->n_ranks >= 1 && r->n_unusable >= 2);
    assert_int_equal(rs_problems_worst(rs_flight_problems(flight)), RS_LOSS);
    rs_flight_close(flight);
    /* a limit that is too low for all of them */
    settings = (rs_flight_settings){.size = sizeof(rs_flight_settings), .jobs = 1, .max_file = 100};
    assert_int_equal(rs_flight_open(paths, 1, &settings, &flight, &err), RS_ERR_FORMAT);
    rs_flight_close(flight);
    for (unsigned jobs = 1; jobs < 4; jobs += 2) {
        uint64_t after = 2;
        settings = (rs_flight_settings){.size = sizeof(rs_flight_settings),
                                        .jobs = jobs,
                                        .progress = stop_at,
                                        .progress_context = &after};
        assert_int_equal(rs_flight_open(paths, 1, &settings, &flight, &err), RS_ERR_CANCELLED);
        assert_null(flight);
    }
    folder_remove(&f);
    text_clear(&t);
    text_clear(&packed);
    text_clear(&bomb);
    text_clear(&tight);
}

/* ---- archives --------------------------------------------------------------------------------------------- */

static void tar_add(text *tar, const char *name, const text *t)
{
    char head[512] = "";
    unsigned sum = 0;
    snprintf(head, 100, "%s", name);
    snprintf(head + 100, 8, "0000644");
    snprintf(head + 124, 12, "%011o", (unsigned)t->n);
    head[156] = '0';
    memcpy(head + 257, "ustar", 5);
    memset(head + 148, ' ', 8);
    for (size_t i = 0; i < sizeof head; i++) sum += (unsigned char)head[i];
    snprintf(head + 148, 8, "%06o", sum);
    text_add(tar, head, sizeof head);
    text_add(tar, t->s, t->n);
    while (tar->n % 512) text_add(tar, "", 1);
}

/* Members by the ranks in their names, with a prefix or without; an archive that is cut anywhere gives what was whole. */
TEST(test_archives)
{
    text tar = {0};
    for (unsigned rank = 0; rank < 3; rank++) {
        char name[32];
        text t = dump_of(rank, 2);
        snprintf(name, sizeof name, rank == 2 ? "job/other_%u" : "job/fr_%u", rank);
        tar_add(&tar, name, &t);
        text_clear(&t);
    }
    size_t whole = tar.n;
    for (int i = 0; i < 1024; i++) text_add(&tar, "", 1);
    for (int with = 0; with < 2; with++)
        for (size_t n = tar.n, before = 3; n > 600; n -= n > whole ? tar.n - whole : 509) {
            folder f = folder_make();
            char path[96];
            text cut = {0};
            rs_flight *flight;
            rs_error err = RS_ERROR_INIT;
            const rs_flight_report *r;
            text_add(&cut, tar.s, n);
            folder_add(&f, "dumps.tar", &cut);
            snprintf(path, sizeof path, "%.60s/dumps.tar", f.path);
            const char *paths[] = {path};
            rs_flight_settings settings = {
                .size = sizeof(rs_flight_settings), .jobs = 1, .prefix = with ? "fr_" : NULL};
            rs_status status = rs_flight_open(paths, 1, &settings, &flight, &err);
            assert_true(status == RS_OK || status == RS_ERR_FORMAT);
            assert_int_equal(rs_flight_get_report(flight, &r, &err), RS_OK);
            size_t most = with ? 2 : 3;
            if (n == tar.n) assert_int_equal(r->n_ranks, most);
            assert_true(r->n_ranks <= before && r->n_ranks <= most);
            if (r->n_ranks < most) assert_int_equal(rs_problems_worst(rs_flight_problems(flight)), RS_LOSS);
            before = r->n_ranks;
            rs_flight_close(flight);
            text_clear(&cut);
            folder_remove(&f);
        }
    text_clear(&tar);
}

/* ---- the database ----------------------------------------------------------------------------------------- */

static sqlite3_mem_methods plain;
static uint64_t left; /* allocations until one fails; 0: none does */
static bool has_failed;

static bool fails(void)
{
    if (!left || --left) return false;
    return has_failed = true;
}

static void *failing_malloc(int n)
{
    return fails() ? NULL : plain.xMalloc(n);
}

static void *failing_realloc(void *p, int n)
{
    return fails() ? NULL : plain.xRealloc(p, n);
}

static int set_up_memory(void **state)
{
    (void)state;
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain) != SQLITE_OK) return 1;
    sqlite3_mem_methods mine = plain;
    mine.xMalloc = failing_malloc;
    mine.xRealloc = failing_realloc;
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &mine) != SQLITE_OK ||
           sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) != SQLITE_OK;
}

#define ENTRY(id, seq, p2p_seq, name, in, p2p)                                                               \
    "{\"record_id\":" #id                                                                                    \
    ",\"pg_id\":0,\"process_group\":[\"0\",\"default_pg\"],\"collective_seq_id\":" #seq                      \
    ",\"p2p_seq_id\":" #p2p_seq ",\"profiling_name\":\"nccl:" name "\",\"time_created_ns\":1" #id            \
    ",\"duration_ms\":0.5,\"input_sizes\":" in ",\"output_sizes\":" in ",\"input_dtypes\":[\"Float\"],"      \
    "\"output_dtypes\":[\"Float\"],\"state\":\"completed\",\"is_p2p\":" p2p                                  \
    ",\"frames\":[{\"name\":\"f\",\"filename\":\"a\","                                                       \
    "\"line\":" #id "}]}"
#define DUMP(entries)                                                                                                                 \
    "{\"version\":\"2.10\",\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":\"default_pg\",\"ranks\":\"[0, 1]\"}},\"entries\":[" entries \
    "]}"
/* A call that both made, one of other sizes, one that rank 1 never made; two transfers of other sizes, and one that nobody
 * takes. */
static const char first[] = DUMP(ENTRY(1, 1, 0, "all_reduce", "[[4]]", "false") "," ENTRY(
    2, 2, 0, "all_reduce", "[[4]]",
    "false") "," ENTRY(3, 2, 1, "send 0->1", "[[8]]",
                       "true") "," ENTRY(4, 2, 2, "send 0->1", "[[8]]",
                                         "true") "," ENTRY(5, 2, 3, "send 0->1", "[[8]]",
                                                           "true") "," ENTRY(6, 3, 3, "all_reduce",
                                                                             "[[9223372036854775807, 2]]",
                                                                             "false"));
static const char second[] = DUMP(ENTRY(1, 1, 0, "all_reduce", "[[4]]", "false") "," ENTRY(
    2, 2, 0, "all_reduce", "[[5]]", "false") "," ENTRY(3, 2, 1, "recv 1<-0", "[[9]]",
                                                       "true") "," ENTRY(4, 2, 3, "recv 1<-0", "[[9]]",
                                                                         "true"));

static rs_flight *open_two(void)
{
    rs_flight_bytes dumps[] = {{first, sizeof first - 1, 0, "0"}, {second, sizeof second - 1, 1, "1"}};
    rs_flight *flight;
    assert_int_equal(rs_flight_open_bytes(dumps, 2, NULL, &flight, NULL), RS_OK);
    return flight;
}

static int64_t count_of(const char *path, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *s;
    int64_t n = -1;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    if (sqlite3_step(s) == SQLITE_ROW) n = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    sqlite3_close(db);
    return n;
}

static void expect_whole(const char *path)
{
    assert_int_equal(count_of(path, "SELECT count(*) FROM nccl_calls"), 10);
    assert_int_equal(
        count_of(path, "SELECT count(*) FROM collectives WHERE type_of_mismatch = 'size_mismatch'"), 1);
    assert_int_equal(
        count_of(path, "SELECT count(*) FROM collectives WHERE type_of_mismatch = 'p2p_size_mismatch'"), 2);
    assert_int_equal(count_of(path, "SELECT count(*) FROM collectives WHERE missing_ranks = '[1]'"), 2);
    assert_int_equal(count_of(path, "SELECT count(*) FROM memberships"), 2);
    assert_int_equal(count_of(path, "SELECT max(input_numel) = 9223372036854775807 FROM collectives"), 1);
}

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

/* Whatever fails, the old file stays until the new one is whole, and nothing else is left behind. */
TEST(test_database)
{
    folder f = folder_make();
    char path[96], temporary[128];
    rs_error err = RS_ERROR_INIT;
    size_t n_failed = 0;
    snprintf(path, sizeof path, "%.60s/job.sqlite", f.path);
    snprintf(temporary, sizeof temporary, "%s.tmp-%ld", path, (long)getpid());
    rs_flight *flight = open_two();
    assert_int_equal(rs_flight_write_database(flight, path, &err), RS_OK);
    expect_whole(path);
    bool ran = true;
    for (uint64_t at = 1; ran; at += 1 + at / (RS_TEST_SLOW ? 8 : 30)) {
        text old = {0};
        text_puts(&old, "old");
        text_save(&old, path);
        text_clear(&old);
        has_failed = false;
        left = at;
        rs_status status = rs_flight_write_database(flight, path, &err);
        left = 0;
        ran = has_failed;
        if (status == RS_OK) {
            expect_whole(path);
        } else {
            n_failed++;
            assert_true(status == RS_ERR_NOMEM || status == RS_ERR_IO);
            old = text_of_file(path);
            assert_int_equal(old.n, 3);
            text_clear(&old);
        }
        assert_false(is_there(temporary));
    }
    assert_true(n_failed > 20);
    /* a folder of that name, and one that is not there */
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(rs_flight_write_database(flight, path, &err), RS_ERR_IO);
    assert_false(is_there(temporary));
    rmdir(path);
    assert_int_equal(rs_flight_write_database(flight, "/tmp/rs_not_there/job.sqlite", &err), RS_ERR_IO);
    /* what is no regular file stays: root would replace /dev/null */
    char fifo[64];
    struct stat info;
    snprintf(fifo, sizeof fifo, "/tmp/rs_fifo_%ld", (long)getpid());
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(rs_flight_write_database(flight, fifo, &err), RS_ERR_IO);
    assert_true(stat(fifo, &info) == 0 && S_ISFIFO(info.st_mode));
    unlink(fifo);
    /* our own memory */
    rs_status status = RS_ERR_NOMEM;
    for (uint64_t at = 1; status != RS_OK; at++) {
        assert_true(at < 1000);
        rs_test_fail_allocation(at);
        status = rs_flight_write_database(flight, path, &err);
        rs_test_fail_allocation(0);
        assert_false(is_there(temporary));
        if (status != RS_OK) assert_false(is_there(path));
    }
    expect_whole(path);
    unlink(path);
    rs_flight_close(flight);
    folder_remove(&f);
}

int main(void)
{
    return unit_run(set_up_memory, NULL);
}
