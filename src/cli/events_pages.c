#include "cli/events_pages.h"

#include "base/try.h"
#include "rankscope/events.h"

typedef struct walk {
    rs_request *request;
    const rs_event_list *list;
    rs_result *told;
    size_t rank, event; /* the next to be written: of which rank, which of it */
    bool began;
} walk;

bool rs_events_can_stream(const rs_request *r)
{
    return strcmp(r->command->name, "events") == 0 && r->compat == RS_COMPAT_NONE &&
           !rs_request_text(r, "where") && rs_request_int(r, "limit") == 0 && !r->job.max_memory &&
           rs_render_takes_pages(&r->render);
}

/* An argument that links events. */
static void put_link(rs_table *t, const rs_event_rank *r, size_t argument, uint32_t row)
{
    size_t at;
    if (rs_event_argument_find(r, argument, row, &at))
        rs_table_add_int(t, rs_event_argument_int(r, argument, at));
    else
        rs_table_add_null(t);
}

static void put_text(rs_table *t, const rs_event_rank *r, uint32_t id)
{
    size_t n;
    const char *text = rs_event_text(r, id, &n);
    rs_table_add_text_n(t, text, n);
}

/* The columns of the command, in its order. */
static rs_status put_event(rs_table *t, const rs_event_rank *r, size_t i, rs_error *err)
{
    static const size_t links[] = {RS_EVENT_DEVICE, RS_EVENT_STREAM, RS_EVENT_CORRELATION,
                                   RS_EVENT_EXTERNAL_ID};
    uint32_t row = rs_event_row(r, i);
    const rs_event_thread *thread = &r->threads[r->thread[row]];
    const char phase[2] = {(char)r->phase[row], 0};
    rs_table_add_int(t, r->rank);
    rs_table_add_int(t, row);
    rs_table_add_text(t, phase);
    put_text(t, r, r->categories[r->category[row]]);
    put_text(t, r, r->name[row]);
    rs_table_add_text(t, thread->pid);
    rs_table_add_text(t, thread->tid);
    rs_table_add_moment(t, r->start[row]);
    if (r->duration[row] == RS_EVENT_UNKNOWN)
        rs_table_add_null(t);
    else
        rs_table_add_time(t, r->duration[row]);
    if (r->step && r->step[i] != RS_EVENT_UNKNOWN)
        rs_table_add_int(t, r->step[i]);
    else
        rs_table_add_null(t);
    for (size_t k = 0; k < sizeof links / sizeof *links; k++) put_link(t, r, links[k], row);
    return rs_table_end_row(t, err);
}

static rs_status fill(walk *w, size_t most, rs_table *page, rs_error *err)
{
    size_t n_ranks = rs_event_list_n_ranks(w->list), n = 0;
    for (; w->rank < n_ranks; w->rank++, w->event = 0) {
        const rs_event_rank *r = rs_event_list_rank(w->list, w->rank);
        for (; w->event < r->n; w->event++) {
            if (n++ == most) return RS_OK;
            RS_TRY(put_event(page, r, w->event, err));
        }
    }
    return RS_OK;
}

static rs_status next(void *context, size_t most, rs_table **out, rs_error *err)
{
    walk *w = context;
    *out = NULL;
    rs_table *page = rs_table_create(w->request->tables[0]);
    if (!page) return rs_fail_nomem(err, "events");
    rs_status status = fill(w, most, page, err);
    rs_table_count_from(page, rs_event_list_origin(w->list));
    if (status == RS_OK && (rs_table_n_rows(page) || !w->began))
        *out = page;
    else
        rs_table_free(page);
    w->began = true;
    return status;
}

static rs_status again(void *context, rs_error *err)
{
    walk *w = context;
    (void)err;
    w->rank = w->event = 0;
    w->began = false;
    return RS_OK;
}

static const rs_result *told(void *context)
{
    return ((walk *)context)->told;
}

static rs_status write_events(void *context, const rs_sink *sink, rs_error *err)
{
    const rs_pages pages = {context, next, again, told};
    return rs_render_pages(&pages, &((walk *)context)->request->render, sink, err);
}

rs_status rs_events_stream(rs_request *r, rs_job *job, rs_result *result, rs_error *err)
{
    rs_event_list *list = NULL;
    const char *path = rs_request_text(r, "output");
    RS_TRY(rs_event_list_open(job, false, &list, result, err));
    rs_progress_end(&r->progress);
    walk w = {.request = r, .list = list, .told = result};
    rs_status status = rs_output_put(path && strcmp(path, "-") != 0 ? path : NULL, false, r->command->name,
                                     write_events, &w, err);
    rs_event_list_close(list);
    r->shown = status == RS_OK;
    return status;
}
