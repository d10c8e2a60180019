/* The list of output forms, and rendering through a row of it. */
#include "rankscope/render.h"

#include <string.h>

#include "base/settings.h"
#include "base/try.h"
#include "output/face_tools.h"
#include "output/form.h"
#include "output/verdict.h"

const rs_output_form *const *rs_output_forms(size_t *n)
{
    size_t count = 0;
    while (rs_output_form_rows[count]) count++;
    *n = count;
    return rs_output_form_rows;
}

const rs_output_form *rs_output_form_find(const char *name)
{
    for (const rs_output_form *const *row = rs_output_form_rows; *row; row++)
        if (strcmp((*row)->name, name) == 0) return *row;
    return NULL;
}

const char *rs_output_form_name(const rs_output_form *form)
{
    return form->name;
}

const char *rs_output_form_help(const rs_output_form *form)
{
    return form->help;
}

const char *rs_output_form_extension(const rs_output_form *form)
{
    return form->extension;
}

bool rs_output_form_is_binary(const rs_output_form *form)
{
    return form->binary;
}

bool rs_output_form_has_budget(const rs_output_form *form)
{
    return form->has_budget;
}

const char *rs_output_form_elsewhere(const rs_output_form *form)
{
    return form->elsewhere;
}

/* The settings as this library knows them, with a form. */
static rs_status read_settings(const rs_render_settings *given, rs_render_settings *out, rs_error *err)
{
    RS_TRY(rs_settings_read(given, given->size, out, sizeof *out, "rs_render_settings", err));
    if (!out->form) out->form = rs_output_form_rows[0];
    if (out->budget && !out->form->has_budget)
        return rs_fail(err, RS_ERR_USAGE, "--budget goes with --format json or md, not with %s",
                       out->form->name);
    return RS_OK;
}

rs_status rs_render_table(const rs_table *table, const rs_render_settings *given, const rs_sink *sink,
                          rs_error *err)
{
    rs_writer writer;
    rs_render_settings settings;
    RS_TRY(read_settings(given, &settings, err));
    rs_writer_init(&writer, sink);
    RS_TRY(settings.form->table(&writer, table, &settings, err));
    return rs_writer_finish(&writer, err);
}

rs_status rs_render_result(const rs_result *result, size_t main_table, const rs_render_settings *given,
                           const rs_sink *sink, rs_error *err)
{
    rs_writer writer;
    rs_render_settings settings;
    RS_TRY(read_settings(given, &settings, err));
    rs_writer_init(&writer, sink);
    if (settings.form->result) {
        RS_TRY(settings.form->result(&writer, result, main_table, &settings, err));
    } else {
        if (main_table >= result->n_tables || !result->tables[main_table])
            return rs_fail(err, RS_ERR_USAGE, "the result has no table %zu", main_table);
        RS_TRY(settings.form->table(&writer, result->tables[main_table], &settings, err));
    }
    return rs_writer_finish(&writer, err);
}

bool rs_render_takes_pages(const rs_render_settings *given)
{
    rs_render_settings settings;
    return read_settings(given, &settings, NULL) == RS_OK && settings.form->pages && !settings.budget;
}

rs_status rs_pages_each(const rs_pages *pages, size_t rows, rs_page_fn write, void *context,
                        rs_writer *writer, const rs_render_settings *settings, rs_error *err)
{
    bool first = true;
    for (rs_status status = RS_OK; status == RS_OK && !writer->failed; first = false) {
        rs_table *page;
        RS_TRY(pages->next(pages->context, rows, &page, err));
        if (!page) return RS_OK;
        status = write(context, writer, page, first, settings, err);
        rs_table_free(page);
        if (status != RS_OK) return status;
        rs_writer_flush(writer);
    }
    return RS_OK; /* who finishes the writer tells that it failed */
}

rs_status rs_pages_check(const rs_render_settings *settings, uint64_t held, rs_error *err)
{
    return settings->check ? settings->check(settings->check_context, held, err) : RS_OK;
}

/* A sink that asks before each write whether to go on. */
typedef struct checked {
    const rs_render_settings *settings;
    const rs_sink *sink;
    rs_error why; /* it does not */
} checked;

static bool write_checked(void *context, const char *bytes, size_t n)
{
    checked *c = context;
    return rs_pages_check(c->settings, 0, &c->why) == RS_OK && c->sink->write(c->sink->context, bytes, n);
}

