# What `make install` puts where: the program, both libraries, the headers, files for pkg-config and CMake,
# and the manual pages and completions that the program writes itself.
include(CMakePackageConfigHelpers)
set(RS_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/rankscope)

if(TARGET rankscope)
  install(TARGETS rankscope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Other tools' commands, for scripts that call them: FILE=NAME.
  foreach(script IN LISTS RS_PROGRAM_SCRIPTS)
    string(REPLACE "=" ";" script ${script})
    list(POP_FRONT script file name)
    install(PROGRAMS ${file} DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME ${name})
  endforeach()
endif()
if(TARGET rankscope-otf2)
  install(TARGETS rankscope-otf2 RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(TARGETS rankscope_shared EXPORT rankscope-shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS rankscope_static EXPORT rankscope-static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(folder IN ITEMS include LISTS RS_PACK_INCLUDES)
  install(DIRECTORY ${folder}/rankscope DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
endforeach()

install(EXPORT rankscope-shared NAMESPACE rankscope:: DESTINATION ${RS_PACKAGE_DIR})
install(EXPORT rankscope-static NAMESPACE rankscope:: DESTINATION ${RS_PACKAGE_DIR})
configure_package_config_file(cmake/rankscope-config.cmake.in rankscope-config.cmake INSTALL_DESTINATION ${RS_PACKAGE_DIR})
write_basic_package_version_file(rankscope-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rankscope-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/rankscope-config-version.cmake
        DESTINATION ${RS_PACKAGE_DIR})

# Who links the archive needs the other libraries, by name: the shared library asks for no package of theirs.
set(RS_PC_LIBRARIES "")
foreach(dependency IN LISTS RS_DEPENDENCIES)
  string(REPLACE "PkgConfig::" "" name ${dependency})
  list(APPEND RS_PC_LIBRARIES ${${name}_LDFLAGS})
endforeach()
list(REMOVE_DUPLICATES RS_PC_LIBRARIES)
list(JOIN RS_PC_LIBRARIES " " RS_PC_LIBRARIES)

# The .pc file names the prefix, which `cmake --install --prefix` may still change.
install(CODE "set(RS_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
set(RS_BINDIR \"${CMAKE_INSTALL_BINDIR}\")
set(RS_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
set(RS_DESCRIPTION \"${PROJECT_DESCRIPTION}\")
set(RS_VERSION \"${PROJECT_VERSION}\")
set(RS_PC_LIBRARIES \"${RS_PC_LIBRARIES}\")
set(RS_SOURCE_DIR \"${CMAKE_CURRENT_SOURCE_DIR}\")
set(RS_DATADIR \"${CMAKE_INSTALL_DATADIR}\")
set(RS_MANDIR \"${CMAKE_INSTALL_MANDIR}\")
set(RS_DOCDIR \"${CMAKE_INSTALL_DOCDIR}\")
set(RS_PROGRAM_NAMES \"${RS_PROGRAM_NAMES}\")
set(RS_BUILD_DIR \"${CMAKE_CURRENT_BINARY_DIR}\")")
install(SCRIPT cmake/install_generated.cmake)
install(FILES LICENSE SECURITY.md CHANGELOG.md ${RS_SBOM} DESTINATION ${CMAKE_INSTALL_DOCDIR})
