/* The table of event templates: equal ones are kept once. */
#include "synth.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return mix(hash + 1);
}

static char *copy_text(const char *text)
{
    size_t length = strlen(text);
    char *copy = take_memory(length + 1);
    memcpy(copy, text, length);
    return copy;
}

static void index_add(job *j, size_t item, uint64_t hash)
{
    size_t at = hash % j->template_buckets;
    while (j->template_index[at] >= 0) at = (at + 1) % j->template_buckets;
    j->template_index[at] = (int32_t)item;
}

static uint64_t hash_template(const template *t)
{
    return hash_text(hash_text((uint64_t)t->category * 8 + t->class, t->name), t->args);
}

static void index_rebuild(job *j)
{
    free(j->template_index);
    j->template_buckets = j->template_buckets ? j->template_buckets * 2 : 1024;
    j->template_index = take_memory(j->template_buckets * sizeof *j->template_index);
    for (size_t i = 0; i < j->template_buckets; i++) j->template_index[i] = -1;
    for (size_t i = 0; i < j->template_count; i++) index_add(j, i, hash_template(&j->templates[i]));
}

int template_get(job *j, category cat, int class, const char *name, const char *args)
{
    if (j->template_count * 2 >= j->template_buckets) index_rebuild(j);
    uint64_t hash = hash_text(hash_text((uint64_t)cat * 8 + (uint64_t) class, name), args);
    for (size_t at = hash % j->template_buckets; j->template_index[at] >= 0;
         at = (at + 1) % j->template_buckets) {
        const template *t = &j->templates[j->template_index[at]];
        if (t->category == cat && t->class == class && !strcmp(t->name, name) && !strcmp(t->args, args))
            return j->template_index[at];
    }
    j->templates = grow(j->templates, &j->template_capacity, j->template_count + 1, sizeof *j->templates);
    template *t = &j->templates[j->template_count];
    *t = (template){
        .name = copy_text(name), .args = copy_text(args), .category = (uint8_t)cat, .class = (uint8_t) class};
    t->name_length = (uint32_t)strlen(name);
    t->args_length = (uint32_t)strlen(args);
    t->step_name = !strcmp(name, "ProfilerStep#");
    index_add(j, j->template_count, hash);
    return (int)j->template_count++;
}

void templates_free(job *j)
{
    for (size_t i = 0; i < j->template_count; i++) {
        free(j->templates[i].name);
        free(j->templates[i].args);
    }
    free(j->templates);
    free(j->template_index);
}
