/* The fast reader's body, compiled once for each SIMD level by the kineto_shapes_*.c files, which define
 *   RS_RUN              the function's name
 *   literal_matches(p, edge)        whether the edge's fixed bytes stand at p; reads RS_LITERAL bytes at p
 *   find_special(p, end, &high)     the first quote, backslash or control byte at or after p, or a place >=
 * end; sets high when a byte >= 0x80 was passed; reads at most 64 bytes beyond end same_bytes(a, b, n)
 * whether n bytes are equal; may read 64 bytes beyond either */

/* All of it belongs into one loop: left to itself the compiler calls what it meets twice. */
#define RS_HOT inline __attribute__((always_inline))

/* How many of the 8 bytes, from the first on, are digits; *digits is the word with '0' taken off. */
static RS_HOT unsigned count_digits(uint64_t w, uint64_t *digits)
{
    uint64_t x = w ^ UINT64_C(0x3030303030303030);
    uint64_t other = ((x + UINT64_C(0x0606060606060606)) | x) & UINT64_C(0xf0f0f0f0f0f0f0f0);
    *digits = x;
    return other ? (unsigned)__builtin_ctzll(other) >> 3 : 8;
}

/* The number that the first n <= 8 digits make. */
static RS_HOT uint64_t join_digits(uint64_t x, unsigned n)
{
    if (n == 0) return 0;
    x <<= 8 * (8 - n);
    x = x * 10 + (x >> 8);
    return (((x & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064)) +
            (((x >> 16) & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001))) >>
           32;
}

static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/* Up to 18 digits; false when there are none or more. */
static RS_HOT bool read_digits(const uint8_t **p, uint64_t *value)
{
    uint64_t x, v = 0;
    const uint8_t *q = *p;
    unsigned n = count_digits(rs_little_read(q), &x), total = n;
    v = join_digits(x, n);
    if (n == 8) {
        q += 8;
        n = count_digits(rs_little_read(q), &x);
        v = v * powers[n] + join_digits(x, n);
        total += n;
        if (n == 8) {
            q += 8;
            n = count_digits(rs_little_read(q), &x);
            if (n > 2) return false;
            v = v * powers[n] + join_digits(x, n);
            total += n;
        }
    }
    *p = q + n;
    *value = v;
    return total > 0;
}

/* An edge whose numbers had one length this often in a row is expected to keep it. */
#define RS_STEADY 8

static RS_HOT void note_digits(rs_edge *edge, size_t n)
{
    edge->steady = n == edge->digits && edge->steady < RS_STEADY ? (uint8_t)(edge->steady + 1) : 0;
    edge->digits = (uint8_t)n;
}

/* As read_digits. The number's length is guessed to be what it was here before, so that the processor can go
 * on behind it while the guess is being checked; without it every byte's place would wait for the number
 * before. */
static RS_HOT bool read_digits_at(rs_edge *edge, const uint8_t **p, uint64_t *value)
{
    const uint8_t *q = *p;
    if (edge->steady == RS_STEADY) {
        unsigned n = edge->digits;
        const uint8_t *next = q + n;
        /* the compiler must not see that `next` depends on the count below once that was found equal */
        __asm__("" : "+r"(next));
        uint64_t x, y;
        unsigned counted = count_digits(rs_little_read(q), &x);
        if (n < 8) {
            if (counted == n) {
                *value = join_digits(x, n);
                *p = next;
                return true;
            }
        } else if (n < 16 && counted == 8) {
            if (count_digits(rs_little_read(q + 8), &y) == n - 8) {
                *value = join_digits(x, 8) * powers[n - 8] + join_digits(y, n - 8);
                *p = next;
                return true;
            }
        } else if (n == 16 && counted == 8) {
            if (count_digits(rs_little_read(q + 8), &y) == 8 && (unsigned)(q[16] - '0') > 9) {
                *value = join_digits(x, 8) * powers[8] + join_digits(y, 8);
                *p = next;
                return true;
            }
        }
    }
    if (!read_digits(p, value)) return false;
    note_digits(edge, (size_t)(*p - q));
    return true;
}

