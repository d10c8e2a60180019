/* TraceLens' comparison of reports, and the sheets that it reads. Expected values are counted by hand. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "input/sheets.h"
#include "output/xlsx.h"
#include "rankscope/tracelens_compare.h"
#include "unit.h"

/* ---- sheets that are read ------------------------------------------------------------------------------ */

typedef struct reading {
    rs_strings texts;
    rs_book book;
    rs_error err;
} reading;

static void begin(reading *r)
{
    *r = (reading){.err = RS_ERROR_INIT};
    assert_true(rs_strings_init(&r->texts));
}
static void end(reading *r)
{
    rs_book_clear(&r->book);
    rs_strings_clear(&r->texts);
}

static rs_status read_csv(reading *r, const char *text)
{
    begin(r);
    return rs_csv_read(text, strlen(text), "a.csv", "a", 1, &r->texts, &r->book, &r->err);
}

static void is_text(const reading *r, const rs_grid *g, size_t row, size_t column, const char *text)
{
    const rs_grid_cell *c = &g->cells[row * g->n_columns + column];
    assert_int_equal(c->kind, RS_GRID_TEXT);
    assert_string_equal(r->texts.items[c->text].text, text);
}
static void is_number(const rs_grid *g, size_t row, size_t column, double number)
{
    const rs_grid_cell *c = &g->cells[row * g->n_columns + column];
    assert_int_equal(c->kind, RS_GRID_NUMBER);
    assert_true(c->number == number);
}
static void is_empty(const rs_grid *g, size_t row, size_t column)
{
    assert_int_equal(g->cells[row * g->n_columns + column].kind, RS_GRID_EMPTY);
}

TEST(csv_as_pandas_writes_it)
{
    reading r;
    assert_int_equal(
        read_csv(
            &r,
            "\xEF\xBB\xBFname,time,\"a,b\"\r\n\"say \"\"hi\"\",\n(x)\",-1.5e3,\r\nz,\"7\",\"((1,),)\"\nshort\n"),
        RS_OK);
    const rs_grid *g = rs_book_find(&r.book, &r.texts, "a");
    assert_non_null(g);
    assert_int_equal(g->n_columns, 3);
    assert_int_equal(g->n_rows, 3);
    assert_string_equal(r.texts.items[g->columns[0]].text, "name");
    assert_string_equal(r.texts.items[g->columns[2]].text, "a,b");
    is_text(&r, g, 0, 0, "say \"hi\",\n(x)");
    is_number(g, 0, 1, -1500);
    is_empty(g, 0, 2);
    is_number(g, 1, 1, 7);
    is_text(&r, g, 2, 0, "short");
    is_empty(g, 2, 2);
    end(&r);
    assert_int_equal(read_csv(&r, "a,b\n1,2,3\n"), RS_ERR_FORMAT);
    end(&r);
    assert_int_equal(read_csv(&r, "a,b\n\"1,2\n"), RS_ERR_FORMAT);
    end(&r);
    assert_int_equal(read_csv(&r, ""), RS_OK);
    assert_int_equal(r.book.grids[0].n_columns, 0);
    end(&r);
}

typedef struct bytes {
    uint8_t *data;
    size_t n, capacity;
} bytes;

static bool keep(void *context, const char *text, size_t n)
{
    bytes *b = context;
    if (!rs_grow((void **)&b->data, &b->capacity, b->n + n, 1)) return false;
    memcpy(b->data + b->n, text, n);
    b->n += n;
    return true;
}

static const rs_column_spec two_columns[] = {{"name", RS_TEXT, RS_UNIT_NONE, "", NULL},
                                             {"total_direct_kernel_time_ms", RS_REAL, RS_UNIT_NONE, "", NULL},
                                             {"Count", RS_INT, RS_UNIT_NONE, "", NULL}};
static const rs_table_spec summary = {"ops_summary", "", two_columns, 3};

typedef struct op {
    const char *name;
    double ms;
    int64_t count;
} op;

