/* The page that was built from report/, in two parts: the data goes between them. */
#pragma once

#include <stddef.h>

extern const unsigned char rs_report_page[]; /* head, then foot */
extern const size_t rs_report_head_size;     /* 0: this build has no page */
extern const size_t rs_report_page_size;

extern const unsigned char rs_explorer_page[]; /* of view; its size is 0 then, too */
extern const size_t rs_explorer_page_size;
