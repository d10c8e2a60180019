/* The command line. */
#include "synth.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char USAGE[] =
    "Usage: rankscope-synth --out DIR [options]\n"
    "\n"
    "Simulates a training job on many GPUs and writes one Kineto trace a rank, DIR/rankN.json, as PyTorch's\n"
    "profiler would, together with the true answers to what the traces can be asked, DIR/truth.json.\n"
    "The same options give the same bytes on every machine.\n"
    "\n"
    "The job: ranks = dp * tp * pp, numbered tp fastest, then dp, then pp\n"
    "  --dp N, --tp N, --pp N    data, tensor and pipeline parallel size (2, 1, 1)\n"
    "  --layers N                transformer layers, shared out over the pipeline stages (4)\n"
    "  --hidden N                their width, a multiple of 128 * tp (4096)\n"
    "  --tokens N                tokens a micro batch (2048); small ones make the job wait for its host\n"
    "  --micro-batches N         micro batches a step (2)\n"
    "  --steps N                 steps recorded (2)\n"
    "  --first-step N            number of the first: ProfilerStep#N (10)\n"
    "  --size BYTES              as many steps as make each file at least this large; K, M, G are "
    "understood\n"
    "  --seed S                  of the random numbers (1)\n"
    "  --efficiency              products of matrices lose efficiency as they get smaller\n"
    "\n"
    "What goes wrong in it (each may be given again)\n"
    "  --straggler RANK:FACTOR   computation on RANK takes FACTOR times as long, e.g. 3:1.4\n"
    "  --stall RANK:STEP:MS      RANK's data loader takes MS milliseconds longer in ProfilerStep#STEP\n"
    "  --clock-offset-us RANK:US RANK's clock is US microseconds ahead; may be negative or have decimals\n"
    "  --clock-drift-ppm RANK:PPM its clock gains PPM microseconds a second from the job's start\n"
    "  --clock-step RANK:MS:US   its clock is set ahead by US when MS milliseconds have passed\n"
    "  --gpu-clock RANK:US:PPM   its device's clock is ahead of its host's, and gains\n"
    "  --hosts N                 ranks are shared out over N hosts; those of one have its first rank's "
    "clock\n"
    "  --timestamp-jitter NS     times of GPU work are off by up to NS either way\n"
    "  --end-skew-us RANK:KIND:US[:SD]  RANK leaves collectives of KIND (tp, dp, pair) US later, normally "
    "distributed\n"
    "  --mislabel PERCENT        of neighbouring kernels of a group have their sequence numbers swapped\n"
    "  --eager BYTES             sends of up to BYTES do not wait for their receivers\n"
    "  --contention F            computation that starts while its rank communicates takes F times as long\n"
    "  --link A:B:F              transfers between ranks A and B, and in groups that have both, take F times as long\n"
    "  --pause RANK:STEP:MS      RANK's host stops for MS milliseconds in the forward of ProfilerStep#STEP\n"
    "  --stage-cost PP:F         computation of pipeline stage PP takes F times as long\n"
    "  --alloc-every N           after each N-th layer of the forward memory is given back and taken anew\n"
    "  --late-launch US          behind each value that is read back the host takes US longer to its next launch\n"
    "  --elementwise N           N products of activations behind each layer of the forward, and their conversions\n"
    "  --pageable                data is copied from memory that is not pinned, and the host waits for it\n"
    "\n"
    "Instead of traces\n"
    "  --hang RANK               flight-recorder dumps: RANK stops in the last step, and the others wait for it\n"
    "  --leak RANK               memory snapshots: RANK keeps something of each step until memory runs out\n"
    "\n"
    "Twins: the same job, the same random numbers, something faster or slower\n"
    "  --scale-kernel TEXT:F     kernels whose name contains TEXT take F times as long\n"
    "  --scale-host RANK:F       RANK's host takes F times as long for everything but loading data\n"
    "  --network [KIND:]F        what depends on a message's size is F times as fast; KIND: tp, dp, pair (all)\n"
    "  --no-loader               data is there when it is asked for\n"
    "  --launch-cost NS          each launching call takes so much longer\n"
    "  --queue N                 a stream holds N launches (1022)\n"
    "  --item-every N            a value is read back after each N-th layer of the forward\n"
    "  --fused                   each product of --elementwise and its conversion are one kernel\n"
    "  --bucket BYTES            gradients are reduced together until there are BYTES (each layer's alone)\n"
    "  --overlap off             computation waits for each reduction of gradients\n"
    "\n"
    "Runs of one job. A pace holds for all that takes time, on all ranks; faults above keep their length\n"
    "  --run K                   its K-th run: all durations are drawn anew (0)\n"
    "  --run-noise SD            the run's pace, normally distributed, SD in percent\n"
    "  --step-noise SD:RHO       each step's pace, of which RHO (up to 0.95) comes from the step before\n"
    "  --warm-up N:F             the first N steps take F times as long\n"
    "  --outlier P:F             P percent of the steps take F times as long\n"
    "\n"
    "More that goes wrong\n"
    "  --unlinked N              N kernels at the start whose launches lie before the recording\n"
    "\n"
    "Its shape\n"
    "  --interleave              stages of the pipeline do one forward, one backward, not all forward passes first\n"
    "  --eval-every N            each N-th step has no backward and no optimizer\n"
    "\n"
    "How it was recorded\n"
    "  --no-annotations          no user annotations, and so no steps\n"
    "  --rename-groups           names and descriptions of process groups tell nothing, and stand in another order\n"
    "  --cuda-graph              forward and backward are one graph launch that owns many kernels\n"
    "  --rocm                    hip names, streams from 0, no synchronization events\n"
    "  --python-stacks           python_function events\n"
    "  --no-sync-events          no cuda_sync events\n"
    "  --no-steps                no ProfilerStep annotations\n"
    "  --no-shapes               no shapes, types and values of operators' inputs\n"
    "\n"
    "Output\n"
    "  --out DIR                 directory to write to; made if it is not there\n"
    "  --execution-trace FILE    also the PyTorch execution trace of the same run; a % in FILE is the rank, "
    "and is\n"
    "                            needed where several are written\n"
    "  --only-rank R             simulate all ranks, write this one\n"
    "  --truth FILE              where the truth goes (DIR/truth.json)\n"
    "  --no-truth                none: memory then does not grow with the files\n"
    "  --help                    this text\n"
    "\n"
    "Examples\n"
    "  rankscope-synth --out job --dp 2 --tp 2 --pp 2 --straggler 5:1.5\n"
    "  rankscope-synth --out big --dp 1 --size 4G --no-truth\n";

