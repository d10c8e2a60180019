/* own_format FILE: recordings of a format that the library does not know. A program reads its own, and hands over a trace in
 * memory. Here a line is START,DURATION,STREAM,NAME: microseconds of a kernel. */
#include "common.h"

/* Text that grows. */
static struct {
    char *bytes;
    size_t n, room;
} trace;

static bool add(const char *text)
{
    size_t n = strlen(text);
    if (trace.n + n + 1 > trace.room) {
        size_t room = (trace.n + n + 1) * 2;
        char *bytes = realloc(trace.bytes, room);
        if (!bytes) return false;
        trace.bytes = bytes;
        trace.room = room;
    }
    memcpy(trace.bytes + trace.n, text, n + 1);
    trace.n += n;
    return true;
}

/* A line as an event; what is no such line is passed over. Names with quotes or backslashes would need to be escaped. */
static bool add_line(const char *line)
{
    double start, duration;
    long stream;
    char name[256], event[512];
    if (sscanf(line, "%lf,%lf,%ld,%255[^\"\\\n]", &start, &duration, &stream, name) != 4) return true;
    snprintf(
        event, sizeof event,
        "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":%ld,\"ts\":%.3f,\"dur\":%.3f,"
        "\"args\":{\"device\":0,\"stream\":%ld}}",
        trace.bytes[trace.n - 1] == '[' ? "" : ",", name, stream, start, duration, stream);
    return add(event);
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!file) {
        fprintf(stderr, "usage: own_format FILE\n");
        return 2;
    }
    char line[512];
    bool good = add("{\"traceEvents\":[");
    while (good && fgets(line, sizeof line, file)) good = add_line(line);
    fclose(file);
    int code = 2;
    if (good && add("]}")) {
        rs_error err = RS_ERROR_INIT;
        rs_job_settings settings = default_settings();
        rs_job *job;
        if (rs_job_open_bytes(trace.bytes, trace.n, argv[1], &settings, &job, &err) == RS_OK) {
            code = ask(job, "kernels", NULL, NULL);
            rs_job_close(job);
        } else {
            code = failed(&err);
        }
    }
    free(trace.bytes);
    return code;
}
