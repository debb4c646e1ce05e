// The formulas of the rate loss, in f64, and the memory of its sums; the same on every backend.
#ifndef SYNFIRE_OPERATIONS_RATE_LOSS_RATES_HPP
#define SYNFIRE_OPERATIONS_RATE_LOSS_RATES_HPP

#include <operations/reduce/counting.hpp>
#include <synfire/model/lane_sum.hpp>

#include <synfire/model/reduction.hpp>

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

struct RateWork {
  double* squares;  // [n_chunks]: of the deviations of a chunk's neurons
  u64* totals;      // [n_chunks]: spikes of a chunk's neurons
  u64* summary;     // [2]: how many steps of batch rows count; spikes of all neurons

  SYNFIRE_MODEL_FN static int64_t n_chunks(int64_t n_neurons) {
    return (n_neurons + model::reduction_chunk - 1) / model::reduction_chunk;
  }
  SYNFIRE_MODEL_FN static int64_t bytes(int64_t n_neurons) { return (2 * n_chunks(n_neurons) + 2) * 8; }
  SYNFIRE_MODEL_FN RateWork(void* memory, int64_t n_neurons)
      : squares(static_cast<double*>(memory)),
        totals(static_cast<u64*>(memory) + n_chunks(n_neurons)),
        summary(totals + n_chunks(n_neurons)) {}
};

struct Rates {
  double target, strength;
  int64_t n_neurons;
  u64 counted;  // steps of batch rows that count
  bool whole_layer;

  // How far a neuron is from its target, or all of them together.
  SYNFIRE_MODEL_FN double deviation(u64 count, u64 total) const {
    const double steps = static_cast<double>(counted);
    if (whole_layer) return static_cast<double>(total) / (static_cast<double>(n_neurons) * steps) - target;
    return static_cast<double>(count) / steps - target;
  }
  // For a neuron that spiked `count` times, of `total` spikes in all.
  SYNFIRE_MODEL_FN double gradient(u64 count, u64 total) const {
    return 2.0 * strength * deviation(count, total) / (static_cast<double>(n_neurons) * static_cast<double>(counted));
  }
  // `squares` is the sum of the squared deviations of the neurons.
  SYNFIRE_MODEL_FN double loss(double squares, u64 total) const {
    if (counted == 0) return 0.0;
    if (!whole_layer) return strength * (squares / static_cast<double>(n_neurons));
    const double off = deviation(0, total);
    return strength * (off * off);
  }
};

}  // namespace SYNFIRE_MODEL_LEVEL

// The sum of squares of a chunk of neurons, in the order of model/reduction.hpp.
struct LaneSquares {
  double lanes[model::reduction_lanes] = {};
  void add(int64_t neuron, double value) {
    double& lane = lanes[neuron % model::reduction_lanes];
    lane = model::fma(value, value, lane);
  }
  double sum() const { return model::lane_sum(lanes, model::reduction_lanes); }
};

}  // namespace synfire::operations

#endif
