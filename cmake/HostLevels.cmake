# Decides for which instruction levels the host kernels are compiled. Sets SYNFIRE_LEVELS, the baseline first, and
# SYNFIRE_LEVEL_DEFINITIONS, which everything that chooses a level is compiled with.
set(SYNFIRE_HOST_LEVELS ALL CACHE STRING
  "Instruction levels of the host kernels: ALL; NATIVE (this machine's), AVX2 or AVX512, with the baseline compiled quickly for other machines; or BASELINE, compiled quickly")
set_property(CACHE SYNFIRE_HOST_LEVELS PROPERTY STRINGS ALL NATIVE AVX2 AVX512 BASELINE)

set(SYNFIRE_LEVELS baseline)
set(SYNFIRE_LEVEL_DEFINITIONS "")
# Options that take less time to compile, for the baseline of a build in which it is not what counts.
set(SYNFIRE_BASELINE_OPTIMIZED -O3)
if(NOT SYNFIRE_HOST_LEVELS STREQUAL "ALL")
  set(SYNFIRE_BASELINE_OPTIMIZED -O1)
endif()
if(NOT SYNFIRE_HOST_LEVELS MATCHES "^(ALL|NATIVE|AVX2|AVX512|BASELINE)$")
  message(FATAL_ERROR
    "SYNFIRE_HOST_LEVELS is \"${SYNFIRE_HOST_LEVELS}\"; allowed are ALL, NATIVE, AVX2, AVX512 and BASELINE")
elseif(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" OR SYNFIRE_HOST_LEVELS STREQUAL "BASELINE")
  # There is one.
elseif(SYNFIRE_HOST_LEVELS MATCHES "^AVX")
  string(TOLOWER "${SYNFIRE_HOST_LEVELS}" level)
  list(APPEND SYNFIRE_LEVELS ${level})
  set(SYNFIRE_LEVEL_DEFINITIONS SYNFIRE_HOST_X86_LEVELS=1 SYNFIRE_HOST_ONLY_LEVEL=${level})
elseif(SYNFIRE_HOST_LEVELS STREQUAL "ALL")
  list(APPEND SYNFIRE_LEVELS avx2 avx512)
  set(SYNFIRE_LEVEL_DEFINITIONS SYNFIRE_HOST_X86_LEVELS=1)
else()
  if(CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "SYNFIRE_HOST_LEVELS is NATIVE, and this machine cannot run what it builds; ALL is needed")
  endif()
  if(NOT DEFINED SYNFIRE_NATIVE_LEVEL)
    unset(ENV{SYNFIRE_HOST_LEVEL})  # chooses a level where programs run, not what this machine has
    try_run(ran compiled "${CMAKE_BINARY_DIR}/CMakeFiles/level" "${CMAKE_CURRENT_LIST_DIR}/print_level.cpp"
      COMPILE_DEFINITIONS -DSYNFIRE_HOST_X86_LEVELS=1 CXX_STANDARD 20 RUN_OUTPUT_VARIABLE output COMPILE_OUTPUT_VARIABLE text)
    if(NOT compiled OR NOT ran EQUAL 0)
      message(FATAL_ERROR "the instruction level of this machine was not found: ${text}")
    endif()
    string(STRIP "${output}" output)
    set(SYNFIRE_NATIVE_LEVEL "${output}" CACHE INTERNAL "The best instruction level of the machine that builds")
  endif()
  if(NOT SYNFIRE_NATIVE_LEVEL STREQUAL "baseline")
    list(APPEND SYNFIRE_LEVELS ${SYNFIRE_NATIVE_LEVEL})
    set(SYNFIRE_LEVEL_DEFINITIONS SYNFIRE_HOST_X86_LEVELS=1 SYNFIRE_HOST_ONLY_LEVEL=${SYNFIRE_NATIVE_LEVEL})
  endif()
  message(STATUS "Synfire host kernels: for this machine, ${SYNFIRE_NATIVE_LEVEL}")
endif()
