/* The report's section on flight-recorder dumps. */
#include "base/try.h"
#include "rankscope/flight.h"
#include "report/section.h"

static bool is_asked(const rs_report_settings *settings)
{
    return settings->n_flight > 0;
}

/* No usable dump is an answer, too: the page shows why. */
static rs_status gather(const rs_report_settings *settings, void **answer, rs_result *told, rs_error *err)
{
    rs_flight_settings flight = {.size = sizeof(rs_flight_settings),
                                 .jobs = settings->jobs,
                                 .progress = settings->progress,
                                 .progress_context = settings->progress_context};
    const rs_flight_report *report;
    rs_flight *opened = NULL;
    rs_status status = rs_flight_open(settings->flight, settings->n_flight, &flight, &opened, err);
    *answer = opened;
    if (opened) rs_report_tell_problems(told, rs_flight_problems(opened));
    if (status == RS_ERR_FORMAT && opened) {
        told->found = true;
        return RS_OK;
    }
    if (status == RS_OK) status = rs_flight_get_report(opened, &report, err);
    if (status == RS_OK) told->found |= report->root.verdict != RS_FLIGHT_HEALTHY;
    return status == RS_OK ? RS_OK : rs_error_wrap(err, "flight recorder");
}

static rs_status put_table(rs_report_data *data, rs_table *table, bool first, rs_error *err)
{
    const rs_report_part all = {.cap = RS_REPORT_WHOLE_TABLE};
    if (!table) return err->status;
    rs_status status = rs_report_put_part(data, table, &all, first, err);
    rs_table_free(table);
    return status;
}

static bool to_writer(void *context, const char *bytes, size_t n)
{
    rs_writer *writer = context;
    rs_writer_bytes(writer, bytes, n);
    return !writer->failed;
}

/* What `flight --format json` prints, and two of its tables where a dump was usable. */
static rs_status put(rs_report_data *data, void *answer, rs_error *err)
{
    rs_flight *flight = answer;
    rs_sink sink = {to_writer, data->writer};
    const rs_flight_report *report;
    rs_writer_text(data->writer, "{\"answer\":");
    RS_TRY(rs_flight_write_json(flight, &sink, err));
    rs_writer_text(data->writer, ",\"tables\":{");
    RS_TRY(rs_flight_get_report(flight, &report, err));
    if (report->n_ranks) {
        RS_TRY(put_table(data, rs_flight_groups(flight, NULL, err), true, err));
        RS_TRY(put_table(data, rs_flight_lateness(flight, err), false, err));
    }
    rs_writer_text(data->writer, "}}");
    return RS_OK;
}

static void free_answer(void *answer)
{
    rs_flight_close(answer);
}

const rs_report_section rs_report_section_flight = {
    .name = "flight", .is_asked = is_asked, .gather = gather, .put = put, .free = free_answer};
