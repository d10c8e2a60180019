/* Is the capture fit: what is missing or broken, which analyses that disables, how to record it better. */

#include "analysis/analysis.h"
#include "base/stats.h"
#include "analysis/doctor_checks.h"
#include "base/memory.h"

static const char *const levels[] = {"ok", "note", "warning", "unfit"};

#define FINDING_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(WORD(rs_doctor_finding, level, levels), "severity", TEXT, NONE, "ok, note, warning or unfit", NULL) \
    CELL(SET, "check", TEXT, NONE, "what was checked", NULL)                                                 \
    CELL(OF(rs_doctor_finding, text), "finding", TEXT, NONE, "what was found, with its number", NULL)        \
    CELL(OF(rs_doctor_finding, count), "count", INT, COUNT, "how many events or calls it concerns", NULL)    \
    CELL(SET, "disables", TEXT, NONE, "analyses that it disables or weakens", NULL)                          \
    CELL(SET, "remedy", TEXT, NONE, "what to do in the next recording", NULL)
RS_RECORD(finding, FINDING_ROW);

#define LAUNCH_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(OF(rs_call_coverage, name), "call", TEXT, NONE, "runtime or driver call that launches work", NULL)  \
    CELL(OF(rs_call_coverage, calls), "calls", INT, COUNT, "calls", NULL)                                    \
    CELL(OF(rs_call_coverage, with_work), "with_work", INT, COUNT, "calls whose GPU work is in the file",    \
         "with work")                                                                                        \
    CELL(OF(rs_call_coverage, work), "work", INT, COUNT, "GPU events they own", NULL)                        \
    CELL(SET, "coverage_pct", REAL, PERCENT, "share of calls with work", "coverage")
RS_RECORD(launch, LAUNCH_ROW);

static const rs_table_spec findings_table =
    RS_TABLE("findings", "One row a rank and check.", finding_columns);
static const rs_table_spec launches_table =
    RS_TABLE("launches", "One row a rank and launching call: is its work in the file?", launch_columns);

static void findings_free(void *partial)
{
    rs_findings *f = partial;
    for (size_t i = 0; i < f->n; i++) rs_free(f->items[i].text);
    rs_free(f->items);
    for (size_t i = 0; i < f->n_calls; i++) rs_free(f->calls[i].name);
    rs_free_all(f->calls, f);
}

static rs_status doctor_rank(const rs_run *run, rs_trace *t, void **partial, rs_error *err)
{
    (void)run;
    rs_findings *f = rs_calloc(1, sizeof *f);
    if (!f) return rs_fail_nomem(err, "findings");
    *partial = f;
    rs_status status = rs_doctor_examine(t, f, err);
    f->events = NULL; /* they are released before the merge */
    if (status == RS_OK && f->out_of_memory) status = rs_fail_nomem(err, "findings");
    return status;
}

static rs_status doctor_merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result,
                              rs_error *err)
{
    (void)run;
    rs_table *table = result->tables[0], *launches = result->tables[1];
    rs_status status = RS_OK;
    /* the worst comes first; within one severity ranks stay together */
    for (int level = RS_UNFIT; level >= RS_FINE; level--) {
        for (size_t i = 0; status == RS_OK && i < n; i++) {
            const rs_findings *f = partials[i].value;
            for (size_t k = 0; status == RS_OK && k < f->n; k++) {
                const rs_doctor_finding *one = &f->items[k];
                if ((int)one->level != level) continue;
                if (level == RS_UNFIT) result->found = true;
                rs_table_put(table, &finding_record, partials[i].rank, one);
                rs_table_set_text(table, "check", one->check->name);
                rs_table_set_text(table, "disables", level == RS_FINE ? NULL : one->check->disables);
                rs_table_set_text(table, "remedy", level == RS_FINE ? NULL : one->remedy);
                status = rs_table_end_row(table, err);
            }
        }
    }
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_findings *f = partials[i].value;
        for (size_t k = 0; status == RS_OK && k < f->n_calls; k++) {
            const rs_call_coverage *c = &f->calls[k];
            rs_table_put(launches, &launch_record, partials[i].rank, c);
            rs_table_set_real(launches, "coverage_pct", c->calls ? rs_percent(c->with_work, c->calls) : 0);
            status = rs_table_end_row(launches, err);
        }
    }
    return status;
}

static const rs_table_spec *const tables[] = {&findings_table, &launches_table};
static const rs_table_set table_sets[] = {{RS_COMPAT_NONE, tables, 2}};

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field check_fields[] = {
    RS_FIELD(rs_doctor_check, name),
    RS_FIELD_OR_NULL(rs_doctor_check, disables),
};
static const rs_layout check_layout = RS_LAYOUT(rs_doctor_check, check_fields);

static const rs_field finding_fields[] = {
    RS_FIELD_ONE(rs_doctor_finding, check, &check_layout),
    RS_FIELD(rs_doctor_finding, remedy),
};
static const rs_layout finding_layout = RS_RECORD_LAYOUT_AND(rs_doctor_finding, finding, finding_fields);
static const rs_layout coverage_layout = RS_RECORD_LAYOUT(rs_call_coverage, launch);

static const rs_field findings_fields[] = {
    RS_FIELD_LIST(rs_findings, items, n, &finding_layout),
    RS_FIELD_LIST(rs_findings, calls, n_calls, &coverage_layout),
};
static const rs_layout findings_layout = RS_LAYOUT(rs_findings, findings_fields);

const rs_analysis rs_analysis_doctor = {
    .name = "doctor",
    .group = "Any trace",
    .help = "Is the capture fit: what is missing or broken, what that disables, how to record it better",
    .about = "Checks whether a trace can carry the analyses: launches whose work is missing (and for which "
             "call), work that "
             "starts before its launch, repeated correlation ids, work overlapping on one stream, missing "
             "rank, steps, shapes, "
             "stacks or sync events, buffers the profiler dropped, damaged or truncated text, clock units. "
             "Each finding names "
             "the analyses it disables or weakens and the profiler option that fixes the next recording. "
             "Exit code 1 when a capture is unfit: an analysis that most people want cannot be right on it.",
    .examples = "rankscope doctor traces/\nrankscope doctor --table launches trace.json.gz",
    .facets = {&rs_facet_links, &rs_facet_work_details, &rs_facet_steps, &rs_facet_span},
    .columns = RS_COLUMN_BIT(INPUT_DIMS) | RS_COLUMN_BIT(COLLECTIVE) | RS_COLUMN_BIT(IN_NELEMS) |
               RS_COLUMN_BIT(GROUP_NAME) | RS_COLUMN_BIT(PYTHON_ID),
    .table_sets = table_sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_RANKS,
    .follows_not = "it judges the whole capture",
    .rank = doctor_rank,
    .merge = doctor_merge,
    .free_partial = findings_free,
    .partial_layout = &findings_layout,
};
