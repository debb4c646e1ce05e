// Shared by the kernels of losses. A group of up to 32 threads computes a sample: each has four classes, which stay in
// registers up to 128 classes. Sums over classes have the order of 128 lanes: lane l is class l of every 128, and
// thread i of G has the lanes i, i + G, i + 2G and i + 3G. Lanes without classes would only add +0.
#ifndef SYNFIRE_OPERATIONS_LOSS_SAMPLES_CUH
#define SYNFIRE_OPERATIONS_LOSS_SAMPLES_CUH

#include "loss_arithmetic.hpp"
#include "loss_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>
#include <backends/cuda/warp_sums.cuh>

namespace synfire::cuda {
namespace {

using namespace synfire::operations;
using model::reduction_chunk;
using model::reduction_lanes;

__device__ __forceinline__ float decode(uint32_t stored) {
  return __uint2float_rn(stored);
}

// ---- sums of a block, in the fixed order ----------------------------------------------------------------------------

// Sums the first reduction_lanes threads' numbers by a binary tree; returned in all threads.
__device__ double tree_sum(double lane, double* lanes) {
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread < reduction_lanes) lanes[thread] = lane;
  for (int half = reduction_lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) lanes[thread] += lanes[thread + half];
  }
  __syncthreads();
  const double sum = lanes[0];
  __syncthreads();
  return sum;
}

template <class F>
__device__ __forceinline__ double lane_sum(int64_t first, int64_t end, double* lanes, F f) {
  double lane = 0;
  if (threadIdx.x < reduction_lanes)
    for (int64_t i = first + threadIdx.x; i < end; i += reduction_lanes) lane += f(i);
  return tree_sum(lane, lanes);
}

__device__ __forceinline__ int64_t chunk_end(int64_t chunk, int64_t count) {
  return (chunk + 1) * reduction_chunk < count ? (chunk + 1) * reduction_chunk : count;
}

__device__ double all_class_weights(const LossArguments& a, double* lanes) {
  if (!a.squared || !a.class_weights) return static_cast<double>(a.n_classes);
  double lane = 0;
  const int64_t n_chunks = (static_cast<int64_t>(a.n_classes) + reduction_chunk - 1) / reduction_chunk;
  for (int64_t chunk = 0; chunk < n_chunks; ++chunk) {
    const double sum = lane_sum(chunk * reduction_chunk, chunk_end(chunk, a.n_classes), lanes,
                                [&](int64_t c) { return static_cast<double>(a.class_weights[c]); });
    if (threadIdx.x == static_cast<unsigned>(chunk % reduction_lanes)) lane += sum;
  }
  return tree_sum(lane, lanes);
}

struct Weighed {
  double weight, count;
};
__device__ Weighed weigh_chunk(const LossArguments& a, int64_t chunk, double* lanes) {
  double weight = 0, count = 0;
  const int64_t end = chunk_end(chunk, a.n_samples);
  if (threadIdx.x < reduction_lanes)
    for (int64_t i = chunk * reduction_chunk + threadIdx.x; i < end; i += reduction_lanes) {
      const LossSample s = sample_at(a, i);
      weight += divisor_share(a, s);
      count += s.counts ? 1 : 0;
    }
  const double weights = is_weighted(a) ? tree_sum(weight, lanes) : 0;
  return {weights, tree_sum(count, lanes)};
}

// ---- the threads of a sample ----------------------------------------------------------------------------------------

struct Group {
  int size, rank;
  unsigned mask;
};

__device__ __forceinline__ Group group_of(int size) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const unsigned ones = size == 32 ? 0xFFFFFFFFu : (1u << size) - 1;
  return {size, lane % size, ones << (lane / size * size)};
}

// Sums four lanes of each thread; returned in all threads.
template <class R>
__device__ __forceinline__ R group_sum(const R (&lane)[4], const Group& group) {
  R sum = (lane[0] + lane[2]) + (lane[1] + lane[3]);
  for (int half = group.size / 2; half > 0; half /= 2) sum += __shfl_xor_sync(group.mask, sum, half);
  return sum;
}

template <class R>
__device__ __forceinline__ Largest<R> group_largest(Largest<R> most, const Group& group) {
  for (int half = group.size / 2; half > 0; half /= 2) {
    Largest<R> other;
    other.value = __shfl_xor_sync(group.mask, most.value, half);
    other.at = __shfl_xor_sync(group.mask, most.at, half);
    most = larger(most, other);
  }
  return most;
}

// Calls f(classes of a pass, x) for all passes of a thread over the predictions of a sample. A pass is four classes of
// each thread; if one suffices, it is read once. A chunk has whole passes.
template <class E, class R>
struct Classes {
  const E* row;
  uint32_t n_classes;
  Group group;
  R x[4];

