/* Verdicts: the catalogue's words, the sentences, verdicts as values that travel, evidence for a shell and for Python, and
 * who gets a verdict. */
#include <math.h>

#include "base/layout.h"
#include "base/memory.h"
#include "questions.h"
#include "support.h"
#include "rankscope/verdict.h"
#include "verdict/verdicts.h"

#define SMALL(n) RS_SOURCE_DIR "/tests/data/small/rank" #n ".json.gz"

static const char *const small[] = {SMALL(0), SMALL(1)};

static rs_job *open_with(const char *const *paths, size_t n, const rs_job_settings *like)
{
    rs_job_settings settings = like ? *like : (rs_job_settings){.size = sizeof settings};
    rs_job *job;
    settings.jobs = 1;
    assert_int_equal(rs_job_open(paths, n, &settings, &job, NULL), RS_OK);
    return job;
}

static void ask(const char *const *paths, size_t n, const rs_job_settings *settings, const rs_query *q,
                rs_result *out)
{
    rs_job *job = open_with(paths, n, settings);
    rs_error err = RS_ERROR_INIT;
    char line[512];
    if (rs_job_run_many(job, q, 1, out, &err) != RS_OK)
        fail_msg("%s: %s", rs_analysis_name(q->analysis), rs_error_text(&err, line, sizeof line));
    rs_job_close(job);
}

/* ---- words -------------------------------------------------------------------------------------------------- */

static const int64_t ranks[] = {0, 1, 2, 3, 8};
static const char *const hosts[] = {"node-a", "node-b"};

/* A candidate with every fact there is; culprits: the list's. */
static rs_candidate full(const rs_fault_kind *fault, rs_culprit *culprits, size_t n)
{
    rs_candidate c = rs_candidate_of(fault, RS_VERDICT_FINDING);
    c.culprits = culprits;
    c.n_culprits = n;
    c.facts = (rs_facts){
        1.5,           12.345, 4.56, 4, 33.4, 16, 6.25, 12, 2, 1, 8, "aten::mm", "cudaMalloc, cudaFree",
        "in poll 97 %"};
    return c;
}

static void expect_claim(const rs_candidate *c, const char *wanted)
{
    rs_text t = {0};
    rs_words_claim(c, &t);
    assert_string_equal(rs_text_get(&t), wanted);
    rs_text_clear(&t);
}

/* Each row of the catalogue is whole, and its templates name nothing that does not exist. */
static void test_catalogue(void **state)
{
    (void)state;
    for (const rs_fault_kind *f = rs_faults; f->id; f++) {
        assert_true(f->words && f->fix && f->remedy && f->find);
        for (const rs_fault_kind *g = rs_faults; g < f; g++) assert_string_not_equal(f->id, g->id);
        /* of all kinds of culprits a template can name: a rank, a stage, or what has a name, with ranks and hosts */
        for (int kind = 0; kind <= RS_CULPRIT_LINE; kind++) {
            bool number = kind == RS_CULPRIT_RANK || kind == RS_CULPRIT_STAGE;
            rs_culprit culprits[] = {
                {(rs_culprit_kind)kind, number ? 5 : -1, number ? NULL : "first", ranks, 5, hosts, 2},
                {RS_CULPRIT_KERNEL, -1, "second", NULL, 0, NULL, 0}};
            rs_candidate c = full(f, culprits, 2);
            rs_text claim = {0}, subject = {0};
            rs_words_claim(&c, &claim);
            rs_words_subject(&c, &subject);
            assert_non_null(rs_text_get(&claim));
            assert_null(strpbrk(claim.s, "{}[]"));
            assert_true(claim.s[claim.n - 1] != '.');
            if (f->subject) assert_null(strpbrk(rs_text_get(&subject), "{}[]"));
            rs_text_clear(&claim);
            rs_text_clear(&subject);
        }
    }
}

