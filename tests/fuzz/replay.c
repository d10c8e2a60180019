/* Runs a fuzz target over kept inputs: the files named, and those in the folders named. Each is one test. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

const bool fuzz_every_way = true;
static int n_run, n_failed;

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    size_t n = 0, capacity = 0;
    uint8_t *bytes = NULL, block[4096];
    for (size_t got; (got = fread(block, 1, sizeof block, file)) > 0; n += got) {
        if (n + got > capacity) {
            capacity = 2 * (n + got);
            uint8_t *grown = realloc(bytes, capacity);
            if (!grown) abort();
            bytes = grown;
        }
        memcpy(bytes + n, block, got);
    }
    fclose(file);
    /* an exact block, so that a byte read behind it is noticed */
    uint8_t *exact = malloc(n + !n);
    if (!exact) abort();
    if (n) memcpy(exact, bytes, n);
    free(bytes);
    fprintf(stderr, "%s\n", path);
    fuzz_one(exact, n);
    free(exact);
    n_run++;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void run_folder(const char *path)
{
    char **names = NULL;
    size_t n = 0;
    DIR *folder = opendir(path);
    if (!folder) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        n_failed++;
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        char **grown = realloc(names, (n + 1) * sizeof *names);
        size_t length = strlen(path) + strlen(entry->d_name) + 2;
        char *full = malloc(length);
        if (!grown || !full) abort();
        snprintf(full, length, "%s/%s", path, entry->d_name);
        names = grown;
        names[n++] = full;
    }
    closedir(folder);
    if (n) qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n; i++) {
        n_failed += run_file(names[i]);
        free(names[i]);
    }
    free(names);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat info;
        if (stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode))
            run_folder(argv[i]);
        else
            n_failed += run_file(argv[i]);
    }
    printf("%d passed, %d failed\n", n_run, n_failed);
    return n_failed || !n_run;
}
