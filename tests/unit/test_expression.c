/* Conditions as values: whatever is printed is read back as the same value, for hostile texts too; the canonical text of
 * what people write; what is not a condition. */
#include "support.h"

#include "base/memory.h"
#include "engine/edits.h"
#include "query/expression.h"
#include "query/gate.h"
#include "query/where.h"

/* ---- equality ----------------------------------------------------------------------------------------------- */

static bool same_expr(const rs_expr *a, const rs_expr *b);

static bool same_value(rs_datum type, const rs_datum_value *a, const rs_datum_value *b)
{
    if (type == RS_DATUM_TEXT || type == RS_DATUM_CELL)
        return a->n == b->n && memcmp(a->text, b->text, a->n) == 0 && a->number == b->number &&
               a->percent == b->percent && (!a->number || (a->first == b->first && a->last == b->last));
    return a->span.first == b->span.first && a->span.last == b->span.last;
}

static bool same_term(const rs_language *l, const rs_expr_term *a, const rs_expr_term *b)
{
    if (a->function != b->function) return false;
    if (a->function != RS_NO_FUNCTION) return same_expr(a->inner, b->inner);
    if (a->field != b->field || a->op != b->op || a->n != b->n || !a->pattern != !b->pattern) return false;
    if (!l->fields && strcmp(a->column, b->column) != 0) return false;
    for (size_t i = 0; i < a->n; i++)
        if (!same_value(l->fields ? l->fields[a->field].type : RS_DATUM_CELL, &a->values[i], &b->values[i]))
            return false;
    return true;
}

static bool same_expr(const rs_expr *a, const rs_expr *b)
{
    if (a->n_steps != b->n_steps || a->n_terms != b->n_terms) return false;
    if (memcmp(a->steps, b->steps, a->n_steps) != 0) return false;
    for (size_t i = 0; i < a->n_terms; i++)
        if (!same_term(a->language, &a->terms[i], &b->terms[i])) return false;
    return true;
}

/* ---- hostile values ----------------------------------------------------------------------------------------- */

/* Texts made of what means something to the grammar, to terminals and to shells, and of bytes that are no UTF-8. */
static size_t make_text(rng *r, char *out, size_t room)
{
    static const char *const pieces[] = {",",
                                         ";",
                                         "=",
                                         "<",
                                         ">",
                                         "&",
                                         "~",
                                         "!",
                                         "'",
                                         "\"",
                                         " ",
                                         "\t",
                                         "\n",
                                         "\r",
                                         "\\",
                                         "\\x4",
                                         "\\x41",
                                         "|",
                                         "(",
                                         ")",
                                         "0-3",
                                         "7",
                                         "1e5",
                                         "%",
                                         " and ",
                                         " or ",
                                         "not ",
                                         "in",
                                         "in (",
                                         "aten::mm",
                                         "=0.5",
                                         "; graphs",
                                         "+",
                                         ":",
                                         "*",
                                         "\x80",
                                         "\xff\xfe",
                                         "\xc3",
                                         "\xc3\xa9",
                                         "\xe2\x80\xae",
                                         "\x01",
                                         "\x7f",
                                         "\x1b[2J",
                                         "none",
                                         "x",
                                         "ab",
                                         "_",
                                         ".",
                                         "-",
                                         "#",
                                         "under(",
                                         "name=",
                                         "\xf0\x9f\x9a\x80",
                                         "\xef\xbb\xbf",
                                         "'\\''",
                                         "$(x)",
                                         "`x`",
                                         "&&",
                                         "||",
                                         "=="};
    size_t n = 0, wanted = rng_below(r, 8);
    if (rng_below(r, 400) == 0) { /* 10 000 bytes of one kind */
        size_t i = rng_below(r, sizeof pieces / sizeof *pieces), m = strlen(pieces[i]);
        while (n + m < room && n < 10000) n += (memcpy(out + n, pieces[i], m), m);
        return n;
    }
    for (size_t k = 0; k < wanted; k++) {
        size_t i = rng_below(r, sizeof pieces / sizeof *pieces + 2), m;
        const char byte = (char)rng_below(r, 256); /* NUL among them */
        const char *piece = i < sizeof pieces / sizeof *pieces ? pieces[i] : &byte;
        m = piece == &byte ? 1 : strlen(piece);
        if (n + m > room) break;
        memcpy(out + n, piece, m);
        n += m;
    }
    return n;
}