static _Noreturn void misuse(const char *option, const char *value)
{
    fail("%s: '%s' is not understood; --help shows its form", option, value);
}

static int64_t whole(const char *option, const char *text, int64_t low, int64_t high)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < low || value > high)
        fail("%s: '%s' is not a number from %lld to %lld", option, text, (long long)low, (long long)high);
    return value;
}

/* A decimal number in thousandths, exactly; more than three decimals are refused. */
static int64_t thousandths(const char *option, const char *text)
{
    const char *at = text;
    bool negative = *at == '-';
    at += negative;
    int64_t value = 0, digits = 0, decimals = -1;
    for (; *at; at++) {
        if (*at == '.' && decimals < 0) {
            decimals = 0;
            continue;
        }
        if (*at < '0' || *at > '9' || value > 1000000000000 || decimals == 3) misuse(option, text);
        value = value * 10 + (*at - '0');
        digits++;
        if (decimals >= 0) decimals++;
    }
    if (!digits) misuse(option, text);
    for (int64_t k = decimals < 0 ? 0 : decimals; k < 3; k++) value *= 10;
    return negative ? -value : value;
}

static int64_t bytes_of(const char *option, const char *text)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (shift) end++;
    if (errno || end == text || *end || value < 1 || value > (1LL << 60) >> shift) misuse(option, text);
    return value << shift;
}

/* Options that name ranks are read after the job's size is known. */
typedef struct {
    const char *option, *text;
} late_option;

static char *next_part(const late_option *l, char **text)
{
    char *part = *text, *colon = strchr(part, ':');
    if (!colon) misuse(l->option, l->text);
    *colon = '\0';
    *text = colon + 1;
    return part;
}

static int colons(const char *text)
{
    int n = 0;
    for (; *text; text++) n += *text == ':';
    return n;
}

static int kind_of(const char *name)
{
    static const char *const kinds[] = {"tp", "dp", "", "pair"}; /* by GROUP_... */
    for (int k = 0; k < 4; k++)
        if (*name && !strcmp(name, kinds[k])) return k;
    return -1;
}

