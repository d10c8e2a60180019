if(RS_SYNTH AND Python3_FOUND)
  add_test(NAME chakra COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/jobs/run $<TARGET_FILE:rankscope>
                               ${CMAKE_BINARY_DIR}/rankscope-synth)
endif()
