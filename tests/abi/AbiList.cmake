# The target synfire_abi_list: what generate.py writes of synfire.h, for C and C++ tests that go through the whole ABI. Its
# files are in SYNFIRE_ABI_LIST; whoever links the target finds synfire_abi.def on the path of includes.
find_package(Python3 REQUIRED COMPONENTS Interpreter)  # in the folder of each that includes this
if(TARGET synfire_abi_list)
  return()
endif()
set(SYNFIRE_ABI_LIST "${PROJECT_BINARY_DIR}/abi_list")
set_property(GLOBAL PROPERTY SYNFIRE_ABI_LIST "${SYNFIRE_ABI_LIST}")
set(list_header "${PROJECT_SOURCE_DIR}/include/synfire/synfire.h")
set(list_model "${PROJECT_SOURCE_DIR}/bindings/api")
add_custom_command(
  OUTPUT "${SYNFIRE_ABI_LIST}/synfire_abi.def" "${SYNFIRE_ABI_LIST}/watched_calls.cpp" "${SYNFIRE_ABI_LIST}/watched_calls.options"
  COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/generate.py" "${SYNFIRE_ABI_LIST}" "${list_header}"
  DEPENDS "${list_header}" "${list_model}/header.py" "${list_model}/model.py" "${CMAKE_CURRENT_LIST_DIR}/generate.py"
  COMMENT "Listing the ABI for its tests"
  VERBATIM)
add_custom_target(synfire-abi-list DEPENDS "${SYNFIRE_ABI_LIST}/synfire_abi.def")
add_library(synfire_abi_list INTERFACE)
target_include_directories(synfire_abi_list INTERFACE "${SYNFIRE_ABI_LIST}")
add_dependencies(synfire_abi_list synfire-abi-list)
