/* The settings of a job that users choose. One row each: of it come the option of the command line, the
 * keyword of Python, the check of its value, and whether packed partial results must agree on it. A new one
 * is a row here and its member in rankscope/job.h. */
#include <string.h>

#include "base/ranges.h"
#include "base/try.h"
#include "job/job_internal.h"

/* What the text of a value becomes: what the member holds, or bytes (512M). */
enum { AS_IS, AS_SIZE };
#define NO_LIMIT INT64_MAX

/* ROW(member, name, type, placeholder, default, conversion, least, most, parts, help) least, most: of
 * numbers. parts: AGREE where parts of a job that were mapped under different values are not merged. */
#define SETTINGS(ROW)                                                                                            \
    ROW(ranks, "ranks", RANGES, "LIST", NULL, AS_IS, 0, 0, AGREE, "only these ranks: 0,3,8-15")                  \
    ROW(steps, "steps", RANGES, "LIST", NULL, AS_IS, 0, 0, AGREE, "only these training steps: 3-5")              \
    ROW(window, "window", TEXT, "FROM-TO", NULL, AS_IS, 0, 0, AGREE,                                             \
        "only what starts in this time, ms from the job's first event: 10-12.5")                                 \
    ROW(recursive, "recursive", FLAG, NULL, NULL, AS_IS, 0, 0, DIFFER, "descend into directories")               \
    ROW(renumber, "renumber", FLAG, NULL, NULL, AS_IS, 0, 0, AGREE,                                              \
        "number ranks by sorted file name, whatever the files say")                                              \
    ROW(single_rank, "single-rank", FLAG, NULL, NULL, AS_IS, 0, 0, AGREE,                                        \
        "refuse files that hold several ranks")                                                                  \
    ROW(absolute, "absolute", FLAG, NULL, NULL, AS_IS, 0, 0, AGREE,                                              \
        "times on the files' own clock, not from the job's first event")                                         \
    ROW(include_last_step, "include-last-step", FLAG, NULL, NULL, AS_IS, 0, 0, AGREE,                            \
        "HTA's include_last_profiler_step; only with --compat hta or hta-exact")                                 \
    ROW(no_verdict, "no-verdict", FLAG, NULL, NULL, AS_IS, 0, 0, AGREE,                                          \
        "without the verdict that opens answers about the job: what is wrong with it, and what fixing it gains") \
    ROW(captures, "captures", TEXT, "PATH", NULL, AS_IS, 0, 0, AGREE,                                            \
        "give the work of replayed graphs its operators: the trace of their capture, or a folder of such")       \
    ROW(classes, "class", LINES, "CLASS=REGEX", NULL, AS_IS, 0, 0, AGREE,                                        \
        "GPU work whose name REGEX finds is communication, computation or memory; @FILE: such rules")            \
    ROW(jobs, "jobs", INT, "N", NULL, AS_IS, 1, 4096, DIFFER, "worker threads (default: one for each core)")     \
    ROW(max_memory, "max-memory", TEXT, "SIZE", NULL, AS_SIZE, 1, NO_LIMIT, DIFFER,                              \
        "stop rather than hold more than SIZE of traces: 512M, 4G")                                              \
    ROW(max_ratio, "max-ratio", INT, "N", "1000", AS_IS, 1, NO_LIMIT, DIFFER,                                    \
        "refuse files that inflate to more than N times their size")                                             \
    ROW(store, "store", TEXT, "DIR", NULL, AS_IS, 0, 0, DIFFER,                                                  \
        "keep what is computed in DIR, and take from there what was computed before")                            \
    ROW(no_store, "no-store", FLAG, NULL, NULL, AS_IS, 0, 0, DIFFER,                                             \
        "neither look into a store nor keep anything")

static const rs_option_spec options[] = {{"compat", RS_OPTION_CHOICE, "PEER",
                                          "hta|hta-exact|tracelens|aorta|straggler-analysis", NULL,
                                          "numbers, columns and rounding of another tool, digit by digit"},
#define OPTION_OF(member, name, type, placeholder, otherwise, as, least, most, parts, help)                  \
    {name, RS_OPTION_##type, placeholder, NULL, otherwise, help},
                                         SETTINGS(OPTION_OF)};

static const struct place {
    rs_field packed; /* of size 0: not packed */
    rs_field member;
    int64_t least, most;
    bool is_size;
} places[] = {/* of options + 1 */
#define AGREE(member) RS_FIELD_OR_NULL(rs_job_settings, member)
#define DIFFER(member)                                                                                       \
    {                                                                                                        \
        .size = 0                                                                                            \
    }
#define PLACE_OF(member, name, type, placeholder, otherwise, as, least, most, parts, help)                   \
    {parts(member), RS_FIELD(rs_job_settings, member), least, most, as == AS_SIZE},
              SETTINGS(PLACE_OF)};
#define N_PLACES (sizeof places / sizeof *places)

const rs_layout rs_job_settings_layout = {
    .size = sizeof(rs_job_settings), .heads = places, .n_heads = N_PLACES, .stride = sizeof *places};

const rs_option_spec *rs_job_options(size_t *n)
{
    *n = sizeof options / sizeof *options;
    return options;
}

static rs_status take_number(const rs_options *given, size_t i, void *member, rs_error *err)
{
    const struct place *p = &places[i];
    const char *name = options[i + 1].name, *text = rs_options_text(given, name);
    int64_t number = rs_options_int(given, name);
    if (p->is_size && !rs_parse_size(text, &number))
        return rs_fail(err, RS_ERR_USAGE, "--%s takes a size like 512M or 4G, not \"%.60s\"", name, text);
    if (p->most < NO_LIMIT && (number < p->least || number > p->most))
        return rs_fail(err, RS_ERR_USAGE, "--%s takes %lld to %lld, not %lld", name, (long long)p->least,
                       (long long)p->most, (long long)number);
    if (number < p->least)
        return rs_fail(err, RS_ERR_USAGE, "--%s must be at least %lld", name, (long long)p->least);
    if (p->member.size == sizeof(unsigned))
        *(unsigned *)member = (unsigned)number;
    else
        *(uint64_t *)member = (uint64_t)number;
    return RS_OK;
}

rs_status rs_job_settings_take(const rs_options *given, rs_job_settings *out, rs_error *err)
{
    for (size_t i = 0; i < N_PLACES; i++) {
        const char *name = options[i + 1].name;
        void *member = (char *)out + places[i].member.offset;
        if (!rs_options_text(given, name) && !rs_options_flag(given, name)) continue;
        switch (places[i].member.kind) {
        case RS_AS_BOOL: *(bool *)member = true; break;
        case RS_AS_TEXT: *(const char **)member = rs_options_text(given, name); break;
        default: RS_TRY(take_number(given, i, member, err));
        }
    }
    return RS_OK;
}
