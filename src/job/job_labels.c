/* Ranks of files that name places in the parallel layout instead of ranks: "1700000000.5-TP-3-DP-0.trace.json".
 */
#include <string.h>

#include "base/ascii.h"
#include "job/job_internal.h"

/* The order in which places are counted: the last one first. */
enum { DP, EP, PP, TP, N_PARTS };
static const char letters[N_PARTS] = "DEPT";

typedef struct place {
    int64_t part[N_PARTS]; /* RS_NO_VALUE: not named */
    rs_input *input;
} place;

/* "TP-3", "TP3" or "TP_3" as a word of the file's name. */
static bool read_place(rs_input *input, place *to)
{
    const char *slash = strrchr(input->path, '/'), *name = slash ? slash + 1 : input->path;
    bool any = false;
    for (int k = 0; k < N_PARTS; k++) to->part[k] = RS_NO_VALUE;
    to->input = input;
    for (const char *p = name; *p; p++) {
        const char *q = p + 2;
        if (p[1] != 'P' || (p > name && rs_is_alnum(p[-1]))) continue;
        if (*q == '-' || *q == '_') q++;
        if (!rs_is_digit(*q)) continue;
        int64_t v = 0;
        while (rs_is_digit(*q) && v < INT32_MAX) v = v * 10 + (*q++ - '0');
        for (int k = 0; k < N_PARTS; k++)
            if (letters[k] == *p && !rs_is_alnum(*q)) {
                to->part[k] = v;
                any = true;
            }
    }
    return any;
}

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    for (int k = 0; k < N_PARTS; k++)
        if (x->part[k] != y->part[k]) return x->part[k] < y->part[k] ? -1 : 1;
    return 0;
}

/* The number before the ending of a pickle's name: snapshot_10.pickle, snapshot_10.pkl.gz. */
static int64_t number_of_pickle(const char *path)
{
    static const char *const endings[] = {".pickle", ".pkl"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const char *end = strstr(name, endings[i]), *from = end;
        while (from && from > name && rs_is_digit(from[-1])) from--;
        if (!end || from == end || (from > name && rs_is_alnum(from[-1]))) continue;
        int64_t v = 0;
        for (; from < end && v < INT32_MAX; from++) v = v * 10 + (*from - '0');
        return v;
    }
    return RS_NO_VALUE;
}

/* Snapshots are numbered by their ranks, where no file of the job says "rank". */
static void read_numbers(rs_job *job)
{
    for (size_t i = 0; i < job->n_inputs; i++)
        if (rs_rank_in_name(job->inputs[i].path) != RS_NO_VALUE) return;
    for (size_t i = 0; i < job->n_inputs; i++)
        if (job->inputs[i].label_rank == RS_NO_VALUE)
            job->inputs[i].label_rank = number_of_pickle(job->inputs[i].path);
}

/* Where one part alone differs, or is named at all, it is the rank; else the place in their order is. */
rs_status rs_inputs_read_labels(rs_job *job, rs_error *err)
{
    RS_LOCAL place *places = rs_malloc((job->n_inputs + 1) * sizeof *places);
    size_t n = 0;
    if (!places) return rs_fail_nomem(err, "inputs");
    for (size_t i = 0; i < job->n_inputs; i++) {
        rs_input *input = &job->inputs[i];
        input->label_rank = RS_NO_VALUE;
        if (rs_rank_in_name(input->path) == RS_NO_VALUE && read_place(input, &places[n])) n++;
    }
    if (n) qsort(places, n, sizeof *places, by_place);
    int differ = 0, named = 0, one = 0, only = 0;
    for (int k = 0; k < N_PARTS && n; k++) {
        bool differs = false, is_named = false;
        for (size_t i = 0; i < n; i++) {
            differs |= places[i].part[k] != places[0].part[k];
            is_named |= places[i].part[k] != RS_NO_VALUE;
        }
        differ += differs;
        named += is_named;
        if (differs) one = k;
        if (is_named) only = k;
    }
    int64_t rank = -1;
    for (size_t i = 0; i < n; i++) {
        rank += i == 0 || by_place(&places[i - 1], &places[i]) != 0;
        int64_t number = differ == 1 ? places[i].part[one] : named == 1 ? places[i].part[only] : RS_NO_VALUE;
        places[i].input->label_rank = number == RS_NO_VALUE ? rank : number;
    }
    read_numbers(job);
    return RS_OK;
}
