/* The questions the page asks, and their answers. */
#pragma once

#include "report/section.h"

#define RS_REPORT_OPTIONS 2
#define RS_REPORT_PARTS 5

typedef struct rs_report_question {
    const char *name; /* of its answer in the page's data */
    const char *analysis;
    const char *options[RS_REPORT_OPTIONS][2]; /* name and value */
    rs_report_part parts[RS_REPORT_PARTS];
    bool
        over_ranks; /* asked where several ranks are given; its failure is told, and the page does without it */
} rs_report_question;

/* In the order of the page's data. */
extern const rs_report_question rs_report_questions[];
extern const size_t rs_report_n_questions;

typedef struct rs_report_answers {
    rs_result *results; /* one a question */
    size_t n;
    void **sections; /* an answer each of rs_report_section_rows; NULL: it was not asked for */
} rs_report_answers;

/* Asks everything. told receives problems and notes, each once, on failure too. */
rs_status rs_report_gather(rs_job *job, const rs_report_settings *settings, rs_report_answers *out,
                           rs_result *told, rs_error *err);
void rs_report_answers_clear(rs_report_answers *answers);
