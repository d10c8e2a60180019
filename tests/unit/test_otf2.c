/* OTF2 archives: one that OTF2's own library writes is read by the program that reads them; damaged ones cost an error. */
#define _GNU_SOURCE

#include <dirent.h>
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "format/format.h"
#include "support.h"

/* ---- an archive ---------------------------------------------------------------------------------------- */

enum {
    S_EMPTY,
    S_RANK0,
    S_RANK1,
    S_GPU,
    S_THREAD,
    S_STREAM,
    S_MAIN,
    S_ALLREDUCE,
    S_SEND,
    S_RECV,
    S_LAUNCH,
    S_KERNEL,
    S_WORLD,
    S_MPI,
    S_NODE,
    N_STRINGS
};
static const char *const strings[N_STRINGS] = {"",
                                               "MPI Rank 0",
                                               "MPI Rank 1",
                                               "GPU",
                                               "Master thread",
                                               "stream 7",
                                               "main",
                                               "MPI_Allreduce",
                                               "MPI_Send",
                                               "MPI_Recv",
                                               "cudaLaunchKernel",
                                               "gemm \"x\"\n",
                                               "MPI_COMM_WORLD",
                                               "MPI",
                                               "node"};

static OTF2_FlushType before_flush(void *data, OTF2_FileType type, OTF2_LocationRef at, void *of, bool last)
{
    (void)data, (void)type, (void)at, (void)of, (void)last;
    return OTF2_FLUSH;
}
static OTF2_TimeStamp after_flush(void *data, OTF2_FileType type, OTF2_LocationRef at)
{
    (void)data, (void)type, (void)at;
    return 0;
}
static OTF2_FlushCallbacks flushing = {before_flush, after_flush};

static void region(OTF2_EvtWriter *w, uint64_t from, uint64_t to, uint32_t which)
{
    OTF2_EvtWriter_Enter(w, NULL, from, which);
    OTF2_EvtWriter_Leave(w, NULL, to, which);
}

