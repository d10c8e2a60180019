/* What a cluster writes next to the dumps of one hang: NCCL RAS and Inspector, the job's log, DCGM's series, Python stacks. Each shows the same job in its own
 * way, is there or not, and may be wrong: a RAS report from before the hang, a log of another attempt or by a wrong clock. */
#include <inttypes.h>
#include <stdio.h>

#include "sim.h"

#define PER_HOST 4u
#define HOUR INT64_C(3600000000000)

static FILE *create(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return fopen(path, "w");
}

/* How many collectives of a group a rank's host has launched by a moment. */
static unsigned launched(const sim_job *job, unsigned rank, uint32_t group, int64_t until)
{
    const sim_rank *r = &job->ranks[rank];
    unsigned n = 0;
    for (size_t i = 0; i < r->host; i++)
        n += r->ops[i].group == group && !r->ops[i].p2p && r->ops[i].kind != SIM_MARK &&
             r->ops[i].created <= until;
    return n;
}

static int64_t last_issue(const sim_job *job)
{
    int64_t end = 0;
    for (unsigned r = 0; r < job->world; r++)
        for (size_t i = 0; i < job->ranks[r].host; i++)
            if (job->ranks[r].ops[i].created > end) end = job->ranks[r].ops[i].created;
    return end;
}

static void put_process(FILE *f, unsigned place, unsigned rank)
{
    fprintf(f, "{\"rank\": %u, \"host\": \"10.0.0.%u\", \"pid\": %u, \"cuda_dev\": %u, \"nvml_dev\": %u, ",
            place, rank / PER_HOST + 1, 4200 + rank, rank % PER_HOST, rank % PER_HOST);
}

