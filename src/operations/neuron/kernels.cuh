// Shared by the kernels of the passes: a thread's constants. One thread owns a few neurons over all of T (tiles.cuh),
// the state stays in registers, rows of the input are loaded several steps ahead (rows.cuh). The mathematics is that of
// model/, the same text the host compiles.
#ifndef SYNFIRE_OPERATIONS_NEURON_KERNELS_CUH
#define SYNFIRE_OPERATIONS_NEURON_KERNELS_CUH

#include "rows.cuh"

#include <synfire/model/models.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

#ifdef W21_PROTO
using CompiledModels = List<Entry<2, Lif>>;
#else
using CompiledModels = Models;
#endif

// The constants of a thread's neurons: one set for all of them, or one each.
template <class R, int Count, class O, bool PerNeuron>
struct Constants {
  static constexpr int sets = PerNeuron ? O::width : 1;
  R values[sets][Count];

  __device__ __forceinline__ Constants(const core::ParameterBlock<R>& block, const core::Extents& extents,
                                       int64_t element) {
#pragma unroll
    for (int w = 0; w < sets; ++w)
#pragma unroll
      for (int k = 0; k < Count; ++k)
        values[w][k] = PerNeuron ? block.per_neuron[k * extents.n_neurons + (element + O::offset(w)) % extents.n_neurons]
                                 : block.shared[k];
  }
  __device__ __forceinline__ const R* operator[](int w) const {
    return values[PerNeuron ? w : 0];
  }
};

// How many variables per step a backward stores in shared memory: H, and W before the step if it is needed.
template <class Model>
constexpr int backward_variables(BackwardInputs inputs) {
  return Model::n_states == 2 && (slope_reads_w<Model> || inputs == BackwardInputs::parameters) ? 2 : 1;
}

}  // namespace
}  // namespace synfire::cuda

#endif
