/* The store: the same answers with it and without it, and nothing of it trusted that is stale, damaged or half
 * written. */
#define _GNU_SOURCE /* memmem */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/memory.h"
#include "job/job_internal.h"
#include "questions.h"
#include "rankscope/store.h"
#include "store/events.h"
#include "store/folder.h"
#include "support.h"

/* ---- a store of its own ------------------------------------------------------------------------------- */

typedef struct place {
    char folder[64];
} place;

static place make_place(void)
{
    place p = {"/tmp/rankscope-store-XXXXXX"};
    assert_non_null(mkdtemp(p.folder));
    return p;
}

static rs_store_files files_of(const place *p)
{
    rs_store_files files;
    assert_int_equal(rs_store_walk(p->folder, &files, NULL), RS_OK);
    return files;
}

static size_t n_entries(const place *p)
{
    rs_store_files files = files_of(p);
    size_t n = 0;
    for (size_t i = 0; i < files.n; i++) n += !files.items[i].left_over;
    rs_store_files_clear(&files);
    return n;
}

static void empty_place(const place *p)
{
    rs_store_files files = files_of(p);
    for (size_t i = 0; i < files.n; i++) unlink(files.items[i].path);
    rs_store_files_clear(&files);
}

/* Removes the entries of one kind; what was worked out from events goes with them. */
static void remove_kind(const place *p, rs_entry_kind kind)
{
    rs_store_files files = files_of(p);
    for (size_t i = 0; i < files.n; i++) {
        rs_entry *entry = rs_entry_open(files.items[i].path);
        rs_entry_kind is = entry ? rs_entry_get_key(entry).kind : RS_N_ENTRY_KINDS;
        if (is == kind || (kind == RS_ENTRY_EVENTS && is == RS_ENTRY_FACET)) unlink(files.items[i].path);
        rs_entry_close(entry);
    }
    rs_store_files_clear(&files);
}

static void remove_place(const place *p)
{
    char path[96];
    empty_place(p);
    for (unsigned i = 0; i < 256; i++) {
        snprintf(path, sizeof path, "%s/%02x", p->folder, i);
        rmdir(path);
    }
    snprintf(path, sizeof path, "%s/CACHEDIR.TAG", p->folder);
    unlink(path);
    rmdir(p->folder);
}

/* Until a change of a file shows in its times. */
static void settle_files(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 70000000}, NULL);
}

/* ---- with it and without it --------------------------------------------------------------------------- */

/* What a run gave, as text: tables, problems, notes, or the error. Freed by the caller. */
static collected answer_to(rs_job *job, const rs_query *query, rs_status *status)
{
    rs_result result;
    rs_error err = RS_ERROR_INIT;
    char line[2048];
    *status = rs_job_run(job, query->analysis, query->options, query->compat, &result, &err);
    collected said = rendered(&result);
    if (*status != RS_OK) {
        rs_error_text(&err, line, sizeof line);
        collect(&said, line, strlen(line));
    }
    for (size_t i = 0; i < result.n_notes; i++) collect(&said, result.notes[i], strlen(result.notes[i]));
    rs_result_clear(&result);
    return said;
}

static collected ask(const char *const *paths, size_t n, const rs_query *query, const rs_job_settings *like,
                     const char *store, rs_status *status, rs_job_stats *stats)
{
    rs_job_settings settings = like ? *like : (rs_job_settings){.size = sizeof(rs_job_settings)};
    settings.store = store;
    if (!settings.jobs) settings.jobs = 1;
    rs_job *job;
    assert_int_equal(rs_job_open(paths, n, &settings, &job, NULL), RS_OK);
    collected said = answer_to(job, query, status);
    *stats = rs_job_get_stats(job);
    rs_job_close(job);
    return said;
}

static void expect_text(const collected *a, const collected *b, const rs_query *q, const char *what)
{
    if (strcmp(a->text, b->text) != 0)
        fail_msg("%s, mode %d, %s:\nwithout %.3000s\nwith    %.3000s", rs_analysis_name(q->analysis),
                 q->compat, what, a->text, b->text);
}

/* Without, then with an empty store, then with what that left. Returns how many questions were answered without
 * reading anything. */
static size_t check_paths(const char *const *paths, size_t n, const questions *q, const rs_job_settings *like)
{
    size_t from_store = 0, from_answers = 0;
    place p = make_place();
    for (size_t k = 0; k < q->n; k++) {
        rs_status plain, first, second;
        rs_job_stats stats;
        collected a = ask(paths, n, &q->items[k], like, NULL, &plain, &stats);
        collected b = ask(paths, n, &q->items[k], like, p.folder, &first, &stats);
        assert_int_equal(plain, first);
        expect_text(&a, &b, &q->items[k], "first time");
        for (size_t turn = 0; turn < 2; turn++) {
            collected c = ask(paths, n, &q->items[k], like, p.folder, &second, &stats);
            assert_int_equal(plain, second);
            expect_text(&a, &c, &q->items[k], turn ? "from what each input said" : "from the result");
            from_store += turn == 0 && plain == RS_OK && stats.bytes_text == 0;
            collected_clear(&c);
            remove_kind(&p, turn ? RS_ENTRY_ANSWER : RS_ENTRY_EVENTS);
            remove_kind(&p, RS_ENTRY_RESULT); /* with those of the judge, which other questions ask, too */
        }
        from_answers += plain == RS_OK && stats.bytes_text == 0;
        collected_clear(&a);
        collected_clear(&b);
    }
    remove_place(&p);
    /* where a window begins is looked up in all files */
    if (n > 1 && !(like && like->window)) assert_true(from_answers * 10 >= from_store * 9);
    return from_store;
}

static questions asked_of_traces(bool with_options)
{
    questions q = all_questions(with_options);
    for (size_t i = 0; i < q.n; i++) {
        if (strcmp(rs_analysis_name(q.items[i].analysis), "sequences") != 0) continue;
        if (!q.items[i].options) {
            size_t n;
            const rs_option_spec *specs = rs_analysis_options(q.items[i].analysis, &n);
            rs_options *options;
            assert_int_equal(rs_options_create(specs, n, &options, NULL), RS_OK);
            q.items[i].options = options;
        }
        rs_options_set((rs_options *)(uintptr_t)q.items[i].options, "op", "aten::op", NULL);
    }
    return q;
}

static const char *const sample[] = {RS_SOURCE_DIR "/tests/data/small/rank0.json.gz",
                                     RS_SOURCE_DIR "/tests/data/small/rank1.json.gz"};

TEST(test_sample)
{
    questions q = asked_of_traces(true);
    assert_true(check_paths(sample, 2, &q, NULL) > 60);
    clear_questions(&q);
    q = asked_of_traces(false);
    const rs_job_settings settings[] = {
        {.size = sizeof(rs_job_settings), .renumber = true},
        {.size = sizeof(rs_job_settings), .include_last_step = true, .absolute = true},
        {.size = sizeof(rs_job_settings), .ranks = "1"},
        {.size = sizeof(rs_job_settings), .ranks = "7"},
        {.size = sizeof(rs_job_settings), .steps = "1-2"},
        {.size = sizeof(rs_job_settings), .steps = "77"},
        {.size = sizeof(rs_job_settings), .window = "0-3"},
        {.size = sizeof(rs_job_settings), .window = "1e9-2e9"},
        {.size = sizeof(rs_job_settings), .single_rank = true}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        rs_selection parsed;
        bool ok = rs_selection_parse(NULL, NULL, settings[i].window, &parsed, NULL) == RS_OK;
        rs_selection_clear(&parsed);
        if (ok) check_paths(sample, 2, &q, &settings[i]);
    }
    clear_questions(&q);
}

static void put_rank(folder *f, const char *name, int rank, int steps)
{
    text t = {0};
    text_rank(&t, rank, steps);
    put_file(f, name, &t);
}

static size_t check_folder(const folder *f, const questions *q)
{
    const char *paths[8];
    for (size_t i = 0; i < f->n; i++) paths[i] = f->files[i];
    settle_files();
    return check_paths(paths, f->n, q, NULL);
}

