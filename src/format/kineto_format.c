/* The row of PyTorch's profiler: what no other format claims is read as one of its files. */
#include "format/format.h"

const rs_format rs_format_kineto = {.name = "kineto",
                                    .title = "Kineto JSON",
                                    .load = rs_kineto_load,
                                    .tells_operators = true,
                                    .can_be_written_again = true};
