#include "base/late.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static rs_status open_once(rs_late *late, rs_error *err)
{
    if (late->open) return RS_OK;
    void *library = dlopen(late->library, RTLD_NOW | RTLD_LOCAL);
    bool whole = library != NULL;
    for (size_t i = 0; whole && i < late->n; i++) whole = dlsym(library, late->names[i]) != NULL;
    if (!whole) {
        const char *why = dlerror();
        rs_status status = rs_fail(err, RS_ERR_USAGE,
                                   "%s is needed and cannot be loaded: %s; install the package that has it",
                                   late->library, why ? why : "the loader gives no reason");
        if (library) dlclose(library);
        return status;
    }
    for (size_t i = 0; i < late->n; i++) {
        void *function = dlsym(library, late->names[i]);
        memcpy((char *)late->functions + i * sizeof function, &function, sizeof function);
    }
    late->open = true;
    return RS_OK;
}

rs_status rs_late_open(rs_late *late, rs_error *err)
{
    pthread_mutex_lock(&opening);
    rs_status status = open_once(late, err);
    pthread_mutex_unlock(&opening);
    return status;
}
