/* flight_sim check [SEEDS [FIRST]]   how often the verdict names the right ranks
 * flight_sim write DIR FAULT SEED [TP PP DP STEPS LAYERS RING JSON]   a job's dumps, for looking at and for
 * timing */
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rankscope/flight.h"
#include "sim.h"

static void remove_dumps(const char *directory)
{
    DIR *dir = opendir(directory);
    if (!dir) return;
    for (struct dirent *e; (e = readdir(dir));) {
        char path[4096];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
        unlink(path);
    }
    closedir(dir);
}

static bool names(const rs_flight_finding *f, unsigned rank)
{
    for (size_t i = 0; i < f->n_culprits; i++)
        if (f->culprits[i] == (int64_t)rank) return true;
    return false;
}

typedef enum lost_files { LOST_NONE, LOST_GUILTY, LOST_INNOCENT } lost_files;

/* Whether the verdict is the truth: its kind, and exactly the guilty ranks. */
static bool is_right(const sim_job *job, const rs_flight_finding *f, lost_files lost)
{
    static const rs_flight_verdict verdicts[SIM_N_FAULTS] = {[SIM_NONE] = RS_FLIGHT_HEALTHY,
                                                             [SIM_HOST_STOP] = RS_FLIGHT_RANK_MISSING,
                                                             [SIM_CRASH] = RS_FLIGHT_DUMP_MISSING,
                                                             [SIM_TYPE] = RS_FLIGHT_TYPE_MISMATCH,
                                                             [SIM_SIZE] = RS_FLIGHT_SIZE_MISMATCH,
                                                             [SIM_DTYPE] = RS_FLIGHT_DTYPE_MISMATCH,
                                                             [SIM_GPU_BLOCK] = RS_FLIGHT_BLOCKED_BEFORE_START,
                                                             [SIM_NETWORK] = RS_FLIGHT_STUCK,
                                                             [SIM_HALF_DONE] = RS_FLIGHT_STATE_MISMATCH,
                                                             [SIM_P2P_SIZE] = RS_FLIGHT_P2P_SIZE_MISMATCH,
                                                             [SIM_P2P_DEADLOCK] = RS_FLIGHT_P2P_DEADLOCK,
                                                             [SIM_CROSS_ORDER] = RS_FLIGHT_CROSS_GROUP_ORDER,
                                                             [SIM_STRAGGLER] = RS_FLIGHT_STRAGGLER};
    if (lost == LOST_GUILTY)
        return f->verdict == RS_FLIGHT_DUMP_MISSING && f->n_culprits == 1 && names(f, job->guilty);
    if (f->verdict != verdicts[job->fault]) return false;
    /* Of two ranks that left nothing, both being waited for, none can be told from the other. */
    if (lost == LOST_INNOCENT && job->fault == SIM_CRASH) return names(f, job->guilty);
    const sim_group *g = job->fault_group == UINT32_MAX ? NULL : &job->groups[job->fault_group];
    switch (job->fault) {
    case SIM_NONE: return true;
    case SIM_NETWORK: return f->n_culprits == 0 && f->seq == job->fault_seq && strcmp(f->group, g->uid) == 0;
    case SIM_TYPE:
    case SIM_SIZE:
    case SIM_DTYPE:
        /* In a pair there is no majority: both differ from each other, unless one contradicts itself. */
        if (f->seq != job->fault_seq || !names(f, job->guilty)) return false;
        return f->n_culprits == 1 || (g->n == 2 && f->n_culprits == 2);
    case SIM_P2P_SIZE:
    case SIM_P2P_DEADLOCK: return f->n_culprits == 2 && names(f, job->guilty) && names(f, job->partner);
    case SIM_CROSS_ORDER: return names(f, job->guilty);
    default: return f->n_culprits == 1 && names(f, job->guilty);
    }
}

/* Stopping just before the end of a program, or in a rank nobody waits for, leaves nothing to see. */
static bool is_visible(const sim_job *job)
{
    if (job->fault == SIM_NONE || job->fault == SIM_STRAGGLER) return true;
    if (!job->fatal) return true;
    for (unsigned r = 0; r < job->world; r++)
        if (r != job->guilty && job->ranks[r].gpu < job->ranks[r].host) return true;
    return false;
}

typedef struct score {
    unsigned right, wrong;
} score;

static bool judge(const sim_job *job, const char *directory, lost_files lost, score *s, bool loud)
{
    rs_error err = RS_ERROR_INIT;
    rs_flight *flight = NULL;
    rs_flight_settings settings = {.jobs = 1, .allow_missing = true};
    const rs_flight_report *report;
    const char *paths[] = {directory};
    remove_dumps(directory);
    if (!sim_write(job, directory)) {
        fprintf(stderr, "cannot write dumps to %s\n", directory);
        return false;
    }
    if (rs_flight_open(paths, 1, &settings, &flight, &err) != RS_OK ||
        rs_flight_get_report(flight, &report, &err) != RS_OK) {
        char text[2048];
        fprintf(stderr, "seed %llu: %s\n", (unsigned long long)job->s.seed,
                rs_error_text(&err, text, sizeof text));
        rs_flight_close(flight);
        return false;
    }
    bool right = is_right(job, &report->root, lost);
    if (right)
        s->right++;
    else
        s->wrong++;
    if (!right && loud)
        printf("seed %llu, %s of rank %u (%ux%ux%u, window %u, lost %d, group %s seq %u): %s: %s\n",
               (unsigned long long)job->s.seed, sim_fault_name(job->fault), job->guilty, job->tp, job->pp,
               job->dp, job->window, lost,
               job->fault_group == UINT32_MAX ? "-" : job->groups[job->fault_group].uid, job->fault_seq,
               rs_flight_verdict_name(report->root.verdict), report->root.summary);
    rs_flight_close(flight);
    return true;
}

