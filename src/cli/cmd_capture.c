/* rankscope capture -- COMMAND...: runs a training command under a profiler, one output a rank, and leaves a
 * manifest next to it. The exit code is the command's; faults of capture itself are 125. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "cli/capture.h"

static const rs_option_spec specs[] = {
    {"with", RS_OPTION_CHOICE, "PROFILER", "rocprofv3|nsys", NULL,
     "which profiler (default: the one that is on PATH, rocprofv3 first)"},
    {"output", RS_OPTION_TEXT, "DIR", NULL, NULL,
     "where run_<timestamp>/ goes (default: $ROCPROF_OUTPUT_DIR, else the current directory)"},
    {"mask", RS_OPTION_TEXT, "NAMES", NULL, NULL,
     "arguments of the command whose values the manifest leaves out, as in api-url,user, besides those that are "
     "secrets by their name (--hub-token, WANDB_API_KEY=...) or form"},
    {"dry-run", RS_OPTION_FLAG, NULL, NULL, NULL, "print the command that would run, and run nothing"},
    {"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"},
};

#define OUTPUT_FORMAT "--output-format rocpd csv"
#define DEFAULT_ROCPROF "--kernel-trace --memory-copy-trace --rccl-trace --marker-trace " OUTPUT_FORMAT
#define DEFAULT_NSYS "-t cuda,nvtx --force-overwrite=true"

/* A growing list of words; what it holds is freed with it. */
typedef struct words {
    char **items;
    size_t n, capacity;
    bool failed;
} words;

static void add_n(words *w, const char *text, size_t n)
{
    char *copy = rs_strndup(text, n);
    /* room for the NULL after the last */
    if (!copy || !rs_grow((void **)&w->items, &w->capacity, w->n + 2, sizeof *w->items)) {
        rs_free(copy);
        w->failed = true;
        return;
    }
    w->items[w->n++] = copy;
    w->items[w->n] = NULL;
}

static void add(words *w, const char *text)
{
    add_n(w, text, strlen(text));
}

/* Words between blanks, as the variable always was split; quotes are no special. */
static void add_split(words *w, const char *text)
{
    while (*text) {
        text += strspn(text, " \t\n");
        size_t n = strcspn(text, " \t\n");
        if (n) add_n(w, text, n);
        text += n;
    }
}

static void words_clear(words *w)
{
    for (size_t i = 0; i < w->n; i++) rs_free(w->items[i]);
    rs_free(w->items);
    *w = (words){0};
}

/* ---- which profiler ------------------------------------------------------------------------------------ */

static const char *choose_profiler(const rs_options *options)
{
    const char *wished = rs_options_text(options, "with");
    bool dry = rs_options_flag(options, "dry-run");
    if (wished) {
        if (dry || rs_capture_on_path(wished, NULL, 0)) return wished;
        rs_complain("capture: %s is not on PATH", wished);
        return NULL;
    }
    if (rs_capture_on_path("rocprofv3", NULL, 0)) return "rocprofv3";
    if (rs_capture_on_path("nsys", NULL, 0)) return "nsys";
    rs_complain("capture: neither rocprofv3 (ROCm) nor nsys (CUDA) is on PATH");
    return NULL;
}

/* One output a rank: torchrun and its like set RANK for each worker. */
static const char *rank_of_this(void)
{
    static const char *const names[] = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value && strspn(value, "0123456789") == strlen(value)) return value;
    }
    return NULL;
}