/* Where every fact is known, each word of each template has a text: none is misspelt, here or there. */
static void test_words(void **state)
{
    (void)state;
    for (const rs_fault_kind *f = rs_faults; f->id; f++) {
        const char *const templates[] = {f->words, f->of_job, f->subject, f->fix};
        for (size_t t = 0; t < sizeof templates / sizeof *templates; t++)
            for (const char *at = templates[t]; at && (at = strchr(at, '{')); at++) {
                char word[32];
                const size_t n = strcspn(at, "}") + 1;
                bool told = false;
                assert_true(n < sizeof word);
                memcpy(word, at, n);
                word[n] = '\0';
                const rs_fault_kind alone = {.id = f->id, .words = word, .of_job = word};
                for (int kind = 0; kind <= RS_CULPRIT_LINE; kind++) {
                    const bool number = kind == RS_CULPRIT_RANK || kind == RS_CULPRIT_STAGE;
                    rs_culprit culprits[] = {
                        {(rs_culprit_kind)kind, number ? 5 : -1, number ? NULL : "first", ranks, 5, hosts, 2},
                        {RS_CULPRIT_KERNEL, -1, "second", NULL, 0, NULL, 0}};
                    rs_candidate c = full(&alone, culprits, 2);
                    rs_text claim = {0};
                    c.without_steps = false;
                    rs_words_claim(&c, &claim);
                    told = told || claim.n;
                    rs_text_clear(&claim);
                }
                if (!told) fail_msg("%s: %s is empty", f->id, word);
            }
    }
}

static void test_templates(void **state)
{
    (void)state;
    rs_fault_kind f = {.id = "f",
                       .words = "Rank {rank}[ on host {hosts}] takes {times}× as long[, in {in}]",
                       .of_job = "Ranks take {ms} ms"};
    rs_culprit rank = {.kind = RS_CULPRIT_RANK, .number = 7, .hosts = hosts, .n_hosts = 1};
    rs_candidate c = full(&f, &rank, 1);
    expect_claim(&c, "Rank 7 on host node-a takes 1.50× as long, in aten::mm");
    rank.n_hosts = 0;
    c.facts.in = NULL;
    expect_claim(&c, "Rank 7 takes 1.50× as long");
    c.n_culprits = 0;
    expect_claim(&c, "Ranks take 12.35 ms");
    f.of_job = "waits {often} a step[, {often}]";
    expect_claim(&c, "waits 4 times a step, 4 times");
    c.facts.n = 1.04;
    expect_claim(&c, "waits once a step, once");
    c.facts.n = 1.06;
    expect_claim(&c, "waits 1.1 times a step, 1.1 times");
    f.of_job = "takes {time}{a step}[ of {time}]";
    expect_claim(&c, "takes 4.6 us a step of 4.6 us");
    c.facts.us = 407976.5;
    c.without_steps = true;
    expect_claim(&c, "takes 408.0 ms of 408.0 ms");
    c.facts.us = (double)NAN;
    expect_claim(&c, "takes ");

    rs_culprit group = {.kind = RS_CULPRIT_GROUP,
                        .number = -1,
                        .name = "dp\n\033[31m, it's",
                        .ranks = ranks,
                        .n_ranks = 5,
                        .hosts = hosts,
                        .n_hosts = 2};
    f = (rs_fault_kind){
        .id = "f",
        .words =
            "Group {name} ({ranks}[; hosts {hosts}]): {n} calls of {us} us, {pct} %, {kib} KiB, {step} of {stages}"};
    c = full(&f, &group, 1);
    expect_claim(
        &c,
        "Group dp \xef\xbf\xbd[31m, it's (ranks 0-3, 8; hosts node-a, node-b): 4 calls of 4.6 us, 33 %, 16 KiB, 12 of 2");
}

static void test_long_names(void **state)
{
    (void)state;
    char name[400];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    memcpy(name, "begin", 5);
    memcpy(name + sizeof name - 4, "end", 3);
    rs_fault_kind f = {.id = "f", .words = "{name}"};
    rs_culprit kernel = {.kind = RS_CULPRIT_KERNEL, .number = -1, .name = name};
    rs_candidate c = full(&f, &kernel, 1);
    rs_text t = {0};
    rs_words_claim(&c, &t);
    assert_non_null(rs_text_get(&t));
    assert_true(t.n < 100);
    assert_true(strncmp(t.s, "begin", 5) == 0 && strcmp(t.s + t.n - 3, "end") == 0 && strstr(t.s, "…"));
    rs_text_clear(&t);
}

static void expect_sentence(const rs_judged_row *row, const char *wanted)
{
    rs_text t = {0};
    rs_words_sentence(row, &t);
    assert_string_equal(rs_text_get(&t), wanted);
    rs_text_clear(&t);
}

