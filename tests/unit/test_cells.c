/* Inputs of cells, lines and small records: rocprofv3's CSV, tables and timelines of operations, memory timelines, sheets,
 * workbooks and pickles. Each way in which one of them can be wrong, and what is said and kept then. */
#include <math.h>
#include <zlib.h>

#include "format/memory_read.h"
#include "format/op_table.h"
#include "input/pickle.h"
#include "input/sheets.h"
#include "members.h"
#include "native.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static uint64_t told(const rs_problems *p, const char *kind)
{
    uint64_t n = 0;
    for (size_t i = 0; i < p->n; i++) n += strcmp(p->items[i].kind, kind) == 0 ? p->items[i].count : 0;
    return n;
}

/* ---- rocprofv3's CSV ------------------------------------------------------------------------------------- */

#define MOST_CELLS 40
typedef struct lines {
    char cell[8][MOST_CELLS][64];
    size_t n, n_cells;
} lines;

static lines lines_of(const char *csv)
{
    lines l = {.n = 0};
    for (const char *p = csv; *p; p++) {
        size_t c = 0;
        for (;; p++) {
            size_t n = strcspn(p, ",\n");
            assert_true(n < sizeof l.cell[0][0] && c < MOST_CELLS && l.n < COUNT(l.cell));
            memcpy(l.cell[l.n][c], p, n);
            l.cell[l.n][c++][n] = '\0';
            p += n;
            if (*p == '\n') break;
        }
        l.n_cells = c;
        l.n++;
    }
    return l;
}

/* The lines with another text in one cell (row SIZE_MAX: none), and without one column. */
static text text_of_lines(const lines *l, size_t row, size_t column, const char *instead, size_t without)
{
    text t = {0};
    for (size_t r = 0; r < l->n; r++)
        for (size_t c = 0, any = 0; c <= l->n_cells; c++) {
            if (c == l->n_cells) text_puts(&t, "\n");
            if (c == l->n_cells || c == without) continue;
            text_printf(&t, "%s%s", any ? "," : "", r == row && c == column ? instead : l->cell[r][c]);
            any = 1;
        }
    return t;
}

#define KERNELS                                                                                                    \
    "Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp," \
    "End_Timestamp,LDS_Block_Size,VGPR_Count,Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,"      \
    "Grid_Size_Y,Grid_Size_Z\n"
static const struct {
    const char *name, *csv;
} runs[] = {
    {"9_kernel_trace.csv",
     KERNELS "KERNEL_DISPATCH,Agent 4,1,2,77,1,8,gemm,1,1000,1100,512,64,256,1,1,1000,1,1\n"
             "KERNEL_DISPATCH,GPU 1,1,0,77,2,8,gemm,2,2000,2200,512,64,256,1,1,1000,1,1\n"
             "KERNEL_DISPATCH,CPU 0,1,0,77,3,8,other,3,3000,3300,512,64,256,1,1,1000,1,1\n"},
    {"9_memory_copy_trace.csv",
     "Kind,Direction,Stream_Id,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,Start_Timestamp,"
     "End_Timestamp\nMEMORY_COPY,MEMORY_COPY_DEVICE_TO_HOST,1,Agent 4,Agent 0,3,1000,1100\n"
     "MEMORY_COPY,MEMORY_COPY_HOST_TO_DEVICE,1,Agent 0,Agent 4,3,2000,2200\n"
     "MEMORY_COPY,MEMORY_COPY_HOST_TO_DEVICE,1,Agent 0,Agent 4,4,3000,3300\n"},
    {"9_hip_api_trace.csv",
     "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
     "HIP_RUNTIME_API,hipLaunchKernel,9,9,1,1000,1100\nMARKER_CORE_API,my range,9,9,4,2000,2200\n"
     "RCCL_API,ncclAllReduce,9,9,5,3000,3300\n"},
    {"9_scratch_memory_trace.csv",
     "Kind,Operation,Agent_Id,Queue_Id,Thread_Id,Start_Timestamp,End_Timestamp\n"
     "SCRATCH_MEMORY,ALLOC,4,1,9,1000,1100\nSCRATCH_MEMORY,FREE,4,1,9,2000,2200\n"
     "SCRATCH_MEMORY,,4,1,9,3000,3300\n"},
    {"9_counter_collection.csv",
     "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Name,"
     "Workgroup_Size,LDS_Block_Size,VGPR_Count,Counter_Name,Counter_Value,Start_Timestamp,"
     "End_Timestamp\n1,1,4,1,9,9,1000,gemm,256,512,64,WAVES,4,1000,1100\n"
     "2,2,4,1,9,9,1000,gemm,256,512,64,WAVES,4,2000,2200\n"
     "3,3,4,1,9,9,1000,gemm,256,512,64,WAVES,4,3000,3300\n"},
};