static int factor_of(const char *option, const char *text)
{
    int64_t factor = thousandths(option, text);
    if (factor < 1 || factor > 1000000) misuse(option, text);
    return (int)factor;
}

static void apply_late(job *j, const late_option *l)
{
    options *o = &j->opt;
    int ranks = o->dp * o->tp * o->pp;
    char text[128], *rest = text;
    if (strlen(l->text) >= sizeof text) misuse(l->option, l->text);
    strcpy(text, l->text);
    if (!strcmp(l->option, "--stage-cost")) {
        int stage = (int)whole(l->option, next_part(l, &rest), 0, o->pp - 1);
        o->stage_factors[stage] = factor_of(l->option, rest);
        return;
    }
    int rank = (int)whole(l->option, next_part(l, &rest), 0, ranks - 1);
    if (!strcmp(l->option, "--straggler")) {
        o->factors[rank] = factor_of(l->option, rest);
    } else if (!strcmp(l->option, "--scale-host")) {
        o->host_factors[rank] = factor_of(l->option, rest);
    } else if (!strcmp(l->option, "--link")) {
        slow_link link = {.a = rank};
        link.b = (int)whole(l->option, next_part(l, &rest), 0, ranks - 1);
        link.factor = factor_of(l->option, rest);
        if (link.a == link.b) misuse(l->option, l->text);
        size_t capacity = o->link_count;
        o->links = grow(o->links, &capacity, o->link_count + 1, sizeof *o->links);
        o->links[o->link_count++] = link;
    } else if (!strcmp(l->option, "--clock-offset-us")) {
        o->offsets[rank] = thousandths(l->option, rest);
    } else if (!strcmp(l->option, "--clock-drift-ppm")) {
        o->clocks[rank].drift = thousandths(l->option, rest);
    } else if (!strcmp(l->option, "--gpu-clock")) {
        o->clocks[rank].gpu_offset = thousandths(l->option, next_part(l, &rest));
        o->clocks[rank].gpu_drift = thousandths(l->option, rest);
    } else if (!strcmp(l->option, "--clock-step")) {
        o->clocks[rank].step_at = thousandths(l->option, next_part(l, &rest)) * 1000;
        o->clocks[rank].step = thousandths(l->option, rest);
    } else if (!strcmp(l->option, "--end-skew-us")) {
        end_skew s = {.rank = rank, .kind = kind_of(next_part(l, &rest))};
        if (s.kind < 0) misuse(l->option, l->text);
        s.mean = thousandths(l->option, colons(l->text) == 3 ? next_part(l, &rest) : rest);
        if (colons(l->text) == 3) s.spread = thousandths(l->option, rest);
        size_t capacity = o->skew_count;
        o->skews = grow(o->skews, &capacity, o->skew_count + 1, sizeof *o->skews);
        o->skews[o->skew_count++] = s;
    } else {
        stall s = {.rank = rank};
        s.step = (int)whole(l->option, next_part(l, &rest), 0, INT32_MAX);
        s.ns = thousandths(l->option, rest) * 1000;
        if (s.ns < 0) misuse(l->option, l->text);
        bool pause = !strcmp(l->option, "--pause");
        stall **list = pause ? &o->pauses : &o->stalls;
        size_t *n = pause ? &o->pause_count : &o->stall_count, capacity = *n;
        *list = grow(*list, &capacity, *n + 1, sizeof **list);
        (*list)[(*n)++] = s;
    }
}

