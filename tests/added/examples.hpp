// The neurons of docs/examples/models, whichever way a library got them: what each computes by its textbook formula in
// f64, and a record of the bits of all its passes. tests/added runs them built in, tests/jit loaded as text on either
// backend; since both have the bits of the same record, all ways give the same bits.
#ifndef SYNFIRE_TESTS_ADDED_EXAMPLES_HPP
#define SYNFIRE_TESTS_ADDED_EXAMPLES_HPP

#include <algorithm>

#include "../capi/support.hpp"

namespace synfire_test {

struct Example {
  const char* name;
  std::vector<const char*> further;     // the state variables beside V
  std::vector<const char*> parameters;  // the model's own
  double v_threshold, v_reset, alpha;   // alpha is the width of the surrogate
  double low, high;                     // of X
  // H of a step, and the further variables after it, with the default parameters; before[0] is V.
  double (*charge)(const double* before, double x);
  void (*advance)(const double* before, double x, double h, double spike, double* after);
  uint64_t f32_bits, f64_bits;  // digest_of() what a layer computes
};

inline const std::vector<Example>& examples() {
  using State = const double*;
  static const std::vector<Example> all = {
      {"klif",
       {},
       {"tau", "relu_k", "v_rest"},
       1,
       0,
       4,
       -0.5,
       2.5,
       [](State u, double x) { return std::fmax(0, u[0] + (x - u[0]) / 2); },
       [](State, double, double, double, double*) {},
       0x9d6c1ea691d66327,
       0xc0d3bef1507fa80f},
      {"current_based_lif",
       {"current"},
       {"tau", "tau_syn", "v_rest"},
       1,
       0,
       4,
       -0.5,
       1.0,
       [](State u, double x) { return u[0] + ((u[1] - u[1] / 5 + x) - u[0]) / 10; },
       [](State u, double x, double, double, double* after) { after[1] = u[1] - u[1] / 5 + x; },
       0x184fea9a7b3b9aba,
       0x2048b4e11b1a5a23},
      {"adaptive_lif",
       {"w"},
       {"tau", "tau_w", "a", "b", "v_rest"},
       1,
       0,
       4,
       0.0,
       4.0,
       [](State u, double x) { return u[0] + (x - u[1] - u[0]) / 10; },
       [](State u, double, double, double s, double* after) { after[1] = u[1] - u[1] / 60 + 0.2 * s; },
       0xea12fcdb534e4ec4,
       0x67d70fa7bd874c00},
      {"izhikevich_2003",
       {"u"},
       {"a", "b", "d"},
       30,
       -65,
       0.1,
       0.0,
       40.0,
       [](State u, double x) {
         const double v = u[0] + 0.5 * (0.04 * u[0] * u[0] + 5 * u[0] + 140 - u[1] + x);
         return v + 0.5 * (0.04 * v * v + 5 * v + 140 - u[1] + x);
       },
       [](State u, double, double h, double s, double* after) { after[1] = u[1] + 0.02 * (0.2 * h - u[1]) + 8 * s; },
       0xaa6781cd4486c7fd,
       0x6219cd9cf718f568},
      {"resonate_and_fire",
       {"current"},
       {"omega", "damping"},
       1,
       0,
       4,
       -1.0,
       1.0,
       [](State u, double x) { return 0.98 * u[0] + 0.25 * (0.98 * u[1] - 0.25 * u[0] + x); },
       [](State u, double x, double, double s, double* after) { after[1] = s > 0 ? 0 : 0.98 * u[1] - 0.25 * u[0] + x; },
       0xda904de3051ada4e,
       0x9248c6db9e28cfd2},
      {"conductance_based_lif",
       {"g_e", "g_i"},
       {"tau", "tau_e", "tau_i", "v_rest", "e_e", "e_i"},
       1,
       0,
       4,
       -0.3,
       0.5,
       [](State u, double x) {
         const double g_e = u[1] - u[1] / 5 + std::fmax(0, x), g_i = u[2] - u[2] / 10 + std::fmax(0, -x);
         return u[0] + (-u[0] + g_e * (6 - u[0]) + g_i * (-2 - u[0])) / 20;
       },
       [](State u, double x, double, double, double* after) {
         after[1] = u[1] - u[1] / 5 + std::fmax(0, x);
         after[2] = u[2] - u[2] / 10 + std::fmax(0, -x);
       },
       0x2a580ea4fce4877e,
       0x2e7c1a13a8655fb1},
  };
  return all;
}

// A layer of one example from given states, with every output of its forward and backward.
template <class R>
class ExampleLayer {
 public:
  ExampleLayer(synfire_context context, const Example& example, int32_t model, int32_t surrogate)
      : example_(example), n_states_(1 + example.further.size()) {
    synfire_layer_desc desc = describe(shape_, dtype_of<R>);
    desc.model = model;
    desc.surrogate = surrogate;
    desc.detach_reset = 1;
    layers_[1] = make_layer(context, desc);
    desc.detach_reset = 0;
    layers_[0] = make_layer(context, desc);
    for (const Layer& layer : layers_) {
      set_parameter(layer, "v_threshold", {example.v_threshold});
      EXPECT_EQ(double_parameter(layer, "v_reset"), example.v_reset) << example.name;
      if (surrogate == SYNFIRE_SURROGATE_SIGMOID) set_parameter(layer, "alpha", {example.alpha});
    }
    Random random(7);
    const size_t row = shape_.row(), all = shape_.sequence();
    x_ = random.values<R>(all, example.low, example.high);
    in_.push_back(make_buffer_of(context, x_));
    in_.push_back(make_buffer_of(context, random.values<R>(all, -1, 1)));
    for (size_t i = 0; i < n_states_; ++i) {
      // V begins below the threshold, and the others at small values.
      start_.push_back(i == 0 ? random.values<R>(row, example.v_reset - 0.1, example.v_reset + 0.6)
                              : random.values<R>(row, 0, 0.4));
      start_buffers_.push_back(make_buffer_of(context, start_[i]));
      grad_seq_.push_back(make_buffer_of(context, random.values<R>(all, -1, 1)));
      grad_last_.push_back(make_buffer_of(context, random.values<R>(row, -1, 1)));
    }
    const auto add = [&](std::vector<Buffer>& list, size_t count) {
      list.push_back(make_buffer(context, dtype_of<R>, count));
    };
    for (int i = 0; i < 3; ++i) add(out_, all);  // S, H, dL/dX
    for (size_t i = 0; i < n_states_; ++i) add(seq_, all), add(last_, row), add(grad_start_, row);
    for (size_t i = 0; i < example.parameters.size() + 2; ++i) add(gradients_, 1);
  }

