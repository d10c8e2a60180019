/* Names of collectives. */
#include "match/collective_names.h"

#include <math.h>
#include <string.h>

#include "base/ascii.h"
#include "trace/comm_kernels.h"
#include "trace/kernel_name.h"

const char *rs_coll_kind_name(rs_coll_kind kind)
{
    static const char *const names[RS_N_COLL_KINDS] = {
        "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "gather",
        "scatter",    "barrier",    "send_recv",      "dispatch",   "combine",   "other"};
    return names[kind];
}

/* Letters only, lower case: "_reduce_scatter_base" and "ReduceScatter" are one. */
static void squeeze(const char *name, char *out, size_t size)
{
    size_t n = 0;
    for (; *name && n + 1 < size; name++)
        if (rs_is_letter(*name)) out[n++] = rs_lower(*name);
    out[n] = '\0';
}

rs_coll_kind rs_coll_kind_of(const char *name)
{
    /* the first that the name contains; longer words stand before those that they contain */
    static const struct {
        const char *word;
        rs_coll_kind kind;
    } words[] = {
        {"allreduce", RS_COLL_ALL_REDUCE},
        {"reducescatter", RS_COLL_REDUCE_SCATTER},
        {"allgather", RS_COLL_ALL_GATHER},
        {"alltoall", RS_COLL_ALL_TO_ALL},
        {"allall", RS_COLL_ALL_TO_ALL} /* all2all: digits are no letters */,
        {"dispatch", RS_COLL_DISPATCH},
        {"combine", RS_COLL_COMBINE},
        {"barrier", RS_COLL_BARRIER},
        {"broadcast", RS_COLL_BROADCAST},
        {"bcast", RS_COLL_BROADCAST},
        {"sendrecv", RS_COLL_SEND_RECV},
        {"scatter", RS_COLL_SCATTER},
        {"gather", RS_COLL_GATHER},
        {"reduce", RS_COLL_REDUCE},
        {"send", RS_COLL_SEND_RECV},
        {"recv", RS_COLL_SEND_RECV},
        {"collectivepermute", RS_COLL_SEND_RECV},
    };
    char text[256];
    squeeze(name, text, sizeof text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i].word)) return words[i].kind;
    return RS_COLL_OTHER;
}

bool rs_coll_ends_together(rs_coll_kind kind)
{
    return kind == RS_COLL_ALL_REDUCE || kind == RS_COLL_ALL_GATHER || kind == RS_COLL_REDUCE_SCATTER ||
           kind == RS_COLL_ALL_TO_ALL || kind == RS_COLL_BARRIER;
}

static bool starts_with_one(const char *name, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(name, words[i], strlen(words[i])) == 0) return true;
    return false;
}

rs_coll_kind rs_coll_kind_of_kernel(const char *name)
{
    char words[RS_KERNEL_WORDS];
    const rs_comm_family *family = rs_comm_family_of(name, strlen(name));
    rs_kernel_words(name, strlen(name), words);
    rs_coll_kind kind = rs_coll_kind_of(words);
    return family && family->is_one_sided && rs_coll_can_match(kind) ? RS_COLL_OTHER : kind;
}

bool rs_coll_is_submission(const char *name)
{
    static const char *const words[] = {"c10d::"};
    return starts_with_one(name, words, sizeof words / sizeof *words);
}

bool rs_coll_is_wait(const char *name)
{
    return rs_coll_is_operator(name) && strstr(name, "wait");
}

bool rs_coll_is_call(const char *name)
{
    static const char *const words[] = {"nccl:", "rccl:"};
    return rs_coll_is_submission(name) || starts_with_one(name, words, sizeof words / sizeof *words);
}

bool rs_coll_is_operator(const char *name)
{
    static const char *const words[] = {"c10d::", "_c10d_functional", "c10d_functional"};
    return starts_with_one(name, words, sizeof words / sizeof *words);
}

/* The back ends that a host thread runs. What is after the name; NULL: it begins with none of them. */
static const char *behind_host_backend(const char *name)
{
    static const char *const words[] = {"gloo", "mpi", "ucc", "xla"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(name, words[i], strlen(words[i])) == 0) return name + strlen(words[i]);
    return NULL;
}

bool rs_coll_is_host_span(const char *name)
{
    const char *rest = behind_host_backend(name);
    return (rest && *rest == ':') || strncmp(name, "MPI_", 4) == 0;
}

bool rs_coll_is_host_backend(const char *backend)
{
    const char *rest = behind_host_backend(backend);
    return rest && !*rest;
}

double rs_coll_bus_factor(rs_coll_kind kind, int64_t n)
{
    if (n < 0) return NAN;
    switch (kind) {
    case RS_COLL_ALL_REDUCE: return 2.0 * (double)(n - 1) / (double)n;
    case RS_COLL_ALL_GATHER:
    case RS_COLL_REDUCE_SCATTER:
    case RS_COLL_ALL_TO_ALL:
    case RS_COLL_GATHER:
    case RS_COLL_SCATTER: return (double)(n - 1) / (double)n;
    case RS_COLL_BROADCAST:
    case RS_COLL_REDUCE:
    case RS_COLL_SEND_RECV: return 1;
    default: return NAN;
    }
}
