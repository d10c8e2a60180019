/* The sentence that opens an answer: what the command's tables come to. A table without rows gets none. */
#include <math.h>
#include <string.h>

#include "base/order.h"
#include "base/real.h"
#include "base/strings.h"
#include "output/face_tools.h"
#include "rankscope/verdict.h"
#include "text/numbers.h"

#define AS_MUCH 1.0      /* percent: less than this of a step is not called a difference */
#define LONGEST_NAME 60  /* columns of a name in a sentence */
#define SLOW_RANK 1.05   /* times the median rank */
#define UNEVEN 1.2       /* times the mean of the ranks */
#define LEAST_OF_ONE 0.3 /* of a difference: a rank that has so much more than the others is named */
#define LEAST_PART 0.005 /* of a difference: smaller parts are not said */

static rs_table *rows_of(const rs_result *result, const char *name)
{
    rs_table *t = rs_result_table(result, name);
    return t && rs_table_n_rows(t) ? t : NULL;
}

/* A cell; 0 where it is unknown. */
static double amount(const rs_table *t, size_t row, const char *column)
{
    double value = rs_face_number(t, row, column);
    return isnan(value) ? 0 : value;
}

static double total(const rs_table *t, const char *column)
{
    double sum = 0;
    for (size_t i = 0; i < rs_table_n_rows(t); i++) sum += amount(t, i, column);
    return sum;
}

