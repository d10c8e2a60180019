#include "analysis/doctor_checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/order.h"
#include "trace/repeated_steps.h"
#include "base/ascii.h"
#include "base/interval.h"
#include "base/memory.h"
#include "format/format.h"
#include "match/host_job.h"
#include "text/numbers.h"
#include "trace/calls.h"

/* A call that never owns work has this many calls before its silence means something. */
#define MIN_CALLS 2
/* A span of GPU work this long, or a clock this far off, is no microseconds. */
#define DAY_NS INT64_C(86400000000000)
#define YEAR_2100_NS INT64_C(4102444800000000000)

static const rs_doctor_check damage = {
    "damaged text", "whatever the lost events would have shown",
    "let the profiler finish before the process ends; write to a local disk, then copy"};
static const rs_doctor_check content = {
    "content", "everything",
    "start the profiler on the thread that does the work; newer PyTorch records the others with "
    "experimental_config=_ExperimentalConfig(profile_all_threads=True)"};
static const rs_doctor_check gpu_work = {
    "GPU work", "every GPU-time analysis",
    "profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"};
static const rs_doctor_check host_work = {"host operators",
                                          "ops, launchers, tree, critical-path, operators in summary",
                                          "profile with ProfilerActivity.CPU"};
static const rs_doctor_check launches = {
    "launches without work", "queue, launches, idle causes, critical-path",
    "record whole steps (schedule with warmup), synchronize before stopping; "
    "update the driver's CUPTI or roctracer if one call never shows work"};
static const rs_doctor_check unlinked = {
    "work without launch", "launch-bound share, idle causes, ops, launchers",
    "start the profiler one step before the steps you want (schedule warmup=1)"};
static const rs_doctor_check graphs = {
    "graph launches", "kernels of the graphs, busy time, idle",
    "newer drivers record every replay; or profile once with graphs disabled"};
static const rs_doctor_check early = {
    "work before launch", "queue, launches, idle causes",
    "a clock skew of the driver: newer CUPTI or roctracer; restart the process"};
static const rs_doctor_check duplicates = {"repeated correlations",
                                           "every launch-based number; perhaps several ranks in one file",
                                           "write one file a rank; do not concatenate traces"};
static const rs_doctor_check overlaps = {
    "overlap on one stream", "sums of kernel time; viewers drop such events",
    "programmatic dependent launch or a driver's timestamps; compare busy time, not sums"};
static const rs_doctor_check rank = {
    "rank", "telling ranks apart by the file itself",
    "initialise torch.distributed before profiling, or put rank_N in the file name"};
static const rs_doctor_check steps = {"steps", "steps, --steps, per-step numbers, HTA's window",
                                      "call profiler.step() once an iteration"};
static const rs_doctor_check shapes = {"shapes", "ops --by args, shapes in launchers, sizes of collectives",
                                       "record_shapes=True"};
static const rs_doctor_check stacks = {"Python stacks", "Python frames in tree", "with_stack=True"};
static const rs_doctor_check sync = {
    "sync events", "exact GPU to CPU dependencies in critical-path and chakra",
    "enable_cuda_sync_events in _ExperimentalConfig (PyTorch 2.1 and later)"};
static const rs_doctor_check collectives = {"collective arguments", "collectives: sizes, groups, bandwidth",
                                            "record_shapes=True with PyTorch 2.2 or later"};
static const rs_doctor_check dropped = {
    "dropped buffers", "completeness of GPU work",
    "fewer steps a recording; larger buffers (KINETO_USE_DAEMON off, CUPTI buffer size up)"};
static const rs_doctor_check clocks = {"clock units", "every duration",
                                       "do not rescale ts and dur: Chrome traces hold microseconds"};
static const rs_doctor_check resolution = {"clock resolution",
                                           "kernels under a microsecond; gaps between kernels",
                                           "PyTorch 2.3 or later writes nanoseconds"};
