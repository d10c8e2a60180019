/* Evidence as people run it: a command for a shell, a call in Python. */
#include <string.h>

#include "base/text.h"
#include "rankscope/verdict.h"

static void put_shell(const rs_evidence *e, const char *const *paths, size_t n_paths, rs_text *out)
{
    rs_text_printf(out, "rankscope %s", e->command);
    for (size_t i = 0; i < e->n_options; i++) {
        rs_text_printf(out, " --%s", e->options[i].name);
        if (!e->options[i].value) continue;
        rs_text_put(out, " ");
        rs_text_put_shell(out, e->options[i].value);
    }
    if (!n_paths) rs_text_put(out, " PATH...");
    for (size_t i = 0; i < n_paths; i++) {
        rs_text_put(out, " ");
        if (paths[i][strspn(paths[i],
                            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=:@%+,-")])
            rs_text_put_shell(out, paths[i]);
        else
            rs_text_put(out, paths[i]);
    }
}

static void put_python_text(const char *text, rs_text *out)
{
    rs_text_put(out, "'");
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') rs_text_put(out, "\\");
        rs_text_add(out, text, 1); /* a what-if has no control characters and only UTF-8 */
    }
    rs_text_put(out, "'");
}

static void put_python(const rs_evidence *e, rs_text *out)
{
    rs_text_put(out, "job.");
    for (const char *c = e->command; *c; c++) rs_text_add(out, *c == '-' ? "_" : c, 1);
    rs_text_put(out, "(");
    for (size_t i = 0; i < e->n_options; i++) {
        if (i) rs_text_put(out, ", ");
        for (const char *c = e->options[i].name; *c; c++) rs_text_add(out, *c == '-' ? "_" : c, 1);
        rs_text_put(out, "=");
        if (e->options[i].value)
            put_python_text(e->options[i].value, out);
        else
            rs_text_put(out, "True");
    }
    rs_text_put(out, ")");
}

rs_status rs_evidence_write(const rs_evidence *e, rs_evidence_form form, const char *const *paths,
                            size_t n_paths, const rs_sink *sink, rs_error *err)
{
    rs_text text = {0};
    if (form == RS_EVIDENCE_SHELL)
        put_shell(e, paths, n_paths, &text);
    else
        put_python(e, &text);
    rs_status status = !rs_text_get(&text)                          ? rs_fail_nomem(err, "a command")
                       : sink->write(sink->context, text.s, text.n) ? RS_OK
                                                                    : rs_fail(err, RS_ERR_IO, "cannot write");
    rs_text_clear(&text);
    return status;
}
