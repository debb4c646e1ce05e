# One step of the install tests. CMakeLists.txt in this folder lists the variables that it receives.
cmake_minimum_required(VERSION 3.22)

function(execute)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("$ ${ARGV}\n${output}")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed with ${result}: ${ARGV}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect_file path)
  if(NOT EXISTS "${path}")
    message(FATAL_ERROR "${path} is missing")
  endif()
endfunction()

# Configures, builds and runs the project in TEST_DIR/consumer against an install prefix.
function(build_consumer prefix)
  execute("${CMAKE_COMMAND}" -S "${TEST_DIR}/consumer" -B "${WORK_DIR}/build" -G "${GENERATOR}"
    "-DCMAKE_BUILD_TYPE=Release" "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
    "-DCMAKE_PREFIX_PATH=${prefix}" ${ARGN})
  execute("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
  execute("${WORK_DIR}/build/consumer")
  execute("${CMAKE_COMMAND}" "-DCONSUMER_CXX=ON" "${WORK_DIR}/build")
  execute("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
  execute("${WORK_DIR}/build/consumer-cxx")
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")

if(STEP STREQUAL "prefix")
  file(REMOVE_RECURSE "${PREFIX}")
  execute("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${PREFIX}" --config "${CONFIG}")
  expect_file("${PREFIX}/include/synfire/synfire.h")
  expect_file("${PREFIX}/include/synfire/synfire.hpp")
  expect_file("${PREFIX}/${LIBDIR}/cmake/synfire/synfire-config.cmake")
  expect_file("${PREFIX}/${LIBDIR}/cmake/synfire/synfire-config-version.cmake")
  expect_file("${PREFIX}/${LIBDIR}/pkgconfig/synfire.pc")
  # Programs find the library beside them, also after the prefix was moved.
  unset(ENV{LD_LIBRARY_PATH})
  file(GLOB programs RELATIVE "${PREFIX}/bin" "${PREFIX}/bin/synfire-*")
  if(NOT programs)
    message(FATAL_ERROR "no program was installed")
  endif()
  file(RENAME "${PREFIX}" "${PREFIX}-moved")
  foreach(program IN LISTS programs)
    execute("${PREFIX}-moved/bin/${program}" --help)
  endforeach()
  file(RENAME "${PREFIX}-moved" "${PREFIX}")
  # Nothing that is installed may contain the build path.
  file(GLOB_RECURSE texts "${PREFIX}/*.cmake" "${PREFIX}/*.pc" "${PREFIX}/*.h" "${PREFIX}/*.hpp")
  foreach(path IN LISTS texts)
    file(READ "${path}" text)
    foreach(folder "${SOURCE_DIR}/src" "${BUILD_DIR}/capi" "${BUILD_DIR}/src")
      string(FIND "${text}" "${folder}" position)
      if(NOT position EQUAL -1)
        message(FATAL_ERROR "${path} names ${folder}")
      endif()
    endforeach()
  endforeach()

elseif(STEP STREQUAL "find_package")
  build_consumer("${PREFIX}" "-DWANTED_VERSION=${VERSION}")

elseif(STEP STREQUAL "find_package_version")
  # Before 1.0 a minor version may break compatibility, so a request for another one must be refused.
  string(REGEX MATCH "^([0-9]+)\\.([0-9]+)" ignored "${VERSION}")
  math(EXPR next "${CMAKE_MATCH_2} + 1")
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${TEST_DIR}/consumer" -B "${WORK_DIR}/build" -G "${GENERATOR}"
      "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
      "-DCMAKE_PREFIX_PATH=${PREFIX}" "-DWANTED_VERSION=${CMAKE_MATCH_1}.${next}"
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("${output}")
  if(result EQUAL 0)
    message(FATAL_ERROR "version ${VERSION} was accepted as ${CMAKE_MATCH_1}.${next}")
  endif()
  if(NOT output MATCHES "version: ${VERSION}")
    message(FATAL_ERROR "the configuration failed for another reason than the version")
  endif()

elseif(STEP STREQUAL "pkg_config")
  # Uses only pkg-config and a C compiler; only the prefix's path is set.
  set(ENV{PKG_CONFIG_PATH} "${PREFIX}/${LIBDIR}/pkgconfig")
  execute("$ENV{PKG_CONFIG}" --modversion synfire)
  string(STRIP "${output}" found)
  if(NOT found STREQUAL VERSION)
    message(FATAL_ERROR "pkg-config says version ${found}, the project is ${VERSION}")
  endif()
  execute("$ENV{PKG_CONFIG}" --cflags --libs synfire)
  string(STRIP "${output}" flags)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  execute("${C_COMPILER}" -std=c99 -Wall -Wextra -Wpedantic -Werror "${TEST_DIR}/consumer/main.c"
    -o "${WORK_DIR}/consumer" ${flags} "-Wl,-rpath,${PREFIX}/${LIBDIR}")
  execute("${WORK_DIR}/consumer")

elseif(STEP STREQUAL "fetch_content")
  execute("${CMAKE_COMMAND}" -S "${TEST_DIR}/fetch" -B "${WORK_DIR}/build" -G "${GENERATOR}"
    "-DCMAKE_BUILD_TYPE=Release" "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
    "-DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
    "-DSYNFIRE_SOURCE_DIR=${SOURCE_DIR}" "-DBUILD_SHARED_LIBS=OFF" "-DSYNFIRE_CUDA=OFF" "-DSYNFIRE_INSTALL=ON"
    # It is about the build and not about speed: kernels have options of their own, and the last one counts.
    "-DSYNFIRE_UNITY=ON" "-DSYNFIRE_HOST_LEVELS=NATIVE"
    "-DCMAKE_CXX_COMPILE_OBJECT=<CMAKE_CXX_COMPILER> <DEFINES> <INCLUDES> <FLAGS> -O0 -o <OBJECT> -c <SOURCE>")
  execute("${CMAKE_COMMAND}" --build "${WORK_DIR}/build" --parallel 2)
  execute("${WORK_DIR}/build/consumer")
  file(GLOB_RECURSE extra "${WORK_DIR}/build/*synfire-golden*" "${WORK_DIR}/build/*/hear" "${WORK_DIR}/build/*gtest*")
  if(extra)
    message(FATAL_ERROR "a parent project got more than the library: ${extra}")
  endif()

elseif(STEP STREQUAL "static_find_package")
  get_filename_component(folder "${WORK_DIR}" DIRECTORY)
  execute("${CMAKE_COMMAND}" --install "${folder}/fetch_content/build" --prefix "${WORK_DIR}/prefix" --config Release)
  expect_file("${WORK_DIR}/prefix/${LIBDIR}/libsynfire0.a")
  build_consumer("${WORK_DIR}/prefix" "-DWANTED_VERSION=${VERSION}")

elseif(STEP STREQUAL "static_pkg_config")
  # A C and a C++ program; the flags have all that a static library needs.
  get_filename_component(folder "${WORK_DIR}" DIRECTORY)
  set(prefix "${folder}/static_find_package/prefix")
  set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
  execute("$ENV{PKG_CONFIG}" --cflags --libs synfire)
  string(STRIP "${output}" flags)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  execute("${C_COMPILER}" -std=c99 "${TEST_DIR}/consumer/main.c" -o "${WORK_DIR}/c" ${flags})
  execute("${CXX_COMPILER}" -std=c++17 "${TEST_DIR}/consumer/main.cpp" -o "${WORK_DIR}/cpp" ${flags})
  foreach(program IN ITEMS c cpp)
    execute("${WORK_DIR}/${program}")
    execute(readelf -d "${WORK_DIR}/${program}")
    if(output MATCHES "libsynfire")
      message(FATAL_ERROR "the program needs a shared libsynfire")
    endif()
  endforeach()

elseif(STEP STREQUAL "static_symbols")
  # Nothing in the archive can meet a symbol of the program: the functions of synfire.h, and what is in namespace synfire.
  get_filename_component(folder "${WORK_DIR}" DIRECTORY)
  execute(nm --extern-only --defined-only "${folder}/static_find_package/prefix/${LIBDIR}/libsynfire0.a")
  string(REGEX MATCHALL "[0-9a-f]+ [TDBRGC] [^\n]+" strong "${output}")
  list(TRANSFORM strong REPLACE "^[0-9a-f]+ . " "")
  list(LENGTH strong n)
  list(FILTER strong EXCLUDE REGEX "^synfire_|7synfire")
  if(n LESS 100 OR strong)
    message(FATAL_ERROR "of ${n} symbols these are not the library's own: ${strong}")
  endif()
  # Code that is compiled for AVX2 and AVX-512 defines nothing that the linker could choose in place of the program's copy.
  file(GLOB_RECURSE objects "${BUILD_DIR}/src/*.o" "${BUILD_DIR}/src/*.obj")
  list(FILTER objects INCLUDE REGEX "avx")
  list(LENGTH objects n)
  if(n EQUAL 0 AND CMAKE_HOST_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    message(FATAL_ERROR "no objects for AVX were found")
  elseif(n GREATER 0)
    execute(nm --extern-only --defined-only ${objects})
    string(REGEX MATCHALL "[0-9a-f]+ [WVu] [^\n]+" weak "${output}")
    if(weak)
      message(FATAL_ERROR "compiled for AVX and shared with the program: ${weak}")
    endif()
  endif()

else()
  message(FATAL_ERROR "unknown step \"${STEP}\"")
endif()
