/* The sub-commands of `rankscope chakra`. */
#pragma once

#include "cli/cli.h"
#include "rankscope/chakra_trace.h"

/* A sub-command is described like any command, under the name "chakra link"; run gets what follows it. */
#define RS_CHAKRA_N_COMMANDS 9
extern const rs_command rs_chakra_link_command, rs_chakra_convert_command, rs_chakra_build_command,
    rs_chakra_print_command, rs_chakra_check_command, rs_chakra_text_command, rs_chakra_generate_command,
    rs_chakra_visualize_command, rs_chakra_timeline_command;

/* ---- how a sub-command begins ----------------------------------------------------------------------- */

/* As rs_command_start; also sees to it that there is exactly one path. */
bool rs_chakra_start_file(const rs_command *command, int argc, char **argv, rs_arguments *arguments,
                          int *code);
/* A whole sub-command of one path: the exit code, which the function gives. */
int rs_chakra_run_file(const rs_command *command, int argc, char **argv,
                       int (*run)(const rs_options *options, const char *path));

/* The input of `link` and `build`, as a group of options. */
#define RS_CHAKRA_N_PAIR_SPECS 6
extern const rs_option_spec rs_chakra_pair_specs[RS_CHAKRA_N_PAIR_SPECS];
/* Also sees to it that the pair and --output are there, and puts the pair into *settings. */
bool rs_chakra_start_pair(const rs_command *command, int argc, char **argv, rs_arguments *arguments,
                          rs_chakra_link_settings *settings, int *code);

/* ---- what they share -------------------------------------------------------------------------------- */

/* Reports what reading and linking found; quiet leaves the notes out. */
void rs_chakra_report_problems(rs_problems *problems, bool quiet);

/* Options of `convert` and `build`; what they say goes into *settings. */
#define RS_CHAKRA_CONVERT_OPTIONS                                                                                 \
    {"comm-groups", RS_OPTION_TEXT,                                                                               \
     "FILE",        NULL,                                                                                         \
     NULL,          "the process groups as {\"pg_name\": [ranks]}, without the default group"},                   \
        RS_CHAKRA_TIMING_OPTION,                                                                                  \
        {"target",                                                                                                \
         RS_OPTION_CHOICE,                                                                                        \
         NULL,                                                                                                    \
         "any|astra-sim",                                                                                         \
         "any",                                                                                                   \
         "any: the communication that was recorded; astra-sim: what that simulator takes, each change reported"}, \
    {                                                                                                             \
        "verbose", RS_OPTION_FLAG, NULL, NULL, NULL, "name every synchronization dependency"                      \
    }
void rs_chakra_convert_options(const rs_options *options, rs_chakra_convert_settings *settings);

/* --timing, of `convert` and `build`. */
#define RS_CHAKRA_TIMING_OPTION                                                                              \
    {                                                                                                        \
        "timing", RS_OPTION_CHOICE, NULL, "recorded|exclusive", "recorded",                                  \
            "what duration_micros says: recorded, so that a replay takes as long as the recording; "         \
            "exclusive, the operator's own time"                                                             \
    }

/* Converts into the file at path, and the process groups into groups_path (NULL: nowhere); the exit code. */
int rs_chakra_convert_to(const char *command, rs_chakra_convert_settings *settings, const char *path,
                         const char *groups_path, bool quiet);
/* Checks one trace or those of a job's ranks onto standard output, and into the file `report` (NULL: none); the
 * exit code. The settings' path and report are the caller's to leave out. */
int rs_chakra_check_files(const rs_chakra_check_settings *settings, const char *report,
                          const char *const *paths, size_t n);
