/* Dependencies that the traces do not record: from what every step shows, and from the order of calls. */
#pragma once

#include "engine/engine.h"

/* Fills added and inferred of an engine whose ranks are numbered and matched. */
rs_status rs_engine_infer(rs_engine *engine, rs_error *err);
