# Compiles through ccache if it is found and the caller chose no launcher. Only at top level: a parent project decides
# for itself.
option(SYNFIRE_CCACHE "Compile through ccache when it is found" ON)

if(SYNFIRE_CCACHE AND PROJECT_IS_TOP_LEVEL)
  find_program(SYNFIRE_CCACHE_PROGRAM ccache)
  mark_as_advanced(SYNFIRE_CCACHE_PROGRAM)
  if(SYNFIRE_CCACHE_PROGRAM)
    foreach(language C CXX CUDA)
      if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
        set(CMAKE_${language}_COMPILER_LAUNCHER "${SYNFIRE_CCACHE_PROGRAM}")
      endif()
    endforeach()
  endif()
endif()
