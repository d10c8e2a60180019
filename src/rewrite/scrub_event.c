/* Events and frames without what is not known. A member passes when its key is listed here and its value has
 * the form that is listed with it; what passes is written as it stands, or with names that represent others. */
#include <string.h>

#include "base/ascii.h"
#include "base/listed.h"
#include "input/json.h"
#include "rewrite/scrub.h"

typedef struct part {
    const char *text;
    size_t n;
} part;

typedef struct member {
    part key;   /* without quotes */
    part value; /* as it stands */
} member;

static bool next_member(const uint8_t **p, const uint8_t *end, member *out)
{
    static const rs_json_limits limits = {RS_JSON_MAX_DEPTH, SIZE_MAX};
    rs_json_text key;
    const uint8_t *q = rs_json_space(*p, end);
    while (q < end && *q == ',') q = rs_json_space(q + 1, end);
    if (q >= end || *q != '"' || rs_json_string(&q, end, SIZE_MAX, &key) != RS_JSON_OK) return false;
    q = rs_json_space(q, end);
    if (q >= end || *q != ':') return false;
    const uint8_t *from = q = rs_json_space(q + 1, end);
    if (q >= end || rs_json_skip(&q, end, &limits) != RS_JSON_OK) return false;
    *out = (member){{(const char *)key.bytes, key.length}, {(const char *)from, (size_t)(q - from)}};
    *p = q;
    return true;
}

static bool is(part s, const char *word)
{
    return s.n == strlen(word) && memcmp(s.text, word, s.n) == 0;
}

static bool is_object(part s)
{
    return s.n >= 2 && s.text[0] == '{';
}

/* The text of a string. */
static bool string_of(part value, part *text)
{
    *text = (part){"", 0};
    if (value.n < 2 || value.text[0] != '"') return false;
    *text = (part){value.text + 1, value.n - 2};
    return true;
}

/* ---- forms of values ----------------------------------------------------------------------------------- */

static bool consists_of(part s, const char *letters)
{
    for (size_t i = 0; i < s.n; i++)
        if (!s.text[i] || !strchr(letters, s.text[i])) return false;
    return true;
}

#define MOST_NUMBER 20 /* digits before the point, and after it */
#define MOST_HEX 8

static size_t skip(part s, size_t at, const char *letters)
{
    while (at < s.n && s.text[at] && strchr(letters, s.text[at])) at++;
    return at;
}

static const char digits[] = "0123456789";

static bool is_number(part s)
{
    if (is(s, "true") || is(s, "false")) return true;
    size_t from = s.n && s.text[0] == '-', at = skip(s, from, digits), point = at;
    if (at == from || at - from > MOST_NUMBER) return false;
    if (at < s.n && s.text[at] == '.') at = skip(s, at + 1, digits);
    if (at - point == 1 || at - point > MOST_NUMBER + 1) return false;
    if (at < s.n && (s.text[at] == 'e' || s.text[at] == 'E')) {
        from = at + 1 + (at + 1 < s.n && (s.text[at + 1] == '-' || s.text[at + 1] == '+'));
        at = skip(s, from, digits);
        if (at == from || at - from > 3) return false;
    }
    return at == s.n;
}

/* A number, also in quotes, also with "0x". */
static bool is_quoted_number(part s)
{
    part text;
    if (is_number(s)) return true;
    if (!string_of(s, &text)) return false;
    return is_number(text) || (text.n > 2 && text.n <= 2 + MOST_HEX && text.text[0] == '0' &&
                               text.text[1] == 'x' && skip(text, 2, "0123456789abcdefABCDEF") == text.n);
}

/* Lists of numbers in each other, also in quotes, also with "..." for some of them. */
static bool is_numbers(part s)
{
    part text, word;
    if (!string_of(s, &text)) text = s;
    bool ended = false; /* a number or a list, after which a comma follows or a bracket that closes */
    for (size_t at = 0, end; at < text.n; at = end) {
        char c = text.text[at];
        end = at + 1;
        if (consists_of((part){&c, 1}, " \n\r\t")) continue;
        if (c == ',' || c == '[' || c == '(') {
            if (ended != (c == ',')) return false;
            ended = false;
        } else if (c == ']' || c == ')' || c == '"') { /* a number's own quotes */
            ended = ended || c != '"';
        } else {
            end = skip(text, at, "0123456789+-.eE");
            word = (part){text.text + at, end - at};
            if (ended || !(is_number(word) || is(word, "..."))) return false;
            ended = true;
        }
    }
    return true;
}

