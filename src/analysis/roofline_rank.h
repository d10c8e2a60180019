/* What a rank's operators computed and moved, for the tables of roofline. */
#pragma once

#include "analysis/analysis.h"
#include "base/stats.h"
#include "perf/devices.h"
#include "perf/owner.h"
#include "trace/measures.h"
#include "trace/pool.h"

/* The calls of one operator with one set of arguments. Texts are of the pool. */
typedef struct rs_roof_row {
    uint32_t name, dims, types, strides, concrete;
    uint32_t part; /* --by module: the module; --by step: the step; RS_NO_STRING: none, or not asked for */
    uint32_t uid;  /* of the first call, position in traceEvents */
    const char *family;
    bool lower, has_flops, has_bytes;
    bool tf32;                     /* its first call multiplied in tf32 */
    bool host_link;                /* a copy of its calls crossed the link to the host */
    int64_t matrix, vector, bytes; /* of one call */
    uint8_t precision;
    rs_moments time;      /* of the calls' GPU time, ns */
    rs_measured measured; /* with --measured: of their work */
} rs_roof_row;

typedef struct rs_roof_device {
    int64_t id;
    const char *name, *known_as; /* NULL: not recorded, not known */
    uint32_t name_id;
} rs_roof_device;

typedef struct rs_roof_rank {
    rs_pool pool;
    rs_roof_row *rows; /* by time, falling, then first call */
    size_t n;
    rs_roof_device *devices; /* as the file lists them */
    size_t n_devices;
    const char *known_as;     /* the rank's own device, in the table of devices; NULL: not known */
    bool described;           /* the file describes that device */
    int64_t linked, unlinked; /* durations of work that is no communication, ns */
    bool has_work;
    bool has_counters; /* with --measured: any measure is recorded */
} rs_roof_rank;

/* What rows are parted by besides operator and arguments. */
typedef enum rs_roof_part { RS_ROOF_WHOLE, RS_ROOF_MODULE, RS_ROOF_STEP } rs_roof_part;
rs_roof_part rs_roof_part_of(const rs_options *options);

rs_status rs_roof_rank_of(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
void rs_roof_free(void *partial);
extern const rs_layout rs_roof_layout;

/* The device that the rank's GPU work names, else the first; NULL: the file describes none. */
const rs_device *rs_rank_device(rs_trace *trace, rs_error *err, rs_status *status);
/* --device where it is a plain name: a wrong one is said before anything is computed. */
rs_status rs_check_device_option(const rs_run *run, rs_error *err);
/* The rates that count for a rank: of --device, else of what its device is known as. False: unknown. */
rs_status rs_rank_rates(const rs_run *run, const char *known_as, rs_rates *out, bool *known, rs_error *err);
