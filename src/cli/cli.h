/* The command line: what its files share. Nothing is computed here; commands choose, call and show. */
#ifndef RS_CLI_CLI_H
#define RS_CLI_CLI_H

#include "text/writer.h"
#include "rankscope/rankscope.h"

/* Exit codes: the contract of docs and scripts. */
enum {
    RS_EXIT_OK = 0,
    RS_EXIT_FOUND = 1,        /* the thing looked for is there */
    RS_EXIT_USAGE = 2,        /* the command line is wrong */
    RS_EXIT_INPUT = 3,        /* no usable input, or the output could not be written */
    RS_EXIT_LOSS = 4,         /* part of the input was lost */
    RS_EXIT_CLOSED_PIPE = 141 /* nobody reads the output any more: as if SIGPIPE had ended the process */
};

/* ---- commands ----------------------------------------------------------------------------------------- */

typedef struct rs_option_group {
    const char *title;
    const rs_option_spec *specs;
    size_t n;
} rs_option_group;

#define RS_MAX_GROUPS 4

/* Everything that help, man pages and completions say about a command. */
typedef struct rs_command {
    const char *name;
    const char *help;      /* one line */
    const char *usage;     /* what follows the name: "[options] PATH..." */
    const char *about;     /* paragraphs, separated by an empty line */
    const char *examples;  /* command lines, one a line; "#" starts a remark line */
    const char *arguments; /* words the command takes, "bash|zsh|fish"; NULL: paths */
    rs_option_group groups[RS_MAX_GROUPS];
    size_t n_groups;
    const rs_analysis *analysis;                 /* its tables; NULL for other commands */
    const struct rs_command *const *subcommands; /* named "chakra link"; NULL for most commands */
    size_t n_subcommands;
    int (*run)(const struct rs_command *command, int argc, char **argv); /* argv[0] is the first argument */
} rs_command;

/* All commands: those of src/cli/cmd_*.c, then one an analysis. A command of its own hides an analysis of its
 * name. */
size_t rs_command_count(void);
void rs_command_at(size_t index, rs_command *out);
bool rs_command_find(const char *name, rs_command *out);
/* The part of a sub-command's name behind its command's; the whole name of other commands. */
const char *rs_command_last_name(const rs_command *command);
/* The command that `help` or `man` was given: "breakdown", "chakra link" as one word with a hyphen or as two.
 * RS_EXIT_OK, or the exit code after the complaint, which `asked` leads. */
int rs_command_find_topic(const char *asked, const char *const *words, size_t n, rs_command *out);
/* The heading in help under which a command stands; "More" for those without. Groups are numbered in order.
 */
size_t rs_command_group(const char *name);
const char *rs_command_group_title(size_t group); /* NULL behind the last */

/* Names the nearest command; returns RS_EXIT_USAGE. */
int rs_complain_command(const char *name);
/* The same for one of a command's sub-commands. */
int rs_complain_subcommand(const rs_command *command, const char *name);

int rs_run_analysis(const rs_command *command, int argc, char **argv);
int rs_run_help(const rs_command *command, int argc, char **argv);
int rs_run_man(const rs_command *command, int argc, char **argv);
int rs_run_capture(const rs_command *command, int argc, char **argv);
int rs_run_metrics(const rs_command *command, int argc, char **argv);
int rs_run_completions(const rs_command *command, int argc, char **argv);
int rs_run_flight(const rs_command *command, int argc, char **argv);
int rs_run_fuse(const rs_command *command, int argc, char **argv);
int rs_run_report(const rs_command *command, int argc, char **argv);
int rs_run_view(const rs_command *command, int argc, char **argv);
int rs_run_chakra(const rs_command *command, int argc, char **argv);

/* ---- arguments ---------------------------------------------------------------------------------------- */

/* One rs_options for each group, and what is no option. */
typedef struct rs_arguments {
    rs_options *options[RS_MAX_GROUPS];
    size_t n_groups;
    const char **paths;
    size_t n_paths;
} rs_arguments;

/* Options may stand anywhere: --name VALUE, --name=VALUE, -o VALUE, -oVALUE; "--" ends them, "-" is a path.
 * An option is looked up in the groups in order. RS_ERR_USAGE names the nearest valid word. */
rs_status rs_arguments_parse(const rs_command *command, int argc, char **argv, rs_arguments *out,
                             rs_error *err);
void rs_arguments_clear(rs_arguments *arguments);
/* The options of the group that has the name; a name nobody has is a programming error. */
const rs_options *rs_arguments_of(const rs_command *command, const rs_arguments *arguments, const char *name);
/* The short form of an option ('o' for "output"), 0 if it has none. */
char rs_short_option(const char *name);

