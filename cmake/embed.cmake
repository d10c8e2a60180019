# Writes files as C arrays: rs_embed(OUT.c SYMBOL FILE [SYMBOL FILE]...); SYMBOL[] and SYMBOL_size. What is built in
# changes with the file.
function(rs_embed out)
  set(words ${ARGN})
  set(text "/* made by cmake/embed.cmake */\n#include <stddef.h>\n")
  while(words)
    list(POP_FRONT words symbol file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
    string(APPEND text "extern const unsigned char ${symbol}[];\nextern const size_t ${symbol}_size;\n"
                       "const unsigned char ${symbol}[] = {\n${bytes}};\nconst size_t ${symbol}_size = sizeof ${symbol};\n")
  endwhile()
  file(CONFIGURE OUTPUT ${out} CONTENT "${text}" @ONLY)
endfunction()
