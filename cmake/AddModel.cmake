# synfire_add_model(<target> <header>): adds a model or a surrogate to the library that is being built.
#
#   add_subdirectory(synfire)                        # or FetchContent
#   synfire_add_model(synfire::synfire klif.hpp)     # struct Klif: the file's name in capitals
#
# <target> is the Synfire library of this build. <header> defines one struct, named after the file: klif.hpp has struct
# Klif, side_lobes.hpp has struct SideLobes. docs/pages/add-a-model.md describes its members. The added struct
# becomes part of every list of models: the core's, the host kernels' at every instruction level, and the GPU's. Ids
# count from 1000 in the order of the calls, separately for models and surrogates. Programs look them up by name
# (synfire_model_id(), synfire_surrogate_id()).
#
# This file finds the struct and writes the header that lists what was added. The compiler checks the struct itself, in
# include/synfire/model/added.hpp.
function(synfire_add_model target header)
  if(NOT ARGC EQUAL 2)
    message(FATAL_ERROR "synfire_add_model(target header) takes two arguments and was given ${ARGC}: one call adds one header")
  endif()
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "synfire_add_model: there is no target \"${target}\"; call it after add_subdirectory() or "
      "FetchContent_MakeAvailable() of Synfire")
  endif()
  get_target_property(aliased "${target}" ALIASED_TARGET)
  if(aliased)
    set(target "${aliased}")
  endif()
  get_target_property(imported "${target}" IMPORTED)
  if(imported)
    message(FATAL_ERROR "synfire_add_model: target \"${target}\" is an installed library, whose models are compiled "
      "already; build Synfire from its sources by add_subdirectory() or FetchContent")
  endif()
  get_target_property(users "${target}" SYNFIRE_MODEL_TARGETS)
  if(NOT users)
    message(FATAL_ERROR "synfire_add_model: target \"${target}\" is not Synfire's library; synfire::synfire is")
  endif()

  # Finds the header and the struct that its name implies.
  get_filename_component(path "${header}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  if(NOT EXISTS "${path}" OR IS_DIRECTORY "${path}")
    message(FATAL_ERROR "synfire_add_model: there is no file ${path}")
  endif()
  get_filename_component(stem "${path}" NAME_WE)
  if(NOT stem MATCHES "^[a-z][a-z0-9]*(_[a-z0-9]+)*$")
    message(FATAL_ERROR "synfire_add_model: ${path}: a header's name is in small letters, digits and single underscores, "
      "as in side_lobes.hpp; it names the struct")
  endif()
  string(REPLACE "_" ";" words "${stem}")
  set(type "")
  foreach(word IN LISTS words)
    string(SUBSTRING "${word}" 0 1 first)
    string(SUBSTRING "${word}" 1 -1 rest)
    string(TOUPPER "${first}" first)
    string(APPEND type "${first}${rest}")
  endforeach()
  file(STRINGS "${path}" found REGEX "^[ \t]*struct[ \t]+${type}[ \t]*({|$)" LIMIT_COUNT 1)
  if(NOT found)
    message(FATAL_ERROR "synfire_add_model: ${path} defines no \"struct ${type}\"; the struct is named after the file")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")

  get_target_property(types "${target}" SYNFIRE_ADDED_TYPES)
  if(types AND type IN_LIST types)
    message(FATAL_ERROR "synfire_add_model: ${path}: struct ${type} was added before")
  endif()

  # Written when CMake generates, and only if it changed, so that configuring again rebuilds nothing.
  get_target_property(folder "${target}" SYNFIRE_ADDED_FOLDER)
  if(NOT types)
    file(GENERATE OUTPUT "${folder}/synfire/added_models.hpp" CONTENT
"// Written by synfire_add_model(): the headers that were added, in the order of the calls.
$<JOIN:$<TARGET_PROPERTY:${target},SYNFIRE_ADDED_INCLUDES>,
>

SYNFIRE_MODEL_BEGIN
using AddedTypes = Types<$<JOIN:$<TARGET_PROPERTY:${target},SYNFIRE_ADDED_TYPES>,$<COMMA> >>;
SYNFIRE_MODEL_END
")
    foreach(user IN LISTS users)
      target_compile_definitions("${user}" PRIVATE SYNFIRE_ADDED_MODELS=1)
      target_include_directories("${user}" PRIVATE "${folder}")
    endforeach()
  endif()
  set_property(TARGET "${target}" APPEND PROPERTY SYNFIRE_ADDED_TYPES "${type}")
  set_property(TARGET "${target}" APPEND PROPERTY SYNFIRE_ADDED_INCLUDES "#include \"${path}\"")
  message(STATUS "Synfire: ${type} is added from ${path}")
endfunction()
