# TraceLens' report commands, under their own names.
foreach(name TraceLens_generate_perf_report_pytorch TraceLens_generate_multi_rank_collective_report_pytorch
             TraceLens_compare_perf_reports_pytorch)
  list(APPEND RS_PROGRAM_SCRIPTS ${CMAKE_SOURCE_DIR}/scripts/rankscope-tracelens=${name})
endforeach()
