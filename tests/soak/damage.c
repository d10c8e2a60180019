/* How an input is damaged, and what is asked about it. */
#define _GNU_SOURCE
#include "soak.h"

static const char *const words[] = {"null",
                                    "[]",
                                    "{}",
                                    "\"\"",
                                    "-1",
                                    "0",
                                    "1e400",
                                    "NaN",
                                    "-9223372036854775808",
                                    "[[]]",
                                    "true",
                                    "1e308",
                                    "{",
                                    "[",
                                    "]",
                                    "}",
                                    "\"",
                                    "9223372036854775807",
                                    "0.0005",
                                    "[{\"ph",
                                    ",",
                                    "\\u0000",
                                    "\xff\xfe",
                                    "\n",
                                    "\x1b[2J",
                                    "=1+1",
                                    "18446744073709551616",
                                    "\xe2\x80\xae",
                                    "-0",
                                    "1e-400",
                                    "\"ph\":\"B\"",
                                    "\"dur\":-5",
                                    "ProfilerStep#",
                                    "nccl"};

static void put_word(text *t, rng *r, size_t at, bool instead)
{
    const char *word = words[rng_below(r, sizeof words / sizeof *words)];
    size_t n = strlen(word), left = t->n - at;
    if (instead) text_delete(t, at, n < left ? n : left);
    text_insert(t, at, word, n);
}

/* The number at or behind a place becomes another word. */
static void change_number(text *t, rng *r, size_t at)
{
    while (at < t->n && (t->s[at] < '0' || t->s[at] > '9')) at++;
    size_t end = at;
    while (end < t->n && ((t->s[end] >= '0' && t->s[end] <= '9') || t->s[end] == '.')) end++;
    if (at == t->n) return;
    text_delete(t, at, end - at);
    put_word(t, r, at, false);
}

/* A name in quotes that stands at or behind a place becomes another of the same length, everywhere. */
static void rename_all(text *t, size_t at)
{
    const char *begin = memchr(t->s + at, '"', t->n - at);
    const char *end = begin ? memchr(begin + 1, '"', t->n - (size_t)(begin + 1 - t->s)) : NULL;
    size_t n = end ? (size_t)(end + 1 - begin) : 0;
    if (n < 4 || n > 40) return;
    char name[40], *p = t->s, *stop = t->s + t->n;
    memcpy(name, begin, n);
    while ((p = memmem(p, (size_t)(stop - p), name, n))) {
        p[n / 2] ^= 1;
        p += n;
    }
}

static void block(text *t, rng *r, size_t at)
{
    static const char zeros[4096];
    size_t left = t->n - at, n = 1 + rng_below(r, rng_below(r, 2) ? 64 : 4096);
    if (n > left) n = left;
    switch (rng_below(r, 4)) {
    case 0: text_delete(t, at, n); break;
    case 1: memcpy(t->s + at, zeros, n); break;
    case 2: memmove(t->s + at, t->s + rng_below(r, t->n - n + 1), n); break;
    default: {
        char copy[4096];
        memcpy(copy, t->s + at, n);
        text_insert(t, rng_below(r, t->n + 1), copy, n);
    }
    }
}

void soak_damage(text *t, rng *r)
{
    for (size_t k = rng_below(r, 8) ? 1 + rng_below(r, 4) : 0; k && t->n; k--) {
        size_t at = rng_below(r, t->n);
        switch (rng_below(r, 8)) {
        case 0: text_mutate(t, r); break;
        case 1: put_word(t, r, at, true); break;
        case 2: put_word(t, r, at, false); break;
        case 3:
        case 4: change_number(t, r, at); break;
        case 5: rename_all(t, at); break;
        case 6: block(t, r, at); break;
        default:
            if (rng_below(r, 4) == 0) text_delete(t, at, t->n - at);
            break;
        }
    }
}