/* The numbers of the step, in its unit; what fixes it together with others. */
static void test_sentences(void **state)
{
    (void)state;
    const rs_fault_kind f = {
        .id = "f", .words = "Rank {rank} is slow", .subject = "rank {rank}", .fix = "Fixing it"};
    rs_culprit culprits[] = {{.kind = RS_CULPRIT_RANK, .number = 5}, {.kind = RS_CULPRIT_RANK, .number = 6}};
    rs_candidate one = full(&f, &culprits[0], 1), two = full(&f, &culprits[1], 1);
    rs_judged_row row = {.candidate = &one,
                         .answer = {.steps = 4,
                                    .before = 75600,
                                    .after = 59600,
                                    .gain = 16000,
                                    .low = 15800,
                                    .high = 16300,
                                    .sampled = true,
                                    .annotated = 75600}};
    expect_sentence(&row,
                    "Rank 5 is slow. Fixing it would cut the step from 75.6 to 59.6 ms (95 % CI 59.3–59.8).");
    row.answer.sampled = false;
    row.answer.annotated = 60000;
    expect_sentence(
        &row,
        "Rank 5 is slow. Fixing it would cut the step from 75.6 to 59.6 ms (59.3–59.8). On the host a step lasts 60.0 ms, without its GPU work.");
    row.answer.annotated = NAN;
    row.answer.steps = 0;
    row.with[row.n_with++] = &two;
    expect_sentence(
        &row,
        "Rank 5 is slow. Fixing it together with rank 6 would cut the recording from 75.6 to 59.6 ms (59.3–59.8).");
    row.with[row.n_with++] = &one;
    row.with[row.n_with++] = &one;
    row.answer = (rs_foretold){
        .steps = 1, .before = 2.5e6, .after = 1.25e6, .low = 1.2499e6, .high = 1.2501e6, .annotated = NAN};
    expect_sentence(
        &row,
        "Rank 5 is slow. Fixing it together with rank 6 and 2 other findings would cut the step from 2.5000 to 1.2500 s (one step: no interval).");
}

static void expect_healthy(const rs_judgement *j, const char *wanted)
{
    rs_text t = {0};
    rs_words_healthy(j, &t);
    assert_string_equal(rs_text_get(&t), wanted);
    rs_text_clear(&t);
}

static void test_healthy(void **state)
{
    (void)state;
    const rs_fault_kind f = {.id = "loader", .words = "Rank {rank} waits {ms} ms a step for data"};
    rs_culprit rank = {.kind = RS_CULPRIT_RANK, .number = 3};
    rs_candidate c = full(&f, &rank, 1);
    rs_unexamined missed[] = {
        {"sync", NULL, "why"}, {"loader", "Rank 3 waits", "why"}, {"stage", NULL, "why"}};
    rs_judgement j = {.before = 73400, .n_steps = 4, .enough = 0.5, .findings = true, .opportunities = true};
    expect_healthy(&j, "Nothing worth 0.5 % found in a step of 73.4 ms.");
    j.missed = missed;
    j.n_missed = 2;
    expect_healthy(&j,
                   "Nothing worth 0.5 % found in a step of 73.4 ms; 1 kind of fault could not be examined.");
    j.n_missed = 3;
    j.n_steps = 0;
    j.opportunities = false;
    expect_healthy(
        &j, "No fault worth 0.5 % found in a recording of 73.4 ms; 2 kinds of fault could not be examined.");
    j.uncertain = &c;
    expect_healthy(
        &j,
        "No fault worth 0.5 % is certain in a recording of 73.4 ms; 2 kinds of fault could not be examined. Rank 3 waits 12.35 ms a step "
        "for data, but what fixing it would gain is not certain.");
}

/* ---- culprits ----------------------------------------------------------------------------------------------- */

static void test_source_lines(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is;
    } cases[] = {{"train.py(12): step", true},
                 {"/a b/model.py(7): forward", true},
                 {"cudaMalloc", false},
                 {"x.py(): f", false},
                 {"x.py(12)", false},
                 {"x.py(12", false},
                 {".py(1):", true},
                 {"x.py(1x): f", false},
                 {"a.py(b.py(3): f", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rs_candidates all = {0};
        rs_candidate c = rs_candidate_of(rs_faults, RS_VERDICT_FINDING);
        assert_true(rs_accuse_call(&c, cases[i].name, strlen(cases[i].name), &all));
        if (c.culprits[0].kind != (cases[i].is ? RS_CULPRIT_LINE : RS_CULPRIT_CALL))
            fail_msg("%s", cases[i].name);
        assert_string_equal(c.culprits[0].name, cases[i].name);
        rs_candidates_clear(&all);
    }
}

/* ---- evidence ----------------------------------------------------------------------------------------------- */

