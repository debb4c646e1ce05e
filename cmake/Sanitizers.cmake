# SYNFIRE_SANITIZE applies a compiler's sanitizers to every target. Sanitized builds are host-only.
set(SYNFIRE_SANITIZE "" CACHE STRING "Sanitizers to build with: empty, \"address,undefined\" or \"thread\"")
set_property(CACHE SYNFIRE_SANITIZE PROPERTY STRINGS "" "address,undefined" "thread")

if(NOT SYNFIRE_SANITIZE STREQUAL "")
  if(NOT SYNFIRE_SANITIZE MATCHES "^(address,undefined|address|undefined|thread)$")
    message(FATAL_ERROR "SYNFIRE_SANITIZE is \"${SYNFIRE_SANITIZE}\"; allowed: empty, \"address,undefined\" or \"thread\"")
  endif()
  add_compile_options(-fsanitize=${SYNFIRE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SYNFIRE_SANITIZE})
  if(SYNFIRE_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

# ThreadSanitizer cannot see the synchronisation inside an OpenMP runtime, because that is not instrumented.
if(SYNFIRE_SANITIZE STREQUAL "thread" AND SYNFIRE_HOST_PARALLEL STREQUAL "OPENMP")
  message(FATAL_ERROR "SYNFIRE_SANITIZE=thread supports only the host backend's own threads, not SYNFIRE_HOST_PARALLEL=OPENMP")
endif()