  __device__ __forceinline__ uint32_t pass() const { return 4 * static_cast<uint32_t>(group.size); }
  __device__ __forceinline__ bool held() const { return n_classes <= pass(); }
  __device__ __forceinline__ uint32_t at(uint32_t first, int j) const {
    return first + static_cast<uint32_t>(group.rank + j * group.size);
  }
  __device__ __forceinline__ void load(uint32_t first) {
#pragma unroll
    for (int j = 0; j < 4; ++j) x[j] = at(first, j) < n_classes ? static_cast<R>(decode(row[at(first, j)])) : R(0);
  }
  template <class F>
  __device__ __forceinline__ void for_each(F f) {
    for (uint32_t first = 0; first < n_classes; first += pass()) {
      if (!held()) load(first);
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (at(first, j) < n_classes) f(at(first, j), x[j]);
    }
  }
  template <class F>
  __device__ __forceinline__ R sum(F f) {
    if (held()) {
      R lane[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) lane[j] = at(0, j) < n_classes ? R(0) + f(at(0, j), x[j]) : R(0);
      return group_sum(lane, group);
    }
    R chunks[4] = {}, total = 0;
    uint32_t chunk = 0;
    for (uint32_t begin = 0; begin < n_classes; begin += reduction_chunk, ++chunk) {
      R lane[4] = {};
      for (uint32_t first = begin; first < begin + reduction_chunk && first < n_classes; first += pass()) {
        load(first);
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (at(first, j) < n_classes) lane[j] += f(at(first, j), x[j]);
      }
      total = group_sum(lane, group);
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (static_cast<uint32_t>(group.rank + 32 * j) == chunk % reduction_lanes) chunks[j] += total;
    }
    return chunk == 1 ? total : group_sum(chunks, group);
  }
};

template <class R>
__device__ __forceinline__ R* gradient_of(const LossArguments& a, const LossSample& s) {
  return static_cast<R*>(a.gradient) + s.step * a.gradient_pitch + s.row * static_cast<int64_t>(a.n_classes);
}

template <class R>
__device__ __forceinline__ void clear_gradient(const LossArguments& a, const LossSample& s, const Group& group) {
  if (!a.gradient || a.add_gradient) return;
  R* const to = gradient_of<R>(a, s);
  for (uint32_t c = static_cast<uint32_t>(group.rank); c < a.n_classes; c += static_cast<uint32_t>(group.size))
    to[c] = R(0);
}

template <class E, class R>
__device__ __forceinline__ R cross_entropy(const LossArguments& a, const LossConstants<R>& k, const LossSample& s,
                                           Classes<E, R>& classes, R most, float weight) {
  const R sum = classes.sum([&](uint32_t, R x) { return model::exponential(x - most); });
  const R log_sum = log_of_sum(sum);
  const LossMass kind = mass_of(a, k);
  R loss, mass = R(1);
  if (a.labels && !k.smooths) {
    const R x = static_cast<R>(decode(classes.row[s.label]));
    loss = entropy_term(share_of<R>(a, k, s, s.label), log_sum, x - most);
  } else {
    loss = classes.sum([&](uint32_t c, R x) { return entropy_term(share_of<R>(a, k, s, c), log_sum, x - most); });
  }
  if (!a.gradient || weight == 0.0f) return loss;
  if (kind == LossMass::label) mass = static_cast<R>(class_weight(a, s.label));
  if (kind == LossMass::summed) mass = classes.sum([&](uint32_t c, R) { return share_of<R>(a, k, s, c); });
  const R factor = gradient_factor(a, k, weight), reciprocal = reciprocal_of_sum(sum);
  R* const to = gradient_of<R>(a, s);
  classes.for_each([&](uint32_t c, R x) {
    const R probability = model::exponential(x - most) * reciprocal;
    const R gradient = entropy_gradient(factor, mass, probability, share_of<R>(a, k, s, c));
    to[c] = a.add_gradient ? to[c] + gradient : gradient;
  });
  return loss;
}

template <class E, class R>
__device__ __forceinline__ R squared_error(const LossArguments& a, const LossConstants<R>& k, const LossSample& s,
                                           Classes<E, R>& classes, float weight) {
  const R loss = classes.sum(
      [&](uint32_t c, R x) { return squared_term(static_cast<R>(class_weight(a, c)), x - target_of<R>(a, s, c)); });
  if (!a.gradient || weight == 0.0f) return loss;
  const R factor = gradient_factor(a, k, weight);
  R* const to = gradient_of<R>(a, s);
  classes.for_each([&](uint32_t c, R x) {
    const R gradient = squared_gradient(factor, static_cast<R>(class_weight(a, c)), x - target_of<R>(a, s, c));
    to[c] = a.add_gradient ? to[c] + gradient : gradient;
  });
  return loss;
}

