# HostParallel.cmake takes the values that it names. The one that was removed, and others, are refused with what to use.
#
#   cmake -DMODULES=cmake -P host_parallel.cmake

function(configure value out_failed out_text)
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DSYNFIRE_HOST_PARALLEL=${value}" -P "${MODULES}/HostParallel.cmake"
    RESULT_VARIABLE failed ERROR_VARIABLE text)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  set(${out_failed} ${failed} PARENT_SCOPE)
  set(${out_text} "${text}" PARENT_SCOPE)
endfunction()

foreach(value AUTO OPENMP NONE)
  configure(${value} failed text)
  if(failed)
    message(FATAL_ERROR "${value} is refused: ${text}")
  endif()
endforeach()
foreach(value_and_word "THRUST:-DSYNFIRE_HOST_PARALLEL=AUTO" "auto:AUTO, OPENMP and NONE" "POOLS:AUTO, OPENMP and NONE")
  string(REPLACE ":" ";" value_and_word "${value_and_word}")
  list(GET value_and_word 0 value)
  list(GET value_and_word 1 word)
  configure(${value} failed text)
  string(FIND "${text}" "${word}" at)
  if(NOT failed OR at EQUAL -1)
    message(FATAL_ERROR "${value} is not refused with \"${word}\": ${text}")
  endif()
endforeach()
