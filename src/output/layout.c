#include "output/layout.h"

#include "base/real.h"
#include "text/utf8.h"

#define BOLD "\033[1m"
#define PLAIN "\033[0m"

/* The bytes of a piece of at most 64 that does not part the bytes of a character. */
static size_t piece_bytes(const char *text, size_t length)
{
    size_t n = length < 64 ? length : 64;
    while (n > 60 && n < length && ((unsigned char)text[n] & 0xC0) == 0x80) n--;
    return n;
}

void rs_page_text(rs_page *layout, const char *text, size_t length)
{
    char piece[3 * 64 + 1];
    while (length) {
        size_t n = piece_bytes(text, length);
        rs_writer_bytes(layout->writer, piece, rs_text_clean(text, n, layout->utf8, piece));
        text += n;
        length -= n;
    }
}

void rs_page_heading(rs_page *layout, const char *text, bool first)
{
    if (!first) rs_page_blank(layout);
    if (layout->color) rs_writer_text(layout->writer, BOLD);
    rs_page_text(layout, text, strlen(text));
    if (layout->color) rs_writer_text(layout->writer, PLAIN);
    rs_writer_char(layout->writer, '\n');
}

void rs_page_blank(rs_page *layout)
{
    rs_writer_char(layout->writer, '\n');
}

/* How wide the text is once it is cleaned: signs may become two letters. */
static size_t shown_width(const rs_page *layout, const char *text, size_t n)
{
    char piece[3 * 64 + 1];
    size_t width = 0;
    if (layout->utf8) return rs_text_width(text, n);
    for (size_t part; n; text += part, n -= part) {
        part = piece_bytes(text, n);
        width += rs_text_clean(text, part, false, piece);
    }
    return width;
}

/* Wraps text, the first line being `used` columns long already and the others starting at `indent`. */
static void wrap(rs_page *layout, const char *text, size_t used, size_t indent)
{
    size_t limit = layout->width ? layout->width : SIZE_MAX;
    bool fresh = true; /* nothing of the text on this line yet */
    while (*text) {
        size_t n = strcspn(text, " \n");
        if (n == 0) {
            text++;
            continue;
        }
        size_t width = shown_width(layout, text, n);
        if (!fresh && used + 1 + width > limit) {
            rs_writer_char(layout->writer, '\n');
            rs_writer_repeat(layout->writer, ' ', indent);
            used = indent;
            fresh = true;
        }
        if (!fresh) rs_writer_char(layout->writer, ' ');
        rs_page_text(layout, text, n);
        used += width + !fresh;
        fresh = false;
        text += n;
    }
    rs_writer_char(layout->writer, '\n');
}

void rs_page_wrap(rs_page *layout, const char *lead, const char *text)
{
    size_t indent = rs_text_width(lead, strlen(lead));
    rs_writer_text(layout->writer, lead);
    wrap(layout, text, indent, indent);
}

void rs_page_paragraphs(rs_page *layout, unsigned indent, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        bool verbatim = n >= 2 && text[0] == ' ' && text[1] == ' ';
        if (n == 0) {
            rs_page_blank(layout);
        } else if (verbatim) {
            rs_writer_repeat(layout->writer, ' ', indent);
            rs_page_text(layout, text, n);
            rs_writer_char(layout->writer, '\n');
        } else {
            /* a paragraph goes on to the next empty or verbatim line */
            while (text[n] == '\n' && text[n + 1] && text[n + 1] != '\n' && text[n + 1] != ' ')
                n += 1 + strcspn(text + n + 1, "\n");
            char paragraph[4096];
            size_t kept = n < sizeof paragraph ? n : sizeof paragraph - 1;
            memcpy(paragraph, text, kept);
            paragraph[kept] = '\0';
            rs_writer_repeat(layout->writer, ' ', indent);
            wrap(layout, paragraph, indent, indent);
            n = kept;
        }
        text += n;
        if (*text == '\n') text++;
    }
}