rs_status rs_render_pages(const rs_pages *pages, const rs_render_settings *given, const rs_sink *sink,
                          rs_error *err)
{
    rs_writer writer;
    rs_render_settings settings;
    checked check = {&settings, sink, RS_ERROR_INIT};
    const rs_sink asking = {write_checked, &check};
    RS_TRY(read_settings(given, &settings, err));
    if (!settings.form->pages || settings.budget)
        return rs_fail(err, RS_ERR_USAGE,
                       settings.form->elsewhere ? "%s" : "--format %s is not written by pages",
                       settings.form->elsewhere ? settings.form->elsewhere : settings.form->name);
    rs_writer_init(&writer, &asking);
    RS_TRY(settings.form->pages(&writer, pages, &settings, err));
    rs_status status = rs_writer_finish(&writer, err);
    if (check.why.status == RS_OK) return status;
    if (err) *err = check.why;
    return check.why.status;
}

static rs_status put_headline(const rs_face *face, const rs_result *result, rs_page *layout, rs_error *err)
{
    rs_text text = {0};
    if (!face || !face->headline) return RS_OK;
    face->headline(result, &text);
    const char *sentence = rs_text_get(&text);
    if (sentence && *sentence) {
        rs_page_wrap(layout, "", sentence);
        rs_page_blank(layout);
    }
    rs_text_clear(&text);
    return sentence ? RS_OK : rs_fail_nomem(err, "a sentence");
}

/* As text: the verdict, the answer in a sentence, then the tables in the face's layout or as they are. */
static rs_status show_page(const rs_face *face, bool judges, const rs_result *result,
                           const rs_render_settings *settings, const rs_sink *sink, rs_error *err)
{
    rs_writer writer;
    rs_writer_init(&writer, sink);
    rs_page layout = {.writer = &writer,
                      .width = settings->width,
                      .color = settings->color,
                      .utf8 = settings->utf8,
                      .paths = settings->paths,
                      .n_paths = settings->n_paths,
                      .brief = settings->brief,
                      .rows = face && face->lists ? settings->rows : 0,
                      .by = face ? face->by : NULL,
                      .keep = settings->keep};
    if (!face || face->render != rs_face_stacks) RS_TRY(rs_page_verdict(&layout, result, judges, err));
    RS_TRY(put_headline(face, result, &layout, err));
    if (face && face->render)
        RS_TRY(face->render(result, &layout, err));
    else if (!layout.brief) /* briefly its sentence is all */
        RS_TRY(rs_face_tables(result, &layout, settings, err));
    if (layout.cut) {
        rs_page_blank(&layout);
        rs_page_wrap(&layout, "", "all: --top 0");
    }
    return rs_writer_finish(&writer, err);
}

bool rs_render_cuts(const rs_analysis *analysis)
{
    const rs_face *face = rs_face_find(rs_analysis_name(analysis), "");
    return face && face->lists;
}

rs_status rs_render_answer(const rs_analysis *analysis, rs_compat compat, const rs_result *result,
                           const rs_render_settings *given, const rs_sink *sink, rs_error *err)
{
    rs_render_settings settings;
    const char *name = rs_analysis_name(analysis);
    RS_TRY(read_settings(given, &settings, err));
    /* faces lay out our own tables, not a peer's */
    const char *table = rs_table_get_spec(result->tables[result->main_table])->name;
    const rs_face *face = compat == RS_COMPAT_NONE ? rs_face_find(name, table) : NULL;
    if (face && !settings.keep) settings.keep = face->keep ? face->keep : face->by;
    if ((face || rs_result_n_verdicts(result)) && settings.form == rs_output_form_rows[0])
        return show_page(face, rs_analysis_judged(analysis) == RS_JUDGES, result, &settings, sink, err);
    settings.size = sizeof settings;
    settings.nest_by = rs_face_nests(name);
    return rs_render_result(result, result->main_table, &settings, sink, err);
}

rs_status rs_render_command(const char *command, const rs_result *result, const rs_render_settings *given,
                            const rs_sink *sink, rs_error *err)
{
    rs_render_settings settings;
    RS_TRY(read_settings(given, &settings, err));
    const rs_face *face = rs_face_find(command, "");
    if (face && settings.form == rs_output_form_rows[0])
        return show_page(face, false, result, &settings, sink, err);
    settings.size = sizeof settings;
    return rs_render_result(result, result->main_table, &settings, sink, err);
}
