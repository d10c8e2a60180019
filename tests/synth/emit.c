/* The events of one step as text, byte for byte in Kineto's layout. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_SIZE = 1 << 18 };

/* ---- output -------------------------------------------------------------------------------------------- */

void out_flush(output *o)
{
    for (size_t done = 0; done < o->length && !o->measure;) {
        ssize_t wrote = write(o->fd, o->buffer + done, o->length - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) fail("writing failed: %s", strerror(errno));
        done += (size_t)wrote;
    }
    o->bytes += o->length;
    o->length = 0;
}

char *out_reserve(output *o, size_t wanted)
{
    if (wanted > BUFFER_SIZE) fail("one event needs %zu bytes", wanted);
    if (o->length + wanted > BUFFER_SIZE) out_flush(o);
    return o->buffer + o->length;
}

void out_text(output *o, const char *text, size_t length)
{
    while (length) {
        size_t part = length < BUFFER_SIZE / 2 ? length : BUFFER_SIZE / 2;
        memcpy(out_reserve(o, part), text, part);
        o->length += part;
        text += part;
        length -= part;
    }
}

void out_format(output *o, const char *format, ...)
{
    char text[4096];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof text) fail("a line is too long");
    out_text(o, text, (size_t)length);
}

char *put_text(char *to, const char *text, size_t length)
{
    memcpy(to, text, length);
    return to + length;
}

