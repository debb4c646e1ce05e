# SYNFIRE_SANITIZE applies a compiler's sanitizers to everything that is built here. Sanitized builds are host-only.
set(SYNFIRE_SANITIZE "" CACHE STRING "Sanitizers to build with: empty, \"address,undefined\" or \"thread\"")
set_property(CACHE SYNFIRE_SANITIZE PROPERTY STRINGS "" "address,undefined" "thread")

if(NOT SYNFIRE_SANITIZE STREQUAL "")
  if(NOT SYNFIRE_SANITIZE MATCHES "^(address,undefined|address|undefined|thread)$")
    message(FATAL_ERROR "SYNFIRE_SANITIZE is \"${SYNFIRE_SANITIZE}\"; allowed: empty, \"address,undefined\" or \"thread\"")
  endif()
  add_compile_options(-fsanitize=${SYNFIRE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SYNFIRE_SANITIZE})
  if(SYNFIRE_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

# ThreadSanitizer cannot see the synchronisation inside an uninstrumented OpenMP runtime. Clang's libomp tells it through
# the Archer tool; g++'s libgomp has no such tool, so there the host backend is built without OpenMP.
if(SYNFIRE_SANITIZE STREQUAL "thread")
  set(synfire_archer "")
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=libarcher.so
      OUTPUT_VARIABLE synfire_archer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT IS_ABSOLUTE "${synfire_archer}" OR NOT EXISTS "${synfire_archer}")
      string(REGEX MATCH "^[0-9]+" synfire_clang_major "${CMAKE_CXX_COMPILER_VERSION}")
      find_library(SYNFIRE_ARCHER NAMES archer PATHS "/usr/lib/llvm-${synfire_clang_major}/lib" NO_DEFAULT_PATH)
      mark_as_advanced(SYNFIRE_ARCHER)
      set(synfire_archer "${SYNFIRE_ARCHER}")
    endif()
  endif()
  if(synfire_archer)
    message(STATUS "Synfire: ThreadSanitizer follows OpenMP through ${synfire_archer}")
    file(WRITE "${PROJECT_BINARY_DIR}/thread_sanitizer_environment.cmake"
      "set(ENV{OMP_TOOL_LIBRARIES} \"${synfire_archer}\")\n"
      "set(ENV{TSAN_OPTIONS} \"ignore_noninstrumented_modules=1:halt_on_error=1:\$ENV{TSAN_OPTIONS}\")\n")
    # ctest reads this file, so every test inherits the two variables.
    set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY
      TEST_INCLUDE_FILES "${PROJECT_BINARY_DIR}/thread_sanitizer_environment.cmake")
  else()
    message(STATUS "Synfire: no OpenMP runtime that ThreadSanitizer can follow; the host backend is built without OpenMP")
    set(SYNFIRE_HOST_PARALLEL NONE CACHE STRING "Threading of the host backend: AUTO, THRUST, OPENMP or NONE" FORCE)
  endif()
endif()
