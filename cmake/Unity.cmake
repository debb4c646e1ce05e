# SYNFIRE_UNITY compiles one large file for each target in the place of many small ones: what most files include is parsed once,
# which takes a third of the processor time in a build from nothing, and more after a change. Off by default, because it finds no
# file that lacks an include.
#
# What the files of a target have in unnamed namespaces needs names of its own therefore, also where overloads could tell two apart.
option(SYNFIRE_UNITY "Compile many files as one: less time from nothing, more after a change" OFF)

if(SYNFIRE_UNITY)
  # The kernels (SYNFIRE_LEVEL_TARGETS) stay apart: they include little, and take their time in the optimiser.
  set_target_properties(synfire_core synfire_operations synfire_network synfire_jit synfire PROPERTIES
    UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
endif()
