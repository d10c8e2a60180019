/*
 * Which blocks of a program ran: linked into programs that clang built with
 * -fsanitize-coverage=inline-8bit-counters,pc-table. scripts/mutate learns from it which tests reach a line.
 *
 *   RANKSCOPE_REACH=FOLDER      at its end the program adds one byte a block to FOLDER/ITS-NAME: 1, the block ran
 *   RANKSCOPE_REACH_TABLE=FILE  the program writes "ADDRESS FIRST" for each block and ends; FIRST is 1 where a function begins
 *   RANKSCOPE_REACH_SECONDS=N   the program is ended after N seconds of processor time: a planted fault may run forever
 *   RANKSCOPE_REACH_BYTES=N     the program gets no more address space than this: it may also allocate forever
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

void __sanitizer_cov_8bit_counters_init(char *begin, char *end);
void __sanitizer_cov_pcs_init(const uintptr_t *begin, const uintptr_t *end);

static char *first_counter, *counters_end;
static const uintptr_t *first_pc, *pcs_end;

/* Every object file calls both with the bounds of the whole program. */
void __sanitizer_cov_8bit_counters_init(char *begin, char *end)
{
    first_counter = begin;
    counters_end = end;
}

void __sanitizer_cov_pcs_init(const uintptr_t *begin, const uintptr_t *end)
{
    first_pc = begin;
    pcs_end = end;
}

static int base_of(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    *(uintptr_t *)base = info->dlpi_addr; /* the program itself comes first */
    return 1;
}

static void limit(int what, const char *name)
{
    const char *text = getenv(name);
    if (!text) return;
    rlim_t n = (rlim_t)strtoull(text, NULL, 10);
    setrlimit(what, &(struct rlimit){.rlim_cur = n, .rlim_max = n});
}

__attribute__((constructor)) static void begin(void)
{
    limit(RLIMIT_CPU, "RANKSCOPE_REACH_SECONDS");
    limit(RLIMIT_AS, "RANKSCOPE_REACH_BYTES");
    const char *table = getenv("RANKSCOPE_REACH_TABLE");
    FILE *file = table ? fopen(table, "w") : NULL;
    if (!file) return;
    uintptr_t base = 0;
    dl_iterate_phdr(base_of, &base);
    for (const uintptr_t *pc = first_pc; pc < pcs_end; pc += 2)
        fprintf(file, "0x%lx %d\n", pc[0] - base, (int)(pc[1] & 1));
    _exit(fclose(file) != 0);
}

__attribute__((destructor)) static void end(void)
{
    const char *folder = getenv("RANKSCOPE_REACH");
    size_t n = (size_t)(counters_end - first_counter);
    char path[4096];
    if (!folder || !n ||
        (size_t)snprintf(path, sizeof path, "%s/%s", folder, program_invocation_short_name) >= sizeof path)
        return;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return;
    char *sum = calloc(n, 1);
    if (sum && flock(fd, LOCK_EX) == 0) {
        ssize_t got = pread(fd, sum, n, 0);
        (void)got; /* a new file holds nothing */
        for (size_t i = 0; i < n; i++) sum[i] = sum[i] || first_counter[i];
        got = pwrite(fd, sum, n, 0);
        (void)got;
    }
    free(sum);
    close(fd);
}