static double share(score s)
{
    return s.right + s.wrong ? 100.0 * s.right / (s.right + s.wrong) : 100;
}

static int check(uint64_t seeds, uint64_t first)
{
    char directory[] = "/tmp/flight_sim.XXXXXX";
    if (!mkdtemp(directory)) {
        perror("mkdtemp");
        return 2;
    }
    score all[SIM_N_FAULTS] = {0}, guilty[SIM_N_FAULTS] = {0}, innocent[SIM_N_FAULTS] = {0};
    bool good = true;
    for (uint64_t i = 0; i < seeds && good; i++) {
        uint64_t seed = first + i;
        /* One job in fourteen is healthy; a fault without a place in the program gives way to another
         * program. */
        sim_fault fault = (sim_fault)(seed % SIM_N_FAULTS);
        sim_job job;
        for (uint64_t attempt = 0;; attempt++) {
            sim_settings settings = {
                .seed = seed + attempt * 1000003, .fault = fault, .clock_ms = -1, .json = -1};
            if (sim_run(&job, &settings) && is_visible(&job)) break;
            sim_free(&job);
        }
        good = judge(&job, directory, LOST_NONE, &all[fault], true);
        bool one_guilty = fault != SIM_NONE && fault != SIM_CRASH && fault != SIM_NETWORK &&
                          fault != SIM_STRAGGLER && job.fatal;
        if (good && one_guilty) {
            job.ranks[job.guilty].lost = true;
            good = judge(&job, directory, LOST_GUILTY, &guilty[fault], true);
            job.ranks[job.guilty].lost = false;
        }
        unsigned other = (unsigned)(sim_random(&job) % job.world);
        bool bystander = fault == SIM_NONE ||
                         (other != job.guilty && other != job.partner && job.fault_group == UINT32_MAX);
        if (good && bystander && fault != SIM_CROSS_ORDER) {
            job.ranks[other].lost = true;
            good = judge(&job, directory, LOST_INNOCENT, &innocent[fault], true);
        }
        sim_free(&job);
    }
    remove_dumps(directory);
    rmdir(directory);
    score a = {0}, g = {0}, n = {0};
    printf("%-14s %22s %26s %26s\n", "fault", "all dumps", "the guilty one's lost", "an innocent one's lost");
    for (int f = 0; f < SIM_N_FAULTS; f++) {
        printf("%-14s %10u of %4u %5.1f%% %14u of %4u %5.1f%% %14u of %4u %5.1f%%\n",
               sim_fault_name((sim_fault)f), all[f].right, all[f].right + all[f].wrong, share(all[f]),
               guilty[f].right, guilty[f].right + guilty[f].wrong, share(guilty[f]), innocent[f].right,
               innocent[f].right + innocent[f].wrong, share(innocent[f]));
        a.right += all[f].right, a.wrong += all[f].wrong;
        g.right += guilty[f].right, g.wrong += guilty[f].wrong;
        n.right += innocent[f].right, n.wrong += innocent[f].wrong;
    }
    printf("%-14s %10u of %4u %5.1f%% %14u of %4u %5.1f%% %14u of %4u %5.1f%%\n", "in all", a.right,
           a.right + a.wrong, share(a), g.right, g.right + g.wrong, share(g), n.right, n.right + n.wrong,
           share(n));
    bool healthy = all[SIM_NONE].wrong == 0 && innocent[SIM_NONE].wrong == 0;
    if (!healthy) printf("a healthy job was accused\n");
    return good && healthy && share(a) >= 99 && share(g) >= 95 ? 0 : 1;
}

static int write_job(int argc, char **argv)
{
    sim_settings s = {.clock_ms = -1, .json = 0};
    for (int f = 0; f < SIM_N_FAULTS; f++)
        if (strcmp(argv[3], sim_fault_name((sim_fault)f)) == 0) s.fault = (sim_fault)f;
    s.seed = strtoull(argv[4], NULL, 10);
    unsigned *numbers[] = {&s.tp, &s.pp, &s.dp, &s.steps, &s.layers, &s.ring};
    for (int i = 0; i < 6 && 5 + i < argc; i++) *numbers[i] = (unsigned)strtoul(argv[5 + i], NULL, 10);
    if (argc > 11) s.json = (int)strtol(argv[11], NULL, 10);
    sim_job job;
    bool good = sim_run(&job, &s) && sim_write(&job, argv[2]);
    if (good) printf("%u ranks, %s of rank %u\n", job.world, sim_fault_name(job.fault), job.guilty);
    sim_free(&job);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "check") == 0)
        return check(argc > 2 ? strtoull(argv[2], NULL, 10) : 200,
                     argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    if (argc >= 5 && strcmp(argv[1], "write") == 0) return write_job(argc, argv);
    fprintf(
        stderr,
        "usage: flight_sim check [SEEDS [FIRST]] | write DIR FAULT SEED [TP PP DP STEPS LAYERS RING JSON]\n");
    return 2;
}
