# Pictures are optional: without cairo `metrics` says that it cannot draw. The font is built in.
if(RS_PLOT)
  pkg_check_modules(CAIRO IMPORTED_TARGET cairo)
  pkg_check_modules(FREETYPE IMPORTED_TARGET freetype2)
  find_file(RS_PLOT_FONT DejaVuSans.ttf PATHS /usr/share/fonts /usr/share/fonts/truetype /usr/local/share/fonts
            PATH_SUFFIXES dejavu dejavu-sans-fonts TTF)
endif()
if(CAIRO_FOUND AND FREETYPE_FOUND AND RS_PLOT_FONT)
  set(RS_CAN_PLOT ON)
  rs_open_late(${folder}/plot.c cairo CAIRO "cairo_[a-z_]+")
  rs_open_late(${folder}/plot.c freetype FREETYPE "FT_[A-Z][A-Za-z_]+")
  if(NOT RS_LATE_CAIRO OR NOT RS_LATE_FREETYPE)
    list(APPEND RS_PACK_DEPENDENCIES PkgConfig::CAIRO PkgConfig::FREETYPE)
    set(RS_OPTIONAL_DEPENDENCIES "${RS_OPTIONAL_DEPENDENCIES} CAIRO=cairo FREETYPE=freetype2")
  endif()
  set_source_files_properties(${folder}/plot.c PROPERTIES OBJECT_DEPENDS "${RS_PLOT_FONT}"
                              COMPILE_DEFINITIONS "RS_HAVE_CAIRO;RS_PLOT_FONT=\"${RS_PLOT_FONT}\"")
endif()
