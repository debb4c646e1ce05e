// own_neuron.cpp - a neuron of one's own, loaded as text: a synaptic current learns how fast to decay.
//
// 32 current-based LIF neurons receive the same noise in every replay. A teacher with a slower synaptic current
// determines at which steps they should fire. One graph holds the whole training step: forward, dL/dS = 2 S - 2 wanted,
// backward, and the update of tau_i. It prints what bindings/programs/own_neuron.c prints, bit for bit.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstring>
#include <synfire/synfire.hpp>

namespace {

constexpr int n_neurons = 32, n_steps = 48, n_epochs = 30;

// [text]
// W is the synaptic current I. All variables are those of the step before.
constexpr const char* synaptic_lif = R"(// I[t] = (1 - 1/tau_i) I[t-1] + X[t],  H[t] = V[t-1] + (I[t] - V[t-1]) / tau
#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>

SYNFIRE_MODEL_BEGIN

struct SynapticLif {
  static constexpr const char* name = "synaptic_lif";
  static constexpr int n_states = 2;
  static constexpr int n_parameters = 2;
  static constexpr int n_constants = 3;
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = false;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"tau", 4.0, 1.0, unbounded, false, nullptr, "steps"},
      {"tau_i", 2.0, 1.0, unbounded, false, nullptr, "steps"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool, T* constants) {
    const T one = Lift<T>::from(1.0), rate = inverse(values[0]);
    constants[0] = one - rate;
    constants[1] = rate;
    constants[2] = one - inverse(values[1]);
  }

  template <class C, class V, class I, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* c, V v, I i, X x) {
    return fma(c[0], v, c[1] * fma(c[2], i, x));
  }
  template <class C, class V, class I, class X, class H, class S>
  static SYNFIRE_MODEL_FN auto adapt(const C* c, V, I i, X x, H, S) {
    return fma(c[2], i, x);
  }
};

SYNFIRE_MODEL_END
)";
// [text]

// Noise in [0, 2): the upper 24 bits of Knuth's 64-bit linear congruential generator (MMIX), which is the same in
// every language.
void write_noise(synfire::View<float> x) {
  std::uint64_t seed = 1;
  for (float& value : x) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    value = 2.0F * static_cast<float>(seed >> 40) / 16777216.0F;
  }
}

void print_bits(synfire::View<const float> values) {
  for (std::size_t i = 0; i < n_neurons; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &values[i], sizeof bits);
    std::printf("%08x\n", static_cast<unsigned>(bits));
  }
}

void train() {
  const synfire::Context context(synfire::context_desc(SYNFIRE_BACKEND_HOST));
  // [load]
  synfire::Model model(context, synfire::load_desc("synaptic_lif", synaptic_lif));
  synfire::Layer layer(context, synfire::layer_desc(model, synfire::steps{n_steps}, synfire::neurons{n_neurons}));
  // [load]
  const synfire_load_info info = model.info();
  std::printf("%s: %d variables, %d parameters\n", info.name, info.n_states, info.n_parameters);
  model.reset();  // the layer keeps what it needs

  const auto sequence = [&] { return layer.make_sequence<float>(SYNFIRE_MEMORY_PINNED); };
  const auto state = [&] { return layer.make_state<float>(SYNFIRE_MEMORY_PINNED); };
  synfire::Buffer x = sequence(), spikes = sequence(), wanted = sequence(), grad_spikes = sequence();
  synfire::Buffer grad_x = sequence(), rest = state(), no_current = state(), current = state();
  const synfire::Buffer grad_tau(context, synfire::buffer_desc<float>(1, SYNFIRE_MEMORY_PINNED));
  synfire_forward_desc forward = synfire::forward_desc(x, spikes);
  forward.v_init = rest;
  forward.w_init = no_current;
  forward.w_final = current;
  synfire_backward_desc backward = synfire::backward_desc(grad_spikes, grad_x);
  const synfire_parameter_gradient gradient = {"tau_i", grad_tau};
  backward.parameter_gradients = &gradient;
  backward.n_parameter_gradients = 1;

  write_noise(x.data<float>());
  layer.set_parameter("tau_i", 6.0);  // the teacher's
  layer.forward(forward);
  wanted.upload(spikes.download<float>());

  layer.set_parameter("tau_i", 2.0);
  synfire::Graph step(context);
  step.record_forward(layer, forward);
  step.record_scale_add(synfire::scale_add_desc(spikes, grad_spikes, 2.0, 0.0));
  step.record_scale_add(synfire::scale_add_desc(wanted, grad_spikes, -2.0, 1.0));
  step.record_backward(layer, backward);
  step.record_update_parameter(layer, synfire::update_parameter_desc("tau_i", grad_tau, 0.001));
  step.instantiate();

  for (int epoch = 0; epoch < n_epochs; ++epoch) {
    step.wait(step.launch());
    int loss = 0;
    for (std::size_t i = 0; i < spikes.size(); ++i) loss += spikes.data<float>()[i] != wanted.data<float>()[i] ? 1 : 0;
    std::printf("%d %d %.6f\n", epoch, loss, layer.get_parameter("tau_i"));
  }
  print_bits(current.data<float>());  // I after the last step, then dL/dX of the first
  print_bits(grad_x.data<float>());
}

}  // namespace

int main() {
  try {
    train();
  } catch (const synfire::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
