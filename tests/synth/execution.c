/* The PyTorch execution trace of a rank: the operators that its Kineto trace has, with who called whom and
 * with what, and no times. Ids count up in the order in which operators and their tensors come to be;
 * operators are written when they end, roots at the end of the file, as PyTorch's observer does. */
#include "synth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESS_ROOT = 1, MAIN_ROOT = 2, AUTOGRAD_ROOT = 3, GROUPS_NODE = 4, FIRST_FREE = 5, DEPTH = 64 };

typedef struct {
    int64_t start, end;
    const record *event;
    uint64_t id, parent;
    int thread;
    size_t order; /* by start */
} call;

struct execution {
    output out;
    uint64_t next; /* id */
    char **values; /* by template: inputs and outputs as text, made when it is first called */
    size_t template_count;
    call *calls; /* of the present step */
    size_t capacity;
};

/* ---- arguments ----------------------------------------------------------------------------------------- */

/* The value behind "key": in an event's arguments, as it stands there; NULL without. Brackets and quotes
 * pair. */
static const char *argument_of(const char *args, const char *key, size_t *length)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(args, quoted);
    if (!at) return NULL;
    at += strlen(quoted);
    const char *end = at;
    int depth = 0;
    for (bool text = false; *end && (text || depth || *end != ','); end++) {
        if (*end == '"') text = !text;
        if (!text && *end == '[') depth++;
        if (!text && *end == ']') depth--;
    }
    *length = (size_t)(end - at);
    return at;
}

/* The next element of a list whose inside is at *at; false behind the last. */
static bool next_element(const char **at, const char *end, const char **element, size_t *length)
{
    while (*at < end && (**at == ',' || **at == ' ')) ++*at;
    if (*at >= end) return false;
    const char *from = *at;
    int depth = 0;
    for (bool text = false; *at < end && (text || depth || **at != ','); ++*at) {
        if (**at == '"') text = !text;
        if (!text && **at == '[') depth++;
        if (!text && **at == ']') depth--;
    }
    *element = from;
    *length = (size_t)(*at - from);
    return true;
}

static int64_t elements_of(const char *dims, size_t length)
{
    int64_t product = 1, value = 0;
    for (size_t i = 0; i < length; i++) {
        if (dims[i] >= '0' && dims[i] <= '9') value = value * 10 + (dims[i] - '0');
        if (dims[i] == ',' || (dims[i] == ']' && length > 2)) {
            product *= value;
            value = 0;
        }
    }
    return product;
}

static char *put_tensor(struct execution *x, const rank_state *r, char *to, int64_t elements)
{
    uint64_t tensor = x->next++, storage = x->next++;
    return to + sprintf(to, "[%llu, %llu, 0, %lld, 2, \"cuda:%d\"]", (unsigned long long)tensor,
                        (unsigned long long)storage, (long long)elements, r->device);
}

/* Lists of one operator's arguments: values, shapes and types side by side. */
typedef struct {
    char values[2048], shapes[2048], types[2048];
    char *value, *shape, *type;
    char first[512]; /* the first tensor, as all three lists of it */
} lists;

static void add_argument(lists *l, const char *value, const char *shape, size_t shape_length,
                         const char *type)
{
    const char *comma = l->value > l->values ? ", " : "";
    l->value += sprintf(l->value, "%s%s", comma, value);
    l->shape += sprintf(l->shape, "%s%.*s", comma, (int)shape_length, shape);
    l->type += sprintf(l->type, "%s\"%s\"", comma, type);
}

