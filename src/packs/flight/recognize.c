/* What a file is, by its name and what it begins with. */
#define _GNU_SOURCE
#include <string.h>

#include "flight/files.h"
#include "flight/sources.h"

static bool holds(const void *text, size_t n, const char *wanted)
{
    return memmem(text, n, wanted, strlen(wanted)) != NULL;
}

/* Traces name process groups, too, and allocators' snapshots are pickles. */
static bool is_dump(const uint8_t *text, size_t n)
{
    static const char *const others[] = {"traceEvents", "schemaVersion", "device_traces", "segments"};
    static const char *const keys[] = {"pg_config", "pg_status", "nccl_version", "comm_lib_version"};
    if (text[0] != '{' && text[0] != 0x80) return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (holds(text, n, others[i])) return false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (holds(text, n, keys[i])) return true;
    return false;
}

bool rs_fl_is_named_log(const char *path)
{
    static const char *const ends[] = {".log", ".out", ".err"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (length > 4 && strcmp(path + length - 4, ends[i]) == 0) return true;
    return false;
}

rs_flight_file rs_flight_recognize(const char *path, const void *text, size_t n)
{
    if (n == 0) return RS_FLIGHT_FILE_OTHER;
    const rs_fl_source *row = rs_fl_source_of(path, text, n);
    return row ? row->file : is_dump(text, n) ? RS_FLIGHT_FILE_DUMP : RS_FLIGHT_FILE_OTHER;
}
