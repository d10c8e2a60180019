/* A writer that only counts: how long would it be? */
#pragma once

#include "text/writer.h"

typedef struct rs_meter {
    rs_sink sink;
    size_t n, most;
    rs_writer writer;
} rs_meter;

/* Once more than `most` bytes came, the writer has failed: whoever writes may stop. The meter must stay where it is. */
void rs_meter_init(rs_meter *meter, size_t most);
/* The bytes written so far. */
size_t rs_meter_bytes(const rs_meter *meter);