/* Ranks that have to be told what they did not foresee; two ranks in a file; files that cannot be used. */
TEST(test_odd_files)
{
    questions q = asked_of_traces(false);
    folder f = make_folder();
    put_rank(&f, "r0.json", 0, 1);
    put_rank(&f, "r1.json", 1, 3);
    put_rank(&f, "r2.json", 2, 0);
    assert_true(check_folder(&f, &q) > 25);
    remove_folder(&f);

    f = make_folder();
    text t = {0};
    text_rank(&t, 0, 2);
    text_rank(&t, 1, 1);
    put_file(&f, "merged.json", &t);
    assert_true(check_folder(&f, &q) > 25);
    text_puts(&t, "nothing of the kind");
    put_file(&f, "notes.json", &t);
    text_rank(&t, 7, 3);
    t.n -= t.n / 3;
    put_file(&f, "short.json", &t);
    check_folder(&f, &q);
    remove_folder(&f);

    /* two recordings of one rank, told by their times, and one alone before: then no times are noted. At first the
     * second one begins before the first one ends, so that they are no recordings */
    for (int apart = 0; apart < 2; apart++) {
        f = make_folder();
        for (int i = 0; i < 2; i++) {
            text_printf(
                &t,
                "{\"distributedInfo\":{\"rank\":0},\"baseTimeNanoseconds\":%lld,\"traceEvents\":[\n"
                "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
                "\"ts\":10,\"dur\":5,\"args\":{\"correlation\":7}},\n"
                "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\",\"pid\":0,\"tid\":7,\"ts\":40,\"dur\":30,"
                "\"args\":{\"correlation\":7,\"stream\":7,\"device\":0}}]}\n",
                100000000000LL + (apart ? 1000000000LL : 20000LL) * i, i);
            put_file(&f, i ? "b.json" : "a.json", &t);
        }
        settle_files();
        place p = make_place();
        const char *paths[] = {f.files[0], f.files[1]};
        for (size_t k = 0; k < q.n; k++) {
            rs_status alone, plain, stored;
            rs_job_stats stats;
            collected first = ask(paths, 1, &q.items[k], NULL, p.folder, &alone, &stats);
            collected a = ask(paths, 2, &q.items[k], NULL, NULL, &plain, &stats);
            for (size_t turn = 0; turn < 3; turn++) {
                collected b = ask(paths, 2, &q.items[k], NULL, p.folder, &stored, &stats);
                assert_int_equal(plain, stored);
                expect_text(&a, &b, &q.items[k], "recordings");
                collected_clear(&b);
            }
            assert_true(apart || plain != RS_OK);
            if (plain == RS_OK) assert_int_equal(stats.bytes_text, 0);
            collected_clear(&first);
            collected_clear(&a);
        }
        remove_place(&p);
        remove_folder(&f);
    }
    clear_questions(&q);
}

/* ---- what it must not confuse --------------------------------------------------------------------------- */

static const rs_query *query_of(const char *name)
{
    static rs_query q;
    q = (rs_query){.analysis = rs_analysis_find(name)};
    assert_non_null(q.analysis);
    return &q;
}

/* Whether the answer was read from the text; it must be what a run without the store gives. */
static bool reads_some(const char *const *paths, size_t n, const rs_query *q, const rs_job_settings *like,
                       const place *p)
{
    rs_status plain, stored;
    rs_job_stats none, stats;
    remove_kind(p, RS_ENTRY_EVENTS); /* these have tests of their own */
    collected a = ask(paths, n, q, like, NULL, &plain, &none);
    collected b = ask(paths, n, q, like, p->folder, &stored, &stats);
    assert_int_equal(plain, stored);
    expect_text(&a, &b, q, paths[0]);
    collected_clear(&a);
    collected_clear(&b);
    remove_kind(p, RS_ENTRY_EVENTS);
    return stats.bytes_text > 0;
}

static bool reads(const char *path, const rs_query *q, const rs_job_settings *like, const place *p)
{
    return reads_some(&path, 1, q, like, p);
}

static void rewrite(const char *path, size_t at, char byte)
{
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    close(fd);
}

/* A file that changes, however little shows of it. */
TEST(test_stale)
{
    place p = make_place();
    folder f = make_folder();
    put_rank(&f, "rank3.json", 3, 2);
    const char *path = f.files[0];
    struct stat before;
    const rs_query *q = query_of("kernels");
    assert_true(reads(path, q, NULL, &p)); /* written a moment ago: not kept */
    assert_int_equal(n_entries(&p), 0);
    settle_files();
    assert_true(reads(path, q, NULL, &p));
    assert_int_equal(n_entries(&p), 1);
    assert_false(reads(path, q, NULL, &p));
    /* the same size, the old time of its contents */
    text t = text_of_file(path);
    char *digit = strstr(t.s, "\"dur\":");
    assert_non_null(digit);
    assert_int_equal(stat(path, &before), 0);
    rewrite(path, (size_t)(digit - t.s) + 6, '9');
    assert_int_equal(utimensat(AT_FDCWD, path, (const struct timespec[]){before.st_atim, before.st_mtim}, 0),
                     0);
    settle_files();
    assert_true(reads(path, q, NULL, &p));
    assert_false(reads(path, q, NULL, &p));
    assert_int_equal(n_entries(&p), 1); /* replaced */
    /* another file of that name */
    char other[128];
    snprintf(other, sizeof other, "%s.other", path);
    text_save(&t, other);
    assert_int_equal(rename(other, path), 0);
    settle_files();
    assert_true(reads(path, q, NULL, &p));
    assert_int_equal(n_entries(&p), 1);
    text_clear(&t);
    remove_folder(&f);
    remove_place(&p);
}

