/* annotations as HTA's get_gpu_user_annotation_breakdown: lengths of the annotations its window left. */
#include <string.h>

#include "analysis/annotations.h"
#include "base/try.h"
#include "peer/hta_fold.h"
#include "peer/hta_steps.h"
#include "peer/hta_window.h"

#define ROW(CELL)                                                                                            \
    CELL(TEXT_ID(rs_hta_row, name), "name", TEXT, NONE, "annotation, or others", NULL)                       \
    RS_HTA_FOLD_CELLS(CELL, "total length", "names")                                                         \
    CELL(RANK, "rank", INT, ID, "rank", NULL)
RS_RECORD(hta, ROW);

static bool is_kept(const char *name, const char *list)
{
    for (const char *at = list; at && *at;) {
        size_t n = strcspn(at, ",");
        for (const char *p = name; n && *p; p++)
            if (strncmp(p, at, n) == 0) return true;
        at += n;
        if (*at) at++;
    }
    return false;
}

/* All annotations of one name, by their length, then name. */
typedef struct annotation {
    uint32_t name;
    rs_moments length; /* ns */
} annotation;
typedef struct span {
    uint32_t name;
    int64_t length;
} span;
enum { ANNOTATIONS, FOLDED };

static rs_status put_annotations(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    const rs_frame_rows *f;
    const rs_events *e = trace->events;
    bool gpu = rs_annotations_of_gpu(run->options, true);
    RS_TRY(rs_trace_hta_frame(trace, run->policy, &f, err));
    for (size_t i = 0; i < f->n; i++)
        if (rs_event_kind(e, f->row[i]) == (gpu ? RS_KIND_GPU_USER_ANNOTATION : RS_KIND_USER_ANNOTATION))
            rs_put(out, ANNOTATIONS,
                   &(span){rs_put_text(out, e->name[f->row[i]]), rs_sub_sat(f->end[i], f->start[i])});
    return RS_OK;
}

static rs_status put_folded(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    (void)trace;
    (void)err;
    const annotation *of = RS_ROWS(annotation, out, ANNOTATIONS);
    size_t n = out->items[ANNOTATIONS].n;
    rs_hta_named *items = RS_ROOM(out, rs_hta_named, n);
    for (size_t i = 0; items && i < n; i++)
        items[i] = (rs_hta_named){
            .name = of[i].name,
            .time = of[i].length,
            .keep = is_kept(rs_relations_text(out, of[i].name), rs_options_text(run->options, "keep"))};
    if (items)
        rs_hta_fold(items, n, 0, rs_options_real(run->options, "duration-ratio"),
                    (size_t)rs_options_int(run->options, "top"), out, FOLDED);
    return RS_OK;
}

static void note(const rs_run *run, const rs_partial *partial, const rs_relations *of, rs_result *result)
{
    if (of->items[ANNOTATIONS].n == 0)
        rs_result_note(result, "rank %lld: no user annotations on the %s", (long long)partial->rank,
                       rs_annotations_of_gpu(run->options, true) ? "GPU" : "host");
}

static const rs_aggregate by_name[] = {RS_KEY_TEXT(annotation, name, span, name),
                                       RS_MOMENTS(annotation, length, span, length)};
static const rs_order by_length[] = {RS_FALLING(annotation, length.sum), RS_RISING_TEXT(annotation, name)};
static const rs_order by_text[] = {RS_RISING_TEXT(rs_hta_row, name)};
static const rs_layout folded_layout = RS_RECORD_LAYOUT(rs_hta_row, hta);
static const rs_plan_relation relations[] = {
    {RS_GROUPED(ANNOTATIONS, annotation, span, by_name), .make = put_annotations, RS_IN_ORDER(by_length)},
    {RS_LISTED(FOLDED, rs_hta_row, &folded_layout), .make = put_folded, RS_IN_ORDER(by_text)},
};
static const rs_plan_table table = {
    RS_PLAN_TABLE("annotations",
                  "one row is one annotation name of one rank, as HTA's get_gpu_user_annotation_breakdown",
                  hta),
    .relation = FOLDED};
static const rs_table_spec *const tables[] = {&table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .note = note};

const rs_peer_row rs_peer_hta_annotations = {RS_HTA_ROW("annotations"), .plan = &plan};
