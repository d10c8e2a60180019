/* A folder of files that a test makes and removes. */
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

enum { FOLDER_FILES = 48, FOLDER_PATH = 200 };

typedef struct folder {
    char path[64];
    char files[FOLDER_FILES][FOLDER_PATH]; /* and folders, each after the one that it is in */
    size_t n;
} folder;

static inline folder folder_make(void)
{
    folder f = {.path = "/tmp/rs_test_XXXXXX"};
    assert_non_null(mkdtemp(f.path));
    return f;
}

/* A file, or a folder where there is no content. Its path. */
static inline const char *folder_add(folder *f, const char *name, const text *t)
{
    assert_true(f->n < FOLDER_FILES);
    char path[FOLDER_PATH];
    snprintf(path, sizeof path, "%.60s/%s", f->path, name);
    memcpy(f->files[f->n], path, sizeof path);
    if (t)
        text_save(t, path);
    else
        assert_int_equal(mkdir(path, 0700), 0);
    return f->files[f->n++];
}

static inline const char *folder_add_bytes(folder *f, const char *name, const char *content, size_t n)
{
    text t = {0};
    text_add(&t, content, n);
    const char *path = folder_add(f, name, &t);
    text_clear(&t);
    return path;
}

static inline void folder_remove(folder *f)
{
    while (f->n--)
        if (unlink(f->files[f->n]) != 0) assert_int_equal(rmdir(f->files[f->n]), 0);
    assert_int_equal(rmdir(f->path), 0);
    f->n = 0;
}
