/* Damage: what is lost, what is kept, where it is said to be, and that every other event keeps its row. */
#include "support.h"

/* The event that is damaged stands between others, of which there are enough for their layouts to be known.
 */
#define AROUND 6

static void add_good(text *t, size_t i)
{
    text_printf(t,
                "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"good %zu\", \"pid\": 1, \"tid\": 2, "
                "\"ts\": %zu.5, \"dur\": 1, "
                "\"args\": {\"External id\": %zu, \"Input Dims\": [[2, 3], []], \"x\": {\"name\": \"y\"}}}",
                i % 2, 10 * i, i);
}

typedef struct form {
    const char *name, *begin, *separator, *end;
} form;

static const form forms[] = {
    {"object", "{\"schemaVersion\":1,\"traceEvents\":[", ",\n",
     "],\n\"traceName\":\"last\",\"displayTimeUnit\":\"ms\"}"},
    {"object that ends with its events", "{\"traceEvents\":[", ",", "]}"},
    {"array", "[", ",\n  ", "]\n"},
    {"lines", "", "\n", "\n"},
};

typedef struct damage {
    const char *text; /* of the element, without separators */
    const char *kind;
    const char *at; /* what stands at the reported offset; NULL: the element's first byte */
    bool kept;      /* the event is there, though not whole */
    const char *name;
} damage;

#define HEAD "{\"ph\": \"X\", \"cat\": \"kernel\", \"pid\": 1, \"tid\": 7, "

static const damage damages[] = {
    /* lost */
    {HEAD "\"name\": \"a \"quoted\" name\", \"ts\": 5, \"dur\": 1}", "bad_event", NULL, false, NULL},
    {HEAD "\"name\": \"a {\"ph\" name\", \"ts\": 5, \"dur\": 1}", "bad_event", NULL, false, NULL},
    {HEAD "\"name\": \"n\" \"ts\": 5, \"dur\": 1}", "bad_event", NULL, false, NULL},
    {HEAD "\"name\": \"n\", \"ts\" 5, \"dur\": 1}", "bad_event", NULL, false, NULL},
    {HEAD "\"name\": \"n\", \"ts\": 5, \"dur\": 1, }", "bad_event", NULL, false, NULL},
    {HEAD "\"name\": \"n\", \"ts\": 5 6, \"dur\": 1}", "bad_event", NULL, false, NULL},
    {HEAD "\"name\": \"n\", \"ts\": , \"dur\": 1}", "bad_event", NULL, false, NULL},
    {HEAD "\"name\": \"n\", \"ts\": 1.2.3, \"dur\": 1}", "bad_event", NULL, false, NULL},
    {HEAD "\"name\": \"n\", \"ts\": 5, \"args\": {\"name\" \"x\"}}", "bad_event", NULL, false, NULL},
    {HEAD "\"name\": \"n\", \"ts\": 5, \"args\"; {\"name\": \"x\"}}", "bad_event", NULL, false, NULL},
    {HEAD "\"name\": \"n\", \"ts\": 5, \"args\" {\"name\": \"x\"}}", "bad_event", NULL, false, NULL},
    {HEAD "\"name\": \"n\", \"ts\": 5, \"args\": {\"x\": [1, 2}, \"y\": 3}}", "bad_event", NULL, false, NULL},
    {HEAD "\"name\": \"n\", \"ts\": 5, \"args\": {\"x\": 1]}}", "bad_event", NULL, false, NULL},
    {HEAD "\"name\": \"n\", \"ts\": 5, \"args\": {\"x\": tru}}", "bad_event", NULL, false, NULL},
    {HEAD "\"name\": n, \"ts\": 5}", "bad_event", NULL, false, NULL},
    {"{ph\": \"X\", \"name\": \"n\", \"ts\": 5, \"args\": {\"name\": \"x\"}}", "bad_event", NULL, false,
     NULL},
    /* kept, with one value unknown or repaired; the offset is that value's */
    {HEAD "\"name\": \"tab\there\", \"ts\": 5, \"dur\": 1}", "control_character", "\"tab", true, "tab\there"},
    {HEAD "\"name\": \"bell\x07\", \"ts\": 5, \"dur\": 1}", "control_character", "\"bell", true, "bell\x07"},
    {HEAD "\"name\": \"\xff\xfe\", \"ts\": 5, \"dur\": 1}", "invalid_utf8", "\"\xff", true,
     "\xef\xbf\xbd\xef\xbf\xbd"},
    {HEAD "\"name\": \"\\x41\", \"ts\": 5, \"dur\": 1}", "bad_escape", "\"\\x41", true, "\\x41"},
    {HEAD "\"name\": \"n\", \"ts\": 5, \"dur\": 1, \"args\": {\"stream\": 99999999999999999999}}",
     "number_range", "9999", true, "n"},
    {HEAD "\"name\": \"n\", \"ts\": 5, \"dur\": 1, \"args\": {\"stream\": NaN}}", "number_range", "NaN", true,
     "n"},
    {HEAD "\"name\": \"n\", \"ts\": 5, \"dur\": 1, \"args\": {\"stream\": -Infinity}}", "number_range",
     "-Infinity", true, "n"},
    {HEAD "\"name\": \"n\", \"ts\": 5, \"dur\": 1, \"args\": {\"stream\": 1e400}}", "number_range", "1e400",
     true, "n"},
    {HEAD "\"name\": \"n\", \"ts\": NaN, \"dur\": 1}", "bad_time", "NaN", true, "n"},
    {HEAD "\"name\": \"n\", \"ts\": 99999999999999999999, \"dur\": 1}", "bad_time", "9999", true, "n"},
    {HEAD "\"name\": \"n\", \"ts\": \"soon\", \"dur\": 1}", "bad_time", "\"soon", true, "n"},
};

