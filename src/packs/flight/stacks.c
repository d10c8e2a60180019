/* Stacks as faulthandler and py-spy print them. */
#include "flight/live.h"
#include "flight/template.h"

#include <string.h>

#define MAX_FRAMES 512
#define MAX_THREADS 4096 /* of one rank */

/* Adds a stack of frames to the job's; RS_FL_NONE when out of memory. */
static uint32_t add_stack(rs_flight *flight, const rs_fl_frame *frames, size_t n)
{
    uint32_t words[MAX_FRAMES];
    if (n == 0) return 0;
    if (n > MAX_FRAMES) n = MAX_FRAMES;
    for (size_t i = 0; i < n; i++) {
        uint64_t line = (uint64_t)frames[i].line;
        uint32_t key[4] = {frames[i].name, frames[i].file, (uint32_t)(line & UINT32_MAX),
                           (uint32_t)(line >> 32)};
        size_t known = flight->frame_keys.n;
        uint32_t id = rs_strings_add(&flight->frame_keys, (const char *)key, sizeof key);
        if (id == RS_NO_STRING || !rs_grow((void **)&flight->frames, &flight->frames_capacity, (size_t)id + 1,
                                           sizeof *flight->frames))
            return RS_FL_NONE;
        if (id >= known) {
            flight->frames[id] = frames[i];
            flight->n_frames = (size_t)id + 1;
        }
        words[i] = id;
    }
    size_t known = flight->stack_keys.n;
    uint32_t id = rs_strings_add(&flight->stack_keys, (const char *)words, n * sizeof *words);
    if (id == RS_NO_STRING ||
        !rs_grow((void **)&flight->stacks, &flight->stacks_capacity, (size_t)id + 1,
                 sizeof *flight->stacks) ||
        !rs_grow((void **)&flight->stack_frames, &flight->stack_frames_capacity, flight->n_stack_frames + n,
                 sizeof *flight->stack_frames))
        return RS_FL_NONE;
    if (!flight->n_stacks) {
        flight->stacks[0] = (rs_fl_stack){0, 0, RS_FL_NONE}; /* the empty one */
        flight->n_stacks = 1;
    }
    if (id >= known) {
        memcpy(flight->stack_frames + flight->n_stack_frames, words, n * sizeof *words);
        flight->stacks[id] = (rs_fl_stack){(uint32_t)flight->n_stack_frames, (uint32_t)n, RS_FL_NONE};
        flight->n_stack_frames += n;
        flight->n_stacks = (size_t)id + 1;
    }
    return id;
}

typedef struct stacks {
    rs_flight *flight;
    rs_fl_thread thread; /* being read */
    bool open, current, nomem;
    rs_fl_frame frames[MAX_FRAMES];
    size_t n_frames;
    size_t first, n; /* of this rank, in flight->threads */
} stacks;

static uint32_t intern(stacks *s, const char *text, size_t n)
{
    uint32_t id = rs_strings_add(&s->flight->texts, text, n);
    if (id == RS_NO_STRING) s->nomem = true;
    return id;
}

static void end_thread(stacks *s)
{
    rs_flight *flight = s->flight;
    if (!s->open || s->nomem) return;
    s->open = false;
    if (s->n >= MAX_THREADS) return;
    s->thread.stack = add_stack(flight, s->frames, s->n_frames);
    if (s->thread.stack == RS_FL_NONE ||
        !RS_GROW_ONE(flight->threads, flight->n_threads, flight->threads_capacity)) {
        s->nomem = true;
        return;
    }
    flight->threads[flight->n_threads++] = s->thread;
    s->n++;
}

static void begin_thread(stacks *s, uint32_t id, uint32_t name, uint32_t state)
{
    rs_fl_thread before = s->thread;
    end_thread(s);
    s->thread = (rs_fl_thread){
        .rank = before.rank, .address = before.address, .id = id, .name = name, .state = state};
    s->n_frames = 0;
    s->open = true;
}

static void add_frame(stacks *s, rs_fl_span function, rs_fl_span file, int64_t line)
{
    if (!s->open || s->n_frames >= MAX_FRAMES) return;
    s->frames[s->n_frames++] =
        (rs_fl_frame){intern(s, function.text, function.n), intern(s, file.text, file.n), line};
}

/* "Thread 0x7f10 [name] (most recent call first):", "Current thread ..." */
static bool faulthandler_thread(stacks *s, rs_fl_span line)
{
    rs_fl_span f[RS_FL_MAX_FIELDS];
    if (line.n > 400 || !rs_fl_find(line.text, line.n, "(most recent call first)")) return false;
    bool current = line.n > 15 && memcmp(line.text, "Current thread ", 15) == 0;
    if (!current && (line.n < 7 || memcmp(line.text, "Thread ", 7) != 0)) return false;
    if (!rs_fl_template(line.text, line.n, "hread 0x%x", f)) return false;
    const char *open = memchr(line.text, '[', line.n),
               *close = open ? memchr(open, ']', (size_t)(line.text + line.n - open)) : NULL;
    begin_thread(s, intern(s, f[0].text, f[0].n),
                 close ? intern(s, open + 1, (size_t)(close - open - 1)) : RS_FL_NONE, RS_FL_NONE);
    s->current = current;
    return true;
}