static const rs_doctor_check durations = {"durations", "busy time and idle around them",
                                          "a driver's bad timestamps: update it, or cut the events out"};

static const rs_doctor_check memory = {
    "memory", "who holds the memory: memory by source line, category, fragmentation",
    "record snapshots of the allocator, too: rankscope.record.Recorder(DIR, snapshots=1000000), or "
    "torch.cuda.memory._record_memory_history before the model is made and _dump_snapshot at the failure; then "
    "rankscope memory --trace TRACES SNAPSHOTS"};

void rs_finding_add(rs_findings *f, rs_finding_level level, const rs_doctor_check *check, int64_t count,
                    const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *copy = rs_strdup(text);
    if (!copy || !RS_GROW_ONE(f->items, f->n, f->capacity)) {
        rs_free(copy);
        f->out_of_memory = true;
        return;
    }
    const char *own = rs_format_remedy(f->events, check->name);
    f->items[f->n++] = (rs_doctor_finding){
        .level = level, .check = check, .count = count, .text = copy, .remedy = own ? own : check->remedy};
}

static bool tells_operators(const rs_events *events)
{
    return !events->format || events->format->tells_operators;
}

/* ---- what one pass over the rows tells --------------------------------------------------------------- */

typedef struct counts {
    int64_t cpu_ops, with_dims, python, sync, calls, rocm_calls, runtime_calls;
    int64_t spans, negative, whole_us, over_day;
    int64_t comm_kernels, out_of_memory;
} counts;

static bool starts_with(const rs_string *s, const char *word)
{
    size_t n = strlen(word);
    return s->length >= n && memcmp(s->text, word, n) == 0;
}

static void count_rows(const rs_trace *t, counts *c)
{
    const rs_events *e = t->events;
    rs_cursor dims = rs_cursor_of(e, RS_COL_INPUT_DIMS);
    for (size_t i = 0; i < t->n_rows; i++) {
        uint32_t row = rs_trace_row(t, i);
        rs_kind kind = rs_event_kind(e, row);
        if (kind == RS_KIND_SYNC) c->sync++;
        if (kind == RS_KIND_INSTANT && strcmp(rs_event_name(e, row), "[OutOfMemory]") == 0)
            c->out_of_memory++;
        if (!rs_event_is_span(e, row)) continue;
        c->spans++;
        c->negative += e->duration[row] < 0;
        c->over_day += e->duration[row] > DAY_NS;
        c->whole_us += e->start[row] % 1000 == 0 && e->duration[row] % 1000 == 0;
        if (kind == RS_KIND_CPU_OP) {
            c->cpu_ops++;
            c->with_dims += rs_cursor_seek(&dims, row);
        } else if (kind == RS_KIND_PYTHON_FUNCTION) {
            c->python++;
        } else if (rs_kind_is_call(kind)) {
            c->runtime_calls++;
            c->rocm_calls += starts_with(&e->strings.items[e->name[row]], "hip");
        }
    }
}

/* ---- launches and their work ------------------------------------------------------------------------ */

static rs_call_coverage *add_coverage(rs_findings *f, const rs_string *name)
{
    char *copy = rs_strndup(name->text, name->length);
    if (!copy || !RS_GROW_ONE(f->calls, f->n_calls, f->calls_capacity)) {
        rs_free(copy);
        f->out_of_memory = true;
        return NULL;
    }
    f->calls[f->n_calls] = (rs_call_coverage){.name = copy};
    return &f->calls[f->n_calls++];
}

static const rs_order by_name[] = {RS_RISING(rs_call_coverage, name)};

/* What is known of a call's name, by string id: names are few and calls are many. */
typedef struct call_name {
    uint8_t launches; /* 1 it does, 2 it does not, 0 not asked yet */
    uint32_t place;   /* in the findings' calls, counted from 1; 0: not there yet */
} call_name;

static void count_calls(const rs_trace *t, const rs_links *links, rs_findings *f)
{
    const rs_events *e = t->events;
    RS_LOCAL call_name *names = rs_calloc(e->strings.n + 1, sizeof *names);
    size_t at = 0;
    f->out_of_memory = f->out_of_memory || !names;
    for (size_t i = 0; i < t->n_rows && !f->out_of_memory; i++) {
        uint32_t row = rs_trace_row(t, i);
        if (!rs_kind_is_call(rs_event_kind(e, row))) continue;
        while (at < links->n_calls && links->call[at] < row) at++;
        int64_t work =
            at < links->n_calls && links->call[at] == row ? links->first[at + 1] - links->first[at] : 0;
        const rs_string *name = &e->strings.items[e->name[row]];
        call_name *known = &names[e->name[row]];
        if (work == 0 && !known->launches)
            known->launches = rs_call_flags(name->text) & RS_CALL_LAUNCHES ? 1 : 2;
        if (work == 0 && known->launches == 2) continue;
        if (!known->place && !add_coverage(f, name)) break;
        if (!known->place) known->place = (uint32_t)f->n_calls;
        rs_call_coverage *c = &f->calls[known->place - 1];
        c->calls++;
        c->with_work += work > 0;
        c->work += work;
    }
    RS_SORT(f->calls, f->n_calls, by_name);
}

static void judge_calls(rs_findings *f, bool has_gpu)
{
    int64_t calls = 0, with_work = 0;
    for (size_t i = 0; i < f->n_calls; i++) {
        const rs_call_coverage *c = &f->calls[i];
        calls += c->calls;
        with_work += c->with_work;
        if (!has_gpu || c->with_work == c->calls) continue;
        bool graph = rs_call_flags(c->name) & RS_CALL_GRAPH;
        double covered = 100.0 * (double)c->with_work / (double)c->calls;
        if (graph)
            rs_finding_add(f, RS_UNFIT, &graphs, c->calls - c->with_work,
                           "%lld of %lld %s calls show no kernels: their time is missing",
                           (long long)(c->calls - c->with_work), (long long)c->calls, c->name);
        else if (c->with_work == 0 && c->calls >= MIN_CALLS)
            rs_finding_add(f, RS_WEAK, &launches, c->calls, "none of %lld %s calls shows its work",
                           (long long)c->calls, c->name);
        else if (covered < 95)
            rs_finding_add(f, covered < 50 ? RS_WEAK : RS_REMARK, &launches, c->calls - c->with_work,
                           "%lld of %lld %s calls show no work (%s%% covered)",
                           (long long)(c->calls - c->with_work), (long long)c->calls, c->name,
                           RS_FIXED(covered, 1));
    }
    if (has_gpu && calls && with_work == calls)
        rs_finding_add(f, RS_FINE, &launches, calls, "all %lld launches show their work", (long long)calls);
}

static int64_t count_overlaps(const rs_work *w, rs_error *err, rs_status *status)
{
    /* sorted by stream, then start: an event overlaps when it begins before the latest end on its stream */
    rs_keyed *order = rs_malloc((w->n + 1) * sizeof *order);
    int64_t n = 0;
    *status = RS_OK;
    if (!order) {
        *status = rs_fail_nomem(err, "overlap check");
        return 0;
    }
    for (size_t i = 0; i < w->n; i++) order[i] = (rs_keyed){.key = w->start[i], .value = (uint32_t)i};
    if (!rs_keyed_sort(order, w->n)) {
        rs_free(order);
        *status = rs_fail_nomem(err, "overlap check");
        return 0;
    }
    enum { TRACKED = 256 };
    struct {
        int64_t device, stream, end;
    } open[TRACKED];
    size_t n_open = 0;
    for (size_t i = 0; i < w->n; i++) {
        uint32_t k = order[i].value;
        size_t s = 0;
        while (s < n_open && (open[s].stream != w->stream[k] || open[s].device != w->device[k])) s++;
        if (s == n_open) {
            if (n_open == TRACKED) continue;
            open[n_open].device = w->device[k];
            open[n_open].stream = w->stream[k];
            open[n_open++].end = w->end[k];
            continue;
        }
        n += w->start[k] < open[s].end;
        if (w->end[k] > open[s].end) open[s].end = w->end[k];
    }
    rs_free(order);
    return n;
}

static rs_status check_links(rs_trace *t, rs_findings *f, counts *c, rs_error *err)
{
    const rs_links *links;
    const rs_work *work;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_status status = rs_trace_links(t, &links, err);
    if (status == RS_OK) status = rs_trace_work_details(t, &policy, &work, err);
    if (status != RS_OK) return status;
    for (size_t i = 0; i < work->n; i++) c->comm_kernels += work->class[i] == RS_CLASS_COMM;
    count_calls(t, links, f);
    rs_host_job host = {0};
    if (work->n == 0) status = rs_trace_host_job(t, &host, err);
    if (status != RS_OK) return status;
    int64_t first, last;
    if (status == RS_OK && host.on_host) status = rs_trace_span(t, &first, &last, err);
    if (status != RS_OK) return status;
    if (host.on_host && first == RS_NO_TIME && !f->events->truncated) {
        rs_finding_add(f, RS_UNFIT, &content, 0, "nothing was recorded: no operators, annotations or calls");
        return RS_OK;
    }
    if (host.on_host) {
        rs_finding_add(f, RS_FINE, &gpu_work, 0, "a job without a GPU");
        return RS_OK;
    }
    if (work->n == 0 && f->events->truncated) return RS_OK; /* it may lie behind the cut */
    if (work->n == 0) {
        rs_finding_add(f, RS_UNFIT, &gpu_work, 0,
                       c->runtime_calls
                           ? "no kernels, copies or memsets although the host made %lld device calls"
                           : "no kernels, copies or memsets (%lld device calls on the host)",
                       (long long)c->runtime_calls);
        return RS_OK;
    }
    rs_finding_add(f, RS_FINE, &gpu_work, (int64_t)work->n, "%zu GPU events", work->n);
    bool whole = !f->events->truncated; /* else what belongs together may lie on both sides of the cut */
    if (whole) judge_calls(f, true);
    double share = 100.0 * (double)links->n_unlinked / (double)work->n;
    /* kernels by themselves are what was asked of the profiler */
    if (whole && links->n_unlinked && !tells_operators(f->events) && c->runtime_calls == 0)
        rs_finding_add(f, RS_WEAK, &unlinked, (int64_t)links->n_unlinked,
                       "no calls of the device's API were recorded, so none of %zu GPU events has a launch",
                       work->n);
    else if (whole && links->n_unlinked)
        rs_finding_add(f,
                       share > 50  ? RS_UNFIT
                       : share > 5 ? RS_WEAK
                                   : RS_REMARK,
                       &unlinked, (int64_t)links->n_unlinked,
                       "%zu of %zu GPU events (%s%%) have no launch in the file", links->n_unlinked, work->n,
                       RS_FIXED(share, 1));
    if (links->n_early)
        rs_finding_add(f, RS_WEAK, &early, (int64_t)links->n_early,
                       "%zu GPU events start before their launch", links->n_early);
    if (links->n_duplicate)
        rs_finding_add(f, RS_WEAK, &duplicates, (int64_t)links->n_duplicate,
                       "%zu launches repeat another launch's correlation id", links->n_duplicate);
    int64_t overlapping = count_overlaps(work, err, &status);
    if (overlapping)
        rs_finding_add(f, RS_REMARK, &overlaps, overlapping,
                       "%lld GPU events start before the one ahead of them on the same stream has ended",
                       (long long)overlapping);
    return status == RS_OK ? rs_doctor_check_unknown(t, work, f, err) : status;
}

/* ---- what the recording left out -------------------------------------------------------------------- */

/* What is not there. Of a text that breaks off nobody knows: it may lie behind the cut. */
static void check_missing(const rs_trace *t, rs_findings *f, const counts *c, size_t n_steps, bool repeated)
{
    const rs_file_info *info = &t->events->info;
    bool torch = tells_operators(f->events);
    if (c->cpu_ops == 0)
        rs_finding_add(f, torch ? RS_WEAK : RS_REMARK, &host_work, 0,
                       torch ? "no operators (cpu_op)" : "no operators");
    if (info->rank == RS_NO_VALUE && t->rank == RS_NO_VALUE)
        rs_finding_add(f, RS_REMARK, &rank, 0,
                       torch ? "the file does not name its rank (no distributedInfo.rank)"
                             : "the file does not name its rank");
    if (repeated)
        rs_finding_add(
            f, RS_REMARK, &steps, (int64_t)n_steps,
            "no training steps (ProfilerStep#N): %zu are detected from the repetition of the GPU work",
            n_steps);
    else if (n_steps == 0)
        rs_finding_add(f, RS_WEAK, &steps, 0, "no training steps (ProfilerStep#N)");
    else if (n_steps == 1)
        rs_finding_add(f, RS_REMARK, &steps, 1, "only one training step: nothing to compare it with");
    if (c->cpu_ops && c->python == 0) rs_finding_add(f, RS_REMARK, &stacks, 0, "no Python stacks");
    bool rocm = c->rocm_calls > 0;
    if (c->runtime_calls && c->sync == 0 && !rocm)
        rs_finding_add(f, RS_REMARK, &sync, 0, "no CUDA synchronization events (cuda_sync)");
}

static void check_contents(const rs_trace *t, rs_findings *f, const counts *c, size_t n_steps, bool repeated)
{
    const rs_events *e = t->events;
    if (!e->truncated) check_missing(t, f, c, n_steps, repeated);
    if (n_steps > 1 && !repeated)
        rs_finding_add(f, RS_FINE, &steps, (int64_t)n_steps, "%zu training steps", n_steps);
    if (c->cpu_ops && c->with_dims == 0 && !(e->truncated && e->info.record_shapes))
        rs_finding_add(f, RS_WEAK, &shapes, c->cpu_ops, "no input shapes on %lld operators",
                       (long long)c->cpu_ops);
    if (c->out_of_memory)
        rs_finding_add(
            f, RS_WEAK, &memory, c->out_of_memory,
            "%lld allocations failed ([OutOfMemory]): a trace says when and how much, not who holds the rest",
            (long long)c->out_of_memory);
    bool named = e->args[RS_COL_COLLECTIVE].n > 0;
    if (c->comm_kernels &&
        (!named || (e->args[RS_COL_IN_NELEMS].n == 0 && e->args[RS_COL_GROUP_NAME].n == 0)))
        rs_finding_add(f, RS_REMARK, &collectives, c->comm_kernels,
                       named ? "%lld communication kernels without a collective's size and group"
                             : "%lld communication kernels without a collective's name, size and group",
                       (long long)c->comm_kernels);
}

static void check_clock(const rs_trace *t, rs_findings *f, const counts *c, int64_t first, int64_t last)
{
    const rs_file_info *info = &t->events->info;
    int64_t epoch = first, span;
    bool wild = c->over_day > 0;
    if (first != RS_NO_TIME) {
        if (info->base_time_ns != RS_NO_VALUE && __builtin_add_overflow(first, info->base_time_ns, &epoch))
            wild = true;
        if (__builtin_sub_overflow(last, first, &span) || span > 30 * DAY_NS) wild = true;
        if (epoch > YEAR_2100_NS) wild = true;
    }
    if (wild)
        rs_finding_add(
            f, RS_UNFIT, &clocks, c->over_day,
            "times do not look like microseconds: a span beyond 30 days, an event beyond a day (%lld), or a "
            "date after 2100",
            (long long)c->over_day);
    if (c->negative)
        rs_finding_add(f, RS_WEAK, &durations, c->negative, "%lld events with a negative duration",
                       (long long)c->negative);
    if (c->spans >= 100 && c->whole_us == c->spans)
        rs_finding_add(f, RS_REMARK, &resolution, c->spans, "all times are whole microseconds");
    if (t->events->n_rounded)
        rs_finding_add(f, RS_REMARK, &resolution, (int64_t)t->events->n_rounded,
                       "%llu times had digits below the nanosecond and were rounded",
                       (unsigned long long)t->events->n_rounded);
}

