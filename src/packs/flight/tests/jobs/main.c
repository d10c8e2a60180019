/* flight_sim check [SEEDS [FIRST]]   how often the verdict names the right ranks
 * flight_sim shapes [SEEDS [FIRST]]  the same of jobs as real ones are, each written in four shapes
 * flight_sim sources [SEEDS [FIRST]] the same of jobs with RAS, logs and stacks, some missing, some wrong
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
static bool is_right(const sim_job *job, const rs_flight_finding *f, lost_files lost, int64_t seq)
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
    /* Of two ranks that left nothing, both being waited for, none can be distinguished from the other. */
    if (lost == LOST_INNOCENT && job->fault == SIM_CRASH) return names(f, job->guilty);
    const sim_group *g = job->fault_group == UINT32_MAX ? NULL : &job->groups[job->fault_group];
    switch (job->fault) {
    case SIM_NONE: return true;
    case SIM_NETWORK: return f->n_culprits == 0 && f->seq == seq && strcmp(f->group, g->uid) == 0;
    case SIM_TYPE:
    case SIM_SIZE:
    case SIM_DTYPE:
        /* In a pair there is no majority: both differ from each other, unless one contradicts itself. */
        if (f->seq != seq || !names(f, job->guilty)) return false;
        return f->n_culprits == 1 || (g->n == 2 && f->n_culprits == 2);
    case SIM_P2P_SIZE:
    case SIM_P2P_DEADLOCK: return f->n_culprits == 2 && names(f, job->guilty) && names(f, job->partner);
    case SIM_CROSS_ORDER: return names(f, job->guilty);
    default: return f->n_culprits == 1 && names(f, job->guilty);
    }
}

/* Stopping just before the end of a program, or in a rank that no other rank waits for, leaves nothing to see. */
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
    rs_flight_settings settings = {.size = sizeof(rs_flight_settings), .jobs = 1, .allow_missing = true};
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
    bool right = is_right(job, &report->root, lost, job->fault_seq);
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

/* ---- shapes -------------------------------------------------------------------------------------------- */

typedef struct tally {
    unsigned right, wrong, accused, missed; /* accused: healthy jobs; missed: hangs called healthy */
} tally;

/* Exactly the ranks of the set are named. */
static bool names_exactly(const rs_flight_finding *f, const unsigned *ranks, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) found += names(f, ranks[i]);
    return found == n && f->n_culprits == n;
}

/* The truth of a shape: whom the record can show to be at the root. Where no rank can be told the empty set
 * is right. */
static bool shape_is_right(const sim_job *job, sim_shape shape, const rs_flight_report *report)
{
    /* Only a record from the job's start numbers as the program does. */
    int64_t base =
        job->fault_group == UINT32_MAX || shape == SIM_FULL ? 0 : job->groups[job->fault_group].seq_base;
    const rs_flight_finding *f = &report->root;
    unsigned both[2] = {job->guilty, job->second}, silent[2] = {UINT32_MAX, UINT32_MAX};
    size_t n_silent = 0;
    switch (job->fault) {
    case SIM_NONE: return f->verdict == RS_FLIGHT_HEALTHY && report->n_roots == 0;
    case SIM_GPU_BLOCK:
        /* Without starts a GPU that has not reached an operation looks like all that wait in it. */
        if (!job->timed)
            return f->verdict == RS_FLIGHT_STUCK ? f->n_culprits == 0 : names_exactly(f, both, 1);
        return f->verdict == RS_FLIGHT_BLOCKED_BEFORE_START && names_exactly(f, both, 1);
    case SIM_TWO_STOPS:
        for (int i = 0; i < 2; i++)
            if (sim_is_silent(job, both[i])) silent[n_silent++] = both[i];
        if (n_silent == 1) return names(f, silent[0]) && f->n_culprits == 1;
        /* One of two that stopped may be waited for by nobody: then it has nothing to do with the hang. */
        return f->verdict == RS_FLIGHT_RANK_MISSING &&
               (names_exactly(f, silent, 2) ||
                (f->n_culprits == 1 && (names(f, silent[0]) || names(f, silent[1])) && report->n_roots == 1 &&
                 !job->both_waited));
    case SIM_STOP_AND_STALL: {
        unsigned set[2];
        size_t n = 0;
        if (sim_is_silent(job, job->guilty) && job->first_waited) set[n++] = job->guilty;
        if (sim_is_stalled(job, job->second)) set[n++] = job->second;
        return names_exactly(f, set, n);
    }
    default: return is_right(job, f, LOST_NONE, job->fault_seq + base);
    }
}

