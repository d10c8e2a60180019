/* Inputs of several files: the CSV files of one rocprofv3 run are one rank. */
#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/job_internal.h"
#include "format/native.h"

#define KERNELS                                                                                              \
    "Kind,Agent_Id,Queue_Id,Thread_Id,Dispatch_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_"           \
    "Timestamp\n"                                                                                            \
    "KERNEL_DISPATCH,\"Agent 5\",1,7,1,\"gemm\",11,100,150\n"                                                \
    "KERNEL_DISPATCH,\"Agent 9\",1,7,2,\"gemm\",12,200,250\n"                                                \
    "KERNEL_DISPATCH,\"GPU 3\",1,7,3,\"gemm\",13,300,350\n"
#define CALLS                                                                                                \
    "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"                    \
    "HIP_RUNTIME_API,hipLaunchKernel,77,7,11,90,95\n"                                                        \
    "HIP_RUNTIME_API,hipLaunchKernel,77,7,12,96,99\n"
#define AGENTS                                                                                               \
    "\"Node_Id\",\"Logical_Node_Id\",\"Agent_Type\",\"Name\",\"Product_Name\"\n"                             \
    "0,0,\"CPU\",\"cpu\",\"\"\n4,1,\"GPU\",\"gfx942\",\"MI300X\"\n5,2,\"GPU\",\"gfx942\",\"MI300X\"\n"

typedef struct folder {
    char path[64];
} folder;

static folder make_folder(void)
{
    folder f = {"/tmp/rankscope_runs_XXXXXX"};
    assert_non_null(mkdtemp(f.path));
    return f;
}

static void put(const folder *f, const char *name, const char *content)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, strlen(content), file), strlen(content));
    fclose(file);
}

static void remove_folder(const folder *f)
{
    DIR *directory = opendir(f->path);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", f->path, entry->d_name);
        if (entry->d_name[0] != '.') assert_int_equal(unlink(path), 0);
    }
    closedir(directory);
    assert_int_equal(rmdir(f->path), 0);
}

static rs_job *open_folder(const folder *f)
{
    rs_job *job;
    const char *paths[] = {f->path};
    assert_int_equal(rs_job_open(paths, 1, NULL, &job, NULL), RS_OK);
    return job;
}

static bool ends(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static int64_t device(const rs_events *e, uint32_t row)
{
    int64_t v = RS_NO_VALUE;
    rs_events_int(e, RS_COL_DEVICE, row, &v);
    return v;
}

/* Prefixes tell runs apart; agents become GPU numbers; calls and kernels are linked over files. */
TEST(test_join)
{
    folder f = make_folder();
    put(&f, "results_kernel_trace.csv", KERNELS);
    put(&f, "results_hip_api_trace.csv", CALLS);
    put(&f, "results_agent_info.csv", AGENTS);
    put(&f, "12_kernel_trace.csv", KERNELS);
    put(&f, "12_kernel_stats.csv", "Name,Calls\n");
    rs_job *job = open_folder(&f);
    assert_int_equal(job->n_inputs, 3);
    rs_input *run = &job->inputs[2], *alone = &job->inputs[1];
    assert_true(ends(alone->path, "/12_kernel_trace.csv"));
    assert_int_equal(alone->n_parts, 0);
    assert_true(ends(run->path, "/results_kernel_trace.csv"));
    assert_int_equal(run->n_parts, 3);
    assert_true(ends(run->parts[0], "/results_agent_info.csv"));
    assert_true(ends(run->parts[1], "/results_hip_api_trace.csv"));

    assert_int_equal(rs_input_load(job, run, RS_LINK_COLUMNS, 1, NULL), RS_OK);
    assert_int_equal(run->n_traces, 1);
    const rs_events *e = run->events;
    assert_int_equal(e->n, 5);
    assert_int_equal(device(e, 2), 1); /* the second GPU */
    assert_int_equal(device(e, 3), 9); /* no such agent: its number */
    assert_int_equal(device(e, 4), 3);
    assert_int_equal(e->threads[e->thread[2]].pid, 77); /* as the calls say */
    assert_int_equal(e->info.n_devices, 2);
    assert_string_equal(text_at(e, e->info.device_name), "MI300X");
    const rs_links *links;
    assert_int_equal(rs_trace_links(&run->traces[0], &links, NULL), RS_OK);
    assert_int_equal(links->n_work, 2);
    assert_int_equal(links->n_unlinked, 1);
    rs_job_close(job);
    remove_folder(&f);
}

/* What stands in a database, in JSON or in the kernels' own file is not read twice. */
TEST(test_instead)
{
    folder f = make_folder();
    put(&f, "1_kernel_trace.csv", KERNELS);
    put(&f, "2_results.db", "x");
    put(&f, "2_results.json", "{}");
    put(&f, "2_kernel_trace.csv", KERNELS);
    rs_job *job = open_folder(&f);
    assert_int_equal(job->n_inputs, 4);
    unsigned passed = 0;
    for (size_t i = 0; i < job->n_inputs; i++) {
        const rs_input *input = &job->inputs[i];
        passed += input->instead != NULL;
        assert_int_equal(input->instead != NULL,
                         ends(input->path, "2_results.json") || ends(input->path, "2_kernel_trace.csv"));
        if (input->instead) assert_int_equal(rs_input_load(job, &job->inputs[i], 0, 1, NULL), RS_ERR_FORMAT);
    }
    assert_int_equal(passed, 2);
    rs_job_close(job);
    remove_folder(&f);
}

/* One bad file costs itself and is named; a run of bad files is unusable. */
TEST(test_bad_part)
{
    folder f = make_folder();
    put(&f, "1_kernel_trace.csv", KERNELS);
    put(&f, "1_marker_api_trace.csv", "");
    put(&f, "1_hip_api_trace.csv", CALLS "HIP_RUNTIME_API,hipLaunchKernel,77,7");
    rs_job *job = open_folder(&f);
    assert_int_equal(job->n_inputs, 1);
    assert_int_equal(rs_input_load(job, &job->inputs[0], 0, 1, NULL), RS_OK);
    bool empty = false, cut = false;
    for (size_t i = 0; i < job->inputs[0].problems.n; i++) {
        const rs_problem *p = &job->inputs[0].problems.items[i];
        if (strcmp(p->kind, "unusable_file") == 0) empty = ends(p->file, "/1_marker_api_trace.csv");
        if (strcmp(p->kind, "truncated") == 0) cut = ends(p->file, "/1_hip_api_trace.csv");
    }
    assert_true(empty && cut);
    rs_job_close(job);
    put(&f, "1_kernel_trace.csv", "nothing\n");
    put(&f, "1_hip_api_trace.csv", "{}");
    job = open_folder(&f);
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_input_load(job, &job->inputs[0], 0, 1, &err), RS_ERR_FORMAT);
    rs_job_close(job);
    remove_folder(&f);
}

