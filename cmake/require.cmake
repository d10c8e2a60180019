# rs_require(PREFIX MODULE) asks pkg-config for a library without which nothing is built. rs_require_all(PURPOSE) then stops
# if any of them is missing: it names all of them and the command that installs them (scripts/install-deps PURPOSE).
set(RS_MISSING "")
find_package(PkgConfig)
if(NOT PKG_CONFIG_FOUND)
  list(APPEND RS_MISSING pkg-config)
endif()

macro(rs_require prefix module)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${module})
  endif()
  if(NOT ${prefix}_FOUND)
    list(APPEND RS_MISSING ${module})
  endif()
endmacro()

macro(rs_require_all purpose)
  if(RS_MISSING)
    string(JOIN ", " RS_MISSING ${RS_MISSING})
    message(FATAL_ERROR "missing: ${RS_MISSING}\n"
                        "scripts/install-deps ${purpose} installs what is missing, or lists the packages.")
  endif()
endmacro()
