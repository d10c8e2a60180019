/* overlap: how much of the communication computation hides. */
#include <string.h>

#include "analysis/plan.h"
#include "base/memory.h"
#include "base/try.h"
#include "match/host_job.h"
#include "trace/selection.h"
#include "trace/busy.h"
#include "trace/recordings.h"
#include "trace/structure.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "rank|phase", "rank",
     "phase: communication of the forward and the backward pass and of the optimizer, and whose computation hides it"},
};

enum { OWN, PHASES };

#define OWN_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_busy, comm), "comm_us", TIME, US, "communication runs", "communication")                      \
    CELL(OF(rs_busy, overlapped_comm), "overlapped_us", TIME, US, "communication and computation run",       \
         "overlapped")                                                                                       \
    CELL(OF(rs_busy, exposed_comm), "exposed_us", TIME, US, "communication runs and no computation",         \
         "exposed")                                                                                          \
    CELL(SHARE(rs_busy, overlapped_comm, comm), "overlap_pct", REAL, PERCENT,                                \
         "overlapped_us of comm_us; unknown without communication", "overlap %")                             \
    CELL(SHARE(rs_busy, exposed_comm, span), "exposed_pct_of_span", REAL, PERCENT,                           \
                                                                                                             \
         "exposed_us of the time from the first GPU event to the last; without a GPU of all events",         \
         "exposed % of span")                                                                                \
    CELL(OF(rs_busy, n_class[RS_CLASS_COMM]), "comm_events", INT, COUNT,                                     \
         "communication kernels; without a GPU spans of the host (gloo:*)", "comm. events")
RS_RECORD(own, OWN_ROW);

/* Communication of one phase, or of all. */
typedef struct phase_row {
    uint32_t phase; /* text */
    size_t n;
    int64_t comm, own, other, exposed, overlapped;
} phase_row;

#define PHASE_ROW(CELL)                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(                                                                                                    \
        TEXT_ID(phase_row, phase), "phase", TEXT, NONE,                                                      \
        "phase that launched the communication: forward, backward, optimizer, unknown; all: the whole rank", \
        NULL)                                                                                                \
    CELL(OF(phase_row, comm), "comm_us", TIME, US, "communication of the phase runs", "communication")       \
    CELL(OF(phase_row, overlapped), "overlapped_us", TIME, US,                                               \
         "communication of the phase and any computation run", "overlapped")                                 \
    CELL(OF(phase_row, own), "by_own_us", TIME, US, "of it, while computation of the same phase runs",       \
         "by own phase")                                                                                     \
    CELL(OF(phase_row, other), "by_other_us", TIME, US,                                                      \
         "of it, while only computation of other phases runs, as DualPipe arranges it", "by other phases")   \
    CELL(OF(phase_row, exposed), "exposed_us", TIME, US,                                                     \
         "communication of the phase runs and no computation", "exposed")                                    \
    CELL(SHARE(phase_row, overlapped, comm), "overlap_pct", REAL, PERCENT, "overlapped_us of comm_us",       \
         "overlap %")                                                                                        \
    CELL(OF(phase_row, n), "comm_events", INT, COUNT, "communication kernels", "comm. events")
RS_RECORD(phase, PHASE_ROW);

/* Of a job without a GPU: communication that the host runs, and what operators hide of it. */
static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    const rs_busy *gpu;
    rs_host_job host = {0};
    int64_t first, last;
    RS_TRY(rs_trace_busy(trace, run->policy, &gpu, err));
    rs_busy b = *gpu;
    if (!b.n) RS_TRY(rs_trace_host_job(trace, &host, err));
    if (host.n_spans) {
        RS_TRY(rs_trace_selected_span(trace, &first, &last, err));
        b.n_class[RS_CLASS_COMM] = host.n_spans;
        b.comm = host.communication;
        b.exposed_comm = host.waiting;
        b.overlapped_comm = rs_sub_sat(host.communication, host.waiting);
        b.span = first == RS_NO_TIME
                     ? 0
                     : rs_sub_sat(rs_sub_sat(last, first), rs_trace_unrecorded(trace, first, last));
    }
    rs_put(out, OWN, &b);
    return RS_OK;
}

/* The phase of each piece of work; the caller frees it. */
static rs_status find_phases(rs_trace *trace, const rs_work *work, uint8_t **out, rs_error *err)
{
    const rs_structure *s;
    *out = NULL;
    RS_TRY(rs_trace_structure(trace, RS_FROM_AUTO, &s, err));
    uint8_t *phases = rs_malloc(work->n + 1);
    if (!phases) return rs_fail_nomem(err, "phases of GPU work");
    for (size_t i = 0; i < work->n; i++) {
        size_t at = rs_structure_at(s, work->row[i]);
        phases[i] = at == SIZE_MAX ? RS_PHASE_UNKNOWN : s->phase[at];
    }
    *out = phases;
    return RS_OK;
}

