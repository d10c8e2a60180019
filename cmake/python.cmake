# The Python package: the extension rankscope._engine over the static library, for every Python since 3.9
# (limited API), and the program beside it. scikit-build-core installs the component "python" as a wheel.
# build/python is the package as it would be installed, for trying it without a wheel.
find_package(Python3 REQUIRED COMPONENTS Interpreter Development.Module)
file(GLOB RS_PYTHON_SOURCES CONFIGURE_DEPENDS python/src/*.c)
rs_collect_rows(PY_PART rs_py_part rs_py_part "${RS_PACK_ROOMS}" OPTIONAL)
configure_file(cmake/python_rows.c.in python_rows.c @ONLY)
Python3_add_library(rankscope_engine MODULE ${RS_PYTHON_SOURCES} ${RS_PACK_PYTHON} ${CMAKE_CURRENT_BINARY_DIR}/python_rows.c)
target_compile_definitions(rankscope_engine PRIVATE Py_LIMITED_API=0x03090000)
target_include_directories(rankscope_engine PRIVATE src python/src) # for packing; all else is the public API
target_link_libraries(rankscope_engine PRIVATE rankscope_static)
set_target_properties(rankscope_engine PROPERTIES OUTPUT_NAME _engine PREFIX "" SUFFIX ".abi3.so"
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/rankscope)
# Only the module's entry is seen from outside.
target_link_options(rankscope_engine PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/module.map)

file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/python/rankscope)
file(GLOB RS_PYTHON_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/rankscope/*)
foreach(path IN LISTS RS_PYTHON_FILES)
  get_filename_component(name ${path} NAME)
  file(CREATE_LINK ${path} ${CMAKE_BINARY_DIR}/python/rankscope/${name} SYMBOLIC)
endforeach()

install(TARGETS rankscope_engine LIBRARY DESTINATION rankscope COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS rankscope RUNTIME DESTINATION rankscope/bin COMPONENT python EXCLUDE_FROM_ALL)
install(FILES ${CMAKE_SOURCE_DIR}/python/_rankscope_program.py DESTINATION . COMPONENT python EXCLUDE_FROM_ALL)
# Whose code travels in the wheel.
if(RS_LICENCES) # of libraries that were built for the wheel (scripts/build-libraries)
  install(DIRECTORY ${RS_LICENCES}/ DESTINATION rankscope/licenses COMPONENT python EXCLUDE_FROM_ALL)
elseif(RS_STATIC_DEPENDENCIES)
  foreach(package libisal2 libzstd1 libsmartcols1 libsqlite3-0 libprotobuf-c1 libevent-dev)
    if(EXISTS /usr/share/doc/${package}/copyright)
      install(FILES /usr/share/doc/${package}/copyright DESTINATION rankscope/licenses RENAME ${package}.txt COMPONENT python EXCLUDE_FROM_ALL)
    endif()
  endforeach()
endif()
# Where scanners look in a wheel (PEP 770).
if(SKBUILD_METADATA_DIR)
  install(FILES ${RS_SBOM} DESTINATION ${SKBUILD_METADATA_DIR}/sboms COMPONENT python EXCLUDE_FROM_ALL)
endif()
