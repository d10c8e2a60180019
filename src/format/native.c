#include "format/native.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/interval.h"
#include "base/try.h"

static rs_status add_int(rs_events *e, rs_column_id column, int64_t value, rs_error *err)
{
    if (value == RS_NO_VALUE || !(e->loaded >> column & 1)) return RS_OK;
    return rs_events_push_int(e, column, (uint32_t)e->n, value, err);
}

static rs_status add_text(rs_events *e, rs_column_id column, uint32_t id, rs_error *err)
{
    if (id == RS_NO_STRING || !(e->loaded >> column & 1)) return RS_OK;
    RS_TRY(rs_events_reserve_column(e, column, 1, err));
    rs_sparse *s = &e->args[column];
    s->rows[s->n] = (uint32_t)e->n;
    s->texts[s->n++] = id;
    return RS_OK;
}

static rs_status add_three(rs_events *e, rs_column_id column, const int64_t value[3], rs_error *err)
{
    char text[80];
    if (value[0] == RS_NO_VALUE || !(e->loaded >> column & 1)) return RS_OK;
    int n =
        snprintf(text, sizeof text, "[%" PRId64 ", %" PRId64 ", %" PRId64 "]", value[0], value[1], value[2]);
    uint32_t id = rs_strings_add(&e->strings, text, (size_t)n);
    return id == RS_NO_STRING ? rs_fail_nomem(err, "strings") : add_text(e, column, id, err);
}

static rs_status add_columns(rs_events *e, const rs_native *r, rs_error *err)
{
    const struct {
        rs_column_id column;
        int64_t value;
    } all[] = {{RS_COL_CORRELATION, r->correlation},
               {RS_COL_STREAM, r->stream},
               {RS_COL_DEVICE, r->device},
               {RS_COL_BYTES, r->bytes},
               {RS_COL_REGISTERS, r->registers},
               {RS_COL_SHARED_MEMORY, r->shared_memory},
               {RS_COL_CONTEXT, r->context},
               {RS_COL_WAIT_ON_STREAM, r->wait_stream},
               {RS_COL_WAIT_ON_EVENT, r->wait_record},
               {RS_COL_IN_NELEMS, r->in_elements},
               {RS_COL_OUT_NELEMS, r->out_elements},
               {RS_COL_GROUP_SIZE, r->group_size},
               {RS_COL_SEQUENCE_NUMBER, r->sequence}};
    rs_status status = RS_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && status == RS_OK; i++)
        status = add_int(e, all[i].column, all[i].value, err);
    if (status == RS_OK) status = add_three(e, RS_COL_GRID, r->grid, err);
    if (status == RS_OK) status = add_three(e, RS_COL_BLOCK, r->block, err);
    if (status == RS_OK) status = add_text(e, RS_COL_COLLECTIVE, r->collective, err);
    if (status == RS_OK) status = add_text(e, RS_COL_DTYPE, r->dtype, err);
    if (status == RS_OK) status = add_text(e, RS_COL_GROUP_NAME, r->group, err);
    if (status == RS_OK) status = add_text(e, RS_COL_INPUT_DIMS, r->dims, err);
    return status;
}

/* Numbers far below zero stand for texts where threads are told apart. */
static int64_t plain_id(int64_t id)
{
    return id < -(INT64_C(1) << 62) ? 0 : id;
}