static int64_t make_number(rng *r)
{
    static const int64_t chosen[] = {0, 1, -1, INT64_MAX, INT64_MIN + 1, 4503599627370497, -9007199254740993};
    size_t k = rng_below(r, 20);
    if (k < sizeof chosen / sizeof *chosen) return chosen[k];
    return (int64_t)(rng_next(r) >> rng_below(r, 64)) * (k & 1 ? 1 : -1);
}

static void push_cell(rng *r, rs_expr *e, rs_where_op op)
{
    static const char *const numbers[] = {"5", "-1.5e3", "50%", "5 %", ".5", "1e-300"};
    static const char *const ranges[] = {"1-2", "0.5-0.6", "-5--3", "10-20 %"};
    char said[512];
    rs_expr_term *t = rs_expr_add_term(e);
    e->steps[e->n_steps++] = (uint8_t)(e->n_terms - 1);
    do {
        size_t n = make_text(r, said, 40);
        t->column = rs_expr_keep(e, said, n);
    } while (!*t->column);
    t->op = op;
    for (size_t k = 0; k < (op == RS_OP_IN ? 1 + rng_below(r, 3) : 1); k++) {
        rs_datum_value *v = rs_expr_add_value(e, t);
        size_t n = make_text(r, said, sizeof said);
        rs_scanned number = {0};
        bool list = op == RS_OP_IN && rng_below(r, 2);
        v->number = rs_op_orders(op) || rng_below(r, 2);
        const char *from = list ? ranges[rng_below(r, 4)] : numbers[rng_below(r, 6)];
        if (v->number) {
            n = strlen(from);
            assert_true(rs_scan_number(from, n, list, &number));
        }
        v->text = rs_expr_keep(e, v->number ? from : said, n);
        v->n = n;
        v->first = v->number ? number.first : 0;
        v->last = v->number ? number.last : 0;
        v->percent = v->number && number.percent;
    }
}

static void push_term(rng *r, rs_expr *e, unsigned depth);

static rs_expr *make_expr(rng *r, const rs_language *l, unsigned depth)
{
    rs_expr *e = rs_expr_create(l);
    size_t n = 1 + (rng_below(r, 4) ? rng_below(r, 4) : rng_below(r, 12)), waiting = 0;
    for (size_t i = 0; i < n; i++) {
        push_term(r, e, depth);
        waiting++;
        for (;;) {
            size_t k = rng_below(r, 5);
            if (k == 0) rs_expr_join(e, RS_EXPR_NOT);
            if (k >= 3 || waiting < 2) break;
            rs_expr_join(e, k == 1 ? RS_EXPR_OR : RS_EXPR_AND);
            waiting--;
        }
    }
    while (waiting-- > 1) rs_expr_join(e, rng_below(r, 2) ? RS_EXPR_OR : RS_EXPR_AND);
    return e;
}