enum {
    OPT_DP = 256,
    OPT_TP,
    OPT_PP,
    OPT_LAYERS,
    OPT_HIDDEN,
    OPT_TOKENS,
    OPT_MICRO,
    OPT_STEPS,
    OPT_FIRST,
    OPT_SIZE,
    OPT_SEED,
    OPT_STRAGGLER,
    OPT_STALL,
    OPT_CLOCK,
    OPT_DRIFT,
    OPT_GPU_CLOCK,
    OPT_CLOCK_STEP,
    OPT_END_SKEW,
    OPT_HOSTS,
    OPT_STAMP_JITTER,
    OPT_MISLABEL,
    OPT_EAGER,
    OPT_UNLINKED,
    OPT_SCALE_KERNEL,
    OPT_SCALE_HOST,
    OPT_NETWORK,
    OPT_NO_LOADER,
    OPT_LAUNCH_COST,
    OPT_QUEUE,
    OPT_CONTENTION,
    OPT_LINK,
    OPT_PAUSE,
    OPT_STAGE,
    OPT_ALLOC,
    OPT_PAGEABLE,
    OPT_EFFICIENCY,
    OPT_RUN,
    OPT_RUN_NOISE,
    OPT_STEP_NOISE,
    OPT_WARM_UP,
    OPT_OUTLIER,
    OPT_ITEM,
    OPT_LATE,
    OPT_ELEMENTWISE,
    OPT_FUSED,
    OPT_BUCKET,
    OPT_OVERLAP,
    OPT_INTERLEAVE,
    OPT_EVAL,
    OPT_NO_ANNOTATIONS,
    OPT_RENAME,
    OPT_GRAPH,
    OPT_ROCM,
    OPT_PYTHON,
    OPT_NO_SYNC,
    OPT_NO_STEPS,
    OPT_NO_SHAPES,
    OPT_OUT,
    OPT_EXECUTION,
    OPT_ONLY,
    OPT_TRUTH,
    OPT_NO_TRUTH,
    OPT_HANG,
    OPT_LEAK,
    OPT_HELP
};

static const struct option LONG_OPTIONS[] = {{"dp", 1, NULL, OPT_DP},
                                             {"tp", 1, NULL, OPT_TP},
                                             {"pp", 1, NULL, OPT_PP},
                                             {"layers", 1, NULL, OPT_LAYERS},
                                             {"hidden", 1, NULL, OPT_HIDDEN},
                                             {"tokens", 1, NULL, OPT_TOKENS},
                                             {"micro-batches", 1, NULL, OPT_MICRO},
                                             {"steps", 1, NULL, OPT_STEPS},
                                             {"first-step", 1, NULL, OPT_FIRST},
                                             {"size", 1, NULL, OPT_SIZE},
                                             {"seed", 1, NULL, OPT_SEED},
                                             {"straggler", 1, NULL, OPT_STRAGGLER},
                                             {"stall", 1, NULL, OPT_STALL},
                                             {"clock-offset-us", 1, NULL, OPT_CLOCK},
                                             {"clock-drift-ppm", 1, NULL, OPT_DRIFT},
                                             {"gpu-clock", 1, NULL, OPT_GPU_CLOCK},
                                             {"clock-step", 1, NULL, OPT_CLOCK_STEP},
                                             {"end-skew-us", 1, NULL, OPT_END_SKEW},
                                             {"hosts", 1, NULL, OPT_HOSTS},
                                             {"timestamp-jitter", 1, NULL, OPT_STAMP_JITTER},
                                             {"mislabel", 1, NULL, OPT_MISLABEL},
                                             {"eager", 1, NULL, OPT_EAGER},
                                             {"hang", 1, NULL, OPT_HANG},
                                             {"leak", 1, NULL, OPT_LEAK},
                                             {"unlinked", 1, NULL, OPT_UNLINKED},
                                             {"scale-kernel", 1, NULL, OPT_SCALE_KERNEL},
                                             {"scale-host", 1, NULL, OPT_SCALE_HOST},
                                             {"network", 1, NULL, OPT_NETWORK},
                                             {"no-loader", 0, NULL, OPT_NO_LOADER},
                                             {"launch-cost", 1, NULL, OPT_LAUNCH_COST},
                                             {"queue", 1, NULL, OPT_QUEUE},
                                             {"contention", 1, NULL, OPT_CONTENTION},
                                             {"link", 1, NULL, OPT_LINK},
                                             {"pause", 1, NULL, OPT_PAUSE},
                                             {"stage-cost", 1, NULL, OPT_STAGE},
                                             {"alloc-every", 1, NULL, OPT_ALLOC},
                                             {"pageable", 0, NULL, OPT_PAGEABLE},
                                             {"efficiency", 0, NULL, OPT_EFFICIENCY},
                                             {"run", 1, NULL, OPT_RUN},
                                             {"run-noise", 1, NULL, OPT_RUN_NOISE},
                                             {"step-noise", 1, NULL, OPT_STEP_NOISE},
                                             {"warm-up", 1, NULL, OPT_WARM_UP},
                                             {"outlier", 1, NULL, OPT_OUTLIER},
                                             {"item-every", 1, NULL, OPT_ITEM},
                                             {"late-launch", 1, NULL, OPT_LATE},
                                             {"elementwise", 1, NULL, OPT_ELEMENTWISE},
                                             {"fused", 0, NULL, OPT_FUSED},
                                             {"bucket", 1, NULL, OPT_BUCKET},
                                             {"overlap", 1, NULL, OPT_OVERLAP},
                                             {"interleave", 0, NULL, OPT_INTERLEAVE},
                                             {"eval-every", 1, NULL, OPT_EVAL},
                                             {"no-annotations", 0, NULL, OPT_NO_ANNOTATIONS},
                                             {"rename-groups", 0, NULL, OPT_RENAME},
                                             {"cuda-graph", 0, NULL, OPT_GRAPH},
                                             {"rocm", 0, NULL, OPT_ROCM},
                                             {"python-stacks", 0, NULL, OPT_PYTHON},
                                             {"no-sync-events", 0, NULL, OPT_NO_SYNC},
                                             {"no-steps", 0, NULL, OPT_NO_STEPS},
                                             {"no-shapes", 0, NULL, OPT_NO_SHAPES},
                                             {"out", 1, NULL, OPT_OUT},
                                             {"execution-trace", 1, NULL, OPT_EXECUTION},
                                             {"only-rank", 1, NULL, OPT_ONLY},
                                             {"truth", 1, NULL, OPT_TRUTH},
                                             {"no-truth", 0, NULL, OPT_NO_TRUTH},
                                             {"help", 0, NULL, OPT_HELP},
                                             {NULL, 0, NULL, 0}};

