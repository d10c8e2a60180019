/* A rankscope in which every allocation fails once:
 *
 *   failing SEEN REPORT rankscope COMMAND ARGUMENTS...
 *
 * runs the command as rankscope does, and before that, in a process of its own and a copy of the working folder, once for each
 * place of the program at which it allocates: there the allocation and all after it fail, and in a second run that one alone. A
 * place is the calls that led to it (the innermost DEPTH). SEEN is a file that keeps the places of all runs, so that none comes
 * twice; REPORT is a file to which a line is added for each run that broke the contract: out of memory is said with the exit code
 * of an unusable input, or the answer is the whole one; nothing is left behind; no crash, no leak, no end that does not come.
 *
 * tests/alloc/run lets it stand for rankscope in the command line's tests. */
#define _GNU_SOURCE
#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <ftw.h>
#include <locale.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/cli.h"

#include "../unit/support.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
void __sanitizer_set_report_fd(void *fd);
int __lsan_do_recoverable_leak_check(void);
#endif

#define DEPTH 10                      /* calls that tell one place from another */
#define LIMIT 60                      /* seconds of processor time for one run */
#define SLOTS ((size_t)1 << 20)       /* of the table of places */
#define MOST_ALLOCATIONS (1u << 20)   /* of one run that are looked at */
#define MOST_INPUT ((size_t)16 << 20) /* of standard input */

int rs_program_main(int argc, char **argv);

/* One worker, as long as the command does not say how many: allocations of several come in no fixed order. The linker puts this
 * in the place of sysconf. */
long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
    return name == _SC_NPROCESSORS_ONLN ? 1 : __real_sysconf(name);
}

static const char *report_path;
static uint64_t *seen; /* SLOTS hashes, shared by all processes; 0: free */
static char **words;
static int n_words, caught[2], input = -1;
static char command_line[1024];

static void tell(const char *format, ...) RS_PRINTF(1, 2);
static void tell(const char *format, ...)
{
    char line[4096];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    int fd = open(report_path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (n < 0 || fd < 0 || write(fd, line, strlen(line)) < 0) abort();
    close(fd);
}

/* ---- places ------------------------------------------------------------------------------------------- */

static uint64_t *places; /* of the allocations of the run that is watched */
static _Atomic size_t n_places;
extern const char __executable_start[];

static void watch(void)
{
    void *calls[DEPTH + 3];
    int n = backtrace(calls, DEPTH + 3);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 2; i < n; i++)
        hash = (hash ^ ((uint64_t)(uintptr_t)calls[i] - (uint64_t)(uintptr_t)__executable_start)) *
               UINT64_C(0x100000001b3);
    size_t at = atomic_fetch_add(&n_places, 1);
    if (at < MOST_ALLOCATIONS) places[at] = hash ? hash : 1;
}

/* The calls that led to the allocation that fails, for addr2line. */
static _Atomic uint64_t n_made, wanted;
static void *calls_there[DEPTH + 8];
static int n_calls_there;

static void watch_one(void)
{
    if (atomic_fetch_add(&n_made, 1) + 1 == atomic_load(&wanted))
        n_calls_there = backtrace(calls_there, DEPTH + 8);
}

static const char *calls_text(char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 2; i < n_calls_there && used < size; i++) {
        int n = snprintf(out + used, size - used, " %#zx",
                         (size_t)((uintptr_t)calls_there[i] - (uintptr_t)__executable_start - 1));
        used += n > 0 ? (size_t)n : size;
    }
    return out;
}

