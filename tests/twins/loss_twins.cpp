// One class at a time.
#include "twin.hpp"

#include <backends/host/host_storage.hpp>
#include <operations/loss/loss_arithmetic.hpp>
#include <operations/loss/loss_kernels.hpp>
#include <operations/loss/sums.hpp>

#include <vector>

namespace synfire::cuda {
namespace {

using namespace synfire::operations;
namespace generic = synfire::host::SYNFIRE_MODEL_LEVEL;

// Sums any number of terms, in lanes within chunks.
template <class R, class F>
R ordered_sum(int64_t count, F term) {
  constexpr int lanes = model::reduction_lanes, chunk = model::reduction_chunk;
  const auto tree = [](std::vector<R>& lane) {
    for (size_t half = lane.size() / 2; half > 0; half /= 2)
      for (size_t i = 0; i < half; ++i) lane[i] += lane[i + half];
    return lane[0];
  };
  std::vector<R> outer(lanes, R(0));
  for (int64_t first = 0; first < count; first += chunk) {
    std::vector<R> inner(lanes, R(0));
    for (int64_t i = 0; i < chunk && first + i < count; ++i) inner[static_cast<size_t>(i % lanes)] += term(first + i);
    outer[static_cast<size_t>(first / chunk % lanes)] += tree(inner);
  }
  return tree(outer);
}

template <class R>
R prediction(const LossArguments& a, int32_t dtype, int64_t at) {
  if constexpr (sizeof(R) == sizeof(float))
    if (dtype == SYNFIRE_DTYPE_U32) return static_cast<float>(static_cast<const uint32_t*>(a.source)[at]);
  return generic::number_at<R>(generic::NumberTypesBeside<R>{}, dtype, a.source, at);
}

// Returns the loss, and gradient(c) in `gradients`.
template <class R, class X>
R cross_entropy(const LossArguments& a, const LossConstants<R>& k, const LossSample& s, X x, R most,
                std::vector<R>& gradients) {
  const auto exponential = [&](int64_t c) { return model::exponential(x(c) - most); };
  const auto share = [&](int64_t c) { return share_of<R>(a, k, s, static_cast<uint32_t>(c)); };
  const R sum = ordered_sum<R>(a.n_classes, exponential);
  const R log_sum = log_of_sum(sum), reciprocal = reciprocal_of_sum(sum);
  const auto term = [&](int64_t c) { return entropy_term(share(c), log_sum, x(c) - most); };
  const R loss = a.labels && !k.smooths ? term(s.label) : ordered_sum<R>(a.n_classes, term);
  const LossMass kind = mass_of(a, k);
  const R mass = kind == LossMass::one     ? R(1)
                 : kind == LossMass::label ? static_cast<R>(class_weight(a, s.label))
                                           : ordered_sum<R>(a.n_classes, share);
  const R factor = gradient_factor(a, k, sample_weight(a, s));
  for (int64_t c = 0; c < a.n_classes; ++c)
    gradients[static_cast<size_t>(c)] = entropy_gradient(factor, mass, exponential(c) * reciprocal, share(c));
  return loss;
}

template <class R, class X>
R squared_error(const LossArguments& a, const LossConstants<R>& k, const LossSample& s, X x,
                std::vector<R>& gradients) {
  const auto weight = [&](int64_t c) { return static_cast<R>(class_weight(a, static_cast<uint32_t>(c))); };
  const auto difference = [&](int64_t c) { return x(c) - target_of<R>(a, s, static_cast<uint32_t>(c)); };
  const R factor = gradient_factor(a, k, sample_weight(a, s));
  for (int64_t c = 0; c < a.n_classes; ++c)
    gradients[static_cast<size_t>(c)] = squared_gradient(factor, weight(c), difference(c));
  return ordered_sum<R>(a.n_classes, [&](int64_t c) { return squared_term(weight(c), difference(c)); });
}

template <class R>
struct Outcome {
  R loss;
  bool correct;
};

template <class R>
Outcome<R> sample(const LossArguments& a, int32_t dtype, const LossConstants<R>& k, int64_t index) {
  const LossSample s = sample_at(a, index);
  const int64_t n_classes = a.n_classes, row = s.row * n_classes;
  const auto x = [&](int64_t c) { return prediction<R>(a, dtype, s.step * a.source_pitch + row + c); };
  Largest<R> most = largest_of_none<R>();
  for (int64_t c = 0; c < n_classes; ++c) most = larger(most, Largest<R>{x(c), static_cast<uint32_t>(c)});
  std::vector<R> gradients(static_cast<size_t>(n_classes), R(0));
  R loss = uncounted_loss<R>(s);
  const float weight = sample_weight(a, s);
  if (s.counts)
    loss = weighted_loss(weight, a.squared ? squared_error<R>(a, k, s, x, gradients)
                                           : cross_entropy<R>(a, k, s, x, most.value, gradients));
  if (a.losses) static_cast<R*>(a.losses)[s.step * a.losses_pitch + s.row] = loss;
  if (a.predictions) a.predictions[s.step * a.predictions_pitch + s.row] = s.active ? most.at : 0;
  const bool has_gradient = s.counts && weight != 0.0f;
  for (int64_t c = 0; a.gradient && c < n_classes; ++c) {
    R& to = static_cast<R*>(a.gradient)[s.step * a.gradient_pitch + row + c];
    if (!a.add_gradient) to = R(0);
    if (has_gradient) to = a.add_gradient ? to + gradients[static_cast<size_t>(c)] : gradients[static_cast<size_t>(c)];
  }
  return {loss, s.counts && most.at == s.label};
}

// Returns how many predictions are correct.
template <class R>
uint64_t samples(const LossArguments& a, int32_t dtype, double divisor, R* losses) {
  const LossConstants<R> k = constants_of<R>(a, factor_of(a, divisor));
  uint64_t n_correct = 0;
  for (int64_t i = 0; i < a.n_samples; ++i) {
    const Outcome<R> outcome = sample<R>(a, dtype, k, i);
    losses[i] = outcome.loss;
    n_correct += outcome.correct ? 1 : 0;
  }
  return n_correct;
}

void samples_in_f64(const LossArguments& a, const double* weights, const double* counts) {
  const int64_t n_chunks = loss_chunks(a.n_samples);
  const double count = model::lane_sum(counts, n_chunks);
  const double divisor = divisor_of(a, model::lane_sum(weights, n_chunks), count, all_class_weights(a));
  std::vector<double> losses(static_cast<size_t>(a.n_samples));
  const uint64_t n_correct = samples(a, SYNFIRE_DTYPE_F64, divisor, losses.data());
  std::vector<double> sums(static_cast<size_t>(n_chunks));
  for (int64_t chunk = 0; chunk < n_chunks; ++chunk)
    sums[static_cast<size_t>(chunk)] = sum_chunk(a, losses.data(), chunk);
  write_results(a, model::lane_sum(sums.data(), n_chunks), divisor, n_correct, static_cast<uint64_t>(count));
}

// ---- the entries in f32: they write slots and add to the rest, as the kernels do
// -------------------------------------

void find_largest_share(const LossArguments& a) {
  write_largest_share(a.sums, is_weighted(a) ? largest_share(a, 0, a.n_samples) : 0);
}
void add_shares(const LossArguments& a, bool clears) {
  const LossShares found = sum_shares(a, largest_of_slots(a, a.sums), 0, a.n_samples);
  write_shares(a.sums, found.sum, found.count);
  if (!clears) return;
  *a.sums.largest = 0;
  a.sums.losses[0] = a.sums.losses[1] = 0;
}
void compute_samples(const LossArguments& a, int32_t dtype) {
  const double divisor = divisor_of(a, shares_of_slots(a, a.sums), all_class_weights(a));
  a.sums.losses[1] += static_cast<int64_t>(samples(a, dtype, divisor, a.sums.of_samples));
  *a.sums.largest = std::max(*a.sums.largest, largest_loss(a.sums.of_samples, 0, a.n_samples));
}
void add_losses(const LossArguments& a) {
  a.sums.losses[0] += sum_losses(a.sums.of_samples, *a.sums.largest, 0, a.n_samples);
}
void finish(const LossArguments& a) {
  const LossShares shares = shares_of_slots(a, a.sums);
  write_results(a, loss_of_terms(a.sums.losses[0], *a.sums.largest), divisor_of(a, shares, all_class_weights(a)),
                static_cast<uint64_t>(a.sums.losses[1]), static_cast<uint64_t>(shares.count));
}

enum Key : int64_t { key_share_maxima, key_share_sums, key_samples, key_sums, key_divisor, key_block };

}  // namespace

const void* loss_share_maxima_kernel() {
  return twin<LossLaunch>({key_share_maxima}, [](const LossLaunch& launch) { find_largest_share(launch.loss); });
}

const void* loss_share_sums_kernel() {
  return twin<LossLaunch>({key_share_sums}, [](const LossLaunch& launch) { add_shares(launch.loss, launch.clears); });
}

const void* loss_samples_kernel(int32_t dtype) {
  return twin<LossLaunch>({key_samples, dtype}, [dtype](const LossLaunch& launch) {
    if (dtype == SYNFIRE_DTYPE_F64)
      samples_in_f64(launch.loss, launch.loss.scratch.weights, launch.loss.scratch.counts);
    else
      compute_samples(launch.loss, dtype);
    if (dtype == SYNFIRE_DTYPE_F64 || !launch.finishes) return;
    add_losses(launch.loss);
    finish(launch.loss);
  });
}

const void* loss_sums_kernel() {
  return twin<LossLaunch>({key_sums}, [](const LossLaunch& launch) {
    if (launch.adds) add_losses(launch.loss);
    if (launch.finishes) finish(launch.loss);
  });
}

const void* loss_divisor_kernel() {
  return twin<LossLaunch>({key_divisor}, [](const LossLaunch& launch) {
    const LossArguments& a = launch.loss;
    for (int64_t chunk = 0; chunk < loss_chunks(a.n_samples); ++chunk)
      weigh_chunk(a, chunk, a.scratch.weights[chunk], a.scratch.counts[chunk]);
  });
}

const void* loss_block_kernel(int32_t dtype) {
  return twin<LossLaunch>({key_block, dtype}, [dtype](const LossLaunch& launch) {
    if (dtype == SYNFIRE_DTYPE_F64) {
      double weight = 0, count = 0;
      weigh_chunk(launch.loss, 0, weight, count);
      samples_in_f64(launch.loss, &weight, &count);
      return;
    }
    LossArguments a = launch.loss;
    std::vector<int64_t> memory(loss_sums_bytes(a.n_samples) / sizeof(int64_t) + 1);
    a.sums = loss_sums(memory.data(), loss_slots);
    find_largest_share(a);
    add_shares(a, true);
    compute_samples(a, dtype);
    add_losses(a);
    finish(a);
  });
}

}  // namespace synfire::cuda
