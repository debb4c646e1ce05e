# Synfire's archive for engines, for CMake: synfire::synfire is the library for the system that is built for.
if(NOT TARGET synfire::synfire)
  if(WIN32)
    set(synfire_folder "${CMAKE_CURRENT_LIST_DIR}/windows-x64")
    set(synfire_library "${synfire_folder}/synfire0.dll")
  else()
    set(synfire_folder "${CMAKE_CURRENT_LIST_DIR}/linux-x64")
    set(synfire_library "${synfire_folder}/libsynfire0.so.0")
  endif()
  if(NOT CMAKE_SIZEOF_VOID_P EQUAL 8 OR NOT EXISTS "${synfire_library}" OR
     NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    set(synfire_FOUND FALSE)
    set(synfire_NOT_FOUND_MESSAGE "this archive has no library for ${CMAKE_SYSTEM_NAME} on ${CMAKE_SYSTEM_PROCESSOR}: "
      "${synfire_library} would be it")
    return()
  endif()
  add_library(synfire::synfire SHARED IMPORTED)
  set_target_properties(synfire::synfire PROPERTIES IMPORTED_LOCATION "${synfire_library}"
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}/include")
  if(MINGW)
    set_target_properties(synfire::synfire PROPERTIES IMPORTED_IMPLIB "${synfire_folder}/libsynfire0.dll.a")
  elseif(WIN32)
    # Made by: lib /def:synfire0.def /machine:x64 /out:synfire0.lib
    set_target_properties(synfire::synfire PROPERTIES IMPORTED_IMPLIB "${synfire_folder}/synfire0.lib")
  else()
    set_target_properties(synfire::synfire PROPERTIES IMPORTED_SONAME libsynfire0.so.0)
  endif()
endif()