/* What `capture` takes. */
#define RS_CAPTURE_N_OPTIONS 4
extern const rs_option_spec rs_capture_option_specs[RS_CAPTURE_N_OPTIONS];
/* What `metrics` takes. */
#define RS_METRICS_N_OPTIONS 11
#define RS_METRICS_N_OUTPUTS 7
extern const rs_option_spec rs_metrics_option_specs[RS_METRICS_N_OPTIONS];
extern const rs_option_spec rs_metrics_output_specs[RS_METRICS_N_OUTPUTS];

/* What every analysis takes. */
extern const rs_option_group rs_input_options, rs_output_options;
extern const rs_option_group rs_flight_options; /* of the command flight */
extern const rs_option_group rs_fuse_options;   /* of the command fuse */
#define RS_REPORT_GROUPS 3
extern const rs_option_group rs_report_options[RS_REPORT_GROUPS]; /* of the command report */
extern const rs_option_group rs_view_options;                     /* of the command view */

/* "512M" in bytes; suffixes K, M, G, T of 1024. */
bool rs_parse_size(const char *text, uint64_t *bytes);
/* The settings of a job that the input options say, of the commands that take traces. Where to report
 * progress, and --absolute and --include-last-step, which not all of them have, are left to the caller. */
rs_status rs_job_settings_of(const rs_options *input, rs_job_settings *out, rs_error *err);

/* An option that may be given again and again, which rs_options do not know. values have room for every
 * argument. */
typedef struct rs_repeated {
    const char **values;
    size_t n;
} rs_repeated;

/* Takes "--NAME VALUE" or "--NAME=VALUE" at *i out of the arguments; whether it was one. */
bool rs_repeated_take(rs_repeated *into, const char *name, int argc, char **argv, int *i);

/* ---- terminal and messages ---------------------------------------------------------------------------- */

typedef enum rs_color_choice { RS_COLOR_AUTO, RS_COLOR_ALWAYS, RS_COLOR_NEVER } rs_color_choice;

/* How standard output wants its text. */
rs_render_settings rs_terminal_settings(rs_color_choice color);
/* Whether the output form has that name. */
bool rs_renders_as(const rs_render_settings *settings, const char *form);
bool rs_terminal_utf8(void);
/* The width that prose is wrapped to. */
unsigned rs_prose_width(void);

/* One line on stderr, led by the program's name; control characters in it are made harmless. */
void rs_complain(const char *format, ...) RS_PRINTF(1, 2);
/* Reports a failed call and returns its exit code. */
int rs_complain_error(const char *command, const rs_error *err);
int rs_exit_code_of(rs_status status);
/* Problems and notes of a result, one line each. */
void rs_report_result(const rs_result *result, bool quiet);
/* Whether some problem that was reported has the error as its detail, perhaps behind what the error adds in
 * front (which analysis met it): then it need not be said again. */
bool rs_is_told(const rs_result *result, const rs_error *err);

/* SIGINT, SIGTERM and SIGHUP ask a run to stop; a second one ends the process at once. */
void rs_signals_install(void);
bool rs_signal_came(void);
/* Takes the signal as dealt with: the process ends by itself. */
void rs_signal_forget(void);
/* Ends the process the way the signal would have, so that the caller's shell sees it. */
void rs_signal_repeat(void);

/* ---- progress ----------------------------------------------------------------------------------------- */

typedef struct rs_progress {
    bool shown;               /* whether it may be drawn at all */
    bool drawn;               /* whether a line is on the screen */
    double start, last_drawn; /* seconds */
} rs_progress;

void rs_progress_start(rs_progress *progress, bool wanted);
bool rs_progress_step(void *progress, uint64_t done, uint64_t total); /* an rs_progress_fn */
void rs_progress_end(rs_progress *progress);

/* ---- output ------------------------------------------------------------------------------------------- */

/* Standard output, or a file that appears under its name only when it is whole. */
typedef struct rs_output {
    int fd;
    int error; /* errno of the first failed write */
    bool to_file;
    char *path;      /* the final name; NULL for standard output */
    char *temporary; /* the name it has until it is whole; NULL for what is no regular file */
} rs_output;

/* path NULL or "-" is standard output. */
rs_status rs_output_open(rs_output *output, const char *path, rs_error *err);
rs_sink rs_output_sink(rs_output *output);
/* Puts the file in its place. */
rs_status rs_output_commit(rs_output *output, rs_error *err);
/* Removes what was written so far. */
void rs_output_discard(rs_output *output);
/* Exit code for a failed render or commit, having complained; quiet about a closed pipe. */
int rs_output_failed(rs_output *output, const char *command, const rs_error *err);

/* Writes text that a function makes to standard output; the exit code. */
int rs_print(const char *command, void (*make)(rs_writer *writer, const void *context), const void *context);

/* ---- help --------------------------------------------------------------------------------------------- */

void rs_write_command_help(rs_writer *writer, const rs_command *command);
void rs_write_general_help(rs_writer *writer);
extern const char rs_exit_code_text[];

#endif