/* Communication of one phase against computation of the same and of any. */
static rs_status put_phase(const rs_work *work, const uint8_t *phases, uint8_t phase,
                           const rs_interval_set *compute, rs_relations *out, rs_error *err)
{
    rs_interval *comm = NULL, *own = NULL;
    rs_interval_set sets[3] = {{NULL, 0}, {NULL, 0}, *compute};
    int64_t time[8] = {0};
    phase_row row = {.phase = rs_put_string(out, rs_phase_names[phase])};
    bool ok = rs_work_union_in(work, RS_CLASS_COMM, phases, phase, &comm, &sets[0].n) &&
              rs_work_union_in(work, RS_CLASS_COMPUTE, phases, phase, &own, &sets[1].n);
    sets[0].items = comm;
    sets[1].items = own;
    if (ok) rs_intervals_sweep(sets, 3, 1, time);
    for (size_t i = 0; ok && i < work->n; i++) row.n += work->class[i] == RS_CLASS_COMM && phases[i] == phase;
    row.comm = rs_intervals_length(comm, sets[0].n);
    row.own = time[7];
    row.other = time[5];
    row.exposed = time[1];
    row.overlapped = row.own + row.other;
    if (row.n) rs_put(out, PHASES, &row);
    rs_free_all(comm, own);
    return ok ? RS_OK : rs_fail_nomem(err, "communication of a phase");
}

static rs_status put_phases(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    const rs_work *work;
    const rs_busy *b = RS_ROWS(rs_busy, out, OWN);
    RS_LOCAL uint8_t *phases = NULL;
    RS_LOCAL rs_interval *items = NULL;
    rs_interval_set compute = {NULL, 0};
    RS_TRY(rs_trace_work(trace, run->policy, &work, err));
    RS_TRY(find_phases(trace, work, &phases, err));
    if (!rs_work_union(work, RS_CLASS_COMPUTE, &items, &compute.n))
        return rs_fail_nomem(err, "computation of a rank");
    compute.items = items;
    for (int p = 1; p <= RS_N_PHASES; p++) /* unknown comes last */
        RS_TRY(put_phase(work, phases, (uint8_t)(p % RS_N_PHASES), &compute, out, err));
    rs_put(out, PHASES,
           &(phase_row){.phase = rs_put_string(out, "all"),
                        .n = b->n_class[RS_CLASS_COMM],
                        .comm = b->comm,
                        .own = RS_NO_VALUE,
                        .other = RS_NO_VALUE,
                        .exposed = b->exposed_comm,
                        .overlapped = b->overlapped_comm});
    return RS_OK;
}

static void note(const rs_run *run, const rs_partial *partial, const rs_relations *of, rs_result *result)
{
    (void)run;
    if (RS_ROWS(rs_busy, of, OWN)->n_class[RS_CLASS_COMM] == 0)
        rs_result_note(result, "rank %lld: no communication", (long long)partial->rank);
}

static const rs_field phase_fields[] = {RS_FIELD_TEXT_ID(phase_row, phase),
                                        RS_FIELDS(phase_row, n, comm, own, other, exposed, overlapped)};
static const rs_layout phase_layout = RS_LAYOUT(phase_row, phase_fields);
static const rs_plan_relation relations[] = {[OWN] = {RS_LISTED(OWN, rs_busy, &rs_busy_layout), .make = put},
                                             [PHASES] = {RS_LISTED(PHASES, phase_row, &phase_layout),
                                                         .make = put_phases,
                                                         .choice = RS_WITH(RS_IS("by", "phase"))}};
static const rs_plan_table table = {RS_PLAN_TABLE("overlap", "one row is one rank", own), .relation = OWN},
                           phase_table = {RS_PLAN_TABLE("phases",
                                                        "one row is one phase of one rank; with --by phase",
                                                        phase),
                                          .relation = PHASES, .choice = RS_WITH(RS_IS("by", "phase"))};
static const rs_table_spec *const tables[] = {&table.spec, &phase_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .note = note};

static uint64_t more_columns(const rs_options *given)
{
    static const rs_facet *const facets[] = {&rs_facet_structure};
    const char *by = rs_options_text(given, "by");
    return by && strcmp(by, "phase") == 0 ? rs_facet_columns(facets, 1) : 0;
}

const rs_analysis rs_analysis_overlap = {
    .name = "overlap",
    .group = "breakdown",
    .help = "How much of each rank's communication is hidden by computation",
    .about =
        "Communication is recognised by the kernel's name (NCCL, RCCL and the others of the kernel-class "
        "table), time\n"
        "is that of unions: two collectives at once count once. A rank without communication has no "
        "percentage.\n\n"
        "A job without a GPU communicates on the host: spans gloo:*, mpi:*, ucc:*, which operators that compute "
        "on any\nthread hide.\n\n"
        "--by phase: which phase communicates, and whether its own computation hides that or another phase's. The\n"
        "phase is that of the launch (command structure). Where two phases communicate at once each has that time,\n"
        "so phases may add up to more than the row all.",
    .examples = "rankscope overlap traces/\nrankscope overlap --by phase trace.json.gz\n"
                "rankscope overlap --compat hta --format csv traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .more_columns = more_columns,
    .facets = {&rs_facet_busy},
    .spares = RS_USUAL_COLUMNS,
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
};
