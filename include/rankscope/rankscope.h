/* Everything in the public API. */
#ifndef RANKSCOPE_H
#define RANKSCOPE_H

#include "rankscope/status.h"
#include "rankscope/text.h"
#include "rankscope/table.h"
#include "rankscope/analysis.h"
#include "rankscope/job.h"
#include "rankscope/partial.h"
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
#include "rankscope/view.h"

/* Of the packs, those that were built. */
#ifdef __has_include
#if __has_include("rankscope/metrics.h")
#include "rankscope/metrics.h"
#endif
#if __has_include("rankscope/tracelens.h")
#include "rankscope/tracelens.h"
#endif
#if __has_include("rankscope/tracelens_compare.h")
#include "rankscope/tracelens_compare.h"
#endif
#if __has_include("rankscope/flight.h")
#include "rankscope/flight.h"
#endif
#if __has_include("rankscope/chakra.h")
#include "rankscope/chakra.h"
#endif
#if __has_include("rankscope/feeder.h")
#include "rankscope/feeder.h"
#endif
#if __has_include("rankscope/chakra_trace.h")
#include "rankscope/chakra_trace.h"
#endif
#endif

#endif
