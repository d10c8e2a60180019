/* The rows the build collected, in file order, ended by NULL. */
#pragma once

#include "analysis/analysis.h"

extern const rs_analysis *const rs_registry_rows[];
extern const rs_peer_row *const rs_registry_peers[];
extern const rs_facet *const rs_registry_facets[];
