# synfire_compile_options: the options that compile every target of Synfire. Linked PRIVATE, so users do not inherit
# them.
#
# The numeric options are part of the contract that host and GPU, gcc and clang produce the same bits. Contraction is
# off, so that a*b + c is fused exactly where the source says fma. -fno-math-errno and -fno-trapping-math change no bit
# and allow branchy code to be vectorised.
add_library(synfire_compile_options INTERFACE)
set_target_properties(synfire_compile_options PROPERTIES INTERFACE_POSITION_INDEPENDENT_CODE ON)

set(synfire_numeric -ffp-contract=off -fno-math-errno -fno-trapping-math)
set(synfire_warnings -Wall -Wextra -Wshadow)
set(synfire_strict_warnings -Wpedantic -Wconversion)   # nvcc's generated host code triggers these two

target_compile_options(synfire_compile_options INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:${synfire_numeric};-fvisibility=hidden;${synfire_warnings};${synfire_strict_warnings}>"
  "$<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>")

# The stacks of the library's own code. A frame that is larger than a page touches each of its pages in order, so that a thread
# whose stack is too small stops at its guard page instead of stepping over it. No call on a host context needs more than 32 KiB
# of stack in all (tests/host/stack_test.cpp); a frame above this bound is an error, except without optimisation or with
# sanitizers, which make frames several times as large.
set(synfire_largest_frame 20480)
if(NOT WIN32)
  include(CheckCXXCompilerFlag)
  set(CMAKE_REQUIRED_FLAGS -Werror)
  check_cxx_compiler_flag(-fstack-clash-protection SYNFIRE_HAVE_STACK_CLASH_PROTECTION)
  unset(CMAKE_REQUIRED_FLAGS)
endif()
function(synfire_guard_stacks)
  set(options "")
  if(SYNFIRE_HAVE_STACK_CLASH_PROTECTION)
    list(APPEND options -fstack-clash-protection)
  endif()
  set(bound -Werror=frame-larger-than=${synfire_largest_frame})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(bound -Wframe-larger-than=${synfire_largest_frame} -Werror=frame-larger-than)
  endif()
  if(SYNFIRE_SANITIZE STREQUAL "")
    list(APPEND options "$<$<NOT:$<CONFIG:Debug>>:${bound}>")
  endif()
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C,CXX>:${options}>")
  endforeach()
endfunction()

if(SYNFIRE_HAVE_CUDA)
  list(JOIN synfire_numeric "," synfire_cuda_numeric)
  list(JOIN synfire_warnings "," synfire_cuda_warnings)
  target_compile_options(synfire_compile_options INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;-Xcompiler=${synfire_cuda_numeric};-Xcompiler=-fvisibility=hidden,-fvisibility-inlines-hidden;-Xcompiler=${synfire_cuda_warnings}>")
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
    target_compile_options(synfire_compile_options INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=size>")
  endif()
endif()

# The printf functions of C99 in the place of those in Microsoft's library.
if(MINGW)
  target_compile_definitions(synfire_compile_options INTERFACE __USE_MINGW_ANSI_STDIO=1)
endif()

if(SYNFIRE_WARNINGS_AS_ERRORS)
  target_compile_options(synfire_compile_options INTERFACE
    "$<$<COMPILE_LANGUAGE:C,CXX>:-Werror>"
    "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xcompiler=-Werror>")
endif()
