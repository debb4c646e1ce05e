# ranges.cmake - runs a test of PROGRAM under PROFILER (profiler.c): layers' ranges carry direction and model, and lie inside of
# the launch where there is no graph. Without the profiler nothing is written.
cmake_minimum_required(VERSION 3.22)

set(ENV{SYNFIRE_TEST_BACKEND} cuda)
function(run result)
  execute_process(COMMAND "${PROGRAM}" --gtest_filter=Inside.WithoutAGraphTheBitsAreTheSame RESULT_VARIABLE status
                  OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT status EQUAL 0 OR NOT output MATCHES "PASSED  . 1 test")
    message(FATAL_ERROR "${output}${errors}")
  endif()
  set(${result} "${errors}" PARENT_SCOPE)
endfunction()

run(silent)
set(ENV{NVTX_INJECTION64_PATH} "${PROFILER}")
run(written)
if(silent MATCHES "range")
  message(FATAL_ERROR "without a profiler:\n${silent}")
endif()
foreach(pattern IN ITEMS "range 0: forward [a-z]+\n" "range 0: backward [a-z]+\n" "range 0: graph launch\n"
                         "range 0: graph launch\nrange 1: forward [a-z]+\n" "range 1: backward [a-z]+\n")
  if(NOT written MATCHES "${pattern}")
    message(FATAL_ERROR "no \"${pattern}\" in:\n${written}")
  endif()
endforeach()
