# ranges.cmake - runs a test of PROGRAM under PROFILER (profiler.c). The ranges of layers contain the direction, the
# model and the number in the graph's DOT text. Without a graph of the backend they are nested in the launch. Without
# the profiler nothing is printed.
cmake_minimum_required(VERSION 3.22)

set(ENV{SYNFIRE_TEST_BACKEND} cuda)
function(run result test)
  execute_process(COMMAND "${PROGRAM}" --gtest_filter=${test} RESULT_VARIABLE status
                  OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT status EQUAL 0 OR NOT output MATCHES "PASSED  . 1 test")
    message(FATAL_ERROR "${output}${errors}")
  endif()
  set(${result} "${errors}" PARENT_SCOPE)
endfunction()
function(expect written)
  foreach(pattern IN LISTS ARGN)
    if(NOT written MATCHES "${pattern}")
      message(FATAL_ERROR "no \"${pattern}\" in:\n${written}")
    endif()
  endforeach()
endfunction()

run(silent Inside.WithoutAGraphTheBitsAreTheSame)
set(ENV{NVTX_INJECTION64_PATH} "${PROFILER}")
run(written Inside.WithoutAGraphTheBitsAreTheSame)
if(silent MATCHES "range")
  message(FATAL_ERROR "without a profiler:\n${silent}")
endif()
expect("${written}" "range 0: forward lif 0\n" "range 0: backward lif 0\n" "range 0: graph launch\n"
       "range 0: graph launch\nrange 1: forward lif 0\n" "range 1: backward lif 0\n")

# Four layers, two of each model. Eager calls have no number. The graph's operations have the same numbers with and
# without a capture.
set(test TrainingStep/0.FourLayersLearnInReplaysAlone)
run(captured ${test})
set(ENV{SYNFIRE_GRAPH} 0)
run(eager ${test})
foreach(layer IN ITEMS "plif 0" "lif 1" "plif 2" "lif 3")
  foreach(kind IN ITEMS forward backward "update parameter")
    expect("${captured}" "range 0: ${kind} ${layer}\n")
    expect("${eager}" "range 1: ${kind} ${layer}\n")
  endforeach()
endforeach()
expect("${captured}" "range 0: forward lif\n")
expect("${eager}" "range 0: forward lif\n")
