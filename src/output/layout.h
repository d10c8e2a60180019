/* Text for people: headings, keys and values, bars, wrapped sentences. Used by help and by commands whose
 * text is more than their tables. */
#pragma once

#include "rankscope/render.h"
#include "text/writer.h"

typedef struct rs_page {
    rs_writer *writer;
    unsigned width; /* columns; 0: unlimited */
    bool color, utf8;
    const char *const *paths; /* of the job, for commands that are shown; none: PATH... */
    size_t n_paths;
    bool brief;       /* what matters most, in about ten lines */
    size_t rows;      /* of a table, at most; 0: all */
    const char *by;   /* the column whose largest values are kept; NULL: the first rows are */
    const char *keep; /* columns that are the last to be left out, as in rs_render_settings */
    bool cut;         /* some were left out */
} rs_page;

/* A heading on its own line, an empty line before it unless it is the first. */
void rs_page_heading(rs_page *layout, const char *text, bool first);
void rs_page_blank(rs_page *layout);

/* "  key      value": keys padded to key_width columns, the value wrapped behind them. */
void rs_page_value(rs_page *layout, const char *key, size_t key_width, const char *value);

/* "  label  ########....  value": fraction of 0..1 (others are clamped), bars of bar_width columns. */
void rs_page_bar(rs_page *layout, const char *label, size_t label_width, double fraction, size_t bar_width,
                 const char *value);

/* One bar of several shares, each with its own sign; shares beyond 1 in all are cut. */
void rs_page_shares(rs_page *layout, const char *label, size_t label_width, const double *shares, size_t n,
                    size_t bar_width, const char *value);
/* The sign of the i-th share, for a legend. */
const char *rs_page_share_sign(const rs_page *layout, size_t i);

/* Words wrapped to the width. The first line begins with `lead` (indent included), later ones with as many
 * spaces. Names in text are cleaned for the terminal. */
void rs_page_wrap(rs_page *layout, const char *lead, const char *text);
/* Paragraphs separated by empty lines, each wrapped, indented by `indent` columns. Lines that start with two
 * spaces stay as they are. */
void rs_page_paragraphs(rs_page *layout, unsigned indent, const char *text);

/* A command that can be copied: on one line after `lead`, however long. */
void rs_page_command(rs_page *layout, const char *lead, const char *text);

/* Text cleaned for the terminal. */
void rs_page_text(rs_page *layout, const char *text, size_t length);
/* A table as rs_render_table shows it. */
rs_status rs_page_table(rs_page *layout, const rs_table *table, rs_error *err);
