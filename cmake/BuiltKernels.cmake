# Decides which layers have neuron kernels for the GPU. Sets SYNFIRE_BUILT_KERNELS, a list of definitions for
# neurons/passes/cuda/built.hpp, with names separated by colons; empty: all layers have them.
set(SYNFIRE_CUDA_DTYPES "ALL" CACHE STRING
  "Layers' dtypes that have neuron kernels for the GPU: ALL, or a list of f32, f64, f16 and bf16")
set(SYNFIRE_CUDA_MODELS "ALL" CACHE STRING
  "Built-in models that have neuron kernels for the GPU: ALL, or a list of their names")

set(SYNFIRE_BUILT_KERNELS "")
foreach(what DTYPES MODELS)
  if(NOT SYNFIRE_CUDA_${what} STREQUAL "ALL")
    set(synfire_names ${SYNFIRE_CUDA_${what}})
    list(REMOVE_DUPLICATES synfire_names)
    if(NOT synfire_names)
      message(FATAL_ERROR "SYNFIRE_CUDA_${what} is empty; it is ALL or a list of names")
    endif()
    foreach(name IN LISTS synfire_names)
      if(what STREQUAL "DTYPES" AND NOT name MATCHES "^(f32|f64|f16|bf16)$")
        message(FATAL_ERROR "SYNFIRE_CUDA_DTYPES has \"${name}\"; it is ALL or a list of f32, f64, f16 and bf16")
      elseif(NOT name MATCHES "^[a-z0-9_]+$")
        message(FATAL_ERROR "SYNFIRE_CUDA_MODELS has \"${name}\", which is not a model's name")
      endif()
    endforeach()
    list(JOIN synfire_names ":" synfire_names)
    list(APPEND SYNFIRE_BUILT_KERNELS "SYNFIRE_CUDA_${what}=\"${synfire_names}\"")
  endif()
endforeach()