static void build(text *t, const form *f, const char *element, size_t n, size_t place, size_t *at)
{
    text_puts(t, f->begin);
    for (size_t i = 0; i <= 2 * AROUND; i++) {
        if (i) text_puts(t, f->separator);
        if (i == place) {
            *at = t->n;
            text_add(t, element, n);
        } else {
            add_good(t, i);
        }
    }
    text_puts(t, f->end);
}

/* All rows but one are those of the undamaged text. */
static void check_others(const rs_events *e, const rs_events *whole, size_t place)
{
    assert_int_equal(e->n, whole->n);
    assert_true(same_rows(e, 0, whole, 0, place));
    assert_true(same_rows(e, place + 1, whole, place + 1, whole->n - place - 1));
}

static void check_damage(const form *f, const damage *d, size_t n, size_t place, int simd)
{
    text t = {0}, good = {0}, ok = {0};
    size_t at = 0, offset = d->at ? (size_t)(strstr(d->text, d->at) - d->text) : 0;
    add_good(&ok, place);
    build(&t, f, d->text, n, place, &at);
    build(&good, f, ok.s, ok.n, place, &at);
    const rs_load_settings settings = {.columns = RS_ALL_COLUMNS, .simd = simd};
    rs_events *e, *whole = load(good.s, good.n);
    assert_int_equal(load_with(t.s, t.n, &settings, &e, NULL), RS_OK);
    if (e->n != whole->n || problem_total(e) != 1 || !problem_of(e, d->kind) ||
        problem_of(e, d->kind)->offsets[0] != at + offset) {
        for (size_t i = 0; i < e->problems.n; i++)
            print_message("%s x %d at %d\n", e->problems.items[i].kind, (int)e->problems.items[i].count,
                          (int)e->problems.items[i].offsets[0]);
        fail_msg("%s, element %zu (at %zu): %zu rows from %s", f->name, place, at, e->n, d->text);
    }
    assert_false(e->truncated);
    check_others(e, whole, place);
    assert_int_equal(e->n_lost, !d->kept);
    /* bytes that are no UTF-8 lose nothing: PyTorch 2.6 writes such names itself */
    assert_int_equal(problem_of(e, d->kind)->severity,
                     strcmp(d->kind, "invalid_utf8") == 0 ? RS_WARNING : RS_LOSS);
    if (d->kept) assert_string_equal(rs_event_name(e, place), d->name);
    if (d->kept) assert_int_equal(e->phase[place], 'X');
    if (!d->kept) assert_int_equal(e->phase[place], 0);
    if (!d->kept) assert_true(e->bytes_lost >= n && e->bytes_lost < n + 8);
    if (strstr(f->end, "last")) assert_string_equal(text_at(e, e->info.trace_name), "last");
    rs_events_free(e);
    rs_events_free(whole);
    text_clear(&t);
    text_clear(&good);
    text_clear(&ok);
}

TEST(test_every_damage_everywhere)
{
    static const size_t places[] = {0, AROUND, 2 * AROUND};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (size_t d = 0; d < sizeof damages / sizeof *damages; d++)
            for (size_t p = 0; p < 3; p++)
                if (forms[f].begin[0] || damages[d].text[1] == '"') /* else see below */
                    check_damage(&forms[f], &damages[d], strlen(damages[d].text), places[p],
                                 (int)(d % 4) + 1);
}

