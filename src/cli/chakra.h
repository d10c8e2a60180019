/* The sub-commands of `rankscope chakra`. */
#ifndef RS_CLI_CHAKRA_H
#define RS_CLI_CHAKRA_H

#include "cli/cli.h"
#include "rankscope/chakra_trace.h"

/* A sub-command is described like any command, under the name "chakra link"; run gets what follows it. */
extern const rs_command rs_chakra_link_command;
extern const rs_command rs_chakra_visualize_command, rs_chakra_timeline_command, rs_chakra_generate_command,
    rs_chakra_build_command, rs_chakra_convert_command, rs_chakra_print_command, rs_chakra_check_command;

/* Reports what reading and linking found; quiet leaves the notes out. */
void rs_chakra_report_problems(rs_problems *problems, bool quiet);

/* Converts into the file at path, and the process groups into groups_path (NULL: nowhere); the exit code. */
int rs_chakra_convert_to(const char *command, rs_chakra_convert_settings *settings, const char *path,
                         const char *groups_path, bool quiet);

#endif