/* Questions that differ in anything that an answer depends on do not share one. */
TEST(test_keys)
{
    place p = make_place();
    const char *path = sample[0];
    rs_query hta = *query_of("kernels");
    hta.compat = RS_COMPAT_HTA;
    assert_true(reads(path, query_of("kernels"), NULL, &p));
    assert_true(reads(path, query_of("breakdown"), NULL, &p));
    assert_true(reads(path, &hta, NULL, &p));
    const rs_job_settings settings[] = {{.size = sizeof(rs_job_settings), .absolute = true},
                                        {.size = sizeof(rs_job_settings), .renumber = true},
                                        {.size = sizeof(rs_job_settings), .steps = "1"},
                                        {.size = sizeof(rs_job_settings), .ranks = "0"},
                                        {.size = sizeof(rs_job_settings), .single_rank = true},
                                        {.size = sizeof(rs_job_settings), .include_last_step = true},
                                        {.size = sizeof(rs_job_settings), .max_ratio = 2000},
                                        {.size = sizeof(rs_job_settings), .window = "0-1000"},
                                        {.size = sizeof(rs_job_settings), .window = "0-2000"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        assert_true(reads(path, query_of("kernels"), &settings[i], &p));
    const char *numbered = "5=" RS_SOURCE_DIR "/tests/data/small/rank0.json.gz";
    assert_true(reads(numbered, query_of("kernels"), NULL, &p));
    /* how many threads, and how much may be held, is not among these */
    const rs_job_settings same[] = {{.size = sizeof(rs_job_settings), .jobs = 1},
                                    {.size = sizeof(rs_job_settings), .jobs = 3},
                                    {.size = sizeof(rs_job_settings), .keep = true}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_false(reads(path, query_of("kernels"), &same[i], &p));
    const rs_job_settings never = {.size = sizeof(rs_job_settings), .no_store = true},
                          large = {.size = sizeof(rs_job_settings), .store_from = 1 << 30};
    assert_true(reads(path, query_of("kernels"), &never, &p));
    /* what is too small to be kept is used where it was kept all the same */
    assert_false(reads(path, query_of("kernels"), &large, &p));
    assert_true(reads(path, query_of("timeline"), &large, &p));
    assert_true(reads(path, query_of("timeline"), &large, &p));
    remove_place(&p);
}

/* The description of a device that an option names. */
TEST(test_option_file)
{
    place p = make_place();
    folder f = make_folder();
    text t = {0};
    text_puts(
        &t, "{\"name\": \"one\", \"mem_bw_gbps\": 1000, \"max_achievable_tflops\": {\"matrix_bf16\": 100}}");
    put_file(&f, "device.json", &t);
    settle_files();
    rs_query q = *query_of("roofline");
    size_t n;
    const rs_option_spec *specs = rs_analysis_options(q.analysis, &n);
    rs_options *options;
    assert_int_equal(rs_options_create(specs, n, &options, NULL), RS_OK);
    assert_int_equal(rs_options_set(options, "device", f.files[0], NULL), RS_OK);
    q.options = options;
    assert_true(reads(sample[0], &q, NULL, &p));
    assert_false(reads(sample[0], &q, NULL, &p));
    text_puts(
        &t, "{\"name\": \"two\", \"mem_bw_gbps\": 3000, \"max_achievable_tflops\": {\"matrix_bf16\": 900}}");
    text_save(&t, f.files[0]);
    text_clear(&t);
    settle_files();
    assert_true(reads(sample[0], &q, NULL, &p));
    rs_options_free(options);
    remove_folder(&f);
    remove_place(&p);
}

/* ---- damage --------------------------------------------------------------------------------------------- */

/* Every length and every flipped bit of an entry: it is absent or says what was written. Returns the text. */
static text check_entry(const char *path)
{
    text whole = text_of_file(path);
    rs_entry *entry = rs_entry_open(path);
    assert_non_null(entry);
    assert_true(rs_entry_is_own(entry) && rs_entry_is_whole(entry));
    rs_entry_close(entry);
    uint64_t *copy = rs_malloc(whole.n + 8);
    for (size_t cut = 0; cut < whole.n; cut += cut < 400 ? 1 : 13) {
        guarded g = guarded_copy(whole.s, cut);
        assert_null(rs_entry_of_bytes(g.bytes, cut));
        guarded_free(&g);
    }
    size_t noticed = 0;
    for (size_t at = 0; at < whole.n; at++) {
        memcpy(copy, whole.s, whole.n);
        ((uint8_t *)copy)[at] ^= (uint8_t)(1u << at % 8);
        entry = rs_entry_of_bytes(copy, whole.n);
        noticed += !entry || !rs_entry_is_whole(entry);
        rs_entry_close(entry);
    }
    assert_true(noticed + 4 * 64 > whole.n); /* all but what fills up to the next section */
    rs_free(copy);
    return whole;
}

/* Through a job: what is damaged is made again. */
TEST(test_damage)
{
    place p = make_place();
    const rs_query *q = query_of("idle");
    for (size_t n = 1; n < 3; n++) {
        assert_true(reads_some(sample, n, q, NULL, &p));
        if (n == 2) remove_kind(&p, RS_ENTRY_RESULT);
        remove_kind(&p, RS_ENTRY_EVENTS);
        rs_store_files files = files_of(&p);
        assert_int_equal(files.n, n);
        const char *path = files.items[0].path;
        text whole = check_entry(path);
        for (size_t i = 0; i < 8; i++) {
            size_t at = i < 4 ? i * 40 : whole.n - 1 - i;
            if (i < 7)
                rewrite(path, at, (char)(whole.s[at] ^ 0x11));
            else
                assert_int_equal(truncate(path, (off_t)whole.n / 2), 0);
            assert_true(reads_some(sample, n, q, NULL, &p));
            if (n == 2) remove_kind(&p, RS_ENTRY_RESULT);
            assert_false(reads_some(sample, n, q, NULL, &p));
            if (n == 2) remove_kind(&p, RS_ENTRY_RESULT);
        }
        text_clear(&whole);
        rs_store_files_clear(&files);
        empty_place(&p);
    }
    remove_place(&p);
}

/* Bytes of a result that are well summed and wrong: read to their end or refused, and nothing else. */
TEST(test_hostile_result)
{
    place p = make_place();
    static const char *const names[] = {"idle", "counters", "doctor"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rs_query query = *query_of(names[i]);
        const rs_job_settings settings = {.size = sizeof(rs_job_settings)};
        rs_question q;
        assert_true(reads(sample[0], &query, NULL, &p));
        rs_store_files files = files_of(&p);
        assert_int_equal(files.n, 1);
        rs_entry *entry = rs_entry_open(files.items[0].path);
        size_t n;
        const void *bytes = rs_entry_part_of(entry, 1, &n);
        assert_int_equal(rs_question_init(&q, &query, &settings, NULL), RS_OK);
        rng r = {.state = i + 1};
        for (size_t turn = 0; turn < ROUNDS(1500); turn++) {
            guarded g = guarded_copy(bytes, turn < n ? turn : n);
            if (turn >= n)
                for (size_t k = 0; k < 1 + turn % 3; k++) g.bytes[rng_below(&r, n)] = (uint8_t)rng_next(&r);
            rs_result result = {0};
            if (rs_result_read(&q, g.bytes, g.n, &result)) {
                assert_true(turn >= n);
                collected said = rendered(&result);
                collected_clear(&said);
            }
            rs_result_clear(&result);
            guarded_free(&g);
        }
        rs_question_clear(&q);
        rs_entry_close(entry);
        rs_store_files_clear(&files);
        empty_place(&p);
    }
    remove_place(&p);
}

/* A head that is well summed but of another program. */
TEST(test_other_program)
{
    place p = make_place();
    const rs_entry_key key = {RS_ENTRY_ANSWER, "who", "when", 3, 4};
    const rs_entry_part part = {.id = 7, .pack = true, .bytes = "what", .n = 4};
    uint64_t size;
    size_t n;
    assert_int_equal(rs_entry_write(p.folder, &key, false, &part, 1, &size, NULL), RS_OK);
    rs_entry *entry = rs_entry_find(p.folder, &key);
    assert_non_null(entry);
    assert_memory_equal(rs_entry_part_of(entry, 7, &n), "what", 4);
    assert_null(rs_entry_part_of(entry, 8, &n));
    rs_entry_close(entry);
    rs_entry_key later = key;
    later.stamps = "then";
    assert_null(rs_entry_find(p.folder, &later));
    later = key;
    later.identity = "whe";
    assert_null(rs_entry_find(p.folder, &later));
    remove_place(&p);
}

/* A block of numbers whose head says a width that there is not, well summed: no numbers. */
TEST(test_wrong_block)
{
    place p = make_place();
    const rs_entry_key key = {RS_ENTRY_ANSWER, "who", "when", 3, 4};
    uint32_t numbers[4096];
    for (uint32_t i = 0; i < 4096; i++) numbers[i] = 70000 + i % 200;
    const rs_entry_part part = {.id = 7, .number = sizeof *numbers, .bytes = numbers, .n = sizeof numbers};
    static const uint8_t head[] = {1, 0x70, 0x11, 1, 0, 0, 1, 2, 3}; /* one byte each, from 70000 */
    uint64_t size;
    size_t n;
    assert_int_equal(rs_entry_write(p.folder, &key, false, &part, 1, &size, NULL), RS_OK);
    rs_store_files files = files_of(&p);
    assert_int_equal(files.n, 1);
    text whole = text_of_file(files.items[0].path);
    uint64_t *copy = rs_malloc(whole.n + 8);
    memcpy(copy, whole.s, whole.n);
    uint8_t *at = memmem(copy, whole.n, head, sizeof head);
    assert_non_null(at);
    static const uint8_t widths[] = {1, 5, 7, 8, 0x40};
    for (size_t i = 0; i < sizeof widths; i++) {
        *at = widths[i];
        rs_entry_seal(copy, whole.n);
        rs_entry *entry = rs_entry_of_bytes(copy, whole.n);
        assert_non_null(entry);
        const void *read = rs_entry_part_of(entry, 7, &n);
        if (i == 0)
            assert_memory_equal(read, numbers, sizeof numbers);
        else
            assert_null(read);
        rs_entry_close(entry);
    }
    rs_free(copy);
    text_clear(&whole);
    rs_store_files_clear(&files);
    remove_place(&p);
}

/* ---- events --------------------------------------------------------------------------------------------- */

static const rs_entry_key events_key = {RS_ENTRY_EVENTS, "which", "when", 5, 4};

/* Events that went through the store are what they were. */
static rs_events *stored_events(const place *p, uint64_t columns, unsigned threads)
{
    rs_entry *entry = rs_entry_find(p->folder, &events_key);
    assert_non_null(entry);
    assert_true((rs_stored_events_columns(entry) & columns) == columns);
    rs_events *e = rs_stored_events_get(entry, columns, threads);
    if (!e) rs_entry_close(entry);
    return e;
}

/* Of some arguments: they have the values that they had among all. */
static void check_some(const place *p, const rs_events *e, uint64_t columns)
{
    rs_events *some = stored_events(p, columns, 1);
    assert_non_null(some);
    assert_int_equal(some->loaded, columns);
    for (size_t i = 0; i < RS_N_COLUMNS; i++) {
        const rs_sparse *a = &e->args[i], *b = &some->args[i];
        if (!(columns >> i & 1)) {
            assert_int_equal(b->n, 0);
            continue;
        }
        assert_int_equal(a->n, b->n);
        for (size_t k = 0; k < a->n; k++) {
            assert_int_equal(a->rows[k], b->rows[k]);
            if (rs_column_infos[i].type == RS_COLUMN_INT)
                assert_true(rs_sparse_int(a, k) == rs_sparse_int(b, k));
            if (rs_column_infos[i].type == RS_COLUMN_TEXT) assert_int_equal(a->texts[k], b->texts[k]);
            if (rs_column_infos[i].type == RS_COLUMN_REAL) assert_memory_equal(&a->reals[k], &b->reals[k], 8);
        }
    }
    rs_events_free(some);
}

/* Arrays that are lent become own ones when rows are put behind them. */
static void check_growing(const place *p, rs_events *e)
{
    rs_events *lent = stored_events(p, e->loaded, 1), *own = stored_events(p, e->loaded, 1);
    assert_non_null(lent);
    assert_non_null(own);
    assert_int_equal(rs_events_append(lent, e, 5, NULL), RS_OK);
    for (size_t i = 0; i < RS_N_COLUMNS; i++)
        if (rs_column_infos[i].type == RS_COLUMN_INT && own->args[i].n)
            assert_int_equal(rs_events_widen(own, (rs_column_id)i, NULL), RS_OK);
    assert_int_equal(rs_events_append(own, e, 5, NULL), RS_OK);
    assert_int_equal(lent->n, 2 * e->n);
    for (size_t i = 0; i < e->n; i++) {
        assert_true(lent->start[i] == e->start[i] && lent->duration[i + e->n] == e->duration[i]);
        assert_int_equal(lent->name[i + e->n], e->name[i]);
    }
    for (size_t i = 0; i < RS_N_COLUMNS; i++)
        for (size_t k = 0; rs_column_infos[i].type == RS_COLUMN_INT && k < lent->args[i].n; k++)
            assert_true(rs_sparse_int(&lent->args[i], k) == rs_sparse_int(&own->args[i], k));
    assert_int_equal(lent->n_counters, e->n_counters);
    for (size_t i = 0; i < e->n_counters; i++) {
        const rs_sparse *once = &e->counters[i].values, *twice = &lent->counters[i].values;
        assert_int_equal(twice->n, 2 * once->n);
        for (size_t k = 0; k < once->n; k++) {
            assert_int_equal(twice->rows[once->n + k], once->rows[k] + e->n);
            assert_memory_equal(&twice->reals[once->n + k], &once->reals[k], sizeof *once->reals);
        }
    }
    rs_events_free(lent);
    rs_events_free(own);
}

static bool put_events(const char *where, rs_events *e, bool in_place)
{
    rs_events_draft *d = rs_stored_events_draft(e);
    bool ok = d && rs_stored_events_write(d, where, &events_key, in_place);
    rs_stored_events_drop(d);
    return ok;
}

static void check_events(const place *p, rs_events *e)
{
    for (unsigned threads = 1; threads < 4; threads++) {
        assert_true(put_events(p->folder, e, threads != 2));
        rs_events *again = stored_events(p, e->loaded, threads);
        if (!again)
            fail_msg(
                "%zu events, %zu counters, %zu others of %zu names, loaded %llx, documents %zu, log %zu, devices %zu",
                e->n, e->n_counters, e->others.n, e->others.n_names, (unsigned long long)e->loaded,
                e->n_documents, e->n_log, e->n_devices);
        assert_true(same_events(e, again));
        assert_string_equal(e->packing, again->packing);
        assert_string_equal(e->form, again->form);
        assert_ptr_equal(e->format, again->format);
        assert_int_equal(e->n_log, again->n_log);
        assert_int_equal(e->n_devices, again->n_devices);
        rs_events_free(again);
    }
    check_some(p, e, 0);
    check_some(p, e, RS_LINK_COLUMNS & ~RS_COLUMN_BIT(CORRELATION));
    check_some(p, e, RS_COLUMN_BIT(GRID) | RS_COLUMN_BIT(BLOCK) | RS_COLUMN_BIT(INPUT_TYPE));
    if (e->n) check_growing(p, e);
}

static void check_text(const place *p, const void *bytes, size_t n)
{
    for (int others = 0; others < 2; others++) {
        const rs_load_settings settings = {.columns = RS_ALL_COLUMNS | (others ? RS_OTHER_ARGUMENTS : 0)};
        rs_events *e = NULL;
        if (load_with(bytes, n, &settings, &e, NULL) != RS_OK) continue;
        check_events(p, e);
        rs_events_free(e);
    }
}

static void check_corpus_file(const char *path, void *context)
{
    struct stat info;
    if (stat(path, &info) != 0 || info.st_size > 256 << 10) return;
    text t = text_of_file(path);
    check_text(context, t.s, t.n);
    text_clear(&t);
}

TEST(test_events)
{
    place p = make_place();
    for (size_t i = 0; i < 2; i++) check_corpus_file(sample[i], &p);
    rng r = {.state = 1};
    for (uint64_t seed = 1; seed <= ROUNDS(60); seed++) {
        text t = {0};
        if (seed % 3)
            t = text_trace(1 + rng_below(&r, 200), seed);
        else
            text_rank(&t, (int)seed, 2);
        if (seed % 2) text_mutate(&t, &r);
        check_text(&p, t.s, t.n);
        text_clear(&t);
    }
    static const char odd[] =
        "{\"deviceProperties\":[{\"id\":0,\"name\":\"X\",\"totalGlobalMem\":5}],\"WARNING\":[\"w\"],\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"cuda_profiler_range\",\"name\":\"k\",\"pid\":\"a\",\"tid\":2,\"ts\":1,\"dur\":3,"
        "\"args\":{\"c1\":0.5,\"c2\":7}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"q\",\"pid\":0,\"tid\":7,\"ts\":4,"
        "\"dur\":4,\"args\":{\"correlation\":99999999999,\"stream\":7,\"mine\":[1,2],\"x\":null,\"y\":\"t\"}}]}\n";
    check_text(&p, odd, sizeof odd - 1);
    check_text(&p, "[]", 2);
    corpus_each(check_corpus_file, &p);
    remove_place(&p);
}

/* A question that was not asked before reads the events that another one left; where those lack arguments the text is
 * read once more, for all that may be asked. */
TEST(test_other_questions)
{
    place p = make_place();
    questions q = asked_of_traces(true);
    size_t n_read = 0, last = 0, answered = 0;
    for (size_t k = 0; k < q.n; k++) {
        rs_status plain, stored;
        rs_job_stats stats;
        collected a = ask(sample, 2, &q.items[k], NULL, NULL, &plain, &stats);
        collected b = ask(sample, 2, &q.items[k], NULL, p.folder, &stored, &stats);
        assert_int_equal(plain, stored);
        expect_text(&a, &b, &q.items[k], "from events");
        collected_clear(&a);
        collected_clear(&b);
        answered += plain == RS_OK;
        if (!stats.bytes_text) continue;
        n_read++;
        last = k;
    }
    assert_true(answered > 60);
    /* at first, for all known arguments, and for those of any name */
    if (n_read > 3)
        fail_msg("text was read %zu times, at last for %s", n_read, rs_analysis_name(q.items[last].analysis));
    clear_questions(&q);
    remove_place(&p);
}

/* The events of more files than the folder may hold would push each other out. */
TEST(test_too_many_events)
{
    place p = make_place();
    rs_status status;
    rs_job_stats stats;
    const rs_job_settings some = {.size = sizeof(rs_job_settings), .store_limit = 1000000};
    collected a = ask(sample, 2, query_of("idle"), &some, p.folder, &status, &stats);
    collected_clear(&a);
    size_t n = n_entries(&p);
    remove_kind(&p, RS_ENTRY_EVENTS);
    assert_int_equal(n, n_entries(&p) + 6); /* two lists of GPU work with their launches, too */
    empty_place(&p);
    const rs_job_settings few = {.size = sizeof(rs_job_settings), .store_limit = 100000};
    a = ask(sample, 2, query_of("idle"), &few, p.folder, &status, &stats);
    collected_clear(&a);
    n = n_entries(&p);
    assert_true(n > 0);
    remove_kind(&p, RS_ENTRY_EVENTS);
    assert_int_equal(n, n_entries(&p));
    remove_place(&p);
}

/* Ids and rows that do not exist, each in an entry that is well made. */
TEST(test_wrong_events)
{
    place p = make_place();
    text t = {0};
    text_rank(&t, 0, 1);
    for (int turn = 0; turn < 14; turn++) {
        int wrong = turn / 2;
        rs_events *e = load(t.s, t.n);
        rs_sparse *ids = &e->args[RS_COL_CORRELATION];
        assert_true(ids->n > 2);
        switch (wrong) {
        case 1: e->name[3] = (uint32_t)e->strings.n; break;
        case 2: e->thread[3] = (uint32_t)e->n_threads; break;
        case 3: e->category[3] = (uint16_t)e->n_categories; break;
        case 4: ids->rows[ids->n - 1] = (uint32_t)e->n; break;
        case 5: ids->rows[1] = ids->rows[0]; break;
        case 6: ids->rows[1] = 0; break;
        default: break;
        }
        assert_true(put_events(p.folder, e, turn % 2));
        rs_events_free(e);
        e = stored_events(&p, RS_ALL_COLUMNS, 1);
        assert_int_equal(e != NULL, wrong == 0);
        rs_events_free(e);
    }
    /* what has no column: the last one belongs to the last row, or to one behind it */
    static const char other[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"k\",\"ts\":1,\"dur\":3,\"pid\":1,\"tid\":2,"
        "\"args\":{\"mine\":\"t\"}}]}";
    for (int turn = 0; turn < 4; turn++) {
        const rs_load_settings settings = {.columns = RS_ALL_COLUMNS | RS_OTHER_ARGUMENTS};
        rs_events *e = NULL;
        assert_int_equal(load_with(other, sizeof other - 1, &settings, &e, NULL), RS_OK);
        assert_int_equal(e->others.n, 1);
        e->others.rows[0] += turn / 2;
        assert_true(put_events(p.folder, e, turn % 2));
        rs_events_free(e);
        e = stored_events(&p, settings.columns, 1);
        assert_int_equal(e != NULL, turn < 2);
        rs_events_free(e);
    }
    text_clear(&t);
    remove_place(&p);
}

/* Bytes that are well summed and wrong: events that hold together, or none. */
static void check_hostile_events(bool in_place, int steps, size_t turns)
{
    place p = make_place();
    text t = {0};
    text_rank(&t, 0, steps);
    const rs_load_settings settings = {.columns = RS_ALL_COLUMNS | RS_OTHER_ARGUMENTS};
    rs_events *e = NULL;
    assert_int_equal(load_with(t.s, t.n, &settings, &e, NULL), RS_OK);
    assert_true(put_events(p.folder, e, in_place));
    rs_events_free(e);
    text_clear(&t);
    rs_store_files files = files_of(&p);
    assert_int_equal(files.n, 1);
    text whole = text_of_file(files.items[0].path);
    uint64_t *copy = rs_malloc(whole.n + 8);
    rng r = {.state = 7};
    size_t read = 0;
    for (size_t turn = 0; turn < turns; turn++) {
        size_t n = turn % 8 ? whole.n : rng_below(&r, whole.n);
        memcpy(copy, whole.s, whole.n);
        for (size_t k = 0; k < 1 + turn % 3; k++)
            ((uint8_t *)copy)[rng_below(&r, turn % 2 ? n + 1 : 2048)] = (uint8_t)rng_next(&r);
        rs_entry_seal(copy, n);
        rs_entry *entry = rs_entry_of_bytes(copy, n);
        e = entry ? rs_stored_events_get(entry, rs_stored_events_columns(entry), 1) : NULL;
        if (!e) rs_entry_close(entry);
        for (size_t i = 0; e && i < e->n; i++)
            assert_true(e->name[i] < e->strings.n && e->thread[i] < e->n_threads &&
                        e->category[i] < e->n_categories);
        read += e != NULL;
        rs_events_free(e);
    }
    assert_true(read > 0);
    rs_free(copy);
    text_clear(&whole);
    rs_store_files_clear(&files);
    remove_place(&p);
}

TEST(test_hostile_events)
{
    check_hostile_events(false, 1, ROUNDS(2000));
    check_hostile_events(true, 1, ROUNDS(2000));
    check_hostile_events(false, 40, ROUNDS(400)); /* columns in several blocks of narrow numbers */
}

/* ---- what was worked out from events ------------------------------------------------------------------------ */

/* Questions that stand on links and trees. */
static const char *const structured[] = {"ops",      "modules",       "tree",     "collectives",
                                         "roofline", "critical-path", "breakdown"};
#define N_STRUCTURED (sizeof structured / sizeof *structured)

static size_t count_kind(const place *p, rs_entry_kind kind)
{
    rs_store_files files = files_of(p);
    size_t n = 0;
    for (size_t i = 0; i < files.n; i++) {
        rs_entry *entry = rs_entry_open(files.items[i].path);
        n += entry && rs_entry_get_key(entry).kind == kind;
        rs_entry_close(entry);
    }
    rs_store_files_clear(&files);
    return n;
}

/* A value made by the first question is not made again, and a later one adds to what is kept of it. */
TEST(test_facets)
{
    place p = make_place();
    rs_status status;
    rs_job_stats stats;
    collected said[N_STRUCTURED];
    for (size_t k = 0; k < N_STRUCTURED; k++)
        said[k] = ask(sample, 1, query_of(structured[k]), NULL, NULL, &status, &stats);
    collected first = ask(sample, 1, query_of("modules"), NULL, p.folder, &status, &stats);
    collected_clear(&first);
    size_t n = count_kind(&p, RS_ENTRY_FACET);
    assert_int_equal(n, 3); /* rows, launches, the tree without times */
    for (size_t turn = 0; turn < 2; turn++) {
        for (size_t k = 0; k < N_STRUCTURED; k++) {
            collected again = ask(sample, 1, query_of(structured[k]), NULL, p.folder, &status, &stats);
            expect_text(&said[k], &again, query_of(structured[k]), "with facets");
            collected_clear(&again);
        }
        assert_true(count_kind(&p, RS_ENTRY_FACET) > n);
        remove_kind(&p, RS_ENTRY_RESULT);
    }
    for (size_t k = 0; k < N_STRUCTURED; k++) collected_clear(&said[k]);
    remove_place(&p);
}

static size_t count_in_place(const place *p)
{
    rs_store_files files = files_of(p);
    size_t n = 0;
    for (size_t i = 0; i < files.n; i++) {
        rs_entry *entry = rs_entry_open(files.items[i].path);
        assert_non_null(entry);
        n += rs_entry_lying(entry) != NULL;
        rs_entry_close(entry);
    }
    rs_store_files_clear(&files);
    return n;
}

static rs_job_stats build_store(const place *p)
{
    const rs_job_settings settings = {.size = sizeof(rs_job_settings), .store = p->folder, .jobs = 1};
    rs_job *job;
    rs_result result = {0};
    assert_int_equal(rs_job_open(sample, 1, &settings, &job, NULL), RS_OK);
    assert_int_equal(rs_job_build_store(job, &result, NULL), RS_OK);
    rs_job_stats stats = rs_job_get_stats(job);
    rs_result_clear(&result);
    rs_job_close(job);
    return stats;
}

/* What questions keep in passing is small; `store build` lays it out to be used in place, of what is small already
 * without the text where that has all arguments, and leaves what lies there. Answers are the same from both. */
TEST(test_in_place)
{
    place p = make_place();
    rs_status status;
    rs_job_stats stats;
    const rs_query *q = query_of("modules"), *more = query_of("roofline");
    collected said = ask(sample, 1, more, NULL, NULL, &status, &stats);
    const rs_job_settings all = {.size = sizeof(rs_job_settings), .all_columns = true};
    for (size_t turn = 0; turn < 2; turn++) {
        collected kept = ask(sample, 1, q, turn ? &all : NULL, p.folder, &status, &stats);
        collected_clear(&kept);
        kept = ask(sample, 1, more, NULL, p.folder, &status, &stats);
        expect_text(&said, &kept, more, "small");
        collected_clear(&kept);
        size_t n = count_kind(&p, RS_ENTRY_FACET);
        assert_true(n > 2);
        assert_int_equal(count_in_place(&p), 0);
        assert_int_equal(build_store(&p).bytes_text == 0, turn);
        assert_true(count_in_place(&p) > 3);
        size_t lying = count_in_place(&p);
        assert_int_equal(build_store(&p).bytes_text, 0);
        assert_int_equal(count_in_place(&p), lying);
        remove_kind(&p, RS_ENTRY_RESULT);
        kept = ask(sample, 1, more, NULL, p.folder, &status, &stats);
        assert_int_equal(stats.bytes_text, 0);
        expect_text(&said, &kept, more, "in place");
        collected_clear(&kept);
        empty_place(&p);
    }
    collected_clear(&said);
    remove_place(&p);
}

/* A piece of work whose launch only a flow tells: what was linked with flows is not taken for an answer to a question that
 * does not read them, and is where flows told nothing. */
TEST(test_fewer_arguments)
{
    static const char *const asked[] = {"info", "queue", "doctor", "launches", "steps", "bandwidth"};
    static const char start[] =
        "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, "
        "\"tid\": 2, \"ts\": 10, \"dur\": 5, \"args\": {\"correlation\": 7}},\n"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": 30, \"dur\": 9, "
        "\"args\": {\"device\": 0, \"stream\": 7, \"correlation\": %d}},\n"
        "{\"ph\": \"s\", \"id\": 3, \"cat\": \"ac2g\", \"name\": \"ac2g\", \"pid\": 1, \"tid\": 2, \"ts\": 10},\n"
        "{\"ph\": \"f\", \"id\": 3, \"cat\": \"ac2g\", \"name\": \"ac2g\", \"pid\": 0, \"tid\": 7, \"ts\": 30, "
        "\"bp\": \"e\"}]}\n";
    for (int by_flow = 0; by_flow < 2; by_flow++) {
        place p = make_place();
        folder f = make_folder();
        text t = {0};
        char bytes[1024];
        rs_status status;
        rs_job_stats stats;
        snprintf(bytes, sizeof bytes, start, by_flow ? 8 : 7);
        text_puts(&t, bytes);
        put_file(&f, "rank0.json", &t);
        text_clear(&t);
        settle_files();
        const char *path = f.files[0];
        const rs_job_settings all = {.size = sizeof(rs_job_settings), .all_columns = true};
        const rs_query *first = query_of("ops");
        collected kept = ask(&path, 1, first, &all, p.folder, &status, &stats);
        assert_int_equal(status, RS_OK);
        assert_true(count_kind(&p, RS_ENTRY_FACET) > 0);
        collected_clear(&kept);
        for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
            const rs_query *q = query_of(asked[i]);
            collected said = ask(&path, 1, q, NULL, NULL, &status, &stats);
            kept = ask(&path, 1, q, NULL, p.folder, &status, &stats);
            assert_int_equal(stats.bytes_text, 0);
            expect_text(&said, &kept, q, by_flow ? "linked by a flow" : "linked by correlation");
            collected_clear(&said);
            collected_clear(&kept);
        }
        remove_folder(&f);
        remove_place(&p);
    }
}

/* How an array is spoiled: a number of 4 bytes at a place, the upper half of one or of all numbers of 8 bytes, or the
 * numbers of 4 bytes stand in reverse. */
typedef enum spoiling { LOW, HIGH, ALL_HIGH, REVERSE } spoiling;

static void spoil(uint32_t *numbers, size_t n, spoiling how, size_t at, uint32_t value)
{
    if (how == LOW) numbers[at] = value;
    if (how == HIGH) numbers[2 * at + 1] = value;
    for (size_t i = 1; how == ALL_HIGH && i < n; i += 2) numbers[i] = value;
    for (size_t i = 0; how == REVERSE && i < n / 2; i++) {
        uint32_t first = numbers[i];
        numbers[i] = numbers[n - 1 - i];
        numbers[n - 1 - i] = first;
    }
}

/* Spoils an array of the facet of that name, and makes all sums right. */
static bool spoil_facet(const place *p, const char *name, uint32_t section, spoiling how, size_t at,
                        uint32_t value)
{
    bool done = false;
    rs_store_files files = files_of(p);
    for (size_t i = 0; i < files.n && !done; i++) {
        rs_entry *entry = rs_entry_open(files.items[i].path);
        rs_entry_key key = entry ? rs_entry_get_key(entry) : (rs_entry_key){0};
        size_t n = 0;
        const uint8_t *bytes = NULL;
        if (key.kind == RS_ENTRY_FACET && key.n_identity > strlen(name) &&
            memcmp((const char *)key.identity + 1, name, strlen(name)) == 0)
            bytes = rs_entry_part_of(entry, section, &n);
        if (bytes && n / 4 > (how == HIGH ? 2 * at + 1 : at)) {
            text t = text_of_file(files.items[i].path);
            /* So few numbers are stored as they are. Sections begin at multiples of 64 bytes. */
            size_t offset = 0;
            while (offset + n <= t.n && memcmp(t.s + offset, bytes, n) != 0) offset += 64;
            assert_true(offset + n <= t.n);
            uint64_t *copy = rs_malloc(t.n + 8);
            memcpy(copy, t.s, t.n);
            spoil((uint32_t *)(void *)((char *)copy + offset), n / 4, how, at, value);
            rs_entry_seal(copy, t.n);
            FILE *f = fopen(files.items[i].path, "wb");
            assert_non_null(f);
            assert_int_equal(fwrite(copy, 1, t.n, f), t.n);
            fclose(f);
            rs_free(copy);
            text_clear(&t);
            done = true;
        }
        rs_entry_close(entry);
    }
    rs_store_files_clear(&files);
    return done;
}

/* The files of facets, as one number that changes when one is written again. */
static uint64_t files_of_facets(const place *p)
{
    uint64_t sum = 0;
    rs_store_files files = files_of(p);
    for (size_t i = 0; i < files.n; i++) {
        struct stat info;
        rs_entry *entry = rs_entry_open(files.items[i].path);
        bool is_facet = entry && rs_entry_get_key(entry).kind == RS_ENTRY_FACET;
        rs_entry_close(entry);
        assert_int_equal(stat(files.items[i].path, &info), 0);
        if (is_facet) sum = sum * 31 + (uint64_t)info.st_ino + (uint64_t)info.st_mtim.tv_nsec;
    }
    rs_store_files_clear(&files);
    return sum;
}

/* What is right is taken: were it refused, it would be made and written again. */
TEST(test_right_facets)
{
    place p = make_place();
    rs_status status;
    rs_job_stats stats;
    for (int built = 0; built < 2; built++) {
        for (size_t turn = 0; turn < 2; turn++) {
            uint64_t before = files_of_facets(&p);
            for (size_t k = 0; k < N_STRUCTURED; k++) {
                collected said = ask(sample, 1, query_of(structured[k]), NULL, p.folder, &status, &stats);
                assert_int_equal(status, RS_OK);
                collected_clear(&said);
            }
            remove_kind(&p, RS_ENTRY_RESULT);
            assert_int_equal(before == files_of_facets(&p), turn == 1 || built == 1);
        }
        if (!built) build_store(&p);
    }
    remove_place(&p);
}

/* What contradicts the trace is made anew. */
TEST(test_wrong_facets)
{
    static const struct {
        const char *name;
        uint32_t section; /* from 1 */
        spoiling how;
        size_t at;
        uint32_t value;
    } wrong[] = {
        {"rows of GPU work", 1, LOW, 1, 0},
        {"rows of GPU work", 1, LOW, 1, UINT32_MAX},
        {"launches of GPU work", 1, LOW, 1, UINT32_MAX - 1},
        {"launches of GPU work", 1, LOW, 1, 0},
        {"call tree", 1, LOW, 1, UINT32_MAX - 1},          /* row */
        {"call tree", 1, LOW, 1, 0},                       /* ... of what is no span of the host */
        {"call tree", 2, LOW, 1, 0},                       /* end */
        {"call tree", 2, LOW, 1, UINT32_MAX},              /* ... */
        {"call tree", 3, LOW, 0, 1},                       /* where its work begins */
        {"call tree", 3, LOW, 2, UINT32_MAX},              /* ... */
        {"call tree", 4, LOW, 1, 0},                       /* row of work */
        {"call tree", 4, LOW, 1, UINT32_MAX},              /* ... */
        {"call tree", 4, REVERSE, 0, 0},                   /* ... that another node launched */
        {"call tree", 5, HIGH, 0, 1 << 20},                /* more that do not nest than there are rows */
        {"call tree", 6, HIGH, 0, 1 << 20},                /* more unlinked work than there is */
        {"call tree", 7, HIGH, 0, UINT32_MAX},             /* negative time */
        {"call tree", 7, ALL_HIGH, 0, 1 << 20},            /* longer than its work */
        {"owners of GPU work", 1, LOW, 1, UINT32_MAX - 1}, /* node */
        {"owners of GPU work", 1, LOW, 1, 0},              /* ... of which this is not the work */
        {"owners of GPU work", 2, LOW, 0, 1 << 20},        /* number of an answer */
        {"owners of GPU work", 3, LOW, 0, 0},              /* no work */
        {"owners of GPU work", 3, LOW, 0, UINT32_MAX},     /* more than there is */
        {"owners of GPU work", 4, LOW, 0, 0x01010101},     /* work that is no communication */
        {"owners of GPU work", 4, LOW, 0, 0x02020202},     /* ... nor anything else */
        {"owners of GPU work", 5, LOW, 1, 0},              /* the same work twice */
        {"owners of GPU work", 5, LOW, 1, UINT32_MAX},     /* work */
        {"owners of GPU work", 5, REVERSE, 0, 0},          /* ... of others */
        {"owners of GPU work", 6, LOW, 0, UINT32_MAX - 1}, /* name of an operator */
        {"owners of GPU work", 6, LOW, 1, UINT32_MAX - 1}, /* its shapes */
        {"owners of GPU work", 6, LOW, 6, 65535},          /* its model */
        {"owners of GPU work", 6, LOW, 6, 0},              /* ... that is another name's */
        {"synchronization", 1, LOW, 0, UINT32_MAX - 1},    /* work that was waited for */
        {"synchronization", 1, LOW, 0, 0},                 /* ... that is none */
        {"synchronization", 2, LOW, 0, UINT32_MAX - 1},    /* call that waited */
        {"synchronization", 2, LOW, 1, 0},                 /* ... not in order */
        {"synchronization", 3, LOW, 0, UINT32_MAX - 1},    /* event that says so */
        {"synchronization", 4, LOW, 0, 0x07070707},        /* kind */
        {"synchronization", 5, HIGH, 0, UINT32_MAX},       /* fewer than no waits untold */
        {"synchronization", 5, HIGH, 1, UINT32_MAX},       /* a clock that is ahead by less than nothing */
        {"causes of waits", 1, LOW, 1, UINT32_MAX - 1},    /* work before */
        {"causes of waits", 1, LOW, 0, 9},                 /* ... that came later */
        {"causes of waits", 2, LOW, 1, UINT32_MAX - 1},    /* work around */
        {"causes of waits", 3, LOW, 1, 0},                 /* work that made room */
        {"causes of waits", 4, LOW, 0, 0x07070707},        /* kind */
        {"causes of waits", 7, LOW, 0, UINT32_MAX - 1},    /* row of a sample */
    };
    place p = make_place();
    rs_status status;
    rs_job_stats stats;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        /* a tree whose work is another node's is found by the times below it, too, where it has them */
        const rs_query *q =
            query_of(wrong[i].name[0] == 's' || strstr(wrong[i].name, "causes") ? "critical-path"
                     : strstr(wrong[i].name, "owners")                          ? "roofline"
                     : wrong[i].how == REVERSE                                  ? "modules"
                                                                                : "ops");
        empty_place(&p);
        collected expected = ask(sample, 1, q, NULL, NULL, &status, &stats);
        collected made = ask(sample, 1, q, NULL, p.folder, &status, &stats);
        remove_kind(&p, RS_ENTRY_RESULT);
        if (!spoil_facet(&p, wrong[i].name, wrong[i].section, wrong[i].how, wrong[i].at, wrong[i].value))
            fail_msg("there is no section %u of %s", wrong[i].section, wrong[i].name);
        collected again = ask(sample, 1, q, NULL, p.folder, &status, &stats);
        assert_int_equal(stats.bytes_text, 0);
        if (strcmp(expected.text, again.text) != 0) fail_msg("wrong number %zu was trusted", i);
        collected_clear(&expected);
        collected_clear(&made);
        collected_clear(&again);
    }
    remove_place(&p);
}

/* Well summed and wrong: whatever comes out, nothing but the arrays is touched. */
TEST(test_hostile_facets)
{
    place p = make_place();
    rs_status status;
    rs_job_stats stats;
    for (size_t k = 0; k < N_STRUCTURED; k++) {
        collected said = ask(sample, 1, query_of(structured[k]), NULL, p.folder, &status, &stats);
        collected_clear(&said);
    }
    remove_kind(&p, RS_ENTRY_RESULT);
    rs_store_files files = files_of(&p);
    rng r = {.state = 11};
    for (size_t turn = 0; turn < ROUNDS(200); turn++) {
        const char *path = files.items[rng_below(&r, files.n)].path;
        text t = text_of_file(path);
        rs_entry *entry = rs_entry_open(path);
        bool is_facet = entry && rs_entry_get_key(entry).kind == RS_ENTRY_FACET;
        rs_entry_close(entry);
        uint64_t *copy = rs_malloc(t.n + 8);
        memcpy(copy, t.s, t.n);
        for (size_t k = 0; k < 1 + turn % 4; k++)
            ((uint8_t *)copy)[t.n / 4 + rng_below(&r, t.n - t.n / 4)] = (uint8_t)rng_next(&r);
        rs_entry_seal(copy, t.n);
        if (is_facet) {
            FILE *f = fopen(path, "wb");
            assert_non_null(f);
            fwrite(copy, 1, t.n, f);
            fclose(f);
        }
        for (size_t k = 0; is_facet && k < 2; k++) {
            collected said = ask(sample, 1, query_of(structured[(turn + k) % N_STRUCTURED]), NULL, p.folder,
                                 &status, &stats);
            assert_int_equal(status, RS_OK);
            collected_clear(&said);
        }
        remove_kind(&p, RS_ENTRY_RESULT);
        if (is_facet) {
            FILE *f = fopen(path, "wb");
            assert_non_null(f);
            fwrite(t.s, 1, t.n, f);
            fclose(f);
        }
        rs_free(copy);
        text_clear(&t);
    }
    rs_store_files_clear(&files);
    remove_place(&p);
}

/* ---- many processes (killed ones: tests/torn) --------------------------------------------------------------------- */

/* Answers all questions with the store, in a process of its own. */
static pid_t start(const place *p, const questions *q)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid) return pid;
    for (size_t k = 0; k < q->n; k++) {
        rs_status status;
        rs_job_stats stats;
        collected said = ask(sample, 2, &q->items[k], NULL, p->folder, &status, &stats);
        collected_clear(&said);
    }
    _exit(0);
}

