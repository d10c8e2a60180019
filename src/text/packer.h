/* Packs what is written through it: gzip or zstd, or nothing. */
#ifndef RS_TEXT_PACKER_H
#define RS_TEXT_PACKER_H

#include "rankscope/text.h"

typedef enum rs_pack { RS_PACK_NONE, RS_PACK_GZIP, RS_PACK_ZSTD } rs_pack;

typedef struct rs_packer rs_packer;

/* By the end of a file's name: .gz, .zst, else none. */
rs_pack rs_pack_of_name(const char *name);

/* The sink is borrowed. */
rs_status rs_packer_open(rs_pack pack, const rs_sink *sink, rs_packer **out, rs_error *err);
/* What is written here comes out packed; valid until the packer is closed. */
rs_sink rs_packer_sink(rs_packer *packer);
/* Ends the stream. Nothing may be written afterwards. */
rs_status rs_packer_finish(rs_packer *packer, rs_error *err);
void rs_packer_close(rs_packer *packer); /* NULL is allowed */

#endif