/* A dispatch stands once for each of its counters. */
TEST(test_counters)
{
    static const char csv[] =
        "Correlation_Id,Dispatch_Id,Agent_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Name,Workgroup_Size,"
        "Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
        "1,5,2,8,8,65536,\"f\",256,SQ_WAVES,3,10,20\n1,5,2,8,8,65536,\"f\",256,SQ_BUSY,4,10,20\n"
        "2,6,2,8,8,65536,\"f\",256,SQ_WAVES,3,30,40\n";
    rs_source *source;
    rs_events *e;
    rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
    assert_int_equal(rs_source_open_bytes(csv, sizeof csv - 1, "x.csv", 0, &source, NULL), RS_OK);
    assert_int_equal(rs_rocprof_csv_load(source, &settings, &e, NULL), RS_OK);
    assert_int_equal(e->n, 2);
    assert_string_equal(text_at(e, rs_events_text(e, RS_COL_GRID, 0)), "[256, 1, 1]");
    assert_true(e->n_counters == 2 && e->counters[0].values.n == 2 && e->counters[1].values.reals[0] == 4);
    rs_events_free(e);
    rs_source_close(source);
}

#define COUNTERS                                                                                             \
    "Dispatch_Id,Agent_Id,Queue_Id,Thread_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_"    \
    "Timestamp\n"                                                                                            \
    "3,\"GPU 3\",1,7,\"gemm\",\"SQ_WAVES\",64.5,300,350\n"                                                   \
    "1,\"GPU 3\",1,7,\"gemm\",\"SQ_WAVES\",8,100,150\n"                                                      \
    "1,\"GPU 3\",1,7,\"gemm\",\"MfmaUtil\",2.5,100,150\n"                                                    \
    "4,\"GPU 3\",1,7,\"late\",\"SQ_WAVES\",1,400,450\n"                                                      \
    "5,\"GPU 3\",1,7,\"late\",\"SQ_WAVES\",x,500,550\n"

static rs_events *load_run(const folder *f, rs_job **job)
{
    *job = open_folder(f);
    assert_int_equal((*job)->n_inputs, 1);
    assert_int_equal(rs_input_load(*job, &(*job)->inputs[0], RS_LINK_COLUMNS, 1, NULL), RS_OK);
    return (*job)->inputs[0].events;
}