/* The row whose value is farthest from 0. */
static size_t greatest(const rs_table *t, const char *column)
{
    size_t best = 0;
    for (size_t i = 1; i < rs_table_n_rows(t); i++)
        if (fabs(amount(t, i, column)) > fabs(amount(t, best, column))) best = i;
    return best;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static long long rank_of(const rs_table *t, size_t row)
{
    return (long long)rs_face_int(t, row, "rank", -1);
}

/* How many different ranks the rows are of: rows of a rank follow each other. */
static size_t count_ranks(const rs_table *t)
{
    size_t n = 0;
    for (size_t i = 0; i < rs_table_n_rows(t); i++) n += i == 0 || rank_of(t, i) != rank_of(t, i - 1);
    return n;
}

#define TIME(us) rs_face_human_us((us), (char[32]){0})
#define PERCENT(value) RS_FIXED((value), 1)

/* ---- one job ---------------------------------------------------------------------------------------------- */

/* How many gaps the stream of a row has, in the rows [first, end) of its rank. */
static double gaps_of(const rs_table *t, size_t first, size_t end, size_t row)
{
    double sum = 0;
    for (size_t i = first; i < end; i++)
        if (rs_face_int(t, i, "stream", -1) == rs_face_int(t, row, "stream", -1) &&
            rs_face_int(t, i, "device", -1) == rs_face_int(t, row, "device", -1))
            sum += amount(t, i, "count");
    return sum;
}

/* Of each rank the stream with the most gaps counts, which is its busiest: others are idle as nothing is for them. */
void rs_headline_idle(const rs_result *result, rs_text *out)
{
    static const struct {
        const char *kind, *words;
    } kinds[] = {
        {"host_wait", "waiting for the host to launch"},
        {"kernel_wait", "between neighbours that were queued already"},
        {"other", "waiting for other work, of another stream or rank, although the next was queued"}};
    enum { N_KINDS = sizeof kinds / sizeof *kinds };
    const rs_table *t = rows_of(result, "idle");
    double sums[N_KINDS] = {0}, all = 0;
    size_t n = t ? rs_table_n_rows(t) : 0, ranks = 0, most = 0;
    for (size_t first = 0, end; first < n; first = end) {
        size_t busiest = first;
        for (end = first; end < n && rank_of(t, end) == rank_of(t, first); end++) {
        }
        for (size_t i = first; i < end; i++)
            if (gaps_of(t, first, end, i) > gaps_of(t, first, end, busiest)) busiest = i;
        ranks++;
        for (size_t i = first; i < end; i++)
            for (size_t k = 0; k < N_KINDS; k++)
                if (rs_face_int(t, i, "stream", -1) == rs_face_int(t, busiest, "stream", -1) &&
                    rs_face_int(t, i, "device", -1) == rs_face_int(t, busiest, "device", -1) &&
                    strcmp(rs_face_string(t, i, "idle_category"), kinds[k].kind) == 0)
                    sums[k] += amount(t, i, "idle_us");
    }
    for (size_t k = 0; k < N_KINDS; k++) {
        all += sums[k];
        if (sums[k] > sums[most]) most = k;
    }
    if (all > 0)
        rs_text_printf(out, "The busiest stream of %s is idle for %s between its work%s, %s %% of it %s.",
                       ranks == 1 ? "the rank" : "each rank", TIME(all),
                       ranks == 1 ? "" : " in sum over ranks", PERCENT(percent(sums[most], all)),
                       kinds[most].words);
    else if (n)
        rs_text_put(out, "The busiest streams are never idle between their work: no problem found.");
}

void rs_headline_breakdown(const rs_result *result, rs_text *out)
{
    static const struct {
        const char *column, *words;
    } rest[] = {{"exposed_comm_us", "communication that nothing hides"},
                {"exposed_copy_us", "copies that nothing hides"},
                {"idle_us", "nothing"}};
    const rs_table *t = rows_of(result, "breakdown");
    double span = t ? total(t, "span_us") : 0, low = INFINITY, high = 0;
    size_t most = 0;
    if (!(span > 0)) return;
    for (size_t i = 0; i < rs_table_n_rows(t); i++) {
        low = fmin(low, amount(t, i, "compute_pct"));
        high = fmax(high, amount(t, i, "compute_pct"));
    }
    for (size_t k = 1; k < sizeof rest / sizeof *rest; k++)
        if (total(t, rest[k].column) > total(t, rest[most].column)) most = k;
    rs_text_printf(out, "GPUs compute for %s %% of the time", PERCENT(percent(total(t, "compute_us"), span)));
    if (rs_table_n_rows(t) > 1) rs_text_printf(out, " (%s to %s %% by rank)", PERCENT(low), PERCENT(high));
    if (total(t, rest[most].column) > 0)
        rs_text_printf(out, "; most of the rest is %s, %s %%", rest[most].words,
                       PERCENT(percent(total(t, rest[most].column), span)));
    rs_text_put(out, ".");
}

void rs_headline_overlap(const rs_result *result, rs_text *out)
{
    const rs_table *t = rows_of(result, "overlap");
    if (!t) return;
    double all = total(t, "comm_us");
    size_t most = greatest(t, "exposed_us");
    if (!(all > 0)) {
        rs_text_put(out, "There is no communication.");
        return;
    }
    rs_text_printf(
        out, "Computation hides %s %% of the communication; %s of %s are exposed, on rank %lld most: %s.",
        PERCENT(percent(total(t, "overlapped_us"), all)), TIME(total(t, "exposed_us")), TIME(all),
        rank_of(t, most), TIME(amount(t, most, "exposed_us")));
}

void rs_headline_queue(const rs_result *result, rs_text *out)
{
    const rs_table *t = rows_of(result, "queue"), *blocked = rows_of(result, "blocked");
    size_t worst = SIZE_MAX, n = t ? rs_table_n_rows(t) : 0;
    /* of each rank the stream that most is launched on */
    for (size_t i = 0, main; i < n;) {
        for (main = i; i < n && rank_of(t, i) == rank_of(t, main); i++)
            if (amount(t, i, "launched") > amount(t, main, "launched")) main = i;
        if (worst == SIZE_MAX || amount(t, main, "empty_pct") > amount(t, worst, "empty_pct")) worst = main;
    }
    if (worst == SIZE_MAX) return;
    double empty = amount(t, worst, "empty_pct");
    rs_text_printf(
        out,
        "%s: of the ranks' busiest streams, stream %lld of rank %lld is without waiting work longest, %s %% of the time.",
        empty >= 50   ? "The host does not keep ahead of the GPU everywhere"
        : empty >= 10 ? "The host keeps ahead of the GPU, not always"
                      : "The host keeps ahead of the GPU",
        (long long)rs_face_int(t, worst, "stream", -1), rank_of(t, worst), PERCENT(empty));
    if (!blocked) return;
    size_t full = greatest(blocked, "blocked_us");
    if (amount(blocked, full, "blocked_us") > 0)
        rs_text_printf(out, " The queue of stream %lld of rank %lld is full for %s (%s %%).",
                       (long long)rs_face_int(blocked, full, "stream", -1), rank_of(blocked, full),
                       TIME(amount(blocked, full, "blocked_us")),
                       PERCENT(amount(blocked, full, "blocked_pct")));
}

void rs_headline_launches(const rs_result *result, rs_text *out)
{
    const rs_table *t = rows_of(result, "launches");
    if (!t) return;
    double work = total(t, "gpu_events"), calls = total(t, "launches"),
           brief = percent(total(t, "short"), work);
    if (!(work > 0 && calls > 0)) return;
    rs_text_printf(
        out,
        "%s: %s %% of %lld pieces of work are shorter than the call that launches them (%s a call on "
        "average), and work starts %s after its call on average.",
        brief >= 50   ? "Launching takes longer than most of the work"
        : brief >= 10 ? "Launching takes longer than some of the work"
                      : "Most work outlasts the call that launches it",
        PERCENT(brief), (long long)work, TIME(total(t, "call_us") / calls),
        TIME(total(t, "delay_us") / work));
}

/* The first rank's tokens in decode, else its first tokens, else its steps: the median, and the tail with its largest part. */
void rs_headline_serving(const rs_result *result, rs_text *out)
{
    static const char *const metrics[][2] = {{"between_tokens", "Between two tokens of a request"},
                                             {"time_to_first_token", "To a first token"},
                                             {"first_token_step", "A step that gives first tokens"},
                                             {"step", "A step"}};
    static const char *const parts[][2] = {{"queue_us", "the queue"},
                                           {"host_us", "the host"},
                                           {"launch_us", "launches"},
                                           {"compute_us", "computation"},
                                           {"exposed_comm_us", "exposed communication"},
                                           {"exposed_copy_us", "exposed copies"},
                                           {"other_us", "other work"},
                                           {"delivery_us", "delivery"}};
    const rs_table *t = rows_of(result, "latency");
    const size_t n = t ? rs_table_n_rows(t) : 0;
    size_t first = n, last = n, most = 0;
    for (size_t k = 0; first == n && k < sizeof metrics / sizeof *metrics; k++)
        for (size_t i = 0; i < n && rank_of(t, i) == rank_of(t, 0); i++) {
            const int64_t p = rs_face_int(t, i, "percentile", 100);
            if (strcmp(rs_face_string(t, i, "metric"), metrics[k][0]) != 0) continue;
            if (first == n) rs_text_printf(out, "%s: ", metrics[k][1]);
            if (first == n) first = i;
            if (last == n || (p < 100 && p > rs_face_int(t, last, "percentile", 0))) last = i;
            if (p == 100) break; /* of the first phase */
        }
    if (first == n) return;
    for (size_t k = 1; k < sizeof parts / sizeof *parts; k++)
        if (amount(t, last, parts[k][0]) > amount(t, last, parts[most][0])) most = k;
    if (first == last && rs_face_int(t, first, "samples", 0) == 1)
        rs_text_printf(out, "%s (one such step)", TIME(amount(t, first, "time_us")));
    else if (first == last && rs_face_int(t, first, "percentile", 0) == 100)
        rs_text_printf(out, "%s at most", TIME(amount(t, first, "time_us")));
    else
        rs_text_printf(out, "%s at the median (95 %% interval %s to %s)", TIME(amount(t, first, "time_us")),
                       TIME(amount(t, first, "low_us")), TIME(amount(t, first, "high_us")));
    if (first != last)
        rs_text_printf(out, ", %s at the %lldth percentile", TIME(amount(t, last, "time_us")),
                       (long long)rs_face_int(t, last, "percentile", 0));
    rs_text_printf(out, ", of which %s is %s.", TIME(amount(t, last, parts[most][0])), parts[most][1]);
}

void rs_headline_clocks(const rs_result *result, rs_text *out)
{
    const rs_table *t = rows_of(result, "clocks"), *wrong = rows_of(result, "contradictions");
    if (!t) return;
    size_t n = rs_table_n_rows(t), known = 0, ahead = greatest(t, "offset_us"), unsure = 0;
    double widest = -1;
    for (size_t i = 0; i < n; i++) {
        double width = rs_face_number(t, i, "high_us") - rs_face_number(t, i, "low_us");
        known += !isnan(width);
        if (!(width > widest)) continue;
        widest = width;
        unsure = i;
    }
    if (n == 1) {
        rs_text_put(out, "There is one rank: nothing to compare its clock with.");
    } else if (known < 2) {
        rs_text_printf(
            out, "How the clocks of these %zu ranks differ is not known: no collectives bound them.", n);
    } else {
        double low = rs_face_number(t, ahead, "low_us"), high = rs_face_number(t, ahead, "high_us");
        double offset = amount(t, ahead, "offset_us");
        if (low > 0 || high < 0)
            rs_text_printf(
                out,
                "Rank %lld's clock shows %s %s than the lowest rank's (between %s and %s), the most of %zu ranks.",
                rank_of(t, ahead), TIME(fabs(offset)), offset > 0 ? "more" : "less", TIME(low), TIME(high),
                n);
        else
            rs_text_printf(
                out,
                "The clocks of these %zu ranks agree as far as can be seen: no offset is sure to differ from 0.",
                n);
        rs_text_printf(out, " The least sure is rank %lld's, known within an interval of %s.",
                       rank_of(t, unsure), TIME(widest));
        if (known < n)
            rs_text_printf(out, " %zu of them %s not known.", n - known, n - known == 1 ? "is" : "are");
    }
    if (wrong)
        rs_text_printf(out, " %zu collective%s contradict%s every clock.", rs_table_n_rows(wrong),
                       plural(rs_table_n_rows(wrong)), rs_table_n_rows(wrong) == 1 ? "s" : "");
}

void rs_headline_path(const rs_result *result, rs_text *out)
{
    static const struct {
        const char *column, *words;
    } parts[] = {{"gpu_compute_us", "computation"},
                 {"gpu_communication_us", "communication with its wait for other ranks"},
                 {"gpu_copy_us", "copies"},
                 {"cpu_us", "the host"},
                 {"data_loading_us", "the data loader"},
                 {"host_communication_us", "communication on the host"},
                 {"launch_us", "launches"},
                 {"gap_us", "gaps between GPU work"}};
    const rs_table *t = rows_of(result, "critical_path");
    if (!t) return;
    size_t row = greatest(t, "path_weight"), first = 0, second = 0;
    double whole = amount(t, row, "path_weight");
    for (size_t i = 1; i < sizeof parts / sizeof *parts; i++)
        if (amount(t, row, parts[i].column) > amount(t, row, parts[first].column)) first = i;
    second = first == 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (i != first && amount(t, row, parts[i].column) > amount(t, row, parts[second].column)) second = i;
    if (!(whole > 0)) return;
    rs_text_printf(out, "The %spath is %s long (rank %lld) and spent on %s for %s %%",
                   rs_table_n_rows(t) > 1 ? "longest critical " : "critical ", TIME(whole), rank_of(t, row),
                   parts[first].words, PERCENT(percent(amount(t, row, parts[first].column), whole)));
    double less = amount(t, row, parts[second].column);
    if (less > 0)
        rs_text_printf(out, ", then %s for %s %%", parts[second].words, PERCENT(percent(less, whole)));
    rs_text_put(out, ".");
}

void rs_headline_mfu(const rs_result *result, rs_text *out)
{
    const rs_table *t = rows_of(result, "mfu");
    const char *column = "period_mfu_pct", *of = "period_us";
    double sum = 0, length = 0, modelled = 100, low = INFINITY, high = 0;
    size_t n = t ? rs_table_n_rows(t) : 0;
    for (int again = 0; again < 2 && !(length > 0); again++) {
        if (again) column = "mfu_pct", of = "length_us";
        for (size_t i = 0; i < n; i++) {
            double part = rs_face_number(t, i, column), time = rs_face_number(t, i, of);
            if (isnan(part) || !(time > 0)) continue;
            sum += part * time;
            length += time;
            low = fmin(low, part);
            high = fmax(high, part);
            modelled = fmin(modelled, amount(t, i, "modelled_pct"));
        }
    }
    if (length > 0)
        rs_text_printf(
            out,
            "The model uses %s %% of the device's FLOPs (MFU; %s to %s %% by row); of the GPU time at least "
            "%s %% is of work whose FLOPs are known.",
            PERCENT(sum / length), PERCENT(low), PERCENT(high), PERCENT(modelled));
    else if (n)
        rs_text_put(
            out,
            "The utilisation is not known: the rate of the device, the length of the steps or their arithmetic is not.");
}

/* The main table of roofline is one of several, which name their rows differently. */
void rs_headline_roofline(const rs_result *result, rs_text *out)
{
    const rs_table *t = result->tables[result->main_table];
    static const char *const names[] = {"name", "model", "part"};
    if (!rs_table_n_rows(t) || !rs_face_has(t, "efficiency_pct")) return;
    const char *time = rs_face_has(t, "bounded_us") ? "bounded_us" : "kernel_us", *name = "name";
    for (size_t i = 0; i < 3; i++)
        if (rs_face_has(t, names[i])) name = names[i];
    if (rs_face_has(t, "name")) name = "name";
    double bound = 0, taken = 0, most = 0;
    size_t worst = 0;
    for (size_t i = 0; i < rs_table_n_rows(t); i++) {
        double us = rs_face_number(t, i, time), part = rs_face_number(t, i, "efficiency_pct") / 100;
        if (isnan(us) || isnan(part)) continue;
        taken += us;
        bound += us * part;
        if (!(us * (1 - part) > most)) continue;
        most = us * (1 - part);
        worst = i;
    }
    if (!(taken > 0)) {
        rs_text_put(out, "How near the work is to what the device can do is not known: no row has a bound.");
        return;
    }
    rs_text_printf(out, "Work with a bound runs at %s %% of what the device can do",
                   PERCENT(percent(bound, taken)));
    if (most > 0)
        rs_text_printf(out, "; the most time beyond its bound, %s of %s, is in %s on rank %lld", TIME(most),
                       TIME(amount(t, worst, time)), rs_face_string(t, worst, name), rank_of(t, worst));
    rs_text_printf(out, "%s.", most > 0 ? "" : ": no problem found");
}

void rs_headline_steps(const rs_result *result, rs_text *out)
{
    if (result->main_table != 0 && result->main_table != 3) return;
    const rs_table *t = result->tables[result->main_table];
    size_t n = rs_table_n_rows(t), outside = 0;
    for (size_t i = 0; i < n; i++) outside += *rs_face_string(t, i, "outlier") != '\0';
    if (!n) return;
    if (outside)
        rs_text_printf(out, "%zu of %zu steps %s by length.", outside, n,
                       outside == 1 ? "is an outlier" : "are outliers");
    else
        rs_text_printf(out, "None of %zu step%s is an outlier by length.", n, plural(n));
}

/* ---- where the time goes ----------------------------------------------------------------------------------- */

/* What a name has in all rows of a table that call it so. */
static double total_of(const rs_table *t, const char *names, const char *name, const char *column)
{
    double sum = 0;
    for (size_t i = 0; i < rs_table_n_rows(t); i++)
        if (strcmp(rs_face_string(t, i, names), name) == 0) sum += amount(t, i, column);
    return sum;
}

/* A row of the name that has most of a column over all ranks; what is called "others" or begins with '(' is no name.
 * SIZE_MAX: there is none. */
static size_t most_of(const rs_table *t, const char *names, const char *column, rs_text *out)
{
    size_t n = t ? rs_table_n_rows(t) : 0, best = SIZE_MAX;
    RS_SCOPED(rs_strings_clear) rs_strings ids;
    RS_LOCAL double *sums = rs_calloc(n + 1, sizeof *sums);
    bool ok = rs_strings_init(&ids) && sums;
    double most = 0;
    for (size_t i = 0; ok && i < n; i++) {
        const char *name = rs_face_string(t, i, names);
        if (*name == '(' || strcmp(name, "others") == 0) continue;
        uint32_t id = rs_strings_add(&ids, name, strlen(name));
        ok = id != RS_NO_STRING;
        if (!ok || id == 0) continue; /* unknown */
        sums[id - 1] += amount(t, i, column);
        if (!(sums[id - 1] > most)) continue;
        most = sums[id - 1];
        best = i;
    }
    out->failed |= !ok;
    return best;
}

/* "NAME takes the most GPU time: 12.3 ms of 45.6 ms (27.0 %)": what has most of a column of times, in us or with `scale` of them. */
static bool put_most(const rs_table *t, const char *names, const char *column, double scale,
                     const char *words, rs_text *out)
{
    char name[4 * LONGEST_NAME + 8];
    size_t most = most_of(t, names, column, out);
    double all = t ? total(t, column) : 0;
    if (most == SIZE_MAX || !(all > 0)) return false;
    const char *whole = rs_face_string(t, most, names);
    double sum = total_of(t, names, whole, column);
    rs_text_printf(out, "%s %s: %s of %s (%s %%)",
                   rs_shorten_middle(whole, strlen(whole), LONGEST_NAME, name, sizeof name), words,
                   TIME(sum * scale), TIME(all * scale), PERCENT(percent(sum, all)));
    return true;
}

/* The columns by which the tables of a command say what takes the time, in order; the first that the main table has. */
typedef struct time_of {
    const char *names, *column, *words;
    double scale; /* to microseconds */
} time_of;

static bool put_first(const rs_result *result, const time_of *choices, size_t n, rs_text *out)
{
    const rs_table *t = result->tables[result->main_table];
    for (size_t i = 0; i < n; i++)
        if (rs_face_has(t, choices[i].names) && rs_face_has(t, choices[i].column))
            return put_most(t, choices[i].names, choices[i].column, choices[i].scale, choices[i].words, out);
    return false;
}

void rs_headline_kernels(const rs_result *result, rs_text *out)
{
    static const time_of choices[] = {{"name", "sum_us", "takes the most GPU time", 1},
                                      {"kernel_type", "time_us", "is what runs longest", 1},
                                      {"kind", "sum_us", "takes the most GPU time", 1}};
    if (put_first(result, choices, sizeof choices / sizeof *choices, out)) rs_text_put(out, ".");
}

void rs_headline_ops(const rs_result *result, rs_text *out)
{
    static const time_of choices[] = {
        {"name", "total_direct_kernel_time_us", "launches the most GPU time", 1},
        {"op_category", "total_direct_kernel_time_ms", "launches the most GPU time", 1e3},
        {"name", "self_us", "takes the most host time of its own", 1},
        {"name", "kernel_us", "owns the most GPU time", 1}};
    if (put_first(result, choices, sizeof choices / sizeof *choices, out)) rs_text_put(out, ".");
}

void rs_headline_annotations(const rs_result *result, rs_text *out)
{
    static const time_of choices[] = {{"annotation", "sum_us", "holds the most GPU time", 1},
                                      {"name", "own_us", "holds the most GPU time", 1}};
    const rs_table *t = rows_of(result, "annotations");
    if (!put_first(result, choices, sizeof choices / sizeof *choices, out)) {
        if (t && total(t, "own_us") > 0) rs_text_put(out, "No GPU time is under an annotation.");
        return;
    }
    double none = t ? total_of(t, "name", "", "own_us") : 0;
    if (none > 0)
        rs_text_printf(out, ", nested ones left out; %s %% is under none",
                       PERCENT(percent(none, total(t, "own_us"))));
    rs_text_put(out, ".");
}

void rs_headline_modules(const rs_result *result, rs_text *out)
{
    const rs_table *t = rows_of(result, "modules"), *phases = rows_of(result, "phases");
    if (!t) return;
    if (!put_most(t, "module", "own_us", 1, "has the most GPU time of its own", out))
        rs_text_put(out, "No GPU time is below a module: record with_modules=True");
    double all = phases ? total(phases, "gpu_us") : 0, again = 0;
    for (size_t i = 0; i < (phases ? rs_table_n_rows(phases) : 0); i++)
        if (strcmp(rs_face_string(phases, i, "phase"), "recompute") == 0)
            again += amount(phases, i, "gpu_us");
    if (again > 0) rs_text_printf(out, "; %s %% is computed again", PERCENT(percent(again, all)));
    rs_text_put(out, ".");
}

void rs_headline_sequences(const rs_result *result, rs_text *out)
{
    const rs_table *t = rows_of(result, "sequences");
    if (!t) return;
    size_t most = greatest(t, "gpu_us");
    rs_text_printf(
        out,
        "%zu pattern%s of GPU work; the one with the most GPU time, %s on rank %lld, is launched %lld "
        "time%s, %lld piece%s in all.",
        rs_table_n_rows(t), plural(rs_table_n_rows(t)), TIME(amount(t, most, "gpu_us")), rank_of(t, most),
        (long long)rs_int_of(amount(t, most, "count")), plural((size_t)amount(t, most, "count")),
        (long long)rs_int_of(amount(t, most, "kernels")), plural((size_t)amount(t, most, "kernels")));
}

void rs_headline_timeline(const rs_result *result, rs_text *out)
{
    const rs_table *t = rows_of(result, "timeline");
    double all = t ? total_of(t, "type", "total_time", "time_ms") : 0;
    if (!(all > 0)) return;
    rs_text_printf(
        out,
        "GPUs compute for %s %% of the time; exposed communication takes %s %%, exposed copies %s %%, and "
        "%s %% is idle.",
        PERCENT(percent(total_of(t, "type", "computation_time", "time_ms"), all)),
        PERCENT(percent(total_of(t, "type", "exposed_comm_time", "time_ms"), all)),
        PERCENT(percent(total_of(t, "type", "exposed_memcpy_time", "time_ms"), all)),
        PERCENT(percent(total_of(t, "type", "idle_time", "time_ms"), all)));
}

/* A mean over rows of which each counts as often as `weight` says. */
static double mean_of(const rs_table *t, const char *column, const char *weight)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < rs_table_n_rows(t); i++) {
        double value = rs_face_number(t, i, column);
        if (isnan(value)) continue;
        sum += value * amount(t, i, weight);
        n += amount(t, i, weight);
    }
    return n > 0 ? sum / n : NAN;
}

