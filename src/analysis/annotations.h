/* GPU work under user annotations. */
#ifndef RS_ANALYSIS_ANNOTATIONS_H
#define RS_ANALYSIS_ANNOTATIONS_H

#include "analysis/analysis.h"
#include "base/memory.h"
#include "base/stats.h"

/* One annotation name of a rank. Slot 0 is work under no annotation (name NULL). Times in ns, GPU times are
 * sums of durations. */
typedef struct rs_annotated {
    const char *name;
    rs_moments length;       /* of the annotations themselves */
    int64_t gpu_time, n_gpu; /* of all work inside, once for each piece however often the name is nested */
    int64_t own_time, n_own; /* of the work whose innermost annotation it is: these add up to all work */
    int64_t own_class[RS_N_CLASSES];
} rs_annotated;

/* A kernel under its innermost annotation. */
typedef struct rs_annotated_kernel {
    uint32_t slot;
    const char *name;
    rs_class class;
    rs_moments time;
} rs_annotated_kernel;

typedef struct rs_annotations {
    rs_arena names;
    rs_annotated *items;
    size_t n, capacity;
    rs_annotated_kernel *kernels;
    size_t n_kernels, kernels_capacity;
    size_t n_work;
    size_t n_other_source; /* annotations of the other kind (host or GPU), not used */
    size_t n_too_deep;     /* annotations nested too deeply to be told apart */
} rs_annotations;

/* Which annotations: the host's, or the GPU's own (gpu_user_annotation). usual: without --from. */
bool rs_annotations_of_gpu(const rs_options *options, bool usual);

rs_status rs_annotations_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
void rs_annotations_free(void *partial);

/* Where something happened: a point on a thread. */
typedef struct rs_point {
    uint32_t thread;
    int64_t time;
} rs_point;

/* An annotation on a thread and the name slot it belongs to. */
typedef struct rs_annotation_span {
    uint32_t thread, slot;
    int64_t start, end;
} rs_annotation_span;

/* Told for every point that lies in an annotation: its index, and the slots of the annotations around it,
 * outermost first. */
typedef void (*rs_enclosed_fn)(void *context, size_t point, const uint32_t *slots, size_t depth);

/* Spans are known by thread, start, then longest first, then their order in the list. O(n log n), times the
 * nesting depth. false when out of memory. */
bool rs_annotations_enclose(const rs_annotation_span *spans, size_t n_spans, const rs_point *points,
                            size_t n_points, rs_enclosed_fn told, void *context, size_t *n_too_deep);

#endif
