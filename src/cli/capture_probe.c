/* Asking a machine's tools what it is: the profiler for its version, rocm-smi and its like for the devices.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "cli/capture.h"
#include "input/json.h"

#define PATIENCE_MS 5000
#define MOST_OUTPUT ((size_t)1 << 20)

bool rs_capture_on_path(const char *program, char *path, size_t size)
{
    const char *all = getenv("PATH");
    if (!all) all = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        size_t n = strcspn(all, ":");
        char full[4096];
        int length = n ? snprintf(full, sizeof full, "%.*s/%s", (int)n, all, program)
                       : snprintf(full, sizeof full, "./%s", program);
        struct stat info;
        if (length > 0 && (size_t)length < sizeof full && access(full, X_OK) == 0 && stat(full, &info) == 0 &&
            S_ISREG(info.st_mode)) {
            if (path) snprintf(path, size, "%s", full);
            return true;
        }
        if (!all[n]) return false;
        all += n + 1;
    }
}

/* ---- running a tool ------------------------------------------------------------------------------------ */

static int64_t now_ms(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void become(const char *const *words, int output)
{
    int nothing = open("/dev/null", O_RDWR);
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDERR_FILENO);
    }
    dup2(output, STDOUT_FILENO);
    setpgid(0, 0); /* so that what it starts can be ended with it */
    execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

/* Reads until the end, the limit or the time is over; whether the end came. */
static bool read_all(int fd, char *text, size_t max, size_t *n, int64_t deadline)
{
    for (;;) {
        int64_t left = deadline - now_ms();
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int ready = left > 0 ? poll(&wait, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return false;
        char spill[4096];
        bool room = *n < max;
        ssize_t got = room ? read(fd, text + *n, max - *n) : read(fd, spill, sizeof spill);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got == 0;
        if (room) *n += (size_t)got;
    }
}

/* Ends a tool that has not ended by itself. */
static int end_of(pid_t pid, bool in_time, int64_t deadline)
{
    int status = 0;
    while (in_time && now_ms() < deadline) {
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid) return status;
        if (ended < 0 && errno != EINTR) return -1;
        poll(NULL, 0, 5);
    }
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) break;
    return -1;
}

/* What a program prints, terminated, at most max bytes: rs_free. NULL when it cannot be run, fails or takes
 * longer than five seconds; reason says which. */
static char *capture_output(const char *const *words, size_t max, char *reason, size_t reason_size)
{
    int ends[2];
    char *text = rs_malloc(max + 1);
    size_t n = 0;
    if (!text || pipe(ends) != 0) {
        snprintf(reason, reason_size, "%s could not be started", words[0]);
        rs_free(text);
        return NULL;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0) become(words, ends[1]);
    close(ends[1]);
    int64_t deadline = now_ms() + PATIENCE_MS;
    bool whole = pid > 0 && read_all(ends[0], text, max, &n, deadline);
    close(ends[0]);
    int status = pid > 0 ? end_of(pid, whole, deadline) : -1;
    text[n] = '\0';
    if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
    if (pid < 0)
        snprintf(reason, reason_size, "%s could not be started", words[0]);
    else if (status == -1)
        snprintf(reason, reason_size, "%s took longer than %d seconds", words[0], PATIENCE_MS / 1000);
    else if (WIFEXITED(status))
        snprintf(reason, reason_size, "%s failed with exit code %d", words[0], WEXITSTATUS(status));
    else
        snprintf(reason, reason_size, "%s was ended by signal %d", words[0], WTERMSIG(status));
    rs_free(text);
    return NULL;
}

/* The first version number in a text: "2025.1.1", "1.0.0-rc2"; false when there is none. */
static bool capture_version(const char *text, char *out, size_t size)
{
    for (const char *p = text; *p; p++) {
        bool begins = rs_is_digit(*p) && (p == text || (!rs_is_alnum(p[-1]) && p[-1] != '.' && p[-1] != '/'));
        size_t digits = begins ? strspn(p, "0123456789") : 0;
        if (!digits || p[digits] != '.' || !rs_is_digit(p[digits + 1])) continue;
        size_t n = 0;
        while (rs_is_alnum(p[n]) || (p[n] && strchr(".-+", p[n]))) n++;
        while (n && !rs_is_alnum(p[n - 1])) n--;
        snprintf(out, size, "%.*s", (int)(n < 60 ? n : 60), p);
        return true;
    }
    return false;
}

/* ---- devices ------------------------------------------------------------------------------------------- */

/* A growing JSON array of objects. */
typedef struct listing {
    char *text;
    size_t n, capacity;
    bool failed, in_object;
    size_t count;
} listing;