void rs_headline_delays(const rs_result *result, rs_text *out)
{
    const rs_table *t = result->tables[result->main_table];
    const char *launches = rs_face_has(t, "launches") ? "launches" : "occurrence_count",
               *runs = rs_face_has(t, "operators") ? "operators" : launches;
    double op = mean_of(t, "mean_op_delay_us", runs), start = mean_of(t, "mean_launch_delay_us", launches),
           queued = mean_of(t, "mean_queued_us", launches);
    if (isnan(start)) return;
    rs_text_printf(out, "Work starts %s after its launch on average", TIME(start));
    if (!isnan(queued))
        rs_text_printf(out, ", %s of it waiting in its stream: %s", TIME(queued),
                       queued >= start / 2 ? "the host is ahead of the GPU" : "the GPU waits for launches");
    if (!isnan(op)) rs_text_printf(out, ". Operators launch %s after their start on average", TIME(op));
    rs_text_put(out, ".");
}

void rs_headline_variance(const rs_result *result, rs_text *out)
{
    const rs_table *t = rows_of(result, "variance"), *ranks = rows_of(result, "ranks");
    char name[4 * LONGEST_NAME + 8];
    if (!t) return;
    double above = total(t, "above_median_us"), all = total(t, "sum_us");
    size_t most = most_of(t, "name", "above_median_us", out);
    rs_text_printf(out,
                   "Runs that take longer than the median of their kind do so by %s, %s %% of the GPU time",
                   TIME(above), PERCENT(percent(above, all)));
    if (most != SIZE_MAX) {
        const char *whole = rs_face_string(t, most, "name");
        rs_text_printf(out, ", most of it in %s",
                       rs_shorten_middle(whole, strlen(whole), LONGEST_NAME, name, sizeof name));
    }
    rs_text_put(out, ".");
    if (!ranks || rs_table_n_rows(ranks) < 2) return;
    size_t slow = 0;
    for (size_t i = 1; i < rs_table_n_rows(ranks); i++)
        if (amount(ranks, i, "ratio") > amount(ranks, slow, "ratio")) slow = i;
    double ratio = amount(ranks, slow, "ratio");
    if (ratio >= SLOW_RANK && rs_result_verdict(result, 0)) return; /* who is slow is the judge's to say */
    if (ratio >= SLOW_RANK)
        rs_text_printf(out, " Rank %lld takes %s times as long as the median rank for the same work.",
                       rank_of(ranks, slow), RS_FIXED(ratio, 2));
    else
        rs_text_printf(out, " No rank is %s %% slower than the median one at the same work.",
                       RS_FIXED(100 * (SLOW_RANK - 1), 0));
}

