/* GPU work under user annotations. */
#pragma once

#include "analysis/plan.h"

/* One annotation name of a rank. Times in ns, GPU times are sums of durations. */
typedef struct rs_annotated {
    uint32_t name;
    uint32_t slot, place;    /* slot: its number while work is counted, place: among all in the end */
    bool named;              /* not the work under no annotation, which has slot 0 and comes last */
    rs_moments length;       /* of the annotations themselves */
    int64_t gpu_time, n_gpu; /* of all work inside, once for each piece however often the name is nested */
    int64_t own_time, n_own; /* of the work whose innermost annotation it is: these add up to all work */
    int64_t own_class[RS_N_CLASSES];
    int64_t all; /* GPU time of the rank */
} rs_annotated;

/* A kernel under its innermost annotation, in the order of these, then by time. */
typedef struct rs_annotated_kernel {
    uint32_t place, annotation, name; /* annotation: its name */
    uint8_t class;                    /* rs_class */
    rs_moments time;
    int64_t own_time; /* of the annotation */
} rs_annotated_kernel;

/* A piece of work as kernels are added up of it. */
typedef struct rs_annotated_piece {
    uint32_t place, annotation, name;
    uint8_t class;
    int64_t time;
} rs_annotated_piece;

/* What was met beside. */
typedef struct rs_annotation_counts {
    size_t n_named, n_work;
    size_t n_other_source; /* annotations of the other kind (host or GPU), not used */
    size_t n_too_deep;     /* annotations nested too deeply to be told apart */
} rs_annotation_counts;

/* Relations of the plan. */
enum { RS_ANNOTATIONS_NAMES, RS_ANNOTATIONS_KERNELS, RS_ANNOTATIONS_COUNTS };

/* Which annotations: the host's, or the GPU's own (gpu_user_annotation). usual: without --from. */
bool rs_annotations_of_gpu(const rs_options *options, bool usual);

/* Puts names and counts, and then, when these are in order, kernels. */
rs_status rs_annotations_put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err);
rs_status rs_annotations_put_kernels(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err);

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