/* '  File "F", line N in FN', '  Garbage-collecting' */
static void faulthandler_line(stacks *s, rs_fl_span line)
{
    rs_fl_span f[RS_FL_MAX_FIELDS];
    if (rs_fl_find(line.text, line.n, "Garbage-collecting")) s->thread.collecting = true;
    if (line.n < 10 || memcmp(line.text, "  File \"", 8) != 0) return;
    const char *close = rs_fl_find(line.text, line.n, "\", line ");
    if (!close || close < line.text + 8 ||
        !rs_fl_template(close, (size_t)(line.text + line.n - close), "\", line %d in %r", f))
        return;
    add_frame(s, f[1], (rs_fl_span){line.text + 8, (size_t)(close - line.text - 8)}, rs_fl_span_int(f[0]));
}

/* 'Thread 1234 (active+gil): "MainThread"' */
static bool pyspy_thread(stacks *s, rs_fl_span line)
{
    rs_fl_span f[RS_FL_MAX_FIELDS];
    if (line.n < 10 || memcmp(line.text, "Thread ", 7) != 0 ||
        !rs_fl_template(line.text, line.n, "Thread %w", f))
        return false;
    const char *open = memchr(line.text, '(', line.n),
               *close = open ? memchr(open, ')', (size_t)(line.text + line.n - open)) : NULL;
    const char *quote = close ? memchr(close, '"', (size_t)(line.text + line.n - close)) : NULL;
    if (!close) return false;
    const char *end = quote ? memchr(quote + 1, '"', (size_t)(line.text + line.n - quote - 1)) : NULL;
    begin_thread(s, intern(s, f[0].text, f[0].n),
                 end ? intern(s, quote + 1, (size_t)(end - quote - 1)) : RS_FL_NONE,
                 intern(s, open + 1, (size_t)(close - open - 1)));
    return true;
}

/* '    FUNCTION (PATH:LINE)'; what is indented deeper are arguments. */
static void pyspy_line(stacks *s, rs_fl_span line)
{
    size_t indent = 0;
    while (indent < line.n && line.text[indent] == ' ') indent++;
    if (indent != 4 || line.n < 8 || line.text[line.n - 1] != ')') return;
    size_t open = line.n, colon = line.n;
    while (open > indent && line.text[open - 1] != '(') open--;
    while (colon > open && line.text[colon - 1] != ':') colon--;
    if (open <= indent + 1) return;
    rs_fl_span function = {line.text + indent, open - indent - 2},
               file = {line.text + open, line.n - 1 - open};
    int64_t number = 0;
    if (colon > open) {
        file.n = colon - 1 - open;
        number = rs_fl_span_int((rs_fl_span){line.text + colon, line.n - 1 - colon});
    }
    add_frame(s, function, file, number);
}

/* The main thread: py-spy names it; of faulthandler's the one that began in a module, else the last. */
static bool choose_main(stacks *s)
{
    rs_flight *flight = s->flight;
    rs_fl_thread *main = NULL;
    for (size_t i = 0; i < s->n; i++) {
        rs_fl_thread *t = &flight->threads[s->first + i];
        const char *name = t->name == RS_FL_NONE ? NULL : rs_fl_text(flight, t->name);
        if (name && strcmp(name, "MainThread") == 0) main = t;
        if (main || !t->stack) continue;
        const rs_fl_stack *stack = &flight->stacks[t->stack];
        if (!stack->n) continue;
        const rs_fl_frame *outer = &flight->frames[flight->stack_frames[stack->first + stack->n - 1]];
        const char *file = rs_fl_text(flight, outer->file);
        size_t length = strlen(file);
        bool threading = length >= 12 && strcmp(file + length - 12, "threading.py") == 0;
        if (strcmp(rs_fl_text(flight, outer->name), "<module>") == 0 && !threading) main = t;
    }
    for (size_t i = s->n; i-- > 0 && !main;)
        if (flight->threads[s->first + i].stack) main = &flight->threads[s->first + i];
    if (!main) return true;
    main->is_main = true;
    rs_fl_note *note = rs_fl_note_put(flight, main->rank);
    if (!note) return false;
    note->stack = main->stack;
    note->collecting = main->collecting;
    return true;
}

bool rs_fl_read_stacks(rs_flight *flight, int64_t rank, uint32_t address, const char *text, size_t n,
                       size_t *n_threads)
{
    RS_LOCAL stacks *s = rs_calloc(1, sizeof *s);
    *n_threads = 0;
    if (!s) return false;
    s->flight = flight;
    s->first = flight->n_threads;
    s->thread = (rs_fl_thread){
        .rank = rank, .address = address, .id = RS_FL_NONE, .name = RS_FL_NONE, .state = RS_FL_NONE};
    bool pyspy =
        rs_fl_find(text, n, "\nPython v") != NULL && !rs_fl_find(text, n, "(most recent call first)");
    for (size_t at = 0; at < n && !s->nomem;) {
        const char *end = memchr(text + at, '\n', n - at);
        rs_fl_span line = {text + at, (size_t)((end ? end : text + n) - (text + at))};
        at += line.n + 1;
        if (line.n && line.text[line.n - 1] == '\r') line.n--;
        if (line.n > 8192) continue;
        if (pyspy ? pyspy_thread(s, line) : faulthandler_thread(s, line)) continue;
        if (pyspy)
            pyspy_line(s, line);
        else
            faulthandler_line(s, line);
    }
    end_thread(s);
    bool good = !s->nomem && choose_main(s);
    *n_threads = s->n;
    return good;
}
