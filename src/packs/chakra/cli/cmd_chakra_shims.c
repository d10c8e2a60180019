/* The established Chakra tools under their own names and options: the program, called by one of them, does
 * what its own sub-command does. `make install` links them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chakra/cli/chakra.h"

#define MOST_WORDS 64

/* An option of a tool and ours; ours NULL: it is accepted and does nothing. */
typedef struct shim_option {
    const char *name, *ours;
    bool flag, needed;
} shim_option;

typedef struct shim {
    const char *tool;
    const char *mode; /* the word behind the tool's own options; NULL: it has none */
    const rs_command *command;
    const char *input; /* the option whose value is our command's path; NULL: none */
    const char *given; /* "-o" and so on that our command needs besides, NULL: nothing */
    const char *value;
    const shim_option *options;
    size_t n;
} shim;

#define OPTIONS(list) .options = list, .n = sizeof list / sizeof *list

static const shim_option link_options[] = {
    {"rank", "rank", false, true},
    {"chakra-host-trace", "host", false, true},
    {"chakra-device-trace", "device", false, true},
    {"pytorch-et-file", "host", false, false},
    {"kineto-file", "device", false, false},
    {"output-file", "output", false, true},
    {"log-level", NULL, false, false},
    {"sync-dependencies", NULL, true, false}, /* they are always kept */
};
static const shim_option pytorch_options[] = {
    {"input", NULL, false, true},
    {"output", "output", false, true},
    {"simulate", NULL, true, false},
    {"log-filename", NULL, false, false},
};
static const shim_option text_options[] = {
    {"input", NULL, false, true},         {"output", "output", false, true},
    {"num-npus", "npus", false, true},    {"num-passes", "passes", false, true},
    {"log-filename", NULL, false, false},
};
static const shim_option file_options[] = {
    {"input_filename", NULL, false, true},
    {"output_filename", "output", false, true},
};
static const shim_option timeline_options[] = {
    {"input_filename", NULL, false, true},       {"output_filename", "output", false, true},
    {"npu_frequency", "frequency", false, true}, {"num_npus", NULL, false, false},
    {"log_filename", NULL, false, false},
};
static const shim_option generator_options[] = {
    {"num_npus", "npus", false, false},
    {"default_runtime", "runtime", false, false},
    {"default_tensor_size", "tensor-size", false, false},
    {"default_comm_size", "comm-size", false, false},
};

static int run_jsonizer(const rs_command *command, int argc, char **argv);
static const rs_option_spec jsonizer_specs[] = {
    {"output", RS_OPTION_TEXT, "FILE", NULL, NULL, "where the objects go"},
    {"max-ratio", RS_OPTION_INT, "N", NULL, "1000",
     "refuse files that inflate to more than N times their size"},
};
static const rs_command jsonizer = {
    .name = "chakra_jsonizer",
    .usage = "--input_filename FILE.et --output_filename FILE.json",
    .groups = {{.title = "Options",
                .specs = jsonizer_specs,
                .n = sizeof jsonizer_specs / sizeof *jsonizer_specs}},
    .n_groups = 1,
    .run = run_jsonizer,
};

static const shim shims[] = {
    {.tool = "chakra_trace_link", .command = &rs_chakra_link_command, OPTIONS(link_options)},
    {.tool = "chakra_converter",
     .mode = "PyTorch",
     .command = &rs_chakra_convert_command,
     .input = "input",
     OPTIONS(pytorch_options)},
    {.tool = "chakra_converter",
     .mode = "Text",
     .command = &rs_chakra_text_command,
     .input = "input",
     OPTIONS(text_options)},
    {.tool = "chakra_jsonizer", .command = &jsonizer, .input = "input_filename", OPTIONS(file_options)},
    {.tool = "chakra_visualizer",
     .command = &rs_chakra_visualize_command,
     .input = "input_filename",
     OPTIONS(file_options)},
    {.tool = "chakra_timeline_visualizer",
     .command = &rs_chakra_timeline_command,
     .input = "input_filename",
     OPTIONS(timeline_options)},
    {.tool = "chakra_generator",
     .command = &rs_chakra_generate_command,
     .given = "--output",
     .value = ".",
     OPTIONS(generator_options)},
};
#define N_SHIMS (sizeof shims / sizeof *shims)

/* ---- chakra_jsonizer -------------------------------------------------------------------------------- */