/* Locations 0 and 1 are the threads of two ranks, 2 is a stream of rank 1. A tick is 2 ns, the first is 1000. */
static void write_archive(const char *folder)
{
    OTF2_Archive *a = OTF2_Archive_Open(folder, "t", OTF2_FILEMODE_WRITE, 1 << 20, 1 << 20,
                                        OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    assert_non_null(a);
    OTF2_Archive_SetFlushCallbacks(a, &flushing, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(a);
    OTF2_Archive_OpenEvtFiles(a);
    OTF2_EvtWriter *w = OTF2_Archive_GetEvtWriter(a, 0);
    OTF2_EvtWriter_Enter(w, NULL, 1000, 0);
    OTF2_EvtWriter_Enter(w, NULL, 1100, 1);
    OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, 1490, OTF2_COLLECTIVE_OP_ALLREDUCE, 0, OTF2_UNDEFINED_UINT32,
                                    4096, 4096);
    OTF2_EvtWriter_Leave(w, NULL, 1500, 1);
    OTF2_EvtWriter_Enter(w, NULL, 1600, 2);
    OTF2_EvtWriter_MpiSend(w, NULL, 1601, 1, 0, 10, 800);
    OTF2_EvtWriter_Leave(w, NULL, 1700, 2);
    OTF2_EvtWriter_Leave(w, NULL, 3000, 0);
    OTF2_Archive_CloseEvtWriter(a, w);
    w = OTF2_Archive_GetEvtWriter(a, 1);
    OTF2_EvtWriter_Enter(w, NULL, 1000, 0);
    OTF2_EvtWriter_Enter(w, NULL, 1300, 1);
    OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, 1490, OTF2_COLLECTIVE_OP_ALLREDUCE, 0, OTF2_UNDEFINED_UINT32,
                                    4096, 4096);
    OTF2_EvtWriter_Leave(w, NULL, 1500, 1);
    OTF2_EvtWriter_Enter(w, NULL, 1550, 3);
    OTF2_EvtWriter_MpiRecv(w, NULL, 1700, 0, 0, 10, 800);
    OTF2_EvtWriter_Leave(w, NULL, 1710, 3);
    region(w, 1800, 1810, 4);
    OTF2_EvtWriter_Leave(w, NULL, 3000, 0);
    OTF2_Archive_CloseEvtWriter(a, w);
    w = OTF2_Archive_GetEvtWriter(a, 2);
    region(w, 1820, 2020, 5);
    OTF2_EvtWriter_RmaGet(w, NULL, 2100, 0, 0, 640, 1);
    OTF2_EvtWriter_RmaOpCompleteBlocking(w, NULL, 2200, 0, 1);
    OTF2_Archive_CloseEvtWriter(a, w);
    OTF2_Archive_CloseEvtFiles(a);
    OTF2_Archive_OpenDefFiles(a);
    for (uint64_t i = 0; i < 3; i++) OTF2_Archive_CloseDefWriter(a, OTF2_Archive_GetDefWriter(a, i));
    OTF2_Archive_CloseDefFiles(a);
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(a);
    OTF2_GlobalDefWriter_WriteClockProperties(d, 500000000, 1000, 2000, OTF2_UNDEFINED_TIMESTAMP);
    for (uint32_t i = 0; i < N_STRINGS; i++) OTF2_GlobalDefWriter_WriteString(d, i, strings[i]);
    OTF2_GlobalDefWriter_WriteParadigm(d, OTF2_PARADIGM_MPI, S_MPI, OTF2_PARADIGM_CLASS_PROCESS);
    static const struct {
        uint32_t name;
        OTF2_RegionRole role;
        OTF2_Paradigm paradigm;
    } regions[] = {{S_MAIN, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_COMPILER},
                   {S_ALLREDUCE, OTF2_REGION_ROLE_COLL_ALL2ALL, OTF2_PARADIGM_MPI},
                   {S_SEND, OTF2_REGION_ROLE_POINT2POINT, OTF2_PARADIGM_MPI},
                   {S_RECV, OTF2_REGION_ROLE_POINT2POINT, OTF2_PARADIGM_MPI},
                   {S_LAUNCH, OTF2_REGION_ROLE_WRAPPER, OTF2_PARADIGM_CUDA},
                   {S_KERNEL, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_CUDA}};
    for (uint32_t i = 0; i < 6; i++)
        OTF2_GlobalDefWriter_WriteRegion(d, i, regions[i].name, regions[i].name, S_EMPTY, regions[i].role,
                                         regions[i].paradigm, OTF2_REGION_FLAG_NONE, S_EMPTY, 0, 0);
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, S_NODE, S_NODE, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    OTF2_GlobalDefWriter_WriteLocationGroup(d, 0, S_GPU, OTF2_LOCATION_GROUP_TYPE_ACCELERATOR, 0, 2);
    OTF2_GlobalDefWriter_WriteLocationGroup(d, 1, S_RANK0, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                            OTF2_UNDEFINED_LOCATION_GROUP);
    OTF2_GlobalDefWriter_WriteLocationGroup(d, 2, S_RANK1, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                            OTF2_UNDEFINED_LOCATION_GROUP);
    OTF2_GlobalDefWriter_WriteLocation(d, 0, S_THREAD, OTF2_LOCATION_TYPE_CPU_THREAD, 8, 1);
    OTF2_GlobalDefWriter_WriteLocation(d, 1, S_THREAD, OTF2_LOCATION_TYPE_CPU_THREAD, 10, 2);
    OTF2_GlobalDefWriter_WriteLocation(d, 2, S_STREAM, OTF2_LOCATION_TYPE_ACCELERATOR_STREAM, 4, 0);
    const uint64_t threads[] = {0, 1}, places[] = {0, 1};
    OTF2_GlobalDefWriter_WriteGroup(d, 0, S_MPI, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, 2, threads);
    OTF2_GlobalDefWriter_WriteGroup(d, 1, S_EMPTY, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, 2, places);
    OTF2_GlobalDefWriter_WriteComm(d, 0, S_WORLD, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    OTF2_Archive_CloseGlobalDefWriter(a, d);
    assert_int_equal(OTF2_Archive_Close(a), OTF2_SUCCESS);
}

static void remove_folder(const char *folder)
{
    char path[300];
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat info;
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
            remove_folder(path);
        else
            unlink(path);
    }
    if (d) closedir(d);
    rmdir(folder);
}

