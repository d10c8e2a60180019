#include "output/face_tools.h"

#include <string.h>

static const struct {
    const char *name;
    rs_face_fn render;
} faces[] = {
    {"annotations", rs_face_annotations},
    {"collectives", rs_face_collectives},
    {"compare", rs_face_compare},
    {"delays", rs_face_delays},
    {"diagnose", rs_face_diagnose},
    {"diff", rs_face_diff},
    {"doctor", rs_face_doctor},
    {"info", rs_face_info},
    {"memory", rs_face_memory},
    {"steps", rs_face_steps},
    {"stragglers", rs_face_stragglers},
    {"summary", rs_face_summary},
    {"tree", rs_face_tree},
    {"variance", rs_face_variance},
    {"whatif", rs_face_whatif},
    {NULL, NULL}, /* the end */
};

rs_face_fn rs_face_find(const char *name, const char *table)
{
    if (strcmp(table, "folded") == 0) return rs_face_stacks;
    if (strcmp(name, "replay") == 0 && strcmp(table, "what_if") == 0) return rs_face_what_if;
    for (size_t i = 0; faces[i].name; i++)
        if (strcmp(faces[i].name, name) == 0) return faces[i].render;
    return NULL;
}

const char *rs_face_nests(const char *name)
{
    return strcmp(name, "tree") == 0 ? "depth" : NULL;
}
