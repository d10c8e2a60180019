#include "view/windows.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"

typedef struct window {
    int64_t number;
    char **paths;
    size_t n;
    struct opened *opened; /* NULL: it is not open */
} window;

/* It stays where it is, as the reader and the server point at it. */
typedef struct opened {
    const window *window;
    rs_view_windows *all;
    pthread_t thread;
    rs_job_settings settings;
    rs_view_reading reading;
    rs_explorer *explorer;
    char why[2000];
} opened;

struct rs_view_windows {
    const rs_job_settings *settings;
    window *items;
    size_t n, capacity;
    opened *open[RS_VIEW_OPEN_WINDOWS];
    size_t n_open;
    atomic_bool ends;
};

rs_view_windows *rs_view_windows_create(const rs_job_settings *settings)
{
    rs_view_windows *all = rs_calloc(1, sizeof *all);
    if (all) all->settings = settings;
    return all;
}

rs_status rs_view_windows_add(rs_view_windows *all, int64_t number, const char *const *paths, size_t n,
                              rs_error *err)
{
    if (!rs_grow((void **)&all->items, &all->capacity, all->n + 1, sizeof *all->items))
        return rs_fail_nomem(err, "the windows");
    window *w = &all->items[all->n];
    *w = (window){.number = number, .paths = rs_calloc(n + 1, sizeof *w->paths)};
    if (!w->paths) return rs_fail_nomem(err, "the windows");
    all->n++;
    for (; w->n < n; w->n++) {
        w->paths[w->n] = rs_strdup(paths[w->n]);
        if (!w->paths[w->n]) return rs_fail_nomem(err, "the windows");
    }
    return RS_OK;
}

static bool note(void *context, uint64_t done, uint64_t total)
{
    opened *o = context;
    atomic_store(&o->reading.done, done);
    atomic_store(&o->reading.total, total);
    return !atomic_load(&o->all->ends);
}

/* What is wrong with the files is on the explorer's page. */
static void *read_window(void *context)
{
    opened *o = context;
    rs_error err = RS_ERROR_INIT;
    rs_result told = {0};
    rs_status status = rs_explorer_open((const char *const *)o->window->paths, o->window->n, &o->settings,
                                        &o->explorer, &told, &err);
    rs_result_clear(&told);
    if (status == RS_OK) {
        atomic_store(&o->reading.explorer, o->explorer);
        atomic_store(&o->reading.complete, true);
    } else
        atomic_store(&o->reading.failed, rs_error_text(&err, o->why, sizeof o->why));
    return NULL;
}

static opened *begin(rs_view_windows *all, const window *w)
{
    opened *o = rs_calloc(1, sizeof *o);
    if (!o) return NULL;
    o->window = w;
    o->all = all;
    o->settings = *all->settings;
    o->settings.progress = note;
    o->settings.progress_context = o;
    if (pthread_create(&o->thread, NULL, read_window, o) != 0) {
        rs_free(o);
        return NULL;
    }
    return all->open[all->n_open++] = o;
}

static window *find(const rs_view_windows *all, int64_t number)
{
    window *w = all->items;
    while (w < all->items + all->n && w->number != number) w++;
    return w < all->items + all->n ? w : NULL;
}

bool rs_view_windows_has(const rs_view_windows *all, int64_t number)
{
    return find(all, number) != NULL;
}

rs_view_reading *rs_view_windows_open(rs_view_windows *all, int64_t number, const char **why)
{
    window *w = find(all, number);
    *why = "There is no such window.";
    if (!w) return NULL;
    *why =
        "Eight windows are open, which is the most at a time. Start rankscope view again to look at others.";
    if (!w->opened && all->n_open == RS_VIEW_OPEN_WINDOWS) return NULL;
    *why = "There is no memory to open this window.";
    if (!w->opened) w->opened = begin(all, w);
    return w->opened ? &w->opened->reading : NULL;
}

void rs_view_windows_close(rs_view_windows *all)
{
    if (!all) return;
    atomic_store(&all->ends, true);
    for (size_t i = 0; i < all->n_open; i++) {
        pthread_join(all->open[i]->thread, NULL);
        rs_explorer_close(all->open[i]->explorer);
        rs_free(all->open[i]);
    }
    for (size_t i = 0; i < all->n; i++) {
        for (size_t k = 0; k < all->items[i].n; k++) rs_free(all->items[i].paths[k]);
        rs_free(all->items[i].paths);
    }
    rs_free_all(all->items, all);
}
