/* Sources of evidence next to the dumps: logs, NCCL's RAS reports, and what else a cluster writes. A source is one row: how its
 * files are recognised, read, and what settles a contradiction. What it says are events (log.h), which are given their ranks,
 * weighed and shown the same way whatever wrote them. Internal to src/packs/flight. */
#pragma once

#include "flight/causation.h"
#include "flight/log.h"
#include "input/source.h"

typedef struct rs_fl_source {
    rs_flight_file file;
    const char *title;                                              /* as in sentences: "NCCL RAS" */
    bool (*knows)(const char *path, const uint8_t *text, size_t n); /* by a file's name and its first bytes */
    rs_status (*read)(rs_flight *flight, rs_source *from, rs_error *err);
    /* Adds the source's events, once dumps and all files are read. False when out of memory. NULL: reading does. */
    bool (*testify)(rs_flight *flight);
    void (*clear)(rs_flight *flight); /* NULL: nothing of its own */
    const char *blind;                /* why it may show nothing though a job hangs, as a sentence */
    const char *decides;              /* the measurement that settles a contradiction */
} rs_fl_source;

/* The row that knows a file by its name and the first bytes of its text; NULL: none does. */
const rs_fl_source *rs_fl_source_of(const char *path, const uint8_t *text, size_t n);
/* Reads a file if a row knows it. *taken: whether one did. */
rs_status rs_fl_read_source(rs_flight *flight, const char *path, bool *taken, rs_error *err);
/* Reads what the settings give in memory. */
rs_status rs_fl_read_given(rs_flight *flight, rs_error *err);
/* Reads a whole text of at most `most` bytes. What is longer is a loss of the file, and *text NULL. */
rs_status rs_fl_read_whole(rs_flight *flight, rs_source *from, size_t most, uint8_t **text, size_t *n,
                           rs_error *err);
/* The events of all sources but the log. False when out of memory. */
/* Whether anything but dumps and logs was read. */
bool rs_fl_has_sources(const rs_flight *flight);
bool rs_fl_hear_sources(rs_flight *flight);
void rs_fl_clear_sources(rs_flight *flight);

/* The job's events; made when it is not there. NULL when out of memory. */
rs_fl_log *rs_fl_events_of(rs_flight *flight);
/* An event of a source's row; `text` follows the rank's name ("has launched ..."). NULL when out of memory. */
rs_fl_event *rs_fl_testify(rs_flight *flight, rs_flight_file from, rs_fl_event_kind kind, int64_t rank,
                           uint32_t host, const char *text, uint32_t file, int64_t line);

/* Leaves out of the findings about ranks without a dump those that no source accuses, where it accuses another of them. */
void rs_fl_narrow_by_sources(rs_fl_analysis *a);
/* Where neither a dump nor a log names a rank: the ranks whose position keeps the others waiting, in a job that does not move. */
rs_status rs_fl_judge_sources(rs_fl_analysis *a, rs_error *err);
/* The answer of the sources that accuse no rank, where there is no dump. False: no source but the log was read, or out of memory
 * (text NULL). */
bool rs_fl_answer_of_sources(rs_flight *flight, rs_flight_finding *out);
/* Where nothing hangs and no dump shows a rank that is late: the slow ranks and links that the sources name. */
rs_status rs_fl_judge_conditions(rs_fl_analysis *a, rs_error *err);
/* Adds to the proof of the verdict one line a source: whether it agrees, where, and what decides when it does not. */
bool rs_fl_prove_sources(rs_fl_analysis *a, const rs_flight_finding *root);
/* What contradicts a verdict that nothing is wrong, "" when nothing does; NULL when out of memory. */
const char *rs_fl_objections(rs_flight *flight);

/* ras.c */
extern const rs_fl_source rs_fl_ras_source;
/* inspector.c */
extern const rs_fl_source rs_fl_inspector_source;
/* The id of a host's name as the log has it: without its domain and port, unless it is an address. RS_NO_STRING: out of memory. */
uint32_t rs_fl_add_host(rs_flight *flight, const char *text, size_t n);

/* machine_tests.c */
extern const rs_fl_source rs_fl_machine_tests_source;
/* prometheus.c */
extern const rs_fl_source rs_fl_prometheus_source;
/* compiled.c */
extern const rs_fl_source rs_fl_compile_source;
/* stack_files.c */
/* The stacks of one process, as py-spy or faulthandler print them: of that rank (-1 unknown), or of the serving engine's process that
 * the text names. What is neither is left out. False when out of memory. */
bool rs_fl_take_stacks(rs_flight *flight, int64_t rank, uint32_t file, int64_t line, const char *text,
                       size_t n);
extern const rs_fl_source rs_fl_stacks_source;
