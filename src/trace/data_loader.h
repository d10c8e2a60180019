/* Data loading on the host: annotations and operators that a data loader is named in, such as PyTorch's
 * enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__. */
#pragma once

#include "trace/facet.h"

/* A call of a data loader. What is in an earlier one counts there: `from` is where its own time begins, and
 * calls that have none are left out. */
typedef struct rs_loader_call {
    uint32_t row;
    int64_t from, end; /* ns */
} rs_loader_call;

typedef struct rs_data_loader {
    uint8_t *named;        /* by string id: a data loader is named */
    rs_loader_call *calls; /* by start */
    size_t n;
} rs_data_loader;

extern const rs_facet rs_facet_data_loader;
rs_status rs_trace_data_loader(rs_trace *trace, const rs_data_loader **out, rs_error *err);
