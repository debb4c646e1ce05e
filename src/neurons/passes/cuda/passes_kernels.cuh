// A thread's constants, for the kernels of both passes. A thread owns a few neurons over all of T (tiles.cuh), the
// state stays in registers, and rows of the input are loaded ahead (flight.cuh). The mathematics is that of model/.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_PASSES_KERNELS_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_PASSES_KERNELS_CUH

#include "rows.cuh"

#include <synfire/model/models.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

// The constants of a thread's neurons: one set for all of them, or one each.
template <class R, int Count, class O, bool PerNeuron>
class Constants {
 public:
  __device__ __forceinline__ explicit Constants(const core::ParameterBlock<R>& block) {
    static_assert(!PerNeuron);
    if constexpr (Count > 0)
      for_each_neuron<Count>(
          [&](auto k) { load_if<decltype(k)::value>(true, block.shared, values_[0][decltype(k)::value]); });
  }
  __device__ __forceinline__ Constants(const core::ParameterBlock<R>& block, int64_t n_neurons, int64_t element) {
    static_assert(PerNeuron);
    const bool narrow = element < (int64_t{1} << 31) && n_neurons < (int64_t{1} << 31);
#pragma unroll
    for (int w = 0; w < O::width; ++w) {
      const int64_t at = element + O::offset(w);
      const int64_t neuron = at - quotient(at, n_neurons, narrow) * n_neurons;
#pragma unroll
      for (int k = 0; k < Count; ++k) values_[w][k] = block.per_neuron[k * n_neurons + neuron];
    }
  }
  // One each or one set, as `per_neuron` says: code for both, where it is short.
  __device__ __forceinline__ Constants(const Constants<R, Count, O, false>& shared, bool per_neuron,
                                       const core::ParameterBlock<R>& block, int64_t n_neurons, int64_t element) {
    static_assert(PerNeuron);
    if (per_neuron) {
      *this = Constants(block, n_neurons, element);
    } else {
#pragma unroll
      for (int w = 0; w < O::width; ++w)
#pragma unroll
        for (int k = 0; k < Count; ++k) values_[w][k] = shared[w][k];
    }
  }
  __device__ __forceinline__ const R* operator[](int w) const {
    return values_[PerNeuron ? w : 0];
  }

 private:
  R values_[PerNeuron ? O::width : 1][Count > 0 ? Count : 1];
};

// The elements that a pass computes and their constants, loaded with the first rows: a thread waits for memory once.
template <class R>
struct Switches {
  int64_t active;
  bool per_neuron;

  __device__ __forceinline__ explicit Switches(const core::ParameterBlock<R>& block)
      : active(load_now(&block.active)), per_neuron(load_now(&block.per_neuron) != nullptr) {}
};

// The variables per step that a backward keeps in shared memory: H, and further variables before the step if needed.
template <class Model>
constexpr int backward_variables(BackwardInputs inputs) {
  return slope_reads_w<Model> || inputs == BackwardInputs::parameters ? Model::n_states : 1;
}

}  // namespace
}  // namespace synfire::cuda

#endif