rs_status rs_native_add(rs_events *e, const char *file, const rs_native *r, uint64_t offset, rs_error *err)
{
    if (r->start == RS_NO_TIME || r->end == RS_NO_TIME || (r->start == 0 && r->end == 0)) {
        e->n_lost++;
        rs_problems_add(&e->problems, file, -1, RS_LOSS, "no_time",
                        "a record whose times were not collected was left out", offset);
        return RS_OK;
    }
    int64_t end = r->end;
    if (end < r->start) {
        rs_problems_add(&e->problems, file, -1, RS_WARNING, "negative_duration",
                        "a record ends before it starts; it was given no length", offset);
        end = r->start;
    }
    rs_status status = rs_events_reserve(e, 1, err);
    if (status == RS_OK) status = add_columns(e, r, err);
    if (status != RS_OK) return status;
    uint32_t name = r->name ? rs_strings_add(&e->strings, r->name, r->name_length) : r->name_id;
    uint32_t category_name = rs_strings_add(&e->strings, r->category, strlen(r->category));
    if (name == RS_NO_STRING || category_name == RS_NO_STRING) return rs_fail_nomem(err, "strings");
    uint32_t category = rs_events_category(e, category_name);
    /* work stands on its stream, as Kineto has it */
    rs_kind kind = category != UINT32_MAX ? e->categories[category].kind : RS_KIND_OTHER;
    bool on_stream = (rs_kind_is_gpu_work(kind) || kind == RS_KIND_SYNC) && r->stream != RS_NO_VALUE;
    uint32_t thread = rs_events_thread(e, (rs_thread){.pid = plain_id(r->pid),
                                                      .tid = plain_id(on_stream ? r->stream : r->tid),
                                                      .pid_text = RS_NO_STRING,
                                                      .tid_text = RS_NO_STRING});
    if (category == UINT32_MAX || thread == UINT32_MAX) return rs_fail_nomem(err, "threads");
    e->start[e->n] = r->start;
    e->duration[e->n] = rs_sub_sat(end, r->start);
    e->name[e->n] = name;
    e->thread[e->n] = thread;
    e->category[e->n] = (uint16_t)category;
    e->phase[e->n] = 'X';
    if (r->is_sample) {
        uint32_t key = rs_strings_add(&e->strings, "", 0);
        if (key == RS_NO_STRING) return rs_fail_nomem(err, "strings");
        RS_TRY(rs_events_add_counter(e, key, (uint32_t)e->n, r->value, err));
        e->duration[e->n] = RS_NO_TIME;
        e->phase[e->n] = 'C';
    }
    e->n++;
    return RS_OK;
}

rs_status rs_native_add_dispatch(rs_events *e, const char *file, const rs_native *r, uint64_t offset,
                                 rs_map64 *rows, int64_t dispatch, uint32_t *row, rs_error *err)
{
    uint32_t next = (uint32_t)e->n;
    bool is_new = true;
    *row = RS_NO_ROW;
    uint32_t *known = dispatch == RS_NO_VALUE ? row : rs_map64_put(rows, (uint64_t)dispatch, &is_new);
    if (!known) return rs_fail_nomem(err, "dispatches");
    if (!is_new) {
        *row = *known;
        return RS_OK;
    }
    *known = RS_NO_ROW;
    RS_TRY(rs_native_add(e, file, r, offset, err));
    if (e->n > next) *known = *row = next;
    return RS_OK;
}

rs_status rs_native_count(rs_events *e, uint32_t row, const char *counter, size_t length, double value,
                          rs_error *err)
{
    if (row == RS_NO_ROW) return RS_OK;
    uint32_t name = rs_strings_add(&e->strings, counter, length);
    if (name == RS_NO_STRING) return rs_fail_nomem(err, "strings");
    return rs_events_add_counter(e, name, row, value, err);
}

rs_status rs_native_name_thread(rs_events *e, int64_t pid, int64_t tid, const char *name, rs_error *err)
{
    RS_TRY(rs_events_reserve(e, 1, err));
    uint32_t label = rs_strings_add(&e->strings, name, strlen(name));
    uint32_t kind = rs_strings_add(&e->strings, "thread_name", 11), none = rs_strings_add(&e->strings, "", 0);
    if (label == RS_NO_STRING || kind == RS_NO_STRING || none == RS_NO_STRING)
        return rs_fail_nomem(err, "strings");
    RS_TRY(add_text(e, RS_COL_META_NAME, label, err));
    uint32_t category = rs_events_category(e, none);
    uint32_t thread = rs_events_thread(e, (rs_thread){.pid = plain_id(pid),
                                                      .tid = plain_id(tid),
                                                      .pid_text = RS_NO_STRING,
                                                      .tid_text = RS_NO_STRING});
    if (category == UINT32_MAX || thread == UINT32_MAX) return rs_fail_nomem(err, "threads");
    e->start[e->n] = e->duration[e->n] = RS_NO_TIME;
    e->name[e->n] = kind;
    e->thread[e->n] = thread;
    e->category[e->n] = (uint16_t)category;
    e->phase[e->n] = 'M';
    e->n++;
    return RS_OK;
}

void rs_native_grid_of_items(rs_native *r)
{
    for (int i = 0; i < 3; i++) {
        if (r->grid[0] == RS_NO_VALUE || r->block[0] == RS_NO_VALUE) return;
        if (r->block[i] > 0 && r->grid[i] >= 0)
            r->grid[i] = r->grid[i] / r->block[i] + (r->grid[i] % r->block[i] != 0);
    }
}
