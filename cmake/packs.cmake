# Packs: larger answers that the core does not know. Each is a folder of src/packs with its rows, public headers, faces
# and tests, and is left out by -DRS_PACK_NAME=OFF.
#
#   src/packs/NAME/*.c, report/*.c   of the library
#   src/packs/NAME/cli/*.c           of the program
#   src/packs/NAME/python/*.c        of the Python extension
#   src/packs/NAME/include           public headers
#   src/packs/NAME/pack.cmake        what else it needs: other libraries, made sources
#
# Sets RS_PACKS (names), RS_PACK_ROOMS (folders with rows, as rs_collect_rows takes them), RS_PACK_SOURCES, RS_PACK_CLI,
# RS_PACK_PYTHON, RS_PACK_INCLUDES, RS_PACK_DEPENDENCIES and RS_PACKS_LEFT_OUT (folders).
set(RS_PACKS "")
set(RS_PACKS_LEFT_OUT "")
set(RS_PACK_ROOMS "")
set(RS_PACK_SOURCES "")
set(RS_PACK_CLI "")
set(RS_PACK_PYTHON "")
set(RS_PACK_INCLUDES "")
set(RS_PACK_DEPENDENCIES "")
file(GLOB rs_pack_folders CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/packs/*)
foreach(folder IN LISTS rs_pack_folders)
  get_filename_component(name ${folder} NAME)
  string(TOUPPER ${name} upper)
  option(RS_PACK_${upper} "build the pack ${name}" ON)
  if(NOT RS_PACK_${upper})
    message(STATUS "Left out: the pack ${name}")
    list(APPEND RS_PACKS_LEFT_OUT ${folder})
    continue()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c ${folder}/report/*.c)
  file(GLOB cli CONFIGURE_DEPENDS ${folder}/cli/*.c)
  file(GLOB python CONFIGURE_DEPENDS ${folder}/python/*.c)
  list(APPEND RS_PACKS ${name})
  list(APPEND RS_PACK_ROOMS packs/${name} packs/${name}/report packs/${name}/cli packs/${name}/python)
  list(APPEND RS_PACK_SOURCES ${sources})
  list(APPEND RS_PACK_CLI ${cli})
  list(APPEND RS_PACK_PYTHON ${python})
  list(APPEND RS_PACK_INCLUDES ${folder}/include)
  include(${folder}/pack.cmake OPTIONAL)
endforeach()
