#include "text/meter.h"

static bool count(void *context, const char *bytes, size_t n)
{
    rs_meter *meter = context;
    (void)bytes;
    meter->n += n;
    return meter->n <= meter->most;
}

void rs_meter_init(rs_meter *meter, size_t most)
{
    meter->n = 0;
    meter->most = most;
    meter->sink = (rs_sink){count, meter};
    rs_writer_init(&meter->writer, &meter->sink);
}

size_t rs_meter_bytes(const rs_meter *meter)
{
    return meter->n + meter->writer.used;
}
