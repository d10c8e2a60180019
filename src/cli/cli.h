/* The command line: what its files share. Nothing is computed here; commands choose, call and show. */
#ifndef RS_CLI_CLI_H
#define RS_CLI_CLI_H

#include "text/json_put.h"
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

/* ---- options ------------------------------------------------------------------------------------------ */

/* Options under a heading: a list of its own, or another group's without some. */
typedef struct rs_option_group {
    const char *title; /* NULL: the base's */
    const rs_option_spec *specs;
    size_t n;
    const rs_option_spec *(*list)(size_t *n); /* tells the specs instead */
    const struct rs_option_group *base;       /* has them instead */
    const char *without;                      /* "compat|absolute": options of the base that are left out */
} rs_option_group;

const char *rs_group_title(const rs_option_group *group);
/* The i-th option of a group; NULL after the last. */
const rs_option_spec *rs_group_at(const rs_option_group *group, size_t i);

/* What every command that reads traces takes, and every one that prints tables. A new one of the first is a
 * row of src/job/job_settings.c, of the second a line in arguments.c. */
extern const rs_option_group rs_input_options, rs_output_options, rs_row_options;

/* An option that may be given repeatedly. */
typedef struct rs_repeated {
    const char **values;
    size_t n;
} rs_repeated;

#define RS_MAX_GROUPS 6
#define RS_MAX_REPEATED 3

/* One rs_options for each group, and what is no option. */
typedef struct rs_arguments {
    rs_options *options[RS_MAX_GROUPS];
    size_t n_groups;
    rs_repeated repeated[RS_MAX_REPEATED]; /* in the order of the command's list */
    const char **paths;
    size_t n_paths;
} rs_arguments;

/* ---- commands ----------------------------------------------------------------------------------------- */

struct rs_command;

typedef struct rs_progress {
    bool shown;               /* whether it may be drawn at all */
    bool drawn;               /* whether a line is on the screen */
    double start, last_drawn; /* seconds */
} rs_progress;

/* One call of a command: what was asked, as the command's own functions see it. */
typedef struct rs_request {
    const struct rs_command *command;
    rs_arguments arguments;
    const rs_table_spec *const *tables; /* what --table and --schema speak of */
    size_t n_tables;
    size_t table; /* the one that --table chose; SIZE_MAX: none */
    rs_compat compat;
    rs_job_settings job; /* of commands with the input options, with progress */
    rs_render_settings render;
    bool quiet;
    bool told;  /* the command has reported problems and notes itself */
    bool shown; /* its answer was written while it was made */
    rs_progress progress;
    rs_job_stats stats; /* of the jobs closed by rs_request_close */
    double start;       /* seconds */
    void *own;          /* command->own_size bytes of the command's own, 0 at first */
    char *store;        /* job.store, where the command line does not say it */
    const char *const
        *said; /* the paths as the user gave them, where the arguments are what was found there */
    size_t n_said;
} rs_request;

/* Everything that help, man pages and completions say about a command, and what it does. rs_command_run
 * parses the arguments, answers --help and --schema, checks --table, and calls in this order: choose, check,
 * body, deliver. */
