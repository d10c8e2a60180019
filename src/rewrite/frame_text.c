#include "rewrite/frame_text.h"

#include <string.h>

#include "base/memory.h"

#define MAX_FRAME ((size_t)64 << 20)

static bool append(rs_frame_text *f, const void *bytes, size_t n)
{
    if (!rs_grow((void **)&f->text, &f->capacity, f->n + n + 1, 1)) return false;
    memcpy(f->text + f->n, bytes, n);
    f->n += n;
    return true;
}

rs_status rs_frame_text_add(rs_frame_text *f, const uint8_t *key, size_t key_length, const uint8_t *text,
                            size_t n, rs_error *err)
{
    if (f->n + key_length + n + 8 > MAX_FRAME) return RS_OK;
    bool is_number_word = n && (*text == 'N' || *text == 'I');
    bool ok = (f->n == 0 || append(f, ", ", 2)) && append(f, key, key_length) && append(f, ": ", 2) &&
              (is_number_word ? append(f, "null", 4) : append(f, text, n));
    return ok ? RS_OK : rs_fail_nomem(err, "headers");
}

void rs_frame_texts_free(rs_frame_text *frames, size_t n)
{
    for (size_t i = 0; frames && i < n; i++) rs_free(frames[i].text);
    rs_free(frames);
}
