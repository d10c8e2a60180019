/* Whole commands on damaged inputs, in this process, under the sanitizers it was built with:
 *
 *   soak [--runs N] [--seconds S] [--seed S] [--probe 1] [--options N] [--keep FOLDER] [--only RUN] [--again FOLDER] PATH...
 *
 * Each run takes a sample (files and folders below the PATHs), damages it, runs a command on it twice and judges what it
 * said: soak_judge. A third of the commands has options of its own with values that are rarely meant (options.c); --options takes each
 * option of each command once, those that most commands have of every N-th. A run depends on the seed, its number and the samples alone: --only repeats one, with --probe where
 * that was given: then each sample is first asked about as it is, and those that are refused come less often. A crash, a leak, more
 * than LIMIT seconds of processor time or more than MOST_MEMORY end the process of a batch, and are its last run's. What fails
 * is kept with its command; --again runs such a folder. The last line is "N passed, N failed". */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/cli.h"
#include "soak.h"

#define BATCH 100
#define LIMIT 60                    /* seconds of processor time */
#define MOST_MEMORY ((long)4 << 20) /* KiB */
#define LARGEST ((size_t)4 << 20)   /* bytes of a sample */
#define MOST_FILES 8                /* of a folder */
#define WORDS 32

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
/* What a run reached is counted at an exit, which a batch does not take: its parent's handlers and buffers are not its own. */
extern void __gcov_dump(void) __attribute__((weak));

static void leave(int code)
{
    if (__gcov_dump) __gcov_dump();
    _exit(code);
}

/* What the processes share. */
typedef struct board {
    volatile uint64_t run; /* the one that is on */
    volatile uint64_t done, failed;
    volatile uint64_t codes[8];
} board;

static sample *samples;
static size_t n_samples, samples_capacity;
static double *weights; /* sums */
static uint64_t seed = 1;
static const char *keep_in;
static uint64_t options_of; /* every n-th command, where most have them; 0: commands of the lists */
static char place[64];
static board *shared;
static FILE *report; /* standard error, also where a run's own is caught */

static void *need(void *p)
{
    if (!p) abort();
    return p;
}

static void join(char *out, size_t size, const char *folder, const char *name)
{
    if ((size_t)snprintf(out, size, "%s/%s", folder, name) >= size) abort();
}

/* ---- samples ------------------------------------------------------------------------------------------ */

static kind kind_of(const char *path)
{
    static const struct {
        const char *word;
        kind kind;
    } known[] = {{"flight", FLIGHT},       {"nccl_trace", FLIGHT},   {"fr_", FLIGHT},
                 {"metrics", METRICS},     {"pickle", FLIGHT},       {".et", CHAKRA},
                 {"host.json", EXECUTION}, {"execution", EXECUTION}, {"_et", EXECUTION},
                 {"memory", MEMORY},       {"snapshot", MEMORY}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(path, known[i].word)) return known[i].kind;
    return TRACE;
}

static sample *add_sample(const char *path, size_t size)
{
    if (n_samples == samples_capacity) {
        samples_capacity = samples_capacity ? 2 * samples_capacity : 64;
        samples = need(realloc(samples, samples_capacity * sizeof *samples));
    }
    samples[n_samples] = (sample){.path = need(strdup(path)), .size = size, .kind = kind_of(path)};
    return &samples[n_samples++];
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && !strstr(entry->d_name, ".command");
}

static void collect(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) return;
    if (S_ISREG(info.st_mode)) {
        if (info.st_size && (size_t)info.st_size <= LARGEST) add_sample(path, (size_t)info.st_size);
        return;
    }
    struct dirent **entries;
    int n = S_ISDIR(info.st_mode) ? scandir(path, &entries, visible, by_name) : 0;
    size_t n_files = 0, size = 0;
    char **files = need(calloc((size_t)(n > 0 ? n : 0) + 1, sizeof *files));
    for (int i = 0; i < n; i++) {
        char inner[4096];
        join(inner, sizeof inner, path, entries[i]->d_name);
        collect(inner);
        if (stat(inner, &info) == 0 && S_ISREG(info.st_mode)) {
            files[n_files++] = need(strdup(entries[i]->d_name));
            size += (size_t)info.st_size;
        }
        free(entries[i]);
    }
    if (n > 0) free(entries);
    if (n_files < 2 || n_files > MOST_FILES || size > LARGEST) {
        for (size_t k = 0; k < n_files; k++) free(files[k]);
        free(files);
        return;
    }
    sample *s = add_sample(path, size);
    s->files = files;
    s->n_files = n_files;
}

