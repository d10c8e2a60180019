/* The history: nothing is lost and nothing is there twice, whoever writes, is killed, or is refused. */
#include <math.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"
#include "watch/history.h"

typedef struct place {
    char path[64];
} place;

static void make_place(place *p)
{
    static int number;
    const char *folder = getenv("TMPDIR");
    snprintf(p->path, sizeof p->path, "%.30s/watch-%d-%d.db", folder ? folder : "/tmp", (int)getpid(),
             number++);
    unlink(p->path);
}

static rs_watch_history *open_at(const place *p)
{
    rs_watch_history *h;
    rs_error err = RS_ERROR_INIT;
    char words[800];
    if (rs_history_open(p->path, &h, &err) != RS_OK) fail_msg("%s", rs_error_text(&err, words, sizeof words));
    return h;
}

static void run_sql(const place *p, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(p->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static rs_history_window window_of(const int64_t *ranks, size_t n, const float *values, int64_t start)
{
    rs_history_window w = {.start_ns = start, .end_ns = start + 100, .first_step = start / 1000};
    w.values = (rs_window_values){.start_ns = start, .ranks = ranks, .n = n};
    w.values.values[RS_WATCH_STEP] = values;
    return w;
}

static int64_t add(rs_watch_history *h, const rs_history_window *w)
{
    int64_t id = 0;
    assert_int_equal(rs_history_begin(h, NULL), RS_OK);
    assert_int_equal(rs_history_add_window(h, w, &id, &(rs_error)RS_ERROR_INIT), RS_OK);
    assert_int_equal(rs_history_commit(h, NULL), RS_OK);
    return id;
}

typedef struct seen {
    size_t n, n_ranks;
    int64_t ranks[16];
    float values[16];
} seen;

static rs_status see(void *context, const rs_window_values *w, rs_error *err)
{
    seen *s = context;
    (void)err;
    s->n++;
    s->n_ranks = w->n;
    for (size_t i = 0; i < w->n && i < 16; i++) s->ranks[i] = w->ranks[i];
    for (size_t i = 0; i < w->n && i < 16 && w->values[RS_WATCH_STEP]; i++)
        s->values[i] = w->values[RS_WATCH_STEP][i];
    return RS_OK;
}

TEST(test_round_trip)
{
    static const int64_t ranks[] = {0, 1, 2, 7, 8, 100}, more[] = {1, 5, 200};
    static const float values[] = {1, 2, 3, 4, 5, 6}, others[] = {90, 50, 20};
    place p;
    seen s = {0};
    rs_error err = RS_ERROR_INIT;
    size_t n;
    make_place(&p);
    rs_watch_history *h = open_at(&p);
    rs_history_window w = window_of(ranks, 6, values, 5000), late = window_of(more, 3, others, 5000);
    int64_t id = add(h, &w), found, newest, start;
    rs_history_close(h);
    h = open_at(&p); /* a second opening migrates nothing */
    assert_int_equal(rs_history_find_window(h, 5050, 5060, 5, &found, &err), RS_OK);
    assert_int_equal(found, id);
    assert_int_equal(rs_history_find_window(h, 5050, 5060, 6, &found, &err), RS_OK);
    assert_int_equal(found, 0);
    assert_int_equal(rs_history_find_window(h, 6050, 6060, 5, &found, &err), RS_OK);
    assert_int_equal(found, 0);
    /* late ranks join; one that is there stays as it was */
    assert_int_equal(rs_history_add_ranks(h, id, &late.values, &n, &err), RS_OK);
    assert_int_equal(n, 2);
    assert_int_equal(rs_history_add_ranks(h, id, &late.values, &n, &err), RS_OK);
    assert_int_equal(n, 0);
    assert_int_equal(rs_history_each_window(h, 0, see, &s, &err), RS_OK);
    static const int64_t all[] = {0, 1, 2, 5, 7, 8, 100, 200};
    static const float all_values[] = {1, 2, 3, 50, 4, 5, 6, 20};
    assert_int_equal(s.n, 1);
    assert_int_equal(s.n_ranks, 8);
    assert_memory_equal(s.ranks, all, sizeof all);
    assert_memory_equal(s.values, all_values, sizeof all_values);
    assert_int_equal(rs_history_newest(h, &newest, &start, &err), RS_OK);
    assert_int_equal(newest, id);
    assert_int_equal(start, 5000);
    rs_history_close(h);
    unlink(p.path);
}

/* Windows of equal time are apart by their first step; step 0 is one, and no step is not. */
TEST(test_first_step)
{
    static const int64_t ranks[] = {0, 1};
    static const float values[] = {1, 2};
    place p;
    rs_error err = RS_ERROR_INIT;
    make_place(&p);
    rs_watch_history *h = open_at(&p);
    rs_history_window w = window_of(ranks, 2, values, 5000);
    for (int64_t step = -1; step < 2; step++) {
        int64_t found;
        w.first_step = step;
        assert_int_equal(rs_history_find_window(h, 5050, 5060, step, &found, &err), RS_OK);
        assert_int_equal(found, 0);
        const int64_t id = add(h, &w);
        assert_int_equal(rs_history_find_window(h, 5050, 5060, step, &found, &err), RS_OK);
        assert_int_equal(found, id);
    }
    rs_history_close(h);
    unlink(p.path);
}

/* What was not committed is not there, also after the process is gone without a word. */
TEST(test_killed)
{
    static const int64_t ranks[] = {0};
    static const float values[] = {1};
    place p;
    int64_t window;
    int64_t id;
    seen s = {0};
    rs_error err = RS_ERROR_INIT;
    make_place(&p);
    rs_watch_history *h = open_at(&p);
    rs_history_window w = window_of(ranks, 1, values, 1000), second = window_of(ranks, 1, values, 2000);
    add(h, &w);
    if (fork() == 0) { /* the child dies in the middle of a window */
        rs_watch_history *child = open_at(&p);
        rs_history_begin(child, &err);
        rs_history_add_window(child, &second, &id, &err);
        rs_history_add_file(child, 77, id, &err);
        _exit(0);
    }
    wait(NULL);
    assert_int_equal(rs_history_file_window(h, 77, &window, &err), RS_OK);
    assert_int_equal(window, 0);
    assert_int_equal(rs_history_each_window(h, 0, see, &s, &err), RS_OK);
    assert_int_equal(s.n, 1);
    add(h, &second); /* the lock went with it */
    rs_history_close(h);
    unlink(p.path);
}

static rs_status deliver(void *context, const rs_history_message *m, rs_error *err)
{
    int *left = context;
    (void)m;
    if (!*left) return rs_fail(err, RS_ERR_IO, "no more");
    --*left;
    return RS_OK;
}

/* Each change and message once, whichever of two watchers comes first; a failed delivery leaves the rest. */
TEST(test_two_watchers)
{
    const rs_history_change c = {.kind = "step",
                                 .subject = "",
                                 .rank = -1,
                                 .begun = 3,
                                 .usual = NAN,
                                 .now = NAN,
                                 .change = NAN,
                                 .low = NAN,
                                 .high = NAN};
    const rs_history_message
        m = {.window = 3, .what = "begun", .kind = "step", .subject = "job", .text = "slower", .fault = 1},
        other = {.window = 4, .what = "over", .kind = "step", .subject = "job", .text = "over", .fault = 1};
    place p;
    rs_error err = RS_ERROR_INIT;
    int64_t fault, first;
    make_place(&p);
    rs_watch_history *a = open_at(&p), *b = open_at(&p);
    assert_int_equal(rs_history_begin_change(a, &c, &first, &err), RS_OK);
    assert_true(first > 0);
    assert_int_equal(rs_history_begin_change(b, &c, &fault, &err), RS_OK);
    assert_int_equal(fault, 0);
    rs_history_change later = c, effect = c;
    later.begun = 4; /* it goes on already */
    assert_int_equal(rs_history_begin_change(b, &later, &fault, &err), RS_OK);
    assert_int_equal(fault, 0);
    effect.kind = "idle";
    effect.fault = first;
    assert_int_equal(rs_history_begin_change(b, &effect, &fault, &err), RS_OK);
    assert_int_equal(fault, first);
    assert_int_equal(rs_history_end_change(b, "idle", "", -1, 9, &fault, &err), RS_OK);
    assert_int_equal(fault, first);
    assert_int_equal(rs_history_end_change(b, "step", "", -1, 9, &fault, &err), RS_OK);
    assert_int_equal(fault, first);
    assert_int_equal(rs_history_end_change(a, "step", "", -1, 9, &fault, &err), RS_OK);
    assert_int_equal(fault, 0);
    assert_int_equal(rs_history_say(a, &m, &err), RS_OK);
    assert_int_equal(rs_history_say(b, &m, &err), RS_OK);
    assert_int_equal(rs_history_say(b, &other, &err), RS_OK);
    int left = 1;
    assert_int_equal(rs_history_deliver(a, deliver, &left, &err), RS_ERR_IO);
    left = 9;
    assert_int_equal(rs_history_deliver(b, deliver, &left, &err), RS_OK);
    assert_int_equal(left, 8); /* the one that was left */
    rs_history_close(a);
    rs_history_close(b);
    unlink(p.path);
}

static rs_status copy_id(void *context, const rs_history_message *m, rs_error *err)
{
    (void)err;
    *(int64_t *)context = m->id;
    return RS_OK;
}

/* Of two watchers one has a message that is to be posted; the other one takes it when the first one was killed with it, or gave it
 * back. What was over and printed before the first post is left. */
TEST(test_posts)
{
    place p;
    rs_error err = RS_ERROR_INIT;
    bool has;
    int64_t id = 0;
    make_place(&p);
    rs_watch_history *a = open_at(&p), *b = open_at(&p);
    run_sql(
        &p,
        "INSERT INTO change (kind, subject, rank, begun, ended, fault) VALUES ('step', '', -1, 1, 2, 1),"
        " ('idle', '', -1, 1, NULL, 2);"
        "INSERT INTO said VALUES (1, 1, 0, 'begun', 'step', 'job', 'a', 1, 0, 1),"
        " (2, 1, 0, 'begun', 'idle', 'job', 'b', 1, 0, 2), (3, 2, 0, 'over', 'step', 'job', 'c', 0, 0, 1)");
    assert_int_equal(rs_history_skip_old_posts(a, &err), RS_OK);
    assert_int_equal(rs_history_claim_post(a, 1000, 1060, copy_id, &id, &has, &err), RS_OK);
    assert_true(has);
    assert_int_equal(id, 2); /* the first one was printed and is over */
    assert_int_equal(rs_history_claim_post(b, 1001, 1061, copy_id, &id, &has, &err), RS_OK);
    assert_int_equal(id, 3);
    assert_int_equal(rs_history_claim_post(b, 1002, 1062, copy_id, &id, &has, &err), RS_OK);
    assert_false(has);
    assert_int_equal(rs_history_claim_post(b, 1060, 1120, copy_id, &id, &has, &err), RS_OK);
    assert_true(has);
    assert_int_equal(id, 2); /* its time is over */
    assert_int_equal(rs_history_end_post(b, 2, RS_POSTED, &err), RS_OK);
    assert_int_equal(rs_history_end_post(b, 3, RS_POST_AGAIN, &err), RS_OK);
    assert_int_equal(rs_history_claim_post(a, 1003, 1063, copy_id, &id, &has, &err), RS_OK);
    assert_int_equal(id, 3);
    assert_int_equal(rs_history_end_post(a, 3, RS_POST_REFUSED, &err), RS_OK);
    assert_int_equal(rs_history_claim_post(a, 9000, 9060, copy_id, &id, &has, &err), RS_OK);
    assert_false(has);
    rs_history_close(a);
    rs_history_close(b);
    unlink(p.path);
}

/* A full disk is an error; what was there stays, and there is room for the same again later. */
TEST(test_full)
{
    enum { N = 4096 };
    static int64_t ranks[N];
    static float values[N];
    place p;
    rs_error err = RS_ERROR_INIT;
    rs_status status = RS_OK;
    int64_t id;
    seen s = {0};
    make_place(&p);
    for (size_t i = 0; i < N; i++) ranks[i] = (int64_t)i;
    rs_history_window w = window_of(ranks, N, values, 1000);
    rs_watch_history *h = open_at(&p);
    add(h, &w);
    rs_history_limit_pages(h, 12);
    w = window_of(ranks, N, values, 2000);
    rs_history_begin(h, &err);
    status = rs_history_add_window(h, &w, &id, &err);
    if (status == RS_OK) status = rs_history_commit(h, &err);
    assert_int_equal(status, RS_ERR_IO);
    rs_history_rollback(h);
    assert_int_equal(rs_history_each_window(h, 0, see, &s, &err), RS_OK);
    assert_int_equal(s.n, 1);
    rs_history_limit_pages(h, 1000);
    add(h, &w);
    rs_history_close(h);
    unlink(p.path);
}

TEST(test_foreign)
{
    static const int64_t ranks[] = {0, 1};
    static const float values[] = {1, 2};
    static const char *const damage[] = {
        "UPDATE window SET ranks = x'00'", "UPDATE window SET n_ranks = -1",
        "UPDATE window SET ranks = x'00000000ffffffff', n_ranks = 2147483647",
        "UPDATE rank_value SET value = x'0000'", "UPDATE rank_value SET metric = 99"};
    place p;
    rs_watch_history *h;
    rs_error err = RS_ERROR_INIT;
    make_place(&p);
    run_sql(&p, "CREATE TABLE t (x)");
    assert_int_equal(rs_history_open(p.path, &h, &err), RS_ERR_FORMAT);
    unlink(p.path);
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        seen s = {0};
        h = open_at(&p);
        rs_history_window w = window_of(ranks, 2, values, 1000);
        add(h, &w);
        rs_history_close(h);
        run_sql(&p, damage[i]);
        h = open_at(&p);
        rs_status status = rs_history_each_window(h, 0, see, &s, &err);
        assert_int_equal(status, RS_ERR_FORMAT);
        rs_history_close(h);
        unlink(p.path);
    }
    rs_history_close(open_at(&p));
    run_sql(&p, "PRAGMA user_version = 3");
    assert_int_equal(rs_history_open(p.path, &h, &err), RS_ERR_FORMAT);
    unlink(p.path);
}

/* A history of version 1 is migrated: its changes go on, each a fault of its own, and no message is delivered again. */
TEST(test_migrated)
{
    place p;
    int left = 9;
    int64_t fault;
    rs_error err = RS_ERROR_INIT;
    make_place(&p);
    run_sql(
        &p,
        "CREATE TABLE window (id INTEGER PRIMARY KEY, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,"
        " first_step INTEGER, n_ranks INTEGER NOT NULL, ranks BLOB NOT NULL, UNIQUE (start_ns, first_step));"
        "CREATE TABLE change (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, subject TEXT NOT NULL, rank INTEGER NOT NULL,"
        " begun INTEGER NOT NULL, ended INTEGER, usual REAL, now REAL, change REAL, low REAL, high REAL, cause TEXT,"
        " UNIQUE (kind, subject, rank, begun));"
        "CREATE UNIQUE INDEX change_open ON change (kind, subject, rank) WHERE ended IS NULL;"
        "CREATE TABLE said (id INTEGER PRIMARY KEY, window INTEGER NOT NULL, at_ns INTEGER NOT NULL, what TEXT NOT NULL,"
        " kind TEXT NOT NULL, subject TEXT NOT NULL, text TEXT NOT NULL, printed INTEGER NOT NULL DEFAULT 0,"
        " posted INTEGER NOT NULL DEFAULT 0, UNIQUE (window, what, kind, subject));"
        "INSERT INTO change (kind, subject, rank, begun) VALUES ('step', '', -1, 3), ('idle', '', -1, 3);"
        "INSERT INTO said VALUES (1, 3, 0, 'begun', 'step', 'job', 'a', 1, 0), (2, 3, 0, 'begun', 'idle', 'job', 'b', 0, 0);"
        "PRAGMA application_id = 1920169832; PRAGMA user_version = 1");
    rs_watch_history *h = open_at(&p);
    assert_int_equal(rs_history_deliver(h, deliver, &left, &err), RS_OK);
    assert_int_equal(left, 8);
    assert_int_equal(rs_history_end_change(h, "idle", "", -1, 9, &fault, &err), RS_OK);
    assert_int_equal(fault, 2);
    rs_history_close(h);
    unlink(p.path);
}

/* Less than 100 bytes a rank and window, files included. */
TEST(test_size)
{
    enum { N = 512, WINDOWS = 60 };
    static int64_t ranks[N];
    static float values[N];
    place p;
    rng r = {1};
    rs_error err = RS_ERROR_INIT;
    make_place(&p);
    rs_watch_history *h = open_at(&p);
    for (size_t i = 0; i < N; i++) ranks[i] = (int64_t)i;
    for (int64_t k = 1; k <= WINDOWS; k++) {
        rs_history_window w = window_of(ranks, N, values, k * 1000);
        int64_t id;
        for (int m = 0; m < RS_WATCH_STORED; m++) w.values.values[m] = values;
        assert_int_equal(rs_history_begin(h, &err), RS_OK);
        assert_int_equal(rs_history_add_window(h, &w, &id, &err), RS_OK);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(rs_history_add_file(h, rng_next(&r), id, &err), RS_OK);
        assert_int_equal(rs_history_commit(h, &err), RS_OK);
    }
    rs_history_close(h);
    FILE *f = fopen(p.path, "rb");
    fseek(f, 0, SEEK_END);
    double each = (double)ftell(f) / (N * WINDOWS);
    fclose(f);
    assert_in_range((uint64_t)each, 32, 99);
    unlink(p.path);
}
