# What else is in the program, for those who look up known faults: rankscope.cdx.json, CycloneDX 1.5. Libraries are
# named with the version that was built against and whether their code is in the file (static) or the machine's
# (dynamic); the report page carries npm packages.
set(RS_SBOM ${CMAKE_CURRENT_BINARY_DIR}/rankscope.cdx.json)
set(RS_SBOM_COMPONENTS "")

function(rs_sbom_add type name version purl cpe linkage)
  if(version STREQUAL "")
    set(version "unknown")
  endif()
  set(item "    {\"type\": \"${type}\", \"name\": \"${name}\", \"version\": \"${version}\", \"purl\": \"${purl}@${version}\"")
  if(NOT cpe STREQUAL "")
    string(APPEND item ", \"cpe\": \"cpe:2.3:a:${cpe}:${version}:*:*:*:*:*:*:*\"")
  endif()
  string(APPEND item ",\n     \"properties\": [{\"name\": \"rankscope:linkage\", \"value\": \"${linkage}\"}]}")
  list(APPEND RS_SBOM_COMPONENTS "${item}")
  set(RS_SBOM_COMPONENTS "${RS_SBOM_COMPONENTS}" PARENT_SCOPE)
endfunction()

# prefix: of pkg_check_modules, also the name of its imported target
macro(rs_sbom_library prefix name cpe)
  if(TARGET PkgConfig::${prefix})
    get_target_property(rs_linked PkgConfig::${prefix} INTERFACE_LINK_LIBRARIES)
    set(rs_linkage dynamic)
    if(rs_linked MATCHES "\\.a(;|$)")
      set(rs_linkage static)
    endif()
    rs_sbom_add(library "${name}" "${${prefix}_VERSION}" "pkg:generic/${name}" "${cpe}" ${rs_linkage})
  endif()
endmacro()

# Where pkg-config tells a number of the interface, the header tells the version: what matches, joined by dots.
function(rs_sbom_header_version prefix header pattern)
  foreach(folder IN LISTS ${prefix}_INCLUDE_DIRS ITEMS ${${prefix}_INCLUDEDIR} /usr/include)
    if(EXISTS ${folder}/${header})
      file(STRINGS ${folder}/${header} lines REGEX "define +(${pattern})[ \t]")
      list(TRANSFORM lines REPLACE "^.*[ \t]\"?([0-9.]+)\"?.*$" "\\1")
      list(JOIN lines "." version)
      if(NOT version STREQUAL "")
        set(${prefix}_VERSION ${version} PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

rs_sbom_header_version(FREETYPE freetype/freetype.h "FREETYPE_MAJOR|FREETYPE_MINOR|FREETYPE_PATCH")
rs_sbom_header_version(XLSX xlsxwriter.h "LXW_VERSION")
string(REPLACE "-stable" "" EVENT_VERSION "${EVENT_VERSION}")

rs_sbom_library(ISAL isa-l "intel:intelligent_storage_acceleration_library")
rs_sbom_library(ZSTD zstd "facebook:zstandard")
rs_sbom_library(SMARTCOLS util-linux "kernel:util-linux")
rs_sbom_library(SQLITE sqlite "sqlite:sqlite")
rs_sbom_library(PROTOBUF_C protobuf-c "protobuf-c_project:protobuf-c")
if(RS_CAN_PLOT)
  rs_sbom_library(CAIRO cairo "cairographics:cairo")
  rs_sbom_library(FREETYPE freetype "freetype:freetype")
endif()
rs_sbom_library(XLSX libxlsxwriter "")
rs_sbom_library(EXPAT expat "libexpat_project:libexpat")
rs_sbom_library(EVENT libevent "libevent_project:libevent")
rs_sbom_library(CURL libcurl "haxx:libcurl")
rs_sbom_library(EDIT libedit "")

# What the lock file lists is fetched with its checksums; esbuild only bundles and is in nothing.
if(NOT RS_REPORT_WHY_NOT)
  file(READ ${CMAKE_CURRENT_SOURCE_DIR}/report/package-lock.json rs_lock)
  string(JSON rs_count LENGTH "${rs_lock}" packages)
  math(EXPR rs_last "${rs_count} - 1")
  foreach(rs_index RANGE ${rs_last})
    string(JSON rs_path MEMBER "${rs_lock}" packages ${rs_index})
    if(rs_path STREQUAL "" OR rs_path MATCHES "esbuild")
      continue()
    endif()
    string(REGEX REPLACE "^.*node_modules/" "" rs_name "${rs_path}")
    string(JSON rs_version GET "${rs_lock}" packages "${rs_path}" version)
    set(rs_cpe "")
    if(rs_name STREQUAL "echarts")
      set(rs_cpe "apache:echarts")
    endif()
    rs_sbom_add(library "${rs_name}" "${rs_version}" "pkg:npm/${rs_name}" "${rs_cpe}" "in the report page")
  endforeach()
endif()

list(JOIN RS_SBOM_COMPONENTS ",\n" rs_components)
file(CONFIGURE OUTPUT ${RS_SBOM} @ONLY CONTENT "{
  \"bomFormat\": \"CycloneDX\",
  \"specVersion\": \"1.5\",
  \"version\": 1,
  \"metadata\": {\"component\": {\"type\": \"application\", \"name\": \"rankscope\", \"version\": \"@PROJECT_VERSION@\",
    \"purl\": \"pkg:generic/rankscope@@PROJECT_VERSION@\", \"licenses\": [{\"license\": {\"id\": \"Apache-2.0\"}}]}},
  \"components\": [
@rs_components@
  ]
}
")