static rs_table *table_of(const op *ops, size_t n)
{
    rs_table *t = rs_table_create(&summary);
    rs_error err = RS_ERROR_INIT;
    for (size_t i = 0; t && i < n; i++) {
        rs_table_add_text(t, ops[i].name);
        rs_table_add_real(t, ops[i].ms);
        rs_table_add_int(t, ops[i].count);
        if (rs_table_end_row(t, &err) != RS_OK) {
            rs_table_free(t);
            return NULL;
        }
    }
    return t;
}

static const op few[] = {{"aten::mm", 1.25, 3}, {"a <b> & \"c\"", 0.1, 1}, {"aten::unknown", NAN, 2}};

static bytes workbook_of(const op *ops, size_t n)
{
    bytes b = {0};
    rs_error err = RS_ERROR_INIT;
    rs_table *t = table_of(ops, n);
    const rs_sheet sheet = {.name = "ops_summary", .table = t};
    const rs_sink sink = {keep, &b};
    assert_non_null(t);
    assert_int_equal(rs_xlsx_write(&sheet, 1, &sink, &err), RS_OK);
    rs_table_free(t);
    return b;
}

static bool can_read(void)
{
    reading r;
    begin(&r);
    rs_status status = rs_workbook_read("", 0, "a.xlsx", &r.texts, &r.book, &r.err);
    end(&r);
    return status != RS_ERR_USAGE && rs_xlsx_available();
}

TEST(workbook_as_it_was_written)
{
    if (!can_read()) skip();
    bytes b = workbook_of(few, 3);
    reading r;
    begin(&r);
    assert_int_equal(rs_workbook_read(b.data, b.n, "a.xlsx", &r.texts, &r.book, &r.err), RS_OK);
    const rs_grid *g = rs_book_find(&r.book, &r.texts, "ops_summary");
    assert_non_null(g);
    assert_int_equal(g->n_rows, 3);
    is_text(&r, g, 0, 0, "aten::mm");
    is_number(g, 0, 1, 1.25);
    is_number(g, 0, 2, 3);
    is_text(&r, g, 1, 0, "a <b> & \"c\"");
    is_empty(g, 2, 1);
    end(&r);
    /* every beginning of it, and every byte of it changed: an error or sheets, never anything else */
    for (size_t n = 0; n < b.n; n += 7) {
        begin(&r);
        assert_int_not_equal(rs_workbook_read(b.data, n, "a.xlsx", &r.texts, &r.book, &r.err), RS_OK);
        end(&r);
    }
    for (size_t i = 0; i < b.n; i += 3) {
        b.data[i] ^= 0x55;
        begin(&r);
        rs_status status = rs_workbook_read(b.data, b.n, "a.xlsx", &r.texts, &r.book, &r.err);
        assert_true(status == RS_OK || status == RS_ERR_FORMAT || status == RS_ERR_LIMIT);
        end(&r);
        b.data[i] ^= 0x55;
    }
    rs_free(b.data);
}

/* ---- comparing ------------------------------------------------------------------------------------------- */

static const rs_table *sheet_of(const rs_tracelens_comparison *c, const char *name)
{
    size_t n;
    const rs_table *const *sheets = rs_tracelens_comparison_sheets(c, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(rs_table_get_spec(sheets[i])->name, name) == 0) return sheets[i];
    return NULL;
}

static size_t column(const rs_table *t, const char *name)
{
    const rs_table_spec *spec = rs_table_get_spec(t);
    for (size_t i = 0; i < spec->n_columns; i++)
        if (strcmp(spec->columns[i].name, name) == 0) return i;
    fail_msg("no column %s", name);
    return 0;
}

static double number(const rs_table *t, size_t row, const char *name)
{
    return rs_table_is_null(t, row, column(t, name)) ? (double)NAN : rs_table_real(t, row, column(t, name));
}

static void is_name(const rs_table *t, size_t row, const char *name)
{
    size_t n;
    assert_string_equal(rs_table_text(t, row, 0, &n), name);
}