static void read_arguments(struct execution *x, const rank_state *r, const template *t, lists *l)
{
    size_t n_dims, n_types, n_values, dim_length, type_length, value_length;
    const char *dims = argument_of(t->args, "Input Dims", &n_dims),
               *types = argument_of(t->args, "Input type", &n_types),
               *values = argument_of(t->args, "Concrete Inputs", &n_values), *dim, *type, *value;
    if (!dims || !types || !values) return;
    const char *dims_end = dims + n_dims - 1, *types_end = types + n_types - 1,
               *values_end = values + n_values - 1;
    dims++, types++, values++;
    while (next_element(&dims, dims_end, &dim, &dim_length) &&
           next_element(&types, types_end, &type, &type_length) &&
           next_element(&values, values_end, &value, &value_length)) {
        char text[256], kind[64];
        if (type_length > 2 && type[1] == 'c') {
            *put_tensor(x, r, text, elements_of(dim, dim_length)) = '\0';
            snprintf(kind, sizeof kind, "Tensor(%.*s)", (int)type_length - 2, type + 1);
            if (!l->first[0])
                snprintf(l->first, sizeof l->first,
                         "{\"values\": [%s], \"shapes\": [%.*s], \"types\": [\"%s\"]}", text, (int)dim_length,
                         dim, kind);
            add_argument(l, text, dim, dim_length, kind);
        } else if (value_length > 2) {
            snprintf(text, sizeof text, "%.*s", (int)value_length, value);
            add_argument(l, text, "[]", 2, "String");
        } else {
            add_argument(l, "\"<None>\"", "[]", 2, "None");
        }
    }
}

/* A collective's arguments: what is sent, the group's name and description, the collective's name. */
static void collective_arguments(struct execution *x, const rank_state *r, const template *t, lists *l)
{
    size_t name_length, group_length, text_length, count_length;
    const char *name = argument_of(t->args, "Collective name", &name_length),
               *pg = argument_of(t->args, "Process Group Name", &group_length),
               *text = argument_of(t->args, "Process Group Description", &text_length),
               *count = argument_of(t->args, "In msg nelems", &count_length);
    if (!name || !pg || !text || !count) return;
    char value[512], shape[64], tensor[128];
    *put_tensor(x, r, tensor, atoll(count)) = '\0';
    snprintf(value, sizeof value, "[%s]", tensor);
    int n = snprintf(shape, sizeof shape, "[[%lld]]", atoll(count));
    add_argument(l, value, shape, (size_t)n, "GenericList[Tensor(c10::BFloat16)]");
    snprintf(value, sizeof value, "[%.*s, %.*s]", (int)group_length, pg, (int)text_length, text);
    add_argument(l, value, "[[], []]", 8, "Tuple[String,String]");
    snprintf(value, sizeof value, "%d", r->id);
    add_argument(l, value, "[]", 2, "Int");
    snprintf(value, sizeof value, "%.*s", (int)name_length, name);
    add_argument(l, value, "[]", 2, "String");
}

/* What stands between a node's parent and its attributes; the same for every call of a template. */
static const char *values_of(job *j, rank_state *r, int32_t number)
{
    struct execution *x = r->execution;
    const template *t = &j->templates[number];
    if (x->values[number]) return x->values[number];
    lists l = {.first = ""};
    l.value = l.values;
    l.shape = l.shapes;
    l.type = l.types;
    if (!strcmp(t->name, "record_param_comms"))
        collective_arguments(x, r, t, &l);
    else
        read_arguments(x, r, t, &l);
    const char *form = "\"inputs\": {\"values\": [%s], \"shapes\": [%s], \"types\": [%s]}, \"outputs\": %s";
    const char *none = "{\"values\": [], \"shapes\": [], \"types\": []}";
    size_t room = strlen(l.values) + strlen(l.shapes) + strlen(l.types) + strlen(l.first) + 256;
    x->values[number] = take_memory(room);
    snprintf(x->values[number], room, form, l.values, l.shapes, l.types, l.first[0] ? l.first : none);
    return x->values[number];
}

/* ---- nodes --------------------------------------------------------------------------------------------- */

static void put_attributes(output *o, uint64_t rf_id, int64_t sequence, int scope, int thread, int forward)
{
    out_format(
        o,
        "\"attrs\": [{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": %llu}, {\"name\": \"fw_parent\", "
        "\"type\": \"uint64\", \"value\": 0}, {\"name\": \"seq_id\", \"type\": \"int64\", \"value\": %lld}, "
        "{\"name\": \"scope\", \"type\": \"uint64\", \"value\": %d}, {\"name\": \"tid\", \"type\": "
        "\"uint64\", \"value\": %d}, {\"name\": \"fw_tid\", \"type\": \"uint64\", \"value\": %d}, {\"name\": "
        "\"op_schema\", \"type\": \"string\", \"value\": \"\"}",
        (unsigned long long)rf_id, (long long)sequence, scope, thread, forward);
}