static void push_term(rng *r, rs_expr *e, unsigned depth)
{
    static char said[16384];
    const rs_language *l = e->language;
    rs_where_op op = (rs_where_op)rng_below(r, RS_OP_IN + 1);
    size_t field = l->fields ? rng_below(r, l->n_fields) : 0, n;
    if (op == RS_OP_MATCHES) op = RS_OP_HAS; /* most texts are no regular expression */
    if (!l->fields) {
        push_cell(r, e, op);
        return;
    }
    if (l->functions && depth && rng_below(r, 4) == 0) {
        rs_expr_term *t = rs_expr_add_term(e);
        t->function = rng_below(r, 3);
        e->steps[e->n_steps++] = (uint8_t)(e->n_terms - 1);
        t->inner = make_expr(r, l, depth - 1);
        for (size_t i = 0; i < t->inner->n_terms; i++) /* ts is not allowed there */
            if (t->inner->terms[i].function == RS_NO_FUNCTION && l->fields[t->inner->terms[i].field].outside)
                t->inner->terms[i].field++;
        return;
    }
    rs_span given[4];
    size_t n_spans = rs_op_orders(op) ? 1 : 1 + rng_below(r, 4);
    switch (l->fields[field].type) {
    case RS_DATUM_TEXT:
        if (rs_op_orders(op)) op = RS_OP_EQ;
        n = make_text(r, said, sizeof said);
        rs_expr_push_text(e, field, op, said, n);
        return;
    case RS_DATUM_WORD:
        for (n = 0; l->fields[field].words[n];) n++;
        rs_expr_push_word(e, field, rng_below(r, n));
        return;
    default:
        if (rs_op_searches(op)) op = RS_OP_NE;
        for (size_t i = 0; i < n_spans; i++) {
            given[i].first = make_number(r);
            given[i].last = rs_op_orders(op) || rng_below(r, 2) ? given[i].first : make_number(r);
        }
        rs_expr_push_spans(e, field, op, given, n_spans);
    }
}

static void check_round(const rs_expr *made)
{
    rs_text said = {0}, again = {0};
    rs_expr *read;
    rs_error err = RS_ERROR_INIT;
    assert_false(made->failed);
    rs_expr_print(made, &said);
    if (rs_expr_parse(rs_text_get(&said), made->language, &read, &err) != RS_OK)
        fail_msg("%s: %s", rs_text_get(&said), err.causes[0].message);
    rs_expr_print(read, &again);
    if (!same_expr(made, read)) fail_msg("%s is read as %s", rs_text_get(&said), rs_text_get(&again));
    assert_string_equal(rs_text_get(&said), rs_text_get(&again));
    rs_expr_free(read);
    rs_text_clear(&said);
    rs_text_clear(&again);
}

TEST(test_conditions_come_back)
{
    const rs_language *const languages[] = {&rs_where_language, &rs_gate_language};
    for (size_t k = 0; k < 2; k++) {
        rng r = {20 + k};
        for (int round = 0; round < ROUNDS(15000); round++) {
            rs_expr *made = make_expr(&r, languages[k], 2);
            check_round(made);
            rs_expr_free(made);
        }
    }
}

/* ---- edits -------------------------------------------------------------------------------------------------- */

static bool same_name(const rs_edit_name *a, const rs_edit_name *b)
{
    return !a->text == !b->text && a->n == b->n && a->whole == b->whole &&
           (!a->text || memcmp(a->text, b->text, a->n) == 0);
}

static bool same_edit(const rs_edit *a, const rs_edit *b)
{
    return a->kind == b->kind && !a->selector == !b->selector && a->scaling == b->scaling &&
           a->factor == b->factor && a->ns == b->ns && a->number == b->number &&
           a->axis_size == b->axis_size && a->axis_stride == b->axis_stride && a->axis_of == b->axis_of &&
           same_name(&a->name, &b->name) && same_name(&a->other, &b->other) &&
           (!a->selector || same_expr(a->selector, b->selector));
}

/* A condition in which class, part and us are where they may be. */
static rs_expr *make_selector(rng *r, rs_expr *s)
{
    rs_expr *made = make_expr(r, &rs_select_language, 0);
    uint64_t required = rs_expr_required(made);
    for (size_t i = 0; i < made->n_terms; i++) {
        rs_expr_term *t = &made->terms[i];
        bool fixed = t->field == RS_SELECT_CLASS || t->field == RS_SELECT_PART || t->field == RS_SELECT_US;
        if (fixed && !(required >> i & 1))
            t->field = t->field == RS_SELECT_US ? RS_SELECT_STEP : RS_SELECT_RANK;
    }
    rs_expr_free(s);
    return made;
}

