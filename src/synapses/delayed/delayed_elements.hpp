// One element of each operation of synapses with delays, for host code, kernels and twins. A connection is i = n * K +
// k. Planes are [N, M + 1, padded K]: weight d * padded K + k of output n meets the spike of input k of d steps before.
// If connections share the delays of their inputs or outputs, there is one plane, [N, 1, padded K]; its product reads
// delayed inputs, or gives its outputs later.
#ifndef SYNFIRE_SYNAPSES_DELAYED_DELAYED_ELEMENTS_HPP
#define SYNFIRE_SYNAPSES_DELAYED_DELAYED_ELEMENTS_HPP

#include <base/extents.hpp>

#include <synfire/model/elementary.hpp>

#include <cstdint>

namespace synfire::operations {

// ---- spikes ---------------------------------------------------------------------------------------------------------

// Delays of inputs or of outputs: integers from 0 to M in the type of the synapse.
struct SharedDelays {
  int64_t max_delay;
  const float* narrow;
  const double* wide;  // one of the two; neither: connections have delays of their own

  SYNFIRE_MODEL_FN explicit operator bool() const { return narrow || wide; }
  SYNFIRE_MODEL_FN int64_t of(int64_t i) const {
    const double delay = narrow ? static_cast<double>(narrow[i]) : wide[i];
    if (!(delay > 0.0)) return 0;
    return delay < static_cast<double>(max_delay) ? static_cast<int64_t>(delay) : max_delay;
  }
};

// Packed words: those of the pass, and of the steps before.
struct DelayedSpikes {
  int64_t n_steps, batch, words, max_delay;
  const uint32_t* input;
  int64_t pitch;            // of the input, from step to step
  const uint32_t* history;  // [M, B, words]; null: zeros
  int64_t history_pitch;
  uint32_t last_inputs;  // the bits of inputs in the last word of a row

  // Word `at` of [B, words] of a step, which is at least -M.
  SYNFIRE_MODEL_FN uint32_t word(int64_t step, int64_t at) const {
    if (step >= 0) return input[step * pitch + at];
    return history ? history[(max_delay + step) * history_pitch + at] : 0u;
  }
};

// The inputs of all delays, side by side: [T, B, M + 1, words]; with delays of inputs, each at its own, [T, B, words];
// with delays of outputs, those of the steps before too, [M + T, B, words].
struct DelayedInputsArrays {
  DelayedSpikes spikes;
  int64_t n_taps, steps_before;
  SharedDelays of_inputs;
  int64_t n_inputs;
  uint32_t* delayed;
  SYNFIRE_MODEL_FN int64_t count() const {
    return (steps_before + spikes.n_steps) * spikes.batch * n_taps * spikes.words;
  }
};
SYNFIRE_MODEL_FN void delay_word(const DelayedInputsArrays& arrays, int64_t i) {
  const DelayedSpikes& spikes = arrays.spikes;
  const int64_t word = i % spikes.words, of_tap = i / spikes.words;
  const int64_t row = of_tap / arrays.n_taps, step = row / spikes.batch - arrays.steps_before;
  const int64_t at = row % spikes.batch * spikes.words + word;
  if (!arrays.of_inputs) {
    arrays.delayed[i] = spikes.word(step - of_tap % arrays.n_taps, at);
    return;
  }
  uint32_t bits = 0;
  for (int64_t k = word * 32; k < arrays.n_inputs && k < word * 32 + 32; ++k)
    bits |= (spikes.word(step - arrays.of_inputs.of(k), at) >> k % 32 & 1u) << k % 32;
  arrays.delayed[i] = bits;
}

// The last M steps of the pass, [M, B, words]; rows that are not active get those of the steps before. Bits beyond the
// inputs, which may be anything in what a caller gives, are 0: files with others are refused.
struct DelayedHistoryArrays {
  DelayedSpikes spikes;
  const uint32_t* n_active;  // null: all rows
  uint32_t* next;
  int64_t next_pitch;
  SYNFIRE_MODEL_FN int64_t count() const { return spikes.max_delay * spikes.batch * spikes.words; }
};
SYNFIRE_MODEL_FN void keep_history_word(const DelayedHistoryArrays& arrays, int64_t i) {
  const DelayedSpikes& spikes = arrays.spikes;
  const int64_t of_step = spikes.batch * spikes.words, at = i % of_step, from_end = spikes.max_delay - i / of_step;
  const bool is_active = !arrays.n_active || at / spikes.words < static_cast<int64_t>(*arrays.n_active);
  const uint32_t word = spikes.word(is_active ? spikes.n_steps - from_end : -from_end, at);
  const bool is_last = (at + 1) % spikes.words == 0;
  arrays.next[i / of_step * arrays.next_pitch + at] = is_last ? word & spikes.last_inputs : word;
}

// ---- weights --------------------------------------------------------------------------------------------------------

// Learnt delays, by I. Hammouamri, I. Khalfaoui-Hassani and T. Masquelier, "Learning delays in spiking neural networks
// using dilated convolutions with learnable spacings", ICLR 2024: G(d - D) = exp(-(d - D)^2 / (2 width^2)) / c, with a
// sum of 1 over d = 0 .. M. Numerator and c are divided by the value at the nearest d, so that c is at least 1 for any
// width. All of it is in f64.
struct DelayTaps {
  double delay, width;
  double largest;       // the exponent at the nearest step
  double total;         // c
  const double* parts;  // the numerators, if there is memory for them; else they are computed where they are needed