static const sample *choose(rng *r)
{
    double at = (double)rng_below(r, 1u << 30) / (double)(1u << 30) * weights[n_samples - 1];
    size_t i = 0;
    while (i + 1 < n_samples && weights[i] <= at) i++;
    return &samples[i];
}

/* ---- one run ------------------------------------------------------------------------------------------ */

static text read_plain(const char *path)
{
    rs_error err = RS_ERROR_INIT;
    rs_source *source;
    uint8_t *bytes;
    size_t n;
    text t = {0};
    if (rs_source_open(path, 0, &source, &err) != RS_OK) return t;
    if (rs_source_read_all(source, (size_t)64 << 20, &bytes, &n, &err) == RS_OK) {
        text_add(&t, bytes, n);
        rs_free(bytes);
    }
    rs_source_close(source);
    return t;
}

static plan plan_of(uint64_t number)
{
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + number};
    rng_next(&r);
    plan p = {.sample = choose(&r)};
    char path[4096];
    if (options_of) {
        soak_option(number, &r, &p.command);
    } else {
        text_printf(&p.command, "%s", soak_command(p.sample->kind, &r));
        if (rng_below(&r, 3) == 0) soak_options(&p.command, &r);
    }
    text_add(&p.command, "", 1);
    if (p.sample->files) {
        p.file = rng_below(&r, p.sample->n_files);
        join(path, sizeof path, p.sample->path, p.sample->files[p.file]);
    } else {
        snprintf(path, sizeof path, "%s", p.sample->path);
    }
    p.damaged = rng_below(&r, 4) ? read_plain(path) : text_of_file(path);
    soak_damage(&p.damaged, &r);
    return p;
}

static void save(const text *t, const char *path)
{
    FILE *file = need(fopen(path, "wb"));
    if (t->n && fwrite(t->s, 1, t->n, file) != t->n) abort();
    fclose(file);
}

/* Writes the sample with its damaged file; what the command is given. */
static void lay_out(const plan *p, char *path, size_t size)
{
    const sample *s = p->sample;
    if (!s->files) {
        const char *name = strrchr(s->path, '/');
        join(path, size, place, name ? name + 1 : s->path);
        save(&p->damaged, path);
        return;
    }
    join(path, size, place, "job");
    mkdir(path, 0700);
    for (size_t i = 0; i < s->n_files; i++) {
        char from[4096], to[4096];
        join(from, sizeof from, s->path, s->files[i]);
        join(to, sizeof to, path, s->files[i]);
        text t = i == p->file ? (text){0} : text_of_file(from);
        save(i == p->file ? &p->damaged : &t, to);
        text_clear(&t);
    }
}

static void take_away(const plan *p, const char *path)
{
    for (size_t i = 0; i < p->sample->n_files; i++) {
        char name[4096];
        join(name, sizeof name, path, p->sample->files[i]);
        unlink(name);
    }
    if (p->sample->files)
        rmdir(path);
    else
        unlink(path);
}

static text drain(int fd)
{
    text t = {0};
    char bytes[65536];
    lseek(fd, 0, SEEK_SET);
    for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0;) text_add(&t, bytes, (size_t)n);
    if (ftruncate(fd, 0) != 0) abort();
    lseek(fd, 0, SEEK_SET);
    return t;
}

/* Standard output and error, caught in memory. */
static int caught[2];

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type;
    if (walk->level) remove(path);
    return 0;
}

/* What commands write by relative names lands in a folder that is empty before each. */
static void start_in_empty_folder(void)
{
    char path[sizeof place + 8];
    join(path, sizeof path, place, "here");
    mkdir(path, 0700);
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (chdir(path) != 0) abort();
}