bool sim_write_ras(const sim_job *job, int64_t until, const char *directory)
{
    FILE *f = create(directory, "ras.json");
    if (!f) return false;
    int64_t s = (until == INT64_MAX ? last_issue(job) + HOUR / 4 : until) / 1000000000 % 86400;
    fprintf(
        f,
        "{\"nccl_version\": \"2.29.1\", \"timestamp\": \"2026-03-14 %02d:%02d:%02d\", \"communicators\": [",
        (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
    for (uint32_t g = 0, written = 0; g < job->n_groups; g++) {
        const sim_group *group = &job->groups[g];
        bool dead = job->fault == SIM_CRASH && until == INT64_MAX;
        if (group->n < 2) continue;
        fprintf(f, "%s\n{\"hash\": \"0x%x\", \"size\": %u, \"ranks\": [", written++ ? "," : "", 0x1000 + g,
                group->n);
        for (int missing = 0; missing < 2; missing++) {
            if (missing) fprintf(f, "], \"missing_ranks\": [");
            for (unsigned i = 0, n = 0; i < group->n; i++) {
                unsigned rank = group->ranks[i];
                if ((dead && rank == job->guilty) != missing) continue;
                fprintf(f, "%s\n", n++ ? "," : "");
                put_process(f, i, rank);
                if (missing)
                    fprintf(f, "\"status\": {\"unresponsive\": true, \"considered_dead\": true}}");
                else
                    fprintf(
                        f,
                        "\"status\": {\"init_state\": 0, \"async_error\": 0}, \"collective_counts\": {\"AllReduce\": %u}}",
                        launched(job, rank, g, until));
            }
        }
        fprintf(f, "]}");
    }
    fprintf(f, "\n], \"ras\": {\"timeouts_count\": 0}}\n");
    return fclose(f) == 0;
}

/* "2026-03-14 02:11:08 " of a moment. */
static void put_time(FILE *f, int64_t ns)
{
    int64_t s = ns / 1000000000 % 86400;
    fprintf(f, "2026-03-14 %02d:%02d:%02d ", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
}

bool sim_write_log(const sim_job *job, unsigned guilty, int64_t shift_ns, const char *directory)
{
    static const char *const months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    FILE *f = create(directory, "job.log");
    int64_t end = last_issue(job);
    unsigned first_pid = guilty == job->guilty ? 4200 : 7700; /* of another attempt */
    if (!f) return false;
    for (unsigned r = 0; r < job->world; r++) {
        fprintf(
            f,
            "node%02u:%u:%u [%u] NCCL INFO comm 0x%x rank %u nranks %u cudaDev %u busId %ub000 commId 0x9\n",
            r / PER_HOST, first_pid + r, first_pid + r, r % PER_HOST, r + 1, r, job->world, r % PER_HOST,
            r % PER_HOST + 1);
    }
    end += shift_ns;
    int64_t s = end / 1000000000 % 86400;
    if (job->fault == SIM_HOST_STOP) {
        for (int i = 0; i < 3; i++) {
            static const char *const lines[] = {
                "Traceback (most recent call last):", "  File \"/app/loader.py\", line 88, in read",
                "ValueError: bad shard"};
            put_time(f, end);
            fprintf(f, "[rank%u]: %s\n", guilty, lines[i]);
        }
    } else if (job->fault == SIM_GPU_BLOCK || job->fault == SIM_HALF_DONE) {
        fprintf(
            f,
            "%.3s 14 %02d:%02d:%02d node%02u kernel: [1.1] NVRM: Xid (PCI:0000:%ub:00): 79, GPU has fallen off the bus.\n",
            months + 6, (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60), guilty / PER_HOST,
            guilty % PER_HOST + 1);
    } else if (job->fault == SIM_CRASH) {
        put_time(f, end);
        fprintf(f, "[rank%u]: Fatal Python error: Segmentation fault\n", guilty);
    }
    for (unsigned r = 0; r < job->world && job->fault != SIM_NONE; r++) {
        if (job->ranks[r].gpu >= job->ranks[r].host) continue; /* nothing of it is open */
        put_time(f, end + HOUR / 6);
        fprintf(
            f,
            "[rank%u]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=6, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
            "Timeout(ms)=600000) ran\n",
            r);
    }
    return fclose(f) == 0;
}

bool sim_write_stacks(const sim_job *job, const char *directory)
{
    for (unsigned r = 0; r < job->world; r++) {
        char name[64];
        bool away = job->fault == SIM_HOST_STOP && r == job->guilty;
        if (job->fault == SIM_CRASH && r == job->guilty) continue; /* its process is gone */
        snprintf(name, sizeof name, "stack_rank%u.txt", r);
        FILE *f = create(directory, name);
        if (!f) return false;
        fprintf(
            f,
            "Process %u: python train.py\nPython v3.12.3 (/usr/bin/python3.12)\n\nThread %u (active): \"MainThread\"\n",
            4200 + r, 4200 + r);
        fprintf(f, away ? "    read (/app/loader.py:88)\n"
                        : "    all_reduce (torch/distributed/distributed_c10d.py:2501)\n");
        fprintf(f, "    <module> (/app/train.py:91)\n");
        if (fclose(f) != 0) return false;
    }
    return true;
}

/* ---- NCCL Inspector ------------------------------------------------------------------------------------------- */

/* One file a host: a line a finished collective. Records of a moment long ago are of an earlier run. */
bool sim_write_inspector(const sim_job *job, int64_t shift_ns, const char *directory)
{
    static const char *const names[] = {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll", "Broadcast"};
    FILE *f = NULL;
    for (unsigned r = 0; r < job->world; r++) {
        const sim_rank *rank = &job->ranks[r];
        char name[64];
        if (r % PER_HOST == 0) {
            snprintf(name, sizeof name, "node%02u-pid%u.log", r / PER_HOST, 4200 + r);
            if (f) fclose(f);
            if (!(f = create(directory, name))) return false;
        }
        for (size_t i = 0; i < rank->n; i++) {
            const sim_op *op = &rank->ops[i];
            const sim_group *group = &job->groups[op->group];
            unsigned in_group = 0;
            if (op->state != 2 || op->p2p || op->kind > SIM_BROADCAST || op->numel == 0) continue;
            while (group->ranks[in_group] != r) in_group++;
            double us = (double)(op->completed - op->started) / 1e3;
            fprintf(
                f,
                "{\"header\":{\"id\":\"0x%x\",\"rank\":%u,\"n_ranks\":%u,\"nnodes\":2},\"metadata\":{"
                "\"inspector_output_format_version\":\"v4.0\",\"git_rev\":\"\",\"rec_mechanism\":\"profiler_plugin\","
                "\"dump_timestamp_us\":%" PRId64
                ",\"hostname\":\"node%02u\",\"pid\":%u},\"coll_perf\":{\"coll\":\"%s\","
                "\"coll_sn\":%u,\"coll_msg_size_bytes\":%u,\"coll_exec_time_us\":%.0f,\"coll_timing_source\":\"kernel_gpu\","
                "\"coll_algobw_gbs\":1.0,\"coll_busbw_gbs\":1.0}}\n",
                0x1000 + op->group, in_group, group->n, (op->completed + shift_ns) / 1000, r / PER_HOST,
                4200 + r, names[op->kind], op->seq, op->numel * 4, us);
        }
    }
    return f && fclose(f) == 0;
}

/* ---- DCGM through Prometheus ------------------------------------------------------------------------------------ */

/* Clocks and Xid of every GPU, each 15 s from half an hour before the end. xid_of: whose GPU reports one, from three samples before
 * the end; the world's size: none. */
bool sim_write_metrics(const sim_job *job, unsigned xid_of, int64_t shift_ns, const char *directory)
{
    enum { SAMPLES = 120 };
    FILE *f = create(directory, "dcgm.json");
    int64_t end = last_issue(job) + HOUR / 6 + shift_ns;
    if (!f) return false;
    fprintf(f, "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[");
    for (unsigned r = 0; r < job->world; r++)
        for (int xid = 0; xid < 2; xid++) {
            fprintf(
                f,
                "%s\n{\"metric\":{\"__name__\":\"%s\",\"gpu\":\"%u\",\"Hostname\":\"node%02u\",\"pci_bus_id\":"
                "\"00000000:%uB:00.0\"},\"values\":[",
                r + (unsigned)xid ? "," : "", xid ? "DCGM_FI_DEV_XID_ERRORS" : "DCGM_FI_DEV_SM_CLOCK",
                r % PER_HOST, r / PER_HOST, r % PER_HOST + 1);
            for (unsigned i = 0; i < SAMPLES; i++) {
                int64_t at = end / 1000000000 - 15 * (SAMPLES - 1 - (int64_t)i);
                unsigned value = !xid                              ? 1980 - (i * 7 + r) % 3 * 15
                                 : r == xid_of && i + 3 >= SAMPLES ? 79
                                                                   : 0;
                fprintf(f, "%s[%" PRId64 ",\"%u\"]", i ? "," : "", at, value);
            }
            fprintf(f, "]}");
        }
    fprintf(f, "]}}\n");
    return fclose(f) == 0;
}
