/* Tables as Arrow data: the Arrow C data interface and C stream interface, so that any Arrow library in the
 * same process (pyarrow, polars, DuckDB, nanoarrow, ...) takes a table without parsing and without copying
 * its numbers.
 *
 * RS_INT becomes int64, RS_REAL float64, RS_TIME float64 in the column's unit (the number that csv and json
 * show), RS_TEXT a dictionary of int32 numbers and the column's different texts as utf8 (large_utf8 when they
 * take 2 GiB or more; bytes that are no UTF-8 become U+FFFD). Unknown values are null. Numbers of RS_INT and RS_REAL columns are handed over as they lie in the
 * table; times, texts and bitmaps are laid out anew. A field's metadata has the keys "unit" and "help", the
 * schema's "table" and "help".
 *
 * What is handed out obeys Arrow's rules: the consumer calls release once, on any thread, and may move
 * children out of an array. */
#ifndef RANKSCOPE_ARROW_H
#define RANKSCOPE_ARROW_H

#include "rankscope/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The structures of the interface; their layout is fixed by Arrow and the guards are its own, so that
 * several libraries' headers may be included side by side. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format; /* the type: "l" int64, "g" float64, "u" utf8, "U" large utf8, "+s" struct */
    const char *name;
    const char *metadata; /* counts, keys and values as native int32 and bytes; NULL: none */
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *schema); /* NULL: already released or moved */
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers; /* bitmap of known values (NULL: all known), then the type's own */
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *array);
    void *private_data;
};

#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *out); /* 0, or an errno value */
    int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *out);    /* release NULL: the end */
    const char *(*get_last_error)(struct ArrowArrayStream *stream);
    void (*release)(struct ArrowArrayStream *stream);
    void *private_data;
};

#endif

/* What keeps the table alive: hold is called once for every part that points into the table, release once
 * when that part is gone, on any thread. */
typedef struct rs_arrow_owner {
    void (*hold)(void *context);
    void (*release)(void *context);
    void *context;
} rs_arrow_owner;

/* The table's columns as a schema of one struct. Nothing of the table is borrowed. Cost: the columns; a text
 * column's lengths are added up. On failure (RS_ERR_NOMEM) *out is marked as released. */
RS_API rs_status rs_table_arrow_schema(const rs_table *table, struct ArrowSchema *out, rs_error *err);

/* The table's rows as one struct array. owner may be NULL: then the table must outlive the array. The table
 * must not be changed while the array lives. On failure (RS_ERR_NOMEM) *out is marked as released and nothing
 * is held. */
RS_API rs_status rs_table_arrow_array(const rs_table *table, const rs_arrow_owner *owner,
                                      struct ArrowArray *out, rs_error *err);

/* The table as a stream of one batch. As above; rows are laid out when the consumer asks for them. */
RS_API rs_status rs_table_arrow_stream(const rs_table *table, const rs_arrow_owner *owner,
                                       struct ArrowArrayStream *out, rs_error *err);

#ifdef __cplusplus
}
#endif
#endif
