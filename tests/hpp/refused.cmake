# The compiler refuses every case of positional.cpp except 0, with a text that gives the correct spelling:
# cmake -DCOMPILER=... -DSTANDARD=... -DINCLUDE=... -DSOURCE=... -P refused.cmake
foreach(case RANGE 6)
  execute_process(COMMAND "${COMPILER}" "-std=${STANDARD}" -fsyntax-only "-I${INCLUDE}" "-DCASE=${case}" "${SOURCE}"
    RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(case EQUAL 0)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "The right call does not compile:\n${text}")
    endif()
  elseif(status EQUAL 0)
    message(FATAL_ERROR "Case ${case} compiles")
  elseif(NOT text MATCHES "synfire::steps{20}, synfire::neurons{64}")
    message(FATAL_ERROR "Case ${case} is refused without the new spelling:\n${text}")
  elseif(NOT text MATCHES "positional\\.cpp")
    message(FATAL_ERROR "Case ${case} is refused without the line of the call:\n${text}")
  endif()
endforeach()