  // Runs the layer with an attached or detached reset. Returns the bits of all outputs, and adds them to a digest.
  void run(bool detached, int32_t tape, uint64_t& digest) {
    const synfire_layer layer = layers_[detached ? 1 : 0];
    const auto further = [&](const std::vector<Buffer>& buffers) {
      std::vector<synfire_state_buffer> list;
      for (size_t i = 1; i < n_states_; ++i) list.push_back({example_.further[i - 1], buffers[i]});
      return list;
    };
    const auto starts = further(start_buffers_), lasts = further(last_), seqs = further(seq_),
               grad_seqs = further(grad_seq_), grad_lasts = further(grad_last_), grad_starts = further(grad_start_);
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.tape = tape;
    forward.x = in_[0], forward.spikes = out_[0], forward.h_seq = out_[1];
    forward.v_init = start_buffers_[0], forward.v_final = last_[0], forward.v_seq = seq_[0];
    forward.state_init = starts.data(), forward.n_state_init = starts.size();
    forward.state_final = lasts.data(), forward.n_state_final = lasts.size();
    forward.state_seq = seqs.data(), forward.n_state_seq = seqs.size();
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = in_[1], backward.grad_x_seq = out_[2];
    backward.grad_v_seq = grad_seq_[0], backward.grad_v_final = grad_last_[0], backward.grad_v_init = grad_start_[0];
    backward.grad_state_seq = grad_seqs.data(), backward.n_grad_state_seq = grad_seqs.size();
    backward.grad_state_final = grad_lasts.data(), backward.n_grad_state_final = grad_lasts.size();
    backward.grad_state_init = grad_starts.data(), backward.n_grad_state_init = grad_starts.size();
    std::vector<synfire_parameter_gradient> wanted;
    for (size_t i = 0; i < gradients_.size(); ++i)
      wanted.push_back({i < example_.parameters.size()    ? example_.parameters[i]
                        : i == example_.parameters.size() ? "v_threshold"
                                                          : "v_reset",
                        gradients_[i]});
    backward.parameter_gradients = wanted.data(), backward.n_parameter_gradients = wanted.size();
    ASSERT_OK(synfire_layer_forward(layer, &forward, nullptr));
    ASSERT_OK(synfire_layer_backward(layer, &backward, nullptr));
    const auto take = [&](const std::vector<Buffer>& list, size_t count) {
      for (const Buffer& buffer : list)
        for (const R value : download<R>(buffer, count)) {
          ASSERT_TRUE(std::isfinite(value)) << example_.name;
          digest = (digest ^ bits_of(value)) * 0x100000001B3u;  // FNV-1a over words
        }
    };
    for (const std::vector<Buffer>* list : {&out_, &seq_}) take(*list, shape_.sequence());
    for (const std::vector<Buffer>* list : {&last_, &grad_start_}) take(*list, shape_.row());
    take(gradients_, 1);
  }

