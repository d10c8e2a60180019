# What reads files that others wrote is compiled so that a fault of ours is a crash and no entry: canaries on stacks,
# checked calls of the C library, tables of addresses that nobody writes after loading, no fixed addresses. Sanitizers
# and fuzzers look for more than that by themselves, and do not go together with some of it.
option(RS_HARDEN "stack protector, FORTIFY, full RELRO, PIE" ON)

if(RS_HARDEN AND NOT (RS_SANITIZE OR RS_TSAN OR RS_FUZZ OR RS_COVERAGE))
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES C)
  add_compile_options(-fstack-protector-strong)
  # it needs optimization
  add_compile_options("$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>" "$<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>")
  include(CheckCCompilerFlag)
  check_c_compiler_flag(-fstack-clash-protection RS_HAS_STACK_CLASH)
  if(RS_HAS_STACK_CLASH)
    add_compile_options(-fstack-clash-protection)
  endif()
  add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()

# The same bytes from any folder: paths are told from the sources on.
if(NOT RS_COVERAGE)
  add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
  string(FIND "${CMAKE_BINARY_DIR}" "${CMAKE_SOURCE_DIR}/" RS_BUILT_INSIDE)
  if(RS_BUILT_INSIDE)
    add_compile_options(-ffile-prefix-map=${CMAKE_BINARY_DIR}=./build)
  endif()
endif()