/* Counters belong to the kernels of the same number, in whatever order; one that the kernels' file lacks is a kernel of its
 * own. */
TEST(test_counters_of_kernels)
{
    rs_job *job;
    folder f = make_folder();
    put(&f, "1_kernel_trace.csv", KERNELS);
    put(&f, "1_counter_collection.csv", COUNTERS);
    const rs_events *e = load_run(&f, &job);
    assert_int_equal(e->n, 5);
    assert_int_equal(e->n_counters, 2);
    const rs_sparse *waves = &e->counters[0].values, *matrix = &e->counters[1].values;
    static const uint32_t rows[] = {0, 2, 3};
    static const double values[] = {8, 64.5, 1};
    assert_string_equal(text_at(e, e->counters[0].name), "SQ_WAVES");
    assert_int_equal(waves->n, 3);
    for (size_t i = 0; i < 3; i++) assert_true(waves->rows[i] == rows[i] && waves->reals[i] == values[i]);
    assert_true(matrix->n == 1 && matrix->rows[0] == 0 && matrix->reals[0] == 2.5);
    rs_job_close(job);
    /* kernels without numbers: nothing says which of them was measured */
    put(&f, "1_kernel_trace.csv",
        "Agent_Id,Kernel_Name,Start_Timestamp,End_Timestamp\n\"GPU 3\",\"gemm\",100,150\n");
    e = load_run(&f, &job);
    assert_true(e->n == 1 && e->n_counters == 0);
    const rs_problems *told = &job->inputs[0].problems;
    assert_true(told->n == 1 && told->items[0].count == 5);
    assert_string_equal(told->items[0].kind, "unmatched_counters");
    rs_job_close(job);
    remove_folder(&f);
}

/* Every allocation failing in turn: an error, nothing lost. */
TEST(test_allocations)
{
    folder f = make_folder();
    put(&f, "1_kernel_trace.csv", KERNELS);
    put(&f, "1_hip_api_trace.csv", CALLS);
    put(&f, "1_agent_info.csv", AGENTS);
    put(&f, "1_counter_collection.csv", COUNTERS);
    const char *paths[] = {f.path};
    rs_status status = RS_ERR_NOMEM;
    for (uint64_t fail = 1; status != RS_OK; fail++) {
        rs_job *job = NULL;
        assert_true(fail < 10000);
        rs_test_fail_allocation(fail);
        status = rs_job_open(paths, 1, NULL, &job, NULL);
        if (status == RS_OK) status = rs_input_load(job, &job->inputs[0], RS_ALL_COLUMNS, 1, NULL);
        rs_test_fail_allocation(0);
        rs_job_close(job);
    }
    remove_folder(&f);
}

/* A job made of another's files has the same inputs: what is read as one stays one. */
TEST(test_files_of_a_job)
{
    folder f = make_folder();
    put(&f, "1_kernel_trace.csv", KERNELS);
    put(&f, "1_hip_api_trace.csv", CALLS);
    put(&f, "1_kernel_trace.csv.gz", KERNELS);
    rs_job *job = open_folder(&f), *copy;
    assert_int_equal(rs_job_n_files(job), 2);
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        rs_status status = rs_job_open(NULL, 0, NULL, &copy, NULL);
        assert_int_equal(status, RS_OK);
        rs_test_fail_allocation(n);
        for (size_t i = 0; status == RS_OK && i < rs_job_n_files(job); i++) {
            rs_job_file file = rs_job_get_file(job, i);
            status = rs_job_add(copy, &file, NULL);
        }
        done = rs_test_fail_allocation(0) < n;
        assert_int_equal(status, done ? RS_OK : RS_ERR_NOMEM);
        if (!done) rs_job_close(copy);
    }
    assert_int_equal(copy->n_inputs, job->n_inputs);
    assert_int_equal(copy->bytes_total, job->bytes_total);
    for (size_t i = 0; i < job->n_inputs; i++) {
        const rs_input *a = &job->inputs[i], *b = &copy->inputs[i];
        assert_string_equal(a->path, b->path);
        assert_int_equal(a->instead != NULL, b->instead != NULL);
        assert_int_equal(a->n_parts, b->n_parts);
        for (size_t k = 0; k < a->n_parts; k++) assert_string_equal(a->parts[k], b->parts[k]);
    }
    size_t whole = copy->inputs[0].instead ? 1 : 0;
    assert_true(copy->n_inputs == 2 && copy->inputs[1 - whole].instead);
    assert_int_equal(copy->inputs[whole].n_parts, 2);
    rs_job_close(copy);
    rs_job_close(job);
    remove_folder(&f);
}