static const op base_ops[] = {{"mm", 4, 2}, {"add", 5, 1}, {"add", 1, 1}, {"gone", 3, 1}, {"zero", 0, 1}};
static const op other_ops[] = {{"new", 7, 1}, {"add", 2, 3},  {"mm", 5, 2},
                               {"add", 8, 1}, {"zero", 1, 1}, {"add", 9, 1}};

TEST(rows_stand_once)
{
    rs_table *a = table_of(base_ops, 5), *b = table_of(other_ops, 6);
    const rs_table *left[] = {a}, *right[] = {b};
    const rs_tracelens_input inputs[] = {{"A", NULL, left, 1}, {"B", NULL, right, 1}};
    rs_tracelens_comparison *c = NULL;
    rs_result told = {0};
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_tracelens_compare(inputs, 2, NULL, &c, &told, &err), RS_OK);
    const rs_table *t = sheet_of(c, "ops_summary");
    assert_non_null(t);
    /* by the base's time, falling; what it does not have comes last, by name: mm and two adds and gone and zero are the
     * base's, a third add and new the other's */
    const char *const names[] = {"add", "mm", "gone", "add", "zero", "add", "new"};
    assert_int_equal(rs_table_n_rows(t), 7);
    for (size_t i = 0; i < 7; i++) is_name(t, i, names[i]);
    double sum_a = 0, sum_b = 0;
    for (size_t i = 0; i < 7; i++) {
        double x = number(t, i, "A::total_direct_kernel_time_ms"),
               y = number(t, i, "B::total_direct_kernel_time_ms");
        if (!isnan(x)) sum_a += x;
        if (!isnan(y)) sum_b += y;
    }
    assert_true(sum_a == 13 && sum_b == 32);
    /* first add with first add: 5 -> 2; mm 4 -> 5 */
    assert_true(number(t, 0, "total_direct_kernel_time_ms__B_diff") == -3);
    assert_true(number(t, 0, "total_direct_kernel_time_ms__B_pct") == -60);
    assert_true(number(t, 0, "Count__B_diff") == 2 && number(t, 0, "Count__B_pct") == 200);
    assert_true(number(t, 1, "total_direct_kernel_time_ms__B_pct") == 25);
    assert_true(number(t, 3, "total_direct_kernel_time_ms__B_diff") == 7); /* the second: 1 -> 8 */
    assert_true(isnan(number(t, 2, "total_direct_kernel_time_ms__B_diff")));
    assert_true(number(t, 4, "total_direct_kernel_time_ms__B_diff") == 1);
    assert_true(isnan(number(t, 4, "total_direct_kernel_time_ms__B_pct"))); /* of nothing */
    /* names, differences, then A's and B's own */
    assert_string_equal(rs_table_get_spec(t)->columns[1].name, "total_direct_kernel_time_ms__B_diff");
    assert_string_equal(rs_table_get_spec(t)->columns[5].name, "A::total_direct_kernel_time_ms");
    rs_tracelens_comparison_free(c);
    const rs_tracelens_input same[] = {inputs[0], inputs[0]};
    assert_int_equal(rs_tracelens_compare(same, 2, NULL, &c, &told, &err), RS_ERR_USAGE);
    assert_int_equal(rs_tracelens_compare(inputs, 1, NULL, &c, &told, &err), RS_ERR_USAGE);
    assert_int_equal(rs_tracelens_compare(inputs, 2, "ops_summary,all,ops", &c, &told, &err), RS_ERR_USAGE);
    assert_int_equal(rs_tracelens_compare(inputs, 2, "roofline", &c, &told, &err), RS_ERR_USAGE);
    rs_result_clear(&told);
    rs_table_free(a);
    rs_table_free(b);
}

#define GEMM_COLUMN(name, type)                                                                              \
    {                                                                                                        \
        name, type, RS_UNIT_NONE, "", NULL                                                                   \
    }
