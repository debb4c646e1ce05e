# Installs the library, its headers, a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

set(synfire_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/synfire")

get_target_property(synfire_library_type synfire TYPE)
get_target_property(synfire_output_name synfire OUTPUT_NAME)

# Additional link dependencies of a static library; a shared library brings its own dependencies.
set(synfire_static_libraries "")
if(synfire_library_type STREQUAL "STATIC_LIBRARY")
  set(synfire_static_libraries stdc++ m pthread dl)
  if(SYNFIRE_HOST_THREADING STREQUAL "openmp")
    find_package(OpenMP QUIET COMPONENTS CXX)
    list(APPEND synfire_static_libraries ${OpenMP_CXX_LIB_NAMES})
  endif()
  if(SYNFIRE_HAVE_CUDA)
    list(APPEND synfire_static_libraries cudart_static rt)
  endif()
  list(REMOVE_DUPLICATES synfire_static_libraries)
endif()

install(TARGETS synfire EXPORT synfire-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT development
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
# For Microsoft's lib, which makes an import library of it.
if(SYNFIRE_DEF_FILE)
  install(FILES "${SYNFIRE_DEF_FILE}" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
endif()
# It belongs to one MPI, which packages of the library do not need: cmake --install BUILD_FOLDER --component mpi
if(TARGET synfire_mpi)
  install(FILES "$<TARGET_PROPERTY:synfire_mpi,SYNFIRE_FILE>" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT mpi EXCLUDE_FROM_ALL)
endif()
install(EXPORT synfire-targets NAMESPACE synfire:: DESTINATION "${synfire_cmake_dir}" COMPONENT development)

# Only the C ABI and its C++ wrapper: the mathematics in include/synfire/model is internal and may change.
install(FILES "${PROJECT_SOURCE_DIR}/include/synfire/synfire.h" "${PROJECT_SOURCE_DIR}/include/synfire/synfire.hpp"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/synfire" COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime)
include(Licenses)
install(FILES ${SYNFIRE_LICENSE_FILES} DESTINATION "${CMAKE_INSTALL_DOCDIR}/licenses" COMPONENT runtime)
# Programs find the library of the same prefix, wherever that is moved. CMAKE_INSTALL_RPATH has the last word.
file(RELATIVE_PATH synfire_bin_to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
set(synfire_origin "$ORIGIN")
if(APPLE)
  set(synfire_origin "@loader_path")
endif()
foreach(tool synfire-golden synfire-bench)
  if(TARGET ${tool})
    if(synfire_library_type STREQUAL "SHARED_LIBRARY" AND NOT DEFINED CMAKE_INSTALL_RPATH)
      set_target_properties(${tool} PROPERTIES INSTALL_RPATH "${synfire_origin}/${synfire_bin_to_lib}")
    endif()
    install(TARGETS ${tool} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
  endif()
endforeach()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/synfire-config.cmake.in"
  "${PROJECT_BINARY_DIR}/synfire-config.cmake" INSTALL_DESTINATION "${synfire_cmake_dir}")
# Before 1.0 a minor version may break compatibility; from 1.0 on this becomes SameMajorVersion.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/synfire-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/synfire-config.cmake" "${PROJECT_BINARY_DIR}/synfire-config-version.cmake"
  DESTINATION "${synfire_cmake_dir}" COMPONENT development)

# pkg-config: the paths are relative to the file, so that the prefix can be moved.
file(RELATIVE_PATH synfire_pc_to_prefix
  "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" synfire_pc_to_prefix "${synfire_pc_to_prefix}")
set(synfire_pc_libs "-L\${libdir} -l${synfire_output_name}")
if("cudart_static" IN_LIST synfire_static_libraries)
  string(APPEND synfire_pc_libs " -L${CUDAToolkit_LIBRARY_DIR}")
endif()
foreach(library IN LISTS synfire_static_libraries)
  string(APPEND synfire_pc_libs " -l${library}")
endforeach()
set(synfire_backends "host")
if(SYNFIRE_HAVE_CUDA)
  string(APPEND synfire_backends " cuda")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/synfire.pc.in" "${PROJECT_BINARY_DIR}/synfire.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/synfire.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)

if(PROJECT_IS_TOP_LEVEL)
  include(Package)
endif()
