/* rankscope demo [KIND]: a small job with a known fault, what `rankscope PATH` says of it, and where to look next. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/suggest.h"
#include "base/system.h"
#include "base/try.h"
#include "cli/cli.h"

#define MOST_RUNS 2
#define MOST_WORDS 24
#define SYNTHESISER "rankscope-synth"
#define MARK ".rankscope-demo" /* in a folder that the command made */

/* A job, or two runs of it in folders of their own. */
static const struct demo {
    const char *kind, *story;
    struct {
        const char *folder, *options; /* folder: NULL: the job's */
    } runs[MOST_RUNS];
    const char *next[3]; /* commands; % is the folder */
} demos[] = {
    {"straggler",
     "Eight ranks train (data parallel 4, tensor parallel 2). The GPU of rank 5 is half again as slow as the others.",
     {{NULL, "--dp 4 --tp 2 --layers 2 --steps 4 --straggler 5:1.5"}},
     {"rankscope blame %", "rankscope whatif %", "rankscope report -o report.html %"}},
    {"hang",
     "Eight ranks train until rank 5 stops. Each left the dump of its flight recorder.",
     {{NULL, "--dp 8 --steps 3 --hang 5"}},
     {"rankscope flight --entries %", "rankscope flight --stacks %", NULL}},
    {"loader",
     "Eight ranks train. In step 11 the data loader of rank 3 takes 120 ms longer.",
     {{NULL, "--dp 4 --tp 2 --layers 2 --steps 4 --stall 3:11:120"}},
     {"rankscope steps %", "rankscope blame --wait idle %", NULL}},
    {"slow-link",
     "Eight ranks train. Transfers between ranks 2 and 3 take three times as long as those of other pairs.",
     {{NULL, "--dp 4 --tp 2 --layers 2 --steps 4 --link 2:3:3"}},
     {"rankscope collectives %", "rankscope overlap %", NULL}},
    {"memory",
     "Four ranks train until rank 1 runs out of memory. Each left a snapshot of its allocator.",
     {{NULL, "--dp 4 --steps 6 --leak 1"}},
     {"rankscope memory --table spread %", "rankscope memory --without metrics.py:17 %", NULL}},
    {"regression",
     "Two ranks train before and after a change, with which the attention kernels take twice as long.",
     {{"before", "--dp 2 --layers 4 --steps 6"},
      {"after", "--dp 2 --layers 4 --steps 6 --scale-kernel flash:2"}},
     {"rankscope regress --between-run-sd 0.5 %/before %/after",
      "rankscope compare --by kernel %/before %/after", NULL}},
};
#define N_DEMOS (sizeof demos / sizeof *demos)

static const struct demo *find_demo(const char *kind, rs_error *err)
{
    const char *kinds[N_DEMOS];
    for (size_t i = 0; i < N_DEMOS; i++) {
        if (strcmp(demos[i].kind, kind) == 0) return &demos[i];
        kinds[i] = demos[i].kind;
    }
    const char *nearest = rs_suggest(kind, kinds, N_DEMOS);
    rs_fail(err, RS_ERR_USAGE, "there is no demo \"%.60s\"; %s%s", kind,
            nearest ? "did you mean " : "there is ",
            nearest ? nearest : "straggler, hang, loader, slow-link, memory, regression");
    return NULL;
}

/* ---- the job ------------------------------------------------------------------------------------------------ */