  SYNFIRE_MODEL_FN static double exponent(int64_t d, double delay, double width) {
    const double z = (static_cast<double>(d) - delay) / width;
    return -0.5 * (z * z);
  }
  SYNFIRE_MODEL_FN double part(int64_t d) const {
    return parts ? parts[d] : model::exponential(exponent(d, delay, width) - largest);
  }
  SYNFIRE_MODEL_FN double tap(int64_t d) const { return part(d) / total; }
};

// Half-way delays go up. The difference is exact, where delay + 0.5 may be rounded.
SYNFIRE_MODEL_FN int64_t nearest_step(double delay) {
  const auto below = static_cast<int64_t>(delay);
  return delay - static_cast<double>(below) < 0.5 ? below : below + 1;
}

// `parts`: [M + 1], or null.
SYNFIRE_MODEL_FN DelayTaps delay_taps(double delay, double width, int64_t max_delay, double* parts) {
  DelayTaps taps = {delay, width, DelayTaps::exponent(nearest_step(delay), delay, width), 0.0, nullptr};
  double total = 0.0;
  for (int64_t d = 0; d <= max_delay; ++d) {
    const double part = taps.part(d);
    if (parts) parts[d] = part;
    total = total + part;
  }
  taps.total = total;
  taps.parts = parts;
  return taps;
}

// The connections of a synapse. R is float or double.
template <class R>
struct DelayedConnections {
  int64_t n_inputs, n_outputs, padded_inputs, max_delay;
  R *weights, *delays;   // [N, K]; delays are null if connections share them: then M is 0
  const R* bias;         // [N]; null: there is none
  const R* width;        // [1]; null: delays are fixed
  const uint32_t* mask;  // words [N, ceil(K / 32)]; null: all connections

