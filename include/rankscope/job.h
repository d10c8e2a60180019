/* A job: the traces of one training run, one rank each, opened together and asked questions.
 *
 * Ranks are read in parallel, each is analysed and released again, so a job of any size needs the memory of
 * the ranks in flight only. */
#ifndef RANKSCOPE_JOB_H
#define RANKSCOPE_JOB_H

#include "rankscope/analysis.h"
#include "rankscope/file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called now and then from any worker thread (never two at once): bytes of input read so far, and in all (0
 * if unknown). Returning false cancels the run with RS_ERR_CANCELLED. */
typedef bool (*rs_progress_fn)(void *context, uint64_t done, uint64_t total);

typedef struct rs_job_settings {
    size_t size;            /* sizeof(rs_job_settings): needed, so that the struct can grow */
    unsigned jobs;          /* worker threads; 0: one for each core */
    uint64_t max_memory;    /* bytes all loaded ranks may take; 0: no limit */
    uint64_t max_ratio;     /* text bytes per compressed byte; 0: 1000 */
    uint64_t max_string;    /* longest string in the input; 0: 16 MiB */
    unsigned max_depth;     /* deepest nesting in the input; 0: 1024 */
    bool recursive;         /* descend into directories */
    bool renumber;          /* number ranks by sorted file name, whatever the files say */
    bool single_rank;       /* a merged input is an error */
    bool keep;              /* keep loaded ranks, with every known argument, for the next run */
    uint64_t keep_memory;   /* with keep: bytes of events to keep; ranks beyond are read again; 0: no limit */
    bool include_last_step; /* HTA's include_last_profiler_step; only under its compatibility modes */
    bool absolute;          /* times as the files have them, not from the job's first event */
    bool all_columns;       /* load every known argument, not only those the analyses ask for */
    bool no_verdict;        /* do not ask the judge (rankscope/verdict.h) */
    const char *ranks;      /* "0,3,8-15"; NULL: all */
    const char *steps;      /* "3-5"; NULL: all */
    const char
        *window; /* "10-12.5": ms from the job's first event over all ranks, the end excluded; NULL: all */
    const char
        *captures; /* a trace of the capture of CUDA or HIP graphs, or a folder of them (docs/captures.md):
                             replayed graphs get the operators that stand there; NULL: none */
    const char *
        classes; /* rules CLASS=REGEX, one a line, of which the last that finds a name says what that GPU work does, before
                     every built-in rule; @FILE: the rules of a file; NULL: none */
    const char *store;    /* the folder in which what was computed is kept (docs/store.md); NULL: none */
    bool no_store;        /* none, whatever store says */
    bool store_optional;  /* a folder that cannot be made or written is no error: nothing is kept then */
    uint64_t store_from;  /* bytes of an input from which on it is kept; 0: all */
    uint64_t store_limit; /* bytes that the folder may hold; 0: 5 GiB */
    rs_progress_fn progress;
    void *progress_context;
    int simd; /* 0: best the machine has; else force a level (tests): 1 portable, 2 SSE2/NEON, 3 AVX2 */
} rs_job_settings;

/* The options that users choose settings by; in Python '-' becomes '_'. The first, "compat", is not the job's
 * but that of its questions (rs_query). Static. */
RS_API const rs_option_spec *rs_job_options(size_t *n);
/* Puts what was chosen of them into the settings, and leaves the other members alone. `given` need not have
 * all of these options; texts stay its own. RS_ERR_USAGE names the option and what it takes. */
RS_API rs_status rs_job_settings_take(const rs_options *given, rs_job_settings *settings, rs_error *err);

/* The rank that a file's name gives: the number after "rank" in it, else in the name of the nearest folder that has
 * one; RS_NO_VALUE. */
RS_API int64_t rs_rank_in_name(const char *path);

typedef enum rs_content {
    RS_CONTENT_OTHER,
    RS_CONTENT_TRACE,
    RS_CONTENT_SNAPSHOT,
    RS_CONTENT_COMPILATIONS
} rs_content;
/* What a file holds, by the first n bytes of its text (rs_file_begin; 64 KiB are enough): a trace of any format that a job
 * reads, an allocator's snapshot, or a compiler's log. */
RS_API rs_content rs_content_of(const void *text, size_t n);

typedef struct rs_job rs_job;

/* Resolves the paths (files, directories, "-", RANK=PATH) to input files; nothing is read yet. The settings
 * are copied, the strings in them are borrowed until rs_job_close. Directories are scanned here; what is
 * skipped in them is added to the job's problems when it is found to be no trace. */
RS_API rs_status rs_job_open(const char *const *paths, size_t n_paths, const rs_job_settings *settings,
                             rs_job **out, rs_error *err);

/* One file from bytes in memory (plain, gzip or zstd). The bytes are borrowed until rs_job_close, not copied.
 * name stands for the file's name: in messages, and where a rank is told by its file's name. */