  // The forward that ran last against the textbook's formula.
  void expect_the_formula() {
    const auto spikes = download<R>(out_[0], shape_.sequence()), h_seq = download<R>(out_[1], shape_.sequence());
    std::vector<std::vector<R>> seq;
    for (const Buffer& buffer : seq_) seq.push_back(download<R>(buffer, shape_.sequence()));
    const auto expect_near = [&](R is, double wanted, size_t at) {
      ASSERT_NEAR(static_cast<double>(is), wanted, 1e-9 * (1 + std::fabs(wanted))) << example_.name << " at " << at;
    };
    for (size_t n = 0; n < shape_.row(); ++n) {
      double before[4] = {}, after[4] = {};
      for (size_t i = 0; i < n_states_; ++i) before[i] = static_cast<double>(start_[i][n]);
      for (size_t at = n; at < shape_.sequence(); at += shape_.row()) {
        const auto x = static_cast<double>(x_[at]);
        const double h = example_.charge(before, x), spike = h >= example_.v_threshold ? 1 : 0;
        example_.advance(before, x, h, spike, after);
        after[0] = spike > 0 ? example_.v_reset : h;
        ASSERT_EQ(static_cast<double>(spikes[at]), spike) << example_.name << " at " << at;
        expect_near(h_seq[at], h, at);
        for (size_t i = 0; i < n_states_; ++i) expect_near(seq[i][at], after[i], at);
        std::copy(after, after + 4, before);
      }
    }
    const auto n_spikes = std::count(spikes.begin(), spikes.end(), R(1));
    EXPECT_GT(n_spikes, static_cast<int64_t>(shape_.row() / 2)) << example_.name;
    EXPECT_LT(n_spikes, static_cast<int64_t>(shape_.sequence() / 2)) << example_.name;
  }

 private:
  static double double_parameter(synfire_layer layer, const char* name) {
    double value = 0;
    EXPECT_OK(synfire_layer_get_parameter(layer, name, &value, 1));
    return value;
  }

  static constexpr Shape shape_ = {40, 2, 37};
  const Example& example_;
  size_t n_states_;
  Layer layers_[2];
  std::vector<R> x_;
  std::vector<std::vector<R>> start_;
  std::vector<Buffer> in_, start_buffers_, grad_seq_, grad_last_, out_, seq_, last_, grad_start_, gradients_;
};

// The bits of a layer's passes: attached with the states recomputed in the backward, detached with a stored tape.
template <class R>
uint64_t digest_of(ExampleLayer<R>& layer) {
  uint64_t digest = 0xCBF29CE484222325u;
  layer.run(true, SYNFIRE_TAPE_STORE, digest);
  layer.run(false, SYNFIRE_TAPE_RECOMPUTE, digest);
  return digest;
}

// A model of this library or context has the bits of the record, and in f64 follows the textbook's formula.
inline void expect_example(synfire_context context, const Example& example, int32_t model, int32_t surrogate) {
  SCOPED_TRACE(example.name);
  ExampleLayer<float> narrow(context, example, model, surrogate);
  EXPECT_EQ(hexadecimal(digest_of(narrow)), hexadecimal(example.f32_bits));
  ExampleLayer<double> wide(context, example, model, surrogate);
  EXPECT_EQ(hexadecimal(digest_of(wide)), hexadecimal(example.f64_bits));
  wide.expect_the_formula();
}

}  // namespace synfire_test

#endif
