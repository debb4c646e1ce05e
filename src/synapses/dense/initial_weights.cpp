#include "initial_weights.hpp"

#include <operations/encode/philox.hpp>

#include <synfire/model/elementary.hpp>

#include <cmath>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// The first words of the counters: weights count on in order, biases have a block of their own.
constexpr uint32_t of_weights = 0, of_biases = 1;

struct Random {
  uint64_t first, second;
};
Random random(const DenseSpec& spec, uint32_t block, int64_t index) {
  const auto number = static_cast<uint64_t>(index);
  const Words4 drawn =
      philox({{static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32), block, 0}}, spec.seed);
  return {drawn.word[0] | static_cast<uint64_t>(drawn.word[1]) << 32,
          drawn.word[2] | static_cast<uint64_t>(drawn.word[3]) << 32};
}

// Between 0 and 1, both exclusive.
double fraction(uint64_t word) {
  return (static_cast<double>(word >> 12) + 0.5) * 0x1p-52;
}

double bound(const DenseSpec& spec) {
  return spec.gain / std::sqrt(static_cast<double>(spec.n_inputs));
}

double uniform(const DenseSpec& spec, Random drawn) {
  return (2.0 * fraction(drawn.first) - 1.0) * bound(spec);
}

// By G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", 1958.
double normal(const DenseSpec& spec, Random drawn) {
  const double radius = std::sqrt(-2.0 * model::logarithm(fraction(drawn.first)));
  return radius * model::sine_of_half_turns(2.0, fraction(drawn.second)) * bound(spec);
}

}  // namespace

template <class R>
std::vector<R> initial_weights(const DenseSpec& spec) {
  std::vector<R> weights(static_cast<size_t>(spec.n_weights()));
  if (spec.initialization == Initialization::zero) return weights;
  for (int64_t i = 0; i < spec.n_weights(); ++i) {
    const Random drawn = random(spec, of_weights, i);
    weights[static_cast<size_t>(i)] =
        static_cast<R>(spec.initialization == Initialization::uniform ? uniform(spec, drawn) : normal(spec, drawn));
  }
  return weights;
}

template <class R>
std::vector<R> initial_biases(const DenseSpec& spec) {
  std::vector<R> biases(static_cast<size_t>(spec.n_outputs));
  if (spec.initialization != Initialization::uniform) return biases;
  for (int64_t i = 0; i < spec.n_outputs; ++i)
    biases[static_cast<size_t>(i)] = static_cast<R>(uniform(spec, random(spec, of_biases, i)));
  return biases;
}

template std::vector<float> initial_weights(const DenseSpec& spec);
template std::vector<double> initial_weights(const DenseSpec& spec);
template std::vector<float> initial_biases(const DenseSpec& spec);
template std::vector<double> initial_biases(const DenseSpec& spec);

}  // namespace synfire::operations