/* Every column gone, every cell of the middle row damaged: the rows around it are as they were, and a row without its times
 * or of another shape is counted. */
TEST(test_rocprof_csv)
{
    static const char *const values[] = {
        "", "x", "-1", "9223372036854775808", "\"q, \"\"r\"", "\"open", "a,b", "Agent 99999999999"};
    for (size_t i = 0; i < COUNT(runs); i++) {
        lines l = lines_of(runs[i].csv);
        rs_events *e;
        for (size_t c = 0; c < l.n_cells; c++) {
            const char *name = l.cell[0][c];
            bool time = strstr(name, "_Timestamp") != NULL;
            text t = text_of_lines(&l, SIZE_MAX, 0, "", c);
            rs_source *source;
            rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
            assert_int_equal(rs_source_open_bytes(t.s, t.n, runs[i].name, 0, &source, NULL), RS_OK);
            rs_status status = rs_rocprof_csv_load(source, &settings, &e, NULL);
            rs_source_close(source);
            text_clear(&t);
            assert_int_equal(status, time ? RS_ERR_FORMAT : RS_OK);
            if (!time) {
                assert_int_equal(e->n, 3);
                for (size_t k = 0; k < 3; k++) assert_int_equal(e->start[k], 1000 * (int64_t)(k + 1));
                rs_events_free(e);
            }
            for (size_t v = 0; v < COUNT(values); v++) {
                t = text_of_lines(&l, 2, c, values[v], SIZE_MAX);
                assert_int_equal(load_native(t.s, t.n, runs[i].name, &e, NULL), RS_OK);
                if (e->n + e->n_lost < 3 && !strstr(name, "Dispatch_Id"))
                    fail_msg("%zu rows of %s", (size_t)e->n, t.s);
                assert_int_equal(e->start[0], 1000);
                assert_int_equal(e->start[e->n - 1], 3000);
                assert_int_equal(e->duration[e->n - 1], 300);
                if (e->n_lost) assert_int_equal(rs_problems_worst(&e->problems), RS_LOSS);
                rs_events_free(e);
                text_clear(&t);
            }
        }
    }
}

/* ---- operations ------------------------------------------------------------------------------------------ */

#define MAGIC "# rankscope-ops 1 unit=s dsp=2\n"
#define HEADER "step,dp,stage,rank,op,seq,mb,mc,start,duration\n"

static rs_status read_ops(const char *s, rs_op_table *out, rs_problems *problems, rs_error *err)
{
    rs_source *source;
    assert_int_equal(rs_source_open_bytes(s, strlen(s), "ops", 0, &source, err), RS_OK);
    rs_status status = rs_op_table_read(source, out, problems, err);
    rs_source_close(source);
    return status;
}

