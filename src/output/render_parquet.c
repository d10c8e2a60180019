/* Apache Parquet. Debian has no library that writes it from C, and one that many keep is what a file format for archives
 * needs: so the Python package writes it, with pyarrow, from what `--format arrows` gives. Here is only its place in the
 * list of forms, and the word of where it is to be had. */
#include "output/form.h"

static const char elsewhere[] =
    "--format parquet is written by the Python package: pip install 'rankscope[arrow]', then its `rankscope`, or python -m "
    "rankscope, with the same arguments; --format arrow needs neither";

static rs_status refuse(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                        rs_error *err)
{
    (void)writer;
    (void)table;
    (void)settings;
    return rs_fail(err, RS_ERR_USAGE, "%s", elsewhere);
}

const rs_output_form rs_output_form_parquet = {
    .name = "parquet",
    .help = "an Apache Parquet file: columns as arrow has them, packed",
    .extension = "parquet",
    .binary = true,
    .elsewhere = elsewhere,
    .table = refuse};