/* Microseconds with at most three decimals as nanoseconds; `p` behind the whole ones, which are *ns. */
static RS_HOT bool add_decimals(const uint8_t **p, uint64_t v, int64_t *ns)
{
    uint64_t x;
    if (v > UINT64_C(9000000000000000)) return false;
    v *= 1000;
    if (**p == '.') {
        unsigned n = count_digits(rs_little_read(*p + 1), &x);
        if (n == 0 || n > 3) return false;
        if (n == 3) {
            /* the usual number of them: its value does not wait for the count */
            v += join_digits(x, 3);
            *p += 4;
        } else {
            v += join_digits(x, n) * powers[3 - n];
            *p += 1 + n;
        }
    }
    *ns = (int64_t)v;
    return true;
}

static RS_HOT bool read_microseconds(const uint8_t **p, int64_t *ns)
{
    uint64_t v;
    return read_digits(p, &v) && add_decimals(p, v, ns);
}

static RS_HOT bool read_microseconds_at(rs_edge *edge, const uint8_t **p, int64_t *ns)
{
    uint64_t v;
    return read_digits_at(edge, p, &v) && add_decimals(p, v, ns);
}

static RS_HOT bool read_integer_at(rs_edge *edge, const uint8_t **p, int64_t *value)
{
    bool negative = **p == '-';
    if (negative) ++*p;
    uint64_t v;
    if (!read_digits_at(edge, p, &v)) return false;
    *value = negative ? -(int64_t)v : (int64_t)v;
    return true;
}

/* A number without exponent, its value exact: a mantissa below 2^53 divided by a power of ten (Clinger's
 * case). */
static RS_HOT bool read_real(const uint8_t **p, double *value)
{
    static const double tens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    const uint8_t *begin = *p;
    bool negative = **p == '-';
    *p += negative;
    uint64_t v, x;
    if (!read_digits(p, &v)) return false;
    unsigned n = 0;
    if (**p == '.') {
        n = count_digits(rs_little_read(*p + 1), &x);
        if (n == 0) return false;
        if (n == 8 || v >= UINT64_C(90071992)) {
            /* long ones are rare and not ours */
            const uint8_t *q = *p + 1;
            while (q - begin < 48 && *q >= '0' && *q <= '9') q++;
            *p = q;
            return rs_json_real(begin, (size_t)(q - begin), value);
        }
        v = v * powers[n] + join_digits(x, n);
        *p += 1 + n;
    }
    if (v >= UINT64_C(1) << 53) return false;
    double d = (double)v / tens[n];
    *value = negative ? -d : d;
    return true;
}

static RS_HOT bool skip_number(const uint8_t **p, const uint8_t *end)
{
    uint64_t x;
    unsigned n;
    const uint8_t *q = *p + (**p == '-');
    const uint8_t *first = q;
    while ((n = count_digits(rs_little_read(q), &x)) == 8 && q < end) q += 8;
    q += n;
    if (q == first) return false;
    if (*q == '.') {
        first = ++q;
        while ((n = count_digits(rs_little_read(q), &x)) == 8 && q < end) q += 8;
        q += n;
        if (q == first) return false;
    }
    *p = q;
    return true;
}

static RS_HOT uint32_t guess_slot(uint32_t a, uint32_t b)
{
    return (a * UINT32_C(0x9e3779b1) ^ b * UINT32_C(0x85ebca77)) >> (32 - 15);
}

/* What stands in a column of texts follows what stood there in the two events before and the event's name:
 * one operator hands its tensors on to the next. */
static RS_HOT uint32_t text_slot(uint32_t name, const rs_sparse *s, unsigned column)
{
    uint32_t last = s->n > 0 ? s->texts[s->n - 1] : 0, before = s->n > 1 ? s->texts[s->n - 2] : 0;
    uint32_t stood = last * UINT32_C(0x9e3779b1) ^ before * UINT32_C(0x85ebca77);
    return guess_slot(name ^ (stood >> 7), stood ^ column);
}

/* Marks a guess that is an array's text: only such a one was found to be valid JSON. */
#define GUESS_ARRAY UINT32_C(0x80000000)

/* A string's id; *p after its opening quote, then after its closing one. RS_NO_STRING: not for the fast
 * reader. */