TEST(test_op_table)
{
    static const char good[] = "0,0,0,0,forward-compute,0,0,0,1.5,0.25";
    static const struct {
        int field;
        const char *value, *why;
    } faults[] = {
        {0, "x", "step is no whole"},
        {0, "-1", "step is no number from 0"},
        {0, "2147483648", "step is no"},
        {1, "x", "data rank is no whole"},
        {1, "-1", "data rank is no number"},
        {1, "1048576", "data rank is no number"},
        {1, "2147483648", "data rank"},
        {2, "1.5", "stage is no whole"},
        {2, "-1", "stage is no number"},
        {2, "65536", "stage is no number"},
        {3, "", "rank is no whole"},
        {3, "-1", "rank is no number"},
        {3, "2147483648", "rank is no"},
        {4, "nothing", "kind of operation"},
        {4, "", "kind of operation"},
        {5, "x", "seq is no whole"},
        {5, "-1", NULL},
        {6, "x", "micro batch is no whole"},
        {6, "-2", "micro batch and chunk"},
        {7, "x", "model chunk is no whole"},
        {7, "-2", "micro batch and chunk"},
        {7, "65536", "chunk is above"},
        {8, "x", "start is no number"},
        {8, "1e400", "start is no"},
        {8, "nan", "start is no"},
        {9, "x", "duration is no number"},
        {9, "-1", NULL}, /* read; what counts it clamps it */
        {9, "1e300", "duration is no time"},
    };
    static const struct {
        const char *text, *why;
    } tables[] = {
        {"", "the table is empty"},
        {"step,dp\n", "the first line is not that of a table"},
        {"# rankscope-ops 2 unit=s\n" HEADER, "version"},
        {"# rankscope-ops 11 unit=s\n" HEADER, "version"},
        {"# rankscope-ops 1 unit=ms\n" HEADER, "seconds"},
        {"# rankscope-ops 1\n" HEADER, "seconds"},
        {"# rankscope-ops \n", "version"},
        {"# rankscope-ops 1 unit=s dsp=x\n" HEADER, "dsp is no number"},
        {"# rankscope-ops 1 unit=s dsp=0\n" HEADER, "dsp is no number"},
        {"# rankscope-ops 1 unit=s dsp=99999999\n" HEADER, "dsp is no number"},
        {MAGIC, "the header is missing"},
        {MAGIC "step,dp\n", "the header is another"},
        {MAGIC "step,dp,stage,rank,op,seq,mb,mc,start,durationx\n", "the header is another"},
    };
    rs_op_table table;
    for (size_t i = 0; i < COUNT(tables); i++) {
        rs_problems problems = {0};
        rs_error err = RS_ERROR_INIT;
        assert_int_equal(read_ops(tables[i].text, &table, &problems, &err), RS_ERR_FORMAT);
        if (!strstr(err.causes[0].message, tables[i].why))
            fail_msg("%s: %s", tables[i].text, err.causes[0].message);
        rs_op_table_clear(&table);
        rs_problems_clear(&problems);
    }
    for (size_t i = 0; i < COUNT(faults); i++) {
        rs_problems problems = {0};
        rs_error err = RS_ERROR_INIT;
        text t = {0};
        const char *p = good;
        text_printf(&t, MAGIC "%s%s\r\n", HEADER, good);
        for (int f = 0; f < 10; f++) {
            size_t n = strcspn(p, ",");
            if (f) text_puts(&t, ",");
            if (f == faults[i].field)
                text_puts(&t, faults[i].value);
            else
                text_add(&t, p, n);
            p += n + (p[n] == ',');
        }
        text_printf(&t, "\n\n0,0\n%s,1\n%s", good, good);
        assert_int_equal(read_ops(t.s, &table, &problems, &err), RS_OK);
        assert_int_equal(table.dsp, 2);
        bool kept = faults[i].why == NULL && told(&problems, "bad_operation") == 2;
        if (table.n != 2 + (size_t)kept) fail_msg("%zu operations: %s", table.n, t.s);
        assert_int_equal(told(&problems, "bad_operation"), 3 - kept);
        if (faults[i].why) {
            bool said = false;
            for (size_t k = 0; k < problems.n; k++)
                for (size_t d = 0; d < 1; d++)
                    said |= problems.items[k].detail && strstr(problems.items[k].detail, faults[i].why);
            if (!said)
                fail_msg("no \"%s\": %s", faults[i].why,
                         problems.n && problems.items[0].detail ? problems.items[0].detail : "");
        }
        rs_op_table_clear(&table);
        rs_problems_clear(&problems);
        text_clear(&t);
    }
}

#define SPAN(name, tid, ts, args)                                                                            \
    "{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts                             \
    ",\"dur\":10.5,\"args\":{" args "}}"
#define ARGS(step, seq) "\"step\":" #step ",\"model_chunk\":0,\"mb_id\":2,\"seq_id\":" #seq
static const char timeline[] =
    "[{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":5,\"args\":{\"name\":\"PP rank 1, TP rank 0\"}},"
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":10,\"args\":{\"name\":\"PP rank 2\"}},"
    "{\"ph\":\"C\",\"name\":\"counter\",\"more\":[1,{\"a\":2}]}," SPAN(
        "forward-compute", 5, 100, ARGS(3, 0)) "," SPAN("backward-compute", 5, 200,
                                                        ARGS(3, 1)) "," SPAN("forward-compute", 10, 1000,
                                                                             ARGS(4, 0)) "]";

