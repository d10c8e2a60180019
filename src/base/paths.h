/* Names of files. */
#pragma once

#include <stdbool.h>

/* The order of file names: text, but numbers by their value. */
int rs_path_compare(const char *a, const char *b);
/* FOLDER/NAME, freed by the caller; NULL when out of memory. */
char *rs_path_join(const char *folder, const char *name);
/* Whether there is a folder of that name. */
bool rs_path_is_folder(const char *path);
