/* Databases of profilers of which one column is damaged, renamed or gone, or one table; and SQLite's own memory running
 * out at each place. What must come of it is known from which column it was: other tables' records are as ever, a record
 * without its times is counted, and nothing is lost without a word. */
#include <sqlite3.h>

#include "native.h"

/* ---- SQLite's memory ------------------------------------------------------------------------------------ */

static sqlite3_mem_methods plain;
static uint64_t left; /* allocations until one fails; 0: none does */
static bool has_failed, goes_on;

static bool fails(void)
{
    if (has_failed && goes_on) return true;
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
    /* small blocks come out of no pool, so that each of them can fail */
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &mine) != SQLITE_OK ||
           sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) != SQLITE_OK;
}

/* ---- samples -------------------------------------------------------------------------------------------- */

#define THREAD "(5<<24)|7"

typedef struct part {
    const char *table, *columns; /* columns of the table, the first of which are its times where `timed` */
    const char *rows;
    const char *category; /* of its events; NULL: it has none of its own */
    size_t n;             /* events that come of it */
    bool names;           /* others' names stand in it */
} part;

typedef struct sample {
    const char *name;
    const part *parts;
    size_t n;
    const char *mark; /* the table by which the file is known; NULL: any of several */
    const char *behind;
} sample;

static const part nsys_parts[] = {
    {"StringIds", "id,value",
     "(1,'cudaLaunchKernelExC_v11060'),(2,'ncclDevKernel_AllReduce_Sum_f32_RING_LL'),"
     "(4,'{\"NCCL communicator ID\": 77, \"Message size [bytes]\": 4096, \"No. of ranks\": 4}'),"
     "(6,'NCCL'),(7,'cuMemcpy'),(8,'gemm')",
     NULL, 0, true},
    {"NVTX_EVENTS", "start,\"end\",eventType,text,textId,globalTid,domainId,jsonText,jsonTextId",
     "(0,NULL,75,NULL,6," THREAD ",2,NULL,NULL),(0,NULL,75,'NCCL',NULL," THREAD ",4,NULL,NULL),"
     "(1,2,59,'ncclCommInitRank',NULL," THREAD ",2,NULL,4),(10,20,59,'ncclAllReduce',NULL," THREAD
     ",2,NULL,4),"
     "(30,31,59,'ncclGroupStart',NULL," THREAD ",2,NULL,NULL),"
     "(32,33,59,'ncclAllGather',NULL," THREAD
     ",2,'{\"NCCL communicator ID\": 77,\"Message size [bytes]\": 8}',NULL),"
     "(34,35,59,'ncclReduceScatter',NULL," THREAD ",2,'{\"NCCL communicator ID\": 78}',NULL),"
     "(40,50,59,'ncclGroupEnd',NULL," THREAD ",2,NULL,NULL),(52,54,60,'step',NULL," THREAD ",0,NULL,NULL)",
     "user_annotation", 7, false},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "start,\"end\",globalTid,correlationId,nameId",
     "(12,14," THREAD ",1,1),(42,44," THREAD ",2,1),(60,61," THREAD ",3,1),(62,63," THREAD ",9,7)", "cu", 4,
     false},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "start,\"end\",deviceId,streamId,correlationId,globalPid,demangledName,shortName,gridX,gridY,gridZ,blockX,blockY,"
     "blockZ,registersPerThread,staticSharedMemory,dynamicSharedMemory",
     "(100,110,0,9,1,5<<24,2,8,4,1,1,128,1,1,40,16,32),(120,130,0,9,2,5<<24,2,8,4,1,1,128,1,1,40,16,32),"
     "(140,150,0,9,3,5<<24,8,8,4,1,1,128,1,1,40,16,32)",
     "kernel", 3, false},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "start,\"end\",deviceId,streamId,correlationId,globalPid,graphId",
     "(160,170,0,9,4,5<<24,42)", "kernel", 1, false},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", "start,\"end\",deviceId,streamId,correlationId,globalPid,bytes,copyKind",
     "(180,190,0,8,9,5<<24,4096,1),(191,192,0,8,9,5<<24,4096,10)", "gpu_memcpy", 2, false},
    {"CUPTI_ACTIVITY_KIND_MEMSET", "start,\"end\",deviceId,streamId,correlationId,globalPid,bytes",
     "(200,201,0,8,3,5<<24,10)", "gpu_memset", 1, false},
    {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", "deviceId,contextId,streamId,correlationId,globalPid,eventId",
     "(0,1,7,10,5<<24,3),(0,1,8,20,5<<24,3),(0,1,9,15,6<<24,3)", NULL, 0, false},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     "start,\"end\",deviceId,contextId,streamId,correlationId,globalPid,syncType,eventId",
     "(210,212,0,1,9,17,5<<24,2,3),(213,219,0,1,9,30,5<<24,1,3),(214,215,0,1,7,31,5<<24,3,9)", "cuda_sync", 3,
     false},
    {"TARGET_INFO_GPU", "id,name", "(0,'H100'),(1,'H100')", NULL, 0, false},
    {"TARGET_INFO_SESSION_START_TIME", "utcEpochNs", "(1700000000000000000)", NULL, 0, false},
    {"DIAGNOSTIC_EVENT", "text,severity", "('12 dropped',2),('13 dropped',1)", NULL, 0, false},
};