static bool judge_shape(const sim_job *job, sim_shape shape, const char *directory, tally *t)
{
    rs_error err = RS_ERROR_INIT;
    rs_flight *flight = NULL;
    rs_flight_settings settings = {.size = sizeof(rs_flight_settings), .jobs = 1, .allow_missing = true};
    const rs_flight_report *report;
    const char *paths[] = {directory};
    int64_t cut = job->fault == SIM_NONE && job->s.seed % 2 ? sim_middle(job) : 0;
    if (cut) settings.now_ns = cut + 100000000; /* a job that still moves */
    remove_dumps(directory);
    if (!sim_write_shape(job, shape, cut, directory)) {
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
    bool right = shape_is_right(job, shape, report), healthy = report->root.verdict == RS_FLIGHT_HEALTHY;
    t->right += right;
    t->wrong += !right;
    t->accused += job->fault == SIM_NONE && !healthy;
    t->missed += job->fault != SIM_NONE && healthy;
    if (!right)
        printf("seed %llu, %s, %s of rank %u (and %u) (%ux%ux%u, window %u%s%s%s, group %s seq %u): %s: %s\n",
               (unsigned long long)job->s.seed, sim_shape_name(shape), sim_fault_name(job->fault),
               job->guilty, job->second, job->tp, job->pp, job->dp, job->window, job->timed ? ", timed" : "",
               job->mixed ? ", mixed" : "", job->hashed ? ", hashed" : "",
               job->fault_group == UINT32_MAX ? "-" : job->groups[job->fault_group].uid, job->fault_seq,
               rs_flight_verdict_name(report->root.verdict), report->root.summary);
    rs_flight_close(flight);
    return true;
}

static int check_shapes(uint64_t seeds, uint64_t first)
{
    /* A straggler is identified by completions and durations, which most of these dumps have not. */
    static const sim_fault faults[] = {SIM_NONE,      SIM_HOST_STOP,     SIM_CRASH,        SIM_TYPE,
                                       SIM_SIZE,      SIM_DTYPE,         SIM_GPU_BLOCK,    SIM_NETWORK,
                                       SIM_HALF_DONE, SIM_P2P_SIZE,      SIM_P2P_DEADLOCK, SIM_CROSS_ORDER,
                                       SIM_TWO_STOPS, SIM_STOP_AND_STALL};
    enum { N = sizeof faults / sizeof *faults };
    char directory[] = "/tmp/flight_sim.XXXXXX";
    if (!mkdtemp(directory)) {
        perror("mkdtemp");
        return 2;
    }
    tally all[SIM_ALL_FAULTS][SIM_N_SHAPES] = {0}, sum = {0};
    bool good = true;
    for (uint64_t i = 0; i < seeds && good; i++) {
        uint64_t seed = first + i;
        sim_job job;
        for (uint64_t attempt = 0;; attempt++) {
            sim_settings settings = {.seed = seed + attempt * 1000003,
                                     .fault = faults[seed % N],
                                     .clock_ms = -1,
                                     .json = -1,
                                     .unkind = true};
            /* A mismatch that passes unnoticed is completed, and is in no dump of active entries. */
            if (sim_run(&job, &settings) && job.fatal && is_visible(&job)) break;
            sim_free(&job);
        }
        for (sim_shape shape = SIM_FULL; shape <= SIM_HOOK && good; shape++)
            good = judge_shape(&job, shape, directory, &all[job.fault][shape]);
        sim_free(&job);
    }
    remove_dumps(directory);
    rmdir(directory);
    printf("%-15s", "fault");
    for (sim_shape s = SIM_FULL; s <= SIM_HOOK; s++) printf("%22s", sim_shape_name(s));
    printf("\n");
    for (int f = 0; f < SIM_ALL_FAULTS; f++) {
        if (!(all[f][SIM_FULL].right + all[f][SIM_FULL].wrong)) continue;
        printf("%-15s", sim_fault_name((sim_fault)f));
        for (sim_shape s = SIM_FULL; s <= SIM_HOOK; s++) {
            const tally *t = &all[f][s];
            printf("   %6u of %6u %5.1f%%", t->right, t->right + t->wrong,
                   share((score){t->right, t->wrong}));
            sum.right += t->right, sum.wrong += t->wrong, sum.accused += t->accused, sum.missed += t->missed;
        }
        printf("\n");
    }
    printf("in all %u of %u, %.2f%%; healthy jobs accused: %u; hangs called healthy: %u\n", sum.right,
           sum.right + sum.wrong, share((score){sum.right, sum.wrong}), sum.accused, sum.missed);
    return good && !sum.accused && !sum.missed && share((score){sum.right, sum.wrong}) >= 99.5 ? 0 : 1;
}

/* ---- sources ---------------------------------------------------------------------------------------------- */

enum {
    SRC_DUMPS = 1,
    SRC_RAS = 2,
    SRC_LOG = 4,
    SRC_STACKS = 8,
    SRC_INSPECTOR = 16,
    SRC_METRICS = 32,
    SRC_ALL = 63
};

typedef struct sources {
    unsigned there, lies; /* of SRC_ */
    bool guilty_lost;     /* the guilty rank left no dump */
    unsigned accused;     /* by a log, or metrics, of another attempt */
    bool another;         /* a wrong source is of another attempt, else its clock is wrong */
} sources;

static sources draw_sources(sim_job *job)
{
    sources s = {.there = SRC_ALL};
    for (unsigned bit = 1; bit < SRC_ALL; bit *= 2) {
        if (sim_random(job) % 10 < 2) s.there &= ~bit;
        if (bit != SRC_DUMPS && bit != SRC_STACKS && sim_random(job) % 10 < 2) s.lies |= bit;
    }
    if (!s.there) s.there = SRC_DUMPS;
    s.guilty_lost = job->fault != SIM_NONE && job->fault != SIM_NETWORK && sim_random(job) % 10 < 2;
    s.accused = (unsigned)(sim_random(job) % job->world);
    s.another = s.accused != job->guilty && sim_random(job) % 2;
    return s;
}

/* A clock that is wrong by so much; another attempt was earlier. */
static int64_t shift_of(const sources *s, unsigned source)
{
    if (!(s->lies & source)) return 0;
    return s->another ? INT64_C(-7200000000000) : INT64_C(10800000000000);
}

static bool write_sources(const sim_job *job, const sources *s, unsigned which, const char *directory)
{
    bool good = true, gpu = job->fault == SIM_GPU_BLOCK || job->fault == SIM_HALF_DONE;
    unsigned by_log = s->lies & SRC_LOG && s->another ? s->accused : job->guilty,
             by_metrics = s->lies & SRC_METRICS && s->another ? s->accused : job->guilty;
    remove_dumps(directory);
    if (which & SRC_DUMPS) {
        bool lost = job->ranks[job->guilty].lost;
        job->ranks[job->guilty].lost |= s->guilty_lost;
        good = sim_write(job, directory);
        job->ranks[job->guilty].lost = lost;
    }
    if (good && which & SRC_RAS)
        good = sim_write_ras(job, s->lies & SRC_RAS ? sim_middle(job) : INT64_MAX, directory);
    if (good && which & SRC_LOG) good = sim_write_log(job, by_log, shift_of(s, SRC_LOG), directory);
    if (good && which & SRC_STACKS) good = sim_write_stacks(job, directory);
    if (good && which & SRC_INSPECTOR) good = sim_write_inspector(job, shift_of(s, SRC_INSPECTOR), directory);
    return good && (!(which & SRC_METRICS) || sim_write_metrics(job, gpu ? by_metrics : job->world,
                                                                shift_of(s, SRC_METRICS), directory));
}

typedef enum sources_verdict { SV_WRONG, SV_SILENT, SV_RIGHT } sources_verdict;

/* The ranks that are named are the truth; silent: no rank is named though one is to blame. */
static sources_verdict judge_sources(const sim_job *job, const char *directory, char *said, size_t size)
{
    rs_error err = RS_ERROR_INIT;
    rs_flight *flight = NULL;
    rs_flight_settings settings = {.size = sizeof(rs_flight_settings), .jobs = 1, .allow_missing = true};
    const rs_flight_report *report;
    const char *paths[] = {directory};
    sources_verdict verdict = SV_SILENT;
    snprintf(said, size, "nothing");
    rs_status status = rs_flight_open(paths, 1, &settings, &flight, &err);
    if ((status == RS_OK || status == RS_ERR_FORMAT) && flight &&
        rs_flight_get_report(flight, &report, &err) == RS_OK) {
        const rs_flight_finding *f = &report->root;
        bool none = job->fault == SIM_NONE || job->fault == SIM_NETWORK;
        snprintf(said, size, "%s: %s", rs_flight_verdict_name(f->verdict), f->summary);
        if (f->n_culprits == 0)
            verdict = none ? SV_RIGHT : SV_SILENT;
        else
            verdict = !none && f->n_culprits == 1 && names(f, job->guilty) ? SV_RIGHT : SV_WRONG;
    }
    rs_flight_close(flight);
    return verdict;
}

static int check_sources(uint64_t seeds, uint64_t first)
{
    static const sim_fault faults[] = {SIM_NONE,      SIM_HOST_STOP, SIM_CRASH,
                                       SIM_GPU_BLOCK, SIM_NETWORK,   SIM_HALF_DONE};
    enum { N = sizeof faults / sizeof *faults };
    char directory[] = "/tmp/flight_sim.XXXXXX", said[2048], alone[2048];
    unsigned right = 0, all = 0, complete_right = 0, complete = 0, accused = 0, worse = 0,
             single[SRC_ALL + 1] = {0};
    bool good = mkdtemp(directory) != NULL;
    for (uint64_t i = 0; i < seeds && good; i++) {
        uint64_t seed = first + i;
        sim_job job;
        for (uint64_t attempt = 0;; attempt++) {
            sim_settings settings = {
                .seed = seed + attempt * 1000003, .fault = faults[seed % N], .clock_ms = -1, .json = -1};
            if (sim_run(&job, &settings) && (job.fatal || job.fault == SIM_NONE) && is_visible(&job)) break;
            sim_free(&job);
        }
        sources s = draw_sources(&job);
        bool best = false;
        for (unsigned bit = 1; bit < SRC_ALL && good; bit *= 2) {
            if (!(s.there & bit) || s.lies & bit) continue;
            good = write_sources(&job, &s, bit, directory);
            bool one = good && judge_sources(&job, directory, alone, sizeof alone) == SV_RIGHT;
            single[bit] += one;
            best |= one;
        }
        good = good && write_sources(&job, &s, s.there, directory);
        sources_verdict v = good ? judge_sources(&job, directory, said, sizeof said) : SV_SILENT;
        bool whole = s.there == SRC_ALL && !s.lies && !s.guilty_lost;
        all++;
        right += v == SV_RIGHT;
        complete += whole;
        complete_right += whole && v == SV_RIGHT;
        accused += job.fault == SIM_NONE && v == SV_WRONG;
        worse += best && v != SV_RIGHT;
        if (v == SV_WRONG || (best && v != SV_RIGHT))
            printf("seed %llu, %s of rank %u, there %x, wrong %x%s: %s\n", (unsigned long long)seed,
                   sim_fault_name(job.fault), job.guilty, s.there, s.lies,
                   s.guilty_lost ? ", its dump lost" : "", said);
        sim_free(&job);
    }
    remove_dumps(directory);
    rmdir(directory);
    printf(
        "all sources, none wrong: %u of %u right; as drawn: %u of %u; healthy jobs accused: %u; worse than the best source alone: %u\n",
        complete_right, complete, right, all, accused, worse);
    printf("alone: dumps %u, RAS %u, log %u, stacks %u, Inspector %u, metrics %u\n", single[SRC_DUMPS],
           single[SRC_RAS], single[SRC_LOG], single[SRC_STACKS], single[SRC_INSPECTOR], single[SRC_METRICS]);
    return good && !accused && !worse && complete_right * 1000 >= complete * 995 ? 0 : 1;
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
    const sources all = {.there = SRC_ALL};
    if (good && strcmp(argv[1], "write-all") == 0) good = write_sources(&job, &all, SRC_ALL, argv[2]);
    if (good) printf("%u ranks, %s of rank %u\n", job.world, sim_fault_name(job.fault), job.guilty);
    sim_free(&job);
    return good ? 0 : 1;
}

/* flight_sim write-shape DIR FAULT SEED SHAPE */
static int write_shape(char **argv)
{
    sim_settings s = {.clock_ms = -1, .json = -1, .unkind = true, .seed = strtoull(argv[4], NULL, 10)};
    sim_shape shape = SIM_FULL;
    for (int f = 0; f < SIM_ALL_FAULTS; f++)
        if (strcmp(argv[3], sim_fault_name((sim_fault)f)) == 0) s.fault = (sim_fault)f;
    for (int k = 0; k < SIM_N_SHAPES; k++)
        if (strcmp(argv[5], sim_shape_name((sim_shape)k)) == 0) shape = (sim_shape)k;
    sim_job job;
    bool good = sim_run(&job, &s) && sim_write_shape(&job, shape, 0, argv[2]);
    if (good)
        printf("%u ranks, %s of rank %u and %u\n", job.world, sim_fault_name(job.fault), job.guilty,
               job.second);
    sim_free(&job);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "check") == 0)
        return check(argc > 2 ? strtoull(argv[2], NULL, 10) : 200,
                     argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    if (argc >= 2 && strcmp(argv[1], "shapes") == 0)
        return check_shapes(argc > 2 ? strtoull(argv[2], NULL, 10) : 200,
                            argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    if (argc >= 2 && strcmp(argv[1], "sources") == 0)
        return check_sources(argc > 2 ? strtoull(argv[2], NULL, 10) : 200,
                             argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    if (argc >= 6 && strcmp(argv[1], "write-shape") == 0) return write_shape(argv);
    if (argc >= 5 && strncmp(argv[1], "write", 5) == 0) return write_job(argc, argv);
    fprintf(stderr,
            "usage: flight_sim check|shapes|sources [SEEDS [FIRST]] | write-shape DIR FAULT SEED SHAPE | "
            "write|write-all DIR FAULT SEED [TP PP DP STEPS LAYERS RING JSON]\n");
    return 2;
}