/* Dispatch and combine of libraries without metadata. */
static void experts_headline(const rs_result *result, rs_text *out)
{
    const rs_table *t = rows_of(result, "experts"), *balance = rows_of(result, "balance");
    if (!t) return;
    rs_text_printf(out, "Dispatch and combine of experts take %s on all ranks; %s are exposed",
                   TIME(total(t, "time_us")), TIME(total(t, "exposed_us")));
    double wait = 0;
    for (size_t i = 0; i < rs_table_n_rows(t); i++)
        if (amount(t, i, "wait_us") > 0) wait += amount(t, i, "wait_us");
    if (wait > 0) rs_text_printf(out, "; in %s ranks wait for each other", TIME(wait));
    if (balance)
        rs_text_printf(out, ". Equal loads would save %s to %s in these traces",
                       TIME(total(balance, "gain_low_us")), TIME(total(balance, "gain_high_us")));
    rs_text_put(out, ".");
}

void rs_headline_exchange(const rs_result *result, rs_text *out)
{
    const rs_table *t = rows_of(result, "ranks");
    if (!t) {
        experts_headline(result, out);
        return;
    }
    size_t most = 0;
    double sent = total(t, "sent_bytes"), unknown = total(t, "unknown");
    for (size_t i = 1; i < rs_table_n_rows(t); i++)
        if (amount(t, i, "vs_mean") > amount(t, most, "vs_mean")) most = i;
    if (!(sent > 0)) {
        rs_text_printf(out, "The sizes of %s all-to-alls are not known: the traces do not hold them.",
                       RS_FIXED(unknown, 0));
        return;
    }
    rs_text_printf(out, "All-to-alls send %s in all", rs_human_bytes(rs_int_of(sent), (char[32]){0}));
    double load = amount(t, most, "vs_mean");
    if (load >= UNEVEN)
        rs_text_printf(out, "; rank %lld receives the most, %s times the mean of the ranks", rank_of(t, most),
                       RS_FIXED(load, 2));
    else if (load > 0)
        rs_text_printf(out, "; no rank receives %s times the mean of the ranks: no problem found",
                       RS_FIXED(UNEVEN, 1));
    rs_text_put(out, ".");
    if (unknown > 0) rs_text_printf(out, " The sizes of %s more are not known.", RS_FIXED(unknown, 0));
}