static char folder[] = "/tmp/rs_otf2_XXXXXX";

static int set_up(void **state)
{
    char path[4096], archive[64];
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(archive, sizeof archive, "%s/a", folder);
    write_archive(archive);
    snprintf(path, sizeof path, RS_BUILD_DIR ":%s", getenv("PATH"));
    return setenv("PATH", path, 1);
}

static int tear_down(void **state)
{
    (void)state;
    remove_folder(folder);
    return 0;
}

static rs_status load_archive(rs_events **out, rs_error *err)
{
    char path[64];
    snprintf(path, sizeof path, "%s/a/t.otf2", folder);
    rs_source *source;
    rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
    assert_int_equal(rs_source_open(path, 0, &source, err), RS_OK);
    rs_status status = rs_trace_load(&(rs_trace_input){.path = path, .source = source}, &settings, out, err);
    rs_source_close(source);
    return status;
}

/* ---- what is read -------------------------------------------------------------------------------------- */

static uint32_t row_of(const rs_events *e, const char *name, int64_t rank)
{
    for (uint32_t i = 0; i < e->n; i++) {
        int64_t of;
        if (strcmp(rs_event_name(e, i), name) == 0 && rs_events_int(e, RS_COL_RANK, i, &of) && of == rank)
            return i;
    }
    fail_msg("rank %d has no %s", (int)rank, name);
    return 0;
}

static void expect(const rs_events *e, const char *name, int64_t rank, rs_kind kind, int64_t start,
                   int64_t ns)
{
    uint32_t row = row_of(e, name, rank);
    assert_int_equal(rs_event_kind(e, row), kind);
    assert_int_equal(e->start[row] - e->start[row_of(e, "main", 0)], start);
    assert_int_equal(e->duration[row], ns);
}

static void expect_number(const rs_events *e, const char *name, int64_t rank, rs_column_id column,
                          int64_t wanted)
{
    int64_t value;
    assert_true(rs_events_int(e, column, row_of(e, name, rank), &value));
    assert_int_equal(value, wanted);
}

TEST(test_archive)
{
    rs_events *e;
    rs_error err = RS_ERROR_INIT;
    if (load_archive(&e, &err) != RS_OK) fail_msg("%s", err.causes[0].message);
    assert_string_equal(e->form, "OTF2 archive");
    expect(e, "main", 0, RS_KIND_CPU_OP, 0, 4000);
    expect(e, "main", 1, RS_KIND_CPU_OP, 0, 4000);
    expect(e, "MPI_Allreduce", 0, RS_KIND_USER_ANNOTATION, 200, 800);
    expect(e, "MPI_Allreduce", 1, RS_KIND_USER_ANNOTATION, 600, 400);
    expect_number(e, "MPI_Allreduce", 1, RS_COL_IN_NELEMS, 4096);
    expect_number(e, "MPI_Allreduce", 1, RS_COL_GROUP_SIZE, 2);
    expect(e, "MPI_Send", 0, RS_KIND_USER_ANNOTATION, 1200, 200);
    expect_number(e, "MPI_Send", 0, RS_COL_SRC_RANK, 0);
    expect_number(e, "MPI_Send", 0, RS_COL_DST_RANK, 1);
    expect_number(e, "MPI_Send", 0, RS_COL_IN_NELEMS, 800);
    expect_number(e, "MPI_Recv", 1, RS_COL_SRC_RANK, 0);
    expect_number(e, "MPI_Recv", 1, RS_COL_DST_RANK, 1);
    expect(e, "cudaLaunchKernel", 1, RS_KIND_RUNTIME, 1600, 20);
    expect(e, "gemm \"x\"\n", 1, RS_KIND_KERNEL, 1640, 400);
    expect_number(e, "gemm \"x\"\n", 1, RS_COL_STREAM, 0);
    expect(e, "Memcpy (get)", 1, RS_KIND_MEMCPY, 2200, 200);
    expect_number(e, "Memcpy (get)", 1, RS_COL_BYTES, 640);
    static const char *const advised[] = {"GPU work", "host operators", "steps", "rank"};
    for (size_t i = 0; i < sizeof advised / sizeof *advised; i++)
        assert_non_null(rs_format_remedy(e, advised[i]));
    rs_events_free(e);
}

