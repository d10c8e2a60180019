# The report page: bundled from report/ by esbuild into one file, which is compiled into the library.
#
# RS_REPORT AUTO: where there are Node.js (18 or newer) and npm, else the rest is built without; ON: an error
# where there are not; OFF: left out. The npm packages, pinned in report/package-lock.json, go to the build
# folder; they are fetched again only when the lock file changes.
set(RS_REPORT AUTO CACHE STRING "the report page, which needs Node.js and npm: AUTO, ON or OFF")
set_property(CACHE RS_REPORT PROPERTY STRINGS AUTO ON OFF)
set(RS_REPORT_DIR ${CMAKE_CURRENT_BINARY_DIR}/report)
set(RS_REPORT_WHY_NOT "")

if(RS_REPORT STREQUAL "OFF")
  set(RS_REPORT_WHY_NOT "RS_REPORT is OFF")
else()
  find_program(RS_NODE NAMES node nodejs)
  find_program(RS_NPM npm)
  if(NOT RS_NODE OR NOT RS_NPM)
    set(RS_REPORT_WHY_NOT "Node.js and npm are not both on PATH")
  else()
    execute_process(COMMAND ${RS_NODE} --version OUTPUT_VARIABLE node_version OUTPUT_STRIP_TRAILING_WHITESPACE
                    RESULT_VARIABLE node_result)
    if(node_result OR NOT node_version MATCHES "^v([0-9]+)\\." OR CMAKE_MATCH_1 LESS 18)
      set(RS_REPORT_WHY_NOT "${RS_NODE} is ${node_version}; it takes Node.js 18 or newer")
    endif()
  endif()
endif()

if(NOT RS_REPORT_WHY_NOT)
  file(SHA256 ${CMAKE_CURRENT_SOURCE_DIR}/report/package-lock.json lock_hash)
  set(stamp ${RS_REPORT_DIR}/installed)
  set(installed "")
  if(EXISTS ${stamp})
    file(READ ${stamp} installed)
  endif()
  configure_file(report/package.json ${RS_REPORT_DIR}/package.json COPYONLY)
  configure_file(report/package-lock.json ${RS_REPORT_DIR}/package-lock.json COPYONLY)
  configure_file(report/build.mjs ${RS_REPORT_DIR}/build.mjs COPYONLY)
  if(NOT installed STREQUAL "${lock_hash} ${node_version}")
    message(STATUS "Report page: fetching the npm packages of report/package-lock.json")
    get_filename_component(node_folder ${RS_NODE} DIRECTORY) # npm looks for node on PATH
    execute_process(COMMAND ${CMAKE_COMMAND} -E env --modify PATH=path_list_prepend:${node_folder}
                            ${RS_NPM} ci --ignore-scripts --no-audit --no-fund --loglevel=error
                    WORKING_DIRECTORY ${RS_REPORT_DIR} RESULT_VARIABLE npm_result OUTPUT_QUIET ERROR_VARIABLE npm_error)
    if(npm_result)
      set(RS_REPORT_WHY_NOT "npm ci failed: ${npm_error}")
    else()
      file(WRITE ${stamp} "${lock_hash} ${node_version}")
    endif()
  endif()
endif()

if(RS_REPORT_WHY_NOT)
  if(RS_REPORT STREQUAL "ON")
    message(FATAL_ERROR "Report page: ${RS_REPORT_WHY_NOT}")
  elseif(RS_REPORT STREQUAL "OFF")
    message(STATUS "Report page: left out, ${RS_REPORT_WHY_NOT}")
  else()
    message(WARNING "Report page: left out, so `rankscope report` will not work: ${RS_REPORT_WHY_NOT}")
  endif()
  set(RS_REPORT_PAGE ${CMAKE_CURRENT_SOURCE_DIR}/src/report/no_page.c)
else()
  set(RS_REPORT_PAGE ${RS_REPORT_DIR}/page.c)
  file(GLOB report_files CONFIGURE_DEPENDS report/src/*.js report/src/*.css report/src/explorer/*.js report/src/explorer/*.css report/*.html)
  add_custom_command(
    OUTPUT ${RS_REPORT_PAGE}
    COMMAND ${RS_NODE} ${RS_REPORT_DIR}/build.mjs ${CMAKE_CURRENT_SOURCE_DIR}/report ${RS_REPORT_PAGE}
    DEPENDS ${report_files} ${RS_REPORT_DIR}/build.mjs ${RS_REPORT_DIR}/installed
    COMMENT "Bundling the report page"
    VERBATIM)
endif()