/* One member damaged: the other operations are read; an operation that is not is counted. */
TEST(test_op_timeline)
{
    members *all = members_of(timeline);
    rs_op_table table;
    rs_problems problems = {0};
    assert_int_equal(read_ops(timeline, &table, &problems, NULL), RS_OK);
    assert_int_equal(table.n, 3);
    assert_int_equal(table.ops[0].stage, 1);
    assert_int_equal(table.ops[2].rank, 2);
    assert_int_equal(problems.n, 0);
    rs_op_table_clear(&table);
    for (size_t i = 0; i < all->n; i++)
        for (size_t way = 0; way < N_JSON_WAYS; way++) {
            const member *m = &all->items[i];
            text t = member_damage(timeline, m, way);
            rs_status status = read_ops(t.s, &table, &problems, NULL);
            /* what no longer has the marks of a timeline is no table of operations at all */
            if (status != RS_OK && strstr(t.s, "seq_id") && strstr(t.s, "model_chunk") && *t.s == '[')
                fail_msg("refused: %s", t.s);
            if (status == RS_OK && m->up != UINT32_MAX) {
                uint32_t top = (uint32_t)i;
                while (all->items[top].up != UINT32_MAX) top = all->items[top].up;
                size_t own = top > 0 ? 1 : 0;
                (void)own;
                if (table.n < 1) fail_msg("%zu operations: %s", table.n, t.s);
                /* doubled or renamed members may change which event it is */
                if (table.n < 3 && way < N_JSON_WAYS - 3 && strncmp(timeline + m->key, "\"ph\"", 4) != 0 &&
                    strncmp(timeline + m->key, "\"name\"", 6) != 0 && !problems.n)
                    fail_msg("an operation is gone without a word: %s", t.s);
            }
            if (status == RS_OK) rs_op_table_clear(&table);
            rs_problems_clear(&problems);
            text_clear(&t);
        }
    /* cut anywhere: what was before */
    for (size_t n = sizeof timeline - 1, before = 3; n > 700; n--) {
        text t = {0};
        text_add(&t, timeline, n);
        if (read_ops(t.s, &table, &problems, NULL) == RS_OK) {
            assert_true(table.n <= before);
            before = table.n;
            if (n < sizeof timeline - 1) assert_int_equal(told(&problems, "truncated"), 1);
            rs_op_table_clear(&table);
        }
        rs_problems_clear(&problems);
        text_clear(&t);
    }
    free(all);
}

/* ---- memory ---------------------------------------------------------------------------------------------- */

static rs_status read_memory(const char *s, size_t n, rs_memory_timeline *out, rs_problems *problems)
{
    rs_source *source;
    assert_int_equal(rs_source_open_bytes(s, n, "memory", 0, &source, NULL), RS_OK);
    rs_status status = rs_memory_read(source, true, out, problems, NULL);
    rs_source_close(source);
    return status;
}

