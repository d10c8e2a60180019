/* Rendering: a table or a whole result in any output form.
 *
 * A form is a row (src/output): its name, what it is, the usual ending of a file. Forms are found by name, so
 * that one more of them needs no change in a program that shows them:
 *
 *     rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find("csv")};
 *     rs_status status = rs_render_table(table, &settings, &sink, &err);
 *
 * Nothing here keeps state, prints or reads the locale; every function may be called from any thread. The
 * time and the bytes are proportional to the cells. Stability: stable, except where a field says
 * experimental. */
#ifndef RANKSCOPE_RENDER_H
#define RANKSCOPE_RENDER_H

#include "rankscope/analysis.h"
#include "rankscope/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A form of output: "text", "csv", ... Static. */
typedef struct rs_output_form rs_output_form;

/* All forms: text first, then by name. */
RS_API const rs_output_form *const *rs_output_forms(size_t *n);
/* NULL when there is no form of that name. */
RS_API const rs_output_form *rs_output_form_find(const char *name);
/* Their names as the choices of an option: "text|csv|...". */
RS_API extern const char rs_output_form_names[];

RS_API const char *rs_output_form_name(const rs_output_form *form);
RS_API const char *rs_output_form_help(const rs_output_form *form);      /* one line */
RS_API const char *rs_output_form_extension(const rs_output_form *form); /* "csv", without the dot */
/* Whether its bytes are no text, and so nothing for a terminal. */
RS_API bool rs_output_form_is_binary(const rs_output_form *form);
/* Where the form is to be had, when not from this library: rendering it is RS_ERR_USAGE with this text. NULL: here. */
RS_API const char *rs_output_form_elsewhere(const rs_output_form *form);
/* Whether it takes rs_render_settings.budget. */
RS_API bool rs_output_form_has_budget(const rs_output_form *form);

typedef struct rs_render_settings {
    size_t size;                /* sizeof(rs_render_settings): needed, so that the struct can grow */
    const rs_output_form *form; /* NULL: text */
    unsigned width;             /* text: columns of the terminal; 0: unlimited */
    bool color;                 /* text: ANSI colours */
    bool utf8;                  /* text: the terminal shows UTF-8; else pure ASCII decoration */
    /* json: the name of a column that tells how deep a row stands, from 0 and never more than one deeper than
     * the row before. Rows of a table that has it hold those below them as "children". NULL: rows stand side
     * by side. */
    const char *nest_by;
    /* csv: a terminal shows it: characters that would steer it become U+FFFD. Otherwise cells are as they are, also
     * those that a spreadsheet takes for formulas. */
    bool terminal;
    /* json of a whole result, md: the answer takes at most so many bytes. It keeps notes, defects, tables of one row
     * and of the others the first rows, and says what it left out. RS_ERR_USAGE when not even that fits, and in the
     * other forms. 0: no limit. */
    size_t budget;
    /* text: what the job was opened with, for commands that are shown; none: they end in PATH... */
    const char *const *paths;
    size_t n_paths;
    /* text of a whole answer: about ten lines of what matters most, where the analysis has such */
    bool brief;
    /* text of a whole answer: at most so many rows of a table, where the command's answer is more than its rows; 0: all */
    size_t rows;
    /* text: names of columns, parted by spaces, that are the last to be left out where there is no room for all. NULL: none */
    const char *keep;
    /* pages: whether to go on, where the form holds so many bytes in addition to a page: asked before each write and while pages are
     * laid out or collected. A refusal ends the rendering with this error. NULL: always. */
    rs_status (*check)(void *context, uint64_t held, rs_error *err);
    void *check_context;
} rs_render_settings;

/* Writes one table; as json an array of objects. RS_ERR_IO when the sink failed, RS_ERR_NOMEM, RS_ERR_USAGE
 * for settings without a size. */
RS_API rs_status rs_render_table(const rs_table *table, const rs_render_settings *settings,
                                 const rs_sink *sink, rs_error *err);

/* Writes a whole result: text writes each table that has rows (the main one when none has), json one object
 * {"tables": {...}, "problems": [...], "notes": [...]}, the other forms the table at index main_table:
 * RS_ERR_USAGE when there is none. Errors as rs_render_table. */
RS_API rs_status rs_render_result(const rs_result *result, size_t main_table,
                                  const rs_render_settings *settings, const rs_sink *sink, rs_error *err);

/* A table that comes in pages, so that what is written may be longer than what memory holds. Pages have the same columns;
 * a column of a later page may have a wider type (RS_INT, RS_REAL, RS_TEXT), and is written as that from there on. */
typedef struct rs_pages {
    void *context;
    /* The next page, of at most so many rows, which the caller frees; *page is NULL behind the last. There is a first one,
     * if need be without rows. */
    rs_status (*next)(void *context, size_t most_rows, rs_table **page, rs_error *err);
    /* Back to before the first page, whose columns then have the types of the last: for forms that must know what comes
     * before they write. Only called when there is more than one page. */
    rs_status (*again)(void *context, rs_error *err);
    /* Problems and notes that json writes behind the rows; NULL: there are none. */
    const rs_result *(*told)(void *context);
} rs_pages;

/* Whether rs_render_pages takes these settings: every form does that is written here, without a budget. */
RS_API bool rs_render_takes_pages(const rs_render_settings *settings);

/* Writes a table as it comes; json writes an object as rs_render_result does. csv, jsonl and json write page by page.
 * text and md lay the columns out by the first page, of 65536 rows at most: a later cell that is wider than its column
 * makes its row wider. arrow and arrows want the types and texts of all rows first, so what is longer than a page is
 * gone through twice. Memory: a page, and with arrow the texts, each once. Errors: those of rs_render_table and of the pages;
 * RS_ERR_USAGE when the form takes no pages, or pages are others the second time. */
RS_API rs_status rs_render_pages(const rs_pages *pages, const rs_render_settings *settings,
                                 const rs_sink *sink, rs_error *err);

/* A whole result as the command of its analysis prints it: as text in the layout that the analysis has (the
 * first screen of summary, the verdict of doctor, ...), else as rs_render_result; json nests what is a tree.
 * compat: the mode under which it was run. Errors as rs_render_table. What the text shows is for people and
 * may change. */
RS_API rs_status rs_render_answer(const rs_analysis *analysis, rs_compat compat, const rs_result *result,
                                  const rs_render_settings *settings, const rs_sink *sink, rs_error *err);

/* The same of a command that is no analysis, such as regress. */
RS_API rs_status rs_render_command(const char *command, const rs_result *result,
                                   const rs_render_settings *settings, const rs_sink *sink, rs_error *err);

/* Whether rs_render_answer obeys settings.rows for this analysis. */
RS_API bool rs_render_cuts(const rs_analysis *analysis);

#ifdef __cplusplus
}
#endif
#endif
