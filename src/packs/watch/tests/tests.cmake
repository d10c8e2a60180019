# A watch that goes on while windows come. A real job is watched where torch is, a real Prometheus scrapes it where that is installed.
if(Python3_FOUND)
  set(RS_TORCH_PYTHON "${Python3_EXECUTABLE}" CACHE FILEPATH "a Python with torch, for tests of live jobs")
  add_test(NAME watch_live COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/live/run $<TARGET_FILE:rankscope> --torch ${RS_TORCH_PYTHON})
endif()
