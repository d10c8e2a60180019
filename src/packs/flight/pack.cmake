# Running jobs are asked by HTTP.
set(RS_PROGRAM_NEEDS_HTTP ON)

# PyTorch's flight-recorder analyzer under its own options, for scripts that call it.
list(APPEND RS_PROGRAM_SCRIPTS ${CMAKE_SOURCE_DIR}/scripts/rankscope-fr-trace=rankscope-fr-trace)
