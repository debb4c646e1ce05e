# A program prints a macro of a precompiled header. The header changes in that macro's value alone, and a new build folder
# with the same compiler cache must print the new value. Building the first value once more, in a third folder, must take
# what the cache has.
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}/include")
set(ENV{CCACHE_DIR} "${WORK_DIR}/cache")
set(ENV{CCACHE_BASEDIR} "${WORK_DIR}")
set(ENV{CCACHE_NOHASHDIR} 1)
unset(ENV{CCACHE_DISABLE})
unset(ENV{CCACHE_RECACHE})

function(run_command)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect_value value build)
  file(WRITE "${WORK_DIR}/include/value.h" "#ifndef VALUE\n#define VALUE ${value}\n#endif\n")
  run_command("${CMAKE_COMMAND}" -S "${PROJECT}" -B "${WORK_DIR}/${build}" -G "${GENERATOR}" "-DMODULES=${MODULES}"
    "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${CCACHE}" "-DINCLUDE=${WORK_DIR}/include")
  run_command("${CMAKE_COMMAND}" --build "${WORK_DIR}/${build}")
  run_command("${WORK_DIR}/${build}/print-value")
  if(NOT output STREQUAL "${value}\n")
    message(FATAL_ERROR "VALUE is ${value}, and the program in ${build} was compiled with ${output}")
  endif()
endfunction()

expect_value(1 first)
expect_value(2 changed)
run_command("${CCACHE}" --zero-stats)
expect_value(1 again)
run_command("${CCACHE}" --print-stats)
if(NOT output MATCHES "direct_cache_hit\t2\n" OR NOT output MATCHES "cache_miss\t0\n")
  message(FATAL_ERROR "the cache has the header and the file of the first build, and they were compiled again:\n${output}")
endif()