/* A string without its closing quote takes the beginning of the next event, and a bracket that is not closed takes all of
 * the events after it: they are read all the same. After the last event nothing shows it, and the text seems cut. */
TEST(test_lost_ends)
{
    static const damage cases[] = {
        {HEAD "\"ts\": 5, \"dur\": 1, \"name\": \"n}", "bad_event", NULL, false, NULL},
        {HEAD "\"name\": \"n\", \"ts\": 5, \"args\": {\"name\": \"x}}", "bad_event", NULL, false, NULL},
        {HEAD "\"name\": \"n\", \"ts\": 5, \"args\": {\"y\": [{\"name\": 1}], \"name\": \"x}}", "bad_event",
         NULL, false, NULL},
        {HEAD "\"name\": \"n\", \"ts\": 5, \"args\": {\"x\": [[1], ", "bad_event", NULL, false, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
            for (size_t place = 0; place < 2 * AROUND; place++)
                check_damage(&forms[f], &cases[i], strlen(cases[i].text), place, (int)(place % 4) + 1);
}

/* A line whose first key is broken cannot be told from a document's header: it has no row, the others have.
 */
TEST(test_line_without_a_key)
{
    for (size_t place = 0; place < 8; place++) {
        text t = {0}, good = {0};
        for (size_t i = 0; i < 8; i++) {
            if (i == place) text_puts(&t, "{ph\": \"X\", \"name\": \"n\", \"args\": {\"name\": \"x\"}}");
            if (i != place) add_good(&t, i);
            if (i != place) add_good(&good, i);
            text_puts(&t, "\n");
            text_puts(&good, "\n");
        }
        rs_events *e = load(t.s, t.n), *whole = load(good.s, good.n);
        assert_int_equal(problem_total(e), 1 + (place == 7)); /* behind the last nothing shows what it was */
        assert_int_equal(problem_count(e, "bad_header"), 1);
        assert_int_equal(e->n, 7);
        assert_true(same_rows(e, 0, whole, 0, 7));
        rs_events_free(e);
        rs_events_free(whole);
        text_clear(&t);
        text_clear(&good);
    }
}

TEST(test_nul_bytes)
{
    static const char in_name[] = HEAD "\"name\": \"a\0b\", \"ts\": 5}",
                      outside[] = HEAD "\"name\": \0\"a\", \"ts\": 5}";
    const damage kept = {in_name, "control_character", "\"a", true, "a"},
                 lost = {outside, "bad_event", NULL, false, NULL};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        check_damage(&forms[f], &kept, sizeof in_name - 1, AROUND, 0);
        check_damage(&forms[f], &lost, sizeof outside - 1, AROUND, 0);
    }
}

TEST(test_deep_and_long)
{
    text deep = {0}, lengthy = {0};
    text_puts(&deep, HEAD "\"args\": {\"x\": ");
    for (int i = 0; i < 5000; i++) text_puts(&deep, "[");
    for (int i = 0; i < 5000; i++) text_puts(&deep, "]");
    text_puts(&deep, "}}");
    text_puts(&lengthy, HEAD "\"name\": \"");
    while (lengthy.n < (size_t)17 << 20)
        text_puts(&lengthy, "seventeen mebibytes of a name are more than may be ");
    text_puts(&lengthy, "\"}");
    const damage too_deep = {deep.s, "too_deep", NULL, false, NULL},
                 too_long = {lengthy.s, "long_string", NULL, false, NULL};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        check_damage(&forms[f], &too_deep, deep.n, AROUND, 0);
        check_damage(&forms[f], &too_long, lengthy.n, AROUND, 0);
    }
    text_clear(&deep);
    text_clear(&lengthy);
}

/* ---- between the events ----------------------------------------------------------------------------- */

/* Two arrays of good events with something between them that ought to be a comma; every event stays in its
 * row. */