static void expect_whole(const place *p)
{
    rs_store_files files = files_of(p);
    for (size_t i = 0; i < files.n; i++) {
        if (files.items[i].left_over) continue;
        rs_entry *entry = rs_entry_open(files.items[i].path);
        assert_non_null(entry);
        assert_true(rs_entry_is_whole(entry));
        rs_entry_close(entry);
    }
    rs_store_files_clear(&files);
}

static void expect_same_answers(const place *p, const questions *q)
{
    for (size_t k = 0; k < q->n; k++) {
        rs_status plain, stored;
        rs_job_stats stats;
        collected a = ask(sample, 2, &q->items[k], NULL, NULL, &plain, &stats);
        collected b = ask(sample, 2, &q->items[k], NULL, p->folder, &stored, &stats);
        assert_int_equal(plain, stored);
        expect_text(&a, &b, &q->items[k], "after others");
        collected_clear(&a);
        collected_clear(&b);
    }
}

TEST(test_at_once)
{
    questions q = asked_of_traces(false);
    place p = make_place();
    for (unsigned turn = 0; turn < ROUNDS(2); turn++) {
        pid_t pids[4];
        for (size_t i = 0; i < 4; i++) pids[i] = start(&p, &q);
        for (size_t i = 0; i < 4; i++) {
            int code;
            assert_int_equal(waitpid(pids[i], &code, 0), pids[i]);
            assert_int_equal(code, 0);
        }
        expect_whole(&p);
        rs_store_files files = files_of(&p);
        for (size_t i = 0; i < files.n; i++) assert_false(files.items[i].left_over);
        rs_store_files_clear(&files);
        if (turn % 2 == 0) empty_place(&p);
    }
    expect_same_answers(&p, &q);
    remove_place(&p);
    clear_questions(&q);
}

