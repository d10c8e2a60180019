/* Commands that write traces: the files and their names. */
#pragma once

#include "cli/cli.h"
#include "rankscope/rewrite.h"

/* Writes every input file of the result (its table "files") again with what its tables say of it; path is a
 * file, or a directory (it exists, or its name ends in /) in which the files keep their names. Several files
 * need a directory. Returns the exit code, having complained. */
int rs_write_traces(const rs_result *result, const char *path, const char *command,
                    const rs_rewrite_settings *settings);