static const rs_column_spec gemm_columns[] = {GEMM_COLUMN("name", RS_TEXT),
                                              GEMM_COLUMN("param: M", RS_INT),
                                              GEMM_COLUMN("GFLOPS_first", RS_REAL),
                                              GEMM_COLUMN("TB/s_median", RS_REAL),
                                              GEMM_COLUMN("Kernel Time (µs)_mean", RS_REAL),
                                              GEMM_COLUMN("Kernel Time (µs)_sum", RS_REAL),
                                              GEMM_COLUMN("name_count", RS_INT)};
static const rs_table_spec gemm_spec = {"GEMM", "", gemm_columns, 7};

typedef struct gemm {
    int64_t m;
    double us;
} gemm;

static rs_table *gemms_of(const gemm *items, size_t n)
{
    rs_table *t = rs_table_create(&gemm_spec);
    rs_error err = RS_ERROR_INIT;
    for (size_t i = 0; i < n; i++) {
        rs_table_add_text(t, "aten::mm");
        rs_table_add_int(t, items[i].m);
        rs_table_add_real(t, 1);
        rs_table_add_real(t, 2);
        rs_table_add_real(t, items[i].us);
        rs_table_add_real(t, items[i].us);
        rs_table_add_int(t, 1);
        assert_int_equal(rs_table_end_row(t, &err), RS_OK);
    }
    return t;
}

static bool has_column(const rs_table *t, const char *name)
{
    for (size_t i = 0; i < rs_table_get_spec(t)->n_columns; i++)
        if (strcmp(rs_table_get_spec(t)->columns[i].name, name) == 0) return true;
    return false;
}

TEST(roofline_sheets_are_parted)
{
    static const gemm of_base[] = {{128, 10}, {64, 30}, {32, 20}},
                      of_one[] = {{64, 15}, {256, 5}, {16, 6}, {32, 7}}, of_two[] = {{32, 10}, {128, 5}};
    rs_table *a = gemms_of(of_base, 3), *b = gemms_of(of_one, 4), *d = gemms_of(of_two, 2);
    const rs_table *sheets[3] = {a, b, d};
    const rs_tracelens_input inputs[] = {
        {"A", NULL, &sheets[0], 1}, {"B", NULL, &sheets[1], 1}, {"C", NULL, &sheets[2], 1}};
    rs_tracelens_comparison *c = NULL;
    rs_result told = {0};
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_tracelens_compare(inputs, 3, "roofline", &c, &told, &err), RS_OK);
    const rs_table *t = sheet_of(c, "GEMM_intersect_C");
    assert_int_equal(rs_table_n_rows(t), 2);
    assert_true(number(t, 0, "param: M") == 32 && number(t, 1, "param: M") == 128); /* 20 us before 10 */
    assert_true(number(t, 0, "Kernel Time (µs)_sum__C_pct") == -50);
    assert_true(has_column(t, "A::GFLOPS_first") && !has_column(t, "C::GFLOPS_first"));
    assert_true(!has_column(t, "B::Kernel Time (µs)_sum") && !has_column(t, "Kernel Time (µs)_sum__B_diff"));
    assert_true(!has_column(t, "TB/s_mean__C_diff")); /* in no report: empty */
    t = sheet_of(c, "GEMM_only_baseline_C");
    assert_int_equal(rs_table_n_rows(t), 1);
    assert_true(number(t, 0, "param: M") == 64);
    t = sheet_of(c, "GEMM_only_variant_B");
    assert_int_equal(rs_table_n_rows(t), 2);
    assert_true(number(t, 0, "param: M") == 16 && number(t, 1, "param: M") == 256);
    assert_true(!has_column(t, "A::Kernel Time (µs)_sum"));
    t = sheet_of(c, "GEMM_only_variant_C"); /* C has nothing of its own */
    assert_int_equal(rs_table_n_rows(t), 0);
    size_t n;
    const rs_table *const *all = rs_tracelens_comparison_sheets(c, &n);
    assert_int_equal(n, 6);
    const bool *hidden = rs_tracelens_comparison_hidden(c, 0);
    assert_true(hidden[column(all[0], "A::TB/s_median")] &&
                !hidden[column(all[0], "A::Kernel Time (µs)_mean")]);
    rs_tracelens_comparison_free(c);
    rs_result_clear(&told);
    rs_table_free(a);
    rs_table_free(b);
    rs_table_free(d);
}

