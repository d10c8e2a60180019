# Changes are posted by HTTP.
set(RS_PROGRAM_NEEDS_HTTP ON)