static said call(const char *command, const char *path)
{
    char *line = need(strdup(command)), *at = line, *argv[WORDS + 1] = {0};
    int n = 0;
    for (char *word; n < WORDS && (word = strsep(&at, " "));) {
        for (char *c = word; *c; c++)
            if (*c == *SOAK_SPACE) *c = ' ';
        argv[n++] = strcmp(word, "@") == 0 ? (char *)(uintptr_t)path : word;
    }
    if (*place) start_in_empty_folder();
    rs_command found;
    said s = {.code = RS_EXIT_USAGE};
    if (rs_command_find(argv[0], &found)) s.code = rs_command_call(&found, n - 1, argv + 1);
    fflush(NULL);
    s.out = drain(caught[0]);
    s.err = drain(caught[1]);
    free(line);
    return s;
}

static void said_clear(said *s)
{
    text_clear(&s->out);
    text_clear(&s->err);
}

static void keep(const plan *p, uint64_t number, const char *why)
{
    fprintf(report, "run %llu: %s of %s%s%s: %s\n", (unsigned long long)number, p->command.s, p->sample->path,
            p->sample->files ? ", damaged " : "", p->sample->files ? p->sample->files[p->file] : "", why);
    if (!keep_in) return;
    const char *name = p->sample->files ? p->sample->files[p->file] : strrchr(p->sample->path, '/');
    char path[4096];
    if (!name) name = p->sample->path;
    snprintf(path, sizeof path, "%s/%llu-%s", keep_in, (unsigned long long)number, name + (*name == '/'));
    save(&p->damaged, path);
    text line = {0};
    text_printf(&line, "%s\n%s, %s\n", p->command.s, p->sample->path, why);
    strncat(path, ".command", sizeof path - strlen(path) - 1);
    save(&line, path);
    text_clear(&line);
}

static const char *try_twice(const char *command, const char *path)
{
    said first = call(command, path), again = call(command, path);
    const char *why = soak_judge(command, &first, &again);
    if (first.code >= 0 && first.code < 8) shared->codes[first.code]++;
    if (getenv("SOAK_TELL")) fprintf(report, "exit %d: %s of %s\n", first.code, command, path);
    if (why && getenv("SOAK_SHOW"))
        fprintf(report, "-- exit %d\n%.*s\n-- %.*s\n-- again %d\n%.*s\n-- %.*s\n", first.code,
                (int)first.out.n, first.out.n ? first.out.s : "", (int)first.err.n,
                first.err.n ? first.err.s : "", again.code, (int)again.out.n, again.out.n ? again.out.s : "",
                (int)again.err.n, again.err.n ? again.err.s : "");
    said_clear(&first);
    said_clear(&again);
    return why;
}

/* ---- batches ------------------------------------------------------------------------------------------ */

/* Standard output and error go where they are caught; the sanitizers' reports and our own lines go on. */
static void catch_output(void)
{
    int own = dup(2);
    for (int i = 0; i < 2; i++) {
        caught[i] = memfd_create("soak", 0);
        if (caught[i] < 0 || dup2(caught[i], i + 1) < 0) abort();
    }
    report = need(fdopen(own, "w"));
    setvbuf(report, NULL, _IOLBF, 0);
#ifdef HAS_ASAN
    __sanitizer_set_report_fd((void *)(intptr_t)own);
#endif
}

static void limit_time(void)
{
    const struct itimerval limit = {.it_value.tv_sec = LIMIT};
    setitimer(ITIMER_PROF, &limit, NULL);
}

static void child(uint64_t from, uint64_t to)
{
    catch_output();
    char path[4096];
    for (uint64_t k = from; k < to; k++) {
        shared->run = k;
        plan p = plan_of(k);
        lay_out(&p, path, sizeof path);
        limit_time();
        const char *why = try_twice(p.command.s, path);
        if (why) {
            keep(&p, k, why);
            shared->failed++;
        }
        shared->done++;
        take_away(&p, path);
        text_clear(&p.damaged);
        text_clear(&p.command);
    }
    int leaks = 0;
#ifdef HAS_ASAN
    leaks = __lsan_do_recoverable_leak_check();
#endif
    leave(leaks ? 99 : 0);
}