template <class R>
struct Outcome {
  R loss;
  bool correct;
};

template <class E, class R>
__device__ Outcome<R> sample(const LossArguments& a, const LossConstants<R>& k, int64_t index, const Group& group) {
  const LossSample s = sample_at(a, index);
  Largest<R> most = {R(0), 0};
  R loss = uncounted_loss<R>(s);
  const float weight = s.counts ? sample_weight(a, s) : 0.0f;
  if (s.active) {
    const int64_t n_classes = a.n_classes;
    Classes<E, R> classes = {
        static_cast<const E*>(a.source) + s.step * a.source_pitch + s.row * n_classes, a.n_classes, group, {}};
    if (classes.held()) classes.load(0);
    if (!a.squared || a.predictions || a.n_correct) {
      most = largest_of_none<R>();
      classes.for_each([&](uint32_t c, R x) { most = larger(most, Largest<R>{x, c}); });
      most = group_largest(most, group);
    }
    if (s.counts)
      loss = weighted_loss(weight, a.squared ? squared_error(a, k, s, classes, weight)
                                             : cross_entropy(a, k, s, classes, most.value, weight));
  }
  if (weight == 0.0f) clear_gradient<R>(a, s, group);
  if (group.rank == 0) {
    if (a.losses) static_cast<R*>(a.losses)[s.step * a.losses_pitch + s.row] = loss;
    if (a.predictions) a.predictions[s.step * a.predictions_pitch + s.row] = most.at;
  }
  return {loss, s.counts && most.at == s.label};
}

// The samples of a tile, shared by the groups of the block. The first thread of each group counts, and finds the
// largest of its losses.
template <class E, class R>
__device__ __forceinline__ unsigned samples_of(const LossArguments& a, const LossConstants<R>& k, int64_t first,
                                               int64_t end, const Group& group, R* losses, uint32_t& largest) {
  unsigned n_correct = 0;
  const int n_groups = static_cast<int>(blockDim.x) / group.size;
  for (int64_t i = first + static_cast<int>(threadIdx.x) / group.size; i < end; i += n_groups) {
    const Outcome<R> outcome = sample<E, R>(a, k, i, group);
    if (group.rank != 0) continue;
    losses[i] = outcome.loss;
    if constexpr (sizeof(R) == sizeof(float)) {
      const uint32_t magnitude = model::magnitude_bits(outcome.loss);
      largest = magnitude > largest ? magnitude : largest;
    }
    n_correct += outcome.correct ? 1 : 0;
  }
  return n_correct;
}

// ---- sums over samples, in f32 --------------------------------------------------------------------------------------

// Calls f(i) for the samples of a thread, of `stride` threads.
template <class F>
__device__ __forceinline__ void for_each_sample(const LossArguments& a, int64_t first, int64_t stride, F f) {
  for (int64_t i = first; i < a.n_samples; i += stride) f(i);
}

// A thread's samples are those from `first` on, `stride` apart. Whole warps call these.
__device__ __forceinline__ void find_largest_share(const LossArguments& a, int64_t first, int64_t stride,
                                                   uint32_t* largest) {
  uint32_t most = 0;
  for_each_sample(a, first, stride, [&](int64_t i) {
    const uint32_t magnitude = model::magnitude_bits(share_of_sample(a, sample_at(a, i)));
    most = magnitude > most ? magnitude : most;
  });
  warp_max_to(largest, most);
}
__device__ __forceinline__ void add_shares(const LossArguments& a, int64_t first, int64_t stride, uint32_t largest,
                                           int64_t* sums) {
  int64_t shares = 0, count = 0;
  for_each_sample(a, first, stride, [&](int64_t i) {
    const LossSample s = sample_at(a, i);
    if (is_weighted(a)) shares += share_term(share_of_sample(a, s), largest);
    count += s.counts ? 1 : 0;
  });
  if (is_weighted(a)) warp_sum_to(sums, shares);
  warp_sum_to(sums + 1, count);
}
template <class F>
__device__ __forceinline__ void add_losses(const LossArguments& a, int64_t first, int64_t stride, uint32_t largest,
                                           F loss_of, int64_t* sum) {
  int64_t total = 0;
  for_each_sample(a, first, stride, [&](int64_t i) { total += loss_term(loss_of(i), largest); });
  warp_sum_to(sum, total);
}