static void put_collective(output *o, const char *args)
{
    static const struct {
        const char *key, *name, *type;
    } kept[] = {{"Collective name", "collective_name", "string"},
                {"dtype", "dtype", "string"},
                {"In msg nelems", "in_msg_nelems", "uint64"},
                {"Out msg nelems", "out_msg_nelems", "uint64"},
                {"In split size", "in_split_size", "string"},
                {"Out split size", "out_split_size", "string"},
                {"Global rank start", "global_rank_start", "uint64"},
                {"Global rank stride", "global_rank_stride", "uint64"},
                {"Process Group Name", "pg_name", "string"},
                {"Process Group Description", "pg_desc", "string"},
                {"Group size", "pg_size", "uint64"}};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        size_t length;
        const char *value = argument_of(args, kept[i].key, &length);
        if (value)
            out_format(o, ", {\"name\": \"%s\", \"type\": \"%s\", \"value\": %.*s}", kept[i].name,
                       kept[i].type, (int)length, value);
    }
}

static void put_call(job *j, rank_state *r, const call *c)
{
    output *o = &r->execution->out;
    const template *t = &j->templates[c->event->template];
    const char *values = values_of(j, r, c->event->template);
    char step[32] = "";
    if (t->step_name) snprintf(step, sizeof step, "%lld", (long long)c->event->amount);
    out_format(o, "    {\n      \"id\": %llu, \"name\": \"%s%s\", \"ctrl_deps\": %llu,\n      ",
               (unsigned long long)c->id, t->name, step, (unsigned long long)c->parent);
    out_text(o, values, strlen(values));
    out_format(o, ",\n      ");
    int scope = t->category == CAT_USER_ANNOTATION ? 7 : c->thread == 1 ? 1 : 0;
    put_attributes(o, c->event->external, c->event->sequence, scope, c->thread + 1,
                   c->thread == 1 && c->event->sequence >= 0);
    if (!strcmp(t->name, "record_param_comms")) put_collective(o, t->args);
    out_format(o, "]\n    },\n");
}