/* A batch in a process of its own; goes on behind a run that ended it. */
static void batch(uint64_t from, uint64_t to)
{
    while (from < to) {
        shared->run = from;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) child(from, to);
        int status;
        struct rusage usage;
        if (pid < 0 || wait4(pid, &status, 0, &usage) < 0) abort();
        bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0,
             leak = WIFEXITED(status) && WEXITSTATUS(status) == 99;
        if (good && usage.ru_maxrss <= MOST_MEMORY) return;
        if (leak && to - from > 1) { /* whose is it? */
            for (uint64_t k = from; k < to; k++) batch(k, k + 1);
            return;
        }
        uint64_t k = shared->run;
        plan p = plan_of(k);
        char why[128];
        snprintf(why, sizeof why,
                 leak                  ? "leaks"
                 : good                ? "takes %ld KiB"
                 : WIFSIGNALED(status) ? "ends by signal %ld"
                                       : "ends the process with %ld",
                 good                  ? usage.ru_maxrss
                 : WIFSIGNALED(status) ? (long)WTERMSIG(status)
                                       : (long)WEXITSTATUS(status));
        keep(&p, k, why);
        text_clear(&p.damaged);
        text_clear(&p.command);
        shared->failed++;
        shared->done += !good && !leak;
        if (good || leak) return;
        from = k + 1;
    }
}

/* ---- what comes how often ------------------------------------------------------------------------------ */

/* Whether a command of its kind reads it as it is. Not everything among samples is an input. */
static bool is_read(const sample *s)
{
    for (size_t k = 0;; k++) {
        const char *command = soak_probe(s->kind, k);
        if (!command) return false;
        said answer = call(command, s->path);
        said_clear(&answer);
        if (answer.code == 0 || answer.code == 1 || answer.code == 4) return true;
    }
}

/* Asks in a process of its own; all that one which ended it did not come to counts as read. */
static void probe(void)
{
    uint8_t *refused = mmap(NULL, n_samples + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (refused == MAP_FAILED) abort();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        catch_output();
        for (size_t i = 0; i < n_samples; i++) refused[i] = !is_read(&samples[i]);
        leave(0);
    }
    if (pid < 0 || waitpid(pid, NULL, 0) < 0) abort();
    for (size_t i = 0; i < n_samples; i++) samples[i].refused = refused[i];
    munmap(refused, n_samples + 1);
}

/* Of a kind the small ones come more often, as a run's cost goes with its size. What is refused as it is, and what a fuzzer
 * kept, comes less often: most runs on it end at its first bytes. */
static double weight_of(const sample *s)
{
    bool rare = s->refused || strstr(s->path, "fuzz/corpus");
    return (rare ? 0.1 : 1) / ((double)s->size + 4096);
}

/* Each kind has its share. */
static void weigh(void)
{
    static const double shares[N_KINDS] = {[TRACE] = 0.6,   [FLIGHT] = 0.15,    [METRICS] = 0.05,
                                           [CHAKRA] = 0.08, [EXECUTION] = 0.07, [MEMORY] = 0.05};
    double sum = 0, of_kind[N_KINDS] = {0};
    weights = need(malloc((n_samples + 1) * sizeof *weights));
    for (size_t i = 0; i < n_samples; i++) of_kind[samples[i].kind] += weight_of(&samples[i]);
    for (size_t i = 0; i < n_samples; i++)
        weights[i] = sum += shares[samples[i].kind] / of_kind[samples[i].kind] * weight_of(&samples[i]);
}

