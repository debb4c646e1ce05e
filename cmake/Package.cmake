# Packages, made by `cpack -G DEB` in a build folder: libsynfire0 or, with the CUDA backend, libsynfire0-cuda, which has the
# same library with the same name and takes the other's place; and libsynfire-dev, which fits both.
#
# pack_sdk.cmake makes the archive for engines, and bindings/ has the packages of the languages. No address is invented:
# whoever publishes gives -DCPACK_PACKAGE_CONTACT="Name <address>" and -DCPACK_PACKAGE_HOMEPAGE_URL=...
if(NOT synfire_library_type STREQUAL "SHARED_LIBRARY")
  return()
endif()

if(NOT CPACK_PACKAGE_CONTACT)
  set(CPACK_PACKAGE_CONTACT "The Synfire authors")
endif()
set(CPACK_PACKAGE_VENDOR "The Synfire authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime debian_runtime development debian_development)
set(CPACK_COMPONENT_RUNTIME_GROUP runtime)
set(CPACK_COMPONENT_DEBIAN_RUNTIME_GROUP runtime)
set(CPACK_COMPONENT_DEVELOPMENT_GROUP development)
set(CPACK_COMPONENT_DEBIAN_DEVELOPMENT_GROUP development)

set(runtime "libsynfire0")
set(other "libsynfire0-cuda")
set(what "host backend")
if(SYNFIRE_HAVE_CUDA)
  set(runtime "libsynfire0-cuda")
  set(other "libsynfire0")
  set(what "host and CUDA backends")
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME "${runtime}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION "libs")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONFLICTS "${other}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_REPLACES "${other}")
if(SYNFIRE_HAVE_CUDA)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_PROVIDES "libsynfire0 (= ${PROJECT_VERSION})")
endif()
set(CPACK_COMPONENT_GROUP_RUNTIME_DESCRIPTION "The library: ${what}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME "libsynfire-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION "libdevel")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libsynfire0 (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_GROUP_DEVELOPMENT_DESCRIPTION "Headers, CMake package and pkg-config file")

# Debian's place for licences: a file for each package, with all texts in it.
set(texts "")
foreach(path IN ITEMS "${PROJECT_SOURCE_DIR}/LICENSE" LISTS SYNFIRE_LICENSE_FILES)
  if(NOT path MATCHES "/LINKED[.]txt$")
    file(READ "${path}" text)
    get_filename_component(name "${path}" NAME)
    string(APPEND texts "\n==== ${name}\n\n${text}")
  endif()
endforeach()
file(READ "${synfire_license_folder}/LINKED.txt" text)
file(WRITE "${PROJECT_BINARY_DIR}/packages/copyright" "${text}${texts}")
install(FILES "${PROJECT_BINARY_DIR}/packages/copyright" DESTINATION "share/doc/${runtime}"
  COMPONENT debian_runtime EXCLUDE_FROM_ALL)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "share/doc/libsynfire-dev" RENAME copyright
  COMPONENT debian_development EXCLUDE_FROM_ALL)

# Nothing is packed without the licences of what is in it.
configure_file("${PROJECT_SOURCE_DIR}/cmake/PackageChecks.cmake.in" "${PROJECT_BINARY_DIR}/PackageChecks.cmake" @ONLY)
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_BINARY_DIR}/PackageChecks.cmake")

include(CPack)