/* A schedule that differs hangs the job, so it is said before what only costs time. */
void rs_headline_compile(const rs_result *result, rs_text *out)
{
    const rs_table *t = rows_of(result, "compile"), *findings = rows_of(result, "findings");
    size_t n = t ? rs_table_n_rows(t) : 0, again = SIZE_MAX, worst = 0;
    if (!n) return;
    double recompiles = total(t, "recompiles"), breaks = total(t, "breaks");
    for (size_t i = n; i-- > 0;)
        if (amount(t, i, "recompiles") > 0 && *rs_face_string(t, i, "reason")) again = i;
    for (size_t i = findings ? rs_table_n_rows(findings) : 0; i-- > 0;)
        if (strcmp(rs_face_string(findings, i, "kind"), "schedule") == 0) worst = i;
    if (findings) rs_text_printf(out, "Found: %s. ", rs_face_string(findings, worst, "finding"));
    rs_text_printf(out, "%zu compilation%s on %zu rank%s take %s in all", n, plural(n), count_ranks(t),
                   plural(count_ranks(t)), TIME(total(t, "compile_us")));
    if (recompiles > 0)
        rs_text_printf(out, "; %s of them again, which rank %lld did with %s as %s", RS_FIXED(recompiles, 0),
                       rank_of(t, again == SIZE_MAX ? 0 : again),
                       again == SIZE_MAX ? "a function" : rs_face_string(t, again, "name"),
                       again == SIZE_MAX ? "the log does not say" : rs_face_string(t, again, "reason"));
    if (breaks > 0) rs_text_printf(out, "; %s graph break%s", RS_FIXED(breaks, 0), plural((size_t)breaks));
    rs_text_put(out, findings || recompiles > 0 || breaks > 0 ? "." : ": no problem found.");
}