static void make_command(words *w, const char *profiler, const char *folder, char **command)
{
    char text[4200];
    const char *rank = rank_of_this();
    bool rocprof = strcmp(profiler, "rocprofv3") == 0;
    const char *own = getenv("ROCPROF_ARGS");
    add(w, profiler);
    if (rocprof) {
        add_split(w, own ? own : DEFAULT_ROCPROF);
        if (own && !strstr(own, "--output-format") && !strstr(own, "-f ")) add_split(w, OUTPUT_FORMAT);
        add(w, "-d");
        add(w, folder);
        add(w, "-o");
        /* where this process is no worker, its workers' own RANK names their files */
        snprintf(text, sizeof text, "rank%s_%%pid%%", rank ? rank : "%env{RANK}%");
        add(w, text);
        add(w, "--");
    } else {
        add(w, "profile");
        add_split(w, DEFAULT_NSYS);
        add(w, "-o");
        snprintf(text, sizeof text, "%s/rank%s_%%p", folder, rank ? rank : "%q{RANK}");
        add(w, text);
    }
    for (size_t i = 0; command[i]; i++) add(w, command[i]);
}

/* ---- showing ------------------------------------------------------------------------------------------- */

/* A word as a shell takes it. */
static void put_word(rs_writer *writer, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:%@{}";
    if (*word && strspn(word, plain) == strlen(word) && !strchr(word, '{')) {
        rs_writer_text(writer, word);
        return;
    }
    rs_writer_char(writer, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            rs_writer_text(writer, "'\\''");
        else
            rs_writer_char(writer, *word);
    }
    rs_writer_char(writer, '\'');
}

static void show_command(rs_writer *writer, const void *context)
{
    const words *w = context;
    for (size_t i = 0; i < w->n; i++) {
        if (i) rs_writer_char(writer, ' ');
        put_word(writer, w->items[i]);
    }
    rs_writer_char(writer, '\n');
}

/* ---- running ------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t child;

/* What reaches us is meant for the command. */
static void pass_on(int number)
{
    int held = errno;
    if (child > 0) kill((pid_t)child, number);
    errno = held;
}

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
#define N_FORWARDED (sizeof forwarded / sizeof *forwarded)

static int run_command(rs_capture_run *run)
{
    struct sigaction action = {.sa_handler = pass_on};
    sigset_t all, before;
    sigfillset(&all);
    /* a signal between fork and the handlers would be lost */
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        for (size_t i = 0; i < N_FORWARDED; i++) signal(forwarded[i], SIG_DFL);
        /* who is killed outright (KILL, out of memory) cannot pass that on */
        rs_system_end_with_parent(SIGTERM);
        if (getppid() != parent) _exit(RS_EXIT_CAPTURE);
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(run->profiled[0], run->profiled);
        fprintf(stderr, "rankscope: capture: cannot run %s: %s\n", run->profiled[0], strerror(errno));
        _exit(RS_EXIT_CAPTURE);
    }
    if (pid < 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        rs_complain("capture: cannot start a process: %s", strerror(errno));
        return RS_EXIT_CAPTURE;
    }
    child = pid;
    for (size_t i = 0; i < N_FORWARDED; i++) sigaction(forwarded[i], &action, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    run->start = rs_capture_now();
    run->pid = pid;
    run->exit_code = -1;
    /* while the command gets going: a tool may take its time */
    rs_capture_look(run->profiler, &run->machine);
    /* the first says what ran when the second never comes */
    rs_capture_write_manifest(run, "start");
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) break;
    child = 0;
    run->end = rs_capture_now();
    run->exit_code = WIFEXITED(status)     ? WEXITSTATUS(status)
                     : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                           : 125;
    rs_capture_write_manifest(run, "end");
    rs_capture_machine_clear(&run->machine);
    return run->exit_code;
}

