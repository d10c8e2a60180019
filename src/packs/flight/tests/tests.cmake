# A job simulator with faults: a test of the verdict, and the maker of the benchmark's dumps.
set(rs_jobs ${CMAKE_CURRENT_LIST_DIR}/jobs)
add_executable(flight_sim ${rs_jobs}/main.c ${rs_jobs}/sim.c ${rs_jobs}/sim_write.c ${rs_jobs}/sim_sources.c)
set_target_properties(flight_sim PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/flight)
target_link_libraries(flight_sim PRIVATE rankscope_static)
add_test(NAME flight_sim COMMAND flight_sim check 1000)
add_test(NAME flight_sim_sources COMMAND flight_sim sources 400)
set(rs_shapes 1000)
if(RS_SANITIZE)
  set(rs_shapes 100)
endif()
add_test(NAME flight_sim_shapes COMMAND flight_sim shapes ${rs_shapes})

# A job that is watched through NCCL's RAS and Prometheus.
if(TARGET rankscope AND Python3_FOUND)
  add_test(NAME flight_live_sources COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/live/sources $<TARGET_FILE:rankscope>)
endif()