static void add_scale(options *o, char *text)
{
    char *colon = strrchr(text, ':');
    if (!colon || colon == text) misuse("--scale-kernel", text);
    *colon = '\0';
    size_t capacity = o->scale_count;
    o->scales = grow(o->scales, &capacity, o->scale_count + 1, sizeof *o->scales);
    o->scales[o->scale_count++] = (kernel_scale){text, factor_of("--scale-kernel", colon + 1)};
}

/* A:B is cut at the last colon: left_of gives A, right_of what stands behind it then. */
static char *left_of(const char *option, char *text)
{
    char *colon = strrchr(text, ':');
    if (!colon || colon == text) misuse(option, text);
    *colon = '\0';
    return text;
}

static char *right_of(char *text)
{
    return text + strlen(text) + 1;
}

/* Thousandths of a percent. */
static int64_t percent(const char *option, const char *text, int64_t most)
{
    int64_t value = thousandths(option, text);
    if (value < 0 || value > most) misuse(option, text);
    return value;
}

static void set_network(options *o, char *text)
{
    int kind = -1;
    if (strchr(text, ':')) {
        kind = kind_of(left_of("--network", text));
        if (kind < 0) misuse("--network", text);
        text = right_of(text);
    }
    for (int k = 0; k < 4; k++)
        if (kind < 0 || k == kind) o->network[k] = factor_of("--network", text);
}

static void set_step_noise(options *o, char *text)
{
    o->step_noise = percent("--step-noise", left_of("--step-noise", text), 20000);
    o->step_memory = thousandths("--step-noise", right_of(text));
    if (o->step_memory < 0 || o->step_memory > 950) misuse("--step-noise", right_of(text));
}

