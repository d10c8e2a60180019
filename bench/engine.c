/* Times the engine: bench-engine replay PATH..., the traces of a job's ranks, or bench-engine clocks RANKS COLLECTIVES.
 *
 * replay: loads each rank on one thread with the arguments that skeletons need, makes its skeleton (and, for
 * comparison, the critical path of the whole trace), then joins all and replays them. clocks: intervals of a job made
 * in memory, a group of all ranks that reduces so many times. Prints processor seconds, sizes, and the peak of memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/memory.h"
#include "clock/clocks.h"
#include "clock/collective_clocks.h"
#include "engine/build.h"
#include "engine/engine.h"
#include "format/kineto.h"

static int fail(const rs_error *err)
{
    char text[1024];
    fprintf(stderr, "bench-engine: %s\n", rs_error_text(err, text, sizeof text));
    return 1;
}

/* Of this process, which is one thread: other work on the machine does not count. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static unsigned long long peak(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (unsigned long long)usage.ru_maxrss * 1024;
}

/* ---- replay -------------------------------------------------------------------------------------------- */

typedef struct sums {
    double load, links, path, build;
    unsigned long long events, text, bytes, nodes, edges;
} sums;

static rs_status time_path(rs_trace *trace, const rs_policy *policy, double *seconds, rs_error *err)
{
    const rs_path_window window = {.annotation = "", .whole = true};
    rs_sync_edges sync = {0};
    rs_path_part part = {0};
    double begin = now();
    rs_status status = rs_sync_find(trace, policy, &sync, err);
    if (status == RS_OK) status = rs_path_build_own(trace, policy, &window, &sync, &part, err);
    *seconds += now() - begin;
    rs_path_part_clear(&part);
    rs_sync_clear(&sync);
    return status;
}

static rs_status make_rank(const char *path, sums *s, rs_skeleton **out, rs_error *err)
{
    rs_load_settings settings = {
        .threads = 1,
        .columns = RS_SKELETON_COLUMNS | rs_facet_columns((const rs_facet *const[]){&rs_facet_skeleton}, 1)};
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_source *source;
    rs_events *events;
    rs_trace trace;
    const rs_links *links;
    policy.whole = true;
    rs_status status = rs_source_open(path, 0, &source, err);
    if (status != RS_OK) return status;
    double begin = now();
    status = rs_kineto_load(source, &settings, &events, err);
    rs_source_close(source);
    if (status != RS_OK) return status;
    s->load += now() - begin;
    rs_trace_init(&trace, events, NULL, events->n);
    begin = now();
    status = rs_trace_links(&trace, &links, err); /* whichever analysis comes first pays for them */
    s->links += now() - begin;
    if (status == RS_OK) status = time_path(&trace, &policy, &s->path, err);
    begin = now();
    if (status == RS_OK) status = rs_skeleton_of(&trace, &policy, out, err);
    s->build += now() - begin;
    s->events += events->n;
    s->text += events->n_bytes;
    if (status == RS_OK && *out) {
        s->bytes += rs_skeleton_bytes(*out);
        s->nodes += (*out)->n;
        s->edges += (*out)->n_edges;
    }
    rs_trace_clear(&trace);
    rs_events_free(events);
    return status;
}

static rs_status time_replay(const rs_skeleton *const *ranks, size_t n, const sums *s, rs_error *err)
{
    const rs_engine_how how = {RS_CLOCKS_ENDS, true, true};
    rs_engine engine = {0};
    rs_weights weights = {0};
    rs_times times = {0};
    int64_t worst = 0;
    double begin = now();
    rs_status status = rs_engine_join(ranks, n, &how, &engine, err);
    double join = now() - begin;
    if (status == RS_OK) status = rs_weights_recorded(&engine, RS_EDGES_ALL, &weights, err);
    begin = now();
    if (status == RS_OK) status = rs_engine_replay(&engine, &weights, &times, err);
    double replay = now() - begin;
    if (status == RS_OK)
        printf(
            "{\"ranks\": %zu, \"events\": %llu, \"text\": %llu, \"load\": %.6f, \"links\": %.6f, \"path\": %.6f, "
            "\"build\": %.6f, \"join\": %.6f, \"replay\": %.6f, \"bytes\": %llu, \"nodes\": %llu, \"edges\": %llu, "
            "\"off\": %zu, \"peak\": %llu}\n",
            n, s->events, s->text, s->load, s->links, s->path, s->build, join, replay, s->bytes, s->nodes,
            s->edges, rs_engine_deviations(&engine, &times, &worst), peak());
    rs_times_clear(&times);
    rs_weights_clear(&weights);
    rs_engine_clear(&engine);
    return status;
}

