# The budget of kernel code: at most 900 instances, neuron kernels of at most 26 MB, of which those of a model with few
# instances (neurons/passes/cuda/few_*.cu) at most 1.5 MB, and a stripped shared library of at most 64 MB.
#
#   cmake -DOBJECTS=a.o;b.o -DLIBRARY=libsynfire0.so -DARCHITECTURES=90 -DNM=nm -DOBJDUMP=objdump -DSTRIP=strip
#     -DWORK=folder -P code_size.cmake
#
# Every kernel has one host stub in the objects, with one guarded variable. The sizes depend on the architectures of
# this build; the release preset's are those that ship. A build for 9.0 alone, ARCHITECTURES=90, has 3.1 times fewer
# bytes, and its bounds warn of it: beyond one, build the release preset and see what it has there. Sizes vary by 0.1 %
# with the build folder's path.
set(most_instances 900)
set(most_neuron_bytes 26000000)
set(most_bytes_of_one 1500000)
set(most_bytes 64000000)
if(ARCHITECTURES STREQUAL "90")
  set(most_neuron_bytes 8300000)
  set(most_bytes_of_one 530000)
endif()

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

# Sets a variable to the bytes of device code in these objects.
function(count_device_code result)
  execute_process(COMMAND ${OBJDUMP} -h ${ARGN} OUTPUT_VARIABLE sections RESULT_VARIABLE failed)
  string(REGEX MATCHALL " \\.nv_fatbin +[0-9a-f]+" fatbins "${sections}")
  if(failed OR NOT fatbins)
    message(FATAL_ERROR "${OBJDUMP} finds no device code in ${ARGN}")
  endif()
  set(bytes 0)
  foreach(fatbin IN LISTS fatbins)
    string(REGEX REPLACE ".* +" "" hexadecimal "${fatbin}")
    math(EXPR bytes "${bytes} + 0x${hexadecimal}")
  endforeach()
  set(${result} ${bytes} PARENT_SCOPE)
endfunction()

# The code of the passes' kernels.
set(neuron ${OBJECTS})
list(FILTER neuron INCLUDE REGEX "/neurons/passes/")
set(few ${neuron})
list(FILTER few INCLUDE REGEX "/few_[^/]*$")
list(FILTER few EXCLUDE REGEX "/few_added")
if(NOT few)
  message(FATAL_ERROR "no object is called few_*: the bound of one model would hold for nothing")
endif()
if(LIBRARY MATCHES "\\.so")
  foreach(object IN LISTS few)
    count_device_code(bytes ${object})
    get_filename_component(name ${object} NAME_WE)
    message(STATUS "${bytes} bytes in ${name}, of at most ${most_bytes_of_one}")
    if(bytes GREATER most_bytes_of_one)
      message(FATAL_ERROR "${name} has ${bytes} bytes; at most ${most_bytes_of_one} are allowed")
    endif()
  endforeach()
  count_device_code(bytes ${neuron})
  message(STATUS "${bytes} bytes of neuron kernels, of at most ${most_neuron_bytes}")
  if(bytes GREATER most_neuron_bytes)
    message(FATAL_ERROR "the neuron kernels have ${bytes} bytes; at most ${most_neuron_bytes} are allowed")
  endif()

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
