# The target synfire_abi_list: what generate.py writes of synfire.h, for C and C++ tests that go through the whole ABI.
# Whoever links it finds synfire_abi.def on the path of includes. And synfire_watch_calls(PROGRAM).
find_package(Python3 REQUIRED COMPONENTS Interpreter)  # in the folder of each that includes this
if(TARGET synfire_abi_list)
  return()
endif()
set(list_folder "${PROJECT_BINARY_DIR}/abi_list")
set(list_header "${PROJECT_SOURCE_DIR}/include/synfire/synfire.h")
set(list_model "${PROJECT_SOURCE_DIR}/bindings/api")
add_custom_command(
  OUTPUT "${list_folder}/synfire_abi.def" "${list_folder}/operation_calls.hpp" "${list_folder}/watched_calls.cpp"
         "${list_folder}/watched_calls.options"
  COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/generate.py" "${list_folder}" "${list_header}"
  DEPENDS "${list_header}" "${list_model}/header.py" "${list_model}/model.py" "${CMAKE_CURRENT_LIST_DIR}/generate.py"
  COMMENT "Listing the ABI for its tests"
  VERBATIM)
add_custom_target(synfire-abi-list DEPENDS "${list_folder}/synfire_abi.def" "${list_folder}/operation_calls.hpp")
add_library(synfire_abi_list INTERFACE)
target_include_directories(synfire_abi_list INTERFACE "${list_folder}")
add_dependencies(synfire_abi_list synfire-abi-list)

# The linker puts tests/capi/call_watch.hpp, whose source the program has, before every function of the ABI. In a static
# build it would be there between the library's own files too.
function(synfire_watch_calls program)
  if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT BUILD_SHARED_LIBS)
    return()
  endif()
  set(list "${PROJECT_BINARY_DIR}/abi_list")
  target_sources(${program} PRIVATE "${list}/watched_calls.cpp")
  set_source_files_properties("${list}/watched_calls.cpp" PROPERTIES GENERATED ON)
  target_include_directories(${program} PRIVATE "${PROJECT_SOURCE_DIR}/tests/capi")
  target_link_options(${program} PRIVATE "@${list}/watched_calls.options")
  set_property(TARGET ${program} APPEND PROPERTY LINK_DEPENDS "${list}/watched_calls.options")
  add_dependencies(${program} synfire-abi-list)
endfunction()