static RS_HOT uint32_t read_string(rs_kineto *core, const uint8_t **p, const uint8_t *end, uint32_t *guess)
{
    rs_strings *strings = &core->events->strings;
    const uint8_t *begin = *p;
    if (*guess && !(*guess & GUESS_ARRAY)) {
        const rs_string *s = &strings->items[*guess - 1];
        if ((size_t)(end - begin) > s->length && begin[s->length] == '"' &&
            same_bytes(begin, (const uint8_t *)s->text, s->length)) {
            *p = begin + s->length + 1;
            return *guess - 1;
        }
    }
    bool high = false;
    const uint8_t *q = find_special(begin, end, &high);
    if (q >= end || *q != '"') return RS_NO_STRING;
    size_t n = (size_t)(q - begin);
    if (n > core->limits.max_string) return RS_NO_STRING;
    uint32_t id = high ? rs_strings_find(strings, (const char *)begin, n)
                       : rs_strings_add(strings, (const char *)begin, n);
    if (id == RS_NO_STRING) return id;
    *p = q + 1;
    /* no backslash was met: the text is its own raw spelling, which a guess must be */
    *guess = id < GUESS_ARRAY - 1 ? id + 1 : 0;
    return id;
}

/* An array's id in `strings`, delimited by the reference reader unless it is the one that was guessed. */
static RS_HOT uint32_t read_array(rs_kineto *core, rs_strings *strings, const uint8_t **p, const uint8_t *end,
                                  uint32_t *guess)
{
    const uint8_t *begin = *p;
    if (*begin != '[') return RS_NO_STRING;
    if (*guess & GUESS_ARRAY) {
        uint32_t id = (*guess & ~GUESS_ARRAY) - 1;
        const rs_string *s = &strings->items[id];
        if ((size_t)(end - begin) > s->length && same_bytes(begin, (const uint8_t *)s->text, s->length)) {
            *p = begin + s->length;
            return id;
        }
    }
    if (rs_json_skip(p, end, &core->limits) != RS_JSON_OK) return RS_NO_STRING;
    size_t n = (size_t)(*p - begin);
    if (n > core->limits.max_string) return RS_NO_STRING;
    for (size_t i = 0; i < n; i++)
        if (begin[i] >= 0x80 || begin[i] == '\\') return RS_NO_STRING;
    uint32_t id = rs_strings_add(strings, (const char *)begin, n);
    if (id < GUESS_ARRAY - 1) *guess = (id + 1) | GUESS_ARRAY;
    return id;
}

static RS_HOT bool push_row(rs_kineto *core, rs_sparse *s, unsigned column)
{
    if (s->n == s->capacity) {
        rs_status status = rs_events_reserve_column(core->events, (rs_column_id)column, 1, core->err);
        if (status != RS_OK) return rs_kineto_fail(core, status);
    }
    s->rows[s->n] = (uint32_t)core->events->n;
    return true;
}

/* A number of more than four bytes, or one in a column that has such. */
static __attribute__((noinline)) bool push_wide(rs_kineto *core, unsigned column, int64_t value)
{
    rs_sparse *s = &core->events->args[column];
    rs_status status = rs_events_widen(core->events, (rs_column_id)column, core->err);
    if (status != RS_OK) return rs_kineto_fail(core, status);
    s->wide[s->n++] = value;
    return true;
}

/* rs_kineto_commit for the usual case: there is room, and the thread is the last one's. */
static RS_HOT bool commit(rs_kineto *core, const rs_event_now *now)
{
    rs_events *e = core->events;
    if (e->n == e->capacity || e->n_threads == 0 || now->thread.pid != core->last_pair.pid ||
        now->thread.tid != core->last_pair.tid)
        return rs_kineto_commit(core, now);
    size_t n = e->n++;
    e->start[n] = now->start;
    e->duration[n] = now->duration;
    e->name[n] = now->name;
    e->thread[n] = core->last_thread;
    e->category[n] = now->category;
    e->phase[n] = now->phase;
    return true;
}

/* How far ahead the text is fetched: the processor by itself stops at the end of a page. */
#define RS_PREFETCH 2048

