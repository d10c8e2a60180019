/* The language of gates (rankscope/gate.h): any column is a field. */
#pragma once

#include "query/expression.h"

extern const rs_language rs_gate_language;
