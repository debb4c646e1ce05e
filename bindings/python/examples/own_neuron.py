"""A neuron of one's own, loaded as text: a synaptic current learns how fast to decay.

32 current-based LIF neurons receive the same noise in every replay. A teacher with a slower synaptic current says at
which steps they shall fire. One graph holds the whole step: forward, dL/dS = 2 S - 2 wanted, backward, and the update
of tau_i.

It prints what bindings/programs/own_neuron.c prints, bit for bit.

SPDX-License-Identifier: MIT
"""
import numpy as np

import synfire

NEURONS, STEPS, EPOCHS = 32, 48, 30

# [text]
# W is the synaptic current I. All variables are those of the step before.
SYNAPTIC_LIF = """
// I[t] = (1 - 1/tau_i) I[t-1] + X[t],  H[t] = V[t-1] + (I[t] - V[t-1]) / tau
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
"""
# [text]


def noise():
    """Noise in [0, 2): the upper 24 bits of Knuth's 64-bit linear congruential generator (MMIX)."""
    seed, values = 1, []
    for _ in range(STEPS * NEURONS):
        seed = (seed * 0x5851F42D4C957F2D + 0x14057B7EF767814F) & (2**64 - 1)
        values.append(np.float32(2.0) * np.float32(seed >> 40) / np.float32(16777216.0))
    return np.array(values, np.float32).reshape(STEPS, NEURONS)


with synfire.Context("host") as context:
    # [load]
    model = synfire.LoadedModel(context, SYNAPTIC_LIF, name="synaptic_lif")
    layer = synfire.Layer(context, model=model, steps=STEPS, neurons=NEURONS)
    # [load]
    info = model.info()
    print(f"{info.name}: {info.n_states} variables, {info.n_parameters} parameters")
    model.close()  # the layer keeps what it needs

    x, spikes, wanted, grad_spikes, grad_x = (layer.sequence_buffer(memory="pinned") for _ in range(5))
    rest, no_current, current = (layer.state_buffer(memory="pinned") for _ in range(3))
    grad_tau = synfire.Buffer(context, 1, memory="pinned")
    forward = dict(x=x, spikes=spikes, v_init=rest, w_init=no_current, w_final=current)

    x.numpy()[:] = noise()
    layer["tau_i"] = 6.0  # the teacher's
    layer.forward(**forward)
    wanted.numpy()[:] = spikes.numpy()

    layer["tau_i"] = 2.0
    step = synfire.Graph(context)
    step.forward(layer, **forward)
    step.scale_add(source=spikes, destination=grad_spikes, scale=2, keep=0)
    step.scale_add(source=wanted, destination=grad_spikes, scale=-2, keep=1)
    step.backward(layer, grad_spike_seq=grad_spikes, grad_x_seq=grad_x, parameter_gradients={"tau_i": grad_tau})
    step.update_parameter(layer, name="tau_i", gradient=grad_tau, learning_rate=0.001)
    step.instantiate()

    for epoch in range(EPOCHS):
        step.replay()
        print(f"{epoch} {int((spikes.numpy() != wanted.numpy()).sum())} {layer['tau_i']:.6f}")
    for values in (current.numpy(), grad_x.numpy()[0]):  # I after the last step, then dL/dX of the first
        for word in values.view(np.uint32):
            print(f"{word:08x}")