RS_API rs_status rs_job_open_bytes(const void *bytes, size_t n, const char *name,
                                   const rs_job_settings *settings, rs_job **out, rs_error *err);

/* One input file of a job. */
typedef struct rs_job_file {
    const char
        *name; /* its path; of bytes, what stands for it: in messages, and where a name tells the rank */
    const void *
        bytes; /* its contents (plain, gzip or zstd), borrowed until rs_job_close; NULL: read from the path */
    size_t n_bytes;
    int64_t rank;  /* its rank, as RANK=PATH says it; negative: its own word or its name tell */
    bool optional; /* as if found in a directory: passed over with a note when it is no trace */
    const char *const
        *parts; /* the paths of several files that are read as one, name's among them; NULL: one file */
    size_t n_parts;
    const char *instead; /* the file that holds the same work and is read in its place; NULL: none */
    const rs_remote
        *remote; /* its contents, fetched by ranges, borrowed until rs_job_close; NULL: bytes or the path */
} rs_job_file;

/* One file more for a job, which may have been opened with no paths at all. Only before the first run, and by
 * one thread: later it is RS_ERR_USAGE. The name, parts and
 * instead are copied. */
RS_API rs_status rs_job_add(rs_job *job, const rs_job_file *file, rs_error *err);

/* The files of a job, in the order in which ranks without a number are numbered: by name, digits by their
 * value, those of one name as they were added. */
RS_API size_t rs_job_n_files(const rs_job *job);
RS_API rs_job_file rs_job_get_file(const rs_job *job, size_t i); /* borrowed from the job */

RS_API void rs_job_close(rs_job *job); /* NULL is allowed */

/* Whether an analysis can follow what the job was restricted to (ranks, steps, window). RS_ERR_USAGE says
 * what it cannot follow and why; rs_job_run fails with the same. err may be NULL. */
RS_API rs_status rs_job_can_ask(const rs_job *job, const rs_analysis *analysis, rs_error *err);

/* What the next runs ask about: ranks, steps and a window as in the settings; NULL: as the job was opened.
 * What is loaded stays. The texts are copied. After a failure the job asks about what it was opened with. */
RS_API rs_status rs_job_select(rs_job *job, const char *ranks, const char *steps, const char *window,
                               rs_error *err);

/* Runs one analysis over all ranks. options may be NULL (defaults). result is overwritten; on success the
 * caller clears it, on failure too: it then has no tables, and its problems tell of every file that could not
 * be used. Same bytes of result for any number of jobs. After RS_ERR_CANCELLED the job is as usable as
 * before. One run at a time: a job is not thread-safe. */
RS_API rs_status rs_job_run(rs_job *job, const rs_analysis *analysis, const rs_options *options,
                            rs_compat compat, rs_result *result, rs_error *err);

/* As rs_job_run for an analysis that compares two jobs: a is what is compared with, b what is judged. */
RS_API rs_status rs_job_run_pair(rs_job *a, rs_job *b, const rs_analysis *analysis, const rs_options *options,
                                 rs_compat compat, rs_result *result, rs_error *err);

/* As rs_job_run for an analysis that compares any number of jobs, two or more: jobs[0] is what the others are
 * compared with. A job may stand in the list more than once. Analyses of two jobs take it, too. */
RS_API rs_status rs_job_run_jobs(rs_job *const *jobs, size_t n_jobs, const rs_analysis *analysis,
                                 const rs_options *options, rs_compat compat, rs_result *result,
                                 rs_error *err);

/* One of several questions to one job. options may be NULL (defaults). */
typedef struct rs_query {
    const rs_analysis *analysis;
    const rs_options *options;
    rs_compat compat;
    bool tables_alone; /* no verdict is asked for but where its tables depend on it */
} rs_query;

/* Runs several analyses over one job while each rank is loaded once, with the arguments that any of them
 * reads. results (n of them) are overwritten; the caller clears each, whatever the outcome. Each is what
 * rs_job_run alone would have given: the same bytes, problems and notes. A failing analysis does not keep the
 * others from their answers: its result has no tables (problems may still tell of unusable files), and the
 * first such error is returned, naming the analysis when n > 1.
 * What differs is the peak of memory: a loaded rank holds more arguments, which max_memory counts. */
RS_API rs_status rs_job_run_many(rs_job *job, const rs_query *queries, size_t n, rs_result *results,
                                 rs_error *err);

/* What the loads of this job cost so far. */
typedef struct rs_job_stats {
    uint64_t bytes_read; /* of the files */
    uint64_t bytes_text; /* after inflating */
    uint64_t events;
    double load_seconds;     /* wall time in the readers, summed over ranks */
    double index_seconds;    /* in what analyses share and the first of them pays: links between launches and
                                work */
    double analysis_seconds; /* in the analyses themselves */
} rs_job_stats;

RS_API rs_job_stats rs_job_get_stats(const rs_job *job);

#ifdef __cplusplus
}
#endif
#endif
