/* A text seen through windows: blocks of it in order, each starting where the reader of the last one stopped,
 * so that a record is always whole in one window or runs to the end of the last. */
#pragma once

#include "input/source.h"

/* Bytes after every window that may be read, so that vector code needs no tail case; they mean nothing. */
#define RS_WINDOW_PADDING 64

typedef struct rs_window {
    const uint8_t *data;
    size_t n;
    uint64_t offset; /* of data[0] in the text */
    bool last;       /* the text ends with this window */
    int slot;        /* >= 0: a prepare function has seen this window's new bytes in that slot */
} rs_window;

typedef struct rs_windows rs_windows;

/* The source is borrowed. threaded: a second thread reads and inflates ahead. max_window bounds how large a
 * window may grow for one record (RS_ERR_LIMIT beyond). */
rs_status rs_windows_open(rs_source *source, bool threaded, size_t max_window, rs_windows **out,
                          rs_error *err);
/* Called on some thread, never twice at once for one slot, with a block of the text before the window that
 * holds it is handed out. What it leaves in the slot is the reader's until that asks for the window after. */
typedef void (*rs_prepare_fn)(void *context, unsigned slot, const uint8_t *bytes, size_t n, uint64_t offset);

/* How many slots rs_windows_open_prepared uses. */
unsigned rs_windows_slots(unsigned threads);

/* As rs_windows_open for a source that lies plain in memory or in a seekable file: `threads` - 1 further
 * threads read blocks ahead and prepare them. */
rs_status rs_windows_open_prepared(rs_source *source, unsigned threads, rs_prepare_fn prepare, void *context,
                                   size_t max_window, rs_windows **out, rs_error *err);

void rs_windows_close(rs_windows *windows); /* NULL is allowed */

/* The next window; its first byte is the one `used` bytes into the present one. A window that is not `last`
 * is longer than what was left. */
rs_status rs_windows_next(rs_windows *windows, size_t used, rs_window *out, rs_error *err);