static int by_start(const void *a, const void *b)
{
    const call *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static int by_end(const void *a, const void *b)
{
    const call *x = a, *y = b;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return (x->order < y->order) - (x->order > y->order);
}

void execution_step(job *j, rank_state *r)
{
    struct execution *x = r->execution;
    size_t count = r->host[0].count + r->host[1].count, n = 0, depth[2] = {0, 0};
    struct {
        int64_t end;
        uint64_t id;
    } open[2][DEPTH];
    if (j->pass != 0 || r->out.measure) return;
    x->calls = grow(x->calls, &x->capacity, count, sizeof *x->calls);
    for (int thread = 0; thread < 2; thread++)
        for (size_t i = 0; i < r->host[thread].count; i++) {
            const record *e = &r->host[thread].items[i];
            x->calls[n++] =
                (call){.start = e->start, .end = e->start + e->duration, .event = e, .thread = thread};
        }
    qsort(x->calls, count, sizeof *x->calls, by_start);
    for (size_t i = 0; i < count; i++) {
        call *c = &x->calls[i];
        size_t *top = &depth[c->thread];
        values_of(j, r, c->event->template); /* its tensors are older than the call */
        c->id = x->next++;
        c->order = i;
        while (*top && open[c->thread][*top - 1].end <= c->start) --*top;
        c->parent = *top ? open[c->thread][*top - 1].id : c->thread ? AUTOGRAD_ROOT : MAIN_ROOT;
        if (*top == DEPTH) fail("operators nest deeper than %d", DEPTH);
        open[c->thread][*top].end = c->end;
        open[c->thread][(*top)++].id = c->id;
    }
    qsort(x->calls, count, sizeof *x->calls, by_end);
    for (size_t i = 0; i < count; i++) put_call(j, r, &x->calls[i]);
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static const char EMPTY[] =
    "\"inputs\": {\"values\": [], \"shapes\": [], \"types\": []}, \"outputs\": {\"values\": "
    "[], \"shapes\": [], \"types\": []},\n      ";

static void put_root(output *o, int id, const char *what, int parent, int thread, bool last)
{
    out_format(o,
               "    {\n      \"id\": %d, \"name\": \"[pytorch|profiler|execution_trace|%s]\", \"ctrl_deps\": "
               "%d,\n      %s",
               id, what, parent, EMPTY);
    put_attributes(o, 0, -1, 7, thread, 0);
    out_format(o, "]\n    }%s\n", last ? "" : ",");
}

static const char *description(int kind)
{
    return kind == GROUP_TP   ? "TENSOR_MODEL_PARALLEL_GROUP"
           : kind == GROUP_DP ? "DATA_PARALLEL_GROUP"
                              : "PIPELINE_MODEL_PARALLEL_GROUP";
}

static void put_group(output *o, int name, const char *text, const int *ranks, int count, int of)
{
    out_format(o,
               "{\\\"pg_name\\\": \\\"%d\\\", \\\"pg_desc\\\": \\\"%s\\\", \\\"backend_config\\\": "
               "\\\"cuda:nccl\\\", \\\"group_size\\\": %d, \\\"group_count\\\": %d, \\\"ranks\\\": [",
               name, text, count, of);
    for (int m = 0; m < count; m++) out_format(o, m ? ", %d" : "%d", ranks ? ranks[m] : m);
    out_format(o, "]}");
}

static void put_groups(job *j, rank_state *r)
{
    output *o = &r->execution->out;
    int count = 1;
    for (int i = 0; i < r->group_count; i++) count += j->groups[r->groups[i]].kind != GROUP_PAIR;
    out_format(o,
               "    {\n      \"id\": %d, \"name\": \"## process_group:init ##\", \"ctrl_deps\": %d,\n      "
               "\"inputs\": {\"values\": [\"[",
               GROUPS_NODE, MAIN_ROOT);
    put_group(o, 0, "default_pg", NULL, j->ranks, count);
    for (int i = 0; i < r->group_count; i++) {
        const group *g = &j->groups[r->groups[i]];
        if (g->kind == GROUP_PAIR) continue;
        out_format(o, ", ");
        put_group(o, g->name, description(g->kind), g->ranks, g->count, count);
    }
    out_format(
        o, "]\"], \"shapes\": [[]], \"types\": [\"String\"]}, \"outputs\": {\"values\": [], \"shapes\": [], "
           "\"types\": []},\n      ");
    put_attributes(o, 0, -1, 7, 1, 0);
    out_format(o, "]\n    },\n");
}

void execution_open(job *j, rank_state *r)
{
    struct execution *x = r->execution = take_memory(sizeof *x);
    const char *form = j->opt.execution, *mark = strchr(form, '%');
    char path[4096];
    int length = mark ? snprintf(path, sizeof path, "%.*s%d%s", (int)(mark - form), form, r->id, mark + 1)
                      : snprintf(path, sizeof path, "%s", form);
    if (length >= (int)sizeof path) fail("%s: the name is too long", form);
    output_open(&x->out, path);
    x->next = FIRST_FREE;
    x->template_count = j->template_count;
    x->values = take_memory(j->template_count * sizeof *x->values);
    out_format(&x->out,
               "{\n  \"schema\": \"1.1.0-chakra.0.0.4\", \"pid\": %d, \"time\": \"2025-09-30 13:48:54\", "
               "\"start_ts\": %lld,\n  \"nodes\": [\n",
               r->pid, (long long)((j->epoch + r->offset) / 1000000));
    put_groups(j, r);
}

void execution_close(job *j, rank_state *r)
{
    struct execution *x = r->execution;
    if (!x) return;
    put_root(&x->out, MAIN_ROOT, "thread", PROCESS_ROOT, 1, false);
    put_root(&x->out, AUTOGRAD_ROOT, "thread", PROCESS_ROOT, 2, false);
    put_root(&x->out, PROCESS_ROOT, "process", PROCESS_ROOT, 0, true);
    out_format(&x->out, "  ],\n  \"finish_ts\": %lld\n}\n", (long long)((r->time + r->offset) / 1000000));
    (void)j;
    output_close(&x->out);
    for (size_t i = 0; i < x->template_count; i++) free(x->values[i]);
    free(x->values);
    free(x->calls);
    free(x);
    r->execution = NULL;
}
