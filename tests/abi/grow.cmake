# grow.cmake - generates the sources of a future library: every structure that begins with struct_size gets two more
# fields and a size for the new version, and the ABI's minor version increases by one.
#
#   cmake -D HEADER=synfire.h -D CAPI=folder -D OUTPUT=folder -P grow.cmake

cmake_minimum_required(VERSION 3.22)

file(GLOB sources "${CAPI}/*.cpp" "${CAPI}/*.hpp")
file(COPY ${sources} DESTINATION "${OUTPUT}/capi")

file(READ "${HEADER}" header)
string(REGEX MATCH "#define SYNFIRE_ABI_MINOR ([0-9]+)" minor "${header}")
math(EXPR next "${CMAKE_MATCH_1} + 1")
string(REPLACE "${minor}" "#define SYNFIRE_ABI_MINOR ${next}" header "${header}")

file(READ "${CAPI}/struct_sizes.hpp" sizes)
string(REGEX MATCHALL "SYNFIRE_STRUCT_SIZES\\(synfire_[a-z_]+, [0-9, ]+\\)" lines "${sizes}")
list(LENGTH lines n_lines)
if(n_lines LESS 20)
  message(FATAL_ERROR "only ${n_lines} structures were found in struct_sizes.hpp")
endif()
foreach(line IN LISTS lines)
  string(REGEX MATCH "\\((synfire_[a-z_]+), " ignored "${line}")
  set(struct "${CMAKE_MATCH_1}")
  set(grown "${header}")
  string(REPLACE "\n} ${struct};" "\n  uint32_t tomorrow[2];\n} ${struct};" grown "${header}")
  if(grown STREQUAL header)
    message(FATAL_ERROR "${struct} was not found in ${HEADER}")
  endif()
  set(header "${grown}")
  string(REPLACE ")" ", sizeof(${struct}))" longer "${line}")
  string(REPLACE "${line}" "${longer}" sizes "${sizes}")
endforeach()
# A structure that the library passes to callbacks: struct_sizes.hpp has no line for it.
string(REPLACE "\n} synfire_native_call;" "\n  uint32_t tomorrow[2];\n} synfire_native_call;" header "${header}")

file(WRITE "${OUTPUT}/include/synfire/synfire.h" "${header}")
file(WRITE "${OUTPUT}/capi/struct_sizes.hpp" "${sizes}")
