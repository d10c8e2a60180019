/* Titles: vllm/utils/system_utils.py set_process_title, sglang/srt/managers/scheduler.py configure_scheduler. Places: vLLM's
 * shm_broadcast.py (MessageQueue) and core.py, SGLang's scheduler.py recv_requests. */
#include "flight/serving.h"

#include <string.h>

#include "flight/template.h"

#define PROVISIONAL ((int64_t)1 << 60)
#define ENGINE ((int64_t)1 << 59)
#define MOST 0xfffff /* of a place's number: 20 bits */
#define INNER 8u     /* Python frames in which a place is looked for */

/* ---- titles ------------------------------------------------------------------------------------------------- */

bool rs_fl_worker_parts(const char *text, size_t n, rs_fl_worker *worker)
{
    size_t parts = 0;
    *worker = (rs_fl_worker){0};
    for (size_t at = 0; at < n; parts++) {
        while (at < n && (text[at] == '_' || text[at] == ' ')) at++;
        size_t name = at;
        while (at < n && text[at] >= 'A' && text[at] <= 'Z') at++;
        size_t letters = at - name, number = at;
        while (at < n && text[at] >= '0' && text[at] <= '9') at++;
        if (letters < 2 || letters > 5 || at == number || at - number > 5 ||
            (at < n && text[at] != '_' && text[at] != ' '))
            return false;
        int64_t value = rs_fl_span_int((rs_fl_span){text + number, at - number});
        if (value > MOST) return false;
        if (letters != 2) continue;
        if (memcmp(text + name, "TP", 2) == 0) worker->tp = value;
        if (memcmp(text + name, "PP", 2) == 0) worker->pp = value;
        if (memcmp(text + name, "DP", 2) == 0) worker->dp = value, worker->has_dp = true;
    }
    return parts > 0;
}

rs_fl_process rs_fl_process_of(const char *title, size_t n, rs_fl_worker *worker)
{
    static const char *const workers[] = {"VLLM::Worker", "sglang::scheduler", "Worker", "VllmWorker"};
    static const char *const engines[] = {"VLLM::", "sglang::", "EngineCore"};
    *worker = (rs_fl_worker){0};
    while (n && title[n - 1] == ' ') n--;
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++) {
        size_t length = strlen(workers[i]);
        if (n < length || memcmp(title, workers[i], length) != 0) continue;
        if (n == length && i < 2) return RS_FL_PROCESS_WORKER;
        if (n > length && title[length] == '_' && rs_fl_worker_parts(title + length, n - length, worker))
            return RS_FL_PROCESS_WORKER;
    }
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (n >= strlen(engines[i]) && memcmp(title, engines[i], strlen(engines[i])) == 0)
            return RS_FL_PROCESS_ENGINE;
    return RS_FL_PROCESS_OTHER;
}

/* ---- ranks -------------------------------------------------------------------------------------------------- */

int64_t rs_fl_provisional_rank(rs_fl_process process, const rs_fl_worker *worker, size_t engine)
{
    return process == RS_FL_PROCESS_ENGINE
               ? PROVISIONAL + ENGINE + (int64_t)(engine & MOST)
               : PROVISIONAL + (worker->dp << 40) + (worker->pp << 20) + worker->tp;
}

static rs_fl_worker worker_of(int64_t rank)
{
    return (rs_fl_worker){.dp = rank >> 40 & (MOST >> 1), .pp = rank >> 20 & MOST, .tp = rank & MOST};
}

/* How ranks follow from places: an engine of vLLM numbers pipeline stages and, inside, tensor-parallel ranks; the engines of data
 * parallelism follow each other. Where no two workers differ in DP alone (SGLang's attention), DP is no dimension. */
typedef struct layout {
    int64_t tp, pp;
    bool by_dp;
} layout;

static layout layout_of(const rs_fl_note *notes, size_t n)
{
    layout l = {1, 1, false};
    for (size_t i = 0; i < n; i++) {
        rs_fl_worker w = worker_of(notes[i].rank);
        if (w.tp >= l.tp) l.tp = w.tp + 1;
        if (w.pp >= l.pp) l.pp = w.pp + 1;
    }
    for (size_t i = 0; i < n && n <= 4096; i++)
        for (size_t k = 0; k < i && !l.by_dp; k++)
            l.by_dp =
                (notes[i].rank & (((int64_t)1 << 40) - 1)) == (notes[k].rank & (((int64_t)1 << 40) - 1));
    return l;
}