static const char PAIRS[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                            "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                            "8081828384858687888990919293949596979899";

static char *put_digits(char *to, uint64_t value)
{
    char text[24], *at = text + sizeof text;
    while (value >= 100) {
        at -= 2;
        memcpy(at, PAIRS + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(at, PAIRS + value * 2, 2);
    } else {
        *--at = (char)('0' + value);
    }
    return put_text(to, at, (size_t)(text + sizeof text - at));
}

char *put_int(char *to, int64_t value)
{
    if (value < 0) *to++ = '-';
    return put_digits(to, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

char *put_time(char *to, int64_t ns)
{
    if (ns < 0) {
        *to++ = '-';
        ns = -ns;
    }
    to = put_digits(to, (uint64_t)ns / 1000);
    int rest = (int)(ns % 1000);
    *to++ = '.';
    *to++ = (char)('0' + rest / 100);
    return put_text(to, PAIRS + rest % 100 * 2, 2);
}

/* ---- parts of events ----------------------------------------------------------------------------------- */

static const char *const CATEGORY[] = {
    [CAT_CPU_OP] = "cpu_op",          [CAT_USER_ANNOTATION] = "user_annotation",
    [CAT_PYTHON] = "python_function", [CAT_RUNTIME] = "cuda_runtime",
    [CAT_DRIVER] = "cuda_driver",     [CAT_KERNEL] = "kernel",
    [CAT_MEMCPY] = "gpu_memcpy",      [CAT_MEMSET] = "gpu_memset",
    [CAT_SYNC] = "cuda_sync",         [CAT_GPU_ANNOTATION] = "gpu_user_annotation"};

/* Opens a complete event up to and including its first argument's indentation. */
static char *put_head(const job *j, rank_state *r, char *to, const record *e, const template *t, category cat,
                      int64_t step, int pid, int tid)
{
    bool gpu = cat == CAT_KERNEL || cat == CAT_MEMCPY || cat == CAT_MEMSET || cat == CAT_SYNC ||
               cat == CAT_GPU_ANNOTATION;
    bool work = cat == CAT_KERNEL || cat == CAT_MEMCPY || cat == CAT_MEMSET;
    int64_t end = e->start + e->duration;
    int64_t start = work ? stamp_of(j, r, e->start) : clock_of(j, r, e->start, gpu);
    int64_t duration = (work ? stamp_of(j, r, end) : clock_of(j, r, end, gpu)) - start;
    if (duration < 0) duration = 0;
    if (!r->out.last || start < r->out.first) r->out.first = start;
    if (start + duration > r->out.last) r->out.last = start + duration;
    to = PUT(to, "  {\n    \"ph\": \"X\", \"cat\": \"");
    const char *name = CATEGORY[cat];
    to = put_text(to, name, strlen(name));
    to = PUT(to, "\", \"name\": \"");
    to = put_text(to, t->name, t->name_length);
    if (t->step_name) to = put_int(to, step);
    to = PUT(to, "\", \"pid\": ");
    to = put_int(to, pid);
    to = PUT(to, ", \"tid\": ");
    to = put_int(to, tid);
    to = PUT(to, ",\n    \"ts\": ");
    to = put_time(to, start);
    to = PUT(to, ", \"dur\": ");
    to = put_time(to, duration);
    return PUT(to, ",\n    \"args\": {\n      ");
}

static char *put_external(char *to, const record *e)
{
    if (!e->external) return to;
    to = PUT(to, "\"External id\": ");
    to = put_int(to, e->external);
    return PUT(to, ",");
}

static void end_event(output *o, char *to, category cat)
{
    o->length = (size_t)(to - o->buffer);
    o->events++;
    o->by_category[cat]++;
}

static void emit_flow(const job *j, rank_state *r, category cat, bool start, int64_t id, int pid, int tid,
                      int64_t at)
{
    output *o = &r->out;
    char *to = out_reserve(o, 512);
    to = start ? PUT(to, "  {\n    \"ph\": \"s\", \"id\": ") : PUT(to, "  {\n    \"ph\": \"f\", \"id\": ");
    to = put_int(to, id);
    to = PUT(to, ", \"pid\": ");
    to = put_int(to, pid);
    to = PUT(to, ", \"tid\": ");
    to = put_int(to, tid);
    to = PUT(to, ", \"ts\": ");
    to = put_time(to, clock_of(j, r, at, cat == CAT_AC2G && !start));
    to = cat == CAT_FWDBWD ? PUT(to, ",\n    \"cat\": \"fwdbwd\", \"name\": \"fwdbwd\"")
                           : PUT(to, ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"");
    if (!start) to = PUT(to, ", \"bp\": \"e\"");
    end_event(o, PUT(to, "\n  },\n"), cat);
}

/* ---- host events --------------------------------------------------------------------------------------- */

static void emit_host(job *j, rank_state *r, const record *e)
{
    const template *t = &j->templates[e->template];
    output *o = &r->out;
    bool annotation = t->category == CAT_USER_ANNOTATION;
    if (t->step_name && r->truth) r->truth->steps[e->truth].position = (int64_t)o->events;
    char *to = out_reserve(o, t->name_length + t->args_length + 1024);
    to = put_head(j, r, to, e, t, (category)t->category, e->amount, r->pid, r->thread_id[e->thread]);
    to = put_external(to, e);
    bool shapes = t->args_length && t->args[1] == 'C' && t->args[2] == 'o' && t->args[4] == 'c';
    if (!shapes || e->sequence < 0) {
        to = PUT(to, "\"Record function id\": ");
        to = put_int(to, e->external);
        to = PUT(to, ", ");
    }
    if (e->sequence >= 0) {
        to = PUT(to, "\"Sequence number\": ");
        to = put_int(to, e->sequence);
        to = e->thread == 1 ? PUT(to, ", \"Fwd thread id\": 1, ") : PUT(to, ", \"Fwd thread id\": 0, ");
        if (shapes) {
            to = PUT(to, "\"Record function id\": ");
            to = put_int(to, e->external);
            to = PUT(to, ", ");
        }
    }
    to = put_text(to, t->args, t->args_length);
    if (e->amount && !annotation) {
        to = PUT(to, "\"Seq\": ");
        to = put_int(to, e->amount);
        to = PUT(to, ", ");
    }
    to = PUT(to, "\"Ev Idx\": ");
    to = put_int(to, r->event_index++);
    end_event(o, PUT(to, "\n    }\n  },\n"), (category)t->category);
    if (e->flow)
        emit_flow(j, r, CAT_FWDBWD, e->thread == 0, e->sequence, r->pid, r->thread_id[e->thread], e->start);
}

static void emit_python(job *j, rank_state *r, const record *e)
{
    const template *t = &j->templates[e->template];
    output *o = &r->out;
    char *to = out_reserve(o, t->name_length + 1024);
    to = put_head(j, r, to, e, t, CAT_PYTHON, 0, r->pid, r->thread_id[e->thread]);
    to = PUT(to, "\"Python parent id\": ");
    to = e->amount ? put_int(to, e->amount) : PUT(to, "null");
    to = PUT(to, ", \"Python id\": ");
    to = put_int(to, e->sequence);
    if (!strncmp(t->name, "nn.Module", 9)) {
        to = PUT(to, ", \"Python module id\": ");
        const char *number = strrchr(t->name, '_');
        to = put_text(to, number + 1, strlen(number + 1));
    }
    to = PUT(to, ", \"Ev Idx\": ");
    to = put_int(to, r->event_index++);
    end_event(o, PUT(to, "\n    }\n  },\n"), CAT_PYTHON);
}

/* ---- device events ------------------------------------------------------------------------------------- */

static char *put_device(const job *j, const rank_state *r, char *to, const record *e, bool kernel)
{
    if (e->external) to = PUT(to, "      ");
    if (kernel && !j->opt.rocm) to = PUT(to, "\"queued\": 0, ");
    to = PUT(to, "\"device\": ");
    to = put_int(to, r->device);
    if (!j->opt.rocm)
        to = PUT(to, ", \"context\": 1,      ");
    else
        to = PUT(to, ", ");
    to = PUT(to, "\"stream\": ");
    to = put_int(to, stream_number(j, e->stream));
    to = j->opt.rocm ? PUT(to, ",      \"correlation\": ") : PUT(to, ", \"correlation\": ");
    return put_int(to, e->correlation);
}

static void emit_gpu(job *j, rank_state *r, const record *e)
{
    const template *t = &j->templates[e->template];
    output *o = &r->out;
    int tid = stream_number(j, e->stream);
    if (r->truth) r->truth->gpu[e->truth].position = (int64_t)o->events;
    char *to = out_reserve(o, t->name_length + t->args_length + 1024);
    to = put_head(j, r, to, e, t, (category)t->category, 0, r->device, tid);
    to = put_external(to, e);
    to = put_device(j, r, to, e, t->category == CAT_KERNEL);
    if (t->category == CAT_KERNEL) {
        to = j->opt.rocm ? PUT(to, ", ") : PUT(to, ",      ");
        to = put_text(to, t->args, t->args_length);
        if (e->amount) {
            to = PUT(to, ", \"Seq\": ");
            to = put_int(to, e->amount);
        }
    } else {
        to = j->opt.rocm ? PUT(to, ", ") : PUT(to, ",      ");
        to = put_text(to, t->args, t->args_length);
        to = PUT(to, "\"bytes\": ");
        to = put_int(to, e->amount);
        to += sprintf(to, ", \"memory bandwidth (GB/s)\": %.16g", (double)e->amount / (double)e->duration);
    }
    end_event(o, PUT(to, "\n    }\n  },\n"), (category)t->category);
    emit_flow(j, r, CAT_AC2G, false, e->correlation, r->device, tid, e->start);
}

static void emit_call(job *j, rank_state *r, const record *e)
{
    const template *t = &j->templates[e->template];
    output *o = &r->out;
    if (r->truth && e->truth >= 0) {
        if (e->launches)
            for (uint32_t k = 0; k < e->owned; k++)
                r->truth->gpu[(size_t)e->truth + k].launch_position = (int64_t)o->events;
        else
            r->truth->calls[e->truth].position = (int64_t)o->events;
    }
    char *to = out_reserve(o, t->name_length + t->args_length + 1024);
    to = put_head(j, r, to, e, t, (category)t->category, 0, r->pid, r->thread_id[e->thread]);
    to = put_external(to, e);
    if (e->external) to = PUT(to, "      ");
    const char *bar = memchr(t->args, '|', t->args_length);
    size_t head = bar ? (size_t)(bar - t->args) : t->args_length;
    to = put_text(to, t->args, head);
    to = PUT(to, ", \"correlation\": ");
    to = put_int(to, e->correlation);
    if (bar) to = put_text(to, bar + 1, t->args_length - head - 1);
    end_event(o, PUT(to, "\n    }\n  },\n"), (category)t->category);
    emit_flow(j, r, CAT_AC2G, e->launches, e->correlation, r->pid, r->thread_id[e->thread], e->start);
}

static void emit_sync(job *j, rank_state *r, const record *e)
{
    const template *t = &j->templates[e->template];
    output *o = &r->out;
    bool streamless = e->kind == SYNC_EVENT || e->kind == SYNC_CONTEXT;
    int tid = streamless ? -1 : stream_number(j, e->stream);
    if (r->truth && e->truth >= 0) r->truth->syncs[e->truth] = (int64_t)o->events;
    char *to = out_reserve(o, 1024);
    to = put_head(j, r, to, e, t, CAT_SYNC, 0, r->device, tid);
    to = put_external(to, e);
    if (e->external) to = PUT(to, "      ");
    to = PUT(to, "\"cuda_sync_kind\": \"");
    to = put_text(to, t->name, t->name_length);
    to = PUT(to, "\",      ");
    if (e->kind == SYNC_STREAM_WAIT || e->kind == SYNC_EVENT) {
        to = PUT(to, "\"wait_on_stream\": ");
        to = put_int(to, stream_number(j, e->other));
        to = PUT(to, ",      \"wait_on_cuda_event_record_corr_id\": ");
        to = put_int(to, e->sequence);
        to = PUT(to, ",      \"wait_on_cuda_event_id\": ");
        to = put_int(to, e->amount);
        to = PUT(to, ",      ");
    }
    to = PUT(to, "\"stream\": ");
    to = put_int(to, tid);
    to = PUT(to, ", \"correlation\": ");
    to = put_int(to, e->correlation);
    to = PUT(to, ",      \"device\": ");
    to = put_int(to, r->device);
    end_event(o, PUT(to, ", \"context\": 1\n    }\n  },\n"), CAT_SYNC);
    emit_flow(j, r, CAT_AC2G, false, e->correlation, r->device, tid, e->start);
}

static void emit_gpu_annotation(job *j, rank_state *r, const record *e)
{
    const template *t = &j->templates[e->template];
    output *o = &r->out;
    char *to = out_reserve(o, t->name_length + 1024);
    to = put_head(j, r, to, e, t, CAT_GPU_ANNOTATION, j->opt.first_step + j->step - 1, r->device,
                  stream_number(j, e->stream));
    to = PUT(to, "\"External id\": ");
    to = put_int(to, e->external);
    end_event(o, PUT(to, "\n    }\n  },\n"), CAT_GPU_ANNOTATION);
}

void emit_step(job *j, rank_state *r)
{
    if (r->execution) execution_step(j, r);
    if (j->pass == 0 || r->out.measure) {
        for (int list = 1; list >= 0; list--)
            for (size_t i = 0; i < r->host[list].count; i++)
                if (!is_unseen(j, r->host[list].items[i].template)) emit_host(j, r, &r->host[list].items[i]);
        for (size_t i = 0; i < r->python.count; i++) emit_python(j, r, &r->python.items[i]);
    }
    if (j->pass == 0 && !r->out.measure) return;
    for (size_t i = 0; i < r->device_records.count; i++) {
        const record *e = &r->device_records.items[i];
        switch (j->templates[e->template].category) {
        case CAT_RUNTIME:
        case CAT_DRIVER: emit_call(j, r, e); break;
        case CAT_SYNC: emit_sync(j, r, e); break;
        default: emit_gpu(j, r, e); break;
        }
    }
    for (size_t i = 0; i < r->annotations.count; i++) emit_gpu_annotation(j, r, &r->annotations.items[i]);
}

void output_open(output *o, const char *path)
{
    *o = (output){.fd = -1};
    o->buffer = take_memory(BUFFER_SIZE);
    o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (o->fd < 0) fail("%s: %s", path, strerror(errno));
}

void emit_open(job *j, rank_state *r, const char *path, bool measure)
{
    (void)j;
    if (!measure) {
        output_open(&r->out, path);
        return;
    }
    r->out = (output){.fd = -1, .measure = true};
    r->out.buffer = take_memory(BUFFER_SIZE);
}

void emit_close(rank_state *r)
{
    output_close(&r->out);
}

void output_close(output *o)
{
    if (!o->buffer) return;
    out_flush(o);
    if (o->fd >= 0 && close(o->fd)) fail("closing a trace failed: %s", strerror(errno));
    free(o->buffer);
    o->buffer = NULL;
    o->fd = -1;
}