static void expect_evidence(const rs_evidence *e, rs_evidence_form form, const char *const *paths, size_t n,
                            const char *wanted)
{
    text t = {0};
    const rs_sink sink = text_sink(&t);
    assert_int_equal(rs_evidence_write(e, form, paths, n, &sink, NULL), RS_OK);
    assert_string_equal(t.s, wanted);
    text_clear(&t);
}

static void test_evidence(void **state)
{
    (void)state;
    const rs_evidence_option options[] = {{"what-if", "scale group='it\\'s; $(x)'=0.5"}, {"no-loader", NULL}};
    const rs_evidence e = {"replay", options, 2}, plain = {"critical-path", options, 0};
    const char *const paths[] = {"jobs/r-1.json.gz", "my job", "it's"};
    expect_evidence(
        &e, RS_EVIDENCE_SHELL, paths, 3,
        "rankscope replay --what-if 'scale group='\\''it\\'\\''s; $(x)'\\''=0.5' --no-loader jobs/r-1.json.gz 'my job' 'it'\\''s'");
    expect_evidence(
        &e, RS_EVIDENCE_SHELL, NULL, 0,
        "rankscope replay --what-if 'scale group='\\''it\\'\\''s; $(x)'\\''=0.5' --no-loader PATH...");
    expect_evidence(&e, RS_EVIDENCE_PYTHON, NULL, 0,
                    "job.replay(what_if='scale group=\\'it\\\\\\'s; $(x)\\'=0.5', no_loader=True)");
    expect_evidence(&plain, RS_EVIDENCE_PYTHON, NULL, 0, "job.critical_path()");
}

/* ---- verdicts of a job -------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return !a == !b && (!a || strcmp(a, b) == 0);
}

static void expect_same_verdict(const rs_verdict *a, const rs_verdict *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_true(same_text(a->id, b->id) && same_text(a->text, b->text) && same_text(a->claim, b->claim) &&
                same_text(a->remedy, b->remedy) && same_text(a->assumption, b->assumption) &&
                same_text(a->reason, b->reason));
    const double x[] = {a->before_us, a->after_us,     a->after_low_us,  a->after_high_us,
                        a->gain_pct,  a->gain_low_pct, a->gain_high_pct, a->bound_us};
    const double y[] = {b->before_us, b->after_us,     b->after_low_us,  b->after_high_us,
                        b->gain_pct,  b->gain_low_pct, b->gain_high_pct, b->bound_us};
    assert_memory_equal(x, y, sizeof x);
    assert_int_equal(a->steps, b->steps);
    assert_int_equal(a->sensitivity, b->sensitivity);
    assert_int_equal(a->n_culprits, b->n_culprits);
    for (size_t i = 0; i < a->n_culprits; i++) {
        const rs_culprit *c = &a->culprits[i], *d = &b->culprits[i];
        assert_true(c->kind == d->kind && c->number == d->number && same_text(c->name, d->name) &&
                    c->n_ranks == d->n_ranks && c->n_hosts == d->n_hosts);
        if (c->n_ranks) assert_memory_equal(c->ranks, d->ranks, c->n_ranks * sizeof *c->ranks);
    }
    assert_int_equal(a->n_evidence, b->n_evidence);
    for (size_t i = 0; i < a->n_evidence; i++) {
        assert_string_equal(a->evidence[i].command, b->evidence[i].command);
        assert_int_equal(a->evidence[i].n_options, b->evidence[i].n_options);
        for (size_t k = 0; k < a->evidence[i].n_options; k++)
            assert_string_equal(a->evidence[i].options[k].value, b->evidence[i].options[k].value);
    }
}

/* What tests/data/small is known to hold (tests/data/README.md): rank 1 computes 1.4 times as long. */
static void test_typed(void **state)
{
    (void)state;
    rs_result result;
    ask(small, 2, NULL, &(rs_query){.analysis = rs_analysis_find("diagnose")}, &result);
    const rs_verdict *v = rs_result_verdict(&result, 0);
    assert_non_null(v);
    assert_int_equal(v->size, sizeof *v);
    assert_int_equal(v->kind, RS_VERDICT_FINDING);
    assert_string_equal(rs_verdict_kind_name(v->kind), "finding");
    assert_string_equal(v->id, "straggler");
    assert_int_equal(v->n_culprits, 1);
    assert_int_equal(v->culprits[0].kind, RS_CULPRIT_RANK);
    assert_int_equal(v->culprits[0].number, 1);
    assert_string_equal(v->claim, "Rank 1 computes 1.40× slower than its peers");
    assert_true(strncmp(v->text, v->claim, strlen(v->claim)) == 0);
    assert_true(v->gain_low_pct <= v->gain_pct && v->gain_pct <= v->gain_high_pct &&
                v->after_us < v->before_us);
    assert_true(fabs(100 * (1 - v->after_us / v->before_us) - v->gain_pct) < 1e-6);
    assert_non_null(v->remedy);
    assert_int_equal(v->n_evidence, 1);
    assert_string_equal(v->evidence[0].command, "replay");
    assert_true(strncmp(v->evidence[0].options[0].value, "scale class=computation&rank=1=0.71", 34) == 0);
    assert_int_equal(rs_result_n_lateness(&result), 1);
    assert_int_equal(rs_result_lateness(&result, 0)->rank, 1);
    assert_int_equal(rs_result_lateness(&result, 0)->cause, 1);
    assert_null(rs_result_lateness(&result, 1));
    assert_null(rs_result_verdict(&result, rs_result_n_verdicts(&result)));
    /* kernels are whole names: no two verdicts are about one, and none is cut */
    for (size_t i = 0; i < rs_result_n_verdicts(&result); i++) {
        const rs_verdict *w = rs_result_verdict(&result, i);
        for (size_t k = 0; k < i; k++) {
            const rs_verdict *u = rs_result_verdict(&result, k);
            if (w->sensitivity && u->sensitivity)
                assert_string_not_equal(w->culprits[0].name, u->culprits[0].name);
        }
        if (w->sensitivity) assert_null(strstr(w->culprits[0].name, "…"));
        assert_true(i == 0 ||
                    rs_result_verdict(&result, i - 1)->sensitivity <= w->sensitivity); /* they are last */
    }
    rs_result_clear(&result);
}

