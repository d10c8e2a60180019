#include "format/range_names.h"

#include <string.h>

#include "base/ascii.h"

/* How far a whole number reaches; 0: there is none. */
static size_t number(const char *text, size_t n, int64_t *value)
{
    size_t i = n > 0 && text[0] == '-', digits = i;
    int64_t v = 0;
    for (; i < n && rs_is_digit(text[i]) && i < digits + 18; i++) v = v * 10 + (text[i] - '0');
    *value = digits ? -v : v;
    return i > digits ? i : 0;
}

/* How far a list of lists of whole numbers reaches, or of pairs "(12,0)"; 0: there is none. */
static size_t list(const char *text, size_t n)
{
    size_t depth = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '[')
            depth++;
        else if (text[i] == ']' && depth > 0)
            depth--;
        else if (depth == 0 || !text[i] || !strchr("0123456789-, ()", text[i]))
            return 0;
        if (depth == 0) return i + 1;
    }
    return 0;
}

/* How far one of the fields after a name reaches; 0: none of these. */
static size_t one_field(const char *text, size_t n, rs_range_name *out)
{
    static const char *const keys[] = {", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = "};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        size_t key = strlen(keys[k]);
        int64_t value;
        if (n <= key || memcmp(text, keys[k], key) != 0) continue;
        size_t length = k < 2 ? number(text + key, n - key, &value) : list(text + key, n - key);
        if (!length) return 0;
        if (k == 0) out->sequence = value;
        if (k == 2) {
            out->sizes = text + key;
            out->sizes_length = length;
        }
        return key + length;
    }
    return 0;
}

/* "aten::mm", "torch::autograd::AccumulateGrad": names of C++ that are joined by "::". */
static bool is_bare(const char *text, size_t n)
{
    size_t parts = 1, length = 0;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (c == ':' && i + 1 < n && text[i + 1] == ':' && length > 0) {
            parts++;
            i++;
            length = 0;
        } else if ((rs_is_letter(c) || c == '_' || (length > 0 && rs_is_digit(c)))) {
            length++;
        } else {
            return false;
        }
    }
    return parts > 1 && length > 0;
}

rs_range_name rs_range_name_of(const char *text, size_t n, bool bare)
{
    rs_range_name none = {.length = n, .sequence = RS_NO_VALUE}, out = none;
    /* the fields go on to the end; where they do not, they were part of the name */
    for (size_t i = 0; i < n;) {
        size_t field = text[i] == ',' ? one_field(text + i, n - i, &out) : 0;
        if (field && !out.is_operator) {
            out.is_operator = true;
            out.length = i;
        } else if (!field && out.is_operator) {
            out = none;
        }
        i += field ? field : 1;
    }
    if (out.is_operator && out.length > 0) return out;
    none.is_operator = bare && is_bare(text, n);
    return none;
}

rs_status rs_native_name_range(rs_events *events, rs_native *r, bool bare, rs_error *err)
{
    rs_range_name name = rs_range_name_of(r->name, r->name_length, bare);
    r->category = name.is_operator ? "cpu_op" : "user_annotation";
    if (!name.is_operator) return RS_OK;
    r->name_length = name.length;
    r->sequence = name.sequence;
    if (!name.sizes || !(events->loaded >> RS_COL_INPUT_DIMS & 1)) return RS_OK;
    r->dims = rs_strings_add(&events->strings, name.sizes, name.sizes_length);
    return r->dims == RS_NO_STRING ? rs_fail_nomem(err, "strings") : RS_OK;
}