/* Reads one event at *p; on success *p is behind it. `first` is the edge to try first. */
static RS_HOT bool run_one(rs_kineto *core, const uint8_t **p, const uint8_t *end, uint32_t first,
                           uint32_t *used, uint32_t *last)
{
    rs_shapes *shapes = core->shapes;
    rs_edge *edges = shapes->edges;
    rs_events *events = core->events;
    rs_event_now now = {.start = RS_NO_TIME,
                        .duration = RS_NO_TIME,
                        .thread = {RS_NO_VALUE, RS_NO_VALUE, RS_NO_STRING, RS_NO_STRING}};
    const uint8_t *q = *p;
    uint32_t parent = 0, at = first;
    for (;;) {
        if (q > end)
            return false; /* what stands there was no part of the text: at most 64 bytes are readable */
        rs_edge *edge = &edges[at];
        if (!at || !literal_matches(q, edge)) {
            for (at = edges[parent].child; at; at = edges[at].sibling)
                if (literal_matches(q, &edges[at])) break;
            if (!at) return false;
            edge = &edges[at];
        }
        __builtin_prefetch(q + RS_PREFETCH);
        if (edges[parent].hint != at) edges[parent].hint = at;
        if (!parent) *used = at;
        q += edge->length;
        if (q > end) return false;
        rs_sparse *s = &events->args[edge->column];
        switch ((rs_op)edge->op) {
        case RS_OP_NONE: break;
        case RS_OP_NAME: {
            uint32_t *guess = &shapes->guesses[guess_slot(at, edge->last)];
            now.name = read_string(core, &q, end, guess);
            if (now.name == RS_NO_STRING) return false;
            edge->last = (edge->last << 8) ^ (now.name * UINT32_C(0x9e3779b1));
            break;
        }
        case RS_OP_PID:
            if (!read_integer_at(edge, &q, &now.thread.pid)) return false;
            break;
        case RS_OP_TID:
            if (!read_integer_at(edge, &q, &now.thread.tid)) return false;
            break;
        case RS_OP_TS:
            if (!read_microseconds_at(edge, &q, &now.start)) return false;
            break;
        case RS_OP_DUR:
            if (!read_microseconds(&q, &now.duration)) return false;
            break;
        case RS_OP_ID:
        case RS_OP_INT: {
            int64_t v;
            if (!read_integer_at(edge, &q, &v) || !push_row(core, s, edge->column)) return false;
            if (!s->is_wide && v == (int32_t)v)
                s->narrow[s->n++] = (int32_t)v;
            else if (!push_wide(core, edge->column, v))
                return false;
            break;
        }
        case RS_OP_REAL: {
            double v;
            if (!read_real(&q, &v) || !push_row(core, s, edge->column)) return false;
            s->reals[s->n++] = v;
            break;
        }
        case RS_OP_STRING:
        case RS_OP_RAW: {
            uint32_t *guess = &shapes->guesses[text_slot(now.name, s, edge->column)];
            uint32_t id = edge->op == RS_OP_STRING ? read_string(core, &q, end, guess)
                                                   : read_array(core, &events->strings, &q, end, guess);
            if (id == RS_NO_STRING || !push_row(core, s, edge->column)) return false;
            s->texts[s->n++] = id;
            break;
        }
        case RS_OP_SKIP_NUMBER:
            if (!skip_number(&q, end)) return false;
            break;
        case RS_OP_SKIP_STRING: {
            bool high = false;
            const uint8_t *begin = q;
            q = find_special(q, end, &high);
            if (q >= end || *q != '"' || (size_t)(q - begin) > core->limits.max_string) return false;
            q++;
            break;
        }
        case RS_OP_SKIP_ARRAY: {
            const uint8_t *begin = q;
            uint32_t *guess = &shapes->skip_guesses[guess_slot(now.name ^ at << 17, edge->last)];
            if (shapes->skipped.n >= RS_MAX_SKIPPED) {
                if (rs_json_skip(&q, end, &core->limits) != RS_JSON_OK) return false;
                break;
            }
            uint32_t id = read_array(core, &shapes->skipped, &q, end, guess);
            if (id == RS_NO_STRING) {
                q = begin;
                return false;
            }
            edge->last = (edge->last << 11) ^ (id * UINT32_C(0x9e3779b1));
            break;
        }
        case RS_OP_END:
            if (q > end) return false;
            if (now.start != RS_NO_TIME && now.duration != RS_NO_TIME &&
                now.start > INT64_MAX - 1 - now.duration)
                return false;
            now.phase = edge->phase;
            now.category = edge->category;
            if (!commit(core, &now)) return false;
            *last = at;
            *p = q;
            return true;
        }
        parent = at;
        at = edge->hint;
    }
}

size_t RS_RUN(rs_kineto *core, const uint8_t **p, const uint8_t *end)
{
    rs_shapes *shapes = core->shapes;
    size_t n = 0;
    uint32_t first = shapes->edges[0].hint, used = 0, last = 0, before = 0;
    while (*p < end) {
        if (!run_one(core, p, end, first, &used, &last)) {
            rs_kineto_rollback(core);
            break;
        }
        n++;
        if (before) shapes->edges[before].last = used;
        before = last;
        first = shapes->edges[last].last;
    }
    return n;
}
