# rs_open_late(SOURCE NAME PREFIX CALLS) writes late_NAME.h for SOURCE (src/base/late.h): the functions of the library
# PkgConfig::PREFIX that SOURCE calls, by the regular expression CALLS, are found when it is first needed, and nothing is linked with it.
# Sets RS_LATE_PREFIX where that is so. Where archives are linked (RS_STATIC_DEPENDENCIES), or the loader's name of the library
# cannot be told, the caller links it as any other.
function(rs_open_late source name prefix calls)
  set(header ${CMAKE_BINARY_DIR}/late/late_${name}.h)
  set_property(SOURCE ${source} APPEND PROPERTY INCLUDE_DIRECTORIES ${CMAKE_BINARY_DIR}/late ${${prefix}_INCLUDE_DIRS})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  get_target_property(libraries PkgConfig::${prefix} INTERFACE_LINK_LIBRARIES)
  set(loaded "")
  if(NOT RS_STATIC_DEPENDENCIES AND NOT APPLE AND CMAKE_OBJDUMP)
    list(GET libraries 0 library)
    execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${library} OUTPUT_VARIABLE loaded ERROR_QUIET)
    string(REGEX MATCH "SONAME +([^ \n]+)" loaded "${loaded}")
    set(loaded "${CMAKE_MATCH_1}")
  endif()
  if(NOT loaded)
    file(CONFIGURE OUTPUT ${header} @ONLY CONTENT "#pragma once
#include \"base/late.h\"
static rs_status rs_late_${name}(rs_error *err)
{
    (void)err;
    return RS_OK;
}
")
    return()
  endif()

  file(READ ${source} text)
  string(REGEX MATCHALL "(${calls})\\(" found "${text}")
  list(TRANSFORM found REPLACE "\\($" "")
  list(REMOVE_DUPLICATES found)
  list(SORT found)
  set(members "")
  set(names "")
  set(replaced "")
  foreach(function IN LISTS found)
    string(APPEND members "    __typeof__(${function}) *${function};\n")
    string(APPEND names "\"${function}\", ")
    string(APPEND replaced "#undef ${function}\n#define ${function} late_${name}_functions.${function}\n")
  endforeach()
  file(CONFIGURE OUTPUT ${header} @ONLY CONTENT "/* Written by cmake/late.cmake. */
#pragma once
#include \"base/late.h\"
static struct {
${members}} late_${name}_functions;
static const char *const late_${name}_names[] = {${names}};
static rs_late late_${name} = {\"${loaded}\", late_${name}_names, sizeof late_${name}_names / sizeof *late_${name}_names, &late_${name}_functions, false};
static rs_status rs_late_${name}(rs_error *err)
{
    return rs_late_open(&late_${name}, err);
}
${replaced}")
  set(RS_LATE_${prefix} ON PARENT_SCOPE)
endfunction()
