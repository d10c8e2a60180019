/* The options of slice and share: for the command line and Python. */
#include <string.h>

#include "rankscope/fuse.h"
#include "rankscope/slice.h"

static const rs_option_spec slice_specs[] = {
    {"where", RS_OPTION_TEXT, "CONDITION", NULL, NULL,
     "only events for which it holds: FIELD OP VALUE, joined by and (or a comma), or, not, ( )"},
    {"under", RS_OPTION_TEXT, "NAME", NULL, NULL,
     "only what is inside of events of this name (or of this condition), with the GPU work launched there"},
    {"streams", RS_OPTION_RANGES, "LIST", NULL, NULL, "only GPU work of these streams: 7,20-23"},
    {"threads", RS_OPTION_TEXT, "LIST", NULL, NULL,
     "only what these threads (tid) do, with the GPU work they launch"},
    {"categories", RS_OPTION_TEXT, "LIST", NULL, NULL, "only events of these categories: kernel,cpu_op"},
    {"without", RS_OPTION_TEXT, "LIST", NULL, NULL, "no events of these categories: python_function,Trace"},
    {"name", RS_OPTION_TEXT, "TEXT", NULL, NULL, "only events whose name contains it"},
    {"enclosing", RS_OPTION_CHOICE, "HOW", "cut|whole|none", "cut",
     "events around the picked ones: cut to the time of --steps or --window, whole, or none"},
    {"left-out", RS_OPTION_FLAG, NULL, NULL, NULL,
     "the new trace says what was left out, by category (table left_out says it anyway)"},
    {"clocks", RS_OPTION_CHOICE, "HOW", "ends|file", "ends",
     "of several ranks: corrected so that collectives end together; or only by baseTimeNanoseconds"},
};

static const rs_option_spec share_specs[] = {
    {"keep-names", RS_OPTION_FLAG, NULL, NULL, NULL,
     "names of operators, kernels, annotations and modules stay; those of hosts, paths and scripts do not"},
    {"keep-values", RS_OPTION_FLAG, NULL, NULL, NULL, "numbers among the values of operators' inputs stay"},
    {"map", RS_OPTION_TEXT, "FILE", NULL, NULL, "write what replaces what, for yourself"},
};

const rs_option_spec *rs_slice_options(size_t *n)
{
    *n = sizeof slice_specs / sizeof *slice_specs;
    return slice_specs;
}

const rs_option_spec *rs_share_options(size_t *n)
{
    *n = sizeof share_specs / sizeof *share_specs;
    return share_specs;
}

void rs_slice_settings_take(const rs_options *given, const rs_options *share, const char *output,
                            rs_slice_settings *settings)
{
    const char *enclosing = rs_options_text(given, "enclosing");
    settings->where = rs_options_text(given, "where");
    settings->streams = rs_options_text(given, "streams");
    settings->threads = rs_options_text(given, "threads");
    settings->categories = rs_options_text(given, "categories");
    settings->without = rs_options_text(given, "without");
    settings->name = rs_options_text(given, "name");
    settings->under = rs_options_text(given, "under");
    settings->enclosing = strcmp(enclosing, "whole") == 0  ? RS_SLICE_ENCLOSING_WHOLE
                          : strcmp(enclosing, "none") == 0 ? RS_SLICE_ENCLOSING_NONE
                                                           : RS_SLICE_ENCLOSING_CUT;
    settings->align = strcmp(rs_options_text(given, "clocks"), "ends") == 0;
    settings->left_out = rs_options_flag(given, "left-out");
    settings->share = share != NULL;
    settings->keep_names = share && rs_options_flag(share, "keep-names");
    settings->keep_values = share && rs_options_flag(share, "keep-values");
    settings->perfetto = output && rs_is_perfetto_name(output);
}