// All slots together, in all threads of a block, which must all call these.
__device__ __forceinline__ uint32_t largest_of_slots(const LossArguments& a, const LossSums& sums) {
  __shared__ uint32_t largest;
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  if (is_weighted(a)) {
    uint32_t most = 0;
    for (auto i = static_cast<int>(threadIdx.x); i < sums.n_slots; i += static_cast<int>(blockDim.x)) {
      const uint32_t found = sums.largest_share[i];
      most = found > most ? found : most;
    }
    __syncwarp();
    warp_max_to(&largest, most);
  }
  __syncthreads();
  return largest;
}
__device__ __forceinline__ LossShares shares_of_slots(const LossArguments& a, const LossSums& sums) {
  __shared__ int64_t totals[2];
  if (threadIdx.x < 2) totals[threadIdx.x] = 0;
  const uint32_t largest = largest_of_slots(a, sums);
  int64_t sum = 0, count = 0;
  for (auto i = static_cast<int>(threadIdx.x); i < sums.n_slots; i += static_cast<int>(blockDim.x)) {
    sum += sums.shares[i];
    count += sums.shares[sums.n_slots + i];
  }
  __syncwarp();
  warp_sum_to(totals, sum);
  warp_sum_to(totals + 1, count);
  __syncthreads();
  return {largest, totals[0], totals[1]};
}

// ---- all of a loss, by one block ------------------------------------------------------------------------------------

template <class E>
__device__ __forceinline__ void whole_loss_in_f32(const LossLaunch& launch) {
  __shared__ double lanes[reduction_lanes];
  __shared__ float losses[reduction_chunk];
  __shared__ int64_t shares[2], totals[2];
  __shared__ uint32_t largest[2];
  const LossArguments& a = launch.loss;
  const LossSums sums = {1, &largest[0], shares, &largest[1], totals, losses, nullptr};
  const auto thread = static_cast<int64_t>(threadIdx.x), stride = static_cast<int64_t>(blockDim.x);
  if (thread < 2) {
    largest[thread] = 0;
    shares[thread] = totals[thread] = 0;
  }
  __syncthreads();
  if (is_weighted(a)) {
    find_largest_share(a, thread, stride, sums.largest_share);
    __syncthreads();
  }
  add_shares(a, thread, stride, *sums.largest_share, sums.shares);
  __syncthreads();
  const double divisor = divisor_of(a, {largest[0], shares[0], shares[1]}, all_class_weights(a, lanes));
  const LossConstants<float> k = constants_of<float>(a, factor_of(a, divisor));
  uint32_t most = 0;
  const unsigned correct = samples_of<E, float>(a, k, 0, a.n_samples, group_of(launch.group), losses, most);
  __syncwarp();
  warp_max_to(sums.largest, most);
  warp_sum_to(sums.losses + 1, correct);
  __syncthreads();
  add_losses(
      a, thread, stride, *sums.largest, [&](int64_t i) { return losses[i]; }, sums.losses);
  __syncthreads();
  if (thread == 0)
    write_results(a, loss_of_terms(totals[0], largest[1]), divisor, static_cast<uint64_t>(totals[1]),
                  static_cast<uint64_t>(shares[1]));
}

[[maybe_unused]] __device__ __forceinline__ void whole_loss_in_f64(const LossLaunch& launch) {
  __shared__ double lanes[reduction_lanes];
  __shared__ double losses[reduction_chunk];
  __shared__ unsigned n_correct;
  const LossArguments& a = launch.loss;
  if (threadIdx.x == 0) n_correct = 0;
  const Weighed weighed = weigh_chunk(a, 0, lanes);
  const double divisor = divisor_of(a, weighed.weight, weighed.count, all_class_weights(a, lanes));
  const LossConstants<double> k = constants_of<double>(a, factor_of(a, divisor));
  uint32_t unused = 0;
  const unsigned correct = samples_of<double, double>(a, k, 0, a.n_samples, group_of(launch.group), losses, unused);
  if (correct != 0) atomicAdd(&n_correct, correct);
  __syncthreads();
  const double total = lane_sum(0, a.n_samples, lanes, [&](int64_t i) { return losses[i]; });
  if (threadIdx.x == 0) write_results(a, total, divisor, n_correct, static_cast<uint64_t>(weighed.count));
}

template <class E>
__device__ __forceinline__ void whole_loss(const LossLaunch& launch) {
  if constexpr (is_double<E>)
    whole_loss_in_f64(launch);
  else
    whole_loss_in_f32<E>(launch);
}

}  // namespace
}  // namespace synfire::cuda

#endif