  SYNFIRE_MODEL_FN int64_t n_connections() const { return n_inputs * n_outputs; }
  // An operation has an element for each connection, then one for each bias.
  SYNFIRE_MODEL_FN int64_t count() const { return n_connections() + (bias ? n_outputs : 0); }
  SYNFIRE_MODEL_FN bool has(int64_t i) const {
    if (!mask) return true;
    const int64_t n = i / n_inputs, k = i % n_inputs;
    return (mask[n * ((n_inputs + 31) / 32) + k / 32] >> k % 32 & 1u) != 0;
  }
  // Delay 0 of a connection in the planes; the next one is `padded_inputs` further.
  SYNFIRE_MODEL_FN int64_t first_tap(int64_t i) const {
    return i / n_inputs * (max_delay + 1) * padded_inputs + i % n_inputs;
  }
};

// The planes of a synapse: of delays as they are, and rounded.
template <class R>
struct PrepareDelayedArrays {
  DelayedConnections<R> connections;
  R *spread, *spread_bias;  // null with fixed delays
  R *whole, *whole_bias;
};
template <class R>
SYNFIRE_MODEL_FN void prepare_delayed(const PrepareDelayedArrays<R>& arrays, int64_t i, double* parts = nullptr) {
  const DelayedConnections<R>& all = arrays.connections;
  if (i >= all.n_connections()) {
    const int64_t n = i - all.n_connections();
    arrays.whole_bias[n] = all.bias[n];
    if (arrays.spread) arrays.spread_bias[n] = all.bias[n];
    return;
  }
  if (!all.has(i)) all.weights[i] = R(0);
  if (!all.delays) {
    arrays.whole[all.first_tap(i)] = all.weights[i];
    return;
  }
  const R weight = all.weights[i], most = static_cast<R>(all.max_delay);
  if (!(all.delays[i] >= R(0))) all.delays[i] = R(0);
  if (all.delays[i] > most) all.delays[i] = most;
  const double delay = static_cast<double>(all.delays[i]);
  const int64_t first = all.first_tap(i), nearest = nearest_step(delay);
  for (int64_t d = 0; d <= all.max_delay; ++d)
    arrays.whole[first + d * all.padded_inputs] = d == nearest ? weight : R(0);
  if (!arrays.spread) return;
  const DelayTaps taps = delay_taps(delay, static_cast<double>(*all.width), all.max_delay, parts);
  for (int64_t d = 0; d <= all.max_delay; ++d)
    arrays.spread[first + d * all.padded_inputs] = static_cast<R>(static_cast<double>(weight) * taps.tap(d));
}

// ---- gradients ------------------------------------------------------------------------------------------------------

// Gradients of weights, delays and biases from those of the planes. With m = sum of d G(d - D):
//   dL/dW = sum of dL/dw[d] G(d - D)        dL/dD = W / width^2 * sum of dL/dw[d] G(d - D) (d - m)
template <class R>
struct DelayedGradientArrays {
  DelayedConnections<R> connections;
  const R *of_planes, *of_plane_bias;
  R *of_weights, *of_delays, *of_bias;
  bool add;  // to what the gradients hold
};
template <class R>
SYNFIRE_MODEL_FN void find_delayed_gradient(const DelayedGradientArrays<R>& arrays, int64_t i,
                                            double* parts = nullptr) {
  const DelayedConnections<R>& all = arrays.connections;
  const auto give = [&](R* to, int64_t at, R gradient) { to[at] = arrays.add ? to[at] + gradient : gradient; };
  if (i >= all.n_connections()) {
    const int64_t n = i - all.n_connections();
    return give(arrays.of_bias, n, arrays.of_plane_bias[n]);
  }
  const bool has = all.has(i);
  const R* const of_taps = arrays.of_planes + all.first_tap(i);
  const double delay = all.delays ? static_cast<double>(all.delays[i]) : 0.0;
  if (!all.width) return give(arrays.of_weights, i, has ? of_taps[nearest_step(delay) * all.padded_inputs] : R(0));
  if (!has) {
    give(arrays.of_weights, i, R(0));
    return give(arrays.of_delays, i, R(0));
  }
  const double width = static_cast<double>(*all.width);
  const DelayTaps taps = delay_taps(delay, width, all.max_delay, parts);
  double mean = 0.0, of_weight = 0.0, of_delay = 0.0;
  for (int64_t d = 0; d <= all.max_delay; ++d) mean = model::fma(static_cast<double>(d), taps.tap(d), mean);
  for (int64_t d = 0; d <= all.max_delay; ++d) {
    const double term = static_cast<double>(of_taps[d * all.padded_inputs]) * taps.tap(d);
    of_weight = of_weight + term;
    of_delay = model::fma(term, static_cast<double>(d) - mean, of_delay);
  }
  give(arrays.of_weights, i, static_cast<R>(of_weight));
  give(arrays.of_delays, i, static_cast<R>(static_cast<double>(all.weights[i]) / (width * width) * of_delay));
}

// Outputs that arrive later, [T, B, N]: y of step t is that of step t - D[n] of the product, which begins M steps
// before; and the way back, for steps of the product from the first one on: dL/dy of step t + D[n], or +0 beyond the
// pass.
template <class R>
struct DelayedOutputsArrays {
  core::Extents extents;  // of what is written
  SharedDelays delays;
  bool back;
  int64_t first_step;  // back: of what is written, which may be before the pass
  int64_t n_steps_read;
  const R* from;
  int64_t from_pitch;
  R* to;
  int64_t to_pitch;
  SYNFIRE_MODEL_FN int64_t count() const { return extents.n_steps * extents.row(); }
};
template <class R>
SYNFIRE_MODEL_FN void delay_output(const DelayedOutputsArrays<R>& arrays, int64_t i) {
  const int64_t t = i / arrays.extents.row(), at = i % arrays.extents.row();
  const int64_t delay = arrays.delays.of(at % arrays.extents.n_neurons);
  const int64_t step = arrays.back ? arrays.first_step + t + delay : arrays.delays.max_delay + t - delay;
  const bool is_read = step >= 0 && step < arrays.n_steps_read;
  arrays.to[t * arrays.to_pitch + at] = is_read ? arrays.from[step * arrays.from_pitch + at] : R(0);
}

// Adds the gradients of the delayed inputs of a few steps, [steps, B, taps, padded K], to those of the inputs that they
// were made of: for each element over ascending d. The steps of a pass come in their order, or backward, where what
// they are added to is there already.
template <class R>
struct DelayedInputGradientArrays {
  int64_t batch, n_inputs, padded_inputs;
  int64_t max_delay;  // of inputs: 0 with delays of outputs
  int64_t n_taps;
  SharedDelays of_inputs;
  int64_t first_step, n_steps;
  const uint32_t* n_active;  // null: all rows
  const R* of_delayed;
  R* grad_input;  // [T, B, K]
  int64_t pitch;
  bool add;  // to what grad_input holds