TEST(test_memory_timeline)
{
    static const struct {
        const char *text;
        rs_status status;
        uint64_t n;
        const char *kind; /* of the one problem; NULL: none */
    } cases[] = {
        {"[[-1, 1, 100, 0], [5, 2, 50, 4], [5, 2, 10, 1], [9, 4, -50, 4]]", RS_OK, 4, NULL},
        {" [ [5,2,50,4] , [9,4,-50,4] ] ", RS_OK, 2, NULL},
        {"[[5,2,50,4], [9,3,-50,4], [9,3,50,0]]", RS_OK, 3, NULL},
        {"[[5,2,50,4], [4,4,-50,4]]", RS_OK, 2, "time_runs_back"},
        {"[[5,2,50,4], [9,4,-50]]", RS_OK, 1, "bad_change"},
        {"[[5,2,50,4], [9,4,-50,8]]", RS_OK, 1, "bad_change"},
        {"[[5,2,50,4], [9,4,-50,-1]]", RS_OK, 1, "bad_change"},
        {"[[5,2,50,4], [9,5,-50,4]]", RS_OK, 1, "bad_change"},
        {"[[5,2,50,4], [9,-1,-50,4]]", RS_OK, 1, "bad_change"},
        {"[[5,2,50,4], [9,4,-50,4,1]]", RS_OK, 1, "bad_change"},
        {"[[5,2,50,4], [9,4,\"x\",4]]", RS_OK, 1, "bad_change"},
        {"[[5,2,50,4], [9,4,1.5,4]]", RS_OK, 1, "bad_change"},
        {"[[5,2,50,4], 7, {\"a\": 1}]", RS_OK, 1, NULL},
        {"[[5,2,50,4], [9,4,-50,4]", RS_OK, 2, "truncated"},
        {"[[5,2,50,4], [9,4,-5", RS_OK, 1, "truncated"},
        {"[[5,2,50,4],", RS_OK, 1, "truncated"},
        {"[", RS_OK, 0, "truncated"},
        {"[]", RS_OK, 0, NULL},
        {"[[5,2,50,4] [9,4,-50,4]]", RS_ERR_FORMAT, 0, NULL},
        {"[[5,2,50,4], [9,4,-50,4}]", RS_ERR_FORMAT, 0, NULL},
        {"{}", RS_ERR_FORMAT, 0, NULL},
        {"[5]", RS_ERR_FORMAT, 0, NULL},
        {"[[5]]", RS_ERR_FORMAT, 0, NULL},
        {"[nonsense]", RS_ERR_FORMAT, 0, NULL},
        {"", RS_ERR_FORMAT, 0, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        rs_memory_timeline m;
        rs_problems problems = {0};
        rs_status status = read_memory(cases[i].text, strlen(cases[i].text), &m, &problems);
        if (status != cases[i].status) fail_msg("status %d: %s", status, cases[i].text);
        if (status == RS_OK) {
            if (m.n != cases[i].n) fail_msg("%d changes: %s", (int)m.n, cases[i].text);
            if (cases[i].kind && told(&problems, cases[i].kind) != 1)
                fail_msg("no %s: %s", cases[i].kind, cases[i].text);
            int64_t sum = 0;
            for (int c = 0; c < RS_N_MEMORY_CATEGORIES; c++) sum += m.at_end.bytes[c];
            assert_int_equal(sum, m.at_end.total);
        }
        rs_memory_clear(&m);
        rs_problems_clear(&problems);
    }
    /* an element that is longer than any window, and more changes than one holds */
    text t = {0};
    rs_memory_timeline m;
    rs_problems problems = {0};
    text_puts(&t, "[[1,2,1,0]");
    for (int i = 0; i < 100000; i++) text_printf(&t, ", [%d, 2, 1, 0]", i + 2);
    text_puts(&t, "]");
    assert_int_equal(read_memory(t.s, t.n, &m, &problems), RS_OK);
    assert_int_equal(m.n, 100001);
    assert_int_equal(m.at_end.total, 100001);
    rs_memory_clear(&m);
    text_clear(&t);
    rs_problems_clear(&problems);
}

/* ---- sheets ---------------------------------------------------------------------------------------------- */

/* Whether the cell reads so: NULL is empty. */
static void expect_cell(const rs_grid *g, const rs_strings *texts, size_t row, size_t column,
                        const char *want)
{
    const rs_grid_cell *c = &g->cells[row * g->n_columns + column];
    char is[64] = "";
    if (c->kind == RS_GRID_NUMBER) snprintf(is, sizeof is, "%g", c->number);
    if (c->kind == RS_GRID_TEXT) snprintf(is, sizeof is, "%s", texts->items[c->text].text);
    assert_int_equal(c->kind != RS_GRID_EMPTY, want != NULL);
    if (want) assert_string_equal(is, want);
}

TEST(test_csv)
{
    static const struct {
        const char *text;
        rs_status status;
        size_t rows, columns;
        const char *last; /* cell */
    } cases[] = {
        {"a,b\n1,2\n", RS_OK, 1, 2, "2"},
        {"\xEF\xBB\xBF"
         "a,b\r\n1,\"x\"\r\n",
         RS_OK, 1, 2, "x"},
        {"a,b\r1,\"x \"\"y\"\"\"", RS_OK, 1, 2, "x \"y\""},
        {"a,b\n1,\"x\"y\n", RS_OK, 1, 2, "xy"},
        {"a,b\n1,\"x\n,y\"\n", RS_OK, 1, 2, "x\n,y"},
        {"a,b\n1\n", RS_OK, 1, 2, NULL},
        {"a,b\n1,2,\n", RS_OK, 1, 2, "2"},
        {"a,b\n1,2,3\n", RS_ERR_FORMAT, 0, 0, NULL},
        {"a,b\n1,2,,\n", RS_ERR_FORMAT, 0, 0, NULL},
        {"a,b\n1,\"2\n", RS_ERR_FORMAT, 0, 0, NULL},
        {"a,\"b", RS_ERR_FORMAT, 0, 0, NULL},
        {"", RS_OK, 0, 0, NULL},
        {"a", RS_OK, 0, 1, NULL},
        {"a,b\n,\n", RS_OK, 1, 2, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        rs_strings texts;
        rs_book book = {0};
        guarded g = guarded_copy(cases[i].text, strlen(cases[i].text));
        assert_true(rs_strings_init(&texts));
        rs_status status = rs_csv_read((const char *)g.bytes, g.n, "x.csv", "x", 1, &texts, &book, NULL);
        if (status != cases[i].status) fail_msg("status %d: %s", status, cases[i].text);
        if (status == RS_OK) {
            assert_int_equal(book.grids[0].n_rows, cases[i].rows);
            assert_int_equal(book.grids[0].n_columns, cases[i].columns);
            if (cases[i].rows)
                expect_cell(&book.grids[0], &texts, cases[i].rows - 1, cases[i].columns - 1, cases[i].last);
        }
        rs_book_clear(&book);
        rs_strings_clear(&texts);
        guarded_free(&g);
    }
}

/* ---- workbooks ------------------------------------------------------------------------------------------- */

typedef struct part {
    const char *name, *text;
} part;

static void put_number(text *t, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) text_add(t, &(char){(char)(i < 8 ? value >> (8 * i) : 0)}, 1);
}

/* An archive whose members are stored as they are. */
static text zip_of(const part *parts, size_t n)
{
    text t = {0}, list = {0};
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!parts[i].text) continue;
        size_t length = strlen(parts[i].text), name = strlen(parts[i].name), at = t.n;
        uint64_t check = crc32(0, (const unsigned char *)parts[i].text, (unsigned)length);
        text_add(&t, "PK\3\4\24\0\0\0\0\0\0\0\0\0", 14);
        put_number(&t, check, 4);
        put_number(&t, length, 4);
        put_number(&t, length, 4);
        put_number(&t, name, 2);
        put_number(&t, 0, 2);
        text_add(&t, parts[i].name, name);
        if (length) text_add(&t, parts[i].text, length);
        text_add(&list, "PK\1\2\24\0\24\0\0\0\0\0\0\0\0\0", 16);
        put_number(&list, check, 4);
        put_number(&list, length, 4);
        put_number(&list, length, 4);
        put_number(&list, name, 2);
        put_number(&list, 0, 12);
        put_number(&list, at, 4);
        text_add(&list, parts[i].name, name);
        count++;
    }
    size_t at = t.n;
    if (list.n) text_add(&t, list.s, list.n);
    text_add(&t, "PK\5\6\0\0\0\0", 8);
    put_number(&t, count, 2);
    put_number(&t, count, 2);
    put_number(&t, list.n, 4);
    put_number(&t, at, 4);
    put_number(&t, 0, 2);
    text_clear(&list);
    return t;
}

