/* Why: the origin that a log or a stack gives a root. */
#include "flight/causation.h"

#include "flight/roots.h"

#include <inttypes.h>
#include <string.h>

static rs_flight_cause *new_cause(rs_flight *flight, const char *kind, int64_t rank)
{
    rs_flight_cause *c = rs_arena_alloc(&flight->arena, sizeof *c);
    if (c) *c = (rs_flight_cause){.kind = kind, .rank = rank, .host = rs_fl_host_of(flight, rank), .code = INT64_MIN};
    return c;
}

/* The recorder answers without the interpreter's lock, the traceback needs it. */
static rs_status cause_by_answers(rs_fl_analysis *a, rs_fl_found *f, rs_error *err)
{
    for (size_t i = 0; !f->cause && i < f->finding.n_culprits; i++) {
        const rs_fl_note *note = rs_fl_note_of(a->flight, f->finding.culprits[i]);
        if (!note || !note->no_traceback || f->kind != RS_FLIGHT_ROOT_SILENT) continue;
        rs_flight_cause *c = new_cause(a->flight, "gil_or_driver", f->finding.culprits[i]);
        if (!c) return rs_fail_nomem(err, "a cause");
        c->text = "its recorder answers and its Python traceback does not";
        f->cause = c;
    }
    return RS_OK;
}

rs_status rs_fl_find_causes(rs_fl_analysis *a, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < a->n_found; i++) status = cause_by_answers(a, &a->found[i], err);
    return status;
}

bool rs_fl_has_log(const rs_flight *flight)
{
    (void)flight;
    return false;
}

const char *rs_fl_cause_text(rs_flight *flight, const rs_flight_root *row)
{
    return rs_fl_print(flight, "Rank %" PRId64 ": the GIL is held, or a driver call keeps it (%s).", row->rank, row->cause->text);
}

const char *rs_fl_cause_next(rs_flight *flight, const rs_flight_root *row)
{
    if (strcmp(row->cause->kind, "gil_or_driver") != 0) return NULL;
    return rs_fl_print(flight, "py-spy dump --native on the process of rank %" PRId64 ": it needs no GIL.", row->rank);
}