/* What one question leaves of a rank answers others that have the same of it, also of a single input. */
TEST(test_shared_partials)
{
    static const struct {
        const char *analysis, *option, *value;
        bool shares;
    } asked[] = {{"blame", NULL, NULL, true},
                 {"replay", NULL, NULL, true},
                 {"replay", "what-if", "no-loader", true},
                 {"replay", "what-if", "shard 0:1", false},
                 {"blame", "by", "layer", false},
                 {"blame", "most-events", "9", false}};
    for (size_t n = 1; n <= 2; n++) {
        place p = make_place();
        const rs_query diagnose = {.analysis = rs_analysis_find("diagnose")};
        const rs_job_settings settings = {.size = sizeof settings, .no_verdict = true};
        rs_status status, plain;
        rs_job_stats stats;
        collected first = ask(sample, n, &diagnose, &settings, p.folder, &status, &stats);
        collected_clear(&first);
        for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
            const rs_analysis *analysis = rs_analysis_find(asked[i].analysis);
            rs_options *options = NULL;
            size_t n_specs;
            const rs_option_spec *specs = rs_analysis_options(analysis, &n_specs);
            assert_int_equal(rs_options_create(specs, n_specs, &options, NULL), RS_OK);
            if (asked[i].option)
                assert_int_equal(rs_options_set(options, asked[i].option, asked[i].value, NULL), RS_OK);
            const rs_query query = {.analysis = analysis, .options = options};
            remove_kind(&p, RS_ENTRY_EVENTS);
            collected a = ask(sample, n, &query, &settings, NULL, &plain, &stats);
            collected b = ask(sample, n, &query, &settings, p.folder, &status, &stats);
            assert_int_equal(status, plain);
            expect_text(&a, &b, &query, "from what another question left");
            assert_int_equal(stats.bytes_text == 0, asked[i].shares);
            collected_clear(&a);
            collected_clear(&b);
            rs_options_free(options);
        }
        remove_place(&p);
    }
}