/* ---- between ranks ---------------------------------------------------------------------------------------- */

/* What is waited in a kind of wait, and whose part of it is the largest. */
static bool put_wait(const rs_table *t, const rs_table *totals, const char *wait, const char *words,
                     rs_text *out)
{
    double all = 0, most = 0, sum = 0;
    size_t best = 0;
    for (size_t i = 0; i < rs_table_n_rows(totals); i++)
        if (strcmp(rs_face_string(totals, i, "wait"), wait) == 0) all += amount(totals, i, "waiting_us");
    if (!(all > 0)) return false;
    for (size_t i = 0; t && i < rs_table_n_rows(t); i++)
        if (strcmp(rs_face_string(t, i, "wait"), wait) == 0 && amount(t, i, "blame_us") > most) {
            most = amount(t, i, "blame_us");
            best = i;
        }
    for (size_t i = 0; most > 0 && i < rs_table_n_rows(t); i++)
        if (strcmp(rs_face_string(t, i, "wait"), wait) == 0 && rank_of(t, i) == rank_of(t, best) &&
            strcmp(rs_face_string(t, i, "part"), rs_face_string(t, best, "part")) == 0)
            sum += amount(t, i, "blame_us");
    rs_text_printf(out, "%s%s for %s in sum over ranks", out->n ? " " : "", words, TIME(all));
    if (sum > 0)
        rs_text_printf(out, ", the largest part of it (%s %%) on rank %lld's %s", PERCENT(percent(sum, all)),
                       rank_of(t, best), rs_face_string(t, best, "part"));
    rs_text_put(out, ".");
    return true;
}

/* That hosts wait for their GPUs is reported last: it is what a host ahead of its GPU does. */
void rs_headline_blame(const rs_result *result, rs_text *out)
{
    const rs_table *t = rows_of(result, "blame"), *totals = rows_of(result, "totals");
    if (!totals) return;
    bool said = put_wait(t, totals, "communication", "Ranks wait in communication", out);
    said |= put_wait(t, totals, "idle", "GPUs are idle", out);
    if (!said && !put_wait(t, totals, "host", "Hosts wait for their GPUs", out))
        rs_text_put(out, "There is no waiting: no problem found.");
}

/* Who is last need not be at fault: what the judge knows of that, else that it is not known. */
static void put_cause(const rs_result *result, long long rank, rs_text *out)
{
    const rs_lateness *l;
    for (size_t i = 0; (l = rs_result_lateness(result, i)); i++) {
        if (l->rank != rank) continue;
        if (l->cause != rank) rs_text_printf(out, ", as it waited for rank %lld", (long long)l->cause);
        return;
    }
    rs_text_put(out, ", which may itself have waited");
}

void rs_headline_collectives(const rs_result *result, rs_text *out)
{
    const rs_table *all = rows_of(result, "collectives"), *t = rows_of(result, "lateness");
    if (!all) return;
    double waits = total(all, "sum_wait_us"), transfers = total(all, "transfer_us");
    size_t n = rs_table_n_rows(all);
    rs_text_printf(out, "%zu collective%s take %s for transfers", n, plural(n), TIME(transfers));
    if (!t || !(waits > 0)) {
        rs_text_put(out, "; ranks do not wait for each other in them.");
        return;
    }
    size_t last = greatest(t, "others_waited_us");
    rs_text_printf(out, ", and ranks wait %s for each other in them", TIME(waits));
    if (amount(t, last, "others_waited_us") > 0) {
        rs_text_printf(out, ", %s of it while rank %lld is the last to come (%lld of %lld)",
                       TIME(amount(t, last, "others_waited_us")), rank_of(t, last),
                       (long long)rs_face_int(t, last, "times_last", 0),
                       (long long)rs_face_int(t, last, "collectives", 0));
        put_cause(result, rank_of(t, last), out);
    }
    rs_text_put(out, ".");
}

void rs_headline_replay(const rs_result *result, rs_text *out)
{
    const rs_table *t = rows_of(result, "replay");
    if (!t) return;
    size_t ranks = count_ranks(t), wholes = 0, trusted = 0, why = SIZE_MAX,
           worst = greatest(t, "model_error_pct");
    for (size_t i = 0; i < rs_table_n_rows(t); i++) {
        if (rs_face_int(t, i, "step", -1) >= 0) continue;
        wholes++;
        bool is = rs_face_int(t, i, "trusted", 0) == 1;
        trusted += is;
        if (!is && why == SIZE_MAX && *rs_face_string(t, i, "reason")) why = i;
    }
    rs_text_printf(out, "The replay can be relied on for %zu of %zu rank%s", trusted, wholes ? wholes : ranks,
                   plural(wholes ? wholes : ranks));
    if (!isnan(rs_face_number(t, worst, "model_error_pct")))
        rs_text_printf(out, "; its greatest error is %s %%, on rank %lld",
                       RS_FIXED(fabs(amount(t, worst, "model_error_pct")), 2), rank_of(t, worst));
    if (why != SIZE_MAX)
        rs_text_printf(out, "; rank %lld: %s", rank_of(t, why), rs_face_string(t, why, "reason"));
    rs_text_put(out, ".");
}

