# The budget of kernel code: at most 600 instances, and a stripped shared library below 48 MB.
#
#   cmake -DOBJECTS=a.o;b.o -DLIBRARY=libsynfire0.so -DNM=nm -DSTRIP=strip -DWORK=folder -P code_size.cmake
#
# Every kernel has one host stub in the objects, with one guarded variable. The size depends on the architectures of
# this build; the release preset's is the one that ships.
set(most_instances 600)
set(most_bytes 48000000)

execute_process(COMMAND ${NM} --defined-only ${OBJECTS} OUTPUT_VARIABLE symbols RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${NM} does not read the kernels' objects")
endif()
string(REGEX MATCHALL " _ZGVZL[0-9]+__device_stub__[^\n]*" stubs "${symbols}")
list(LENGTH stubs instances)
message(STATUS "${instances} kernel instances, of at most ${most_instances}")
if(instances EQUAL 0 OR instances GREATER most_instances)
  message(FATAL_ERROR "${instances} kernel instances; 1 to ${most_instances} are allowed")
endif()

if(LIBRARY MATCHES "\\.so")
  file(MAKE_DIRECTORY ${WORK})
  execute_process(COMMAND ${STRIP} --strip-unneeded -o ${WORK}/stripped.so ${LIBRARY} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${STRIP} does not strip ${LIBRARY}")
  endif()
  file(SIZE ${WORK}/stripped.so bytes)
  file(REMOVE ${WORK}/stripped.so)
  message(STATUS "${bytes} bytes stripped, of at most ${most_bytes}")
  if(bytes GREATER most_bytes)
    message(FATAL_ERROR "the stripped library has ${bytes} bytes; at most ${most_bytes} are allowed")
  endif()
endif()