typedef struct rs_command {
    const char *name;
    const char *group;     /* the heading in help under which it is listed; of an older name: the command */
    const char *help;      /* one line */
    const char *usage;     /* what follows the name: "[options] PATH..." */
    const char *about;     /* paragraphs, separated by an empty line */
    const char *examples;  /* command lines, one a line; "#" starts a remark line */
    const char *arguments; /* words the command takes, "bash|zsh|fish"; NULL: paths */
    rs_option_group groups[RS_MAX_GROUPS];
    size_t n_groups;
    const char *repeated[RS_MAX_REPEATED];       /* options that may be given again: rs_request_repeated */
    const rs_analysis *analysis;                 /* its tables; NULL for other commands */
    const struct rs_command *const *subcommands; /* named "chakra link"; NULL for most commands */
    size_t n_subcommands;

    /* Sets tables and n_tables, and refuses what would change them. NULL: there are no tables. */
    rs_status (*choose)(rs_request *request, rs_error *err);
    /* Refuses a request before gigabytes are read for it. NULL: nothing to check. */
    rs_status (*check)(rs_request *request, rs_error *err);
    /* Does the work and fills result, which is empty. Problems and notes of a failed run are reported too. */
    rs_status (*body)(rs_request *request, rs_result *result, rs_error *err);
    /* How the result is shown. NULL: rs_request_show. */
    rs_status (*show)(const rs_request *request, const rs_result *result, const rs_sink *sink, rs_error *err);
    /* Where it goes; the exit code. NULL: rs_request_deliver. */
    int (*deliver)(rs_request *request, const rs_result *result);
    size_t own_size;
    void (*clear)(rs_request *request); /* frees what own holds; NULL: nothing */
    /* What files `rankscope PATH...` has it answer about, ended by a row without title. NULL: none. */
    const struct rs_file_kind *inputs;
    unsigned
        urgency; /* of several commands that could answer the one with the smallest does; 0: it has no inputs */
    bool writes_itself; /* --output is no place for tables: they go to standard output */

    /* Instead of all of this: argv[0] is the first argument. NULL: rs_command_run. */
    int (*run)(const struct rs_command *command, int argc, char **argv);
} rs_command;

/* Files that a command reads, known by their first bytes. */
typedef struct rs_file_kind {
    const char *title; /* "flight-recorder dump": one of them, in the singular */
    bool by_name;      /* known by its name, so that it is asked for last */
    bool beside;       /* it is of use only where there are inputs of another kind, too */
    bool (*knows)(const char *path, const uint8_t *text, size_t n);
} rs_file_kind;

/* Rows, which the build collects: each `const rs_command rs_command_NAME` of src/cli and of the packs. Ended by NULL. */
extern const rs_command *const rs_command_rows[];

/* Another answer of a command, which a pack adds: `const rs_command_extension rs_extension_NAME`. */
typedef struct rs_command_extension {
    const char *command;     /* that it extends */
    const char *option;      /* of its own: where it is given, the extension answers instead of the command */
    rs_option_group options; /* that it adds to the command's; without `option` they are refused */
    const char *about;       /* paragraphs behind the command's */
    const char *examples;    /* behind the command's */
    rs_status (*check)(rs_request *request, rs_error *err); /* as those of rs_command */
    rs_status (*body)(rs_request *request, rs_result *result, rs_error *err);
} rs_command_extension;
extern const rs_command_extension *const rs_command_extension_rows[];
/* The index-th extension of a command; NULL after the last. */
const rs_command_extension *rs_command_extension_of(const struct rs_command *command, size_t index);
/* The extension that answers a request; *out is NULL where none does. Refuses options of the others. */
rs_status rs_request_extension(const rs_request *request, const rs_command_extension **out, rs_error *err);

/* What the program does under the name of another tool: `const rs_command_shim rs_shim_NAME`. */
typedef struct rs_command_shim {
    /* *code: the exit code. false: the name is not one of its own. */
    bool (*run_as)(const char *name, int argc, char **argv, int *code);
} rs_command_shim;
extern const rs_command_shim *const rs_command_shim_rows[];
/* Runs as the other tool that the name is of. false: it is none's. */
bool rs_command_run_as(const char *name, int argc, char **argv, int *code);

/* The exit code of a call of the command. */
int rs_command_call(const rs_command *command, int argc, char **argv);
/* `rankscope [options] PATH...`: recognises what is there and has the command answer that reads it, in about ten lines.
 * False: the first word is no path. */
bool rs_front_door(int argc, char **argv, int *code);
/* The frame; paths: as they are said in the answer's commands, which is short. */
int rs_command_answer_briefly(const rs_command *command, int argc, char **argv, const char *const *paths,
                              size_t n_paths);
int rs_command_run(const rs_command *command, int argc, char **argv);
/* Its beginning, for commands with a run of their own: parses the arguments and answers --help. True: there
 * is work to do, and the arguments are the caller's to clear. False: *code is the exit code. */
