# synfire_precompile(<target> <header>...) parses these headers once for all files of the target, and
# synfire_precompile_as(<target> <other>) takes what another target with the same options has parsed.
#
# Only for tests and tools, of which each file includes much and adds little: GoogleTest takes 0.9 of the 2 s that a test of
# the C ABI takes to compile. A header of the project is given as <header>, and its folder is one of the target's: of any
# other, CMake writes the whole path, so that no other copy of the sources finds in the cache what this one has compiled.
# Only with g++ unless asked for: builds with clang, and clang-tidy, which cannot read what g++ has parsed, compile the same
# files without and find the one that lacks an include.
set(synfire_precompile_default OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(synfire_precompile_default ON)
endif()
option(SYNFIRE_PRECOMPILE "Parse the common headers of tests and tools once" ${synfire_precompile_default})

function(synfire_precompile target)
  if(SYNFIRE_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    synfire_cache_precompiled(${target})
  endif()
endfunction()

function(synfire_precompile_as target other)
  if(SYNFIRE_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${other})
    synfire_cache_precompiled(${target})
  endif()
endfunction()

# ccache takes no such file by itself, because it cannot see there whether __TIME__ or a macro of the including file counts.
# Nothing here has either. The headers are compared as files (CCACHE_DEPEND) and not as preprocessed text: that has no
# #define in it, so a header of which only the value of a macro changed would count as the one already parsed. A
# namespace of their own keeps out what was stored under the other comparison.
function(synfire_cache_precompiled target)
  get_target_property(launcher ${target} CXX_COMPILER_LAUNCHER)
  if(launcher MATCHES "ccache$")
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;CCACHE_DEPEND=1;CCACHE_NAMESPACE=headers-as-files;${launcher}")
  endif()
endfunction()