static void add_edit(rng *r, rs_what_if *q)
{
    static char said[16384];
    rs_edit_kind kind = (rs_edit_kind)(rng_below(r, 3) ? RS_EDIT_SCALE : rng_below(r, RS_N_EDITS));
    size_t n = make_text(r, said, sizeof said);
    bool whole = rng_below(r, 2);
    rs_edit *e;
    switch (kind) {
    case RS_EDIT_SCALE:
        if (rng_below(r, 2))
            rs_what_if_scale_by(q, rng_below(r, 2) ? (double)rng_below(r, 100000) / 10000 : 1.0 / 3);
        else
            rs_what_if_scale_to(q, (int64_t)(rng_next(r) % 1000000000000000) >> rng_below(r, 50));
        e = &q->edits[q->n - 1];
        if (rng_below(r, 8) == 0)
            *e =
                (rs_edit){.kind = e->kind, .selector = e->selector, .scaling = RS_SCALE_MEDIAN, .number = -1};
        e->selector = make_selector(r, e->selector);
        break;
    case RS_EDIT_NO_STRAGGLERS:
        e = rs_what_if_add(q, kind);
        if (whole) e->number = (int64_t)(rng_next(r) >> 1 >> rng_below(r, 60));
        break;
    case RS_EDIT_NETWORK:
        e = rs_what_if_add(q, kind);
        e->factor = (double)(1 + rng_below(r, 1000)) / 7;
        break;
    case RS_EDIT_MICRO_BATCHES:
        e = rs_what_if_add(q, kind);
        e->number = 2 + (int64_t)rng_below(r, 999);
        break;
    case RS_EDIT_OVERLAP:
        if (rng_below(r, 4))
            rs_what_if_add_name(q, kind, said, n, whole);
        else
            rs_what_if_add(q, kind);
        break;
    case RS_EDIT_NO_SYNC:
    case RS_EDIT_FUSE:
    case RS_EDIT_COALESCE:
    case RS_EDIT_GROUP_SIZE:
    case RS_EDIT_PAYLOAD:
    case RS_EDIT_SHARD:
    case RS_EDIT_EXPERTS:
        said[n] = 'k'; /* a name is not empty */
        e = kind >= RS_EDIT_GROUP_SIZE && rng_below(r, 2)
                ? rs_what_if_add_axis(q, kind, 2 + (int64_t)rng_below(r, 100),
                                      1 + (int64_t)rng_below(r, 1000))
                : rs_what_if_add_name(q, kind, said, n + 1, whole);
        n = make_text(r, said, sizeof said - 1);
        said[n] = '.';
        if (kind == RS_EDIT_FUSE) assert_true(rs_edit_set_name(&e->other, said, n + 1, rng_below(r, 2)));
        if (kind == RS_EDIT_COALESCE) e->number = (int64_t)rng_below(r, 1u << 30);
        if (e->axis_size) e->axis_of = (uint8_t)rng_below(r, RS_N_AXIS_OF);
        if (kind == RS_EDIT_GROUP_SIZE || kind == RS_EDIT_SHARD || kind == RS_EDIT_EXPERTS)
            e->number = 1 + (int64_t)rng_below(r, 1000);
        if (kind == RS_EDIT_PAYLOAD) e->factor = (double)(1 + rng_below(r, 1000)) / 7;
        break;
    default: rs_what_if_add(q, kind);
    }
}