bool rs_command_start(const rs_command *command, int argc, char **argv, rs_arguments *arguments, int *code);
/* Prints a command's help; the exit code. */
int rs_print_help(const rs_command *command);

/* What was given for an option, whichever group it is of: false, 0 or NULL when the command has no such
 * option. */
bool rs_request_flag(const rs_request *request, const char *name);
bool rs_request_is_set(const rs_request *request, const char *name);
int64_t rs_request_int(const rs_request *request, const char *name);
const char *rs_request_text(const rs_request *request, const char *name);
/* All that was given for an option that may be given again. */
const rs_repeated *rs_request_repeated(const rs_request *request, const char *name);

/* Opens a job of these paths with the request's settings, and closes it: --stats shows what it cost. */
rs_status rs_request_open(const rs_request *request, const char *const *paths, size_t n, rs_job **out,
                          rs_error *err);
void rs_request_close(rs_request *request, rs_job *job); /* NULL is allowed */

/* Settles where computed things are kept. *owned: the folder, where it is not that of the settings; freed by the
 * caller. */
rs_status rs_store_place(rs_job_settings *settings, char **owned, rs_error *err);

/* Whether the answer holds the verdict: as text or JSON, whole, and not as stacks, which are for other programs. */
bool rs_request_shows_verdict(const rs_request *request);
/* The chosen table, else the whole result, in the output form that was asked for. */
rs_status rs_request_show(const rs_request *request, const rs_result *result, const rs_sink *sink,
                          rs_error *err);
/* How many rows of a table the text has, by --top of rs_row_options or of the analysis; 0: all. And whether --top goes
 * with the form. */
size_t rs_request_rows(const rs_request *request);
rs_status rs_request_check_rows(const rs_request *request, rs_error *err);
/* Shows the result where the tables go; the exit code. */
int rs_request_deliver(rs_request *request, const rs_result *result);

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
/* The heading in help under which a command is listed; "More" for those without, SIZE_MAX for an older name, which is listed
 * with the command whose question it answers, too. Groups are numbered in order. */
size_t rs_command_group(const rs_command *command);
/* Its line in lists: its help, and the older names behind it: "... idle (also: overlap, timeline)". Returns out. */
const char *rs_command_entry(const rs_command *command, char *out, size_t size);
const char *rs_command_group_title(size_t group); /* NULL after the last */

/* Names the nearest command; returns RS_EXIT_USAGE. */
int rs_complain_command(const char *name);
/* The same for one of a command's sub-commands. */
int rs_complain_subcommand(const rs_command *command, const char *name);

int rs_run_help(const rs_command *command, int argc, char **argv);
int rs_run_man(const rs_command *command, int argc, char **argv);
int rs_run_completions(const rs_command *command, int argc, char **argv);
/* The command of an analysis. */
void rs_describe_analysis(const rs_analysis *analysis, rs_command *out);

/* ---- arguments ---------------------------------------------------------------------------------------- */

/* Options may stand anywhere: --name VALUE, --name=VALUE, -o VALUE, -oVALUE; "--" ends them, "-" is a path.
 * An option is looked up in the groups in order. RS_ERR_USAGE names the nearest valid word. */
rs_status rs_arguments_parse(const rs_command *command, int argc, char **argv, rs_arguments *out,
                             rs_error *err);
void rs_arguments_clear(rs_arguments *arguments);
/* Whether the command has the option of a word that begins with "--". */
bool rs_arguments_know(const rs_command *command, const char *word);
/* The options of the group that has the name; a name nobody has is a programming error. */
const rs_options *rs_arguments_of(const rs_command *command, const rs_arguments *arguments, const char *name);
/* The short form of an option ('o' for "output"), 0 if it has none. */
char rs_short_option(const char *name);

/* ---- terminal and messages ---------------------------------------------------------------------------- */

typedef enum rs_color_choice { RS_COLOR_AUTO, RS_COLOR_ALWAYS, RS_COLOR_NEVER } rs_color_choice;

