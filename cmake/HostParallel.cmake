# Decides where the threads of the host backend come from: checks SYNFIRE_HOST_PARALLEL, which src/backends/host/CMakeLists.txt takes.
set(SYNFIRE_HOST_PARALLEL AUTO CACHE STRING "Threads of the host backend: AUTO (a pool of its own), OPENMP or NONE")
set_property(CACHE SYNFIRE_HOST_PARALLEL PROPERTY STRINGS AUTO OPENMP NONE)

if(SYNFIRE_HOST_PARALLEL STREQUAL "THRUST")
  message(FATAL_ERROR "SYNFIRE_HOST_PARALLEL is \"THRUST\", which was removed: it ran the same loops on the same pool of threads as "
    "AUTO. Configure with -DSYNFIRE_HOST_PARALLEL=AUTO")
elseif(NOT SYNFIRE_HOST_PARALLEL MATCHES "^(AUTO|OPENMP|NONE)$")
  message(FATAL_ERROR "SYNFIRE_HOST_PARALLEL is \"${SYNFIRE_HOST_PARALLEL}\"; allowed are AUTO, OPENMP and NONE")
endif()