static void put(listing *l, const char *text, size_t n)
{
    if (l->failed || !rs_grow((void **)&l->text, &l->capacity, l->n + n + 1, 1)) {
        l->failed = true;
        return;
    }
    memcpy(l->text + l->n, text, n);
    l->n += n;
    l->text[l->n] = '\0';
}

/* Plain characters only: what a tool prints of a device is ASCII. */
static void put_string(listing *l, const char *text, size_t n)
{
    put(l, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"' || text[i] == '\\') put(l, "\\", 1);
        if ((unsigned char)text[i] >= ' ' && (unsigned char)text[i] < 0x7f) put(l, &text[i], 1);
    }
    put(l, "\"", 1);
}

static void device_begins(listing *l)
{
    const char *between = l->count++ ? ",\n    {" : "\n    {";
    put(l, between, strlen(between));
    l->in_object = false;
}

static void device_ends(listing *l)
{
    put(l, "}", 1);
}

static void member(listing *l, const char *name, const char *value, size_t n)
{
    while (n && rs_is_space(*value)) value++, n--;
    while (n && rs_is_space(value[n - 1])) n--;
    if (!n) return;
    if (l->in_object) put(l, ", ", 2);
    l->in_object = true;
    put_string(l, name, strlen(name));
    put(l, ": ", 2);
    bool number = n < 10 && strcmp(name, "index") == 0;
    for (size_t i = 0; i < n; i++) number = number && rs_is_digit(value[i]);
    if (number)
        put(l, value, n);
    else
        put_string(l, value, n);
}

/* "0, NVIDIA H100, GPU-..., 00000000:1A:00.0, 550.54", a line a GPU. */
static void read_nvidia(const char *text, listing *l)
{
    static const char *const names[] = {"index", "name", "uuid", "pci_bus", "driver"};
    while (*text) {
        size_t n = strcspn(text, "\n");
        const char *p = text, *end = text + n;
        if (memchr(text, ',', n)) {
            device_begins(l);
            for (size_t k = 0; k < 5 && p <= end; k++) {
                const char *comma = memchr(p, ',', (size_t)(end - p));
                member(l, names[k], p, (size_t)((comma ? comma : end) - p));
                p = comma ? comma + 1 : end + 1;
            }
            device_ends(l);
        }
        text = end + (*end == '\n');
    }
}

static const char *rocm_member(const rs_json_text *key)
{
    static const struct {
        const char *key, *name;
    } members[] = {{"Card Series", "name"}, {"Card series", "name"},         {"Unique ID", "uuid"},
                   {"PCI Bus", "pci_bus"},  {"GFX Version", "architecture"}, {"GUID", "guid"},
                   {"Card Model", "model"}, {"Card model", "model"}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strlen(members[i].key) == key->length && memcmp(members[i].key, key->bytes, key->length) == 0)
            return members[i].name;
    return NULL;
}

/* {"card0": {"Card Series": ..., "PCI Bus": ...}, ...} */
static void read_rocm_smi(const char *text, listing *l)
{
    rs_json_reader r;
    const char *brace = strchr(text, '{'); /* warnings may stand before it */
    if (!brace) return;
    rs_json_reader_init(&r, (const uint8_t *)brace, strlen(brace));
    if (rs_json_next(&r) != RS_JSON_T_OBJECT) return;
    while (rs_json_next(&r) == RS_JSON_T_KEY) {
        rs_json_text card = r.text;
        bool is_card = card.length > 4 && memcmp(card.bytes, "card", 4) == 0;
        rs_json_token t = rs_json_next(&r);
        if (t != RS_JSON_T_OBJECT) {
            if (t == RS_JSON_T_ARRAY ? !rs_json_leave(&r) : t == RS_JSON_T_ERROR) return;
            continue;
        }
        if (!is_card) {
            if (!rs_json_leave(&r)) return;
            continue;
        }
        device_begins(l);
        member(l, "index", (const char *)card.bytes + 4, card.length - 4);
        while ((t = rs_json_next(&r)) == RS_JSON_T_KEY) {
            const char *name = rocm_member(&r.text);
            t = rs_json_next(&r);
            if (name && (t == RS_JSON_T_STRING || t == RS_JSON_T_NUMBER))
                member(l, name, (const char *)r.text.bytes, r.text.length);
            if ((t == RS_JSON_T_OBJECT || t == RS_JSON_T_ARRAY) && !rs_json_leave(&r)) break;
        }
        device_ends(l);
        if (t != RS_JSON_T_OBJECT_END) return;
    }
}

/* A line "  Marketing Name:   AMD Instinct MI300X": the value of that name. */
static bool line_value(const char *line, size_t n, const char *name, const char **value, size_t *length)
{
    size_t from = 0, m = strlen(name);
    while (from < n && line[from] == ' ') from++;
    if (n - from <= m || memcmp(line + from, name, m) != 0 || line[from + m] != ':') return false;
    *value = line + from + m + 1;
    *length = n - from - m - 1;
    return true;
}

