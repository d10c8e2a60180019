/* Lines from a terminal. libedit (BSD licence) belongs to the program; without it lines are read as they come. */
#include "cli/line_editor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "cli/cli.h"

#ifdef RS_HAVE_LIBEDIT
#include <histedit.h>
#endif

#define LINES_KEPT 1000
#define MOST_SHOWN 60 /* words that complete what was typed */

struct rs_line_editor {
    const char *history_path, *prompt;
    rs_complete_fn complete;
    void *context;
    char *line;
    size_t capacity;
#ifdef RS_HAVE_LIBEDIT
    EditLine *edit;
    History *history;
#endif
};

#ifdef RS_HAVE_LIBEDIT
static bool is_word(char c)
{
    return rs_is_alnum(c) || c == '_';
}

static char *prompt_of(EditLine *edit)
{
    rs_line_editor *e = NULL;
    el_get(edit, EL_CLIENTDATA, &e);
    return (char *)(uintptr_t)e->prompt;
}

static size_t common(const char *a, const char *b, size_t most)
{
    size_t n = 0;
    while (n < most && a[n] && rs_lower(a[n]) == rs_lower(b[n])) n++;
    return n;
}

/* Adds what all words that begin so have in common; where that is nothing, shows them. */
static unsigned char on_tab(EditLine *edit, int key)
{
    rs_line_editor *e = NULL;
    const LineInfo *line = el_line(edit);
    const char *begin = line->cursor, *word, *found = NULL;
    size_t same = 0, n_found = 0;
    char before[1024];
    (void)key;
    el_get(edit, EL_CLIENTDATA, &e);
    while (begin > line->buffer && is_word(begin[-1])) begin--;
    if (begin == line->buffer + 1 && begin[-1] == '.') begin--;
    size_t n = (size_t)(line->cursor - begin);
    snprintf(before, sizeof before, "%.*s", (int)(begin - line->buffer), line->buffer);
    for (size_t i = 0; (word = e->complete(e->context, before, begin, n, i)) != NULL; i++) {
        if (common(word, begin, n) < n) continue;
        same = found ? common(word, found, same) : strlen(word);
        found = word;
        n_found++;
    }
    if (!found) return CC_ERROR;
    if (same > n || n_found == 1) {
        char rest[256];
        snprintf(rest, sizeof rest, "%.*s%s", (int)(same - n), found + n, n_found == 1 ? " " : "");
        return el_insertstr(edit, rest) == 0 ? CC_REFRESH : CC_ERROR;
    }
    putchar('\n');
    size_t shown = 0;
    for (size_t i = 0; (word = e->complete(e->context, before, begin, n, i)) != NULL && shown < MOST_SHOWN;
         i++)
        if (common(word, begin, n) == n) printf("%s%s", shown++ ? "  " : "", word);
    if (n_found > shown) printf("  (%zu more)", n_found - shown);
    putchar('\n');
    fflush(stdout);
    return CC_REDISPLAY;
}

static rs_status open_editor(rs_line_editor *e, rs_error *err)
{
    HistEvent event;
    e->edit = el_init("rankscope", stdin, stdout, stderr);
    e->history = history_init();
    if (!e->edit || !e->history) return rs_fail_nomem(err, "the prompt");
    el_set(e->edit, EL_CLIENTDATA, e);
    el_set(e->edit, EL_PROMPT, prompt_of);
    el_set(e->edit, EL_EDITOR, "emacs");
    el_set(e->edit, EL_SIGNAL, 0);
    el_set(e->edit, EL_HIST, history, e->history);
    el_set(e->edit, EL_ADDFN, "complete", "complete the word", on_tab);
    el_set(e->edit, EL_BIND, "^I", "complete", NULL);
    history(e->history, &event, H_SETSIZE, LINES_KEPT);
    history(e->history, &event, H_SETUNIQUE, 1);
    if (e->history_path) history(e->history, &event, H_LOAD, e->history_path);
    return RS_OK;
}
#endif

rs_status rs_line_editor_open(const char *history_path, rs_complete_fn complete, void *context,
                              rs_line_editor **out, rs_error *err)
{
    *out = NULL;
    rs_line_editor *e = rs_calloc(1, sizeof *e);
    if (!e) return rs_fail_nomem(err, "the prompt");
    e->history_path = history_path;
    e->complete = complete;
    e->context = context;
    rs_status status = RS_OK;
#ifdef RS_HAVE_LIBEDIT
    status = open_editor(e, err);
#endif
    if (status == RS_OK)
        *out = e;
    else
        rs_line_editor_close(e);
    return status;
}

void rs_line_editor_close(rs_line_editor *e)
{
    if (!e) return;
#ifdef RS_HAVE_LIBEDIT
    HistEvent event;
    if (e->history && e->edit && e->history_path) history(e->history, &event, H_SAVE, e->history_path);
    if (e->history) history_end(e->history);
    if (e->edit) el_end(e->edit);
#endif
    rs_free_all(e->line, e);
}

/* Keeps a line without its end; true when it could. */
static bool keep(rs_line_editor *e, const char *text, size_t n)
{
    while (n && (text[n - 1] == '\n' || text[n - 1] == '\r')) n--;
    if (!rs_grow((void **)&e->line, &e->capacity, n + 1, 1)) return false;
    memcpy(e->line, text, n);
    e->line[n] = 0;
    return true;
}

rs_line_event rs_line_editor_read(rs_line_editor *e, const char *prompt, const char **line)
{
    *line = "";
    e->prompt = prompt;
#ifdef RS_HAVE_LIBEDIT
    int n = 0;
    const char *text;
    /* libedit tells of a signal that came while a statement ran, too: that one has been dealt with */
    do errno = 0, text = el_gets(e->edit, &n);
    while (!text && n < 0 && errno == EINTR && !rs_signal_came());
    if (rs_signal_came()) { /* also where a line came with it */
        el_reset(e->edit);
        return RS_LINE_INTERRUPTED;
    }
    if (!text || n <= 0) return RS_LINE_END;
    if (!keep(e, text, (size_t)n)) return RS_LINE_END;
#else
    char text[4096];
    printf("%s", prompt);
    fflush(stdout);
    errno = 0;
    bool came = fgets(text, sizeof text, stdin) != NULL;
    if (!came) clearerr(stdin);
    if (rs_signal_came()) return RS_LINE_INTERRUPTED;
    if (!came) return RS_LINE_END;
    if (!keep(e, text, strlen(text))) return RS_LINE_END;
#endif
    *line = e->line;
    return RS_LINE_READ;
}

void rs_line_editor_remember(rs_line_editor *e, const char *line)
{
#ifdef RS_HAVE_LIBEDIT
    HistEvent event;
    history(e->history, &event, H_ENTER, line);
#else
    (void)e;
    (void)line;
#endif
}
