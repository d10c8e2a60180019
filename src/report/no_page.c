/* Stands in for the built page where there was no Node.js to build it with. */
#include "report/page.h"

const unsigned char rs_report_page[1] = {0};
const size_t rs_report_head_size = 0, rs_report_page_size = 0;
const unsigned char rs_explorer_page[1] = {0};
const size_t rs_explorer_page_size = 0;
