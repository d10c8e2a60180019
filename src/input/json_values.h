/* A JSON document as a tree of values. */
#pragma once

#include "input/pickle.h"

/* Reads one document from memory, as rs_pickle_read does: values is emptied first; texts are borrowed from
 * bytes where they needed no decoding; after a cut info->root gives what came before it. */
rs_status rs_json_read_values(rs_values *values, const uint8_t *bytes, size_t n, const char *file,
                              rs_pickle_info *info, rs_error *err);