TEST(test_edits_come_back)
{
    rng r = {77};
    for (int round = 0; round < ROUNDS(20000); round++) {
        rs_what_if made = {0}, read, alone;
        rs_text said = {0}, list = {0};
        rs_error err = RS_ERROR_INIT;
        for (size_t i = 0; i <= rng_below(&r, 3); i++) add_edit(&r, &made);
        assert_int_equal(rs_what_if_check(&made, &err), RS_OK);
        rs_what_if_print(&made, &said);
        if (rs_what_if_parse(rs_text_get(&said), &read, &err) != RS_OK)
            fail_msg("%s: %s", rs_text_get(&said), err.causes[0].message);
        assert_int_equal(made.n, read.n);
        for (size_t i = 0; i < made.n; i++)
            if (!same_edit(&made.edits[i], &read.edits[i]))
                fail_msg("%s is read otherwise", rs_text_get(&said));
        /* as one of a list, where commas part questions */
        rs_text_printf(&list, "%s,%s", rs_text_get(&said), "graphs");
        const char *at = list.s;
        size_t n;
        assert_int_equal(rs_what_if_parse_next(&at, false, &alone, &n, &err), RS_OK);
        assert_int_equal(n, said.n);
        assert_string_equal(at, "graphs");
        rs_what_if_clear(&alone);
        if (made.edits[0].kind == RS_EDIT_SCALE) {
            rs_text scale = {0};
            rs_edit_print_scale(&made.edits[0], &scale);
            at = scale.s;
            assert_int_equal(rs_what_if_parse_next(&at, true, &alone, &n, &err), RS_OK);
            assert_true(same_edit(&made.edits[0], &alone.edits[0]) && !*at);
            rs_what_if_clear(&alone);
            rs_text_clear(&scale);
        }
        rs_what_if_clear(&read);
        rs_what_if_clear(&made);
        rs_text_clear(&said);
        rs_text_clear(&list);
    }
}

/* ---- what people write -------------------------------------------------------------------------------------- */