static void set_option(options *o, int option)
{
    switch (option) {
    case OPT_DP: o->dp = (int)whole("--dp", optarg, 1, 4096); break;
    case OPT_TP: o->tp = (int)whole("--tp", optarg, 1, 64); break;
    case OPT_PP: o->pp = (int)whole("--pp", optarg, 1, 256); break;
    case OPT_LAYERS: o->layers = (int)whole("--layers", optarg, 1, 10000); break;
    case OPT_HIDDEN: o->hidden = (int)whole("--hidden", optarg, 128, 65536); break;
    case OPT_TOKENS: o->tokens = (int)whole("--tokens", optarg, 128, 1 << 20); break;
    case OPT_MICRO: o->micro_batches = (int)whole("--micro-batches", optarg, 1, 1000); break;
    case OPT_STEPS: o->steps = whole("--steps", optarg, 1, 100000000); break;
    case OPT_FIRST: o->first_step = (int)whole("--first-step", optarg, 0, 1000000000); break;
    case OPT_SIZE: o->size = bytes_of("--size", optarg); break;
    case OPT_SEED: o->seed = (uint64_t)whole("--seed", optarg, 0, INT64_MAX); break;
    case OPT_HOSTS: o->hosts = (int)whole("--hosts", optarg, 1, 16384); break;
    case OPT_STAMP_JITTER: o->stamp_jitter = whole("--timestamp-jitter", optarg, 0, 1000000); break;
    case OPT_MISLABEL: o->mislabel = thousandths("--mislabel", optarg); break;
    case OPT_EAGER: o->eager = whole("--eager", optarg, 0, INT64_MAX); break;
    case OPT_SCALE_KERNEL: add_scale(o, optarg); break;
    case OPT_NETWORK: set_network(o, optarg); break;
    case OPT_ALLOC: o->alloc_every = (int)whole("--alloc-every", optarg, 1, 1000000); break;
    case OPT_ITEM: o->item_every = (int)whole("--item-every", optarg, 1, 1000000); break;
    case OPT_LATE: o->late_launch = 1000 * whole("--late-launch", optarg, 1, 10000000); break;
    case OPT_ELEMENTWISE: o->elementwise = (int)whole("--elementwise", optarg, 1, 1000); break;
    case OPT_FUSED: o->fused = true; break;
    case OPT_BUCKET: o->bucket = bytes_of("--bucket", optarg); break;
    case OPT_OVERLAP:
        if (strcmp(optarg, "off") != 0) misuse("--overlap", optarg);
        o->no_overlap = true;
        break;
    case OPT_INTERLEAVE: o->interleave = true; break;
    case OPT_EVAL: o->eval_every = (int)whole("--eval-every", optarg, 1, INT32_MAX); break;
    case OPT_NO_ANNOTATIONS: o->no_annotations = true; break;
    case OPT_RENAME: o->rename_groups = true; break;
    case OPT_PAGEABLE: o->pageable = true; break;
    case OPT_EFFICIENCY: o->efficiency = true; break;
    case OPT_RUN: o->run = whole("--run", optarg, 0, INT32_MAX); break;
    case OPT_RUN_NOISE: o->run_noise = percent("--run-noise", optarg, 20000); break;
    case OPT_STEP_NOISE: set_step_noise(o, optarg); break;
    case OPT_WARM_UP:
        o->warm_up_steps = whole("--warm-up", left_of("--warm-up", optarg), 0, INT32_MAX);
        o->warm_up = factor_of("--warm-up", right_of(optarg));
        break;
    case OPT_OUTLIER:
        o->outliers = percent("--outlier", left_of("--outlier", optarg), 50000);
        o->outlier = factor_of("--outlier", right_of(optarg));
        break;
    case OPT_CONTENTION: o->contention = factor_of("--contention", optarg); break;
    case OPT_NO_LOADER: o->no_loader = true; break;
    case OPT_LAUNCH_COST: o->launch_cost = whole("--launch-cost", optarg, 0, 1000000000); break;
    case OPT_QUEUE: o->queue = (int)whole("--queue", optarg, 1, QUEUE_LIMIT); break;
    case OPT_UNLINKED: o->unlinked = (int)whole("--unlinked", optarg, 0, 100000); break;
    case OPT_HANG: o->hang = (int)whole("--hang", optarg, 0, 16383); break;
    case OPT_LEAK: o->leak = (int)whole("--leak", optarg, 0, 16383); break;
    case OPT_GRAPH: o->graph = true; break;
    case OPT_ROCM: o->rocm = true; break;
    case OPT_PYTHON: o->python = true; break;
    case OPT_NO_SYNC: o->no_sync = true; break;
    case OPT_NO_STEPS: o->no_steps = true; break;
    case OPT_NO_SHAPES: o->no_shapes = true; break;
    case OPT_OUT: o->directory = optarg; break;
    case OPT_EXECUTION: o->execution = optarg; break;
    case OPT_ONLY: o->only_rank = (int)whole("--only-rank", optarg, 0, INT32_MAX); break;
    case OPT_TRUTH: o->truth_path = optarg; break;
    case OPT_NO_TRUTH: o->no_truth = true; break;
    default: fail("the command line is wrong; --help shows what can be said");
    }
}

/* The name of an option that is read after the job's size is known, NULL: it is another. */
static const char *late_name(int option)
{
    switch (option) {
    case OPT_STRAGGLER: return "--straggler";
    case OPT_SCALE_HOST: return "--scale-host";
    case OPT_STALL: return "--stall";
    case OPT_PAUSE: return "--pause";
    case OPT_LINK: return "--link";
    case OPT_STAGE: return "--stage-cost";
    case OPT_CLOCK: return "--clock-offset-us";
    case OPT_DRIFT: return "--clock-drift-ppm";
    case OPT_GPU_CLOCK: return "--gpu-clock";
    case OPT_CLOCK_STEP: return "--clock-step";
    case OPT_END_SKEW: return "--end-skew-us";
    default: return NULL;
    }
}