/* ---- its size ------------------------------------------------------------------------------------------- */

static void put_entry(const place *p, unsigned number, size_t n, int64_t used)
{
    static uint8_t zeros[4096];
    uint64_t size;
    char name[RS_ENTRY_NAME], path[160];
    const rs_entry_key key = {RS_ENTRY_ANSWER, &number, "", sizeof number, 0};
    assert_int_equal(rs_entry_write(p->folder, &key, false, &(rs_entry_part){.id = 1, .bytes = zeros, .n = n},
                                    1, &size, NULL),
                     RS_OK);
    rs_entry_name(&key, name);
    snprintf(path, sizeof path, "%s/%s", p->folder, name);
    const struct timespec times[] = {{.tv_sec = used}, {.tv_sec = used}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool has_entry(const place *p, unsigned number)
{
    rs_entry *entry =
        rs_entry_find(p->folder, &(rs_entry_key){RS_ENTRY_ANSWER, &number, "", sizeof number, 0});
    rs_entry_close(entry);
    return entry != NULL;
}

TEST(test_limit)
{
    place p = make_place();
    for (unsigned i = 0; i < 10; i++) put_entry(&p, i, 4000, 1000000 + (int64_t)(i * 7 % 10));
    rs_store_trim(p.folder, 1 << 20);
    assert_int_equal(n_entries(&p), 10);
    assert_true(has_entry(&p, 0)); /* ... which is used now: the one used longest ago before */
    rs_store_trim(p.folder, 21000);
    assert_true(has_entry(&p, 0));
    assert_int_equal(n_entries(&p), 4); /* of 4 160 bytes, below nine tenths of the limit */
    for (unsigned i = 1; i < 10; i++) assert_int_equal(has_entry(&p, i), i * 7 % 10 > 6);
    /* a left-over of an hour ago, one of now, and what is none of ours */
    char path[160], now[160], strange[160];
    snprintf(path, sizeof path, "%s/00/%030d.tmp-abcdef", p.folder, 1);
    snprintf(now, sizeof now, "%s/00/%030d.tmp-abcdef", p.folder, 2);
    snprintf(strange, sizeof strange, "%s/00/notes.txt", p.folder);
    *strrchr(path, '/') = '\0';
    mkdir(path, 0700);
    path[strlen(path)] = '/';
    text t = {0};
    text_puts(&t, "x");
    text_save(&t, path);
    text_save(&t, now);
    text_save(&t, strange);
    text_clear(&t);
    const struct timespec times[] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    rs_store_trim(p.folder, 1);
    assert_int_equal(n_entries(&p), 0);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(access(now, F_OK), 0);
    assert_int_equal(access(strange, F_OK), 0);
    unlink(strange);
    remove_place(&p);
}

/* ---- what the command does ------------------------------------------------------------------------------ */

/* Whether the files behind an entry have that in their names. */
static bool is_of(const rs_entry_key *key, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i + n <= key->n_stamps; i++)
        if (memcmp((const char *)key->stamps + i, name, n) == 0) return true;
    return false;
}

static size_t do_task(const place *p, rs_store_task task, const char *path, const char *state)
{
    rs_result result = {0};
    assert_int_equal(rs_store_do(p->folder, task, path ? &path : NULL, path != NULL, &result, NULL), RS_OK);
    size_t n = rs_table_n_rows(result.tables[0]), of_state = 0;
    for (size_t i = 0; i < n; i++)
        of_state += !state || strcmp(rs_table_text(result.tables[0], i, 4, NULL), state) == 0;
    rs_result_clear(&result);
    return of_state;
}

/* Without memory nothing is judged: no entry is called damaged, and verify removes none. */
TEST(test_tasks_without_memory)
{
    place p = make_place();
    rs_status status;
    rs_job_stats stats;
    collected said = ask(sample, 1, query_of("idle"), NULL, p.folder, &status, &stats);
    collected_clear(&said);
    size_t entries = n_entries(&p);
    assert_int_equal(entries, 4);
    static const rs_store_task tasks[] = {RS_STORE_LIST, RS_STORE_VERIFY};
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        size_t failed = 0;
        uint64_t made = UINT64_MAX;
        for (uint64_t k = 1; k <= made; k++) {
            for (uint64_t n = 1; n; n = n == 1 ? UINT64_MAX : 0) {
                rs_result result = {0};
                rs_test_fail_allocations(k, n);
                status = rs_store_do(p.folder, tasks[i], sample, 1, &result, NULL);
                uint64_t number = rs_test_fail_allocation(0);
                if (status == RS_OK) {
                    assert_int_equal(rs_table_n_rows(result.tables[0]),
                                     tasks[i] == RS_STORE_LIST ? entries : 0);
                    made = number;
                } else {
                    assert_int_equal(status, RS_ERR_NOMEM);
                    failed++;
                }
                rs_result_clear(&result);
                assert_int_equal(n_entries(&p), entries);
            }
        }
        assert_true(failed > 20);
    }
    remove_place(&p);
}