typedef struct jsonizing {
    const char *path;
    uint64_t max_ratio;
} jsonizing;

static rs_status jsonize(void *context, const rs_sink *sink, rs_error *err)
{
    const jsonizing *j = context;
    return rs_chakra_jsonize(j->path, j->max_ratio, sink, err);
}

static int run_jsonizer(const rs_command *command, int argc, char **argv)
{
    rs_error err = RS_ERROR_INIT;
    rs_arguments arguments;
    int code;
    if (!rs_chakra_start_file(command, argc, argv, &arguments, &code)) return code;
    const rs_options *o = arguments.options[0];
    jsonizing j = {arguments.paths[0], (uint64_t)rs_options_int(o, "max-ratio")};
    code = rs_output_put(rs_options_text(o, "output"), false, NULL, jsonize, &j, &err) == RS_OK
               ? RS_EXIT_OK
               : rs_complain_error(NULL, &err);
    rs_arguments_clear(&arguments);
    return code;
}

/* ---- options ---------------------------------------------------------------------------------------- */

typedef struct translation {
    const shim *shim;
    char *words[MOST_WORDS]; /* for our command; texts are the caller's or in room */
    int n;
    char room[MOST_WORDS][40];
    bool seen[16]; /* by option */
    const char *input, *output, *log;
    bool simulate;
} translation;

static bool put_word(translation *t, char *word)
{
    if (t->n == MOST_WORDS - 1) return false;
    t->words[t->n++] = word;
    return true;
}

static bool put_option(translation *t, const char *name, char *value)
{
    if (t->n == MOST_WORDS - 1) return false;
    snprintf(t->room[t->n], sizeof t->room[t->n], "--%s", name);
    return put_word(t, t->room[t->n]) && (!value || put_word(t, value));
}

/* The place of "--name" or "--name=value" among the options; -1. */
static int option_at(const shim *s, const char *word, char **value)
{
    if (strncmp(word, "--", 2) != 0) return -1;
    size_t n = strcspn(word + 2, "=");
    for (size_t i = 0; i < s->n; i++)
        if (strlen(s->options[i].name) == n && strncmp(s->options[i].name, word + 2, n) == 0) {
            *value = word[2 + n] ? (char *)word + 3 + n : NULL;
            return (int)i;
        }
    return -1;
}

static bool take(translation *t, const shim_option *option, char *value)
{
    if (strcmp(option->name, "log-filename") == 0 || strcmp(option->name, "log_filename") == 0)
        t->log = value;
    if (strcmp(option->name, "simulate") == 0) t->simulate = true;
    if (option->ours && strcmp(option->ours, "output") == 0) t->output = value;
    if (t->shim->input && strcmp(option->name, t->shim->input) == 0) t->input = value;
    return !option->ours || put_option(t, option->ours, value);
}

static int wrong(const shim *s, const char *text, const char *word)
{
    rs_complain("%s: %s%.80s; `%s --help` lists what it takes", s->tool, text, word, s->tool);
    return RS_EXIT_USAGE;
}

/* What says the same as another option, under its older name. */
static bool is_given(const translation *t, size_t at)
{
    const shim *s = t->shim;
    for (size_t i = 0; i < s->n; i++)
        if (t->seen[i] && (i == at || (s->options[at].ours && s->options[i].ours &&
                                       strcmp(s->options[i].ours, s->options[at].ours) == 0)))
            return true;
    return false;
}

static int translate(translation *t, int argc, char **argv)
{
    const shim *s = t->shim;
    bool moded = !s->mode;
    for (int i = 0; i < argc; i++) {
        char *value = NULL;
        if (!moded && strcmp(argv[i], s->mode) == 0) {
            moded = true;
            continue;
        }
        int at = option_at(s, argv[i], &value);
        if (at < 0) return wrong(s, "there is no option ", argv[i]);
        if (s->options[at].flag && value) return wrong(s, "no value belongs to ", argv[i]);
        if (!s->options[at].flag && !value) {
            if (i + 1 == argc) return wrong(s, "a value is missing after ", argv[i]);
            value = argv[++i];
        }
        t->seen[at] = true;
        if (!take(t, &s->options[at], value)) return wrong(s, "too many options: ", argv[i]);
    }
    if (!moded) return wrong(s, "say PyTorch or Text before the other options", "");
    for (size_t i = 0; i < s->n; i++)
        if (s->options[i].needed && !is_given(t, i))
            return wrong(s, "this option is needed: --", s->options[i].name);
    if (s->given && (!put_word(t, (char *)s->given) || !put_word(t, (char *)s->value)))
        return wrong(s, "too many options", "");
    /* a path that begins with a hyphen is none of our options */
    if (t->input && (!put_word(t, (char *)"--") || !put_word(t, (char *)t->input)))
        return wrong(s, "too many options", "");
    return RS_EXIT_OK;
}