/* What an answer from the store depends on: all of the archive's files. */
typedef struct seen_files {
    char names[500];
    size_t stop; /* after so many */
} seen_files;

static bool see(void *context, const char *path)
{
    seen_files *seen = context;
    assert_int_equal(strncmp(path, folder, strlen(folder)), 0);
    strncat(seen->names, path + strlen(folder), sizeof seen->names - strlen(seen->names) - 2);
    strcat(seen->names, " ");
    return --seen->stop > 0;
}

TEST(test_files)
{
    char path[300];
    seen_files all = {.stop = 100}, some = {.stop = 2};
    snprintf(path, sizeof path, "%s/a/t.otf2", folder);
    assert_true(rs_format_otf2.each_file(path, see, &all));
    assert_string_equal(all.names,
                        "/a/t.def /a/t/0.def /a/t/0.evt /a/t/1.def /a/t/1.evt /a/t/2.def /a/t/2.evt ");
    assert_false(rs_format_otf2.each_file(path, see, &some));
    assert_string_equal(some.names, "/a/t.def /a/t/0.def ");
    snprintf(path, sizeof path, "%s/none.otf2", folder);
    assert_false(rs_format_otf2.each_file(path, see, &all));
}

/* ---- damage -------------------------------------------------------------------------------------------- */

/* A file of the archive without its end, and with bytes changed: an answer or an error that names the archive, and no crash. */
static void damage(const char *name, size_t step)
{
    char path[300];
    unsigned char bytes[65536];
    snprintf(path, sizeof path, "%s/a/%s", folder, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    for (size_t i = 0; i < 2 * n; i += step) {
        size_t at = i / 2;
        f = fopen(path, "wb");
        fwrite(bytes, 1, at, f);
        if (i % 2) {
            fputc(bytes[at] ^ 0x5a, f);
            fwrite(bytes + at + 1, 1, n - at - 1, f);
        }
        fclose(f);
        rs_events *e = NULL;
        rs_error err = RS_ERROR_INIT;
        rs_status status = load_archive(&e, &err);
        assert_true(status == RS_OK || status == RS_ERR_FORMAT);
        assert_true(status == RS_OK || strstr(err.causes[0].message, "OTF2"));
        rs_events_free(e);
    }
    f = fopen(path, "wb");
    fwrite(bytes, 1, n, f);
    fclose(f);
}

TEST(test_damage)
{
    damage("t.def", 53);
    damage("t/0.evt", 11);
}

TEST(test_without_program)
{
    rs_events *e;
    rs_error err = RS_ERROR_INIT;
    char *path = rs_strdup(getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(load_archive(&e, &err), RS_ERR_FORMAT);
    assert_non_null(strstr(err.causes[0].message, "neither next to the program nor on the PATH"));
    setenv("PATH", path, 1);
    rs_free(path);
}

int main(void)
{
    return unit_run(set_up, tear_down);
}
