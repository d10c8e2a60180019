#include "view/page.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "text/writer.h"

/* The port that the UI's own policy allows it to fetch from. */
#define PERFETTO_PORT 9001

extern const unsigned char rs_view_template[];
extern const size_t rs_view_template_size;

const char rs_view_page_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const char rs_view_report_policy[] = "default-src 'none'; script-src 'unsafe-inline'; style-src "
                                     "'unsafe-inline'; img-src data: blob:; font-src data:; "
                                     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const char rs_view_explorer_policy[] =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self' http://127.0.0.1:* http://localhost:*";

static void put_escaped(rs_writer *w, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) switch (text[i]) {
        case '&': rs_writer_text(w, "&amp;"); break;
        case '<': rs_writer_text(w, "&lt;"); break;
        case '>': rs_writer_text(w, "&gt;"); break;
        case '"': rs_writer_text(w, "&quot;"); break;
        case '\'': rs_writer_text(w, "&#39;"); break;
        default: rs_writer_char(w, text[i]);
        }
}

static void put_text(rs_writer *w, const char *text)
{
    put_escaped(w, text, strlen(text));
}

typedef struct page {
    const rs_view_facts *facts;
    const rs_view_routes *routes;
    rs_writer *w;
} page;

static void put_title(const page *p)
{
    put_text(p->w, p->facts->title);
}

static void put_viewer(const page *p)
{
    put_text(p->w, p->facts->viewer);
}

static void put_origin(const page *p)
{
    put_text(p->w, p->routes->ui_origin);
}

static void put_lead(const page *p)
{
    const rs_view_trace *t = p->facts->trace;
    char kept[32], text[160];
    snprintf(text, sizeof text, "%llu rank%s, %s events in the trace.", (unsigned long long)t->n_ranks,
             t->n_ranks == 1 ? "" : "s", rs_human_count((int64_t)t->n_kept, kept));
    put_text(p->w, text);
}

static void put_file(const page *p)
{
    put_text(p->w, p->facts->trace->name);
}

static void put_size(const page *p)
{
    char text[32];
    put_text(p->w, rs_human_bytes((int64_t)p->facts->trace->n, text));
}

static void put_report(const page *p)
{
    if (p->facts->has_report)
        rs_writer_text(p->w, "<a class=\"button\" href=\"report.html\">Read the report</a>");
}

static void put_notes(const page *p)
{
    const rs_result *r = p->facts->notes;
    for (size_t i = 0; i < r->n_notes; i++) {
        rs_writer_text(p->w, "<li>");
        put_text(p->w, r->notes[i]);
        rs_writer_text(p->w, "</li>\n");
    }
    for (size_t i = 0; i < r->problems.n; i++) {
        const rs_problem *problem = &r->problems.items[i];
        rs_writer_text(p->w, "<li>");
        if (problem->file) put_text(p->w, problem->file);
        rs_writer_text(p->w, problem->file ? ": " : "");
        put_text(p->w, problem->message);
        rs_writer_text(p->w, "</li>\n");
    }
}

/* The UI can fetch the trace itself, but only from one port. */
static void put_direct(const page *p)
{
    if (p->routes->port != PERFETTO_PORT) return;
    rs_writer_text(p->w, "<dt>Link</dt><dd><a rel=\"noreferrer\" target=\"_blank\" href=\"");
    put_escaped(p->w, p->facts->viewer, strcspn(p->facts->viewer, "#"));
    rs_writer_text(p->w, "#!/?url=http%3A%2F%2F127.0.0.1%3A9001%2F");
    put_text(p->w, p->routes->token);
    rs_writer_text(p->w, "%2F");
    put_file(p);
    rs_writer_text(p->w, "\">the viewer, fetching the trace itself</a></dd>\n");
}

static const struct {
    const char *name;
    void (*put)(const page *p);
} parts[] = {
    {"TITLE", put_title}, {"VIEWER", put_viewer}, {"ORIGIN", put_origin},
    {"LEAD", put_lead},   {"SIZE", put_size},     {"REPORT", put_report},
    {"NOTES", put_notes}, {"DIRECT", put_direct}, {"FILE", put_file},
};

rs_status rs_view_page_write(const rs_view_facts *facts, const rs_view_routes *routes, const rs_sink *sink,
                             rs_error *err)
{
    rs_writer *w = rs_malloc(sizeof *w);
    if (!w) return rs_fail_nomem(err, "the page");
    rs_writer_init(w, sink);
    page p = {facts, routes, w};
    const char *at = (const char *)rs_view_template, *end = at + rs_view_template_size;
    while (at < end) {
        const char *mark = memchr(at, '@', (size_t)(end - at));
        const char *close = mark ? memchr(mark + 1, '@', (size_t)(end - mark - 1)) : NULL;
        rs_writer_bytes(w, at, (size_t)((close ? mark : end) - at));
        for (size_t i = 0; close && i < sizeof parts / sizeof *parts; i++)
            if (strlen(parts[i].name) == (size_t)(close - mark - 1) &&
                memcmp(parts[i].name, mark + 1, (size_t)(close - mark - 1)) == 0)
                parts[i].put(&p);
        at = close ? close + 1 : end;
    }
    rs_status status = rs_writer_finish(w, err);
    rs_free(w);
    return status;
}
