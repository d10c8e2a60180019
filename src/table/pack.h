/* Tables as bytes and back, for answers that are kept on disk (src/store). Numbers are the machine's own. */
#pragma once

#include "base/wire.h"
#include "rankscope/table.h"

/* Packs a table that is full: its cells, what its moments count from, and its columns unless they are those of one of
 * the specs. */
void rs_table_pack(const rs_table *table, const rs_table_spec *const *specs, size_t n_specs,
                   rs_wire_writer *w);
/* NULL, and the reader is bad, when the bytes are no such table. The caller frees the table. */
rs_table *rs_table_unpack(const rs_table_spec *const *specs, size_t n_specs, rs_wire_reader *r);
