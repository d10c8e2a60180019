#include "trace/thread_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

uint32_t *rs_thread_names(const rs_trace *trace)
{
    const rs_events *e = trace->events;
    uint32_t *names = rs_malloc((e->n_threads + 1) * sizeof *names);
    if (!names) return NULL;
    for (size_t i = 0; i < e->n_threads; i++) names[i] = RS_NO_STRING;
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (e->phase[row] == 'M' && strcmp(rs_event_name(e, row), "thread_name") == 0)
            names[e->thread[row]] = rs_events_text(e, RS_COL_META_NAME, row);
    }
    return names;
}

void rs_thread_label(const rs_events *events, uint32_t thread, uint32_t name, char out[RS_THREAD_LABEL])
{
    const rs_thread *t = &events->threads[thread];
    const rs_strings *strings = &events->strings;
    char ids[2][64];
    const int64_t numbers[2] = {t->pid, t->tid};
    const uint32_t texts[2] = {t->pid_text, t->tid_text};
    for (int i = 0; i < 2; i++) {
        if (texts[i] == RS_NO_STRING)
            snprintf(ids[i], sizeof ids[i], "%" PRId64, numbers[i]);
        else
            snprintf(ids[i], sizeof ids[i], "%s", strings->items[texts[i]].text);
    }
    const char *named = name == RS_NO_STRING ? "" : strings->items[name].text;
    /* The name may have the number already: "thread 7 (pt_main_thread)". */
    if (strncmp(named, "thread ", 7) == 0)
        snprintf(out, RS_THREAD_LABEL, "process %s %.100s", ids[0], named);
    else
        snprintf(out, RS_THREAD_LABEL, "process %s thread %s%s%.100s%s", ids[0], ids[1], named[0] ? " (" : "",
                 named, named[0] ? ")" : "");
}
