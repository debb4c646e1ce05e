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

# synfire_guard_stacks(TARGET...): code of the library. A frame that is larger than a page touches each of its pages in order,
# so that a thread whose stack is too small stops at its guard page, and does not step over it into other memory.
if(NOT WIN32)
  include(CheckCXXCompilerFlag)
  set(CMAKE_REQUIRED_FLAGS -Werror)
  check_cxx_compiler_flag(-fstack-clash-protection SYNFIRE_HAVE_STACK_CLASH_PROTECTION)
  unset(CMAKE_REQUIRED_FLAGS)
endif()
function(synfire_guard_stacks)
  if(SYNFIRE_HAVE_STACK_CLASH_PROTECTION)
    foreach(target IN LISTS ARGN)
      target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C,CXX>:-fstack-clash-protection>")
    endforeach()
  endif()
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