static void check_between(const char *between, const char *kind, size_t problems)
{
    for (size_t f = 0; f < 3; f++) {
        text t = {0}, good = {0};
        size_t at = 0;
        text_puts(&t, forms[f].begin);
        text_puts(&good, forms[f].begin);
        for (size_t i = 0; i < 2 * AROUND; i++) {
            if (i) text_puts(&good, ",");
            if (i == AROUND) at = t.n;
            if (i) text_puts(&t, i == AROUND ? between : ",");
            add_good(&t, i);
            add_good(&good, i);
        }
        text_puts(&t, forms[f].end);
        text_puts(&good, forms[f].end);
        rs_events *e = load(t.s, t.n), *whole = load(good.s, good.n);
        if (e->n != whole->n || problem_total(e) != problems || (kind && !problem_of(e, kind)))
            fail_msg("%s with %s: %zu rows, %d problems, %s", forms[f].name, between, e->n,
                     (int)problem_total(e), e->problems.n ? e->problems.items[0].kind : "");
        assert_true(same_rows(e, 0, whole, 0, whole->n));
        assert_int_equal(e->n_lost, 0);
        assert_false(e->truncated);
        if (kind) {
            uint64_t offset = problem_of(e, kind)->offsets[0];
            assert_true(offset >= at && offset <= at + strlen(between));
        }
        rs_events_free(e);
        rs_events_free(whole);
        text_clear(&t);
        text_clear(&good);
    }
}

TEST(test_between)
{
    check_between(" ", NULL, 0); /* a missing comma takes nothing with it */
    check_between("x", "stray_text", 1);
    check_between(",x", "stray_text", 1);
    check_between("x,", "stray_text", 1);
    check_between(",{", "stray_text", 1);
    check_between("\x01", "stray_text", 1);
    /* what opens brackets does not take the events behind it */
    check_between(",[", "stray_text", 1);
    check_between(",[[", "stray_text", 1);
    check_between(",{\"a\":[", "stray_text", 1);
    check_between(",{\"a\":[ [", "stray_text", 1);
}

TEST(test_stray_bracket)
{
    for (size_t f = 0; f < 3; f++) {
        text t = {0}, good = {0};
        text_puts(&t, forms[f].begin);
        text_puts(&good, forms[f].begin);
        for (size_t i = 0; i < 2 * AROUND; i++) {
            if (i) text_puts(&good, ",");
            if (i) text_puts(&t, i == AROUND ? "]," : ",");
            add_good(&t, i);
            add_good(&good, i);
        }
        text_puts(&t, forms[f].end);
        text_puts(&good, forms[f].end);
        rs_events *e = load(t.s, t.n), *whole = load(good.s, good.n);
        assert_int_equal(problem_total(e), 1);
        assert_int_equal(e->n, whole->n);
        assert_true(same_rows(e, 0, whole, 0, whole->n));
        assert_int_equal(e->n_lost, 0);
        assert_false(e->truncated);
        rs_events_free(e);
        rs_events_free(whole);
        text_clear(&t);
        text_clear(&good);
    }
}

/* ---- beside the events ------------------------------------------------------------------------------ */

#define ONE "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1}"