void rs_page_command(rs_page *layout, const char *lead, const char *text)
{
    rs_writer_text(layout->writer, lead);
    rs_page_text(layout, text, strlen(text));
    rs_writer_char(layout->writer, '\n');
}

static void pad_to(rs_page *layout, size_t used, size_t width)
{
    rs_writer_repeat(layout->writer, ' ', used < width ? width - used : 0);
}

void rs_page_value(rs_page *layout, const char *key, size_t key_width, const char *value)
{
    size_t n = strlen(key), width = rs_text_width(key, n);
    rs_writer_text(layout->writer, "  ");
    rs_page_text(layout, key, n);
    if (width > key_width) {
        /* the value goes under a key that is too long for its column */
        rs_writer_char(layout->writer, '\n');
        rs_writer_repeat(layout->writer, ' ', key_width + 4);
    } else {
        pad_to(layout, width, key_width + 2);
    }
    wrap(layout, value, key_width + 4, key_width + 4);
}

static size_t cells_of(double fraction, size_t width)
{
    if (!(fraction > 0)) return 0;
    if (fraction >= 1) return width;
    return (size_t)rs_int_of(fraction * (double)width + 0.5);
}

static void bar_label(rs_page *layout, const char *label, size_t label_width)
{
    char brief[4 * 64 + 8];
    if (label_width > 64) label_width = 64;
    rs_text_shorten(label, strlen(label), label_width, layout->utf8 ? "\xE2\x80\xA6" : "..", brief,
                    sizeof brief);
    rs_writer_text(layout->writer, "  ");
    rs_page_text(layout, brief, strlen(brief));
    pad_to(layout, rs_text_width(brief, strlen(brief)), label_width + 2);
}

const char *rs_page_share_sign(const rs_page *layout, size_t i)
{
    static const char *const ascii[] = {"#", "=", "+", ":", "."};
    static const char *const blocks[] = {"\xE2\x96\x88", "\xE2\x96\x93", "\xE2\x96\x92", "\xE2\x96\x91",
                                         "\xC2\xB7"};
    return layout->utf8 ? blocks[i % 5] : ascii[i % 5];
}

void rs_page_bar(rs_page *layout, const char *label, size_t label_width, double fraction, size_t bar_width,
                 const char *value)
{
    rs_page_shares(layout, label, label_width, &fraction, 1, bar_width, value);
}

void rs_page_shares(rs_page *layout, const char *label, size_t label_width, const double *shares, size_t n,
                    size_t bar_width, const char *value)
{
    bar_label(layout, label, label_width);
    double sum = 0;
    size_t done = 0;
    for (size_t i = 0; i < n; i++) {
        if (shares[i] > 0) sum += shares[i];
        /* ends are rounded, not lengths: the bar's parts add up */
        for (size_t end = cells_of(sum, bar_width); done < end; done++)
            rs_writer_text(layout->writer, rs_page_share_sign(layout, i));
    }
    for (; done < bar_width; done++) rs_writer_char(layout->writer, n > 1 ? ' ' : layout->utf8 ? ' ' : '.');
    rs_writer_text(layout->writer, "  ");
    rs_page_text(layout, value, strlen(value));
    rs_writer_char(layout->writer, '\n');
}

static bool to_writer(void *context, const char *bytes, size_t n)
{
    rs_writer *writer = context;
    rs_writer_bytes(writer, bytes, n);
    return !writer->failed;
}

rs_status rs_page_table(rs_page *layout, const rs_table *table, rs_error *err)
{
    rs_render_settings settings = {.size = sizeof(rs_render_settings),
                                   .width = layout->width,
                                   .color = layout->color,
                                   .utf8 = layout->utf8,
                                   .keep = layout->keep};
    rs_sink sink = {to_writer, layout->writer};
    return rs_render_table(table, &settings, &sink, err);
}