static const rs_column_spec kernel_columns[] = {GEMM_COLUMN("Parent cpu_op", RS_TEXT),
                                                GEMM_COLUMN("Kernel name", RS_TEXT),
                                                GEMM_COLUMN("Kernel duration (µs)_sum", RS_REAL)};
static const rs_table_spec kernel_spec = {"kernel_summary", "", kernel_columns, 3};

static rs_table *kernels_of(const char *first, double a, const char *second, double b)
{
    rs_table *t = rs_table_create(&kernel_spec);
    rs_error err = RS_ERROR_INIT;
    for (int i = 0; i < 2; i++) {
        rs_table_add_text(t, i ? second : first);
        rs_table_add_text(t, "kernel");
        rs_table_add_real(t, i ? b : a);
        assert_int_equal(rs_table_end_row(t, &err), RS_OK);
    }
    return t;
}

/* Two operators launch one kernel: each is compared with itself, in whatever order the sheets have them. */
TEST(rows_of_a_key_are_told_apart)
{
    rs_table *a = kernels_of("mm", 20, "add", 10), *b = kernels_of("add", 11, "mm", 21);
    const rs_table *left[] = {a}, *right[] = {b};
    const rs_tracelens_input inputs[] = {{"A", NULL, left, 1}, {"B", NULL, right, 1}};
    rs_tracelens_comparison *c = NULL;
    rs_result told = {0};
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_tracelens_compare(inputs, 2, "kernel_summary", &c, &told, &err), RS_OK);
    const rs_table *t = sheet_of(c, "kernel_summary");
    assert_int_equal(rs_table_n_rows(t), 2);
    assert_true(number(t, 0, "Kernel duration (µs)_sum__B_diff") == 1);
    assert_true(number(t, 1, "Kernel duration (µs)_sum__B_diff") == 1);
    rs_tracelens_comparison_free(c);
    rs_result_clear(&told);
    rs_table_free(a);
    rs_table_free(b);
}

TEST(memory_may_run_out)
{
    rs_table *a = table_of(base_ops, 5), *b = table_of(other_ops, 6);
    const rs_table *left[] = {a}, *right[] = {b};
    const rs_tracelens_input inputs[] = {{"A", NULL, left, 1}, {"B", NULL, right, 1}};
    bytes book = can_read() ? workbook_of(few, 3) : (bytes){0};
    bool done = false;
    for (uint64_t k = 1; !done; k++) {
        rs_tracelens_comparison *c = NULL;
        rs_result told = {0};
        rs_error err = RS_ERROR_INIT;
        rs_test_fail_allocation(k);
        rs_status status = rs_tracelens_compare(inputs, 2, NULL, &c, &told, &err);
        rs_test_fail_allocation(0);
        assert_true(status == RS_OK || status == RS_ERR_NOMEM);
        assert_true((status == RS_OK) == (c != NULL));
        done = status == RS_OK;
        rs_tracelens_comparison_free(c);
        rs_result_clear(&told);
        assert_true(k < 10000);
    }
    for (uint64_t k = 1, ended = book.n == 0; !ended; k++) {
        reading r;
        begin(&r);
        rs_test_fail_allocation(k);
        rs_status status = rs_workbook_read(book.data, book.n, "a.xlsx", &r.texts, &r.book, &r.err);
        rs_test_fail_allocation(0);
        assert_true(status == RS_OK || status == RS_ERR_NOMEM);
        ended = status == RS_OK;
        end(&r);
        assert_true(k < 100000);
    }
    rs_free(book.data);
    rs_table_free(a);
    rs_table_free(b);
}