TEST(test_tasks)
{
    place p = make_place();
    folder f = make_folder();
    put_rank(&f, "rank3.json", 3, 2);
    settle_files();
    rs_status status;
    rs_job_stats stats;
    const char *paths[] = {sample[0], f.files[0]};
    for (size_t i = 0; i < 2; i++) {
        collected said = ask(&paths[i], 1, query_of("idle"), NULL, p.folder, &status, &stats);
        collected_clear(&said);
    }
    /* a result, events, rows of GPU work and their launches of each */
    assert_int_equal(do_task(&p, RS_STORE_LIST, NULL, "fresh"), 8);
    assert_int_equal(do_task(&p, RS_STORE_LIST, sample[0], NULL), 4);
    assert_int_equal(do_task(&p, RS_STORE_LIST, f.name, NULL), 4);
    assert_int_equal(do_task(&p, RS_STORE_VERIFY, NULL, NULL), 0);
    rs_store_files files = files_of(&p);
    for (size_t i = 0; i < files.n; i++) {
        rs_entry *entry = rs_entry_open(files.items[i].path);
        rs_entry_key key = rs_entry_get_key(entry);
        bool damage = key.kind == RS_ENTRY_RESULT && is_of(&key, "rank0");
        rs_entry_close(entry);
        if (!damage) continue;
        text t = text_of_file(files.items[i].path);
        rewrite(files.items[i].path, t.n - 1, (char)~t.s[t.n - 1]);
        text_clear(&t);
    }
    rs_store_files_clear(&files);
    put_rank(&f, "rank3.json", 3, 3);
    /* list looks at heads only */
    assert_int_equal(do_task(&p, RS_STORE_LIST, NULL, "damaged"), 0);
    assert_int_equal(do_task(&p, RS_STORE_LIST, NULL, "stale"), 4);
    assert_int_equal(do_task(&p, RS_STORE_VERIFY, NULL, NULL), 5);
    assert_int_equal(do_task(&p, RS_STORE_LIST, NULL, "fresh"), 3);
    assert_int_equal(do_task(&p, RS_STORE_DROP, f.name, NULL), 0);
    assert_int_equal(do_task(&p, RS_STORE_DROP, sample[0], NULL), 3);
    assert_int_equal(n_entries(&p), 0);
    /* built, nothing is read any more */
    rs_job *job;
    const rs_job_settings settings = {.size = sizeof(rs_job_settings), .store = p.folder};
    rs_result result = {0};
    assert_int_equal(rs_job_open(sample, 2, &settings, &job, NULL), RS_OK);
    assert_int_equal(rs_job_build_store(job, &result, NULL), RS_OK);
    rs_result_clear(&result);
    rs_job_close(job);
    questions q = asked_of_traces(false);
    for (size_t k = 0; k < q.n; k++) {
        collected said = ask(sample, 2, &q.items[k], NULL, p.folder, &status, &stats);
        if (status == RS_OK) assert_int_equal(stats.bytes_text, 0);
        collected_clear(&said);
    }
    clear_questions(&q);
    remove_folder(&f);
    remove_place(&p);
}

