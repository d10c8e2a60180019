/* Whole commands on damaged inputs, many in one process: what the parts of the program share. */
#pragma once

#include "../unit/support.h"

/* What kind of input it is: which commands are asked. */
typedef enum kind { TRACE, FLIGHT, METRICS, CHAKRA, EXECUTION, MEMORY, ANY, N_KINDS } kind;

/* A file, or the files of a folder of which one is damaged at a time. */
typedef struct sample {
    char *path;
    char **files; /* names within the folder; NULL: a file */
    size_t n_files;
    size_t size;
    kind kind;
    bool refused; /* by the commands of its kind, as it is */
} sample;

/* One run: a sample, what of it is damaged and how, and the command. */
typedef struct plan {
    const sample *sample;
    size_t file;
    text command; /* ends with a NUL */
    text damaged;
} plan;

/* A space within an argument of a command's line. */
#define SOAK_SPACE "\x1f"

/* Damages the text in 0 to 4 places; one in eight stays as it is. */
void soak_damage(text *t, rng *r);
/* A command for such an input; "@" stands for its path. */
const char *soak_command(kind k, rng *r);

/* The command's line, of several one. */
const char *soak_line_of(const char *name, rng *r);

/* Adds some options of the command to its line, with values that are rarely meant. */
void soak_options(text *line, rng *r);
/* How many options all commands have, those of most commands of every n-th alone; first of all. Then the line for one of them. */
size_t soak_count_options(size_t every);
void soak_option(size_t number, rng *r, text *line);

/* The k-th of the commands that show whether an input of the kind is read at all; NULL behind the last. */
const char *soak_probe(kind k, size_t number);

/* What a run said. */
typedef struct said {
    int code;
    text out, err;
} said;

/* NULL, or which part of the contract is broken. */
const char *soak_judge(const char *command, const said *first, const said *again);
