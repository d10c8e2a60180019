/* Finding a cycle without recursion: nodes are taken away as soon as all that they depend on is; what is left
 * lies on cycles or behind them. */
#include <stdio.h>

#include "chakra/convert_internal.h"

/* From any node that is left, every way backwards stays among those left and so comes round. */
static rs_status name_cycle(const uint64_t *first, const uint32_t *deps, size_t n, uint64_t *open,
                            uint64_t (*id_of)(const void *, uint32_t), const void *context, const char *what,
                            rs_error *err)
{
    uint32_t at = 0, shown = 0;
    while (at < n && !open[at]) at++;
    /* Walk n steps to be on the cycle, then round it once. */
    for (int lap = 0; lap < 2; lap++) {
        uint32_t start = at;
        char text[200];
        size_t used = 0;
        uint64_t step = 0;
        do {
            if (lap == 1 && shown++ < 6)
                used += (size_t)snprintf(text + used, sizeof text - used, "%llu -> ",
                                         (unsigned long long)id_of(context, at));
            uint64_t k = first[at];
            while (!open[deps[k]]) k++;
            at = deps[k];
            step++;
        } while (lap == 0 ? step < n : at != start);
        if (lap == 1)
            return rs_fail(err, RS_ERR_FORMAT, "%s form a cycle of %llu: %s%s%llu", what,
                           (unsigned long long)step, text, shown > 6 ? "... -> " : "",
                           (unsigned long long)id_of(context, start));
    }
    return RS_OK;
}

rs_status rs_graph_has_no_cycle(const uint64_t *first, const uint32_t *deps, size_t n,
                                uint64_t (*id_of)(const void *, uint32_t), const void *context,
                                const char *what, rs_error *err)
{
    /* open: dependencies not yet taken away; users of each node, by counting sort */
    RS_LOCAL uint64_t *open = rs_calloc(n + 1, sizeof *open),
                      *user_first = rs_calloc(n + 2, sizeof *user_first);
    RS_LOCAL uint32_t *users = rs_malloc((first[n] + 1) * sizeof *users),
                      *queue = rs_malloc((n + 1) * sizeof *queue);
    rs_status status = RS_OK;
    if (!open || !user_first || !users || !queue) {
        status = rs_fail_nomem(err, "looking for cycles");
        goto done;
    }
    for (uint64_t k = 0; k < first[n]; k++) user_first[deps[k] + 2]++;
    for (size_t i = 2; i < n + 2; i++) user_first[i] += user_first[i - 1];
    for (size_t i = 0; i < n; i++)
        for (uint64_t k = first[i]; k < first[i + 1]; k++) users[user_first[deps[k] + 1]++] = (uint32_t)i;
    size_t head = 0, tail = 0;
    for (size_t i = 0; i < n; i++) {
        open[i] = first[i + 1] - first[i];
        if (!open[i]) queue[tail++] = (uint32_t)i;
    }
    while (head < tail) {
        uint32_t i = queue[head++];
        for (uint64_t k = user_first[i]; k < user_first[i + 1]; k++)
            if (--open[users[k]] == 0) queue[tail++] = users[k];
    }
    if (tail < n) status = name_cycle(first, deps, n, open, id_of, context, what, err);
done:
    return status;
}
