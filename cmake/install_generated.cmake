# Runs at install time, with the prefix and DESTDIR that were asked for.
set(root "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")

set(prefix "${CMAKE_INSTALL_PREFIX}")
foreach(name LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${RS_${name}}")
    set(PC_${name} "${RS_${name}}")
  else()
    set(PC_${name} "\${prefix}/${RS_${name}}")
  endif()
endforeach()
configure_file("${RS_SOURCE_DIR}/cmake/rankscope.pc.in" "${root}/${RS_LIBDIR}/pkgconfig/rankscope.pc" @ONLY)
message(STATUS "Installing: ${root}/${RS_LIBDIR}/pkgconfig/rankscope.pc")

if(EXISTS "${RS_BUILD_DIR}/rankscope")
  # Other tools' names, under which the program does what they do.
  foreach(tool IN LISTS RS_PROGRAM_NAMES)
    message(STATUS "Installing: ${root}/${RS_BINDIR}/${tool}")
    file(CREATE_LINK rankscope "${root}/${RS_BINDIR}/${tool}" SYMBOLIC)
  endforeach()
  execute_process(COMMAND "${RS_SOURCE_DIR}/scripts/write-manual" "${RS_BUILD_DIR}/rankscope" "${root}/${RS_MANDIR}"
                          "${root}/${RS_DATADIR}" "${root}/${RS_BINDIR}" RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "rankscope could not write its manual pages and completions")
  endif()
endif()