/* rocminfo: blocks that begin with "Agent N"; those of type GPU count, in their order. */
static void read_rocminfo(const char *text, listing *l)
{
    enum { NAME, MARKETING, UUID, TYPE, N_VALUES };
    static const char *const keys[N_VALUES] = {"Name", "Marketing Name", "Uuid", "Device Type"};
    const char *values[N_VALUES] = {NULL};
    size_t lengths[N_VALUES] = {0};
    for (bool more = true; more;) {
        size_t n = strcspn(text, "\n");
        more = text[n] == '\n';
        bool begins = n > 6 && memcmp(text, "Agent ", 6) == 0;
        for (int k = 0; k < N_VALUES; k++)
            if (!values[k]) line_value(text, n, keys[k], &values[k], &lengths[k]);
        text += n + more;
        if (!begins && more) continue;
        bool gpu = values[TYPE] != NULL;
        if (gpu) {
            const char *p = values[TYPE] + strspn(values[TYPE], " ");
            gpu = strncmp(p, "GPU", 3) == 0;
        }
        if (gpu) {
            char index[24];
            snprintf(index, sizeof index, "%zu", l->count);
            device_begins(l);
            member(l, "index", index, strlen(index));
            if (values[MARKETING]) member(l, "name", values[MARKETING], lengths[MARKETING]);
            if (values[NAME]) member(l, "architecture", values[NAME], lengths[NAME]);
            if (values[UUID]) member(l, "uuid", values[UUID], lengths[UUID]);
            device_ends(l);
        }
        memset(values, 0, sizeof values);
    }
}

typedef struct tool {
    const char *words[8];
    void (*read)(const char *text, listing *l);
    bool amd;
} tool;

static const tool tools[] = {
    {{"rocm-smi", "--showproductname", "--showuniqueid", "--showbus", "--json", NULL}, read_rocm_smi, true},
    {{"rocminfo", NULL}, read_rocminfo, true},
    {{"nvidia-smi", "--query-gpu=index,name,uuid,pci.bus_id,driver_version", "--format=csv,noheader", NULL},
     read_nvidia,
     false},
};
#define N_TOOLS (sizeof tools / sizeof *tools)

static bool ask(const tool *t, rs_capture_machine *out)
{
    listing l = {0};
    char *text = capture_output(t->words, MOST_OUTPUT, out->reason, sizeof out->reason);
    if (!text) return false;
    put(&l, "[", 1);
    t->read(text, &l);
    put(&l, l.count ? "\n  ]" : "]", l.count ? 4 : 1);
    rs_free(text);
    if (!l.failed && l.count) {
        out->devices = l.text;
        out->source = t->words[0];
        return true;
    }
    snprintf(out->reason, sizeof out->reason, "%s lists no GPU", t->words[0]);
    rs_free(l.text);
    return false;
}

void rs_capture_look(const char *profiler, rs_capture_machine *out)
{
    const char *const words[] = {profiler, "--version", NULL};
    bool amd = strcmp(profiler, "rocprofv3") == 0;
    *out = (rs_capture_machine){.reason = "none of rocm-smi, rocminfo and nvidia-smi is on PATH"};
    rs_capture_on_path(profiler, out->path, sizeof out->path);
    RS_LOCAL char *text = capture_output(words, MOST_OUTPUT, out->no_version, sizeof out->no_version);
    if (text && !capture_version(text, out->version, sizeof out->version))
        snprintf(out->no_version, sizeof out->no_version, "%s --version prints no version", profiler);
    /* the profiler's own vendor first */
    for (size_t i = 0; i < 2 * N_TOOLS && !out->devices; i++) {
        const tool *t = &tools[i % N_TOOLS];
        if ((t->amd == amd) == (i < N_TOOLS) && rs_capture_on_path(t->words[0], NULL, 0)) ask(t, out);
    }
}

void rs_capture_machine_clear(rs_capture_machine *machine)
{
    rs_free(machine->devices);
    machine->devices = NULL;
}

rs_capture_clocks rs_capture_now(void)
{
    struct timespec t[3] = {{0}};
    clock_gettime(CLOCK_REALTIME, &t[0]);
#ifdef CLOCK_BOOTTIME
    clock_gettime(CLOCK_BOOTTIME, &t[1]);
#endif
    clock_gettime(CLOCK_MONOTONIC, &t[2]);
    int64_t ns[3];
    for (int i = 0; i < 3; i++) ns[i] = (int64_t)t[i].tv_sec * 1000000000 + t[i].tv_nsec;
    return (rs_capture_clocks){ns[0], ns[1], ns[2]};
}