  // The inputs that these steps read begin here, or at step 0.
  SYNFIRE_MODEL_FN int64_t first_read() const { return first_step > max_delay ? first_step - max_delay : 0; }
  SYNFIRE_MODEL_FN int64_t count() const { return (first_step + n_steps - first_read()) * batch * n_inputs; }
};
template <class R>
SYNFIRE_MODEL_FN void fold_delayed_gradient(const DelayedInputGradientArrays<R>& arrays, int64_t i) {
  const int64_t of_step = arrays.batch * arrays.n_inputs, at = i % of_step, t = arrays.first_read() + i / of_step;
  const int64_t b = at / arrays.n_inputs, k = at % arrays.n_inputs;
  R& to = arrays.grad_input[t * arrays.pitch + at];
  const bool is_new = t >= arrays.first_step && !arrays.add;
  if (arrays.n_active && b >= static_cast<int64_t>(*arrays.n_active)) {
    if (is_new) to = R(0);
    return;
  }
  const auto term = [&](int64_t d) {
    const int64_t row = (t + d - arrays.first_step) * arrays.batch + b;
    return arrays.of_delayed[(row * arrays.n_taps + (arrays.n_taps == 1 ? 0 : d)) * arrays.padded_inputs + k];
  };
  const int64_t end = arrays.first_step + arrays.n_steps - t;
  if (arrays.of_inputs) {
    const int64_t delay = arrays.of_inputs.of(k);
    const bool is_there = t + delay >= arrays.first_step && delay < end;
    const int64_t first = t < arrays.first_step ? arrays.first_step - t : 0;
    R found = is_there ? term(delay) : R(0);
    // Delays of connections add a +0 for each other delay, which makes a -0 a +0.
    if (first + 1 < end && first < arrays.max_delay) found = R(0) + found;
    to = is_new ? found : to + found;
    return;
  }
  int64_t d = t < arrays.first_step ? arrays.first_step - t : 0;
  R sum = is_new ? term(d++) : to;
  for (; d < end && d <= arrays.max_delay; ++d) sum = sum + term(d);
  to = sum;
}

}  // namespace synfire::operations

#endif