/* ---- between runs ----------------------------------------------------------------------------------------- */

/* The row of a metric; SIZE_MAX where there is none. */
static size_t find_metric(const rs_table *t, const char *metric)
{
    for (size_t i = 0; i < rs_table_n_rows(t); i++)
        if (strcmp(rs_face_string(t, i, "metric"), metric) == 0) return i;
    return SIZE_MAX;
}

/* A difference in the unit that suits the whole: parts of it are to add up. */
static void put_more(rs_text *out, double us, double whole)
{
    double scale = fabs(whole) >= 1e6 ? 1e6 : fabs(whole) >= 1e3 ? 1e3 : 1;
    unsigned decimals = fabs(whole) / scale >= 100 ? 1 : 2;
    rs_text_printf(out, "%s%s %s", us < 0 ? "-" : "+", RS_FIXED(fabs(us) / scale, decimals),
                   scale == 1     ? "us"
                   : scale == 1e3 ? "ms"
                                  : "s");
}

/* What a step takes more in B; its parts, whose differences add up to that of the GPU's span. */
static void put_parts(const rs_table *t, double steps_a, double steps_b, double whole, rs_text *out)
{
    static const struct {
        const char *metric, *words;
    } parts[] = {{"compute_us", "computation"},
                 {"exposed_comm_us", "exposed communication"},
                 {"exposed_copy_us", "exposed copies"},
                 {"idle_us", "idle GPU"}};
    enum { N_PARTS = sizeof parts / sizeof *parts };
    const char *lead = ": ";
    double more[N_PARTS] = {0}, largest = fabs(whole);
    for (size_t i = 0; i < N_PARTS; i++) {
        size_t at = find_metric(t, parts[i].metric);
        if (at == SIZE_MAX) continue;
        more[i] = amount(t, at, "b") / steps_b - amount(t, at, "a") / steps_a;
        largest = fmax(largest, fabs(more[i]));
    }
    for (size_t i = 0; i < N_PARTS; i++) {
        if (!(fabs(more[i]) > LEAST_PART * fabs(whole))) continue;
        rs_text_printf(out, "%s%s ", lead, parts[i].words);
        put_more(out, more[i], largest);
        lead = ", ";
    }
}

/* The middle one of a column; the smaller of two. */
static double median_of(const rs_table *t, const char *column, rs_text *out)
{
    size_t n = rs_table_n_rows(t);
    static const rs_order up[] = {RS_RISING_VALUE(double)};
    RS_LOCAL double *values = rs_malloc(n * sizeof *values);
    if (!values) {
        out->failed = true;
        return 0;
    }
    for (size_t i = 0; i < n; i++) values[i] = amount(t, i, column);
    RS_SORT(values, n, up);
    return values[(n - 1) / 2];
}

/* What a step of one rank has more of in B, apart from what its peers have. */
typedef struct own_change {
    const char *column, *words; /* words: of "Rank 3 ... 12 ms longer a step" */
    size_t rank;                /* row */
    double own, usual, low, high;
} own_change;

static void find_own(const rs_table *t, own_change *c, rs_text *out)
{
    size_t n = rs_table_n_rows(t);
    c->usual = median_of(t, c->column, out);
    c->low = INFINITY;
    c->high = -INFINITY;
    c->rank = 0;
    for (size_t i = 1; i < n; i++)
        if (fabs(amount(t, i, c->column) - c->usual) > fabs(amount(t, c->rank, c->column) - c->usual))
            c->rank = i;
    c->own = amount(t, c->rank, c->column);
    for (size_t i = 0; i < n; i++) {
        if (i == c->rank) continue;
        c->low = fmin(c->low, amount(t, i, c->column));
        c->high = fmax(c->high, amount(t, i, c->column));
    }
}

static void put_own(const rs_table *t, const own_change *c, double whole, rs_text *out)
{
    double waits = 0;
    size_t n = rs_table_n_rows(t);
    for (size_t i = 0; i < n; i++)
        if (i != c->rank) waits += amount(t, i, "exposed_comm_diff_us") / (double)(n - 1);
    rs_text_printf(out, " Rank %lld%s %s %s a step (the other ranks ", rank_of(t, c->rank), c->words,
                   TIME(fabs(c->own)), c->own > 0 ? "longer" : "less");
    put_more(out, c->low, whole);
    rs_text_put(out, " to ");
    put_more(out, c->high, whole);
    rs_text_put(out, ")");
    if (fabs(waits) >= LEAST_PART * fabs(whole)) {
        rs_text_put(out, ", and their communication, waits for it included, changes by ");
        put_more(out, waits, whole);
    }
    rs_text_put(out, " on average.");
}

/* Which rank changed, where one did more than the others; then the kernel, there or on all ranks. */
static void put_rank(const rs_table *t, double whole, rs_text *out)
{
    char name[4 * LONGEST_NAME + 8];
    if (!t) return;
    own_change compute = {.column = "compute_diff_us", .words = " computes"},
               idle = {.column = "idle_diff_us", .words = "'s GPU is idle"};
    find_own(t, &compute, out);
    find_own(t, &idle, out);
    bool idles = fabs(idle.own - idle.usual) > fabs(compute.own - compute.usual);
    const own_change *c = idles ? &idle : &compute;
    double apart = c->own - c->usual;
    bool alone =
        rs_table_n_rows(t) > 1 && fabs(apart) >= LEAST_OF_ONE * fabs(whole) && (apart > 0) == (whole > 0);
    const char *kernel = rs_face_string(t, compute.rank, "kernel");
    if (alone) put_own(t, c, whole, out);
    if ((alone && idles) || !*kernel || fabs(compute.own) < LEAST_OF_ONE * fabs(whole)) return;
    rs_text_printf(out, " %s changed most%s: ",
                   rs_shorten_middle(kernel, strlen(kernel), LONGEST_NAME, name, sizeof name),
                   alone ? " there" : "");
    put_more(out, amount(t, compute.rank, "kernel_diff_us"), whole);
    rs_text_put(out, " a step.");
}

