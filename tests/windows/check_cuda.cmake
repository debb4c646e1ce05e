# The CUDA backend's host code compiles for Windows, without warnings, against the toolkit's headers. Nothing is linked or run:
# NVIDIA's libraries and compiler for Windows are not here.
#
#   cmake -D COMPILER=... -D INCLUDE=TOOLKIT/include -D SOURCE_DIR=... -P check_cuda.cmake
file(GLOB_RECURSE sources "${SOURCE_DIR}/src/backends/cuda/*.cpp" "${SOURCE_DIR}/src/*_cuda.cpp"
  "${SOURCE_DIR}/src/neurons/passes/cuda/plan.cpp")
list(LENGTH sources n)
if(n LESS 10)
  message(FATAL_ERROR "only ${n} files were found")
endif()
foreach(source IN LISTS sources)
  execute_process(COMMAND "${COMPILER}" -std=c++20 -fsyntax-only -Wall -Wextra -Wshadow -Wpedantic -Wconversion -Werror
    -ffp-contract=off -D__USE_MINGW_ANSI_STDIO=1 -DSYNFIRE_BUILDING -DSYNFIRE_HAVE_CUDA=1 "-DSYNFIRE_BUILT_ARCHITECTURES=\"90\""
    "-I${SOURCE_DIR}/include" "-I${SOURCE_DIR}/src" -isystem "${INCLUDE}" "${source}" RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${source} does not compile for Windows")
  endif()
endforeach()
