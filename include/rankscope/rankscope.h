/* Everything in the public API. */
#ifndef RANKSCOPE_H
#define RANKSCOPE_H

#include "rankscope/status.h"
#include "rankscope/text.h"
#include "rankscope/table.h"
#include "rankscope/analysis.h"
#include "rankscope/job.h"
#include "rankscope/partial.h"
#include "rankscope/metrics.h"
#include "rankscope/arrow.h"
#include "rankscope/file.h"
#include "rankscope/regress.h"
#include "rankscope/render.h"
#include "rankscope/rewrite.h"
#include "rankscope/gate.h"
#include "rankscope/fuse.h"
#include "rankscope/where.h"
#include "rankscope/events.h"
#include "rankscope/sql.h"
#include "rankscope/slice.h"
#include "rankscope/report.h"
#include "rankscope/tracelens.h"
#include "rankscope/tracelens_compare.h"
#include "rankscope/view.h"
#include "rankscope/flight.h"
#include "rankscope/chakra.h"
#include "rankscope/feeder.h"
#include "rankscope/chakra_trace.h"

#endif
