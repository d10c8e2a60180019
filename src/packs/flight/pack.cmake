# Running jobs are asked by libcurl. What goes to other machines does without Debian's, whose archive would draw in cryptography; that of
# scripts/build-libraries speaks plain HTTP alone.
if(NOT RS_STATIC_DEPENDENCIES OR RS_OWN_ARCHIVES)
  pkg_check_modules(CURL IMPORTED_TARGET libcurl)
  if(CURL_FOUND)
    set_source_files_properties(${folder}/cli/fetch.c PROPERTIES COMPILE_DEFINITIONS RS_HAVE_CURL)
    list(APPEND RS_PROGRAM_DEPENDENCIES PkgConfig::CURL)
  endif()
endif()

# PyTorch's flight-recorder analyzer under its own options, for scripts that call it.
list(APPEND RS_PROGRAM_SCRIPTS ${CMAKE_SOURCE_DIR}/scripts/rankscope-fr-trace=rankscope-fr-trace)
