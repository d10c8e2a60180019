#include "cli/face_tools.h"

static const struct {
    const char *name;
    rs_face_fn render;
} faces[] = {
    {"doctor", rs_face_doctor},
    {"info", rs_face_info},
    {"summary", rs_face_summary},
    {NULL, NULL}, /* the end */
};

rs_face_fn rs_face_find(const char *name)
{
    for (size_t i = 0; faces[i].name; i++)
        if (strcmp(faces[i].name, name) == 0) return faces[i].render;
    return NULL;
}