#define SIZES "64,256,1,1,1000,1,1"
static const part rocpd_parts[] = {
    {"rocpd_string", "id,guid,string",
     "(1,'g','HIP_RUNTIME_API'),(2,'g','hipLaunchKernel'),(3,'g','COPY'),(4,'g','MARKER_CORE_RANGE_API'),(5,'g','step')",
     NULL, 0, true},
    {"rocpd_info_process", "id,guid,pid", "(1,'g',4242)", NULL, 0, false},
    {"rocpd_info_thread", "id,guid,tid", "(8,'g',4243)", NULL, 0, false},
    {"rocpd_info_agent", "id,guid,type,type_index,product_name",
     "(0,'g','CPU',0,'EPYC'),(4,'g','GPU',2,'MI300X')", NULL, 0, false},
    {"rocpd_info_kernel_symbol", "id,guid,kernel_name,display_name,arch_vgpr_count",
     "(3,'g','_Z4gemm.kd','gemm',64)", NULL, 0, true},
    {"rocpd_event", "id,guid,category_id,stack_id",
     "(1,'g',1,77),(2,'g',NULL,77),(3,'g',NULL,78),(4,'g',4,79)", NULL, 0, false},
    {"rocpd_kernel_dispatch",
     "id,guid,nid,pid,tid,agent_id,kernel_id,dispatch_id,queue_id,stream_id,start,\"end\",group_segment_size,"
     "workgroup_size_x,workgroup_size_y,workgroup_size_z,grid_size_x,grid_size_y,grid_size_z,event_id",
     "(1,'g',1,1,8,4,3,1,5,9,2000,3000," SIZES ",2),(2,'g',1,1,555,4,3,2,5,NULL,4000,4100," SIZES ",NULL)",
     "kernel", 2, false},
    {"rocpd_memory_copy",
     "id,guid,nid,pid,tid,start,\"end\",name_id,dst_agent_id,src_agent_id,size,queue_id,stream_id,event_id",
     "(1,'g',1,1,8,5000,5500,3,4,0,4096,5,9,3),(2,'g',1,1,8,6000,6500,3,0,4,4096,5,NULL,3)", "gpu_memcpy", 2,
     false},
    {"rocpd_region", "id,guid,nid,pid,tid,start,\"end\",name_id,event_id",
     "(1,'g',1,1,8,1000,1100,2,1),(2,'g',1,1,8,900,6000,5,4)", "host", 2, false},
};

