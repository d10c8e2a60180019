#include "memory/frames.h"

#include <string.h>

#include "base/ascii.h"
#include "base/listed.h"
#include "base/memory.h"

static bool holds(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* A word in small letters, whatever the text has. */
static bool holds_word(const char *text, const char *word)
{
    for (; *text; text++) {
        size_t i = 0;
        while (word[i] && rs_lower(text[i]) == word[i]) i++;
        if (!word[i]) return true;
    }
    return false;
}

static const char *behind_last(const char *path, const char *folder)
{
    const char *found = NULL;
    for (const char *p = path; (p = strstr(p, folder)); p++) found = p + strlen(folder);
    return found;
}

const char *rs_short_path(const char *path)
{
    const char *site = behind_last(path, "site-packages/"), *dist = behind_last(path, "dist-packages/");
    if (!site) return dist ? dist : path;
    return dist && dist > site ? dist : site;
}

/* The part of a C++ name before `::member` and after the :: before it, where the name begins with `space`. */
static const char *part_before(const char *name, const char *space, const char *member, size_t *length)
{
    if (!rs_begins(name, space)) return NULL;
    size_t m = strlen(member);
    for (const char *p = name; (p = strstr(p, member)); p++) {
        if (p[m] != '\0' && p[m] != '(') continue;
        const char *from = p;
        while (from > name && !(from[-1] == ':' && from - name >= 2 && from[-2] == ':')) from--;
        *length = (size_t)(p - from);
        return *length ? from : NULL;
    }
    return NULL;
}

const char *rs_autograd_node(const char *name, size_t *length)
{
    const char *node = part_before(name, "torch::autograd::", "::apply", length);
    if (!node) return NULL;
    for (size_t i = 0; i + 8 <= *length; i++)
        if (memcmp(node + i, "Backward", 8) == 0) return node;
    bool grad = *length >= 4 && memcmp(node + *length - 4, "Grad", 4) == 0;
    return grad ? node : NULL;
}

const char *rs_called_operator(const char *name, size_t *length)
{
    const char *op = part_before(name, "at::_ops::", "::call", length);
    return op ? op : part_before(name, "at::_ops::", "::redispatch", length);
}

/* ---- traits --------------------------------------------------------------------------------------------- */

static bool is_python(const rs_string *file)
{
    return file->length > 3 && memcmp(file->text + file->length - 3, ".py", 3) == 0;
}

static bool is_library(const char *file)
{
    const char *path = rs_short_path(file);
    bool lib = holds(file, "/lib/python3") || holds(file, "/lib64/python3");
    return rs_begins(path, "torch/") || rs_begins(path, "functorch/") || rs_begins(path, "torchgen/") ||
           holds(file, "/pytorch/torch/") ||
           (lib && !holds(file, "site-packages/") && !holds(file, "dist-packages/"));
}

static uint32_t python_traits(const char *file, const char *name)
{
    static const struct {
        const char *name;
        uint32_t trait;
    } functions[] = {{"forward", RS_FRAME_FORWARD},       {"__init__", RS_FRAME_INIT},
                     {"reset_parameters", RS_FRAME_INIT}, {"_apply", RS_FRAME_INIT},
                     {"to_empty", RS_FRAME_INIT},         {"zero_grad", RS_FRAME_ZERO_GRAD},
                     {"_init_group", RS_FRAME_INIT_GROUP}};
    const char *path = rs_short_path(file);
    uint32_t traits = RS_FRAME_PYTHON | (is_library(file) ? RS_FRAME_LIBRARY : 0);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0) traits |= functions[i].trait;
    if (holds_word(name, "loss")) traits |= RS_FRAME_FORWARD;
    if (holds_word(name, "loader") || holds_word(name, "collate") || holds_word(name, "batch"))
        traits |= RS_FRAME_LOADER;
    if (rs_begins(path, "torch/distributed/")) traits |= RS_FRAME_COMM;
    if (holds(path, "/optim/") || rs_begins(path, "optim/") || holds(path, "optimizer"))
        traits |= RS_FRAME_OPTIMIZER;
    if (strcmp(path, "torch/autograd/function.py") == 0 && strcmp(name, "apply") == 0)
        traits |= RS_FRAME_AUTOGRAD;
    return traits;
}

