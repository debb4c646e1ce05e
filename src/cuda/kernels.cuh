// What all kernels share: vectors of neighbouring elements, which neurons a thread owns, its constants, addresses of
// instances. One thread owns a few neighbouring neurons over all of T, the state stays in registers, rows of the input
// are loaded several steps ahead. The mathematics is that of model/, the same text the host compiles.
#ifndef SYNFIRE_CUDA_KERNELS_CUH
#define SYNFIRE_CUDA_KERNELS_CUH

#include "kernels.hpp"

#include <synfire/model/models.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

// ---- vectors of W neighbouring elements ------------------------------------------------------------------------------

template <class R, int W>
struct alignas(sizeof(R) * W) Vector {
  R e[W];
};

template <int W, class R>
__device__ __forceinline__ Vector<R, W> load(const R* at) {
  return *reinterpret_cast<const Vector<R, W>*>(at);
}
template <int W, class R>
__device__ __forceinline__ void store(R* at, const Vector<R, W>& value) {
  *reinterpret_cast<Vector<R, W>*>(at) = value;
}

// ---- which neurons a thread owns -------------------------------------------------------------------------------------

// Threads without neurons of their own read those of the last thread that has some and write nothing: they take part in
// warp votes, and no load needs a condition.
struct Position {
  bool writes;
  int64_t element;  // first own element in a row [B, N]
  int64_t lane;     // first own lane, which says where packed bits go
};

template <int W>
__device__ __forceinline__ Position position(const Lanes& lanes, const core::Extents& extents) {
  const int64_t lane = (static_cast<int64_t>(blockIdx.x) * threads_per_block + threadIdx.x) * W;
  if (lanes.padded_neurons == 0) {
    const bool inside = lane < lanes.count;
    return {inside, inside ? lane : lanes.count - W, lane};
  }
  const int64_t row = lane / lanes.padded_neurons;
  const int64_t neuron = lane - row * lanes.padded_neurons;
  const bool inside = lane < lanes.count && neuron < extents.n_neurons;
  return {inside, inside ? row * extents.n_neurons + neuron : 0, lane};
}

// The constants of a thread's neurons: one set for all of them, or one each.
template <class R, int Count, int W, bool PerNeuron>
struct Constants {
  static constexpr int sets = PerNeuron ? W : 1;
  R values[sets][Count];

  __device__ __forceinline__ Constants(const core::ParameterBlock<R>& block, const core::Extents& extents,
                                       const Position& at) {
#pragma unroll
    for (int w = 0; w < sets; ++w)
#pragma unroll
      for (int k = 0; k < Count; ++k)
        // A vector may run over the end of a batch row into the first neurons of the next one.
        values[w][k] = PerNeuron ? block.per_neuron[k * extents.n_neurons + (at.element + w) % extents.n_neurons]
                                 : block.shared[k];
  }
  __device__ __forceinline__ const R* operator[](int w) const { return values[PerNeuron ? w : 0]; }
};

// ---- instances -------------------------------------------------------------------------------------------------------

template <int W>
struct Width {
  static constexpr int value = W;
};

template <class Kernel>
const void* address(Kernel* kernel) {
  return reinterpret_cast<const void*>(kernel);
}

}  // namespace
}  // namespace synfire::cuda

#endif
