/* Values as JSON has them. */
#ifndef RS_CHAKRA_PRINT_INTERNAL_H
#define RS_CHAKRA_PRINT_INTERNAL_H

#include "chakra/proto.h"

/* Not a number and infinity are texts. */
void rs_chakra_put_real(rs_writer *w, double value);
/* In base64. */
void rs_chakra_put_bytes(rs_writer *w, const ProtobufCBinaryData *bytes);

#endif