enum { BOOK, RELATIONS, SHARED, SHEET, N_PARTS };
static const part good_parts[N_PARTS] = {
    {"xl/workbook.xml",
     "<workbook><sheets><sheet name=\"one\" sheetId=\"1\" r:id=\"r1\" xmlns:r=\"x\"/></sheets></workbook>"},
    {"xl/_rels/workbook.xml.rels",
     "<Relationships><Relationship Id=\"r1\" Type=\"x/worksheet\" Target=\"worksheets/sheet1.xml\"/>"
     "<Relationship Id=\"r2\" Type=\"http://x/sharedStrings\" Target=\"/xl/sharedStrings.xml\"/></Relationships>"},
    {"xl/sharedStrings.xml",
     "<sst><si><t>name</t></si><si><r><t>ra</t></r><r><t>nk</t></r><rPh><t>no</t></rPh></si><si/></sst>"},
    {"xl/worksheets/sheet1.xml",
     "<worksheet><sheetData><row><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"B1\" t=\"s\"><v>1</v></c></row>"
     "<row><c r=\"A2\" t=\"inlineStr\"><is><t>x</t><rPh><t>no</t></rPh></is></c><c r=\"B2\"><v>7</v></c></row>"
     "</sheetData></worksheet>"},
};
#define CELLS(row)                                                                                           \
    "<worksheet><row><c t=\"s\"><v>0</v></c><c t=\"s\"><v>1</v></c></row><row>" row "</row></worksheet>"

