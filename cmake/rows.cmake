# rs_collect_rows(TYPE PREFIX DECLARATIONS ENTRIES FILE...)
#
# Finds the rows of a registry: `const TYPE PREFIX_NAME =` at the start of a line. DECLARATIONS and ENTRIES name the
# variables that get the C text: an extern declaration and an array element a row, in the order of the files' names.
#
# A line that speaks of such a row at file level in any other way is an error: a row that is left out would be missed by
# nobody until a user asks for it.
function(rs_collect_rows type prefix declarations entries)
  set(files ${ARGN})
  list(SORT files)
  set(found_declarations "")
  set(found_entries "")
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} lines REGEX "^([^ /*].*)?${type}[ \t]+${prefix}_[A-Za-z0-9_]*")
    foreach(line IN LISTS lines)
      if(line MATCHES "^extern ")
        continue()
      endif()
      if(NOT line MATCHES "^const ${type} (${prefix}_[a-z0-9_]+) = *({|$)")
        message(FATAL_ERROR "${file}: \"${line}\" is no row that the build collects. "
                            "Write it as: const ${type} ${prefix}_NAME = {")
      endif()
      string(APPEND found_declarations "extern const ${type} ${CMAKE_MATCH_1};\n")
      string(APPEND found_entries "    &${CMAKE_MATCH_1},\n")
    endforeach()
  endforeach()
  if(found_entries STREQUAL "")
    message(FATAL_ERROR "no row of ${type} was found in ${files}")
  endif()
  set(${declarations} "${found_declarations}" PARENT_SCOPE)
  set(${entries} "${found_entries}" PARENT_SCOPE)
endfunction()