/* How standard output wants its text. */
rs_render_settings rs_terminal_settings(rs_color_choice color);
/* Whether the output form has that name. */
bool rs_renders_as(const rs_render_settings *settings, const char *form);
/* Refuses a form that is made elsewhere, and one whose bytes are no text, and would garble a terminal, where standard
 * output is one and no file was named. */
rs_status rs_terminal_takes(const rs_render_settings *settings, bool to_file, rs_error *err);
/* Refuses --budget with a form that has none, before anything is read. */
rs_status rs_budget_fits_form(const rs_render_settings *settings, rs_error *err);
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

/* SIGINT, SIGTERM and SIGHUP ask a run to stop; what has not stopped after a second, since it is blocked in a
 * read, is ended. A second signal ends the process at once. */
void rs_signals_install(void);
bool rs_signal_came(void);
/* Takes the signal as dealt with: the process ends by itself. */
void rs_signal_forget(void);
/* Ends the process the way the signal would have, so that the caller's shell sees it. */
void rs_signal_repeat(void);

/* ---- progress ----------------------------------------------------------------------------------------- */

void rs_progress_start(rs_progress *progress, bool wanted);
bool rs_progress_step(void *progress, uint64_t done, uint64_t total); /* an rs_progress_fn */
void rs_progress_end(rs_progress *progress);

/* ---- output ------------------------------------------------------------------------------------------- */

/* What writes into a sink. */
typedef rs_status (*rs_write_fn)(void *context, const rs_sink *sink, rs_error *err);

/* Writes to a file, which appears under its name only when it is whole, or to standard output (path NULL or
 * "-"). by_name: packed as the path's end says (.gz, .zst). What the function itself fails with is led by the
 * command's name, unless that is NULL. Complain of the error with rs_complain_error(NULL, err), which is
 * quiet about a reader that has gone. */
rs_status rs_output_put(const char *path, bool by_name, const char *command, rs_write_fn write, void *context,
                        rs_error *err);

/* For an extension of `view`: shows the page that is written in place of a job, and below window/NUMBER/ the explorer of some
 * files, whose paths are copied. */
rs_status rs_request_show_page(rs_request *request, rs_write_fn write, void *context, rs_error *err);
rs_status rs_request_show_window(rs_request *request, int64_t number, const char *const *paths, size_t n,
                                 rs_error *err);
/* Whether rs_output_put has met a reader that has gone: nothing is said, as if SIGPIPE had ended the process.
 */
bool rs_output_reader_gone(void);

/* Standard output, or a file that appears under its name only when it is whole: the parts of rs_output_put,
 * for what is not written through one sink. */
typedef struct rs_output {
    int fd;
    int error; /* errno of the first failed write */
    bool to_file;
    char *path;      /* the final name; NULL for standard output */
    char *temporary; /* the name it has until it is whole; NULL for what is no regular file */
} rs_output;

/* Remembers that a file is an input: rs_output_open refuses to replace it. What is no regular file is
 * ignored. */
void rs_output_protect(const char *path);
/* path NULL or "-" is standard output. */
rs_status rs_output_open(rs_output *output, const char *path, rs_error *err);
rs_sink rs_output_sink(rs_output *output);
/* Puts the file in its place. */
rs_status rs_output_commit(rs_output *output, rs_error *err);
/* Removes what was written so far. */
/* The process is about to end in the midst of its work: files that were growing go. Any thread may call it. */
void rs_output_abandon(void);
void rs_output_discard(rs_output *output);
/* Exit code for a failed render or commit, having complained; quiet about a closed pipe. */
int rs_output_failed(rs_output *output, const char *command, const rs_error *err);

/* Writes text that a function makes to standard output; the exit code. */
int rs_print(const char *command, void (*make)(rs_writer *writer, const void *context), const void *context);

/* ---- help --------------------------------------------------------------------------------------------- */

void rs_write_general_help(rs_writer *writer);
void rs_write_prose(rs_writer *writer, const char *text); /* wrapped */
/* What can have happened, and what to ask. */
void rs_write_symptoms(rs_writer *writer);
/* The same, and the names of the commands: one screen. */
void rs_write_brief_help(rs_writer *writer);
extern const char rs_exit_code_text[];

#endif