/* Of the interpreter, of what is around every operator, of the stack's own taking. */
static bool is_noise(const char *file, const char *name)
{
    static const char names[] =
        "_Py|Py|cfunction_|method_vectorcall|object_vacall|slot_tp_|call_function|do_call_core|pymain_|"
        "tp_call|vectorcall|function_code_fastcall|__libc_start|_start|clone|start_thread|torch::unwind|"
        "std::|void c10::|torch::CapturedTraceback|c10::impl::|c10::detail::|c10::Dispatcher|c10::cuda::|"
        "torch::cuda::(anonymous namespace)::gather|??";
    return !*name || rs_listed(names, name, strlen(name), false) || holds(file, "/Python/ceval") ||
           holds(file, "/Objects/") || holds(file, "/Include/") || holds(name, "::redispatch(");
}

static uint32_t native_traits(const char *file, const char *name)
{
    size_t length;
    uint32_t traits = RS_FRAME_NATIVE | (is_noise(file, name) ? RS_FRAME_NOISE : 0);
    const char *node = rs_autograd_node(name, &length);
    if (node) traits |= RS_FRAME_NODE | RS_FRAME_AUTOGRAD;
    if (node && rs_begins(node, "AccumulateGrad")) traits |= RS_FRAME_ACCUMULATE;
    if (rs_called_operator(name, &length)) traits |= RS_FRAME_OPERATOR;
    if (holds(name, "torch::autograd::Engine::") || holds(name, "PythonEngine::thread_"))
        traits |= RS_FRAME_AUTOGRAD;
    if (holds(name, "Workspace")) traits |= RS_FRAME_WORKSPACE;
    if (holds(name, "cublas") || holds(name, "cudnn")) traits |= RS_FRAME_KERNEL_LIBRARY;
    if (holds(name, "at::detail::empty") || rs_begins(name, "at::_ops::empty")) traits |= RS_FRAME_TENSOR;
    if (holds(name, "ProcessGroupNCCL") || holds(name, "ncclComm")) traits |= RS_FRAME_COMM;
    return traits;
}

static uint32_t traits_of_stack(const rs_snapshot *s, const rs_stack *stack, const uint32_t *of_frame)
{
    uint32_t traits = 0, mask = ~UINT32_C(0);
    for (uint32_t k = 0; k < stack->n; k++) {
        uint32_t one = of_frame[s->stack_frames[stack->first + k]];
        traits |= one & mask;
        if (one & RS_FRAME_PYTHON && !(one & RS_FRAME_LIBRARY)) mask = ~(uint32_t)RS_FRAME_INNER;
    }
    return traits;
}

rs_status rs_frame_traits_make(const rs_snapshot *s, rs_frame_traits *out, rs_error *err)
{
    *out = (rs_frame_traits){.snapshot = s};
    out->of_frame = rs_calloc(s->n_frames + 1, sizeof *out->of_frame);
    out->of_stack = rs_calloc(s->n_stacks + 1, sizeof *out->of_stack);
    if (!out->of_frame || !out->of_stack) return rs_fail_nomem(err, "frames of stacks");
    for (size_t i = 0; i < s->n_frames; i++) {
        const rs_string *file = &s->strings.items[s->frames[i].file];
        const char *name = s->strings.items[s->frames[i].name].text;
        out->of_frame[i] =
            is_python(file) ? python_traits(file->text, name) : native_traits(file->text, name);
    }
    for (size_t i = 0; i < s->n_stacks; i++)
        out->of_stack[i] = traits_of_stack(s, &s->stacks[i], out->of_frame);
    return RS_OK;
}

void rs_frame_traits_clear(rs_frame_traits *traits)
{
    rs_free_all(traits->of_frame, traits->of_stack);
    *traits = (rs_frame_traits){0};
}