static const char *const trace_commands[] = {
    "info @",
    "doctor @",
    "summary @",
    "steps @",
    "events @",
    "frame @",
    "annotations @",
    "bandwidth @",
    "breakdown @",
    "counters @",
    "critical-path @",
    "delays @",
    "fragments @",
    "idle @",
    "kernels @",
    "launches @",
    "overlap @",
    "queue @",
    "sequences --op aten::mm @",
    "stragglers @",
    "launchers @",
    "modules @",
    "ops @",
    "timeline @",
    "tree @",
    "mfu @",
    "roofline @",
    "variance @",
    "blame @",
    "clocks @",
    "collectives @",
    "diagnose @",
    "exchange @",
    "replay @",
    "whatif @",
    "structure @",
    "diff @ @",
    "compare @ @",
    "memory @",
    "ops --host @",
    "kernels --by type @",
    "kernels --by kind @",
    "breakdown --host @",
    "compare @ @ --by tree",
    "fuse @ -o /dev/null",
    "slice @ --step 1 -o /dev/null",
    "share @ -o /dev/null",
    "report @ -o /dev/null",
    "breakdown --compat hta @",
    "kernels --compat hta @",
    "critical-path --compat hta @",
    "timeline --compat tracelens @",
    "info --format json @",
    "summary --format json @",
    "kernels --format csv @",
    "tree --format json @",
    "collectives --format json @",
    "doctor --format json @",
    "events --format json --limit 50 @",
    "critical-path --format md @",
    "breakdown --ranks 0 @",
    "kernels --window 10%-60% @",
    "steps --format json @",
    "queue --format json @",
    "frame --args --format csv @",
    "annotate @ -o /dev/null",
    "regress @ @",
    "sql @ --query select",
    "watch @ --once --history history.db",
};
static const char *const flight_commands[] = {"flight @",
                                              "flight --format json @",
                                              "flight --entries @",
                                              "flight --stacks @",
                                              "flight --format csv @",
                                              "flight --all-groups --limit 3 @",
                                              "flight --allow-missing --format json @",
                                              "flight --torchft-size 2 @",
                                              "flight --format json --entries @"};
static const char *const metrics_commands[] = {"metrics --log-dir @ --label a --output /dev/shm/soak-metrics",
                                               "regress @ @", "regress --format json @ @"};
static const char *const chakra_commands[] = {
    "chakra check @", "chakra print @", "chakra visualize @ -o /dev/null", "chakra print --format json @"};
static const char *const execution_commands[] = {"chakra link --host @ --device @ -o /dev/null",
                                                 "chakra convert @ -o /dev/null", "info @", "ops @",
                                                 "chakra check @"};
static const char *const memory_commands[] = {"memory @", "memory --format json @", "info @"};

static const struct {
    const char *const *items;
    size_t n;
} commands[] = {
#define LIST(x)                                                                                              \
    {                                                                                                        \
        x, sizeof(x) / sizeof *(x)                                                                           \
    }
    [TRACE] = LIST(trace_commands),         [FLIGHT] = LIST(flight_commands),
    [METRICS] = LIST(metrics_commands),     [CHAKRA] = LIST(chakra_commands),
    [EXECUTION] = LIST(execution_commands), [MEMORY] = LIST(memory_commands),
    [ANY] = LIST(trace_commands),
};

const char *soak_command(kind k, rng *r)
{
    if (rng_below(r, 12) == 0) k = (kind)rng_below(r, N_KINDS);
    return commands[k].items[rng_below(r, commands[k].n)];
}

const char *soak_line_of(const char *name, rng *r)
{
    static char line[80];
    size_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t at = pass ? rng_below(r, n ? n : 1) : 0, found = 0;
        for (size_t k = 0; k < N_KINDS; k++)
            for (size_t i = 0; i < commands[k].n; i++) {
                const char *item = commands[k].items[i];
                size_t length = strlen(name);
                if (strncmp(item, name, length) != 0 || item[length] != ' ' || k == ANY) continue;
                if (pass && found == at) return item;
                found++;
            }
        n = found;
    }
    snprintf(line, sizeof line, "%s @", name);
    return line;
}

const char *soak_probe(kind k, size_t number)
{
    return number < commands[k].n && number < 4 ? commands[k].items[number] : NULL;
}
