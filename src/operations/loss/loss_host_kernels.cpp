// Classes are processed in pieces, in loops that the compiler vectorises. A piece fits on the thread's stack.
#include "loss_host_kernels.hpp"

#include "loss_arithmetic.hpp"

#include <backends/host/host_storage.hpp>

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

using namespace synfire::operations;

constexpr int lanes = model::reduction_lanes;
constexpr uint32_t block = model::reduction_chunk;
constexpr uint32_t piece = 256;
static_assert(block % piece == 0 && piece % lanes == 0);

// ---- sums -----------------------------------------------------------------------------------------------------------

template <class R>
R tree(R* lane, int count) {
  for (int half = count / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  return lane[0];
}

// Sums pieces that arrive one after the other: the sum of the sums of their chunks.
template <class R>
class ChunkSums {
 public:
  // Adds the piece that begins with this class.
  void add(uint32_t first, const R* values, int count) {
    if (first % block == 0) {
      if (first > 0) end_chunk();
      // Lanes above the values hold +0, which changes no sum, and can be left out.
      for (used_ = 1; used_ < count && used_ < lanes;) used_ *= 2;
      for (int i = 0; i < used_; ++i) of_chunk_[i] = R(0);
    }
    const int whole = count / lanes * lanes;
    for (int at = 0; at < whole; at += lanes)
      for (int i = 0; i < lanes; ++i) of_chunk_[i] += values[at + i];
    for (int i = whole; i < count; ++i) of_chunk_[i - whole] += values[i];
  }
  R total() {
    if (n_ == 0) return tree(of_chunk_, used_);
    end_chunk();
    return tree(lane_, lanes);
  }

 private:
  void end_chunk() {
    if (n_ == 0)
      for (R& lane : lane_) lane = R(0);
    lane_[n_ % lanes] += tree(of_chunk_, used_);
    ++n_;
  }

  R of_chunk_[lanes], lane_[lanes];
  int used_ = 0;
  int64_t n_ = 0;
};

// ---- rows -----------------------------------------------------------------------------------------------------------

float number(uint32_t stored) {
  return static_cast<float>(stored);
}
template <class E>
float number(E stored) {
  return decode(stored);
}

template <class E, class R>
inline constexpr bool is_stored_as = false;
template <class R>
inline constexpr bool is_stored_as<R, R> = true;

// The predictions of one sample, a piece at a time.
template <class E, class R>
class Predictions {
 public:
  Predictions(const LossArguments& a, const LossSample& s)
      : row_(static_cast<const E*>(a.source) + s.step * a.source_pitch + s.row * static_cast<int64_t>(a.n_classes)),
        n_classes_(a.n_classes) {}
  int count(uint32_t first) const { return static_cast<int>(n_classes_ - first < piece ? n_classes_ - first : piece); }
  // In place if they are stored as R. Else converts a block, unless it was the last one.
  const R* from(uint32_t first) {
    if constexpr (is_stored_as<E, R>) {
      return row_ + first;
    } else {
      const uint32_t begin = first / block * block;
      if (begin != held_) {
        const uint32_t n = n_classes_ - begin < block ? n_classes_ - begin : block;
        for (uint32_t i = 0; i < n; ++i) values_[i] = number(row_[begin + i]);
        held_ = begin;
      }
      return values_ + (first - begin);
    }
  }

 private:
  R values_[is_stored_as<E, R> ? 1 : block];
  const E* row_;
  uint32_t n_classes_;
  uint32_t held_ = 0xFFFFFFFFu;
};

template <class F>
void for_each_piece(uint32_t n_classes, F f) {
  for (uint64_t first = 0; first < n_classes; first += piece) f(static_cast<uint32_t>(first));
}

template <class R>
R* gradient_of(const LossArguments& a, const LossSample& s) {
  return static_cast<R*>(a.gradient) + s.step * a.gradient_pitch + s.row * static_cast<int64_t>(a.n_classes);
}

template <class R>
void write_gradient(const LossArguments& a, R* __restrict to, const R* __restrict gradient, int count) {
  if (a.add_gradient)
    for (int i = 0; i < count; ++i) to[i] += gradient[i];
  else
    for (int i = 0; i < count; ++i) to[i] = gradient[i];
}

template <class R>
void clear_gradient(const LossArguments& a, const LossSample& s) {
  if (!a.gradient || a.add_gradient) return;
  R* const to = gradient_of<R>(a, s);
  for (uint32_t c = 0; c < a.n_classes; ++c) to[c] = R(0);
}

// The largest number, several at once; not a NaN.
template <class E, class R>
R largest_number(Predictions<E, R>& x, uint32_t n_classes) {
  constexpr int width = 32;
  R lane[width];
  for (R& one : lane) one = -R(__builtin_huge_val());
  for_each_piece(n_classes, [&](uint32_t first) {
    const R* const values = x.from(first);
    const int count = x.count(first), whole = count / width * width;
    for (int i = 0; i < whole; i += width)
      for (int j = 0; j < width; ++j) lane[j] = values[i + j] > lane[j] ? values[i + j] : lane[j];
    for (int i = whole; i < count; ++i) lane[i - whole] = values[i] > lane[i - whole] ? values[i] : lane[i - whole];
  });
  R most = lane[0];
  for (int j = 1; j < width; ++j) most = lane[j] > most ? lane[j] : most;
  return most;
}

template <class E, class R>
uint32_t largest_at(Predictions<E, R>& x, uint32_t n_classes) {
  Largest<R> most = largest_of_none<R>();
  for_each_piece(n_classes, [&](uint32_t first) {
    const R* const values = x.from(first);
    const int count = x.count(first);
    for (int i = 0; i < count; ++i) most = larger(most, Largest<R>{values[i], first + static_cast<uint32_t>(i)});
  });
  return most.at;
}

// ---- one sample -----------------------------------------------------------------------------------------------------

// Shares of the classes from `first` on.
template <class R>
void read_shares(const LossArguments& a, const LossConstants<R>& k, const LossSample& s, uint32_t first, int count,
                 R* shares) {
  for (int i = 0; i < count; ++i) shares[i] = share_of<R>(a, k, s, first + static_cast<uint32_t>(i));
}

template <class E, class R>
R cross_entropy(const LossArguments& a, const LossConstants<R>& k, const LossSample& s, Predictions<E, R>& x) {
  const R most = largest_number(x, a.n_classes);
  R scratch[piece], shares[piece];
  ChunkSums<R> exponentials;
  for_each_piece(a.n_classes, [&](uint32_t first) {
    const R* const values = x.from(first);
    const int count = x.count(first);
    for (int i = 0; i < count; ++i) scratch[i] = model::exponential(values[i] - most);
    exponentials.add(first, scratch, count);
  });
  const R sum = exponentials.total(), log_sum = log_of_sum(sum);
  const LossMass kind = mass_of(a, k);
  R loss, mass = R(1);
  if (a.labels && !k.smooths) {
    const R share = share_of<R>(a, k, s, s.label);
    loss = entropy_term(share, log_sum, x.from(s.label / piece * piece)[s.label % piece] - most);
    if (kind == LossMass::label) mass = static_cast<R>(class_weight(a, s.label));
  } else {
    ChunkSums<R> losses, masses;
    for_each_piece(a.n_classes, [&](uint32_t first) {
      const R* const values = x.from(first);
      const int count = x.count(first);
      read_shares(a, k, s, first, count, shares);
      for (int i = 0; i < count; ++i) scratch[i] = entropy_term(shares[i], log_sum, values[i] - most);
      losses.add(first, scratch, count);
      if (kind == LossMass::summed) masses.add(first, shares, count);
    });
    loss = losses.total();
    if (kind == LossMass::summed) mass = masses.total();
  }
  const float weight = sample_weight(a, s);
  if (weight == 0.0f) {
    clear_gradient<R>(a, s);
  } else if (a.gradient) {
    const R factor = gradient_factor(a, k, weight), reciprocal = reciprocal_of_sum(sum);
    for_each_piece(a.n_classes, [&](uint32_t first) {
      const R* const values = x.from(first);
      const int count = x.count(first);
      read_shares(a, k, s, first, count, shares);
      for (int i = 0; i < count; ++i)
        scratch[i] = entropy_gradient(factor, mass, model::exponential(values[i] - most) * reciprocal, shares[i]);
      write_gradient(a, gradient_of<R>(a, s) + first, scratch, count);
    });
  }
  return weighted_loss(weight, loss);
}

template <class E, class R>
R squared_error(const LossArguments& a, const LossConstants<R>& k, const LossSample& s, Predictions<E, R>& x) {
  const float weight = sample_weight(a, s);
  const R factor = gradient_factor(a, k, weight);
  R terms[piece], gradient[piece];
  ChunkSums<R> losses;
  for_each_piece(a.n_classes, [&](uint32_t first) {
    const R* const values = x.from(first);
    const int count = x.count(first);
    for (int i = 0; i < count; ++i) {
      const uint32_t c = first + static_cast<uint32_t>(i);
      const R of_class = static_cast<R>(class_weight(a, c)), difference = values[i] - target_of<R>(a, s, c);
      terms[i] = squared_term(of_class, difference);
      gradient[i] = squared_gradient(factor, of_class, difference);
    }
    losses.add(first, terms, count);
    if (a.gradient && weight != 0.0f) write_gradient(a, gradient_of<R>(a, s) + first, gradient, count);
  });
  if (weight == 0.0f) clear_gradient<R>(a, s);
  return weighted_loss(weight, losses.total());
}

// Returns whether the prediction is correct.
template <class E, class R>
bool sample(const LossArguments& a, const LossConstants<R>& k, int64_t index, R& loss) {
  const LossSample s = sample_at(a, index);
  Predictions<E, R> x(a, s);
  uint32_t predicted = 0;
  if (s.active && (a.predictions || a.n_correct)) predicted = largest_at(x, a.n_classes);
  if (s.counts) {
    loss = a.squared ? squared_error(a, k, s, x) : cross_entropy(a, k, s, x);
  } else {
    loss = uncounted_loss<R>(s);
    clear_gradient<R>(a, s);
  }
  if (a.losses) static_cast<R*>(a.losses)[s.step * a.losses_pitch + s.row] = loss;
  if (a.predictions) a.predictions[s.step * a.predictions_pitch + s.row] = predicted;
  return s.counts && predicted == s.label;
}

template <class E, class R>
uint64_t samples_of(const LossArguments& a, const LossRange& range) {
  const LossConstants<R> k = constants_of<R>(a, range.factor);
  uint64_t n_correct = 0;
  for (int64_t i = range.first; i < range.end; ++i)
    n_correct += sample<E, R>(a, k, i, static_cast<R*>(range.losses)[i]) ? 1 : 0;
  return n_correct;
}

uint64_t samples(const LossArguments& a, const LossRange& range) {
  return core::with_element_type(NumberTypes::with<uint32_t>{}, range.dtype, [&](auto type) {
    using E = typename decltype(type)::Type;
    return samples_of<E, Arithmetic<E>>(a, range);
  });
}

}  // namespace

extern const LossKernels loss_kernels = {samples};

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL
