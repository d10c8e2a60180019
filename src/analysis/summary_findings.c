/* The sentences of `summary`: each candidate has a weight, the share of GPU time that could be won or is in
 * doubt; the five weightiest are told. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/summary.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/try.h"
#include "text/numbers.h"
#include "verdict/verdicts.h"
#include "table/cells.h"

#define MAX_SENTENCES 5
#define MAX_CANDIDATES 16
/* Shares (percent) from which a thing is worth a sentence. */
#define WORTH_IDLE 10
#define WORTH_COMM 5
#define WORTH_COPIES 3
#define WORTH_UNLINKED 5
#define WORTH_KERNEL 20
#define WORTH_SLOWER 3
#define WORTH_GAP 5
#define WORTH_LOADING 5
#define WORTH_BOUND 40
/* Kernels shorter than this many launch calls cannot keep ahead of the host. */
#define SMALL_KERNEL 4

typedef enum topic {
    TOPIC_IDLE,
    TOPIC_COMMUNICATION,
    TOPIC_COPIES,
    TOPIC_SLOWEST,
    TOPIC_KERNEL,
    TOPIC_UNLINKED,
    TOPIC_GAP,
    TOPIC_LOADING,
    TOPIC_HOST,
    TOPIC_EMPTY,
    N_TOPICS
} topic;

static const char *const topics[N_TOPICS] = {"idle",     "communication", "copies",  "slowest", "kernel",
                                             "unlinked", "gap",           "loading", "host",    "empty"};

/* The kind of fault by which the judge examines a topic. Topics that are about the recording have none. */
static const char *const examined_by[N_TOPICS] = {
    [TOPIC_IDLE] = "host_elsewhere",   [TOPIC_COMMUNICATION] = "exposed_communication",
    [TOPIC_COPIES] = "pageable_copy",  [TOPIC_SLOWEST] = "straggler",
    [TOPIC_KERNEL] = "hottest_kernel", [TOPIC_GAP] = "host_pause",
    [TOPIC_LOADING] = "loader"};

typedef struct sentence {
    double weight, share;
    int64_t rank; /* -1: all */
    topic about;
    char text[512];
} sentence;

typedef struct sentences {
    sentence items[MAX_CANDIDATES];
    size_t n;
} sentences;

static void say(sentences *s, topic about, double weight, double share, int64_t rank, const char *format, ...)
    RS_PRINTF(6, 7);
static void say(sentences *s, topic about, double weight, double share, int64_t rank, const char *format, ...)
{
    if (s->n == MAX_CANDIDATES) return;
    sentence *one = &s->items[s->n++];
    *one = (sentence){.weight = weight, .share = share, .rank = rank, .about = about};
    va_list args;
    va_start(args, format);
    vsnprintf(one->text, sizeof one->text, format, args);
    va_end(args);
}

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* The rank with the largest share of something in its GPU span, and the mean share of all. */
typedef struct worst {
    size_t index;
    double share, mean;
} worst;

static worst worst_of(const rs_partial *p, size_t n, size_t field)
{
    worst w = {0};
    double sum = 0;
    size_t counted = 0;
    for (size_t i = 0; i < n; i++) {
        const rs_rank_summary *s = p[i].value;
        if (s->gpu_span <= 0) continue;
        int64_t value;
        memcpy(&value, (const char *)s + field, sizeof value);
        double share = percent(value, s->gpu_span);
        sum += share;
        if (counted++ == 0 || share > w.share) {
            w.share = share;
            w.index = i;
        }
    }
    w.mean = counted ? sum / (double)counted : 0;
    return w;
}
#define WORST(p, n, member) worst_of(p, n, offsetof(rs_rank_summary, member))

/* " on rank 3 (12.3% on average)", nothing for a job of one rank. */
static const char *on_rank(const rs_partial *p, size_t n, const worst *w, char *out, size_t size)
{
    out[0] = '\0';
    if (n > 1)
        snprintf(out, size, " on rank %lld (%s%% on average)", (long long)p[w->index].rank,
                 RS_FIXED(w->mean, 1));
    return out;
}

static void about_idle(const rs_partial *p, size_t n, sentences *s)
{
    worst w = WORST(p, n, idle);
    if (w.share < WORTH_IDLE) return;
    const rs_rank_summary *r = p[w.index].value;
    char where[80], idle[32], kernel[32], launch[32];
    double bound = percent(r->host_wait, r->idle);
    int64_t rank = n > 1 ? p[w.index].rank : -1;
    rs_human_time(r->idle, idle);
    on_rank(p, n, &w, where, sizeof where);
    double after = percent(r->latency, r->idle);
    if (bound < WORTH_BOUND && after >= WORTH_BOUND && r->mean_launch >= 0) {
        say(s, TOPIC_IDLE, w.share, w.share, rank,
            "The GPU is idle %s%% of its time%s, %s in all, %s%% of it after the call that launches the next "
            "kernel has begun: launch calls take %s on average (first calls load code), or the kernel waits "
            "for another stream.",
            RS_FIXED(w.share, 1), where, idle, RS_FIXED(after, 0), rs_human_time(r->mean_launch, launch));
        return;
    }
    if (bound < WORTH_BOUND || r->mean_kernel < 0) {
        say(s, TOPIC_IDLE, w.share, w.share, rank, "The GPU is idle %s%% of its time%s, %s in all.",
            RS_FIXED(w.share, 1), where, idle);
        return;
    }
    rs_human_time(r->mean_kernel, kernel);
    rs_human_time(r->mean_launch, launch);
    if (percent(r->elsewhere, r->host_wait) > 50)
        say(s, TOPIC_IDLE, w.share, w.share, rank,
            "Host-bound: the GPU is idle %s%% of its time%s, %s in all, and launching threads are in no GPU call for %s%% of it: "
            "look at what the host does between launches (data loading, Python code, locks).",
            RS_FIXED(w.share, 1), where, idle, RS_FIXED(percent(r->elsewhere, r->idle), 0));
    else if (r->mean_kernel < SMALL_KERNEL * r->mean_launch)
        say(s, TOPIC_IDLE, w.share, w.share, rank,
            "Launch-bound: the GPU is idle %s%% of its time%s, %s in all, %s%% of it before the next "
            "kernel was "
            "launched; a kernel takes %s on average, its launch call %s. Fewer and larger kernels, "
            "torch.compile or CUDA graphs would help.",
            RS_FIXED(w.share, 1), where, idle, RS_FIXED(bound, 0), kernel, launch);
    else
        say(s, TOPIC_IDLE, w.share, w.share, rank,
            "Host-bound: the GPU is idle %s%% of its time%s, %s in all, %s%% of it before the next "
            "kernel was "
            "launched, though kernels are long (%s on average) and launches short (%s): look at what the "
            "host does between launches (data loading, Python code, synchronization).",
            RS_FIXED(w.share, 1), where, idle, RS_FIXED(bound, 0), kernel, launch);
}

static const rs_name_total *largest(const rs_rank_summary *s, int class)
{
    for (size_t i = 0; i < s->n_kernels; i++)
        if (class < 0 || s->kernels[i].class == class) return &s->kernels[i];
    return NULL;
}

static void short_name(const char *name, char *out, size_t size)
{
    rs_shorten_middle(name, strlen(name), 60, out, size);
}

static void about_communication(const rs_partial *p, size_t n, sentences *s)
{
    worst w = WORST(p, n, exposed_comm);
    if (w.share < WORTH_COMM) return;
    const rs_rank_summary *r = p[w.index].value;
    const rs_name_total *top = largest(r, RS_CLASS_COMM);
    char where[80], name[256] = "", time[32];
    on_rank(p, n, &w, where, sizeof where);
    if (top) short_name(top->name, name, sizeof name);
    say(s, TOPIC_COMMUNICATION, w.share, w.share, n > 1 ? p[w.index].rank : -1,
        "Communication that computation does not hide takes %s%% of the GPU's time%s, %s; %s%% of all "
        "communication is hidden. Most of it is %s.",
        RS_FIXED(w.share, 1), where, rs_human_time(r->exposed_comm, time),
        RS_FIXED(percent(r->communication - r->exposed_comm, r->communication), 0), name);
}

static void about_copies(const rs_partial *p, size_t n, sentences *s)
{
    worst w = WORST(p, n, exposed_copies);
    if (w.share < WORTH_COPIES) return;
    const rs_rank_summary *r = p[w.index].value;
    const rs_name_total *top = largest(r, RS_CLASS_MEMORY);
    char where[80], name[256] = "", time[32];
    on_rank(p, n, &w, where, sizeof where);
    if (top) short_name(top->name, name, sizeof name);
    say(s, TOPIC_COPIES, w.share, w.share, n > 1 ? p[w.index].rank : -1,
        "Copies and memsets that nothing hides take %s%% of the GPU's time%s, %s; most of it is %s.",
        RS_FIXED(w.share, 1), where, rs_human_time(r->exposed_copies, time), name);
}

static void about_slowest(const rs_partial *p, size_t n, int64_t median, sentences *s)
{
    size_t slowest = 0, known = 0;
    for (size_t i = 0; i < n; i++) {
        if (!rs_summary_own_known(p[i].value)) continue;
        if (known++ == 0 || rs_summary_own_time(p[i].value) > rs_summary_own_time(p[slowest].value))
            slowest = i;
    }
    if (known < 2) return;
    const rs_rank_summary *r = p[slowest].value;
    double behind = percent(rs_summary_own_time(r) - median, median);
    if (behind < WORTH_SLOWER) return;
    char time[32], by[32];
    say(s, TOPIC_SLOWEST, behind,
        percent(rs_summary_own_time(r) - median, r->on_host ? r->span : r->gpu_span), p[slowest].rank,
        "Rank %lld is the slowest: without waiting in communication it needs %s, %s (%s%%) more than the "
        "median rank; the others wait for it.",
        (long long)p[slowest].rank, rs_human_time(rs_summary_own_time(r), time),
        rs_human_time(rs_summary_own_time(r) - median, by), RS_FIXED(behind, 1));
}

static void about_kernels(const rs_partial *p, size_t n, sentences *s)
{
    /* one rank stands for all: their mix is alike, and the table has the sums */
    size_t best = 0;
    double share = 0;
    const rs_name_total *top = NULL;
    for (size_t i = 0; i < n; i++) {
        const rs_rank_summary *r = p[i].value;
        const rs_name_total *k = largest(r, RS_CLASS_COMPUTE);
        if (!k || percent(k->time, r->gpu_sum) <= share) continue;
        share = percent(k->time, r->gpu_sum);
        top = k;
        best = i;
    }
    if (!top || share < WORTH_KERNEL || strcmp(top->name, "(others)") == 0) return;
    char name[256], where[40] = "", mean[32];
    short_name(top->name, name, sizeof name);
    if (n > 1) snprintf(where, sizeof where, " on rank %lld", (long long)p[best].rank);
    say(s, TOPIC_KERNEL, share / 2, share, n > 1 ? p[best].rank : -1,
        "One kernel makes %s%% of all GPU time%s: %s, %lld times %s.", RS_FIXED(share, 1), where, name,
        (long long)top->count, rs_human_time(top->time / top->count, mean));
}

static void about_unlinked(const rs_partial *p, size_t n, sentences *s)
{
    size_t worst_index = 0;
    double share = 0;
    for (size_t i = 0; i < n; i++) {
        const rs_rank_summary *r = p[i].value;
        if (percent(r->unlinked_time, r->gpu_sum) <= share) continue;
        share = percent(r->unlinked_time, r->gpu_sum);
        worst_index = i;
    }
    const rs_rank_summary *r = n ? p[worst_index].value : NULL;
    /* without any launch the recording has none, as that of a TPU */
    if (!r || share < WORTH_UNLINKED || r->n_unlinked == r->n_gpu) return;
    char where[40] = "";
    if (n > 1) snprintf(where, sizeof where, " on rank %lld", (long long)p[worst_index].rank);
    say(s, TOPIC_UNLINKED, share / 2, share, n > 1 ? p[worst_index].rank : -1,
        "%zu of %zu GPU events%s (%s%% of the GPU time) have no launch in the file: the recording began "
        "after they were launched, and numbers by operator leave them out.",
        r->n_unlinked, r->n_gpu, where, RS_FIXED(share, 1));
}

static void about_gap(const rs_partial *p, size_t n, sentences *s)
{
    worst w = WORST(p, n, longest_gap);
    if (w.share < WORTH_GAP) return;
    const rs_rank_summary *r = p[w.index].value;
    char gap[32], at[32], where[40] = "";
    if (n > 1) snprintf(where, sizeof where, " of rank %lld", (long long)p[w.index].rank);
    say(s, TOPIC_GAP, w.share * 0.75, w.share, n > 1 ? p[w.index].rank : -1,
        "The longest single gap in the GPU's work%s lasts %s (%s%%), %s after the first event.", where,
        rs_human_time(r->longest_gap, gap), RS_FIXED(w.share, 1), rs_human_time(r->longest_gap_at, at));
}

static void about_loading(const rs_partial *p, size_t n, sentences *s)
{
    worst w = WORST(p, n, data_loading);
    const rs_rank_summary *r = n ? p[w.index].value : NULL;
    if (!r || w.share < WORTH_LOADING || percent(r->idle, r->gpu_span) < WORTH_IDLE) return;
    char where[80], time[32];
    on_rank(p, n, &w, where, sizeof where);
    say(s, TOPIC_LOADING, w.share * 0.9, w.share, n > 1 ? p[w.index].rank : -1,
        "The host spends %s in the data loader, %s%% of the GPU's time%s.",
        rs_human_time(r->data_loading, time), RS_FIXED(w.share, 1), where);
}

static void about_nothing(const rs_partial *p, size_t n, sentences *s)
{
    size_t empty = 0, first = 0;
    for (size_t i = n; i-- > 0;) {
        const rs_rank_summary *r = p[i].value;
        if (rs_summary_own_known(r)) continue;
        empty++;
        first = i;
    }
    if (empty == 0) return;
    char where[128] = "";
    if (n > 1)
        snprintf(where, sizeof where, " on %zu of %zu ranks, first rank %lld", empty, n,
                 (long long)p[first].rank);
    say(s, TOPIC_EMPTY, 1000, 100, n > 1 ? p[first].rank : -1,
        "No GPU work was recorded%s: profile with ProfilerActivity.CUDA; `rankscope doctor` says more.",
        where);
}

/* A job without a GPU: where to look instead. */
static void about_host(const rs_partial *p, size_t n, sentences *s)
{
    size_t on_host = 0, first = 0;
    bool communicates = false;
    worst w = {0};
    for (size_t i = 0; i < n; i++) {
        const rs_rank_summary *r = p[i].value;
        if (!r->on_host || r->span <= 0) continue;
        double share = percent(r->host_waiting, r->span);
        w.mean += share;
        communicates = communicates || r->communicates;
        if (on_host == 0) first = i;
        if (on_host++ && share <= w.share) continue;
        w.share = share;
        w.index = i;
    }
    if (!on_host) return;
    w.mean /= (double)on_host;
    if (w.share >= WORTH_COMM) {
        char where[80], time[32];
        say(s, TOPIC_HOST, w.share, w.share, n > 1 ? p[w.index].rank : -1,
            "Communication on the host, while no operator runs, takes %s%% of the recorded time%s, %s.",
            RS_FIXED(w.share, 1), on_rank(p, n, &w, where, sizeof where),
            rs_human_time(((const rs_rank_summary *)p[w.index].value)->host_waiting, time));
    }
    if (on_host < n) {
        say(s, TOPIC_HOST, 0, 100, p[first].rank,
            "%zu of %zu ranks have no GPU, first rank %lld: `rankscope breakdown --host` shows where their "
            "host's time goes.",
            on_host, n, (long long)p[first].rank);
        return;
    }
    say(s, TOPIC_HOST, 0, 100, -1,
        communicates
            ? "The job has no GPU: `rankscope breakdown` and `ops --host` show where the host's time goes, "
              "`rankscope collectives` who comes late."
            : "The job has no GPU: `rankscope breakdown` and `ops --host` show where the host's time goes.");
}

static int by_weight(const void *a, const void *b)
{
    const sentence *x = a, *y = b;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return strcmp(x->text, y->text);
}

/* ---- the judge's sentences ------------------------------------------------------------------------------ */

/* Whether the judge examined a topic of the job. */
static bool is_examined(const rs_verdict_list *verdicts, topic about)
{
    if (!verdicts || !verdicts->n || verdicts->items[0].kind == RS_VERDICT_REFUSED || !examined_by[about])
        return false;
    for (size_t i = 0; i < verdicts->n_unexamined; i++)
        if (strcmp(verdicts->unexamined[i].id, examined_by[about]) == 0 && !verdicts->unexamined[i].what)
            return false;
    return true;
}

/* Takes out the sentences on topics that the judge examined; *gone: which, "slowest, communication". */
static void leave_to_judge(sentences *s, const rs_verdict_list *verdicts, rs_text *gone)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (is_examined(verdicts, s->items[i].about))
            rs_text_printf(gone, "%s%s", gone->n ? ", " : "", topics[s->items[i].about]);
        else if (kept++ != i)
            s->items[kept - 1] = s->items[i];
    }
    s->n = kept;
}

static rs_status put(const char *text, int64_t rank, double share, const char *topic_name, const char *id,
                     const char *replaces, rs_table *findings, rs_error *err)
{
    return RS_PUT_ROW(findings, err, text, rank >= 0 ? rank : RS_NO_VALUE, share, topic_name, id, replaces);
}

/* Findings and opportunities, or that there are none. *n: how many. */
static rs_status put_verdicts(const rs_verdict_list *verdicts, const char *replaces, rs_table *findings,
                              size_t *n, rs_error *err)
{
    *n = 0;
    for (size_t i = 0; verdicts && i < verdicts->n && *n < MAX_SENTENCES; i++) {
        const rs_verdict *v = &verdicts->items[i];
        bool of_rank = v->n_culprits && v->culprits[0].kind == RS_CULPRIT_RANK;
        if (v->kind == RS_VERDICT_REFUSED || v->sensitivity) continue;
        RS_TRY(put(v->text, of_rank ? v->culprits[0].number : -1, v->gain_pct, "diagnose", v->id,
                   *n == 0 && *replaces ? replaces : NULL, findings, err));
        ++*n;
    }
    return RS_OK;
}

rs_status rs_summary_findings(const rs_run *run, const rs_partial *partials, size_t n, int64_t median,
                              rs_table *findings, rs_error *err)
{
    const rs_verdict_list *verdicts = run->verdicts ? rs_verdicts_get(run->verdicts) : NULL;
    rs_text gone = {0};
    size_t n_put = 0;
    sentences *s = rs_calloc(1, sizeof *s);
    if (!s) return rs_fail_nomem(err, "findings");
    about_nothing(partials, n, s);
    about_host(partials, n, s);
    about_idle(partials, n, s);
    about_communication(partials, n, s);
    about_copies(partials, n, s);
    about_slowest(partials, n, median, s);
    about_kernels(partials, n, s);
    about_unlinked(partials, n, s);
    about_gap(partials, n, s);
    about_loading(partials, n, s);
    if (s->n) qsort(s->items, s->n, sizeof *s->items, by_weight);
    leave_to_judge(s, verdicts, &gone);
    rs_status status = rs_text_get(&gone) ? put_verdicts(verdicts, rs_text_get(&gone), findings, &n_put, err)
                                          : rs_fail_nomem(err, "findings");
    for (size_t i = 0; status == RS_OK && i < s->n && n_put + i < MAX_SENTENCES; i++)
        status = put(s->items[i].text, s->items[i].rank, s->items[i].share, topics[s->items[i].about], NULL,
                     NULL, findings, err);
    rs_text_clear(&gone);
    rs_free(s);
    return status;
}