/* ---- what the profiler and the reader say ----------------------------------------------------------- */

/* The number behind "NAME = " in a line of Kineto's log. */
static int64_t number_behind(const char *line, const char *name)
{
    const char *p = strstr(line, name);
    if (!p) return 0;
    p += strlen(name);
    while (*p == ' ' || *p == '=' || *p == ':') p++;
    int64_t v = 0;
    while (rs_is_digit(*p) && v < INT64_MAX / 10 - 9) v = v * 10 + (*p++ - '0');
    return v;
}

static bool mentions_drop(const char *line)
{
    static const char *const words[] = {"ropped", "buffer full", "out of memory", "overflow", "truncated"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(line, words[i])) return true;
    return false;
}

static void check_log(const rs_trace *t, rs_findings *f)
{
    const rs_events *e = t->events;
    for (size_t i = 0; i < e->n_log; i++) {
        const char *line = e->strings.items[e->log[i].text].text;
        int64_t disorder = number_behind(line, "CPU GPU out-of-order"),
                stopped = number_behind(line, "CUPTI stopped early?");
        if (disorder)
            rs_finding_add(f, RS_WEAK, &early, disorder,
                           "the profiler counted %lld GPU records out of order with the host",
                           (long long)disorder);
        if (stopped)
            rs_finding_add(f, RS_UNFIT, &dropped, stopped,
                           "the profiler says that CUPTI stopped early: GPU work is missing");
        if (mentions_drop(line))
            rs_finding_add(f, RS_WEAK, &dropped, 1, "the profiler's log says: %.300s", line);
    }
}

static void check_damage(const rs_trace *t, rs_findings *f)
{
    uint64_t defects = 0;
    for (size_t i = 0; t->problems && i < t->problems->n; i++) {
        const rs_problem *p = &t->problems->items[i];
        if (p->severity != RS_LOSS) continue;
        defects += p->count;
        rs_finding_add(f, RS_WEAK, &damage, (int64_t)p->count, "%s: %llu, first at byte %llu: %s", p->kind,
                       (unsigned long long)p->count, (unsigned long long)(p->n_offsets ? p->offsets[0] : 0),
                       p->message);
    }
    if (t->events->bytes_lost)
        rs_finding_add(f, RS_WEAK, &damage, (int64_t)t->events->bytes_lost,
                       "%llu bytes were skipped to find the next event after damage",
                       (unsigned long long)t->events->bytes_lost);
    if (!defects) rs_finding_add(f, RS_FINE, &damage, 0, "the text is whole");
}

rs_status rs_doctor_examine(rs_trace *t, rs_findings *f, rs_error *err)
{
    counts c = {0};
    const rs_step *list;
    size_t n_steps;
    int64_t first, last;
    f->events = t->events;
    check_damage(t, f);
    count_rows(t, &c);
    rs_status status = check_links(t, f, &c, err);
    if (status == RS_OK) status = rs_trace_annotated_steps(t, &list, &n_steps, err);
    const rs_repeated_steps *told = NULL;
    if (status == RS_OK && n_steps == 0) status = rs_trace_repeated_steps(t, &told, err);
    if (status == RS_OK) status = rs_trace_span(t, &first, &last, err);
    if (status != RS_OK) return status;
    bool repeated = told && told->found.n_steps > 0;
    check_contents(t, f, &c, repeated ? told->found.n_steps : n_steps, repeated);
    check_clock(t, f, &c, first, last);
    check_log(t, f);
    return RS_OK;
}