static rs_status synthesise(const char *folder, const char *options, rs_error *err)
{
    char program[4096], text[256], *words[MOST_WORDS] = {program, "--no-truth", "--out", (char *)folder};
    size_t n = 4;
    snprintf(text, sizeof text, "%s", options);
    for (char *rest = text, *word; n + 1 < MOST_WORDS && (word = strsep(&rest, " "));) words[n++] = word;
    rs_system_beside(SYNTHESISER, program, sizeof program);
    pid_t child;
    int status, code = posix_spawnp(&child, program, NULL, NULL, words, rs_system_environment());
    if (code != 0)
        return rs_fail(err, RS_ERR_IO, "%s: %s; it is installed with rankscope, next to the program", program,
                       strerror(code));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return rs_fail(err, RS_ERR_IO, "%s: %s", program, strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return RS_OK;
    return rs_fail(err, RS_ERR_IO, "%s could not make the job in %.200s", program, folder);
}

/* The folder, which is new or was made by this command. */
static rs_status make_folder(const char *folder, rs_error *err)
{
    char mark[4096];
    snprintf(mark, sizeof mark, "%s/%s", folder, MARK);
    if (mkdir(folder, 0777) != 0 && (errno != EEXIST || access(mark, F_OK) != 0))
        return errno == EEXIST || access(folder, F_OK) == 0
                   ? rs_fail(err, RS_ERR_USAGE,
                             "%.200s is there and no job of a demo: name another folder with -o", folder)
                   : rs_fail(err, RS_ERR_IO, "cannot make %.200s: %s", folder, strerror(errno));
    int fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return rs_fail(err, RS_ERR_IO, "cannot write %.200s: %s", mark, strerror(errno));
    close(fd);
    return RS_OK;
}

/* ---- the answer --------------------------------------------------------------------------------------------- */

typedef struct words {
    const struct demo *demo;
    const char *folder;
    char paths[MOST_RUNS][4096];
    size_t n;
} words;

static void write_story(rs_writer *writer, const void *context)
{
    const words *w = context;
    rs_write_prose(writer, w->demo->story);
    rs_writer_char(writer, '\n');
    rs_writer_text(writer, "$ rankscope");
    for (size_t i = 0; i < w->n; i++) {
        RS_WRITE(writer, " ", w->paths[i]);
    }
    rs_writer_char(writer, '\n');
}

static void write_next(rs_writer *writer, const void *context)
{
    const words *w = context;
    rs_writer_text(writer, "\nThen:\n");
    for (size_t i = 0; i < sizeof w->demo->next / sizeof *w->demo->next && w->demo->next[i]; i++) {
        rs_writer_text(writer, "  ");
        for (const char *c = w->demo->next[i]; *c; c++)
            if (*c == '%')
                rs_writer_text(writer, w->folder);
            else
                rs_writer_char(writer, *c);
        rs_writer_char(writer, '\n');
    }
}

static int show(words *w)
{
    char *paths[MOST_RUNS];
    int answered = RS_EXIT_OK, code = rs_print("demo", write_story, w);
    for (size_t i = 0; i < w->n; i++) paths[i] = w->paths[i];
    if (code != RS_EXIT_OK) return code;
    if (!rs_front_door((int)w->n, paths, &answered)) return RS_EXIT_INPUT;
    bool known = answered == RS_EXIT_OK || answered == RS_EXIT_FOUND || answered == RS_EXIT_LOSS;
    return known ? rs_print("demo", write_next, w) : answered;
}

static rs_status make(words *w, rs_error *err)
{
    RS_TRY(make_folder(w->folder, err));
    for (; w->n < MOST_RUNS && w->demo->runs[w->n].options; w->n++) {
        const char *sub = w->demo->runs[w->n].folder;
        int n = snprintf(w->paths[w->n], sizeof w->paths[w->n], "%s%s%s", w->folder, sub ? "/" : "",
                         sub ? sub : "");
        if (n >= (int)sizeof w->paths[w->n])
            return rs_fail(err, RS_ERR_USAGE, "the folder's name is too long");
        RS_TRY(synthesise(w->paths[w->n], w->demo->runs[w->n].options, err));
    }
    return RS_OK;
}

static const rs_option_spec specs[] = {
    {"output", RS_OPTION_TEXT, "DIR", NULL, NULL, "where the job is made (rankscope-demo-KIND)"},
    {"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"},
};

static int run(const rs_command *command, int argc, char **argv)
{
    rs_arguments arguments;
    rs_error err = RS_ERROR_INIT;
    char usual[64];
    int code;
    if (!rs_command_start(command, argc, argv, &arguments, &code)) return code;
    const char *kind = arguments.n_paths ? arguments.paths[0] : demos[0].kind;
    words w = {.demo = find_demo(kind, &err), .folder = rs_options_text(arguments.options[0], "output")};
    if (w.demo && arguments.n_paths > 1)
        rs_fail(&err, RS_ERR_USAGE, "one demo at a time: rankscope demo %s", kind);
    if (!w.folder) {
        snprintf(usual, sizeof usual, "rankscope-demo-%s", w.demo ? w.demo->kind : "");
        w.folder = usual;
    }
    if (err.status == RS_OK) make(&w, &err);
    code = err.status == RS_OK ? show(&w) : rs_complain_error("demo", &err);
    rs_arguments_clear(&arguments);
    return code;
}

const rs_command rs_command_demo = {
    .name = "demo",
    .group = "Setup",
    .help = "A small job with a fault, the answer, and the commands that show more",
    .usage = "[straggler|hang|loader|slow-link|memory|regression]",
    .about =
        "Makes the traces, dumps or snapshots of a small simulated job in a folder, and shows what `rankscope "
        "FOLDER` says of it. The same kind gives the same files everywhere. Nothing is kept elsewhere; the "
        "folder can be deleted.",
    .examples = "rankscope demo\nrankscope demo hang\nrankscope demo -o /tmp/slow loader",
    .arguments = "straggler|hang|loader|slow-link|memory|regression",
    .groups = {{.title = "Options", .specs = specs, .n = sizeof specs / sizeof *specs}},
    .n_groups = 1,
    .run = run,
};
