/* Names of files. */
#ifndef RS_BASE_PATHS_H
#define RS_BASE_PATHS_H

/* The order of file names: text, but numbers by their value. */
int rs_path_compare(const char *a, const char *b);

#endif