static int64_t rank_of(const layout *l, int64_t provisional)
{
    rs_fl_worker w = worker_of(provisional);
    return ((l->by_dp ? w.dp : 0) * l->pp + w.pp) * l->tp + w.tp;
}

static bool is_engine(int64_t rank)
{
    return rank >= PROVISIONAL + ENGINE;
}

static const char *frame_name(const rs_flight *flight, uint32_t stack, uint32_t i, const char **file)
{
    const rs_fl_stack *s = &flight->stacks[stack];
    const rs_fl_frame *f = &flight->frames[flight->stack_frames[s->first + i]];
    *file = rs_fl_text(flight, f->file);
    return rs_fl_text(flight, f->name);
}

/* Whether an engine has asked its workers for something and waits for them. */
static bool waits_for_workers(const rs_flight *flight, uint32_t stack)
{
    static const char *const calls[] = {"get_response", "collective_rpc", "execute_model", "sample_tokens"};
    const char *file;
    if (stack >= flight->n_stacks) return false; /* its process has a title, and no stack */
    for (uint32_t i = 0; i < flight->stacks[stack].n; i++)
        for (size_t k = 0; k < sizeof calls / sizeof *calls; k++)
            if (strcmp(frame_name(flight, stack, i, &file), calls[k]) == 0) return true;
    return false;
}

bool rs_fl_settle_workers(rs_flight *flight, bool *idle)
{
    size_t first = flight->n_notes, n_engines = 0, n_waiting = 0;
    while (first && flight->notes[first - 1].rank >= PROVISIONAL) first--;
    size_t n = flight->n_notes - first, n_workers = n;
    RS_LOCAL rs_fl_note *notes = rs_malloc((n + 1) * sizeof *notes);
    if (!notes) return false;
    if (n) memcpy(notes, flight->notes + first, n * sizeof *notes);
    flight->n_notes = first;
    while (n_workers && is_engine(notes[n_workers - 1].rank)) {
        n_waiting += waits_for_workers(flight, notes[--n_workers].stack);
        n_engines++;
    }
    *idle = n_engines && !n_waiting;
    layout l = layout_of(notes, n_workers);
    for (size_t i = 0; i < flight->n_threads; i++) {
        int64_t *rank = &flight->threads[i].rank;
        if (*rank >= PROVISIONAL) *rank = is_engine(*rank) ? -1 : rank_of(&l, *rank);
    }
    for (size_t i = 0; i < n_workers; i++) {
        rs_fl_note *note = rs_fl_note_put(flight, rank_of(&l, notes[i].rank));
        if (!note) return false;
        note->stack = notes[i].stack;
        note->stack_file = notes[i].stack_file;
        note->stack_line = notes[i].stack_line;
        note->title = notes[i].title;
        note->collecting = notes[i].collecting;
    }
    return true;
}

/* ---- places ------------------------------------------------------------------------------------------------- */

rs_fl_wait rs_fl_wait_of(const rs_flight *flight, uint32_t stack)
{
    uint32_t n = flight->stacks[stack].n, seen = 0;
    rs_fl_wait inner = RS_FL_BUSY; /* of the innermost Python frame, and of native ones inside it */
    for (uint32_t i = 0; i < n && seen < INNER; i++) {
        const char *file, *name = frame_name(flight, stack, i, &file);
        bool python = !strstr(file, ".so");
        if (strstr(file, "shm_broadcast.py") || (python && strcmp(name, "recv_requests") == 0))
            return RS_FL_WAITS_WORK;
        bool waits = seen
                         ? false
                         : (!python && (strstr(name, "Synchronize") || strstr(name, "nccl"))) ||
                               strstr(file, "torch/distributed/") || strstr(file, "/device_communicators/") ||
                               (strstr(file, "torch/cuda/") && strstr(name, "synchronize"));
        if (waits) inner = RS_FL_WAITS_OTHERS;
        seen += python;
    }
    return inner;
}
