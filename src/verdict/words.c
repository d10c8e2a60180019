/* The one printer of verdicts: templates of the catalogue filled with facts, and the numbers of the step after them. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "rankscope/text.h"
#include "text/numbers.h"
#include "text/utf8.h"
#include "verdict/judge.h"

#define SHOWN 80 /* columns of a name in a sentence; it is whole among the culprits */

/* ---- what a template names ---------------------------------------------------------------------------------- */

/* A list of ranks, ascending: "0-3, 8". */
static void words_ranks(const int64_t *ranks, size_t n, rs_text *out)
{
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && ranks[k] == ranks[k - 1] + 1;) k++;
        rs_text_printf(out, "%s%lld", i ? ", " : "", (long long)ranks[i]);
        if (k - i > 1) rs_text_printf(out, "-%lld", (long long)ranks[k - 1]);
    }
}

void rs_words_name(const char *name, unsigned columns, rs_text *out)
{
    char shown[4 * SHOWN + 8];
    if (columns > SHOWN) columns = SHOWN;
    size_t n = strlen(name);
    char *clean = rs_malloc(3 * n + 1);
    if (!clean) {
        out->failed = true;
        return;
    }
    rs_shorten_middle(clean, rs_text_clean(name, n, true, clean), columns, shown, sizeof shown);
    rs_text_put(out, shown);
    rs_free(clean);
}

static void put_name(const char *name, rs_text *out)
{
    rs_words_name(name, SHOWN, out);
}

static bool put_number(double value, unsigned places, rs_text *out)
{
    char digits[RS_FIXED_SIZE];
    if (isnan(value)) return false;
    rs_format_fixed(value, places, digits);
    size_t n = strlen(digits);
    if (places == 1 && n > 2 && strcmp(digits + n - 2, ".0") == 0) digits[n - 2] = '\0'; /* "4 times" */
    rs_text_put(out, digits);
    return true;
}

static bool put_text(const char *text, rs_text *out)
{
    if (text) put_name(text, out);
    return text != NULL;
}

static bool put_hosts(const rs_culprit *x, rs_text *out)
{
    for (size_t i = 0; i < x->n_hosts; i++) {
        if (i) rs_text_put(out, ", ");
        put_name(x->hosts[i], out);
    }
    return x->n_hosts > 0;
}

/* "ranks 0-3" */
static bool put_list(const rs_culprit *x, rs_text *out)
{
    rs_text_put(out, x->n_ranks == 1 ? "rank " : "ranks ");
    words_ranks(x->ranks, x->n_ranks, out);
    return x->n_ranks > 0;
}

/* "once", "2.5 times" */
static bool put_often(double n, rs_text *out)
{
    const bool once = n >= 0.95 && n < 1.05;
    if (!once && !put_number(n, 1, out)) return false;
    rs_text_put(out, once ? "once" : " times");
    return true;
}

/* us in the unit that suits the step, and places in which a change shows. */
typedef struct unit {
    double us;
    const char *name;
    unsigned places;
} unit;

static unit unit_of(double us, double change)
{
    unit u = {us >= 1e6 ? 1e6 : us >= 1e3 ? 1e3 : 1, us >= 1e6 ? "s" : us >= 1e3 ? "ms" : "us", 1};
    if (change < u.us) u.places = 2;
    if (us < 10 * u.us || change < u.us / 10) u.places = 3;
    return u;
}

/* "37.5 us", "1.170 s" */
static bool put_time(double us, rs_text *out)
{
    const unit u = unit_of(us, us);
    if (isnan(us)) return false;
    rs_text_printf(out, "%s %s", RS_FIXED(us / u.us, u.us > 1 ? u.places : 1), u.name);
    return true;
}

/* Writes what a template calls `word`; false: it is unknown. */
static bool put_slot(const rs_candidate *c, const char *word, size_t n, rs_text *out)
{
    static const rs_culprit nobody = {.kind = RS_CULPRIT_CALL, .number = -1};
    const rs_culprit *first = c->n_culprits ? &c->culprits[0] : &nobody;
    const rs_culprit *second = c->n_culprits > 1 ? &c->culprits[1] : &nobody;
    const rs_facts *f = &c->facts;
    const struct {
        const char *word;
        double value;
        unsigned places;
    } numbers[] = {{"times", f->times, 2},
                   {"ms", f->ms, 2},
                   {"us", f->us, 1},
                   {"n", f->n, 1},
                   {"pct", f->pct, 0},
                   {"kib", f->kib, 1},
                   {"mib", f->mib, 1},
                   {"step", f->step, 0},
                   {"stages", f->stages, 0},
                   {"recorded", f->recorded, 0},
                   {"world", f->world, 0},
                   {"rank", first->kind == RS_CULPRIT_RANK ? (double)first->number : NAN, 0},
                   {"stage", first->kind == RS_CULPRIT_STAGE ? (double)first->number : NAN, 0}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strlen(numbers[i].word) == n && memcmp(numbers[i].word, word, n) == 0)
            return put_number(numbers[i].value, numbers[i].places, out);
    if (n == 6 && memcmp(word, "a step", n) == 0) {
        if (!c->without_steps) rs_text_put(out, " a step");
        return true;
    }
    if (n == 4 && memcmp(word, "time", n) == 0) return put_time(f->us, out);
    if (n == 5 && memcmp(word, "often", n) == 0) return put_often(f->n, out);
    if (n == 5 && memcmp(word, "ranks", n) == 0) return put_list(first, out);
    if (n == 5 && memcmp(word, "hosts", n) == 0) return put_hosts(first, out);
    if (n == 4 && memcmp(word, "name", n) == 0) return put_text(first->name, out);
    if (n == 5 && memcmp(word, "other", n) == 0) return put_text(second->name, out);
    if (n == 2 && memcmp(word, "in", n) == 0) return put_text(f->in, out);
    if (n == 5 && memcmp(word, "among", n) == 0) return put_text(f->among, out);
    if (n != 5 || memcmp(word, "known", n) != 0 || !f->known) return false;
    rs_text_put(out, f->known);
    return true;
}

