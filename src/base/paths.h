/* Names of files. */
#pragma once

/* The order of file names: text, but numbers by their value. */
int rs_path_compare(const char *a, const char *b);