/* Types of tensors and of arguments as PyTorch and NCCL name them. */
static bool is_type(rs_scrub *scrub, part s)
{
    static const char types[] =
        "float|double|int|long int|long|short|short int|bool|char|signed char|unsigned char|"
        "unsigned short|unsigned int|unsigned long|Scalar|ScalarList|TensorList|GenericList|Tensor|Int|"
        "Long|Short|Float|Double|Half|BFloat16|Bool|Byte|Char|Device|Layout|Generator|Float8_e4m3fn|"
        "Float8_e5m2|Float8_e4m3fnuz|Float8_e5m2fnuz|ComplexFloat|ComplexDouble|UInt8|Int8|Int64|Int32";
    if (!s.n || rs_listed(types, s.text, s.n, true)) return true;
    return s.n > 5 && s.n < 40 && memcmp(s.text, "c10::", 5) == 0 && rs_scrub_words(scrub, s.text, s.n, NULL);
}

/* A word of a library: "allreduce", "_allgather_base", "nccl", "cuda:nccl,cpu:gloo". */
static bool is_word(part s)
{
    static const char words[] =
        "allreduce|allreduce_coalesced|allgather|_allgather_base|all_gather|all_gather_into_tensor|"
        "allgather_coalesced|allgather_into_tensor_coalesced|reduce_scatter|_reduce_scatter_base|"
        "reduce_scatter_tensor|reduce_scatter_tensor_coalesced|alltoall|alltoall_base|all_to_all|"
        "all_to_all_single|all_to_allv|broadcast|_broadcast_oop|reduce|_reduce_oop|gather|scatter|"
        "barrier|send|recv|wait|init|all_reduce|all_reduce_barrier|nccl|gloo|mpi|ucc|xccl|rccl|hccl|"
        "cpu:gloo|cuda:nccl|cpu:gloo,cuda:nccl|cpu:gloo,cuda:gloo|cuda:nccl,cpu:gloo|default_pg|"
        "undefined|mesh_dp|mesh_tp|mesh_pp|mesh_cp|mesh_ep|mesh_fsdp|mesh_ddp|mesh_dp_shard|"
        "mesh_dp_replicate|mesh_dp_cp|DATA_PARALLEL_GROUP|TENSOR_MODEL_PARALLEL_GROUP|"
        "PIPELINE_MODEL_PARALLEL_GROUP|MODEL_PARALLEL_GROUP|CONTEXT_PARALLEL_GROUP|"
        "EXPERT_MODEL_PARALLEL_GROUP|EMBEDDING_GROUP|ms|ns|CPU|Stream Sync|Stream Wait Event|"
        "Context Sync|Event Sync";
    if (rs_listed(words, s.text, s.n, true)) return true;
    /* the number of a group, a version */
    size_t n = 0, points = 0;
    for (size_t i = 0; i < s.n; i++) points += s.text[i] == '.', n += s.text[i] != '.';
    return consists_of(s, "0123456789.") && n <= 6 && points <= 2;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static void put(rs_writer *w, part s)
{
    rs_writer_bytes(w, s.text, s.n);
}

static void put_key(rs_writer *w, part key, bool *first)
{
    rs_writer_text(w, *first ? "\"" : ", \"");
    *first = false;
    put(w, key);
    rs_writer_text(w, "\": ");
}

static void put_string(rs_writer *w, part s)
{
    rs_writer_char(w, '"');
    put(w, s);
    rs_writer_char(w, '"');
}

static void put_private(rs_scrub *s, rs_private of, part text, rs_writer *w)
{
    char word[RS_SCRUBBED];
    rs_scrub_private(s, of, text.text, text.n, word);
    rs_scrub_count(s, 1u << of);
    put_string(w, (part){word, strlen(word)});
}

/* A list of strings of which those that are no types become empty; anything else is null. */
static void put_types(rs_scrub *scrub, part value, rs_writer *w)
{
    const uint8_t *p = (const uint8_t *)value.text, *end = p + value.n;
    bool first = true;
    if (!value.n || *p != '[') {
        rs_writer_text(w, "null");
        return;
    }
    p++;
    rs_writer_char(w, '[');
    for (;;) {
        rs_json_text text;
        while (p < end && (rs_json_is_space(*p) || *p == ',')) p++;
        if (p >= end || *p != '"' || rs_json_string(&p, end, SIZE_MAX, &text) != RS_JSON_OK) break;
        part s = {(const char *)text.bytes, text.length};
        rs_writer_text(w, first ? "" : ", ");
        first = false;
        put_string(w, is_type(scrub, s) ? s : (part){"", 0});
    }
    rs_writer_char(w, ']');
}

/* Values of an operator's inputs: numbers, truth values and lists of them; others become empty. */
static void put_values(part value, rs_writer *w)
{
    const uint8_t *p = (const uint8_t *)value.text, *end = p + value.n;
    bool first = true;
    rs_writer_char(w, '[');
    if (value.n && *p == '[') p++;
    for (;;) {
        rs_json_text text;
        while (p < end && (rs_json_is_space(*p) || *p == ',')) p++;
        if (p >= end || *p != '"' || rs_json_string(&p, end, SIZE_MAX, &text) != RS_JSON_OK) break;
        part s = {(const char *)text.bytes, text.length};
        bool passes = is_numbers(s) || is(s, "True") || is(s, "False") || is(s, "None");
        rs_writer_text(w, first ? "" : ", ");
        first = false;
        put_string(w, passes ? s : (part){"", 0});
    }
    rs_writer_char(w, ']');
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

typedef enum form {
    NUMBER,  /* a number, also as text */
    NUMBERS, /* a list of them */
    TYPES,
    TYPE,
    WORD,    /* one of is_word, else a name of a group */
    KERNEL,  /* the name of a kernel */
    VALUES,  /* of inputs, where they are kept */
    PROCESS, /* of a record about a process or thread */
    LABELS,
    MOMENTS /* "uncut": goes without a word, as the times of the trace tell */
} form;

static const struct {
    const char *key;
    form form;
} arguments[] = {
    {"External id", NUMBER},
    {"external id", NUMBER},
    {"correlation", NUMBER},
    {"stream", NUMBER},
    {"device", NUMBER},
    {"context", NUMBER},
    {"bytes", NUMBER},
    {"memory bandwidth (GB/s)", NUMBER},
    {"rank", NUMBER},
    {"Input Dims", NUMBERS},
    {"Input type", TYPES},
    {"Input Strides", NUMBERS},
    {"Concrete Inputs", VALUES},
    {"Sequence number", NUMBER},
    {"Fwd thread id", NUMBER},
    {"Record function id", NUMBER},
    {"Ev Idx", NUMBER},
    {"Python id", NUMBER},
    {"Python parent id", NUMBER},
    {"Python module id", NUMBER},
    {"Python thread", NUMBER},
    {"grid", NUMBERS},
    {"block", NUMBERS},
    {"registers per thread", NUMBER},
    {"shared memory", NUMBER},
    {"est. achieved occupancy %", NUMBER},
    {"blocks per SM", NUMBER},
    {"warps per SM", NUMBER},
    {"queued", NUMBER},
    {"priority", NUMBER},
    {"graph id", NUMBER},
    {"graph node id", NUMBER},
    {"wait_on_stream", NUMBER},
    {"wait_on_cuda_event_record_corr_id", NUMBER},
    {"wait_on_cuda_event_id", NUMBER},
    {"cuda_sync_kind", WORD},
    {"cbid", NUMBER},
    {"cid", NUMBER},
    {"Collective name", WORD},
    {"In msg nelems", NUMBER},
    {"Out msg nelems", NUMBER},
    {"dtype", TYPE},
    {"Group size", NUMBER},
    {"Process Group Name", WORD},
    {"Process Group Description", WORD},
    {"Process Group Ranks", NUMBERS},
    {"Process Group ID", NUMBER},
    {"Seq", NUMBER},
    {"Rank", NUMBER},
    {"Src Rank", NUMBER},
    {"Dst Rank", NUMBER},
    {"In split size", NUMBERS},
    {"Out split size", NUMBERS},
    {"Global rank start", NUMBER},
    {"Global rank stride", NUMBER},
    {"kernel", KERNEL},
    {"Bytes", NUMBER},
    {"Total Allocated", NUMBER},
    {"Total Reserved", NUMBER},
    {"Device Id", NUMBER},
    {"Device Type", NUMBER},
    {"correlation_raw", NUMBER},
    {"sort_index", NUMBER},
    {"Trace iteration", NUMBER},
    {"Op count", NUMBER},
    {"num_warps", NUMBER},
    {"num_stages", NUMBER},
    {"name", PROCESS},
    {"labels", LABELS},
    {"seq_num", NUMBER},
    {"size", NUMBER},
    {"Profiler Event Index", NUMBER},
    {"uncut", MOMENTS},
};

typedef struct event {
    part phase, category, name;
    rs_kind kind;
} event;

/* Hardware counters have keys that nobody lists; they are numbers with keys of one shape. */
static bool is_counter(rs_scrub *s, const event *e, const member *m)
{
    return e->kind == RS_KIND_PROFILER_RANGE && is_number(m->value) && m->key.n < 120 &&
           consists_of(m->key, "abcdefghijklmnopqrstuvwxyz0123456789_.") &&
           rs_scrub_words(s, m->key.text, m->key.n, NULL);
}

static bool passes(rs_scrub *s, const event *e, const member *m, form how)
{
    part text;
    switch (how) {
    case NUMBER: return is_quoted_number(m->value);
    case NUMBERS: return is_numbers(m->value);
    case TYPES: return true;
    case TYPE: return string_of(m->value, &text) && is_type(s, text);
    case VALUES: return s->keep_values;
    case PROCESS:
    case LABELS: return is(e->phase, "\"M\"") && string_of(m->value, &text);
    case WORD:
    case KERNEL: return string_of(m->value, &text);
    default: return false;
    }
}

static void put_argument(rs_scrub *s, const event *e, const member *m, form how, rs_writer *w)
{
    part text;
    const char *out;
    size_t n;
    string_of(m->value, &text);
    switch (how) {
    case TYPES: put_types(s, m->value, w); break;
    case VALUES: put_values(m->value, w); break;
    case WORD:
        if (is_word(text))
            put(w, m->value);
        else
            put_private(s, RS_PRIVATE_GROUP, text, w);
        break;
    case KERNEL:
        rs_scrub_name(s, "kernel", 6, 'X', text.text, text.n, &out, &n);
        put_string(w, (part){out, n});
        break;
    case PROCESS:
    case LABELS:
        if (is(e->name, "\"thread_name\"") ? rs_scrub_is_thread(text.text, text.n)
                                           : rs_scrub_is_process(text.text, text.n))
            put(w, m->value);
        else
            put_private(s, is(e->name, "\"thread_name\"") ? RS_PRIVATE_THREAD : RS_PRIVATE_PROCESS, text, w);
        break;
    default: put(w, m->value);
    }
}

static void put_args(rs_scrub *s, const event *e, part args, rs_writer *w)
{
    const uint8_t *p = (const uint8_t *)args.text + 1, *end = (const uint8_t *)args.text + args.n;
    bool first = true;
    member m;
    rs_writer_char(w, '{');
    while (is_object(args) && next_member(&p, end, &m)) {
        size_t i = 0, all = sizeof arguments / sizeof *arguments;
        while (i < all && !is(m.key, arguments[i].key)) i++;
        bool known = i < all && passes(s, e, &m, arguments[i].form);
        if (known || is_counter(s, e, &m)) {
            put_key(w, m.key, &first);
            put_argument(s, e, &m, known ? arguments[i].form : NUMBER, w);
        } else if (i == all || arguments[i].form != MOMENTS) {
            rs_scrub_leave(s, RS_LEFT_ARGUMENT, m.key.text, m.key.n);
        }
    }
    rs_writer_char(w, '}');
}

/* ---- events -------------------------------------------------------------------------------------------- */

static void put_category(rs_scrub *s, const event *e, part text, rs_writer *w)
{
    static const char *const others[] = {"fwdbwd", "Trace", "Operator", "overhead", "", NULL};
    bool known = e->kind != RS_KIND_OTHER;
    for (size_t i = 0; others[i]; i++) known = known || is(text, others[i]);
    if (known)
        put_string(w, text);
    else
        put_private(s, RS_PRIVATE_CATEGORY, text, w);
}

/* Process, thread and arrow ids: numbers, or names. */
static void put_id(rs_scrub *s, part value, rs_private of, rs_writer *w)
{
    part text = {0};
    bool number = is_number(value);
    if (!number && !string_of(value, &text))
        rs_writer_text(w, "0");
    else if (number || (of == RS_PRIVATE_NAME     ? is_quoted_number(value)
                        : of == RS_PRIVATE_THREAD ? rs_scrub_is_thread(text.text, text.n)
                                                  : rs_scrub_is_process(text.text, text.n)))
        put(w, value);
    else
        put_private(s, of, text, w);
}

static bool is_letter(part value)
{
    return value.n == 3 && value.text[0] == '"' && rs_is_alnum(value.text[1]);
}

static void put_name(rs_scrub *s, const event *e, part text, rs_writer *w)
{
    const char *out;
    size_t n;
    part category;
    string_of(e->category, &category);
    rs_scrub_name(s, category.text, category.n, is(e->phase, "\"M\"") ? 'M' : 'X', text.text, text.n, &out,
                  &n);
    put_string(w, (part){out, n});
}

static void put_member(rs_scrub *s, const event *e, const member *m, bool *first, rs_writer *w)
{
    part text;
    bool is_text = string_of(m->value, &text);
    bool is_letters = is(m->key, "ph") || is(m->key, "bp") || is(m->key, "s");
    bool is_time = is(m->key, "ts") || is(m->key, "dur");
    bool known = (is_letters && is_letter(m->value)) || (is_time && is_quoted_number(m->value)) ||
                 ((is(m->key, "name") || is(m->key, "cat")) && is_text) || is(m->key, "pid") ||
                 is(m->key, "tid") || is(m->key, "id") || is(m->key, "args");
    if (!known) {
        rs_scrub_leave(s, RS_LEFT_MEMBER, m->key.text, m->key.n);
        return;
    }
    put_key(w, m->key, first);
    if (is(m->key, "name"))
        put_name(s, e, text, w);
    else if (is(m->key, "cat"))
        put_category(s, e, text, w);
    else if (is(m->key, "pid"))
        put_id(s, m->value, RS_PRIVATE_PROCESS, w);
    else if (is(m->key, "tid"))
        put_id(s, m->value, RS_PRIVATE_THREAD, w);
    else if (is(m->key, "id"))
        put_id(s, m->value, RS_PRIVATE_NAME, w);
    else if (is(m->key, "args"))
        put_args(s, e, m->value, w);
    else
        put(w, m->value);
}

void rs_scrub_event(rs_scrub *s, const uint8_t *bytes, size_t n, rs_writer *w)
{
    const uint8_t *p = bytes + 1, *end = bytes + n;
    event e = {{"", 0}, {"", 0}, {"", 0}, RS_KIND_OTHER};
    bool first = true;
    member m;
    while (next_member(&p, end, &m)) {
        if (is(m.key, "ph")) e.phase = m.value;
        if (is(m.key, "cat")) e.category = m.value;
        if (is(m.key, "name")) e.name = m.value;
    }
    if (e.category.n > 2) e.kind = rs_kind_of_category(e.category.text + 1, e.category.n - 2);
    rs_writer_char(w, '{');
    for (p = bytes + 1; next_member(&p, end, &m);) put_member(s, &e, &m, &first, w);
    rs_writer_char(w, '}');
}

/* ---- frames -------------------------------------------------------------------------------------------- */

static bool is_device_name(rs_scrub *scrub, part s)
{
    static const char makers[] = "NVIDIA |AMD |Tesla |GeForce |Quadro |Intel|MTIA|A100|H100|GRID |Radeon ";
    return !s.n ||
           (s.n < 60 && rs_listed(makers, s.text, s.n, false) && rs_scrub_words(scrub, s.text, s.n, NULL));
}

static const char frame_numbers[] =
    "schemaVersion|baseTimeNanoseconds|record_shapes|profile_memory|with_stack|with_flops|with_modules|"
    "cupti_version|cuda_runtime_version|cuda_driver_version|hip_runtime_version|hip_driver_version|"
    "roctracer_version|rocprofiler-sdk_version";
/* of devices and of distributedInfo */
static const char inner_numbers[] =
    "id|totalGlobalMem|computeMajor|computeMinor|major|minor|multiProcessorCount|maxThreadsPerBlock|"
    "maxThreadsPerMultiprocessor|regsPerBlock|warpSize|sharedMemPerBlock|numSms|regsPerMultiprocessor|"
    "sharedMemPerBlockOptin|sharedMemPerMultiprocessor|maxSharedMemoryPerMultiProcessor|rank|world_size|"
    "pg_count|pg_size";
static const char inner_words[] = "backend|nccl_version|pg_name|pg_desc|backend_config";

static void put_objects(rs_scrub *s, part value, unsigned depth, rs_writer *w);

/* A member of deviceProperties, which was computeProperties once, or of distributedInfo. */
static bool put_inner(rs_scrub *s, const member *m, unsigned depth, bool *first, rs_writer *w)
{
    part text;
    bool is_text = string_of(m->value, &text);
    if ((rs_listed(inner_numbers, m->key.text, m->key.n, true) && is_number(m->value)) ||
        (is(m->key, "ranks") && is_numbers(m->value))) {
        put_key(w, m->key, first);
        put(w, m->value);
    } else if (is(m->key, "name") && is_text) {
        put_key(w, m->key, first);
        if (is_device_name(s, text))
            put(w, m->value);
        else
            put_private(s, RS_PRIVATE_DEVICE, text, w);
    } else if (rs_listed(inner_words, m->key.text, m->key.n, true) && is_text) {
        put_key(w, m->key, first);
        if (is_word(text))
            put(w, m->value);
        else
            put_private(s, RS_PRIVATE_GROUP, text, w);
    } else if (is(m->key, "pg_config") && depth < 4) {
        put_key(w, m->key, first);
        put_objects(s, m->value, depth + 1, w);
    } else {
        return false;
    }
    return true;
}

static void put_object(rs_scrub *s, part value, unsigned depth, rs_writer *w)
{
    const uint8_t *p = (const uint8_t *)value.text + 1, *end = (const uint8_t *)value.text + value.n;
    bool first = true;
    member m;
    rs_writer_char(w, '{');
    while (is_object(value) && next_member(&p, end, &m))
        if (!put_inner(s, &m, depth, &first, w)) rs_scrub_leave(s, RS_LEFT_FRAME, m.key.text, m.key.n);
    rs_writer_char(w, '}');
}

/* An object or a list of them; anything else becomes an empty list. */
static void put_objects(rs_scrub *s, part value, unsigned depth, rs_writer *w)
{
    static const rs_json_limits limits = {RS_JSON_MAX_DEPTH, SIZE_MAX};
    const uint8_t *p = (const uint8_t *)value.text, *end = p + value.n;
    bool first = true;
    if (is_object(value)) {
        put_object(s, value, depth, w);
        return;
    }
    rs_writer_char(w, '[');
    if (value.n && *p == '[') p++;
    for (;;) {
        while (p < end && (rs_json_is_space(*p) || *p == ',')) p++;
        const uint8_t *from = p;
        if (p >= end || *p != '{' || rs_json_skip(&p, end, &limits) != RS_JSON_OK) break;
        rs_writer_text(w, first ? "" : ", ");
        first = false;
        put_object(s, (part){(const char *)from, (size_t)(p - from)}, depth, w);
    }
    rs_writer_char(w, ']');
}

bool rs_scrub_frame(rs_scrub *s, const char *key, size_t key_length, const uint8_t *bytes, size_t n,
                    rs_writer *w)
{
    part name = {key, key_length}, value = {(const char *)bytes, n}, text;
    if (is(name, "deviceProperties") || is(name, "computeProperties") || is(name, "distributedInfo")) {
        put_objects(s, value, 0, w);
        return true;
    }
    bool known = rs_listed(frame_numbers, name.text, name.n, true) && is_quoted_number(value);
    known = known || (is(name, "displayTimeUnit") && string_of(value, &text) && is_word(text));
    if (is(name, "host_name") && string_of(value, &text)) {
        put_private(s, RS_PRIVATE_HOST, text, w);
        return true;
    }
    if (known)
        put(w, value);
    else
        rs_scrub_leave(s, RS_LEFT_FRAME, key, key_length);
    return known;
}