/* Whether nobody has been there; then this run is the one. */
static bool enter(uint64_t hash)
{
    for (size_t i = hash % SLOTS, steps = 0; steps < SLOTS / 2; i = (i + 1) % SLOTS, steps++) {
        uint64_t there = 0;
        if (__atomic_compare_exchange_n(&seen[i], &there, hash, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return true;
        if (there == hash) return false;
    }
    return false;
}

/* ---- the working folder ------------------------------------------------------------------------------- */

static const char *top_from;
static char top_to[64];

static int copy_one(const char *path, const struct stat *info, int kind, struct FTW *ftw)
{
    (void)ftw;
    char to[4096];
    if ((size_t)snprintf(to, sizeof to, "%s/%s", top_to, path) >= sizeof to) abort();
    if (strcmp(path, ".") == 0) return 0;
    if (kind == FTW_D) return mkdir(to, 0700);
    if (kind == FTW_SL) {
        char target[4096];
        ssize_t n = readlink(path, target, sizeof target - 1);
        if (n < 0) return 0;
        target[n] = '\0';
        return symlink(target, to);
    }
    if (kind != FTW_F || !S_ISREG(info->st_mode)) return 0;
    int in = open(path, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0600);
    char bytes[65536];
    for (ssize_t n; in >= 0 && out >= 0 && (n = read(in, bytes, sizeof bytes)) > 0;)
        if (write(out, bytes, (size_t)n) != n) abort();
    if (in >= 0) close(in);
    if (out >= 0) close(out);
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *ftw)
{
    (void)info;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The names in the working folder, each behind a line end. */
static text names_here(void)
{
    text t = {0};
    struct dirent **entries;
    int n = scandir(".", &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        text_printf(&t, "\n%s\n", entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0) free(entries);
    return t;
}

/* Takes away what was not there before; the first of these names. */
static void clear_new(const text *before, char first[256])
{
    struct dirent **entries;
    first[0] = '\0';
    int n = scandir(".", &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char line[300];
        snprintf(line, sizeof line, "\n%s\n", entries[i]->d_name);
        if (!strstr(before->s, line)) {
            /* a folder of results may stay, with those that were done */
            struct stat info;
            bool file = lstat(entries[i]->d_name, &info) == 0 && S_ISREG(info.st_mode);
            if (file && !first[0]) snprintf(first, 256, "%s", entries[i]->d_name);
            remove_tree(entries[i]->d_name);
        }
        free(entries[i]);
    }
    if (n >= 0) free(entries);
}

/* ---- runs --------------------------------------------------------------------------------------------- */

typedef struct said {
    int code;
    text out, err;
} said;

static text drain(int fd)
{
    text t = {0};
    char bytes[65536];
    lseek(fd, 0, SEEK_SET);
    for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0;) text_add(&t, bytes, (size_t)n);
    if (ftruncate(fd, 0) != 0) abort();
    lseek(fd, 0, SEEK_SET);
    text_add(&t, "", 1);
    t.n--;
    return t;
}

static void said_clear(said *s)
{
    text_clear(&s->out);
    text_clear(&s->err);
}

static void limit_time(void)
{
    const struct itimerval limit = {.it_value.tv_sec = LIMIT};
    setitimer(ITIMER_PROF, &limit, NULL);
}

static said call(void)
{
    said s;
    char **argv = calloc((size_t)n_words + 1, sizeof *argv);
    if (!argv) abort();
    memcpy(argv, words, (size_t)n_words * sizeof *argv);
    rs_command found;
    if (input >= 0) {
        lseek(input, 0, SEEK_SET);
        dup2(input, 0);
        clearerr(stdin);
    }
    limit_time();
    if (!rs_command_run_as(argv[0], n_words - 1, argv + 1, &s.code)) {
        if (n_words > 1 && rs_command_find(argv[1], &found))
            s.code = rs_command_call(&found, n_words - 2, argv + 2);
        else
            s.code = rs_program_main(n_words, argv);
    }
    fflush(NULL);
    free(argv);
    s.out = drain(caught[0]);
    s.err = drain(caught[1]);
    return s;
}

static bool is_same_text(const text *a, const text *b)
{
    return a->n == b->n && memcmp(a->s, b->s, a->n) == 0;
}

/* A store keeps what it can, and its list says what that is. */
static bool is_store_build(void)
{
    return n_words > 2 && strcmp(words[1], "store") == 0 && strcmp(words[2], "build") == 0;
}

/* Some write several files, of which those that were done may stay. */
static bool leaves_nothing(void)
{
    static const char *const several[] = {"generate", "--npus",         "--num_npus",
                                          "--check",  "--log-filename", "--comm-groups"};
    for (int i = 1; i < n_words; i++)
        for (size_t k = 0; k < sizeof several / sizeof *several; k++)
            if (strcmp(words[i], several[k]) == 0) return false;
    return true;
}

/* NULL, or what is wrong with a run in which memory was missing. */
static const char *judge(const said *whole, const said *s, const char *left)
{
    if (s->code == whole->code && is_same_text(&whole->out, &s->out)) {
        if (is_same_text(&whole->err, &s->err) || strstr(s->err.s, "memory")) return NULL;
        return "answers, and is silent about something";
    }
    if (s->code == 0 && is_store_build()) return NULL;
    if (s->code == 0) return "ends with 0 and another answer";
    if (s->code == RS_EXIT_LOSS) /* a rank or a value was left out, and that is told */
        return strstr(s->err.s, "memory") || strstr(s->err.s, "unrecorded") ? NULL : "names another loss";
    if (s->code != RS_EXIT_INPUT) return "ends with another code";
    if (!strstr(s->err.s, "memory")) return "names another cause";
    return left[0] && leaves_nothing() ? "leaves behind " : NULL;
}

/* The line of a in which b differs from it first. */
static const char *first_other(const text *a, const text *b, char *line, size_t size)
{
    size_t at = 0, begin = 0;
    for (; at < a->n && at < b->n && a->s[at] == b->s[at]; at++)
        if (a->s[at] == '\n') begin = at + 1;
    if (is_same_text(a, b)) begin = a->n;
    snprintf(line, size, "%.*s", (int)strcspn(a->s + begin, "\n"), a->s + begin);
    return line;
}

static bool once(const said *whole, const text *before, uint64_t from, uint64_t n)
{
    char left[256], place[24], lines[2][200], calls[512];
    snprintf(place, sizeof place, "%llu", (unsigned long long)from);
    atomic_store(&n_made, 0);
    atomic_store(&wanted, from);
    n_calls_there = 0;
    rs_test_watch_allocations(watch_one);
    rs_test_fail_allocations(from, n);
    said s = call();
    rs_test_fail_allocation(0);
    rs_test_watch_allocations(NULL);
    clear_new(before, left);
    const char *wrong = judge(whole, &s, left);
    for (char *c = s.err.s; *c; c++)
        if (*c == '\n') *c = '|';
    if (wrong)
        tell("%s: %s%s: %s%s; %d instead of %d: %.300s \"%s\" for \"%s\"; addr2line -pfe failing%s\n",
             command_line + strcspn(command_line, " ") + 1, n == 1 ? "allocation " : "allocations from ",
             place, wrong, left, s.code, whole->code, s.err.s,
             first_other(&s.out, &whole->out, lines[0], sizeof lines[0]),
             first_other(&whole->out, &s.out, lines[1], sizeof lines[1]), calls_text(calls, sizeof calls));
    said_clear(&s);
    return !wrong;
}

static void fail_each(void)
{
    for (int i = 0; i < 2; i++) {
        caught[i] = memfd_create("said", 0);
        if (caught[i] < 0 || dup2(caught[i], i + 1) < 0) abort();
    }
    text before = names_here();
    char left[256];
    said plain = call(); /* what is made once in a process is made here */
    clear_new(&before, left);
    rs_test_watch_allocations(watch);
    said whole = call();
    rs_test_watch_allocations(NULL);
    rs_test_fail_allocation(0);
    clear_new(&before, left);
    size_t n = atomic_load(&n_places) < MOST_ALLOCATIONS ? atomic_load(&n_places) : MOST_ALLOCATIONS,
           places_new = 0;
    /* What differs from run to run (a time, a folder's name) cannot be judged so. */
    bool steady = plain.code == whole.code && is_same_text(&plain.out, &whole.out);
    for (size_t i = 0; i < n && steady; i++) {
        if (!enter(places[i])) continue;
        places_new++;
        once(&whole, &before, i + 1, UINT64_MAX);
        once(&whole, &before, i + 1, 1);
    }
    tell("= %zu %zu %s%s\n", n, places_new, steady ? "" : "(differs by itself) ", command_line);
    said_clear(&plain);
    said_clear(&whole);
    text_clear(&before);
}

/* ---- one command -------------------------------------------------------------------------------------- */

/* Standard input may be read many times when it is a pipe's. */
static void keep_input(void)
{
    struct stat info;
    if (fstat(0, &info) != 0 || (!S_ISFIFO(info.st_mode) && !S_ISREG(info.st_mode))) return;
    char *bytes = malloc(MOST_INPUT);
    size_t n = 0;
    input = memfd_create("input", 0);
    if (!bytes || input < 0) abort();
    for (ssize_t got; n < MOST_INPUT && (got = read(0, bytes + n, MOST_INPUT - n)) > 0;) n += (size_t)got;
    if (write(input, bytes, n) != (ssize_t)n) abort();
    free(bytes);
    lseek(input, 0, SEEK_SET);
    dup2(input, 0);
}

/* What serves, waits, or runs another program. */
static bool is_endless(void)
{
    static const char *const known[] = {"view", "capture", "--watch", "--server", "--timeout"};
    for (int i = 1; i < n_words; i++)
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (strcmp(words[i], known[k]) == 0) return true;
    return false;
}

static void child(void)
{
    snprintf(top_to, sizeof top_to, "/tmp/failing-XXXXXX");
    top_from = ".";
    if (!mkdtemp(top_to)) abort();
    nftw(top_from, copy_one, 16, FTW_PHYS);
    if (chdir(top_to) != 0) abort();
    /* until a change of a file would show in its times: before, the store does not look at it, and allocations have other numbers */
    nanosleep(&(struct timespec){.tv_nsec = 70000000}, NULL);
    fail_each();
    if (chdir("/") != 0) abort();
    remove_tree(top_to);
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "failing SEEN REPORT rankscope COMMAND ARGUMENTS...\n");
        return 2;
    }
    setlocale(LC_CTYPE, "");
    report_path = argv[2];
    words = argv + 3;
    n_words = argc - 3;
    for (int i = 0; i < n_words; i++) {
        size_t used = strlen(command_line);
        snprintf(command_line + used, sizeof command_line - used, "%s%s", i ? " " : "", words[i]);
    }
    int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, SLOTS * sizeof *seen) != 0) abort();
    seen = mmap(NULL, SLOTS * sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    places = malloc(MOST_ALLOCATIONS * sizeof *places);
    if (seen == MAP_FAILED || !places) abort();
    close(fd);
    if (!is_endless()) {
        keep_input();
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
#ifdef HAS_ASAN
            __sanitizer_set_report_fd((void *)(intptr_t)dup(2));
#endif
            child();
            free(places);
#ifdef HAS_ASAN
            if (__lsan_do_recoverable_leak_check()) tell("%s: leaks\n", command_line);
#endif
            exit(0);
        }
        int status;
        if (pid < 0 || waitpid(pid, &status, 0) < 0) abort();
        if (status) tell("%s: ends by signal or code %d\n", command_line, status);
    }
    free(places);
    if (input >= 0) lseek(input, 0, SEEK_SET);
    return rs_program_main(n_words, words);
}
