/* Parts of JSON that others embed in documents of their own. */
#pragma once

#include "text/writer.h"

/* One cell as it stands in JSON. */
void rs_write_json_value(rs_writer *writer, const rs_table *table, size_t row, size_t column);
/* What stands between the brackets of "problems". */
void rs_write_json_problems(rs_writer *writer, const rs_problems *problems);