TEST(test_beside)
{
    static const struct {
        const char *s, *kind, *at; /* what stands at the reported offset */
        size_t n;
        const char *name; /* traceName that is still found */
    } cases[] = {
        {"{\"x\": oops, \"traceEvents\":[" ONE "]}", "bad_header", "\"x\"", 1, NULL},
        {"{\"x\": {\"y\": [1,}, \"deviceProperties\":[{\"id\":0,\"name\":\"d\"}], \"traceEvents\":[" ONE
         "," ONE "]}",
         "bad_header", "\"x\"", 2, NULL},
        {"{x\": 1, \"traceName\":\"t\", \"traceEvents\":[" ONE "]}", "bad_header", "x\"", 1, "t"},
        {"{\"traceEvents\":[" ONE "], \"x\": nul}", "bad_header", "\"x\"", 1, NULL},
        {"{\"traceEvents\":[" ONE "], \"x\": {\"a\" 1}, \"traceName\":\"t\"}", "bad_header", "\"x\"", 1, "t"},
        {"{\"traceEvents\":[" ONE "], \"x\" 1, \"y\": 2}", "bad_header", "\"x\"", 1, NULL},
        /* the array of events is plain to see */
        {"{\"traceEvenXs\":[" ONE "," ONE "],\"traceName\":\"t\"}", "bad_header", "\"traceEvenXs\"", 2, "t"},
        {"{\"traceName\":\"t\",\"x\": {\"rank\": 1, \"traceEvents\":[" ONE "," ONE "]}", "bad_header",
         "\"x\"", 2, "t"},
        {"{\"traceName\":\"t\",\"x\": [{\"rank\": 1}, \"traceEvents\":[" ONE "]}", "bad_header", "\"x\"", 1,
         "t"},
        {"(\"traceName\":\"t\", \"traceEvents\":[" ONE "]}", "bad_header", "(", 1, NULL},
        {"\"traceName\":\"t\", \"traceEvents\":[" ONE "]}", "bad_header", "\"traceName", 1, "t"},
        {"[\"traceName\":\"t\", \"traceEvents\":[" ONE "]}", "bad_header", "[", 1, "t"},
        {"I 12:00 {3} writing\n {\"traceName\":\"t\", \"traceEvents\":[" ONE "]}", "bad_header", "I 12", 1,
         "t"},
        {"{\"ts\":[" ONE "," ONE "],\"traceName\":\"t\"}", "bad_header", "\"ts\"", 2, "t"},
        {"{\"traceEvents\":" ONE "," ONE "],\"traceName\":\"t\"}", "bad_header", "\"traceEvents", 2, "t"},
        {"{\"tra" ONE "," ONE "],\"traceName\":\"t\"}", "bad_header", "\"tra", 2, "t"},
        {"{\"tra: [" ONE "," ONE "],\"traceName\":\"t\"}", "bad_header", "\"tra", 2, "t"},
        {"{\"distributedInfo\": {\"Events\": [" ONE "," ONE "],\"traceName\":\"t\"}", "bad_header",
         "\"distributedInfo", 2, "t"},
        {"eEvents\":[" ONE "," ONE "],\"traceName\":\"t\"}", "bad_header", "eEvents", 2, "t"},
        {"{\"distriount\": 1, \"pg_config\": [{\"pg_name\": \"0\"}]}, \"x\": 1, \"traceEvents\":[" ONE "," ONE
         "],\"traceName\":\"t\"}",
         "bad_header", ", \"x\"", 2, "t"},
        {"{\"distributed, \"pg_config\": [{\"pg_name\": \"0\"}]}, \"traceEvents\":[" ONE "]}", "bad_header",
         "\"distributed", 1, NULL},
        {"\":[" ONE "," ONE "],\"traceName\":\"t\"}", "bad_header", "\":[", 2, "t"},
        {"{\"traceEvents\":[" ONE "]} garbage", "trailing_text", "garbage", 1, NULL},
        {"[" ONE "] garbage [" ONE "]", "trailing_text", "garbage", 2, NULL},
        {"[" ONE "] garbage\n{\"traceEvents\":[" ONE "]}", "trailing_text", "garbage", 2, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rs_events *e = load_text(cases[i].s);
        const rs_problem *p = problem_of(e, cases[i].kind);
        if (e->n != cases[i].n || problem_total(e) != 1 || !p || e->truncated ||
            p->offsets[0] != (uint64_t)(strstr(cases[i].s, cases[i].at) - cases[i].s))
            fail_msg("%s: %zu events, %d problems, %s at %d", cases[i].s, e->n, (int)problem_total(e),
                     e->problems.n ? e->problems.items[0].kind : "none", p ? (int)p->offsets[0] : -1);
        if (cases[i].name) assert_string_equal(text_at(e, e->info.trace_name), cases[i].name);
        rs_events_free(e);
    }
}

TEST(test_first_bytes)
{
    rs_events *e = load_text("\xef\xbb\xbf[" ONE "]");
    assert_int_equal(e->n, 1);
    assert_int_equal(problem_total(e), 0);
    rs_events_free(e);
    static const char wide[] = "\xff\xfe{\0\"\0";
    const rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(load_with(wide, sizeof wide - 1, &settings, &e, &err), RS_ERR_FORMAT);
    assert_non_null(strstr(err.causes[0].message, "16 bits"));
    static const char plain[] = "\0{\"traceEvents\":[" ONE "]}";
    assert_int_equal(load_with(plain, sizeof plain - 1, &settings, &e, &err), RS_OK);
    assert_int_equal(e->n, 1);
    rs_events_free(e);
    static const char big[] = "\0{\0\"\0t";
    err = (rs_error)RS_ERROR_INIT;
    assert_int_equal(load_with(big, sizeof big - 1, &settings, &e, &err), RS_ERR_FORMAT);
    assert_non_null(strstr(err.causes[0].message, "16 bits"));
}

/* The last event of a document is damaged: the next document is one of its own all the same. */
TEST(test_last_event_of_a_document)
{
    rs_events *e = load_text(
        "{\"distributedInfo\":{\"rank\":1},\"traceEvents\":[" ONE ",{\"ph\":\"X\" \"name\":\"b\"}]}\n"
        "{\"distributedInfo\":{\"rank\":2},\"traceEvents\":[" ONE ",{\"ph\":\"X\",}],\"traceName\":\"t\"}"
        "{\"distributedInfo\":{\"rank\":3},\"traceEvents\":[" ONE "]}");
    assert_int_equal(e->n, 5);
    assert_int_equal(problem_total(e), 2);
    assert_int_equal(e->n_documents, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(e->documents[i].first_row, 2 * i);
        assert_int_equal(e->documents[i].rank, i + 1);
    }
    rs_events_free(e);
}

/* Every damage in a text of several windows, far from its beginning, read by several threads. */
TEST(test_in_large_texts)
{
    for (size_t d = 0; d < sizeof damages / sizeof *damages; d++) {
        text t = {0}, good = {0};
        text_puts(&t, "[");
        for (size_t i = 0; i < 3500; i++) {
            if (i) text_puts(&t, ",");
            if (i % 700 == 650) {
                text_puts(&t, damages[d].text);
            } else {
                add_good(&t, i);
            }
        }
        text_puts(&t, "]");
        rs_events *first = NULL;
        for (unsigned threads = 1; threads < 4; threads++) {
            const rs_load_settings settings = {.columns = RS_ALL_COLUMNS, .threads = threads};
            rs_events *e;
            assert_int_equal(load_file(t.s, t.n, &settings, &e, NULL), RS_OK);
            assert_int_equal(e->n, 3500);
            assert_int_equal(problem_total(e), 5);
            assert_int_equal(problem_count(e, damages[d].kind), 5);
            if (first) assert_true(same_events(first, e));
            if (first)
                rs_events_free(e);
            else
                first = e;
        }
        rs_events_free(first);
        text_clear(&t);
        text_clear(&good);
    }
}

/* ---- damaged packing -------------------------------------------------------------------------------- */

#define MANY 60000

static void add_timed(text *t, size_t i, bool far)
{
    text_printf(
        t,
        "%s{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": %zu.250, "
        "\"dur\": 5, \"args\": {\"correlation\": %zu, \"stream\": 7}}",
        i ? ",\n" : "", (far ? 70000000 : 1000000) + 10 * i, i);
}

/* Two gzip members of stored blocks; one event of the first half really lies far away. In one of the second half a
 * digit is changed, which only the checksum of its member tells. */
static text two_members(bool damaged)
{
    text half = {0}, packed, second;
    text_puts(&half, "{\"traceEvents\": [");
    for (size_t i = 0; i < MANY / 2; i++) add_timed(&half, i, i == 100);
    packed = gzip_pack(half.s, half.n, 0);
    text_clear(&half);
    for (size_t i = MANY / 2; i < MANY; i++) add_timed(&half, i, false);
    text_puts(&half, "]}");
    second = gzip_pack(half.s, half.n, 0);
    text_clear(&half);
    if (damaged) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "\"ts\": %d.250", 1000000 + 10 * (MANY - 500));
        size_t at = 0, n = strlen(wanted);
        while (at + n < second.n && memcmp(second.s + at, wanted, n) != 0) at++;
        assert_true(at + n < second.n);
        second.s[at + 6] = '8';
    }
    text_add(&packed, second.s, second.n);
    text_clear(&second);
    return packed;
}

