/* The language of gates (rankscope/gate.h): any column is a field. */
#ifndef RS_QUERY_GATE_H
#define RS_QUERY_GATE_H

#include "query/expression.h"

extern const rs_language rs_gate_language;

#endif
