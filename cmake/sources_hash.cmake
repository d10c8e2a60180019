# Writes a C file with a hash of the sources, when they have changed: cmake -DLIST=FILE -DOUT=FILE.c -P sources_hash.cmake
# What one program put into the store is read by another only if both were built from the same sources.
file(STRINGS ${LIST} paths)
set(all "")
foreach(path IN LISTS paths)
  file(SHA256 ${path} hash)
  string(APPEND all "${hash}")
endforeach()
string(SHA256 hash "${all}")
file(CONFIGURE OUTPUT ${OUT} CONTENT "/* made by cmake/sources_hash.cmake */
extern const char rs_build_sources[];
const char rs_build_sources[] = \"${hash}\";
" @ONLY)
