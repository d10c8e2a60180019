/* Names taken out of a trace that is to be shown to others.
 *
 * Nothing passes that is not known: of an event's members, of its arguments and of the file's frame those in
 * scrub_event.c, each held to the form that it has there; of names those of public software, told by
 * scrub_names.c. Other names become "kernel_3", the same one everywhere; other members are left out.
 *
 * scrub.c        what represents what, and the report
 * scrub_names.c  which names are public, and what of a name is
 * scrub_words.c  which words of such a name are
 * scrub_event.c  events and frames */
#pragma once

#include "base/strings.h"
#include "base/text.h"
#include "rankscope/slice.h"
#include "text/writer.h"
#include "trace/events.h"

/* What a private name is of. */
typedef enum rs_private {
    RS_PRIVATE_FOLDER, /* before a public file: left out */
    RS_PRIVATE_FILE,
    RS_PRIVATE_FUNCTION,
    RS_PRIVATE_MODULE,
    RS_PRIVATE_ANNOTATION,
    RS_PRIVATE_OPERATOR,
    RS_PRIVATE_KERNEL,
    RS_PRIVATE_CALL,
    RS_PRIVATE_PROCESS,
    RS_PRIVATE_THREAD,
    RS_PRIVATE_HOST,
    RS_PRIVATE_GROUP,
    RS_PRIVATE_DEVICE,
    RS_PRIVATE_CATEGORY,
    RS_PRIVATE_NAME,
    RS_PRIVATE_WORD, /* within a public name */
    RS_N_PRIVATE
} rs_private;

/* Where a member stood that was left out. */
typedef enum rs_left_place {
    RS_LEFT_ARGUMENT,
    RS_LEFT_MEMBER,
    RS_LEFT_FRAME,
    RS_N_LEFT_PLACES
} rs_left_place;

typedef struct rs_scrub_counts {
    rs_strings texts;
    uint64_t *times; /* by text */
    size_t capacity;
} rs_scrub_counts;

typedef struct rs_scrub {
    bool keep_names;                        /* of operators, kernels, annotations, modules */
    bool keep_values;                       /* numbers among the values of operators' inputs */
    rs_scrub_counts private[RS_N_PRIVATE];  /* the number of a text is its id (from 1: id 0 is "") */
    rs_scrub_counts left[RS_N_LEFT_PLACES]; /* by key */
    rs_strings public_words;                /* of scrub_words.c */
    rs_strings seen;                        /* kind and name of events */
    struct rs_scrubbed {
        char *text;     /* what represents it; NULL: itself */
        uint32_t kinds; /* what of it was replaced: a bit for each rs_private */
    } * replaced;       /* by text of seen */
    size_t replaced_capacity;
    uint32_t kinds;                /* what rs_scrub_private was asked for since it was 0 */
    uint64_t places[RS_N_PRIVATE]; /* where a name stood that was replaced */
    bool failed;                   /* out of memory: told by rs_scrub_status */
} rs_scrub;

rs_status rs_scrub_init(rs_scrub *scrub, bool keep_names, bool keep_values, rs_error *err);
void rs_scrub_clear(rs_scrub *scrub);
rs_status rs_scrub_status(const rs_scrub *scrub, rs_error *err);

/* Writes "kernel_3" to out; the same for the same text. rs_scrub_count counts the place. */
#define RS_SCRUBBED 40
void rs_scrub_private(rs_scrub *scrub, rs_private of, const char *text, size_t n, char out[RS_SCRUBBED]);
void rs_scrub_count(rs_scrub *scrub, uint32_t kinds); /* a bit for each rs_private */
/* The words that are public. False when out of memory. */
bool rs_scrub_init_words(rs_strings *words);
/* Adds the text, as it is between the quotes of a file, with what represents the words that are not public. False where
 * there is one. out: NULL: only asks. O(n). */
bool rs_scrub_words(rs_scrub *scrub, const char *text, size_t n, rs_text *out);
/* Counts a member that is left out. */
void rs_scrub_leave(rs_scrub *scrub, rs_left_place place, const char *key, size_t n);

/* What represents the name of an event; both are JSON text without quotes. Borrowed from the scrub or the
 * argument. */
void rs_scrub_name(rs_scrub *scrub, const char *category, size_t category_length, char phase,
                   const char *name, size_t n, const char **out, size_t *out_length);
/* The same for names of processes and threads, and for string ids of theirs. */
bool rs_scrub_is_process(const char *text, size_t n);
bool rs_scrub_is_thread(const char *text, size_t n);

/* Writes the event at [text, text + n), an object that rs_json_skip accepted. */
void rs_scrub_event(rs_scrub *scrub, const uint8_t *text, size_t n, rs_writer *out);
/* Writes the value of a member of a file's frame; false, and nothing written, when it is left out. The key is
 * without quotes. */
bool rs_scrub_frame(rs_scrub *scrub, const char *key, size_t key_length, const uint8_t *text, size_t n,
                    rs_writer *out);

/* A row for each kind of name that was replaced and each key that was left out. */
rs_status rs_scrub_report(const rs_scrub *scrub, rs_table *table, rs_error *err);
extern const rs_table_spec rs_scrub_table;
/* What represents what, as CSV: for whoever made the trace. */
void rs_scrub_write_map(const rs_scrub *scrub, rs_writer *out);