/* A folder that cannot be made. */
TEST(test_no_folder)
{
    rs_error err = RS_ERROR_INIT;
    char line[1024];
    rs_job *job;
    const rs_job_settings settings = {.size = sizeof(rs_job_settings), .store = "/dev/null/store"};
    assert_int_equal(rs_job_open(sample, 2, &settings, &job, &err), RS_ERR_IO);
    assert_non_null(strstr(rs_error_text(&err, line, sizeof line), "/dev/null/store"));
    assert_null(job);
    const rs_job_settings optional = {
        .size = sizeof(rs_job_settings), .store = "/dev/null/store", .store_optional = true};
    assert_int_equal(rs_job_open(sample, 2, &optional, &job, NULL), RS_OK);
    rs_status status;
    collected said = answer_to(job, query_of("idle"), &status);
    assert_int_equal(status, RS_OK);
    collected_clear(&said);
    rs_job_close(job);
}

/* Events that could not be copied for want of memory are not stored. */
TEST(test_events_without_memory)
{
    place p = make_place();
    text t = {0};
    text_rank(&t, 0, 1);
    rs_events *e = load(t.s, t.n);
    size_t refused = 0;
    for (uint64_t n = 1;; n++) {
        empty_place(&p);
        rs_test_fail_allocations(0, 0);
        rs_test_fail_allocations(n, 1);
        bool put = put_events(p.folder, e, false);
        uint64_t made = rs_test_fail_allocations(0, 0);
        refused += !put;
        if (put) {
            rs_events *again = stored_events(&p, RS_ALL_COLUMNS, 1);
            assert_non_null(again);
            assert_true(same_events(e, again));
            rs_events_free(again);
        }
        if (made < n) break;
    }
    assert_true(refused > 3);
    rs_events_free(e);
    text_clear(&t);
    remove_place(&p);
}

/* Memory that runs out costs the store, or the run as ever, never the answer. */
TEST(test_out_of_memory)
{
    place p = make_place();
    rs_status status;
    rs_job_stats stats;
    const rs_query *q = query_of("idle");
    const rs_job_settings one = {.size = sizeof(rs_job_settings), .jobs = 1};
    collected expected = ask(sample, 1, q, &one, NULL, &status, &stats);
    for (int warm = 0; warm < 2; warm++) {
        for (uint64_t n = 1;; n++) {
            if (!warm) empty_place(&p);
            rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1, .store = p.folder};
            rs_job *job = NULL;
            rs_result result = {0};
            rs_test_fail_allocation(0);
            rs_test_fail_allocation(n);
            status = rs_job_open(sample, 1, &settings, &job, NULL);
            if (status == RS_OK) status = rs_job_run(job, q->analysis, NULL, RS_COMPAT_NONE, &result, NULL);
            uint64_t made = rs_test_fail_allocation(0);
            if (status == RS_OK) {
                collected said = rendered(&result);
                for (size_t i = 0; i < result.n_notes; i++)
                    collect(&said, result.notes[i], strlen(result.notes[i]));
                expect_text(&expected, &said, q, "out of memory");
                collected_clear(&said);
            } else {
                assert_int_equal(status, RS_ERR_NOMEM);
            }
            rs_result_clear(&result);
            rs_job_close(job);
            expect_whole(&p);
            if (made < n) break;
        }
        remove_kind(&p, RS_ENTRY_EVENTS);
        if (!warm) assert_int_equal(n_entries(&p), 1);
    }
    collected_clear(&expected);
    remove_place(&p);
}
