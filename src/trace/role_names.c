#include "trace/role_names.h"

#include <string.h>

#include "base/ascii.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "trace/selection.h"

const char *const rs_role_names[RS_N_ROLES] = {"none",   "weight sync", "reference", "reward",
                                               "critic", "rollout",     "update"};

/* verl, OpenRLHF, slime, NeMo-RL, AReaL, TRL: names of their workers, methods and annotations. */
static const struct {
    const char *word;
    rs_job_role role;
} words[] = {
    {"sync", RS_ROLE_SYNC},        {"weights", RS_ROLE_SYNC},     {"reshard", RS_ROLE_SYNC},
    {"resharding", RS_ROLE_SYNC},  {"ref", RS_ROLE_REFERENCE},    {"reference", RS_ROLE_REFERENCE},
    {"reward", RS_ROLE_REWARD},    {"rewards", RS_ROLE_REWARD},   {"rm", RS_ROLE_REWARD},
    {"critic", RS_ROLE_CRITIC},    {"values", RS_ROLE_CRITIC},    {"rollout", RS_ROLE_ROLLOUT},
    {"rollouts", RS_ROLE_ROLLOUT}, {"generate", RS_ROLE_ROLLOUT}, {"generation", RS_ROLE_ROLLOUT},
    {"sampling", RS_ROLE_ROLLOUT}, {"update", RS_ROLE_UPDATE},    {"train", RS_ROLE_UPDATE},
    {"training", RS_ROLE_UPDATE},  {"trainer", RS_ROLE_UPDATE},   {"learner", RS_ROLE_UPDATE},
};

static rs_job_role role_of_word(const char *word, size_t n)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t k = 0;
        while (k < n && words[i].word[k] && rs_lower(word[k]) == words[i].word[k]) k++;
        if (k == n && !words[i].word[k]) return words[i].role;
    }
    return RS_ROLE_NONE;
}

static int is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* Words end where letters do, and before a capital after a small letter. */
static size_t word_end(const char *name, size_t at, size_t length)
{
    size_t end = at;
    while (end < length && rs_is_letter(name[end]) &&
           !(end > at && is_upper(name[end]) && !is_upper(name[end - 1])))
        end++;
    return end;
}

rs_job_role rs_role_of_name(const char *name, size_t length, int *several)
{
    rs_job_role best = RS_ROLE_NONE;
    int more = 0;
    for (size_t at = 0; at < length;) {
        size_t end = word_end(name, at, length);
        rs_job_role role = end > at ? role_of_word(name + at, end - at) : RS_ROLE_NONE;
        if (role && best && role != best) more = 1;
        if (role && (!best || role < best)) best = role;
        at = end > at ? end : at + 1;
    }
    if (several) *several = more;
    return best;
}

/* ---- of a rank ----------------------------------------------------------------------------------------- */

uint8_t *rs_roles_of_strings(const rs_events *e)
{
    uint8_t *of = rs_calloc(e->strings.n + 1, 1);
    for (size_t i = 0; of && i < e->strings.n; i++)
        of[i] = (uint8_t)rs_role_of_name(e->strings.items[i].text, e->strings.items[i].length, NULL);
    return of;
}

static rs_job_role role_of_process(const rs_trace *trace)
{
    const rs_events *e = trace->events;
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (e->phase[row] != 'M' || strcmp(rs_event_name(e, row), "process_name") != 0) continue;
        uint32_t id = rs_events_text(e, RS_COL_META_NAME, row);
        int several = 0;
        rs_job_role role = id == RS_NO_STRING ? RS_ROLE_NONE
                                              : rs_role_of_name(e->strings.items[id].text,
                                                                e->strings.items[id].length, &several);
        if (role > RS_ROLE_SYNC && !several) return role;
    }
    return RS_ROLE_NONE;
}

rs_status rs_trace_job_role(rs_trace *trace, rs_job_role *out, bool *annotated, rs_error *err)
{
    const rs_events *e = trace->events;
    int64_t time[RS_N_ROLES] = {0};
    rs_selector selector;
    *out = role_of_process(trace);
    *annotated = *out == RS_ROLE_NONE;
    if (*out) return RS_OK;
    RS_LOCAL uint8_t *of = rs_roles_of_strings(e);
    if (!of) return rs_fail_nomem(err, "roles");
    RS_TRY(rs_trace_selector(trace, &selector, err));
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        const uint8_t role = of[e->name[row]];
        if (role > RS_ROLE_SYNC && rs_event_kind(e, row) == RS_KIND_USER_ANNOTATION &&
            rs_event_is_span(e, row) && rs_selects_row(&selector, row))
            time[role] = rs_add_sat(time[role], e->duration[row]);
    }
    for (int k = RS_ROLE_SYNC + 1; k < RS_N_ROLES; k++)
        if (time[k] > time[*out]) *out = (rs_job_role)k;
    return RS_OK;
}
