/* A sink that packs what it is given and hands it to another. */
#ifndef RS_OUTPUT_PACKED_H
#define RS_OUTPUT_PACKED_H

#include "rankscope/render.h"

typedef enum rs_pack { RS_PACK_PLAIN, RS_PACK_GZIP, RS_PACK_ZSTD } rs_pack;

/* Told by the name's end: .gz, .zst or .zstd, else plain. */
rs_pack rs_pack_of_name(const char *path);

typedef struct rs_packed rs_packed;

/* below is borrowed until rs_packed_free. */
rs_status rs_packed_create(const rs_sink *below, rs_pack pack, rs_packed **out, rs_error *err);
rs_sink rs_packed_sink(rs_packed *packed);
/* Writes the rest; RS_ERR_IO when anything failed before. */
rs_status rs_packed_finish(rs_packed *packed, rs_error *err);
void rs_packed_free(rs_packed *packed); /* NULL is allowed */

#endif