TEST(test_canonical)
{
    static const struct {
        const rs_language *language;
        const char *text, *canonical;
    } cases[] = {
        {&rs_where_language, "cat = kernel , name~gemm and dur>=0.1ms",
         "cat=kernel and name~gemm and dur>=100"},
        {&rs_where_language, "stream not in ( 7 , 20-23 )", "stream not in (7, 20-23)"},
        {&rs_where_language, "not stream in (7)", "stream not in (7)"},
        {&rs_where_language, "!(cat=a or cat=b) && not not pid=1", "not (cat=a or cat=b) and pid=1"},
        {&rs_where_language, "cat=a or cat=b and cat=c", "cat=a or cat=b and cat=c"},
        {&rs_where_language, "(cat=a or cat=b) and cat=c", "(cat=a or cat=b) and cat=c"},
        {&rs_where_language, "cat=a and (cat=b and cat=c)", "cat=a and (cat=b and cat=c)"},
        {&rs_where_language, "(cat=a and cat=b) and cat=c", "cat=a and cat=b and cat=c"},
        {&rs_where_language, "under(aten::mm)", "under(name=aten::mm)"},
        {&rs_where_language, "name=''", "name=\"\""},
        {&rs_where_language, "name='it\\'s'", "name=\"it's\""},
        {&rs_where_language, "name=\"a\\x0ab\xff\"", "name=\"a\\x0ab\\xff\""},
        {&rs_where_language, "name=~'^a.*b$'", "name=~\"^a.*b$\""},
        {&rs_where_language, "name=and", "name=\"and\""},
        {&rs_where_language, "ts<2000000000000ms", "ts<2000000000000000000ns"},
        {&rs_gate_language, "busy_time(us) > 5 , 'a,b' = x y", "\"busy_time(us)\">5 and \"a,b\"=\"x y\""},
        {&rs_gate_language, "a = '5' or a = 5", "a=\"5\" or a=5"},
        {&rs_gate_language, "share in (10%, 5-7) and not in (in)", NULL},
        {&rs_select_language, "class=computation & rank = 0-3|8 & name ~ void f(a, b)",
         "class=computation&rank=0-3|8&name~\"void f(a, b)\""},
        {&rs_select_language, "step in (3, 5-7) or rank != 2", "step in (3, 5-7) or rank!=2"},
        {&rs_select_language, "us>1.5ms", "us>1500"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rs_expr *e;
        rs_text said = {0};
        rs_status status = rs_expr_parse(cases[i].text, cases[i].language, &e, NULL);
        assert_int_equal(status, cases[i].canonical ? RS_OK : RS_ERR_USAGE);
        if (!cases[i].canonical) continue;
        rs_expr_print(e, &said);
        assert_string_equal(rs_text_get(&said), cases[i].canonical);
        rs_text_clear(&said);
        rs_expr_free(e);
    }
}

/* What documents, recorded answers and tests of the command line write keeps its meaning. */
TEST(test_questions)
{
    static const struct {
        const char *text, *canonical; /* NULL: refused */
    } cases[] = {
        {"network*2; no-loader", "network*2; no-loader"},
        {"scale class=computation&rank=1=0.7124; overlap:DATA; scale part=host&behind=cudaStreamSynchronize=none",
         "scale class=computation&rank=1=0.7124; overlap:DATA; scale part=host&behind=cudaStreamSynchronize=none"},
        {"scale name~a=b=0.5", "scale name~\"a=b\"=0.5"},
        {"scale name~a=b and rank=5=12us", "scale name~\"a=b\"&rank=5=12us"},
        {"scale rank=5=0us", "scale rank=5=none"},
        {"scale rank=5=1ms ; ; graphs ;", "scale rank=5=1000us; graphs"},
        {"scale (rank=5 or rank=7)=0.5", "scale rank=5 or rank=7=0.5"},
        {"scale part=host&rank=3=median", "scale part=host&rank=3=median"},
        {"no-stragglers:3", "no-stragglers:3"},
        {"no-stragglers 3", "no-stragglers:3"},
        {"overlap", "overlap"},
        {"no-sync  cudaStreamSynchronize", "no-sync cudaStreamSynchronize"},
        {"no-sync =\"a, b; c\"", "no-sync =\"a, b; c\""},
        {"fuse a b + c d", "fuse \"a b\"+\"c d\""},
        {"fuse a+b+c", "fuse \"a+b\"+c"},
        {"fuse a+=\"b+c\"", "fuse a+=\"b+c\""},
        {"coalesce x:y:100", "coalesce x:y:100"},
        {"coalesce \"x, y\":100", "coalesce \"x, y\":100"},
        {"balanced", "balanced"},
        {"stragglers", NULL},
        {"balanced 3", NULL},
        {"scale", NULL},
        {"scale =0.5", NULL},
        {"scale name~gemm", NULL},
        {"scale name~gemm=fast", NULL},
        {"scale name~gemm=-1", NULL},
        {"scale name~gemm=", NULL},
        {"scale rank=5 or class=memory=0.5", NULL},
        {"scale not us>5=0.5", NULL},
        {"scale name<5=0.5", NULL},
        {"scale class=work=0.5", NULL},
        {"scale class~mem=0.5", NULL},
        {"scale group=\"x=0.5", NULL},
        {"network", NULL},
        {"network:2", NULL},
        {"network*0", NULL},
        {"no-sync", NULL},
        {"fuse a", NULL},
        {"fuse +b", NULL},
        {"coalesce a", NULL},
        {"coalesce a:b", NULL},
        {"group-size dp", NULL},
        {"group-size dp:0", NULL},
        {"group-size dp:1", "group-size dp:1"},
        {"group-size @2x4:8", "group-size @2x4:8"},
        {"group-size \"@2x4\":8", "group-size \"@2x4\":8"},
        {"group-size @2:8", "group-size \"@2\":8"},
        {"shard TENSOR:4", "shard TENSOR:4"},
        {"shard @2x1 : 4", "shard @2x1:4"},
        {"experts @8x1/all_to_all:4", "experts @8x1/all_to_all:4"},
        {"experts MOE:4", "experts MOE:4"},
        {"experts MOE:0", NULL},
        {"payload @8x1/others*0.5", "payload @8x1/others*0.5"},
        {"group-size @8x1/other:4", NULL},
        {"shard @2x1", NULL},
        {"payload DATA*0.5", "payload DATA*0.5"},
        {"payload a*b*2", "payload \"a*b\"*2"},
        {"payload @8x4*0.25", "payload @8x4*0.25"},
        {"payload DATA*0", NULL},
        {"payload DATA:2", NULL},
        {"micro-batches*2", "micro-batches*2"},
        {"micro-batches*1", NULL},
        {"micro-batches", NULL},
        {"group-size dp:1000001", NULL},
        {"group-size DATA:16", "group-size DATA:16"},
        {"graphs, balanced", NULL}, /* two questions */
        {"overlap:\"a\" b", NULL},
        {"", NULL},
        {" ; ", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rs_what_if q;
        rs_text said = {0};
        rs_error err = RS_ERROR_INIT;
        rs_status status = rs_what_if_parse(cases[i].text, &q, &err);
        if (status != (cases[i].canonical ? RS_OK : RS_ERR_USAGE))
            fail_msg("%s: %s", cases[i].text, status == RS_OK ? "not refused" : err.causes[0].message);
        if (cases[i].canonical) {
            rs_what_if_print(&q, &said);
            assert_string_equal(rs_text_get(&said), cases[i].canonical);
        }
        rs_text_clear(&said);
        rs_what_if_clear(&q);
    }
}

TEST(test_of_steps)
{
    static const struct {
        const char *text;
        bool of_steps;
    } cases[] = {{"scale step=3=0.5", true},
                 {"scale rank=1&step=3=0.5", true},
                 {"scale step in (3, 4)=0.5", true},
                 {"scale step>3=0.5", false},
                 {"scale not step=3=0.5", false},
                 {"scale step=3 or rank=1=0.5", false},
                 {"graphs", false},
                 {"scale step=3=0.5; graphs", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rs_what_if q;
        assert_int_equal(rs_what_if_parse(cases[i].text, &q, NULL), RS_OK);
        assert_int_equal(rs_what_if_is_of_steps(&q), cases[i].of_steps);
        rs_what_if_clear(&q);
    }
}

/* As many terms as there may be, joined so that each needs brackets; and one more. */
TEST(test_limits)
{
    rs_expr *e = rs_expr_create(&rs_select_language);
    for (int i = 0; i < RS_EXPR_TERMS; i++) {
        rs_expr_push_text(e, RS_SELECT_NAME, RS_OP_EQ, "a", 1);
        rs_expr_join(e, RS_EXPR_NOT);
    }
    for (int i = 1; i < RS_EXPR_TERMS; i++) {
        rs_expr_join(e, i % 2 ? RS_EXPR_AND : RS_EXPR_OR);
        rs_expr_join(e, RS_EXPR_NOT);
    }
    check_round(e);
    assert_false(rs_expr_required(e));
    rs_expr_push_text(e, RS_SELECT_NAME, RS_OP_EQ, "a", 1);
    assert_true(e->failed);
    rs_expr_free(e);
}

TEST(test_every_allocation_may_fail)
{
    static const char said[] =
        "scale (group=\"a;b\" or rank in (1, 2)) and not name=~\"x\"=0.5; fuse \"a b\"+c";
    for (uint64_t n = 1;; n++) {
        rs_what_if q;
        rs_text printed = {0};
        rs_test_fail_allocation(n);
        rs_status status = rs_what_if_parse(said, &q, NULL);
        if (status == RS_OK) rs_what_if_print(&q, &printed);
        uint64_t made = rs_test_fail_allocation(0);
        assert_true(status == RS_ERR_NOMEM || (status == RS_OK && made < n) || printed.failed);
        rs_text_clear(&printed);
        rs_what_if_clear(&q);
        if (made < n) break;
        assert_true(n < 60);
    }
}