/* What the change may be, by the steps of these two runs alone. */
static void put_range(double low, double high, rs_text *out)
{
    if (isnan(low) || isnan(high)) return;
    double widest = fmax(fabs(low), fabs(high));
    rs_text_put(out, "; 95 % CI of these steps ");
    put_more(out, low, widest);
    rs_text_put(out, " to ");
    put_more(out, high, widest);
}

void rs_headline_diff(const rs_result *result, rs_text *out)
{
    const rs_table *t = rows_of(result, "totals");
    if (!t) return;
    size_t step = find_metric(t, "mean_step_us"), steps = find_metric(t, "steps");
    double n_a = steps == SIZE_MAX ? 0 : amount(t, steps, "a"),
           n_b = steps == SIZE_MAX ? 0 : amount(t, steps, "b");
    bool by_step = step != SIZE_MAX && n_a > 0 && n_b > 0 && amount(t, step, "a") > 0;
    if (!by_step) step = find_metric(t, "gpu_span_us");
    if (step == SIZE_MAX) return;
    double a = amount(t, step, "a"), b = amount(t, step, "b"), change = percent(b - a, a);
    const char *what = by_step ? "A step" : "The GPU's work";
    if (!(a > 0)) return;
    double low = by_step ? rs_face_number(t, step, "diff_low") : (double)NAN,
           high = by_step ? rs_face_number(t, step, "diff_high") : (double)NAN;
    if (fabs(change) < AS_MUCH)
        rs_text_printf(out, "%s takes as long in B as in A: %s and %s (%s%s %%", what, TIME(b), TIME(a),
                       change < 0 ? "-" : "+", RS_FIXED(fabs(change), 1));
    else
        rs_text_printf(out, "%s takes %s %s in B, %s after %s (%s%s %%", what, TIME(fabs(b - a)),
                       b > a ? "longer" : "less", TIME(b), TIME(a), b > a ? "+" : "-",
                       RS_FIXED(fabs(change), 1));
    put_range(low, high, out);
    rs_text_put(out, ")");
    if (fabs(change) >= AS_MUCH) put_parts(t, by_step ? n_a : 1, by_step ? n_b : 1, b - a, out);
    rs_text_put(out, ".");
    if (fabs(change) < AS_MUCH) return;
    if (by_step) put_rank(rows_of(result, "ranks"), b - a, out);
    rs_text_put(out, " Whether it is more than chance needs several runs a side (regress).");
}

void rs_headline_compare(const rs_result *result, rs_text *out)
{
    const rs_table *inputs = rows_of(result, "inputs"), *t = result->tables[result->main_table];
    if (!inputs) return;
    size_t at = greatest(inputs, "time_diff_us"), most = SIZE_MAX;
    double diff = amount(inputs, at, "time_diff_us"), change = amount(inputs, at, "change_pct");
    int64_t variant = rs_face_int(inputs, at, "variant", 0);
    char brief[4 * LONGEST_NAME + 8];
    if (fabs(change) < AS_MUCH || diff == 0) {
        rs_text_printf(out, "The GPU works as long in every input, within %s %%.", RS_FIXED(AS_MUCH, 0));
        return;
    }
    rs_text_printf(out, "In variant %lld the GPU works %s %s than in the first input (%s%s %%)",
                   (long long)variant, TIME(fabs(diff)), diff > 0 ? "longer" : "less", diff > 0 ? "+" : "-",
                   RS_FIXED(fabs(change), 1));
    for (size_t i = 0; rs_face_has(t, "time_diff_us") && i < rs_table_n_rows(t); i++) {
        double more = amount(t, i, "time_diff_us");
        if (rs_face_int(t, i, "variant", -1) != variant || more == 0 || (more > 0) != (diff > 0)) continue;
        if (most == SIZE_MAX || fabs(more) > fabs(amount(t, most, "time_diff_us"))) most = i;
    }
    if (most != SIZE_MAX && *rs_face_string(t, most, "name")) {
        const char *name = rs_face_string(t, most, "name");
        rs_text_printf(out, "; most in %s, ",
                       rs_shorten_middle(name, strlen(name), LONGEST_NAME, brief, sizeof brief));
        put_more(out, amount(t, most, "time_diff_us"), diff);
    }
    rs_text_put(out, ".");
}

/* What is settled, or why it is not, with what these runs could have shown. */
void rs_headline_regress(const rs_result *result, rs_text *out)
{
    const rs_table *t = rows_of(result, "verdict");
    if (!t) return;
    const char *verdict = rs_face_string(t, 0, "verdict"), *reason = rs_face_string(t, 0, "reason");
    double base = rs_face_number(t, 0, "base_us"), now = rs_face_number(t, 0, "new_us"),
           change = rs_face_number(t, 0, "change_pct"), low = rs_face_number(t, 0, "low_pct"),
           high = rs_face_number(t, 0, "high_pct"), visible = rs_face_number(t, 0, "smallest_visible_pct");
    bool same = strcmp(verdict, "same") == 0;
    if (same)
        rs_text_put(out, "No problem found: the new side is as fast as the base");
    else if (strcmp(verdict, "undecided") == 0)
        rs_text_put(out, "Undecided");
    else
        rs_text_printf(out, "The new side is %s", verdict);
    if (!isnan(base) && !isnan(now)) {
        rs_text_printf(out, "%s a step takes %s after %s", same ? ";" : ":", TIME(now), TIME(base));
        if (!isnan(change))
            rs_text_printf(out, " (%s%s %%", change < 0 ? "-" : "+", RS_FIXED(fabs(change), 1));
        if (!isnan(change) && !isnan(low) && !isnan(high))
            rs_text_printf(out, ", between %s and %s %%", RS_FIXED(low, 1), RS_FIXED(high, 1));
        if (!isnan(change)) rs_text_put(out, ")");
    }
    rs_text_put(out, ".");
    if (*reason) rs_text_printf(out, " Why: %s.", reason);
    if (!isnan(visible))
        rs_text_printf(out, " The least change that these runs can show is %s %%.", RS_FIXED(visible, 1));
}
