/* JSON by values: names, commas and brackets follow from what is put. Everything goes through one rs_writer, into which a caller may
 * also write a value of its own after rs_json_put_name. Cost: that of the bytes. */
#pragma once

#include "text/writer.h"

#define RS_JSON_PUT_DEPTH 32

typedef enum rs_json_layout {
    RS_JSON_LINE,   /* ", " between entries */
    RS_JSON_LINES,  /* each entry, and the closing bracket, on a line of its own */
    RS_JSON_BREAKS, /* a new line for each entry but the first */
    RS_JSON_ROWS    /* as RS_JSON_LINES, without indentation */
} rs_json_layout;

typedef struct rs_json_put {
    rs_writer *writer;
    int depth;                         /* open brackets; at most RS_JSON_PUT_DEPTH - 1 */
    uint8_t layout[RS_JSON_PUT_DEPTH]; /* by depth */
    bool some[RS_JSON_PUT_DEPTH];      /* whether it has an entry */
    char end[RS_JSON_PUT_DEPTH];       /* its closing bracket */
} rs_json_put;

/* The document's own level, where one value goes. */
void rs_json_put_init(rs_json_put *j, rs_writer *writer);

/* What comes before a value: comma, line, name. name: NULL in a list. All below put one value so. */
void rs_json_put_name(rs_json_put *j, const char *name);
/* bracket: '{' or '['. */
void rs_json_put_open(rs_json_put *j, const char *name, char bracket, rs_json_layout layout);
void rs_json_put_close(rs_json_put *j);
/* How the entries that follow at this level are laid out. */
void rs_json_put_layout(rs_json_put *j, rs_json_layout layout);

/* text: NULL is null. */
void rs_json_put_text(rs_json_put *j, const char *name, const char *text);
void rs_json_put_string(rs_json_put *j, const char *name, const char *text, size_t length);
void rs_json_put_bool(rs_json_put *j, const char *name, bool value);
void rs_json_put_int(rs_json_put *j, const char *name, int64_t value);
void rs_json_put_uint(rs_json_put *j, const char *name, uint64_t value);
/* null where it is not known. */
void rs_json_put_known(rs_json_put *j, const char *name, int64_t value, bool is_known);
/* Nanoseconds as an exact decimal of the unit. */
void rs_json_put_time(rs_json_put *j, const char *name, int64_t ns, rs_unit unit);
/* null where it is not finite. */
void rs_json_put_real(rs_json_put *j, const char *name, double value);
void rs_json_put_ints(rs_json_put *j, const char *name, const int64_t *values, size_t n);
void rs_json_put_texts(rs_json_put *j, const char *name, const char *const *texts, size_t n);

/* The event of a Chrome trace that names a process (tid negative), or a thread of it. kind: "process_name", ... */
void rs_json_put_track(rs_json_put *j, const char *kind, int64_t pid, int64_t tid, const char *name);
