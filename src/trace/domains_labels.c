/* Ranks distinguished by labels that a merger wrote in front of every process id: "[TP00-DP01] 1234". */
#include <string.h>

#include "base/ascii.h"
#include "trace/domains_internal.h"

/* "TP00", "DP1" and so on, joined by hyphens, or "Unknown". */
static bool is_label(const char *text, size_t n)
{
    static const char unknown[] = "Unknown";
    if (n == sizeof unknown - 1 && memcmp(text, unknown, n) == 0) return true;
    size_t at = 0;
    while (at + 2 < n) {
        if (!strchr("TDPE", text[at]) || text[at + 1] != 'P') return false;
        size_t digits = at + 2;
        while (digits < n && rs_is_digit(text[digits])) digits++;
        if (digits == at + 2) return false;
        if (digits == n) return true;
        if (text[digits] != '-') return false;
        at = digits + 1;
    }
    return false;
}

static bool label_of(const rs_events *e, const rs_thread *thread, const char **label, size_t *n)
{
    if (thread->pid_text == RS_NO_STRING) return false;
    const rs_string *s = &e->strings.items[thread->pid_text];
    const char *end = s->length > 3 && s->text[0] == '[' ? memchr(s->text, ']', s->length) : NULL;
    if (!end || end[1] != ' ') return false;
    *label = s->text + 1;
    *n = (size_t)(end - s->text) - 1;
    return is_label(*label, *n);
}

bool rs_trace_label(const rs_trace *t, const char **label, size_t *n)
{
    for (size_t i = 0; i < t->n_rows; i++) {
        const rs_thread *thread = &t->events->threads[t->events->thread[rs_trace_row(t, i)]];
        if (label_of(t->events, thread, label, n)) return true;
        if (thread->pid_text == RS_NO_STRING) return false; /* an ordinary file */
    }
    return false;
}

bool rs_domains_are_labelled(const rs_events *e, const rs_pids *p)
{
    const char *label;
    size_t n;
    bool any = false;
    for (size_t i = 0; i < e->n_threads; i++) {
        if (!(p->flags[p->of_thread[i]] & (RS_PID_CALLS | RS_PID_WORKS))) continue;
        if (!label_of(e, &e->threads[i], &label, &n)) return false;
        any = true;
    }
    return any;
}

rs_status rs_domains_by_label(const rs_events *e, uint32_t *domain, size_t *n, rs_error *err)
{
    rs_strings labels;
    RS_LOCAL uint32_t *of_thread = rs_malloc((e->n_threads + 1) * sizeof *of_thread);
    bool ok = rs_strings_init(&labels) && of_thread;
    if (ok) memset(of_thread, 0xff, (e->n_threads + 1) * sizeof *of_thread);
    for (size_t i = 0; ok && i < e->n; i++) {
        uint32_t *known = &of_thread[e->thread[i]];
        const char *label;
        size_t length;
        if (*known == RS_NO_DOMAIN) {
            *known = RS_MANY_DOMAINS;
            if (label_of(e, &e->threads[e->thread[i]], &label, &length)) {
                uint32_t id = rs_strings_add(&labels, label, length);
                ok = id != RS_NO_STRING;
                *known = id - 1; /* id 0 is "" */
            }
        }
        if (*known != RS_MANY_DOMAINS) domain[i] = *known;
    }
    *n = ok ? labels.n - 1 : 0;
    rs_strings_clear(&labels);
    return ok ? RS_OK : rs_fail_nomem(err, "ranks");
}
