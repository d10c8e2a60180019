/* The sub-commands of `rankscope chakra`. */
#ifndef RS_CLI_CHAKRA_H
#define RS_CLI_CHAKRA_H

#include "cli/cli.h"

/* A sub-command is described like any command, under the name "chakra link"; run gets what follows it. */
extern const rs_command rs_chakra_link_command;

/* Reports what reading and linking found; quiet leaves the notes out. */
void rs_chakra_report_problems(rs_problems *problems, bool quiet);

#endif