/* Packed and unpacked the same; no prefix and no changed byte is more than refused. */
static void test_packed(void **state)
{
    (void)state;
    rs_result result;
    ask(small, 2, NULL, &(rs_query){.analysis = rs_analysis_find("diagnose")}, &result);
    rs_wire_writer w = {0};
    rs_verdicts_pack(result.verdicts, &w);
    rs_arena arena = {0};
    rs_wire_reader r = {.p = w.bytes, .end = w.bytes + w.n, .arena = &arena};
    rs_result other = {.verdicts = rs_verdicts_unpack(&r)};
    assert_true(!r.bad && r.p == r.end);
    assert_int_equal(rs_result_n_verdicts(&other), rs_result_n_verdicts(&result));
    assert_true(rs_result_n_verdicts(&other) > 1);
    for (size_t i = 0; i < rs_result_n_verdicts(&other); i++)
        expect_same_verdict(rs_result_verdict(&result, i), rs_result_verdict(&other, i));
    assert_int_equal(rs_result_n_lateness(&other), 1);
    assert_memory_equal(rs_result_lateness(&other, 0), rs_result_lateness(&result, 0), sizeof(rs_lateness));
    assert_int_equal(rs_result_n_unexamined(&other), rs_result_n_unexamined(&result));
    assert_true(rs_result_n_unexamined(&other) > 0);
    for (size_t i = 0; i < rs_result_n_unexamined(&other); i++)
        assert_string_equal(rs_result_unexamined(&other, i)->reason,
                            rs_result_unexamined(&result, i)->reason);
    rs_result_clear(&other);
    uint8_t *copy = malloc(w.n);
    for (size_t n = 0; n < w.n; n++) {
        memcpy(copy, w.bytes, n);
        r = (rs_wire_reader){.p = copy, .end = copy + n, .arena = &arena};
        assert_null(rs_verdicts_unpack(&r));
        assert_true(r.bad);
    }
    for (size_t i = 0; i < w.n; i++) {
        memcpy(copy, w.bytes, w.n);
        copy[i] ^= 0x5a;
        r = (rs_wire_reader){.p = copy, .end = copy + w.n, .arena = &arena};
        rs_verdicts_free(rs_verdicts_unpack(&r));
    }
    free(copy);
    rs_arena_clear(&arena);
    rs_wire_clear(&w);
    rs_result_clear(&result);
}

/* ---- who gets one ------------------------------------------------------------------------------------------- */

static bool is_told(const rs_query *q, const rs_job_settings *settings)
{
    rs_result result;
    ask(small, 2, settings, q, &result);
    bool told = rs_result_n_verdicts(&result) > 0;
    if (told) assert_string_equal(rs_result_verdict(&result, 0)->id, "straggler");
    rs_result_clear(&result);
    return told;
}