/* The name of a folder, which lies where it is looked for. */
static bool is_one_name(const char *name)
{
    return !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* run_<timestamp>: all ranks of one start share it when RANKSCOPE_RUN names it. */
static bool folder_name(const rs_options *options, char *out, size_t size)
{
    const char *root = rs_options_text(options, "output"), *shared = getenv("RANKSCOPE_RUN");
    char stamp[32];
    time_t now = time(NULL);
    struct tm parts;
    if (!root) root = getenv("ROCPROF_OUTPUT_DIR");
    if (!root || !*root) root = ".";
    if (!localtime_r(&now, &parts) || !strftime(stamp, sizeof stamp, "%Y%m%d_%H%M%S", &parts)) return false;
    int n = shared && *shared ? snprintf(out, size, "%s/%s", root, shared)
                              : snprintf(out, size, "%s/run_%s", root, stamp);
    return n > 0 && (size_t)n < size;
}

static bool make_folders(char *path)
{
    for (char *c = path + 1; *c; c++) {
        if (*c != '/') continue;
        *c = '\0';
        bool ok = mkdir(path, 0777) == 0 || errno == EEXIST;
        *c = '/';
        if (!ok) return false;
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

static int capture(const rs_options *options, char **target)
{
    char folder[4096];
    words command = {0};
    const char *profiler = choose_profiler(options);
    if (!profiler) return RS_EXIT_CAPTURE;
    if (!folder_name(options, folder, sizeof folder)) {
        rs_complain("capture: the output directory's name is too long");
        return RS_EXIT_CAPTURE;
    }
    const char *shared = getenv("RANKSCOPE_RUN");
    if (shared && !is_one_name(shared)) {
        rs_complain(
            "capture: RANKSCOPE_RUN is the name of a folder below the output directory, not a path: %.200s",
            shared);
        return RS_EXIT_CAPTURE;
    }
    make_command(&command, profiler, folder, target);
    int code = RS_EXIT_CAPTURE;
    if (command.failed) {
        rs_complain("capture: out of memory");
    } else if (rs_options_flag(options, "dry-run")) {
        code = rs_print("capture", show_command, &command);
    } else if (!make_folders(folder)) {
        rs_complain("capture: cannot make %s: %s", folder, strerror(errno));
    } else {
        rs_capture_run run = {.profiler = profiler,
                              .folder = folder,
                              .rank = rank_of_this(),
                              .profiled = command.items,
                              .target = target,
                              .mask = rs_options_text(options, "mask"),
                              .exit_code = -1};
        code = run_command(&run);
    }
    words_clear(&command);
    return code;
}

static int run_capture(const rs_command *command, int argc, char **argv)
{
    rs_arguments arguments;
    int end = 0, code;
    while (end < argc && strcmp(argv[end], "--") != 0) end++;
    if (!rs_command_start(command, end, argv, &arguments, &code))
        return code == RS_EXIT_OK ? code : RS_EXIT_CAPTURE;
    code = RS_EXIT_CAPTURE;
    if (arguments.n_paths)
        rs_complain("capture: what is \"%.80s\"? The command to run comes after --", arguments.paths[0]);
    else if (end + 1 >= argc)
        rs_complain("capture: which command? rankscope capture [options] -- COMMAND...");
    else
        code = capture(arguments.options[0], argv + end + 1);
    rs_arguments_clear(&arguments);
    return code;
}

const rs_command rs_command_capture = {
    .name = "capture",
    .group = "Overlap metrics",
    .help = "Run a training command under rocprofv3 or nsys, one output a rank",
    .usage = "[--with rocprofv3|nsys] [--dry-run] -- COMMAND...",
    .about =
        "Runs the command under the profiler that the machine has, into run_<timestamp>/ below the output "
        "directory, with a manifest of ranks, host, processes, devices and clocks. Signals go to the "
        "command, and its exit code is the exit code; faults of capture itself are 125.\n\n"
        "Use it inside a launcher, so that each worker is profiled by itself and named by its RANK: torchrun "
        "--no-python ... rankscope capture -- python train.py. With RANKSCOPE_RUN set, all ranks share the "
        "directory of that name instead of a timestamp.\n\n"
        "ROCPROF_ARGS replaces rocprofv3's arguments, ROCPROF_OUTPUT_DIR is the default output directory.",
    .examples = "rankscope capture --dry-run -- python train.py\n"
                "torchrun --no-python --nproc_per_node 8 rankscope capture -- python train.py",
    .arguments = "",
    .groups = {{.title = "Options", .specs = specs, .n = sizeof specs / sizeof *specs}},
    .n_groups = 1,
    .run = run_capture,
};