/* ---- running ---------------------------------------------------------------------------------------- */

static int run_command(translation *t)
{
    int code = t->shim->command->run(t->shim->command, t->n, t->words);
    if (!t->simulate || (code != RS_EXIT_OK && code != RS_EXIT_LOSS)) return code;
    char *check[] = {(char *)"--", (char *)t->output, NULL};
    int checked = rs_chakra_check_command.run(&rs_chakra_check_command, 2, check);
    return checked == RS_EXIT_INPUT ? checked : code;
}

/* What the run says goes into the log and then to where it would have gone without. */
static int run_logged(translation *t)
{
    int log = open(t->log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), old = -1;
    if (log >= 0) old = dup(2);
    if (log < 0 || old < 0 || dup2(log, 2) < 0) {
        rs_complain("%s: cannot write the log %s", t->shim->tool, t->log);
        if (log >= 0) close(log);
        if (old >= 0) close(old);
        return RS_EXIT_INPUT;
    }
    int code = run_command(t);
    char buffer[4096];
    ssize_t n;
    fflush(stderr);
    dup2(old, 2);
    lseek(log, 0, SEEK_SET);
    while ((n = read(log, buffer, sizeof buffer)) > 0)
        if (write(2, buffer, (size_t)n) < 0) break;
    close(log);
    close(old);
    return code;
}

/* The options that the tool takes, and what each is of ours. */
static void put_help(const char *tool)
{
    for (size_t i = 0; i < N_SHIMS; i++) {
        const shim *s = &shims[i];
        if (strcmp(s->tool, tool) != 0) continue;
        const char *ours = s->command->run == run_jsonizer ? "chakra print" : s->command->name;
        printf("%s%s%s: the established tool's options for `rankscope %s`\n", tool, s->mode ? " " : "",
               s->mode ? s->mode : "", ours);
        for (size_t k = 0; k < s->n; k++) {
            const shim_option *o = &s->options[k];
            char name[64];
            snprintf(name, sizeof name, "--%s%s", o->name, o->flag ? "" : " VALUE");
            printf("  %-28s %s", name, o->needed ? "needed; " : "");
            if (s->input && strcmp(o->name, s->input) == 0)
                printf("the file to read\n");
            else if (strncmp(o->name, "log", 3) == 0)
                printf("%s\n",
                       strstr(o->name, "filename") ? "where messages go too" : "accepted, does nothing");
            else if (strcmp(o->name, "simulate") == 0)
                printf("the replay as well, as `rankscope chakra check` prints it\n");
            else if (o->ours)
                printf("--%s there\n", o->ours);
            else
                printf("accepted, does nothing\n");
        }
    }
}

/* Of a tool's modes the one that the words name. */
static const shim *find_shim(const char *tool, int argc, char **argv)
{
    const shim *first = NULL;
    for (size_t i = 0; i < N_SHIMS; i++) {
        if (strcmp(shims[i].tool, tool) != 0) continue;
        if (!first) first = &shims[i];
        for (int k = 0; k < argc && shims[i].mode; k++)
            if (strcmp(argv[k], shims[i].mode) == 0 && (k == 0 || strcmp(argv[k - 1], "--input") != 0))
                return &shims[i];
    }
    return first;
}

static bool run_as(const char *name, int argc, char **argv, int *code)
{
    const char *slash = strrchr(name, '/'), *tool = slash ? slash + 1 : name;
    translation t = {.shim = find_shim(tool, argc, argv)};
    if (!t.shim) return false;
    rs_signals_install();
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0) continue;
        put_help(tool);
        *code = fflush(stdout) == 0 ? RS_EXIT_OK : RS_EXIT_INPUT;
        return true;
    }
    *code = translate(&t, argc, argv);
    if (*code == RS_EXIT_OK) *code = t.log ? run_logged(&t) : run_command(&t);
    return true;
}

const rs_command_shim rs_shim_chakra = {.run_as = run_as};