static int run_again(const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, visible, by_name), failed = 0, passed = 0;
    for (int i = 0; i < n; i++) {
        char path[4096], line[2048] = "";
        snprintf(path, sizeof path, "%s/%s.command", folder, entries[i]->d_name);
        FILE *file = fopen(path, "r");
        if (!file || !fgets(line, sizeof line, file)) snprintf(line, sizeof line, "info @");
        if (file) fclose(file);
        line[strcspn(line, "\n")] = '\0';
        path[strlen(path) - strlen(".command")] = '\0';
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            catch_output();
            limit_time();
            const char *why = try_twice(line, path);
            if (why) fprintf(report, "%s of %s: %s\n", line, path, why);
#ifdef HAS_ASAN
            if (__lsan_do_recoverable_leak_check()) why = "leaks";
#endif
            leave(why != NULL);
        }
        int status;
        if (pid < 0 || waitpid(pid, &status, 0) < 0) abort();
        if (status) printf("%s of %s: failed\n", line, path);
        *(status ? &failed : &passed) += 1;
        free(entries[i]);
    }
    if (n > 0) free(entries);
    printf("%d passed, %d failed\n", passed, failed);
    return failed || passed == 0;
}

static void run_all(uint64_t first, uint64_t runs, double seconds)
{
    time_t begin = time(NULL), told = begin;
    for (uint64_t k = first; k < first + runs; k += BATCH) {
        batch(k, k + BATCH < first + runs ? k + BATCH : first + runs);
        time_t now = time(NULL);
        if (seconds > 0 && difftime(now, begin) >= seconds) break;
        if (difftime(now, told) < 60) continue;
        told = now;
        printf("%llu runs, %llu failed\n", (unsigned long long)shared->done,
               (unsigned long long)shared->failed);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    uint64_t runs = 200, first = 0;
    double seconds = 0;
    const char *again = NULL;
    bool asks_first = false;
    int i = 1;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        const char *value = argv[i + 1];
        if (strcmp(argv[i], "--runs") == 0) runs = strtoull(value, NULL, 10);
        if (strcmp(argv[i], "--seconds") == 0) seconds = strtod(value, NULL);
        if (strcmp(argv[i], "--seed") == 0) seed = strtoull(value, NULL, 10);
        if (strcmp(argv[i], "--keep") == 0) keep_in = value;
        if (strcmp(argv[i], "--again") == 0) again = value;
        if (strcmp(argv[i], "--options") == 0) options_of = strtoull(value, NULL, 10);
        if (strcmp(argv[i], "--probe") == 0) asks_first = strcmp(value, "0") != 0;
        if (strcmp(argv[i], "--only") == 0) {
            first = strtoull(value, NULL, 10);
            runs = 1;
        }
    }
    report = stderr;
    setlocale(LC_CTYPE, "");
    setenv("RANKSCOPE_CACHE", "", 1);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) abort();
    static char kept[PATH_MAX];
    if (again) return run_again(need(realpath(again, kept)));
    for (; i < argc; i++) {
        char *path = need(realpath(argv[i], NULL)); /* as runs are in a folder of their own */
        collect(path);
        free(path);
    }
    static char kept_in[PATH_MAX];
    if (keep_in) keep_in = need(realpath(keep_in, kept_in));
    if (!n_samples) {
        fprintf(stderr, "soak [--runs N] [--seconds S] [--seed S] [--probe 1] [--options N] [--keep FOLDER] "
                        "[--only RUN] [--again FOLDER] PATH...\n");
        return 2;
    }
    if (asks_first) probe();
    weigh();
    snprintf(place, sizeof place, "/tmp/soak-XXXXXX");
    if (access("/dev/shm", W_OK) == 0) snprintf(place, sizeof place, "/dev/shm/soak-XXXXXX");
    need(mkdtemp(place));
    uint64_t n_options = options_of ? soak_count_options(options_of) : 0;
    if (n_options && runs != 1) runs = n_options;
    run_all(first, runs, seconds);
    nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    rmdir(place);
    printf("%zu samples; exit codes", n_samples);
    for (int c = 0; c < 5; c++) printf(" %d: %llu", c, (unsigned long long)shared->codes[c]);
    printf(
        "\n%llu passed, %llu failed\n",
        (unsigned long long)(shared->done - (shared->failed < shared->done ? shared->failed : shared->done)),
        (unsigned long long)shared->failed);
    return shared->failed != 0;
}