TEST(test_implausible_times)
{
    for (int damaged = 0; damaged < 2; damaged++) {
        text packed = two_members(damaged);
        for (unsigned threads = 1; threads < 3; threads++) {
            const rs_load_settings settings = {.columns = RS_ALL_COLUMNS, .threads = threads};
            rs_events *e;
            int64_t value;
            assert_int_equal(load_file(packed.s, packed.n, &settings, &e, NULL), RS_OK);
            assert_int_equal(e->n, MANY);
            assert_int_equal(e->n_lost, damaged);
            assert_int_equal(problem_count(e, "packing_checksum"), damaged);
            assert_int_equal(problem_count(e, "packing_implausible"), damaged);
            /* what a checksum proves is kept, however far away it lies */
            assert_int_equal(e->start[100], INT64_C(70001000250));
            for (uint32_t i = 0; i < MANY; i++) {
                bool gone = damaged && i == MANY - 500;
                assert_int_equal(e->phase[i], gone ? 0 : 'X');
                assert_int_equal(rs_events_int(e, RS_COL_CORRELATION, i, &value), !gone);
                if (!gone) assert_int_equal(value, i);
                if (gone) assert_int_equal(e->start[i], RS_NO_TIME);
                if (gone) assert_int_equal(rs_event_kind(e, i), RS_KIND_OTHER);
            }
            rs_events_free(e);
        }
        text_clear(&packed);
    }
}
