/* The verdict that opens an answer. */
#pragma once

#include "output/layout.h"
#include "rankscope/verdict.h"

/* The first verdict as a paragraph, and where its evidence is; nothing where the job was not judged. its_own: of the command
 * that shows all verdicts, which lists what is to be fixed by itself. */
rs_status rs_page_verdict(rs_page *layout, const rs_result *result, bool its_own, rs_error *err);
/* Why ranks come late, a sentence each. Whether one is about `rank`. */
bool rs_page_lateness(rs_page *layout, const rs_result *result, int64_t rank);
/* The command that shows evidence, on one line. */
rs_status rs_page_evidence(rs_page *layout, const char *lead, const rs_evidence *evidence, rs_error *err);

/* "verdict": {...} and a comma; nothing where the job was not judged. */
void rs_write_json_verdict(rs_writer *writer, const rs_result *result);