static int replay(char **paths, size_t n)
{
    rs_error err = RS_ERROR_INIT;
    rs_skeleton **ranks = calloc(n + 1, sizeof *ranks);
    sums s = {0};
    rs_status status = RS_OK;
    size_t kept = 0;
    if (!ranks) return 1;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        status = make_rank(paths[i], &s, &ranks[kept], &err);
        kept += status == RS_OK && ranks[kept];
    }
    if (status == RS_OK) status = time_replay((const rs_skeleton *const *)ranks, kept, &s, &err);
    for (size_t i = 0; i < kept; i++) rs_skeleton_free(ranks[i]);
    free(ranks);
    return status == RS_OK ? 0 : fail(&err);
}

/* ---- clocks -------------------------------------------------------------------------------------------- */

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static rs_coll_rank *make_clock(size_t rank, size_t n, size_t collectives)
{
    uint64_t random = 7919 * rank + 1;
    rs_coll_rank *r = rs_calloc(1, sizeof *r);
    if (!r || !rs_pool_init(&r->pool)) return NULL;
    uint32_t group = rs_strings_add(&r->pool.strings, "all", 3);
    r->base_time_ns = RS_NO_VALUE;
    r->host = RS_NO_STRING;
    for (size_t i = 0; i < collectives; i++) {
        int64_t ready = (int64_t)i * 1000000, ahead = 1000 * (int64_t)rank;
        bool last = (i * 31 + 7) % n == rank;
        int64_t start = ready - (last ? 0 : (int64_t)(next(&random) % 20000));
        int64_t end = ready + 30000 + (int64_t)(next(&random) % 3000);
        const rs_coll_op op = {.start = start + ahead, .end = end + ahead, .seq = (int64_t)i + 1, .step = -1};
        const rs_coll_shape shape = {.group_size = (int64_t)n,
                                     .in_elements = i % 3 ? 1000 : 100000,
                                     .out_elements = -1,
                                     .source = -1,
                                     .target = -1,
                                     .kind = RS_COLL_ALL_REDUCE,
                                     .stream = 7,
                                     .group = group,
                                     .description = RS_NO_STRING,
                                     .members = RS_NO_STRING,
                                     .name = RS_NO_STRING,
                                     .dtype = RS_NO_STRING};
        if (!rs_coll_rank_add(r, op, &shape)) return NULL;
    }
    return rs_coll_rank_sort(r) ? r : NULL; /* no room is left over */
}

static int time_clocks(size_t n, size_t collectives)
{
    rs_error err = RS_ERROR_INIT;
    rs_coll_rank **ranks = calloc(n + 1, sizeof *ranks);
    rs_coll_job job;
    rs_clocks clocks;
    size_t wrong = 0;
    bool made = ranks != NULL;
    for (size_t r = 0; made && r < n; r++) made = (ranks[r] = make_clock(r, n, collectives)) != NULL;
    if (!made) exit(1); /* the system takes back what was made */
    double begin = now();
    if (rs_clock_match((const rs_coll_rank *const *)ranks, n, true, &job, &err) != RS_OK) exit(fail(&err));
    double match = now() - begin;
    begin = now();
    if (rs_clocks_find(&job, NULL, &clocks, &err) != RS_OK) exit(fail(&err));
    double find = now() - begin;
    for (size_t r = 1; r < n; r++)
        wrong +=
            clocks.of[r].certain_low > 1000 * (int64_t)r || clocks.of[r].certain_high < 1000 * (int64_t)r;
    printf(
        "{\"ranks\": %zu, \"collectives\": %zu, \"match\": %.6f, \"clocks\": %.6f, \"wrong\": %zu, \"peak\": %llu}\n",
        n, collectives, match, find, wrong, peak());
    rs_clocks_clear(&clocks);
    rs_coll_job_clear(&job);
    for (size_t r = 0; r < n; r++) rs_coll_rank_free(ranks[r]);
    free(ranks);
    return wrong > 0;
}

int main(int argc, char **argv)
{
    if (argc >= 3 && strcmp(argv[1], "replay") == 0) return replay(argv + 2, (size_t)argc - 2);
    if (argc == 4 && strcmp(argv[1], "clocks") == 0)
        return time_clocks(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    fprintf(stderr, "usage: bench-engine replay PATH... | clocks RANKS COLLECTIVES\n");
    return 2;
}