TEST(test_workbook)
{
    static const struct {
        int part;         /* that is another; N_PARTS: none */
        const char *text; /* NULL: it is not there */
        rs_status status;
        const char *says, *first, *second; /* the cells of the row */
    } cases[] = {
        {N_PARTS, NULL, RS_OK, NULL, "x", "7"},
        {BOOK, NULL, RS_ERR_FORMAT, "no xl/workbook.xml", NULL, NULL},
        {RELATIONS, NULL, RS_ERR_FORMAT, "no xl/_rels", NULL, NULL},
        {SHEET, NULL, RS_ERR_FORMAT, "no xl/worksheets/sheet1.xml", NULL, NULL},
        {SHARED, NULL, RS_ERR_FORMAT, "names a text that is not", NULL, NULL},
        {SHARED, "<sst><si><t>name</t></si></sst>", RS_ERR_FORMAT, "names a text that is not", NULL, NULL},
        {SHARED, "<sst><si>", RS_ERR_FORMAT, "damaged at line 1", NULL, NULL},
        {SHEET, "<!DOCTYPE x [<!ENTITY a \"b\">]><worksheet/>", RS_ERR_FORMAT, "document type", NULL, NULL},
        {RELATIONS,
         "<Relationships><Relationship Id=\"r1\" Type=\"x\"/><Relationship Id=\"r1\" Target=\"y\"/></Relationships>",
         RS_ERR_FORMAT, "does not say where the sheet one is", NULL, NULL},
        {SHEET, CELLS("<c t=\"s\"><v>x</v></c>"), RS_ERR_FORMAT, "names a text", NULL, NULL},
        {SHEET, CELLS("<c t=\"s\"><v>99999999999999999999</v></c>"), RS_ERR_FORMAT, "names a text", NULL,
         NULL},
        {SHEET, CELLS("<c t=\"s\"/>"), RS_ERR_FORMAT, "names a text", NULL, NULL},
        {SHEET, CELLS("<c r=\"XFE2\"><v>1</v></c>"), RS_ERR_FORMAT, "beyond column 16384", NULL, NULL},
        {SHEET, CELLS("<c r=\"ZZZZZZZZZZZ2\"><v>1</v></c>"), RS_ERR_FORMAT, "beyond column 16384", NULL,
         NULL},
        /* kinds of cells */
        {SHEET, CELLS("<c t=\"b\"><v>1</v></c><c t=\"b\"><v>0</v></c>"), RS_OK, NULL, "True", "False"},
        {SHEET, CELLS("<c t=\"e\"><v>#N/A</v></c><c t=\"str\"><v>5</v></c>"), RS_OK, NULL, "#N/A", "5"},
        {SHEET, CELLS("<c t=\"n\"><v>1e3</v></c><c t=\"other\"><v>y</v></c>"), RS_OK, NULL, "1000", "y"},
        {SHEET, CELLS("<c t=\"s\"><v>2</v></c><c r=\"b2\"><v>8</v></c>"), RS_OK, NULL, NULL, "8"},
        {SHEET, CELLS("<c r=\"B2\"><v>8</v></c><c r=\"C2\"><v>9</v></c>"), RS_OK, NULL, NULL, "8"},
        {SHEET, CELLS("<c t=\"b\"><v>10</v></c><c><f>A1</f><v>3</v></c>"), RS_OK, NULL, "10", "3"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        part parts[N_PARTS];
        memcpy(parts, good_parts, sizeof parts);
        if (cases[i].part < N_PARTS) parts[cases[i].part].text = cases[i].text;
        text t = zip_of(parts, N_PARTS);
        rs_strings texts;
        rs_book book = {0};
        rs_error err = RS_ERROR_INIT;
        assert_true(rs_strings_init(&texts));
        guarded g = guarded_copy(t.s, t.n);
        rs_status status = rs_workbook_read(g.bytes, g.n, "x.xlsx", &texts, &book, &err);
        if (status == RS_ERR_USAGE) skip(); /* a build without expat */
        if (status != cases[i].status) fail_msg("case %zu: %s", i, status ? err.causes[0].message : "read");
        if (cases[i].says && !strstr(err.causes[0].message, cases[i].says))
            fail_msg("%s", err.causes[0].message);
        if (status == RS_OK) {
            const rs_grid *grid = rs_book_find(&book, &texts, "one");
            assert_non_null(grid);
            assert_int_equal(grid->n_columns, 2);
            assert_string_equal(texts.items[grid->columns[1]].text, "rank");
            assert_int_equal(grid->n_rows, 1);
            expect_cell(grid, &texts, 0, 0, cases[i].first);
            expect_cell(grid, &texts, 0, 1, cases[i].second);
        }
        rs_book_clear(&book);
        rs_strings_clear(&texts);
        guarded_free(&g);
        text_clear(&t);
    }
}

/* Each byte of an archive changed or the rest cut off: what is read is what was written, or the archive is refused. */
TEST(test_damaged_workbook)
{
    text t = zip_of(good_parts, N_PARTS);
    for (size_t i = 0; i < 2 * t.n; i++) {
        rs_strings texts;
        rs_book book = {0};
        size_t at = i % t.n, n = i < t.n ? t.n : at;
        assert_true(rs_strings_init(&texts));
        if (i < t.n) t.s[at] ^= 0x41;
        guarded g = guarded_copy(t.s, n);
        rs_status status = rs_workbook_read(g.bytes, n, "x.xlsx", &texts, &book, NULL);
        if (status == RS_OK && book.n) {
            const rs_grid *grid = &book.grids[0];
            /* names of members, which no sum guards, may hide the texts but not change them */
            assert_int_equal(grid->n_columns, 2);
            assert_string_equal(texts.items[grid->columns[1]].text, "rank");
            expect_cell(grid, &texts, 0, 1, "7");
        }
        rs_book_clear(&book);
        rs_strings_clear(&texts);
        guarded_free(&g);
        if (i < t.n) t.s[at] ^= 0x41;
    }
    text_clear(&t);
}

/* ---- pickles --------------------------------------------------------------------------------------------- */

#define BYTES(s) s, sizeof(s) - 1
/* Every opcode with every prefix of its arguments, alone and on a stack that has what it needs: data or a refusal, never more
 * bytes than there are. */
TEST(test_opcodes)
{
    static const struct {
        const char *bytes;
        size_t n;
        rs_status status;
        int64_t value; /* of an answer that is a number */
    } cases[] = {
        {BYTES("I-12\n."), RS_OK, -12},
        {BYTES("L12L\n."), RS_OK, 12},
        {BYTES("L12\n."), RS_OK, 12},
        {BYTES("I00\n."), RS_OK, 0},
        {BYTES("I02\n."), RS_OK, 2},
        {BYTES("I\n."), RS_ERR_FORMAT, 0},
        {BYTES("LL\n."), RS_ERR_FORMAT, 0},
        {BYTES("K\x05p3\n0g3\n."), RS_OK, 5},
        {BYTES("K\x05r\x01\x00\x00\x00"
               "0j\x01\x00\x00\x00."),
         RS_OK, 5},
        {BYTES("K\x05p-1\n."), RS_ERR_FORMAT, 0},
        {BYTES("g-1\n."), RS_ERR_FORMAT, 0},
        {BYTES("gx\n."), RS_ERR_FORMAT, 0},
        {BYTES("px\n."), RS_ERR_FORMAT, 0},
        {BYTES("K\x05q\x01h\x02."), RS_ERR_FORMAT, 0},
        {BYTES("K\x05p99999999999\n."), RS_ERR_LIMIT, 0},
        {BYTES("S'a\\'b'\n0K\x01."), RS_OK, 1},
        {BYTES("S\"a\"\n0K\x01."), RS_OK, 1},
        {BYTES("S'\n."), RS_ERR_FORMAT, 0},
        {BYTES("Sab\n."), RS_ERR_FORMAT, 0},
        {BYTES("S'a\"\n."), RS_ERR_FORMAT, 0},
        {BYTES("(K\x01K\x02\x91"
               "0K\x01."),
         RS_OK, 1},
        {BYTES("(K\x01K\x02"
               "d0K\x01."),
         RS_OK, 1},
        {BYTES("\x91."), RS_ERR_FORMAT, 0},
        {BYTES("d."), RS_ERR_FORMAT, 0},
    };
    rs_values v = {0};
    rs_pickle_info info;
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t n = cases[i].n; n > 0; n--) {
            guarded g = guarded_copy(cases[i].bytes, n);
            rs_error err = RS_ERROR_INIT;
            rs_status status = rs_pickle_read(&v, g.bytes, n, "x", NULL, &info, &err);
            if (n == cases[i].n) {
                if (status != cases[i].status) fail_msg("case %zu: %d", i, status);
                if (status == RS_OK) assert_int_equal(v.nodes[info.root].as.i, cases[i].value);
            } else {
                assert_int_not_equal(status, RS_OK);
            }
            guarded_free(&g);
        }
    rs_values_clear(&v);
}