static void test_who_is_told(void **state)
{
    (void)state;
    static const char *const judged[] = {"summary", "diagnose", "stragglers", "collectives",
                                         "blame",   "whatif",   "variance",   "replay"};
    static const char *const others[] = {"kernels", "breakdown", "steps", "doctor"};
    const rs_job_settings silent = {.size = sizeof silent, .no_verdict = true};
    for (size_t i = 0; i < sizeof judged / sizeof *judged; i++) {
        rs_query q = {.analysis = rs_analysis_find(judged[i])};
        bool own = strcmp(judged[i], "diagnose") == 0, in_tables = strcmp(judged[i], "summary") == 0;
        assert_true(is_told(&q, NULL));
        assert_int_equal(is_told(&q, &silent), own); /* it is what was asked for */
        q.tables_alone = true;
        assert_int_equal(is_told(&q, NULL), own || in_tables);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(is_told(&(rs_query){.analysis = rs_analysis_find(others[i])}, NULL));
    /* a selection cannot be judged, a peer has no verdict, and a question has an answer of its own */
    assert_false(is_told(&(rs_query){.analysis = rs_analysis_find("summary")},
                         &(rs_job_settings){.size = sizeof(rs_job_settings), .steps = "10"}));
    size_t n;
    const rs_query imitated = {.analysis = rs_analysis_find("stragglers"), .compat = RS_COMPAT_HTA};
    if (rs_analysis_tables(imitated.analysis, RS_COMPAT_HTA, &n))
        assert_false(is_told(&imitated, NULL)); /* a pack's */
    const rs_analysis *replay = rs_analysis_find("replay");
    const rs_option_spec *specs = rs_analysis_options(replay, &n);
    rs_options *options;
    assert_int_equal(rs_options_create(specs, n, &options, NULL), RS_OK);
    assert_int_equal(rs_options_set(options, "no-loader", NULL, NULL), RS_OK);
    assert_false(is_told(&(rs_query){.analysis = replay, .options = options}, NULL));
    rs_options_free(options);
}

/* One rank alone has no peers, and no rank is slow. What cannot be judged has a verdict that says why. */
static void test_refused(void **state)
{
    (void)state;
    rs_result alone;
    ask(small, 1, NULL, &(rs_query){.analysis = rs_analysis_find("summary")}, &alone);
    assert_true(rs_result_n_verdicts(&alone) > 0);
    for (size_t i = 0; i < rs_result_n_verdicts(&alone); i++)
        assert_int_not_equal(rs_result_verdict(&alone, i)->kind, RS_VERDICT_FINDING);
    rs_result_clear(&alone);

    rs_verdicts *v;
    assert_int_equal(rs_verdicts_refuse("the ranks are untied", &v, NULL), RS_OK);
    rs_result refused = {.verdicts = v};
    assert_int_equal(rs_result_n_verdicts(&refused), 1);
    assert_int_equal(rs_result_verdict(&refused, 0)->kind, RS_VERDICT_REFUSED);
    assert_string_equal(rs_result_verdict(&refused, 0)->text, "Not diagnosed: the ranks are untied.");
    assert_string_equal(rs_result_verdict(&refused, 0)->reason, "the ranks are untied");
    assert_true(isnan(rs_result_verdict(&refused, 0)->gain_pct));
    rs_result_clear(&refused);
}

/* As JSON, with the tables. */
static void test_json(void **state)
{
    (void)state;
    rs_result result;
    ask(small, 2, NULL, &(rs_query){.analysis = rs_analysis_find("stragglers")}, &result);
    collected out = rendered(&result);
    assert_non_null(strstr(
        out.text,
        "\"verdict\": {\"text\": \"Rank 1 computes 1.40× slower than its peers. Fixing it would cut the step from "));
    assert_non_null(strstr(
        out.text,
        "\"kind\": \"finding\", \"id\": \"straggler\", \"culprits\": [{\"rank\": 1}], \"gain_pct\": 20.8"));
    assert_non_null(strstr(out.text, "\"late\": [{\"rank\": 1, \"because_of\": 1, \"wait_us\": "));
    collected_clear(&out);
    rs_result_clear(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_catalogue),   cmocka_unit_test(test_words),
        cmocka_unit_test(test_templates),   cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_sentences),   cmocka_unit_test(test_healthy),
        cmocka_unit_test(test_evidence),    cmocka_unit_test(test_source_lines),
        cmocka_unit_test(test_typed),       cmocka_unit_test(test_packed),
        cmocka_unit_test(test_who_is_told), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
