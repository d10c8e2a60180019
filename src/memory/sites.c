#include "memory/sites.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

const char *const rs_site_by_names[RS_N_SITE_BYS] = {
    "line", "function", "file", "frame", "stack", "op", "size", "stream", "pool", "annotation", "category"};

rs_status rs_stack_names_init(rs_stack_names *n, const rs_frame_traits *traits, rs_site_by by,
                              rs_strings *names, rs_error *err)
{
    *n = (rs_stack_names){.traits = traits, .names = names, .by = by};
    n->of_stack = rs_calloc(traits->snapshot->n_stacks + 1, sizeof *n->of_stack);
    n->unknown = rs_strings_add(names, "unknown", 7);
    return n->of_stack && n->unknown != RS_NO_STRING ? RS_OK : rs_fail_nomem(err, "names of stacks");
}

void rs_stack_names_clear(rs_stack_names *n)
{
    rs_free_all(n->of_stack, n->text);
    *n = (rs_stack_names){0};
}

/* Adds to the text from place *used on; semicolons, which part the frames of a stack, become commas. */
static bool put(rs_stack_names *n, size_t *used, const char *text, size_t length)
{
    if (!rs_grow((void **)&n->text, &n->capacity, *used + length + 1, 1)) return false;
    for (size_t i = 0; i < length; i++) n->text[*used + i] = (char)(text[i] == ';' ? ',' : text[i]);
    *used += length;
    return true;
}

static bool put_text(rs_stack_names *n, size_t *used, const char *text)
{
    return put(n, used, text, strlen(text));
}

static const char *function_of(const rs_stack_names *n, uint32_t frame)
{
    const rs_snapshot *s = n->traits->snapshot;
    return s->strings.items[s->frames[frame].name].text;
}

/* A frame of Python as `by` shows it. */
static bool put_python(rs_stack_names *n, size_t *used, uint32_t frame)
{
    const rs_snapshot *s = n->traits->snapshot;
    const rs_frame *f = &s->frames[frame];
    char line[16];
    snprintf(line, sizeof line, ":%d", (int)f->line);
    if (!put_text(n, used, rs_short_path(s->strings.items[f->file].text))) return false;
    if (n->by == RS_BY_FILE) return true;
    if (n->by != RS_BY_FUNCTION && !put_text(n, used, line)) return false;
    return put_text(n, used, " ") && put_text(n, used, function_of(n, frame));
}

/* The innermost frame with that trait; RS_NO_ROW: none. */
static uint32_t innermost(const rs_stack_names *n, const uint32_t *frames, uint32_t n_frames, uint32_t trait,
                          uint32_t without)
{
    for (uint32_t i = 0; i < n_frames; i++) {
        uint32_t traits = n->traits->of_frame[frames[i]];
        if (traits & trait && !(traits & without)) return frames[i];
    }
    return RS_NO_ROW;
}

/* The name that C++ frames alone give. */
static bool put_native(rs_stack_names *n, size_t *used, const uint32_t *frames, uint32_t n_frames)
{
    uint32_t node = innermost(n, frames, n_frames, RS_FRAME_NODE, 0);
    uint32_t op = innermost(n, frames, n_frames, RS_FRAME_OPERATOR, 0);
    size_t length = 0;
    if (node != RS_NO_ROW) {
        const char *name = rs_autograd_node(function_of(n, node), &length);
        return put_text(n, used, "backward: ") && put(n, used, name, length);
    }
    if (op != RS_NO_ROW) {
        const char *name = rs_called_operator(function_of(n, op), &length);
        return put_text(n, used, "op: ") && put(n, used, name, length);
    }
    return put_text(n, used, "native: ") && put_text(n, used, function_of(n, frames[0]));
}

/* What only takes memory does so for the operator that called it. */
static bool put_operator(rs_stack_names *n, size_t *used, const uint32_t *frames, uint32_t n_frames)
{
    size_t length = 0;
    uint32_t frame = innermost(n, frames, n_frames, RS_FRAME_OPERATOR, RS_FRAME_TENSOR);
    if (frame == RS_NO_ROW) frame = innermost(n, frames, n_frames, RS_FRAME_OPERATOR, 0);
    if (frame != RS_NO_ROW) {
        const char *name = rs_called_operator(function_of(n, frame), &length);
        return put_text(n, used, "aten::") && put(n, used, name, length);
    }
    frame = innermost(n, frames, n_frames, RS_FRAME_NODE, 0);
    if (frame == RS_NO_ROW) return put_text(n, used, "unknown");
    const char *name = rs_autograd_node(function_of(n, frame), &length);
    return put(n, used, name, length);
}

static bool put_stack(rs_stack_names *n, size_t *used, const uint32_t *frames, uint32_t n_frames)
{
    for (uint32_t i = n_frames; i-- > 0;) {
        uint32_t traits = n->traits->of_frame[frames[i]];
        if (traits & RS_FRAME_NOISE) continue;
        bool more = *used > 0;
        if (more && !put_text(n, used, ",")) return false;
        if (more) n->text[*used - 1] = ';';
        bool python = traits & RS_FRAME_PYTHON;
        if (!(python ? put_python(n, used, frames[i]) : put_text(n, used, function_of(n, frames[i]))))
            return false;
    }
    return *used || put_native(n, used, frames, n_frames);
}

static bool put_name(rs_stack_names *n, size_t *used, const rs_stack *stack)
{
    const uint32_t *frames = n->traits->snapshot->stack_frames + stack->first;
    if (n->by == RS_BY_STACK) return put_stack(n, used, frames, stack->n);
    if (n->by == RS_BY_OP) return put_operator(n, used, frames, stack->n);
    uint32_t frame =
        n->by == RS_BY_FRAME ? RS_NO_ROW : innermost(n, frames, stack->n, RS_FRAME_PYTHON, RS_FRAME_LIBRARY);
    if (frame == RS_NO_ROW) frame = innermost(n, frames, stack->n, RS_FRAME_PYTHON, 0);
    return frame == RS_NO_ROW ? put_native(n, used, frames, stack->n) : put_python(n, used, frame);
}

uint32_t rs_stack_name(rs_stack_names *n, uint32_t stack)
{
    if (stack == RS_NO_STACK) return n->unknown;
    uint32_t *known = &n->of_stack[stack];
    if (*known) return *known - 1;
    size_t used = 0;
    if (!put_name(n, &used, &n->traits->snapshot->stacks[stack])) return RS_NO_STRING;
    uint32_t id = rs_strings_add(n->names, n->text, used);
    if (id != RS_NO_STRING) *known = id + 1;
    return id;
}