#define COUNT(list) (sizeof(list) / sizeof *(list))
static const sample samples[] = {
    {"nsys", nsys_parts, COUNT(nsys_parts), "StringIds", ""},
    {"rocpd tables", rocpd_parts, COUNT(rocpd_parts), NULL, ""},
    /* a view that shows half of the dispatches and none of the rest */
    {"rocpd view", rocpd_parts, COUNT(rocpd_parts), NULL,
     "create view kernels as select 'shown' as name, start, \"end\", pid, tid from rocpd_kernel_dispatch where id = 1;"},
};

static size_t n_events(const sample *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) n += s->parts[i].n;
    return n;
}

static text sql_of(const sample *s)
{
    text sql = {0};
    for (size_t i = 0; i < s->n; i++)
        text_printf(&sql, "create table %s(%s); insert into %s values %s;", s->parts[i].table,
                    s->parts[i].columns, s->parts[i].table, s->parts[i].rows);
    text_puts(&sql, s->behind);
    return sql;
}

typedef struct image {
    unsigned char *bytes;
    sqlite3_int64 n;
} image;

/* The sample with something done to it. */
static image image_of(const sample *s, const char *damage)
{
    sqlite3 *db;
    image out;
    char *message = NULL;
    text sql = sql_of(s);
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    if (sqlite3_exec(db, sql.s, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", s->name, message);
    /* a view that names what is renamed is left as it is */
    if (sqlite3_exec(db, "pragma legacy_alter_table=on", NULL, NULL, NULL) != SQLITE_OK) fail();
    if (*damage && sqlite3_exec(db, damage, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", damage, message);
    out.bytes = sqlite3_serialize(db, "main", &out.n, 0);
    assert_non_null(out.bytes);
    sqlite3_close(db);
    text_clear(&sql);
    return out;
}

static rs_status load_image(const image *db, rs_events **out, rs_error *err)
{
    rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
    return rs_sqlite_load("x.db", db->bytes, (size_t)db->n, &settings, out, err);
}

/* ---- one column ----------------------------------------------------------------------------------------- */

/* Which part of the sample an event came from, by its category and time: the times of the samples' records differ. */
static bool came_of(const rs_events *e, size_t row, const part *p)
{
    const char *category = e->strings.items[e->categories[e->category[row]].name].text;
    if (!p->category) return false;
    if (strcmp(p->category, "cu") == 0)
        return strcmp(category, "cuda_runtime") == 0 || strcmp(category, "cuda_driver") == 0;
    if (strcmp(p->category, "host") == 0)
        return strcmp(category, "gpu_memcpy") != 0 && strcmp(category, "kernel") != 0;
    return strcmp(category, p->category) == 0;
}

/* Every event of the whole sample that is not of this part stands in the damaged one, too. */
static void expect_others(const rs_events *whole, const rs_events *e, const sample *s, const part *p,
                          const char *damage)
{
    for (size_t i = 0; i < whole->n; i++) {
        if (came_of(whole, i, p)) continue;
        size_t k = 0;
        for (; k < e->n; k++)
            if (e->start[k] == whole->start[i] && e->duration[k] == whole->duration[i] &&
                (p->names || strcmp(rs_event_name(e, k), rs_event_name(whole, i)) == 0))
                break;
        if (k == e->n) fail_msg("%s, %s: no %s any more", s->name, damage, rs_event_name(whole, i));
    }
}

static void expect_sound(const rs_events *e)
{
    for (size_t i = 0; i < e->n; i++) assert_true(e->start[i] != RS_NO_TIME && e->duration[i] >= 0);
}

static void load_damaged(const sample *s, const part *p, const rs_events *whole, const char *damage,
                         bool gone, bool types)
{
    rs_events *e;
    rs_error err = RS_ERROR_INIT;
    image db = image_of(s, damage);
    rs_status status = load_image(&db, &e, &err);
    sqlite3_free(db.bytes);
    if (status != RS_OK) {
        bool is_mark = gone && s->mark && strcmp(p->table, s->mark) == 0;
        if (!is_mark || status != RS_ERR_FORMAT)
            fail_msg("%s, %s: %s", s->name, damage, err.causes[0].message);
        return;
    }
    expect_sound(e);
    expect_others(whole, e, s, p, damage);
    size_t n = n_events(s) - (gone ? p->n : 0);
    /* a range whose kind is not known is none; all else is there or counted as lost */
    if (!types && e->n + e->n_lost < n)
        fail_msg("%s, %s: %zu events and %zu lost of %zu", s->name, damage, (size_t)e->n, (size_t)e->n_lost,
                 n);
    if (e->n_lost) assert_int_equal(rs_problems_worst(&e->problems), RS_LOSS);
    rs_events_free(e);
}

static bool all_values;

TEST(test_columns)
{
    static const char *const values[] = {
        "NULL", "'text'", "x'00ff'", "2.5", "-1", "9223372036854775807", "-9223372036854775808", "16777216"};
    /* each column has two of the values here and all of them by hand: --all */
    size_t every = all_values ? 1 : 4, n_columns = 0;
    for (size_t i = 0; i < COUNT(samples); i++) {
        const sample *s = &samples[i];
        rs_events *whole;
        image db = image_of(s, "");
        assert_int_equal(load_image(&db, &whole, NULL), RS_OK);
        sqlite3_free(db.bytes);
        assert_int_equal(whole->n, n_events(s));
        assert_int_equal(whole->n_lost, 0);
        for (size_t k = 0; k < s->n; k++) {
            const part *p = &s->parts[k];
            char damage[300], columns[400];
            snprintf(damage, sizeof damage, "drop table %s", p->table);
            load_damaged(s, p, whole, damage, true, false);
            snprintf(columns, sizeof columns, "%s", p->columns);
            for (char *save, *c = strtok_r(columns, ",", &save); c; c = strtok_r(NULL, ",", &save)) {
                bool types = strcmp(c, "eventType") == 0;
                snprintf(damage, sizeof damage, "alter table %s rename column %s to nobodys", p->table, c);
                /* without the columns of its times a table of ROCm is of a layout that is not known */
                load_damaged(s, p, whole, damage, false, types);
                for (size_t v = n_columns++ % every; v < COUNT(values); v += every) {
                    snprintf(damage, sizeof damage, "update %s set %s = %s", p->table, c, values[v]);
                    load_damaged(s, p, whole, damage, false, types);
                }
            }
        }
        rs_events_free(whole);
    }
}

/* ---- SQLite out of memory ------------------------------------------------------------------------------- */

/* Whichever of SQLite's allocations fails, alone or with all behind it: memory is said to be short, or the answer is whole.
 * The first ones are all tried, later ones at growing distances: they are the same rows over and over. */
TEST(test_memory)
{
    for (size_t i = 0; i < COUNT(samples); i++) {
        rs_events *whole;
        image db = image_of(&samples[i], "");
        assert_int_equal(load_image(&db, &whole, NULL), RS_OK);
        size_t n_failed = 0;
        bool ran = true;
        for (uint64_t at = 1; ran; at += 1 + at / (RS_TEST_SLOW ? 10 : 40)) {
            rs_events *e;
            rs_error err = RS_ERROR_INIT;
            has_failed = false;
            goes_on = at & 1;
            left = at;
            rs_status status = load_image(&db, &e, &err);
            left = 0;
            ran = has_failed;
            has_failed = false;
            n_failed += status != RS_OK;
            if (status != RS_OK && status != RS_ERR_NOMEM)
                fail_msg("%s: allocation %d: %s", samples[i].name, (int)at, err.causes[0].message);
            if (status != RS_OK) continue;
            if (!same_events(e, whole))
                fail_msg("%s: without allocation %d another answer", samples[i].name, (int)at);
            rs_events_free(e);
        }
        assert_true(n_failed > 20);
        sqlite3_free(db.bytes);
        rs_events_free(whole);
    }
}

int main(int argc, char **argv)
{
    all_values = argc > 1 && strcmp(argv[1], "--all") == 0;
    return unit_run(set_up_memory, NULL);
}
