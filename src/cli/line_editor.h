/* Lines from a terminal, with editing, history and completion where the program was built with libedit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rankscope/status.h"

typedef struct rs_line_editor rs_line_editor;

/* The i-th word that may stand where one begins with the n letters of `word` after the text `line`; NULL: there
 * are no more. Words that begin otherwise may be among them. */
typedef const char *(*rs_complete_fn)(void *context, const char *line, const char *word, size_t n, size_t i);

/* history: the file of earlier lines, NULL: none is kept. All is borrowed until the editor is closed. */
rs_status rs_line_editor_open(const char *history, rs_complete_fn complete, void *context,
                              rs_line_editor **out, rs_error *err);
/* Writes the history. NULL is allowed. */
void rs_line_editor_close(rs_line_editor *editor);

typedef enum rs_line_event { RS_LINE_READ, RS_LINE_INTERRUPTED, RS_LINE_END } rs_line_event;
/* *line is terminated, without the line end, and the editor's until the next call. */
rs_line_event rs_line_editor_read(rs_line_editor *editor, const char *prompt, const char **line);
/* Puts a line into the history. */
void rs_line_editor_remember(rs_line_editor *editor, const char *line);