static void cut_back(rs_text *out, size_t n)
{
    if (out->failed || !out->s) return;
    out->n = n;
    out->s[n] = '\0';
}

/* Fills [from, to) of a template in; false: something in it is unknown. */
static bool fill(const rs_candidate *c, const char *from, const char *to, rs_text *out)
{
    bool known = true;
    while (from < to) {
        const char *end = memchr(from, *from == '{' ? '}' : *from == '[' ? ']' : '\0', (size_t)(to - from));
        if (*from == '{' && end) {
            known &= put_slot(c, from + 1, (size_t)(end - from - 1), out);
        } else if (*from == '[' && end) {
            size_t before = out->n;
            if (!fill(c, from + 1, end, out)) cut_back(out, before);
        } else {
            end = from + 1 + strcspn(from + 1, "{[");
            if (end > to) end = to;
            rs_text_add(out, from, (size_t)(end - from));
            from = end;
            continue;
        }
        from = end + 1;
    }
    return known;
}

static void fill_all(const rs_candidate *c, const char *words, rs_text *out)
{
    fill(c, words, words + strlen(words), out);
}

void rs_words_claim(const rs_candidate *c, rs_text *out)
{
    bool of_rank = c->n_culprits && c->culprits[0].kind == RS_CULPRIT_RANK;
    const char *words = !of_rank && c->fault->of_job ? c->fault->of_job : c->fault->words;
    size_t at = out->n;
    fill_all(c, words, out);
    if (strncmp(words, "{ranks}", 7) == 0 && out->n > at) out->s[at] = 'R';
}

void rs_words_subject(const rs_candidate *c, rs_text *out)
{
    if (c->fault->subject) fill_all(c, c->fault->subject, out);
}

/* ---- sentences ---------------------------------------------------------------------------------------------- */

/* Percent by which a step and its annotation differ where both are said. */
#define APART 2.0

static void put_others(const rs_judged_row *row, rs_text *out)
{
    rs_text_put(out, " together with ");
    rs_words_subject(row->with[0], out);
    if (row->n_with == 2) {
        rs_text_put(out, " and ");
        rs_words_subject(row->with[1], out);
    } else if (row->n_with > 2) {
        rs_text_printf(out, " and %zu other findings", row->n_with - 1);
    }
}

void rs_words_sentence(const rs_judged_row *row, rs_text *out)
{
    const rs_foretold *a = &row->answer;
    unit u = unit_of(a->before, a->before - a->after);
    double low = fmin(a->before - a->high, a->after), high = fmax(a->before - a->low, a->after);
    for (int k = 0; k < 2 && (high - low) / u.us < pow(10, -(double)u.places); k++)
        u.places++; /* an interval is not shown as a point */
    rs_words_claim(row->candidate, out);
    rs_text_put(out, ". ");
    fill_all(row->candidate, row->candidate->fault->fix, out);
    if (row->n_with) put_others(row, out);
    rs_text_printf(out, " would %scut the %s from %s to %s %s (",
                   row->candidate->fault->at_best || row->candidate->at_best ? "at best " : "",
                   a->steps ? "step" : "recording", RS_FIXED(a->before / u.us, u.places),
                   RS_FIXED(a->after / u.us, u.places), u.name);
    if (a->steps == 1) /* what one step gains says nothing of how others differ */
        rs_text_put(out, "one step: no interval");
    else
        rs_text_printf(out, "%s%s–%s", a->sampled ? "95 % CI " : "", RS_FIXED(low / u.us, u.places),
                       RS_FIXED(high / u.us, u.places));
    rs_text_put(out, ").");
    if (a->steps && fabs(a->annotated - a->before) > a->before * APART / 100)
        rs_text_printf(out, " On the host a step lasts %s %s, without its GPU work.",
                       RS_FIXED(a->annotated / u.us, u.places), u.name);
}

static const char *looked_for(const rs_judgement *j)
{
    return !j->opportunities ? "No fault" : !j->findings ? "No opportunity" : "Nothing";
}

void rs_words_healthy(const rs_judgement *j, rs_text *out)
{
    const unit u = unit_of(j->before, j->before);
    size_t n = 0;
    for (size_t i = 0; i < j->n_missed; i++) n += !j->missed[i].what;
    rs_text_printf(out, "%s worth %s %% %s in a %s of %s %s", looked_for(j), RS_FIXED(j->enough, 1),
                   j->uncertain ? "is certain" : "found", j->n_steps ? "step" : "recording",
                   RS_FIXED(j->before / u.us, u.places), u.name);
    if (n) rs_text_printf(out, "; %zu kind%s of fault could not be examined", n, n > 1 ? "s" : "");
    rs_text_put(out, ".");
    if (!j->uncertain) return;
    rs_text_put(out, " ");
    rs_words_claim(j->uncertain, out);
    rs_text_put(out, ", but what fixing it would gain is not certain.");
}

void rs_words_refused(const char *reason, rs_text *out)
{
    rs_text_printf(out, "Not diagnosed: %s.", reason);
}