void options_read(job *j, int count, char **words)
{
    options *o = &j->opt;
    *o = (options){.dp = 2,
                   .tp = 1,
                   .pp = 1,
                   .layers = 4,
                   .hidden = 4096,
                   .tokens = 2048,
                   .micro_batches = 2,
                   .steps = 2,
                   .first_step = 10,
                   .seed = 1,
                   .network = {1000, 1000, 1000, 1000},
                   .warm_up = 1000,
                   .outlier = 1000,
                   .contention = 1000,
                   .queue = QUEUE_LIMIT,
                   .only_rank = -1,
                   .hang = -1,
                   .leak = -1};
    late_option *late = take_memory((size_t)count * sizeof *late);
    size_t late_count = 0;
    for (int option; (option = getopt_long(count, words, "", LONG_OPTIONS, NULL)) != -1;) {
        if (option == OPT_HELP) {
            fputs(USAGE, stdout);
            exit(0);
        }
        const char *name = late_name(option);
        if (name)
            late[late_count++] = (late_option){name, optarg};
        else
            set_option(o, option);
    }
    if (optind < count) fail("'%s' is too much; --help shows what can be said", words[optind]);
    if (!o->directory) fail("--out DIR is needed: where to write; --help shows the rest");
    int64_t ranks = (int64_t)o->dp * o->tp * o->pp;
    if (ranks > 16384) fail("%lld ranks are more than 16384", (long long)ranks);
    if (o->layers < o->pp) fail("--layers %d do not fill --pp %d stages", o->layers, o->pp);
    if (o->hidden % (128 * o->tp)) fail("--hidden %d is not a multiple of 128 * tp", o->hidden);
    if (o->only_rank >= ranks)
        fail("--only-rank %d: there are ranks 0 to %lld", o->only_rank, (long long)ranks - 1);
    if (o->hang >= ranks || o->leak >= ranks)
        fail("--%s %d: there are ranks 0 to %lld", o->hang >= ranks ? "hang" : "leak",
             o->hang >= ranks ? o->hang : o->leak, (long long)ranks - 1);
    if (o->execution && o->only_rank < 0 && ranks > 1 && !strchr(o->execution, '%'))
        fail("--execution-trace %s: %lld ranks cannot be one file; a %% in the name is the rank",
             o->execution, (long long)ranks);
    if (o->graph && (o->alloc_every || o->item_every))
        fail("%s: the host cannot wait inside a graph", o->alloc_every ? "--alloc-every" : "--item-every");
    if (o->fused && !o->elementwise) fail("--fused: there is nothing to fuse without --elementwise N");
    if (o->no_annotations && o->execution)
        fail("--no-annotations: an execution trace has the annotations; ask for one without the other");
    o->stage_factors = take_memory((size_t)o->pp * sizeof *o->stage_factors);
    for (int i = 0; i < o->pp; i++) o->stage_factors[i] = 1000;
    o->factors = take_memory((size_t)ranks * sizeof *o->factors);
    o->offsets = take_memory((size_t)ranks * sizeof *o->offsets);
    o->clocks = take_memory((size_t)ranks * sizeof *o->clocks);
    o->host_factors = take_memory((size_t)ranks * sizeof *o->host_factors);
    for (int64_t i = 0; i < ranks; i++) o->factors[i] = o->host_factors[i] = 1000;
    for (size_t i = 0; i < late_count; i++) apply_late(j, &late[i]);
    free(late);
    /* ranks of a host have the clock of its first rank */
    for (int64_t i = 0, first = 0; o->hosts && i < ranks; i++) {
        if (i * o->hosts / ranks != first * o->hosts / ranks) first = i;
        o->offsets[i] = o->offsets[first];
        o->clocks[i].drift = o->clocks[first].drift;
    }
}

void options_free(options *o)
{
    free(o->factors);
    free(o->host_factors);
    free(o->stage_factors);
    free(o->offsets);
    free(o->clocks);
    free(o->skews);
    free(o->stalls);
    free(o->pauses);
    free(o->links);
    free(o->scales);
}
