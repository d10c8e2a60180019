/* Values as JSON has them. */
#pragma once

#include "chakra/proto.h"

/* Not a number and infinity are texts. */
void rs_chakra_put_real(rs_writer *w, double value);
/* In base64. */
void rs_chakra_put_bytes(rs_writer *w, const ProtobufCBinaryData *bytes);
